//! The one way to make a [`Region`]: collect, then validate everything at once.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use super::{
    Def, DefFlags, DepKind, Dependence, Edge, Hint, HintKind, Instr, Lanes, Operand, Peak, Production,
    Region, Register, UnitNeed, limits, values,
};
use crate::index::{ClassId, InstrId, Names, RegisterId, Rows};

/// What is wrong with a region, in words for a person. Instructions are named `#position OPERATION`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RegionError {
    /// No instruction.
    #[error("the region has no instructions")]
    Empty,
    /// More of something than the limits allow.
    #[error("too many {what}: {count}, at most {limit} are supported")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A name longer than the limits allow.
    #[error("a name of {length} bytes ({start}...) is too long: at most {} are supported", limits::NAME)]
    NameTooLong {
        /// Its length.
        length: usize,
        /// Its first characters.
        start: String,
    },
    /// An instruction that does not exist.
    #[error("{place} names instruction #{instr}, but there are only {count} (#0 to #{})", count - 1)]
    UnknownInstr {
        /// What refers to it.
        place: String,
        /// Its number.
        instr: u32,
        /// How many there are.
        count: usize,
    },
    /// A register that does not exist.
    #[error("{place} names register number {register}, but there are only {count}")]
    UnknownRegister {
        /// What refers to it.
        place: String,
        /// Its number.
        register: u32,
        /// How many there are.
        count: usize,
    },
    /// A register without lanes, with too many, or without a weight.
    #[error(
        "register {register} has {lanes} lanes of weight {weight}: 1 to {} lanes of weight 1 or more are supported",
        limits::LANES
    )]
    BadRegister {
        /// Its name.
        register: String,
        /// Its lanes.
        lanes: u32,
        /// The weight of each.
        weight: u32,
    },
    /// A unit that an instruction asks for twice: one need can say for how long.
    #[error("{instr} names unit {unit:?} twice")]
    DuplicateUnit {
        /// The instruction.
        instr: String,
        /// The unit.
        unit: String,
    },
    /// A lane that a register does not have, or no lane at all.
    #[error("{place} names lanes {lanes:#x} of register {register}, which has {count} lanes")]
    BadLanes {
        /// What refers to them.
        place: String,
        /// The register's name.
        register: String,
        /// The lanes named.
        lanes: Lanes,
        /// The lanes it has.
        count: u32,
    },
    /// One instruction, or the live-in list, defines the same lane twice.
    #[error("duplicate definition: {place} defines lanes {lanes:#x} of register {register} twice")]
    DuplicateDefinition {
        /// Where.
        place: String,
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// A use of something that is not defined.
    #[error(
        "{instr} uses lanes {lanes:#x} of register {register}, which no earlier instruction defines and \
         which are not live-in"
    )]
    UndefinedUse {
        /// The instruction.
        instr: String,
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// A live-out that is not defined.
    #[error(
        "lanes {lanes:#x} of register {register} are live-out, but no instruction defines them and they are \
         not live-in"
    )]
    UndefinedLiveOut {
        /// The register's name.
        register: String,
        /// The lanes.
        lanes: Lanes,
    },
    /// The dependences contain a cycle.
    #[error("the dependences form a cycle: {}", .0.join(" -> "))]
    Cycle(
        /// The instructions along it; the first is repeated at the end.
        Vec<String>,
    ),
    /// A dependence against the source order, which must be legal.
    #[error("dependence {from} -> {to} goes backwards: instructions must be listed in a legal order")]
    Backwards {
        /// The instruction that must come first.
        from: String,
        /// The instruction that must follow.
        to: String,
    },
    /// A hazard that no dependence covers, so that the values would depend on the order.
    #[error(
        "{later} {does} register {register} after {earlier} {did} it, but no dependence keeps them in order"
    )]
    Unordered {
        /// The instruction that comes first in source order.
        earlier: String,
        /// The other one.
        later: String,
        /// The register's name.
        register: String,
        /// What the later instruction does with it.
        does: &'static str,
        /// What the earlier instruction does with it.
        did: &'static str,
    },
    /// Sums would not fit.
    #[error("the {what} of the region add up to {sum}, which is over the supported {}", limits::TOTAL)]
    Overflow {
        /// Of what.
        what: &'static str,
        /// How much.
        sum: u64,
    },
    /// A recorded order that is not a permutation.
    #[error("the recorded order of {by} is not a permutation of the {count} instructions: {problem}")]
    BadOrder {
        /// Whose order.
        by: String,
        /// How many instructions there are.
        count: usize,
        /// What is wrong.
        problem: String,
    },
    /// A recorded order that breaks a dependence.
    #[error("the recorded order of {by} is illegal: it puts {to} before {from}, on which it depends")]
    IllegalOrder {
        /// Whose order.
        by: String,
        /// The instruction that must come first.
        from: String,
        /// The instruction that must follow.
        to: String,
    },
    /// Peaks for more or fewer classes than the region has.
    #[error("recorded peaks are given for {given} classes, but the region has {count}")]
    BadPeaks {
        /// How many are given.
        given: usize,
        /// How many there are.
        count: usize,
    },
}

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
    /// An operation with a latency, and nothing special about it.
    pub fn new(opcode: &'a str, latency: u32) -> Self {
        InstrSpec { opcode, latency, units: &[], flags: "", micro_ops: 1, address_space: -1 }
    }
}

/// Names with a small number for each distinct one.
#[derive(Clone, Debug, Default)]
struct Interner {
    names: Names,
    /// By hash, the first name that has it; filled once there are too many names to compare with each.
    by_hash: FxHashMap<u64, u32>,
}

impl Interner {
    const FEW: usize = 12;

    fn clear(&mut self) {
        self.names.clear();
        self.by_hash.clear();
    }

    fn intern(&mut self, text: &str) -> u32 {
        if self.names.len() <= Self::FEW {
            if let Some(number) = self.names.find(text) {
                return number as u32;
            }
            if self.names.len() == Self::FEW {
                for (number, name) in self.names.iter().enumerate() {
                    self.by_hash.entry(hash(name)).or_insert(number as u32);
                }
            }
        }
        if self.names.len() < Self::FEW {
            return self.names.push(text) as u32;
        }
        let number = *self.by_hash.entry(hash(text)).or_insert(self.names.len() as u32);
        if number as usize == self.names.len() {
            self.names.push(text);
        } else if self.names.get(number as usize) != text {
            // Two names with one hash: rare enough for a search.
            let found = self.names.find(text);
            return found.unwrap_or_else(|| self.names.push(text)) as u32;
        }
        number
    }
}

fn hash<T: std::hash::Hash + ?Sized>(what: &T) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault};
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(what)
}

/// Collects a region and validates it.
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

/// What regions of one reader have in common, and share.
#[derive(Clone, Debug, Default)]
struct Shared {
    /// The classes of the last region.
    classes: Arc<[Box<str>]>,
    /// Unit sets of earlier regions by their hash.
    unit_sets: FxHashMap<u64, Arc<[UnitNeed]>>,
}

impl Shared {
    /// A target has a few dozen unit sets. More come from odd files, and are forgotten again.
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
    /// An empty region.
    pub fn new(name: &str) -> Self {
        RegionBuilder { name: name.to_string(), ..RegionBuilder::default() }
    }

    /// Empties the builder for another region but keeps its memory: a reader of many regions saves the time
    /// to get it again.
    pub fn restart(&mut self) {
        let RegionBuilder {
            name,
            loop_depth,
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

    /// Sets the name.
    pub fn name(&mut self, name: &str) {
        self.name.clear();
        self.name.push_str(name);
    }

    /// Sets how many loops enclose the region.
    pub fn loop_depth(&mut self, depth: u32) {
        self.loop_depth = depth;
    }

    /// Sets the operation that ends the region.
    pub fn boundary(&mut self, opcode: &str) {
        self.boundary.clear();
        self.boundary.push_str(opcode);
    }

    /// The class of that name, added if it is new.
    pub fn class(&mut self, name: &str) -> ClassId {
        let position = self.classes.find(name).unwrap_or_else(|| {
            self.through.push(0);
            self.classes.push(name)
        });
        ClassId(position.min(u8::MAX as usize) as u8) // build() refuses more classes than fit
    }

    /// Sets the weight that only passes through the region.
    pub fn through(&mut self, class: ClassId, weight: u32) {
        self.through[class.index()] = weight;
    }

    /// Adds a register of `lanes` lanes, each of which adds `lane_weight` to the pressure while it is live.
    pub fn register(&mut self, name: &str, class: ClassId, lanes: u32, lane_weight: u32) -> RegisterId {
        let id = RegisterId(self.registers.len() as u32);
        self.registers.push(Register { class, lanes, lane_weight });
        self.register_names.push(name);
        id
    }

    /// Adds an instruction at the end of the source order.
    pub fn instr(&mut self, spec: InstrSpec) -> InstrId {
        let same = |set: &[UnitNeed]| is_set(set, spec.units);
        // The last few sets are compared one by one; the others are found by their hash, so that the time
        // does not grow with their number.
        let recent = self.unit_sets.len().saturating_sub(Interner::FEW);
        let known = match self.unit_sets[recent..].iter().rposition(|set| same(set)) {
            Some(position) => Some(recent + position),
            None => {
                let hashed = self.units_by_hash.get(&hash(spec.units)).map(|number| *number as usize);
                hashed.filter(|&number| same(&self.unit_sets[number]))
            }
        };
        let units = known.unwrap_or_else(|| {
            let hash = hash(spec.units);
            self.units_by_hash.insert(hash, self.unit_sets.len() as u32);
            self.unit_sets.push(self.shared.unit_set(hash, spec.units));
            self.unit_sets.len() - 1
        });
        let id = InstrId(self.instrs.len() as u32);
        self.instrs.push(Instr {
            opcode: self.opcodes.intern(spec.opcode),
            units: units as u32,
            flags: self.flag_sets.intern(spec.flags),
            latency: spec.latency,
            micro_ops: spec.micro_ops,
            address_space: spec.address_space,
        });
        id
    }

    /// Lets an instruction write lanes of a register.
    pub fn defs(&mut self, instr: InstrId, register: RegisterId, lanes: Lanes) {
        self.defs_with(instr, register, lanes, DefFlags::default());
    }

    /// Lets an instruction write lanes of a register, with what the front end says about it.
    pub fn defs_with(&mut self, instr: InstrId, register: RegisterId, lanes: Lanes, flags: DefFlags) {
        self.defs.push((instr, Def { operand: Operand { register, lanes }, flags }));
    }

    /// Lets an instruction read lanes of a register.
    pub fn uses(&mut self, instr: InstrId, register: RegisterId, lanes: Lanes) {
        self.uses.push((instr, Operand { register, lanes }));
    }

    /// Marks lanes of a register as live at the start.
    pub fn live_in(&mut self, register: RegisterId, lanes: Lanes) {
        self.live_in.push(Operand { register, lanes });
    }

    /// Marks lanes of a register as live at the end.
    pub fn live_out(&mut self, register: RegisterId, lanes: Lanes) {
        self.live_out.push(Operand { register, lanes });
    }

    /// Adds a dependence.
    pub fn depend(&mut self, from: InstrId, to: InstrId, kind: DepKind, latency: u32) {
        self.deps.push(Dependence { from, to, kind, latency });
    }

    /// Adds a preference that binds nothing; `to` is none for the end of the region.
    pub fn hint(&mut self, from: InstrId, to: Option<InstrId>, kind: HintKind, latency: u32) {
        self.hints.push(Hint { from, to, kind, latency });
    }

    /// Records the peaks of the source order, one for each class.
    pub fn source_peaks(&mut self, peaks: Vec<Peak>) {
        self.source_peaks = Some(peaks);
    }

    /// Records the production compiler's schedule.
    pub fn production(&mut self, production: Production) {
        self.production = Some(production);
    }

    /// Number of instructions so far.
    pub(super) fn len(&self) -> usize {
        self.instrs.len()
    }

    /// Adds the dependences that the registers imply and that front ends without a dependence graph need:
    /// data (with the latency of the writer), anti (0) and output (1). Memory is up to the caller.
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

    /// Validates all that was collected.
    pub fn build(mut self) -> Result<Region, RegionError> {
        self.finish()
    }

    /// Validates all that was collected; the builder can be used again after [`RegionBuilder::restart`].
    pub fn finish(&mut self) -> Result<Region, RegionError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.validate(&mut scratch);
        self.scratch = scratch;
        let (tables, values) = result?;
        Ok(Region {
            name: self.name.as_str().into(),
            loop_depth: self.loop_depth,
            boundary: self.boundary.as_str().into(),
            classes: self.shared.classes(&self.classes),
            through: self.through.clone(),
            opcodes: self.opcodes.names.clone(),
            flag_sets: self.flag_sets.names.clone(),
            unit_sets: self.unit_sets.clone(),
            instrs: self.instrs.clone(),
            registers: self.registers.clone(),
            register_names: self.register_names.clone(),
            defs: tables.defs,
            uses: tables.uses,
            live_in: self.live_in.clone(),
            live_out: self.live_out.clone(),
            deps: self.deps.clone(),
            hints: self.hints.clone(),
            preds: tables.preds,
            succs: tables.succs,
            values,
            source_peaks: self.source_peaks.take(),
            production: self.production.take(),
        })
    }

    fn validate(&self, scratch: &mut Scratch) -> Result<(Tables, values::Values), RegionError> {
        self.check_names_and_counts()?;
        self.check_units()?;
        self.check_operands()?;
        self.check_references()?;
        self.check_order()?;
        self.check_sums(&mut scratch.slowest)?;
        self.check_recorded(&mut scratch.positions)?;

        let count = self.len();
        let defs = Rows::group(count, self.defs.iter().map(|(instr, def)| (instr.index(), *def)));
        let mut uses = Rows::group(count, self.uses.iter().map(|(instr, used)| (instr.index(), *used)));
        // Each register once.
        uses.sort_and_merge(|last, next| {
            let same = last.register == next.register;
            last.lanes |= if same { next.lanes } else { 0 };
            same
        });
        let edges = self.deps.iter().map(|d| (d.from.index(), Edge { instr: d.to, latency: d.latency }));
        let mut succs = Rows::group(count, edges);
        // Parallel edges as one, with the largest latency.
        succs.sort_and_merge(|last, next| {
            let same = last.instr == next.instr;
            last.latency = if same { next.latency.max(last.latency) } else { last.latency };
            same
        });
        let preds = succs.transposed(count, |from, edge| {
            (edge.instr.index(), Edge { instr: InstrId::at(from), latency: edge.latency })
        });
        let tables = Tables { defs, uses, preds, succs };
        let values = values::derive(self, &tables, &mut scratch.values)?;
        Ok((tables, values))
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

    fn check_names_and_counts(&self) -> Result<(), RegionError> {
        if self.instrs.is_empty() {
            return Err(RegionError::Empty);
        }
        let most = |what, count: usize, limit: usize| match count <= limit {
            true => Ok(()),
            false => Err(RegionError::TooMany { what, count: count as u64, limit: limit as u64 }),
        };
        most("instructions", self.instrs.len(), limits::INSTRUCTIONS)?;
        most("classes", self.classes.len(), limits::CLASSES)?;
        most("registers", self.registers.len(), u32::MAX as usize / 2)?;
        most("operands", self.defs.len() + self.uses.len(), u32::MAX as usize / 2)?;
        most("dependences", self.deps.len(), u32::MAX as usize / 2)?;
        let units = self.unit_sets.iter().flat_map(|set| set.iter()).map(|need| &*need.unit);
        let single = [&*self.name, &*self.boundary].into_iter().chain(self.classes.iter());
        let lists = [&self.opcodes.names, &self.flag_sets.names, &self.register_names];
        for names in lists {
            most("bytes of names", names.bytes(), u32::MAX as usize / 2)?;
        }
        for name in single.chain(units).chain(lists.into_iter().map(Names::longest)) {
            if name.len() > limits::NAME {
                let start = name.chars().take(40).collect();
                return Err(RegionError::NameTooLong { length: name.len(), start });
            }
        }
        for (position, register) in self.registers.iter().enumerate() {
            let Register { lanes, lane_weight: weight, .. } = *register;
            if !(1..=limits::LANES).contains(&lanes) || weight == 0 {
                let register = self.register_name(RegisterId::at(position));
                return Err(RegionError::BadRegister { register, lanes, weight });
            }
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), RegionError> {
        for (number, set) in self.unit_sets.iter().enumerate() {
            let mut seen = FxHashSet::default();
            for (position, need) in set.iter().enumerate() {
                let twice = match set.len() <= Interner::FEW {
                    true => set[..position].iter().any(|other| other.unit == need.unit),
                    false => !seen.insert(&need.unit),
                };
                if twice {
                    let user = self.instrs.iter().position(|instr| instr.units as usize == number);
                    let instr = self.describe(InstrId::at(user.unwrap_or(0)));
                    return Err(RegionError::DuplicateUnit { instr, unit: need.unit.to_string() });
                }
            }
        }
        Ok(())
    }

    fn check_operand(&self, operand: Operand, place: impl Fn() -> String) -> Result<(), RegionError> {
        let Some(register) = self.registers.get(operand.register.index()) else {
            let count = self.registers.len();
            return Err(RegionError::UnknownRegister { place: place(), register: operand.register.0, count });
        };
        if operand.lanes == 0 || operand.lanes & !register.all_lanes() != 0 {
            return Err(RegionError::BadLanes {
                place: place(),
                register: self.register_name(operand.register),
                lanes: operand.lanes,
                count: register.lanes,
            });
        }
        Ok(())
    }

    fn check_instr(&self, instr: InstrId, place: impl Fn() -> String) -> Result<(), RegionError> {
        if instr.index() < self.len() {
            return Ok(());
        }
        Err(RegionError::UnknownInstr { place: place(), instr: instr.0, count: self.len() })
    }

    fn check_operands(&self) -> Result<(), RegionError> {
        let defs = self.defs.iter().map(|(instr, def)| (*instr, def.operand));
        for (instr, operand) in defs.chain(self.uses.iter().copied()) {
            self.check_instr(instr, || "an operand".to_string())?;
            self.check_operand(operand, || self.describe(instr))?;
        }
        for operand in &self.live_in {
            self.check_operand(*operand, || "the live-in list".to_string())?;
        }
        for operand in &self.live_out {
            self.check_operand(*operand, || "the live-out list".to_string())?;
        }
        Ok(())
    }

    fn check_references(&self) -> Result<(), RegionError> {
        for dep in &self.deps {
            for instr in [dep.from, dep.to] {
                self.check_instr(instr, || format!("dependence #{} -> #{}", dep.from, dep.to))?;
            }
        }
        for hint in &self.hints {
            for instr in [Some(hint.from), hint.to].into_iter().flatten() {
                self.check_instr(instr, || format!("a hint from #{}", hint.from))?;
            }
        }
        Ok(())
    }

    /// Source order must respect the dependences. If it does not, a cycle is the more telling message.
    fn check_order(&self) -> Result<(), RegionError> {
        let Some(backwards) = self.deps.iter().find(|dep| dep.from >= dep.to) else {
            return Ok(());
        };
        if let Some(cycle) = self.find_cycle() {
            return Err(RegionError::Cycle(cycle.into_iter().map(|instr| self.describe(instr)).collect()));
        }
        Err(RegionError::Backwards { from: self.describe(backwards.from), to: self.describe(backwards.to) })
    }

    /// A shortest cycle through some instruction, with that instruction at both ends.
    fn find_cycle(&self) -> Option<Vec<InstrId>> {
        let count = self.len();
        let succs = Rows::group(count, self.deps.iter().map(|dep| (dep.from.index(), dep.to)));
        // Instructions that can be ordered are not on a cycle: peel them off, from the front only.
        let mut indegree = vec![0u32; count];
        for dep in &self.deps {
            indegree[dep.to.index()] += 1;
        }
        let mut ready: Vec<usize> = (0..count).filter(|&i| indegree[i] == 0).collect();
        while let Some(i) = ready.pop() {
            for to in succs.row(i) {
                indegree[to.index()] -= 1;
                if indegree[to.index()] == 0 {
                    ready.push(to.index());
                }
            }
        }
        // Walking backwards among the rest never ends, so it meets a cycle.
        let preds = Rows::group(count, self.deps.iter().map(|dep| (dep.to.index(), dep.from)));
        let mut visited = vec![false; count];
        let mut at = InstrId::at((0..count).find(|&i| indegree[i] > 0)?);
        while !std::mem::replace(&mut visited[at.index()], true) {
            at = *preds.row(at.index()).iter().find(|from| indegree[from.index()] > 0)?;
        }
        // Breadth-first search gives the shortest way from there back to itself.
        let mut reached_from = vec![None; count];
        let mut queue = std::collections::VecDeque::from([at]);
        while let Some(instr) = queue.pop_front() {
            for &to in succs.row(instr.index()) {
                if reached_from[to.index()].is_none() {
                    reached_from[to.index()] = Some(instr);
                    queue.push_back(to);
                }
            }
            if let Some(last) = reached_from[at.index()] {
                let mut cycle = vec![at, last];
                while let Some(instr) = cycle.last().filter(|instr| **instr != at) {
                    cycle.extend(reached_from[instr.index()]);
                }
                cycle.reverse();
                return Some(cycle);
            }
        }
        None
    }

    /// Keeps pressures and cycle counts within 32 bits, whatever the order.
    fn check_sums(&self, slowest: &mut Vec<u32>) -> Result<(), RegionError> {
        let at_most = |what, sum: u64| match sum <= limits::TOTAL {
            true => Ok(()),
            false => Err(RegionError::Overflow { what, sum }),
        };
        let weight = |operand: &Operand| {
            let weight = self.registers[operand.register.index()].lane_weight;
            u64::from(operand.lanes.count_ones()) * u64::from(weight)
        };
        let operands = self.defs.iter().map(|(_, def)| &def.operand).chain(&self.live_in);
        let through = self.through.iter().map(|&weight| u64::from(weight)).sum::<u64>();
        at_most("weights", operands.map(weight).sum::<u64>() + through)?;

        slowest.clear();
        slowest.extend(self.instrs.iter().map(|instr| {
            let units = &self.unit_sets[instr.units as usize];
            units.iter().map(|need| need.cycles).fold(instr.latency.max(1), u32::max)
        }));
        for dep in &self.deps {
            let slowest = &mut slowest[dep.from.index()];
            *slowest = dep.latency.max(*slowest);
        }
        at_most("latencies", slowest.iter().map(|&latency| u64::from(latency)).sum())
    }

    fn check_recorded(&self, positions: &mut Vec<u32>) -> Result<(), RegionError> {
        let production = self.production.as_ref();
        let peaks =
            self.source_peaks.iter().chain(production.and_then(|production| production.peaks.as_ref()));
        for peaks in peaks {
            if peaks.len() != self.classes.len() {
                return Err(RegionError::BadPeaks { given: peaks.len(), count: self.classes.len() });
            }
        }
        let Some(Production { by, order, .. }) = production else {
            return Ok(());
        };
        let bad = |problem| Err(RegionError::BadOrder { by: by.to_string(), count: self.len(), problem });
        if order.len() != self.len() {
            return bad(format!("it lists {}", order.len()));
        }
        const NOWHERE: u32 = u32::MAX;
        positions.clear();
        positions.resize(self.len(), NOWHERE);
        for (place, instr) in order.iter().enumerate() {
            match positions.get_mut(instr.index()) {
                None => return bad(format!("it lists #{instr}")),
                Some(position) if *position != NOWHERE => return bad(format!("it lists #{instr} twice")),
                Some(position) => *position = place as u32,
            }
        }
        // Whoever replays the order must not have to ask whether it is legal.
        let is_broken = |dep: &&Dependence| positions[dep.from.index()] > positions[dep.to.index()];
        if let Some(Dependence { from, to, .. }) = self.deps.iter().find(is_broken) {
            let (by, from, to) = (by.to_string(), self.describe(*from), self.describe(*to));
            return Err(RegionError::IllegalOrder { by, from, to });
        }
        Ok(())
    }
}

/// Operands and edges by instruction.
pub(super) struct Tables {
    pub(super) defs: Rows<Def>,
    pub(super) uses: Rows<Operand>,
    pub(super) preds: Rows<Edge>,
    pub(super) succs: Rows<Edge>,
}
