// The experiment book of `lowtide bench --html`: tables and charts are ready to be shown, here they are only drawn.
import { axis, chart, colour, el, number, readData, scrollBox, tabs, themeSwitch, zoom } from './lib/index.js';

const book = readData();
const SERIES = 9;

/// Curves differ by colour, dashes and marks. No two of the first nine have the same dashes and marks.
const seriesColour = (position) => colour(`series-${(position % SERIES) + 1}`);
const DASHES = ['solid', [9, 4], [3, 3], [12, 3, 3, 3], [6, 2]];
const MARKS = ['circle', 'rect', 'triangle', 'diamond'];
/// Marks of a curve over its whole length.
const MARKED_POINTS = 12;

function facts(pairs) {
  return el('dl', { class: 'facts' }, pairs.flatMap(([name, value]) => [el('dt', {}, ...marked(name)), el('dd', {}, value)]));
}

/// Text in which `this` is code.
function marked(text) {
  return text.split('`').map((piece, position) => (position % 2 ? el('code', {}, piece) : piece));
}

function tableOf({ columns, rows }, label) {
  const cell = (tag, column, text) => {
    const kind = column.origin === 'name' ? null : `numeric ${column.origin}`;
    return el(tag, { class: kind, scope: tag === 'th' ? 'col' : null }, text);
  };
  const head = el('tr', {}, columns.map((column) => cell(column.title ? 'th' : 'td', column, column.title)));
  const body = rows.map((row) => el('tr', {}, row.map((text, position) => (position === 0
    ? el('th', { scope: 'row' }, text)
    : cell('td', columns[position], text)))));
  return scrollBox(el('table', { 'aria-label': label }, el('thead', {}, head), el('tbody', {}, body)), label);
}

function note(text) {
  return text ? el('p', { class: 'hint' }, ...marked(text)) : null;
}

/// What a figure says, by its shape.
const shapes = {
  sorted: (curves, part) => {
    const most = Math.max(...curves.flatMap((curve) => curve.points.map(([, y]) => y)));
    const isLog = most > 3;
    const scale = isLog ? { type: 'log', logBase: 2 } : { type: 'value', scale: true };
    // What all of them have in common is flat: it is left of what is shown first.
    const rises = curves.map((curve) => curve.points.find(([, y]) => y > curve.points[0][1])?.[0] ?? 100);
    const start = Math.max(0, Math.floor(Math.min(...rises) / 10) * 10 - 10);
    return {
      grid: { bottom: 84 },
      dataZoom: zoom({ start: start > 80 ? 80 : start, end: 100 }),
      tooltip: { valueFormatter: (value) => number(value, 3) },
      xAxis: axis(part.x, { type: 'value', min: 0, max: 100, nameGap: 28 }),
      yAxis: axis(isLog ? `${part.y} (log scale)` : part.y, { ...scale, min: (range) => Math.min(1, range.min), nameGap: 44, axisLabel: { formatter: (value) => number(value, isLog ? 0 : 2) } }),
      series: curves.map((curve, position) => line(curve, position, curves.length, { step: curve.points.length < 60 ? 'middle' : false })),
    };
  },
  line: (curves, part) => ({
    legend: { show: false },
    xAxis: axis(part.x, { type: 'value', max: 'dataMax', nameGap: 28 }),
    yAxis: axis(part.y, { type: 'value', nameGap: 44 }),
    series: curves.map((curve, position) => line(curve, position, curves.length, { step: 'middle', areaStyle: { opacity: 0.2 } })),
  }),
  points: (curves, part) => ({
    tooltip: { trigger: 'item', formatter: ({ value }) => `${number(value[0])} ${part.x}: ${number(value[1])}` },
    xAxis: axis(part.x, { type: 'value', nameGap: 28 }),
    yAxis: axis(part.y, { type: 'value', nameGap: 44, minInterval: 1 }),
    series: curves.map((curve, position) => ({
      type: 'scatter', name: curve.name, data: curve.points, symbol: MARKS[position % MARKS.length], symbolSize: 9,
      itemStyle: { color: seriesColour(position), opacity: 0.55 },
    })),
  }),
  bars: ({ labels, rows, stacked }, part) => ({
    tooltip: { axisPointer: { type: 'shadow' } },
    xAxis: axis(part.x, { type: 'category', data: labels, nameGap: 30, axisLabel: { interval: 0, hideOverlap: true, formatter: (label) => label } }),
    yAxis: axis(part.y, { type: 'value', nameGap: 44, minInterval: 1 }),
    series: rows.map(([name, values], position) => ({
      type: 'bar', name, data: values, stack: stacked ? 'all' : null, barMaxWidth: 48, barGap: '8%',
      itemStyle: { color: seriesColour(position) },
    })),
  }),
};

/// One of `count` curves. Where curves lie on each other, all of them can be seen: later ones are thinner and
/// have gaps, and their marks are at other points.
function line(curve, position, count, more) {
  const shade = seriesColour(position);
  // At least one point for each curve, so that no two have their marks at the same one.
  const every = Math.max(count, Math.round(curve.points.length / MARKED_POINTS));
  return {
    type: 'line', name: curve.name, data: curve.points, z: 2 + position,
    showSymbol: count > 1, showAllSymbol: true, symbol: MARKS[position % MARKS.length],
    symbolSize: (_, { dataIndex }) => (dataIndex % every === Math.floor((every * position) / count) ? 9 : 0),
    lineStyle: { width: 3.4 - (2 * position) / Math.max(count - 1, 1), type: DASHES[position % DASHES.length], color: shade },
    itemStyle: { color: shade }, ...more,
  };
}

function draw(part) {
  const { kind, series } = part.shape;
  const zooms = kind === 'sorted' ? { x: 0 } : null;
  const drawn = chart({ label: part.title, height: kind === 'sorted' ? 400 : 340, zooms, option: () => shapes[kind](series, part) });
  const numbers = part.numbers && el('details', {}, el('summary', {}, 'Numbers'), tableOf(part.numbers, part.title), note(part.numbers.note));
  return [drawn, el('div', {}, drawn.element, note(part.note), numbers)];
}

function chapterInto(panel, chapter) {
  const { paper } = chapter;
  panel.append(
    el('h2', {}, chapter.title),
    facts([...chapter.facts, ['command', el('code', { class: 'command' }, chapter.command)]]),
    el('p', {}, `Paper ${paper.number}: ${paper.authors}, `, el('cite', {}, paper.title), '. ', ...marked(paper.setting)),
  );
  for (const part of chapter.parts) {
    const section = el('section', {}, el('h3', {}, part.title));
    panel.append(section);
    if (part.kind === 'table') {
      section.append(tableOf(part, part.title), ...[note(part.note)].filter(Boolean));
    } else {
      const [drawn, element] = draw(part);
      section.append(element);
      drawn.draw();
    }
  }
}

const chapters = book.chapters.map((chapter) => ({
  name: chapter.id,
  title: chapter.title,
  render: (panel) => chapterInto(panel, chapter),
}));
const all = tabs({
  tabs: chapters,
  label: 'Chapters',
  selected: location.hash.slice(1),
  onselect: (name) => history.replaceState(null, '', `#${name}`),
});
const main = el('main', { id: 'main', tabindex: '-1' },
  facts([
    // The command of a single chapter stands in it.
    ...(book.chapters.length > 1 ? [['command', el('code', { class: 'command' }, book.command)]] : []),
    ['version', `lowtide ${book.version}`],
    ['date', book.date],
    ['machine', book.machine],
  ]),
  el('p', { class: 'hint legend' }, 'In tables: ', el('span', { class: 'paper' }, 'the paper'), ' ', el('span', { class: 'ours' }, 'here'), ' ',
    el('span', { class: 'machine' }, 'here, and different on another machine')),
  all.element);
const page = document.getElementById('page');
page.classList.add('book');
page.append(
  el('a', { class: 'skip', href: '#main', onclick: (event) => { event.preventDefault(); main.focus(); } }, 'Skip to the content'),
  el('header', {}, el('h1', {}, book.title), themeSwitch()),
  main,
  el('footer', { class: 'muted' },
    el('details', {}, el('summary', {}, 'Licences of what draws this page'), el('pre', {}, document.getElementById('licences').textContent))),
);
// A single chapter leaves nothing to choose.
if (book.chapters.length === 1) all.element.querySelector('[role=tablist]').style.display = 'none';
all.start();
document.documentElement.dataset.ready = 'true';
