//! Which algorithm when: the one place where algorithms are put together.
//!
//! Every run starts from the source order and keeps the better schedule, so that no result is worse than its
//! input. Bounds are added at the end, and in debug builds the independent checker looks at every result.

use std::time::Instant;

use crate::analysis::closure::Closure;
use crate::analysis::length_bound;
use crate::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use crate::index::{ClassId, InstrId};
use crate::list::baselines::{self, CriticalPath, GoodmanHsu, Greedy, LastUseCount};
use crate::list::engine::{self, Decision, Direction, Policy, Timing};
use crate::list::sethi_ullman::{self, POLICY_THRESHOLD, SethiUllman, Variant};
use crate::list::{latency_hiding, minreg, tree};
use crate::minreg::exact;
use crate::problem::{Goal, Problem};
use crate::region::{Kernel, Region};
use crate::schedule::check::check;
use crate::schedule::{Bounds, Budget, Outcome, Reason, Schedule};
use crate::target::{Target, TargetError};
use crate::twopass::occupancy::most_waves;

/// A way to schedule a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// What is best for the goal, as far as the budget allows. Never worse than the source order.
    Auto,
    /// The source order, with necessary stalls.
    Source,
    /// The order that the production compiler chose, where it is recorded; else the source order.
    Production,
    /// Few registers in near-linear time: [`minreg`].
    Default,
    /// The fewest registers possible, proven where the budget allows: [`crate::minreg`].
    Exact,
    /// Optimal on trees; elsewhere as [`Algorithm::SethiUllman`]: [`tree`](mod@tree).
    Tree,
    /// Paper 1, Algorithm 1: [`sethi_ullman`](mod@sethi_ullman).
    SethiUllman,
    /// Paper 1, Algorithm 2.
    SuRp,
    /// Paper 1, Table III.
    SuRpAdjust,
    /// Paper 1, Algorithm 3.
    SuCluster,
    /// Paper 1, Table V.
    SuClusterAdjust,
    /// Paper 1, Algorithm 4: Algorithm 1 where it pays.
    PolicySethiUllman,
    /// Paper 1, Algorithm 5: Algorithm 3, else Algorithm 1, where it pays.
    PolicyCluster,
    /// Paper 1, Section IV: `default`, then latency hiding in sub-blocks within the registers that the goal
    /// allows.
    LatencyHiding,
    /// List scheduling by critical path, which ignores registers: [`baselines`].
    CriticalPath,
    /// Last-use count, by weight.
    LastUseCount,
    /// Goodman and Hsu: critical path, or pressure where registers are scarce.
    GoodmanHsu,
    /// In the manner of LLVM's generic scheduler.
    LlvmGeneric,
    /// In the manner of LLVM's scheduler for AMD GPUs.
    GcnMaxOccupancy,
}

impl Algorithm {
    /// All algorithms, [`Algorithm::Auto`] first.
    pub const ALL: [Algorithm; 19] = [
        Algorithm::Auto,
        Algorithm::Source,
        Algorithm::Production,
        Algorithm::Default,
        Algorithm::Exact,
        Algorithm::Tree,
        Algorithm::SethiUllman,
        Algorithm::SuRp,
        Algorithm::SuRpAdjust,
        Algorithm::SuCluster,
        Algorithm::SuClusterAdjust,
        Algorithm::PolicySethiUllman,
        Algorithm::PolicyCluster,
        Algorithm::LatencyHiding,
        Algorithm::CriticalPath,
        Algorithm::LastUseCount,
        Algorithm::GoodmanHsu,
        Algorithm::LlvmGeneric,
        Algorithm::GcnMaxOccupancy,
    ];

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Source => "source",
            Algorithm::Production => "production",
            Algorithm::Default => "default",
            Algorithm::Exact => "exact",
            Algorithm::Tree => "tree",
            Algorithm::SethiUllman => "sethi-ullman",
            Algorithm::SuRp => "su-rp",
            Algorithm::SuRpAdjust => "su-rp-adjust",
            Algorithm::SuCluster => "su-cluster",
            Algorithm::SuClusterAdjust => "su-cluster-adjust",
            Algorithm::PolicySethiUllman => "policy-sethi-ullman",
            Algorithm::PolicyCluster => "policy-cluster",
            Algorithm::LatencyHiding => "latency-hiding",
            Algorithm::CriticalPath => "critical-path",
            Algorithm::LastUseCount => "last-use-count",
            Algorithm::GoodmanHsu => "goodman-hsu",
            Algorithm::LlvmGeneric => "llvm-generic",
            Algorithm::GcnMaxOccupancy => "gcn-max-occupancy",
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
pub fn run(problem: &Problem, algorithm: Algorithm, budget: Budget) -> Schedule {
    let schedule = match (engine_setup(problem, algorithm), algorithm) {
        (Some((direction, timing, mut policy)), _) => {
            engine::run(problem, direction, timing, &mut *policy, None)
        }
        (None, Algorithm::Production) => match problem.region().production() {
            Some(production) => Schedule::in_order(problem, production.order.clone()),
            None => Schedule::source(problem),
        },
        (None, Algorithm::Default) => Schedule::in_order(problem, minreg::few_registers(problem)),
        (None, Algorithm::Tree) => {
            tree::tree(problem).unwrap_or_else(|| sethi_ullman::sethi_ullman(problem, Variant::default()))
        }
        (None, Algorithm::PolicySethiUllman) => sethi_ullman::policy(problem, false, POLICY_THRESHOLD),
        (None, Algorithm::PolicyCluster) => sethi_ullman::policy(problem, true, POLICY_THRESHOLD),
        (None, Algorithm::LatencyHiding) => {
            within_registers(problem, &run(problem, Algorithm::Default, budget))
        }
        (None, Algorithm::GcnMaxOccupancy) => baselines::gcn_max_occupancy(problem),
        (None, _) if is_exact(problem, algorithm) => exact(problem, budget).schedule,
        (None, Algorithm::Auto) => auto(problem, budget),
        (None, _) => Schedule::source(problem),
    };
    check_in_debug_builds(problem, algorithm, &schedule);
    schedule
}

fn check_in_debug_builds(problem: &Problem, algorithm: Algorithm, schedule: &Schedule) {
    if cfg!(debug_assertions)
        && let Err(violations) = check(problem.region(), problem.target(), schedule)
    {
        panic!("{} made an illegal schedule: {violations:?}", algorithm.name());
    }
}

/// The choices that an algorithm makes, with their reasons; none if it does not choose one instruction at a
/// time.
pub fn explain(problem: &Problem, algorithm: Algorithm) -> Option<Vec<Decision>> {
    let (direction, timing, mut policy) = engine_setup(problem, algorithm)?;
    let mut decisions = Vec::new();
    engine::run(problem, direction, timing, &mut *policy, Some(&mut decisions));
    Some(decisions)
}

/// How the list-scheduling engine runs an algorithm, if it is one that the engine runs as it is.
fn engine_setup<'a>(
    problem: &'a Problem<'a>,
    algorithm: Algorithm,
) -> Option<(Direction, Timing, Box<dyn Policy + 'a>)> {
    let su = |rp_reduction, adjust, clusters| {
        let policy = SethiUllman::new(problem, Variant { rp_reduction, adjust, clusters });
        Some((Direction::BottomUp, Timing::Order, Box::new(policy) as Box<dyn Policy + 'a>))
    };
    match algorithm {
        Algorithm::SethiUllman => su(false, false, false),
        Algorithm::SuRp => su(true, false, false),
        Algorithm::SuRpAdjust => su(true, true, false),
        Algorithm::SuCluster => su(true, false, true),
        Algorithm::SuClusterAdjust => su(true, true, true),
        Algorithm::CriticalPath => {
            Some((Direction::TopDown, Timing::Cycles, Box::new(CriticalPath::new(problem))))
        }
        Algorithm::LastUseCount => {
            Some((Direction::TopDown, Timing::Order, Box::new(LastUseCount::new(problem))))
        }
        Algorithm::GoodmanHsu => {
            let policy = GoodmanHsu::new(problem, problem.limits());
            Some((Direction::TopDown, Timing::Cycles, Box::new(policy)))
        }
        Algorithm::LlvmGeneric => {
            let policy = Greedy::new(problem, baselines::limits(problem, 1));
            Some((Direction::BottomUp, Timing::Cycles, Box::new(policy)))
        }
        _ => None,
    }
}

/// The best schedule for the goal: from an order with as many waves as are of use or, where length alone counts, with few registers; among
/// those of the source and the production order, that order, latency hiding in it, and the critical path.
fn auto(problem: &Problem, budget: Budget) -> Schedule {
    match problem.goal() {
        Goal::Occupancy => {
            let waves = most_waves(std::slice::from_ref(problem), problem.most_waves(), budget);
            from_order(problem, waves.regions.into_iter().next().map(|region| region.order))
        }
        _ => from_order(problem, None),
    }
}

fn from_order(problem: &Problem, order: Option<Vec<InstrId>>) -> Schedule {
    let order = order.unwrap_or_else(|| minreg::few_registers(problem));
    let order = Schedule::in_order(problem, order);
    let hiding = within_registers(problem, &order);
    let production = run(problem, Algorithm::Production, Budget::UNLIMITED);
    let critical_path = run(problem, Algorithm::CriticalPath, Budget::UNLIMITED);
    best(problem, [Schedule::source(problem), production, hiding, critical_path, order])
}

/// The best schedule for the goal; the first one among equals.
fn best<const N: usize>(problem: &Problem, candidates: [Schedule; N]) -> Schedule {
    let cost = |schedule: &Schedule| problem.cost(&problem.measure(schedule));
    let best = candidates.into_iter().min_by_key(cost);
    best.unwrap_or_else(|| Schedule::source(problem))
}

/// Hides latencies within the registers that the problem allows or, where waves count, within those that as
/// many waves can have as fit with few registers.
fn within_registers(problem: &Problem, few: &Schedule) -> Schedule {
    let for_waves;
    let limits = match problem.goal() {
        Goal::Occupancy => {
            for_waves = baselines::limits(problem, problem.measure(few).occupancy.min(problem.most_waves()));
            &for_waves
        }
        _ => problem.limits(),
    };
    latency_hiding::hide_latency(problem, few.order(), limits)
}

/// Schedules one region and proves what can be proven within the budget.
pub fn schedule_region(problem: &Problem, algorithm: Algorithm, budget: Budget) -> Outcome {
    let outcome = match is_exact(problem, algorithm) {
        true => exact(problem, budget),
        false => {
            let schedule = run(problem, algorithm, budget);
            let bounds = bounds(problem, schedule.order(), budget, None);
            outcome(problem, schedule, bounds)
        }
    };
    check_in_debug_builds(problem, algorithm, &outcome.schedule);
    outcome
}

/// Whether the exact search is asked for, or is the best there is for the goal.
fn is_exact(problem: &Problem, algorithm: Algorithm) -> bool {
    algorithm == Algorithm::Exact || algorithm == Algorithm::Auto && problem.goal() == Goal::MinReg
}

fn outcome(problem: &Problem, schedule: Schedule, bounds: Bounds) -> Outcome {
    let measure = problem.measure(&schedule);
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

/// The order with the fewest registers of the first class, as far as the budget allows.
fn exact(problem: &Problem, budget: Budget) -> Outcome {
    let region = problem.region();
    let primary = problem.primary_class();
    let start = Instant::now();
    let few = minreg::few_registers(problem);
    if region.len() > MOST_FOR_CUTS || region.classes().is_empty() {
        let bounds = bounds(problem, &few, budget, None);
        let few = Schedule::in_order(problem, few);
        return outcome(problem, best(problem, [Schedule::source(problem), few]), bounds);
    }
    // The bounds of the other classes take little, so the rest is for the search.
    let mut bounds = bounds(problem, &few, budget, Some(primary));
    let spent = start.elapsed() / region.len() as u32;
    let rest =
        Budget { time_per_instr: budget.time_per_instr.map(|time| time.saturating_sub(spent)), ..budget };
    let answer = exact::minimise(region, primary, &[], &few, exact::Options::new(rest));
    bounds.peaks[primary.index()] = answer.bound;
    bounds.reasons[primary.index()] = answer.reason;
    let found = Schedule::in_order(problem, answer.order);
    outcome(problem, best(problem, [Schedule::source(problem), found]), bounds)
}

/// What can be proven about every schedule of the problem within the budget, but for a class that is dealt
/// with elsewhere.
fn bounds(problem: &Problem, known: &[InstrId], budget: Budget, except: Option<ClassId>) -> Bounds {
    let region = problem.region();
    let mut cuts = pressure_at_ends(region);
    if region.len() <= MOST_FOR_CUTS {
        let closure = Closure::new(region);
        for class in region.class_ids().filter(|class| Some(*class) != except) {
            let bound = pressure_bound(region, class, &closure, known, budget);
            cuts[class.index()] = (bound.value, bound.witness);
        }
    }
    Bounds {
        peaks: cuts.iter().map(|(value, _)| *value).collect(),
        reasons: cuts.iter().map(|(_, witness)| Reason::Cut(*witness)).collect(),
        length: length_bound::lower_bound(problem).best(),
    }
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

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What to be best at.
    pub goal: Goal,
    /// How.
    pub algorithm: Algorithm,
    /// With how much effort.
    pub budget: Budget,
    /// The most registers of the target's first class to use.
    pub registers: Option<u32>,
}

impl Options {
    /// The problem of a region.
    pub fn problem<'a>(&self, region: &'a Region, target: &'a Target) -> Result<Problem<'a>, TargetError> {
        let problem = Problem::new(region, target, self.goal)?;
        Ok(match self.registers {
            Some(limit) => problem.with_register_limit(limit),
            None => problem,
        })
    }
}

/// Schedules all regions of a kernel.
pub fn schedule_kernel(
    kernel: &Kernel,
    target: &Target,
    options: Options,
) -> Result<KernelOutcome, TargetError> {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let problems: Vec<Problem> =
        kernel.regions.iter().map(|region| options.problem(region, target)).collect::<Result<_, _>>()?;
    if (options.goal, options.algorithm) == (Goal::Occupancy, Algorithm::Auto) {
        return Ok(occupancy_then_length(&problems, most, options.budget));
    }
    let mut outcome = KernelOutcome { regions: Vec::new(), occupancy: most, occupancy_bound: most };
    for problem in problems {
        let region = schedule_region(&problem, options.algorithm, options.budget);
        let bound = problem.registers().occupancy(&region.bounds.peaks);
        outcome.occupancy = outcome.occupancy.min(region.measure.occupancy);
        outcome.occupancy_bound = outcome.occupancy_bound.min(bound);
        outcome.regions.push(region);
    }
    Ok(outcome)
}

/// As many waves as possible for the whole kernel, and then short schedules for each region that keep them.
fn occupancy_then_length(problems: &[Problem], most: u32, budget: Budget) -> KernelOutcome {
    let waves = most_waves(problems, most, budget);
    let mut outcome = KernelOutcome { regions: Vec::new(), occupancy: most, occupancy_bound: waves.bound };
    for (problem, region) in problems.iter().zip(waves.regions) {
        let problem = problem.clone().with_most_waves(waves.waves);
        let schedule = from_order(&problem, Some(region.order));
        check_in_debug_builds(&problem, Algorithm::Auto, &schedule);
        let bounds = bounds(&problem, schedule.order(), budget, None);
        let mut result = self::outcome(&problem, schedule, bounds);
        // More waves than the kernel can have would be of no use.
        result.optimal = result.measure.spilled == problem.registers().spilled(&result.bounds.peaks)
            && result.measure.occupancy >= region.bound.min(waves.bound);
        outcome.occupancy = outcome.occupancy.min(result.measure.occupancy);
        outcome.regions.push(result);
    }
    outcome
}
