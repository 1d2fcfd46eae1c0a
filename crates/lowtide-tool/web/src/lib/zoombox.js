// A box with a drawing (SVG) that can be zoomed. What does not fit can be scrolled to, so that nothing is cut off.
import { el } from './dom.js';
import { listenToKeys, listenToWheel, zoomCaption } from './zoomcontrols.js';

const LARGEST = 3;

/// Gives the element; `room()`, the space for a drawing in pixels; `show(drawing, width, height)`, which takes
/// the place of an earlier drawing and shows all of it; and `reveal(element)`, which scrolls to a part.
export function zoomBox({ id, label, height }) {
  const frame = el('div', { class: 'zoombox', id, role: 'group', 'aria-label': label, style: `max-height: ${height}px` });
  let current = null;
  let scale = 1;

  const room = () => ({ width: Math.max(frame.clientWidth, 200), height });
  const fitting = () => Math.min(1, room().width / current.width, room().height / current.height);
  const resize = (next) => {
    scale = Math.min(Math.max(next, Math.min(fitting(), 0.1)), LARGEST);
    current.drawing.setAttribute('width', current.width * scale);
    current.drawing.setAttribute('height', current.height * scale);
  };
  /// Zooms so that a place of the frame stays where it is.
  const zoom = (factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
    const [left, top] = [(frame.scrollLeft + x) / scale, (frame.scrollTop + y) / scale];
    resize(scale * factor);
    frame.scrollTo(left * scale - x, top * scale - y);
  };
  const actions = {
    '+': () => zoom(1.5),
    '=': () => zoom(1.5),
    '-': () => zoom(1 / 1.5),
    0: () => resize(fitting()),
  };
  const press = (key) => {
    if (!current || !actions[key]) return false;
    actions[key]();
    return true;
  };
  listenToKeys(frame, press);
  listenToWheel(frame, (factor, event) => {
    const { x, y } = frame.getBoundingClientRect();
    zoom(1 / factor, event.clientX - x, event.clientY - y);
  });
  // Where the window changes, a drawing that was shown as a whole still is.
  let wasFitting = true;
  new ResizeObserver(() => current && wasFitting && frame.clientWidth > 0 && resize(fitting())).observe(frame);
  frame.addEventListener('scroll', () => { wasFitting = current !== null && Math.abs(scale - fitting()) < 0.01; });

  const element = el('figure', {}, frame,
    zoomCaption(press, 'Keys: arrows go from box to box, Enter selects, + and − zoom, 0 shows all. Mouse: click selects, Ctrl and wheel zoom.'));
  return {
    element,
    room,
    show: (drawing, width, drawingHeight) => {
      current = { drawing, width, height: drawingHeight };
      frame.replaceChildren(drawing);
      resize(fitting());
      wasFitting = true;
    },
    reveal: (part) => part.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    get scale() {
      return scale;
    },
  };
}
