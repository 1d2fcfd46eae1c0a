//! The builder of a [`Region`]: collect everything, then validate it at once.
//!
//! The builder accepts the parts of a region in any order and refuses none. `validate` checks the whole and
//! makes the tables of the region, or returns the first error. `interner` gives equal names one number.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::names::RegionNames;
use super::{
    Def, DefFlags, DepKind, Dependence, Hint, HintKind, Instr, Lanes, Operand, Peak, Production, Region,
    RegionError, Register, UnitNeed, limits, values,
};
use crate::index::{ClassId, InstrId, Names, RegisterId};

mod interner;
#[cfg(feature = "unstable")]
mod numbered;
mod validate;

use interner::{Interner, hash};
#[cfg(feature = "unstable")]
pub use numbered::{NameNumber, NumberedInstr};
pub(super) use validate::Tables;

/// An instruction to add to a [`RegionBuilder`], without its operands.
#[derive(Clone, Copy, Debug)]
pub struct InstrSpec<'a> {
    /// The operation's name.
    pub opcode: &'a str,
    /// Cycles until its results can be used.
    pub latency: u32,
    /// Functional units and for how many cycles each.
    pub units: &'a [(&'a str, u32)],
    /// Letters as listed in `docs/region-format.md`.
    pub flags: &'a str,
    /// Micro-operations.
    pub micro_ops: u32,
    /// Address space of the memory accessed, -1 for none.
    pub address_space: i32,
}

impl<'a> InstrSpec<'a> {
    /// Make an operation with a latency and defaults for the rest.
    pub fn new(opcode: &'a str, latency: u32) -> Self {
        InstrSpec { opcode, latency, units: &[], flags: "", micro_ops: 1, address_space: -1 }
    }
}

/// Collect a region and validate it.
///
/// ```
/// use lowtide::region::{DepKind, InstrSpec, RegionBuilder};
///
/// // b = load a; c = b * b
/// let mut builder = RegionBuilder::new("example");
/// let vgpr = builder.class("vgpr");
/// let [a, b, c] = ["a", "b", "c"].map(|name| builder.register(name, vgpr, 1, 1));
/// builder.live_in(a, 1);
/// builder.live_out(c, 1);
/// let load = builder.instr(InstrSpec::new("load", 80));
/// builder.uses(load, a, 1);
/// builder.defs(load, b, 1);
/// let mul = builder.instr(InstrSpec::new("mul", 4));
/// builder.uses(mul, b, 1);
/// builder.defs(mul, c, 1);
/// builder.depend(load, mul, DepKind::Data, 80);
/// let region = builder.build()?;
/// assert_eq!(region.len(), 2);
/// assert_eq!(region.values().len(), 3);
/// # Ok::<(), lowtide::region::RegionError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RegionBuilder {
    name: String,
    loop_depth: u32,
    frequency: Option<u32>,
    boundary: String,
    classes: Names,
    through: Vec<u32>,
    opcodes: Interner,
    flag_sets: Interner,
    unit_sets: Vec<Arc<[UnitNeed]>>,
    units_by_hash: FxHashMap<u64, u32>,
    instrs: Vec<Instr>,
    pub(super) registers: Vec<Register>,
    register_names: Names,
    defs: Vec<(InstrId, Def)>,
    uses: Vec<(InstrId, Operand)>,
    pub(super) live_in: Vec<Operand>,
    pub(super) live_out: Vec<Operand>,
    deps: Vec<Dependence>,
    hints: Vec<Hint>,
    source_peaks: Option<Vec<Peak>>,
    production: Option<Production>,
    scratch: Scratch,
    shared: Shared,
}

/// Data that the regions of one reader share.
#[derive(Clone, Debug, Default)]
struct Shared {
    /// The classes of the last region.
    classes: Arc<[Box<str>]>,
    /// Unit sets of earlier regions by their hash.
    unit_sets: FxHashMap<u64, Arc<[UnitNeed]>>,
}

impl Shared {
    /// A target has a few dozen unit sets. Unusual files have more; the table is then cleared.
    const MOST_UNIT_SETS: usize = 1024;

    fn classes(&mut self, classes: &Names) -> Arc<[Box<str>]> {
        if !self.classes.iter().map(|name| &**name).eq(classes.iter()) {
            self.classes = classes.iter().map(Box::from).collect();
        }
        self.classes.clone()
    }

    fn unit_set(&mut self, hash: u64, units: &[(&str, u32)]) -> Arc<[UnitNeed]> {
        if let Some(set) = self.unit_sets.get(&hash)
            && is_set(set, units)
        {
            return set.clone();
        }
        let need = |&(unit, cycles): &(&str, u32)| UnitNeed { unit: unit.into(), cycles };
        let set: Arc<[UnitNeed]> = units.iter().map(need).collect();
        if self.unit_sets.len() >= Self::MOST_UNIT_SETS {
            self.unit_sets.clear();
        }
        self.unit_sets.insert(hash, set.clone());
        set
    }
}

fn is_set(set: &[UnitNeed], units: &[(&str, u32)]) -> bool {
    set.len() == units.len() && set.iter().zip(units).all(|(a, b)| *a.unit == *b.0 && a.cycles == b.1)
}

/// Memory that is only needed while a region is validated.
#[derive(Clone, Debug, Default)]
struct Scratch {
    slowest: Vec<u32>,
    positions: Vec<u32>,
    values: values::Scratch,
}

impl RegionBuilder {
    /// Make an empty region.
    pub fn new(name: &str) -> Self {
        RegionBuilder { name: name.to_string(), ..RegionBuilder::default() }
    }

    /// Empty the builder for another region but keep its memory, which saves allocations for readers of many
    /// regions.
    pub fn restart(&mut self) {
        let RegionBuilder {
            name,
            loop_depth,
            frequency,
            boundary,
            classes,
            through,
            opcodes,
            flag_sets,
            unit_sets,
            units_by_hash,
            instrs,
            registers,
            register_names,
            defs,
            uses,
            live_in,
            live_out,
            deps,
            hints,
            source_peaks,
            production,
            scratch: _,
            shared: _,
        } = self;
        name.clear();
        *loop_depth = 0;
        *frequency = None;
        boundary.clear();
        classes.clear();
        through.clear();
        opcodes.clear();
        flag_sets.clear();
        unit_sets.clear();
        units_by_hash.clear();
        instrs.clear();
        registers.clear();
        register_names.clear();
        defs.clear();
        uses.clear();
        live_in.clear();
        live_out.clear();
        deps.clear();
        hints.clear();
        *source_peaks = None;
        *production = None;
    }

    /// Set the name.
    pub fn name(&mut self, name: &str) {
        self.name.clear();
        self.name.push_str(name);
    }

    /// Set the number of loops around the region.
    pub fn loop_depth(&mut self, depth: u32) {
        self.loop_depth = depth;
    }

    /// Set how often a wave runs the region. Only the ratio to the other regions of the kernel counts.
    pub fn frequency(&mut self, frequency: u32) {
        self.frequency = Some(frequency);
    }

    /// Set the operation that ends the region.
    pub fn boundary(&mut self, opcode: &str) {
        self.boundary.clear();
        self.boundary.push_str(opcode);
    }

    /// Return the class of that name, and add it if it is new.
    pub fn class(&mut self, name: &str) -> ClassId {
        let position = self.classes.find(name).unwrap_or_else(|| {
            self.through.push(0);
            self.classes.push(name)
        });
        ClassId(position.min(u8::MAX as usize) as u8) // build() refuses more classes than fit
    }

    /// Set the weight that passes through the region unused.
    pub fn through(&mut self, class: ClassId, weight: u32) {
        self.through[class.index()] = weight;
    }

    /// Add a register of `lanes` lanes. Each live lane adds `lane_weight` to the pressure.
    pub fn register(&mut self, name: &str, class: ClassId, lanes: u32, lane_weight: u32) -> RegisterId {
        let id = RegisterId(self.registers.len() as u32);
        self.registers.push(Register { class, lanes, lane_weight });
        self.register_names.push(name);
        id
    }

    /// Add an instruction at the end of the source order.
    pub fn instr(&mut self, spec: InstrSpec) -> InstrId {
        let InstrSpec { opcode, latency, units, flags, micro_ops, address_space } = spec;
        let units = self.unit_set_number(units);
        let (opcode, flags) = (self.opcodes.intern(opcode), self.flag_sets.intern(flags));
        self.push_instr(Instr { opcode, units, flags, latency, micro_ops, address_space })
    }

    fn push_instr(&mut self, instr: Instr) -> InstrId {
        let id = InstrId(self.instrs.len() as u32);
        self.instrs.push(instr);
        id
    }

    /// Return the number of a set of units, new or known.
    fn unit_set_number(&mut self, units: &[(&str, u32)]) -> u32 {
        let same = |set: &[UnitNeed]| is_set(set, units);
        // The last few sets are compared one by one. A hash finds the others, so the time does not grow with
        // their number.
        let recent = self.unit_sets.len().saturating_sub(Interner::FEW);
        let known = match self.unit_sets[recent..].iter().rposition(|set| same(set)) {
            Some(position) => Some(recent + position),
            None => {
                let hashed = self.units_by_hash.get(&hash(units)).map(|number| *number as usize);
                hashed.filter(|&number| same(&self.unit_sets[number]))
            }
        };
        known.unwrap_or_else(|| {
            let hash = hash(units);
            self.units_by_hash.insert(hash, self.unit_sets.len() as u32);
            self.unit_sets.push(self.shared.unit_set(hash, units));
            self.unit_sets.len() - 1
        }) as u32
    }

    /// Let an instruction write lanes of a register.
    pub fn defs(&mut self, instr: InstrId, register: RegisterId, lanes: Lanes) {
        self.defs_with(instr, register, lanes, DefFlags::default());
    }

    /// Let an instruction write lanes of a register, with the flags of the front end.
    pub fn defs_with(&mut self, instr: InstrId, register: RegisterId, lanes: Lanes, flags: DefFlags) {
        self.defs.push((instr, Def { operand: Operand { register, lanes }, flags }));
    }

    /// Let an instruction read lanes of a register, as its next operand. An instruction may read a register
    /// several times.
    pub fn uses(&mut self, instr: InstrId, register: RegisterId, lanes: Lanes) {
        self.uses.push((instr, Operand { register, lanes }));
    }

    /// Mark lanes of a register as live at the start.
    pub fn live_in(&mut self, register: RegisterId, lanes: Lanes) {
        self.live_in.push(Operand { register, lanes });
    }

    /// Mark lanes of a register as live at the end.
    pub fn live_out(&mut self, register: RegisterId, lanes: Lanes) {
        self.live_out.push(Operand { register, lanes });
    }

    /// Add a dependence.
    pub fn depend(&mut self, from: InstrId, to: InstrId, kind: DepKind, latency: u32) {
        self.deps.push(Dependence { from, to, kind, latency });
    }

    /// Record a preference that does not bind the schedule. `to` is `None` for the end of the region.
    pub fn hint(&mut self, from: InstrId, to: Option<InstrId>, kind: HintKind, latency: u32) {
        self.hints.push(Hint { from, to, kind, latency });
    }

    /// Record the peaks of the source order, one for each class.
    pub fn source_peaks(&mut self, peaks: Vec<Peak>) {
        self.source_peaks = Some(peaks);
    }

    /// Record the production compiler's schedule.
    pub fn production(&mut self, production: Production) {
        self.production = Some(production);
    }

    /// Return the number of instructions so far.
    pub(super) fn len(&self) -> usize {
        self.instrs.len()
    }

    /// Add the dependences that the registers imply: data (with the latency of the writer), anti (0) and
    /// output (1). Front ends without a dependence graph need them. The caller adds those of memory.
    pub fn depend_on_registers(&mut self) {
        let mut lanes: FxHashMap<(RegisterId, u32), (Option<InstrId>, Vec<InstrId>)> = FxHashMap::default();
        let bits = |operand: Operand| (0..limits::LANES).filter(move |bit| operand.lanes >> bit & 1 == 1);
        let (mut next_use, mut next_def) = (0, 0);
        let mut uses = self.uses.clone();
        let mut defs = self.defs.clone();
        uses.sort_by_key(|(instr, _)| *instr);
        defs.sort_by_key(|(instr, _)| *instr);
        let mut deps = Vec::new();
        for j in (0..self.instrs.len()).map(InstrId::at) {
            while let Some((_, operand)) = uses.get(next_use).filter(|(instr, _)| *instr == j) {
                for bit in bits(*operand) {
                    let (def, readers) = lanes.entry((operand.register, bit)).or_default();
                    if let Some(from) = *def {
                        let latency = self.instrs[from.index()].latency;
                        deps.push(Dependence { from, to: j, kind: DepKind::Data, latency });
                    }
                    readers.push(j);
                }
                next_use += 1;
            }
            while let Some((_, Def { operand, .. })) = defs.get(next_def).filter(|(instr, _)| *instr == j) {
                for bit in bits(*operand) {
                    let (def, readers) = lanes.entry((operand.register, bit)).or_default();
                    let readers = std::mem::take(readers);
                    if let Some(from) = def.replace(j).filter(|def| *def != j) {
                        deps.push(Dependence { from, to: j, kind: DepKind::Output, latency: 1 });
                    }
                    for from in readers.into_iter().filter(|reader| *reader != j) {
                        deps.push(Dependence { from, to: j, kind: DepKind::Anti, latency: 0 });
                    }
                }
                next_def += 1;
            }
        }
        deps.sort_unstable();
        deps.dedup();
        self.deps.append(&mut deps);
    }

    /// Validate the region.
    pub fn build(mut self) -> Result<Region, RegionError> {
        self.finish()
    }

    /// Validate the region. The builder can be used again after [`RegionBuilder::restart`].
    pub fn finish(&mut self) -> Result<Region, RegionError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.validate(&mut scratch);
        self.scratch = scratch;
        let (tables, values) = result?;
        Ok(Region {
            name: self.name.as_str().into(),
            loop_depth: self.loop_depth,
            frequency: self.frequency,
            boundary: self.boundary.as_str().into(),
            classes: self.shared.classes(&self.classes),
            through: self.through.clone(),
            names: RegionNames::new(&self.opcodes.names, &self.flag_sets.names, &self.register_names),
            unit_sets: self.unit_sets.clone(),
            instrs: self.instrs.clone(),
            registers: self.registers.clone(),
            defs: tables.defs,
            uses: tables.uses,
            unmerged: tables.unmerged,
            live_ends: [&*self.live_in, &*self.live_out].concat(),
            live_out: self.live_in.len() as u32,
            deps: self.deps.clone(),
            hints: self.hints.clone(),
            neighbours: tables.neighbours,
            values,
            source_peaks: self.source_peaks.take(),
            production: self.production.take(),
        })
    }

    /// `instruction #7 V_ADD_F32`: how messages name an instruction.
    pub fn describe(&self, instr: InstrId) -> String {
        let opcode =
            self.instrs.get(instr.index()).map_or("?", |spec| self.opcodes.names.get(spec.opcode as usize));
        format!("instruction #{instr} {opcode}")
    }

    pub(super) fn register_name(&self, register: RegisterId) -> String {
        self.register_names.get(register.index()).to_string()
    }

    pub(super) fn hazard(
        &self,
        earlier: InstrId,
        later: InstrId,
        register: RegisterId,
        [does, did]: [&'static str; 2],
    ) -> RegionError {
        RegionError::Unordered {
            earlier: self.describe(earlier),
            later: self.describe(later),
            register: self.register_name(register),
            does,
            did,
        }
    }
}
