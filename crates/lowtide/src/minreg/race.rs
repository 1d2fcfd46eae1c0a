//! Two searches of the same part, from both ends of time: many real regions are easy from one end and hard
//! from the other.
//!
//! Both searches advance in the same strides, which double. The search that decides in the earlier stride
//! wins; in the same stride, the one from the start wins. So turns and parallel runs give the same answer and
//! the same counts. Long turns go to more searches, in [`rounds`](super::rounds).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::memory::Memory;
use super::options::Options;
use super::part::Part;
use super::rounds::{Dimensions, rounds};
use super::search::Search;
use crate::analysis::closure::Closure;
use crate::analysis::pressure_bound::pressure_at_ends;
use crate::analysis::walk::{Direction, LiveGraph, PressureFields};
use crate::budget::{Effort, is_over};
use crate::index::InstrId;
use crate::threads;
use crate::verdict::Verdict;

/// The first stride, in steps, and the growth of the turns of searches.
pub(super) const FIRST_STRIDE: u64 = 100_000;
pub(super) const GROWTH: u64 = 8;

/// The least effort that is worth a search.
pub(super) const LEAST_EFFORT: u64 = 1_000;

/// The effort of a stride.
#[derive(Clone, Copy, Default)]
struct Spent {
    steps: u64,
    states: u64,
}

const UNDECIDED: usize = usize::MAX;

/// Search a part from both ends, each for a turn of `turn` steps. `memories` are those of the two ends.
/// `states` is raised by the number of expanded states.
#[allow(clippy::too_many_arguments)] // each of them is needed, and none belongs to another
pub(super) fn race(
    part: &Part,
    limits: &[Option<u32>],
    options: Options,
    memories: &mut [Memory; 2],
    turn: u64,
    effort: &mut Effort,
    states: &mut u64,
    is_cancelled: &AtomicBool,
) -> Verdict<Vec<InstrId>> {
    let region = &part.region;
    let is_too_much = |((pressure, _), limit): (_, &Option<u32>)| limit.is_some_and(|limit| pressure > limit);
    if pressure_at_ends(region).into_iter().zip(limits).any(is_too_much) {
        return Verdict::No(());
    }
    let dimensions = Dimensions::of(turn, region.len(), options.budget);
    // Each of the two can then have a full turn.
    let turn = turn.min(effort.steps / 2);
    let packing = PressureFields::within(region, limits).filter(|_| turn >= LEAST_EFFORT);
    let Some(packing) = packing else {
        // No effort is left, or too many classes have too high limits.
        effort.steps = 0;
        return Verdict::Unknown;
    };
    let closure = Closure::new(region);
    let directions = [Direction::TopDown, Direction::BottomUp];
    let graphs = directions
        .map(|direction| LiveGraph::new(region, direction, &packing).without_redundant(&closure, direction));
    if let Some(dimensions) = dimensions {
        return rounds(
            part,
            &closure,
            &graphs,
            limits,
            options,
            memories,
            dimensions,
            turn,
            effort,
            states,
            is_cancelled,
        );
    }
    let strides = strides(turn);
    let decided = [AtomicUsize::new(UNDECIDED), AtomicUsize::new(UNDECIDED)];
    let whole = *effort;
    let deadline = whole.deadline;
    let run = |end: usize, search: &mut Search, memory: &mut Memory, stride: usize| {
        let is_late = || {
            let other = decided[1 - end].load(Ordering::Relaxed);
            // With a limit on steps, the speed of the other search must not matter.
            let is_lost = other.saturating_add(1 - end) <= stride
                || other != UNDECIDED && options.budget.nodes.is_none();
            is_lost || is_cancelled.load(Ordering::Relaxed)
        };
        let mut effort = whole.up_to(strides[stride]);
        let before = search.states;
        let verdict = if is_late() { Verdict::Unknown } else { search.run(memory, &mut effort, 0, is_late) };
        if !verdict.is_unknown() {
            decided[end].store(stride, Ordering::Relaxed);
        }
        (verdict, Spent { steps: strides[stride] - effort.steps, states: search.states - before })
    };
    let [forwards, backwards] = &mut *memories;
    let search =
        |end: usize| Search::new(part, &closure, &graphs[end], directions[end], limits, options.rules);
    let (mut first, mut second) = (search(0), search(1));
    let mut verdicts = [Verdict::Unknown, Verdict::Unknown];
    let mut spent = [vec![Spent::default(); strides.len()], vec![Spent::default(); strides.len()]];
    if options.budget.threads > 1 {
        let all = |end: usize, search: &mut Search, memory: &mut Memory, spent: &mut [Spent]| {
            for (stride, spent) in spent.iter_mut().enumerate() {
                let verdict;
                (verdict, *spent) = run(end, search, memory, stride);
                if !verdict.is_unknown() || is_over(deadline) {
                    return verdict;
                }
            }
            Verdict::Unknown
        };
        let [spent_first, spent_second] = &mut spent;
        std::thread::scope(|scope| {
            let other = scope.spawn(threads::same_clock(|| all(1, &mut second, backwards, spent_second)));
            verdicts[0] = all(0, &mut first, forwards, spent_first);
            verdicts[1] = threads::join(other);
        });
    } else {
        let mut searches = [(first, forwards), (second, backwards)];
        let turns = (0..strides.len()).flat_map(|stride| [(stride, 0), (stride, 1)]);
        for (stride, end) in turns {
            let (search, memory) = &mut searches[end];
            (verdicts[end], spent[end][stride]) = run(end, search, memory, stride);
            if verdicts[end] != Verdict::Unknown || is_over(deadline) {
                break;
            }
        }
    }
    let [first, second] = decided.map(AtomicUsize::into_inner);
    // Work after the decision does not count.
    let counted = [first.min(second).saturating_add(1), first.min(second.saturating_add(1))];
    for (spent, counted) in spent.iter().zip(counted) {
        for stride in spent.iter().take(counted) {
            effort.spend(stride.steps);
            *states += stride.states;
        }
    }
    let winner = usize::from(second < first);
    if first.min(second) != UNDECIDED {
        // Its failed states are forgotten, too.
        memories[1 - winner].clear();
    }
    std::mem::replace(&mut verdicts[winner], Verdict::Unknown)
}

/// Return the strides that double and make up a turn.
fn strides(turn: u64) -> Vec<u64> {
    let mut strides = Vec::new();
    let (mut next, mut left) = (FIRST_STRIDE, turn);
    while left > 0 {
        strides.push(next.min(left));
        left -= next.min(left);
        next *= 2;
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::peaks;
    use crate::budget::Budget;
    use crate::generate::{Shape, region};
    use crate::minreg::Rules;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The search from the start is too short to decide, so the other one starts, and fails.
    #[test]
    fn a_panic_of_the_second_search_is_passed_on() {
        let region = region(Shape::UnrolledLoop, 120, 1);
        let source: Vec<InstrId> = region.instrs().collect();
        let limits: Vec<Option<u32>> = peaks(&region, &source).into_iter().map(Some).collect();
        let part = Part::with_dependences(&region, &[], &source).expect("no cycle");
        let rules = Rules { free_moves: false, commit: false, ..Rules::ALL };
        let run = |threads: usize, backwards: Memory| {
            let options = Options { rules, ..Options::new(Budget { threads, ..Budget::UNLIMITED }) };
            let memories = &mut [Memory::new(1 << 10), backwards];
            let (effort, never) = (&mut { Effort::UNBOUNDED }, AtomicBool::new(false));
            let race = || race(&part, &limits, options, memories, LEAST_EFFORT, effort, &mut 0, &never);
            catch_unwind(AssertUnwindSafe(race))
        };
        for threads in [1, 2] {
            let verdict = run(threads, Memory::new(1 << 10)).expect("no panic");
            assert!(verdict.is_unknown(), "{verdict:?}");
            assert!(run(threads, Memory::broken()).is_err(), "{threads} threads");
        }
    }
}
