//! Results on the standard output.

use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::Failure;

/// Print a result as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Message(format!("the result cannot be written as JSON: {error}")))?;
    print(&text)
}

/// Print a result as text. A reader that closes the pipe early (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Write { file: "<stdout>".to_string(), error })
        }
        _ => Ok(()),
    }
}
