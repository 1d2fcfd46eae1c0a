//! The proofs of the exact search by time and size, and the regions that it leaves open.

use serde::Serialize;

use super::row::{Proof, Row};
use crate::statistics::median;

/// The times for each instruction within which proofs are counted.
pub(super) const MILLISECONDS: [f64; 3] = [0.01, 0.1, 1.0];

/// The first size of each range.
const RANGES: [usize; 6] = [1, 48, 100, 200, 400, 601];

/// Regions in a range of sizes.
#[derive(Serialize)]
pub(super) struct SizeRange {
    pub(super) least: usize,
    /// None: no limit.
    pub(super) most: Option<usize>,
    #[serde(flatten)]
    pub(super) proofs: Proofs,
}

/// The proofs for some regions.
#[derive(Serialize, Default)]
pub(super) struct Proofs {
    pub(super) regions: u64,
    pub(super) proved: u64,
    pub(super) timeouts: u64,
    pub(super) proved_within: [Within; MILLISECONDS.len()],
    pub(super) by_cut: u64,
    pub(super) by_search: u64,
    /// Until the proof, over the regions that have one.
    pub(super) median_us_per_instruction: Option<f64>,
}

/// The regions that are proven within a time.
#[derive(Serialize, Default, Clone, Copy)]
pub(super) struct Within {
    pub(super) ms_per_instruction: f64,
    pub(super) proved: u64,
}

/// A region whose optimum is not known.
#[derive(Serialize)]
pub(super) struct Open {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) size: usize,
    pub(super) bound: u32,
    pub(super) best: u32,
}

impl Proofs {
    /// Count the proofs of some regions.
    pub(super) fn new<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut proofs = Proofs::default();
        for (within, milliseconds) in proofs.proved_within.iter_mut().zip(MILLISECONDS) {
            within.ms_per_instruction = milliseconds;
        }
        let mut times = Vec::new();
        for row in rows {
            proofs.regions += 1;
            match row.proof {
                Proof::Cut => proofs.by_cut += 1,
                Proof::Search => proofs.by_search += 1,
                Proof::Timeout => {
                    proofs.timeouts += 1;
                    continue;
                }
            }
            proofs.proved += 1;
            let milliseconds = 1e3 * row.seconds() / row.size as f64;
            for within in &mut proofs.proved_within {
                within.proved += u64::from(milliseconds <= within.ms_per_instruction);
            }
            times.push(1e3 * milliseconds);
        }
        proofs.median_us_per_instruction = median(&mut times);
        proofs
    }
}

/// Return the non-empty ranges between two sizes.
pub(super) fn by_size(rows: &[Row], least: usize, most: Option<usize>) -> Vec<SizeRange> {
    let mut ranges = Vec::new();
    for (position, &start) in RANGES.iter().enumerate() {
        let end = RANGES.get(position + 1).map(|next| next - 1);
        let start = start.max(least);
        let end = end.into_iter().chain(most).min();
        let proofs = Proofs::new(rows.iter().filter(|row| {
            // Ranges below the least size are empty.
            row.size >= start && end.is_none_or(|end| row.size <= end)
        }));
        if proofs.regions > 0 {
            ranges.push(SizeRange { least: start, most: end, proofs });
        }
    }
    ranges
}

/// Return all regions whose optimum is not known, in the order of the input.
pub(super) fn open(rows: &[Row]) -> Vec<Open> {
    let open = rows.iter().filter(|row| !row.is_proved());
    open.map(|row| Open {
        kernel: row.kernel.clone(),
        region: row.region.clone(),
        size: row.size,
        bound: row.bound,
        best: row.best(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minreg::row::ALGORITHMS;

    /// A region of this size for which `exact` has taken `time` microseconds for each instruction.
    fn row(size: usize, proof: Proof, time: f64) -> Row {
        let mut results = vec![None; ALGORITHMS.len() - 1];
        results.push(Some((9, 1e-6 * time * size as f64)));
        let [kernel, region] = ["k", "r"].map(str::to_string);
        Row { kernel, region, size, edges: size, bound: 7, proof, results }
    }

    #[test]
    fn ranges_follow_the_sizes_asked_for() {
        let rows: Vec<Row> =
            [5, 47, 48, 99, 100, 400, 600, 601, 5000].map(|size| row(size, Proof::Cut, 1.0)).into();
        let ranges = |least: usize, most: Option<usize>| -> Vec<(usize, Option<usize>, u64)> {
            let within = |row: &&Row| row.size >= least && most.is_none_or(|most| row.size <= most);
            let rows: Vec<Row> =
                rows.iter().filter(within).map(|row| self::row(row.size, row.proof, 1.0)).collect();
            let found = by_size(&rows, least, most).into_iter();
            found.map(|range| (range.least, range.most, range.proofs.regions)).collect()
        };
        assert_eq!(
            ranges(48, None),
            [(48, Some(99), 2), (100, Some(199), 1), (400, Some(600), 2), (601, None, 2)]
        );
        assert_eq!(ranges(2, Some(50)), [(2, Some(47), 2), (48, Some(50), 1)]);
        assert_eq!(ranges(60, Some(500)), [(60, Some(99), 1), (100, Some(199), 1), (400, Some(500), 1)]);
        assert_eq!(ranges(1000, None), [(1000, None, 1)]);
    }

    #[test]
    fn proofs_are_counted_by_time_and_kind() {
        let rows = [
            row(50, Proof::Cut, 5.0),
            row(50, Proof::Search, 50.0),
            row(50, Proof::Search, 5000.0),
            row(50, Proof::Timeout, 9000.0),
        ];
        let proofs = Proofs::new(rows.iter());
        assert_eq!((proofs.regions, proofs.proved, proofs.timeouts), (4, 3, 1));
        assert_eq!((proofs.by_cut, proofs.by_search), (1, 2));
        assert_eq!(proofs.proved_within.map(|within| within.proved), [1, 2, 2]);
        assert!((proofs.median_us_per_instruction.unwrap() - 50.0).abs() < 1e-6);
        let open = open(&rows);
        assert_eq!((open.len(), open[0].bound, open[0].best), (1, 7, 9));
        assert_eq!(Proofs::new([].iter()).median_us_per_instruction, None);
    }
}
