//! `lowtide bench minreg --families`: classical graphs that are hard for exact methods.

use lowtide::generate::families;
use lowtide::pipeline::Algorithm;
use lowtide::problem::{Goal, Problem};
use rayon::prelude::*;
use serde::Serialize;

use super::measure::{Proof, Row};
use crate::args::MinregArgs;
use crate::failure::Failure;
use crate::input::load_target;
use crate::report::{grouped, table};

/// What became of a graph.
#[derive(Serialize)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) n: usize,
    /// Peaks of the source order and of `default`.
    pub(super) source: u32,
    pub(super) default: u32,
    pub(super) bound: u32,
    pub(super) best: u32,
    pub(super) proved: bool,
    /// Whether it took a search to prove it, or a cut was enough.
    pub(super) by_search: bool,
    /// Of the exact search.
    pub(super) seconds: f64,
}

pub(super) fn measure(args: &MinregArgs) -> Result<Vec<Family>, Failure> {
    let target = load_target(args.target.target.as_deref().unwrap_or("generic"))?;
    let regions = families::hard();
    (regions.par_iter())
        .map(|region| {
            let problem = Problem::new(region, &target, Goal::MinReg)
                .map_err(|error| Failure::Target { kernel: region.name().to_string(), error })?;
            let row = Row::measure(&problem, "families", args.budget_of(region.len()))?;
            let peak = |algorithm| row.of(algorithm).map_or(0, |(peak, _)| peak);
            Ok(Family {
                name: region.name().to_string(),
                n: region.len(),
                source: peak(Algorithm::Source),
                default: peak(Algorithm::Default),
                bound: row.bound,
                best: row.best(),
                proved: row.is_proved(),
                by_search: row.proof == Proof::Search,
                seconds: row.seconds(),
            })
        })
        .collect()
}

pub(super) fn as_table(families: &[Family]) -> String {
    let mut lines = table(1, &["family", "size", "source", "default", "bound", "best", "proven", "seconds"]);
    for family in families {
        let proven = match (family.proved, family.by_search) {
            (false, _) => "no",
            (true, false) => "by cut",
            (true, true) => "by search",
        };
        lines.add_row([
            family.name.clone(),
            grouped(family.n as u64),
            family.source.to_string(),
            family.default.to_string(),
            family.bound.to_string(),
            family.best.to_string(),
            proven.to_string(),
            format!("{:.3}", family.seconds),
        ]);
    }
    lines.to_string()
}
