//! The chapters of the experiment book: what each benchmark found, beside what its paper reports.
//!
//! Nothing is computed here that the benchmark's document does not have; it is only put in order for readers.

mod colony;
mod minreg;
mod occupancy;
mod pack;
mod passes;

pub(super) use colony::colony;
pub(super) use minreg::minreg;
pub(super) use occupancy::occupancy;
pub(super) use pack::pack;
pub(super) use passes::passes;

use std::collections::BTreeSet;

use crate::book::{Chart, Part, Table};

impl From<Table> for Part {
    fn from(table: Table) -> Part {
        Part::Table(table)
    }
}

impl From<Chart> for Part {
    fn from(chart: Chart) -> Part {
        Part::Chart(chart)
    }
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// A row of a table of two columns of figures, the paper's and ours.
fn side_by_side(table: &mut Table, name: &str, paper: String, ours: String) {
    table.row([name.to_string(), paper, ours]);
}

fn mean(sum: u64, count: u64) -> String {
    format!("{:.1}", sum as f64 / count.max(1) as f64)
}
