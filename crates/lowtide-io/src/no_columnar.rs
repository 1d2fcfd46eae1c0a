//! The answers of a program that is built without the feature `parquet`.

use std::convert::Infallible;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lowtide::region::Kernel;

use crate::ReadError;
use crate::results::ResultRow;

const MESSAGE: &str = "this program is built without Parquet files: build it with `--features parquet`";

fn refuse() -> Error {
    Error::new(ErrorKind::Unsupported, MESSAGE)
}

/// Refuses Parquet files.
pub(crate) struct ParquetKernels(Infallible);

impl ParquetKernels {
    pub(crate) fn open(_: File, name: &str, _: Arc<AtomicU64>, _: usize) -> Result<Self, ReadError> {
        let message = format!("is a Parquet file: {MESSAGE}");
        Err(ReadError { file: name.to_string(), line: None, message })
    }

    pub(crate) fn next_kernel(&mut self) -> Result<Option<(Kernel, u64)>, ReadError> {
        match self.0 {}
    }

    pub(crate) fn row_error(&self, _: u64, _: String) -> ReadError {
        match self.0 {}
    }

    pub(crate) fn file_error(&self, _: String) -> ReadError {
        match self.0 {}
    }
}

/// Refuses to write kernels to Parquet files.
pub struct KernelFileWriter(Infallible);

impl KernelFileWriter {
    /// Return an error that names the feature.
    pub fn create(_: &Path) -> Result<Self, Error> {
        Err(refuse())
    }

    /// Cannot be called.
    pub fn kernel(&mut self, _: &Kernel) -> Result<(), Error> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn finish(self) -> Result<(), Error> {
        match self.0 {}
    }
}

/// Refuses to write results to Parquet files.
pub struct ResultFileWriter(Infallible);

impl ResultFileWriter {
    /// Return an error that names the feature.
    pub fn create(_: &Path) -> Result<Self, Error> {
        Err(refuse())
    }

    /// Cannot be called.
    pub fn region(&mut self, _: &ResultRow) -> Result<(), Error> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn finish(self) -> Result<(), Error> {
        match self.0 {}
    }
}
