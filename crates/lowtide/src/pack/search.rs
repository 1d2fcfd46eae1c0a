//! Does the block fit into a given number of cycles? A depth-first search, cycle by cycle.
//!
//! All formats are decided before ([`formats`](super::formats)). In each cycle the search chooses a set of
//! ready operations that can share it. A set comes after its supersets, and operations with the longest path
//! to the end come first. The search gives up a state when
//! - an operation can no longer meet its last cycle, by its open ancestors (equation 10 of the paper for the
//!   rest);
//! - a window of cycles has too little capacity for the operations that must issue in it
//!   ([`Resource`](super::bound::Resource));
//! - too few pairs of operations can share a cycle. This rule and the one before are the bounds of
//!   [`bound`](super::bound) for the rest;
//! - the same operations were issued before in no more cycles, with nothing else to wait for ([`Memory`]).
//!
//! Two rules reduce the sets, as long as registers do not count:
//! - *Nothing is left out.* If an operation, or the next part of a split one, fits into the cycle, it is
//!   issued. Moving it here from a later cycle delays nothing.
//! - *The better one first.* Let two ready operations take the same units and conflict with the same
//!   operations. One is better if everything that waits for the other one also waits for it, and at least as
//!   long. The other one is not begun without it: they could change places. (Suppose that both are split in
//!   the same way on one unit. Then the better one gets the earlier of the two first parts, of the two second
//!   parts, and so on.)
//!
//! If groups of loads are counted, the first rule holds for all but loads, and only in cycles that issue
//! something. An operation that joins others changes no group, or ends a gap between two. The second rule
//! holds among loads, and among others.
//!
//! Each step of these arguments moves an operation to an earlier cycle, or a better one before a worse one,
//! so the argument ends. It moves only operations after the state, so the memory of states stays valid.
//!
//! The same search runs on the reversed block: all rules hold from both ends of time.

use super::graph::Graph;
use super::list::Taken;
use super::matching::most_pairs;
use super::memory::Memory;
use super::problem::Kind;
use super::{Packing, Placed};
use crate::bits::BitSet;
use crate::budget::{Effort, is_over};
use crate::index::ValueId;
use crate::random::Random;
use crate::verdict::Verdict;

/// The progress of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    None,
    /// Completely issued.
    Done,
    /// Split, with the remaining parts for each unit.
    Parts {
        left: [u32; 2],
    },
}

impl Progress {
    /// Random bits that stand for an operation's progress in the key of a state (Zobrist's method).
    fn mark(self, at: usize) -> u128 {
        let number = match self {
            Progress::None => return 0,
            Progress::Done => 0,
            Progress::Parts { left } => (left[0] << 8) + left[1],
        };
        let mut random = Random::new((at as u64) << 32 | u64::from(number));
        u128::from(random.bits()) << 64 | u128::from(random.bits())
    }
}

/// The question to the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Question {
    /// The limit on the length.
    pub(super) length: u32,
    /// The most groups of loads.
    pub(super) levels: Option<u32>,
}

/// One operation or part in the current cycle, or in an earlier one.
#[derive(Clone, Copy)]
struct Step {
    at: u32,
    /// The units that it takes.
    kind: Kind,
    part: u32,
    cycle: u32,
}

/// The registers of the limited class.
struct Registers {
    /// Values that an operation defines and reads, by instruction of the region.
    most: u32,
    live: u32,
    /// Uses of each value that are still to come; one more if it is live at the end.
    uses: Vec<u32>,
    class: crate::ClassId,
}

/// A search that answers several questions about one graph. It remembers failed states.
pub(super) struct Search<'g> {
    graph: &'g Graph<'g>,
    question: Question,
    /// The last cycle of each operation.
    latest: Vec<u32>,
    progress: Vec<Progress>,
    /// The number of open predecessors, and the first cycle that the issued ones allow.
    waiting: Vec<u32>,
    available: Vec<u32>,
    /// Operations that are not completely issued.
    open: usize,
    key: u128,
    steps: Vec<Step>,
    /// The start of the current cycle in `steps`.
    cycle_start: usize,
    /// Earlier values of `available`.
    undo: Vec<(u32, u32)>,
    levels: u32,
    in_level: bool,
    registers: Option<Registers>,
    memory: Memory,
    pub(super) nodes: u64,
    effort: Effort,
    // Memory for the bound at each state.
    earliest: Vec<u32>,
    by_release: Vec<u32>,
    unpaid: Vec<u32>,
    urgent: BitSet,
    open_sets: [BitSet; 2],
}

/// The number of states between two looks at the clock.
const CLOCK_INTERVAL: u64 = 64;

impl<'g> Search<'g> {
    pub(super) fn new(graph: &'g Graph<'g>) -> Self {
        let count = graph.len();
        let region = graph.problem.region();
        let registers = graph.problem.limit().map(|(class, most)| {
            let uses = (0..region.values().len()).map(|number| {
                let id = ValueId::at(number);
                region.value_uses(id).len() as u32 + u32::from(region.values()[number].live_out)
            });
            let uses: Vec<u32> = uses.collect();
            let live_in = region.values().iter().zip(&uses);
            let live_in =
                live_in.filter(|(value, uses)| value.class == class && value.def.is_none() && **uses > 0);
            let live = live_in.map(|(value, _)| value.weight).sum::<u32>() + region.through(class);
            Registers { most, live, uses, class }
        });
        Search {
            graph,
            question: Question { length: 0, levels: None },
            latest: vec![0; count],
            progress: vec![Progress::None; count],
            waiting: (0..count).map(|at| graph.preds.row(at).len() as u32).collect(),
            available: vec![0; count],
            open: count,
            key: 0,
            steps: Vec::with_capacity(count),
            cycle_start: 0,
            undo: Vec::new(),
            levels: 0,
            in_level: false,
            registers,
            memory: Memory::default(),
            nodes: 0,
            effort: Effort::UNBOUNDED,
            earliest: vec![0; count],
            by_release: Vec::with_capacity(count),
            unpaid: vec![0; count],
            urgent: BitSet::new(count),
            open_sets: [BitSet::new(count), BitSet::new(count)],
        }
    }

    /// Answer one question, and reduce `effort` by its cost.
    pub(super) fn ask(&mut self, question: Question, effort: &mut Effort) -> Verdict<Packing> {
        if self.registers.as_ref().is_some_and(|registers| registers.live > registers.most) {
            return Verdict::No(());
        }
        // A state that fails with few levels may succeed with more: failures for another number of levels are
        // not used.
        if question.levels != self.question.levels {
            self.memory = Memory::default();
        }
        self.question = question;
        for at in 0..self.graph.len() {
            match question.length.checked_sub(self.graph.tails[at] + 1) {
                Some(latest) if latest >= self.graph.heads[at] + self.graph.span(at) => {
                    self.latest[at] = latest;
                }
                _ => return Verdict::No(()),
            }
        }
        self.effort = *effort;
        let verdict = self.enter(0);
        *effort = self.effort;
        let answer = verdict.map_yes(|()| self.packing());
        // A search that ends without failing leaves its state in the middle.
        while !self.steps.is_empty() {
            self.take_back();
        }
        (self.cycle_start, self.levels, self.in_level) = (0, 0, false);
        answer
    }

    /// Search the state before a cycle.
    fn enter(&mut self, cycle: u32) -> Verdict {
        if self.open == 0 {
            return Verdict::Yes(());
        }
        self.nodes += 1;
        if self.is_out_of_effort() {
            return Verdict::Unknown;
        }
        if cycle >= self.question.length || self.has_too_many_levels() {
            return Verdict::No(());
        }
        let left = self.question.length - cycle;
        let key = self.key ^ u128::from(self.in_level && self.question.levels.is_some());
        let length = self.question.length;
        let left_at = |at: u32| length.saturating_sub(self.available[at as usize]);
        if self.memory.knows(key, left, self.levels, left_at) || !self.can_fit(cycle) {
            return Verdict::No(());
        }
        let start = std::mem::replace(&mut self.cycle_start, self.steps.len());
        let verdict = self.fill(cycle, 0, Taken::default());
        self.cycle_start = start;
        if verdict.is_no() {
            let waits = |at: &u32| {
                self.available[*at as usize] > cycle && self.progress[*at as usize] != Progress::Done
            };
            let waiting: Vec<(u32, u32)> = (0..self.graph.len() as u32)
                .filter(waits)
                .map(|at| (at, length.saturating_sub(self.available[at as usize])))
                .collect();
            self.memory.add(key, left, self.levels, &waiting);
        }
        verdict
    }

    /// Return whether the remaining loads need more groups than allowed.
    fn has_too_many_levels(&self) -> bool {
        let Some(most) = self.question.levels else { return false };
        let levels = self.graph.levels.iter().zip(&self.progress);
        let left = levels.filter(|(_, progress)| **progress != Progress::Done).map(|(levels, _)| *levels);
        let left = left.max().unwrap_or(0);
        left > 0 && self.levels + left - u32::from(self.in_level) > most
    }

    fn is_out_of_effort(&mut self) -> bool {
        if self.effort.steps == 0 {
            return true;
        }
        self.effort.steps -= 1;
        let is_time = self.nodes.is_multiple_of(CLOCK_INTERVAL);
        if is_time && is_over(self.effort.deadline) {
            self.effort.steps = 0;
            return true;
        }
        false
    }

    /// Add operations from `from` on to a cycle, then continue with the next one.
    fn fill(&mut self, cycle: u32, from: usize, taken: Taken) -> Verdict {
        for at in from..self.graph.len() {
            if !self.is_ready(at, cycle) {
                continue;
            }
            let verdict = match self.parts_left(at) {
                None => self.try_step(cycle, at, self.graph.kinds[at], 0, taken),
                Some((part, left)) => self.try_parts(cycle, at, part, left, taken),
            };
            if !verdict.is_no() {
                return verdict;
            }
        }
        self.close(cycle, taken)
    }

    /// Return, for a split operation, its next part, and the remaining parts for each unit.
    fn parts_left(&self, at: usize) -> Option<(u32, [u32; 2])> {
        let split = self.graph.splits[at]?;
        match self.progress[at] {
            Progress::Parts { left } => Some((split.parts() - left[0] - left[1], left)),
            _ => Some((0, split.counts)),
        }
    }

    /// Try the next part of a split operation on each possible unit.
    fn try_parts(&mut self, cycle: u32, at: usize, part: u32, left: [u32; 2], taken: Taken) -> Verdict {
        for (unit, kind) in [Kind::First, Kind::Second].into_iter().enumerate() {
            if left[unit] > 0 {
                let verdict = self.try_step(cycle, at, kind, part, taken);
                if !verdict.is_no() {
                    return verdict;
                }
            }
        }
        Verdict::No(())
    }

    fn try_step(&mut self, cycle: u32, at: usize, kind: Kind, part: u32, mut taken: Taken) -> Verdict {
        if !self.fits(at, kind, taken) {
            return Verdict::No(());
        }
        taken.add(kind);
        self.issue(Step { at: at as u32, kind, part, cycle });
        let verdict = self.fill(cycle, at + 1, taken);
        if verdict.is_no() {
            self.take_back();
        }
        verdict
    }

    fn is_ready(&self, at: usize, cycle: u32) -> bool {
        self.waiting[at] == 0 && self.available[at] <= cycle && self.progress[at] != Progress::Done
    }

    /// Return whether an operation can join those of this cycle.
    fn fits(&self, at: usize, kind: Kind, taken: Taken) -> bool {
        let now = &self.steps[self.cycle_start..];
        taken.fits(kind) && !now.iter().any(|step| self.graph.conflict(at, step.at as usize))
    }

    /// End a cycle.
    fn close(&mut self, cycle: u32, taken: Taken) -> Verdict {
        if self.registers.is_none() && self.leaves_out(cycle, taken) {
            return Verdict::No(());
        }
        if self.registers.as_ref().is_some_and(|registers| registers.live > registers.most) {
            return Verdict::No(());
        }
        let before = (self.levels, self.in_level);
        let now = &self.steps[self.cycle_start..];
        if let Some(most) = self.question.levels.filter(|_| !now.is_empty()) {
            let loads = now.iter().any(|step| self.graph.loads[step.at as usize]);
            self.levels += u32::from(loads && !self.in_level);
            self.in_level = loads;
            if self.levels > most {
                (self.levels, self.in_level) = before;
                return Verdict::No(());
            }
        }
        // If nothing is ready in the next cycle, continue at the first cycle where something is.
        let mut next = u32::MAX;
        for at in 0..self.graph.len() {
            if self.waiting[at] == 0 && self.progress[at] != Progress::Done {
                next = next.min(self.available[at]);
            }
        }
        let next = if self.open == 0 { cycle + 1 } else { next.max(cycle + 1) };
        let verdict = self.enter(next);
        if verdict.is_no() {
            (self.levels, self.in_level) = before;
        }
        verdict
    }

    /// Return whether the cycle could hold one more operation, or a better one.
    fn leaves_out(&self, cycle: u32, taken: Taken) -> bool {
        let counts_levels = self.question.levels.is_some();
        let may_wait = counts_levels && self.steps.len() == self.cycle_start;
        for at in 0..self.graph.len() {
            if may_wait || counts_levels && self.graph.loads[at] || !self.is_ready(at, cycle) {
                continue;
            }
            let could_be = match self.parts_left(at) {
                None => self.fits(at, self.graph.kinds[at], taken),
                Some((_, left)) => {
                    // Parts on the other unit that keep their cycle must not come too close.
                    let can_move =
                        left.contains(&0) || self.graph.splits[at].is_some_and(|split| split.apart == 1);
                    let units = [Kind::First, Kind::Second].into_iter().enumerate();
                    let mut needed = units.filter(|(unit, _)| left[*unit] > 0);
                    can_move && needed.any(|(_, kind)| self.fits(at, kind, taken))
                }
            };
            if could_be {
                return true;
            }
        }
        self.steps[self.cycle_start..].iter().filter(|step| step.part == 0).any(|step| {
            let better = self.graph.better.row(step.at as usize).iter();
            better
                .into_iter()
                .any(|&at| self.progress[at as usize] == Progress::None && self.is_ready(at as usize, cycle))
        })
    }

    fn issue(&mut self, step: Step) {
        let at = step.at as usize;
        let (after, is_complete) = match (self.parts_left(at), self.graph.splits[at]) {
            (Some((_, mut left)), Some(split)) => {
                left[usize::from(step.kind == Kind::Second)] -= 1;
                self.undo.push((step.at, self.available[at]));
                self.available[at] = step.cycle + split.apart;
                match left {
                    [0, 0] => (Progress::Done, true),
                    left => (Progress::Parts { left }, false),
                }
            }
            _ => (Progress::Done, true),
        };
        self.change(at, after);
        if is_complete {
            self.open -= 1;
            for &(to, latency) in self.graph.succs.row(at) {
                let to = to as usize;
                self.waiting[to] -= 1;
                self.undo.push((to as u32, self.available[to]));
                self.available[to] = self.available[to].max(step.cycle + latency);
            }
        }
        self.count_registers(at, step.part == 0, is_complete, true);
        self.steps.push(step);
    }

    fn take_back(&mut self) {
        let Some(step) = self.steps.pop() else { return };
        let at = step.at as usize;
        let is_complete = self.progress[at] == Progress::Done;
        self.count_registers(at, step.part == 0, is_complete, false);
        if is_complete {
            self.open += 1;
            for &(to, _) in self.graph.succs.row(at).iter().rev() {
                self.waiting[to as usize] += 1;
                self.restore();
            }
        }
        let mut before = Progress::None;
        if self.graph.splits[at].is_some() {
            self.restore();
            let mut left = match self.progress[at] {
                Progress::Parts { left } => left,
                _ => [0, 0],
            };
            left[usize::from(step.kind == Kind::Second)] += 1;
            if step.part > 0 {
                before = Progress::Parts { left };
            }
        }
        self.change(at, before);
    }

    fn restore(&mut self) {
        if let Some((at, available)) = self.undo.pop() {
            self.available[at as usize] = available;
        }
    }

    fn change(&mut self, at: usize, progress: Progress) {
        self.key ^= self.progress[at].mark(at) ^ progress.mark(at);
        self.progress[at] = progress;
    }

    /// Update the registers. Results take registers from the first part on, operands until the last one.
    fn count_registers(&mut self, at: usize, is_first: bool, is_last: bool, forward: bool) {
        let Some(registers) = &mut self.registers else { return };
        let region = self.graph.problem.region();
        let instr = self.graph.instrs[at];
        let weight = |id: ValueId| {
            let value = &region.values()[id.index()];
            if value.class == registers.class { value.weight } else { 0 }
        };
        if is_first {
            for &id in region.defined_values(instr).iter().filter(|id| !region.is_dead(**id)) {
                if forward {
                    registers.live += weight(id);
                } else {
                    registers.live -= weight(id);
                }
            }
        }
        if is_last {
            for &id in region.used_values(instr) {
                let uses = &mut registers.uses[id.index()];
                if forward {
                    *uses -= 1;
                    if *uses == 0 {
                        registers.live -= weight(id);
                    }
                } else {
                    if *uses == 0 {
                        registers.live += weight(id);
                    }
                    *uses += 1;
                }
            }
        }
    }

    /// Return whether the rest can fit by its windows.
    fn can_fit(&mut self, cycle: u32) -> bool {
        let graph = self.graph;
        let count = graph.len();
        self.by_release.clear();
        for (unit, open) in self.open_sets.iter_mut().enumerate() {
            open.clear();
            for (at, progress) in self.progress.iter().enumerate() {
                let is_open = match progress {
                    Progress::None => true,
                    Progress::Parts { left } => left[unit] > 0,
                    Progress::Done => false,
                };
                open.insert_if(at, is_open);
            }
        }
        for at in 0..count {
            let progress = self.progress[at];
            if progress == Progress::Done {
                continue;
            }
            let mut earliest = self.available[at].max(cycle);
            if progress == Progress::None {
                earliest = earliest.max(graph.heads[at]);
                for &(from, latency) in graph.preds.row(at) {
                    // Operations with lower numbers already have their final earliest cycle.
                    if self.progress[from as usize] != Progress::Done {
                        earliest = earliest.max(self.completed(from as usize) + latency);
                    }
                }
                let before = graph.cycles_before(at, &self.open_sets);
                if before > 0 {
                    earliest = earliest.max(cycle + before + graph.least_latency[at] - 1);
                }
            }
            self.earliest[at] = earliest;
            if self.completed(at) > self.latest[at] {
                return false;
            }
            self.by_release.push(at as u32);
        }
        let earliest = &self.earliest;
        self.by_release.sort_unstable_by_key(|&at| earliest[at as usize]);
        (0..graph.resources.len()).all(|resource| self.windows_fit(resource, cycle)) && self.pairs_fit(cycle)
    }

    /// Return whether every window of cycles has enough capacity of a resource for the operations that must
    /// issue in it. If costs can be paid in any cycle of the window, paying the earliest deadline first
    /// decides that.
    fn windows_fit(&mut self, resource: usize, mut cycle: u32) -> bool {
        let resource = &self.graph.resources[resource];
        self.urgent.clear();
        let mut count = 0;
        let mut position = 0;
        loop {
            if count == 0 {
                let Some(next) = self.by_release.get(position) else { return true };
                cycle = cycle.max(self.earliest[*next as usize]);
            }
            while let Some(&at) = self.by_release.get(position) {
                let at = at as usize;
                if self.earliest[at] > cycle {
                    break;
                }
                position += 1;
                let cost = match self.progress[at] {
                    Progress::Parts { left } => left[0] * resource.weights[0] + left[1] * resource.weights[1],
                    _ => resource.cost[at],
                };
                if cost > 0 {
                    self.unpaid[at] = cost;
                    self.urgent.insert(at);
                    count += 1;
                }
            }
            let mut offer = resource.capacity;
            let mut first = 0;
            while offer > 0 && count > 0 {
                // Operations are numbered by their last cycles.
                let Some(at) = self.urgent.bits().next_from(first) else { break };
                first = at;
                if self.latest[at] < cycle {
                    return false;
                }
                let paid = offer.min(self.unpaid[at]);
                offer -= paid;
                self.unpaid[at] -= paid;
                if self.unpaid[at] == 0 {
                    self.urgent.remove(at);
                    count -= 1;
                }
            }
            cycle += 1;
        }
    }

    /// Return whether enough pairs of the remaining operations can share a cycle for the rest to fit. The
    /// windows of a pair must overlap.
    fn pairs_fit(&self, cycle: u32) -> bool {
        let graph = self.graph;
        let cycles = (self.question.length - cycle) as usize;
        let mut issues: Vec<(usize, Kind)> = Vec::new();
        for at in self.by_release.iter().map(|at| *at as usize) {
            match self.parts_left(at) {
                Some((_, left)) => {
                    let units = [Kind::First, Kind::Second].into_iter().zip(left);
                    issues.extend(units.flat_map(|(kind, count)| (0..count).map(move |_| (at, kind))));
                }
                None if graph.kinds[at] == Kind::None => {}
                None => issues.push((at, graph.kinds[at])),
            }
        }
        let needed = issues.len().saturating_sub(cycles);
        let can_pair = |&(x, x_kind): &(usize, Kind), &(y, y_kind): &(usize, Kind)| {
            let overlap = self.earliest[x] <= self.latest[y] && self.earliest[y] <= self.latest[x];
            overlap && graph.can_pair[x * graph.len() + y] && !x_kind.shares_a_unit(y_kind)
        };
        // Taking the next best partner often suffices.
        let mut pairs = 0;
        let mut taken = vec![false; issues.len()];
        for a in 0..issues.len() {
            if pairs >= needed {
                return true;
            }
            let partner =
                (a + 1..issues.len()).find(|&b| !taken[a] && !taken[b] && can_pair(&issues[a], &issues[b]));
            if let Some(b) = partner {
                taken[b] = true;
                pairs += 1;
            }
        }
        let mut neighbours = vec![Vec::new(); issues.len()];
        for a in 0..issues.len() {
            for b in 0..a {
                if can_pair(&issues[a], &issues[b]) {
                    neighbours[a].push(b);
                    neighbours[b].push(a);
                }
            }
        }
        most_pairs(&neighbours, needed) == needed
    }

    /// Return the first cycle in which an operation can be complete if it starts or continues at its
    /// earliest.
    fn completed(&self, at: usize) -> u32 {
        let parts = self.graph.splits[at].zip(self.parts_left(at));
        let more = parts.map_or(0, |(split, (_, left))| (left[0] + left[1] - 1) * split.apart);
        self.earliest[at] + more
    }

    /// Return the packing that was found.
    fn packing(&self) -> Packing {
        let graph = self.graph;
        let mut placed = Vec::with_capacity(self.steps.len());
        for cycle in self.steps.chunk_by(|a, b| a.cycle == b.cycle) {
            let units = Taken::assign(cycle.iter().map(|step| step.kind));
            for (step, units) in cycle.iter().zip(units) {
                let (mut cycle, mut part) = (step.cycle, step.part);
                if graph.is_turned {
                    let last = self.steps.last().map_or(0, |last| last.cycle);
                    cycle = last - cycle;
                    if let Some(split) = graph.splits[step.at as usize] {
                        part = split.parts() - 1 - part;
                    }
                }
                let (instr, format) = (graph.instrs[step.at as usize], graph.formats[step.at as usize]);
                placed.push(Placed { cycle, instr, format, part, units });
            }
        }
        Packing::new(placed)
    }
}
