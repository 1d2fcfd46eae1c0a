//! `lowtide bench budget`: is the time budget kept?
//!
//! Each region is scheduled alone, on one thread, with each budget and goal. The *ratio* of a run is the time
//! it took over the time it was allowed. The allowed time is the budget of all passes of the goal. The
//! benchmark prints the distribution of the ratios.

mod measure;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lowtide::problem::Goal;
use lowtide_tool::Failure;
use lowtide_tool::args::{InputArgs, TargetArgs, parse_time};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::progress;

/// A goal of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum GoalName {
    Minreg,
    Occupancy,
    Length,
    Throughput,
}

impl GoalName {
    fn goal(self) -> Goal {
        match self {
            GoalName::Minreg => Goal::MinReg,
            GoalName::Occupancy => Goal::Occupancy,
            GoalName::Length => Goal::Length,
            GoalName::Throughput => Goal::Throughput,
        }
    }
}

/// The arguments of `lowtide bench budget`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct BudgetArgs {
    /// Read region files (.jsonl, .jsonl.gz or .parquet), folders of them, or the standard input (-)
    #[arg(required_unless_present = "generated", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Process only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    /// Measure generated regions of every shape and family, for the target gfx906 unless --target names
    /// another
    #[arg(long, conflicts_with_all = ["files", "kernel"])]
    generated: bool,

    /// Generate regions of about these numbers of instructions
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "1000,4000,10000,20000,50000",
        requires = "generated"
    )]
    sizes: Vec<usize>,

    /// Generate only shapes and families whose name contains TEXT
    #[arg(long, value_name = "TEXT", requires = "generated")]
    family: Option<String>,

    /// Limit the time for each instruction and pass, one run for each of these times
    #[arg(long, value_name = "TIME", value_parser = parse_time, value_delimiter = ',', default_value = "10us,100us,1ms")]
    budget: Vec<Duration>,

    /// Schedule for each of these goals
    #[arg(
        long,
        value_name = "GOAL",
        value_delimiter = ',',
        default_value = "minreg,occupancy,length,throughput"
    )]
    goal: Vec<GoalName>,

    /// Leave out graphs with fewer instructions
    #[arg(long, value_name = "N", default_value_t = 2)]
    min_size: usize,

    /// Leave out graphs with more instructions
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,

    /// Measure every Nth distinct graph of the files only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// Run a region again, up to N times in all, while it exceeds its time. The fastest run counts, so that
    /// other programs on the machine do not
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Print every run, not only the distribution
    #[arg(long)]
    rows: bool,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

impl BudgetArgs {
    /// Return the kernels to read.
    fn input(&self) -> InputArgs {
        InputArgs { files: self.files.clone(), kernel: self.kernel.clone() }
    }
}

/// Measure the regions, and show the result as the arguments ask.
pub(crate) fn run(args: &BudgetArgs) -> Result<(), Failure> {
    let found = measure::measure(args)?;
    match args.json {
        true => print_json(&found)?,
        false => print(&text::text(&found, args.rows))?,
    }
    progress::summary(&text::facts(&found));
    Ok(())
}
