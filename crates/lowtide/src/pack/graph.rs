//! The search's view of a block: from one end of time, with all facts that follow from the graph alone.
//!
//! Operations are numbered by the longest path to the other end, so each comes before those that wait for it.
//! For each operation the graph has its ancestors; equation 10 of the paper counts their cycles. The graph
//! also has the operations that are *better*, and those that can share a cycle with the operation. For each
//! load, the graph has the least number of groups of loads from its own on.

use super::bound::{Ranges, Resource};
use super::problem::{Kind, PackProblem, Split};
use crate::bits::{BitMatrix, BitSet};
use crate::index::{InstrId, Rows};

/// A block as seen from one end of time, its operations numbered by the longest path to the other end.
pub(super) struct Graph<'a> {
    pub(super) problem: &'a PackProblem<'a>,
    pub(super) is_turned: bool,
    /// The region's instruction of each operation here.
    pub(super) instrs: Vec<InstrId>,
    pub(super) kinds: Vec<Kind>,
    pub(super) formats: Vec<usize>,
    /// The split of the operation, if it has one.
    pub(super) splits: Vec<Option<Split>>,
    pub(super) loads: Vec<bool>,
    /// For each load, the least number of groups of loads from its own to the end.
    pub(super) levels: Vec<u32>,
    /// (operation, latency)
    pub(super) preds: Rows<(u32, u32)>,
    pub(super) succs: Rows<(u32, u32)>,
    pub(super) heads: Vec<u32>,
    pub(super) tails: Vec<u32>,
    pub(super) resources: Vec<Resource>,
    /// For each operation, the better ones.
    pub(super) better: Rows<u32>,
    /// For each operation, its ancestors, and the least latency of a dependence on one of them.
    ancestors: BitMatrix,
    pub(super) least_latency: Vec<u32>,
    /// The operations that surely take the first unit, the second one, and those that take either.
    takers: [BitSet; 3],
    /// For all pairs, whether they can share a cycle if their units allow it.
    pub(super) can_pair: Vec<bool>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(problem: &'a PackProblem<'a>, ranges: &Ranges, is_turned: bool) -> Self {
        let count = problem.len();
        let (heads, tails) =
            if is_turned { (&ranges.tails, &ranges.heads) } else { (&ranges.heads, &ranges.tails) };
        // An operation comes before those that wait for it, even without latency.
        let mut order: Vec<usize> = (0..count).collect();
        let source = |at: usize| if is_turned { count - at } else { at };
        order.sort_by_key(|&at| (std::cmp::Reverse(tails[at]), source(at)));
        let mut numbers = vec![0u32; count];
        for (number, &at) in order.iter().enumerate() {
            numbers[at] = number as u32;
        }
        let edges = |forward: bool| {
            let mut rows = Rows::with_capacity(count, count);
            for &at in &order {
                let instr = InstrId::at(at);
                let edges = if forward { problem.succs(instr) } else { problem.preds(instr) };
                for edge in edges {
                    rows.push((numbers[edge.instr.index()], edge.latency));
                }
                rows.end_row();
            }
            rows
        };
        let pick = |values: &[u32]| order.iter().map(|at| values[*at]).collect::<Vec<u32>>();
        let resources = ranges.resources.iter().map(|resource| Resource {
            cost: pick(&resource.cost),
            capacity: resource.capacity,
            weights: resource.weights,
        });
        let operations = problem.operations();
        let mut graph = Graph {
            problem,
            is_turned,
            instrs: order.iter().map(|at| InstrId::at(*at)).collect(),
            kinds: order.iter().map(|at| operations[*at].kind).collect(),
            formats: order.iter().map(|at| operations[*at].format().unwrap_or(0)).collect(),
            splits: order.iter().map(|at| operations[*at].split()).collect(),
            loads: order.iter().map(|at| operations[*at].is_load).collect(),
            preds: edges(is_turned),
            succs: edges(!is_turned),
            heads: pick(heads),
            tails: pick(tails),
            resources: resources.collect(),
            levels: vec![0; count],
            better: Rows::default(),
            ancestors: BitMatrix::new(count, count),
            least_latency: Vec::new(),
            takers: Default::default(),
            can_pair: Vec::new(),
        };
        graph.find_ancestors();
        if !is_turned {
            graph.levels = graph.find_levels();
        }
        let ways = graph.longest_ways();
        graph.can_pair = graph.find_pairs(&ways);
        graph.better = graph.find_better(&ways);
        graph
    }

    pub(super) fn len(&self) -> usize {
        self.instrs.len()
    }

    pub(super) fn span(&self, at: usize) -> u32 {
        self.splits[at].map_or(0, |split| split.span())
    }

    pub(super) fn conflict(&self, a: usize, b: usize) -> bool {
        self.problem.conflict(self.instrs[a], self.formats[a], self.instrs[b], self.formats[b])
    }

    fn find_ancestors(&mut self) {
        for at in 0..self.len() {
            for &(from, _) in self.preds.row(at) {
                self.ancestors.unite_rows(at, from);
                self.ancestors.insert(at, from);
            }
        }
        let latencies =
            (0..self.len()).map(|at| self.preds.row(at).iter().map(|(_, latency)| *latency).min());
        self.least_latency = latencies.map(|least| least.unwrap_or(0)).collect();
        self.takers = [(); 3].map(|()| BitSet::new(self.len()));
        for at in 0..self.len() {
            let takes = match (self.splits[at], self.kinds[at]) {
                (Some(split), _) => [split.counts[0] > 0, split.counts[1] > 0, false],
                (None, Kind::None) => [false; 3],
                (None, Kind::First) => [true, false, false],
                (None, Kind::Second) => [false, true, false],
                (None, Kind::Either) => [false, false, true],
                (None, Kind::Both) => [true, true, false],
            };
            for (set, takes) in self.takers.iter_mut().zip(takes) {
                set.insert_if(at, takes);
            }
        }
    }

    /// Return the least cycles that the open ancestors of an operation need: equation 10 of the paper. `open`
    /// has for each unit those that may still take it. An operation in parts may be done with one unit and
    /// not with the other.
    pub(super) fn cycles_before(&self, at: usize, open: &[BitSet; 2]) -> u32 {
        let ancestors = self.ancestors.row(at);
        let [takes_first, takes_second, takes_either] = &self.takers;
        let [open_first, open_second] = open;
        // An operation that takes either unit is whole, and in both sets.
        let pairs = [[takes_first, open_first], [takes_second, open_second], [takes_either, open_first]];
        let [first, second, either] = ancestors.overlaps_with_pairs(pairs);
        first.max(second).max((first + second + either).div_ceil(2))
    }

    /// Return the levels of loads. A load is in a later group than another if it waits for it by way of an
    /// operation that cannot share a cycle with a load.
    fn find_levels(&self) -> Vec<u32> {
        let count = self.len();
        // For each operation, the groups from the first load on that waits for it, and those that a load
        // before it would have.
        let mut after = vec![(0, 0); count];
        let takes_all = |at: usize| self.kinds[at] == Kind::Both && self.splits[at].is_none();
        let takes_none = |at: usize| self.kinds[at] == Kind::None && self.splits[at].is_none();
        let alone = (0..count).all(|at| !self.loads[at] || takes_all(at));
        for at in (0..count).rev() {
            let succs = self.succs.row(at).iter().map(|(to, _)| after[*to as usize]);
            let (groups, next) = succs.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
            after[at] = match self.loads[at] {
                true => (next.max(1), next.max(1)),
                false if groups > 0 && alone && !takes_none(at) => (groups, next.max(groups + 1)),
                false => (groups, next),
            };
        }
        (0..count).map(|at| if self.loads[at] { after[at].0 } else { 0 }).collect()
    }

    /// Return the least number of groups of loads.
    pub(super) fn fewest_levels(&self) -> u32 {
        self.levels.iter().copied().max().unwrap_or(0)
    }

    /// Return the longest path from the first to the second, for all pairs.
    fn longest_ways(&self) -> Vec<Option<u32>> {
        let count = self.len();
        let mut ways: Vec<Option<u32>> = vec![None; count * count];
        for from in (0..count).rev() {
            // Those that wait for it have higher numbers.
            let (before, after) = ways.split_at_mut((from + 1) * count);
            let own = &mut before[from * count..];
            for &(to, latency) in self.succs.row(from) {
                let to = to as usize;
                let row = &after[(to - from - 1) * count..(to - from) * count];
                for (own, way) in own.iter_mut().zip(row) {
                    *own = (*own).max(way.map(|way| way + latency));
                }
                own[to] = own[to].max(Some(latency));
            }
        }
        ways
    }

    /// For all pairs, whether they can share a cycle if their units allow it.
    fn find_pairs(&self, ways: &[Option<u32>]) -> Vec<bool> {
        let count = self.len();
        let waits = |from: usize, to: usize| ways[from * count + to].is_some_and(|cycles| cycles > 0);
        let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
        pairs.map(|(a, b)| a != b && !self.conflict(a, b) && !waits(a, b) && !waits(b, a)).collect()
    }

    fn find_better(&self, ways: &[Option<u32>]) -> Rows<u32> {
        let count = self.len();
        let mut rows = Rows::with_capacity(count, count);
        // Everything that waits for `b` waits for `a`, and at least as long.
        let covers = |a: usize, b: usize| {
            let succs = self.succs.row(b).iter();
            succs.into_iter().all(|&(to, latency)| ways[a * count + to as usize] >= Some(latency))
        };
        let alike = |a: usize, b: usize| {
            self.loads[a] == self.loads[b]
                && self.splits[a] == self.splits[b]
                && self.splits[a].is_none_or(|split| split.counts.contains(&0))
                && (0..count)
                    .filter(|other| *other != a && *other != b)
                    .all(|other| self.conflict(a, other) == self.conflict(b, other))
        };
        for b in 0..count {
            for a in 0..count {
                let is_better = a != b
                    && self.kinds[a] == self.kinds[b]
                    && covers(a, b)
                    && (a < b || !covers(b, a))
                    && alike(a, b);
                if is_better {
                    rows.push(a as u32);
                }
            }
            rows.end_row();
        }
        rows
    }
}
