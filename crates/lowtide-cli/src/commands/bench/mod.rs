//! `lowtide bench`: the papers' tables, measured on the given files.
//!
//! Each benchmark computes one document. It is shown as tables, as JSON, and as a chapter of the experiment book.

mod all;
mod chapters;
mod colony;
mod constraints;
mod families;
mod measure;
mod minreg;
mod multipass;
mod occupancy;
mod pack;
mod passes;
mod proofs;
mod sweep;
mod techniques;

pub(crate) use all::all;
pub(crate) use colony::colony;
pub(crate) use minreg::minreg;
pub(crate) use multipass::multipass;
pub(crate) use occupancy::occupancy;
pub(crate) use pack::pack;

use serde::Serialize;

use super::{print, print_json};
use crate::args::BookArgs;
use crate::book::{Book, Chapter, own_command};
use crate::failure::Failure;
use crate::progress;

/// What a benchmark found.
trait Findings: Serialize {
    /// Tables for the terminal.
    fn as_text(&self) -> String;

    /// A chapter that this command makes.
    fn chapter(&self, command: String) -> Chapter;

    /// What the summary on a terminal tells, in a few lines.
    fn facts(&self) -> Vec<String>;
}

/// Runs a benchmark, writes the book, if one was asked for, and prints the result.
fn show<F: Findings>(
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
        false => print(&found.as_text())?,
    }
    progress::summary(&found.facts());
    Ok(())
}
