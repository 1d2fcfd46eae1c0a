//! Whole kernels of the repository's corpus: never worse than before, and the same whoever is asked first.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::pipeline::{Algorithm, Filter, KernelOutcome, Options, run, schedule_kernel};
use lowtide::problem::{Goal, Measure};
use lowtide::progress::{SearchLog, Step};
use lowtide::region::Kernel;
use lowtide::solved::Solved;
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
    Options { goal, algorithm, budget: BUDGET, filter, ..Options::default() }
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
    for algorithm in [Algorithm::Auto, Algorithm::List, Algorithm::TwoPass, Algorithm::Colony] {
        for filter in [None, Some(Filter::default())] {
            let solved = Solved::new();
            let budget = if algorithm == Algorithm::Colony { FOR_ANTS } else { BUDGET };
            let options = Options { budget, ..options(Goal::Occupancy, algorithm, filter) };
            for kernel in kernels() {
                let outcome = schedule_kernel(&kernel, &target, options, &solved).unwrap();
                let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
                let after = worth(outcome.regions.iter().map(|region| &region.measure), most);
                assert_eq!(after.1.0, outcome.occupancy);
                assert!(outcome.occupancy <= outcome.occupancy_bound);
                for before in [Algorithm::Source, Algorithm::Production] {
                    let measures: Vec<Measure> = (kernel.regions.iter())
                        .map(|region| {
                            let problem = options.problem(region, &target).unwrap();
                            problem.measure(&run(&problem, before, BUDGET))
                        })
                        .collect();
                    let before = worth(measures.iter(), most);
                    assert!(after <= before, "{}: {before:?} -> {after:?}", kernel.name);
                }
                for ((region, result), passes) in
                    kernel.regions.iter().zip(&outcome.regions).zip(&outcome.passes)
                {
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
        let options = Options { registers, ..options(Goal::Length, Algorithm::Auto, None) };
        let solved = Solved::new();
        for kernel in kernels() {
            let outcome = schedule_kernel(&kernel, &target, options, &solved).unwrap();
            for (region, result) in kernel.regions.iter().zip(&outcome.regions) {
                check(region, &target, &result.schedule).expect("a legal schedule");
                let problem = options.problem(region, &target).unwrap();
                for before in [Algorithm::Source, Algorithm::Production] {
                    let before = problem.measure(&run(&problem, before, BUDGET));
                    assert!(problem.cost(&result.measure) <= problem.cost(&before), "{}", region.name());
                }
            }
        }
    }
}

/// Results by kernel, with the same memory for all of them or with one for each.
fn outcomes(kernels: &[Kernel], options: Options, solved: Option<&Solved>) -> Vec<KernelOutcome> {
    let target = Target::builtin("gfx906").unwrap();
    let schedule =
        |kernel, solved: &Solved| schedule_kernel(kernel, &target, options, solved).expect("all classes");
    kernels.iter().map(|kernel| schedule(kernel, solved.unwrap_or(&Solved::new()))).collect()
}

/// Ants that are given all questions of a pass at once find what they find one by one, on any number of threads.
#[test]
fn ants_can_be_asked_all_at_once() {
    let kernels = kernels();
    let usual = Options { budget: FOR_ANTS, ..options(Goal::Occupancy, Algorithm::Colony, None) };
    let one_by_one = Solved::new();
    let expected = outcomes(&kernels, usual, Some(&one_by_one));
    for threads in [1, 4] {
        let options = Options { budget: Budget { threads, ..FOR_ANTS }, ..usual };
        let solved = Solved::new();
        let mut chosen = [0; 2];
        for pass in [1, 2] {
            let asked = solved.asked_of_ants(pass, || {
                outcomes(&kernels, options, Some(&solved));
            });
            for asked in asked {
                assert_eq!(asked.task().is_timed(), pass == 2);
                let answer = asked.task().run(threads);
                chosen[usize::from(pass) - 1] += answer.choices;
                solved.tell(asked, answer);
            }
        }
        assert!(
            chosen.iter().all(|&choices| choices > 10_000),
            "{chosen:?}: both passes have something to do"
        );
        let spent = solved.spent().map(|spent| spent.states);
        assert_same(&expected, &outcomes(&kernels, options, Some(&solved)));
        assert_eq!(solved.spent().map(|spent| spent.states), spent, "nothing was left to ask");
        assert_eq!(solved.repeated(), one_by_one.repeated(), "regions count once");
    }
}

/// Searches went the same way, but for the time they took, and whether they were one's own.
fn assert_same_searches(one: &[KernelOutcome], other: &[KernelOutcome]) {
    let steps = |outcomes: &[KernelOutcome]| -> Vec<_> {
        let logs = outcomes.iter().flat_map(|outcome| outcome.searches.iter().enumerate());
        let logs = logs.flat_map(|(region, logs)| logs.iter().map(move |log| (region, log)));
        let step = |step: &Step| (step.nodes, step.best, step.bound);
        let log = |(region, log): (usize, &SearchLog)| {
            (region, log.quantity, log.steps.iter().map(step).collect::<Vec<_>>())
        };
        logs.map(log).collect()
    };
    assert_eq!(steps(one), steps(other));
}

fn assert_same(one: &[KernelOutcome], other: &[KernelOutcome]) {
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one.regions, other.regions);
        assert_eq!((one.occupancy, one.occupancy_bound), (other.occupancy, other.occupancy_bound));
    }
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
        (Goal::Occupancy, Algorithm::Auto),
        (Goal::Occupancy, Algorithm::List),
        (Goal::Length, Algorithm::Auto),
        (Goal::MinReg, Algorithm::Auto),
        (Goal::Occupancy, Algorithm::CriticalPath),
    ];
    for (goal, algorithm) in cases {
        let options = options(goal, algorithm, Some(Filter::default()));
        let solved = Solved::new();
        let alone = outcomes(&kernels, options, None);
        let forwards = outcomes(&kernels, options, Some(&solved));
        assert_same(&alone, &forwards);
        assert_same_searches(&alone, &forwards);
        let copied = |outcomes: &[KernelOutcome]| -> usize {
            let logs = outcomes.iter().flat_map(|outcome| outcome.searches.iter().flatten());
            logs.filter(|log| log.is_copied).count()
        };
        println!(
            "{goal:?} {algorithm:?}: {} searches copied, {} within kernels",
            copied(&forwards),
            copied(&alone)
        );
        // Within a kernel, too, regions have the same graph. (For the other goals, little has to be sought here.)
        assert!(copied(&alone) <= copied(&forwards));
        if algorithm != Algorithm::CriticalPath && goal == Goal::Occupancy {
            assert!(copied(&alone) < copied(&forwards));
        }
        assert_eq!(solved.repeated(), all - distinct);
        kernels.reverse();
        let mut backwards = outcomes(&kernels, options, Some(&Solved::new()));
        kernels.reverse();
        backwards.reverse();
        assert_same(&alone, &backwards);
        assert_same_searches(&alone, &backwards);
        // Two threads that ask the same questions, each from its own end.
        let both = Solved::new();
        std::thread::scope(|scope| {
            let reversed: Vec<Kernel> = kernels.iter().rev().cloned().collect();
            let both = &both;
            let other = scope.spawn(move || outcomes(&reversed, options, Some(both)));
            assert_same(&alone, &outcomes(&kernels, options, Some(both)));
            let mut other = other.join().expect("no panic");
            other.reverse();
            assert_same(&alone, &other);
        });
        assert_eq!(both.repeated(), 2 * all - distinct);
    }
}
