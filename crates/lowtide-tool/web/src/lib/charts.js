// Charts by ECharts, with only the modules that the pages need, in the colours of the page.
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, MarkPointComponent, TooltipComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { el } from './dom.js';
import { number } from './format.js';
import { colour, onThemeChange } from './theme.js';
import { listenToKeys, listenToWheel, zoomCaption } from './zoomcontrols.js';

echarts.use([
  AriaComponent, BarChart, CanvasRenderer, CustomChart, DataZoomComponent, GridComponent, LegendComponent, LineChart,
  MarkLineComponent, MarkPointComponent, ScatterChart, TooltipComponent,
]);

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

/// The height of a row of a legend, and the widths of its symbols (with gaps) and characters, in pixels.
const LEGEND_ROW = 24;
const LEGEND_SYMBOL = 42;
const LEGEND_CHARACTER = 6.8;

/// An axis in the colours of the page; `more` goes over it.
export function axis(name, more = {}) {
  const { axisLabel, splitLine, ...rest } = more;
  return {
    name,
    nameLocation: 'middle',
    nameTextStyle: { color: colour('muted') },
    axisLine: { lineStyle: { color: colour('line') } },
    axisTick: { lineStyle: { color: colour('line') } },
    axisLabel: { color: colour('muted'), formatter: (value) => number(value), hideOverlap: true, ...axisLabel },
    splitLine: { lineStyle: { color: colour('grid') }, ...splitLine },
    ...rest,
  };
}

/// A slider under the chart, and moving by drag or Shift and wheel, for one axis. `chart` zooms by wheel.
export function zoom(more = {}) {
  return [
    {
      type: 'slider', height: 22, bottom: 8, showDataShadow: false, brushSelect: false, borderColor: colour('line'),
      fillerColor: colour('filler'), textStyle: { color: colour('muted') },
      handleStyle: { color: colour('surface'), borderColor: colour('muted') },
      moveHandleStyle: { color: colour('muted') }, dataBackground: { lineStyle: { opacity: 0 } }, ...more,
    },
    { type: 'inside', zoomOnMouseWheel: false, moveOnMouseWheel: 'shift', ...more },
  ];
}

/// How lines of so many points are thinned out: peaks stay. Below some thousand, there is no need.
export const sampling = (points) => (points > 20_000 ? 'max' : undefined);

/// A chart in a box of its own. `option()` is called for the first drawing and whenever the colours change.
/// `label` says what the chart shows, for those who cannot see it. `zooms` are the axes that keys and buttons
/// zoom: {x, y} as positions in the option's dataZoom. Nothing is drawn before `draw()`, which needs a place
/// in the page.
export function chart({ option, label, height = 360, zooms = null, id = null }) {
  const box = el('div', { class: 'chart', role: 'img', 'aria-label': label, style: `height: ${height}px`, id });
  const element = el('figure', {}, box);
  let instance = null;

  const draw = () => {
    if (!instance) {
      instance = echarts.init(box, null, { renderer: 'canvas' });
      // Where the window changes, the chart goes with it; a chart that is not shown waits.
      new ResizeObserver(() => {
        if (box.clientWidth === 0 || box.clientWidth === instance.getWidth()) return;
        instance.resize();
        redraw();
      }).observe(box);
      box.chart = instance;
    }
    const base = {
      animation: false,
      backgroundColor: 'transparent',
      textStyle: { fontFamily: FONT, color: colour('ink') },
      aria: { enabled: true, label: { enabled: true, description: label } },
      tooltip: {
        trigger: 'axis', confine: true, backgroundColor: colour('panel'), borderColor: colour('line'),
        textStyle: { color: colour('ink'), fontSize: 13 },
      },
      legend: { top: 0, textStyle: { color: colour('ink') }, inactiveColor: colour('muted') },
      grid: { left: 56, right: 24, top: 36, bottom: zooms ? 80 : 44 },
    };
    const { tooltip, legend, grid, ...rest } = option();
    const ownGrid = { ...base.grid, ...grid };
    const legendRows = legend?.show === false ? 1 : rowsOf(legend, rest.series, box.clientWidth);
    instance.setOption(
      {
        ...base,
        ...rest,
        tooltip: { ...base.tooltip, ...tooltip },
        legend: { ...base.legend, ...legend },
        grid: Array.isArray(grid) ? grid : { ...ownGrid, top: ownGrid.top + (legendRows - 1) * LEGEND_ROW },
      },
      { notMerge: true },
    );
  };

  const redraw = ({ keepZoom = true } = {}) => {
    const parts = keepZoom ? (instance?.getOption().dataZoom ?? []).map(({ start, end }) => ({ start, end })) : [];
    draw();
    parts.forEach(({ start, end }, position) => show(instance, position, start, end));
  };
  onThemeChange(() => instance && box.isConnected && redraw());

  if (zooms) {
    box.tabIndex = 0;
    const press = (key) => zoomBy(key, instance, zooms);
    listenToKeys(box, press);
    listenToWheel(box, (factor, event) => wheelBy(factor, event, instance, zooms));
    element.append(zoomCaption(press, 'Keys on the chart: + and − zoom, arrows move, 0 shows all. Mouse: the wheel zooms after a click on the chart, or with Ctrl; drag moves.'));
  }
  return {
    element,
    draw,
    redraw,
    /// Shows a part of an axis, by the position of its zoom, in percent.
    show: (position, start, end) => show(instance, position, start, end),
    get instance() {
      return instance;
    },
  };
}

/// The rows that a legend takes in a chart of this width, in pixels.
function rowsOf(legend, series, width) {
  const names = (legend?.data ?? series.map(({ name }) => name)).filter(Boolean).map((name) => legend?.formatter?.(name) ?? name);
  let rows = 1;
  let taken = 0;
  for (const name of names) {
    const own = Math.min(LEGEND_SYMBOL + name.length * LEGEND_CHARACTER, width);
    if (taken + own > width) {
      rows += 1;
      taken = 0;
    }
    taken += own;
  }
  return rows;
}

function show(instance, position, start, end) {
  instance.dispatchAction({ type: 'dataZoom', dataZoomIndex: position, start, end });
}

/// Zooms all axes so that what is under the pointer stays there.
function wheelBy(factor, event, instance, { x, y, inverse }) {
  const box = instance.getDom().getBoundingClientRect();
  const { left, right, top, bottom } = instance.getOption().grid[0];
  const inset = (value) => (typeof value === 'number' ? value : 0);
  const within = (place, from, to) => Math.min(Math.max((place - from) / Math.max(to - from, 1), 0), 1);
  const across = within(event.clientX - box.left, inset(left), box.width - inset(right));
  const down = within(event.clientY - box.top, inset(top), box.height - inset(bottom));
  for (const [position, share] of [[x, across], [y, inverse ? down : 1 - down]]) {
    if (position === undefined) continue;
    const { start, end } = instance.getOption().dataZoom[position];
    const width = Math.min(100, Math.max((end - start) * factor, 0.02));
    const first = Math.min(Math.max(start + (end - start - width) * share, 0), 100 - width);
    show(instance, position, first, first + width);
  }
}

/// What a key does to the zooms of a chart; whether it does anything.
function zoomBy(key, instance, zooms) {
  const move = (position, change) => {
    if (position === undefined) return;
    const { start, end } = instance.getOption().dataZoom[position];
    const [from, to] = change(start, end);
    const width = Math.min(100, to - from);
    const first = Math.min(Math.max(from, 0), 100 - width);
    show(instance, position, first, first + width);
  };
  const by = (factor) => (start, end) => {
    const middle = (start + end) / 2;
    const half = Math.max(((end - start) / 2) * factor, 0.01);
    return [middle - half, middle + half];
  };
  const shift = (share) => (start, end) => [start + (end - start) * share, end + (end - start) * share];
  const both = (change) => {
    move(zooms.x, change);
    move(zooms.y, change);
  };
  const actions = {
    '+': () => both(by(0.5)),
    '=': () => both(by(0.5)),
    '-': () => both(by(2)),
    0: () => both(() => [0, 100]),
    ArrowLeft: () => move(zooms.x, shift(-0.25)),
    ArrowRight: () => move(zooms.x, shift(0.25)),
  };
  // Where lines go down, so do the numbers.
  const down = zooms.inverse ? 0.25 : -0.25;
  if (zooms.y !== undefined) {
    actions.ArrowUp = () => move(zooms.y, shift(-down));
    actions.ArrowDown = () => move(zooms.y, shift(down));
  }
  if (!actions[key]) return false;
  actions[key]();
  return true;
}
