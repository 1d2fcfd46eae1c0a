//! `lowtide bench pack`: cycles of the list schedule against the best packing (paper 3, Table 6, Figures 1 and 2).
//!
//! Every block is packed twice: without splits, which is what the paper's table and figures are about, and with them.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use lowtide::generate::shaders;
use lowtide::pack::check::check;
use lowtide::pack::{PackProblem, Packing, Proof};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_cp::pack::PackSolver;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::{Serialize, Serializer};

use super::{Findings, chapters, show};
use crate::args::{BenchPackArgs, InputArgs, PackMethod};
use crate::book::{Chapter, percent};
use crate::commands::pack::{Packer, problem};
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel, load_target};
use crate::progress;
use crate::report::{grouped, table, trimmed};

/// Groups of sizes in Figure 2: the paper's five, of which the last ends at 74, and what is larger.
const SIZES: [(usize, usize); 6] = [(0, 10), (11, 20), (21, 30), (31, 40), (41, 75), (76, usize::MAX)];

/// Times that are counted, in seconds.
const TIMES: [f64; 4] = [0.01, 0.1, 1.0, 10.0];

/// More groups than these are one.
const MOST_GROUPS: usize = 5;

/// A block to measure.
struct Block<'a> {
    group: String,
    name: String,
    region: Region,
    target: &'a Target,
}

/// What became of it.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) group: String,
    pub(super) name: String,
    #[serde(rename = "n")]
    pub(super) size: usize,
    pub(super) list: u32,
    pub(super) best: u32,
    pub(super) split: u32,
    /// What proves `best` and `split`.
    #[serde(serialize_with = "proof_names")]
    pub(super) proofs: [Proof; 2],
    /// Whether the list schedule meets our bound, and that of the linear program.
    pub(super) by_bound: bool,
    pub(super) by_linear: Option<bool>,
    pub(super) list_registers: u32,
    pub(super) best_registers: u32,
    pub(super) list_levels: u32,
    pub(super) best_levels: u32,
    /// Without splits, and with them.
    pub(super) seconds: [f64; 2],
}

#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) blocks: u64,
    pub(super) operations: u64,
    pub(super) repeated: u64,
    /// Whether the blocks are made up.
    pub(super) generated: bool,
    /// Proven both without and with splits.
    pub(super) proved: u64,
    /// List schedules that the bound alone proves to be shortest.
    pub(super) by_bound: u64,
    pub(super) by_linear_bound: Option<u64>,
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
    /// What became of each block.
    pub(super) each: Vec<Row>,
    /// Names of the targets, and the budget in words.
    pub(super) targets: BTreeSet<String>,
    pub(super) budget: String,
}

/// A column of Table 6.
#[derive(Serialize, Default)]
pub(super) struct Totals {
    pub(super) name: String,
    pub(super) blocks: u64,
    pub(super) proved: u64,
    pub(super) by_bound: u64,
    pub(super) by_linear: u64,
    pub(super) by_search: u64,
    pub(super) by_program: u64,
    pub(super) list_registers: u64,
    pub(super) best_registers: u64,
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

#[derive(Serialize)]
pub(super) struct SizeGroup {
    /// Where the range of sizes starts.
    #[serde(skip)]
    pub(super) least: usize,
    /// What it holds.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) blocks: u64,
    pub(super) improved: u64,
    pub(super) split_improved: u64,
    pub(super) seconds: f64,
}

#[derive(Serialize)]
pub(super) struct Open {
    name: String,
    n: usize,
    length: u32,
}

pub(crate) fn pack(args: &BenchPackArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

pub(super) fn measure(args: &BenchPackArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let machine = load_target(args.target.target.as_deref().unwrap_or("vs"))?;
    let mut document = Document { generated: args.generated, ..Document::default() };
    let blocks = match args.generated {
        true => generated(args, &machine),
        false => read(args, &targets, &mut document.repeated)?,
    };
    if blocks.is_empty() {
        return Err(Failure::Nothing("no block has a size in the range that was asked for".to_string()));
    }
    let packer = Packer::new(PackMethod::Auto, args.budget.budget())?;
    let linear = match args.linear {
        true => Some(PackSolver::find().map_err(|error| Failure::Message(error.to_string()))?),
        false => None,
    };
    let bar = progress::bar(blocks.len() as u64, "{bar:40} {pos} of {len} blocks, {elapsed}, {eta} left");
    let rows: Result<Vec<Row>, Failure> = (blocks.par_iter())
        .map(|block| {
            let row = block.measure(&packer, linear.as_ref());
            bar.inc(1);
            row.map_err(|message| {
                Failure::Message(format!("{}, region {}: {message}", block.group, block.name))
            })
        })
        .collect();
    bar.finish_and_clear();
    document.targets = blocks.iter().map(|block| block.target.name().to_string()).collect();
    document.budget = progress::budget_in_words(args.budget.budget(), "operation", "block");
    document.fill(rows?);
    Ok(document)
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

fn sizes(args: &BenchPackArgs) -> std::ops::RangeInclusive<usize> {
    args.min_size..=args.max_size.unwrap_or(usize::MAX)
}

fn generated<'a>(args: &BenchPackArgs, target: &'a Target) -> Vec<Block<'a>> {
    let blocks = shaders::suite(args.seed).into_iter();
    let wanted = blocks.filter(|(_, region)| sizes(args).contains(&region.len()));
    wanted
        .map(|(group, region)| Block {
            group: group.name().to_string(),
            name: region.name().to_string(),
            region,
            target,
        })
        .collect()
}

fn read<'a>(
    args: &BenchPackArgs,
    targets: &'a Targets,
    repeated: &mut u64,
) -> Result<Vec<Block<'a>>, Failure> {
    let input = InputArgs { files: args.files.clone(), kernel: args.kernel.clone() };
    let mut blocks = Vec::new();
    let mut seen = FxHashSet::default();
    for_each_kernel(
        &input,
        |kernel| Ok((targets.of(&kernel)?, kernel)),
        |(target, kernel)| {
            for region in kernel.regions {
                if !sizes(args).contains(&region.len()) {
                    continue;
                }
                // What does not fit is told before anything is measured.
                problem(&region, target).map_err(|message| {
                    Failure::Message(format!("kernel {:?}, region {}: {message}", kernel.name, region.name()))
                })?;
                if !seen.insert((fingerprint(&region), target.name())) {
                    *repeated += 1;
                    continue;
                }
                let name = format!("{}/{}", kernel.name, region.name());
                blocks.push(Block { group: kernel.origin.clone(), name, region, target });
            }
            Ok(())
        },
    )?;
    let groups: FxHashSet<&String> = blocks.iter().map(|block| &block.group).collect();
    if groups.len() > MOST_GROUPS || groups.iter().any(|group| group.is_empty()) {
        for block in &mut blocks {
            block.group = "all".to_string();
        }
    }
    Ok(blocks)
}

/// The same for blocks with the same operations on the same registers: operands decide about conflicts.
fn fingerprint(region: &Region) -> u64 {
    let mut hasher = DefaultHasher::new();
    for instr in region.instrs() {
        region.opcode(instr).hash(&mut hasher);
        region.uses(instr).hash(&mut hasher);
        for def in region.defs(instr) {
            def.operand.hash(&mut hasher);
        }
        region.succs(instr).hash(&mut hasher);
    }
    for register in region.registers() {
        (register.class, register.lanes, register.lane_weight).hash(&mut hasher);
    }
    region.live_in().hash(&mut hasher);
    region.live_out().hash(&mut hasher);
    hasher.finish()
}

impl Block<'_> {
    fn measure(&self, packer: &Packer, linear: Option<&PackSolver>) -> Result<Row, String> {
        let problem = problem(&self.region, self.target)?;
        let whole = problem.without_splits();
        let began = Instant::now();
        let plain = packer.pack(&whole, &self.group)?;
        let plain_seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let mut split =
            if problem.has_splits() { packer.pack(&problem, &self.group)? } else { plain.clone() };
        let split_seconds = if problem.has_splits() { began.elapsed().as_secs_f64() } else { 0.0 };
        if split.bound > plain.best.length() {
            return Err("a packing without splits is shorter than the bound with them".to_string());
        }
        // A search that looks for splits has less time for the rest.
        split.improve(Some(plain.best.clone()), 0, Proof::Search);
        let by_linear = match linear {
            None => None,
            Some(solver) => {
                let list = plain.list.length();
                let bound = solver.linear_bound(&whole, list, Duration::from_secs(60));
                Some(bound.map_err(|error| error.to_string())? == list)
            }
        };
        let report = |packing: &Packing| {
            check(&self.region, self.target, packing).map_err(|violations| violations[0].to_string())
        };
        let (list, best) = (report(&plain.list)?, report(&plain.best)?);
        let registers = |problem: &PackProblem, peaks: &[u32]| {
            problem.primary_class().map_or(0, |class| peaks[class.index()])
        };
        Ok(Row {
            group: self.group.clone(),
            name: self.name.clone(),
            size: self.region.len(),
            list: list.length,
            best: best.length,
            split: split.best.length(),
            proofs: [plain.proof, split.proof],
            by_bound: plain.list.length() == plain.first_bound,
            by_linear,
            list_registers: registers(&whole, &list.peaks),
            best_registers: registers(&whole, &best.peaks),
            list_levels: list.levels,
            best_levels: best.levels,
            seconds: [plain_seconds, split_seconds],
        })
    }
}

impl Row {
    pub(super) fn is_proved(&self) -> bool {
        !self.proofs.contains(&Proof::Open)
    }

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
        self.by_linear += u64::from(row.by_linear == Some(true));
        self.by_search += proved_by(Proof::Search) + proved_by(Proof::Bound);
        self.by_program += proved_by(Proof::Program);
        self.list_registers += u64::from(row.list_registers);
        self.best_registers += u64::from(row.best_registers);
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
    fn fill(&mut self, rows: Vec<Row>) {
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

    fn table_6(&self) -> String {
        let mut header = vec!["Table 6"];
        header.extend(self.groups.iter().map(|group| group.name.as_str()));
        let mut rows = table(1, &header);
        let mut row = |name: &str, figure: &dyn Fn(&Totals) -> String| {
            let mut cells = vec![name.to_string()];
            cells.extend(self.groups.iter().map(figure));
            rows.add_row(cells);
        };
        let of = |count: u64, group: &Totals| percent(count, group.blocks);
        row("blocks", &|group| grouped(group.blocks));
        row("largest", &|group| group.largest.to_string());
        row("optimum found", &|group| grouped(group.proved));
        if self.by_linear_bound.is_some() {
            row("list proven by the linear program", &|group| of(group.by_linear, group));
        }
        row("list proven by our bound", &|group| of(group.by_bound, group));
        row("others proven by our bound or search", &|group| of(group.by_search, group));
        row("others proven by the integer program", &|group| of(group.by_program, group));
        row("registers, list", &|group| grouped(group.list_registers));
        row("registers, best", &|group| grouped(group.best_registers));
        row("levels, list", &|group| grouped(group.list_levels));
        row("levels, best", &|group| grouped(group.best_levels));
        row("cycles, list", &|group| grouped(group.list_cycles));
        row("cycles, best", &|group| grouped(group.best_cycles));
        row("cycles saved", &|group| percent(group.list_cycles - group.best_cycles, group.list_cycles));
        row("blocks improved", &|group| of(group.improved, group));
        row("with splits: optimum found", &|group| grouped(group.split_proved));
        row("with splits: cycles", &|group| grouped(group.split_cycles));
        row("with splits: further improved", &|group| of(group.split_improved, group));
        trimmed(&rows)
    }

    fn sizes(&self) -> String {
        let mut rows = table(1, &["operations", "blocks", "improved", "further by splits", "slowest, s"]);
        for group in &self.figure_2 {
            rows.add_row([
                format!("{} to {}", group.from, group.to),
                grouped(group.blocks),
                percent(group.improved, group.blocks),
                percent(group.split_improved, group.blocks),
                format!("{:.3}", group.seconds),
            ]);
        }
        rows.to_string()
    }

    /// For each number of cycles, the sizes of the blocks that save so many.
    fn series(&self) -> String {
        let mut rows = table(1, &["saved", "blocks", "sizes"]);
        let most = self.figure_1.iter().map(|(_, saved)| *saved).max().unwrap_or(0);
        for saved in 1..=most {
            let own: Vec<usize> =
                self.figure_1.iter().filter(|(_, other)| *other == saved).map(|(size, _)| *size).collect();
            if !own.is_empty() {
                let range = format!("{} to {}, mean {:.0}", own[0], own[own.len() - 1], mean(&own));
                rows.add_row([saved.to_string(), grouped(own.len() as u64), range]);
            }
        }
        rows.to_string()
    }
}

impl Findings for Document {
    fn facts(&self) -> Vec<String> {
        vec![
            self.budget.clone(),
            format!(
                "cycles {} -> {}, proven: {} of {} blocks",
                grouped(self.list_cycles),
                grouped(self.best_cycles),
                grouped(self.proved),
                grouped(self.blocks)
            ),
        ]
    }

    fn as_text(&self) -> String {
        let made = if self.generated { "generated blocks" } else { "distinct blocks" };
        let mut parts = vec![format!(
            "{} {made} with {} operations ({} repetitions left out),\neach packed without splits and with them\n\n{}",
            grouped(self.blocks),
            grouped(self.operations),
            grouped(self.repeated),
            self.table_6(),
        )];
        parts.push(format!(
            "Blocks that become shorter without splits, by size (Figure 2):\n{}",
            self.sizes()
        ));
        if !self.figure_1.is_empty() {
            parts.push(format!("Cycles saved without splits, for each block (Figure 1):\n{}", self.series()));
        }
        let within = self.within.iter();
        let within = within.map(|(time, count)| format!("{} in {time} s", percent(*count, self.blocks)));
        parts.push(format!(
            "Both proofs: {}.\nThe slowest packing took {:.3} s, all together {:.1} s.",
            within.collect::<Vec<_>>().join(", "),
            self.longest_seconds,
            self.seconds
        ));
        if !self.open.is_empty() {
            let open = self.open.iter().take(10);
            let open: Vec<String> =
                open.map(|open| format!("{} ({} operations)", open.name, open.n)).collect();
            parts.push(format!("Open:\n{}", open.join("\n")));
        }
        parts.join("\n\n")
    }

    fn chapter(&self, command: String) -> Chapter {
        chapters::pack(self, command)
    }
}

fn mean(numbers: &[usize]) -> f64 {
    numbers.iter().sum::<usize>() as f64 / numbers.len().max(1) as f64
}
