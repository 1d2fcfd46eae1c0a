//! `lowtide simulate`: orders replayed on a timing model of one SIMD.

use std::path::PathBuf;

use clap::ValueEnum;
use lowtide::InstrId;
use lowtide::problem::{Goal, Measure, Problem, waves_together};
use lowtide::region::Kernel;
use lowtide::schedule::Schedule;
use lowtide::simulate::{KernelTiming, Machine, RegionTiming, Stalls, simulate_kernel};
use lowtide::target::{Latencies, Target};
use lowtide_io::ScheduleReader;
use lowtide_tool::Failure;
use lowtide_tool::args::{FormatArgs, InputArgs, LatencyArgs, TargetArgs};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::names::readable;
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::table::{Sheet, grouped, width, wrapped};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The arguments of `lowtide simulate`.
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    latencies: LatencyArgs,

    /// Replay the orders of a file that `lowtide schedule -o` has written
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "order")]
    schedules: Option<PathBuf>,

    /// Replay these orders
    #[arg(long, value_enum, default_value = "production")]
    order: OrderArg,

    /// Run N waves [default: those that fit with the registers of the orders]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    waves: Option<u32>,

    /// Print a line for each region
    #[arg(long)]
    regions: bool,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OrderArg {
    /// The order of the file
    Source,
    /// The recorded order of the production compiler, or the order of the file without one
    Production,
}

#[derive(Serialize)]
struct Document {
    order: String,
    kernels: Vec<KernelResult>,
    /// Clocks of all kernels, for one wave of each.
    clocks_per_wave: f64,
}

#[derive(Serialize)]
struct KernelResult {
    name: String,
    readable_name: String,
    origin: String,
    target: String,
    latencies: String,
    waves: u32,
    /// Clocks of the SIMD until all waves have passed the kernel.
    clocks: u64,
    /// The same for one wave.
    clocks_per_wave: f64,
    /// The share of rounds in which an instruction issues.
    utilisation: f64,
    /// Clocks that waves wait, for one wave, by reason.
    stalls: StallResult,
    regions: Vec<RegionResult>,
}

#[derive(Serialize)]
struct RegionResult {
    name: String,
    n: usize,
    frequency: u64,
    clocks: u64,
    clocks_per_wave: f64,
    floor: u64,
    utilisation: f64,
    stalls: StallResult,
}

/// Waits of one wave, on average.
#[derive(Serialize, Default, Clone, Copy)]
struct StallResult {
    memory: f64,
    local: f64,
    scalar: f64,
    dependence: f64,
    issue: f64,
}

impl StallResult {
    fn new(stalls: Stalls, waves: u32) -> Self {
        let of = |clocks: u64| clocks as f64 / f64::from(waves);
        StallResult {
            memory: of(stalls.memory),
            local: of(stalls.local),
            scalar: of(stalls.scalar),
            dependence: of(stalls.dependence),
            issue: of(stalls.issue),
        }
    }

    fn add(&mut self, other: StallResult, times: u64) {
        let times = times as f64;
        self.memory += times * other.memory;
        self.local += times * other.local;
        self.scalar += times * other.scalar;
        self.dependence += times * other.dependence;
        self.issue += times * other.issue;
    }
}

/// Origin, kernel and region.
type Key = (String, String, String);

pub(crate) fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let latencies = args.latencies.named()?.unwrap_or(Latencies::TARGET);
    let targets = Targets::new(&args.target)?;
    let mut orders: FxHashMap<Key, Vec<InstrId>> = FxHashMap::default();
    if let Some(file) = &args.schedules {
        for entry in ScheduleReader::open(file)? {
            let entry = entry?;
            orders.insert((entry.origin, entry.kernel, entry.region), entry.schedule.order().to_vec());
        }
    }
    let mut document = Document { order: String::new(), kernels: Vec::new(), clocks_per_wave: 0.0 };
    document.order = match &args.schedules {
        Some(file) => file.display().to_string(),
        None => lowtide_tool::args::name_of(&args.order),
    };
    for_each_kernel(
        &args.input,
        |kernel| {
            let target = targets.of(&kernel)?;
            let own = orders_of(args, &kernel, &orders)?;
            simulate(args, &kernel, target, latencies, &own)
        },
        |result| {
            document.clocks_per_wave += result.clocks_per_wave;
            document.kernels.push(result);
            Ok(())
        },
    )?;
    match args.format {
        FormatArgs { json: true, .. } => print_json(&document),
        FormatArgs { csv: true, .. } => {
            print_csv(&CSV, document.kernels.iter().flat_map(|kernel| kernel.csv_rows(args.regions)))
        }
        _ => print(&as_table(&document, args.regions)),
    }
}

/// The columns of `--csv`.
const CSV: [&str; 18] = [
    "kernel",
    "readable_name",
    "origin",
    "region",
    "target",
    "latencies",
    "instructions",
    "frequency",
    "waves",
    "clocks",
    "clocks_per_wave",
    "floor",
    "utilisation",
    "memory",
    "local",
    "scalar",
    "dependence",
    "issue",
];

/// Return the order of each region.
fn orders_of(
    args: &SimulateArgs,
    kernel: &Kernel,
    orders: &FxHashMap<Key, Vec<InstrId>>,
) -> Result<Vec<Vec<InstrId>>, Failure> {
    let of = |region: &lowtide::region::Region| match (&args.schedules, args.order, region.production()) {
        (Some(file), _, _) => {
            let key = (kernel.origin.clone(), kernel.name.clone(), region.name().to_string());
            let order = orders.get(&key).cloned();
            order.ok_or_else(|| {
                let file = file.display();
                let place = format!("kernel {:?}, region {}", kernel.name, region.name());
                Failure::Message(format!("{file}: {place} has no schedule"))
            })
        }
        (None, OrderArg::Production, Some(production)) => Ok(production.order.clone()),
        (None, _, _) => Ok(region.instrs().collect()),
    };
    kernel.regions.iter().map(of).collect()
}

fn simulate(
    args: &SimulateArgs,
    kernel: &Kernel,
    target: &Target,
    latencies: Latencies,
    orders: &[Vec<InstrId>],
) -> Result<KernelResult, Failure> {
    let machine = Machine::of(target).map_err(Failure::target(&kernel.name))?.ok_or_else(|| {
        Failure::Message(format!(
            "kernel {:?}: target {} has no part [simulate] (docs/simulate.md)",
            kernel.name,
            target.name()
        ))
    })?;
    let timing = |waves| {
        let orders = orders.iter().map(Vec::as_slice);
        simulate_kernel(kernel, target, &machine, latencies, orders, waves).map_err(|violations| {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            Failure::Message(format!("kernel {:?}: {first}", kernel.name))
        })
    };
    let waves = match args.waves {
        Some(waves) => waves,
        None => {
            // An order that is not legal has no pressure.
            timing(1)?;
            fitting_waves(kernel, target, orders)?
        }
    };
    let timing = timing(waves)?;
    Ok(KernelResult::new(kernel, target, latencies, &timing))
}

/// Return the waves that fit with the registers of the orders.
fn fitting_waves(kernel: &Kernel, target: &Target, orders: &[Vec<InstrId>]) -> Result<u32, Failure> {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let problems = kernel.regions.iter().map(|region| Problem::new(region, target, Goal::Occupancy));
    let problems = problems.collect::<Result<Vec<_>, _>>().map_err(Failure::target(&kernel.name))?;
    let schedules = problems.iter().zip(orders);
    let measures: Vec<Measure> = schedules
        .map(|(problem, order)| problem.measure(&Schedule::in_order(problem, order.clone())))
        .collect();
    Ok(waves_together(&problems, &measures, most).max(1))
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl KernelResult {
    fn new(kernel: &Kernel, target: &Target, latencies: Latencies, timing: &KernelTiming) -> Self {
        let mut stalls = StallResult::default();
        let mut busy = 0u64;
        let mut regions = Vec::new();
        for (region, own) in kernel.regions.iter().zip(&timing.regions) {
            let RegionTiming { frequency, clocks, busy: own_busy, floor, .. } = *own;
            let own_stalls = StallResult::new(own.stalls, timing.waves);
            stalls.add(own_stalls, frequency);
            busy = busy.saturating_add(own_busy.saturating_mul(frequency));
            regions.push(RegionResult {
                name: region.name().to_string(),
                n: region.len(),
                frequency,
                clocks,
                clocks_per_wave: clocks as f64 / f64::from(timing.waves),
                floor,
                utilisation: share(own_busy, clocks),
                stalls: own_stalls,
            });
        }
        KernelResult {
            name: kernel.name.clone(),
            readable_name: readable(&kernel.name).into_owned(),
            origin: kernel.origin.clone(),
            target: target.name().to_string(),
            latencies: target.resolve(latencies).to_string(),
            waves: timing.waves,
            clocks: timing.clocks(),
            clocks_per_wave: timing.clocks_per_wave(),
            utilisation: share(busy, timing.clocks()),
            stalls,
            regions,
        }
    }

    /// Return the row of the kernel for `--csv`, with the rows of its regions if wanted. Cells that only
    /// regions have are empty in the row of a kernel.
    fn csv_rows(&self, with_regions: bool) -> Vec<Vec<String>> {
        let row = |region: Option<&RegionResult>| {
            let of_region = |cell: &dyn Fn(&RegionResult) -> String| region.map(cell).unwrap_or_default();
            let (clocks, per_wave, utilisation, stalls) = match region {
                Some(own) => (own.clocks, own.clocks_per_wave, own.utilisation, own.stalls),
                None => (self.clocks, self.clocks_per_wave, self.utilisation, self.stalls),
            };
            let StallResult { memory, local, scalar, dependence, issue } = stalls;
            let mut cells = vec![
                self.name.clone(),
                self.readable_name.clone(),
                self.origin.clone(),
                of_region(&|own| own.name.clone()),
                self.target.clone(),
                self.latencies.clone(),
                of_region(&|own| own.n.to_string()),
                of_region(&|own| own.frequency.to_string()),
                self.waves.to_string(),
                clocks.to_string(),
                per_wave.to_string(),
                of_region(&|own| own.floor.to_string()),
                utilisation.to_string(),
            ];
            cells.extend([memory, local, scalar, dependence, issue].map(|clocks| clocks.to_string()));
            cells
        };
        let regions = self.regions.iter().filter(|_| with_regions).map(Some);
        [None].into_iter().chain(regions).map(row).collect()
    }
}

fn as_table(document: &Document, with_regions: bool) -> String {
    /// Waves, clocks, clocks for each wave, and the share of rounds that issue.
    type Figures = (String, u64, f64, f64, StallResult);
    let (mut names, mut rows): (Vec<String>, Vec<Figures>) = (Vec::new(), Vec::new());
    for kernel in &document.kernels {
        let waves = kernel.waves.to_string();
        names.push(kernel.readable_name.clone());
        rows.push((waves, kernel.clocks, kernel.clocks_per_wave, kernel.utilisation, kernel.stalls));
        for region in kernel.regions.iter().filter(|_| with_regions) {
            names.push(format!("  {} x{}", region.name, region.frequency));
            rows.push((
                String::new(),
                region.clocks,
                region.clocks_per_wave,
                region.utilisation,
                region.stalls,
            ));
        }
    }
    let column = |cell: &dyn Fn(&Figures) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    let waits = |part: fn(&StallResult) -> f64| column(&|row| grouped(part(&row.4).round() as u64));
    let mut sheet = Sheet::new("kernel", names);
    sheet.column(0, "waves", column(&|row| row.0.clone()));
    sheet.column(4, "clocks", column(&|row| grouped(row.1)));
    sheet.column(0, "per wave", column(&|row| format!("{:.1}", row.2)));
    sheet.column(1, "issue %", column(&|row| format!("{:.1}", 100.0 * row.3)));
    sheet.column(1, "memory", waits(|stalls| stalls.memory));
    sheet.column(2, "local", waits(|stalls| stalls.local));
    sheet.column(2, "scalar", waits(|stalls| stalls.scalar));
    sheet.column(3, "dependence", waits(|stalls| stalls.dependence));
    sheet.column(1, "unit", waits(|stalls| stalls.issue));
    let notes = format!(
        "Order: {}. Clocks are those in which all waves pass the kernel, each region times its frequency (a region: once).\n\
         \"issue %\": rounds in which an instruction issues. memory to unit: clocks that a wave waits, on average, by reason.\n\
         {} kernels, {:.1} clocks for one wave of each",
        document.order,
        grouped(document.kernels.len() as u64),
        document.clocks_per_wave,
    );
    format!("{}\n\n{}", sheet.text(), wrapped(&notes, width()))
}
