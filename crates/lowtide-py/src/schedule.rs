//! Sessions, schedules and their figures.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Instant;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::outcome::{KernelOutcome, Outcome as RegionOutcome};
use lowtide::pipeline::{Filter, Options, schedule_kernel};
use lowtide::problem::{Goal, Measure, Problem};
use lowtide::region::Kernel as InnerKernel;
use lowtide::schedule::Schedule;
use lowtide::session::{Context, Session as Answers, Store};
use lowtide::target::{Latencies, Target};
use lowtide::throughput::cycles_per_wave;
use lowtide_gpu::Device;
use lowtide_io::{PeakBound, format_certificate_header, format_schedule};
use lowtide_tool::Failure;
use lowtide_tool::ants::solve_on;
use lowtide_tool::args::parse_time;
use lowtide_tool::certificates::{Certificates, Known, Lines};
use lowtide_tool::input::load_target;
use lowtide_tool::solve::failure;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};

use crate::call::{Ended, call};
use crate::failure::{InternalError, bad, exception};
use crate::region::{Kernel, packed};

/// The built-in targets, parsed once.
static BUILTIN: LazyLock<Vec<Arc<Target>>> = LazyLock::new(|| Target::all_builtin().map(Arc::new).collect());

/// Return the target of a name or file. Without a name, return the one that the kernel was made for.
pub(crate) fn target_of(name: Option<&str>, kernel: &InnerKernel) -> Result<Arc<Target>, Failure> {
    let builtin = |name: &str| BUILTIN.iter().find(|target| target.name() == name).map(Arc::clone);
    match name {
        Some(name) => builtin(name).map_or_else(|| load_target(name).map(Arc::new), Ok),
        None => {
            let name = kernel.target.as_deref().unwrap_or("generic");
            builtin(name).ok_or_else(|| {
                Failure::Message(format!(
                    "kernel {:?} was made for {name:?}, which is not a known target: choose one with target=",
                    kernel.name
                ))
            })
        }
    }
}

/// Return the budget of a region and pass, as the program reads it: a time only if one is given, or if there
/// is no limit on steps.
pub(crate) fn budget_of(
    time: Option<&str>,
    nodes: Option<u64>,
    default: &str,
    threads: usize,
) -> PyResult<Budget> {
    let default = nodes.is_none().then_some(default);
    let time = time.or(default).map(parse_time).transpose();
    let time_per_instr = time.map_err(|error| bad(format!("budget: {error}")))?;
    Ok(Budget { time_per_instr, nodes, threads })
}

fn goal_of(name: &str) -> PyResult<Goal> {
    let all = [Goal::MinReg, Goal::Occupancy, Goal::Length, Goal::Throughput];
    all.into_iter().find(|goal| goal.name() == name).ok_or_else(|| {
        let known: Vec<&str> = all.into_iter().map(Goal::name).collect();
        bad(format!("unknown goal {name:?}: known are {}", known.join(", ")))
    })
}

fn algorithm_of(name: &str) -> PyResult<Algorithm> {
    Algorithm::named(name).ok_or_else(|| {
        let known: Vec<&str> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
        bad(format!("unknown algorithm {name:?}: known are {}", known.join(", ")))
    })
}

/// Return name and description of each built-in target.
#[pyfunction]
pub(crate) fn targets() -> Vec<(String, String)> {
    BUILTIN.iter().map(|target| (target.name().to_string(), target.description().to_string())).collect()
}

/// Return the names of the algorithms.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<&'static str> {
    Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect()
}

/// Answers for equal graphs, shared by all threads that use the session.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Session {
    answers: Mutex<Arc<Answers>>,
    /// Keeps answers across processes.
    store: Option<Arc<dyn Store>>,
    known_proofs: Known,
    /// Solves the tasks of the colony, one batch at a time.
    gpu: Option<Mutex<Device>>,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (store = None, device = "cpu"))]
    fn new(py: Python<'_>, store: Option<&str>, device: &str) -> PyResult<Self> {
        let gpu = match device {
            "cpu" => None,
            "auto" => py.detach(Device::open).ok(),
            "cuda" => {
                let opened = py.detach(Device::open);
                Some(opened.map_err(|error| bad(format!("device \"cuda\": {error}")))?)
            }
            other => return Err(bad(format!("unknown device {other:?}: known are cpu, cuda, auto"))),
        };
        let store = store.map(lowtide_store::open).transpose();
        let store = store.map_err(|error| bad(format!("store: {error}")))?;
        let (answers, known_proofs) = (Mutex::new(without_answers(store.as_ref())), Known::default());
        Ok(Session { answers, store, known_proofs, gpu: gpu.map(Mutex::new) })
    }

    /// Whether the colony runs on a GPU.
    #[getter]
    fn has_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// Solve the tasks of the colony for all these kernels in one batch on the GPU, and keep the answers. A
    /// session without a GPU does nothing.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (kernels, *, target, goal, budget, nodes, registers, waves, filter, latencies))]
    fn ask_gpu(
        &self,
        py: Python<'_>,
        kernels: Vec<PyRef<'_, Kernel>>,
        target: Option<&str>,
        goal: &str,
        budget: Option<&str>,
        nodes: Option<u64>,
        registers: Option<u32>,
        waves: Option<u32>,
        filter: bool,
        latencies: &str,
    ) -> PyResult<()> {
        let Some(gpu) = &self.gpu else {
            return Ok(());
        };
        let options = Options::default()
            .with_goal(goal_of(goal)?)
            .with_algorithm(Algorithm::COLONY)
            .with_budget(budget_of(budget, nodes, "1ms", 1)?)
            .with_registers(registers)
            .with_waves(waves)
            .with_filter(filter.then(Filter::default));
        let latencies: Latencies = latencies.parse().map_err(|error| bad(format!("latencies: {error}")))?;
        let kernels: Vec<Arc<InnerKernel>> = kernels.iter().map(|kernel| Arc::clone(&kernel.0)).collect();
        let answers = Arc::clone(&self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        call(py, false, move || {
            let mut ready = Vec::new();
            for kernel in &kernels {
                let target = target_of(target, kernel)?;
                ready.push((InnerKernel::clone(&*prepared(kernel, &target, latencies)?), target));
            }
            let targets: Vec<Arc<Target>> = ready.iter().map(|(_, target)| Arc::clone(target)).collect();
            let kernels = ready.into_iter().map(|(kernel, _)| kernel);
            let batch: Vec<(InnerKernel, &Target)> =
                kernels.zip(targets.iter().map(|target| &**target)).collect();
            let gpu = gpu.lock().unwrap_or_else(PoisonError::into_inner);
            solve_on(&gpu, &batch, &options, Context::new(&answers))
        })?;
        Ok(())
    }

    /// Schedule a kernel. Return the result, and the exception of a signal handler that has ended the search
    /// early.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (kernel, *, target, goal, budget, algorithm, nodes, threads, registers, waves, filter, latencies, certificate, watched))]
    fn schedule(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        target: Option<&str>,
        goal: &str,
        budget: Option<&str>,
        algorithm: &str,
        nodes: Option<u64>,
        threads: usize,
        registers: Option<u32>,
        waves: Option<u32>,
        filter: bool,
        latencies: &str,
        certificate: bool,
        watched: bool,
    ) -> PyResult<(Outcome, Option<PyErr>)> {
        if !(1..=4).contains(&threads) {
            return Err(bad(format!("threads: {threads} is not in 1..=4")));
        }
        if waves == Some(0) {
            return Err(bad("waves: 0 is not in 1..4294967295"));
        }
        let options = Options::default()
            .with_goal(goal_of(goal)?)
            .with_algorithm(algorithm_of(algorithm)?)
            .with_budget(budget_of(budget, nodes, "1ms", threads)?)
            .with_registers(registers)
            .with_waves(waves)
            .with_filter(filter.then(Filter::default));
        if certificate && options.goal == Goal::Throughput {
            return Err(bad(
                "a certificate needs the goal minreg, occupancy or length: other claims have no certificates",
            ));
        }
        if certificate && waves.is_some() {
            return Err(bad(
                "a certificate proves that no more waves are possible: it cannot go with waves=",
            ));
        }
        let latencies: Latencies = latencies.parse().map_err(|error| bad(format!("latencies: {error}")))?;
        let target = target_of(target, &kernel.0).map_err(|error| exception(&error))?;
        let answers = Arc::clone(&self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        let (own, known) = (Arc::clone(&kernel.0), &self.known_proofs);
        let Ended { result, signal } = call(py, watched, move || {
            let kernel = prepared(&own, &target, latencies)?;
            let start = Instant::now();
            let outcome = schedule_kernel(&kernel, &target, &options, &*answers)
                .map_err(|error| failure(&kernel, error))?;
            let seconds = start.elapsed().as_secs_f64();
            let latencies = target.resolve(latencies);
            let mut result =
                Outcome { kernel, target, options, latencies, outcome, seconds, certificate: Vec::new() };
            if certificate {
                let problems = result.problems()?;
                let Outcome { kernel, target, outcome, .. } = &result;
                let header = format_certificate_header([(&**target, latencies)]);
                let made = Certificates::new(options.goal, kernel, target, &problems, outcome, known);
                result.certificate = [header].into_iter().chain(Lines::default().next(&made)).collect();
            }
            Ok(result)
        })?;
        if signal.is_some() {
            // The answers of searches that were stopped are not those of their budgets.
            *self.answers.lock().unwrap_or_else(PoisonError::into_inner) =
                without_answers(self.store.as_ref());
        }
        Ok((result, signal))
    }
}

/// Return a session without answers of its own.
fn without_answers(store: Option<&Arc<dyn Store>>) -> Arc<Answers> {
    Arc::new(store.map_or_else(Answers::new, |store| Answers::with_store(Arc::clone(store))))
}

/// Return the kernel with the latencies of the target.
fn prepared(
    kernel: &Arc<InnerKernel>,
    target: &Target,
    latencies: Latencies,
) -> Result<Arc<InnerKernel>, Failure> {
    if target.resolve(latencies) == Latencies::Recorded {
        return Ok(Arc::clone(kernel));
    }
    let name = &kernel.name;
    let changed = InnerKernel::clone(kernel).with_latencies(latencies, target).map_err(|error| {
        Failure::Message(format!(
            "kernel {name:?} with the latencies of {}: {error}; try latencies=\"recorded\"",
            target.name()
        ))
    })?;
    Ok(Arc::new(changed))
}

/// The schedules of a kernel, and what is proven about all others.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Outcome {
    /// With the latencies of the target.
    kernel: Arc<InnerKernel>,
    target: Arc<Target>,
    options: Options,
    latencies: Latencies,
    outcome: KernelOutcome,
    seconds: f64,
    certificate: Vec<String>,
}

impl Outcome {
    pub(crate) fn kernel(&self) -> &InnerKernel {
        &self.kernel
    }

    pub(crate) fn outcome(&self) -> &KernelOutcome {
        &self.outcome
    }

    pub(crate) fn latencies_text(&self) -> String {
        self.latencies.to_string()
    }

    pub(crate) fn seconds_taken(&self) -> f64 {
        self.seconds
    }

    pub(crate) fn problems(&self) -> Result<Vec<Problem<'_>>, Failure> {
        self.options.problems(&self.kernel, &self.target).map_err(Failure::target(&self.kernel.name))
    }

    pub(crate) fn most_waves(&self) -> u32 {
        self.options.most_waves(&self.kernel, &self.target)
    }

    fn region_outcome(&self, region: usize) -> PyResult<&RegionOutcome> {
        let count = self.outcome.regions.len();
        self.outcome
            .regions
            .get(region)
            .ok_or_else(|| bad(format!("there is no region at position {region}: the kernel has {count}")))
    }

    fn problem(&self, region: usize) -> PyResult<Problem<'_>> {
        self.options
            .problem(&self.kernel.regions[region], &self.target)
            .map_err(|error| exception(&Failure::target(&self.kernel.name)(error)))
    }

    /// The figures of a kernel as `lowtide schedule --json` has them.
    fn as_json(&self) -> Result<Value, Failure> {
        let problems = self.problems()?;
        let measures: Vec<Measure> =
            self.outcome.regions.iter().map(|region| region.measure.clone()).collect();
        let cycles = cycles_per_wave(&self.kernel, &self.target, self.most_waves(), &measures)
            .map_err(Failure::target(&self.kernel.name))?;
        let regions = problems.iter().zip(&self.outcome.regions);
        let regions: Vec<Value> =
            regions.map(|(problem, outcome)| region_as_json(problem, outcome)).collect();
        Ok(json!({
            "name": self.kernel.name,
            "origin": self.kernel.origin,
            "target": self.target.name(),
            "latencies": self.latencies.to_string(),
            "goal": self.options.goal.name(),
            "occupancy": self.outcome.occupancy,
            "occupancy_bound": self.outcome.occupancy_bound,
            "filtered": self.outcome.is_filtered,
            "cycles_per_wave": cycles.value(),
            "seconds": self.seconds,
            "regions": regions,
        }))
    }
}

fn region_as_json(problem: &Problem, outcome: &RegionOutcome) -> Value {
    let region = problem.region();
    let by_class = |figure: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        let classes = region.classes().iter().enumerate();
        classes.map(|(class, name)| (name.to_string(), figure(class))).collect()
    };
    let Measure { peaks, length, .. } = &outcome.measure;
    let reasons = PeakBound::all(region, &outcome.bounds);
    let searches = outcome.searches.iter().map(|log| {
        let steps = log.steps.iter().map(|step| {
            json!({
                "seconds": step.time.as_secs_f64(),
                "nodes": step.nodes,
                "best": step.best,
                "bound": step.bound,
            })
        });
        json!({"of": log.quantity.name(), "steps": steps.collect::<Vec<_>>()})
    });
    json!({
        "name": region.name(),
        "n": region.len(),
        "order": outcome.schedule.order().iter().map(|instr| instr.0).collect::<Vec<_>>(),
        "cycles": outcome.schedule.cycles(),
        "peak": by_class(&|class| peaks[class].between.into()),
        "peak_at": by_class(&|class| peaks[class].at.into()),
        "peak_bound": by_class(&|class| outcome.bounds.peaks[class].into()),
        "peak_bound_by": by_class(&|class| json!(reasons[class].by)),
        "length": length,
        "length_bound": outcome.bounds.length,
        "proven_waves": outcome.proven_waves,
        "proven_length": *length == outcome.bounds.length,
        "optimal": outcome.optimal,
        "pairs": outcome.pairs,
        "broken_pairs": outcome.broken_pairs,
        "searches": searches.collect::<Vec<_>>(),
    })
}

/// Return the figures of the production order of a region, or of its source order if none is recorded.
pub(crate) fn measure_before(problem: &Problem) -> Measure {
    problem.measure(&Schedule::production(problem))
}

/// (waves, length, spilled registers, peaks between and at instructions)
type Figures = (u32, u32, u32, Vec<(u32, u32)>);

/// For each class: its name, the bound on its peak, and the reason as JSON.
type PeakBounds = Vec<(String, u32, String)>;
/// The classes of a register file, and its steps: most registers, waves.
type FileSteps = (Vec<String>, Vec<(u32, u32)>);

fn figures(measure: &Measure) -> Figures {
    let peaks = measure.peaks.iter().map(|peak| (peak.between, peak.at)).collect();
    (measure.occupancy, measure.length, measure.spilled, peaks)
}

#[pymethods]
impl Outcome {
    #[getter]
    fn target(&self) -> &str {
        self.target.name()
    }

    #[getter]
    fn goal(&self) -> &'static str {
        self.options.goal.name()
    }

    #[getter]
    fn latencies(&self) -> String {
        self.latencies.to_string()
    }

    #[getter]
    fn waves(&self) -> u32 {
        self.outcome.occupancy
    }

    #[getter]
    fn waves_bound(&self) -> u32 {
        self.outcome.occupancy_bound
    }

    #[getter]
    fn filtered(&self) -> bool {
        self.outcome.is_filtered
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    #[getter]
    fn certificate(&self) -> Vec<String> {
        self.certificate.clone()
    }

    fn __len__(&self) -> usize {
        self.outcome.regions.len()
    }

    /// The number of regions that are proven optimal.
    #[getter]
    fn proven_count(&self) -> usize {
        self.outcome.regions.iter().filter(|region| region.optimal).count()
    }

    fn order<'py>(&self, py: Python<'py>, region: usize) -> PyResult<Bound<'py, PyBytes>> {
        let order = self.region_outcome(region)?.schedule.order();
        Ok(packed(py, order.iter().map(|instr| instr.0)))
    }

    fn cycles<'py>(&self, py: Python<'py>, region: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(packed(py, self.region_outcome(region)?.schedule.cycles().iter().copied()))
    }

    /// The figures of the schedule of a region.
    fn figures(&self, region: usize) -> PyResult<Figures> {
        Ok(figures(&self.region_outcome(region)?.measure))
    }

    /// The figures of the source order of a region, or of its production order if there is one.
    fn figures_before(&self, region: usize, production: bool) -> PyResult<Figures> {
        self.region_outcome(region)?;
        let problem = self.problem(region)?;
        let schedule = match production {
            true => Schedule::production(&problem),
            false => Schedule::source(&problem),
        };
        Ok(figures(&problem.measure(&schedule)))
    }

    /// Bounds of a region: on the length, and on the peak of each class with its reason as JSON.
    fn bounds(&self, region: usize) -> PyResult<(u32, PeakBounds)> {
        let outcome = self.region_outcome(region)?;
        let all = PeakBound::all(&self.kernel.regions[region], &outcome.bounds);
        let peaks = all.into_iter().map(|bound| {
            let reason = json!(bound.by).to_string();
            (bound.class, bound.value, reason)
        });
        Ok((outcome.bounds.length, peaks.collect()))
    }

    /// Whether a region is proven optimal, and whether its waves are.
    fn proven(&self, region: usize) -> PyResult<(bool, bool)> {
        let outcome = self.region_outcome(region)?;
        Ok((outcome.optimal, outcome.proven_waves))
    }

    /// For each register file of the target, its classes and its steps: the most registers for each number of
    /// waves.
    fn steps(&self) -> Vec<FileSteps> {
        let classes = |file: &lowtide::target::RegisterFile| {
            file.classes.iter().map(|class| class.name.clone()).collect()
        };
        self.target.files().iter().map(|file| (classes(file), file.steps())).collect()
    }

    /// The position of the class that matters most for a region.
    fn primary(&self, region: usize) -> PyResult<usize> {
        self.region_outcome(region)?;
        Ok(self.problem(region)?.primary_class().index())
    }

    /// Check all schedules by the independent checker, and all bounds by cuts.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let checked = py.detach(|| -> Result<(), String> {
            let problems = self.problems().map_err(|failure| failure.to_string())?;
            for (problem, outcome) in problems.iter().zip(&self.outcome.regions) {
                let region = problem.region();
                let wrong =
                    |text: String| format!("kernel {:?}, region {}: {text}", self.kernel.name, region.name());
                let report = check(region, &self.target, &outcome.schedule).map_err(|violations| {
                    wrong(violations.first().map_or_else(String::new, ToString::to_string))
                })?;
                let measure = &outcome.measure;
                if !problem.agrees(measure, &report) {
                    return Err(wrong(format!("the checker finds {report:?}, the scheduler {measure:?}")));
                }
                let bounds = region.class_ids().zip(&outcome.bounds.peaks).zip(&outcome.bounds.reasons);
                for ((class, value), reason) in bounds {
                    if let lowtide::proof::Reason::Cut(moment) = reason {
                        lowtide::check::bound::check_cut(region, class, *moment, *value)
                            .map_err(|fault| wrong(fault.to_string()))?;
                    }
                }
            }
            Ok(())
        });
        checked.map_err(InternalError::new_err)
    }

    /// The lines of a schedule file.
    fn lines(&self) -> Vec<String> {
        let regions = self.kernel.regions.iter().zip(&self.outcome.regions);
        let line = |(region, outcome): (&lowtide::region::Region, &RegionOutcome)| {
            format_schedule(
                &self.kernel.name,
                &self.kernel.origin,
                region.name(),
                &outcome.schedule,
                self.latencies,
                &PeakBound::all(region, &outcome.bounds),
            )
        };
        regions.map(line).collect()
    }

    /// The figures as JSON, as `lowtide schedule --json` prints them.
    fn json(&self) -> PyResult<String> {
        self.as_json().map(|value| value.to_string()).map_err(|error| exception(&error))
    }
}
