//! Witnesses: downsets within a limit, which make cuts needless.
//!
//! Is there a downset within the limit just before an instruction x, with y done? A minimum cut answers. Many
//! of these questions have the same answer: a downset T within the limit passes just before all instructions
//! that may follow it, and there y is done if it is in T. So the minimisers of earlier cuts are kept, and
//! only questions that none of them answers need a cut.
//!
//! A minimiser has the least pressure, and often there is room up to the limit. So it is *stretched* first:
//! more instructions are added, together with their ancestors, while it stays within the limit.

use std::collections::VecDeque;

use crate::analysis::closure::Closure;
use crate::analysis::pressure::Live;
use crate::bits::{BitSet, Bits};
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::region::Region;

/// The most witnesses that are kept, the latest ones.
const MOST_WITNESSES: usize = 8192;

/// Downsets within the limit on a class. They respect all dependences found so far.
#[derive(Default)]
pub(super) struct Witnesses {
    sets: VecDeque<BitSet>,
}

impl Witnesses {
    /// Add a downset.
    pub(super) fn add(&mut self, set: BitSet) {
        if self.sets.len() == MOST_WITNESSES {
            self.sets.pop_front();
        }
        self.sets.push_back(set);
    }

    /// Keep only those that respect more dependences.
    pub(super) fn retain_closed(&mut self, pairs: &[(InstrId, InstrId)]) {
        if !pairs.is_empty() {
            self.sets.retain(|set| is_closed(set, pairs));
        }
    }

    /// Return all that pass just before an instruction. `before` are its ancestors.
    pub(super) fn before<'s>(&'s self, x: InstrId, before: Bits<'s>) -> impl Iterator<Item = &'s BitSet> {
        self.sets.iter().filter(move |set| !set.contains(x) && before.is_subset(*set))
    }

    pub(super) fn count(&self) -> usize {
        self.sets.len()
    }
}

/// Return whether a set has the first instruction of each pair if it has the second one.
pub(super) fn is_closed(set: &BitSet, pairs: &[(InstrId, InstrId)]) -> bool {
    pairs.iter().all(|&(before, after)| !set.contains(after) || set.contains(before))
}

/// A downset with its pressure, and a limit on that of one class.
pub(super) struct Probe<'a> {
    region: &'a Region,
    class: ClassId,
    limit: u32,
    live: Live<'a>,
    set: BitSet,
    /// The instructions that enter or leave the set.
    moving: BitSet,
}

impl<'a> Probe<'a> {
    /// Start with the empty set.
    pub(super) fn new(region: &'a Region, class: ClassId, limit: u32) -> Self {
        let [set, moving] = [(); 2].map(|()| BitSet::new(region.len()));
        Probe { region, class, limit, live: Live::new(region), set, moving }
    }

    /// Stretch a downset: add as many instructions as possible, within the limit. Those that are `fixed` stay
    /// outside.
    pub(super) fn stretch(
        &mut self,
        set: &mut BitSet,
        closure: &Closure,
        fixed: impl Fn(InstrId) -> bool,
        effort: &mut Effort,
    ) {
        self.go_to(set, effort);
        // Early instructions have the fewest ancestors to add.
        for y in self.region.instrs() {
            if self.set.contains(y) || fixed(y) {
                continue;
            }
            if effort.is_spent() {
                break;
            }
            self.moving.copy_from(closure.ancestors(y));
            self.moving.insert(y);
            self.moving.subtract(&self.set);
            self.flip(true, effort);
            if self.live.now(self.class) > self.limit {
                self.flip(false, effort);
            }
        }
        set.copy_from(&self.set);
    }

    fn go_to(&mut self, set: &BitSet, effort: &mut Effort) {
        // The same number of steps from everywhere, so that it does not depend on what came before.
        effort.spend(self.region.len() as u64 / 4);
        let mut unbounded = Effort::UNBOUNDED;
        let free = &mut unbounded;
        self.moving.copy_from(&self.set);
        self.moving.subtract(set);
        self.flip(false, free);
        self.moving.copy_from(set);
        self.moving.subtract(&self.set);
        self.flip(true, free);
    }

    /// Move instructions in or out, each after its predecessors or successors.
    fn flip(&mut self, is_in: bool, effort: &mut Effort) {
        effort.spend(self.set.words() as u64 + 4 * u64::from(self.moving.count()));
        if is_in {
            self.moving.instrs().for_each(|instr| self.live.schedule(instr, &mut []));
            self.set.unite(&self.moving);
        } else {
            self.set.subtract(&self.moving);
            let mut next = self.moving.bits().last_up_to(self.region.len() - 1);
            while let Some(instr) = next {
                self.live.take_back(InstrId::at(instr));
                next = instr.checked_sub(1).and_then(|to| self.moving.bits().last_up_to(to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minreg::made::{Small, regions};
    use crate::random::Random;

    /// A stretched set is a downset within the limit, has all it had before, and nothing that is fixed.
    #[test]
    fn stretched_sets_stay_within_the_limit() {
        let mut random = Random::new(4);
        let (mut sets, mut moved) = (0, 0);
        for region in regions(0..200, 10) {
            let small = Small::new(&region, &[]);
            let closure = Closure::new(&region);
            let all: Vec<InstrId> = region.instrs().collect();
            let pressure = |set: usize| small.pressures[set].as_ref().map(|pressures| pressures[0]);
            for _ in 0..20 {
                let start = random.pick(&small.on_the_way(&[]).into_iter().collect::<Vec<usize>>());
                let limit = pressure(start).expect("a downset") + random.below(3) as u32;
                let fixed = random.pick(&all);
                // An instruction stays where it is if those that need it do not move either.
                let is_fixed = |y: InstrId| y == fixed || closure.reaches(fixed, y);
                let mut set =
                    BitSet::of(region.len(), all.iter().copied().filter(|instr| start >> instr.0 & 1 == 1));
                let mut effort = Effort::UNBOUNDED;
                let mut probe = Probe::new(&region, ClassId(0), limit);
                // From another set, which is not within the limit.
                probe.go_to(&BitSet::full(region.len()), &mut effort);
                probe.stretch(&mut set, &closure, is_fixed, &mut effort);
                let end = set.instrs().fold(0, |end: usize, instr| end | 1 << instr.0);
                assert_eq!(start & !end, 0, "{}", region.name());
                assert!(pressure(end).expect("a downset") <= limit, "{}", region.name());
                assert_eq!((start ^ end) >> fixed.0 & 1, 0, "{}", region.name());
                sets += 1;
                moved += usize::from(start != end);
            }
        }
        println!("{sets} sets, {moved} stretched");
        assert!(sets > 1_000 && moved > 500, "{sets} {moved}");
    }

    /// A witness passes just before an instruction if its ancestors are done, and it is not.
    #[test]
    fn witnesses_answer_for_the_instructions_that_may_follow() {
        let mut answers = 0;
        for region in regions(0..50, 9) {
            let closure = Closure::new(&region);
            let mut witnesses = Witnesses::default();
            let sets: Vec<usize> = Small::new(&region, &[]).on_the_way(&[]).into_iter().collect();
            for set in &sets {
                witnesses
                    .add(BitSet::of(region.len(), region.instrs().filter(|instr| set >> instr.0 & 1 == 1)));
            }
            for x in region.instrs() {
                let before = witnesses.before(x, closure.ancestors(x));
                let number = |set: &BitSet| set.instrs().fold(0, |all: usize, instr| all | 1 << instr.0);
                let found: Vec<usize> = before.map(number).collect();
                let may_follow = |set: &usize| set >> x.0 & 1 == 0 && sets.contains(&(set | 1 << x.0));
                let expected = sets.iter().copied().filter(may_follow);
                assert_eq!(found, expected.collect::<Vec<usize>>(), "{} {x}", region.name());
                answers += found.len();
            }
            let pair = (InstrId(0), InstrId::at(region.len() - 1));
            witnesses.retain_closed(&[pair]);
            let open = sets.iter().filter(|set| *set >> pair.1.0 & 1 == 1 && *set >> pair.0.0 & 1 == 0);
            assert_eq!(witnesses.count(), sets.len() - open.count(), "{}", region.name());
        }
        println!("{answers} answers");
        assert!(answers > 1_000, "{answers}");
    }
}
