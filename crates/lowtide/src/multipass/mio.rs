//! MIO (Riffel et al. 2004, as described in paper 5): list scheduling from the first operation to the last.
//!
//! An operation is ready when its operands are computed. Ready operations are ranked by Sethi-Ullman numbers:
//! larger subtrees are evaluated before smaller ones. If the first one does not fit into the pass, the next
//! one is tried. When none fits, the pass ends where it last had no more to store than it has outputs.

use std::collections::BTreeSet;

use super::{Partition, PassProblem};

/// The resources that a pass has used so far.
#[derive(Clone, Default)]
struct Used {
    registers: u32,
    instructions: u32,
    textures: u32,
    inputs: Vec<u32>,
}

struct Run<'a> {
    problem: &'a PassProblem<'a>,
    /// Users of each value that have not run.
    left: Vec<u32>,
    /// Predecessors of each operation that have not run.
    waiting: Vec<u32>,
    /// Values in registers in this pass, and those of them that it computes.
    is_in: Vec<bool>,
    is_made: Vec<bool>,
    /// The registers that this pass would have to store if it ended now.
    stored: u32,
    /// Ready operations, by rank.
    ready: BTreeSet<(u32, u32)>,
    rank: Vec<u32>,
    ops: Vec<u32>,
}

/// Partition by list scheduling. Return `None` if that finds no partition: some operation does not fit into a
/// pass of its own.
pub fn partition(problem: &PassProblem) -> Option<Partition> {
    let mut run = Run {
        problem,
        left: (0..problem.value_count()).map(|value| problem.users.row(value).len() as u32).collect(),
        waiting: (0..problem.len()).map(|op| problem.preds(op).count() as u32).collect(),
        is_in: vec![false; problem.value_count()],
        is_made: vec![false; problem.value_count()],
        stored: 0,
        ready: BTreeSet::new(),
        rank: ranks(problem),
        ops: Vec::new(),
    };
    for op in (0..problem.len()).filter(|op| run.waiting[*op] == 0) {
        run.ready.insert((run.rank[op], op as u32));
    }
    let mut passes: Vec<Vec<u32>> = Vec::new();
    while !run.ready.is_empty() {
        let pass = run.pass();
        passes.push(pass);
    }
    let mut pass_of = vec![0; problem.len()];
    for (number, ops) in passes.iter().enumerate() {
        ops.iter().for_each(|op| pass_of[*op as usize] = number);
    }
    let with_stores = passes.into_iter().enumerate().map(|(number, ops)| {
        let defs = ops.iter().flat_map(|op| problem.defs.row(*op as usize)).copied();
        let is_stored = |value: &u32| {
            let mut users = problem.users.row(*value as usize).iter();
            problem.is_output[*value as usize] || users.any(|user| pass_of[*user as usize] != number)
        };
        let stores = defs.filter(is_stored).collect();
        (ops, stores)
    });
    problem.legal(problem.partition(&with_stores.collect::<Vec<_>>()))
}

impl Run<'_> {
    /// Fill a pass, then take back the operations after the last point where it can end.
    fn pass(&mut self) -> Vec<u32> {
        self.ops.clear();
        self.is_in.fill(false);
        self.is_made.fill(false);
        self.stored = 0;
        let mut used = Used::default();
        let mut safe = 0;
        loop {
            let next = self.ready.iter().find_map(|(_, op)| self.fit(&used, *op).map(|used| (*op, used)));
            let Some((op, after)) = next else { break };
            used = after;
            self.run(op);
            if self.stored <= self.problem.caps.outputs {
                safe = self.ops.len();
            }
        }
        while self.ops.len() > safe.max(1) {
            self.undo();
        }
        std::mem::take(&mut self.ops)
    }

    /// Return the resources of the pass after an operation. `None` if it does not fit.
    fn fit(&self, used: &Used, op: u32) -> Option<Used> {
        let (problem, caps) = (self.problem, &self.problem.caps);
        let mut after = used.clone();
        let mut freed = 0;
        for value in problem.uses.row(op as usize) {
            let size = problem.size[*value as usize];
            if !self.is_in[*value as usize] {
                after.registers = after.registers.saturating_add(size);
                after.instructions = after.instructions.saturating_add(size);
                after.textures = after.textures.saturating_add(size);
            }
            if self.left[*value as usize] == 1 {
                freed += size;
            }
        }
        after.instructions = after.instructions.saturating_add(1);
        after.textures = after.textures.saturating_add(u32::from(problem.is_request[op as usize]));
        for input in problem.inputs.row(op as usize) {
            if !after.inputs.contains(input) {
                after.inputs.push(*input);
            }
        }
        let during = after.registers;
        let results = problem.defs.row(op as usize).iter().filter(|value| self.left[**value as usize] > 0);
        after.registers = during - freed + results.map(|value| problem.size[*value as usize]).sum::<u32>();
        let fits = during.max(after.registers) <= caps.registers
            && after.instructions <= caps.instructions
            && after.textures <= caps.textures
            && after.inputs.len() as u64 <= u64::from(caps.interpolants);
        // One operation alone makes a pass, even without room for others that read the same.
        (fits || self.ops.is_empty()).then_some(after)
    }

    fn run(&mut self, op: u32) {
        let problem = self.problem;
        for value in problem.uses.row(op as usize) {
            let value = *value as usize;
            self.left[value] -= 1;
            self.is_in[value] = true;
            if self.is_made[value] && self.left[value] == 0 && !problem.is_output[value] {
                self.stored -= problem.size[value];
            }
        }
        // Needed results have to be stored until all their readers are done.
        for value in problem.defs.row(op as usize) {
            (self.is_in[*value as usize], self.is_made[*value as usize]) = (true, true);
            self.stored += problem.size[*value as usize];
        }
        self.ready.remove(&(self.rank[op as usize], op));
        for next in problem.succs(op as usize) {
            self.waiting[next as usize] -= 1;
            if self.waiting[next as usize] == 0 {
                self.ready.insert((self.rank[next as usize], next));
            }
        }
        self.ops.push(op);
    }

    fn undo(&mut self) {
        let problem = self.problem;
        let Some(op) = self.ops.pop() else { return };
        problem.uses.row(op as usize).iter().for_each(|value| self.left[*value as usize] += 1);
        for next in problem.succs(op as usize) {
            self.ready.remove(&(self.rank[next as usize], next));
            self.waiting[next as usize] += 1;
        }
        self.ready.insert((self.rank[op as usize], op));
    }
}

/// Return the rank of each operation if every subtree is evaluated after its siblings that need more
/// registers.
fn ranks(problem: &PassProblem) -> Vec<u32> {
    let (needs, children) = sethi_ullman(problem);
    let mut roots: Vec<u32> =
        (0..problem.len() as u32).filter(|op| problem.succs(*op as usize).next().is_none()).collect();
    roots.sort_by_key(|root| (std::cmp::Reverse(needs[*root as usize]), *root));
    let mut ranks = vec![u32::MAX; problem.len()];
    let mut count = 0;
    // Depth first, with an explicit stack: shaders can be deep.
    let mut stack: Vec<(u32, usize)> = Vec::new();
    let mut is_entered = vec![false; problem.len()];
    for root in roots {
        stack.push((root, 0));
        is_entered[root as usize] = true;
        while let Some((op, next)) = stack.pop() {
            match children[op as usize].get(next) {
                Some(child) => {
                    stack.push((op, next + 1));
                    if !std::mem::replace(&mut is_entered[*child as usize], true) {
                        stack.push((*child, 0));
                    }
                }
                None => {
                    ranks[op as usize] = count;
                    count += 1;
                }
            }
        }
    }
    ranks
}

/// Return the Sethi-Ullman number of each operation: the registers that its subtree needs. Also return its
/// predecessors in the order of evaluation, the largest number first.
pub(super) fn sethi_ullman(problem: &PassProblem) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut needs: Vec<u32> = Vec::with_capacity(problem.len());
    let mut children: Vec<Vec<u32>> = Vec::with_capacity(problem.len());
    for op in 0..problem.len() {
        let mut defs: Vec<u32> = problem.preds(op).collect();
        defs.sort_by_key(|def| (std::cmp::Reverse(needs[*def as usize]), *def));
        defs.dedup();
        // Sethi-Ullman: while a subtree is evaluated, the results of those before it are held.
        let mut held = 0u32;
        let mut need = problem.total(problem.defs.row(op)).max(1);
        for def in &defs {
            need = need.max(held.saturating_add(needs[*def as usize]));
            held = held.saturating_add(problem.total(problem.defs.row(*def as usize)).max(1));
        }
        needs.push(need);
        children.push(defs);
    }
    (needs, children)
}
