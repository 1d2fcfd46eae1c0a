//! `lowtide check`: the independent checker.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lowtide::InstrId;
use lowtide::analysis::pressure::Tracker;
use lowtide::check::{Violation, check, check_order, waves_of_kernel};
use lowtide::region::{Kernel, Peak, Region};
use lowtide_tool::Failure;
use lowtide_tool::args::{InputArgs, LatencyArgs, TargetArgs};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::table::{counted, grouped, table, width, wrapped};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::check_bounds::BoundReport;
use super::schedules::{ScheduleKey, read_schedules};

/// The arguments of `lowtide check`.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// Read a region file, or a folder of them
    file: PathBuf,

    /// Check the schedules of a file that `lowtide schedule -o` has written
    schedule: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArgs,
    /// By default, SCHEDULE says which latencies its cycles are made for
    #[command(flatten)]
    latencies: LatencyArgs,

    /// Refuse schedules whose pressure between instructions is above N, such as vgpr=24
    #[arg(long, value_name = "CLASS=N", value_parser = parse_limit, requires = "schedule")]
    limit: Vec<(String, u32)>,

    /// Refuse schedules whose pressure at an instruction, operands and results together, is above N
    #[arg(long, value_name = "CLASS=N", value_parser = parse_limit, requires = "schedule")]
    limit_at: Vec<(String, u32)>,

    /// Prove the bounds in SCHEDULE again, and count a schedule as optimal only if it meets a proven bound
    #[arg(long, requires = "schedule")]
    bound: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

fn parse_limit(text: &str) -> Result<(String, u32), String> {
    let (class, limit) = text.split_once('=').ok_or("expected CLASS=N, such as vgpr=24")?;
    Ok((class.to_string(), limit.parse().map_err(|_| format!("{limit:?} is not a number of registers"))?))
}

/// The most problems that are printed one by one.
pub(super) const MOST_PROBLEMS: usize = 20;

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let input = InputArgs::all_of(std::slice::from_ref(&args.file));
    match &args.schedule {
        Some(schedule) => check_schedules(args, &input, &targets, schedule),
        None => check_recorded(args, &input),
    }
}

#[derive(Serialize, Default)]
struct ScheduleDocument {
    regions: u64,
    illegal: u64,
    over_limit: u64,
    length: u64,
    /// The latencies that the cycles are checked with.
    latencies: BTreeSet<String>,
    /// Highest peak of any region, by class.
    peak: BTreeMap<String, u32>,
    peak_at: BTreeMap<String, u32>,
    /// Fewest waves of any kernel.
    occupancy: Option<u32>,
    /// With `--bound`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<BoundReport>,
    problems: Vec<String>,
}

fn check_schedules(
    args: &CheckArgs,
    input: &InputArgs,
    targets: &Targets,
    schedule: &Path,
) -> Result<(), Failure> {
    let schedules = read_schedules(schedule)?;
    if args.bound && schedules.values().all(|entry| entry.bounds.is_empty()) {
        return Err(Failure::Message(format!(
            "{}: carries no bounds to check: `lowtide schedule -o` writes them",
            schedule.display()
        )));
    }
    let named = args.latencies.named()?;
    let mut document = ScheduleDocument::default();
    let mut used: FxHashSet<ScheduleKey> = FxHashSet::default();
    for_each_kernel(
        input,
        |kernel| {
            let target = targets.of(&kernel)?;
            let mut part =
                ScheduleDocument { bounds: args.bound.then(BoundReport::default), ..Default::default() };
            let mut found = Vec::new();
            let mut legal: Vec<(&Region, Vec<Peak>)> = Vec::new();
            for region in &kernel.regions {
                let key = (kernel.origin.clone(), kernel.name.clone(), region.name().to_string());
                let name = format!("kernel {:?}, region {}", kernel.name, region.name());
                part.regions += 1;
                let Some(entry) = schedules.get(&key) else {
                    part.illegal += 1;
                    part.problems.push(format!("{name}: has no schedule"));
                    continue;
                };
                found.push(key);
                let latencies = target.resolve(named.unwrap_or(entry.latencies));
                part.latencies.insert(latencies.to_string());
                let own = match region.clone().with_latencies(latencies, target) {
                    Ok(region) => region,
                    Err(error) => {
                        part.illegal += 1;
                        part.problems.push(format!("{name}: {error}"));
                        continue;
                    }
                };
                let (recorded, region) = (region, &own);
                let report = check(region, target, &entry.schedule);
                if let Some(bounds) = &mut part.bounds {
                    let peaks = report.as_ref().ok().map(|report| &report.peaks[..]);
                    let problems = bounds.check(&kernel.name, region, &entry.bounds, peaks);
                    part.problems.extend(problems.iter().map(|problem| format!("{name}: {problem}")));
                }
                match report {
                    Err(violations) => {
                        part.illegal += 1;
                        part.problems
                            .extend(violations.iter().map(|violation| format!("{name}: {violation}")));
                        let recorded = target.resolve(entry.latencies);
                        if latencies != recorded {
                            part.problems.push(format!(
                                "{name}: the schedule was made with latencies {recorded}, and checked with {latencies}"
                            ));
                        }
                    }
                    Ok(report) => {
                        part.length += u64::from(report.length);
                        part.add_peaks(region, &report.peaks);
                        let problems = part.problems.len();
                        part.problems.extend(over_limits(args, region, &report.peaks, &name));
                        part.over_limit += u64::from(part.problems.len() > problems);
                        legal.push((recorded, report.peaks));
                    }
                }
            }
            let peaks = legal.iter().map(|(region, peaks)| (*region, &peaks[..]));
            part.occupancy = (!legal.is_empty()).then(|| waves_of_kernel(target, peaks));
            Ok((part, found))
        },
        |(part, found)| {
            document.add(part);
            used.extend(found);
            Ok(())
        },
    )?;
    let mut extra: Vec<&ScheduleKey> = schedules.keys().filter(|key| !used.contains(*key)).collect();
    extra.sort();
    document.illegal += extra.len() as u64;
    document.problems.extend(extra.into_iter().map(|(_, kernel, region)| {
        format!("kernel {kernel:?}, region {region}: has a schedule, but is not in the region file")
    }));
    if document.illegal == 0 {
        known_classes(args, &document.peak)?;
    }
    let failed = document.illegal > 0
        || document.over_limit > 0
        || document.bounds.as_ref().is_some_and(BoundReport::has_failed);
    document.problems.truncate(MOST_PROBLEMS);
    match args.json {
        true => print_json(&document)?,
        false => print(&document.as_text())?,
    }
    if failed { Err(Failure::Reported) } else { Ok(()) }
}

impl ScheduleDocument {
    fn add_peaks(&mut self, region: &Region, peaks: &[Peak]) {
        for (class, peak) in region.classes().iter().zip(peaks) {
            let highest = self.peak.entry(class.to_string()).or_default();
            *highest = peak.between.max(*highest);
            let highest = self.peak_at.entry(class.to_string()).or_default();
            *highest = peak.at.max(*highest);
        }
    }

    fn add(&mut self, part: ScheduleDocument) {
        self.regions += part.regions;
        self.illegal += part.illegal;
        self.over_limit += part.over_limit;
        self.length += part.length;
        self.latencies.extend(part.latencies);
        for (class, peak) in part.peak {
            let highest = self.peak.entry(class).or_default();
            *highest = peak.max(*highest);
        }
        for (class, peak) in part.peak_at {
            let highest = self.peak_at.entry(class).or_default();
            *highest = peak.max(*highest);
        }
        self.occupancy = self.occupancy.into_iter().chain(part.occupancy).min();
        if let Some(bounds) = part.bounds {
            self.bounds.get_or_insert_default().add(bounds);
        }
        self.problems.extend(part.problems);
    }

    fn as_text(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        let peaks: Vec<String> = (self.peak.iter().zip(self.peak_at.values()))
            .map(|((class, between), at)| format!("{class} {between} ({at} at an instruction)"))
            .collect();
        let latencies: Vec<&str> = self.latencies.iter().map(String::as_str).collect();
        text += &format!(
            "{} regions: {} illegal, {} over a limit; length {} in all (latencies: {}); highest peaks: {}; fewest \
             waves: {}",
            grouped(self.regions),
            grouped(self.illegal),
            grouped(self.over_limit),
            grouped(self.length),
            latencies.join(" and "),
            peaks.join(", "),
            self.occupancy.map_or_else(|| "-".to_string(), |waves| waves.to_string()),
        );
        if let Some(bounds) = &self.bounds {
            text += &format!("\n{}", bounds.as_text());
        }
        text
    }
}

/// Refuse a limit for a class that no region has: it is most likely misspelt.
fn known_classes(args: &CheckArgs, peak: &BTreeMap<String, u32>) -> Result<(), Failure> {
    let unknown = args.limit.iter().chain(&args.limit_at).find(|(class, _)| !peak.contains_key(class));
    let Some((class, _)) = unknown else { return Ok(()) };
    let known: Vec<&str> = peak.keys().map(String::as_str).collect();
    Err(Failure::Message(format!(
        "no region has registers of class {class:?}: known are {}",
        known.join(", ")
    )))
}

fn over_limits(args: &CheckArgs, region: &Region, peaks: &[Peak], name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (class, peak) in region.classes().iter().zip(peaks) {
        let limit = |limits: &[(String, u32)]| {
            limits.iter().filter(|(limited, _)| **limited == **class).map(|(_, limit)| *limit).min()
        };
        if let Some(limit) = limit(&args.limit).filter(|limit| peak.between > *limit) {
            problems.push(format!("{name}: {class} pressure {} is over the limit of {limit}", peak.between));
        }
        if let Some(limit) = limit(&args.limit_at).filter(|limit| peak.at > *limit) {
            problems.push(format!(
                "{name}: {class} pressure {} at an instruction is over the limit of {limit}",
                peak.at
            ));
        }
    }
    problems
}

/// Recorded figures that were recomputed, once by the checker and once by the tracker.
#[derive(Serialize, Default)]
struct RecordedDocument {
    source: Agreement,
    production: Agreement,
    /// Production orders of kernels where the production compiler changed instructions: some region of the
    /// kernel has no order. There the recorded pressure may be lower, since code moved to other regions, and
    /// a difference is no mismatch.
    production_changed: Agreement,
    problems: Vec<String>,
}

#[derive(Serialize, Default, Clone, Copy)]
struct Agreement {
    regions: u64,
    /// Figures compared: two for each region and class, between instructions and at them.
    figures: u64,
    illegal: u64,
    mismatches: u64,
}

impl Agreement {
    fn add(&mut self, other: Agreement) {
        self.regions += other.regions;
        self.figures += other.figures;
        self.illegal += other.illegal;
        self.mismatches += other.mismatches;
    }
}

fn check_recorded(args: &CheckArgs, input: &InputArgs) -> Result<(), Failure> {
    let mut document = RecordedDocument::default();
    for_each_kernel(
        input,
        |kernel| Ok(recorded_of(&kernel)),
        |part| {
            document.source.add(part.source);
            document.production.add(part.production);
            document.production_changed.add(part.production_changed);
            document.problems.extend(part.problems);
            Ok(())
        },
    )?;
    document.problems.truncate(MOST_PROBLEMS);
    match args.json {
        true => print_json(&document)?,
        false => print(&document.as_text())?,
    }
    let failed = [document.source, document.production].iter().any(|part| part.illegal + part.mismatches > 0)
        || document.production_changed.illegal > 0;
    if failed { Err(Failure::Reported) } else { Ok(()) }
}

fn recorded_of(kernel: &Kernel) -> RecordedDocument {
    let mut document = RecordedDocument::default();
    let changed = kernel.regions.iter().any(|region| region.production().is_none());
    for region in &kernel.regions {
        let name = format!("kernel {:?}, region {}", kernel.name, region.name());
        if let Some(peaks) = region.source_peaks() {
            let order: Vec<InstrId> = region.instrs().collect();
            let what = format!("{name}, source order");
            compare(region, &order, peaks, &what, &mut document.source, &mut document.problems);
        }
        let Some(production) = region.production() else { continue };
        let Some(peaks) = &production.peaks else { continue };
        let what = format!("{name}, order of {}", production.by);
        let (agreement, problems) = match changed {
            false => (&mut document.production, &mut document.problems),
            true => (&mut document.production_changed, &mut Vec::new()),
        };
        compare(region, &production.order, peaks, &what, agreement, problems);
    }
    document
}

fn compare(
    region: &Region,
    order: &[InstrId],
    recorded: &[Peak],
    what: &str,
    agreement: &mut Agreement,
    problems: &mut Vec<String>,
) {
    agreement.regions += 1;
    let checked = match check_order(region, order) {
        Ok(peaks) => peaks,
        Err(violations) => {
            agreement.illegal += 1;
            problems.extend(violations.iter().map(|violation: &Violation| format!("{what}: {violation}")));
            return;
        }
    };
    let mut tracker = Tracker::new(region);
    for &instr in order {
        tracker.schedule(instr);
    }
    agreement.figures += 2 * recorded.len() as u64;
    if tracker.peaks() != checked || checked != recorded {
        agreement.mismatches += 1;
        problems.push(format!(
            "{what}: recorded {}; the checker says {}; the tracker says {}",
            in_words(region, recorded),
            in_words(region, &checked),
            in_words(region, &tracker.peaks())
        ));
    }
}

fn in_words(region: &Region, peaks: &[Peak]) -> String {
    let classes = region.classes().iter().zip(peaks);
    let words =
        classes.map(|(class, peak)| format!("{class} {} ({} at an instruction)", peak.between, peak.at));
    words.collect::<Vec<_>>().join(", ")
}

impl RecordedDocument {
    fn as_text(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        let mut rows = table(1, &["recorded pressure of", "regions", "figures", "illegal", "mismatches"]);
        for (name, part) in [("the source order", self.source), ("the production order", self.production)] {
            rows.add_row([
                name.to_string(),
                grouped(part.regions),
                grouped(part.figures),
                grouped(part.illegal),
                grouped(part.mismatches),
            ]);
        }
        text += &format!("{rows}\n\nEvery order was measured by the checker and by the tracker.");
        let changed = self.production_changed;
        if changed.regions > 0 {
            let note = format!(
                "Not compared: {} of kernels whose instructions the production compiler changed. Its figures are for other code; \
                 they differ in {}.",
                counted(changed.regions, "production order"),
                grouped(changed.mismatches)
            );
            text += &format!("\n{}", wrapped(&note, width()));
        }
        text
    }
}
