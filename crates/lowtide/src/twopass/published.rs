//! The two-pass branch and bound as published (paper 2, Section 5, Algorithm 1), for comparison with
//! [`twopass`](crate::twopass).
//!
//! | here | paper |
//! |---|---|
//! | [`schedule`] | `Schedule(kernel)`: the target of all regions falls to the waves of the worst one |
//! | `occupancy_pass` | `OccupancyPass` (Section 5.2): all latencies are 1, the length is the number of instructions |
//! | `length_pass` | `ILPPass` (Section 5.3): target lengths from the bound of Langevin and Černý to the start, less 1 |
//! | `enumerate` | `Enumerate` and `CheckNode` (Section 5.1): one instruction or a stall at a time |
//! | [`Pruning`] | techniques 1 to 4 of Section 5.1, each of which can be switched off |
//! | `history` | technique 4: similar nodes, whose partial schedules have the same instructions |
//!
//! Both passes only use what the paper describes. A start is one schedule of one heuristic, not the best of
//! several. Bounds on registers are those of the partial schedule. No order of two instructions is derived
//! from the limits, and no node is skipped because of an equivalent instruction. The paper leaves the order
//! of branches open. Here the first pass tries the instruction with the highest last-use count first, and the
//! second pass the one with the longest path to the end.
//!
//! The cost of the first pass is the paper's APRP for several classes: registers spilled into memory, then
//! waves that are lost.

mod enumerate;
mod history;

use crate::analysis::length_bound::lower_bound;
use crate::analysis::limits::peaks;
use crate::budget::Budget;
use crate::index::InstrId;
use crate::problem::Problem;
use crate::schedule::Schedule;
use enumerate::{Aim, End, Enumerator};

/// The pruning techniques of Section 5.1. Disabling one does not change the optimum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pruning {
    /// Technique 1: tighten the cycles in which an instruction can be scheduled.
    pub ranges: bool,
    /// Technique 2: Rim and Jain's bound on the length at each node.
    pub bound: bool,
    /// Technique 3: the pressure of a partial schedule.
    pub pressure: bool,
    /// Technique 4: history-based domination.
    pub history: bool,
}

impl Pruning {
    /// All techniques.
    pub const ALL: Pruning = Pruning { ranges: true, bound: true, pressure: true, history: true };
    /// No technique: plain enumeration.
    pub const NONE: Pruning = Pruning { ranges: false, bound: false, pressure: false, history: false };
}

impl Default for Pruning {
    fn default() -> Self {
        Pruning::ALL
    }
}

/// The result for a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The order of the best schedule.
    pub order: Vec<InstrId>,
    /// Whether the start has fewer waves than the target of the kernel, so that the first pass searches.
    pub is_searched: bool,
    /// Whether the first pass found an order of lower cost.
    pub is_improved: bool,
    /// No order has more waves, if the first pass says so.
    pub waves_bound: Option<u32>,
    /// The length of the order of the first pass, with necessary stalls.
    pub start_length: u32,
    /// No schedule with the waves of the kernel is shorter.
    pub length_bound: u32,
    /// Nodes of both passes.
    pub nodes: [u64; 2],
}

/// The cost of an order in the first pass: registers spilled into memory, and waves below the target.
type Cost = (u32, u32);

/// Schedule all regions of a kernel, each from its start. At most `target` waves are wanted. Each region has
/// the budget in each pass. Return the waves that the second pass keeps, and the result of each region.
pub fn schedule(
    problems: &[Problem],
    starts: Vec<Vec<InstrId>>,
    target: u32,
    pruning: Pruning,
    budget: Budget,
) -> (u32, Vec<Found>) {
    let mut target = target;
    let mut found = Vec::new();
    for (problem, start) in problems.iter().zip(starts) {
        let region = occupancy_pass(problem, start, target, pruning, budget);
        target = target.min(waves(problem, &region.order));
        found.push(region);
    }
    for (problem, region) in problems.iter().zip(&mut found) {
        length_pass(problem, region, target, pruning, budget);
    }
    (target, found)
}

fn waves(problem: &Problem, order: &[InstrId]) -> u32 {
    problem.registers().occupancy(&peaks(problem.region(), order))
}

fn cost(problem: &Problem, peaks: &[u32], target: u32) -> Cost {
    let registers = problem.registers();
    (registers.spilled_to_memory(peaks), target.saturating_sub(registers.occupancy(peaks)))
}

/// The aim of the first pass: lower cost than the best order so far.
struct LowerCost<'a> {
    problem: &'a Problem<'a>,
    target: u32,
    best: Vec<InstrId>,
    cost: Cost,
}

impl Aim for LowerCost<'_> {
    fn allows(&self, peaks: &[u32]) -> bool {
        cost(self.problem, peaks, self.target) < self.cost
    }

    fn is_by_class(&self) -> bool {
        // Without spills to trade, the cost is a limit on each class.
        self.cost.0 == 0
    }

    fn reach(&mut self, order: &[InstrId], peaks: &[u32]) -> bool {
        self.cost = cost(self.problem, peaks, self.target);
        self.best = order.to_vec();
        self.cost == (0, 0)
    }
}

fn occupancy_pass(
    problem: &Problem,
    start: Vec<InstrId>,
    target: u32,
    pruning: Pruning,
    budget: Budget,
) -> Found {
    let first = cost(problem, &peaks(problem.region(), &start), target);
    let mut aim = LowerCost { problem, target, best: start, cost: first };
    let mut effort = budget.effort(problem.region().len());
    let (mut nodes, mut waves_bound) = (0, None);
    let is_searched = first > (0, 0);
    if is_searched {
        let mut enumerator = Enumerator::new(problem, pruning, false);
        let end = enumerator.run(problem.region().len() as u32, &mut aim, &mut effort);
        nodes = enumerator.nodes;
        // With spills, more waves may be possible with more spills.
        if end == End::Exhausted && aim.cost.0 == 0 {
            waves_bound = Some(waves(problem, &aim.best));
        }
    }
    Found {
        is_searched,
        is_improved: aim.cost < first,
        order: aim.best,
        waves_bound,
        start_length: 0,
        length_bound: 0,
        nodes: [nodes, 0],
    }
}

/// The aim of the second pass: the waves of the kernel, and no more spills than the first pass has.
struct KeptWaves<'a> {
    problem: &'a Problem<'a>,
    waves: u32,
    in_memory: u32,
    found: Option<Vec<InstrId>>,
}

impl Aim for KeptWaves<'_> {
    fn allows(&self, peaks: &[u32]) -> bool {
        let (in_memory, lost) = cost(self.problem, peaks, self.waves);
        in_memory <= self.in_memory && lost == 0
    }

    fn is_by_class(&self) -> bool {
        self.in_memory == 0
    }

    fn reach(&mut self, order: &[InstrId], _peaks: &[u32]) -> bool {
        self.found = Some(order.to_vec());
        true
    }
}

fn length_pass(problem: &Problem, region: &mut Found, waves: u32, pruning: Pruning, budget: Budget) {
    let mut effort = budget.effort(problem.region().len());
    let upper = Schedule::in_order(problem, region.order.clone()).length();
    let lower = lower_bound(problem).best();
    (region.start_length, region.length_bound) = (upper, lower);
    let (in_memory, _) = cost(problem, &peaks(problem.region(), &region.order), waves);
    let mut enumerator = Enumerator::new(problem, pruning, true);
    let mut aim = KeptWaves { problem, waves, in_memory, found: None };
    for target in lower..upper {
        match enumerator.run(target, &mut aim, &mut effort) {
            End::Reached => break,
            End::Exhausted => region.length_bound = target + 1,
            End::Spent => break,
        }
    }
    region.nodes[1] = enumerator.nodes;
    if let Some(order) = aim.found {
        region.order = order;
    }
}
