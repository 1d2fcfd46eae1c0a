//! Pass 2 of a kernel: short schedules that keep its waves (paper 2, Section 5.3).

use super::PassSettings;
use super::first_pass::{KernelWaves, RegionWaves};
use super::region::{WithinLimits, best, by_cuts, distinct};
use super::verify::{InternalError, outcome};
use crate::index::{ClassId, InstrId};
use crate::outcome::{KernelOutcome, Passes};
use crate::problem::{Goal, Measure, Problem};
use crate::schedule::Schedule;
use crate::session::{AntQuestion, SharedProblem};
use crate::target::FileClass;
use crate::threads;

/// The regions of a kernel in the second pass.
pub(super) struct SecondPass<'a>(Vec<RegionPass<'a>>);

/// A region in the second pass.
pub(super) struct RegionPass<'a> {
    problem: Problem<'a>,
    start: Schedule,
    /// Schedules within the limits, the first with the bound that counts.
    within: Vec<WithinLimits>,
    passes: Passes,
    /// Whether only the production order may replace what was found.
    is_published: bool,
}

/// The result of the second pass for a region.
pub(super) struct Found {
    pub(super) schedule: Schedule,
    /// No schedule with as many waves is shorter.
    pub(super) length_bound: u32,
    pub(super) passes: Passes,
}

impl<'a> SecondPass<'a> {
    /// Looks for short schedules with which so many waves fit, and states the questions for ants.
    pub(super) fn plan(
        shared: &[SharedProblem<'a>],
        first: &KernelWaves,
        waves: u32,
        settings: PassSettings,
    ) -> Self {
        let plan =
            |region: usize| RegionPass::plan(&shared[region], &first.regions[region], waves, settings, &[]);
        SecondPass(threads::map(settings.settings.budget.threads, shared.len(), plan))
    }

    /// The questions for ants, with the number of the region.
    pub(super) fn questions(&self) -> impl Iterator<Item = (usize, &AntQuestion)> {
        let all = self.0.iter().enumerate();
        all.flat_map(|(region, pass)| pass.questions().map(move |question| (region, question)))
    }

    pub(super) fn finish(self, shared: &[SharedProblem<'a>]) -> Vec<Found> {
        self.0.into_iter().zip(shared).map(|(pass, shared)| pass.finish(shared)).collect()
    }
}

impl<'a> RegionPass<'a> {
    /// `others` are further orders to start from.
    pub(super) fn plan(
        shared: &SharedProblem<'a>,
        first: &RegionWaves,
        waves: u32,
        settings: PassSettings,
        others: &[&[InstrId]],
    ) -> Self {
        let problem = shared.problem().clone().with_goal(Goal::Occupancy).with_most_waves(waves);
        let few = shared.few_registers();
        let source = Schedule::source(&problem);
        let production = Schedule::production(&problem);
        let mut start = Schedule::in_order(&problem, first.order.clone());
        if is_limited(&problem) {
            // The order of the first pass is good enough for the waves, but may be over a limit below that. The length is for later.
            let others = [source.clone(), production.clone(), Schedule::in_order(&problem, few.clone())];
            let without_length = |schedule: &Schedule| {
                let [spilled, lost, over, ..] = problem.cost(&problem.measure(schedule));
                (spilled, lost, over)
            };
            let all = std::iter::once(start.clone()).chain(others);
            start = all.min_by_key(without_length).unwrap_or(start);
        }
        let known = [start.order(), source.order(), production.order(), &few];
        let starts = distinct(known.into_iter().chain(others.iter().copied()));
        let passes = first.passes(waves, start.length());
        let limits = Limits::new(&problem, &problem.measure(&start), &first.least_peaks());
        let within = match shared.effective(&limits.together) == shared.effective(&limits.alone) {
            true => vec![WithinLimits::plan(shared, &limits.alone, &starts, settings)],
            false => {
                // The bound is only known for what each class can have alone. An order that was found for it may yet fit.
                let mut half = settings;
                half.settings.budget = half.settings.budget.part(2);
                let plan = |limits: &[Option<u32>]| WithinLimits::plan(shared, limits, &starts, half);
                vec![plan(&limits.alone), plan(&limits.together)]
            }
        };
        RegionPass { problem, start, within, passes, is_published: settings.is_published() }
    }

    /// The questions for ants.
    pub(super) fn questions(&self) -> impl Iterator<Item = &AntQuestion> {
        self.within.iter().filter_map(WithinLimits::question)
    }

    pub(super) fn finish(self, shared: &SharedProblem) -> Found {
        let RegionPass { problem, start, within, passes, is_published } = self;
        let mut length_bound = None;
        let mut found = None;
        for within in within {
            let (schedule, bound) = match within.finish(shared) {
                Some(answer) => (Schedule::in_order(shared.problem(), answer.order), answer.bound),
                None => (start.clone(), shared.length_bound()),
            };
            length_bound.get_or_insert(bound);
            found = Some(match found {
                None => schedule,
                Some(other) => best(&problem, [other, schedule]),
            });
        }
        let production = Schedule::production(&problem);
        let source = if is_published { production.clone() } else { Schedule::source(&problem) };
        let found = found.unwrap_or_else(|| start.clone());
        let schedule = best(&problem, [found, start, source, production]);
        Found { schedule, length_bound: length_bound.unwrap_or(0), passes }
    }
}

/// Whether fewer registers are asked for than a wave can address.
fn is_limited(problem: &Problem) -> bool {
    let mut classes = problem.registers().files().iter().flat_map(|bound| &bound.classes);
    classes.any(|(id, class)| problem.limits()[id.index()] < class.max)
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
        let mut with_lanes = vec![0; peaks.len()];
        for lanes in problem.registers().lanes() {
            if let Some(to) = lanes.to {
                with_lanes[to.index()] += lanes.needed(peaks[lanes.from.index()]);
            }
        }
        for bound in problem.registers().files() {
            // Registers whose lanes hold spilled ones are not left for values.
            let taken: u32 = bound.classes.iter().map(|(id, _)| with_lanes[id.index()]).sum();
            let all = bound.file.limit(problem.most_waves()).saturating_sub(taken);
            let least = |(id, class): &(ClassId, FileClass)| least[id.index()].min(class.max);
            let least_of_all: u32 = bound.classes.iter().map(least).sum();
            for (id, class) in &bound.classes {
                let peak = peaks[id.index()];
                let rest = all.saturating_sub(least_of_all - least(&(*id, class.clone())));
                // Less, if so asked, but never less than what is known to be possible.
                let max = class.max.saturating_sub(with_lanes[id.index()]);
                let most = max.min(problem.limits()[id.index()].max(peak));
                let limit = if peak > max { peak } else { rest.min(most) };
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

/// The outcome of a kernel after the second pass: every schedule checked, with what is proven about it.
pub(super) fn kernel_outcome(
    shared: &[SharedProblem],
    first: &KernelWaves,
    most: u32,
    found: Vec<Found>,
    settings: PassSettings,
) -> Result<KernelOutcome, InternalError> {
    let mut kernel = KernelOutcome { occupancy_bound: first.bound, ..KernelOutcome::new(most) };
    let peak_bounds: Vec<_> = shared.iter().map(SharedProblem::peak_bounds).collect();
    for (shared, bounds) in shared.iter().zip(&peak_bounds) {
        let peaks: Vec<u32> = bounds.iter().map(|(peak, _)| *peak).collect();
        kernel.occupancy_bound = kernel.occupancy_bound.min(shared.problem().registers().occupancy(&peaks));
    }
    for ((shared, found), bounds) in shared.iter().zip(found).zip(peak_bounds) {
        // The kernel cannot use more waves than it can have.
        let problem = shared.problem().clone().with_most_waves(first.bound.min(kernel.occupancy_bound));
        let bounds = by_cuts(&bounds, found.length_bound);
        let mut region = outcome(&problem, settings.settings.algorithm, found.schedule, bounds)?;
        region.passes = Some(found.passes);
        region.searches = shared.searches();
        kernel.push(region);
    }
    Ok(kernel)
}
