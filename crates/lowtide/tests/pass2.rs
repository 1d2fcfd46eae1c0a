//! Pass 2, the shortest schedule within limits on registers, against brute force; and both passes together.

use crate::made::{MOST, Machine, Made, Small, State, fits, or_in_ci, regions, retimed, seven};
use lowtide::analysis::length_bound::lower_bound;
use lowtide::budget::Budget;
use lowtide::check::{check, check_order};
use lowtide::generate::{self, Random, Shape};
use lowtide::list::baselines;
use lowtide::list::few_registers::few_registers;
use lowtide::pipeline::first_pass::{self, most_waves};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Region;
use lowtide::schedule::Schedule;
use lowtide::session::{Session, SharedProblem};
use lowtide::target::Target;
use lowtide::twopass::Rules;
use lowtide::twopass::length::{Answer, Options, shortest};
use lowtide::{InstrId, ValueId};

/// Enough for a proof.
const UNBOUNDED: Budget = Budget::UNLIMITED;

fn options(rules: Rules, nodes: Option<u64>) -> Options<'static> {
    Options { budget: Budget { nodes, ..UNBOUNDED }, rules, ..Options::default() }
}

/// The same by really trying all orders, one by one.
fn shortest_of_all_orders(machine: &Machine, small: &Small, limits: &[Option<u32>]) -> Option<u32> {
    fn rest(
        machine: &Machine,
        small: &Small,
        limits: &[Option<u32>],
        set: usize,
        state: State,
    ) -> Option<u32> {
        if !small.pressures[set].as_ref().is_some_and(|pressure| fits(pressure, limits)) {
            return None;
        }
        if set + 1 == 1 << machine.count {
            return Some(machine.length(&state));
        }
        let open = (0..machine.count).filter(|instr| set >> instr & 1 == 0);
        let lengths = open.filter_map(|instr| {
            let mut state = state;
            machine.issue(&mut state, instr);
            rest(machine, small, limits, set | 1 << instr, state)
        });
        lengths.min()
    }
    rest(machine, small, limits, 0, State::START)
}

/// A target with a register file for each class that does not limit anything.
fn target(issue: &str) -> Target {
    let text = format!(
        "name = \"small\"\ndescription = \"for tests\"\n[issue]\n{issue}\n\
         [[file]]\nname = \"any\"\nsize = 1000\ngranule = 1\nwaves = 1\nclasses = [{{ name = \"*\", max = 1000 }}]\n"
    );
    Target::parse(&text).expect("a valid target")
}

/// One issue or two in a cycle, with units and without.
fn targets() -> Vec<Target> {
    let issues = [
        "width = 1",
        "width = 2",
        "width = 1\nunits = [{ name = \"a\" }, { name = \"b\", count = 2 }]",
        "width = 2\nunits = [{ name = \"a\" }, { name = \"b\", count = 2 }]",
    ];
    issues.map(target).into()
}

/// What instructions need; the target may or may not have the units.
const UNITS: [&[(&str, u32)]; 6] =
    [&[], &[("a", 1)], &[("a", 3)], &[("b", 2)], &[("b", 5)], &[("a", 2), ("b", 4)]];

/// Limits that some order keeps: those of the peaks of one, or a few more, or none.
fn possible_limits(small: &Small, random: &mut Random) -> Vec<Option<u32>> {
    let all = small.all_peaks();
    let peaks = &all[random.below(all.len())];
    let with_limit = random.pick(&[0, 70, 100, 100, 100]);
    let more = random.pick(&[1, 1, 2, 4]);
    let limit = |peak: &u32| random.chance(with_limit).then(|| peak + random.below(more) as u32);
    peaks.iter().map(limit).collect()
}

/// All that matters, for messages.
fn text(problem: &Problem, limits: &[Option<u32>]) -> String {
    let region = problem.region();
    let deps: Vec<_> =
        region.deps().iter().map(|dep| format!("{}->{} {}", dep.from.0, dep.to.0, dep.latency)).collect();
    let values = region.values().iter().enumerate().map(|(number, value)| {
        let uses: Vec<u32> = region.value_uses(ValueId::at(number)).iter().map(|user| user.0).collect();
        let def = value.def.map_or("in".to_string(), |def| def.0.to_string());
        let out = if value.live_out { " out" } else { "" };
        format!("{}*{} {def}->{uses:?}{out}", value.class.0, value.weight)
    });
    let values: Vec<String> = values.collect();
    let through: Vec<u32> = region.class_ids().map(|class| region.through(class)).collect();
    let units: Vec<_> = region.instrs().map(|instr| problem.unit_needs(instr)).collect();
    let issue = problem.target().issue();
    format!(
        "{} within {limits:?} on {issue:?}: {} instructions, deps {deps:?}, values {values:?}, through {through:?}, units {units:?}",
        region.name(),
        region.len()
    )
}

/// What holds for every answer, whatever the effort was.
fn assert_true(problem: &Problem, limits: &[Option<u32>], start: u32, answer: &Answer, optimum: u32) {
    let text = || text(problem, limits);
    let Answer { length, bound, .. } = *answer;
    assert!(bound <= optimum, "bound {bound} above the optimum {optimum}: {}", text());
    assert!(optimum <= length, "length {length} below the optimum {optimum}: {}", text());
    assert!(length <= start, "length {length}, but one to start from has {start}: {}", text());
    assert_legal(problem, limits, answer);
}

/// By the checker, which knows nothing of limits.
fn assert_legal(problem: &Problem, limits: &[Option<u32>], answer: &Answer) {
    let text = || text(problem, limits);
    let schedule = Schedule::in_order(problem, answer.order.clone());
    let report = check(problem.region(), problem.target(), &schedule)
        .unwrap_or_else(|faults| panic!("{faults:?}: {}", text()));
    assert_eq!(report.length, answer.length, "not the length of the order: {}", text());
    let peaks: Vec<u32> = report.peaks.iter().map(|peak| peak.between).collect();
    assert!(fits(&peaks, limits), "peaks {peaks:?}: {}", text());
}

fn assert_proven(problem: &Problem, limits: &[Option<u32>], start: u32, answer: &Answer, optimum: u32) {
    assert_true(problem, limits, start, answer, optimum);
    let found = (answer.length, answer.bound);
    assert_eq!(found, (optimum, optimum), "not proven without a limit: {}", text(problem, limits));
}

fn problem<'a>(region: &'a Region, target: &'a Target) -> Problem<'a> {
    Problem::new(region, target, Goal::Occupancy).expect("all classes are known")
}

/// What the other tests believe.
#[test]
fn brute_force_leaves_out_nothing() {
    let mut random = Random::new(1);
    let targets = targets();
    let mut impossible = 0;
    for (number, region) in regions(0..40, 7).enumerate() {
        let region = retimed(&region, &UNITS, &mut random);
        let target = &targets[number % targets.len()];
        let machine = Machine::new(&region, target);
        let small = Small::new(&region, &[]);
        let mut limits = possible_limits(&small, &mut random);
        for limit in limits.iter_mut().flatten() {
            *limit = limit.saturating_sub(u32::from(random.chance(20)));
        }
        let length = machine.shortest(&small, |pressure| fits(pressure, &limits));
        assert_eq!(length, shortest_of_all_orders(&machine, &small, &limits), "{}", region.name());
        let order = small.order_within(&limits, &mut random);
        assert_eq!(length.is_some(), order.is_some(), "{}", region.name());
        impossible += u32::from(length.is_none());
        // The timing of single orders is that of the library, and the checker has nothing against it.
        for order in order.into_iter().chain([generate::random_order(&region, &mut random)]) {
            let schedule = Schedule::in_order(&problem(&region, target), order.clone());
            let report = check(&region, target, &schedule).expect("a legal schedule");
            assert_eq!(machine.length_of(&order), report.length, "{}", region.name());
        }
    }
    assert!(impossible > 20, "{impossible}");
}

#[test]
fn the_shortest_length_is_that_of_brute_force() {
    let mut random = Random::new(2);
    let targets = targets();
    let (mut asked, mut limited, mut shorter, mut impossible) = (0, 0, 0, 0);
    let (seeds, least) = or_in_ci((350, [10_000, 1_500, 3_000, 1_000]), (140, [4_000, 600, 1_200, 400]));
    for (number, region) in regions(0..seeds, MOST).enumerate() {
        let target = &targets[number % targets.len()];
        let region = retimed(&region, &UNITS, &mut random);
        let problem = problem(&region, target);
        let machine = Machine::new(&region, target);
        let small = Small::new(&region, &[]);
        let unlimited = machine.shortest(&small, |_| true).expect("an order exists");
        for _ in 0..2 {
            let limits = possible_limits(&small, &mut random);
            let optimum = machine.shortest(&small, |pressure| fits(pressure, &limits)).expect("one exists");
            // Others may be shorter, but not within the limits: they must not count.
            let own = small.order_within(&limits, &mut random).expect("one exists");
            let mut starts = vec![own];
            starts.extend((0..random.below(3)).map(|_| generate::random_order(&region, &mut random)));
            let first = random.below(starts.len());
            starts.rotate_left(first);
            let is_within = |order: &[InstrId]| {
                let peaks = check_order(&region, order).expect("a legal order");
                fits(&peaks.iter().map(|peak| peak.between).collect::<Vec<_>>(), &limits)
            };
            let start = starts.iter().filter(|order| is_within(order)).map(|order| machine.length_of(order));
            let start = start.min().expect("at least one is within the limits");
            let starts: Vec<&[InstrId]> = starts.iter().map(Vec::as_slice).collect();
            let ask = |nodes| {
                let answer = shortest(&problem, &limits, &starts, options(Rules::ALL, nodes));
                answer.expect("one to start from is within the limits")
            };
            for nodes in [0, 1, 7, 40] {
                assert_true(&problem, &limits, start, &ask(Some(nodes)), optimum);
            }
            assert_proven(&problem, &limits, start, &ask(None), optimum);
            asked += 1;
            limited += u32::from(optimum > unlimited);
            shorter += u32::from(optimum < start);
        }
        // Below the lowest peak of one class, there is nothing to start from.
        let mut limits = vec![None; region.classes().len()];
        let class = random.below(limits.len());
        if let Some(limit) = small.lowest(class, &limits).and_then(|lowest| lowest.checked_sub(1)) {
            limits[class] = Some(limit);
            let order = generate::random_order(&region, &mut random);
            let answer = shortest(&problem, &limits, &[&order], options(Rules::ALL, None));
            assert_eq!(answer, None, "{}", text(&problem, &limits));
            impossible += 1;
        }
    }
    println!("{asked} optima: {limited} longer than without limits, {shorter} shorter than the start");
    let found = [asked, limited, shorter, impossible];
    assert!(found.iter().zip(&least).all(|(found, least)| found > least), "{found:?}");
}

/// The rules whose bits are set.
fn rules(bits: u32) -> Rules {
    let is_on = |position: u32| bits >> position & 1 == 1;
    Rules {
        superiority: is_on(0),
        forced_order: is_on(1),
        windows: is_on(2),
        dynamic_bound: is_on(3),
        no_idling: is_on(4),
        memory: is_on(5),
        both_ends: is_on(6),
        reasons: is_on(7),
    }
}

const ALL_RULES: u32 = 0xff;

/// Sets of rules that each region is asked with. All sets come up as regions pass.
const SETS: u32 = 8;

/// Sets of rules, mostly where the limits cost something. (Lists find most optima before the search does, and
/// take most of the time here: the tests in `twopass/search.rs` are without them.)
#[test]
fn rules_do_not_change_the_optimum() {
    let mut random = Random::new(3);
    let targets = targets();
    let (mut asked, mut limited, mut sets) = (0, 0, 0);
    let (seeds, least) = or_in_ci((120, [350, 150]), (60, [175, 75]));
    for (number, region) in regions(5_000..5_000 + seeds, 7).enumerate() {
        let target = &targets[number % targets.len()];
        let region = retimed(&region, &UNITS, &mut random);
        let problem = problem(&region, target);
        let machine = Machine::new(&region, target);
        let small = Small::new(&region, &[]);
        let limits = possible_limits(&small, &mut random);
        let optimum = machine.shortest(&small, |pressure| fits(pressure, &limits)).expect("one exists");
        let is_longer = machine.shortest(&small, |_| true) < Some(optimum);
        if !is_longer && random.chance(85) {
            continue;
        }
        limited += u32::from(is_longer);
        let order = small.order_within(&limits, &mut random).expect("one exists");
        let start = machine.length_of(&order);
        for _ in 0..SETS {
            // (An odd step, so that all sets are passed before one comes again.)
            sets += 45;
            let rules = rules(sets & ALL_RULES);
            let answer = shortest(&problem, &limits, &[&order], options(rules, None));
            let answer = answer.expect("the start is within the limits");
            let caught = || assert_proven(&problem, &limits, start, &answer, optimum);
            if let Err(error) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(caught)) {
                println!("with {rules:?}");
                std::panic::resume_unwind(error);
            }
            asked += 1;
        }
    }
    println!("{asked} optima, {limited} regions longer than without limits");
    assert!(asked > least[0] * SETS && limited > least[1], "{asked} {limited}");
}

/// A register file of one class, or one for each class that no other file has: `*`.
struct File {
    class: &'static str,
    size: u32,
    granule: u32,
    waves: u32,
}

impl File {
    /// The waves that fit with a pressure. All of the file can be used by one wave, so that a spill is more
    /// than that.
    fn waves(&self, pressure: u32) -> Option<u32> {
        let given_out = pressure.max(1).div_ceil(self.granule) * self.granule;
        (pressure <= self.size).then(|| (self.size / given_out).min(self.waves))
    }
}

/// A made-up target of one to three files with several steps of occupancy.
fn small_target(random: &mut Random) -> (Target, Vec<File>) {
    let issue = match random.below(10) {
        0..6 => "width = 1",
        6..8 => "width = 2",
        _ => "width = 1\nunits = [{ name = \"a\" }, { name = \"b\", count = 2 }]",
    };
    let named: &[&str] = random.pick(&[&["*"], &["vgpr", "*"], &["vgpr", "sgpr", "agpr"]]);
    let mut text = format!("name = \"small\"\ndescription = \"for tests\"\n[issue]\n{issue}\n");
    let mut files = Vec::new();
    for &class in named {
        let granule = random.pick(&[1, 1, 2, 4]);
        let size = random.pick(&[16, 24, 40, 60]) / granule * granule;
        let waves = random.pick(&[4, 8, 20]);
        text += &format!(
            "[[file]]\nname = \"for {class}\"\nsize = {size}\ngranule = {granule}\nwaves = {waves}\n\
             classes = [{{ name = \"{class}\", max = {size} }}]\n"
        );
        files.push(File { class, size, granule, waves });
    }
    (Target::parse(&text).expect("a valid target"), files)
}

/// Waves with a pressure of each class; none if something is spilled.
fn waves_with(files: &[File], most: u32, region: &Region, pressure: &[u32]) -> Option<u32> {
    let mut waves = files.iter().map(|file| file.waves).fold(most, u32::min);
    for (class, &pressure) in region.classes().iter().zip(pressure) {
        let own = files.iter().find(|file| *file.class == **class);
        let file = own.or_else(|| files.iter().find(|file| file.class == "*")).expect("a file for the class");
        waves = waves.min(file.waves(pressure)?);
    }
    Some(waves)
}

/// First the most waves of all orders of all regions, then the shortest schedule of each region with so many
/// waves. No class shares its file with others: there, limits for each class would not be the same as waves.
#[test]
fn both_passes_give_what_brute_force_gives() {
    let mut random = Random::new(4);
    let mut all = (0..).flat_map(|seed| regions(seed..seed + 1, 7)).filter(|region| region.len() >= 3);
    let (mut kernels, mut spilling, mut fewer, mut asked, mut limited) = (0, 0, 0, 0, 0);
    let (count, least) = or_in_ci((20_000, [5_000, 1_500]), (8_000, [2_000, 600]));
    while kernels < count {
        let (target, files) = small_target(&mut random);
        let most = 1 + random.below(20) as u32;
        let kernel: Vec<Region> = (all.by_ref().take(1 + random.below(3)))
            .map(|region| retimed(&region, &UNITS, &mut random))
            .collect();
        let small: Vec<Small> = kernel.iter().map(|region| Small::new(region, &[])).collect();
        let each = kernel.iter().zip(&small).map(|(region, small)| {
            let of_all_orders = small.all_peaks().into_iter();
            of_all_orders.filter_map(|peaks| waves_with(&files, most, region, &peaks)).max()
        });
        let Some(each) = each.collect::<Option<Vec<u32>>>() else {
            spilling += 1;
            continue;
        };
        let waves = each.into_iter().min().expect("at least one region");
        let problems: Vec<Problem> = kernel.iter().map(|region| problem(region, &target)).collect();
        let session = Session::new();
        let shared: Vec<SharedProblem> = problems
            .iter()
            .map(|problem| SharedProblem::new(problem.clone(), UNBOUNDED, (&session).into()))
            .collect();
        let found = most_waves(&shared, most.min(target.max_waves()), first_pass::Options::default());
        assert_eq!((found.waves, found.bound), (waves, waves), "kernel {kernels} with {}", kernel[0].name());
        for ((problem, small), first) in problems.iter().zip(&small).zip(&found.regions) {
            let limits: Vec<Option<u32>> = baselines::limits(problem, waves).into_iter().map(Some).collect();
            let machine = Machine::new(problem.region(), &target);
            let is_fine = |pressure: &[u32]| {
                waves_with(&files, most, problem.region(), pressure).is_some_and(|own| own >= waves)
            };
            let optimum = machine.shortest(small, is_fine).expect("pass 1 has found one");
            let answer = shortest(problem, &limits, &[&first.order], options(Rules::ALL, None));
            let answer = answer.unwrap_or_else(|| panic!("no start: {}", text(problem, &limits)));
            assert_proven(problem, &limits, machine.length_of(&first.order), &answer, optimum);
            asked += 1;
            limited += u32::from(machine.shortest(small, |_| true) < Some(optimum));
        }
        kernels += 1;
        fewer += u32::from(waves < most.min(target.max_waves()));
    }
    println!(
        "{kernels} kernels: {fewer} with fewer waves, {spilling} left out for spills; \
         {asked} regions, {limited} longer for the waves"
    );
    assert!(spilling * 100 < count * 15, "{spilling} of {count} spill");
    assert!(fewer > least[0] && limited > least[1], "{fewer} {limited}");
}

/// The example in the manner of the paper, step by step.
#[test]
fn the_example_of_seven_instructions() {
    let region = seven();
    let target = Target::builtin("generic").expect("built in");
    let problem = problem(&region, &target);
    let machine = Machine::new(&region, &target);
    let small = Small::new(&region, &[]);
    let best_within = |limit| machine.shortest(&small, |pressure| pressure[0] <= limit);
    let order = |names: &str| -> Vec<InstrId> {
        names.bytes().map(|name| InstrId::at(usize::from(name - b'A'))).collect()
    };
    let length_and_peak = |order: &[InstrId]| {
        let schedule = Schedule::in_order(&problem, order.to_vec());
        let report = check(&region, &target, &schedule).expect("a legal schedule");
        (report.length, report.peaks[0].between)
    };

    // Without limits, eight cycles are needed: one of A and B issues after the other, then 4 and 2 cycles
    // pass until G.
    assert_eq!(lower_bound(&problem).best(), 8);
    assert_eq!(length_and_peak(&order("ABCDEFG")), (8, 4));
    // No order has a lower peak than three, and the one of pass 1 pays for it with stalls.
    assert_eq!(small.lowest(0, &[None]), Some(3));
    let few = order("CDFABEG");
    assert_eq!(length_and_peak(&few), (13, 3));
    let source = order("ABCDEFG");

    // Four registers are as good as any number.
    assert_eq!((best_within(4), best_within(3), best_within(2)), (Some(8), Some(10), None));
    let within = |limit, starts: &[&[InstrId]]| {
        let answer = shortest(&problem, &[Some(limit)], starts, options(Rules::ALL, None));
        answer.inspect(|answer| assert_legal(&problem, &[Some(limit)], answer))
    };
    let four = within(4, &[&few]).expect("the start is within the limit");
    assert_proven(&problem, &[Some(4)], 13, &four, 8);

    // With three, neither 8 nor 9 cycles are enough. (The source order needs four, and is no start.)
    let three = within(3, &[&source, &few]).expect("one start is within the limit");
    assert_proven(&problem, &[Some(3)], 13, &three, 10);
    assert_eq!(length_and_peak(&three.order), (10, 3));
    assert_eq!(within(3, &[&source]), None);
    assert_eq!(within(2, &[&source, &few]), None);
}

/// The same budget gives the same answer, with one thread or two; and what different budgets say never
/// contradicts.
#[test]
fn answers_follow_from_the_budget_alone() {
    let mut random = Random::new(6);
    let targets = targets();
    let (mut asked, mut shorter) = (0, 0);
    let shapes = Shape::ALL
        .into_iter()
        .flat_map(|shape| (0..4).map(move |seed| generate::region(shape, 15 + 20 * seed as usize, seed)));
    let made = (0..6).flat_map(|seed| Made::ALL.map(|made| made.region(15 + 6 * seed as usize, seed)));
    for (number, region) in shapes.chain(made).enumerate() {
        let region = retimed(&region, &UNITS, &mut random);
        let problem = problem(&region, &targets[number % targets.len()]);
        let few = few_registers(&problem);
        let source: Vec<InstrId> = region.instrs().collect();
        let peaks = check_order(&region, &few).expect("a legal order");
        let more = random.below(3) as u32;
        let limits: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between + more)).collect();
        let start = Schedule::in_order(&problem, few.clone()).length();
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for nodes in [0, 1, 100, 3_000, 50_000] {
            let ask = |threads| {
                let budget = Budget { nodes: Some(nodes), threads, ..UNBOUNDED };
                let options = Options { budget, ..Options::default() };
                shortest(&problem, &limits, &[&few, &source], options).expect("a start within the limits")
            };
            let answer = ask(1);
            assert_legal(&problem, &limits, &answer);
            assert!(answer.length <= start, "{}", text(&problem, &limits));
            assert_eq!(answer, ask(1), "{nodes} nodes, twice: {}", text(&problem, &limits));
            assert_eq!(answer, ask(2), "{nodes} nodes, two threads: {}", text(&problem, &limits));
            lowest = lowest.min(answer.length);
            highest = highest.max(answer.bound);
            asked += 1;
        }
        assert!(highest <= lowest, "bound {highest}, length {lowest}: {}", text(&problem, &limits));
        shorter += u32::from(lowest < start);
    }
    println!("{asked} answers, {shorter} regions shorter than the start");
    assert!(asked >= 300 && shorter > 20, "{asked} {shorter}");
}
