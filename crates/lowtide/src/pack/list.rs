//! List schedulers: cycle by cycle, without splits.
//!
//! [`pack_by_list`] issues the operations with the longest path to the end first. Its length is the first
//! upper bound (step 1 of the paper). [`pack_like_sc`] follows the paper's description of its baseline SC,
//! the production compiler of ATI: it also groups loads and saves registers.

use super::problem::{Kind, PackProblem, Units};
use super::{Packing, Placed};
use crate::index::{InstrId, ValueId};

/// The units taken by the operations of one cycle: the paper's equations 6 to 8.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Taken {
    fixed: [bool; 2],
    either: u32,
}

impl Taken {
    pub(super) fn fits(&self, kind: Kind) -> bool {
        let total = u32::from(self.fixed[0]) + u32::from(self.fixed[1]) + self.either;
        match kind {
            Kind::None => true,
            Kind::First => !self.fixed[0] && total < 2,
            Kind::Second => !self.fixed[1] && total < 2,
            Kind::Either => total < 2,
            Kind::Both => total == 0,
        }
    }

    pub(super) fn add(&mut self, kind: Kind) {
        match kind {
            Kind::None => {}
            Kind::First => self.fixed[0] = true,
            Kind::Second => self.fixed[1] = true,
            Kind::Either => self.either += 1,
            Kind::Both => self.fixed = [true; 2],
        }
    }

    /// Assign units to the operations of a cycle with these kinds.
    pub(super) fn assign(kinds: impl Iterator<Item = Kind> + Clone) -> Vec<Units> {
        let mut free = [true; 2];
        for kind in kinds.clone() {
            match kind {
                Kind::First => free[0] = false,
                Kind::Second => free[1] = false,
                _ => {}
            }
        }
        kinds
            .map(|kind| match kind {
                Kind::Either => {
                    let unit = usize::from(!free[0]);
                    free[unit] = false;
                    Units::only(unit)
                }
                other => other.places()[0],
            })
            .collect()
    }
}

/// Pack by longest path to the end.
pub fn pack_by_list(problem: &PackProblem) -> Packing {
    let tails = tails(problem);
    pack_by(problem, |at| (tails[at], problem.succs(InstrId::at(at)).len()))
}

/// Return the longest path from each operation to the end.
fn tails(problem: &PackProblem) -> Vec<u32> {
    let count = problem.len();
    let mut tails = vec![0u32; count];
    for from in (0..count).rev() {
        let succs = problem.succs(InstrId::at(from)).iter();
        tails[from] = succs.map(|edge| tails[edge.instr.index()] + edge.latency).max().unwrap_or(0);
    }
    tails
}

/// Pack in the manner of SC, as far as the paper describes that compiler (Sections 1.2 and 3). SC minimises
/// the length and the registers, and groups loads.
///
/// - A group of loads is open if the last cycle with issues has a load. Then ready loads come first.
/// - Then the longest path to the end counts.
/// - Among equals, the operation comes first that frees the most registers, less those it takes. Source order
///   breaks ties.
pub fn pack_like_sc(problem: &PackProblem) -> Packing {
    let region = problem.region();
    let count = problem.len();
    let tails = tails(problem);
    let mut users: Vec<usize> =
        (0..region.values().len()).map(|value| region.value_uses(ValueId::at(value)).len()).collect();
    let mut waiting: Vec<usize> = (0..count).map(|at| problem.preds(InstrId::at(at)).len()).collect();
    let mut available = vec![0u32; count];
    let mut left: Vec<usize> = (0..count).collect();
    let mut placed = Vec::with_capacity(count);
    let mut in_group = false;
    let mut cycle = 0;
    while !left.is_empty() {
        let mut taken = Taken::default();
        let mut now: Vec<usize> = Vec::new();
        loop {
            let fits = |&at: &usize| {
                let clashes = |other: &usize| problem.conflict(InstrId::at(at), 0, InstrId::at(*other), 0);
                waiting[at] == 0
                    && available[at] <= cycle
                    && taken.fits(problem.operations()[at].kind)
                    && !now.iter().any(clashes)
            };
            let priority = |&at: &usize| {
                let weight = |value: &ValueId| i64::from(region.values()[value.index()].weight);
                let is_last =
                    |value: &&ValueId| users[value.index()] == 1 && !region.values()[value.index()].live_out;
                let instr = InstrId::at(at);
                let freed: i64 = region.used_values(instr).iter().filter(is_last).map(weight).sum();
                let defined = region.defined_values(instr).iter().filter(|value| !region.is_dead(**value));
                let taken: i64 = defined.map(weight).sum();
                (in_group && problem.operations()[at].is_load, tails[at], freed - taken)
            };
            // The last one of equals is the first one in source order.
            let Some(at) = left.iter().copied().filter(fits).rev().max_by_key(priority) else { break };
            left.retain(|other| *other != at);
            taken.add(problem.operations()[at].kind);
            now.push(at);
            for value in region.used_values(InstrId::at(at)) {
                users[value.index()] -= 1;
            }
            for edge in problem.succs(InstrId::at(at)) {
                let to = edge.instr.index();
                waiting[to] -= 1;
                available[to] = available[to].max(cycle + edge.latency);
            }
        }
        if !now.is_empty() {
            in_group = now.iter().any(|at| problem.operations()[*at].is_load);
        }
        place(problem, cycle, &now, &mut placed);
        let ready = left.iter().filter(|at| waiting[**at] == 0).map(|at| available[*at]).min();
        cycle = ready.unwrap_or(0).max(cycle + 1);
    }
    Packing::new(placed)
}

/// Give the operations of a cycle their units.
fn place(problem: &PackProblem, cycle: u32, now: &[usize], placed: &mut Vec<Placed>) {
    let units = Taken::assign(now.iter().map(|at| problem.operations()[*at].kind));
    placed.extend(now.iter().zip(units).map(|(&at, units)| Placed {
        cycle,
        instr: InstrId::at(at),
        format: 0,
        part: 0,
        units,
    }));
}

/// Pack by priority, the highest first. Source order breaks ties.
pub(super) fn pack_by<K: Ord>(problem: &PackProblem, priority: impl Fn(usize) -> K) -> Packing {
    let count = problem.len();
    let mut by_priority: Vec<usize> = (0..count).collect();
    by_priority.sort_by_key(|&at| std::cmp::Reverse(priority(at)));
    let mut waiting: Vec<usize> = (0..count).map(|at| problem.preds(InstrId::at(at)).len()).collect();
    let mut available = vec![0u32; count];
    let mut placed = Vec::with_capacity(count);
    let mut now: Vec<usize> = Vec::new();
    let mut cycle = 0;
    while !by_priority.is_empty() {
        let mut taken = Taken::default();
        now.clear();
        // A zero-latency successor of an operation of the cycle may come before it in the list.
        loop {
            let before = now.len();
            by_priority.retain(|&at| {
                let (instr, kind) = (InstrId::at(at), problem.operations()[at].kind);
                let clashes = |other: &usize| problem.conflict(instr, 0, InstrId::at(*other), 0);
                let is_ready = waiting[at] == 0 && available[at] <= cycle;
                if !is_ready || !taken.fits(kind) || now.iter().any(clashes) {
                    return true;
                }
                taken.add(kind);
                now.push(at);
                for edge in problem.succs(instr) {
                    let to = edge.instr.index();
                    waiting[to] -= 1;
                    available[to] = available[to].max(cycle + edge.latency);
                }
                false
            });
            if now.len() == before {
                break;
            }
        }
        place(problem, cycle, &now, &mut placed);
        let ready = by_priority.iter().filter(|at| waiting[**at] == 0).map(|at| available[*at]).min();
        cycle = ready.unwrap_or(0).max(cycle + 1);
    }
    Packing::new(placed)
}

/// Pack in a given order of the operations, which must respect the dependences. Each is placed as early as
/// possible without overtaking another.
pub(super) fn pack_in_order(problem: &PackProblem, order: &[InstrId]) -> Packing {
    let mut cycles = vec![0u32; problem.len()];
    let mut placed: Vec<Placed> = Vec::with_capacity(order.len());
    let mut now: Vec<InstrId> = Vec::new();
    let mut taken = Taken::default();
    let mut cycle = 0;
    let mut close = |cycle: u32, now: &mut Vec<InstrId>| {
        let units = Taken::assign(now.iter().map(|instr| problem.operation(*instr).kind));
        let issued = now.drain(..).zip(units);
        placed.extend(issued.map(|(instr, units)| Placed { cycle, instr, format: 0, part: 0, units }));
    };
    for &instr in order {
        let ready = problem.preds(instr).iter().map(|edge| cycles[edge.instr.index()] + edge.latency);
        let ready = ready.max().unwrap_or(0);
        let kind = problem.operation(instr).kind;
        let clashes = now.iter().any(|other| problem.conflict(instr, 0, *other, 0));
        if ready > cycle || !taken.fits(kind) || clashes {
            close(cycle, &mut now);
            taken = Taken::default();
            cycle = ready.max(cycle + 1);
        }
        cycles[instr.index()] = cycle;
        taken.add(kind);
        now.push(instr);
    }
    close(cycle, &mut now);
    Packing::new(placed)
}
