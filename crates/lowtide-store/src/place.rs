//! The place of a store, as a user states it.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use lowtide::session::{Secret, Store};
use thiserror::Error;

use crate::OpenError;
use crate::folder::{DEFAULT_SIZE, Folder};
use crate::http::Http;
use crate::layered::Layered;
use crate::redis::Redis;
use crate::remote::{Remote, Server};

/// The time for a request to a server, without an option.
const DEFAULT_TIMEOUT: Duration = Duration::from_millis(50);

/// The place of a store: a folder, a server, or a folder in front of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    folder: Option<FolderPlace>,
    server: Option<ServerPlace>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct FolderPlace {
    path: PathBuf,
    size: u64,
    is_read_only: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ServerPlace {
    kind: ServerKind,
    /// Host and port.
    address: String,
    /// The path after the host, without slashes at its ends.
    path: String,
    timeout: Duration,
    is_read_only: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServerKind {
    Redis,
    Http,
}

/// Why a place is not understood.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PlaceError {
    /// There is nothing to open.
    #[error("the place of the store is empty: name a folder, redis://HOST or http://HOST/PREFIX")]
    Empty,
    /// Only one folder and one server can be combined.
    #[error(
        "{0:?} is no store: name a folder, a server, or a folder and a server, with a comma between them"
    )]
    TooMany(String),
    /// The scheme of an address is unknown.
    #[error("{0:?} is no address of a store: use redis://HOST[:PORT][/DB] or http://HOST[:PORT]/PREFIX")]
    Scheme(String),
    /// An option is unknown or has a bad value.
    #[error("{0:?} is no option of this store: use {1}")]
    Option(String, &'static str),
}

impl Place {
    /// Return the folder of the place, if it has one.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_ref().map(|folder| folder.path.as_path())
    }

    /// Open the store. A secret replaces that of the folder.
    pub fn open(&self, secret: Option<Secret>) -> Result<Arc<dyn Store>, OpenError> {
        let folder = self.folder.as_ref().map(|folder| folder.open(secret)).transpose()?;
        let server = self.server.as_ref().map(ServerPlace::open);
        Ok(match (folder, server) {
            (Some(folder), None) => Arc::new(folder),
            (folder, Some(server)) => Arc::new(Layered::new(folder, server, secret)),
            (None, None) => return Err(PlaceError::Empty.into()),
        })
    }

    /// Open the folder of the place alone.
    pub fn open_folder(&self, secret: Option<Secret>) -> Result<Option<Folder>, OpenError> {
        self.folder.as_ref().map(|folder| folder.open(secret)).transpose()
    }
}

impl FolderPlace {
    fn open(&self, secret: Option<Secret>) -> Result<Folder, OpenError> {
        let folder = match self.is_read_only {
            true => Folder::open_read_only(&self.path),
            false => Folder::open(&self.path),
        };
        let folder = folder.map_err(|error| OpenError::Folder { path: self.path.clone(), error })?;
        let folder = folder.limited_to(self.size);
        Ok(match secret {
            Some(secret) => folder.with_secret(secret),
            None => folder,
        })
    }
}

impl ServerPlace {
    fn open(&self) -> Remote {
        let ServerPlace { kind, address, path, timeout, is_read_only } = self.clone();
        let server: Box<dyn Server> = match kind {
            ServerKind::Redis => Box::new(Redis::new(address, path, timeout)),
            ServerKind::Http => Box::new(Http::new(address, path, timeout)),
        };
        Remote::new(server, is_read_only)
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let mut place = Place { folder: None, server: None };
        for part in text.split(',') {
            let is_first = match part.contains("://") {
                true => place.server.replace(server(part)?).is_none(),
                false => place.folder.replace(folder(part)?).is_none() && place.server.is_none(),
            };
            if !is_first {
                return Err(PlaceError::TooMany(text.to_string()));
            }
        }
        Ok(place)
    }
}

/// An address without its options, and the options.
fn options(text: &str) -> (&str, impl Iterator<Item = (&str, &str)>) {
    let (place, options) = text.split_once('?').unwrap_or((text, ""));
    let options = options.split('&').filter(|option| !option.is_empty());
    (place, options.map(|option| option.split_once('=').unwrap_or((option, ""))))
}

fn folder(text: &str) -> Result<FolderPlace, PlaceError> {
    let (path, options) = options(text);
    if path.is_empty() {
        return Err(PlaceError::Empty);
    }
    let mut folder = FolderPlace { path: path.into(), size: DEFAULT_SIZE, is_read_only: false };
    for (name, value) in options {
        match (name, parse_size(value)) {
            ("read-only", _) if value.is_empty() => folder.is_read_only = true,
            ("size", Some(size)) => folder.size = size,
            _ => return Err(PlaceError::Option(name.to_string(), "size=2G (K, M or G) or read-only")),
        }
    }
    Ok(folder)
}

fn server(text: &str) -> Result<ServerPlace, PlaceError> {
    let unknown = || PlaceError::Scheme(text.to_string());
    let (place, options) = options(text);
    let (scheme, rest) = place.split_once("://").ok_or_else(unknown)?;
    let (kind, port) = match scheme {
        "redis" => (ServerKind::Redis, 6379),
        "http" => (ServerKind::Http, 80),
        _ => return Err(unknown()),
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.trim_matches('/').to_string();
    // Both end up in the head of a request.
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if host.is_empty() || host.contains('@') || !is_plain(host) || !is_plain(&path) {
        return Err(unknown());
    }
    if kind == ServerKind::Redis && !path.is_empty() && path.parse::<u16>().is_err() {
        return Err(unknown());
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_string() } else { format!("{host}:{port}") };
    let mut server = ServerPlace { kind, address, path, timeout: DEFAULT_TIMEOUT, is_read_only: false };
    for (name, value) in options {
        match (name, parse_milliseconds(value)) {
            ("read-only", _) if value.is_empty() => server.is_read_only = true,
            ("timeout", Some(timeout)) => server.timeout = timeout,
            _ => return Err(PlaceError::Option(name.to_string(), "timeout=50ms or read-only")),
        }
    }
    Ok(server)
}

fn parse_milliseconds(text: &str) -> Option<Duration> {
    let number: u64 = text.strip_suffix("ms")?.parse().ok()?;
    (1..=60_000).contains(&number).then(|| Duration::from_millis(number))
}

/// Parse a size in bytes, or with a unit: `512K`, `100M`, `2G`.
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().last()? {
        (at, 'K') => (&text[..at], 1 << 10),
        (at, 'M') => (&text[..at], 1 << 20),
        (at, 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_folders_servers_or_both() {
        let place: Place = "cache?size=3M&read-only,redis://farm/2?timeout=7ms".parse().unwrap();
        assert_eq!(
            place.folder,
            Some(FolderPlace { path: "cache".into(), size: 3 << 20, is_read_only: true })
        );
        assert_eq!(
            place.server,
            Some(ServerPlace {
                kind: ServerKind::Redis,
                address: "farm:6379".into(),
                path: "2".into(),
                timeout: Duration::from_millis(7),
                is_read_only: false
            })
        );
        let place: Place = "http://127.0.0.1:8080/some/prefix/?read-only".parse().unwrap();
        let server = place.server.unwrap();
        assert_eq!((server.address.as_str(), server.path.as_str()), ("127.0.0.1:8080", "some/prefix"));
        assert!(server.is_read_only && place.folder.is_none());
    }

    #[test]
    fn wrong_places_are_refused_with_a_reason() {
        let message = |text: &str| text.parse::<Place>().unwrap_err().to_string();
        assert!(message("").starts_with("the place of the store is empty"));
        assert!(
            message("https://host/x").starts_with("\"https://host/x\" is no address of a store: use redis")
        );
        for bad in ["redis://", "redis://host/x", "http://me:secret@host/x", "http://host/a b", "ftp://x"] {
            assert!(message(bad).contains("is no address of a store"), "{bad}");
        }
        for bad in ["a,b", "redis://a,b", "a,redis://b,redis://c"] {
            assert!(message(bad).contains("with a comma between them"), "{bad}");
        }
        for bad in
            ["a?size=", "a?size=x", "a?timeout=5ms", "redis://a?timeout=5s", "redis://a?timeout=0ms", "a?x"]
        {
            assert!(message(bad).contains("is no option of this store"), "{bad}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            ["7", "2K", "3M", "1G"].map(parse_size),
            [Some(7), Some(2048), Some(3 << 20), Some(1 << 30)]
        );
        assert_eq!(["", "K", "-1", "1T", "99999999999999999999G"].map(parse_size), [None; 5]);
    }
}
