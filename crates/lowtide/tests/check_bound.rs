//! The independent check of bounds against the code that finds them, and against brute force.

use lowtide::analysis::closure::Closure;
use lowtide::analysis::pressure::Tracker;
use lowtide::analysis::pressure_bound::{pressure_at_ends, pressure_bound, sharper_bound};
use lowtide::budget::Budget;
use lowtide::check::bound::{CutFault, check_cut, least_pressure};
use lowtide::check::check_order;
use lowtide::generate::{self, Random, Shape};
use lowtide::proof::Moment;
use lowtide::region::{DepKind, InstrSpec, Region, RegionBuilder};
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

/// Moments that random pairs tell: of independent instructions mostly, but any two will do, even twice the
/// same one.
fn pair_moments(region: &Region, count: usize, random: &mut Random) -> Vec<Moment> {
    let mut any = || InstrId::at(random.below(region.len()));
    let pairs = (0..count).map(|_| (any(), any()));
    pairs.flat_map(|(one, other)| [Moment::BeforeBoth(one, other), Moment::AfterBoth(one, other)]).collect()
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

/// What a set of instructions leads to by dependences, in one step or many, itself included.
fn spread(region: &Region, from: u32, backwards: bool) -> u32 {
    let mut set = from;
    for _ in region.instrs() {
        for dep in region.deps() {
            let (near, far) = if backwards { (dep.to, dep.from) } else { (dep.from, dep.to) };
            set |= (set >> near.0 & 1) << far.0;
        }
    }
    set
}

/// What must be and what must not be in a downset at a moment, by the ends of all dependences.
fn masks(region: &Region, moment: Moment) -> (u32, u32) {
    let all = ((1u64 << region.len()) - 1) as u32;
    // All that is strictly on one side of every instruction of a set.
    let beyond_all = |set: u32, backwards: bool| {
        let singles = region.instrs().map(|instr| 1u32 << instr.0);
        singles
            .filter(|single| set & single != 0)
            .fold(all, |common, single| common & spread(region, single, backwards) & !single)
    };
    match moment {
        Moment::Start => (0, all),
        Moment::End => (all, 0),
        Moment::Before(instr) => {
            let own = 1 << instr.0;
            (spread(region, own, true) & !own, spread(region, own, false))
        }
        Moment::After(instr) => {
            let own = 1 << instr.0;
            (spread(region, own, true), spread(region, own, false) & !own)
        }
        Moment::BeforeBoth(one, other) => {
            let inside = beyond_all(1 << one.0 | 1 << other.0, true);
            (inside, beyond_all(inside, false))
        }
        Moment::AfterBoth(one, other) => {
            let outside = beyond_all(1 << one.0 | 1 << other.0, false);
            (beyond_all(outside, true), outside)
        }
    }
}

/// Every order passes every moment: some boundary of it has all of the one mask before it and nothing of the
/// other.
#[test]
fn every_order_passes_every_moment() {
    let mut random = Random::new(8);
    let mut passed = 0;
    for region in regions(150, 12) {
        let pairs = pair_moments(&region, 12, &mut random);
        for _ in 0..4 {
            let order = generate::random_order(&region, &mut random);
            let mut sets = vec![0u32];
            order.iter().for_each(|instr| sets.push(sets[sets.len() - 1] | 1 << instr.0));
            for moment in moments(&region).chain(pairs.iter().copied()) {
                let (inside, outside) = masks(&region, moment);
                let passes = |set: &u32| set & inside == inside && set & outside == 0;
                assert!(sets.iter().any(passes), "{} {moment:?}", region.name());
                passed += 1;
            }
        }
    }
    assert!(passed > 10_000, "{passed}");
}

#[test]
fn the_least_pressure_is_that_of_brute_force_at_every_moment() {
    let mut random = Random::new(1);
    let (mut checked, mut pairs, mut sharper) = (0, 0, 0);
    let bicliques = (0..100).map(loads_before_stores).filter(|region| region.len() <= 9);
    for region in regions(120, 9).chain(bicliques) {
        for class in region.class_ids() {
            let downsets = all_downsets(&region, class);
            let mut highest = 0;
            let of_pairs = pair_moments(&region, region.len(), &mut random);
            for moment in moments(&region).chain(of_pairs) {
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
                if matches!(moment, Moment::BeforeBoth(..) | Moment::AfterBoth(..)) {
                    pairs += 1;
                    sharper += usize::from(found > highest);
                } else {
                    highest = highest.max(found);
                }
            }
        }
    }
    assert!(checked > 10_000 && pairs > 8_000 && sharper > 5, "{checked} {pairs} {sharper}");
}

/// Every witness is accepted, from full and from small budgets. Where the bound is exact, one more is
/// refused.
#[test]
fn every_witness_is_accepted_and_no_more_than_that() {
    let (mut accepted, mut by_cut, mut by_pair, mut unfinished) = (0, 0, 0, 0);
    let bicliques = (0..60).map(loads_before_stores);
    for region in regions(400, 60).chain(bicliques) {
        let closure = Closure::new(&region);
        let order: Vec<InstrId> = region.instrs().collect();
        let ends = pressure_at_ends(&region);
        for class in region.class_ids() {
            let (value, moment) = ends[class.index()];
            assert_eq!(check_cut(&region, class, moment, value), Ok(()));
            assert!(check_cut(&region, class, moment, value + 1).is_err());
            for nodes in [None, Some(30), Some(300)] {
                let budget = Budget { nodes, ..Budget::UNLIMITED };
                let plain = pressure_bound(&region, class, &closure, &order, budget);
                let sharp = sharper_bound(&region, class, &closure, plain.clone(), budget);
                assert!(plain.value <= sharp.value && sharp.value <= sharp.peak && sharp.peak <= plain.peak);
                assert_eq!(check_order(&region, &sharp.order).unwrap()[class.index()].between, sharp.peak);
                for bound in [plain, sharp] {
                    let accept = check_cut(&region, class, bound.witness, bound.value);
                    assert_eq!(accept, Ok(()), "{} {:?}", region.name(), bound.witness);
                    accepted += 1;
                    if !bound.complete {
                        unfinished += 1;
                        continue;
                    }
                    by_cut += usize::from(!matches!(bound.witness, Moment::Start | Moment::End));
                    by_pair +=
                        usize::from(matches!(bound.witness, Moment::BeforeBoth(..) | Moment::AfterBoth(..)));
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
    }
    // Mostly ends, or mostly full budgets, would be a weak test.
    assert!(accepted > 20_000 && by_cut > 8_000 && unfinished > 500, "{accepted} {by_cut} {unfinished}");
    assert!(by_pair > 50, "{by_pair}");
}

/// All loads come before all stores, by dependences of memory, and each store needs some of what was loaded.
fn loads_before_stores(seed: u64) -> Region {
    let mut random = Random::new(seed);
    let mut builder = RegionBuilder::new(&format!("loads-before-stores-{seed}"));
    let class = builder.class("vgpr");
    let loaded: Vec<_> = (0..2 + random.below(6))
        .map(|number| {
            let load = builder.instr(InstrSpec::new("load", 1));
            let register = builder.register(&format!("r{number}"), class, 1, 1 + random.below(4) as u32);
            builder.defs(load, register, 1);
            (load, register)
        })
        .collect();
    for _ in 0..2 + random.below(6) {
        let store = builder.instr(InstrSpec::new("store", 1));
        for &(load, register) in &loaded {
            if random.chance(30) {
                builder.uses(store, register, 1);
            }
            builder.depend(load, store, DepKind::Memory, 1);
        }
    }
    builder.depend_on_registers();
    builder.build().unwrap()
}

#[test]
fn a_pair_with_an_unknown_instruction_is_refused() {
    let region = loads_before_stores(1);
    let count = region.len();
    let unknown = InstrId::at(count);
    for (one, other) in [(InstrId(0), unknown), (unknown, InstrId(0)), (unknown, unknown)] {
        for moment in [Moment::BeforeBoth(one, other), Moment::AfterBoth(one, other)] {
            let fault = check_cut(&region, ClassId(0), moment, 0);
            assert_eq!(fault, Err(CutFault::UnknownInstr { instr: unknown.0, count }));
        }
    }
}

#[test]
fn bounds_of_five_thousand_instructions_are_proven_again() {
    let budget = Budget { nodes: Some(3_000_000), ..Budget::UNLIMITED };
    for shape in Shape::ALL {
        let region = generate::region(shape, 5000, 1);
        let closure = Closure::new(&region);
        let order: Vec<InstrId> = region.instrs().collect();
        for class in region.class_ids() {
            let bound = pressure_bound(&region, class, &closure, &order, budget);
            assert_eq!(check_cut(&region, class, bound.witness, bound.value), Ok(()));
            assert!(!bound.complete || check_cut(&region, class, bound.witness, bound.value + 1).is_err());
        }
    }
}
