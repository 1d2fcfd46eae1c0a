//! `lowtide view`: the schedules of all kernels as one HTML page.
//!
//! The page has the figures of `lowtide schedule --json` for all kernels and regions, and the details of
//! every region. `detail` has the data of a region, and `chunks` compresses them. The script that draws the
//! page is in `web/src/report` of `lowtide-tool`.

mod chunks;
mod detail;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lowtide::check::check;
use lowtide::problem::{Measure, Problem};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide::throughput::cycles_per_wave;
use lowtide_io::LineWriter;
use lowtide_tool::Failure;
use lowtide_tool::args::name_of;
use lowtide_tool::names::readable;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::page::{Part, REPORT, page};
use lowtide_tool::table::{command_line, counted};
use serde::Serialize;
use serde_json::Value;

use super::schedule::{Baseline, KernelResult, PointResult, Work};
use crate::args::WorkArgs;
use chunks::{Chunks, Place};
use detail::Detail;

/// The arguments of `lowtide view`.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    work: WorkArgs,

    /// Write the page to FILE, or to the standard output (-). The file is written atomically on success
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,

    /// Compare with this order
    #[arg(long, value_enum, default_value = "production")]
    baseline: Baseline,

    /// Draw the trade-off between waves and length of each kernel (goals occupancy and throughput)
    #[arg(long)]
    front: bool,

    /// Print JSON instead of a sentence
    #[arg(long)]
    json: bool,
}

/// The list of all regions.
#[derive(Serialize)]
struct Overview {
    command: String,
    version: &'static str,
    goal: String,
    algorithm: &'static str,
    targets: BTreeMap<String, TargetEntry>,
    kernels: Vec<KernelEntry>,
}

#[derive(Serialize)]
struct TargetEntry {
    description: String,
    width: u32,
    units: Vec<String>,
    files: Vec<FileEntry>,
}

/// A register file: its classes, and its steps as (most registers, waves).
#[derive(Serialize)]
struct FileEntry {
    name: String,
    classes: Vec<String>,
    steps: Vec<(u32, u32)>,
}

/// A kernel as in `lowtide schedule --json`, with the figures of its other orders.
#[derive(Serialize)]
struct KernelEntry {
    #[serde(flatten)]
    result: Value,
    most_waves: u32,
    regions: Vec<RegionEntry>,
    /// None if it was not asked for.
    front: Option<FrontEntry>,
}

/// The trade-off between waves and length of a kernel.
#[derive(Serialize)]
struct FrontEntry {
    /// Fewest waves first.
    points: Vec<PointEntry>,
    /// The point of the production orders. Regions without one count in their source order.
    production: Option<OrderPoint>,
}

/// The schedules of a kernel for a number of waves. Lengths are sums over all regions.
#[derive(Serialize)]
struct PointEntry {
    waves: u32,
    length: u64,
    length_bound: u64,
    spilled: u64,
    /// Regions whose length is proven.
    proven: usize,
    cycles_per_wave: f64,
    cycles_per_wave_bound: f64,
}

/// The orders of a kernel that are not on its front.
#[derive(Serialize)]
struct OrderPoint {
    waves: u32,
    length: u64,
    cycles_per_wave: f64,
}

/// A region as in `lowtide schedule --json`. Its schedule is among the details.
#[derive(Serialize)]
struct RegionEntry {
    #[serde(flatten)]
    result: Value,
    loop_depth: u32,
    classes: Vec<String>,
    primary: usize,
    occupancy: u32,
    source: Figures,
    production: Option<Figures>,
    /// The place of the details. None until they are collected.
    #[serde(flatten)]
    place: Option<Place>,
}

/// The figures of another order.
#[derive(Serialize)]
struct Figures {
    occupancy: u32,
    length: u32,
    peak: BTreeMap<String, u32>,
}

/// A kernel with the details of its regions, as JSON.
struct Shown {
    kernel: KernelEntry,
    target: (String, TargetEntry),
    details: Vec<String>,
}

/// The result of the command.
#[derive(Serialize)]
struct Written {
    file: String,
    bytes: usize,
    kernels: usize,
    regions: usize,
}

pub(crate) fn run(args: &ViewArgs) -> Result<(), Failure> {
    let work = Work::new(&args.work, false, args.front)?.with_baseline(args.baseline);
    let fail = |error| Failure::Write { file: args.output.display().to_string(), error };
    let mut output = LineWriter::create(&args.output).map_err(fail)?;
    let mut targets = BTreeMap::new();
    let mut kernels = Vec::new();
    // The overview comes first.
    let mut details = Chunks::from(1);
    let show = |kernel: &Kernel, target: &Target, problems: &[Problem], result| {
        show(kernel, target, problems, &result)
    };
    work.for_each_kernel(&args.work, show, |mut shown| {
        let (name, target) = shown.target;
        targets.insert(name, target);
        for (region, detail) in shown.kernel.regions.iter_mut().zip(shown.details) {
            region.place = Some(details.add(detail)?);
        }
        kernels.push(shown.kernel);
        Ok(())
    })?;
    let overview = Overview {
        command: command_line(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())),
        version: env!("CARGO_PKG_VERSION"),
        goal: name_of(&args.work.goal),
        algorithm: args.work.algorithm.name(),
        targets,
        kernels,
    };
    let mut parts = vec![Part::pack(&overview)?];
    parts.extend(details.finish()?);
    let title = match &args.work.input.files[..] {
        [file] => file.file_name().map(|name| format!("Lowtide: {}", name.to_string_lossy())),
        _ => None,
    };
    let title = title.unwrap_or_else(|| "Lowtide".to_string());
    let html = page(&title, REPORT, &BTreeMap::from([("title", &title)]), &parts)?;
    output.line(&html).map_err(fail)?;
    output.finish().map_err(fail)?;
    if args.output == Path::new("-") {
        return Ok(());
    }
    let written = Written {
        file: args.output.display().to_string(),
        bytes: html.len() + 1,
        kernels: overview.kernels.len(),
        regions: overview.kernels.iter().map(|kernel| kernel.regions.len()).sum(),
    };
    match args.json {
        true => print_json(&written),
        false => print(&written.in_words()),
    }
}

impl Written {
    fn in_words(&self) -> String {
        format!(
            "{}: {}, {}, {:.1} MB; open it in a browser",
            self.file,
            counted(self.kernels as u64, "kernel"),
            counted(self.regions as u64, "region"),
            self.bytes as f64 / 1e6
        )
    }
}

/// Return the data of a kernel. The checker has accepted every schedule in it.
fn show(
    kernel: &Kernel,
    target: &Target,
    problems: &[Problem],
    result: &KernelResult,
) -> Result<Shown, Failure> {
    let mut regions = Vec::new();
    let mut details = Vec::new();
    for (problem, found) in problems.iter().zip(&result.regions) {
        let region = problem.region();
        let name = |error: String| {
            Failure::Message(format!("kernel {:?}, region {}: {error}", kernel.name, region.name()))
        };
        let source = Schedule::source(problem);
        let production =
            region.production().map(|production| Schedule::in_order(problem, production.order.clone()));
        let checked = |algorithm: &'static str, schedule: &Schedule| {
            checked(problem, schedule).map_err(|violation| Failure::Illegal {
                algorithm,
                kernel: kernel.name.clone(),
                region: region.name().to_string(),
                violation,
            })
        };
        let after = checked("lowtide", &found.schedule)?;
        let entry = RegionEntry {
            result: value(found, &["order", "cycles", "searches"])?,
            loop_depth: region.loop_depth(),
            classes: region.classes().iter().map(ToString::to_string).collect(),
            primary: problem.primary_class().index(),
            occupancy: after.occupancy,
            source: Figures::new(region, &checked("source", &source)?),
            production: match &production {
                Some(production) => Some(Figures::new(region, &checked("production", production)?)),
                None => None,
            },
            place: None,
        };
        let detail = Detail::new(problem, found, &source, production.as_ref(), result.baseline);
        let detail = detail.map_err(name)?;
        details.push(serde_json::to_string(&detail).map_err(|error| name(error.to_string()))?);
        regions.push(entry);
    }
    let front = result.front.as_deref().map(|points| FrontEntry::new(kernel, target, problems, points));
    // The schedules of all points would make the page much larger.
    let mut shown = value(result, &["regions", "front", "readable_name"])?;
    shown["symbol"] = kernel.name.as_str().into();
    shown["name"] = readable(&kernel.name).into();
    let kernel = KernelEntry {
        result: shown,
        most_waves: kernel.max_occupancy.unwrap_or(u32::MAX),
        regions,
        front: front.transpose()?,
    };
    Ok(Shown { kernel, target: (target.name().to_string(), TargetEntry::new(target)), details })
}

impl FrontEntry {
    fn new(
        kernel: &Kernel,
        target: &Target,
        problems: &[Problem],
        points: &[PointResult],
    ) -> Result<Self, Failure> {
        let point = |point: &PointResult| PointEntry {
            waves: point.waves,
            length: point.length(),
            length_bound: point.length_bound(),
            spilled: point.spilled(),
            proven: point.proven(),
            cycles_per_wave: point.cycles_per_wave,
            cycles_per_wave_bound: point.cycles_per_wave_bound,
        };
        let is_recorded = kernel.regions.iter().any(|region| region.production().is_some());
        let production = is_recorded.then(|| OrderPoint::of_production(kernel, target, problems));
        Ok(FrontEntry { points: points.iter().map(point).collect(), production: production.transpose()? })
    }
}

impl OrderPoint {
    fn of_production(kernel: &Kernel, target: &Target, problems: &[Problem]) -> Result<Self, Failure> {
        let measures: Vec<Measure> =
            problems.iter().map(|problem| problem.measure(&Schedule::production(problem))).collect();
        let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
        let cycles =
            cycles_per_wave(kernel, target, most, &measures).map_err(Failure::target(&kernel.name))?;
        Ok(OrderPoint {
            waves: cycles.waves(),
            length: measures.iter().map(|measure| u64::from(measure.length)).sum(),
            cycles_per_wave: cycles.value(),
        })
    }
}

/// Return the figures of a schedule. It is an error if checker and scheduler disagree.
fn checked(problem: &Problem, schedule: &Schedule) -> Result<Measure, String> {
    let report = check(problem.region(), problem.target(), schedule)
        .map_err(|violations| violations.first().map_or_else(String::new, ToString::to_string))?;
    let measure = problem.measure(schedule);
    match problem.agrees(&measure, &report) {
        true => Ok(measure),
        false => Err(format!("the checker finds {report:?}, the scheduler {measure:?}")),
    }
}

/// Return the JSON of a result without some of its fields.
fn value(result: &impl Serialize, without: &[&str]) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(result)
        .map_err(|error| Failure::Message(format!("the page cannot be written: {error}")))?;
    if let Value::Object(fields) = &mut value {
        without.iter().for_each(|field| drop(fields.remove(*field)));
    }
    Ok(value)
}

impl Figures {
    fn new(region: &Region, measure: &Measure) -> Self {
        let peaks = region.classes().iter().zip(&measure.peaks);
        Figures {
            occupancy: measure.occupancy,
            length: measure.length,
            peak: peaks.map(|(class, peak)| (class.to_string(), peak.between)).collect(),
        }
    }
}

impl TargetEntry {
    fn new(target: &Target) -> Self {
        let files = target.files().iter().map(|file| FileEntry {
            name: file.name.clone(),
            classes: file.classes.iter().map(|class| class.name.clone()).collect(),
            steps: file.steps(),
        });
        TargetEntry {
            description: target.description().to_string(),
            width: target.issue().width,
            units: target.issue().units.iter().map(|unit| unit.name.clone()).collect(),
            files: files.collect(),
        }
    }
}
