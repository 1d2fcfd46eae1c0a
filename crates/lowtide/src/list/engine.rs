//! The list-scheduling engine: take the best of the ready instructions, again and again.
//!
//! What "best" means is a [`Policy`]: for each candidate a key, whose criteria are compared one after the other, the
//! larger the better; source order breaks ties, so that the result is deterministic. The engine runs first to
//! last or last to first. Bottom-up, time counts from the end: an instruction is ready when all its successors have been
//! scheduled. It works on orders alone, or cycle by cycle, where only instructions whose latencies have passed compete.
//!
//! Each choice can be explained: the first criterion in which the winner beat the runner-up is the reason
//! ([`Decision`]).
//!
//! Where keys never change, candidates wait in a heap: O(e + n log n) in all. Else a step looks at all ready
//! instructions: O(n × width).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::analysis::pressure::{ReverseTracker, Tracker};
pub use crate::analysis::walk::Direction;
use crate::index::{ClassId, InstrId};
use crate::issue::IssueTable;
use crate::problem::Problem;
use crate::region::Edge;
use crate::schedule::Schedule;

/// Whether latencies keep an instruction from being a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timing {
    /// No: only the order counts.
    Order,
    /// Yes: it becomes one when they have passed. A cycle without candidates is a stall.
    Cycles,
}

/// Criteria of a key, the first one first; larger is better.
pub const CRITERIA: usize = 5;

/// How good a candidate is.
pub type Key = [i64; CRITERIA];

/// What makes a candidate the best.
pub trait Policy {
    /// Names of the criteria, for explanations.
    fn criteria(&self) -> &'static [&'static str];

    /// The key of a candidate in the current state.
    fn key(&mut self, state: &State, instr: InstrId) -> Key;

    /// Whether the key of an instruction stays the same from when it becomes ready.
    fn is_static(&self) -> bool {
        false
    }

    /// Whether an instruction may compete at all. Some ready one always must; and if keys are static, what may compete must have larger
    /// keys than what must not.
    fn allows(&mut self, _state: &State, _instr: InstrId) -> bool {
        true
    }

    /// Whether to take an instruction at once when it becomes ready, before all others.
    fn is_eager(&mut self, _state: &State, _instr: InstrId) -> bool {
        false
    }

    /// Instructions to take next instead of the best candidate, which is given: all ready, in this order, and put
    /// into `chosen`. None by default.
    fn instead(&mut self, _state: &State, _best: InstrId, _chosen: &mut Vec<InstrId>) {}
}

/// Why an instruction was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The instruction.
    pub instr: InstrId,
    /// How many candidates there were.
    pub candidates: usize,
    /// The reason, in words.
    pub reason: String,
}

/// What a policy can see.
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
    Forward(Tracker<'a>),
    Reverse(ReverseTracker<'a>),
}

impl State<'_> {
    /// The pressure of a class at the open end of the schedule.
    pub fn pressure(&self, class: ClassId) -> u32 {
        match &self.pressure {
            Pressure::Forward(tracker) => tracker.now(class),
            Pressure::Reverse(tracker) => tracker.now(class),
        }
    }

    /// By how much the pressure of each class would change with `instr`.
    pub fn delta(&self, instr: InstrId, change: &mut [i32]) {
        match &self.pressure {
            Pressure::Forward(tracker) => tracker.delta(instr, change),
            Pressure::Reverse(tracker) => tracker.delta(instr, change),
        }
    }

    /// The instructions that can be scheduled next as far as the order is concerned.
    pub fn ready(&self) -> &[InstrId] {
        &self.ready
    }

    /// Whether an instruction is among [`State::ready`].
    pub fn is_ready(&self, instr: InstrId) -> bool {
        self.place[instr.index()] != NOWHERE
    }

    /// Whether an instruction has been scheduled.
    pub fn is_scheduled(&self, instr: InstrId) -> bool {
        self.is_scheduled[instr.index()]
    }

    /// How many instructions have been scheduled.
    pub fn scheduled(&self) -> usize {
        self.scheduled
    }

    /// Cycles until latencies allow a ready instruction to issue.
    pub fn stall(&self, instr: InstrId) -> u32 {
        self.available[instr.index()].saturating_sub(self.cycle)
    }

    /// What must be scheduled before `instr`, seen in the direction of the schedule.
    pub fn blockers(&self, instr: InstrId) -> &[Edge] {
        let region = self.problem.region();
        match self.direction {
            Direction::TopDown => region.preds(instr),
            Direction::BottomUp => region.succs(instr),
        }
    }

    /// What waits for `instr`, seen in the direction of the schedule.
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

    /// Makes ties go to the source order.
    fn rank(&self, instr: InstrId) -> i64 {
        match self.direction {
            Direction::TopDown => -i64::from(instr.0),
            Direction::BottomUp => i64::from(instr.0),
        }
    }
}

/// Makes a schedule. `explain` receives a decision for each instruction, if wanted.
pub fn run<'a>(
    problem: &'a Problem<'a>,
    direction: Direction,
    timing: Timing,
    policy: &mut dyn Policy,
    mut explain: Option<&mut Vec<Decision>>,
) -> Schedule {
    let region = problem.region();
    let count = region.len();
    let pressure = match direction {
        Direction::TopDown => Pressure::Forward(Tracker::new(region)),
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
                // A stall, up to the next cycle in which something can change.
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
            Pressure::Forward(tracker) => tracker.schedule(instr),
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
    Schedule::in_order(problem, order)
}

type Keyed = (Key, InstrId);

/// Candidates whose keys never change. What has been scheduled is dropped when it comes up.
#[derive(Default)]
struct Queue {
    open: BinaryHeap<(Key, i64, InstrId)>,
    /// Instructions whose latencies have not passed, by the cycle in which they have.
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
            // It stays a candidate in case the policy takes another one first.
            self.open.push(top);
            return policy.allows(state, instr).then_some(((top.0, instr), second));
        }
        None
    }

    /// The next cycle in which there may be a candidate when there is none now.
    fn next_cycle(&self) -> u32 {
        match self.later.peek() {
            Some(&(Reverse(cycle), _)) if self.open.is_empty() && self.unfit.is_empty() => cycle,
            _ => 0,
        }
    }
}

/// The best candidate and the next best.
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
