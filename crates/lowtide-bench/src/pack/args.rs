use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use lowtide_tool::args::{InputArgs, TargetArgs};
use lowtide_tool::pack::{ListMethod, PackBudgetArgs, PackMethod};

use crate::book::BookArgs;

/// The smallest blocks that are measured by default.
const MIN_SIZE: usize = 2;
/// The default of `--seed`.
const SEED: u64 = 1;

/// The arguments of `lowtide bench pack`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct PackArgs {
    /// Read region files (.jsonl, .jsonl.gz or .parquet), folders of them, or the standard input (-)
    #[arg(required_unless_present = "generated", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Process only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) budget: PackBudgetArgs,

    /// Measure generated blocks for the target vs, with the number and sizes of the paper's shaders
    #[arg(long, conflicts_with_all = ["files", "kernel"])]
    pub(super) generated: bool,

    /// Start the random numbers of the generated blocks at N
    #[arg(long, value_name = "N", default_value_t = SEED, requires = "generated")]
    pub(super) seed: u64,

    /// Pack by this method
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    pub(super) algorithm: PackMethod,

    /// Compare with this list scheduler [default: path; sc with --algorithm program-paper]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(super) list: Option<ListMethod>,

    /// Also count the proofs by linear programs, with the paper's ranges and with narrower ones (needs
    /// scripts/install-ortools)
    #[arg(long)]
    pub(super) linear: bool,

    /// Leave out blocks with fewer operations
    #[arg(long, value_name = "N", default_value_t = MIN_SIZE)]
    min_size: usize,

    /// Leave out blocks with more operations
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,

    #[command(flatten)]
    pub(super) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

impl PackArgs {
    /// Return an experiment of the book: these files, or generated blocks without files, with a budget of
    /// search steps.
    pub(crate) fn for_book(files: &[PathBuf], nodes: u64) -> Self {
        PackArgs {
            files: files.to_vec(),
            kernel: None,
            target: TargetArgs::default(),
            budget: PackBudgetArgs::of_nodes(nodes),
            generated: files.is_empty(),
            seed: SEED,
            algorithm: PackMethod::Auto,
            // Generated blocks stand beside the paper's tables, whose baseline is SC.
            list: files.is_empty().then_some(ListMethod::Sc),
            linear: false,
            min_size: MIN_SIZE,
            max_size: None,
            book: BookArgs::default(),
            json: false,
        }
    }

    /// Return the kernels to read.
    pub(super) fn input(&self) -> InputArgs {
        InputArgs { files: self.files.clone(), kernel: self.kernel.clone() }
    }

    /// Return the range of sizes to measure.
    pub(super) fn sizes(&self) -> RangeInclusive<usize> {
        self.min_size..=self.max_size.unwrap_or(usize::MAX)
    }
}
