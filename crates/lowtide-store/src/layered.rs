//! A shared store, with the embedded one in front of it.

use lowtide::session::record::merged;
use lowtide::session::{Counters, Key, Secret, Store};

use crate::folder::Folder;
use crate::remote::Remote;

/// A shared store. With a folder in front, the server is asked only for entries that the folder does not
/// have.
#[derive(Debug)]
pub struct Layered {
    front: Option<Folder>,
    remote: Remote,
    secret: Option<Secret>,
    own_counters: Counters,
}

impl Layered {
    /// Combine a folder and a server. Without a secret, that of the folder counts.
    pub fn new(front: Option<Folder>, remote: Remote, secret: Option<Secret>) -> Self {
        let secret = secret.or_else(|| front.as_ref()?.secret());
        Layered { front, remote, secret, own_counters: Counters::default() }
    }

    /// Return the server.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }
}

impl Store for Layered {
    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        if let Some(entry) = self.front.as_ref().and_then(|front| front.get(key)) {
            return Some(entry);
        }
        let entry = self.remote.get(key)?;
        if let Some(front) = &self.front {
            front.put(key, &entry);
        }
        Some(entry)
    }

    fn put(&self, key: &Key, entry: &[u8]) {
        if let Some(front) = &self.front {
            front.put(key, entry);
        }
        if self.remote.is_writable() {
            // The folder may not know what other machines have sent.
            let old = self.remote.get(key).unwrap_or_default();
            let entry = merged(key, &old, entry, self.secret.as_ref());
            if entry != old {
                self.remote.put(key, &entry);
            }
        }
    }

    fn secret(&self) -> Option<Secret> {
        self.secret
    }

    /// Those of the folder are added to its lifetime.
    fn counters(&self) -> &Counters {
        self.front.as_ref().map_or(&self.own_counters, Store::counters)
    }
}
