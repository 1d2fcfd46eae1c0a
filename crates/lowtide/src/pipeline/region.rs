//! Searches for one region: the fewest registers, the shortest schedule within limits, the lowest sum.

use super::{PassSettings, Settings, by_engine};
use crate::algorithm::{Algorithm, Method};
use crate::analysis::limits::is_within;
use crate::budget::Budget;
use crate::colony;
use crate::index::InstrId;
use crate::list::baselines::CriticalPath;
use crate::list::engine::{self, Direction, Timing};
use crate::list::few_registers::few_registers;
use crate::minreg::exact::Decision;
use crate::problem::Problem;
use crate::progress::Quantity;
use crate::proof::{Bounds, Moment, Reason};
use crate::schedule::Schedule;
use crate::session::{AntQuestion, SharedProblem};
use crate::twopass::{By, length, weighted};

/// The best schedule for the goal; the first one among equals.
pub(super) fn best<const N: usize>(problem: &Problem, candidates: [&Schedule; N]) -> Schedule {
    let cost = |schedule: &&Schedule| problem.cost(&problem.measure(schedule));
    let is_new = |position: &usize| {
        let order = candidates[*position].order();
        candidates[..*position].iter().all(|other| other.order() != order)
    };
    let best = (0..N).filter(is_new).map(|position| candidates[position]).min_by_key(cost);
    best.cloned().unwrap_or_else(|| Schedule::source(problem))
}

/// Orders to start from, each once.
pub(super) fn distinct<'o>(orders: impl Iterator<Item = &'o [InstrId]>) -> Vec<&'o [InstrId]> {
    let mut distinct = Vec::new();
    orders.for_each(|order| {
        if !distinct.contains(&order) {
            distinct.push(order);
        }
    });
    distinct
}

/// Bounds on peaks that cuts prove, and a bound on the length.
pub(super) fn by_cuts(peaks: &[(u32, Moment)], length: u32) -> Bounds {
    Bounds {
        peaks: peaks.iter().map(|(bound, _)| *bound).collect(),
        reasons: peaks.iter().map(|(_, moment)| Reason::Cut(*moment)).collect(),
        length,
    }
}

/// The order with the fewest registers of the first class that the budget allows to find.
pub(super) fn fewest(shared: &SharedProblem, budget: Budget) -> (Schedule, Bounds) {
    let problem = shared.problem();
    let fewest = shared.fewest(budget.threads);
    let bounds = Bounds {
        peaks: fewest.bounds.iter().map(|(bound, _)| *bound).collect(),
        reasons: fewest.bounds.iter().map(|(_, reason)| *reason).collect(),
        length: shared.length_bound(),
    };
    let found = Schedule::in_order(problem, fewest.order);
    (best(problem, [&Schedule::source(problem), &found]), bounds)
}

/// The schedule of an algorithm that is not a search, to start from. The source order for a search.
pub(super) fn start(problem: &Problem, algorithm: Algorithm, settings: Settings) -> Schedule {
    match algorithm.method() {
        Method::Engine(setup) => by_engine(problem, setup),
        Method::Direct(make) => make(problem, &settings.tuning),
        Method::FewRegisters => Schedule::in_order(problem, few_registers(problem)),
        Method::Search(_) => Schedule::source(problem),
    }
}

/// The lowest sum of length and pressure, in one pass, from the known orders or from the start that was asked
/// for.
pub(super) fn lowest_sum(shared: &SharedProblem, settings: Settings) -> Schedule {
    let problem = shared.problem();
    let Settings { budget, tuning, .. } = settings;
    let least: Vec<u32> = shared.peak_bounds().iter().map(|(peak, _)| *peak).collect();
    let starts = [Schedule::source(problem), Schedule::production(problem)];
    let few = shared.few_registers();
    let wanted = tuning.start.map(|algorithm| start(problem, algorithm, settings));
    let starts = match &wanted {
        Some(start) => vec![start.order()],
        None => distinct([starts[0].order(), starts[1].order(), &few].into_iter()),
    };
    let log = shared.log(Quantity::Sum);
    let answer = weighted::lowest_sum(problem, &least, &starts, tuning.objective, budget, log.watch());
    shared.keep(log.finish(answer.nodes));
    Schedule::in_order(problem, answer.order)
}

/// The shortest schedule within limits: what lists or a search have found, and the question for ants that go
/// on from there.
pub(super) struct WithinLimits {
    found: Option<length::Answer>,
    question: Option<AntQuestion>,
}

impl WithinLimits {
    /// Lists or searches for a schedule within limits, and states the question for ants if they are to
    /// follow.
    pub(super) fn plan(
        shared: &SharedProblem,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        passes: PassSettings,
    ) -> Self {
        let PassSettings { by: [_, by], settings: Settings { budget, colony, least_gap, .. } } = passes;
        let options = length::Options { budget, only_lists: by != By::Search, ..length::Options::default() };
        // The published colony starts from the order of pass 1, which is the first one, without lists.
        let is_published = passes.is_published();
        let starts = if is_published { &starts[..starts.len().min(1)] } else { starts };
        let found = match is_published {
            true => as_it_is(shared, limits, starts),
            false => shared.shortest(limits, starts, options),
        };
        let has_room = |found: &length::Answer| by == By::Ants && found.length - found.bound >= least_gap;
        let question = found.as_ref().filter(|found| has_room(found)).and_then(|found| {
            // Lists take a hundredth of the time, and ants that start from them get much further.
            let starts: Vec<&[InstrId]> = starts.iter().copied().chain([&found.order[..]]).collect();
            shared.shorter(limits, &starts, colony::Options { budget, parameters: colony })
        });
        WithinLimits { found, question }
    }

    pub(super) fn question(&self) -> Option<&AntQuestion> {
        self.question.as_ref()
    }

    /// What lists or a search have found.
    pub(super) fn found(&self) -> Option<&length::Answer> {
        self.found.as_ref()
    }

    /// The shortest schedule. None if none of the orders to start from is within the limits.
    pub(super) fn finish(self, shared: &SharedProblem) -> Option<length::Answer> {
        let found = self.found?;
        let by_ants = self.question.and_then(|question| shared.ask_ants(&question).0);
        let Some(answer) = by_ants else { return Some(found) };
        let length = Schedule::in_order(shared.problem(), answer.order.clone()).length();
        // Ants do not know of units, which can make their schedule longer than they think.
        Some(match length < found.length {
            true => length::Answer { order: answer.order, length, bound: found.bound, nodes: answer.choices },
            false => found,
        })
    }
}

/// The first order, with stalls. None if it is not within the limits.
fn as_it_is(shared: &SharedProblem, limits: &[Option<u32>], starts: &[&[InstrId]]) -> Option<length::Answer> {
    let problem = shared.problem();
    let order = starts.first().filter(|order| is_within(problem.region(), order, limits))?.to_vec();
    let length = Schedule::in_order(problem, order.clone()).length();
    Some(length::Answer { order, length, bound: shared.length_bound(), nodes: 0 })
}

/// The first step towards the shortest schedule of a region: an order within the limits, or one that exceeds
/// them as little as possible.
pub(super) struct Nearest {
    known: Vec<Vec<InstrId>>,
    limits: Vec<Option<u32>>,
    passes: PassSettings,
    /// The order that exceeds the limits least, if all known orders do.
    nearest: Option<Vec<InstrId>>,
    question: Option<AntQuestion>,
}

impl Nearest {
    pub(super) fn plan(shared: &SharedProblem, passes: PassSettings) -> Self {
        let problem = shared.problem();
        let region = problem.region();
        let mut known: Vec<Vec<InstrId>> = vec![region.instrs().collect()];
        known.extend(region.production().map(|production| production.order.clone()));
        known.push(shared.few_registers());
        let by_path = &mut CriticalPath::new(problem);
        known.push(engine::run(problem, Direction::TopDown, Timing::Cycles, by_path, None).order().to_vec());
        let limits: Vec<Option<u32>> = problem.limits().iter().map(|&limit| Some(limit)).collect();
        let over = |order: &Vec<InstrId>| -> u64 {
            let peaks = peaks(problem, order);
            let over = peaks.iter().zip(problem.limits()).map(|(peak, limit)| peak.saturating_sub(*limit));
            over.map(u64::from).sum()
        };
        let nearest = known.iter().min_by_key(|order| over(order)).filter(|order| over(order) > 0);
        let mut nearest = nearest.cloned();
        let mut passes = passes;
        let mut question = None;
        if let Some(nearest) = &mut nearest {
            let by = passes.by[1];
            if by != By::Lists {
                passes.settings.budget = passes.settings.budget.part(2);
            }
            let Settings { budget, colony, .. } = passes.settings;
            match by {
                By::Lists => {}
                By::Search => {
                    if let Decision::Yes(order) = shared.within(&limits, nearest, budget).0 {
                        *nearest = order;
                    }
                }
                By::Ants => {
                    let options = colony::Options { budget, parameters: colony };
                    let steps = std::slice::from_ref(&limits);
                    question = Some(shared.fewer_registers(steps, nearest, options));
                }
            }
        }
        Nearest { known, limits, passes, nearest, question }
    }

    pub(super) fn question(&self) -> Option<&AntQuestion> {
        self.question.as_ref()
    }

    /// The second step. If no order was found within the limits, as little is added to them as is known to be
    /// needed.
    pub(super) fn finish(mut self, shared: &SharedProblem) -> WithinLimits {
        if let Some(mut nearest) = self.nearest.take() {
            if let Some(answer) = self.question.and_then(|question| shared.ask_ants(&question).0) {
                nearest = answer.order;
            }
            for (limit, peak) in self.limits.iter_mut().zip(peaks(shared.problem(), &nearest)) {
                *limit = limit.map(|limit| limit.max(peak));
            }
            self.known.push(nearest);
        }
        let starts = distinct(self.known.iter().map(Vec::as_slice));
        WithinLimits::plan(shared, &self.limits, &starts, self.passes)
    }
}

fn peaks(problem: &Problem, order: &[InstrId]) -> Vec<u32> {
    problem.measure(&Schedule::in_order(problem, order.to_vec())).between()
}

/// The last step: the shortest of all known schedules, and a length that none is below.
pub(super) fn shortest(shared: &SharedProblem, within: WithinLimits) -> (Schedule, u32) {
    let problem = shared.problem();
    let (found, bound) = match within.finish(shared) {
        Some(answer) => (Schedule::in_order(problem, answer.order), answer.bound),
        // Never: one of the known orders is within these limits.
        None => (Schedule::source(problem), shared.length_bound()),
    };
    let schedule = best(problem, [&found, &Schedule::source(problem), &Schedule::production(problem)]);
    (schedule, bound)
}
