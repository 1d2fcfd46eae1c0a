//! Pairs of the recorded regions: how many there are, and what keeping them together costs.

use std::path::Path;

use crate::skip;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::groups::Groups;
use lowtide::outcome::KernelOutcome;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::problem::Goal;
use lowtide::region::{HintKind, Kernel, Region};
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide_io::KernelReader;

fn read(folder: &Path, files: &[&str]) -> impl Iterator<Item = Kernel> {
    let files: Vec<_> = files.iter().map(|file| folder.join(file)).collect();
    files.into_iter().flat_map(|file| KernelReader::open(&file).unwrap().map(Result::unwrap))
}

fn hints(region: &Region) -> usize {
    region.hints().iter().filter(|hint| hint.kind == HintKind::Cluster).count()
}

/// Sums over kernels: pairs, those that are parted, and cycles.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    pairs: u64,
    broken: u64,
    length: u64,
}

impl Sums {
    fn add(&mut self, outcome: &KernelOutcome) {
        for region in &outcome.regions {
            self.pairs += u64::from(region.pairs);
            self.broken += u64::from(region.broken_pairs);
            self.length += u64::from(region.measure.length);
        }
    }
}

/// Schedules kernels without a price and with one, and checks the promise of the price.
fn with_and_without(kernels: impl Iterator<Item = Kernel>, options: &Options, price: u32) -> [Sums; 2] {
    let target = Target::builtin("gfx906").unwrap();
    let session = Session::new();
    let mut sums = [Sums::default(); 2];
    for kernel in kernels {
        let [plain, kept] = [0, price].map(|price| {
            schedule_kernel(&kernel, &target, &options.with_group_price(price), &session).unwrap()
        });
        assert!(kept.occupancy >= plain.occupancy, "{}", kernel.name);
        for (plain, kept) in plain.regions.iter().zip(&kept.regions) {
            assert!(kept.measure.spilled <= plain.measure.spilled, "{}", kernel.name);
            let most = plain.measure.length + price * (plain.broken_pairs - kept.broken_pairs);
            assert!(options.goal == Goal::MinReg || kept.measure.length <= most, "{}", kernel.name);
        }
        [&plain, &kept].into_iter().zip(&mut sums).for_each(|(outcome, sums)| sums.add(outcome));
    }
    sums
}

#[test]
fn a_small_price_keeps_most_pairs_of_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let files = ["hashcat.jsonl.gz", "rocprim.jsonl.gz"];
    let all = read(&corpus, &files).flat_map(|kernel| kernel.regions);
    assert_eq!(all.map(|region| hints(&region)).sum::<usize>(), 813);
    let budget = Budget { nodes: Some(2_000), ..Budget::UNLIMITED };
    for goal in [Goal::MinReg, Goal::Occupancy, Goal::Length, Goal::Throughput] {
        let options = Options::default().with_goal(goal).with_budget(budget);
        let [plain, kept] = with_and_without(read(&corpus, &files), &options, 2);
        println!("{}: without a price {plain:?}, with one {kept:?}", goal.name());
        // With few registers, cycles do not count, but no pair may cost a register.
        let one_in = if goal == Goal::MinReg { 3 } else { 20 };
        assert!(kept.pairs == 794 && kept.broken * one_in < plain.broken, "{goal:?}: {plain:?} {kept:?}");
        assert!(goal == Goal::MinReg || kept.length * 100 <= plain.length * 101, "{plain:?} {kept:?}");
    }
}

#[test]
fn a_small_price_keeps_most_pairs_of_the_shared_corpus() {
    let Some(corpus) = skip::shared_corpus() else { return };
    let files = ["hashcat", "rocprim", "darktable", "clblast"].map(|file| format!("{file}.jsonl.gz"));
    let files = files.each_ref().map(String::as_str);
    let (mut all, mut taken) = (0, 0);
    for region in read(&corpus, &files).flat_map(|kernel| kernel.regions) {
        all += hints(&region);
        taken += Groups::of(&region).pairs();
    }
    println!("{all} hints, {taken} pairs");
    assert!(all > 10_000 && u64::from(taken) * 10 > all as u64 * 9, "{all} hints, {taken} pairs");
    let options = Options::default().with_algorithm(Algorithm::LIST);
    let [plain, kept] = with_and_without(read(&corpus, &files), &options, 2);
    println!("without a price {plain:?}, with one {kept:?}");
    assert!(kept.broken * 10 < plain.broken, "{plain:?} {kept:?}");
    assert!(kept.length * 1000 <= plain.length * 1005, "{plain:?} {kept:?}");
}
