//! When each instruction can issue, if the schedule is to meet a target within the limits on registers.
//!
//! For a target length every instruction has a *window*: from its release to what its tail leaves of the target. Windows say more than
//! when: at any moment, everything whose window has closed has been issued, and everything whose window has not opened
//! has not. So the set of instructions issued so far lies between two downsets, and a minimum cut tells the least pressure of all sets between them. If
//! that is over a limit, there is no such moment, and a window can be narrowed:
//!
//! - Suppose that b issues in cycle h or later. Just before it, all of its ancestors have been issued, and all whose windows close by h;
//!   none of its descendants, and none whose window opens only when that of b has closed. If no such set is within the limits, b
//!   issues before h.
//! - Mirrored: suppose that b issues in cycle l or earlier. Just after it, the same holds for those whose windows close
//!   before that of b opens, and those whose windows open from l on.
//!
//! A narrower window narrows those of predecessors and successors, and makes the next cuts higher. If a window becomes empty, or the relaxed
//! problem of Rim and Jain has no solution for the windows, no schedule meets the target: a *destructive* bound. It knows what neither latencies nor registers
//! know alone: that all of several results would have to be on their way at once, say, when only some of them can be.

use super::timed::Timed;
use crate::analysis::closure::{Closure, members};
use crate::analysis::flow::{DownsetMin, Effort, Minimum, Side};
use crate::index::InstrId;
use crate::region::Region;

/// What became of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// No schedule meets it.
    Refuted,
    /// Windows remain, as far as the effort went.
    Open,
}

/// Finds windows for one target after the other.
pub(crate) struct Windows<'a> {
    region: &'a Region,
    graph: &'a Timed,
    closure: Closure,
    cuts: Vec<(DownsetMin<'a>, u32)>,
    sides: Vec<Side>,
    /// For each instruction the first and the last cycle.
    pub(crate) first: Vec<u32>,
    pub(crate) last: Vec<u32>,
}

impl<'a> Windows<'a> {
    /// `graph` runs forwards.
    pub(crate) fn new(region: &'a Region, graph: &'a Timed, limits: &[Option<u32>]) -> Self {
        let closure = Closure::new(region);
        let classes = region.class_ids().filter_map(|class| limits[class.index()].map(|limit| (class, limit)));
        let cuts = classes.map(|(class, limit)| (DownsetMin::new(region, class, &closure), limit)).collect();
        Windows {
            region,
            graph,
            closure,
            cuts,
            sides: vec![Side::Free; region.len()],
            first: vec![0; region.len()],
            last: vec![0; region.len()],
        }
    }

    /// Narrows the windows for a target until nothing changes.
    pub(crate) fn narrow(&mut self, target: u32, effort: &mut Effort) -> Verdict {
        let graph = self.graph;
        for instr in 0..graph.len() {
            let Some(last) = (target - 1).checked_sub(graph.tail[instr]) else { return Verdict::Refuted };
            self.first[instr] = graph.head[instr];
            self.last[instr] = last;
            if self.first[instr] > last {
                return Verdict::Refuted;
            }
        }
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for instr in self.region.instrs() {
                if effort.is_spent() {
                    return Verdict::Open;
                }
                let last = self.latest_start(instr, effort);
                if last < self.last[instr.index()] as i64 {
                    if last < i64::from(self.first[instr.index()]) {
                        return Verdict::Refuted;
                    }
                    self.last[instr.index()] = last as u32;
                    has_changed = true;
                    if !self.propagate_last() {
                        return Verdict::Refuted;
                    }
                }
                let first = self.earliest_start(instr, effort);
                if first > self.first[instr.index()] {
                    if first > self.last[instr.index()] {
                        return Verdict::Refuted;
                    }
                    self.first[instr.index()] = first;
                    has_changed = true;
                    if !self.propagate_first() {
                        return Verdict::Refuted;
                    }
                }
            }
        }
        Verdict::Open
    }

    fn latest_start(&mut self, instr: InstrId, effort: &mut Effort) -> i64 {
        let (first, last) = (self.first[instr.index()], self.last[instr.index()]);
        if self.can_start_from(instr, last, effort) {
            return i64::from(last);
        }
        // The largest cycle from which it can.
        let (mut good, mut bad) = (i64::from(first) - 1, i64::from(last));
        while bad - good > 1 {
            let middle = (good + bad).div_euclid(2);
            if self.can_start_from(instr, middle as u32, effort) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    }

    fn earliest_start(&mut self, instr: InstrId, effort: &mut Effort) -> u32 {
        let (first, last) = (self.first[instr.index()], self.last[instr.index()]);
        if self.can_start_by(instr, first, effort) {
            return first;
        }
        let (mut bad, mut good) = (first, last + 1);
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            if self.can_start_by(instr, middle, effort) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    }

    /// Whether there may be a moment just before `instr` in `cycle` or later.
    fn can_start_from(&mut self, instr: InstrId, cycle: u32, effort: &mut Effort) -> bool {
        let last = self.last[instr.index()];
        let one = u32::from(self.graph.width == 1);
        for other in 0..self.first.len() {
            // With one instruction in a cycle, two that have only one cycle to share are in order.
            self.sides[other] = if self.last[other] < cycle + one {
                Side::In
            } else if self.first[other] + one > last {
                Side::Out
            } else {
                Side::Free
            };
        }
        members(self.closure.ancestors(instr)).for_each(|other| self.sides[other.index()] = Side::In);
        members(self.closure.descendants(instr)).for_each(|other| self.sides[other.index()] = Side::Out);
        self.sides[instr.index()] = Side::Out;
        self.is_possible(effort)
    }

    /// Whether there may be a moment just after `instr` in `cycle` or earlier.
    fn can_start_by(&mut self, instr: InstrId, cycle: u32, effort: &mut Effort) -> bool {
        let first = self.first[instr.index()];
        let one = u32::from(self.graph.width == 1);
        for other in 0..self.first.len() {
            self.sides[other] = if self.last[other] < first + one {
                Side::In
            } else if self.first[other] + one > cycle {
                Side::Out
            } else {
                Side::Free
            };
        }
        members(self.closure.ancestors(instr)).for_each(|other| self.sides[other.index()] = Side::In);
        members(self.closure.descendants(instr)).for_each(|other| self.sides[other.index()] = Side::Out);
        self.sides[instr.index()] = Side::In;
        self.is_possible(effort)
    }

    fn is_possible(&mut self, effort: &mut Effort) -> bool {
        for (cut, limit) in &mut self.cuts {
            if let Minimum::AtLeast(least) = cut.min(&self.sides, *limit + 1, effort)
                && least > *limit
            {
                return false;
            }
        }
        true
    }

    fn propagate_first(&mut self) -> bool {
        for instr in self.graph.topological() {
            let own = self.first[instr as usize];
            for link in self.graph.next.row(instr as usize) {
                let other = link.instr as usize;
                self.first[other] = self.first[other].max(own + link.cycles);
                if self.first[other] > self.last[other] {
                    return false;
                }
            }
        }
        true
    }

    fn propagate_last(&mut self) -> bool {
        let order: Vec<u32> = self.graph.topological().collect();
        for &instr in order.iter().rev() {
            let own = self.last[instr as usize];
            for link in self.graph.prev.row(instr as usize) {
                let other = link.instr as usize;
                let Some(last) = own.checked_sub(link.cycles) else { return false };
                self.last[other] = self.last[other].min(last);
                if self.first[other] > self.last[other] {
                    return false;
                }
            }
        }
        true
    }
}
