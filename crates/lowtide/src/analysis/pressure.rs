//! Register pressure along a schedule, step by step.
//!
//! The pressure of a class at a boundary is the weight of the values defined before it and needed after it.
//! The weight that only passes through the region is added. [`Tracker`] keeps the pressure while instructions
//! are scheduled first to last, in time proportional to the operands of each. [`Tracker::delta`] returns the
//! effect of a candidate; [`Tracker::undo`] takes back the last instruction.

use crate::index::{ClassId, InstrId, ValueId};
use crate::region::{Peak, Region};

/// The values that are live after the instructions scheduled so far.
#[derive(Clone, Debug)]
pub(crate) struct Live<'a> {
    region: &'a Region,
    /// For each value: uses that are still to come, plus one if it is live-out.
    needs: Vec<u32>,
    /// Pressure now, by class.
    now: Vec<u32>,
}

impl<'a> Live<'a> {
    /// Start before the first instruction.
    pub(crate) fn new(region: &'a Region) -> Self {
        let mut now: Vec<u32> = region.class_ids().map(|class| region.through(class)).collect();
        let mut needs = Vec::with_capacity(region.values().len());
        for (position, value) in region.values().iter().enumerate() {
            let uses = region.value_uses(ValueId::at(position)).len() as u32;
            let need = uses + u32::from(value.live_out);
            if value.def.is_none() && need > 0 {
                now[value.class.index()] += value.weight;
            }
            needs.push(need);
        }
        Live { region, needs, now }
    }

    fn peaks(&self) -> impl Iterator<Item = Peak> {
        self.now.iter().map(|&pressure| Peak { between: pressure, at: pressure })
    }

    /// As [`Tracker::now`].
    pub(crate) fn now(&self, class: ClassId) -> u32 {
        self.now[class.index()]
    }

    /// As [`Tracker::delta`].
    pub(crate) fn delta(&self, instr: InstrId, change: &mut [i32]) {
        change.fill(0);
        for &id in self.region.defined_values(instr) {
            if self.needs[id.index()] > 0 {
                let value = &self.region.values()[id.index()];
                change[value.class.index()] += value.weight as i32;
            }
        }
        for &id in self.region.used_values(instr) {
            if self.needs[id.index()] == 1 {
                let value = &self.region.values()[id.index()];
                change[value.class.index()] -= value.weight as i32;
            }
        }
    }

    /// Schedule `instr` next, and raise the peaks. There are none if nobody asks for them.
    #[inline]
    pub(crate) fn schedule(&mut self, instr: InstrId, peaks: &mut [Peak]) {
        // Operands and results together ...
        for &id in self.region.defined_values(instr) {
            let value = &self.region.values()[id.index()];
            self.now[value.class.index()] += value.weight;
        }
        for &(class, weight) in self.region.overwritten(instr) {
            self.now[class.index()] -= weight;
        }
        for (peak, &now) in peaks.iter_mut().zip(&self.now) {
            peak.at = peak.at.max(now);
        }
        for &(class, weight) in self.region.overwritten(instr) {
            self.now[class.index()] += weight;
        }
        // ... then without the values that nobody needs any more.
        for &id in self.region.defined_values(instr) {
            if self.needs[id.index()] == 0 {
                let value = &self.region.values()[id.index()];
                self.now[value.class.index()] -= value.weight;
            }
        }
        for &id in self.region.used_values(instr) {
            let need = &mut self.needs[id.index()];
            *need -= 1;
            if *need == 0 {
                let value = &self.region.values()[id.index()];
                self.now[value.class.index()] -= value.weight;
            }
        }
        for (peak, &now) in peaks.iter_mut().zip(&self.now) {
            peak.between = peak.between.max(now);
        }
    }

    /// Take back an instruction whose successors are not scheduled.
    pub(crate) fn take_back(&mut self, instr: InstrId) {
        for &id in self.region.used_values(instr) {
            let need = &mut self.needs[id.index()];
            if *need == 0 {
                let value = &self.region.values()[id.index()];
                self.now[value.class.index()] += value.weight;
            }
            *need += 1;
        }
        for &id in self.region.defined_values(instr) {
            if self.needs[id.index()] > 0 {
                let value = &self.region.values()[id.index()];
                self.now[value.class.index()] -= value.weight;
            }
        }
    }
}

/// Return the peak of each class along an order.
pub(crate) fn peaks_along(region: &Region, order: &[InstrId]) -> Vec<Peak> {
    let mut live = Live::new(region);
    let mut peaks: Vec<Peak> = live.peaks().collect();
    order.iter().for_each(|&instr| live.schedule(instr, &mut peaks));
    peaks
}

/// Pressure of every class after the instructions scheduled so far.
#[derive(Clone, Debug)]
pub struct Tracker<'a> {
    live: Live<'a>,
    /// The peaks so far, of every class after every step: the last `classes` entries are current.
    peaks: Vec<Peak>,
    /// The scheduled instructions, for [`Tracker::undo`].
    scheduled: Vec<InstrId>,
}

impl<'a> Tracker<'a> {
    /// Start before the first instruction.
    pub fn new(region: &'a Region) -> Self {
        let live = Live::new(region);
        let mut peaks = Vec::with_capacity((region.len() + 1) * live.now.len());
        peaks.extend(live.peaks());
        Tracker { live, peaks, scheduled: Vec::with_capacity(region.len()) }
    }

    /// Return the pressure of a class at the boundary after the last scheduled instruction.
    #[inline]
    pub fn now(&self, class: ClassId) -> u32 {
        self.live.now(class)
    }

    /// Return the peaks so far, by class.
    pub fn peaks(&self) -> Vec<Peak> {
        self.peaks[self.peaks.len() - self.live.now.len()..].to_vec()
    }

    /// Write the change of each class's pressure if `instr` came next.
    pub fn delta(&self, instr: InstrId, change: &mut [i32]) {
        self.live.delta(instr, change);
    }

    /// Schedule `instr` next. Its predecessors must be scheduled already.
    pub fn schedule(&mut self, instr: InstrId) {
        let classes = self.live.now.len();
        let before = self.peaks.len() - classes;
        self.peaks.extend_from_within(before..);
        self.live.schedule(instr, &mut self.peaks[before + classes..]);
        self.scheduled.push(instr);
    }

    /// Take back the last scheduled instruction and return it.
    pub fn undo(&mut self) -> Option<InstrId> {
        let instr = self.scheduled.pop()?;
        self.peaks.truncate(self.peaks.len() - self.live.now.len());
        self.live.take_back(instr);
        Some(instr)
    }
}

/// Pressure of every class before the instructions scheduled so far, last to first: the same figures as
/// [`Tracker`], seen from the other end.
#[derive(Clone, Debug)]
pub struct ReverseTracker<'a> {
    region: &'a Region,
    /// For each value: uses that have been scheduled, plus one if it is live-out.
    needed: Vec<u32>,
    /// Pressure now, by class.
    now: Vec<u32>,
}

impl<'a> ReverseTracker<'a> {
    /// Start after the last instruction.
    pub fn new(region: &'a Region) -> Self {
        let mut now: Vec<u32> = region.class_ids().map(|class| region.through(class)).collect();
        let mut needed = Vec::with_capacity(region.values().len());
        for value in region.values() {
            if value.live_out {
                now[value.class.index()] += value.weight;
            }
            needed.push(u32::from(value.live_out));
        }
        ReverseTracker { region, needed, now }
    }

    /// Return the pressure of a class at the boundary before the last scheduled instruction.
    #[inline]
    pub fn now(&self, class: ClassId) -> u32 {
        self.now[class.index()]
    }

    /// Return whether a scheduled instruction needs the value.
    #[inline]
    pub fn is_needed(&self, value: ValueId) -> bool {
        self.needed[value.index()] > 0
    }

    /// Write the change of each class's pressure if `instr` came before all scheduled so far.
    pub fn delta(&self, instr: InstrId, change: &mut [i32]) {
        change.fill(0);
        for &id in self.region.used_values(instr) {
            if !self.is_needed(id) {
                let value = &self.region.values()[id.index()];
                change[value.class.index()] += value.weight as i32;
            }
        }
        for &id in self.region.defined_values(instr) {
            if self.is_needed(id) {
                let value = &self.region.values()[id.index()];
                change[value.class.index()] -= value.weight as i32;
            }
        }
    }

    /// Schedule `instr` before all scheduled so far. Its successors must be scheduled already.
    pub fn schedule(&mut self, instr: InstrId) {
        for &id in self.region.defined_values(instr) {
            if self.is_needed(id) {
                let value = &self.region.values()[id.index()];
                self.now[value.class.index()] -= value.weight;
            }
        }
        for &id in self.region.used_values(instr) {
            if !self.is_needed(id) {
                let value = &self.region.values()[id.index()];
                self.now[value.class.index()] += value.weight;
            }
            self.needed[id.index()] += 1;
        }
    }
}
