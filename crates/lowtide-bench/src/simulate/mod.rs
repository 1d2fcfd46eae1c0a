//! `lowtide bench simulate`: does a cost formula rank the orders of a kernel as the timing model does?
//!
//! Each kernel has several variants: its source order, the production order, and schedules for each goal. The
//! timing model replays them ([`lowtide::simulate`]). The formula estimates the same from lengths alone: for
//! each region, its frequency times the issue cycles and the waits over the waves. Kendall's tau tells how
//! well both agree, and the *regret* what a choice by the formula costs.

mod measure;
mod text;

use clap::Args;
use lowtide_tool::Failure;
use lowtide_tool::args::{BudgetArgs, InputArgs, TargetArgs};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::progress;

/// The arguments of `lowtide bench simulate`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct SimulateArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    budget: BudgetArgs,

    /// Print the variants of each kernel
    #[arg(long)]
    variants: bool,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Measure the files, and show the result as the arguments ask.
pub(crate) fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let found = measure::measure(args)?;
    match args.json {
        true => print_json(&found)?,
        false => print(&text::text(&found, args.variants))?,
    }
    progress::summary(&text::facts(&found));
    Ok(())
}
