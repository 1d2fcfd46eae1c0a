//! Lowtide: instruction scheduling for GPUs, with proofs.
//!
//! Data moves in one direction:
//!
//! 1. A front end makes a [`Kernel`](region::Kernel) of [`Region`](region::Region)s.
//! 2. A region on a [`Target`](target::Target) with a [`Goal`](problem::Goal) is a
//!    [`Problem`](problem::Problem).
//! 3. [`analysis`] finds the facts that never change: closure, times, bounds.
//! 4. A scheduler of [`list`], [`minreg`] or [`twopass`] makes a [`Schedule`](schedule::Schedule); [`pipeline`] says which one when.
//! 5. The independent [checker](schedule::check) tells whether it is legal and what it amounts to.
//!
//! ```
//! use lowtide::generate::{Shape, region};
//! use lowtide::pipeline::{Algorithm, schedule_region};
//! use lowtide::problem::{Goal, Problem};
//! use lowtide::schedule::{Budget, check::check};
//! use lowtide::target::Target;
//!
//! let region = region(Shape::UnrolledLoop, 100, 1);
//! let target = Target::builtin("gfx906").unwrap();
//! let problem = Problem::new(&region, &target, Goal::Length)?;
//! let budget = Budget { nodes: Some(10_000), ..Budget::UNLIMITED };
//! let outcome = schedule_region(&problem, Algorithm::Auto, budget);
//! assert!(outcome.bounds.length <= outcome.measure.length);
//!
//! let report = check(&region, &target, &outcome.schedule).expect("a legal schedule");
//! assert_eq!(report.length, outcome.measure.length);
//! # Ok::<(), lowtide::target::TargetError>(())
//! ```

#![forbid(unsafe_code)]

// Tests of the library share regions with those outside of it.
#[cfg(test)]
extern crate self as lowtide;

pub mod analysis;
pub mod colony;
pub mod generate;
mod index;
pub mod list;
pub mod minreg;
pub mod pack;
pub mod passes;
pub mod pipeline;
pub mod problem;
pub mod random;
pub mod region;
pub mod schedule;
pub mod solved;
pub mod target;
pub mod twopass;

pub use index::{ClassId, InstrId, RegisterId, ValueId};
