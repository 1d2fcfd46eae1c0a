//! All regions of a kernel together: as many waves as possible, and then short schedules that keep them.

use super::{
    Algorithm, Effort, Way, best, by_cuts, check_in_debug_builds, distinct, outcome, run, schedule_shared,
    shortest_within,
};
use crate::analysis::length_bound::lower_bound;
use crate::budget::Budget;
use crate::colony::Parameters;
use crate::index::{ClassId, InstrId};
use crate::outcome::Outcome;
use crate::problem::{Goal, Measure, Problem};
use crate::progress::SearchLog;
use crate::region::{Kernel, Region};
use crate::schedule::Schedule;
use crate::solved::{Shared, Solved};
use crate::target::{FileClass, Target, TargetError};
use crate::twopass::occupancy::{self, KernelWaves, RegionWaves, most_waves};

/// The outcome for a kernel: its regions, and what they mean for its occupancy.
#[derive(Clone, Debug)]
pub struct KernelOutcome {
    /// One outcome for each region.
    pub regions: Vec<Outcome>,
    /// What the two passes did for each region; empty if they did not run.
    pub passes: Vec<Passes>,
    /// How the searches for each region went.
    pub searches: Vec<Vec<SearchLog>>,
    /// Waves of the kernel: the fewest of any region, and not more than outside limits allow.
    pub occupancy: u32,
    /// No schedule gives more waves.
    pub occupancy_bound: u32,
    /// Whether the [`Filter`] has given up waves for length.
    pub is_filtered: bool,
}

/// What the two passes did for a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    /// Whether the known orders have fewer waves than the kernel could have, were it not for this region.
    pub is_asked: bool,
    /// Whether pass 1 had to search, since no bound settled it.
    pub is_searched: bool,
    /// Whether it found more, or fewer spills.
    pub is_improved: bool,
    /// The waves that pass 2 had to keep.
    pub waves: u32,
    /// Length of the order of pass 1, with necessary stalls; of the known order that comes nearest to a limit on registers, if there is one.
    pub start_length: u32,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What to be best at.
    pub goal: Goal,
    /// How.
    pub algorithm: Algorithm,
    /// With how much effort, for each pass.
    pub budget: Budget,
    /// The most registers of the target's first class to use, for [`Algorithm::Auto`], [`Algorithm::List`], [`Algorithm::Waves`] and [`Algorithm::TwoPass`].
    /// For [`Goal::Length`] it is kept if an order is known that keeps it, or if a search finds one. For [`Goal::Occupancy`] only the second pass
    /// knows of it: it is kept in every region where one of the known orders (that of the first pass, source, production and [`Algorithm::Default`]) keeps it with as
    /// many waves as the kernel has and no more spills. Else it is exceeded by no more than the best of these does. [`Goal::MinReg`] makes no use of it, except with
    /// [`Algorithm::List`], [`Algorithm::Waves`] and [`Algorithm::TwoPass`], which are then as for [`Goal::Occupancy`].
    pub registers: Option<u32>,
    /// When not to take more waves; none to take them at any price.
    pub filter: Option<Filter>,
    /// How ants behave, for [`Algorithm::Colony`].
    pub colony: Parameters,
}

/// When more waves than the production compiler has (or the source order, where nothing is recorded) are not worth
/// their price: if they are few, and cost many cycles. The kernel is then scheduled for as many waves as it had.
///
/// The figures are those of paper 4 (Section VI-D), which were the best in its experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// More waves than this are worth any price.
    pub few_waves: u32,
    /// Fewer cycles than this, or as many, are never too many, all regions together.
    pub few_cycles: u64,
    /// Ants are not sent for a shorter schedule if fewer cycles than these are to be gained, by the bound that is known beforehand.
    pub few_cycles_to_gain: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Filter { few_waves: 3, few_cycles: 63, few_cycles_to_gain: 21 }
    }
}

impl Default for Options {
    /// The best for occupancy, whatever it takes.
    fn default() -> Self {
        Options {
            goal: Goal::Occupancy,
            algorithm: Algorithm::Auto,
            budget: Budget::UNLIMITED,
            registers: None,
            filter: None,
            colony: Parameters::default(),
        }
    }
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

/// Schedules all regions of a kernel. What `solved` knows from other kernels is not sought again.
pub fn schedule_kernel(
    kernel: &Kernel,
    target: &Target,
    options: Options,
    solved: &Solved,
) -> Result<KernelOutcome, TargetError> {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let problems: Vec<Problem> =
        kernel.regions.iter().map(|region| options.problem(region, target)).collect::<Result<_, _>>()?;
    let share = |problem| solved.share(problem, options.budget).of_kernel(&kernel.name);
    let shared: Vec<Shared> = problems.iter().map(share).collect();
    if let Some(Way::TwoPasses(by)) = Way::of(options.goal, options.algorithm) {
        let least_gap = options.filter.map_or(0, |filter| filter.few_cycles_to_gain);
        let effort = Effort { by, budget: options.budget, colony: options.colony, least_gap };
        return Ok(two_passes(&shared, most, effort, options.filter));
    }
    let mut outcome = KernelOutcome::new(most);
    for shared in &shared {
        let region = schedule_shared(shared, options.algorithm, options.budget, options.colony);
        let bound = shared.problem().registers().occupancy(&region.bounds.peaks);
        outcome.occupancy_bound = outcome.occupancy_bound.min(bound);
        outcome.push(region, shared.searches());
    }
    Ok(outcome)
}

impl KernelOutcome {
    /// Of a kernel without regions.
    pub fn new(most_waves: u32) -> Self {
        KernelOutcome {
            regions: Vec::new(),
            passes: Vec::new(),
            searches: Vec::new(),
            occupancy: most_waves,
            occupancy_bound: most_waves,
            is_filtered: false,
        }
    }

    /// Adds a region, and how the searches for it went. Its bound on waves is for the caller to add.
    pub fn push(&mut self, region: Outcome, searches: Vec<SearchLog>) {
        self.occupancy = self.occupancy.min(region.measure.occupancy);
        self.regions.push(region);
        self.searches.push(searches);
    }
}

/// Registers that a kernel spills, waves, and cycles of all regions together.
fn totals<'m>(measures: impl Iterator<Item = &'m Measure>, most: u32) -> (u64, u32, u64) {
    measures.fold((0, most, 0), |(spilled, waves, length), measure| {
        let Measure { spilled: more, occupancy, length: longer, .. } = measure;
        (spilled + u64::from(*more), waves.min(*occupancy), length + u64::from(*longer))
    })
}

/// As many waves as possible for the whole kernel, and then short schedules for each region that keep them.
fn two_passes(shared: &[Shared], most: u32, effort: Effort, filter: Option<Filter>) -> KernelOutcome {
    let first = first_pass(shared, most, effort);
    let at = |waves: u32| {
        let found = second_pass(shared, &first, waves, effort);
        kernel_outcome(shared, &first, most, found)
    };
    let outcome = at(first.waves);
    let Some(filter) = filter else { return outcome };
    let after = totals(outcome.regions.iter().map(|region| &region.measure), most);
    let production = shared.iter().map(|shared| {
        let problem = shared.problem();
        problem.measure(&run(problem, Algorithm::Production, Budget::UNLIMITED))
    });
    let before = totals(production.collect::<Vec<_>>().iter(), most);
    if filter.is_worth_it(before, after) {
        return outcome;
    }
    // Where the registers are limited anyway, fewer waves may not make it much shorter.
    let fewer = at(before.1);
    let (_, waves, length) = totals(fewer.regions.iter().map(|region| &region.measure), most);
    match filter.is_cheap(length, after.2) {
        true => outcome,
        false => KernelOutcome { is_filtered: waves < after.1, ..fewer },
    }
}

impl Filter {
    /// Whether the change from one outcome to another, each as of [`totals`], is worth its price.
    fn is_worth_it(&self, before: (u64, u32, u64), after: (u64, u32, u64)) -> bool {
        let gain = after.1.saturating_sub(before.1);
        let is_cheap = self.is_cheap(before.2, after.2);
        before.0 > after.0 || gain == 0 || gain > self.few_waves || is_cheap
    }

    fn is_cheap(&self, before: u64, after: u64) -> bool {
        after.saturating_sub(before) <= self.few_cycles
    }
}

/// The schedule of the two passes for a region that is a kernel of its own. Unlike the outcome, it needs no bounds on peaks.
pub(super) fn schedule_alone(shared: &Shared, effort: Effort) -> Schedule {
    let alone = std::slice::from_ref(shared);
    let first = first_pass(alone, shared.problem().most_waves(), effort);
    let found = second_pass(alone, &first, first.waves, effort).into_iter().next();
    found.map_or_else(|| Schedule::source(shared.problem()), |found| found.schedule)
}

/// The outcome of the two passes for a region that is a kernel of its own.
pub(super) fn outcome_alone(shared: &Shared, effort: Effort) -> Outcome {
    let alone = std::slice::from_ref(shared);
    let most = shared.problem().most_waves();
    let first = first_pass(alone, most, effort);
    let found = second_pass(alone, &first, first.waves, effort);
    let region = kernel_outcome(alone, &first, most, found).regions.into_iter().next();
    region.expect("a kernel of one region has one outcome")
}

fn first_pass(shared: &[Shared], most: u32, effort: Effort) -> KernelWaves {
    let Effort { by: [by, _], budget, colony, .. } = effort;
    most_waves(shared, most, occupancy::Options { budget, by, colony })
}

/// What the second pass makes of a region.
struct Found {
    schedule: Schedule,
    /// No schedule with as many waves is shorter.
    length_bound: u32,
    passes: Passes,
}

/// The shortest schedules with which so many waves fit.
fn second_pass(shared: &[Shared], first: &KernelWaves, waves: u32, effort: Effort) -> Vec<Found> {
    let regions = shared.iter().zip(&first.regions);
    regions.map(|(shared, first)| shortest_with(shared, first, waves, effort)).collect()
}

/// The shortest schedule of a region with which so many waves fit.
fn shortest_with(shared: &Shared, first: &RegionWaves, waves: u32, effort: Effort) -> Found {
    let problem = shared.problem().clone().with_goal(Goal::Occupancy).with_most_waves(waves);
    let few = shared.few_registers();
    let source = Schedule::source(&problem);
    let production = run(&problem, Algorithm::Production, Budget::UNLIMITED);
    let mut start = Schedule::in_order(&problem, first.order.clone());
    if is_limited(&problem) {
        // What the first pass found is enough for the waves, but may be over a limit below that. The length is for later.
        let others = [source.clone(), production.clone(), Schedule::in_order(&problem, few.clone())];
        let without_length = |schedule: &Schedule| {
            let [spilled, lost, over, ..] = problem.cost(&problem.measure(schedule));
            (spilled, lost, over)
        };
        let all = std::iter::once(start.clone()).chain(others);
        start = all.min_by_key(without_length).unwrap_or(start);
    }
    let starts = distinct([start.order(), source.order(), production.order(), &few].into_iter());
    let passes = Passes {
        is_asked: first.is_asked,
        is_searched: first.is_searched,
        is_improved: (first.spilled, first.waves) != first.known,
        waves,
        start_length: start.length(),
    };
    let limits = Limits::new(&problem, &problem.measure(&start), &first.least_peaks());
    let (found, length_bound) = match shared.effective(&limits.together) == shared.effective(&limits.alone) {
        true => ask(shared, &limits.alone, &starts, effort),
        false => {
            // The bound is only known for what each class can have alone. An order that was found for it may yet fit.
            let half = Effort { budget: effort.budget.half(), ..effort };
            let (found, bound) = ask(shared, &limits.alone, &starts, half);
            let (fitting, _) = ask(shared, &limits.together, &starts, half);
            (best(&problem, [found, fitting]), bound)
        }
    };
    let schedule = best(&problem, [found, start, source, production]);
    check_in_debug_builds(&problem, Algorithm::TwoPass, &schedule);
    Found { schedule, length_bound, passes }
}

/// Whether fewer registers are asked for than a wave can address.
fn is_limited(problem: &Problem) -> bool {
    let mut classes = problem.registers().files().iter().flat_map(|bound| &bound.classes);
    classes.any(|(id, class)| problem.limits()[id.index()] < class.max)
}

/// Asks for the shortest schedule within limits; the first of the orders to start from is within them.
fn ask(shared: &Shared, limits: &[Option<u32>], starts: &[&[InstrId]], effort: Effort) -> (Schedule, u32) {
    let problem = shared.problem();
    match shortest_within(shared, limits, starts, effort) {
        Some(answer) => (Schedule::in_order(problem, answer.order), answer.bound),
        None => (Schedule::in_order(problem, starts[0].to_vec()), lower_bound(problem).best()),
    }
}

/// For each class of a region, the most registers that the waves of a problem leave it.
struct Limits {
    /// What fits together.
    together: Vec<Option<u32>>,
    /// What each class can have if the others take as little as possible: no schedule with so many waves has more.
    alone: Vec<Option<u32>>,
}

impl Limits {
    /// `known` has so many waves; every order has at least the peaks `least`. Where registers have to be spilled,
    /// no more of them than in `known`.
    fn new(problem: &Problem, known: &Measure, least: &[u32]) -> Self {
        let peaks: Vec<u32> = known.peaks.iter().map(|peak| peak.between).collect();
        let mut alone = vec![None; peaks.len()];
        let mut together = peaks.clone();
        for bound in problem.registers().files() {
            let all = bound.file.limit(problem.most_waves());
            let least = |(id, class): &(ClassId, FileClass)| least[id.index()].min(class.max);
            let least_of_all: u32 = bound.classes.iter().map(least).sum();
            for (id, class) in &bound.classes {
                let peak = peaks[id.index()];
                let rest = all.saturating_sub(least_of_all - least(&(*id, class.clone())));
                // Less, if so asked, but never less than what is known to be possible.
                let most = class.max.min(problem.limits()[id.index()].max(peak));
                let limit = if peak > class.max { peak } else { rest.min(most) };
                alone[id.index()] = Some(limit);
                // What is left goes to the first class that has use for it.
                together[id.index()] = match bound.classes.len() {
                    1 => limit,
                    _ => most_that(peak, limit.max(peak), |more| {
                        let mut peaks = together.clone();
                        peaks[id.index()] = more;
                        bound.used(&peaks) <= all
                    }),
                };
            }
        }
        Limits { together: together.into_iter().map(Some).collect(), alone }
    }
}

/// The largest number of a range that fits, if all below it do, too, and the least one does.
fn most_that(least: u32, most: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (least, most);
    while low < high {
        let middle = high - (high - low) / 2;
        match fits(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// What was found for each region, with what is proven about it.
fn kernel_outcome(shared: &[Shared], first: &KernelWaves, most: u32, found: Vec<Found>) -> KernelOutcome {
    let mut outcome = KernelOutcome { occupancy_bound: first.bound, ..KernelOutcome::new(most) };
    let peak_bounds: Vec<_> = shared.iter().map(Shared::peak_bounds).collect();
    for (shared, bounds) in shared.iter().zip(&peak_bounds) {
        let peaks: Vec<u32> = bounds.iter().map(|(peak, _)| *peak).collect();
        outcome.occupancy_bound = outcome.occupancy_bound.min(shared.problem().registers().occupancy(&peaks));
    }
    for (((shared, first), found), bounds) in shared.iter().zip(&first.regions).zip(found).zip(peak_bounds) {
        // More waves than the kernel can have would be of no use.
        let problem = shared.problem().clone().with_most_waves(first.bound.min(outcome.occupancy_bound));
        let bounds = by_cuts(&bounds, found.length_bound);
        outcome.push(self::outcome(&problem, found.schedule, bounds), shared.searches());
        outcome.passes.push(found.passes);
    }
    outcome
}
