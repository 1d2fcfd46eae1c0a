//! The common shape of all benchmarks: one document, shown in several forms.

use lowtide_tool::output::{print, print_json};
use lowtide_tool::papers::with_papers;
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use crate::book::{Book, BookArgs, Chapter, own_command};

/// The document of a benchmark. Its serialized form is the output of `--json`.
pub(crate) trait Findings: Serialize {
    /// Return tables for the terminal.
    fn text(&self) -> String;

    /// Return a chapter of the experiment book, which `command` makes again.
    fn chapter(&self, command: String) -> Chapter;

    /// Return the lines of the summary that a terminal shows at the end.
    fn facts(&self) -> Vec<String>;
}

/// Run a benchmark, write the book if the arguments ask for it, and print the result.
pub(crate) fn show<F: Findings>(
    json: bool,
    book: &BookArgs,
    measure: impl FnOnce() -> Result<F, Failure>,
) -> Result<(), Failure> {
    book.check()?;
    let found = measure()?;
    if book.is_asked() {
        Book::new("Lowtide: an experiment", vec![found.chapter(own_command())]).write(book)?;
    }
    match json {
        true => print_json(&found)?,
        false => print(&with_papers(found.text()))?,
    }
    progress::summary(&found.facts());
    Ok(())
}
