//! One wave on its way through a region.

use super::{Counter, Reason, Stalls};
use crate::index::InstrId;

/// An instruction as the machine sees it.
pub(super) struct Operation {
    /// The unit that it takes, and for how many clocks.
    pub(super) unit: Option<usize>,
    pub(super) busy: u64,
    /// The counter that its result is on, if it accesses memory.
    pub(super) counter: Option<Counter>,
    /// Clocks until the result of a memory instruction returns.
    pub(super) latency: u64,
}

/// A region as the machine sees it.
pub(super) struct Code {
    pub(super) operations: Vec<Operation>,
    round: u64,
    /// For each instruction, those that it follows by a number of clocks.
    delays: Vec<Vec<(InstrId, u64)>>,
    /// For each instruction, the memory instructions whose results it needs.
    results: Vec<Vec<InstrId>>,
}

impl Code {
    pub(super) fn new(operations: Vec<Operation>, round: u64) -> Self {
        let count = operations.len();
        Code { operations, round, delays: vec![Vec::new(); count], results: vec![Vec::new(); count] }
    }

    pub(super) fn add_delay(&mut self, from: InstrId, to: InstrId, clocks: u64) {
        self.delays[to.index()].push((from, clocks));
    }

    pub(super) fn add_result(&mut self, from: InstrId, to: InstrId) {
        self.results[to.index()].push(from);
    }

    /// Return the clocks that `waves` waves need at least: the issues of a wave, or the time of a unit.
    pub(super) fn floor(&self, order: &[InstrId], waves: u64) -> u64 {
        let units =
            self.operations.iter().filter_map(|operation| operation.unit).max().map_or(0, |unit| unit + 1);
        let mut needed = vec![0u64; units];
        let mut last = vec![0u64; units];
        for operation in &self.operations {
            if let Some(unit) = operation.unit {
                // A unit must be free for the last instruction, not after it. Rounds begin at multiples of a
                // round.
                needed[unit] += operation.busy.next_multiple_of(self.round);
                last[unit] = last[unit].max(operation.busy.next_multiple_of(self.round) - self.round);
            }
        }
        let of_units = needed.iter().zip(&last).map(|(needed, last)| (needed * waves).saturating_sub(*last));
        of_units.max().unwrap_or(0).max(order.len() as u64 * self.round)
    }
}

/// The next instruction of a wave, and the first clock in which its operands are there.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    pub(super) instr: InstrId,
    pub(super) clock: u64,
}

/// A wave: the place in its code, and the memory instructions that are outstanding.
pub(super) struct Wave {
    /// The next position of the order.
    position: usize,
    next: Option<(Ready, Reason)>,
    /// The clock after the round of the last issue.
    free: u64,
    /// For each instruction, the clock of its issue.
    issued: Vec<u64>,
    /// For each memory instruction, the clock in which its result returns.
    returned: Vec<u64>,
    /// The last returns of vector memory and of local memory, which come in order.
    last_vector: u64,
    last_local: u64,
    /// Instructions on the shared counter of local memory and scalar loads that no wait has covered, in the
    /// order of issue.
    pending: Vec<InstrId>,
}

impl Wave {
    pub(super) fn new(code: &Code, order: &[InstrId], round: u64) -> Self {
        debug_assert_eq!(code.round, round);
        let count = code.operations.len();
        let mut wave = Wave {
            position: 0,
            next: None,
            free: 0,
            issued: vec![0; count],
            returned: vec![0; count],
            last_vector: 0,
            last_local: 0,
            pending: Vec::new(),
        };
        wave.look_at_next(code, order);
        wave
    }

    /// Return the next instruction, unless the wave is done.
    pub(super) fn ready(&self) -> Option<Ready> {
        self.next.map(|(ready, _)| ready)
    }

    /// Issue the next instruction.
    pub(super) fn issue(&mut self, code: &Code, order: &[InstrId], now: u64, stalls: &mut Stalls) {
        let Some((Ready { instr, clock }, reason)) = self.next else { return };
        let first = clock.next_multiple_of(code.round);
        stalls.add(reason, first - self.free);
        stalls.add(Reason::Issue, now - first);
        self.issued[instr.index()] = now;
        let Operation { counter, latency, .. } = code.operations[instr.index()];
        let returned = &mut self.returned[instr.index()];
        match counter {
            None => {}
            Some(Counter::Vector) => {
                *returned = self.last_vector.max(now + latency);
                self.last_vector = *returned;
            }
            Some(Counter::Local) => {
                *returned = self.last_local.max(now + latency);
                self.last_local = *returned;
                self.pending.push(instr);
            }
            Some(Counter::Scalar) => {
                *returned = now + latency;
                self.pending.push(instr);
            }
        }
        self.free = now + code.round;
        self.position += 1;
        self.look_at_next(code, order);
    }

    /// Find the clock from which on the next instruction can issue, and the reason for it. What the
    /// instruction waits for is known now: everything before it has issued.
    fn look_at_next(&mut self, code: &Code, order: &[InstrId]) {
        let Some(&instr) = order.get(self.position) else {
            self.next = None;
            return;
        };
        let (mut clock, mut reason) = (self.free, Reason::Dependence);
        let mut wait = |until: u64, why: Reason| {
            if until > clock {
                (clock, reason) = (until, why);
            }
        };
        for &(from, clocks) in &code.delays[instr.index()] {
            wait(self.issued[from.index()] + clocks, Reason::Dependence);
        }
        for &from in &code.results[instr.index()] {
            match code.operations[from.index()].counter {
                Some(Counter::Vector) => wait(self.returned[from.index()], Reason::Wait(Counter::Vector)),
                _ => {
                    for (until, counter) in Self::covered(&mut self.pending, code, &self.returned, from) {
                        wait(until, Reason::Wait(counter));
                    }
                }
            }
        }
        self.next = Some((Ready { instr, clock }, reason));
    }

    /// Wait for an instruction on the shared counter: with a scalar load outstanding for all of them, without
    /// one for those up to it. Return what the wait covers.
    fn covered(
        pending: &mut Vec<InstrId>,
        code: &Code,
        returned: &[u64],
        from: InstrId,
    ) -> Vec<(u64, Counter)> {
        let counter = |instr: &InstrId| code.operations[instr.index()].counter.unwrap_or(Counter::Local);
        // An earlier wait has covered it.
        let Some(place) = pending.iter().position(|instr| *instr == from) else { return Vec::new() };
        let any_scalar = pending.iter().any(|instr| counter(instr) == Counter::Scalar);
        let last = if any_scalar { pending.len() } else { place + 1 };
        pending.drain(..last).map(|instr| (returned[instr.index()], counter(&instr))).collect()
    }
}
