//! The figures of a kernel, before and after, as rows of the table and of `--csv`.

use std::cmp::Ordering;

use lowtide::problem::Goal;
use lowtide_tool::names::readable;
use lowtide_tool::table::{Sheet, change, grouped};

use super::work::KernelResult;

/// The figures of a kernel. Arrays have the figure of the baseline, that of the result, and the bound on it.
pub(in super::super) struct Figures<'a> {
    pub(in super::super) kernel: &'a KernelResult,
    pub(super) instructions: u64,
    pub(super) proven: u64,
    pub(super) waves: [u64; 3],
    /// Highest peak of the target's first class in any region.
    pub(super) peak: [u64; 3],
    /// Sum of these peaks over all regions.
    pub(super) peak_sum: [u64; 3],
    pub(super) length: [u64; 3],
    pub(super) weighted_length: [u64; 2],
    pub(super) cycles_per_wave: [f64; 2],
}

impl<'a> Figures<'a> {
    pub(in super::super) fn new(kernel: &'a KernelResult) -> Self {
        let before = kernel.before();
        let regions = || kernel.regions.iter();
        let sum = |figure: &dyn Fn(&super::RegionResult) -> u32| -> u64 {
            regions().map(|region| u64::from(figure(region))).sum()
        };
        let most = |figure: &dyn Fn(&super::RegionResult) -> u32| -> u64 {
            regions().map(|region| u64::from(figure(region))).max().unwrap_or(0)
        };
        Figures {
            kernel,
            instructions: regions().map(|region| region.n as u64).sum(),
            proven: regions().filter(|region| region.optimal).count() as u64,
            waves: [before.occupancy, kernel.occupancy, kernel.occupancy_bound].map(u64::from),
            peak: [before.peak.into(), most(&|region| region.primary.0), most(&|region| region.primary.1)],
            peak_sum: [before.peak_sum, sum(&|region| region.primary.0), sum(&|region| region.primary.1)],
            length: [before.length, sum(&|region| region.length), sum(&|region| region.length_bound)],
            weighted_length: [before.weighted_length, kernel.weighted_length],
            cycles_per_wave: [before.cycles_per_wave, kernel.cycles_per_wave],
        }
    }

    /// Return whether any figure differs from that of the baseline.
    fn is_changed(&self) -> bool {
        let differs = |[before, after, _]: [u64; 3]| before != after;
        [self.waves, self.peak, self.peak_sum, self.length].into_iter().any(differs)
    }

    /// Return the gain for a goal, the most important part first. Gains are positive.
    fn gain(&self, goal: Goal) -> [f64; 2] {
        let fewer = |[before, after, _]: [u64; 3]| before as f64 - after as f64;
        let [cycles_before, cycles] = self.cycles_per_wave;
        match goal {
            Goal::MinReg => [fewer(self.peak), fewer(self.peak_sum)],
            Goal::Occupancy => [-fewer(self.waves), fewer(self.length)],
            Goal::Length => [fewer(self.length), 0.0],
            Goal::Throughput => [1.0 - cycles / cycles_before.max(f64::MIN_POSITIVE), fewer(self.length)],
        }
    }

    /// Compare two kernels: those that change come first, the largest gain at the top.
    pub(super) fn by_gain(&self, other: &Self, goal: Goal) -> Ordering {
        let [own, others] = [self.gain(goal), other.gain(goal)];
        let by_change = other.is_changed().cmp(&self.is_changed());
        by_change.then(others[0].total_cmp(&own[0])).then(others[1].total_cmp(&own[1]))
    }

    /// Return the cost for a goal, the most important part first: registers in memory count before waves.
    pub(in super::super) fn cost(&self, goal: Goal) -> [f64; 3] {
        let in_memory: u64 = self.kernel.regions.iter().map(|region| u64::from(region.in_memory)).sum();
        let [in_memory, waves, peak, length] =
            [in_memory, self.waves[1], self.peak_sum[1], self.length[1]].map(|figure| figure as f64);
        match goal {
            Goal::MinReg => [peak, length, 0.0],
            Goal::Occupancy => [in_memory, -waves, length],
            Goal::Length => [length, in_memory, peak],
            Goal::Throughput => [in_memory, self.cycles_per_wave[1], length],
        }
    }

    /// Return the figures of the goal in one line, or none if the result is not better than the baseline.
    pub(super) fn improvement(&self, goal: Goal) -> Option<String> {
        let waves = || with_bound(self.waves, '≤');
        let length = || with_bound(self.length, '≥');
        let text = match goal {
            Goal::MinReg if self.peak[0] == self.peak[1] => {
                format!("registers {} in all regions together", with_bound(self.peak_sum, '≥'))
            }
            Goal::MinReg => format!("registers {}", with_bound(self.peak, '≥')),
            Goal::Length => format!("length {}", length()),
            Goal::Occupancy => format!("waves {}, length {}", waves(), length()),
            Goal::Throughput => format!("cycles/wave {}, waves {}", self.cycles(), waves()),
        };
        (self.gain(goal) > [0.0; 2]).then_some(text)
    }

    /// Return the cycles for each wave, before and after, as `7.0 -> 6.5 (≥6.1)`. Large numbers have no
    /// digits after the point.
    fn cycles(&self) -> String {
        let [before, after] = self.cycles_per_wave;
        let is_large = before.max(after) >= 1000.0;
        let short = |cycles: f64| if is_large { grouped(cycles.round() as u64) } else { in_tenths(cycles) };
        let [before, after] = [before, after].map(short);
        let bound = self.kernel.cycles_per_wave_bound.map(short).filter(|bound| *bound != after);
        let bound = bound.map(|bound| format!(" (≥{bound})")).unwrap_or_default();
        match before == after {
            true => format!("{after}{bound}"),
            false => format!("{before} -> {after}{bound}"),
        }
    }
}

/// Return the table of kernels.
pub(super) fn sheet(kernels: &[Figures], goal: Goal) -> Sheet {
    let mut kernels: Vec<&Figures> = kernels.iter().collect();
    kernels.sort_by(|one, other| one.by_gain(other, goal));
    let column = |cell: &dyn Fn(&Figures) -> String| kernels.iter().map(|one| cell(one)).collect::<Vec<_>>();
    let mut sheet = Sheet::new("kernel", column(&|one| readable(&one.kernel.name).into_owned()));
    let targets = column(&|one| one.kernel.target.clone());
    if targets.windows(2).any(|pair| pair[0] != pair[1]) {
        sheet.words(0, "target", targets);
    }
    // The figures of the goal are always shown.
    let [waves, peak, length] = match goal {
        Goal::MinReg => [2, 0, 3],
        Goal::Length => [2, 3, 0],
        Goal::Occupancy => [0, 4, 0],
        Goal::Throughput => [0, 4, 2],
    };
    sheet.column(5, "size", column(&|one| one.instructions.to_string()));
    sheet.column(waves, "waves", column(&|one| with_bound(one.waves, '≤')));
    sheet.column(peak, "peak", column(&|one| with_bound(one.peak, '≥')));
    sheet.column(length, "length", column(&|one| with_bound(one.length, '≥')));
    sheet.column(1, "proven", column(&|one| format!("{}/{}", one.proven, one.kernel.regions.len())));
    if goal == Goal::Throughput {
        sheet.column(0, "cycles/wave", column(&|one| one.cycles()));
    }
    // Of one width, so that the layout does not change from run to run.
    sheet.column(6, "ms", column(&|one| format!("{:6.1}", one.kernel.seconds * 1e3)));
    sheet
}

/// The columns of `--csv`.
pub(super) const CSV: [&str; 24] = [
    "kernel",
    "readable_name",
    "origin",
    "target",
    "baseline",
    "regions",
    "instructions",
    "waves_before",
    "waves",
    "waves_bound",
    "peak_before",
    "peak",
    "peak_bound",
    "length_before",
    "length",
    "length_bound",
    "weighted_length_before",
    "weighted_length",
    "cycles_per_wave_before",
    "cycles_per_wave",
    "cycles_per_wave_bound",
    "proven",
    "filtered",
    "seconds",
];

/// Return the row of a kernel for `--csv`.
pub(super) fn csv_row(figures: &Figures) -> Vec<String> {
    let kernel = figures.kernel;
    let mut row = vec![kernel.name.clone(), kernel.readable_name.clone(), kernel.origin.clone()];
    row.push(kernel.target.clone());
    row.push(kernel.baseline.name().to_string());
    row.push(kernel.regions.len().to_string());
    row.push(figures.instructions.to_string());
    for three in [figures.waves, figures.peak, figures.length] {
        row.extend(three.map(|figure| figure.to_string()));
    }
    row.extend(figures.weighted_length.map(|figure| figure.to_string()));
    row.extend(figures.cycles_per_wave.map(|cycles| cycles.to_string()));
    row.push(kernel.cycles_per_wave_bound.map_or_else(String::new, |bound| bound.to_string()));
    row.push(figures.proven.to_string());
    row.push(kernel.filtered.to_string());
    row.push(kernel.seconds.to_string());
    row
}

/// Return cycles with one digit after the point, as `1,234.5`.
pub(super) fn in_tenths(cycles: f64) -> String {
    let tenths = (cycles * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// Return `7 -> 9 (≤10)`. The bound is left out where the result meets it.
fn with_bound([before, after, bound]: [u64; 3], relation: char) -> String {
    let text = change(before, after);
    match after == bound {
        true => text,
        false => format!("{text} ({relation}{bound})"),
    }
}
