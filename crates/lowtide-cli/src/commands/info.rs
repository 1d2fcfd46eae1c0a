//! `lowtide info`: the contents of region files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use lowtide::region::{DepKind, Kernel, Region};
use lowtide::target::Latencies;
use lowtide_tool::Failure;
use lowtide_tool::args::{FormatArgs, InputArgs, LatencyArgs, TargetArgs};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::table::{grouped, table, width, wrapped};
use serde::Serialize;

/// The arguments of `lowtide info`.
#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    latencies: LatencyArgs,

    #[command(flatten)]
    format: FormatArgs,
}

/// The first size of each range.
const SIZES: [usize; 6] = [1, 10, 48, 100, 600, 1000];

#[derive(Serialize, Default)]
struct Info {
    kernels: u64,
    /// Kernels that waves start at. The others are functions that kernels call.
    entries: u64,
    regions: u64,
    instructions: u64,
    largest: u64,
    values: u64,
    edges: u64,
    /// Regions with a recorded production order.
    production: u64,
    /// The sum over regions of the longest path by latencies: no schedule of a region is shorter.
    critical_path: u64,
    /// The latencies of these paths.
    latencies: BTreeSet<String>,
    targets: BTreeMap<String, u64>,
    dependences: BTreeMap<&'static str, u64>,
    sizes: [Size; SIZES.len()],
    seconds: f64,
}

#[derive(Serialize, Default, Clone, Copy)]
struct Size {
    from: u64,
    regions: u64,
    instructions: u64,
}

impl Info {
    fn of(kernel: &Kernel) -> Info {
        let mut info = Info { kernels: 1, entries: u64::from(kernel.is_entry), ..Info::default() };
        let target = kernel.target.clone().unwrap_or_else(|| "(none)".to_string());
        info.targets.insert(target, 1);
        for region in &kernel.regions {
            let size = region.len() as u64;
            info.regions += 1;
            info.instructions += size;
            info.largest = info.largest.max(size);
            info.values += region.values().len() as u64;
            info.edges += region.edge_count() as u64;
            info.production += u64::from(region.production().is_some());
            info.critical_path += critical_path(region);
            for dep in region.deps() {
                *info.dependences.entry(dep.kind.name()).or_default() += 1;
            }
            let range = SIZES.iter().rposition(|from| region.len() >= *from).unwrap_or(0);
            info.sizes[range].regions += 1;
            info.sizes[range].instructions += size;
        }
        info
    }

    /// Return the ranges of sizes. The last one has no end.
    fn csv_rows(&self) -> Vec<Vec<String>> {
        let ends = SIZES[1..].iter().map(|next| (next - 1).to_string()).chain([String::new()]);
        let row = |(size, end): (&Size, String)| {
            vec![size.from.to_string(), end, size.regions.to_string(), size.instructions.to_string()]
        };
        self.sizes.iter().zip(ends).map(row).collect()
    }

    fn add(&mut self, other: Info) {
        self.kernels += other.kernels;
        self.entries += other.entries;
        self.regions += other.regions;
        self.instructions += other.instructions;
        self.largest = self.largest.max(other.largest);
        self.values += other.values;
        self.edges += other.edges;
        self.production += other.production;
        self.critical_path += other.critical_path;
        self.latencies.extend(other.latencies);
        for (target, count) in other.targets {
            *self.targets.entry(target).or_default() += count;
        }
        for (kind, count) in other.dependences {
            *self.dependences.entry(kind).or_default() += count;
        }
        for (size, other) in self.sizes.iter_mut().zip(other.sizes) {
            size.regions += other.regions;
            size.instructions += other.instructions;
        }
    }
}

/// Return the cycles from the first issue to the last one on the longest path, both included.
fn critical_path(region: &Region) -> u64 {
    let mut earliest = vec![0u64; region.len()];
    for instr in region.instrs() {
        let ready = region.preds(instr).iter();
        let ready = ready.map(|edge| earliest[edge.instr.index()] + u64::from(edge.latency));
        earliest[instr.index()] = ready.max().unwrap_or(0);
    }
    earliest.into_iter().max().unwrap_or(0) + 1
}

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let latencies = args.latencies.named()?.unwrap_or(Latencies::TARGET);
    let targets = Targets::new(&args.target)?.with_latencies(latencies);
    let start = Instant::now();
    let mut info = Info::default();
    for (size, from) in info.sizes.iter_mut().zip(SIZES) {
        size.from = from as u64;
    }
    for_each_kernel(
        &args.input,
        |kernel| {
            // Files for unknown GPUs can be described, too.
            let (kernel, latencies) = match targets.of(&kernel) {
                Err(_) => (kernel, Latencies::Recorded),
                Ok(_) => {
                    let (kernel, target) = targets.prepare(kernel)?;
                    (kernel, targets.latencies_on(target))
                }
            };
            let mut info = Info::of(&kernel);
            info.latencies.insert(latencies.to_string());
            Ok(info)
        },
        |part| {
            info.add(part);
            Ok(())
        },
    )?;
    info.seconds = start.elapsed().as_secs_f64();
    if args.format.json {
        return print_json(&info);
    }
    if args.format.csv {
        return print_csv(&["from", "to", "regions", "instructions"], info.csv_rows());
    }
    print(&wrapped(&as_text(&info), width()))
}

fn as_text(info: &Info) -> String {
    let mut rows = table(1, &["regions of", "regions", "instructions"]);
    for (position, size) in info.sizes.iter().enumerate() {
        let range = match SIZES.get(position + 1) {
            Some(next) => format!("{} to {}", size.from, next - 1),
            None => format!("{} and more", size.from),
        };
        rows.add_row([range, grouped(size.regions), grouped(size.instructions)]);
    }
    let list = |counts: &mut dyn Iterator<Item = (String, u64)>| {
        counts.map(|(name, count)| format!("{} {name}", grouped(count))).collect::<Vec<_>>().join(", ")
    };
    let kinds = DepKind::ALL.map(DepKind::name);
    let mut dependences =
        kinds.iter().map(|kind| (kind.to_string(), info.dependences.get(kind).copied().unwrap_or(0)));
    let mut targets = info.targets.iter().map(|(name, count)| (name.clone(), *count));
    format!(
        "{} kernels ({} entries), {} regions, {} instructions, the largest region has {}\n\
         made for: {}\n\
         values: {}; graph edges: {}; dependences: {}\n\
         critical paths: {} cycles in all regions together (latencies: {})\n\
         recorded production orders: {}\n\n{rows}\n\n\
         read and validated in {:.2} s: {} instructions/s",
        grouped(info.kernels),
        grouped(info.entries),
        grouped(info.regions),
        grouped(info.instructions),
        grouped(info.largest),
        list(&mut targets),
        grouped(info.values),
        grouped(info.edges),
        list(&mut dependences),
        grouped(info.critical_path),
        info.latencies.iter().map(String::as_str).collect::<Vec<_>>().join(" and "),
        grouped(info.production),
        info.seconds,
        grouped((info.instructions as f64 / info.seconds) as u64),
    )
}
