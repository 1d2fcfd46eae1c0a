//! The data that `lowtide bench passes --json` prints.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics::exponent;

/// The algorithms that are compared. `rds` is MRDS if a pass has several outputs.
pub(super) const NAMES: [&str; 7] = ["dpmpp", "dpmpp-su", "mio", "rds-h", "mrds-h", "rds", "exact"];
/// The places of some of them.
pub(super) const DPMPP: usize = 0;
pub(super) const MIO: usize = 2;
pub(super) const RDS: usize = 5;
pub(super) const EXACT: usize = 6;

/// The stages of shaders.
pub(super) const STAGES: [&str; 3] = ["vertex", "fragment", "compute"];

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) target: String,
    /// Distinct blocks of the shaders.
    pub(super) shaders: u64,
    pub(super) operations: u64,
    /// Sums over all blocks. That of exact is the best cost known.
    pub(super) cost: BTreeMap<&'static str, u64>,
    pub(super) passes: BTreeMap<&'static str, u64>,
    /// Mean over the blocks of the mean branching factor of dpmpp.
    pub(super) branching: f64,
    /// The same if loads of inputs are operations.
    pub(super) load_branching: f64,
    /// Whether they are so in all other figures.
    pub(super) loads_are_operations: bool,
    /// Blocks whose optimum is proven.
    pub(super) proved: u64,
    /// Proven blocks where dpmpp has the optimum.
    pub(super) exact_agrees: u64,
    /// Proven blocks where each algorithm has the optimum.
    pub(super) optimal: BTreeMap<&'static str, u64>,
    /// Blocks with fewer than 100 operations, and the proven ones among them.
    pub(super) under_100: [u64; 2],
    /// Sums over the proven blocks.
    pub(super) proved_cost: BTreeMap<&'static str, u64>,
    /// Exponent of the time of dpmpp as a power of the number of operations.
    pub(super) growth: Option<f64>,
    /// The same for each algorithm.
    pub(super) growth_of: BTreeMap<&'static str, f64>,
    pub(super) seconds: f64,
    pub(super) seconds_of: BTreeMap<&'static str, f64>,
    pub(super) blocks: Vec<Row>,
    pub(super) generated: Vec<Generated>,
    pub(super) generated_growth: Option<f64>,
    /// Width of the search of dpmpp at each stage, for the largest block, with loads as operations.
    pub(super) figure_2: Option<Figure2>,
    /// A description of the budget.
    pub(super) budget: String,
}

/// Paper 5, Figure 2.
#[derive(Serialize)]
pub(super) struct Figure2 {
    pub(super) shader: String,
    pub(super) n: usize,
    pub(super) branching: f64,
    /// From the last operation to the first.
    pub(super) widths: Vec<u32>,
}

/// The result of a block. Arrays are in the order of `NAMES`.
#[derive(Serialize, Clone)]
pub(super) struct Row {
    pub(super) shader: String,
    pub(super) region: String,
    pub(super) n: usize,
    pub(super) stage: &'static str,
    pub(super) cost: [u64; NAMES.len()],
    pub(super) passes: [usize; NAMES.len()],
    /// Operations that the best partition runs: more than `n` if it recomputes some.
    pub(super) runs: usize,
    pub(super) bound: u64,
    pub(super) proved: bool,
    pub(super) branching: f64,
    pub(super) widest: u32,
    /// The search of dpmpp if loads of inputs are operations.
    pub(super) load_n: usize,
    pub(super) load_branching: f64,
    pub(super) load_widest: u32,
    pub(super) seconds: [f64; NAMES.len()],
    #[serde(skip)]
    pub(super) load_widths: Vec<u32>,
}

/// The result of a generated shader.
#[derive(Serialize)]
pub(super) struct Generated {
    pub(super) n: usize,
    pub(super) cost: u64,
    pub(super) passes: usize,
    pub(super) branching: f64,
    pub(super) seconds: f64,
}

impl Document {
    /// Compute all figures from the rows.
    pub(super) fn new(rows: Vec<Row>) -> Document {
        let mut document = Document::default();
        for row in &rows {
            document.shaders += 1;
            document.operations += row.n as u64;
            document.branching += (row.branching - document.branching) / document.shaders as f64;
            document.load_branching +=
                (row.load_branching - document.load_branching) / document.shaders as f64;
            document.proved += u64::from(row.proved);
            document.exact_agrees += u64::from(row.proved && row.cost[DPMPP] == row.cost[EXACT]);
            if row.n < 100 {
                document.under_100[0] += 1;
                document.under_100[1] += u64::from(row.proved);
            }
            for (position, name) in NAMES.into_iter().enumerate() {
                *document.cost.entry(name).or_default() += row.cost[position];
                *document.passes.entry(name).or_default() += row.passes[position] as u64;
                *document.seconds_of.entry(name).or_default() += row.seconds[position];
                *document.optimal.entry(name).or_default() +=
                    u64::from(row.proved && row.cost[position] == row.cost[EXACT]);
                *document.proved_cost.entry(name).or_default() +=
                    if row.proved { row.cost[position] } else { 0 };
            }
        }
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.n as f64, row.seconds[DPMPP])).collect();
        document.growth = exponent(&points, 3, 0.0);
        let largest = rows.iter().max_by_key(|row| row.n);
        document.figure_2 = largest.map(|row| Figure2 {
            shader: row.shader.clone(),
            n: row.load_n,
            branching: row.load_branching,
            widths: row.load_widths.clone(),
        });
        for (position, name) in NAMES.into_iter().enumerate() {
            let points: Vec<(f64, f64)> =
                rows.iter().map(|row| (row.n as f64, row.seconds[position])).collect();
            document.growth_of.extend(exponent(&points, 3, 0.0).map(|growth| (name, growth)));
        }
        document.blocks = rows;
        document
    }
}
