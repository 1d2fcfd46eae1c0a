// The search box of a region, and what is known about the selected instruction. Both stand above the tabs.
import { el, number } from '../lib/index.js';

/// Matches that are listed. More of them are counted.
const LISTED = 12;

/// The instructions that a text names: by number, by opcode, or by a value that they read or write.
export function findInstructions(model, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const byNumber = wanted.match(/^#?(\d+)$/);
  const found = new Set();
  if (byNumber && Number(byNumber[1]) < model.n) found.add(Number(byNumber[1]));
  const addValues = (isWanted) => model.values.name.forEach((name, value) => {
    if (!isWanted(name.toLowerCase())) return;
    if (model.values.def[value] !== null) found.add(model.values.def[value]);
    model.values.uses[value].forEach((instr) => found.add(instr));
  });
  // A value of just this name comes before all that contain the text.
  addValues((name) => name === wanted);
  for (let instr = 0; instr < model.n; instr++) if (model.describe(instr).toLowerCase().includes(wanted)) found.add(instr);
  addValues((name) => name.includes(wanted));
  return [...found];
}

export function finder({ model, selection }) {
  const status = el('span', { role: 'status', class: 'muted' });
  const list = el('ul', { class: 'matches', id: 'matches' });
  const field = el('input', {
    type: 'search', class: 'plain', name: 'find', placeholder: '#12, V_ADD, %7', autocomplete: 'off',
    oninput: () => show(findInstructions(model, field.value)),
    onkeydown: (event) => event.key === 'Escape' && close(),
  });
  const close = () => {
    field.value = '';
    show([]);
  };
  const choose = (instr) => {
    close();
    selection.select(instr);
  };
  const show = (found) => {
    status.textContent = field.value.trim() === '' ? '' : `${number(found.length)} ${found.length === 1 ? 'match' : 'matches'}`;
    list.replaceChildren(...found.slice(0, LISTED).map((instr) =>
      el('li', {}, el('button', { type: 'button', class: 'plain', onclick: () => choose(instr) }, model.describe(instr)))));
    if (found.length > LISTED) list.append(el('li', { class: 'muted' }, `${number(found.length - LISTED)} more`));
  };
  const form = el('form', {
    role: 'search', class: 'controls',
    onsubmit: (event) => {
      event.preventDefault();
      const [first] = findInstructions(model, field.value);
      if (first !== undefined) choose(first);
    },
  }, el('label', { class: 'control' }, 'Find an instruction ', field), status);
  const about = el('div', { id: 'selected', class: 'selected', role: 'status' });
  const update = () => about.replaceChildren(...selected(model, selection));
  selection.subscribe(update);
  update();
  return el('section', { 'aria-label': 'Instruction', class: 'finder' }, form, list, about);
}

/// The selected instruction in words, with links to those that it reads from and writes for.
function selected(model, selection) {
  const { instr } = selection;
  if (instr === null) return [el('p', { class: 'muted' }, 'Click an instruction in any tab, or find one here: all tabs mark it.')];
  const places = model.schedules.map((schedule) => `${schedule.title} ${number(schedule.position[instr] + 1)} (cycle ${number(schedule.cycles[instr])})`);
  const link = (other) => el('button', { type: 'button', class: 'link', 'data-instr': other, onclick: () => selection.select(other) }, model.describe(other));
  const { name, def, uses } = model.values;
  const reads = model.used[instr].map((value) => [name[value], ' from ', def[value] === null ? 'before the region' : link(def[value])]);
  const writes = model.defined[instr].map((value) => {
    const readers = uses[value].slice(0, 4).flatMap((other, position) => [position ? ', ' : '', link(other)]);
    const more = uses[value].length > 4 ? ` and ${number(uses[value].length - 4)} more` : '';
    return [name[value], ' for ', ...(readers.length ? [...readers, more] : ['what follows the region'])];
  });
  const listed = (items) => (items.length ? items.flatMap((item, position) => [position ? '; ' : '', ...item]) : ['nothing']);
  return [
    el('p', {}, el('b', {}, model.describe(instr)), `, latency ${number(model.latency[instr])}. Place: ${places.join(', ')}. `,
      el('button', { type: 'button', class: 'plain', id: 'clear', onclick: () => selection.select(null) }, 'Clear')),
    el('p', { class: 'muted' }, 'Reads ', ...listed(reads), '. Writes ', ...listed(writes), '.'),
  ];
}
