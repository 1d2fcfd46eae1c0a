//! `lowtide bench occupancy`: waves and lengths of whole kernels, and what the two passes prove (paper 2, Tables 3, 4 and 8).
//!
//! Every algorithm runs on all kernels, one after the other; then the independent checker looks at all schedules.
//! Sums are over all kernels and regions. The passes are counted on distinct graphs, each where it comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use indicatif::ParallelProgressIterator;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::outcome::Outcome;
use lowtide::pipeline::{Algorithm, Filter, KernelOutcome, Options, run, schedule_kernel};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::solved::Solved;
use lowtide::target::Target;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::passes::{Counts, PassCounts};
use super::{Findings, chapters, show};
use crate::args::OccupancyArgs;
use crate::book::Chapter;
use crate::book::papers::shobaki_2020::{TABLE_4, TABLE_8};
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::progress;
use crate::report::{grouped, table, trimmed};

/// What the two passes are compared with.
pub(super) const OTHERS: [Algorithm; 7] = [
    Algorithm::Production,
    Algorithm::Source,
    Algorithm::Default,
    Algorithm::List,
    Algorithm::Waves,
    Algorithm::Weighted,
    Algorithm::Colony,
];

/// The two passes, without and with the filter.
pub(super) const TWO_PASSES: &str = "twopass";
pub(super) const FILTERED: &str = "filtered";

#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) kernels: u64,
    pub(super) regions: u64,
    pub(super) instructions: u64,
    /// Regions without a recorded production order, for which the source order stands.
    pub(super) not_recorded: u64,
    /// Sums over kernels.
    pub(super) occupancy: BTreeMap<&'static str, u64>,
    /// Sums over regions.
    pub(super) length: BTreeMap<&'static str, u64>,
    pub(super) pass1: PassCounts,
    pub(super) pass2: PassCounts,
    /// On the clock, on so many threads.
    pub(super) seconds: BTreeMap<&'static str, f64>,
    pub(super) threads: usize,
    /// No schedules have more waves; none with as many waves as those of `twopass` are shorter.
    pub(super) occupancy_bound: u64,
    pub(super) length_bound: u64,
    /// Kernels that the filter gives fewer waves than they could have.
    pub(super) filtered: u64,
    pub(super) distinct: Counts,
    /// What each pass took, over all graphs and threads, and states of its searches for each second.
    pub(super) pass_seconds: [f64; 2],
    pub(super) states_per_second: [f64; 2],
    pub(super) list: List,
    /// What each budget gives. The figures above are those of the first one.
    pub(super) budgets: Vec<AtBudget>,
    /// Names of the targets.
    pub(super) targets: BTreeSet<String>,
    /// Waves and length of every kernel, in the order of the input.
    pub(super) each_kernel: Vec<EachKernel>,
    /// What became of each distinct graph.
    pub(super) each: Vec<Each>,
    /// Sizes that were asked for.
    #[serde(skip)]
    pub(super) least: usize,
    #[serde(skip)]
    pub(super) most: Option<usize>,
}

/// Waves and summed length of a kernel, by algorithm.
#[derive(Serialize)]
pub(super) struct EachKernel {
    pub(super) kernel: String,
    pub(super) occupancy: BTreeMap<&'static str, u32>,
    pub(super) length: BTreeMap<&'static str, u64>,
}

/// A distinct graph, where it comes first.
#[derive(Serialize)]
pub(super) struct Each {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) n: usize,
    /// What `twopass` had to keep, and the least length with it.
    pub(super) waves: u32,
    pub(super) length_bound: u32,
    /// By algorithm; waves are those of the region alone.
    pub(super) occupancy: BTreeMap<&'static str, u32>,
    pub(super) length: BTreeMap<&'static str, u32>,
}

/// The fast mode on distinct graphs.
#[derive(Serialize, Default)]
pub(super) struct List {
    us_per_instruction: f64,
    /// Its summed length against that of the two passes, where both keep the same waves.
    length_ratio: f64,
}

#[derive(Serialize)]
pub(super) struct AtBudget {
    pub(super) ms_per_instruction: Option<f64>,
    pub(super) nodes: Option<u64>,
    pub(super) seconds: f64,
    pub(super) occupancy: u64,
    pub(super) length: u64,
    pub(super) pass1: PassCounts,
    pub(super) pass2: PassCounts,
    pub(super) distinct: Counts,
}

pub(crate) fn occupancy(args: &OccupancyArgs) -> Result<(), Failure> {
    show(args.json, &args.book, || measure(args))
}

pub(super) fn measure(args: &OccupancyArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let input = Input::read(args, &targets)?;
    let mut document = Document::new(&input);
    (document.least, document.most) = (args.min_size, args.max_size);
    let budgets = args.budgets();
    let mut others = Vec::new();
    for algorithm in OTHERS {
        // One pass has as much as two, as in the paper.
        let budget = if algorithm == Algorithm::Weighted { twice(budgets[0]) } else { budgets[0] };
        let made = Made::by(&input, algorithm, None, budget, &progress::solved())?;
        document.add(algorithm.name(), &made, &input);
        others.push((algorithm, made));
    }
    for (position, &budget) in budgets.iter().enumerate() {
        let solved = progress::solved();
        let made = Made::by(&input, Algorithm::TwoPass, None, budget, &solved)?;
        let counts = input.count(&made);
        if position == 0 {
            input.check_bounds(&made, &others)?;
            document.add(TWO_PASSES, &made, &input);
            let filtered = Made::by(&input, Algorithm::TwoPass, Some(Filter::default()), budget, &solved)?;
            document.add(FILTERED, &filtered, &input);
            document.fill(&input, &made, &filtered, &counts, &solved);
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
    Ok(document)
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
            true => Err(Failure::Nothing("no region has a size in the range that was asked for".to_string())),
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
        let template = format!("{{bar:40}} {{pos}} of {{len}} kernels by {}, {{elapsed}}", algorithm.name());
        let bar = progress::bar(input.kernels.len() as u64, &template);
        let kernels = (input.kernels.par_iter().progress_with(bar.clone()))
            .map(|(kernel, target)| {
                schedule_kernel(kernel, target, options, solved)
                    .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let made = Made { kernels, seconds: start.elapsed().as_secs_f64() };
        bar.finish_and_clear();
        let filter = if filter.is_some() { " with the filter" } else { "" };
        let (waves, length) = (grouped(made.occupancy()), grouped(made.length()));
        progress::line(&format!("{}{filter}: waves {waves}, length {length}", algorithm.name()));
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
            targets: input.kernels.iter().map(|(_, target)| target.name().to_string()).collect(),
            each_kernel: (input.kernels.iter())
                .map(|(kernel, _)| EachKernel {
                    kernel: kernel.name.clone(),
                    occupancy: BTreeMap::new(),
                    length: BTreeMap::new(),
                })
                .collect(),
            each: (input.distinct.iter())
                .map(|&(kernel, region)| {
                    let kernel = &input.kernels[kernel].0;
                    Each {
                        kernel: kernel.name.clone(),
                        region: kernel.regions[region].name().to_string(),
                        n: kernel.regions[region].len(),
                        waves: 0,
                        length_bound: 0,
                        occupancy: BTreeMap::new(),
                        length: BTreeMap::new(),
                    }
                })
                .collect(),
            ..Document::default()
        }
    }

    fn add(&mut self, name: &'static str, made: &Made, input: &Input) {
        for (kernel, outcome) in self.each_kernel.iter_mut().zip(&made.kernels) {
            let length = outcome.regions.iter().map(|region| u64::from(region.measure.length)).sum();
            kernel.occupancy.insert(name, outcome.occupancy);
            kernel.length.insert(name, length);
        }
        for (each, &(kernel, region)) in self.each.iter_mut().zip(&input.distinct) {
            let measure = &made.kernels[kernel].regions[region].measure;
            each.occupancy.insert(name, measure.occupancy);
            each.length.insert(name, measure.length);
        }
        self.occupancy.insert(name, made.occupancy());
        self.length.insert(name, made.length());
        self.seconds.insert(name, made.seconds);
    }

    fn fill(&mut self, input: &Input, made: &Made, filtered: &Made, counts: &Counts, solved: &Solved) {
        for (each, &(kernel, region)) in self.each.iter_mut().zip(&input.distinct) {
            each.waves = made.kernels[kernel].passes[region].waves;
            each.length_bound = made.kernels[kernel].regions[region].bounds.length;
        }
        self.occupancy_bound = made.kernels.iter().map(|kernel| u64::from(kernel.occupancy_bound)).sum();
        self.length_bound = made.regions().map(|region| u64::from(region.bounds.length)).sum();
        self.filtered = filtered.kernels.iter().filter(|kernel| kernel.is_filtered).count() as u64;
        [self.pass1, self.pass2] = counts.passes.clone();
        self.distinct = counts.clone();
        self.pass_seconds = solved.spent().map(|spent| spent.time.as_secs_f64());
        self.states_per_second =
            solved.spent().map(|spent| spent.states as f64 / spent.time.as_secs_f64().max(1e-9));
    }

    fn budgets_table(&self) -> String {
        let header =
            ["ms/instr.", "seconds", "waves", "length", "pass 1 timeouts", "pass 2 timeouts", "paper 2"];
        let mut rows = table(0, &header);
        for at in &self.budgets {
            let time = at.ms_per_instruction;
            let paper = TABLE_8.iter().find(|paper| Some(paper.ms_per_instruction) == time);
            let paper = paper.map(|paper| {
                let [first, second] = paper.timeouts.map(grouped);
                format!("{} s, {first} and {second} timeouts", grouped(paper.seconds))
            });
            rows.add_row([
                time.map_or_else(String::new, |time| time.to_string()),
                format!("{:.2}", at.seconds),
                grouped(at.occupancy),
                grouped(at.length),
                grouped(at.pass1.timeouts()),
                grouped(at.pass2.timeouts()),
                paper.unwrap_or_default(),
            ]);
        }
        trimmed(&rows)
    }
}

impl Findings for Document {
    fn facts(&self) -> Vec<String> {
        let (waves, length) = (self.occupancy[TWO_PASSES], self.length[TWO_PASSES]);
        vec![
            format!("{} kernels, {} regions", grouped(self.kernels), grouped(self.regions)),
            format!(
                "production -> twopass: waves {} -> {} (at most {}), length {} -> {} (at least {}, gap {})",
                grouped(self.occupancy[Algorithm::Production.name()]),
                grouped(waves),
                grouped(self.occupancy_bound),
                grouped(self.length[Algorithm::Production.name()]),
                grouped(length),
                grouped(self.length_bound),
                progress::gap(length, self.length_bound)
            ),
            format!(
                "proven of {} distinct graphs: {}",
                grouped(self.distinct.regions),
                self.distinct.in_words()
            ),
        ]
    }

    fn as_text(&self) -> String {
        let most = self.most.map_or_else(|| "more".to_string(), |size| size.to_string());
        let mut rows = table(1, &["", "waves", "twopass %", "length", "twopass %", "seconds", "paper 2"]);
        let names = OTHERS.map(Algorithm::name).into_iter().chain([TWO_PASSES, FILTERED]);
        for name in names {
            let change = |sums: &BTreeMap<&'static str, u64>| match name {
                TWO_PASSES => String::new(),
                _ => format!("{:+.2}", 100.0 * (sums[TWO_PASSES] as f64 / sums[name].max(1) as f64 - 1.0)),
            };
            let paper = TABLE_4.iter().find(|paper| paper.ours == name);
            let paper =
                paper.map(|paper| format!("{}: +{:.2}, -{:.2}", paper.theirs, paper.waves, paper.length));
            rows.add_row([
                name.to_string(),
                grouped(self.occupancy[name]),
                change(&self.occupancy),
                grouped(self.length[name]),
                change(&self.length),
                format!("{:.2}", self.seconds[name]),
                paper.unwrap_or_default(),
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
            self.least,
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

    fn chapter(&self, command: String) -> Chapter {
        chapters::occupancy(self, command)
    }
}
