//! `lowtide bench pack`: cycles of the list schedule against the best packing (paper 3, Table 6, Figures 1
//! and 2).
//!
//! Every block is packed twice: without splits, like the paper's table and figures, and with them.

mod args;
mod chapter;
mod document;
mod measure;
mod text;

pub use args::PackArgs;
use document::Document;
use lowtide_tool::Failure;

use crate::book::Chapter;
use crate::findings::{Findings, show};

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &PackArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

/// Measure the files.
pub(crate) fn measure(args: &PackArgs) -> Result<impl Findings, Failure> {
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
