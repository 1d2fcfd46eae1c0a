// One region: its figures, and a tab for each way to look at it.
import { change, counted, el, number, readPart, tabs } from '../lib/index.js';
import { addressOf } from './address.js';
import { baselineOf, regionBefore } from './baseline.js';
import { boundsTab } from './bounds.js';
import { tile, tiles } from './figures.js';
import { finder } from './finder.js';
import { graphTab } from './graph.js';
import { listingTab } from './listing.js';
import { Model } from './model.js';
import { pressureTab } from './pressure.js';
import { rangesTab } from './ranges.js';
import { searchTab } from './search.js';
import { Selection } from './selection.js';
import { timelineTab } from './timeline.js';

const models = new WeakMap();

export async function regionPage(main, overview, kernel, region, { tab, instr }) {
  if (!models.has(region)) models.set(region, new Model(region, (await readPart(region.part))[region.entry]));
  const model = models.get(region);
  const selection = new Selection(instr !== null && instr < model.n ? instr : null);
  const context = { model, region, kernel, target: overview.targets[kernel.target], selection };
  let opened = tab;
  const showAddress = () => history.replaceState(null, '', addressOf({ kernel: kernel.number, region: region.number, tab: opened, instr: selection.instr }));
  const shown = tabs({
    label: 'Views of the region',
    selected: tab ?? undefined,
    tabs: [
      { name: 'pressure', title: 'Pressure', render: (panel) => pressureTab(panel, context) },
      { name: 'timeline', title: 'Timeline', render: (panel) => timelineTab(panel, context) },
      { name: 'ranges', title: 'Live ranges', render: (panel) => rangesTab(panel, context) },
      { name: 'graph', title: 'Graph', render: (panel) => graphTab(panel, context) },
      { name: 'bounds', title: 'Bounds', render: (panel) => boundsTab(panel, context, openGraph) },
      { name: 'search', title: 'Search', render: (panel) => searchTab(panel, context) },
      { name: 'listing', title: 'Instructions', render: (panel) => listingTab(panel, context) },
    ],
    onselect: (name) => {
      opened = name;
      showAddress();
    },
  });
  selection.subscribe(showAddress);
  function openGraph(mark) {
    context.mark = mark;
    shown.open('graph');
    context.showMark?.(mark);
  }
  main.replaceChildren(
    el('nav', { 'aria-label': 'Where you are' },
      el('a', { href: '#' }, 'All kernels'), ' › ', el('a', { href: addressOf({ kernel: kernel.number }) }, kernel.name), ...neighbours(kernel, region)),
    el('h2', {}, `Region ${region.name}`),
    figures(overview.goal, kernel, region),
    finder(context),
    shown.element,
  );
  shown.start();
}

function neighbours(kernel, region) {
  const link = (other, text) => (other ? [' · ', el('a', { href: addressOf({ kernel: kernel.number, region: other.number }) }, `${text} (${other.name})`)] : []);
  return [...link(kernel.regions[region.number - 1], 'previous'), ...link(kernel.regions[region.number + 1], 'next')];
}

function figures(goal, kernel, region) {
  const baseline = baselineOf(region);
  const before = regionBefore(region);
  const other = baseline === 'production' ? region.source : null;
  const remark = (of, rest) => `against ${baseline}${other ? `; source ${number(of(other))}` : ''}; ${rest}`;
  const peaks = region.classes.map((name) => {
    const of = (figures) => figures.peak[name];
    return tile(`Peak of ${name}`, change(of(before), region.peak[name]), remark(of, `at least ${number(region.peak_bound[name])}`));
  });
  const waves = (figures) => figures.occupancy;
  const length = (figures) => figures.length;
  return tiles(
    tile('Size', number(region.n), region.loop_depth ? `instructions, in ${counted(region.loop_depth, 'loop')}` : 'instructions'),
    tile('Waves', change(waves(before), region.occupancy), remark(waves, `the kernel has ${kernel.occupancy}`)),
    ...peaks,
    tile('Cycles', change(length(before), region.length), remark(length, `at least ${number(region.length_bound)}`)),
    tile('Proven', region.optimal ? 'yes' : 'no', proof(goal, region)),
  );
}

function proof(goal, region) {
  if (region.optimal) return 'no schedule is better for the goal';
  if (goal === 'minreg') return `open: the peak of ${region.classes[region.primary]}`;
  const open = [goal === 'length' || region.proven_waves ? null : 'waves', region.proven_length ? null : 'length'].filter(Boolean);
  return open.length ? `open: ${open.join(' and ')}` : 'open';
}
