//! The measurement of `lowtide bench passes`.

use std::time::Instant;

use indicatif::ParallelProgressIterator;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::multipass::dpmpp::Numbering;
use lowtide::multipass::generate::{Look, shader};
use lowtide::multipass::rds::Variant;
use lowtide::multipass::{Partition, dpmpp, mio, rds};
use lowtide::region::{Kernel, Region};
use lowtide::target::Target;
use lowtide_tool::input::{for_each_kernel, load_target};
use lowtide_tool::passes::{LoadsArg, checked, found_by, problem, proven};
use lowtide_tool::{Failure, progress};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::args::PassesArgs;
use super::document::{Document, Generated, Row, STAGES};
use crate::statistics::exponent;

/// Sizes of generated shaders.
const SIZES: [usize; 8] = [150, 300, 600, 1200, 2400, 4800, 9600, 12_000];
/// Runs of fewer seconds are repeated, and the fastest one counts.
const SHORT: f64 = 0.002;

/// Partition all distinct blocks, and generated shaders if the arguments ask for them.
pub(super) fn measure(args: &PassesArgs) -> Result<Document, Failure> {
    let target = load_target(&args.target)?;
    let start = Instant::now();
    let mut regions: Vec<(String, &'static str, Region)> = Vec::new();
    let mut known = FxHashSet::default();
    let is_in = |size: usize| size >= args.min_size && args.max_size.is_none_or(|most| size <= most);
    for_each_kernel(&args.input, Ok, |kernel| {
        let file =
            std::path::Path::new(&kernel.origin).file_stem().map(|stem| stem.to_string_lossy().to_string());
        let name = file.map_or(kernel.name.clone(), |file| format!("{file}/{}", kernel.name));
        let stage = stage_of(&kernel);
        for region in kernel.regions {
            // Costs depend on the operations as well as on the graph.
            let opcodes: Vec<String> =
                region.instrs().map(|instr| region.opcode(instr).to_string()).collect();
            if is_in(region.len()) && known.insert((fingerprint(&region), opcodes)) {
                regions.push((name.clone(), stage, region));
            }
        }
        Ok(())
    })?;
    let bar = progress::bar(regions.len() as u64, "{bar:40} {pos} of {len} blocks, {elapsed}, {eta} left");
    let rows: Result<Vec<Row>, Failure> = (regions.par_iter().progress_with(bar.clone()))
        .map(|(name, stage, region)| measure_block(name, stage, region, &target, args))
        .collect();
    bar.finish_and_clear();
    let mut document = Document::new(rows?);
    document.target = target.name().to_string();
    document.budget = args.budget_in_words();
    document.loads_are_operations = args.loads == LoadsArg::Operations;
    if args.generated {
        for n in SIZES {
            let region = shader(Look::real(n), 1);
            let problem = problem("generated", &region, &target)?;
            let (found, seconds) = timed(|| dpmpp::partition(&problem));
            let found = found_by("dpmpp", &problem, "generated", found)?;
            checked(&problem, "generated", &found.partition)?;
            document.generated.push(Generated {
                n,
                cost: found.partition.cost,
                passes: found.partition.passes.len(),
                branching: found.branching(),
                seconds,
            });
        }
        let points: Vec<(f64, f64)> =
            document.generated.iter().map(|row| (row.n as f64, row.seconds)).collect();
        document.generated_growth = exponent(&points, 3, 0.0);
    }
    document.seconds = start.elapsed().as_secs_f64();
    Ok(document)
}

/// Return the stage of a shader by its inputs.
fn stage_of(kernel: &Kernel) -> &'static str {
    let has =
        |name: &str| kernel.regions.iter().any(|region| region.classes().iter().any(|own| **own == *name));
    match (has("attribute"), has("interpolant")) {
        (true, _) => STAGES[0],
        (_, true) => STAGES[1],
        _ => STAGES[2],
    }
}

/// Run all algorithms on a block.
fn measure_block(
    shader: &str,
    stage: &'static str,
    region: &Region,
    target: &Target,
    args: &PassesArgs,
) -> Result<Row, Failure> {
    let with_loads = LoadsArg::Operations.apply(shader, region, target)?;
    let region = if args.loads == LoadsArg::Operations { &*with_loads } else { region };
    let budget = args.budget_of(region.len());
    let problem = problem(shader, region, target)?;
    let load_problem = lowtide_tool::passes::problem(shader, &with_loads, target)?;
    let found = |name, found| found_by(name, &problem, shader, found);
    let (dp, dp_time) = timed(|| dpmpp::partition(&problem));
    let dp = found_by("dpmpp", &problem, shader, dp)?;
    let (su, su_time) = timed(|| dpmpp::partition_by(&problem, Numbering::SethiUllman));
    let su = found("dpmpp-su", su.map(|found| found.partition))?;
    let (list, list_time) = timed(|| mio::partition(&problem));
    let list = found("mio", list)?;
    let mut cuts = Vec::new();
    for (name, variant) in [("rds-h", Variant::RdsH), ("mrds-h", Variant::MrdsH), ("rds", Variant::Rds)] {
        let start = Instant::now();
        let partition = rds::partition_by(&problem, variant, budget);
        let seconds = start.elapsed().as_secs_f64();
        cuts.push((found(name, partition)?, seconds));
    }
    let [(rds_h, rds_h_time), (mrds_h, mrds_h_time), (rds, rds_time)] = &cuts[..] else {
        return Err(Failure::Message("three variants have three results".to_string()));
    };
    let starts: [&Partition; 3] = [&dp.partition, &list, rds];
    let best = starts.into_iter().min_by_key(|partition| partition.cost).unwrap_or(&dp.partition);
    let start = Instant::now();
    let proven = proven(&problem, shader, best, budget);
    let exact_time = start.elapsed().as_secs_f64();
    let all = [&dp.partition, &su, &list, rds_h, mrds_h, rds, &proven.partition];
    let mut runs = 0;
    for partition in all {
        runs = checked(&problem, shader, partition)?.operations;
        if partition.cost < proven.bound {
            let name = region.name();
            let what = format!(
                "the bound of exact for {shader:?}, region {name} is wrong: {} is possible",
                partition.cost
            );
            return Err(Failure::Message(what));
        }
    }
    let by_loads = found_by("dpmpp", &load_problem, shader, dpmpp::partition(&load_problem))?;
    checked(&load_problem, shader, &by_loads.partition)?;
    let widest = |widths: &[u32]| widths.iter().copied().max().unwrap_or(0);
    Ok(Row {
        shader: shader.to_string(),
        region: region.name().to_string(),
        n: region.len(),
        stage,
        cost: all.map(|partition| partition.cost),
        passes: all.map(|partition| partition.passes.len()),
        runs,
        bound: proven.bound,
        proved: proven.is_optimal(),
        branching: dp.branching(),
        widest: widest(&dp.widths),
        load_n: with_loads.len(),
        load_branching: by_loads.branching(),
        load_widest: widest(&by_loads.widths),
        seconds: [dp_time, su_time, list_time, *rds_h_time, *mrds_h_time, *rds_time, exact_time],
        load_widths: by_loads.widths,
    })
}

/// Return the result of some work and its seconds. Short work runs several times.
fn timed<T>(work: impl Fn() -> T) -> (T, f64) {
    let mut best = f64::INFINITY;
    for round in 0..5 {
        let start = Instant::now();
        let result = work();
        best = best.min(start.elapsed().as_secs_f64());
        if best > SHORT || round == 4 {
            return (result, best);
        }
    }
    (work(), best)
}
