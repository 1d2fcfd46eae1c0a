//! The machine that a simulation runs on: the part `[simulate]` of a target file.

use serde::Deserialize;

use crate::target::{Access, MOST_RULES, Target, TargetError};

/// Most clocks of a round, and between two memory instructions.
const MOST_CLOCKS: u32 = 10_000;

/// The timing of one SIMD.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Clocks of a round. In a round, a wave issues at most one instruction, and a unit takes at most one.
    pub round: u32,
    /// The public source of this figure.
    pub source: String,
    /// Instructions that access memory. The first entry that matches an instruction counts.
    #[serde(default)]
    pub memory: Vec<MemoryRule>,
}

/// A kind of memory instructions.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryRule {
    /// The counter that `s_waitcnt` waits for.
    pub counter: Counter,
    /// The functional unit that the instruction needs.
    pub unit: String,
    /// Match only instructions that may load, or that may store.
    pub access: Option<Access>,
    /// Match only this address space.
    pub address_space: Option<i32>,
    /// Match only operations whose name starts with this text.
    pub prefix: Option<String>,
    /// The SIMD starts one such instruction in this number of clocks.
    pub every: u32,
    /// The public source of this figure.
    pub source: String,
}

/// A counter of memory instructions whose results are outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counter {
    /// Vector memory (`vmcnt`): results return in order.
    Vector,
    /// Local memory (`lgkmcnt`): results return in order, unless a scalar load is outstanding.
    Local,
    /// Scalar loads (`lgkmcnt`): results return in any order, so that a wait for one is a wait for all.
    Scalar,
}

/// The section `[simulate]` of a target file.
#[derive(Deserialize)]
struct Section {
    simulate: Option<Machine>,
}

impl Machine {
    /// Return the machine of a target, if its file has one.
    pub fn of(target: &Target) -> Result<Option<Machine>, TargetError> {
        let Section { simulate } = target.section()?;
        if let Some(machine) = &simulate {
            machine.validate(target).map_err(|error| TargetError::Invalid(format!("simulate: {error}")))?;
        }
        Ok(simulate)
    }

    fn validate(&self, target: &Target) -> Result<(), String> {
        let clocks = |what: &str, clocks: u32| match (1..=MOST_CLOCKS).contains(&clocks) {
            true => Ok(()),
            false => Err(format!("{what} is {clocks}, but must be 1 to {MOST_CLOCKS}")),
        };
        clocks("round", self.round)?;
        if self.memory.len() > MOST_RULES {
            return Err(format!(
                "{} entries [[simulate.memory]], but at most {MOST_RULES} are possible",
                self.memory.len()
            ));
        }
        for rule in &self.memory {
            clocks("every", rule.every)?;
            if !target.issue().units.iter().any(|unit| unit.name == rule.unit) {
                return Err(format!("unknown unit {:?}; issue.units does not list it", rule.unit));
            }
        }
        let mut sources = self.memory.iter().map(|rule| &rule.source).chain([&self.source]);
        if sources.any(|source| source.trim().is_empty()) {
            return Err("source must name where a figure comes from".to_string());
        }
        Ok(())
    }
}
