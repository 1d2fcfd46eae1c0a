//! The measurement of `lowtide bench minreg`.

use std::time::Instant;

use indicatif::ParallelProgressIterator;
use lowtide::algorithm::Algorithm;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::check::bound::check_cut;
use lowtide::check::check;
use lowtide::outcome::Outcome;
use lowtide::problem::{Goal, Problem};
use lowtide::proof::Reason;
use lowtide::region::Region;
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide_cp::Solver;
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::solve::Run;
use lowtide_tool::{Failure, progress};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::document::{ALGORITHMS, BudgetInfo, Document, Proof, Row};
use super::{MinregArgs, constraints, families};

/// The first region with its graph.
pub(super) struct Distinct<'a> {
    pub(super) region: Region,
    pub(super) kernel: String,
    pub(super) target: &'a Target,
    /// The fingerprint of its graph.
    pub(super) graph: u128,
}

impl Distinct<'_> {
    /// Return the region as a problem on its target.
    pub(super) fn problem(&self) -> Result<Problem<'_>, Failure> {
        Problem::new(&self.region, self.target, Goal::MinReg).map_err(Failure::target(&self.kernel))
    }
}

/// Measure the files, the hard graphs, and the sample for the constraint models, as the arguments ask.
pub(super) fn measure(args: &MinregArgs) -> Result<Document, Failure> {
    let mut document = Document {
        budget: BudgetInfo::new(args),
        least: args.min_size,
        most: args.max_size,
        ..Document::default()
    };
    // A missing solver is reported before the input is read.
    let solver = args.constraints.then(Solver::find).transpose();
    let solver = solver.map_err(|error| Failure::Message(error.to_string()))?;
    let targets = Targets::new(&args.target)?;
    if !args.files.is_empty() {
        let regions = distinct_regions(args, &targets, &mut document.repeated)?;
        if !args.no_tables {
            document.targets = regions.iter().map(|region| region.target.name().to_string()).collect();
            document.fill(measure_all(args, &regions)?);
        }
        if let Some(solver) = &solver {
            document.constraints = Some(constraints::measure(args, solver, regions)?);
        }
    }
    if args.families {
        document.families = Some(families::measure(args)?);
    }
    Ok(document)
}

/// Read the distinct graphs of the input. `repeated` counts the other regions.
fn distinct_regions<'a>(
    args: &MinregArgs,
    targets: &'a Targets,
    repeated: &mut u64,
) -> Result<Vec<Distinct<'a>>, Failure> {
    let mut seen = FxHashSet::default();
    let mut regions = Vec::new();
    for_each_kernel(
        &args.input(),
        |mut kernel| {
            let target = targets.of(&kernel)?;
            let fits = |region: &Region| {
                (args.min_size..=args.max_size.unwrap_or(usize::MAX)).contains(&region.len())
            };
            let regions = kernel.regions.drain(..).filter(fits).map(|region| Distinct {
                graph: fingerprint(&region),
                region,
                kernel: kernel.name.clone(),
                target,
            });
            let regions: Vec<Distinct> = regions.collect();
            // A target that does not fit is reported before anything is measured.
            regions.first().map(Distinct::problem).transpose()?;
            Ok(regions)
        },
        |found| {
            for region in found {
                match seen.insert(region.graph) {
                    true => regions.push(region),
                    false => *repeated += 1,
                }
            }
            Ok(())
        },
    )?;
    match regions.is_empty() {
        true => Err(Failure::Nothing("no region has a size in the range that was asked for".to_string())),
        false => Ok(regions),
    }
}

/// Run all algorithms on all regions.
fn measure_all(args: &MinregArgs, regions: &[Distinct]) -> Result<Vec<Row>, Failure> {
    let bar = progress::bar(regions.len() as u64, "{bar:40} {pos} of {len} regions, {elapsed}, {eta} left");
    let rows = (regions.par_iter().progress_with(bar.clone()))
        .map(|region| measure_region(&region.problem()?, &region.kernel, args.budget_of(region.region.len())))
        .collect();
    bar.finish_and_clear();
    rows
}

/// Run all algorithms on a region. Only `exact` has a budget.
pub(super) fn measure_region(problem: &Problem, kernel: &str, budget: Budget) -> Result<Row, Failure> {
    let region = problem.region();
    let class = problem.primary_class();
    let mut results = Vec::new();
    let mut outcome = None;
    for algorithm in ALGORITHMS {
        if algorithm == Algorithm::PRODUCTION && region.production().is_none() {
            results.push(None);
            continue;
        }
        let start = Instant::now();
        let schedule = match algorithm == Algorithm::EXACT {
            true => {
                let found = Run::new().schedule_region(kernel, problem, algorithm, budget)?;
                outcome.insert(found).schedule.clone()
            }
            false => Run::new().schedule(kernel, problem, algorithm, budget)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        results.push(Some((checked_peak(problem, kernel, algorithm, &schedule)?, seconds)));
    }
    let wrong = |what: String| wrong_bound(problem, kernel, &what);
    let Some(outcome) = outcome else {
        return Err(Failure::Message("exact is not among the algorithms".to_string()));
    };
    let (bound, reason) = (outcome.bounds.peaks[class.index()], outcome.bounds.reasons[class.index()]);
    check_bound(problem, kernel, &outcome)?;
    for (algorithm, result) in ALGORITHMS.into_iter().zip(&results) {
        if let Some((peak, _)) = result.filter(|(peak, _)| *peak < bound) {
            return Err(wrong(format!("at least {bound}, but {} has {peak}", algorithm.name())));
        }
    }
    let proof = match reason {
        _ if !outcome.optimal => Proof::Timeout,
        Reason::Cut(_) => Proof::Cut,
        _ => Proof::Search,
    };
    Ok(Row {
        kernel: kernel.to_string(),
        region: region.name().to_string(),
        size: region.len(),
        edges: region.edge_count(),
        bound,
        proof,
        results,
    })
}

/// Return the peak of a schedule according to the checker.
pub(super) fn checked_peak(
    problem: &Problem,
    kernel: &str,
    algorithm: Algorithm,
    schedule: &Schedule,
) -> Result<u32, Failure> {
    let region = problem.region();
    let report = check(region, problem.target(), schedule).map_err(|violations| Failure::Illegal {
        algorithm: algorithm.name(),
        kernel: kernel.to_string(),
        region: region.name().to_string(),
        violation: violations[0].to_string(),
    })?;
    Ok(report.peaks[problem.primary_class().index()].between)
}

/// Prove the bound of `exact` again, if a cut is its reason.
pub(super) fn check_bound(problem: &Problem, kernel: &str, outcome: &Outcome) -> Result<(), Failure> {
    let class = problem.primary_class();
    match outcome.bounds.reasons[class.index()] {
        Reason::Cut(moment) => {
            check_cut(problem.region(), class, moment, outcome.bounds.peaks[class.index()])
                .map_err(|fault| wrong_bound(problem, kernel, &fault.to_string()))
        }
        _ => Ok(()),
    }
}

fn wrong_bound(problem: &Problem, kernel: &str, what: &str) -> Failure {
    let region = problem.region().name();
    Failure::Message(format!("the bound of exact for kernel {kernel:?}, region {region} is wrong: {what}"))
}
