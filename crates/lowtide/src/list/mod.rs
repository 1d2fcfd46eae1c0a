//! List scheduling: one engine, many policies.
//!
//! | module | what | from |
//! |---|---|---|
//! | [`engine`] | the engine: top-down or bottom-up, by order or by cycles, with explanations | |
//! | [`sethi_ullman`](mod@sethi_ullman) | Algorithms 1 to 5 and the adjustment | paper 1, Sections IV and V |
//! | [`tree`] | optimal orders of trees | paper 1, Section II |
//! | [`latency_hiding`] | the second phase: cycles under a limit on registers | paper 1, Section IV |
//! | [`baselines`] | critical path, last-use count, Goodman-Hsu, LLVM-like | papers 2 and 4 |
//! | [`few_registers`] | `few-registers`: our own | |

pub mod baselines;
pub mod engine;
pub mod few_registers;
pub mod latency_hiding;
pub mod sethi_ullman;
pub mod tree;
