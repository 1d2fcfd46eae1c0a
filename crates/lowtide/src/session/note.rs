//! Notes of a compiler in the store of a session: bytes by key, which mean nothing to this library.
//!
//! A compiler keeps here what it has decided about whole functions. Only notes with the seal of the store are
//! read: nothing else could verify them.

use super::Session;
use super::record::{self, Origin, Question, Record};
use super::store::Key;

/// A note is the only record of its entry.
const QUESTION: Question = [0; 16];

/// Records start with a budget. A later note replaces an earlier one.
const BUDGET: u8 = 0;

impl Session {
    /// Return the note for a key, if the store has one that a program with its secret has written.
    pub fn note(&self, key: &[u8]) -> Option<Vec<u8>> {
        let store = self.store()?;
        let key = place(key);
        let (records, _) = record::read(&store.get(&key)?);
        let secret = store.secret();
        let note = records.into_iter().find(|record| record.question == QUESTION)?;
        match (note.origin(&key, secret.as_ref()), note.body.split_first()) {
            (Origin::Own, Some((&BUDGET, text))) => Some(text.to_vec()),
            (Origin::Own | Origin::Damaged, _) => {
                store.counters().ignore();
                None
            }
            (Origin::Foreign, _) => {
                store.counters().meet_foreign();
                None
            }
        }
    }

    /// Keep a note in the store, if there is one, instead of an earlier note for the key.
    pub fn keep_note(&self, key: &[u8], note: &[u8]) {
        let Some(store) = self.store() else { return };
        let key = place(key);
        let body = [&[BUDGET], note].concat();
        let record = Record::new(&key, QUESTION, body, store.secret().as_ref());
        store.put(&key, &record::write(&[record]));
    }
}

fn place(key: &[u8]) -> Key {
    let mut hasher = blake3::Hasher::new_derive_key("lowtide 2026 key of a note of a compiler");
    hasher.update(key);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::session::{Counters, Secret, Store};

    #[derive(Debug, Default)]
    struct Shelf {
        entries: Mutex<Vec<(Key, Vec<u8>)>>,
        counters: Counters,
    }

    #[derive(Debug)]
    struct Door(Arc<Shelf>, Option<Secret>);

    impl Store for Door {
        fn get(&self, key: &Key) -> Option<Vec<u8>> {
            let entries = self.0.entries.lock().unwrap();
            entries.iter().rev().find(|(own, _)| own == key).map(|(_, entry)| entry.clone())
        }
        fn put(&self, key: &Key, entry: &[u8]) {
            self.0.entries.lock().unwrap().push((*key, entry.to_vec()));
        }
        fn secret(&self) -> Option<Secret> {
            self.1
        }
        fn counters(&self) -> &Counters {
            &self.0.counters
        }
    }

    #[test]
    fn only_notes_with_the_seal_of_the_store_are_read() {
        let shelf = Arc::new(Shelf::default());
        let with = |secret: Option<Secret>| Session::with_store(Arc::new(Door(Arc::clone(&shelf), secret)));
        let own = with(Some([1; 32]));
        assert_eq!(own.note(b"f"), None);
        own.keep_note(b"f", b"first");
        own.keep_note(b"f", b"second");
        own.keep_note(b"g", b"");
        assert_eq!(own.note(b"f").as_deref(), Some(&b"second"[..]));
        assert_eq!((own.note(b"g").as_deref(), own.note(b"h")), (Some(&b""[..]), None));
        for other in [with(Some([2; 32])), with(None)] {
            assert_eq!(other.note(b"f"), None);
            other.keep_note(b"x", b"theirs");
            assert_eq!(own.note(b"x"), None);
        }
        let mut intact = 0;
        for byte in 0..own.store().unwrap().get(&place(b"f")).unwrap().len() {
            let mut entry = own.store().unwrap().get(&place(b"f")).unwrap();
            entry[byte] ^= 4;
            own.store().unwrap().put(&place(b"f"), &entry);
            // The seal alone decides, so that a damaged checksum is harmless.
            let found = own.note(b"f");
            assert!(found.is_none() || found.as_deref() == Some(b"second"), "byte {byte}");
            intact += u32::from(found.is_some());
            entry[byte] ^= 4;
            own.store().unwrap().put(&place(b"f"), &entry);
        }
        assert_eq!((own.note(b"f").as_deref(), intact), (Some(&b"second"[..]), 8));
        assert_eq!(Session::new().note(b"f"), None);
    }
}
