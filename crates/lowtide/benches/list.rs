//! List schedulers on generated regions of growing size: `cargo bench -p lowtide --bench list`.

use divan::counter::ItemsCount;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::generate::{Shape, region};
use lowtide::pipeline::run;
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::session::Session;
use lowtide::target::Target;

fn main() {
    divan::main();
}

const ALGORITHMS: [&str; 5] = ["default", "sethi-ullman", "su-cluster", "critical-path", "latency-hiding"];

#[divan::bench(args = ALGORITHMS, consts = [100, 700, 4800])]
fn algorithm<const SIZE: usize>(bencher: divan::Bencher, name: &str) {
    let algorithm = Algorithm::named(name).expect("a known algorithm");
    let target = Target::builtin("gfx906").expect("a built-in target");
    let shapes = [Shape::Layered, Shape::UnrolledLoop, Shape::WideVectors];
    let regions = shapes.map(|shape| region(shape, SIZE, 1));
    let problems = regions.each_ref().map(|region| {
        Problem::new(region, &target, Goal::MinReg).expect("the generator's classes are known")
    });
    let instructions: usize = regions.iter().map(Region::len).sum();
    bencher.counter(ItemsCount::new(instructions)).bench_local(|| {
        problems.each_ref().map(|problem| run(problem, algorithm, Budget::default(), &Session::new()))
    });
}
