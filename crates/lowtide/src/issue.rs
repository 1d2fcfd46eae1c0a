//! From an order to cycles: each instruction issues as early as dependences, units and issue width allow.

use crate::index::InstrId;
use crate::problem::Problem;
use crate::schedule::Schedule;

impl Schedule {
    /// Issue the instructions in this order, each as early as dependences, units and issue width allow:
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
        Schedule::from_parts(order, cycles)
    }

    /// Return the source order, with necessary stalls.
    pub fn source(problem: &Problem) -> Self {
        Schedule::in_order(problem, problem.region().instrs().collect())
    }

    /// Return the recorded order of the production compiler, with necessary stalls. Without a recorded order,
    /// return the source order.
    pub fn production(problem: &Problem) -> Self {
        match problem.region().production() {
            Some(production) => Schedule::in_order(problem, production.order.clone()),
            None => Schedule::source(problem),
        }
    }
}

/// The occupied issue slots and units of a schedule under construction, from the first cycle to the last.
#[derive(Clone, Debug)]
pub struct IssueTable<'a> {
    problem: &'a Problem<'a>,
    /// The current cycle, and the number of its instructions.
    cycle: u32,
    issued: u32,
    /// For each unit of the target, the first cycle in which each of its copies is free.
    free: Vec<Vec<u32>>,
}

impl<'a> IssueTable<'a> {
    /// Make a table with nothing reserved.
    pub fn new(problem: &'a Problem<'a>) -> Self {
        let units = &problem.target().issue().units;
        // More copies than instructions are never needed.
        let copies = |count: u32| (count as usize).min(problem.region().len());
        let free = units.iter().map(|unit| vec![0; copies(unit.count)]).collect();
        IssueTable { problem, cycle: 0, issued: 0, free }
    }

    /// Return whether the issue slots of a cycle are full.
    pub fn is_full(&self, cycle: u32) -> bool {
        cycle == self.cycle && self.issued >= self.problem.target().issue().width
    }

    /// Return the first cycle from `from` on in which the instruction finds a slot and its units. `from` must
    /// not lie before the last reserved cycle.
    pub fn earliest(&self, instr: InstrId, from: u32) -> u32 {
        let full = self.issued >= self.problem.target().issue().width;
        let mut cycle = if full { from.max(self.cycle + 1) } else { from };
        for &(unit, _) in self.problem.unit_needs(instr) {
            let copies = &self.free[unit as usize];
            cycle = copies.iter().min().map_or(cycle, |free| cycle.max(*free));
        }
        cycle
    }

    /// Take a slot and the units from `cycle` on. `cycle` must be one that [`IssueTable::earliest`] returns.
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
