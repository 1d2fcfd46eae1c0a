//! The regions that each of the two passes searches, counted as in paper 2, Table 3.

use lowtide::analysis::length_bound::lower_bound;
use lowtide::outcome::Outcome;
use lowtide::problem::Problem;
use serde::Serialize;

use crate::book::papers::shobaki_2020::{Counted, Pass};

/// A line of the table that counts regions: its name, the measured figure, and the paper's.
type CountLine = (&'static str, fn(&PassCounts) -> u64, fn(&Pass) -> Counted);

/// The first is a share of all regions, the others are shares of the searched regions.
pub(super) const COUNTS: [CountLine; 5] = [
    ("searched", |pass| pass.searched, |paper| paper.searched),
    ("proven and improved", |pass| pass.proved_improved, |paper| paper.proved_improved),
    ("proven, not improved", |pass| pass.proved_same, |paper| paper.proved_same),
    ("timed out, improved", |pass| pass.timeout_improved, |paper| paper.timeout_improved),
    ("timed out, not improved", |pass| pass.timeout_same, |paper| paper.timeout_same),
];

/// A line about their sizes: its name, the measured figure, and the paper's.
type SizeLine = (&'static str, fn(&PassCounts) -> u64, fn(&Pass) -> u64);

/// The lines about sizes.
pub(super) const SIZES: [SizeLine; 3] = [
    ("mean size searched", |pass| pass.mean_size.round() as u64, |paper| paper.mean_size),
    ("largest proven", |pass| pass.largest_proved as u64, |paper| paper.largest_proved),
    ("largest improved", |pass| pass.largest_improved as u64, |paper| paper.largest_improved),
];

/// The regions that a pass searches, by result.
#[derive(Serialize, Default, Clone)]
pub(super) struct PassCounts {
    pub(super) searched: u64,
    pub(super) proved_improved: u64,
    pub(super) proved_same: u64,
    pub(super) timeout_improved: u64,
    pub(super) timeout_same: u64,
    /// Proven by a bound alone, without a search.
    pub(super) by_bound: u64,
    /// Mean size of the searched regions, and the largest that is proven or improved.
    pub(super) mean_size: f64,
    pub(super) largest_proved: usize,
    pub(super) largest_improved: usize,
}

impl PassCounts {
    fn add(&mut self, size: usize, is_proved: bool, is_improved: bool, by_bound: bool) {
        self.by_bound += u64::from(is_proved && by_bound);
        let count = match (is_proved, is_improved) {
            (true, true) => &mut self.proved_improved,
            (true, false) => &mut self.proved_same,
            (false, true) => &mut self.timeout_improved,
            (false, false) => &mut self.timeout_same,
        };
        *count += 1;
        self.searched += 1;
        self.mean_size += (size as f64 - self.mean_size) / self.searched as f64;
        if is_proved {
            self.largest_proved = self.largest_proved.max(size);
        }
        if is_improved {
            self.largest_improved = self.largest_improved.max(size);
        }
    }

    /// Return the searches that spent their budget.
    pub(super) fn timeouts(&self) -> u64 {
        self.timeout_improved + self.timeout_same
    }
}

/// The distinct graphs, and the proofs about them.
#[derive(Serialize, Default, Clone)]
pub(super) struct Counts {
    pub(super) regions: u64,
    pub(super) instructions: u64,
    pub(super) proved_waves: u64,
    pub(super) proved_length: u64,
    pub(super) proved: u64,
    pub(super) length: u64,
    pub(super) length_bound: u64,
    #[serde(skip)]
    pub(super) passes: [PassCounts; 2],
}

impl Counts {
    /// Add a graph.
    pub(super) fn add(&mut self, problem: &Problem, outcome: &Outcome) {
        let Some(passes) = outcome.passes else { return };
        let size = problem.region().len();
        let (length, bound) = (outcome.measure.length, outcome.bounds.length);
        self.regions += 1;
        self.instructions += size as u64;
        self.proved_waves += u64::from(outcome.proven_waves);
        self.proved_length += u64::from(length == bound);
        self.proved += u64::from(outcome.optimal);
        self.length += u64::from(length);
        self.length_bound += u64::from(bound);
        // As in the paper: regions with fewer waves than the kernel could have, and regions that are longer
        // than the first bound.
        if passes.is_asked {
            self.passes[0].add(size, outcome.proven_waves, passes.is_improved, !passes.is_searched);
        }
        let plain_bound = lower_bound(problem).best();
        if passes.start_length > plain_bound {
            let (is_proved, is_improved) = (length == bound, length < passes.start_length);
            self.passes[1].add(size, is_proved, is_improved, bound == plain_bound);
        }
    }
}
