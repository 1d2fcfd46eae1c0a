//! The pressure along an order, and the upper limits on moments that follow from it.
//!
//! An order is a chain of downsets. One walk along it gives, for each moment next to an instruction, the
//! least pressure of its downsets that the order passes. That is an upper limit on the minimum of the moment
//! ([`pressure_bound`](super::pressure_bound) has the proof). The order can be rearranged to pass through
//! given downsets, which lowers limits further.

use super::flow::class_values;
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, Rows};
use crate::region::Region;

/// An order, the pressure along it, and the limits on moments.
pub(super) struct OrderPressure<'a> {
    region: &'a Region,
    pub(super) order: Vec<InstrId>,
    /// Instructions that [`OrderPressure::pass_through`] puts behind others: two parts.
    later: [Vec<InstrId>; 2],
    pub(super) position: Vec<u32>,
    /// Pressure at each boundary of the order.
    pub(super) pressure: Vec<u32>,
    /// For each moment the least pressure seen at a downset that is possible then.
    pub(super) limits: Vec<u32>,
    /// For each instruction: the weight of the values that it defines, and the values that it uses. Here and below,
    /// only values of the class count that are live anywhere.
    gains: Vec<u32>,
    uses: Rows<u32>,
    weights: Vec<u32>,
    /// For each value: uses, plus one if it is live-out. At the start, at the boundary `first`, and at any other.
    needs: Vec<u32>,
    needs_at_first: Vec<u32>,
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
        let (mut weights, mut needs) = (Vec::new(), Vec::new());
        let mut gains = vec![0; region.len()];
        let mut users = Vec::new();
        let mut at_start = region.through(class);
        for id in class_values(region, class) {
            let value = &region.values()[id.index()];
            let number = weights.len() as u32;
            users.extend(region.value_uses(id).iter().map(|instr| (instr.index(), number)));
            weights.push(value.weight);
            needs.push(region.value_uses(id).len() as u32 + u32::from(value.live_out));
            match value.def {
                Some(def) => gains[def.index()] += value.weight,
                None => at_start += value.weight,
            }
        }
        let mut pressure = vec![0; order.len() + 1];
        pressure[0] = at_start;
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, instr)| position[instr.index()] = place as u32);
        OrderPressure {
            region,
            order: order.to_vec(),
            later: [(); 2].map(|()| Vec::with_capacity(order.len())),
            position,
            pressure,
            limits: vec![u32::MAX; 2 * order.len()],
            gains,
            uses: Rows::group(region.len(), users.into_iter()),
            weights,
            needs_at_first: needs.clone(),
            needs_left: needs.clone(),
            needs,
            at_start,
            rising: Vec::with_capacity(order.len() + 1),
            first: 0,
            last: order.len(),
        }
    }

    /// Start over with another order. Only instructions between the two boundaries can be rearranged. Limits that
    /// are not above `value` do not matter.
    pub(super) fn restart(&mut self, order: &[InstrId], first: usize, last: usize, value: u32) {
        self.order.copy_from_slice(order);
        (self.first, self.last) = (first, last);
        self.limits.fill(0);
        for instr in &order[first..last] {
            self.limits[2 * instr.index()] = u32::MAX;
            self.limits[2 * instr.index() + 1] = u32::MAX;
        }
        order.iter().enumerate().for_each(|(place, instr)| self.position[instr.index()] = place as u32);
        self.needs_left.copy_from_slice(&self.needs);
        let now = order[..first].iter().fold(self.at_start, |now, instr| self.pass(*instr, now));
        self.pressure[first] = now;
        self.needs_at_first.copy_from_slice(&self.needs_left);
        self.lower_limits(value);
    }

    /// Return the pressure after an instruction, given the pressure before it.
    #[inline]
    fn pass(&mut self, instr: InstrId, before: u32) -> u32 {
        let mut now = before + self.gains[instr.index()];
        for &value in self.uses.row(instr.index()) {
            let needs = &mut self.needs_left[value as usize];
            *needs -= 1;
            if *needs == 0 {
                now -= self.weights[value as usize];
            }
        }
        now
    }

    /// Return the last moment with the highest limit, if that is above `value`.
    pub(super) fn highest(&self, value: u32) -> Option<usize> {
        let highest = self.limits.iter().copied().max().filter(|limit| *limit > value)?;
        self.limits.iter().rposition(|limit| *limit == highest)
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

    /// Measure the pressure along the order and lower the limits of all moments accordingly, if they are above
    /// `value`. Others do not matter.
    pub(super) fn lower_limits(&mut self, value: u32) {
        let region = self.region;
        self.needs_left.copy_from_slice(&self.needs_at_first);
        let mut now = self.pressure[self.first];
        for position in self.first..self.last {
            let instr = self.order[position];
            self.position[instr.index()] = position as u32;
            now = self.pass(instr, now);
            self.pressure[position + 1] = now;
        }
        // "Before": the boundaries from the last predecessor on. Most of these ranges have a boundary with a pressure
        // of `value` or less: the minima of the others begin after the last one.
        self.rising.clear();
        let mut after_low = 0;
        for position in self.first as u32..self.last as u32 {
            if self.pressure[position as usize] <= value {
                after_low = position + 1;
                self.rising.clear();
            } else {
                add_rising(&mut self.rising, &self.pressure, position);
            }
            let instr = self.order[position as usize];
            let limit = &mut self.limits[2 * instr.index()];
            if *limit > value {
                let preds = region.preds(instr).iter().map(|edge| self.position[edge.instr.index()] + 1);
                let earliest = preds.max().unwrap_or(0);
                *limit = if earliest < after_low {
                    value
                } else {
                    let least = self.rising[self.rising.partition_point(|&boundary| boundary < earliest)];
                    (*limit).min(self.pressure[least as usize])
                };
            }
        }
        // "After": the boundaries up to the first successor.
        self.rising.clear();
        let mut low = u32::MAX;
        for position in (self.first as u32..self.last as u32).rev() {
            if self.pressure[position as usize + 1] <= value {
                low = position + 1;
                self.rising.clear();
            } else {
                add_rising(&mut self.rising, &self.pressure, position + 1);
            }
            let instr = self.order[position as usize];
            let limit = &mut self.limits[2 * instr.index() + 1];
            if *limit > value {
                let succs = region.succs(instr).iter().map(|edge| self.position[edge.instr.index()]);
                let latest = succs.min().unwrap_or(self.order.len() as u32);
                *limit = if low <= latest {
                    value
                } else {
                    let least = self.rising[self.rising.partition_point(|&boundary| boundary > latest)];
                    (*limit).min(self.pressure[least as usize])
                };
            }
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

    /// Rearrange the order so that it passes through the downsets `smaller` and `larger`. Both hold the instructions
    /// before the first boundary, and none after the last one.
    pub(super) fn pass_through(&mut self, smaller: &BitSet, larger: &BitSet) {
        let [between, others] = &mut self.later;
        between.clear();
        others.clear();
        let mut kept = self.first;
        for position in self.first..self.last {
            let instr = self.order[position];
            if smaller.contains(instr) {
                self.order[kept] = instr;
                kept += 1;
            } else if larger.contains(instr) {
                between.push(instr);
            } else {
                others.push(instr);
            }
        }
        let later = between.iter().chain(others.iter());
        self.order[kept..self.last].iter_mut().zip(later).for_each(|(place, instr)| *place = *instr);
    }
}

/// Add the next boundary, and drop those before it that have no less pressure.
fn add_rising(rising: &mut Vec<u32>, pressure: &[u32], boundary: u32) {
    while rising.last().is_some_and(|&last| pressure[last as usize] >= pressure[boundary as usize]) {
        rising.pop();
    }
    rising.push(boundary);
}
