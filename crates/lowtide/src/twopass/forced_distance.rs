//! Forced distances: cycles between dependent instructions that follow from the limits on registers.
//!
//! Let f depend on e, at least c cycles later, and let P be a set of ancestors of f, from each of which f is
//! more than c cycles away. (So none of them is e or depends on it.) Look at the moment just before e. If no
//! downset that is possible then, with all of P, is within the limits, some instruction of P issues after e.
//! So f issues after e by the least distance from P to f, and one cycle more (none more if several
//! instructions issue in a cycle).
//!
//! Mirrored: let S be a set of descendants of e, each more than c cycles after it. If no downset that is
//! possible just after f, without all of S, is within the limits, some instruction of S issues before f.
//!
//! An example is a loop with two loads for each product. [`superiority`](crate::minreg::superiority) puts the
//! products in order, a cycle apart. If the registers do not suffice for the operands of two products, the
//! loads of the second one cannot all come before the first one, so the products are apart by the latency of
//! a load. A region with n products then takes n latencies, by its dependences alone.

use crate::analysis::closure::Closure;
use crate::analysis::distance::{Distances, MOST_FOR_DISTANCES};
use crate::analysis::flow::{DownsetMin, Kept, Minimum, Side};
use crate::bits::{BitSet, Bits};
use crate::budget::{Effort, is_over};
use crate::index::InstrId;
use crate::minreg::forced_order::mixed;
use crate::problem::Problem;

/// The least number of cycles to gain: smaller ones take as long to find, and are worth less.
const LEAST_GAIN: u32 = 3;

/// Where nothing is found with one of so many parts of the effort, the rest is for other proofs.
const SHARE_OF_TRIAL: u32 = 4;

/// Two instructions, and the least cycles from the first to the second.
pub(crate) type Distance = (InstrId, InstrId, u32);

/// Find distances larger than those of the dependences, within the effort.
pub(crate) fn forced_distances(
    problem: &Problem,
    limits: &[Option<u32>],
    effort: &mut Effort,
) -> Vec<Distance> {
    let region = problem.region();
    if region.len() > MOST_FOR_DISTANCES {
        return Vec::new();
    }
    let closure = Closure::new(region);
    let mut finder = Finder {
        distances: Distances::new(problem),
        one: u32::from(problem.target().issue().width == 1),
        sides: vec![Side::Free; region.len()],
        others: BitSet::new(region.len()),
        far: BitSet::new(region.len()),
        kept: Kept::default(),
        witnesses: Vec::new(),
        found: Vec::new(),
        closure: &closure,
    };
    let limited = region.class_ids().filter_map(|class| Some((class, limits[class.index()]?)));
    let mut cuts: Vec<(DownsetMin, u32)> =
        limited.map(|(class, limit)| (DownsetMin::new(region, class, &closure), limit)).collect();
    let trial = effort.share(SHARE_OF_TRIAL);
    let end_of_trial = effort.steps - trial.steps;
    let instrs = mixed(region);
    for end in [End::First, End::Last] {
        for &near in &instrs {
            for (cut, limit) in &mut cuts {
                let is_trial_over = effort.steps <= end_of_trial || is_over(trial.deadline);
                if effort.is_spent() || is_trial_over && finder.found.is_empty() {
                    return finder.found;
                }
                finder.examine(end, near, cut, *limit + 1, effort);
            }
        }
    }
    finder.found
}

/// The end of a distance that is next to the moment: e with the moment before it, or f with that after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    First,
    Last,
}

impl End {
    /// Return two instructions in the order of time. The first argument is the one at this end.
    fn in_time(self, near: InstrId, far: InstrId) -> [InstrId; 2] {
        match self {
            End::First => [near, far],
            End::Last => [far, near],
        }
    }
}

struct Finder<'a> {
    closure: &'a Closure,
    distances: Distances,
    /// The least distance of two instructions in different slots.
    one: u32,
    sides: Vec<Side>,
    /// The instructions that can be on either side of the moment.
    others: BitSet,
    /// P or S.
    far: BitSet,
    /// The flow for the moment alone.
    kept: Kept,
    /// Downsets within the limit at the moment.
    witnesses: Vec<BitSet>,
    found: Vec<Distance>,
}

impl Finder<'_> {
    fn distance(&self, from: InstrId, to: InstrId) -> u32 {
        self.distances.between(from, to).unwrap_or(0)
    }

    /// Find distances from or to an instruction by the moment next to it, for one class.
    fn examine(&mut self, end: End, near: InstrId, cut: &mut DownsetMin, excess: u32, effort: &mut Effort) {
        let closure = self.closure;
        let (before, after) = (closure.ancestors(near), closure.descendants(near));
        let related = match end {
            End::First => after,
            End::Last => before,
        };
        let mut is_started = false;
        for far in related.instrs() {
            if effort.is_spent() {
                return;
            }
            effort.spend(closure.words() as u64 / 2 + 1);
            self.others.copy_from(match end {
                End::First => closure.ancestors(far),
                End::Last => closure.descendants(far),
            });
            self.others.subtract(before);
            self.others.subtract(after);
            self.others.remove(near);
            let [first, last] = end.in_time(near, far);
            let known = self.distance(first, last);
            let mut least = known;
            // Raise the distance as long as the instructions farther away cannot all be on their side.
            loop {
                let mut next = u32::MAX;
                self.far.clear();
                for other in self.others.instrs() {
                    let [from, to] = end.in_time(other, far);
                    let distance = self.distance(from, to);
                    if distance >= least + LEAST_GAIN {
                        self.far.insert(other);
                        next = next.min(distance);
                    }
                }
                if self.far.is_empty() {
                    break;
                }
                if !is_started {
                    is_started = true;
                    if !self.start(end, near, cut, excess, effort) {
                        return;
                    }
                }
                if self.is_possible(end, near, cut, excess, effort) {
                    break;
                }
                least = next;
            }
            if least > known {
                self.distances.add(closure, first, last, least + self.one);
                effort.spend(u64::from(closure.ancestors(first).count() + closure.descendants(last).count()));
                self.found.push((first, last, least + self.one));
            }
        }
    }

    /// Find the flow for the moment alone. Return whether the moment is possible.
    fn start(
        &mut self,
        end: End,
        near: InstrId,
        cut: &mut DownsetMin,
        excess: u32,
        effort: &mut Effort,
    ) -> bool {
        self.witnesses.clear();
        self.place(end, near);
        effort.spend(self.sides.len() as u64);
        let Minimum::Exact(_) = cut.min(&self.sides, excess, effort) else { return false };
        cut.keep(&mut self.kept);
        self.add_witness(cut);
        true
    }

    fn add_witness(&mut self, cut: &DownsetMin) {
        let mut witness = BitSet::new(self.sides.len());
        cut.largest(&mut witness);
        self.witnesses.push(witness);
    }

    /// Return whether a downset within the limit has all of the far instructions on their side.
    fn is_possible(
        &mut self,
        end: End,
        near: InstrId,
        cut: &mut DownsetMin,
        excess: u32,
        effort: &mut Effort,
    ) -> bool {
        effort.spend(self.witnesses.len() as u64 / 4 + 1);
        let holds = |witness: &BitSet| match end {
            End::First => self.far.bits().is_subset(witness),
            End::Last => self.far.bits().is_disjoint(witness),
        };
        if self.witnesses.iter().any(holds) {
            return true;
        }
        self.place(end, near);
        effort.spend(self.sides.len() as u64);
        let sides = &mut self.sides;
        let mut mark = |set: Bits, side: Side| set.instrs().for_each(|instr| sides[instr.index()] = side);
        for far in self.far.instrs() {
            match end {
                End::First => mark(self.closure.ancestors(far), Side::In),
                End::Last => mark(self.closure.descendants(far), Side::Out),
            }
        }
        mark(self.far.bits(), if end == End::First { Side::In } else { Side::Out });
        match cut.min_beyond(&self.kept, &self.sides, excess, effort) {
            Minimum::Exact(_) => {
                self.add_witness(cut);
                true
            }
            Minimum::AtLeast(least) => least < excess,
        }
    }

    /// Place all instructions at the moment.
    fn place(&mut self, end: End, near: InstrId) {
        self.sides.fill(Side::Free);
        self.closure.ancestors(near).instrs().for_each(|instr| self.sides[instr.index()] = Side::In);
        self.closure.descendants(near).instrs().for_each(|instr| self.sides[instr.index()] = Side::Out);
        self.sides[near.index()] = if end == End::First { Side::Out } else { Side::In };
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::Case;
    use super::*;
    use crate::analysis::times::separation;
    use crate::random::Random;
    use crate::region::Edge;

    /// Return the least cycles from an instruction to each later one of an order, with any waits.
    fn cycles_after(problem: &Problem, order: &[InstrId]) -> Vec<u32> {
        let width = problem.target().issue().width as usize;
        let mut cycles: Vec<u32> = vec![0];
        for place in 1..order.len() {
            let by_slots = place.checked_sub(width).map_or(0, |before| cycles[before] + 1);
            let by_order = cycles[place - 1].max(by_slots);
            let by_latencies = problem.region().preds(order[place]).iter().filter_map(|edge| {
                let before = order[..place].iter().position(|&other| other == edge.instr)?;
                let forward = Edge { instr: order[place], latency: edge.latency };
                Some(cycles[before] + separation(problem, edge.instr, &forward))
            });
            cycles.push(by_latencies.max().unwrap_or(0).max(by_order));
        }
        cycles
    }

    #[test]
    fn all_schedules_within_the_limits_keep_the_distances() {
        let (mut random, mut own) = (Random::new(7), Random::new(8));
        let (mut cases, mut compared, mut met) = (0, 0, 0);
        for case in Case::all(0..3_000, 7, 5, &mut random) {
            let problem = case.problem();
            let mut effort = match own.chance(20) {
                true => Effort { steps: own.below(400) as u64, deadline: None },
                false => Effort::UNBOUNDED,
            };
            let found = forced_distances(&problem, &case.limits, &mut effort);
            if found.is_empty() {
                continue;
            }
            cases += 1;
            let mut closest = vec![u32::MAX; found.len()];
            for (order, _) in case.schedules(1 << 20) {
                for (&(first, last, cycles), closest) in found.iter().zip(&mut closest) {
                    let place = |instr: InstrId| order.iter().position(|&other| other == instr).unwrap();
                    let after = cycles_after(&problem, &order[place(first)..=place(last)]);
                    let apart = *after.last().unwrap();
                    assert!(apart >= cycles, "{first} to {last}: {apart}, not {cycles}: {}", case.text());
                    *closest = apart.min(*closest);
                }
            }
            compared += found.len();
            met += found.iter().zip(&closest).filter(|((.., cycles), closest)| cycles == *closest).count();
        }
        println!("{compared} distances in {cases} regions, {met} of them exact");
        assert!(cases > 700 && compared > 1_000 && met > 700, "{cases} {compared} {met}");
    }
}
