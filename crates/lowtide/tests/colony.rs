//! Ants on the example of the papers, and in the pipeline.

use crate::made::seven;
use lowtide::InstrId;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::colony::{Options, Parameters, Task};
use lowtide::pipeline::schedule_region;
use lowtide::problem::{Goal, Problem};
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::Target;

/// Paper 4, Figure 1: pass 1 finds an order with three registers, and pass 2 a schedule of ten cycles with
/// them. Neither can be better.
#[test]
fn the_example_of_seven_instructions() {
    let region = seven();
    let target = Target::builtin("generic").expect("built in");
    let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
    let source: Vec<InstrId> = region.instrs().collect();
    let length_and_peak = |order: &[InstrId]| {
        let schedule = Schedule::in_order(&problem, order.to_vec());
        let report = check(&region, &target, &schedule).expect("a legal schedule");
        (report.length, report.peaks[0].between)
    };
    assert_eq!(length_and_peak(&source).1, 4);
    // A few iterations. (In the example one of two ants happens to be enough.)
    for seed in 0..100 {
        let budget = Budget { nodes: Some(5 * 8 * 32 * 7), ..Budget::UNLIMITED };
        let options = Options { budget, parameters: Parameters { seed, ..Parameters::default() } };
        let steps = [2, 3].map(|limit| vec![Some(limit)]);
        let first = Task::pressure(&problem, &steps, &source, options).expect("a small region").run(1);
        assert_eq!(length_and_peak(&first.order).1, 3, "seed {seed}");
        let second =
            Task::length(&problem, &[Some(3)], &[&first.order], options).expect("within the limit").run(1);
        assert_eq!(length_and_peak(&second.order), (10, 3), "seed {seed}");
        assert!(
            Task::length(&problem, &[Some(2)], &[&first.order], options).is_none(),
            "not within the limit"
        );
    }
}

/// With a register file in which three registers have one wave more than four.
#[test]
fn both_passes_together_find_the_optimum_of_the_example() {
    let text = "name = \"small\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n\
        [[file]]\nname = \"any\"\nsize = 12\ngranule = 1\nwaves = 4\nclasses = [{ name = \"*\", max = 12 }]\n";
    let target = Target::parse(text).expect("a valid target");
    let region = seven();
    let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
    let budget = Budget { nodes: Some(10_000), ..Budget::UNLIMITED };
    let outcome = schedule_region(&problem, Algorithm::COLONY, budget, &Session::new()).unwrap();
    assert_eq!((outcome.measure.occupancy, outcome.measure.length), (4, 10));
    let longer = Problem::new(&region, &target, Goal::Length).expect("known classes").with_register_limit(3);
    let outcome = schedule_region(&longer, Algorithm::COLONY, budget, &Session::new()).unwrap();
    assert_eq!((outcome.measure.peaks[0].between, outcome.measure.length), (3, 10));
}
