//! How long the analyses take on real regions, where the shared corpus lies beside the repository. For the figures:
//! `cargo test --release -p lowtide-io --test shared_analysis -- --nocapture`

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

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

/// The distinct graphs with at least so many instructions.
fn regions(fewest: usize) -> Option<Vec<Region>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !folder.is_dir() {
        // Unlike the print macros, this is seen without --nocapture.
        let _ = writeln!(std::io::stderr(), "skipped: there is no ../shared/corpus beside the repository");
        return None;
    }
    let mut seen = std::collections::HashSet::new();
    let mut regions = Vec::new();
    for name in ["clblast", "darktable", "hashcat", "rocprim"] {
        for kernel in KernelReader::open(&folder.join(format!("{name}.jsonl.gz"))).unwrap() {
            let large = kernel.unwrap().regions.into_iter().filter(|region| region.len() >= fewest);
            regions.extend(large.filter(|region| seen.insert(fingerprint(region))));
        }
    }
    Some(regions)
}

#[test]
fn analyses_are_fast_on_real_regions() {
    let Some(regions) = regions(48) else { return };
    let target = Target::builtin("gfx906").unwrap();
    let largest = regions.iter().max_by_key(|region| region.len()).unwrap();
    let problem = Problem::new(largest, &target, Goal::Length).unwrap();

    let start = Instant::now();
    let closure = Closure::new(largest);
    let times = Times::new(largest);
    let bounds = lower_bound(&problem);
    let mut tracker = Tracker::new(largest);
    largest.instrs().for_each(|instr| tracker.schedule(instr));
    let all = start.elapsed();
    println!(
        "largest region: {} instructions, closure, times, pressure and length bounds in {all:?} (critical path {}, bound {})",
        largest.len(),
        times.critical_path(),
        bounds.best()
    );
    assert!(all < Duration::from_secs(1), "{all:?}");

    let source: Vec<InstrId> = largest.instrs().collect();
    let start = Instant::now();
    let complete = pressure_bound(largest, ClassId(0), &closure, &source, Budget::default());
    println!("its bound by cuts, complete: {} in {:?}", complete.value, start.elapsed());
    let budget = Budget { time_per_instr: Some(Duration::from_micros(5)), ..Budget::UNLIMITED };
    let start = Instant::now();
    let hurried = pressure_bound(largest, ClassId(0), &closure, &source, budget);
    println!("its bound by cuts within 5 us an instruction: {} in {:?}", hurried.value, start.elapsed());
    assert!(hurried.value <= complete.value && complete.complete);

    let (mut count, mut share, mut tight) = (0, 0.0, 0);
    for region in regions.iter().filter(|region| region.len() <= 600) {
        let source: Vec<InstrId> = region.instrs().collect();
        let start = Instant::now();
        let closure = Closure::new(region);
        let bound = pressure_bound(region, ClassId(0), &closure, &source, Budget::default());
        share += start.elapsed().as_secs_f64() / region.len() as f64;
        count += 1;
        tight += u32::from(bound.value == bound.peak);
    }
    let mean = 1e6 * share / f64::from(count);
    println!(
        "bound by cuts, closure included, on {count} distinct graphs of 48 to 600: {mean:.2} us an instruction in the mean; {tight} meet an order on the way"
    );
    assert!(mean < 100.0, "{mean} us");
}
