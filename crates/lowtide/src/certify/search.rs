//! All states that an order within limits could reach.
//!
//! Depth-first over states without free moves, from both ends in turn: some regions are narrow at one end only.

use rustc_hash::FxHashSet;

use super::{MOST_STATES, Proof};
use crate::analysis::walk::{Direction, LiveGraph, PressureFields, Walk};
use crate::bits::BitSet;
use crate::index::InstrId;
use crate::region::Region;

/// States of the first attempt. Each further one has eight times as many.
const FIRST_STATES: usize = 2_000;

/// Return a proof that no order is within the limits. None if there is such an order, or if a proof has too many states.
pub(super) fn refute(region: &Region, limits: &[Option<u32>]) -> Option<Proof> {
    let packing = PressureFields::within(region, limits)?;
    let limit = packing.pack(limits);
    let graphs =
        [Direction::TopDown, Direction::BottomUp].map(|from| (from, LiveGraph::new(region, from, &packing)));
    let mut most = FIRST_STATES;
    loop {
        for (from, graph) in &graphs {
            match explore(graph, limit, most) {
                Explored::All(states) => return Some(Proof::Search { from: *from, states }),
                Explored::Order => return None,
                Explored::TooMany => {}
            }
        }
        if most >= MOST_STATES {
            return None;
        }
        most = MOST_STATES.min(8 * most);
    }
}

enum Explored {
    /// The states, and none is the end.
    All(Vec<(u32, InstrId)>),
    /// An order is within the limits.
    Order,
    TooMany,
}

/// A state on the way to the current one.
struct Frame {
    state: u32,
    /// Instructions of the state.
    length: usize,
    /// The instructions that can follow within the limits, the next one last.
    children: Vec<u32>,
}

fn explore(graph: &LiveGraph, limit: i64, most: usize) -> Explored {
    let mut walk = Walk::new(graph);
    // Nothing is within a limit that the end is over. A certificate for that is a cut.
    if !graph.packing().fits(walk.live(), limit) {
        return Explored::TooMany;
    }
    let mut states = Vec::new();
    let mut known = FxHashSet::default();
    walk.take_free_moves();
    let mut frames = vec![frame(0, &walk, limit, graph)];
    if walk.is_complete() {
        return Explored::Order;
    }
    let state = |walk: &Walk| BitSet::of(graph.len(), walk.trail().iter().map(|&instr| InstrId(instr)));
    known.insert(state(&walk));
    while let Some(top) = frames.last_mut() {
        let Some(instr) = top.children.pop() else {
            frames.pop();
            if let Some(before) = frames.last() {
                walk.undo_to(before.length);
            }
            continue;
        };
        let parent = top.state;
        walk.push(instr);
        walk.take_free_moves();
        if walk.is_complete() {
            return Explored::Order;
        }
        if !known.insert(state(&walk)) {
            walk.undo_to(top.length);
            continue;
        }
        if states.len() + 1 >= most {
            return Explored::TooMany;
        }
        states.push((parent, InstrId(instr)));
        frames.push(frame(states.len() as u32, &walk, limit, graph));
    }
    Explored::All(states)
}

fn frame(state: u32, walk: &Walk, limit: i64, graph: &LiveGraph) -> Frame {
    let fits = |instr: &u32| graph.packing().fits(walk.live() + walk.delta(*instr), limit);
    let mut children: Vec<u32> = walk.ready().iter().copied().filter(fits).collect();
    // The same certificate on every run, whatever the walk did before.
    children.sort_unstable();
    Frame { state, length: walk.trail().len(), children }
}
