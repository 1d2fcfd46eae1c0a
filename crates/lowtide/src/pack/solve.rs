//! The entry point: from the list schedule to the shortest packing.
//!
//! The list schedule is the first upper bound, and [`Ranges`] gives the first lower bound. The search then
//! decides lengths from the lower bound upwards, with more states in each round, first without splits and
//! then with them. The rest of the budget goes to packings of the same length with fewer splits and fewer
//! groups of loads.

use super::bound::Ranges;
use super::formats::{Formats, graphs, race};
use super::graph::Graph;
use super::list::{pack_by, pack_by_list, pack_in_order};
use super::measure::measure;
use super::problem::PackProblem;
use super::search::{Question, Search};
use super::{Packing, Placed};
use crate::budget::{Budget, Effort};
use crate::index::InstrId;
use crate::list::few_registers::few_registers;
use crate::problem::{Goal, Problem};
use crate::progress::Watch;
use crate::verdict::Verdict;

/// The largest block that is searched: the search recurses on each operation.
const MOST_FOR_SEARCH: usize = 512;

/// States for the first try of each length. Each further try has twice as many.
const FIRST_TRY: u64 = 500;

/// States for the question whether an operation could stay whole. All these questions together get one part
/// in `UNSPLIT_SHARE` of the budget.
const UNSPLIT_TRY: u64 = 5_000;
const UNSPLIT_SHARE: u32 = 8;

/// States for each question about groups of loads. All these questions together get one part in
/// `LEVELS_SHARE` of the budget.
const LEVELS_TRY: u64 = 10_000;
const LEVELS_SHARE: u32 = 4;

/// The proof that no packing is shorter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Proof {
    /// The lower bound.
    Bound,
    /// An exhaustive search.
    Search,
    /// An infeasible integer program.
    Program,
    /// No proof.
    Open,
}

impl Proof {
    /// Return the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Bound => "bound",
            Proof::Search => "search",
            Proof::Program => "program",
            Proof::Open => "open",
        }
    }
}

/// The best packing, and the bound on all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackOutcome {
    /// The list schedule.
    pub list: Packing,
    /// The shortest packing known.
    pub best: Packing,
    /// A lower bound on the length within the limit on registers.
    pub bound: u32,
    /// The bound before any search.
    pub first_bound: u32,
    /// The proof that the packing is the shortest. For a block that does not fit into its registers, the
    /// proof of that.
    pub proof: Proof,
    /// Whether the packing is within the limit on registers.
    pub fits: bool,
    /// Whether no packing of the same length has fewer groups of loads.
    pub levels_proved: bool,
    /// States of the searches.
    pub nodes: u64,
}

impl PackOutcome {
    /// Return whether the packing is proven shortest.
    pub fn is_proved(&self) -> bool {
        self.proof != Proof::Open
    }

    /// Accept a better packing, or a better bound, from another solver. The packing must be legal and within
    /// the limit on registers.
    pub fn improve(&mut self, packing: Option<Packing>, bound: u32, proof: Proof) {
        if let Some(packing) = packing.filter(|packing| packing.length() < self.best.length()) {
            self.best = packing;
            self.levels_proved = false;
        }
        self.bound = self.bound.max(bound.min(self.best.length()));
        if self.proof == Proof::Open && self.fits && self.bound == self.best.length() {
            self.proof = proof;
        }
    }
}

/// Find the shortest packing of a block within its limit on registers. At the same length, prefer few groups
/// of loads. An operation is split only if that makes the block shorter.
pub fn pack(problem: &PackProblem, budget: Budget) -> PackOutcome {
    pack_watched(problem, budget, Watch::default())
}

/// As [`pack`], and log how the length falls. With a limit on registers, only packings within it count.
pub fn pack_watched(problem: &PackProblem, budget: Budget, watch: Watch) -> PackOutcome {
    let mut effort = budget.effort(problem.region().len());
    let mut outcome = match problem.limit() {
        None => shortest(problem, &mut effort, watch),
        Some((class, most)) => {
            // If the shortest of all is within the limit, the search is done.
            let free = problem.without_register_limit();
            let outcome = effort.with_share(2, |share| shortest(&free, share, Watch::default()));
            match measure(&free, &outcome.best).peaks[class.index()] <= most {
                true => outcome,
                false => within_registers(problem, outcome, &mut effort, watch),
            }
        }
    };
    if outcome.fits {
        effort.with_share(LEVELS_SHARE, |share| group_loads(problem, &mut outcome, share));
    }
    outcome
}

/// Find the shortest packing, without regard to registers.
fn shortest(problem: &PackProblem, effort: &mut Effort, watch: Watch) -> PackOutcome {
    let whole = problem.without_splits();
    let ranges = Ranges::new(&whole);
    let list = pack_by_list(&whole);
    let mut best = list.clone();
    for packing in [pack_by(&whole, |at| ranges.tails[at]), pack_from_end(&whole, &ranges)] {
        if packing.length() < best.length() {
            best = packing;
        }
    }
    let has_splits = problem.has_splits();
    let split_ranges = if has_splits { Ranges::new(problem) } else { ranges.clone() };
    let first_bound = split_ranges.length;
    watch.begin(list.length(), first_bound);
    watch.found(0, best.length());
    // A bound without splits holds only for packings without splits.
    let mut state = Target { best, bound: ranges.length, nodes: 0, watch, is_bound_for_all: !has_splits };
    let parts = if has_splits { 2 } else { 1 };
    effort.with_share(parts, |share| count_up_whole(&whole, &ranges, &mut state, share));
    if has_splits {
        state.is_bound_for_all = true;
        let whole_bound = std::mem::replace(&mut state.bound, first_bound);
        count_up_with_splits(problem, whole_bound, &mut state, effort);
    }
    let Target { best, bound, nodes, .. } = state;
    let proof = match best.length() {
        length if length == first_bound => Proof::Bound,
        length if length == bound => Proof::Search,
        _ => Proof::Open,
    };
    PackOutcome { list, best, bound, first_bound, proof, fits: true, levels_proved: false, nodes }
}

/// The best packing and bound so far.
struct Target<'a> {
    best: Packing,
    bound: u32,
    nodes: u64,
    watch: Watch<'a>,
    /// Whether the bound holds for all packings in question.
    is_bound_for_all: bool,
}

/// Decide lengths from the bound upwards, with more and more states for each. `ask` takes a length and a
/// number of states.
fn count_up(
    problem: &PackProblem,
    state: &mut Target,
    effort: &mut Effort,
    mut ask: impl FnMut(u32, u64, &mut Effort) -> Verdict<Packing>,
) {
    if problem.len() > MOST_FOR_SEARCH {
        return;
    }
    let mut states = FIRST_TRY;
    while state.bound < state.best.length() && !effort.is_spent() {
        for length in state.bound..state.best.length() {
            match ask(length, states, effort) {
                Verdict::Yes(packing) => {
                    state.best = packing;
                    break;
                }
                // A block that does not fit into a length does not fit into a shorter one.
                Verdict::No(()) => state.bound = length + 1,
                Verdict::Unknown => {}
            }
            if state.is_bound_for_all {
                state.watch.proved(state.nodes, state.bound);
            }
            if effort.is_spent() {
                break;
            }
        }
        state.watch.found(state.nodes, state.best.length());
        states = states.saturating_mul(2);
    }
}

/// As [`count_up`], for a block without any choice of formats.
fn count_up_whole(problem: &PackProblem, ranges: &Ranges, state: &mut Target, effort: &mut Effort) {
    if state.bound >= state.best.length() || problem.len() > MOST_FOR_SEARCH {
        return;
    }
    let graphs = graphs(problem, ranges);
    let mut searches: Vec<Search> = graphs.iter().map(Search::new).collect();
    count_up(problem, state, effort, |length, states, effort| {
        race(&mut searches, Question { length, levels: None }, states, effort)
    });
    state.nodes += searches.iter().map(|search| search.nodes).sum::<u64>();
}

/// As [`count_up`], for a block with choices. `whole_bound` is a lower bound on packings without splits.
fn count_up_with_splits(problem: &PackProblem, whole_bound: u32, state: &mut Target, effort: &mut Effort) {
    let mut formats = Formats::new(problem, whole_bound);
    effort.with_all_but(UNSPLIT_SHARE, |share| {
        count_up(problem, state, share, |length, states, effort| formats.ask(length, states, effort));
    });
    state.nodes += formats.nodes;
    unsplit(problem, state, effort);
}

/// Make a list schedule from the last cycle to the first, by longest path from the start.
fn pack_from_end(problem: &PackProblem, ranges: &Ranges) -> Packing {
    let count = problem.len();
    let mut order: Vec<usize> = (0..count).collect();
    let mut waiting: Vec<usize> = (0..count).map(|at| problem.succs(InstrId::at(at)).len()).collect();
    let mut available = vec![0u32; count];
    order.sort_by_key(|&at| (std::cmp::Reverse(ranges.heads[at]), std::cmp::Reverse(at)));
    let mut placed: Vec<Placed> = Vec::with_capacity(count);
    let mut cycle = 0;
    while !order.is_empty() {
        let mut taken = super::list::Taken::default();
        let mut now: Vec<InstrId> = Vec::new();
        order.retain(|&at| {
            let (instr, kind) = (InstrId::at(at), problem.operations()[at].kind);
            let clashes = now.iter().any(|other| problem.conflict(instr, 0, *other, 0));
            if waiting[at] > 0 || available[at] > cycle || !taken.fits(kind) || clashes {
                return true;
            }
            taken.add(kind);
            now.push(instr);
            for edge in problem.preds(instr) {
                let from = edge.instr.index();
                waiting[from] -= 1;
                available[from] = available[from].max(cycle + edge.latency);
            }
            false
        });
        let units = super::list::Taken::assign(now.iter().map(|instr| problem.operation(*instr).kind));
        placed.extend(now.iter().zip(units).map(|(&instr, units)| Placed {
            cycle,
            instr,
            format: 0,
            part: 0,
            units,
        }));
        let ready = order.iter().filter(|at| waiting[**at] == 0).map(|at| available[*at]).min();
        cycle = ready.unwrap_or(0).max(cycle + 1);
    }
    let last = placed.iter().map(|placed| placed.cycle).max().unwrap_or(0);
    for placed in &mut placed {
        placed.cycle = last - placed.cycle;
    }
    Packing::new(placed)
}

/// Remove splits that a packing of the same length does not need.
fn unsplit(problem: &PackProblem, state: &mut Target, effort: &mut Effort) {
    let length = state.best.length();
    for at in 0..problem.len() {
        let mut formats = formats_of(problem, &state.best);
        if formats[at] == Some(0) {
            continue;
        }
        if effort.is_spent() {
            return;
        }
        formats[at] = Some(0);
        let fewer = problem.with_formats(&formats);
        let ranges = Ranges::new(&fewer);
        let graph = Graph::new(&fewer, &ranges, false);
        let mut search = [Search::new(&graph)];
        let answer = race(&mut search, Question { length, levels: None }, UNSPLIT_TRY, effort);
        state.nodes += search[0].nodes;
        if let Verdict::Yes(packing) = answer {
            state.best = packing;
        }
    }
}

/// Return the formats in a packing.
fn formats_of(problem: &PackProblem, packing: &Packing) -> Vec<Option<usize>> {
    let mut formats = vec![Some(0); problem.len()];
    for placed in packing.placed() {
        formats[placed.instr.index()] = Some(placed.format);
    }
    formats
}

/// Find the shortest packing within the limit on registers, if the shortest of all exceeds it. `free` is the
/// outcome without the limit.
fn within_registers(
    problem: &PackProblem,
    free: PackOutcome,
    effort: &mut Effort,
    watch: Watch,
) -> PackOutcome {
    let Some((class, most)) = problem.limit() else { return free };
    let region = problem.region();
    let fits = |packing: &Packing| measure(problem, packing).peaks[class.index()] <= most;
    let mut orders = vec![region.instrs().collect::<Vec<_>>()];
    if let Ok(problem) = Problem::new(region, problem.target(), Goal::MinReg) {
        orders.push(few_registers(&problem));
    }
    let known = orders.iter().map(|order| pack_in_order(problem, order)).chain([free.list.clone()]);
    let best = known.filter(fits).min_by_key(Packing::length);
    let (bound, nodes) = (free.bound, free.nodes);
    let mut state = Target { best: free.best.clone(), bound, nodes, watch, is_bound_for_all: true };
    match best {
        Some(best) => state.best = best,
        None if problem.len() > MOST_FOR_SEARCH => return PackOutcome { fits: false, ..open(free) },
        None => {
            // This question has no limit on the length: every packing within the registers has a length below
            // this one. A block that does not fit whole does not fit with splits either: these only prolong
            // the lives of operands and results.
            let whole = problem.without_splits();
            let ranges = Ranges::new(&whole);
            let graph = Graph::new(&whole, &ranges, false);
            let mut search = Search::new(&graph);
            let question = Question { length: horizon(problem), levels: None };
            let answer = effort.with_share(2, |share| search.ask(question, share));
            state.nodes += search.nodes;
            match answer {
                Verdict::Yes(packing) => state.best = packing,
                Verdict::No(()) => return PackOutcome { fits: false, proof: Proof::Search, ..free },
                Verdict::Unknown => return PackOutcome { fits: false, ..open(free) },
            }
        }
    }
    watch.begin(state.best.length(), state.bound);
    if problem.has_splits() {
        count_up_with_splits(problem, free.bound, &mut state, effort);
    } else {
        count_up_whole(problem, &Ranges::new(problem), &mut state, effort);
    }
    let proof = if state.bound == state.best.length() { Proof::Search } else { Proof::Open };
    PackOutcome { best: state.best, bound: state.bound, nodes: state.nodes, proof, ..free }
}

fn open(outcome: PackOutcome) -> PackOutcome {
    PackOutcome { proof: Proof::Open, ..outcome }
}

/// Return a length that suffices for any order of the operations, split or not.
fn horizon(problem: &PackProblem) -> u32 {
    let time = |(at, operation): (usize, &super::Operation)| {
        let latency = problem.succs(InstrId::at(at)).iter().map(|edge| edge.latency).max().unwrap_or(0);
        let parts = operation.splits.iter().map(|split| split.parts() * split.apart).max().unwrap_or(1);
        latency.max(1) + parts
    };
    problem.operations().iter().enumerate().map(time).sum()
}

/// Reduce the groups of loads at the same length.
fn group_loads(problem: &PackProblem, outcome: &mut PackOutcome, effort: &mut Effort) {
    let loads = problem.operations().iter().filter(|operation| operation.is_load).count() as u32;
    let levels = |packing: &Packing| measure(problem, packing).levels;
    let mut now = levels(&outcome.best);
    if now <= loads.min(1) || problem.len() > MOST_FOR_SEARCH {
        outcome.levels_proved = now <= loads.min(1);
        return;
    }
    // The splits were chosen for the length and stay as they are.
    let same = problem.with_formats(&formats_of(problem, &outcome.best));
    let ranges = Ranges::new(&same);
    let graph = Graph::new(&same, &ranges, false);
    let mut search = Search::new(&graph);
    let length = outcome.best.length();
    let fewest = graph.fewest_levels();
    while now > fewest && !effort.is_spent() {
        let question = Question { length, levels: Some(now - 1) };
        let searches = std::slice::from_mut(&mut search);
        match race(searches, question, LEVELS_TRY, effort) {
            Verdict::Yes(packing) => {
                outcome.best = packing;
                now = levels(&outcome.best);
            }
            Verdict::No(()) => {
                outcome.levels_proved = !problem.has_splits();
                break;
            }
            Verdict::Unknown => break,
        }
    }
    outcome.levels_proved |= now <= fewest;
    outcome.nodes += search.nodes;
}
