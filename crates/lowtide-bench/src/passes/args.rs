use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lowtide::budget::Budget;
use lowtide_tool::args::{InputArgs, parse_time};
use lowtide_tool::passes::LoadsArg;
use lowtide_tool::table::grouped;

use crate::book::BookArgs;

/// The default of `--target`.
const TARGET: &str = "ps20";
/// The default of `--region-budget`.
const REGION_BUDGET: &str = "10s";
/// The smallest blocks that are measured by default.
const MIN_SIZE: usize = 2;

/// The arguments of `lowtide bench passes`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct PassesArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,

    /// Partition for a GPU of `lowtide targets` that describes passes, or for that of a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = TARGET)]
    pub(super) target: String,

    /// Limit the time of exact for each block
    #[arg(long, value_name = "TIME", default_value = REGION_BUDGET, value_parser = parse_time)]
    region_budget: Duration,

    /// Limit the search steps of exact for each block instead of its time. The result is then the same on
    /// every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Count inputs as operands, or give each an operation that loads it
    #[arg(long, value_enum, default_value = "operands")]
    pub(super) loads: LoadsArg,

    /// Leave out blocks with fewer operations
    #[arg(long, value_name = "N", default_value_t = MIN_SIZE)]
    pub(super) min_size: usize,

    /// Leave out blocks with more operations
    #[arg(long, value_name = "N")]
    pub(super) max_size: Option<usize>,

    /// Also measure the growth of time on generated shaders of 150 to 12,000 operations
    #[arg(long)]
    pub(super) generated: bool,

    #[command(flatten)]
    pub(super) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

impl PassesArgs {
    /// Return the experiment of the book: these files and generated shaders, with a budget of search steps.
    pub(crate) fn for_book(files: &[PathBuf], nodes: u64) -> Self {
        PassesArgs {
            input: InputArgs::all_of(files),
            target: TARGET.to_string(),
            region_budget: Duration::from_secs(10),
            nodes: Some(nodes),
            loads: LoadsArg::Operands,
            min_size: MIN_SIZE,
            max_size: None,
            generated: true,
            book: BookArgs::default(),
            json: false,
        }
    }

    /// Return the budget of a block of this size.
    pub(super) fn budget_of(&self, size: usize) -> Budget {
        let share = self.region_budget / u32::try_from(size.max(1)).unwrap_or(u32::MAX);
        Budget { time_per_instr: self.nodes.is_none().then_some(share), nodes: self.nodes, threads: 1 }
    }

    /// Describe the budget.
    pub(super) fn budget_in_words(&self) -> String {
        match self.nodes {
            Some(nodes) => format!("{} steps for each block", grouped(nodes)),
            None => format!("{} s for each block", self.region_budget.as_secs_f64()),
        }
    }
}
