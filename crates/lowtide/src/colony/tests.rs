//! Tests of the engine: against the plain definition, against brute force, and against itself.

use super::ant::Ant;
use super::guard::Guard;
use super::naive::Plain;
use super::pheromone::Pheromones;
use super::terrain::Terrain;
use super::{Guide, LANES, Lists, Options, Parameters, Rules, Task};
use crate::analysis::length_bound::lower_bound;
use crate::analysis::walk::PressureFields;
use crate::budget::Budget;
use crate::check::check_order;
use crate::generate::{self, Shape};
use crate::index::InstrId;
use crate::list::few_registers::few_registers;
use crate::minreg::made::fits;
use crate::problem::{Goal, Problem};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::target::Target;
use crate::twopass::cases::Case;

fn numbers(order: &[InstrId]) -> Vec<u32> {
    order.iter().map(|instr| instr.0).collect()
}

#[test]
fn ants_do_what_the_definition_says() {
    let mut random = Random::new(3);
    let mut cases = Random::new(4);
    let [mut walks, mut died, mut early, mut stalled] = [0; 4];
    for case in Case::all(0..150, 9, 40, &mut cases) {
        let problem = case.problem();
        let count = case.region.len();
        let packing = PressureFields::within(&case.region, &case.limits).expect("small limits");
        let bound = lower_bound(&problem);
        let terrain = Terrain::new(&problem, &packing, &bound.tail);
        let limit = packing.pack(&case.limits);
        let mut ant = Ant::new(&terrain);
        for _ in 0..6 {
            let mut pheromones = Pheromones::new(count);
            for _ in 0..random.below(4) {
                let order =
                    case.small.order_within(&vec![None; case.limits.len()], &mut random).expect("one exists");
                pheromones.update(
                    &numbers(&order),
                    100 + random.below(1000) as u16,
                    7_500 + 625 * random.below(5) as u32,
                );
            }
            let known = case.small.order_within(&case.limits, &mut random).expect("limits are possible");
            let known = random.chance(60).then_some(known);
            let guard = known.as_ref().map(|order| Guard::new(&terrain, &numbers(order), limit));
            let last = case.optimum + random.below(20) as u32;
            let width = terrain.width;
            let deadlines: Vec<u32> =
                bound.tail.iter().map(|tail| last.saturating_sub(*tail) * width + width - 1).collect();
            let rules = Rules {
                is_timed: random.chance(70),
                stalls: random.chance(50),
                guide: random.pick(&Guide::ALL),
                guard: guard.as_ref(),
                lists: Lists::Whole,
                limit,
                deadlines: &deadlines,
                key: random.bits(),
                explores_below: random.pick(&[0, 1 << 30, 1 << 32]),
            };
            let plain = Plain {
                problem: &problem,
                terrain: &terrain,
                limits: &case.limits,
                guard: known,
                pheromones: pheromones.table(),
            };
            for lane in [0, 1, LANES - 1] {
                let is_alive = ant.walk(&terrain, pheromones.table(), &rules, lane);
                let slots = if rules.is_timed { ant.slot } else { 0 };
                let order = ant.trail.iter().map(|&instr| InstrId(instr)).collect::<Vec<_>>();
                let made = is_alive.then_some((order, slots));
                let expected = plain.walk(&rules, lane, &|_| usize::MAX, &mut Vec::new());
                assert_eq!(made, expected, "{}: {rules:?}", case.text());
                walks += 1;
                died += u32::from(made.is_none());
                if let Some((order, _)) = made {
                    let length = case.checked_length(&order);
                    let shortest = Schedule::in_order(&problem, order.clone()).length();
                    assert_eq!(length, shortest);
                    early += u32::from(rules.guard.is_some_and(|guard| guard.order != ant.trail));
                    stalled += u32::from(rules.is_timed && slots.div_ceil(width) > count as u32);
                } else {
                    assert!(rules.guard.is_none() || rules.is_timed, "a guard always has a way on");
                }
            }
        }
    }
    assert!(walks > 1000 && died > 50 && early > 150 && stalled > 50, "{walks} {died} {early} {stalled}");
}

/// Ants of a group that depend on each other: each looks as far as the lists of all allow, and then does what
/// the definition says.
#[test]
fn groups_with_limited_lists_do_what_the_definition_says() {
    let mut random = Random::new(5);
    let mut cases = Random::new(6);
    let [mut walks, mut died, mut limited] = [0; 3];
    for case in Case::all(0..60, 9, 40, &mut cases) {
        let problem = case.problem();
        let packing = PressureFields::within(&case.region, &case.limits).expect("small limits");
        let bound = lower_bound(&problem);
        let terrain = Terrain::new(&problem, &packing, &bound.tail);
        let limit = packing.pack(&case.limits);
        let known = case.small.order_within(&case.limits, &mut random).expect("limits are possible");
        let known = random.chance(50).then_some(known);
        let guard = known.as_ref().map(|order| Guard::new(&terrain, &numbers(order), limit));
        let last = case.optimum + random.below(20) as u32;
        let width = terrain.width;
        let deadlines: Vec<u32> =
            bound.tail.iter().map(|tail| last.saturating_sub(*tail) * width + width - 1).collect();
        let pheromones = Pheromones::new(case.region.len());
        for lists in [Lists::Shortest, Lists::Middle] {
            let rules = Rules {
                is_timed: random.chance(70),
                stalls: random.chance(50),
                guide: random.pick(&Guide::ALL),
                guard: guard.as_ref(),
                lists,
                limit,
                deadlines: &deadlines,
                key: random.bits(),
                explores_below: 1 << 32,
            };
            let mut ants = vec![Ant::new(&terrain); 6];
            let alive = Ant::walk_together(&mut ants, &terrain, pheromones.table(), &rules);
            let plain = Plain {
                problem: &problem,
                terrain: &terrain,
                limits: &case.limits,
                guard: known.clone(),
                pheromones: pheromones.table(),
            };
            // The lists of each ant up to each step depend on those of the others, so the plain ants go step
            // by step, too.
            let mut reaches: Vec<usize> = Vec::new();
            let mut found = Vec::new();
            for step in 0..case.region.len() {
                let reach = |at: usize| reaches.get(at).copied().unwrap_or(usize::MAX);
                let mut lengths = vec![Vec::new(); ants.len()];
                found = (0..ants.len())
                    .map(|lane| plain.walk(&rules, lane as u32, &reach, &mut lengths[lane]))
                    .collect();
                let living: Vec<usize> = lengths.iter().filter_map(|own| own.get(step).copied()).collect();
                let (shortest, longest) = (living.iter().min(), living.iter().max());
                let (shortest, longest) = (shortest.map_or(0, |own| *own), longest.map_or(0, |own| *own));
                reaches.push(if lists == Lists::Shortest { shortest } else { (shortest + longest) / 2 });
                limited += u32::from(longest > reaches[step]);
                if step + 1 == case.region.len() {
                    let reach = |at: usize| reaches[at];
                    found = (0..ants.len())
                        .map(|lane| plain.walk(&rules, lane as u32, &reach, &mut Vec::new()))
                        .collect();
                }
            }
            for ((ant, is_alive), expected) in ants.iter().zip(alive).zip(found) {
                let order: Vec<InstrId> = ant.trail.iter().map(|&instr| InstrId(instr)).collect();
                let slots = if rules.is_timed { ant.slot } else { 0 };
                assert_eq!(is_alive.then_some((order, slots)), expected, "{}: {rules:?}", case.text());
                walks += 1;
                died += u32::from(!is_alive);
            }
        }
    }
    assert!(walks > 400 && died > 20 && limited > 300, "{walks} {died} {limited}");
}

#[test]
fn the_groups_that_stall_are_spread_evenly() {
    let of = |stall_share: u32| {
        let parameters = Parameters { stall_share, ..Parameters::default() };
        (0..8).filter(|group| parameters.stalls(*group)).collect::<Vec<u32>>()
    };
    assert_eq!(of(0), [0; 0]);
    assert_eq!(of(25), [3, 7]);
    assert_eq!(of(50), [1, 3, 5, 7]);
    assert_eq!(of(75), [1, 2, 3, 5, 6, 7]);
    assert_eq!(of(100), (0..8).collect::<Vec<u32>>());
}

fn options(nodes: u64, seed: u64) -> Options {
    let budget = Budget { nodes: Some(nodes), ..Budget::UNLIMITED };
    Options { budget, parameters: Parameters { seed, ..Parameters::default() } }
}

#[test]
fn lengths_are_those_of_brute_force() {
    let mut random = Random::new(8);
    let mut order_random = Random::new(9);
    let (mut solved, mut better, mut all) = (0, 0, 0);
    for (number, case) in Case::all(0..1000, 8, 20, &mut random).enumerate() {
        if !case.problem().target().issue().units.is_empty() {
            continue; // ants do not know of units
        }
        let problem = case.problem();
        let start = case.small.order_within(&case.limits, &mut order_random).expect("limits are possible");
        let before = case.checked_length(&start);
        let task =
            Task::length(&problem, &case.limits, &[&start], options(10_000, number as u64)).expect("small");
        let answer = task.run(1);
        let length = case.checked_length(&answer.order);
        assert!(case.optimum <= length && length <= before, "{}", case.text());
        assert!(answer.choices <= 10_000);
        solved += u32::from(length == case.optimum);
        better += u32::from(length < before);
        all += 1;
    }
    assert!(all > 150 && better > all / 3, "{better} of {all}");
    assert!(solved * 100 >= all * 98, "{solved} of {all}");
}

#[test]
fn pressures_are_those_of_brute_force() {
    let mut random = Random::new(12);
    let mut order_random = Random::new(13);
    let (mut solved, mut better, mut all) = (0, 0, 0);
    for (number, case) in Case::all(0..600, 8, 60, &mut random).enumerate() {
        let problem = case.problem();
        let anything = vec![None; case.limits.len()];
        let start = case.small.order_within(&anything, &mut order_random).expect("one exists");
        let peaks_of = |order: &[InstrId]| -> Vec<u32> {
            let report = check_order(&case.region, order).expect("a legal order");
            report.iter().map(|peak| peak.between).collect()
        };
        // Steps from what is hardly possible to what the start needs.
        let of_start = peaks_of(&start);
        let steps: Vec<Vec<Option<u32>>> =
            (1..=4).map(|step| of_start.iter().map(|peak| Some(peak * step / 4)).collect()).collect();
        let cost = |peaks: &[u32]| -> (usize, u32) {
            let exceeded = steps.iter().take_while(|limits| !fits(peaks, limits)).count();
            let beyond = peaks
                .iter()
                .zip(&steps[0])
                .map(|(peak, limit)| peak.saturating_sub(limit.expect("all have one")));
            (exceeded, beyond.sum())
        };
        let optimum = case.small.all_peaks().iter().map(|peaks| cost(peaks)).min().expect("one exists");
        let task = Task::pressure(&problem, &steps, &start, options(10_000, number as u64)).expect("small");
        let found = cost(&peaks_of(&task.run(1).order));
        assert!(optimum <= found && found <= cost(&of_start), "{}", case.text());
        solved += u32::from(found == optimum);
        better += u32::from(found < cost(&of_start));
        all += 1;
    }
    assert!(all > 250 && better > all / 3, "{better} of {all}");
    assert!(solved * 100 >= all * 98, "{solved} of {all}");
}

#[test]
fn threads_make_no_difference() {
    let target = Target::builtin("gfx906").expect("built in");
    for (shape, count) in [(Shape::UnrolledLoop, 300), (Shape::Layered, 150), (Shape::UnrolledLoop, 40)] {
        let region = generate::region(shape, count, 7);
        let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
        let few = few_registers(&problem);
        let source: Vec<InstrId> = region.instrs().collect();
        let peaks = problem.measure(&Schedule::in_order(&problem, few.clone())).peaks;
        let limits: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between + 2)).collect();
        let lower: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between - 1)).collect();
        let options = options(400_000, 5);
        let published = Options { parameters: Parameters { groups: 8, ..Parameters::PAPER }, ..options };
        let limited =
            Options { parameters: Parameters { lists: Lists::Middle, ..options.parameters }, ..options };
        let tasks = [
            Task::length(&problem, &limits, &[&few], published).expect("within the limits"),
            Task::length(&problem, &limits, &[&few], limited).expect("within the limits"),
            Task::length(&problem, &limits, &[&few], options).expect("within the limits"),
            Task::pressure(&problem, &[lower, limits], &source, options).expect("a region that is not large"),
        ];
        for task in tasks {
            let one = task.run(1);
            assert!(one.choices > 0 && one.iterations > 0, "there was something to do");
            for threads in [1, 2, 3, 4, 64] {
                assert_eq!(task.run(threads), one, "{threads} threads");
            }
        }
    }
}

#[test]
fn a_budget_is_kept() {
    let target = Target::builtin("gfx906").expect("built in");
    let region = generate::region(Shape::UnrolledLoop, 200, 3);
    let problem = Problem::new(&region, &target, Goal::Occupancy).expect("known classes");
    let source: Vec<InstrId> = region.instrs().collect();
    let limits = vec![None; region.classes().len()];
    for nodes in [0, 1, 6399, 6400, 20_000, 100_000] {
        let task = Task::length(&problem, &limits, &[&source], options(nodes, 1)).expect("no limits");
        let answer = task.run(2);
        assert!(answer.choices <= nodes);
        assert_eq!(answer.choices > 0, nodes >= 32 * region.len() as u64, "{nodes}");
    }
}
