//! Proofs as data: the bounds of a region, the reason for each bound, and the moment or the rules that a
//! reason names.
//!
//! This module computes nothing. [`analysis`](crate::analysis) and the searches write these values; the
//! checker [`check::bound`](crate::check::bound) reads them.

use crate::index::InstrId;

/// The bounds that are proven for every schedule of a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// For each class, a lower bound on the peak between instructions.
    pub peaks: Vec<u32>,
    /// The reason for each of these bounds.
    pub reasons: Vec<Reason>,
    /// A lower bound on the length, for the schedules that compete under the goal.
    /// [`Goal::MinReg`](crate::problem::Goal::MinReg): all schedules.
    /// [`Goal::Length`](crate::problem::Goal::Length): those that exceed the limits on registers
    /// ([`Problem::limits`](crate::problem::Problem::limits)) in no class by more than the schedule found.
    /// [`Goal::Occupancy`](crate::problem::Goal::Occupancy): of these, the ones with at least as many waves
    /// as the kernel.
    pub length: u32,
}

/// The reason for a bound on a peak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A minimum cut: every order passes this moment, and no downset that is possible then has less pressure.
    Cut(Moment),
    /// A search by these rules has proven that no order has a lower peak.
    Search {
        /// The rules.
        rules: Rules,
        /// States that were expanded.
        nodes: u64,
    },
    /// An external constraint solver claims it.
    Solver,
}

/// A moment that occurs in every order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Moment {
    /// Before the first instruction.
    Start,
    /// Just before an instruction.
    Before(InstrId),
    /// Just after an instruction.
    After(InstrId),
    /// After the last instruction.
    End,
    /// The moment right after the last common ancestor of two instructions: before everything that depends on
    /// all of these ancestors.
    BeforeBoth(InstrId, InstrId),
    /// The moment right before the first common descendant of two instructions: after everything that all of
    /// these descendants depend on.
    AfterBoth(InstrId, InstrId),
}

/// The pruning rules of the exact search. Disabling a rule does not change the optimum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// Take an instruction that does not raise the pressure at once.
    pub free_moves: bool,
    /// Commit to a downset with the least pressure on the way.
    pub commit: bool,
    /// Split the region at a downset with the least pressure of all, and solve the parts one by one.
    pub split: bool,
    /// Remember failed states.
    pub memory: bool,
    /// Find moments that no order within the limit passes, by cuts.
    pub cuts: bool,
    /// Add the orders of pairs that follow from the limit.
    pub forced_order: bool,
    /// Of two equivalent pieces of code, let one go ahead.
    pub superiority: bool,
    /// Search for an order of the critical instructions alone: if there is none, there is none of all.
    pub skeletons: bool,
}

impl Rules {
    /// All rules.
    pub const ALL: Rules = Rules {
        free_moves: true,
        commit: true,
        split: true,
        memory: true,
        cuts: true,
        forced_order: true,
        superiority: true,
        skeletons: true,
    };

    /// Return the names of the enabled rules.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("free-moves", self.free_moves),
            ("commit", self.commit),
            ("split", self.split),
            ("memory", self.memory),
            ("cuts", self.cuts),
            ("forced-order", self.forced_order),
            ("superiority", self.superiority),
            ("skeletons", self.skeletons),
        ];
        all.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name)
    }
}
