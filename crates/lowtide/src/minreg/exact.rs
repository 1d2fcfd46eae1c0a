//! The fewest registers possible, from both ends of the range.
//!
//! The search starts from a known order, whose peak is to be beaten, and from the bound by cuts. Each step
//! asks whether an order exists with a peak below the best: an order found lowers the peak; if there is none,
//! the best order is optimal. One such answer is enough, since good heuristics find the optimum nearly
//! always. While it stays open, the same question is asked for the bound, too, which then rises.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Rules;
use super::race::FIRST_STRIDE;
use super::solver::{Solver, bound_by_cuts};
use crate::analysis::closure::Closure;
use crate::analysis::limits::{binding_limits, is_within, peaks};
use crate::analysis::pressure_bound::pressure_at_ends;
use crate::budget::{Budget, Effort};
use crate::index::{ClassId, InstrId};
use crate::progress::Watch;
use crate::proof::{Moment, Reason};
use crate::region::Region;
use crate::threads;
use crate::verdict::Verdict;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// How much effort to spend.
    pub budget: Budget,
    /// By which rules.
    pub rules: Rules,
    /// Where it is noted what [`minimise`] finds.
    pub watch: Watch<'a>,
}

impl Options<'_> {
    /// All rules.
    pub fn new(budget: Budget) -> Self {
        Options { budget, rules: Rules::ALL, watch: Watch::default() }
    }
}

/// What is known at the end of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best order.
    pub order: Vec<InstrId>,
    /// Its peak.
    pub peak: u32,
    /// No order within the limits on the other classes has a lower one.
    pub bound: u32,
    /// Why.
    pub reason: Reason,
    /// States that were expanded.
    pub nodes: u64,
}

/// Whether all classes can stay within limits: by this order, or not for this reason.
pub type Decision = Verdict<Vec<InstrId>, Reason>;

/// Larger regions are not searched: what the search needs to know about all pairs of instructions would take
/// too much memory.
const MOST_FOR_SEARCH: usize = 1 << 14;

/// By how much the turns of the searches grow, and which part of a turn each step of the bound can have.
const GROWTH: u64 = 8;
const STEP_OF_BOUND: u64 = 16;

/// Finds the lowest peak of a class, with limits on others, if there are any. `start` is an order within
/// these limits.
///
/// ```
/// use lowtide::generate::{Shape, region};
/// use lowtide::minreg::exact::{Options, minimise};
/// use lowtide::budget::Budget;
/// use lowtide::ClassId;
///
/// let region = region(Shape::UnrolledLoop, 80, 3);
/// let source: Vec<_> = region.instrs().collect();
/// let answer = minimise(&region, ClassId(0), &[], &source, Options::new(Budget::default()));
/// assert_eq!(answer.peak, answer.bound, "without a limit on the effort, the optimum is found");
/// ```
pub fn minimise(
    region: &Region,
    class: ClassId,
    others: &[Option<u32>],
    start: &[InstrId],
    options: Options,
) -> Answer {
    minimise_on(region, &Closure::new(region), class, others, start, options)
}

/// As [`minimise`], with the closure of the region.
pub(crate) fn minimise_on(
    region: &Region,
    closure: &Closure,
    class: ClassId,
    others: &[Option<u32>],
    start: &[InstrId],
    options: Options,
) -> Answer {
    let mut effort = options.budget.effort(region.len());
    let mut others = others.to_vec();
    others.iter_mut().skip(class.index()).take(1).for_each(|limit| *limit = None);
    // Without limits that no order can meet, a bound is still true.
    let mut limits = binding_limits(region, &others).unwrap_or_else(|| vec![None; region.classes().len()]);
    let watch = options.watch;
    if let Some((bound, _)) = pressure_at_ends(region).get(class.index()) {
        watch.begin(peaks(region, start)[class.index()], *bound);
    }
    let cuts = bound_by_cuts(region, class, closure, start, options.rules, &mut effort);
    let mut answer = Answer {
        order: start.to_vec(),
        peak: cuts.hint_peak,
        bound: cuts.value,
        reason: Reason::Cut(cuts.witness),
        nodes: 0,
    };
    if cuts.peak < answer.peak && is_within(region, &cuts.order, &limits) {
        (answer.order, answer.peak) = (cuts.order, cuts.peak);
    }
    watch.proved(0, answer.bound);
    watch.found(0, answer.peak);
    if answer.peak == answer.bound || effort.is_spent() || region.len() > MOST_FOR_SEARCH {
        return answer;
    }
    limits[class.index()] = Some(answer.peak);
    let mut solver = Solver::new(region, closure, limits, &answer.order, options, &mut effort);
    let by_search = |solver: &Solver| Reason::Search { rules: options.rules, nodes: solver.states };
    if options.rules.cuts && options.rules.superiority && !effort.is_spent() {
        // With the new dependences, cuts say more.
        let bound = solver.bound(class, &mut effort).min(answer.peak);
        if bound > answer.bound {
            (answer.bound, answer.reason) = (bound, by_search(&solver));
            watch.proved(0, bound);
        }
    }
    let mut turn = FIRST_STRIDE;
    while answer.peak > answer.bound && !effort.is_spent() {
        let (verdict, bound) =
            ask_and_climb(&mut solver, class, answer.bound, answer.peak, turn, &mut effort);
        if bound > answer.bound {
            (answer.bound, answer.reason) = (bound, by_search(&solver));
        }
        match verdict {
            Verdict::Yes(order) => (answer.order, answer.peak) = (order, solver.peak(class)),
            Verdict::No(()) => (answer.bound, answer.reason) = (answer.peak, by_search(&solver)),
            Verdict::Unknown => turn *= GROWTH,
        }
        watch.proved(solver.states, answer.bound);
        watch.found(solver.states, answer.peak);
    }
    answer.nodes = solver.states;
    answer
}

/// Asks for a lower peak: any part that cannot do better proves that there is none; else all must do better.
/// While that stays open, the bound is raised: afterwards, or at the same time if there are threads for it.
fn ask_and_climb(
    solver: &mut Solver,
    class: ClassId,
    bound: u32,
    peak: u32,
    turn: u64,
    effort: &mut Effort,
) -> (Verdict<Vec<InstrId>>, u32) {
    let has_room = bound + 1 < peak;
    // Put aside beforehand, so that it makes no difference which of the two is first.
    let put_aside = effort.put_aside(if has_room { turn.min(effort.steps / 4) } else { 0 });
    let mut aside = put_aside;
    let is_answered = AtomicBool::new(false);
    let mut climber = solver.climber();
    let mut climb = || climber.climb(class, bound, peak - 1, turn / STEP_OF_BOUND, &mut aside, &is_answered);
    let (verdict, climbed) = if has_room && solver.threads() > 2 {
        std::thread::scope(|scope| {
            let climbed = scope.spawn(climb);
            let verdict = solver.ask(class, peak - 1, turn, effort);
            is_answered.store(!verdict.is_unknown(), Ordering::Relaxed);
            (verdict, Some(threads::join(climbed)))
        })
    } else {
        let verdict = solver.ask(class, peak - 1, turn, effort);
        let climbed = (has_room && verdict.is_unknown()).then(&mut climb);
        (verdict, climbed)
    };
    if !verdict.is_unknown() {
        effort.give_back(put_aside);
        return (verdict, bound);
    }
    effort.give_back(aside);
    let (bound, states) = climbed.unwrap_or((bound, 0));
    solver.states += states;
    (verdict, bound)
}

/// Finds an order that keeps all classes within limits, or proves that there is none. `start` is any order.
pub fn within(region: &Region, limits: &[Option<u32>], start: &[InstrId], options: Options) -> Decision {
    let closure = OnceCell::new();
    decide(region, || closure.get_or_init(|| Closure::new(region)), limits, start, options).0
}

/// As [`within`], with the closure of the region, if it is needed, and the number of states that were expanded.
pub(crate) fn decide<'c>(
    region: &Region,
    closure: impl FnOnce() -> &'c Closure,
    limits: &[Option<u32>],
    start: &[InstrId],
    options: Options,
) -> (Decision, u64) {
    let mut effort = options.budget.effort(region.len());
    let Some(limits) = binding_limits(region, limits) else {
        // What passes through alone is too much.
        return (Decision::No(Reason::Cut(Moment::Start)), 0);
    };
    if is_within(region, start, &limits) {
        return (Decision::Yes(start.to_vec()), 0);
    }
    let closure = closure();
    let mut start = start.to_vec();
    for class in region.class_ids() {
        let Some(limit) = limits[class.index()] else { continue };
        let cuts = bound_by_cuts(region, class, closure, &start, options.rules, &mut effort);
        if cuts.value > limit {
            return (Decision::No(Reason::Cut(cuts.witness)), 0);
        }
        start = cuts.order;
        if is_within(region, &start, &limits) {
            return (Decision::Yes(start), 0);
        }
    }
    let Some(first) = region.class_ids().find(|class| limits[class.index()].is_some()) else {
        return (Decision::Yes(start), 0);
    };
    if region.len() > MOST_FOR_SEARCH {
        return (Decision::Unknown, 0);
    }
    let limit = limits[first.index()].unwrap_or(u32::MAX);
    let mut solver = Solver::new(region, closure, limits, &start, options, &mut effort);
    let mut turn = FIRST_STRIDE;
    let mut decision = Decision::Unknown;
    while decision.is_unknown() && !effort.is_spent() {
        match solver.ask(first, limit, turn, &mut effort) {
            Verdict::Yes(order) => decision = Decision::Yes(order),
            Verdict::No(()) => {
                decision = Decision::No(Reason::Search { rules: options.rules, nodes: solver.states });
            }
            Verdict::Unknown => turn *= GROWTH,
        }
    }
    (decision, solver.states)
}
