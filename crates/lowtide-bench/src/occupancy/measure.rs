//! The measurement of `lowtide bench occupancy`.

use std::collections::BTreeMap;
use std::time::Instant;

use indicatif::ParallelProgressIterator;
use lowtide::algorithm::Algorithm;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::check::{check, waves_of_kernel};
use lowtide::outcome::KernelOutcome;
use lowtide::outcome::Outcome;
use lowtide::pipeline::{Filter, Options, run};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide::throughput::loop_weight;
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::solve::Run;
use lowtide_tool::table::grouped;
use lowtide_tool::{Failure, progress};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::args::OccupancyArgs;
use super::counts::Counts;
use super::document::{AtBudget, Better, Document, Each, EachKernel, FILTERED, List, OTHERS, TWO_PASSES};

/// Run all algorithms, and the two passes with each budget.
pub(super) fn measure(args: &OccupancyArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let input = Input::read(args, &targets)?;
    let mut document = Document::new(&input);
    (document.least, document.most) = (args.min_size, args.max_size);
    let budgets = args.budgets();
    let mut others = Vec::new();
    for algorithm in OTHERS {
        // The single pass has the budget of both passes, as in the paper.
        let budget = if algorithm == Algorithm::WEIGHTED { twice(budgets[0]) } else { budgets[0] };
        let made = Made::by(&input, algorithm, None, budget, &Run::new())?;
        document.add(algorithm.name(), &made, &input);
        others.push((algorithm, made));
    }
    for (position, &budget) in budgets.iter().enumerate() {
        let run = Run::new();
        let made = Made::by(&input, Algorithm::TWO_PASS, None, budget, &run)?;
        let counts = input.count(&made);
        if position == 0 {
            input.check_bounds(&made, &others)?;
            document.add(TWO_PASSES, &made, &input);
            let filtered = Made::by(&input, Algorithm::TWO_PASS, Some(Filter::default()), budget, &run)?;
            document.add(FILTERED, &filtered, &input);
            document.fill(&input, &made, &filtered, &counts, &run);
            document.better = input.better(&made, &others);
            let paper = others.iter().find(|(algorithm, _)| *algorithm == Algorithm::TWO_PASS_PAPER);
            if let Some((_, paper)) = paper {
                document.paper_distinct = input.count(paper);
                [document.paper_pass1, document.paper_pass2] = document.paper_distinct.passes.clone();
            }
            if let Some((_, list)) = others.iter().find(|(algorithm, _)| *algorithm == Algorithm::LIST) {
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

/// All kernels, in memory, since every algorithm runs on all of them.
struct Input<'a> {
    kernels: Vec<(Kernel, &'a Target)>,
    /// Kernel and region of the first occurrence of each graph in the range of sizes.
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
            true => Err(Failure::Nothing(
                "no region has a size in the range of --min-size and --max-size".to_string(),
            )),
            false => Ok(input),
        }
    }

    fn problem(&self, (kernel, region): (usize, usize)) -> Result<Problem<'_>, Failure> {
        let (kernel, target) = &self.kernels[kernel];
        Problem::new(&kernel.regions[region], target, Goal::Occupancy).map_err(Failure::target(&kernel.name))
    }

    /// Count the results of the two passes on the distinct graphs.
    fn count(&self, made: &Made) -> Counts {
        let mut counts = Counts::default();
        for &(kernel, region) in &self.distinct {
            let outcome = &made.kernels[kernel];
            if let Ok(problem) = self.problem((kernel, region)) {
                counts.add(&problem, &outcome.regions[region]);
            }
        }
        counts
    }

    /// Check that no schedule of another algorithm contradicts the bounds.
    fn check_bounds(&self, made: &Made, others: &[(Algorithm, Made)]) -> Result<(), Failure> {
        for (algorithm, other) in others {
            for (position, (kernel, _)) in self.kernels.iter().enumerate() {
                let (ours, theirs) = (&made.kernels[position], &other.kernels[position]);
                for (region, outcome) in ours.regions.iter().enumerate() {
                    let (Outcome { measure, bounds, .. }, waves) = (outcome, waves_of(ours, region));
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

    /// List the kernels on which another algorithm is better. An algorithm that spills more is not.
    fn better(&self, made: &Made, others: &[(Algorithm, Made)]) -> Vec<Better> {
        let length = |kernel: &KernelOutcome| -> u64 {
            kernel.regions.iter().map(|region| u64::from(region.measure.length)).sum()
        };
        let spilled = |kernel: &KernelOutcome| -> u64 {
            kernel.regions.iter().map(|region| u64::from(region.measure.spilled)).sum()
        };
        let mut better = Vec::new();
        for (algorithm, other) in others {
            for (position, (kernel, _)) in self.kernels.iter().enumerate() {
                let (ours, theirs) = (&made.kernels[position], &other.kernels[position]);
                let is_shorter = theirs.occupancy == ours.occupancy && length(theirs) < length(ours);
                let is_better = theirs.occupancy > ours.occupancy || is_shorter;
                if is_better && spilled(theirs) <= spilled(ours) {
                    better.push(Better {
                        kernel: kernel.name.clone(),
                        algorithm: algorithm.name(),
                        waves: [theirs.occupancy, ours.occupancy],
                        length: [length(theirs), length(ours)],
                    });
                }
            }
        }
        better
    }

    /// Measure the fast mode, one region at a time.
    fn measure_list(&self, list: &Made, two_passes: &Made) -> List {
        let times = self.distinct.par_iter().filter_map(|&place| {
            let problem = self.problem(place).ok()?;
            let start = Instant::now();
            run(&problem, Algorithm::LIST, Budget::UNLIMITED, &Session::new()).ok()?;
            Some((1e6 * start.elapsed().as_secs_f64(), problem.region().len()))
        });
        let (time, instructions) = times.reduce(|| (0.0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
        let (mut lengths, mut best) = (0, 0);
        for &(kernel, region) in &self.distinct {
            let (list, two_passes) = (&list.kernels[kernel], &two_passes.kernels[kernel]);
            if waves_of(list, region) == waves_of(two_passes, region) {
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

/// Return the waves that the second pass had to keep in a region.
fn waves_of(kernel: &KernelOutcome, region: usize) -> u32 {
    kernel.regions[region].passes.map_or(0, |passes| passes.waves)
}

/// The schedules of one algorithm for all kernels.
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
        run: &Run,
    ) -> Result<Made, Failure> {
        let options = Options::default().with_algorithm(algorithm).with_budget(budget).with_filter(filter);
        let start = Instant::now();
        let template = format!("{{bar:40}} {{pos}} of {{len}} kernels by {}, {{elapsed}}", algorithm.name());
        let bar = progress::bar(input.kernels.len() as u64, &template);
        let kernels = (input.kernels.par_iter().progress_with(bar.clone()))
            .map(|(kernel, target)| run.schedule_kernel(kernel, target, &options))
            .collect::<Result<Vec<_>, _>>()?;
        let made = Made { kernels, seconds: start.elapsed().as_secs_f64() };
        bar.finish_and_clear();
        let filter = if filter.is_some() { " with the filter" } else { "" };
        let (waves, length) = (grouped(made.occupancy()), grouped(made.length()));
        progress::line(&format!("{}{filter}", algorithm.name()), &format!("waves {waves}, length {length}"));
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

/// Check the schedules of a kernel, and all figures about them.
fn check_kernel(
    kernel: &Kernel,
    target: &Target,
    algorithm: Algorithm,
    outcome: &KernelOutcome,
) -> Result<(), Failure> {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let mut peaks = Vec::new();
    for (region, result) in kernel.regions.iter().zip(&outcome.regions) {
        let illegal = |violation: String| Failure::Illegal {
            algorithm: algorithm.name(),
            kernel: kernel.name.clone(),
            region: region.name().to_string(),
            violation,
        };
        let report = check(region, target, &result.schedule)
            .map_err(|violations| illegal(violations[0].to_string()))?;
        if (report.length, &report.peaks) != (result.measure.length, &result.measure.peaks) {
            return Err(illegal(format!("{} cycles, not {}", report.length, result.measure.length)));
        }
        if report.length < result.bounds.length {
            return Err(illegal(format!("{} cycles are below the bound", report.length)));
        }
        peaks.push(report.peaks);
    }
    let peaks = peaks.iter().map(Vec::as_slice);
    let waves = waves_of_kernel(target, kernel.regions.iter().zip(peaks)).min(most);
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

    /// Add the results of one algorithm.
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
        let kernels = input.kernels.iter().zip(&made.kernels);
        let weighted = kernels.flat_map(|((kernel, _), outcome)| {
            let regions = kernel.regions.iter().zip(&outcome.regions);
            regions.map(|(region, made)| u64::from(loop_weight(region)) * u64::from(made.measure.length))
        });
        self.weighted_length.insert(name, weighted.sum());
        self.seconds.insert(name, made.seconds);
    }

    /// Add the bounds and proofs of the two passes.
    fn fill(&mut self, input: &Input, made: &Made, filtered: &Made, counts: &Counts, run: &Run) {
        for (each, &(kernel, region)) in self.each.iter_mut().zip(&input.distinct) {
            each.waves = waves_of(&made.kernels[kernel], region);
            each.length_bound = made.kernels[kernel].regions[region].bounds.length;
        }
        self.occupancy_bound = made.kernels.iter().map(|kernel| u64::from(kernel.occupancy_bound)).sum();
        self.length_bound = made.regions().map(|region| u64::from(region.bounds.length)).sum();
        self.filtered = filtered.kernels.iter().filter(|kernel| kernel.is_filtered).count() as u64;
        [self.pass1, self.pass2] = counts.passes.clone();
        self.distinct = counts.clone();
        self.pass_seconds = run.statistics().spent().map(|spent| spent.time.as_secs_f64());
        self.states_per_second =
            run.statistics().spent().map(|spent| spent.states as f64 / spent.time.as_secs_f64().max(1e-9));
    }
}
