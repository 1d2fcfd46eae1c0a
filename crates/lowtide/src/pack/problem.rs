//! A region on a machine with two units: the units that each operation may take, its dependences, and the
//! pairs that cannot share a cycle. These are the paper's matrices (step 2 of its section 2.1). S, V, E and B
//! are [`Kind`], L is [`PackProblem::succs`], F is [`PackProblem::conflict`], Γ is [`Operation::needs`].

use thiserror::Error;

use super::machine::{BankRule, OperationRule, PackModel, ReadRule};
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, Rows};
use crate::region::{DepKind, Edge, Operand, Region};
use crate::target::{Target, TargetError};

/// Most operations of a block: the matrix of conflicts grows with their square.
pub const MOST_OPERATIONS: usize = 2048;

/// Why a region cannot be packed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PackError {
    /// The section `[pack]` of the target is not valid.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target issues one operation at a time.
    #[error("target {0} has no section [pack]: it does not say how two operations issue together")]
    NoModel(String),
    /// The target has no rule for an operation.
    #[error("operation {instr} with {lanes} lanes of results meets no [[pack.operation]] of target {target}")]
    UnknownOperation {
        /// The operation.
        instr: String,
        /// Lanes that it writes.
        lanes: u32,
        /// The target's name.
        target: String,
    },
    /// The region has too many operations.
    #[error("the region has {0} operations, at most {MOST_OPERATIONS} can be packed")]
    TooLarge(usize),
}

/// Some of the two units, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Units(pub u8);

impl Units {
    /// Neither.
    pub const NONE: Units = Units(0);
    /// The first of the target.
    pub const FIRST: Units = Units(1);
    /// The second one.
    pub const SECOND: Units = Units(2);
    /// Both.
    pub const BOTH: Units = Units(3);

    /// Return the unit of that number, 0 or 1.
    pub fn only(unit: usize) -> Units {
        Units(1 << unit)
    }
}

/// The units of an operation that is issued as a whole: the paper's five kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// No unit.
    None,
    /// The first unit (paper: V).
    First,
    /// The second unit (paper: S).
    Second,
    /// Either of them (paper: E).
    Either,
    /// Both (paper: B).
    Both,
}

impl Kind {
    fn of(rule: &OperationRule, model: &PackModel) -> Kind {
        let takes = |format: &Vec<String>, unit: usize| format.contains(&model.units[unit]);
        let has = |first: bool, second: bool| {
            rule.formats.iter().any(|format| takes(format, 0) == first && takes(format, 1) == second)
        };
        // A format that takes more than another one is never chosen.
        match (has(false, false), has(true, false), has(false, true)) {
            (true, _, _) => Kind::None,
            (_, true, true) => Kind::Either,
            (_, true, false) => Kind::First,
            (_, false, true) => Kind::Second,
            (_, false, false) => Kind::Both,
        }
    }

    /// Return whether both always take a common unit.
    pub(super) fn shares_a_unit(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::None, _) | (_, Kind::None) => false,
            (Kind::Both, _) | (_, Kind::Both) => true,
            (own, other) => own == other && own != Kind::Either,
        }
    }

    /// Return the possible units.
    pub fn places(self) -> &'static [Units] {
        match self {
            Kind::None => &[Units::NONE],
            Kind::First => &[Units::FIRST],
            Kind::Second => &[Units::SECOND],
            Kind::Either => &[Units::FIRST, Units::SECOND],
            Kind::Both => &[Units::BOTH],
        }
    }
}

/// A sequence of parts that replaces an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Split {
    /// How many parts each unit takes.
    pub counts: [u32; 2],
    /// Cycles between the issue of a part and of the next one.
    pub apart: u32,
}

impl Split {
    /// Return the number of parts.
    pub fn parts(&self) -> u32 {
        self.counts[0] + self.counts[1]
    }

    /// Return the least cycles from the first part to the last one.
    pub fn span(&self) -> u32 {
        (self.parts() - 1) * self.apart
    }
}

/// An operation of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The units of the whole operation: format 0.
    pub kind: Kind,
    /// The splits: formats 1 and up.
    pub splits: Vec<Split>,
    /// The number of the required split. `None` if the operation may be whole.
    pub(super) must_be: Option<usize>,
    /// Whether it loads from memory.
    pub is_load: bool,
    /// Its rule in the target.
    rule: usize,
    /// Its first row in the matrix of conflicts, which has one row for each format.
    slot: usize,
}

impl Operation {
    /// Return the table Γ: for each format, the cycles of the two units.
    pub fn needs(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let whole: &[[u32; 2]] = match self.kind {
            _ if self.must_be.is_some() => &[],
            Kind::None => &[[0, 0]],
            Kind::First => &[[1, 0]],
            Kind::Second => &[[0, 1]],
            Kind::Either => &[[1, 0], [0, 1]],
            Kind::Both => &[[1, 1]],
        };
        let may_be = |format: usize| self.must_be.is_none_or(|must_be| must_be == format);
        let splits = self.splits.iter().zip(1..).filter(move |(_, format)| may_be(*format));
        whole.iter().copied().chain(splits.map(|(split, _)| split.counts))
    }

    /// Return its only format, if there is no choice.
    pub(super) fn format(&self) -> Option<usize> {
        self.must_be.or(self.splits.is_empty().then_some(0))
    }

    /// Return the split that it must have.
    pub(super) fn split(&self) -> Option<Split> {
        self.must_be.map(|format| self.splits[format - 1])
    }

    /// Return the least cycles from its first part to its last one.
    pub(super) fn span(&self) -> u32 {
        self.split().map_or(0, |split| split.span())
    }
}

/// A region on a machine with two units.
#[derive(Clone, Debug)]
pub struct PackProblem<'a> {
    region: &'a Region,
    target: &'a Target,
    model: PackModel,
    operations: Vec<Operation>,
    preds: Rows<Edge>,
    succs: Rows<Edge>,
    /// One bit for each pair of formats.
    conflicts: BitSet,
    slots: usize,
    limit: Option<(ClassId, u32)>,
}

impl<'a> PackProblem<'a> {
    /// Resolve the operations of a region on a target.
    pub fn new(region: &'a Region, target: &'a Target) -> Result<Self, PackError> {
        let model = PackModel::of(target)?.ok_or_else(|| PackError::NoModel(target.name().to_string()))?;
        if region.len() > MOST_OPERATIONS {
            return Err(PackError::TooLarge(region.len()));
        }
        let mut operations: Vec<Operation> = Vec::with_capacity(region.len());
        let mut slots = 0;
        for instr in region.instrs() {
            let lanes = region.defs(instr).iter().map(|def| def.operand.lanes.count_ones()).sum();
            let opcode = region.opcode(instr);
            let applies = |rule: &OperationRule| {
                matches_any(&rule.names, opcode)
                    && rule.results.is_none_or(|[least, most]| (least..=most).contains(&lanes))
                    && rule.allocated.is_none_or(|allocated| allocated == is_allocated(region, &model, instr))
            };
            let rule = model.operations.iter().position(applies).ok_or_else(|| {
                let (instr, target) = (region.describe(instr), target.name().to_string());
                PackError::UnknownOperation { instr, lanes, target }
            })?;
            let found = &model.operations[rule];
            let count = |split: &super::machine::SplitRule, unit: usize| {
                split.units.get(&model.units[unit]).copied().unwrap_or(0)
            };
            let splits = found.splits.iter();
            let splits: Vec<Split> = splits
                .map(|split| Split { counts: [count(split, 0), count(split, 1)], apart: split.apart })
                .collect();
            let kind = Kind::of(found, &model);
            let formats = 1 + splits.len();
            let is_load = found.load;
            operations.push(Operation { kind, splits, must_be: None, is_load, rule, slot: slots });
            slots += formats;
        }
        let edges = region.deps().iter().map(|dep| {
            let rule = &model.operations[operations[dep.from.index()].rule];
            let own = rule.latency.filter(|_| dep.kind == DepKind::Data);
            (dep.from, Edge { instr: dep.to, latency: own.unwrap_or(dep.latency) })
        });
        let mut succs = Rows::group(region.len(), edges.map(|(from, edge)| (from.index(), edge)));
        succs.sort_and_merge(|last, next| {
            let is_same = last.instr == next.instr;
            if is_same {
                last.latency = last.latency.max(next.latency);
            }
            is_same
        });
        let back = |from: usize, edge: Edge| {
            (edge.instr.index(), Edge { instr: InstrId::at(from), latency: edge.latency })
        };
        let preds = succs.transposed(region.len(), back);
        let conflicts = BitSet::new(slots * slots);
        let mut problem =
            PackProblem { region, target, model, operations, preds, succs, conflicts, slots, limit: None };
        problem.find_conflicts();
        Ok(problem)
    }

    /// Return the same problem without splits: section 2.1 of the paper.
    pub fn without_splits(&self) -> Self {
        let mut problem = self.clone();
        for operation in &mut problem.operations {
            operation.splits.clear();
        }
        problem
    }

    /// Return the same problem with some formats decided.
    pub(super) fn with_formats(&self, formats: &[Option<usize>]) -> Self {
        let mut problem = self.clone();
        for (operation, format) in problem.operations.iter_mut().zip(formats) {
            match format {
                None => {}
                Some(0) => operation.splits.clear(),
                Some(format) => operation.must_be = Some(*format),
            }
        }
        problem
    }

    /// Limit the registers of the region's class that the target has first.
    pub fn with_register_limit(mut self, limit: u32) -> Self {
        self.limit = self.primary_class().map(|class| (class, limit));
        self
    }

    /// Return the same problem without a limit on registers.
    pub(super) fn without_register_limit(&self) -> Self {
        PackProblem { limit: None, ..self.clone() }
    }

    /// Return the class of the region that the target has first.
    pub fn primary_class(&self) -> Option<ClassId> {
        let classes = self.region.classes();
        let mut known = self.target.files().iter().flat_map(|file| &file.classes);
        // Constants can have classes that no register file has.
        let named = known.find_map(|known| classes.iter().position(|class| **class == *known.name));
        named.map(ClassId::at).or_else(|| {
            let registers = self.target.registers(classes).ok()?;
            registers.files().first().map(|bound| bound.classes[0].0)
        })
    }

    /// Return the limited class, and its limit.
    pub fn limit(&self) -> Option<(ClassId, u32)> {
        self.limit
    }

    /// Return the region.
    pub fn region(&self) -> &'a Region {
        self.region
    }

    /// Return the target.
    pub fn target(&self) -> &'a Target {
        self.target
    }

    /// Return the machine.
    pub fn model(&self) -> &PackModel {
        &self.model
    }

    /// Return the number of operations.
    #[allow(clippy::len_without_is_empty)] // a region has at least one instruction
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Return the kinds and splits of an operation.
    pub fn operation(&self, instr: InstrId) -> &Operation {
        &self.operations[instr.index()]
    }

    /// Return all operations, by instruction.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Return whether some operation has a choice between whole and split.
    pub fn has_splits(&self) -> bool {
        self.operations.iter().any(|operation| operation.format().is_none())
    }

    /// Return the edges to the predecessors of an operation.
    pub fn preds(&self, instr: InstrId) -> &[Edge] {
        self.preds.row(instr.index())
    }

    /// Return the edges to the successors of an operation.
    pub fn succs(&self, instr: InstrId) -> &[Edge] {
        self.succs.row(instr.index())
    }

    /// Return whether two operations in these formats cannot share a cycle, apart from the units they take.
    pub fn conflict(&self, a: InstrId, a_format: usize, b: InstrId, b_format: usize) -> bool {
        let (a, b) = (&self.operations[a.index()], &self.operations[b.index()]);
        self.conflicts.contains((a.slot + a_format) * self.slots + b.slot + b_format)
    }

    /// Return the name of a part of an operation, or of the whole.
    pub fn part_name(&self, instr: InstrId, format: usize, part: u32) -> &str {
        match format.checked_sub(1) {
            None => self.region.opcode(instr),
            Some(split) => {
                let rule = &self.model.operations[self.operations[instr.index()].rule];
                &rule.splits[split].parts[part as usize]
            }
        }
    }

    fn find_conflicts(&mut self) {
        let count = self.len();
        for a in 0..count {
            for b in 0..a {
                let (a, b) = (InstrId::at(a), InstrId::at(b));
                let by_operands = self.operands_conflict(a, b);
                let formats = |instr: InstrId| 1 + self.operations[instr.index()].splits.len();
                for (a_format, b_format) in (0..formats(a)).flat_map(|f| (0..formats(b)).map(move |g| (f, g)))
                {
                    if by_operands || self.names_conflict(a, a_format, b, b_format) {
                        let rows = [(a, a_format), (b, b_format)];
                        let [x, y] = rows.map(|(i, format)| self.operations[i.index()].slot + format);
                        self.conflicts.insert(x * self.slots + y);
                        self.conflicts.insert(y * self.slots + x);
                    }
                }
            }
        }
    }

    fn names_conflict(&self, a: InstrId, a_format: usize, b: InstrId, b_format: usize) -> bool {
        if self.model.conflicts.is_empty() {
            return false;
        }
        let is_one_of = |names: &[String], instr: InstrId, format: usize| {
            let parts = match format.checked_sub(1) {
                None => 1,
                Some(split) => self.operations[instr.index()].splits[split].parts(),
            };
            (0..parts).any(|part| matches_any(names, self.part_name(instr, format, part)))
        };
        self.model.conflicts.iter().any(|rule| {
            is_one_of(&rule.between, a, a_format) && is_one_of(&rule.and, b, b_format)
                || is_one_of(&rule.between, b, b_format) && is_one_of(&rule.and, a, a_format)
        })
    }

    fn operands_conflict(&self, a: InstrId, b: InstrId) -> bool {
        let takes_none = |instr: InstrId| self.operations[instr.index()].kind == Kind::None;
        if takes_none(a) || takes_none(b) {
            return false;
        }
        self.model.reads.iter().any(|rule| self.reads_too_many(rule, a, b))
            || self.model.banks.iter().any(|rule| self.banks_clash(rule, a, b))
    }

    fn reads_too_many(&self, rule: &ReadRule, a: InstrId, b: InstrId) -> bool {
        let counts = |operand: &&Operand| {
            let register = self.region.registers()[operand.register.index()];
            let class = &*self.region.classes()[register.class.index()];
            (rule.classes.is_empty() || rule.classes.iter().any(|name| name == class))
                && rule.lanes.is_none_or(|[least, most]| (least..=most).contains(&register.lanes))
        };
        // One entry for each register and instruction.
        let (first, second) = (self.region.uses(a), self.region.uses(b));
        let own = first.iter().filter(counts);
        let others = second.iter().filter(counts);
        let fresh = others.filter(|use_| !first.iter().any(|other| other.register == use_.register));
        own.count() + fresh.count() > rule.most as usize
    }

    fn banks_clash(&self, rule: &BankRule, a: InstrId, b: InstrId) -> bool {
        let (first, second) = (self.region.operands(a), self.region.operands(b));
        let sources = first.iter().zip(second).zip(&rule.sources);
        sources.into_iter().any(|((x, y), banks)| self.same_bank(rule, *x, *y, *banks))
            || rule.results.is_some_and(|banks| {
                let results = self.region.defs(a).iter().zip(self.region.defs(b));
                results.into_iter().any(|(x, y)| self.same_bank(rule, x.operand, y.operand, banks))
            })
    }

    /// Return whether two operands are certainly in the same bank.
    fn same_bank(&self, rule: &BankRule, x: Operand, y: Operand, banks: u32) -> bool {
        let in_class = |operand: Operand| {
            let class = self.region.registers()[operand.register.index()].class;
            *self.region.classes()[class.index()] == *rule.class
        };
        if !in_class(x) || !in_class(y) {
            return false;
        }
        let lane = |operand: Operand| u64::from(operand.lanes.trailing_zeros());
        let number = |operand: Operand| machine_number(self.region, rule, operand).map(u64::from);
        let (x_lane, y_lane) = (lane(x), lane(y));
        let banks = u64::from(banks);
        match (number(x), number(y)) {
            (Some(p), Some(q)) => (p + x_lane) % banks == (q + y_lane) % banks,
            _ => x.register == y.register && x_lane % banks == y_lane % banks,
        }
    }
}

/// Return the number of a machine register.
fn machine_number(region: &Region, rule: &BankRule, operand: Operand) -> Option<u32> {
    region.register_name(operand.register).strip_prefix(&*rule.numbered)?.parse().ok()
}

/// Return whether an operation reads or writes a machine register.
fn is_allocated(region: &Region, model: &PackModel, instr: InstrId) -> bool {
    let results = region.defs(instr).iter().map(|def| def.operand);
    results.chain(region.uses(instr).iter().copied()).any(|operand| {
        let class = region.registers()[operand.register.index()].class;
        let class = &*region.classes()[class.index()];
        let mut rules = model.banks.iter().filter(|rule| *rule.class == *class);
        rules.any(|rule| machine_number(region, rule, operand).is_some())
    })
}

/// Return whether a name matches. A pattern that ends in `*` matches all with this prefix.
fn matches_any(names: &[String], name: &str) -> bool {
    names.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    })
}
