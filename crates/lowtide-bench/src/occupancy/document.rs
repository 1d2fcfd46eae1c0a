//! The data that `lowtide bench occupancy --json` prints.

use std::collections::{BTreeMap, BTreeSet};

use lowtide::algorithm::Algorithm;
use serde::Serialize;

use super::counts::{Counts, PassCounts};

/// The algorithms that the two passes are compared with.
pub(super) const OTHERS: [Algorithm; 9] = [
    Algorithm::PRODUCTION,
    Algorithm::LLVM_GENERIC,
    Algorithm::SOURCE,
    Algorithm::FEW_REGISTERS,
    Algorithm::LIST,
    Algorithm::WAVES,
    Algorithm::WEIGHTED,
    Algorithm::TWO_PASS_PAPER,
    Algorithm::COLONY,
];

/// The name of the two passes without the filter.
pub(super) const TWO_PASSES: &str = "twopass";
/// The name of the two passes with the filter.
pub(super) const FILTERED: &str = "filtered";

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) kernels: u64,
    pub(super) regions: u64,
    pub(super) instructions: u64,
    /// Regions without a recorded production order, for which the source order stands.
    pub(super) not_recorded: u64,
    /// Sums over kernels.
    #[serde(serialize_with = "crate::names::with_former_names")]
    pub(super) occupancy: BTreeMap<&'static str, u64>,
    /// Sums over regions.
    #[serde(serialize_with = "crate::names::with_former_names")]
    pub(super) length: BTreeMap<&'static str, u64>,
    /// Sums over regions, with ten times the weight for each loop around a region.
    #[serde(serialize_with = "crate::names::with_former_names")]
    pub(super) weighted_length: BTreeMap<&'static str, u64>,
    pub(super) pass1: PassCounts,
    pub(super) pass2: PassCounts,
    /// The passes of `twopass-paper`.
    pub(super) paper_pass1: PassCounts,
    pub(super) paper_pass2: PassCounts,
    /// Its distinct graphs, and the proofs about them.
    pub(super) paper_distinct: Counts,
    /// The kernels on which another algorithm is better than `twopass`.
    pub(super) better: Vec<Better>,
    /// Wall time on `threads` threads.
    #[serde(serialize_with = "crate::names::with_former_names")]
    pub(super) seconds: BTreeMap<&'static str, f64>,
    pub(super) threads: usize,
    /// Upper bound on the waves, and lower bound on the length with the waves of `twopass`.
    pub(super) occupancy_bound: u64,
    pub(super) length_bound: u64,
    /// Kernels that the filter gives fewer waves than they could have.
    pub(super) filtered: u64,
    pub(super) distinct: Counts,
    /// Time of each pass, over all graphs and threads, and its search states for each second.
    pub(super) pass_seconds: [f64; 2],
    pub(super) states_per_second: [f64; 2],
    pub(super) list: List,
    /// The results of each budget. The figures above are those of the first one.
    pub(super) budgets: Vec<AtBudget>,
    /// Names of the targets.
    pub(super) targets: BTreeSet<String>,
    /// Waves and length of every kernel, in the order of the input.
    pub(super) each_kernel: Vec<EachKernel>,
    /// The result of each distinct graph.
    pub(super) each: Vec<Each>,
    /// The range of sizes.
    #[serde(skip)]
    pub(super) least: usize,
    #[serde(skip)]
    pub(super) most: Option<usize>,
}

/// Waves and summed length of a kernel, by algorithm.
#[derive(Serialize)]
pub(super) struct EachKernel {
    pub(super) kernel: String,
    pub(super) occupancy: BTreeMap<&'static str, u32>,
    pub(super) length: BTreeMap<&'static str, u64>,
}

/// A kernel on which an algorithm is better than `twopass`: more waves, or the same waves and fewer cycles in
/// all.
#[derive(Serialize)]
pub(super) struct Better {
    pub(super) kernel: String,
    pub(super) algorithm: &'static str,
    /// Those of the algorithm, and those of `twopass`.
    pub(super) waves: [u32; 2],
    pub(super) length: [u64; 2],
}

/// A distinct graph, at its first region.
#[derive(Serialize)]
pub(super) struct Each {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) n: usize,
    /// The waves that `twopass` has to keep, and the lower bound on the length with them.
    pub(super) waves: u32,
    pub(super) length_bound: u32,
    /// By algorithm; waves are those of the region alone.
    pub(super) occupancy: BTreeMap<&'static str, u32>,
    pub(super) length: BTreeMap<&'static str, u32>,
}

/// The fast mode on distinct graphs.
#[derive(Serialize, Default)]
pub(super) struct List {
    pub(super) us_per_instruction: f64,
    /// Its summed length against that of the two passes, where both keep the same waves.
    pub(super) length_ratio: f64,
}

/// The results of the two passes with one budget.
#[derive(Serialize)]
pub(super) struct AtBudget {
    pub(super) ms_per_instruction: Option<f64>,
    pub(super) nodes: Option<u64>,
    pub(super) seconds: f64,
    pub(super) occupancy: u64,
    pub(super) length: u64,
    pub(super) pass1: PassCounts,
    pub(super) pass2: PassCounts,
    pub(super) distinct: Counts,
}
