//! `few-registers`: an order with few registers in near-linear time.
//!
//! The pressure f of downsets is submodular, so two moves lose nothing. A *free move* takes an instruction
//! that does not raise f. A *valley* is a downset with no more live weight than now, reached over the lowest
//! possible hill: the scheduler can commit to it. The scheduler goes from valley to valley. Between two
//! valleys it looks for the excursion with the lowest hill. It tries states in the order of the highest
//! pressure on their path, the lowest first. So the first valley found has the lowest hill of all. If this
//! takes too many states, it commits to the most promising one.
//!
//! Both directions of time are tried, and the better order is kept. The result is never worse than the source
//! order.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::engine::Direction;
use super::sethi_ullman::{Clusters, Variant, sethi_ullman_order};
use crate::analysis::closure::Closure;
use crate::analysis::pressure::peaks_along;
use crate::analysis::pressure_bound::{
    MOST_FOR_CUTS, is_time_for_cuts, pressure_at_ends, pressure_bound_within,
};
use crate::analysis::walk::{LiveGraph, PressureFields, Walk};
use crate::budget::{Effort, is_over};
use crate::index::InstrId;
use crate::problem::Problem;
use crate::random::Random;

/// The look-ahead of an excursion, after which it commits.
#[derive(Clone, Copy, Debug)]
pub struct LookAhead {
    /// States to expand.
    pub states: usize,
    /// Candidates to try in each of them.
    pub candidates: usize,
}

/// A state of an excursion: its parent, and the moves from it.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// Moves from the parent: `moves[from..to]`.
    from: u32,
    to: u32,
    hill: i64,
    /// The sum of the random numbers of all its instructions beyond the base.
    key: u64,
}

/// A walk from valley to valley, from one end of the region.
struct Search<'g> {
    direction: Direction,
    walk: Walk<'g>,
    /// The position in a known order, which breaks ties.
    rank: Vec<u32>,
    nodes: Vec<Node>,
    moves: Vec<u32>,
    path: Vec<u32>,
    /// Open nodes: (hill, live, node), the newest first among equals.
    open: BinaryHeap<(Reverse<i64>, Reverse<i64>, u32)>,
    /// States that have been opened, by the sum of random numbers of their instructions.
    seen: FxHashSet<u64>,
    keys: Vec<u64>,
    candidates: Vec<(i64, u32, u32)>,
    /// The highest pressure so far.
    hill: i64,
    /// Candidates that may still be tried, over all runs.
    trials: u64,
    /// The time limit, and the trials left at the next look at the clock.
    deadline: Option<Instant>,
    next_look: u64,
}

impl<'g> Search<'g> {
    fn new(graph: &'g LiveGraph, direction: Direction, deadline: Option<Instant>) -> Self {
        let mut random = Random::new(1);
        let trials = effort(TRIALS, graph.len());
        Search {
            direction,
            walk: Walk::new(graph),
            rank: vec![0; graph.len()],
            nodes: Vec::new(),
            moves: Vec::new(),
            path: Vec::new(),
            open: BinaryHeap::new(),
            seen: FxHashSet::default(),
            keys: (0..graph.len()).map(|_| random.bits()).collect(),
            candidates: Vec::new(),
            hill: 0,
            trials,
            deadline,
            next_look: trials.saturating_sub(TRIALS_PER_TIME),
        }
    }

    /// Find an order with a peak below `limit`, or give up. Ties go to the first in `guide`.
    fn run(&mut self, look_ahead: LookAhead, guide: &[InstrId], limit: u32) -> Option<Vec<InstrId>> {
        for (position, instr) in guide.iter().enumerate() {
            self.rank[instr.index()] = match self.direction {
                Direction::TopDown => position as u32,
                Direction::BottomUp => (guide.len() - position) as u32,
            };
        }
        self.hill = 0;
        self.walk.restart();
        self.walk.take_free_moves();
        while !self.walk.is_complete() {
            self.excursion(look_ahead);
            if self.hill >= i64::from(limit) || self.trials == 0 {
                return None;
            }
        }
        let mut order: Vec<InstrId> = self.walk.trail().iter().map(|&instr| InstrId(instr)).collect();
        if self.direction == Direction::BottomUp {
            order.reverse();
        }
        Some(order)
    }

    /// Go to the next valley, or to the end of the look-ahead.
    fn excursion(&mut self, limit: LookAhead) {
        let base = self.walk.trail().len();
        let level = self.walk.live();
        self.nodes.clear();
        self.moves.clear();
        self.open.clear();
        self.seen.clear();
        self.nodes.push(Node { parent: u32::MAX, from: 0, to: 0, hill: level, key: 0 });
        let mut current = 0;
        for _ in 0..limit.states {
            if self.trials < self.next_look {
                self.next_look = self.trials.saturating_sub(TRIALS_PER_TIME);
                if is_over(self.deadline) {
                    self.trials = 0;
                    return;
                }
            }
            if let Some(hill) = self.expand(current, level, limit.candidates) {
                self.hill = self.hill.max(hill);
                return;
            }
            let Some((Reverse(hill), Reverse(live), node)) = self.open.pop() else { return };
            self.hill = self.hill.max(hill);
            self.go_to(base, node);
            if live <= level || self.walk.is_complete() {
                return;
            }
            current = node;
        }
    }

    /// Open the children of the current node. If a child is a valley with the lowest possible hill, stay
    /// there and return the hill.
    fn expand(&mut self, node: u32, level: i64, most: usize) -> Option<i64> {
        let Node { hill, key, .. } = self.nodes[node as usize];
        let length = self.walk.trail().len();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let ready = self.walk.ready().iter();
        let looked_at = ready.len() as u64;
        candidates.extend(ready.map(|&instr| (self.walk.delta(instr), self.rank[instr as usize], instr)));
        if candidates.len() > most {
            candidates.select_nth_unstable(most - 1);
            candidates.truncate(most);
        }
        candidates.sort_unstable();
        // Looking at a candidate costs far less than a trial, but there can be very many.
        self.trials = self.trials.saturating_sub(candidates.len() as u64 + looked_at / 16);
        let mut found = None;
        for &(delta, _, instr) in &candidates {
            let top = hill.max(self.walk.live() + delta);
            self.walk.push(instr);
            self.walk.take_free_moves();
            let live = self.walk.live();
            let lowest = self.open.peek().is_none_or(|(Reverse(other), _, _)| top <= *other);
            if lowest && (live <= level || self.walk.is_complete()) {
                found = Some(top);
                break;
            }
            let added = &self.walk.trail()[length..];
            let from = self.moves.len() as u32;
            self.moves.extend_from_slice(added);
            let key = added.iter().map(|&instr| self.keys[instr as usize]).fold(key, u64::wrapping_add);
            if self.seen.insert(key) {
                self.open.push((Reverse(top), Reverse(live), self.nodes.len() as u32));
                self.nodes.push(Node { parent: node, from, to: self.moves.len() as u32, hill: top, key });
            } else {
                self.moves.truncate(from as usize);
            }
            self.walk.undo_to(length);
        }
        self.candidates = candidates;
        found
    }

    /// Move the walk to a node.
    fn go_to(&mut self, base: usize, node: u32) {
        self.walk.undo_to(base);
        self.path.clear();
        let mut at = node;
        while at != u32::MAX {
            self.path.push(at);
            at = self.nodes[at as usize].parent;
        }
        while let Some(at) = self.path.pop() {
            let Node { from, to, .. } = self.nodes[at as usize];
            for position in from..to {
                self.walk.push(self.moves[position as usize]);
            }
        }
        // The moves contain all free moves.
        self.walk.forget_improved();
    }
}

/// The look-aheads to try in turn until the bound is met.
const LOOK_AHEADS: [LookAhead; 4] = [
    LookAhead { states: 1, candidates: 8 },
    LookAhead { states: 4, candidates: 8 },
    LookAhead { states: 16, candidates: 8 },
    LookAhead { states: 64, candidates: 8 },
];

/// Candidates to try from each end: a constant, and a number for each instruction. They keep the time
/// near-linear.
const TRIALS: (u64, u64) = (15_000, 20);

/// Candidates between two looks at the clock.
const TRIALS_PER_TIME: u64 = 256;

/// Steps of the bound by cuts: a constant, and a number for each instruction.
const CUT_STEPS: (u64, u64) = (30_000, 20);

fn effort((start, each): (u64, u64), instructions: usize) -> u64 {
    start + each * instructions as u64
}

/// Return an order with few registers of the first class, and then of the others.
pub fn few_registers(problem: &Problem) -> Vec<InstrId> {
    let closure = OnceCell::new();
    few_registers_on(problem, || closure.get_or_init(|| Closure::new(problem.region())), None)
}

/// As [`few_registers`], with the closure of the region, which only hard regions need, and with a time limit.
/// The first lists run in any case.
pub(crate) fn few_registers_on<'c>(
    problem: &Problem,
    closure: impl FnOnce() -> &'c Closure,
    deadline: Option<Instant>,
) -> Vec<InstrId> {
    let region = problem.region();
    let mut best = Best::new(problem);
    for adjust in [false, true] {
        let variant = Variant { rp_reduction: true, adjust, clusters: Clusters::None };
        best.offer(sethi_ullman_order(problem, variant));
    }
    let mut bound =
        pressure_at_ends(region).get(problem.primary_class().index()).map_or(0, |(bound, _)| *bound);
    let steps = Effort { steps: effort(CUT_STEPS, region.len()), deadline };
    if best.peak() > bound && region.len() <= MOST_FOR_CUTS && is_time_for_cuts(region, &steps) {
        let cuts = pressure_bound_within(region, problem.primary_class(), closure(), &best.order, steps);
        bound = cuts.value;
        best.offer(cuts.order);
    }
    if best.peak() <= bound || is_over(deadline) {
        return best.order;
    }
    let packing = PressureFields::one(region, problem.primary_class());
    let directions = [Direction::BottomUp, Direction::TopDown];
    // The first end often meets the bound: then the other one is not needed.
    let graphs = [const { OnceCell::new() }; 2];
    let mut searches = [None, None];
    for look_ahead in LOOK_AHEADS {
        for (end, search) in searches.iter_mut().enumerate() {
            let search = search.get_or_insert_with(|| {
                let graph = graphs[end].get_or_init(|| LiveGraph::new(region, directions[end], &packing));
                Search::new(graph, directions[end], deadline)
            });
            if let Some(order) = search.run(look_ahead, &best.order, best.peak()) {
                best.offer(order);
            }
            if best.peak() <= bound {
                return best.order;
            }
        }
    }
    best.order
}

/// The best order so far.
struct Best<'a> {
    problem: &'a Problem<'a>,
    order: Vec<InstrId>,
    /// Peak of the first class, and of the others together.
    cost: (u32, u32),
}

impl<'a> Best<'a> {
    fn new(problem: &'a Problem<'a>) -> Self {
        let order: Vec<InstrId> = problem.region().instrs().collect();
        let cost = Best::cost(problem, &order);
        Best { problem, order, cost }
    }

    fn cost(problem: &Problem, order: &[InstrId]) -> (u32, u32) {
        let peaks = peaks_along(problem.region(), order);
        let all: u32 = peaks.iter().map(|peak| peak.between).sum();
        let first = peaks.get(problem.primary_class().index()).map_or(0, |peak| peak.between);
        (first, all - first)
    }

    fn peak(&self) -> u32 {
        self.cost.0
    }

    fn offer(&mut self, order: Vec<InstrId>) {
        let cost = Best::cost(self.problem, &order);
        if cost < self.cost {
            (self.order, self.cost) = (order, cost);
        }
    }
}
