//! Against brute force over sequences of passes, which is shared with the tests outside of the library.

use super::pass_cases::brute_force;
use super::{Seen, all, model, small};
use crate::budget::Budget;
use crate::random::Random;

fn against_brute_force(seeds: std::ops::Range<u64>, most: usize) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds.clone() {
        let mut random = Random::new(seed);
        let region = small(&mut random, most);
        let model = model(&mut random);
        let least = brute_force(&region, &model);
        let Some((costs, proven)) = all(&region, &model, Budget::UNLIMITED) else {
            assert_eq!(least, None, "seed {seed} is refused");
            seen.refused += 1;
            continue;
        };
        let least = least.unwrap_or_else(|| panic!("seed {seed} has no partition"));
        assert_eq!((costs[3], proven.is_optimal()), (least, true), "seed {seed}: {costs:?}");
        seen.count(&region, &proven, costs, least);
    }
    seen
}

#[test]
fn exact_agrees_with_brute_force() {
    let seen = against_brute_force(0..4000, 5);
    assert!(seen.solved > 2000 && seen.several_passes > 200 && seen.again > 20, "{seen:?}");
    assert!(seen.missed.iter().all(|missed| *missed > 20), "{seen:?}");
}

/// For long runs: `cargo test --release -p lowtide --lib passes -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn exact_agrees_with_brute_force_on_many_more() {
    let seen = against_brute_force(100_000..104_000, 6);
    assert!(seen.several_passes > 400, "{seen:?}");
}
