//! The errors of a region, with messages for the user.

use thiserror::Error;

use super::{Lanes, limits};

/// An error of a region, with a message for the user. Instructions are named `#position OPERATION`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RegionError {
    /// No instruction.
    #[error("the region has no instructions")]
    Empty,
    /// More of something than the limits allow.
    #[error("too many {what}: {count}, at most {limit} are supported")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A name longer than the limits allow.
    #[error("a name of {length} bytes ({start}...) is too long: at most {} are supported", limits::NAME)]
    NameTooLong {
        /// Its length.
        length: usize,
        /// Its first characters.
        start: String,
    },
    /// An instruction that does not exist.
    #[error("{place} names instruction #{instr}, but there are only {count} (#0 to #{})", count - 1)]
    UnknownInstr {
        /// What refers to it.
        place: String,
        /// Its number.
        instr: u32,
        /// How many there are.
        count: usize,
    },
    /// A register that does not exist.
    #[error("{place} names register number {register}, but there are only {count}")]
    UnknownRegister {
        /// What refers to it.
        place: String,
        /// Its number.
        register: u32,
        /// How many there are.
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
    /// A unit that an instruction asks for twice: one need can say for how long.
    #[error("{instr} names unit {unit:?} twice")]
    DuplicateUnit {
        /// The instruction.
        instr: String,
        /// The unit.
        unit: String,
    },
    /// A lane that a register does not have, or no lane at all.
    #[error("{place} names lanes {lanes:#x} of register {register}, which has {count} lanes")]
    BadLanes {
        /// What refers to them.
        place: String,
        /// The register's name.
        register: String,
        /// The lanes named.
        lanes: Lanes,
        /// The lanes it has.
        count: u32,
    },
    /// One instruction, or the live-in list, defines the same lane twice.
    #[error("duplicate definition: {place} defines lanes {lanes:#x} of register {register} twice")]
    DuplicateDefinition {
        /// Where.
        place: String,
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// A use of something that is not defined.
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
        /// The instructions along it; the first is repeated at the end.
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
    /// A hazard that no dependence covers, so that the values would depend on the order.
    #[error(
        "{later} {does} register {register} after {earlier} {did} it, but no dependence keeps them in order"
    )]
    Unordered {
        /// The instruction that comes first in source order.
        earlier: String,
        /// The other one.
        later: String,
        /// The register's name.
        register: String,
        /// What the later instruction does with it.
        does: &'static str,
        /// What the earlier instruction does with it.
        did: &'static str,
    },
    /// Sums would not fit.
    #[error("the {what} of the region add up to {sum}, which is over the supported {}", limits::TOTAL)]
    Overflow {
        /// Of what.
        what: &'static str,
        /// How much.
        sum: u64,
    },
    /// A recorded order that is not a permutation.
    #[error("the recorded order of {by} is not a permutation of the {count} instructions: {problem}")]
    BadOrder {
        /// Whose order.
        by: String,
        /// How many instructions there are.
        count: usize,
        /// What is wrong.
        problem: String,
    },
    /// A recorded order that breaks a dependence.
    #[error("the recorded order of {by} is illegal: it puts {to} before {from}, on which it depends")]
    IllegalOrder {
        /// Whose order.
        by: String,
        /// The instruction that must come first.
        from: String,
        /// The instruction that must follow.
        to: String,
    },
    /// Peaks for more or fewer classes than the region has.
    #[error("recorded peaks are given for {given} classes, but the region has {count}")]
    BadPeaks {
        /// How many are given.
        given: usize,
        /// How many there are.
        count: usize,
    },
}
