//! Figures as the tables of a chapter show them.

use std::collections::BTreeSet;

use lowtide_tool::table::grouped;

/// Return a count with its share in percent.
pub(crate) fn with_share(count: u64, all: u64) -> String {
    format!("{} ({})", grouped(count), percent(count, all))
}

/// Return a share in percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Return the relative difference of two figures in percent, with its sign.
pub(crate) fn more(value: u64, other: u64) -> String {
    format!("{:+.2} %", 100.0 * (value as f64 / other.max(1) as f64 - 1.0))
}

/// Return the mean of a sum.
pub(crate) fn mean(sum: u64, count: u64) -> String {
    format!("{:.1}", sum as f64 / count.max(1) as f64)
}

/// Return names with commas between them.
pub(crate) fn listed(names: &BTreeSet<String>) -> String {
    names.iter().cloned().collect::<Vec<_>>().join(", ")
}
