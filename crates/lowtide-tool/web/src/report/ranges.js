// When each value is live: from its definition to its last use, with the peak.
import { axis, chart, choice, colour, el, escapeHtml, number, zoom } from '../lib/index.js';
import { follow } from './selection.js';

export function rangesTab(panel, { model, region, selection }) {
  const state = { schedule: model.after, classNumber: region.primary, selection };
  const label = () => {
    const { schedule, classNumber } = state;
    const peak = schedule.peaks[classNumber];
    return `Live ranges of ${model.classes[classNumber]} in the order of ${schedule.title}; the peak of ${peak.value} is after ${peak.boundary} instructions.`;
  };
  const drawn = chart({ id: 'ranges', height: 620, label: label(), zooms: { x: 0, y: 2, inverse: true }, option: () => option(model, state) });
  const text = el('p', {});
  const update = () => {
    text.textContent = label();
    drawn.element.querySelector('.chart').setAttribute('aria-label', label());
  };
  const change = (field) => (value) => {
    state[field] = field === 'schedule' ? model.schedules.find((schedule) => schedule.name === value) : Number(value);
    update();
    drawn.redraw({ keepZoom: false });
  };
  panel.append(
    el('div', { class: 'controls' },
      choice({ label: 'Order of', name: 'schedule', value: state.schedule.name, options: model.schedules.map(({ name, title }) => [name, title]), onchange: change('schedule') }),
      choice({ label: 'Class', name: 'class', value: String(state.classNumber), options: model.classes.map((name, position) => [String(position), name]), onchange: change('classNumber') })),
    text,
    drawn.element,
  );
  update();
  drawn.draw();
  drawn.instance.on('click', ({ data }) => {
    // A value that is live at the start has no writer.
    if (data?.of !== undefined) selection.select(model.values.def[data.of] ?? model.values.uses[data.of][0] ?? null);
  });
  follow(panel, selection, () => drawn.redraw());
}

function option(model, { schedule, classNumber, selection: { instr: selected } }) {
  const { boundary, value: peak } = schedule.peaks[classNumber];
  const rows = [];
  model.values.class.forEach((own, value) => {
    if (own !== classNumber) return;
    const [first, last] = model.liveRange(schedule, value);
    rows.push({ value, first, last, atPeak: first <= boundary && boundary <= last });
  });
  rows.sort((one, other) => one.first - other.first || one.last - other.last);
  const fills = [colour('after'), colour('peak')];
  const own = new Set(selected === null ? [] : [...model.defined[selected], ...model.used[selected]]);
  const outline = { stroke: colour('ink'), lineWidth: 2.5 };
  const names = { fill: colour('surface'), fontSize: 11, verticalAlign: 'middle', overflow: 'truncate' };
  const count = rows.length;
  return {
    legend: { show: false },
    grid: { left: 64, right: 40, top: 34, bottom: 80 },
    xAxis: axis('instructions issued', { type: 'value', min: 0, max: model.n, nameGap: 26 }),
    yAxis: axis('values, by their start', { type: 'value', inverse: true, min: 0, max: Math.max(1, count), minInterval: 1, nameGap: 44, splitLine: { show: false }, axisLabel: { showMaxLabel: false } }),
    dataZoom: [
      ...zoom({ xAxisIndex: 0, filterMode: 'none' }),
      { type: 'slider', yAxisIndex: 0, filterMode: 'none', right: 4, width: 18, showDetail: false, showDataShadow: false, brushSelect: false,
        borderColor: colour('line'), fillerColor: colour('filler'), handleStyle: { color: colour('surface'), borderColor: colour('muted') }, moveHandleStyle: { color: colour('muted') } },
      { type: 'inside', yAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false },
    ],
    series: [{
      type: 'custom',
      clip: true,
      progressive: 2000,
      encode: { x: [0, 1], y: 2 },
      data: rows.map(({ value, first, last, atPeak }, row) => ({ value: [first, last, row, atPeak ? 1 : 0], of: value })),
      renderItem: (params, api) => {
        // A value that is live at one boundary only still has a width.
        const [left, top] = api.coord([Math.max(api.value(0) - 0.5, 0), api.value(2)]);
        const [right, bottom] = api.coord([Math.min(api.value(1) + 0.5, model.n), api.value(2) + 1]);
        const { x, y, width, height } = params.coordSys;
        if (right < x || left > x + width || bottom < y || top > y + height) return undefined;
        const room = bottom - top;
        const value = rows[api.value(2)].value;
        const shape = { x: left, y: top, width: Math.max(right - left, 1), height: Math.max(room > 4 ? room - 1 : room, 0.8) };
        const bar = { type: 'rect', shape, style: { fill: fills[api.value(3)], ...(own.has(value) ? outline : {}) }, z2: own.has(value) ? 2 : 1 };
        if (room < 13 || right - left < 24) return bar;
        const from = Math.max(left, x) + 4;
        const text = { type: 'text', silent: true, z2: 3, style: { ...names, text: model.values.name[value], x: from, y: top + room / 2, width: Math.min(right, x + width) - from - 2 } };
        return { type: 'group', children: [bar, text] };
      },
      markLine: {
        silent: true,
        symbol: 'none',
        data: [...(selected === null ? [] : [{ xAxis: schedule.position[selected] + 0.5, lineStyle: { color: colour('ink'), type: 'solid', width: 1.5 }, label: { show: false } }]), { xAxis: boundary, lineStyle: { color: colour('peak'), type: [4, 3], width: 1.5 }, label: { formatter: () => `peak ${number(peak)}`, color: colour('peak'), position: 'start', distance: 4, rotate: 0 } }],
      },
    }],
    tooltip: { trigger: 'item', formatter: ({ data }) => (data?.of === undefined ? '' : tooltip(model, data)) },
  };
}

function tooltip(model, { value: [first, last], of: value }) {
  const { name, weight, def, uses, live_out } = model.values;
  const from = def[value] === null ? 'from the start' : `from ${model.describe(def[value])}`;
  const to = live_out[value] ? 'to the end and on' : `last used after ${number(last)} instructions`;
  return `<b>${escapeHtml(name[value])}</b>, weight ${weight[value]}<br>${escapeHtml(from)}, ${to}<br>live at ${number(last - first + 1)} boundaries, ${number(uses[value].length)} uses`;
}
