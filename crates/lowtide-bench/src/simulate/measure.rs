//! The measurement of `lowtide bench simulate`.

use lowtide::InstrId;
use lowtide::algorithm::Algorithm;
use lowtide::outcome::KernelOutcome;
use lowtide::pipeline::Options;
use lowtide::problem::{Goal, Measure, Problem, waves_together};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::simulate::{Machine, simulate_kernel};
use lowtide::target::{Latencies, Target, TargetError};
use lowtide::throughput::{CyclesPerWave, cycles_per_wave};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::solve::Run;
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use super::SimulateArgs;
use crate::statistics::{Pairs, kendall_tau};

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    /// Kernels with a timing model; others are left out.
    pub(super) kernels: Vec<KernelResult>,
    pub(super) left_out: u64,
    pub(super) agreement: Agreement,
    pub(super) budget: String,
}

/// How well a formula agrees with the model.
#[derive(Serialize, Default)]
pub(super) struct Agreement {
    /// Pairs of variants of one kernel that both rank alike, differently, and that one of them ties.
    pub(super) concordant: u64,
    pub(super) discordant: u64,
    pub(super) tied: u64,
    /// Over all pairs without ties; none if there are none.
    pub(super) tau: Option<f64>,
    /// The mean over kernels, without those where it is undefined.
    pub(super) mean_tau: Option<f64>,
    /// Model clocks of the variants that the formula chooses, beyond those of the best variants, in percent.
    pub(super) regret_percent: f64,
    /// The same in the kernel with the largest share.
    pub(super) worst_regret_percent: f64,
}

#[derive(Serialize)]
pub(super) struct KernelResult {
    pub(super) name: String,
    pub(super) target: String,
    pub(super) variants: Vec<Variant>,
    /// None if the model or the formula gives all variants the same figure.
    pub(super) tau: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) waves: u32,
    /// Model clocks for each wave.
    pub(super) clocks: f64,
    /// The formula's cycles for each wave.
    pub(super) cost: f64,
}

/// The variants: a name, an algorithm, and a goal.
const VARIANTS: [(&str, Algorithm, Goal); 5] = [
    ("source", Algorithm::SOURCE, Goal::Occupancy),
    ("production", Algorithm::PRODUCTION, Goal::Occupancy),
    ("occupancy", Algorithm::AUTO, Goal::Occupancy),
    ("minreg", Algorithm::AUTO, Goal::MinReg),
    ("length", Algorithm::AUTO, Goal::Length),
];

pub(super) fn measure(args: &SimulateArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let options = Options::default().with_budget(args.budget.budget()).with_filter(None);
    let run = Run::new();
    let mut document = Document {
        budget: progress::budget_in_words(args.budget.budget(), "instruction and pass", "region and pass"),
        ..Document::default()
    };
    for_each_kernel(
        &args.input,
        |kernel| {
            let target = targets.of(&kernel)?;
            match Machine::of(target).map_err(Failure::target(&kernel.name))? {
                None => Ok(None),
                Some(machine) => measure_kernel(&kernel, target, &machine, &options, &run).map(Some),
            }
        },
        |result| {
            match result {
                Some(result) => document.kernels.push(result),
                None => document.left_out += 1,
            }
            Ok(())
        },
    )?;
    if document.kernels.is_empty() {
        return Err(Failure::Nothing("no kernel is for a target with a part [simulate]".to_string()));
    }
    document.agreement = Agreement::of(&document.kernels);
    Ok(document)
}

fn measure_kernel(
    kernel: &Kernel,
    target: &Target,
    machine: &Machine,
    options: &Options,
    run: &Run,
) -> Result<KernelResult, Failure> {
    let by_table = kernel.clone().with_latencies(Latencies::TARGET, target);
    let by_table = by_table.map_err(|error| Failure::Message(error.to_string()))?;
    let mut variants = Vec::new();
    for (name, algorithm, goal) in VARIANTS {
        let options = options.with_algorithm(algorithm).with_goal(goal);
        let outcome = run.schedule_kernel(&by_table, target, &options)?;
        let orders: Vec<&[InstrId]> = outcome.regions.iter().map(|region| region.schedule.order()).collect();
        let waves = waves(&by_table, target, &options, &outcome)?;
        let timing =
            simulate_kernel(kernel, target, machine, Latencies::TARGET, orders.iter().copied(), waves);
        let timing = timing.map_err(|violations| {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            Failure::Message(format!("kernel {:?}: {first}", kernel.name))
        })?;
        variants.push(Variant {
            name,
            waves,
            clocks: timing.clocks_per_wave(),
            cost: cost(&by_table, target, &orders, waves)?,
        });
    }
    let clocks: Vec<f64> = variants.iter().map(|variant| variant.clocks).collect();
    let costs: Vec<f64> = variants.iter().map(|variant| variant.cost).collect();
    Ok(KernelResult {
        name: kernel.name.clone(),
        target: target.name().to_string(),
        tau: kendall_tau(&clocks, &costs),
        variants,
    })
}

/// Return the waves that fit with the registers of the orders, whatever the goal.
fn waves(
    kernel: &Kernel,
    target: &Target,
    options: &Options,
    outcome: &KernelOutcome,
) -> Result<u32, Failure> {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let problems = options.problems(kernel, target).map_err(Failure::target(&kernel.name))?;
    let measures = outcome.regions.iter().map(|region| &region.measure);
    Ok(waves_together(&problems, measures, most).max(1))
}

/// Return the estimated cycles of a SIMD for each wave, as the goal throughput has them.
fn cost(kernel: &Kernel, target: &Target, orders: &[&[InstrId]], waves: u32) -> Result<f64, Failure> {
    let measure = |(region, order): (&Region, &&[InstrId])| {
        let problem = Problem::new(region, target, Goal::Throughput)?;
        Ok(problem.measure(&Schedule::in_order(&problem, order.to_vec())))
    };
    let measures: Result<Vec<Measure>, TargetError> =
        kernel.regions.iter().zip(orders).map(measure).collect();
    let cycles = measures.and_then(|measures| cycles_per_wave(kernel, target, waves, &measures));
    cycles.map(CyclesPerWave::value).map_err(Failure::target(&kernel.name))
}

impl Agreement {
    fn of(kernels: &[KernelResult]) -> Self {
        let mut all = Pairs::default();
        let mut taus = Vec::new();
        let (mut chosen, mut best, mut worst) = (0.0, 0.0, 0.0f64);
        for kernel in kernels {
            let clocks: Vec<f64> = kernel.variants.iter().map(|variant| variant.clocks).collect();
            let costs: Vec<f64> = kernel.variants.iter().map(|variant| variant.cost).collect();
            all.add(Pairs::of(&clocks, &costs));
            taus.extend(kendall_tau(&clocks, &costs));
            let by_cost = (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]));
            let own = by_cost.map_or(0.0, |place| clocks[place]);
            let least = clocks.iter().copied().fold(f64::INFINITY, f64::min);
            chosen += own;
            best += least;
            worst = worst.max(100.0 * (own / least - 1.0));
        }
        Agreement {
            concordant: all.concordant,
            discordant: all.discordant,
            tied: all.tied_left + all.tied_right + all.tied_both,
            tau: all.without_ties(),
            mean_tau: (!taus.is_empty()).then(|| taus.iter().sum::<f64>() / taus.len() as f64),
            regret_percent: 100.0 * (chosen / best - 1.0),
            worst_regret_percent: worst,
        }
    }
}
