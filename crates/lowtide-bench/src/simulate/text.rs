//! The tables of `lowtide bench simulate` for the terminal.

use lowtide_tool::names::{readable, shortened};
use lowtide_tool::table::{grouped, table, trimmed};

use super::measure::Document;

fn tau(tau: Option<f64>) -> String {
    tau.map_or_else(|| "-".to_string(), |tau| format!("{tau:+.3}"))
}

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let agreement = &document.agreement;
    vec![
        document.budget.clone(),
        format!("Kendall's tau {}, regret {:.2} %", tau(agreement.tau), agreement.regret_percent),
    ]
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document, with_variants: bool) -> String {
    let mut parts = Vec::new();
    if with_variants {
        let mut rows = table(2, &["kernel", "variant", "waves", "model clocks", "cost"]);
        for kernel in &document.kernels {
            for variant in &kernel.variants {
                rows.add_row([
                    shortened(&readable(&kernel.name), 36),
                    variant.name.to_string(),
                    variant.waves.to_string(),
                    format!("{:.1}", variant.clocks),
                    format!("{:.1}", variant.cost),
                ]);
            }
        }
        parts.push(trimmed(&rows));
    }
    let mut rows = table(1, &["kernel", "Kendall's tau"]);
    for kernel in &document.kernels {
        rows.add_row([shortened(&readable(&kernel.name), 60), tau(kernel.tau)]);
    }
    parts.push(trimmed(&rows));
    let agreement = &document.agreement;
    let mut rows = table(1, &["all kernels", ""]);
    for (name, figure) in [
        ("pairs ranked alike", grouped(agreement.concordant)),
        ("pairs ranked differently", grouped(agreement.discordant)),
        ("pairs with a tie", grouped(agreement.tied)),
        ("Kendall's tau over pairs without ties", tau(agreement.tau)),
        ("mean of Kendall's tau over kernels", tau(agreement.mean_tau)),
        ("regret", format!("{:.2} %", agreement.regret_percent)),
        ("regret of the worst kernel", format!("{:.1} %", agreement.worst_regret_percent)),
    ] {
        rows.add_row([name.to_string(), figure]);
    }
    parts.push(trimmed(&rows));
    parts.push(format!(
        "{} kernels ({} left out: no part [simulate]), each in 5 variants. Regret: model clocks of the\n\
         variants with the least cost, beyond those of the best variants.",
        grouped(document.kernels.len() as u64),
        grouped(document.left_out)
    ));
    parts.join("\n\n")
}
