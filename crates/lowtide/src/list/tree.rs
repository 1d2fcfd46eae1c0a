//! Optimal orders of trees: the generalised Sethi-Ullman algorithm (paper 1, Section II).
//!
//! In a tree every instruction changes the pressure by a fixed amount in all orders. The amount is the weight
//! that it defines, less the weight that only it uses. Sethi and Ullman evaluate one subtree after the other;
//! Appel and Supowit do so for results of different sizes. The subtree that needs most registers beyond its
//! result comes first. That is optimal among orders that keep subtrees together.
//!
//! Where sizes differ, keeping subtrees together can cost registers. It may pay to stop where a subtree has
//! little live, and to evaluate a part of another one first. This module applies the method of Abdel-Wahab
//! and Kameda for series-parallel graphs, and of Liu for trees. Its result is Sethi-Ullman's order where that
//! is optimal.
//!
//! The order of a subtree is cut into *segments*. A segment has a hill (the most it needs above its start)
//! and a net change. Segments that lower the pressure come first, smallest hill first. The others come after
//! them, largest `hill - net` first. An exchange argument shows that no other order of independent segments
//! has a lower peak. Neighbours of one subtree in the wrong order never gain from being separated, and become
//! one segment.
//!
//! The segments of sibling subtrees are merged in that order. The parent is appended as a segment, and
//! neighbours in the wrong order become one again. The segments at the root are an optimal order.

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
    /// Return the rank among independent segments: the smaller comes first.
    fn rank(&self) -> (bool, i64) {
        match self.net < 0 {
            true => (false, self.hill),
            false => (true, self.net - self.hill),
        }
    }
}

/// Return the optimal order of a region that is a tree or a forest. `None` for other regions.
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
            // The longest list absorbs the others, which keeps long chains cheap.
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

/// Return the change of the first class's pressure by each instruction. `None` if it depends on the order, or
/// if an instruction has more than one successor.
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
