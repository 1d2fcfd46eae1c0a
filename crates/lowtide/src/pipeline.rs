//! Which algorithm when: the one place where algorithms are put together.
//!
//! Every run starts from the source order and keeps the better schedule, so that no result is worse than its
//! input. Bounds are added at the end, and in debug builds the independent checker looks at every result.

use crate::analysis::closure::Closure;
use crate::analysis::length_bound;
use crate::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use crate::list;
use crate::problem::{Goal, Problem};
use crate::region::Kernel;
use crate::schedule::check::check;
use crate::schedule::{Bounds, Budget, Outcome, Schedule};
use crate::target::{Target, TargetError};

/// A way to schedule a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// The best of the others for the goal.
    Auto,
    /// The source order, with necessary stalls.
    Source,
    /// The order that the production compiler chose, where it is recorded; else the source order.
    Production,
    /// List scheduling by critical path, which ignores registers.
    CriticalPath,
}

impl Algorithm {
    /// All algorithms, [`Algorithm::Auto`] first.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Auto, Algorithm::Source, Algorithm::Production, Algorithm::CriticalPath];

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Source => "source",
            Algorithm::Production => "production",
            Algorithm::CriticalPath => "critical-path",
        }
    }

    /// The algorithm of that name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// The schedule of one algorithm.
///
/// [`Algorithm::Auto`] takes the best one for the goal, never worse than the source order. Every other
/// algorithm returns just what it makes, so that algorithms can be compared.
pub fn run(problem: &Problem, algorithm: Algorithm) -> Schedule {
    let schedule = match algorithm {
        Algorithm::Auto => {
            let candidates = [Algorithm::Source, Algorithm::CriticalPath].map(|one| run(problem, one));
            let cost = |schedule: &Schedule| problem.cost(&problem.measure(schedule));
            let [source, other] = candidates;
            if cost(&other) < cost(&source) { other } else { source }
        }
        Algorithm::Source => Schedule::source(problem),
        Algorithm::CriticalPath => list::critical_path(problem),
        Algorithm::Production => match problem.region().production() {
            Some(production) => Schedule::in_order(problem, production.order.clone()),
            None => Schedule::source(problem),
        },
    };
    if cfg!(debug_assertions) && algorithm != Algorithm::Production {
        // A recorded order is input: `lowtide check` tells whether it is legal.
        if let Err(violations) = check(problem.region(), problem.target(), &schedule) {
            panic!("{} made an illegal schedule: {violations:?}", algorithm.name());
        }
    }
    schedule
}

/// Schedules one region and proves what can be proven within the budget.
pub fn schedule_region(problem: &Problem, algorithm: Algorithm, budget: Budget) -> Outcome {
    let schedule = run(problem, algorithm);
    let measure = problem.measure(&schedule);
    let bounds = bounds(problem, &schedule, budget);
    let optimal = match problem.goal() {
        Goal::MinReg => {
            let primary = problem.primary_class().index();
            measure.peaks.get(primary).map(|peak| peak.between) == bounds.peaks.get(primary).copied()
        }
        Goal::Occupancy => {
            let registers = problem.registers();
            measure.occupancy == registers.occupancy(&bounds.peaks)
                && measure.spilled == registers.spilled(&bounds.peaks)
        }
        Goal::Length => measure.length == bounds.length,
    };
    Outcome { schedule, measure, bounds, optimal }
}

/// What can be proven about every schedule of the problem within the budget.
fn bounds(problem: &Problem, known: &Schedule, budget: Budget) -> Bounds {
    let region = problem.region();
    let peaks = match region.len() <= MOST_FOR_CUTS {
        true => {
            let closure = Closure::new(region);
            let cut = |class| pressure_bound(region, class, &closure, known.order(), budget).value;
            region.class_ids().map(cut).collect()
        }
        false => pressure_at_ends(region),
    };
    Bounds { peaks, length: length_bound::lower_bound(problem).best() }
}

/// The outcome for a kernel: its regions, and what they mean for its occupancy.
#[derive(Clone, Debug)]
pub struct KernelOutcome {
    /// One outcome for each region.
    pub regions: Vec<Outcome>,
    /// Waves of the kernel: the fewest of any region, and not more than outside limits allow.
    pub occupancy: u32,
    /// No schedule gives more waves.
    pub occupancy_bound: u32,
}

/// Schedules all regions of a kernel.
pub fn schedule_kernel(
    kernel: &Kernel,
    target: &Target,
    goal: Goal,
    algorithm: Algorithm,
    budget: Budget,
) -> Result<KernelOutcome, TargetError> {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let mut outcome = KernelOutcome { regions: Vec::new(), occupancy: most, occupancy_bound: most };
    for region in &kernel.regions {
        let problem = Problem::new(region, target, goal)?;
        let region = schedule_region(&problem, algorithm, budget);
        let bound = problem.registers().occupancy(&region.bounds.peaks);
        outcome.occupancy = outcome.occupancy.min(region.measure.occupancy);
        outcome.occupancy_bound = outcome.occupancy_bound.min(bound);
        outcome.regions.push(region);
    }
    Ok(outcome)
}
