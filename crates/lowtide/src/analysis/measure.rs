//! The figures of a schedule: peaks, occupancy, spills and length.

use super::pressure::peaks_along;
use crate::problem::{Measure, Problem};
use crate::schedule::Schedule;

impl Problem<'_> {
    /// Return peaks, occupancy and length of a schedule.
    pub fn measure(&self, schedule: &Schedule) -> Measure {
        let peaks = peaks_along(self.region(), schedule.order());
        let between: Vec<u32> = peaks.iter().map(|peak| peak.between).collect();
        Measure {
            occupancy: self.registers().occupancy(&between),
            spilled: self.registers().spilled(&between),
            length: schedule.length(),
            peaks,
        }
    }
}
