//! Transitive closure of the dependence graph, as a bit matrix in both directions.

use crate::bits::{BitMatrix, Bits};
use crate::index::InstrId;
use crate::region::Region;

/// All ancestors and descendants of every instruction: 2 n² bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Closure {
    ancestors: BitMatrix,
    descendants: BitMatrix,
}

impl Closure {
    /// Compute both directions, in the time of one union of two sets for each edge.
    pub fn new(region: &Region) -> Self {
        let mut ancestors = BitMatrix::new(region.len(), region.len());
        for instr in region.instrs() {
            for edge in region.preds(instr) {
                ancestors.unite_rows(instr, edge.instr);
                ancestors.insert(instr, edge.instr);
            }
        }
        let mut descendants = BitMatrix::new(region.len(), region.len());
        for instr in region.instrs().rev() {
            for edge in region.succs(instr) {
                descendants.unite_rows(instr, edge.instr);
                descendants.insert(instr, edge.instr);
            }
        }
        Closure { ancestors, descendants }
    }

    /// Add that `first` must come before `second`, with its consequences. The two must be independent.
    pub(crate) fn add(&mut self, first: InstrId, second: InstrId) {
        let mut before = self.ancestors.to_set(first);
        before.insert(first);
        let mut after = self.descendants.to_set(second);
        after.insert(second);
        after.instrs().for_each(|instr| self.ancestors.unite(instr, &before));
        before.instrs().for_each(|instr| self.descendants.unite(instr, &after));
    }

    /// Keep only those dependences that do not follow from others by way of a third instruction. All of them
    /// must be in the closure.
    pub(crate) fn reduce(&self, pairs: &mut Vec<(InstrId, InstrId)>) {
        pairs.retain(|&(first, second)| self.descendants(first).is_disjoint(self.ancestors(second)));
    }

    /// Return the number of words of a set.
    pub fn words(&self) -> usize {
        self.ancestors.width()
    }

    /// Return all instructions that must come before `instr`.
    pub fn ancestors(&self, instr: InstrId) -> Bits<'_> {
        self.ancestors.row(instr)
    }

    /// Return all instructions that must come after `instr`.
    pub fn descendants(&self, instr: InstrId) -> Bits<'_> {
        self.descendants.row(instr)
    }

    /// Return whether `first` must come before `second`.
    pub fn reaches(&self, first: InstrId, second: InstrId) -> bool {
        self.descendants(first).contains(second)
    }

    /// Return whether either order of the two is possible.
    pub fn independent(&self, one: InstrId, other: InstrId) -> bool {
        one != other && !self.reaches(one, other) && !self.reaches(other, one)
    }
}
