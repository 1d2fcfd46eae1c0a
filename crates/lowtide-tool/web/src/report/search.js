// How the search went: the best schedule and the bound, over time.
import { axis, chart, choice, colour, counted, el, number, seconds } from '../lib/index.js';

export function searchTab(panel, { model }) {
  const searches = model.searches ?? [];
  if (searches.length === 0) {
    panel.append(el('p', {}, 'Nothing had to be sought: the first schedules met their bounds, or the algorithm does not search.'));
    return;
  }
  let over = 'seconds';
  const drawn = searches.map((search, position) => {
    const last = search.steps.at(-1);
    return chart({
      id: `search-${position}`,
      height: 300,
      label: `Search for ${search.of}: ${counted(search.steps.length, 'step')}, best ${last?.best}, bound ${last?.bound}.`,
      option: () => option(search, over),
    });
  });
  panel.append(el('div', { class: 'controls' }, choice({
    label: 'Over', name: 'over', value: over, options: [['seconds', 'time'], ['nodes', 'steps of the search']],
    onchange: (value) => {
      over = value;
      drawn.forEach((one) => one.redraw());
    },
  })));
  searches.forEach((search, position) => {
    const last = search.steps.at(-1);
    const verdict = last.best === last.bound ? 'Proven' : `Open between ${number(last.bound)} and ${number(last.best)}`;
    panel.append(
      el('h3', {}, `Search for ${search.of}`),
      el('p', {}, `${verdict} after ${seconds(last.seconds)}, ${last.nodes ? `${counted(last.nodes, 'step')} of the search` : 'by lists and bounds alone'}.`),
      drawn[position].element,
    );
  });
  drawn.forEach((one) => one.draw());
}

function option({ steps, of }, over) {
  const line = (name, key, shade) => ({
    name, type: 'line', step: 'end', symbol: 'circle', symbolSize: 7, color: colour(shade), lineStyle: { width: 2 },
    data: steps.map((step) => [step[over], step[key]]),
  });
  return {
    xAxis: axis(over === 'seconds' ? 'time' : 'steps of the search', {
      type: 'value', min: 0, nameGap: 26, axisLabel: { formatter: (value) => (over === 'seconds' ? seconds(value) : number(value)) },
    }),
    yAxis: axis(of, { type: 'value', scale: true, minInterval: 1, nameGap: 44 }),
    series: [line('best', 'best', 'after'), line('bound', 'bound', 'bound')],
    tooltip: { formatter: (items) => [over === 'seconds' ? seconds(items[0].axisValue) : number(items[0].axisValue), ...items.map((item) => `${item.marker}${item.seriesName}: ${number(item.value[1])}`)].join('<br>') },
  };
}
