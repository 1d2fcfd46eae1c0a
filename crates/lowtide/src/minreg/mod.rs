//! Exact minimum-register scheduling: the fewest registers possible, with a proof.
//!
//! Paper 1 (Section III) uses a constraint solver and needs hours for a hundred instructions. Here a search
//! over downsets answers the question "is there an order with a peak of at most K?". Downsets are the sets of
//! instructions that can have been scheduled at some moment. Their pressure is a submodular function, which
//! gives strong pruning rules. Each rule is proven where it is applied, and can be disabled ([`Rules`]).
//!
//! | file | content |
//! |---|---|
//! | [`exact`] | the lowest peak of a class |
//! | `decide`, `options` | an order within limits on all classes, and what each search is given |
//! | `solver` | the region in parts, and the questions to each part |
//! | `part` | a part of a region as a region of its own |
//! | `superiority`, `forced_order` | dependences that can be added: without loss, or because of the limit |
//! | `race` | two searches of a part, from both ends of time |
//! | `rounds`, `crew` | many searches of a part that share their failed states, and their threads |
//! | `search` | the search itself: states, free moves, commit, memory, cuts |
//! | `skeletons` | bounds from orders of the critical instructions alone, and orders of the region from these |
//! | `valleys` | an order through downsets of low pressure |
//! | `windows` | orders with a lower peak, by searches of stretches of the best order |
//! | `local_min`, `memory` | minima between two states, and the states that have failed |

mod crew;
mod decide;
pub mod exact;
pub(crate) mod forced_order;
mod local_min;
#[cfg(test)]
#[path = "../../tests/made/mod.rs"]
pub(crate) mod made;
mod memory;
mod options;
pub(crate) mod part;
mod race;
mod rounds;
mod search;
pub(crate) mod skeletons;
mod solver;
pub(crate) mod superiority;
pub(crate) mod valleys;
mod windows;
mod witnesses;

pub use crate::proof::Rules;
