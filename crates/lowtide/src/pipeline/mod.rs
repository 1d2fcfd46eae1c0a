//! Which algorithm when: the one place where algorithms are put together.
//!
//! Every run starts from the source order and keeps the better schedule, so that no result is worse than its
//! input. Bounds are added at the end, and in debug builds the independent checker looks at every result.

mod kernel;

pub use kernel::{Filter, KernelOutcome, Options, Passes, schedule_kernel};

use crate::analysis::length_bound;
use crate::budget::Budget;
use crate::check::check;
use crate::colony::{self, Parameters};
use crate::index::InstrId;
use crate::list::baselines::{self, CriticalPath, GoodmanHsu, Greedy, LastUseCount};
use crate::list::engine::{self, Decision, Direction, Policy, Timing};
use crate::list::sethi_ullman::{self, POLICY_THRESHOLD, SethiUllman, Variant};
use crate::list::{few_registers, latency_hiding, tree};
use crate::minreg::exact;
use crate::outcome::Outcome;
use crate::problem::{Goal, Problem};
use crate::progress::Quantity;
use crate::proof::Moment;
use crate::proof::{Bounds, Reason};
use crate::schedule::Schedule;
use crate::solved::{Shared, Solved};
use crate::twopass::{By, length, weighted};

/// A way to schedule a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// What is best for the goal, as far as the budget allows. Never worse than the source order.
    Auto,
    /// The source order, with necessary stalls.
    Source,
    /// The order that the production compiler chose, where it is recorded; else the source order.
    Production,
    /// Few registers in near-linear time: [`few_registers`].
    Default,
    /// The fewest registers possible, proven where the budget allows: [`crate::minreg`].
    Exact,
    /// Most waves, then short schedules that keep them, by lists alone: [`crate::twopass`] without its searches. Where
    /// length is the goal, the second of these alone.
    List,
    /// Most waves, proven where the budget allows, then short schedules that keep them by lists: what a compiler has time for.
    /// As [`Algorithm::List`] where length is the goal.
    Waves,
    /// Most waves, then the shortest schedule that keeps them, proven where the budget allows: [`crate::twopass`]. Where
    /// length is the goal, the second of these alone.
    TwoPass,
    /// Most waves, then short schedules that keep them, both by ants: [`crate::colony`]. Where length is the goal, the second of these alone.
    Colony,
    /// The lowest sum of length and 100,000 times the waves that do not fit, as far as the budget allows: [`weighted`], with its
    /// default weight. To compare with.
    Weighted,
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
    pub const ALL: [Algorithm; 24] = [
        Algorithm::Auto,
        Algorithm::Source,
        Algorithm::Production,
        Algorithm::Default,
        Algorithm::Exact,
        Algorithm::List,
        Algorithm::Waves,
        Algorithm::TwoPass,
        Algorithm::Colony,
        Algorithm::Weighted,
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
    // Inlined into a search for a name, its two dozen cases keep the optimiser busy for many minutes.
    #[inline(never)]
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Source => "source",
            Algorithm::Production => "production",
            Algorithm::Default => "default",
            Algorithm::Exact => "exact",
            Algorithm::List => "list",
            Algorithm::Waves => "waves",
            Algorithm::TwoPass => "twopass",
            Algorithm::Colony => "colony",
            Algorithm::Weighted => "weighted",
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
    run_with(problem, algorithm, budget, &Solved::new())
}

/// As [`run`]. What `solved` knows is not sought again, and its observer is told of what is sought.
pub fn run_with(problem: &Problem, algorithm: Algorithm, budget: Budget, solved: &Solved) -> Schedule {
    let schedule = match (engine_setup(problem, algorithm), algorithm) {
        (Some((direction, timing, mut policy)), _) => {
            engine::run(problem, direction, timing, &mut *policy, None)
        }
        (None, Algorithm::Production) => match problem.region().production() {
            Some(production) => Schedule::in_order(problem, production.order.clone()),
            None => Schedule::source(problem),
        },
        (None, Algorithm::Default) => Schedule::in_order(problem, few_registers::few_registers(problem)),
        (None, Algorithm::Tree) => {
            tree::tree(problem).unwrap_or_else(|| sethi_ullman::sethi_ullman(problem, Variant::default()))
        }
        (None, Algorithm::PolicySethiUllman) => sethi_ullman::policy(problem, false, POLICY_THRESHOLD),
        (None, Algorithm::PolicyCluster) => sethi_ullman::policy(problem, true, POLICY_THRESHOLD),
        (None, Algorithm::LatencyHiding) => {
            within_registers(problem, &run(problem, Algorithm::Default, budget))
        }
        (None, Algorithm::GcnMaxOccupancy) => baselines::gcn_max_occupancy(problem),
        (None, _) => {
            let shared = solved.share(problem, budget);
            match Way::of(problem.goal(), algorithm) {
                Some(Way::Fewest) => fewest(&shared, budget).0,
                Some(Way::TwoPasses(by)) => kernel::schedule_alone(&shared, Effort::new(by, budget)),
                Some(Way::Shortest(by)) => shortest(&shared, Effort::new([by; 2], budget)).0,
                Some(Way::LowestSum) => lowest_sum(&shared, budget),
                None => Schedule::source(problem),
            }
        }
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
    schedule_region_with(problem, algorithm, budget, &Solved::new())
}

/// As [`schedule_region`]. What `solved` knows is not sought again, and its observer is told of what is sought.
pub fn schedule_region_with(
    problem: &Problem,
    algorithm: Algorithm,
    budget: Budget,
    solved: &Solved,
) -> Outcome {
    schedule_shared(&solved.share(problem, budget), algorithm, budget, Parameters::default())
}

fn schedule_shared(shared: &Shared, algorithm: Algorithm, budget: Budget, colony: Parameters) -> Outcome {
    let effort = |by| Effort { colony, ..Effort::new(by, budget) };
    let problem = shared.problem();
    let (schedule, bounds) = match Way::of(problem.goal(), algorithm) {
        Some(Way::Fewest) => fewest(shared, budget),
        Some(Way::TwoPasses(by)) => return kernel::outcome_alone(shared, effort(by)),
        Some(Way::Shortest(by)) => {
            let (schedule, length) = shortest(shared, effort([by; 2]));
            (schedule, by_cuts(&shared.peak_bounds(), length))
        }
        Some(Way::LowestSum) => {
            let length = length_bound::lower_bound(problem).best();
            (lowest_sum(shared, budget), by_cuts(&shared.peak_bounds(), length))
        }
        None => {
            let length = length_bound::lower_bound(problem).best();
            (run(problem, algorithm, budget), by_cuts(&shared.peak_bounds(), length))
        }
    };
    check_in_debug_builds(problem, algorithm, &schedule);
    outcome(problem, schedule, bounds)
}

/// The algorithms that are made of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The fewest registers.
    Fewest,
    /// The most waves, then the shortest schedule.
    TwoPasses([By; 2]),
    /// The shortest schedule within the limits.
    Shortest(By),
    /// The lowest sum of both.
    LowestSum,
}

/// How two passes look, and what they may spend.
#[derive(Clone, Copy, Debug)]
struct Effort {
    by: [By; 2],
    budget: Budget,
    colony: Parameters,
    /// Ants are not sent for a schedule that is fewer cycles above its bound.
    least_gap: u32,
}

impl Effort {
    fn new(by: [By; 2], budget: Budget) -> Self {
        Effort { by, budget, colony: Parameters::default(), least_gap: 0 }
    }
}

impl Way {
    fn of(goal: Goal, algorithm: Algorithm) -> Option<Way> {
        let by = match algorithm {
            Algorithm::List => [By::Lists; 2],
            Algorithm::Waves => [By::Search, By::Lists],
            Algorithm::Auto | Algorithm::TwoPass => [By::Search; 2],
            Algorithm::Colony => [By::Ants; 2],
            Algorithm::Exact => return Some(Way::Fewest),
            Algorithm::Weighted => return Some(Way::LowestSum),
            _ => return None,
        };
        Some(match (algorithm, goal) {
            (Algorithm::Auto, Goal::MinReg) => Way::Fewest,
            (_, Goal::Length) => Way::Shortest(by[1]),
            _ => Way::TwoPasses(by),
        })
    }
}

/// The order with the fewest registers of the first class, as far as the budget allows.
fn fewest(shared: &Shared, budget: Budget) -> (Schedule, Bounds) {
    let problem = shared.problem();
    let fewest = shared.fewest(budget.threads);
    let bounds = Bounds {
        peaks: fewest.bounds.iter().map(|(bound, _)| *bound).collect(),
        reasons: fewest.bounds.iter().map(|(_, reason)| *reason).collect(),
        length: length_bound::lower_bound(problem).best(),
    };
    let found = Schedule::in_order(problem, fewest.order);
    (best(problem, [Schedule::source(problem), found]), bounds)
}

/// The shortest schedule within the limits, and a length that none is below. If none can be found within them, as little as is known to be needed is added.
fn shortest(shared: &Shared, effort: Effort) -> (Schedule, u32) {
    let problem = shared.problem();
    let region = problem.region();
    let source: Vec<InstrId> = region.instrs().collect();
    let production = region.production().map(|production| production.order.clone());
    let mut known: Vec<Vec<InstrId>> = [source].into_iter().chain(production).collect();
    known.push(shared.few_registers());
    known.push(run(problem, Algorithm::CriticalPath, effort.budget).order().to_vec());
    let peaks = |order: &Vec<InstrId>| -> Vec<u32> {
        let measure = problem.measure(&Schedule::in_order(problem, order.clone()));
        measure.peaks.iter().map(|peak| peak.between).collect()
    };
    let over = |order: &Vec<InstrId>| -> u64 {
        let over =
            peaks(order).into_iter().zip(problem.limits()).map(|(peak, limit)| peak.saturating_sub(*limit));
        over.map(u64::from).sum()
    };
    let mut limits: Vec<Option<u32>> = problem.limits().iter().map(|&limit| Some(limit)).collect();
    let mut effort = effort;
    if let Some(nearest) = known.iter().min_by_key(|order| over(order)).filter(|order| over(order) > 0) {
        let mut nearest = nearest.clone();
        let by = effort.by[1];
        if by != By::Lists {
            effort.budget = effort.budget.half();
        }
        match by {
            By::Lists => {}
            By::Search => {
                if let exact::Decision::Yes(order) = shared.within(&limits, &nearest, effort.budget).0 {
                    nearest = order;
                }
            }
            By::Ants => {
                let options = colony::Options { budget: effort.budget, parameters: effort.colony };
                (nearest, _) = shared.fewer_registers(std::slice::from_ref(&limits), &nearest, options);
            }
        }
        for (limit, peak) in limits.iter_mut().zip(peaks(&nearest)) {
            *limit = limit.map(|limit| limit.max(peak));
        }
        known.push(nearest);
    }
    let starts = distinct(known.iter().map(Vec::as_slice));
    let (found, bound) = match shortest_within(shared, &limits, &starts, effort) {
        Some(answer) => (Schedule::in_order(problem, answer.order), answer.bound),
        // Never: one of the known orders is within these limits.
        None => (Schedule::source(problem), length_bound::lower_bound(problem).best()),
    };
    let production = run(problem, Algorithm::Production, Budget::UNLIMITED);
    (best(problem, [found, Schedule::source(problem), production]), bound)
}

/// The shortest schedule within limits that the second pass finds; none if none of the orders to start from is within them.
fn shortest_within(
    shared: &Shared,
    limits: &[Option<u32>],
    starts: &[&[InstrId]],
    effort: Effort,
) -> Option<length::Answer> {
    let Effort { by: [_, by], budget, colony, least_gap } = effort;
    let options = length::Options { budget, only_lists: by != By::Search, ..length::Options::default() };
    let found = shared.shortest(limits, starts, options)?;
    if by != By::Ants || found.length - found.bound < least_gap {
        return Some(found);
    }
    // Lists take a hundredth of the time, and ants that start from them get much further.
    let starts: Vec<&[InstrId]> = starts.iter().copied().chain([&found.order[..]]).collect();
    let Some(answer) = shared.shorter(limits, &starts, colony::Options { budget, parameters: colony }) else {
        return Some(found);
    };
    let length = Schedule::in_order(shared.problem(), answer.order.clone()).length();
    // Ants do not know of units, which can make their schedule longer than they think.
    Some(match length < found.length {
        true => length::Answer { order: answer.order, length, bound: found.bound, nodes: answer.choices },
        false => found,
    })
}

/// The lowest sum of length and lost waves, in one pass, from the known orders.
fn lowest_sum(shared: &Shared, budget: Budget) -> Schedule {
    let problem = shared.problem();
    let least: Vec<u32> = shared.peak_bounds().iter().map(|(peak, _)| *peak).collect();
    let starts = [Schedule::source(problem), run(problem, Algorithm::Production, budget)];
    let few = shared.few_registers();
    let starts = distinct([starts[0].order(), starts[1].order(), &few].into_iter());
    let log = shared.log(Quantity::Sum);
    let objective = weighted::Objective::default();
    let answer = weighted::lowest_sum(problem, &least, &starts, objective, budget, log.watch());
    shared.keep(log.finish(answer.nodes));
    Schedule::in_order(problem, answer.order)
}

/// Orders to start from, each once.
fn distinct<'o>(orders: impl Iterator<Item = &'o [InstrId]>) -> Vec<&'o [InstrId]> {
    let mut distinct = Vec::new();
    orders.for_each(|order| {
        if !distinct.contains(&order) {
            distinct.push(order);
        }
    });
    distinct
}

/// Bounds on peaks that cuts prove, and one on the length.
fn by_cuts(peaks: &[(u32, Moment)], length: u32) -> Bounds {
    Bounds {
        peaks: peaks.iter().map(|(bound, _)| *bound).collect(),
        reasons: peaks.iter().map(|(_, moment)| Reason::Cut(*moment)).collect(),
        length,
    }
}

fn outcome(problem: &Problem, schedule: Schedule, bounds: Bounds) -> Outcome {
    let measure = problem.measure(&schedule);
    let registers = problem.registers();
    let proven_waves = measure.spilled == registers.spilled(&bounds.peaks)
        && measure.occupancy >= registers.occupancy(&bounds.peaks).min(problem.most_waves());
    let proven_length = measure.length == bounds.length;
    // What is over a limit comes before the length.
    let mut classes = measure.peaks.iter().zip(&bounds.peaks).zip(problem.limits());
    let is_within = classes.all(|((peak, bound), limit)| peak.between <= *limit.max(bound));
    let optimal = match problem.goal() {
        Goal::MinReg => {
            let primary = problem.primary_class().index();
            measure.peaks.get(primary).map(|peak| peak.between) == bounds.peaks.get(primary).copied()
        }
        Goal::Occupancy => proven_waves && is_within && proven_length,
        Goal::Length => is_within && proven_length,
    };
    Outcome { schedule, measure, bounds, proven_waves, optimal }
}
