//! Counters of a run: regions, and the states and the time of both passes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::Answers;
use super::memo::lock;

/// Counts the work of one run with one session. Several threads may share it.
#[derive(Debug, Default)]
pub struct Statistics {
    /// The graphs of this run, by the address of their answers, which the session keeps.
    graphs: Mutex<FxHashSet<usize>>,
    repeated: AtomicU64,
    spent: [Counter; 2],
}

#[derive(Debug, Default)]
struct Counter {
    states: AtomicU64,
    nanoseconds: AtomicU64,
}

/// The work of one pass, over all regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spent {
    /// States of its searches.
    pub states: u64,
    /// Time for all answers that were not known before.
    pub time: Duration,
}

impl Statistics {
    /// The number of regions that have the graph of an earlier region of this run.
    pub fn repeated(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }

    /// The work of pass 1 and of pass 2.
    pub fn spent(&self) -> [Spent; 2] {
        self.spent.each_ref().map(|counter| Spent {
            states: counter.states.load(Ordering::Relaxed),
            time: Duration::from_nanos(counter.nanoseconds.load(Ordering::Relaxed)),
        })
    }

    /// Counts a region with the graph of these answers.
    pub(super) fn count_region(&self, answers: &Arc<Answers>) {
        if !lock(&self.graphs).insert(Arc::as_ptr(answers) as usize) {
            self.repeated.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn count(&self, pass: Pass, states: u64, time: Duration) {
        let counter = &self.spent[pass as usize];
        counter.states.fetch_add(states, Ordering::Relaxed);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        counter.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// One of the two passes: occupancy, then length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pass {
    First = 0,
    Second = 1,
}
