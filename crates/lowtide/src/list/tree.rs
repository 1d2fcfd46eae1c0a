//! Optimal orders of trees: the generalised Sethi-Ullman algorithm (paper 1, Section II).
//!
//! In a tree every instruction changes the pressure by a fixed amount, whatever the order: what it defines, less what it is the only
//! one to use. Sethi and Ullman, and for results of different sizes Appel and Supowit, evaluate one subtree after the other, those first
//! that need most registers beyond what they leave behind. That is optimal among orders that keep subtrees together. Where sizes differ, keeping them
//! together can cost registers: it may pay to stop at a point where a subtree has little live, and to evaluate a part of another one
//! first. So this module does what Abdel-Wahab and Kameda do for series-parallel graphs, and Liu for trees, and which falls back to
//! Sethi-Ullman's order where that is optimal:
//!
//! The order of a subtree is cut into *segments*. A segment has a hill (the most it needs above its start) and a net change.
//! Segments that lower the pressure come first, smallest hill first; the others come after them, largest `hill - net` first: an exchange
//! argument shows that no other order of independent segments has a lower peak. Neighbours of one subtree that stand in the wrong order can
//! never be parted with profit and become one segment. Segments of sibling subtrees are then merged in that order, the parent is added as a segment
//! at the end, and neighbours in the wrong order become one again. What remains at the root is an optimal order.

use crate::index::{InstrId, ValueId};
use crate::problem::Problem;
use crate::schedule::Schedule;

/// A part of a subtree's order that is never interrupted.
#[derive(Clone, Copy)]
struct Segment {
    hill: i64,
    net: i64,
    /// First and last instruction; they are linked by `Tree::next`.
    first: InstrId,
    last: InstrId,
}

impl Segment {
    /// Where the segment belongs among independent ones: the smaller, the earlier.
    fn rank(&self) -> (bool, i64) {
        match self.net < 0 {
            true => (false, self.hill),
            false => (true, self.net - self.hill),
        }
    }
}

/// The best order of a region that is a tree, or a forest; none if it is not.
pub fn tree(problem: &Problem) -> Option<Schedule> {
    let region = problem.region();
    let changes = fixed_changes(problem)?;
    let mut next: Vec<Option<InstrId>> = vec![None; region.len()];
    // For each instruction, the segments of its subtree; taken by its parent.
    let mut segments: Vec<Vec<Segment>> = vec![Vec::new(); region.len()];
    let mut roots: Vec<Segment> = Vec::new();
    for instr in region.instrs() {
        let change = changes[instr.index()];
        let mut own: Vec<Segment> = Vec::new();
        for edge in region.preds(instr) {
            // The longest list takes in the others, so that long chains stay cheap.
            let mut child = std::mem::take(&mut segments[edge.instr.index()]);
            if child.len() > own.len() {
                std::mem::swap(&mut child, &mut own);
            }
            own.append(&mut child);
        }
        own.sort_by_key(Segment::rank);
        let mut last = Segment { hill: change, net: change, first: instr, last: instr };
        while let Some(before) = own.pop() {
            if before.rank() <= last.rank() {
                own.push(before);
                break;
            }
            next[before.last.index()] = Some(last.first);
            last = Segment {
                hill: before.hill.max(before.net + last.hill),
                net: before.net + last.net,
                first: before.first,
                last: last.last,
            };
        }
        own.push(last);
        match region.succs(instr).is_empty() {
            true => roots.append(&mut own),
            false => segments[instr.index()] = own,
        }
    }
    roots.sort_by_key(Segment::rank);
    let mut order = Vec::with_capacity(region.len());
    for segment in roots {
        let mut at = segment.first;
        order.push(at);
        while at != segment.last {
            at = next[at.index()]?;
            order.push(at);
        }
    }
    Some(Schedule::in_order(problem, order))
}

/// By how much each instruction changes the pressure of the first class, if that does not depend on the order and every instruction has at
/// most one successor.
fn fixed_changes(problem: &Problem) -> Option<Vec<i64>> {
    let region = problem.region();
    if region.instrs().any(|instr| region.succs(instr).len() > 1) {
        return None;
    }
    let mut changes = vec![0; region.len()];
    for (position, value) in region.values().iter().enumerate() {
        let id = ValueId::at(position);
        if value.class != problem.primary_class() || region.is_dead(id) {
            continue;
        }
        if let Some(def) = value.def {
            changes[def.index()] += i64::from(value.weight);
        }
        match (value.live_out, region.value_uses(id)) {
            (true, _) => {}
            (false, [user]) => changes[user.index()] -= i64::from(value.weight),
            // Which use is the last depends on the order.
            (false, _) => return None,
        }
    }
    Some(changes)
}
