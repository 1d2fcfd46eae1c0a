//! Baselines: the list schedulers of other compilers and papers.

use super::engine::{Direction, Key, Policy, State, Timing, run};
use crate::analysis::times::Times;
use crate::index::{ClassId, InstrId};
use crate::problem::Problem;
use crate::schedule::Schedule;

/// Critical path: longest latency path to the end first, without regard to registers (the heuristic of papers
/// 2 and 4 for length).
pub struct CriticalPath {
    times: Times,
}

impl CriticalPath {
    /// Make the policy for a problem.
    pub fn new(problem: &Problem) -> Self {
        CriticalPath { times: Times::on(problem) }
    }
}

impl Policy for CriticalPath {
    fn criteria(&self) -> &'static [&'static str] {
        &["longest path to the end"]
    }

    fn key(&mut self, _state: &State, instr: InstrId) -> Key {
        [i64::from(self.times.tail[instr.index()]), 0, 0, 0, 0]
    }

    fn is_static(&self) -> bool {
        true
    }

    fn reads_pressure(&self) -> bool {
        false
    }
}

/// Last-use count (papers 2 and 4): the instruction that frees most first. Ties go to the one that adds
/// least, then to the longest path. The count is by weight and over all classes; the public implementation of
/// the papers does not do that.
pub struct LastUseCount<'a> {
    problem: &'a Problem<'a>,
    times: Times,
    change: Vec<i32>,
}

impl<'a> LastUseCount<'a> {
    /// Make the policy for a problem.
    pub fn new(problem: &'a Problem<'a>) -> Self {
        LastUseCount { problem, times: Times::on(problem), change: vec![0; problem.region().classes().len()] }
    }
}

impl Policy for LastUseCount<'_> {
    fn criteria(&self) -> &'static [&'static str] {
        &["registers that it frees", "registers that it needs more (negated)", "longest path to the end"]
    }

    fn key(&mut self, state: &State, instr: InstrId) -> Key {
        state.delta(instr, &mut self.change);
        let total: i64 = self.change.iter().map(|&change| i64::from(change)).sum();
        let region = self.problem.region();
        let needed = region.defined_values(instr).iter().filter(|value| !region.is_dead(**value));
        let defined: i64 = needed.map(|value| i64::from(region.values()[value.index()].weight)).sum();
        [defined - total, -total, i64::from(self.times.tail[instr.index()]), 0, 0]
    }
}

/// Goodman and Hsu: by critical path while registers last. When the pressure of a class comes close to its
/// limit, by change of pressure.
pub struct GoodmanHsu {
    times: Times,
    /// For each class, the pressure at which saving registers starts.
    limits: Vec<u32>,
    change: Vec<i32>,
}

impl GoodmanHsu {
    /// Make the policy with the most registers of each class. Saving starts at nine tenths of them.
    pub fn new(problem: &Problem, limits: &[u32]) -> Self {
        let change = vec![0; limits.len()];
        let limits = limits.iter().map(|limit| limit - limit.div_ceil(10)).collect();
        GoodmanHsu { times: Times::on(problem), limits, change }
    }
}

impl Policy for GoodmanHsu {
    fn criteria(&self) -> &'static [&'static str] {
        &["registers that it saves while they are scarce", "longest path to the end"]
    }

    fn key(&mut self, state: &State, instr: InstrId) -> Key {
        state.delta(instr, &mut self.change);
        let scarce = |class: usize| state.pressure(ClassId::at(class)) >= self.limits[class];
        let changes = self.change.iter().enumerate().filter(|(class, _)| scarce(*class));
        let saved: i64 = changes.map(|(_, &change)| -i64::from(change)).sum();
        [saved, i64::from(self.times.tail[instr.index()]), 0, 0, 0]
    }
}

/// A greedy policy modelled on LLVM's machine scheduler, for bottom-up runs. Criteria, in order: not over the
/// limits, not over the highest pressure so far, no stall, the path from the start. The last one leaves early
/// instructions for the end.
pub struct Greedy {
    times: Times,
    limits: Vec<u32>,
    highest: Vec<u32>,
    change: Vec<i32>,
}

impl Greedy {
    /// Make the policy with a limit for each class.
    pub fn new(problem: &Problem, limits: Vec<u32>) -> Self {
        let classes = limits.len();
        Greedy { times: Times::on(problem), limits, highest: vec![0; classes], change: vec![0; classes] }
    }
}

impl Policy for Greedy {
    fn criteria(&self) -> &'static [&'static str] {
        &[
            "registers over the limit (negated)",
            "registers over the peak so far (negated)",
            "stall (negated)",
            "longest path from the start",
            "registers that it saves",
        ]
    }

    fn key(&mut self, state: &State, instr: InstrId) -> Key {
        state.delta(instr, &mut self.change);
        let mut key = [0; 5];
        for (class, &change) in self.change.iter().enumerate() {
            let now = state.pressure(ClassId::at(class));
            self.highest[class] = self.highest[class].max(now);
            let then = i64::from(now) + i64::from(change);
            key[0] -= (then - i64::from(self.limits[class])).max(0);
            key[1] -= (then - i64::from(self.highest[class])).max(0);
            key[4] -= i64::from(change);
        }
        key[2] = -i64::from(state.stall(instr));
        key[3] = i64::from(self.times.earliest[instr.index()]);
        key
    }
}

/// Schedule like LLVM's scheduler for AMD GPUs: stay within the registers of the most waves. If fewer waves
/// fit than before, keep the previous schedule.
pub fn gcn_max_occupancy(problem: &Problem) -> Schedule {
    let most = limits(problem, problem.most_waves());
    let schedule = run(problem, Direction::BottomUp, Timing::Cycles, &mut Greedy::new(problem, most), None);
    let source = Schedule::source(problem);
    match problem.measure(&schedule).occupancy < problem.measure(&source).occupancy {
        true => source,
        false => schedule,
    }
}

/// Return, for each class of the region, the registers that each of `waves` waves can have if no other class
/// of the file uses any.
pub fn limits(problem: &Problem, waves: u32) -> Vec<u32> {
    let mut limits = vec![u32::MAX; problem.region().classes().len()];
    for bound in problem.registers().files() {
        for (id, class) in &bound.classes {
            limits[id.index()] = bound.file.limit(waves).min(class.max);
        }
    }
    limits
}
