// What the program has put into the page: JSON for a start, and parts that are unpacked when they are asked for.

/// The JSON of the page.
export function readData() {
  return JSON.parse(document.getElementById('data').textContent);
}

const parts = new Map();

/// A part, by its number: gzip in base64.
export function readPart(position) {
  if (!parts.has(position)) parts.set(position, unpack(document.getElementById(`part-${position}`).textContent));
  return parts.get(position);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}
