//! `lowtide bench minreg --constraints`: the exact search against two constraint models, on a sample of the regions.
//!
//! # The sample
//! The distinct graphs are sorted by size, and by fingerprint where sizes are equal. The list is cut into as many slices of equal length as
//! regions are asked for, and the middle one of each is taken. So the sample has the sizes that the input has, and depends on
//! nothing but the graphs, not on the order of the files.
//!
//! # The times
//! Everything that a method needs from the bare region to its answer counts: for `exact`, the order it starts from, and all other bounds that
//! it comes with, in the first run on the region, when nothing is in the cache; for `cp`, the order of `default`, the bound by cuts, and the making of the model. `cp` starts from what the cuts have made of the order of `default`. Where that meets the
//! bound, there is nothing left to ask the solver, and the time says more about our heuristic than about the model. So figures
//! are also given for the other regions alone. `cp-paper` gets neither an order nor a bound, as in the paper.
//!
//! Ratios need two times at which something was proven. Where a model runs out of time, its time is at least what it has used (the solver
//! sometimes stops a little before its limit): these ratios are lower limits, and kept apart.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use lowtide::analysis::closure::Closure;
use lowtide::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use lowtide::budget::Budget;
use lowtide::pipeline::{Algorithm, run, schedule_region};
use lowtide::problem::Problem;
use lowtide::schedule::Schedule;
use lowtide_cp::{Limits, Model, Solver, SolverError};
use rayon::prelude::*;
use serde::Serialize;

use super::measure::{check_bound, checked_peak};
use super::minreg::Distinct;
use super::proofs::median;
use crate::args::MinregArgs;
use crate::failure::Failure;
use crate::progress;
use crate::report::{grouped, table};

/// What became of the whole sample.
#[derive(Serialize)]
pub(super) struct Comparison {
    /// Distinct graphs of which the sample is a part.
    distinct: u64,
    regions: u64,
    sizes: Option<Sizes>,
    /// Of each model for each region.
    model_seconds: f64,
    exact: Counts,
    models: BTreeMap<&'static str, ModelFigures>,
    rows: Vec<Row>,
}

/// What a model amounts to.
#[derive(Serialize)]
struct ModelFigures {
    /// Regions for which the solver was not needed, since the order to start from meets the bound.
    without_solver: u64,
    all: Figures,
    /// Only the regions for which the solver was needed.
    with_solver: Figures,
}

#[derive(Serialize)]
struct Figures {
    #[serde(flatten)]
    counts: Counts,
    /// Time as a multiple of that of exact, where both prove the optimum.
    ratio: Option<Ratio>,
    /// The same where exact proves it and the model runs out of time: lower limits.
    ratio_at_least: Option<Ratio>,
    /// Regions that the model proves and exact does not.
    only_model: u64,
}

#[derive(Serialize)]
struct Counts {
    regions: u64,
    proved: u64,
    /// An order was found, but not proven to be optimal.
    found: u64,
    /// No order was found in time.
    nothing: u64,
    too_large: u64,
    seconds: f64,
    proved_sizes: Option<Sizes>,
}

#[derive(Serialize)]
struct Sizes {
    least: usize,
    median: f64,
    most: usize,
}

#[derive(Serialize, PartialEq, Debug)]
struct Ratio {
    regions: usize,
    geometric_mean: f64,
    median: f64,
}

/// What became of one region.
#[derive(Serialize)]
struct Row {
    kernel: String,
    region: String,
    size: usize,
    /// According to all that have proven one.
    optimum: Option<u32>,
    exact: Run,
    models: BTreeMap<&'static str, Run>,
}

/// What one method made of one region.
#[derive(Serialize, Clone, Copy)]
struct Run {
    end: End,
    peak: Option<u32>,
    bound: u32,
    seconds: f64,
    asked_solver: bool,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
enum End {
    Proved,
    Found,
    Nothing,
    TooLarge,
}

/// Takes a sample of the regions and gives it to everyone.
pub(super) fn measure(
    args: &MinregArgs,
    solver: &Solver,
    regions: Vec<Distinct>,
) -> Result<Comparison, Failure> {
    let distinct = regions.len() as u64;
    let sample = sample(regions, args.sample as usize);
    let progress = Progress::new(sample.len());
    // One at a time, since some take a thousand times as long as others.
    let rows = sample.par_iter().with_max_len(1).map(|region| Row::measure(region, args, solver, &progress));
    let rows: Result<Vec<Row>, Failure> = rows.collect();
    progress.bar.finish_and_clear();
    Ok(Comparison::new(distinct, args.model_budget, rows?))
}

/// So many regions, evenly spread over the sizes.
fn sample(mut regions: Vec<Distinct>, count: usize) -> Vec<Distinct> {
    regions.sort_unstable_by_key(|region| (region.region.len(), region.graph));
    let mut chosen = middles(regions.len(), count).peekable();
    let is_chosen = |position: usize| chosen.next_if_eq(&position).is_some();
    let chosen: Vec<bool> = (0..regions.len()).map(is_chosen).collect();
    let chosen = regions.into_iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen);
    chosen.map(|(region, _)| region).collect()
}

/// The positions in the middle of `slices` slices of equal length; all positions if there are not more.
fn middles(length: usize, slices: usize) -> impl Iterator<Item = usize> {
    let slices = slices.min(length);
    (0..slices).map(move |slice| (2 * slice + 1) * length / (2 * slices))
}

impl Row {
    fn measure(
        distinct: &Distinct,
        args: &MinregArgs,
        solver: &Solver,
        progress: &Progress,
    ) -> Result<Row, Failure> {
        let problem = distinct.problem()?;
        let size = distinct.region.len();
        let kernel = &distinct.kernel;
        progress.start("exact", size);
        let exact = run_exact(&problem, kernel, args.budget_of(size))?;
        progress.end(0, exact.end);
        let mut models = BTreeMap::new();
        for (position, model) in Model::ALL.into_iter().enumerate() {
            progress.start(model.name(), size);
            let run = run_model(&problem, model, solver, args.model_budget).map_err(|error| {
                let region = distinct.region.name();
                Failure::Message(format!("{} on kernel {kernel:?}, region {region}: {error}", model.name()))
            })?;
            progress.end(1 + position, run.end);
            models.insert(model.name(), run);
        }
        let runs = models.iter().map(|(name, run)| (*name, *run));
        let optimum = agreed_optimum([("exact", exact)].into_iter().chain(runs)).map_err(|what| {
            Failure::Message(format!("kernel {kernel:?}, region {}: {what}", distinct.region.name()))
        })?;
        let [kernel, region] = [kernel, distinct.region.name()].map(str::to_string);
        Ok(Row { kernel, region, size, optimum, exact, models })
    }
}

fn run_exact(problem: &Problem, kernel: &str, budget: Budget) -> Result<Run, Failure> {
    let began = Instant::now();
    let outcome = schedule_region(problem, Algorithm::Exact, budget);
    let seconds = began.elapsed().as_secs_f64();
    check_bound(problem, kernel, &outcome)?;
    let peak = checked_peak(problem, kernel, Algorithm::Exact, &outcome.schedule)?;
    Ok(Run {
        end: if outcome.optimal { End::Proved } else { End::Found },
        peak: Some(peak),
        bound: outcome.bounds.peaks[problem.primary_class().index()],
        seconds,
        asked_solver: false,
    })
}

/// A model, with all that has to be done before it can be made.
fn run_model(problem: &Problem, model: Model, solver: &Solver, time: Duration) -> Result<Run, SolverError> {
    let began = Instant::now();
    let region = problem.region();
    let class = problem.primary_class();
    let (start, bound, asked_solver) = match model {
        Model::Paper => (Schedule::source(problem).order().to_vec(), 0, true),
        Model::Improved => {
            let order = run(problem, Algorithm::Default, Budget::default()).order().to_vec();
            if region.len() > MOST_FOR_CUTS {
                (order, pressure_at_ends(region)[class.index()].0, true)
            } else {
                let closure = Closure::new(region);
                let rest = time.saturating_sub(began.elapsed()) / region.len() as u32;
                let budget = Budget { time_per_instr: Some(rest), ..Budget::UNLIMITED };
                let cuts = pressure_bound(region, class, &closure, &order, budget);
                (cuts.order, cuts.value, cuts.peak > cuts.value)
            }
        }
    };
    let limits = Limits { time: time.saturating_sub(began.elapsed()), ..Limits::default() };
    let answer = solver.solve(region, class, model, &start, bound, &limits);
    let seconds = began.elapsed().as_secs_f64();
    let (end, peak, bound) = match answer {
        Err(SolverError::TooLarge { .. }) => (End::TooLarge, None, bound),
        Err(error) => return Err(error),
        Ok(answer) => match (answer.proved, answer.peak) {
            (true, peak) => (End::Proved, peak, answer.bound),
            (false, Some(peak)) => (End::Found, Some(peak), answer.bound),
            (false, None) => (End::Nothing, None, answer.bound),
        },
    };
    Ok(Run { end, peak, bound, seconds, asked_solver })
}

/// The optimum that some have proven. An error if what one has found contradicts what another has proven.
fn agreed_optimum(runs: impl Iterator<Item = (&'static str, Run)> + Clone) -> Result<Option<u32>, String> {
    let peaks = runs.clone().filter_map(|(name, run)| Some((run.peak?, name)));
    let lowest = peaks.min();
    let highest = runs.clone().map(|(name, run)| (run.bound, name)).max();
    if let (Some((peak, by)), Some((bound, prover))) = (lowest, highest)
        && bound > peak
    {
        return Err(format!("{prover} has proven that no peak is below {bound}, but {by} has one of {peak}"));
    }
    // (All of these are equal now: each is a bound and a peak.)
    Ok(runs.filter(|(_, run)| run.end == End::Proved).find_map(|(_, run)| run.peak))
}

/// A bar that counts what has been tried, says what is being tried, and what has been proven so far.
struct Progress {
    bar: ProgressBar,
    tried: [AtomicU64; METHODS],
    proved: [AtomicU64; METHODS],
}

/// Exact, and the models.
const METHODS: usize = 1 + Model::ALL.len();

impl Progress {
    fn new(regions: usize) -> Self {
        let template = "{bar:30} {pos} of {len} runs, {elapsed}; {prefix}; now {msg}";
        let bar = progress::bar((regions * METHODS) as u64, template);
        let counters = || [(); METHODS].map(|()| AtomicU64::new(0));
        Progress { bar, tried: counters(), proved: counters() }
    }

    fn start(&self, method: &str, size: usize) {
        self.bar.set_message(format!("{method} on {size} instructions"));
    }

    fn end(&self, method: usize, end: End) {
        self.tried[method].fetch_add(1, Ordering::Relaxed);
        self.proved[method].fetch_add(u64::from(end == End::Proved), Ordering::Relaxed);
        let names = ["exact"].into_iter().chain(Model::ALL.into_iter().map(Model::name));
        let counts = names.enumerate().map(|(method, name)| {
            let [proved, tried] =
                [&self.proved, &self.tried].map(|counters| counters[method].load(Ordering::Relaxed));
            format!("{name} {proved}/{tried}")
        });
        self.bar.set_prefix(format!("proven: {}", counts.collect::<Vec<_>>().join(", ")));
        self.bar.inc(1);
    }
}

impl Comparison {
    fn new(distinct: u64, time: Duration, rows: Vec<Row>) -> Self {
        let figures = |model: Model| {
            let pairs = || rows.iter().filter_map(|row| Some((row, row.models.get(model.name())?)));
            let with_solver = || pairs().filter(|(_, run)| run.asked_solver);
            let figures = ModelFigures {
                without_solver: (pairs().count() - with_solver().count()) as u64,
                all: Figures::new(&pairs().collect::<Vec<_>>()),
                with_solver: Figures::new(&with_solver().collect::<Vec<_>>()),
            };
            (model.name(), figures)
        };
        Comparison {
            distinct,
            regions: rows.len() as u64,
            sizes: Sizes::new(rows.iter().map(|row| row.size)),
            model_seconds: time.as_secs_f64(),
            exact: Counts::new(&rows.iter().map(|row| (row, &row.exact)).collect::<Vec<_>>()),
            models: Model::ALL.into_iter().map(figures).collect(),
            rows,
        }
    }

    /// `budget` is that of exact, in words.
    pub(super) fn as_text(&self, budget: &str) -> String {
        let mut text = format!(
            "Against constraint models, on {} of {} distinct graphs{}:\n\
             {} s for each model and region on one thread; {budget} for exact\n\n\
             {}\n\n\
             No two of them disagree. \"median\" and \"most\" are sizes of the regions that are proven.\n\n\
             Time as a multiple of that of exact, where both prove the optimum; and where only exact does, at least:\n{}",
            grouped(self.regions),
            grouped(self.distinct),
            self.sizes.as_ref().map_or_else(String::new, Sizes::in_words),
            self.model_seconds,
            self.counts_table(),
            self.ratios_table(),
        );
        for (name, model) in self.models.iter().filter(|(_, model)| model.without_solver > 0) {
            text += &format!(
                "\n\n{name} needs no solver for {} of the regions, since the order it starts from meets the bound by cuts.",
                grouped(model.without_solver)
            );
        }
        text
    }

    /// Each model with its figures; a second time for the regions that need the solver, if there are others.
    fn lines(&self) -> Vec<(String, &Figures)> {
        let mut lines = Vec::new();
        for (name, model) in &self.models {
            lines.push((name.to_string(), &model.all));
            if model.without_solver > 0 {
                lines.push((format!("{name}, solver needed"), &model.with_solver));
            }
        }
        lines
    }

    fn counts_table(&self) -> String {
        let header =
            ["", "regions", "proven", "found", "nothing", "too large", "median", "most", "seconds in all"];
        let mut rows = table(1, &header);
        let models = self.lines().into_iter().map(|(name, figures)| (name, &figures.counts));
        for (name, counts) in [("exact".to_string(), &self.exact)].into_iter().chain(models) {
            let Counts { regions, proved, found, nothing, too_large, .. } = *counts;
            let mut cells = vec![name];
            cells.extend([regions, proved, found, nothing, too_large].map(grouped));
            let sizes = counts.proved_sizes.as_ref();
            cells.push(sizes.map_or_else(String::new, |sizes| format!("{:.0}", sizes.median)));
            cells.push(sizes.map_or_else(String::new, |sizes| grouped(sizes.most as u64)));
            cells.push(format!("{:.2}", counts.seconds));
            rows.add_row(cells);
        }
        rows.to_string()
    }

    fn ratios_table(&self) -> String {
        let header =
            ["", "both", "geo. mean", "median", "only exact", "geo. mean >=", "median >=", "only model"];
        let mut rows = table(1, &header);
        for (name, figures) in self.lines() {
            let mut cells = vec![name];
            for ratio in [&figures.ratio, &figures.ratio_at_least] {
                match ratio {
                    Some(ratio) => cells.extend([
                        grouped(ratio.regions as u64),
                        format!("{:.1}", ratio.geometric_mean),
                        format!("{:.1}", ratio.median),
                    ]),
                    None => cells.extend(["0", "", ""].map(str::to_string)),
                }
            }
            cells.push(grouped(figures.only_model));
            rows.add_row(cells);
        }
        rows.to_string()
    }
}

impl Figures {
    fn new(runs: &[(&Row, &Run)]) -> Self {
        let ratios = |ends: &[End]| {
            let both =
                runs.iter().filter(|(row, run)| row.exact.end == End::Proved && ends.contains(&run.end));
            Ratio::new(both.map(|(row, run)| run.seconds / row.exact.seconds.max(1e-9)).collect())
        };
        let only_model = |(row, run): &&(&Row, &Run)| row.exact.end != End::Proved && run.end == End::Proved;
        Figures {
            counts: Counts::new(runs),
            ratio: ratios(&[End::Proved]),
            ratio_at_least: ratios(&[End::Found, End::Nothing]),
            only_model: runs.iter().filter(only_model).count() as u64,
        }
    }
}

impl Counts {
    fn new(runs: &[(&Row, &Run)]) -> Self {
        let count = |end: End| runs.iter().filter(|(_, run)| run.end == end).count() as u64;
        let proved = runs.iter().filter(|(_, run)| run.end == End::Proved);
        Counts {
            regions: runs.len() as u64,
            proved: count(End::Proved),
            found: count(End::Found),
            nothing: count(End::Nothing),
            too_large: count(End::TooLarge),
            // (An empty sum of floating-point numbers would be minus zero.)
            seconds: runs.iter().fold(0.0, |sum, (_, run)| sum + run.seconds),
            proved_sizes: Sizes::new(proved.map(|(row, _)| row.size)),
        }
    }
}

impl Sizes {
    fn new(sizes: impl Iterator<Item = usize> + Clone) -> Option<Self> {
        let mut all: Vec<f64> = sizes.clone().map(|size| size as f64).collect();
        Some(Sizes { least: sizes.clone().min()?, median: median(&mut all)?, most: sizes.max()? })
    }

    fn in_words(&self) -> String {
        format!(
            " of {} to {} instructions (median {:.0})",
            self.least,
            grouped(self.most as u64),
            self.median
        )
    }
}

impl Ratio {
    fn new(mut ratios: Vec<f64>) -> Option<Self> {
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.max(1e-12).ln()).sum();
        let geometric_mean = (logarithms / ratios.len() as f64).exp();
        Some(Ratio { regions: ratios.len(), geometric_mean, median: median(&mut ratios)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly() {
        assert_eq!(middles(9, 3).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(middles(10, 3).collect::<Vec<_>>(), [1, 5, 8]);
        assert_eq!(middles(3, 60).collect::<Vec<_>>(), [0, 1, 2], "all, if there are not more");
        assert_eq!(middles(0, 60).count(), 0);
    }

    fn run(end: End, peak: Option<u32>, bound: u32, seconds: f64) -> Run {
        Run { end, peak, bound, seconds, asked_solver: seconds > 1.0 }
    }

    #[test]
    fn contradictions_are_found() {
        let exact = ("exact", run(End::Proved, Some(5), 5, 1.0));
        let optimum = |other: Run| agreed_optimum([exact, ("cp", other)].into_iter());
        for fits in [run(End::Proved, Some(5), 5, 1.0), run(End::Found, Some(6), 3, 1.0)] {
            assert_eq!(optimum(fits), Ok(Some(5)));
        }
        assert_eq!(optimum(run(End::Nothing, None, 0, 1.0)), Ok(Some(5)));
        for (wrong, told) in [
            (
                run(End::Proved, Some(6), 6, 1.0),
                "cp has proven that no peak is below 6, but exact has one of 5",
            ),
            (
                run(End::Found, Some(4), 2, 1.0),
                "exact has proven that no peak is below 5, but cp has one of 4",
            ),
            (
                run(End::Nothing, None, 6, 1.0),
                "cp has proven that no peak is below 6, but exact has one of 5",
            ),
        ] {
            assert_eq!(optimum(wrong), Err(told.to_string()));
        }
        let open = [("exact", run(End::Found, Some(7), 5, 1.0)), ("cp", run(End::Found, Some(6), 4, 1.0))];
        assert_eq!(agreed_optimum(open.into_iter()), Ok(None));
    }

    #[test]
    fn ratios_of_proofs_and_of_timeouts_are_kept_apart() {
        let proved = |seconds| run(End::Proved, Some(5), 5, seconds);
        let row = |exact: Run, cp: Run| Row {
            kernel: "k".to_string(),
            region: "r".to_string(),
            size: 50,
            optimum: None,
            exact,
            models: BTreeMap::from([("cp", cp), ("cp-paper", run(End::TooLarge, None, 0, 9.0))]),
        };
        let rows = vec![
            row(proved(0.5), proved(1.0)),
            row(proved(0.5), proved(4.0)),
            row(proved(0.5), run(End::Found, Some(6), 4, 60.0)),
            row(run(End::Found, Some(6), 4, 1.0), proved(2.0)),
        ];
        let comparison = Comparison::new(9, Duration::from_secs(60), rows);
        let ratio = |regions, ratio| Some(Ratio { regions, geometric_mean: ratio, median: ratio });
        let close = |found: &Option<Ratio>, expected: Option<Ratio>| {
            let (found, expected) = (found.as_ref().unwrap(), expected.unwrap());
            assert_eq!(found.regions, expected.regions);
            assert!((found.geometric_mean - expected.geometric_mean).abs() < 1e-9, "{found:?}");
        };
        let cp = &comparison.models["cp"];
        assert_eq!((cp.all.counts.proved, cp.all.counts.found, cp.all.only_model), (3, 1, 1));
        assert_eq!((cp.without_solver, cp.with_solver.counts.regions), (1, 3));
        close(&cp.all.ratio, ratio(2, 4.0));
        close(&cp.all.ratio_at_least, ratio(1, 120.0));
        close(&cp.with_solver.ratio, ratio(1, 8.0));
        let paper = &comparison.models["cp-paper"].all;
        assert_eq!((paper.counts.too_large, &paper.ratio, &paper.ratio_at_least), (4, &None, &None));
        assert_eq!(comparison.exact.proved, 3);
        let text = comparison.as_text("1 ms");
        assert!(text.contains("on 4 of 9 distinct graphs of 50 to 50 instructions"), "{text}");
        assert!(text.contains("cp needs no solver for 1 of the regions"), "{text}");
    }
}
