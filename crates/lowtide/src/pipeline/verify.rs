//! The one place where schedules leave the library: each is checked, and its proof is put beside it.
//!
//! A user runs code in the order of a schedule, so a mistake of ours must not get out. The independent
//! [checker](crate::check) looks at every schedule, in release builds too, and counts the figures again. This
//! takes less than a hundredth of the time of the fastest algorithm.

use thiserror::Error;

use crate::algorithm::Algorithm;
use crate::check::{check, waves_of_kernel};
use crate::groups::Groups;
use crate::outcome::{KernelOutcome, Outcome};
use crate::problem::{Goal, Measure, Problem};
use crate::proof::Bounds;
use crate::schedule::Schedule;
use crate::target::TargetError;

/// Why a kernel cannot be scheduled.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The target does not fit the region.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A scheduler made a mistake: please report it.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// A mistake of a scheduler that the checker has found.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("internal error: algorithm {algorithm}, region {region:?}: {mistake}")]
#[non_exhaustive]
pub struct InternalError {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The name of the region.
    pub region: String,
    /// What the checker says.
    pub mistake: String,
}

impl InternalError {
    /// A mistake of an algorithm in a region.
    pub fn new(algorithm: Algorithm, region: &str, mistake: String) -> Self {
        InternalError { algorithm: algorithm.name(), region: region.to_string(), mistake }
    }
}

/// A schedule that the checker accepts, with its figures.
pub(crate) fn verified(
    problem: &Problem,
    algorithm: Algorithm,
    schedule: &Schedule,
) -> Result<Measure, InternalError> {
    let region = problem.region();
    let fail = |mistake: String| InternalError::new(algorithm, region.name(), mistake);
    let report = check(region, problem.target(), schedule).map_err(|violations| {
        let first = violations.first().map(ToString::to_string);
        fail(format!("illegal schedule: {}", first.unwrap_or_default()))
    })?;
    let measure = problem.measure(schedule);
    match problem.agrees(&measure, &report) {
        true => Ok(measure),
        false => Err(fail(format!("the figures {measure:?} of a schedule are wrong: it has {report:?}"))),
    }
}

/// Check the waves of a kernel, whose schedules are checked.
pub(crate) fn verified_kernel<'p, 'a: 'p>(
    problems: impl Iterator<Item = &'p Problem<'a>>,
    algorithm: Algorithm,
    most: u32,
    outcome: &KernelOutcome,
) -> Result<(), InternalError> {
    let mut problems = problems.peekable();
    let Some(first) = problems.peek().copied() else { return Ok(()) };
    let peaks = outcome.regions.iter().map(|region| &region.measure.peaks[..]);
    let waves = waves_of_kernel(first.target(), problems.map(Problem::region).zip(peaks)).min(most);
    let (found, bound) = (outcome.occupancy, outcome.occupancy_bound);
    match found == waves && found <= bound {
        true => Ok(()),
        false => {
            let mistake = format!("a kernel with {waves} waves is said to have {found} of at most {bound}");
            Err(InternalError::new(algorithm, first.region().name(), mistake))
        }
    }
}

/// The outcome of a schedule: checked, with what its bounds prove.
pub(crate) fn outcome(
    problem: &Problem,
    algorithm: Algorithm,
    schedule: Schedule,
    bounds: Bounds,
) -> Result<Outcome, InternalError> {
    let measure = verified(problem, algorithm, &schedule)?;
    let registers = problem.registers();
    let proven_waves = problem.spilled_to_memory(&measure) == registers.spilled_to_memory(&bounds.peaks)
        && measure.occupancy >= registers.occupancy(&bounds.peaks).min(problem.most_waves());
    let proven_length = measure.length == bounds.length;
    // Registers over a limit come before the length.
    let mut classes = measure.peaks.iter().zip(&bounds.peaks).zip(problem.limits());
    let is_within = classes.all(|((peak, bound), limit)| peak.between <= *limit.max(bound));
    let optimal = match problem.goal() {
        Goal::MinReg => {
            let primary = problem.primary_class().index();
            measure.peaks.get(primary).map(|peak| peak.between) == bounds.peaks.get(primary).copied()
        }
        Goal::Occupancy => proven_waves && is_within && proven_length,
        Goal::Length => is_within && proven_length,
        // Whether other waves are better is a matter of the kernel.
        Goal::Throughput => measure.spilled == registers.spilled(&bounds.peaks) && is_within && proven_length,
    };
    let (pairs, broken_pairs) = Groups::pairs_and_broken(problem.region(), schedule.order());
    Ok(Outcome {
        frequency: 1,
        pairs,
        broken_pairs,
        issue_cycles: problem.issue_cycles(),
        spill_cycles: problem.spill_cycles(|class| measure.peaks[class.index()].between),
        schedule,
        measure,
        bounds,
        proven_waves,
        optimal,
        passes: None,
        searches: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::generate::{Shape, region};
    use crate::pipeline::schedule_region;
    use crate::session::Session;
    use crate::target::Target;

    #[test]
    fn wrong_results_do_not_leave() {
        let region = region(Shape::UnrolledLoop, 40, 1);
        let target = Target::builtin("gfx906").unwrap();
        let problem = Problem::new(&region, &target, Goal::Occupancy).unwrap();
        let session = Session::new();
        let found = schedule_region(&problem, Algorithm::LIST, Budget::UNLIMITED, &session).unwrap();
        assert_eq!(verified(&problem, Algorithm::LIST, &found.schedule), Ok(found.measure));

        let mut order = found.schedule.order().to_vec();
        order.reverse();
        let illegal = Schedule::from_parts(order, found.schedule.cycles().to_vec());
        let error = outcome(&problem, Algorithm::LIST, illegal, found.bounds).unwrap_err();
        assert!(error.to_string().starts_with("internal error: algorithm list, region"), "{error}");
        assert!(error.mistake.starts_with("illegal schedule: "), "{error}");
    }
}
