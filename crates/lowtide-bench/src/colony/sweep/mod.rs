//! `lowtide bench colony --sweep`: the effect of each parameter of the colony (paper 4, Tables 6 and 7 and
//! Figure 4).
//!
//! The parameters of the command line are the base. Every variant changes one of them, at an equal limit on
//! choices.

mod chapter;

use std::collections::BTreeSet;
use std::time::Instant;

use lowtide::algorithm::Algorithm;
use lowtide::colony::{LANES, Lists, Parameters};
use lowtide::outcome::KernelOutcome;
use lowtide::pipeline::{Filter, Options};
use lowtide::region::Kernel;
use lowtide::simulate::{Machine, simulate_kernel};
use lowtide::target::{Latencies, Target};
use lowtide_tool::Failure;
use lowtide_tool::ants::read;
use lowtide_tool::input::Targets;
use lowtide_tool::solve::Run;
use lowtide_tool::table::grouped;
use rayon::prelude::*;
use serde::Serialize;

use super::args::ColonyArgs;
use crate::book::{Chapter, Table};
use crate::findings::Findings;

/// The thresholds of Table 7.
const THRESHOLDS: [u32; 6] = [5, 10, 15, 20, 21, 25];

/// The changes of run time that Table 7 counts, in percent.
pub(super) const CHANGES: [f64; 3] = [3.0, 5.0, 10.0];

/// The regions of Table 6: the paper has those of 100 instructions and more.
const STALL_SIZE: usize = 100;

/// The result of the experiment.
#[derive(Serialize)]
pub(super) struct Sweep {
    pub(super) kernels: u64,
    pub(super) regions: u64,
    pub(super) targets: BTreeSet<String>,
    pub(super) nodes: Option<u64>,
    /// Ants of an iteration, and whether the base is the published configuration.
    pub(super) ants: u32,
    pub(super) published: bool,
    /// Waves and length of the recorded production orders.
    pub(super) production: [u64; 2],
    pub(super) rows: Vec<Row>,
    /// Regions of at least 100 instructions, and their lengths by the share of groups that stall.
    pub(super) stall_regions: u64,
    pub(super) stalls: Vec<StallRow>,
    pub(super) filters: Vec<FilterRow>,
    /// Run time saved by the threshold of the paper, kernel by kernel, in percent of the production order's.
    /// The timing model computes it; kernels with the same run time are left out.
    pub(super) saved: Vec<f64>,
    /// Kernels of targets with a timing model.
    pub(super) timed: u64,
}

/// The effect of one parameter on all kernels.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) parameter: String,
    pub(super) occupancy: u64,
    pub(super) length: u64,
    /// The most cycles that a region saves against the base, and loses, in percent. Kernels with other waves
    /// do not count, here and below.
    pub(super) most_saved: f64,
    pub(super) most_lost: f64,
    /// Regions that are shorter than with the base, and longer.
    pub(super) shorter: u64,
    pub(super) longer: u64,
    pub(super) choices: u64,
    pub(super) seconds: f64,
}

/// A column of Table 6.
#[derive(Serialize)]
pub(super) struct StallRow {
    pub(super) share: u32,
    pub(super) length: u64,
    /// Against no stalls, in percent: of all regions together, and of the best one.
    pub(super) saved: f64,
    pub(super) most_saved: f64,
    pub(super) choices: u64,
    pub(super) seconds: f64,
}

/// A column of Table 7.
#[derive(Serialize)]
pub(super) struct FilterRow {
    pub(super) threshold: u32,
    /// Kernels whose run time falls, and rises, by at least [`CHANGES`].
    pub(super) improved: [u64; 3],
    pub(super) regressed: [u64; 3],
    /// The largest rise in percent.
    pub(super) most_regressed: f64,
    pub(super) choices: u64,
}

impl Findings for Sweep {
    fn text(&self) -> String {
        chapter::tables(self).iter().map(Table::as_text).collect::<Vec<_>>().join("\n\n")
    }

    fn chapter(&self, command: String) -> Chapter {
        chapter::chapter(self, command)
    }

    fn facts(&self) -> Vec<String> {
        vec![format!("{} kernels, {} variants of the colony", grouped(self.kernels), self.rows.len())]
    }
}

/// All kernels, scheduled once.
struct Scheduled {
    outcomes: Vec<KernelOutcome>,
    choices: u64,
    seconds: f64,
}

impl Scheduled {
    fn waves(&self) -> u64 {
        self.outcomes.iter().map(|outcome| u64::from(outcome.occupancy)).sum()
    }

    /// Return the lengths of the regions of each kernel, with the waves of the kernel.
    fn by_kernel(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = u64> + '_)> + '_ {
        self.outcomes.iter().map(|outcome| {
            let lengths = outcome.regions.iter().map(|region| u64::from(region.measure.length));
            (outcome.occupancy, lengths)
        })
    }

    /// Return the lengths of all regions.
    fn lengths(&self) -> impl Iterator<Item = u64> + '_ {
        self.outcomes.iter().flat_map(|outcome| &outcome.regions).map(|region| region.measure.length.into())
    }
}

/// The experiment: its kernels and its base.
struct Experiment<'k> {
    kernels: &'k [(Kernel, &'k Target)],
    options: Options,
}

impl Experiment<'_> {
    fn run(&self, options: &Options) -> Result<Scheduled, Failure> {
        let run = Run::new();
        let start = Instant::now();
        let outcomes = (self.kernels.par_iter())
            .map(|(kernel, target)| run.schedule_kernel(kernel, target, options))
            .collect::<Result<Vec<_>, _>>()?;
        let choices = run.statistics().spent().iter().map(|spent| spent.states).sum();
        Ok(Scheduled { outcomes, choices, seconds: start.elapsed().as_secs_f64() })
    }

    fn with(&self, colony: Parameters) -> Result<Scheduled, Failure> {
        self.run(&self.options.with_colony(colony))
    }

    /// Return the run time of each kernel for each wave, where the target has a timing model.
    fn clocks(&self, scheduled: &Scheduled) -> Result<Vec<Option<f64>>, Failure> {
        let clocks = |((kernel, target), outcome): (&(Kernel, &Target), &KernelOutcome)| {
            let machine = Machine::of(target).map_err(Failure::target(&kernel.name))?;
            let Some(machine) = machine else { return Ok(None) };
            let orders = outcome.regions.iter().map(|region| region.schedule.order());
            let waves = outcome.occupancy.max(1);
            let timing = simulate_kernel(kernel, target, &machine, Latencies::TARGET, orders, waves);
            let timing = timing.map_err(|violations| {
                let first = violations.first().map(ToString::to_string).unwrap_or_default();
                Failure::Message(format!("kernel {:?}: {first}", kernel.name))
            })?;
            Ok(Some(timing.clocks_per_wave()))
        };
        self.kernels.par_iter().zip(&scheduled.outcomes).map(clocks).collect()
    }
}

/// Return each parameter changed alone.
fn variants(usual: Parameters) -> Vec<(String, Parameters)> {
    let mut variants = Vec::new();
    let mut add = |name: &str, values: &[u32], change: &dyn Fn(u32) -> Parameters| {
        variants.extend(values.iter().map(|&value| (format!("{name} {value}"), change(value))));
    };
    add("groups", &[2, 32], &|groups| Parameters { groups, ..usual });
    add("explorations", &[3, 40], &|explorations| Parameters { explorations, ..usual });
    add("decay 0.", &[2, 9], &|tenths| Parameters { remains: tenths * 1_000, ..usual });
    add("slack", &[0, 2, 64], &|slack| Parameters { slack, ..usual });
    add("patience", &[1, 10], &|patience| Parameters { patience: [patience; 3], ..usual });
    variants.iter_mut().for_each(|(name, _)| *name = name.replace("0. ", "0."));
    variants.push((
        if usual.guards { "guards off" } else { "guards on" }.to_string(),
        Parameters { guards: !usual.guards, ..usual },
    ));
    let other =
        if usual.start == Parameters::PAPER.start { Parameters::default() } else { Parameters::PAPER };
    let name = if other.start == Parameters::PAPER.start { "production" } else { "best" };
    variants.push((format!("start {name}"), Parameters { start: other.start, ..usual }));
    for (name, lists) in [("shortest", Lists::Shortest), ("middle", Lists::Middle)] {
        variants.push((format!("lists: {name}"), Parameters { lists, ..usual }));
    }
    // Other seeds show the effect of chance.
    variants.extend([101, 102].map(|seed| (format!("seed {seed}"), Parameters { seed, ..usual })));
    variants
}

/// Schedule all kernels with each variant.
pub(super) fn measure(args: &ColonyArgs) -> Result<Sweep, Failure> {
    let targets = Targets::new(&args.target)?;
    let sizes = args.sizes();
    let mut kernels = read(&args.input, &targets)?;
    kernels.retain(|(kernel, _)| kernel.regions.iter().any(|region| sizes.contains(&region.len())));
    let experiment = Experiment { kernels: &kernels, options: args.options() };
    let options = experiment.options;
    let usual = options.colony;
    let production = experiment.run(&options.with_algorithm(Algorithm::PRODUCTION))?;
    let base = experiment.with(usual)?;
    let mut rows = vec![Row::new("base", &base, &base)];
    // The two configurations at the same number of ants.
    for (name, preset) in [("preset default", Parameters::default()), ("preset paper", Parameters::PAPER)] {
        let preset = Parameters { seed: usual.seed, groups: usual.groups, ..preset };
        if preset != usual {
            rows.push(Row::new(name, &experiment.with(preset)?, &base));
        }
    }
    for (name, colony) in variants(usual) {
        if colony != usual {
            rows.push(Row::new(&name, &experiment.with(colony)?, &base));
        }
    }
    let (stall_regions, stalls) = stalls(&experiment)?;
    let (filters, saved, timed) = filters(&experiment, &production)?;
    Ok(Sweep {
        kernels: kernels.len() as u64,
        regions: kernels.iter().map(|(kernel, _)| kernel.regions.len() as u64).sum(),
        targets: kernels.iter().map(|(_, target)| target.name().to_string()).collect(),
        nodes: options.budget.nodes,
        ants: usual.groups * LANES,
        published: usual.start == Parameters::PAPER.start && !usual.guards,
        production: [production.waves(), production.lengths().sum()],
        rows,
        stall_regions,
        stalls,
        filters,
        saved,
        timed,
    })
}

impl Row {
    fn new(parameter: &str, own: &Scheduled, base: &Scheduled) -> Row {
        // Schedules with other waves have other limits.
        let kernels = || base.by_kernel().zip(own.by_kernel()).filter(|(base, own)| base.0 == own.0);
        let changes = || kernels().flat_map(|(base, own)| base.1.zip(own.1));
        let saved = |(before, after): (u64, u64)| saved(before, after);
        Row {
            parameter: parameter.to_string(),
            occupancy: own.waves(),
            length: own.lengths().sum(),
            most_saved: changes().map(saved).fold(0.0, f64::max),
            most_lost: changes().map(|change| -saved(change)).fold(0.0, f64::max),
            shorter: changes().filter(|(before, after)| after < before).count() as u64,
            longer: changes().filter(|(before, after)| after > before).count() as u64,
            choices: own.choices,
            seconds: own.seconds,
        }
    }
}

/// Return the part of a figure that is saved, in percent.
fn saved(before: u64, after: u64) -> f64 {
    100.0 * (1.0 - after as f64 / before.max(1) as f64)
}

/// Measure Table 6: the share of groups that may stall. Pass 1 does not stall, so the limits on registers
/// stay the same.
fn stalls(experiment: &Experiment) -> Result<(u64, Vec<StallRow>), Failure> {
    let regions = experiment.kernels.iter().flat_map(|(kernel, _)| &kernel.regions);
    let counts: Vec<bool> = regions.map(|region| region.len() >= STALL_SIZE).collect();
    let mut without: Option<Vec<u64>> = None;
    let mut rows = Vec::new();
    for share in [0, 25, 50, 75, 100] {
        let own = experiment.with(Parameters { stall_share: share, ..experiment.options.colony })?;
        let lengths: Vec<u64> =
            own.lengths().zip(&counts).filter(|(_, counts)| **counts).map(|(length, _)| length).collect();
        let before = without.get_or_insert_with(|| lengths.clone());
        let best = before.iter().zip(&lengths).map(|(before, after)| saved(*before, *after));
        rows.push(StallRow {
            share,
            length: lengths.iter().sum(),
            saved: saved(before.iter().sum(), lengths.iter().sum()),
            most_saved: best.fold(0.0, f64::max),
            choices: own.choices,
            seconds: own.seconds,
        });
    }
    Ok((counts.iter().filter(|counts| **counts).count() as u64, rows))
}

/// Measure Table 7 and Figure 4: the run time of whole kernels by the timing model, for each threshold.
fn filters(
    experiment: &Experiment,
    production: &Scheduled,
) -> Result<(Vec<FilterRow>, Vec<f64>, u64), Failure> {
    let before = experiment.clocks(production)?;
    let mut rows = Vec::new();
    let mut of_paper = Vec::new();
    for threshold in THRESHOLDS {
        let filter = Filter { few_cycles_to_gain: threshold, ..Filter::default() };
        let own = experiment.run(&experiment.options.with_filter(Some(filter)))?;
        let after = experiment.clocks(&own)?;
        let changes: Vec<f64> = (before.iter().zip(&after))
            .filter_map(|(before, after)| Some(100.0 * (((*before)? / (*after)?) - 1.0)))
            .collect();
        let at_least = |sign: f64| {
            CHANGES.map(|least| changes.iter().filter(|change| sign * **change >= least).count() as u64)
        };
        rows.push(FilterRow {
            threshold,
            improved: at_least(1.0),
            regressed: at_least(-1.0),
            most_regressed: changes.iter().map(|change| -change).fold(0.0, f64::max),
            choices: own.choices,
        });
        if threshold == Filter::default().few_cycles_to_gain {
            of_paper = changes.into_iter().filter(|change| *change != 0.0).collect();
        }
    }
    Ok((rows, of_paper, before.iter().flatten().count() as u64))
}
