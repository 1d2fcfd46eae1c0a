//! The figures of a packing: cycles, registers and groups of loads.

use super::Packing;
use super::problem::PackProblem;
use crate::index::InstrId;

/// Length, registers and levels of a packing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackMeasure {
    /// Cycle of the last issue, plus one.
    pub length: u32,
    /// For each class, the most registers between two cycles.
    pub peaks: Vec<u32>,
    /// Groups of loads: runs of cycles with loads, where cycles without any issue do not count.
    pub levels: u32,
    /// Operations that are split.
    pub splits: usize,
}

/// A value that occupies registers from one boundary between cycles to another. Boundary 0 is before cycle 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Interval {
    /// The first boundary.
    pub(super) born: u32,
    /// The first boundary without the value.
    pub(super) gone: u32,
    pub(super) class: usize,
    pub(super) weight: u32,
}

/// Return the intervals of all values that are not dead.
///
/// All operations of a cycle read before they write. A split operation has its result from the first part on,
/// and its operands up to the last one.
pub(super) fn intervals(problem: &PackProblem, packing: &Packing) -> Vec<Interval> {
    let region = problem.region();
    let mut first = vec![u32::MAX; region.len()];
    let mut last = vec![0; region.len()];
    for placed in packing.placed() {
        let at = placed.instr.index();
        first[at] = first[at].min(placed.cycle);
        last[at] = last[at].max(placed.cycle);
    }
    let length = packing.length();
    let mut intervals = Vec::with_capacity(region.values().len());
    for (number, value) in region.values().iter().enumerate() {
        let id = crate::ValueId::at(number);
        if region.is_dead(id) {
            continue;
        }
        let born = value.def.map_or(0, |def| first[def.index()] + 1);
        let users = region.value_uses(id).iter().map(|user: &InstrId| last[user.index()] + 1);
        let gone = if value.live_out { length + 1 } else { users.max().unwrap_or(0) };
        intervals.push(Interval { born, gone, class: value.class.index(), weight: value.weight });
    }
    intervals
}

/// Measure a packing, which must be legal.
pub fn measure(problem: &PackProblem, packing: &Packing) -> PackMeasure {
    let region = problem.region();
    // Changes of the pressure at each boundary. Latencies can make packings long, so only boundaries with a
    // change are kept.
    let mut changes: Vec<(u32, usize, i64)> = Vec::new();
    let mut peaks: Vec<i64> = region.class_ids().map(|class| i64::from(region.through(class))).collect();
    for Interval { born, gone, class, weight } in intervals(problem, packing) {
        changes.push((born, class, weight.into()));
        changes.push((gone, class, -i64::from(weight)));
    }
    // At the same boundary, decreases come before increases.
    changes.sort_unstable();
    let mut live = peaks.clone();
    for (_, class, change) in changes {
        live[class] += change;
        peaks[class] = peaks[class].max(live[class]);
    }
    PackMeasure {
        length: packing.length(),
        peaks: peaks.into_iter().map(|peak| peak.max(0) as u32).collect(),
        levels: levels(problem, packing),
        splits: packing.splits(),
    }
}

fn levels(problem: &PackProblem, packing: &Packing) -> u32 {
    let mut levels = 0;
    let mut in_level = false;
    for cycle in packing.placed().chunk_by(|a, b| a.cycle == b.cycle) {
        let loads = cycle.iter().any(|placed| problem.operation(placed.instr).is_load);
        levels += u32::from(loads && !in_level);
        in_level = loads;
    }
    levels
}
