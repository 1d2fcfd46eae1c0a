//! Pass 2 of a kernel: short schedules that keep its waves (paper 2, Section 5.3).

use super::PassSettings;
use super::first_pass::{KernelWaves, RegionWaves, waves_of_orders};
use super::region::{WithinLimits, best, by_cuts, distinct};
use super::verify::{InternalError, outcome};
use crate::analysis::limits::{is_within, peaks};
use crate::index::InstrId;
use crate::minreg::exact::Decision;
use crate::outcome::{KernelOutcome, Passes};
use crate::problem::{Goal, Problem, waves_with};
use crate::schedule::Schedule;
use crate::session::{AntQuestion, SharedProblem};
use crate::target::{MOST_RANGES, PeakRange, most_that};
use crate::threads;
use crate::twopass::{By, length};

/// The regions of a kernel in the second pass.
pub(super) struct SecondPass<'a>(Vec<RegionPass<'a>>);

/// A region in the second pass.
pub(super) struct RegionPass<'a> {
    problem: Problem<'a>,
    start: Schedule,
    source: Schedule,
    production: Schedule,
    /// Schedules within the limits, the first with a bound.
    within: Vec<WithinLimits>,
    /// A bound for limits that classes share, which is the one that counts.
    length_bound: Option<u32>,
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
        let production = production_or(&problem, &source);
        let mut start = scheduled(&problem, &first.order, [&source, &production]);
        if is_limited(&problem) {
            // The order of the first pass is good enough for the waves, but may be over a limit below that.
            // The length is for later.
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
        let known = peaks(problem.region(), start.order());
        let all = PeakRange::at_least(first.least_peaks());
        let limits = Limits::new(&problem, &known, &all);
        let mut length_bound = None;
        let within = match shared.effective(&limits.together) == shared.effective(&limits.alone) {
            true => vec![WithinLimits::plan(shared, &limits.alone, &starts, settings)],
            false => {
                // The first answer is for what each class can have alone. An order that was found for it may
                // yet fit.
                let mut part = settings;
                let is_search = settings.by[1] == By::Search;
                part.settings.budget = part.settings.budget.part(if is_search { 4 } else { 2 });
                let plan = |limits: &[Option<u32>]| WithinLimits::plan(shared, limits, &starts, part);
                let mut within = vec![plan(&limits.alone), plan(&limits.together)];
                if is_search {
                    part.settings.budget = part.settings.budget.part(MOST_RANGES / 2);
                    let divided =
                        Divided { shared, problem: &problem, known: &known, starts: &starts, settings: part };
                    length_bound = divided.search(all, &mut within);
                }
                within
            }
        };
        let is_published = settings.is_published();
        RegionPass { problem, start, source, production, within, length_bound, passes, is_published }
    }

    /// The questions for ants.
    pub(super) fn questions(&self) -> impl Iterator<Item = &AntQuestion> {
        self.within.iter().filter_map(WithinLimits::question)
    }

    pub(super) fn finish(self, shared: &SharedProblem) -> Found {
        let RegionPass { problem, start, source, production, within, passes, is_published, .. } = self;
        let mut length_bound = self.length_bound;
        let mut found = None;
        for within in within {
            let (schedule, bound) = match within.finish(shared) {
                Some(answer) => {
                    let known = [&start, &source, &production];
                    (scheduled(shared.problem(), &answer.order, known), answer.bound)
                }
                None => (start.clone(), shared.length_bound()),
            };
            length_bound.get_or_insert(bound);
            found = Some(match found {
                None => schedule,
                Some(other) => best(&problem, [&other, &schedule]),
            });
        }
        let source = if is_published { production.clone() } else { source };
        let found = found.unwrap_or_else(|| start.clone());
        let schedule = best(&problem, [&found, &start, &source, &production]);
        Found { schedule, length_bound: length_bound.unwrap_or(0), passes }
    }
}

/// The schedule of an order, which may be one of those that are known.
fn scheduled<const N: usize>(problem: &Problem, order: &[InstrId], known: [&Schedule; N]) -> Schedule {
    let known = known.into_iter().find(|known| known.order() == order);
    known.cloned().unwrap_or_else(|| Schedule::in_order(problem, order.to_vec()))
}

/// The production order. Without one, the source order, whose schedule is known.
fn production_or(problem: &Problem, source: &Schedule) -> Schedule {
    match problem.region().production() {
        Some(_) => Schedule::production(problem),
        None => source.clone(),
    }
}

/// Whether fewer registers are asked for than a wave can address.
fn is_limited(problem: &Problem) -> bool {
    let mut classes = problem.registers().files().iter().flat_map(|bound| &bound.classes);
    classes.any(|(id, class)| problem.limits()[id.index()] < class.max)
}

/// For each class of a region, the most registers that the waves of a problem leave it.
pub(super) struct Limits {
    /// What fits together.
    pub(super) together: Vec<Option<u32>>,
    /// What each class can have if the others take as little as possible: no schedule with so many waves has
    /// more.
    alone: Vec<Option<u32>>,
}

impl Limits {
    /// So many waves fit with these peaks. Where registers have to be spilled, no more of them than with the
    /// peaks.
    pub(super) fn new(problem: &Problem, peaks: &[u32], range: &PeakRange) -> Self {
        let mut alone = vec![None; peaks.len()];
        let mut together = peaks.to_vec();
        let [fewest_lanes, with_lanes] =
            [&range.least[..], peaks].map(|peaks| problem.registers().lanes_for(peaks));
        for bound in problem.registers().files() {
            let all = bound.file.limit(problem.most_waves());
            for (id, class) in &bound.classes {
                let peak = peaks[id.index()];
                let limit = |with_lanes: &[u32]| {
                    // Less, if so asked, but never less than what is known to be possible.
                    let max = class.max.saturating_sub(with_lanes[id.index()]);
                    let most = max.min(problem.limits()[id.index()].max(peak));
                    let limit =
                        if peak > max { peak } else { range.rest(bound, *id, with_lanes, all).min(most) };
                    limit.min(range.most[id.index()])
                };
                alone[id.index()] = Some(limit(&fewest_lanes));
                // What is left goes to the first class that has use for it.
                together[id.index()] = match bound.classes.len() {
                    1 => limit(&with_lanes),
                    _ => most_that(peak, limit(&with_lanes).max(peak), |more| {
                        let mut peaks: Vec<u32> =
                            together.iter().zip(&with_lanes).map(|(peak, lanes)| peak + lanes).collect();
                        peaks[id.index()] = more + with_lanes[id.index()];
                        bound.used(&peaks) <= all
                    }),
                };
            }
        }
        Limits { together: together.into_iter().map(Some).collect(), alone }
    }
}

/// A search in the parts of a range of peaks, where classes share a file.
struct Divided<'s, 'a> {
    shared: &'s SharedProblem<'a>,
    problem: &'s Problem<'a>,
    known: &'s [u32],
    starts: &'s [&'s [InstrId]],
    settings: PassSettings,
}

/// A part of a range.
struct Part {
    range: PeakRange,
    /// No schedule of the part is shorter.
    bound: u32,
    /// A shortest schedule of the part that does not fit, if one is known.
    misfit: Option<Vec<u32>>,
}

impl Divided<'_, '_> {
    /// Raise the bound of the whole range, for which the first of the answers was found, as far as it goes.
    /// Adds answers for parts of the range. The part with the lowest bound is divided first.
    fn search(&self, all: PeakRange, within: &mut Vec<WithinLimits>) -> Option<u32> {
        let mut shortest = within.iter().filter_map(|within| self.length_if_it_fits(within)).min();
        let first = within.first()?.found()?;
        let mut parts = vec![Part { range: all, bound: first.bound, misfit: self.misfit(first) }];
        for _ in 0..MOST_RANGES / 2 {
            let lowest = (0..parts.len()).min_by_key(|&part| parts[part].bound);
            let Some(lowest) =
                lowest.filter(|&part| shortest.is_none_or(|length| parts[part].bound < length))
            else {
                break;
            };
            let Part { range, bound, misfit } = &parts[lowest];
            let waves = self.problem.most_waves();
            let halves =
                misfit.as_ref().and_then(|peaks| range.divide(self.problem.registers(), peaks, waves));
            let (Some(halves), bound) = (halves, *bound) else { break };
            parts.swap_remove(lowest);
            for range in halves {
                parts.extend(self.answer(range, bound, within));
                shortest = within
                    .last()
                    .and_then(|within| self.length_if_it_fits(within))
                    .into_iter()
                    .chain(shortest)
                    .min();
            }
        }
        parts.iter().map(|part| part.bound).chain(shortest).min()
    }

    /// The answer for a part of a range with a known bound. None if no schedule is in the part.
    fn answer(&self, range: PeakRange, bound: u32, within: &mut Vec<WithinLimits>) -> Option<Part> {
        let limits = Limits::new(self.problem, self.known, &range).alone;
        if range.is_empty(&limits) {
            return None;
        }
        let mut starts = self.starts.to_vec();
        let found;
        if !starts.iter().any(|start| is_within(self.problem.region(), start, &limits)) {
            match self.shared.within(&limits, starts[0], self.settings.settings.budget).0 {
                Decision::Yes(order) => found = order,
                Decision::No(_) => return None,
                Decision::Unknown => return Some(Part { range, bound, misfit: None }),
            }
            starts.push(&found);
        }
        let answer = WithinLimits::plan(self.shared, &limits, &starts, self.settings);
        let part = answer.found().map_or(Part { range: range.clone(), bound, misfit: None }, |found| Part {
            range,
            bound: bound.max(found.bound),
            misfit: self.misfit(found),
        });
        within.push(answer);
        Some(part)
    }

    fn length_if_it_fits(&self, within: &WithinLimits) -> Option<u32> {
        within.found().filter(|found| self.misfit(found).is_none()).map(|found| found.length)
    }

    /// The peaks of an answer, if so many waves do not fit with them.
    fn misfit(&self, answer: &length::Answer) -> Option<Vec<u32>> {
        let peaks = peaks(self.problem.region(), &answer.order);
        let fits = self.problem.registers().occupancy(&peaks) >= self.problem.most_waves();
        (!fits).then_some(peaks)
    }
}

/// Where classes share a file, one region may have used what another one needs. Then the orders of the first
/// pass take the place of what was found.
fn kept_together(shared: &[SharedProblem], first: &KernelWaves, mut found: Vec<Found>) -> Vec<Found> {
    let of_found = shared.iter().zip(found.iter().map(|found| found.schedule.order()));
    let of_first = shared.iter().zip(first.regions.iter().map(|region| &region.order[..]));
    let are_shared = shared.first().is_some_and(|shared| shared.problem().target().shares_files());
    let asked = found.iter().map(|found| found.passes.waves).fold(first.waves, u32::min);
    if are_shared && waves_of_orders(of_found) < asked.min(waves_of_orders(of_first)) {
        for ((shared, found), region) in shared.iter().zip(&mut found).zip(&first.regions) {
            found.schedule = Schedule::in_order(shared.problem(), region.order.clone());
        }
    }
    found
}

/// The outcome of a kernel after the second pass: every schedule checked, with what is proven about it.
pub(super) fn kernel_outcome(
    shared: &[SharedProblem],
    first: &KernelWaves,
    most: u32,
    found: Vec<Found>,
    settings: PassSettings,
) -> Result<KernelOutcome, InternalError> {
    let found = kept_together(shared, first, found);
    let mut kernel = KernelOutcome { occupancy_bound: first.bound, ..KernelOutcome::new(most) };
    let known = first.regions.iter().map(|region| &region.order[..]);
    let peak_bounds: Vec<_> =
        shared.iter().zip(known).map(|(shared, known)| shared.peak_bounds_beside(known)).collect();
    let least = peak_bounds.iter().map(|bounds| bounds.iter().map(|(peak, _)| *peak).collect());
    let least = waves_with(shared.iter().map(SharedProblem::problem).zip(least));
    kernel.occupancy_bound = kernel.occupancy_bound.min(least);
    for ((shared, found), bounds) in shared.iter().zip(found).zip(peak_bounds) {
        // The kernel cannot use more waves than it can have.
        let problem = shared.problem().clone().with_most_waves(first.bound.min(kernel.occupancy_bound));
        let bounds = by_cuts(&bounds, found.length_bound);
        let mut region = outcome(&problem, settings.settings.algorithm, found.schedule, bounds)?;
        region.passes = Some(found.passes);
        region.searches = shared.searches();
        kernel.regions.push(region);
    }
    kernel.count_waves(shared.iter().map(SharedProblem::problem));
    Ok(kernel)
}
