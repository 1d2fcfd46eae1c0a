//! Is there an order within the limits? Cuts first, and then the search in parts, in turns that grow.

use std::cell::OnceCell;

use super::options::Options;
use super::race::{FIRST_STRIDE, GROWTH};
use super::solver::{Solver, bound_by_cuts};
use crate::analysis::closure::Closure;
use crate::analysis::limits::{binding_limits, is_within};
use crate::analysis::pressure_bound::is_time_for_cuts;
use crate::budget::Effort;
use crate::index::InstrId;
use crate::proof::{Moment, Reason};
use crate::region::Region;
use crate::verdict::Verdict;

/// Whether all classes can stay within limits: an order as witness, or the reason why not.
pub type Decision = Verdict<Vec<InstrId>, Reason>;

/// The largest region for the search: its data on all pairs of instructions would take too much memory.
pub(super) const MOST_FOR_SEARCH: usize = 1 << 14;

/// Find an order that keeps all classes within limits, or prove that there is none. `start` is any order.
pub fn within(region: &Region, limits: &[Option<u32>], start: &[InstrId], options: Options) -> Decision {
    let closure = OnceCell::new();
    decide(region, || closure.get_or_init(|| Closure::new(region)), limits, start, options).0
}

/// As [`within`], with the closure of the region, computed on demand. Also return the number of expanded
/// states.
pub(crate) fn decide<'c>(
    region: &Region,
    closure: impl FnOnce() -> &'c Closure,
    limits: &[Option<u32>],
    start: &[InstrId],
    options: Options,
) -> (Decision, u64) {
    decide_within(region, closure, limits, start, options, &mut options.budget.effort(region.len()))
}

/// As [`decide`], with the rest of a budget.
pub(super) fn decide_within<'c>(
    region: &Region,
    closure: impl FnOnce() -> &'c Closure,
    limits: &[Option<u32>],
    start: &[InstrId],
    options: Options,
    effort: &mut Effort,
) -> (Decision, u64) {
    let Some(limits) = binding_limits(region, limits) else {
        // The weight that passes through alone exceeds a limit.
        return (Decision::No(Reason::Cut(Moment::Start)), 0);
    };
    if is_within(region, start, &limits) {
        return (Decision::Yes(start.to_vec()), 0);
    }
    if !is_time_for_cuts(region, effort) {
        return (Decision::Unknown, 0);
    }
    let closure = closure();
    let mut start = start.to_vec();
    for class in region.class_ids() {
        let Some(limit) = limits[class.index()] else { continue };
        let cuts = bound_by_cuts(region, class, closure, &start, options.rules, effort);
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
    if region.len() > MOST_FOR_SEARCH || effort.is_spent() {
        return (Decision::Unknown, 0);
    }
    let limit = limits[first.index()].unwrap_or(u32::MAX);
    let mut solver = Solver::new(region, closure, limits, &start, options, effort);
    let mut turn = FIRST_STRIDE;
    let mut decision = Decision::Unknown;
    while decision.is_unknown() && !effort.is_spent() {
        match solver.ask(first, limit, turn, effort) {
            Verdict::Yes(order) => decision = Decision::Yes(order),
            Verdict::No(()) => {
                decision = Decision::No(Reason::Search { rules: options.rules, nodes: solver.states });
            }
            Verdict::Unknown => turn *= GROWTH,
        }
    }
    (decision, solver.states)
}
