//! A [`Schedule`]: an order of the instructions, and the cycle in which each of them issues.

use crate::index::InstrId;

/// An order of the instructions and the cycle in which each one issues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    order: Vec<InstrId>,
    cycles: Vec<u32>,
}

impl Schedule {
    /// Make a schedule from the order and the cycle of each instruction, indexed by instruction and not by
    /// position. Nothing is checked here: [`Schedule::new`] also runs the checker.
    pub fn from_parts(order: Vec<InstrId>, cycles: Vec<u32>) -> Self {
        Schedule { order, cycles }
    }

    /// Return the instructions in the order of issue.
    pub fn order(&self) -> &[InstrId] {
        &self.order
    }

    /// Return the cycle of each instruction, by instruction.
    pub fn cycles(&self) -> &[u32] {
        &self.cycles
    }

    /// Return the cycle of the last issue, plus one.
    pub fn length(&self) -> u32 {
        self.cycles.iter().max().map_or(0, |last| last.saturating_add(1))
    }
}
