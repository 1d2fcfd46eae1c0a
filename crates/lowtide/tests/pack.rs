//! What packing promises: legal packings, true bounds, the shortest lengths.

mod pack_cases;

use lowtide::generate::Random;
use lowtide::generate::shaders::{Group, suite};
use lowtide::pack::bound::Ranges;
use lowtide::pack::check::check;
use lowtide::pack::{PackProblem, measure, pack};
use lowtide::schedule::Budget;
use lowtide::target::Target;
use pack_cases::{block, brute_force, cases, machine};

#[test]
fn lengths_are_those_of_brute_force() {
    let mut split = 0;
    for seed in 0..cases(400) {
        let mut random = Random::new(seed);
        let target = machine(&mut random);
        let size = 1 + random.below(5);
        let region = block(&mut random, size);
        let problem = PackProblem::new(&region, &target).unwrap();
        let outcome = pack(&problem, Budget::UNLIMITED);
        assert!(outcome.is_proved(), "seed {seed}");
        let report =
            check(&region, &target, &outcome.best).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:?}"));
        let own = measure(&problem, &outcome.best);
        assert_eq!(
            (report.length, &report.peaks, report.levels, report.splits),
            (own.length, &own.peaks, own.levels, own.splits),
            "seed {seed}"
        );
        let best = brute_force(&region, &target, None, outcome.best.length()).expect("as short as ours");
        assert_eq!(best.length(), outcome.best.length(), "seed {seed}");
        check(&region, &target, &outcome.list).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:?}"));
        assert!(Ranges::new(&problem).length <= best.length(), "seed {seed}");
        let whole = pack(&problem.without_splits(), Budget::UNLIMITED);
        assert!(outcome.best.splits() == 0 || whole.best.length() > outcome.best.length(), "seed {seed}");
        split += usize::from(outcome.best.splits() > 0);
    }
    assert!(split > 5, "some of them are split: {split}");
}

#[test]
fn blocks_like_the_papers_are_proven() {
    let target = Target::builtin("vs").unwrap();
    let mut open = 0;
    let mut times: Vec<(f64, usize, u64)> = Vec::new();
    let (mut list, mut best, mut improved, mut split, mut bound) = (0, 0, 0, 0, 0);
    for (group, region) in suite(1) {
        let _: Group = group;
        let problem = PackProblem::new(&region, &target).unwrap();
        let start = std::time::Instant::now();
        let outcome = pack(&problem, Budget { nodes: Some(300_000), ..Budget::UNLIMITED });
        times.push((start.elapsed().as_secs_f64(), region.len(), outcome.nodes));
        open += usize::from(!outcome.is_proved());
        check(&region, &target, &outcome.best).unwrap();
        list += outcome.list.length();
        best += outcome.best.length();
        improved += u32::from(outcome.best.length() < outcome.list.length());
        split += u32::from(outcome.best.splits() > 0);
        bound += u32::from(outcome.list.length() == outcome.first_bound);
    }
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("open {open} list {list} best {best} improved {improved} split {split} bound {bound}");
    println!("{:?}", &times[..20]);
}
