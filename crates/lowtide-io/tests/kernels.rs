//! Whole kernels of the repository's corpus: never worse than before, and the same whoever is asked first.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

use lowtide::algorithm::Algorithm;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::outcome::KernelOutcome;
use lowtide::pipeline::{Filter, KernelPlan, Options, open_tasks, run, schedule_kernel};
use lowtide::problem::{Goal, Measure};
use lowtide::progress::{SearchLog, Step};
use lowtide::region::Kernel;
use lowtide::session::{Context, Session, Statistics};
use lowtide::target::Target;
use lowtide_io::KernelReader;

const BUDGET: Budget = Budget { nodes: Some(2_000), ..Budget::UNLIMITED };

/// A group of ants makes a choice for every instruction of every schedule.
const FOR_ANTS: Budget = Budget { nodes: Some(20_000), ..Budget::UNLIMITED };

fn kernels() -> Vec<Kernel> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let files = ["hashcat.jsonl.gz", "rocprim.jsonl.gz", "colony/rocprim.jsonl.gz"].into_iter();
    files.flat_map(|file| KernelReader::open(&folder.join(file)).unwrap().map(Result::unwrap)).collect()
}

fn options(goal: Goal, algorithm: Algorithm, filter: Option<Filter>) -> Options {
    Options::default().with_goal(goal).with_algorithm(algorithm).with_budget(BUDGET).with_filter(filter)
}

/// Spills, waves and length of a kernel: the less, the better.
fn worth<'m>(measures: impl Iterator<Item = &'m Measure>, most: u32) -> (u64, Reverse<u32>, u64) {
    measures.fold((0, Reverse(most), 0), |(spilled, Reverse(waves), length), measure| {
        (
            spilled + u64::from(measure.spilled),
            Reverse(waves.min(measure.occupancy)),
            length + u64::from(measure.length),
        )
    })
}

#[test]
fn kernels_are_never_worse_than_before() {
    let target = Target::builtin("gfx906").unwrap();
    for algorithm in [Algorithm::AUTO, Algorithm::LIST, Algorithm::TWO_PASS, Algorithm::COLONY] {
        for filter in [None, Some(Filter::default())] {
            let session = Session::new();
            let budget = if algorithm == Algorithm::COLONY { FOR_ANTS } else { BUDGET };
            let options = options(Goal::Occupancy, algorithm, filter).with_budget(budget);
            for kernel in kernels() {
                let outcome = schedule_kernel(&kernel, &target, &options, &session).unwrap();
                let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
                let after = worth(outcome.regions.iter().map(|region| &region.measure), most);
                assert_eq!(after.1.0, outcome.occupancy);
                assert!(outcome.occupancy <= outcome.occupancy_bound);
                for before in [Algorithm::SOURCE, Algorithm::PRODUCTION] {
                    let measures: Vec<Measure> = (kernel.regions.iter())
                        .map(|region| {
                            let problem = options.problem(region, &target).unwrap();
                            problem.measure(&run(&problem, before, BUDGET, &Session::new()).unwrap())
                        })
                        .collect();
                    let before = worth(measures.iter(), most);
                    assert!(after <= before, "{}: {before:?} -> {after:?}", kernel.name);
                }
                for (region, result) in kernel.regions.iter().zip(&outcome.regions) {
                    let passes = result.passes.expect("both passes have run");
                    let report = check(region, &target, &result.schedule).expect("a legal schedule");
                    assert_eq!(
                        (report.length, &report.peaks),
                        (result.measure.length, &result.measure.peaks)
                    );
                    assert!(result.bounds.length <= report.length && report.length <= passes.start_length);
                    assert!(result.measure.occupancy >= passes.waves);
                }
            }
        }
    }
}

#[test]
fn within_a_limit_lengths_are_never_worse_than_before() {
    let target = Target::builtin("gfx906").unwrap();
    for registers in [None, Some(40), Some(20)] {
        let options = options(Goal::Length, Algorithm::AUTO, None).with_registers(registers);
        let session = Session::new();
        for kernel in kernels() {
            let outcome = schedule_kernel(&kernel, &target, &options, &session).unwrap();
            for (region, result) in kernel.regions.iter().zip(&outcome.regions) {
                check(region, &target, &result.schedule).expect("a legal schedule");
                let problem = options.problem(region, &target).unwrap();
                for before in [Algorithm::SOURCE, Algorithm::PRODUCTION] {
                    let before = problem.measure(&run(&problem, before, BUDGET, &Session::new()).unwrap());
                    assert!(problem.cost(&result.measure) <= problem.cost(&before), "{}", region.name());
                }
            }
        }
    }
}

/// Results by kernel, with one session for all of them or with one for each; and the work.
fn counted_outcomes(
    kernels: &[Kernel],
    options: Options,
    session: Option<&Session>,
) -> (Vec<KernelOutcome>, Statistics) {
    let target = Target::builtin("gfx906").unwrap();
    let statistics = Statistics::default();
    let schedule = |kernel| {
        let own = Session::new();
        let context = Context::new(session.unwrap_or(&own)).counted_by(&statistics);
        schedule_kernel(kernel, &target, &options, context).expect("all classes")
    };
    (kernels.iter().map(schedule).collect(), statistics)
}

fn outcomes(kernels: &[Kernel], options: Options, session: Option<&Session>) -> Vec<KernelOutcome> {
    counted_outcomes(kernels, options, session).0
}

/// Lets ants of all kernels run at once, phase by phase. Returns the outcomes and the choices of ants in both
/// passes.
fn in_phases(
    kernels: &[Kernel],
    options: Options,
    session: &Session,
    threads: usize,
) -> (Vec<KernelOutcome>, [u64; 2]) {
    let target = Target::builtin("gfx906").unwrap();
    let plan = |kernel| KernelPlan::new(kernel, &target, &options, session.into()).expect("all classes");
    let mut plans: Vec<KernelPlan> = kernels.iter().map(plan).collect();
    let mut chosen = [0; 2];
    while plans.iter().any(|plan| !plan.is_done()) {
        for open in open_tasks(&plans) {
            let answer = open.task().run(threads);
            chosen[usize::from(open.task().is_timed())] += answer.choices;
            open.answer(answer);
        }
        assert!(open_tasks(&plans).is_empty(), "all tasks of this phase have answers");
        plans.iter_mut().for_each(|plan| plan.advance().expect("legal schedules"));
    }
    (plans.into_iter().map(|plan| plan.finish().expect("legal schedules")).collect(), chosen)
}

/// Ants that are given all tasks of a phase at once find what they find one by one, on any number of threads.
#[test]
fn ants_can_be_asked_all_at_once() {
    let kernels = kernels();
    for (goal, filter) in [
        (Goal::Occupancy, None),
        (Goal::Occupancy, Some(Filter { few_cycles: 0, few_cycles_to_gain: 0, few_waves: 100 })),
        (Goal::Length, None),
    ] {
        let usual = options(goal, Algorithm::COLONY, filter).with_budget(FOR_ANTS);
        let (expected, counted) = counted_outcomes(&kernels, usual, Some(&Session::new()));
        for threads in [1, 4] {
            let options = usual.with_budget(Budget { threads, ..FOR_ANTS });
            let session = Session::new();
            let (found, chosen) = in_phases(&kernels, options, &session, threads);
            assert_same(&expected, &found);
            if goal == Goal::Occupancy {
                let message = format!("{chosen:?}: both passes have something to do");
                assert!(chosen.iter().all(|&choices| choices > 10_000), "{message}");
            }
            let (again, after) = counted_outcomes(&kernels, options, Some(&session));
            assert_same(&expected, &again);
            assert_eq!(after.spent().map(|spent| spent.states), [0; 2], "nothing was left to ask");
            let regions: usize = kernels.iter().map(|kernel| kernel.regions.len()).sum();
            assert!(counted.repeated() < regions as u64);
            assert_eq!(after.repeated(), counted.repeated(), "regions count by run, not by session");
        }
    }
}

/// One session plans and waits for an engine while another one schedules the same kernels: neither changes
/// what the other finds.
#[test]
fn sessions_do_not_disturb_each_other() {
    let kernels = kernels();
    let ants = options(Goal::Occupancy, Algorithm::COLONY, None).with_budget(FOR_ANTS);
    let search = options(Goal::Occupancy, Algorithm::AUTO, None);
    let expected = [ants, search].map(|options| outcomes(&kernels, options, Some(&Session::new())));
    let target = Target::builtin("gfx906").unwrap();
    let [planning, other] = [Session::new(), Session::new()];
    let plan = |kernel| KernelPlan::new(kernel, &target, &ants, (&planning).into()).expect("all classes");
    let plans: Vec<KernelPlan> = kernels.iter().map(plan).collect();
    assert!(!open_tasks(&plans).is_empty(), "something waits for an engine");
    std::thread::scope(|scope| {
        let one = scope.spawn(|| outcomes(&kernels, search, Some(&other)));
        let two = scope.spawn(|| outcomes(&kernels, ants, Some(&other)));
        let three = scope.spawn(|| in_phases(&kernels, ants, &Session::new(), 1).0);
        assert_same(&expected[1], &one.join().expect("no panic"));
        assert_same(&expected[0], &two.join().expect("no panic"));
        assert_same(&expected[0], &three.join().expect("no panic"));
    });
    let found: Vec<KernelOutcome> = plans.into_iter().map(|plan| plan.finish().expect("legal")).collect();
    assert_same(&expected[0], &found);
}

/// The logs of all searches, each with the number of its region.
fn logs(outcomes: &[KernelOutcome]) -> impl Iterator<Item = (usize, &SearchLog)> {
    let regions = outcomes.iter().flat_map(|outcome| outcome.regions.iter().enumerate());
    regions.flat_map(|(number, region)| region.searches.iter().map(move |log| (number, log)))
}

/// Searches went the same way, but for the time they took, and whether they were one's own.
fn assert_same_searches(one: &[KernelOutcome], other: &[KernelOutcome]) {
    let steps = |outcomes: &[KernelOutcome]| -> Vec<_> {
        let step = |step: &Step| (step.nodes, step.best, step.bound);
        let log = |(region, log): (usize, &SearchLog)| {
            (region, log.quantity, log.steps.iter().map(step).collect::<Vec<_>>())
        };
        logs(outcomes).map(log).collect()
    };
    assert_eq!(steps(one), steps(other));
}

/// Outcomes are the same, but for the way in which they were found.
fn assert_same(one: &[KernelOutcome], other: &[KernelOutcome]) {
    let bare = |kernels: &[KernelOutcome]| {
        let mut kernels = kernels.to_vec();
        for region in kernels.iter_mut().flat_map(|kernel| &mut kernel.regions) {
            *region = region.clone().without_searches();
        }
        kernels
    };
    assert_eq!(bare(one), bare(other));
}

/// With steps for a budget, an answer that is known already is the one that would have been found.
#[test]
fn what_is_known_makes_no_difference() {
    let mut kernels = kernels();
    let graphs = kernels.iter().flat_map(|kernel| &kernel.regions).map(fingerprint);
    let all = graphs.clone().count() as u64;
    let distinct = graphs.collect::<HashSet<u128>>().len() as u64;
    assert!(distinct < all);
    let cases = [
        (Goal::Occupancy, Algorithm::AUTO),
        (Goal::Occupancy, Algorithm::LIST),
        (Goal::Length, Algorithm::AUTO),
        (Goal::MinReg, Algorithm::AUTO),
        (Goal::Occupancy, Algorithm::CRITICAL_PATH),
    ];
    for (goal, algorithm) in cases {
        let options = options(goal, algorithm, Some(Filter::default()));
        let alone = outcomes(&kernels, options, None);
        let (forwards, statistics) = counted_outcomes(&kernels, options, Some(&Session::new()));
        assert_same(&alone, &forwards);
        assert_same_searches(&alone, &forwards);
        let copied =
            |outcomes: &[KernelOutcome]| -> usize { logs(outcomes).filter(|(_, log)| log.is_copied).count() };
        println!(
            "{goal:?} {algorithm:?}: {} searches copied, {} within kernels",
            copied(&forwards),
            copied(&alone)
        );
        // Within a kernel, too, regions have the same graph. (For the other goals, little has to be sought
        // here.)
        assert!(copied(&alone) <= copied(&forwards));
        if algorithm != Algorithm::CRITICAL_PATH && goal == Goal::Occupancy {
            assert!(copied(&alone) < copied(&forwards));
        }
        assert_eq!(statistics.repeated(), all - distinct);
        kernels.reverse();
        let mut backwards = outcomes(&kernels, options, Some(&Session::new()));
        kernels.reverse();
        backwards.reverse();
        assert_same(&alone, &backwards);
        assert_same_searches(&alone, &backwards);
        // Two threads that ask the same questions, each from its own end.
        let both = Session::new();
        std::thread::scope(|scope| {
            let reversed: Vec<Kernel> = kernels.iter().rev().cloned().collect();
            let both = &both;
            let other = scope.spawn(move || counted_outcomes(&reversed, options, Some(both)));
            let (own, counted) = counted_outcomes(&kernels, options, Some(both));
            assert_same(&alone, &own);
            let (mut other, others) = other.join().expect("no panic");
            other.reverse();
            assert_same(&alone, &other);
            assert_eq!((counted.repeated(), others.repeated()), (all - distinct, all - distinct));
        });
    }
}
