//! Decides whether a region has an order within given limits: depth-first search over downsets, from one end of time.

use super::Rules;
use super::memory::Memory;
use crate::analysis::closure::{Closure, contains};
use crate::analysis::flow::{DownsetMin, Effort, Minimum, Side};
use crate::analysis::walk::{Direction, LiveGraph, Walk};
use crate::index::{ClassId, InstrId};
use crate::random::Random;
use crate::region::Region;

/// The number of the state in which nothing has been passed: anything but 0.
const NOTHING_PASSED: u128 = 1;

/// What a search has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// An order within the limits.
    Found(Vec<InstrId>),
    /// There is none.
    Failed,
    /// Not known yet; the search can go on.
    Open,
}

/// A state on the way to the current one.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Instructions passed, and what is live then.
    length: u32,
    live: i64,
    /// The children still to try are `children[next..end]`, where the next frame's begin.
    first_child: u32,
    next_child: u32,
    /// If this state fails, so do all of `keys[first_key..]`.
    first_key: u32,
}

/// Where the search stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// At a state that has not been looked at. If it fails, so do all of `keys[first_key..]`.
    Enter { first_key: u32 },
    /// At the last frame's state, with some of its children done.
    Next,
    Done,
}

pub(crate) struct Search<'a> {
    region: &'a Region,
    direction: Direction,
    graph: &'a LiveGraph,
    rules: Rules,
    walk: Walk<'a>,
    limit: i64,
    /// The classes that count, each with its minima.
    minima: Vec<DownsetMin<'a>>,
    /// A random number for each instruction; a state has the sum (without carry) of those of its instructions.
    numbers: Vec<u128>,
    key: u128,
    memory: Memory,
    frames: Vec<Frame>,
    children: Vec<(i64, u32, u128)>,
    keys: Vec<u128>,
    step: Step,
    pub(crate) nodes: u64,
    rank: Vec<u32>,
    sides: Vec<Side>,
    set: Vec<u64>,
    ready: Vec<u32>,
    moves: Vec<u32>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        region: &'a Region,
        closure: &Closure,
        classes: &[ClassId],
        graph: &'a LiveGraph,
        direction: Direction,
        rules: Rules,
        most_states: usize,
    ) -> Self {
        let mut random = Random::new(1);
        Search {
            region,
            direction,
            graph,
            rules,
            walk: Walk::new(graph),
            limit: 0,
            minima: classes.iter().map(|&class| DownsetMin::new(region, class, closure)).collect(),
            numbers: (0..region.len()).map(|_| u128::from(random.bits()) << 64 | u128::from(random.bits())).collect(),
            key: 0,
            memory: Memory::new(most_states),
            frames: Vec::new(),
            children: Vec::new(),
            keys: Vec::new(),
            step: Step::Done,
            nodes: 0,
            rank: vec![0; region.len()],
            sides: vec![Side::Free; region.len()],
            set: vec![0; closure.words()],
            ready: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// Starts over with other limits. What failed within higher limits fails within lower ones, too.
    pub(crate) fn restart(&mut self, limit: i64, guide: &[InstrId]) {
        if !self.graph.packing().fits(limit, self.limit) {
            self.memory.clear();
        }
        for (position, instr) in guide.iter().enumerate() {
            self.rank[instr.index()] = match self.direction {
                Direction::TopDown => position as u32,
                Direction::BottomUp => (guide.len() - position) as u32,
            };
        }
        self.limit = limit;
        self.frames.clear();
        self.children.clear();
        self.keys.clear();
        self.walk.restart();
        self.key = NOTHING_PASSED;
        if !self.graph.packing().fits(self.walk.live(), limit) {
            self.step = Step::Done;
            return;
        }
        self.free_moves(0);
        self.step = Step::Enter { first_key: 0 };
    }

    /// Takes all free moves; the last `trail()[from..]` are not in the key yet.
    fn free_moves(&mut self, from: usize) {
        match self.rules.free_moves {
            true => self.walk.take_free_moves(),
            false => self.walk.forget_improved(),
        }
        let added = &self.walk.trail()[from..];
        self.key = added.iter().fold(self.key, |key, &instr| key ^ self.numbers[instr as usize]);
    }

    fn undo_to(&mut self, length: usize) {
        let removed = &self.walk.trail()[length..];
        self.key = removed.iter().fold(self.key, |key, &instr| key ^ self.numbers[instr as usize]);
        self.walk.undo_to(length);
    }

    fn push(&mut self, instr: u32) {
        let from = self.walk.trail().len();
        self.walk.push(instr);
        self.free_moves(from);
    }

    /// Goes on until there is an answer, or for so many more nodes.
    pub(crate) fn run(&mut self, nodes: u64, is_over: impl Fn() -> bool) -> Verdict {
        let end = self.nodes.saturating_add(nodes);
        loop {
            match self.step {
                Step::Done => return Verdict::Failed,
                Step::Enter { first_key } => {
                    if self.walk.is_complete() {
                        return Verdict::Found(self.order());
                    }
                    if self.rules.memory && self.memory.contains(self.key) {
                        self.fail(first_key);
                        continue;
                    }
                    if self.nodes >= end || (self.nodes.is_multiple_of(64) && is_over()) {
                        return Verdict::Open;
                    }
                    self.nodes += 1;
                    self.keys.push(self.key);
                    self.frames.push(Frame {
                        length: self.walk.trail().len() as u32,
                        live: self.walk.live(),
                        first_child: self.children.len() as u32,
                        next_child: self.children.len() as u32,
                        first_key,
                    });
                    self.step = Step::Next;
                    if self.expand() {
                        return Verdict::Found(self.order());
                    }
                }
                Step::Next => {
                    let Some(frame) = self.frames.last_mut() else { return Verdict::Failed };
                    if (frame.next_child as usize) < self.children.len() {
                        let (_, instr, key) = self.children[frame.next_child as usize];
                        frame.next_child += 1;
                        if self.rules.memory && self.memory.contains(key) {
                            continue;
                        }
                        self.push(instr);
                        self.step = Step::Enter { first_key: self.keys.len() as u32 };
                    } else {
                        let Frame { first_child, first_key, .. } = *frame;
                        self.children.truncate(first_child as usize);
                        self.frames.pop();
                        self.fail(first_key);
                    }
                }
            }
        }
    }

    /// Remembers that states have failed, and goes back to the last frame.
    fn fail(&mut self, first_key: u32) {
        if self.rules.memory {
            for &key in &self.keys[first_key as usize..] {
                self.memory.insert(key);
            }
        }
        self.keys.truncate(first_key as usize);
        match self.frames.last() {
            Some(frame) => {
                let length = frame.length as usize;
                self.undo_to(length);
                self.step = Step::Next;
            }
            None => self.step = Step::Done,
        }
    }

    /// Finds the children of the last frame's state, or commits. Whether a complete order has been found.
    fn expand(&mut self) -> bool {
        let length = self.walk.trail().len();
        let live = self.walk.live();
        let first = self.children.len();
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        ready.extend_from_slice(self.walk.ready());
        let mut is_found = false;
        for &instr in &ready {
            if !self.graph.packing().fits(live + self.walk.delta(instr), self.limit) {
                continue;
            }
            self.push(instr);
            if self.walk.is_complete() {
                is_found = true;
                break;
            }
            if self.rules.commit && self.graph.packing().fits(self.walk.live(), live) && self.commit() {
                break;
            }
            let key = self.key;
            let is_new = !(self.rules.memory && self.memory.contains(key))
                && self.children[first..].iter().all(|&(_, _, other)| other != key);
            if is_new {
                self.children.push((self.walk.live(), instr, key));
            }
            self.undo_to(length);
        }
        self.ready = ready;
        if self.step == Step::Next && !is_found {
            let rank = &self.rank;
            self.children[first..].sort_by_key(|&(live, instr, _)| (live, rank[instr as usize]));
        }
        is_found
    }

    /// The current state has no more live than some frame. Commits to it, or to a state before it, if that loses nothing.
    fn commit(&mut self) -> bool {
        // Frames whose level is not below the state to commit to.
        let mut live = self.walk.live();
        self.moves.clear();
        self.moves.extend_from_slice(self.walk.trail());
        let packing = self.graph.packing();
        let is_single = self.minima.len() == 1;
        let level = loop {
            let Some(level) = self.frames.iter().position(|frame| packing.fits(live, frame.live)) else { return false };
            let base = self.frames[level].length as usize;
            if self.moves.len() <= base + 1 {
                break level;
            }
            let (passed, between, ahead) = match self.direction {
                Direction::TopDown => (Side::In, Side::Free, Side::Out),
                Direction::BottomUp => (Side::Out, Side::Free, Side::In),
            };
            self.sides.fill(ahead);
            for &instr in &self.moves[..base] {
                self.sides[instr as usize] = passed;
            }
            for &instr in &self.moves[base..] {
                self.sides[instr as usize] = between;
            }
            if !is_single {
                // TODO
                return false;
            }
            let minimum = self.minima[0].min(&self.sides, live as u32, &mut Effort::UNBOUNDED.clone());
            let Minimum::Exact(least) = minimum else { break level };
            match self.direction {
                Direction::TopDown => self.minima[0].largest(&mut self.set),
                Direction::BottomUp => {
                    self.minima[0].smallest(&mut self.set);
                    self.set.iter_mut().for_each(|word| *word = !*word);
                }
            }
            let set = &self.set;
            self.moves.retain(|&instr| contains(set, InstrId(instr)));
            live = i64::from(least);
        };
        let Frame { length, first_key, first_child, .. } = self.frames[level];
        self.frames.truncate(level);
        self.children.truncate(first_child as usize);
        self.undo_to(length as usize);
        let moves = std::mem::take(&mut self.moves);
        for &instr in &moves[length as usize..] {
            self.walk.push(instr);
        }
        self.moves = moves;
        self.free_moves(length as usize);
        self.step = Step::Enter { first_key };
        // Free moves may have gone below an outer level.
        if !self.walk.is_complete() && self.frames.iter().any(|frame| self.graph.packing().fits(self.walk.live(), frame.live)) {
            self.commit();
        }
        true
    }

    fn order(&self) -> Vec<InstrId> {
        let mut order: Vec<InstrId> = self.walk.trail().iter().map(|&instr| InstrId(instr)).collect();
        if self.direction == Direction::BottomUp {
            order.reverse();
        }
        let _ = self.region;
        order
    }
}
