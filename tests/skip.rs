//! How a test says that it could not run. The tests of all crates include this file.
//!
//! Rust's test harness knows no skipped tests: a test that returns early counts as passed. [`skip`] prints
//! one line, `SKIPPED: TEST: REASON`, which the harness does not capture, and appends the line to the file
//! that the variable `LOWTIDE_SKIPPED` names. `scripts/test` sets the variable, lists the lines at the end
//! and subtracts them from the tests that passed.

// Not every test needs all of it.
#![allow(dead_code)]

use std::fmt::Display;
use std::io::Write;

/// What a test needs and did not find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// A program or library that can be installed. Where the variable `CI` is set, the test fails.
    Installable,
    /// Hardware, or files that are not published: the test is skipped everywhere.
    Unobtainable,
}

/// Records that the calling test is skipped. The caller returns.
pub(crate) fn skip(missing: Missing, reason: impl Display) {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(missing == Missing::Unobtainable || !is_ci, "nothing installable may be missing here: {reason}");
    // The harness names the thread after the test.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line =
        format!("SKIPPED: {} {}::{test}: {reason}\n", env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME"));
    // Unlike the print macros, this is not captured.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("LOWTIDE_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("LOWTIDE_SKIPPED names a writable file");
    }
}

/// The folder of regions beside the repository, `../shared/corpus`, which is not published.
pub(crate) fn shared_corpus() -> Option<std::path::PathBuf> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !folder.is_dir() {
        skip(Missing::Unobtainable, "there is no ../shared/corpus beside the repository");
        return None;
    }
    Some(folder)
}
