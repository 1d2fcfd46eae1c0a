//! Instructions whose names have numbers already.
//!
//! A columnar file stores each name once and refers to it by number. Its reader asks the builder once for
//! each name of a region, instead of once for each instruction.

use super::super::Instr;
use super::RegionBuilder;
use crate::index::InstrId;

/// The number of an opcode, a set of flags or a set of units, until the next [`RegionBuilder::restart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameNumber(u32);

/// An instruction to add to a [`RegionBuilder`], like [`InstrSpec`](super::InstrSpec), with numbers for its
/// names.
#[derive(Clone, Copy, Debug)]
pub struct NumberedInstr {
    /// From [`RegionBuilder::number_opcode`].
    pub opcode: NameNumber,
    /// Cycles until its results can be used.
    pub latency: u32,
    /// From [`RegionBuilder::number_units`].
    pub units: NameNumber,
    /// From [`RegionBuilder::number_flags`].
    pub flags: NameNumber,
    /// Micro-operations.
    pub micro_ops: u32,
    /// Address space of the memory accessed, -1 for none.
    pub address_space: i32,
}

impl RegionBuilder {
    /// Return the number of an opcode.
    pub fn number_opcode(&mut self, opcode: &str) -> NameNumber {
        NameNumber(self.opcodes.intern(opcode))
    }

    /// Return the number of a set of flags.
    pub fn number_flags(&mut self, flags: &str) -> NameNumber {
        NameNumber(self.flag_sets.intern(flags))
    }

    /// Return the number of a set of units with their busy cycles.
    pub fn number_units(&mut self, units: &[(&str, u32)]) -> NameNumber {
        NameNumber(self.unit_set_number(units))
    }

    /// Add an instruction at the end of the source order.
    ///
    /// # Panics
    /// If a number is not from this builder since its last [`RegionBuilder::restart`].
    pub fn numbered_instr(&mut self, instr: NumberedInstr) -> InstrId {
        let NumberedInstr { opcode, latency, units, flags, micro_ops, address_space } = instr;
        let known = (opcode.0 as usize) < self.opcodes.names.len()
            && (flags.0 as usize) < self.flag_sets.names.len()
            && (units.0 as usize) < self.unit_sets.len();
        assert!(known, "a number of a name is from another region");
        let (opcode, units, flags) = (opcode.0, units.0, flags.0);
        self.push_instr(Instr { opcode, units, flags, latency, micro_ops, address_space })
    }
}
