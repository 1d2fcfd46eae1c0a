//! Brute force: the definitions of pressure and its bound, over all downsets of small regions.

use super::closure::Closure;
use crate::generate::{Shape, region, register_program};
use crate::index::{ClassId, ValueId};
use crate::region::Region;

/// Generated regions with at most 12 instructions: `count` of each kind.
pub(crate) fn small_regions(count: u64) -> impl Iterator<Item = Region> {
    (0..count)
        .flat_map(|seed| {
            let size = 1 + seed as usize % 12;
            let shaped = Shape::ALL.into_iter().map(move |shape| region(shape, size, seed));
            shaped.chain([register_program(size, seed)])
        })
        .filter(|region| region.len() <= 12)
}

/// All downsets of a region, as bit masks by increasing number: subsets come first.
pub(crate) struct Small<'a> {
    region: &'a Region,
    class: ClassId,
    pub(crate) downsets: Vec<u32>,
}

impl<'a> Small<'a> {
    pub(crate) fn new(region: &'a Region, class: ClassId) -> Self {
        let closed = |set: &u32| {
            region.deps().iter().all(|dep| set >> dep.to.0 & 1 == 0 || set >> dep.from.0 & 1 == 1)
        };
        let downsets = (0..1 << region.len()).filter(closed).collect();
        Small { region, class, downsets }
    }

    pub(crate) fn pressure(&self, set: u32) -> u32 {
        self.live_in_both(set, set)
    }

    /// Return the weight that is live after both of two downsets.
    pub(crate) fn live_in_both(&self, one: u32, other: u32) -> u32 {
        let values = self.region.values().iter().enumerate();
        let live = values.filter(|(position, value)| {
            let uses = self.region.value_uses(ValueId::at(*position));
            [one, other].into_iter().all(|set| {
                value.class == self.class
                    && value.def.is_none_or(|def| set >> def.0 & 1 == 1)
                    && (value.live_out || uses.iter().any(|instr| set >> instr.0 & 1 == 0))
            })
        });
        self.region.through(self.class) + live.map(|(_, value)| value.weight).sum::<u32>()
    }

    /// Return the bound by its definition.
    pub(crate) fn bound(&self, closure: &Closure) -> u32 {
        let all = (1 << self.region.len()) - 1;
        let moments = self.region.instrs().flat_map(|instr| {
            let before = closure.ancestors(instr).as_number() as u32;
            let after = closure.descendants(instr).as_number() as u32;
            let own = 1 << instr.0;
            [(before, after | own), (before | own, after)].map(|(inside, outside)| {
                let sets =
                    self.downsets.iter().filter(|set| **set & inside == inside && **set & outside == 0);
                sets.map(|&set| self.pressure(set)).min().unwrap_or(0)
            })
        });
        moments.chain([self.pressure(0), self.pressure(all)]).max().unwrap_or(0)
    }

    /// Return the least peak of all orders.
    pub(crate) fn optimum(&self) -> u32 {
        let mut peaks = vec![u32::MAX; 1 << self.region.len()];
        for &set in &self.downsets {
            let singles = (0..self.region.len()).map(|i| 1u32 << i).filter(|single| set & single != 0);
            // Sets that are no downset keep the largest number.
            let before = singles.map(|single| peaks[(set ^ single) as usize]).min().unwrap_or(0);
            peaks[set as usize] = before.max(self.pressure(set));
        }
        peaks[(1 << self.region.len()) - 1]
    }
}
