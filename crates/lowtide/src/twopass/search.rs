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
//! - a similar state has failed that was at least as well placed ([`History`]);
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
use super::history::{COSTS, History, Known, Pending};
use super::meter::Meter;
use super::timed::{Clock, Link, Timed};
use crate::analysis::walk::{Direction, Walk};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{InstrId, Rows};
use crate::random::Random;
use crate::verdict::Verdict;

/// An open choice: the instruction and its slot.
#[derive(Clone, Copy, Debug)]
struct Child {
    instr: u32,
    slot: u32,
    /// The urgency, for the order of the children.
    latest: i64,
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
    /// The instruction that the relaxed problem issues next, if it was solved.
    pick: u32,
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
    /// For each instruction, the first cycle in which the operands that have been issued are available.
    available: Vec<u32>,
    /// Values of `available` to restore.
    log: Vec<(u32, u32)>,
    /// The target length in cycles, and the first and last cycle of each instruction for it.
    target: u32,
    earliest: Vec<u32>,
    latest: Vec<i64>,
    /// The set of instructions as the sum of their numbers.
    set: u128,
    numbers: Vec<u128>,
    history: History,
    frames: Vec<Frame>,
    children: Vec<Child>,
    pending: Vec<Pending>,
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
            available: vec![0; graph.len()],
            log: Vec::new(),
            target: 0,
            earliest: vec![0; graph.len()],
            latest: vec![0; graph.len()],
            set: 0,
            numbers: (0..graph.len()).map(|_| number()).collect(),
            history: History::default(),
            frames: Vec::new(),
            children: Vec::new(),
            pending: Vec::new(),
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
        for instr in 0..self.graph.len() {
            let (first, last) = (first[instr], last[instr]);
            (self.earliest[instr], self.latest[instr]) = match self.graph.direction {
                Direction::TopDown => (first, i64::from(last)),
                Direction::BottomUp => (target - 1 - last, i64::from(target - 1 - first)),
            };
        }
    }

    /// Search for a schedule that meets the target, in at most `most` states.
    pub(crate) fn run(&mut self, most: u64, effort: &mut Effort) -> Verdict<Vec<InstrId>> {
        self.restart();
        let end = self.nodes.saturating_add(most.min(effort.steps));
        let before = self.nodes;
        let verdict = match self.open(0, 0, false) {
            Some(is_timed) => {
                self.is_timed = is_timed;
                Verdict::No(())
            }
            None => self.go_on(end, effort),
        };
        effort.spend(self.nodes - before);
        verdict
    }

    fn restart(&mut self) {
        self.walk.restart();
        self.walk.forget_improved();
        self.clock.restart();
        self.available.fill(0);
        self.relaxed.restart(&self.earliest, &self.latest);
        self.solved_in_a_row = 0;
        self.log.clear();
        self.set = 0;
        self.frames.clear();
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
                let pick = frame.pick;
                if self.nodes >= end || self.nodes.is_multiple_of(256) && effort.is_spent() {
                    return Verdict::Unknown;
                }
                self.nodes += 1;
                let slot = self.clock.slot;
                let log = self.log.len() as u32;
                let fits = self.issue(child.instr, child.slot);
                if self.walk.is_complete() {
                    return Verdict::Yes(self.order());
                }
                let given_up = match fits {
                    false => Some(true),
                    true => self.open(slot, log, child.instr == pick),
                };
                if let Some(is_timed) = given_up {
                    self.take_back(slot, log);
                    if let Some(frame) = self.frames.last_mut() {
                        frame.is_timed |= is_timed;
                    }
                }
            } else {
                let frame = *frame;
                self.remember(frame.is_timed);
                self.frames.pop();
                self.children.truncate(frame.start as usize);
                let Some(parent) = self.frames.last_mut() else {
                    self.is_timed = frame.is_timed;
                    break;
                };
                parent.is_timed |= frame.is_timed;
                self.take_back(frame.slot, frame.log);
            }
        }
        Verdict::No(())
    }

    /// Issue an instruction. Return false if another one then has too little time.
    fn issue(&mut self, instr: u32, slot: u32) -> bool {
        let graph = self.graph;
        self.clock.issue(graph, instr, slot);
        let live = self.walk.live();
        self.walk.push(instr);
        self.walk.forget_improved();
        if let Some(meter) = &mut self.meter {
            meter.issue(instr, live, self.walk.live());
        }
        let cycle = slot / graph.width;
        self.relaxed.issue(instr, cycle);
        self.set ^= self.numbers[instr as usize];
        let mut fits = true;
        for link in graph.next.row(instr as usize) {
            let other = link.instr as usize;
            let available = cycle + link.cycles;
            if available > self.available[other] {
                self.log.push((link.instr, self.available[other]));
                self.available[other] = available;
                fits &= i64::from(available) <= self.latest[other];
            }
        }
        fits
    }

    fn take_back(&mut self, slot: u32, log: u32) {
        let Some(&instr) = self.walk.trail().last() else { return };
        self.walk.pop();
        if let Some(meter) = &mut self.meter {
            meter.take_back(instr, self.walk.live());
        }
        self.clock.take_back(self.graph, instr, slot);
        self.relaxed.flip(instr);
        self.set ^= self.numbers[instr as usize];
        for &(other, available) in self.log[log as usize..].iter().rev() {
            self.available[other as usize] = available;
        }
        self.log.truncate(log as usize);
    }

    fn slots_left(&self) -> u32 {
        self.target * self.graph.width - self.clock.slot.min(self.target * self.graph.width)
    }

    /// Examine the current state. Push a frame and return `None` if it has to be searched. Otherwise return
    /// whether it was given up for lack of time.
    fn open(&mut self, slot: u32, log: u32, is_pick: bool) -> Option<bool> {
        let graph = self.graph;
        let now = self.clock.slot / graph.width;
        // Ranges.
        for &instr in self.walk.ready() {
            let available = self.available[instr as usize].max(now).max(self.earliest[instr as usize]);
            if i64::from(available) > self.latest[instr as usize] {
                return Some(true);
            }
        }
        if self.rules.memory {
            let (available, earliest, target, free) =
                (&self.available, &self.earliest, self.target, self.clock.free());
            let count = graph.len();
            let meter = &self.meter;
            let slack = |what: u32| {
                if let Some(part) = what.checked_sub(COSTS) {
                    return meter.as_ref().and_then(|meter| meter.left().nth(part as usize)).unwrap_or(0);
                }
                let when = match (what as usize).checked_sub(count) {
                    Some(copy) => free[copy],
                    None => available[what as usize].max(earliest[what as usize]),
                };
                target.saturating_sub(when.max(now))
            };
            match self.history.look_up(self.set, self.slots_left(), slack) {
                Known::Nothing => {}
                Known::TooLate => return Some(true),
                Known::Dead => return Some(false),
            }
        }
        let mut pick = NONE;
        // The relaxed problem takes most of the time: after many solutions in a row, it is solved now and
        // then.
        let is_due = self.solved_in_a_row < PATIENCE || self.nodes.is_multiple_of(8);
        if self.rules.dynamic_bound && !is_pick && is_due {
            match self.relaxed.solve(graph.width, now, &self.available, self.target) {
                Some(first) => {
                    pick = first;
                    self.solved_in_a_row += 1;
                }
                None => {
                    self.solved_in_a_row = 0;
                    return Some(true);
                }
            }
        }
        self.frames.push(Frame {
            start: self.children.len() as u32,
            next: self.children.len() as u32,
            slot,
            log,
            is_timed: false,
            pick,
        });
        let is_timed = self.add_children();
        if let Some(frame) = self.frames.last_mut() {
            frame.is_timed = is_timed;
        }
        None
    }

    /// Add the children of the current state. Return whether one was left out for lack of time.
    fn add_children(&mut self) -> bool {
        let graph = self.graph;
        let packing = graph.live.packing();
        let live = self.walk.live();
        let first = self.children.len();
        let mut idle = u32::MAX;
        let mut is_timed = false;
        for &instr in self.walk.ready() {
            let available = self.available[instr as usize];
            let slot = self.clock.first_slot(graph, instr, available.max(self.earliest[instr as usize]));
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
            let latest = self.latest[instr as usize];
            if i64::from(slot / graph.width) > latest {
                is_timed = true;
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
            }
        }
        self.children.truncate(kept);
        self.children[first..].sort_unstable_by_key(|child| (child.slot, child.latest, child.instr));
        is_timed
    }

    /// Remember that the current state has failed.
    fn remember(&mut self, is_timed: bool) {
        if !self.rules.memory {
            return;
        }
        self.pending.clear();
        if let Some(meter) = &self.meter {
            self.pending.extend((COSTS..).zip(meter.left()));
        }
        if !is_timed {
            self.history.dead(self.set, &self.pending);
            return;
        }
        let graph = self.graph;
        let now = self.clock.slot / graph.width;
        for instr in self.relaxed.left() {
            let available = self.available[instr as usize];
            if available > now {
                self.pending.push((instr, self.target.saturating_sub(available)));
            }
        }
        for (copy, &free) in self.clock.free().iter().enumerate() {
            if free > now {
                self.pending.push(((graph.len() + copy) as u32, self.target.saturating_sub(free)));
            }
        }
        self.history.too_late(self.set, self.slots_left(), &self.pending);
    }
}

/// Rim and Jain's relaxed problem of the remaining instructions: [`crate::analysis::length_bound`] has the
/// proof.
struct Relaxed {
    /// The instructions in topological order, and the place of each.
    topological: Vec<u32>,
    place: Vec<u32>,
    /// For each place, the places of the instructions to wait for. Dependences that follow from others are left out.
    prev: Rows<Link>,
    /// The remaining instructions by place.
    left: BitSet,
    /// For each place, the first and the last cycle.
    windows: Vec<Window>,
    /// The same instructions by their last cycles: the place, and the last cycle. The rank of each place.
    by_latest: Vec<(u32, u32)>,
    rank: Vec<u32>,
    left_by_latest: BitSet,
    /// For each place the first possible cycle of the remaining instructions, and the cycle of issue of the others.
    release: Vec<u32>,
    /// The cycles from now on that have room, and the slots taken.
    room: Vec<u64>,
    taken: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    first: u32,
    last: u32,
}

impl Relaxed {
    fn new(graph: &Timed) -> Self {
        let topological: Vec<u32> = graph.topological().collect();
        let mut place = vec![0; graph.len()];
        for (own, &instr) in topological.iter().enumerate() {
            place[instr as usize] = own as u32;
        }
        Relaxed {
            prev: needed_links(graph, &topological, &place),
            place,
            left: BitSet::new(graph.len()),
            windows: vec![Window::default(); graph.len()],
            by_latest: (0..graph.len() as u32).map(|place| (place, 0)).collect(),
            rank: vec![0; graph.len()],
            left_by_latest: BitSet::new(graph.len()),
            release: vec![0; graph.len()],
            room: Vec::new(),
            taken: Vec::new(),
            topological,
        }
    }

    /// Set the first and last cycles. All instructions are open then.
    fn restart(&mut self, earliest: &[u32], latest: &[i64]) {
        for (window, &instr) in self.windows.iter_mut().zip(&self.topological) {
            *window = Window { first: earliest[instr as usize], last: latest[instr as usize] as u32 };
        }
        self.by_latest.iter_mut().for_each(|(place, last)| *last = self.windows[*place as usize].last);
        self.by_latest.sort_by_key(|&(_, last)| last);
        self.left.fill();
        self.left_by_latest.fill();
        for (rank, &(place, _)) in self.by_latest.iter().enumerate() {
            self.rank[place as usize] = rank as u32;
        }
    }

    /// Mark an instruction as issued in a cycle.
    #[inline]
    fn issue(&mut self, instr: u32, cycle: u32) {
        self.flip(instr);
        self.release[self.place[instr as usize] as usize] = cycle;
    }

    /// Mark an instruction as issued, or as open again.
    #[inline]
    fn flip(&mut self, instr: u32) {
        let place = self.place[instr as usize];
        self.left.toggle(place);
        self.left_by_latest.toggle(self.rank[place as usize]);
    }

    /// Return the remaining instructions.
    fn left(&self) -> impl Iterator<Item = u32> + '_ {
        self.left.iter().map(|place| self.topological[place])
    }

    /// Return the instruction that a solution issues first. `None` if there is no solution. `available` has the
    /// first cycles in which the operands that have been issued are available.
    fn solve(&mut self, width: u32, now: u32, available: &[u32], target: u32) -> Option<u32> {
        for place in self.left.iter() {
            let Window { first, last } = self.windows[place];
            let mut release = available[self.topological[place] as usize].max(now).max(first);
            // (If the other one has been issued, the operand is available in that cycle or later.)
            for link in self.prev.row(place) {
                release = release.max(self.release[link.instr as usize] + link.cycles);
            }
            if release > last {
                return None;
            }
            self.release[place] = release;
        }
        // (The cycle after the target always has room.)
        let cycles = target.saturating_sub(now) as usize + 1;
        self.room.clear();
        self.room.resize(cycles / 64 + 1, u64::MAX);
        if width > 1 {
            self.taken.clear();
            self.taken.resize(cycles + 1, 0);
        }
        let mut pick = NONE;
        for rank in self.left_by_latest.iter() {
            let (place, last) = self.by_latest[rank];
            let cycle = first_room(&self.room, self.release[place as usize] - now);
            if cycle + now > last {
                return None;
            }
            if cycle == 0 && pick == NONE {
                pick = self.topological[place as usize];
            }
            let is_full = width == 1 || {
                self.taken[cycle as usize] += 1;
                self.taken[cycle as usize] == width
            };
            self.room[cycle as usize / 64] &= !(u64::from(is_full) << (cycle % 64));
        }
        Some(pick)
    }
}

/// Return the dependences by place, without those that follow from two others.
fn needed_links(graph: &Timed, topological: &[u32], place: &[u32]) -> Rows<Link> {
    let mut rows = Rows::with_capacity(graph.len(), graph.prev.items().len());
    // The most cycles by way of another instruction, for the instructions before the current one.
    let mut around: Vec<Option<u32>> = vec![None; graph.len()];
    for &instr in topological {
        let row = graph.prev.row(instr as usize);
        let ways = |action: &mut dyn FnMut(u32, u32)| {
            for last in row {
                for first in graph.prev.row(last.instr as usize) {
                    action(first.instr, first.cycles + last.cycles);
                }
            }
        };
        ways(&mut |other, cycles| around[other as usize] = around[other as usize].max(Some(cycles)));
        for link in row.iter().filter(|link| around[link.instr as usize] < Some(link.cycles)) {
            rows.push(Link { instr: place[link.instr as usize], cycles: link.cycles });
        }
        rows.end_row();
        ways(&mut |other, _| around[other as usize] = None);
    }
    rows
}

/// Return the first cycle from `from` on that has room.
#[inline]
fn first_room(room: &[u64], from: u32) -> u32 {
    let mut number = from as usize / 64;
    let mut word = room[number] & u64::MAX << (from % 64);
    while word == 0 {
        number += 1;
        word = room[number];
    }
    number as u32 * 64 + word.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::super::cases::Case;
    use super::super::windows::Windows;
    use super::*;

    /// The rules that the search itself knows, and the windows that it is given.
    fn rules(bits: usize) -> Rules {
        let is_on = |position: usize| bits >> position & 1 == 1;
        Rules {
            memory: is_on(0),
            dynamic_bound: is_on(1),
            no_idling: is_on(2),
            windows: is_on(3),
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
                (0..if has_units { 1 } else { 2 }).flat_map(|end| (0..16).map(move |b| (end, b)))
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
                        true => windows.narrow(target, &mut { Effort::UNBOUNDED }),
                        false => windows.open(target),
                    };
                    let mut verdict = Verdict::No(());
                    if is_open {
                        search.aim(target, &windows.first, &windows.last);
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
}
