//! The operands of instructions in the order of the front end.
//!
//! Pressure needs each register of an instruction once, so the table of uses is sorted and merged. Banks of a
//! register file need the position of each operand. Where sorting and merging change nothing, the table of
//! uses has these positions already. Only the other instructions have an entry here.

use super::Operand;
use crate::index::{InstrId, Rows};

/// The operands of the instructions whose uses are not sorted, or name a register twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unmerged {
    /// These instructions, by increasing index.
    instrs: Vec<InstrId>,
    /// Their operands, one row for each entry of `instrs`. Most regions have none, and need no memory for it.
    rows: Option<Rows<Operand>>,
}

impl Unmerged {
    /// Collect the operands of `count` instructions, before `uses` is sorted and merged.
    pub(super) fn of(count: usize, uses: &Rows<Operand>) -> Unmerged {
        let mut unmerged = Unmerged { instrs: Vec::new(), rows: None };
        for instr in (0..count).map(InstrId::at) {
            let row = uses.row(instr.index());
            if row.windows(2).any(|pair| pair[0].register >= pair[1].register) {
                unmerged.instrs.push(instr);
                let rows = unmerged.rows.get_or_insert_default();
                row.iter().for_each(|operand| rows.push(*operand));
                rows.end_row();
            }
        }
        unmerged
    }

    /// Return whether all uses are as the front end gave them.
    pub(super) fn is_empty(&self) -> bool {
        self.instrs.is_empty()
    }

    /// Return the operands of an instruction, if they differ from its uses.
    pub(super) fn row(&self, instr: InstrId) -> Option<&[Operand]> {
        Some(self.rows.as_ref()?.row(self.instrs.binary_search(&instr).ok()?))
    }
}
