//! Failed states of the search for a short schedule (paper 2's history-based domination, with latencies).
//!
//! States with the same issued instructions are *similar*. If one of them has no path to the end within the
//! target, neither has a similar state that is no better placed. No better placed means: no more slots left
//! until the target, and every pending operand available no earlier. Both are counted from the target, so a
//! failure stays valid as the target rises. The later state then has more time, and is compared by that.
//!
//! If nothing below a failed state was given up for lack of time, the state has failed because of its
//! registers. That holds for every target.
//!
//! If a path has a cost ([`Meter`](super::meter::Meter)), the remaining budget is compared like the available
//! times.

use rustc_hash::FxHashMap;

/// A pending resource: an instruction (or a copy of a unit), and the cycles before the target at which it
/// becomes available.
pub(crate) type Pending = (u32, u32);

/// Numbers from here on denote parts of the remaining budget, not instructions or copies.
pub(crate) const COSTS: u32 = 1 << 31;

/// Failed states by the key of their set of instructions.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The first record of each set, as a position in `records`.
    first: FxHashMap<u128, u32>,
    /// Records: the next one of the same set, slots left, the number of pending resources, and these. Records
    /// with the most slots come first. A state with more slots left than a record skips all further ones.
    records: Vec<u32>,
}

/// The mark for no next record.
const NONE: u32 = u32::MAX;

/// In place of the slots left: no number of slots suffices.
const NEVER: u32 = u32::MAX;

/// The most numbers in `records`: 64 MB. Beyond that no failure is recorded, which costs time, never
/// correctness.
const MOST: usize = 1 << 24;

/// The known facts about a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Nothing,
    /// No path to the end in time.
    TooLate(u32),
    /// No path to the end at all.
    Dead,
}

impl History {
    /// Look up a state. `slack` returns the cycles before the target at which a resource is available.
    ///
    /// A set can have hundreds of records. A pending resource by which a record does not apply comes to its front:
    /// the next similar state will most likely differ in the same one.
    pub(crate) fn look_up(&mut self, set: u128, slots_left: u32, target: u32, slack: impl Fn(u32) -> u32) -> Known {
        let mut record = self.first.get(&set).copied().unwrap_or(NONE);
        while record != NONE {
            let [next, slots, most, count, rest @ ..] = &mut self.records[record as usize..] else { break };
            if slots_left > *slots {
                break;
            }
            if target > *most {
                record = *next;
                continue;
            }
            let pending = &mut rest[..2 * *count as usize];
            let Some(place) = pending.chunks_exact(2).position(|pair| slack(pair[0]) > pair[1]) else {
                return if *slots == NEVER { Known::Dead } else { Known::TooLate(record) };
            };
            if place > 0 {
                pending.swap(0, 2 * place);
                pending.swap(1, 2 * place + 1);
            }
            record = *next;
        }
        Known::Nothing
    }

    pub(crate) fn slots(&self, record: u32) -> u32 {
        self.records[record as usize + 1]
    }

    pub(crate) fn pending(&self, record: u32) -> impl Iterator<Item = Pending> + '_ {
        let count = self.records[record as usize + 3] as usize;
        self.records[record as usize + 4..][..2 * count].chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// Record that a state has no path to the end in time.
    pub(crate) fn too_late(&mut self, set: u128, slots_left: u32, target: u32, pending: &[Pending]) {
        self.add(set, slots_left, target, pending);
    }

    /// Record that a state has no path to the end at all with this remaining budget.
    pub(crate) fn dead(&mut self, set: u128, left: &[Pending]) {
        self.add(set, NEVER, u32::MAX, left);
    }

    fn add(&mut self, set: u128, slots_left: u32, target: u32, pending: &[Pending]) {
        if self.records.len() + 4 + 2 * pending.len() > MOST {
            return;
        }
        let record = self.records.len() as u32;
        let mut before = NONE;
        let mut next = self.first.get(&set).copied().unwrap_or(NONE);
        while next != NONE && self.records[next as usize + 1] > slots_left {
            before = next;
            next = self.records[next as usize];
        }
        // Records that the new one covers are removed.
        while next != NONE && target >= self.records[next as usize + 2] && self.covers(slots_left, pending, next) {
            next = self.records[next as usize];
        }
        self.records.extend([next, slots_left, target, pending.len() as u32]);
        self.records.extend(pending.iter().flat_map(|&(what, slack)| [what, slack]));
        match before {
            NONE => drop(self.first.insert(set, record)),
            before => self.records[before as usize] = record,
        }
    }

    /// Return whether a record with these slots and pending resources applies wherever an older one with no
    /// more slots does.
    fn covers(&self, slots_left: u32, pending: &[Pending], older: u32) -> bool {
        let slots = self.records[older as usize + 1];
        debug_assert!(slots <= slots_left);
        pending.iter().all(|&(what, slack)| {
            what < COSTS && slots <= slack
                || self.pending(older).any(|(other, known)| other == what && known <= slack)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// In a state, some of `WHATS` are pending, the others are available at once.
    const WHATS: usize = 4;

    /// Return the cycles before the target at which a resource is available: no more than there are slots
    /// left.
    fn slack(pending: &[Pending], slots_left: u32) -> impl Fn(u32) -> u32 + '_ {
        move |what| {
            let own = pending.iter().find(|(other, _)| *other == what);
            own.map_or(slots_left, |&(_, slack)| slack.min(slots_left))
        }
    }

    fn look_up(history: &mut History, set: u128, slots_left: u32, pending: &[Pending]) -> Known {
        history.look_up(set, slots_left, slack(pending, slots_left))
    }

    /// How many records are looked at for a set.
    fn count(history: &History, set: u128) -> usize {
        let mut slots = Vec::new();
        let mut record = history.first.get(&set).copied().unwrap_or(NONE);
        while record != NONE {
            slots.push(history.records[record as usize + 1]);
            record = history.records[record as usize];
        }
        assert!(slots.is_sorted_by(|one, other| one >= other), "{slots:?}");
        slots.len()
    }

    #[test]
    fn what_is_no_better_placed_is_too_late() {
        let mut history = History::default();
        assert_eq!(look_up(&mut history, 7, 0, &[]), Known::Nothing);
        history.too_late(7, 10, &[(1, 6), (2, 8)]);
        // The same; fewer slots; something later; one more thing to wait for.
        assert_eq!(look_up(&mut history, 7, 10, &[(1, 6), (2, 8)]), Known::TooLate);
        assert_eq!(look_up(&mut history, 7, 9, &[(1, 6), (2, 8)]), Known::TooLate);
        assert_eq!(look_up(&mut history, 7, 10, &[(1, 5), (2, 8), (3, 1)]), Known::TooLate);
        assert_eq!(look_up(&mut history, 7, 6, &[]), Known::TooLate, "nothing can be earlier than now");
        // A slot more; something earlier; something available; another set.
        assert_eq!(look_up(&mut history, 7, 11, &[(1, 6), (2, 8)]), Known::Nothing);
        assert_eq!(look_up(&mut history, 7, 10, &[(1, 7), (2, 8)]), Known::Nothing);
        assert_eq!(look_up(&mut history, 7, 10, &[(1, 6)]), Known::Nothing);
        assert_eq!(look_up(&mut history, 8, 10, &[(1, 6), (2, 8)]), Known::Nothing);
    }

    #[test]
    fn a_record_replaces_those_that_it_covers() {
        let mut history = History::default();
        history.too_late(7, 10, &[(1, 6)]);
        history.too_late(7, 12, &[(1, 3)]);
        history.too_late(7, 11, &[(2, 5)]);
        assert_eq!(count(&history, 7), 3);
        // At 10 slots, 1 at 6 is covered by 1 at 8; at 12, 1 at 3 comes before it, and stays.
        history.too_late(7, 11, &[(1, 8), (2, 6)]);
        assert_eq!(count(&history, 7), 4, "1 is not known of the one with 11 slots");
        history.too_late(7, 11, &[(2, 6)]);
        assert_eq!(count(&history, 7), 3, "that with the earlier 2 has gone, and that with both");
        history.dead(7, &[]);
        assert_eq!(count(&history, 7), 1);
        assert_eq!(look_up(&mut history, 7, u32::MAX - 1, &[]), Known::Dead);
        assert_eq!(look_up(&mut history, 8, 0, &[]), Known::Nothing);
    }

    /// A plain list of all recorded states gives the same answers.
    #[test]
    fn nothing_is_lost_and_nothing_is_made_up() {
        let mut random = Random::new(1);
        let (mut late, mut dead, mut replaced) = (0, 0, 0);
        for _ in 0..2_000 {
            let mut history = History::default();
            let mut all: Vec<(u128, u32, Vec<Pending>)> = Vec::new();
            for _ in 0..40 {
                let set = random.below(3) as u128;
                let slots_left = random.below(12) as u32;
                let pending: Vec<Pending> = (0..WHATS as u32)
                    .filter_map(|what| {
                        let slack = random.below(slots_left as usize + 1) as u32;
                        random.chance(40).then_some((what, slack))
                    })
                    .collect();
                let known = look_up(&mut history, set, slots_left, &pending);
                let slack = slack(&pending, slots_left);
                let same: Vec<_> = all.iter().filter(|record| record.0 == set).collect();
                let is_dead = same.iter().any(|record| record.1 == NEVER);
                let is_late = same.iter().any(|(_, slots, pending)| {
                    slots_left <= *slots && pending.iter().all(|&(what, known)| slack(what) <= known)
                });
                let expected = match (is_dead, is_late) {
                    (true, _) => Known::Dead,
                    (_, true) => Known::TooLate,
                    _ => Known::Nothing,
                };
                assert_eq!(known, expected, "{set} {slots_left} {pending:?} after {all:?}");
                late += u32::from(known == Known::TooLate);
                dead += u32::from(known == Known::Dead);
                // The search records only states that were not known.
                if known == Known::Nothing {
                    if random.chance(2) {
                        history.dead(set, &[]);
                        all.push((set, NEVER, Vec::new()));
                    } else {
                        history.too_late(set, slots_left, &pending);
                        all.push((set, slots_left, pending.clone()));
                    }
                }
            }
            replaced += all.len() - (0..3).map(|set| count(&history, set)).sum::<usize>();
        }
        println!("{late} too late, {dead} dead, {replaced} records replaced");
        assert!(late > 10_000 && dead > 2_000 && replaced > 5_000, "{late} {dead} {replaced}");
    }
}
