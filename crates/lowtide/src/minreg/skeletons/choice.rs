//! The choice of the next pair to decide.
//!
//! Two instructions agree if one of them is done in all witnesses of the other one, which is done in none of
//! its own. The best pair is one that does not agree, of instructions that were part of many conflicts.

use crate::bits::BitSet;
use crate::budget::Effort;

/// What the witnesses of all critical instructions say about each other. All buffers are reused.
#[derive(Default)]
pub(super) struct Choice {
    /// For each instruction: those that are done in all its witnesses, and those in any.
    in_all: Vec<BitSet>,
    in_any: Vec<BitSet>,
    /// The instructions, the most active ones first, and the place of each in this list.
    most_active: Vec<usize>,
    ranks: Vec<usize>,
    undecided: BitSet,
}

/// A pair of instructions without an order.
#[derive(Clone, Copy)]
pub(super) struct Undecided {
    pub(super) x: usize,
    pub(super) y: usize,
    /// Whether their witnesses agree on it.
    pub(super) agrees: bool,
}

/// The effort was spent.
pub(super) struct Spent;

impl Choice {
    /// Look at the witnesses of each of `count` instructions: `visit_witnesses` shows which critical
    /// instructions are done in them.
    pub(super) fn look_at(
        &mut self,
        count: usize,
        mut visit_witnesses: impl FnMut(usize, &mut dyn FnMut(&BitSet)),
    ) {
        if self.in_all.len() != count {
            self.in_all = vec![BitSet::new(count); count];
            self.in_any = self.in_all.clone();
            self.most_active = (0..count).collect();
            self.ranks = vec![0; count];
            self.undecided = BitSet::new(count);
        }
        for (x, (in_all, in_any)) in self.in_all.iter_mut().zip(&mut self.in_any).enumerate() {
            in_all.fill();
            in_any.clear();
            visit_witnesses(x, &mut |set| {
                in_all.intersect(set);
                in_any.unite(set);
            });
            in_any.remove(x);
        }
    }

    /// Sort the instructions by their activity.
    pub(super) fn rank(&mut self, activity: &[u64]) {
        // (The list is nearly sorted from the last time.)
        self.most_active.sort_by_key(|&x| (std::cmp::Reverse(activity[x]), x));
        for (rank, &x) in self.most_active.iter().enumerate() {
            self.ranks[x] = rank;
        }
    }

    fn agree(&self, x: usize, y: usize) -> bool {
        self.in_all[x].contains(y) && !self.in_any[y].contains(x)
            || self.in_all[y].contains(x) && !self.in_any[x].contains(y)
    }

    /// Return the first undecided pair that does not agree, or else the first one that does. `decided` gives
    /// those before an instruction and those after it.
    pub(super) fn first_pair<'s>(
        &mut self,
        decided: impl Fn(usize) -> (&'s BitSet, &'s BitSet),
        effort: &mut Effort,
    ) -> Result<Option<Undecided>, Spent> {
        let mut undecided = std::mem::take(&mut self.undecided);
        let mut first = None;
        for &x in &self.most_active {
            effort.spend(1 + self.ranks.len() as u64 / 8);
            if effort.is_spent() {
                return Err(Spent);
            }
            let (before, after) = decided(x);
            undecided.fill();
            undecided.subtract(before);
            undecided.subtract(after);
            undecided.remove(x);
            // Pairs with more active instructions agree.
            let by_rank = |y: &usize| self.ranks[*y];
            if let Some(y) = undecided.iter().filter(|&y| !self.agree(x, y)).min_by_key(by_rank) {
                first = Some(Undecided { x, y, agrees: false });
                break;
            }
            if first.is_none() {
                first = undecided.iter().min_by_key(by_rank).map(|y| Undecided { x, y, agrees: true });
            }
        }
        self.undecided = undecided;
        Ok(first)
    }

    /// Return the order with which all witnesses agree, if there is one.
    pub(super) fn order(&self) -> Option<Vec<u32>> {
        let count = self.in_all.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_cached_key(|&x| self.in_all[x as usize].count());
        let mut before = BitSet::new(count);
        let agrees = order.iter().all(|&x| {
            let agrees = self.in_all[x as usize] == before && self.in_any[x as usize] == before;
            before.insert(x);
            agrees
        });
        agrees.then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Random;

    /// All pairs are looked at, the most active instructions first.
    #[test]
    fn the_pair_is_the_first_of_all() {
        let mut random = Random::new(1);
        let mut choice = Choice::default();
        let (mut disagreeing, mut agreeing, mut orders) = (0, 0, 0);
        for _ in 0..3_000 {
            let count = 1 + random.below(9);
            // Mostly the moments of one order, with some members that are out of it.
            let faults = random.pick(&[0, 0, 5, 50]);
            let witness = |x: usize, is_after: bool, random: &mut Random| {
                let done = (0..count).filter(|&y| (y < x || y == x && is_after) != random.chance(faults));
                BitSet::of(count, done.collect::<Vec<usize>>())
            };
            let witnesses: Vec<[BitSet; 2]> =
                (0..count).map(|x| [witness(x, false, &mut random), witness(x, true, &mut random)]).collect();
            let mut after = vec![BitSet::new(count); count];
            let mut before = after.clone();
            for (first, second) in (0..count).flat_map(|x| (x + 1..count).map(move |y| (x, y))) {
                if random.chance(30) {
                    after[first].insert(second);
                    before[second].insert(first);
                }
            }
            let activity: Vec<u64> = (0..count).map(|_| random.below(4) as u64).collect();
            choice.look_at(count, |x, visit| witnesses[x].iter().for_each(visit));
            choice.rank(&activity);
            let found = choice.first_pair(|x| (&before[x], &after[x]), &mut Effort::UNBOUNDED.clone());
            let found = found.ok().expect("enough effort").map(|pair| (pair.x, pair.y, pair.agrees));
            let done = |x: usize, y: usize| {
                let both = witnesses[x].each_ref().map(|set| set.contains(y));
                (both.iter().all(|is_done| *is_done), both.iter().any(|is_done| *is_done))
            };
            let agrees = |x: usize, y: usize| done(x, y).0 && !done(y, x).1 || done(y, x).0 && !done(x, y).1;
            let mut active: Vec<usize> = (0..count).collect();
            active.sort_by_key(|&x| std::cmp::Reverse(activity[x]));
            let ranks = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
            let pairs = ranks.map(|(one, other)| (active[one], active[other]));
            let mut open = pairs.filter(|&(x, y)| !before[x].contains(y) && !after[x].contains(y));
            let first = open.clone().next().map(|(x, y)| (x, y, true));
            let expected = open.find(|&(x, y)| !agrees(x, y)).map(|(x, y)| (x, y, false)).or(first);
            assert_eq!(found, expected);
            disagreeing += usize::from(found.is_some_and(|pair| !pair.2));
            agreeing += usize::from(found.is_some_and(|pair| pair.2));
            if let Some(order) = choice.order() {
                orders += 1;
                assert!(order.iter().enumerate().all(|(place, &x)| {
                    witnesses[x as usize].iter().all(|set| order[..place].iter().all(|&y| set.contains(y)))
                }));
            }
        }
        assert!(disagreeing > 500 && agreeing > 500 && orders > 500, "{disagreeing} {agreeing} {orders}");
    }
}
