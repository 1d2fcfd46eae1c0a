//! A shader in several passes (paper 5, Heirich). A shader that exceeds the registers, instructions,
//! textures, interpolants or outputs of one pass runs in several, which pass values on through storage.
//!
//! **The problem.** A [`PassProblem`] is a region in single-assignment form on a target with a [`PassModel`].
//! A [`Pass`] runs operations in an order, each at most once. It loads the values that it reads and does not
//! compute, each once and right before its first use, and it stores results. A later pass may load a value
//! that an earlier one stored, or compute it again. A partition is legal if each pass keeps the [`Limits`].
//! The goal is the least cost by [`Costs`]: the paper's COST().
//!
//! - Registers hold values from the operation (or load) to the last use in the pass. Stored values go to
//!   outputs of their own.
//! - One wait covers all pending texture requests. There is a wait before the first use of a pending result,
//!   and before a request that would exceed [`Limits::pending`].
//! - A load takes an instruction and a texture request for each register of the value, but no wait.
//! - An operation with effects or an order in memory runs exactly once, and in that order over all passes.
//!
//! | algorithm | |
//! |---|---|
//! | [`dpmpp`] | the paper's dynamic programming (Figure 1), by subtree size or by Sethi-Ullman numbers |
//! | [`mio`] | list scheduling with Sethi-Ullman numbers (Riffel et al.) |
//! | [`rds`] | cuts with recomputation, for one output or several (Chan et al., Foley et al.): RDS, RDS_h, MRDS, MRDS_h |
//! | [`exact`] | a search that proves the optimum, recomputation included |
//!
//! [`loads`] turns inputs into operations, as in the paper's graphs.
//!
//! [`check`] verifies a partition and computes its cost, with code of its own.

mod bound;
pub mod check;
pub mod dpmpp;
pub mod exact;
pub mod generate;
pub mod loads;
pub mod mio;
mod order;
mod problem;
pub mod rds;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::index::{InstrId, RegisterId};
use crate::target::{Target, TargetError};

pub use problem::{PassError, PassProblem, Shortage};

/// The pass model of a target: the section `[passes]` of its file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassModel {
    /// The class of values that live in registers and are passed from pass to pass.
    #[serde(default = "default_class")]
    pub class: String,
    /// The classes of inputs that are interpolated for each pass.
    #[serde(default = "default_interpolants")]
    pub interpolants: Vec<String>,
    /// The operations that are texture requests.
    #[serde(default = "default_textures")]
    pub textures: Vec<String>,
    /// Lanes of one register. A value takes as many registers as its lanes need.
    #[serde(default = "one")]
    pub width: u32,
    /// The limits of one pass.
    #[serde(default)]
    pub limits: Limits,
    /// The costs.
    pub cost: Costs,
}

fn default_class() -> String {
    "reg".to_string()
}

fn default_interpolants() -> Vec<String> {
    ["interpolant", "attribute"].map(str::to_string).to_vec()
}

fn default_textures() -> Vec<String> {
    ["tex", "txl", "txb", "txd", "txc", "txf", "gather"].map(str::to_string).to_vec()
}

fn one() -> u32 {
    1
}

/// The limits of one pass. `None` means no limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Registers that are live at once.
    pub registers: Option<u32>,
    /// Operations and loads.
    pub instructions: Option<u32>,
    /// Texture requests and loads.
    pub textures: Option<u32>,
    /// Texture requests that are pending at once.
    pub pending: Option<u32>,
    /// Interpolated inputs.
    pub interpolants: Option<u32>,
    /// Registers written to storage.
    pub outputs: Option<u32>,
}

/// The paper's COST().
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A pass.
    pub pass: u32,
    /// Loading one register from storage.
    pub load: u32,
    /// Storing one register.
    pub store: u32,
    /// The first use of an interpolant in a pass.
    pub interpolant: u32,
    /// A wait for texture requests.
    pub wait: u32,
    /// An unlisted operation.
    pub operation: u32,
    /// The costs of listed operations.
    #[serde(default)]
    pub operations: BTreeMap<String, u32>,
}

/// The largest supported cost. Sums of costs stay within 64 bits.
const MOST_COST: u32 = 1 << 20;

/// The section `[passes]` of a target file.
#[derive(Deserialize)]
struct Section {
    passes: Option<PassModel>,
}

impl PassModel {
    /// Return the pass model of a target, if it has one.
    pub fn of(target: &Target) -> Result<Option<PassModel>, TargetError> {
        let Section { passes } = target.section()?;
        if let Some(model) = &passes {
            model.validate().map_err(TargetError::Invalid)?;
        }
        Ok(passes)
    }

    /// Check the numbers of the model.
    fn validate(&self) -> Result<(), String> {
        let Limits { registers, instructions, textures, pending, interpolants, outputs } = self.limits;
        let limits = [
            ("registers", registers),
            ("instructions", instructions),
            ("textures", textures),
            ("pending", pending),
            ("interpolants", interpolants),
            ("outputs", outputs),
        ];
        if let Some((name, _)) = limits.iter().find(|(_, limit)| *limit == Some(0)) {
            return Err(format!("passes.limits.{name} must not be 0: leave it out if there is no limit"));
        }
        if self.width == 0 {
            return Err("passes.width must be at least 1".to_string());
        }
        let Costs { pass, load, store, interpolant, wait, operation, operations } = &self.cost;
        let costs = [pass, load, store, interpolant, wait, operation];
        if let Some(cost) = costs.into_iter().chain(operations.values()).find(|cost| **cost > MOST_COST) {
            return Err(format!("passes.cost: {cost} is too much; give at most {MOST_COST} for each cost"));
        }
        Ok(())
    }
}

/// One pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pass {
    /// The operations, in the order in which they run.
    pub ops: Vec<InstrId>,
    /// The registers loaded from storage.
    pub loads: Vec<RegisterId>,
    /// The registers written to storage.
    pub stores: Vec<RegisterId>,
}

/// A shader in passes, with its cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The passes in the order in which they run.
    pub passes: Vec<Pass>,
    /// The total cost.
    pub cost: u64,
}

#[cfg(test)]
mod tests;
