//! The data that `lowtide bench minreg --json` prints.

use std::collections::{BTreeMap, BTreeSet};

use lowtide::algorithm::Algorithm;
use lowtide_tool::table::grouped;
use serde::Serialize;

use super::args::MinregArgs;
use super::constraints::Comparison;
use super::proofs::{self, Open, Proofs, SizeRange};
use super::row::{ALGORITHMS, Row};
use super::two_phases::TwoPhases;
use crate::statistics::exponent;

/// The ratio of a peak to the optimum from which a region is an outlier.
const OUTLIER: f64 = 1.5;

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) regions: u64,
    /// Regions that were read and have the graph of another one.
    pub(super) repeated: u64,
    pub(super) instructions: u64,
    /// Regions whose optimum `exact` has proven within its budget.
    pub(super) proved: u64,
    pub(super) timeouts: u64,
    /// Time for each instruction or each region, and search steps.
    pub(super) budget: BudgetInfo,
    /// Over the regions whose optimum is known.
    #[serde(serialize_with = "crate::names::with_former_names")]
    pub(super) algorithms: BTreeMap<&'static str, Totals>,
    /// Over all regions, against the lower bound instead of the optimum.
    #[serde(serialize_with = "crate::names::with_former_names")]
    pub(super) against_bound: BTreeMap<&'static str, Totals>,
    /// The time of `few-registers` grows with this power of the size, on regions of 100 instructions and
    /// more.
    pub(super) few_registers_exponent: Option<f64>,
    pub(super) proofs: Proofs,
    pub(super) sizes: Vec<SizeRange>,
    /// Every region whose optimum is not known.
    pub(super) open: Vec<Open>,
    /// The result of each graph.
    pub(super) each: Vec<Row>,
    /// The range of sizes.
    #[serde(skip)]
    pub(super) least: usize,
    #[serde(skip)]
    pub(super) most: Option<usize>,
    /// Names of the targets.
    pub(super) targets: BTreeSet<String>,
    /// The two phases of Section V, on all kernels.
    pub(super) two_phases: TwoPhases,
    /// With `--families`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) families: Option<Vec<Family>>,
    /// With `--constraints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constraints: Option<Comparison>,
}

/// The result of a hard graph.
#[derive(Serialize)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) n: usize,
    /// Peaks of the source order and of `few-registers`.
    pub(super) source: u32,
    pub(super) few_registers: u32,
    pub(super) bound: u32,
    pub(super) best: u32,
    pub(super) proved: bool,
    /// Whether the proof needed a search; a cut was enough otherwise.
    pub(super) by_search: bool,
    /// Of the exact search.
    pub(super) seconds: f64,
}

/// The budget of `exact`.
#[derive(Serialize, Default)]
pub(super) struct BudgetInfo {
    ms_per_instruction: Option<f64>,
    seconds_per_region: Option<f64>,
    nodes: Option<u64>,
}

impl BudgetInfo {
    pub(super) fn new(args: &MinregArgs) -> Self {
        let budget = args.budget.budget();
        let seconds_per_region = args.region_budget.map(|time| time.as_secs_f64());
        let per_instruction = budget.time_per_instr.filter(|_| seconds_per_region.is_none());
        BudgetInfo {
            ms_per_instruction: per_instruction.map(|time| 1e3 * time.as_secs_f64()),
            seconds_per_region,
            nodes: budget.nodes,
        }
    }

    /// Describe the budget.
    pub(super) fn in_words(&self) -> String {
        let time = self.ms_per_instruction.map(|time| format!("{time} ms for each instruction"));
        let whole = self.seconds_per_region.map(|time| format!("{time} s for each region"));
        let nodes = self.nodes.map(|nodes| format!("{} steps for each region", grouped(nodes)));
        [time, whole, nodes].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

/// The results of one algorithm over all regions.
#[derive(Serialize, Default, Clone)]
pub(super) struct Totals {
    pub(super) optimal: u64,
    pub(super) outliers: u64,
    pub(super) mean_ratio: f64,
    pub(super) seconds: f64,
    /// Mean instructions, and edges for each instruction, of the optimal regions and of the outliers.
    pub(super) optimal_size: f64,
    pub(super) optimal_density: f64,
    pub(super) outlier_size: f64,
    pub(super) outlier_density: f64,
}

impl Document {
    /// Compute all figures from the rows.
    pub(super) fn fill(&mut self, rows: Vec<Row>) {
        self.regions = rows.len() as u64;
        self.instructions = rows.iter().map(|row| row.size as u64).sum();
        let proved: Vec<&Row> = rows.iter().filter(|row| row.is_proved()).collect();
        self.proved = proved.len() as u64;
        self.timeouts = self.regions - self.proved;
        let all: Vec<&Row> = rows.iter().collect();
        for (position, algorithm) in ALGORITHMS.into_iter().enumerate() {
            self.algorithms.insert(algorithm.name(), Totals::new(&proved, position));
            self.against_bound.insert(algorithm.name(), Totals::new(&all, position));
        }
        let times = rows.iter().filter(|row| row.size >= 100).filter_map(|row| {
            let (_, seconds) = row.of(Algorithm::FEW_REGISTERS)?;
            Some((row.size as f64, seconds))
        });
        self.few_registers_exponent = exponent(&times.collect::<Vec<_>>(), 10, 0.1);
        self.proofs = Proofs::new(rows.iter());
        self.sizes = proofs::by_size(&rows, self.least, self.most);
        self.open = proofs::open(&rows);
        self.each = rows;
    }
}

impl Totals {
    fn new(rows: &[&Row], algorithm: usize) -> Self {
        let mut totals = Totals::default();
        let mut count = 0u64;
        let (mut optimal, mut outliers) = ((0, 0), (0, 0));
        for row in rows {
            let Some((peak, seconds)) = row.results[algorithm] else { continue };
            let ratio = row.ratio(peak);
            count += 1;
            totals.seconds += seconds;
            totals.mean_ratio += ratio;
            let sizes = if peak == row.bound {
                totals.optimal += 1;
                &mut optimal
            } else if ratio >= OUTLIER {
                totals.outliers += 1;
                &mut outliers
            } else {
                continue;
            };
            sizes.0 += row.size;
            sizes.1 += row.edges;
        }
        totals.mean_ratio /= count.max(1) as f64;
        let mean = |(size, edges): (usize, usize), count: u64| {
            (size as f64 / count.max(1) as f64, edges as f64 / size.max(1) as f64)
        };
        (totals.optimal_size, totals.optimal_density) = mean(optimal, totals.optimal);
        (totals.outlier_size, totals.outlier_density) = mean(outliers, totals.outliers);
        totals
    }
}
