// The tab of the dependence graph: the instructions near the selected one, or near the moment that is marked.
import { choice, el, number, zoomBox } from '../lib/index.js';
import { draw } from './graph/drawing.js';
import { place } from './graph/layout.js';
import { hotOf, marksOf } from './graph/marks.js';
import { hidden, near } from './graph/subset.js';
import { follow } from './selection.js';

/// The texts of a fitting graph are at least as large as this share of their size.
const READABLE = 0.65;
/// The highest box, in pixels.
const HEIGHT = 720;
/// The numbers of instructions from which a fitting graph is chosen, largest first.
const SIZES = [48, 36, 27, 20, 15, 11, 8, 6, 4];
const LONGEST_TEXT = 30;

export function graphTab(panel, context) {
  const { model, region, selection } = context;
  const marks = marksOf(model, region);
  const state = { mark: context.mark ?? `peak-lowtide-${region.primary}`, most: 'fitting', shown: null };
  const about = el('p', { role: 'status', id: 'graph-mark' });
  const scope = el('p', { role: 'status', class: 'muted', id: 'graph-scope' });
  const box = zoomBox({ id: 'graph-box', label: 'Dependence graph', height: HEIGHT });

  const seeds = () => (selection.instr === null ? marks.get(state.mark).seeds : [selection.instr]);
  /// Chooses instructions and places them.
  const arrange = () => {
    state.shown = arranged(model, seeds(), state.most, box.room());
    const { chosen, placed, texts } = state.shown;
    const label = `Dependence graph: ${chosen.size} of ${model.n} instructions.`;
    state.shown.drawing = draw(model, placed, texts, label);
    listen(state.shown, model, selection);
    box.show(state.shown.drawing.element, placed.width, placed.height);
    scope.textContent = chosen.size === model.n
      ? `All ${number(model.n)} instructions.`
      : `${number(chosen.size)} of ${number(model.n)} instructions: those nearest to ${selection.instr === null ? 'what is marked' : model.describe(selection.instr)}. ↑ and ↓ count neighbours that are not shown.`;
    style();
  };
  const style = () => {
    about.textContent = marks.get(state.mark).text;
    applyStyle(model, state.shown, marks.get(state.mark), selection.instr);
  };
  const marker = choice({ label: 'Mark', name: 'mark', value: state.mark, options: [...marks].map(([name, { title }]) => [name, title]), onchange: (value) => context.showMark(value) });
  context.showMark = (name) => {
    state.mark = name;
    marker.querySelector('select').value = name;
    if (selection.instr === null && state.shown.chosen.size < model.n) arrange();
    else style();
  };
  const sizes = [['fitting', 'as many as fit'], ...[25, 50, 100, 200].filter((size) => size < model.n * 2).map((size) => [String(size), `at most ${size}`])];
  panel.append(
    el('div', { class: 'controls' }, marker,
      choice({ label: 'Show', name: 'size', value: 'fitting', options: sizes, onchange: (value) => {
        state.most = value;
        arrange();
      } }),
      el('button', { type: 'button', class: 'plain', id: 'around', onclick: arrange }, 'Centre on the selection')),
    about, legend(), box.element, scope,
  );
  arrange();
  follow(panel, selection, () => {
    // What is shown stays in its place as long as it has the selected instruction.
    if (selection.instr !== null && !state.shown.chosen.has(selection.instr)) arrange();
    else style();
    const chosen = state.shown.drawing.boxes.get(selection.instr);
    if (chosen) box.reveal(chosen);
  });
}

/// Choose and place instructions near the seeds: `most` of them, or as many as fit into the room.
function arranged(model, seeds, most, room) {
  const sizes = most === 'fitting' ? SIZES : [Number(most)];
  let result = null;
  for (const size of sizes) {
    // All sizes above the number of instructions give the same graph.
    if (result && size >= result.chosen.size) continue;
    result = arrangedOf(model, near(model, seeds, size));
    const { width, height } = result.placed;
    if (Math.min(room.width / width, room.height / height) >= READABLE) break;
  }
  return result;
}

function arrangedOf(model, chosen) {
  const texts = new Map([...chosen].sort((one, other) => one - other).map((instr) => [instr, textOf(model, chosen, instr)]));
  const edges = model.edges.from.map((_, edge) => edge).filter((edge) => chosen.has(model.edges.from[edge]) && chosen.has(model.edges.to[edge]));
  return { chosen, texts, placed: place(model, texts, edges) };
}

/// #7 V_ADD_F32 ↑2 ↓3: arrows count the neighbours that are not shown.
function textOf(model, chosen, instr) {
  const { before, after } = hidden(model, chosen, instr);
  const name = model.describe(instr);
  const short = name.length > LONGEST_TEXT ? `${name.slice(0, LONGEST_TEXT - 1)}…` : name;
  return `${short}${before ? ` ↑${before}` : ''}${after ? ` ↓${after}` : ''}`;
}

function applyStyle(model, { drawing }, mark, selected) {
  const hot = hotOf(model, mark);
  const { from, to, kind } = model.edges;
  for (const [instr, box] of drawing.boxes) {
    const role = mark.moment.includes(instr) ? 'moment' : hot.instrs.has(instr) ? 'hot' : mark.issued(instr) ? 'issued' : 'waiting';
    box.setAttribute('class', `${role}${instr === selected ? ' selected' : ''}`);
    box.setAttribute('aria-pressed', String(instr === selected));
  }
  for (const [edge, line] of drawing.lines) {
    const isChosen = from[edge] === selected || to[edge] === selected;
    const role = isChosen ? 'chosen' : hot.edges.has(edge) ? 'hot' : kind[edge] === 'data' ? 'data' : 'order';
    line.setAttribute('class', role);
    line.setAttribute('marker-end', `url(#arrow-${role})`);
  }
  // One box can be reached by Tab, and the arrows go on from there.
  const reachable = drawing.boxes.get(selected) ?? drawing.boxes.values().next().value;
  for (const box of drawing.boxes.values()) box.setAttribute('tabindex', box === reachable ? '0' : '-1');
}

/// Click or Enter selects; arrows go along the edges, and from box to box of a layer.
function listen({ drawing, placed, chosen }, model, selection) {
  const instrOf = (event) => {
    const box = event.target.closest('[data-instr]');
    return box ? Number(box.dataset.instr) : null;
  };
  drawing.element.addEventListener('click', (event) => instrOf(event) !== null && selection.select(instrOf(event)));
  drawing.element.addEventListener('keydown', (event) => {
    const instr = instrOf(event);
    if (instr === null) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      selection.select(instr);
      return;
    }
    const next = neighbour(model, placed, chosen, instr, event.key);
    if (next === undefined) return;
    event.preventDefault();
    drawing.boxes.get(next).focus();
  });
}

function neighbour(model, placed, chosen, instr, key) {
  const ends = { ArrowUp: [model.preds, 'from'], ArrowDown: [model.succs, 'to'] }[key];
  if (ends) return ends[0][instr].map((edge) => model.edges[ends[1]][edge]).find((other) => chosen.has(other));
  const side = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (!side) return undefined;
  const { x, y } = placed.boxes.get(instr);
  const row = [...placed.boxes].filter(([, box]) => Math.abs(box.y - y) < 1 && (box.x - x) * side > 0);
  row.sort(([, one], [, other]) => (one.x - other.x) * side);
  return row[0]?.[0];
}

function legend() {
  const entry = (name, text) => el('span', { class: `key ${name}` }, text);
  return el('p', { class: 'legend', id: 'graph-legend' },
    entry('waiting', 'waiting'), entry('issued', 'issued'), entry('hot', 'live, or on the path'), entry('moment', 'moment of the cut'), entry('selected', 'selected'),
    entry('line data', 'data'), entry('line order', 'order only'));
}
