//! Partitions of a shader into passes: the exact search with progress, and the checker.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use lowtide::budget::Budget;
use lowtide::multipass::check::{PassReport, check_passes};
use lowtide::multipass::loads::with_loads;
use lowtide::multipass::{Partition, PassError, PassModel, PassProblem, dpmpp, exact, mio, rds};
use lowtide::progress::Quantity;
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide::verdict::Verdict;

use crate::{Failure, progress};

/// How inputs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadsArg {
    /// Inputs are operands
    Operands,
    /// Each input has an operation that loads it, as in paper 5
    Operations,
}

impl LoadsArg {
    /// Return a region of a kernel in which inputs count in this way.
    pub fn apply<'r>(
        self,
        kernel: &str,
        region: &'r Region,
        target: &Target,
    ) -> Result<Cow<'r, Region>, Failure> {
        let model = PassModel::of(target).map_err(Failure::target(kernel))?;
        match (self, model) {
            (LoadsArg::Operations, Some(model)) => with_loads(region, &model.class)
                .map(Cow::Owned)
                .map_err(|error| Failure::Message(format!("kernel {kernel:?}: {error}"))),
            _ => Ok(Cow::Borrowed(region)),
        }
    }
}

/// The algorithm that partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PassAlgorithm {
    /// The optimum, if the budget suffices
    Exact,
    /// Dynamic programming (paper 5, Figure 1)
    Dpmpp,
    /// List scheduling with Sethi-Ullman numbers
    Mio,
    /// Dynamic programming by Sethi-Ullman numbers (paper 5, Section 5)
    DpmppSu,
    /// Cuts with recomputation: RDS for one output, MRDS for several
    Rds,
    /// RDS_h: cuts that only grow subtrees
    RdsH,
    /// MRDS_h: RDS_h, then passes are merged for several outputs
    MrdsH,
}

/// Return a region of a kernel as a problem on a target that describes passes.
pub fn problem<'a>(kernel: &str, region: &'a Region, target: &'a Target) -> Result<PassProblem<'a>, Failure> {
    PassProblem::new(region, target).map_err(|error| failure(kernel, region, error))
}

fn failure(kernel: &str, region: &Region, error: PassError) -> Failure {
    Failure::Passes { kernel: kernel.to_string(), region: region.name().to_string(), error }
}

/// Return the result of an algorithm, or an error if it has found no partition.
pub fn found_by<T>(
    algorithm: &'static str,
    problem: &PassProblem,
    kernel: &str,
    found: Option<T>,
) -> Result<T, Failure> {
    let advice = "try `lowtide passes --algorithm exact`";
    found.ok_or_else(|| no_partition(problem, kernel, algorithm, advice))
}

fn no_partition(
    problem: &PassProblem,
    kernel: &str,
    algorithm: &'static str,
    advice: &'static str,
) -> Failure {
    match problem.shortage() {
        Some(shortage) => {
            let shortage = Box::new(shortage);
            failure(kernel, problem.region(), PassError::NotFound { algorithm, advice, shortage })
        }
        // Every operation can have a pass of its own.
        None => Failure::Message(format!("{algorithm} finds no partition for kernel {kernel:?}")),
    }
}

/// Return any partition, by the exact search. It is an error if none exists or none is found.
pub fn any(problem: &PassProblem, kernel: &str, budget: Budget) -> Result<Partition, Failure> {
    match (exact::find(problem, budget), problem.shortage()) {
        (Verdict::Yes(partition), _) => Ok(partition),
        (Verdict::No(()), Some(shortage)) => {
            Err(failure(kernel, problem.region(), PassError::NoPartition(Box::new(shortage))))
        }
        _ => Err(no_partition(problem, kernel, "exact", "try a larger --budget or --nodes")),
    }
}

/// Run the exact search from a start, with progress on a terminal.
pub fn proven(problem: &PassProblem, kernel: &str, start: &Partition, budget: Budget) -> exact::Proven {
    let log = progress::log(Quantity::Cost, kernel, problem.region());
    let proven = exact::partition_watched(problem, start, budget, log.watch());
    log.finish(proven.nodes);
    proven
}

/// Return the report of the checker. It is an error if the passes are illegal, or their cost is not the
/// claimed one.
pub fn checked(problem: &PassProblem, kernel: &str, partition: &Partition) -> Result<PassReport, Failure> {
    let region = problem.region();
    let illegal = |what: String| {
        Failure::Message(format!(
            "the passes of kernel {kernel:?}, region {} are illegal: {what}",
            region.name()
        ))
    };
    let report = check_passes(region, problem.model(), &partition.passes)
        .map_err(|violations| illegal(violations[0].to_string()))?;
    match report.cost == partition.cost {
        true => Ok(report),
        false => Err(illegal(format!("they cost {}, not {}", report.cost, partition.cost))),
    }
}

/// The passes of a region, with a lower bound on the cost.
pub struct Answer {
    /// The passes.
    pub partition: Partition,
    /// Lower bound on the cost of all partitions; 0 if it is unknown.
    pub bound: u64,
    /// The report of the checker.
    pub report: PassReport,
}

/// Partition a region. The checker has accepted the result.
pub fn solve(
    problem: &PassProblem,
    kernel: &str,
    algorithm: PassAlgorithm,
    budget: Budget,
) -> Result<Answer, Failure> {
    let simple = |algorithm: PassAlgorithm, budget: Budget| match algorithm {
        PassAlgorithm::Mio => ("mio", mio::partition(problem)),
        PassAlgorithm::Rds => ("rds", rds::partition(problem, budget)),
        PassAlgorithm::RdsH => ("rds-h", rds::partition_by(problem, rds::Variant::RdsH, budget)),
        PassAlgorithm::MrdsH => ("mrds-h", rds::partition_by(problem, rds::Variant::MrdsH, budget)),
        PassAlgorithm::DpmppSu => {
            let found = dpmpp::partition_by(problem, dpmpp::Numbering::SethiUllman);
            ("dpmpp-su", found.map(|found| found.partition))
        }
        PassAlgorithm::Dpmpp | PassAlgorithm::Exact => {
            ("dpmpp", dpmpp::partition(problem).map(|found| found.partition))
        }
    };
    let (partition, bound) = match algorithm {
        PassAlgorithm::Exact => {
            // All algorithms share the time: cuts have at most half of it, and the search has the rest.
            let clock = Instant::now();
            let part = |of: &dyn Fn(Duration) -> Duration| Budget {
                time_per_instr: budget.time_per_instr.map(of),
                ..budget
            };
            let half = part(&|time| time / 2);
            let starts = [PassAlgorithm::Dpmpp, PassAlgorithm::Mio, PassAlgorithm::Rds]
                .map(|algorithm| simple(algorithm, half).1);
            let best = starts.into_iter().flatten().min_by_key(|partition| partition.cost);
            let best = best.map_or_else(|| any(problem, kernel, half), Ok)?;
            let spent = clock.elapsed() / problem.len() as u32;
            let proven = proven(problem, kernel, &best, part(&|time| time.saturating_sub(spent)));
            (proven.partition, proven.bound)
        }
        other => {
            let (name, found) = simple(other, budget);
            (found_by(name, problem, kernel, found)?, 0)
        }
    };
    let report = checked(problem, kernel, &partition)?;
    Ok(Answer { partition, bound, report })
}
