//! `lowtide bench latencies`: schedules made for one set of latencies, measured with others.
//!
//! Nobody knows the latencies of memory exactly: they depend on caches and load. A good schedule does not
//! need them exactly. Each kernel is scheduled for several sets of latencies, and each order is measured with
//! every set. The table shows the cycles that an order takes beyond the order made for the set it is measured
//! with. The filter is off, so that all orders have equal waves.

mod measure;
mod text;

use clap::Args;
use lowtide_tool::Failure;
use lowtide_tool::args::{BudgetArgs, InputArgs, TargetArgs};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::progress;

/// The arguments of `lowtide bench latencies`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct LatenciesArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    budget: BudgetArgs,

    /// Multiply the latencies of the target's table by these factors
    #[arg(long, value_name = "FACTOR", value_delimiter = ',', default_value = "0.5,1,2")]
    scales: Vec<f64>,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &LatenciesArgs) -> Result<(), Failure> {
    let found = measure::measure(args)?;
    match args.json {
        true => print_json(&found)?,
        false => print(&text::text(&found))?,
    }
    progress::summary(&text::facts(&found));
    Ok(())
}
