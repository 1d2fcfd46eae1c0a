//! The C interface of Lowtide: build a kernel, schedule it, read the result.
//!
//! `include/lowtide.h` is made from this crate, and `docs/c-interface.md` tells how to use it. Types have the
//! names of the header here, too, so that both can be read side by side.
//!
//! # Safety
//! The functions trust their caller as far as C leaves no choice, and the header says so once for all of
//! them: a handle comes from the function that makes it and has not been freed; a string ends with a NUL; an
//! array has as many elements as its count says; and nothing is changed by one thread while another one uses
//! it. Everything else is checked.

/// The Rust code of the project's page, as a test. (This crate is not published, so that it may include a file from outside.)
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod draft;
mod failure;
mod interface;

pub use interface::*;
