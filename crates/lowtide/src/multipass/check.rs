//! The independent checker of passes. It reads the region and the model, and shares nothing with the
//! algorithms.
//!
//! The checker runs the passes one operation after the other. Storage holds the live-ins of the model's class
//! and the values that passes have stored. Registers hold the values that were loaded or computed in the pass
//! and are read again in it. Before a value is read, it must be computed in the pass, be in storage when the
//! pass begins, or be an input.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{Pass, PassModel};
use crate::index::{InstrId, RegisterId};
use crate::region::{DepKind, Region};

/// A violation in passes. Passes are counted from 1.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PassViolation {
    /// A pass exceeds a limit.
    #[error("pass {pass} has {used} {what}, but at most {limit} are possible")]
    Limit {
        /// The pass.
        pass: usize,
        /// The limited resource.
        what: &'static str,
        /// The amount used.
        used: u64,
        /// The limit.
        limit: u32,
    },
    /// An operation does not exist, or stands in a pass twice.
    #[error("pass {pass}: instruction #{instr} {problem}")]
    Instr {
        /// The pass.
        pass: usize,
        /// The instruction.
        instr: u32,
        /// The problem.
        problem: &'static str,
    },
    /// A register is not where it is needed.
    #[error("pass {pass}: register {register} {problem}")]
    Register {
        /// The pass.
        pass: usize,
        /// Its name.
        register: String,
        /// The problem.
        problem: &'static str,
    },
    /// No pass runs a required operation or stores a required register.
    #[error("{what} is missing: {problem}")]
    Missing {
        /// A register or an instruction.
        what: String,
        /// The reason why it is required.
        problem: &'static str,
    },
    /// Operations with effects in the wrong order.
    #[error("{to} runs before {from}, which must come first")]
    Order {
        /// The operation that must come first.
        from: String,
        /// The operation that must follow.
        to: String,
    },
}

/// The figures of legal passes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PassReport {
    /// The total cost.
    pub cost: u64,
    /// Most live registers of each pass.
    pub registers: Vec<u32>,
    /// Waits of each pass.
    pub waits: Vec<u32>,
    /// The number of operations over all passes.
    pub operations: usize,
}

/// Check passes, and return their figures.
pub fn check_passes(
    region: &Region,
    model: &PassModel,
    passes: &[Pass],
) -> Result<PassReport, Vec<PassViolation>> {
    let mut is_defined = vec![false; region.registers().len()];
    let mut is_needed = is_defined.clone();
    for instr in region.instrs() {
        region.defs(instr).iter().for_each(|def| is_defined[def.operand.register.index()] = true);
        region.uses(instr).iter().for_each(|operand| is_needed[operand.register.index()] = true);
    }
    region.live_out().iter().for_each(|operand| is_needed[operand.register.index()] = true);
    let mut checker = Checker {
        region,
        model,
        is_defined,
        is_needed,
        violations: Vec::new(),
        report: PassReport::default(),
    };
    checker.run(passes);
    match checker.violations.is_empty() {
        true => Ok(checker.report),
        false => Err(checker.violations),
    }
}

struct Checker<'a> {
    region: &'a Region,
    model: &'a PassModel,
    /// By register: whether an operation writes it, and whether anything needs it.
    is_defined: Vec<bool>,
    is_needed: Vec<bool>,
    violations: Vec<PassViolation>,
    report: PassReport,
}

impl Checker<'_> {
    fn run(&mut self, passes: &[Pass]) {
        let region = self.region;
        let class_of =
            |register: RegisterId| &*region.classes()[region.registers()[register.index()].class.index()];
        let mut storage: BTreeSet<RegisterId> = region
            .live_in()
            .iter()
            .map(|operand| operand.register)
            .filter(|register| class_of(*register) == self.model.class)
            .collect();
        // Operations with effects, in the order in which they run.
        let mut times: BTreeMap<InstrId, Vec<usize>> = BTreeMap::new();
        let mut clock = 0;
        for (number, pass) in passes.iter().enumerate() {
            self.pass(number + 1, pass, &storage);
            storage.extend(&pass.stores);
            for op in &pass.ops {
                times.entry(*op).or_default().push(clock);
                clock += 1;
            }
        }
        for operand in region.live_out() {
            if !storage.contains(&operand.register) && self.is_defined[operand.register.index()] {
                let what = format!("register {}", region.register_name(operand.register));
                self.violations
                    .push(PassViolation::Missing { what, problem: "it is an output, and no pass stores it" });
            }
        }
        let reads =
            |instr: InstrId, register| region.uses(instr).iter().any(|operand| operand.register == register);
        for instr in region.instrs() {
            let has_effects = region.flags(instr).contains(['s', 'x', 'c'])
                || !region.defs(instr).iter().any(|def| self.is_needed[def.operand.register.index()]);
            let times = times.get(&instr).map_or(0, Vec::len);
            self.once(instr, has_effects, times);
        }
        for dep in region.deps() {
            let is_value = dep.kind == DepKind::Data
                && region.defs(dep.from).iter().any(|def| reads(dep.to, def.operand.register));
            if is_value {
                continue;
            }
            for instr in [dep.from, dep.to] {
                self.once(instr, true, times.get(&instr).map_or(0, Vec::len));
            }
            if let (Some(from), Some(to)) = (times.get(&dep.from), times.get(&dep.to))
                && from.iter().any(|from| to.iter().any(|to| to <= from))
            {
                let (from, to) = (region.describe(dep.from), region.describe(dep.to));
                self.violations.push(PassViolation::Order { from, to });
            }
        }
    }

    fn once(&mut self, instr: InstrId, must_be: bool, times: usize) {
        if !must_be || times == 1 {
            return;
        }
        match times {
            0 => {
                let what = self.region.describe(instr);
                let violation =
                    PassViolation::Missing { what, problem: "it has effects, and no pass runs it" };
                if !self.violations.contains(&violation) {
                    self.violations.push(violation);
                }
            }
            _ => {
                let problem = "has effects, and runs more than once";
                let violation = PassViolation::Instr { pass: 0, instr: instr.0, problem };
                if !self.violations.contains(&violation) {
                    self.violations.push(violation);
                }
            }
        }
    }

    /// Return the registers of a value: with 64 lanes of any weight, more than 32 bits.
    fn size(&self, register: RegisterId) -> u64 {
        let info = self.region.registers()[register.index()];
        (u64::from(info.lanes) * u64::from(info.lane_weight)).div_ceil(u64::from(self.model.width)).max(1)
    }

    fn limit(&mut self, pass: usize, what: &'static str, used: u64, limit: Option<u32>) {
        if let Some(limit) = limit.filter(|limit| used > u64::from(*limit)) {
            self.violations.push(PassViolation::Limit { pass, what, used, limit });
        }
    }

    fn register(&mut self, pass: usize, register: RegisterId, problem: &'static str) {
        let register = self.region.register_name(register).to_string();
        self.violations.push(PassViolation::Register { pass, register, problem });
    }

    fn pass(&mut self, number: usize, pass: &Pass, storage: &BTreeSet<RegisterId>) {
        let (region, model) = (self.region, self.model);
        let known = |register: &RegisterId| register.index() < region.registers().len();
        if let Some(op) = pass.ops.iter().find(|op| op.index() >= region.len()) {
            self.violations.push(PassViolation::Instr {
                pass: number,
                instr: op.0,
                problem: "does not exist",
            });
            return;
        }
        if !pass.loads.iter().chain(&pass.stores).all(known) {
            let what = "a register".to_string();
            self.violations.push(PassViolation::Missing { what, problem: "it is not one of the region" });
            return;
        }
        let class_of = |register: RegisterId| {
            region.classes()[region.registers()[register.index()].class.index()].as_ref()
        };
        let mut seen = BTreeSet::new();
        for op in &pass.ops {
            if !seen.insert(*op) {
                let problem = "stands in the pass twice";
                self.violations.push(PassViolation::Instr { pass: number, instr: op.0, problem });
            }
        }
        // The last position that reads each register.
        let mut last_use: BTreeMap<RegisterId, usize> = BTreeMap::new();
        for (position, op) in pass.ops.iter().enumerate() {
            last_use.extend(region.uses(*op).iter().map(|operand| (operand.register, position)));
        }
        let loads: BTreeSet<RegisterId> = pass.loads.iter().copied().collect();
        let mut computed = BTreeSet::new();
        let mut held: BTreeSet<RegisterId> = BTreeSet::new();
        let mut held_size = 0u64;
        let mut inputs = BTreeSet::new();
        let (mut most, mut requests, mut waits) = (0u64, 0u64, 0);
        // Requests since the last wait, by what they write.
        let mut pending: Vec<InstrId> = Vec::new();
        let mut cost = u64::from(model.cost.pass);
        for (position, op) in pass.ops.iter().enumerate() {
            for register in region.uses(*op).iter().map(|operand| operand.register) {
                if computed.contains(&register) || loads.contains(&register) {
                    held_size += if held.insert(register) { self.size(register) } else { 0 };
                } else if self.is_defined[register.index()] || class_of(register) == model.class {
                    self.register(number, register, "is read, but neither computed before nor loaded");
                } else if model.interpolants.iter().any(|class| class == class_of(register)) {
                    inputs.insert(register);
                }
            }
            most = most.max(held_size);
            let is_request = model.textures.iter().any(|texture| texture == region.opcode(*op));
            let reads = |request: &InstrId| {
                let mut defs = region.defs(*request).iter();
                defs.any(|def| {
                    region.uses(*op).iter().any(|operand| operand.register == def.operand.register)
                })
            };
            let is_full = model.limits.pending.is_some_and(|most| pending.len() as u64 >= u64::from(most));
            if pending.iter().any(reads) || is_request && is_full {
                waits += 1;
                pending.clear();
            }
            if is_request {
                requests += 1;
                pending.push(*op);
            }
            // Only a register that is read here can have its last use here.
            for register in region.uses(*op).iter().map(|operand| operand.register) {
                if last_use.get(&register) == Some(&position) && held.remove(&register) {
                    held_size -= self.size(register);
                }
            }
            for register in region.defs(*op).iter().map(|def| def.operand.register) {
                computed.insert(register);
                if loads.contains(&register) {
                    self.register(number, register, "is both loaded and computed");
                }
                if last_use.get(&register).is_some_and(|last| *last > position) && held.insert(register) {
                    held_size += self.size(register);
                }
            }
            most = most.max(held_size);
            let own = model.cost.operations.get(region.opcode(*op)).unwrap_or(&model.cost.operation);
            cost += u64::from(*own);
        }
        let is_late = |request: &InstrId| {
            region.defs(*request).iter().any(|def| pass.stores.contains(&def.operand.register))
        };
        waits += u32::from(pending.iter().any(is_late));
        for register in &pass.loads {
            if !storage.contains(register) {
                self.register(number, *register, "is loaded, but no pass before has stored it");
            }
            if !last_use.contains_key(register) {
                self.register(number, *register, "is loaded, but not read");
            }
        }
        for register in &pass.stores {
            if !computed.contains(register) {
                self.register(number, *register, "is stored, but not computed in the pass");
            }
        }
        if loads.len() != pass.loads.len()
            || pass.stores.iter().collect::<BTreeSet<_>>().len() != pass.stores.len()
        {
            let what = format!("pass {number}: a register");
            self.violations
                .push(PassViolation::Missing { what, problem: "one is loaded or stored twice instead" });
        }
        let sum =
            |registers: &[RegisterId]| registers.iter().map(|register| self.size(*register)).sum::<u64>();
        let (loaded, stored) = (sum(&pass.loads), sum(&pass.stores));
        let limits = model.limits;
        self.limit(number, "live registers", most, limits.registers);
        self.limit(number, "instructions", pass.ops.len() as u64 + loaded, limits.instructions);
        self.limit(number, "texture requests", requests + loaded, limits.textures);
        self.limit(number, "interpolants", inputs.len() as u64, limits.interpolants);
        self.limit(number, "outputs", stored, limits.outputs);
        cost += u64::from(model.cost.interpolant) * inputs.len() as u64
            + u64::from(model.cost.wait) * u64::from(waits);
        for (each, registers) in [(model.cost.load, loaded), (model.cost.store, stored)] {
            cost = cost.saturating_add(u64::from(each).saturating_mul(registers));
        }
        self.report.cost = self.report.cost.saturating_add(cost);
        self.report.registers.push(u32::try_from(most).unwrap_or(u32::MAX));
        self.report.waits.push(waits);
        self.report.operations += pass.ops.len();
    }
}
