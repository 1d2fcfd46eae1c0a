//! Ant colony optimisation: many schedules, each similar to the best ones before it (paper 4, Sections II to
//! IV).
//!
//! In each iteration every ant makes a schedule (`ant`). The best ant of the iteration leaves *pheromones* on
//! its links, the pairs of instructions that follow one another (`pheromone`). The ants of the next iteration
//! prefer these links. There are two passes, as in [`twopass`](crate::twopass). [`Task::pressure`] looks for
//! an order with the pressure of the wanted waves, of any length. [`Task::length`] looks for the shortest
//! schedule within limits.
//!
//! Ants form groups of [`LANES`], the paper's wavefronts. The group, not the ant, decides whether to exploit
//! or to explore. The group also has a guide (the attraction besides pheromones) and decides whether its ants
//! may stall without need.
//!
//! # One definition, several engines
//! The schedule of an ant is a pure function, in integers, of the region, the pheromones, the seed, the
//! iteration and the ant's number. `ant` has the definition. So the result does not depend on the number of
//! threads or on the device. Among equal schedules of an iteration, the ant with the lowest number wins.

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

/// One in fixed point, for pheromones and attractions.
const ONE: u16 = 256;

/// Cycles of optional stalls that halve the score of an instruction.
const STALL_SCALE: u32 = 8;

/// The largest region with pheromones: the table of a larger one would take gigabytes.
pub const MOST_INSTRS: usize = 1 << 13;

/// The parameters of a colony. The defaults come from the experiments in `docs/colony.md`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters {
    /// The seed of the random numbers.
    pub seed: u64,
    /// Groups of ants in an iteration.
    pub groups: u32,
    /// The average number of steps of a region in which a group explores. In the other steps it exploits.
    /// (The papers' b.)
    pub explorations: u32,
    /// One group of this number may stall without need; 0 for none.
    pub stalling: u32,
    /// The part of a pheromone that is left after an iteration, in sixteenths.
    pub remains: u32,
    /// The cycles by which a schedule may exceed the best one before its ant dies, for each 64 cycles of the
    /// best one.
    pub slack: u32,
    /// The iterations without improvement that end the search: for regions below 50 instructions, below 100,
    /// and others.
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
    /// Return the threshold of exploration: a group explores in a step if 32 bits of its random number are
    /// below it.
    fn explores_below(&self, count: usize) -> u64 {
        (u64::from(self.explorations) << 32) / count as u64
    }

    /// Return the most links that can have more than the least pheromone at the same time. These are the
    /// links of all orders whose pheromones have not yet faded. `count` is the number of instructions.
    fn most_raised(&self, count: u64) -> u64 {
        let mut amount = u32::from(pheromone::MOST);
        let mut iterations = 1;
        while amount > pheromone::LEAST.into() && iterations <= count {
            let faded = amount * self.remains / 16;
            iterations = if faded < amount { iterations + 1 } else { count + 1 };
            amount = faded;
        }
        // The last term is the order being added.
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

/// The attraction of a group's ants besides pheromones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guide {
    /// The longest path of latencies to the end.
    Path,
    /// The freed weight less the opened weight: last-use count.
    Relief,
    /// Half of each.
    Both,
}

impl Guide {
    const ALL: [Guide; 3] = [Guide::Path, Guide::Relief, Guide::Both];

    /// Return the shares of path and relief in the attraction, of [`ONE`] in all.
    fn shares(self) -> (u64, u64) {
        match self {
            Guide::Path => (256, 0),
            Guide::Relief => (0, 256),
            Guide::Both => (128, 128),
        }
    }
}

/// The rules of all ants of a group in an iteration.
#[derive(Clone, Copy, Debug)]
struct Rules<'a> {
    /// Whether latencies count.
    is_timed: bool,
    stalls: bool,
    guide: Guide,
    /// The guard, if registers limit the length.
    guard: Option<&'a Guard>,
    /// The limit on the live weight.
    limit: i64,
    /// For each instruction, the last slot in which it may issue.
    deadlines: &'a [u32],
    /// The key of the group's random numbers.
    key: u64,
    /// The threshold of exploration.
    explores_below: u64,
}

impl Rules<'_> {
    /// Return whether the group explores in a step.
    #[inline]
    fn explores(&self, step: usize) -> bool {
        bits_at(self.key, step as u64) >> 32 < self.explores_below
    }

    /// Return the key of an ant's random numbers.
    fn key_of(&self, lane: u32) -> u64 {
        bits_at(self.key, u64::from(lane + 1) << 32)
    }

    /// Return the random number of an ant for a step.
    #[inline]
    fn number(&self, key: u64, step: usize) -> u64 {
        bits_at(key, step as u64)
    }
}
