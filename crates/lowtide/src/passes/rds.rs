//! Cuts with recomputation: RDS for one output (Chan et al. 2002) and MRDS for several (Foley et al. 2004), as described in paper 5.
//!
//! A set of operations whose results are *saved* cuts the graph: the pass of a saved operation computes it and all that it
//! needs back to other saved ones. What two passes need and is not saved, both compute.
//!
//! 1. *Subtrees grow bottom-up* (RDS_h): if an operation together with all it needs does not fit into a pass, its largest
//!    operand is saved, then the next one, until it fits.
//! 2. *Save or compute again* (RDS): for each operation with several users, both are tried, with all that follows, and the
//!    cheaper one is kept.
//! 3. *Several outputs* (MRDS): as long as two passes fit into one and that is cheaper, the best two are merged.

use super::order::{Inside, quick};
use super::{Partition, PassProblem};
use crate::analysis::flow::Effort;
use crate::schedule::Budget;

/// What a pass stores, and the operations that it runs.
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
}

/// Partitions by cuts. The budget limits how many operations are tried both ways, and how many merges.
pub fn partition(problem: &PassProblem, budget: Budget) -> Partition {
    let mut effort = budget.effort(problem.region().len());
    let mut run = Run { problem, mark: vec![0; problem.len()], round: 0 };
    let must_save = |op: usize| {
        problem.is_pinned[op] || problem.defs.row(op).iter().any(|value| problem.is_output[*value as usize])
    };
    let mut forced: Vec<bool> = (0..problem.len()).map(must_save).collect();
    let (mut best, mut best_cost) = run.drafts(&forced);
    let is_shared = |op: &usize| {
        problem.defs.row(*op).iter().map(|value| problem.users.row(*value as usize).len()).sum::<usize>() > 1
    };
    for op in (0..problem.len()).filter(is_shared) {
        if forced[op] || effort.is_spent() {
            continue;
        }
        effort.spend(problem.len() as u64);
        forced[op] = true;
        let (drafts, cost) = run.drafts(&forced);
        match cost < best_cost {
            true => (best, best_cost) = (drafts, cost),
            false => forced[op] = false,
        }
    }
    let merged = run.merge(best, &mut effort);
    let passes: Vec<(Vec<u32>, Vec<u32>)> =
        merged.into_iter().map(|draft| (draft.order, draft.stores)).collect();
    problem.partition(&passes)
}

impl Run<'_> {
    /// The operations that the pass of `roots` runs, by increasing number: back to what is saved.
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

    /// An order of these operations as one pass, if it fits.
    fn fit(&self, ops: &[u32], stores: &[u32]) -> Option<Vec<u32>> {
        let (problem, caps) = (self.problem, &self.problem.caps);
        if ops.len() as u64 > u64::from(caps.instructions) || problem.total(stores) > caps.outputs {
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
        quick(&Inside::new(problem, ops, stores)).map(|(order, _)| order)
    }

    fn stores(&self, op: u32, is_loaded: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let defs = self.problem.defs.row(op as usize).iter().copied();
        defs.filter(|value| self.problem.is_output[*value as usize] || is_loaded(*value)).collect()
    }

    /// The passes if these operations are saved, and others where it does not fit otherwise; and their cost.
    fn drafts(&mut self, forced: &[bool]) -> (Vec<Draft>, u64) {
        let problem = self.problem;
        let mut is_saved = forced.to_vec();
        for op in 0..problem.len() as u32 {
            self.make_fit(op, &mut is_saved);
        }
        // What was saved later makes passes smaller, but may give them more to load.
        while (0..problem.len() as u32).any(|op| is_saved[op as usize] && self.make_fit(op, &mut is_saved)) {}
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
            let order = self.fit(&ops, &stores).unwrap_or_else(|| ops.clone());
            drafts.push(Draft { order, stores, ops });
        }
        let cost = self.cost(&drafts);
        (drafts, cost)
    }

    /// Saves operands of an operation, the largest first, until its pass fits; whether there was need to.
    fn make_fit(&mut self, op: u32, is_saved: &mut [bool]) -> bool {
        let problem = self.problem;
        let mut has_saved = false;
        loop {
            let ops = self.closure(&[op], is_saved);
            if self.fit(&ops, problem.defs.row(op as usize)).is_some() {
                return has_saved;
            }
            let operands =
                problem.uses.row(op as usize).iter().filter_map(|value| problem.def[*value as usize]);
            let open: Vec<u32> = operands.filter(|def| !is_saved[*def as usize]).collect();
            let sizes: Vec<_> =
                open.iter().map(|def| (self.closure(&[*def], is_saved).len(), *def)).collect();
            let Some((_, largest)) = sizes.into_iter().max() else { return has_saved };
            is_saved[largest as usize] = true;
            has_saved = true;
        }
    }

    fn cost(&self, drafts: &[Draft]) -> u64 {
        let passes: Vec<_> = drafts.iter().map(|draft| (draft.order.clone(), draft.stores.clone())).collect();
        self.problem.partition(&passes).cost
    }

    /// Merges the two passes that save most, as long as there are such.
    fn merge(&mut self, mut drafts: Vec<Draft>, effort: &mut Effort) -> Vec<Draft> {
        if self.problem.caps.outputs == 1 {
            return drafts;
        }
        loop {
            let mut best: Option<(u64, usize, usize, Draft)> = None;
            let reach = reach(self.problem, &drafts);
            for second in 1..drafts.len() {
                for first in 0..second {
                    if effort.is_spent() {
                        return drafts;
                    }
                    // A pass between the two would have to run both before and after them.
                    let is_between = |other: usize| {
                        other != first && other != second && reach[first][other] && reach[other][second]
                    };
                    if (0..drafts.len()).any(is_between) {
                        continue;
                    }
                    effort.spend(1);
                    let merged = self.merged(&drafts, first, second);
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

    fn merged(&self, drafts: &[Draft], first: usize, second: usize) -> Option<Draft> {
        let mut ops = [&drafts[first].ops[..], &drafts[second].ops[..]].concat();
        ops.sort_unstable();
        ops.dedup();
        let mut stores = Vec::new();
        for value in drafts[first].stores.iter().chain(&drafts[second].stores) {
            let is_wanted = self.problem.is_output[*value as usize]
                || (drafts.iter().enumerate()).any(|(other, draft)| {
                    other != first && other != second && self.problem.loads(&draft.ops).contains(value)
                });
            if is_wanted && !stores.contains(value) {
                stores.push(*value);
            }
        }
        let order = self.fit(&ops, &stores)?;
        Some(Draft { order, stores, ops })
    }
}

/// Which pass must run before which other one: it stores what the other loads, or has what comes before in memory.
fn links(problem: &PassProblem, drafts: &[Draft]) -> Vec<Vec<bool>> {
    let loads: Vec<Vec<u32>> = drafts.iter().map(|draft| problem.loads(&draft.ops)).collect();
    let is_before = |first: usize, second: usize| {
        let hands_on = drafts[first].stores.iter().any(|value| loads[second].contains(value));
        let in_memory = |op: &u32| {
            problem.after.row(*op as usize).iter().any(|next| drafts[second].ops.binary_search(next).is_ok())
        };
        first != second && (hands_on || drafts[first].ops.iter().any(in_memory))
    };
    (0..drafts.len())
        .map(|first| (0..drafts.len()).map(|second| is_before(first, second)).collect())
        .collect()
}

fn reach(problem: &PassProblem, drafts: &[Draft]) -> Vec<Vec<bool>> {
    let mut reach = links(problem, drafts);
    for middle in 0..drafts.len() {
        let beyond = reach[middle].clone();
        for row in reach.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&beyond).for_each(|(known, more)| *known |= more);
        }
    }
    reach
}

/// Puts passes into an order in which they can run.
fn sort(problem: &PassProblem, drafts: &mut Vec<Draft>) {
    let links = links(problem, drafts);
    let mut is_placed = vec![false; drafts.len()];
    let mut sorted = Vec::with_capacity(drafts.len());
    while sorted.len() < drafts.len() {
        let is_next = |next: &usize| {
            !is_placed[*next] && (0..drafts.len()).all(|other| is_placed[other] || !links[other][*next])
        };
        let Some(next) = (0..drafts.len()).find(is_next) else { break };
        is_placed[next] = true;
        sorted.push(drafts[next].clone());
    }
    *drafts = sorted;
}
