//! Answers by question, each found once, however many threads ask.

use std::cell::Cell;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::progress::SearchLog;

/// Answers by question. The lock is held only to find the place of an answer, not while the answer is sought.
/// A second thread with the same question waits for the first. All others go on.
#[derive(Debug)]
pub(crate) struct Memo<Key, Value>(Mutex<FxHashMap<Key, Arc<OnceLock<Value>>>>);

impl<Key, Value> Default for Memo<Key, Value> {
    fn default() -> Self {
        Memo(Mutex::default())
    }
}

impl<Key: Eq + Hash, Value: Clone> Memo<Key, Value> {
    /// The answer to a question, from `find` if nobody has asked before.
    pub(crate) fn get(&self, key: Key, find: impl FnOnce() -> Value) -> Value {
        let place = Arc::clone(lock(&self.0).entry(key).or_default());
        place.get_or_init(find).clone()
    }

    /// Whether a question has been answered.
    pub(crate) fn has(&self, key: &Key) -> bool {
        lock(&self.0).get(key).is_some_and(|place| place.get().is_some())
    }
}

impl<Key: Eq + Hash, T: Clone> Memo<Key, Answer<T>> {
    /// As [`Memo::get`]; the answer says whether another region had asked before.
    pub(crate) fn ask(&self, key: Key, find: impl FnOnce() -> Answer<T>) -> Answer<T> {
        let is_new = Cell::new(false);
        let mut answer = self.get(key, || {
            is_new.set(true);
            find()
        });
        answer.taken.is_copied |= !is_new.get();
        answer
    }
}

/// Data behind a lock is complete at every moment, even if a thread has panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An answer, its price, and the log of the search that found it.
#[derive(Clone, Debug)]
pub(crate) struct Answer<T> {
    pub(crate) answer: T,
    pub(crate) taken: Taken,
    pub(crate) log: Option<SearchLog>,
}

/// The price of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) nodes: u64,
    pub(crate) time: Duration,
    /// Whether it was paid for another region, or in an earlier run.
    pub(crate) is_copied: bool,
}
