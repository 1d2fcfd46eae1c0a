//! Pass 1, the most waves of a kernel, against brute force.

use crate::made::{Small, regions};
use lowtide::budget::Budget;
use lowtide::check::check_order;
use lowtide::generate::Random;
use lowtide::pipeline::first_pass::{Options, most_waves};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::session::{Session, SharedProblem};
use lowtide::target::Target;

/// Small files with many steps, so that small regions differ. `vector` is for the first class, alone or
/// shared with the third.
fn target(classes: &str, more: &str) -> Target {
    let text = format!(
        "name = \"small\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n\
         [[file]]\nname = \"vector\"\nsize = 48\ngranule = 2\nwaves = 8\nclasses = [{classes}]\n\
         [[file]]\nname = \"scalar\"\nsize = 60\ngranule = 4\nwaves = 8\nclasses = [{{ name = \"sgpr\", max = 20 }}]\n{more}"
    );
    Target::parse(&text).expect("a valid target")
}

fn separate() -> Target {
    target(
        "{ name = \"vgpr\", max = 24 }",
        "[[file]]\nname = \"matrix\"\nsize = 40\ngranule = 1\nwaves = 8\nclasses = [{ name = \"agpr\", max = 16 }]\n",
    )
}

fn shared() -> Target {
    target("{ name = \"vgpr\", max = 24, align = 2 }, { name = \"agpr\", max = 16 }", "")
}

/// Scalar registers beyond three go into lanes of vector registers, two into each.
fn with_lanes() -> Target {
    let scalar = "{ name = \"sgpr\", max = 20 }";
    let lanes = "{ name = \"sgpr\", max = 3, spill = { class = \"vgpr\", lanes = 2 } }";
    let text = "name = \"small\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n\
         [[file]]\nname = \"vector\"\nsize = 48\ngranule = 2\nwaves = 8\nclasses = [{ name = \"vgpr\", max = 24 }]\n\
         [[file]]\nname = \"scalar\"\nsize = 60\ngranule = 4\nwaves = 8\nclasses = [{ name = \"sgpr\", max = 20 }]\n\
         [[file]]\nname = \"matrix\"\nsize = 40\ngranule = 1\nwaves = 8\nclasses = [{ name = \"agpr\", max = 16 }]\n";
    Target::parse(&text.replace(scalar, lanes)).expect("a valid target")
}

/// The fewest spills into memory of all orders, the most waves with these, and the most waves at all.
fn best(problem: &Problem, region: &Region) -> (u32, u32, u32) {
    let small = Small::new(region, &[]);
    let peaks = small.all_peaks();
    let of = |peaks: &Vec<u32>| {
        let registers = problem.registers();
        (registers.spilled_to_memory(peaks), std::cmp::Reverse(registers.occupancy(peaks)))
    };
    let (spilled, waves) = peaks.iter().map(of).min().expect("at least one order");
    let most = peaks.iter().map(|peaks| problem.registers().occupancy(peaks)).max();
    (spilled, waves.0, most.expect("at least one order"))
}

#[test]
fn waves_are_those_of_brute_force() {
    let mut random = Random::new(5);
    let session = Session::new();
    let targets = [separate(), shared(), with_lanes()];
    let mut all: Vec<Region> = regions(0..500, 8).collect();
    let (mut kernels, mut limited, mut searched, mut spills, mut in_lanes) = (0, 0, 0, 0, 0);
    while !all.is_empty() {
        let count = (1 + random.below(3)).min(all.len());
        let kernel: Vec<Region> = all.split_off(all.len() - count);
        let most = 1 + random.below(8) as u32;
        for (number, target) in targets.iter().enumerate() {
            if target.shares_files() && kernel.len() > 1 {
                continue; // tests/kernel.rs has these
            }
            let problems: Vec<Problem> = (kernel.iter())
                .map(|region| Problem::new(region, target, Goal::Occupancy).expect("all classes are known"))
                .collect();
            let shared: Vec<SharedProblem> = problems
                .iter()
                .map(|problem| SharedProblem::new(problem.clone(), Budget::UNLIMITED, (&session).into()))
                .collect();
            let found = most_waves(&shared, most, Options::default());
            let best: Vec<(u32, u32, u32)> =
                problems.iter().zip(&kernel).map(|(problem, region)| best(problem, region)).collect();
            for ((result, region), &(spilled, waves, most)) in found.regions.iter().zip(&kernel).zip(&best) {
                let peaks = check_order(region, &result.order).expect("a legal order");
                let peaks: Vec<u32> = peaks.iter().map(|peak| peak.between).collect();
                let registers = target.registers(region.classes()).expect("all classes are known");
                assert_eq!(registers.occupancy(&peaks), result.waves);
                assert!(result.waves >= found.waves);
                if spilled == 0 {
                    assert_eq!(registers.spilled_to_memory(&peaks), 0, "{}", region.name());
                    assert!(result.waves <= waves && waves <= result.bound, "{}", region.name());
                }
                assert!(most <= result.bound, "{}", region.name());
                searched += u32::from(result.is_searched);
                in_lanes += u32::from(result.spilled > result.in_memory);
            }
            let possible = best.iter().map(|(_, _, waves)| *waves).fold(most, u32::min);
            assert!(possible <= found.bound);
            if best.iter().any(|(spilled, ..)| *spilled > 0) {
                spills += 1;
                continue;
            }
            let waves = best.iter().map(|(_, waves, _)| *waves).fold(most, u32::min);
            kernels += 1;
            limited += u32::from(waves < most);
            assert!(found.waves <= waves && waves <= found.bound);
            assert_eq!((found.waves, found.bound), (waves, possible), "{} {number}", kernel[0].name());
        }
    }
    println!(
        "{kernels} kernels, {limited} limited by registers, {searched} searches, {spills} with spills, {in_lanes} in lanes"
    );
    assert!(in_lanes > 100 && kernels > 1_000 && limited > 500 && searched > 100);
}
