//! `lowtide schedule`: the main job.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lowtide::outcome::Outcome;
use lowtide::pipeline::{Algorithm, Filter, Options, explain, schedule_kernel};
use lowtide::problem::Problem;
use lowtide::progress::{SearchLog, Step};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::solved::Solved;
use lowtide::target::Target;
use lowtide_io::{BoundReason, LineWriter, PeakBound, format_schedule};
use serde::Serialize;

use super::ants::ask_gpu;
use super::constraints::Constraints;
use super::{print, print_json};
use crate::args::{Method, ScheduleArgs, WorkArgs};
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::progress;
use crate::report::{change, counted, grouped, shorten, table};

#[derive(Serialize)]
struct Document {
    kernels: Vec<KernelResult>,
    /// Regions that have the graph of another one.
    repeated: u64,
}

/// What became of a kernel.
#[derive(Serialize)]
pub(super) struct KernelResult {
    name: String,
    origin: String,
    target: String,
    occupancy: u32,
    occupancy_bound: u32,
    /// Whether waves were given up for length.
    filtered: bool,
    seconds: f64,
    pub(super) regions: Vec<RegionResult>,
    #[serde(skip)]
    source: Before,
}

/// The same figures for the source order.
struct Before {
    occupancy: u32,
    peak: u32,
    length: u64,
}

/// What became of a region.
#[derive(Serialize)]
pub(super) struct RegionResult {
    name: String,
    n: usize,
    order: Vec<u32>,
    cycles: Vec<u32>,
    peak: BTreeMap<String, u32>,
    peak_at: BTreeMap<String, u32>,
    peak_bound: BTreeMap<String, u32>,
    peak_bound_by: BTreeMap<String, BoundReason>,
    length: u32,
    length_bound: u32,
    /// Whether waves and length are proven to be as good as possible, one by one.
    proven_waves: bool,
    proven_length: bool,
    optimal: bool,
    /// How it was found: none where nothing had to be sought.
    pub(super) searches: Vec<SearchResult>,
    #[serde(skip)]
    primary: (u32, u32),
    #[serde(skip)]
    pub(super) schedule: Schedule,
    #[serde(skip)]
    pub(super) bounds: Vec<PeakBound>,
}

/// A search from its start to its end.
#[derive(Serialize)]
pub(super) struct SearchResult {
    /// What was sought.
    of: &'static str,
    /// Whether it was sought for another region with the same graph.
    copied: bool,
    steps: Vec<StepResult>,
}

#[derive(Serialize)]
struct StepResult {
    seconds: f64,
    nodes: u64,
    best: u64,
    bound: u64,
}

impl From<SearchLog> for SearchResult {
    fn from(log: SearchLog) -> Self {
        let step = |step: &Step| StepResult {
            seconds: step.time.as_secs_f64(),
            nodes: step.nodes,
            best: step.best,
            bound: step.bound,
        };
        SearchResult {
            of: log.quantity.name(),
            copied: log.is_copied,
            steps: log.steps.iter().map(step).collect(),
        }
    }
}

impl RegionResult {
    fn new(region: &Region, problem: &Problem, outcome: Outcome, searches: Vec<SearchLog>) -> Self {
        let by_class = |figure: &dyn Fn(usize) -> u32| {
            let classes = region.classes().iter().enumerate();
            classes.map(|(class, name)| (name.to_string(), figure(class))).collect()
        };
        let Outcome { schedule, measure, bounds, proven_waves, optimal } = outcome;
        let primary = problem.primary_class().index();
        let peak = measure.peaks.get(primary).map_or(0, |peak| peak.between);
        let reasoned = PeakBound::all(region, &bounds);
        RegionResult {
            name: region.name().to_string(),
            n: region.len(),
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            cycles: schedule.cycles().to_vec(),
            peak: by_class(&|class| measure.peaks[class].between),
            peak_at: by_class(&|class| measure.peaks[class].at),
            peak_bound: by_class(&|class| bounds.peaks[class]),
            peak_bound_by: reasoned.iter().map(|bound| (bound.class.clone(), bound.by.clone())).collect(),
            length: measure.length,
            length_bound: bounds.length,
            proven_waves,
            proven_length: measure.length == bounds.length,
            optimal,
            searches: searches.into_iter().map(SearchResult::from).collect(),
            primary: (peak, bounds.peaks.get(primary).copied().unwrap_or(0)),
            schedule,
            bounds: reasoned,
        }
    }
}

/// How kernels are scheduled, as asked for on the command line: for `schedule` and for all that shows the same.
pub(super) struct Work {
    targets: Targets,
    options: Options,
    constraints: Option<Constraints>,
    solved: Solved,
    /// For lines on the terminal.
    so_far: Mutex<Totals>,
}

impl Work {
    /// Fails before anything is read if something is asked for that cannot be done.
    pub(super) fn new(args: &WorkArgs, explain: bool) -> Result<Self, Failure> {
        let targets = Targets::new(&args.target)?;
        let options = Options {
            goal: args.goal.into(),
            algorithm: match args.algorithm {
                Method::Algorithm(algorithm) => algorithm,
                Method::Constraints(model) => Constraints::start(model),
            },
            budget: args.budget.budget(),
            registers: args.registers,
            filter: (!args.no_filter).then(Filter::default),
            colony: args.ants.parameters(),
        };
        let constraints = match args.algorithm {
            Method::Algorithm(_) => None,
            Method::Constraints(model) => Some(Constraints::new(model, &options, explain)?),
        };
        Ok(Work { targets, options, constraints, solved: progress::solved(), so_far: Mutex::default() })
    }

    /// Schedules all kernels of the input: `show` makes of each what `collect` gets, in the order of the input.
    pub(super) fn for_each_kernel<T: Send>(
        &self,
        args: &WorkArgs,
        show: impl Fn(&Kernel, &Target, &[Problem], KernelResult) -> Result<T, Failure> + Sync,
        collect: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.options.algorithm == Algorithm::Colony
            && let Some(gpu) = args.ants.gpu()?
            && let Err(error) = ask_gpu(&gpu, &args.input, &self.targets, self.options, &self.solved)
        {
            if !args.ants.may_fall_back() {
                return Err(error);
            }
            eprintln!("warning: {error}; the processor does the work instead");
        }
        let work = |kernel: Kernel| {
            let target = self.targets.of(&kernel)?;
            let problems = kernel.regions.iter().map(|region| self.options.problem(region, target));
            let problems: Vec<Problem> = problems
                .collect::<Result<_, _>>()
                .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })?;
            let result = self.schedule(&kernel, target, &problems)?;
            tell_kernel(&result, &self.so_far);
            show(&kernel, target, &problems, result)
        };
        for_each_kernel(&args.input, work, collect)?;
        if let Some(constraints) = &self.constraints {
            constraints.report_too_large();
        }
        Ok(())
    }

    fn schedule(
        &self,
        kernel: &Kernel,
        target: &Target,
        problems: &[Problem],
    ) -> Result<KernelResult, Failure> {
        let start = Instant::now();
        let outcome = match &self.constraints {
            Some(constraints) => constraints.schedule_kernel(kernel, target, self.options)?,
            None => schedule_kernel(kernel, target, self.options, &self.solved)
                .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
        let mut source = Before { occupancy: most, peak: 0, length: 0 };
        let mut regions = Vec::new();
        let outcomes = outcome.regions.into_iter().zip(outcome.searches);
        for (problem, (outcome, searches)) in problems.iter().zip(outcomes) {
            let before = problem.measure(&Schedule::source(problem));
            source.occupancy = source.occupancy.min(before.occupancy);
            let peak = before.peaks.get(problem.primary_class().index()).map_or(0, |peak| peak.between);
            source.peak = source.peak.max(peak);
            source.length += u64::from(before.length);
            regions.push(RegionResult::new(problem.region(), problem, outcome, searches));
        }
        Ok(KernelResult {
            name: kernel.name.clone(),
            origin: kernel.origin.clone(),
            target: target.name().to_string(),
            occupancy: outcome.occupancy,
            occupancy_bound: outcome.occupancy_bound,
            filtered: outcome.is_filtered,
            seconds,
            regions,
            source,
        })
    }
}

pub(crate) fn run(args: &ScheduleArgs) -> Result<(), Failure> {
    let work = Work::new(&args.work, args.explain)?;
    if args.explain {
        return explain_choices(args, &work.targets, work.options);
    }
    let mut output = args
        .output
        .as_deref()
        .map(LineWriter::create)
        .transpose()
        .map_err(|error| write_failure(args, error))?;
    let mut document = Document { kernels: Vec::new(), repeated: 0 };
    work.for_each_kernel(
        &args.work,
        |_, _, _, result| Ok(result),
        |result| {
            if let Some(output) = &mut output {
                for region in &result.regions {
                    let line = format_schedule(
                        &result.name,
                        &result.origin,
                        &region.name,
                        &region.schedule,
                        &region.bounds,
                    );
                    output.line(&line).map_err(|error| write_failure(args, error))?;
                }
            }
            document.kernels.push(result);
            Ok(())
        },
    )?;
    document.repeated = work.solved.repeated();
    if let Some(output) = output {
        output.finish().map_err(|error| write_failure(args, error))?;
    }
    if args.output.as_deref() == Some(Path::new("-")) {
        // A table between the schedules would spoil both.
    } else if args.json {
        print_json(&document)?;
    } else {
        print(&as_table(&document, args))?;
    }
    progress::summary(&facts(&document, args));
    Ok(())
}

/// A line for a kernel that has become better, and the totals so far.
fn tell_kernel(kernel: &KernelResult, so_far: &Mutex<Totals>) {
    let [_, waves, _, length, ..] = figures(kernel, &mut Totals::default());
    let mut total = so_far.lock().unwrap_or_else(PoisonError::into_inner);
    let before = total.length;
    figures(kernel, &mut total);
    let [source, now, _] = [0, 1, 2].map(|place| total.length[place] - before[place]);
    if kernel.occupancy > kernel.source.occupancy
        || kernel.occupancy == kernel.source.occupancy && now < source
    {
        progress::line(&format!("{}: waves {waves}, length {length}", shorten(&kernel.name, 40)));
    }
    progress::totals(&total.in_short());
}

/// What the summary tells.
fn facts(document: &Document, args: &ScheduleArgs) -> Vec<String> {
    let mut total = Totals { repeated: document.repeated, ..Totals::default() };
    document.kernels.iter().for_each(|kernel| {
        figures(kernel, &mut total);
    });
    let mut targets: Vec<&str> = document.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let budget =
        progress::budget_in_words(args.work.budget.budget(), "instruction and pass", "region and pass");
    vec![
        format!(
            "target {}, goal {}, algorithm {}, {budget}",
            targets.join(" and "),
            args.work.goal.name(),
            args.work.algorithm.name()
        ),
        format!(
            "{}, {}, {}",
            counted(document.kernels.len() as u64, "kernel"),
            counted(total.regions, "region"),
            counted(total.instructions, "instruction")
        ),
        total.in_short(),
        format!(
            "proven: {} of {} regions ({:.1} %)",
            grouped(total.proven),
            grouped(total.regions),
            100.0 * total.proven as f64 / total.regions.max(1) as f64
        ),
    ]
}

/// `--explain`: why each instruction was chosen, region by region.
fn explain_choices(args: &ScheduleArgs, targets: &Targets, options: Options) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for_each_kernel(
        &args.work.input,
        |kernel| {
            let target = targets.of(&kernel)?;
            let mut lines = Vec::new();
            for region in &kernel.regions {
                let problem = options
                    .problem(region, target)
                    .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })?;
                let Some(decisions) = explain(&problem, options.algorithm) else {
                    let able = Algorithm::ALL.into_iter().filter(|other| explain(&problem, *other).is_some());
                    return Err(Failure::Message(format!(
                        "{} does not choose one instruction at a time; --explain works with --algorithm {}",
                        options.algorithm.name(),
                        able.map(Algorithm::name).collect::<Vec<_>>().join(", ")
                    )));
                };
                lines.push(format!("kernel {}, region {}", kernel.name, region.name()));
                for decision in decisions {
                    lines.push(format!(
                        "  {} of {}: {}",
                        region.describe(decision.instr),
                        decision.candidates,
                        decision.reason
                    ));
                }
            }
            Ok(lines)
        },
        |part| {
            lines.extend(part);
            Ok(())
        },
    )?;
    print(&lines.join("\n"))
}

fn write_failure(args: &ScheduleArgs, error: std::io::Error) -> Failure {
    let file = args.output.as_deref().unwrap_or_else(|| "-".as_ref()).display().to_string();
    Failure::Write { file, error }
}

/// The table fits into so many columns, as long as that leaves names recognisable.
const WIDTH: usize = 100;
const SHORTEST_NAME: usize = 20;
/// Between two columns.
const GAP: usize = 3;

/// Columns after the names.
const FIGURES: [&str; 6] = ["size", "waves", "peak", "length", "proven", "ms"];

fn as_table(document: &Document, args: &ScheduleArgs) -> String {
    let mut total = Totals { repeated: document.repeated, ..Totals::default() };
    let figures: Vec<_> = document.kernels.iter().map(|kernel| figures(kernel, &mut total)).collect();
    let mut targets: Vec<&str> = document.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
    let one_target = targets.windows(2).all(|pair| pair[0] == pair[1]);
    let summary = total.in_words(&targets, args.work.algorithm);
    if args.summary {
        return summary;
    }
    if one_target {
        // The summary tells it once for all.
        targets.clear();
    }
    let width = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max();
    let mut taken = width(&mut targets.iter().copied().chain(["target"])).unwrap_or(0) + GAP;
    if one_target {
        taken = 0;
    }
    for (position, title) in FIGURES.into_iter().enumerate() {
        let column = figures.iter().map(|row| row[position].as_str());
        taken += width(&mut column.chain([title])).unwrap_or(0) + GAP;
    }
    let name_width = WIDTH.saturating_sub(taken).max(SHORTEST_NAME);
    let names: &[&str] = if one_target { &["kernel"] } else { &["kernel", "target"] };
    let mut rows = table(names.len(), &[names, &FIGURES].concat());
    for (kernel, figures) in document.kernels.iter().zip(figures) {
        let mut row = vec![shorten(&kernel.name, name_width)];
        row.extend((!one_target).then(|| kernel.target.clone()));
        row.extend(figures);
        rows.add_row(row);
    }
    format!(
        "{rows}\n\nBounds in brackets, where they are not reached; proven: regions that cannot be better.\n{summary}"
    )
}

/// The figures of a kernel, which are also added to the totals.
fn figures(kernel: &KernelResult, total: &mut Totals) -> [String; FIGURES.len()] {
    let peak = kernel.regions.iter().map(|region| region.primary.0).max().unwrap_or(0);
    let peak_bound = kernel.regions.iter().map(|region| region.primary.1).max().unwrap_or(0);
    let length: u64 = kernel.regions.iter().map(|region| u64::from(region.length)).sum();
    let length_bound: u64 = kernel.regions.iter().map(|region| u64::from(region.length_bound)).sum();
    let instructions: usize = kernel.regions.iter().map(|region| region.n).sum();
    let proven = kernel.regions.iter().filter(|region| region.optimal).count();
    total.regions += kernel.regions.len() as u64;
    total.proven += proven as u64;
    total.proven_waves += kernel.regions.iter().filter(|region| region.proven_waves).count() as u64;
    total.proven_length += kernel.regions.iter().filter(|region| region.proven_length).count() as u64;
    total.filtered += u64::from(kernel.filtered);
    total.instructions += instructions as u64;
    total.occupancy[0] += u64::from(kernel.source.occupancy);
    total.occupancy[1] += u64::from(kernel.occupancy);
    total.occupancy[2] += u64::from(kernel.occupancy_bound);
    total.length[0] += kernel.source.length;
    total.length[1] += length;
    total.length[2] += length_bound;
    total.seconds += kernel.seconds;
    [
        instructions.to_string(),
        with_bound(
            kernel.source.occupancy.into(),
            kernel.occupancy.into(),
            '≤',
            kernel.occupancy_bound.into(),
        ),
        with_bound(kernel.source.peak.into(), peak.into(), '≥', peak_bound.into()),
        with_bound(kernel.source.length, length, '≥', length_bound),
        format!("{proven}/{}", kernel.regions.len()),
        // Of one width, so that the layout does not change from run to run.
        format!("{:6.1}", kernel.seconds * 1e3),
    ]
}

/// `7 -> 9 (≤10)`. The bound is worth its place only where something is left to gain.
fn with_bound(before: u64, after: u64, relation: char, bound: u64) -> String {
    let text = change(before, after);
    match after == bound {
        true => text,
        false => format!("{text} ({relation}{bound})"),
    }
}

#[derive(Default)]
struct Totals {
    regions: u64,
    repeated: u64,
    proven: u64,
    proven_waves: u64,
    proven_length: u64,
    filtered: u64,
    instructions: u64,
    /// Of the source order, of the result, and the bound.
    occupancy: [u64; 3],
    length: [u64; 3],
    seconds: f64,
}

impl Totals {
    /// Waves and length with their bounds, in a line.
    fn in_short(&self) -> String {
        let [waves_before, waves, waves_bound] = self.occupancy;
        let [length_before, length, length_bound] = self.length;
        format!(
            "waves {} -> {} (at most {}), length {} -> {} (at least {}, gap {})",
            grouped(waves_before),
            grouped(waves),
            grouped(waves_bound),
            grouped(length_before),
            grouped(length),
            grouped(length_bound),
            progress::gap(length, length_bound)
        )
    }

    fn in_words(&self, targets: &[&str], algorithm: Method) -> String {
        let [waves_before, waves, waves_bound] = self.occupancy.map(grouped);
        let [length_before, length, length_bound] = self.length.map(grouped);
        let mut names: Vec<&str> = targets.to_vec();
        names.sort_unstable();
        names.dedup();
        let share = |count: u64| 100.0 * count as f64 / self.regions.max(1) as f64;
        let mut text = format!(
            "{} kernels, {} regions, {} instructions for {}, algorithm {}, {:.2} s of processor time\n\
             waves:  {waves_before} -> {waves}, at most {waves_bound} are possible\n\
             length: {length_before} -> {length} cycles, at least {length_bound} are needed\n\
             proven: {} regions ({:.1} %) are as good as possible for the goal (waves {:.1} %, length {:.1} %)\n\
             new:    {}; {} have the graph of another one",
            grouped(targets.len() as u64),
            grouped(self.regions),
            grouped(self.instructions),
            names.join(" and "),
            algorithm.name(),
            self.seconds,
            grouped(self.proven),
            share(self.proven),
            share(self.proven_waves),
            share(self.proven_length),
            counted(self.regions - self.repeated, "region"),
            grouped(self.repeated),
        );
        if self.filtered > 0 {
            text += &format!(
                "\nfilter: {} could have more waves, which would cost too many cycles (--no-filter)",
                counted(self.filtered, "kernel")
            );
        }
        text
    }
}
