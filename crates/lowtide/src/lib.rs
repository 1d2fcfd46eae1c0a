//! Lowtide: instruction scheduling for GPUs, with proofs.
//!
//! Data moves in one direction:
//!
//! 1. A front end makes a [`Kernel`](region::Kernel) of [`Region`](region::Region)s.
//! 2. A region on a [`Target`](target::Target) with a [`Goal`](problem::Goal) is a
//!    [`Problem`](problem::Problem).
//! 3. [`analysis`] finds the facts that never change: closure, times, bounds.
//! 4. A scheduler of [`list`], [`minreg`] or [`twopass`] makes a [`Schedule`](schedule::Schedule); [`pipeline`] says which one when.
//! 5. The independent [checker](check) tells whether it is legal and what it amounts to.
//!
//! ```
//! use lowtide::generate::{Shape, region};
//! use lowtide::algorithm::Algorithm;
//! use lowtide::pipeline::schedule_region;
//! use lowtide::problem::{Goal, Problem};
//! use lowtide::budget::Budget;
//! use lowtide::schedule::check::check;
//! use lowtide::target::Target;
//!
//! let region = region(Shape::UnrolledLoop, 100, 1);
//! let target = Target::builtin("gfx906").unwrap();
//! let problem = Problem::new(&region, &target, Goal::Length)?;
//! let budget = Budget { nodes: Some(10_000), ..Budget::UNLIMITED };
//! let outcome = schedule_region(&problem, Algorithm::AUTO, budget);
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

pub mod algorithm;
pub mod analysis;
pub mod bits;
pub mod budget;
pub mod check;
pub mod colony;
pub mod generate;
mod index;
mod issue;
pub mod list;
pub mod minreg;
pub mod multipass;
pub mod outcome;
pub mod pack;
pub mod pipeline;
pub mod problem;
pub mod progress;
pub mod proof;
pub mod random;
pub mod region;
pub mod schedule;
pub mod session;
pub mod target;
mod threads;
pub mod twopass;
pub mod verdict;

pub use index::{ClassId, InstrId, RegisterId, ValueId};
pub use issue::IssueTable;
