//! Two operations at a time: the shortest schedule for a machine with two unlike units (paper 3).
//!
//! A [`PackProblem`] is a region on a target with a section `[pack]`. Each operation takes the first unit,
//! the second, either, both or none. Some operations can be split into several smaller ones, and some pairs
//! cannot share a cycle. [`pack`] finds the shortest [`Packing`], in this order:
//!
//! 1. a list schedule ([`list`]), the paper's upper bound;
//! 2. lower bounds ([`bound`]): if the two meet, that is the proof;
//! 3. a search (`search.rs`) that fixes the length and counts it up from the bound, first without splits and
//!    then with them. The operations to split are chosen first (`formats.rs`).
//!
//! An integer program can decide open blocks (crate `lowtide-cp`). The independent [checker](check) verifies
//! every packing.
//!
//! ```
//! use lowtide::generate::shaders::{Group, block};
//! use lowtide::pack::{PackProblem, check::check, pack};
//! use lowtide::budget::Budget;
//! use lowtide::target::Target;
//!
//! let target = Target::builtin("vs").unwrap();
//! let region = block(Group::Hand, 30, 1);
//! let problem = PackProblem::new(&region, &target)?;
//! let outcome = pack(&problem, Budget { nodes: Some(100_000), ..Budget::UNLIMITED });
//! assert!(outcome.is_proved() && outcome.best.length() <= outcome.list.length());
//!
//! let report = check(&region, &target, &outcome.best).expect("a legal packing");
//! assert_eq!(report.length, outcome.best.length());
//! # Ok::<(), lowtide::pack::PackError>(())
//! ```

mod allocate;
pub mod bound;
pub mod check;
mod formats;
mod graph;
pub mod list;
mod machine;
mod matching;
mod measure;
mod memory;
mod problem;
mod search;
mod solve;

pub use allocate::allocated;
pub use machine::{BankRule, ConflictRule, OperationRule, PackModel, ReadRule, SplitRule};
pub use measure::{PackMeasure, measure};
pub use problem::{Kind, MOST_OPERATIONS, Operation, PackError, PackProblem, Split, Units};
pub use solve::{PackOutcome, Proof, pack, pack_watched};

use crate::index::InstrId;

/// The place and time of an operation, or of a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Placed {
    /// The cycle.
    pub cycle: u32,
    /// The operation.
    pub instr: InstrId,
    /// 0 for the whole operation. Splits are numbered from 1.
    pub format: usize,
    /// The number of the part, from 0.
    pub part: u32,
    /// The units.
    pub units: Units,
}

/// A packed block: the issues of each cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    placed: Vec<Placed>,
}

impl Packing {
    /// Make a packing from its parts, in any order. Nothing is checked here; [`check::check`] does that.
    pub fn new(mut placed: Vec<Placed>) -> Self {
        placed.sort_by_key(|placed| (placed.cycle, placed.units == Units::SECOND, placed.instr, placed.part));
        Packing { placed }
    }

    /// Return all issues, by cycle.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// Return the cycle of the last issue, plus one.
    pub fn length(&self) -> u32 {
        self.placed.last().map_or(0, |last| last.cycle.saturating_add(1))
    }

    /// Return the number of split operations.
    pub fn splits(&self) -> usize {
        self.placed.iter().filter(|placed| placed.format > 0 && placed.part == 0).count()
    }
}
