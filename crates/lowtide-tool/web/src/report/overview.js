// All kernels, all regions of all kernels, and one kernel.
import { change, counted, el, number, percent, seconds, sortableTable, tabs } from '../lib/index.js';
import { addressOf } from './address.js';
import { against, baselineInWords, regionBefore } from './baseline.js';
import { frontChart } from './front.js';
import { kernelFigures, primary, sum, tile, tiles, withBound } from './figures.js';

export function overviewPage(main, overview) {
  const kernels = overview.kernels.map((kernel) => ({ kernel, ...kernelFigures(kernel) }));
  const regions = overview.kernels.flatMap((kernel) => kernel.regions);
  const proven = regions.filter((region) => region.optimal).length;
  const shown = tabs({
    label: 'What to list',
    tabs: [
      { name: 'kernels', title: `Kernels (${number(kernels.length)})`, render: (panel) => panel.append(...kernelTable(kernels)) },
      { name: 'regions', title: `Regions (${number(regions.length)})`, render: (panel) => panel.append(...regionTable(regions, true)) },
    ],
  });
  const targets = Object.entries(overview.targets).map(([name, target]) => `${name}: ${target.description}`);
  const latencies = [...new Set(overview.kernels.map((kernel) => kernel.latencies))];
  main.replaceChildren(
    el('p', { class: 'muted' }, `Goal ${overview.goal}, algorithm ${overview.algorithm}, latencies: ${latencies.join(', ')}, for ${targets.join('; ')}.`),
    tiles(
      tile('Kernels', number(kernels.length), `${counted(regions.length, 'region')}, ${counted(sum(kernels, (row) => row.instructions), 'instruction')}`),
      tile('Waves', change(sum(kernels, (row) => row.before.occupancy), sum(kernels, (row) => row.occupancy)),
        `${against(overview.kernels)}, all kernels together; at most ${number(sum(kernels, (row) => row.occupancyBound))} are possible`),
      tile('Cycles', change(sum(kernels, (row) => row.before.length), sum(kernels, (row) => row.length)),
        `${against(overview.kernels)}, all regions together; at least ${number(sum(kernels, (row) => row.lengthBound))} are needed`),
      tile('Cycles with loops', change(sum(kernels, (row) => row.before.weighted_length), sum(kernels, (row) => row.weightedLength)),
        `${against(overview.kernels)}; each loop around a region counts ten times`),
      tile('Proven', regions.length ? percent(proven / regions.length) : '–', `${number(proven)} regions cannot be better for the goal`),
    ),
    el('p', { class: 'muted', id: 'baseline' }, `Tables go from ${baselineInWords(overview.kernels)} to Lowtide’s. Bounds are in brackets where they are not reached. Click a heading to sort.`),
    shown.element,
  );
  shown.start();
}

/// A field that leaves only rows with a text in their name; a short list needs none.
function filtered(rows, name, table) {
  if (rows.length < 10) return '';
  const field = el('input', { type: 'search', class: 'plain', oninput: () => {
    const text = field.value.toLowerCase();
    table.setRows(rows.filter((row) => name(row).toLowerCase().includes(text)));
  } });
  return el('div', { class: 'controls' }, el('label', { class: 'control' }, 'Name contains ', field));
}

function kernelTable(kernels) {
  const columns = [
    { title: 'Kernel', value: (row) => row.kernel.name },
    { title: 'Regions', numeric: true, value: (row) => row.kernel.regions.length, text: (row) => number(row.kernel.regions.length) },
    { title: 'Size', hint: 'Instructions', numeric: true, value: (row) => row.instructions, text: (row) => number(row.instructions) },
    { title: 'Waves', numeric: true, value: (row) => row.occupancy, text: (row) => withBound(row.before.occupancy, row.occupancy, '≤', row.occupancyBound) },
    { title: 'Peak', hint: 'Registers of the first class, in the worst region', numeric: true, value: (row) => row.peak, text: (row) => withBound(row.before.peak, row.peak, '≥', row.peakBound) },
    { title: 'Length', hint: 'Cycles of all regions', numeric: true, value: (row) => row.length, text: (row) => withBound(row.before.length, row.length, '≥', row.lengthBound) },
    { title: 'Proven', hint: 'Regions that cannot be better', numeric: true, value: (row) => row.proven / Math.max(1, row.kernel.regions.length), text: (row) => `${row.proven}/${row.kernel.regions.length}` },
    { title: 'Time', numeric: true, value: (row) => row.kernel.seconds, text: (row) => seconds(row.kernel.seconds) },
  ];
  const table = sortableTable({ columns, rows: kernels, label: 'Kernels', id: 'kernels', onopen: (row) => { location.hash = addressOf({ kernel: row.kernel.number }); } });
  return [filtered(kernels, (row) => row.kernel.name, table), table];
}

function regionTable(regions, withKernel) {
  const columns = [
    { title: 'Region', value: (region) => (withKernel ? `${region.kernel.name} ${region.name}` : region.name) },
    { title: 'Size', hint: 'Instructions', numeric: true, value: (region) => region.n, text: (region) => number(region.n) },
    { title: 'Waves', hint: 'As far as this region limits them', numeric: true, value: (region) => region.occupancy, text: (region) => change(regionBefore(region).occupancy, region.occupancy) },
    { title: 'Peak', hint: 'Registers of the first class', numeric: true, value: (region) => region.peak[primary(region)] ?? 0,
      text: (region) => withBound(regionBefore(region).peak[primary(region)] ?? 0, region.peak[primary(region)] ?? 0, '≥', region.peak_bound[primary(region)] ?? 0) },
    { title: 'Length', hint: 'Cycles', numeric: true, value: (region) => region.length, text: (region) => withBound(regionBefore(region).length, region.length, '≥', region.length_bound) },
    { title: 'Loops', hint: 'Loops around it', numeric: true, value: (region) => region.loop_depth, text: (region) => number(region.loop_depth) },
    { title: 'Proven', hint: 'Cannot be better for the goal', value: (region) => Number(region.optimal), text: (region) => (region.optimal ? 'yes' : 'no') },
  ];
  const table = sortableTable({ columns, rows: regions, label: 'Regions', id: 'regions', sort: { column: 1, descending: true },
    onopen: (region) => { location.hash = addressOf({ kernel: region.kernel.number, region: region.number }); } });
  return [filtered(regions, (region) => `${region.kernel.name} ${region.name}`, table), table];
}

export function kernelPage(main, overview, kernel) {
  const figures = kernelFigures(kernel);
  const target = overview.targets[kernel.target];
  const { before } = figures;
  // The other order, where both are known.
  const source = kernel.baseline === 'production' ? kernel.source : null;
  const remark = (name) => `${against([kernel])}${source ? `; source ${number(source[name])}` : ''}`;
  const front = kernel.front ? frontChart(kernel, figures) : null;
  const limit = kernel.most_waves < 2 ** 32 - 1 ? `; local memory and launch bounds allow ${kernel.most_waves}` : '';
  main.replaceChildren(
    el('nav', { 'aria-label': 'Where you are' }, el('a', { href: '#' }, 'All kernels')),
    el('h2', {}, kernel.name),
    el('p', { class: 'muted' }, [kernel.symbol === kernel.name ? '' : kernel.symbol, kernel.origin, `${kernel.target}: ${target.description}`].filter(Boolean).join(' · ')),
    tiles(
      tile('Waves', change(before.occupancy, figures.occupancy),
        `${remark('occupancy')}; at most ${figures.occupancyBound} are possible${limit}`),
      tile('Peak', change(before.peak, figures.peak), `${remark('peak')}; at least ${number(figures.peakBound)} are needed`),
      tile('Cycles', change(before.length, figures.length), `${remark('length')}; at least ${number(figures.lengthBound)} are needed`),
      tile('Cycles with loops', change(before.weighted_length, figures.weightedLength), `${remark('weighted_length')}; each loop around a region counts ten times`),
      tile('Proven', `${figures.proven}/${kernel.regions.length}`, 'regions cannot be better for the goal'),
      front ? tile('Cycles per wave', number(kernel.cycles_per_wave, 1), `estimated; at least ${number(kernel.cycles_per_wave_bound, 1)} for any waves`) : null,
      tile('Time', seconds(kernel.seconds), 'of one core'),
    ),
    kernel.filtered
      ? el('p', { class: 'notice' }, 'More waves are possible, but would cost too many cycles; ', el('code', {}, '--no-filter'), ' takes them.')
      : '',
    ...(front?.elements ?? []),
    ...regionTable(kernel.regions, false),
  );
  front?.draw();
}
