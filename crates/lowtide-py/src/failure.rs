//! Exceptions: the program's failures, with its texts.

use lowtide_io::ReadError;
use lowtide_tool::Failure;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(lowtide, InputError, PyValueError, "A file, kernel, target or option is not valid.");
create_exception!(lowtide, InternalError, PyRuntimeError, "A defect of Lowtide. Please report it.");

/// The texts of failures that are defects of Lowtide start so, behind the name of the kernel.
const INTERNAL: &str = "internal error";

/// Return the exception for a failure of the program.
pub(crate) fn exception(failure: &Failure) -> PyErr {
    let text = failure.to_string();
    match failure {
        Failure::Read(error) => read_exception(error),
        Failure::Illegal { .. } => InternalError::new_err(text),
        Failure::Message(message) if message.contains(INTERNAL) => InternalError::new_err(text),
        _ => InputError::new_err(text),
    }
}

/// Return the exception for a file that cannot be read. A missing file is Python's own error, with the text
/// of the program.
pub(crate) fn read_exception(error: &ReadError) -> PyErr {
    let is_missing = error.line.is_none() && !std::path::Path::new(&error.file).exists();
    match is_missing && error.message.starts_with("cannot be read") {
        true => PyFileNotFoundError::new_err(error.to_string()),
        false => InputError::new_err(error.to_string()),
    }
}

/// Return the exception for an argument.
pub(crate) fn bad(text: impl Into<String>) -> PyErr {
    InputError::new_err(text.into())
}
