//! Lowtide schedules the instructions of GPU kernels, and proves how far each schedule can be from the best
//! possible one.
//!
//! ```
//! use lowtide::pipeline::{Options, schedule_kernel};
//! use lowtide::region::{InstrSpec, Kernel, RegionBuilder};
//! use lowtide::session::Session;
//! use lowtide::target::Target;
//!
//! // Four loads, each with the addition that uses its result: y[i] = x[i] + 1.
//! let mut builder = RegionBuilder::new("body");
//! let vgpr = builder.class("vgpr");
//! for _ in 0..4 {
//!     let (loaded, sum) = (builder.register("", vgpr, 1, 1), builder.register("", vgpr, 1, 1));
//!     let load = builder.instr(InstrSpec::new("load", 80));
//!     builder.defs(load, loaded, 1);
//!     let add = builder.instr(InstrSpec::new("add", 4));
//!     builder.uses(add, loaded, 1);
//!     builder.defs(add, sum, 1);
//!     builder.live_out(sum, 1);
//! }
//! builder.depend_on_registers();
//! let kernel = Kernel::new("add_one", vec![builder.build()?]);
//!
//! let target = Target::builtin("gfx906").expect("a built-in target");
//! let outcome = schedule_kernel(&kernel, &target, &Options::default(), &Session::new())?;
//! let region = &outcome.regions[0];
//! println!("{} waves, at most {}", outcome.occupancy, outcome.occupancy_bound);
//! println!("{} cycles, at least {}", region.measure.length, region.bounds.length);
//! assert_eq!((outcome.occupancy, region.measure.length, region.bounds.length), (10, 84, 84));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way of the data
//! 1. A front end describes a [`Kernel`](region::Kernel) of [`Region`](region::Region)s
//!    ([`RegionBuilder`](region::RegionBuilder)).
//! 2. A region on a [`Target`](target::Target) with a [`Goal`](problem::Goal) is a
//!    [`Problem`](problem::Problem).
//! 3. [`schedule_kernel`](pipeline::schedule_kernel) schedules all regions of a kernel,
//!    [`schedule_region`](pipeline::schedule_region) a region alone. Both run the
//!    [`Algorithm`](algorithm::Algorithm) of the [`Options`](pipeline::Options) within a
//!    [`Budget`](budget::Budget).
//! 4. A [`Session`](session::Session) keeps answers, so that each graph is solved once.
//! 5. The independent [checker](check) accepts every schedule before it leaves the library.
//! 6. An [`Outcome`](outcome::Outcome) has the schedule, its figures, and the [`Bounds`](proof::Bounds) that
//!    are proven.
//!
//! # Features
//! `unstable` makes the inner modules public: analyses, single algorithms, packing, partitioning into passes,
//! generators. They may change in every release.

#![forbid(unsafe_code)]
// Without the inner modules in the interface, some of their functions have no user.
#![cfg_attr(not(feature = "unstable"), allow(dead_code, unreachable_pub, unused_imports))]

// Tests of the library share regions with those outside of it.
#[cfg(test)]
extern crate self as lowtide;

/// The example of the crate's page, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod algorithm;
#[cfg(not(feature = "unstable"))]
mod analysis;
#[cfg(feature = "unstable")]
pub mod analysis;
#[cfg(not(feature = "unstable"))]
mod bits;
#[cfg(feature = "unstable")]
pub mod bits;
pub mod budget;
#[cfg(feature = "unstable")]
pub mod certify;
pub mod check;
#[cfg(not(feature = "unstable"))]
mod colony;
#[cfg(feature = "unstable")]
pub mod colony;
#[cfg(not(feature = "unstable"))]
mod generate;
#[cfg(feature = "unstable")]
pub mod generate;
#[cfg(not(feature = "unstable"))]
mod groups;
#[cfg(feature = "unstable")]
pub mod groups;
mod index;
mod issue;
#[cfg(not(feature = "unstable"))]
mod list;
#[cfg(feature = "unstable")]
pub mod list;
#[cfg(not(feature = "unstable"))]
mod minreg;
#[cfg(feature = "unstable")]
pub mod minreg;
#[cfg(not(feature = "unstable"))]
mod multipass;
#[cfg(feature = "unstable")]
pub mod multipass;
pub mod outcome;
#[cfg(not(feature = "unstable"))]
mod pack;
#[cfg(feature = "unstable")]
pub mod pack;
pub mod pipeline;
pub mod problem;
pub mod progress;
pub mod proof;
#[cfg(not(feature = "unstable"))]
mod random;
#[cfg(feature = "unstable")]
pub mod random;
pub mod region;
pub mod schedule;
pub mod session;
#[cfg(not(feature = "unstable"))]
mod simulate;
#[cfg(feature = "unstable")]
pub mod simulate;
pub mod target;
mod threads;
pub mod throughput;
#[cfg(not(feature = "unstable"))]
mod twopass;
#[cfg(feature = "unstable")]
pub mod twopass;
#[cfg(not(feature = "unstable"))]
mod verdict;
#[cfg(feature = "unstable")]
pub mod verdict;

pub use index::{ClassId, InstrId, RegisterId, ValueId};
#[cfg(feature = "unstable")]
pub use issue::IssueTable;
