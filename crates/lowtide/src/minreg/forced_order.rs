//! Forced orders: dependences between pairs that follow from the limits.
//!
//! Every order passes a moment just before each instruction x. Then all ancestors of x are done, and no
//! descendant is. Suppose that an independent instruction y were also done at that moment. If every downset
//! that is possible then exceeds a limit, y must come after x. This is a new dependence, which all orders
//! within the limits respect, and it makes the next cuts tighter. (The cuts use the graph without the new
//! dependences; only the sets of instructions done and ahead use them.)
//!
//! One cut settles many y: all those that a minimiser within the limit contains. Downsets within the limit
//! from earlier cuts ([`witnesses`](super::witnesses)) settle most pairs without a cut.
//!
//! The moments of a few instructions are examined at the same time, on all threads. Each starts from the same
//! dependences, so the result is the same on any number of threads.

use std::sync::{Mutex, PoisonError};

use super::witnesses::{Probe, Witnesses, is_closed};
use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Kept, Minimum, Side};
use crate::bits::{BitMatrix, BitSet, Bits};
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::threads;

/// The instructions whose moments are examined at the same time.
const BATCH: usize = 16;

/// Find dependences that follow from limits, within the effort. They are also added to `closure`. `known` are
/// orders within the limits: a pair that is reversed in one of them is not examined. `None` if no order is
/// within the limits.
pub(crate) fn forced_order(
    region: &Region,
    closure: &mut Closure,
    limits: &[Option<u32>],
    known: &[&[InstrId]],
    threads: usize,
    effort: &mut Effort,
) -> Option<Vec<(InstrId, InstrId)>> {
    let mut pairs = Pairs::new(region, closure, limits, known);
    let is_possible = pairs.examine(closure, threads, effort);
    closure.reduce(&mut pairs.found);
    is_possible.then_some(pairs.found)
}

/// A class with a limit.
struct Limited<'a> {
    class: ClassId,
    limit: u32,
    cut: DownsetMin<'a>,
    witnesses: Witnesses,
}

struct Pairs<'a> {
    region: &'a Region,
    limited: Vec<Limited<'a>>,
    /// For each instruction, all that come before it in a known order.
    seen: BitMatrix,
    /// The instructions whose moments have changed since they were examined.
    changed: BitSet,
    found: Vec<(InstrId, InstrId)>,
}

/// What the moment before an instruction has shown.
#[derive(Default)]
struct Outcome {
    /// Whether no order passes the instruction within the limits.
    is_impossible: bool,
    found: Vec<(InstrId, InstrId)>,
    /// Downsets within the limit on a class, which is the one with this number.
    witnesses: Vec<(usize, BitSet)>,
    /// The steps, and whether they were enough for all pairs.
    steps: u64,
    is_complete: bool,
}

impl<'a> Pairs<'a> {
    fn new(region: &'a Region, closure: &Closure, limits: &[Option<u32>], known: &[&[InstrId]]) -> Self {
        let limited = region.class_ids().filter_map(|class| {
            let cut = || DownsetMin::new(region, class, closure);
            limits[class.index()].map(|limit| Limited {
                class,
                limit,
                cut: cut(),
                witnesses: Witnesses::default(),
            })
        });
        Pairs {
            region,
            limited: limited.collect(),
            seen: seen_before(region.len(), known),
            changed: BitSet::full(region.len()),
            found: Vec::new(),
        }
    }

    /// Examine all pairs until nothing changes. Return false if no order is within the limits.
    fn examine(&mut self, closure: &mut Closure, threads: usize, effort: &mut Effort) -> bool {
        // What one instruction shows often settles its neighbours, so a batch has none.
        let instrs = mixed(self.region);
        let idle: Mutex<Vec<Examiner>> = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = 0;
        loop {
            let is_changed = |place: &usize| self.changed.contains(instrs[*place]);
            let places = || (next..instrs.len()).filter(is_changed).take(BATCH);
            let batch: Vec<InstrId> = places().map(|place| instrs[place]).collect();
            let Some(last) = places().last() else {
                if next == 0 {
                    return true;
                }
                next = 0;
                continue;
            };
            next = last + 1;
            effort.spend(batch.len() as u64);
            let share = effort.up_to(effort.steps / batch.len() as u64);
            let outcomes = threads::map(threads, batch.len(), |number| {
                let examiner = lock().pop();
                let mut examiner = examiner.unwrap_or_else(|| Examiner::new(self));
                let outcome = examiner.examine(self, closure, batch[number], &instrs, share);
                lock().push(examiner);
                outcome
            });
            if !self.learn(closure, &batch, outcomes, effort) {
                return false;
            }
            if effort.is_spent() {
                return true;
            }
        }
    }

    /// Take over what moments have shown. Return false if no order is within the limits.
    fn learn(
        &mut self,
        closure: &mut Closure,
        instrs: &[InstrId],
        outcomes: Vec<Outcome>,
        effort: &mut Effort,
    ) -> bool {
        let known = self.found.len();
        instrs.iter().for_each(|&x| self.changed.remove(x));
        for (&x, outcome) in instrs.iter().zip(&outcomes) {
            effort.spend(outcome.steps);
            if outcome.is_impossible {
                return false;
            }
            self.changed.insert_if(x, !outcome.is_complete);
            for &(before, after) in &outcome.found {
                if closure.reaches(after, before) {
                    return false;
                }
                if closure.reaches(before, after) {
                    continue;
                }
                for related in [closure.ancestors(before), closure.descendants(after)] {
                    self.changed.unite(related);
                }
                self.changed.insert(before);
                self.changed.insert(after);
                closure.add(before, after);
                self.found.push((before, after));
            }
        }
        let new = &self.found[known..];
        self.limited.iter_mut().for_each(|limited| limited.witnesses.retain_closed(new));
        for (number, set) in outcomes.into_iter().flat_map(|outcome| outcome.witnesses) {
            effort.spend(self.found.len() as u64 / 16);
            if is_closed(&set, &self.found) {
                self.limited[number].witnesses.add(set);
            }
        }
        true
    }
}

/// Return all instructions in another order: the middle one first, then those in the middle of both halves,
/// and so on. If a pair with y is possible, so are those with the ancestors of y. If it is not, nor are those
/// with its descendants.
pub(crate) fn mixed(region: &Region) -> Vec<InstrId> {
    let size = region.len().next_power_of_two();
    let reversed = |number: usize| number.reverse_bits().unbounded_shr(usize::BITS - size.ilog2());
    (0..size).map(reversed).filter(|&number| number < region.len()).map(InstrId::at).collect()
}

/// What is asked about the moment before an instruction, for one class.
#[derive(Clone, Copy)]
struct Query<'s> {
    closure: &'s Closure,
    /// The number of the class among those with a limit.
    number: usize,
    /// The least pressure above the limit.
    excess: u32,
    x: InstrId,
}

/// Why the moment of an instruction is not examined any further.
enum End {
    /// No order passes the instruction within the limits.
    Impossible,
    /// The effort is spent.
    Spent,
}

/// Examines the moments of one instruction after the other.
struct Examiner<'a> {
    /// For each class with a limit.
    cuts: Vec<DownsetMin<'a>>,
    /// The flow for the moment alone.
    kept: Kept,
    probes: Vec<Probe<'a>>,
    sides: Vec<Side>,
    set: BitSet,
    /// The ancestors and descendants of the instruction, with the dependences found here.
    before: BitSet,
    after: BitSet,
    /// The other instructions that may be done before it.
    possible: BitSet,
}

impl<'a> Examiner<'a> {
    fn new(pairs: &Pairs<'a>) -> Self {
        let empty = || BitSet::new(pairs.region.len());
        let probe = |limited: &Limited| Probe::new(pairs.region, limited.class, limited.limit);
        Examiner {
            cuts: pairs.limited.iter().map(|limited| limited.cut.clone()).collect(),
            kept: Kept::default(),
            probes: pairs.limited.iter().map(probe).collect(),
            sides: vec![Side::Free; pairs.region.len()],
            set: empty(),
            before: empty(),
            after: empty(),
            possible: empty(),
        }
    }

    fn examine(
        &mut self,
        pairs: &Pairs<'a>,
        closure: &Closure,
        x: InstrId,
        others: &[InstrId],
        effort: Effort,
    ) -> Outcome {
        self.before.copy_from(closure.ancestors(x));
        self.after.copy_from(closure.descendants(x));
        let mut outcome = Outcome { is_complete: true, ..Outcome::default() };
        let mut left = effort;
        for (number, limited) in pairs.limited.iter().enumerate() {
            let query = Query { closure, number, excess: limited.limit + 1, x };
            let is_possible = self.recall(pairs, limited, x, &mut left);
            match self.examine_class(query, is_possible, others, &mut outcome, &mut left) {
                Ok(()) => continue,
                Err(End::Impossible) => outcome.is_impossible = true,
                Err(End::Spent) => outcome.is_complete = false,
            }
            break;
        }
        outcome.steps = effort.steps - left.steps;
        outcome
    }

    /// Examine the moment for one class. `is_possible` says whether it is known to be possible at all.
    fn examine_class(
        &mut self,
        query: Query,
        is_possible: bool,
        others: &[InstrId],
        outcome: &mut Outcome,
        effort: &mut Effort,
    ) -> Result<(), End> {
        let mut is_started = false;
        if !is_possible {
            self.start(query, outcome, effort)?;
            is_started = true;
        }
        for &y in others {
            if self.is_settled(query.x, y) {
                continue;
            }
            if !is_started {
                self.start(query, outcome, effort)?;
                is_started = true;
                if self.is_settled(query.x, y) {
                    continue;
                }
            }
            self.examine_pair(query, y, outcome, effort)?;
        }
        Ok(())
    }

    /// Find the flow for the moment without another instruction: all cuts of pairs start from it.
    fn start(&mut self, query: Query, outcome: &mut Outcome, effort: &mut Effort) -> Result<(), End> {
        if effort.is_spent() {
            return Err(End::Spent);
        }
        self.place(query, None, effort);
        let cut = &mut self.cuts[query.number];
        match cut.min(&self.sides, query.excess, effort) {
            Minimum::Exact(_) => {}
            Minimum::AtLeast(least) if least < query.excess => return Err(End::Spent),
            Minimum::AtLeast(_) => return Err(End::Impossible),
        }
        cut.keep(&mut self.kept);
        self.note(query, outcome, effort);
        Ok(())
    }

    /// Find out whether an order can pass the moment if another instruction is done then.
    fn examine_pair(
        &mut self,
        query: Query,
        y: InstrId,
        outcome: &mut Outcome,
        effort: &mut Effort,
    ) -> Result<(), End> {
        if effort.is_spent() {
            return Err(End::Spent);
        }
        self.place(query, Some(y), effort);
        match self.cuts[query.number].min_beyond(&self.kept, &self.sides, query.excess, effort) {
            Minimum::Exact(_) => self.note(query, outcome, effort),
            Minimum::AtLeast(least) if least < query.excess => return Err(End::Spent),
            Minimum::AtLeast(_) => {
                outcome.found.push((query.x, y));
                self.after.unite(query.closure.descendants(y));
                self.after.insert(y);
            }
        }
        Ok(())
    }

    /// Find out from witnesses and known orders which pairs are possible. Return whether the moment is
    /// possible at all.
    fn recall(&mut self, pairs: &Pairs, limited: &Limited, x: InstrId, effort: &mut Effort) -> bool {
        // In a known order, all that come before x are done just before it.
        self.possible.copy_from(pairs.seen.row(x));
        let mut is_possible = !self.possible.is_empty();
        effort.spend(limited.witnesses.count() as u64);
        for witness in limited.witnesses.before(x, self.before.bits()) {
            self.possible.unite(witness);
            is_possible = true;
        }
        is_possible
    }

    /// Take note of the largest minimiser of the last cut, stretched as far as the limit allows.
    fn note(&mut self, query: Query, outcome: &mut Outcome, effort: &mut Effort) {
        if effort.is_spent() {
            return;
        }
        effort.spend(self.sides.len() as u64);
        self.cuts[query.number].largest(&mut self.set);
        let Examiner { possible, before, after, .. } = self;
        let is_fixed =
            |y: InstrId| y == query.x || possible.contains(y) || before.contains(y) || after.contains(y);
        self.probes[query.number].stretch(&mut self.set, query.closure, is_fixed, effort);
        outcome.witnesses.push((query.number, self.set.clone()));
        self.possible.unite(&self.set);
    }

    fn is_settled(&self, x: InstrId, y: InstrId) -> bool {
        y == x || self.possible.contains(y) || self.before.contains(y) || self.after.contains(y)
    }

    /// Place all instructions at the moment before x: done, ahead, or either.
    fn place(&mut self, query: Query, other: Option<InstrId>, effort: &mut Effort) {
        effort.spend(self.sides.len() as u64);
        self.sides.fill(Side::Free);
        let mut mark = |related: Bits, side: Side| {
            related.instrs().for_each(|instr| self.sides[instr.index()] = side);
        };
        mark(self.before.bits(), Side::In);
        mark(self.after.bits(), Side::Out);
        self.sides[query.x.index()] = Side::Out;
        let Some(y) = other else { return };
        query.closure.ancestors(y).instrs().for_each(|instr| self.sides[instr.index()] = Side::In);
        self.sides[y.index()] = Side::In;
    }
}

/// Return, for each instruction, all that come before it in any of the orders.
fn seen_before(count: usize, orders: &[&[InstrId]]) -> BitMatrix {
    let mut seen = BitMatrix::new(count, count);
    let mut passed = BitSet::new(count);
    for order in orders {
        passed.clear();
        for &instr in order.iter() {
            seen.unite(instr, &passed);
            passed.insert(instr);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check_order;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};
    use crate::region::Peak;

    #[test]
    fn all_orders_within_the_limits_respect_what_is_found() {
        let mut random = Random::new(1);
        let (mut with_some, mut possible, mut without_limits, mut refuted) = (0, 0, 0, 0);
        for region in regions(0..400, 10) {
            let small = Small::new(&region, &[]);
            let order = random_order(&region, &mut random);
            let peaks = check_order(&region, &order).unwrap();
            for less in 0..4 {
                // The minimum of one class, or a little more; or a number near the need of an order.
                let limits: Vec<Option<u32>> = if random.chance(50) {
                    let only = random.below(peaks.len());
                    let least = small.lowest(only, &[]).map(|least| least + less / 2);
                    (0..peaks.len()).map(|class| least.filter(|_| class == only)).collect()
                } else {
                    let below = |peak: u32| peak.saturating_sub(less);
                    peaks.iter().map(|peak| random.chance(75).then(|| below(peak.between))).collect()
                };
                let steps = if random.chance(20) { random.below(400) as u64 } else { u64::MAX };
                let is_within =
                    |(peak, limit): (&Peak, &Option<u32>)| limit.is_none_or(|limit| peak.between <= limit);
                let known: &[&[InstrId]] =
                    if peaks.iter().zip(&limits).all(is_within) { &[&order] } else { &[] };
                let find = |threads: usize| {
                    let (mut closure, mut effort) = (Closure::new(&region), Effort { steps, deadline: None });
                    let (graph, left) = (&mut closure, &mut effort);
                    let found = forced_order(&region, graph, &limits, known, threads, left);
                    (found, closure, effort.steps)
                };
                let (found, closure, left) = find(1);
                if random.chance(10) {
                    assert_eq!((found.clone(), closure.clone(), left), find(3), "on three threads");
                }
                let Some(found) = found else {
                    refuted += 1;
                    assert!(small.on_the_way(&limits).is_empty(), "{} {limits:?}", region.name());
                    continue;
                };
                assert!(found.iter().all(|&(b, a)| closure.reaches(b, a) && !closure.reaches(a, b)));
                without_limits += usize::from(!found.is_empty() && limits.iter().all(Option::is_none));
                let on_the_way = small.on_the_way(&limits);
                for &(b, a) in &found {
                    let is_against = |set: &&usize| **set >> a.0 & 1 == 1 && **set >> b.0 & 1 == 0;
                    let against = on_the_way.iter().find(is_against);
                    assert_eq!(against, None, "{} {limits:?}: {b} before {a}", region.name());
                }
                with_some += usize::from(!found.is_empty());
                possible += usize::from(!found.is_empty() && !on_the_way.is_empty());
            }
        }
        println!(
            "forced orders for {with_some} limits, {possible} of them possible; {refuted} limits refuted"
        );
        assert!(
            with_some > 1_000 && possible > 1_000 && without_limits == 0 && refuted > 100,
            "{with_some} {possible}"
        );
    }
}
