//! Results: the best schedule of a region, the figures of a kernel, and what is proven about all others.

use crate::problem::Measure;
use crate::progress::SearchLog;
use crate::proof::Bounds;
use crate::schedule::Schedule;

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
    /// What the two passes did. None if they did not run.
    pub passes: Option<Passes>,
    /// The logs of the searches.
    pub searches: Vec<SearchLog>,
}

impl Outcome {
    /// The result without the logs of its searches, whose times differ from run to run: for comparing results.
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
    /// Waves of the kernel: the fewest of any region, and not more than outside limits allow.
    pub occupancy: u32,
    /// No schedule gives more waves.
    pub occupancy_bound: u32,
    /// Whether the [`Filter`](crate::pipeline::Filter) has given up waves for length.
    pub is_filtered: bool,
}

impl KernelOutcome {
    /// The result for a kernel without regions.
    pub fn new(most_waves: u32) -> Self {
        KernelOutcome {
            regions: Vec::new(),
            occupancy: most_waves,
            occupancy_bound: most_waves,
            is_filtered: false,
        }
    }

    /// Adds a region. The caller adds its bound on waves.
    pub fn push(&mut self, region: Outcome) {
        self.occupancy = self.occupancy.min(region.measure.occupancy);
        self.regions.push(region);
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
    /// Length of the order of pass 1, with necessary stalls; of the known order that comes nearest to a limit on registers, if there is one.
    pub start_length: u32,
}
