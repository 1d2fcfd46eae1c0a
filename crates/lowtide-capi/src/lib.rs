//! The C interface of Lowtide: build a kernel, schedule it, read the result.
//!
//! `include/lowtide.h` is generated from this crate; `docs/c-interface.md` explains its use. Types have the
//! names of the header here, too. Both can be read side by side.
//!
//! # Safety
//! The functions check every argument that can be checked. C leaves four promises to the caller, which the
//! header states once for all functions:
//! - a handle comes from the function that makes it and has not been freed;
//! - a string ends with a NUL;
//! - an array has as many elements as its count says;
//! - no thread changes an object while another thread uses it.

/// The Rust code of the project's page, as a test. (This crate is not published, so that it may include a
/// file from outside.)
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod draft;
mod failure;
mod interface;

pub use interface::*;
