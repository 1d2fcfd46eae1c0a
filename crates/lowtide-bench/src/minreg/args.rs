use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lowtide::budget::Budget;
use lowtide_tool::args::{BudgetArgs, InputArgs, TargetArgs, parse_time};

use crate::book::BookArgs;

/// The smallest regions that are measured by default, as in the paper.
const MIN_SIZE: usize = 48;
/// The default of `--sample`.
const SAMPLE: u32 = 60;
/// The default of `--model-budget`.
const MODEL_BUDGET: &str = "60s";

/// The arguments of `lowtide bench minreg`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct MinregArgs {
    /// Read region files (.jsonl, .jsonl.gz or .parquet), folders of them, or the standard input (-)
    #[arg(required_unless_present = "families", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Process only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) budget: BudgetArgs,

    /// Limit the time of exact for each region, such as 10s, instead of for each instruction
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "budget")]
    pub(super) region_budget: Option<Duration>,

    /// Also measure graphs that are hard for exact methods: FFT, matrix product, stencil, random layers
    #[arg(long)]
    pub(super) families: bool,

    /// Measure exact against both constraint models on a sample of the regions (needs
    /// scripts/install-ortools)
    #[arg(long, requires = "files")]
    pub(super) constraints: bool,

    /// Take N regions for --constraints, evenly spread over the sizes
    #[arg(long, value_name = "N", default_value_t = SAMPLE, requires = "constraints")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) sample: u32,

    /// Limit the time of each constraint model for each region, such as 60s
    #[arg(long, value_name = "TIME", default_value = MODEL_BUDGET, value_parser = parse_time, requires = "constraints")]
    pub(super) model_budget: Duration,

    /// Measure --constraints only, and skip all other tables
    #[arg(long, requires = "constraints", conflicts_with_all = ["html", "markdown"])]
    pub(super) no_tables: bool,

    /// Leave out regions with fewer instructions
    #[arg(long, value_name = "N", default_value_t = MIN_SIZE)]
    pub(super) min_size: usize,

    /// Leave out regions with more instructions
    #[arg(long, value_name = "N")]
    pub(super) max_size: Option<usize>,

    #[command(flatten)]
    pub(super) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

impl MinregArgs {
    /// Return the experiment of the book: these files and the hard graphs, with a budget of search steps.
    pub(crate) fn for_book(files: &[PathBuf], nodes: u64) -> Self {
        MinregArgs {
            files: files.to_vec(),
            kernel: None,
            target: TargetArgs::default(),
            budget: BudgetArgs::of_nodes(nodes),
            region_budget: None,
            families: true,
            constraints: false,
            sample: SAMPLE,
            model_budget: Duration::from_secs(60),
            no_tables: false,
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

    /// Return the budget of a region of this size.
    pub(super) fn budget_of(&self, size: usize) -> Budget {
        let budget = self.budget.budget();
        let share = |time: Duration| time / u32::try_from(size.max(1)).unwrap_or(u32::MAX);
        Budget { time_per_instr: self.region_budget.map(share).or(budget.time_per_instr), ..budget }
    }
}
