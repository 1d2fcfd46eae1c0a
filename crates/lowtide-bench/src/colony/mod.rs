//! `lowtide bench colony`: the speed of the ant colony on several threads and on a GPU, against one thread
//! (paper 4, Tables 3.a and 3.b).
//!
//! The pipeline lists the tasks of the colony in each pass, for all kernels. One thread solves each task, and
//! then all threads solve it: the same ants, iterations and schedules. A GPU solves all tasks of a pass and a
//! range of sizes in one batch. Each region counts with an equal share of the batch's time, transfers
//! included. Last, all tasks of a pass are solved at once, whatever their sizes. `sweep` and `techniques` are
//! further experiments.

mod args;
mod chapter;
mod document;
mod measure;
mod sweep;
mod techniques;
mod text;

pub use args::ColonyArgs;
use document::Document;
use lowtide_tool::Failure;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::papers::with_papers;

use crate::book::Chapter;
use crate::findings::{Findings, show};

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &ColonyArgs) -> Result<(), Failure> {
    match (args.sweep, args.techniques) {
        (true, _) => show(args.json, &args.book, || sweep::measure(args)),
        (_, true) => {
            let found = techniques::measure(args)?;
            if args.json { print_json(&found.rows) } else { print(&with_papers(techniques::text(&found))) }
        }
        _ => show(args.json, &args.book, || measure(args)),
    }
}

/// Measure the effect of each parameter.
pub(crate) fn measure_parameters(args: &ColonyArgs) -> Result<impl Findings, Failure> {
    sweep::measure(args)
}

/// Measure the files.
pub(crate) fn measure(args: &ColonyArgs) -> Result<impl Findings, Failure> {
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
