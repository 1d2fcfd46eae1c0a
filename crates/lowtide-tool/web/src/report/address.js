// The part of the address after #: #k2 is a kernel, #k2r0 a region, #k2r0/graph a tab, #k2r0/graph/i12 an instruction in it.

const FORM = /^#k(\d+)(?:r(\d+)(?:\/([a-z]+)(?:\/i(\d+))?)?)?$/;

/// Return {kernel, region, tab, instr} of an address. What it does not name is null.
export function parseAddress(hash) {
  const [, kernel, region, tab, instr] = hash.match(FORM) ?? [];
  const place = (text) => (text === undefined ? null : Number(text));
  return { kernel: place(kernel), region: place(region), tab: tab ?? null, instr: place(instr) };
}

export function addressOf({ kernel, region = null, tab = null, instr = null }) {
  if (region === null) return `#k${kernel}`;
  if (tab === null) return `#k${kernel}r${region}`;
  return `#k${kernel}r${region}/${tab}${instr === null ? '' : `/i${instr}`}`;
}
