//! All states that an order within limits could reach.
//!
//! Depth-first over states without free moves, from both ends in turn: some regions are narrow at one end
//! only.

use rustc_hash::FxHashSet;

use super::Proof;
use crate::analysis::walk::{Direction, LiveGraph, PressureFields, Walk};
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId};
use crate::region::Region;

/// States of the first attempt. Each further one has eight times as many.
const FIRST_STATES: usize = 2_000;

/// Return a proof that no order is within the limits. None if there is such an order, or if a proof has more
/// than `most_states` states.
///
/// One class alone has more free moves, and so fewer states, but may not be enough.
pub(super) fn refute(region: &Region, limits: &[Option<u32>], most_states: usize) -> Option<Proof> {
    let limited = || region.class_ids().filter(|class| limits[class.index()].is_some());
    let mut attempts = Vec::new();
    let alone = limited().map(Some).filter(|_| limited().count() > 1);
    for class in alone.chain([None]) {
        let counts = |other: ClassId| class.is_none_or(|class| class == other);
        let own: Vec<Option<u32>> =
            region.class_ids().map(|other| limits[other.index()].filter(|_| counts(other))).collect();
        let packing = PressureFields::within(region, &own)?;
        let limit = packing.pack(&own);
        for from in [Direction::TopDown, Direction::BottomUp] {
            attempts.push((class, from, LiveGraph::new(region, from, &packing), limit));
        }
    }
    let mut most = FIRST_STATES;
    loop {
        let mut fitting = Vec::new();
        for (class, from, graph, limit) in &attempts {
            if fitting.contains(class) {
                continue;
            }
            match explore(graph, *limit, most) {
                Explored::All(states) => return Some(Proof::Search { class: *class, from: *from, states }),
                Explored::Order => fitting.push(*class),
                Explored::TooMany => {}
            }
        }
        attempts.retain(|(class, ..)| !fitting.contains(class));
        if most >= most_states || attempts.is_empty() || fitting.contains(&None) {
            return None;
        }
        most = most_states.min(8 * most);
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
    /// Instructions of the state, as their number and as a set.
    length: usize,
    set: BitSet,
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
    let mut frames = vec![frame(0, &walk, limit, graph, with_moves(&BitSet::new(graph.len()), &walk, 0))];
    if walk.is_complete() {
        return Explored::Order;
    }
    known.insert(frames[0].set.clone());
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
        let set = with_moves(&top.set, &walk, top.length);
        if known.contains(&set) {
            walk.undo_to(top.length);
            continue;
        }
        if states.len() + 1 >= most {
            return Explored::TooMany;
        }
        states.push((parent, InstrId(instr)));
        known.insert(set.clone());
        frames.push(frame(states.len() as u32, &walk, limit, graph, set));
    }
    Explored::All(states)
}

/// Return a set with the moves since it had `length` instructions.
fn with_moves(set: &BitSet, walk: &Walk, length: usize) -> BitSet {
    let mut set = set.clone();
    walk.trail()[length..].iter().for_each(|instr| set.insert(InstrId(*instr)));
    set
}

fn frame(state: u32, walk: &Walk, limit: i64, graph: &LiveGraph, set: BitSet) -> Frame {
    let fits = |instr: &u32| graph.packing().fits(walk.live() + walk.delta(*instr), limit);
    let mut children: Vec<u32> = walk.ready().iter().copied().filter(fits).collect();
    // The same certificate on every run, whatever the walk did before.
    children.sort_unstable();
    Frame { state, length: walk.trail().len(), set, children }
}
