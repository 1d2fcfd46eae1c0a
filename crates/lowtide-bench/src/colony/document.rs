//! The data that `lowtide bench colony --json` prints.

use std::collections::{BTreeMap, BTreeSet};

use lowtide::colony::Answer;
use serde::Serialize;

/// The paper's ranges of sizes, each with its first size.
pub(super) const RANGES: [(&str, usize); 3] = [("1-49", 1), ("50-99", 50), (">=100", 100)];

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) kernels: u64,
    pub(super) nodes: Option<u64>,
    pub(super) threads: usize,
    /// The GPU, and the time to open it and to compile its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpu_start_seconds: Option<f64>,
    /// By pass, then by range.
    pub(super) passes: [BTreeMap<&'static str, Range>; 2],
    pub(super) whole: Whole,
    /// Time of the production heuristic for all kernels, on one thread.
    pub(super) heuristic_seconds: f64,
    pub(super) effect: Effect,
    /// The results of each task.
    pub(super) each: Vec<Each>,
    /// Regions and names of the targets.
    pub(super) regions: u64,
    pub(super) targets: BTreeSet<String>,
}

/// The effect of the colony on all kernels, against the recorded production orders, or the source order
/// without a record.
#[derive(Serialize, Default)]
pub(super) struct Effect {
    /// Sums over kernels, and over regions.
    pub(super) occupancy: BTreeMap<&'static str, u64>,
    pub(super) length: BTreeMap<&'static str, u64>,
    /// Of one kernel, and of one region, in percent.
    pub(super) most_occupancy_gained: f64,
    pub(super) most_length_saved: f64,
}

/// A task of the colony.
#[derive(Serialize)]
pub(super) struct Each {
    pub(super) pass: usize,
    pub(super) n: usize,
    pub(super) iterations: u32,
    pub(super) choices: u64,
    /// Time of one thread.
    pub(super) seconds: f64,
    /// Speed-up over one thread, by device.
    pub(super) speedup: BTreeMap<&'static str, f64>,
}

/// Regions of similar size.
#[derive(Serialize, Default)]
pub(super) struct Range {
    /// Distinct tasks with a gap to close.
    pub(super) regions: u64,
    pub(super) iterations: u64,
    pub(super) choices: u64,
    /// Time of one thread.
    pub(super) seconds: f64,
    pub(super) choices_per_second: f64,
    /// By device.
    pub(super) devices: BTreeMap<&'static str, SpeedUps>,
}

/// Speed-ups over one thread that does the same work.
#[derive(Serialize, Default)]
pub(super) struct SpeedUps {
    pub(super) geomean_speedup: f64,
    pub(super) max_speedup: f64,
    pub(super) min_speedup: f64,
    /// Of all regions together, where they are one batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) batch_speedup: Option<f64>,
    /// Whether all schedules are the same.
    pub(super) identical: bool,
    #[serde(skip)]
    pub(super) is_different: bool,
    #[serde(skip)]
    pub(super) logarithms: f64,
    #[serde(skip)]
    pub(super) count: u32,
}

/// All regions at once.
#[derive(Serialize, Default)]
pub(super) struct Whole {
    /// By device.
    pub(super) seconds: BTreeMap<&'static str, f64>,
    pub(super) speedup: BTreeMap<&'static str, f64>,
    /// Of the GPU's seconds: work on the host, transfers, and work on the device.
    pub(super) gpu_parts: [f64; 3],
    pub(super) identical: bool,
    #[serde(skip)]
    pub(super) is_different: bool,
}

/// Names of devices.
pub(super) const ONE_THREAD: &str = "one-thread";
pub(super) const THREADS: &str = "threads";
pub(super) const CUDA: &str = "cuda";

/// Return the name of the range of a size.
pub(super) fn range_of(size: usize) -> &'static str {
    RANGES.iter().rev().find(|(_, first)| size >= *first).map_or(RANGES[0].0, |(name, _)| name)
}

impl Range {
    /// Add a task of one thread.
    pub(super) fn add(&mut self, answer: &Answer, seconds: f64) {
        self.regions += 1;
        self.iterations += u64::from(answer.iterations);
        self.choices += answer.choices;
        self.seconds += seconds;
    }
}

impl SpeedUps {
    /// Add the speed-up of a task.
    pub(super) fn add(&mut self, ratio: f64, is_same: bool) {
        self.min_speedup = if self.count == 0 { ratio } else { ratio.min(self.min_speedup) };
        self.max_speedup = ratio.max(self.max_speedup);
        self.logarithms += ratio.ln();
        self.count += 1;
        self.is_different |= !is_same;
    }

    /// Compute the mean.
    pub(super) fn finish(&mut self) {
        let mean = (self.logarithms / f64::from(self.count.max(1))).exp();
        // Rounding must not put the mean of equal figures below or above them.
        self.geomean_speedup = mean.max(self.min_speedup).min(self.max_speedup);
        self.identical = !self.is_different;
    }
}

impl Whole {
    /// Add the time of a device.
    pub(super) fn add(&mut self, device: &'static str, seconds: f64) {
        *self.seconds.entry(device).or_default() += seconds;
    }
}
