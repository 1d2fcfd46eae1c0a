//! What comes out: a [`Schedule`], an [`Outcome`] with its proof, and the independent [`check`]er.

pub mod check;
pub mod check_bound;
pub mod progress;

use std::time::{Duration, Instant};

use crate::analysis::flow::Effort;
use crate::analysis::pressure_bound::Moment;
use crate::index::InstrId;
use crate::minreg::Rules;
use crate::problem::{Measure, Problem};

/// An order of the instructions and the cycle in which each one issues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    order: Vec<InstrId>,
    cycles: Vec<u32>,
}

impl Schedule {
    /// A schedule from its parts: the order, and the cycle of each instruction (by instruction, not by
    /// position). Nothing is checked; [`check::check`] tells whether it is legal.
    pub fn new(order: Vec<InstrId>, cycles: Vec<u32>) -> Self {
        Schedule { order, cycles }
    }

    /// Issues the instructions in this order, each as early as dependences, units and issue width allow:
    /// the order with necessary stalls. `order` must be a permutation that respects the dependences.
    pub fn in_order(problem: &Problem, order: Vec<InstrId>) -> Self {
        let region = problem.region();
        let mut issue = IssueTable::new(problem);
        let mut cycles = vec![0; region.len()];
        let mut now = 0;
        for &instr in &order {
            let ready = region.preds(instr).iter().map(|edge| cycles[edge.instr.index()] + edge.latency);
            now = issue.earliest(instr, ready.fold(now, u32::max));
            issue.reserve(instr, now);
            cycles[instr.index()] = now;
        }
        Schedule { order, cycles }
    }

    /// The source order, with necessary stalls.
    pub fn source(problem: &Problem) -> Self {
        Schedule::in_order(problem, problem.region().instrs().collect())
    }

    /// The instructions in the order of issue.
    pub fn order(&self) -> &[InstrId] {
        &self.order
    }

    /// The cycle of each instruction, by instruction.
    pub fn cycles(&self) -> &[u32] {
        &self.cycles
    }

    /// Cycle of the last issue, plus one.
    pub fn length(&self) -> u32 {
        self.cycles.iter().max().map_or(0, |last| last.saturating_add(1))
    }
}

/// Which issue slots and units are taken, for building a schedule from the first cycle to the last.
#[derive(Clone, Debug)]
pub struct IssueTable<'a> {
    problem: &'a Problem<'a>,
    /// The cycle being filled, and how many instructions it has.
    cycle: u32,
    issued: u32,
    /// For each unit of the target, the first cycle in which each of its copies is free.
    free: Vec<Vec<u32>>,
}

impl<'a> IssueTable<'a> {
    /// A table with nothing reserved.
    pub fn new(problem: &'a Problem<'a>) -> Self {
        let units = &problem.target().issue().units;
        // More copies than instructions are never needed, however many the target claims.
        let copies = |count: u32| (count as usize).min(problem.region().len());
        let free = units.iter().map(|unit| vec![0; copies(unit.count)]).collect();
        IssueTable { problem, cycle: 0, issued: 0, free }
    }

    /// Whether no further instruction can issue in a cycle, whatever units it needs.
    pub fn is_full(&self, cycle: u32) -> bool {
        cycle == self.cycle && self.issued >= self.problem.target().issue().width
    }

    /// The first cycle from `from` on in which the instruction finds a slot and its units. `from` must not
    /// lie before the last reserved cycle.
    pub fn earliest(&self, instr: InstrId, from: u32) -> u32 {
        let full = self.issued >= self.problem.target().issue().width;
        let mut cycle = if full { from.max(self.cycle + 1) } else { from };
        for &(unit, _) in self.problem.unit_needs(instr) {
            let copies = &self.free[unit as usize];
            cycle = copies.iter().min().map_or(cycle, |free| cycle.max(*free));
        }
        cycle
    }

    /// Takes a slot and the units from `cycle` on; `cycle` is what [`IssueTable::earliest`] allows.
    pub fn reserve(&mut self, instr: InstrId, cycle: u32) {
        if cycle > self.cycle {
            self.cycle = cycle;
            self.issued = 0;
        }
        self.issued += 1;
        for &(unit, busy) in self.problem.unit_needs(instr) {
            if let Some(copy) = self.free[unit as usize].iter_mut().min() {
                *copy = cycle + busy;
            }
        }
    }
}

/// How much effort a search may spend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Wall time for each instruction of the region; none for no limit.
    pub time_per_instr: Option<Duration>,
    /// Steps of the search; none for no limit. Gives the same result on every machine.
    pub nodes: Option<u64>,
    /// Threads for the search of one region. The exact search has use for up to four. The result does not
    /// depend on it, except for what the clock cuts off.
    pub threads: usize,
}

impl Budget {
    /// No limit, one thread.
    pub const UNLIMITED: Budget = Budget { time_per_instr: None, nodes: None, threads: 1 };

    /// Half of it, for one of two questions.
    pub(crate) fn half(&self) -> Budget {
        Budget {
            time_per_instr: self.time_per_instr.map(|time| time / 2),
            nodes: self.nodes.map(|nodes| nodes / 2),
            ..*self
        }
    }

    /// What it allows for a region of so many instructions, from now on.
    pub fn effort(&self, instrs: usize) -> Effort {
        let deadline = self.time_per_instr.and_then(|time| {
            let count = u32::try_from(instrs).unwrap_or(u32::MAX);
            Instant::now().checked_add(time.saturating_mul(count))
        });
        Effort { steps: self.nodes.unwrap_or(u64::MAX), deadline }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::UNLIMITED
    }
}

/// What is proven about every schedule of a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// No schedule has a lower peak (between instructions) of the class.
    pub peaks: Vec<u32>,
    /// Why, for each class.
    pub reasons: Vec<Reason>,
    /// No schedule is shorter of all that count. For [`Goal::Occupancy`](crate::problem::Goal::Occupancy) and [`Goal::Length`](crate::problem::Goal::Length) those within the limits
    /// on registers ([`Problem::limits`]), or beyond them in no class by more than the schedule that was found; for the former only those with at least as many waves as the
    /// kernel. Else all.
    pub length: u32,
}

/// How a bound on a peak is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Every order passes this moment, and no downset that is possible then has less pressure: a minimum cut says so.
    Cut(Moment),
    /// A search by these rules has found that no order stays below.
    Search {
        /// The rules.
        rules: Rules,
        /// States that were expanded.
        nodes: u64,
    },
    /// An external constraint solver says so.
    Solver,
}

/// The best schedule found, and how far it can be from the best possible one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The schedule.
    pub schedule: Schedule,
    /// What it amounts to.
    pub measure: Measure,
    /// What is proven about all others.
    pub bounds: Bounds,
    /// Whether no schedule spills less, and none has more waves that are of use.
    pub proven_waves: bool,
    /// Whether the schedule is proven to be as good as it can be: in the peak of the first class, in waves and length, or in
    /// length, by goal; for the last two also in what it needs beyond the limits on registers.
    pub optimal: bool,
}
