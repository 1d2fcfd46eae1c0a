//! The tables of the comparison for the terminal.

use lowtide_tool::table::{grouped, table};

use super::document::{Comparison, Counts, Figures, Sizes};

/// Return tables for the terminal. `budget` describes that of exact.
pub(in super::super) fn text(comparison: &Comparison, budget: &str) -> String {
    let mut text = format!(
        "Against constraint models, on {} of {} distinct graphs{}:\n\
         {} s for each model and region on one thread; {budget} for exact\n\n\
         {}\n\n\
         No two methods disagree. \"median\" and \"most\" are sizes of the proven regions.\n\n\
         Time of each model, as a multiple of the time of exact. Where only exact proves the optimum, the multiple is a lower bound:\n{}",
        grouped(comparison.regions),
        grouped(comparison.distinct),
        comparison.sizes.as_ref().map_or_else(String::new, size_range),
        comparison.model_seconds,
        counts_table(comparison),
        ratios_table(comparison),
    );
    for (name, model) in comparison.models.iter().filter(|(_, model)| model.without_solver > 0) {
        text += &format!(
            "\n\n{name} needs no solver for {} of the regions, since its initial order meets the bound by cuts.",
            grouped(model.without_solver)
        );
    }
    text
}

/// Return each model with its figures. A second line has the regions that need the solver, if there are
/// others.
fn lines(comparison: &Comparison) -> Vec<(String, &Figures)> {
    let mut lines = Vec::new();
    for (name, model) in &comparison.models {
        lines.push((name.to_string(), &model.all));
        if model.without_solver > 0 {
            lines.push((format!("{name}, solver needed"), &model.with_solver));
        }
    }
    lines
}

fn counts_table(comparison: &Comparison) -> String {
    let header =
        ["", "regions", "proven", "found", "nothing", "too large", "median", "most", "seconds in all"];
    let mut rows = table(1, &header);
    let models = lines(comparison).into_iter().map(|(name, figures)| (name, &figures.counts));
    for (name, counts) in [("exact".to_string(), &comparison.exact)].into_iter().chain(models) {
        let Counts { regions, proved, found, nothing, too_large, .. } = *counts;
        let mut cells = vec![name];
        cells.extend([regions, proved, found, nothing, too_large].map(grouped));
        let sizes = counts.proved_sizes.as_ref();
        cells.push(sizes.map_or_else(String::new, |sizes| format!("{:.0}", sizes.median)));
        cells.push(sizes.map_or_else(String::new, |sizes| grouped(sizes.most as u64)));
        cells.push(format!("{:.2}", counts.seconds));
        rows.add_row(cells);
    }
    rows.to_string()
}

fn ratios_table(comparison: &Comparison) -> String {
    let header = ["", "both", "geo. mean", "median", "only exact", "geo. mean >=", "median >=", "only model"];
    let mut rows = table(1, &header);
    for (name, figures) in lines(comparison) {
        let mut cells = vec![name];
        for ratio in [&figures.ratio, &figures.ratio_at_least] {
            match ratio {
                Some(ratio) => cells.extend([
                    grouped(ratio.regions as u64),
                    format!("{:.1}", ratio.geometric_mean),
                    format!("{:.1}", ratio.median),
                ]),
                None => cells.extend(["0", "", ""].map(str::to_string)),
            }
        }
        cells.push(grouped(figures.only_model));
        rows.add_row(cells);
    }
    rows.to_string()
}

fn size_range(sizes: &Sizes) -> String {
    format!(" of {} to {} instructions (median {:.0})", sizes.least, grouped(sizes.most as u64), sizes.median)
}
