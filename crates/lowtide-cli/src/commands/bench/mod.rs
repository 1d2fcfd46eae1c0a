//! `lowtide bench`: the papers' tables, measured on the given files.

mod constraints;
mod families;
mod measure;
mod minreg;
mod proofs;

pub(crate) use minreg::minreg;
