//! Time limits of all searches, by a clock that advances with each look: every search ends a few looks after
//! its time is over, with a legal result, and does little between two looks.

use super::clock::{end_in_time, most_steps_between_looks, ticking, until};
use super::{Budget, Effort};
use crate::algorithm::Algorithm;
use crate::analysis::closure::Closure;
use crate::analysis::pressure_bound::Seeker;
use crate::check::bound::check_cut;
use crate::check::{check, check_order};
use crate::colony::{self, Task};
use crate::generate::shaders::{Group, block};
use crate::generate::{Shape, families, region};
use crate::index::{ClassId, InstrId};
use crate::list::few_registers::{few_registers, few_registers_on};
use crate::minreg::Rules;
use crate::minreg::exact::{self, Decision, minimise, within};
use crate::minreg::forced_order::forced_order;
use crate::minreg::made::{Made, fits};
use crate::minreg::part::Part;
use crate::minreg::skeletons::{Best, Learned, judge_by_skeletons};
use crate::minreg::superiority::superiority;
use crate::minreg::valleys::divide;
use crate::multipass::check::check_passes;
use crate::multipass::generate::{Look, shader};
use crate::multipass::{self, PassModel, PassProblem};
use crate::pack::{self, PackProblem, pack};
use crate::pipeline::schedule_region;
use crate::problem::{Goal, Problem};
use crate::progress::Watch;
use crate::proof::Reason;
use crate::region::Region;
use crate::schedule::Schedule;
use crate::session::Session;
use crate::target::Target;
use crate::twopass::length::{self, shortest};
use crate::twopass::weighted::{Objective, PressureCost, lowest_sum};

/// One issue in each cycle, and waves that depend on the registers of all classes.
fn target() -> Target {
    let text = "name = \"any\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n\
        [[file]]\nname = \"any\"\nsize = 256\ngranule = 4\nwaves = 10\nclasses = [{ name = \"*\", max = 256 }]\n";
    Target::parse(text).expect("a valid target")
}

fn source(region: &Region) -> Vec<InstrId> {
    region.instrs().collect()
}

/// Return the peaks of an order. The checker accepts the order.
fn peaks(region: &Region, order: &[InstrId]) -> Vec<u32> {
    let peaks = check_order(region, order).unwrap_or_else(|faults| panic!("{}: {faults:?}", region.name()));
    peaks.iter().map(|peak| peak.between).collect()
}

/// Return the length of an order within limits. The checker accepts its schedule.
fn length_within(problem: &Problem, order: &[InstrId], limits: &[Option<u32>]) -> u32 {
    let region = problem.region();
    assert!(fits(&peaks(region, order), limits), "{}", region.name());
    let schedule = Schedule::in_order(problem, order.to_vec());
    check(region, problem.target(), &schedule).expect("a legal schedule").length
}

/// Regions of about 100 instructions that take a search, and some of up to 1500.
fn hard() -> Vec<Region> {
    let made = [Made::Random, Made::Unrolled, Made::Chains].map(|made| made.region(300, 1));
    let shapes = [Shape::Layered, Shape::UnrolledLoop, Shape::WideVectors].map(|shape| region(shape, 120, 5));
    let large = [region(Shape::UnrolledLoop, 1000, 1), families::layered(1500, 20, 1)];
    let families = [families::fft(16), families::matmul(4, 4, 4), families::layered(100, 20, 1)];
    families.into_iter().chain(shapes).chain(made).chain(large).collect()
}

/// The most looks of the exact search after its time is over. A region in many parts takes a look for each.
fn late_looks(region: &Region, threads: usize) -> u32 {
    threads as u32 * (20 + region.len() as u32 / 4)
}

#[test]
fn the_exact_search_ends_in_time() {
    for threads in [1, 2, 4] {
        let (mut runs, mut most_nodes) = (0, 0);
        for region in hard() {
            let start = source(&region);
            let of_start = peaks(&region, &start)[0];
            runs += end_in_time(1000, late_looks(&region, threads), region.len(), |budget| {
                let options = exact::Options::new(Budget { threads, ..budget });
                let answer = minimise(&region, ClassId(0), &[], &start, options);
                assert_eq!(peaks(&region, &answer.order)[0], answer.peak, "{}", region.name());
                assert!(answer.bound <= answer.peak && answer.peak <= of_start, "{}", region.name());
                if let Reason::Cut(moment) = answer.reason {
                    assert_eq!(check_cut(&region, ClassId(0), moment, answer.bound), Ok(()));
                }
                most_nodes = most_nodes.max(answer.nodes);
            });
        }
        println!("{threads} threads: {runs} runs, {most_nodes} states");
        assert!(runs > 150 && most_nodes > 200, "{threads} threads: {runs} runs, {most_nodes} states");
    }
}

#[test]
fn decisions_within_limits_end_in_time() {
    for threads in [1, 2] {
        let (mut runs, mut met) = (0, 0);
        for region in hard() {
            let start = source(&region);
            let limits: Vec<_> =
                peaks(&region, &start).iter().map(|peak| Some(peak.saturating_sub(2))).collect();
            runs += end_in_time(1000, late_looks(&region, threads), region.len(), |budget| {
                let options = exact::Options::new(Budget { threads, ..budget });
                if let Decision::Yes(order) = within(&region, &limits, &start, options) {
                    assert!(fits(&peaks(&region, &order), &limits), "{}", region.name());
                    met += 1;
                }
            });
        }
        println!("{threads} threads: {runs} runs, {met} orders");
        assert!(runs > 100 && met > 0, "{threads} threads: {runs} runs, {met} orders");
    }
}

/// Without the rules that look at the clock themselves, the search looks once in 32 states.
#[test]
fn the_exact_search_expands_few_states_between_looks() {
    for region in [families::matmul(4, 4, 4), families::layered(100, 20, 1)] {
        let start = source(&region);
        let rules =
            Rules { cuts: false, forced_order: false, superiority: false, skeletons: false, ..Rules::ALL };
        let options = exact::Options { rules, ..exact::Options::new(until(2000, region.len())) };
        let (answer, looks) = ticking(|| minimise(&region, ClassId(0), &[], &start, options));
        let (states, looks) = (answer.nodes, u64::from(looks));
        println!("{}: {states} states, {looks} looks", region.name());
        assert!((8 * looks..=32 * looks).contains(&states), "{}: {states}, {looks}", region.name());
    }
}

/// Steps that all take about the same time, in parts of the exact search that look at the clock themselves.
/// The most depends on the size of the region.
#[test]
fn parts_of_the_exact_search_take_few_steps_between_looks() {
    let regions = hard();
    // The most that a cut, a comparison of two instructions, a forced order, a skeleton and a valley may take
    // for each instruction.
    let allowed = [4, 32, 4, 6, 4];
    let mut all = [0; 5];
    for region in &regions {
        let closure = &Closure::new(region);
        let (start, class) = (source(region), ClassId(0));
        let limits: Vec<_> =
            peaks(region, &start).into_iter().map(|peak| Some(peak.saturating_sub(2))).collect();
        let limit = limits[0].expect("a limit");
        let part = Part::with_dependences(region, &[], &start).expect("no cycle");
        let searches: [&dyn Fn(&mut Effort); 5] = [
            &|effort| drop(Seeker::new(region, class, closure).judge(&start, 0, region.len(), limit, effort)),
            &|effort| drop(superiority(region, &mut closure.clone(), effort)),
            &|effort| drop(forced_order(region, &mut closure.clone(), &limits, &[], 1, effort)),
            &|effort| {
                let (mut learned, mut best) = (Learned::default(), Best::within(&limits, class));
                judge_by_skeletons(&part, closure, (class, &limits), &mut learned, &mut best, 1, effort);
            },
            &|effort| drop(divide(region, class, &region.instrs().collect::<Vec<_>>(), 1, effort)),
        ];
        for ((search, most), allowed) in searches.into_iter().zip(&mut all).zip(allowed) {
            let steps = most_steps_between_looks(120, search);
            assert!(steps <= allowed * region.len() as u64, "{}: {steps} steps", region.name());
            *most = (*most).max(steps);
        }
    }
    println!("{all:?}");
    assert!(all.iter().all(|steps| *steps > 500), "{all:?}");
}

#[test]
fn pass_2_ends_in_time() {
    let target = target();
    let (mut runs, mut most_nodes) = (0, 0);
    for region in hard() {
        let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
        let few = few_registers(&problem);
        let limits: Vec<_> = peaks(&region, &few).into_iter().map(|peak| Some(peak + 1)).collect();
        let before = length_within(&problem, &few, &limits);
        runs += end_in_time(300, 32, region.len(), |budget| {
            let options = length::Options { budget, ..length::Options::default() };
            let answer = shortest(&problem, &limits, &[&few], options).expect("the start is within");
            assert_eq!(length_within(&problem, &answer.order, &limits), answer.length, "{}", region.name());
            assert!(answer.bound <= answer.length && answer.length <= before, "{}", region.name());
            most_nodes = most_nodes.max(answer.nodes);
        });
    }
    println!("{runs} runs, {most_nodes} states");
    assert!(runs > 80 && most_nodes > 1000, "{runs} runs, {most_nodes} states");
}

/// The search of pass 2 and of weighted sums looks once in 256 states. Weighted sums do little else.
#[test]
fn the_search_for_lengths_expands_few_states_between_looks() {
    let target = target();
    let (mut all_states, mut all_looks) = (0, 0);
    for region in hard().into_iter().filter(|region| region.len() <= 300) {
        let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
        let objective = Objective { cost: PressureCost::Prp, weight: 10 };
        let (least, budget) = (vec![0; region.classes().len()], until(300, region.len()));
        let run = || lowest_sum(&problem, &least, &[], objective, budget, Watch::default());
        let (answer, looks) = ticking(run);
        let (states, looks) = (answer.nodes, u64::from(looks));
        assert!(states <= 256 * looks, "{}: {states} states, {looks} looks", region.name());
        (all_states, all_looks) = (all_states + states, all_looks + looks);
    }
    println!("{all_states} states, {all_looks} looks");
    assert!(all_states >= 128 * all_looks, "{all_states} states, {all_looks} looks");
}

#[test]
fn weighted_sums_end_in_time() {
    let target = target();
    let mut runs = 0;
    for cost in [PressureCost::Occupancy, PressureCost::Prp, PressureCost::Slil] {
        for region in hard().into_iter().filter(|region| region.len() <= 300) {
            let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
            let objective = Objective { cost, weight: 10 };
            let least = vec![0; region.classes().len()];
            runs += end_in_time(50, 2, region.len(), |budget| {
                let answer = lowest_sum(&problem, &least, &[], objective, budget, Watch::default());
                let length = length_within(&problem, &answer.order, &[]);
                assert_eq!(objective.sum(length, cost.of(&problem, &answer.order)), answer.sum);
                assert!(answer.bound <= answer.sum, "{}", region.name());
            });
        }
    }
    println!("{runs} runs");
    assert!(runs > 100, "{runs} runs");
}

/// After its time, the colony takes a look for each group of ants that an iteration still had to send.
#[test]
fn ants_end_in_time() {
    let target = target();
    for threads in [1, 3] {
        let mut runs = 0;
        for region in hard() {
            let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
            let few = few_registers(&problem);
            let few_peaks = peaks(&region, &few);
            let limits: Vec<_> = few_peaks.iter().map(|peak| Some(peak + 1)).collect();
            let lower: Vec<_> = few_peaks.iter().map(|peak| Some(peak.saturating_sub(1))).collect();
            let options = |budget| colony::Options { budget, ..colony::Options::default() };
            let late = 130 + threads as u32;
            runs += end_in_time(150, late, region.len(), |budget| {
                let task = Task::length(&problem, &limits, &[&few], options(budget));
                let task = task.expect("the start is within the limits");
                let answer = task.run(threads);
                assert!(task.accepts(&answer), "{}", region.name());
                length_within(&problem, &answer.order, &limits);
            });
            runs += end_in_time(150, late, region.len(), |budget| {
                let steps = [lower.clone(), limits.clone()];
                let task = Task::pressure(&problem, &steps, &few, options(budget)).expect("a small region");
                let answer = task.run(threads);
                assert!(task.accepts(&answer), "{}", region.name());
                assert!(fits(&peaks(&region, &answer.order), &limits), "{}", region.name());
            });
        }
        println!("{threads} threads: {runs} runs");
        assert!(runs > 200, "{threads} threads: {runs} runs");
    }
}

/// At most one ant walks between two looks, and none after the time is over.
#[test]
fn ants_choose_one_order_between_looks() {
    let target = target();
    let region = region(Shape::UnrolledLoop, 200, 3);
    let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
    let start = source(&region);
    let limits = vec![None; region.classes().len()];
    for end in [1, 2, 3, 10, 100] {
        let options = colony::Options { budget: until(end, region.len()), ..colony::Options::default() };
        let task = Task::length(&problem, &limits, &[&start], options).expect("no limits");
        let (answer, _) = ticking(|| task.run(1));
        // Look 0 starts the time, look 1 the iteration.
        let most = u64::from(end - 1).saturating_sub(1) * region.len() as u64;
        assert!(answer.choices <= most, "{end}: {} choices", answer.choices);
        assert!(answer.choices >= most / 2, "{end}: {} choices", answer.choices);
    }
}

#[test]
fn packing_ends_in_time() {
    let target = Target::builtin("vs").expect("built in");
    let (mut runs, mut most_nodes) = (0, 0);
    for seed in 0..8 {
        let region = block(Group::Hand, 30 + 15 * seed as usize, seed);
        let problem = PackProblem::new(&region, &target).expect("known operations");
        for problem in [problem.without_splits(), problem] {
            runs += end_in_time(100, 32, region.len(), |budget| {
                let outcome = pack(&problem, budget);
                let report = pack::check::check(&region, &target, &outcome.best).expect("a legal packing");
                assert_eq!(report.length, outcome.best.length(), "{}", region.name());
                assert!(outcome.bound <= report.length && report.length <= outcome.list.length());
                most_nodes = most_nodes.max(outcome.nodes);
            });
        }
    }
    println!("{runs} runs, {most_nodes} states");
    assert!(runs > 80 && most_nodes > 1000, "{runs} runs, {most_nodes} states");
}

#[test]
fn partitions_into_passes_end_in_time() {
    let target = Target::builtin("ps14").expect("built in");
    let model = PassModel::of(&target).expect("a valid section").expect("a pass model");
    let cost_of = |region: &Region, partition: &multipass::Partition| {
        let report = check_passes(region, &model, &partition.passes).expect("legal passes");
        assert_eq!(report.cost, partition.cost, "{}", region.name());
        report.cost
    };
    let (mut exact_runs, mut cut_runs, mut most_nodes) = (0, 0, 0);
    for seed in 0..6 {
        let region = shader(Look::real(20 + 20 * seed as usize), seed);
        let problem = PassProblem::new(&region, &target).expect("a problem");
        let start = multipass::mio::partition(&problem).expect("a partition");
        exact_runs += end_in_time(1000, 32, region.len(), |budget| {
            let proven = multipass::exact::partition(&problem, &start, budget);
            let cost = cost_of(&region, &proven.partition);
            assert!(proven.bound <= cost && cost <= start.cost, "{}", region.name());
            most_nodes = most_nodes.max(proven.nodes);
        });
        // After its time, every operation that has no pass yet gets one, with some looks each.
        cut_runs += end_in_time(1000, 8 * region.len() as u32, region.len(), |budget| {
            cost_of(&region, &multipass::rds::partition(&problem, budget).expect("a partition"));
        });
    }
    println!("{exact_runs} runs, {most_nodes} states; {cut_runs} runs by cuts");
    assert!(exact_runs > 50 && most_nodes > 1000, "{exact_runs} runs, {most_nodes} states");
    assert!(cut_runs > 50, "{cut_runs} runs");
}

/// Each pass of the pipeline has the whole time, and each question of a pass what is left of it.
#[test]
fn the_pipeline_ends_in_time() {
    let target = target();
    for goal in GOALS {
        for region in hard().into_iter().filter(|region| region.len() <= 300) {
            for end in [1, 20, 200, 1000] {
                end_in_passes(&region, &target, goal, end);
            }
        }
    }
}

/// Every goal, its passes with the whole time each, and the most looks after its time is over. The search for
/// throughput asks for every number of waves.
const GOALS: [(Goal, u32, u32); 4] =
    [(Goal::MinReg, 1, 12), (Goal::Occupancy, 2, 14), (Goal::Length, 2, 14), (Goal::Throughput, 4, 80)];

/// Schedule a region with a time that ends at look `end` of each pass.
fn end_in_passes(region: &Region, target: &Target, (goal, passes, late): (Goal, u32, u32), end: u32) {
    let problem = Problem::new(region, target, goal).expect("known classes");
    let run = || schedule_region(&problem, Algorithm::AUTO, until(end, region.len()), &Session::new());
    let (outcome, looks) = ticking(run);
    let outcome = outcome.expect("a legal schedule");
    let report = check(region, target, &outcome.schedule).expect("a legal schedule");
    assert_eq!(report.length, outcome.measure.length, "{}", region.name());
    // Every question takes some looks, even if no time is left for it.
    let most = passes * end + end / 20 + late;
    assert!(looks <= most, "{} {goal:?} {end}: {looks} looks", region.name());
}

/// Thousands of instructions are ready at once, in all stages of all goals.
#[test]
fn wide_regions_end_in_time() {
    let target = target();
    for nodes in [900, 2500] {
        let region = families::wide(nodes, 1);
        for goal in GOALS {
            for end in [1, 20, 200] {
                end_in_passes(&region, &target, goal, end);
            }
        }
    }
}

/// The order of few-registers is legal whenever its time ends, and no worse than the source order.
#[test]
fn few_registers_ends_in_time() {
    let target = target();
    let mut runs = 0;
    for region in [families::wide(900, 1), families::layered(1500, 20, 1), families::matmul(4, 4, 4)] {
        let problem = Problem::new(&region, &target, Goal::MinReg).expect("known classes");
        let closure = Closure::new(&region);
        let most = peaks(&region, &source(&region))[0];
        runs += end_in_time(500, 12, region.len(), |budget| {
            let deadline = budget.effort(region.len()).deadline;
            let order = few_registers_on(&problem, || &closure, deadline);
            assert!(peaks(&region, &order)[0] <= most, "{}", region.name());
        });
    }
    println!("{runs} runs");
    assert!(runs > 10, "{runs} runs");
}
