//! `lowtide targets`: the known GPUs.

use lowtide::target::{Access, LatencyRule, RegisterFile, Target};
use lowtide_tool::Failure;
use lowtide_tool::input::load_target;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::table::table;
use serde::Serialize;

/// The arguments of `lowtide targets`.
#[derive(clap::Args)]
pub(crate) struct TargetsArgs {
    /// Show the register files and occupancy steps of a GPU of the list, or of a TOML file
    #[arg(value_name = "NAME|FILE")]
    target: Option<String>,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TargetInfo {
    name: String,
    description: String,
    issue_width: u32,
    units: Vec<String>,
    max_waves: u32,
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
    classes: Vec<String>,
    size: u32,
    granule: u32,
    waves: u32,
    /// Pairs of the most registers and the waves with them.
    steps: Vec<(u32, u32)>,
}

impl TargetInfo {
    fn new(target: &Target) -> Self {
        let file = |file: &RegisterFile| FileInfo {
            name: file.name.clone(),
            classes: file.classes.iter().map(|class| class.name.clone()).collect(),
            size: file.size,
            granule: file.granule,
            waves: file.waves,
            steps: file.steps(),
        };
        TargetInfo {
            name: target.name().to_string(),
            description: target.description().to_string(),
            issue_width: target.issue().width,
            units: target.issue().units.iter().map(|unit| format!("{} x{}", unit.name, unit.count)).collect(),
            max_waves: target.max_waves(),
            files: target.files().iter().map(file).collect(),
            latencies: target.latencies().iter().map(LatencyInfo::new).collect(),
        }
    }
}

pub(crate) fn run(args: &TargetsArgs) -> Result<(), Failure> {
    let targets: Vec<TargetInfo> = match &args.target {
        Some(name) => vec![TargetInfo::new(&load_target(name)?)],
        None => Target::all_builtin().map(|target| TargetInfo::new(&target)).collect(),
    };
    if args.json {
        return print_json(&targets);
    }
    match (&args.target, &targets[..]) {
        (Some(_), [target]) => print(&details(target)),
        _ => print(&overview(&targets)),
    }
}

fn overview(targets: &[TargetInfo]) -> String {
    let mut rows = table(2, &["target", "what it is", "waves", "register files (size/granule)"]);
    for target in targets {
        let files: Vec<String> = (target.files.iter())
            .map(|file| format!("{} {}/{}", file.classes.join("+"), file.size, file.granule))
            .collect();
        rows.add_row([&target.name, &target.description, &target.max_waves.to_string(), &files.join(", ")]);
    }
    format!(
        "{rows}\n\n`lowtide targets NAME` shows the occupancy steps of one; `crates/lowtide/targets/` has their files."
    )
}

fn details(target: &TargetInfo) -> String {
    let mut text = format!(
        "{}: {}\nissues {} a cycle to {}\n",
        target.name,
        target.description,
        target.issue_width,
        if target.units.is_empty() { "any unit".to_string() } else { target.units.join(", ") }
    );
    for file in &target.files {
        text += &format!(
            "\nregister file {}: {} of {} registers in granules of {}\n",
            file.name,
            file.classes.join(" and "),
            file.size,
            file.granule
        );
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
