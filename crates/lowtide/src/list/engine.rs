//! The list-scheduling engine: take the best of the ready instructions, again and again.
//!
//! A [`Policy`] defines the best: it gives each candidate a key, whose criteria are compared one after the
//! other. Larger is better; source order breaks ties, so the result is deterministic. The engine runs first
//! to last or last to first. Bottom-up, time counts from the end, and an instruction is ready when all its
//! successors are scheduled. The engine works on orders alone, or cycle by cycle. In the second case only
//! instructions whose latencies have passed compete.
//!
//! Each choice has a reason: the first criterion in which the winner beat the runner-up ([`Decision`]).
//!
//! With static keys, candidates wait in a heap: O(e + n log n) in all. With changing keys, a step compares
//! all ready instructions: O(n × width).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::analysis::pressure::{Live, ReverseTracker};
pub use crate::analysis::walk::Direction;
use crate::index::{ClassId, InstrId};
use crate::issue::IssueTable;
use crate::problem::Problem;
use crate::region::Edge;
use crate::schedule::Schedule;

/// Whether latencies delay candidates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timing {
    /// Only the order counts: a ready instruction is a candidate.
    Order,
    /// A ready instruction becomes a candidate when its latencies have passed. A cycle without candidates is
    /// a stall.
    Cycles,
}

/// The number of criteria of a key. The first one decides first; larger is better.
pub const CRITERIA: usize = 5;

/// The quality of a candidate.
pub type Key = [i64; CRITERIA];

/// A definition of the best candidate.
pub trait Policy {
    /// Return the names of the criteria, for explanations.
    fn criteria(&self) -> &'static [&'static str];

    /// Return the key of a candidate in the current state.
    fn key(&mut self, state: &State, instr: InstrId) -> Key;

    /// Return whether the key of an instruction stays the same from when it becomes ready.
    fn is_static(&self) -> bool {
        false
    }

    /// Return whether it asks for the pressure ([`State::pressure`], [`State::delta`]), which is not kept
    /// otherwise.
    fn reads_pressure(&self) -> bool {
        true
    }

    /// Return whether an instruction may compete. At least one ready instruction must. With static keys,
    /// allowed instructions must have larger keys than the others.
    fn allows(&mut self, _state: &State, _instr: InstrId) -> bool {
        true
    }

    /// Return whether to take an instruction at once when it becomes ready, before all others.
    fn is_eager(&mut self, _state: &State, _instr: InstrId) -> bool {
        false
    }

    /// Write into `chosen` the instructions to take next instead of `best`: all ready, in this order. By
    /// default, write none.
    fn instead(&mut self, _state: &State, _best: InstrId, _chosen: &mut Vec<InstrId>) {}
}

/// The reason for a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The instruction.
    pub instr: InstrId,
    /// The number of candidates.
    pub candidates: usize,
    /// The reason, as text.
    pub reason: String,
}

/// The state of the engine that a policy reads.
pub struct State<'a> {
    problem: &'a Problem<'a>,
    direction: Direction,
    pressure: Pressure<'a>,
    is_scheduled: Vec<bool>,
    ready: Vec<InstrId>,
    /// Position in `ready`, or [`NOWHERE`].
    place: Vec<u32>,
    /// First cycle (from the end, bottom-up) that latencies allow, for ready instructions.
    available: Vec<u32>,
    cycle: u32,
    scheduled: usize,
}

const NOWHERE: u32 = u32::MAX;

enum Pressure<'a> {
    /// The policy does not read it.
    Unread,
    Forward(Live<'a>),
    Reverse(ReverseTracker<'a>),
}

impl State<'_> {
    /// Return the pressure of a class at the open end of the schedule.
    pub fn pressure(&self, class: ClassId) -> u32 {
        match &self.pressure {
            Pressure::Unread => 0,
            Pressure::Forward(live) => live.now(class),
            Pressure::Reverse(tracker) => tracker.now(class),
        }
    }

    /// Write the change of each class's pressure by `instr`.
    pub fn delta(&self, instr: InstrId, change: &mut [i32]) {
        match &self.pressure {
            Pressure::Unread => change.fill(0),
            Pressure::Forward(live) => live.delta(instr, change),
            Pressure::Reverse(tracker) => tracker.delta(instr, change),
        }
    }

    /// Return the instructions whose predecessors (bottom-up: successors) are all scheduled.
    pub fn ready(&self) -> &[InstrId] {
        &self.ready
    }

    /// Return whether an instruction is among [`State::ready`].
    pub fn is_ready(&self, instr: InstrId) -> bool {
        self.place[instr.index()] != NOWHERE
    }

    /// Return whether an instruction has been scheduled.
    pub fn is_scheduled(&self, instr: InstrId) -> bool {
        self.is_scheduled[instr.index()]
    }

    /// Return the number of scheduled instructions.
    pub fn scheduled(&self) -> usize {
        self.scheduled
    }

    /// Return the cycles until latencies allow a ready instruction to issue.
    pub fn stall(&self, instr: InstrId) -> u32 {
        self.available[instr.index()].saturating_sub(self.cycle)
    }

    /// Return the edges to the instructions that must be scheduled before `instr`, in the direction of the
    /// schedule.
    pub fn blockers(&self, instr: InstrId) -> &[Edge] {
        let region = self.problem.region();
        match self.direction {
            Direction::TopDown => region.preds(instr),
            Direction::BottomUp => region.succs(instr),
        }
    }

    /// Return the edges to the instructions that wait for `instr`, in the direction of the schedule.
    fn dependents(&self, instr: InstrId) -> &[Edge] {
        let region = self.problem.region();
        match self.direction {
            Direction::TopDown => region.succs(instr),
            Direction::BottomUp => region.preds(instr),
        }
    }

    fn add_ready(&mut self, instr: InstrId) {
        self.place[instr.index()] = self.ready.len() as u32;
        self.ready.push(instr);
    }

    fn remove_ready(&mut self, instr: InstrId) {
        let place = std::mem::replace(&mut self.place[instr.index()], NOWHERE);
        self.ready.swap_remove(place as usize);
        if let Some(moved) = self.ready.get(place as usize) {
            self.place[moved.index()] = place;
        }
    }

    /// Return a number that breaks ties by source order.
    fn rank(&self, instr: InstrId) -> i64 {
        match self.direction {
            Direction::TopDown => -i64::from(instr.0),
            Direction::BottomUp => i64::from(instr.0),
        }
    }
}

/// Make a schedule. `explain` receives a decision for each instruction.
pub fn run<'a>(
    problem: &'a Problem<'a>,
    direction: Direction,
    timing: Timing,
    policy: &mut dyn Policy,
    explain: Option<&mut Vec<Decision>>,
) -> Schedule {
    Schedule::in_order(problem, order(problem, direction, timing, policy, explain))
}

/// As [`run`], for the order alone.
pub(crate) fn order<'a>(
    problem: &'a Problem<'a>,
    direction: Direction,
    timing: Timing,
    policy: &mut dyn Policy,
    mut explain: Option<&mut Vec<Decision>>,
) -> Vec<InstrId> {
    let region = problem.region();
    let count = region.len();
    let pressure = match direction {
        _ if !policy.reads_pressure() => Pressure::Unread,
        Direction::TopDown => Pressure::Forward(Live::new(region)),
        Direction::BottomUp => Pressure::Reverse(ReverseTracker::new(region)),
    };
    let mut state = State {
        problem,
        direction,
        pressure,
        is_scheduled: vec![false; count],
        ready: Vec::new(),
        place: vec![NOWHERE; count],
        available: vec![0; count],
        cycle: 0,
        scheduled: 0,
    };
    let mut waiting: Vec<usize> = region.instrs().map(|instr| state.blockers(instr).len()).collect();
    let mut queue = policy.is_static().then(Queue::default);
    for instr in region.instrs().filter(|instr| waiting[instr.index()] == 0) {
        state.add_ready(instr);
        if let Some(queue) = &mut queue {
            queue.add(&state, policy, timing, instr);
        }
    }
    let mut table = IssueTable::new(problem);
    let mut order = Vec::with_capacity(count);
    let mut eager: Vec<InstrId> = Vec::new();
    let mut chosen: Vec<InstrId> = Vec::new();
    while order.len() < count {
        let candidates = state.ready.len();
        let (instr, reason) = if let Some(instr) = eager.pop() {
            (instr, explain.is_some().then(|| "taken at once: it does not raise the pressure".to_string()))
        } else if let Some(instr) = chosen.pop() {
            (instr, explain.is_some().then(|| "goes with the one before".to_string()))
        } else {
            let found = match &mut queue {
                Some(queue) => queue.best_two(&state, policy, timing, &table),
                None => best_two(&state, policy, timing, &table),
            };
            let Some((best, second)) = found else {
                // A stall, up to the next cycle in which the candidates can change.
                state.cycle = queue.as_ref().map_or(0, Queue::next_cycle).max(state.cycle + 1);
                continue;
            };
            policy.instead(&state, best.1, &mut chosen);
            chosen.reverse();
            let instr = chosen.pop().unwrap_or(best.1);
            let reason = explain.is_some().then(|| match instr == best.1 {
                true => explanation(policy.criteria(), &best.0, second.as_ref()),
                false => format!("goes before {}, which is the best", region.describe(best.1)),
            });
            (instr, reason)
        };
        if let (Some(decisions), Some(reason)) = (explain.as_deref_mut(), reason) {
            decisions.push(Decision { instr, candidates, reason });
        }
        if timing == Timing::Cycles {
            state.cycle = table.earliest(instr, state.cycle.max(state.available[instr.index()]));
            table.reserve(instr, state.cycle);
        }
        match &mut state.pressure {
            Pressure::Unread => {}
            Pressure::Forward(live) => live.schedule(instr, &mut []),
            Pressure::Reverse(tracker) => tracker.schedule(instr),
        }
        state.is_scheduled[instr.index()] = true;
        state.remove_ready(instr);
        order.push(instr);
        state.scheduled += 1;
        for position in 0..state.dependents(instr).len() {
            let Edge { instr: other, latency } = state.dependents(instr)[position];
            let available = &mut state.available[other.index()];
            *available = (*available).max(state.cycle + latency);
            waiting[other.index()] -= 1;
            if waiting[other.index()] == 0 {
                state.add_ready(other);
                if let Some(queue) = &mut queue {
                    queue.add(&state, policy, timing, other);
                }
                if policy.is_eager(&state, other) {
                    eager.push(other);
                }
            }
        }
    }
    if direction == Direction::BottomUp {
        order.reverse();
    }
    order
}

type Keyed = (Key, InstrId);

/// Candidates with static keys. Scheduled instructions are dropped when they come up.
#[derive(Default)]
struct Queue {
    open: BinaryHeap<(Key, i64, InstrId)>,
    /// Instructions whose latencies have not passed, by the cycle in which they will have.
    later: BinaryHeap<(Reverse<u32>, InstrId)>,
    /// Candidates that do not fit into `cycle` because of issue width or units.
    unfit: Vec<(Key, i64, InstrId)>,
    cycle: u32,
}

impl Queue {
    fn add(&mut self, state: &State, policy: &mut dyn Policy, timing: Timing, instr: InstrId) {
        match timing {
            Timing::Order => self.open.push((policy.key(state, instr), state.rank(instr), instr)),
            Timing::Cycles => self.later.push((Reverse(state.available[instr.index()]), instr)),
        }
    }

    fn best_two(
        &mut self,
        state: &State,
        policy: &mut dyn Policy,
        timing: Timing,
        table: &IssueTable,
    ) -> Option<(Keyed, Option<Keyed>)> {
        if self.cycle != state.cycle {
            self.cycle = state.cycle;
            self.open.extend(self.unfit.drain(..));
        }
        while let Some(&(Reverse(cycle), instr)) = self.later.peek()
            && cycle <= state.cycle
        {
            self.later.pop();
            self.open.push((policy.key(state, instr), state.rank(instr), instr));
        }
        if timing == Timing::Cycles && table.is_full(state.cycle) {
            return None;
        }
        while let Some(top) = self.open.pop() {
            let instr = top.2;
            if state.is_scheduled(instr) {
                continue;
            }
            if timing == Timing::Cycles && table.earliest(instr, state.cycle) > state.cycle {
                self.unfit.push(top);
                continue;
            }
            while self.open.peek().is_some_and(|next| state.is_scheduled(next.2)) {
                self.open.pop();
            }
            let second = self.open.peek().map(|next| (next.0, next.2));
            // The candidate stays in case the policy takes another one first.
            self.open.push(top);
            return policy.allows(state, instr).then_some(((top.0, instr), second));
        }
        None
    }

    /// Return the next cycle in which there may be a candidate when there is none now.
    fn next_cycle(&self) -> u32 {
        match self.later.peek() {
            Some(&(Reverse(cycle), _)) if self.open.is_empty() && self.unfit.is_empty() => cycle,
            _ => 0,
        }
    }
}

/// Return the best candidate and the next best.
fn best_two(
    state: &State,
    policy: &mut dyn Policy,
    timing: Timing,
    table: &IssueTable,
) -> Option<(Keyed, Option<Keyed>)> {
    let mut best: Option<Keyed> = None;
    let mut second: Option<Keyed> = None;
    for &instr in &state.ready {
        if timing == Timing::Cycles
            && (state.stall(instr) > 0 || table.earliest(instr, state.cycle) > state.cycle)
        {
            continue;
        }
        if !policy.allows(state, instr) {
            continue;
        }
        let keyed = (policy.key(state, instr), instr);
        let beats = |other: &Option<Keyed>| {
            other.is_none_or(|other| (keyed.0, state.rank(keyed.1)) > (other.0, state.rank(other.1)))
        };
        if beats(&best) {
            second = best.replace(keyed);
        } else if beats(&second) {
            second = Some(keyed);
        }
    }
    best.map(|best| (best, second))
}

fn explanation(names: &[&str], best: &Key, second: Option<&Keyed>) -> String {
    let Some((next, _)) = second else {
        return "the only candidate".to_string();
    };
    match (0..names.len()).find(|&i| best[i] != next[i]) {
        Some(i) => format!("{}: {} against {}", names[i], best[i], next[i]),
        None => "source order, all else being equal".to_string(),
    }
}
