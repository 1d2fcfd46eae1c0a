//! The native part of the Python package `lowtide`: handles on kernels and results, and the calls that
//! search.
//!
//! The package itself is Python (`python/lowtide`). Its classes hold the handles of this module, which is
//! private to them. This crate converts arguments, releases the interpreter while it works, and turns every
//! failure into an exception with the text of the program.
//!
//! | file | content |
//! |---|---|
//! | `region` | regions and kernels as handles |
//! | `read` | kernels from files, and the lines of each kernel apart |
//! | `schedule` | sessions, schedules and their figures |
//! | `rows` | results in columns, for Arrow |
//! | `others` | `pack` and `passes` |
//! | `call` | a call that Ctrl-C can end, and that no panic leaves |
//! | `failure` | exceptions |

// Python hands over objects of its own as owned values.
#![allow(clippy::needless_pass_by_value)]

mod call;
mod failure;
mod others;
mod read;
mod region;
mod rows;
mod schedule;

use pyo3::prelude::*;

/// The allocator of the program, for the memory of this module alone. Readers and searches allocate much.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module `lowtide._lowtide`.
#[pymodule(gil_used = false)]
mod _lowtide {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::failure::{InputError, InternalError};
    #[pymodule_export]
    use super::others::{pack, passes};
    #[pymodule_export]
    use super::read::{Reader, Splitter, read, split};
    #[pymodule_export]
    use super::region::{Kernel, Region};
    #[pymodule_export]
    use super::rows::{Rows, result_schema};
    #[pymodule_export]
    use super::schedule::{Outcome, Session, algorithms, targets};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The terminal belongs to the program that imports this module.
        lowtide_tool::progress::silence();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
