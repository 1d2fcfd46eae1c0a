use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lowtide::budget::Budget;
use lowtide_tool::args::{InputArgs, TargetArgs, parse_time};

use crate::book::BookArgs;

/// The smallest graphs on which the passes are counted by default.
const MIN_SIZE: usize = 2;

/// The arguments of `lowtide bench occupancy`.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct OccupancyArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,

    /// Limit the time for each instruction and pass [default: 1ms, or no limit with --nodes]. Of several
    /// times, the first is measured in full
    #[arg(long, value_name = "TIME", value_parser = parse_time, value_delimiter = ',')]
    budget: Vec<Duration>,

    /// Limit the search steps for each region and pass. The result is then the same on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Also measure the two passes with a quarter and with five times the budget (paper 2, Table 8)
    #[arg(long)]
    other_budgets: bool,

    /// Leave out graphs with fewer instructions when the passes are counted
    #[arg(long, value_name = "N", default_value_t = MIN_SIZE)]
    pub(super) min_size: usize,

    /// Leave out graphs with more instructions when the passes are counted
    #[arg(long, value_name = "N")]
    pub(super) max_size: Option<usize>,

    #[command(flatten)]
    pub(super) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

impl OccupancyArgs {
    /// Return the experiment of the book: these files, with budgets of search steps.
    pub(crate) fn for_book(files: &[PathBuf], nodes: u64) -> Self {
        OccupancyArgs {
            input: InputArgs::all_of(files),
            target: TargetArgs::default(),
            budget: Vec::new(),
            nodes: Some(nodes),
            other_budgets: true,
            min_size: MIN_SIZE,
            max_size: None,
            book: BookArgs::default(),
            json: false,
        }
    }

    /// Return the budgets to measure, at least one.
    pub(super) fn budgets(&self) -> Vec<Budget> {
        let of = |time_per_instr| Budget { time_per_instr, nodes: self.nodes, threads: 1 };
        let mut budgets = match (self.budget.as_slice(), self.nodes) {
            ([], None) => vec![of(Some(Duration::from_millis(1)))],
            ([], Some(_)) => vec![of(None)],
            (times, _) => times.iter().map(|time| of(Some(*time))).collect(),
        };
        if self.other_budgets {
            let Budget { time_per_instr, nodes, .. } = budgets[0];
            budgets.push(Budget {
                time_per_instr: time_per_instr.map(|time| time / 4),
                nodes: nodes.map(|nodes| nodes / 4),
                threads: 1,
            });
            budgets.push(Budget {
                time_per_instr: time_per_instr.map(|time| time.saturating_mul(5)),
                nodes: nodes.map(|nodes| nodes.saturating_mul(5)),
                threads: 1,
            });
        }
        budgets
    }
}
