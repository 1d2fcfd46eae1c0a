//! The trade-off between waves and length of a kernel, as a table.

use lowtide_tool::table::{grouped, table};

use super::work::{KernelResult, PointResult};

/// What the columns mean.
pub(super) const EXPLANATION: &str = "* has the fewest cycles for each wave. length: sum over all regions; bounds in brackets, where they are not reached.";

/// Return the table of a kernel: one row for each number of waves.
pub(super) fn as_table(kernel: &KernelResult) -> String {
    let points = kernel.front.as_deref().unwrap_or_default();
    let fewest = points.iter().map(|point| point.cycles_per_wave).fold(f64::INFINITY, f64::min);
    let mut rows = table(0, &["", "waves", "length", "proven", "spilled", "cycles/wave"]);
    for point in points.iter().rev() {
        let is_best = point.cycles_per_wave <= fewest;
        let sum = |figure: fn(&PointResult) -> u64| figure(point);
        let length = sum(|point| point.regions.iter().map(|region| u64::from(region.length)).sum());
        let bound = sum(|point| point.regions.iter().map(|region| u64::from(region.length_bound)).sum());
        let spilled = sum(|point| point.regions.iter().map(|region| u64::from(region.spilled)).sum());
        let proven = point.regions.iter().filter(|region| region.length == region.length_bound).count();
        let [cycles, cycles_bound] =
            [point.cycles_per_wave, point.cycles_per_wave_bound].map(|cycles| format!("{cycles:.1}"));
        rows.add_row(vec![
            if is_best { "*" } else { "" }.to_string(),
            point.waves.to_string(),
            if length == bound {
                grouped(length)
            } else {
                format!("{} (≥{})", grouped(length), grouped(bound))
            },
            format!("{proven}/{}", point.regions.len()),
            grouped(spilled),
            if cycles == cycles_bound { cycles } else { format!("{cycles} (≥{cycles_bound})") },
        ]);
    }
    format!("{} ({})\n{rows}\n", kernel.name, kernel.target)
}
