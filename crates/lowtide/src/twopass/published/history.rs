//! History-based domination (technique 4 of Section 5.1).
//!
//! Two nodes are similar if their partial schedules have the same instructions. The same instructions are
//! then left, and change the pressure in the same way. A visited node *dominates* a similar one if every
//! continuation of the latter is one of the former, and costs the former no more:
//! - **Registers.** The peaks of the visited node are no higher, in any class. If the aim is a limit on each
//!   class and no schedule was found below the visited node, its peaks do not matter: the rest of every
//!   schedule is over a limit, or too long.
//! - **Time.** The visited node is no later, and no waiting instruction and no unit becomes available later.

use rustc_hash::FxHashMap;

use crate::bits::BitSet;

/// The size of a table, in numbers of 32 bits, from which it does not grow.
const MOST_NUMBERS: usize = 1 << 26;

/// A node that was explored.
pub(super) struct Visit {
    /// The peaks of the partial schedule.
    pub(super) peaks: Box<[u32]>,
    /// Whether the aim is a limit on each class.
    pub(super) is_by_class: bool,
    /// Whether no schedule was found below.
    pub(super) is_dead: bool,
    /// Cycle and number of instructions issued in it.
    pub(super) position: (u32, u32),
    /// The cycles in which waiting instructions and units become available.
    pub(super) times: Box<[u32]>,
}

impl Visit {
    fn dominates(&self, other: &Visit) -> bool {
        let no_more = |one: &[u32], other: &[u32]| one.iter().zip(other).all(|(one, other)| one <= other);
        self.position <= other.position
            && no_more(&self.times, &other.times)
            && (self.is_dead && self.is_by_class && other.is_by_class || no_more(&self.peaks, &other.peaks))
    }
}

/// The explored nodes, by the set of their instructions.
#[derive(Default)]
pub(super) struct History {
    visits: FxHashMap<BitSet, Vec<Visit>>,
    numbers: usize,
}

impl History {
    pub(super) fn clear(&mut self) {
        self.visits.clear();
        self.numbers = 0;
    }

    /// Return whether no explored node dominates a node.
    pub(super) fn allows(&self, set: &BitSet, node: &Visit) -> bool {
        self.visits.get(set).is_none_or(|visits| !visits.iter().any(|visit| visit.dominates(node)))
    }

    /// Add an explored node, if there is space.
    pub(super) fn add(&mut self, set: &BitSet, node: Visit) {
        if self.numbers >= MOST_NUMBERS {
            return;
        }
        self.numbers += node.peaks.len() + node.times.len() + 16;
        match self.visits.get_mut(set) {
            Some(visits) => {
                visits.retain(|visit| !node.dominates(visit));
                visits.push(node);
            }
            None => {
                self.numbers += 2 * set.words();
                self.visits.insert(set.clone(), vec![node]);
            }
        }
    }
}
