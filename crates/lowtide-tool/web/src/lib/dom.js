// Elements without templates: text is always text, so that no name from a file can become code.

/// An element with attributes (`on...` are listeners) and children (elements, texts or nothing).
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/// An SVG element with attributes and children (elements or texts).
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

/// Text for places that take HTML, such as the tooltips of charts.
export function escapeHtml(text) {
  const names = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return String(text).replace(/[&<>"']/g, (character) => names[character]);
}

/// A choice among `options`, pairs of value and text, with its name before it. `onchange(value)`.
export function choice({ label, options, value, onchange, name = null }) {
  const select = el('select', { name, onchange: () => onchange(select.value) });
  for (const [own, text] of options) select.append(el('option', { value: own, selected: own === value }, text));
  return el('label', { class: 'control' }, `${label} `, select);
}
