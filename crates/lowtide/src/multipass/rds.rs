//! Cuts with recomputation: RDS for one output (Chan et al. 2002) and MRDS for several (Foley et al. 2004),
//! as described in paper 5.
//!
//! A set of *saved* operations, whose results are stored, cuts the graph. The pass of a saved operation
//! computes it and all its ancestors back to other saved ones. Two passes that need the same unsaved
//! operation both compute it.
//!
//! 1. *Subtrees grow bottom-up* (RDS_h): suppose an operation together with all it needs does not fit into a
//!    pass. Then its largest operand is saved, and the next one, until it fits.
//! 2. *Save or compute again* (RDS): for each operation with several users, both are tried, with all that
//!    follows, and the cheaper one is kept.
//! 3. *Several outputs* (MRDS): as long as two passes fit into one and that is cheaper, the best two are
//!    merged.
//!
//! [`Variant`] names the members of the family. Paper 5 names them without describing them; the steps are
//! those of the papers that it cites. An operation with several users is computed again wherever it fits,
//! unless step 2 saves it.

use std::collections::BTreeSet;

use super::order::{Inside, in_source_order, quick};
use super::{Partition, PassProblem};
use crate::budget::Budget;
use crate::budget::Effort;

/// The most operations of passes made after the budget is spent: every subtree is examined, which takes long
/// for large ones.
const LATE_OPERATIONS: usize = 64;

/// The members of the family.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Variant {
    /// RDS_h: step 1 alone.
    RdsH,
    /// RDS on a GPU with one output, MRDS on others: all steps.
    Rds,
    /// MRDS_h: steps 1 and 3. With one output it is RDS_h.
    MrdsH,
}

/// The stores of a pass, and the operations that it runs.
#[derive(Clone)]
struct Draft {
    order: Vec<u32>,
    stores: Vec<u32>,
    /// Operations by increasing number.
    ops: Vec<u32>,
}

struct Run<'a> {
    problem: &'a PassProblem<'a>,
    /// For the way back from an operation.
    mark: Vec<u32>,
    round: u32,
    effort: Effort,
}

/// Partition by cuts. The budget limits the operations that are tried both ways, and the merges. Return
/// `None` if that finds no partition: some operation does not fit into a pass of its own.
pub fn partition(problem: &PassProblem, budget: Budget) -> Option<Partition> {
    partition_by(problem, Variant::Rds, budget)
}

/// As [`partition`], with the steps of a member of the family.
pub fn partition_by(problem: &PassProblem, variant: Variant, budget: Budget) -> Option<Partition> {
    let effort = budget.effort(problem.region().len());
    let mut run = Run { problem, mark: vec![0; problem.len()], round: 0, effort };
    let must_save = |op: usize| {
        problem.is_pinned[op] || problem.defs.row(op).iter().any(|value| problem.is_output[*value as usize])
    };
    let mut forced: Vec<bool> = (0..problem.len()).map(must_save).collect();
    let (mut best, mut best_cost) = run.drafts(&forced);
    let is_shared = |op: &usize| {
        problem.defs.row(*op).iter().map(|value| problem.users.row(*value as usize).len()).sum::<usize>() > 1
    };
    for op in (0..problem.len()).filter(is_shared) {
        if variant != Variant::Rds || forced[op] || run.effort.is_spent() {
            continue;
        }
        forced[op] = true;
        let (drafts, cost) = run.drafts(&forced);
        run.effort.spend(problem.len() as u64);
        match cost < best_cost {
            true => (best, best_cost) = (drafts, cost),
            false => forced[op] = false,
        }
    }
    let merged = if variant == Variant::RdsH { best } else { run.merge(best) };
    let passes: Vec<(Vec<u32>, Vec<u32>)> =
        merged.into_iter().map(|draft| (draft.order, draft.stores)).collect();
    problem.legal(problem.partition(&passes))
}

impl Run<'_> {
    /// Return the operations of the pass of `roots`, by increasing number: back to the saved ones.
    fn closure(&mut self, roots: &[u32], is_saved: &[bool]) -> Vec<u32> {
        self.round += 1;
        let mut ops = roots.to_vec();
        ops.iter().for_each(|op| self.mark[*op as usize] = self.round);
        let mut next = 0;
        while next < ops.len() {
            for value in self.problem.uses.row(ops[next] as usize) {
                if let Some(def) = self.problem.def[*value as usize]
                    && !is_saved[def as usize]
                    && self.mark[def as usize] != self.round
                {
                    self.mark[def as usize] = self.round;
                    ops.push(def);
                }
            }
            next += 1;
        }
        ops.sort_unstable();
        ops
    }

    /// Return an order of these operations as one pass, if it fits.
    fn fit(&self, ops: &[u32], stores: &[u32]) -> Option<Vec<u32>> {
        let (problem, caps) = (self.problem, &self.problem.caps);
        let is_late = self.effort.is_spent() && ops.len() > LATE_OPERATIONS;
        if is_late || ops.len() as u64 > u64::from(caps.instructions) || problem.total(stores) > caps.outputs
        {
            return None;
        }
        let loads = problem.total(&problem.loads(ops));
        let requests = ops.iter().filter(|op| problem.is_request[**op as usize]).count() as u32;
        let mut inputs: Vec<u32> =
            ops.iter().flat_map(|op| problem.inputs.row(*op as usize)).copied().collect();
        inputs.sort_unstable();
        inputs.dedup();
        let fits = (ops.len() as u32).saturating_add(loads) <= caps.instructions
            && requests.saturating_add(loads) <= caps.textures
            && inputs.len() as u64 <= u64::from(caps.interpolants);
        if !fits {
            return None;
        }
        let inside = Inside::new(problem, ops, stores);
        match quick(&inside, &self.effort) {
            None if self.effort.is_spent() => in_source_order(&inside),
            found => found.map(|(order, _)| order),
        }
    }

    fn stores(&self, op: u32, is_loaded: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let defs = self.problem.defs.row(op as usize).iter().copied();
        defs.filter(|value| self.problem.is_output[*value as usize] || is_loaded(*value)).collect()
    }

    /// Return the passes if these operations are saved, and others where a pass does not fit. Also return
    /// their cost.
    fn drafts(&mut self, forced: &[bool]) -> (Vec<Draft>, u64) {
        let problem = self.problem;
        let mut is_saved = forced.to_vec();
        for op in 0..problem.len() as u32 {
            self.make_fit(op, &mut is_saved);
        }
        // Operations saved later make passes smaller, but may give them more to load. The loop runs from the
        // first to the last. An operation saved on the way may need a pass of its own, and changes the passes
        // that read it.
        let mut open: BTreeSet<u32> = (0..problem.len() as u32).filter(|op| is_saved[*op as usize]).collect();
        let mut orders: Vec<Option<Vec<u32>>> = vec![None; problem.len()];
        while let Some(op) = open.pop_first() {
            let (order, saved) = self.make_fit(op, &mut is_saved);
            orders[op as usize] = order;
            for saved in saved {
                open.insert(saved);
                self.readers(saved, &is_saved, &mut open);
            }
        }
        let roots: Vec<u32> = (0..problem.len() as u32).filter(|op| is_saved[*op as usize]).collect();
        let closures: Vec<Vec<u32>> = roots.iter().map(|root| self.closure(&[*root], &is_saved)).collect();
        let mut is_loaded = vec![false; problem.value_count()];
        for ops in &closures {
            problem.loads(ops).iter().for_each(|value| is_loaded[*value as usize] = true);
        }
        let mut drafts = Vec::new();
        for (root, ops) in roots.into_iter().zip(closures) {
            let stores = self.stores(root, &|value| is_loaded[value as usize]);
            if stores.is_empty() && !problem.is_pinned[root as usize] {
                continue;
            }
            let order = orders[root as usize].take().unwrap_or_else(|| ops.clone());
            drafts.push(Draft { order, stores, ops });
        }
        let cost = self.cost(&drafts);
        (drafts, cost)
    }

    /// Find the saved operations whose passes ran an operation that is now saved itself.
    fn readers(&mut self, op: u32, is_saved: &[bool], found: &mut BTreeSet<u32>) {
        let problem = self.problem;
        self.round += 1;
        let mut ops = vec![op];
        while let Some(op) = ops.pop() {
            for user in
                problem.defs.row(op as usize).iter().flat_map(|value| problem.users.row(*value as usize))
            {
                if std::mem::replace(&mut self.mark[*user as usize], self.round) == self.round {
                    continue;
                }
                if is_saved[*user as usize] {
                    found.insert(*user);
                } else {
                    ops.push(*user);
                }
            }
        }
    }

    /// Save operands of an operation, the largest first, until its pass fits. Return the order of the pass,
    /// and the saved operands.
    fn make_fit(&mut self, op: u32, is_saved: &mut [bool]) -> (Option<Vec<u32>>, Vec<u32>) {
        let problem = self.problem;
        let mut saved = Vec::new();
        loop {
            let ops = self.closure(&[op], is_saved);
            if let Some(order) = self.fit(&ops, problem.defs.row(op as usize)) {
                return (Some(order), saved);
            }
            let operands =
                problem.uses.row(op as usize).iter().filter_map(|value| problem.def[*value as usize]);
            let open: Vec<u32> = operands.filter(|def| !is_saved[*def as usize]).collect();
            let sizes: Vec<_> =
                open.iter().map(|def| (self.closure(&[*def], is_saved).len(), *def)).collect();
            let Some((_, largest)) = sizes.into_iter().max() else { return (None, saved) };
            is_saved[largest as usize] = true;
            saved.push(largest);
        }
    }

    fn cost(&self, drafts: &[Draft]) -> u64 {
        let passes: Vec<_> = drafts.iter().map(|draft| (draft.order.clone(), draft.stores.clone())).collect();
        self.problem.partition(&passes).cost
    }

    /// Merge the two passes that save most, as long as there are such.
    fn merge(&mut self, mut drafts: Vec<Draft>) -> Vec<Draft> {
        if self.problem.caps.outputs == 1 {
            return drafts;
        }
        loop {
            let mut best: Option<(u64, usize, usize, Draft)> = None;
            let loads = loads(self.problem, &drafts);
            let Some(reach) = reach(self.problem, &drafts, &self.effort) else { return drafts };
            for second in 1..drafts.len() {
                for first in 0..second {
                    if self.effort.is_spent() {
                        return drafts;
                    }
                    self.effort.spend(1);
                    // A pass between the two would have to run both before and after them.
                    let is_between = |other: usize| {
                        other != first && other != second && reach[first][other] && reach[other][second]
                    };
                    if (0..drafts.len()).any(is_between) {
                        continue;
                    }
                    let merged = self.merged(&drafts, &loads, first, second);
                    let Some(merged) = merged else { continue };
                    let before = self.cost(&[drafts[first].clone(), drafts[second].clone()]);
                    let after = self.cost(std::slice::from_ref(&merged));
                    if after < before && best.as_ref().is_none_or(|(saved, ..)| before - after > *saved) {
                        best = Some((before - after, first, second, merged));
                    }
                }
            }
            let Some((_, first, second, merged)) = best else { return drafts };
            drafts[first] = merged;
            drafts.remove(second);
            sort(self.problem, &mut drafts);
        }
    }

    fn merged(&self, drafts: &[Draft], loads: &[Vec<u32>], first: usize, second: usize) -> Option<Draft> {
        let mut ops = [&drafts[first].ops[..], &drafts[second].ops[..]].concat();
        ops.sort_unstable();
        ops.dedup();
        let mut stores = Vec::new();
        for value in drafts[first].stores.iter().chain(&drafts[second].stores) {
            let is_wanted = self.problem.is_output[*value as usize]
                || (loads.iter().enumerate())
                    .any(|(other, loads)| other != first && other != second && loads.contains(value));
            if is_wanted && !stores.contains(value) {
                stores.push(*value);
            }
        }
        let order = self.fit(&ops, &stores)?;
        Some(Draft { order, stores, ops })
    }
}

/// Return the loads of each pass.
fn loads(problem: &PassProblem, drafts: &[Draft]) -> Vec<Vec<u32>> {
    drafts.iter().map(|draft| problem.loads(&draft.ops)).collect()
}

/// Return which pass must run before which other one: it stores a value that the other loads, or comes before
/// it in memory.
fn links(problem: &PassProblem, drafts: &[Draft]) -> Vec<Vec<bool>> {
    let mut links = vec![vec![false; drafts.len()]; drafts.len()];
    let mut storing: Vec<Vec<usize>> = vec![Vec::new(); problem.value_count()];
    let mut running: Vec<Vec<usize>> = vec![Vec::new(); problem.len()];
    for (number, draft) in drafts.iter().enumerate() {
        draft.stores.iter().for_each(|value| storing[*value as usize].push(number));
        draft.ops.iter().for_each(|op| running[*op as usize].push(number));
    }
    for (number, loads) in loads(problem, drafts).iter().enumerate() {
        let stored = loads.iter().flat_map(|value| &storing[*value as usize]);
        let memory = drafts[number].ops.iter().flat_map(|op| problem.before.row(*op as usize));
        for first in
            stored.chain(memory.flat_map(|op| &running[*op as usize])).filter(|first| **first != number)
        {
            links[*first][number] = true;
        }
    }
    links
}

/// As [`links`], over other passes as well. `None` if the effort is spent first.
fn reach(problem: &PassProblem, drafts: &[Draft], effort: &Effort) -> Option<Vec<Vec<bool>>> {
    if effort.is_spent() {
        return None;
    }
    let mut reach = links(problem, drafts);
    for middle in 0..drafts.len() {
        if effort.is_spent() {
            return None;
        }
        let beyond = reach[middle].clone();
        for row in reach.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&beyond).for_each(|(known, more)| *known |= more);
        }
    }
    Some(reach)
}

/// Sort passes into an order in which they can run.
fn sort(problem: &PassProblem, drafts: &mut Vec<Draft>) {
    let links = links(problem, drafts);
    let mut waiting: Vec<usize> =
        (0..drafts.len()).map(|next| links.iter().filter(|row| row[next]).count()).collect();
    let mut ready: BTreeSet<usize> = (0..drafts.len()).filter(|next| waiting[*next] == 0).collect();
    let mut sorted = Vec::with_capacity(drafts.len());
    while let Some(next) = ready.pop_first() {
        sorted.push(drafts[next].clone());
        for other in (0..drafts.len()).filter(|other| links[next][*other]) {
            waiting[other] -= 1;
            if waiting[other] == 0 {
                ready.insert(other);
            }
        }
    }
    *drafts = sorted;
}
