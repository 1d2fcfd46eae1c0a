//! The tables of `lowtide bench pack` for the terminal.

use lowtide_tool::table::{grouped, table, trimmed};

use super::document::{Document, Totals};
use crate::book::percent;

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    vec![
        document.budget.clone(),
        format!(
            "cycles {} -> {}, proven: {} of {} blocks",
            grouped(document.list_cycles),
            grouped(document.best_cycles),
            grouped(document.proved),
            grouped(document.blocks)
        ),
    ]
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document) -> String {
    let made = if document.generated { "generated blocks" } else { "distinct blocks" };
    let mut parts = vec![format!(
        "{} {made} with {} operations ({} repetitions left out), each packed\nwithout splits and with them by {}; list: {}\n\n{}",
        grouped(document.blocks),
        grouped(document.operations),
        grouped(document.repeated),
        document.algorithm,
        document.list,
        table_6(document),
    )];
    parts
        .push(format!("Blocks that become shorter without splits, by size (Figure 2):\n{}", sizes(document)));
    if !document.figure_1.is_empty() {
        parts.push(format!("Cycles saved without splits, for each block (Figure 1):\n{}", series(document)));
    }
    let within = document.within.iter();
    let within = within.map(|(time, count)| format!("{} in {time} s", percent(*count, document.blocks)));
    parts.push(format!(
        "Both proofs: {}.\nThe slowest packing took {:.3} s, all together {:.1} s.",
        within.collect::<Vec<_>>().join(", "),
        document.longest_seconds,
        document.seconds
    ));
    if !document.open.is_empty() {
        let open = document.open.iter().take(10);
        let open: Vec<String> = open.map(|open| format!("{} ({} operations)", open.name, open.n)).collect();
        parts.push(format!("Open:\n{}", open.join("\n")));
    }
    parts.join("\n\n")
}

fn table_6(document: &Document) -> String {
    let mut header = vec!["Table 6"];
    header.extend(document.groups.iter().map(|group| group.name.as_str()));
    let mut rows = table(1, &header);
    let mut row = |name: &str, figure: &dyn Fn(&Totals) -> String| {
        let mut cells = vec![name.to_string()];
        cells.extend(document.groups.iter().map(figure));
        rows.add_row(cells);
    };
    let of = |count: u64, group: &Totals| percent(count, group.blocks);
    row("blocks", &|group| grouped(group.blocks));
    row("largest", &|group| group.largest.to_string());
    row("optimum found", &|group| grouped(group.proved));
    if document.by_linear_bound.is_some() {
        row("list proven by the linear program", &|group| of(group.by_linear[0], group));
        row("the same with our ranges", &|group| of(group.by_linear[1], group));
    }
    row("list proven by our bound", &|group| of(group.by_bound, group));
    row("others proven by our bound or search", &|group| of(group.by_search, group));
    row("others proven by the integer program", &|group| of(group.by_program, group));
    row("registers, list", &|group| grouped(group.list_allocated));
    row("registers, best", &|group| grouped(group.best_allocated));
    row("peak pressure, list", &|group| grouped(group.list_registers));
    row("peak pressure, best", &|group| grouped(group.best_registers));
    row("levels, list", &|group| grouped(group.list_levels));
    row("levels, best", &|group| grouped(group.best_levels));
    row("cycles, list", &|group| grouped(group.list_cycles));
    row("cycles, best", &|group| grouped(group.best_cycles));
    row("cycles saved", &|group| percent(group.list_cycles - group.best_cycles, group.list_cycles));
    row("blocks improved", &|group| of(group.improved, group));
    row("with splits: optimum found", &|group| grouped(group.split_proved));
    row("with splits: cycles", &|group| grouped(group.split_cycles));
    row("with splits: further improved", &|group| of(group.split_improved, group));
    trimmed(&rows)
}

fn sizes(document: &Document) -> String {
    let mut rows = table(1, &["operations", "blocks", "improved", "further by splits", "slowest, s"]);
    for group in &document.figure_2 {
        rows.add_row([
            format!("{} to {}", group.from, group.to),
            grouped(group.blocks),
            percent(group.improved, group.blocks),
            percent(group.split_improved, group.blocks),
            format!("{:.3}", group.seconds),
        ]);
    }
    rows.to_string()
}

/// Return the sizes of the blocks for each number of saved cycles.
fn series(document: &Document) -> String {
    let mut rows = table(1, &["saved", "blocks", "sizes"]);
    let most = document.figure_1.iter().map(|(_, saved)| *saved).max().unwrap_or(0);
    for saved in 1..=most {
        let own: Vec<usize> =
            document.figure_1.iter().filter(|(_, other)| *other == saved).map(|(size, _)| *size).collect();
        if !own.is_empty() {
            let range = format!("{} to {}, mean {:.0}", own[0], own[own.len() - 1], mean(&own));
            rows.add_row([saved.to_string(), grouped(own.len() as u64), range]);
        }
    }
    rows.to_string()
}

fn mean(numbers: &[usize]) -> f64 {
    numbers.iter().sum::<usize>() as f64 / numbers.len().max(1) as f64
}
