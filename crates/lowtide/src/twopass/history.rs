//! What has failed in the search for a short schedule (paper 2's history-based domination, with latencies).
//!
//! States with the same instructions behind them are *similar*. If one of them has no way to the end within the
//! target, neither has a similar state that is no better placed: with no more slots left until the target, and
//! every operand that is still on its way available no earlier. Both are counted from the target, so that what has failed once stays valid as
//! the target rises: the later state then has more time, and is compared by that.
//!
//! A state below which nothing was ever given up for lack of time has failed because of its registers. That holds for every
//! target, however much time is left.
//!
//! Where a path has a cost ([`Meter`](super::meter::Meter)), what is left to spend is compared like what is available when.

use rustc_hash::FxHashMap;

/// Something that is not available yet: an instruction (or a copy of a unit), and how many cycles before the target it will be.
pub(crate) type Pending = (u32, u32);

/// Numbers from here on are no instructions or copies, but parts of what is left to spend.
pub(crate) const COSTS: u32 = 1 << 31;

/// Failed states by the number of their set of instructions.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The first record of each set, as a position in `records`.
    first: FxHashMap<u128, u32>,
    /// Records: the next one of the same set, slots left, number of pending ones, and these. Those with the most slots come first, so that a state
    /// with more slots left than a record need not look at any further one.
    records: Vec<u32>,
}

/// In place of the next record: there is none.
const NONE: u32 = u32::MAX;

/// In place of the slots left: no number of them suffices.
const NEVER: u32 = u32::MAX;

/// Most numbers in `records`: 64 MB. Beyond that nothing more is remembered, which costs time, never correctness.
const MOST: usize = 1 << 24;

/// What is known of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Nothing,
    /// There is no way to the end in time.
    TooLate,
    /// There is no way to the end at all.
    Dead,
}

impl History {
    /// `slack` tells how many cycles before the target something is available.
    pub(crate) fn look_up(&self, set: u128, slots_left: u32, slack: impl Fn(u32) -> u32) -> Known {
        let mut record = self.first.get(&set).copied().unwrap_or(NONE);
        while record != NONE {
            let [next, slots] = [0, 1].map(|part| self.records[record as usize + part]);
            if slots_left > slots {
                break;
            }
            if self.pending(record).all(|(what, known)| slack(what) <= known) {
                return if slots == NEVER { Known::Dead } else { Known::TooLate };
            }
            record = next;
        }
        Known::Nothing
    }

    fn pending(&self, record: u32) -> impl Iterator<Item = Pending> + '_ {
        let count = self.records[record as usize + 2] as usize;
        self.records[record as usize + 3..][..2 * count].chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// Remembers that there is no way from a state in time.
    pub(crate) fn too_late(&mut self, set: u128, slots_left: u32, pending: &[Pending]) {
        self.add(set, slots_left, pending);
    }

    /// Remembers that there is no way from a state at all, but with more to spend.
    pub(crate) fn dead(&mut self, set: u128, left: &[Pending]) {
        self.add(set, NEVER, left);
    }

    fn add(&mut self, set: u128, slots_left: u32, pending: &[Pending]) {
        if self.records.len() + 3 + 2 * pending.len() > MOST {
            return;
        }
        let record = self.records.len() as u32;
        let mut before = NONE;
        let mut next = self.first.get(&set).copied().unwrap_or(NONE);
        while next != NONE && self.records[next as usize + 1] > slots_left {
            before = next;
            next = self.records[next as usize];
        }
        // What the new record covers is not needed any more.
        while next != NONE && self.covers(slots_left, pending, next) {
            next = self.records[next as usize];
        }
        self.records.extend([next, slots_left, pending.len() as u32]);
        self.records.extend(pending.iter().flat_map(|&(what, slack)| [what, slack]));
        match before {
            NONE => drop(self.first.insert(set, record)),
            before => self.records[before as usize] = record,
        }
    }

    /// Whether a record with these slots and pending ones applies wherever an older one with no more slots does.
    fn covers(&self, slots_left: u32, pending: &[Pending], older: u32) -> bool {
        let slots = self.records[older as usize + 1];
        debug_assert!(slots <= slots_left);
        pending.iter().all(|&(what, slack)| {
            what < COSTS && slots <= slack
                || self.pending(older).any(|(other, known)| other == what && known <= slack)
        })
    }
}
