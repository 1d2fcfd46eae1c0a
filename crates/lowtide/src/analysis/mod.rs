//! Facts about a region that never change, and the machinery to track what does.

#[cfg(test)]
mod brute_force;
pub mod closure;
pub mod distance;
pub mod fingerprint;
pub mod flow;
pub mod length_bound;
mod lifetimes;
pub(crate) mod limits;
mod measure;
mod moments;
mod order_pressure;
pub mod pressure;
pub mod pressure_bound;
pub mod times;
pub mod walk;
