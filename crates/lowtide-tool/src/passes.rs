//! Partitions of a shader into passes: the exact search with progress, and the checker.

use std::borrow::Cow;

use clap::ValueEnum;
use lowtide::budget::Budget;
use lowtide::multipass::check::{PassReport, check_passes};
use lowtide::multipass::loads::with_loads;
use lowtide::multipass::{Partition, PassError, PassModel, PassProblem, exact};
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

/// Return the report of the checker. It is an error if the passes are illegal, or their cost is not the claimed one.
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
