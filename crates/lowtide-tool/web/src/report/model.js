// A region as the charts see it: the columns of the program, and what follows from them by looking.

export class Model {
  constructor(region, detail) {
    Object.assign(this, detail);
    this.region = region;
    this.n = detail.opcode.length;
    this.classes = region.classes;
    for (const schedule of this.schedules) {
      schedule.title = { source: 'Source', production: 'Production', lowtide: 'Lowtide' }[schedule.name];
      schedule.position = new Int32Array(this.n);
      schedule.order.forEach((instr, position) => { schedule.position[instr] = position; });
      schedule.length = schedule.cycles.reduce((last, cycle) => Math.max(last, cycle + 1), 0);
      schedule.peaks = schedule.pressure.map((pressure) => {
        const value = pressure.reduce((largest, now) => Math.max(largest, now), 0);
        return { value, boundary: pressure.indexOf(value) };
      });
    }
    this.after = this.schedules.find((schedule) => schedule.name === 'lowtide');
    this.before = this.schedules.filter((schedule) => schedule.name !== 'lowtide');
    this.latency = new Int32Array(this.n);
    this.preds = Array.from({ length: this.n }, () => []);
    this.succs = Array.from({ length: this.n }, () => []);
    this.edges.from.forEach((from, edge) => {
      const to = this.edges.to[edge];
      this.preds[to].push(edge);
      this.succs[from].push(edge);
      this.latency[from] = Math.max(this.latency[from], this.edges.latency[edge]);
    });
    this.defined = Array.from({ length: this.n }, () => []);
    this.used = Array.from({ length: this.n }, () => []);
    this.values.def.forEach((def, value) => def !== null && this.defined[def].push(value));
    this.values.uses.forEach((uses, value) => uses.forEach((instr) => this.used[instr].push(value)));
  }

  /// #7 V_ADD_F32
  describe(instr) {
    return `#${instr} ${this.opcode[instr]}`;
  }

  /// The boundaries at which a value is live in a schedule, first and last; boundary 0 is before the first instruction.
  liveRange(schedule, value) {
    const def = this.values.def[value];
    const first = def === null ? 0 : schedule.position[def] + 1;
    const uses = this.values.uses[value];
    let last = this.values.live_out[value] ? this.n : -1;
    for (const instr of uses) last = Math.max(last, schedule.position[instr]);
    return [first, last];
  }

  /// The values of a class that are live where `issued(instr)` says what has been issued.
  liveAcross(classNumber, issued) {
    const { class: classes, def, uses, live_out } = this.values;
    const live = [];
    classes.forEach((own, value) => {
      if (own !== classNumber || (def[value] !== null && !issued(def[value]))) return;
      if (live_out[value] || uses[value].some((instr) => !issued(instr))) live.push(value);
    });
    return live;
  }

  /// What is issued at the peak of a class in a schedule, and what is live then.
  atPeak(schedule, classNumber) {
    const { boundary, value } = schedule.peaks[classNumber];
    const issued = (instr) => schedule.position[instr] < boundary;
    return { issued, live: this.liveAcross(classNumber, issued), pressure: value };
  }

  /// What is issued at the cut that proves the bound of a class, and what is live then; none if no cut proves it.
  atCut(classNumber) {
    const cut = this.cuts[classNumber];
    if (!cut) return null;
    const set = new Set(cut.issued);
    const issued = (instr) => set.has(instr);
    return { issued, live: this.liveAcross(classNumber, issued), pressure: cut.pressure };
  }

  /// A longest path of latencies, from the first instruction to the last.
  longestPath() {
    const start = new Int32Array(this.n);
    const by = new Int32Array(this.n).fill(-1);
    let end = 0;
    for (let instr = 0; instr < this.n; instr++) {
      for (const edge of this.preds[instr]) {
        const time = start[this.edges.from[edge]] + this.edges.latency[edge];
        if (by[instr] < 0 || time > start[instr]) {
          start[instr] = time;
          by[instr] = edge;
        }
      }
      if (start[instr] > start[end]) end = instr;
    }
    const edges = [];
    for (let edge = by[end]; edge >= 0; edge = by[this.edges.from[edge]]) edges.push(edge);
    return edges;
  }
}

/// Why a bound on a peak is true, in words.
export function reasonInWords(model, reason) {
  if (reason.search) return `A search of ${reason.search.nodes.toLocaleString('en-US')} states found no order that stays below.`;
  if (reason.solver) return 'A constraint solver found no order that stays below.';
  const [one, other] = [reason.instr, reason.and].map((instr) => (instr === undefined ? null : model.describe(instr)));
  const where = {
    start: 'Every order starts with what is live then.',
    end: 'Every order ends with what is live then.',
    before: other ? `Every order passes a moment before both ${one} and ${other}.` : `Every order passes the moment before ${one}.`,
    after: other ? `Every order passes a moment after both ${one} and ${other}.` : `Every order passes the moment after ${one}.`,
  }[reason.cut];
  return reason.instr === undefined ? where : `${where} A minimum cut shows that no less can be live.`;
}
