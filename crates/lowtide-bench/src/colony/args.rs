use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::pipeline::Options;
use lowtide_tool::args::{AntArgs, InputArgs, TargetArgs};

use crate::book::BookArgs;

/// The smallest regions that are measured by default.
const MIN_SIZE: usize = 2;

/// The choices of ants for each region and pass by default.
const NODES: u64 = 1_000_000;

/// The arguments of `lowtide bench colony`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ColonyArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) ants: AntArgs,

    /// Limit the choices of ants for each region and pass [default: 1000000, or no limit with --preset paper]
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Measure the effect of each parameter of the colony on waves, lengths and run time instead (paper 4,
    /// Tables 6 and 7, Figure 4)
    #[arg(long)]
    pub(super) sweep: bool,

    /// Measure the effect of each GPU technique on the time instead (paper 4, Tables 4.a and 4.b; needs an
    /// NVIDIA GPU)
    #[arg(long, conflicts_with = "sweep")]
    pub(super) techniques: bool,

    /// Leave out regions with fewer instructions
    #[arg(long, value_name = "N", default_value_t = MIN_SIZE)]
    min_size: usize,

    /// Leave out regions with more instructions
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,

    #[command(flatten)]
    pub(super) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

impl ColonyArgs {
    /// Return the experiment of the book: these files, with a budget of choices.
    pub(crate) fn for_book(files: &[PathBuf], nodes: u64) -> Self {
        ColonyArgs {
            input: InputArgs::all_of(files),
            target: TargetArgs::default(),
            ants: AntArgs::default(),
            nodes: Some(nodes),
            sweep: false,
            techniques: false,
            min_size: MIN_SIZE,
            max_size: None,
            book: BookArgs::default(),
            json: false,
        }
    }

    /// Return the experiment of the book with the parameters of the paper, but fewer ants.
    pub(crate) fn parameters_for_book(files: &[PathBuf], nodes: u64, groups: u32) -> Self {
        let ants = AntArgs::published(groups);
        ColonyArgs { ants, sweep: true, ..ColonyArgs::for_book(files, nodes) }
    }

    /// Return whether the effect of parameters is asked for.
    pub(crate) fn is_sweep(&self) -> bool {
        self.sweep
    }

    /// Return the options of the pipeline.
    pub(super) fn options(&self) -> Options {
        // The published colony ends by its own conditions.
        let nodes = self.nodes.or((!self.ants.is_published()).then_some(NODES));
        Options::default()
            .with_algorithm(Algorithm::COLONY)
            .with_budget(Budget { time_per_instr: None, nodes, threads: 1 })
            .with_colony(self.ants.parameters())
    }

    /// Return the range of sizes to measure.
    pub(super) fn sizes(&self) -> RangeInclusive<usize> {
        self.min_size..=self.max_size.unwrap_or(usize::MAX)
    }
}
