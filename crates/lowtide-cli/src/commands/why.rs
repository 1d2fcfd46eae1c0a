//! `lowtide why`: why a kernel has no more waves, in words.

use lowtide::algorithm::Algorithm;
use lowtide::check::bound::{least_pressure, moment_in_words};
use lowtide::outcome::{KernelOutcome, Outcome};
use lowtide::pipeline::{Filter, Options};
use lowtide::problem::{Goal, Measure, Problem, waves_together};
use lowtide::proof::Reason;
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::{BoundFile, Latencies, Target};
use lowtide::{ClassId, InstrId, ValueId};
use lowtide_tool::Failure;
use lowtide_tool::args::{BudgetArgs, InputArgs, LatencyArgs, TargetArgs};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::names::readable;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::solve::Run;
use lowtide_tool::table::{command_line, counted, grouped, width, wrapped};
use serde::Serialize;

use super::orders::{moves, pressures, value_name};

/// The arguments of `lowtide why`.
#[derive(clap::Args)]
pub(crate) struct WhyArgs {
    /// The kernel: its name, or a part that no other name contains
    kernel: String,

    /// Read region files, shaders, folders of them, or the standard input (-)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<std::path::PathBuf>,

    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    latencies: LatencyArgs,
    #[command(flatten)]
    budget: BudgetArgs,

    /// Disable the filter, which rejects 1-3 waves more than production has if they cost over 63 cycles
    #[arg(long)]
    no_filter: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The answer for a kernel.
#[derive(Serialize)]
struct Answer {
    kernel: String,
    target: String,
    waves: u32,
    /// No order allows more.
    waves_bound: u32,
    /// The most that the GPU holds, or that the kernel can have for other reasons than registers.
    most_waves: u32,
    /// Whether `most_waves` is a limit of the kernel, such as local memory.
    is_kernel_limit: bool,
    /// Whether more waves were possible and too long.
    filtered: bool,
    /// The waves that one more step of occupancy would give, and the regions in the way. None at the most
    /// waves.
    next: Option<Next>,
    length: u64,
    proven_lengths: usize,
    regions: usize,
    baseline: Baseline,
}

#[derive(Serialize)]
struct Next {
    waves: u32,
    /// The region with the largest excess first; proven ones before the others.
    limits: Vec<Limit>,
}

/// A region that stands in the way of more waves.
#[derive(Serialize)]
struct Limit {
    region: String,
    instructions: usize,
    loop_depth: u32,
    /// The class of the registers; the register file, if several classes share it.
    file: String,
    /// Registers that the schedule found uses.
    used: u32,
    /// Registers that every order uses.
    needed: u32,
    /// Registers that the next step of occupancy leaves.
    allowed: u32,
    proof: Option<Proof>,
}

/// Why every order needs so many registers.
#[derive(Serialize)]
struct Proof {
    class: String,
    /// Live at this moment in every order.
    pressure: u32,
    /// None for a proof by search.
    moment: Option<String>,
    /// The states of a search.
    states: Option<u64>,
    /// Registers that are live throughout the region.
    through: u32,
    /// The values that are live then in an order with the least pressure at this moment.
    values: Vec<LiveValue>,
}

#[derive(Serialize)]
struct LiveValue {
    name: String,
    registers: u32,
    /// None if it is live at the start.
    from: Option<String>,
    /// The first instruction that still needs it. None if only later code does.
    to: Option<String>,
}

/// The order to compare with.
#[derive(Serialize)]
struct Baseline {
    /// `production`, or `source` if no region has a recorded order.
    order: &'static str,
    waves: u32,
    length: u64,
    /// The region that decides on its waves.
    worst: Option<Worst>,
}

/// What the baseline does differently in a region.
#[derive(Serialize)]
struct Worst {
    region: String,
    class: String,
    peak: u32,
    /// The instruction after which the pressure is highest.
    after: Option<String>,
    /// The peak of Lowtide's order.
    new_peak: u32,
    moved: usize,
    instructions: usize,
    /// The instructions that moved furthest: position before and after, from 0.
    furthest: Vec<(String, usize, usize)>,
}

pub(crate) fn run(args: &WhyArgs) -> Result<(), Failure> {
    let latencies = args.latencies.named()?.unwrap_or(Latencies::TARGET);
    let targets = Targets::new(&args.target)?.with_latencies(latencies);
    let input = InputArgs { files: args.files.clone(), kernel: Some(args.kernel.clone()) };
    let options = Options::default()
        .with_goal(Goal::Occupancy)
        .with_algorithm(Algorithm::AUTO)
        .with_budget(args.budget.budget())
        .with_filter((!args.no_filter).then(Filter::default));
    let run = Run::new();
    let mut answers: Vec<Answer> = Vec::new();
    for_each_kernel(
        &input,
        |kernel| {
            let (kernel, target) = targets.prepare(kernel)?;
            let outcome = run.schedule_kernel(&kernel, target, &options)?;
            let problems = options.problems(&kernel, target).map_err(Failure::target(&kernel.name))?;
            Answer::new(&kernel, target, &problems, &outcome)
        },
        |answer| {
            answers.push(answer);
            Ok(())
        },
    )?;
    let is_named =
        |answer: &Answer| answer.kernel == args.kernel || *readable(&answer.kernel) == *args.kernel;
    if answers.iter().any(is_named) {
        answers.retain(is_named);
    }
    let mut names: Vec<&str> = answers.iter().map(|answer| answer.kernel.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > 1 {
        const SHOWN: usize = 10;
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(Failure::Message(format!(
            "several kernels have {:?} in their names: {}{more}",
            args.kernel,
            names.join(", ")
        )));
    }
    match args.json {
        true => print_json(&answers),
        false => {
            let texts: Vec<String> = answers.iter().map(|answer| answer.in_words(args)).collect();
            print(&texts.join("\n\n"))
        }
    }
}

impl Answer {
    fn new(
        kernel: &Kernel,
        target: &Target,
        problems: &[Problem],
        outcome: &KernelOutcome,
    ) -> Result<Self, Failure> {
        let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
        let mut next = None;
        if outcome.occupancy < most {
            let mut limits = Vec::new();
            for (problem, found) in problems.iter().zip(&outcome.regions) {
                limits.extend(Limit::new(problem, found, outcome.occupancy + 1)?);
            }
            limits.sort_by_key(|limit| {
                let (found, proven) =
                    (limit.used - limit.allowed, limit.needed.saturating_sub(limit.allowed));
                std::cmp::Reverse((proven, found))
            });
            next = Some(Next { waves: outcome.occupancy + 1, limits });
        }
        Ok(Answer {
            kernel: kernel.name.clone(),
            target: target.name().to_string(),
            waves: outcome.occupancy,
            waves_bound: outcome.occupancy_bound,
            most_waves: most,
            is_kernel_limit: most < target.max_waves(),
            filtered: outcome.is_filtered,
            next,
            length: outcome.regions.iter().map(|region| u64::from(region.measure.length)).sum(),
            proven_lengths: outcome
                .regions
                .iter()
                .filter(|region| region.measure.length == region.bounds.length)
                .count(),
            regions: outcome.regions.len(),
            baseline: Baseline::new(problems, outcome, most),
        })
    }
}

impl Limit {
    /// Return what a region needs, for each register file in which its schedule uses more than these waves
    /// leave.
    fn new(problem: &Problem, found: &Outcome, waves: u32) -> Result<Vec<Limit>, Failure> {
        let region = problem.region();
        let peaks = found.measure.between();
        let mut limits = Vec::new();
        for bound in problem.registers().files() {
            let allowed = bound.file.limit(waves);
            let used = bound.used(&peaks);
            if used <= allowed {
                continue;
            }
            let needed = bound.used(&found.bounds.peaks);
            let proof = match needed > allowed {
                true => Proof::new(region, bound, found)?,
                false => None,
            };
            limits.push(Limit {
                region: region.name().to_string(),
                instructions: region.len(),
                loop_depth: region.loop_depth(),
                file: registers_of(bound),
                used,
                needed,
                allowed,
                proof,
            });
        }
        Ok(limits)
    }
}

/// Return how to call the registers of a file.
fn registers_of(bound: &BoundFile) -> String {
    match &bound.classes[..] {
        [(_, class)] => class.name.clone(),
        _ => format!("{} registers", bound.file.name),
    }
}

impl Proof {
    /// Return the proof for the class of a file that needs most registers.
    fn new(region: &Region, bound: &BoundFile, found: &Outcome) -> Result<Option<Self>, Failure> {
        let classes = bound.classes.iter().map(|(class, _)| *class);
        let Some(class) = classes.max_by_key(|class| found.bounds.peaks[class.index()]) else {
            return Ok(None);
        };
        let mut proof = Proof {
            class: region.classes()[class.index()].to_string(),
            pressure: found.bounds.peaks[class.index()],
            moment: None,
            states: None,
            through: region.through(class),
            values: Vec::new(),
        };
        match found.bounds.reasons[class.index()] {
            Reason::Cut(moment) => {
                let (_, issued) = least_pressure(region, class, moment, u32::MAX)
                    .map_err(|fault| Failure::Message(fault.to_string()))?;
                proof.moment = Some(moment_in_words(region, moment));
                proof.values = live_values(region, class, &issued);
            }
            Reason::Search { nodes, .. } => proof.states = Some(nodes),
            Reason::Solver => {}
        }
        Ok(Some(proof))
    }
}

/// Return the values of a class that are live after these instructions: first those defined in the region,
/// the largest first.
fn live_values(region: &Region, class: ClassId, issued: &[InstrId]) -> Vec<LiveValue> {
    let mut is_issued = vec![false; region.len()];
    issued.iter().for_each(|instr| is_issued[instr.index()] = true);
    let mut live: Vec<LiveValue> = Vec::new();
    for (position, value) in region.values().iter().enumerate() {
        let id = ValueId::at(position);
        let is_defined = value.def.is_none_or(|instr| is_issued[instr.index()]);
        let next = region.value_uses(id).iter().find(|instr| !is_issued[instr.index()]);
        if value.class != class || region.is_dead(id) || !is_defined || (next.is_none() && !value.live_out) {
            continue;
        }
        live.push(LiveValue {
            name: value_name(region, value),
            registers: value.weight,
            from: value.def.map(|instr| region.describe(instr)),
            to: next.map(|instr| region.describe(*instr)),
        });
    }
    // Those that the region itself makes can be changed most easily.
    live.sort_by_key(|value| (value.from.is_none(), std::cmp::Reverse(value.registers)));
    live
}

impl Baseline {
    fn new(problems: &[Problem], outcome: &KernelOutcome, most: u32) -> Self {
        let has_production = problems.iter().any(|problem| problem.region().production().is_some());
        let schedules: Vec<Schedule> = problems.iter().map(Schedule::production).collect();
        let measures: Vec<Measure> =
            problems.iter().zip(&schedules).map(|(problem, schedule)| problem.measure(schedule)).collect();
        let waves = waves_together(problems, &measures, most);
        // Of the regions that decide, the one whose peak differs most from that of the new order.
        let worst =
            (0..problems.len()).filter(|&number| measures[number].occupancy <= waves).max_by_key(|&number| {
                let class = problems[number].primary_class().index();
                let peak = |measure: &Measure| measure.peaks.get(class).map_or(0, |peak| peak.between);
                i64::from(peak(&measures[number])) - i64::from(peak(&outcome.regions[number].measure))
            });
        Baseline {
            order: if has_production { "production" } else { "source" },
            waves,
            length: measures.iter().map(|measure| u64::from(measure.length)).sum(),
            worst: worst.map(|number| {
                Worst::new(&problems[number], &schedules[number], &outcome.regions[number].schedule)
            }),
        }
    }
}

impl Worst {
    fn new(problem: &Problem, before: &Schedule, after: &Schedule) -> Self {
        let region = problem.region();
        let class = problem.primary_class();
        let pressure = pressures(region, class, before.order());
        let peak = pressure.iter().copied().max().unwrap_or(0);
        let at = pressure.iter().position(|now| *now == peak).unwrap_or(0);
        let moved = moves(before.order(), after.order());
        let mut furthest: Vec<(i64, InstrId)> =
            region.instrs().filter_map(|instr| Some((moved[instr.index()]?, instr))).collect();
        let count = furthest.len();
        furthest.sort_by_key(|(by, instr)| (std::cmp::Reverse(by.abs()), *instr));
        furthest.truncate(3);
        let place = |order: &[InstrId], instr| order.iter().position(|other| *other == instr).unwrap_or(0);
        Worst {
            region: region.name().to_string(),
            class: region.classes().get(class.index()).map_or_else(String::new, ToString::to_string),
            peak,
            after: at.checked_sub(1).map(|position| region.describe(before.order()[position])),
            new_peak: pressures(region, class, after.order()).into_iter().max().unwrap_or(0),
            moved: count,
            instructions: region.len(),
            furthest: (furthest.into_iter())
                .map(|(_, instr)| {
                    (region.describe(instr), place(before.order(), instr), place(after.order(), instr))
                })
                .collect(),
        }
    }
}

impl Answer {
    fn in_words(&self, args: &WhyArgs) -> String {
        let Answer { waves, most_waves, .. } = self;
        let mut text = vec![format!(
            "{} on {}: {}",
            readable(&self.kernel),
            self.target,
            counted((*waves).into(), "wave")
        )];
        text.push(match &self.next {
            None if self.is_kernel_limit => format!(
                "More are impossible: the kernel is limited to {most_waves} waves by other things than registers, such as local memory."
            ),
            None => format!("More are impossible: the GPU holds {most_waves} waves."),
            Some(_) if self.filtered => {
                "More are possible, but they cost more cycles than the filter allows. --no-filter shows them."
                    .to_string()
            }
            Some(next) if self.waves_bound <= *waves => {
                format!("More are impossible: no order of its instructions allows {} waves.", next.waves)
            }
            Some(_) => format!(
                "Not proven: up to {} waves are not ruled out. A larger --budget can settle it.",
                self.waves_bound
            ),
        });
        if let Some(next) = &self.next
            && !next.limits.is_empty()
        {
            text.push(String::new());
            text.extend(next.in_words());
        }
        text.push(String::new());
        text.extend(self.compared());
        let files = args.files.iter().map(|file| file.display().to_string());
        let words = ["diff".to_string()].into_iter().chain(files);
        let line = command_line(words.chain(["--kernel".to_string(), self.kernel.clone()]));
        // A command stays in one line, so that it can be copied.
        format!("{}\n\nBoth orders side by side:\n{line}", wrapped(&text.join("\n"), width()))
    }

    /// Return the lines on the other order.
    fn compared(&self) -> Vec<String> {
        let Baseline { order, waves, length, worst } = &self.baseline;
        let percent = 100.0 * (self.length as f64 / (*length).max(1) as f64 - 1.0);
        let mut text = vec![format!(
            "The {order} order: {}, {} cycles in all regions. Lowtide: {}, {} cycles ({percent:+.1} %); {} of {} lengths are proven.",
            counted((*waves).into(), "wave"),
            grouped(*length),
            counted(self.waves.into(), "wave"),
            grouped(self.length),
            self.proven_lengths,
            self.regions
        )];
        if let Some(worst) = worst
            && worst.moved > 0
        {
            let place = match &worst.after {
                Some(instr) => format!("after {instr}"),
                None => "at the start".to_string(),
            };
            text.push(format!(
                "In region {} it has up to {} {} live, {place}; Lowtide's order has up to {}, and moves {} of {} instructions. The furthest:",
                worst.region, worst.peak, worst.class, worst.new_peak, worst.moved, worst.instructions
            ));
            text.extend(
                (worst.furthest.iter())
                    .map(|(instr, from, to)| format!("  {instr} from position {from} to {to}")),
            );
        }
        text
    }
}

/// The most values and regions that are listed.
const MOST_VALUES: usize = 8;
const MOST_REGIONS: usize = 5;

impl Next {
    fn in_words(&self) -> Vec<String> {
        let Some((first, others)) = self.limits.split_first() else { return Vec::new() };
        let Limit { region, file, used, needed, allowed, .. } = first;
        let place = match first.loop_depth {
            0 => String::new(),
            depth => format!(", loop depth {depth}"),
        };
        let mut text = Vec::new();
        text.push(format!(
            "With {} waves, a wave can have {allowed} {file}. Region {region} ({}{place}) uses {used}.",
            self.waves,
            counted(first.instructions as u64, "instruction")
        ));
        match &first.proof {
            None => text.push(format!("No order with fewer was found, and at least {needed} are necessary.")),
            Some(proof) => text.extend(proof.in_words(*needed)),
        }
        let excess = |limit: &Limit| limit.needed.max(limit.allowed + 1) - limit.allowed;
        text.push(format!(
            "So {} waves take {} less there{}",
            self.waves,
            counted(excess(first).into(), "register"),
            if others.is_empty() { "." } else { ", and less in these regions too:" }
        ));
        for other in others.iter().take(MOST_REGIONS) {
            let proven = match other.needed > other.allowed {
                true => "at least ",
                false => "",
            };
            let count = if other.needed > other.allowed { other.needed } else { other.used };
            text.push(format!("  {}: {proven}{count} {}", other.region, other.file));
        }
        if others.len() > MOST_REGIONS {
            text.push(format!("  and {} more", others.len() - MOST_REGIONS));
        }
        text
    }
}

impl Proof {
    fn in_words(&self, needed: u32) -> Vec<String> {
        let Some(moment) = &self.moment else {
            let states =
                self.states.map_or_else(String::new, |states| format!(", over {} states,", grouped(states)));
            return vec![format!("Every order needs at least {needed}: a search{states} found no other.")];
        };
        let mut text = vec![format!(
            "Every order needs at least {needed}: {moment}, {} {} are live whatever comes before:",
            self.pressure, self.class
        )];
        for value in self.values.iter().take(MOST_VALUES) {
            let from = value
                .from
                .as_ref()
                .map_or_else(|| "live at the start".to_string(), |from| format!("from {from}"));
            let to =
                value.to.as_ref().map_or_else(|| "live at the end".to_string(), |to| format!("for {to}"));
            text.push(format!("  {} x {}: {from}, {to}", value.registers, value.name));
        }
        let rest = &self.values[self.values.len().min(MOST_VALUES)..];
        if !rest.is_empty() {
            let registers: u32 = rest.iter().map(|value| value.registers).sum();
            text.push(format!("  {registers} in {} more", counted(rest.len() as u64, "value")));
        }
        if self.through > 0 {
            text.push(format!("  {} that are live throughout the region", self.through));
        }
        text
    }
}
