//! `lowtide bench minreg --families`: classical graphs that are hard for exact methods.

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::generate::families;
use lowtide::problem::{Goal, Problem};
use lowtide_tool::Failure;
use lowtide_tool::input::load_target;
use rayon::prelude::*;

use super::args::MinregArgs;
use super::document::Family;
use super::region::measure_region;
use super::row::Proof;

/// The factor of a budget of steps for hard graphs: few of them end with the steps that real code needs.
pub(super) const MORE_STEPS: u64 = 3;

/// Measure all hard graphs.
pub(super) fn measure(args: &MinregArgs) -> Result<Vec<Family>, Failure> {
    let target = load_target(args.target.target.as_deref().unwrap_or("generic"))?;
    let regions = families::hard();
    (regions.par_iter())
        .map(|region| {
            let problem =
                Problem::new(region, &target, Goal::MinReg).map_err(Failure::target(region.name()))?;
            let budget = args.budget_of(region.len());
            let budget =
                Budget { nodes: budget.nodes.map(|nodes| nodes.saturating_mul(MORE_STEPS)), ..budget };
            let row = measure_region(&problem, "families", budget)?;
            let peak = |algorithm| row.of(algorithm).map_or(0, |(peak, _)| peak);
            Ok(Family {
                name: region.name().to_string(),
                n: region.len(),
                source: peak(Algorithm::SOURCE),
                few_registers: peak(Algorithm::FEW_REGISTERS),
                bound: row.bound,
                best: row.best(),
                proved: row.is_proved(),
                by_search: row.proof == Proof::Search,
                seconds: row.seconds(),
            })
        })
        .collect()
}
