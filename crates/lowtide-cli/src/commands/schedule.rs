//! `lowtide schedule`: the main job.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use lowtide::pipeline::{Algorithm, schedule_kernel};
use lowtide::problem::Problem;
use lowtide::region::Region;
use lowtide::schedule::{Outcome, Schedule};
use lowtide_io::{LineWriter, format_schedule};
use serde::Serialize;

use super::{print, print_json};
use crate::args::ScheduleArgs;
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::report::{change, grouped, shorten, table};

#[derive(Serialize)]
struct Document {
    kernels: Vec<KernelResult>,
}

#[derive(Serialize)]
struct KernelResult {
    name: String,
    origin: String,
    target: String,
    occupancy: u32,
    occupancy_bound: u32,
    seconds: f64,
    regions: Vec<RegionResult>,
    #[serde(skip)]
    source: Before,
}

/// The same figures for the source order.
struct Before {
    occupancy: u32,
    peak: u32,
    length: u64,
}

#[derive(Serialize)]
struct RegionResult {
    name: String,
    n: usize,
    order: Vec<u32>,
    cycles: Vec<u32>,
    peak: BTreeMap<String, u32>,
    peak_at: BTreeMap<String, u32>,
    peak_bound: BTreeMap<String, u32>,
    length: u32,
    length_bound: u32,
    optimal: bool,
    #[serde(skip)]
    primary: (u32, u32),
    #[serde(skip)]
    schedule: Schedule,
}

impl RegionResult {
    fn new(region: &Region, problem: &Problem, outcome: Outcome) -> Self {
        let by_class = |figure: &dyn Fn(usize) -> u32| {
            let classes = region.classes().iter().enumerate();
            classes.map(|(class, name)| (name.to_string(), figure(class))).collect()
        };
        let Outcome { schedule, measure, bounds, optimal } = outcome;
        let primary = problem.primary_class().index();
        let peak = measure.peaks.get(primary).map_or(0, |peak| peak.between);
        RegionResult {
            name: region.name().to_string(),
            n: region.len(),
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            cycles: schedule.cycles().to_vec(),
            peak: by_class(&|class| measure.peaks[class].between),
            peak_at: by_class(&|class| measure.peaks[class].at),
            peak_bound: by_class(&|class| bounds.peaks[class]),
            length: measure.length,
            length_bound: bounds.length,
            optimal,
            primary: (peak, bounds.peaks.get(primary).copied().unwrap_or(0)),
            schedule,
        }
    }
}

pub(crate) fn run(args: &ScheduleArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let goal = args.goal.into();
    let budget = args.budget.budget();
    let mut output = args
        .output
        .as_deref()
        .map(LineWriter::create)
        .transpose()
        .map_err(|error| write_failure(args, error))?;
    let mut document = Document { kernels: Vec::new() };
    for_each_kernel(
        &args.input,
        |kernel| {
            let target = targets.of(&kernel)?;
            let fail = |error| Failure::Target { kernel: kernel.name.clone(), error };
            let start = Instant::now();
            let outcome = schedule_kernel(&kernel, target, goal, args.algorithm, budget).map_err(fail)?;
            let seconds = start.elapsed().as_secs_f64();
            let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
            let mut source = Before { occupancy: most, peak: 0, length: 0 };
            let mut regions = Vec::new();
            for (region, outcome) in kernel.regions.iter().zip(outcome.regions) {
                let problem = Problem::new(region, target, goal).map_err(fail)?;
                let before = problem.measure(&Schedule::source(&problem));
                source.occupancy = source.occupancy.min(before.occupancy);
                let peak = before.peaks.get(problem.primary_class().index()).map_or(0, |peak| peak.between);
                source.peak = source.peak.max(peak);
                source.length += u64::from(before.length);
                regions.push(RegionResult::new(region, &problem, outcome));
            }
            Ok(KernelResult {
                name: kernel.name.clone(),
                origin: kernel.origin.clone(),
                target: target.name().to_string(),
                occupancy: outcome.occupancy,
                occupancy_bound: outcome.occupancy_bound,
                seconds,
                regions,
                source,
            })
        },
        |result| {
            if let Some(output) = &mut output {
                for region in &result.regions {
                    let line = format_schedule(&result.name, &result.origin, &region.name, &region.schedule);
                    output.line(&line).map_err(|error| write_failure(args, error))?;
                }
            }
            document.kernels.push(result);
            Ok(())
        },
    )?;
    if let Some(output) = output {
        output.finish().map_err(|error| write_failure(args, error))?;
    }
    if args.output.as_deref() == Some(Path::new("-")) {
        // A table between the schedules would spoil both.
        return Ok(());
    }
    match args.json {
        true => print_json(&document),
        false => print(&as_table(&document, args)),
    }
}

fn write_failure(args: &ScheduleArgs, error: std::io::Error) -> Failure {
    let file = args.output.as_deref().unwrap_or_else(|| "-".as_ref()).display().to_string();
    Failure::Write { file, error }
}

fn as_table(document: &Document, args: &ScheduleArgs) -> String {
    let header = [
        "kernel",
        "target",
        "regions",
        "instructions",
        "waves",
        "at most",
        "peak",
        "at least",
        "length",
        "at least",
        "proven",
        "ms",
    ];
    let mut rows = table(2, &header);
    let mut total = Totals::default();
    for kernel in &document.kernels {
        let peak = kernel.regions.iter().map(|region| region.primary.0).max().unwrap_or(0);
        let peak_bound = kernel.regions.iter().map(|region| region.primary.1).max().unwrap_or(0);
        let length: u64 = kernel.regions.iter().map(|region| u64::from(region.length)).sum();
        let length_bound: u64 = kernel.regions.iter().map(|region| u64::from(region.length_bound)).sum();
        let instructions: usize = kernel.regions.iter().map(|region| region.n).sum();
        let proven = kernel.regions.iter().filter(|region| region.optimal).count();
        rows.add_row([
            shorten(&kernel.name, 44),
            kernel.target.clone(),
            kernel.regions.len().to_string(),
            instructions.to_string(),
            change(kernel.source.occupancy, kernel.occupancy),
            kernel.occupancy_bound.to_string(),
            change(kernel.source.peak, peak),
            peak_bound.to_string(),
            match kernel.source.length == length {
                true => length.to_string(),
                false => format!("{} -> {length}", kernel.source.length),
            },
            length_bound.to_string(),
            format!("{proven}/{}", kernel.regions.len()),
            format!("{:.1}", kernel.seconds * 1e3),
        ]);
        total.regions += kernel.regions.len() as u64;
        total.proven += proven as u64;
        total.instructions += instructions as u64;
        total.occupancy[0] += u64::from(kernel.source.occupancy);
        total.occupancy[1] += u64::from(kernel.occupancy);
        total.occupancy[2] += u64::from(kernel.occupancy_bound);
        total.length[0] += kernel.source.length;
        total.length[1] += length;
        total.length[2] += length_bound;
        total.seconds += kernel.seconds;
    }
    let mut text = match args.summary {
        true => String::new(),
        false => format!("{rows}\n\n"),
    };
    text += &total.in_words(document.kernels.len(), args.algorithm);
    text
}

#[derive(Default)]
struct Totals {
    regions: u64,
    proven: u64,
    instructions: u64,
    /// Of the source order, of the result, and the bound.
    occupancy: [u64; 3],
    length: [u64; 3],
    seconds: f64,
}

impl Totals {
    fn in_words(&self, kernels: usize, algorithm: Algorithm) -> String {
        let [waves_before, waves, waves_bound] = self.occupancy.map(grouped);
        let [length_before, length, length_bound] = self.length.map(grouped);
        let share = 100.0 * self.proven as f64 / self.regions.max(1) as f64;
        format!(
            "{} kernels, {} regions, {} instructions, algorithm {}, {:.2} s of processor time\n\
             waves:  {waves_before} -> {waves}, at most {waves_bound} are possible\n\
             length: {length_before} -> {length} cycles, at least {length_bound} are needed\n\
             proven: {} regions ({share:.1} %) are as good as possible for the goal",
            grouped(kernels as u64),
            grouped(self.regions),
            grouped(self.instructions),
            algorithm.name(),
            self.seconds,
            grouped(self.proven),
        )
    }
}
