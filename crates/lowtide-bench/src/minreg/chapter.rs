//! The chapter on paper 1: Tables I to V, and curves like its Figure 6.

use std::collections::BTreeMap;

use lowtide::algorithm::Algorithm;
use lowtide_tool::table::grouped;

use super::document::Document;
use super::row::{ALGORITHMS, Row};
use super::two_phases::{self, Example};
use crate::book::papers::chen;
use crate::book::{Chapter, Chart, Part, Table, listed, mean, percent, with_share};
use crate::statistics::mean_of;

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let mut parts = Vec::new();
    if document.regions > 0 {
        parts.extend([graphs(document).into(), algorithms(document).into(), sizes_of(document).into()]);
        parts.extend([curves(document).into(), sizes(document).into(), gaps(document).into()]);
        parts.push(proofs(document).into());
        parts.extend([two_phases(document).into(), cycles(document).into(), all_sizes(document).into()]);
        parts.extend(example(document).map(Part::from));
    }
    if document.families.is_some() {
        parts.push(families(document));
    }
    let mut facts = vec![("budget of `exact`", document.budget.in_words())];
    if document.regions > 0 {
        facts.insert(0, ("input", format!("{} distinct graphs", grouped(document.regions))));
        facts.insert(1, ("targets", listed(&document.targets)));
    }
    Chapter { id: "minreg", title: "Fewest registers", paper: chen::PAPER, command, facts, parts }
}

fn graphs(document: &Document) -> Table {
    let mut table = Table::new("The graphs").name("").paper("paper").ours("here");
    let sizes = || document.each.iter().map(|row| row.size as u64);
    let edges: u64 = document.each.iter().map(|row| row.edges as u64).sum();
    let mut row = |name, paper, ours| table.side_by_side(name, paper, ours);
    row("graphs", grouped(chen::GRAPHS), grouped(document.regions));
    row("optimum proven", grouped(chen::GRAPHS), with_share(document.proved, document.regions));
    row("mean size", chen::MEAN_SIZE.to_string(), mean(document.instructions, document.regions));
    let density = edges as f64 / document.instructions.max(1) as f64;
    row("edges for each instruction", chen::DENSITY.to_string(), format!("{density:.2}"));
    row("smallest", chen::SMALLEST.to_string(), grouped(sizes().min().unwrap_or(0)));
    row("largest", chen::LARGEST.to_string(), grouped(sizes().max().unwrap_or(0)));
    table.note(
        "The paper leaves out graphs that its solver does not prove. Here this table counts them, and the next \
         table leaves them out.",
    )
}

fn algorithms(document: &Document) -> Table {
    let mut table = Table::new("Peaks against the proven optimum (Tables I to V)")
        .name("algorithm")
        .name("table")
        .paper("optimal, paper")
        .ours("optimal")
        .paper("≥ 1.5 times, paper")
        .ours("≥ 1.5 times")
        .paper("mean ratio, paper")
        .ours("mean ratio")
        .machine("seconds");
    for algorithm in ALGORITHMS {
        let paper = chen::table_of(algorithm);
        let Some(totals) = document.algorithms.get(algorithm.name()) else { continue };
        let theirs = |figure: fn(&chen::Heuristic) -> String| paper.map_or_else(String::new, figure);
        table.row([
            algorithm.name().to_string(),
            theirs(|paper| paper.table.to_string()),
            theirs(|paper| percent(paper.optimal, chen::GRAPHS)),
            percent(totals.optimal, document.proved),
            theirs(|paper| percent(paper.outliers, chen::GRAPHS)),
            percent(totals.outliers, document.proved),
            theirs(|paper| format!("{:.3}", paper.mean_ratio)),
            format!("{:.4}", totals.mean_ratio),
            format!("{:.3}", totals.seconds),
        ]);
    }
    table.note(
        "Shares of the graphs whose optimum is proven. source is the order of the file, and production is the order \
         of its compiler. few-registers and exact are Lowtide's own. su-cluster-whole is Algorithm 3 as its listing says, \
         where a cluster grows with the operands of all its instructions. The policies are Algorithms 4 and 5, which leave \
         regions with a peak of at most 64 alone.",
    )
}

fn sizes_of(document: &Document) -> Table {
    let mut table = Table::new("Sizes and edges of optimal graphs and of outliers (Tables I and IV)")
        .name("algorithm")
        .paper("optimal, paper")
        .ours("optimal")
        .paper("edges, paper")
        .ours("edges")
        .paper("≥ 1.5 times, paper")
        .ours("≥ 1.5 times")
        .paper("their edges, paper")
        .ours("their edges");
    for algorithm in ALGORITHMS {
        let paper = chen::table_of(algorithm);
        let Some(totals) = document.algorithms.get(algorithm.name()) else { continue };
        let ours = |size: f64, count: u64| if count > 0 { format!("{size:.1}") } else { String::new() };
        let edges = |edges: f64, count: u64| if count > 0 { format!("{edges:.2}") } else { String::new() };
        let theirs = |of: fn(&chen::Heuristic) -> Option<f64>| {
            paper.and_then(of).map_or_else(String::new, |figure| figure.to_string())
        };
        table.row([
            algorithm.name().to_string(),
            theirs(|paper| Some(paper.sizes?[0])),
            ours(totals.optimal_size, totals.optimal),
            theirs(|paper| Some(paper.edges?[0])),
            edges(totals.optimal_density, totals.optimal),
            theirs(|paper| Some(paper.sizes?[1])),
            ours(totals.outlier_size, totals.outliers),
            theirs(|paper| Some(paper.edges?[1])),
            edges(totals.outlier_density, totals.outliers),
        ]);
    }
    table.note("Mean number of instructions, and edges for each instruction.")
}

fn two_phases(document: &Document) -> Table {
    let phases = &document.two_phases;
    let mut table = Table::new("Two phases: min-register scheduling, then latency hiding (Section V)")
        .name("algorithm")
        .paper("spilling, paper")
        .ours("spilling kernels")
        .paper("blocks replaced, paper")
        .ours("regions replaced")
        .ours("length by loops")
        .ours("cycles by loops")
        .ours("mean gain");
    let replaced = ["", "policy-sethi-ullman", "policy-cluster", ""];
    for (position, algorithm) in two_phases::ALGORITHMS.into_iter().enumerate() {
        let name = algorithm.name();
        let of = |figures: &BTreeMap<&'static str, u64>, name: &str| {
            figures.get(name).copied().map_or_else(String::new, grouped)
        };
        let paper = chen::TWO_PHASES.get(position);
        table.row([
            name.to_string(),
            paper.map_or_else(String::new, |paper| format!("{} of {}", paper.0, grouped(chen::SHADERS))),
            format!("{} of {}", of(&phases.spilling, name), grouped(phases.kernels)),
            paper.map_or_else(String::new, |paper| grouped(paper.1)),
            of(&phases.replaced, replaced[position]),
            of(&phases.length, name),
            of(&phases.cycles, name),
            phases.gains.get(name).map_or_else(String::new, |gains| format!("{:+.4}", mean_of(gains))),
        ]);
    }
    table.note(
        "The first line is the baseline: latency hiding in the source order. Regions are scheduled for length within \
         the registers of the target. Length and cycles count a region ten times for each loop around it; cycles \
         contain the price of spills. The gain is the logarithm of the cycles of the baseline over those of the \
         algorithm, as in Figure 6. The last line is Lowtide's own first phase, few-registers.",
    )
}

/// Draw Figure 6.
fn cycles(document: &Document) -> Chart {
    let gains = document.two_phases.gains.iter();
    let series = gains.map(|(name, gains)| (name.to_string(), gains.clone())).collect();
    Chart::sorted(
        "Gain in cycles over latency hiding alone, each algorithm sorted (Figure 6)",
        ["share of the kernels, %", "ln(cycles of the baseline / cycles)"],
        series,
    )
    .note("Above 0, min-register scheduling before latency hiding saves cycles. Kernels that no algorithm changes are left out.")
}

/// Draw Figure 1.
fn all_sizes(document: &Document) -> Chart {
    let series = [("regions".to_string(), document.two_phases.sizes.clone())];
    Chart::sizes("Sizes of all regions, from 1 (Figure 1)", "instructions", &series)
}

/// Draw Figures 4 and 5.
fn example(document: &Document) -> Option<Chart> {
    let example = document.two_phases.example.as_ref()?;
    let series = [
        ("source", &example.source),
        ("policy-cluster", &example.few),
        ("latency-hiding-cluster", &example.hidden),
    ];
    let points = |series: &[u32]| {
        let numbered = series.iter().enumerate();
        numbered.map(|(position, pressure)| (position as f64 + 1.0, f64::from(*pressure))).collect()
    };
    let curves = series.iter().map(|(name, series)| (name.to_string(), points(series))).collect();
    let [source, few, hidden] = series.map(|(_, series)| Example::peak(series));
    let Example { kernel, region, n, lengths, .. } = example;
    Some(
        Chart::points("Pressure along the schedules of a region (Figures 4 and 5)", ["instruction", "registers"], curves)
            .note(&format!(
                "Kernel {kernel}, region {region} of {n} instructions: the highest peak that Algorithm 5 lowers. Its peak \
                 is {source} in the source order, {few} after Algorithm 5, and {hidden} after latency hiding. The length \
                 goes from {} to {} cycles. In the paper's example the peak is 118, 94 and 102.",
                lengths[0], lengths[1]
            )),
    )
}

/// Draw the graphs whose optimum is known, as in the tables.
fn curves(document: &Document) -> Chart {
    let proved = || document.each.iter().filter(|row| row.is_proved());
    let series = ALGORITHMS.iter().map(|algorithm| {
        let peaks = proved().filter_map(|row| Some(row.ratio(row.of(*algorithm)?.0)));
        (algorithm.name().to_string(), peaks.collect())
    });
    Chart::sorted(
        "Peak against the optimum, each algorithm sorted",
        ["share of the graphs, %", "peak / optimum"],
        series.collect(),
    )
    .note("Registers of single graphs. Many curves lie on each other at 1.")
}

fn sizes(document: &Document) -> Chart {
    let of = |is_wanted: fn(&Row) -> bool| {
        document.each.iter().filter(|row| is_wanted(row)).map(|row| row.size).collect()
    };
    let series =
        [("proven".to_string(), of(Row::is_proved)), ("open".to_string(), of(|row| !row.is_proved()))];
    Chart::sizes("Sizes of the distinct graphs that are measured", "instructions", &series)
}

fn gaps(document: &Document) -> Chart {
    let series = [Algorithm::PRODUCTION, Algorithm::SU_CLUSTER, Algorithm::FEW_REGISTERS, Algorithm::EXACT]
        .map(|algorithm| {
            let pair = |row: &Row| Some((row.of(algorithm)?.0.into(), row.bound.into()));
            (algorithm.name().to_string(), document.each.iter().filter_map(pair).collect())
        });
    Chart::gaps("How far peaks are above the lower bound, on all graphs", &series)
}

fn proofs(document: &Document) -> Table {
    let mut table = Table::new("Proofs of the optimum").name("").ours("graphs").ours("share");
    let mut row = |name: &str, count: u64| {
        table.row([name.to_string(), grouped(count), percent(count, document.regions)]);
    };
    row("a cut", document.proofs.by_cut);
    row("a complete search", document.proofs.by_search);
    row("open", document.timeouts);
    table
}

fn families(document: &Document) -> Part {
    let mut table = Table::new("Graphs that are known to be hard")
        .name("family")
        .ours("size")
        .ours("source")
        .ours("few-registers")
        .ours("exact")
        .ours("bound")
        .name("proven")
        .machine("seconds");
    for family in document.families.iter().flatten() {
        table.row([
            family.name.clone(),
            grouped(family.n as u64),
            family.source.to_string(),
            family.few_registers.to_string(),
            family.best.to_string(),
            family.bound.to_string(),
            match (family.proved, family.by_search) {
                (false, _) => "no",
                (true, false) => "by a cut",
                (true, true) => "by search",
            }
            .to_string(),
            format!("{:.3}", family.seconds),
        ]);
    }
    table
        .note(&format!(
            "Peaks of classical graphs, which are not in the paper. exact has {} times its budget of steps here.",
            super::families::MORE_STEPS
        ))
        .into()
}
