//! Analyses on generated regions of growing size: `cargo bench -p lowtide --bench analysis`.

use divan::counter::ItemsCount;
use lowtide::analysis::closure::Closure;
use lowtide::analysis::length_bound::lower_bound;
use lowtide::analysis::pressure::Tracker;
use lowtide::analysis::pressure_bound::pressure_bound;
use lowtide::budget::Budget;
use lowtide::check::bound::check_cut;
use lowtide::check::check;
use lowtide::generate::{Shape, region};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide::{ClassId, InstrId};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [100, 700, 4800];

fn regions(size: usize) -> [Region; 3] {
    [Shape::Layered, Shape::UnrolledLoop, Shape::WideVectors].map(|shape| region(shape, size, 1))
}

#[divan::bench(args = SIZES)]
fn closure(bencher: divan::Bencher, size: usize) {
    let regions = regions(size);
    bencher.counter(ItemsCount::new(3 * size)).bench_local(|| regions.each_ref().map(Closure::new));
}

#[divan::bench(args = SIZES)]
fn tracker(bencher: divan::Bencher, size: usize) {
    let regions = regions(size);
    bencher.counter(ItemsCount::new(3 * size)).bench_local(|| {
        regions.each_ref().map(|region| {
            let mut tracker = Tracker::new(region);
            region.instrs().for_each(|instr| tracker.schedule(instr));
            tracker.peaks()
        })
    });
}

#[divan::bench(args = SIZES)]
fn length_bounds(bencher: divan::Bencher, size: usize) {
    let target = Target::builtin("gfx906").expect("a built-in target");
    let regions = regions(size);
    let problems = regions.each_ref().map(|region| {
        Problem::new(region, &target, Goal::Length).expect("the generator's classes are known")
    });
    bencher
        .counter(ItemsCount::new(3 * size))
        .bench_local(|| problems.each_ref().map(|problem| lower_bound(problem).best()));
}

#[divan::bench(args = SIZES)]
fn min_cut_bound(bencher: divan::Bencher, size: usize) {
    let regions = regions(size);
    let closures = regions.each_ref().map(Closure::new);
    let orders = regions.each_ref().map(|region| region.instrs().collect::<Vec<InstrId>>());
    bencher.counter(ItemsCount::new(3 * size)).bench_local(|| {
        [0, 1, 2].map(|i| {
            pressure_bound(&regions[i], ClassId(0), &closures[i], &orders[i], Budget::default()).value
        })
    });
}

/// The time for an instruction hardly grows with the size: the checker is not quadratic.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn checker(bencher: divan::Bencher, size: usize) {
    let target = Target::builtin("gfx906").expect("a built-in target");
    let regions = regions(size);
    let schedules = regions.each_ref().map(|region| {
        let problem = Problem::new(region, &target, Goal::Length).expect("the generator's classes are known");
        Schedule::source(&problem)
    });
    bencher
        .counter(ItemsCount::new(3 * size))
        .bench_local(|| [0, 1, 2].map(|i| check(&regions[i], &target, &schedules[i]).expect("legal").length));
}

/// Proving a bound by a cut again.
#[divan::bench(args = SIZES)]
fn checker_of_bounds(bencher: divan::Bencher, size: usize) {
    let regions = regions(size);
    let bounds = regions.each_ref().map(|region| {
        let order: Vec<InstrId> = region.instrs().collect();
        let budget = Budget { nodes: Some(3_000_000), ..Budget::UNLIMITED };
        pressure_bound(region, ClassId(0), &Closure::new(region), &order, budget)
    });
    bencher.counter(ItemsCount::new(3 * size)).bench_local(|| {
        [0, 1, 2].map(|i| check_cut(&regions[i], ClassId(0), bounds[i].witness, bounds[i].value).is_ok())
    });
}
