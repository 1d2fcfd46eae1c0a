//! The integer program of section 2.1, equations 1 to 11: x(i,c) is 1 if operation i issues in cycle c.

use lowtide::InstrId;
use lowtide::pack::bound::Ranges;
use lowtide::pack::{Kind, PackProblem, Packing, Placed, Units};

use super::Form;
use super::program::{Column, Program};

/// A program, and the columns of its solution.
pub(super) struct WholeProgram {
    pub(super) program: Program,
    /// For each operation, its first cycle, and the bit of that cycle and of the following ones.
    bits: Vec<(u32, Vec<Column>)>,
}

impl WholeProgram {
    /// Build the program for packings of at most `length` cycles. Return `None` if an operation has no cycle
    /// left.
    pub(super) fn new(problem: &PackProblem, ranges: &Ranges, length: u32, form: Form) -> Option<Self> {
        let mut program = Program::default();
        // (2), for the cycles of (10) and (11)
        let mut bits = Vec::with_capacity(problem.len());
        for (first, last) in ranges.cycles(length) {
            let last = last.filter(|last| *last >= first)?;
            bits.push((first, (first..=last).map(|_| program.bit()).collect::<Vec<_>>()));
        }
        let mut whole = WholeProgram { program, bits };
        // (1) and (4)
        let end = match form {
            Form::Decision => None,
            Form::Paper | Form::Minimising => {
                let least = f64::from(ranges.length.min(length));
                Some(whole.program.column(least, length.into(), 1.0, true))
            }
        };
        for at in 0..problem.len() {
            // (3)
            let bits: Vec<(f64, Column)> = whole.bits[at].1.iter().map(|bit| (1.0, *bit)).collect();
            whole.program.equal(&bits, 1.0);
            if let Some(end) = end {
                let mut sum = whole.time(at, 1.0);
                sum.push((-1.0, end));
                whole.program.at_most(&sum, -1.0);
            }
            for edge in problem.succs(InstrId::at(at)) {
                whole.add_latency(at, edge.instr.index(), edge.latency, form);
            }
        }
        for cycle in 0..length {
            whole.add_units(problem, cycle);
        }
        whole.add_conflicts(problem);
        Some(whole)
    }

    fn bit(&self, at: usize, cycle: u32) -> Option<Column> {
        let (first, bits) = &self.bits[at];
        bits.get(cycle.checked_sub(*first)? as usize).copied()
    }

    /// Return the cycle of an operation, times a factor.
    fn time(&self, at: usize, factor: f64) -> Vec<(f64, Column)> {
        let (first, bits) = &self.bits[at];
        (*first..).zip(bits).map(|(cycle, bit)| (factor * f64::from(cycle), *bit)).collect()
    }

    /// (5). [`Form::Decision`] has it cycle by cycle, which leaves less room for fractions: `to` by cycle c +
    /// latency - 1 implies `from` by c - 1.
    fn add_latency(&mut self, from: usize, to: usize, latency: u32, form: Form) {
        if form != Form::Decision {
            let mut sum = self.time(from, 1.0);
            sum.extend(self.time(to, -1.0));
            self.program.at_most(&sum, -f64::from(latency));
            return;
        }
        let (first, bits) = &self.bits[from];
        for cycle in *first..*first + bits.len() as u32 {
            let late = (cycle..*first + bits.len() as u32).filter_map(|cycle| self.bit(from, cycle));
            let start = self.bits[to].0;
            let early = (start..cycle + latency).filter_map(|cycle| self.bit(to, cycle));
            let sum: Vec<(f64, Column)> = late.chain(early).map(|bit| (1.0, bit)).collect();
            let has_early = start < cycle + latency;
            if has_early {
                self.program.at_most(&sum, 1.0);
            }
        }
    }

    /// (6) to (8)
    fn add_units(&mut self, problem: &PackProblem, cycle: u32) {
        let (mut first, mut second, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (at, operation) in problem.operations().iter().enumerate() {
            let Some(bit) = self.bit(at, cycle) else { continue };
            match operation.kind {
                Kind::None => {}
                Kind::First => first.push((1.0, bit)),
                Kind::Second => second.push((1.0, bit)),
                Kind::Either => all.push((1.0, bit)),
                Kind::Both => all.push((2.0, bit)),
            }
        }
        all.extend(first.iter().chain(&second));
        for (sum, most) in [(first, 1.0), (second, 1.0), (all, 2.0)] {
            if sum.len() > 1 {
                self.program.at_most(&sum, most);
            }
        }
    }

    /// (9)
    fn add_conflicts(&mut self, problem: &PackProblem) {
        for a in 0..problem.len() {
            for b in (0..a).filter(|b| problem.conflict(InstrId::at(a), 0, InstrId::at(*b), 0)) {
                let (first, bits) = &self.bits[a];
                for cycle in *first..*first + bits.len() as u32 {
                    if let (Some(x), Some(y)) = (self.bit(a, cycle), self.bit(b, cycle)) {
                        self.program.at_most(&[(1.0, x), (1.0, y)], 1.0);
                    }
                }
            }
        }
    }

    /// Return the packing in a solution.
    pub(super) fn packing(&self, problem: &PackProblem, solution: &[f64]) -> Packing {
        let mut by_cycle: Vec<(u32, InstrId, Kind)> = Vec::new();
        for (at, (first, bits)) in self.bits.iter().enumerate() {
            let set = (*first..).zip(bits).filter(|(_, bit)| bit.is_set(solution));
            by_cycle.extend(set.map(|(cycle, _)| (cycle, InstrId::at(at), problem.operations()[at].kind)));
        }
        by_cycle.sort_unstable_by_key(|(cycle, instr, _)| (*cycle, *instr));
        let mut placed = Vec::with_capacity(by_cycle.len());
        for now in by_cycle.chunk_by(|a, b| a.0 == b.0) {
            let mut first_is_free = now.iter().all(|(_, _, kind)| *kind != Kind::First);
            for &(cycle, instr, kind) in now {
                let units = match kind {
                    Kind::Either if first_is_free => {
                        first_is_free = false;
                        Units::FIRST
                    }
                    Kind::Either => Units::SECOND,
                    other => other.places()[0],
                };
                placed.push(Placed { cycle, instr, format: 0, part: 0, units });
            }
        }
        Packing::new(placed)
    }
}
