use std::collections::HashSet;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use lowtide::RegisterId;
use lowtide::region::{Kernel, Region};

use super::{answer, free, give, lowtide_region, lowtide_status, make_or_null, present, report, text};
use crate::draft::{self, Draft};
use crate::failure::Failure;

/// The regions of one function. Functions that return nothing keep their first failure in the kernel. The
/// next function that uses the kernel reports it.
#[derive(Debug)]
pub struct lowtide_kernel(pub(super) Draft<Kernel>);

fn edit(kernel: Option<&mut lowtide_kernel>, change: impl FnOnce(&mut Kernel) -> Result<(), Failure>) {
    if let Some(kernel) = kernel {
        kernel.0.edit(change);
    }
}

/// Start a kernel. Return NULL if the name is NULL or not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_kernel_new(name: *const c_char) -> *mut lowtide_kernel {
    make_or_null(|| {
        // SAFETY: the caller promises a valid C string.
        Ok(lowtide_kernel(Draft::new(draft::kernel(unsafe { text(name, "name") }?))))
    })
}

/// Free a kernel with its regions. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_kernel_free(kernel: Option<Box<lowtide_kernel>>) {
    free(|| drop(kernel));
}

/// Record the origin of the kernel: code base, file or job. It does not affect schedules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_kernel_set_origin(
    kernel: Option<&mut lowtide_kernel>,
    origin: *const c_char,
) {
    edit(kernel, |kernel| {
        // SAFETY: the caller promises a valid C string.
        kernel.origin = unsafe { text(origin, "origin") }?.to_string();
        Ok(())
    });
}

/// Record the target that the code was compiled for. Schedules are made for the target of the session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_kernel_set_target(kernel: Option<&mut lowtide_kernel>, name: *const c_char) {
    edit(kernel, |kernel| {
        // SAFETY: the caller promises a valid C string.
        kernel.target = Some(unsafe { text(name, "the name of a target") }?.to_string());
        Ok(())
    });
}

/// Record whether waves start in this function. The default is true; false marks a function that others call.
/// It does not affect schedules.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_kernel_set_entry(kernel: Option<&mut lowtide_kernel>, is_entry: bool) {
    edit(kernel, |kernel| {
        kernel.is_entry = is_entry;
        Ok(())
    });
}

/// Limit the waves of the kernel, as local memory and launch bounds do. 0 means no limit.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_kernel_set_max_occupancy(kernel: Option<&mut lowtide_kernel>, waves: u32) {
    edit(kernel, |kernel| {
        kernel.max_occupancy = Some(waves).filter(|waves| *waves > 0);
        Ok(())
    });
}

/// Validate a region and add it after the regions of the kernel. The region is freed in any case, also on
/// failure.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_kernel_add_region(
    kernel: Option<&mut lowtide_kernel>,
    region: Option<Box<lowtide_region>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    report(message, || {
        let region = present(region, "region")?;
        let kernel = present(kernel, "kernel")?.0.get_mut()?;
        kernel.regions.push(region.0.finish()?.build()?);
        Ok(())
    })
}

/// Write a kernel as the lines of a region file: one line for each region, each with a line end. Free the
/// text with lowtide_string_free. The names of regions must differ within a kernel, and the names of
/// registers within a region.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_kernel_format(
    kernel: Option<&lowtide_kernel>,
    text: Option<&mut MaybeUninit<*mut c_char>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(text, null_mut(), message, || {
        let kernel = present(kernel, "kernel")?.0.get()?;
        check_names(kernel)?;
        let lines = kernel.regions.iter().map(|region| lowtide_io::format_line(kernel, region) + "\n");
        Ok(give(lines.collect()))
    })
}

/// Refuse duplicate names: no reader could resolve them.
fn check_names(kernel: &Kernel) -> Result<(), Failure> {
    let twice = |what: &str, name: &str, of: &str, whole: &str| {
        Err(Failure::region(format!("{what} {name:?} of {of} {whole:?} appears twice")))
    };
    if let Some(name) = repeated(kernel.regions.iter().map(Region::name)) {
        return twice("region", name, "kernel", &kernel.name);
    }
    for region in &kernel.regions {
        let registers = (0..region.registers().len()).map(RegisterId::at);
        if let Some(name) = repeated(registers.map(|register| region.register_name(register))) {
            return twice("register", name, "region", region.name());
        }
    }
    Ok(())
}

fn repeated<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.find(|name| !seen.insert(*name))
}
