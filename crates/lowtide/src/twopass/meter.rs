//! The cost of a path of the search, for costs that limits on registers do not determine.
//!
//! Limits judge every moment by itself. A sum over all moments, or a cost of the peaks of several classes
//! together, depends on the whole path. A [`Meter`] tracks it. Similar states then also differ in their spent
//! cost: a failed state proves nothing about a state that has spent less. The [history](super::history)
//! compares the remaining budget, too.

use crate::analysis::walk::PressureFields;

/// The cost of the current path, and the most that a whole path may cost.
pub(crate) struct Meter<'a> {
    packing: &'a PressureFields,
    pub(crate) most: u64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// The live weight of all classes together, summed over all moments.
    Sum {
        so_far: u64,
        /// A lower bound on the cost of the moments to come.
        rest: u64,
        /// For each instruction, the weight that is live just before it in every order.
        certain: &'a [u64],
        /// The live weight at the end.
        end: u64,
    },
    /// A cost of the peaks that is monotonic in them.
    Peaks {
        cost: &'a dyn Fn(&[u32]) -> u64,
        /// Lower bounds on the peaks.
        least: &'a [u32],
        /// The peaks before the first instruction, and after each one, one number for each class.
        trail: Vec<u32>,
        then: Vec<u32>,
    },
}

impl<'a> Meter<'a> {
    /// Make a meter of the live weight, summed over all moments with both ends. `certain` is the weight that
    /// is live just before each instruction in every order.
    pub(crate) fn sum(packing: &'a PressureFields, certain: &'a [u64], end: u64) -> Self {
        Meter { packing, most: u64::MAX, kind: Kind::Sum { so_far: 0, rest: 0, certain, end } }
    }

    /// Make a meter of the peaks of all classes. `least` are lower bounds on the peaks, which the first
    /// moment does not exceed.
    pub(crate) fn peaks(
        packing: &'a PressureFields,
        least: &'a [u32],
        cost: &'a dyn Fn(&[u32]) -> u64,
    ) -> Self {
        let kind = Kind::Peaks { cost, least, trail: Vec::new(), then: Vec::new() };
        Meter { packing, most: u64::MAX, kind }
    }

    /// Start over before the first instruction.
    pub(crate) fn restart(&mut self) {
        match &mut self.kind {
            Kind::Sum { so_far, rest, certain, end } => {
                (*so_far, *rest) = (0, certain.iter().sum::<u64>() + *end);
            }
            Kind::Peaks { least, trail, .. } => {
                trail.clear();
                trail.extend(least.iter());
            }
        }
    }

    /// Return whether an instruction that changes the live weight from `live` to `then` leaves a chance.
    pub(crate) fn allows(&mut self, instr: u32, live: i64, then: i64) -> bool {
        match &mut self.kind {
            Kind::Sum { so_far, rest, certain, .. } => {
                *so_far + total(self.packing, live) + *rest - certain[instr as usize] <= self.most
            }
            Kind::Peaks { cost, least, trail, then: peaks } => {
                peaks.clear();
                peaks.extend_from_slice(&trail[trail.len() - least.len()..]);
                raise(self.packing, peaks, then);
                cost(peaks) <= self.most
            }
        }
    }

    /// Issue an instruction that changes the live weight from `live` to `then`.
    pub(crate) fn issue(&mut self, instr: u32, live: i64, then: i64) {
        match &mut self.kind {
            Kind::Sum { so_far, rest, certain, .. } => {
                *so_far += total(self.packing, live);
                *rest -= certain[instr as usize];
            }
            Kind::Peaks { least, trail, .. } => {
                let last = trail.len() - least.len();
                trail.extend_from_within(last..);
                raise(self.packing, &mut trail[last + least.len()..], then);
            }
        }
    }

    /// Undo the last issue, which restores the live weight `live`.
    pub(crate) fn take_back(&mut self, instr: u32, live: i64) {
        match &mut self.kind {
            Kind::Sum { so_far, rest, certain, .. } => {
                *so_far -= total(self.packing, live);
                *rest += certain[instr as usize];
            }
            Kind::Peaks { least, trail, .. } => trail.truncate(trail.len() - least.len()),
        }
    }

    /// Return the remaining budget as numbers that must fit into 32 bits. A state that fails with these fails
    /// with smaller ones, as long as `most` does not rise.
    pub(crate) fn left(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, peaks) = match &self.kind {
            Kind::Sum { so_far, .. } => (Some((self.most - so_far) as u32), &[][..]),
            Kind::Peaks { least, trail, .. } => (None, &trail[trail.len() - least.len()..]),
        };
        one.into_iter().chain(peaks.iter().map(|peak| u32::MAX - peak))
    }
}

/// Return the live weight of all classes together.
fn total(packing: &PressureFields, live: i64) -> u64 {
    packing.classes().map(|class| u64::from(packing.unpack(live, class))).sum()
}

/// Raise peaks to the live weight.
fn raise(packing: &PressureFields, peaks: &mut [u32], live: i64) {
    for class in packing.classes() {
        let peak = &mut peaks[class.index()];
        *peak = (*peak).max(packing.unpack(live, class));
    }
}
