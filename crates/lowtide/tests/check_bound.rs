//! The independent check of bounds against the code that finds them, and against brute force.

use std::time::{Duration, Instant};

use lowtide::analysis::closure::Closure;
use lowtide::analysis::pressure::Tracker;
use lowtide::analysis::pressure_bound::{Moment, pressure_at_ends, pressure_bound};
use lowtide::generate::{self, Random, Shape};
use lowtide::region::Region;
use lowtide::schedule::Budget;
use lowtide::schedule::check_bound::{CutFault, check_cut, least_pressure};
use lowtide::{ClassId, InstrId};

/// Regions of every kind, from one instruction to `most`.
fn regions(seeds: u64, most: usize) -> impl Iterator<Item = Region> {
    (0..seeds).flat_map(move |seed| {
        let size = 1 + Random::new(seed ^ 0xb0b0_0000).below(most);
        let shapes = Shape::ALL.map(|shape| generate::region(shape, size, seed));
        let programs = (0..4).map(move |i| generate::register_program(size, 4 * seed + i));
        shapes.into_iter().chain(programs).filter(move |region| region.len() <= most)
    })
}

fn moments(region: &Region) -> impl Iterator<Item = Moment> {
    let around = region.instrs().flat_map(|instr| [Moment::Before(instr), Moment::After(instr)]);
    around.chain([Moment::Start, Moment::End])
}

fn pressure_after(region: &Region, class: ClassId, downset: impl Iterator<Item = InstrId>) -> u32 {
    let mut tracker = Tracker::new(region);
    downset.for_each(|instr| tracker.schedule(instr));
    tracker.now(class)
}

/// All downsets, as bit masks, with the pressure after each.
fn all_downsets(region: &Region, class: ClassId) -> Vec<(u32, u32)> {
    let closed =
        |set: &u32| region.deps().iter().all(|dep| set >> dep.to.0 & 1 == 0 || set >> dep.from.0 & 1 == 1);
    let inside = |set: u32| region.instrs().filter(move |instr| set >> instr.0 & 1 == 1);
    let sets = (0..1u32 << region.len()).filter(closed);
    sets.map(|set| (set, pressure_after(region, class, inside(set)))).collect()
}

/// What must be and what must not be in a downset at a moment, by the ends of all dependences.
fn masks(region: &Region, moment: Moment) -> (u32, u32) {
    let all = ((1u64 << region.len()) - 1) as u32;
    let (instr, after) = match moment {
        Moment::Start => return (0, all),
        Moment::End => return (all, 0),
        Moment::Before(instr) => (instr, false),
        Moment::After(instr) => (instr, true),
    };
    let own = 1u32 << instr.0;
    let (mut inside, mut outside) = (own, own);
    for _ in region.instrs() {
        for dep in region.deps() {
            inside |= (inside >> dep.to.0 & 1) << dep.from.0;
            outside |= (outside >> dep.from.0 & 1) << dep.to.0;
        }
    }
    if after { (inside, outside & !own) } else { (inside & !own, outside) }
}

#[test]
fn the_least_pressure_is_that_of_brute_force_at_every_moment() {
    let mut checked = 0;
    for region in regions(120, 9) {
        for class in region.class_ids() {
            let downsets = all_downsets(&region, class);
            for moment in moments(&region) {
                let (inside, outside) = masks(&region, moment);
                let possible = |set: u32| set & inside == inside && set & outside == 0;
                let least =
                    downsets.iter().filter(|(set, _)| possible(*set)).map(|(_, pressure)| *pressure).min();
                let (found, example) = least_pressure(&region, class, moment, u32::MAX).unwrap();
                assert_eq!(Some(found), least, "{} {moment:?}", region.name());
                // The example is one of the downsets, and has that pressure.
                let set = example.iter().fold(0, |set, instr| set | 1 << instr.0);
                assert!(downsets.contains(&(set, found)) && possible(set), "{} {moment:?}", region.name());
                assert_eq!(check_cut(&region, class, moment, found), Ok(()));
                assert!(check_cut(&region, class, moment, found + 1).is_err());
                checked += 1;
            }
        }
    }
    assert!(checked > 10_000, "{checked}");
}

/// Every witness is accepted, from full and from small budgets. Where the bound is exact, one more is refused.
#[test]
fn every_witness_is_accepted_and_no_more_than_that() {
    let (mut accepted, mut by_cut, mut unfinished) = (0, 0, 0);
    for region in regions(400, 60) {
        let closure = Closure::new(&region);
        let order: Vec<InstrId> = region.instrs().collect();
        let ends = pressure_at_ends(&region);
        for class in region.class_ids() {
            let (value, moment) = ends[class.index()];
            assert_eq!(check_cut(&region, class, moment, value), Ok(()));
            assert!(check_cut(&region, class, moment, value + 1).is_err());
            for nodes in [None, Some(30), Some(300)] {
                let budget = Budget { nodes, time_per_instr: None };
                let bound = pressure_bound(&region, class, &closure, &order, budget);
                let accept = check_cut(&region, class, bound.witness, bound.value);
                assert_eq!(accept, Ok(()), "{} {:?}", region.name(), bound.witness);
                accepted += 1;
                if !bound.complete {
                    unfinished += 1;
                    continue;
                }
                by_cut += usize::from(!matches!(bound.witness, Moment::Start | Moment::End));
                match check_cut(&region, class, bound.witness, bound.value + 1) {
                    Err(CutFault::NotSo { claimed, found, downset, .. }) => {
                        assert_eq!((claimed, found), (bound.value + 1, bound.value));
                        assert_eq!(pressure_after(&region, class, downset.into_iter()), found);
                    }
                    other => panic!("{} {:?}: {other:?}", region.name(), bound.witness),
                }
            }
        }
    }
    // Mostly ends, or mostly full budgets, would be a weak test.
    assert!(accepted > 20_000 && by_cut > 8_000 && unfinished > 500, "{accepted} {by_cut} {unfinished}");
}

#[test]
fn five_thousand_instructions_take_seconds_at_most() {
    let budget = Budget { time_per_instr: None, nodes: Some(3_000_000) };
    for shape in Shape::ALL {
        let region = generate::region(shape, 5000, 1);
        let closure = Closure::new(&region);
        let order: Vec<InstrId> = region.instrs().collect();
        let mut spent = Duration::ZERO;
        for class in region.class_ids() {
            let bound = pressure_bound(&region, class, &closure, &order, budget);
            let start = Instant::now();
            assert_eq!(check_cut(&region, class, bound.witness, bound.value), Ok(()));
            assert!(!bound.complete || check_cut(&region, class, bound.witness, bound.value + 1).is_err());
            spent += start.elapsed();
        }
        println!("{shape:?}: {spent:?}");
        assert!(spent < Duration::from_secs(20), "{shape:?}: {spent:?}");
    }
}
