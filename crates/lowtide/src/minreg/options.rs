//! What every search of this module is given.

use super::Rules;
use crate::budget::Budget;
use crate::progress::Watch;
use crate::proof::Reason;

/// The parameters of a search.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The budget.
    pub budget: Budget,
    /// The pruning rules.
    pub rules: Rules,
    /// A bound on the peak that [`minimise`](super::exact::minimise) can rely on, with its reason.
    pub known_bound: Option<(u32, Reason)>,
    /// The log of [`minimise`](super::exact::minimise).
    pub watch: Watch<'a>,
}

impl Options<'_> {
    /// Use all rules.
    pub fn new(budget: Budget) -> Self {
        Options { budget, rules: Rules::ALL, known_bound: None, watch: Watch::default() }
    }
}
