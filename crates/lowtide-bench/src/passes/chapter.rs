//! The chapter on paper 5: its branching factors and Figure 2, and costs, for which the paper has no figures.

use std::collections::BTreeMap;

use lowtide_tool::table::grouped;

use super::document::{Document, NAMES, Row};
use crate::book::papers::heirich::{self as paper, BRANCHING, BRANCHING_RANGE, FIGURE_2, SHADERS};
use crate::book::{Chapter, Chart, Table};

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let mut parts = vec![branching(document).into(), sums(document).into(), curves(document).into()];
    parts.extend([gaps(document).into(), sizes(document).into()]);
    if let Some(figure) = &document.figure_2 {
        let points = figure.widths.iter().enumerate().map(|(stage, width)| (stage as f64, f64::from(*width)));
        let title = format!("Width of the search of dpmpp: {} (Figure 2)", figure.shader);
        let note = format!(
            "From the last operation to the first: {} operations, mean branching factor {:.5}. The paper's is a fragment shader of {} \
             operations with a factor of {:.5}, whose search widens near its end.",
            grouped(figure.n as u64),
            figure.branching,
            FIGURE_2.operations,
            FIGURE_2.branching,
        );
        parts.push(Chart::line(&title, ["stage", "states"], "states", points.collect()).note(&note).into());
    }
    if !document.generated.is_empty() {
        parts.push(generated(document).into());
    }
    Chapter {
        id: "passes",
        title: "Shaders in several passes",
        paper: paper::PAPER,
        command,
        facts: vec![
            (
                "input",
                format!(
                    "{} distinct blocks, {} operations",
                    grouped(document.shaders),
                    grouped(document.operations)
                ),
            ),
            ("targets", document.target.clone()),
            ("budget of `exact` and `rds`", document.budget.clone()),
        ],
        parts,
    }
}

fn branching(document: &Document) -> Table {
    let mut table = Table::new("Branching factor of dynamic programming (Section 4)")
        .name("shaders")
        .paper("count, paper")
        .paper("operations, paper")
        .paper("branching, paper")
        .ours("count")
        .ours("operations")
        .ours("branching");
    for group in &SHADERS {
        table.row([
            group.name.to_string(),
            group.count.to_string(),
            group.operations.to_string(),
            format!("{:.5}", group.branching),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    let ranges = [
        ("blocks of fewer than 100 operations", 0, 99),
        ("blocks of 100 operations and more", 100, usize::MAX),
    ];
    for (name, least, most) in ranges {
        let own: Vec<_> = document.blocks.iter().filter(|row| (least..=most).contains(&row.n)).collect();
        if own.is_empty() {
            continue;
        }
        let count = own.len() as f64;
        table.row([
            name.to_string(),
            String::new(),
            String::new(),
            String::new(),
            grouped(own.len() as u64),
            format!("{:.0}", own.iter().map(|row| row.n as f64).sum::<f64>() / count),
            format!("{:.5}", own.iter().map(|row| row.branching).sum::<f64>() / count),
        ]);
    }
    let count: u64 = SHADERS.iter().map(|group| group.count).sum();
    let [least, most] = BRANCHING_RANGE;
    table.row([
        "all".to_string(),
        count.to_string(),
        String::new(),
        format!("{BRANCHING:.5} ({least} to {most})"),
        grouped(document.shaders),
        format!("{:.0}", document.operations as f64 / document.shaders.max(1) as f64),
        format!("{:.5}", document.branching),
    ]);
    table.note("Operations are means. The paper uses the factor as the exponent of its running time.")
}

fn sums(document: &Document) -> Table {
    let mut table = Table::new("Cost and passes, summed over all blocks")
        .name("algorithm")
        .ours("cost")
        .ours("passes")
        .ours("cost where the optimum is proven")
        .ours("ratio to it")
        .ours("optimal")
        .machine("seconds");
    let of = |sums: &BTreeMap<&'static str, u64>, name: &str| sums.get(name).copied().unwrap_or(0);
    for name in NAMES {
        let proved = of(&document.proved_cost, name);
        table.row([
            name.to_string(),
            grouped(of(&document.cost, name)),
            grouped(of(&document.passes, name)),
            grouped(proved),
            format!("{:.4}", proved as f64 / of(&document.proved_cost, "exact").max(1) as f64),
            grouped(of(&document.optimal, name)),
            format!("{:.3}", document.seconds_of.get(name).copied().unwrap_or(0.0)),
        ]);
    }
    let note = format!(
        "The optimum is proven for {} of {} blocks. The paper reports no costs. It calls its algorithm, dpmpp, \
         globally optimal. But dpmpp tries only some of the orders; the last column counts how often it finds the \
         proven optimum here. mio and rds are the paper's baselines.",
        grouped(document.proved),
        grouped(document.shaders)
    );
    table.note(&note)
}

fn curves(document: &Document) -> Chart {
    let proved = || document.blocks.iter().filter(|row| row.proved);
    let series = NAMES.iter().enumerate().map(|(position, name)| {
        let ratio = proved().map(|row| row.cost[position] as f64 / row.cost[3].max(1) as f64);
        ((*name).to_string(), ratio.collect())
    });
    Chart::sorted(
        "Cost against the optimum, each algorithm sorted",
        ["share of the blocks, %", "cost / optimum"],
        series.collect(),
    )
}

fn gaps(document: &Document) -> Chart {
    let series = NAMES.iter().enumerate().map(|(position, name)| {
        ((*name).to_string(), document.blocks.iter().map(|row| (row.cost[position], row.bound)).collect())
    });
    Chart::gaps("How far costs are above the lower bound, on all blocks", &series.collect::<Vec<_>>())
}

fn sizes(document: &Document) -> Chart {
    let (proven, open): (Vec<_>, Vec<_>) = document.blocks.iter().partition(|row| row.proved);
    let of = |rows: Vec<&Row>| rows.iter().map(|row| row.n).collect();
    let series = [("proven".to_string(), of(proven)), ("open".to_string(), of(open))];
    Chart::sizes("Sizes of the blocks", "operations", &series)
}

fn generated(document: &Document) -> Table {
    let mut table = Table::new("Growth on generated shaders")
        .name("operations")
        .ours("cost")
        .ours("passes")
        .ours("branching")
        .machine("seconds");
    for row in &document.generated {
        table.row([
            grouped(row.n as u64),
            grouped(row.cost),
            grouped(row.passes as u64),
            format!("{:.4}", row.branching),
            format!("{:.4}", row.seconds),
        ]);
    }
    table
}
