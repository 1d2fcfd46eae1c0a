//! Results as a Parquet file: one row for each region.

use std::io::{Error, IsTerminal};
use std::path::Path;

use lowtide_io::{BoundReason, ClassRow, PeakBound, ResultFileWriter, ResultRow};
use lowtide_tool::Failure;

use super::work::{KernelResult, RegionResult};

/// Start a file of results. Without a name, they go to the standard output.
pub(super) fn create(path: Option<&Path>) -> Result<ResultFileWriter, Failure> {
    let path = path.unwrap_or(Path::new("-"));
    if path == Path::new("-") && std::io::stdout().is_terminal() {
        return Err(Failure::Message(
            "Parquet is a binary format: write it to a file with -o FILE, or into a pipe".to_string(),
        ));
    }
    let fail = |error| Failure::Write { file: path.display().to_string(), error };
    ResultFileWriter::create(path).map_err(fail)
}

/// Add the regions of a kernel.
pub(super) fn write(writer: &mut ResultFileWriter, kernel: &KernelResult) -> Result<(), Error> {
    let before = kernel.before();
    let latencies = kernel.latencies.to_string();
    for (region, [peak_before, length_before]) in kernel.regions.iter().zip(&before.regions) {
        let last_steps = || region.searches.iter().filter_map(|search| search.steps.last());
        writer.region(&ResultRow {
            kernel: &kernel.name,
            readable_name: &kernel.readable_name,
            origin: &kernel.origin,
            target: &kernel.target,
            latencies: &latencies,
            baseline: kernel.baseline.name(),
            region: &region.name,
            waves: [before.occupancy, kernel.occupancy, kernel.occupancy_bound],
            peak: [*peak_before, region.primary.0, region.primary.1],
            length: [*length_before, region.length, region.length_bound],
            proven_waves: region.proven_waves,
            proven_length: region.proven_length,
            proven: region.optimal,
            filtered: kernel.filtered,
            spilled: region.in_memory,
            pairs: region.pairs,
            broken_pairs: region.broken_pairs,
            nodes: last_steps().map(|step| step.nodes).sum(),
            search_seconds: last_steps().map(|step| step.seconds).sum(),
            kernel_seconds: kernel.seconds,
            classes: region.bounds.iter().map(|bound| class_row(region, bound)).collect(),
            order: &region.order,
            cycles: &region.cycles,
        })?;
    }
    Ok(())
}

fn class_row<'a>(region: &RegionResult, bound: &'a PeakBound) -> ClassRow<'a> {
    let reason = match &bound.by {
        BoundReason::Cut(_) => "cut",
        BoundReason::Search { .. } => "search",
        BoundReason::Solver => "solver",
    };
    ClassRow {
        class: &bound.class,
        peak: region.peak[&bound.class],
        peak_at: region.peak_at[&bound.class],
        peak_bound: bound.value,
        reason: (bound.value > 0).then_some(reason),
    }
}
