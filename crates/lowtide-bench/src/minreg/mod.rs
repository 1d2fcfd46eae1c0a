//! `lowtide bench minreg`: peak pressure of the min-register schedulers against the optimum (paper 1, Tables
//! I to V), and the two phases of its Section V on whole kernels (`two_phases`).
//!
//! Every distinct graph counts once. `region` runs all algorithms on it; the independent checker computes the
//! peaks, and proves bounds by cuts again. `constraints` compares the exact search with constraint models on
//! a sample of the graphs.

mod args;
mod chapter;
mod constraints;
mod document;
mod families;
mod measure;
mod proofs;
mod region;
mod row;
mod text;
mod two_phases;

pub use args::MinregArgs;
use document::Document;
use lowtide_tool::Failure;

use crate::book::Chapter;
use crate::findings::{Findings, show};

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &MinregArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

/// Measure the files.
pub(crate) fn measure(args: &MinregArgs) -> Result<impl Findings, Failure> {
    measure::measure(args)
}

impl Findings for Document {
    fn text(&self) -> String {
        text::text(self)
    }

    fn chapter(&self, command: String) -> Chapter {
        chapter::chapter(self, command)
    }

    fn facts(&self) -> Vec<String> {
        text::facts(self)
    }
}
