//! Groups of arguments that several commands accept.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lowtide::budget::Budget;
use lowtide::pipeline::Filter;
use lowtide::session::Store;
use lowtide::target::Latencies;

use crate::Failure;
pub use crate::ant_args::AntArgs;

/// The kernels to read.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct InputArgs {
    /// Read region files (.jsonl, .jsonl.gz or .parquet), shaders (.wgsl, .spv, .vert, .frag, .comp), folders
    /// of them, or the standard input (-)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Process only kernels whose name contains TEXT, mangled or demangled
    #[arg(long, value_name = "TEXT")]
    pub kernel: Option<String>,
}

impl InputArgs {
    /// Return the input of all kernels in these files.
    pub fn all_of(files: &[PathBuf]) -> Self {
        InputArgs { files: files.to_vec(), kernel: None }
    }
}

/// The form of the result.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq)]
pub struct FormatArgs {
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,

    /// Print the rows of the table as CSV, with all columns and plain numbers
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// The GPU to schedule for.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TargetArgs {
    /// Schedule for a GPU of `lowtide targets`, or of a TOML file
    /// [default: the GPU that the kernel was compiled for, or generic]
    #[arg(long, value_name = "NAME|FILE")]
    pub target: Option<String>,
}

/// The latencies to schedule with.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyArgs {
    /// Schedule with the latencies of the target's table, or with those recorded in the file
    /// [default: target, or recorded if the target has no table]
    #[arg(long, value_enum, value_name = "SOURCE")]
    latencies: Option<LatencySource>,

    /// Multiply the latencies of the target's table by a factor of 0.01 to 100, for experiments
    #[arg(long, value_name = "FACTOR", value_parser = parse_percent)]
    latency_scale: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LatencySource {
    /// Those of the target's table
    Target,
    /// Those of the region file
    Recorded,
}

impl LatencyArgs {
    /// Return the latencies that the arguments name, or none if they leave the choice open.
    pub fn named(self) -> Result<Option<Latencies>, Failure> {
        match (self.latencies, self.latency_scale) {
            (Some(LatencySource::Recorded), Some(_)) => Err(Failure::Message(
                "--latency-scale multiplies the latencies of the target: it cannot go with --latencies recorded"
                    .to_string(),
            )),
            (Some(LatencySource::Recorded), None) => Ok(Some(Latencies::Recorded)),
            (None, None) => Ok(None),
            (_, percent) => Ok(Some(Latencies::Target { percent: percent.unwrap_or(100) })),
        }
    }
}

fn parse_percent(text: &str) -> Result<u32, String> {
    match format!("target*{text}").parse() {
        Ok(Latencies::Target { percent }) => Ok(percent),
        _ => Err(format!("{text:?} is not a number from 0.01 to 100")),
    }
}

/// The effort to spend on each region.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct BudgetArgs {
    /// Limit the time for each instruction and pass, such as 250us, 1ms or 2s
    /// [default: 1ms, or no limit with --nodes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Limit the search steps for each region and pass. The result is then the same on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Search each region with up to 32 threads [default: 1]. --threads schedules several regions at the same
    /// time
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u8).range(1..=32))]
    search_threads: u8,
}

impl BudgetArgs {
    /// Return a budget of search steps.
    pub fn of_nodes(nodes: u64) -> Self {
        BudgetArgs { budget: None, nodes: Some(nodes), search_threads: 1 }
    }

    /// Return the budget of a region and pass.
    pub fn budget(&self) -> Budget {
        let default = self.nodes.is_none().then_some(Duration::from_millis(1));
        Budget {
            time_per_instr: self.budget.or(default),
            nodes: self.nodes,
            threads: self.search_threads.into(),
        }
    }
}

/// The store of answers.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct StoreArgs {
    /// Keep answers across runs in a folder, on a server (redis://HOST or http://HOST/PREFIX), or in a folder
    /// in front of a server (DIR,URL) [default: the variable LOWTIDE_STORE, or none]
    #[arg(long, value_name = "PATH|URL")]
    store: Option<String>,
}

impl StoreArgs {
    /// Return the place of the store, from the option or from the environment. An empty place is none.
    pub fn place(&self) -> Option<String> {
        let place = self.store.clone().or_else(|| std::env::var(lowtide_store::PLACE_VARIABLE).ok());
        place.filter(|place| !place.is_empty())
    }

    /// Open the store, if there is one.
    pub fn open(&self) -> Result<Option<Arc<dyn Store>>, Failure> {
        let store = self.place().map(|place| lowtide_store::open(&place)).transpose();
        store.map_err(|error| Failure::Message(error.to_string()))
    }
}

/// When more waves, or a search by ants, are not worth their price (paper 4, Section VI-D).
#[derive(Args, Clone, Copy, Debug, PartialEq)]
pub struct FilterArgs {
    /// Disable the filters. By default, 1-3 waves more than the production compiler has are rejected if they
    /// cost more than 63 cycles in all regions together. The algorithm colony also skips regions with fewer
    /// than 21 cycles to gain
    #[arg(long)]
    no_filter: bool,

    /// Accept more than N additional waves at any price
    #[arg(long, value_name = "N", default_value_t = Filter::default().few_waves, conflicts_with = "no_filter")]
    filter_waves: u32,

    /// Accept additional waves that cost at most N cycles in all regions together
    #[arg(long, value_name = "N", default_value_t = Filter::default().few_cycles, conflicts_with = "no_filter")]
    filter_cycles: u64,

    /// Skip regions with fewer than N cycles to gain in the algorithm colony
    #[arg(long, value_name = "N", default_value_t = Filter::default().few_cycles_to_gain, conflicts_with = "no_filter")]
    filter_gap: u32,
}

impl FilterArgs {
    /// Return the filter, or none if it is disabled.
    pub fn filter(self) -> Option<Filter> {
        let FilterArgs { no_filter, filter_waves, filter_cycles, filter_gap } = self;
        let filter =
            Filter { few_waves: filter_waves, few_cycles: filter_cycles, few_cycles_to_gain: filter_gap };
        (!no_filter).then_some(filter)
    }
}

/// Return the name of a value on the command line.
pub fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

/// Parse a time with its unit, such as `250us`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "" => return Err("a unit is missing: ns, us, ms or s".to_string()),
        _ => return Err(format!("unknown unit {unit:?}: use ns, us, ms or s")),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{number:?} is not a number"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_factors_are_percent() {
        assert_eq!(["0.5", "2", "0.25"].map(parse_percent), [Ok(50), Ok(200), Ok(25)]);
        for bad in ["", "0", "-1", "x", "1000", "50%"] {
            assert!(parse_percent(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("0.25ms"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_time("2s"), Ok(Duration::from_secs(2)));
        for bad in ["", "5", "ms", "5h", "-1ms", "1e300s", "x ms"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
