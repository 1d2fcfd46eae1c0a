//! Facts about a region that never change, and the machinery to track what does.

pub mod closure;
pub mod distance;
pub mod fingerprint;
pub mod flow;
pub mod length_bound;
pub(crate) mod limits;
mod measure;
pub mod pressure;
pub mod pressure_bound;
pub mod times;
pub mod walk;
