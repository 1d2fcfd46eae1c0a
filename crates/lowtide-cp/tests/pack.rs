//! Own search, integer programs and brute force agree on the shortest packings. Without the solver these
//! tests are skipped, and say so; where `CI` is set they fail instead.

use std::sync::OnceLock;
use std::time::Duration;

use crate::pack_cases::{Within, block, brute_force, cases, machine};
use crate::skip::{Missing, skip};
use lowtide::budget::Budget;
use lowtide::generate::Random;
use lowtide::generate::shaders;
use lowtide::pack::bound::Ranges;
use lowtide::pack::list::pack_by_list;
use lowtide::pack::{PackProblem, Packing, Placed, pack};
use lowtide::region::{DepKind, InstrSpec, Region, RegionBuilder};
use lowtide::target::Target;
use lowtide_cp::SolverError;
use lowtide_cp::pack::{Form, PackSolver};

/// As long as it takes: a slow machine fails no test.
const LONG: Duration = Duration::from_secs(1 << 30);

fn solver() -> Option<&'static PackSolver> {
    static SOLVER: OnceLock<Result<PackSolver, SolverError>> = OnceLock::new();
    match SOLVER.get_or_init(PackSolver::find) {
        Ok(solver) => Some(solver),
        Err(error @ SolverError::NotInstalled) => {
            skip(Missing::Installable, error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn search_programs_and_brute_force_agree() {
    let Some(solver) = solver() else { return };
    for seed in 0..cases(120) {
        let mut random = Random::new(seed ^ 0x9ac);
        let target = machine(&mut random);
        let size = 1 + random.below(5);
        let region = block(&mut random, size);
        let problem = PackProblem::new(&region, &target).unwrap();
        let own = pack(&problem, Budget::UNLIMITED);
        let best = own.best.length();
        let list = pack_by_list(&problem);
        for form in [Form::Paper, Form::Minimising] {
            let linear = solver.linear_bound(&problem, form, list.length(), LONG).unwrap();
            assert!(linear <= best, "seed {seed}: the linear bound is {linear}, but {best} is possible");
        }
        for form in [Form::Decision, Form::Minimising, Form::Paper] {
            // Without any help from our own bound.
            let answer = solver.shortest(&problem, form, &list, 0, LONG).unwrap();
            assert_eq!((answer.packing.length(), answer.bound), (best, best), "seed {seed}, {form:?}");
            let whole = problem.without_splits();
            let answer = solver.by_program(&whole, form, LONG).unwrap();
            let own = pack(&whole, Budget::UNLIMITED).best.length();
            assert!(answer.proved && answer.packing.length() == own, "seed {seed}, {form:?} without splits");
        }
        let shortest = brute_force(&region, &target, Within::default(), best).expect("as short as ours");
        assert_eq!(shortest.length(), best, "seed {seed}");
    }
}

#[test]
fn blocks_like_the_papers_agree() {
    let Some(solver) = solver() else { return };
    let target = Target::builtin("vs").unwrap();
    for seed in 0..6 {
        let region = shaders::block(shaders::Group::Hand, 8 + 3 * seed as usize, seed);
        let problem = PackProblem::new(&region, &target).unwrap();
        for problem in [problem.without_splits(), problem] {
            let own = pack(&problem, Budget::UNLIMITED).best.length();
            for form in [Form::Decision, Form::Paper] {
                // With splits the paper's program has no ranges, and takes long.
                if form == Form::Decision || !problem.has_splits() || seed < 2 {
                    let answer = solver.by_program(&problem, form, LONG).unwrap();
                    assert!(answer.proved && answer.packing.length() == own, "seed {seed}, {form:?}");
                }
            }
            assert!(Ranges::new(&problem).length <= own);
        }
    }
}

/// A machine with one operation, `a`, on the first unit, with these splits.
fn with_splits(splits: &str) -> Target {
    let text = format!(
        "name = 'made'\ndescription = ''\n[issue]\nwidth = 2\n[[file]]\nname = 'f'\nsize = 64\ngranule = 64\n\
         waves = 1\nclasses = [{{ name = 'r', max = 32 }}]\n[pack]\nunits = ['v', 's']\n\
         [[pack.operation]]\nnames = ['a']\nformats = [['v']]\n{splits}\n"
    );
    Target::parse(&text).unwrap()
}

/// Operations named `a`, and dependences with latencies.
fn block_of(count: usize, deps: &[(usize, usize, u32)]) -> Region {
    let mut builder = RegionBuilder::new("made");
    let instrs: Vec<_> = (0..count).map(|_| builder.instr(InstrSpec::new("a", 1))).collect();
    for (from, to, latency) in deps {
        builder.depend(instrs[*from], instrs[*to], DepKind::Memory, *latency);
    }
    builder.build().unwrap()
}

/// What one split forbids is allowed to another one.
#[test]
fn parts_of_another_split_may_be_closer() {
    let Some(solver) = solver() else { return };
    let target = with_splits(
        "split = [{ parts = ['p', 'p'], units = { v = 2 }, apart = 3 }, \
         { parts = ['q', 'q', 'q', 'q'], units = { s = 4 }, apart = 1 }]",
    );
    let region = block_of(5, &[]);
    let problem = PackProblem::new(&region, &target).unwrap();
    assert_eq!(pack(&problem, Budget::UNLIMITED).best.length(), 4, "one is split in four");
    for form in [Form::Decision, Form::Minimising, Form::Paper] {
        let answer = solver.shortest(&problem, form, &pack_by_list(&problem), 0, LONG).unwrap();
        assert_eq!((answer.packing.length(), answer.bound), (4, 4), "{form:?}");
    }
}

/// Long latencies make long ranges: programs stay small enough, or are refused.
#[test]
fn long_latencies_do_no_harm() {
    let Some(solver) = solver() else { return };
    let split = "split = [{ parts = ['q', 'q'], units = { s = 2 }, apart = 1 }]";
    // Two operations far apart, and some that may be anywhere between them.
    let later = |packing: &Packing| {
        let placed = packing.placed().iter().map(|placed| Placed { cycle: placed.cycle + 1, ..*placed });
        Packing::new(placed.collect())
    };
    for (latency, count, deps, splits, is_refused) in [
        (2_000, 3, vec![], split, false),
        (9_000, 4, vec![(2, 3, 1)], "", true),
        (9_000, 4, vec![(2, 3, 1)], split, true),
        (1_000_000_000, 2, vec![], "", true),
        (1_000_000_000, 2, vec![], split, true),
    ] {
        let target = with_splits(splits);
        let deps: Vec<_> = deps.into_iter().chain([(0, 1, latency)]).collect();
        let region = block_of(count, &deps);
        let problem = PackProblem::new(&region, &target).unwrap();
        let list = pack_by_list(&problem);
        let answer = solver.shortest(&problem, Form::Decision, &later(&list), list.length(), LONG);
        match answer {
            Ok(answer) => assert!(answer.proved && !is_refused && answer.packing.length() == list.length()),
            Err(error) => {
                assert!(is_refused && matches!(error, SolverError::TooLarge { .. }), "{latency}: {error}");
            }
        }
    }
}
