//! The cheapest passes of a small shader by trying everything: every sequence of operations is a pass, every
//! set of stored values a state. For tests here and in the library.

#![allow(dead_code)] // not every test uses all of it

use std::collections::{BTreeMap, BTreeSet};

use lowtide::multipass::{Pass, PassModel};
use lowtide::region::{DepKind, Region};
use lowtide::{InstrId, RegisterId};

/// The most operations that are tried in all sequences.
pub(crate) const MOST: usize = 7;

/// A set of registers as bits.
fn bits<'r>(registers: impl IntoIterator<Item = &'r RegisterId>) -> u64 {
    registers.into_iter().fold(0, |set, register| set | 1 << register.index())
}

fn class_of(region: &Region, register: RegisterId) -> &str {
    &region.classes()[region.registers()[register.index()].class.index()]
}

/// The least cost; none if no passes are possible.
pub(crate) fn brute_force(region: &Region, model: &PassModel) -> Option<u64> {
    let n = region.len();
    assert!(n <= MOST && region.registers().len() <= 64);
    let mut sequences: Vec<Vec<u32>> = vec![Vec::new()];
    let mut next = 0;
    while next < sequences.len() {
        for op in 0..n as u32 {
            if !sequences[next].contains(&op) {
                let mut longer = sequences[next].clone();
                longer.push(op);
                sequences.push(longer);
            }
        }
        next += 1;
    }
    // Values that passes hand on, those from outside included.
    let is_value = |register: RegisterId| class_of(region, register) == model.class;
    // The cheapest pass for each set of operations, loads and stores.
    let mut passes: BTreeMap<(u32, u64, u64), u64> = BTreeMap::new();
    for ops in &sequences[1..] {
        let ops: Vec<InstrId> = ops.iter().map(|op| InstrId(*op)).collect();
        let run = ops.iter().fold(0u32, |set, op| set | 1 << op.0);
        let defs: Vec<RegisterId> =
            ops.iter().flat_map(|op| region.defs(*op)).map(|def| def.operand.register).collect();
        let (mut loads, mut known) = (Vec::new(), Vec::new());
        let mut is_legal = true;
        for op in &ops {
            for operand in region.uses(*op) {
                let register = operand.register;
                if is_value(register) && !known.contains(&register) {
                    is_legal &= !defs.contains(&register);
                    known.push(register);
                    loads.push(register);
                }
            }
            known.extend(region.defs(*op).iter().map(|def| def.operand.register));
        }
        // Operations with effects in the order of memory.
        let place = |instr: InstrId| ops.iter().position(|op| *op == instr);
        for dep in region.deps() {
            if let (Some(from), Some(to)) = (place(dep.from), place(dep.to)) {
                is_legal &= from < to;
            }
        }
        if !is_legal {
            continue;
        }
        for subset in 0u32..1 << defs.len() {
            let chosen = defs.iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
            let stores: Vec<RegisterId> = chosen.map(|(_, register)| *register).collect();
            let pass = Pass { ops: ops.clone(), loads: loads.clone(), stores };
            if let Some(cost) = pass_cost(region, model, &pass) {
                let least = passes.entry((run, bits(&pass.loads), bits(&pass.stores))).or_insert(u64::MAX);
                *least = (*least).min(cost);
            }
        }
    }
    let made = bits(region.instrs().flat_map(|instr| region.defs(instr)).map(|def| &def.operand.register));
    let outputs = made & bits(region.live_out().iter().map(|operand| &operand.register));
    let reads = |register| {
        region.instrs().any(|instr| region.uses(instr).iter().any(|operand| operand.register == register))
    };
    let is_effect = |instr: &InstrId| {
        let useless = region.defs(*instr).iter().all(|def| {
            !reads(def.operand.register)
                && !region.live_out().iter().any(|out| out.register == def.operand.register)
        });
        region.flags(*instr).contains('s') || useless
    };
    let effects = region.instrs().filter(is_effect).fold(0u32, |set, instr| set | 1 << instr.0);
    // Dijkstra over (stored, effects done). What comes from outside is stored from the start.
    let given = bits(
        region.live_in().iter().map(|operand| &operand.register).filter(|register| is_value(**register)),
    );
    let mut best: BTreeMap<(u64, u32), u64> = BTreeMap::from([((given, 0), 0)]);
    let mut open = BTreeSet::from([(0u64, given, 0u32)]);
    while let Some((cost, stored, done)) = open.pop_first() {
        if stored & outputs == outputs && done == effects {
            return Some(cost);
        }
        for ((run, loads, stores), own) in &passes {
            let new = run & effects;
            let is_in_order = region.deps().iter().all(|dep| {
                let is_new = |instr: InstrId| new >> instr.0 & 1 == 1;
                let is_done = |instr: InstrId| (done | new) >> instr.0 & 1 == 1;
                dep.kind == DepKind::Data || !is_new(dep.to) || is_done(dep.from)
            });
            if loads & !stored != 0 || new & done != 0 || !is_in_order {
                continue;
            }
            let state = (stored | stores, done | new);
            let total = cost + own;
            if best.get(&state).is_none_or(|known| total < *known) {
                best.insert(state, total);
                open.insert((total, state.0, state.1));
            }
        }
    }
    None
}

/// The cost of one pass, if it keeps to the limits; written down from the rules, apart from all other code.
pub(crate) fn pass_cost(region: &Region, model: &PassModel, pass: &Pass) -> Option<u64> {
    let size = |register: &RegisterId| region.registers()[register.index()].lanes.div_ceil(model.width);
    let sum = |registers: &[RegisterId]| registers.iter().map(size).sum::<u32>();
    let within = |used: u32, limit: Option<u32>| limit.is_none_or(|limit| used <= limit);
    let is_request = |op: &InstrId| model.textures.iter().any(|name| name == region.opcode(*op));
    let reads = |op: &InstrId, register: &RegisterId| {
        region.uses(*op).iter().any(|operand| operand.register == *register)
    };
    let requests = pass.ops.iter().filter(|op| is_request(op)).count() as u32;
    let interpolants: BTreeSet<RegisterId> = (pass.ops.iter())
        .flat_map(|op| region.uses(*op))
        .map(|operand| operand.register)
        .filter(|register| model.interpolants.iter().any(|name| name == class_of(region, *register)))
        .collect();
    let limits = &model.limits;
    let loaded = sum(&pass.loads);
    let is_within = within(pass.ops.len() as u32 + loaded, limits.instructions)
        && within(requests + loaded, limits.textures)
        && within(interpolants.len() as u32, limits.interpolants)
        && within(sum(&pass.stores), limits.outputs);
    // Live in a gap before or after position p: written or loaded at or before, read at or after.
    let mut values: Vec<(RegisterId, Option<usize>)> =
        pass.loads.iter().map(|register| (*register, None)).collect();
    for (position, op) in pass.ops.iter().enumerate() {
        values.extend(region.defs(*op).iter().map(|def| (def.operand.register, Some(position))));
    }
    for position in 0..pass.ops.len() {
        let (mut before, mut after) = (0, 0);
        for (register, written) in &values {
            let mut uses = (0..pass.ops.len()).filter(|place| reads(&pass.ops[*place], register));
            let (Some(first), Some(last)) = (uses.clone().next(), uses.next_back()) else { continue };
            let start = written.map_or(first, |written| written + 1);
            let is_live_after =
                written.map_or(first <= position, |written| written <= position) && last > position;
            before += if start <= position && position <= last { size(register) } else { 0 };
            after += if is_live_after { size(register) } else { 0 };
        }
        if !within(before.max(after), limits.registers) {
            return None;
        }
    }
    // Fewest waits: all sets of gaps where there is one.
    let gaps = pass.ops.len();
    let waits = (0u32..1 << gaps).filter(|set| {
        // Bit g: a wait after the operation at position g.
        (0..gaps).filter(|place| is_request(&pass.ops[*place])).all(|place| {
            let register = region.defs(pass.ops[place])[0].operand.register;
            let first = (place + 1..gaps).find(|other| reads(&pass.ops[*other], &register));
            let end = match (first, pass.stores.contains(&register)) {
                (Some(first), _) => first,
                (None, true) => gaps,
                (None, false) => return true,
            };
            (place..end).any(|gap| set >> gap & 1 == 1)
        }) && {
            let mut pending = 0;
            (0..gaps).all(|place| {
                pending += u32::from(is_request(&pass.ops[place]));
                let is_within = within(pending, limits.pending);
                if set >> place & 1 == 1 {
                    pending = 0;
                }
                is_within
            })
        }
    });
    let waits = waits.map(u32::count_ones).min()?;
    let cost = &model.cost;
    let op_cost =
        |op: &InstrId| u64::from(*cost.operations.get(region.opcode(*op)).unwrap_or(&cost.operation));
    let total = u64::from(cost.pass)
        + u64::from(cost.load * loaded)
        + u64::from(cost.store * sum(&pass.stores))
        + u64::from(cost.interpolant) * interpolants.len() as u64
        + u64::from(cost.wait * waits)
        + pass.ops.iter().map(op_cost).sum::<u64>();
    is_within.then_some(total)
}
