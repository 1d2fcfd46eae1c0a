//! Ant colony optimisation: many schedules, each a little like the best ones before it (paper 4, Sections II to IV).
//!
//! In each iteration a number of ants make a schedule each (`ant`). The best one of the iteration leaves *pheromones* on its links, that is, on pairs of instructions that follow one another (`pheromone`), so that the
//! ants of the next iteration rather take the same ones. There are two passes, as in [`twopass`](crate::twopass): [`Task::pressure`] looks for an order with the pressure that so many waves
//! take, whatever its length; [`Task::length`] for the shortest schedule within limits.
//!
//! Ants go in groups of [`LANES`], the paper's wavefronts. Whether to exploit what is known or to explore is decided for a group, not for an ant; so are the guide (what an ant is
//! attracted by besides pheromones) and whether the group may stall without need.
//!
//! # One definition, several engines
//! What an ant does is a pure function of the region, the pheromones, the seed, the iteration and its number, in integers (`ant` has the definition). So it makes no difference how many threads, or what device,
//! the ants are spread over. Among equal schedules of an iteration the one of the ant with the lowest number wins.

mod ant;
pub mod flat;
mod guard;
#[cfg(test)]
mod naive;
mod pheromone;
mod search;
mod terrain;
#[cfg(test)]
mod tests;

pub use search::{Answer, Options, Task};

use crate::random::bits_at;
use guard::Guard;

/// Ants of a group.
pub const LANES: u32 = 32;

/// One in fixed point: of pheromones and attractions.
const ONE: u16 = 256;

/// Cycles of optional stalls that halve the score of an instruction.
const STALL_SCALE: u32 = 8;

/// Larger regions have no pheromones: the table would take gigabytes.
pub const MOST_INSTRS: usize = 1 << 13;

/// How a colony behaves. The defaults come from the experiments in `docs/colony.md`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters {
    /// Where random numbers start.
    pub seed: u64,
    /// Groups of ants in an iteration.
    pub groups: u32,
    /// How often a group explores on the way through a region, on average; else it exploits. (The papers' b.)
    pub explorations: u32,
    /// One of so many groups may stall where it need not; 0 for none.
    pub stalling: u32,
    /// Of 16 parts of a pheromone, how many are left after an iteration.
    pub remains: u32,
    /// Cycles by which a schedule may be longer than the best one without its ant dying, for each 64 cycles of that.
    pub slack: u32,
    /// The search ends after so many iterations without improvement: for regions below 50 instructions, below 100, and others.
    pub patience: [u32; 3],
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            seed: 1,
            groups: 8,
            explorations: 10,
            stalling: 4,
            remains: 13,
            slack: 2,
            patience: [10, 20, 30],
        }
    }
}

impl Parameters {
    /// A group explores in a step if 32 bits of its random number are below.
    fn explores_below(&self, count: usize) -> u64 {
        (u64::from(self.explorations) << 32) / count as u64
    }

    /// Links that can have more than the least pheromone at the same time, in a region of so many instructions: those of all orders whose pheromones have not yet faded.
    fn most_raised(&self, count: u64) -> u64 {
        let mut amount = u32::from(pheromone::MOST);
        let mut iterations = 1;
        while amount > pheromone::LEAST.into() && iterations <= count {
            let faded = amount * self.remains / 16;
            iterations = if faded < amount { iterations + 1 } else { count + 1 };
            amount = faded;
        }
        // And the one that is being added.
        count * (iterations + 1).min(count + 1)
    }

    fn patience_for(&self, count: usize) -> u32 {
        self.patience[match count {
            0..50 => 0,
            50..100 => 1,
            _ => 2,
        }]
    }
}

/// What attracts the ants of a group, besides pheromones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guide {
    /// The longest path of latencies to the end.
    Path,
    /// What it frees, less what it takes: last-use count.
    Relief,
    /// Half of each.
    Both,
}

impl Guide {
    const ALL: [Guide; 3] = [Guide::Path, Guide::Relief, Guide::Both];

    /// How much of the attraction, of [`ONE`] in all, comes from the path and from the relief.
    fn shares(self) -> (u64, u64) {
        match self {
            Guide::Path => (256, 0),
            Guide::Relief => (0, 256),
            Guide::Both => (128, 128),
        }
    }
}

/// What holds for all ants of a group in an iteration.
#[derive(Clone, Copy, Debug)]
struct Rules<'a> {
    /// Whether latencies count.
    is_timed: bool,
    stalls: bool,
    guide: Guide,
    /// What keeps its ants from dead ends.
    guard: Option<&'a Guard>,
    /// The most that may be live.
    limit: i64,
    /// For each instruction, the last slot in which it may issue.
    deadlines: &'a [u32],
    /// Where the group's random numbers start.
    key: u64,
    /// It explores if 32 bits of its random number are below.
    explores_below: u64,
}

impl Rules<'_> {
    /// Whether the group explores in a step.
    #[inline]
    fn explores(&self, step: usize) -> bool {
        bits_at(self.key, step as u64) >> 32 < self.explores_below
    }

    /// Where an ant's random numbers start.
    fn key_of(&self, lane: u32) -> u64 {
        bits_at(self.key, u64::from(lane + 1) << 32)
    }

    /// The random number of an ant for a step.
    #[inline]
    fn number(&self, key: u64, step: usize) -> u64 {
        bits_at(key, step as u64)
    }
}
