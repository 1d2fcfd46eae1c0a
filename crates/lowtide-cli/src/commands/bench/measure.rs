//! What each min-register scheduler makes of one region.

use std::collections::BTreeMap;
use std::time::Instant;

use lowtide::budget::Budget;
use lowtide::check::bound::check_cut;
use lowtide::check::check;
use lowtide::outcome::Outcome;
use lowtide::pipeline::{Algorithm, run, schedule_region_with};
use lowtide::problem::Problem;
use lowtide::proof::Reason;
use lowtide::schedule::Schedule;

use serde::{Serialize, Serializer};

use crate::book::papers::chen::{self, Heuristic};
use crate::failure::Failure;
use crate::progress;

/// The schedulers that are compared, with what paper 1 reports of the same one.
pub(super) const ALGORITHMS: [(Algorithm, Option<&Heuristic>); 9] = [
    (Algorithm::Source, None),
    (Algorithm::Production, None),
    (Algorithm::SethiUllman, Some(&chen::TABLE_I)),
    (Algorithm::SuRp, Some(&chen::TABLE_II)),
    (Algorithm::SuRpAdjust, Some(&chen::TABLE_III)),
    (Algorithm::SuCluster, Some(&chen::TABLE_IV)),
    (Algorithm::SuClusterAdjust, Some(&chen::TABLE_V)),
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

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Each<'a> {
            kernel: &'a str,
            region: &'a str,
            n: usize,
            edges: usize,
            bound: u32,
            proof: Proof,
            peaks: BTreeMap<&'static str, u32>,
        }
        let peaks = ALGORITHMS.iter().zip(&self.results);
        let peaks = peaks.filter_map(|((algorithm, _), result)| Some((algorithm.name(), (*result)?.0)));
        Each {
            kernel: &self.kernel,
            region: &self.region,
            n: self.size,
            edges: self.edges,
            bound: self.bound,
            proof: self.proof,
            peaks: peaks.collect(),
        }
        .serialize(serializer)
    }
}

/// How the exact search ended.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
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
                    let found = schedule_region_with(problem, algorithm, budget, &progress::solved());
                    outcome.insert(found).schedule.clone()
                }
                _ => run(problem, algorithm, budget),
            };
            let seconds = start.elapsed().as_secs_f64();
            results.push(Some((checked_peak(problem, kernel, algorithm, &schedule)?, seconds)));
        }
        let wrong = |what: String| wrong_bound(problem, kernel, &what);
        let Some(outcome) = outcome else {
            return Err(Failure::Message("exact is not among the algorithms".to_string()));
        };
        let (bound, reason) = (outcome.bounds.peaks[class.index()], outcome.bounds.reasons[class.index()]);
        check_bound(problem, kernel, &outcome)?;
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

    /// A peak against the bound. Nothing live at all is as good as it gets.
    pub(super) fn ratio(&self, peak: u32) -> f64 {
        if peak == self.bound { 1.0 } else { f64::from(peak) / f64::from(self.bound.max(1)) }
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

/// The peak of a schedule, according to the checker: a benchmark of illegal schedules would be worthless.
pub(super) fn checked_peak(
    problem: &Problem,
    kernel: &str,
    algorithm: Algorithm,
    schedule: &Schedule,
) -> Result<u32, Failure> {
    let region = problem.region();
    let report = check(region, problem.target(), schedule).map_err(|violations| Failure::Illegal {
        algorithm: algorithm.name(),
        kernel: kernel.to_string(),
        region: region.name().to_string(),
        violation: violations[0].to_string(),
    })?;
    Ok(report.peaks[problem.primary_class().index()].between)
}

/// Proves the bound of exact again, if it is one by a cut. One with wrong bounds would be worthless, too.
pub(super) fn check_bound(problem: &Problem, kernel: &str, outcome: &Outcome) -> Result<(), Failure> {
    let class = problem.primary_class();
    match outcome.bounds.reasons[class.index()] {
        Reason::Cut(moment) => {
            check_cut(problem.region(), class, moment, outcome.bounds.peaks[class.index()])
                .map_err(|fault| wrong_bound(problem, kernel, &fault.to_string()))
        }
        _ => Ok(()),
    }
}

fn wrong_bound(problem: &Problem, kernel: &str, what: &str) -> Failure {
    let region = problem.region().name();
    Failure::Message(format!("the bound of exact for kernel {kernel:?}, region {region} is wrong: {what}"))
}
