//! `lowtide bench`: the papers' tables, measured on the given files.

mod constraints;
mod families;
mod measure;
mod minreg;
mod multipass;
mod occupancy;
mod passes;
mod proofs;

pub(crate) use minreg::minreg;
pub(crate) use multipass::multipass;
pub(crate) use occupancy::occupancy;
