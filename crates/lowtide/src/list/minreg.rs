//! `default`: few registers in near-linear time.
//!
//! The pressure f of downsets is submodular, so two moves lose nothing: an instruction that does not raise f
//! can be taken at once (a *free move*), and a downset with no more live than now, reached with as low a hill as
//! possible, can be committed to (a *valley*). The scheduler goes from valley to valley. Between two of them it looks for the excursion
//! with the lowest hill: states are tried in the order of the highest pressure on the way to them, the lowest first, so that the first
//! state that is a valley has the lowest hill of all. Where this takes too many states, it commits to the most promising one.
//!
//! Both directions of time are tried, and the better order is kept; never one worse than the source order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use crate::analysis::walk::{LiveGraph, Walk};
use crate::generate::Random;
use crate::index::InstrId;
use crate::list::engine::Direction;
use crate::problem::Problem;

/// How far an excursion may look before it commits to something.
#[derive(Clone, Copy, Debug)]
pub struct LookAhead {
    /// States to expand.
    pub states: usize,
    /// Candidates to try in each of them.
    pub candidates: usize,
}

/// A state of an excursion: its parent, and what was added to it.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// Moves from the parent: `moves[from..to]`.
    from: u32,
    to: u32,
    hill: i64,
}

/// Buffers of one run.
struct Search<'g> {
    walk: Walk<'g>,
    /// What to prefer among equals: the position in a known order.
    rank: &'g [u32],
    nodes: Vec<Node>,
    moves: Vec<u32>,
    path: Vec<u32>,
    /// Open nodes: (hill, live, node), the newest first among equals.
    open: BinaryHeap<(Reverse<i64>, Reverse<i64>, u32)>,
    /// States that have been opened, by the sum of random numbers of their instructions.
    seen: FxHashSet<u64>,
    keys: Vec<u64>,
    candidates: Vec<(i64, u32, u32)>,
}

impl Search<'_> {
    /// Goes to the next valley, or as far as the look-ahead allows.
    fn excursion(&mut self, limit: LookAhead) {
        let base = self.walk.trail().len();
        let level = self.walk.live();
        self.nodes.clear();
        self.moves.clear();
        self.open.clear();
        self.seen.clear();
        self.nodes.push(Node { parent: u32::MAX, from: 0, to: 0, hill: level });
        let mut current = 0;
        for _ in 0..limit.states {
            if self.expand(current, level, limit.candidates) {
                return;
            }
            let Some((_, Reverse(live), node)) = self.open.pop() else { return };
            self.go_to(base, node);
            if live <= level || self.walk.is_complete() {
                return;
            }
            current = node;
        }
    }

    /// Opens the children of a node, at which the walk stands. If one is a valley with as low a hill as any, it stays there and
    /// returns true.
    fn expand(&mut self, node: u32, level: i64, most: usize) -> bool {
        let hill = self.nodes[node as usize].hill;
        let length = self.walk.trail().len();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let ready = self.walk.ready().iter();
        candidates.extend(ready.map(|&instr| (self.walk.delta(instr), self.rank[instr as usize], instr)));
        if candidates.len() > most {
            candidates.select_nth_unstable(most - 1);
            candidates.truncate(most);
        }
        candidates.sort_unstable();
        let mut found = false;
        for &(delta, _, instr) in &candidates {
            let top = hill.max(self.walk.live() + delta);
            self.walk.push(instr);
            self.walk.take_free_moves();
            let live = self.walk.live();
            let lowest = self.open.peek().is_none_or(|(Reverse(other), _, _)| top <= *other);
            if lowest && (live <= level || self.walk.is_complete()) {
                found = true;
                break;
            }
            let added = &self.walk.trail()[length..];
            let from = self.moves.len() as u32;
            self.moves.extend_from_slice(added);
            let key = added.iter().map(|&instr| self.keys[instr as usize]).fold(0, u64::wrapping_add);
            let key = key.wrapping_add(self.key_of(node));
            if self.seen.insert(key) {
                self.open.push((Reverse(top), Reverse(live), self.nodes.len() as u32));
                self.nodes.push(Node { parent: node, from, to: self.moves.len() as u32, hill: top });
            } else {
                self.moves.truncate(from as usize);
            }
            self.walk.undo_to(length);
        }
        self.candidates = candidates;
        found
    }

    fn key_of(&self, mut node: u32) -> u64 {
        let mut key = 0u64;
        while node != u32::MAX {
            let Node { parent, from, to, .. } = self.nodes[node as usize];
            for &instr in &self.moves[from as usize..to as usize] {
                key = key.wrapping_add(self.keys[instr as usize]);
            }
            node = parent;
        }
        key
    }

    /// Moves the walk to a node.
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
        // All free moves are among them.
        self.walk.forget_improved();
    }
}

/// An order found from one end of the region.
pub fn valleys(problem: &Problem, direction: Direction, limit: LookAhead, guide: &[InstrId]) -> Vec<InstrId> {
    let region = problem.region();
    let graph = LiveGraph::new(region, direction, |class| i64::from(class == problem.primary_class()));
    let mut random = Random::new(1);
    let mut rank = vec![0; region.len()];
    for (position, instr) in guide.iter().enumerate() {
        rank[instr.index()] = match direction {
            Direction::TopDown => position as u32,
            Direction::BottomUp => (region.len() - position) as u32,
        };
    }
    let mut search = Search {
        walk: Walk::new(&graph),
        rank: &rank,
        nodes: Vec::new(),
        moves: Vec::new(),
        path: Vec::new(),
        open: BinaryHeap::new(),
        seen: FxHashSet::default(),
        keys: (0..region.len()).map(|_| random.bits()).collect(),
        candidates: Vec::new(),
    };
    search.walk.take_free_moves();
    while !search.walk.is_complete() {
        search.excursion(limit);
    }
    let mut order: Vec<InstrId> = search.walk.trail().iter().map(|&instr| InstrId(instr)).collect();
    if direction == Direction::BottomUp {
        order.reverse();
    }
    order
}
