//! The figures of a kernel, and their sums over all kernels.

use std::sync::{Mutex, PoisonError};

use lowtide::target::Latencies;
use lowtide_tool::progress;
use lowtide_tool::table::{change, counted, grouped, shorten};

use super::work::KernelResult;
use crate::args::Method;

/// The titles of the figures.
pub(super) const FIGURES: [&str; 6] = ["size", "waves", "peak", "length", "proven", "ms"];

/// Print a line for an improved kernel, and the totals so far.
pub(super) fn tell_kernel(kernel: &KernelResult, so_far: &Mutex<Totals>) {
    let [_, waves, _, length, ..] = figures(kernel, &mut Totals::default());
    let mut total = so_far.lock().unwrap_or_else(PoisonError::into_inner);
    let before = total.length;
    figures(kernel, &mut total);
    let [source, now, _] = [0, 1, 2].map(|place| total.length[place] - before[place]);
    if kernel.occupancy > kernel.source.occupancy
        || kernel.occupancy == kernel.source.occupancy && now < source
    {
        progress::line(&format!("{}: waves {waves}, length {length}", shorten(&kernel.name, 40)));
    }
    progress::totals(&total.in_short());
}

/// Return the figures of a kernel, and add them to the totals.
pub(super) fn figures(kernel: &KernelResult, total: &mut Totals) -> [String; FIGURES.len()] {
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
    total.occupancy[0] += u64::from(kernel.source.occupancy);
    total.occupancy[1] += u64::from(kernel.occupancy);
    total.occupancy[2] += u64::from(kernel.occupancy_bound);
    total.length[0] += kernel.source.length;
    total.length[1] += length;
    total.length[2] += length_bound;
    total.seconds += kernel.seconds;
    let bound = kernel.cycles_per_wave_bound.unwrap_or(kernel.cycles_per_wave);
    if kernel.cycles_per_wave > 0.0 && kernel.source.cycles_per_wave > 0.0 && bound > 0.0 {
        total.kernels += 1;
        total.faster += u64::from(kernel.cycles_per_wave < kernel.source.cycles_per_wave);
        total.proven_cycles += u64::from(bound >= kernel.cycles_per_wave);
        total.log_change += (kernel.cycles_per_wave / kernel.source.cycles_per_wave).ln();
        total.log_gap += (kernel.cycles_per_wave / bound).ln();
    }
    [
        instructions.to_string(),
        with_bound(
            kernel.source.occupancy.into(),
            kernel.occupancy.into(),
            '≤',
            kernel.occupancy_bound.into(),
        ),
        with_bound(kernel.source.peak.into(), peak.into(), '≥', peak_bound.into()),
        with_bound(kernel.source.length, length, '≥', length_bound),
        format!("{proven}/{}", kernel.regions.len()),
        // Of one width, so that the layout does not change from run to run.
        format!("{:6.1}", kernel.seconds * 1e3),
    ]
}

/// Return the cycles for each wave, before and after, as `7.0 -> 6.5 (≥6.1)`. Large numbers have no digits after the point.
pub(super) fn cycles_figure(kernel: &KernelResult) -> String {
    let is_large = kernel.source.cycles_per_wave.max(kernel.cycles_per_wave) >= 1000.0;
    let short = |cycles: f64| if is_large { grouped(cycles.round() as u64) } else { in_tenths(cycles) };
    let [before, after] = [kernel.source.cycles_per_wave, kernel.cycles_per_wave].map(short);
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
    /// Of the source order, of the result, and the bound.
    occupancy: [u64; 3],
    length: [u64; 3],
    seconds: f64,
    /// Kernels with an estimate of cycles, with fewer of them than in source order, and with proven ones.
    kernels: u64,
    faster: u64,
    proven_cycles: u64,
    /// Sums of logarithms: cycles after to before, and cycles to their bound.
    log_change: f64,
    log_gap: f64,
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

    /// Describe the totals in several lines.
    pub(super) fn in_words(&self, targets: &[&str], latencies: &[String], algorithm: Method) -> String {
        let [waves_before, waves, waves_bound] = self.occupancy.map(grouped);
        let [length_before, length, length_bound] = self.length.map(grouped);
        let mut names: Vec<&str> = targets.to_vec();
        names.sort_unstable();
        names.dedup();
        let share = |count: u64| 100.0 * count as f64 / self.regions.max(1) as f64;
        let mut text = format!(
            "{} kernels, {} regions, {} instructions for {}, algorithm {}, {:.2} s of processor time\n\
             waves:  {waves_before} -> {waves}, at most {waves_bound} are possible\n\
             length: {length_before} -> {length} cycles, at least {length_bound} are needed{}\n\
             proven: {} regions ({:.1} %) are as good as possible for the goal (waves {:.1} %, length {:.1} %)\n\
             new:    {}; {} have the graph of another one",
            grouped(targets.len() as u64),
            grouped(self.regions),
            grouped(self.instructions),
            names.join(" and "),
            algorithm.name(),
            self.seconds,
            match latencies {
                [one] if *one == Latencies::Recorded.to_string() => String::new(),
                all => format!(" (latencies: {})", all.join(" and ")),
            },
            grouped(self.proven),
            share(self.proven),
            share(self.proven_waves),
            share(self.proven_length),
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
