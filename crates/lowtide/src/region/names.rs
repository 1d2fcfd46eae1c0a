//! The names in a region: operations, sets of flags, registers. All lie in one text, since a region is read
//! faster with fewer allocations.

use crate::index::{Names, RegisterId};

/// The names of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegionNames {
    /// Operations, then sets of flags, then registers.
    all: Names,
    opcodes: u32,
    flag_sets: u32,
}

impl RegionNames {
    pub(super) fn new(opcodes: &Names, flag_sets: &Names, registers: &Names) -> RegionNames {
        let all = Names::concat([opcodes, flag_sets, registers]);
        RegionNames { all, opcodes: opcodes.len() as u32, flag_sets: flag_sets.len() as u32 }
    }

    pub(super) fn opcode(&self, number: u32) -> &str {
        self.all.get(number as usize)
    }

    pub(super) fn flag_set(&self, number: u32) -> &str {
        self.all.get((self.opcodes + number) as usize)
    }

    pub(super) fn register(&self, register: RegisterId) -> &str {
        self.all.get((self.opcodes + self.flag_sets) as usize + register.index())
    }

    pub(super) fn opcodes(&self) -> impl Iterator<Item = &str> {
        (0..self.opcodes).map(|number| self.opcode(number))
    }

    pub(super) fn flag_sets(&self) -> impl Iterator<Item = &str> {
        (0..self.flag_sets).map(|number| self.flag_set(number))
    }
}
