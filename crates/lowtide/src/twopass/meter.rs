//! The cost of a path of the search, where limits on registers do not determine it.
//!
//! Limits judge every moment by itself. A sum over all moments, or a cost of the peaks of several classes together, depends on the whole path. A
//! [`Meter`] keeps it up to date. States with the same instructions behind them then also differ in what they have spent: a state that has failed says
//! nothing about one that has spent less. What is left to spend is part of what the [history](super::history) compares.

use crate::analysis::walk::PressureFields;

/// The cost of the current path, and the most that a whole one may cost.
pub(crate) struct Meter<'a> {
    packing: &'a PressureFields,
    pub(crate) most: u64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// What is live, all classes together, summed over all moments.
    Sum {
        so_far: u64,
        /// What the moments to come add at least.
        rest: u64,
        /// For each instruction, what is live just before it in every order.
        certain: &'a [u64],
        /// What is live at the end.
        end: u64,
    },
    /// A cost of the peaks, which never falls as they rise.
    Peaks {
        cost: &'a dyn Fn(&[u32]) -> u64,
        /// Peaks that every order has at least.
        least: &'a [u32],
        /// The peaks before the first instruction, and after each one, one number for each class.
        trail: Vec<u32>,
        then: Vec<u32>,
    },
}

impl<'a> Meter<'a> {
    /// Sums what is live over all moments, both ends included. `certain` is what is live just before each instruction in every order.
    pub(crate) fn sum(packing: &'a PressureFields, certain: &'a [u64], end: u64) -> Self {
        Meter { packing, most: u64::MAX, kind: Kind::Sum { so_far: 0, rest: 0, certain, end } }
    }

    /// Judges by the peaks of all classes. Every order has at least the peaks `least`, and at the first moment no more.
    pub(crate) fn peaks(
        packing: &'a PressureFields,
        least: &'a [u32],
        cost: &'a dyn Fn(&[u32]) -> u64,
    ) -> Self {
        let kind = Kind::Peaks { cost, least, trail: Vec::new(), then: Vec::new() };
        Meter { packing, most: u64::MAX, kind }
    }

    /// Nothing has been issued.
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

    /// Whether an instruction leaves a chance, if it changes what is live from `live` to `then`.
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

    /// Issues an instruction that changes what is live from `live` to `then`.
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

    /// Takes back the last issue, after which `live` is live again.
    pub(crate) fn take_back(&mut self, instr: u32, live: i64) {
        match &mut self.kind {
            Kind::Sum { so_far, rest, certain, .. } => {
                *so_far -= total(self.packing, live);
                *rest += certain[instr as usize];
            }
            Kind::Peaks { least, trail, .. } => trail.truncate(trail.len() - least.len()),
        }
    }

    /// What is left to spend, by numbers that must fit into 32 bits: the smaller, the worse. A state that fails with these fails with
    /// smaller ones, as long as `most` does not rise.
    pub(crate) fn left(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, peaks) = match &self.kind {
            Kind::Sum { so_far, .. } => (Some((self.most - so_far) as u32), &[][..]),
            Kind::Peaks { least, trail, .. } => (None, &trail[trail.len() - least.len()..]),
        };
        one.into_iter().chain(peaks.iter().map(|peak| u32::MAX - peak))
    }
}

/// What is live of all classes together.
fn total(packing: &PressureFields, live: i64) -> u64 {
    packing.classes().map(|class| u64::from(packing.unpack(live, class))).sum()
}

/// Raises peaks to what is live.
fn raise(packing: &PressureFields, peaks: &mut [u32], live: i64) {
    for class in packing.classes() {
        let peak = &mut peaks[class.index()];
        *peak = (*peak).max(packing.unpack(live, class));
    }
}
