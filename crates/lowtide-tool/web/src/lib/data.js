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
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}
