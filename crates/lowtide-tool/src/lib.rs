//! The parts that the commands and the benchmarks of the program `lowtide` share.
//!
//! A command reads kernels ([`input`]), asks the library for schedules ([`solve`], [`pack`], [`passes`],
//! [`ants`]), and prints a result ([`output`], [`table`], [`page`]). While it runs, [`progress`] prints to
//! the terminal. Every error becomes a [`Failure`]. [`names`] makes names of kernels readable, and [`papers`]
//! explains the papers that texts cite. Groups of arguments that several commands accept are in [`args`].
//! [`certificates`] proves the claims of a result again, for a separate verifier.
//!
//! Only [`solve`] knows how the library keeps results across regions; all other modules receive them from
//! there.

mod ant_args;
pub mod ants;
pub mod args;
pub mod certificates;
mod failure;
pub mod input;
pub mod names;
pub mod output;
pub mod pack;
pub mod page;
pub mod papers;
pub mod passes;
pub mod progress;
pub mod solve;
pub mod table;

pub use failure::Failure;
