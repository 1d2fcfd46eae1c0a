//! Occupancy first, then length, for all regions of a kernel together (paper 2).
//!
//! A kernel has as many waves as its worst region allows. So the first pass,
//! [`first_pass`](crate::pipeline::first_pass), maximises the waves of the kernel, not of each region. A
//! region that is not the bottleneck reduces its registers only to the need of these waves. The second pass,
//! [`length`], finds the shortest schedule of each region within the registers that these waves leave it.
//! [`weighted`] is the baseline of the paper: both goals in one sum, region by region. [`published`] is the
//! paper's own search, for comparison.

#[cfg(test)]
pub(crate) mod cases;
mod forced_distance;
mod guarded;
mod history;
pub mod length;
mod meter;
mod moves;
mod prover;
pub mod published;
mod reasons;
mod relaxed;
mod search;
pub(crate) mod timed;
pub mod weighted;
mod windows;

/// The method by which a pass improves on the known orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// List schedulers alone.
    Lists,
    /// Searches with proofs.
    #[default]
    Search,
    /// Ants: [`colony`](crate::colony).
    Ants,
}

/// The pruning rules of pass 2. Disabling a rule does not change the optimum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// Of equivalent instructions, let one go ahead.
    pub superiority: bool,
    /// Add the orders of pairs that follow from the limits on registers.
    pub forced_order: bool,
    /// Narrow the windows of instructions by the limits.
    pub windows: bool,
    /// Use Rim and Jain's bound at the states of the search.
    pub dynamic_bound: bool,
    /// Leave no slot empty for an instruction if another one could take it without harm.
    pub no_idling: bool,
    /// Remember failed states.
    pub memory: bool,
    /// Find out why states fail, so that more states are known to fail.
    pub reasons: bool,
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
        reasons: true,
        both_ends: true,
    };
}

impl Default for Rules {
    fn default() -> Self {
        Rules::ALL
    }
}
