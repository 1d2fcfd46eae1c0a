//! The trade-off between waves and length of a kernel, as a table.

use lowtide_tool::names::{readable, shortened};
use lowtide_tool::table::{grouped, table, trimmed, width};

use super::figures::in_tenths;
use super::work::{KernelResult, PointResult};

/// The meaning of the columns.
pub(super) const EXPLANATION: &str = "\
waves:       waves that all schedules of a row allow. Fewer waves with the same
             length are left out
length:      cycles of all regions. (≥N): a proven lower bound for these waves
proven:      regions with the least length that these waves allow
cycles/wave: estimated cycles of a SIMD for each wave. * marks the fewest";

/// Return the table of a kernel: one row for each number of waves, most waves first.
pub(super) fn as_table(kernel: &KernelResult) -> String {
    let points = kernel.front.as_deref().unwrap_or_default();
    let rest = width().saturating_sub(kernel.target.chars().count() + 3);
    let name = shortened(&readable(&kernel.name), rest.max(1));
    let title = format!("{name} ({})", kernel.target);
    if points.is_empty() {
        return format!("{title}\nno schedules are known for any number of waves\n");
    }
    // Among equals, the shortest one, and then the one with the most waves: as the library chooses.
    let best = points.iter().rev().min_by(|one, other| {
        let by_cycles = one.cycles_per_wave.total_cmp(&other.cycles_per_wave);
        by_cycles.then_with(|| one.length().cmp(&other.length()))
    });
    let is_best = |point: &PointResult| best.is_some_and(|best| best.waves == point.waves);
    let any_spilled = points.iter().any(|point| point.spilled() > 0);
    let spilled_title: &[&str] = if any_spilled { &["spilled"] } else { &[] };
    let mut rows = table(0, &[&["waves", "length", "proven"], spilled_title, &["cycles/wave", ""]].concat());
    // Fewer waves bring nothing where the schedules stay the same.
    for (position, point) in points.iter().enumerate().rev() {
        let more = points.get(position + 1);
        let is_needless =
            more.is_some_and(|more| more.length() == point.length() && more.spilled() == point.spilled());
        if is_needless && !is_best(point) {
            continue;
        }
        let mut row = vec![
            point.waves.to_string(),
            with_bound(grouped(point.length()), &grouped(point.length_bound())),
            format!("{}/{}", point.proven(), point.count()),
        ];
        row.extend(any_spilled.then(|| grouped(point.spilled())));
        row.push(with_bound(in_tenths(point.cycles_per_wave), &in_tenths(point.cycles_per_wave_bound)));
        row.push(if is_best(point) { "*" } else { "" }.to_string());
        rows.add_row(row);
    }
    format!("{title}\n{}\n", trimmed(&rows))
}

/// Return `120 (≥100)`. The bound is left out where the figure meets it.
fn with_bound(figure: String, bound: &str) -> String {
    match figure == bound {
        true => figure,
        false => format!("{figure} (≥{bound})"),
    }
}

/// The columns of `--csv`.
pub(super) const CSV: [&str; 10] = [
    "kernel",
    "readable_name",
    "target",
    "waves",
    "length",
    "length_bound",
    "regions",
    "proven",
    "spilled",
    "cycles_per_wave",
];

/// Return the rows of a kernel for `--csv`: one for each number of waves, most waves first.
pub(super) fn csv_rows(kernel: &KernelResult) -> Vec<Vec<String>> {
    let row = |point: &PointResult| {
        vec![
            kernel.name.clone(),
            kernel.readable_name.clone(),
            kernel.target.clone(),
            point.waves.to_string(),
            point.length().to_string(),
            point.length_bound().to_string(),
            point.count().to_string(),
            point.proven().to_string(),
            point.spilled().to_string(),
            point.cycles_per_wave.to_string(),
        ]
    };
    kernel.front.as_deref().unwrap_or_default().iter().rev().map(row).collect()
}
