//! Live weight at every moment next to an instruction, without any flow.
//!
//! Moments are numbered: before and after the first instruction in source order, and so on. A value is
//! certainly live at a moment if an ancestor defines it and a descendant needs it. Its state is also known in
//! two extreme downsets: with only the ancestors done, and with all but the descendants done. Operations on
//! rows of the closure find all of this for all moments at once, one value at a time.

use std::time::Instant;

use super::closure::Closure;
use super::last_uses::{LastUses, class_values};
use crate::bits::BitSet;
use crate::budget::is_over;
use crate::index::{ClassId, InstrId, Rows};
use crate::region::Region;

/// Values between two looks at the clock.
const VALUES_PER_TIME: usize = 64;

/// The live ranges of the values of one class, in a compact form.
pub(super) struct Lifetimes {
    /// Definition, weight, and whether it is live-out.
    values: Vec<(Option<InstrId>, u32, bool)>,
    /// The last uses of each value; none are listed for live-outs.
    last_uses: Rows<InstrId>,
    through: u32,
    /// Number of instructions.
    count: usize,
}

impl Lifetimes {
    pub(super) fn new(region: &Region, class: ClassId, closure: &Closure) -> Self {
        let mut finder = LastUses::new(region, closure);
        let mut values = Vec::with_capacity(region.values().len());
        let mut last_uses = Rows::with_capacity(region.values().len(), region.values().len());
        for id in class_values(region, class) {
            let value = &region.values()[id.index()];
            values.push((value.def, value.weight, value.live_out));
            if !value.live_out {
                for &instr in finder.of(id) {
                    last_uses.push(instr);
                }
            }
            last_uses.end_row();
        }
        Lifetimes { values, last_uses, through: region.through(class), count: region.len() }
    }

    /// Return, for every moment, the weight that is live in every possible downset. When the time is over,
    /// the weights of some values are missing.
    pub(super) fn certain(&self, closure: &Closure, deadline: Option<Instant>) -> Vec<u32> {
        let mut certain = vec![self.through; 2 * self.count];
        let mut live = BitSet::new(self.count);
        for (position, &(def, weight, live_out)) in self.values.iter().enumerate() {
            if position % VALUES_PER_TIME == VALUES_PER_TIME - 1 && is_over(deadline) {
                break;
            }
            // Live both before and after v: defined by an ancestor, needed by a descendant.
            let uses = self.last_uses.row(position);
            Self::needed_below(closure, uses, live_out, &mut live);
            if let Some(def) = def {
                live.intersect(closure.descendants(def));
                certain[2 * def.index() + 1] += weight;
            }
            for &instr in uses {
                certain[2 * instr.index()] += weight;
            }
            add_around(&mut certain, &live, weight);
        }
        certain
    }

    /// Lower the limit of every moment to the pressure at its smallest and at its largest downset. When the
    /// time is over, leave all limits as they are.
    pub(super) fn lower_limits(&self, closure: &Closure, limits: &mut [u32], deadline: Option<Instant>) {
        let mut smallest = vec![self.through; 2 * self.count];
        let mut largest = smallest.clone();
        let mut live = BitSet::new(self.count);
        for (position, &(def, weight, live_out)) in self.values.iter().enumerate() {
            if position % VALUES_PER_TIME == VALUES_PER_TIME - 1 && is_over(deadline) {
                return;
            }
            let uses = self.last_uses.row(position);
            // Live both before and after v with only v's ancestors done: defined by an ancestor, and not all
            // of the last uses are ancestors. (As none of them comes before another, v is among them and the
            // others are its ancestors only if there are no others.)
            match (live_out, uses) {
                (false, [first, others @ ..]) => {
                    live.copy_from(closure.descendants(*first));
                    others.iter().for_each(|&instr| live.intersect(closure.descendants(instr)));
                    live.complement();
                    if others.is_empty() {
                        // Still live just before the only last use, but not just after.
                        live.remove(*first);
                        smallest[2 * first.index()] += weight;
                    }
                }
                _ => live.fill(),
            }
            if let Some(def) = def {
                live.intersect(closure.descendants(def));
                smallest[2 * def.index() + 1] += weight;
            }
            add_around(&mut smallest, &live, weight);
            // The same with all but v's descendants done: needed by a descendant, and neither v nor a
            // descendant defines it.
            Self::needed_below(closure, uses, live_out, &mut live);
            if let Some(def) = def {
                live.subtract(closure.ancestors(def));
                live.remove(def);
                largest[2 * def.index() + 1] += weight;
            }
            for &instr in uses {
                largest[2 * instr.index()] += weight;
            }
            add_around(&mut largest, &live, weight);
        }
        for ((limit, smallest), largest) in limits.iter_mut().zip(smallest).zip(largest) {
            *limit = (*limit).min(smallest).min(largest);
        }
    }

    /// The instructions with a last use among their descendants; all for a live-out.
    fn needed_below(closure: &Closure, last_uses: &[InstrId], live_out: bool, set: &mut BitSet) {
        if live_out {
            return set.fill();
        }
        set.clear();
        last_uses.iter().for_each(|&instr| set.unite(closure.ancestors(instr)));
    }
}

/// Add a weight to the moments before and after each instruction of a set.
fn add_around(moments: &mut [u32], set: &BitSet, weight: u32) {
    for instr in set.instrs() {
        moments[2 * instr.index()] += weight;
        moments[2 * instr.index() + 1] += weight;
    }
}
