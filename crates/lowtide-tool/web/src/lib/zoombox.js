// A box with a drawing (SVG) that can be zoomed. What does not fit can be scrolled to, so that nothing is cut off.
import { el } from './dom.js';
import { listenToKeys, listenToWheel, zoomCaption } from './zoomcontrols.js';

/// The least and the largest zoom by hand. A drawing that fits may be smaller.
const SMALLEST = 0.1;
const LARGEST = 3;

/// Gives the element; `room()`, the space for a drawing in pixels; `show(drawing, width, height)`, which takes
/// the place of an earlier drawing and shows all of it; and `reveal(element)`, which scrolls to a part.
export function zoomBox({ id, label, height }) {
  const frame = el('div', { class: 'zoombox', id, role: 'group', 'aria-label': label, style: `max-height: ${height}px` });
  let current = null;
  let scale = 1;
  let isWhole = true;

  const room = () => ({ width: Math.max(frame.clientWidth, 200), height });
  const resize = (next) => {
    scale = next;
    current.drawing.setAttribute('width', current.width * scale);
    current.drawing.setAttribute('height', current.height * scale);
  };
  const fitting = () => Math.min(1, room().width / current.width, room().height / current.height);
  const showAll = () => {
    isWhole = true;
    resize(fitting());
  };
  /// Zooms so that a place of the frame stays where it is.
  const zoom = (factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
    const [left, top] = [(frame.scrollLeft + x) / scale, (frame.scrollTop + y) / scale];
    isWhole = false;
    resize(Math.min(Math.max(scale * factor, Math.min(fitting(), SMALLEST)), LARGEST));
    frame.scrollTo(left * scale - x, top * scale - y);
  };
  const actions = {
    '+': () => zoom(1.5),
    '=': () => zoom(1.5),
    '-': () => zoom(1 / 1.5),
    0: showAll,
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
  new ResizeObserver(() => current && isWhole && frame.clientWidth > 0 && showAll()).observe(frame);

  const element = el('figure', {}, frame,
    zoomCaption(press, 'Keys: arrows go from box to box, Enter selects, + and − zoom, 0 shows all. Mouse: click selects, Ctrl and wheel zoom.'));
  return {
    element,
    room,
    show: (drawing, width, drawingHeight) => {
      current = { drawing, width, height: drawingHeight };
      frame.replaceChildren(drawing);
      showAll();
    },
    reveal: (part) => part.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
  };
}
