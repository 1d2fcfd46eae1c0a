//! A short, repeatable fuzz run of every algorithm against its checker, on stable Rust. `fuzz/` runs the same
//! harness for as long as one likes.

use crate::fuzzed;
use crate::pack_cases::{block, cases, machine};
use lowtide::random::Random;

/// Runs a harness on random bytes; says which bytes it was where it fails. At least a tenth of the cases must
/// leave something to decide.
fn run(
    name: &str,
    rounds: u64,
    most_bytes: usize,
    harness: impl Fn(&[u8]) -> bool + std::panic::RefUnwindSafe,
) {
    let mut open = 0;
    for round in 0..cases(rounds) {
        let mut random = Random::new(round ^ 0xf022);
        let length = random.below(most_bytes);
        let data: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        match std::panic::catch_unwind(|| harness(&data)) {
            Ok(is_open) => open += u64::from(is_open),
            Err(panic) => {
                eprintln!("{name}, round {round}: {data:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{name}: {open} of {} cases left something to decide", cases(rounds));
    assert!(open > cases(rounds) / 10, "{name}: {open} of {}", cases(rounds));
}

#[test]
fn every_algorithm_makes_legal_schedules_with_true_figures_for_every_goal() {
    run("schedule", 150, 400, fuzzed::schedule);
}

#[test]
fn kernels_of_several_regions_have_legal_schedules_with_true_figures() {
    run("kernel", 60, 600, fuzzed::kernel);
}

#[test]
fn packings_are_legal_with_true_figures() {
    run("packing", 1500, 30, |data| fuzzed::packing(data, machine, block));
}

#[test]
fn passes_are_legal_with_true_costs() {
    run("passes", 1500, 200, fuzzed::passes);
}
