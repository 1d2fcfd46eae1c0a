//! The pressure along an order, and the upper limits on moments that follow from it.
//!
//! An order is a chain of downsets. One walk along it gives, for each moment next to an instruction, the
//! least pressure of its downsets that the order passes. That is an upper limit on the minimum of the moment
//! ([`pressure_bound`](super::pressure_bound) has the proof). The order can be rearranged to pass through
//! given downsets, which lowers limits further.

use super::flow::class_values;
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId};
use crate::region::Region;

/// An order, the pressure along it, and the limits on moments.
pub(super) struct OrderPressure<'a> {
    region: &'a Region,
    pub(super) order: Vec<InstrId>,
    spare_order: Vec<InstrId>,
    pub(super) position: Vec<u32>,
    /// Pressure at each boundary of the order.
    pub(super) pressure: Vec<u32>,
    /// For each moment the least pressure seen at a downset that is possible then.
    pub(super) limits: Vec<u32>,
    /// Weight of each value of the class that is live anywhere; 0 for others.
    weights: Vec<u32>,
    /// For each value: uses, plus one if it is live-out.
    needs: Vec<u32>,
    needs_left: Vec<u32>,
    at_start: u32,
    /// Boundaries with increasing pressure, for minima over ranges.
    rising: Vec<u32>,
    /// Only instructions between these boundaries can be rearranged.
    pub(super) first: usize,
    pub(super) last: usize,
}

impl<'a> OrderPressure<'a> {
    pub(super) fn new(region: &'a Region, class: ClassId, order: &[InstrId]) -> Self {
        let count = region.values().len();
        let mut weights = vec![0; count];
        let mut needs = vec![0; count];
        let mut at_start = region.through(class);
        for id in class_values(region, class) {
            let value = &region.values()[id.index()];
            weights[id.index()] = value.weight;
            needs[id.index()] = region.value_uses(id).len() as u32 + u32::from(value.live_out);
            if value.def.is_none() {
                at_start += value.weight;
            }
        }
        OrderPressure {
            region,
            order: order.to_vec(),
            spare_order: Vec::with_capacity(order.len()),
            position: vec![0; order.len()],
            pressure: vec![0; order.len() + 1],
            limits: vec![u32::MAX; 2 * order.len()],
            weights,
            needs_left: needs.clone(),
            needs,
            at_start,
            rising: Vec::with_capacity(order.len() + 1),
            first: 0,
            last: order.len(),
        }
    }

    /// As [`OrderPressure::new`], with the pressure and the limits of the order.
    pub(super) fn along(region: &'a Region, class: ClassId, order: &[InstrId]) -> Self {
        let mut walk = OrderPressure::new(region, class, order);
        walk.lower_limits();
        walk
    }

    /// Start over with another order. Only instructions between the two boundaries can be rearranged.
    pub(super) fn restart(&mut self, order: &[InstrId], first: usize, last: usize) {
        self.order.copy_from_slice(order);
        (self.first, self.last) = (first, last);
        self.limits.fill(0);
        for instr in &order[first..last] {
            self.limits[2 * instr.index()] = u32::MAX;
            self.limits[2 * instr.index() + 1] = u32::MAX;
        }
        self.lower_limits();
    }

    /// Return the moment with the highest limit, if that is above `value`.
    pub(super) fn highest(&self, value: u32) -> Option<usize> {
        let (index, limit) = self.limits.iter().enumerate().max_by_key(|(_, limit)| **limit)?;
        (*limit > value).then_some(index)
    }

    /// Return whether no boundary that can change exceeds the limit.
    pub(super) fn fits(&self, limit: u32) -> bool {
        self.pressure[self.first..=self.last].iter().all(|pressure| *pressure <= limit)
    }

    /// Return whether all boundaries between the instruction at a position and another one have a higher
    /// pressure.
    pub(super) fn is_high(&self, position: usize, other: InstrId, value: u32) -> bool {
        let place = self.position[other.index()] as usize;
        let between = if place > position { position + 1..place + 1 } else { place + 1..position + 1 };
        self.pressure[between].iter().all(|pressure| *pressure > value)
    }

    /// Return the least pressure at a boundary that has all of `done` before and all of `ahead` after it.
    pub(super) fn limit_between(&self, done: &BitSet, ahead: &BitSet) -> u32 {
        let place = |instr: InstrId| self.position[instr.index()] as usize;
        // Fixed instructions do not constrain the boundary.
        let first = done.instrs().map(place).filter(|place| *place < self.last).max();
        let first = first.map_or(0, |place| place + 1).max(self.first);
        let last = ahead.instrs().map(place).filter(|place| *place >= self.first).min();
        let last = last.unwrap_or(self.last).min(self.last);
        self.pressure.get(first..=last).and_then(|between| between.iter().min().copied()).unwrap_or(u32::MAX)
    }

    pub(super) fn peak(&self) -> u32 {
        self.pressure.iter().copied().max().unwrap_or(0)
    }

    /// Measure the pressure along the order and lower the limits of all moments accordingly.
    pub(super) fn lower_limits(&mut self) {
        let region = self.region;
        self.needs_left.copy_from_slice(&self.needs);
        let mut now = self.at_start;
        self.pressure[0] = now;
        for (position, &instr) in self.order.iter().enumerate() {
            self.position[instr.index()] = position as u32;
            for id in region.defined_values(instr) {
                now += self.weights[id.index()];
            }
            for id in region.used_values(instr) {
                if self.weights[id.index()] > 0 {
                    self.needs_left[id.index()] -= 1;
                    if self.needs_left[id.index()] == 0 {
                        now -= self.weights[id.index()];
                    }
                }
            }
            self.pressure[position + 1] = now;
        }
        // "Before": the boundaries from the last predecessor on.
        self.rising.clear();
        for (position, &instr) in self.order.iter().enumerate().take(self.last).skip(self.first) {
            add_rising(&mut self.rising, &self.pressure, position as u32);
            let preds = region.preds(instr).iter().map(|edge| self.position[edge.instr.index()] + 1);
            let earliest = preds.max().unwrap_or(0);
            let least = self.rising[self.rising.partition_point(|&boundary| boundary < earliest)];
            let limit = &mut self.limits[2 * instr.index()];
            *limit = (*limit).min(self.pressure[least as usize]);
        }
        // "After": the boundaries up to the first successor.
        self.rising.clear();
        for (position, &instr) in self.order.iter().enumerate().take(self.last).skip(self.first).rev() {
            add_rising(&mut self.rising, &self.pressure, position as u32 + 1);
            let succs = region.succs(instr).iter().map(|edge| self.position[edge.instr.index()]);
            let latest = succs.min().unwrap_or(self.order.len() as u32);
            let least = self.rising[self.rising.partition_point(|&boundary| boundary > latest)];
            let limit = &mut self.limits[2 * instr.index() + 1];
            *limit = (*limit).min(self.pressure[least as usize]);
        }
    }

    /// Return the moment with the highest limit, if that is above `value`. Among equals, prefer the one with
    /// the most certainly live weight.
    pub(super) fn most_promising(&self, value: u32, certain: &[u32]) -> Option<usize> {
        let mut best = None;
        let mut best_key = (value, u32::MAX);
        for (index, (&limit, &certain)) in self.limits.iter().zip(certain).enumerate() {
            if (limit, certain) > best_key {
                best_key = (limit, certain);
                best = Some(index);
            }
        }
        best
    }

    /// Rearrange the order so that it passes through the downsets `smaller` and `larger`.
    pub(super) fn pass_through(&mut self, smaller: &BitSet, larger: &BitSet) {
        self.spare_order.clear();
        self.spare_order.extend(self.order.iter().filter(|&&instr| smaller.contains(instr)));
        let between = |instr: &&InstrId| larger.contains(**instr) && !smaller.contains(**instr);
        self.spare_order.extend(self.order.iter().filter(between));
        self.spare_order.extend(self.order.iter().filter(|&&instr| !larger.contains(instr)));
        std::mem::swap(&mut self.order, &mut self.spare_order);
    }
}

/// Add the next boundary, and drop those before it that have no less pressure.
fn add_rising(rising: &mut Vec<u32>, pressure: &[u32], boundary: u32) {
    while rising.last().is_some_and(|&last| pressure[last as usize] >= pressure[boundary as usize]) {
        rising.pop();
    }
    rising.push(boundary);
}
