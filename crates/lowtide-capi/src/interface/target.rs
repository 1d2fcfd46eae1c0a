use std::ffi::c_char;
use std::mem::MaybeUninit;

use lowtide::region::limits;
use lowtide::target::Target;

use super::{answer, array, free, lowtide_status, make, present, text};
use crate::failure::{Failure, guarded};

/// A GPU: its register files and its issue model. Immutable, so several threads may share it.
#[derive(Debug)]
pub struct lowtide_target(pub(super) Target);

/// Find a built-in target by its name, such as "gfx906". The message for an unknown name lists the known
/// names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_target_builtin(
    name: *const c_char,
    out: Option<&mut MaybeUninit<*mut lowtide_target>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    make(out, message, || {
        // SAFETY: the caller promises a valid C string.
        let name = unsafe { text(name, "name") }?;
        Target::builtin(name).map(lowtide_target).ok_or_else(|| {
            let known: Vec<String> = Target::all_builtin().map(|target| target.name().to_string()).collect();
            Failure::argument(format!("unknown target {name:?} (known: {})", known.join(", ")))
        })
    })
}

/// Read a target from the text of a target file (TOML).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_target_parse(
    toml: *const c_char,
    out: Option<&mut MaybeUninit<*mut lowtide_target>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    make(out, message, || {
        // SAFETY: the caller promises a valid C string.
        let toml = unsafe { text(toml, "toml") }?;
        Ok(lowtide_target(Target::parse(toml)?))
    })
}

/// Free a target. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_target_free(target: Option<Box<lowtide_target>>) {
    free(|| drop(target));
}

/// Return the most waves that fit if registers do not limit them. Return 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_target_max_waves(target: Option<&lowtide_target>) -> u32 {
    guarded(|| Ok(present(target, "target")?.0.max_waves())).unwrap_or(0)
}

/// Return the waves that fit if each uses `registers[i]` registers of `classes[i]`, and none of other
/// classes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_target_waves(
    target: Option<&lowtide_target>,
    classes: *const *const c_char,
    registers: *const u32,
    count: usize,
    waves: Option<&mut MaybeUninit<u32>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(waves, 0, message, || {
        let lowtide_target(target) = present(target, "target")?;
        if count > limits::CLASSES {
            let most = limits::CLASSES;
            return Err(Failure::argument(format!(
                "{count} classes are too many: at most {most} are supported"
            )));
        }
        // SAFETY: the caller promises that arrays have as many elements as their count says.
        let classes = unsafe { array(classes, count, "classes") }?;
        // SAFETY: as above.
        let registers = unsafe { array(registers, count, "registers") }?;
        let mut names: Vec<Box<str>> = Vec::with_capacity(count);
        for &class in classes {
            // SAFETY: the caller promises a valid C string.
            let name = unsafe { text(class, "the name of a class") }?;
            if names.iter().any(|other| **other == *name) {
                return Err(Failure::argument(format!("class {name:?} is listed twice")));
            }
            names.push(name.into());
        }
        Ok(target.registers(&names)?.occupancy(registers))
    })
}

/// Return the most registers of a class that each of `waves` waves can have if it uses no other class.
/// `waves` is at least 1 and at most lowtide_target_max_waves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_target_limit(
    target: Option<&lowtide_target>,
    class_: *const c_char,
    waves: u32,
    registers: Option<&mut MaybeUninit<u32>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(registers, 0, message, || {
        let lowtide_target(target) = present(target, "target")?;
        // SAFETY: the caller promises a valid C string.
        let class = unsafe { text(class_, "the name of a class") }?;
        let most = target.max_waves();
        if !(1..=most).contains(&waves) {
            let name = target.name();
            return Err(Failure::argument(format!("{waves} waves: target {name} has 1 to {most}")));
        }
        let registers = target.registers(&[class.into()])?;
        let bound = registers.files().first().and_then(|bound| Some((bound, bound.classes.first()?)));
        let (bound, (_, class)) =
            bound.ok_or_else(|| Failure::internal("a class without a register file"))?;
        Ok(bound.file.limit(waves).min(class.max))
    })
}
