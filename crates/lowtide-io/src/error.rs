use thiserror::Error;

/// A file that cannot be read, with the place of the error: `FILE:LINE: message`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{}{message}", .line.map_or_else(|| " ".to_string(), |line| format!("{line}: ")))]
pub struct ReadError {
    /// The name of the file, or `<stdin>`.
    pub file: String,
    /// The line (or the row of a Parquet file), counted from 1. `None` for an error of the whole file.
    pub line: Option<u64>,
    /// The error, with the element of the line that has it.
    pub message: String,
}
