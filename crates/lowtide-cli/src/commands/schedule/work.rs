//! The scheduling of kernels, and its results as `--json` prints them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use super::super::store::StoreCounts;
use clap::Args;
use lowtide::algorithm::Algorithm;
use lowtide::outcome::{Front, FrontPoint, FrontRegion, Outcome};
use lowtide::pipeline::Options;
use lowtide::problem::{Measure, Problem, waves_together};
use lowtide::progress::{SearchLog, Step};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::{Latencies, Target};
use lowtide::throughput::{cycles_per_wave_of, loop_weight};
use lowtide_io::{BoundReason, PeakBound};
use lowtide_tool::Failure;
use lowtide_tool::ants::ask_gpu;
use lowtide_tool::certificates::{Certificates, Known};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::names::demangled;
use lowtide_tool::solve::Run;
use serde::{Serialize, Serializer};

use super::totals::{Totals, tell_kernel};
use crate::args::{GoalArg, Method, WorkArgs};
use crate::commands::constraints::Constraints;

/// The result of a kernel.
#[derive(Serialize)]
pub(in super::super) struct KernelResult {
    pub(super) name: String,
    /// The name without mangling.
    pub(super) readable_name: String,
    pub(super) origin: String,
    pub(super) target: String,
    /// `recorded`, `target`, or `target` times a factor.
    #[serde(serialize_with = "as_text")]
    pub(in super::super) latencies: Latencies,
    pub(super) occupancy: u32,
    pub(super) occupancy_bound: u32,
    /// Whether the filter has rejected waves.
    pub(super) filtered: bool,
    /// Estimated cycles of a SIMD for each wave.
    pub(super) cycles_per_wave: f64,
    /// The sum of lengths, with ten times the weight for each loop around a region.
    pub(super) weighted_length: u64,
    /// No schedules need fewer, if this was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cycles_per_wave_bound: Option<f64>,
    /// The least length for each number of waves, if this was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) front: Option<Vec<PointResult>>,
    pub(in super::super) seconds: f64,
    pub(in super::super) regions: Vec<RegionResult>,
    /// Proofs for a separate verifier, one line each, if they were asked for, and the number of claims.
    #[serde(skip)]
    pub(super) certificates: Certificates,
    /// The order that the result is compared with.
    pub(in super::super) baseline: Baseline,
    /// The same figures for the source order.
    pub(super) source: Before,
    /// The same figures for the production order. Regions without one count in their source order. None if no
    /// region has one.
    pub(super) production: Option<Before>,
}

impl KernelResult {
    /// Return the figures of the order that the result is compared with.
    pub(super) fn before(&self) -> &Before {
        match (self.baseline, &self.production) {
            (Baseline::Production, Some(production)) => production,
            _ => &self.source,
        }
    }
}

/// An order that results are compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Baseline {
    /// The recorded order of the production compiler, or the source order where none is recorded
    Production,
    /// The order of the file
    Source,
}

impl Baseline {
    /// Return the name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Baseline::Production => "production",
            Baseline::Source => "source",
        }
    }
}

fn as_text<S: Serializer>(latencies: &Latencies, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(latencies)
}

/// The figures of a kernel in a given order.
#[derive(Serialize)]
pub(super) struct Before {
    pub(super) occupancy: u32,
    /// Highest peak of the target's first class in any region.
    pub(super) peak: u32,
    /// Sum of these peaks over all regions.
    pub(super) peak_sum: u64,
    pub(super) length: u64,
    pub(super) weighted_length: u64,
    pub(super) cycles_per_wave: f64,
    /// For each region, the peak of the target's first class and the length.
    #[serde(skip)]
    pub(super) regions: Vec<[u32; 2]>,
}

impl Before {
    /// Measure the schedules that `order` makes of the regions. No more than `most` waves count.
    fn new(kernel: &Kernel, most: u32, problems: &[Problem], order: impl Fn(&Problem) -> Schedule) -> Self {
        let mut figures = Before {
            occupancy: most,
            peak: 0,
            peak_sum: 0,
            length: 0,
            weighted_length: 0,
            cycles_per_wave: 0.0,
            regions: Vec::new(),
        };
        let mut measures = Vec::new();
        for problem in problems {
            let measure = problem.measure(&order(problem));
            let peak = measure.peaks.get(problem.primary_class().index()).map_or(0, |peak| peak.between);
            figures.peak = figures.peak.max(peak);
            figures.peak_sum += u64::from(peak);
            figures.length += u64::from(measure.length);
            figures.regions.push([peak, measure.length]);
            figures.weighted_length += u64::from(loop_weight(problem.region())) * u64::from(measure.length);
            measures.push(measure);
        }
        figures.occupancy = waves_together(problems, &measures, most);
        figures.cycles_per_wave = cycles_per_wave_of(kernel, problems, most, &measures).value();
        figures
    }
}

/// The schedules of a kernel for a number of waves.
#[derive(Serialize)]
pub(in super::super) struct PointResult {
    pub(in super::super) waves: u32,
    pub(in super::super) cycles_per_wave: f64,
    pub(in super::super) cycles_per_wave_bound: f64,
    regions: Vec<PointRegion>,
}

/// The schedule of a region for a number of waves.
#[derive(Serialize)]
struct PointRegion {
    name: String,
    length: u32,
    length_bound: u32,
    spilled: u32,
    order: Vec<u32>,
    cycles: Vec<u32>,
}

impl PointResult {
    fn new(kernel: &Kernel, point: &FrontPoint) -> Self {
        let regions = kernel.regions.iter().zip(&point.regions);
        let region = |(region, found): (&Region, &FrontRegion)| PointRegion {
            name: region.name().to_string(),
            length: found.measure.length,
            length_bound: found.length_bound,
            spilled: found.measure.spilled,
            order: found.schedule.order().iter().map(|instr| instr.0).collect(),
            cycles: found.schedule.cycles().to_vec(),
        };
        PointResult {
            waves: point.waves,
            cycles_per_wave: point.cycles.value(),
            cycles_per_wave_bound: point.cycles_bound.value(),
            regions: regions.map(region).collect(),
        }
    }

    fn sum(&self, figure: impl Fn(&PointRegion) -> u32) -> u64 {
        self.regions.iter().map(|region| u64::from(figure(region))).sum()
    }

    /// Return the length of all regions.
    pub(in super::super) fn length(&self) -> u64 {
        self.sum(|region| region.length)
    }

    /// Return the sum of the bounds on the lengths.
    pub(in super::super) fn length_bound(&self) -> u64 {
        self.sum(|region| region.length_bound)
    }

    /// Return the registers that all regions spill.
    pub(in super::super) fn spilled(&self) -> u64 {
        self.sum(|region| region.spilled)
    }

    /// Return the number of regions whose length is proven.
    pub(in super::super) fn proven(&self) -> usize {
        self.regions.iter().filter(|region| region.length == region.length_bound).count()
    }

    /// Return the number of regions.
    pub(in super::super) fn count(&self) -> usize {
        self.regions.len()
    }
}

/// The result of a region.
#[derive(Serialize)]
pub(in super::super) struct RegionResult {
    pub(super) name: String,
    pub(super) n: usize,
    pub(super) order: Vec<u32>,
    pub(super) cycles: Vec<u32>,
    pub(super) peak: BTreeMap<String, u32>,
    pub(super) peak_at: BTreeMap<String, u32>,
    peak_bound: BTreeMap<String, u32>,
    peak_bound_by: BTreeMap<String, BoundReason>,
    pub(super) length: u32,
    pub(super) length_bound: u32,
    /// Whether waves and length are each proven to be optimal.
    pub(super) proven_waves: bool,
    pub(super) proven_length: bool,
    pub(super) optimal: bool,
    /// Pairs of instructions that the input clusters, and those of them that do not stay together.
    pub(super) pairs: u32,
    pub(super) broken_pairs: u32,
    /// The searches, if any were necessary.
    pub(in super::super) searches: Vec<SearchResult>,
    #[serde(skip)]
    pub(super) primary: (u32, u32),
    /// Registers that are spilled to memory.
    #[serde(skip)]
    pub(super) in_memory: u32,
    #[serde(skip)]
    pub(in super::super) schedule: Schedule,
    #[serde(skip)]
    pub(in super::super) bounds: Vec<PeakBound>,
}

/// A search from its start to its end.
#[derive(Serialize)]
pub(in super::super) struct SearchResult {
    /// The quantity that is optimized.
    of: &'static str,
    pub(super) steps: Vec<StepResult>,
}

#[derive(Serialize)]
pub(super) struct StepResult {
    pub(super) seconds: f64,
    pub(super) nodes: u64,
    best: u64,
    bound: u64,
}

impl From<SearchLog> for SearchResult {
    fn from(log: SearchLog) -> Self {
        let step = |step: &Step| StepResult {
            seconds: step.time.as_secs_f64(),
            nodes: step.nodes,
            best: step.best,
            bound: step.bound,
        };
        // Which of several regions with the same graph asked first depends on threads, so it is not in the
        // result.
        SearchResult { of: log.quantity.name(), steps: log.steps.iter().map(step).collect() }
    }
}

impl RegionResult {
    fn new(problem: &Problem, outcome: Outcome) -> Self {
        let region = problem.region();
        let by_class = |figure: &dyn Fn(usize) -> u32| {
            let classes = region.classes().iter().enumerate();
            classes.map(|(class, name)| (name.to_string(), figure(class))).collect()
        };
        let Outcome { pairs, broken_pairs, .. } = outcome;
        let Outcome { schedule, measure, bounds, proven_waves, optimal, searches, .. } = outcome;
        let primary = problem.primary_class().index();
        let peak = measure.peaks.get(primary).map_or(0, |peak| peak.between);
        let reasoned = PeakBound::all(region, &bounds);
        let peaks = measure.between();
        RegionResult {
            name: region.name().to_string(),
            n: region.len(),
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            cycles: schedule.cycles().to_vec(),
            peak: by_class(&|class| measure.peaks[class].between),
            peak_at: by_class(&|class| measure.peaks[class].at),
            peak_bound: by_class(&|class| bounds.peaks[class]),
            peak_bound_by: reasoned.iter().map(|bound| (bound.class.clone(), bound.by.clone())).collect(),
            length: measure.length,
            length_bound: bounds.length,
            proven_waves,
            proven_length: measure.length == bounds.length,
            optimal,
            pairs,
            broken_pairs,
            searches: searches.into_iter().map(SearchResult::from).collect(),
            in_memory: problem.registers().spilled_to_memory(&peaks),
            primary: (peak, bounds.peaks.get(primary).copied().unwrap_or(0)),
            schedule,
            bounds: reasoned,
        }
    }
}

/// The scheduling of kernels for `schedule` and `view`.
pub(in super::super) struct Work {
    pub(super) targets: Targets,
    pub(super) options: Options,
    constraints: Option<Constraints>,
    /// Whether proofs for a separate verifier are made.
    certify: bool,
    baseline: Baseline,
    known_proofs: Known,
    pub(super) run: Run,
    /// Totals for the terminal.
    so_far: Mutex<Totals>,
}

impl Work {
    /// Prepare the work. Arguments that contradict each other are reported before anything is read.
    pub(in super::super) fn new(args: &WorkArgs, explain: bool, front: bool) -> Result<Self, Failure> {
        Work::by(args.algorithm.method, args, explain, front)
    }

    /// Prepare the work of a method, as [`Work::new`] does for the one that the arguments name.
    pub(in super::super) fn by<A: Args>(
        method: Method,
        args: &WorkArgs<A>,
        explain: bool,
        front: bool,
    ) -> Result<Self, Failure> {
        if front && !matches!(args.goal, GoalArg::Occupancy | GoalArg::Throughput) {
            return Err(Failure::Message(
                "--front needs --goal occupancy or --goal throughput: it goes through all numbers of waves"
                    .to_string(),
            ));
        }
        let goal = args.goal.into();
        let can_find_front = matches!(method, Method::Algorithm(one) if one.can_find_front(goal));
        if front && !can_find_front {
            let able = Algorithm::ALL.iter().filter(|one| one.can_find_front(goal));
            return Err(Failure::Message(format!(
                "{} has no two passes; --front works with --algorithm {}",
                method.name(),
                able.map(|one| one.name()).collect::<Vec<_>>().join(", ")
            )));
        }
        let latencies = args.latencies.named()?.unwrap_or(Latencies::TARGET);
        let targets = Targets::new(&args.target)?.with_latencies(latencies);
        let algorithm = match method {
            Method::Algorithm(algorithm) => algorithm,
            Method::Constraints(model) => Constraints::start(model),
        };
        let options = Options::default()
            .with_goal(goal)
            .with_algorithm(algorithm)
            .with_budget(args.budget.budget())
            .with_registers(args.registers)
            .with_waves(args.waves)
            .with_tuning(args.tuning.tuning())
            .with_filter(args.filter.filter())
            .with_front(front)
            .with_group_price(args.group_price)
            .with_colony(args.ants.parameters());
        let constraints = match method {
            Method::Algorithm(_) => None,
            Method::Constraints(model) => Some(Constraints::new(model, &options, explain)?),
        };
        let known_proofs = Known::default();
        let (run, so_far) = (Run::with_store(args.store.open()?), Mutex::default());
        let baseline = Baseline::Production;
        Ok(Work { targets, options, constraints, certify: false, baseline, known_proofs, run, so_far })
    }

    /// Return what was found in the store. None without a store.
    pub(in super::super) fn store_counts(&self) -> Option<StoreCounts> {
        self.run.store_counts().map(StoreCounts::new)
    }

    /// Return the targets.
    pub(in super::super) fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Return the problems of a kernel, one for each region.
    pub(in super::super) fn problems<'a>(
        &self,
        kernel: &'a Kernel,
        target: &'a Target,
    ) -> Result<Vec<Problem<'a>>, Failure> {
        self.options.problems(kernel, target).map_err(Failure::target(&kernel.name))
    }

    /// Compare results with this order.
    pub(in super::super) fn with_baseline(mut self, baseline: Baseline) -> Self {
        self.baseline = baseline;
        self
    }

    /// Make proofs for a separate verifier.
    pub(super) fn with_certificates(mut self, certify: bool) -> Self {
        self.certify = certify;
        self
    }

    /// Schedule all kernels of the input. `show` converts each result, and `collect` gets them in the order
    /// of the input.
    pub(in super::super) fn for_each_kernel<T: Send>(
        &self,
        args: &WorkArgs,
        show: impl Fn(&Kernel, &Target, &[Problem], KernelResult) -> Result<T, Failure> + Sync,
        collect: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.start(args)?;
        let work = |kernel: Kernel| {
            let (kernel, target) = self.targets.prepare(kernel)?;
            let problems = self.problems(&kernel, target)?;
            let result = self.schedule(&kernel, target, &problems)?;
            tell_kernel(&result, self.options.goal, &self.so_far);
            show(&kernel, target, &problems, result)
        };
        for_each_kernel(&args.input, work, collect)?;
        self.finish();
        Ok(())
    }

    /// Do what must happen before the first kernel: a GPU solves the tasks of all kernels in one batch.
    pub(in super::super) fn start<A: Args>(&self, args: &WorkArgs<A>) -> Result<(), Failure> {
        if self.options.algorithm == Algorithm::COLONY
            && let Some(gpu) = args.ants.gpu()?
            && let Err(error) = ask_gpu(&gpu, &args.input, &self.targets, &self.options, &self.run)
        {
            if !args.ants.may_fall_back() {
                return Err(error);
            }
            eprintln!("warning: {error}; the processor does the work instead");
        }
        Ok(())
    }

    /// Report what is known only after the last kernel.
    pub(in super::super) fn finish(&self) {
        if let Some(constraints) = &self.constraints {
            constraints.report_too_large();
        }
    }

    /// Schedule a kernel that [`Targets::prepare`] has returned with this target.
    pub(in super::super) fn schedule(
        &self,
        kernel: &Kernel,
        target: &Target,
        problems: &[Problem],
    ) -> Result<KernelResult, Failure> {
        let start = Instant::now();
        let outcome = match &self.constraints {
            Some(constraints) => constraints.schedule_kernel(kernel, target, &self.options, &self.run)?,
            None => self.run.schedule_kernel(kernel, target, &self.options)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let certificates = match self.certify {
            true => {
                Certificates::new(self.options.goal, kernel, target, problems, &outcome, &self.known_proofs)
            }
            false => Certificates::default(),
        };
        let most = self.options.most_waves(kernel, target);
        let mut regions = Vec::new();
        let mut measures: Vec<Measure> = Vec::new();
        let mut weighted_length = 0;
        for (problem, outcome) in problems.iter().zip(outcome.regions) {
            weighted_length += u64::from(loop_weight(problem.region())) * u64::from(outcome.measure.length);
            measures.push(outcome.measure.clone());
            regions.push(RegionResult::new(problem, outcome));
        }
        let cycles = cycles_per_wave_of(kernel, problems, most, &measures);
        let before = |order: fn(&Problem) -> Schedule| Before::new(kernel, most, problems, order);
        let has_production = kernel.regions.iter().any(|region| region.production().is_some());
        let production = has_production.then(|| before(Schedule::production));
        let points =
            |front: &Front| front.points.iter().map(|point| PointResult::new(kernel, point)).collect();
        let front = outcome.front.as_ref();
        Ok(KernelResult {
            cycles_per_wave: cycles.value(),
            weighted_length,
            cycles_per_wave_bound: front.map(|front| front.cycles_bound.value()),
            front: front.filter(|_| self.options.front).map(points),
            name: kernel.name.clone(),
            readable_name: demangled(&kernel.name).unwrap_or_else(|| kernel.name.clone()),
            origin: kernel.origin.clone(),
            target: target.name().to_string(),
            latencies: self.targets.latencies_on(target),
            occupancy: outcome.occupancy,
            occupancy_bound: outcome.occupancy_bound,
            filtered: outcome.is_filtered,
            seconds,
            regions,
            certificates,
            baseline: if has_production { self.baseline } else { Baseline::Source },
            source: before(Schedule::source),
            production,
        })
    }
}
