//! The problem of passes: the operations and values of a region with their costs, in flat arrays.

use std::borrow::Cow;

use thiserror::Error;

use super::check::check_passes;
use super::{Partition, Pass, PassModel};
use crate::index::{InstrId, RegisterId, Rows};
use crate::region::{DepKind, Dependence, Operand, Region, limits};
use crate::target::{Target, TargetError};

/// Why a region cannot be partitioned into passes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PassError {
    /// The section `[passes]` of the target is not valid.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target has no pass model.
    #[error("target {0} has no section [passes]: `lowtide targets` lists those that have one")]
    NoModel(String),
    /// A register that is written more than once.
    #[error("register {register} is written more than once: passes need code in single-assignment form")]
    WrittenTwice {
        /// Its name.
        register: String,
    },
    /// The values together take more registers than supported.
    #[error("all values together take {total} registers: at most {} are supported", limits::TOTAL)]
    TooWide {
        /// The registers that they take.
        total: u64,
    },
    /// An operation or a value that no pass can have.
    #[error("{0}")]
    TooLarge(Box<Shortage>),
    /// No partition exists.
    #[error("no partition into passes exists; {0}")]
    NoPartition(Box<Shortage>),
    /// An algorithm has found no partition, and one may exist.
    #[error("{algorithm} finds no partition, and one may exist: {advice}; {shortage}")]
    NotFound {
        /// The algorithm.
        algorithm: &'static str,
        /// The next step of the user.
        advice: &'static str,
        /// An operation that does not fit into a pass of its own.
        shortage: Box<Shortage>,
    },
}

/// A limit that an operation or a value exceeds.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{subject} does not fit into a pass{scope}: it needs {need} {what}, and a pass has {limit}")]
pub struct Shortage {
    /// The operation or the value.
    pub subject: String,
    /// Empty, or the condition under which the subject does not fit.
    pub scope: &'static str,
    /// The exceeded resource.
    pub what: &'static str,
    /// The amount that it needs.
    pub need: u32,
    /// The amount that a pass has.
    pub limit: u32,
}

/// No limit.
pub(super) const NONE: u32 = u32::MAX;

/// The limits, as numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    pub(super) registers: u32,
    pub(super) instructions: u32,
    pub(super) textures: u32,
    pub(super) pending: u32,
    pub(super) interpolants: u32,
    pub(super) outputs: u32,
}

/// A region on a pass model.
///
/// ```
/// use lowtide::generate::{Shape, region};
/// use lowtide::multipass::{PassProblem, check::check_passes, dpmpp};
/// use lowtide::target::Target;
///
/// let region = region(Shape::Tree, 60, 1);
/// let target = Target::builtin("ps14").unwrap();
/// let problem = PassProblem::new(&region, &target)?;
/// let found = dpmpp::partition(&problem).expect("every operation fits into a pass of its own");
/// let report = check_passes(&region, problem.model(), &found.partition.passes).expect("legal passes");
/// assert_eq!(report.cost, found.partition.cost);
/// # Ok::<(), lowtide::multipass::PassError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PassProblem<'a> {
    region: &'a Region,
    model: Cow<'a, PassModel>,
    pub(super) caps: Caps,
    /// By operation: the values read, each once; those of class and model only.
    pub(super) uses: Rows<u32>,
    /// By operation: the values written that somebody needs.
    pub(super) defs: Rows<u32>,
    /// By operation: the interpolants read.
    pub(super) inputs: Rows<u32>,
    pub(super) input_count: usize,
    pub(super) is_request: Vec<bool>,
    pub(super) op_cost: Vec<u64>,
    /// Operations that run exactly once.
    pub(super) is_pinned: Vec<bool>,
    /// By operation: pinned operations that come before it and after it.
    pub(super) before: Rows<u32>,
    pub(super) after: Rows<u32>,
    /// By value.
    pub(super) registers: Vec<RegisterId>,
    pub(super) size: Vec<u32>,
    pub(super) def: Vec<Option<u32>>,
    pub(super) users: Rows<u32>,
    pub(super) is_output: Vec<bool>,
}

impl<'a> PassProblem<'a> {
    /// Make the problem of a region on a target that has a pass model.
    pub fn new(region: &'a Region, target: &Target) -> Result<Self, PassError> {
        let model = PassModel::of(target)?.ok_or_else(|| PassError::NoModel(target.name().to_string()))?;
        PassProblem::with(region, Cow::Owned(model))
    }

    /// Make the problem of a region on a pass model.
    pub fn with_model(region: &'a Region, model: &'a PassModel) -> Result<Self, PassError> {
        PassProblem::with(region, Cow::Borrowed(model))
    }

    fn with(region: &'a Region, model: Cow<'a, PassModel>) -> Result<Self, PassError> {
        let count = region.registers().len();
        let mut def: Vec<Option<u32>> = vec![None; count];
        for instr in region.instrs() {
            for written in region.defs(instr) {
                let register = written.operand.register;
                if def[register.index()].replace(instr.0).is_some() {
                    let register = region.register_name(register).to_string();
                    return Err(PassError::WrittenTwice { register });
                }
            }
        }
        let class_name = |register: usize| &*region.classes()[region.registers()[register].class.index()];
        let mut value_of: Vec<Option<u32>> = vec![None; count];
        let mut input_of: Vec<Option<u32>> = vec![None; count];
        let mut is_live_in = vec![false; count];
        for operand in region.live_in() {
            is_live_in[operand.register.index()] = true;
        }
        let mut is_live_out = vec![false; count];
        for operand in region.live_out() {
            is_live_out[operand.register.index()] = true;
        }
        let mut is_used = is_live_out.clone();
        for operand in region.instrs().flat_map(|instr| region.uses(instr)) {
            is_used[operand.register.index()] = true;
        }
        let (mut registers, mut size, mut value_def, mut is_output) = (vec![], vec![], vec![], vec![]);
        let mut total = 0u64;
        let mut input_count = 0;
        for register in 0..count {
            if def[register].is_some() && is_live_in[register] {
                let register = region.register_name(RegisterId::at(register)).to_string();
                return Err(PassError::WrittenTwice { register });
            }
            if is_used[register] && (def[register].is_some() || class_name(register) == model.class) {
                value_of[register] = Some(registers.len() as u32);
                registers.push(RegisterId::at(register));
                let info = region.registers()[register];
                let weight = u64::from(info.lanes) * u64::from(info.lane_weight);
                let own = weight.div_ceil(u64::from(model.width)).max(1);
                total += own;
                size.push(own as u32);
                value_def.push(def[register]);
                is_output.push(is_live_out[register] && def[register].is_some());
            } else if model.interpolants.iter().any(|class| class == class_name(register)) {
                input_of[register] = Some(input_count);
                input_count += 1;
            }
        }
        // A register counts with all its lanes here: the region itself counts only the written ones.
        if total > limits::TOTAL {
            return Err(PassError::TooWide { total });
        }
        let (mut uses, mut defs, mut inputs) = (Rows::default(), Rows::default(), Rows::default());
        let (mut is_request, mut op_cost) = (Vec::new(), Vec::new());
        for instr in region.instrs() {
            for operand in region.uses(instr) {
                let register = operand.register.index();
                if let Some(value) = value_of[register] {
                    uses.push(value);
                } else if let Some(input) = input_of[register] {
                    inputs.push(input);
                }
            }
            region
                .defs(instr)
                .iter()
                .filter_map(|def| value_of[def.operand.register.index()])
                .for_each(|value| defs.push(value));
            uses.end_row();
            inputs.end_row();
            defs.end_row();
            let opcode = region.opcode(instr);
            is_request.push(model.textures.iter().any(|texture| texture == opcode));
            op_cost.push(u64::from(*model.cost.operations.get(opcode).unwrap_or(&model.cost.operation)));
        }
        uses.sort_and_merge(|last, next| *last == next);
        inputs.sort_and_merge(|last, next| *last == next);
        let mut is_pinned: Vec<bool> =
            region.instrs().map(|instr| region.flags(instr).contains(['s', 'x', 'c'])).collect();
        // An operation without results runs for its effect.
        for instr in region.instrs() {
            is_pinned[instr.index()] |= defs.row(instr.index()).is_empty();
        }
        let mut orders = Vec::new();
        let is_value = |dep: &&Dependence| {
            let written = |operand: &Operand| def[operand.register.index()] == Some(dep.from.0);
            dep.kind == DepKind::Data && region.uses(dep.to).iter().any(written)
        };
        for dep in region.deps().iter().filter(|dep| !is_value(dep)) {
            is_pinned[dep.from.index()] = true;
            is_pinned[dep.to.index()] = true;
            orders.push((dep.from.0, dep.to.0));
        }
        orders.sort_unstable();
        orders.dedup();
        let mut before = Rows::group(region.len(), orders.iter().map(|(from, to)| (*to as usize, *from)));
        before.sort_and_merge(|last, next| *last == next);
        let after = Rows::group(region.len(), orders.iter().map(|(from, to)| (*from as usize, *to)));
        let users = uses.transposed(registers.len(), |op, value: u32| (value as usize, op as u32));
        let given = model.limits;
        let cap = |limit: Option<u32>| limit.unwrap_or(NONE);
        let problem = PassProblem {
            region,
            model,
            caps: Caps {
                registers: cap(given.registers),
                instructions: cap(given.instructions),
                textures: cap(given.textures),
                pending: cap(given.pending),
                interpolants: cap(given.interpolants),
                outputs: cap(given.outputs),
            },
            uses,
            defs,
            inputs,
            input_count: input_count as usize,
            is_request,
            op_cost,
            is_pinned,
            before,
            after,
            registers,
            size,
            def: value_def,
            users,
            is_output,
        };
        match problem.hard_shortage() {
            Some(shortage) => Err(PassError::TooLarge(Box::new(shortage))),
            None => Ok(problem),
        }
    }

    /// Return a limit that every pass with some operation exceeds. Then there is no partition.
    ///
    /// Every operation runs in some pass: its results lead to an output or to an effect. The pass reads all
    /// operands and interpolants of the operation. Every output is stored. An operation with effects runs
    /// once, so that one pass stores all its outputs.
    fn hard_shortage(&self) -> Option<Shortage> {
        let scope = "";
        for op in 0..self.len() {
            let outputs = self.defs.row(op).iter().copied().filter(|value| self.is_output[*value as usize]);
            let stored = match self.is_pinned[op] {
                true => self.total(&outputs.collect::<Vec<_>>()),
                false => outputs.map(|value| self.size[value as usize]).max().unwrap_or(0),
            };
            let needs = [
                ("registers", self.total(self.uses.row(op)), self.caps.registers),
                ("interpolants", self.inputs.row(op).len() as u32, self.caps.interpolants),
                ("outputs", stored, self.caps.outputs),
            ];
            if let Some((what, need, limit)) = needs.into_iter().find(|(_, need, limit)| need > limit) {
                let subject = self.region.describe(InstrId::at(op));
                return Some(Shortage { subject, scope, what, need, limit });
            }
        }
        None
    }

    /// Return an operation that does not fit into a pass of its own, with all operands loaded and all results
    /// stored. If there is none, the problem has a solution.
    pub fn shortage(&self) -> Option<Shortage> {
        let scope = " of its own";
        for op in 0..self.len() {
            let loads = self.total(self.uses.row(op));
            let results = self.total(self.defs.row(op));
            let request = u32::from(self.is_request[op]);
            let needs = [
                ("registers", loads.max(results), self.caps.registers),
                ("instructions", loads.saturating_add(1), self.caps.instructions),
                ("texture requests", loads.saturating_add(request), self.caps.textures),
                ("interpolants", self.inputs.row(op).len() as u32, self.caps.interpolants),
                ("outputs", results, self.caps.outputs),
            ];
            if let Some((what, need, limit)) = needs.into_iter().find(|(_, need, limit)| need > limit) {
                let subject = self.region.describe(InstrId::at(op));
                return Some(Shortage { subject, scope, what, need, limit });
            }
        }
        None
    }

    /// Return a partition if it is legal. If every operation fits into a pass of its own, the algorithms keep
    /// all limits.
    pub(super) fn legal(&self, partition: Partition) -> Option<Partition> {
        let is_legal =
            || self.shortage().is_none() || check_passes(self.region, &self.model, &partition.passes).is_ok();
        is_legal().then_some(partition)
    }

    /// Return the region.
    pub fn region(&self) -> &'a Region {
        self.region
    }

    /// Return the pass model.
    pub fn model(&self) -> &PassModel {
        &self.model
    }

    /// Return the number of operations.
    #[allow(clippy::len_without_is_empty)] // a region has at least one
    pub fn len(&self) -> usize {
        self.op_cost.len()
    }

    pub(super) fn value_count(&self) -> usize {
        self.registers.len()
    }

    /// Return the registers that these values take.
    pub(super) fn total(&self, values: &[u32]) -> u32 {
        values.iter().fold(0, |sum: u32, value| sum.saturating_add(self.size[*value as usize]))
    }

    /// Return the values that must be stored in the end.
    pub(super) fn outputs(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.value_count() as u32).filter(|value| self.is_output[*value as usize])
    }

    /// Return the operations that must come before `op`: the definitions of its operands, and its
    /// predecessors in memory.
    pub(super) fn preds(&self, op: usize) -> impl Iterator<Item = u32> + '_ {
        let data = self.uses.row(op).iter().filter_map(|value| self.def[*value as usize]);
        data.chain(self.before.row(op).iter().copied())
    }

    /// Return the operations that must come after `op`, some twice.
    pub(super) fn succs(&self, op: usize) -> impl Iterator<Item = u32> + '_ {
        let data = self.defs.row(op).iter().flat_map(|value| self.users.row(*value as usize).iter().copied());
        data.chain(self.after.row(op).iter().copied())
    }

    /// Return the number of waits that an order needs. One wait comes before the first use of a pending
    /// result, and one before each request over the limit. One comes at the end if a stored result is still
    /// pending.
    pub(super) fn waits(&self, ops: &[u32], stores: &[u32]) -> u32 {
        let mut pending: Vec<u32> = Vec::new();
        let mut waits = 0;
        for &op in ops {
            let reads_pending = self.uses.row(op as usize).iter().any(|value| self.is_of(*value, &pending));
            let is_full =
                self.is_request[op as usize] && pending.len() as u64 >= u64::from(self.caps.pending);
            if reads_pending || is_full {
                waits += 1;
                pending.clear();
            }
            if self.is_request[op as usize] {
                pending.push(op);
            }
        }
        waits + u32::from(stores.iter().any(|value| self.is_of(*value, &pending)))
    }

    /// Return whether one of these operations defines the value.
    fn is_of(&self, value: u32, ops: &[u32]) -> bool {
        !ops.is_empty() && self.def[value as usize].is_some_and(|def| ops.contains(&def))
    }

    /// Return the partition into passes of these operations and stores, with their loads and cost.
    pub(super) fn partition(&self, passes: &[(Vec<u32>, Vec<u32>)]) -> Partition {
        let cost = &self.model.cost;
        let mut total = 0;
        let mut result = Vec::new();
        for (ops, stores) in passes {
            let loads = self.loads(ops);
            let mut inputs: Vec<u32> =
                ops.iter().flat_map(|op| self.inputs.row(*op as usize)).copied().collect();
            inputs.sort_unstable();
            inputs.dedup();
            total += u64::from(cost.pass)
                + u64::from(cost.load) * u64::from(self.total(&loads))
                + u64::from(cost.store) * u64::from(self.total(stores))
                + u64::from(cost.interpolant) * inputs.len() as u64
                + u64::from(cost.wait) * u64::from(self.waits(ops, stores))
                + ops.iter().map(|op| self.op_cost[*op as usize]).sum::<u64>();
            let names = |values: &[u32]| values.iter().map(|value| self.registers[*value as usize]).collect();
            result.push(Pass {
                ops: ops.iter().map(|op| InstrId(*op)).collect(),
                loads: names(&loads),
                stores: names(stores),
            });
        }
        Partition { passes: result, cost: total }
    }

    /// Return the values that these operations read and do not compute, in the order of first use.
    pub(super) fn loads(&self, ops: &[u32]) -> Vec<u32> {
        let mut known = vec![false; self.value_count()];
        let mut loads = Vec::new();
        for op in ops {
            for value in self.uses.row(*op as usize) {
                if !std::mem::replace(&mut known[*value as usize], true) {
                    loads.push(*value);
                }
            }
            self.defs.row(*op as usize).iter().for_each(|value| known[*value as usize] = true);
        }
        loads
    }
}
