// What the program has put into the page: JSON for a start, and parts that are unpacked when they are asked for.

/// The JSON of the page.
export function readData() {
  return JSON.parse(document.getElementById('data').textContent);
}

/// Parts that are kept. Reading one again takes some milliseconds; keeping thousands would take gigabytes.
const KEPT = 8;
const parts = new Map();

/// A part, by its number: gzip in base64.
export function readPart(position) {
  const part = parts.get(position) ?? unpack(document.getElementById(`part-${position}`).textContent);
  // The one that was read last is the last one to go.
  parts.delete(position);
  parts.set(position, part);
  if (parts.size > KEPT) parts.delete(parts.keys().next().value);
  return part;
}

async function unpack(text) {
  const characters = atob(text);
  // Uint8Array.from is several times slower.
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = characters.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}
