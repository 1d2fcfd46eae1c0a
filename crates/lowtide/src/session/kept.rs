//! The records of a graph: read from a store with the first question, and written when a region is done.

use std::sync::{Arc, Mutex, OnceLock};

use super::memo::lock;
use super::record::{self, Origin, Question, Record};
use super::store::{Counters, Key, Store};
use crate::analysis::fingerprint::Words;

/// The version of what answers mean. A change of an algorithm that changes answers under a budget of steps
/// raises it.
const MEANING: u32 = 15;

/// The records of one graph on one target.
#[derive(Debug)]
pub(super) struct Kept {
    key: Key,
    store: Arc<dyn Store>,
    /// Read from the store with the first question.
    state: OnceLock<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    records: Vec<Record>,
    is_changed: bool,
}

impl Kept {
    /// The records of a graph and the relevant part of a target, given as words.
    pub(super) fn new(words: &Words, store: &Arc<dyn Store>) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("lowtide 2026 key of a graph on a target");
        hasher.update(&MEANING.to_le_bytes());
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes()).update(&[0]);
        hasher.update(&words.to_bytes());
        Kept { key: *hasher.finalize().as_bytes(), store: Arc::clone(store), state: OnceLock::new() }
    }

    /// The counters of the store.
    pub(super) fn counters(&self) -> &Counters {
        self.store.counters()
    }

    fn state(&self) -> &Mutex<State> {
        self.state.get_or_init(|| {
            let entry = self.store.get(&self.key);
            let (records, is_damaged) = entry.map_or((Vec::new(), false), |entry| record::read(&entry));
            if is_damaged {
                self.store.counters().ignore();
            }
            // A damaged entry is written again without the damage, so that it is ignored once.
            Mutex::new(State { records, is_changed: is_damaged })
        })
    }

    /// The record for a question, with its origin.
    pub(super) fn find(&self, question: &Question) -> Option<(Vec<u8>, Origin)> {
        let state = lock(self.state());
        let record = state.records.iter().find(|record| record.question == *question)?;
        let origin = record.origin(&self.key, self.store.secret().as_ref());
        Some((record.body.clone(), origin))
    }

    pub(super) fn keep(&self, question: Question, body: Vec<u8>) {
        let record = Record::new(&self.key, question, body, self.store.secret().as_ref());
        let mut state = lock(self.state());
        state.records.retain(|other| other.question != question);
        state.records.push(record);
        state.is_changed = true;
    }

    /// Writes new records to the store, together with those that other processes have written meanwhile.
    fn flush(&self) {
        let Some(state) = self.state.get() else { return };
        let mut state = lock(state);
        if std::mem::take(&mut state.is_changed) {
            let new = record::write(&state.records);
            let old = self.store.get(&self.key).unwrap_or_default();
            self.store.put(&self.key, &record::merged(&self.key, &old, &new, self.store.secret().as_ref()));
        }
    }
}

/// Writes the new records of a graph when the last question of a region is answered.
#[derive(Debug)]
pub(super) struct FlushOnDrop(pub(super) Arc<super::Answers>);

impl Drop for FlushOnDrop {
    fn drop(&mut self) {
        if let Some(kept) = &self.0.kept {
            kept.flush();
        }
    }
}
