//! Facts about a region that hold in every order, and the state of an order under construction.
//!
//! | module | content |
//! |---|---|
//! | [`closure`] | ancestors and descendants of every instruction |
//! | [`times`], [`distance`] | longest paths of latencies: to the ends of the region, and between all pairs |
//! | [`length_bound`] | lower bounds on the length: critical path, resources, Rim-Jain, Langevin-Černý |
//! | [`flow`] | the least pressure over an interval of downsets, by a minimum cut |
//! | `contraction`, `last_uses` | fewer nodes in its network, for questions about some instructions |
//! | [`pressure_bound`] | a lower bound on the peak: the largest such minimum over all moments |
//! | `moments`, `lifetimes`, `order_pressure` | the parts of that bound: moments, values that are certainly live, the order that guides it |
//! | `limits` | limits on registers that can bind, and orders within them |
//! | [`pressure`] | the pressure along an order, with undo |
//! | [`walk`] | a downset that grows and shrinks from either end of time |
//! | [`fingerprint`] | equal graphs under other names |

#[cfg(test)]
mod brute_force;
pub mod closure;
mod contraction;
pub mod distance;
pub mod fingerprint;
pub mod flow;
pub(crate) mod last_uses;
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
