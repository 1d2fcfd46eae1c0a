//! The interface between a session and a store: a place outside the process that keeps entries by key.
//!
//! A store is a map from 256-bit keys to bytes. It may lose entries, and it may hold entries that somebody
//! else wrote. So a store never fails for its caller: a read that goes wrong is no entry, and a write that
//! goes wrong changes nothing.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

/// The key of an entry: a hash of a graph, of the relevant part of the target, and of the version of the
/// algorithms.
pub type Key = [u8; 32];

/// A secret that only trusted writers of a store know. Records are sealed with it.
pub type Secret = [u8; 32];

/// A place outside the process that keeps entries.
pub trait Store: Debug + Send + Sync {
    /// Return the entry of a key, if there is one and it can be read in time.
    fn get(&self, key: &Key) -> Option<Vec<u8>>;

    /// Keep an entry. An entry that cannot be written is dropped.
    fn put(&self, key: &Key, entry: &[u8]);

    /// Return the secret that seals records. Without one, records are sealed for nobody.
    fn secret(&self) -> Option<Secret>;

    /// Return the counters of this process.
    fn counters(&self) -> &Counters;
}

/// What a process has found in a store.
#[derive(Debug, Default)]
pub struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    ignored: AtomicU64,
    foreign: AtomicU64,
}

/// The values of [`Counters`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Questions that a record has answered.
    pub hits: u64,
    /// Questions that a search had to answer.
    pub misses: u64,
    /// Records and entries that were ignored: damaged, or refused by the checker.
    pub ignored: u64,
    /// Records without a valid seal that were found. They are counted among the hits or the misses, too.
    pub foreign: u64,
}

impl Counters {
    /// Return the values.
    pub fn counts(&self) -> Counts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            hits: load(&self.hits),
            misses: load(&self.misses),
            ignored: load(&self.ignored),
            foreign: load(&self.foreign),
        }
    }

    pub(super) fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Count an entry that is ignored.
    pub fn ignore(&self) {
        self.ignored.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn meet_foreign(&self) {
        self.foreign.fetch_add(1, Ordering::Relaxed);
    }
}
