//! The measurement of `lowtide bench minreg`.

use indicatif::ParallelProgressIterator;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::region::Region;
use lowtide_cp::Solver;
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::{Failure, progress};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::args::MinregArgs;
use super::document::{BudgetInfo, Document};
use super::region::{Distinct, measure_region};
use super::row::Row;
use super::two_phases::Part;
use super::{constraints, families};

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
        let regions = distinct_regions(args, &targets, &mut document)?;
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

/// Read the distinct graphs of the input. The document counts the other regions, and gets the results of
/// whole kernels.
fn distinct_regions<'a>(
    args: &MinregArgs,
    targets: &'a Targets,
    document: &mut Document,
) -> Result<Vec<Distinct<'a>>, Failure> {
    let mut seen = FxHashSet::default();
    let mut regions = Vec::new();
    for_each_kernel(
        &args.input(),
        |mut kernel| {
            let target = targets.of(&kernel)?;
            let part = (!args.no_tables).then(|| Part::new(&kernel, target)).transpose()?;
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
            Ok((regions, part))
        },
        |(found, part)| {
            part.into_iter().for_each(|part| document.two_phases.add(part));
            for region in found {
                match seen.insert(region.graph) {
                    true => regions.push(region),
                    false => document.repeated += 1,
                }
            }
            Ok(())
        },
    )?;
    match regions.is_empty() {
        true => Err(Failure::Nothing(
            "no region has a size in the range of --min-size and --max-size".to_string(),
        )),
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
