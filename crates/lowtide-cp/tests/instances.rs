//! The constraint and integer programs on every instance of `tests/instances`: each must find the optimum
//! that the instance states, and prove it. Without the solver these tests are skipped; where `CI` is set they
//! fail instead.

use std::time::Duration;

use lowtide::InstrId;
use lowtide::budget::Budget;
use lowtide::check::{check, check_order};
use lowtide::minreg::exact::{self, Decision, within};
use lowtide::pack::PackProblem;
use lowtide::pack::list::pack_by_list;
use lowtide::problem::{Goal, Problem};
use lowtide::schedule::Schedule;
use lowtide_cp::pack::{Form, PackSolver};
use lowtide_cp::{Limits, Model, Solver, SolverError};

use crate::instance_files::{LENGTH, MINREG, PACKING, instances};
use crate::skip::{Missing, skip};

/// No clock: the instances are small.
const NO_LIMIT: Duration = Duration::from_secs(1 << 30);

/// A solver, if it is installed.
fn installed<T>(found: Result<T, SolverError>) -> Option<T> {
    match found {
        Ok(solver) => Some(solver),
        Err(error @ SolverError::NotInstalled) => {
            skip(Missing::Installable, error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn limits() -> Limits<'static> {
    Limits { time: NO_LIMIT, ..Limits::default() }
}

#[test]
fn the_fewest_registers() {
    let Some(solver) = installed(Solver::find()) else { return };
    for instance in instances("minreg", MINREG) {
        let (name, region) = (&instance.name, instance.region());
        let start: Vec<InstrId> = region.instrs().collect();
        for (class, peak) in region.class_ids().zip(instance.by_class("peak")) {
            // The integer program takes hours where the others take seconds.
            let models =
                Model::ALL.into_iter().filter(|model| *model != Model::Program || region.len() <= 10);
            for model in models {
                let answer = solver.solve(region, class, model, &start, 0, &limits()).expect("an answer");
                assert_eq!((answer.peak, Some(answer.bound)), (peak, peak), "{name}: {}", model.name());
                let peaks = check_order(region, &answer.order.expect("an order")).expect("a legal order");
                assert_eq!(Some(peaks[class.index()].between), peak, "{name}: {}", model.name());
            }
        }
    }
}

#[test]
fn the_shortest_schedule_within_limits() {
    let Some(solver) = installed(Solver::find()) else { return };
    let mut solved = 0;
    for instance in instances("length", LENGTH) {
        let (name, region) = (&instance.name, instance.region());
        // The model is for one instruction in each cycle.
        if instance.target.issue().width > 1 {
            continue;
        }
        let problem = Problem::new(region, &instance.target, Goal::Length).expect("known classes");
        let within_limits = instance.by_class("limits");
        let start: Vec<InstrId> = region.instrs().collect();
        let options = exact::Options::new(Budget::UNLIMITED);
        let Decision::Yes(start) = within(region, &within_limits, &start, options) else {
            panic!("{name}: no order is within the limits");
        };
        let answer = solver.shortest(&problem, &within_limits, &start, 0, &limits()).expect("an answer");
        let expected = instance.number("length");
        assert_eq!((answer.length, answer.bound), (expected, expected), "{name}");
        let report = check(region, &instance.target, &Schedule::in_order(&problem, answer.order));
        assert_eq!(report.expect("a legal schedule").length, expected, "{name}");
        solved += 1;
    }
    assert!(solved >= 8, "{solved}");
}

#[test]
fn the_shortest_packing() {
    let Some(solver) = installed(PackSolver::find()) else { return };
    let mut solved = 0;
    for instance in instances("packing", PACKING) {
        // The programs know no limit on registers.
        if instance.optional("registers").is_some() {
            continue;
        }
        let (name, region) = (&instance.name, instance.region());
        let problem = PackProblem::new(region, &instance.target).expect("known operations");
        let expected = instance.number("length");
        let whole = instance.optional("without_splits").unwrap_or(expected);
        for (problem, expected) in [(&problem, expected), (&problem.without_splits(), whole)] {
            for form in [Form::Decision, Form::Minimising] {
                let list = pack_by_list(problem);
                let answer = solver.shortest(problem, form, &list, 0, NO_LIMIT).expect("an answer");
                let found = (answer.packing.length(), answer.bound);
                assert_eq!(found, (expected, expected), "{name}: {form:?}");
                let report = lowtide::pack::check::check(region, &instance.target, &answer.packing);
                assert_eq!(report.expect("a legal packing").length, expected, "{name}: {form:?}");
            }
        }
        solved += 1;
    }
    assert!(solved >= 8, "{solved}");
}
