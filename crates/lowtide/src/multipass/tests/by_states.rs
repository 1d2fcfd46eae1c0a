//! Brute force on wild shaders: all states of a pass, for regions that no front end makes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::super::{Costs, Limits, PassModel, PassProblem};
use super::{Seen, all, model};
use crate::budget::Budget;
use crate::index::{InstrId, RegisterId};
use crate::random::Random;
use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};

/// Shaders of every kind that the model knows. They have several results, wide values, inputs in storage and
/// results that nothing reads. Operations with effects, or with an order in memory, have results too.
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

/// The least cost by all sets of operations as passes, all their orders and all sets of stored results; none
/// if there is no way. A state is what is stored and which operations with effects have run.
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
        // Whether a partition exists is decided by the raw input alone.
        let least = by_all_states(&region, &model);
        let Some((costs, proven)) = all(&region, &model, Budget::UNLIMITED) else {
            assert_eq!(least, None, "seed {seed} is refused");
            seen.refused += 1;
            continue;
        };
        let least = least.unwrap_or_else(|| panic!("seed {seed} has no partition"));
        assert_eq!((costs[3], proven.is_optimal()), (least, true), "seed {seed}: {costs:?}");
        let problem = PassProblem::with_model(&region, &model).expect("a problem");
        seen.tight += u64::from(problem.shortage().is_some());
        seen.count(&region, &proven, costs, least);
    }
    seen
}

#[test]
fn exact_agrees_with_all_states_on_wild_shaders() {
    let seen = against_all_states(0..10_000, 7);
    assert!(seen.solved > 3000 && seen.several_passes > 1000 && seen.again > 100, "{seen:?}");
    assert!(seen.tight > 300 && seen.refused > 1000, "{seen:?}");
}

/// For long runs: `cargo test --release -p lowtide --lib passes -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn exact_agrees_with_all_states_on_many_more() {
    let seen = against_all_states(1_000_000..1_400_000, 7);
    assert!(seen.several_passes > 2000, "{seen:?}");
}
