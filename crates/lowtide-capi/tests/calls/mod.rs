//! Calls of the C interface as a C program makes them, for the tests.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::null;

use lowtide::region::{DefFlags, Kernel, Region};
use lowtide_capi::*;
use lowtide_io::KernelReader;

/// What went wrong, with the message.
pub(crate) type Refusal = (lowtide_status, String);

pub(crate) fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// Takes a text over and frees it.
pub(crate) fn take(text: *mut c_char) -> String {
    assert!(!text.is_null());
    let copy = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_string();
    unsafe { lowtide_string_free(text) };
    copy
}

/// Calls something that can fail. A message comes with a failure, and only then.
pub(crate) fn call(
    function: impl FnOnce(Option<&mut MaybeUninit<*mut c_char>>) -> lowtide_status,
) -> Result<(), Refusal> {
    let mut message = MaybeUninit::uninit();
    let status = function(Some(&mut message));
    let message = unsafe { message.assume_init() };
    if status == lowtide_status::LOWTIDE_OK {
        assert!(message.is_null());
        return Ok(());
    }
    Err((status, take(message)))
}

/// Calls something that can fail and gives something back. That is always set, and `nothing` after a failure.
pub(crate) fn ask<T: Copy>(
    is_nothing: impl Fn(T) -> bool,
    function: impl FnOnce(Option<&mut MaybeUninit<T>>, Option<&mut MaybeUninit<*mut c_char>>) -> lowtide_status,
) -> Result<T, Refusal> {
    let mut out = MaybeUninit::uninit();
    let result = call(|message| function(Some(&mut out), message));
    let out = unsafe { out.assume_init() };
    match result {
        Ok(()) => Ok(out),
        Err(refusal) => {
            assert!(is_nothing(out));
            Err(refusal)
        }
    }
}

/// As [`ask`], for a handle.
pub(crate) fn handle<T>(
    function: impl FnOnce(
        Option<&mut MaybeUninit<*mut T>>,
        Option<&mut MaybeUninit<*mut c_char>>,
    ) -> lowtide_status,
) -> Result<Box<T>, Refusal> {
    ask(|handle: *mut T| handle.is_null(), function).map(|handle| unsafe { Box::from_raw(handle) })
}

pub(crate) fn target(name: &str) -> Box<lowtide_target> {
    let name = c(name);
    handle(|out, message| unsafe { lowtide_target_builtin(name.as_ptr(), out, message) }).unwrap()
}

pub(crate) fn session(name: &str) -> Box<lowtide_session> {
    let target = target(name);
    handle(|out, message| lowtide_session_new(Some(&target), out, message)).unwrap()
}

pub(crate) fn new_kernel(name: &str) -> Box<lowtide_kernel> {
    unsafe { Box::from_raw(lowtide_kernel_new(c(name).as_ptr())) }
}

pub(crate) fn new_region(name: &str) -> Box<lowtide_region> {
    unsafe { Box::from_raw(lowtide_region_new(c(name).as_ptr())) }
}

pub(crate) fn add(kernel: &mut lowtide_kernel, region: Box<lowtide_region>) -> Result<(), Refusal> {
    call(|message| lowtide_kernel_add_region(Some(kernel), Some(region), message))
}

pub(crate) fn format(kernel: &lowtide_kernel) -> Result<String, Refusal> {
    let text = ask(
        |text: *mut c_char| text.is_null(),
        |out, message| lowtide_kernel_format(Some(kernel), out, message),
    );
    text.map(take)
}

pub(crate) fn schedule(
    session: &lowtide_session,
    kernel: &lowtide_kernel,
    options: &lowtide_options,
) -> Result<Box<lowtide_outcome>, Refusal> {
    handle(|out, message| unsafe {
        lowtide_schedule(Some(session), Some(kernel), Some(options), out, message)
    })
}

pub(crate) fn default_options() -> lowtide_options {
    let mut options = MaybeUninit::uninit();
    lowtide_options_default(Some(&mut options));
    unsafe { options.assume_init() }
}

pub(crate) fn instr(region: &mut lowtide_region, opcode: &str) -> u32 {
    let opcode = c(opcode);
    let spec = lowtide_instr { opcode: opcode.as_ptr(), ..no_instr() };
    unsafe { lowtide_region_instr(Some(region), Some(&spec)) }
}

/// An instruction without a name.
pub(crate) fn no_instr() -> lowtide_instr {
    lowtide_instr {
        opcode: null(),
        latency: 1,
        units: null(),
        unit_cycles: null(),
        unit_count: 0,
        flags: null(),
        micro_ops: 1,
        address_space: -1,
    }
}

/// The kernels of the repository's corpus.
pub(crate) fn corpus() -> Vec<Kernel> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let files = ["hashcat.jsonl.gz", "rocprim.jsonl.gz"].into_iter();
    files.flat_map(|file| KernelReader::open(&folder.join(file)).unwrap().map(Result::unwrap)).collect()
}

/// Reads one kernel from text.
pub(crate) fn read(text: &str) -> Kernel {
    let input = std::io::Cursor::new(text.as_bytes().to_vec());
    let mut kernels = KernelReader::from_reader(Box::new(input), "text").unwrap();
    let kernel = kernels.next().unwrap().unwrap();
    assert!(kernels.next().is_none());
    kernel
}

/// Builds a kernel anew by calls.
pub(crate) fn rebuild(kernel: &Kernel) -> Box<lowtide_kernel> {
    let mut built = new_kernel(&kernel.name);
    unsafe { lowtide_kernel_set_origin(Some(&mut built), c(&kernel.origin).as_ptr()) };
    if let Some(target) = &kernel.target {
        unsafe { lowtide_kernel_set_target(Some(&mut built), c(target).as_ptr()) };
    }
    lowtide_kernel_set_entry(Some(&mut built), kernel.is_entry);
    lowtide_kernel_set_max_occupancy(Some(&mut built), kernel.max_occupancy.unwrap_or(0));
    for region in &kernel.regions {
        add(&mut built, rebuild_region(region)).unwrap();
    }
    built
}

fn rebuild_region(region: &Region) -> Box<lowtide_region> {
    let mut built = new_region(region.name());
    lowtide_region_set_loop_depth(Some(&mut built), region.loop_depth());
    if let Some(frequency) = region.frequency() {
        lowtide_region_set_frequency(Some(&mut built), frequency);
    }
    unsafe { lowtide_region_set_boundary(Some(&mut built), c(region.boundary()).as_ptr()) };
    for (id, name) in region.class_ids().zip(region.classes()) {
        let class = unsafe { lowtide_region_class(Some(&mut built), c(name).as_ptr()) };
        assert_eq!(class, u32::from(id.0));
        lowtide_region_through(Some(&mut built), class, region.through(id));
    }
    for (position, register) in region.registers().iter().enumerate() {
        let name = c(region.register_name(lowtide::RegisterId::at(position)));
        let class = u32::from(register.class.0);
        let id = unsafe {
            let built = Some(&mut *built);
            lowtide_region_register(built, name.as_ptr(), class, register.lanes, register.lane_weight)
        };
        assert_eq!(id as usize, position);
    }
    for operand in region.live_in() {
        lowtide_region_live_in(Some(&mut built), operand.register.0, operand.lanes);
    }
    for operand in region.live_out() {
        lowtide_region_live_out(Some(&mut built), operand.register.0, operand.lanes);
    }
    for id in region.instrs() {
        let opcode = c(region.opcode(id));
        let flags = c(region.flags(id));
        let units: Vec<CString> = region.units(id).iter().map(|need| c(&need.unit)).collect();
        let units: Vec<*const c_char> = units.iter().map(|unit| unit.as_ptr()).collect();
        let cycles: Vec<u32> = region.units(id).iter().map(|need| need.cycles).collect();
        let spec = lowtide_instr {
            opcode: opcode.as_ptr(),
            latency: region.latency(id),
            units: units.as_ptr(),
            unit_cycles: cycles.as_ptr(),
            unit_count: units.len(),
            flags: if region.flags(id).is_empty() { null() } else { flags.as_ptr() },
            micro_ops: region.micro_ops(id),
            address_space: region.address_space(id),
        };
        assert_eq!(unsafe { lowtide_region_instr(Some(&mut built), Some(&spec)) }, id.0);
        for def in region.defs(id) {
            let DefFlags { dead, early_clobber, tied, undef } = def.flags;
            let letters = [(dead, 'd'), (early_clobber, 'e'), (tied, 't'), (undef, 'u')];
            let letters: String =
                letters.into_iter().filter_map(|(set, letter)| set.then_some(letter)).collect();
            let (register, lanes) = (def.operand.register.0, def.operand.lanes);
            unsafe { lowtide_region_def(Some(&mut built), id.0, register, lanes, c(&letters).as_ptr()) };
        }
        for operand in region.uses(id) {
            lowtide_region_use(Some(&mut built), id.0, operand.register.0, operand.lanes);
        }
    }
    for dep in region.deps() {
        lowtide_region_depend(Some(&mut built), dep.from.0, dep.to.0, dep.kind as u32, dep.latency);
    }
    for hint in region.hints() {
        let to = hint.to.map_or(u32::MAX, |to| to.0);
        lowtide_region_hint(Some(&mut built), hint.from.0, to, hint.kind as u32, hint.latency);
    }
    if let Some(production) = region.production() {
        let order: Vec<u32> = production.order.iter().map(|instr| instr.0).collect();
        let by = c(&production.by);
        unsafe {
            lowtide_region_production(Some(&mut built), by.as_ptr(), order.as_ptr(), order.len());
        }
    }
    built
}
