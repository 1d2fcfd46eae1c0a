//! What must hold for the result of every algorithm on any region. The fuzz targets in `fuzz/` and the short
//! run in `fuzz_algorithms.rs` call the same functions. Each makes a region of the bytes it is given, and
//! runs every algorithm on it. Each panics if a checker refuses a result or finds other figures. Each returns
//! whether the case left something to decide.

#![allow(dead_code)] // every fuzz target uses its own part

use std::collections::{BTreeMap, BTreeSet};

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::bound::check_cut;
use lowtide::check::{Report, check, waves_of_kernel};
use lowtide::multipass::check::check_passes;
use lowtide::multipass::{Costs, Limits, Partition, PassModel, PassProblem, dpmpp, exact, mio, rds};
use lowtide::outcome::KernelOutcome;
use lowtide::outcome::Outcome;
use lowtide::pack::{PackProblem, Packing, measure, pack};
use lowtide::pipeline::{Filter, Options, schedule_kernel, schedule_region};
use lowtide::problem::{Goal, Problem};
use lowtide::proof::Reason;
use lowtide::random::Random;
use lowtide::region::{DefFlags, DepKind, InstrSpec, Kernel, Region, RegionBuilder};
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide::verdict::Verdict;
use lowtide::{ClassId, RegisterId};

const GOALS: [Goal; 4] = [Goal::MinReg, Goal::Occupancy, Goal::Length, Goal::Throughput];

/// Choices made by bytes. Where they end, every choice is the first one: each byte that is cut off makes the
/// case simpler.
pub(crate) struct Choices<'d> {
    pub(crate) data: &'d [u8],
}

impl Choices<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        *first
    }

    /// A number below another one, which is at most 256.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    pub(crate) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }

    /// True for so many of 256 bytes, but not for 0.
    pub(crate) fn chance(&mut self, of_256: u8) -> bool {
        let byte = self.byte();
        byte != 0 && byte <= of_256
    }
}

/// The most instructions of a region: enough for every rule of the searches.
const MOST_INSTRS: usize = 20;

/// A region that need not be in single-assignment form. It has registers of several lanes and classes,
/// partial and repeated writes, and results that nobody needs. It also has values from outside and for
/// outside, dependences of memory, and units.
pub(crate) fn region(choices: &mut Choices, name: &str, most_instrs: usize) -> Region {
    let mut builder = RegionBuilder::new(name);
    let class_count = choices.pick(&[2, 1, 2, 0]);
    let classes: Vec<ClassId> =
        ["vgpr", "sgpr"].into_iter().take(class_count).map(|class| builder.class(class)).collect();
    let mut registers: Vec<(RegisterId, u32)> = Vec::new();
    let mut defined: Vec<u64> = Vec::new();
    let new_register = |builder: &mut RegionBuilder, choices: &mut Choices, defined: &mut Vec<u64>| {
        let class = choices.pick(&classes);
        let lanes = choices.pick(&[1, 1, 1, 2, 4]);
        let weight = choices.pick(&[1, 1, 1, 2]);
        let register = builder.register(&format!("r{}", defined.len()), class, lanes, weight);
        defined.push(0);
        (register, lanes)
    };
    for &class in &classes {
        let through = choices.pick(&[0, 0, 3, 60]);
        builder.through(class, through);
    }
    if !classes.is_empty() {
        for _ in 0..choices.below(5) {
            let (register, lanes) = new_register(&mut builder, choices, &mut defined);
            let mask = u64::MAX >> (64 - lanes);
            builder.live_in(register, mask);
            registers.push((register, lanes));
            *defined.last_mut().expect("just made") = mask;
        }
    }
    let mut last_store = None;
    let units: [&[(&str, u32)]; 4] = [&[], &[("alu", 1)], &[("mem", 2)], &[("alu", 1), ("mem", 1)]];
    for _ in 0..1 + choices.below(most_instrs) {
        let latency = choices.pick(&[1, 4, 0, 2, 9, 80]);
        let spec = InstrSpec { units: choices.pick(&units), ..InstrSpec::new("op", latency) };
        let instr = builder.instr(spec);
        for _ in 0..choices.below(4) {
            // Recent registers are read most.
            if let Some(back) = choices.below(8).checked_sub(1)
                && back < registers.len()
            {
                let number = registers.len() - 1 - back;
                let mask = match choices.chance(80) {
                    true => defined[number] & u64::from(choices.byte()),
                    false => defined[number],
                };
                if mask != 0 {
                    builder.uses(instr, registers[number].0, mask);
                }
            }
        }
        let results = if classes.is_empty() { 0 } else { choices.pick(&[1, 1, 1, 0, 2]) };
        let mut written = Vec::new();
        for _ in 0..results {
            let again = choices.chance(60) && !registers.is_empty();
            let number = match again {
                true => registers.len() - 1 - choices.below(registers.len().min(4)),
                false => {
                    let register = new_register(&mut builder, choices, &mut defined);
                    registers.push(register);
                    registers.len() - 1
                }
            };
            if written.contains(&number) {
                continue;
            }
            written.push(number);
            let (register, lanes) = registers[number];
            let all = u64::MAX >> (64 - lanes);
            let mask = match choices.chance(60) {
                true => all & u64::from(choices.byte()),
                false => all,
            };
            if mask != 0 {
                let flags = DefFlags { early_clobber: choices.chance(10), ..DefFlags::default() };
                builder.defs_with(instr, register, mask, flags);
                defined[number] |= mask;
            }
        }
        if choices.chance(40)
            && let Some(last) = last_store.replace(instr)
        {
            builder.depend(last, instr, DepKind::Memory, choices.below(3) as u32);
        }
    }
    for (number, &(register, _)) in registers.iter().enumerate() {
        if defined[number] != 0 && choices.chance(40) {
            builder.live_out(register, defined[number]);
        }
    }
    builder.depend_on_registers();
    builder.build().expect("made regions are valid")
}

/// Two instructions in a cycle, two kinds of units, few registers, two classes in one file.
const SMALL: &str = "name = 'small'
description = 'few registers, two instructions in a cycle'
[issue]
width = 2
units = [{ name = 'alu', count = 2 }, { name = 'mem' }]
[[file]]
name = 'shared'
size = 48
granule = 4
waves = 6
classes = [{ name = 'sgpr', max = 8, align = 4 }, { name = 'vgpr', max = 12 }]
";

pub(crate) fn target(choices: &mut Choices) -> Target {
    match choices.below(4) {
        0 => Target::builtin("gfx906").expect("built in"),
        1 => Target::builtin("generic").expect("built in"),
        2 => Target::builtin("gfx90a").expect("built in"),
        _ => Target::parse(SMALL).expect("a valid target"),
    }
}

/// The one place that asks for the schedule of a region.
fn schedule_one(problem: &Problem, algorithm: Algorithm, budget: Budget) -> Outcome {
    schedule_region(problem, algorithm, budget, &Session::new()).expect("a legal schedule")
}

/// The one place that asks for the schedules of a kernel.
fn schedule_all(kernel: &Kernel, target: &Target, options: Options) -> KernelOutcome {
    schedule_kernel(kernel, target, &options, &Session::new()).expect("the target has all classes")
}

/// The checker accepts the schedule and finds the figures that the algorithm claims. No figure is below its
/// bound, and every bound by a cut is proven again.
#[track_caller]
fn assert_true(problem: &Problem, outcome: &Outcome, name: &str) -> Report {
    let region = problem.region();
    let report = match check(region, problem.target(), &outcome.schedule) {
        Ok(report) => report,
        Err(violations) => panic!("{name}: {}", violations[0]),
    };
    let measure = &outcome.measure;
    assert_eq!(report.peaks, measure.peaks, "{name}: peaks");
    // Where classes share a file, other regions of the kernel may leave fewer waves.
    let waves = match problem.target().shares_files() {
        true => problem.registers().occupancy(&measure.between()),
        false => report.occupancy,
    };
    assert!(waves <= report.occupancy, "{name}: waves");
    assert_eq!(
        (waves, report.spilled, report.length),
        (measure.occupancy, measure.spilled, measure.length),
        "{name}: waves, spills, length"
    );
    assert!(outcome.bounds.length <= report.length, "{name}: {:?}", outcome.bounds);
    assert_eq!(outcome.bounds.peaks.len(), region.classes().len(), "{name}");
    for class in region.class_ids() {
        let bound = outcome.bounds.peaks[class.index()];
        assert!(bound <= report.peaks[class.index()].between, "{name}: {:?}", outcome.bounds);
        if let Reason::Cut(moment) = outcome.bounds.reasons[class.index()] {
            assert_eq!(check_cut(region, class, moment, bound), Ok(()), "{name}");
        }
    }
    report
}

/// Every algorithm, for every goal: legal, with true figures; and no algorithm beats what another one has
/// proven.
pub(crate) fn schedule(data: &[u8]) -> bool {
    let mut choices = Choices { data };
    let target = target(&mut choices);
    let nodes = choices.pick(&[200, 0, 1, 20, 3000]);
    let budget = Budget { nodes: Some(nodes), threads: 1 + choices.below(2), ..Budget::UNLIMITED };
    let registers = choices.chance(60).then(|| 1 + choices.below(12) as u32);
    let waves = choices.chance(60).then(|| 1 + choices.below(10) as u32);
    let region = region(&mut choices, "fuzz", MOST_INSTRS);
    // What holds for every schedule, whoever made it and for whatever goal.
    let mut peak_bounds = vec![0; region.classes().len()];
    let mut lowest_peaks = vec![u32::MAX; region.classes().len()];
    let (mut length_bound, mut shortest) = (0, u32::MAX);
    let mut is_better = false;
    for goal in GOALS {
        let mut problem = Problem::new(&region, &target, goal).expect("the target has all classes");
        if let Some(registers) = registers {
            problem = problem.with_register_limit(registers);
        }
        if let Some(waves) = waves {
            problem = problem.with_most_waves(waves);
        }
        // What the goal puts first: a proof of it holds against all algorithms.
        let first = |outcome: &Outcome| -> Vec<u64> {
            let cost = problem.cost(&outcome.measure);
            match goal {
                Goal::MinReg => cost[..1].to_vec(),
                Goal::Occupancy => cost[..4].to_vec(),
                Goal::Length => cost[..2].to_vec(),
                // A region is proven for its own waves; only the front of a kernel compares all waves.
                Goal::Throughput => Vec::new(),
            }
        };
        let mut best: Option<Vec<u64>> = None;
        let mut proven: Vec<(Vec<u64>, &str)> = Vec::new();
        let mut source = None;
        for &algorithm in Algorithm::ALL {
            let name = algorithm.name();
            let outcome = schedule_one(&problem, algorithm, budget);
            let report = assert_true(&problem, &outcome, &format!("{name} for {goal:?}"));
            for (class, peak) in report.peaks.iter().enumerate() {
                lowest_peaks[class] = lowest_peaks[class].min(peak.between);
                peak_bounds[class] = peak_bounds[class].max(outcome.bounds.peaks[class]);
            }
            shortest = shortest.min(report.length);
            if goal == Goal::MinReg && ![Algorithm::LIST, Algorithm::WAVES].contains(&algorithm) {
                // (These two and the searches below have limits on registers of their own.)
                let limited = [Algorithm::TWO_PASS, Algorithm::TWO_PASS_PAPER, Algorithm::COLONY];
                let is_limited = limited.contains(&algorithm);
                length_bound = length_bound.max(if is_limited { 0 } else { outcome.bounds.length });
            }
            let cost = first(&outcome);
            if algorithm == Algorithm::SOURCE {
                source = Some(problem.cost(&outcome.measure));
            }
            if outcome.optimal {
                proven.push((cost.clone(), name));
            }
            best = Some(best.map_or(cost.clone(), |best| best.min(cost)));
        }
        let best = best.expect("there are algorithms");
        for (cost, name) in proven {
            assert!(
                cost <= best,
                "{name} says that {cost:?} is optimal for {goal:?}, but {best:?} was found"
            );
        }
        let auto = problem.cost(&schedule_one(&problem, Algorithm::AUTO, budget).measure);
        assert!(Some(auto) <= source, "auto is worse than its input for {goal:?}");
        is_better |= Some(auto) < source;
    }
    for (bound, peak) in peak_bounds.iter().zip(&lowest_peaks) {
        assert!(bound <= peak, "a bound of {bound} is said to hold, but {peak} was found");
    }
    assert!(length_bound <= shortest, "a bound of {length_bound} is said to hold, but {shortest} was found");
    is_better
}

/// A kernel of up to three regions, by the algorithms that see it as a whole.
pub(crate) fn kernel(data: &[u8]) -> bool {
    let mut choices = Choices { data };
    let target = target(&mut choices);
    let nodes = choices.pick(&[200, 0, 20, 3000]);
    let budget = Budget { nodes: Some(nodes), ..Budget::UNLIMITED };
    let registers = choices.chance(60).then(|| 1 + choices.below(12) as u32);
    let max_occupancy = choices.chance(60).then(|| 1 + choices.below(10) as u32);
    let filter = choices.chance(128).then(|| Filter { few_cycles: 3, ..Filter::default() });
    let count = 1 + choices.below(3);
    let regions =
        (0..count).map(|number| region(&mut choices, &format!("fuzz.{number}"), MOST_INSTRS)).collect();
    let kernel = Kernel {
        name: "fuzz".to_string(),
        origin: String::new(),
        target: None,
        is_entry: true,
        max_occupancy,
        regions,
    };
    let mut lengths = BTreeSet::new();
    for goal in GOALS {
        for algorithm in [
            Algorithm::AUTO,
            Algorithm::LIST,
            Algorithm::WAVES,
            Algorithm::TWO_PASS,
            Algorithm::COLONY,
            Algorithm::WEIGHTED,
            Algorithm::FEW_REGISTERS,
        ] {
            let options = Options::default()
                .with_goal(goal)
                .with_algorithm(algorithm)
                .with_budget(budget)
                .with_registers(registers)
                .with_filter(filter);
            let outcome = schedule_all(&kernel, &target, options);
            assert_eq!(outcome.regions.len(), kernel.regions.len());
            let most = max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
            let problems = options.problems(&kernel, &target).expect("the target has all classes");
            let mut peaks = Vec::new();
            for (problem, outcome) in problems.iter().zip(&outcome.regions) {
                let name = format!("{} for {goal:?}, {}", algorithm.name(), problem.region().name());
                peaks.push(assert_true(problem, outcome, &name).peaks);
            }
            let peaks = peaks.iter().map(Vec::as_slice);
            let waves = waves_of_kernel(&target, kernel.regions.iter().zip(peaks)).min(most);
            lengths.insert(outcome.regions.iter().map(|region| region.measure.length).sum::<u32>());
            assert_eq!(outcome.occupancy, waves, "{} for {goal:?}", algorithm.name());
            assert!(outcome.occupancy <= outcome.occupancy_bound, "{} for {goal:?}", algorithm.name());
        }
    }
    lengths.len() > 1
}

/// A random machine with two units and a block for it: list, bound and search, with a limit on registers or
/// without.
pub(crate) fn packing(
    data: &[u8],
    machine: fn(&mut Random) -> Target,
    block: fn(&mut Random, usize) -> Region,
) -> bool {
    let mut choices = Choices { data };
    let seed = u64::from_le_bytes([(); 8].map(|()| choices.byte()));
    let target = machine(&mut Random::new(seed));
    let size = 1 + choices.below(14);
    let seed = u64::from_le_bytes([(); 8].map(|()| choices.byte()));
    let region = block(&mut Random::new(seed), size);
    let budget = Budget { nodes: Some(choices.pick(&[2000, 0, 1, 50])), ..Budget::UNLIMITED };
    let whole = PackProblem::new(&region, &target).expect("the machine has all operations");
    let limit = choices.chance(100).then(|| 1 + choices.below(8) as u32);
    let problem = match limit {
        Some(limit) => whole.clone().with_register_limit(limit),
        None => whole.clone(),
    };
    let judge = |problem: &PackProblem, packing: &Packing, name: &str| {
        let report = lowtide::pack::check::check(&region, &target, packing)
            .unwrap_or_else(|violations| panic!("{name}: {}", violations[0]));
        let claimed = measure(problem, packing);
        assert_eq!((report.length, &report.peaks), (packing.length(), &claimed.peaks), "{name}");
        assert_eq!((report.length, report.levels), (claimed.length, claimed.levels), "{name}");
        assert_eq!(report.splits, packing.splits(), "{name}");
        report
    };
    let mut is_searched = false;
    for (problem, name) in [(&problem, "with splits"), (&problem.without_splits(), "without splits")] {
        let outcome = pack(problem, budget);
        judge(problem, &outcome.list, "list");
        let best = judge(problem, &outcome.best, name);
        assert!(outcome.first_bound <= outcome.bound, "{name}");
        if outcome.fits {
            assert!(outcome.bound <= best.length, "{name}");
            let is_within = problem.limit().is_none_or(|(class, most)| best.peaks[class.index()] <= most);
            assert!(is_within, "{name}");
        }
        if limit.is_none() {
            assert!(best.length <= outcome.list.length(), "{name}");
        }
        is_searched |= outcome.nodes > 0;
    }
    is_searched
}

/// A shader and a model of passes: four algorithms, all legal, none below what is proven.
pub(crate) fn passes(data: &[u8]) -> bool {
    let mut choices = Choices { data };
    let model = pass_model(&mut choices);
    let region = shader(&mut choices, 14);
    let budget = Budget { nodes: Some(choices.pick(&[2000, 0, 1, 50])), ..Budget::UNLIMITED };
    // An operation that no pass can have is refused.
    let Ok(problem) = PassProblem::with_model(&region, &model) else { return false };
    let judge = |partition: &Partition, name: &str| match check_passes(&region, &model, &partition.passes) {
        Ok(report) => assert_eq!(report.cost, partition.cost, "{name}"),
        Err(violations) => panic!("{name}: {} in {partition:?}", violations[0]),
    };
    let mut found = vec![
        (dpmpp::partition(&problem).map(|found| found.partition), "dpmpp"),
        (mio::partition(&problem), "mio"),
        (rds::partition(&problem, budget), "rds"),
    ];
    let has_own_passes = problem.shortage().is_none();
    assert!(!has_own_passes || found.iter().all(|(partition, _)| partition.is_some()));
    match exact::find(&problem, budget) {
        Verdict::Yes(any) => found.push((Some(any), "find")),
        Verdict::No(()) => assert!(found.iter().all(|(partition, _)| partition.is_none())),
        Verdict::Unknown => {}
    }
    let found: Vec<(Partition, &str)> =
        found.into_iter().filter_map(|(partition, name)| Some((partition?, name))).collect();
    for (partition, name) in &found {
        judge(partition, name);
        let proven = exact::partition(&problem, partition, budget);
        judge(&proven.partition, "exact");
        assert!(proven.partition.cost <= partition.cost, "exact is worse than {name}");
        for (other, name) in &found {
            assert!(proven.bound <= other.cost, "the bound {} is above {name}", proven.bound);
        }
    }
    found.first().is_some_and(|(partition, _)| partition.passes.len() > 1)
}

pub(crate) fn pass_model(choices: &mut Choices) -> PassModel {
    let mut limit = |least: usize, spread: usize| {
        let limit = (least + choices.below(spread)) as u32;
        (!choices.chance(64)).then_some(limit)
    };
    let limits = Limits {
        registers: limit(3, 4),
        instructions: limit(4, 8),
        textures: limit(3, 4),
        pending: limit(1, 3),
        interpolants: limit(2, 3),
        outputs: limit(1, 3),
    };
    let mut cost = |most: usize| choices.below(most + 1) as u32;
    let cost = Costs {
        pass: cost(20),
        load: cost(4),
        store: cost(4),
        interpolant: cost(2),
        wait: cost(8),
        operation: 1 + cost(1),
        operations: BTreeMap::from([("rsq".to_string(), cost(5))]),
    };
    PassModel {
        class: "reg".to_string(),
        interpolants: vec!["interpolant".to_string()],
        textures: vec!["tex".to_string()],
        width: 4,
        limits,
        cost,
    }
}

/// Single-assignment code with texture requests, interpolants, stores in order, and outputs.
pub(crate) fn shader(choices: &mut Choices, most_instrs: usize) -> Region {
    let mut builder = RegionBuilder::new("fuzz");
    let class = builder.class("reg");
    let interpolant = builder.class("interpolant");
    let mut values: Vec<(RegisterId, u64)> = Vec::new();
    for number in 0..choices.below(4) {
        let register = builder.register(&format!("v{number}"), interpolant, 4, 1);
        builder.live_in(register, 15);
        values.push((register, 15));
    }
    let mut last_store = None;
    for number in 0..1 + choices.below(most_instrs) {
        let opcode = choices.pick(&["add", "mad", "tex", "rsq", "st"]);
        let flags = if opcode == "st" { "s" } else { "r" };
        let instr = builder.instr(InstrSpec { flags, ..InstrSpec::new(opcode, 4) });
        for _ in 0..choices.below(4) {
            if let Some(back) = choices.below(6).checked_sub(1)
                && back < values.len()
            {
                let (register, mask) = values[values.len() - 1 - back];
                builder.uses(instr, register, mask);
            }
        }
        if opcode == "st" {
            if let Some(last) = last_store.replace(instr) {
                builder.depend(last, instr, DepKind::Memory, 1);
            }
            continue;
        }
        let lanes = choices.pick(&[4, 1, 3, 6]);
        let register = builder.register(&format!("r{number}"), class, lanes, 1);
        let mask = (1 << lanes) - 1;
        builder.defs(instr, register, mask);
        values.push((register, mask));
        if choices.chance(60) {
            builder.live_out(register, mask);
        }
    }
    builder.depend_on_registers();
    builder.build().expect("made shaders are valid")
}
