//! All entries of a store in one file, to carry them to another store.
//!
//! ```text
//! "lowtide store 1\n", then for each entry: key (32 bytes), length (4, little-endian), bytes
//! ```

use std::io::{self, Read, Write};

use lowtide::session::Key;
use thiserror::Error;

use crate::folder::Folder;

const MAGIC: &[u8; 16] = b"lowtide store 1\n";

/// The largest entry of an archive.
const MOST_BYTES: u32 = 4 << 20;

/// Why an archive cannot be read.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The file starts with something else.
    #[error("this is no file of `lowtide store export`")]
    NoArchive,
    /// The file ends within an entry, or an entry is too large.
    #[error("the file is damaged after {0} entries")]
    Damaged(u64),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Write all entries of a store. Return their number.
pub fn write_archive(
    store: &Folder,
    output: &mut impl Write,
    mut progress: impl FnMut(usize),
) -> io::Result<u64> {
    output.write_all(MAGIC)?;
    let mut written = Ok(0);
    store.for_each(|shard, key, bytes| {
        progress(shard);
        if let Ok(count) = written {
            let mut entry = || {
                output.write_all(&key)?;
                output.write_all(&(bytes.len() as u32).to_le_bytes())?;
                output.write_all(&bytes)
            };
            written = entry().map(|()| count + 1);
        }
    });
    written
}

/// The entries of an archive, one after the other.
#[derive(Debug)]
pub struct Archive<R> {
    input: R,
    count: u64,
}

impl<R: Read> Archive<R> {
    /// Read the start of an archive.
    pub fn new(mut input: R) -> Result<Self, ArchiveError> {
        let mut magic = [0; 16];
        match input.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => Ok(Archive { input, count: 0 }),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error.into()),
            _ => Err(ArchiveError::NoArchive),
        }
    }

    fn entry(&mut self) -> Result<Option<(Key, Vec<u8>)>, ArchiveError> {
        let damaged = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::Damaged(self.count),
            _ => error.into(),
        };
        let mut key = [0; 32];
        if self.input.read(&mut key[..1])? == 0 {
            return Ok(None);
        }
        self.input.read_exact(&mut key[1..]).map_err(damaged)?;
        let mut length = [0; 4];
        self.input.read_exact(&mut length).map_err(damaged)?;
        let length = u32::from_le_bytes(length);
        if length > MOST_BYTES {
            return Err(ArchiveError::Damaged(self.count));
        }
        let mut bytes = vec![0; length as usize];
        self.input.read_exact(&mut bytes).map_err(damaged)?;
        self.count += 1;
        Ok(Some((key, bytes)))
    }
}

impl<R: Read> Iterator for Archive<R> {
    type Item = Result<(Key, Vec<u8>), ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entry().transpose()
    }
}
