//! What each min-register scheduler makes of one region.

use std::time::Instant;

use lowtide::pipeline::{Algorithm, run, schedule_region};
use lowtide::problem::Problem;
use lowtide::schedule::check::check;
use lowtide::schedule::check_bound::check_cut;
use lowtide::schedule::{Budget, Reason, Schedule};

use crate::failure::Failure;

/// The schedulers that are compared, with the table of paper 1 that has the same one and its mean ratio there.
pub(super) const ALGORITHMS: [(Algorithm, Option<(&str, f64)>); 9] = [
    (Algorithm::Source, None),
    (Algorithm::Production, None),
    (Algorithm::SethiUllman, Some(("I", 1.437))),
    (Algorithm::SuRp, Some(("II", 1.418))),
    (Algorithm::SuRpAdjust, Some(("III", 1.376))),
    (Algorithm::SuCluster, Some(("IV", 1.171))),
    (Algorithm::SuClusterAdjust, Some(("V", 1.194))),
    (Algorithm::Default, None),
    (Algorithm::Exact, None),
];

/// What became of one region.
pub(super) struct Row {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) size: usize,
    pub(super) edges: usize,
    /// No order has a lower peak.
    pub(super) bound: u32,
    pub(super) proof: Proof,
    /// Peak and seconds of each algorithm; none for production where no order is recorded.
    pub(super) results: Vec<Option<(u32, f64)>>,
}

/// How the exact search ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Its schedule meets a bound by a cut.
    Cut,
    /// It has found that nothing is better.
    Search,
    /// It ran out of its budget.
    Timeout,
}

impl Row {
    /// Runs all algorithms on a region. Only the exact one has a budget.
    pub(super) fn measure(problem: &Problem, kernel: &str, budget: Budget) -> Result<Row, Failure> {
        let region = problem.region();
        let class = problem.primary_class();
        // A benchmark of illegal schedules would be worthless.
        let checked_peak = |algorithm: Algorithm, schedule: &Schedule| {
            let report =
                check(region, problem.target(), schedule).map_err(|violations| Failure::Illegal {
                    algorithm: algorithm.name(),
                    kernel: kernel.to_string(),
                    region: region.name().to_string(),
                    violation: violations[0].to_string(),
                })?;
            Ok::<u32, Failure>(report.peaks[class.index()].between)
        };
        let mut results = Vec::new();
        let mut outcome = None;
        for (algorithm, _) in ALGORITHMS {
            if algorithm == Algorithm::Production && region.production().is_none() {
                results.push(None);
                continue;
            }
            let start = Instant::now();
            let schedule = match algorithm {
                Algorithm::Exact => {
                    outcome.insert(schedule_region(problem, algorithm, budget)).schedule.clone()
                }
                _ => run(problem, algorithm, budget),
            };
            let seconds = start.elapsed().as_secs_f64();
            results.push(Some((checked_peak(algorithm, &schedule)?, seconds)));
        }
        let wrong = |what: String| {
            Failure::Message(format!(
                "the bound of exact for kernel {kernel:?}, region {} is wrong: {what}",
                region.name()
            ))
        };
        let Some(outcome) = outcome else {
            return Err(Failure::Message("exact is not among the algorithms".to_string()));
        };
        let (bound, reason) = (outcome.bounds.peaks[class.index()], outcome.bounds.reasons[class.index()]);
        // So would one with wrong bounds.
        if let Reason::Cut(moment) = reason {
            check_cut(region, class, moment, bound).map_err(|fault| wrong(fault.to_string()))?;
        }
        for ((algorithm, _), result) in ALGORITHMS.into_iter().zip(&results) {
            if let Some((peak, _)) = result.filter(|(peak, _)| *peak < bound) {
                return Err(wrong(format!("at least {bound}, but {} has {peak}", algorithm.name())));
            }
        }
        let proof = match reason {
            _ if !outcome.optimal => Proof::Timeout,
            Reason::Cut(_) => Proof::Cut,
            _ => Proof::Search,
        };
        Ok(Row {
            kernel: kernel.to_string(),
            region: region.name().to_string(),
            size: region.len(),
            edges: region.edge_count(),
            bound,
            proof,
            results,
        })
    }

    /// Peak and seconds of an algorithm that ran.
    pub(super) fn of(&self, algorithm: Algorithm) -> Option<(u32, f64)> {
        let position = ALGORITHMS.iter().position(|(other, _)| *other == algorithm)?;
        self.results[position]
    }

    /// The lowest peak of all algorithms.
    pub(super) fn best(&self) -> u32 {
        self.results.iter().flatten().map(|(peak, _)| *peak).min().unwrap_or(self.bound)
    }

    pub(super) fn is_proved(&self) -> bool {
        self.proof != Proof::Timeout
    }

    /// Seconds that the exact search took.
    pub(super) fn seconds(&self) -> f64 {
        self.of(Algorithm::Exact).map_or(0.0, |(_, seconds)| seconds)
    }
}
