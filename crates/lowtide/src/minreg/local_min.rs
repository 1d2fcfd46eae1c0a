//! The least pressure between two nearby states.
//!
//! The search needs this minimum at every commit. [`DownsetMin`](crate::analysis::flow::DownsetMin) could
//! find it, but its network covers the whole region: it pushes flow for every value that is live there.
//! Between a state S and a later one Y only the instructions in between are free, and only their values
//! change. So a new network is made each time, for these alone:
//! - a value is live at a state if one of its openers has been passed and one of its closers has not. Two
//!   kinds of values are left out. Values open at S and not closed at Y are live all the way. Other values
//!   are touched by no instruction in between;
//! - any other value is an arc of its weight, from its opener to its closer. Each end is a single
//!   instruction, or all of several (by a node and unlimited arcs). A value open at S starts at the source,
//!   and a value not closed at Y ends at the sink;
//! - an unlimited arc leads from each instruction to those in between that must be passed right before it.
//!
//! At Y all free instructions are on the source's side, and the cut consists of the arcs to the sink. So Y
//! has the least pressure if a flow fills them all.

use crate::analysis::walk::{Direction, LiveGraph};
use crate::index::{ClassId, Rows};
use crate::region::Region;

const SOURCE: u32 = 0;
const SINK: u32 = 1;
const NOWHERE: u32 = u32::MAX;
const UNLIMITED: u32 = 1 << 31;

/// A value as a walk in one direction sees it.
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    weight: u32,
    is_open_at_start: bool,
    never_closes: bool,
}

/// One direction of an arc. The other one is its neighbour: number ^ 1.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: u32,
    room: u32,
    /// The next arc that leaves the same node.
    next: u32,
}

/// Minima between states of a walk, for one class.
pub(crate) struct LocalMin<'g> {
    graph: &'g LiveGraph,
    values: Vec<Lifetime>,
    openers: Rows<u32>,
    closers: Rows<u32>,
    /// For each instruction, the values that it opens or closes.
    touches: Rows<u32>,
    /// The moves of the last query. Most of them are those of the next one, too.
    way: Vec<u32>,
    /// Position on the way, or [`NOWHERE`].
    place: Vec<u32>,
    /// The values examined in this query.
    seen: Vec<u32>,
    question: u32,
    arcs: Vec<Arc>,
    /// The first arc of each node.
    first: Vec<u32>,
    /// The arc by which a node was reached in this round.
    by: Vec<u32>,
    queue: Vec<u32>,
}

impl<'g> LocalMin<'g> {
    pub(crate) fn new(region: &Region, class: ClassId, graph: &'g LiveGraph, direction: Direction) -> Self {
        let mut values = Vec::new();
        let (mut definers, mut users) = (Rows::default(), Rows::default());
        for id in crate::analysis::last_uses::class_values(region, class) {
            let value = &region.values()[id.index()];
            let (is_in, is_out) = (value.def.is_none(), value.live_out);
            let (is_open_at_start, never_closes) = match direction {
                Direction::TopDown => (is_in, is_out),
                Direction::BottomUp => (is_out, is_in),
            };
            values.push(Lifetime { weight: value.weight, is_open_at_start, never_closes });
            value.def.iter().for_each(|def| definers.push(def.0));
            definers.end_row();
            region.value_uses(id).iter().for_each(|instr| users.push(instr.0));
            users.end_row();
        }
        let all = (0..values.len()).flat_map(|value| {
            definers
                .row(value)
                .iter()
                .chain(users.row(value))
                .map(move |&instr| (instr as usize, value as u32))
        });
        let touches = Rows::group(region.len(), all);
        let (openers, closers) = match direction {
            Direction::TopDown => (definers, users),
            Direction::BottomUp => (users, definers),
        };
        LocalMin {
            graph,
            seen: vec![0; values.len()],
            values,
            openers,
            closers,
            touches,
            way: Vec::new(),
            place: vec![NOWHERE; region.len()],
            question: 0,
            arcs: Vec::new(),
            first: Vec::new(),
            by: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// Return by how much the minimum between the first `length` of `moves` and all of them is below the
    /// pressure after all. If it is, keep only the moves to the largest such state.
    pub(crate) fn improve(&mut self, moves: &mut Vec<u32>, length: usize) -> u32 {
        self.follow(moves);
        let at_end = self.build(&moves[length..], length as u32);
        let flow = self.fill(at_end);
        if flow < at_end {
            self.find_sink_side();
            let mut kept = length;
            for position in length..moves.len() {
                if self.by[node(position, length)] == NOWHERE {
                    moves[kept] = moves[position];
                    kept += 1;
                }
            }
            moves.truncate(kept);
        }
        at_end - flow
    }

    /// Make these moves the way.
    fn follow(&mut self, moves: &[u32]) {
        /// Slices are compared faster than single moves.
        const PIECE: usize = 64;
        let pieces = self.way.chunks(PIECE).zip(moves.chunks(PIECE));
        let same = PIECE * pieces.take_while(|(old, new)| old == new).count();
        // (The last piece may be shorter.)
        let same = same.min(self.way.len()).min(moves.len());
        for instr in self.way.drain(same..) {
            self.place[instr as usize] = NOWHERE;
        }
        for (position, &instr) in moves.iter().enumerate().skip(same) {
            self.place[instr as usize] = position as u32;
        }
        self.way.extend_from_slice(&moves[same..]);
    }

    /// Make the network. Return the capacity of the arcs to the sink.
    fn build(&mut self, free: &[u32], length: u32) -> u32 {
        self.question += 1;
        self.arcs.clear();
        self.first.clear();
        self.first.resize(2 + free.len(), NOWHERE);
        let mut to_sink = 0;
        for (position, &instr) in free.iter().enumerate() {
            let own = position as u32 + 2;
            for other in self.graph.next(instr) {
                let place = self.place[*other as usize];
                if place != NOWHERE {
                    self.arc(place - length + 2, own, UNLIMITED);
                }
            }
            for at in 0..self.touches.row(instr as usize).len() {
                let value = self.touches.row(instr as usize)[at];
                if std::mem::replace(&mut self.seen[value as usize], self.question) != self.question {
                    to_sink += self.add_value(value as usize, length);
                }
            }
        }
        to_sink
    }

    /// Add the arcs of a value. Return its weight if it leads to the sink.
    fn add_value(&mut self, value: usize, length: u32) -> u32 {
        let Lifetime { weight, is_open_at_start, never_closes } = self.values[value];
        let place = |instr: &u32| self.place[*instr as usize];
        let is_free = |instr: &&u32| place(instr) >= length && place(instr) != NOWHERE;
        let is_open = is_open_at_start || self.openers.row(value).iter().any(|instr| place(instr) < length);
        let stays_open = never_closes || self.closers.row(value).iter().any(|instr| place(instr) == NOWHERE);
        if is_open && stays_open {
            return 0;
        }
        let (openers, closers) = (self.openers.row(value), self.closers.row(value));
        let only = |instrs: &[u32]| {
            let mut free = instrs.iter().filter(is_free);
            match (free.next(), free.next()) {
                (Some(instr), None) => Some(place(instr) - length + 2),
                _ => None,
            }
        };
        let from = if is_open { Some(SOURCE) } else { only(openers) };
        let to = if stays_open { Some(SINK) } else { only(closers) };
        let new = self.first.len() as u32;
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            (Some(from), None) => (from, new),
            (None, Some(to)) => (new, to),
            (None, None) => (new, new + 1),
        };
        let last = from.max(to).max(new.wrapping_sub(1));
        self.first.resize(last as usize + 1, NOWHERE);
        if from >= new {
            for at in 0..self.openers.row(value).len() {
                let place = self.place[self.openers.row(value)[at] as usize];
                if place != NOWHERE {
                    self.arc(place - length + 2, from, UNLIMITED);
                }
            }
        }
        if to >= new {
            for at in 0..self.closers.row(value).len() {
                let place = self.place[self.closers.row(value)[at] as usize];
                if place >= length {
                    self.arc(to, place - length + 2, UNLIMITED);
                }
            }
        }
        self.arc(from, to, weight);
        if to == SINK { weight } else { 0 }
    }

    fn arc(&mut self, from: u32, to: u32, room: u32) {
        for (from, to, room) in [(from, to, room), (to, from, 0)] {
            let first = &mut self.first[from as usize];
            self.arcs.push(Arc { to, room, next: *first });
            *first = self.arcs.len() as u32 - 1;
        }
    }

    /// Return the largest flow, up to `most`, along shortest paths from the source.
    fn fill(&mut self, most: u32) -> u32 {
        let mut total = 0;
        'paths: while total < most {
            self.by.clear();
            self.by.resize(self.first.len(), NOWHERE);
            self.queue.clear();
            self.queue.push(SOURCE);
            let mut head = 0;
            while head < self.queue.len() {
                let from = self.queue[head];
                head += 1;
                let mut next = self.first[from as usize];
                while next != NOWHERE {
                    let arc = self.arcs[next as usize];
                    if arc.room > 0 && arc.to != SOURCE && self.by[arc.to as usize] == NOWHERE {
                        self.by[arc.to as usize] = next;
                        if arc.to == SINK {
                            total += self.push_along_path(most - total);
                            continue 'paths;
                        }
                        self.queue.push(arc.to);
                    }
                    next = arc.next;
                }
            }
            break;
        }
        total
    }

    fn push_along_path(&mut self, most: u32) -> u32 {
        let mut amount = most;
        let mut at = SINK;
        while at != SOURCE {
            let by = self.by[at as usize] as usize;
            amount = amount.min(self.arcs[by].room);
            at = self.arcs[by ^ 1].to;
        }
        at = SINK;
        while at != SOURCE {
            let by = self.by[at as usize] as usize;
            self.arcs[by].room -= amount;
            self.arcs[by ^ 1].room += amount;
            at = self.arcs[by ^ 1].to;
        }
        amount
    }

    /// Mark in `by` all nodes that still reach the sink.
    fn find_sink_side(&mut self) {
        self.by.fill(NOWHERE);
        self.by[SINK as usize] = 0;
        self.queue.clear();
        self.queue.push(SINK);
        while let Some(node) = self.queue.pop() {
            let mut next = self.first[node as usize];
            while next != NOWHERE {
                let arc = self.arcs[next as usize];
                if self.arcs[next as usize ^ 1].room > 0 && self.by[arc.to as usize] == NOWHERE {
                    self.by[arc.to as usize] = 0;
                    self.queue.push(arc.to);
                }
                next = arc.next;
            }
        }
    }
}

/// Return the node of a free instruction, by its position among the moves.
fn node(position: usize, length: usize) -> usize {
    position - length + 2
}
