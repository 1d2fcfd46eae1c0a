//! Two exact methods that have nothing in common: the constraint model and the search must find the same
//! optimum. Without the solver the test is skipped, and says so; where `CI` is set it fails instead.

use std::time::{Duration, Instant};

use crate::made::{Made, or_in_ci};
use crate::skip::{Missing, skip};
use lowtide::budget::Budget;
use lowtide::check::check_order;
use lowtide::generate::{self, Random, Shape, families};
use lowtide::minreg::exact::{Options, minimise};
use lowtide::region::Region;
use lowtide_cp::{Limits, Model, Solver, SolverError};

fn solver() -> Option<Solver> {
    match Solver::find() {
        Ok(solver) => Some(solver),
        Err(error @ SolverError::NotInstalled) => {
            skip(Missing::Installable, error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Regions of 15 to 30 instructions.
fn regions() -> impl Iterator<Item = Region> {
    (0..).flat_map(|seed: u64| {
        let size = 15 + (seed as usize * 7) % 16;
        let shapes = Shape::ALL.map(|shape| generate::region(shape, size, seed));
        let programs = [generate::register_program(size, seed)];
        let made = Made::ALL.map(|made| made.region(30, seed));
        let layers = [families::layered(size, 6, seed)];
        let all = shapes.into_iter().chain(programs).chain(made).chain(layers);
        all.filter(|region| (15..=30).contains(&region.len()))
    })
}

#[test]
fn the_search_and_the_constraint_model_find_the_same_optimum() {
    let Some(solver) = solver() else { return };
    let began = Instant::now();
    let mut random = Random::new(1);
    let (mut searched, mut better) = (0, 0);
    let (count, least) = or_in_ci((500, [50, 250]), (300, [30, 150]));
    // As long as it takes: a slow machine fails no test.
    let limits = Limits { time: Duration::MAX, ..Limits::default() };
    for region in regions().take(count) {
        let start = generate::random_order(&region, &mut random);
        let peaks = check_order(&region, &start).expect("a legal order");
        // The class that has the most to gain.
        let class = region.class_ids().max_by_key(|class| peaks[class.index()].between).expect("a class");
        let found = minimise(&region, class, &[], &start, Options::new(Budget::default()));
        assert_eq!(found.peak, found.bound, "{}", region.name());
        let answer = solver.solve(&region, class, Model::Improved, &start, 0, &limits);
        let answer = answer.expect("an answer");
        assert!(answer.proved, "{} took {} s", region.name(), answer.seconds);
        assert_eq!(answer.peak, Some(found.peak), "{} {class}", region.name());
        searched += u32::from(found.nodes > 0);
        better += u32::from(found.peak < peaks[class.index()].between);
        if answer.seconds > 0.5 {
            println!("{} ({} instructions): {:.1} s", region.name(), region.len(), answer.seconds);
        }
    }
    println!("{searched} took a search, {better} are better than a random order; {:?}", began.elapsed());
    assert!(searched > least[0] && better > least[1], "{searched} {better}");
}
