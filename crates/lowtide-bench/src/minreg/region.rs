//! The measurement of one region: all algorithms, with the independent checker behind them.

use std::time::Instant;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::bound::check_cut;
use lowtide::check::check;
use lowtide::outcome::Outcome;
use lowtide::problem::{Goal, Problem};
use lowtide::proof::Reason;
use lowtide::region::Region;
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide_tool::Failure;
use lowtide_tool::solve::Run;

use super::row::{ALGORITHMS, Proof, Row};

/// The first region with its graph.
pub(super) struct Distinct<'a> {
    pub(super) region: Region,
    pub(super) kernel: String,
    pub(super) target: &'a Target,
    /// The fingerprint of its graph.
    pub(super) graph: u128,
}

impl Distinct<'_> {
    /// Return the region as a problem on its target.
    pub(super) fn problem(&self) -> Result<Problem<'_>, Failure> {
        Problem::new(&self.region, self.target, Goal::MinReg).map_err(Failure::target(&self.kernel))
    }
}

/// Run all algorithms on a region. Only `exact` has a budget.
pub(super) fn measure_region(problem: &Problem, kernel: &str, budget: Budget) -> Result<Row, Failure> {
    let region = problem.region();
    let class = problem.primary_class();
    let mut results = Vec::new();
    let mut outcome = None;
    for algorithm in ALGORITHMS {
        if algorithm == Algorithm::PRODUCTION && region.production().is_none() {
            results.push(None);
            continue;
        }
        let start = Instant::now();
        let schedule = match algorithm == Algorithm::EXACT {
            true => {
                let found = Run::new().schedule_region(kernel, problem, algorithm, budget)?;
                outcome.insert(found).schedule.clone()
            }
            false => Run::new().schedule(kernel, problem, algorithm, budget)?,
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
    for (algorithm, result) in ALGORITHMS.into_iter().zip(&results) {
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

/// Return the peak of a schedule according to the checker.
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

/// Prove the bound of `exact` again, if a cut is its reason.
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
