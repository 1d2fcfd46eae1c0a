// The instructions that the graph shows. Thousands of boxes cannot be read, so it shows those near a few seeds.

/// Return at most `most` instructions: the seeds, their neighbours, the neighbours of these, and so on.
export function near(model, seeds, most) {
  if (model.n <= most) return new Set(Array.from({ length: model.n }, (_, instr) => instr));
  const chosen = new Set(seeds.slice(0, most));
  const queue = [...chosen];
  for (let next = 0; next < queue.length && chosen.size < most; next++) {
    for (const other of neighbours(model, queue[next])) {
      if (chosen.size >= most) break;
      if (chosen.has(other)) continue;
      chosen.add(other);
      queue.push(other);
    }
  }
  return chosen;
}

function neighbours(model, instr) {
  const before = model.preds[instr].map((edge) => model.edges.from[edge]);
  const after = model.succs[instr].map((edge) => model.edges.to[edge]);
  return [...before, ...after];
}

/// How many neighbours of an instruction are not among those that are shown: {before, after}.
export function hidden(model, chosen, instr) {
  const count = (edges, end) => edges.filter((edge) => !chosen.has(model.edges[end][edge])).length;
  return { before: count(model.preds[instr], 'from'), after: count(model.succs[instr], 'to') };
}
