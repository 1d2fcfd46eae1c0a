//! The bare graph of a region and the facts about it that several searches need, each computed once.

use std::sync::OnceLock;

use crate::analysis::closure::Closure;
use crate::region::Region;

/// A region without names and without what passes through it, and the facts that follow from it alone.
///
/// All searches of a session work on bare graphs, so that their answers hold for every region with the same
/// graph. The closure takes n² / 4 bytes: a bare graph lives only while its region is being scheduled.
#[derive(Debug)]
pub(crate) struct BareGraph {
    pub(crate) region: Region,
    closure: OnceLock<Closure>,
}

impl BareGraph {
    pub(crate) fn new(region: &Region) -> Self {
        BareGraph { region: region.bare(), closure: OnceLock::new() }
    }

    /// All pairs of instructions of which one must precede the other.
    pub(crate) fn closure(&self) -> &Closure {
        self.closure.get_or_init(|| Closure::new(&self.region))
    }
}
