//! Results: the best schedule of a region, the figures of a kernel, and what is proven about all others.

use std::sync::Arc;

use crate::problem::{Measure, Problem, waves_together, waves_with};
use crate::progress::SearchLog;
use crate::proof::Bounds;
use crate::schedule::Schedule;
use crate::throughput::CyclesPerWave;

/// The result for a region: the best schedule found, and how far it can be from the best possible one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The schedule. The independent checker has accepted it.
    pub schedule: Schedule,
    /// The figures of the schedule, as the checker has found them too.
    pub measure: Measure,
    /// What is proven about all schedules.
    pub bounds: Bounds,
    /// Whether no schedule spills less, and none has more waves that the kernel can use.
    pub proven_waves: bool,
    /// Whether the schedule is proven optimal for its goal: in the peak of the first class, in waves and
    /// length, or in length. For the last two goals, the schedule is also optimal in the registers beyond the
    /// limits.
    pub optimal: bool,
    /// How often a wave runs the region, relative to the other regions of the kernel.
    pub frequency: u32,
    /// Cycles that each wave keeps the busiest unit, whatever the order.
    pub issue_cycles: u32,
    /// Cycles that the spills cost each wave.
    pub spill_cycles: u32,
    /// Pairs of instructions that the front end wants next to each other, and that can be
    /// ([`HintKind::Cluster`](crate::region::HintKind::Cluster)).
    pub pairs: u32,
    /// Pairs whose instructions do not follow each other in the schedule.
    pub broken_pairs: u32,
    /// What the two passes did. None if they did not run.
    pub passes: Option<Passes>,
    /// The logs of the searches.
    pub searches: Vec<SearchLog>,
}

impl Outcome {
    /// The result without the logs of its searches, whose times differ from run to run: for comparing
    /// results.
    pub fn without_searches(self) -> Self {
        Outcome { searches: Vec::new(), ..self }
    }
}

/// The result for a kernel: its regions, and what they mean for its occupancy.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelOutcome {
    /// One outcome for each region.
    pub regions: Vec<Outcome>,
    /// Waves of the kernel: those that all regions allow together, and not more than outside limits allow.
    pub occupancy: u32,
    /// No schedule gives more waves.
    pub occupancy_bound: u32,
    /// Whether the [`Filter`](crate::pipeline::Filter) has given up waves for length.
    pub is_filtered: bool,
    /// The least length for each number of waves. None if it was not asked for.
    pub front: Option<Front>,
}

/// The trade-off between waves and length of a kernel: for each number of waves, short schedules that allow
/// them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Front {
    /// One point for each step of occupancy that was looked at, fewest waves first.
    pub points: Vec<FrontPoint>,
    /// No schedules of the kernel need fewer cycles for each wave, whatever their waves.
    pub cycles_bound: CyclesPerWave,
}

impl Front {
    /// Return the point with the fewest cycles for each wave; among equals, the shortest one, and then the
    /// one with the most waves.
    pub fn best(&self) -> Option<&FrontPoint> {
        let length = |point: &FrontPoint| -> u64 {
            point.regions.iter().map(|region| u64::from(region.measure.length)).sum()
        };
        self.points.iter().rev().min_by_key(|point| (point.cycles, length(point)))
    }

    /// Return whether no schedules have fewer cycles for each wave than the best point.
    pub fn is_proven(&self) -> bool {
        self.best().is_some_and(|best| best.cycles <= self.cycles_bound)
    }
}

/// The schedules of a kernel for a number of waves.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FrontPoint {
    /// The waves that all schedules allow.
    pub waves: u32,
    /// One entry for each region.
    pub regions: Vec<FrontRegion>,
    /// Estimated cycles for each wave.
    pub cycles: CyclesPerWave,
    /// No schedules with at least so many waves have fewer cycles, if they use no more than these waves.
    pub cycles_bound: CyclesPerWave,
}

/// The schedule of a region at one point of a front.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FrontRegion {
    /// The schedule. The independent checker has accepted it.
    pub schedule: Arc<Schedule>,
    /// Its figures.
    pub measure: Measure,
    /// Cycles that its spills cost each wave.
    pub spill_cycles: u32,
    /// No schedule with so many waves and no spills is shorter.
    pub length_bound: u32,
}

impl KernelOutcome {
    /// The result for a kernel without regions.
    pub fn new(most_waves: u32) -> Self {
        KernelOutcome {
            regions: Vec::new(),
            occupancy: most_waves,
            occupancy_bound: most_waves,
            is_filtered: false,
            front: None,
        }
    }

    /// Count the waves that the schedules allow, and those that the bounds of their peaks leave, when all
    /// regions are there. There is a problem for each.
    pub fn count_waves<'p, 'a: 'p>(&mut self, problems: impl IntoIterator<Item = &'p Problem<'a>> + Clone) {
        let found = self.regions.iter().map(|region| &region.measure);
        self.occupancy = waves_together(problems.clone(), found, self.occupancy);
        let least = self.regions.iter().map(|region| region.bounds.peaks.clone());
        self.occupancy_bound = waves_with(problems.into_iter().zip(least)).min(self.occupancy_bound);
    }
}

/// What the two passes did for a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    /// Whether the known orders have fewer waves than the kernel could have, were it not for this region.
    pub is_asked: bool,
    /// Whether pass 1 had to search, since no bound settled it.
    pub is_searched: bool,
    /// Whether it found more, or fewer spills.
    pub is_improved: bool,
    /// The waves that pass 2 had to keep.
    pub waves: u32,
    /// Length of the order of pass 1, with necessary stalls; of the known order that comes nearest to a limit
    /// on registers, if there is one.
    pub start_length: u32,
}
