//! The issue model of a machine with two units: the section `[pack]` of a target file.
//!
//! The machine of paper 3 has two units. Each operation takes one of them, either, both or none, in a
//! *format*. A table of formats (Γ in the paper) may also split operations into several smaller ones
//! (*splits*). Some pairs of operations cannot share a cycle although they take different units (F in the
//! paper). The reasons are their names, the number of registers that they read together, or the banks of
//! their registers.
//!
//! ```
//! use lowtide::pack::PackModel;
//! use lowtide::target::Target;
//!
//! let machine = Target::builtin("vs").unwrap();
//! let pack = PackModel::of(&machine)?.unwrap();
//! assert_eq!(pack.units, ["v", "s"]);
//! assert!(pack.operations.iter().any(|rule| rule.names.contains(&"dp3".to_string())));
//! # Ok::<(), lowtide::target::TargetError>(())
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::target::{Target, TargetError};

/// The issue model of a machine with two units.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackModel {
    /// The names of the two units. Each takes one operation in a cycle.
    pub units: [String; 2],
    /// The lanes of a register. A value of fewer lanes takes a part of a register.
    #[serde(default = "one")]
    pub lanes: u32,
    /// The needs of operations. The first rule that matches an operation applies.
    #[serde(rename = "operation")]
    pub operations: Vec<OperationRule>,
    /// Operations that cannot share a cycle, by name.
    #[serde(default, rename = "conflict")]
    pub conflicts: Vec<ConflictRule>,
    /// How many registers two operations of a cycle may read together.
    #[serde(default)]
    pub reads: Vec<ReadRule>,
    /// Which registers two operations of a cycle can read or write side by side.
    #[serde(default)]
    pub banks: Vec<BankRule>,
}

/// The needs of some operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationRule {
    /// The operations' names. A name that ends in `*` matches all with this prefix.
    pub names: Vec<String>,
    /// Match only operations that write a number of lanes in this range, both ends included.
    #[serde(default)]
    pub results: Option<[u32; 2]>,
    /// Match only operations with machine registers (`true`), or only those without (`false`).
    /// [`BankRule::numbered`] has the names of machine registers.
    #[serde(default)]
    pub allocated: Option<bool>,
    /// The units for each way to issue the operation in one cycle: `[["v"], ["s"]]` is either, `[["v", "s"]]`
    /// both, `[[]]` none.
    pub formats: Vec<Vec<String>>,
    /// Alternative sequences of smaller operations, if there are any.
    #[serde(default, rename = "split")]
    pub splits: Vec<SplitRule>,
    /// Cycles until another operation can use the result. Replaces the latency of the region.
    #[serde(default)]
    pub latency: Option<u32>,
    /// Whether it loads from memory: loads are grouped into levels.
    #[serde(default)]
    pub load: bool,
}

/// A sequence that is equivalent to one operation. Each part reads the operands of the operation and the
/// result of the part before; the last part makes the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitRule {
    /// The parts' names, first to last.
    pub parts: Vec<String>,
    /// The number of parts for each unit (a row of Γ). Any part can be on any of these units.
    pub units: BTreeMap<String, u32>,
    /// Cycles between the issue of a part and of the next one.
    #[serde(default = "one")]
    pub apart: u32,
}

fn one() -> u32 {
    1
}

/// Operations that cannot share a cycle.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictRule {
    /// These ...
    pub between: Vec<String>,
    /// ... and those.
    pub and: Vec<String>,
}

/// Ports of a register file: two operations that read more registers together cannot share a cycle.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRule {
    /// Count only registers of these classes; of all classes if the list is empty. A file may name a single
    /// class without brackets.
    #[serde(default, rename = "class", deserialize_with = "one_or_more")]
    pub classes: Vec<String>,
    /// Count only registers with a number of lanes in this range, both ends included.
    #[serde(default)]
    pub lanes: Option<[u32; 2]>,
    /// The most different registers.
    pub most: u32,
}

/// Read a text, or a list of texts.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        More(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    })
}

/// Banks of a register file: operands at the same position must come from different banks. A register's bank
/// is its number modulo the number of banks. Before register allocation, only lanes of one register have
/// known distances. The allocator handles the rest.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankRule {
    /// Registers of this class.
    pub class: String,
    /// The number of banks for each position among the operands that are read, in the order of
    /// [`Region::operands`](crate::region::Region::operands).
    #[serde(default)]
    pub sources: Vec<u32>,
    /// The number of banks for results.
    #[serde(default)]
    pub results: Option<u32>,
    /// The name prefix of machine registers, which a number follows.
    pub numbered: String,
}

/// The section `[pack]` of a target file.
#[derive(Deserialize)]
struct Section {
    pack: Option<PackModel>,
}

impl PackModel {
    /// Return the issue model of a target, if it has one.
    pub fn of(target: &Target) -> Result<Option<PackModel>, TargetError> {
        let Section { pack } = target.section()?;
        if let Some(model) = &pack {
            model.validate().map_err(TargetError::Invalid)?;
        }
        Ok(pack)
    }

    /// Check the rules.
    fn validate(&self) -> Result<(), String> {
        if self.units[0] == self.units[1] {
            return Err(format!("pack.units: {:?} is listed twice; name two different units", self.units[0]));
        }
        if self.lanes == 0 {
            return Err("pack.lanes is 0; give at least 1".to_string());
        }
        for rule in &self.operations {
            rule.validate(self).map_err(|error| format!("pack: operation {:?}: {error}", rule.names))?;
        }
        for rule in &self.banks {
            if rule.sources.iter().chain(&rule.results).any(|banks| *banks == 0) {
                return Err(format!("pack: class {:?} has 0 banks; give at least 1", rule.class));
            }
        }
        Ok(())
    }
}

impl OperationRule {
    fn validate(&self, model: &PackModel) -> Result<(), String> {
        let unknown = |unit: &&String| !model.units.contains(unit);
        let said_by_splits = self.splits.iter().flat_map(|split| split.units.keys());
        if let Some(unit) = self.formats.iter().flatten().chain(said_by_splits).find(unknown) {
            return Err(format!("unit {unit:?} is not one of {:?}", model.units));
        }
        if self.formats.is_empty() {
            return Err("formats is empty; list at least one ([] is a format without units)".to_string());
        }
        let repeats = |units: &&Vec<String>| units.len() == 2 && units[0] == units[1] || units.len() > 2;
        if let Some(units) = self.formats.iter().find(repeats) {
            return Err(format!("format {units:?} names a unit twice; name each unit at most once"));
        }
        for split in &self.splits {
            let parts = split.units.values().map(|count| u64::from(*count)).sum::<u64>();
            if split.parts.len() < 2 || split.parts.len() as u64 != parts {
                return Err(format!(
                    "a split has {} parts, but its units issue {parts}; make both the same, at least 2",
                    split.parts.len()
                ));
            }
            if split.apart == 0 || split.apart > MOST_APART {
                return Err(format!(
                    "a split has parts that are {} cycles apart; give 1 to {MOST_APART}",
                    split.apart
                ));
            }
            if split.parts.len() > MOST_PARTS {
                return Err(format!("a split has {parts} parts; at most {MOST_PARTS} are supported"));
            }
        }
        if self.splits.len() > MOST_SPLITS {
            return Err(format!("{} splits; at most {MOST_SPLITS} are supported", self.splits.len()));
        }
        if let Some(latency) = self.latency.filter(|latency| *latency > MOST_LATENCY) {
            return Err(format!("latency {latency} is too long; give at most {MOST_LATENCY} cycles"));
        }
        Ok(())
    }
}

/// Limits that keep all sums within 32 bits, even if the latencies of the region add up to the supported
/// maximum.
const MOST_LATENCY: u32 = 1 << 16;
const MOST_APART: u32 = 1 << 12;
const MOST_PARTS: usize = 16;
const MOST_SPLITS: usize = 8;
