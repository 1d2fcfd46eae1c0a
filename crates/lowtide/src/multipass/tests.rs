//! All algorithms against brute force, which is shared with the tests outside of the library.

#[path = "../../tests/pass_cases/mod.rs"]
mod pass_cases;

use std::collections::BTreeMap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::check::check_passes;
use super::generate::{Look, shader};
use super::{Costs, Limits, Partition, Pass, PassError, PassModel, PassProblem, dpmpp, exact, mio, rds};
use crate::budget::Budget;
use crate::index::{InstrId, RegisterId};
use crate::random::Random;
use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};
use crate::target::Target;
use pass_cases::{brute_force, pass_cost};

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

/// All algorithms on one shader: their costs, and what is proven.
fn all(region: &Region, model: &PassModel, budget: Budget) -> Option<([u64; 4], exact::Proven)> {
    let problem = PassProblem::with_model(region, model).ok()?;
    let dp = dpmpp::partition(&problem);
    assert_eq!(dp.widths.len(), region.len());
    let found = [dp.partition, mio::partition(&problem), rds::partition(&problem, Budget::UNLIMITED)];
    let names = ["dpmpp", "mio", "rds"];
    let costs: Vec<u64> =
        names.iter().zip(&found).map(|(name, partition)| checked(region, model, name, partition)).collect();
    let start = found.iter().min_by_key(|partition| partition.cost)?;
    let proven = exact::partition(&problem, start, budget);
    let cost = checked(region, model, "exact", &proven.partition);
    assert!(proven.bound <= cost && cost <= start.cost);
    Some(([costs[0], costs[1], costs[2], cost], proven))
}

/// What the cases have in them: a test of single passes alone would prove little.
#[derive(Default, Debug)]
struct Seen {
    solved: u64,
    several_passes: u64,
    again: u64,
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

fn against_brute_force(seeds: std::ops::Range<u64>, most: usize) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds.clone() {
        let mut random = Random::new(seed);
        let region = small(&mut random, most);
        let model = model(&mut random);
        let Some((costs, proven)) = all(&region, &model, Budget::UNLIMITED) else { continue };
        let least = brute_force(&region, &model).expect("passes are possible");
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

/// Shaders of every kind that the model knows: several results, wide values, inputs in storage, results that nothing reads, and
/// operations with effects or an order in memory that have results.
fn wild(random: &mut Random, most: usize) -> Region {
    let mut builder = RegionBuilder::new("wild");
    let [reg, interpolant, uniform] = ["reg", "interpolant", "uniform"].map(|name| builder.class(name));
    let mut readable: Vec<(RegisterId, u64)> = Vec::new();
    for (class, most) in [(reg, 3), (interpolant, 4), (uniform, 2)] {
        for number in 0..random.below(most) {
            let lanes = random.pick(&[1, 4, 4, 8]);
            let register = builder.register(&format!("in{number}"), class, lanes, 1);
            builder.live_in(register, (1 << lanes) - 1);
            readable.push((register, (1 << lanes) - 1));
        }
    }
    let size = 1 + random.below(most);
    let requests = random.pick(&[0, 30, 60]);
    let effects = random.pick(&[0, 0, 20, 50]);
    let mut results = 0;
    let mut instrs = Vec::new();
    for _ in 0..size {
        let opcode = if random.chance(requests) { "tex" } else { random.pick(&["add", "add", "rsq"]) };
        let flags = if random.chance(effects) { random.pick(&["s", "x", "c"]) } else { "r" };
        let instr = builder.instr(InstrSpec { flags, ..InstrSpec::new(opcode, 4) });
        let mut read = Vec::new();
        for _ in 0..random.below(4).min(readable.len()) {
            // Recent ones more often than others, so that there are chains.
            let back = random.below(readable.len()).min(random.below(readable.len()));
            let (register, lanes) = readable[readable.len() - 1 - back];
            if !read.contains(&register) {
                read.push(register);
                builder.uses(instr, register, lanes);
            }
        }
        for _ in 0..random.pick(&[0, 1, 1, 1, 1, 2, 3]).min(8 - results) {
            let lanes = random.pick(&[1, 4, 4, 4, 8]);
            let register = builder.register(&format!("r{results}"), reg, lanes, 1);
            builder.defs(instr, register, (1 << lanes) - 1);
            readable.push((register, (1 << lanes) - 1));
            if random.chance(25) {
                builder.live_out(register, (1 << lanes) - 1);
            }
            results += 1;
        }
        if random.chance(effects / 2) && !instrs.is_empty() {
            let kind = random.pick(&[DepKind::Memory, DepKind::Barrier, DepKind::Data]);
            builder.depend(random.pick(&instrs), instr, kind, 1);
        }
        instrs.push(instr);
    }
    builder.depend_on_registers();
    builder.build().expect("a region")
}

/// A model with limits that are just enough for a single operation, or a little more.
fn tight(random: &mut Random) -> PassModel {
    let mut limit = |least: u32, spread: usize| {
        let limit = least + random.below(spread) as u32;
        (!random.chance(30)).then_some(limit)
    };
    let limits = Limits {
        registers: limit(1, 6),
        instructions: limit(2, 6),
        textures: limit(1, 6),
        pending: limit(1, 3),
        interpolants: limit(1, 3),
        outputs: limit(1, 4),
    };
    let scale = random.pick(&[1, 1, 5]);
    let mut cost = |most: usize| random.below(most + 1) as u32 * scale;
    let cost = Costs {
        pass: cost(6),
        load: cost(3),
        store: cost(3),
        interpolant: cost(2),
        wait: cost(4),
        operation: cost(2),
        operations: BTreeMap::from([("rsq".to_string(), cost(5))]),
    };
    PassModel { limits, cost, ..model(&mut Random::new(0)) }
}

/// The least cost by all sets of operations as passes, all their orders and all sets of stored results; none if there is no way.
/// A state is what is stored and which operations with effects have run.
fn by_all_states(region: &Region, model: &PassModel) -> Option<u64> {
    let class = |register: RegisterId| {
        region.classes()[region.registers()[register.index()].class.index()].to_string()
    };
    let n = region.len();
    let size = |register: usize| region.registers()[register].lanes.div_ceil(model.width);
    let sum = |set: u32| (0..32).filter(|bit| set >> bit & 1 == 1).map(size).sum::<u32>();
    let bits = |registers: &mut dyn Iterator<Item = RegisterId>| {
        registers.fold(0u32, |set, register| set | 1 << register.index())
    };
    let defs: Vec<u32> = (region.instrs())
        .map(|instr| bits(&mut region.defs(instr).iter().map(|def| def.operand.register)))
        .collect();
    let all_defs = defs.iter().fold(0, |all, defs| all | defs);
    let uses: Vec<u32> = (region.instrs())
        .map(|instr| bits(&mut region.uses(instr).iter().map(|operand| operand.register)))
        .collect();
    let of_class = |name: &str| {
        bits(&mut (0..region.registers().len()).map(RegisterId::at).filter(|id| class(*id) == name))
    };
    let (values, interpolants) = (of_class("reg") | all_defs, of_class("interpolant") & !all_defs);
    let live_out = bits(&mut region.live_out().iter().map(|operand| operand.register)) & all_defs;
    let used = uses.iter().fold(live_out, |all, uses| all | uses);
    let is_request: Vec<bool> = region.instrs().map(|instr| region.opcode(instr) == "tex").collect();
    let mut pinned = 0u32;
    for instr in region.instrs() {
        let has_effects = region.flags(instr).contains(['s', 'x', 'c']) || defs[instr.index()] & used == 0;
        pinned |= u32::from(has_effects) << instr.index();
    }
    let mut orders = Vec::new();
    for dep in region.deps() {
        let (from, to) = (dep.from.index(), dep.to.index());
        if dep.kind != DepKind::Data || defs[from] & uses[to] == 0 {
            pinned |= 1 << from | 1 << to;
            orders.push((from, to));
        }
    }
    let within = |amount: u32, limit: Option<u32>| limit.is_none_or(|limit| amount <= limit);
    let limits = &model.limits;
    // By pass: operations, what it loads and stores, and what it costs.
    let mut passes: Vec<(u32, u32, u32, u64)> = Vec::new();
    for set in 1u32..1 << n {
        let ops: Vec<usize> = (0..n).filter(|op| set >> op & 1 == 1).collect();
        let made = ops.iter().fold(0, |made, op| made | defs[*op]);
        let read = ops.iter().fold(0, |read, op| read | uses[*op]);
        let loads = read & values & !made;
        let requests = ops.iter().filter(|op| is_request[**op]).count() as u32;
        if !within(ops.len() as u32 + sum(loads), limits.instructions)
            || !within(requests + sum(loads), limits.textures)
            || !within((read & interpolants).count_ones(), limits.interpolants)
        {
            continue;
        }
        // Waits, and the results that are pending at the end, of every order that fits into the registers.
        let mut ends: Vec<(u32, u32)> = Vec::new();
        // What has run, what is pending, by how many requests, and waits.
        let mut open: Vec<(u32, u32, u32, u32)> = vec![(0, 0, 0, 0)];
        while let Some((done, pending, count, waits)) = open.pop() {
            if done == set {
                if !ends.contains(&(waits, pending)) {
                    ends.push((waits, pending));
                }
                continue;
            }
            for &op in ops.iter().filter(|op| done >> **op & 1 == 0) {
                let rest = set & !done & !(1 << op);
                let is_early = |other: usize| {
                    rest >> other & 1 == 1 && (defs[other] & uses[op] != 0 || orders.contains(&(other, op)))
                };
                if (0..n).any(is_early) {
                    continue;
                }
                let collect = |of: &[u32], set: u32| {
                    (0..n).filter(|op| set >> op & 1 == 1).fold(0, |all, op| all | of[op])
                };
                let held = |past: u32, future: u32| {
                    let there = collect(&defs, past) | collect(&uses, past) & loads;
                    there & collect(&uses, future) & values
                };
                let before = held(done, rest | 1 << op) | uses[op] & values;
                let after = held(done | 1 << op, rest);
                if !within(sum(before).max(sum(after)), limits.registers) {
                    continue;
                }
                let is_full = is_request[op] && !within(count + 1, limits.pending);
                let waits_here = uses[op] & pending != 0 || is_full;
                let (mut pending, mut count) = if waits_here { (0, 0) } else { (pending, count) };
                if is_request[op] {
                    pending |= defs[op];
                    count += 1;
                }
                open.push((done | 1 << op, pending, count, waits + u32::from(waits_here)));
            }
        }
        let cost = &model.cost;
        let own = |op: &usize| {
            let opcode = region.opcode(InstrId::at(*op));
            u64::from(*cost.operations.get(opcode).unwrap_or(&cost.operation))
        };
        let without = u64::from(cost.pass)
            + u64::from(cost.load * sum(loads))
            + u64::from(cost.interpolant * (read & interpolants).count_ones())
            + ops.iter().map(own).sum::<u64>();
        let worth = made & used;
        let mut stores = worth;
        loop {
            let waits = ends.iter().map(|(waits, pending)| waits + u32::from(pending & stores != 0)).min();
            if let Some(waits) = waits.filter(|_| within(sum(stores), limits.outputs)) {
                let stored = u64::from(cost.store * sum(stores));
                passes.push((set, loads & all_defs, stores, without + stored + u64::from(cost.wait * waits)));
            }
            if stores == 0 {
                break;
            }
            stores = (stores - 1) & worth;
        }
    }
    let mut best: FxHashMap<(u32, u32), u64> = FxHashMap::from_iter([((0, 0), 0)]);
    let mut open = std::collections::BinaryHeap::from([std::cmp::Reverse((0u64, 0u32, 0u32))]);
    while let Some(std::cmp::Reverse((cost, stored, done))) = open.pop() {
        if stored & live_out == live_out && done == pinned {
            return Some(cost);
        }
        if best[&(stored, done)] < cost {
            continue;
        }
        for (set, loads, stores, own) in &passes {
            let new = set & pinned;
            if loads & !stored != 0 || new & done != 0 || stores & !stored == 0 && new == 0 {
                continue;
            }
            let is_wrong = |(from, to): &(usize, usize)| new >> to & 1 == 1 && (done | new) >> from & 1 == 0;
            if orders.iter().any(is_wrong) {
                continue;
            }
            let state = (stored | stores, done | new);
            let total = cost + own;
            if best.get(&state).is_none_or(|known| total < *known) {
                best.insert(state, total);
                open.push(std::cmp::Reverse((total, state.0, state.1)));
            }
        }
    }
    None
}

fn against_all_states(seeds: std::ops::Range<u64>, most: usize) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let region = wild(&mut random, most);
        let model = tight(&mut random);
        let Some((costs, proven)) = all(&region, &model, Budget::UNLIMITED) else { continue };
        let least = by_all_states(&region, &model).expect("every problem has a solution");
        assert_eq!((costs[3], proven.is_optimal()), (least, true), "seed {seed}: {costs:?}");
        seen.count(&region, &proven, costs, least);
    }
    seen
}

#[test]
fn exact_agrees_with_all_states_on_wild_shaders() {
    let seen = against_all_states(0..10_000, 7);
    assert!(seen.solved > 3000 && seen.several_passes > 1000 && seen.again > 100, "{seen:?}");
}

/// For long runs: `cargo test --release -p lowtide --lib passes -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn exact_agrees_with_all_states_on_many_more() {
    let seen = against_all_states(1_000_000..1_400_000, 7);
    assert!(seen.several_passes > 2000, "{seen:?}");
}

#[test]
fn all_algorithms_are_legal_on_larger_shaders() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let look = Look {
            effects: random.pick(&[0, 0, 4]),
            outputs: 1 + random.below(4),
            ..Look::real(10 + random.below(70))
        };
        let region = shader(look, random.bits());
        let targets = ["ps14", "ps20", "one-pass"];
        let target = Target::builtin(random.pick(&targets)).expect("a target");
        let model = &model_of(&target);
        let budget = Budget { nodes: Some(3000), ..Budget::UNLIMITED };
        let Some((costs, proven)) = all(&region, model, budget) else { continue };
        assert!(costs.iter().all(|cost| *cost >= proven.bound), "seed {seed}");
    }
}

#[test]
fn the_same_budget_gives_the_same_result() {
    let region = shader(Look::real(60), 3);
    let target = Target::builtin("ps14").expect("a target");
    let problem = PassProblem::new(&region, &target).expect("a problem");
    let start = mio::partition(&problem);
    let budget = Budget { nodes: Some(20_000), ..Budget::UNLIMITED };
    let [first, second] = [0, 1].map(|_| exact::partition(&problem, &start, budget));
    assert_eq!(first, second);
    assert!(first.partition.cost <= start.cost);
}

/// The search goes as deep as the shader is long.
#[test]
fn the_longest_shaders_do_not_end_the_stack() {
    let region = shader(Look::real(exact::MOST_OPERATIONS), 2);
    for name in ["one-pass", "ps14"] {
        let target = Target::builtin(name).expect("a target");
        let problem = PassProblem::new(&region, &target).expect("a problem");
        let budget = Budget { nodes: Some(6000), ..Budget::UNLIMITED };
        let proven = exact::partition(&problem, &dpmpp::partition(&problem).partition, budget);
        checked(&region, &model_of(&target), name, &proven.partition);
    }
}

/// Whatever is first: both operands are read again, and the result is, which takes three registers if it is not alone in its pass.
#[test]
fn an_operation_alone_in_its_pass_needs_no_room_for_later_ones() {
    let mut builder = RegionBuilder::new("again");
    let reg = builder.class("reg");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| builder.register(name, reg, 1, 1));
    [a, b].iter().for_each(|input| builder.live_in(*input, 1));
    for (x, y, result) in [(a, b, c), (a, b, d)] {
        let add = builder.instr(InstrSpec::new("add", 4));
        [x, y].iter().for_each(|operand| builder.uses(add, *operand, 1));
        builder.defs(add, result, 1);
        builder.live_out(result, 1);
    }
    for result in [c, d] {
        let last = builder.instr(InstrSpec { flags: "s", ..InstrSpec::new("st", 4) });
        builder.uses(last, result, 1);
    }
    builder.depend_on_registers();
    let region = builder.build().expect("a region");
    let limits = Limits { registers: Some(2), ..Limits::default() };
    let model = PassModel { limits, ..model(&mut Random::new(1)) };
    let problem = PassProblem::with_model(&region, &model).expect("a problem");
    checked(&region, &model, "mio", &mio::partition(&problem));
}

/// Registers may have more lanes than anything writes: 64 lanes of the largest weight are more than 32 bits.
#[test]
fn registers_of_any_width_are_no_panic() {
    for (weights, is_possible) in
        [([1 << 29, 1 << 20], true), ([(1 << 31) - 3, 1], false), ([1 << 29, 1 << 29], false)]
    {
        let mut builder = RegionBuilder::new("wide");
        let reg = builder.class("reg");
        let registers =
            weights.map(|weight| builder.register("wide", reg, if is_possible { 2 } else { 64 }, weight));
        let wide = builder.instr(InstrSpec::new("wide", 4));
        registers.iter().for_each(|register| builder.defs(wide, *register, 1));
        for _ in 0..2 {
            let user = builder.instr(InstrSpec::new("use", 4));
            registers.iter().for_each(|register| builder.uses(user, *register, 1));
        }
        builder.depend_on_registers();
        let region = builder.build().expect("a region");
        for limits in [Limits::default(), Limits { instructions: Some(u32::MAX), ..Limits::default() }] {
            let most = 1 << 20;
            let cost = Costs { pass: most, load: most, store: most, ..model(&mut Random::new(1)).cost };
            let model = PassModel { limits, width: 1, cost, ..model(&mut Random::new(1)) };
            match PassProblem::with_model(&region, &model) {
                Ok(_) => assert!(is_possible && all(&region, &model, Budget::UNLIMITED).is_some()),
                Err(error) => assert!(!is_possible, "{error}"),
            }
            // The checker does not depend on what the problem accepts.
            let ops = region.instrs().collect();
            let whole = Pass { ops, loads: Vec::new(), stores: Vec::new() };
            assert!(check_passes(&region, &model, &[whole]).is_ok());
        }
    }
}

/// Outputs that have nothing to do with each other. List scheduling waits twice for the first one, so that there is something to find.
fn many_outputs(count: usize) -> Region {
    let mut builder = RegionBuilder::new("outputs");
    let [reg, interpolant, uniform] = ["reg", "interpolant", "uniform"].map(|name| builder.class(name));
    let uv = builder.register("uv", interpolant, 4, 1);
    let color = builder.register("color", uniform, 4, 1);
    [uv, color].iter().for_each(|input| builder.live_in(*input, 15));
    let mut add = |opcode: &str, operands: &[RegisterId], is_output: bool| {
        let result = builder.register(opcode, reg, 4, 1);
        let instr = builder.instr(InstrSpec::new(opcode, 4));
        operands.iter().for_each(|operand| builder.uses(instr, *operand, 15));
        builder.defs(instr, result, 15);
        if is_output {
            builder.live_out(result, 15);
        }
        result
    };
    let [first, second] = [0, 1].map(|_| {
        let texel = add("tex", &[uv], false);
        add("mul", &[texel], false)
    });
    add("add", &[first, second], true);
    for _ in 1..count {
        add("mov", &[color], true);
    }
    builder.depend_on_registers();
    builder.build().expect("a region")
}

/// All outputs but one are equal: every order of them is a way of its own.
#[test]
fn many_equal_outputs_do_not_take_for_ever() {
    let region = many_outputs(1000);
    for name in ["one-pass", "ps14"] {
        let target = Target::builtin(name).expect("a target");
        let problem = PassProblem::new(&region, &target).expect("a problem");
        let found = dpmpp::partition(&problem);
        checked(&region, &model_of(&target), name, &found.partition);
        assert!(found.is_cut && found.widths.contains(&1));
    }
}

/// Cuts look at every subtree: those of a long shader without limits are large. Without time none is tried both ways, as without steps.
#[test]
fn cuts_without_time_try_nothing_on_long_shaders() {
    let region = shader(Look::real(12_000), 1);
    let target = Target::builtin("one-pass").expect("a target");
    let problem = PassProblem::new(&region, &target).expect("a problem");
    let no_time = Budget { time_per_instr: Some(Duration::ZERO), ..Budget::UNLIMITED };
    let no_steps = Budget { nodes: Some(0), ..Budget::UNLIMITED };
    let found = rds::partition(&problem, no_time);
    checked(&region, &model_of(&target), "rds", &found);
    assert_eq!(found, rds::partition(&problem, no_steps));
}

/// The search goes as deep as the shader is long, for every pass: what is left to earlier passes is decided again in each.
#[test]
fn many_passes_of_many_outputs_do_not_end_the_stack() {
    let region = many_outputs(200);
    let target = Target::builtin("ps14").expect("a target");
    let problem = PassProblem::new(&region, &target).expect("a problem");
    let start = mio::partition(&problem);
    let budget = Budget { nodes: Some(200_000), ..Budget::UNLIMITED };
    let proven = exact::partition(&problem, &start, budget);
    checked(&region, &model_of(&target), "exact", &proven.partition);
    assert!(proven.partition.cost < start.cost);
}

/// (A + B) * (C + D) of the paper, with a texture for each of A to D: four requests, one wait, three operations.
#[test]
fn an_example_by_hand() {
    let mut builder = RegionBuilder::new("paper");
    let [reg, interpolant] = ["reg", "interpolant"].map(|name| builder.class(name));
    let uv = builder.register("uv", interpolant, 2, 1);
    builder.live_in(uv, 3);
    let registers = ["a", "b", "c", "d", "ab", "cd", "abcd"].map(|name| builder.register(name, reg, 4, 1));
    for register in &registers[..4] {
        let tex = builder.instr(InstrSpec::new("tex", 40));
        builder.uses(tex, uv, 3);
        builder.defs(tex, *register, 15);
    }
    for (opcode, [x, y, z]) in [("add", [0, 1, 4]), ("add", [2, 3, 5]), ("mul", [4, 5, 6])] {
        let instr = builder.instr(InstrSpec::new(opcode, 4));
        [x, y].iter().for_each(|operand| builder.uses(instr, registers[*operand], 15));
        builder.defs(instr, registers[z], 15);
    }
    builder.live_out(registers[6], 15);
    builder.depend_on_registers();
    let region = builder.build().expect("a region");
    let costs = |registers, instructions| {
        let limits =
            Limits { registers: Some(registers), instructions: Some(instructions), ..Limits::default() };
        let cost = Costs {
            pass: 100,
            load: 10,
            store: 10,
            interpolant: 1,
            wait: 20,
            operation: 1,
            operations: BTreeMap::new(),
        };
        let model = PassModel {
            class: "reg".to_string(),
            interpolants: vec!["interpolant".to_string()],
            textures: vec!["tex".to_string()],
            width: 4,
            limits,
            cost,
        };
        all(&region, &model, Budget::UNLIMITED).expect("a solution").0[3]
    };
    // A pass, a store, an interpolant, seven operations; and one wait with four registers, or two with three.
    assert_eq!(costs(4, 7), 100 + 10 + 1 + 7 + 20);
    assert_eq!(costs(3, 7), 100 + 10 + 1 + 7 + 40);
    // With six instructions, both sums are handed on to a pass that multiplies: two stores and two loads are cheaper than another
    // wait with an interpolant.
    assert_eq!(costs(4, 6), 100 + 10 + 1 + 7 + 20 + (100 + 20 + 20));
}

/// With more results of one operation than can be tried in every way, nothing is said to be proven by a search.
#[test]
fn operations_with_many_results_are_not_searched() {
    for (results, is_searched) in [(8, true), (16, true), (17, false), (20, false)] {
        let mut builder = RegionBuilder::new("wide");
        let reg = builder.class("reg");
        let input = builder.register("input", reg, 1, 1);
        let wide = builder.instr(InstrSpec::new("wide", 4));
        builder.live_in(input, 1);
        builder.uses(wide, input, 1);
        let parts: Vec<_> =
            (0..results).map(|number| builder.register(&format!("part{number}"), reg, 1, 1)).collect();
        parts.iter().for_each(|&part| builder.defs(wide, part, 1));
        for pair in parts.windows(2) {
            let sum = builder.register("sum", reg, 1, 1);
            let add = builder.instr(InstrSpec::new("add", 4));
            pair.iter().for_each(|&part| builder.uses(add, part, 1));
            builder.defs(add, sum, 1);
            builder.live_out(sum, 1);
        }
        builder.depend_on_registers();
        let region = builder.build().expect("a region");
        let limits = Limits { instructions: Some(4), ..Limits::default() };
        let model = PassModel { limits, ..model(&mut Random::new(1)) };
        let budget = Budget { nodes: Some(20_000), ..Budget::UNLIMITED };
        let (_, proven) = all(&region, &model, budget).expect("a solution");
        assert_eq!(proven.nodes > 0, is_searched, "{results} results");
    }
}

#[test]
fn the_checker_refuses_what_is_wrong() {
    let region = shader(Look::real(60), 5);
    let mut model = model_of(&Target::builtin("ps14").expect("a built-in target"));
    // Short enough for all sets of waits.
    model.limits.instructions = Some(8);
    let problem = PassProblem::with_model(&region, &model).expect("a problem");
    let good = rds::partition(&problem, Budget::UNLIMITED).passes;
    assert!(good.len() > 2);
    let mut random = Random::new(1);
    let mut refused = 0;
    for _ in 0..400 {
        let mut bad = good.clone();
        let place = random.below(bad.len());
        let pass = &mut bad[place];
        match random.below(8) {
            0 => drop(bad.remove(place)),
            1 => drop(pass.ops.remove(random.below(pass.ops.len()))),
            2 => pass.stores.clear(),
            3 if !pass.loads.is_empty() => drop(pass.loads.remove(0)),
            4 if pass.ops.len() > 1 => pass.ops.reverse(),
            5 => pass.ops.push(pass.ops[0]),
            6 if place > 0 => bad.swap(0, place),
            _ => pass.stores.push(RegisterId(random.below(region.registers().len() + 2) as u32)),
        }
        if bad == good {
            continue;
        }
        // What the checker lets pass must be legal by the other rules of this file, pass for pass.
        match check_passes(&region, &model, &bad) {
            Err(_) => refused += 1,
            Ok(report) => {
                let costs: Option<Vec<u64>> =
                    bad.iter().map(|pass| pass_cost(&region, &model, pass)).collect();
                assert_eq!(costs.map(|costs| costs.iter().sum::<u64>()), Some(report.cost));
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

#[test]
fn what_fits_nowhere_is_an_error() {
    let region = shader(Look::real(30), 1);
    let mut model = model_of(&Target::builtin("ps14").expect("a built-in target"));
    model.limits.registers = Some(1);
    let error = PassProblem::with_model(&region, &model).expect_err("too few registers");
    assert!(matches!(error, PassError::TooSmall { what: "registers", .. }), "{error}");
    let target = Target::builtin("gfx906").expect("a target");
    assert!(PassProblem::new(&region, &target).is_err());
}
