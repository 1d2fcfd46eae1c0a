//! When more waves are not worth their cycles.

use crate::problem::Measure;

/// Rejects more waves than the production compiler has (or the source order, where nothing is recorded) if
/// they are few and cost many cycles. The kernel is then scheduled for as many waves as it had.
///
/// The figures are those of paper 4 (Section VI-D), which were the best in its experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// More waves than this are worth any price.
    pub few_waves: u32,
    /// As many cycles as this, all regions together, are never too many.
    pub few_cycles: u64,
    /// Ants are not sent for a shorter schedule if the bound that is known beforehand leaves fewer cycles
    /// than this to gain.
    pub few_cycles_to_gain: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Filter { few_waves: 3, few_cycles: 63, few_cycles_to_gain: 21 }
    }
}

/// The figures of a kernel that a filter compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Totals {
    pub(super) spilled: u64,
    pub(super) waves: u32,
    pub(super) length: u64,
}

impl Totals {
    /// Of the regions of a kernel with so many waves.
    pub(super) fn new<'m>(measures: impl Iterator<Item = &'m Measure>, waves: u32) -> Self {
        let none = Totals { spilled: 0, waves, length: 0 };
        measures.fold(none, |totals, measure| Totals {
            spilled: totals.spilled + u64::from(measure.spilled),
            length: totals.length + u64::from(measure.length),
            ..totals
        })
    }
}

impl Filter {
    /// Whether the change from one outcome to another is worth its price.
    pub(super) fn is_worth_it(&self, before: Totals, after: Totals) -> bool {
        let gain = after.waves.saturating_sub(before.waves);
        let is_cheap = self.is_cheap(before.length, after.length);
        before.spilled > after.spilled || gain == 0 || gain > self.few_waves || is_cheap
    }

    /// Whether so many cycles instead of so many are never too many.
    pub(super) fn is_cheap(&self, before: u64, after: u64) -> bool {
        after.saturating_sub(before) <= self.few_cycles
    }
}
