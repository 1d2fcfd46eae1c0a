//! The exact search with a fixed number of steps: `cargo bench -p lowtide --bench exact`.
//!
//! First a table of what each rule is worth: the time that the search takes without it, as a multiple of that
//! with all rules. Where the steps do not suffice for a proof, the figure is a lower limit (>). Then by how
//! much searches exceed a budget in time. Then the times themselves, and the states expanded in a second.

use std::time::{Duration, Instant};

use divan::counter::ItemsCount;
use lowtide::budget::Budget;
use lowtide::generate::{Shape, families, region};
use lowtide::list::few_registers::few_registers;
use lowtide::minreg::Rules;
use lowtide::minreg::exact::{Answer, Options, minimise};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide::{ClassId, InstrId};

fn main() {
    print_effect_of_rules();
    print_overruns();
    divan::main();
}

/// Less than half a second of work.
const STEPS: u64 = 50_000_000;

/// The rules, each of which can be left out.
const RULES: [&str; 8] =
    ["free-moves", "commit", "split", "memory", "cuts", "forced-order", "superiority", "skeletons"];

fn all_but(name: &str) -> Rules {
    Rules {
        free_moves: name != "free-moves",
        commit: name != "commit",
        split: name != "split",
        memory: name != "memory",
        cuts: name != "cuts",
        forced_order: name != "forced-order",
        superiority: name != "superiority",
        skeletons: name != "skeletons",
    }
}

/// With all rules, the steps suffice for all of these.
const NAMES: [&str; 5] = ["fft-16", "matmul-3x4x4", "stencil-10x8", "layered-150x12", "unrolled-loop-200"];

/// A region, and the order of `default`, from which the search starts.
fn start(name: &str) -> (Region, Vec<InstrId>) {
    let region = match name {
        "fft-16" => families::fft(16),
        "matmul-3x4x4" => families::matmul(3, 4, 4),
        "stencil-10x8" => families::stencil(10, 8),
        "layered-150x12" => families::layered(150, 12, 1),
        _ => region(Shape::UnrolledLoop, 200, 1),
    };
    let target = Target::builtin("generic").expect("a built-in target");
    let problem = Problem::new(&region, &target, Goal::MinReg).expect("generic takes all classes");
    let order = few_registers(&problem);
    (region, order)
}

fn search((region, order): &(Region, Vec<InstrId>), rules: Rules) -> Answer {
    let budget = Budget { nodes: Some(STEPS), ..Budget::UNLIMITED };
    minimise(region, ClassId(0), &[], order, Options { rules, ..Options::new(budget) })
}

fn print_effect_of_rules() {
    // (Only for `cargo bench` as it is: `--test`, `--list` and filters have no use for it.)
    if std::env::args().skip(1).any(|argument| argument != "--bench") {
        return;
    }
    println!("Time without a rule, as a multiple of that with all rules:");
    let titles = RULES.iter().map(|rule| format!("{rule:>13}"));
    println!("{:20}{:>13}{}", "", "all rules", titles.collect::<String>());
    for name in NAMES {
        let start = start(name);
        let (all, is_proven) = best_time(&start, Rules::ALL);
        let mark = |is_proven: bool| if is_proven { "" } else { ">" };
        let cells = RULES.iter().map(|rule| {
            let (seconds, is_proven) = best_time(&start, all_but(rule));
            format!("{:>13}", format!("{}{:.2}", mark(is_proven), seconds / all))
        });
        let all = format!("{}{:.3} ms", mark(is_proven), 1e3 * all);
        println!("{name:20}{all:>13}{}", cells.collect::<String>());
    }
}

/// The best of three, and whether it ends with a proof.
fn best_time(start: &(Region, Vec<InstrId>), rules: Rules) -> (f64, bool) {
    let times = [(); 3].map(|()| {
        let began = Instant::now();
        let answer = search(start, rules);
        (began.elapsed().as_secs_f64(), answer.peak == answer.bound)
    });
    (times.iter().fold(f64::INFINITY, |best, (seconds, _)| best.min(*seconds)), times[0].1)
}

#[divan::bench(args = NAMES, sample_count = 10)]
fn all_rules(bencher: divan::Bencher, name: &str) {
    let start = start(name);
    let states = search(&start, Rules::ALL).nodes;
    bencher.counter(ItemsCount::new(states)).bench_local(|| search(&start, Rules::ALL));
}

/// The clock is not looked at for every state: by how much a search exceeds 20 us an instruction, at best of
/// three.
fn print_overruns() {
    if std::env::args().skip(1).any(|argument| argument != "--bench") {
        return;
    }
    let per_instr = Duration::from_micros(20);
    println!("Time beyond a budget of {per_instr:?} an instruction:");
    for size in [200, 1000, 3000] {
        let shapes = Shape::ALL.map(|shape| region(shape, size, size as u64));
        let families = [families::layered(size, 20, 1), families::stencil(size / 12, 12)];
        for region in shapes.into_iter().chain(families) {
            let order: Vec<InstrId> = region.instrs().collect();
            let budget = Budget { time_per_instr: Some(per_instr), ..Budget::UNLIMITED };
            let over = [(); 3].map(|()| {
                let began = Instant::now();
                minimise(&region, ClassId(0), &[], &order, Options::new(budget));
                began.elapsed().saturating_sub(per_instr * region.len() as u32)
            });
            println!("{:30}{:>14.3?}", region.name(), over.iter().min().expect("three"));
        }
    }
}
