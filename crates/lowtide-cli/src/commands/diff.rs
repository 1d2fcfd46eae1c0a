//! `lowtide diff`: two schedules of a kernel side by side.

use std::path::{Path, PathBuf};

use lowtide::ClassId;
use lowtide::check::check;
use lowtide::problem::Problem;
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide_tool::Failure;
use lowtide_tool::input::for_each_kernel;
use lowtide_tool::names::readable;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::table::{change, counted, shorten, width, wrapped};
use serde::Serialize;

use super::orders::{moves, pressures};
use super::schedule::Work;
use super::schedules::{Schedules, read_schedules};
use crate::args::WorkArgs;

/// The arguments of `lowtide diff`.
#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    work: WorkArgs,

    /// Show only regions whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    region: Option<String>,

    /// Compare with the schedules of a file that `lowtide schedule -o` has written. Given twice: compare the
    /// first file with the second
    #[arg(long, value_name = "FILE")]
    schedules: Vec<PathBuf>,

    /// Show the pressure of this register class [default: the target's first]
    #[arg(long, value_name = "NAME")]
    class: Option<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// A region with its two schedules.
#[derive(Serialize)]
struct Pair {
    kernel: String,
    region: String,
    class: String,
    before: Side,
    after: Side,
    /// Positions by which instructions come earlier (or later, if negative), by instruction. None if it did
    /// not move.
    moved: Vec<Option<i64>>,
    #[serde(skip)]
    names: Vec<String>,
}

/// A schedule of a region.
#[derive(Serialize)]
struct Side {
    /// Who made it.
    by: String,
    order: Vec<u32>,
    length: u32,
    peak: u32,
    /// Before the first instruction and after each.
    pressure: Vec<u32>,
}

impl Side {
    fn new(by: &str, region: &Region, class: ClassId, schedule: &Schedule) -> Self {
        let pressure = pressures(region, class, schedule.order());
        Side {
            by: by.to_string(),
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            length: schedule.length(),
            peak: pressure.iter().copied().max().unwrap_or(0),
            pressure,
        }
    }
}

pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    if args.schedules.len() > 2 {
        return Err(Failure::Message("--schedules can be given twice, not more often".to_string()));
    }
    let files = args.schedules.iter().map(|file| Ok((file.as_path(), read_schedules(file)?)));
    let files: Vec<(&Path, Schedules)> = files.collect::<Result<_, Failure>>()?;
    let mut pairs = Vec::new();
    let mut collect = |found: Vec<Pair>| {
        pairs.extend(found);
        Ok(())
    };
    let work = Work::new(&args.work, false, false)?;
    match &files[..] {
        [] => work.for_each_kernel(
            &args.work,
            |kernel, _, problems, result| {
                let found = result.regions.into_iter().map(|region| ("Lowtide".to_string(), region.schedule));
                args.compare(kernel, problems, &baselines(problems), &found.collect::<Vec<_>>())
            },
            collect,
        )?,
        [(name, file)] => for_each_kernel(
            &args.work.input,
            |kernel| {
                let (kernel, target) = work.targets().prepare(kernel)?;
                let problems = work.problems(&kernel, target)?;
                let found = from_file(&kernel, target, name, file)?;
                args.compare(&kernel, &problems, &baselines(&problems), &found)
            },
            &mut collect,
        )?,
        [(first_name, first), (second_name, second), ..] => for_each_kernel(
            &args.work.input,
            |kernel| {
                let (kernel, target) = work.targets().prepare(kernel)?;
                let problems = work.problems(&kernel, target)?;
                let before = from_file(&kernel, target, first_name, first)?;
                let after = from_file(&kernel, target, second_name, second)?;
                args.compare(&kernel, &problems, &before, &after)
            },
            &mut collect,
        )?,
    }
    if let (true, Some(text)) = (pairs.is_empty(), &args.region) {
        return Err(Failure::Message(format!("no region has {text:?} in its name")));
    }
    match args.json {
        true => print_json(&pairs),
        false => print(&as_text(&pairs)),
    }
}

/// Return the recorded production orders, or the source orders of regions without one.
fn baselines(problems: &[Problem]) -> Vec<(String, Schedule)> {
    let one = |problem: &Problem| {
        let by = problem.region().production().map_or("source order", |production| &production.by);
        (by.to_string(), Schedule::production(problem))
    };
    problems.iter().map(one).collect()
}

/// Return the schedules of a file for a kernel. The checker must accept them.
fn from_file(
    kernel: &Kernel,
    target: &Target,
    name: &Path,
    file: &Schedules,
) -> Result<Vec<(String, Schedule)>, Failure> {
    let one = |region: &Region| {
        let fail = |problem: &str| {
            let file = name.display();
            Failure::Message(format!("{file}: kernel {:?}, region {}: {problem}", kernel.name, region.name()))
        };
        let key = (kernel.origin.clone(), kernel.name.clone(), region.name().to_string());
        let entry = file.get(&key).ok_or_else(|| fail("has no schedule"))?;
        let latencies = target.resolve(entry.latencies);
        let own =
            region.clone().with_latencies(latencies, target).map_err(|error| fail(&error.to_string()))?;
        check(&own, target, &entry.schedule).map_err(|violations| fail(&violations[0].to_string()))?;
        let by = name.file_name().unwrap_or(name.as_os_str()).to_string_lossy().into_owned();
        Ok((by, entry.schedule.clone()))
    };
    kernel.regions.iter().map(one).collect()
}

impl DiffArgs {
    fn compare(
        &self,
        kernel: &Kernel,
        problems: &[Problem],
        before: &[(String, Schedule)],
        after: &[(String, Schedule)],
    ) -> Result<Vec<Pair>, Failure> {
        let mut pairs = Vec::new();
        for (problem, (before, after)) in problems.iter().zip(before.iter().zip(after)) {
            let region = problem.region();
            if self.region.as_ref().is_some_and(|text| !region.name().contains(text.as_str())) {
                continue;
            }
            let class = match &self.class {
                None => problem.primary_class(),
                Some(name) => region
                    .class_ids()
                    .zip(region.classes())
                    .find(|(_, known)| ***known == **name)
                    .map(|(id, _)| id)
                    .ok_or_else(|| {
                        let known = region.classes().join(", ");
                        Failure::Message(format!(
                            "kernel {:?}, region {}: has no class {name:?}; known are {known}",
                            kernel.name,
                            region.name()
                        ))
                    })?,
            };
            pairs.push(Pair {
                kernel: kernel.name.clone(),
                region: region.name().to_string(),
                class: region.classes().get(class.index()).map_or_else(String::new, ToString::to_string),
                before: Side::new(&before.0, region, class, &before.1),
                after: Side::new(&after.0, region, class, &after.1),
                moved: moves(before.1.order(), after.1.order()),
                names: region.instrs().map(|instr| region.describe(instr)).collect(),
            });
        }
        Ok(pairs)
    }
}

/// Columns of an instruction's name: two of them, and the figures, fit into 80 columns.
const NAME: usize = 25;
/// Columns of a pressure.
const PRESSURE: usize = 5;

fn as_text(pairs: &[Pair]) -> String {
    let (changed, same): (Vec<&Pair>, Vec<&Pair>) =
        pairs.iter().partition(|pair| pair.moved.iter().any(Option::is_some));
    let mut text: Vec<String> = changed.iter().map(|pair| pair.as_text()).collect();
    let legend =
        "Pressure after each instruction; * marks its peak. \"up 3\": three positions earlier than before.";
    if !changed.is_empty() {
        text.push(wrapped(legend, width()));
    }
    if !same.is_empty() {
        text.push(format!("Same order before and after: {}.", counted(same.len() as u64, "region")));
    }
    text.join("\n\n")
}

impl Pair {
    fn as_text(&self) -> String {
        let moved = self.moved.iter().flatten().count();
        let mut lines = vec![
            wrapped(&format!("kernel {}, region {}", readable(&self.kernel), self.region), width()),
            format!(
                "{} peak {}, length {}; {} of {} instructions moved",
                self.class,
                change(self.before.peak.into(), self.after.peak.into()),
                change(self.before.length.into(), self.after.length.into()),
                moved,
                self.moved.len()
            ),
            format!(
                "  {:NAME$} {:>PRESSURE$} |  {:NAME$} {:>PRESSURE$}",
                shorten(&self.before.by, NAME),
                shorten(&self.class, PRESSURE),
                shorten(&self.after.by, NAME),
                shorten(&self.class, PRESSURE)
            ),
        ];
        for position in 0..self.moved.len() {
            let side = |side: &Side| {
                let instr = side.order[position] as usize;
                let mark = if self.moved[instr].is_some() { ">" } else { " " };
                let pressure = side.pressure[position + 1];
                let peak = if pressure == side.peak { "*" } else { "" };
                format!(
                    "{mark} {:NAME$} {:>PRESSURE$}",
                    shorten(&self.names[instr], NAME),
                    format!("{peak}{pressure}")
                )
            };
            let by = match self.moved[self.after.order[position] as usize] {
                None => String::new(),
                Some(by) if by >= 0 => format!(" up {by}"),
                Some(by) => format!(" down {}", -by),
            };
            lines.push(format!("{} | {}{by}", side(&self.before), side(&self.after)).trim_end().to_string());
        }
        lines.join("\n")
    }
}
