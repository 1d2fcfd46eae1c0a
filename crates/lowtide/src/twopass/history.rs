//! Failed states of the search for a short schedule (paper 2's history-based domination, with latencies).
//!
//! States with the same issued instructions are *similar*. A record says that every similar state has failed
//! in which certain instructions cannot issue before certain slots: the reasons of a failure
//! ([`reasons`](super::reasons)). Slots are counted from the target.
//!
//! Where no reasons are known (units can make instructions wait, or a path has a cost), a record has the
//! whole state: the clock, every pending operand and every busy unit. If a state has no path to the end
//! within the target, neither has a similar state that is no better placed. That holds for every target,
//! since all times are counted from it. If a path has a cost ([`Meter`](super::meter::Meter)), the remaining
//! budget is compared like the available times.
//!
//! If nothing below a failed state was given up for lack of time, the state has failed because of its
//! registers, whatever the times and the target.

use rustc_hash::FxHashMap;

/// A resource, and the slots before the target at which it becomes available: an instruction, a copy of a
/// unit (after all instructions), or the clock.
pub(crate) type Pending = (u32, u32);

/// The number of the clock: the slots left.
pub(crate) const CLOCK: u32 = COSTS - 1;

/// Numbers from here on denote parts of the remaining budget, not instructions or copies.
pub(crate) const COSTS: u32 = 1 << 31;

/// Failed states by the key of their set of instructions.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The first record of each set, as a position in `records`.
    first: FxHashMap<u128, u32>,
    /// Records: the next one of the same set, the largest target for which it holds, the number of resources,
    /// and these. Records with the largest targets come first.
    records: Vec<u32>,
}

/// The mark for no next record.
const NONE: u32 = u32::MAX;

/// The targets for which a record holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Holds {
    /// This target and all smaller ones.
    UpTo(u32),
    /// All targets, since the times are counted from the target.
    ForAllTargets,
    /// All targets, whatever the times.
    Always,
}

impl Holds {
    /// Return the largest target, in one number.
    fn most(self) -> u32 {
        match self {
            Holds::UpTo(target) => target,
            Holds::ForAllTargets => NEVER - 1,
            Holds::Always => NEVER,
        }
    }
}

/// In place of the largest target: no time suffices.
const NEVER: u32 = u32::MAX;

/// The most numbers in `records`: 64 MB. Beyond that no failure is recorded, which costs time, never
/// correctness.
const MOST: usize = 1 << 24;

/// The known facts about a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Nothing,
    /// No path to the end in time, by a record.
    TooLate(u32),
    /// No path to the end at all.
    Dead,
}

impl History {
    /// Look up a state. `slack` returns the slots before the target at which a resource is available.
    ///
    /// A set can have hundreds of records. A resource by which a record does not apply comes to its front:
    /// the next similar state will most likely differ in the same one.
    pub(crate) fn look_up(&mut self, set: u128, target: u32, slack: impl Fn(u32) -> u32) -> Known {
        let mut record = self.first.get(&set).copied().unwrap_or(NONE);
        while record != NONE {
            let [next, most, count, rest @ ..] = &mut self.records[record as usize..] else { break };
            if target > *most {
                break;
            }
            let pending = &mut rest[..2 * *count as usize];
            let Some(place) = pending.chunks_exact(2).position(|pair| slack(pair[0]) > pair[1]) else {
                return if *most == NEVER { Known::Dead } else { Known::TooLate(record) };
            };
            if place > 0 {
                pending.swap(0, 2 * place);
                pending.swap(1, 2 * place + 1);
            }
            record = *next;
        }
        Known::Nothing
    }

    /// Return the resources of a record.
    pub(crate) fn pending(&self, record: u32) -> impl Iterator<Item = Pending> + '_ {
        let count = self.records[record as usize + 2] as usize;
        self.records[record as usize + 3..][..2 * count].chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// Record that all similar states have failed in which no resource is available earlier.
    pub(crate) fn add(&mut self, set: u128, holds: Holds, pending: &[Pending]) {
        if self.records.len() + 3 + 2 * pending.len() > MOST {
            return;
        }
        let most = holds.most();
        let record = self.records.len() as u32;
        let mut before = NONE;
        let mut next = self.first.get(&set).copied().unwrap_or(NONE);
        while next != NONE && self.records[next as usize + 1] > most {
            before = next;
            next = self.records[next as usize];
        }
        // Records that the new one covers are removed.
        while next != NONE && self.covers(pending, next) {
            next = self.records[next as usize];
        }
        self.records.extend([next, most, pending.len() as u32]);
        self.records.extend(pending.iter().flat_map(|&(what, slack)| [what, slack]));
        match before {
            NONE => drop(self.first.insert(set, record)),
            before => self.records[before as usize] = record,
        }
    }

    /// Return whether a record with these resources applies wherever an older one does that holds for no more
    /// targets. (Nothing is available before the clock.)
    fn covers(&self, pending: &[Pending], older: u32) -> bool {
        pending.iter().all(|&(what, slack)| {
            let is_as_late =
                |(other, known): Pending| (other == what || other == CLOCK && what < CLOCK) && known <= slack;
            self.pending(older).any(is_as_late)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// In a state, some of `WHATS` are pending, the others are available at once.
    const WHATS: usize = 4;

    /// Return the slots before the target at which a resource is available: no more than are left.
    fn slack(pending: &[Pending], slots_left: u32) -> impl Fn(u32) -> u32 + '_ {
        move |what| {
            let own = pending.iter().find(|(other, _)| *other == what);
            own.map_or(slots_left, |&(_, slack)| slack.min(slots_left))
        }
    }

    /// Look up a state for a target of 20 cycles.
    fn look_up(history: &mut History, set: u128, slots_left: u32, pending: &[Pending]) -> Known {
        history.look_up(set, 20, slack(pending, slots_left))
    }

    fn is_too_late(history: &mut History, set: u128, slots_left: u32, pending: &[Pending]) -> bool {
        matches!(look_up(history, set, slots_left, pending), Known::TooLate(_))
    }

    /// Record a whole state.
    fn add_state(history: &mut History, set: u128, slots_left: u32, pending: &[Pending]) {
        let whole: Vec<Pending> = [(CLOCK, slots_left)].into_iter().chain(pending.iter().copied()).collect();
        history.add(set, Holds::ForAllTargets, &whole);
    }

    /// How many records are looked at for a set.
    fn count(history: &History, set: u128) -> usize {
        let mut targets = Vec::new();
        let mut record = history.first.get(&set).copied().unwrap_or(NONE);
        while record != NONE {
            targets.push(history.records[record as usize + 1]);
            record = history.records[record as usize];
        }
        assert!(targets.is_sorted_by(|one, other| one >= other), "{targets:?}");
        targets.len()
    }

    #[test]
    fn what_is_no_better_placed_is_too_late() {
        let mut history = History::default();
        assert_eq!(look_up(&mut history, 7, 0, &[]), Known::Nothing);
        add_state(&mut history, 7, 10, &[(1, 6), (2, 8)]);
        // The same; fewer slots; something later; one more thing to wait for.
        assert!(is_too_late(&mut history, 7, 10, &[(1, 6), (2, 8)]));
        assert!(is_too_late(&mut history, 7, 9, &[(1, 6), (2, 8)]));
        assert!(is_too_late(&mut history, 7, 10, &[(1, 5), (2, 8), (3, 1)]));
        assert!(is_too_late(&mut history, 7, 6, &[]), "nothing can be earlier than now");
        // A slot more; something earlier; something available; another set.
        assert_eq!(look_up(&mut history, 7, 11, &[(1, 6), (2, 8)]), Known::Nothing);
        assert_eq!(look_up(&mut history, 7, 10, &[(1, 7), (2, 8)]), Known::Nothing);
        assert_eq!(look_up(&mut history, 7, 10, &[(1, 6)]), Known::Nothing);
        assert_eq!(look_up(&mut history, 8, 10, &[(1, 6), (2, 8)]), Known::Nothing);
    }

    #[test]
    fn reasons_hold_up_to_their_target() {
        let mut history = History::default();
        history.add(7, Holds::UpTo(30), &[(1, 6)]);
        history.add(7, Holds::UpTo(25), &[(2, 5)]);
        let late = |history: &mut History, target: u32, pending: &[Pending]| {
            matches!(history.look_up(7, target, slack(pending, 15)), Known::TooLate(_))
        };
        assert!(late(&mut history, 30, &[(1, 6)]), "whatever the clock");
        assert!(!late(&mut history, 31, &[(1, 6)]));
        assert!(late(&mut history, 25, &[(2, 4)]));
        assert!(!late(&mut history, 26, &[(2, 4)]));
        // The reason 2 at 5 is covered for targets up to 25 only.
        history.add(7, Holds::UpTo(20), &[(2, 6)]);
        assert_eq!(count(&history, 7), 3);
        history.add(7, Holds::UpTo(28), &[(2, 6)]);
        assert_eq!(count(&history, 7), 2);
    }

    #[test]
    fn a_record_replaces_those_that_it_covers() {
        let mut history = History::default();
        add_state(&mut history, 7, 10, &[(1, 6)]);
        add_state(&mut history, 7, 11, &[(2, 5)]);
        assert_eq!(count(&history, 7), 2);
        add_state(&mut history, 7, 11, &[(1, 8), (2, 6)]);
        assert_eq!(count(&history, 7), 3, "1 is not known of the one with 11 slots");
        add_state(&mut history, 7, 11, &[(2, 6)]);
        assert_eq!(count(&history, 7), 2, "that with the earlier 2 has gone, and that with both");
        history.add(7, Holds::Always, &[]);
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
            let mut all: Vec<(u128, Holds, Vec<Pending>)> = Vec::new();
            for _ in 0..40 {
                let set = random.below(3) as u128;
                let target = 20 + random.below(3) as u32;
                let slots_left = random.below(12) as u32;
                let pending: Vec<Pending> = (0..WHATS as u32)
                    .filter_map(|what| {
                        let slack = random.below(slots_left as usize + 1) as u32;
                        random.chance(40).then_some((what, slack))
                    })
                    .collect();
                let known = history.look_up(set, target, slack(&pending, slots_left));
                let own = slack(&pending, slots_left);
                let of_set = all.iter().filter(|record| record.0 == set && record.1.most() >= target);
                let same: Vec<_> = of_set.collect();
                let is_dead = same.iter().any(|record| record.1 == Holds::Always);
                let is_late =
                    same.iter().any(|(_, _, known)| known.iter().all(|&(what, slack)| own(what) <= slack));
                match known {
                    Known::Dead => assert!(is_dead),
                    Known::TooLate(record) => {
                        assert!(!is_dead && is_late);
                        assert!(history.pending(record).all(|(what, slack)| own(what) <= slack));
                    }
                    Known::Nothing => {
                        assert!(!is_dead && !is_late, "{set} {slots_left} {pending:?} after {all:?}");
                    }
                }
                late += u32::from(matches!(known, Known::TooLate(_)));
                dead += u32::from(known == Known::Dead);
                // The search records only states that were not known.
                if known == Known::Nothing {
                    let holds = match random.below(50) {
                        0 => Holds::Always,
                        1..25 => Holds::ForAllTargets,
                        _ => Holds::UpTo(target),
                    };
                    let recorded = match holds {
                        Holds::Always => Vec::new(),
                        Holds::ForAllTargets => {
                            pending.iter().copied().chain([(CLOCK, slots_left)]).collect()
                        }
                        Holds::UpTo(_) => pending.clone(),
                    };
                    history.add(set, holds, &recorded);
                    all.push((set, holds, recorded));
                }
            }
            replaced += all.len() - (0..3).map(|set| count(&history, set)).sum::<usize>();
        }
        println!("{late} too late, {dead} dead, {replaced} records replaced");
        assert!(late > 10_000 && dead > 2_000 && replaced > 5_000, "{late} {dead} {replaced}");
    }
}
