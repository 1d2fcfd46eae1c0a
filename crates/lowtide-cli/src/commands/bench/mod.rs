//! `lowtide bench`: the papers' tables, measured on the given files.

mod colony;
mod constraints;
mod families;
mod measure;
mod minreg;
mod multipass;
mod occupancy;
mod pack;
mod passes;
mod proofs;
mod sweep;
mod techniques;

pub(crate) use colony::colony;
pub(crate) use minreg::minreg;
pub(crate) use multipass::multipass;
pub(crate) use occupancy::occupancy;
pub(crate) use pack::pack;
