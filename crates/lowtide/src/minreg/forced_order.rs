//! Forced orders: dependences between pairs that follow from the limits.
//!
//! Suppose b came after a in an order within the limits. Then the order would have a moment just before b.
//! All ancestors of b would be done, and a with its ancestors, but neither b nor a descendant of b. If every
//! downset that is possible then exceeds a limit, b must come before a. That is a new dependence, which all
//! orders within the limits respect, and it makes the next cuts tighter. (The cuts use the graph without the
//! new dependences; only the sets of instructions done and ahead use them.)
//!
//! For each b one cut settles many a: all those in a minimiser within the limit. The sets are kept. So the next
//! round, which looks for the consequences of new dependences, needs few cuts.

use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side};
use crate::bits::{BitMatrix, BitSet};
use crate::budget::Effort;
use crate::index::InstrId;
use crate::region::Region;

/// Find dependences that follow from limits, within the effort. They are also added to `closure`. `known` are
/// orders within the limits: a pair that is reversed in one of them is not examined.
pub(crate) fn forced_order(
    region: &Region,
    closure: &mut Closure,
    limits: &[Option<u32>],
    known: &[&[InstrId]],
    effort: &mut Effort,
) -> Vec<(InstrId, InstrId)> {
    let seen = seen_before(region.len(), known);
    let classes = region.class_ids().filter_map(|class| limits[class.index()].map(|limit| (class, limit)));
    let mut minima: Vec<(DownsetMin, u32, Possible)> = classes
        .map(|(class, limit)| (DownsetMin::new(region, class, closure), limit, Possible::new(region.len())))
        .collect();
    let mut found = Vec::new();
    let mut sides = vec![Side::Free; region.len()];
    let (mut set, mut settled) = (BitSet::new(region.len()), BitSet::new(region.len()));
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for b in region.instrs() {
            for (cut, limit, possible) in &mut minima {
                settled.copy_from(seen.row(b));
                possible.settle(closure, b, &mut settled);
                for a in region.instrs().filter(|&a| a != b) {
                    if settled.contains(a) || closure.reaches(a, b) || closure.reaches(b, a) {
                        continue;
                    }
                    if effort.is_spent() {
                        return found;
                    }
                    effort.spend(region.len() as u64 / 4);
                    before(closure, a, b, &mut sides);
                    match cut.min(&sides, *limit + 1, effort) {
                        Minimum::Exact(_) => {
                            cut.largest(&mut set);
                            settled.unite(&set);
                            possible.keep(b, &set);
                        }
                        Minimum::AtLeast(least) if least > *limit => {
                            closure.add(b, a);
                            found.push((b, a));
                            has_changed = true;
                        }
                        Minimum::AtLeast(_) => return found,
                    }
                }
            }
        }
    }
    found
}

/// The most words of all sets that are kept: 32 MiB.
const MOST_WORDS: usize = 1 << 22;

/// For each instruction, sets within the limit of one class just before it.
struct Possible {
    sets: Vec<Vec<BitSet>>,
    words: usize,
}

impl Possible {
    fn new(count: usize) -> Self {
        Possible { sets: vec![Vec::new(); count], words: 0 }
    }

    fn keep(&mut self, b: InstrId, set: &BitSet) {
        self.words += set.words();
        if self.words <= MOST_WORDS {
            self.sets[b.index()].push(set.clone());
        }
    }

    /// Add all instructions that can come before b, by the sets that new dependences leave.
    fn settle(&mut self, closure: &Closure, b: InstrId, settled: &mut BitSet) {
        let (ancestors, descendants) = (closure.ancestors(b), closure.descendants(b));
        let sets = &mut self.sets[b.index()];
        sets.retain(|set| ancestors.is_subset(set) && descendants.is_disjoint(set));
        for set in sets {
            for a in set.instrs().filter(|&a| closure.ancestors(a).is_subset(&*set)) {
                settled.insert(a);
            }
        }
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

/// The moment just before b, with a done.
fn before(closure: &Closure, a: InstrId, b: InstrId, sides: &mut [Side]) {
    sides.fill(Side::Free);
    for instr in closure.ancestors(a).instrs().chain(closure.ancestors(b).instrs()) {
        sides[instr.index()] = Side::In;
    }
    for instr in closure.descendants(b).instrs() {
        sides[instr.index()] = Side::Out;
    }
    sides[a.index()] = Side::In;
    sides[b.index()] = Side::Out;
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
        let (mut with_some, mut possible, mut without_limits) = (0, 0, 0);
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
                let found = forced_order(&region, &mut closure, &limits, known, effort);
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
        println!("forced orders for {with_some} limits, {possible} of them possible");
        assert!(with_some > 1_000 && possible > 1_000 && without_limits == 0, "{with_some} {possible}");
    }
}
