//! All states that a schedule shorter than wanted could reach, within limits on registers.
//!
//! A state is a set of issued instructions, the next slot, and for each other instruction the first cycle in
//! which it can issue. A state fails if crowds of the remaining instructions leave no room. A state *covers*
//! another one with the same set if nothing in it is later. Units are left out, which is a relaxation.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::length::Side;
use crate::analysis::walk::{Direction, LiveGraph, PressureFields, Walk};
use crate::bits::BitSet;
use crate::index::InstrId;
use crate::problem::Problem;

/// States of the first attempt. Each further one has ten times as many.
const FIRST_STATES: usize = 300;

/// The most work of an attempt, for each of its states: instructions that are put into cycles.
const WORK_OF_A_STATE: usize = 600;

/// Return the states of a proof that no schedule within the limits has at most `length` cycles, and the end
/// from which they grow. None if there is such a schedule, or if a proof has too many states.
pub(super) fn refute(
    problem: &Problem,
    sides: [&Side; 2],
    limits: &[Option<u32>],
    length: u32,
    most: usize,
) -> Option<(Direction, Vec<(u32, InstrId)>)> {
    let region = problem.region();
    let packing = PressureFields::within(region, limits)?;
    let limit = packing.pack(limits);
    let width = problem.target().issue().width;
    let mut attempt = FIRST_STATES;
    loop {
        for (from, [own, other]) in [(Direction::TopDown, sides), (Direction::BottomUp, [sides[1], sides[0]])]
        {
            let graph = LiveGraph::new(region, from, &packing);
            let machine = Machine::new(own, other, width, length);
            match machine.explore(&graph, limit, attempt) {
                Explored::All(states) => return Some((from, states)),
                Explored::Schedule => return None,
                Explored::TooMany => {}
            }
        }
        if attempt >= most {
            return None;
        }
        attempt = most.min(10 * attempt);
    }
}

enum Explored {
    /// The states, and none is complete.
    All(Vec<(u32, InstrId)>),
    /// A state is complete: a schedule may be short enough.
    Schedule,
    TooMany,
}

/// What is known of a state apart from its set.
#[derive(Clone)]
struct Moment {
    slot: u32,
    /// For each instruction that has not been issued, the first cycle.
    times: Vec<u32>,
}

impl Moment {
    fn covers(&self, other: &Moment) -> bool {
        self.slot <= other.slot && self.times.iter().zip(&other.times).all(|(own, other)| own <= other)
    }
}

struct Machine<'a> {
    own: &'a Side<'a>,
    /// Time from the other end: its rows have what comes after an instruction as seen from this one.
    other: &'a Side<'a>,
    width: u32,
    most: u32,
    tails: &'a [u32],
    /// By falling tail.
    order: Vec<u32>,
    /// In the order of dependences, as seen from this end.
    topological: Vec<u32>,
}

impl<'a> Machine<'a> {
    fn new(own: &'a Side, other: &'a Side, width: u32, most: u32) -> Self {
        let count = own.raised.len() as u32;
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by_key(|&instr| Reverse(other.raised[instr as usize]));
        let mut topological: Vec<u32> = (0..count).collect();
        if own.sign < 0 {
            topological.reverse();
        }
        Machine { own, other, width, most, tails: other.raised, order, topological }
    }

    /// Pass times on to all that comes later, from an instruction that has issued or is not earlier than
    /// `time`.
    fn pass_on(&self, times: &mut [u32], from: u32, time: u32) {
        for (later, cycles) in self.other.before.row(from as usize) {
            let own = &mut times[later.index()];
            *own = (time + *cycles as u32).max(*own);
        }
    }

    /// Issue the next instruction. Times of issued instructions are 0.
    fn issue(&self, before: &Moment, instr: u32, passed: &BitSet) -> Moment {
        let slot = before.slot.max(before.times[instr as usize] * self.width);
        let mut next = Moment { slot: slot + 1, times: before.times.clone() };
        let earliest = next.slot / self.width;
        next.times[instr as usize] = 0;
        self.pass_on(&mut next.times, instr, slot / self.width);
        // The times before respect all distances: only those that are now later have to be passed on.
        for &instr in &self.topological {
            let time = next.times[instr as usize].max(earliest);
            if time > before.times[instr as usize] && !passed.contains(instr as usize) {
                next.times[instr as usize] = time;
                self.pass_on(&mut next.times, instr, time);
            }
        }
        next
    }

    /// Return whether the remaining instructions fit if each is alone with its first and its last cycle.
    fn fits(&self, moment: &Moment, passed: &BitSet) -> bool {
        let first = moment.slot / self.width;
        let mut free = vec![self.width; (self.most - first.min(self.most)) as usize + 1];
        let mut next: Vec<u32> = (0..free.len() as u32).collect();
        free[0] = self.width - moment.slot % self.width;
        for &instr in self.order.iter().filter(|instr| !passed.contains(**instr as usize)) {
            let mut place = (moment.times[instr as usize] - first) as usize;
            if place >= next.len() {
                return false;
            }
            while next[place] as usize != place {
                next[place] = next[next[place] as usize];
                place = next[place] as usize;
            }
            if first + place as u32 + self.tails[instr as usize] >= self.most {
                return false;
            }
            free[place] -= 1;
            if free[place] == 0 {
                next[place] = place as u32 + 1;
            }
        }
        true
    }

    /// Find all states, up to a number.
    fn explore(&self, graph: &LiveGraph, limit: i64, most: usize) -> Explored {
        let mut walk = Walk::new(graph);
        let count = graph.len();
        let mut root = Moment { slot: 0, times: self.own.raised.to_vec() };
        for &instr in &self.topological {
            let time = root.times[instr as usize];
            self.pass_on(&mut root.times, instr, time);
        }
        let mut states = Vec::new();
        let mut work = most * WORK_OF_A_STATE;
        let mut known: FxHashMap<BitSet, Vec<Moment>> = FxHashMap::default();
        let mut passed = BitSet::new(count);
        if !graph.packing().fits(walk.live(), limit) || !self.fits(&root, &passed) {
            return Explored::All(states);
        }
        struct Frame {
            state: u32,
            moment: Moment,
            children: Vec<u32>,
            by: u32,
        }
        let children = |walk: &Walk, moment: &Moment| {
            let fits = |instr: &u32| graph.packing().fits(walk.live() + walk.delta(*instr), limit);
            let mut children: Vec<u32> = walk.ready().iter().copied().filter(fits).collect();
            children.sort_unstable_by_key(|&i| {
                Reverse((moment.times[i as usize], Reverse(self.tails[i as usize]), i))
            });
            children
        };
        let mut frames =
            vec![Frame { state: 0, children: children(&walk, &root), moment: root, by: u32::MAX }];
        while let Some(top) = frames.last_mut() {
            let Some(instr) = top.children.pop() else {
                let by = top.by;
                frames.pop();
                if !frames.is_empty() {
                    walk.pop();
                    passed.remove(by as usize);
                }
                continue;
            };
            let Some(left) = work.checked_sub(count - walk.trail().len()) else { return Explored::TooMany };
            work = left;
            passed.insert(instr as usize);
            let next = self.issue(&top.moment, instr, &passed);
            let same = known.get(&passed);
            if same.is_some_and(|same| same.iter().any(|other| other.covers(&next)))
                || !self.fits(&next, &passed)
            {
                passed.remove(instr as usize);
                continue;
            }
            if walk.trail().len() + 1 == count {
                return Explored::Schedule;
            }
            if states.len() + 1 >= most {
                return Explored::TooMany;
            }
            known.entry(passed.clone()).or_default().push(next.clone());
            states.push((top.state, InstrId(instr)));
            walk.push(instr);
            let children = children(&walk, &next);
            frames.push(Frame { state: states.len() as u32, moment: next, children, by: instr });
        }
        Explored::All(states)
    }
}
