//! A problem as seen from one end of time.
//!
//! A schedule can grow from its first instruction or, mirrored, from its last one. Either way the same data
//! count: the dependences with their latencies, the live weight, and the distance to the other end. Pressure
//! depends on the order alone. So schedules are built as orders: each instruction takes the first slot that
//! its operands, the issue width and the units allow. For a given order no schedule is shorter, from either
//! end.
//!
//! A *slot* is a place to issue in: cycle `c` has the slots `c * width .. (c + 1) * width`.

use crate::analysis::length_bound::{LengthBound, binding_units};
use crate::analysis::times::separation;
use crate::analysis::walk::{Direction, LiveGraph, PressureFields};
use crate::index::{InstrId, Rows};
use crate::problem::Problem;
use crate::region::Edge;

/// The other end of a dependence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub(crate) instr: u32,
    /// The least cycles between the two issues.
    pub(crate) cycles: u32,
}

/// A problem as seen from one end of time.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) direction: Direction,
    pub(crate) live: LiveGraph,
    /// The limit on the live weight.
    pub(crate) limit: i64,
    /// The instructions that wait for an instruction, and those that it waits for.
    pub(crate) next: Rows<Link>,
    pub(crate) prev: Rows<Link>,
    /// For each instruction, the least cycles from this end of the schedule to its issue, and from its issue
    /// to the other end.
    pub(crate) head: Vec<u32>,
    pub(crate) tail: Vec<u32>,
    pub(crate) width: u32,
    /// The units that can make an instruction wait: their copies, and for each instruction its units with
    /// busy cycles.
    units: Vec<u32>,
    needs: Rows<(u32, u32)>,
}

impl Timed {
    /// Make the graph. `limits` are those of `packing`. Units count only in forward time.
    pub(crate) fn new(
        problem: &Problem,
        direction: Direction,
        packing: &PressureFields,
        limits: &[Option<u32>],
        times: &LengthBound,
    ) -> Self {
        let region = problem.region();
        let after = |instr: InstrId| {
            region
                .succs(instr)
                .iter()
                .map(move |edge| Link { instr: edge.instr.0, cycles: separation(problem, instr, edge) })
        };
        let before = |instr: InstrId| {
            region.preds(instr).iter().map(move |edge| {
                let forward = Edge { instr, latency: edge.latency };
                Link { instr: edge.instr.0, cycles: separation(problem, edge.instr, &forward) }
            })
        };
        let mut succs = Rows::with_capacity(region.len(), region.edge_count());
        let mut preds = Rows::with_capacity(region.len(), region.edge_count());
        for instr in region.instrs() {
            after(instr).for_each(|link| succs.push(link));
            succs.end_row();
            before(instr).for_each(|link| preds.push(link));
            preds.end_row();
        }
        let (next, prev, head, tail) = match direction {
            Direction::TopDown => (succs, preds, &times.earliest, &times.tail),
            Direction::BottomUp => (preds, succs, &times.tail, &times.earliest),
        };
        let binding = match direction {
            Direction::TopDown => binding_units(problem),
            Direction::BottomUp => Vec::new(),
        };
        let mut needs = Rows::with_capacity(region.len(), 0);
        for instr in region.instrs() {
            for &(unit, cycles) in problem.unit_needs(instr) {
                if let Some(position) = binding.iter().position(|own| own.unit == unit) {
                    needs.push((position as u32, cycles));
                }
            }
            needs.end_row();
        }
        // More copies than instructions are never needed.
        let units = binding.iter().map(|unit| unit.count.min(region.len() as u32)).collect();
        Timed {
            direction,
            live: LiveGraph::new(region, direction, packing),
            limit: packing.pack(limits),
            next,
            prev,
            head: head.clone(),
            tail: tail.clone(),
            width: problem.target().issue().width,
            units,
            needs,
        }
    }

    /// Return the number of instructions.
    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// Return whether an instruction needs a unit that can make others wait.
    pub(crate) fn needs_units(&self, instr: u32) -> bool {
        !self.needs.row(instr as usize).is_empty()
    }

    /// Return the instructions in topological order.
    pub(crate) fn topological(&self) -> impl Iterator<Item = u32> + use<> {
        let count = self.len() as u32;
        let is_forward = self.direction == Direction::TopDown;
        (0..count).map(move |place| if is_forward { place } else { count - 1 - place })
    }

    /// Convert an order that was built from this end to forward time.
    pub(crate) fn in_time(&self, trail: &[u32]) -> Vec<InstrId> {
        let order = trail.iter().map(|&instr| InstrId(instr));
        match self.direction {
            Direction::TopDown => order.collect(),
            Direction::BottomUp => order.rev().collect(),
        }
    }

    /// Convert an order to the direction of this end.
    pub(crate) fn as_built(&self, order: &[InstrId]) -> Vec<u32> {
        let order = order.iter().map(|instr| instr.0);
        match self.direction {
            Direction::TopDown => order.collect(),
            Direction::BottomUp => order.rev().collect(),
        }
    }
}

/// The next free slot, and the times at which units become free.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The first slot after the last issue.
    pub(crate) slot: u32,
    /// For each copy of each unit the first cycle in which it is free, all copies of a unit in one row.
    free: Vec<u32>,
    /// The start of the copies of each unit.
    starts: Vec<u32>,
    /// The changes that [`Clock::take_back`] undoes: a copy, and its free cycle before.
    undo: Vec<(u32, u32)>,
}

impl Clock {
    pub(crate) fn new(graph: &Timed) -> Self {
        let mut starts = vec![0];
        for copies in &graph.units {
            starts.push(starts[starts.len() - 1] + copies);
        }
        let free = vec![0; starts[starts.len() - 1] as usize];
        Clock { slot: 0, free, starts, undo: Vec::new() }
    }

    pub(crate) fn restart(&mut self) {
        self.slot = 0;
        self.free.fill(0);
        self.undo.clear();
    }

    /// Return the first slot for an instruction that is available in `cycle`.
    #[inline]
    pub(crate) fn first_slot(&self, graph: &Timed, instr: u32, cycle: u32) -> u32 {
        let mut slot = self.slot.max(cycle * graph.width);
        for &(unit, _) in graph.needs.row(instr as usize) {
            let copies = self.starts[unit as usize] as usize..self.starts[unit as usize + 1] as usize;
            let free = self.free[copies].iter().min().copied().unwrap_or(0);
            slot = slot.max(free * graph.width);
        }
        slot
    }

    /// Issue in a slot that [`Clock::first_slot`] returns.
    #[inline]
    pub(crate) fn issue(&mut self, graph: &Timed, instr: u32, slot: u32) {
        self.slot = slot + 1;
        for &(unit, cycles) in graph.needs.row(instr as usize) {
            let copies = self.starts[unit as usize]..self.starts[unit as usize + 1];
            if let Some(copy) = copies.min_by_key(|&copy| self.free[copy as usize]) {
                self.undo.push((copy, self.free[copy as usize]));
                self.free[copy as usize] = slot / graph.width + cycles;
            }
        }
    }

    /// Undo the last issue. `slot` is the value of [`Clock::slot`] before it.
    #[inline]
    pub(crate) fn take_back(&mut self, graph: &Timed, instr: u32, slot: u32) {
        self.slot = slot;
        for _ in graph.needs.row(instr as usize) {
            if let Some((copy, free)) = self.undo.pop() {
                self.free[copy as usize] = free;
            }
        }
    }

    /// Return the free cycles of all copies, by which states are compared. Empty if no unit ever makes an
    /// instruction wait.
    pub(crate) fn free(&self) -> &[u32] {
        &self.free
    }
}
