//! The enumerator (Section 5.1): a partial schedule grows by one instruction or one stall, and shrinks again
//! where a test of `CheckNode` fails.

use super::Pruning;
use super::history::{History, Visit};
use crate::analysis::pressure::Tracker;
use crate::analysis::times::{MOST_SLOTS, Times};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::InstrId;
use crate::problem::Problem;

/// What a schedule must meet in registers. Lower peaks never make it worse.
pub(super) trait Aim {
    /// Return whether a schedule with these peaks meets the aim.
    fn allows(&self, peaks: &[u32]) -> bool;
    /// Return whether the aim is a limit on each file alone, so that a part of a schedule fails for itself.
    fn is_by_class(&self) -> bool;
    /// Take a schedule that meets the aim. Return whether to stop.
    fn reach(&mut self, order: &[InstrId], peaks: &[u32]) -> bool;
}

/// The end of an enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The aim says stop.
    Reached,
    /// All nodes are explored.
    Exhausted,
    /// The budget is spent.
    Spent,
}

/// A node of the decision tree on the current path: the branches that are left, and how to take back the
/// step that led here.
struct Node {
    /// The branches, the last one first. A stall is `None`.
    branches: Vec<Option<InstrId>>,
    /// The step that led here.
    step: Option<InstrId>,
    /// Cycle and issued instructions before this step.
    before: (u32, u32),
    /// Lengths of the trails before this step.
    trails: (usize, usize),
    /// Schedules that had been found before.
    found: u64,
}

/// The enumerator of a region.
pub(super) struct Enumerator<'a> {
    problem: &'a Problem<'a>,
    pruning: Pruning,
    /// Whether latencies, units and issue width count.
    is_timed: bool,
    width: u32,
    /// Longest path to the end, and from the start.
    tail: Vec<u32>,
    head: Vec<u32>,
    /// All instructions, the shortest deadline first.
    by_deadline: Vec<InstrId>,
    /// Whether every file has one class, and none is spilled into lanes.
    has_plain_files: bool,
    tracker: Tracker<'a>,
    order: Vec<InstrId>,
    scheduled: BitSet,
    /// For each instruction, predecessors that are not scheduled.
    open: Vec<u32>,
    /// The instructions with scheduled predecessors.
    ready: Vec<InstrId>,
    /// For each instruction, the first cycle that its range still has.
    earliest: Vec<u32>,
    earliest_trail: Vec<(InstrId, u32)>,
    /// For each unit, the first free cycle of each copy.
    free: Vec<Vec<u32>>,
    free_trail: Vec<(usize, usize, u32)>,
    cycle: u32,
    issued: u32,
    target: u32,
    history: History,
    /// For the bound of Rim and Jain: the slots taken in each cycle, and a cycle to look at instead of a full
    /// one.
    slots: Vec<u32>,
    instead: Vec<u32>,
    change: Vec<i32>,
    found: u64,
    /// Nodes explored.
    pub(super) nodes: u64,
}

impl<'a> Enumerator<'a> {
    /// Make an enumerator. Without time, all latencies are 1 and one instruction issues in each cycle.
    pub(super) fn new(problem: &'a Problem<'a>, pruning: Pruning, is_timed: bool) -> Self {
        let region = problem.region();
        let times = Times::on(problem);
        let mut by_deadline: Vec<InstrId> = region.instrs().collect();
        by_deadline.sort_by_key(|instr| std::cmp::Reverse(times.tail[instr.index()]));
        let registers = problem.registers();
        let fits_lanes = registers.lanes().iter().all(|lanes| {
            let values = region.values().iter().filter(|value| value.class == lanes.from);
            let most = values.map(|value| u64::from(value.weight)).sum::<u64>();
            most + u64::from(region.through(lanes.from)) <= u64::from(lanes.max)
        });
        let units = &problem.target().issue().units;
        let copies = |count: u32| (count as usize).min(region.len());
        Enumerator {
            problem,
            pruning,
            is_timed,
            width: if is_timed { problem.target().issue().width } else { 1 },
            tail: times.tail,
            head: times.earliest,
            by_deadline,
            has_plain_files: fits_lanes && registers.files().iter().all(|bound| bound.classes.len() == 1),
            tracker: Tracker::new(region),
            order: Vec::new(),
            scheduled: BitSet::new(region.len()),
            open: Vec::new(),
            ready: Vec::new(),
            earliest: Vec::new(),
            earliest_trail: Vec::new(),
            free: units.iter().map(|unit| vec![0; copies(unit.count)]).collect(),
            free_trail: Vec::new(),
            cycle: 0,
            issued: 0,
            target: 0,
            history: History::default(),
            slots: Vec::new(),
            instead: Vec::new(),
            change: vec![0; region.classes().len()],
            found: 0,
            nodes: 0,
        }
    }

    /// Enumerate the schedules of at most `target` cycles that meet the aim.
    pub(super) fn run(&mut self, target: u32, aim: &mut dyn Aim, effort: &mut Effort) -> End {
        if effort.is_spent() || u64::from(target) * u64::from(self.width) > MOST_SLOTS {
            return End::Spent;
        }
        self.restart(target);
        let root =
            Node { branches: self.branches(), step: None, before: (0, 0), trails: (0, 0), found: self.found };
        let mut path = vec![root];
        while let Some(node) = path.last_mut() {
            let Some(branch) = node.branches.pop() else {
                let found_before = node.found;
                self.remember(aim, found_before);
                if path.len() > 1
                    && let Some(node) = path.pop()
                {
                    self.step_back(&node);
                    continue;
                }
                return End::Exhausted;
            };
            if effort.is_spent() {
                return End::Spent;
            }
            effort.spend(1);
            self.nodes += 1;
            let mut node = self.step_forward(branch);
            if self.order.len() == self.problem.region().len() {
                let peaks = self.peaks();
                if aim.allows(&peaks) {
                    self.found += 1;
                    if aim.reach(&self.order, &peaks) {
                        return End::Reached;
                    }
                }
                self.step_back(&node);
            } else if self.check_node(aim) {
                node.branches = self.branches();
                path.push(node);
            } else {
                self.step_back(&node);
            }
        }
        End::Exhausted
    }

    /// Start with an empty schedule.
    fn restart(&mut self, target: u32) {
        let region = self.problem.region();
        self.target = target;
        self.tracker = Tracker::new(region);
        self.order.clear();
        self.scheduled = BitSet::new(region.len());
        self.open = region.instrs().map(|instr| region.preds(instr).len() as u32).collect();
        self.ready = region.instrs().filter(|instr| self.open[instr.index()] == 0).collect();
        self.earliest.clone_from(&self.head);
        self.earliest_trail.clear();
        self.free.iter_mut().for_each(|copies| copies.fill(0));
        self.free_trail.clear();
        (self.cycle, self.issued) = (0, 0);
        self.history.clear();
    }

    fn peaks(&self) -> Vec<u32> {
        self.tracker.peaks().iter().map(|peak| peak.between).collect()
    }

    /// Return whether an instruction with scheduled predecessors can issue in the current cycle.
    fn can_issue(&self, instr: InstrId) -> bool {
        if !self.is_timed {
            return true;
        }
        let has_units = self.problem.unit_needs(instr).iter().all(|(unit, _)| {
            let copies = &self.free[*unit as usize];
            copies.is_empty() || copies.iter().any(|free| *free <= self.cycle)
        });
        self.earliest[instr.index()] <= self.cycle && has_units
    }

    /// List the branches of the current node, the best one last.
    fn branches(&mut self) -> Vec<Option<InstrId>> {
        let mut keyed: Vec<([i64; 3], InstrId)> = Vec::with_capacity(self.ready.len());
        for position in 0..self.ready.len() {
            let instr = self.ready[position];
            if self.can_issue(instr) {
                self.tracker.delta(instr, &mut self.change);
                let more: i64 = self.change.iter().map(|&change| i64::from(change)).sum();
                let region = self.problem.region();
                let needed = region.defined_values(instr).iter().filter(|value| !region.is_dead(**value));
                let defined: i64 = needed.map(|value| i64::from(region.values()[value.index()].weight)).sum();
                let path = i64::from(self.tail[instr.index()]);
                let key =
                    if self.is_timed { [path, defined - more, -more] } else { [defined - more, -more, path] };
                keyed.push((key, instr));
            }
        }
        // A stall pays only if the next instruction is one that cannot issue now.
        let can_wait = keyed.len() < self.ready.len();
        keyed.sort_unstable_by_key(|(key, instr)| (*key, std::cmp::Reverse(*instr)));
        let stall = can_wait.then_some(None);
        stall.into_iter().chain(keyed.into_iter().map(|(_, instr)| Some(instr))).collect()
    }

    /// `StepForward`: add an instruction or a stall.
    fn step_forward(&mut self, step: Option<InstrId>) -> Node {
        let node = Node {
            branches: Vec::new(),
            step,
            before: (self.cycle, self.issued),
            trails: (self.earliest_trail.len(), self.free_trail.len()),
            found: self.found,
        };
        let Some(instr) = step else {
            (self.cycle, self.issued) = (self.cycle + 1, 0);
            return node;
        };
        let region = self.problem.region();
        self.tracker.schedule(instr);
        self.order.push(instr);
        self.scheduled.insert(instr);
        if let Some(position) = self.ready.iter().position(|ready| *ready == instr) {
            self.ready.swap_remove(position);
        }
        for edge in region.succs(instr) {
            let open = &mut self.open[edge.instr.index()];
            *open -= 1;
            if *open == 0 {
                self.ready.push(edge.instr);
            }
        }
        if self.is_timed {
            for (unit, busy) in self.problem.unit_needs(instr) {
                let copies = &mut self.free[*unit as usize];
                let copy = copies.iter_mut().enumerate().min_by_key(|(_, free)| **free);
                if let Some((position, free)) = copy {
                    self.free_trail.push((*unit as usize, position, *free));
                    *free = self.cycle + busy;
                }
            }
            self.raise_successors(instr, self.cycle);
        }
        self.issued += 1;
        if self.issued == self.width {
            (self.cycle, self.issued) = (self.cycle + 1, 0);
        }
        node
    }

    /// Raise the first cycles of the successors of an instruction that starts at `start`. Technique 1 also
    /// raises those of all instructions behind them.
    fn raise_successors(&mut self, instr: InstrId, start: u32) {
        let mut raised = vec![(instr, start)];
        while let Some((instr, start)) = raised.pop() {
            for edge in self.problem.region().succs(instr) {
                let earliest = &mut self.earliest[edge.instr.index()];
                if start + edge.latency > *earliest {
                    self.earliest_trail.push((edge.instr, *earliest));
                    *earliest = start + edge.latency;
                    if self.pruning.ranges {
                        raised.push((edge.instr, *earliest));
                    }
                }
            }
        }
    }

    /// `BackTrack`: take back the step that led to a node.
    fn step_back(&mut self, node: &Node) {
        (self.cycle, self.issued) = node.before;
        for (instr, earliest) in self.earliest_trail.drain(node.trails.0..).rev() {
            self.earliest[instr.index()] = earliest;
        }
        for (unit, copy, free) in self.free_trail.drain(node.trails.1..).rev() {
            self.free[unit][copy] = free;
        }
        let Some(instr) = node.step else { return };
        for edge in self.problem.region().succs(instr) {
            let open = &mut self.open[edge.instr.index()];
            if *open == 0
                && let Some(position) = self.ready.iter().position(|ready| *ready == edge.instr)
            {
                self.ready.swap_remove(position);
            }
            *open += 1;
        }
        self.ready.push(instr);
        self.scheduled.remove(instr);
        self.order.pop();
        self.tracker.undo();
    }

    /// `CheckNode`: whether a feasible schedule can be below the current node.
    fn check_node(&mut self, aim: &dyn Aim) -> bool {
        let is_possible = !self.is_timed || self.can_meet_length();
        if !is_possible {
            return false;
        }
        let peaks = self.peaks();
        if self.pruning.history
            && !self.visit(aim, peaks.clone(), |history, set, visit| history.allows(set, &visit))
        {
            return false;
        }
        !self.pruning.pressure || aim.allows(&peaks)
    }

    /// Techniques 1 and 2: the ranges of all instructions, and the bound of Rim and Jain. Without both, the
    /// cycles that are left must be enough for the instructions that are left.
    fn can_meet_length(&mut self) -> bool {
        let left = (self.problem.region().len() - self.order.len()) as u64;
        let slots = u64::from(self.target.saturating_sub(self.cycle)) * u64::from(self.width);
        if left + u64::from(self.issued) > slots {
            return false;
        }
        if !self.pruning.ranges && !self.pruning.bound {
            return true;
        }
        let cycles = self.target as usize + 1;
        if self.pruning.bound {
            self.slots.clear();
            self.slots.resize(cycles, 0);
            self.slots[self.cycle as usize] = self.issued;
            self.instead.clear();
            self.instead.extend(0..cycles as u32);
        }
        for position in 0..self.by_deadline.len() {
            let instr = self.by_deadline[position];
            if self.scheduled.contains(instr) {
                continue;
            }
            let first = self.earliest[instr.index()].max(self.cycle);
            let Some(deadline) = (self.target - 1).checked_sub(self.tail[instr.index()]) else {
                return false;
            };
            if first > deadline {
                return false;
            }
            if self.pruning.bound {
                let cycle = self.first_slot(first);
                if cycle > deadline {
                    return false;
                }
                self.slots[cycle as usize] += 1;
                if self.slots[cycle as usize] == self.width {
                    self.instead[cycle as usize] = cycle + 1;
                }
            }
        }
        true
    }

    /// Return the first cycle from `first` on with a free slot, and shorten the way to it.
    fn first_slot(&mut self, first: u32) -> u32 {
        let mut cycle = first;
        while self.instead[cycle as usize] != cycle {
            cycle = self.instead[cycle as usize];
        }
        let mut at = first;
        while at != cycle {
            at = std::mem::replace(&mut self.instead[at as usize], cycle);
        }
        cycle
    }

    /// Technique 4: remember that nothing is below the current node that has not been found.
    fn remember(&mut self, aim: &dyn Aim, found_before: u64) {
        // A node that is over the aim fails for that, and says nothing about others.
        let peaks = self.peaks();
        if !self.pruning.history || self.order.is_empty() || !self.pruning.pressure && !aim.allows(&peaks) {
            return;
        }
        let is_dead = self.found == found_before;
        self.visit(aim, peaks, |history, set, visit| history.add(set, Visit { is_dead, ..visit }));
    }

    /// Call `then` with the history and the current node.
    fn visit<T>(
        &mut self,
        aim: &dyn Aim,
        peaks: Vec<u32>,
        then: impl FnOnce(&mut History, &BitSet, Visit) -> T,
    ) -> T {
        let mut visit = Visit {
            peaks: peaks.into(),
            is_by_class: self.has_plain_files && aim.is_by_class(),
            is_dead: false,
            position: (0, 0),
            times: Box::default(),
        };
        if self.is_timed {
            visit.position = (self.cycle, self.issued);
            // When each waiting instruction and each copy of a unit becomes available, in a fixed order.
            let mut waiting = self.ready.clone();
            waiting.sort_unstable();
            let mut times: Vec<u32> =
                waiting.iter().map(|instr| self.earliest[instr.index()].max(self.cycle)).collect();
            times.extend(self.later_earliest());
            for copies in &self.free {
                let from = times.len();
                times.extend(copies.iter().map(|free| (*free).max(self.cycle)));
                times[from..].sort_unstable();
            }
            visit.times = times.into();
        }
        then(&mut self.history, &self.scheduled, visit)
    }

    /// Return the first cycles of instructions that have scheduled and unscheduled predecessors, in a fixed
    /// order.
    fn later_earliest(&self) -> Vec<u32> {
        let region = self.problem.region();
        let waits = |instr: &InstrId| {
            let preds = region.preds(*instr).len() as u32;
            !self.scheduled.contains(*instr) && (1..preds).contains(&self.open[instr.index()])
        };
        region.instrs().filter(waits).map(|instr| self.earliest[instr.index()].max(self.cycle)).collect()
    }
}
