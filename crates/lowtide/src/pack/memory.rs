//! Failed states: sets of issued operations from which the rest does not fit into the cycles that were left.
//!
//! A state is what is issued (all of it, or which parts), how many cycles are left, and which operations still wait for a latency.
//! If a state has failed, so does every other one with the same issued operations that has no more cycles left and
//! in which everything that had to wait has to wait for at least as long, counted from the end. Counted from the end, because
//! then it also holds for other lengths.

use rustc_hash::FxHashMap;

/// Entries are not kept beyond so many numbers: some hundred megabytes.
const MOST_NUMBERS: usize = 40_000_000;

/// What failed.
struct Failed {
    /// Cycles that were left.
    left: u32,
    /// Groups of loads that were used up.
    levels: u32,
    /// Operations that waited, with the cycles left from when they can be issued on.
    waiting: Box<[(u32, u32)]>,
}

#[derive(Default)]
pub(super) struct Memory {
    failed: FxHashMap<u128, Vec<Failed>>,
    numbers: usize,
}

impl Memory {
    /// Whether a state is known to fail. `left_at` tells for an operation how many cycles are left from when it can be issued on.
    pub(super) fn knows(&self, key: u128, left: u32, levels: u32, left_at: impl Fn(u32) -> u32) -> bool {
        let Some(failed) = self.failed.get(&key) else { return false };
        failed.iter().any(|other| {
            left <= other.left
                && levels >= other.levels
                && other.waiting.iter().all(|&(at, others)| left_at(at) <= others)
        })
    }

    pub(super) fn add(&mut self, key: u128, left: u32, levels: u32, waiting: &[(u32, u32)]) {
        if self.numbers > MOST_NUMBERS {
            return;
        }
        self.numbers += 6 + waiting.len();
        let failed = Failed { left, levels, waiting: waiting.into() };
        self.failed.entry(key).or_default().push(failed);
    }
}
