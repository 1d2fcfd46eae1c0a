// Draws a placed graph as SVG. Colours come from style.css by class, so that themes need no drawing.
import { svg } from '../../lib/index.js';

const KINDS = ['data', 'order', 'hot', 'chosen'];

/// `placed`: see layout.js. `texts`: by instruction.
/// Gives the element, `boxes` (by instruction) and `lines` (by edge), whose classes say how they look.
export function draw(model, placed, texts, label) {
  const { width, height } = placed;
  const lines = new Map();
  const boxes = new Map();
  const element = svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'graph', id: 'graph', role: 'group', 'aria-label': label },
    svg('defs', {}, KINDS.map(arrowhead)));
  for (const [edge, points] of placed.lines) {
    const line = svg('path', { d: path(points), 'data-edge': edge },
      svg('title', {}, `${model.describe(model.edges.from[edge])} → ${model.describe(model.edges.to[edge])}: ${model.edges.kind[edge]}, latency ${model.edges.latency[edge]}`));
    lines.set(edge, line);
    element.append(line);
  }
  for (const [instr, { x, y, width: boxWidth, height: boxHeight }] of placed.boxes) {
    const box = svg('g', { 'data-instr': instr, role: 'button', tabindex: '-1', 'aria-label': texts.get(instr), transform: `translate(${x} ${y})` },
      svg('rect', { width: boxWidth, height: boxHeight, rx: 5 }),
      svg('text', { x: boxWidth / 2, y: boxHeight / 2, 'text-anchor': 'middle', 'dominant-baseline': 'central' }, texts.get(instr)));
    boxes.set(instr, box);
    element.append(box);
  }
  return { element, boxes, lines };
}

function arrowhead(kind) {
  return svg('marker', { id: `arrow-${kind}`, class: `arrow ${kind}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto', markerUnits: 'userSpaceOnUse' },
    svg('path', { d: 'M0 0 L8 4 L0 8 z' }));
}

/// A smooth line through the points: quadratic curves from middle to middle.
function path(points) {
  const at = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const middle = (one, other) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
  let text = `M${at(points[0])}`;
  for (let next = 1; next < points.length - 1; next++) text += ` Q${at(points[next])} ${at(middle(points[next], points[next + 1]))}`;
  return `${text} L${at(points.at(-1))}`;
}
