// What is proven about all schedules, and why.
import { el, number, sortableTable } from '../lib/index.js';
import { reasonInWords } from './model.js';
import { follow } from './selection.js';

export function boundsTab(panel, { model, region, selection }, openGraph) {
  panel.append(el('h3', {}, 'Registers'));
  model.classes.forEach((name, classNumber) => panel.append(...classBound(model, region, selection, name, classNumber, openGraph)));
  panel.append(el('h3', {}, 'Cycles'), ...lengthBound(model, region));
  follow(panel, selection, () => panel.querySelectorAll('.values').forEach((table) => table.refresh()));
}

function classBound(model, region, selection, name, classNumber, openGraph) {
  const bound = region.peak_bound[name];
  const peak = region.peak[name];
  const verdict = peak === bound ? 'which this schedule reaches' : `this schedule needs ${number(peak)}`;
  const text = [
    el('p', {}, el('b', {}, `${name}: every order needs at least ${number(bound)}`), `, ${verdict}. `, reasonInWords(model, region.peak_bound_by[name])),
  ];
  const cut = model.atCut(classNumber);
  if (!cut || cut.live.length + model.through[classNumber] === 0) return text;
  const { values } = model;
  const weight = cut.live.reduce((total, value) => total + values.weight[value], 0);
  const through = model.through[classNumber];
  const rows = cut.live.map((value) => ({ value }));
  const uses = ({ value }) => values.uses[value].filter((instr) => !cut.issued(instr));
  const table = sortableTable({
    label: `Values of ${name} across the cut`,
    id: `cut-${name}`,
    rows,
    // A value is chosen by its writer, or by its first reader.
    onopen: ({ value }) => selection.select(values.def[value] ?? values.uses[value][0] ?? null),
    isMarked: ({ value }) => selection.instr !== null && (values.def[value] === selection.instr || values.uses[value].includes(selection.instr)),
    columns: [
      { title: 'Value', value: ({ value }) => values.name[value] },
      { title: 'Weight', numeric: true, value: ({ value }) => values.weight[value], text: ({ value }) => number(values.weight[value]) },
      { title: 'Written by', value: ({ value }) => values.def[value] ?? -1, text: ({ value }) => (values.def[value] === null ? 'live from the start' : model.describe(values.def[value])) },
      { title: 'Still needed by', value: (row) => uses(row).length, text: (row) => readers(model, uses(row), values.live_out[row.value]) },
    ],
  });
  table.classList.add('values');
  return [
    ...text,
    el('p', {},
      `Live across the cut: ${cut.live.length} values of weight ${number(weight)}${through ? `, and ${number(through)} that only pass through` : ''}: ${number(cut.pressure)} in all. `,
      el('button', { type: 'button', class: 'plain', 'data-cut': name, onclick: () => openGraph(`cut-${classNumber}`) }, 'Show the cut in the graph')),
    el('details', {}, el('summary', {}, `The ${cut.live.length} values`), table),
  ];
}

function readers(model, instrs, liveOut) {
  const few = instrs.slice(0, 3).map((instr) => model.describe(instr));
  if (instrs.length > 3) few.push(`${instrs.length - 3} more`);
  if (liveOut) few.push('what follows the region');
  return few.join(', ');
}

function lengthBound(model, region) {
  const { critical_path, resource, rim_jain, langevin_cerny } = model.length_bounds;
  const rows = [
    { name: 'Longest path of latencies', value: critical_path },
    { name: 'Issue slots and units', value: resource },
    { name: 'Rim and Jain: both together', value: rim_jain },
    { name: 'Langevin and Cerny: the same for every part of the graph', value: langevin_cerny },
    { name: 'Proven for schedules with as many waves', value: region.length_bound },
    { name: 'This schedule', value: region.length },
  ];
  const verdict = region.proven_length ? 'It cannot be shorter.' : `It may be up to ${number(region.length - region.length_bound)} cycles too long.`;
  return [
    el('p', {}, verdict),
    el('div', { class: 'narrow' }, sortableTable({
      label: 'Bounds on the length',
      id: 'length-bounds',
      rows,
      columns: [
        { title: 'Bound', value: (row) => row.name },
        { title: 'Cycles', numeric: true, value: (row) => row.value, text: (row) => number(row.value) },
      ],
    })),
  ];
}
