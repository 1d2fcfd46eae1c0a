//! `lowtide bench occupancy`: waves and lengths of whole kernels, and the proofs of the two passes (paper 2,
//! Tables 3, 4 and 8).
//!
//! Every algorithm runs on all kernels, one after the other; then the independent checker looks at all
//! schedules. Sums are over all kernels and regions. The passes are counted on distinct graphs, each at its
//! first region.

mod args;
mod chapter;
mod counts;
mod document;
mod measure;
mod text;

pub use args::OccupancyArgs;
use document::Document;
use lowtide_tool::Failure;

use crate::book::Chapter;
use crate::findings::{Findings, show};

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &OccupancyArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

/// Measure the files.
pub(crate) fn measure(args: &OccupancyArgs) -> Result<impl Findings, Failure> {
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
