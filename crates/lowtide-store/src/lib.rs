//! Stores for the answers of a [`Session`](lowtide::session::Session), so that a graph is solved once for all
//! runs, processes and machines.
//!
//! [`open`] takes a place: a folder, the address of a shared store, or both.
//!
//! | place | store |
//! |---|---|
//! | `DIR` | the embedded store in a folder ([`Folder`]) |
//! | `redis://HOST[:PORT][/DB]` | a Redis server |
//! | `http://HOST[:PORT]/PREFIX` | a web server or object store that answers GET and PUT |
//! | `DIR,URL` | the embedded store in front of a shared one |
//!
//! Options follow a question mark: `size=2G` limits a folder, `read-only` forbids writing, and `timeout=20ms`
//! limits each request to a server.
//!
//! A store never fails for its caller. A server that does not answer in time is left alone for a while
//! ([`remote`]), and a disk that is full keeps what it has.

#![forbid(unsafe_code)]

mod archive;
mod folder;
mod http;
mod layered;
mod place;
mod redis;
pub mod remote;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use archive::{Archive, ArchiveError, write_archive};
pub use folder::{Folder, Summary};
pub use layered::Layered;
use lowtide::session::{Secret, Store};
pub use place::{Place, PlaceError, parse_size};
use thiserror::Error;

/// The environment variable with the place of a store.
pub const PLACE_VARIABLE: &str = "LOWTIDE_STORE";

/// The environment variable with the secret that the trusted writers of a shared store have in common.
pub const SECRET_VARIABLE: &str = "LOWTIDE_STORE_SECRET";

/// Why a store cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The place is not understood.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The folder cannot be used.
    #[error("cannot open the store {}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Open the store at a place. The environment variable `LOWTIDE_STORE_SECRET` replaces the secret of a
/// folder.
///
/// A server is asked when the first entry is needed. A server that is down is no error.
pub fn open(place: &str) -> Result<Arc<dyn Store>, OpenError> {
    let place: Place = place.parse()?;
    let secret = std::env::var(SECRET_VARIABLE).ok().filter(|text| !text.is_empty());
    place.open(secret.map(|text| secret_of(&text)))
}

/// Return the secret that a text stands for.
pub fn secret_of(text: &str) -> Secret {
    blake3::derive_key("lowtide 2026 secret of a store", text.as_bytes())
}
