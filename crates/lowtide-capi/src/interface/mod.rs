//! The exported functions: the only unsafe code of this crate.
//!
//! Handles are optional references and boxes, which C sees as pointers that may be NULL. Only strings and
//! arrays are raw pointers, and only [`text`] and [`array`] read them.

#![allow(unsafe_code)]
// The names of the header, so both can be read side by side.
#![allow(non_camel_case_types)]
// Said once for all functions, in the crate's documentation and at the top of the header.
#![allow(clippy::missing_safety_doc)]

// Apart, so that they stay in the order in which the header lists them.
mod target;

mod region;

mod kernel;

mod schedule;

pub use kernel::*;
pub use region::*;
pub use schedule::*;
pub use target::*;

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use crate::failure::{Failure, guarded};

/// How a function ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_status {
    /// Success.
    LOWTIDE_OK = 0,
    /// A pointer is NULL, a string is not UTF-8, or a name or number has no meaning.
    LOWTIDE_BAD_ARGUMENT = 1,
    /// A target description is wrong, or a register class is not part of the target.
    LOWTIDE_BAD_TARGET = 2,
    /// A region is not valid.
    LOWTIDE_BAD_REGION = 3,
    /// A defect of Lowtide. The handles involved can be freed, and a session stays usable.
    LOWTIDE_INTERNAL = 4,
}

/// Return the version of the library, such as "0.1.0". The string is static: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Free a message or a text of this library. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_string_free(text: *mut c_char) {
    free(|| {
        if !text.is_null() {
            // SAFETY: all texts that this library hands out come from `CString::into_raw`, and are freed
            // once.
            drop(unsafe { CString::from_raw(text) });
        }
    });
}

/// Read a string.
///
/// # Safety
/// The string is NULL, or ends with a NUL and does not change while the result is used.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: it is not NULL, and the rest is the promise to this function.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format!("{what} {text:?} is not UTF-8")))
}

/// Read a string that may be NULL.
///
/// # Safety
/// As for [`text`].
unsafe fn optional_text<'a>(string: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if string.is_null() {
        return Ok(None);
    }
    // SAFETY: the promise to this function is that to the other one.
    unsafe { text(string, what) }.map(Some)
}

/// Read an array. An empty one may be NULL.
///
/// # Safety
/// The array is NULL, or has `count` elements that do not change while the result is used.
unsafe fn array<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(Failure::null(what));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::argument(format!("{what} cannot have {count} elements")));
    }
    // SAFETY: it is not NULL and its size is possible; the rest is the promise to this function.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// Return a handle, or fail if it is NULL.
fn present<T>(handle: Option<T>, what: &str) -> Result<T, Failure> {
    handle.ok_or_else(|| Failure::null(what))
}

/// Hand a text over to C, which frees it with [`lowtide_string_free`].
fn give(text: String) -> *mut c_char {
    // A NUL would end the text early. Strings from C contain none, so this is rare.
    let text = if text.contains('\0') { text.replace('\0', "\\0") } else { text };
    CString::new(text).map_or(null_mut(), CString::into_raw)
}

/// Run an action and return its status and message.
fn report(
    message: Option<&mut MaybeUninit<*mut c_char>>,
    action: impl FnOnce() -> Result<(), Failure>,
) -> lowtide_status {
    let (status, text) = match guarded(action) {
        Ok(()) => (lowtide_status::LOWTIDE_OK, null_mut()),
        Err(Failure { status, message }) => (status, give(message)),
    };
    match message {
        Some(place) => {
            place.write(text);
        }
        // SAFETY: the text was made above, and nobody else has it.
        None => unsafe { lowtide_string_free(text) },
    }
    status
}

/// Run an action and store its result, or `nothing` if it fails.
fn answer<T: Copy>(
    out: Option<&mut MaybeUninit<T>>,
    nothing: T,
    message: Option<&mut MaybeUninit<*mut c_char>>,
    action: impl FnOnce() -> Result<T, Failure>,
) -> lowtide_status {
    report(message, || {
        let out = present(out, "out")?;
        out.write(nothing);
        out.write(action()?);
        Ok(())
    })
}

/// As [`answer`], for a result that C holds as a handle.
fn make<T>(
    out: Option<&mut MaybeUninit<*mut T>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
    action: impl FnOnce() -> Result<T, Failure>,
) -> lowtide_status {
    answer(out, null_mut(), message, || action().map(|made| Box::into_raw(Box::new(made))))
}

/// Make a handle, or NULL if that fails.
fn make_or_null<T>(action: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    guarded(|| action().map(|made| Box::into_raw(Box::new(made)))).unwrap_or(null_mut())
}

/// Free an object. A failure has no receiver.
fn free(action: impl FnOnce()) {
    let _ = guarded(|| {
        action();
        Ok(())
    });
}
