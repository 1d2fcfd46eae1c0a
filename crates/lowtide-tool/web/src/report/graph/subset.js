// The instructions that the graph shows. Thousands of boxes cannot be read, so it shows those near a few seeds.

/// Return at most `most` instructions: the seeds, their neighbours, the neighbours of these, and so on. Data comes
/// first: an instruction that only has to be before or after hundreds of others is not near to any of them.
export function near(model, seeds, most) {
  if (model.n <= most) return new Set(Array.from({ length: model.n }, (_, instr) => instr));
  const chosen = new Set(seeds.slice(0, most));
  spread(model, chosen, most, (edge) => model.edges.kind[edge] === 'data');
  spread(model, chosen, most, () => true);
  return chosen;
}

/// Add neighbours along edges, nearest first, until there are `most`.
function spread(model, chosen, most, isFollowed) {
  const queue = [...chosen];
  for (let next = 0; next < queue.length; next++) {
    const before = model.preds[queue[next]].filter(isFollowed).map((edge) => model.edges.from[edge]);
    const after = model.succs[queue[next]].filter(isFollowed).map((edge) => model.edges.to[edge]);
    for (const other of [...before, ...after]) {
      if (chosen.size >= most) return;
      if (chosen.has(other)) continue;
      chosen.add(other);
      queue.push(other);
    }
  }
}

/// How many neighbours of an instruction are not among those that are shown: {before, after}.
export function hidden(model, chosen, instr) {
  const count = (edges, end) => edges.filter((edge) => !chosen.has(model.edges[end][edge])).length;
  return { before: count(model.preds[instr], 'from'), after: count(model.succs[instr], 'to') };
}
