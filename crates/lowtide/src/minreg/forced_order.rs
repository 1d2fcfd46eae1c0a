//! Forced orders: dependences between pairs that follow from the limits.
//!
//! Every order passes a moment just before each instruction x, and a moment just after it. Then all ancestors of
//! x are done, and no descendant is. Suppose that an independent instruction y were also done at that moment.
//! If every downset that is possible then exceeds a limit, y must come after x. Suppose that y were not done:
//! if every downset exceeds a limit, y must come before x. Either is a new dependence, which all orders within
//! the limits respect, and it makes the next cuts tighter. (The cuts use the graph without the new dependences;
//! only the sets of instructions done and ahead use them.)
//!
//! One cut settles many y: all those that a minimiser within the limit contains, or does not contain.
//!
//! Take copies of a hash function that read the same words. Whichever copy comes last can drop each word after
//! its last use, so no single moment shows that the others need all words. But of two instructions in the
//! middle of two copies, one comes first, and the other copy still needs the words then. Both orders exceed the
//! limit: there is no order within it.
//!
//! A region has too many pairs to examine all of them. The pairs of *critical* instructions come first: those at
//! places of a good order that exceed the limit.

use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side};
use crate::analysis::pressure::Tracker;
use crate::bits::{BitMatrix, BitSet, Bits};
use crate::budget::Effort;
use crate::index::InstrId;
use crate::region::Region;

/// The numbers of critical instructions: few at first, since pairs of more of them take longer.
const CRITICAL: [usize; 4] = [16, 48, 128, 320];

/// Find dependences that follow from limits, within the effort. They are also added to `closure`. `known` are
/// orders within the limits: a pair that is reversed in one of them is not examined. Half of the effort is for pairs of
/// [`critical`] instructions. `None` if no order is within the limits.
pub(crate) fn forced_order(
    region: &Region,
    closure: &mut Closure,
    limits: &[Option<u32>],
    known: &[&[InstrId]],
    critical: &[Vec<InstrId>],
    effort: &mut Effort,
) -> Option<Vec<(InstrId, InstrId)>> {
    let mut pairs = Pairs::new(region, closure, limits, known);
    if !critical.is_empty() && !effort.with_share(2, |share| pairs.examine_critical(closure, critical, share))
    {
        return None;
    }
    let all: Vec<InstrId> = region.instrs().collect();
    // One moment of four: the others of all pairs would take too long.
    pairs.examine(closure, &all, &MOMENTS[..1], effort).then_some(pairs.found)
}

/// As [`forced_order`], for pairs of critical instructions only.
pub(crate) fn forced_critical_order(
    region: &Region,
    closure: &mut Closure,
    limits: &[Option<u32>],
    critical: &[Vec<InstrId>],
    effort: &mut Effort,
) -> Option<Vec<(InstrId, InstrId)>> {
    let mut pairs = Pairs::new(region, closure, limits, &[]);
    pairs.examine_critical(closure, critical, effort).then_some(pairs.found)
}

/// Return critical instructions, few ones first: those at places where the order of the region exceeds a limit. If there are
/// too few of them, those at the highest places below it, too.
pub(crate) fn critical(region: &Region, limits: &[Option<u32>]) -> Vec<Vec<InstrId>> {
    let mut tracker = Tracker::new(region);
    let height = |tracker: &Tracker| {
        let limited = region.class_ids().filter_map(|class| Some((class, limits[class.index()]?)));
        limited.map(|(class, limit)| i64::from(tracker.now(class)) - i64::from(limit)).max().unwrap_or(0)
    };
    let mut before = height(&tracker);
    let heights = region.instrs().map(|instr| {
        tracker.schedule(instr);
        let after = height(&tracker);
        std::mem::replace(&mut before, after).max(after)
    });
    let heights: Vec<i64> = heights.collect();
    let mut sorted = heights.clone();
    sorted.sort_unstable();
    let enough = CRITICAL.map(|count| {
        let least = sorted[sorted.len().saturating_sub(count)].min(1);
        let instrs: Vec<InstrId> = region.instrs().filter(|instr| heights[instr.index()] >= least).collect();
        let count = count.min(instrs.len());
        (0..count).map(|number| instrs[number * instrs.len() / count]).collect()
    });
    // Larger numbers than that of all instructions bring nothing more.
    let mut enough = enough.to_vec();
    enough.dedup_by_key(|instrs: &mut Vec<InstrId>| instrs.len());
    enough
}

/// A moment next to an instruction, and whether the other instruction of a pair is done then.
#[derive(Clone, Copy)]
struct Moment {
    is_after: bool,
    is_other_done: bool,
}

const MOMENTS: [Moment; 4] = [
    Moment { is_after: false, is_other_done: true },
    Moment { is_after: true, is_other_done: false },
    Moment { is_after: false, is_other_done: false },
    Moment { is_after: true, is_other_done: true },
];

struct Pairs<'a> {
    region: &'a Region,
    /// The least pressure of each limited class, with its limit.
    minima: Vec<(DownsetMin<'a>, u32)>,
    /// For each instruction, all that come before it in a known order.
    seen: BitMatrix,
    /// The instructions whose moments have changed since they were examined.
    changed: BitSet,
    sides: Vec<Side>,
    set: BitSet,
    settled: BitSet,
    found: Vec<(InstrId, InstrId)>,
}

impl<'a> Pairs<'a> {
    fn new(region: &'a Region, closure: &Closure, limits: &[Option<u32>], known: &[&[InstrId]]) -> Self {
        let classes = region.class_ids().filter_map(|class| Some((class, limits[class.index()]?)));
        Pairs {
            region,
            minima: classes.map(|(class, limit)| (DownsetMin::new(region, class, closure), limit)).collect(),
            seen: seen_before(region.len(), known),
            changed: BitSet::new(region.len()),
            sides: vec![Side::Free; region.len()],
            set: BitSet::new(region.len()),
            settled: BitSet::new(region.len()),
            found: Vec::new(),
        }
    }

    /// Examine more and more of the critical instructions. Return false if no order is within the limits.
    fn examine_critical(
        &mut self,
        closure: &mut Closure,
        critical: &[Vec<InstrId>],
        effort: &mut Effort,
    ) -> bool {
        critical.iter().all(|instrs| self.examine(closure, instrs, &MOMENTS, effort))
    }

    /// Examine all pairs of some instructions until nothing changes. Return false if no order is within the limits.
    fn examine(
        &mut self,
        closure: &mut Closure,
        instrs: &[InstrId],
        moments: &[Moment],
        effort: &mut Effort,
    ) -> bool {
        self.changed.fill();
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for &x in instrs {
                if !self.changed.contains(x) {
                    continue;
                }
                self.changed.remove(x);
                has_changed = true;
                for class in 0..self.minima.len() {
                    for &moment in moments {
                        if self.is_impossible(closure, class, x, moment, instrs, effort) {
                            return false;
                        }
                        if effort.is_spent() {
                            return true;
                        }
                    }
                }
            }
        }
        true
    }

    /// Examine one moment with each of the other instructions. Return whether the moment itself exceeds the limit.
    fn is_impossible(
        &mut self,
        closure: &mut Closure,
        class: usize,
        x: InstrId,
        moment: Moment,
        others: &[InstrId],
        effort: &mut Effort,
    ) -> bool {
        let (cut, limit) = &mut self.minima[class];
        // In a known order, all that come before x are done just before it and just after it. All others are not.
        self.settled.copy_from(self.seen.row(x));
        if !moment.is_other_done && !self.settled.is_empty() {
            self.settled.complement();
        }
        let alone = [None].into_iter().chain(others.iter().copied().map(Some));
        for other in alone {
            if other.is_some_and(|y| self.settled.contains(y) || !closure.independent(x, y)) {
                continue;
            }
            if effort.is_spent() {
                return false;
            }
            effort.spend(self.region.len() as u64 / 4);
            place(closure, x, moment, other, &mut self.sides);
            let least = match other {
                None => cut.min(&self.sides, *limit + 1, effort),
                // The moment has not changed since, except for dependences of x that this loop has found.
                Some(_) => cut.min_beyond(&self.sides, *limit + 1, effort),
            };
            match (least, other) {
                (Minimum::Exact(_), _) => {
                    if other.is_none() {
                        cut.keep();
                    }
                    if moment.is_other_done {
                        cut.largest(&mut self.set);
                    } else {
                        cut.smallest(&mut self.set);
                        self.set.complement();
                    }
                    self.settled.unite(&self.set);
                }
                (Minimum::AtLeast(least), Some(y)) if least > *limit => {
                    let pair = if moment.is_other_done { (x, y) } else { (y, x) };
                    for related in [closure.ancestors(pair.0), closure.descendants(pair.1)] {
                        self.changed.unite(related);
                    }
                    self.changed.insert(pair.0);
                    self.changed.insert(pair.1);
                    closure.add(pair.0, pair.1);
                    self.found.push(pair);
                }
                (Minimum::AtLeast(least), None) if least > *limit => return true,
                (Minimum::AtLeast(_), _) => return false,
            }
        }
        false
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

/// Place all instructions at a moment of x: done, ahead, or either.
fn place(closure: &Closure, x: InstrId, moment: Moment, other: Option<InstrId>, sides: &mut [Side]) {
    sides.fill(Side::Free);
    let mut mark = |instr: InstrId, related: Bits, side: Side| {
        related.instrs().for_each(|instr| sides[instr.index()] = side);
        sides[instr.index()] = side;
    };
    mark(x, closure.ancestors(x), Side::In);
    mark(x, closure.descendants(x), Side::Out);
    if let Some(y) = other {
        match moment.is_other_done {
            true => mark(y, closure.ancestors(y), Side::In),
            false => mark(y, closure.descendants(y), Side::Out),
        }
    }
    if moment.is_after {
        sides[x.index()] = Side::In;
    }
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
                let mut closure = Closure::new(&region);
                let steps = if random.chance(20) { random.below(400) as u64 } else { u64::MAX };
                let is_within =
                    |(peak, limit): (&Peak, &Option<u32>)| limit.is_none_or(|limit| peak.between <= limit);
                let known: &[&[InstrId]] =
                    if peaks.iter().zip(&limits).all(is_within) { &[&order] } else { &[] };
                let effort = &mut Effort { steps, deadline: None };
                let critical = if random.chance(50) { critical(&region, &limits) } else { Vec::new() };
                let found = forced_order(&region, &mut closure, &limits, known, &critical, effort);
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
