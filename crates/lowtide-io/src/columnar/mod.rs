//! Parquet files: kernels in and out, and results out. `docs/region-format.md` describes the columns.
//!
//! Files are read and written by row groups, so memory does not grow with the file. [`read_ahead`] reads
//! several row groups at the same time. A reader trusts no size that a file claims ([`limits`]). The columns
//! can come in any order, can be nullable, and can be compressed with zstd or Snappy, as other programs write
//! them.

mod columns;
mod kernel_writer;
mod kernels;
mod limits;
mod pages;
mod read_ahead;
mod result_writer;
mod schema;
mod table;
mod thrift;

pub use kernel_writer::KernelFileWriter;
pub use result_writer::ResultFileWriter;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use lowtide::region::Kernel;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use crate::ReadError;
use read_ahead::{Fault, RowGroups, Rows};

/// The version of both schemas, which files carry under the key `lowtide`.
const VERSION: &str = "1";

/// The first and the last bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Reads the kernels of a Parquet file. Memory holds one row group for each thread.
pub(crate) struct ParquetKernels {
    name: String,
    rows: Rows,
    row: u64,
}

impl ParquetKernels {
    /// Read the footer of a file; `name` is for messages. `read` grows with the bytes read.
    pub(crate) fn open(
        mut file: File,
        name: &str,
        read: Arc<AtomicU64>,
        threads: usize,
    ) -> Result<Self, ReadError> {
        let fail = |message: String| ReadError { file: name.to_string(), line: None, message };
        let length = file.metadata().map_err(|error| fail(format!("cannot be read: {error}")))?.len();
        let metadata = guarded(|| footer(&mut file, length)).map_err(fail)?;
        let about = metadata.file_metadata();
        let version = about.key_value_metadata().into_iter().flatten().find(|pair| pair.key == "lowtide");
        let version = version.and_then(|pair| pair.value.as_deref()).unwrap_or(VERSION);
        if version != VERSION {
            return Err(fail(format!(
                "has version {version:?} of the columns: this program reads version {VERSION}"
            )));
        }
        let leaves = schema::leaves(about.schema()).map_err(|message| fail(no_kernels(&message)))?;
        let missing = ["kernel", "origin", "target", "entry", "max_occupancy", "regions.region"];
        if let Some(path) = missing.iter().find(|path| !leaves.contains_key(**path)) {
            return Err(fail(no_kernels(&format!("column {path:?} is missing"))));
        }
        let rows = Rows::new(RowGroups { file: Mutex::new(file), length, metadata, leaves, read }, threads);
        Ok(ParquetKernels { name: name.to_string(), rows, row: 0 })
    }

    /// Return the next kernel with its row, counted from 1.
    pub(crate) fn next_kernel(&mut self) -> Result<Option<(Kernel, u64)>, ReadError> {
        match self.rows.next() {
            None => Ok(None),
            Some(Err(Fault::OfFile(message))) => Err(self.file_error(message)),
            Some(Err(Fault::OfRow(message))) => Err(self.row_error(self.row + 1, message)),
            Some(Ok(kernel)) => {
                self.row += 1;
                Ok(Some((kernel, self.row)))
            }
        }
    }

    /// Make an error at a row.
    pub(crate) fn row_error(&self, row: u64, message: String) -> ReadError {
        ReadError { file: self.name.clone(), line: Some(row), message }
    }

    /// Make an error about the whole file.
    pub(crate) fn file_error(&self, message: String) -> ReadError {
        // Errors of columns do not start with a verb.
        let message = match message.starts_with("column ") {
            true => format!("is damaged, or has no kernels of this version: {message}"),
            false => message,
        };
        ReadError { file: self.name.clone(), line: None, message }
    }
}

fn no_kernels(message: &str) -> String {
    format!("is a Parquet file, but not one of kernels: {message}")
}

/// Read the description of a file at its end.
fn footer(file: &mut File, length: u64) -> Result<ParquetMetaData, String> {
    let truncated = || "is truncated or no Parquet file: its footer is missing".to_string();
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let ends = MAGIC.len() as u64;
    let tail_start = length.checked_sub(4 + ends).filter(|start| *start >= ends).ok_or_else(truncated)?;
    let mut tail = [0; 8];
    file.seek(SeekFrom::Start(tail_start)).and_then(|_| file.read_exact(&mut tail)).map_err(cannot)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != MAGIC {
        return Err(truncated());
    }
    let size = u64::from(u32::from_le_bytes([a, b, c, d]));
    let start = tail_start.checked_sub(size).filter(|start| *start >= ends).ok_or_else(truncated)?;
    if size > limits::FOOTER {
        return Err(format!("has a footer of more than {} MiB, which was not read", limits::FOOTER >> 20));
    }
    let mut bytes = vec![0; size as usize];
    file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes)).map_err(cannot)?;
    limits::check_footer(&bytes)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes);
    metadata.map_err(|error| format!("is damaged: {error}"))
}

/// Call the Parquet library. Damaged files that this crate does not recognize can make the library panic.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("is damaged: the Parquet library cannot read it".to_string()))
}
