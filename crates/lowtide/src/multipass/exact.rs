//! The optimum, with proof: a search over the operations, loads and stores of each pass, from the last pass
//! to the first.
//!
//! **States.** A state has the values that later passes want from storage, and the operations with effects
//! that have not run. The first state has the outputs of the shader and all such operations; the search is
//! over when nothing is wanted. A step chooses a pass, going through the operations from the last to the
//! first. An operation whose result is wanted, by a later pass or in this one, runs in this pass or not. If
//! not, and the pass itself needs the result, the result is loaded, and an earlier pass has to store it. So
//! an operation can run in several passes: recomputation is a choice like any other.
//!
//! **Bound.** `bound.rs` has a lower bound on the cost of a state. During the choice of a pass, an operation
//! of the pass is known to run twice if a loaded value depends on it.
//!
//! **Search.** The search is depth-first within a limit on the cost (iterative deepening). The limit rises
//! from the bound, in steps that take about twice the time of the one before. A solution lowers the limit;
//! when nothing is left below it, the solution is optimal. At any time the last limit is a lower bound.
//! Failed states are remembered with a lower bound on their cost. `order.rs` finds the order within a pass.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

pub use super::bound::MOST_OPERATIONS;
use super::bound::{Asked, Bound, State};
use super::order::{Inside, quick, search};
use super::{Partition, PassProblem};
use crate::bits::BitSet;
use crate::budget::{Budget, Effort};
use crate::progress::Watch;
use crate::threads;
use crate::verdict::Verdict;

/// The best partition known, and the bound on all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proven {
    /// The passes.
    pub partition: Partition,
    /// A lower bound on the cost.
    pub bound: u64,
    /// Steps of the search.
    pub nodes: u64,
}

impl Proven {
    /// Return whether the partition is proven optimal.
    pub fn is_optimal(&self) -> bool {
        self.bound >= self.partition.cost
    }
}

/// Steps for the cost of one value alone.
const SINGLE_STEPS: u64 = 20_000;
/// Steps for the order of one pass, at first.
const ORDER_STEPS: u64 = 20_000;
/// The most results of one operation whose stores are chosen one by one. With more, not every choice could be
/// tried.
const MOST_RESULTS: usize = 16;
/// The most open decisions over all passes, and the stack for them: each pass decides again about the
/// operations left to earlier ones.
const MOST_DEPTH: u32 = 1 << 16;
const STACK: usize = MOST_DEPTH as usize * 2048;
/// The most remembered states.
const MOST_FAILED: usize = 1 << 21;
/// The cost of a value that no pass can store. Sums of this and of all real costs fit into 64 bits.
const INFINITE: u64 = 1 << 62;

/// Search for a cheaper partition than `start`, and for the proof that there is none.
pub fn partition(problem: &PassProblem, start: &Partition, budget: Budget) -> Proven {
    partition_watched(problem, start, budget, Watch::default())
}

/// As [`partition`], and log how the cost falls and the bound rises.
pub fn partition_watched(problem: &PassProblem, start: &Partition, budget: Budget, watch: Watch) -> Proven {
    let mut effort = budget.effort(problem.region().len());
    let mut run = Run::new(problem);
    let goal = State { wanted: problem.outputs().collect(), pinned: run.bound.all_pinned() };
    let mut bound = run.bound.of(&run.bound.needed(&goal), &goal);
    let mut best = start.clone();
    watch.begin(best.cost, bound);
    let search = || {
        let mut solve = |run: &mut Run, effort: &mut Effort| {
            let (least, found) = run.solve(&goal, best.cost, effort, watch);
            bound = bound.max(least);
            if let Some(passes) = found {
                best = problem.partition(&passes.into_iter().rev().collect::<Vec<_>>());
            }
            bound < best.cost
        };
        // Most shaders are simple: the second bound is for the others.
        if effort.with_share(8, |share| solve(&mut run, share)) {
            effort.with_share(2, |share| run.find_singles(share));
            solve(&mut run, &mut effort);
        }
    };
    on_large_stack(problem, search);
    Proven { bound: bound.min(best.cost), partition: best, nodes: run.nodes }
}

/// Search for any partition. If none exists, the answer is a proof of that.
///
/// A problem without a [shortage](PassProblem::shortage) has a partition, which the other algorithms find in
/// less time.
pub fn find(problem: &PassProblem, budget: Budget) -> Verdict<Partition> {
    let mut effort = budget.effort(problem.region().len());
    let mut run = Run::new(problem);
    let goal = State { wanted: problem.outputs().collect(), pinned: run.bound.all_pinned() };
    let mut answer = Verdict::Unknown;
    on_large_stack(problem, || {
        answer = effort.with_share(2, |share| run.find(&goal, share));
        // A limit on the cost keeps the search from long detours.
        if answer.is_unknown() {
            answer = match run.solve(&goal, u64::MAX, &mut effort, Watch::default()) {
                (_, Some(passes)) => Verdict::Yes(passes),
                (u64::MAX, None) => Verdict::No(()),
                _ => Verdict::Unknown,
            };
        }
    });
    answer.map_yes(|passes| problem.partition(&passes.into_iter().rev().collect::<Vec<_>>()))
}

/// Run a search on a thread, for its stack. If the problem is too large, or the system has no thread, do
/// nothing.
fn on_large_stack(problem: &PassProblem, mut search: impl FnMut() + Send) {
    let most_results = (0..problem.len()).map(|op| problem.defs.row(op).len()).max().unwrap_or(0);
    if problem.len() > MOST_OPERATIONS || most_results > MOST_RESULTS {
        return;
    }
    std::thread::scope(|scope| {
        let search = threads::same_clock(&mut search);
        if let Ok(thread) = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, search) {
            threads::join(thread);
        }
    });
}

/// Whether the search continues after a part of it, or stops because the effort is spent.
type Flow = ControlFlow<()>;

const DONE: Flow = ControlFlow::Continue(());
const STOPPED: Flow = ControlFlow::Break(());

/// The operations and the stores of each pass.
type Passes = Vec<(Vec<u32>, Vec<u32>)>;

/// A pass under construction.
struct Choice {
    /// The cost before it.
    before: u64,
    /// The ancestors of the state: how many operations, their cost, their interpolants and waits.
    count: u32,
    op_cost: u64,
    all_inputs: u64,
    waits: u64,
    wanted: Vec<u32>,
    pinned: BitSet,
    runs: BitSet,
    run_list: Vec<u32>,
    /// By value: whether the pass reads it.
    is_read: Vec<bool>,
    stores: Vec<u32>,
    stored: u32,
    loaded: u32,
    requests: u32,
    /// By input.
    inputs: u64,
    /// The work of earlier passes: values, and all that they depend on.
    rest: Vec<u32>,
    behind: BitSet,
    /// Registers of wanted values without a decision.
    open: u32,
}

struct Run<'a> {
    problem: &'a PassProblem<'a>,
    bound: Bound<'a>,
    effort: Effort,
    /// The limit on the cost, and the least cost at or above it that was met.
    limit: u64,
    next_limit: u64,
    /// Lower bounds on the cost of failed states.
    failed: FxHashMap<State, u64>,
    /// Orders of passes, by operations and stores.
    orders: FxHashMap<(Vec<u32>, Vec<u32>), Known>,
    /// Steps for the order of one pass.
    order_steps: u64,
    /// The passes of the current path, the last one first, and the best solution so far.
    passes: Passes,
    found: Option<Passes>,
    /// Whether any solution ends the search.
    is_any_enough: bool,
    nodes: u64,
    /// The number of open decisions.
    open_decisions: u32,
}

/// The known orders of a pass.
#[derive(Clone)]
struct Known {
    /// The best order, and its waits. `None` if no order is known.
    best: Option<(Vec<u32>, u32)>,
    /// A lower bound on the waits. `None` if there is no order at all.
    least: Option<u32>,
}

impl<'a> Run<'a> {
    fn new(problem: &'a PassProblem<'a>) -> Self {
        Run {
            problem,
            bound: Bound::new(problem),
            effort: Effort::UNBOUNDED,
            limit: 0,
            next_limit: u64::MAX,
            failed: FxHashMap::default(),
            orders: FxHashMap::default(),
            order_steps: ORDER_STEPS,
            passes: Vec::new(),
            found: None,
            is_any_enough: false,
            nodes: 0,
            open_decisions: 0,
        }
    }

    /// Return a lower bound on the cost of a state, and the cheapest passes that produce it for less than
    /// `most`, the last one first.
    fn solve(&mut self, goal: &State, most: u64, effort: &mut Effort, watch: Watch) -> (u64, Option<Passes>) {
        self.effort = *effort;
        let mut bound = self.bound.of(&self.bound.needed(goal), goal);
        watch.proved(self.nodes, bound.min(most));
        let mut best = most;
        let mut found = None;
        let (mut step, mut last) = (1u64, u64::MAX);
        while bound < best && !self.effort.is_spent() {
            self.limit = bound.saturating_add(step).min(best);
            self.next_limit = u64::MAX;
            self.passes.clear();
            self.found = None;
            let start = self.nodes;
            let flow = self.state(goal, 0);
            if let Some(passes) = self.found.take() {
                best = self.limit;
                found = Some(passes);
                watch.found(self.nodes, best);
            }
            if flow == STOPPED {
                break;
            }
            // If the order of a pass stayed undecided, the bound cannot rise: the order gets more steps.
            let next = self.next_limit.min(best);
            if next <= bound {
                self.order_steps = self.order_steps.saturating_mul(8);
                continue;
            }
            // No passes produce the state.
            if next >= INFINITE {
                bound = u64::MAX;
                break;
            }
            bound = next;
            watch.proved(self.nodes, bound);
            let nodes = self.nodes - start;
            if nodes < 1000 || nodes / 2 < last {
                step = step.saturating_mul(2);
            }
            last = nodes;
        }
        *effort = self.effort;
        (bound.min(best), found)
    }

    /// Search for any passes that produce a state, the last one first.
    fn find(&mut self, goal: &State, effort: &mut Effort) -> Verdict<Passes> {
        self.effort = *effort;
        self.is_any_enough = true;
        let mut answer = Verdict::Unknown;
        while !self.effort.is_spent() {
            (self.limit, self.next_limit) = (u64::MAX, u64::MAX);
            self.passes.clear();
            let flow = self.state(goal, 0);
            if let Some(passes) = self.found.take() {
                answer = Verdict::Yes(passes);
                break;
            }
            if flow == STOPPED {
                break;
            }
            if self.next_limit >= INFINITE {
                answer = Verdict::No(());
                break;
            }
            // The order of a pass stayed undecided.
            self.order_steps = self.order_steps.saturating_mul(8);
        }
        self.is_any_enough = false;
        *effort = self.effort;
        answer
    }

    /// Compute the cost of each value alone, by the same search.
    fn find_singles(&mut self, effort: &mut Effort) {
        let problem = self.problem;
        if !self.bound.pinned_mask.is_empty() {
            return;
        }
        let mut values: Vec<u32> = (0..problem.value_count() as u32)
            .filter(|value| problem.def[*value as usize].is_some())
            .collect();
        values.sort_by_key(|value| problem.def[*value as usize]);
        for value in values {
            if effort.is_spent() {
                break;
            }
            let state = State { wanted: vec![value], pinned: BitSet::new(problem.len()) };
            let (bound, _) = effort
                .with_steps(SINGLE_STEPS, |effort| self.solve(&state, u64::MAX, effort, Watch::default()));
            self.bound.singles[value as usize] = bound.min(INFINITE);
        }
    }

    /// Search for passes that produce a state, at a cost of `before` so far.
    fn state(&mut self, state: &State, before: u64) -> Flow {
        let all = self.bound.needed(state);
        if all.is_empty() {
            // From now on, only cheaper solutions count.
            if before < self.limit {
                self.found = Some(self.passes.clone());
                self.limit = before;
            }
            self.next_limit = self.next_limit.min(before);
            return if self.is_any_enough { STOPPED } else { DONE };
        }
        let total = before + self.bound.of(&all, state);
        if total >= self.limit {
            self.next_limit = self.next_limit.min(total);
            return DONE;
        }
        // A state that no passes produce has an infinite cost.
        let known = self.failed.get(state).map(|least| before.saturating_add(*least));
        if let Some(known) = known.filter(|known| *known >= self.limit) {
            self.next_limit = self.next_limit.min(known);
            return DONE;
        }
        // The next limit is first found for this state alone.
        let outer = std::mem::replace(&mut self.next_limit, u64::MAX);
        let mut choice = Choice {
            before,
            wanted: state.wanted.clone(),
            pinned: state.pinned.clone(),
            runs: BitSet::new(self.problem.len()),
            run_list: Vec::new(),
            is_read: vec![false; self.problem.value_count()],
            stores: Vec::new(),
            stored: 0,
            loaded: 0,
            requests: 0,
            inputs: 0,
            rest: Vec::new(),
            behind: BitSet::new(self.problem.len()),
            open: self.problem.total(&state.wanted),
            count: all.count(),
            op_cost: self.bound.op_cost(&all),
            all_inputs: self.bound.inputs(&all),
            waits: self.bound.waits(&all, &state.wanted),
        };
        let flow = self.choose(&mut choice, self.problem.len());
        if flow == DONE {
            if self.failed.len() >= MOST_FAILED {
                self.failed.clear();
            }
            self.failed.insert(state.clone(), self.next_limit.saturating_sub(before));
        }
        self.next_limit = self.next_limit.min(outer);
        flow
    }

    /// Return a lower bound on the cost of the choice, with everything before it.
    fn total(&self, choice: &Choice) -> u64 {
        let (problem, cost) = (self.problem, &self.problem.model().cost);
        let caps = &problem.caps;
        let twice = self.bound.op_cost_of_common(&choice.runs, &choice.behind);
        let behind_inputs = self.bound.inputs(&choice.behind);
        let open_inputs = choice.all_inputs & !(choice.inputs | behind_inputs);
        let inputs = choice.inputs.count_ones() + behind_inputs.count_ones() + open_inputs.count_ones();
        let registers = problem.total(&choice.rest);
        // Operations that do not fit into this pass must run in others.
        let room = caps.instructions.saturating_sub(choice.loaded);
        let outside = choice.count.saturating_sub(room);
        let asked = Asked {
            operations: outside,
            registers,
            stores: registers + choice.open,
            values: choice.rest.len() as u32 + choice.open,
            effects: choice.pinned.count(),
        };
        let spent = choice.before
            + u64::from(cost.pass)
            + u64::from(choice.stored) * u64::from(cost.store)
            + u64::from(choice.loaded) * u64::from(cost.load)
            + choice.op_cost
            + twice;
        let by_count = u64::from(inputs) * u64::from(cost.interpolant)
            + choice.waits * u64::from(cost.wait)
            + self.bound.pass_cost(&choice.behind, asked);
        let dearest = self.bound.dearest(&choice.behind, &choice.rest);
        if dearest == 0 {
            return spent + by_count;
        }
        // The dearest value pays for its ancestors; everything else is paid for once.
        let by_value = u64::from(choice.inputs.count_ones()) * u64::from(cost.interpolant)
            + u64::from(choice.open) * u64::from(cost.store)
            + dearest
            - self.bound.op_cost(&choice.behind);
        spent + by_count.max(by_value)
    }

    fn is_hopeless(&mut self, choice: &Choice) -> bool {
        let total = self.total(choice);
        if total >= self.limit {
            self.next_limit = self.next_limit.min(total);
        }
        total >= self.limit
    }

    /// Decide about the operations below `end`, from the last to the first.
    fn choose(&mut self, choice: &mut Choice, end: usize) -> Flow {
        self.nodes += 1;
        self.effort.spend(1);
        if self.open_decisions >= MOST_DEPTH
            || self.effort.steps == 0
            || self.nodes.is_multiple_of(16) && self.effort.is_spent()
        {
            return STOPPED;
        }
        let problem = self.problem;
        let is_asked = |op: &usize| {
            let mut defs = problem.defs.row(*op).iter();
            let is_wanted =
                |value: &u32| choice.is_read[*value as usize] || choice.wanted.binary_search(value).is_ok();
            defs.any(is_wanted) || choice.pinned.contains(*op)
        };
        let Some(op) = (0..end).rev().find(is_asked) else { return self.close(choice) };
        let defs = problem.defs.row(op);
        let wanted: Vec<u32> =
            defs.iter().copied().filter(|value| choice.wanted.binary_search(value).is_ok()).collect();
        let read: Vec<u32> = defs.iter().copied().filter(|value| choice.is_read[*value as usize]).collect();
        let open = problem.total(&wanted);
        choice.open -= open;
        self.open_decisions += 1;
        let flow = self.decide(choice, op, &wanted, &read);
        self.open_decisions -= 1;
        choice.open += open;
        flow
    }

    fn decide(&mut self, choice: &mut Choice, op: usize, wanted: &[u32], read: &[u32]) -> Flow {
        let problem = self.problem;
        let is_pinned = problem.is_pinned[op];
        // Run it: its successors in memory must have run.
        let is_last = problem
            .after
            .row(op)
            .iter()
            .all(|next| !choice.pinned.contains(*next) || choice.runs.contains(*next));
        if !is_pinned || choice.pinned.contains(op) && is_last {
            // Try every choice of wanted results to store. Results of an operation that cannot run again must
            // be stored.
            for subset in (0..1u32 << wanted.len()).rev() {
                let is_all = subset + 1 == 1 << wanted.len();
                if is_pinned && !is_all || subset == 0 && read.is_empty() && !(is_pinned && wanted.is_empty())
                {
                    continue;
                }
                self.run_it(choice, op, wanted, subset)?;
            }
        }
        // Leave it to an earlier pass, and load the results that this one reads.
        if is_pinned && !choice.pinned.contains(op) {
            return DONE;
        }
        let caps = &problem.caps;
        let loads = problem.total(read);
        let loaded = choice.loaded.saturating_add(loads);
        let fits = (choice.run_list.len() as u32).saturating_add(loaded) <= caps.instructions
            && choice.requests.saturating_add(loaded) <= caps.textures;
        if !fits {
            return DONE;
        }
        let behind = choice.behind.clone();
        let rest = choice.rest.len();
        choice.loaded = loaded;
        choice.rest.extend(wanted.iter().chain(read.iter().filter(|value| !wanted.contains(value))));
        self.bound.absorb(&mut choice.behind, op);
        let flow = match self.is_hopeless(choice) {
            true => DONE,
            false => self.choose(choice, op),
        };
        choice.loaded -= loads;
        choice.rest.truncate(rest);
        choice.behind = behind;
        flow
    }

    fn run_it(&mut self, choice: &mut Choice, op: usize, wanted: &[u32], subset: u32) -> Flow {
        let problem = self.problem;
        let caps = &problem.caps;
        let chosen = |position: usize| subset >> position & 1 == 1;
        let (mut stores, mut rest) = (Vec::new(), Vec::new());
        for (position, value) in wanted.iter().enumerate() {
            if chosen(position) { stores.push(*value) } else { rest.push(*value) }
        }
        let stored = problem.total(&stores);
        let request = u32::from(problem.is_request[op]);
        // Live-ins can only be loaded.
        let fresh: Vec<u32> =
            problem.uses.row(op).iter().copied().filter(|value| !choice.is_read[*value as usize]).collect();
        let given: Vec<u32> =
            fresh.iter().copied().filter(|value| problem.def[*value as usize].is_none()).collect();
        let loads = problem.total(&given);
        let loaded = choice.loaded.saturating_add(loads);
        let mut inputs = choice.inputs;
        problem.inputs.row(op).iter().filter(|input| **input < 64).for_each(|input| inputs |= 1 << input);
        let fits = (choice.run_list.len() as u32 + 1).saturating_add(loaded) <= caps.instructions
            && (choice.requests + request).saturating_add(loaded) <= caps.textures
            && inputs.count_ones() <= caps.interpolants
            && choice.stored.saturating_add(stored) <= caps.outputs;
        if !fits {
            return DONE;
        }
        let old_inputs = std::mem::replace(&mut choice.inputs, inputs);
        let was_pinned = choice.pinned.contains(op);
        let behind = choice.behind.clone();
        let lengths = (choice.stores.len(), choice.rest.len());
        choice.pinned.remove(op);
        choice.runs.insert(op);
        choice.run_list.push(op as u32);
        fresh.iter().for_each(|value| choice.is_read[*value as usize] = true);
        choice.loaded = loaded;
        choice.requests += request;
        choice.stored += stored;
        choice.stores.extend(&stores);
        choice.rest.extend(&rest);
        if !rest.is_empty() {
            self.bound.absorb(&mut choice.behind, op);
        }
        let flow = match self.is_hopeless(choice) {
            true => DONE,
            false => self.choose(choice, op),
        };
        choice.inputs = old_inputs;
        if was_pinned {
            choice.pinned.insert(op);
        }
        choice.runs.remove(op);
        choice.run_list.pop();
        fresh.iter().for_each(|value| choice.is_read[*value as usize] = false);
        choice.loaded -= loads;
        choice.requests -= request;
        choice.stored -= stored;
        choice.stores.truncate(lengths.0);
        choice.rest.truncate(lengths.1);
        choice.behind = behind;
        flow
    }

    /// Complete the choice: the pass needs an order, and earlier passes do the rest.
    fn close(&mut self, choice: &mut Choice) -> Flow {
        if choice.run_list.is_empty() {
            return DONE;
        }
        let (problem, cost) = (self.problem, &self.problem.model().cost);
        let mut ops = choice.run_list.clone();
        ops.sort_unstable();
        let mut stores = choice.stores.clone();
        stores.sort_unstable();
        let mut wanted = choice.rest.clone();
        wanted.sort_unstable();
        let next = State { wanted, pinned: choice.pinned.clone() };
        let behind = self.bound.needed(&next);
        let mut inputs: Vec<u32> =
            ops.iter().flat_map(|op| problem.inputs.row(*op as usize)).copied().collect();
        inputs.sort_unstable();
        inputs.dedup();
        if inputs.len() as u64 > u64::from(problem.caps.interpolants) {
            return DONE;
        }
        let own = u64::from(cost.pass)
            + u64::from(choice.stored) * u64::from(cost.store)
            + u64::from(choice.loaded) * u64::from(cost.load)
            + inputs.len() as u64 * u64::from(cost.interpolant)
            + self.bound.op_cost(&choice.runs);
        let rest = self.bound.of(&behind, &next);
        let without_waits = choice.before + own + rest;
        let key = (ops, stores);
        let mut known = match self.orders.get(&key) {
            Some(known) => known.clone(),
            None => {
                let inside = Inside::new(problem, &key.0, &key.1);
                Known { best: quick(&inside, &self.effort), least: Some(inside.least_waits()) }
            }
        };
        while let Some(least) = known.least {
            let total = without_waits + u64::from(least) * u64::from(cost.wait);
            if total >= self.limit {
                self.next_limit = self.next_limit.min(total);
                break;
            }
            if known.best.as_ref().is_some_and(|(_, waits)| *waits == least) {
                break;
            }
            // Without an order, any number of waits is acceptable: the order must fit first.
            let inside = Inside::new(problem, &key.0, &key.1);
            let most_waits =
                if known.best.is_none() && least == inside.least_waits() { u32::MAX } else { least };
            // One step of the order search takes the time of many steps here.
            let granted = self.effort.up_to(self.order_steps);
            let mut left = granted;
            let answer = search(&inside, most_waits, &mut left);
            self.effort.spend((granted.steps - left.steps) * problem.len() as u64 / 16);
            match answer {
                Verdict::Yes(found) => known.best = Some(found),
                Verdict::No(()) if most_waits == u32::MAX => known.least = None,
                Verdict::No(()) => known.least = Some(least + 1),
                Verdict::Unknown => {
                    self.next_limit = self.next_limit.min(total);
                    break;
                }
            }
        }
        if self.orders.len() >= MOST_FAILED {
            self.orders.clear();
        }
        self.orders.insert(key.clone(), known.clone());
        let (Some((order, waits)), Some(_)) = (known.best, known.least) else { return DONE };
        let spent = choice.before + own + u64::from(waits) * u64::from(cost.wait);
        if spent + rest >= self.limit {
            self.next_limit = self.next_limit.min(spent + rest);
            return DONE;
        }
        self.passes.push((order, key.1));
        let flow = self.state(&next, spent);
        self.passes.pop();
        flow
    }
}
