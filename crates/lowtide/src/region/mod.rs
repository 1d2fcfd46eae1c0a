//! The input of the scheduler: a [`Region`] of straight-line code, and the [`Kernel`] it belongs to.
//!
//! A region has two representations. The *raw* part is the compiler's: instructions with the registers they
//! define and use, lane by lane, and the dependences between them. The *values* are derived from it once,
//! when the region is built. There is one value for every set of lanes that is written together and read
//! alike. Schedulers work on values; the [checker](crate::check) reads the raw part only.
//!
//! A region is immutable after [`RegionBuilder::build`] has validated it. It lies in flat arrays, addressed
//! by typed indices. Source order is always a legal order.

mod builder;
mod error;
mod kernel;
mod latencies;
mod names;
mod operands;
mod values;

pub use builder::{InstrSpec, RegionBuilder};
#[cfg(feature = "unstable")]
pub use builder::{NameNumber, NumberedInstr};
pub use error::RegionError;
pub use kernel::Kernel;
pub(crate) use latencies::Pattern;

use std::sync::Arc;

use crate::index::{ClassId, InstrId, RegisterId, Rows, ValueId};

/// Limits that keep all sums of a region within 32 bits.
pub mod limits {
    /// Most instructions of a region.
    pub const INSTRUCTIONS: usize = 1 << 24;
    /// Most register classes of a region.
    pub const CLASSES: usize = 16;
    /// Most lanes of a register: one bit of a [`Lanes`](super::Lanes) mask each.
    pub const LANES: u32 = 64;
    /// Largest weight of all values of a region together, and largest sum of its latencies.
    pub const TOTAL: u64 = (1 << 31) - 1;
    /// Longest name of a region, kernel, class, unit or operation, in bytes.
    pub const NAME: usize = 1 << 16;
}

/// A set of lanes of one register, one bit each.
pub type Lanes = u64;

/// Why one instruction must follow another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DepKind {
    /// The later instruction reads what the earlier one writes.
    Data,
    /// The later instruction overwrites what the earlier one reads.
    Anti,
    /// The later instruction overwrites what the earlier one writes.
    Output,
    /// Both access memory that may overlap.
    Memory,
    /// One of them is a barrier.
    Barrier,
}

impl DepKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [DepKind; 5] =
        [DepKind::Data, DepKind::Anti, DepKind::Output, DepKind::Memory, DepKind::Barrier];

    /// Return the name used in region files.
    pub fn name(self) -> &'static str {
        match self {
            DepKind::Data => "data",
            DepKind::Anti => "anti",
            DepKind::Output => "output",
            DepKind::Memory => "memory",
            DepKind::Barrier => "barrier",
        }
    }
}

/// A dependence: `to` issues at least `latency` cycles after `from`, and never before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dependence {
    /// The earlier instruction.
    pub from: InstrId,
    /// The later instruction.
    pub to: InstrId,
    /// Why.
    pub kind: DepKind,
    /// Cycles between the two issues.
    pub latency: u32,
}

/// A preference of a front end beyond the dependences. It does not bind the schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HintKind {
    /// The production compiler prefers this order (macro fusion, for example).
    Artificial,
    /// The production compiler prefers to keep the two together (load clustering).
    Cluster,
    /// A weak preference.
    Weak,
    /// A dependence of the code after the region.
    Exit,
}

impl HintKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [HintKind; 4] = [HintKind::Artificial, HintKind::Cluster, HintKind::Weak, HintKind::Exit];

    /// Return the name used in region files.
    pub fn name(self) -> &'static str {
        match self {
            HintKind::Artificial => "artificial",
            HintKind::Cluster => "cluster",
            HintKind::Weak => "weak",
            HintKind::Exit => "exit",
        }
    }
}

/// A recorded preference; see [`HintKind`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hint {
    /// The earlier instruction.
    pub from: InstrId,
    /// The later instruction; none for the end of the region.
    pub to: Option<InstrId>,
    /// The kind of preference.
    pub kind: HintKind,
    /// Cycles between the two issues.
    pub latency: u32,
}

/// A neighbour in the dependence graph: parallel dependences are one edge with the largest latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// The instruction at the other end.
    pub instr: InstrId,
    /// Cycles between the two issues.
    pub latency: u32,
}

/// A register as the front end sees it, with one weight for each of its lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// The class whose pressure it adds to.
    pub class: ClassId,
    /// Number of lanes.
    pub lanes: u32,
    /// Pressure of one live lane: 1 for machine registers, a size for anything else.
    pub lane_weight: u32,
}

impl Register {
    /// Return the mask of all lanes.
    pub fn all_lanes(&self) -> Lanes {
        if self.lanes >= 64 { Lanes::MAX } else { (1 << self.lanes) - 1 }
    }
}

/// Some lanes of one register, as an operand or on a live-in or live-out list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operand {
    /// The register.
    pub register: RegisterId,
    /// The lanes that are read or written.
    pub lanes: Lanes,
}

/// The front end's flags of a written operand. They do not affect the pressure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DefFlags {
    /// Nobody reads the result.
    pub dead: bool,
    /// Written before all operands are read: cannot share a register with one.
    pub early_clobber: bool,
    /// Must take the register of an operand.
    pub tied: bool,
    /// The lanes not written are undefined afterwards.
    pub undef: bool,
}

/// A written operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Def {
    /// The register and the lanes written.
    pub operand: Operand,
    /// The flags of the front end.
    pub flags: DefFlags,
}

/// One definition, or live-in, of lanes that are always used together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    /// The class whose pressure it adds to.
    pub class: ClassId,
    /// The weight that it adds while it is live.
    pub weight: u32,
    /// The instruction that defines it; none if it is live at the start of the region.
    pub def: Option<InstrId>,
    /// Whether it is still needed after the region.
    pub live_out: bool,
    /// The register it came from.
    pub register: RegisterId,
    /// The lanes of that register.
    pub lanes: Lanes,
}

/// Peak pressure of one class, in the two definitions of the field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Peak {
    /// Over the boundaries between instructions: operands are freed before results are placed.
    pub between: u32,
    /// At each instruction: its operands and its results together.
    pub at: u32,
}

/// The schedule that a production compiler chose, and the peaks it reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Production {
    /// The scheduler's name.
    pub by: Box<str>,
    /// Its order.
    pub order: Vec<InstrId>,
    /// Its peak pressure for each class, if reported.
    pub peaks: Option<Vec<Peak>>,
}

/// An instruction, apart from its operands and dependences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instr {
    pub(crate) opcode: u32,
    pub(crate) units: u32,
    pub(crate) flags: u32,
    pub(crate) latency: u32,
    pub(crate) micro_ops: u32,
    pub(crate) address_space: i32,
}

/// A need for a functional unit, which is busy for some cycles from the issue on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UnitNeed {
    /// The unit's name in the target.
    pub unit: Box<str>,
    /// The busy cycles.
    pub cycles: u32,
}

/// Straight-line code to schedule. Made by [`RegionBuilder`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    pub(crate) name: Box<str>,
    pub(crate) loop_depth: u32,
    pub(crate) frequency: Option<u32>,
    pub(crate) boundary: Box<str>,
    pub(crate) classes: Arc<[Box<str>]>,
    pub(crate) through: Vec<u32>,
    pub(crate) names: names::RegionNames,
    pub(crate) unit_sets: Vec<Arc<[UnitNeed]>>,
    pub(crate) instrs: Vec<Instr>,
    pub(crate) registers: Vec<Register>,
    pub(crate) defs: Rows<Def>,
    pub(crate) uses: Rows<Operand>,
    pub(crate) unmerged: operands::Unmerged,
    /// The operands that are live at the start, and from `live_out` on those that are live at the end.
    pub(crate) live_ends: Vec<Operand>,
    pub(crate) live_out: u32,
    pub(crate) deps: Vec<Dependence>,
    pub(crate) hints: Vec<Hint>,
    /// The predecessors of each instruction, and behind them the successors of each: one table has fewer
    /// allocations than two.
    pub(crate) neighbours: Rows<Edge>,
    pub(crate) values: values::Values,
    pub(crate) source_peaks: Option<Vec<Peak>>,
    pub(crate) production: Option<Production>,
}

impl Region {
    /// Return the name, unique within its kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Return the number of loops around the region.
    pub fn loop_depth(&self) -> u32 {
        self.loop_depth
    }

    /// Return how often a wave runs the region, if it is known. Only the ratio to the other regions of the
    /// kernel counts.
    pub fn frequency(&self) -> Option<u32> {
        self.frequency
    }

    /// Return the region with a frequency, as a profile knows it.
    pub fn with_frequency(self, frequency: u32) -> Region {
        Region { frequency: Some(frequency), ..self }
    }

    /// Return the operation that ends the region without being part of it; empty at the end of a block.
    pub fn boundary(&self) -> &str {
        &self.boundary
    }

    /// Return the number of instructions.
    #[allow(clippy::len_without_is_empty)] // a region has at least one instruction
    pub fn len(&self) -> usize {
        self.instrs.len()
    }

    /// Return all instructions in source order, which is a legal order.
    pub fn instrs(&self) -> impl DoubleEndedIterator<Item = InstrId> + ExactSizeIterator + use<> {
        (0..self.instrs.len() as u32).map(InstrId)
    }

    /// Return the operation's name.
    pub fn opcode(&self, instr: InstrId) -> &str {
        self.names.opcode(self.instrs[instr.index()].opcode)
    }

    /// Return the cycles until the results can be used. Informative only: schedulers use the latencies of
    /// dependences.
    pub fn latency(&self, instr: InstrId) -> u32 {
        self.instrs[instr.index()].latency
    }

    /// Return the micro-operations, as recorded by the front end.
    pub fn micro_ops(&self, instr: InstrId) -> u32 {
        self.instrs[instr.index()].micro_ops
    }

    /// Return the address space of the memory accessed, as recorded by the front end; -1 for none.
    pub fn address_space(&self, instr: InstrId) -> i32 {
        self.instrs[instr.index()].address_space
    }

    /// Return the front end's flags, one letter each (`docs/region-format.md` lists them).
    pub fn flags(&self, instr: InstrId) -> &str {
        self.names.flag_set(self.instrs[instr.index()].flags)
    }

    /// Return the functional units needed.
    pub fn units(&self, instr: InstrId) -> &[UnitNeed] {
        &self.unit_sets[self.instrs[instr.index()].units as usize]
    }

    /// Return the names of the register classes; a [`ClassId`] is a position in it.
    pub fn classes(&self) -> &[Box<str>] {
        &self.classes
    }

    /// Return all class indices.
    pub fn class_ids(&self) -> impl DoubleEndedIterator<Item = ClassId> + ExactSizeIterator + use<> {
        (0..self.classes.len() as u8).map(ClassId)
    }

    /// Return the weight that passes through the region unused: part of the pressure at every point.
    pub fn through(&self, class: ClassId) -> u32 {
        self.through[class.index()]
    }

    /// Return the registers; a [`RegisterId`] is a position in it.
    pub fn registers(&self) -> &[Register] {
        &self.registers
    }

    /// Return the front end's name of a register, for messages and files.
    pub fn register_name(&self, register: RegisterId) -> &str {
        self.names.register(register)
    }

    /// Return the operands that an instruction writes.
    pub fn defs(&self, instr: InstrId) -> &[Def] {
        self.defs.row(instr.index())
    }

    /// Return the registers that an instruction reads, by increasing index, each once with all lanes read.
    /// [`Region::operands`] has the positions of the operands.
    pub fn uses(&self, instr: InstrId) -> &[Operand] {
        self.uses.row(instr.index())
    }

    /// Return the operands that an instruction reads, as the front end gave them: in their order, with
    /// duplicates.
    pub fn operands(&self, instr: InstrId) -> &[Operand] {
        self.unmerged.row(instr).unwrap_or_else(|| self.uses(instr))
    }

    /// Return the operands that are live at the start, without those that pass through unused.
    pub fn live_in(&self) -> &[Operand] {
        &self.live_ends[..self.live_out as usize]
    }

    /// Return the operands that are live at the end, without those that pass through unused.
    pub fn live_out(&self) -> &[Operand] {
        &self.live_ends[self.live_out as usize..]
    }

    /// Return the dependences as given, several between the same two instructions if there are several
    /// reasons.
    pub fn deps(&self) -> &[Dependence] {
        &self.deps
    }

    /// Return the recorded preferences, which do not bind the schedule.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Return the instructions that must come before `instr`, each once, by increasing index.
    pub fn preds(&self, instr: InstrId) -> &[Edge] {
        self.neighbours.row(instr.index())
    }

    /// Return the instructions that must come after `instr`, each once, by increasing index.
    pub fn succs(&self, instr: InstrId) -> &[Edge] {
        self.neighbours.row(self.len() + instr.index())
    }

    /// Return the number of edges of the dependence graph.
    pub fn edge_count(&self) -> usize {
        self.neighbours.items().len() / 2
    }

    /// Return the values; a [`ValueId`] is a position in it.
    pub fn values(&self) -> &[Value] {
        &self.values.values
    }

    /// Return the instructions that read a value, by increasing index.
    pub fn value_uses(&self, value: ValueId) -> &[InstrId] {
        self.values.uses.row(value.index())
    }

    /// Return whether nothing needs the value. A dead value adds to no pressure between instructions.
    pub fn is_dead(&self, value: ValueId) -> bool {
        self.value_uses(value).is_empty() && !self.values()[value.index()].live_out
    }

    /// Return the values that an instruction defines, dead ones included.
    pub fn defined_values(&self, instr: InstrId) -> &[ValueId] {
        self.values.touched.row(instr.index())
    }

    /// Return the values that an instruction reads.
    pub fn used_values(&self, instr: InstrId) -> &[ValueId] {
        self.values.touched.row(self.len() + instr.index())
    }

    /// Return the weight that an instruction both reads and overwrites, for each class that has any. Old and
    /// new value share these lanes, so the pressure *at* the instruction counts them once.
    pub fn overwritten(&self, instr: InstrId) -> &[(ClassId, u32)] {
        self.values.overwritten.as_ref().map_or(&[], |overwritten| overwritten.row(instr.index()))
    }

    /// Return the peaks of the source order as the front end recorded them.
    pub fn source_peaks(&self) -> Option<&[Peak]> {
        self.source_peaks.as_deref()
    }

    /// Return the production compiler's schedule, if recorded.
    pub fn production(&self) -> Option<&Production> {
        self.production.as_ref()
    }

    /// Return the graph alone. Weight that passes through and recorded schedules are dropped, and the order
    /// of values does not depend on registers. Schedulers treat two bare regions alike if their graphs have
    /// the same [fingerprint](crate::analysis::fingerprint::fingerprint).
    pub(crate) fn bare(&self) -> Region {
        Region {
            through: vec![0; self.through.len()],
            values: self.values.sorted(self.len()),
            source_peaks: None,
            production: None,
            ..self.clone()
        }
    }

    /// `#7 V_ADD_F32`: how messages name an instruction.
    pub fn describe(&self, instr: InstrId) -> String {
        format!("#{instr} {}", self.opcode(instr))
    }
}
