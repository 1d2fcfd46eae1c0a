// The trade-off between waves and length of a kernel: the shortest schedules for each number of waves, and their cycles for each wave.
import { axis, chart, colour, counted, el, number } from '../lib/index.js';

/// The chart of a kernel with its heading. `figures` are those of its schedules.
export function frontChart(kernel, figures) {
  const { points, production } = kernel.front;
  if (points.length === 0) return { elements: [], draw: () => {} };
  const marks = [{ title: 'Lowtide', waves: kernel.occupancy, length: figures.length, cycles: kernel.cycles_per_wave, shade: 'after' }];
  if (production) marks.push({ title: 'Production', waves: production.waves, length: production.length, cycles: production.cycles_per_wave, shade: 'production' });
  const drawn = chart({
    id: 'front',
    height: 340,
    label: `Length and cycles for each wave, by waves. ${points.map((point) => `${counted(point.waves, 'wave')}: length ${number(point.length)}, ${cycles(point.cycles_per_wave)} cycles for each`).join('; ')}. `
      + `${marks.map((mark) => `${mark.title}: ${counted(mark.waves, 'wave')}, length ${number(mark.length)}`).join('; ')}.`,
    option: () => option(points, marks, kernel.regions.length),
  });
  return {
    elements: [
      el('h3', {}, 'Waves against length'),
      el('p', { class: 'muted' }, 'The shortest schedules for each number of waves, over all regions. Thin lines are lower bounds: no schedules with these waves are below.'),
      drawn.element,
    ],
    draw: drawn.draw,
  };
}

const cycles = (value) => number(value, 1);

/// 120 (≥ 100); the bound only where it is not reached.
const withBound = (text, bound) => (text === bound ? text : `${text} (≥ ${bound})`);

function option(points, marks, regions) {
  const waves = [...new Set([...points, ...marks].map((one) => one.waves))].sort((one, other) => one - other);
  const line = (name, key, shade, yAxisIndex, more = {}) => ({
    name, type: 'line', yAxisIndex, color: colour(shade), symbol: 'circle', symbolSize: 6, lineStyle: { width: 2 },
    data: points.map((point) => [String(point.waves), point[key]]), ...more,
  });
  const bound = { symbol: 'none', lineStyle: { width: 1, opacity: 0.6 }, itemStyle: { opacity: 0.6 }, z: 1 };
  const dashed = { lineStyle: { width: 2, type: [5, 3] } };
  const boundDashed = { ...bound, lineStyle: { ...bound.lineStyle, type: [5, 3] } };
  const mark = ({ title, waves: at, length, shade }) => ({
    name: title, type: 'scatter', yAxisIndex: 0, color: colour(shade), symbol: title === 'Lowtide' ? 'circle' : 'diamond', symbolSize: 14, z: 4,
    data: [[String(at), length]],
    label: {
      show: true, position: title === 'Lowtide' ? 'bottom' : 'top', color: colour(shade), fontWeight: 'bold',
      textBorderColor: colour('surface'), textBorderWidth: 3, formatter: () => number(length),
    },
  });
  return {
    grid: { left: 72, right: 72 },
    xAxis: axis('waves', { type: 'category', data: waves.map(String), nameGap: 26, axisLabel: { formatter: (value) => value } }),
    yAxis: [
      axis('length', { type: 'value', scale: true, minInterval: 1, nameGap: 56 }),
      axis('cycles per wave', { type: 'value', scale: true, nameGap: 56, splitLine: { show: false } }),
    ],
    series: [
      line('length', 'length', 'after', 0), line('bound on the length', 'length_bound', 'after', 0, bound),
      line('cycles per wave', 'cycles_per_wave', 'source', 1, dashed), line('bound on the cycles', 'cycles_per_wave_bound', 'source', 1, boundDashed),
      ...marks.map(mark),
    ],
    tooltip: {
      formatter: (items) => {
        const at = Number(items[0].axisValue);
        const point = points.find((one) => one.waves === at);
        const lines = [`<b>${counted(at, 'wave')}</b>`];
        if (point) {
          lines.push(
            `length ${withBound(number(point.length), number(point.length_bound))}, proven in ${point.proven} of ${counted(regions, 'region')}`,
            `cycles per wave ${withBound(cycles(point.cycles_per_wave), cycles(point.cycles_per_wave_bound))}`,
          );
          if (point.spilled) lines.push(`${counted(point.spilled, 'register')} spilled`);
        }
        for (const mark of marks.filter((one) => one.waves === at)) {
          lines.push(`<b>${mark.title}</b>: length ${number(mark.length)}, cycles per wave ${cycles(mark.cycles)}`);
        }
        return lines.join('<br>');
      },
    },
  };
}
