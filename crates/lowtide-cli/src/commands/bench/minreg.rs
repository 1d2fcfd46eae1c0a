//! `lowtide bench minreg`: peaks of the min-register schedulers against the best possible (paper 1, Tables I to V).

use std::collections::{BTreeMap, BTreeSet};

use indicatif::ParallelProgressIterator;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::pipeline::Algorithm;
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_cp::Solver;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::chapters;
use super::constraints::{self, Comparison};
use super::families::{self, Family};
use super::measure::{ALGORITHMS, Row};
use super::proofs::{self, Open, Proofs, SizeRange};
use super::{Findings, show};
use crate::args::{InputArgs, MinregArgs};
use crate::book::Chapter;
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::progress;
use crate::report::{grouped, table};

/// A peak of so many times the optimum is an outlier.
const OUTLIER: f64 = 1.5;

#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) regions: u64,
    /// Regions that were read and have the graph of another one.
    pub(super) repeated: u64,
    pub(super) instructions: u64,
    /// Regions whose optimum `exact` has proven within its budget.
    pub(super) proved: u64,
    pub(super) timeouts: u64,
    /// What the budget was: time for each instruction or each region, and steps.
    pub(super) budget: BudgetInfo,
    /// Over the regions whose optimum is known.
    pub(super) algorithms: BTreeMap<&'static str, Totals>,
    /// Over all regions, against the lower bound instead of the optimum.
    pub(super) against_bound: BTreeMap<&'static str, Totals>,
    /// The time of `default` grows with this power of the size, on regions of 100 instructions and more.
    pub(super) default_exponent: Option<f64>,
    pub(super) proofs: Proofs,
    pub(super) sizes: Vec<SizeRange>,
    /// Every region whose optimum is not known.
    pub(super) open: Vec<Open>,
    /// What became of each graph.
    pub(super) each: Vec<Row>,
    /// Sizes that were asked for.
    #[serde(skip)]
    pub(super) least: usize,
    #[serde(skip)]
    pub(super) most: Option<usize>,
    /// Names of the targets.
    pub(super) targets: BTreeSet<String>,
    /// With `--families`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) families: Option<Vec<Family>>,
    /// With `--constraints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constraints: Option<Comparison>,
}

/// A region whose graph is that of no other one.
pub(super) struct Distinct<'a> {
    pub(super) region: Region,
    pub(super) kernel: String,
    pub(super) target: &'a Target,
    /// The fingerprint of its graph.
    pub(super) graph: u128,
}

impl Distinct<'_> {
    pub(super) fn problem(&self) -> Result<Problem<'_>, Failure> {
        Problem::new(&self.region, self.target, Goal::MinReg)
            .map_err(|error| Failure::Target { kernel: self.kernel.clone(), error })
    }
}

#[derive(Serialize, Default)]
pub(super) struct BudgetInfo {
    ms_per_instruction: Option<f64>,
    seconds_per_region: Option<f64>,
    nodes: Option<u64>,
}

impl BudgetInfo {
    fn new(args: &MinregArgs) -> Self {
        let budget = args.budget.budget();
        let seconds_per_region = args.region_budget.map(|time| time.as_secs_f64());
        let per_instruction = budget.time_per_instr.filter(|_| seconds_per_region.is_none());
        BudgetInfo {
            ms_per_instruction: per_instruction.map(|time| 1e3 * time.as_secs_f64()),
            seconds_per_region,
            nodes: budget.nodes,
        }
    }

    pub(super) fn in_words(&self) -> String {
        let time = self.ms_per_instruction.map(|time| format!("{time} ms for each instruction"));
        let whole = self.seconds_per_region.map(|time| format!("{time} s for each region"));
        let nodes = self.nodes.map(|nodes| format!("{} steps for each region", grouped(nodes)));
        [time, whole, nodes].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

#[derive(Serialize, Default, Clone)]
pub(super) struct Totals {
    pub(super) optimal: u64,
    pub(super) outliers: u64,
    pub(super) mean_ratio: f64,
    pub(super) seconds: f64,
    /// Mean instructions, and edges for each of them, of the regions that are optimal and of the outliers.
    pub(super) optimal_size: f64,
    pub(super) optimal_density: f64,
    pub(super) outlier_size: f64,
    pub(super) outlier_density: f64,
}

pub(crate) fn minreg(args: &MinregArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

pub(super) fn measure(args: &MinregArgs) -> Result<Document, Failure> {
    let mut document = Document {
        budget: BudgetInfo::new(args),
        least: args.min_size,
        most: args.max_size,
        ..Document::default()
    };
    // Without it, nothing should have been read in vain.
    let solver = args.constraints.then(Solver::find).transpose();
    let solver = solver.map_err(|error| Failure::Message(error.to_string()))?;
    let targets = Targets::new(&args.target)?;
    if !args.files.is_empty() {
        let regions = distinct_regions(args, &targets, &mut document.repeated)?;
        if !args.no_tables {
            document.targets = regions.iter().map(|region| region.target.name().to_string()).collect();
            document.fill(measure_all(args, &regions)?);
        }
        if let Some(solver) = &solver {
            document.constraints = Some(constraints::measure(args, solver, regions)?);
        }
    }
    if args.families {
        document.families = Some(families::measure(args)?);
    }
    Ok(document)
}

/// The distinct graphs of the input. `repeated` counts the others.
fn distinct_regions<'a>(
    args: &MinregArgs,
    targets: &'a Targets,
    repeated: &mut u64,
) -> Result<Vec<Distinct<'a>>, Failure> {
    let input = InputArgs { files: args.files.clone(), kernel: args.kernel.clone() };
    let mut seen = FxHashSet::default();
    let mut regions = Vec::new();
    for_each_kernel(
        &input,
        |mut kernel| {
            let target = targets.of(&kernel)?;
            let fits = |region: &Region| {
                (args.min_size..=args.max_size.unwrap_or(usize::MAX)).contains(&region.len())
            };
            let regions = kernel.regions.drain(..).filter(fits).map(|region| Distinct {
                graph: fingerprint(&region),
                region,
                kernel: kernel.name.clone(),
                target,
            });
            let regions: Vec<Distinct> = regions.collect();
            // A target that does not fit is told before anything is measured.
            regions.first().map(Distinct::problem).transpose()?;
            Ok(regions)
        },
        |found| {
            for region in found {
                match seen.insert(region.graph) {
                    true => regions.push(region),
                    false => *repeated += 1,
                }
            }
            Ok(())
        },
    )?;
    match regions.is_empty() {
        true => Err(Failure::Nothing("no region has a size in the range that was asked for".to_string())),
        false => Ok(regions),
    }
}

/// Runs everything on all regions.
fn measure_all(args: &MinregArgs, regions: &[Distinct]) -> Result<Vec<Row>, Failure> {
    let bar = progress::bar(regions.len() as u64, "{bar:40} {pos} of {len} regions, {elapsed}, {eta} left");
    let rows = (regions.par_iter().progress_with(bar.clone()))
        .map(|region| Row::measure(&region.problem()?, &region.kernel, args.budget_of(region.region.len())))
        .collect();
    bar.finish_and_clear();
    rows
}

impl Findings for Document {
    fn facts(&self) -> Vec<String> {
        let families = self.families.as_deref().unwrap_or_default();
        let proved = families.iter().filter(|family| family.proved).count() as u64;
        vec![
            self.budget.in_words(),
            format!(
                "proven: {} of {} regions",
                grouped(self.proved + proved),
                grouped(self.regions + families.len() as u64)
            ),
        ]
    }

    fn as_text(&self) -> String {
        let mut parts = Vec::new();
        if self.regions > 0 {
            parts.push(self.algorithms_as_text());
            parts.push(self.proofs_as_text());
        }
        if let Some(families) = &self.families {
            parts.push(format!(
                "Graphs that are known to be hard, with {} for exact:\n{}",
                self.budget.in_words(),
                families::as_table(families)
            ));
        }
        if let Some(constraints) = &self.constraints {
            parts.push(constraints.as_text(&self.budget.in_words()));
        }
        parts.join("\n\n")
    }

    fn chapter(&self, command: String) -> Chapter {
        chapters::minreg(self, command)
    }
}

impl Document {
    fn fill(&mut self, rows: Vec<Row>) {
        self.regions = rows.len() as u64;
        self.instructions = rows.iter().map(|row| row.size as u64).sum();
        let proved: Vec<&Row> = rows.iter().filter(|row| row.is_proved()).collect();
        self.proved = proved.len() as u64;
        self.timeouts = self.regions - self.proved;
        let all: Vec<&Row> = rows.iter().collect();
        for (position, (algorithm, _)) in ALGORITHMS.into_iter().enumerate() {
            self.algorithms.insert(algorithm.name(), Totals::new(&proved, position));
            self.against_bound.insert(algorithm.name(), Totals::new(&all, position));
        }
        let times = rows.iter().filter(|row| row.size >= 100).filter_map(|row| {
            let (_, seconds) = row.of(Algorithm::Default)?;
            Some((row.size as f64, seconds))
        });
        self.default_exponent = fitted_exponent(&times.collect::<Vec<_>>());
        self.proofs = Proofs::new(rows.iter());
        self.sizes = proofs::by_size(&rows, self.least, self.most);
        self.open = proofs::open(&rows);
        self.each = rows;
    }

    fn algorithms_as_text(&self) -> String {
        let most = self.most.map_or_else(|| "more".to_string(), |size| size.to_string());
        let mut text = format!(
            "{} distinct graphs of {} to {most} instructions ({} instructions; {} regions were repetitions)\n\
             the optimum is proven for {}, with {} for exact\n\n\
             Against the optimum, where it is proven:\n{}\n\n\
             Against the lower bound, on all regions (the optimum may be higher, so these are upper limits):\n{}",
            grouped(self.regions),
            self.least,
            grouped(self.instructions),
            grouped(self.repeated),
            grouped(self.proved),
            self.budget.in_words(),
            totals_table(&self.algorithms, self.proved, 0),
            totals_table(&self.against_bound, self.regions, self.instructions),
        );
        if let Some(exponent) = self.default_exponent {
            text += &format!(
                "\n\nThe time of default grows as n^{exponent:.2} on regions of 100 instructions and more."
            );
        }
        text
    }

    fn proofs_as_text(&self) -> String {
        let mut text = format!(
            "Regions that exact proves, within so many ms for each instruction and within its whole budget:\n{}\n\n\
             The median is the time for each instruction until the proof.",
            proofs::sizes_table(&self.sizes, &self.proofs)
        );
        if !self.open.is_empty() {
            text += &format!("\n\nRegions that exact leaves open:\n{}", proofs::open_table(&self.open));
        }
        text
    }
}

/// Peaks like paper 1's tables. `instructions` is 0 where speeds make no sense.
fn totals_table(algorithms: &BTreeMap<&'static str, Totals>, regions: u64, instructions: u64) -> String {
    let header = [
        "algorithm",
        "optimal",
        "%",
        "size",
        "edges",
        ">=1.5x",
        "%",
        "size",
        "edges",
        "mean ratio",
        "paper 1",
        "kinstr/s",
    ];
    let mut rows = table(1, &header);
    for (algorithm, paper) in ALGORITHMS {
        let Some(totals) = algorithms.get(algorithm.name()) else { continue };
        let share = |count: u64| format!("{:.1}", 100.0 * count as f64 / regions.max(1) as f64);
        rows.add_row([
            algorithm.name().to_string(),
            grouped(totals.optimal),
            share(totals.optimal),
            format!("{:.0}", totals.optimal_size),
            format!("{:.2}", totals.optimal_density),
            grouped(totals.outliers),
            share(totals.outliers),
            format!("{:.0}", totals.outlier_size),
            format!("{:.2}", totals.outlier_density),
            format!("{:.4}", totals.mean_ratio),
            paper.map_or_else(String::new, |paper| format!("{:.3} ({})", paper.mean_ratio, paper.table)),
            match instructions {
                0 => String::new(),
                _ => format!("{:.0}", instructions as f64 / totals.seconds / 1e3),
            },
        ]);
    }
    rows.to_string()
}

impl Totals {
    fn new(rows: &[&Row], algorithm: usize) -> Self {
        let mut totals = Totals::default();
        let mut count = 0u64;
        let (mut optimal, mut outliers) = ((0, 0), (0, 0));
        for row in rows {
            let Some((peak, seconds)) = row.results[algorithm] else { continue };
            let ratio = row.ratio(peak);
            count += 1;
            totals.seconds += seconds;
            totals.mean_ratio += ratio;
            let sizes = if peak == row.bound {
                totals.optimal += 1;
                &mut optimal
            } else if ratio >= OUTLIER {
                totals.outliers += 1;
                &mut outliers
            } else {
                continue;
            };
            sizes.0 += row.size;
            sizes.1 += row.edges;
        }
        totals.mean_ratio /= count.max(1) as f64;
        let mean = |(size, edges): (usize, usize), count: u64| {
            (size as f64 / count.max(1) as f64, edges as f64 / size.max(1) as f64)
        };
        (totals.optimal_size, totals.optimal_density) = mean(optimal, totals.optimal);
        (totals.outlier_size, totals.outlier_density) = mean(outliers, totals.outliers);
        totals
    }
}

/// The slope of log time over log size, by least squares.
fn fitted_exponent(times: &[(f64, f64)]) -> Option<f64> {
    let points: Vec<(f64, f64)> =
        times.iter().map(|(size, seconds)| (size.ln(), seconds.max(1e-9).ln())).collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (points.len() >= 10 && spread > 0.1).then(|| common / spread)
}

#[cfg(test)]
mod tests {
    use super::fitted_exponent;

    #[test]
    fn exponents_are_fitted() {
        let times: Vec<(f64, f64)> =
            (1..50).map(|n| (f64::from(n), 3e-6 * f64::from(n).powf(1.25))).collect();
        assert!((fitted_exponent(&times).unwrap() - 1.25).abs() < 1e-9);
        assert_eq!(fitted_exponent(&times[..5]), None, "too few points");
    }
}
