// The pressure of each class along the schedules, before and after, over the steps of occupancy (paper 1, Figures 4 and 5).
import { axis, chart, choice, colour, el, escapeHtml, number, sampling, zoom } from '../lib/index.js';
import { follow } from './selection.js';

export function pressureTab(panel, { model, region, target, selection }) {
  let along = 'position';
  const charts = model.classes.map((name, classNumber) => ({ name, classNumber })).filter(({ classNumber }) =>
    model.schedules.some((schedule) => schedule.peaks[classNumber].value > 0));
  const drawn = charts.map(({ name, classNumber }) => {
    const peaks = model.schedules.map((schedule) => `${schedule.title} ${schedule.peaks[classNumber].value}`).join(', ');
    return chart({
      id: `pressure-${name}`,
      height: charts.length > 1 ? 380 : 480,
      label: `Pressure of ${name} along the schedules. Peaks: ${peaks}; lower bound ${region.peak_bound[name]}.`,
      zooms: { x: 0 },
      option: () => option(model, region, target, selection, name, classNumber, along),
    });
  });
  panel.append(
    el('div', { class: 'controls' },
      choice({
        label: 'Along', name: 'along', value: along, options: [['position', 'instructions'], ['cycle', 'cycles']],
        onchange: (value) => {
          along = value;
          drawn.forEach((one) => one.redraw({ keepZoom: false }));
        },
      })),
    ...charts.flatMap(({ name }, position) => [el('h3', {}, `Registers of class ${name}`), drawn[position].element]),
  );
  const shared = sharedFile(model, target);
  if (shared) panel.append(el('p', { class: 'muted' }, shared));
  drawn.forEach((one, position) => {
    const { classNumber } = charts[position];
    one.draw();
    one.instance.getZr().on('click', ({ offsetX, offsetY }) => {
      const instr = nearest(model, one.instance, classNumber, along, [offsetX, offsetY]);
      if (instr !== undefined) selection.select(instr);
    });
  });
  follow(panel, selection, () => drawn.forEach((one, position) =>
    one.instance.setOption({ series: [chosen(model, selection.instr, charts[position].classNumber, along)] })));
}

/// Where a boundary between instructions is on the axis.
const placeOf = (schedule, boundary, along) =>
  (along === 'position' || boundary === 0 ? boundary : schedule.cycles[schedule.order[boundary - 1]] + 1);

/// The last boundary that is not right of a place on the axis.
function boundaryAt(model, schedule, place, along) {
  if (along === 'position') return Math.min(model.n, Math.max(0, Math.floor(place)));
  let boundary = 0;
  while (boundary < model.n && schedule.cycles[schedule.order[boundary]] < place) boundary++;
  return boundary;
}

/// The instruction of the curve that is nearest to a pixel.
function nearest(model, instance, classNumber, along, pixel) {
  if (!instance.containPixel({ gridIndex: 0 }, pixel)) return undefined;
  const [place, pressure] = instance.convertFromPixel({ gridIndex: 0 }, pixel);
  let best;
  for (const schedule of model.schedules.toReversed()) {
    const boundary = Math.max(1, boundaryAt(model, schedule, place, along));
    const distance = Math.abs(schedule.pressure[classNumber][boundary] - pressure);
    if (!best || distance < best.distance) best = { distance, instr: schedule.order[boundary - 1] };
  }
  return best.instr;
}

/// The selected instruction on each curve.
function chosen(model, instr, classNumber, along) {
  const points = instr === null ? [] : model.schedules.map((schedule) => {
    const boundary = schedule.position[instr] + 1;
    return {
      value: [placeOf(schedule, boundary, along), schedule.pressure[classNumber][boundary]],
      itemStyle: { borderColor: colour(schedule === model.after ? 'after' : schedule.name) },
    };
  });
  return {
    id: 'selected', name: 'selected', type: 'scatter', silent: true, symbolSize: 13, z: 6, data: points,
    itemStyle: { color: colour('surface'), borderWidth: 4 },
    markLine: {
      silent: true, symbol: 'none', label: { show: false },
      data: points.map(({ value, itemStyle }) => ({ xAxis: value[0], lineStyle: { color: itemStyle.borderColor, type: 'solid', width: 1 } })),
    },
  };
}

/// Classes that share a file: steps of one alone do not exist.
function sharedFile(model, target) {
  const file = target.files.find((one) => one.classes.filter((name) => model.classes.includes(name)).length > 1);
  return file ? `${file.classes.join(' and ')} share the file “${file.name}”: how many waves fit depends on their peaks together, so that no steps are drawn for one of them.` : null;
}

/// The steps of the file that a class has for itself.
function stepsOf(model, target, name) {
  const own = target.files.find((file) => file.classes.includes(name)) ?? target.files.find((file) => file.classes[0] === '*');
  return own && own.classes.filter((other) => model.classes.includes(other)).length <= 1 ? own.steps : [];
}

function option(model, region, target, selection, name, classNumber, along) {
  const highest = model.schedules.reduce((most, schedule) => Math.max(most, schedule.peaks[classNumber].value), 0);
  const steps = stepsOf(model, target, name);
  const inView = steps.filter(([limit]) => limit <= highest * 1.02);
  const next = steps.find(([limit]) => limit > highest * 1.02);
  // The next step up is worth its room unless it is far away.
  if (next && next[0] <= highest * 1.5 + 4) inView.push(next);
  const top = Math.max(highest, ...inView.map(([limit]) => limit));
  // Names of steps that lie close together would write over each other.
  let last = Infinity;
  const named = new Set();
  for (const [limit] of inView.toReversed()) {
    if (last - limit < top * 0.06) continue;
    named.add(limit);
    last = limit;
  }
  const at = (schedule, boundary) => placeOf(schedule, boundary, along);
  const bound = region.peak_bound[name];
  const labelled = withoutOverlap(model, classNumber, (schedule) => at(schedule, schedule.peaks[classNumber].boundary) / model.n, top);
  const series = model.schedules.map((schedule) => {
    const { value, boundary } = schedule.peaks[classNumber];
    return {
      name: schedule.title,
      type: 'line',
      step: 'end',
      symbol: 'none',
      sampling: sampling(model.n),
      lineStyle: { width: schedule === model.after ? 2.2 : 1.4, type: schedule.name === 'production' ? [5, 3] : 'solid' },
      color: colour(schedule === model.after ? 'after' : schedule.name),
      areaStyle: schedule === model.after ? { color: colour('after'), opacity: 0.12 } : undefined,
      z: schedule === model.after ? 3 : 2,
      data: schedule.pressure[classNumber].map((pressure, place) => [at(schedule, place), pressure]),
      markPoint: {
        symbol: 'circle',
        symbolSize: 9,
        data: [{ name: 'peak', coord: [at(schedule, boundary), value] }],
        label: {
          show: labelled.has(schedule), position: boundary > 0.95 * model.n ? 'left' : 'top', distance: 4, color: colour(schedule === model.after ? 'after' : schedule.name),
          fontWeight: 'bold', ...halo(), formatter: () => number(value),
        },
      },
    };
  });
  const length = along === 'position' ? model.n : model.schedules.reduce((most, schedule) => Math.max(most, schedule.length), 0);
  const boundName = `every order: at least ${number(bound)}`;
  series.push({
    name: boundName,
    type: 'line',
    symbol: 'none',
    silent: true,
    color: colour('bound'),
    lineStyle: { width: 2 },
    data: [[0, bound], [length, bound]],
    markLine: {
      silent: true,
      symbol: 'none',
      lineStyle: { color: colour('step'), width: 1, type: [4, 4] },
      data: inView.map(([limit, waves]) => ({
        yAxis: limit,
        label: {
          show: named.has(limit), position: 'end', color: colour('muted'),
          formatter: () => `${number(waves)} ${waves === 1 ? 'wave' : 'waves'} ≤ ${number(limit)}`,
        },
      })),
    },
  });
  series.push(chosen(model, selection.instr, classNumber, along));
  return {
    legend: {
      data: [...model.schedules.map((schedule) => schedule.title), boundName],
      formatter: (title) => {
        const schedule = model.schedules.find((one) => one.title === title);
        return schedule ? `${title}, peak ${number(schedule.peaks[classNumber].value)}` : title;
      },
    },
    grid: { left: 56, right: 112, top: 36, bottom: 80 },
    xAxis: axis(along === 'position' ? 'instructions issued' : 'cycle', { type: 'value', min: 0, max: length, nameGap: 26 }),
    yAxis: axis(name, { type: 'value', min: 0, minInterval: 1, max: Math.ceil(top * 1.08), nameGap: 40, axisLabel: { showMaxLabel: false } }),
    dataZoom: zoom({ filterMode: 'none' }),
    series,
    tooltip: {
      axisPointer: { type: 'line', lineStyle: { color: colour('muted') } },
      formatter: (items) => {
        const place = items[0].axisValue;
        const lines = model.schedules.map((schedule) => {
          const boundary = boundaryAt(model, schedule, place, along);
          const after = boundary === 0 ? 'at the start' : `after ${model.describe(schedule.order[boundary - 1])}`;
          return `<b>${schedule.title}</b>: ${number(schedule.pressure[classNumber][boundary])} ${escapeHtml(after)}`;
        });
        return lines.join('<br>');
      },
    },
  };
}

/// The schedules whose peaks have room for a label, most important first. The legend has the figures of all.
function withoutOverlap(model, classNumber, placeOfPeak, top) {
  const labelled = new Set();
  const heightOf = (schedule) => schedule.peaks[classNumber].value / top;
  for (const schedule of model.schedules.toReversed()) {
    const isFree = [...labelled].every((other) =>
      Math.abs(placeOfPeak(other) - placeOfPeak(schedule)) > 0.12 || Math.abs(heightOf(other) - heightOf(schedule)) > 0.1);
    if (isFree) labelled.add(schedule);
  }
  return labelled;
}

/// Texts over lines stay readable.
const halo = () => ({ textBorderColor: colour('surface'), textBorderWidth: 3 });
