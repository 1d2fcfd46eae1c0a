//! Exact minimum-register scheduling: the fewest registers possible, with a proof.
//!
//! Paper 1 (Section III) asks a constraint solver and needs hours for a hundred instructions. Here the
//! question "is there an order with a peak of at most K?" is answered by a search over downsets, the sets of
//! instructions that can have been scheduled at some moment. Their pressure is a submodular function, which
//! gives strong rules; each is proven where it is applied, and can be switched off ([`Rules`]).
//!
//! | file | what it does | |---|---| | [`exact`] | what can be asked: the lowest peak of a class, or an order
//! within limits for all | | `solver` | the region in parts, and the questions that the parts are asked | |
//! `part` | a part of a region as a region of its own | | `superiority`, `forced_order` | dependences that
//! can be added: without loss, or because of the limit | | `race` | two searches of a part, from both ends of
//! time | | `search` | the search itself: states, free moves, commit, memory, cuts | | `local_min`, `memory`
//! | what the search needs at every state |

pub mod exact;
pub(crate) mod forced_order;
mod local_min;
#[cfg(test)]
#[path = "../../tests/made/mod.rs"]
pub(crate) mod made;
mod memory;
pub(crate) mod part;
mod race;
mod search;
mod solver;
pub(crate) mod superiority;

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
