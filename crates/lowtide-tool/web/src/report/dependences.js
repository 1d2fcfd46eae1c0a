// The dependences of the selected instruction over the bars of the timeline: arcs in a row above the bars.
import { colour } from '../lib/index.js';

/// The length and half the width of an arrowhead, in pixels.
const HEAD = [7, 4];

/// The series of one schedule: an outline around the instruction, and an arc for each edge to and from it.
/// `laneOf(instr)`: the row of its bar; row 0 is free for the arcs. `position`: that of the axes.
export function dependences(model, schedule, instr, laneOf, position) {
  const shared = { type: 'custom', silent: true, animation: false, clip: true, xAxisIndex: position, yAxisIndex: position };
  const bar = (other) => [laneOf(other), schedule.cycles[other]];
  const arcs = (id, edges, name) => ({
    ...shared, id: `${id}-${position}`, name: id, z: 6, encode: { x: [1, 3], y: [0, 2] },
    data: edges.map((edge) => [...bar(model.edges.from[edge]), ...bar(model.edges.to[edge])]),
    renderItem: (_, api) => arc(api, colour(name)),
  });
  const outline = {
    ...shared, id: `outline-${position}`, name: 'selected', z: 7, encode: { x: 1, y: 0 }, data: instr === null ? [] : [bar(instr)],
    renderItem: (_, api) => frame(api),
  };
  return [
    arcs('reads', instr === null ? [] : model.preds[instr], 'bound'),
    arcs('writes', instr === null ? [] : model.succs[instr], 'peak'),
    outline,
  ];
}

/// An arc from the top of one bar up into the free row and down to the top of another.
function arc(api, shade) {
  const [fromLane, fromCycle, toLane, toCycle] = [0, 1, 2, 3].map((dimension) => api.value(dimension));
  const height = api.size([0, 1])[1];
  const top = (cycle, lane) => {
    const [x, middle] = api.coord([cycle + 0.5, lane]);
    return [x, middle - height * 0.4];
  };
  const [x1, y1] = top(fromCycle, fromLane);
  const [x2, y2] = top(toCycle, toLane);
  // The middle of a curve is three quarters of the way to its control points.
  const roof = api.coord([0, 0])[1] - height * 0.45;
  const control = (y) => y + (roof - y) * 4 / 3;
  const end = y2 - HEAD[0];
  return {
    type: 'group',
    children: [
      { type: 'bezierCurve', shape: { x1, y1, cpx1: x1, cpy1: control(y1), cpx2: x2, cpy2: control(end), x2, y2: end }, style: { stroke: shade, fill: 'none', lineWidth: 2 } },
      { type: 'polygon', shape: { points: [[x2, y2], [x2 - HEAD[1], end], [x2 + HEAD[1], end]] }, style: { fill: shade } },
    ],
  };
}

function frame(api) {
  const [left, middle] = api.coord([api.value(1), api.value(0)]);
  const [right] = api.coord([api.value(1) + 1, api.value(0)]);
  const height = api.size([0, 1])[1] * 0.86;
  return {
    type: 'rect',
    // Wide enough to be seen where a cycle is less than a pixel.
    shape: { x: left - 3, y: middle - height / 2, width: Math.max(right - left, 1) + 5, height },
    style: { fill: 'none', stroke: colour('ink'), lineWidth: 2.5 },
  };
}
