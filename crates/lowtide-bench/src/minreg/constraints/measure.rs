//! The sample, and the measurement of all methods on it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use lowtide::algorithm::Algorithm;
use lowtide::analysis::closure::Closure;
use lowtide::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use lowtide::budget::Budget;
use lowtide::list::few_registers::few_registers;
use lowtide::problem::Problem;
use lowtide::schedule::Schedule;
use lowtide_cp::{Limits, Model, Solver, SolverError};
use lowtide_tool::{Failure, progress};
use rayon::prelude::*;

use super::document::{Comparison, End, Row, Run};
use crate::minreg::args::MinregArgs;
use crate::minreg::region::{Distinct, check_bound, checked_peak};

/// Take a sample of the regions, and measure all methods on it.
pub(in super::super) fn measure(
    args: &MinregArgs,
    solver: &Solver,
    regions: Vec<Distinct>,
) -> Result<Comparison, Failure> {
    let distinct = regions.len() as u64;
    let sample = sample(regions, args.sample as usize);
    let progress = Progress::new(sample.len());
    // One at a time, since some take a thousand times as long as others.
    let rows =
        sample.par_iter().with_max_len(1).map(|region| measure_region(region, args, solver, &progress));
    let rows: Result<Vec<Row>, Failure> = rows.collect();
    progress.bar.finish_and_clear();
    Ok(Comparison::new(distinct, args.model_budget, rows?))
}

/// Return `count` regions, evenly spread over the sizes.
fn sample(mut regions: Vec<Distinct>, count: usize) -> Vec<Distinct> {
    regions.sort_unstable_by_key(|region| (region.region.len(), region.graph));
    let mut chosen = middles(regions.len(), count).peekable();
    let is_chosen = |position: usize| chosen.next_if_eq(&position).is_some();
    let chosen: Vec<bool> = (0..regions.len()).map(is_chosen).collect();
    let chosen = regions.into_iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen);
    chosen.map(|(region, _)| region).collect()
}

/// Return the middle positions of `slices` slices of equal length. There are never more slices than
/// positions.
fn middles(length: usize, slices: usize) -> impl Iterator<Item = usize> {
    let slices = slices.min(length);
    (0..slices).map(move |slice| (2 * slice + 1) * length / (2 * slices))
}

/// Run all methods on a region.
fn measure_region(
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

fn run_exact(problem: &Problem, kernel: &str, budget: Budget) -> Result<Run, Failure> {
    let began = Instant::now();
    let outcome =
        lowtide_tool::solve::Run::new().schedule_region(kernel, problem, Algorithm::EXACT, budget)?;
    let seconds = began.elapsed().as_secs_f64();
    check_bound(problem, kernel, &outcome)?;
    let peak = checked_peak(problem, kernel, Algorithm::EXACT, &outcome.schedule)?;
    Ok(Run {
        end: if outcome.optimal { End::Proved } else { End::Found },
        peak: Some(peak),
        bound: outcome.bounds.peaks[problem.primary_class().index()],
        seconds,
        asked_solver: false,
    })
}

/// Run a constraint model. The time includes the initial order and bound.
fn run_model(problem: &Problem, model: Model, solver: &Solver, time: Duration) -> Result<Run, SolverError> {
    let began = Instant::now();
    let region = problem.region();
    let class = problem.primary_class();
    let (start, bound, asked_solver) = match model {
        Model::Paper | Model::Program => (Schedule::source(problem).order().to_vec(), 0, true),
        Model::Improved => {
            let order = few_registers(problem);
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

/// Return the proven optimum, if there is one. It is an error if a peak of one method contradicts the bound
/// of another.
fn agreed_optimum(runs: impl Iterator<Item = (&'static str, Run)> + Clone) -> Result<Option<u32>, String> {
    let peaks = runs.clone().filter_map(|(name, run)| Some((run.peak?, name)));
    let lowest = peaks.min();
    let highest = runs.clone().map(|(name, run)| (run.bound, name)).max();
    if let (Some((peak, by)), Some((bound, prover))) = (lowest, highest)
        && bound > peak
    {
        return Err(format!("{prover} has proven that no peak is below {bound}, but {by} has one of {peak}"));
    }
    // All proven optima are equal here: each is both a bound and a peak.
    Ok(runs.filter(|(_, run)| run.end == End::Proved).find_map(|(_, run)| run.peak))
}

/// A bar that shows the runs done, the current run, and the proofs so far.
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
}
