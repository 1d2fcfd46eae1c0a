// What issues in which cycle, on which unit, and where nothing does: before over after, on the same scale.
import { axis, chart, choice, colour, counted, el, escapeHtml, number, sampling, zoom } from '../lib/index.js';
import { baselineOf } from './baseline.js';
import { dependences } from './dependences.js';
import { follow } from './selection.js';

/// The width of a character in a bar, in pixels.
const CHARACTER = 6.6;

/// The name of an instruction as far as it fits into a bar: #7 V_ADD_F32, #7, or nothing.
function labelOf(model, instr, width) {
  const name = model.describe(instr);
  return [name, name.split(' ')[0], ''].find((text) => text.length * CHARACTER <= width);
}

export function timelineTab(panel, { model, region, target, selection }) {
  let before = model.before.find(({ name }) => name === baselineOf(region));
  const lanes = lanesOf(model, target);
  const stalls = new Map(model.schedules.map((schedule) => [schedule, stallsOf(model, schedule)]));
  const laneHeight = 22;
  const gridHeight = lanes.length * laneHeight;
  const drawn = chart({
    id: 'timeline',
    height: 2 * gridHeight + 330,
    label: `Cycles of the schedules, by unit. ${model.schedules.map((schedule) => words(schedule, stalls.get(schedule))).join(' ')}`,
    zooms: { x: 0 },
    option: () => option(model, before, lanes, stalls, selection.instr, gridHeight),
  });
  const summary = el('p', {});
  const summarize = () => {
    summary.replaceChildren(...[before, model.after].flatMap((schedule) => [words(schedule, stalls.get(schedule)), ' ']));
  };
  panel.append(
    el('div', { class: 'controls' },
      choice({
        label: 'Compare with', name: 'before', value: before.name, options: model.before.map((schedule) => [schedule.name, schedule.title]),
        onchange: (name) => {
          before = model.before.find((schedule) => schedule.name === name);
          summarize();
          drawn.redraw();
        },
      })),
    summary,
    el('p', { class: 'legend', id: 'timeline-legend' }, el('span', { class: 'key stall' }, 'nothing issues'), el('span', { class: 'key line reads' }, 'the selected instruction waits for'),
      el('span', { class: 'key line writes' }, 'waits for the selected instruction')),
    drawn.element,
  );
  summarize();
  drawn.draw();
  drawn.instance.on('click', ({ data }) => {
    const instr = data?.instr ?? data?.stall?.instr;
    if (instr !== undefined) selection.select(instr);
  });
  follow(panel, selection, () => drawn.instance.setOption({ series: selectedSeries(model, before, lanes, selection.instr) }));
}

/// The outlines and arrows of the selected instruction in both schedules.
function selectedSeries(model, before, lanes, instr) {
  const laneOf = (other) => Math.max(0, lanes.findIndex(({ unit }) => unit === (model.units[other][0]?.[0] ?? null)));
  return [before, model.after].flatMap((schedule, position) => dependences(model, schedule, instr, laneOf, position));
}

function words(schedule, stalls) {
  const idle = stalls.reduce((total, stall) => total + stall.cycles, 0);
  return `${schedule.title}: ${counted(schedule.length, 'cycle')}, nothing issues in ${number(idle)} of them.`;
}

/// The rows of the chart: one for dependences, units of the target that the region needs, others, and stalls.
function lanesOf(model, target) {
  const used = new Set(model.units.flatMap((needs) => needs.map(([unit]) => unit)));
  const lanes = target.units.map((name, unit) => ({ name, unit })).filter(({ unit }) => used.has(unit));
  if (model.units.some((needs) => needs.length === 0)) lanes.push({ name: lanes.length ? 'no unit' : 'issue', unit: null });
  return [{ name: 'waits for' }, ...lanes, { name: 'stall' }];
}

/// Cycles without an issue, and for what the next instruction waits.
function stallsOf(model, schedule) {
  const stalls = [];
  let next = 0;
  for (const instr of schedule.order) {
    const cycle = schedule.cycles[instr];
    if (cycle > next) {
      const cause = model.preds[instr].find((edge) => schedule.cycles[model.edges.from[edge]] + model.edges.latency[edge] === cycle);
      stalls.push({ from: next, cycles: cycle - next, instr, cause });
    }
    next = cycle + 1;
  }
  return stalls;
}

/// How many instructions have issued whose results nobody can use yet, cycle by cycle.
function inFlight(model, schedule) {
  const change = new Int32Array(schedule.length + 2);
  for (let instr = 0; instr < model.n; instr++) {
    const latency = model.latency[instr];
    if (latency < 2) continue; // ready for the next one
    change[schedule.cycles[instr]]++;
    change[Math.min(schedule.cycles[instr] + latency, schedule.length + 1)]--;
  }
  const points = [];
  let now = 0;
  for (let cycle = 0; cycle <= schedule.length; cycle++) {
    now += change[cycle];
    if (change[cycle] !== 0 || cycle === 0 || cycle === schedule.length) points.push([cycle, now]);
  }
  return points;
}

function option(model, before, lanes, stalls, selected, gridHeight) {
  const length = Math.max(before.length, model.after.length);
  const top = 32;
  const second = top + gridHeight + 56;
  const third = second + gridHeight + 58;
  const lane = (schedule, position, name) => ({
    gridIndex: position, type: 'category', inverse: true, data: lanes.map(({ name: lane }) => lane), axisTick: { show: false },
    name: `${schedule.title}: ${number(schedule.length)} cycles`, nameLocation: 'start', nameGap: 12,
    nameTextStyle: { color: colour(name), fontWeight: 'bold', fontSize: 13, align: 'left' },
    axisLine: { lineStyle: { color: colour('line') } }, axisLabel: { color: colour('muted'), interval: 0 },
    splitArea: { show: true, areaStyle: { color: ['transparent', colour('panel')] } },
  });
  const cycles = (position, more = {}) => axis('', { gridIndex: position, type: 'value', min: 0, max: length, ...more });
  const grid = (from, height) => ({ left: 92, right: 24, top: from, height });
  return {
    legend: { show: false },
    grid: [grid(top, gridHeight), grid(second, gridHeight), grid(third, 110)],
    xAxis: [cycles(0), cycles(1), cycles(2, { name: 'cycle', nameGap: 26 })],
    yAxis: [
      lane(before, 0, before.name),
      lane(model.after, 1, 'after'),
      axis('results in flight', { gridIndex: 2, type: 'value', minInterval: 1, nameGap: 40, splitNumber: 3 }),
    ],
    dataZoom: zoom({ xAxisIndex: [0, 1, 2], filterMode: 'none' }),
    series: [
      bars(model, before, lanes, stalls.get(before), 0, before.name),
      bars(model, model.after, lanes, stalls.get(model.after), 1, 'after'),
      ...[[before, before.name], [model.after, 'after']].map(([schedule, name]) => ({
        name: schedule.title, type: 'line', step: 'end', symbol: 'none', sampling: sampling(model.n), xAxisIndex: 2, yAxisIndex: 2,
        color: colour(name), lineStyle: { width: name === 'after' ? 2 : 1.3, type: name === 'after' ? 'solid' : [5, 3] }, data: inFlight(model, schedule),
      })),
      ...selectedSeries(model, before, lanes, selected),
    ],
    tooltip: { trigger: 'item', formatter: (item) => tooltip(model, item) },
  };
}

/// One bar for each instruction on each of its units, and for each stall.
function bars(model, schedule, lanes, stalls, position, name) {
  const laneOf = new Map(lanes.map(({ unit }, lane) => [unit, lane]));
  const data = [];
  for (const instr of schedule.order) {
    const cycle = schedule.cycles[instr];
    const needs = model.units[instr].length ? model.units[instr] : [[null, 1]];
    for (const [unit, busy] of needs) {
      if (laneOf.has(unit)) data.push({ value: [laneOf.get(unit), cycle, cycle + Math.max(1, busy)], instr, schedule: schedule.title });
    }
  }
  for (const stall of stalls) {
    data.push({ value: [lanes.length - 1, stall.from, stall.from + stall.cycles], stall, schedule: schedule.title });
  }
  const fill = colour(name);
  const stallFill = colour('stall');
  const label = { fill: colour('surface'), fontSize: 11, verticalAlign: 'middle' };
  return {
    name: schedule.title,
    type: 'custom',
    xAxisIndex: position,
    yAxisIndex: position,
    encode: { x: [1, 2], y: 0 },
    progressive: 2000,
    clip: true,
    data,
    renderItem: (params, api) => {
      const lane = api.value(0);
      const [left, middle] = api.coord([api.value(1), lane]);
      const [right] = api.coord([api.value(2), lane]);
      const { x, width: room } = params.coordSys;
      if (right < x || left > x + room) return undefined;
      const height = api.size([0, 1])[1] * 0.72;
      const width = right - left;
      if (width < 1) {
        // Of all bars within a pixel, one is enough. They come from left to right.
        const pixel = Math.round(left);
        if (params.context[lane] === pixel) return undefined;
        params.context[lane] = pixel;
      }
      // A gap between bars, as long as there is room for one.
      const gap = width > 4 ? 1 : 0;
      const isStall = lane === lanes.length - 1;
      const bar = {
        type: 'rect',
        shape: { x: left, y: middle - height / 2, width: Math.max(width - gap, 0.8), height },
        style: { fill: isStall ? stallFill : fill },
      };
      const { instr } = data[params.dataIndex];
      // Of a bar that begins left of the chart, the part in view is named.
      const from = Math.max(left, x) + 3;
      const name = instr === undefined ? '' : labelOf(model, instr, Math.min(right, x + room) - from - 2);
      if (!name) return bar;
      const text = { type: 'text', silent: true, style: { ...label, text: name, x: from, y: middle } };
      return { type: 'group', children: [bar, text] };
    },
  };
}

function tooltip(model, { data, value, seriesName }) {
  if (data?.stall) {
    const { from, cycles, instr, cause } = data.stall;
    const why = cause === undefined
      ? `${model.describe(instr)} waits for a unit`
      : `${model.describe(instr)} waits for ${model.describe(model.edges.from[cause])}, latency ${model.edges.latency[cause]}`;
    return `<b>${data.schedule}</b>: ${counted(cycles, 'cycle')} from ${number(from)} without an issue<br>${escapeHtml(why)}`;
  }
  if (data?.instr !== undefined) {
    return `<b>${data.schedule}</b>: cycle ${number(value[1])}, for ${counted(value[2] - value[1], 'cycle')}<br>${escapeHtml(model.describe(data.instr))}, latency ${model.latency[data.instr]}`;
  }
  return `<b>${seriesName}</b>: ${value[1]} in flight from cycle ${number(value[0])}`;
}
