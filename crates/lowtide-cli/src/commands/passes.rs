//! `lowtide passes`: shaders in passes that fit the GPU.

use std::time::{Duration, Instant};

use lowtide::budget::Budget;
use lowtide::multipass::Partition;
use lowtide::region::{Kernel, Region};
use lowtide::target::Target;
use lowtide::{InstrId, RegisterId};
use lowtide_io::shader_place;
use lowtide_tool::args::{FormatArgs, InputArgs, name_of, parse_time};
use lowtide_tool::input::{for_each_kernel, load_target};
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::passes::{LoadsArg, PassAlgorithm, problem, solve};
use lowtide_tool::table::{grouped, shorten, table, trimmed};
use lowtide_tool::{Failure, progress};
use serde::Serialize;

/// The arguments of `lowtide passes`.
#[derive(clap::Args)]
pub(crate) struct PassesArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Partition for a GPU of `lowtide targets` that describes passes, or for that of a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "ps20")]
    target: String,

    /// Partition by this algorithm. exact starts from the best result of the others, and proves the optimum
    #[arg(long, value_enum, default_value = "exact")]
    algorithm: PassAlgorithm,

    /// Count inputs as operands, or give each an operation that loads it
    #[arg(long, value_enum, default_value = "operands")]
    loads: LoadsArg,

    /// Limit the time for each operation of a block, such as 250us or 1ms
    /// [default: 10ms, or no limit with --nodes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Limit the search steps for each block. The result is then the same on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// List the operations of every pass, with their places in the shader
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    list: bool,

    #[command(flatten)]
    format: FormatArgs,
}

impl PassesArgs {
    fn budget(&self) -> Budget {
        let default = self.nodes.is_none().then_some(Duration::from_millis(10));
        Budget { time_per_instr: self.budget.or(default), nodes: self.nodes, threads: 1 }
    }
}

#[derive(Serialize)]
struct Document {
    target: String,
    shaders: Vec<Shader>,
}

#[derive(Serialize)]
struct Shader {
    name: String,
    origin: String,
    cost: u64,
    regions: Vec<Block>,
    #[serde(skip)]
    lists: Vec<String>,
}

#[derive(Serialize)]
struct Block {
    name: String,
    n: usize,
    cost: u64,
    /// Lower bound on the cost of all partitions; 0 if it is unknown.
    bound: u64,
    optimal: bool,
    /// Operations of all passes: more than `n` if some are recomputed.
    operations: usize,
    seconds: f64,
    passes: Vec<PassInfo>,
}

#[derive(Serialize)]
struct PassInfo {
    ops: Vec<u32>,
    loads: Vec<String>,
    stores: Vec<String>,
    textures: usize,
    registers: u32,
    waits: u32,
}

pub(crate) fn run(args: &PassesArgs) -> Result<(), Failure> {
    let target = load_target(&args.target)?;
    let mut document = Document { target: target.name().to_string(), shaders: Vec::new() };
    for_each_kernel(
        &args.input,
        |kernel| shader(&kernel, &target, args),
        |shader| {
            document.shaders.push(shader);
            Ok(())
        },
    )?;
    match args.format {
        FormatArgs { json: true, .. } => print_json(&document)?,
        FormatArgs { csv: true, .. } => print_csv(&CSV, csv_rows(&document))?,
        _ => print(&as_text(&document, args.list))?,
    }
    progress::summary(&facts(&document, args));
    Ok(())
}

/// The columns of `--csv`.
const CSV: [&str; 16] = [
    "kernel",
    "origin",
    "region",
    "target",
    "instructions",
    "cost",
    "bound",
    "optimal",
    "seconds",
    "pass",
    "operations",
    "textures",
    "registers",
    "waits",
    "loads",
    "stores",
];

/// Return a row of `--csv` for each pass. Its first cells describe the block.
fn csv_rows(document: &Document) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for shader in &document.shaders {
        for block in &shader.regions {
            for (number, pass) in block.passes.iter().enumerate() {
                rows.push(vec![
                    shader.name.clone(),
                    shader.origin.clone(),
                    block.name.clone(),
                    document.target.clone(),
                    block.n.to_string(),
                    block.cost.to_string(),
                    block.bound.to_string(),
                    block.optimal.to_string(),
                    block.seconds.to_string(),
                    (number + 1).to_string(),
                    pass.ops.len().to_string(),
                    pass.textures.to_string(),
                    pass.registers.to_string(),
                    pass.waits.to_string(),
                    pass.loads.len().to_string(),
                    pass.stores.len().to_string(),
                ]);
            }
        }
    }
    rows
}

/// Return the lines of the summary.
fn facts(document: &Document, args: &PassesArgs) -> Vec<String> {
    let blocks = || document.shaders.iter().flat_map(|shader| &shader.regions);
    let (cost, bound): (u64, u64) =
        (blocks().map(|block| block.cost).sum(), blocks().map(|block| block.bound).sum());
    let proved = blocks().filter(|block| block.optimal).count() as u64;
    let budget = progress::budget_in_words(args.budget(), "operation", "block");
    vec![
        format!("target {}, algorithm {}, {budget}", document.target, name_of(&args.algorithm)),
        format!("cost {} (at least {}, gap {})", grouped(cost), grouped(bound), progress::gap(cost, bound)),
        format!("proven: {} of {} blocks", grouped(proved), grouped(blocks().count() as u64)),
    ]
}

fn shader(kernel: &Kernel, target: &Target, args: &PassesArgs) -> Result<Shader, Failure> {
    let mut shader = Shader {
        name: kernel.name.clone(),
        origin: kernel.origin.clone(),
        cost: 0,
        regions: Vec::new(),
        lists: Vec::new(),
    };
    for region in &kernel.regions {
        let region = &*args.loads.apply(&kernel.name, region, target)?;
        let problem = problem(&kernel.name, region, target)?;
        let start = Instant::now();
        let answer = solve(&problem, &kernel.name, args.algorithm, args.budget())?;
        let seconds = start.elapsed().as_secs_f64();
        let names = |registers: &[RegisterId]| {
            registers.iter().map(|register| region.register_name(*register).to_string()).collect()
        };
        let textures = |ops: &[InstrId]| {
            let is_request =
                |op: &&InstrId| problem.model().textures.iter().any(|name| name == region.opcode(**op));
            ops.iter().filter(is_request).count()
        };
        let passes = answer.partition.passes.iter().enumerate().map(|(number, pass)| PassInfo {
            ops: pass.ops.iter().map(|op| op.0).collect(),
            loads: names(&pass.loads),
            stores: names(&pass.stores),
            textures: textures(&pass.ops),
            registers: answer.report.registers[number],
            waits: answer.report.waits[number],
        });
        if args.list {
            shader.lists.push(listing(region, &answer.partition));
        }
        shader.cost += answer.partition.cost;
        shader.regions.push(Block {
            name: region.name().to_string(),
            n: region.len(),
            cost: answer.partition.cost,
            bound: answer.bound,
            optimal: answer.bound == answer.partition.cost,
            operations: answer.report.operations,
            seconds,
            passes: passes.collect(),
        });
    }
    Ok(shader)
}

/// Return one line for each operation, with its place in the shader.
fn listing(region: &Region, partition: &Partition) -> String {
    let mut lines = Vec::new();
    for (number, pass) in partition.passes.iter().enumerate() {
        lines.push(format!("pass {}:", number + 1));
        for op in &pass.ops {
            let place =
                shader_place(region, *op).map_or(String::new(), |(line, column)| format!("{line}:{column}"));
            let name = |register: RegisterId| {
                let name = region.register_name(register);
                name.rsplit_once('@').map_or(name, |(name, _)| name).to_string()
            };
            let defs: Vec<String> = region.defs(*op).iter().map(|def| name(def.operand.register)).collect();
            let uses: Vec<String> = region.uses(*op).iter().map(|operand| name(operand.register)).collect();
            let text =
                format!("  {place:>8}  {:<6} {:<6} {}", region.opcode(*op), defs.join(" "), uses.join(" "));
            lines.push(text.trim_end().to_string());
        }
    }
    lines.join("\n")
}

fn as_text(document: &Document, with_list: bool) -> String {
    let mut text = Vec::new();
    for shader in &document.shaders {
        for (number, block) in shader.regions.iter().enumerate() {
            let proof = match (block.optimal, block.bound) {
                (true, _) => "proven to be the least".to_string(),
                (false, 0) => "nothing proven".to_string(),
                (false, bound) => format!("at least {bound}"),
            };
            let mut part = format!(
                "{} {}: {} operations in {} passes, cost {}, {proof}",
                shorten(&shader.name, 40),
                shorten(&block.name, 24),
                grouped(block.n as u64),
                block.passes.len(),
                grouped(block.cost)
            );
            if block.passes.len() == 1 {
                part = part.replace("1 passes", "1 pass");
            }
            let mut rows =
                table(1, &["pass", "operations", "textures", "registers", "waits", "loads", "stores"]);
            for (number, pass) in block.passes.iter().enumerate() {
                rows.add_row([
                    (number + 1).to_string(),
                    pass.ops.len().to_string(),
                    pass.textures.to_string(),
                    pass.registers.to_string(),
                    pass.waits.to_string(),
                    pass.loads.len().to_string(),
                    pass.stores.len().to_string(),
                ]);
            }
            part += &format!("\n{}", trimmed(&rows));
            if with_list {
                part += &format!("\n{}", shader.lists[number]);
            }
            text.push(part);
        }
    }
    text.join("\n\n")
}
