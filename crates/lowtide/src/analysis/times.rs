//! Earliest and latest issue cycles by latencies alone.
//!
//! Let `earliest(j)` be the length of the longest path of latencies that ends in `j`, and `tail(j)` that of
//! the longest path that starts there. In every schedule of length `T` (last issue cycle plus one), `j`
//! issues in a cycle of `earliest(j) ..= T - 1 - tail(j)`. *Proof.* Each edge of a path keeps its latency,
//! and the last instruction of the path issues in cycle `T - 1` at the latest. ∎
//!
//! [`Times::on`] also uses two properties of the target that keep dependent instructions apart: see
//! [`separation`].

use crate::index::InstrId;
use crate::problem::Problem;
use crate::region::{Edge, Region};

/// Longer times are not searched: the sum of two of them, in slots, must fit into 32 bits.
pub(crate) const MOST_SLOTS: u64 = 1 << 30;

/// Longest paths of latencies to and from every instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Times {
    /// For each instruction, the first cycle in which it can issue.
    pub earliest: Vec<u32>,
    /// For each instruction, the least number of cycles from its issue to the last issue of the schedule.
    pub tail: Vec<u32>,
}

impl Times {
    /// Return the times that the latencies of the region allow on any target.
    pub fn new(region: &Region) -> Self {
        Times::with(region, |_, edge| edge.latency)
    }

    /// Return the times that the [`separation`] of dependent instructions allows on the problem's target:
    /// never below those of [`Times::new`].
    pub fn on(problem: &Problem) -> Self {
        Times::with(problem.region(), |from, edge| separation(problem, from, edge))
    }

    /// Compute the times; `latency` gives the latency of every edge to a successor.
    fn with(region: &Region, latency: impl Fn(InstrId, &Edge) -> u32) -> Self {
        let mut earliest = vec![0u32; region.len()];
        for from in region.instrs() {
            for edge in region.succs(from) {
                let ready = earliest[from.index()] + latency(from, edge);
                let known = &mut earliest[edge.instr.index()];
                *known = ready.max(*known);
            }
        }
        let mut tail = vec![0u32; region.len()];
        for from in region.instrs().rev() {
            let paths = region.succs(from).iter().map(|edge| tail[edge.instr.index()] + latency(from, edge));
            tail[from.index()] = paths.max().unwrap_or(0);
        }
        Times { earliest, tail }
    }

    /// Return the smallest length that the latencies allow.
    pub fn critical_path(&self) -> u32 {
        self.earliest.iter().max().map_or(0, |last| last + 1)
    }

    /// Return the last cycle in which an instruction can issue in a schedule of `length`. `None` if there is
    /// no such cycle. A result before `earliest` means that no schedule is that short.
    pub fn latest(&self, instr: InstrId, length: u32) -> Option<u32> {
        length.checked_sub(self.tail[instr.index()])?.checked_sub(1)
    }
}

/// Return the least number of cycles between the issues of two dependent instructions on a target: the
/// latency, and at least
///
/// * one, if only one instruction issues in a cycle;
/// * the time for which `from` keeps a unit busy that both need and that has one copy. The successor never
///   issues first, so it waits.
pub fn separation(problem: &Problem, from: InstrId, edge: &Edge) -> u32 {
    let issue = problem.target().issue();
    let mut cycles = edge.latency.max(u32::from(issue.width == 1));
    for &(unit, busy) in problem.unit_needs(from) {
        let shared = || problem.unit_needs(edge.instr).iter().any(|&(other, _)| other == unit);
        if busy > cycles && issue.units[unit as usize].count == 1 && shared() {
            cycles = busy;
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Goal;
    use crate::region::{DepKind, InstrSpec, RegionBuilder};
    use crate::target::Target;

    #[test]
    fn paths_latest_cycles_and_separation() {
        let mut builder = RegionBuilder::new("paths");
        let slow = InstrSpec { units: &[("HWVMEM", 7)], ..InstrSpec::new("slow", 1) };
        let [a, b, c, d] = [slow, InstrSpec::new("b", 1), slow, slow].map(|spec| builder.instr(spec));
        builder.depend(a, b, DepKind::Data, 3);
        builder.depend(b, d, DepKind::Anti, 0);
        builder.depend(a, d, DepKind::Data, 2);
        builder.depend(c, d, DepKind::Data, 1);
        let region = builder.build().unwrap();
        let times = Times::new(&region);
        assert_eq!(times.earliest, [0, 3, 0, 3]);
        assert_eq!(times.tail, [3, 0, 1, 0]);
        assert_eq!(times.critical_path(), 4);
        assert_eq!(times.latest(a, 4), Some(0));
        assert_eq!(times.latest(c, 4), Some(2));
        assert_eq!(times.latest(a, 3), None);

        let target = Target::builtin("gfx906").unwrap();
        let problem = Problem::new(&region, &target, Goal::Length).unwrap();
        let times = Times::on(&problem);
        assert_eq!(times.earliest, [0, 3, 0, 7], "one memory unit, busy for 7 cycles");
        assert_eq!(times.tail, [7, 1, 7, 0], "single issue keeps b and d apart");
    }
}
