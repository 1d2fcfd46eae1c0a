//! Sethi-Ullman numbering on dependence graphs (paper 1, Section IV).
//!
//! On a tree, the registers of a node follow from its children, and so does the best order of the children.
//! The child with the largest `MaxRP - DefSZ`, the *SU-number*, comes first. On a graph with shared results
//! this is only a heuristic. All variants schedule bottom-up and take the ready instruction with the
//! *smallest* SU-number, which therefore comes last:
//! - **Algorithm 1** (`sethi-ullman`): just that.
//! - **Algorithm 2** (`su-rp`): an instruction that does not raise the pressure when it becomes ready is
//!   taken at once (RP-reduction).
//! - **MaxRP adjustment** (`su-rp-adjust`, Table III): `MaxRP` of a node is divided by the number of its
//!   uses, since each user pays only a part of it.
//! - **Algorithm 3** (`su-cluster`): instructions that share an operand with the best one are a cluster. If
//!   all of them are ready, they are taken together. If not, an instruction that keeps the cluster from
//!   becoming ready is taken. This is the text of Section IV-B ("common source operands with the top node").
//!   The listing of Algorithm 3 says "with the cluster", which also takes in instructions that share an
//!   operand with any instruction of the cluster: `su-cluster-whole`.
//! - Clusters and adjustment together (`su-cluster-adjust`, Table V).
//!
//! Sizes are those of the target's first register class. Live-in operands have no node in the graph and form
//! no clusters: in all orders, they are live from the start.

use super::engine::{CRITERIA, Direction, Key, Policy, State, Timing, order};
use crate::index::InstrId;
use crate::problem::Problem;
use crate::region::Region;
use crate::schedule::Schedule;

/// The heuristics of the paper on top of SU-numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Variant {
    /// Take instructions that do not raise the pressure at once (Algorithm 2).
    pub rp_reduction: bool,
    /// Divide `MaxRP` by the number of uses (Table III).
    pub adjust: bool,
    /// Take instructions that share operands together (Algorithm 3).
    pub clusters: Clusters,
}

/// The instructions that Algorithm 3 takes together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Clusters {
    /// No clusters.
    #[default]
    None,
    /// Those that share an operand with the best instruction.
    OfBest,
    /// Those that share an operand with any instruction of the cluster.
    Whole,
}

/// The scale of SU-numbers. Adjusted `MaxRP` is a fraction, in units of 1/4096 register.
const SCALE: i64 = 1 << 12;

/// The SU-numbers of all instructions.
pub struct SethiUllman<'a> {
    problem: &'a Problem<'a>,
    variant: Variant,
    numbers: Vec<i64>,
    change: Vec<i32>,
}

impl<'a> SethiUllman<'a> {
    /// Number the instructions of a problem.
    pub fn new(problem: &'a Problem<'a>, variant: Variant) -> Self {
        let region = problem.region();
        let mut sizes = vec![0i64; region.len()];
        let mut users = vec![0i64; region.len()];
        let mut children: Vec<InstrId> = Vec::new();
        let mut max_rp = vec![0i64; region.len()];
        for instr in region.instrs() {
            sizes[instr.index()] = result_size(problem, instr) * SCALE;
            operand_nodes(problem, instr, &mut children);
            for child in &children {
                users[child.index()] += 1;
            }
        }
        // Source order: children come before their users.
        for instr in region.instrs() {
            operand_nodes(problem, instr, &mut children);
            children.sort_by_key(|child| (sizes[child.index()] - max_rp[child.index()], *child));
            // The first child needs its own registers. Each later child also needs those that the earlier
            // ones leave behind.
            let mut left_behind = 0;
            let mut most = 0;
            for child in &children {
                most = most.max(left_behind + max_rp[child.index()]);
                left_behind += sizes[child.index()];
            }
            most = most.max(left_behind);
            if variant.adjust {
                most /= users[instr.index()].max(1);
            }
            max_rp[instr.index()] = most;
        }
        let numbers = max_rp.iter().zip(&sizes).map(|(max_rp, size)| max_rp - size).collect();
        let change = vec![0; region.classes().len()];
        SethiUllman { problem, variant, numbers, change }
    }
}

/// Return the registers of the first class that an instruction's results take.
fn result_size(problem: &Problem, instr: InstrId) -> i64 {
    let region = problem.region();
    let results = region.defined_values(instr).iter().filter(|value| !region.is_dead(**value));
    let results = results.map(|value| &region.values()[value.index()]);
    results.filter(|value| value.class == problem.primary_class()).map(|value| i64::from(value.weight)).sum()
}

/// The instructions whose results of the first class `instr` reads, each once.
fn operand_nodes(problem: &Problem, instr: InstrId, nodes: &mut Vec<InstrId>) {
    let region = problem.region();
    nodes.clear();
    for value in region.used_values(instr) {
        let value = &region.values()[value.index()];
        if value.class == problem.primary_class() {
            nodes.extend(value.def);
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
}

impl Policy for SethiUllman<'_> {
    fn criteria(&self) -> &'static [&'static str] {
        &["smallest SU-number (negated)"]
    }

    fn key(&mut self, _state: &State, instr: InstrId) -> Key {
        let mut key = [0; CRITERIA];
        key[0] = -self.numbers[instr.index()];
        key
    }

    fn is_static(&self) -> bool {
        true
    }

    fn reads_pressure(&self) -> bool {
        self.variant.rp_reduction
    }

    fn is_eager(&mut self, state: &State, instr: InstrId) -> bool {
        if !self.variant.rp_reduction {
            return false;
        }
        state.delta(instr, &mut self.change);
        self.change.get(self.problem.primary_class().index()).is_none_or(|change| *change <= 0)
    }

    fn instead(&mut self, state: &State, best: InstrId, chosen: &mut Vec<InstrId>) {
        if self.variant.clusters == Clusters::None {
            return;
        }
        let region = self.problem.region();
        chosen.push(best);
        let mut unready = None;
        let mut looked_at = 0;
        while let Some(&member) = chosen.get(looked_at) {
            looked_at += 1;
            for value in region.used_values(member) {
                let shared = &region.values()[value.index()];
                if shared.class != self.problem.primary_class() || shared.def.is_none() {
                    continue;
                }
                for &user in region.value_uses(*value) {
                    if state.is_scheduled(user) || chosen.contains(&user) {
                        continue;
                    }
                    if !state.is_ready(user) {
                        unready = unready.or(Some(user));
                    }
                    chosen.push(user);
                }
            }
            if self.variant.clusters == Clusters::OfBest {
                break;
            }
        }
        if let Some(blocked) = unready {
            chosen.clear();
            chosen.push(ready_blocker(region, state, blocked));
        }
    }
}

/// Follow the blockers of an instruction to a ready one.
fn ready_blocker(region: &Region, state: &State, mut blocked: InstrId) -> InstrId {
    // Each step goes to a successor in the graph, so the loop ends.
    for _ in 0..region.len() {
        let next = state.blockers(blocked).iter().find(|edge| !state.is_scheduled(edge.instr));
        match next {
            Some(edge) if !state.is_ready(blocked) => blocked = edge.instr,
            _ => break,
        }
    }
    blocked
}

/// Schedule by SU-numbers.
pub fn sethi_ullman(problem: &Problem, variant: Variant) -> Schedule {
    Schedule::in_order(problem, sethi_ullman_order(problem, variant))
}

/// As [`sethi_ullman`], for the order alone.
pub(super) fn sethi_ullman_order(problem: &Problem, variant: Variant) -> Vec<InstrId> {
    let mut policy = SethiUllman::new(problem, variant);
    order(problem, Direction::BottomUp, Timing::Order, &mut policy, None)
}

/// Return whether paper 1, Section V, schedules a block at all. Its peak must be above `threshold`, and must
/// not be the pressure at its entry or exit, which no order changes.
fn is_worth_it(problem: &Problem, source: &Schedule, threshold: u32) -> bool {
    let class = problem.primary_class().index();
    let peak =
        |schedule: &Schedule| problem.measure(schedule).peaks.get(class).map_or(0, |peak| peak.between);
    let ends = crate::analysis::pressure_bound::pressure_at_ends(problem.region());
    let peak = peak(source);
    peak > threshold && ends.get(class).is_some_and(|(ends, _)| peak > *ends)
}

/// The highest peak that the paper's policies leave alone, as in Section V.
pub const POLICY_THRESHOLD: u32 = 64;

/// Algorithms 4 and 5: the paper's application of the heuristics. The schedule of a variant is taken only if
/// it lowers the peak. With clusters, the plain algorithm is the second choice.
pub fn policy(problem: &Problem, clusters: bool, threshold: u32) -> Schedule {
    let source = Schedule::source(problem);
    if !is_worth_it(problem, &source, threshold) {
        return source;
    }
    let class = problem.primary_class().index();
    let peak =
        |schedule: &Schedule| problem.measure(schedule).peaks.get(class).map_or(0, |peak| peak.between);
    let with_clusters = Variant { rp_reduction: true, clusters: Clusters::OfBest, adjust: false };
    let variants = [with_clusters, Variant::default()];
    for variant in &variants[usize::from(!clusters)..] {
        let schedule = sethi_ullman(problem, *variant);
        if peak(&schedule) < peak(&source) {
            return schedule;
        }
    }
    source
}
