//! The least pressure over an interval of downsets, as a minimum cut.
//!
//! A *downset* is a set T of instructions closed under predecessors: the instructions scheduled at some
//! moment. Let f(T) be the live weight of one class at the boundary after T. Take a value with definition d,
//! last uses U and weight w. It is live there under two conditions. First, d is in T, or the value is
//! live-in. Second, some u of U is not in T, or the value is live-out. [`DownsetMin`] finds the minimum of f
//! over all downsets T with `lo <= T <= hi`, and its minimisers, by max-flow.
//!
//! # The network
//! A cut puts some nodes on the source's side; an arc a -> b of capacity c costs c if only a is there. Read
//! "on the source's side" as "in T":
//! - an arc without limit from every instruction to each of its predecessors makes T a downset;
//! - for a value with one last use, an arc d -> u of capacity w;
//! - with several, a node x, an arc d -> x of capacity w, and arcs x -> u without limit. If d is in T, either
//!   x is not (cost w), or x and all uses are (cost 0). So a cheapest cut pays w exactly if the value is
//!   live;
//! - for a live-in, the source stands for d; for a live-out, the sink stands for U. A value that is both is
//!   a constant;
//! - instructions of `lo` are sources, those outside `hi` are sinks.
//!
//! So the cheapest cut is the minimum of f, up to the constant.
//!
//! # Performance
//! - *A small network.* Only a value's last uses count: if u comes before u', then u outside T implies u'
//!   outside T. Instructions that touch no value of the class only transport dependences. Those with at most
//!   one predecessor, and those that nothing of interest depends on, are left out. The dependences among the
//!   rest are the transitive reduction of the closure. Nothing is lost: any set that is closed within the
//!   rest extends to a downset of the region without changing f. Opposite arcs share their storage.
//!   Where questions tell only some instructions apart, others share nodes (`contraction`).
//! - *One network for all intervals.* `lo` and `hi` only name sources and sinks. The flow with everything
//!   free is feasible for every interval, so it is computed once and every query starts from it.
//! - *Dinic's algorithm, backwards.* A search that stops at sources finds the distances to the sinks. It
//!   never visits the inside of `lo`, and visits the inside of `hi`'s complement once. All sources then push
//!   along decreasing distances, not only the nearest ones.
//! - *Any flow is a lower bound* on the minimum. So the work can end as soon as the flow reaches a given
//!   limit, or when the effort is spent, and still give a bound.

use super::closure::Closure;
use super::contraction::contract;
use super::last_uses::{Ties, class_values};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, ValueId};
use crate::region::Region;

/// A capacity that no flow reaches: more than the weight of all values together.
const UNLIMITED: u32 = 1 << 31;

const UNREACHED: u32 = u32::MAX;

/// The side of an instruction in relation to a downset (or to the source's side of a cut).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// In the downset: a source.
    In,
    /// Undecided.
    Free,
    /// Not in the downset: a sink.
    Out,
}

/// The result of a minimisation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Minimum {
    /// The minimum.
    Exact(u32),
    /// A lower bound on the minimum: the limit was reached, or the effort was spent.
    AtLeast(u32),
}

/// A connection under construction: nodes `low < high`, capacity upwards and downwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Connection {
    low: u32,
    high: u32,
    up: u32,
    down: u32,
}

/// A directed network under construction. Arcs between the same two nodes are added up.
#[derive(Debug, Default)]
struct NetworkBuilder {
    connections: Vec<Connection>,
}

impl NetworkBuilder {
    fn arc(&mut self, from: u32, to: u32, capacity: u32) {
        debug_assert_ne!(from, to);
        self.connections.push(if from < to {
            Connection { low: from, high: to, up: capacity, down: 0 }
        } else {
            Connection { low: to, high: from, up: 0, down: capacity }
        });
    }

    fn build(mut self, nodes: usize) -> Network {
        self.connections.sort_unstable();
        self.connections.dedup_by(|next, kept| {
            let same = (next.low, next.high) == (kept.low, kept.high);
            if same {
                kept.up = kept.up.saturating_add(next.up).min(UNLIMITED);
                kept.down = kept.down.saturating_add(next.down).min(UNLIMITED);
            }
            same
        });
        let mut first = vec![0u32; nodes + 1];
        for connection in &self.connections {
            first[connection.low as usize + 1] += 1;
            first[connection.high as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut arcs = Arcs::of(2 * self.connections.len());
        for connection in &self.connections {
            let ends = [connection.low, connection.high];
            let [up, down] = ends.map(|node| {
                next[node as usize] += 1;
                next[node as usize] as usize - 1
            });
            (arcs.heads[up], arcs.mates[up], arcs.room_back[up]) =
                (connection.high, down as u32, connection.down);
            (arcs.heads[down], arcs.mates[down], arcs.room_back[down]) =
                (connection.low, up as u32, connection.up);
        }
        Network {
            first,
            arcs,
            sides: vec![Side::Free; nodes],
            distance: vec![UNREACHED; nodes],
            current: vec![0; nodes],
            reached: vec![false; nodes],
            nearest: vec![UNREACHED; nodes],
            queue: vec![0; nodes + 1],
            sinks: Vec::with_capacity(nodes),
            sources: Vec::with_capacity(nodes),
            path: Vec::with_capacity(nodes),
        }
    }
}

/// The directions of connections, those that leave the same node in a row. There is a list for each
/// attribute, since the search reads only some of them.
#[derive(Clone, Debug)]
struct Arcs {
    heads: Vec<u32>,
    /// The place of the opposite direction.
    mates: Vec<u32>,
    /// The residual capacity of the opposite direction.
    room_back: Vec<u32>,
}

impl Arcs {
    fn of(count: usize) -> Self {
        Arcs { heads: vec![0; count], mates: vec![0; count], room_back: vec![0; count] }
    }

    /// Return the residual capacity of an arc.
    #[inline]
    fn room(&self, arc: u32) -> u32 {
        self.room_back[self.mates[arc as usize] as usize]
    }
}

/// A network with a flow in it. Any number of nodes may be sources or sinks.
#[derive(Clone, Debug)]
struct Network {
    /// The arcs that leave node `i` are `arcs[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    arcs: Arcs,
    sides: Vec<Side>,
    /// The number of arcs to the nearest sink. [`UNREACHED`] if there is no path or the search did not get
    /// there.
    distance: Vec<u32>,
    /// The first arc of each node that may still lead to a sink.
    current: Vec<u32>,
    /// Nodes that a source reaches; see [`Network::find_reached`].
    reached: Vec<bool>,
    /// The distances before the search: 0 for sinks, and [`UNREACHED`].
    nearest: Vec<u32>,
    /// The nodes that a search has reached, in their order. There is one place more than nodes, since a
    /// search writes a node before it knows whether it is new.
    queue: Vec<u32>,
    /// Sinks with a neighbour that is no sink.
    sinks: Vec<u32>,
    /// Sources that reach a sink.
    sources: Vec<u32>,
    /// The nodes from a source to the end of the push, each with the arc that leaves it.
    path: Vec<(u32, u32)>,
}

impl Network {
    fn arcs_of(&self, node: u32) -> std::ops::Range<usize> {
        self.first[node as usize] as usize..self.first[node as usize + 1] as usize
    }

    /// Augment the flow until it is maximal, has grown by `limit`, or the effort is spent. Return its growth,
    /// and whether it is maximal. If so, `distance` marks the nodes that reach a sink.
    fn augment(&mut self, limit: u32, effort: &mut Effort) -> (u32, bool) {
        self.sinks.clear();
        self.sinks
            .extend((0..self.sides.len() as u32).filter(|&node| self.sides[node as usize] == Side::Out));
        for (distance, &side) in self.nearest.iter_mut().zip(&self.sides) {
            *distance = if side == Side::Out { 0 } else { UNREACHED };
        }
        self.drop_inner_sinks();
        let mut total = 0;
        while total < limit && !effort.is_spent() {
            self.measure_distances(effort);
            if self.sources.is_empty() {
                return (total, true);
            }
            total += self.push_along_distances(limit - total, effort);
        }
        (total, false)
    }

    fn drop_inner_sinks(&mut self) {
        let (first, arcs, sides) = (&self.first, &self.arcs, &self.sides);
        self.sinks.retain(|&node| {
            let range = first[node as usize] as usize..first[node as usize + 1] as usize;
            arcs.heads[range].iter().any(|&head| sides[head as usize] != Side::Out)
        });
    }

    /// Search breadth-first from the sinks against the residual arcs, up to the sources and not beyond.
    fn measure_distances(&mut self, effort: &mut Effort) {
        let Network { first, arcs, sides, distance, queue, sources, .. } = self;
        distance.copy_from_slice(&self.nearest);
        self.current.copy_from_slice(&first[..sides.len()]);
        sources.clear();
        queue[..self.sinks.len()].copy_from_slice(&self.sinks);
        let (mut head, mut tail) = (0, self.sinks.len());
        while head < tail {
            let node = queue[head] as usize;
            head += 1;
            if sides[node] == Side::In {
                sources.push(node as u32);
                continue;
            }
            let next = distance[node] + 1;
            let range = first[node] as usize..first[node + 1] as usize;
            for (&neighbour, &room) in arcs.heads[range.clone()].iter().zip(&arcs.room_back[range]) {
                // (Without a branch, as it would be hard to predict.)
                let distance = &mut distance[neighbour as usize];
                let is_new = (*distance == UNREACHED) & (room > 0);
                *distance = if is_new { next } else { *distance };
                queue[tail] = neighbour;
                tail += usize::from(is_new);
            }
        }
        effort.spend((head - sources.len()) as u64);
    }

    /// Push from all sources along arcs to smaller distances until no such path is left.
    fn push_along_distances(&mut self, limit: u32, effort: &mut Effort) -> u32 {
        let mut total = 0;
        let mut steps = 0;
        'sources: for position in 0..self.sources.len() {
            let mut node = self.sources[position];
            self.path.clear();
            loop {
                steps += 1;
                if self.sides[node as usize] == Side::Out {
                    let room = self.path.iter().map(|&(_, arc)| self.arcs.room(arc));
                    let amount = room.fold(limit - total, u32::min);
                    let mut full = self.path.len();
                    for (place, &(_, arc)) in self.path.iter().enumerate().rev() {
                        self.arcs.room_back[arc as usize] += amount;
                        let room = &mut self.arcs.room_back[self.arcs.mates[arc as usize] as usize];
                        *room -= amount;
                        if *room == 0 {
                            full = place;
                        }
                    }
                    total += amount;
                    if total == limit {
                        break 'sources;
                    }
                    // Every path now has a full arc: continue from the first one.
                    node = self.path[full].0;
                    self.path.truncate(full);
                }
                let end = self.first[node as usize + 1];
                let mut place = self.current[node as usize];
                let distance = self.distance[node as usize];
                while place < end {
                    let head = self.arcs.heads[place as usize];
                    // (An unreached neighbour has the largest number, which never fits.)
                    if self.distance[head as usize].wrapping_add(1) == distance && self.arcs.room(place) > 0 {
                        break;
                    }
                    place += 1;
                }
                self.current[node as usize] = place;
                if place < end {
                    self.path.push((node, place));
                    node = self.arcs.heads[place as usize];
                } else if let Some((previous, _)) = self.path.pop() {
                    self.current[previous as usize] += 1;
                    node = previous;
                } else {
                    break;
                }
            }
        }
        effort.spend(steps);
        total
    }

    /// Mark in `reached` exactly the nodes that a source reaches.
    fn find_reached(&mut self) {
        self.reached.fill(false);
        let mut tail = 0;
        for node in 0..self.sides.len() {
            if self.sides[node] == Side::In {
                self.reached[node] = true;
                self.queue[tail] = node as u32;
                tail += 1;
            }
        }
        let mut head = 0;
        while head < tail {
            let node = self.queue[head];
            head += 1;
            for arc in self.arcs_of(node) {
                let head = self.arcs.heads[arc];
                let is_new = !self.reached[head as usize] & (self.arcs.room(arc as u32) > 0);
                self.reached[head as usize] |= is_new;
                self.queue[tail] = head;
                tail += usize::from(is_new);
            }
        }
    }
}

const SOURCE: u32 = 0;
const SINK: u32 = 1;
const LEFT_OUT: u32 = u32::MAX;

/// Minima of the pressure of one class over intervals of downsets. See the [module](self).
///
/// All buffers are reused: only the first query allocates.
#[derive(Clone, Debug)]
pub struct DownsetMin<'a> {
    region: &'a Region,
    network: Network,
    /// The node of each instruction, or [`LEFT_OUT`].
    node_of: Vec<u32>,
    /// [`Arcs::room_back`] with a (nearly always maximal) flow without bounds, and that flow.
    free_room: Vec<u32>,
    free_flow: u32,
    /// [`Arcs::room_back`] without a flow.
    empty_room: Vec<u32>,
    /// The weight that is live at every boundary.
    constant: u32,
    /// The last query, its flow, and whether its answer was exact.
    sides: Vec<Side>,
    last_flow: u32,
    is_exact: bool,
}

/// The flow of a query that was kept: [`Arcs::room_back`] with it, and the sides of the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    room: Vec<u32>,
    flow: u32,
    sides: Vec<Side>,
}

/// The weights of the sum that [`DownsetMin`] minimises over downsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weights {
    /// The weight of each live register.
    pub live: u32,
    /// The weight of each instruction of the downset.
    pub inside: u32,
    /// The weight of each instruction outside it.
    pub outside: u32,
}

impl Weights {
    /// The pressure alone.
    pub const PRESSURE: Weights = Weights { live: 1, inside: 0, outside: 0 };
}

impl<'a> DownsetMin<'a> {
    /// Prepare the network for the pressure of one class.
    pub fn new(region: &'a Region, class: ClassId, closure: &Closure) -> Self {
        Self::weighing(region, class, closure, Weights::PRESSURE, |_| 1)
    }

    /// Prepare the network for a weighted sum of the pressure of one class and the number of instructions. An
    /// instruction with a cost outside has an arc from the source; one with a cost inside has an arc to the
    /// sink. For a value, `live` replaces `weights.live` as the weight of each of its registers.
    pub fn weighing(
        region: &'a Region,
        class: ClassId,
        closure: &Closure,
        weights: Weights,
        live: impl Fn(ValueId) -> u32,
    ) -> Self {
        let mut kept = kept_instrs(region, class);
        if weights.inside + weights.outside > 0 {
            kept.fill();
        }
        let mut nodes = Nodes::separate(region, &kept);
        let ties = Ties::new(region, class, closure, &kept);
        let weight = |id: ValueId| live(id) * region.values()[id.index()].weight;
        let mut builder = nodes.connect(region, class, &ties, weight);
        for instr in kept.instrs() {
            if weights.outside > 0 {
                builder.arc(SOURCE, nodes.of[instr.index()], weights.outside);
            }
            if weights.inside > 0 {
                builder.arc(nodes.of[instr.index()], SINK, weights.inside);
            }
        }
        let constant = weights.live * region.through(class) + always_live(region, class, weight);
        Self::of(region, nodes, builder, constant)
    }

    /// Prepare the network for the pressure of one class and for questions about some instructions. The sides
    /// of all others must follow from the dependences on these. The more effort, the smaller the network: see
    /// [`contraction`](super::contraction).
    pub(crate) fn about(
        region: &'a Region,
        class: ClassId,
        closure: &Closure,
        named: &BitSet,
        effort: &mut Effort,
    ) -> Self {
        let mut kept = kept_instrs(region, class);
        kept.unite(named);
        let mut nodes = Nodes::separate(region, &kept);
        let ties = Ties::new(region, class, closure, &kept);
        contract(region, class, &ties, &kept, named, &mut nodes.of, effort);
        nodes.number_anew();
        let weight = |id: ValueId| region.values()[id.index()].weight;
        let builder = nodes.connect(region, class, &ties, weight);
        let constant = region.through(class) + always_live(region, class, weight);
        Self::of(region, nodes, builder, constant)
    }

    fn of(region: &'a Region, nodes: Nodes, builder: NetworkBuilder, constant: u32) -> Self {
        let Nodes { of: node_of, count: nodes } = nodes;
        let mut network = builder.build(nodes as usize);
        network.sides[SOURCE as usize] = Side::In;
        network.sides[SINK as usize] = Side::Out;
        let empty_room = network.arcs.room_back.clone();
        // Any flow is a valid start, so an early stop is safe.
        let mut effort = Effort { steps: 64 * u64::from(nodes), deadline: None };
        let (free_flow, _) = network.augment(UNLIMITED - 1, &mut effort);
        let free_room = network.arcs.room_back.clone();
        DownsetMin {
            region,
            network,
            node_of,
            free_room,
            free_flow,
            empty_room,
            constant,
            sides: vec![Side::Free; region.len()],
            last_flow: 0,
            is_exact: false,
        }
    }

    /// Return the least pressure after any downset that holds all instructions with [`Side::In`] and none
    /// with [`Side::Out`]. The former must be closed under predecessors, the latter under successors.
    ///
    /// The answer is exact if it is less than `limit` and the effort suffices. Otherwise it is a lower bound,
    /// at most `limit`.
    pub fn min(&mut self, sides: &[Side], limit: u32, effort: &mut Effort) -> Minimum {
        self.take_sides(sides);
        self.network.arcs.room_back.copy_from_slice(&self.free_room);
        self.augment_from(self.free_flow, limit, effort)
    }

    /// Keep the flow of the last query, for [`DownsetMin::min_beyond`].
    pub(crate) fn keep(&self, kept: &mut Kept) {
        kept.room.clone_from(&self.network.arcs.room_back);
        kept.sides.clone_from(&self.sides);
        kept.flow = self.last_flow;
    }

    /// As [`DownsetMin::min`], if more instructions have a side than in the query that was kept, in an equal
    /// network. Its flow is feasible for the new query as well, so the work starts from there.
    pub(crate) fn min_beyond(
        &mut self,
        kept: &Kept,
        sides: &[Side],
        limit: u32,
        effort: &mut Effort,
    ) -> Minimum {
        debug_assert!(kept.sides.iter().zip(sides).all(|(old, new)| *old == Side::Free || old == new));
        self.network.arcs.room_back.copy_from_slice(&kept.room);
        self.take_sides(sides);
        self.augment_from(kept.flow, limit, effort)
    }

    fn take_sides(&mut self, sides: &[Side]) {
        debug_assert!(self.is_consistent(sides));
        self.sides.copy_from_slice(sides);
        self.network.sides[2..].fill(Side::Free);
        for (&node, &side) in self.node_of.iter().zip(sides) {
            if node != LEFT_OUT && side != Side::Free {
                self.network.sides[node as usize] = side;
            }
        }
    }

    fn augment_from(&mut self, flow: u32, limit: u32, effort: &mut Effort) -> Minimum {
        (self.is_exact, self.last_flow) = (false, flow);
        let known = self.constant + flow;
        if known >= limit {
            return Minimum::AtLeast(limit);
        }
        let (more, is_maximal) = self.network.augment((limit - known).min(UNLIMITED - 1), effort);
        (self.is_exact, self.last_flow) = (is_maximal, flow + more);
        if is_maximal { Minimum::Exact(known + more) } else { Minimum::AtLeast(known + more) }
    }

    /// Return the largest minimiser, one bit for each instruction. Valid only right after an
    /// [exact](Minimum::Exact) answer. (Minimisers are closed under union and intersection, as f is
    /// submodular.)
    pub fn largest(&self, set: &mut BitSet) {
        debug_assert!(self.is_exact);
        set.clear();
        for instr in self.region.instrs() {
            let inside = match self.node_of[instr.index()] {
                LEFT_OUT => {
                    self.sides[instr.index()] != Side::Out
                        && self.region.preds(instr).iter().all(|edge| set.contains(edge.instr))
                }
                node => match self.network.sides[node as usize] {
                    Side::In => true,
                    Side::Free => self.network.distance[node as usize] == UNREACHED,
                    Side::Out => false,
                },
            };
            set.insert_if(instr, inside);
        }
    }

    /// Return the smallest minimiser. Valid only right after an exact answer, as [`DownsetMin::largest`].
    pub fn smallest(&mut self, set: &mut BitSet) {
        debug_assert!(self.is_exact);
        self.network.find_reached();
        set.clear();
        for instr in self.region.instrs().rev() {
            let inside = match self.node_of[instr.index()] {
                LEFT_OUT => {
                    self.sides[instr.index()] == Side::In
                        || self.region.succs(instr).iter().any(|edge| set.contains(edge.instr))
                }
                node => self.network.reached[node as usize],
            };
            set.insert_if(instr, inside);
        }
    }

    /// Find the instructions where the flow of the last query starts and ends. With only these on their
    /// sides, it is still a flow.
    pub(crate) fn ends(&self, starts: &mut BitSet, ends: &mut BitSet) {
        starts.clear();
        ends.clear();
        for instr in self.region.instrs() {
            let node = self.node_of[instr.index()];
            if self.sides[instr.index()] == Side::Free || node == LEFT_OUT {
                continue;
            }
            // What an arc carries is what its opposite direction has gained.
            let arcs = self.network.arcs_of(node);
            let carried =
                |arc: usize| i64::from(self.network.arcs.room_back[arc]) - i64::from(self.empty_room[arc]);
            let net: i64 = arcs.map(carried).sum();
            starts.insert_if(instr, net > 0);
            ends.insert_if(instr, net < 0);
        }
    }

    /// Return the number of nodes, for tests.
    #[cfg(test)]
    pub(crate) fn count_nodes(&self) -> usize {
        self.network.sides.len()
    }

    fn is_consistent(&self, sides: &[Side]) -> bool {
        self.region.instrs().all(|instr| {
            self.region.preds(instr).iter().all(|edge| {
                let (before, after) = (sides[edge.instr.index()], sides[instr.index()]);
                (after != Side::In || before == Side::In) && (before != Side::Out || after == Side::Out)
            })
        })
    }
}

/// Return whether a value is live at every boundary.
fn is_always_live(region: &Region, value: ValueId) -> bool {
    let value = &region.values()[value.index()];
    value.live_out && value.def.is_none()
}

/// Return the weight that is live at every boundary, without what only passes through.
fn always_live(region: &Region, class: ClassId, weight: impl Fn(ValueId) -> u32) -> u32 {
    class_values(region, class).filter(|id| is_always_live(region, *id)).map(weight).sum()
}

/// The nodes of a network.
struct Nodes {
    /// The node of each instruction, or [`LEFT_OUT`].
    of: Vec<u32>,
    count: u32,
}

impl Nodes {
    /// Give each of some instructions a node of its own.
    fn separate(region: &Region, kept: &BitSet) -> Self {
        let mut nodes = Nodes { of: vec![LEFT_OUT; region.len()], count: 2 };
        for instr in kept.instrs() {
            nodes.of[instr.index()] = nodes.count;
            nodes.count += 1;
        }
        nodes
    }

    /// Number the nodes without gaps.
    fn number_anew(&mut self) {
        let mut numbers = vec![LEFT_OUT; self.count as usize];
        self.count = 2;
        for node in self.of.iter_mut().filter(|node| **node != LEFT_OUT) {
            let number = &mut numbers[*node as usize];
            if *number == LEFT_OUT {
                *number = self.count;
                self.count += 1;
            }
            *node = *number;
        }
    }

    /// Connect the nodes by dependences and by the values of a class, with the weight of each. Values with
    /// several uses get nodes, too.
    fn connect(
        &mut self,
        region: &Region,
        class: ClassId,
        ties: &Ties,
        weight: impl Fn(ValueId) -> u32,
    ) -> NetworkBuilder {
        let mut builder = NetworkBuilder::default();
        for (instr, &node) in self.of.iter().enumerate() {
            let others = ties.before.row(instr).iter().map(|other| self.of[other.index()]);
            others.filter(|&other| other != node).for_each(|other| builder.arc(node, other, UNLIMITED));
        }
        let mut uses = Vec::new();
        for id in class_values(region, class) {
            let weight = weight(id);
            if weight == 0 || is_always_live(region, id) {
                continue;
            }
            let value = &region.values()[id.index()];
            let from = value.def.map_or(SOURCE, |def| self.of[def.index()]);
            if value.live_out {
                builder.arc(from, SINK, weight);
                continue;
            }
            uses.clear();
            uses.extend(ties.last_uses.row(id.index()).iter().map(|instr| self.of[instr.index()]));
            uses.sort_unstable();
            uses.dedup();
            uses.retain(|&node| node != from);
            match &uses[..] {
                [] => {}
                [only] => builder.arc(from, *only, weight),
                several => {
                    builder.arc(from, self.count, weight);
                    several.iter().for_each(|&node| builder.arc(self.count, node, UNLIMITED));
                    self.count += 1;
                }
            }
        }
        builder
    }
}

/// Return the instructions that get a node. They have an operand or result of the class, or tie several
/// predecessors to such an instruction. (Without the latter, a barrier between many and many would become an
/// arc for each pair.)
fn kept_instrs(region: &Region, class: ClassId) -> BitSet {
    let mut touches = vec![false; region.len()];
    for id in class_values(region, class) {
        if let Some(def) = region.values()[id.index()].def {
            touches[def.index()] = true;
        }
        for instr in region.value_uses(id) {
            touches[instr.index()] = true;
        }
    }
    let mut kept = BitSet::new(region.len());
    let mut matters = vec![false; region.len()];
    for instr in region.instrs().rev() {
        let i = instr.index();
        matters[i] = touches[i] || region.succs(instr).iter().any(|edge| matters[edge.instr.index()]);
        if touches[i] || (matters[i] && region.preds(instr).len() > 1) {
            kept.insert(instr);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::brute_force::{Small, small_regions};
    use crate::generate::Random;

    fn network(nodes: usize, arcs: &[(u32, u32, u32)]) -> Network {
        let mut builder = NetworkBuilder::default();
        for &(from, to, capacity) in arcs {
            builder.arc(from, to, capacity);
        }
        let mut network = builder.build(nodes);
        network.sides[0] = Side::In;
        network.sides[nodes - 1] = Side::Out;
        network
    }

    #[test]
    fn flow_needs_to_be_taken_back() {
        // The short path 0-1-4-5 blocks both long ones unless it is undone.
        let arcs = [(0, 1, 1), (1, 4, 1), (4, 5, 1), (0, 2, 1), (2, 4, 1), (1, 3, 1), (3, 5, 1)];
        let mut network = network(6, &arcs);
        assert_eq!(network.augment(UNLIMITED - 1, &mut Effort::UNBOUNDED.clone()), (2, true));
    }

    #[test]
    fn parallel_and_opposite_arcs_are_added_up() {
        let mut network = network(3, &[(0, 1, 2), (0, 1, 3), (1, 0, 7), (1, 2, 4), (2, 1, UNLIMITED)]);
        assert_eq!(network.augment(UNLIMITED - 1, &mut Effort::UNBOUNDED.clone()), (4, true));
        network.find_reached();
        assert_eq!(network.reached, [true, true, false]);
    }

    #[test]
    fn limit_and_effort_end_the_work() {
        let arcs = [(0, 1, 5), (1, 3, 5), (0, 2, 5), (2, 3, 5)];
        assert_eq!(network(4, &arcs).augment(7, &mut Effort::UNBOUNDED.clone()), (7, false));
        assert_eq!(network(4, &arcs).augment(10, &mut Effort::UNBOUNDED.clone()), (10, false));
        assert_eq!(network(4, &arcs).augment(11, &mut Effort::UNBOUNDED.clone()), (10, true));
        let mut none = Effort { steps: 0, deadline: None };
        assert_eq!(network(4, &arcs).augment(11, &mut none), (0, false));
        assert_eq!(network(2, &[]).augment(11, &mut Effort::UNBOUNDED.clone()), (0, true));
    }

    #[test]
    fn flow_equals_the_least_cut_of_random_networks() {
        let mut random = Random::new(5);
        for _ in 0..3000 {
            let nodes = 2 + random.below(7);
            let arcs: Vec<(u32, u32, u32)> = (0..random.below(4 * nodes))
                .map(|_| {
                    let from = random.below(nodes);
                    let to = (from + 1 + random.below(nodes - 1)) % nodes;
                    (from as u32, to as u32, random.below(6) as u32)
                })
                .collect();
            let mut network = network(nodes, &arcs);
            for node in 1..nodes - 1 {
                network.sides[node] = random.pick(&[Side::In, Side::Free, Side::Free, Side::Free, Side::Out]);
            }
            let cost = |side: usize| -> u32 {
                let cut = |&&(from, to, _): &&(u32, u32, u32)| side >> from & 1 == 1 && side >> to & 1 == 0;
                arcs.iter().filter(cut).map(|arc| arc.2).sum()
            };
            let allowed = |side: &usize| {
                (0..nodes).all(|node| match network.sides[node] {
                    Side::In => side >> node & 1 == 1,
                    Side::Free => true,
                    Side::Out => side >> node & 1 == 0,
                })
            };
            let least = (0..1 << nodes).filter(allowed).map(cost).min().unwrap_or(0);
            let (flow, maximal) = network.augment(UNLIMITED - 1, &mut Effort::UNBOUNDED.clone());
            assert_eq!((flow, maximal), (least, true));
            let far =
                |node: &usize| network.sides[*node] != Side::Out && network.distance[*node] == UNREACHED;
            let inner = |node: &usize| network.sides[*node] == Side::In;
            let largest =
                (0..nodes).filter(|node| far(node) || inner(node)).map(|node| 1 << node).sum::<usize>();
            network.find_reached();
            let smallest = (0..nodes).filter(|&node| network.reached[node]);
            let smallest = smallest.map(|node| 1 << node).sum::<usize>();
            assert_eq!((cost(smallest), cost(largest)), (least, least));
            assert_eq!(smallest & largest, smallest);
        }
    }

    /// The minimum over random intervals, and the smallest and largest minimiser, against enumeration.
    #[test]
    fn minima_over_intervals_match_enumeration() {
        let mut random = Random::new(11);
        let mut questions = 0;
        for region in small_regions(1500) {
            let closure = Closure::new(&region);
            for class in region.class_ids() {
                let small = Small::new(&region, class);
                let mut downset_min = DownsetMin::new(&region, class, &closure);
                for _ in 0..4 {
                    let one = small.downsets[random.below(small.downsets.len())];
                    let other = small.downsets[random.below(small.downsets.len())];
                    let (low, high) = (one & other, one | other);
                    let sides: Vec<Side> = (0..region.len())
                        .map(|i| match (low >> i & 1, high >> i & 1) {
                            (1, _) => Side::In,
                            (_, 1) => Side::Free,
                            _ => Side::Out,
                        })
                        .collect();
                    let between = |set: &u32| set & low == low && set & high == *set;
                    let sets: Vec<u32> = small.downsets.iter().copied().filter(between).collect();
                    let least = sets.iter().map(|&set| small.pressure(set)).min().unwrap_or(0);
                    let best = sets.iter().copied().filter(|&set| small.pressure(set) == least);
                    let meet = best.clone().fold(u32::MAX, |all, set| all & set);
                    let join = best.fold(0, |all, set| all | set);
                    let mut effort = Effort::UNBOUNDED;
                    for limit in [0, least / 2, least] {
                        let answer = downset_min.min(&sides, limit, &mut effort);
                        assert_eq!(answer, Minimum::AtLeast(limit));
                    }
                    for limit in [least + 1, u32::MAX] {
                        let answer = downset_min.min(&sides, limit, &mut effort);
                        assert_eq!(answer, Minimum::Exact(least));
                        let mut smallest = BitSet::new(region.len());
                        let mut largest = smallest.clone();
                        downset_min.largest(&mut largest);
                        downset_min.smallest(&mut smallest);
                        let found = [smallest, largest].map(|set| set.bits().as_number() as u32);
                        assert_eq!(found, [meet, join]);
                    }
                    questions += 1;
                }
            }
        }
        assert!(questions > 10_000);
    }
}
