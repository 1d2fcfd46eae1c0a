//! Pass 2, the shortest schedule within limits on registers: `cargo bench -p lowtide --bench length`.
//!
//! First comes a table of the effect of each rule. A figure is the time to a proof without the rule, as a
//! multiple of the time with all rules. Where the steps do not suffice for a proof, the figure is a lower
//! limit (>). Then the states of the search in a second, and the time that guarded lists take for an
//! instruction.

use std::time::Instant;

use divan::counter::ItemsCount;
use lowtide::InstrId;
use lowtide::budget::Budget;
use lowtide::check::check_order;
use lowtide::generate::{Shape, region};
use lowtide::list::few_registers::few_registers;
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide::twopass::Rules;
use lowtide::twopass::length::{Answer, Options, shortest};

fn main() {
    print_effect_of_rules();
    divan::main();
}

/// The rules, each of which can be left out.
const RULES: [&str; 8] = [
    "superiority",
    "forced-order",
    "windows",
    "dynamic-bound",
    "no-idling",
    "memory",
    "reasons",
    "both-ends",
];

fn all_but(name: &str) -> Rules {
    Rules {
        superiority: name != "superiority",
        forced_order: name != "forced-order",
        windows: name != "windows",
        dynamic_bound: name != "dynamic-bound",
        no_idling: name != "no-idling",
        memory: name != "memory",
        reasons: name != "reasons",
        both_ends: name != "both-ends",
    }
}

/// A region, the order with few registers from which the pass starts, and limits that this order just keeps.
struct Start {
    region: Region,
    target: Target,
    order: Vec<InstrId>,
    limits: Vec<Option<u32>>,
}

impl Start {
    fn new((shape, size, seed): (Shape, usize, u64)) -> Self {
        let region = region(shape, size, seed);
        let target = Target::builtin("gfx906").expect("a built-in target");
        let order = few_registers(&problem(&region, &target));
        let peaks = check_order(&region, &order).expect("a legal order");
        let limits = peaks.iter().map(|peak| Some(peak.between)).collect();
        Start { region, target, order, limits }
    }

    fn shortest(&self, steps: u64, rules: Rules, only_lists: bool) -> Answer {
        let budget = Budget { nodes: Some(steps), ..Budget::UNLIMITED };
        let options = Options { budget, rules, only_lists, ..Options::default() };
        let problem = problem(&self.region, &self.target);
        shortest(&problem, &self.limits, &[&self.order], options).expect("the start is within its own peaks")
    }
}

fn problem<'a>(region: &'a Region, target: &'a Target) -> Problem<'a> {
    Problem::new(region, target, Goal::Occupancy).expect("the target has all classes")
}

/// A few seconds of work at most.
const STEPS: u64 = 3_000_000;

/// With all rules, the steps suffice for all of these.
const PROVEN: [(Shape, usize, u64); 5] = [
    (Shape::SharedChains, 60, 1),
    (Shape::Layered, 100, 2),
    (Shape::SeriesParallel, 100, 1),
    (Shape::Tree, 150, 2),
    (Shape::SharedChains, 300, 1),
];

fn print_effect_of_rules() {
    // (Only for `cargo bench` as it is: `--test`, `--list` and filters have no use for it.)
    if std::env::args().skip(1).any(|argument| argument != "--bench") {
        return;
    }
    println!("Time without a rule, as a multiple of that with all rules:");
    let titles = RULES.iter().map(|rule| format!("{rule:>15}"));
    println!("{:20}{:>13}{}", "", "all rules", titles.collect::<String>());
    for made in PROVEN {
        let start = Start::new(made);
        let (all, is_proven) = best_time(&start, Rules::ALL);
        let mark = |is_proven: bool| if is_proven { "" } else { ">" };
        let cells = RULES.iter().map(|rule| {
            let (seconds, is_proven) = best_time(&start, all_but(rule));
            format!("{:>15}", format!("{}{:.2}", mark(is_proven), seconds / all))
        });
        let all = format!("{}{:.1} ms", mark(is_proven), 1e3 * all);
        println!("{:20}{all:>13}{}", start.region.name(), cells.collect::<String>());
    }
}

/// The better of two, and whether it ends with a proof.
fn best_time(start: &Start, rules: Rules) -> (f64, bool) {
    let times = [(); 2].map(|()| {
        let began = Instant::now();
        let answer = start.shortest(STEPS, rules, false);
        (began.elapsed().as_secs_f64(), answer.length == answer.bound)
    });
    (times[0].0.min(times[1].0), times[0].1)
}

/// The search spends all of its steps on these.
const OPEN: [(Shape, usize, u64); 3] =
    [(Shape::UnrolledLoop, 100, 1), (Shape::SeriesParallel, 150, 1), (Shape::SharedChains, 200, 1)];

/// States in a second. Without windows: they take steps and time of their own. (Lists between the turns of
/// the search still do, about a fifth.)
#[divan::bench(args = OPEN.map(Named), sample_count = 5)]
fn states(bencher: divan::Bencher, made: Named) {
    let start = Start::new(made.0);
    let ask = || start.shortest(1_000_000, all_but("windows"), false);
    let answer = ask();
    assert!(answer.bound < answer.length, "the search is not over");
    bencher.counter(ItemsCount::new(answer.nodes)).bench_local(ask);
}

/// Guarded lists alone, as many as are built before the search; instructions in a second.
#[divan::bench(args = OPEN.map(Named), sample_count = 20)]
fn lists(bencher: divan::Bencher, made: Named) {
    let start = Start::new(made.0);
    let ask = || start.shortest(STEPS, Rules::ALL, true);
    bencher.counter(ItemsCount::new(start.region.len())).bench_local(ask);
}

/// A region by its shape, size and seed.
#[derive(Clone, Copy)]
struct Named((Shape, usize, u64));

impl std::fmt::Display for Named {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (shape, size, seed) = self.0;
        write!(formatter, "{shape:?}-{size}-{seed}")
    }
}
