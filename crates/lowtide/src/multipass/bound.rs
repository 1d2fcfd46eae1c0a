//! Lower bounds on the cost of passes: two bounds for a state of the [exact](super::exact) search.
//!
//! *By count.* Every ancestor of a wanted value runs at least once, and every interpolant of these is read.
//! Requests that depend on each other each have a wait. The numbers of operations, requests, interpolants and
//! outputs each require a number of passes. Each of these passes stores something, and a stored value that is
//! not wanted from outside is loaded again.
//!
//! *By value.* The cost of every single value is computed first, from the first operation to the last. A
//! solution for several values contains one for each of them: leave out everything that the value does not
//! depend on. So the solution costs no less than the dearest value, plus every operation that this value does
//! not need.

use super::PassProblem;
use crate::bits::{BitMatrix, BitSet};

/// The largest shader that is searched. Larger ones, and those with an operation of more than 16 results,
/// only have the bound without search.
pub const MOST_OPERATIONS: usize = 1024;

/// The work that is left to earlier passes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// The wanted values, by increasing number.
    pub(super) wanted: Vec<u32>,
    /// Operations with effects that have not run.
    pub(super) pinned: BitSet,
}

/// Requirements on passes.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// The least number of operations.
    pub(super) operations: u32,
    /// Registers that they must store.
    pub(super) registers: u32,
    /// Registers that they, or the pass being chosen, must store.
    pub(super) stores: u32,
    /// The most values that the passes store for others.
    pub(super) values: u32,
    /// Operations with effects that they may have.
    pub(super) effects: u32,
}

/// The data of the bounds for a shader.
pub(super) struct Bound<'a> {
    problem: &'a PassProblem<'a>,
    /// By operation: itself and all ancestors by values. `None` for a shader that is too large to be
    /// searched.
    ancestors: Option<BitMatrix>,
    /// By operation: requests in the longest chain that ends with it.
    depth: Vec<u32>,
    request_mask: BitSet,
    pub(super) pinned_mask: BitSet,
    /// Operations by cost.
    cost_masks: Vec<(u64, BitSet)>,
    /// By input: the operations that read it.
    input_masks: Vec<BitSet>,
    /// By value: a lower bound on its cost alone. All 0 if there are operations with effects.
    pub(super) singles: Vec<u64>,
}

impl<'a> Bound<'a> {
    pub(super) fn new(problem: &'a PassProblem<'a>) -> Self {
        let is_small = problem.len() <= MOST_OPERATIONS;
        let mut ancestors = is_small.then(|| BitMatrix::new(problem.len(), problem.len()));
        let mut depth: Vec<u32> = Vec::with_capacity(problem.len());
        for op in 0..problem.len() {
            let defs = problem.uses.row(op).iter().filter_map(|value| problem.def[*value as usize]);
            let chain = defs.clone().map(|def| depth[def as usize]).max().unwrap_or(0);
            depth.push(chain + u32::from(problem.is_request[op]));
            if let Some(ancestors) = &mut ancestors {
                ancestors.insert(op, op);
                defs.for_each(|def| ancestors.unite_rows(op, def));
            }
        }
        let mask = |test: &dyn Fn(usize) -> bool| {
            BitSet::of(problem.len(), (0..problem.len()).filter(|op| test(*op)))
        };
        let mut costs = problem.op_cost.clone();
        costs.sort_unstable();
        costs.dedup();
        let cost_masks =
            costs.into_iter().map(|cost| (cost, mask(&|op| problem.op_cost[op] == cost))).collect();
        // Inputs beyond 64 are ignored, which makes the bound a little lower.
        let inputs = problem.input_count.min(64) as u32;
        let input_masks =
            (0..inputs).map(|input| mask(&|op| problem.inputs.row(op).contains(&input))).collect();
        Bound {
            problem,
            ancestors,
            depth,
            request_mask: mask(&|op| problem.is_request[op]),
            pinned_mask: mask(&|op| problem.is_pinned[op]),
            cost_masks,
            input_masks,
            singles: vec![0; problem.value_count()],
        }
    }

    /// Return a lower bound on the cost of values together, by the cost of the dearest one alone.
    pub(super) fn dearest(&self, needed: &BitSet, wanted: &[u32]) -> u64 {
        let problem = self.problem;
        let together = |value: &u32| {
            let alone = self.singles[*value as usize];
            let def = problem.def[*value as usize].filter(|_| alone > 0);
            let Some((def, ancestors)) = def.zip(self.ancestors.as_ref()) else { return 0 };
            let own = ancestors.row(def);
            let more: u64 = (self.cost_masks.iter())
                .map(|(cost, mask)| cost * u64::from(needed.bits().overlap_without(mask, own)))
                .sum();
            let is_beside =
                |other: &&u32| problem.def[**other as usize].is_some_and(|def| !own.contains(def));
            let stores: u32 =
                wanted.iter().filter(is_beside).map(|other| problem.size[*other as usize]).sum();
            alone + more + u64::from(stores) * u64::from(problem.model().cost.store)
        };
        wanted.iter().map(together).max().unwrap_or(0)
    }

    pub(super) fn all_pinned(&self) -> BitSet {
        self.pinned_mask.clone()
    }

    /// Return all operations that a state depends on.
    pub(super) fn needed(&self, state: &State) -> BitSet {
        // In a shader that is too large to be searched, everything but dead operations counts as needed.
        let Some(ancestors) = &self.ancestors else { return BitSet::full(self.problem.len()) };
        let mut set = BitSet::new(self.problem.len());
        let defs = state.wanted.iter().filter_map(|value| self.problem.def[*value as usize]);
        defs.for_each(|op| set.unite(ancestors.row(op)));
        state.pinned.iter().for_each(|op| set.unite(ancestors.row(op)));
        set
    }

    /// Add an operation and all its ancestors.
    pub(super) fn absorb(&self, set: &mut BitSet, op: usize) {
        if let Some(ancestors) = &self.ancestors {
            set.unite(ancestors.row(op));
        }
    }

    pub(super) fn op_cost(&self, set: &BitSet) -> u64 {
        self.cost_masks.iter().map(|(cost, mask)| cost * u64::from(set.bits().overlap(mask))).sum()
    }

    /// Return the cost of the operations that two sets share.
    pub(super) fn op_cost_of_common(&self, one: &BitSet, other: &BitSet) -> u64 {
        let costs = self.cost_masks.iter();
        costs.map(|(cost, mask)| cost * u64::from(one.bits().overlap_with_both(other, mask))).sum()
    }

    pub(super) fn inputs(&self, set: &BitSet) -> u64 {
        let masks = self.input_masks.iter().enumerate();
        masks
            .filter(|(_, mask)| !set.bits().is_disjoint(*mask))
            .fold(0, |inputs, (input, _)| inputs | 1 << input)
    }

    /// Return the least number of waits for this many requests.
    fn waits_for(&self, requests: u32) -> u64 {
        let caps = &self.problem.caps;
        // Results of one wait are pending together, and each is in a register or goes to an output.
        let together = caps.pending.min(caps.registers.saturating_add(caps.outputs)).max(1);
        u64::from(requests.div_ceil(together))
    }

    /// Return a lower bound on the cost of the passes that run these operations, without operations,
    /// interpolants and waits.
    pub(super) fn pass_cost(&self, set: &BitSet, asked: Asked) -> u64 {
        let (caps, cost) = (&self.problem.caps, &self.problem.model().cost);
        let operations = set.count().max(asked.operations);
        if operations == 0 {
            return u64::from(asked.stores) * u64::from(cost.store);
        }
        let requests = set.bits().overlap(&self.request_mask);
        let inputs = self.inputs(set).count_ones();
        let passes = (operations.div_ceil(caps.instructions))
            .max(requests.div_ceil(caps.textures))
            .max(inputs.div_ceil(caps.interpolants))
            .max(asked.registers.div_ceil(caps.outputs))
            .max(1);
        // A pass without a store has an effect, and a stored value that is not wanted is loaded.
        let storing = passes.saturating_sub(asked.effects);
        u64::from(passes) * u64::from(cost.pass)
            + u64::from(asked.stores.max(storing)) * u64::from(cost.store)
            + u64::from(storing.saturating_sub(asked.values)) * u64::from(cost.load)
    }

    /// Return a lower bound on the cost of a state.
    pub(super) fn of(&self, needed: &BitSet, state: &State) -> u64 {
        let cost = &self.problem.model().cost;
        let registers = self.problem.total(&state.wanted);
        let asked = Asked {
            operations: 0,
            registers,
            stores: registers,
            values: state.wanted.len() as u32,
            effects: state.pinned.count(),
        };
        let by_count = self.op_cost(needed)
            + u64::from(self.inputs(needed).count_ones()) * u64::from(cost.interpolant)
            + self.waits(needed, &state.wanted) * u64::from(cost.wait)
            + self.pass_cost(needed, asked);
        by_count.max(self.dearest(needed, &state.wanted))
    }

    /// Return the least number of waits of the passes that make these values.
    pub(super) fn waits(&self, needed: &BitSet, wanted: &[u32]) -> u64 {
        let requests = needed.bits().overlap(&self.request_mask);
        let chain = wanted.iter().filter_map(|value| self.problem.def[*value as usize]);
        let chain = chain.map(|def| self.depth[def as usize]).max().unwrap_or(0);
        // An operation with effects may leave its request unread.
        match needed.bits().is_disjoint(&self.pinned_mask) {
            true => u64::from(chain).max(self.waits_for(requests)),
            false => u64::from(chain),
        }
    }
}
