use std::ffi::c_char;

use lowtide::region::{DefFlags, DepKind, HintKind, InstrSpec};
use lowtide::{InstrId, RegisterId};

use super::{array, free, make_or_null, optional_text, present, text};
use crate::draft::{Draft, RegionDraft};
use crate::failure::Failure;

/// Straight-line code while it is built. A mistake in any of its functions is kept, and
/// lowtide_kernel_add_region tells the first one.
#[derive(Debug)]
pub struct lowtide_region(pub(super) Draft<RegionDraft>);

/// Why one instruction must follow another.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_dependence {
    /// The later instruction reads what the earlier one writes.
    LOWTIDE_DATA = 0,
    /// The later instruction overwrites what the earlier one reads.
    LOWTIDE_ANTI = 1,
    /// The later instruction overwrites what the earlier one writes.
    LOWTIDE_OUTPUT = 2,
    /// Both access memory that may overlap.
    LOWTIDE_MEMORY = 3,
    /// One of them is a barrier.
    LOWTIDE_BARRIER = 4,
}

const DEPENDENCES: [(lowtide_dependence, DepKind); 5] = [
    (lowtide_dependence::LOWTIDE_DATA, DepKind::Data),
    (lowtide_dependence::LOWTIDE_ANTI, DepKind::Anti),
    (lowtide_dependence::LOWTIDE_OUTPUT, DepKind::Output),
    (lowtide_dependence::LOWTIDE_MEMORY, DepKind::Memory),
    (lowtide_dependence::LOWTIDE_BARRIER, DepKind::Barrier),
];

/// What a compiler would like beyond the dependences. It is recorded, and binds nothing.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_hint {
    /// The production compiler would like this order (macro fusion, for example).
    LOWTIDE_ARTIFICIAL = 0,
    /// The production compiler would like to keep the two together (load clustering).
    LOWTIDE_CLUSTER = 1,
    /// A weak preference.
    LOWTIDE_WEAK = 2,
    /// A dependence on whatever follows the region.
    LOWTIDE_EXIT = 3,
}

const HINTS: [(lowtide_hint, HintKind); 4] = [
    (lowtide_hint::LOWTIDE_ARTIFICIAL, HintKind::Artificial),
    (lowtide_hint::LOWTIDE_CLUSTER, HintKind::Cluster),
    (lowtide_hint::LOWTIDE_WEAK, HintKind::Weak),
    (lowtide_hint::LOWTIDE_EXIT, HintKind::Exit),
];

/// An instruction, without its operands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lowtide_instr {
    /// The operation's name.
    pub opcode: *const c_char,
    /// Cycles until its results can be used, as far as one number can say it. Dependences have their own.
    pub latency: u32,
    /// The names of the functional units that it needs, `unit_count` of them. NULL if there are none.
    pub units: *const *const c_char,
    /// For how many cycles it keeps each of them busy.
    pub unit_cycles: *const u32,
    /// How many units it needs.
    pub unit_count: usize,
    /// Letters as in region files, which are only recorded. NULL for none.
    pub flags: *const c_char,
    /// Micro-operations, normally 1.
    pub micro_ops: u32,
    /// Address space of the memory accessed, -1 for none.
    pub address_space: i32,
}

/// Changes a region. Without one, there is nobody to tell: the mistake shows when it is added to a kernel.
fn edit<R>(
    region: Option<&mut lowtide_region>,
    change: impl FnOnce(&mut RegionDraft) -> Result<R, Failure>,
) -> Option<R> {
    region?.0.edit(change)
}

/// Starts a region. NULL if the name is NULL or not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_new(name: *const c_char) -> *mut lowtide_region {
    make_or_null(|| {
        // SAFETY: the caller promises that strings are strings.
        let name = unsafe { text(name, "name") }?;
        Ok(lowtide_region(Draft::new(RegionDraft::new(name))))
    })
}

/// Frees a region that was not added to a kernel. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_free(region: Option<Box<lowtide_region>>) {
    free(|| drop(region));
}

/// Sets how many loops enclose the region; 0 if it is not said.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_set_loop_depth(region: Option<&mut lowtide_region>, depth: u32) {
    edit(region, |draft| {
        draft.builder.loop_depth(depth);
        Ok(())
    });
}

/// Sets the operation that ends the region without being part of it; empty at the end of a block, and if it
/// is not said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_set_boundary(
    region: Option<&mut lowtide_region>,
    opcode: *const c_char,
) {
    edit(region, |draft| {
        // SAFETY: the caller promises that strings are strings.
        draft.builder.boundary(unsafe { text(opcode, "the opcode of a boundary") }?);
        Ok(())
    });
}

/// The id of the register class of that name, which is added if it is new. Ids count from 0. UINT32_MAX after
/// a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_class(
    region: Option<&mut lowtide_region>,
    name: *const c_char,
) -> u32 {
    let id = edit(region, |draft| {
        // SAFETY: the caller promises that strings are strings.
        Ok(draft.class(unsafe { text(name, "the name of a class") }?))
    });
    id.unwrap_or(u32::MAX)
}

/// Adds a register of 1 to 64 lanes, each of which adds `lane_weight` to the pressure of its class while it
/// is live. Ids count from 0. UINT32_MAX after a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_register(
    region: Option<&mut lowtide_region>,
    name: *const c_char,
    class_: u32,
    lanes: u32,
    lane_weight: u32,
) -> u32 {
    let id = edit(region, |draft| {
        // SAFETY: the caller promises that strings are strings.
        let name = unsafe { text(name, "the name of a register") }?;
        draft.register(name, class_, lanes, lane_weight)
    });
    id.unwrap_or(u32::MAX)
}

/// Adds an instruction at the end of the source order, which must be legal. Ids count from 0. UINT32_MAX
/// after a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_instr(
    region: Option<&mut lowtide_region>,
    spec: Option<&lowtide_instr>,
) -> u32 {
    let id = edit(region, |draft| {
        let spec = present(spec, "the description of an instruction")?;
        // SAFETY: the caller promises that strings are strings.
        let opcode = unsafe { text(spec.opcode, "the opcode of an instruction") }?;
        // SAFETY: as above.
        let flags = unsafe { optional_text(spec.flags, "the flags of an instruction") }?.unwrap_or("");
        // SAFETY: the caller promises that arrays have as many elements as their count says.
        let names = unsafe { array(spec.units, spec.unit_count, "the units of an instruction") }?;
        // SAFETY: as above.
        let cycles = unsafe { array(spec.unit_cycles, spec.unit_count, "the cycles of units") }?;
        let unit = |(&name, &cycles): (&*const c_char, &u32)| {
            // SAFETY: the caller promises that strings are strings.
            let name = unsafe { text(name, "the name of a unit") }?;
            Ok((name, cycles))
        };
        let units = names.iter().zip(cycles).map(unit).collect::<Result<Vec<(&str, u32)>, Failure>>()?;
        let lowtide_instr { latency, micro_ops, address_space, .. } = *spec;
        Ok(draft.instr(InstrSpec { opcode, latency, units: &units, flags, micro_ops, address_space }))
    });
    id.unwrap_or(u32::MAX)
}

/// Lets an instruction write lanes of a register (one bit each). Flags are letters: d (nobody reads it), e
/// (written before all operands are read), t (takes the register of an operand), u (the lanes not written are
/// undefined afterwards); NULL for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_def(
    region: Option<&mut lowtide_region>,
    instr: u32,
    reg: u32,
    lanes: u64,
    flags: *const c_char,
) {
    edit(region, |draft| {
        // SAFETY: the caller promises that strings are strings.
        let letters = unsafe { optional_text(flags, "the flags of a definition") }?;
        let flags = letters.map_or(Ok(DefFlags::default()), lowtide_io::def_flags);
        draft.def(instr, reg, lanes, flags.map_err(Failure::argument)?);
        Ok(())
    });
}

/// Lets an instruction read lanes of a register (one bit each).
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_use(region: Option<&mut lowtide_region>, instr: u32, reg: u32, lanes: u64) {
    edit(region, |draft| {
        draft.builder.uses(InstrId(instr), RegisterId(reg), lanes);
        Ok(())
    });
}

/// Marks lanes of a register as live at the start.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_live_in(region: Option<&mut lowtide_region>, reg: u32, lanes: u64) {
    edit(region, |draft| {
        draft.builder.live_in(RegisterId(reg), lanes);
        Ok(())
    });
}

/// Marks lanes of a register as live at the end.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_live_out(region: Option<&mut lowtide_region>, reg: u32, lanes: u64) {
    edit(region, |draft| {
        draft.builder.live_out(RegisterId(reg), lanes);
        Ok(())
    });
}

/// Sets the weight that only passes through the region: part of the pressure of a class at every point.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_through(region: Option<&mut lowtide_region>, class_: u32, weight: u32) {
    edit(region, |draft| draft.through(class_, weight));
}

/// Adds a dependence: `to` issues at least `latency` cycles after `from`, and never before it. `kind` is a
/// lowtide_dependence.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_depend(
    region: Option<&mut lowtide_region>,
    from: u32,
    to: u32,
    kind: u32,
    latency: u32,
) {
    edit(region, |draft| {
        let known = DEPENDENCES.iter().find(|(number, _)| *number as u32 == kind);
        let unknown = || Failure::argument(format!("{kind} is not a kind of dependence"));
        let (_, kind) = *known.ok_or_else(unknown)?;
        draft.builder.depend(InstrId(from), InstrId(to), kind, latency);
        Ok(())
    });
}

/// Records a preference, which binds nothing. `to` is UINT32_MAX for the end of the region; `kind` is a
/// lowtide_hint.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_hint(
    region: Option<&mut lowtide_region>,
    from: u32,
    to: u32,
    kind: u32,
    latency: u32,
) {
    edit(region, |draft| {
        let known = HINTS.iter().find(|(number, _)| *number as u32 == kind);
        let (_, kind) = *known.ok_or_else(|| Failure::argument(format!("{kind} is not a kind of hint")))?;
        draft.builder.hint(InstrId(from), Some(InstrId(to)).filter(|_| to != u32::MAX), kind, latency);
        Ok(())
    });
}

/// Records the order that the production compiler chose, and its name. Searches start from it, and the filter
/// compares with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_production(
    region: Option<&mut lowtide_region>,
    by: *const c_char,
    order: *const u32,
    count: usize,
) {
    edit(region, |draft| {
        // SAFETY: the caller promises that strings are strings.
        let by = unsafe { text(by, "the name of the production scheduler") }?;
        // SAFETY: the caller promises that arrays have as many elements as their count says.
        draft.production(by, unsafe { array(order, count, "the production order") }?);
        Ok(())
    });
}
