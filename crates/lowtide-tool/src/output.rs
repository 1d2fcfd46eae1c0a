//! Results on the standard output.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

use lowtide_io::pretty_json;
use serde::Serialize;

use crate::Failure;

/// Print a result as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = pretty_json(value)
        .map_err(|error| Failure::Message(format!("the result cannot be written as JSON: {error}")))?;
    print(&text)
}

/// Print rows as CSV (RFC 4180, but with plain line ends): a header, then the rows.
pub fn print_csv(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<(), Failure> {
    let line = |cells: &mut dyn Iterator<Item = &str>| cells.map(quoted).collect::<Vec<_>>().join(",");
    let mut lines = vec![line(&mut header.iter().copied())];
    for row in rows {
        debug_assert_eq!(row.len(), header.len());
        lines.push(line(&mut row.iter().map(String::as_str)));
    }
    print(&lines.join("\n"))
}

/// Return a cell in quotes if it needs them.
fn quoted(cell: &str) -> Cow<'_, str> {
    match cell.contains([',', '"', '\n', '\r']) || cell.trim() != cell {
        true => Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\""))),
        false => Cow::Borrowed(cell),
    }
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

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn cells_are_quoted_where_necessary() {
        let cells = ["plain", "", "a,b", "say \"x\"", "two\nlines", " blank "].map(quoted);
        assert_eq!(cells, ["plain", "", "\"a,b\"", "\"say \"\"x\"\"\"", "\"two\nlines\"", "\" blank \""]);
    }
}
