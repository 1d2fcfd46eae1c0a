//! What a scheduler returns: the best schedule, and what is proven about all others.

use crate::problem::Measure;
use crate::proof::Bounds;
use crate::schedule::Schedule;

/// The best schedule found, and how far it can be from the best possible one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The schedule.
    pub schedule: Schedule,
    /// What it amounts to.
    pub measure: Measure,
    /// What is proven about all others.
    pub bounds: Bounds,
    /// Whether no schedule spills less, and none has more waves that are of use.
    pub proven_waves: bool,
    /// Whether the schedule is proven to be as good as it can be: in the peak of the first class, in waves and length, or in
    /// length, by goal; for the last two also in what it needs beyond the limits on registers.
    pub optimal: bool,
}
