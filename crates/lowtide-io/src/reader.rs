//! One reader for all region files: plain or gzip, own format or LLVM dump, one kernel in memory at a time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use lowtide::region::{Kernel, Region};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::lines::Lines;
use crate::llvm_dump::DumpReader;
use crate::{ReadError, llvm_dump, region_file};

/// The fields of a line about its kernel. Lines may share the texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KernelHeader {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Arc<str>,
    pub(crate) target: Option<Arc<str>>,
    pub(crate) is_entry: bool,
    pub(crate) max_occupancy: Option<u32>,
}

impl KernelHeader {
    fn with_regions(self, regions: Vec<Region>) -> Kernel {
        let KernelHeader { name, origin, target, is_entry, max_occupancy } = self;
        Kernel {
            name: name.to_string(),
            origin: origin.to_string(),
            target: target.as_deref().map(str::to_string),
            is_entry,
            max_occupancy,
            regions,
        }
    }
}

/// The content of a line.
pub(crate) struct Entry {
    pub(crate) kernel: KernelHeader,
    pub(crate) region: Region,
    /// The position of the region in its function, if the format has one. It separates functions without a
    /// name.
    pub(crate) position: Option<u32>,
}

/// Reads the kernels of a file, one after the other. Memory holds one kernel at a time.
///
/// ```
/// let line = r#"{"lowtide":1,"kernel":"k","region":"r","classes":["vgpr"],
///     "registers":[{"name":"a","class":"vgpr"}],
///     "instructions":[{"op":"load","latency":80,"defs":["a"]},{"op":"store","latency":1,"uses":["a"]}],
///     "deps":[[0,1,"data",80]]}"#.replace('\n', "");
/// let reader = lowtide_io::KernelReader::from_reader(Box::new(std::io::Cursor::new(line)), "example")?;
/// let kernels = reader.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(kernels[0].regions[0].len(), 2);
/// # Ok::<(), lowtide_io::ReadError>(())
/// ```
pub struct KernelReader {
    lines: Lines,
    dumps: DumpReader,
    /// The first region of the next kernel.
    ahead: Option<Entry>,
    /// The last line of each complete kernel, by a hash of its name.
    complete: FxHashMap<u128, u64>,
    started: bool,
    failed: bool,
}

impl KernelReader {
    /// Open a file; `-` is the standard input.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path == Path::new("-") {
            return KernelReader::from_reader(Box::new(std::io::stdin()), "<stdin>");
        }
        Ok(KernelReader::new(Lines::open(path)?))
    }

    /// Read from any source; `name` is for messages.
    pub fn from_reader(input: Box<dyn Read + Send>, name: &str) -> Result<Self, ReadError> {
        Ok(KernelReader::new(Lines::from_reader(input, name.to_string())?))
    }

    fn new(lines: Lines) -> Self {
        KernelReader {
            lines,
            dumps: DumpReader::new(),
            ahead: None,
            complete: FxHashMap::default(),
            started: false,
            failed: false,
        }
    }

    fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(None);
        };
        let entry = match format_of(line) {
            Ok(Format::Own) => region_file::parse_line(line),
            Ok(Format::LlvmDump) => self.dumps.parse_line(line),
            Err(message) => Err(message),
        };
        entry.map(Some).map_err(|message| self.lines.error(message))
    }

    fn next_kernel(&mut self) -> Result<Option<Kernel>, ReadError> {
        let first = match self.ahead.take() {
            Some(entry) => Some(entry),
            None => self.next_entry()?,
        };
        let Some(first) = first else {
            if !self.started {
                return Err(self.lines.file_error("contains no regions"));
            }
            return Ok(None);
        };
        self.started = true;
        let mut last = self.lines.line_number();
        let mut header = first.kernel;
        let mut position = first.position;
        let unnamed = header.name.is_empty();
        let mut names = FxHashSet::default();
        names.insert(first.region.name().to_string());
        let mut regions = vec![first.region];
        while let Some(entry) = self.next_entry()? {
            let KernelHeader { name, origin, .. } = &entry.kernel;
            let restarts = unnamed && entry.position <= position;
            if (name, origin) != (&header.name, &header.origin) || restarts {
                if !name.is_empty()
                    && let Some(line) = self.complete.get(&kernel_number(name, origin))
                {
                    return Err(self.lines.error(format!(
                        "kernel {name:?} already ended at line {line}: the regions of a kernel must stand together"
                    )));
                }
                self.ahead = Some(entry);
                break;
            }
            if entry.kernel != header {
                return Err(self.lines.error(format!(
                    "kernel {name:?}: target, entry or max_occupancy differ from its line before"
                )));
            }
            if !names.insert(entry.region.name().to_string()) {
                return Err(self
                    .lines
                    .error(format!("region {:?} of kernel {name:?} appears twice", entry.region.name())));
            }
            regions.push(entry.region);
            position = entry.position;
            last = self.lines.line_number();
        }
        if unnamed {
            header.name = format!("unnamed.{last}").into();
        }
        self.complete.insert(kernel_number(&header.name, &header.origin), last);
        Ok(Some(header.with_regions(regions)))
    }
}

impl Iterator for KernelReader {
    type Item = Result<Kernel, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let result = self.next_kernel().transpose();
        self.failed = matches!(result, Some(Err(_)));
        result
    }
}

/// Return a 128-bit hash of a kernel's name and origin. Storing the names would take memory that grows with
/// the file.
fn kernel_number(name: &str, origin: &str) -> u128 {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, name, origin).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    hash(0) << 64 | hash(1)
}

enum Format {
    Own,
    LlvmDump,
}

/// Recognise the format of a line by the key of its version.
fn format_of(line: &str) -> Result<Format, String> {
    // The prefixes that the writers use, to avoid parsing the line twice.
    if line.starts_with("{\"lowtide\":1,") {
        return Ok(Format::Own);
    }
    if line.starts_with("{\"v\":1,") {
        return Ok(Format::LlvmDump);
    }
    #[derive(Deserialize)]
    struct Versions {
        lowtide: Option<serde_json::Value>,
        v: Option<serde_json::Value>,
    }
    let Versions { lowtide, v } = crate::json::parse(line)?;
    match (lowtide, v) {
        (Some(version), _) if version == region_file::VERSION => Ok(Format::Own),
        (Some(version), _) => Err(format!(
            "unknown format version {version} (this program reads version {})",
            region_file::VERSION
        )),
        (None, Some(version)) if version == llvm_dump::VERSION => Ok(Format::LlvmDump),
        (None, Some(version)) => Err(format!(
            "unknown version {version} of an LLVM dump (this program reads version {})",
            llvm_dump::VERSION
        )),
        (None, None) => Err("not a region: neither \"lowtide\" nor \"v\" gives a format version".to_string()),
    }
}
