//! Which algorithm when: the one place where algorithms are put together, and the entry points of the
//! library.
//!
//! [`schedule_kernel`] schedules all regions of a kernel, [`schedule_region`] one region. Both return only
//! schedules that the independent checker accepts. Searches start from the source order and keep the better
//! schedule, so that their result is never worse than the input. A list scheduler chosen by name returns its
//! own schedule.
//!
//! | file | content |
//! |---|---|
//! | `region` | searches for one region: fewest registers, shortest schedule, lowest sum |
//! | `first_pass` | pass 1 of a kernel: the most waves that all regions allow |
//! | `second_pass` | pass 2 of a kernel: short schedules that keep the waves |
//! | `front` | pass 2 for every number of waves, and the best of them for throughput |
//! | `front/spills` | more spills than necessary, where they pay for throughput |
//! | `published` | both passes of paper 2 as published, for comparison |
//! | `grouped` | pairs of instructions stay together, at a price |
//! | `filter` | when more waves are not worth their cycles |
//! | `plan` | a kernel in phases, so that ants of many kernels can run at once on any engine |
//! | `verify` | the check of every schedule that leaves |

mod filter;
#[cfg(not(feature = "unstable"))]
mod first_pass;
#[cfg(feature = "unstable")]
pub mod first_pass;
mod front;
mod grouped;
mod plan;
mod published;
mod region;
mod second_pass;
mod verify;

pub use crate::colony::Parameters as AntParameters;
pub use filter::Filter;
#[cfg(feature = "unstable")]
pub use plan::{KernelPlan, open_tasks};
pub use verify::{InternalError, ScheduleError};

#[cfg(not(feature = "unstable"))]
use plan::KernelPlan;

use crate::algorithm::{Algorithm, Method, Setup, Tuning};
use crate::analysis::pressure_bound::pressure_at_ends;
use crate::budget::Budget;
use crate::list::engine::{self, Decision};
use crate::list::few_registers::few_registers;
use crate::outcome::{KernelOutcome, Outcome};
use crate::problem::{Goal, Problem};
use crate::region::{Kernel, Region};
use crate::schedule::Schedule;
use crate::session::{Context, SharedProblem};
use crate::target::{KernelRegisters, Target, TargetError};
use crate::twopass::By;
use verify::verified;

/// The wishes of a user: goal, algorithm, budget and limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What to be best at.
    pub goal: Goal,
    /// How.
    pub algorithm: Algorithm,
    /// With how much effort, for each pass.
    pub budget: Budget,
    /// The most registers of the target's first class to use, for [`Algorithm::AUTO`], [`Algorithm::LIST`],
    /// [`Algorithm::WAVES`], [`Algorithm::TWO_PASS`] and [`Algorithm::COLONY`].
    ///
    /// For [`Goal::Length`] the limit is kept if a known order keeps it, or if a search finds one that does.
    /// For [`Goal::Occupancy`] only the second pass knows the limit. It is kept in every region where a known
    /// order keeps it with as many waves as the kernel has and no more spills. The known orders are those of
    /// pass 1, of the source, of the production compiler and of `few-registers`. In other regions the limit
    /// is exceeded by no more than the best of these orders does. [`Goal::MinReg`] ignores it, except with
    /// algorithms of two passes, which work as for [`Goal::Occupancy`].
    pub registers: Option<u32>,
    /// The most waves that are wanted, for goals of waves. None: as many as the kernel can have.
    pub waves: Option<u32>,
    /// When to reject more waves. None: never.
    pub filter: Option<Filter>,
    /// Whether to find the least length for every number of waves ([`KernelOutcome::front`]), for algorithms
    /// of two passes with [`Goal::Occupancy`] or [`Goal::Throughput`]. Without it, [`Goal::Throughput`]
    /// leaves out numbers of waves that cannot be the best.
    pub front: bool,
    /// The most cycles that a schedule may be longer for each pair of instructions that it keeps together
    /// ([`HintKind::Cluster`](crate::region::HintKind::Cluster)), for [`schedule_kernel`]. 0: pairs do not
    /// count.
    ///
    /// Kept pairs never cost waves or spills, and never registers beyond a limit. With [`Goal::MinReg`] they
    /// cost no register of any class, and any number of cycles. [`KernelOutcome::front`] does not know of
    /// pairs.
    pub group_price: u32,
    /// The parameters of ants, for [`Algorithm::COLONY`].
    pub colony: AntParameters,
    /// The parameters of published methods.
    pub tuning: Tuning,
}

impl Default for Options {
    /// The best for occupancy, without a limit on time.
    fn default() -> Self {
        Options {
            goal: Goal::Occupancy,
            algorithm: Algorithm::AUTO,
            budget: Budget::UNLIMITED,
            registers: None,
            waves: None,
            filter: None,
            front: false,
            group_price: 0,
            colony: AntParameters::default(),
            tuning: Tuning::default(),
        }
    }
}

impl Options {
    /// The problem of a region.
    pub fn problem<'a>(&self, region: &'a Region, target: &'a Target) -> Result<Problem<'a>, TargetError> {
        let mut problem = Problem::new(region, target, self.goal)?;
        if let Some(limit) = self.registers {
            problem = problem.with_register_limit(limit);
        }
        if let Some(waves) = self.waves {
            problem = problem.with_most_waves(waves);
        }
        Ok(problem)
    }

    /// The most waves of a kernel that are of use.
    pub fn most_waves(&self, kernel: &Kernel, target: &Target) -> u32 {
        let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
        most.min(self.waves.unwrap_or(u32::MAX))
    }

    /// The problems of the regions of a kernel. Where classes share a file, each region counts what others
    /// need of it.
    pub fn problems<'a>(
        &self,
        kernel: &'a Kernel,
        target: &'a Target,
    ) -> Result<Vec<Problem<'a>>, TargetError> {
        let problems = kernel.regions.iter().map(|region| self.problem(region, target));
        let mut problems = problems.collect::<Result<Vec<_>, _>>()?;
        if target.shares_files() {
            // What is live between regions is counted in one of them. No order needs less.
            let mut least = KernelRegisters::new(target);
            for problem in &problems {
                let ends: Vec<u32> =
                    pressure_at_ends(problem.region()).iter().map(|(pressure, _)| *pressure).collect();
                least.add(problem.registers(), &ends);
            }
            problems = problems.into_iter().map(|problem| problem.beside(&least)).collect();
        }
        Ok(problems)
    }

    /// With another goal.
    pub fn with_goal(self, goal: Goal) -> Self {
        Options { goal, ..self }
    }

    /// With another algorithm.
    pub fn with_algorithm(self, algorithm: Algorithm) -> Self {
        Options { algorithm, ..self }
    }

    /// With another budget.
    pub fn with_budget(self, budget: Budget) -> Self {
        Options { budget, ..self }
    }

    /// With a limit on the registers of the target's first class.
    pub fn with_registers(self, registers: Option<u32>) -> Self {
        Options { registers, ..self }
    }

    /// With at most so many waves wanted.
    pub fn with_waves(self, waves: Option<u32>) -> Self {
        Options { waves, ..self }
    }

    /// With a filter for waves that cost too many cycles.
    pub fn with_filter(self, filter: Option<Filter>) -> Self {
        Options { filter, ..self }
    }

    /// With the least length for every number of waves, or without.
    pub fn with_front(self, front: bool) -> Self {
        Options { front, ..self }
    }

    /// With a price for each pair of instructions that does not stay together.
    pub fn with_group_price(self, group_price: u32) -> Self {
        Options { group_price, ..self }
    }

    /// With other parameters of ants.
    pub fn with_colony(self, colony: AntParameters) -> Self {
        Options { colony, ..self }
    }

    /// With other parameters of published methods.
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        Options { tuning, ..self }
    }
}

/// Schedules all regions of a kernel.
///
/// Answers of the session in `context` are not sought again. Every schedule is checked; a mistake of a
/// scheduler is an error.
pub fn schedule_kernel<'a>(
    kernel: &'a Kernel,
    target: &'a Target,
    options: &Options,
    context: impl Into<Context<'a>>,
) -> Result<KernelOutcome, ScheduleError> {
    let context = context.into();
    let plain = KernelPlan::new(kernel, target, options, context)?.finish()?;
    // A known order that was asked for stays as it is.
    let is_known_order = [Algorithm::SOURCE, Algorithm::PRODUCTION].contains(&options.algorithm);
    match options.group_price > 0 && !is_known_order {
        false => Ok(plain),
        true => grouped::keep_pairs(kernel, target, options, context.in_private(), &plain),
    }
}

/// Schedules one region and proves what can be proven within the budget.
///
/// The result never depends on other regions; for a kernel of several regions use [`schedule_kernel`], which
/// shares the waves among them.
pub fn schedule_region<'a>(
    problem: &Problem<'a>,
    algorithm: Algorithm,
    budget: Budget,
    context: impl Into<Context<'a>>,
) -> Result<Outcome, ScheduleError> {
    let shared = SharedProblem::new(problem.clone(), budget, context.into());
    plan::schedule_alone(shared, Settings::new(algorithm, budget))
}

/// The schedule of one algorithm, checked, without bounds: for comparing algorithms.
///
/// [`Algorithm::AUTO`] takes the best one for the goal, never worse than the source order. Every other
/// algorithm returns just what it makes.
#[cfg(feature = "unstable")]
pub fn run<'a>(
    problem: &Problem<'a>,
    algorithm: Algorithm,
    budget: Budget,
    context: impl Into<Context<'a>>,
) -> Result<Schedule, InternalError> {
    let schedule = match algorithm.method() {
        Method::Engine(setup) => by_engine(problem, setup),
        Method::Direct(make) => make(problem, &Tuning::default()),
        Method::FewRegisters => Schedule::in_order(problem, few_registers(problem)),
        Method::Search(search) => {
            let shared = SharedProblem::new(problem.clone(), budget, context.into());
            plan::search_alone(&shared, search(problem.goal()), Settings::new(algorithm, budget))
        }
    };
    verified(problem, algorithm, &schedule).map(|_| schedule)
}

fn by_engine<'a>(problem: &'a Problem<'a>, setup: fn(&'a Problem<'a>) -> Setup<'a>) -> Schedule {
    let Setup { direction, timing, mut policy } = setup(problem);
    engine::run(problem, direction, timing, &mut *policy, None)
}

/// The choices of an algorithm, with their reasons. None if it does not choose one instruction at a time.
#[cfg(feature = "unstable")]
pub fn explain(problem: &Problem, algorithm: Algorithm) -> Option<Vec<Decision>> {
    let Method::Engine(setup) = algorithm.method() else { return None };
    let Setup { direction, timing, mut policy } = setup(problem);
    let mut decisions = Vec::new();
    engine::run(problem, direction, timing, &mut *policy, Some(&mut decisions));
    Some(decisions)
}

/// How the searches of the pipeline run, and what each may spend.
#[derive(Clone, Copy, Debug)]
struct Settings {
    algorithm: Algorithm,
    budget: Budget,
    colony: AntParameters,
    tuning: Tuning,
    /// Ants are not sent for a schedule that is fewer cycles above its bound.
    least_gap: u32,
}

impl Settings {
    fn new(algorithm: Algorithm, budget: Budget) -> Self {
        let (colony, tuning) = (AntParameters::default(), Tuning::default());
        Settings { algorithm, budget, colony, tuning, least_gap: 0 }
    }
}

/// How both passes look for something better.
#[derive(Clone, Copy, Debug)]
struct PassSettings {
    by: [By; 2],
    settings: Settings,
}

impl PassSettings {
    /// Whether ants start as published: from the production order alone.
    fn is_published(&self) -> bool {
        self.by[1] == By::Ants && self.settings.colony.starts_from_production()
    }

    /// The options of the first pass.
    fn first(&self) -> first_pass::Options {
        let Settings { budget, colony, .. } = self.settings;
        first_pass::Options { budget, by: self.by[0], colony }
    }
}
