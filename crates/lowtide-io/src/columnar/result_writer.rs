//! Results into the columns of a Parquet file.

use std::io::Error;
use std::path::Path;

use super::table::{Cell, Table};
use crate::results::{RESULT_SCHEMA, ResultRow};

/// Writes results to a Parquet file, one row for each region.
/// [`ResultFileWriter::finish`] writes the output atomically; before it, nothing is visible.
pub struct ResultFileWriter {
    table: Table,
}

impl ResultFileWriter {
    /// Start a file. Its folder must exist.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Ok(ResultFileWriter { table: Table::create(path, RESULT_SCHEMA, super::VERSION)? })
    }

    /// Add the result of a region.
    pub fn region(&mut self, row: &ResultRow) -> Result<(), Error> {
        let [waves_before, waves, waves_bound] = row.waves.map(Cell::Int);
        let [peak_before, peak, peak_bound] = row.peak.map(Cell::Int);
        let [length_before, length, length_bound] = row.length.map(Cell::Int);
        let plain = [
            Cell::Text(row.kernel),
            Cell::Text(row.readable_name),
            Cell::Text(row.origin),
            Cell::Text(row.target),
            Cell::Text(row.latencies),
            Cell::Text(row.baseline),
            Cell::Text(row.region),
            Cell::Int(row.order.len() as u32),
            waves_before,
            waves,
            waves_bound,
            peak_before,
            peak,
            peak_bound,
            length_before,
            length,
            length_bound,
            Cell::Boolean(row.proven_waves),
            Cell::Boolean(row.proven_length),
            Cell::Boolean(row.proven),
            Cell::Boolean(row.filtered),
            Cell::Int(row.spilled),
            Cell::Int(row.pairs),
            Cell::Int(row.broken_pairs),
            Cell::Long(row.nodes),
            Cell::Double(row.search_seconds),
            Cell::Double(row.kernel_seconds),
        ];
        for (column, cell) in plain.iter().enumerate() {
            self.table.push(column, [0, 0], *cell);
        }
        let first = plain.len();
        if row.classes.is_empty() {
            (first..first + 5).for_each(|column| self.table.push(column, [0, 0], Cell::Null));
        }
        for (position, class) in row.classes.iter().enumerate() {
            let repetition = i16::from(position > 0);
            let figures = [class.peak, class.peak_at, class.peak_bound].map(Cell::Int);
            self.table.push(first, [repetition, 1], Cell::Text(class.class));
            for (column, figure) in (first + 1..).zip(figures) {
                self.table.push(column, [repetition, 1], figure);
            }
            match class.reason {
                Some(reason) => self.table.push(first + 4, [repetition, 2], Cell::Text(reason)),
                None => self.table.push(first + 4, [repetition, 1], Cell::Null),
            }
        }
        for (column, numbers) in [(first + 5, row.order), (first + 6, row.cycles)] {
            if numbers.is_empty() {
                self.table.push(column, [0, 0], Cell::Null);
            }
            for (position, number) in numbers.iter().enumerate() {
                self.table.push(column, [i16::from(position > 0), 1], Cell::Int(*number));
            }
        }
        self.table.end_row(row.order.len())
    }

    /// Complete the file and move it into place.
    pub fn finish(self) -> Result<(), Error> {
        self.table.finish()
    }
}
