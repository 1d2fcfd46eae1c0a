//! The list scheduler: cycle by cycle, the operations with the longest path to the end first, without splits.
//! Its length is the first upper bound (step 1 of the paper) and the baseline of the paper's tables.

use super::problem::{Kind, PackProblem, Units};
use super::{Packing, Placed};
use crate::index::InstrId;

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
    let count = problem.len();
    let mut tails = vec![0u32; count];
    for from in (0..count).rev() {
        let succs = problem.succs(InstrId::at(from)).iter();
        tails[from] = succs.map(|edge| tails[edge.instr.index()] + edge.latency).max().unwrap_or(0);
    }
    pack_by(problem, |at| (tails[at], problem.succs(InstrId::at(at)).len()))
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
        let units = Taken::assign(now.iter().map(|at| problem.operations()[*at].kind));
        let issued = now.iter().zip(units);
        placed.extend(issued.map(|(&at, units)| Placed {
            cycle,
            instr: InstrId::at(at),
            format: 0,
            part: 0,
            units,
        }));
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
