//! The fewest registers, approached from above and below.
//!
//! The search starts from a known order with its peak, and from the lower bound by cuts. Each step asks
//! whether an order exists with a peak below the best. A new order lowers the peak; a negative answer proves
//! the best order optimal. One negative answer is usually enough, since good heuristics nearly always find
//! the optimum. While the question stays open, the same question is asked for the bound, which then rises.
//!
//! In large regions the heuristics can miss the optimum by far. Then windows of the best order are searched
//! first: see `windows`.

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use super::decide::decide;
pub use super::decide::{Decision, within};
pub use super::options::Options;

use super::Rules;
use super::decide::MOST_FOR_SEARCH;
use super::race::{FIRST_STRIDE, GROWTH};
use super::solver::{Solver, bound_by_cuts};
use super::valleys::order_through_valleys;
use super::windows::Windows;
use crate::analysis::closure::Closure;
use crate::analysis::limits::{binding_limits, fits, is_within, peaks};
use crate::analysis::pressure_bound::pressure_at_ends;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::proof::Reason;
use crate::region::Region;
use crate::threads;
use crate::verdict::Verdict;

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best order.
    pub order: Vec<InstrId>,
    /// Its peak.
    pub peak: u32,
    /// A lower bound on the peak, for orders within the limits on the other classes.
    pub bound: u32,
    /// The reason for the bound.
    pub reason: Reason,
    /// The expanded states.
    pub nodes: u64,
}

/// The part of a turn for each step of the bound.
const STEP_OF_BOUND: u64 = 16;

/// Of so many threads, one raises the bound in the meantime. It has a third of the steps, and can use few
/// threads.
const THREADS_PER_CLIMBER: usize = 4;

/// The smallest gap between peak and bound for windows, and the part of the bound from which on a gap is
/// wide. With a wide gap, windows come before everything else.
const LEAST_GAP: u32 = 3;
const WIDE_GAP: u32 = 5;

/// The part of the effort for windows before the searches, and after each open turn: one of so many parts.
const SHARE_OF_FIRST_WINDOWS: u32 = 4;
const SHARE_OF_WINDOWS: u32 = 32;

/// The part of the effort for an order through valleys, after the first open turn.
const SHARE_OF_VALLEYS: u32 = 4;

/// After each open turn, skeletons have this part of its steps for each instruction, and so many steps for
/// each pair of instructions: the larger a region, the less do other searches achieve.
const TURN_PER_SKELETON: u64 = 16;
const STEPS_FOR_SKELETONS: u64 = 4;

/// The part of a turn for a window, and the least number of steps.
const STEP_OF_WINDOW: u64 = 64;
const LEAST_STEP_OF_WINDOW: u64 = 40_000;

/// Find the lowest peak of a class, within limits on the others. `start` is an order within these limits.
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
    minimise_within(region, closure, class, others, start, options, &mut effort)
}

/// As [`minimise_on`], with the rest of a budget.
pub(crate) fn minimise_within(
    region: &Region,
    closure: &Closure,
    class: ClassId,
    others: &[Option<u32>],
    start: &[InstrId],
    options: Options,
    effort: &mut Effort,
) -> Answer {
    let mut others = others.to_vec();
    others.iter_mut().skip(class.index()).take(1).for_each(|limit| *limit = None);
    // If no order meets the limits, a bound without them is still valid.
    let mut limits = binding_limits(region, &others).unwrap_or_else(|| vec![None; region.classes().len()]);
    let watch = options.watch;
    if let Some((bound, _)) = pressure_at_ends(region).get(class.index()) {
        watch.begin(peaks(region, start)[class.index()], *bound);
    }
    let cuts = bound_by_cuts(region, class, closure, start, options.rules, effort);
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
    if let Some((bound, reason)) = options.known_bound.filter(|(bound, _)| *bound > answer.bound) {
        (answer.bound, answer.reason) = (bound, reason);
    }
    watch.proved(0, answer.bound);
    watch.found(0, answer.peak);
    if answer.peak == answer.bound || effort.is_spent() || region.len() > MOST_FOR_SEARCH {
        return answer;
    }
    let mut windows = Windows::new(region, class, options);
    let gap = answer.peak - answer.bound;
    if windows.are_possible() && gap >= LEAST_GAP.max(answer.bound / WIDE_GAP) {
        let steps = LEAST_STEP_OF_WINDOW;
        effort.with_share(SHARE_OF_FIRST_WINDOWS, |share| {
            lower_peak(&mut windows, &limits, steps, share, &mut answer)
        });
        watch.found(answer.nodes, answer.peak);
        if answer.peak == answer.bound {
            return answer;
        }
    }
    limits[class.index()] = Some(answer.peak);
    let mut solver = Solver::new(region, closure, limits.clone(), &answer.order, options, effort);
    let by_search = |solver: &Solver| Reason::Search { rules: options.rules, nodes: solver.states };
    if options.rules.cuts && options.rules.superiority && !effort.is_spent() {
        // The new dependences make cuts stronger.
        let bound = solver.bound(class, effort).min(answer.peak);
        if bound > answer.bound {
            (answer.bound, answer.reason) = (bound, by_search(&solver));
            watch.proved(0, bound);
        }
    }
    let mut turn = FIRST_STRIDE;
    while answer.peak > answer.bound && !effort.is_spent() {
        let (verdict, bound) = ask_and_climb(&mut solver, class, answer.bound, answer.peak, turn, effort);
        if bound > answer.bound {
            (answer.bound, answer.reason) = (bound, by_search(&solver));
        }
        match verdict {
            Verdict::Yes(order) => (answer.order, answer.peak) = (order, solver.peak(class)),
            Verdict::No(()) => (answer.bound, answer.reason) = (answer.peak, by_search(&solver)),
            Verdict::Unknown => {
                if turn == FIRST_STRIDE && windows.are_possible() {
                    let better = effort.with_share(SHARE_OF_VALLEYS, |share| {
                        through_valleys(region, class, &limits, &mut answer, options, share)
                    });
                    if better {
                        solver.adopt(class, &answer.order);
                    }
                }
                if windows.are_possible() && answer.peak - answer.bound >= LEAST_GAP {
                    let steps = (turn * GROWTH / STEP_OF_WINDOW).max(LEAST_STEP_OF_WINDOW);
                    let is_lower = effort.with_share(SHARE_OF_WINDOWS, |share| {
                        lower_peak(&mut windows, &limits, steps, share, &mut answer)
                    });
                    if is_lower {
                        solver.adopt(class, &answer.order);
                    }
                }
                let count = region.len() as u64;
                let steps = count * (turn / TURN_PER_SKELETON + count * STEPS_FOR_SKELETONS);
                climb_by_skeletons(&mut solver, class, &mut answer, steps, options.rules, effort);
                turn *= GROWTH;
            }
        }
        watch.proved(solver.states, answer.bound);
        watch.found(solver.states, answer.peak);
    }
    answer.nodes += solver.states;
    answer
}

/// Raise the bound by skeletons, in a number of steps, and lower the peak where they lead to a better order.
/// Each new order has a number of steps again.
fn climb_by_skeletons(
    solver: &mut Solver,
    class: ClassId,
    answer: &mut Answer,
    steps: u64,
    rules: Rules,
    effort: &mut Effort,
) {
    let mut is_better = true;
    while is_better && answer.peak > answer.bound && !effort.is_spent() {
        let most = steps.min(effort.steps / 2);
        let bound = effort
            .with_steps(most, |share| solver.climb_by_skeletons(class, answer.bound, answer.peak, share));
        if bound > answer.bound {
            (answer.bound, answer.reason) = (bound, Reason::Search { rules, nodes: solver.states });
        }
        is_better = solver.peak(class) < answer.peak;
        if is_better {
            (answer.order, answer.peak) = (solver.order(), solver.peak(class));
        }
    }
}

/// Order the region through its valleys. Return whether this lowers the peak.
fn through_valleys(
    region: &Region,
    class: ClassId,
    limits: &[Option<u32>],
    answer: &mut Answer,
    options: Options,
    effort: &mut Effort,
) -> bool {
    let Answer { order: guide, peak, nodes, .. } = answer;
    let order = order_through_valleys(region, class, limits, guide, options, effort, nodes);
    let all = peaks(region, &order);
    let is_better = all[class.index()] < *peak && fits(&all, limits);
    if is_better {
        (*guide, *peak) = (order, all[class.index()]);
    }
    is_better
}

/// Look for a lower peak in windows of the best order. Return whether there is one.
fn lower_peak(
    windows: &mut Windows,
    limits: &[Option<u32>],
    steps: u64,
    effort: &mut Effort,
    answer: &mut Answer,
) -> bool {
    let Answer { order, bound, nodes, .. } = &mut *answer;
    let found = windows.lower_peak(order, limits, *bound, steps, effort, nodes);
    let Some((order, peak)) = found else { return false };
    (answer.order, answer.peak) = (order, peak);
    true
}

/// Ask for a lower peak. The answer is no if some part has no better order; it is yes if all parts have one.
/// While the answer stays open, raise the bound: afterwards, or at the same time if there are threads for it.
fn ask_and_climb(
    solver: &mut Solver,
    class: ClassId,
    bound: u32,
    peak: u32,
    turn: u64,
    effort: &mut Effort,
) -> (Verdict<Vec<InstrId>>, u32) {
    let has_room = bound + 1 < peak;
    // The reserve is taken beforehand, so the order of the two searches makes no difference.
    let put_aside = effort.put_aside(if has_room { turn.min(effort.steps / 4) } else { 0 });
    let mut aside = put_aside;
    let is_answered = AtomicBool::new(false);
    let mut climber = solver.climber();
    let threads = solver.threads();
    let is_parallel = has_room && threads > 2;
    if is_parallel {
        // Rounds wait for the slowest thread. So both searches together have no more threads than allowed.
        let for_climber = (threads / THREADS_PER_CLIMBER).max(1);
        climber.set_threads(for_climber);
        solver.set_threads(threads - for_climber);
    }
    let mut climb = || climber.climb(class, bound, peak - 1, turn / STEP_OF_BOUND, &mut aside, &is_answered);
    let (verdict, climbed) = if is_parallel {
        std::thread::scope(|scope| {
            let climbed = scope.spawn(threads::same_clock(climb));
            let verdict = solver.ask(class, peak - 1, turn, effort);
            is_answered.store(!verdict.is_unknown(), Ordering::Relaxed);
            (verdict, Some(threads::join(climbed)))
        })
    } else {
        let verdict = solver.ask(class, peak - 1, turn, effort);
        let climbed = (has_room && verdict.is_unknown()).then(&mut climb);
        (verdict, climbed)
    };
    solver.set_threads(threads);
    if !verdict.is_unknown() {
        effort.give_back(put_aside);
        return (verdict, bound);
    }
    effort.give_back(aside);
    let (bound, states) = climbed.unwrap_or((bound, 0));
    solver.states += states;
    (verdict, bound)
}
