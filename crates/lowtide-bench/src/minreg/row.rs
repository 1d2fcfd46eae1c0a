//! The result of one region, and the algorithms that are compared.

use std::collections::BTreeMap;

use lowtide::algorithm::Algorithm;
use serde::{Serialize, Serializer};

/// The algorithms that are compared.
pub(super) const ALGORITHMS: [Algorithm; 12] = [
    Algorithm::SOURCE,
    Algorithm::PRODUCTION,
    Algorithm::SETHI_ULLMAN,
    Algorithm::SU_RP,
    Algorithm::SU_RP_ADJUST,
    Algorithm::SU_CLUSTER,
    Algorithm::SU_CLUSTER_WHOLE,
    Algorithm::SU_CLUSTER_ADJUST,
    Algorithm::POLICY_SETHI_ULLMAN,
    Algorithm::POLICY_CLUSTER,
    Algorithm::FEW_REGISTERS,
    Algorithm::EXACT,
];

/// The result of one region.
pub(super) struct Row {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) size: usize,
    pub(super) edges: usize,
    /// No order has a lower peak.
    pub(super) bound: u32,
    pub(super) proof: Proof,
    /// Peak and seconds of each algorithm; none for production where no order is recorded.
    pub(super) results: Vec<Option<(u32, f64)>>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Each<'a> {
            kernel: &'a str,
            region: &'a str,
            n: usize,
            edges: usize,
            bound: u32,
            proof: Proof,
            peaks: BTreeMap<&'static str, u32>,
        }
        let peaks = ALGORITHMS.iter().zip(&self.results);
        let peaks = peaks.filter_map(|(algorithm, result)| Some((algorithm.name(), (*result)?.0)));
        Each {
            kernel: &self.kernel,
            region: &self.region,
            n: self.size,
            edges: self.edges,
            bound: self.bound,
            proof: self.proof,
            peaks: peaks.collect(),
        }
        .serialize(serializer)
    }
}

/// The end of the exact search.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Proof {
    /// Its schedule meets a bound by a cut.
    Cut,
    /// It has searched all orders that could be better.
    Search,
    /// Its budget is spent.
    Timeout,
}

impl Row {
    /// Return the ratio of a peak to the bound. It is 1 if both are 0.
    pub(super) fn ratio(&self, peak: u32) -> f64 {
        if peak == self.bound { 1.0 } else { f64::from(peak) / f64::from(self.bound.max(1)) }
    }

    /// Return peak and seconds of an algorithm that ran.
    pub(super) fn of(&self, algorithm: Algorithm) -> Option<(u32, f64)> {
        let position = ALGORITHMS.iter().position(|other| *other == algorithm)?;
        self.results[position]
    }

    /// Return the lowest peak of all algorithms.
    pub(super) fn best(&self) -> u32 {
        self.results.iter().flatten().map(|(peak, _)| *peak).min().unwrap_or(self.bound)
    }

    /// Return whether the optimum is known.
    pub(super) fn is_proved(&self) -> bool {
        self.proof != Proof::Timeout
    }

    /// Return the seconds of the exact search.
    pub(super) fn seconds(&self) -> f64 {
        self.of(Algorithm::EXACT).map_or(0.0, |(_, seconds)| seconds)
    }
}
