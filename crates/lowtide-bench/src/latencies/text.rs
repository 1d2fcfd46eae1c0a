//! The tables of `lowtide bench latencies` for the terminal.

use lowtide_tool::table::{grouped, table, trimmed};

use super::measure::{Document, Row};

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let mut facts = vec![document.budget.clone()];
    if let Some(row) = document.row("target") {
        let extra = document.measured.iter().zip(&row.extra_percent);
        let extra = extra.map(|(set, percent)| format!("{percent:+.2} % with {set}"));
        facts.push(format!("orders for the target's table: {}", extra.collect::<Vec<_>>().join(", ")));
    }
    facts
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document) -> String {
    let lengths = rows(document, "cycles, measured with", &|row, set| grouped(row.length[set]));
    let extra = rows(document, "extra cycles, measured with", &|row, set| {
        format!("{:+.2} %", row.extra_percent[set])
    });
    let worst = rows(document, "worst kernel, measured with", &|row, set| {
        format!("{:+.1} %", row.worst[set].percent)
    });
    format!(
        "{} kernels, {} regions, {} instructions ({} kernels left out: no table of latencies)\n\
         Each line is a set of orders, by the latencies that they are made for.\n\n{lengths}\n\n\
         Cycles beyond the order made for the latencies of the column:\n{extra}\n\n\
         The same in the kernel with the largest share:\n{worst}",
        grouped(document.kernels),
        grouped(document.regions),
        grouped(document.instructions),
        grouped(document.without_table),
    )
}

fn rows(document: &Document, title: &str, cell: &dyn Fn(&Row, usize) -> String) -> String {
    let mut header = vec![title, "waves"];
    header.extend(document.measured.iter().map(String::as_str));
    let mut rows = table(1, &header);
    for row in &document.made {
        let mut cells = vec![row.made_for.clone(), grouped(row.occupancy)];
        cells.extend((0..document.measured.len()).map(|set| cell(row, set)));
        rows.add_row(cells);
    }
    trimmed(&rows)
}
