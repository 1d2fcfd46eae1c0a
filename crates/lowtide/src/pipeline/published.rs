//! Both passes of paper 2 as published ([`published`](crate::twopass::published)): the outcome of a kernel.

use super::region::{by_cuts, start};
use super::verify::{InternalError, outcome};
use super::{Algorithm, Settings};
use crate::outcome::{KernelOutcome, Passes};
use crate::problem::Problem;
use crate::schedule::Schedule;
use crate::session::SharedProblem;
use crate::twopass::published::{Found, schedule};

/// Run both passes. Return the waves that the second pass keeps, and the result of each region.
fn both_passes(shared: &[SharedProblem], most: u32, settings: Settings) -> (u32, Vec<Found>) {
    let algorithm = settings.tuning.start.unwrap_or(Algorithm::LAST_USE_COUNT);
    let problems: Vec<Problem> = shared.iter().map(|shared| shared.problem().clone()).collect();
    let starts = problems.iter().map(|problem| start(problem, algorithm, settings).order().to_vec());
    schedule(&problems, starts.collect(), most, settings.tuning.pruning, settings.budget)
}

/// The outcome of a kernel. Bounds on registers are those by cuts, as for other algorithms.
pub(super) fn kernel_outcome(
    shared: &[SharedProblem],
    most: u32,
    settings: Settings,
) -> Result<KernelOutcome, InternalError> {
    let (waves, found) = both_passes(shared, most, settings);
    let mut kernel = KernelOutcome::new(most);
    let bounds: Vec<_> = shared.iter().map(SharedProblem::peak_bounds).collect();
    for ((shared, found), bounds) in shared.iter().zip(&found).zip(&bounds) {
        let peaks: Vec<u32> = bounds.iter().map(|(peak, _)| *peak).collect();
        let by_cuts = shared.problem().registers().occupancy(&peaks);
        let bound = by_cuts.min(found.waves_bound.unwrap_or(u32::MAX));
        kernel.occupancy_bound = kernel.occupancy_bound.min(bound);
    }
    for ((shared, found), bounds) in shared.iter().zip(found).zip(bounds) {
        let problem = shared.problem().clone().with_most_waves(kernel.occupancy_bound);
        let schedule = Schedule::in_order(&problem, found.order);
        let bounds = by_cuts(&bounds, found.length_bound);
        let mut region = outcome(&problem, settings.algorithm, schedule, bounds)?;
        region.passes = Some(Passes {
            is_asked: found.is_searched,
            is_searched: found.is_searched,
            is_improved: found.is_improved,
            waves,
            start_length: found.start_length,
        });
        kernel.regions.push(region);
    }
    kernel.count_waves(shared.iter().map(SharedProblem::problem));
    Ok(kernel)
}

/// The schedule of a region that is a kernel of its own.
pub(super) fn alone(shared: &SharedProblem, settings: Settings) -> Schedule {
    let most = shared.problem().most_waves();
    let (_, found) = both_passes(std::slice::from_ref(shared), most, settings);
    let order = found.into_iter().next().map(|found| found.order);
    order.map_or_else(
        || Schedule::source(shared.problem()),
        |order| Schedule::in_order(shared.problem(), order),
    )
}
