//! Pass 2: the shortest schedule within limits on registers (paper 2, Section 5.3).
//!
//! # Steps
//! 1. Every given order within the limits, with necessary stalls, is a schedule. The shortest one is the
//!    start, and Langevin and Černý's bound is the first bound.
//! 2. Guarded lists run from both ends of time (`guarded`). More lists follow, by the times of the best
//!    schedule with some noise, and moves in its order (`shorten`). If no guard leaves them much room below a
//!    limit, the exact search looks for one with fewer registers.
//! 3. Dependences are added without loss (`minreg::superiority`), or because of the limits
//!    (`minreg::forced_order`), and some get longer latencies (`forced_distance`). The bound of the graph
//!    with them is higher, and all later steps work on that graph. (The lists do not: an order that serves as
//!    a guard may violate the new dependences.)
//! 4. A short search tries to prove the best schedule.
//! 5. Windows for a target (`windows`) refute it or narrow the search.
//! 6. Branch and bound (`search`) decides one target after the other, from both ends.
//!
//! The pass ends when the length meets the bound, or when the budget is spent, with the best schedule and
//! bound so far.

mod shorten;

use std::borrow::Borrow;
use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use crate::analysis::closure::Closure;
use crate::analysis::distance::MOST_FOR_DISTANCES;
use crate::analysis::length_bound::{LengthBound, lower_bound_within, quick_bound, work_within};
use crate::analysis::limits::{binding_limits, is_within, peaks};
use crate::analysis::times::MOST_SLOTS;
use crate::analysis::walk::{Direction, PressureFields};
use crate::budget::{Budget, Effort, is_over};
use crate::index::InstrId;
use crate::minreg::exact;
use crate::minreg::forced_order::forced_order;
use crate::minreg::part::Part;
use crate::minreg::superiority::timed_superiority;
use crate::problem::Problem;
use crate::progress::Watch;
use crate::random::Random;
use crate::schedule::Schedule;
use crate::twopass::Rules;
use crate::twopass::forced_distance::forced_distances;
use crate::twopass::guarded::Guard;
use crate::twopass::prover::Prover;
use crate::twopass::timed::Timed;
use shorten::Chain;

/// The budget and the rules of the pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The budget of the whole pass.
    pub budget: Budget,
    /// Whether to stop after the lists and the bound without limits.
    pub only_lists: bool,
    /// The rules of the search.
    pub rules: Rules,
    /// A bound on the length within the limits that the pass can rely on.
    pub known_bound: u32,
    /// The log of the search.
    pub watch: Watch<'a>,
}

/// The result: the shortest schedule found, and the bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The order of the shortest schedule that was found.
    pub order: Vec<InstrId>,
    /// Its length.
    pub length: u32,
    /// A lower bound on the length within the limits.
    pub bound: u32,
    /// States of the search.
    pub nodes: u64,
}

/// Find the shortest schedule whose pressure stays within `limits` (one for each class; `None` for no limit).
/// Return `None` if no start is within the limits.
pub fn shortest(
    problem: &Problem,
    limits: &[Option<u32>],
    starts: &[&[InstrId]],
    options: Options,
) -> Option<Answer> {
    let region = problem.region();
    let time = options.budget.time_per_instr.map(|time| time.saturating_mul(region.len() as u32));
    let times = || lower_bound_within(problem, work_within(time, region.len()));
    shortest_on(problem, times, || Closure::new(region), limits, starts, options)
}

/// As [`shortest`], with the times and the closure of the region. Both are computed on demand.
pub(crate) fn shortest_on<T: Borrow<LengthBound>>(
    problem: &Problem,
    times: impl FnOnce() -> T,
    closure: impl Fn() -> Closure,
    limits: &[Option<u32>],
    starts: &[&[InstrId]],
    options: Options,
) -> Option<Answer> {
    let region = problem.region();
    let start = options.budget.start();
    let limits = binding_limits(region, limits)?;
    let mut orders: Vec<(u32, &[InstrId])> = starts
        .iter()
        .filter(|order| is_within(region, order, &limits))
        .map(|&order| (Schedule::in_order(problem, order.to_vec()).length(), order))
        .collect();
    orders.sort_by_key(|(length, _)| *length); // stable: the first one among equals
    let &(length, order) = orders.first()?;
    // No bound is above the length of a schedule: one that meets the quick bound meets the best one.
    let quick = quick_bound(problem);
    let times = (length > quick).then(times);
    let bound = times.as_ref().map_or(quick, |times| times.borrow().best()).max(options.known_bound);
    let mut answer = Answer { order: order.to_vec(), length, bound, nodes: 0 };
    options.watch.begin(answer.length, answer.bound);
    let Some(times) = times.filter(|_| length > bound) else { return Some(answer) };
    let Some(packing) = PressureFields::within(region, &limits) else { return Some(answer) };
    if u64::from(length) * u64::from(problem.target().issue().width) > MOST_SLOTS {
        return Some(answer);
    }
    let options = Options { budget: options.budget.since(start, region.len()), ..options };
    let guards: Vec<&[InstrId]> = orders.iter().map(|(_, order)| *order).collect();
    let mut pass = Pass::new(problem, &limits, &packing, times.borrow(), &guards, options, &mut answer);
    pass.lists(0);
    pass.shorten(LOOKS_AFTER_LISTS * region.len() as u64);
    if !options.only_lists {
        let made = OnceCell::new();
        if let Some(number) = pass.lower_guard(|| made.get_or_init(&closure)) {
            pass.lists(number);
            pass.shorten(LOOKS_AFTER_LISTS * region.len() as u64);
        }
        pass.prove(|| made.into_inner().unwrap_or_else(closure));
    }
    Some(answer)
}

/// The state of the whole pass.
struct Pass<'a> {
    problem: &'a Problem<'a>,
    /// The region from both ends: first to last, and last to first.
    graphs: Rc<[Timed; 2]>,
    guards: [Vec<Guard>; 2],
    effort: Effort,
    answer: &'a mut Answer,
    random: Random,
    has_units: bool,
    rules: Rules,
    watch: Watch<'a>,
    limits: Vec<Option<u32>>,
    packing: PressureFields,
    /// Orders within the limits, as different as possible.
    known: Vec<Vec<InstrId>>,
    /// The second chain of lists.
    challenger: Option<Chain>,
}

/// Looks of lists and moves that count as one step.
const LOOKS_PER_STEP: u64 = 16;

/// Looks for each instruction after the first lists.
const LOOKS_AFTER_LISTS: u64 = 300;

/// Looks of lists and moves for each state of the search, if the lists before have found a shorter schedule,
/// and if not.
const LOOKS_PER_NODE: [u64; 2] = [20, 5];

/// A guard leaves room if its peak is at most so many hundredths of every limit.
const PEAK_WITH_ROOM: u64 = 75;

/// If no guard does, the search for a lower one takes one of so many parts of the effort.
const SHARE_OF_GUARD: u32 = 12;

/// A gap between the length and its bound of more hundredths is wide: proofs are unlikely to close it, so
/// schedules get half of the effort.
const WIDE_GAP: u64 = 10;

/// The largest region with proofs. Larger ones have lists only: the closure and the sets of the windows would
/// take gigabytes.
const MOST_TO_PROVE: usize = 1 << 13;

/// The time to prepare proofs, for each pair of instructions: closures, networks and sets.
const NANOS_TO_PREPARE_A_PAIR: u64 = 4;

/// States of the first turn of the search, from each end.
const FIRST_TURN: u64 = 1000;

/// Turns before windows for all targets, each with twice the states of the one before.
const EARLY_TURNS: u32 = 3;

/// None of these turns starts after one of so many parts of the time.
const SHARE_OF_EARLY_TURNS: u32 = 8;

/// Lengths near the bound get one of so many parts of these states. To refute them raises the bound, but only
/// to refute the length just below the best schedule proves that schedule.
const SHARE_OF_CLIMBS: u64 = 4;

/// Return the time to prepare proofs about a number of instructions.
fn time_to_prepare(count: usize) -> Duration {
    Duration::from_nanos((count * count) as u64 * NANOS_TO_PREPARE_A_PAIR)
}

const ENDS: [Direction; 2] = [Direction::TopDown, Direction::BottomUp];

impl<'a> Pass<'a> {
    fn new(
        problem: &'a Problem<'a>,
        limits: &[Option<u32>],
        packing: &PressureFields,
        times: &LengthBound,
        guards: &[&[InstrId]],
        options: Options<'a>,
        answer: &'a mut Answer,
    ) -> Self {
        let graphs = ENDS.map(|end| Timed::new(problem, end, packing, limits, times));
        let known = guards.iter().map(|order| order.to_vec()).collect();
        let guards = [0, 1].map(|end| guards.iter().map(|order| Guard::new(&graphs[end], order)).collect());
        let has_units = !crate::analysis::length_bound::binding_units(problem).is_empty();
        Pass {
            problem,
            graphs: Rc::new(graphs),
            guards,
            effort: options.budget.effort(problem.region().len()),
            answer,
            random: Random::new(1),
            has_units,
            rules: options.rules,
            watch: options.watch,
            limits: limits.to_vec(),
            packing: packing.clone(),
            known,
            challenger: None,
        }
    }

    /// Spend half of the effort on shorter schedules if the gap is wide.
    fn shorten_if_wide(&mut self) {
        let [length, bound] = [self.answer.length, self.answer.bound].map(u64::from);
        let is_limited = self.effort.steps < u64::MAX || self.effort.deadline.is_some();
        if is_limited && 100 * length > (100 + WIDE_GAP) * bound {
            self.shorten_with_share(2);
        }
    }

    fn is_done(&self) -> bool {
        self.answer.length <= self.answer.bound || self.effort.is_spent()
    }

    /// Give the lists a guard with fewer registers, if no known order leaves them room. With a guard close to
    /// the limit, hardly any step but that of the guard is safe, and all lists look like it. Return the
    /// number of the new guard, if there is one.
    fn lower_guard<'c>(&mut self, closure: impl FnOnce() -> &'c Closure) -> Option<usize> {
        let region = self.problem.region();
        if self.is_done() || region.len() > MOST_TO_PROVE {
            return None;
        }
        let limits = &self.limits;
        // The class with the least room, its peak in hundredths of its limit, and the order.
        let tightest = |order: &[InstrId]| {
            let all = peaks(region, order);
            let shares = region.class_ids().filter_map(|class| {
                let limit = u64::from(limits[class.index()]?.max(1));
                Some((100 * u64::from(all[class.index()]) / limit, class))
            });
            shares.max()
        };
        let guards = self.known.iter().filter_map(|order| Some((tightest(order)?, order)));
        let ((share, class), guard) = guards.min_by_key(|(tightest, _)| *tightest)?;
        if share <= PEAK_WITH_ROOM {
            return None;
        }
        let before = peaks(region, guard)[class.index()];
        let options = exact::Options::new(Budget::default());
        let found = self.effort.with_share(SHARE_OF_GUARD, |effort| {
            let search =
                |effort| exact::minimise_within(region, closure(), class, limits, guard, options, effort);
            effort.has_time_for(time_to_prepare(region.len())).then(|| search(effort))
        })?;
        if found.peak >= before || !is_within(region, &found.order, limits) {
            return None;
        }
        let number = self.guards[0].len();
        for (guards, graph) in self.guards.iter_mut().zip(self.graphs.iter()) {
            guards.push(Guard::new(graph, &found.order));
        }
        self.known.push(found.order);
        Some(number)
    }

    /// Find dependences that can be added, windows for targets, and search with all of these.
    fn prove(&mut self, closure: impl FnOnce() -> Closure) {
        let count = self.graphs[0].len();
        if self.is_done() {
            return;
        }
        if count > MOST_TO_PROVE || !self.effort.has_time_for(time_to_prepare(count)) {
            return self.shorten_if_wide();
        }
        let Some(part) = self.tightened(closure()) else { return };
        let Ok(problem) = Problem::new(&part.region, self.problem.target(), self.problem.goal()) else {
            return;
        };
        let times = lower_bound_within(&problem, work_within(self.effort.time_left(), count));
        self.raise_bound(times.best());
        if self.is_done() {
            return;
        }
        let graphs = ENDS.map(|end| Timed::new(&problem, end, &self.packing, &self.limits, &times));
        let known = part.in_part(&self.answer.order);
        let mut prover = Prover::new(&part.region, &graphs, &self.limits, self.rules, &known, self.watch);
        prover.bound = self.answer.bound;
        self.search_early(&part, &mut prover);
        self.refute(&mut prover);
        self.shorten_if_wide();
        self.search(&part, &mut prover);
    }

    /// Return the region with more dependences: harmless ones, and those that follow from the limits, with
    /// their latencies.
    fn tightened(&mut self, mut closure: Closure) -> Option<Part> {
        let region = self.problem.region();
        let mut edges = Vec::new();
        if self.rules.superiority && region.len() <= MOST_FOR_DISTANCES {
            edges = self.effort.with_share(4, |share| timed_superiority(self.problem, &mut closure, share));
        }
        if self.rules.forced_order {
            let known: Vec<&[InstrId]> = self.known.iter().map(|order| &order[..]).collect();
            let limits = &self.limits;
            edges.extend(
                self.effort
                    .with_share(4, |share| forced_order(region, &mut closure, limits, &known, 1, share))?,
            );
        }
        let part = Part::with_dependences(region, &edges, &self.answer.order)?;
        if !self.rules.forced_order {
            return Some(part);
        }
        let problem = Problem::new(&part.region, self.problem.target(), self.problem.goal()).ok()?;
        let limits = &self.limits;
        let distances = self.effort.with_share(8, |share| forced_distances(&problem, limits, share));
        Some(if distances.is_empty() { part } else { part.with_latencies(&distances) })
    }

    fn raise_bound(&mut self, bound: u32) {
        self.answer.bound = self.answer.bound.max(bound);
        self.watch.proved(self.answer.nodes, self.answer.bound);
    }

    /// Raise the bound by windows alone, the cheapest proofs first.
    fn refute(&mut self, prover: &mut Prover) {
        if self.rules.windows {
            self.effort.with_share(4, |share| prover.refute_by_waves(self.answer.length, share));
            self.raise_bound(prover.bound);
            self.effort.with_share(3, |share| prover.refute(self.answer.length, false, share));
            self.raise_bound(prover.bound);
            self.effort.with_share(8, |share| prover.refute(self.answer.length, true, share));
            self.raise_bound(prover.bound);
        }
    }

    /// Try to prove the best schedule by a short search. Often this takes less than windows for all targets.
    fn search_early(&mut self, part: &Part, prover: &mut Prover) {
        let share = self.effort.share(SHARE_OF_EARLY_TURNS);
        for turn in 0..EARLY_TURNS {
            if is_over(share.deadline) {
                return;
            }
            for end in 0..self.ends() {
                self.shorten_by_search(end, FIRST_TURN << turn, part, prover);
            }
        }
    }

    /// Return the number of ends of time to search from.
    fn ends(&self) -> usize {
        if self.rules.both_ends && !self.has_units { 2 } else { 1 }
    }

    /// Look for a schedule that is a cycle shorter, again and again, until there is none or `most` states do
    /// not tell.
    fn shorten_by_search(&mut self, end: usize, most: u64, part: &Part, prover: &mut Prover) {
        while !self.is_done() {
            let verdict = prover.try_target(end, self.answer.length - 1, most, &mut self.effort);
            self.take(part, prover);
            if !verdict.is_yes() {
                return;
            }
        }
    }

    /// Search from both ends, in turns with more lists. Each turn first looks for a schedule that is a cycle
    /// shorter: to refute that length often takes no more states than to refute a smaller one. Then it raises
    /// the bound. A turn is twice as long as the one before. An end that has raised the bound less than the
    /// other one runs only in every fourth turn.
    fn search(&mut self, part: &Part, prover: &mut Prover) {
        let mut gains = [0; 2];
        let mut most = FIRST_TURN;
        let [mut looks, few_looks] = LOOKS_PER_NODE;
        for turn in 1.. {
            if self.is_done() {
                return;
            }
            let before = self.answer.length;
            self.shorten(looks * most);
            looks = if self.answer.length < before { LOOKS_PER_NODE[0] } else { few_looks };
            for end in 0..self.ends() {
                if gains[end] < gains[1 - end] && turn % 4 != 0 {
                    continue;
                }
                self.shorten_by_search(end, most, part, prover);
                if !self.is_done() {
                    let before = prover.bound;
                    prover.climb(end, self.answer.length, most / SHARE_OF_CLIMBS, &mut self.effort);
                    gains[end] += prover.bound - before;
                    self.take(part, prover);
                }
            }
            most *= 2;
        }
    }

    /// Accept the schedules and bounds of the prover.
    fn take(&mut self, part: &Part, prover: &mut Prover) {
        self.answer.nodes = prover.nodes();
        self.raise_bound(prover.bound);
        if let Some(order) = prover.found.take() {
            let order = part.in_whole(&order);
            let length = Schedule::in_order(self.problem, order.clone()).length();
            if length < self.answer.length {
                (self.answer.order, self.answer.length) = (order, length);
                self.watch.found(self.answer.nodes, length);
            }
        }
    }
}
