// Buttons, keys and wheel that zoom a drawing. The drawing says what they do.
import { el } from './dom.js';

/// Buttons and a hint for under a drawing. `press(key)` does what a key does and tells whether there is such a key.
export function zoomCaption(press, hint) {
  const button = (text, name, key) =>
    el('button', { type: 'button', class: 'plain', 'aria-label': name, 'data-zoom': key, onclick: () => press(key) }, text);
  return el('figcaption', { class: 'hint' },
    button('+', 'Zoom in', '+'), button('−', 'Zoom out', '-'), button('All', 'Show all', '0'), ` ${hint}`);
}

/// Keys on an element.
export function listenToKeys(element, press) {
  element.addEventListener('keydown', (event) => {
    if (!event.ctrlKey && !event.altKey && !event.metaKey && press(event.key)) event.preventDefault();
  });
}

/// The wheel zooms with Ctrl, and alone once the element has the focus. Everywhere else it scrolls the page.
/// `zoom(factor, event)`: a factor below 1 shows less, and larger.
export function listenToWheel(element, zoom) {
  element.addEventListener('wheel', (event) => {
    if (event.shiftKey) return;
    // ECharts would keep the page from scrolling, even where it does not zoom.
    event.stopPropagation();
    const hasFocus = element.contains(document.activeElement);
    if ((!event.ctrlKey && !hasFocus) || event.deltaY === 0) return;
    event.preventDefault();
    zoom(2 ** (Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 120) / 240), event);
  }, { passive: false, capture: true });
}
