//! Failed states: sets of issued operations from which the rest does not fit into the remaining cycles.
//!
//! A state has the issued operations (whole or parts), the remaining cycles, and the operations that still
//! wait for a latency. If a state has failed, so does every state with the same issued operations that is no
//! better placed. Such a state has no more cycles left, and everything that had to wait waits at least as
//! long. Times are counted from the end, so failures stay valid for other lengths.

use rustc_hash::FxHashMap;

/// The most numbers of all entries: some hundred megabytes.
const MOST_NUMBERS: usize = 40_000_000;

/// A failed state.
struct Failed {
    /// Cycles that were left.
    left: u32,
    /// Groups of loads used.
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
    /// Return whether a state is known to fail. `left_at` gives, for an operation, the cycles that are left
    /// when it becomes available.
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
