//! `lowtide bench passes`: dynamic programming, lists and cuts against the proven optimum (paper 5).
//!
//! Every distinct block counts once. The independent checker looks at all partitions.

mod args;
mod chapter;
mod document;
mod growth;
mod measure;
mod text;

pub use args::PassesArgs;
use document::Document;
use lowtide_tool::Failure;

use crate::book::Chapter;
use crate::findings::{Findings, show};

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &PassesArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

/// Measure the files.
pub(crate) fn measure(args: &PassesArgs) -> Result<impl Findings, Failure> {
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
