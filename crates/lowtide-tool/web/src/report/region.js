// One region: its figures, and a tab for each way to look at it.
import { counted, el, number, readPart, tabs } from '../lib/index.js';
import { boundsTab } from './bounds.js';
import { tile, tiles } from './figures.js';
import { graphTab } from './graph.js';
import { listingTab } from './listing.js';
import { Model } from './model.js';
import { pressureTab } from './pressure.js';
import { rangesTab } from './ranges.js';
import { searchTab } from './search.js';
import { timelineTab } from './timeline.js';

const models = new WeakMap();

export async function regionPage(main, overview, kernel, region, tab) {
  const address = `#k${kernel.number}r${region.number}`;
  const head = [
    el('nav', { 'aria-label': 'Where you are' },
      el('a', { href: '#' }, 'All kernels'), ' › ', el('a', { href: `#k${kernel.number}` }, kernel.name), ...neighbours(kernel, region)),
    el('h2', {}, `Region ${region.name}`),
    figures(overview.goal, kernel, region),
  ];
  if (region.part === null) {
    main.replaceChildren(...head, el('p', { class: 'notice' }, 'The details of this region are left out to keep the page small. To see them: ',
      el('code', {}, `lowtide view FILE --kernel '${kernel.name}'`), '.'));
    return;
  }
  if (!models.has(region)) models.set(region, new Model(region, await readPart(region.part)));
  const model = models.get(region);
  const context = { model, region, kernel, target: overview.targets[kernel.target] };
  const shown = tabs({
    label: 'Views of the region',
    selected: tab,
    tabs: [
      { name: 'pressure', title: 'Pressure', render: (panel) => pressureTab(panel, context) },
      { name: 'timeline', title: 'Timeline', render: (panel) => timelineTab(panel, context) },
      { name: 'ranges', title: 'Live ranges', render: (panel) => rangesTab(panel, context) },
      { name: 'graph', title: 'Graph', render: (panel) => graphTab(panel, context) },
      { name: 'bounds', title: 'Bounds', render: (panel) => boundsTab(panel, context, openGraph) },
      { name: 'search', title: 'Search', render: (panel) => searchTab(panel, context) },
      { name: 'listing', title: 'Instructions', render: (panel) => listingTab(panel, context) },
    ],
    onselect: (name) => history.replaceState(null, '', `${address}/${name}`),
  });
  function openGraph(mark) {
    context.mark = mark;
    shown.open('graph');
    context.showMark?.(mark);
  }
  main.replaceChildren(...head, shown.element);
  shown.start();
}

function neighbours(kernel, region) {
  const link = (other, text) => (other ? [' · ', el('a', { href: `#k${kernel.number}r${other.number}` }, `${text} (${other.name})`)] : []);
  return [...link(kernel.regions[region.number - 1], 'previous'), ...link(kernel.regions[region.number + 1], 'next')];
}

function figures(goal, kernel, region) {
  const { source, production } = region;
  const before = (of) => [`source ${number(of(source))}`, production ? `production ${number(of(production))}` : null].filter(Boolean).join(', ');
  const peaks = region.classes.map((name) =>
    tile(`Peak of ${name}`, number(region.peak[name]), `${before((figures) => figures.peak[name])}; at least ${number(region.peak_bound[name])}`));
  return tiles(
    tile('Size', number(region.n), region.loop_depth ? `instructions, in ${counted(region.loop_depth, 'loop')}` : 'instructions'),
    tile('Waves', number(region.occupancy), `${before((figures) => figures.occupancy)}; the kernel has ${kernel.occupancy}`),
    ...peaks,
    tile('Cycles', number(region.length), `${before((figures) => figures.length)}; at least ${number(region.length_bound)}`),
    tile('Proven', region.optimal ? 'yes' : 'no', proof(goal, region)),
  );
}

function proof(goal, region) {
  if (region.optimal) return 'no schedule is better for the goal';
  if (goal === 'minreg') return `open: the peak of ${region.classes[region.primary]}`;
  const open = [goal === 'length' || region.proven_waves ? null : 'waves', region.proven_length ? null : 'length'].filter(Boolean);
  return open.length ? `open: ${open.join(' and ')}` : 'open';
}
