//! The two-phase scheduler of paper 1, Section V, on whole kernels: a min-register schedule, then latency
//! hiding within the registers.
//!
//! The baseline hides latencies in the source order. Cycles of a kernel are the sum over its regions of
//! length and price of spills, with ten times the weight for each loop around a region.

use std::collections::BTreeMap;

use lowtide::algorithm::Algorithm;
use lowtide::analysis::pressure::Tracker;
use lowtide::budget::Budget;
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide::throughput::loop_weight;
use lowtide_tool::Failure;
use lowtide_tool::solve::Run;
use serde::Serialize;

/// The algorithms that are compared, the baseline first.
pub(super) const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::LATENCY_HIDING_SOURCE,
    Algorithm::LATENCY_HIDING_SETHI_ULLMAN,
    Algorithm::LATENCY_HIDING_CLUSTER,
    Algorithm::LATENCY_HIDING,
];

/// The first phases of paper 1 whose schedules are counted where they replace the source order.
const FIRST_PHASES: [Algorithm; 2] = [Algorithm::POLICY_SETHI_ULLMAN, Algorithm::POLICY_CLUSTER];

/// The results of all kernels.
#[derive(Serialize, Default)]
pub(super) struct TwoPhases {
    pub(super) kernels: u64,
    pub(super) regions: u64,
    /// Kernels that spill, by algorithm.
    pub(super) spilling: BTreeMap<&'static str, u64>,
    /// Regions whose source order is replaced in the first phase, by algorithm.
    pub(super) replaced: BTreeMap<&'static str, u64>,
    /// Sums over kernels.
    pub(super) cycles: BTreeMap<&'static str, u64>,
    pub(super) length: BTreeMap<&'static str, u64>,
    /// The natural logarithm of the cycles of the baseline over those of the algorithm, for each kernel where
    /// they differ for any.
    pub(super) gains: BTreeMap<&'static str, Vec<f64>>,
    /// The region with the highest peak that the clusters lower.
    pub(super) example: Option<Example>,
    /// The sizes of all regions, from 1.
    #[serde(skip)]
    pub(super) sizes: Vec<usize>,
}

/// The pressure along the schedules of a region (Figures 4 and 5).
#[derive(Serialize, Clone)]
pub(super) struct Example {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) n: usize,
    /// After each instruction: source order, Algorithm 5, and latency hiding after it.
    pub(super) source: Vec<u32>,
    pub(super) few: Vec<u32>,
    pub(super) hidden: Vec<u32>,
    /// Lengths of the source order with stalls, and of the last schedule.
    pub(super) lengths: [u32; 2],
}

impl Example {
    /// Return the highest pressure of a series.
    pub(super) fn peak(series: &[u32]) -> u32 {
        series.iter().copied().max().unwrap_or(0)
    }
}

/// The results of one kernel.
pub(super) struct Part {
    sizes: Vec<usize>,
    spills: [bool; ALGORITHMS.len()],
    cycles: [u64; ALGORITHMS.len()],
    length: [u64; ALGORITHMS.len()],
    replaced: [u64; FIRST_PHASES.len()],
    example: Option<Example>,
}

impl Part {
    /// Schedule a kernel by all algorithms.
    pub(super) fn new(kernel: &Kernel, target: &Target) -> Result<Part, Failure> {
        let mut part = Part {
            sizes: kernel.regions.iter().map(lowtide::region::Region::len).collect(),
            spills: [false; ALGORITHMS.len()],
            cycles: [0; ALGORITHMS.len()],
            length: [0; ALGORITHMS.len()],
            replaced: [0; FIRST_PHASES.len()],
            example: None,
        };
        for region in &kernel.regions {
            let problem =
                Problem::new(region, target, Goal::Length).map_err(Failure::target(&kernel.name))?;
            let run = |algorithm| Run::new().schedule(&kernel.name, &problem, algorithm, Budget::UNLIMITED);
            let weight = u64::from(loop_weight(region));
            let mut hidden = None;
            for (position, algorithm) in ALGORITHMS.into_iter().enumerate() {
                let schedule = run(algorithm)?;
                let measure = problem.measure(&schedule);
                let spills = problem.spill_cycles(|class| measure.peaks[class.index()].between);
                part.spills[position] |= measure.spilled > 0;
                part.length[position] += weight * u64::from(measure.length);
                part.cycles[position] += weight * (u64::from(measure.length) + u64::from(spills));
                if algorithm == Algorithm::LATENCY_HIDING_CLUSTER {
                    hidden = Some(schedule);
                }
            }
            let source = Schedule::source(&problem);
            for (position, algorithm) in FIRST_PHASES.into_iter().enumerate() {
                let few = run(algorithm)?;
                part.replaced[position] += u64::from(few.order() != source.order());
                if let Some(hidden) = hidden.as_ref().filter(|_| algorithm == Algorithm::POLICY_CLUSTER)
                    && few.order() != source.order()
                {
                    part.offer(example(&kernel.name, &problem, [&source, &few, hidden]));
                }
            }
        }
        Ok(part)
    }

    fn offer(&mut self, example: Example) {
        let peak = |example: &Example| Example::peak(&example.source);
        if self.example.as_ref().is_none_or(|known| peak(known) < peak(&example)) {
            self.example = Some(example);
        }
    }
}

fn example(kernel: &str, problem: &Problem, [source, few, hidden]: [&Schedule; 3]) -> Example {
    let pressure = |schedule: &Schedule| {
        let mut tracker = Tracker::new(problem.region());
        let after = schedule.order().iter().map(|&instr| {
            tracker.schedule(instr);
            tracker.now(problem.primary_class())
        });
        after.collect()
    };
    Example {
        kernel: kernel.to_string(),
        region: problem.region().name().to_string(),
        n: problem.region().len(),
        source: pressure(source),
        few: pressure(few),
        hidden: pressure(hidden),
        lengths: [source.length(), hidden.length()],
    }
}

impl TwoPhases {
    /// Add a kernel.
    pub(super) fn add(&mut self, part: Part) {
        self.kernels += 1;
        self.regions += part.sizes.len() as u64;
        self.sizes.extend(&part.sizes);
        let is_affected = part.cycles.iter().any(|cycles| *cycles != part.cycles[0]);
        for (position, algorithm) in ALGORITHMS.into_iter().enumerate() {
            let name = algorithm.name();
            *self.spilling.entry(name).or_default() += u64::from(part.spills[position]);
            *self.cycles.entry(name).or_default() += part.cycles[position];
            *self.length.entry(name).or_default() += part.length[position];
            if is_affected && position > 0 {
                let gain = (part.cycles[0] as f64 / part.cycles[position].max(1) as f64).ln();
                self.gains.entry(name).or_default().push(gain);
            }
        }
        for (algorithm, replaced) in FIRST_PHASES.into_iter().zip(part.replaced) {
            *self.replaced.entry(algorithm.name()).or_default() += replaced;
        }
        if let Some(example) = part.example {
            let peak = |example: &Example| Example::peak(&example.source);
            if self.example.as_ref().is_none_or(|known| peak(known) < peak(&example)) {
                self.example = Some(example);
            }
        }
    }
}
