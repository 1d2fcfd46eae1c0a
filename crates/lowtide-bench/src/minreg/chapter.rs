//! The chapter on paper 1: Tables I to V, and curves like its Figure 6.

use lowtide::algorithm::Algorithm;
use lowtide_tool::table::grouped;

use super::document::Document;
use super::row::{ALGORITHMS, Row};
use crate::book::papers::chen;
use crate::book::{Chapter, Chart, Part, Table, listed, mean, percent, with_share};

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let mut parts = Vec::new();
    if document.regions > 0 {
        parts.extend([graphs(document).into(), algorithms(document).into(), sizes_of(document).into()]);
        parts.extend([curves(document).into(), sizes(document).into(), gaps(document).into()]);
        parts.push(proofs(document).into());
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
         of its compiler. few-registers and exact are Lowtide's own.",
    )
}

fn sizes_of(document: &Document) -> Table {
    let mut table = Table::new("Sizes of optimal graphs and of outliers (Tables I and IV)")
        .name("algorithm")
        .paper("optimal, paper")
        .ours("optimal")
        .paper("≥ 1.5 times, paper")
        .ours("≥ 1.5 times");
    for algorithm in ALGORITHMS {
        let paper = chen::table_of(algorithm);
        let (Some(totals), Some([optimal, outliers])) =
            (document.algorithms.get(algorithm.name()), paper.and_then(|paper| paper.sizes))
        else {
            continue;
        };
        let ours = |size: f64, count: u64| if count > 0 { format!("{size:.1}") } else { String::new() };
        table.row([
            algorithm.name().to_string(),
            optimal.to_string(),
            ours(totals.optimal_size, totals.optimal),
            outliers.to_string(),
            ours(totals.outlier_size, totals.outliers),
        ]);
    }
    table.note("Mean number of instructions.")
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
    .note(
        "Drawn like the paper's Figure 6. That figure shows estimated cycles of whole shaders; this one shows \
         registers of single graphs.",
    )
}

fn sizes(document: &Document) -> Chart {
    let of = |is_wanted: fn(&Row) -> bool| {
        document.each.iter().filter(|row| is_wanted(row)).map(|row| row.size).collect()
    };
    let series =
        [("proven".to_string(), of(Row::is_proved)), ("open".to_string(), of(|row| !row.is_proved()))];
    Chart::sizes(
        "Sizes of the graphs (Figure 1 shows a collection of pixel shaders)",
        "instructions",
        &series,
    )
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
    table.note("Peaks of classical graphs, which are not in the paper.").into()
}
