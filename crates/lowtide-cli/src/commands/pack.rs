//! `lowtide pack`: two operations in each cycle.

use std::path::PathBuf;
use std::time::Instant;

use lowtide::generate::shaders;
use lowtide::pack::check::PackReport;
use lowtide::pack::{PackProblem, Packing, Proof, Units, allocated};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_tool::args::{FormatArgs, InputArgs, TargetArgs, name_of};
use lowtide_tool::input::{Targets, for_each_kernel, load_target};
use lowtide_tool::names::{readable, shortened};
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::pack::{ListMethod, PackBudgetArgs, PackMethod, Packer, checked, problem};
use lowtide_tool::table::{Sheet, change, counted, grouped, shorten, table, trimmed};
use lowtide_tool::{Failure, progress};
use serde::Serialize;

/// The arguments of `lowtide pack`.
#[derive(clap::Args)]
pub(crate) struct PackArgs {
    /// Read region files (.jsonl, .jsonl.gz or .parquet), folders of them, or the standard input (-)
    #[arg(required_unless_present = "generated", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Process only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,

    /// Pack generated blocks for the target vs, with the number and sizes of the paper's shaders
    #[arg(long, conflicts_with_all = ["files", "kernel"])]
    generated: bool,

    /// Start the random numbers of the generated blocks at N
    #[arg(long, value_name = "N", default_value_t = 1, requires = "generated")]
    seed: u64,

    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    budget: PackBudgetArgs,

    /// Pack by this method
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    algorithm: PackMethod,

    /// Compare with this list scheduler [default: path; sc with --algorithm program-paper]
    #[arg(long, value_enum, value_name = "NAME")]
    list: Option<ListMethod>,

    /// Split no operations
    #[arg(long)]
    no_split: bool,

    /// Use at most N registers of the target's first class
    #[arg(long, value_name = "N")]
    registers: Option<u32>,

    /// Print the operations of each cycle
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    show: bool,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    kernels: Vec<KernelResult>,
}

#[derive(Serialize)]
struct KernelResult {
    name: String,
    readable_name: String,
    origin: String,
    target: String,
    regions: Vec<BlockResult>,
}

#[derive(Serialize)]
struct BlockResult {
    name: String,
    n: usize,
    list_length: u32,
    length: u32,
    length_bound: u32,
    /// The proof that no packing is shorter: bound, search or program. It is open without a proof.
    proof: &'static str,
    /// Operations that are split.
    splits: usize,
    /// Of the target's first class, between two cycles.
    list_registers: u32,
    registers: u32,
    /// Registers that linear scan takes.
    list_allocated: u32,
    allocated: u32,
    /// Whether the registers between cycles are within the limit.
    fits: bool,
    list_levels: u32,
    levels: u32,
    levels_proved: bool,
    nodes: u64,
    seconds: f64,
    issues: Vec<IssueResult>,
}

/// An issued operation, or a part of one.
#[derive(Serialize)]
struct IssueResult {
    cycle: u32,
    units: Vec<String>,
    op: String,
    /// The region's instruction.
    instr: u32,
    /// The number of the part, and of all parts.
    part: u32,
    parts: u32,
}

pub(crate) fn run(args: &PackArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let packer = Packer::new(args.algorithm, args.list, &args.budget)?;
    if args.registers.is_some() && packer.is_program() {
        return Err(Failure::Message(
            "integer programs cannot limit registers: leave out --registers, or choose another --algorithm"
                .to_string(),
        ));
    }
    let mut document = Document { kernels: Vec::new() };
    if args.generated {
        let target = load_target(args.target.target.as_deref().unwrap_or("vs"))?;
        let suite = shaders::suite(args.seed);
        for group in suite.chunk_by(|a, b| a.0 == b.0) {
            let name = group[0].0.name();
            let regions = group.iter().map(|(_, region)| packed(&packer, args, name, region, &target));
            document.kernels.push(KernelResult {
                name: name.to_string(),
                readable_name: name.to_string(),
                origin: "generated".to_string(),
                target: target.name().to_string(),
                regions: regions.collect::<Result<_, _>>()?,
            });
        }
    } else {
        let input = InputArgs { files: args.files.clone(), kernel: args.kernel.clone() };
        for_each_kernel(
            &input,
            |kernel| {
                let target = targets.of(&kernel)?;
                let regions = kernel.regions.iter();
                let regions = regions.map(|region| packed(&packer, args, &kernel.name, region, target));
                let regions = regions.collect::<Result<_, _>>()?;
                let target = target.name().to_string();
                let (name, origin) = (kernel.name, kernel.origin);
                let readable_name = readable(&name).into_owned();
                Ok(KernelResult { name, readable_name, origin, target, regions })
            },
            |kernel| {
                document.kernels.push(kernel);
                Ok(())
            },
        )?;
    }
    match args.format {
        FormatArgs { json: true, .. } => print_json(&document)?,
        FormatArgs { csv: true, .. } => print_csv(&CSV, document.csv_rows())?,
        _ if args.show => print(&document.cycles())?,
        _ => print(&document.as_table(args.registers))?,
    }
    progress::summary(&document.facts(args));
    Ok(())
}

/// The columns of `--csv`.
const CSV: [&str; 21] = [
    "kernel",
    "readable_name",
    "origin",
    "region",
    "target",
    "instructions",
    "list_length",
    "length",
    "length_bound",
    "proof",
    "splits",
    "list_registers",
    "registers",
    "list_allocated",
    "allocated",
    "fits",
    "list_levels",
    "levels",
    "levels_proved",
    "nodes",
    "seconds",
];

/// Pack a region of a kernel as the arguments ask.
fn packed(
    packer: &Packer,
    args: &PackArgs,
    kernel: &str,
    region: &Region,
    target: &Target,
) -> Result<BlockResult, Failure> {
    let fail =
        |message: String| Failure::Message(format!("kernel {kernel:?}, region {}: {message}", region.name()));
    let mut problem = problem(region, target).map_err(fail)?;
    if args.no_split {
        problem = problem.without_splits();
    }
    if let Some(limit) = args.registers {
        problem = problem.with_register_limit(limit);
    }
    block(packer, &problem, kernel).map_err(fail)
}

/// Pack a region, and describe the result.
fn block(packer: &Packer, problem: &PackProblem, kernel: &str) -> Result<BlockResult, String> {
    let began = Instant::now();
    let outcome = packer.pack(problem, kernel)?;
    let seconds = began.elapsed().as_secs_f64();
    let list = checked(problem, &outcome.list, "list schedule")?;
    let best = checked(problem, &outcome.best, "packing")?;
    let registers =
        |report: &PackReport| problem.primary_class().map_or(0, |class| report.peaks[class.index()]);
    let taken = |packing: &Packing| {
        problem.primary_class().map_or(0, |class| allocated(problem, packing)[class.index()])
    };
    let region = problem.region();
    Ok(BlockResult {
        name: region.name().to_string(),
        n: region.len(),
        list_length: list.length,
        length: best.length,
        length_bound: outcome.bound,
        proof: outcome.proof.name(),
        splits: best.splits,
        list_registers: registers(&list),
        registers: registers(&best),
        list_allocated: taken(&outcome.list),
        allocated: taken(&outcome.best),
        fits: outcome.fits,
        list_levels: list.levels,
        levels: best.levels,
        levels_proved: outcome.levels_proved,
        nodes: outcome.nodes,
        seconds,
        issues: issues(problem, &outcome.best),
    })
}

fn issues(problem: &PackProblem, packing: &Packing) -> Vec<IssueResult> {
    let names = &problem.model().units;
    let issue = |placed: &lowtide::pack::Placed| {
        let on = |unit: &usize| placed.units.0 & Units::only(*unit).0 != 0;
        let operation = problem.operation(placed.instr);
        IssueResult {
            cycle: placed.cycle,
            units: (0..2).filter(on).map(|unit| names[unit].clone()).collect(),
            op: problem.part_name(placed.instr, placed.format, placed.part).to_string(),
            instr: placed.instr.0,
            part: placed.part,
            parts: placed.format.checked_sub(1).map_or(1, |split| operation.splits[split].parts()),
        }
    };
    packing.placed().iter().map(issue).collect()
}

impl IssueResult {
    fn text(&self) -> String {
        match self.parts {
            1 => format!("#{} {}", self.instr, self.op),
            parts => format!("#{} {} ({} of {parts})", self.instr, self.op, self.part + 1),
        }
    }
}

impl Document {
    /// Return the lines of the summary.
    fn facts(&self, args: &PackArgs) -> Vec<String> {
        let blocks = || self.kernels.iter().flat_map(|kernel| &kernel.regions);
        let sum = |figure: &dyn Fn(&BlockResult) -> u32| blocks().map(|block| u64::from(figure(block))).sum();
        let (list, best, bound) =
            (sum(&|block| block.list_length), sum(&|block| block.length), sum(&|block| block.length_bound));
        let proved = blocks().filter(|block| block.proof != Proof::Open.name()).count();
        let mut targets: Vec<&str> = self.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
        targets.sort_unstable();
        targets.dedup();
        let budget = args.budget.in_words();
        vec![
            format!("target {}, algorithm {}, {budget}", targets.join(" and "), name_of(&args.algorithm)),
            format!(
                "cycles {} -> {} (at least {}, gap {})",
                grouped(list),
                grouped(best),
                grouped(bound),
                progress::gap(best, bound)
            ),
            format!("proven: {} of {} blocks", grouped(proved as u64), grouped(blocks().count() as u64)),
        ]
    }

    /// Return a row of `--csv` for each block.
    fn csv_rows(&self) -> impl Iterator<Item = Vec<String>> {
        let row = |kernel: &KernelResult, block: &BlockResult| {
            vec![
                kernel.name.clone(),
                kernel.readable_name.clone(),
                kernel.origin.clone(),
                block.name.clone(),
                kernel.target.clone(),
                block.n.to_string(),
                block.list_length.to_string(),
                block.length.to_string(),
                block.length_bound.to_string(),
                block.proof.to_string(),
                block.splits.to_string(),
                block.list_registers.to_string(),
                block.registers.to_string(),
                block.list_allocated.to_string(),
                block.allocated.to_string(),
                block.fits.to_string(),
                block.list_levels.to_string(),
                block.levels.to_string(),
                block.levels_proved.to_string(),
                block.nodes.to_string(),
                block.seconds.to_string(),
            ]
        };
        (self.kernels.iter())
            .flat_map(move |kernel| kernel.regions.iter().map(move |block| row(kernel, block)))
    }

    fn as_table(&self, limit: Option<u32>) -> String {
        let blocks: Vec<(&KernelResult, &BlockResult)> = (self.kernels.iter())
            .flat_map(|kernel| kernel.regions.iter().map(move |block| (kernel, block)))
            .collect();
        let column = |cell: &dyn Fn(&BlockResult) -> String| {
            blocks.iter().map(|(_, block)| cell(block)).collect::<Vec<_>>()
        };
        let between = |before: u32, after: u32| change(before.into(), after.into());
        let names = blocks.iter().map(|(kernel, _)| kernel.readable_name.clone()).collect();
        let mut sheet = Sheet::new("kernel", names);
        sheet.words(0, "region", column(&|block| shorten(&block.name, 16)));
        sheet.column(4, "n", column(&|block| block.n.to_string()));
        sheet.column(0, "cycles", column(&|block| between(block.list_length, block.length)));
        sheet.column(0, "bound", column(&|block| block.length_bound.to_string()));
        sheet.column(1, "proven by", column(&|block| block.proof.to_string()));
        sheet.column(2, "splits", column(&|block| block.splits.to_string()));
        sheet.column(
            // With a limit, a mark at the registers tells that they are too many.
            if limit.is_some() { 0 } else { 3 },
            "registers",
            column(&|block| {
                let over = if block.fits { "" } else { "!" };
                format!("{}{over}", between(block.list_registers, block.registers))
            }),
        );
        sheet.column(5, "levels", column(&|block| between(block.list_levels, block.levels)));
        sheet.column(6, "ms", column(&|block| format!("{:.1}", 1e3 * block.seconds)));
        let proved = blocks.iter().filter(|(_, block)| block.proof != Proof::Open.name()).count();
        let sum = |cycles: fn(&BlockResult) -> u32| -> u64 {
            blocks.iter().map(|(_, block)| u64::from(cycles(block))).sum()
        };
        let mut text = format!(
            "{}\n\n{}, {} proven; {} cycles (list schedule: {}).\nArrows lead from the list schedule to the best.",
            sheet.text(),
            counted(blocks.len() as u64, "block"),
            grouped(proved as u64),
            grouped(sum(|block| block.length)),
            grouped(sum(|block| block.list_length))
        );
        let over = self.kernels.iter().flat_map(|kernel| &kernel.regions).filter(|block| !block.fits);
        let over = over.count();
        if let Some(limit) = limit.filter(|_| over > 0) {
            text += &format!(
                "\n!: more than {limit} registers. No packing with so few was found for {over} blocks."
            );
        }
        text
    }

    fn cycles(&self) -> String {
        let mut parts = Vec::new();
        for kernel in &self.kernels {
            for block in &kernel.regions {
                parts.push(format!(
                    "kernel {}, region {}: {} operations in {} cycles\n(list: {}, at least {}, {})\n{}",
                    shortened(&kernel.readable_name, 24),
                    shorten(&block.name, 16),
                    block.n,
                    block.length,
                    block.list_length,
                    block.length_bound,
                    match block.proof {
                        "open" => "open".to_string(),
                        proof => format!("proven by {proof}"),
                    },
                    block.cycles(),
                ));
            }
        }
        parts.join("\n\n")
    }
}

impl BlockResult {
    /// Return a table with one line for each cycle.
    fn cycles(&self) -> String {
        let mut units: Vec<&String> = self.issues.iter().flat_map(|issue| &issue.units).collect();
        units.sort_unstable();
        units.dedup();
        let titles: Vec<&str> = units.iter().map(|unit| unit.as_str()).collect();
        let mut rows = table(2 + titles.len(), &[&["cycle"][..], &titles, &["without a unit"]].concat());
        for now in self.issues.chunk_by(|a, b| a.cycle == b.cycle) {
            let mut cells = vec![now[0].cycle.to_string()];
            for unit in &units {
                let own = now.iter().find(|issue| issue.units.contains(*unit));
                cells.push(own.map_or_else(String::new, |issue| shorten(&issue.text(), 28)));
            }
            let free: Vec<String> =
                now.iter().filter(|issue| issue.units.is_empty()).map(IssueResult::text).collect();
            cells.push(shorten(&free.join(", "), 32));
            rows.add_row(cells);
        }
        trimmed(&rows)
    }
}
