//! The errors of a region, with messages for the user.

use thiserror::Error;

use super::{Lanes, limits};

/// An error of a region, with a message for the user. Instructions are named `#position OPERATION`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RegionError {
    /// The region has no instruction.
    #[error("the region has no instructions")]
    Empty,
    /// A count exceeds its limit.
    #[error("too many {what}: {count}, at most {limit} are supported")]
    TooMany {
        /// The counted items.
        what: &'static str,
        /// The count.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A name is longer than the limit.
    #[error("a name of {length} bytes ({start}...) is too long: at most {} are supported", limits::NAME)]
    NameTooLong {
        /// Its length.
        length: usize,
        /// Its first characters.
        start: String,
    },
    /// A reference to an instruction that does not exist.
    #[error("{place} names instruction #{instr}, but there are only {count} (#0 to #{})", count - 1)]
    UnknownInstr {
        /// The place of the reference.
        place: String,
        /// Its number.
        instr: u32,
        /// The number of instructions.
        count: usize,
    },
    /// A reference to a register that does not exist.
    #[error("{place} names register number {register}, but there are only {count}")]
    UnknownRegister {
        /// The place of the reference.
        place: String,
        /// Its number.
        register: u32,
        /// The number of registers.
        count: usize,
    },
    /// A register without lanes, with too many, or without a weight.
    #[error(
        "register {register} has {lanes} lanes of weight {weight}: 1 to {} lanes of weight 1 or more are supported",
        limits::LANES
    )]
    BadRegister {
        /// Its name.
        register: String,
        /// Its lanes.
        lanes: u32,
        /// The weight of each.
        weight: u32,
    },
    /// An instruction needs a unit twice: one need must state all the cycles.
    #[error("{instr} names unit {unit:?} twice")]
    DuplicateUnit {
        /// The instruction.
        instr: String,
        /// The unit.
        unit: String,
    },
    /// A reference to a lane that a register does not have, or to no lane at all.
    #[error("{place} names lanes {lanes:#x} of register {register}, which has {count} lanes")]
    BadLanes {
        /// The place of the reference.
        place: String,
        /// The register's name.
        register: String,
        /// The referenced lanes.
        lanes: Lanes,
        /// The number of lanes that the register has.
        count: u32,
    },
    /// One instruction, or the live-in list, defines the same lane twice.
    #[error("duplicate definition: {place} defines lanes {lanes:#x} of register {register} twice")]
    DuplicateDefinition {
        /// The instruction, or the live-in list.
        place: String,
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// A use of lanes that are not defined.
    #[error(
        "{instr} uses lanes {lanes:#x} of register {register}, which no earlier instruction defines and \
         which are not live-in"
    )]
    UndefinedUse {
        /// The instruction.
        instr: String,
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// A live-out that is not defined.
    #[error(
        "lanes {lanes:#x} of register {register} are live-out, but no instruction defines them and they are \
         not live-in"
    )]
    UndefinedLiveOut {
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// The dependences contain a cycle.
    #[error("the dependences form a cycle: {}", .0.join(" -> "))]
    Cycle(
        /// The instructions along the cycle. The first one is repeated at the end.
        Vec<String>,
    ),
    /// A dependence against the source order, which must be legal.
    #[error("dependence {from} -> {to} goes backwards: instructions must be listed in a legal order")]
    Backwards {
        /// The instruction that must come first.
        from: String,
        /// The instruction that must follow.
        to: String,
    },
    /// A hazard that no dependence covers: the values would depend on the order.
    #[error(
        "{later} {does} register {register} after {earlier} {did} it, but no dependence keeps them in order"
    )]
    Unordered {
        /// The instruction that comes first in source order.
        earlier: String,
        /// The later instruction.
        later: String,
        /// The register's name.
        register: String,
        /// The access of the later instruction.
        does: &'static str,
        /// The access of the earlier instruction.
        did: &'static str,
    },
    /// A sum does not fit into 32 bits.
    #[error("the {what} of the region add up to {sum}, which is over the supported {}", limits::TOTAL)]
    Overflow {
        /// The summed quantity.
        what: &'static str,
        /// The sum.
        sum: u64,
    },
    /// A recorded order that is not a permutation.
    #[error("the recorded order of {by} is not a permutation of the {count} instructions: {problem}")]
    BadOrder {
        /// The scheduler of the order.
        by: String,
        /// The number of instructions.
        count: usize,
        /// The reason.
        problem: String,
    },
    /// A recorded order that breaks a dependence.
    #[error("the recorded order of {by} is illegal: it puts {to} before {from}, on which it depends")]
    IllegalOrder {
        /// The scheduler of the order.
        by: String,
        /// The instruction that must come first.
        from: String,
        /// The instruction that must follow.
        to: String,
    },
    /// Peaks for more or fewer classes than the region has.
    #[error("recorded peaks are given for {given} classes, but the region has {count}")]
    BadPeaks {
        /// The number of classes with peaks.
        given: usize,
        /// The number of classes of the region.
        count: usize,
    },
}
