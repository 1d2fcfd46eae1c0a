//! `lowtide check --bound`: the bounds that a schedule file claims, proven again.

use std::collections::BTreeMap;

use lowtide::ClassId;
use lowtide::check::bound::check_cut;
use lowtide::region::{Peak, Region};
use lowtide_io::{BoundReason, PeakBound};
use lowtide_tool::table::grouped;
use serde::Serialize;

use super::check::MOST_PROBLEMS;

/// The result of the check.
#[derive(Serialize, Default)]
pub(super) struct BoundReport {
    /// Bounds by a cut that hold.
    verified: u64,
    /// Bounds that do not hold.
    refused: u64,
    /// Classes of regions without a claimed bound.
    missing: u64,
    /// Bounds that a constraint solver has proven.
    by_solver: u64,
    /// Bounds by search, which only another search could check.
    by_search: Vec<SearchBound>,
    classes: BTreeMap<String, ClassReport>,
}

/// A bound that is not checked.
#[derive(Serialize)]
struct SearchBound {
    kernel: String,
    region: String,
    class: String,
    bound: u32,
    nodes: u64,
    rules: Vec<String>,
}

#[derive(Serialize, Default)]
struct ClassReport {
    /// Regions that have the class.
    regions: u64,
    /// Those whose checked peak equals a verified bound.
    optimal: u64,
    /// Those whose checked peak equals a bound by search.
    optimal_by_search: u64,
}

impl BoundReport {
    /// Check the bounds of a region, and return the wrong ones. `peaks` are those of its schedule, if the
    /// schedule is legal.
    pub(super) fn check(
        &mut self,
        kernel: &str,
        region: &Region,
        claims: &[PeakBound],
        peaks: Option<&[Peak]>,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for claim in claims.iter().filter(|claim| !region.classes().iter().any(|own| **own == *claim.class)) {
            self.refused += 1;
            problems.push(format!("a bound is given for {:?}, which is no class of the region", claim.class));
        }
        for (class, name) in region.class_ids().zip(region.classes()) {
            let peak = peaks.map(|peaks| peaks[class.index()].between);
            let report = self.classes.entry(name.to_string()).or_default();
            report.regions += 1;
            let Some(claim) = claims.iter().find(|claim| *claim.class == **name) else {
                self.missing += 1;
                problems.push(format!("{name}: no bound is given"));
                continue;
            };
            if let Some(fault) = fault(region, class, claim, peak) {
                self.refused += 1;
                problems.push(format!("{name}: {fault}"));
                continue;
            }
            let is_met = u64::from(peak == Some(claim.value));
            match &claim.by {
                BoundReason::Cut(_) => {
                    self.verified += 1;
                    report.optimal += is_met;
                }
                BoundReason::Solver => {
                    self.by_solver += 1;
                    report.optimal_by_search += is_met;
                }
                BoundReason::Search { nodes, rules } => {
                    report.optimal_by_search += is_met;
                    self.by_search.push(SearchBound {
                        kernel: kernel.to_string(),
                        region: region.name().to_string(),
                        class: name.to_string(),
                        bound: claim.value,
                        nodes: *nodes,
                        rules: rules.clone(),
                    });
                }
            }
        }
        problems
    }

    pub(super) fn add(&mut self, part: BoundReport) {
        self.verified += part.verified;
        self.refused += part.refused;
        self.missing += part.missing;
        self.by_solver += part.by_solver;
        self.by_search.extend(part.by_search);
        for (class, part) in part.classes {
            let report = self.classes.entry(class).or_default();
            report.regions += part.regions;
            report.optimal += part.optimal;
            report.optimal_by_search += part.optimal_by_search;
        }
    }

    /// Return whether a bound is wrong or missing.
    pub(super) fn has_failed(&self) -> bool {
        self.refused + self.missing > 0
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        for SearchBound { kernel, region, class, bound, nodes, rules } in
            self.by_search.iter().take(MOST_PROBLEMS)
        {
            text += &format!(
                "not checked: kernel {kernel:?}, region {region}: {class} at least {bound}, by a search of {} \
                 nodes ({})\n",
                grouped(*nodes),
                if rules.is_empty() { "no rules".to_string() } else { rules.join(", ") }
            );
        }
        let untold = self.by_search.len().saturating_sub(MOST_PROBLEMS);
        if untold > 0 {
            text += &format!("... and {} more by search\n", grouped(untold as u64));
        }
        text += &format!(
            "bounds: {} cuts verified; {} refused, {} missing; {} by search and {} by solver, not checked\n",
            grouped(self.verified),
            grouped(self.refused),
            grouped(self.missing),
            grouped(self.by_search.len() as u64),
            grouped(self.by_solver),
        );
        let classes: Vec<String> = (self.classes.iter())
            .map(|(class, report)| {
                let mut text =
                    format!("{class} in {} of {} regions", grouped(report.optimal), grouped(report.regions));
                if report.optimal_by_search > 0 {
                    text +=
                        &format!(" (and {} if search or solver is right)", grouped(report.optimal_by_search));
                }
                text
            })
            .collect();
        text + &format!("optimal, since the peak equals a verified bound: {}", classes.join(", "))
    }
}

/// Return the error of a bound, if it is wrong and can be checked.
fn fault(region: &Region, class: ClassId, claim: &PeakBound, peak: Option<u32>) -> Option<String> {
    if let BoundReason::Cut(moment) = claim.by
        && let Err(fault) = check_cut(region, class, moment, claim.value)
    {
        return Some(fault.to_string());
    }
    // A schedule below the bound refutes it, whatever its reason.
    let peak = peak.filter(|peak| *peak < claim.value)?;
    Some(format!("at least {} is claimed, but the schedule has {peak}", claim.value))
}
