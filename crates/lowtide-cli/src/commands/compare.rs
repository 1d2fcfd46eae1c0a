//! `lowtide compare`: all algorithms on the same input.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use lowtide::algorithm::Algorithm;
use lowtide::problem::Problem;
use lowtide::target::Latencies;
use lowtide::throughput::loop_weight;
use lowtide_tool::args::{BudgetArgs, InputArgs, LatencyArgs, TargetArgs, name_of};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::solve::Run;
use lowtide_tool::table::{grouped, table};
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use crate::args::GoalArg;

/// The arguments of `lowtide compare`.
#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    latencies: LatencyArgs,

    /// Optimize for this goal
    #[arg(long, value_enum, default_value = "occupancy")]
    goal: GoalArg,

    #[command(flatten)]
    budget: BudgetArgs,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize, Default)]
struct Document {
    kernels: u64,
    regions: u64,
    instructions: u64,
    /// The latencies used: several if the targets differ.
    latencies: BTreeSet<String>,
    algorithms: BTreeMap<&'static str, Totals>,
}

/// The sums of one algorithm over the whole input.
#[derive(Serialize, Default, Clone)]
struct Totals {
    /// Sum over kernels.
    occupancy: u64,
    /// Sum over regions.
    length: u64,
    /// The same with ten times the weight for each loop around a region.
    weighted_length: u64,
    /// Sum over regions of the peak of the target's first class.
    peak: u64,
    /// Regions where no other algorithm is better for the goal.
    best: u64,
    seconds: f64,
}

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let latencies = args.latencies.named()?.unwrap_or(Latencies::TARGET);
    let targets = Targets::new(&args.target)?.with_latencies(latencies);
    let goal = args.goal.into();
    let budget = args.budget.budget();
    let mut document = Document::default();
    for_each_kernel(
        &args.input,
        |kernel| {
            let (kernel, target) = targets.prepare(kernel)?;
            let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
            let mut totals = vec![Totals::default(); Algorithm::ALL.len()];
            let mut occupancy = vec![most; Algorithm::ALL.len()];
            for region in &kernel.regions {
                let problem = Problem::new(region, target, goal).map_err(Failure::target(&kernel.name))?;
                let mut costs = Vec::new();
                for (position, algorithm) in Algorithm::ALL.iter().copied().enumerate() {
                    let start = Instant::now();
                    let schedule = Run::new().schedule(&kernel.name, &problem, algorithm, budget)?;
                    totals[position].seconds += start.elapsed().as_secs_f64();
                    let measure = problem.measure(&schedule);
                    let peak = measure.peaks.get(problem.primary_class().index());
                    totals[position].length += u64::from(measure.length);
                    totals[position].weighted_length +=
                        u64::from(loop_weight(region)) * u64::from(measure.length);
                    totals[position].peak += u64::from(peak.map_or(0, |peak| peak.between));
                    occupancy[position] = occupancy[position].min(measure.occupancy);
                    costs.push(problem.cost(&measure));
                }
                let best = costs.iter().min();
                for (totals, cost) in totals.iter_mut().zip(&costs) {
                    totals.best += u64::from(Some(cost) == best);
                }
            }
            for (totals, occupancy) in totals.iter_mut().zip(occupancy) {
                totals.occupancy = u64::from(occupancy);
            }
            Ok((kernel.regions.len(), kernel.instr_count(), targets.latencies_on(target), totals))
        },
        |(regions, instructions, latencies, totals)| {
            document.latencies.insert(latencies.to_string());
            document.kernels += 1;
            document.regions += regions as u64;
            document.instructions += instructions as u64;
            for (algorithm, part) in Algorithm::ALL.iter().copied().zip(totals) {
                let sum = document.algorithms.entry(algorithm.name()).or_default();
                sum.occupancy += part.occupancy;
                sum.length += part.length;
                sum.weighted_length += part.weighted_length;
                sum.peak += part.peak;
                sum.best += part.best;
                sum.seconds += part.seconds;
            }
            Ok(())
        },
    )?;
    match args.json {
        true => print_json(&document)?,
        false => print(&as_table(&document))?,
    }
    progress::summary(&facts(&document, args));
    Ok(())
}

/// Return the lines of the summary.
fn facts(document: &Document, args: &CompareArgs) -> Vec<String> {
    let budget = progress::budget_in_words(args.budget.budget(), "instruction and pass", "region and pass");
    let mut facts = vec![
        format!("goal {}, {budget}", name_of(&args.goal)),
        format!(
            "{} kernels, {} regions, {} instructions",
            grouped(document.kernels),
            grouped(document.regions),
            grouped(document.instructions)
        ),
    ];
    for algorithm in [Algorithm::SOURCE, Algorithm::PRODUCTION, Algorithm::AUTO] {
        if let Some(totals) = document.algorithms.get(algorithm.name()) {
            facts.push(format!(
                "{}: waves {}, length {}, peak {}, best on {}",
                algorithm.name(),
                grouped(totals.occupancy),
                grouped(totals.length),
                grouped(totals.peak),
                grouped(totals.best)
            ));
        }
    }
    facts
}

fn as_table(document: &Document) -> String {
    let mut rows = table(1, &["algorithm", "waves", "length", "by loops", "peak", "best on", "ms"]);
    for &algorithm in Algorithm::ALL {
        let Some(totals) = document.algorithms.get(algorithm.name()) else { continue };
        rows.add_row([
            algorithm.name().to_string(),
            grouped(totals.occupancy),
            grouped(totals.length),
            grouped(totals.weighted_length),
            grouped(totals.peak),
            grouped(totals.best),
            format!("{:.0}", totals.seconds * 1e3),
        ]);
    }
    format!(
        "{rows}\n\n{} kernels, {} regions, {} instructions. Waves are summed over kernels, length and peak \
         over regions;\n\"by loops\" counts a region ten times for each loop around it;\n\"best on\" counts the regions where no other algorithm is better for the goal.",
        grouped(document.kernels),
        grouped(document.regions),
        grouped(document.instructions),
    )
}
