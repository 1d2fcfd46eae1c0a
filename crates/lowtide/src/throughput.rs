//! The cycles that a SIMD spends on each wave: one number for waves and length together.
//!
//! A SIMD runs `w` waves of a kernel at a time. Each of them keeps the busiest unit for its issue cycles, and
//! the rest of its schedule it waits. All waves wait at the same time. A region thus takes
//!
//! ```text
//! frequency x (issue cycles + (length - issue cycles) / w + cycles for spills)
//! ```
//!
//! cycles for each wave, and a kernel the sum over its regions. With few waves the waits count most, with
//! many the issue cycles. All regions of a kernel have the same `w`, since a wave keeps its registers from
//! start to end.
//!
//! Queueing theory has two bounds for `w` customers, a server and a delay: they never queue,
//! `max(issue, length / w)`, or they all arrive at once, which is this formula. The
//! [timing model](crate::simulate) is nearer to the second, and the first cannot tell orders apart once it
//! takes a unit for busy: docs/simulate.md has the figures.
//!
//! The model knows neither caches nor bandwidth, and it lets a wave wait for each result as long as the
//! latency says. Paper 2 takes waves at any price. The filter of paper 4 is a rule of thumb for the same
//! trade-off: it rejects a few waves that cost many cycles, without frequencies and without the issue cycles.

use std::cmp::Ordering;

use crate::problem::{Goal, Measure, Problem, waves_together};
use crate::region::{Kernel, Region};
use crate::target::{Target, TargetError};

/// Estimated cycles of a SIMD for each wave: an exact fraction.
#[derive(Clone, Copy, Debug)]
pub struct CyclesPerWave {
    /// Cycles for all waves that run at a time.
    of_all: u128,
    waves: u32,
}

impl CyclesPerWave {
    /// No cycles yet, for so many waves at a time.
    pub fn none(waves: u32) -> Self {
        CyclesPerWave { of_all: 0, waves: waves.max(1) }
    }

    /// Add a region.
    pub fn add(&mut self, region: RegionCycles) {
        self.of_all = self.of_all.saturating_add(region.of_all(self.waves));
    }

    /// Return the sum of regions with so many waves at a time.
    pub fn sum(waves: u32, regions: impl Iterator<Item = RegionCycles>) -> Self {
        let mut sum = CyclesPerWave::none(waves);
        regions.for_each(|region| sum.add(region));
        sum
    }

    /// Return the waves that run at a time.
    pub fn waves(self) -> u32 {
        self.waves
    }

    /// Return the cycles for each wave, rounded to a floating-point number.
    pub fn value(self) -> f64 {
        self.of_all as f64 / f64::from(self.waves)
    }
}

impl Ord for CyclesPerWave {
    fn cmp(&self, other: &Self) -> Ordering {
        let [one, two] =
            [(self, other), (other, self)].map(|(own, other)| own.of_all.saturating_mul(other.waves.into()));
        one.cmp(&two)
    }
}

impl PartialOrd for CyclesPerWave {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for CyclesPerWave {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for CyclesPerWave {}

/// What the cycles of a region depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionCycles {
    /// How often a wave runs the region: only the ratio to other regions counts.
    pub frequency: u32,
    /// Cycles that each wave keeps the busiest unit.
    pub issue: u32,
    /// The length of the schedule.
    pub length: u32,
    /// Cycles for spills.
    pub spills: u32,
}

impl RegionCycles {
    /// Return the cycles for all of `waves` waves.
    pub(crate) fn of_all(self, waves: u32) -> u128 {
        let waves = u128::from(waves);
        let waits = self.length.saturating_sub(self.issue);
        let once = (u128::from(self.issue) + u128::from(self.spills)) * waves + u128::from(waits);
        once * u128::from(self.frequency)
    }
}

/// Return how often each region of a kernel runs: the recorded frequencies if all regions have one, else ten
/// times for each loop.
pub fn frequencies(kernel: &Kernel) -> Vec<u32> {
    let recorded: Option<Vec<u32>> = kernel.regions.iter().map(Region::frequency).collect();
    recorded.unwrap_or_else(|| kernel.regions.iter().map(loop_weight).collect())
}

/// Return the weight of a region in a loop-weighted sum of cycles (paper 1, Section V): ten times for each
/// loop around it.
pub fn loop_weight(region: &Region) -> u32 {
    /// Deeper loops would leave no digits for the rest of the kernel.
    const MOST_LOOPS: u32 = 6;
    10u32.pow(region.loop_depth().min(MOST_LOOPS))
}

/// Return the estimated cycles for each wave of a kernel that can have at most `most` waves, with one measure
/// for each region.
pub fn cycles_per_wave<'m>(
    kernel: &Kernel,
    target: &Target,
    most: u32,
    measures: impl IntoIterator<Item = &'m Measure> + Clone,
) -> Result<CyclesPerWave, TargetError> {
    let problems = kernel.regions.iter().map(|region| Problem::new(region, target, Goal::Throughput));
    Ok(cycles_per_wave_of(kernel, &problems.collect::<Result<Vec<_>, _>>()?, most, measures))
}

/// As [`cycles_per_wave`], with a problem for each region, whatever its goal.
pub fn cycles_per_wave_of<'m>(
    kernel: &Kernel,
    problems: &[Problem],
    most: u32,
    measures: impl IntoIterator<Item = &'m Measure> + Clone,
) -> CyclesPerWave {
    let waves = waves_together(problems, measures.clone(), most);
    let mut sum = CyclesPerWave::none(waves);
    for ((problem, frequency), measure) in problems.iter().zip(frequencies(kernel)).zip(measures) {
        sum.add(RegionCycles {
            frequency,
            issue: problem.issue_cycles(),
            length: measure.length,
            spills: problem.spill_cycles(|class| measure.peaks[class.index()].between),
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(waves: u32, issue: u32, length: u32, spills: u32) -> CyclesPerWave {
        CyclesPerWave::sum(waves, [RegionCycles { frequency: 10, issue, length, spills }].into_iter())
    }

    #[test]
    fn waves_share_the_waits() {
        assert_eq!(cycles(1, 20, 100, 0).value(), 1000.0);
        assert_eq!(cycles(4, 20, 100, 0).value(), 400.0);
        assert_eq!(cycles(10, 20, 100, 0).value(), 280.0);
        assert_eq!(cycles(10, 20, 100, 3).value(), 310.0);
        assert_eq!(cycles(10, 20, 20, 0), cycles(1, 20, 20, 0));
    }

    #[test]
    fn fractions_are_compared_exactly() {
        assert!(cycles(3, 0, 100, 0) < cycles(2, 0, 67, 0));
        assert!(cycles(3, 0, 100, 0) > cycles(4, 0, 133, 0));
        assert_eq!(cycles(3, 0, 99, 0), cycles(2, 0, 66, 0));
    }

    #[test]
    fn huge_figures_do_not_overflow() {
        let most = RegionCycles { frequency: u32::MAX, issue: u32::MAX, length: u32::MAX, spills: u32::MAX };
        let sum = CyclesPerWave::sum(u32::MAX, std::iter::repeat_n(most, 1000));
        assert!(sum > CyclesPerWave::sum(1, [most].into_iter()));
    }
}
