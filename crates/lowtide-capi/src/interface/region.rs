use std::ffi::c_char;

use lowtide::region::{DefFlags, DepKind, HintKind, InstrSpec};
use lowtide::{InstrId, RegisterId};

use super::{array, free, lowtide_target, make_or_null, optional_text, present, text};
use crate::draft::{Draft, RegionDraft};
use crate::failure::{Failure, guarded};

/// Straight-line code under construction. Functions that return nothing keep their first failure in the
/// region, and lowtide_kernel_add_region reports it.
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

/// A preference of a compiler beyond the dependences. Lowtide records it; it does not bind the scheduler.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_hint {
    /// The production compiler prefers this order (macro fusion, for example).
    LOWTIDE_ARTIFICIAL = 0,
    /// The production compiler prefers to keep the two together (load clustering).
    LOWTIDE_CLUSTER = 1,
    /// A weak preference.
    LOWTIDE_WEAK = 2,
    /// A dependence of the code after the region.
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
    /// Cycles from issue to the results. Informative only: each dependence has its own latency.
    pub latency: u32,
    /// The names of the functional units that the instruction needs, `unit_count` of them. NULL if there are
    /// none.
    pub units: *const *const c_char,
    /// The cycles for which the instruction occupies each unit.
    pub unit_cycles: *const u32,
    /// The number of units.
    pub unit_count: usize,
    /// Letters as in region files. Recorded only; NULL for none.
    pub flags: *const c_char,
    /// Micro-operations, normally 1.
    pub micro_ops: u32,
    /// Address space of the memory accessed, -1 for none.
    pub address_space: i32,
}

/// Change a region. A NULL region has no place for a failure: adding it to a kernel reports the mistake.
fn edit<R>(
    region: Option<&mut lowtide_region>,
    change: impl FnOnce(&mut RegionDraft) -> Result<R, Failure>,
) -> Option<R> {
    region?.0.edit(change)
}

/// Start a region. Return NULL if the name is NULL or not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_new(name: *const c_char) -> *mut lowtide_region {
    make_or_null(|| {
        // SAFETY: the caller promises a valid C string.
        let name = unsafe { text(name, "name") }?;
        Ok(lowtide_region(Draft::new(RegionDraft::new(name))))
    })
}

/// Free a region that was not added to a kernel. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_free(region: Option<Box<lowtide_region>>) {
    free(|| drop(region));
}

/// Set the number of loops around the region. The default is 0.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_set_loop_depth(region: Option<&mut lowtide_region>, depth: u32) {
    edit(region, |draft| {
        draft.builder.loop_depth(depth);
        Ok(())
    });
}

/// Set how often a wave runs the region; only the ratio to the other regions of the kernel counts. Without a
/// frequency in every region, each loop counts ten times.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_set_frequency(region: Option<&mut lowtide_region>, frequency: u32) {
    edit(region, |draft| {
        draft.builder.frequency(frequency);
        Ok(())
    });
}

/// Set the opcode of the instruction that ends the region without being part of it. The default is the empty
/// string: the end of a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_set_boundary(
    region: Option<&mut lowtide_region>,
    opcode: *const c_char,
) {
    edit(region, |draft| {
        // SAFETY: the caller promises a valid C string.
        draft.builder.boundary(unsafe { text(opcode, "the opcode of a boundary") }?);
        Ok(())
    });
}

/// Return the id of the register class with this name, and add the class if it is new. Ids count from 0.
/// Return UINT32_MAX after a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_class(
    region: Option<&mut lowtide_region>,
    name: *const c_char,
) -> u32 {
    let id = edit(region, |draft| {
        // SAFETY: the caller promises a valid C string.
        Ok(draft.class(unsafe { text(name, "the name of a class") }?))
    });
    id.unwrap_or(u32::MAX)
}

/// Add a register of 1 to 64 lanes and return its id. A live lane adds `lane_weight` to the pressure of the
/// class. Ids count from 0. Return UINT32_MAX after a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_register(
    region: Option<&mut lowtide_region>,
    name: *const c_char,
    class_: u32,
    lanes: u32,
    lane_weight: u32,
) -> u32 {
    let id = edit(region, |draft| {
        // SAFETY: the caller promises a valid C string.
        let name = unsafe { text(name, "the name of a register") }?;
        draft.register(name, class_, lanes, lane_weight)
    });
    id.unwrap_or(u32::MAX)
}

/// Add an instruction at the end of the source order, which must be legal, and return its id. Ids count from
/// 0. Return UINT32_MAX after a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_instr(
    region: Option<&mut lowtide_region>,
    spec: Option<&lowtide_instr>,
) -> u32 {
    let id = edit(region, |draft| {
        // SAFETY: as the caller of this function promises.
        unsafe { with_spec(spec, |spec| draft.instr(spec)) }
    });
    id.unwrap_or(u32::MAX)
}

/// Return the latency of an instruction by the table of a target. Return the instruction's own latency if no
/// entry matches, and 0 after a mistake.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_target_latency(
    target: Option<&lowtide_target>,
    spec: Option<&lowtide_instr>,
) -> u32 {
    let latency = guarded(|| {
        let lowtide_target(target) = present(target, "target")?;
        // SAFETY: as the caller of this function promises.
        unsafe { with_spec(spec, |spec| spec.latency_on(target)) }
    });
    latency.unwrap_or(0)
}

/// # Safety
/// Strings are valid, and arrays have as many elements as their count says.
unsafe fn with_spec<T>(spec: Option<&lowtide_instr>, act: impl FnOnce(InstrSpec) -> T) -> Result<T, Failure> {
    let spec = present(spec, "the description of an instruction")?;
    // SAFETY: the caller promises a valid C string.
    let opcode = unsafe { text(spec.opcode, "the opcode of an instruction") }?;
    // SAFETY: as above.
    let flags = unsafe { optional_text(spec.flags, "the flags of an instruction") }?.unwrap_or("");
    // SAFETY: the caller promises that arrays have as many elements as their count says.
    let names = unsafe { array(spec.units, spec.unit_count, "the units of an instruction") }?;
    // SAFETY: as above.
    let cycles = unsafe { array(spec.unit_cycles, spec.unit_count, "the cycles of units") }?;
    let unit = |(&name, &cycles): (&*const c_char, &u32)| {
        // SAFETY: the caller promises a valid C string.
        let name = unsafe { text(name, "the name of a unit") }?;
        Ok((name, cycles))
    };
    let units = names.iter().zip(cycles).map(unit).collect::<Result<Vec<(&str, u32)>, Failure>>()?;
    let lowtide_instr { latency, micro_ops, address_space, .. } = *spec;
    Ok(act(InstrSpec { opcode, latency, units: &units, flags, micro_ops, address_space }))
}

/// Let an instruction write lanes of a register (one bit each). Flags are letters; NULL means none. d: nobody
/// reads the result. e: written before all operands are read. t: takes the register of an operand. u: the
/// other lanes are undefined afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_def(
    region: Option<&mut lowtide_region>,
    instr: u32,
    reg: u32,
    lanes: u64,
    flags: *const c_char,
) {
    edit(region, |draft| {
        // SAFETY: the caller promises a valid C string.
        let letters = unsafe { optional_text(flags, "the flags of a definition") }?;
        let flags = letters.map_or(Ok(DefFlags::default()), lowtide_io::def_flags);
        draft.def(instr, reg, lanes, flags.map_err(Failure::argument)?);
        Ok(())
    });
}

/// Let an instruction read lanes of a register (one bit each).
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_use(region: Option<&mut lowtide_region>, instr: u32, reg: u32, lanes: u64) {
    edit(region, |draft| {
        draft.builder.uses(InstrId(instr), RegisterId(reg), lanes);
        Ok(())
    });
}

/// Mark lanes of a register as live at the start.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_live_in(region: Option<&mut lowtide_region>, reg: u32, lanes: u64) {
    edit(region, |draft| {
        draft.builder.live_in(RegisterId(reg), lanes);
        Ok(())
    });
}

/// Mark lanes of a register as live at the end.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_live_out(region: Option<&mut lowtide_region>, reg: u32, lanes: u64) {
    edit(region, |draft| {
        draft.builder.live_out(RegisterId(reg), lanes);
        Ok(())
    });
}

/// Set the weight of the values that pass through the region unused. It adds to the pressure of the class at
/// every point.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_region_through(region: Option<&mut lowtide_region>, class_: u32, weight: u32) {
    edit(region, |draft| draft.through(class_, weight));
}

/// Add a dependence: `to` issues at least `latency` cycles after `from`, and never before it. `kind` is a
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

/// Record a preference. It does not bind the scheduler. `to` is UINT32_MAX for the end of the region; `kind`
/// is a lowtide_hint.
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

/// Record the order of the production compiler and the compiler's name. Searches start from this order, and
/// the filter compares with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_region_production(
    region: Option<&mut lowtide_region>,
    by: *const c_char,
    order: *const u32,
    count: usize,
) {
    edit(region, |draft| {
        // SAFETY: the caller promises a valid C string.
        let by = unsafe { text(by, "the name of the production scheduler") }?;
        // SAFETY: the caller promises that arrays have as many elements as their count says.
        draft.production(by, unsafe { array(order, count, "the production order") }?);
        Ok(())
    });
}
