//! The figures of a kernel, and their sums over all kernels.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lowtide::target::Latencies;
use lowtide_tool::progress;
use lowtide_tool::table::{change, counted, grouped, shorten};
use serde::Serialize;

use super::work::{Baseline, KernelResult};
use crate::args::{GoalArg, Method};

/// The titles of the figures.
pub(super) const FIGURES: [&str; 6] = ["size", "waves", "peak", "length", "proven", "ms"];

/// Print a line for an improved kernel, and the totals so far.
pub(super) fn tell_kernel(kernel: &KernelResult, so_far: &Mutex<Totals>) {
    let [_, waves, _, length, ..] = figures(kernel, &mut Totals::default());
    let mut total = so_far.lock().unwrap_or_else(PoisonError::into_inner);
    let before = total.length;
    figures(kernel, &mut total);
    let [old, now, _] = [0, 1, 2].map(|place| total.length[place] - before[place]);
    let waves_before = kernel.before().occupancy;
    if kernel.occupancy > waves_before || kernel.occupancy == waves_before && now < old {
        progress::line(&format!("{}: waves {waves}, length {length}", shorten(&kernel.name, 40)));
    }
    progress::totals(&total.in_short());
}

/// Return the figures of a kernel, and add them to the totals.
pub(super) fn figures(kernel: &KernelResult, total: &mut Totals) -> [String; FIGURES.len()] {
    let before = kernel.before();
    let peak = kernel.regions.iter().map(|region| region.primary.0).max().unwrap_or(0);
    let peak_bound = kernel.regions.iter().map(|region| region.primary.1).max().unwrap_or(0);
    let length: u64 = kernel.regions.iter().map(|region| u64::from(region.length)).sum();
    let length_bound: u64 = kernel.regions.iter().map(|region| u64::from(region.length_bound)).sum();
    let instructions: usize = kernel.regions.iter().map(|region| region.n).sum();
    let proven = kernel.regions.iter().filter(|region| region.optimal).count();
    total.regions += kernel.regions.len() as u64;
    total.proven += proven as u64;
    total.proven_waves += kernel.regions.iter().filter(|region| region.proven_waves).count() as u64;
    total.proven_length += kernel.regions.iter().filter(|region| region.proven_length).count() as u64;
    total.filtered += u64::from(kernel.filtered);
    total.instructions += instructions as u64;
    total.baselines.insert(kernel.baseline);
    total.occupancy[0] += u64::from(before.occupancy);
    total.occupancy[1] += u64::from(kernel.occupancy);
    total.occupancy[2] += u64::from(kernel.occupancy_bound);
    total.length[0] += before.length;
    total.length[1] += length;
    total.length[2] += length_bound;
    total.weighted_length[0] += before.weighted_length;
    total.weighted_length[1] += kernel.weighted_length;
    total.peak[0] += before.peak_sum;
    total.peak[1] += kernel.regions.iter().map(|region| u64::from(region.primary.0)).sum::<u64>();
    total.peak[2] += kernel.regions.iter().map(|region| u64::from(region.primary.1)).sum::<u64>();
    total.seconds += kernel.seconds;
    let bound = kernel.cycles_per_wave_bound.unwrap_or(kernel.cycles_per_wave);
    if kernel.cycles_per_wave > 0.0 && before.cycles_per_wave > 0.0 && bound > 0.0 {
        total.kernels += 1;
        total.faster += u64::from(kernel.cycles_per_wave < before.cycles_per_wave);
        total.proven_cycles += u64::from(bound >= kernel.cycles_per_wave);
        total.log_change += (kernel.cycles_per_wave / before.cycles_per_wave).ln();
        total.log_gap += (kernel.cycles_per_wave / bound).ln();
    }
    [
        instructions.to_string(),
        with_bound(before.occupancy.into(), kernel.occupancy.into(), '≤', kernel.occupancy_bound.into()),
        with_bound(before.peak.into(), peak.into(), '≥', peak_bound.into()),
        with_bound(before.length, length, '≥', length_bound),
        format!("{proven}/{}", kernel.regions.len()),
        // Of one width, so that the layout does not change from run to run.
        format!("{:6.1}", kernel.seconds * 1e3),
    ]
}

/// Return the cycles for each wave, before and after, as `7.0 -> 6.5 (≥6.1)`. Large numbers have no digits after the point.
pub(super) fn cycles_figure(kernel: &KernelResult) -> String {
    let is_large = kernel.before().cycles_per_wave.max(kernel.cycles_per_wave) >= 1000.0;
    let short = |cycles: f64| if is_large { grouped(cycles.round() as u64) } else { in_tenths(cycles) };
    let [before, after] = [kernel.before().cycles_per_wave, kernel.cycles_per_wave].map(short);
    let bound = kernel.cycles_per_wave_bound.map(short).filter(|bound| *bound != after);
    let bound = bound.map(|bound| format!(" (≥{bound})")).unwrap_or_default();
    match before == after {
        true => format!("{after}{bound}"),
        false => format!("{before} -> {after}{bound}"),
    }
}

/// Return cycles with one digit after the point, as `1,234.5`.
pub(super) fn in_tenths(cycles: f64) -> String {
    let tenths = (cycles * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// Return `7 -> 9 (≤10)`. The bound is left out where the result meets it.
fn with_bound(before: u64, after: u64, relation: char, bound: u64) -> String {
    let text = change(before, after);
    match after == bound {
        true => text,
        false => format!("{text} ({relation}{bound})"),
    }
}

/// Sums over all kernels.
#[derive(Default)]
pub(super) struct Totals {
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
    /// Kernels with an estimate of cycles, with fewer of them than the baseline, and with proven ones.
    kernels: u64,
    faster: u64,
    proven_cycles: u64,
    /// Sums of logarithms: cycles after to before, and cycles to their bound.
    log_change: f64,
    log_gap: f64,
}

/// The sums over all kernels, as `--json` prints them.
#[derive(Serialize)]
pub(super) struct TotalsResult {
    regions: u64,
    instructions: u64,
    /// Regions that are optimal for the goal, and those whose waves and length are.
    proven: u64,
    proven_waves: u64,
    proven_length: u64,
    /// Of the baseline of each kernel, of the result, and the bounds on it.
    before: Sums,
    after: Sums,
    bound: Sums,
    weighted_length_before: u64,
    weighted_length: u64,
}

/// Waves over kernels; peaks of the first class, and lengths, over regions.
#[derive(Serialize)]
struct Sums {
    occupancy: u64,
    peak_sum: u64,
    length: u64,
}

impl Totals {
    /// Return empty sums. `repeated` regions have the graph of another one.
    pub(super) fn new(repeated: u64) -> Self {
        Totals { repeated, ..Totals::default() }
    }

    /// Describe waves and length with their bounds in one line.
    pub(super) fn in_short(&self) -> String {
        let [waves_before, waves, waves_bound] = self.occupancy;
        let [length_before, length, length_bound] = self.length;
        format!(
            "waves {} -> {} (at most {}), length {} -> {} (at least {}, gap {})",
            grouped(waves_before),
            grouped(waves),
            grouped(waves_bound),
            grouped(length_before),
            grouped(length),
            grouped(length_bound),
            progress::gap(length, length_bound)
        )
    }

    /// Return the sums for `--json`.
    pub(super) fn document(&self) -> TotalsResult {
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
        let open = self.kernels - self.proven_cycles;
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
            mean(self.log_change, self.kernels),
            grouped(self.faster),
            counted(self.kernels, "kernel"),
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
        algorithm: Method,
        goal: GoalArg,
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
            GoalArg::Minreg => (
                String::new(),
                String::new(),
                format!(
                    "peak:   {peak_before} -> {peak} registers of the first class, summed over regions; at least {peak_bound} are needed\n"
                ),
                format!("{} have the fewest registers possible", count(self.proven)),
            ),
            GoalArg::Length => (
                String::new(),
                format!(", at least {length_bound} are needed"),
                String::new(),
                format!("{} are as short as possible", count(self.proven)),
            ),
            GoalArg::Occupancy | GoalArg::Throughput => (
                format!(", at most {waves_bound} are possible"),
                format!(", at least {length_bound} are needed"),
                String::new(),
                format!(
                    "{} are as good as possible for the goal (waves {:.1} %, length {:.1} %)",
                    count(self.proven),
                    share(self.proven_waves),
                    share(self.proven_length)
                ),
            ),
        };
        let mut text = format!(
            "{} kernels, {} regions, {} instructions for {}, algorithm {}, {:.2} s of processor time\n\
             before: {}\n\
             {peak_line}\
             waves:  {waves_before} -> {waves}{waves_goal}\n\
             length: {length_before} -> {length} cycles{length_goal}{latencies}\n\
             loops:  {weighted_before} -> {weighted} cycles, where each loop around a region counts ten times\n\
             proven: {proven}\n\
             new:    {}; {} have the graph of another one",
            grouped(targets.len() as u64),
            grouped(self.regions),
            grouped(self.instructions),
            names.join(" and "),
            algorithm.name(),
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
