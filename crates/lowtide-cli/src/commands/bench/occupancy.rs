//! `lowtide bench occupancy`: waves and lengths of whole kernels, and what the two passes prove (paper 2, Tables 3, 4 and 8).
//!
//! Every algorithm runs on all kernels, one after the other; then the independent checker looks at all schedules.
//! Sums are over all kernels and regions. The passes are counted on distinct graphs, each where it comes first.

use std::collections::BTreeMap;
use std::time::Instant;

use lowtide::analysis::fingerprint::fingerprint;
use lowtide::pipeline::{Algorithm, Filter, KernelOutcome, Options, run, schedule_kernel};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::schedule::check::check;
use lowtide::schedule::{Budget, Outcome};
use lowtide::solved::Solved;
use lowtide::target::Target;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::passes::{Counts, PassCounts};
use crate::args::OccupancyArgs;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::report::{grouped, table, trimmed};

/// What the two passes are compared with.
const OTHERS: [Algorithm; 7] = [
    Algorithm::Production,
    Algorithm::Source,
    Algorithm::Default,
    Algorithm::List,
    Algorithm::Waves,
    Algorithm::Weighted,
    Algorithm::Colony,
];

/// The two passes, without and with the filter.
const TWO_PASSES: &str = "twopass";
const FILTERED: &str = "filtered";

/// Paper 2, Table 4: by how much it beats the scheduler of the same kind, in percent of waves and of length.
const TABLE_4: [(&str, &str); 2] =
    [("production", "AMD: +4.14, -19.20"), ("weighted", "previous: +4.09, -7.35")];

/// Paper 2, Table 8, for each time limit in ms: seconds of compilation, and timeouts of both passes.
const TABLE_8: [(f64, &str); 3] = [
    (0.25, "381 s, 483 and 1,049 timeouts"),
    (1.0, "566 s, 471 and 1,024 timeouts"),
    (5.0, "1,513 s, 453 and 998 timeouts"),
];

#[derive(Serialize, Default)]
struct Document {
    kernels: u64,
    regions: u64,
    instructions: u64,
    /// Regions without a recorded production order, for which the source order stands.
    not_recorded: u64,
    /// Sums over kernels.
    occupancy: BTreeMap<&'static str, u64>,
    /// Sums over regions.
    length: BTreeMap<&'static str, u64>,
    pass1: PassCounts,
    pass2: PassCounts,
    /// On the clock, on so many threads.
    seconds: BTreeMap<&'static str, f64>,
    threads: usize,
    /// No schedules have more waves; none with as many waves as those of `twopass` are shorter.
    occupancy_bound: u64,
    length_bound: u64,
    /// Kernels that the filter gives fewer waves than they could have.
    filtered: u64,
    distinct: Counts,
    /// What each pass took, over all graphs and threads, and states of its searches for each second.
    pass_seconds: [f64; 2],
    states_per_second: [f64; 2],
    list: List,
    /// What each budget gives. The figures above are those of the first one.
    budgets: Vec<AtBudget>,
}

/// The fast mode on distinct graphs.
#[derive(Serialize, Default)]
struct List {
    us_per_instruction: f64,
    /// Its summed length against that of the two passes, where both keep the same waves.
    length_ratio: f64,
}

#[derive(Serialize)]
struct AtBudget {
    ms_per_instruction: Option<f64>,
    nodes: Option<u64>,
    seconds: f64,
    occupancy: u64,
    length: u64,
    pass1: PassCounts,
    pass2: PassCounts,
    distinct: Counts,
}

pub(crate) fn occupancy(args: &OccupancyArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let input = Input::read(args, &targets)?;
    let mut document = Document::new(&input);
    let budgets = args.budgets();
    let mut others = Vec::new();
    for algorithm in OTHERS {
        // One pass has as much as two, as in the paper.
        let budget = if algorithm == Algorithm::Weighted { twice(budgets[0]) } else { budgets[0] };
        let made = Made::by(&input, algorithm, None, budget, &Solved::new())?;
        document.add(algorithm.name(), &made);
        others.push((algorithm, made));
    }
    for (position, &budget) in budgets.iter().enumerate() {
        let solved = Solved::new();
        let made = Made::by(&input, Algorithm::TwoPass, None, budget, &solved)?;
        let counts = input.count(&made);
        if position == 0 {
            input.check_bounds(&made, &others)?;
            document.add(TWO_PASSES, &made);
            let filtered = Made::by(&input, Algorithm::TwoPass, Some(Filter::default()), budget, &solved)?;
            document.add(FILTERED, &filtered);
            document.fill(&made, &filtered, &counts, &solved);
            if let Some((_, list)) = others.iter().find(|(algorithm, _)| *algorithm == Algorithm::List) {
                document.list = input.measure_list(list, &made);
            }
        }
        document.budgets.push(AtBudget {
            ms_per_instruction: budget.time_per_instr.map(|time| 1e3 * time.as_secs_f64()),
            nodes: budget.nodes,
            seconds: made.seconds,
            occupancy: made.occupancy(),
            length: made.length(),
            pass1: counts.passes[0].clone(),
            pass2: counts.passes[1].clone(),
            distinct: counts,
        });
    }
    match args.json {
        true => print_json(&document),
        false => print(&document.as_text(args)),
    }
}

fn twice(budget: Budget) -> Budget {
    Budget {
        time_per_instr: budget.time_per_instr.map(|time| time.saturating_mul(2)),
        nodes: budget.nodes.map(|nodes| nodes.saturating_mul(2)),
        ..budget
    }
}

/// All kernels, in memory, since every algorithm gets all of them.
struct Input<'a> {
    kernels: Vec<(Kernel, &'a Target)>,
    /// Kernel and region where each graph of a size that was asked for comes first.
    distinct: Vec<(usize, usize)>,
}

impl<'a> Input<'a> {
    fn read(args: &OccupancyArgs, targets: &'a Targets) -> Result<Self, Failure> {
        let mut input = Input { kernels: Vec::new(), distinct: Vec::new() };
        let mut seen = FxHashSet::default();
        let sizes = args.min_size..=args.max_size.unwrap_or(usize::MAX);
        for_each_kernel(
            &args.input,
            |kernel| {
                let target = targets.of(&kernel)?;
                let graphs: Vec<u128> = kernel.regions.iter().map(fingerprint).collect();
                Ok((kernel, target, graphs))
            },
            |(kernel, target, graphs)| {
                for (position, (region, graph)) in kernel.regions.iter().zip(graphs).enumerate() {
                    if sizes.contains(&region.len()) && seen.insert((graph, target.name())) {
                        input.distinct.push((input.kernels.len(), position));
                    }
                }
                input.kernels.push((kernel, target));
                Ok(())
            },
        )?;
        match input.distinct.is_empty() {
            true => Err(Failure::Message("no region has a size in the range that was asked for".to_string())),
            false => Ok(input),
        }
    }

    fn problem(&self, (kernel, region): (usize, usize)) -> Result<Problem<'_>, Failure> {
        let (kernel, target) = &self.kernels[kernel];
        Problem::new(&kernel.regions[region], target, Goal::Occupancy)
            .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
    }

    /// What the two passes did for the distinct graphs.
    fn count(&self, made: &Made) -> Counts {
        let mut counts = Counts::default();
        for &(kernel, region) in &self.distinct {
            let outcome = &made.kernels[kernel];
            if let Ok(problem) = self.problem((kernel, region)) {
                counts.add(&problem, &outcome.regions[region], &outcome.passes[region]);
            }
        }
        counts
    }

    /// A schedule of any other algorithm that is better than the bounds would prove them wrong.
    fn check_bounds(&self, made: &Made, others: &[(Algorithm, Made)]) -> Result<(), Failure> {
        for (algorithm, other) in others {
            for (position, (kernel, _)) in self.kernels.iter().enumerate() {
                let (ours, theirs) = (&made.kernels[position], &other.kernels[position]);
                for (region, outcome) in ours.regions.iter().enumerate() {
                    let (Outcome { measure, bounds, .. }, waves) = (outcome, ours.passes[region].waves);
                    let other = &theirs.regions[region].measure;
                    let spills_no_more = other.spilled == 0 || other.peaks == measure.peaks;
                    let is_wrong = theirs.occupancy > ours.occupancy_bound
                        || other.occupancy >= waves && spills_no_more && other.length < bounds.length;
                    if is_wrong {
                        return Err(Failure::Message(format!(
                            "the bounds of kernel {:?}, region {} are wrong: {} waves in {} cycles, but {} has {} in {}",
                            kernel.name,
                            kernel.regions[region].name(),
                            waves,
                            bounds.length,
                            algorithm.name(),
                            other.occupancy,
                            other.length
                        )));
                    }
                }
            }
        }
        Ok(())
    }

    /// The fast mode, one region at a time.
    fn measure_list(&self, list: &Made, two_passes: &Made) -> List {
        let times = self.distinct.par_iter().filter_map(|&place| {
            let problem = self.problem(place).ok()?;
            let start = Instant::now();
            run(&problem, Algorithm::List, Budget::UNLIMITED);
            Some((1e6 * start.elapsed().as_secs_f64(), problem.region().len()))
        });
        let (time, instructions) = times.reduce(|| (0.0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
        let (mut lengths, mut best) = (0, 0);
        for &(kernel, region) in &self.distinct {
            let (list, two_passes) = (&list.kernels[kernel], &two_passes.kernels[kernel]);
            if list.passes[region].waves == two_passes.passes[region].waves {
                lengths += u64::from(list.regions[region].measure.length);
                best += u64::from(two_passes.regions[region].measure.length);
            }
        }
        List {
            us_per_instruction: time / instructions.max(1) as f64,
            length_ratio: lengths as f64 / best.max(1) as f64,
        }
    }
}

/// What an algorithm made of all kernels.
struct Made {
    kernels: Vec<KernelOutcome>,
    seconds: f64,
}

impl Made {
    fn by(
        input: &Input,
        algorithm: Algorithm,
        filter: Option<Filter>,
        budget: Budget,
        solved: &Solved,
    ) -> Result<Made, Failure> {
        let options = Options { algorithm, budget, filter, ..Options::default() };
        let start = Instant::now();
        let kernels = (input.kernels.par_iter())
            .map(|(kernel, target)| {
                schedule_kernel(kernel, target, options, solved)
                    .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let made = Made { kernels, seconds: start.elapsed().as_secs_f64() };
        input
            .kernels
            .par_iter()
            .zip(&made.kernels)
            .try_for_each(|((kernel, target), outcome)| check_kernel(kernel, target, algorithm, outcome))?;
        Ok(made)
    }

    fn occupancy(&self) -> u64 {
        self.kernels.iter().map(|kernel| u64::from(kernel.occupancy)).sum()
    }

    fn length(&self) -> u64 {
        self.regions().map(|region| u64::from(region.measure.length)).sum()
    }

    fn regions(&self) -> impl Iterator<Item = &Outcome> {
        self.kernels.iter().flat_map(|kernel| &kernel.regions)
    }
}

/// A benchmark of illegal schedules or wrong figures would be worthless.
fn check_kernel(
    kernel: &Kernel,
    target: &Target,
    algorithm: Algorithm,
    outcome: &KernelOutcome,
) -> Result<(), Failure> {
    let mut waves = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    for (region, result) in kernel.regions.iter().zip(&outcome.regions) {
        let illegal = |violation: String| Failure::Illegal {
            algorithm: algorithm.name(),
            kernel: kernel.name.clone(),
            region: region.name().to_string(),
            violation,
        };
        let report = check(region, target, &result.schedule)
            .map_err(|violations| illegal(violations[0].to_string()))?;
        let peaks: Vec<u32> = report.peaks.iter().map(|peak| peak.between).collect();
        let registers = target.registers(region.classes());
        let registers = registers.map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })?;
        waves = waves.min(registers.occupancy(&peaks));
        if (report.length, &report.peaks) != (result.measure.length, &result.measure.peaks) {
            return Err(illegal(format!("{} cycles, not {}", report.length, result.measure.length)));
        }
        if report.length < result.bounds.length {
            return Err(illegal(format!("{} cycles are below the bound", report.length)));
        }
    }
    match waves == outcome.occupancy && waves <= outcome.occupancy_bound {
        true => Ok(()),
        false => Err(Failure::Message(format!(
            "kernel {:?} has {waves} waves, not {} of {}",
            kernel.name, outcome.occupancy, outcome.occupancy_bound
        ))),
    }
}

impl Document {
    fn new(input: &Input) -> Self {
        let regions = || input.kernels.iter().flat_map(|(kernel, _)| &kernel.regions);
        Document {
            kernels: input.kernels.len() as u64,
            regions: regions().count() as u64,
            instructions: regions().map(|region| region.len() as u64).sum(),
            not_recorded: regions().filter(|region| region.production().is_none()).count() as u64,
            threads: rayon::current_num_threads(),
            ..Document::default()
        }
    }

    fn add(&mut self, name: &'static str, made: &Made) {
        self.occupancy.insert(name, made.occupancy());
        self.length.insert(name, made.length());
        self.seconds.insert(name, made.seconds);
    }

    fn fill(&mut self, made: &Made, filtered: &Made, counts: &Counts, solved: &Solved) {
        self.occupancy_bound = made.kernels.iter().map(|kernel| u64::from(kernel.occupancy_bound)).sum();
        self.length_bound = made.regions().map(|region| u64::from(region.bounds.length)).sum();
        self.filtered = filtered.kernels.iter().filter(|kernel| kernel.is_filtered).count() as u64;
        [self.pass1, self.pass2] = counts.passes.clone();
        self.distinct = counts.clone();
        self.pass_seconds = solved.spent().map(|spent| spent.time.as_secs_f64());
        self.states_per_second =
            solved.spent().map(|spent| spent.states as f64 / spent.time.as_secs_f64().max(1e-9));
    }

    fn as_text(&self, args: &OccupancyArgs) -> String {
        let most = args.max_size.map_or_else(|| "more".to_string(), |size| size.to_string());
        let mut rows = table(1, &["", "waves", "twopass %", "length", "twopass %", "seconds", "paper 2"]);
        let names = OTHERS.map(Algorithm::name).into_iter().chain([TWO_PASSES, FILTERED]);
        for name in names {
            let change = |sums: &BTreeMap<&'static str, u64>| match name {
                TWO_PASSES => String::new(),
                _ => format!("{:+.2}", 100.0 * (sums[TWO_PASSES] as f64 / sums[name].max(1) as f64 - 1.0)),
            };
            let paper = TABLE_4.iter().find(|(other, _)| *other == name).map_or("", |(_, paper)| *paper);
            rows.add_row([
                name.to_string(),
                grouped(self.occupancy[name]),
                change(&self.occupancy),
                grouped(self.length[name]),
                change(&self.length),
                format!("{:.2}", self.seconds[name]),
                paper.to_string(),
            ]);
        }
        rows.add_row([
            "bound".to_string(),
            grouped(self.occupancy_bound),
            String::new(),
            grouped(self.length_bound),
        ]);
        let [first, second] = self.states_per_second.map(|states| grouped(states.round() as u64));
        let mut text = format!(
            "{} kernels, {} regions ({} without a production order), {} instructions, {} threads\n\n\
             All kernels, and what twopass has more or less than each other (paper 2, Table 4):\n{}\n\n\
             The bound on the length is for as many waves as twopass has. filtered is twopass where a few\n\
             waves more must not cost many cycles: it gives up waves of {} kernels.\n\n\
             {} distinct graphs of {} to {most} instructions ({} instructions):\n{}\n\n\
             What was searched of them, and what came of it (paper 2, Table 3):\n{}\n\n\
             Searched: pass 1, if the known orders have fewer waves than the kernel could have otherwise;\n\
             pass 2, if the order of pass 1 is longer than the bound that is known beforehand.\n\
             Pass 1 took {:.2} s of all threads, {first} states per second; pass 2 {:.2} s, {second}.\n\
             list takes {:.2} µs for each instruction, and {:.4} times the length of twopass.",
            grouped(self.kernels),
            grouped(self.regions),
            grouped(self.not_recorded),
            grouped(self.instructions),
            self.threads,
            trimmed(&rows),
            grouped(self.filtered),
            grouped(self.distinct.regions),
            args.min_size,
            grouped(self.distinct.instructions),
            self.distinct.in_words(),
            self.distinct.table(),
            self.pass_seconds[0],
            self.pass_seconds[1],
            self.list.us_per_instruction,
            self.list.length_ratio,
        );
        if self.budgets.len() > 1 {
            text += &format!("\n\nWith other budgets (paper 2, Table 8):\n{}", self.budgets_table());
        }
        text
    }

    fn budgets_table(&self) -> String {
        let header =
            ["ms/instr.", "seconds", "waves", "length", "pass 1 timeouts", "pass 2 timeouts", "paper 2"];
        let mut rows = table(0, &header);
        for at in &self.budgets {
            let time = at.ms_per_instruction;
            let paper =
                TABLE_8.iter().find(|(other, _)| Some(*other) == time).map_or("", |(_, paper)| *paper);
            rows.add_row([
                time.map_or_else(String::new, |time| time.to_string()),
                format!("{:.2}", at.seconds),
                grouped(at.occupancy),
                grouped(at.length),
                grouped(at.pass1.timeouts()),
                grouped(at.pass2.timeouts()),
                paper.to_string(),
            ]);
        }
        trimmed(&rows)
    }
}
