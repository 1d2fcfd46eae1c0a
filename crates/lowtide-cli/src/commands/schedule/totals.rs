//! The sums of figures over all kernels.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lowtide::problem::Goal;
use lowtide::target::Latencies;
use lowtide_tool::progress;
use lowtide_tool::table::{counted, grouped};
use serde::Serialize;

use super::figures::Figures;
use super::work::{Baseline, KernelResult, RegionResult};

/// Print a line for an improved kernel, and the totals so far.
pub(super) fn tell_kernel(kernel: &KernelResult, goal: Goal, so_far: &Mutex<Totals>) {
    let figures = Figures::new(kernel);
    let mut total = so_far.lock().unwrap_or_else(PoisonError::into_inner);
    total.add(&figures);
    if let Some(text) = figures.improvement(goal) {
        progress::line(&kernel.name, &text);
    }
    progress::totals(&total.in_short(goal));
}

/// Sums over all kernels.
#[derive(Default)]
pub(in super::super) struct Totals {
    pub(super) regions: u64,
    repeated: u64,
    pub(super) proven: u64,
    proven_waves: u64,
    proven_length: u64,
    filtered: u64,
    pub(super) instructions: u64,
    /// The orders that results are compared with.
    baselines: BTreeSet<Baseline>,
    /// Of the baseline, of the result, and the bound.
    occupancy: [u64; 3],
    length: [u64; 3],
    /// Sums over regions of the peaks of the first class.
    peak: [u64; 3],
    /// Of the baseline and of the result: lengths with ten times the weight for each loop.
    weighted_length: [u64; 2],
    seconds: f64,
    pub(in super::super) kernels: u64,
    /// Kernels with an estimate of cycles, with fewer of them than the baseline, and with proven ones.
    estimated: u64,
    faster: u64,
    proven_cycles: u64,
    /// Sums of logarithms: cycles after to before, and cycles to their bound.
    log_change: f64,
    log_gap: f64,
}

/// The sums over all kernels, as `--json` prints them.
#[derive(Serialize)]
pub(in super::super) struct TotalsResult {
    pub(in super::super) regions: u64,
    pub(in super::super) instructions: u64,
    /// Regions that are optimal for the goal, and those whose waves and length are.
    pub(in super::super) proven: u64,
    proven_waves: u64,
    proven_length: u64,
    /// Of the baseline of each kernel, of the result, and the bounds on it.
    before: Sums,
    pub(in super::super) after: Sums,
    bound: Sums,
    weighted_length_before: u64,
    pub(in super::super) weighted_length: u64,
}

/// Waves over kernels; peaks of the first class, and lengths, over regions.
#[derive(Serialize)]
pub(in super::super) struct Sums {
    pub(in super::super) occupancy: u64,
    pub(in super::super) peak_sum: u64,
    pub(in super::super) length: u64,
}

impl Totals {
    /// Add the figures of a kernel.
    pub(in super::super) fn add(&mut self, figures: &Figures) {
        let kernel = figures.kernel;
        let count = |is: &dyn Fn(&RegionResult) -> bool| {
            kernel.regions.iter().filter(|region| is(region)).count() as u64
        };
        self.kernels += 1;
        self.regions += kernel.regions.len() as u64;
        self.instructions += figures.instructions;
        self.proven += figures.proven;
        self.proven_waves += count(&|region| region.proven_waves);
        self.proven_length += count(&|region| region.proven_length);
        self.filtered += u64::from(kernel.filtered);
        self.baselines.insert(kernel.baseline);
        for (sum, figure) in [
            (&mut self.occupancy, figures.waves),
            (&mut self.length, figures.length),
            (&mut self.peak, figures.peak_sum),
        ] {
            sum.iter_mut().zip(figure).for_each(|(sum, figure)| *sum += figure);
        }
        self.weighted_length.iter_mut().zip(figures.weighted_length).for_each(|(sum, figure)| *sum += figure);
        self.seconds += kernel.seconds;
        let [before, after] = figures.cycles_per_wave;
        let bound = kernel.cycles_per_wave_bound.unwrap_or(after);
        if after > 0.0 && before > 0.0 && bound > 0.0 {
            self.estimated += 1;
            self.faster += u64::from(after < before);
            self.proven_cycles += u64::from(bound >= after);
            self.log_change += (after / before).ln();
            self.log_gap += (after / bound).ln();
        }
    }

    /// Return empty sums. `repeated` regions have the graph of another one.
    pub(super) fn new(repeated: u64) -> Self {
        Totals { repeated, ..Totals::default() }
    }

    /// Describe the figures of the goal with their bounds in one line.
    pub(super) fn in_short(&self, goal: Goal) -> String {
        let least = |[before, after, bound]: [u64; 3]| {
            let gap = progress::gap(after, bound);
            format!("{} -> {} (at least {}, gap {gap})", grouped(before), grouped(after), grouped(bound))
        };
        let [waves_before, waves, waves_bound] = self.occupancy.map(grouped);
        match goal {
            Goal::MinReg => format!("registers {}", least(self.peak)),
            Goal::Length => format!("length {}", least(self.length)),
            Goal::Occupancy | Goal::Throughput => format!(
                "waves {waves_before} -> {waves} (at most {waves_bound}), length {}",
                least(self.length)
            ),
        }
    }

    /// Return the sums for `--json`.
    pub(in super::super) fn document(&self) -> TotalsResult {
        let sums = |place: usize| Sums {
            occupancy: self.occupancy[place],
            peak_sum: self.peak[place],
            length: self.length[place],
        };
        TotalsResult {
            regions: self.regions,
            instructions: self.instructions,
            proven: self.proven,
            proven_waves: self.proven_waves,
            proven_length: self.proven_length,
            before: sums(0),
            after: sums(1),
            bound: sums(2),
            weighted_length_before: self.weighted_length[0],
            weighted_length: self.weighted_length[1],
        }
    }

    /// Describe the cycles for each wave in one line.
    pub(super) fn cycles_in_words(&self) -> String {
        let mean = |sum: f64, count: u64| 100.0 * ((sum / count.max(1) as f64).exp() - 1.0);
        let open = self.estimated - self.proven_cycles;
        let proof = match open {
            0 => "all are proven to be the fewest".to_string(),
            _ => format!(
                "{} proven, the others within {:.1} %",
                grouped(self.proven_cycles),
                mean(self.log_gap, open)
            ),
        };
        format!(
            "cycles: {:+.1} % for each wave (mean), fewer in {} of {}; {proof}",
            mean(self.log_change, self.estimated),
            grouped(self.faster),
            counted(self.estimated, "kernel"),
        )
    }

    /// Name the orders that the results are compared with.
    fn baseline_in_words(&self) -> &'static str {
        let has = |baseline| self.baselines.contains(&baseline);
        match (has(Baseline::Production), has(Baseline::Source)) {
            (true, true) => "the production order, or the source order where none is recorded",
            (true, false) => "the production order",
            (false, _) => "the source order",
        }
    }

    /// Describe the totals in several lines: first what the goal is about, with its bound.
    pub(super) fn in_words(
        &self,
        targets: &[&str],
        latencies: &[String],
        algorithm: &str,
        goal: Goal,
    ) -> String {
        let [waves_before, waves, waves_bound] = self.occupancy.map(grouped);
        let [length_before, length, length_bound] = self.length.map(grouped);
        let [peak_before, peak, peak_bound] = self.peak.map(grouped);
        let [weighted_before, weighted] = self.weighted_length.map(grouped);
        let mut names: Vec<&str> = targets.to_vec();
        names.sort_unstable();
        names.dedup();
        let latencies = match latencies {
            [one] if *one == Latencies::Recorded.to_string() => String::new(),
            all => format!(" (latencies: {})", all.join(" and ")),
        };
        let share = |count: u64| 100.0 * count as f64 / self.regions.max(1) as f64;
        let count = |count: u64| format!("{} regions ({:.1} %)", grouped(count), share(count));
        let (waves_goal, length_goal, peak_line, proven) = match goal {
            Goal::MinReg => (
                String::new(),
                String::new(),
                format!(
                    "peak:   {peak_before} -> {peak} registers of the first class, summed over regions; at least {peak_bound} are needed\n"
                ),
                format!("{} have the fewest registers possible", count(self.proven)),
            ),
            Goal::Length => (
                String::new(),
                format!(", at least {length_bound} are needed"),
                String::new(),
                format!("{} are as short as possible", count(self.proven)),
            ),
            Goal::Occupancy | Goal::Throughput => (
                format!(", at most {waves_bound} are possible"),
                format!(", at least {length_bound} are needed"),
                String::new(),
                format!(
                    "{} are optimal (waves {:.1} %, length {:.1} %)",
                    count(self.proven),
                    share(self.proven_waves),
                    share(self.proven_length)
                ),
            ),
        };
        let mut text = format!(
            "{} kernels, {} regions, {} instructions for {}\n\
             run:    algorithm {}, {:.2} s of processor time\n\
             before: {}\n\
             {peak_line}\
             waves:  {waves_before} -> {waves}{waves_goal}\n\
             length: {length_before} -> {length} cycles{length_goal}{latencies}\n\
             loops:  {weighted_before} -> {weighted} cycles; each loop around a region counts ten times\n\
             proven: {proven}\n\
             new:    {}; {} have the graph of another one",
            grouped(targets.len() as u64),
            grouped(self.regions),
            grouped(self.instructions),
            names.join(" and "),
            algorithm,
            self.seconds,
            self.baseline_in_words(),
            counted(self.regions - self.repeated, "region"),
            grouped(self.repeated),
        );
        if self.filtered > 0 {
            text += &format!(
                "\nfilter: {} could have more waves, which would cost too many cycles (--no-filter)",
                counted(self.filtered, "kernel")
            );
        }
        text
    }
}
