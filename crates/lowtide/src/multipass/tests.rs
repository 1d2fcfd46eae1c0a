//! Tests of the partitioning algorithms: against brute force, and for their other guarantees. This file has
//! the shared parts: models, small shaders, and a run of all algorithms with checked results.

mod by_sequences;
mod by_states;
#[path = "../../tests/pass_cases/mod.rs"]
mod pass_cases;
mod promises;

use std::collections::BTreeMap;

use super::check::check_passes;
use super::generate::{Look, shader};
use super::{Costs, Limits, Partition, PassModel, PassProblem, dpmpp, exact, mio, rds};
use crate::budget::Budget;
use crate::random::Random;
use crate::region::Region;
use crate::target::Target;
use crate::verdict::Verdict;

fn model_of(target: &Target) -> PassModel {
    PassModel::of(target).expect("a valid section").expect("a pass model")
}

/// A model with tight limits, some of which are missing.
fn model(random: &mut Random) -> PassModel {
    let mut limit = |least: u32, spread: usize| {
        let limit = least + random.below(spread) as u32;
        (!random.chance(25)).then_some(limit)
    };
    let limits = Limits {
        registers: limit(3, 3),
        instructions: limit(4, 4),
        textures: limit(4, 3),
        pending: limit(1, 3),
        interpolants: limit(3, 2),
        outputs: limit(1, 3),
    };
    let mut cost = |most: usize| random.below(most + 1) as u32;
    let cost = Costs {
        pass: cost(6),
        load: cost(3),
        store: cost(3),
        interpolant: cost(2),
        wait: cost(4),
        operation: 1 + cost(1),
        operations: BTreeMap::from([("rsq".to_string(), cost(5))]),
    };
    let textures = vec!["tex".to_string()];
    PassModel {
        class: "reg".to_string(),
        interpolants: vec!["interpolant".to_string()],
        textures,
        width: 4,
        limits,
        cost,
    }
}

fn small(random: &mut Random, most: usize) -> Region {
    let look = Look {
        size: 1 + random.below(most),
        textures: random.pick(&[0, 20, 50]),
        interpolants: random.below(4),
        outputs: random.below(3),
        effects: random.pick(&[0, 0, 20]),
        is_local: random.chance(50),
    };
    shader(look, random.bits())
}

#[track_caller]
fn checked(region: &Region, model: &PassModel, name: &str, partition: &Partition) -> u64 {
    match check_passes(region, model, &partition.passes) {
        Ok(report) => assert_eq!(report.cost, partition.cost, "{name}"),
        Err(violations) => panic!("{name}: {} in {partition:?}", violations[0]),
    }
    partition.cost
}

/// All algorithms on one shader: their costs, and what is proven. None if no partition exists or none is
/// found. The cost of an algorithm that finds none is `u64::MAX`.
fn all(region: &Region, model: &PassModel, budget: Budget) -> Option<([u64; 4], exact::Proven)> {
    let problem = PassProblem::with_model(region, model).ok()?;
    let dp = dpmpp::partition(&problem);
    if let Some(dp) = &dp {
        assert_eq!(dp.widths.len(), region.len());
    }
    let mut found = vec![
        dp.map(|dp| dp.partition),
        mio::partition(&problem),
        rds::partition(&problem, Budget::UNLIMITED),
    ];
    let names = ["dpmpp", "mio", "rds"];
    let costs: Vec<u64> = (names.iter().zip(&found))
        .map(|(name, found)| found.as_ref().map_or(u64::MAX, |found| checked(region, model, name, found)))
        .collect();
    let has_own_passes = problem.shortage().is_none();
    assert!(!has_own_passes || found.iter().all(Option::is_some), "each operation fits into its own pass");
    if !has_own_passes {
        match exact::find(&problem, budget) {
            Verdict::Yes(any) => {
                checked(region, model, "find", &any);
                found.push(Some(any));
            }
            Verdict::No(()) => assert!(found.iter().all(Option::is_none), "{costs:?}"),
            Verdict::Unknown => {}
        }
    }
    let start = found.iter().flatten().min_by_key(|partition| partition.cost)?;
    let proven = exact::partition(&problem, start, budget);
    let cost = checked(region, model, "exact", &proven.partition);
    assert!(proven.bound <= cost && cost <= start.cost);
    Some(([costs[0], costs[1], costs[2], cost], proven))
}

/// The contents of the cases: single passes alone would prove little.
#[derive(Default, Debug)]
struct Seen {
    solved: u64,
    several_passes: u64,
    again: u64,
    /// With an operation that does not fit into a pass of its own: solved, and proven to have no partition.
    tight: u64,
    refused: u64,
    /// Where dpmpp, mio and rds miss the optimum.
    missed: [u64; 3],
}

impl Seen {
    fn count(&mut self, region: &Region, proven: &exact::Proven, costs: [u64; 4], least: u64) {
        self.solved += 1;
        let passes = &proven.partition.passes;
        self.several_passes += u64::from(passes.len() > 1);
        self.again += u64::from(passes.iter().map(|pass| pass.ops.len()).sum::<usize>() > region.len());
        for (missed, cost) in self.missed.iter_mut().zip(costs) {
            *missed += u64::from(cost > least);
        }
    }
}
