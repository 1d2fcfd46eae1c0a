//! Lower bounds on peaks with their reasons, as schedule files and `--json` carry them.

use lowtide::InstrId;
use lowtide::proof::Moment;
use lowtide::proof::{Bounds, Reason};
use lowtide::region::Region;
use serde::{Deserialize, Serialize};

use crate::json::Object;

/// A lower bound on the peak pressure of a class, with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeakBound {
    /// The class.
    pub class: String,
    /// The bound: no order has a lower peak.
    pub value: u32,
    /// The reason.
    pub by: BoundReason,
}

impl PeakBound {
    /// Return the bounds of a region, one for each class.
    pub fn all(region: &Region, bounds: &Bounds) -> Vec<PeakBound> {
        let classes = region.classes().iter().zip(&bounds.peaks).zip(&bounds.reasons);
        classes
            .map(|((class, value), reason)| PeakBound {
                class: class.to_string(),
                value: *value,
                by: BoundReason::from(reason),
            })
            .collect()
    }
}

/// The reason for a bound. Unlike [`Reason`], it can name pruning rules that this program does not have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "Fields", try_from = "Fields")]
pub enum BoundReason {
    /// No downset that is possible at this moment has less pressure.
    Cut(Moment),
    /// A search has proven that no order has a lower peak.
    Search {
        /// States that were expanded.
        nodes: u64,
        /// The names of the pruning rules that were used.
        rules: Vec<String>,
    },
    /// A constraint solver claims it.
    Solver,
}

impl From<&Reason> for BoundReason {
    fn from(reason: &Reason) -> Self {
        match reason {
            Reason::Cut(moment) => BoundReason::Cut(*moment),
            Reason::Search { rules, nodes } => {
                BoundReason::Search { nodes: *nodes, rules: rules.names().map(str::to_string).collect() }
            }
            Reason::Solver => BoundReason::Solver,
        }
    }
}

/// The JSON form of a reason.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: the reason for a bound")]
struct Fields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut: Option<Cut>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instr: Option<u32>,
    /// The second of two instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    and: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solver: Option<SolverName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<Object<Search>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cut {
    Start,
    Before,
    After,
    End,
}

#[derive(Serialize, Deserialize)]
enum SolverName {
    #[serde(rename = "cp-sat")]
    CpSat,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: what a search did")]
struct Search {
    nodes: u64,
    rules: Vec<String>,
}

impl From<BoundReason> for Fields {
    fn from(reason: BoundReason) -> Self {
        let none = || Fields { cut: None, instr: None, and: None, solver: None, search: None };
        let cut = |cut, instr: Option<InstrId>, and: Option<InstrId>| Fields {
            cut: Some(cut),
            instr: instr.map(|instr| instr.0),
            and: and.map(|instr| instr.0),
            ..none()
        };
        match reason {
            BoundReason::Cut(Moment::Start) => cut(Cut::Start, None, None),
            BoundReason::Cut(Moment::Before(instr)) => cut(Cut::Before, Some(instr), None),
            BoundReason::Cut(Moment::After(instr)) => cut(Cut::After, Some(instr), None),
            BoundReason::Cut(Moment::BeforeBoth(one, other)) => cut(Cut::Before, Some(one), Some(other)),
            BoundReason::Cut(Moment::AfterBoth(one, other)) => cut(Cut::After, Some(one), Some(other)),
            BoundReason::Cut(Moment::End) => cut(Cut::End, None, None),
            BoundReason::Search { nodes, rules } => {
                Fields { search: Some(Object(Search { nodes, rules })), ..none() }
            }
            BoundReason::Solver => Fields { solver: Some(SolverName::CpSat), ..none() },
        }
    }
}

impl TryFrom<Fields> for BoundReason {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        let (instr, and) = (fields.instr.map(InstrId), fields.and.map(InstrId));
        match (fields.cut, instr, and, fields.search, fields.solver) {
            (Some(Cut::Start), None, None, None, None) => Ok(BoundReason::Cut(Moment::Start)),
            (Some(Cut::Before), Some(instr), None, None, None) => Ok(BoundReason::Cut(Moment::Before(instr))),
            (Some(Cut::After), Some(instr), None, None, None) => Ok(BoundReason::Cut(Moment::After(instr))),
            (Some(Cut::Before), Some(one), Some(other), None, None) => {
                Ok(BoundReason::Cut(Moment::BeforeBoth(one, other)))
            }
            (Some(Cut::After), Some(one), Some(other), None, None) => {
                Ok(BoundReason::Cut(Moment::AfterBoth(one, other)))
            }
            (Some(Cut::End), None, None, None, None) => Ok(BoundReason::Cut(Moment::End)),
            (None, None, None, Some(Object(Search { nodes, rules })), None) => {
                Ok(BoundReason::Search { nodes, rules })
            }
            (None, None, None, None, Some(SolverName::CpSat)) => Ok(BoundReason::Solver),
            (Some(_), _, _, None, None) => Err(
                "a cut \"before\" or \"after\" needs an \"instr\"; at \"start\" and \"end\" there is none",
            ),
            _ => Err("a reason is either a \"cut\", a \"search\" or a \"solver\""),
        }
    }
}
