//! The experiment book: the figures that a benchmark measures beside those that its paper reports.
//!
//! A benchmark measures one document and shows it in three forms: tables on the terminal, JSON, and a
//! [`Chapter`]. A chapter has plain tables and charts, whose cells are ready to be shown. [`Book::write`]
//! makes a page and a text (`markdown`) of chapters. The text leaves out figures that depend on the machine,
//! so that the same input and budget in search steps give the same text everywhere. The papers' figures are
//! in `papers`.

mod chart;
mod markdown;
pub(crate) mod papers;
mod table;
mod words;

pub(crate) use chart::Chart;
pub(crate) use table::Table;
pub(crate) use words::{listed, mean, more, percent, with_share};

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use lowtide_io::LineWriter;
use lowtide_tool::table::command_line;
use lowtide_tool::{Failure, page};
use papers::Paper;
use serde::Serialize;

/// The files to write for readers.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(crate) struct BookArgs {
    /// Also write a page that works without a network: the paper's tables beside the measured ones, and
    /// charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also write the same as Markdown, without the figures that depend on the machine
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl BookArgs {
    /// Return whether a file is to be written.
    pub(crate) fn is_asked(&self) -> bool {
        self.html.is_some() || self.markdown.is_some()
    }

    /// Report a file that cannot be written before anything is measured.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        for path in self.html.iter().chain(&self.markdown) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
                let error = if path.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::NotFound };
                return Err(Failure::Write { file: path.display().to_string(), error: error.into() });
            }
        }
        Ok(())
    }
}

/// The chapters of one or several benchmarks.
#[derive(Serialize)]
pub(crate) struct Book {
    title: String,
    /// The command that made the book.
    command: String,
    version: &'static str,
    date: String,
    machine: String,
    chapters: Vec<Chapter>,
}

/// The results of one benchmark.
#[derive(Serialize)]
pub(crate) struct Chapter {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) paper: Paper,
    /// The command that makes the chapter again.
    pub(crate) command: String,
    /// Input, targets and budget, each with its name.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) parts: Vec<Part>,
}

/// A table or a chart of a chapter.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Part {
    Table(Table),
    Chart(Chart),
}

impl From<Table> for Part {
    fn from(table: Table) -> Part {
        Part::Table(table)
    }
}

impl From<Chart> for Part {
    fn from(chart: Chart) -> Part {
        Part::Chart(chart)
    }
}

impl Book {
    pub(crate) fn new(title: &str, chapters: Vec<Chapter>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = rayon::current_num_threads();
        Book {
            title: title.to_string(),
            command: own_command(),
            version: env!("CARGO_PKG_VERSION"),
            date: today(),
            machine: [processor(), Some(format!("{cores} cores, {threads} threads used"))]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
            chapters,
        }
    }

    /// Write the files that the arguments name.
    pub(crate) fn write(&self, args: &BookArgs) -> Result<(), Failure> {
        if let Some(path) = &args.html {
            write(path, &page::page(&self.title, page::BOOK, self, &[])?)?;
        }
        if let Some(path) = &args.markdown {
            write(path, &markdown::text(self))?;
        }
        Ok(())
    }
}

/// Write a file atomically.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || {
        let mut file = LineWriter::create(path)?;
        file.line(text)?;
        file.finish()
    };
    write().map_err(|error| Failure::Write { file: path.display().to_string(), error })
}

/// Return the command that runs now, without the files that it writes.
pub(crate) fn own_command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    command_line(without_output(words))
}

/// Return the words of a command line that affect the figures.
fn without_output(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--html" | "--markdown" => drop(words.next()),
            "--json" => {}
            other if other.starts_with("--html=") || other.starts_with("--markdown=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// Return the date of today (UTC).
fn today() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let [year, month, day] = date(now.map_or(0, |time| time.as_secs() / 86_400));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Return year, month and day, `days` after 1970-01-01.
fn date(mut days: u64) -> [u64; 3] {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    [year, month, days + 1]
}

/// Return the name of the processor, where the operating system reports it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let dates = [0, 58, 59, 789, 790, 11_016, 11_017, 20_772].map(date);
        let expected = [
            [1970, 1, 1],
            [1970, 2, 28],
            [1970, 3, 1],
            [1972, 2, 29],
            [1972, 3, 1],
            [2000, 2, 29],
            [2000, 3, 1],
            [2026, 11, 15],
        ];
        assert_eq!(dates, expected);
    }

    #[test]
    fn commands_do_not_name_the_files_of_the_book() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        let line = "bench minreg a --html x.html --nodes 5 --markdown=y.md --json b";
        assert_eq!(without_output(words(line)), words("bench minreg a --nodes 5 b"));
    }
}
