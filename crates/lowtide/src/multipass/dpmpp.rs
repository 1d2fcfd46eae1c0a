//! Algorithm DPMPP of paper 5, Figure 1: dynamic programming from the last operation to the first.
//!
//! A transition puts one operation before the operations already placed. Its precondition is the state of the
//! machine before it. The state has the remaining operations, the values wanted in registers and in storage,
//! and the rest of the current pass. Each stage makes the transitions that can precede those of the stage
//! before:
//!
//! - *valid*: everything that reads the results has its place, and the pass has room;
//! - with *optimal substructure* (Section 3.2.1): of the valid ones, those with the fewest operations in
//!   their subtree;
//! - a *new pass* begins only when no operation is valid; it takes no stage of its own;
//! - of the transitions before one, those of least cost stay; of those with the same precondition, one of
//!   least cost.
//!
//! Section 5 suggests Sethi-Ullman numbers instead of the size of the subtree ([`Numbering::SethiUllman`]).
//!
//! The paper calls the result globally optimal. It is not: the substructure rule decides by size, not by
//! cost, and every operation runs once. [`exact`](super::exact) measures the gap.

use rustc_hash::FxHashMap;

use super::mio::sethi_ullman;
use super::{Partition, PassProblem};
use crate::bits::{BitMatrix, BitSet};
use crate::random::Random;

/// The most transitions of a stage: only graphs with very many equal parts have more.
pub const MOST_WIDTH: usize = 1024;
/// The most words of all states besides the first one of each stage. Beyond them, stages have one transition.
const MOST_WORDS: u64 = 1 << 25;

/// The number by which transitions have optimal substructure: the smallest one of the valid ones counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Numbering {
    /// The operations of the subtree (Section 3.2.1).
    Size,
    /// The registers that the subtree needs (Section 5).
    SethiUllman,
}

/// The result of the algorithm, with its statistics.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The passes.
    pub partition: Partition,
    /// The number of transitions of each stage, from the last operation to the first (Figure 2).
    pub widths: Vec<u32>,
    /// Whether the result is truncated: a stage had more than [`MOST_WIDTH`] transitions, or all together
    /// took too long. Only the cheapest were kept.
    pub is_cut: bool,
}

impl Found {
    /// Return the mean of the branching factors w(i+1)/w(i) over all stages: the paper's b.
    pub fn branching(&self) -> f64 {
        let factors = self.widths.windows(2).map(|pair| f64::from(pair[1]) / f64::from(pair[0]));
        let count = self.widths.len().saturating_sub(1);
        if count == 0 { 1.0 } else { factors.sum::<f64>() / count as f64 }
    }
}

/// A precondition, with the cost of the best path from it to the end.
#[derive(Clone)]
struct State {
    cost: u64,
    /// The path from here to the end: a position among all transitions.
    way: u32,
    /// The placed operations.
    done: BitSet,
    /// Operations whose successors are all placed, by size of their subtree.
    ready: Vec<(u32, u32)>,
    /// Values wanted in registers, and how many registers they take.
    live: Vec<u32>,
    live_size: u32,
    /// Values wanted in storage by later passes: a bit each, as a shader can have thousands of outputs.
    wanted: BitSet,
    /// Live results of requests with no wait between here and their use.
    uncovered: Vec<u32>,
    /// Requests between here and the next wait; none if no wait of this pass comes later.
    segment: Option<u32>,
    inputs: Vec<u32>,
    instructions: u32,
    textures: u32,
    outputs: u32,
    /// Hash keys of the sets: done, live, wanted, uncovered, inputs.
    keys: [u64; 5],
}

impl State {
    fn is_wanted(&self, value: u32) -> bool {
        self.wanted.contains(value)
    }

    /// Return its size in words.
    fn words(&self) -> u64 {
        (self.done.words() + self.ready.len() + self.live.len() + self.wanted.words()) as u64
    }
}

/// A kept transition: its successor, and its operation.
#[derive(Clone, Copy)]
struct Step {
    next: u32,
    op: u32,
    /// Whether the pass that began before (in time: after) this operation is another one.
    is_new_pass: bool,
}

const END: u32 = u32::MAX;

/// The effect of placing an operation on a state.
struct Effect {
    cost: u64,
    live_size: u32,
    textures: u32,
    outputs: u32,
    new_inputs: u32,
    waits: bool,
}

struct Run<'a> {
    problem: &'a PassProblem<'a>,
    /// By operation: the number of its subtree.
    subtree: Vec<u32>,
    /// Random numbers for operations, and for values in three roles, and inputs.
    numbers: [Vec<u64>; 5],
    steps: Vec<Step>,
}

/// Partition by dynamic programming. Return `None` if that finds no partition: some operation does not fit
/// into a pass of its own.
pub fn partition(problem: &PassProblem) -> Option<Found> {
    partition_by(problem, Numbering::Size)
}

/// As [`partition`], with another numbering of subtrees.
pub fn partition_by(problem: &PassProblem, numbering: Numbering) -> Option<Found> {
    let mut run = Run::new(problem, numbering);
    let mut states = vec![run.end()];
    let mut widths = Vec::with_capacity(problem.len());
    let mut is_cut = false;
    let mut words = 0;
    for _ in 0..problem.len() {
        let mut next: Vec<State> = Vec::new();
        let mut known: FxHashMap<([u64; 5], [u32; 4]), usize> = FxHashMap::default();
        for state in &states {
            let is_over = |next: &[State], words: u64| !next.is_empty() && words >= MOST_WORDS;
            if is_over(&next, words) {
                is_cut = true;
                break;
            }
            // A new pass begins only where nothing more fits into this one.
            let valid = run.best_valid(state);
            let fresh = valid.is_empty().then(|| run.new_pass(state));
            let (state, valid) = match &fresh {
                Some(fresh) => (fresh, run.best_valid(fresh)),
                None => (state, valid),
            };
            let least = valid.iter().map(|(_, effect)| effect.cost).min();
            for (op, effect) in valid.into_iter().filter(|(_, effect)| Some(effect.cost) == least) {
                if is_over(&next, words) {
                    is_cut = true;
                    break;
                }
                words += if next.is_empty() { 0 } else { state.words() };
                let key = run.key(state, op, &effect);
                let place = known.get(&key).copied();
                if place.is_some_and(|place| next[place].cost <= effect.cost) {
                    continue;
                }
                let step = Step { next: state.way, op, is_new_pass: fresh.is_some() };
                let before = run.place(state, op, &effect, step);
                match place {
                    Some(place) => next[place] = before,
                    None => {
                        known.insert(key, next.len());
                        next.push(before);
                    }
                }
            }
        }
        let most = if words < MOST_WORDS { MOST_WIDTH } else { 1 };
        if next.len() > most {
            is_cut = true;
            next.sort_by_key(|state| state.cost);
            next.truncate(most);
        }
        widths.push(next.len() as u32);
        states = next;
    }
    let load = u64::from(problem.model().cost.load);
    let total = |state: &State| state.cost + load * u64::from(state.live_size);
    let way = states.iter().min_by_key(|state| total(state)).map_or(END, |state| state.way);
    Some(Found { partition: problem.legal(run.unfold(way))?, widths, is_cut })
}

impl<'a> Run<'a> {
    fn new(problem: &'a PassProblem<'a>, numbering: Numbering) -> Self {
        let mut random = Random::new(0x9a55e5);
        let values = problem.value_count();
        let counts = [problem.len(), values, values, values, problem.input_count];
        let numbers = counts.map(|count| (0..count).map(|_| random.bits()).collect());
        let subtree = match numbering {
            Numbering::Size => subtrees(problem),
            Numbering::SethiUllman => sethi_ullman(problem).0,
        };
        Run { problem, subtree, numbers, steps: Vec::new() }
    }

    /// Return the state after the last operation.
    fn end(&self) -> State {
        let problem = self.problem;
        let mut state = State {
            cost: u64::from(problem.model().cost.pass),
            way: END,
            done: BitSet::new(problem.len()),
            ready: Vec::new(),
            live: Vec::new(),
            live_size: 0,
            wanted: BitSet::new(problem.value_count()),
            uncovered: Vec::new(),
            segment: None,
            inputs: Vec::new(),
            instructions: 0,
            textures: 0,
            outputs: 0,
            keys: [0; 5],
        };
        for op in 0..problem.len() {
            if problem.succs(op).next().is_none() {
                state.ready.push((self.subtree[op], op as u32));
            }
        }
        state.ready.sort_unstable();
        for value in problem.outputs() {
            state.wanted.insert(value);
            state.keys[2] ^= self.numbers[2][value as usize];
        }
        state
    }

    /// Return the operations of smallest subtree that can come before a state, within its pass.
    fn best_valid(&self, state: &State) -> Vec<(u32, Effect)> {
        let mut valid: Vec<(u32, Effect)> = Vec::new();
        for &(size, op) in &state.ready {
            if valid.first().is_some_and(|(first, _)| self.subtree[*first as usize] < size) {
                break;
            }
            valid.extend(self.effect(state, op).map(|effect| (op, effect)));
        }
        valid
    }

    /// Return the cost of putting an operation before a state. `None` if the pass has no room: COST() is
    /// infinite.
    fn effect(&self, state: &State, op: u32) -> Option<Effect> {
        let problem = self.problem;
        let (caps, cost) = (&problem.caps, &problem.model().cost);
        let op = op as usize;
        let defs = problem.defs.row(op);
        let mut live_size = state.live_size;
        let mut stored = 0;
        let mut is_covered = true;
        let mut is_read = false;
        for value in defs {
            if state.live.contains(value) {
                live_size -= problem.size[*value as usize];
                is_read = true;
                is_covered &= !state.uncovered.contains(value);
            }
            if state.is_wanted(*value) {
                stored += problem.size[*value as usize];
            }
        }
        for value in problem.uses.row(op) {
            if !state.live.contains(value) {
                live_size = live_size.saturating_add(problem.size[*value as usize]);
            }
        }
        let request = problem.is_request[op];
        let textures = state.textures + u32::from(request);
        let outputs = state.outputs.saturating_add(stored);
        let new_inputs =
            problem.inputs.row(op).iter().filter(|input| !state.inputs.contains(input)).count() as u32;
        // Live values may have to be loaded: the pass keeps instructions and texture requests for that.
        let fits = live_size <= caps.registers
            && (state.instructions + 1).saturating_add(live_size) <= caps.instructions
            && textures.saturating_add(live_size) <= caps.textures
            && state.inputs.len() as u32 + new_inputs <= caps.interpolants
            && outputs <= caps.outputs;
        if !fits {
            return None;
        }
        // A result that is only stored is waited for at the end of the pass.
        is_covered &= is_read || stored == 0 || state.segment.is_some();
        let is_full = state.segment.is_some_and(|count| count >= caps.pending);
        let waits = request && (!is_covered || is_full);
        let total = problem.op_cost[op]
            + u64::from(cost.store) * u64::from(stored)
            + u64::from(cost.interpolant) * u64::from(new_inputs)
            + if waits { u64::from(cost.wait) } else { 0 };
        Some(Effect { cost: state.cost + total, live_size, textures, outputs, new_inputs, waits })
    }

    /// Return the key of the precondition of a transition.
    fn key(&self, state: &State, op: u32, effect: &Effect) -> ([u64; 5], [u32; 4]) {
        let problem = self.problem;
        let mut keys = state.keys;
        keys[0] ^= self.numbers[0][op as usize];
        let covers = effect.waits;
        if covers {
            keys[3] = 0;
        }
        for value in problem.defs.row(op as usize) {
            let number = *value as usize;
            if state.live.contains(value) {
                keys[1] ^= self.numbers[1][number];
                if !covers && state.uncovered.contains(value) {
                    keys[3] ^= self.numbers[3][number];
                }
            }
            if state.is_wanted(*value) {
                keys[2] ^= self.numbers[2][number];
            }
        }
        for value in problem.uses.row(op as usize) {
            let number = *value as usize;
            let is_new = !state.live.contains(value);
            if is_new {
                keys[1] ^= self.numbers[1][number];
            }
            // This is the first known read of the value, so only a wait before it covers the value.
            if self.is_of_request(*value) && (covers || !state.uncovered.contains(value)) {
                keys[3] ^= self.numbers[3][number];
            }
        }
        for input in problem.inputs.row(op as usize) {
            if !state.inputs.contains(input) {
                keys[4] ^= self.numbers[4][*input as usize];
            }
        }
        (
            keys,
            [
                state.instructions + 1,
                effect.textures,
                effect.outputs,
                self.segment(state, op, effect).map_or(0, |count| count + 1),
            ],
        )
    }

    fn is_of_request(&self, value: u32) -> bool {
        self.problem.def[value as usize].is_some_and(|def| self.problem.is_request[def as usize])
    }

    fn segment(&self, state: &State, op: u32, effect: &Effect) -> Option<u32> {
        match self.problem.is_request[op as usize] {
            true if effect.waits => Some(1),
            true => state.segment.map(|count| count + 1),
            false => state.segment,
        }
    }

    fn place(&mut self, state: &State, op: u32, effect: &Effect, step: Step) -> State {
        let problem = self.problem;
        let mut before = state.clone();
        before.keys = self.key(state, op, effect).0;
        before.segment = self.segment(state, op, effect);
        before.cost = effect.cost;
        before.live_size = effect.live_size;
        before.instructions += 1;
        before.textures = effect.textures;
        before.outputs = effect.outputs;
        before.done.insert(op);
        before.ready.retain(|(_, ready)| *ready != op);
        if effect.waits {
            before.uncovered.clear();
        }
        for value in problem.defs.row(op as usize) {
            before.live.retain(|live| live != value);
            before.wanted.remove(*value);
            before.uncovered.retain(|uncovered| uncovered != value);
        }
        for value in problem.uses.row(op as usize) {
            if !before.live.contains(value) {
                before.live.push(*value);
            }
            if self.is_of_request(*value) && !before.uncovered.contains(value) {
                before.uncovered.push(*value);
            }
        }
        for input in problem.inputs.row(op as usize) {
            if !before.inputs.contains(input) {
                before.inputs.push(*input);
            }
        }
        debug_assert_eq!(effect.new_inputs as usize, before.inputs.len() - state.inputs.len());
        for pred in problem.preds(op as usize) {
            let entry = (self.subtree[pred as usize], pred);
            if problem.succs(pred as usize).all(|succ| before.done.contains(succ))
                && let Err(place) = before.ready.binary_search(&entry)
            {
                before.ready.insert(place, entry);
            }
        }
        self.steps.push(step);
        before.way = self.steps.len() as u32 - 1;
        before
    }

    /// End the pass of a state: live values are loaded, and wanted values must come from earlier passes.
    fn new_pass(&self, state: &State) -> State {
        let problem = self.problem;
        let cost = &problem.model().cost;
        let mut fresh = state.clone();
        fresh.cost += u64::from(cost.pass) + u64::from(cost.load) * u64::from(state.live_size);
        for value in &state.live {
            if problem.def[*value as usize].is_some() && !fresh.is_wanted(*value) {
                fresh.wanted.insert(*value);
                fresh.keys[2] ^= self.numbers[2][*value as usize];
            }
        }
        fresh.live.clear();
        fresh.uncovered.clear();
        fresh.inputs.clear();
        fresh.segment = None;
        (fresh.live_size, fresh.instructions, fresh.textures, fresh.outputs) = (0, 0, 0, 0);
        [fresh.keys[1], fresh.keys[3], fresh.keys[4]] = [0; 3];
        fresh
    }

    /// Return the passes of a path from the first operation to the last.
    fn unfold(&self, mut way: u32) -> Partition {
        let problem = self.problem;
        let mut passes: Vec<Vec<u32>> = vec![Vec::new()];
        while way != END {
            let Step { next, op, is_new_pass } = self.steps[way as usize];
            if let Some(pass) = passes.last_mut() {
                pass.push(op);
            }
            // The step before (in time: after) this one belongs to the next pass.
            if is_new_pass {
                passes.push(Vec::new());
            }
            way = next;
        }
        let mut pass_of = vec![0; problem.len()];
        for (number, pass) in passes.iter().enumerate() {
            pass.iter().for_each(|op| pass_of[*op as usize] = number);
        }
        let is_stored = |value: &u32| {
            let users = problem.users.row(*value as usize);
            let def = problem.def[*value as usize].map_or(0, |def| pass_of[def as usize]);
            problem.is_output[*value as usize] || users.iter().any(|user| pass_of[*user as usize] != def)
        };
        let with_stores = passes.into_iter().map(|ops| {
            let defs = ops.iter().flat_map(|op| problem.defs.row(*op as usize)).copied();
            let stores = defs.filter(|value| is_stored(value)).collect();
            (ops, stores)
        });
        problem.partition(&with_stores.collect::<Vec<_>>())
    }
}

/// Return, for each operation, the size of its subtree: itself and all its ancestors.
fn subtrees(problem: &PassProblem) -> Vec<u32> {
    let mut sets = BitMatrix::new(problem.len(), problem.len());
    for op in 0..problem.len() {
        sets.insert(op, op);
        problem.preds(op).for_each(|pred| sets.unite_rows(op, pred));
    }
    (0..problem.len()).map(|op| sets.row(op).count()).collect()
}
