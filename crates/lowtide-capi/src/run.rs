//! Schedules a kernel, and lets nothing out that the independent checker refuses.

use lowtide::check::check;
use lowtide::outcome::Outcome;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::region::{Kernel, Region};
use lowtide::solved::Solved;
use lowtide::target::Target;

use crate::failure::Failure;

/// The result for a kernel, in the flat form in which C reads it.
#[derive(Debug)]
pub(crate) struct KernelResult {
    pub(crate) occupancy: u32,
    pub(crate) occupancy_bound: u32,
    pub(crate) is_filtered: bool,
    pub(crate) regions: Vec<RegionResult>,
}

/// The result for a region.
#[derive(Debug)]
pub(crate) struct RegionResult {
    pub(crate) order: Vec<u32>,
    pub(crate) cycles: Vec<u32>,
    pub(crate) length: u32,
    pub(crate) length_bound: u32,
    pub(crate) occupancy: u32,
    pub(crate) spilled: u32,
    pub(crate) peaks: Vec<u32>,
    pub(crate) peaks_at: Vec<u32>,
    pub(crate) peak_bounds: Vec<u32>,
    pub(crate) is_optimal: bool,
    pub(crate) is_proven_waves: bool,
}

pub(crate) fn run(
    kernel: &Kernel,
    target: &Target,
    options: Options,
    solved: &Solved,
) -> Result<KernelResult, Failure> {
    let outcome = schedule_kernel(kernel, target, options, solved)?;
    let mut regions = Vec::with_capacity(outcome.regions.len());
    for (region, outcome) in kernel.regions.iter().zip(outcome.regions) {
        verify(region, target, &outcome)?;
        regions.push(RegionResult::new(outcome));
    }
    Ok(KernelResult {
        occupancy: outcome.occupancy,
        occupancy_bound: outcome.occupancy_bound,
        is_filtered: outcome.is_filtered,
        regions,
    })
}

/// The caller will run the code in this order, so that a mistake of ours must not get out. This takes less than a
/// hundredth of the time of the fastest algorithm.
fn verify(region: &Region, target: &Target, outcome: &Outcome) -> Result<(), Failure> {
    let place = |what: &str| Failure::internal(format!("internal error: region {:?}: {what}", region.name()));
    let report = check(region, target, &outcome.schedule).map_err(|violations| {
        let first = violations.first().map(ToString::to_string);
        place(&format!("illegal schedule: {}", first.unwrap_or_default()))
    })?;
    let measure = &outcome.measure;
    let same = report.peaks == measure.peaks
        && (report.occupancy, report.spilled, report.length)
            == (measure.occupancy, measure.spilled, measure.length);
    match same {
        true => Ok(()),
        false => Err(place(&format!("the figures {measure:?} of a schedule are wrong: it has {report:?}"))),
    }
}

impl RegionResult {
    fn new(outcome: Outcome) -> Self {
        let Outcome { schedule, measure, bounds, proven_waves, optimal } = outcome;
        RegionResult {
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            cycles: schedule.cycles().to_vec(),
            length: measure.length,
            length_bound: bounds.length,
            occupancy: measure.occupancy,
            spilled: measure.spilled,
            peaks: measure.peaks.iter().map(|peak| peak.between).collect(),
            peaks_at: measure.peaks.iter().map(|peak| peak.at).collect(),
            peak_bounds: bounds.peaks,
            is_optimal: optimal,
            is_proven_waves: proven_waves,
        }
    }
}

#[cfg(test)]
mod tests {
    use lowtide::budget::Budget;
    use lowtide::generate::{Shape, region};
    use lowtide::pipeline::{Algorithm, schedule_region};
    use lowtide::problem::{Goal, Problem};
    use lowtide::schedule::Schedule;

    use super::*;
    use crate::lowtide_status;

    #[test]
    fn wrong_results_do_not_leave() {
        let region = region(Shape::UnrolledLoop, 40, 1);
        let target = Target::builtin("gfx906").unwrap();
        let problem = Problem::new(&region, &target, Goal::Occupancy).unwrap();
        let outcome = schedule_region(&problem, Algorithm::List, Budget::UNLIMITED);
        assert_eq!(verify(&region, &target, &outcome), Ok(()));

        let mut order = outcome.schedule.order().to_vec();
        order.reverse();
        let illegal = Schedule::from_parts(order, outcome.schedule.cycles().to_vec());
        let failure = verify(&region, &target, &Outcome { schedule: illegal, ..outcome.clone() });
        assert_eq!(failure.unwrap_err().status, lowtide_status::LOWTIDE_INTERNAL);

        let mut boasting = outcome;
        boasting.measure.length -= 1;
        let failure = verify(&region, &target, &boasting).unwrap_err();
        assert_eq!(failure.status, lowtide_status::LOWTIDE_INTERNAL);
        assert!(failure.message.contains("figures"), "{}", failure.message);
    }
}
