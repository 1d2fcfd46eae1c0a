// The instructions one by one: all orders side by side, or one order with all that is known.
import { choice, el, number, sortableTable } from '../lib/index.js';
import { follow } from './selection.js';
import { sideBySide } from './sidebyside.js';

export function listingTab(panel, context) {
  const { model, region, selection } = context;
  const state = { view: 'all', classNumber: region.primary, refresh: () => {} };
  const place = el('div', {});
  const show = () => {
    const schedule = model.schedules.find(({ name }) => name === state.view);
    const table = schedule ? ofOne(context, schedule) : sideBySide(context, state.classNumber);
    state.refresh = table.refresh;
    place.replaceChildren(table.element);
    if (selection.instr !== null) state.refresh();
  };
  const change = (field, value) => {
    state[field] = value;
    show();
  };
  panel.append(
    el('div', { class: 'controls' },
      choice({
        label: 'Show', name: 'order', value: state.view, options: [['all', 'all orders side by side'], ...model.schedules.map(({ name, title }) => [name, `the order of ${title}`])],
        onchange: (name) => change('view', name),
      }),
      choice({
        label: 'Pressure of', name: 'class', value: String(state.classNumber), options: model.classes.map((name, position) => [String(position), name]),
        onchange: (position) => change('classNumber', Number(position)),
      })),
    el('p', { class: 'muted' }, '↑ and ↓ mark the fewest instructions that have to move to get from one order to the other, with their earlier place. The bars are the pressure after each instruction.'),
    place,
  );
  show();
  follow(panel, selection, () => state.refresh());
}

/// One order with all columns.
function ofOne({ model, selection }, schedule) {
  const names = (values) => values.map((value) => model.values.name[value]).join(', ');
  const pressures = model.classes.map((name, classNumber) => ({
    title: name, hint: `Pressure of ${name} after the instruction`, numeric: true,
    value: (instr) => schedule.pressure[classNumber][schedule.position[instr] + 1],
    text: (instr) => number(schedule.pressure[classNumber][schedule.position[instr] + 1]),
  }));
  const element = sortableTable({
    label: `Instructions in the order of ${schedule.title}`,
    id: 'listing',
    rows: schedule.order,
    onopen: (instr) => selection.select(instr),
    isMarked: (instr) => instr === selection.instr,
    columns: [
      { title: 'Place', numeric: true, value: (instr) => schedule.position[instr], text: (instr) => number(schedule.position[instr] + 1) },
      { title: 'Cycle', numeric: true, value: (instr) => schedule.cycles[instr], text: (instr) => number(schedule.cycles[instr]) },
      { title: 'Instruction', hint: 'Number in the source order, and operation', value: (instr) => instr, text: (instr) => model.describe(instr) },
      { title: 'Latency', numeric: true, value: (instr) => model.latency[instr], text: (instr) => number(model.latency[instr]) },
      { title: 'Writes', value: (instr) => model.defined[instr].length, text: (instr) => names(model.defined[instr]) },
      { title: 'Reads', value: (instr) => model.used[instr].length, text: (instr) => names(model.used[instr]) },
      ...pressures,
    ],
  });
  return { element, refresh: element.refresh };
}
