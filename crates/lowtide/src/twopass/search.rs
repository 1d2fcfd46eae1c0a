//! Branch and bound for a target length (paper 2, Section 5.1), over orders.
//!
//! Pressure depends on the order alone, and issuing an order as early as possible gives its shortest schedule
//! ([`Timed`]). So the search adds instructions, not cycles. An instruction that has to wait takes its first
//! possible slot, and the slots before it are the stalls. The paper's stalls are *necessary* where nothing is
//! ready, and *optional* where a ready instruction should wait. Here an optional stall is the choice of a
//! later instruction although another one is ready.
//!
//! A state is the set of issued instructions, the next free slot, and the times at which pending results
//! become available. The search gives up a state if
//! - an instruction can no longer issue in time (*ranges*: its release is beyond the target less its tail);
//! - fewer instructions have been issued than every schedule has at that moment (`windows::sizes`);
//! - a similar state has failed, and for a reason that holds here ([`History`], [`reasons`]);
//! - Rim and Jain's relaxed problem of all remaining instructions has no solution;
//! - a bound that includes registers refutes it.
//!
//! *No idling.* Let x be a candidate that would issue in slot s. It is dropped if a ready instruction y could
//! issue in an earlier slot and does not raise the pressure. *Proof.* Take any schedule in which x comes
//! next, and move y from its later place into the empty slot. Everything else stays in place, and y's
//! successors have more time than before. The pressure of every set on the way grows by what y adds to it.
//! Pressure is submodular, so that is no more than y adds now: nothing. So a schedule with x next implies one
//! with y before it. ∎ (The rule does not apply if y needs a unit that can make others wait.)

use super::Rules;
use super::history::{CLOCK, COSTS, History, Holds, Known, Pending};
use super::meter::Meter;
use super::reasons::{self, Failure, Reason};
use super::relaxed::Relaxed;
use super::timed::{Clock, Timed};
use super::windows::Windows;
use crate::analysis::walk::{Direction, Walk};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::InstrId;
use crate::random::Random;
use crate::verdict::Verdict;

/// An open choice: the instruction and its slot.
#[derive(Clone, Copy, Debug)]
struct Child {
    instr: u32,
    slot: u32,
    /// The urgency, for the order of the children.
    latest: u32,
}

/// The times of an instruction that every look at it needs, in one place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// The first cycle in which the operands that have been issued are available.
    pub(crate) available: u32,
    /// The first and the last cycle for the current target.
    pub(crate) earliest: u32,
    pub(crate) latest: u32,
    /// The rank in the relaxed problem.
    pub(crate) rank: u32,
}

/// A state whose children are being tried.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Its children: `children[next..]` of the pool, up to where the next frame's start.
    start: u32,
    next: u32,
    /// The state before the instruction that led here.
    slot: u32,
    log: u32,
    /// Whether a state below was given up for lack of time.
    is_timed: bool,
    /// The instruction that the relaxed problem issues next, if it has a solution.
    pick: u32,
    /// By this number of cycles or more, all instructions of the relaxed problem are early. Unknown if
    /// negative.
    margin: i64,
    urgent: Urgent,
    /// Why children have failed: the reasons from here on, up to where the next frame's start.
    reasons: u32,
}

/// The known facts about the relaxed problem of a state.
#[derive(Clone, Copy, Debug)]
struct Relaxation {
    /// Whether it was asked for and has a solution.
    is_solved: bool,
    /// As that of [`Frame`].
    margin: i64,
}

/// The most urgent of the ready instructions, its last cycle, and the earliest last cycle of all others.
#[derive(Clone, Copy, Debug)]
struct Urgent {
    instr: u32,
    latest: u32,
    latest_of_others: u32,
}

impl Urgent {
    const NOTHING: Urgent = Urgent { instr: NONE, latest: u32::MAX, latest_of_others: u32::MAX };

    #[inline]
    fn add(&mut self, instr: u32, latest: u32) {
        if latest < self.latest {
            *self = Urgent { instr, latest, latest_of_others: self.latest };
        } else {
            self.latest_of_others = self.latest_of_others.min(latest);
        }
    }

    /// Return the earliest last cycle of all but one instruction.
    #[inline]
    fn latest_without(&self, instr: u32) -> u32 {
        if instr == self.instr { self.latest_of_others } else { self.latest }
    }
}

const NONE: u32 = u32::MAX;

/// After this number of solutions in a row, the relaxed problem is solved less often.
const PATIENCE: u32 = 64;

/// A search from one end of time, for one target after the other.
pub(crate) struct Search<'g> {
    graph: &'g Timed,
    rules: Rules,
    walk: Walk<'g>,
    clock: Clock,
    times: Vec<Times>,
    /// Values of [`Times::available`] to restore.
    log: Vec<(u32, u32)>,
    /// The remaining instructions with an operand that has been issued.
    reached: BitSet,
    /// The target length in cycles.
    target: u32,
    /// How many instructions must have been issued before each cycle.
    needed: Vec<u32>,
    /// The set of instructions as the sum of their numbers.
    set: u128,
    numbers: Vec<u128>,
    history: History,
    frames: Vec<Frame>,
    children: Vec<Child>,
    pending: Vec<Pending>,
    /// Whether to find out why states fail.
    learns: bool,
    /// The reasons of all frames, and the last failure.
    reasons: Vec<Reason>,
    failure: Failure,
    /// The cycles from an instruction to those that wait for it, while its reasons are converted.
    /// Otherwise 0.
    waits: Vec<u32>,
    relaxed: Relaxed,
    /// How often in a row the relaxed problem had a solution.
    solved_in_a_row: u32,
    /// The cost of a path, if it depends on more than single moments.
    pub(crate) meter: Option<Meter<'g>>,
    /// Whether the last run gave up a state for lack of time.
    pub(crate) is_timed: bool,
    /// States so far, in all runs.
    pub(crate) nodes: u64,
}

impl<'g> Search<'g> {
    pub(crate) fn new(graph: &'g Timed, rules: Rules) -> Self {
        let mut random = Random::new(1);
        let mut number = || u128::from(random.bits()) << 64 | u128::from(random.bits());
        Search {
            graph,
            rules,
            walk: Walk::new(&graph.live),
            clock: Clock::new(graph),
            times: vec![Times::default(); graph.len()],
            log: Vec::new(),
            reached: BitSet::new(graph.len()),
            target: 0,
            needed: Vec::new(),
            set: 0,
            numbers: (0..graph.len()).map(|_| number()).collect(),
            history: History::default(),
            frames: Vec::new(),
            children: Vec::new(),
            pending: Vec::new(),
            learns: false,
            reasons: Vec::new(),
            failure: Failure::default(),
            waits: vec![0; graph.len()],
            relaxed: Relaxed::new(graph),
            solved_in_a_row: 0,
            meter: None,
            is_timed: false,
            nodes: 0,
        }
    }

    /// Return the order built so far, from first to last.
    fn order(&self) -> Vec<InstrId> {
        self.graph.in_time(self.walk.trail())
    }

    /// Set a target, in cycles, and the windows of all instructions for it: first and last cycles, in forward
    /// time.
    pub(crate) fn aim(&mut self, target: u32, first: &[u32], last: &[u32]) {
        self.target = target;
        self.needed.clear();
        for (times, (&first, &last)) in self.times.iter_mut().zip(first.iter().zip(last)) {
            debug_assert!(first <= last, "an empty window");
            (times.earliest, times.latest) = match self.graph.direction {
                Direction::TopDown => (first, last),
                Direction::BottomUp => (target - 1 - last, target - 1 - first),
            };
        }
    }

    /// Set the target of windows, with all that is known for it.
    pub(crate) fn aim_through(&mut self, windows: &Windows) {
        self.aim(windows.target(), &windows.first, &windows.last);
        match self.graph.direction {
            Direction::TopDown => self.needed.extend(windows.least_issued()),
            Direction::BottomUp => self.needed.extend(windows.least_issued_at_end()),
        }
    }

    /// Search for a schedule that meets the target, in at most `most` states.
    pub(crate) fn run(&mut self, most: u64, effort: &mut Effort) -> Verdict<Vec<InstrId>> {
        self.restart();
        let end = self.nodes.saturating_add(most.min(effort.steps));
        let before = self.nodes;
        let verdict = match self.examine(false, -1) {
            Err(is_timed) => {
                self.is_timed = is_timed;
                Verdict::No(())
            }
            Ok(relaxation) => {
                self.expand(0, 0, relaxation);
                self.go_on(end, effort)
            }
        };
        effort.spend(self.nodes - before);
        verdict
    }

    fn restart(&mut self) {
        self.walk.restart();
        self.walk.forget_improved();
        self.clock.restart();
        self.times.iter_mut().for_each(|times| times.available = 0);
        self.reached.clear();
        self.relaxed.restart(&mut self.times);
        self.solved_in_a_row = 0;
        self.log.clear();
        self.set = 0;
        self.frames.clear();
        self.reasons.clear();
        self.learns = self.rules.reasons && self.clock.free().is_empty() && self.meter.is_none();
        self.children.clear();
        if let Some(meter) = &mut self.meter {
            meter.restart();
        }
    }

    fn go_on(&mut self, end: u64, effort: &Effort) -> Verdict<Vec<InstrId>> {
        while let Some(frame) = self.frames.last_mut() {
            if (frame.next as usize) < self.children.len() {
                let child = self.children[frame.next as usize];
                frame.next += 1;
                let is_pick = child.instr == frame.pick;
                let latest_of_others = frame.urgent.latest_without(child.instr);
                let margin = frame.margin;
                if self.nodes >= end || self.nodes.is_multiple_of(256) && effort.is_spent() {
                    return Verdict::Unknown;
                }
                self.nodes += 1;
                let slot = self.clock.slot;
                let log = self.log.len() as u32;
                let issued = self.walk.trail().len() + 1;
                let mut too_late = self.issue(child.instr, child.slot, latest_of_others);
                if issued == self.graph.len() {
                    self.walk.push(child.instr);
                    return Verdict::Yes(self.order());
                }
                let cycle = self.clock.slot / self.graph.width;
                if self.needed.get(cycle as usize).is_some_and(|&needed| needed as usize > issued) {
                    let first = self.needed.partition_point(|&needed| needed as usize <= issued) as u32;
                    too_late = too_late.min((first * self.graph.width).saturating_sub(1));
                }
                // Most states are given up. Only the others are entered in the walk, which takes longer than
                // all tests.
                let width = self.graph.width;
                let margin = margin - i64::from(self.clock.slot / width - slot / width);
                let examined = if too_late == NONE { self.examine(is_pick, margin) } else { Err(true) };
                match examined {
                    Ok(relaxation) => {
                        self.walk.push(child.instr);
                        self.walk.forget_improved();
                        self.expand(slot, log, relaxation);
                    }
                    Err(is_timed) => {
                        self.take_back(child.instr, slot, log);
                        if is_timed && too_late == NONE {
                            self.pass_on(child.instr, child.slot);
                        } else if is_timed {
                            self.blame(child.instr, too_late);
                        }
                        if let Some(frame) = self.frames.last_mut() {
                            frame.is_timed |= is_timed;
                        }
                    }
                }
            } else {
                let frame = *frame;
                self.remember(&frame);
                self.frames.pop();
                self.failure.clear();
                self.failure.reasons.extend(self.reasons.drain(frame.reasons as usize..));
                self.children.truncate(frame.start as usize);
                let Some(parent) = self.frames.last_mut() else {
                    self.is_timed = frame.is_timed;
                    break;
                };
                parent.is_timed |= frame.is_timed;
                if let Some(&instr) = self.walk.trail().last() {
                    let slot = self.clock.slot - 1;
                    self.walk.pop();
                    self.take_back(instr, frame.slot, frame.log);
                    if frame.is_timed {
                        self.pass_on(instr, slot);
                    }
                }
            }
        }
        Verdict::No(())
    }

    /// Issue an instruction, without the walk. If another one then has too little time (*ranges*), return the
    /// slot from which on that is so, otherwise [`NONE`]. `latest_of_others` is the earliest last cycle of
    /// the other ready instructions.
    ///
    /// Until now, all of them were in time. What changes for them is only the current cycle. The operands of
    /// other instructions change only for those that wait for this one. One of these that is not yet ready is
    /// out of time only if one that it waits for is.
    fn issue(&mut self, instr: u32, slot: u32, latest_of_others: u32) -> u32 {
        let graph = self.graph;
        self.clock.issue(graph, instr, slot);
        if let Some(meter) = &mut self.meter {
            let live = self.walk.live();
            meter.issue(instr, live, live + self.walk.delta(instr));
        }
        let cycle = slot / graph.width;
        self.relaxed.issue(instr, cycle);
        self.set ^= self.numbers[instr as usize];
        self.reached.remove(instr);
        let now = self.clock.slot / graph.width;
        let mut too_late = NONE;
        if now > latest_of_others {
            too_late = (latest_of_others + 1) * graph.width - 1;
        }
        for link in graph.next.row(instr as usize) {
            let times = &mut self.times[link.instr as usize];
            let available = cycle + link.cycles;
            if available > times.available {
                self.log.push((link.instr, times.available));
                times.available = available;
                self.reached.insert(link.instr);
            }
            if available.max(now) > times.latest {
                let by_clock = (times.latest + 1) * graph.width - 1;
                let by_wait = (times.latest + 1).saturating_sub(link.cycles) * graph.width;
                too_late = too_late.min(by_clock.min(by_wait));
            }
        }
        too_late
    }

    /// Add a reason for the failure of the current state: an instruction cannot issue before a slot.
    fn blame(&mut self, instr: u32, slot: u32) {
        let Some(frame) = self.frames.last() else { return };
        if self.learns && slot > self.times[instr as usize].earliest * self.graph.width {
            reasons::add(&mut self.reasons, frame.reasons as usize, Reason { instr, slot });
        }
    }

    /// Convert the last failure to reasons of the state before, in which an instruction was issued in a slot.
    fn pass_on(&mut self, instr: u32, slot: u32) {
        if !self.learns {
            return;
        }
        let (graph, width) = (self.graph, self.graph.width);
        for link in graph.next.row(instr as usize) {
            self.waits[link.instr as usize] = link.cycles;
        }
        // The slot from which on the instruction is too late.
        let mut late = self.failure.from.saturating_sub(1);
        for number in 0..self.failure.reasons.len() {
            let reason = self.failure.reasons[number];
            let by_clock = reason.slot.saturating_sub(1);
            let wait = self.waits[reason.instr as usize];
            let by_wait = reason.slot.div_ceil(width).saturating_sub(wait) * width;
            let is_wait = by_wait < by_clock && by_wait <= slot;
            if by_clock.min(by_wait) <= late {
                continue;
            }
            if is_wait {
                late = by_wait;
            } else if self.times[reason.instr as usize].available * width >= reason.slot {
                self.blame(reason.instr, reason.slot);
            } else {
                late = by_clock;
            }
        }
        for link in graph.next.row(instr as usize) {
            self.waits[link.instr as usize] = 0;
        }
        debug_assert!(late <= slot, "{instr} in {slot}, not before {late}: {:?}", self.failure);
        self.blame(instr, late);
    }

    /// Undo the last issue. The walk is already back.
    fn take_back(&mut self, instr: u32, slot: u32, log: u32) {
        if let Some(meter) = &mut self.meter {
            meter.take_back(instr, self.walk.live());
        }
        self.clock.take_back(self.graph, instr, slot);
        self.relaxed.flip(instr);
        self.set ^= self.numbers[instr as usize];
        for &(other, available) in self.log[log as usize..].iter().rev() {
            self.times[other as usize].available = available;
            if available == 0 {
                self.reached.remove(other);
            }
        }
        if self.times[instr as usize].available > 0 {
            self.reached.insert(instr);
        }
        self.log.truncate(log as usize);
    }

    /// Return what is known of the relaxed problem if the current state has to be searched. Otherwise return
    /// whether it is given up for lack of time.
    ///
    /// The relaxed problem has a solution if `margin` is not negative. *Proof.* Let d be the cycles that have
    /// passed since the state before. Every release depends on the current cycle and on the issue of the last
    /// instruction. Both are later by at most d than the releases before, and so is every release. If all
    /// instructions were early by m in a solution of the state before, the same solution, later by d, is one
    /// here, in which all are early by m - d or more. ∎
    fn examine(&mut self, is_pick: bool, mut margin: i64) -> Result<Relaxation, bool> {
        let graph = self.graph;
        let now = self.clock.slot / graph.width;
        if self.rules.memory {
            let (times, free, width) = (&self.times, self.clock.free(), graph.width);
            let (slot, end) = (self.clock.slot, self.target * width);
            let meter = &self.meter;
            let slack = |what: u32| {
                let when = match (times.get(what as usize), what.checked_sub(COSTS)) {
                    (Some(times), _) => times.available.max(times.earliest),
                    (None, None) if what == CLOCK => 0,
                    (None, None) => free[what as usize - times.len()],
                    (None, Some(part)) => {
                        return meter.as_ref().and_then(|meter| meter.left().nth(part as usize)).unwrap_or(0);
                    }
                };
                end.saturating_sub(slot.max(when * width))
            };
            match self.history.look_up(self.set, self.target, slack) {
                Known::Nothing => {}
                Known::TooLate(record) => {
                    self.failure.clear();
                    if self.learns {
                        let pending = self.history.pending(record);
                        let reasons =
                            pending.map(|(instr, slack)| Reason { instr, slot: end.saturating_sub(slack) });
                        // The record may be that of a larger target. Where the window of this one already
                        // says as much, no reason is needed (and the operands need not be as late as that).
                        let is_needed = |reason: &Reason| {
                            reason.slot > self.times[reason.instr as usize].earliest * width
                        };
                        self.failure.reasons.extend(reasons.filter(is_needed));
                    }
                    return Err(true);
                }
                Known::Dead => return Err(false),
            }
        }
        // The relaxed problem takes most of the time: after many solutions in a row, it is solved now and
        // then.
        let is_due = self.solved_in_a_row < PATIENCE || self.nodes.is_multiple_of(8);
        let is_solved = self.rules.dynamic_bound && !is_pick && is_due;
        if is_solved {
            if margin < 0 {
                match self.relaxed.solve(graph.width, now, self.target) {
                    Ok(least) => margin = i64::from(least),
                    Err(rank) => {
                        self.solved_in_a_row = 0;
                        self.failure.clear();
                        if self.learns {
                            self.relaxed.explain(rank, graph.width, now, &mut self.failure);
                        }
                        return Err(true);
                    }
                }
            }
            self.solved_in_a_row += 1;
        }
        Ok(Relaxation { is_solved, margin })
    }

    /// Push a frame with the children of the current state. `slot` and `log` are those of the state before.
    fn expand(&mut self, slot: u32, log: u32, Relaxation { is_solved, margin }: Relaxation) {
        let start = self.children.len() as u32;
        let mut frame = Frame {
            start,
            next: start,
            slot,
            log,
            is_timed: false,
            pick: NONE,
            margin,
            urgent: Urgent::NOTHING,
            reasons: self.reasons.len() as u32,
        };
        self.add_children(&mut frame, is_solved);
        self.frames.push(frame);
    }

    /// Add the children of the current state.
    fn add_children(&mut self, frame: &mut Frame, is_solved: bool) {
        let graph = self.graph;
        let now = self.clock.slot / graph.width;
        let mut lowest_rank = if is_solved { u32::MAX } else { 0 };
        let packing = graph.live.packing();
        let live = self.walk.live();
        let first = self.children.len();
        let mut idle = u32::MAX;
        for &instr in self.walk.ready() {
            let Times { available, earliest, latest, rank } = self.times[instr as usize];
            frame.urgent.add(instr, latest);
            let from = available.max(earliest);
            // The relaxed problem issues the first one by rank that can issue now. (One that waits for
            // another has a higher rank than that.)
            if from <= now && rank < lowest_rank {
                (lowest_rank, frame.pick) = (rank, instr);
            }
            let slot = self.clock.first_slot(graph, instr, from);
            let then = live + self.walk.delta(instr);
            if self.rules.no_idling && packing.fits(then, live) && !graph.needs_units(instr) {
                idle = idle.min(slot);
            }
            if !packing.fits(then, graph.limit) {
                continue;
            }
            if self.meter.as_mut().is_some_and(|meter| !meter.allows(instr, live, then)) {
                continue;
            }
            if slot / graph.width > latest {
                frame.is_timed = true;
                self.reasons.push(Reason { instr, slot: (latest + 1) * graph.width });
                continue;
            }
            self.children.push(Child { instr, slot, latest });
        }
        let mut kept = first;
        for position in first..self.children.len() {
            let child = self.children[position];
            if child.slot <= idle {
                self.children[kept] = child;
                kept += 1;
            } else if idle + 1 > self.times[child.instr as usize].earliest * graph.width {
                self.reasons.push(Reason { instr: child.instr, slot: idle + 1 });
            }
        }
        self.children.truncate(kept);
        self.children[first..].sort_unstable_by_key(|child| (child.slot, child.latest, child.instr));
    }

    /// Remember that the current state has failed.
    fn remember(&mut self, frame: &Frame) {
        if !self.rules.memory {
            return;
        }
        self.pending.clear();
        if let Some(meter) = &self.meter {
            self.pending.extend((COSTS..).zip(meter.left()));
        }
        let holds = match (frame.is_timed, self.learns) {
            (false, _) => Holds::Always,
            (true, true) => {
                self.add_reasons(frame);
                Holds::UpTo(self.target)
            }
            (true, false) => {
                self.add_pending();
                Holds::ForAllTargets
            }
        };
        self.history.add(self.set, holds, &self.pending);
    }

    /// Add all reasons of a frame to those of a record.
    fn add_reasons(&mut self, frame: &Frame) {
        let (width, end) = (self.graph.width, self.target * self.graph.width);
        for &Reason { instr, slot } in &self.reasons[frame.reasons as usize..] {
            let Times { available, earliest, .. } = self.times[instr as usize];
            debug_assert!(
                slot <= self.clock.slot.max(available.max(earliest) * width),
                "no reason: {instr} in {slot}"
            );
            self.pending.push((instr, end - slot));
        }
    }

    /// Add the clock, and all pending results and units of the current state, to those of a record.
    fn add_pending(&mut self) {
        let (width, end) = (self.graph.width, self.target * self.graph.width);
        let now = self.clock.slot / width;
        self.pending.push((CLOCK, end.saturating_sub(self.clock.slot)));
        let reached = self.reached.iter().map(|instr| (instr, self.times[instr].available));
        let units = (self.graph.len()..).zip(self.clock.free().iter().copied());
        for (what, cycle) in reached.chain(units).filter(|&(_, cycle)| cycle > now) {
            self.pending.push((what as u32, end.saturating_sub(cycle * width)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::Case;
    use super::*;

    /// The rules that the search itself knows, and the windows that it is given.
    fn rules(bits: usize) -> Rules {
        let is_on = |position: usize| bits >> position & 1 == 1;
        Rules {
            memory: is_on(0),
            dynamic_bound: is_on(1),
            no_idling: is_on(2),
            windows: is_on(3),
            reasons: is_on(4),
            ..Rules::ALL
        }
    }

    /// In the whole pass, lists find most schedules before the search does, which could hide a rule that
    /// prunes too much. Here the search is alone.
    #[test]
    fn a_schedule_is_found_exactly_where_there_is_one() {
        let mut random = Random::new(1);
        let mut own = Random::new(2);
        let (mut found, mut impossible, mut cases) = (0, 0, 0);
        for case in Case::all(0..300, 8, 10, &mut random) {
            cases += 1;
            let graphs = case.graphs();
            let known = case.small.order_within(&case.limits, &mut own).expect("one exists");
            let has_units = (0..graphs[0].len() as u32).any(|instr| graphs[0].needs_units(instr));
            for (end, bits) in
                (0..if has_units { 1 } else { 2 }).flat_map(|end| (0..32).map(move |b| (end, b)))
            {
                let rules = rules(bits);
                let mut windows = Windows::new(&case.region, &graphs[0], &case.limits, &known);
                let mut search = Search::new(&graphs[end], rules);
                // Failures for one target are remembered for the next one, in either direction.
                let lowest = case.lowest_target().max(case.optimum.saturating_sub(3));
                let mut targets: Vec<u32> = (lowest..case.optimum + 3).collect();
                (1..targets.len()).for_each(|place| targets.swap(place, own.below(place + 1)));
                for target in targets {
                    let text =
                        || format!("target {target} of {} by {rules:?}: {}", case.optimum, case.text());
                    let is_open = match rules.windows {
                        true if own.chance(50) => {
                            windows.narrow_with_sizes(target, &mut { Effort::UNBOUNDED })
                        }
                        true => windows.narrow(target, &mut { Effort::UNBOUNDED }),
                        false => windows.open(target),
                    };
                    let mut verdict = Verdict::No(());
                    if is_open {
                        search.aim_through(&windows);
                        verdict = search.run(u64::MAX, &mut { Effort::UNBOUNDED });
                    }
                    if target < case.optimum {
                        assert_eq!(verdict, Verdict::No(()), "{}", text());
                        impossible += 1;
                    } else {
                        let Verdict::Yes(order) = verdict else { panic!("{verdict:?}: {}", text()) };
                        assert!(case.checked_length(&order) <= target, "{}", text());
                        found += 1;
                    }
                }
            }
        }
        println!("{cases} regions: {found} times found, {impossible} times impossible");
        assert!(found > 60_000 && impossible > 30_000, "{found} {impossible}");
    }

    /// In larger regions, where more states fail for a reason. Targets come in any order, since reasons hold
    /// for some of them only.
    #[test]
    fn reasons_save_states_and_change_no_verdict() {
        let mut random = Random::new(5);
        let mut own = Random::new(6);
        let (mut asked, mut saved, mut states) = (0, 0, [0; 2]);
        for case in Case::all(2_000..3_000, 11, 0, &mut random) {
            let graphs = case.graphs();
            if (0..graphs[0].len() as u32).any(|instr| graphs[0].needs_units(instr)) {
                continue; // There are no reasons then.
            }
            let lowest = case.lowest_target().max(case.optimum.saturating_sub(4));
            let mut targets: Vec<u32> = (lowest..=case.optimum).collect();
            (1..targets.len()).for_each(|place| targets.swap(place, own.below(place + 1)));
            for graph in &graphs {
                let nodes = [true, false].map(|reasons| {
                    let mut search = Search::new(graph, Rules { reasons, ..Rules::ALL });
                    for &target in &targets {
                        let first: Vec<u32> = graph.head.clone();
                        let last: Vec<u32> = graph.tail.iter().map(|tail| target - 1 - tail).collect();
                        match graph.direction {
                            Direction::TopDown => search.aim(target, &first, &last),
                            Direction::BottomUp => {
                                let mirror = |cycles: &[u32]| {
                                    cycles.iter().map(|cycle| target - 1 - cycle).collect::<Vec<u32>>()
                                };
                                search.aim(target, &mirror(&last), &mirror(&first));
                            }
                        }
                        let verdict = search.run(u64::MAX, &mut { Effort::UNBOUNDED });
                        let expected = target >= case.optimum;
                        assert_eq!(
                            verdict.is_yes(),
                            expected,
                            "target {target} of {}: {}",
                            case.optimum,
                            case.text()
                        );
                        asked += 1;
                    }
                    search.nodes
                });
                saved += u32::from(nodes[0] < nodes[1]);
                states = [states[0] + nodes[0], states[1] + nodes[1]];
            }
        }
        println!("{asked} targets, {states:?} states with and without reasons, fewer in {saved} searches");
        assert!(asked > 20_000 && saved > 400 && states[0] < states[1], "{asked} {saved} {states:?}");
    }
}
