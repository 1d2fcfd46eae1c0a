// Places for the boxes and edges of the graph, in layers from top to bottom, by dagre.
import { Graph, layout } from '@dagrejs/dagre';

/// Sizes in pixels. Boxes are as wide as their texts.
const FONT = '12px ui-monospace, "SF Mono", "Cascadia Mono", Consolas, "DejaVu Sans Mono", monospace';
const PADDING = 8;
const HEIGHT = 26;

const measure = document.createElement('canvas').getContext('2d');

function widthOf(text) {
  measure.font = FONT;
  return Math.ceil(measure.measureText(text).width) + 2 * PADDING;
}

/// Place instructions with these texts (a map from instruction to text) and these edges.
/// Return {width, height, boxes: map to {x, y, width, height}, lines: map from edge to points}.
export function place(model, texts, edges) {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'TB', ranksep: 30, nodesep: 14, edgesep: 10, marginx: 8, marginy: 8 });
  for (const [instr, text] of texts) graph.setNode(String(instr), { width: widthOf(text), height: HEIGHT });
  for (const edge of edges) graph.setEdge(String(model.edges.from[edge]), String(model.edges.to[edge]), {});
  layout(graph);
  const boxes = new Map([...texts.keys()].map((instr) => {
    const { x, y, width, height } = graph.node(String(instr));
    return [instr, { x: x - width / 2, y: y - height / 2, width, height }];
  }));
  const lines = new Map(edges.map((edge) => [edge, graph.edge(String(model.edges.from[edge]), String(model.edges.to[edge])).points]));
  const { width, height } = graph.graph();
  return { width, height, boxes, lines };
}
