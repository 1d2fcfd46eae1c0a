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

/// One in the fixed point of [`Parameters::remains`].
pub const WHOLE: u32 = 10_000;

/// The parameters of a colony. The defaults come from the experiments in `docs/colony.md`.
/// [`Parameters::PAPER`] has those of paper 4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters {
    /// The seed of the random numbers.
    pub seed: u64,
    /// Groups of ants in an iteration.
    pub groups: u32,
    /// The average number of steps of a region in which a group explores. In the other steps it exploits.
    /// (The papers' b.)
    pub explorations: u32,
    /// The share of groups that may stall without need, in percent.
    pub stall_share: u32,
    /// The part of a pheromone that is left after an iteration, of [`WHOLE`]. (The paper's decay factor.)
    pub remains: u32,
    /// The cycles by which a schedule may exceed the best one before its ant dies, for each 64 cycles of the
    /// best one.
    pub slack: u32,
    /// The iterations without improvement that end the search: for regions below 50 instructions, below 100,
    /// and others.
    pub patience: [u32; 3],
    /// Whether most groups have a guard against dead ends. Without one, an ant dies where nothing fits.
    pub guards: bool,
    /// The orders that the passes start from.
    pub start: Start,
    /// The instructions of its list that an ant looks at.
    pub lists: Lists,
}

/// The orders that the passes of a colony start from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// Pass 1: the best of the source, production and `few-registers` orders. Pass 2: the shortest of these,
    /// of pass 1 and of the guarded lists.
    Best,
    /// Pass 1: the recorded production order, or the source order without a record. Pass 2: the order of pass
    /// 1, with stalls (paper 4, Section IV-C).
    Production,
}

/// The instructions of its list that an ant looks at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lists {
    /// All of them.
    Whole,
    /// As many as the shortest list of the group has (paper 4, Section V-B).
    Shortest,
    /// As many as the middle between the shortest and the longest list of the group (paper 4, Section V-B).
    Middle,
}

impl Lists {
    /// Return the number of instructions to look at, for the lengths of all lists of a group.
    fn reach(self, lengths: impl Iterator<Item = usize> + Clone) -> usize {
        let shortest = lengths.clone().min().unwrap_or(0);
        match self {
            Lists::Whole => usize::MAX,
            Lists::Shortest => shortest,
            Lists::Middle => shortest.midpoint(lengths.max().unwrap_or(0)),
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            seed: 1,
            groups: 8,
            explorations: 10,
            stall_share: 25,
            remains: 8125,
            slack: 2,
            patience: [10, 20, 30],
            guards: true,
            start: Start::Best,
            lists: Lists::Whole,
        }
    }
}

impl Parameters {
    /// The published configuration (paper 4, Sections IV-A and VI-A). There are 11,520 ants, in groups of
    /// [`LANES`] instead of 64. Ants die only where nothing fits, or at twice the best length.
    pub const PAPER: Parameters = Parameters {
        seed: 1,
        groups: 11_520 / LANES,
        explorations: 10,
        stall_share: 25,
        remains: WHOLE / 10 * 8,
        slack: 64,
        patience: [1, 2, 3],
        guards: false,
        start: Start::Production,
        lists: Lists::Whole,
    };

    /// Return whether the passes start from the production order alone.
    pub(crate) fn starts_from_production(&self) -> bool {
        self.start == Start::Production
    }

    /// Return whether a group may stall without need. The groups that may are spread evenly.
    fn stalls(&self, group: u32) -> bool {
        let stalling_before = |group: u32| group * self.stall_share / 100;
        stalling_before(group + 1) > stalling_before(group)
    }

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
            let faded = amount * self.remains / WHOLE;
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
    lists: Lists,
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
