//! `lowtide bench`: the papers' tables, measured on the given files.

use std::collections::BTreeMap;
use std::time::Instant;

use indicatif::ParallelProgressIterator;
use lowtide::analysis::closure::Closure;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use lowtide::pipeline::{Algorithm, run};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::schedule::Budget;
use lowtide::schedule::check::check;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::{print, print_json};
use crate::args::MinregArgs;
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel, progress_bar};
use crate::report::{grouped, table};

/// The schedulers that are compared, with the table of paper 1 that has the same one and its mean ratio there.
const ALGORITHMS: [(Algorithm, Option<(&str, f64)>); 8] = [
    (Algorithm::Source, None),
    (Algorithm::Production, None),
    (Algorithm::SethiUllman, Some(("I", 1.437))),
    (Algorithm::SuRp, Some(("II", 1.418))),
    (Algorithm::SuRpAdjust, Some(("III", 1.376))),
    (Algorithm::SuCluster, Some(("IV", 1.171))),
    (Algorithm::SuClusterAdjust, Some(("V", 1.194))),
    (Algorithm::Default, None),
];

/// A peak of so many times the optimum is an outlier.
const OUTLIER: f64 = 1.5;

#[derive(Serialize, Default)]
struct Document {
    regions: u64,
    /// Regions that were read and have the graph of another one.
    repeated: u64,
    instructions: u64,
    /// Regions whose optimum is known: some schedule meets the lower bound.
    proved: u64,
    timeouts: u64,
    /// Over the regions whose optimum is known.
    algorithms: BTreeMap<&'static str, Totals>,
    /// Over all regions, against the lower bound instead of the optimum.
    against_bound: BTreeMap<&'static str, Totals>,
    /// The time of `default` grows with this power of the size, on regions of 100 instructions and more.
    default_exponent: Option<f64>,
}

#[derive(Serialize, Default, Clone)]
struct Totals {
    optimal: u64,
    outliers: u64,
    mean_ratio: f64,
    seconds: f64,
    /// Mean instructions, and edges for each of them, of the regions that are optimal and of the outliers.
    optimal_size: f64,
    optimal_density: f64,
    outlier_size: f64,
    outlier_density: f64,
}

/// What became of one region.
struct Row {
    size: usize,
    edges: usize,
    bound: u32,
    /// Peak and seconds of each algorithm; none for production where no order is recorded.
    results: Vec<Option<(u32, f64)>>,
}

pub(crate) fn minreg(args: &MinregArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let mut document = Document::default();
    let mut seen = FxHashSet::default();
    let mut regions = Vec::new();
    for_each_kernel(
        &args.input,
        |mut kernel| {
            let target = targets.of(&kernel)?;
            let fits = |region: &Region| {
                (args.min_size..=args.max_size.unwrap_or(usize::MAX)).contains(&region.len())
            };
            let regions: Vec<Region> = kernel.regions.drain(..).filter(fits).collect();
            if let Some(region) = regions.first() {
                Problem::new(region, target, Goal::MinReg)
                    .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })?;
            }
            let found =
                regions.into_iter().map(|region| (fingerprint(&region), region, kernel.name.clone(), target));
            Ok(found.collect::<Vec<_>>())
        },
        |found| {
            for (graph, region, kernel, target) in found {
                match seen.insert(graph) {
                    true => regions.push((region, kernel, target)),
                    false => document.repeated += 1,
                }
            }
            Ok(())
        },
    )?;
    if regions.is_empty() {
        return Err(Failure::Message("no region has a size in the range that was asked for".to_string()));
    }
    let bar = progress_bar(regions.len() as u64, "{bar:40} {pos} of {len} regions, {elapsed}, {eta} left");
    let rows: Result<Vec<Row>, Failure> = (regions.par_iter().progress_with(bar.clone()))
        .map(|(region, kernel, target)| {
            let problem = Problem::new(region, target, Goal::MinReg)
                .map_err(|error| Failure::Target { kernel: kernel.clone(), error })?;
            measure(&problem, kernel)
        })
        .collect();
    bar.finish_and_clear();
    document.fill(&rows?);
    match args.json {
        true => print_json(&document),
        false => print(&document.as_text(args)),
    }
}

fn measure(problem: &Problem, kernel: &str) -> Result<Row, Failure> {
    let region = problem.region();
    let class = problem.primary_class();
    let mut results = Vec::new();
    let mut hint = None;
    for (algorithm, _) in ALGORITHMS {
        if algorithm == Algorithm::Production && region.production().is_none() {
            results.push(None);
            continue;
        }
        let start = Instant::now();
        let schedule = run(problem, algorithm);
        let seconds = start.elapsed().as_secs_f64();
        // A benchmark of illegal schedules would be worthless.
        let report = check(region, problem.target(), &schedule).map_err(|violations| Failure::Illegal {
            algorithm: algorithm.name(),
            kernel: kernel.to_string(),
            region: region.name().to_string(),
            violation: violations[0].to_string(),
        })?;
        results.push(Some((report.peaks[class.index()].between, seconds)));
        hint = Some(schedule);
    }
    let bound = match hint {
        Some(hint) if region.len() <= MOST_FOR_CUTS => {
            let closure = Closure::new(region);
            pressure_bound(region, class, &closure, hint.order(), Budget::default()).value
        }
        _ => pressure_at_ends(region)[class.index()].0,
    };
    Ok(Row { size: region.len(), edges: region.edge_count(), bound, results })
}

impl Document {
    fn fill(&mut self, rows: &[Row]) {
        self.regions = rows.len() as u64;
        self.instructions = rows.iter().map(|row| row.size as u64).sum();
        let best = |row: &Row| row.results.iter().flatten().map(|(peak, _)| *peak).min();
        let proved: Vec<&Row> = rows.iter().filter(|row| best(row) == Some(row.bound)).collect();
        self.proved = proved.len() as u64;
        self.timeouts = self.regions - self.proved;
        let all: Vec<&Row> = rows.iter().collect();
        for (position, (algorithm, _)) in ALGORITHMS.into_iter().enumerate() {
            self.algorithms.insert(algorithm.name(), Totals::new(&proved, position));
            self.against_bound.insert(algorithm.name(), Totals::new(&all, position));
        }
        let of_default = ALGORITHMS.iter().position(|(algorithm, _)| *algorithm == Algorithm::Default);
        let times = rows.iter().filter(|row| row.size >= 100).filter_map(|row| {
            let (_, seconds) = of_default.and_then(|position| row.results[position])?;
            Some((row.size as f64, seconds))
        });
        self.default_exponent = fitted_exponent(&times.collect::<Vec<_>>());
    }

    fn as_text(&self, args: &MinregArgs) -> String {
        let most = args.max_size.map_or_else(|| "more".to_string(), |size| size.to_string());
        let mut text = format!(
            "{} distinct graphs of {} to {most} instructions ({} instructions; {} regions were repetitions)\n\
             the optimum is known for {}: some schedule meets the lower bound\n\n\
             Against the optimum, where it is known:\n{}\n\n\
             Against the lower bound, on all regions (the optimum may be higher, so these are upper limits):\n{}",
            grouped(self.regions),
            args.min_size,
            grouped(self.instructions),
            grouped(self.repeated),
            grouped(self.proved),
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
            paper.map_or_else(String::new, |(number, ratio)| format!("{ratio:.3} ({number})")),
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
            // Nothing live at all is as good as it gets.
            let ratio = if peak == row.bound { 1.0 } else { f64::from(peak) / f64::from(row.bound.max(1)) };
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
