//! What each of the two passes did, counted as in paper 2, Table 3.

use lowtide::analysis::length_bound::lower_bound;
use lowtide::pipeline::Passes;
use lowtide::problem::Problem;
use lowtide::schedule::Outcome;
use serde::Serialize;

use crate::report::{grouped, table};

/// A line of the table: its name, our figure, and the paper's for both passes.
type Line = (&'static str, fn(&PassCounts) -> u64, [&'static str; 2]);

/// The regions that a pass searched, and what came of it.
#[derive(Serialize, Default, Clone)]
pub(super) struct PassCounts {
    pub(super) searched: u64,
    proved_improved: u64,
    proved_same: u64,
    timeout_improved: u64,
    timeout_same: u64,
    /// Of the proven ones, those for which a bound sufficed that takes no search.
    by_bound: u64,
    /// Mean size of the regions that were searched, and the largest of those that were proven or improved.
    mean_size: f64,
    largest_proved: usize,
    largest_improved: usize,
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

    pub(super) fn timeouts(&self) -> u64 {
        self.timeout_improved + self.timeout_same
    }
}

/// Distinct graphs, and what is proven about them.
#[derive(Serialize, Default, Clone)]
pub(super) struct Counts {
    pub(super) regions: u64,
    pub(super) instructions: u64,
    proved_waves: u64,
    proved_length: u64,
    proved: u64,
    length: u64,
    length_bound: u64,
    #[serde(skip)]
    pub(super) passes: [PassCounts; 2],
}

impl Counts {
    pub(super) fn add(&mut self, problem: &Problem, outcome: &Outcome, passes: &Passes) {
        let size = problem.region().len();
        let (length, bound) = (outcome.measure.length, outcome.bounds.length);
        self.regions += 1;
        self.instructions += size as u64;
        self.proved_waves += u64::from(outcome.proven_waves);
        self.proved_length += u64::from(length == bound);
        self.proved += u64::from(outcome.optimal);
        self.length += u64::from(length);
        self.length_bound += u64::from(bound);
        // As in the paper: what has fewer waves than the kernel could have, and what is longer than the bound known beforehand.
        if passes.is_asked {
            self.passes[0].add(size, outcome.proven_waves, passes.is_improved, !passes.is_searched);
        }
        let plain_bound = lower_bound(problem).best();
        if passes.start_length > plain_bound {
            let (is_proved, is_improved) = (length == bound, length < passes.start_length);
            self.passes[1].add(size, is_proved, is_improved, bound == plain_bound);
        }
    }

    pub(super) fn in_words(&self) -> String {
        let share = |count: u64| format!("{:.2} %", 100.0 * count as f64 / self.regions.max(1) as f64);
        format!(
            "proven: waves of {} ({}), length of {} ({}), both of {} ({})\n\
             length: {} cycles in all, at least {} are needed ({:.4} times as many)",
            grouped(self.proved_waves),
            share(self.proved_waves),
            grouped(self.proved_length),
            share(self.proved_length),
            grouped(self.proved),
            share(self.proved),
            grouped(self.length),
            grouped(self.length_bound),
            self.length as f64 / self.length_bound.max(1) as f64,
        )
    }

    /// Paper 2, Table 3: ours beside theirs, for each pass.
    pub(super) fn table(&self) -> String {
        let mut rows = table(1, &["", "pass 1", "%", "paper 2", "pass 2", "%", "paper 2"]);
        let figures: [Line; 6] = [
            ("searched", |pass| pass.searched, ["3.3 %", "63.3 %"]),
            ("proven and improved", |pass| pass.proved_improved, ["11.7 %", "90.3 %"]),
            ("proven, not improved", |pass| pass.proved_same, ["1.3 %", "0.0 %"]),
            ("timed out, improved", |pass| pass.timeout_improved, ["41.8 %", "1.4 %"]),
            ("timed out, not improved", |pass| pass.timeout_same, ["45.3 %", "8.3 %"]),
            ("proven by a bound alone", |pass| pass.by_bound, ["-", "-"]),
        ];
        for (position, (name, figure, paper)) in figures.into_iter().enumerate() {
            let mut row = vec![name.to_string()];
            for (pass, paper) in self.passes.iter().zip(paper) {
                // The first line is a share of all regions, the others are shares of what was searched.
                let all = if position == 0 { self.regions } else { pass.searched };
                let share = format!("{:.1}", 100.0 * figure(pass) as f64 / all.max(1) as f64);
                row.extend([grouped(figure(pass)), share, paper.to_string()]);
            }
            rows.add_row(row);
        }
        let sizes: [Line; 3] = [
            ("mean size searched", |pass| pass.mean_size.round() as u64, ["209", "70"]),
            ("largest proven", |pass| pass.largest_proved as u64, ["287", "877"]),
            ("largest improved", |pass| pass.largest_improved as u64, ["921", "921"]),
        ];
        for (name, figure, paper) in sizes {
            let [first, second] = [0, 1].map(|pass| grouped(figure(&self.passes[pass])));
            let [paper1, paper2] = paper.map(str::to_string);
            rows.add_row([name.to_string(), first, String::new(), paper1, second, String::new(), paper2]);
        }
        rows.to_string()
    }
}
