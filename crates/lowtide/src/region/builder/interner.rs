//! Equal names as one number: a region has many instructions and few operations.

use rustc_hash::FxHashMap;

use crate::index::Names;

/// Names with a small number for each distinct one.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    pub(super) names: Names,
    /// The first name of each hash. Filled once there are too many names to compare one by one.
    by_hash: FxHashMap<u64, u32>,
}

impl Interner {
    /// Up to this number, names are compared one by one.
    pub(super) const FEW: usize = 12;

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.by_hash.clear();
    }

    /// Return the number of a name, new or known.
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if self.names.len() <= Self::FEW {
            if let Some(number) = self.names.find(text) {
                return number as u32;
            }
            if self.names.len() == Self::FEW {
                for (number, name) in self.names.iter().enumerate() {
                    self.by_hash.entry(hash(name)).or_insert(number as u32);
                }
            }
        }
        if self.names.len() < Self::FEW {
            return self.names.push(text) as u32;
        }
        let number = *self.by_hash.entry(hash(text)).or_insert(self.names.len() as u32);
        if number as usize == self.names.len() {
            self.names.push(text);
        } else if self.names.get(number as usize) != text {
            // Two names with one hash: rare enough for a search.
            let found = self.names.find(text);
            return found.unwrap_or_else(|| self.names.push(text)) as u32;
        }
        number
    }
}

pub(super) fn hash<T: std::hash::Hash + ?Sized>(what: &T) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault};
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(what)
}
