//! The independent checker against the rest of the library, and against an oracle that is too simple to be
//! wrong.

use lowtide::analysis::pressure::Tracker;
use lowtide::check::{MOST_VIOLATIONS, Report, Violation, check, check_order};
use lowtide::generate::{self, Random, Shape};
use lowtide::problem::{Goal, Problem};
use lowtide::region::{InstrSpec, Peak, Region, RegionBuilder};
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide::{ClassId, InstrId, RegisterId};

/// Regions of every kind, from one instruction to `most`.
fn regions(seeds: u64, most: usize) -> impl Iterator<Item = (Region, Random)> {
    (0..seeds).flat_map(move |seed| {
        let mut random = Random::new(seed ^ 0x5eed_0000_0000);
        let size = 1 + random.below(most);
        let shapes = Shape::ALL.map(|shape| generate::region(shape, size, seed));
        let programs = (0..4).map(move |i| generate::register_program(size, 4 * seed + i));
        shapes.into_iter().chain(programs).map(move |region| (region, Random::new(random.bits())))
    })
}

fn tracked<'a>(region: &'a Region, order: &[InstrId]) -> Tracker<'a> {
    let mut tracker = Tracker::new(region);
    order.iter().for_each(|&instr| tracker.schedule(instr));
    tracker
}

/// Values are derived from registers once, in source order; the tracker then adds and removes whole values.
/// The checker knows no values: it scans the registers backwards, lane by lane, in the order at hand. Both
/// must find the same peaks in random legal orders. Then the values, and the hazards that the region builder
/// insists on, give the true liveness in *every* legal order.
#[test]
fn values_give_the_pressure_of_a_backward_scan_in_any_legal_order() {
    let (mut orders, mut redundant, mut at_differs) = (0, 0, 0);
    for (region, mut random) in regions(1500, 48) {
        let source: Vec<InstrId> = region.instrs().collect();
        let mut tried = vec![source];
        tried.extend((0..3).map(|_| generate::random_order(&region, &mut random)));
        for order in &tried {
            let peaks = check_order(&region, order).unwrap();
            assert_eq!(peaks, tracked(&region, order).peaks(), "{} in order {order:?}", region.name());
            orders += 1;
            at_differs += usize::from(peaks.iter().any(|peak| peak.at > peak.between));
        }
        redundant += usize::from(tried[1..].iter().all(|order| *order == tried[0]));
    }
    // The test would prove little if most orders were the source order, or if the two figures were one.
    assert!(
        orders == 60_000 && redundant < 1500 * 10 / 4 && at_differs > orders / 2,
        "{redundant} {at_differs}"
    );
}

/// All that can be seen of a tracker. The changes of all instructions reveal how often each value is needed.
fn visible(tracker: &Tracker, region: &Region) -> (Vec<u32>, Vec<Peak>, Vec<i32>) {
    let mut change = vec![0; region.classes().len()];
    let changes = region.instrs().flat_map(|instr| {
        tracker.delta(instr, &mut change);
        change.clone()
    });
    let changes = changes.collect();
    (region.class_ids().map(|class| tracker.now(class)).collect(), tracker.peaks(), changes)
}

#[test]
fn the_tracker_takes_back_what_it_did_and_foretells_what_it_will_do() {
    for (region, mut random) in regions(250, 40) {
        let order = generate::random_order(&region, &mut random);
        let mut tracker = Tracker::new(&region);
        let mut states = vec![visible(&tracker, &region)];
        let mut done = 0;
        // A walk that mostly advances; every state must be the one of the first visit. The number of returns
        // is limited, as far ones would outweigh the steps ahead.
        let mut returns = 6;
        while done < order.len() {
            if done > 0 && returns > 0 && random.chance(20) {
                returns -= 1;
                for _ in 0..1 + random.below(done) {
                    done -= 1;
                    assert_eq!(tracker.undo(), Some(order[done]));
                    assert_eq!(visible(&tracker, &region), states[done], "{}", region.name());
                }
            }
            let mut change = vec![0; region.classes().len()];
            tracker.delta(order[done], &mut change);
            let before: Vec<u32> = states[done].0.clone();
            tracker.schedule(order[done]);
            done += 1;
            for class in region.class_ids() {
                let expected = i64::from(before[class.index()]) + i64::from(change[class.index()]);
                assert_eq!(i64::from(tracker.now(class)), expected, "{}", region.name());
            }
            let state = visible(&tracker, &region);
            match states.get(done) {
                Some(first) => assert_eq!(state, *first, "{}", region.name()),
                None => states.push(state),
            }
        }
        assert_eq!(tracker.peaks(), check_order(&region, &order).unwrap());
        while tracker.undo().is_some() {}
        assert_eq!(visible(&tracker, &region), states[0], "{}", region.name());
    }
}

const DUAL: &str = "name = 'dual'
description = 'two instructions a cycle'
[issue]
width = 2
units = [{ name = 'alu', count = 2 }, { name = 'mem' }, { name = 'sfu' }]
[[file]]
name = 'shared'
size = 96
granule = 4
waves = 6
classes = [{ name = 'sgpr', max = 16, align = 8 }, { name = 'vgpr', max = 20 }]
";

fn targets() -> [Target; 2] {
    [Target::builtin("gfx906").unwrap(), Target::parse(DUAL).unwrap()]
}

/// The same region with random needs for units.
fn with_units(region: &Region, random: &mut Random) -> Region {
    let mut builder = RegionBuilder::new(region.name());
    for class in region.class_ids() {
        builder.class(&region.classes()[class.index()]);
        builder.through(class, region.through(class));
    }
    let registers: Vec<_> = (region.registers().iter().enumerate())
        .map(|(number, register)| {
            let name = region.register_name(RegisterId::at(number));
            builder.register(name, register.class, register.lanes, register.lane_weight)
        })
        .collect();
    for instr in region.instrs() {
        let mut units = vec![("HWVALU", 1 + random.below(2) as u32)];
        for (unit, percent) in [("alu", 60), ("mem", 30), ("sfu", 10), ("unheard of", 10)] {
            if random.chance(percent) {
                units.push((unit, random.below(4) as u32));
            }
        }
        let spec = InstrSpec { units: &units, ..InstrSpec::new(region.opcode(instr), region.latency(instr)) };
        builder.instr(spec);
        for def in region.defs(instr) {
            let operand = def.operand;
            builder.defs_with(instr, registers[operand.register.index()], operand.lanes, def.flags);
        }
        for operand in region.uses(instr) {
            builder.uses(instr, registers[operand.register.index()], operand.lanes);
        }
    }
    for operand in region.live_in() {
        builder.live_in(registers[operand.register.index()], operand.lanes);
    }
    for operand in region.live_out() {
        builder.live_out(registers[operand.register.index()], operand.lanes);
    }
    for dep in region.deps() {
        builder.depend(dep.from, dep.to, dep.kind, dep.latency);
    }
    builder.build().unwrap()
}

/// The rules of a legal schedule, in the order of [`broken_rules`].
const RULES: [&str; 8] = [
    "permutation",
    "dependences in order",
    "one cycle each",
    "cycles do not decrease",
    "latencies",
    "slots",
    "units",
    "length fits",
];

/// The oracle: which rules a schedule breaks, each straight from its definition, every pair looked at. Rules
/// that have no meaning because an earlier one is broken count as kept.
fn broken_rules(region: &Region, target: &Target, schedule: &Schedule) -> [bool; 8] {
    let (order, cycles) = (schedule.order(), schedule.cycles());
    let mut broken = [false; 8];
    let times = |instr: InstrId| order.iter().filter(|&&other| other == instr).count();
    broken[0] = order.len() != region.len() || region.instrs().any(|instr| times(instr) != 1);
    broken[2] = cycles.len() != region.len();
    if broken[0] {
        return broken;
    }
    let position = |instr: InstrId| order.iter().position(|&other| other == instr).unwrap();
    let backwards = |from: InstrId, to: InstrId| position(from) >= position(to);
    broken[1] = region.deps().iter().any(|dep| backwards(dep.from, dep.to));
    if broken[2] {
        return broken;
    }
    let cycle = |instr: InstrId| u64::from(cycles[instr.index()]);
    broken[3] = (0..order.len()).any(|j| (0..j).any(|i| cycle(order[i]) > cycle(order[j])));
    broken[4] = region
        .deps()
        .iter()
        .any(|dep| !backwards(dep.from, dep.to) && cycle(dep.to) < cycle(dep.from) + u64::from(dep.latency));
    broken[5] = region.instrs().any(|instr| {
        let together = region.instrs().filter(|&other| cycle(other) == cycle(instr));
        together.count() as u64 > u64::from(target.issue().width)
    });
    broken[6] = target.issue().units.iter().any(|unit| {
        region.instrs().any(|instr| {
            let now = cycle(instr);
            let all =
                region.instrs().flat_map(|other| region.units(other).iter().map(move |need| (other, need)));
            let own = all.filter(|(_, need)| *need.unit == *unit.name);
            let busy = own
                .filter(|(other, need)| cycle(*other) <= now && now < cycle(*other) + u64::from(need.cycles));
            busy.count() as u64 > u64::from(unit.count)
        })
    });
    broken[7] = cycles.contains(&u32::MAX);
    broken
}

fn rule_of(violation: &Violation) -> usize {
    match violation {
        Violation::UnknownInstr { .. } | Violation::Repeated { .. } | Violation::Missing { .. } => 0,
        Violation::OutOfOrder { .. } => 1,
        Violation::CycleCount { .. } => 2,
        Violation::CyclesDecrease { .. } => 3,
        Violation::TooEarly { .. } => 4,
        Violation::CycleOverfull { .. } => 5,
        Violation::UnitBusy { .. } => 6,
        Violation::TooLong { .. } => 7,
        Violation::UnknownClass { .. } => panic!("all classes are known"),
    }
}

/// Lets checker and oracle judge, and compares rule by rule. Returns what the oracle says.
fn judge(region: &Region, target: &Target, schedule: &Schedule) -> [bool; 8] {
    let expected = broken_rules(region, target, schedule);
    let violations = check(region, target, schedule).err().unwrap_or_default();
    let mut found = [false; 8];
    violations.iter().for_each(|violation| found[rule_of(violation)] = true);
    let context =
        || format!("{} on {}: {schedule:?}\n{violations:?}\n{RULES:?}", region.name(), target.name());
    if violations.len() < MOST_VIOLATIONS {
        assert_eq!(found, expected, "{}", context());
    } else {
        // The list was cut: what it names must be true.
        assert!((0..8).all(|rule| expected[rule] || !found[rule]), "{}", context());
    }
    expected
}

/// Changes a schedule in one way or another; some of the results are still legal.
fn mutate(region: &Region, schedule: &Schedule, random: &mut Random) -> Schedule {
    let (mut order, mut cycles) = (schedule.order().to_vec(), schedule.cycles().to_vec());
    let any = |random: &mut Random| random.below(region.len());
    let (a, b) = (any(random), any(random));
    match random.below(11) {
        // Two dependent instructions change places, with or without their cycles.
        0 | 1 if !region.deps().is_empty() => {
            let dep = region.deps()[random.below(region.deps().len())];
            let position = |instr| order.iter().position(|&other| other == instr).unwrap();
            let (from, to) = (position(dep.from), position(dep.to));
            order.swap(from, to);
            if random.chance(50) {
                cycles.swap(dep.from.index(), dep.to.index());
            }
        }
        // Two neighbours, which need not depend on each other.
        2 if region.len() > 1 => {
            let first = random.below(region.len() - 1);
            let (x, y) = (order[first], order[first + 1]);
            order.swap(first, first + 1);
            cycles.swap(x.index(), y.index());
        }
        // One issues earlier, or later.
        3 => cycles[a] = cycles[a].saturating_sub(1 + random.below(3) as u32),
        4 => cycles[a] = cycles[a].saturating_add(1 + random.below(3) as u32),
        // From some point on everything moves, closer or further away.
        5 => {
            let closer = random.chance(50);
            for instr in &order[a..] {
                let cycle = &mut cycles[instr.index()];
                *cycle = if closer { cycle.saturating_sub(1) } else { cycle.saturating_add(3_000_000_000) };
            }
        }
        // An instruction twice, in place of another or in addition; or not at all.
        6 => order[a] = order[b],
        7 => order.insert(a, InstrId::at(b)),
        8 => {
            order.remove(a);
            if random.chance(50) {
                cycles.remove(b);
            }
        }
        // Too many in one cycle: some neighbours join the first of them.
        9 => {
            let last = (a + 1 + random.below(3)).min(region.len() - 1);
            let cycle = cycles[order[a].index()];
            order[a..=last].iter().for_each(|instr| cycles[instr.index()] = cycle);
        }
        // A unit over-committed: two that need the same one come as close as width allows.
        _ => {
            let wants = |instr: InstrId| region.units(instr).iter().any(|need| &*need.unit == "mem");
            let users: Vec<InstrId> = order.iter().copied().filter(|&instr| wants(instr)).collect();
            if users.len() > 1 {
                let first = random.below(users.len() - 1);
                cycles[users[first + 1].index()] =
                    cycles[users[first].index()].saturating_add(random.below(2) as u32);
            }
        }
    }
    Schedule::from_parts(order, cycles)
}

#[test]
fn exactly_the_illegal_mutations_are_refused() {
    let targets = targets();
    let mut legal = 0;
    let mut broken = [0; 8];
    let mut alone = [0; 8];
    for (region, mut random) in regions(60, 24) {
        let region = with_units(&region, &mut random);
        for target in &targets {
            let problem = Problem::new(&region, target, Goal::Length).unwrap();
            let order = generate::random_order(&region, &mut random);
            let schedule = Schedule::in_order(&problem, order);
            assert_eq!(judge(&region, target, &schedule), [false; 8]);
            for _ in 0..40 {
                let mut mutant = mutate(&region, &schedule, &mut random);
                let mut rules = judge(&region, target, &mutant);
                if random.chance(20) && !rules[0] && !rules[2] {
                    mutant = mutate(&region, &mutant, &mut random);
                    rules = judge(&region, target, &mutant);
                }
                let count = rules.iter().filter(|broken| **broken).count();
                legal += usize::from(count == 0);
                for rule in (0..8).filter(|&rule| rules[rule]) {
                    broken[rule] += 1;
                    alone[rule] += usize::from(count == 1);
                }
            }
        }
    }
    // Every rule must have been the only one broken now and then, or a checker without it would pass. (Cycles
    // of the wrong number or beyond 32 bits have tests of their own next to the checker.)
    assert!(legal > 3000, "{legal} legal, {broken:?} broken");
    assert!([0, 1, 3, 4, 5, 6].into_iter().all(|rule| alone[rule] > 100), "{alone:?}");
}

#[test]
fn figures_agree_with_the_measure_of_a_problem() {
    let targets: Vec<Target> = Target::all_builtin().chain(targets()).collect();
    let mut occupancies = std::collections::BTreeSet::new();
    for (region, mut random) in regions(120, 120) {
        let region = with_units(&region, &mut random);
        for target in &targets {
            let Ok(problem) = Problem::new(&region, target, Goal::Occupancy) else {
                // Both refuse a region whose classes the target lacks.
                let schedule =
                    Schedule::from_parts(region.instrs().collect(), (0..region.len() as u32).collect());
                let violations = check(&region, target, &schedule).unwrap_err();
                assert!(violations.iter().any(|found| matches!(found, Violation::UnknownClass { .. })));
                continue;
            };
            let schedule = Schedule::in_order(&problem, generate::random_order(&region, &mut random));
            let measure = problem.measure(&schedule);
            let Report { peaks, occupancy, spilled, length } = check(&region, target, &schedule).unwrap();
            assert_eq!(peaks, measure.peaks, "{}", region.name());
            assert_eq!(
                [occupancy, spilled, length],
                [measure.occupancy, measure.spilled, measure.length],
                "{} on {}",
                region.name(),
                target.name()
            );
            occupancies.insert((target.name(), occupancy, spilled > 0));
        }
    }
    assert!(occupancies.len() > 20, "{occupancies:?}");
}

/// All pressures of two classes in one file, with alignments and granules that do not divide one another.
#[test]
fn occupancy_agrees_on_shared_files_of_every_kind() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut number = |most: usize| 1 + random.below(most) as u32;
        let (max, align, granule) = ([number(12), number(12)], number(6), number(6));
        // Room for one wave with all it can address, wherever the second class starts.
        let one_wave = (max[0].next_multiple_of(align) + max[1]).next_multiple_of(granule);
        let size = one_wave * number(4) + number(5) - 1;
        let waves = number(8);
        let text = format!(
            "name='t'\ndescription=''\n[issue]\nwidth=1\n[[file]]\nname='f'\nsize={size}\ngranule={granule}\n\
             waves={waves}\nclasses=[{{name='a',max={},align={align}}},{{name='b',max={}}}]\n",
            max[0], max[1]
        );
        let target = Target::parse(&text).unwrap();
        for (a, b) in (0..=max[0] + 2).flat_map(|a| (0..=max[1] + 2).map(move |b| (a, b))) {
            let mut builder = RegionBuilder::new("through");
            for (class, pressure) in [("b", b), ("a", a)] {
                let class: ClassId = builder.class(class);
                builder.through(class, pressure);
            }
            builder.instr(InstrSpec::new("op", 1));
            let region = builder.build().unwrap();
            let problem = Problem::new(&region, &target, Goal::Occupancy).unwrap();
            let schedule = Schedule::source(&problem);
            let measure = problem.measure(&schedule);
            let report = check(&region, &target, &schedule).unwrap();
            assert_eq!(
                (report.occupancy, report.spilled),
                (measure.occupancy, measure.spilled),
                "pressures {a} and {b} on\n{text}"
            );
        }
    }
}

#[test]
fn garbage_is_refused_without_panic() {
    let targets = targets();
    let mut accepted = 0;
    for (region, mut random) in regions(150, 12) {
        let region = with_units(&region, &mut random);
        for _ in 0..20 {
            let legal_order = random.chance(40);
            let order = if legal_order {
                generate::random_order(&region, &mut random)
            } else {
                let length = random.below(region.len() + 3);
                let wild = random.chance(30);
                let number =
                    |random: &mut Random| random.below(region.len() + if wild { 2 } else { 0 }) as u32;
                (0..length)
                    .map(|_| InstrId(if random.chance(2) { u32::MAX } else { number(&mut random) }))
                    .collect()
            };
            let length = if random.chance(80) { region.len() } else { random.below(region.len() + 3) };
            let largest = random.pick(&[1, 4, 1000, 1 << 31, 1 << 32]);
            let mut cycles: Vec<u32> = (0..length).map(|_| random.below(largest) as u32).collect();
            if random.chance(30) {
                cycles.iter_mut().for_each(|cycle| *cycle = u32::MAX - *cycle);
            }
            let target = &targets[random.below(2)];
            assert_eq!(check_order(&region, &order).is_ok(), {
                let rules = broken_rules(&region, target, &Schedule::from_parts(order.clone(), Vec::new()));
                !rules[0] && !rules[1]
            });
            let rules = judge(&region, target, &Schedule::from_parts(order, cycles));
            accepted += usize::from(rules == [false; 8]);
        }
    }
    assert!(accepted > 0, "some garbage is legal by chance");
}

/// A hundred thousand instructions, in cycles up to the largest number: nothing is indexed by cycle.
/// (`cargo bench -p lowtide --bench analysis` has the time of the checker for growing sizes.)
#[test]
fn large_schedules_and_far_cycles_are_checked() {
    let region = with_units(&generate::region(Shape::Layered, 100_000, 1), &mut Random::new(1));
    let target = &targets()[1];
    let problem = Problem::new(&region, target, Goal::Length).unwrap();
    let order = generate::random_order(&region, &mut Random::new(2));
    let schedule = Schedule::in_order(&problem, order);
    let far = u32::MAX - schedule.length();
    let cycles = schedule.cycles().iter().map(|cycle| cycle + far).collect();
    let schedule = Schedule::from_parts(schedule.order().to_vec(), cycles);
    assert_eq!(check(&region, target, &schedule).unwrap().length, u32::MAX);
    let backwards: Vec<InstrId> = region.instrs().rev().collect();
    let schedule = Schedule::from_parts(backwards, schedule.cycles().to_vec());
    assert_eq!(check(&region, target, &schedule).unwrap_err().len(), MOST_VIOLATIONS);
}
