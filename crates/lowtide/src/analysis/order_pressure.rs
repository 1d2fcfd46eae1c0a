//! The pressure along an order, and the upper limits on moments that follow from it.
//!
//! An order is a chain of downsets. One walk along it gives, for each moment next to an instruction, the
//! least pressure of its downsets that the order passes. That is an upper limit on the minimum of the moment
//! ([`pressure_bound`](super::pressure_bound) has the proof). The order can be rearranged to pass through
//! given downsets, which lowers limits further.
//!
//! Most rearrangements leave long parts of the order as they are. The downset of a boundary there is the same
//! as before. So are its pressure and the moments at which it is possible, whose limits know of it. Only the
//! boundaries of the part that has changed are new.

use super::last_uses::class_values;
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, Rows};
use crate::region::Region;

/// An order, the pressure along it, and the limits on moments.
pub(super) struct OrderPressure<'a> {
    region: &'a Region,
    pub(super) order: Vec<InstrId>,
    /// A part of the order in its new arrangement.
    rearranged: Vec<InstrId>,
    pub(super) position: Vec<u32>,
    /// Pressure at each boundary of the order.
    pub(super) pressure: Vec<u32>,
    /// For each moment the least pressure seen at a downset that is possible then.
    pub(super) limits: Vec<u32>,
    /// Weight of each value of the class that is live anywhere.
    weights: Vec<u32>,
    /// For each instruction, the weight that it defines, and the values of the class that it reads.
    defined: Vec<u32>,
    used: Rows<u32>,
    /// For each value, the position of its last use; [`NEVER`] if it is live-out.
    last_use: Vec<u32>,
    /// For each position, the first boundary after all predecessors of its instruction, and the last one
    /// before all successors.
    after_preds: Vec<u32>,
    before_succs: Vec<u32>,
    /// Boundaries with increasing pressure, for minima over ranges.
    rising: Vec<u32>,
    /// The least pressure from a boundary to an end of the changed part.
    least: Vec<u32>,
    /// Only instructions between these boundaries can be rearranged.
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The last use of a live-out.
const NEVER: u32 = u32::MAX;

impl<'a> OrderPressure<'a> {
    pub(super) fn new(region: &'a Region, class: ClassId, order: &[InstrId]) -> Self {
        let count = region.len();
        let mut number = vec![NEVER; region.values().len()];
        let (mut weights, mut last_use) = (Vec::new(), Vec::new());
        let mut defined = vec![0; count];
        let mut at_start = region.through(class);
        for id in class_values(region, class) {
            let value = &region.values()[id.index()];
            number[id.index()] = weights.len() as u32;
            weights.push(value.weight);
            last_use.push(if value.live_out { NEVER } else { 0 });
            match value.def {
                Some(def) => defined[def.index()] += value.weight,
                None => at_start += value.weight,
            }
        }
        let mut used = Rows::with_capacity(count, number.len());
        for instr in region.instrs() {
            let numbers = region.used_values(instr).iter().map(|id| number[id.index()]);
            numbers.filter(|number| *number != NEVER).for_each(|number| used.push(number));
            used.end_row();
        }
        let mut pressure = vec![0; count + 1];
        pressure[0] = at_start;
        OrderPressure {
            region,
            order: order.to_vec(),
            rearranged: Vec::new(),
            position: vec![0; count],
            pressure,
            limits: vec![u32::MAX; 2 * count],
            weights,
            defined,
            used,
            last_use,
            after_preds: vec![0; count],
            before_succs: vec![0; count],
            rising: Vec::with_capacity(count + 1),
            least: vec![0; count + 1],
            first: 0,
            last: count,
        }
    }

    /// As [`OrderPressure::new`], with the pressure and the limits of the order.
    pub(super) fn along(region: &'a Region, class: ClassId, order: &[InstrId]) -> Self {
        let mut walk = OrderPressure::new(region, class, order);
        walk.lower_limits(0, region.len());
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
        self.lower_limits(0, order.len());
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

    /// Measure the pressure along the part of the order between two boundaries, which is new, and lower the
    /// limits of all moments accordingly.
    fn lower_limits(&mut self, from: usize, to: usize) {
        self.measure(from, to);
        self.lower_inside(from.max(self.first), to.min(self.last));
        self.lower_behind(from, to);
        self.lower_ahead(from, to);
    }

    fn measure(&mut self, from: usize, to: usize) {
        // A value whose last use was in this part has it there again.
        let part = from as u32..to as u32;
        for position in part.clone() {
            let instr = self.order[position as usize].index();
            self.position[instr] = position;
            for &value in self.used.row(instr) {
                let last_use = &mut self.last_use[value as usize];
                if part.contains(last_use) {
                    *last_use = position;
                }
            }
        }
        let mut now = self.pressure[from];
        for position in from..to {
            let instr = self.order[position].index();
            now += self.defined[instr];
            for &value in self.used.row(instr) {
                if self.last_use[value as usize] == position as u32 {
                    now -= self.weights[value as usize];
                }
            }
            self.pressure[position + 1] = now;
        }
    }

    /// Lower the limits of the moments next to the instructions between two boundaries.
    fn lower_inside(&mut self, from: usize, to: usize) {
        // "Before": the boundaries from the last predecessor on.
        self.rising.clear();
        for position in from..to {
            let instr = self.order[position];
            add_rising(&mut self.rising, &self.pressure, position as u32);
            let earliest = self.first_after_preds(instr);
            self.after_preds[position] = earliest;
            let least = self.rising[self.rising.partition_point(|&boundary| boundary < earliest)];
            lower(&mut self.limits[2 * instr.index()], self.pressure[least as usize]);
        }
        // "After": the boundaries up to the first successor.
        self.rising.clear();
        for position in (from..to).rev() {
            let instr = self.order[position];
            add_rising(&mut self.rising, &self.pressure, position as u32 + 1);
            let latest = self.last_before_succs(instr);
            self.before_succs[position] = latest;
            let least = self.rising[self.rising.partition_point(|&boundary| boundary > latest)];
            lower(&mut self.limits[2 * instr.index() + 1], self.pressure[least as usize]);
        }
    }

    /// Lower the limits of the moments before the instructions behind a changed part.
    fn lower_behind(&mut self, from: usize, to: usize) {
        if to >= self.last {
            return;
        }
        self.least[to] = self.pressure[to];
        for boundary in (from..to).rev() {
            self.least[boundary] = self.pressure[boundary].min(self.least[boundary + 1]);
        }
        for position in to..self.last {
            if self.after_preds[position] as usize > to {
                continue;
            }
            let instr = self.order[position];
            if self.after_preds[position] as usize > from {
                // A predecessor has moved.
                self.after_preds[position] = self.first_after_preds(instr);
            }
            let earliest = self.after_preds[position] as usize;
            lower(&mut self.limits[2 * instr.index()], self.least[earliest.max(from)]);
        }
    }

    /// Lower the limits of the moments after the instructions ahead of a changed part.
    fn lower_ahead(&mut self, from: usize, to: usize) {
        if from <= self.first {
            return;
        }
        self.least[from] = self.pressure[from];
        for boundary in from + 1..=to {
            self.least[boundary] = self.pressure[boundary].min(self.least[boundary - 1]);
        }
        for position in self.first..from {
            if (self.before_succs[position] as usize) < from {
                continue;
            }
            let instr = self.order[position];
            if (self.before_succs[position] as usize) < to {
                // A successor has moved.
                self.before_succs[position] = self.last_before_succs(instr);
            }
            let latest = self.before_succs[position] as usize;
            lower(&mut self.limits[2 * instr.index() + 1], self.least[latest.min(to)]);
        }
    }

    fn first_after_preds(&self, instr: InstrId) -> u32 {
        let preds = self.region.preds(instr).iter().map(|edge| self.position[edge.instr.index()] + 1);
        preds.max().unwrap_or(0)
    }

    fn last_before_succs(&self, instr: InstrId) -> u32 {
        let succs = self.region.succs(instr).iter().map(|edge| self.position[edge.instr.index()]);
        succs.min().unwrap_or(self.order.len() as u32)
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

    /// Rearrange the order so that it passes through the downsets `smaller` and `larger`, and lower the
    /// limits of all moments accordingly.
    pub(super) fn pass_through(&mut self, smaller: &BitSet, larger: &BitSet) {
        let order = &mut self.order;
        // The ends of the order that stay as they are.
        let stays = |instr: &&InstrId| smaller.contains(**instr);
        let mut from = order.iter().take_while(stays).count();
        let stays = |instr: &&InstrId| !larger.contains(**instr);
        let mut to = order.len() - order[from..].iter().rev().take_while(stays).count();
        let part = &order[from..to];
        self.rearranged.clear();
        self.rearranged.extend(part.iter().filter(|&&instr| smaller.contains(instr)));
        let between = |instr: &&InstrId| larger.contains(**instr) && !smaller.contains(**instr);
        self.rearranged.extend(part.iter().filter(between));
        self.rearranged.extend(part.iter().filter(|&&instr| !larger.contains(instr)));
        let same = |(one, other): &(&InstrId, &InstrId)| one == other;
        let same_behind = part.iter().rev().zip(self.rearranged.iter().rev()).take_while(same).count();
        let same_ahead = part.iter().zip(&self.rearranged).take_while(same).count();
        if same_ahead == part.len() {
            return;
        }
        order[from..to].copy_from_slice(&self.rearranged);
        from += same_ahead;
        to -= same_behind;
        self.lower_limits(from, to);
    }
}

/// Lower a limit to a pressure.
fn lower(limit: &mut u32, pressure: u32) {
    *limit = pressure.min(*limit);
}

/// Add the next boundary, and drop those before it that have no less pressure.
fn add_rising(rising: &mut Vec<u32>, pressure: &[u32], boundary: u32) {
    while rising.last().is_some_and(|&last| pressure[last as usize] >= pressure[boundary as usize]) {
        rising.pop();
    }
    rising.push(boundary);
}
