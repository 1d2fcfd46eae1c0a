//! Proofs as data: the bounds of a region, the reason for each bound, and the moment or the rules that a reason names.
//!
//! Nothing here computes anything. [`analysis`](crate::analysis) and the searches write these values; the checker of [`check::bound`](crate::check::bound) reads them.

use crate::index::InstrId;

/// What is proven about every schedule of a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// No schedule has a lower peak (between instructions) of the class.
    pub peaks: Vec<u32>,
    /// Why, for each class.
    pub reasons: Vec<Reason>,
    /// No schedule is shorter of all that count. For [`Goal::Occupancy`](crate::problem::Goal::Occupancy) and [`Goal::Length`](crate::problem::Goal::Length) those within the limits
    /// on registers ([`Problem::limits`]), or beyond them in no class by more than the schedule that was found; for the former only those with at least as many waves as the
    /// kernel. Else all.
    pub length: u32,
}

/// How a bound on a peak is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Every order passes this moment, and no downset that is possible then has less pressure: a minimum cut says so.
    Cut(Moment),
    /// A search by these rules has found that no order stays below.
    Search {
        /// The rules.
        rules: Rules,
        /// States that were expanded.
        nodes: u64,
    },
    /// An external constraint solver says so.
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
    /// After all that comes before both of two instructions, and before all that comes after all of that.
    BeforeBoth(InstrId, InstrId),
    /// Before all that comes after both of two instructions, and after all that comes before all of that.
    AfterBoth(InstrId, InstrId),
}

/// The pruning rules of the exact search. Each can be switched off; the optimum stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// Take what does not raise the pressure at once.
    pub free_moves: bool,
    /// Keep to a downset with the least pressure on the way.
    pub commit: bool,
    /// Solve the parts before and after a downset with the least pressure of all one by one.
    pub split: bool,
    /// Remember what has failed.
    pub memory: bool,
    /// Look for moments that cannot be passed, by cuts.
    pub cuts: bool,
    /// Add the orders of pairs that follow from the limit.
    pub forced_order: bool,
    /// Of pieces of code that do the same, let one go ahead.
    pub superiority: bool,
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
    };

    /// The names of the rules that are on.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("free-moves", self.free_moves),
            ("commit", self.commit),
            ("split", self.split),
            ("memory", self.memory),
            ("cuts", self.cuts),
            ("forced-order", self.forced_order),
            ("superiority", self.superiority),
        ];
        all.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name)
    }
}
