//! Occupancy first, then length, for all regions of a kernel together (paper 2).
//!
//! A kernel has as many waves as its worst region allows. So the first pass, [`occupancy`], looks for the most waves
//! of the kernel, not of each region: a region that is not the bottleneck gets only as few registers as that takes.

pub mod occupancy;
