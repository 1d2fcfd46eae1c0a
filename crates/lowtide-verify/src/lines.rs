//! Lines of files that may be compressed.
//!
//! `cat` can join compressed and plain files, so a file is a sequence of plain parts and gzip members. A
//! member starts with the byte 0x1f, which never occurs in JSON text: each 0x1f outside a member starts one.

use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longer lines are refused before they are read in full.
pub const MAX_LINE: u64 = 64 << 20;

/// The unpacked bytes of a file.
enum Unpacked<R: BufRead> {
    Plain(R),
    Member(Box<GzDecoder<R>>),
    /// Only while the state changes.
    Moving,
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = match self {
                Self::Plain(file) => {
                    let bytes = file.fill_buf()?;
                    if bytes.is_empty() {
                        return Ok(0);
                    }
                    let count = bytes.split(|&b| b == 0x1f).next().unwrap_or_default().read(out)?;
                    file.consume(count);
                    count
                }
                Self::Member(member) => member.read(out)?,
                Self::Moving => return Ok(0),
            };
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            *self = match std::mem::replace(self, Self::Moving) {
                Self::Plain(file) => Self::Member(Box::new(GzDecoder::new(file))),
                Self::Member(member) => Self::Plain(member.into_inner()),
                Self::Moving => Self::Moving,
            };
        }
    }
}

/// Call `each` with the number, from 1, and the bytes of each line that is not blank. Errors name file and
/// line.
pub fn for_each(path: &Path, mut each: impl FnMut(u64, &[u8]) -> Result<(), String>) -> Result<(), String> {
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut reader = BufReader::new(Unpacked::Plain(BufReader::new(file)));
    let mut line = Vec::new();
    for number in 1.. {
        let at = |what: String| format!("{}:{number}: {what}", path.display());
        line.clear();
        let count =
            (&mut reader).take(MAX_LINE + 1).read_until(b'\n', &mut line).map_err(|e| at(e.to_string()))?;
        if count == 0 {
            break;
        }
        if count as u64 > MAX_LINE {
            return Err(at("the line has more than 64 MiB".into()));
        }
        if !line.trim_ascii().is_empty() {
            each(number, &line).map_err(at)?;
        }
    }
    Ok(())
}

/// List `path` itself, or for a folder all `*.jsonl` and `*.jsonl.gz` below it, sorted. Links to folders are
/// not followed.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let (mut folders, mut found) = (vec![path.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        let error = |e: io::Error| format!("{}: {e}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(error)? {
            let entry = entry.map_err(error)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().map_err(error)?.is_dir() {
                folders.push(path);
            } else if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) && path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("{}: no *.jsonl or *.jsonl.gz in this folder", path.display()));
    }
    Ok(found)
}
