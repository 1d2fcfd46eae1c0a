//! Every exact method on every instance of `tests/instances`: each must find the optimum that the instance
//! states, and prove it. Where an instance is small enough, brute force finds the optimum again, so that a
//! wrong statement fails. (The constraint solvers are asked in crate `lowtide-cp`.)

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::{check, check_order};
use lowtide::list::tree::tree;
use lowtide::minreg::Rules;
use lowtide::minreg::exact::{self, Decision, minimise, within};
use lowtide::multipass::check::check_passes;
use lowtide::multipass::{PassProblem, dpmpp, exact as exact_passes, mio, rds};
use lowtide::outcome::KernelOutcome;
use lowtide::outcome::Outcome;
use lowtide::pack::{PackProblem, pack};
use lowtide::pipeline::{Options, schedule_kernel, schedule_region};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::twopass::{self, length};
use lowtide::{ClassId, InstrId};

use crate::instance_files::{Instance, LENGTH, MINREG, OCCUPANCY, PACKING, PASSES, instances};
use crate::made;
use crate::made::{Machine, Small, fits};
use crate::pack_cases::{Within, brute_force, by_states};
use crate::pass_cases;

/// The most instructions for brute force over all downsets.
const MOST_FOR_DOWNSETS: usize = 16;
/// The most operations whose packings are all tried.
const MOST_FOR_PACKINGS: usize = 6;

/// With one thread and with two, which the searches race against each other.
const BUDGETS: [Budget; 2] = [Budget::UNLIMITED, Budget { threads: 2, ..Budget::UNLIMITED }];

/// The one place that asks for the schedule of a region.
fn schedule_one(problem: &Problem, algorithm: Algorithm, budget: Budget) -> Outcome {
    schedule_region(problem, algorithm, budget, &Session::new()).expect("a legal schedule")
}

/// The one place that asks for the schedules of a kernel.
fn schedule_all(instance: &Instance, options: Options) -> KernelOutcome {
    schedule_kernel(&instance.kernel, &instance.target, &options, &Session::new()).expect("known classes")
}

fn source(region: &Region) -> Vec<InstrId> {
    region.instrs().collect()
}

fn problem(instance: &Instance, goal: Goal) -> Problem<'_> {
    let problem = Problem::new(instance.region(), &instance.target, goal);
    problem.unwrap_or_else(|error| panic!("{}: {error}", instance.name))
}

/// All rules, and all but each one.
fn rules_of_minreg() -> Vec<Rules> {
    let all = Rules::ALL;
    vec![
        all,
        Rules { free_moves: false, ..all },
        Rules { commit: false, ..all },
        Rules { split: false, ..all },
        Rules { memory: false, ..all },
        Rules { cuts: false, ..all },
        Rules { forced_order: false, ..all },
        Rules { superiority: false, ..all },
        Rules { skeletons: false, ..all },
    ]
}

fn rules_of_length() -> Vec<twopass::Rules> {
    let all = twopass::Rules::ALL;
    vec![
        all,
        twopass::Rules { superiority: false, ..all },
        twopass::Rules { forced_order: false, ..all },
        twopass::Rules { windows: false, ..all },
        twopass::Rules { dynamic_bound: false, ..all },
        twopass::Rules { no_idling: false, ..all },
        twopass::Rules { memory: false, ..all },
        twopass::Rules { reasons: false, ..all },
        twopass::Rules { both_ends: false, ..all },
    ]
}

#[test]
fn the_fewest_registers() {
    let (mut tried, mut trees) = (0, 0);
    for instance in instances("minreg", MINREG) {
        let (name, region) = (&instance.name, instance.region());
        let expected = instance.by_class("peak");
        let start = source(region);
        for class in region.class_ids() {
            let Some(peak) = expected[class.index()] else {
                panic!("{name}: peak lacks {}", region.classes()[class.index()]);
            };
            if region.len() <= MOST_FOR_DOWNSETS {
                let lowest = Small::new(region, &[]).lowest(class.index(), &[]);
                assert_eq!(lowest, Some(peak), "{name}: brute force");
                tried += 1;
            }
            for (rules, budget) in rules_of_minreg().into_iter().flat_map(|rules| BUDGETS.map(|b| (rules, b)))
            {
                let options = exact::Options { rules, ..exact::Options::new(budget) };
                let answer = minimise(region, class, &[], &start, options);
                assert_eq!((answer.peak, answer.bound), (peak, peak), "{name}: {rules:?}");
                let peaks = check_order(region, &answer.order).expect("a legal order");
                assert_eq!(peaks[class.index()].between, peak, "{name}: {rules:?}");
                // One register less is impossible.
                let limit = |other: ClassId| (other == class).then(|| peak.checked_sub(1)).flatten();
                let limits: Vec<Option<u32>> = region.class_ids().map(limit).collect();
                if peak > 0 {
                    let decision = within(region, &limits, &start, options);
                    assert!(matches!(decision, Decision::No(_)), "{name}: {decision:?}");
                }
            }
        }
        let problem = problem(&instance, Goal::MinReg);
        let first = problem.primary_class();
        let peak = expected.get(first.index()).copied().flatten().unwrap_or(0);
        for algorithm in [Algorithm::EXACT, Algorithm::AUTO] {
            for budget in BUDGETS {
                let outcome = schedule_one(&problem, algorithm, budget);
                let report = check(region, &instance.target, &outcome.schedule).expect("a legal schedule");
                let found = report.peaks.get(first.index()).map_or(0, |peak| peak.between);
                assert_eq!(found, peak, "{name}: {}", algorithm.name());
                assert!(outcome.optimal || region.classes().is_empty(), "{name}: {}", algorithm.name());
            }
        }
        // Trees have an exact method of their own.
        if let Some(schedule) = tree(&problem) {
            let peaks = check_order(region, schedule.order()).expect("a legal order");
            assert_eq!(peaks.get(first.index()).map_or(0, |peak| peak.between), peak, "{name}: tree");
            trees += 1;
        }
    }
    assert!(tried >= 8 && trees >= 1, "{tried} by brute force, {trees} trees");
}

/// Spills, lost waves and length of the best schedule, by brute force.
fn best_by_brute_force(instance: &Instance, problem: &Problem, cap: u32) -> (u32, u32, u32) {
    let region = instance.region();
    let small = Small::new(region, &[]);
    let registers = problem.registers();
    let worth = |peaks: &[u32]| (registers.spilled(peaks), cap - registers.occupancy(peaks).min(cap));
    let best = small.all_peaks().iter().map(|peaks| worth(peaks)).min().expect("an order");
    // Every choice of limits that keeps this many waves.
    let mut limits: Vec<Vec<u32>> = vec![Vec::new()];
    for class in region.class_ids() {
        let mut values: Vec<u32> = small.pressures.iter().flatten().map(|now| now[class.index()]).collect();
        values.sort_unstable();
        values.dedup();
        let longer = |limits: &Vec<u32>, value: u32| limits.iter().copied().chain([value]).collect();
        limits =
            (limits.iter()).flat_map(|limits| values.iter().map(|value| longer(limits, *value))).collect();
    }
    limits.retain(|limits| worth(limits) <= best);
    let machine = Machine::new(region, &instance.target);
    let shortest = |limits: &Vec<u32>| {
        let limits: Vec<Option<u32>> = limits.iter().copied().map(Some).collect();
        machine.shortest(&small, |pressure| fits(pressure, &limits))
    };
    (best.0, cap - best.1, limits.iter().filter_map(shortest).min().expect("a schedule"))
}

#[test]
fn the_most_waves_and_then_the_shortest_schedule() {
    let mut tried = 0;
    for instance in instances("occupancy", OCCUPANCY) {
        let (name, region) = (&instance.name, instance.region());
        let cap = instance.kernel.max_occupancy.unwrap_or(u32::MAX).min(instance.target.max_waves());
        let problem = problem(&instance, Goal::Occupancy);
        let expected =
            (instance.optional("spilled").unwrap_or(0), instance.number("waves"), instance.number("length"));
        if region.len() <= made::LARGEST {
            assert_eq!(best_by_brute_force(&instance, &problem, cap), expected, "{name}: brute force");
            tried += 1;
        }
        for algorithm in [Algorithm::AUTO, Algorithm::TWO_PASS, Algorithm::WAVES] {
            for budget in BUDGETS {
                let options = Options::default().with_algorithm(algorithm).with_budget(budget);
                let outcome = schedule_all(&instance, options);
                assert_eq!(outcome.occupancy, outcome.occupancy_bound, "{name}: {}", algorithm.name());
                let outcome = &outcome.regions[0];
                let report = check(region, &instance.target, &outcome.schedule).expect("a legal schedule");
                let found = (report.spilled, report.occupancy.min(cap), report.length);
                // One of them proves only the waves.
                let is_alike = match algorithm == Algorithm::WAVES {
                    true => (found.0, found.1) == (expected.0, expected.1) && found.2 >= expected.2,
                    false => found == expected && outcome.optimal,
                };
                assert!(is_alike, "{name}: {} found {found:?}, not {expected:?}", algorithm.name());
            }
        }
    }
    assert!(tried >= 8, "{tried} by brute force");
}

#[test]
fn the_shortest_schedule_within_limits() {
    let (mut tried, mut limited) = (0, 0);
    for instance in instances("length", LENGTH) {
        let (name, region) = (&instance.name, instance.region());
        let limits = instance.by_class("limits");
        let expected = instance.number("length");
        if region.len() <= made::LARGEST {
            let small = Small::new(region, &[]);
            let machine = Machine::new(region, &instance.target);
            let shortest = machine.shortest(&small, |pressure| fits(pressure, &limits));
            assert_eq!(shortest, Some(expected), "{name}: brute force");
            tried += 1;
        }
        limited += u32::from(limits.iter().any(Option::is_some));
        let problem = problem(&instance, Goal::Length);
        let start = source(region);
        let Decision::Yes(start) = within(region, &limits, &start, exact::Options::new(Budget::UNLIMITED))
        else {
            panic!("{name}: no order is within the limits");
        };
        for rules in rules_of_length() {
            let options = length::Options { rules, ..length::Options::default() };
            let answer =
                length::shortest(&problem, &limits, &[&start], options).expect("the start is within");
            assert_eq!((answer.length, answer.bound), (expected, expected), "{name}: {rules:?}");
            let schedule = Schedule::in_order(&problem, answer.order);
            let report = check(region, &instance.target, &schedule).expect("a legal schedule");
            let peaks: Vec<u32> = report.peaks.iter().map(|peak| peak.between).collect();
            assert!(report.length == expected && fits(&peaks, &limits), "{name}: {rules:?}");
        }
        // The goal of the pipeline, which has a limit for the first class.
        let first = problem.primary_class();
        if region.class_ids().any(|class| class != first && limits[class.index()].is_some()) {
            continue;
        }
        let problem = match limits.get(first.index()).copied().flatten() {
            Some(limit) => problem.with_register_limit(limit),
            None => problem,
        };
        for algorithm in [Algorithm::AUTO, Algorithm::TWO_PASS] {
            let outcome = schedule_one(&problem, algorithm, Budget::UNLIMITED);
            let report = check(region, &instance.target, &outcome.schedule).expect("a legal schedule");
            assert!(outcome.optimal && report.length == expected, "{name}: {}", algorithm.name());
        }
    }
    assert!(tried >= 8 && limited >= 3, "{tried} by brute force, {limited} with limits");
}

#[test]
fn the_shortest_packing() {
    let (mut tried, mut split) = (0, 0);
    for instance in instances("packing", PACKING) {
        let (name, region) = (&instance.name, instance.region());
        let problem =
            PackProblem::new(region, &instance.target).unwrap_or_else(|error| panic!("{name}: {error}"));
        let registers = instance.optional("registers");
        let problem = match registers {
            Some(limit) => problem.with_register_limit(limit),
            None => problem,
        };
        let expected = instance.number("length");
        let whole = instance.optional("without_splits").unwrap_or(expected);
        split += u32::from(whole > expected);
        for (problem, expected) in [(&problem, expected), (&problem.without_splits(), whole)] {
            let outcome = pack(problem, Budget::UNLIMITED);
            let report = lowtide::pack::check::check(region, &instance.target, &outcome.best);
            let report = report.unwrap_or_else(|violations| panic!("{name}: {}", violations[0]));
            assert_eq!((report.length, outcome.bound), (expected, expected), "{name}");
            assert!(outcome.is_proved() && outcome.fits, "{name}");
            if registers.is_none()
                && let Some(shortest) = by_states(problem, expected)
            {
                assert_eq!(shortest, expected, "{name}: all states");
                tried += 1;
            }
        }
        if region.len() <= MOST_FOR_PACKINGS {
            let within = Within { registers, ..Within::default() };
            let best = brute_force(region, &instance.target, within, expected).expect("not longer");
            assert_eq!(best.length(), expected, "{name}: brute force");
            tried += 1;
        }
    }
    assert!(tried >= 16 && split >= 2, "{tried} by brute force, {split} shorter by splits");
}

#[test]
fn the_cheapest_passes() {
    let (mut tried, mut several) = (0, 0);
    for instance in instances("passes", PASSES) {
        let (name, region) = (&instance.name, instance.region());
        let problem =
            PassProblem::new(region, &instance.target).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = u64::from(instance.number("cost"));
        if region.len() <= pass_cases::MOST {
            let least = pass_cases::brute_force(region, problem.model());
            assert_eq!(least, Some(expected), "{name}: brute force");
            tried += 1;
        }
        let starts = [
            dpmpp::partition(&problem).map(|found| found.partition),
            mio::partition(&problem),
            rds::partition(&problem, Budget::UNLIMITED),
        ];
        for start in &starts {
            let start = start.as_ref().unwrap_or_else(|| panic!("{name}: no partition"));
            let proven = exact_passes::partition(&problem, start, Budget::UNLIMITED);
            let report = check_passes(region, problem.model(), &proven.partition.passes);
            let report = report.unwrap_or_else(|violations| panic!("{name}: {}", violations[0]));
            assert_eq!((report.cost, proven.bound), (expected, expected), "{name}");
            several += u32::from(proven.partition.passes.len() > 1);
        }
    }
    assert!(tried >= 8 && several >= 9, "{tried} by brute force, {several} of several passes");
}
