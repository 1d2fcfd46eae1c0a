//! `lowtide passes`: shaders in passes that fit the GPU.

use std::time::{Duration, Instant};

use lowtide::budget::Budget;
use lowtide::multipass::check::{PassReport, check_passes};
use lowtide::multipass::{Partition, PassProblem, dpmpp, exact, mio, rds};
use lowtide::progress::Quantity;
use lowtide::region::{Kernel, Region};
use lowtide::target::Target;
use lowtide::{InstrId, RegisterId};
use lowtide_io::shader_place;
use serde::Serialize;

use super::{print, print_json};
use crate::args::{PassAlgorithm, PassesArgs};
use crate::failure::Failure;
use crate::input::{for_each_kernel, load_target};
use crate::progress;
use crate::report::{grouped, shorten, table, trimmed};

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
    /// No partition costs less; what is known of it.
    bound: u64,
    optimal: bool,
    /// Operations that run, all passes together: more than `n` if some run again.
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

/// The passes of a region, with the least cost that is possible as far as it is known.
pub(super) struct Answer {
    pub(super) partition: Partition,
    pub(super) bound: u64,
    pub(super) report: PassReport,
}

/// Partitions a region; the checker has the last word.
pub(super) fn solve(
    problem: &PassProblem,
    kernel: &str,
    algorithm: PassAlgorithm,
    budget: Budget,
) -> Result<Answer, Failure> {
    let simple = |algorithm: PassAlgorithm, budget: Budget| match algorithm {
        PassAlgorithm::Mio => mio::partition(problem),
        PassAlgorithm::Rds => rds::partition(problem, budget),
        _ => dpmpp::partition(problem).partition,
    };
    let (partition, bound) = match algorithm {
        PassAlgorithm::Exact => {
            // The time is for all together: cuts have half of it at most, and the search what is left.
            let clock = Instant::now();
            let part = |of: &dyn Fn(Duration) -> Duration| Budget {
                time_per_instr: budget.time_per_instr.map(of),
                ..budget
            };
            let half = part(&|time| time / 2);
            let starts = [PassAlgorithm::Dpmpp, PassAlgorithm::Mio, PassAlgorithm::Rds]
                .map(|algorithm| simple(algorithm, half));
            let best = starts.iter().min_by_key(|partition| partition.cost).unwrap_or(&starts[0]);
            let spent = clock.elapsed() / problem.len() as u32;
            let proven = proven(problem, kernel, best, part(&|time| time.saturating_sub(spent)));
            (proven.partition, proven.bound)
        }
        other => (simple(other, budget), 0),
    };
    let report = checked(problem, kernel, &partition)?;
    Ok(Answer { partition, bound, report })
}

/// The exact search, told to who is watching.
pub(super) fn proven(
    problem: &PassProblem,
    kernel: &str,
    start: &Partition,
    budget: Budget,
) -> exact::Proven {
    let log = progress::log(Quantity::Cost, kernel, problem.region());
    let proven = exact::partition_watched(problem, start, budget, log.watch());
    log.finish(proven.nodes);
    proven
}

/// What the checker says about passes; an error if they are illegal, or cost something else than claimed.
pub(super) fn checked(
    problem: &PassProblem,
    kernel: &str,
    partition: &Partition,
) -> Result<PassReport, Failure> {
    let region = problem.region();
    let illegal = |what: String| {
        Failure::Message(format!(
            "the passes of kernel {kernel:?}, region {} are illegal: {what}",
            region.name()
        ))
    };
    let report = check_passes(region, problem.model(), &partition.passes)
        .map_err(|violations| illegal(violations[0].to_string()))?;
    match report.cost == partition.cost {
        true => Ok(report),
        false => Err(illegal(format!("they cost {}, not {}", report.cost, partition.cost))),
    }
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
    match args.json {
        true => print_json(&document)?,
        false => print(&as_text(&document, args.list))?,
    }
    progress::summary(&facts(&document, args));
    Ok(())
}

/// What the summary tells.
fn facts(document: &Document, args: &PassesArgs) -> Vec<String> {
    let blocks = || document.shaders.iter().flat_map(|shader| &shader.regions);
    let (cost, bound): (u64, u64) =
        (blocks().map(|block| block.cost).sum(), blocks().map(|block| block.bound).sum());
    let proved = blocks().filter(|block| block.optimal).count() as u64;
    let budget = progress::budget_in_words(args.budget(), "operation", "block");
    vec![
        format!("target {}, algorithm {}, {budget}", document.target, args.algorithm.name()),
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
        let problem = PassProblem::new(region, target).map_err(|error| Failure::Passes {
            kernel: kernel.name.clone(),
            region: region.name().to_string(),
            error,
        })?;
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

/// Every operation on a line, with its place in the shader.
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
