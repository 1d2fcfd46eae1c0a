//! The data that `lowtide bench pack --json` prints.

use std::collections::BTreeSet;

use lowtide::pack::Proof;
use serde::{Serialize, Serializer};

/// Ranges of sizes in Figure 2: the paper's five, whose last ends at 74, and larger blocks.
const SIZES: [(usize, usize); 6] = [(0, 10), (11, 20), (21, 30), (31, 40), (41, 75), (76, usize::MAX)];

/// The times within which proofs are counted, in seconds.
const TIMES: [f64; 4] = [0.01, 0.1, 1.0, 10.0];

/// The result of a block.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) group: String,
    pub(super) name: String,
    #[serde(rename = "n")]
    pub(super) size: usize,
    pub(super) list: u32,
    pub(super) best: u32,
    pub(super) split: u32,
    /// The proofs of `best` and `split`.
    #[serde(serialize_with = "proof_names")]
    pub(super) proofs: [Proof; 2],
    /// Whether the list schedule meets the bound, and that of the linear program: with the paper's ranges,
    /// and with narrower ones.
    pub(super) by_bound: bool,
    pub(super) by_linear: Option<[bool; 2]>,
    /// The most registers between two cycles.
    pub(super) list_registers: u32,
    pub(super) best_registers: u32,
    /// Registers that linear scan takes.
    pub(super) list_allocated: u32,
    pub(super) best_allocated: u32,
    pub(super) list_levels: u32,
    pub(super) best_levels: u32,
    /// Without splits, and with them.
    pub(super) seconds: [f64; 2],
}

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) blocks: u64,
    pub(super) operations: u64,
    pub(super) repeated: u64,
    /// Whether the blocks are generated.
    pub(super) generated: bool,
    /// Proven both without and with splits.
    pub(super) proved: u64,
    /// List schedules that the bound alone proves to be shortest.
    pub(super) by_bound: u64,
    /// With the paper's ranges, and with narrower ones.
    pub(super) by_linear_bound: Option<[u64; 2]>,
    pub(super) list_cycles: u64,
    /// Without splits.
    pub(super) best_cycles: u64,
    /// With them.
    pub(super) split_cycles: u64,
    pub(super) improved: u64,
    /// Blocks that splits make shorter still.
    pub(super) split_improved: u64,
    pub(super) list_registers: u64,
    pub(super) best_registers: u64,
    /// The two packings of all blocks, one after the other.
    pub(super) seconds: f64,
    pub(super) longest_seconds: f64,
    pub(super) groups: Vec<Totals>,
    /// Size and cycles saved, for each block where there are any.
    pub(super) figure_1: Vec<(usize, u32)>,
    pub(super) figure_2: Vec<SizeGroup>,
    /// Seconds, and blocks with both proofs within them.
    pub(super) within: Vec<(f64, u64)>,
    pub(super) open: Vec<Open>,
    /// The result of each block.
    pub(super) each: Vec<Row>,
    /// Names of the targets, and a description of the budget.
    pub(super) targets: BTreeSet<String>,
    pub(super) budget: String,
    /// The method, and the list scheduler that it is compared with.
    pub(super) algorithm: String,
    pub(super) list: String,
}

/// A column of Table 6.
#[derive(Serialize, Default)]
pub(super) struct Totals {
    pub(super) name: String,
    pub(super) blocks: u64,
    pub(super) proved: u64,
    pub(super) by_bound: u64,
    pub(super) by_linear: [u64; 2],
    pub(super) by_search: u64,
    pub(super) by_program: u64,
    pub(super) list_registers: u64,
    pub(super) best_registers: u64,
    pub(super) list_allocated: u64,
    pub(super) best_allocated: u64,
    pub(super) list_levels: u64,
    pub(super) best_levels: u64,
    pub(super) list_cycles: u64,
    pub(super) best_cycles: u64,
    pub(super) improved: u64,
    pub(super) split_proved: u64,
    pub(super) split_cycles: u64,
    pub(super) split_improved: u64,
    pub(super) largest: usize,
}

/// The blocks in a range of sizes.
#[derive(Serialize)]
pub(super) struct SizeGroup {
    /// The first size of the range.
    #[serde(skip)]
    pub(super) least: usize,
    /// The smallest and the largest block.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) blocks: u64,
    pub(super) improved: u64,
    pub(super) split_improved: u64,
    pub(super) seconds: f64,
}

/// A block without both proofs.
#[derive(Serialize)]
pub(super) struct Open {
    pub(super) name: String,
    pub(super) n: usize,
    pub(super) length: u32,
}

fn proof_names<S: Serializer>(proofs: &[Proof; 2], serializer: S) -> Result<S::Ok, S::Error> {
    let name = |proof: &Proof| match proof {
        Proof::Bound => "bound",
        Proof::Search => "search",
        Proof::Program => "program",
        Proof::Open => "open",
    };
    proofs.each_ref().map(name).serialize(serializer)
}

impl Row {
    /// Return whether both packings are proven to be shortest.
    pub(super) fn is_proved(&self) -> bool {
        !self.proofs.contains(&Proof::Open)
    }

    /// Return the seconds of the slower packing.
    fn longest(&self) -> f64 {
        self.seconds[0].max(self.seconds[1])
    }
}

impl Totals {
    fn add(&mut self, row: &Row) {
        let proved_by = |proof: Proof| u64::from(row.proofs[0] == proof && !row.by_bound);
        self.blocks += 1;
        self.proved += u64::from(row.proofs[0] != Proof::Open);
        self.by_bound += u64::from(row.by_bound);
        for (count, proves) in self.by_linear.iter_mut().zip(row.by_linear.unwrap_or_default()) {
            *count += u64::from(proves);
        }
        self.by_search += proved_by(Proof::Search) + proved_by(Proof::Bound);
        self.by_program += proved_by(Proof::Program);
        self.list_registers += u64::from(row.list_registers);
        self.best_registers += u64::from(row.best_registers);
        self.list_allocated += u64::from(row.list_allocated);
        self.best_allocated += u64::from(row.best_allocated);
        self.list_levels += u64::from(row.list_levels);
        self.best_levels += u64::from(row.best_levels);
        self.list_cycles += u64::from(row.list);
        self.best_cycles += u64::from(row.best);
        self.improved += u64::from(row.best < row.list);
        self.split_proved += u64::from(row.proofs[1] != Proof::Open);
        self.split_cycles += u64::from(row.split);
        self.split_improved += u64::from(row.split < row.best);
        self.largest = self.largest.max(row.size);
    }
}

impl Document {
    /// Compute all figures from the rows.
    pub(super) fn fill(&mut self, rows: Vec<Row>) {
        let mut all = Totals { name: "all".to_string(), ..Totals::default() };
        for row in &rows {
            all.add(row);
            let position = self.groups.iter().position(|group| group.name == row.group);
            let position = position.unwrap_or_else(|| {
                self.groups.push(Totals { name: row.group.clone(), ..Totals::default() });
                self.groups.len() - 1
            });
            self.groups[position].add(row);
        }
        self.blocks = all.blocks;
        self.operations = rows.iter().map(|row| row.size as u64).sum();
        self.proved = rows.iter().filter(|row| row.is_proved()).count() as u64;
        self.by_bound = all.by_bound;
        self.by_linear_bound = rows.iter().any(|row| row.by_linear.is_some()).then_some(all.by_linear);
        self.list_cycles = all.list_cycles;
        self.best_cycles = all.best_cycles;
        self.split_cycles = all.split_cycles;
        self.improved = all.improved;
        self.split_improved = all.split_improved;
        self.list_registers = all.list_registers;
        self.best_registers = all.best_registers;
        self.seconds = rows.iter().map(|row| row.seconds[0] + row.seconds[1]).sum();
        self.longest_seconds = rows.iter().map(Row::longest).fold(0.0, f64::max);
        let saved = rows.iter().filter(|row| row.best < row.list);
        self.figure_1 = saved.map(|row| (row.size, row.list - row.best)).collect();
        self.figure_1.sort_unstable();
        for (from, to) in SIZES {
            let own: Vec<&Row> = rows.iter().filter(|row| (from..=to).contains(&row.size)).collect();
            if !own.is_empty() {
                self.figure_2.push(SizeGroup {
                    least: from,
                    from: own.iter().map(|row| row.size).min().unwrap_or(from),
                    to: own.iter().map(|row| row.size).max().unwrap_or(to),
                    blocks: own.len() as u64,
                    improved: own.iter().filter(|row| row.best < row.list).count() as u64,
                    split_improved: own.iter().filter(|row| row.split < row.best).count() as u64,
                    seconds: own.iter().map(|row| row.longest()).fold(0.0, f64::max),
                });
            }
        }
        self.within = (TIMES.iter())
            .map(|&time| {
                let fast = rows.iter().filter(|row| row.is_proved() && row.longest() <= time);
                (time, fast.count() as u64)
            })
            .collect();
        let open = rows.iter().filter(|row| !row.is_proved());
        self.open = open.map(|row| Open { name: row.name.clone(), n: row.size, length: row.best }).collect();
        if self.groups.len() > 1 {
            self.groups.push(all);
        }
        self.each = rows;
    }
}
