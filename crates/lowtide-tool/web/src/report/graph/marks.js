// What the graph can mark: the peaks of all schedules, the cuts that prove bounds, and the longest path.
import { number } from '../../lib/index.js';
import { reasonInWords } from '../model.js';

/// By name: a title for the choice, a text, what is issued and live then, and the instructions to start from (`seeds`).
export function marksOf(model, region) {
  const marks = new Map();
  model.classes.forEach((name, classNumber) => {
    for (const schedule of [model.after, ...model.before]) marks.set(`peak-${schedule.name}-${classNumber}`, peakMark(model, schedule, name, classNumber));
    const cut = cutMark(model, region, name, classNumber);
    if (cut) marks.set(`cut-${classNumber}`, cut);
  });
  marks.set('path', pathMark(model));
  return marks;
}

function peakMark(model, schedule, name, classNumber) {
  const { issued, live, pressure } = model.atPeak(schedule, classNumber);
  const { boundary } = schedule.peaks[classNumber];
  const through = model.through[classNumber];
  const passing = through ? ` and ${through} that only pass through` : '';
  return {
    title: `peak of ${name}, ${schedule.title}`,
    text: `Peak of ${pressure} ${name} in the order of ${schedule.title}, after ${number(boundary)} instructions: ${live.length} values are live${passing}. Filled boxes have been issued; red ones have written what is live.`,
    issued,
    live,
    moment: [],
    // The instructions around the peak.
    seeds: [schedule.order[boundary - 1], schedule.order[boundary]].filter((instr) => instr !== undefined),
  };
}

function cutMark(model, region, name, classNumber) {
  const cut = model.atCut(classNumber);
  if (!cut) return null;
  const reason = region.peak_bound_by[name];
  const moment = [reason.instr, reason.and].filter((instr) => instr !== undefined);
  return {
    title: `cut for ${name} ≥ ${region.peak_bound[name]}`,
    text: `No order needs fewer than ${region.peak_bound[name]} ${name}. ${reasonInWords(model, reason)} Filled boxes have been issued; red ones have written what is live.`,
    issued: cut.issued,
    live: cut.live,
    moment,
    seeds: moment.length ? moment : [reason.cut === 'end' ? model.n - 1 : 0],
  };
}

function pathMark(model) {
  const path = model.longestPath();
  const onPath = [...new Set(path.flatMap((edge) => [model.edges.from[edge], model.edges.to[edge]]))];
  return {
    title: 'longest path',
    text: `The longest path of latencies: ${number(path.length + 1)} instructions, ${number(model.length_bounds.critical_path)} cycles at least.`,
    issued: () => true,
    live: [],
    path,
    moment: [],
    seeds: onPath.length ? onPath : [0],
  };
}

/// The instructions and edges that a mark makes red.
export function hotOf(model, mark) {
  const { from, to } = model.edges;
  if (mark.path) {
    return { instrs: new Set(mark.path.flatMap((edge) => [from[edge], to[edge]])), edges: new Set(mark.path) };
  }
  const instrs = new Set();
  const edges = new Set();
  for (const value of mark.live) {
    const def = model.values.def[value];
    if (def === null) continue;
    instrs.add(def);
    const waiting = new Set(model.values.uses[value].filter((instr) => !mark.issued(instr)));
    for (const edge of model.succs[def]) if (waiting.has(to[edge])) edges.add(edge);
  }
  return { instrs, edges };
}
