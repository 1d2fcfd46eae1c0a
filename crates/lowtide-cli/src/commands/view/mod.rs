//! `lowtide view`: the schedules of all kernels as one HTML page.
//!
//! The page has the figures of `lowtide schedule --json` for all kernels and regions. It has the details of
//! as many regions as fit into its size. `detail` has the data of a region, and `layout` places the nodes of
//! its graph. The script that draws the page is in `web/src/report` of `lowtide-tool`.

mod detail;
mod layout;

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
use lowtide_tool::output::{print, print_json};
use lowtide_tool::page::{Part, REPORT, page};
use lowtide_tool::table::{command_line, counted};
use serde::Serialize;
use serde_json::Value;

use super::schedule::{KernelResult, PointResult, Work};
use crate::args::WorkArgs;
use detail::Detail;

/// The arguments of `lowtide view`.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    work: WorkArgs,

    /// Write the page to FILE, or to the standard output (-). The file is written atomically on success
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,

    /// Draw the trade-off between waves and length of each kernel (goals occupancy and throughput)
    #[arg(long)]
    front: bool,

    /// Print JSON instead of a sentence
    #[arg(long)]
    json: bool,
}

/// The largest page in bytes: browsers open it quickly, and mail servers accept it.
const MOST_BYTES: usize = 10_000_000;

/// The list of all regions.
#[derive(Serialize)]
struct Overview {
    command: String,
    version: &'static str,
    goal: String,
    algorithm: &'static str,
    targets: BTreeMap<String, TargetEntry>,
    kernels: Vec<KernelEntry>,
    /// Regions whose details did not fit.
    left_out: usize,
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
    /// The part with the details, if they fit.
    part: Option<usize>,
}

/// The figures of another order.
#[derive(Serialize)]
struct Figures {
    occupancy: u32,
    length: u32,
    peak: BTreeMap<String, u32>,
}

/// A kernel with the details of its regions.
struct Shown {
    kernel: KernelEntry,
    target: (String, TargetEntry),
    details: Vec<Part>,
}

/// The result of the command.
#[derive(Serialize)]
struct Written {
    file: String,
    bytes: usize,
    kernels: usize,
    regions: usize,
    /// Regions whose details did not fit.
    left_out: usize,
}

pub(crate) fn run(args: &ViewArgs) -> Result<(), Failure> {
    let work = Work::new(&args.work, false, args.front)?;
    let fail = |error| Failure::Write { file: args.output.display().to_string(), error };
    let mut output = LineWriter::create(&args.output).map_err(fail)?;
    let mut targets = BTreeMap::new();
    let mut kernels = Vec::new();
    let mut details = Vec::new();
    let show = |kernel: &Kernel, target: &Target, problems: &[Problem], result| {
        show(kernel, target, problems, &result)
    };
    work.for_each_kernel(&args.work, show, |shown| {
        let (name, target) = shown.target;
        targets.insert(name, target);
        details.extend(shown.details);
        kernels.push(shown.kernel);
        Ok(())
    })?;
    let mut overview = Overview {
        command: command_line(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())),
        version: env!("CARGO_PKG_VERSION"),
        goal: name_of(&args.work.goal),
        algorithm: args.work.algorithm.name(),
        targets,
        kernels,
        left_out: 0,
    };
    let parts = choose(&mut overview, details, MOST_BYTES)?;
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
        left_out: overview.left_out,
    };
    match args.json {
        true => print_json(&written),
        false => print(&written.in_words()),
    }
}

impl Written {
    fn in_words(&self) -> String {
        let mut text = format!(
            "{}: {}, {}, {:.1} MB; open it in a browser",
            self.file,
            counted(self.kernels as u64, "kernel"),
            counted(self.regions as u64, "region"),
            self.bytes as f64 / 1e6
        );
        if self.left_out > 0 {
            text += &format!(
                "\nThe details of {} did not fit: choose kernels with --kernel.",
                counted(self.left_out as u64, "region")
            );
        }
        text
    }
}

/// Return the overview, and the details of the largest regions that fit beside it into a page of `most` bytes.
fn choose(overview: &mut Overview, details: Vec<Part>, most: usize) -> Result<Vec<Part>, Failure> {
    let regions = || overview.kernels.iter().flat_map(|kernel| &kernel.regions);
    let mut largest: Vec<usize> = (0..details.len()).collect();
    let sizes: Vec<u64> = regions().map(|region| region.result["n"].as_u64().unwrap_or(0)).collect();
    largest.sort_by_key(|region| std::cmp::Reverse(sizes[*region]));
    // The numbers of parts and the elements around them take further bytes.
    let taken = Part::pack(overview)?.size() + 6 * details.len() + page("", REPORT, &(), &[])?.len() + 1000;
    let mut left = most.saturating_sub(taken);
    let mut fits = vec![false; details.len()];
    for region in largest {
        let size = details[region].size() + 60;
        fits[region] = size <= left;
        left = left.saturating_sub(if fits[region] { size } else { left });
    }
    let mut parts = Vec::new();
    let regions = overview.kernels.iter_mut().flat_map(|kernel| &mut kernel.regions);
    for ((region, part), fits) in regions.zip(details).zip(fits) {
        match fits {
            true => {
                // The overview comes first.
                region.part = Some(parts.len() + 1);
                parts.push(part);
            }
            false => overview.left_out += 1,
        }
    }
    parts.insert(0, Part::pack(overview)?);
    Ok(parts)
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
            part: None,
        };
        let detail = Detail::new(problem, found, &source, production.as_ref()).map_err(name)?;
        details.push(Part::pack(&detail)?);
        regions.push(entry);
    }
    let front = result.front.as_deref().map(|points| FrontEntry::new(kernel, target, problems, points));
    let kernel = KernelEntry {
        // The schedules of all points would make the page much larger.
        result: value(result, &["regions", "front"])?,
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
    let agrees = report.peaks == measure.peaks
        && report.occupancy == measure.occupancy
        && report.spilled == measure.spilled
        && report.length == measure.length;
    match agrees {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn region(size: usize) -> RegionEntry {
        let figures = || Figures { occupancy: 1, length: 1, peak: BTreeMap::new() };
        RegionEntry {
            result: json!({"n": size}),
            loop_depth: 0,
            classes: Vec::new(),
            primary: 0,
            occupancy: 1,
            source: figures(),
            production: None,
            part: None,
        }
    }

    #[test]
    fn the_largest_regions_are_shown_in_detail_if_not_all_fit() {
        let sizes = [10, 30, 20, 40];
        let random = |seed: u64| {
            let mut random = lowtide::random::Random::new(seed);
            Part::pack(&(0..20_000).map(|_| random.below(1 << 30)).collect::<Vec<_>>()).unwrap()
        };
        let empty = page("", REPORT, &(), &[]).unwrap().len();
        let each = random(0).size();
        for (room, expected) in [
            (1, [None, None, None, None]),
            (each * 2 + each / 2, [None, Some(1), None, Some(2)]),
            (each * 3 + each / 2, [None, Some(1), Some(2), Some(3)]),
            (each * 5, [Some(1), Some(2), Some(3), Some(4)]),
        ] {
            let kernel = KernelEntry {
                result: json!({}),
                most_waves: 1,
                regions: sizes.map(region).into_iter().collect(),
                front: None,
            };
            let mut overview = Overview {
                command: String::new(),
                version: "",
                goal: String::new(),
                algorithm: "",
                targets: BTreeMap::new(),
                kernels: vec![kernel],
                left_out: 0,
            };
            let most = empty + room + 3000;
            let parts = choose(&mut overview, (0..4).map(random).collect(), most).unwrap();
            let shown: Vec<_> = overview.kernels[0].regions.iter().map(|region| region.part).collect();
            assert_eq!(shown, expected);
            assert_eq!(overview.left_out, expected.iter().filter(|part| part.is_none()).count());
            assert_eq!(parts.len(), 5 - overview.left_out);
            assert!(page("", REPORT, &(), &parts).unwrap().len() <= most);
        }
    }
}
