//! What the models promise, against brute force. Without the solver these tests are skipped, and say so;
//! where `CI` is set they fail instead.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::skip::{Missing, skip};
use crate::watchdog::must_end;
use lowtide::check::check_order;
use lowtide::generate::{self, Shape};
use lowtide::random::Random;
use lowtide::region::Region;
use lowtide::{ClassId, InstrId, ValueId};
use lowtide_cp::{Limits, Model, Solver, SolverError};

fn solver() -> Option<&'static Solver> {
    static SOLVER: OnceLock<Result<Solver, SolverError>> = OnceLock::new();
    match SOLVER.get_or_init(Solver::find) {
        Ok(solver) => Some(solver),
        Err(error @ SolverError::NotInstalled) => {
            skip(Missing::Installable, error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The lowest peak of any order, by trying all downsets.
fn lowest_peak(region: &Region, class: ClassId) -> u32 {
    let count = region.len();
    assert!(count <= 14);
    let pressure = |done: usize| {
        let is_done = |instr: InstrId| done >> instr.0 & 1 == 1;
        let mut total = region.through(class);
        for (position, value) in region.values().iter().enumerate() {
            let still_needed =
                value.live_out || region.value_uses(ValueId::at(position)).iter().any(|user| !is_done(*user));
            if value.class == class && value.def.is_none_or(is_done) && still_needed {
                total += value.weight;
            }
        }
        total
    };
    let mut lowest: Vec<Option<u32>> = vec![None; 1 << count];
    lowest[0] = Some(pressure(0));
    for done in 0..1usize << count {
        let Some(so_far) = lowest[done] else { continue };
        for instr in region.instrs().filter(|instr| done >> instr.0 & 1 == 0) {
            if region.preds(instr).iter().all(|edge| done >> edge.instr.0 & 1 == 1) {
                let next = done | 1 << instr.0;
                let peak = so_far.max(pressure(next));
                lowest[next] = Some(lowest[next].map_or(peak, |other| other.min(peak)));
            }
        }
    }
    lowest[(1 << count) - 1].expect("an order exists")
}

/// As long as it takes: a slow machine fails no test.
fn no_limit() -> Limits<'static> {
    Limits { time: Duration::MAX, ..Limits::default() }
}

fn source(region: &Region) -> Vec<InstrId> {
    region.instrs().collect()
}

fn peak(region: &Region, order: &[InstrId], class: ClassId) -> u32 {
    check_order(region, order).expect("a legal order")[class.index()].between
}

/// Regions of up to 11 instructions of all shapes, and programs that use the same registers again and again.
fn small_regions(rounds: u64) -> impl Iterator<Item = Region> {
    (0..rounds).flat_map(|seed| {
        let size = 1 + (seed as usize * 7) % 11;
        let shapes = Shape::ALL.into_iter().map(move |shape| generate::region(shape, size, seed));
        // Some shapes end with a whole round of a loop or of lanes.
        shapes.chain([generate::register_program(size, seed)]).filter(|region| region.len() <= 12)
    })
}

fn agrees_with_brute_force(model: Model, rounds: u64) {
    let Some(solver) = solver() else { return };
    let (mut solved, mut better) = (0, 0);
    let mut random = Random::new(1);
    for region in small_regions(rounds) {
        for class in region.class_ids() {
            let optimum = lowest_peak(&region, class);
            let start = generate::random_order(&region, &mut random);
            let answer = solver.solve(&region, class, model, &start, 0, &no_limit()).expect("an answer");
            assert!(answer.proved, "{} {class}", region.name());
            assert_eq!((answer.peak, answer.bound), (Some(optimum), optimum), "{} {class}", region.name());
            assert_eq!(peak(&region, &answer.order.expect("an order"), class), optimum);
            solved += 1;
            better += u32::from(optimum < peak(&region, &start, class));
        }
    }
    assert!(solved > 200 && better > 50, "{solved} solved, {better} better than the start");
}

#[test]
fn the_improved_model_agrees_with_brute_force() {
    agrees_with_brute_force(Model::Improved, 60);
}

#[test]
fn the_model_of_the_paper_agrees_with_brute_force() {
    agrees_with_brute_force(Model::Paper, 24);
}

#[test]
fn the_integer_program_agrees_with_brute_force() {
    agrees_with_brute_force(Model::Program, 22);
}

/// The true optimum as the bound given: the improved model has nothing to prove, only to find.
#[test]
fn a_given_bound_is_used() {
    let Some(solver) = solver() else { return };
    for region in small_regions(10) {
        for class in region.class_ids() {
            let optimum = lowest_peak(&region, class);
            let limits = no_limit();
            let answer = solver.solve(&region, class, Model::Improved, &source(&region), optimum, &limits);
            let answer = answer.expect("an answer");
            assert_eq!((answer.peak, answer.bound, answer.proved), (Some(optimum), optimum, true));
            // Nothing is asked of the solver where the start meets the bound: not even time is needed.
            let order = answer.order.expect("an order");
            let limits = Limits { time: Duration::ZERO, ..limits };
            let again =
                solver.solve(&region, class, Model::Improved, &order, optimum, &limits).expect("an answer");
            assert_eq!((again.order, again.proved), (Some(order), true));
        }
    }
}

#[test]
fn a_bound_above_an_order_is_refused() {
    let Some(solver) = solver() else { return };
    let region = generate::region(Shape::Layered, 10, 1);
    let limits = Limits::default();
    let answer = solver.solve(&region, ClassId(0), Model::Improved, &source(&region), 1000, &limits);
    assert!(matches!(answer, Err(SolverError::Refused(_))), "{answer:?}");
}

#[test]
fn an_illegal_start_is_refused() {
    let Some(solver) = solver() else { return };
    let region = generate::region(Shape::SharedChains, 10, 1);
    let backwards: Vec<InstrId> = region.instrs().rev().collect();
    for start in [&backwards[..], &backwards[1..], &[]] {
        let answer = solver.solve(&region, ClassId(0), Model::Improved, start, 0, &Limits::default());
        assert!(matches!(answer, Err(SolverError::BadStart(_))), "{answer:?}");
    }
}

/// A region that neither model solves in a moment.
fn hard_region() -> Region {
    generate::region(Shape::Layered, 120, 5)
}

/// Without time nothing is proven; with a second, what is claimed is true. (A search that ignored its limit
/// would not end, and the watchdog would fail the test.)
#[test]
fn the_time_limit_ends_the_search() {
    let Some(solver) = solver() else { return };
    let region = hard_region();
    let start = source(&region);
    let times = [Duration::ZERO, Duration::from_secs(1)];
    for (model, time) in Model::ALL.into_iter().flat_map(|model| times.map(|time| (model, time))) {
        let limits = Limits { time, threads: 2, ..Limits::default() };
        let answer = must_end(move || {
            solver.solve(&hard_region(), ClassId(0), model, &source(&hard_region()), 0, &limits)
        })
        .expect("an answer");
        assert!(!answer.proved || time > Duration::ZERO, "{model:?}");
        assert!(answer.peak.is_none_or(|peak| answer.bound <= peak));
        assert!(answer.bound <= peak(&region, &start, ClassId(0)));
        assert_eq!(answer.proved, answer.peak == Some(answer.bound));
        assert!(model != Model::Improved || answer.peak <= Some(peak(&region, &start, ClassId(0))));
    }
}

#[test]
fn one_thread_gives_the_same_order_every_time() {
    let Some(solver) = solver() else { return };
    let region = generate::region(Shape::UnrolledLoop, 40, 2);
    for seed in [0, u32::MAX] {
        let limits = Limits { seed, ..no_limit() };
        let solve = || {
            solver
                .solve(&region, ClassId(0), Model::Improved, &source(&region), 0, &limits)
                .expect("an answer")
        };
        let (first, second) = (solve(), solve());
        assert!(first.proved);
        assert_eq!(first.order, second.order);
    }
}

/// The limit is a hundred years: a search that could not be stopped would not end, and the watchdog would
/// fail the test.
#[test]
fn a_search_can_be_stopped() {
    let Some(solver) = solver() else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let answer = must_end(move || {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let limits = Limits { time: Duration::MAX, stop: Some(&flag), ..Limits::default() };
        solver.solve(&hard_region(), ClassId(0), Model::Paper, &[], 0, &limits)
    });
    let answer = answer.expect("an answer");
    assert!(!answer.proved, "{answer:?}");
}

/// The same limit ends the same search at the same place, however fast the machine is.
#[test]
fn a_limit_on_work_gives_the_same_answer_every_time() {
    let Some(solver) = solver() else { return };
    let region = hard_region();
    let start = source(&region);
    let before = peak(&region, &start, ClassId(0));
    let solve = |work: f64| {
        let limits = Limits { work: Some(work), time: Duration::MAX, ..Limits::default() };
        let solve = move || {
            let region = hard_region();
            solver.solve(&region, ClassId(0), Model::Improved, &source(&region), 0, &limits)
        };
        must_end(solve).expect("an answer")
    };
    let answers = [0.0, 0.05, 1.0].map(|work| {
        let [first, second] = [solve(work), solve(work)];
        let figures = |answer: &lowtide_cp::Answer| (answer.order.clone(), answer.peak, answer.bound);
        assert_eq!(figures(&first), figures(&second), "{work}");
        assert!(first.peak <= Some(before), "{work}");
        first
    });
    // The limit ends the first search, and suffices for the last one.
    assert!(!answers[0].proved && answers[2].proved, "{answers:?}");
}

#[test]
fn what_is_too_large_is_refused() {
    let Some(solver) = solver() else { return };
    for (model, size) in [(Model::Paper, 1500), (Model::Improved, 12_000)] {
        let region = generate::region(Shape::SharedChains, size, 1);
        let answer = solver.solve(&region, ClassId(0), model, &source(&region), 0, &Limits::default());
        let error = answer.expect_err("too large").to_string();
        assert!(error.contains("too large"), "{error}");
    }
}

#[test]
fn a_file_that_is_no_solver_gives_a_clear_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("libortools.so.9");
    for content in [None, Some("not a library")] {
        if let Some(content) = content {
            std::fs::write(&file, content).expect("a writable folder");
        }
        let error = Solver::load(file.clone()).err().expect("an error").to_string();
        assert!(error.contains("libortools.so.9") && error.contains("scripts/install-ortools"), "{error}");
    }
    // A library, but not this one.
    if let Err(error) = Solver::load(PathBuf::from("libm.so.6")) {
        assert!(error.to_string().contains("OR-Tools 9.15"), "{error}");
    } else {
        panic!("the mathematical library is no solver");
    }
}
