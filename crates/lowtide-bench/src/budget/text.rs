//! The tables of `lowtide bench budget` for the terminal.

use lowtide_tool::table::{grouped, shorten, table, trimmed};

use super::measure::Document;

fn time(micros: f64) -> String {
    match micros >= 1000.0 {
        true => format!("{} ms", micros / 1000.0),
        false => format!("{micros} us"),
    }
}

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let all = document.distributions.last();
    all.map(|all| format!("used/allowed: p99 {:.2}, worst {:.2}", all.p99, all.worst)).into_iter().collect()
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document, with_rows: bool) -> String {
    let mut parts = Vec::new();
    if with_rows {
        let mut rows = table(1, &["region", "n", "budget", "goal", "seconds", "allowed", "ratio"]);
        for row in &document.rows {
            rows.add_row([
                shorten(&row.region, 40),
                grouped(row.n as u64),
                time(row.budget_us),
                row.goal.to_string(),
                format!("{:.4}", row.seconds),
                format!("{:.4}", row.allowed),
                format!("{:.2}", row.ratio),
            ]);
        }
        parts.push(trimmed(&rows));
    }
    let titles =
        ["budget", "goal", "runs", "median", "p90", "p99", "worst", "n", ">1", ">1.2", ">2", "worst region"];
    let mut rows = table(2, &titles);
    for own in &document.distributions {
        let mut cells = vec![
            own.budget_us.map_or_else(|| "all".to_string(), time),
            own.goal.unwrap_or("all").to_string(),
            grouped(own.runs as u64),
        ];
        cells.extend([own.median, own.p90, own.p99, own.worst].map(|ratio| format!("{ratio:.2}")));
        cells.push(grouped(own.worst_n as u64));
        cells.extend(own.above.map(|count| grouped(count as u64)));
        cells.push(shorten(&own.worst_region, 40));
        rows.add_row(cells);
    }
    parts.push(trimmed(&rows));
    parts.push(format!(
        "{} regions, {} instructions. Ratio: time used over time allowed, which is the budget of all passes of the goal.\n\
         A budget below {} counts as that.",
        grouped(document.regions as u64),
        grouped(document.instructions as u64),
        time(document.floor_us)
    ));
    parts.join("\n\n")
}
