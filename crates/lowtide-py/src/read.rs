//! Kernels from files.
//!
//! [`Reader`] reads as the program does: the first error ends it. [`Splitter`] is for runs over many kernels
//! that must survive a bad one. It returns the lines of each kernel apart, and a kernel that cannot be read
//! is an entry with its error.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::vec;

use flate2::bufread::MultiGzDecoder;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::region::Kernel as Inner;
use lowtide_io::{KernelReader, MAX_LINE, ReadError, ShaderLanguage, read_shader};
use lowtide_tool::Failure;
use lowtide_tool::input::expand;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use crate::call::call;
use crate::region::Kernel;

type Kernels = Box<dyn Iterator<Item = Result<Inner, ReadError>> + Send>;

/// The kernels of files, one at a time.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Reader(Mutex<(vec::IntoIter<PathBuf>, Option<Kernels>)>);

/// Read kernels from a file, or from all files of a folder.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf) -> PyResult<Reader> {
    let files = call(py, false, || expand(&[path]))?.result;
    Ok(Reader(Mutex::new((files.into_iter(), None))))
}

fn open(path: &Path) -> Result<Kernels, ReadError> {
    match ShaderLanguage::of(path) {
        Some(_) => Ok(Box::new(read_shader(path)?.into_iter().map(Ok))),
        None => Ok(Box::new(KernelReader::open(path)?)),
    }
}

#[pymethods]
impl Reader {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Kernel>> {
        let next = || {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let (files, current) = &mut *state;
            loop {
                if let Some(kernel) = current.as_mut().and_then(Iterator::next) {
                    return Ok(Some(kernel?));
                }
                match files.next() {
                    Some(file) => *current = Some(open(&file)?),
                    None => return Ok(None),
                }
            }
        };
        Ok(call(py, false, next)?.result.map(Kernel::new))
    }
}

/// The fields of a line that tell which kernel it belongs to, in both formats of region files.
#[derive(Default)]
struct Head {
    kernel: String,
    origin: String,
    /// The position of the region in a dump: it separates functions without a name.
    position: Option<u64>,
}

impl Head {
    /// Read the head of a line, and nothing behind it: most of a line are its instructions. None if the line
    /// has no name of a kernel.
    fn of(line: &[u8]) -> Option<Head> {
        let mut reading = Reading::default();
        // The end of the head is an error for the parser, which expects the end of the object.
        let _ = serde_json::Deserializer::from_slice(line).deserialize_map(&mut reading);
        reading.has_name.then_some(reading.head)
    }
}

/// A head while it is read.
#[derive(Default)]
struct Reading {
    head: Head,
    has_name: bool,
    has_origin: bool,
}

impl Reading {
    /// Whether nothing in the rest of the line can matter. Lines without an origin are read to their end.
    fn is_complete(&self) -> bool {
        self.has_name && self.has_origin && (!self.head.kernel.is_empty() || self.head.position.is_some())
    }
}

impl<'de> Visitor<'de> for &mut Reading {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a region")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while !self.is_complete()
            && let Some(key) = map.next_key::<Cow<str>>()?
        {
            match &*key {
                "kernel" | "fn" => {
                    self.head.kernel = map.next_value()?;
                    self.has_name = true;
                }
                "origin" | "src" => {
                    self.head.origin = map.next_value()?;
                    self.has_origin = true;
                }
                "ri" => self.head.position = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// A kernel's lines, before they are parsed.
struct Group {
    head: Option<Head>,
    first_line: u64,
    last_line: u64,
    text: Vec<u8>,
}

/// An entry of a [`Splitter`].
struct Entry {
    name: String,
    origin: String,
    first_line: u64,
    text: Vec<u8>,
    facts: Result<Facts, String>,
}

/// What a scheduler of work needs to know of a kernel.
struct Facts {
    instrs: Vec<u32>,
    /// The number of the largest region's graph.
    key: u128,
}

/// The lines of the kernels of a file, one kernel at a time.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Splitter(Mutex<Lines>);

struct Lines {
    file: String,
    input: Box<dyn BufRead + Send>,
    line: u64,
    /// The first line of the next kernel.
    ahead: Option<Line>,
}

/// A line with its head, if it has one.
type Line = (Option<Head>, Vec<u8>);

/// Split a region file into the lines of each kernel.
#[pyfunction]
pub(crate) fn split(py: Python<'_>, path: PathBuf) -> PyResult<Splitter> {
    let lines = call(py, false, || {
        let name = path.display().to_string();
        let fail = |error: std::io::Error| ReadError {
            file: name.clone(),
            line: None,
            message: format!("cannot be read: {error}"),
        };
        let mut input = BufReader::with_capacity(1 << 18, File::open(&path).map_err(fail)?);
        let is_packed = input.fill_buf().map_err(fail)?.starts_with(&[0x1f, 0x8b]);
        let input: Box<dyn BufRead + Send> = match is_packed {
            true => Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(input))),
            false => Box::new(input),
        };
        Ok(Lines { file: name.clone(), input, line: 0, ahead: None })
    })?;
    Ok(Splitter(Mutex::new(lines.result)))
}

impl Lines {
    /// Return the next line that is not blank.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        loop {
            let mut line = Vec::new();
            let limit = MAX_LINE as u64 + 1;
            let read = self.input.by_ref().take(limit).read_until(b'\n', &mut line);
            let fail =
                |message: String| ReadError { file: self.file.clone(), line: Some(self.line + 1), message };
            match read.map_err(|error| fail(format!("cannot be read: {error}")))? {
                0 => return Ok(None),
                length if length as u64 == limit => {
                    return Err(fail(format!("longer than {MAX_LINE} bytes")));
                }
                _ => self.line += 1,
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn next_with_head(&mut self) -> Result<Option<Line>, ReadError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        let line = self.next_line()?;
        Ok(line.map(|line| (Head::of(&line), line)))
    }

    /// Return the lines of the next kernel. A line without a head is one for itself.
    fn next_group(&mut self) -> Result<Option<Group>, ReadError> {
        let Some((head, text)) = self.next_with_head()? else { return Ok(None) };
        let mut group = Group { head, first_line: self.line, last_line: self.line, text };
        let Some(mut last) = group.head.as_ref().map(|head| head.position) else { return Ok(Some(group)) };
        while let Some((next, text)) = self.next_with_head()? {
            let belongs = match (&group.head, &next) {
                (Some(own), Some(next)) => {
                    let restarts = own.kernel.is_empty() && next.position <= last;
                    (&own.kernel, &own.origin) == (&next.kernel, &next.origin) && !restarts
                }
                _ => false,
            };
            if !belongs {
                self.ahead = Some((next, text));
                return Ok(Some(group));
            }
            last = next.and_then(|next| next.position);
            if group.text.last() != Some(&b'\n') {
                group.text.push(b'\n');
            }
            group.text.extend_from_slice(&text);
            group.last_line = self.line;
        }
        Ok(Some(group))
    }

    fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        let Some(group) = self.next_group()? else { return Ok(None) };
        let Group { head, first_line, last_line, text } = group;
        let head = head.unwrap_or_default();
        // The reader names functions without a name by the line of the file, which it does not know here.
        let name = match head.kernel.is_empty() {
            true => format!("unnamed.{last_line}"),
            false => head.kernel,
        };
        let facts = parse(&text, &self.file).map_err(|error| {
            let line = error.line.map(|line| line + first_line - 1);
            ReadError { line, ..error }.to_string()
        });
        let facts = facts.map(|kernels| Facts::new(&kernels));
        Ok(Some(Entry { name, origin: head.origin, first_line, text, facts }))
    }
}

impl Facts {
    fn new(kernels: &[Inner]) -> Self {
        let regions = || kernels.iter().flat_map(|kernel| &kernel.regions);
        let largest = regions().max_by_key(|region| region.len());
        Facts {
            instrs: regions().map(|region| region.len() as u32).collect(),
            key: largest.map_or(0, fingerprint),
        }
    }
}

/// Parse the lines of kernels.
pub(crate) fn parse(text: &[u8], file: &str) -> Result<Vec<Inner>, ReadError> {
    KernelReader::from_reader(Box::new(Cursor::new(text.to_vec())), file)?.collect()
}

/// (name, origin, first line, lines, sizes of the regions, key, error)
type Row<'py> = (String, String, u64, Bound<'py, PyBytes>, Vec<u32>, String, Option<String>);

#[pymethods]
impl Splitter {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Row<'py>>> {
        let next = || {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.next_entry().map_err(Failure::from)
        };
        let entry = call(py, false, next)?.result;
        Ok(entry.map(|Entry { name, origin, first_line, text, facts }| {
            let text = PyBytes::new(py, &text);
            match facts {
                Ok(Facts { instrs, key }) => {
                    (name, origin, first_line, text, instrs, format!("{key:032x}"), None)
                }
                Err(error) => (name, origin, first_line, text, Vec::new(), String::new(), Some(error)),
            }
        }))
    }
}
