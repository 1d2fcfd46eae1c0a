//! `lowtide targets`: the known GPUs.

use lowtide::multipass::PassModel;
use lowtide::pack::PackModel;
use lowtide::simulate::Machine;
use lowtide::target::{Access, FileClass, LatencyRule, RegisterFile, Target, TargetError};
use lowtide_tool::Failure;
use lowtide_tool::args::FormatArgs;
use lowtide_tool::input::load_target;
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::table::{table, trimmed, width, words, wrapped};
use serde::Serialize;

/// The arguments of `lowtide targets`.
#[derive(clap::Args)]
pub(crate) struct TargetsArgs {
    /// Show the register files and occupancy steps of a GPU of the list, or of a TOML file
    #[arg(value_name = "NAME|FILE")]
    target: Option<String>,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct TargetInfo {
    name: String,
    description: String,
    issue_width: u32,
    units: Vec<String>,
    max_waves: u32,
    /// The commands that can use it.
    commands: Vec<&'static str>,
    files: Vec<FileInfo>,
    latencies: Vec<LatencyInfo>,
}

#[derive(Serialize)]
struct LatencyInfo {
    unit: String,
    access: Option<&'static str>,
    address_space: Option<i32>,
    prefix: Option<String>,
    cycles: u32,
    range: Option<[u32; 2]>,
    source: String,
}

impl LatencyInfo {
    fn new(rule: &LatencyRule) -> Self {
        LatencyInfo {
            unit: rule.unit.clone(),
            access: rule.access.map(Access::name),
            address_space: rule.address_space,
            prefix: rule.prefix.clone(),
            cycles: rule.cycles,
            range: rule.range,
            source: rule.source.clone(),
        }
    }

    /// Describe the instructions that the entry matches.
    fn instructions(&self) -> String {
        let prefix = self.prefix.as_ref().map(|prefix| format!("{prefix}*"));
        let space = self.address_space.map(|space| format!("address space {space}"));
        let access = self.access.map(str::to_string);
        [Some(self.unit.clone()), access, space, prefix].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

#[derive(Serialize)]
struct FileInfo {
    name: String,
    /// Several classes share the file.
    classes: Vec<String>,
    size: u32,
    granule: u32,
    waves: u32,
    /// Pairs of the most registers and the waves with them.
    steps: Vec<(u32, u32)>,
    /// By class: the registers that a wave can address, and where the others go.
    spills: Vec<SpillInfo>,
}

/// What happens to registers that a wave cannot address.
#[derive(Serialize)]
struct SpillInfo {
    class: String,
    /// The most registers that a wave can address.
    max: u32,
    /// The class whose lanes hold spilled registers. None for memory.
    into: Option<String>,
    /// Spilled registers in one register of that class.
    lanes: Option<u32>,
    /// Cycles of each wave for one register in memory, stored and loaded again. None for lanes, which cost
    /// registers instead.
    cycles: Option<u32>,
}

impl SpillInfo {
    fn new(class: &FileClass) -> Self {
        let lanes = class.spill.as_ref();
        SpillInfo {
            class: class.name.clone(),
            max: class.max,
            into: lanes.map(|lanes| lanes.class.clone()),
            lanes: lanes.map(|lanes| lanes.lanes),
            cycles: lanes.is_none().then_some(class.spill_cycles),
        }
    }

    /// Describe the place and the price.
    fn in_words(&self) -> String {
        match (&self.into, self.lanes, self.cycles) {
            (Some(class), Some(lanes), _) => format!("lanes of {class}, {lanes} in each"),
            (_, _, Some(cycles)) => format!("memory, {cycles} cycles each"),
            _ => String::new(),
        }
    }
}

impl FileInfo {
    /// Describe the file of a class: `512/8, shared with agpr`.
    fn in_words(&self, class: &str) -> String {
        let others: Vec<&str> =
            self.classes.iter().map(String::as_str).filter(|other| *other != class).collect();
        let size = format!("{}/{}", self.size, self.granule);
        match others.is_empty() {
            true => size,
            false => format!("{size}, shared with {}", others.join(" and ")),
        }
    }
}

impl TargetInfo {
    fn new(target: &Target) -> Result<Self, TargetError> {
        let file = |file: &RegisterFile| FileInfo {
            spills: file.classes.iter().map(SpillInfo::new).collect(),
            name: file.name.clone(),
            classes: file.classes.iter().map(|class| class.name.clone()).collect(),
            size: file.size,
            granule: file.granule,
            waves: file.waves,
            steps: file.steps(),
        };
        let mut commands = vec!["schedule"];
        commands.extend(PackModel::of(target)?.map(|_| "pack"));
        commands.extend(PassModel::of(target)?.map(|_| "passes"));
        commands.extend(Machine::of(target)?.map(|_| "simulate"));
        Ok(TargetInfo {
            commands,
            name: target.name().to_string(),
            description: target.description().to_string(),
            issue_width: target.issue().width,
            units: target.issue().units.iter().map(|unit| format!("{} x{}", unit.name, unit.count)).collect(),
            max_waves: target.max_waves(),
            files: target.files().iter().map(file).collect(),
            latencies: target.latencies().iter().map(LatencyInfo::new).collect(),
        })
    }
}

pub(crate) fn run(args: &TargetsArgs) -> Result<(), Failure> {
    let targets: Vec<Target> = match &args.target {
        Some(name) => vec![load_target(name)?],
        None => Target::all_builtin().collect(),
    };
    let targets = targets.iter().map(TargetInfo::new).collect::<Result<Vec<_>, _>>();
    let targets = targets.map_err(|error| Failure::Message(error.to_string()))?;
    if args.format.json {
        return print_json(&targets);
    }
    if args.format.csv {
        return print_csv(&CSV, targets.iter().flat_map(csv_rows));
    }
    match (&args.target, &targets[..]) {
        (Some(_), [target]) => print(&details(target)),
        _ => print(&overview(&targets)),
    }
}

/// The columns of `--csv`.
const CSV: [&str; 15] = [
    "target",
    "description",
    "waves",
    "commands",
    "latencies",
    "file",
    "file_classes",
    "file_size",
    "granule",
    "file_waves",
    "class",
    "max",
    "spills_into",
    "lanes",
    "spill_cycles",
];

/// Return a row for each register class.
fn csv_rows(target: &TargetInfo) -> Vec<Vec<String>> {
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let row = |file: &FileInfo, spill: &SpillInfo| {
        vec![
            target.name.clone(),
            target.description.clone(),
            target.max_waves.to_string(),
            target.commands.join(" "),
            target.latencies.len().to_string(),
            file.name.clone(),
            file.classes.join(" "),
            file.size.to_string(),
            file.granule.to_string(),
            file.waves.to_string(),
            spill.class.clone(),
            spill.max.to_string(),
            spill.into.clone().unwrap_or_else(|| "memory".to_string()),
            number(spill.lanes),
            number(spill.cycles),
        ]
    };
    let mut rows = Vec::new();
    for file in &target.files {
        rows.extend(file.spills.iter().map(|spill| row(file, spill)));
    }
    rows
}

fn overview(targets: &[TargetInfo]) -> String {
    let mut rows = words(4, &["target", "waves", "latencies", "also for", "what it is"]);
    let mut classes = words(3, &["target", "class", "max", "file (size/granule)", "spilled to"]);
    for target in targets {
        let latencies = match target.latencies.len() {
            0 => "recorded".to_string(),
            _ => "table".to_string(),
        };
        rows.add_row([
            &target.name,
            &target.max_waves.to_string(),
            &latencies,
            &target.commands[1..].join(", "),
            &target.description,
        ]);
        for file in &target.files {
            for spill in &file.spills {
                let (class, max) = (&spill.class, spill.max.to_string());
                classes.add_row([&target.name, class, &max, &file.in_words(class), &spill.in_words()]);
            }
        }
    }
    let notes = "\
waves:     the most on a SIMD
latencies: the target's own table, or only those recorded in the file
also for:  commands besides schedule, view, why, diff, compare, check and info
max:       registers that a wave can address; the others are spilled
cycles:    of each wave, to store and load one spilled register
`lowtide targets NAME` shows the occupancy steps and latencies of one; `crates/lowtide/targets/` has their files.";
    format!("{}\n\n{}\n\n{}", trimmed(&rows), trimmed(&classes), wrapped(notes, width()))
}

fn details(target: &TargetInfo) -> String {
    let mut text = format!(
        "{}: {}\nissues {} a cycle to {}\ncommands: {}\n",
        target.name,
        target.description,
        target.issue_width,
        if target.units.is_empty() { "any unit".to_string() } else { target.units.join(", ") },
        target.commands.join(", ")
    );
    text = format!("{}\n", wrapped(&text, width()));
    for file in &target.files {
        text += &format!(
            "\nregister file {}: {} of {} registers in granules of {}\n",
            file.name,
            file.classes.join(" and "),
            file.size,
            file.granule
        );
        for spill in &file.spills {
            text += &format!("{} over {} are spilled to {}\n", spill.class, spill.max, spill.in_words());
        }
        let mut rows = table(0, &["registers up to", "waves"]);
        for (registers, waves) in &file.steps {
            rows.add_row([registers, waves]);
        }
        text += &format!("{rows}\n");
    }
    if !target.latencies.is_empty() {
        let mut rows = table(1, &["latency of", "cycles", "range"]);
        for entry in &target.latencies {
            let range = entry.range.map_or_else(String::new, |[low, high]| format!("{low} to {high}"));
            rows.add_row([entry.instructions(), entry.cycles.to_string(), range]);
        }
        text += &format!("\n{rows}\nThe first line that matches counts. --json shows the sources.\n");
    }
    text.trim_end().to_string()
}
