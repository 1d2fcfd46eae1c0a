//! Lowtide: instruction scheduling for GPUs, with proofs.
pub mod analysis;
pub mod generate;
mod index;
pub mod problem;
pub mod region;
pub mod schedule;
pub mod target;
pub use index::{ClassId, InstrId, RegisterId, ValueId};
