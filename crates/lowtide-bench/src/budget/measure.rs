//! The measurement of `lowtide bench budget`.

use std::time::{Duration, Instant};

use lowtide::algorithm::Algorithm;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::generate::{self, Shape, families};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_tool::input::{Targets, for_each_kernel, load_target};
use lowtide_tool::solve::Run;
use lowtide_tool::{Failure, progress};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::BudgetArgs;

/// The time of the parts without a budget, for each instruction and pass: reading and checking orders, lists
/// and simple bounds. A smaller budget counts as this one.
pub(super) const FLOOR: Duration = Duration::from_micros(20);

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    /// Distinct graphs.
    pub(super) regions: usize,
    pub(super) instructions: usize,
    /// Microseconds for each instruction and pass that a smaller budget counts as.
    pub(super) floor_us: f64,
    /// One for each budget and goal, and one for all.
    pub(super) distributions: Vec<Distribution>,
    pub(super) rows: Vec<Row>,
}

/// The ratios of used to allowed time.
#[derive(Serialize)]
pub(super) struct Distribution {
    /// None: of all budgets.
    pub(super) budget_us: Option<f64>,
    /// None: of all goals.
    pub(super) goal: Option<&'static str>,
    pub(super) runs: usize,
    pub(super) median: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) worst: f64,
    pub(super) worst_region: String,
    pub(super) worst_n: usize,
    /// Runs with a ratio above 1, 1.2 and 2.
    pub(super) above: [usize; 3],
}

/// One run.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) region: String,
    pub(super) n: usize,
    pub(super) budget_us: f64,
    pub(super) goal: &'static str,
    pub(super) seconds: f64,
    pub(super) allowed: f64,
    pub(super) ratio: f64,
    pub(super) length: u32,
}

/// A region, and where it comes from.
struct Subject<'a> {
    kernel: String,
    region: Region,
    target: &'a Target,
}

/// Return the number of passes of a goal, each with the whole budget.
fn passes(goal: Goal) -> u32 {
    match goal {
        // The bounds, the order and the search.
        Goal::MinReg => 1,
        // The waves, then the length. For the goal length: bounds on registers, then the length.
        Goal::Occupancy | Goal::Length => 2,
        // The waves, then the length for the most waves, for the fewest, and for those between.
        Goal::Throughput => 4,
    }
}

pub(super) fn measure(args: &BudgetArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let target = load_target(args.target.target.as_deref().unwrap_or("gfx906"))?;
    let subjects = match args.generated {
        true => generated(args, &target),
        false => read(args, &targets)?,
    };
    if subjects.is_empty() {
        return Err(Failure::Nothing("no region fits --min-size, --max-size and --family".to_string()));
    }
    let mut document = Document {
        regions: subjects.len(),
        instructions: subjects.iter().map(|subject| subject.region.len()).sum(),
        floor_us: micros(FLOOR),
        ..Document::default()
    };
    let all = (subjects.len() * args.budget.len() * args.goal.len()) as u64;
    let bar = progress::bar(all, "{bar:40} {pos} of {len} runs, {elapsed}, {eta} left");
    for &budget in &args.budget {
        for goal in &args.goal {
            for subject in &subjects {
                document.rows.push(measure_region(subject, budget, goal.goal(), args.runs)?);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    for &budget in &args.budget {
        for goal in &args.goal {
            let (budget_us, goal) = (micros(budget), goal.goal().name());
            let own = document.rows.iter().filter(|row| row.budget_us == budget_us && row.goal == goal);
            document.distributions.push(Distribution::of(Some(budget_us), Some(goal), own));
        }
    }
    document.distributions.push(Distribution::of(None, None, document.rows.iter()));
    Ok(document)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Schedule a region alone, and return the fastest of up to `runs` runs.
fn measure_region(subject: &Subject, budget: Duration, goal: Goal, runs: u32) -> Result<Row, Failure> {
    let Subject { kernel, region, target } = subject;
    let problem = Problem::new(region, target, goal).map_err(Failure::target(kernel))?;
    let allowed = (budget.max(FLOOR) * passes(goal) * region.len() as u32).as_secs_f64();
    let mut row = Row {
        region: region.name().to_string(),
        n: region.len(),
        budget_us: micros(budget),
        goal: goal.name(),
        seconds: f64::INFINITY,
        allowed,
        ratio: f64::INFINITY,
        length: 0,
    };
    for _ in 0..runs {
        let limits = Budget { time_per_instr: Some(budget), ..Budget::UNLIMITED };
        let start = Instant::now();
        let outcome = Run::new().schedule_region(kernel, &problem, Algorithm::AUTO, limits)?;
        row.seconds = row.seconds.min(start.elapsed().as_secs_f64());
        row.length = outcome.measure.length;
        if row.seconds <= allowed {
            break;
        }
    }
    row.ratio = row.seconds / allowed;
    Ok(row)
}

/// Read the distinct graphs of the files.
fn read<'a>(args: &BudgetArgs, targets: &'a Targets) -> Result<Vec<Subject<'a>>, Failure> {
    let mut seen = FxHashSet::default();
    let mut subjects = Vec::new();
    for_each_kernel(
        &args.input(),
        |mut kernel| {
            let target = targets.of(&kernel)?;
            let sizes = args.min_size..=args.max_size.unwrap_or(usize::MAX);
            let regions = kernel.regions.drain(..).filter(|region| sizes.contains(&region.len()));
            let name = kernel.name.clone();
            Ok(regions
                .map(|region| (fingerprint(&region), Subject { kernel: name.clone(), region, target }))
                .collect::<Vec<_>>())
        },
        |found| {
            for (graph, subject) in found {
                if seen.insert(graph) && (seen.len() as u64 - 1).is_multiple_of(args.every) {
                    subjects.push(subject);
                }
            }
            Ok(())
        },
    )?;
    Ok(subjects)
}

/// Generate regions of every shape and family.
fn generated<'a>(args: &BudgetArgs, target: &'a Target) -> Vec<Subject<'a>> {
    let mut regions = Vec::new();
    for &size in &args.sizes {
        let names = Shape::ALL.map(|shape| format!("{shape:?}").to_lowercase());
        let shapes = Shape::ALL.into_iter().zip(names);
        let is_asked = |name: &str| args.family.as_ref().is_none_or(|text| name.contains(text.as_str()));
        for (shape, name) in shapes {
            if is_asked(&name) {
                regions.push(generate::region(shape, size, 1));
            }
        }
        for family in families::Family::ALL {
            if is_asked(family.name()) {
                regions.push(family.region(size, 1));
            }
        }
        if is_asked("program") {
            regions.push(generate::register_program(size, 1));
        }
    }
    let sizes = args.min_size..=args.max_size.unwrap_or(usize::MAX);
    let fitting = regions.into_iter().filter(|region| sizes.contains(&region.len()));
    fitting.map(|region| Subject { kernel: region.name().to_string(), region, target }).collect()
}

impl Distribution {
    fn of<'r>(
        budget_us: Option<f64>,
        goal: Option<&'static str>,
        rows: impl Iterator<Item = &'r Row>,
    ) -> Self {
        let mut rows: Vec<&Row> = rows.collect();
        rows.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
        let at = |percent: usize| percentile(&rows, percent).map_or(0.0, |row| row.ratio);
        let worst = rows.last();
        Distribution {
            budget_us,
            goal,
            runs: rows.len(),
            median: at(50),
            p90: at(90),
            p99: at(99),
            worst: at(100),
            worst_region: worst.map(|row| row.region.clone()).unwrap_or_default(),
            worst_n: worst.map_or(0, |row| row.n),
            above: [1.0, 1.2, 2.0].map(|ratio| rows.iter().filter(|row| row.ratio > ratio).count()),
        }
    }
}

/// Return the least element that is not below `percent` percent of all.
fn percentile<T>(sorted: &[T], percent: usize) -> Option<&T> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_elements() {
        let numbers: Vec<u32> = (1..=200).collect();
        assert_eq!(
            [0, 1, 50, 99, 100].map(|percent| percentile(&numbers, percent).copied().unwrap()),
            [1, 2, 100, 198, 200]
        );
        assert_eq!(percentile(&numbers[..1], 99), Some(&1));
        assert_eq!(percentile(&numbers[..0], 50), None);
    }
}
