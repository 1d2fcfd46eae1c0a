//! Own search, integer programs and brute force agree on the shortest packings. Without the solver these tests are skipped, and say
//! so; where `CI` is set they fail instead.

#[path = "../../lowtide/tests/pack_cases/mod.rs"]
mod pack_cases;

use std::sync::OnceLock;
use std::time::Duration;

use lowtide::generate::Random;
use lowtide::generate::shaders;
use lowtide::pack::bound::Ranges;
use lowtide::pack::list::pack_by_list;
use lowtide::pack::{PackProblem, pack};
use lowtide::schedule::Budget;
use lowtide::target::Target;
use lowtide_cp::SolverError;
use lowtide_cp::pack::{Form, PackSolver};
use pack_cases::{Within, block, brute_force, cases, machine};

const LONG: Duration = Duration::from_secs(60);

fn solver() -> Option<&'static PackSolver> {
    static SOLVER: OnceLock<Option<PackSolver>> = OnceLock::new();
    let found = SOLVER.get_or_init(|| match PackSolver::find() {
        Ok(solver) => Some(solver),
        Err(error @ SolverError::NotInstalled) if std::env::var_os("CI").is_none() => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: the tests of integer programs ({error})");
            None
        }
        Err(error) => panic!("{error}"),
    });
    found.as_ref()
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
        let linear = solver.linear_bound(&problem, list.length(), LONG).unwrap();
        assert!(linear <= best, "seed {seed}: the linear bound is {linear}, but {best} is possible");
        for form in [Form::Decision, Form::Minimising] {
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
            let answer = solver.by_program(&problem, Form::Decision, LONG).unwrap();
            assert!(answer.proved && answer.packing.length() == own, "seed {seed}");
            assert!(Ranges::new(&problem).length <= own);
        }
    }
}
