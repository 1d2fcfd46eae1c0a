//! One reader for all region files: lines (plain or gzip, own format or LLVM dump) with one kernel in memory
//! at a time, or Parquet.

use std::fs::File;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lowtide::region::{Kernel, Region, RegionBuilder};
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::Deserialize;
use smallvec::SmallVec;

use crate::columnar::ParquetKernels;
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

/// Reads the kernels of a file, one after the other. Memory holds one kernel at a time, or one row group of a
/// Parquet file.
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
    source: Source,
    /// The last line (or the row) of each complete kernel, by a hash of its name.
    complete: FxHashMap<u128, u64>,
    started: bool,
    failed: bool,
}

enum Source {
    Lines(Box<LineKernels>),
    Parquet(Box<ParquetKernels>),
}

/// Reads kernels from lines.
struct LineKernels {
    lines: Lines,
    dumps: DumpReader,
    /// For lines of the own format. It keeps its memory from line to line.
    builder: RegionBuilder,
    /// The first region of the next kernel.
    ahead: Option<Entry>,
}

impl KernelReader {
    /// Open a file; `-` is the standard input.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        KernelReader::open_counted(path, Arc::default(), 1)
    }

    /// Open a file; `-` is the standard input. `read` grows by the bytes that have been read. A Parquet file
    /// is read on up to `threads` threads.
    pub fn open_counted(path: &Path, read: Arc<AtomicU64>, threads: usize) -> Result<Self, ReadError> {
        if path == Path::new("-") {
            return KernelReader::from_reader(Box::new(std::io::stdin()), "<stdin>");
        }
        let (name, mut file) = Lines::open_file(path)?;
        // Parquet files are described at their end, so a pipe cannot be read as it comes.
        if file.metadata().is_ok_and(|data| data.is_file()) {
            let mut start = Vec::new();
            let sniffed = file.by_ref().take(PARQUET.len() as u64).read_to_end(&mut start);
            sniffed.and_then(|_| file.rewind()).map_err(|error| ReadError {
                file: name.clone(),
                line: None,
                message: format!("cannot be read: {error}"),
            })?;
            if start == PARQUET {
                let kernels = ParquetKernels::open(file, &name, read, threads)?;
                return Ok(KernelReader::of(Source::Parquet(Box::new(kernels))));
            }
        }
        KernelReader::new(Lines::from_reader(Box::new(Counted { file, read }), name)?)
    }

    /// Read from any source; `name` is for messages. A Parquet file is first copied to a temporary file.
    pub fn from_reader(input: Box<dyn Read + Send>, name: &str) -> Result<Self, ReadError> {
        KernelReader::new(Lines::from_reader(input, name.to_string())?)
    }

    fn new(mut lines: Lines) -> Result<Self, ReadError> {
        if !lines.starts_with(PARQUET) {
            let lines = LineKernels {
                lines,
                dumps: DumpReader::new(),
                builder: RegionBuilder::default(),
                ahead: None,
            };
            return Ok(KernelReader::of(Source::Lines(Box::new(lines))));
        }
        let cannot = lines.file_error("cannot be read");
        let name = cannot.file.clone();
        let copy = tempfile::tempfile().and_then(|mut file| {
            std::io::copy(&mut lines.into_rest(), &mut file)?;
            Ok(file)
        });
        let fail = |error| ReadError { message: format!("cannot be read: {error}"), ..cannot };
        let kernels = ParquetKernels::open(copy.map_err(fail)?, &name, Arc::default(), 1)?;
        Ok(KernelReader::of(Source::Parquet(Box::new(kernels))))
    }

    fn of(source: Source) -> Self {
        KernelReader { source, complete: FxHashMap::default(), started: false, failed: false }
    }

    fn next_kernel(&mut self) -> Result<Option<Kernel>, ReadError> {
        let kernel = match &mut self.source {
            Source::Lines(lines) => lines.next_kernel(&self.complete)?,
            Source::Parquet(rows) => match rows.next_kernel()? {
                None => None,
                Some((mut kernel, row)) => {
                    if kernel.name.is_empty() {
                        kernel.name = format!("unnamed.{row}");
                    }
                    let Kernel { name, origin, .. } = &kernel;
                    if let Some(first) = self.complete.get(&kernel_number(name, origin)) {
                        let message = format!("kernel {name:?} is already in row {first}");
                        return Err(rows.row_error(row, message));
                    }
                    Some((kernel, row))
                }
            },
        };
        let Some((kernel, last)) = kernel else {
            if self.started {
                return Ok(None);
            }
            const EMPTY: &str = "contains no regions";
            return Err(match &self.source {
                Source::Lines(lines) => lines.lines.file_error(EMPTY),
                Source::Parquet(rows) => rows.file_error(EMPTY.to_string()),
            });
        };
        self.started = true;
        self.complete.insert(kernel_number(&kernel.name, &kernel.origin), last);
        Ok(Some(kernel))
    }
}

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl LineKernels {
    fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(None);
        };
        let entry = match format_of(line) {
            Ok(Format::Own) => region_file::parse_line(line, &mut self.builder),
            Ok(Format::LlvmDump) => self.dumps.parse_line(line),
            Err(message) => Err(message),
        };
        entry.map(Some).map_err(|message| self.lines.error(message))
    }

    /// Return the next kernel with its last line. `complete` has the last line of each kernel before.
    fn next_kernel(&mut self, complete: &FxHashMap<u128, u64>) -> Result<Option<(Kernel, u64)>, ReadError> {
        let first = match self.ahead.take() {
            Some(entry) => Some(entry),
            None => self.next_entry()?,
        };
        let Some(first) = first else {
            return Ok(None);
        };
        let mut last = self.lines.line_number();
        let mut header = first.kernel;
        let mut position = first.position;
        let unnamed = header.name.is_empty();
        // The regions by a hash of their names. Regions with the same hash are compared.
        let mut names: FxHashMap<u64, SmallVec<[u32; 1]>> = FxHashMap::default();
        names.entry(region_number(&first.region)).or_default().push(0);
        let mut regions = vec![first.region];
        while let Some(entry) = self.next_entry()? {
            let KernelHeader { name, origin, .. } = &entry.kernel;
            let restarts = unnamed && entry.position <= position;
            if (name, origin) != (&header.name, &header.origin) || restarts {
                if !name.is_empty()
                    && let Some(line) = complete.get(&kernel_number(name, origin))
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
            let alike = names.entry(region_number(&entry.region)).or_default();
            if alike.iter().any(|&other| regions[other as usize].name() == entry.region.name()) {
                return Err(self
                    .lines
                    .error(format!("region {:?} of kernel {name:?} appears twice", entry.region.name())));
            }
            alike.push(regions.len() as u32);
            regions.push(entry.region);
            position = entry.position;
            last = self.lines.line_number();
        }
        if unnamed {
            header.name = format!("unnamed.{last}").into();
        }
        Ok(Some((header.with_regions(regions), last)))
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

/// Return a hash of the name of a region.
fn region_number(region: &Region) -> u64 {
    FxBuildHasher.hash_one(region.name())
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
