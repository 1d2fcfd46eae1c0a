//! Occupancy first, then length, for all regions of a kernel together (paper 2).
//!
//! A kernel has as many waves as its worst region allows. So the first pass, [`first_pass`](crate::pipeline::first_pass), looks for the most waves
//! of the kernel, not of each region: a region that is not the bottleneck gets only as few registers as that takes.
//! The second pass, [`length`], looks for the shortest schedule of each region within the registers that these waves leave it.
//! [`weighted`] is the baseline of the paper: both goals in one sum, region by region.

#[cfg(test)]
pub(crate) mod cases;
mod guarded;
mod history;
pub mod length;
mod meter;
mod prover;
mod search;
pub(crate) mod timed;
pub mod weighted;
mod windows;

/// How a pass looks for something better than the known orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// By list schedulers alone.
    Lists,
    /// By searches that can prove it.
    #[default]
    Search,
    /// By ants: [`colony`](crate::colony).
    Ants,
}

/// The rules by which pass 2 leaves out what cannot be better. Each can be switched off; the optimum stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// Of instructions that do the same, let one go ahead.
    pub superiority: bool,
    /// Add the orders of pairs that follow from the limits on registers.
    pub forced_order: bool,
    /// Narrow the windows of instructions by what the limits leave of them.
    pub windows: bool,
    /// Rim and Jain's bound at the states of the search.
    pub dynamic_bound: bool,
    /// Leave no slot empty for an instruction if another one could take it without harm.
    pub no_idling: bool,
    /// Remember what has failed.
    pub memory: bool,
    /// Search from both ends of time, not only from the first instruction.
    pub both_ends: bool,
}

impl Rules {
    /// All rules.
    pub const ALL: Rules = Rules {
        superiority: true,
        forced_order: true,
        windows: true,
        dynamic_bound: true,
        no_idling: true,
        memory: true,
        both_ends: true,
    };
}

impl Default for Rules {
    fn default() -> Self {
        Rules::ALL
    }
}
