//! The result of a region as a row of a table.

/// The schema of a Parquet file of results, in the notation of Parquet. Numbers have a sign, so that queries
/// can subtract them.
pub const RESULT_SCHEMA: &str = "
message lowtide_results {
  REQUIRED BYTE_ARRAY kernel (UTF8);
  REQUIRED BYTE_ARRAY readable_name (UTF8);
  REQUIRED BYTE_ARRAY origin (UTF8);
  REQUIRED BYTE_ARRAY target (UTF8);
  REQUIRED BYTE_ARRAY latencies (UTF8);
  REQUIRED BYTE_ARRAY baseline (UTF8);
  REQUIRED BYTE_ARRAY region (UTF8);
  REQUIRED INT32 instructions;
  REQUIRED INT32 waves_before;
  REQUIRED INT32 waves;
  REQUIRED INT32 waves_bound;
  REQUIRED INT32 peak_before;
  REQUIRED INT32 peak;
  REQUIRED INT32 peak_bound;
  REQUIRED INT32 length_before;
  REQUIRED INT32 length;
  REQUIRED INT32 length_bound;
  REQUIRED BOOLEAN proven_waves;
  REQUIRED BOOLEAN proven_length;
  REQUIRED BOOLEAN proven;
  REQUIRED BOOLEAN filtered;
  REQUIRED INT32 spilled;
  REQUIRED INT32 pairs;
  REQUIRED INT32 broken_pairs;
  REQUIRED INT64 nodes;
  REQUIRED DOUBLE search_seconds;
  REQUIRED DOUBLE kernel_seconds;
  REQUIRED group classes (LIST) { REPEATED group list { REQUIRED group element {
    REQUIRED BYTE_ARRAY class (UTF8);
    REQUIRED INT32 peak;
    REQUIRED INT32 peak_at;
    REQUIRED INT32 peak_bound;
    OPTIONAL BYTE_ARRAY reason (UTF8);
  } } }
  REQUIRED group order (LIST) { REPEATED group list { REQUIRED INT32 element; } }
  REQUIRED group cycles (LIST) { REPEATED group list { REQUIRED INT32 element; } }
}";

/// The result of a region. Arrays have the figure of the baseline, that of the result, and the bound on it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultRow<'a> {
    /// The name of the kernel.
    pub kernel: &'a str,
    /// The name without mangling.
    pub readable_name: &'a str,
    /// The source of the kernel.
    pub origin: &'a str,
    /// The GPU that the kernel is scheduled for.
    pub target: &'a str,
    /// The latencies: `recorded`, `target`, or `target` times a factor.
    pub latencies: &'a str,
    /// The order that the result is compared with: `production` or `source`.
    pub baseline: &'a str,
    /// The name of the region.
    pub region: &'a str,
    /// The waves of the whole kernel.
    pub waves: [u32; 3],
    /// The peak of the target's first class.
    pub peak: [u32; 3],
    /// The length in cycles.
    pub length: [u32; 3],
    /// Whether more waves are impossible in this region.
    pub proven_waves: bool,
    /// Whether a shorter schedule is impossible.
    pub proven_length: bool,
    /// Whether the result is optimal for the goal.
    pub proven: bool,
    /// Whether the filter has rejected waves of the kernel.
    pub filtered: bool,
    /// Registers that are spilled to memory.
    pub spilled: u32,
    /// Pairs of instructions that the input clusters.
    pub pairs: u32,
    /// Those of them that do not stay together.
    pub broken_pairs: u32,
    /// Steps of all searches of the region.
    pub nodes: u64,
    /// The time of these searches.
    pub search_seconds: f64,
    /// The time of the whole kernel.
    pub kernel_seconds: f64,
    /// The figures of each register class.
    pub classes: Vec<ClassRow<'a>>,
    /// The instructions in issue order.
    pub order: &'a [u32],
    /// The issue cycle of each instruction.
    pub cycles: &'a [u32],
}

/// The figures of a register class of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRow<'a> {
    /// The name of the class.
    pub class: &'a str,
    /// The peak pressure between instructions.
    pub peak: u32,
    /// The peak pressure at instructions.
    pub peak_at: u32,
    /// The lower bound on `peak`.
    pub peak_bound: u32,
    /// The reason of the bound: `cut`, `search` or `solver`. None for a bound of 0.
    pub reason: Option<&'a str>,
}
