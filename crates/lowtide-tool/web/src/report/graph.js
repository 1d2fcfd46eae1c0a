// The dependence graph, in layers from top to bottom, with what is live at a peak or across a cut.
import { axis, chart, choice, colour, el, escapeHtml, number } from '../lib/index.js';
import { reasonInWords } from './model.js';

/// With more nodes in view, they have no names.
const FEW = 120;

export function graphTab(panel, context) {
  const { model, region } = context;
  const marks = marksOf(model, region);
  const state = { mark: context.mark ?? `peak-lowtide-${region.primary}`, selected: null };
  const across = model.layout.x.reduce((most, x) => Math.max(most, x), 0);
  const layers = model.layout.layer.reduce((most, layer) => Math.max(most, layer), 0);
  const drawn = chart({
    id: 'graph',
    height: 680,
    label: `Dependence graph of ${model.n} instructions in ${layers + 1} layers and ${model.edges.from.length} edges.`,
    zooms: { x: 0, y: 1, inverse: true },
    option: () => option(model, marks, state, across, layers),
  });
  const about = el('p', { role: 'status', 'aria-live': 'polite', id: 'graph-mark' });
  const details = el('p', { role: 'status', 'aria-live': 'polite', class: 'muted', id: 'graph-node' });
  const update = () => {
    about.textContent = marks.get(state.mark)?.text ?? '';
    details.textContent = state.selected === null ? 'Click a node, or enter its number, to see what it reads and writes.' : describe(model, state.selected);
  };
  const redraw = () => {
    drawn.redraw();
    drawn.instance.names = ''; // gone with the old drawing
    showNames(drawn.instance, model, across, layers);
  };
  const select = (instr, center) => {
    state.selected = instr;
    update();
    redraw();
    if (center) {
      // A window of about ten layers and nodes around it.
      const window = (place, size) => {
        const width = Math.min(100, 1000 / Math.max(size, 10));
        const first = Math.min(Math.max((place / Math.max(size, 1)) * 100 - width / 2, 0), 100 - width);
        return [first, first + width];
      };
      drawn.show(0, ...window(model.layout.x[instr], across));
      drawn.show(1, ...window(model.layout.layer[instr], layers));
    }
  };
  const marker = choice({ label: 'Mark', name: 'mark', value: state.mark, options: [...marks].map(([name, { title }]) => [name, title]), onchange: (value) => context.showMark(value) });
  context.showMark = (name) => {
    state.mark = name;
    marker.querySelector('select').value = name;
    update();
    redraw();
  };
  const field = el('input', { type: 'number', class: 'plain', min: 0, max: model.n - 1, name: 'instr' });
  const find = el('form', { class: 'control', onsubmit: (event) => {
    event.preventDefault();
    const instr = Number(field.value);
    if (field.value !== '' && instr >= 0 && instr < model.n) select(instr, true);
  } }, el('label', {}, 'Instruction # ', field), ' ', el('button', { class: 'plain' }, 'Show'));
  panel.append(el('div', { class: 'controls' }, marker, find), about, drawn.element, details);
  update();
  drawn.draw();
  drawn.instance.names = '';
  drawn.instance.on('click', ({ data }) => data?.instr !== undefined && select(data.instr, false));
  drawn.instance.on('datazoom', () => showNames(drawn.instance, model, across, layers));
  showNames(drawn.instance, model, across, layers);
}

/// What can be marked: by name, a title for the choice, and what is issued and live then.
function marksOf(model, region) {
  const marks = new Map();
  model.classes.forEach((name, classNumber) => {
    for (const schedule of [model.after, ...model.before]) {
      const { issued, live, pressure } = model.atPeak(schedule, classNumber);
      const through = model.through[classNumber];
      const passing = through ? ` and ${through} that only pass through` : '';
      marks.set(`peak-${schedule.name}-${classNumber}`, {
        title: `peak of ${name}, ${schedule.title}`,
        text: `Peak of ${pressure} ${name} in the order of ${schedule.title}, after ${number(schedule.peaks[classNumber].boundary)} instructions: ${live.length} values are live${passing}. Filled nodes have been issued; red ones have written what is live.`,
        issued,
        live,
        moment: [],
      });
    }
    const cut = model.atCut(classNumber);
    if (cut) {
      const reason = region.peak_bound_by[name];
      marks.set(`cut-${classNumber}`, {
        title: `cut for ${name} ≥ ${region.peak_bound[name]}`,
        text: `No order needs fewer than ${region.peak_bound[name]} ${name}. ${reasonInWords(model, reason)} Filled nodes have been issued; red ones have written what is live.`,
        issued: cut.issued,
        live: cut.live,
        moment: [reason.instr, reason.and].filter((instr) => instr !== undefined),
      });
    }
  });
  const path = model.longestPath();
  marks.set('path', {
    title: 'longest path',
    text: `The longest path of latencies: ${number(path.length + 1)} instructions, ${number(model.length_bounds.critical_path)} cycles at least.`,
    issued: () => true,
    live: [],
    path,
    moment: [],
  });
  return marks;
}

function describe(model, instr) {
  const names = (values) => (values.length ? values.map((value) => model.values.name[value]).join(', ') : 'nothing');
  const { position, cycles } = model.after;
  return `${model.describe(instr)}: number ${number(position[instr] + 1)} in Lowtide’s order, cycle ${number(cycles[instr])}; reads ${names(model.used[instr])}; writes ${names(model.defined[instr])}; ${model.preds[instr].length} edges in, ${model.succs[instr].length} out, latency ${model.latency[instr]}.`;
}

/// Names the nodes in view if they are few: thousands of names would keep the browser busy for minutes. Then
/// draws edges and nodes clearly, since there is room for it.
function showNames(instance, model, across, layers) {
  const [x, y] = instance.getOption().dataZoom;
  const inside = (place, size, { start, end }) => place >= (size * start) / 100 - 0.5 && place <= (size * end) / 100 + 0.5;
  const seen = [];
  for (let instr = 0; instr < model.n && seen.length <= FEW; instr++) {
    if (inside(model.layout.x[instr], across, x) && inside(model.layout.layer[instr], layers, y)) seen.push(instr);
  }
  const named = seen.length <= FEW ? seen : [];
  const names = named.join();
  if (instance.names === names) return;
  instance.names = names;
  const data = named.map((instr) => ({ value: [model.layout.x[instr], model.layout.layer[instr]], instr }));
  const look = styleOf(model, named.length > 0);
  instance.setOption({
    series: [
      { id: 'names', data },
      { id: 'data', lineStyle: { opacity: look.opacity } },
      { id: 'order', lineStyle: { opacity: look.opacity / 2 } },
      ...['waiting', 'issued', 'hot'].map((id) => ({ id, symbolSize: look.size })),
    ],
  });
}

/// The more there is in view, the finer it has to be drawn.
function styleOf(model, isNear) {
  if (isNear) return { opacity: 0.9, size: 11 };
  return { opacity: Math.max(0.25, Math.min(0.9, 600 / model.edges.from.length)), size: model.n > 2000 ? 4 : model.n > 400 ? 6 : 9 };
}

function option(model, marks, state, across, layers) {
  const mark = marks.get(state.mark);
  const point = (instr) => [model.layout.x[instr], model.layout.layer[instr]];
  const line = (from, to) => ({ coords: [point(from), point(to)] });
  const { from, to, kind } = model.edges;
  const all = from.map((_, edge) => edge);
  const order = all.filter((edge) => kind[edge] !== 'data');
  const ofSelected = (edge) => from[edge] === state.selected || to[edge] === state.selected;
  const strong = mark.path
    ? mark.path.map((edge) => line(from[edge], to[edge]))
    : mark.live.flatMap((value) => {
        const def = model.values.def[value];
        return def === null ? [] : model.values.uses[value].filter((instr) => !mark.issued(instr)).map((instr) => line(def, instr));
      });
  const onPath = new Set((mark.path ?? []).flatMap((edge) => [from[edge], to[edge]]));
  const writers = new Set(mark.live.map((value) => model.values.def[value]).filter((def) => def !== null));
  const hot = (instr) => writers.has(instr) || onPath.has(instr);
  const edgeSeries = (id, name, data, style, more = {}) => ({
    id, name, type: 'lines', coordinateSystem: 'cartesian2d', polyline: false, silent: true, animation: false, clip: true,
    large: data.length > 1500, largeThreshold: 1500, progressive: 0, data, lineStyle: { ...style, curveness: 0 }, ...more,
  });
  const { opacity, size } = styleOf(model, false);
  const nodes = (id, name, instrs, style, more = {}) => ({
    id, name, type: 'scatter', animation: false, clip: true, large: model.n > 500, progressive: 0, symbolSize: size,
    itemStyle: style, data: instrs.map((instr) => ({ value: point(instr), instr })),
    z: 4, ...more,
  });
  const instrs = Array.from({ length: model.n }, (_, instr) => instr);
  const zoomOf = (axisName) => ({
    type: 'inside', [`${axisName}AxisIndex`]: 0, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, moveOnMouseMove: true,
  });
  return {
    legend: { data: ['data', order.length ? 'order only' : null, mark.path ? 'on the path' : 'live'].filter(Boolean) },
    grid: { left: 12, right: 12, top: 36, bottom: 12 },
    xAxis: axis('', { type: 'value', min: -1, max: across + 1, show: false }),
    yAxis: axis('', { type: 'value', min: -0.5, max: layers + 0.5, inverse: true, show: false }),
    dataZoom: [zoomOf('x'), zoomOf('y')],
    tooltip: { trigger: 'item', formatter: ({ data }) => (data?.instr === undefined ? '' : escapeHtml(describe(model, data.instr)).replaceAll('; ', '<br>')) },
    series: [
      edgeSeries('order', 'order only', order.map((edge) => line(from[edge], to[edge])), { color: colour('stall'), width: 1, opacity: opacity / 2 }),
      edgeSeries('data', 'data', all.filter((edge) => kind[edge] === 'data').map((edge) => line(from[edge], to[edge])), { color: colour('step'), width: 1, opacity }),
      edgeSeries('strong', mark.path ? 'on the path' : 'live', strong, { color: colour('peak'), width: 1.6, opacity: 0.9 }, { z: 3 }),
      edgeSeries('selected-edges', 'selected', state.selected === null ? [] : all.filter(ofSelected).map((edge) => line(from[edge], to[edge])), { color: colour('accent'), width: 2.4, opacity: 1 }, { z: 3 }),
      nodes('waiting', 'waiting', instrs.filter((instr) => !mark.issued(instr)), { color: colour('surface'), borderColor: colour('after'), borderWidth: 1.3 }),
      nodes('issued', 'issued', instrs.filter((instr) => mark.issued(instr) && !hot(instr)), { color: colour('after') }),
      nodes('hot', mark.path ? 'on the path' : 'live', instrs.filter(hot), { color: colour('peak') }, { z: 5 }),
      nodes('moment', 'moment', mark.moment, { color: colour('bound'), borderColor: colour('ink'), borderWidth: 1 }, { z: 6, symbol: 'diamond', symbolSize: 16, large: false }),
      nodes('names', 'names', [], { color: 'transparent' }, {
        silent: true, large: false, z: 8, labelLayout: { hideOverlap: true },
        label: { show: true, position: 'right', color: colour('ink'), textBorderColor: colour('surface'), textBorderWidth: 3, formatter: ({ data }) => model.describe(data.instr) },
      }),
      nodes('selected', 'selected', state.selected === null ? [] : [state.selected], { color: 'transparent', borderColor: colour('accent'), borderWidth: 3 }, { z: 7, symbolSize: 18, large: false }),
    ],
  };
}
