//! `lowtide bench passes`: dynamic programming, lists and cuts against the proven optimum (paper 5).
//!
//! Every distinct block counts once. All partitions go through the independent checker.

use std::collections::BTreeMap;
use std::time::Instant;

use indicatif::ParallelProgressIterator;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::multipass::generate::{Look, shader};
use lowtide::multipass::{Partition, PassProblem, dpmpp, mio, rds};
use lowtide::region::Region;
use lowtide::target::Target;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::{Findings, chapters, show};
use crate::args::BenchPassesArgs;
use crate::book::Chapter;
use crate::book::papers::heirich::BRANCHING;
use crate::commands::passes::{checked, proven};
use crate::failure::Failure;
use crate::input::{for_each_kernel, load_target};
use crate::progress;
use crate::report::{grouped, shorten, table};

pub(super) const NAMES: [&str; 4] = ["dpmpp", "mio", "rds", "exact"];
/// Sizes of made-up shaders.
const SIZES: [usize; 8] = [150, 300, 600, 1200, 2400, 4800, 9600, 12_000];
/// A run that takes less than this is repeated, and the fastest one counts.
const SHORT: f64 = 0.002;

#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) target: String,
    /// Distinct blocks of the shaders.
    pub(super) shaders: u64,
    pub(super) operations: u64,
    /// Sums over all blocks. That of exact is the best cost known.
    pub(super) cost: BTreeMap<&'static str, u64>,
    pub(super) passes: BTreeMap<&'static str, u64>,
    /// Mean over the blocks of the mean branching factor of dpmpp.
    pub(super) branching: f64,
    /// Blocks whose optimum is proven.
    pub(super) proved: u64,
    /// Of those, the ones where dpmpp, mio and rds have it.
    pub(super) exact_agrees: u64,
    pub(super) optimal: BTreeMap<&'static str, u64>,
    /// Of blocks with fewer than 100 operations: all, and those that are proven.
    pub(super) under_100: [u64; 2],
    /// Sums over the proven blocks.
    pub(super) proved_cost: BTreeMap<&'static str, u64>,
    /// Exponent of the time of dpmpp as a power of the number of operations.
    pub(super) growth: Option<f64>,
    pub(super) seconds: f64,
    pub(super) seconds_of: BTreeMap<&'static str, f64>,
    pub(super) blocks: Vec<Row>,
    pub(super) generated: Vec<Generated>,
    pub(super) generated_growth: Option<f64>,
    /// Width of the search of dpmpp at each stage, for the largest block.
    pub(super) figure_2: Option<Figure2>,
    #[serde(skip)]
    pub(super) plot: String,
    /// The budget in words.
    pub(super) budget: String,
}

/// Paper 5, Figure 2.
#[derive(Serialize)]
pub(super) struct Figure2 {
    pub(super) shader: String,
    pub(super) n: usize,
    pub(super) branching: f64,
    /// From the last operation to the first.
    pub(super) widths: Vec<u32>,
}

#[derive(Serialize, Clone)]
pub(super) struct Row {
    pub(super) shader: String,
    pub(super) region: String,
    pub(super) n: usize,
    pub(super) cost: [u64; 4],
    pub(super) passes: [usize; 4],
    /// Operations that the best partition runs: more than `n` if some run again.
    pub(super) runs: usize,
    pub(super) bound: u64,
    pub(super) proved: bool,
    pub(super) branching: f64,
    pub(super) widest: u32,
    pub(super) seconds: [f64; 4],
    #[serde(skip)]
    pub(super) widths: Vec<u32>,
}

#[derive(Serialize)]
pub(super) struct Generated {
    pub(super) n: usize,
    pub(super) cost: u64,
    pub(super) passes: usize,
    pub(super) branching: f64,
    pub(super) seconds: f64,
}

/// The result and the time of something; what is short runs again.
fn timed<T>(work: impl Fn() -> T) -> (T, f64) {
    let mut best = f64::INFINITY;
    for round in 0..5 {
        let start = Instant::now();
        let result = work();
        best = best.min(start.elapsed().as_secs_f64());
        if best > SHORT || round == 4 {
            return (result, best);
        }
    }
    (work(), best)
}

impl Row {
    fn measure(shader: &str, region: &Region, target: &Target, budget: Budget) -> Result<Row, Failure> {
        let problem = PassProblem::new(region, target).map_err(|error| Failure::Passes {
            kernel: shader.to_string(),
            region: region.name().to_string(),
            error,
        })?;
        let (dp, dp_time) = timed(|| dpmpp::partition(&problem));
        let (list, list_time) = timed(|| mio::partition(&problem));
        let start = Instant::now();
        let cuts = rds::partition(&problem, budget);
        let cuts_time = start.elapsed().as_secs_f64();
        let found: [&Partition; 3] = [&dp.partition, &list, &cuts];
        let best = found.into_iter().min_by_key(|partition| partition.cost).unwrap_or(&dp.partition);
        let start = Instant::now();
        let proven = proven(&problem, shader, best, budget);
        let exact_time = start.elapsed().as_secs_f64();
        let all = [&dp.partition, &list, &cuts, &proven.partition];
        let mut runs = 0;
        for partition in all {
            runs = checked(&problem, shader, partition)?.operations;
            if partition.cost < proven.bound {
                let name = region.name();
                let what = format!(
                    "the bound of exact for {shader:?}, region {name} is wrong: {} is possible",
                    partition.cost
                );
                return Err(Failure::Message(what));
            }
        }
        Ok(Row {
            shader: shader.to_string(),
            region: region.name().to_string(),
            n: region.len(),
            cost: all.map(|partition| partition.cost),
            passes: all.map(|partition| partition.passes.len()),
            runs,
            bound: proven.bound,
            proved: proven.is_optimal(),
            branching: dp.branching(),
            widest: dp.widths.iter().copied().max().unwrap_or(0),
            seconds: [dp_time, list_time, cuts_time, exact_time],
            widths: dp.widths,
        })
    }
}

pub(crate) fn multipass(args: &BenchPassesArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

pub(super) fn measure(args: &BenchPassesArgs) -> Result<Document, Failure> {
    let target = load_target(&args.target)?;
    let start = Instant::now();
    let mut regions: Vec<(String, Region)> = Vec::new();
    let mut known = FxHashSet::default();
    let is_in = |size: usize| size >= args.min_size && args.max_size.is_none_or(|most| size <= most);
    for_each_kernel(&args.input, Ok, |kernel| {
        let file =
            std::path::Path::new(&kernel.origin).file_stem().map(|stem| stem.to_string_lossy().to_string());
        let name = file.map_or(kernel.name.clone(), |file| format!("{file}/{}", kernel.name));
        for region in kernel.regions {
            // Costs depend on the operations, not on the graph alone.
            let opcodes: Vec<String> =
                region.instrs().map(|instr| region.opcode(instr).to_string()).collect();
            if is_in(region.len()) && known.insert((fingerprint(&region), opcodes)) {
                regions.push((name.clone(), region));
            }
        }
        Ok(())
    })?;
    let bar = progress::bar(regions.len() as u64, "{bar:40} {pos} of {len} blocks, {elapsed}, {eta} left");
    let rows: Result<Vec<Row>, Failure> = (regions.par_iter().progress_with(bar.clone()))
        .map(|(name, region)| Row::measure(name, region, &target, args.budget_of(region.len())))
        .collect();
    bar.finish_and_clear();
    let mut document = summary(rows?);
    document.target = target.name().to_string();
    document.budget = args.budget_in_words();
    if args.generated {
        for n in SIZES {
            let region = shader(Look::real(n), 1);
            let problem = PassProblem::new(&region, &target).map_err(|error| Failure::Passes {
                kernel: "generated".to_string(),
                region: region.name().to_string(),
                error,
            })?;
            let (found, seconds) = timed(|| dpmpp::partition(&problem));
            checked(&problem, "generated", &found.partition)?;
            document.generated.push(Generated {
                n,
                cost: found.partition.cost,
                passes: found.partition.passes.len(),
                branching: found.branching(),
                seconds,
            });
        }
        let points: Vec<(f64, f64)> =
            document.generated.iter().map(|row| (row.n as f64, row.seconds)).collect();
        document.generated_growth = exponent(&points);
    }
    document.seconds = start.elapsed().as_secs_f64();
    Ok(document)
}

impl Findings for Document {
    fn as_text(&self) -> String {
        as_text(self)
    }

    fn chapter(&self, command: String) -> Chapter {
        chapters::passes(self, command)
    }

    fn facts(&self) -> Vec<String> {
        let costs =
            NAMES.map(|name| format!("{name} {}", grouped(self.cost.get(name).copied().unwrap_or(0))));
        vec![
            format!("target {}, {}, cost: {}", self.target, self.budget, costs.join(", ")),
            format!("proven: {} of {} blocks", grouped(self.proved), grouped(self.shaders)),
        ]
    }
}

fn summary(rows: Vec<Row>) -> Document {
    let mut document = Document::default();
    for row in &rows {
        document.shaders += 1;
        document.operations += row.n as u64;
        document.branching += (row.branching - document.branching) / document.shaders as f64;
        document.proved += u64::from(row.proved);
        document.exact_agrees += u64::from(row.proved && row.cost[0] == row.cost[3]);
        if row.n < 100 {
            document.under_100[0] += 1;
            document.under_100[1] += u64::from(row.proved);
        }
        for (position, name) in NAMES.into_iter().enumerate() {
            *document.cost.entry(name).or_default() += row.cost[position];
            *document.passes.entry(name).or_default() += row.passes[position] as u64;
            *document.seconds_of.entry(name).or_default() += row.seconds[position];
            *document.optimal.entry(name).or_default() +=
                u64::from(row.proved && row.cost[position] == row.cost[3]);
            *document.proved_cost.entry(name).or_default() += if row.proved { row.cost[position] } else { 0 };
        }
    }
    let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.n as f64, row.seconds[0])).collect();
    document.growth = exponent(&points);
    let largest = rows.iter().max_by_key(|row| row.n);
    document.plot = largest.map_or(String::new(), plot);
    document.figure_2 = largest.map(|row| Figure2 {
        shader: row.shader.clone(),
        n: row.n,
        branching: row.branching,
        widths: row.widths.clone(),
    });
    document.blocks = rows;
    document
}

/// The exponent of the power of n that fits best: least squares in logarithms. None for fewer than three sizes.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, time)| (n.ln(), time.max(1e-9).ln())).collect();
    let count = logs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| logs.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    let both: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (logs.len() > 2 && spread > 0.0).then(|| both / spread)
}

/// The width of the search at every stage (paper 5, Figure 2): stages to the right, the width upwards by powers of two.
fn plot(row: &Row) -> String {
    const COLUMNS: usize = 80;
    let share = row.widths.len().div_ceil(COLUMNS).max(1);
    let columns: Vec<u32> =
        row.widths.chunks(share).map(|part| part.iter().copied().max().unwrap_or(0)).collect();
    let height = 32 - row.widest.leading_zeros();
    let mut lines = Vec::new();
    for level in (0..height).rev() {
        let least = 1u32 << level;
        let line: String = columns.iter().map(|width| if *width >= least { '█' } else { ' ' }).collect();
        lines.push(format!("{least:>5} │{}", line.trim_end()));
    }
    format!(
        "width of the search of {} ({} operations), from the last operation to the first:\n{}",
        shorten(&row.shader, 40),
        row.n,
        lines.join("\n")
    )
}

fn as_text(document: &Document) -> String {
    let mut rows =
        table(1, &["shader", "size", "dpmpp", "mio", "rds", "exact", "bound", "passes", "b", "width", "ms"]);
    for row in &document.blocks {
        let mark = if row.proved { String::new() } else { format!("≥{}", row.bound) };
        rows.add_row([
            shorten(&row.shader, 20),
            row.n.to_string(),
            row.cost[0].to_string(),
            row.cost[1].to_string(),
            row.cost[2].to_string(),
            row.cost[3].to_string(),
            mark,
            row.passes[3].to_string(),
            format!("{:.3}", row.branching),
            row.widest.to_string(),
            format!("{:.0}", row.seconds[3] * 1e3),
        ]);
    }
    let mut sums = table(1, &["", "cost", "passes", "proven: cost", "ratio", "optimal", "seconds"]);
    for name in NAMES {
        let proved = document.proved_cost.get(name).copied().unwrap_or(0);
        let least = document.proved_cost.get("exact").copied().unwrap_or(0);
        sums.add_row([
            name.to_string(),
            grouped(document.cost.get(name).copied().unwrap_or(0)),
            grouped(document.passes.get(name).copied().unwrap_or(0)),
            grouped(proved),
            format!("{:.4}", proved as f64 / least.max(1) as f64),
            document.optimal.get(name).copied().unwrap_or(0).to_string(),
            format!("{:.3}", document.seconds_of.get(name).copied().unwrap_or(0.0)),
        ]);
    }
    let growth = |growth: Option<f64>| growth.map_or("-".to_string(), |growth| format!("n^{growth:.3}"));
    let mut text = format!(
        "{rows}\n\nbound: where the optimum is not proven; passes, ms: of exact;\nb: mean branching factor of dpmpp, \
         width: its widest stage\n\n{sums}\n\n\
         {} distinct blocks, {} operations for {}\noptimum proven for {}; with fewer than 100 operations: {} of {}\n\
         dpmpp: mean branching factor {:.4}, time grows with {} (the paper: {BRANCHING} and n^{BRANCHING})\n\
         dpmpp has the optimum of {} of the {} blocks where it is proven\n\n{}",
        document.shaders,
        grouped(document.operations),
        document.target,
        document.proved,
        document.under_100[1],
        document.under_100[0],
        document.branching,
        growth(document.growth),
        document.exact_agrees,
        document.proved,
        document.plot,
    );
    if !document.generated.is_empty() {
        let mut rows = table(0, &["made-up operations", "cost", "passes", "b", "seconds"]);
        for row in &document.generated {
            rows.add_row([
                grouped(row.n as u64),
                grouped(row.cost),
                row.passes.to_string(),
                format!("{:.4}", row.branching),
                format!("{:.4}", row.seconds),
            ]);
        }
        text += &format!(
            "\n\n{rows}\n\ntime on made-up shaders grows with {}",
            growth(document.generated_growth)
        );
    }
    text
}
