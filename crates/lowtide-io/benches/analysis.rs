//! Analyses on real regions: `cargo bench -p lowtide-io --bench analysis`. Those of this repository, or of
//! the larger corpus beside it where that exists.

use std::collections::HashSet;
use std::path::Path;

use divan::counter::ItemsCount;
use lowtide::analysis::closure::Closure;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::analysis::length_bound::lower_bound;
use lowtide::analysis::pressure::Tracker;
use lowtide::analysis::pressure_bound::pressure_bound;
use lowtide::analysis::times::Times;
use lowtide::budget::Budget;
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide::{ClassId, InstrId};
use lowtide_io::KernelReader;

fn main() {
    divan::main();
}

/// The distinct graphs of at least 48 instructions.
fn regions() -> Vec<Region> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = root.join("../shared/corpus");
    let files = match shared.is_dir() {
        true => ["clblast", "darktable", "hashcat", "rocprim"]
            .map(|name| shared.join(format!("{name}.jsonl.gz")))
            .to_vec(),
        false => ["hashcat", "rocprim"].map(|name| root.join(format!("corpus/{name}.jsonl.gz"))).to_vec(),
    };
    let mut seen = HashSet::new();
    let mut regions = Vec::new();
    for file in files {
        for kernel in KernelReader::open(&file).expect("a readable file") {
            let large =
                kernel.expect("a valid kernel").regions.into_iter().filter(|region| region.len() >= 48);
            regions.extend(large.filter(|region| seen.insert(fingerprint(region))));
        }
    }
    regions
}

fn largest() -> Region {
    regions().into_iter().max_by_key(Region::len).expect("a region")
}

/// Closure, times, pressure and the bound on the length of the largest region.
#[divan::bench(sample_count = 10)]
fn all_analyses_of_the_largest(bencher: divan::Bencher) {
    let region = largest();
    let target = Target::builtin("gfx906").expect("a built-in target");
    let problem = Problem::new(&region, &target, Goal::Length).expect("known classes");
    bencher.counter(ItemsCount::new(region.len())).bench_local(|| {
        let mut tracker = Tracker::new(&region);
        region.instrs().for_each(|instr| tracker.schedule(instr));
        (Closure::new(&region), Times::new(&region), lower_bound(&problem).best(), tracker.peaks())
    });
}

/// The bound by cuts of the largest region, complete.
#[divan::bench(sample_count = 10)]
fn cuts_of_the_largest(bencher: divan::Bencher) {
    let region = largest();
    let closure = Closure::new(&region);
    let source: Vec<InstrId> = region.instrs().collect();
    bencher
        .counter(ItemsCount::new(region.len()))
        .bench_local(|| pressure_bound(&region, ClassId(0), &closure, &source, Budget::default()).value);
}

/// The bounds by cuts of all regions of 48 to 600 instructions, closure included.
#[divan::bench(sample_count = 3)]
fn cuts_of_all(bencher: divan::Bencher) {
    let regions: Vec<Region> = regions().into_iter().filter(|region| region.len() <= 600).collect();
    let instructions: usize = regions.iter().map(Region::len).sum();
    bencher.counter(ItemsCount::new(instructions)).bench_local(|| {
        let bound = |region: &Region| {
            let source: Vec<InstrId> = region.instrs().collect();
            pressure_bound(region, ClassId(0), &Closure::new(region), &source, Budget::default()).value
        };
        regions.iter().map(bound).sum::<u32>()
    });
}
