//! Lower bounds on every packing: the earliest cycle of each operation, the cycles that must follow it, and
//! the length.
//!
//! The paper's ranges (equations 10 and 11) count the predecessors of an operation by unit, beside the
//! critical path to it. Here they are counted in every window. Take the operations that cannot start before
//! cycle `a`, and whose issue is at least `q` cycles before `j`. All of them issue in the cycles from `a` to
//! `start(j) - q`, and each cycle has a limited capacity of a [`Resource`]. The maximum over all `a` and `q`
//! is a lower bound on `start(j)` (Rim and Jain's, for every resource). If `j` is the end of the block, it is
//! a bound on the length.
//!
//! A resource is any assignment of costs to operations such that no cycle can issue more than `capacity`:
//! - weights for the two units, where an operation costs the least over its formats. The weights are (1, 0),
//!   (0, 1) and (1, 1), and for each split those that make it as dear as the whole operation. An example is
//!   (3, 1) for a dp3, which takes one cycle of v or three of s. They express that a split relieves one unit
//!   only at the expense of the other;
//! - sets of pairwise exclusive operations (cost 1, capacity 1), for the conflicts.
//!
//! Once all formats are decided, there is a further bound. It is the number of issues on units, less the
//! maximum number of pairs that can share a cycle. A maximum matching finds these pairs. A pair can share a
//! cycle if its operations are for different units, have no conflict, and do not wait for each other.

use super::matching::most_pairs;
use super::problem::{Kind, PackProblem};
use crate::index::InstrId;

/// The largest block with windows. Larger blocks use longest paths for their ranges: windows take cubic time.
const MOST_FOR_WINDOWS: usize = 320;

/// The most sets of pairwise exclusive operations.
const MOST_CLIQUES: usize = 6;

/// A resource with a limited capacity in each cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// The least cost of each operation.
    pub cost: Vec<u32>,
    /// The capacity of a cycle.
    pub capacity: u32,
    /// For resources by weight, the cost of one cycle of each unit.
    pub(super) weights: [u32; 2],
}

/// Bounds on all packings of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranges {
    /// Each operation's earliest cycle.
    pub heads: Vec<u32>,
    /// The cycles that must follow the one of its (last) issue.
    pub tails: Vec<u32>,
    /// A lower bound on the length.
    pub length: u32,
    /// The resources of the bound.
    pub resources: Vec<Resource>,
}

impl Ranges {
    /// Analyse a block.
    pub fn new(problem: &PackProblem) -> Ranges {
        let count = problem.len();
        let mut resources = by_weights(problem);
        let spans: Vec<u32> = problem.operations().iter().map(super::Operation::span).collect();
        let with_windows = count <= MOST_FOR_WINDOWS;
        let distances = if with_windows { Distances::new(problem) } else { Distances::default() };
        let mut heads = vec![0; count];
        let mut window = Window::default();
        for to in 0..count {
            let preds = problem.preds(InstrId::at(to)).iter();
            let after = |from: usize| heads[from] + spans[from];
            heads[to] = preds.map(|edge| after(edge.instr.index()) + edge.latency).max().unwrap_or(0);
            if with_windows {
                let ancestors = (0..to).filter_map(|from| Some((from, distances.get(from, to)?)));
                window.fill(ancestors.map(|(from, distance)| (from, heads[from], distance)));
                heads[to] = heads[to].max(window.bound(&resources).saturating_sub(1));
            }
        }
        let mut tails = vec![0; count];
        for from in (0..count).rev() {
            let succs = problem.succs(InstrId::at(from)).iter();
            let before = |to: usize| tails[to] + spans[to];
            tails[from] = succs.map(|edge| before(edge.instr.index()) + edge.latency).max().unwrap_or(0);
            if with_windows {
                let descendants = (from + 1..count).filter_map(|to| Some((to, distances.get(from, to)?)));
                window.fill(descendants.map(|(to, distance)| (to, tails[to], distance)));
                tails[from] = tails[from].max(window.bound(&resources).saturating_sub(1));
            }
        }
        // Conflicts have too little effect on single operations for the time they take.
        let cliques = cliques(problem, &resources);
        resources.extend(cliques);
        window.fill((0..count).map(|at| (at, heads[at], tails[at])));
        let path = (0..count).map(|at| heads[at] + spans[at] + tails[at] + 1).max().unwrap_or(0);
        let mut length = path.max(window.bound(&resources));
        if with_windows && !problem.has_splits() {
            length = length.max(pairs_bound(problem, &distances));
        }
        Ranges { heads, tails, length, resources }
    }

    /// Return the paper's ranges: equations 10 and 11 of its Section 2.1. There is no bound on the length,
    /// which the paper takes from its linear program. Section 2.2 has no ranges, so that operations with
    /// splits leave all open.
    ///
    /// A predecessor counts if it is at least a cycle earlier. The paper's operations all have latencies;
    /// those of the mini-alus here need none. Operations for both units count for neither, as in the paper.
    pub fn of_paper(problem: &PackProblem) -> Ranges {
        let count = problem.len();
        let (mut heads, mut tails) = (vec![0; count], vec![0; count]);
        if !problem.has_splits() {
            let distances = Distances::new(problem);
            for at in 0..count {
                let before = (0..at).filter_map(|from| Some((from, distances.get(from, at)?)));
                heads[at] = paper_range(problem, before);
                let after = (at + 1..count).filter_map(|to| Some((to, distances.get(at, to)?)));
                tails[at] = paper_range(problem, after);
            }
        }
        Ranges { heads, tails, length: 0, resources: Vec::new() }
    }

    /// Return a bound on the length of the same block after more formats have been decided, in a fraction of
    /// the time.
    pub(super) fn length_with(&self, problem: &PackProblem) -> u32 {
        let count = problem.len();
        let span = |at: usize| problem.operations()[at].span();
        let path = (0..count).map(|at| self.heads[at] + span(at) + self.tails[at] + 1).max().unwrap_or(0);
        let mut window = Window::default();
        window.fill((0..count).map(|at| (at, self.heads[at], self.tails[at])));
        path.max(window.bound(&by_weights(problem)))
    }

    /// Return the ranges as in equations 10 and 11 of the paper, for a given length: first and last cycle of
    /// each operation.
    pub fn cycles(&self, length: u32) -> impl Iterator<Item = (u32, Option<u32>)> + '_ {
        let last = move |tail: &u32| length.checked_sub(tail + 1);
        self.heads.iter().zip(&self.tails).map(move |(head, tail)| (*head, last(tail)))
    }
}

/// Return the cycles on one side of an operation, from the operations there with their distances (equations
/// 10 and 11).
fn paper_range(problem: &PackProblem, others: impl Iterator<Item = (usize, u32)>) -> u32 {
    let (mut path, mut counts) = (0, [0u32; 3]);
    for (other, distance) in others {
        path = path.max(distance);
        if distance > 0 {
            match problem.operations()[other].kind {
                Kind::First => counts[0] += 1,
                Kind::Second => counts[1] += 1,
                Kind::Either => counts[2] += 1,
                Kind::Both | Kind::None => {}
            }
        }
    }
    // In whole cycles: half a cycle takes a whole one.
    path.max(counts[0]).max(counts[1]).max(counts.iter().sum::<u32>().div_ceil(2))
}

/// Operations with a release `a` and a distance `q` to the end of the window.
#[derive(Default)]
struct Window {
    /// Operation, release, rank of its distance; by decreasing release.
    items: Vec<(usize, u32, usize)>,
    /// All distances, decreasing.
    distances: Vec<u32>,
}

impl Window {
    fn fill(&mut self, items: impl Iterator<Item = (usize, u32, u32)>) {
        let items: Vec<(usize, u32, u32)> = items.collect();
        self.distances.clear();
        self.distances.extend(items.iter().map(|(_, _, distance)| *distance));
        self.distances.sort_unstable_by(|a, b| b.cmp(a));
        self.distances.dedup();
        let rank = |distance: u32| self.distances.partition_point(|other| *other > distance);
        self.items.clear();
        self.items.extend(items.iter().map(|&(at, release, distance)| (at, release, rank(distance))));
        self.items.sort_unstable_by_key(|&(at, release, _)| (std::cmp::Reverse(release), at));
    }

    /// Return the largest `a + q + ceil(cost / capacity)` over all `a` and `q`, where the cost is that of
    /// operations with at least this release and distance. It is a lower bound on the cycles from the start
    /// to the end of the window, both included.
    fn bound(&self, resources: &[Resource]) -> u32 {
        let mut best = 0;
        let mut loads = vec![0u64; self.distances.len()];
        for resource in resources {
            loads.fill(0);
            let mut position = 0;
            while position < self.items.len() {
                let release = self.items[position].1;
                let mut changed = false;
                while let Some(&(at, _, rank)) = self.items.get(position).filter(|item| item.1 == release) {
                    let cost = u64::from(resource.cost[at]);
                    if cost > 0 {
                        loads[rank] += cost;
                        changed = true;
                    }
                    position += 1;
                }
                if !changed {
                    continue;
                }
                let mut load = 0;
                for (own, distance) in loads.iter().zip(&self.distances) {
                    load += own;
                    if *own > 0 {
                        let cycles = load.div_ceil(u64::from(resource.capacity)) as u32;
                        best = best.max(release + distance + cycles);
                    }
                }
            }
        }
        best
    }
}

/// Longest paths between all pairs.
#[derive(Default)]
struct Distances {
    count: usize,
    /// By pair; `u32::MAX` where there is no path.
    paths: Vec<u32>,
}

impl Distances {
    fn new(problem: &PackProblem) -> Distances {
        let count = problem.len();
        let mut paths = vec![u32::MAX; count * count];
        for from in 0..count {
            let row = &mut paths[from * count..(from + 1) * count];
            row[from] = 0;
            for at in from..count {
                if row[at] == u32::MAX {
                    continue;
                }
                // From the last part of `from` to the first one of the others.
                let span = if at == from { 0 } else { problem.operations()[at].span() };
                for edge in problem.succs(InstrId::at(at)) {
                    let path = row[at] + span + edge.latency;
                    let other = &mut row[edge.instr.index()];
                    *other = if *other == u32::MAX { path } else { path.max(*other) };
                }
            }
        }
        Distances { count, paths }
    }

    fn get(&self, from: usize, to: usize) -> Option<u32> {
        Some(self.paths[from * self.count + to]).filter(|path| *path != u32::MAX)
    }
}

/// Return the bound of pairs: issues on units, less the maximum number of pairs.
fn pairs_bound(problem: &PackProblem, distances: &Distances) -> u32 {
    // The operation of each issue, and the unit of a part.
    let mut issues: Vec<(usize, Option<Kind>)> = Vec::new();
    for (at, operation) in problem.operations().iter().enumerate() {
        match operation.split() {
            Some(split) => {
                let units = [Kind::First, Kind::Second].into_iter().zip(split.counts);
                issues.extend(units.flat_map(|(kind, count)| (0..count).map(move |_| (at, Some(kind)))));
            }
            None if operation.kind == Kind::None => {}
            None => issues.push((at, None)),
        }
    }
    let waits = |from: usize, to: usize| distances.get(from, to).is_some_and(|cycles| cycles > 0);
    let mut neighbours = vec![Vec::new(); issues.len()];
    for (a, &(x, x_kind)) in issues.iter().enumerate() {
        for (b, &(y, y_kind)) in issues.iter().enumerate().take(a) {
            let [p, q] =
                [(x, x_kind), (y, y_kind)].map(|(at, kind)| kind.unwrap_or(problem.operations()[at].kind));
            let format = |at: usize| problem.operations()[at].format().unwrap_or(0);
            let conflict = problem.conflict(InstrId::at(x), format(x), InstrId::at(y), format(y));
            // In source order, which is a legal one, `y` comes first.
            if x != y && !conflict && !p.shares_a_unit(q) && !waits(y, x) {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
    }
    (issues.len() - most_pairs(&neighbours, issues.len())) as u32
}

/// Return the scarce resources of a block, by weights of the units.
fn by_weights(problem: &PackProblem) -> Vec<Resource> {
    let mut weights = vec![[1, 0], [0, 1], [1, 1]];
    for operation in problem.operations() {
        for split in &operation.splits {
            for whole in operation.kind.places().iter().map(|units| [units.0 & 1, units.0 >> 1]) {
                let spared = [0, 1].map(|unit: usize| i64::from(whole[unit]) - i64::from(split.counts[unit]));
                // The weights for which both cost the same, if each spares a unit that the other one takes.
                if spared[0] * spared[1] < 0 {
                    let equal = [spared[1].unsigned_abs() as u32, spared[0].unsigned_abs() as u32];
                    if !weights.contains(&equal) {
                        weights.push(equal);
                    }
                }
            }
        }
    }
    let of_weights = |weights: [u32; 2]| {
        let cost = problem.operations().iter().map(|operation| {
            operation.needs().map(|needs| needs[0] * weights[0] + needs[1] * weights[1]).min().unwrap_or(0)
        });
        Resource { cost: cost.collect(), capacity: weights[0] + weights[1], weights }
    };
    weights.into_iter().map(of_weights).collect()
}

/// Return whether two operations can never share a cycle in any format. Operations with splits never count.
fn excludes(problem: &PackProblem, a: usize, b: usize) -> bool {
    let (x, y) = (&problem.operations()[a], &problem.operations()[b]);
    x.kind.shares_a_unit(y.kind) || problem.conflict(InstrId::at(a), 0, InstrId::at(b), 0)
}

/// Return some large sets of pairwise exclusive operations, beyond those of the units. The choice is greedy:
/// any such set gives a valid bound.
fn cliques(problem: &PackProblem, known: &[Resource]) -> Vec<Resource> {
    let count = problem.len();
    let usable: Vec<usize> = (0..count).filter(|at| problem.operations()[*at].splits.is_empty()).collect();
    let conflicts = |at: usize| {
        let has =
            |other: &&usize| **other != at && problem.conflict(InstrId::at(at), 0, InstrId::at(**other), 0);
        usable.iter().filter(has).count()
    };
    let mut by_conflicts: Vec<(usize, usize)> = usable.iter().map(|&at| (conflicts(at), at)).collect();
    by_conflicts.sort_unstable_by_key(|&(count, at)| (std::cmp::Reverse(count), at));
    let mut found: Vec<Resource> = Vec::new();
    let mut covered = vec![false; count];
    for &(degree, seed) in &by_conflicts {
        if degree == 0 || found.len() == MOST_CLIQUES {
            break;
        }
        if covered[seed] {
            continue;
        }
        let mut members = vec![seed];
        for &(_, at) in &by_conflicts {
            if at != seed && members.iter().all(|other| excludes(problem, at, *other)) {
                members.push(at);
            }
        }
        let mut cost = vec![0; count];
        for &at in &members {
            covered[at] = true;
            cost[at] = 1;
        }
        // A resource that a unit implies adds nothing to the bound.
        let is_implied = |other: &Resource| {
            other.capacity == 1 && cost.iter().zip(&other.cost).all(|(cost, other)| cost <= other)
        };
        if !known.iter().chain(&found).any(is_implied) {
            found.push(Resource { cost, capacity: 1, weights: [0, 0] });
        }
    }
    found
}
