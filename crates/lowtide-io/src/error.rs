use thiserror::Error;

/// A file that cannot be read, with the place: `FILE:LINE: what`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{}{message}", .line.map_or_else(|| " ".to_string(), |line| format!("{line}: ")))]
pub struct ReadError {
    /// The file's name, or `<stdin>`.
    pub file: String,
    /// The line, counted from 1; none if the trouble is with the file as a whole.
    pub line: Option<u64>,
    /// What is wrong, and with which element of the line.
    pub message: String,
}
