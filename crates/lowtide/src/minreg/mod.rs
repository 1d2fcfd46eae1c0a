//! Exact minimum-register scheduling.

pub mod exact;
mod forced_order;
#[cfg(test)]
#[path = "../../tests/made/mod.rs"]
mod made;
mod memory;
mod part;
mod search;
mod superiority;

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
