//! The independent checker of packings.
//!
//! The checker shares nothing with the schedulers. It reads the raw part of the region (registers by lane,
//! operands in the order of the front end, dependences by kind) and the target's rules, never the derived
//! problem. A packing is legal if
//! 1. every operation is issued as a whole, or in all parts of one of its splits, in order, with the required
//!    distance between parts;
//! 2. the units of each issue are those of the format, and no unit is taken twice in a cycle;
//! 3. no two operations of a cycle are excluded by a rule of the target;
//! 4. the first part of an operation comes at least the latency after the last part of each one that it
//!    depends on.
//!
//! Registers are counted at each boundary between cycles. A lane is live there from the first part of the
//! operation that writes it to the last part of those that read it, in source order. (All hazards are
//! dependences, so every legal packing has the same reads for each write.)

use std::collections::BTreeMap;

use thiserror::Error;

use super::Packing;
use crate::index::InstrId;
use crate::pack::{OperationRule, PackModel};
use crate::region::{DepKind, Operand, Region};
use crate::target::{Target, TargetError};

/// A violation in a packing.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PackViolation {
    /// The section `[pack]` of the target is not valid.
    #[error("{0}")]
    Target(TargetError),
    /// The target has no section `[pack]`.
    #[error("the target does not say how two operations issue together")]
    NoModel,
    /// An operation that does not exist.
    #[error("cycle {cycle} issues operation #{instr}, which does not exist")]
    UnknownInstr {
        /// The cycle.
        cycle: u32,
        /// The operation.
        instr: u32,
    },
    /// No rule of the target matches the operation.
    #[error("{instr} meets no rule of the target")]
    UnknownOperation {
        /// The operation.
        instr: String,
    },
    /// Not issued once, or not in all its parts.
    #[error("{instr} is not issued once as a whole, or once in all parts of one split")]
    NotOnce {
        /// The operation.
        instr: String,
    },
    /// Parts are too close, or out of order.
    #[error("parts of {instr} are too close, or out of order")]
    PartsTooClose {
        /// The operation.
        instr: String,
    },
    /// Units that the operation does not take.
    #[error("{instr} is on units that none of its formats takes in this way")]
    WrongUnits {
        /// The operation.
        instr: String,
    },
    /// A unit that is taken twice.
    #[error("cycle {cycle} takes unit {unit} more than once")]
    UnitTwice {
        /// The cycle.
        cycle: u32,
        /// The unit.
        unit: String,
    },
    /// Operations that cannot share a cycle.
    #[error("{first} and {second} cannot share cycle {cycle}: {rule}")]
    Conflict {
        /// The cycle.
        cycle: u32,
        /// One operation.
        first: String,
        /// The other one.
        second: String,
        /// Why.
        rule: &'static str,
    },
    /// Too early.
    #[error("{to} issues in cycle {cycle}, but must wait for {from} until {needed}")]
    TooEarly {
        /// The operation that it waits for.
        from: String,
        /// The operation that issues too early.
        to: String,
        /// Its cycle.
        cycle: u32,
        /// The first legal cycle.
        needed: u32,
    },
}

/// The figures of a legal packing, computed from scratch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackReport {
    /// Cycle of the last issue, plus one.
    pub length: u32,
    /// For each class, the most registers between two cycles.
    pub peaks: Vec<u32>,
    /// Groups of loads.
    pub levels: u32,
    /// Operations that are split.
    pub splits: usize,
}

/// The rule of an operation, and the cycles of its parts.
struct Found<'a> {
    rule: &'a OperationRule,
    format: usize,
    cycles: Vec<u32>,
}

/// Check a packing and return its figures.
pub fn check(region: &Region, target: &Target, packing: &Packing) -> Result<PackReport, Vec<PackViolation>> {
    let model = PackModel::of(target).map_err(|error| vec![PackViolation::Target(error)])?;
    let model = &model.ok_or_else(|| vec![PackViolation::NoModel])?;
    let mut wrong = Vec::new();
    let unknown = packing.placed().iter().filter(|placed| placed.instr.index() >= region.len());
    wrong.extend(
        unknown.map(|placed| PackViolation::UnknownInstr { cycle: placed.cycle, instr: placed.instr.0 }),
    );
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut found = Vec::with_capacity(region.len());
    for instr in region.instrs() {
        match find(region, model, packing, instr) {
            Ok(operation) => found.push(operation),
            Err(violation) => wrong.push(violation),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    check_cycles(region, model, packing, &found, &mut wrong);
    for dep in region.deps() {
        let (from, to) = (&found[dep.from.index()], &found[dep.to.index()]);
        let latency = match (dep.kind, from.rule.latency) {
            (DepKind::Data, Some(latency)) => latency,
            _ => dep.latency,
        };
        let needed = from.cycles[from.cycles.len() - 1].saturating_add(latency);
        if to.cycles[0] < needed {
            let cycle = to.cycles[0];
            let (from, to) = (region.describe(dep.from), region.describe(dep.to));
            wrong.push(PackViolation::TooEarly { from, to, cycle, needed });
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let length = packing.placed().iter().map(|placed| placed.cycle + 1).max().unwrap_or(0);
    let mut loads: BTreeMap<u32, bool> = BTreeMap::new();
    for operation in &found {
        for cycle in &operation.cycles {
            *loads.entry(*cycle).or_default() |= operation.rule.load;
        }
    }
    let cycles: Vec<bool> = loads.into_values().collect();
    let starts = (0..cycles.len()).filter(|&at| cycles[at] && (at == 0 || !cycles[at - 1]));
    Ok(PackReport {
        length,
        peaks: peaks(region, &found, length),
        levels: starts.count() as u32,
        splits: found.iter().filter(|operation| operation.format > 0).count(),
    })
}

/// Return whether a name matches.
fn is_named(names: &[String], name: &str) -> bool {
    for pattern in names {
        let meant = if pattern.ends_with('*') {
            name.as_bytes().starts_with(&pattern.as_bytes()[..pattern.len() - 1])
        } else {
            name == pattern
        };
        if meant {
            return true;
        }
    }
    false
}

/// Return whether some operand or result has the name of a machine register.
fn has_machine_register(region: &Region, model: &PackModel, instr: InstrId) -> bool {
    let mut touched: Vec<&Operand> = region.operands(instr).iter().collect();
    touched.extend(region.defs(instr).iter().map(|def| &def.operand));
    for rule in &model.banks {
        for operand in &touched {
            let class = region.registers()[operand.register.index()].class;
            let name = region.register_name(operand.register);
            let digits = name.strip_prefix(rule.numbered.as_str()).unwrap_or("");
            if *region.classes()[class.index()] == *rule.class && digits.parse::<u32>().is_ok() {
                return true;
            }
        }
    }
    false
}

/// Rules 1 and the first half of 2.
fn find<'a>(
    region: &Region,
    model: &'a PackModel,
    packing: &Packing,
    instr: InstrId,
) -> Result<Found<'a>, PackViolation> {
    let name = || region.describe(instr);
    let lanes: u32 = region.defs(instr).iter().map(|def| def.operand.lanes.count_ones()).sum();
    let rule = model.operations.iter().find(|rule| {
        is_named(&rule.names, region.opcode(instr))
            && rule.results.is_none_or(|range| range[0] <= lanes && lanes <= range[1])
            && rule.allocated.is_none_or(|allocated| allocated == has_machine_register(region, model, instr))
    });
    let rule = rule.ok_or_else(|| PackViolation::UnknownOperation { instr: name() })?;
    let own: Vec<_> = packing.placed().iter().filter(|placed| placed.instr == instr).collect();
    let Some(format) = own.first().map(|placed| placed.format) else {
        return Err(PackViolation::NotOnce { instr: name() });
    };
    let is_numbered = own.iter().enumerate().all(|(part, placed)| placed.part as usize == part);
    if own.iter().any(|placed| placed.format != format) || !is_numbered {
        return Err(PackViolation::NotOnce { instr: name() });
    }
    let on = |units: u8, unit: usize| units >> unit & 1 != 0;
    if format == 0 {
        let takes = |names: &Vec<String>| {
            (0..2).all(|unit| on(own[0].units.0, unit) == names.contains(&model.units[unit]))
        };
        if own.len() != 1 {
            return Err(PackViolation::NotOnce { instr: name() });
        }
        if !rule.formats.iter().any(takes) {
            return Err(PackViolation::WrongUnits { instr: name() });
        }
    } else {
        let split = rule.splits.get(format - 1).ok_or_else(|| PackViolation::NotOnce { instr: name() })?;
        if own.len() != split.parts.len() {
            return Err(PackViolation::NotOnce { instr: name() });
        }
        for (unit, unit_name) in model.units.iter().enumerate() {
            let count = own.iter().filter(|placed| placed.units.0 == 1 << unit).count();
            if count != split.units.get(unit_name).map_or(0, |count| *count as usize) {
                return Err(PackViolation::WrongUnits { instr: name() });
            }
        }
        if own.windows(2).any(|pair| pair[1].cycle < pair[0].cycle.saturating_add(split.apart)) {
            return Err(PackViolation::PartsTooClose { instr: name() });
        }
    }
    Ok(Found { rule, format, cycles: own.iter().map(|placed| placed.cycle).collect() })
}

/// The second half of rule 2, and rule 3.
fn check_cycles(
    region: &Region,
    model: &PackModel,
    packing: &Packing,
    found: &[Found],
    wrong: &mut Vec<PackViolation>,
) {
    let mut by_cycle: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (position, placed) in packing.placed().iter().enumerate() {
        by_cycle.entry(placed.cycle).or_default().push(position);
    }
    for (cycle, positions) in by_cycle {
        for unit in 0..2 {
            let users = positions.iter().filter(|at| packing.placed()[**at].units.0 >> unit & 1 != 0);
            if users.count() > 1 {
                wrong.push(PackViolation::UnitTwice { cycle, unit: model.units[unit].clone() });
            }
        }
        for (number, &a) in positions.iter().enumerate() {
            for &b in &positions[..number] {
                let (a, b) = (packing.placed()[a].instr, packing.placed()[b].instr);
                if let Some(rule) = excluded(region, model, found, a, b) {
                    let (first, second) = (region.describe(b), region.describe(a));
                    wrong.push(PackViolation::Conflict { cycle, first, second, rule });
                }
            }
        }
    }
}

/// Return why two operations cannot share a cycle.
fn excluded(
    region: &Region,
    model: &PackModel,
    found: &[Found],
    a: InstrId,
    b: InstrId,
) -> Option<&'static str> {
    let names = |instr: InstrId| -> Vec<&str> {
        let operation = &found[instr.index()];
        match operation.format {
            0 => vec![region.opcode(instr)],
            format => operation.rule.splits[format - 1].parts.iter().map(String::as_str).collect(),
        }
    };
    let (a_names, b_names) = (names(a), names(b));
    let any = |names: &[&str], patterns: &[String]| names.iter().any(|name| is_named(patterns, name));
    for rule in &model.conflicts {
        let one_way = any(&a_names, &rule.between) && any(&b_names, &rule.and);
        let other_way = any(&b_names, &rule.between) && any(&a_names, &rule.and);
        if one_way || other_way {
            return Some("by name");
        }
    }
    // Rules about operands are for operations that take units at all.
    let takes_none = |instr: InstrId| found[instr.index()].rule.formats.iter().any(Vec::is_empty);
    if takes_none(a) || takes_none(b) {
        return None;
    }
    let class_of = |operand: &Operand| {
        let register = &region.registers()[operand.register.index()];
        &*region.classes()[register.class.index()]
    };
    for rule in &model.reads {
        let mut read: Vec<u32> = Vec::new();
        for operand in region.operands(a).iter().chain(region.operands(b)) {
            let lanes = region.registers()[operand.register.index()].lanes;
            let right_class =
                rule.classes.is_empty() || rule.classes.iter().any(|name| name == class_of(operand));
            let right_lanes = rule.lanes.is_none_or(|range| range[0] <= lanes && lanes <= range[1]);
            if right_class && right_lanes && !read.contains(&operand.register.0) {
                read.push(operand.register.0);
            }
        }
        if read.len() > rule.most as usize {
            return Some("they read too many registers");
        }
    }
    for rule in &model.banks {
        let clash = |x: &Operand, y: &Operand, banks: u32| {
            if class_of(x) != rule.class || class_of(y) != rule.class {
                return false;
            }
            let number = |operand: &Operand| {
                let digits = region.register_name(operand.register).strip_prefix(rule.numbered.as_str());
                digits.and_then(|digits| digits.parse::<u32>().ok())
            };
            let lane = |operand: &Operand| i64::from(operand.lanes.trailing_zeros());
            let apart = match (number(x), number(y)) {
                (Some(first), Some(second)) => i64::from(first) - i64::from(second),
                _ if x.register == y.register => 0,
                _ => return false,
            };
            (apart + lane(x) - lane(y)).rem_euclid(i64::from(banks)) == 0
        };
        for (position, banks) in rule.sources.iter().enumerate() {
            if let (Some(x), Some(y)) = (region.operands(a).get(position), region.operands(b).get(position))
                && clash(x, y, *banks)
            {
                return Some("their operands are in the same bank");
            }
        }
        if let Some(banks) = rule.results {
            for (x, y) in region.defs(a).iter().zip(region.defs(b)) {
                if clash(&x.operand, &y.operand, banks) {
                    return Some("their results are in the same bank");
                }
            }
        }
    }
    None
}

/// Return the most registers at any boundary, by class: lane by lane.
fn peaks(region: &Region, found: &[Found], length: u32) -> Vec<u32> {
    // Boundary b is before cycle b. Only boundaries with a change are kept.
    let mut changes: Vec<BTreeMap<u32, i64>> = vec![BTreeMap::new(); region.classes().len()];
    // Which instructions touch each register, in source order.
    let mut touched: Vec<Vec<InstrId>> = vec![Vec::new(); region.registers().len()];
    for instr in region.instrs() {
        let defs = region.defs(instr).iter().map(|def| def.operand.register);
        for register in region.operands(instr).iter().map(|operand| operand.register).chain(defs) {
            if touched[register.index()].last() != Some(&instr) {
                touched[register.index()].push(instr);
            }
        }
    }
    for (number, register) in region.registers().iter().enumerate() {
        for lane in 0..register.lanes {
            let has =
                |operand: &Operand| operand.register.index() == number && operand.lanes >> lane & 1 != 0;
            // The first live boundary, and the end (exclusive) so far.
            let mut live: Option<(u32, u32)> = region.live_in().iter().any(has).then_some((0, 0));
            let mut end = |(from, to): (u32, u32)| {
                if to > from {
                    let weight = i64::from(register.lane_weight);
                    *changes[register.class.index()].entry(from).or_default() += weight;
                    *changes[register.class.index()].entry(to).or_default() -= weight;
                }
            };
            for &instr in &touched[number] {
                let cycles = &found[instr.index()].cycles;
                if let Some((_, to)) = live.as_mut().filter(|_| region.operands(instr).iter().any(has)) {
                    *to = (*to).max(cycles[cycles.len() - 1] + 1);
                }
                if region.defs(instr).iter().any(|def| has(&def.operand)) {
                    if let Some(before) = live {
                        end(before);
                    }
                    live = Some((cycles[0] + 1, 0));
                }
            }
            if let Some((from, to)) = live {
                let to = if region.live_out().iter().any(has) { length + 1 } else { to };
                end((from, to));
            }
        }
    }
    let mut peaks = Vec::new();
    for (class, changes) in region.class_ids().zip(changes) {
        let mut live = i64::from(region.through(class));
        let mut peak = live;
        for change in changes.values() {
            live += change;
            peak = peak.max(live);
        }
        peaks.push(peak as u32);
    }
    peaks
}
