//! Groups: instructions that the front end wants next to each other, as one instruction.
//!
//! A [`Cluster`](HintKind::Cluster) hint names a *pair*: its second instruction should come right after the
//! first. Loads of neighbouring addresses and the two halves of a wide addition are such pairs.
//! [`Groups::of`] joins pairs to chains, the groups. [`Groups::contract`] makes a region in which every group
//! is one instruction. Any scheduler can order that region, and [`Groups::expand`] turns its order into one
//! of the original region.
//!
//! A pair is taken if three conditions hold. Pairs are tried in the order of their hints.
//!
//! 1. Its first instruction has no successor in its group yet, and its second instruction no predecessor.
//! 2. Its second instruction need not come before the first one.
//! 3. No instruction must come between the groups of the two.
//!
//! Theorem: the graph of the groups has no cycle. A new pair joins two groups A and B. A cycle through the
//! new group would be a path from B to A, against condition 2, or a path from A to B through a third group,
//! against condition 3. So every legal order of the contracted region expands to a legal order of the
//! original region, in which every pair is kept.
//!
//! Conditions 2 and 3 need the descendants of a group. `Joiner` keeps the groups in an order that respects
//! the dependences, so only the groups between the two are searched.
//!
//! Times and registers of the contracted region are estimates. A group takes one issue slot, and registers
//! within a group do not count. Callers measure the expanded order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::index::{InstrId, RegisterId, Rows, ValueId};
use crate::issue::IssueTable;
use crate::problem::Problem;
use crate::region::{HintKind, InstrSpec, Production, Region, RegionBuilder, RegionError};

/// The groups of a region. An instruction without a pair is a group of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    /// The instruction that should come right after each one.
    next: Vec<Option<InstrId>>,
    pairs: u32,
    /// The instructions of each group, first to last. Groups are in an order that respects the dependences,
    /// near the source order.
    members: Rows<InstrId>,
    /// The group of each instruction.
    group: Vec<u32>,
}

impl Groups {
    /// Join the instructions of a region by its hints.
    pub fn of(region: &Region) -> Self {
        let mut joiner = Joiner::new(region);
        let hints = region.hints().iter().filter(|hint| hint.kind == HintKind::Cluster);
        let pairs = hints.filter_map(|hint| Some((hint.from, hint.to?)));
        let pairs = pairs.filter(|(first, second)| joiner.join(*first, *second)).count() as u32;
        let Joiner { members, group, next, .. } = joiner;
        let mut groups = Groups { next, pairs, members: Rows::default(), group };
        groups.number(region, &members);
        groups
    }

    /// Return the number of pairs of a region, and of those whose instructions do not follow each other in an
    /// order.
    pub(crate) fn pairs_and_broken(region: &Region, order: &[InstrId]) -> (u32, u32) {
        // Groups take as long as a simple schedule, and most regions have none.
        if region.hints().iter().all(|hint| hint.kind != HintKind::Cluster) {
            return (0, 0);
        }
        let groups = Groups::of(region);
        (groups.pairs(), groups.broken(order))
    }

    /// Return the number of pairs.
    pub fn pairs(&self) -> u32 {
        self.pairs
    }

    /// Return the number of groups, those of one instruction included.
    pub fn count(&self) -> usize {
        self.members.starts().len() - 1
    }

    /// Return the instruction that should come right after another one.
    pub fn next(&self, instr: InstrId) -> Option<InstrId> {
        self.next[instr.index()]
    }

    /// Return whether two instructions that follow each other are a pair.
    fn is_pair(&self, first: InstrId, second: InstrId) -> bool {
        self.next(first) == Some(second)
    }

    /// Return the number of pairs whose instructions do not follow each other in an order.
    pub fn broken(&self, order: &[InstrId]) -> u32 {
        let kept = order.windows(2).filter(|two| self.is_pair(two[0], two[1])).count();
        self.pairs - kept as u32
    }

    /// Return the legal orders next to a legal one that join a parted pair, each with the kept pairs around
    /// both instructions. None if the pair is kept.
    ///
    /// Between the two, instructions that the later one needs stay before both, or those that need the
    /// earlier one stay after both. No instruction is both: it would have to come between the groups, or
    /// between members of one group against their order.
    pub fn joined(
        &self,
        region: &Region,
        order: &[InstrId],
        first: InstrId,
        second: InstrId,
    ) -> Vec<Vec<InstrId>> {
        let place = |instr: InstrId| order.iter().position(|&other| other == instr);
        let (Some(at), Some(to)) = (place(first), place(second)) else { return Vec::new() };
        if at + 1 == to {
            return Vec::new();
        }
        let is_kept = |place: usize| self.is_pair(order[place - 1], order[place]);
        let start = (1..=at).rev().find(|&place| !is_kept(place)).unwrap_or(0);
        let end = (to + 1..order.len()).find(|&place| !is_kept(place)).unwrap_or(order.len());
        let pair = [&order[start..=at], &order[to..end]].concat();
        let (earlier, later) = if at < to { (start..at + 1, to..end) } else { (to..end, start..at + 1) };
        let between = &order[earlier.end..later.start];

        let mut is_needed = vec![false; region.len()];
        order[later.clone()].iter().for_each(|instr| is_needed[instr.index()] = true);
        for &instr in between.iter().rev() {
            is_needed[instr.index()] = region.succs(instr).iter().any(|edge| is_needed[edge.instr.index()]);
        }
        let mut is_needing = vec![false; region.len()];
        order[earlier.clone()].iter().for_each(|instr| is_needing[instr.index()] = true);
        for &instr in between {
            is_needing[instr.index()] = region.preds(instr).iter().any(|edge| is_needing[edge.instr.index()]);
        }
        let around = |is_before: &dyn Fn(InstrId) -> bool| {
            let (before, after): (Vec<InstrId>, Vec<InstrId>) =
                between.iter().partition(|&&instr| is_before(instr));
            [&order[..earlier.start], &before, &pair, &after, &order[later.end..]].concat()
        };
        let mut orders =
            vec![around(&|instr| is_needed[instr.index()]), around(&|instr| !is_needing[instr.index()])];
        orders.dedup();
        orders
    }

    /// Return the instructions of a group, first to last.
    fn members(&self, group: usize) -> &[InstrId] {
        self.members.row(group)
    }

    /// Number the groups in an order that respects the dependences.
    fn number(&mut self, region: &Region, members: &[Vec<InstrId>]) {
        self.set_members(region, members.iter().map(Vec::as_slice).filter(|members| !members.is_empty()));
        let order = self.sorted(region, |instr| instr.0);
        let unsorted = std::mem::take(&mut self.members);
        self.set_members(region, order.into_iter().map(|group| unsorted.row(group)));
    }

    fn set_members<'m>(&mut self, region: &Region, groups: impl Iterator<Item = &'m [InstrId]>) {
        self.members = Rows::with_capacity(region.len(), region.len());
        for (number, members) in groups.enumerate() {
            for &instr in members {
                self.members.push(instr);
                self.group[instr.index()] = number as u32;
            }
            self.members.end_row();
        }
    }

    /// Return the groups in an order that respects the dependences. Among groups that are ready, the one
    /// whose first member has the smallest key comes first. If an order of the instructions keeps all pairs,
    /// its positions as keys give the same order of groups.
    fn sorted(&self, region: &Region, key: impl Fn(InstrId) -> u32) -> Vec<usize> {
        let mut waits_for = vec![0u32; self.count()];
        let outgoing = |group: usize| {
            let edges = self.members(group).iter().flat_map(|&instr| region.succs(instr));
            edges.map(|edge| self.group[edge.instr.index()] as usize).filter(move |&other| other != group)
        };
        (0..self.count()).flat_map(outgoing).for_each(|group| waits_for[group] += 1);
        let entry = |group: usize| Reverse((key(self.members(group)[0]), group));
        let mut ready: BinaryHeap<_> =
            (0..self.count()).filter(|&group| waits_for[group] == 0).map(entry).collect();
        let mut order = Vec::with_capacity(self.count());
        while let Some(Reverse((_, group))) = ready.pop() {
            order.push(group);
            for other in outgoing(group) {
                waits_for[other] -= 1;
                if waits_for[other] == 0 {
                    ready.push(entry(other));
                }
            }
        }
        order
    }

    /// Return the order of the instructions for an order of the groups.
    pub fn expand(&self, order: &[InstrId]) -> Vec<InstrId> {
        order.iter().flat_map(|group| self.members(group.index())).copied().collect()
    }

    /// Return the region in which every group is one instruction.
    ///
    /// Every value of the region is a register. A value that only members of one group need is dead. The
    /// production order becomes the nearest order that keeps all pairs.
    pub fn contract(&self, problem: &Problem) -> Result<Region, RegionError> {
        let region = problem.region();
        let mut builder = RegionBuilder::new(region.name());
        builder.loop_depth(region.loop_depth());
        region.frequency().into_iter().for_each(|frequency| builder.frequency(frequency));
        builder.boundary(region.boundary());
        for (class, name) in region.class_ids().zip(region.classes()) {
            let same = builder.class(name);
            builder.through(same, region.through(class));
        }
        let offsets = self.offsets(problem);
        for group in 0..self.count() {
            self.add_instr(region, group, &offsets, &mut builder);
        }
        self.add_values(region, &mut builder);
        let place = |instr: InstrId| (InstrId(self.group[instr.index()]), offsets[instr.index()]);
        for dep in region.deps() {
            let ((from, issued), (to, needed)) = (place(dep.from), place(dep.to));
            if from != to {
                builder.depend(from, to, dep.kind, (dep.latency + issued).saturating_sub(needed));
            }
        }
        if let Some(production) = region.production() {
            let mut positions = vec![0; region.len()];
            production
                .order
                .iter()
                .zip(0..)
                .for_each(|(instr, position)| positions[instr.index()] = position);
            let order = self.sorted(region, |instr| positions[instr.index()]);
            let order = order.into_iter().map(InstrId::at).collect();
            builder.production(Production { by: production.by.clone(), order, peaks: None });
        }
        builder.build()
    }

    /// Return, for each instruction, the cycles from the issue of its group to its own.
    fn offsets(&self, problem: &Problem) -> Vec<u32> {
        let region = problem.region();
        let mut offsets = vec![0; region.len()];
        for group in (0..self.count()).filter(|&group| self.members(group).len() > 1) {
            let mut issue = IssueTable::new(problem);
            let mut now = 0;
            for &instr in self.members(group) {
                let inner = region.preds(instr).iter();
                let inner = inner.filter(|edge| self.group[edge.instr.index()] as usize == group);
                let ready = inner.map(|edge| offsets[edge.instr.index()] + edge.latency);
                now = issue.earliest(instr, ready.fold(now, u32::max));
                issue.reserve(instr, now);
                offsets[instr.index()] = now;
            }
        }
        offsets
    }

    fn add_instr(&self, region: &Region, group: usize, offsets: &[u32], builder: &mut RegionBuilder) {
        let members = self.members(group);
        let mut units: Vec<(&str, u32)> = Vec::new();
        for need in members.iter().flat_map(|&instr| region.units(instr)) {
            match units.iter_mut().find(|(unit, _)| *unit == &*need.unit) {
                Some((_, cycles)) => *cycles += need.cycles,
                None => units.push((&need.unit, need.cycles)),
            }
        }
        let latencies = members.iter().map(|&instr| offsets[instr.index()] + region.latency(instr));
        let first = members[0];
        builder.instr(InstrSpec {
            opcode: region.opcode(first),
            latency: latencies.max().unwrap_or(0),
            units: &units,
            flags: region.flags(first),
            micro_ops: members.iter().map(|&instr| region.micro_ops(instr)).fold(0, u32::saturating_add),
            address_space: region.address_space(first),
        });
    }

    fn add_values(&self, region: &Region, builder: &mut RegionBuilder) {
        let group_of = |instr: InstrId| InstrId(self.group[instr.index()]);
        for (position, value) in region.values().iter().enumerate() {
            let register: RegisterId = builder.register("", value.class, 1, value.weight);
            let def = value.def.map(group_of);
            match def {
                Some(group) => builder.defs(group, register, 1),
                None => builder.live_in(register, 1),
            }
            let users = region.value_uses(ValueId::at(position)).iter().map(|&instr| group_of(instr));
            users.filter(|&user| Some(user) != def).for_each(|user| builder.uses(user, register, 1));
            if value.live_out {
                builder.live_out(register, 1);
            }
        }
    }
}

/// Groups that grow. Each has the number of its first member.
struct Joiner<'a> {
    region: &'a Region,
    members: Vec<Vec<InstrId>>,
    group: Vec<u32>,
    next: Vec<Option<InstrId>>,
    has_previous: Vec<bool>,
    /// The groups in an order that respects the dependences; `GONE` for a group that has become part of
    /// another one.
    order: Vec<u32>,
    /// The place of each group in that order.
    rank: Vec<u32>,
    /// The last search that has reached each group.
    seen: Vec<u32>,
    searches: u32,
}

const GONE: u32 = u32::MAX;

impl<'a> Joiner<'a> {
    fn new(region: &'a Region) -> Self {
        let count = region.len() as u32;
        Joiner {
            region,
            members: region.instrs().map(|instr| vec![instr]).collect(),
            group: (0..count).collect(),
            next: vec![None; region.len()],
            has_previous: vec![false; region.len()],
            order: (0..count).collect(),
            rank: (0..count).collect(),
            seen: vec![0; region.len()],
            searches: 0,
        }
    }

    /// Join the groups of a pair. Return whether the pair can be taken.
    fn join(&mut self, first: InstrId, second: InstrId) -> bool {
        let [one, other] = [first, second].map(|instr| self.group[instr.index()]);
        if one == other || self.next[first.index()].is_some() || self.has_previous[second.index()] {
            return false;
        }
        let Some(place) = self.make_room(one, other) else { return false };
        self.next[first.index()] = Some(second);
        self.has_previous[second.index()] = true;
        let moved = std::mem::take(&mut self.members[other as usize]);
        moved.iter().for_each(|instr| self.group[instr.index()] = one);
        self.members[one as usize].extend(moved);
        self.order[place as usize] = one;
        self.rank[one as usize] = place;
        true
    }

    /// Return a place for both groups in the order. Groups that must come after either move behind it. None
    /// if there is no such place.
    fn make_room(&mut self, one: u32, other: u32) -> Option<u32> {
        let [low, high] =
            if self.rank[one as usize] < self.rank[other as usize] { [one, other] } else { [other, one] };
        let last = self.rank[high as usize];
        self.searches += 1;
        let mut open = vec![low];
        while let Some(group) = open.pop() {
            let edges = self.members[group as usize].iter().flat_map(|&instr| self.region.succs(instr));
            for reached in edges.map(|edge| self.group[edge.instr.index()]) {
                // Only a direct dependence of the second on the first is none in the way.
                if reached == high && (group != low || low == other) {
                    return None;
                }
                let is_new = self.seen[reached as usize] != self.searches && reached != group;
                if is_new && self.rank[reached as usize] < last {
                    self.seen[reached as usize] = self.searches;
                    open.push(reached);
                }
            }
        }
        let places = self.rank[low as usize]..last + 1;
        let between = &self.order[places.start as usize..places.end as usize];
        let between = between.iter().filter(|&&group| group != GONE && group != low && group != high);
        let (after, before): (Vec<u32>, Vec<u32>) =
            between.partition(|&&group| self.seen[group as usize] == self.searches);
        let place = places.start + before.len() as u32;
        self.order[places.start as usize..places.end as usize].fill(GONE);
        let all = (places.start..).zip(before).chain((place + 1..).zip(after));
        for (rank, group) in all {
            self.order[rank as usize] = group;
            self.rank[group as usize] = rank;
        }
        Some(place)
    }
}
