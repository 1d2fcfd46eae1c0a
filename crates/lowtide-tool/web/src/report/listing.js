// The instructions of a schedule one by one: what the charts show, as text.
import { choice, el, number, sortableTable } from '../lib/index.js';

export function listingTab(panel, { model }) {
  const place = el('div', {});
  const show = (schedule) => {
    const names = (values) => values.map((value) => model.values.name[value]).join(', ');
    const pressures = model.classes.map((name, classNumber) => ({
      title: name, hint: `Pressure of ${name} after the instruction`, numeric: true,
      value: (instr) => schedule.pressure[classNumber][schedule.position[instr] + 1],
      text: (instr) => number(schedule.pressure[classNumber][schedule.position[instr] + 1]),
    }));
    place.replaceChildren(sortableTable({
      label: `Instructions in the order of ${schedule.title}`,
      id: 'listing',
      rows: schedule.order,
      columns: [
        { title: 'Place', numeric: true, value: (instr) => schedule.position[instr], text: (instr) => number(schedule.position[instr] + 1) },
        { title: 'Cycle', numeric: true, value: (instr) => schedule.cycles[instr], text: (instr) => number(schedule.cycles[instr]) },
        { title: 'Instruction', hint: 'Number in the source order, and operation', value: (instr) => instr, text: (instr) => model.describe(instr) },
        { title: 'Latency', numeric: true, value: (instr) => model.latency[instr], text: (instr) => number(model.latency[instr]) },
        { title: 'Writes', value: (instr) => model.defined[instr].length, text: (instr) => names(model.defined[instr]) },
        { title: 'Reads', value: (instr) => model.used[instr].length, text: (instr) => names(model.used[instr]) },
        ...pressures,
      ],
    }));
  };
  panel.append(
    el('div', { class: 'controls' }, choice({
      label: 'Order of', name: 'order', value: model.after.name, options: model.schedules.map(({ name, title }) => [name, title]),
      onchange: (name) => show(model.schedules.find((schedule) => schedule.name === name)),
    })),
    place,
  );
  show(model.after);
}
