//! Ranges of peaks, for limits that several classes share.
//!
//! Waves limit the registers of a file, which several classes may share. Spilled registers of a further class
//! may take lanes of one of them. A search knows one limit for each class. So the peaks that are possible are
//! covered by ranges, with at least and at most so many registers of each class. In a range, a class can have
//! what the others leave if they take their least. An order within these limits may still not fit, since the
//! others take more. The range is then divided at a peak of this order: one part has fewer registers of that
//! class, and the other part leaves less to the other classes. If no part has an order, none fits.

use super::{BoundFile, Registers};
use crate::index::ClassId;

/// The parts of a range that are searched at most.
pub(crate) const MOST_RANGES: u32 = 16;

/// All orders with peaks from `least` to `most`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PeakRange {
    pub(crate) least: Vec<u32>,
    pub(crate) most: Vec<u32>,
}

impl PeakRange {
    /// Return the range of all orders, if all have at least these peaks.
    pub(crate) fn at_least(least: Vec<u32>) -> Self {
        let most = vec![u32::MAX; least.len()];
        PeakRange { least, most }
    }

    /// Return the most registers of a class of a file with which a wave uses at most `limit` registers of the
    /// file, in some order of the range. `with_lanes` has the registers of each class that hold spilled ones.
    pub(crate) fn rest(&self, bound: &BoundFile, class: ClassId, with_lanes: &[u32], limit: u32) -> u32 {
        let own_lanes = with_lanes[class.index()];
        if bound.classes.len() == 1 {
            return limit.saturating_sub(own_lanes).min(self.most[class.index()]);
        }
        let mut pressure: Vec<u32> =
            self.least.iter().zip(with_lanes).map(|(least, lanes)| least.saturating_add(*lanes)).collect();
        let max = bound.classes.iter().find(|(id, _)| *id == class).map_or(0, |(_, class)| class.max);
        let rest = most_that(0, max, |own| {
            pressure[class.index()] = own.saturating_add(own_lanes);
            bound.used(&pressure) <= limit
        });
        rest.min(self.most[class.index()])
    }

    /// Return whether no order of the range is within limits.
    pub(crate) fn is_empty(&self, limits: &[Option<u32>]) -> bool {
        let least = self.least.iter().zip(limits);
        least.zip(&self.most).any(|((least, limit), most)| limit.unwrap_or(u32::MAX).min(*most) < *least)
    }

    /// Divide a range in which `peaks` were found, but do not fit for so many waves. Neither part has these
    /// peaks. Return `None` if they fit.
    pub(crate) fn divide(&self, registers: &Registers, peaks: &[u32], waves: u32) -> Option<[PeakRange; 2]> {
        self.division(registers, peaks, waves).map(|(class, at)| self.divided_at(class, at))
    }

    /// Return the parts with at most `at` registers of a class, and with more.
    pub(crate) fn divided_at(&self, class: ClassId, at: u32) -> [PeakRange; 2] {
        let [mut below, mut above] = [self.clone(), self.clone()];
        below.most[class.index()] = below.most[class.index()].min(at);
        above.least[class.index()] = above.least[class.index()].max(at + 1);
        [below, above]
    }

    /// Return the class and the number of registers at which such a range is divided.
    pub(crate) fn division(
        &self,
        registers: &Registers,
        peaks: &[u32],
        waves: u32,
    ) -> Option<(ClassId, u32)> {
        let with_lanes = registers.with_lanes(peaks);
        let excess = |bound: &BoundFile| bound.used(&with_lanes).checked_sub(bound.file.limit(waves));
        let (bound, excess) = registers
            .files()
            .iter()
            .find_map(|bound| Some((bound, excess(bound).filter(|more| *more > 0)?)))?;
        let of_lanes = registers.lanes().iter().find_map(|lanes| {
            let needed = lanes.needed(peaks[lanes.from.index()]);
            let is_of_file = bound.classes.iter().any(|(id, _)| lanes.to == Some(*id));
            let can_fall = needed > lanes.needed(self.least[lanes.from.index()]);
            (is_of_file && can_fall).then(|| (lanes.from, lanes.most(needed - 1)))
        });
        of_lanes.or_else(|| {
            let room = |(id, class): &(ClassId, super::FileClass)| {
                // Fewer than other regions need would leave no more to the other classes.
                let least = self.least[id.index()].max(bound.least(*id));
                let peak = peaks[id.index()].min(class.max);
                (peak.saturating_sub(least), *id, peak)
            };
            let (room, class, peak) = bound.classes.iter().map(room).max_by_key(|(room, ..)| *room)?;
            // Each part lacks about half of the excess.
            (room > 0).then(|| (class, peak - 1 - ((excess - 1) / 2).min(room - 1)))
        })
    }
}

/// Return the largest number of a range that fits, if all below it do, too, and the least one does.
pub(crate) fn most_that(least: u32, most: u32, mut fits: impl FnMut(u32) -> bool) -> u32 {
    let (mut low, mut high) = (least, most);
    while low < high {
        let middle = high - (high - low) / 2;
        match fits(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}
