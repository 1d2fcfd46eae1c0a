//! The tables of `lowtide bench passes` for the terminal.

use lowtide_tool::table::{grouped, shorten, table};

use super::document::{DPMPP, Document, EXACT, Figure2, MIO, NAMES, RDS};
use crate::book::papers::heirich::BRANCHING;

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let costs =
        NAMES.map(|name| format!("{name} {}", grouped(document.cost.get(name).copied().unwrap_or(0))));
    vec![
        format!("target {}, {}, cost: {}", document.target, document.budget, costs.join(", ")),
        format!("proven: {} of {} blocks", grouped(document.proved), grouped(document.shaders)),
    ]
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document) -> String {
    let mut rows =
        table(1, &["shader", "size", "dpmpp", "mio", "rds", "exact", "bound", "passes", "b", "width", "ms"]);
    for row in &document.blocks {
        let mark = if row.proved { String::new() } else { format!("≥{}", row.bound) };
        rows.add_row([
            shorten(&row.shader, 20),
            row.n.to_string(),
            row.cost[DPMPP].to_string(),
            row.cost[MIO].to_string(),
            row.cost[RDS].to_string(),
            row.cost[EXACT].to_string(),
            mark,
            row.passes[EXACT].to_string(),
            format!("{:.3}", row.branching),
            row.widest.to_string(),
            format!("{:.0}", row.seconds[EXACT] * 1e3),
        ]);
    }
    let mut sums = table(1, &["", "cost", "passes", "proven: cost", "ratio", "optimal", "seconds"]);
    for name in NAMES {
        let proved = document.proved_cost.get(name).copied().unwrap_or(0);
        let least = document.proved_cost.get("exact").copied().unwrap_or(0);
        sums.add_row([
            name.to_string(),
            grouped(document.cost.get(name).copied().unwrap_or(0)),
            grouped(document.passes.get(name).copied().unwrap_or(0)),
            grouped(proved),
            format!("{:.4}", proved as f64 / least.max(1) as f64),
            document.optimal.get(name).copied().unwrap_or(0).to_string(),
            format!("{:.3}", document.seconds_of.get(name).copied().unwrap_or(0.0)),
        ]);
    }
    let growth = |growth: Option<f64>| growth.map_or("-".to_string(), |growth| format!("n^{growth:.3}"));
    let mut text = format!(
        "{rows}\n\nbound: lower bound, where the optimum is not proven; passes and ms: of exact;\nb: mean branching factor of dpmpp; \
         width: widest stage of dpmpp\n\n{sums}\n\n\
         {} distinct blocks, {} operations for {}\noptimum proven for {}; with fewer than 100 operations: {} of {}\n\
         dpmpp: mean branching factor {:.4}, with loads as operations {:.4} (the paper: {BRANCHING});\ntime grows with {} (the paper: n^{BRANCHING})\n\
         dpmpp finds the optimum of {} of the {} blocks whose optimum is proven\n\n{}",
        document.shaders,
        grouped(document.operations),
        document.target,
        document.proved,
        document.under_100[1],
        document.under_100[0],
        document.branching,
        document.load_branching,
        growth(document.growth),
        document.exact_agrees,
        document.proved,
        document.figure_2.as_ref().map_or_else(String::new, plot),
    );
    if !document.generated.is_empty() {
        let mut rows = table(0, &["generated operations", "cost", "passes", "b", "seconds"]);
        for row in &document.generated {
            rows.add_row([
                grouped(row.n as u64),
                grouped(row.cost),
                row.passes.to_string(),
                format!("{:.4}", row.branching),
                format!("{:.4}", row.seconds),
            ]);
        }
        text += &format!(
            "\n\n{rows}\n\ntime on generated shaders grows with {}",
            growth(document.generated_growth)
        );
    }
    text
}

/// Draw the width of the search at every stage (paper 5, Figure 2): stages to the right, the width upwards by
/// powers of two.
fn plot(figure: &Figure2) -> String {
    const COLUMNS: usize = 80;
    let share = figure.widths.len().div_ceil(COLUMNS).max(1);
    let columns: Vec<u32> =
        figure.widths.chunks(share).map(|part| part.iter().copied().max().unwrap_or(0)).collect();
    let widest = figure.widths.iter().copied().max().unwrap_or(0);
    let height = 32 - widest.leading_zeros();
    let mut lines = Vec::new();
    for level in (0..height).rev() {
        let least = 1u32 << level;
        let line: String = columns.iter().map(|width| if *width >= least { '█' } else { ' ' }).collect();
        lines.push(format!("{least:>5} │{}", line.trim_end()));
    }
    format!(
        "width of the search of {} ({} operations with loads),\nfrom the last operation to the first; the axis of widths is logarithmic:\n{}",
        shorten(&figure.shader, 40),
        figure.n,
        lines.join("\n")
    )
}
