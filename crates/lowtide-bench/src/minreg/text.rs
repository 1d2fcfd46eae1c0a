//! The tables of `lowtide bench minreg` for the terminal.

use std::collections::BTreeMap;

use lowtide::algorithm::Algorithm;
use lowtide_tool::names::{readable, shortened};
use lowtide_tool::table::{grouped, shorten, table};

use super::constraints;
use super::document::{Document, Family, Totals};
use super::proofs::{MILLISECONDS, Open, Proofs, SizeRange};
use super::row::ALGORITHMS;
use super::two_phases::{self, TwoPhases};
use crate::book::papers::chen::table_of;
use crate::statistics::mean_of;

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let families = document.families.as_deref().unwrap_or_default();
    let proved = families.iter().filter(|family| family.proved).count() as u64;
    vec![
        document.budget.in_words(),
        format!(
            "proven: {} of {} regions",
            grouped(document.proved + proved),
            grouped(document.regions + families.len() as u64)
        ),
    ]
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document) -> String {
    let mut parts = Vec::new();
    if document.regions > 0 {
        parts.push(algorithms_text(document));
        parts.push(proofs_text(document));
        parts.push(two_phases_text(&document.two_phases));
    }
    if let Some(families) = &document.families {
        parts.push(format!(
            "Graphs that are known to be hard, with {} for exact:\n{}",
            document.budget.in_words(),
            families_table(families)
        ));
    }
    if let Some(constraints) = &document.constraints {
        parts.push(constraints::text(constraints, &document.budget.in_words()));
    }
    parts.join("\n\n")
}

fn algorithms_text(document: &Document) -> String {
    let most = document.most.map_or_else(|| "more".to_string(), |size| size.to_string());
    let mut text = format!(
        "{} distinct graphs of {} to {most} instructions ({} instructions; {} regions were repetitions)\n\
         the optimum is proven for {}, with {} for exact\n\n\
         Against the optimum, where it is proven:\n{}\n\n\
         Against the lower bound, on all regions (upper limits, since the optimum may be higher):\n{}",
        grouped(document.regions),
        document.least,
        grouped(document.instructions),
        grouped(document.repeated),
        grouped(document.proved),
        document.budget.in_words(),
        totals_table(&document.algorithms, document.proved, 0),
        totals_table(&document.against_bound, document.regions, document.instructions),
    );
    if let Some(exponent) = document.few_registers_exponent {
        text += &format!(
            "\n\nThe time of few-registers grows as n^{exponent:.2} on regions of 100 instructions and more."
        );
    }
    text
}

fn proofs_text(document: &Document) -> String {
    let mut text = format!(
        "Regions that exact proves, within each time per instruction and within its whole budget:\n{}\n\n\
         The last column has the median time per instruction until the proof.",
        sizes_table(&document.sizes, &document.proofs)
    );
    if !document.open.is_empty() {
        text += &format!("\n\nRegions that exact leaves open:\n{}", open_table(&document.open));
    }
    text
}

/// Return the results of the two phases.
fn two_phases_text(phases: &TwoPhases) -> String {
    let mut lines = table(1, &["", "spilling", "replaced", "length", "cycles", "mean gain"]);
    let first_phases = ["", Algorithm::POLICY_SETHI_ULLMAN.name(), Algorithm::POLICY_CLUSTER.name(), ""];
    for (algorithm, first) in two_phases::ALGORITHMS.into_iter().zip(first_phases) {
        let name = algorithm.name();
        lines.add_row([
            name.to_string(),
            grouped(phases.spilling.get(name).copied().unwrap_or(0)),
            phases.replaced.get(first).copied().map_or_else(String::new, grouped),
            grouped(phases.length.get(name).copied().unwrap_or(0)),
            grouped(phases.cycles.get(name).copied().unwrap_or(0)),
            phases.gains.get(name).map_or_else(String::new, |gains| format!("{:+.4}", mean_of(gains))),
        ]);
    }
    format!(
        "Two phases on {} kernels with {} regions (paper 1, Section V; spilling: 873, 823 and 815 of 3,383 shaders):\n{lines}\n\n\
         spilling: kernels with spills. replaced: regions whose source order the first phase replaces. Length and\n\
         cycles (with the price of spills) count a region ten times for each loop around it. mean gain: of\n\
         ln(cycles of the baseline / cycles), over the {} kernels that any first phase changes.",
        grouped(phases.kernels),
        grouped(phases.regions),
        grouped(phases.gains.values().map(Vec::len).max().unwrap_or(0) as u64),
    )
}

/// Return a table like those of paper 1. Speeds are left out if `instructions` is 0.
fn totals_table(algorithms: &BTreeMap<&'static str, Totals>, regions: u64, instructions: u64) -> String {
    let header = [
        "algorithm",
        "optimal",
        "%",
        "size",
        "edges",
        ">=1.5x",
        "%",
        "size",
        "edges",
        "mean ratio",
        "paper 1",
        "kinstr/s",
    ];
    let mut rows = table(1, &header);
    for algorithm in ALGORITHMS {
        let paper = table_of(algorithm);
        let Some(totals) = algorithms.get(algorithm.name()) else { continue };
        let share = |count: u64| format!("{:.1}", 100.0 * count as f64 / regions.max(1) as f64);
        rows.add_row([
            algorithm.name().to_string(),
            grouped(totals.optimal),
            share(totals.optimal),
            format!("{:.0}", totals.optimal_size),
            format!("{:.2}", totals.optimal_density),
            grouped(totals.outliers),
            share(totals.outliers),
            format!("{:.0}", totals.outlier_size),
            format!("{:.2}", totals.outlier_density),
            format!("{:.4}", totals.mean_ratio),
            paper.map_or_else(String::new, |paper| format!("{:.3} ({})", paper.mean_ratio, paper.table)),
            match instructions {
                0 => String::new(),
                _ => format!("{:.0}", instructions as f64 / totals.seconds / 1e3),
            },
        ]);
    }
    rows.to_string()
}

/// Return the table of all ranges, and of all regions together.
fn sizes_table(ranges: &[SizeRange], all: &Proofs) -> String {
    let within = MILLISECONDS.map(|milliseconds| format!("{milliseconds} ms"));
    let mut header = vec!["size", "regions"];
    header.extend(within.iter().map(String::as_str));
    header.extend(["proven", "timeouts", "by cut", "by search", "median µs"]);
    let mut lines = table(1, &header);
    for range in ranges {
        let sizes = match range.most {
            Some(most) => format!("{}-{most}", range.least),
            None => format!("over {}", range.least - 1),
        };
        lines.add_row(cells(&range.proofs, sizes));
    }
    lines.add_row(cells(all, "all".to_string()));
    lines.to_string()
}

fn cells(proofs: &Proofs, sizes: String) -> Vec<String> {
    let mut cells = vec![sizes, grouped(proofs.regions)];
    cells.extend(proofs.proved_within.iter().map(|within| grouped(within.proved)));
    cells.extend([proofs.proved, proofs.timeouts, proofs.by_cut, proofs.by_search].map(grouped));
    cells.push(proofs.median_us_per_instruction.map_or_else(String::new, |time| format!("{time:.2}")));
    cells
}

fn open_table(open: &[Open]) -> String {
    let mut lines = table(2, &["kernel", "region", "size", "bound", "best"]);
    for Open { kernel, region, size, bound, best } in open {
        lines.add_row([
            shortened(&readable(kernel), 40),
            shorten(region, 20),
            grouped(*size as u64),
            bound.to_string(),
            best.to_string(),
        ]);
    }
    lines.to_string()
}

fn families_table(families: &[Family]) -> String {
    let mut lines =
        table(1, &["family", "size", "source", "few-registers", "bound", "best", "proven", "seconds"]);
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
            family.few_registers.to_string(),
            family.bound.to_string(),
            family.best.to_string(),
            proven.to_string(),
            format!("{:.3}", family.seconds),
        ]);
    }
    lines.to_string()
}
