//! The table of algorithms: one row for each, with its name, summary, paper, goals, and how it runs.
//!
//! To add an algorithm, add a row. Help texts, error messages and `lowtide algorithms` come from this table.

use std::fmt;

use crate::list::baselines::{self, CriticalPath, GoodmanHsu, Greedy, LastUseCount};
use crate::list::engine::{Direction, Policy, Timing};
use crate::list::few_registers::few_registers;
use crate::list::latency_hiding::within_registers;
use crate::list::sethi_ullman::{self, Clusters, POLICY_THRESHOLD, SethiUllman, Variant};
use crate::list::tree;
use crate::problem::{Goal, Problem};
use crate::schedule::Schedule;
use crate::twopass::By;
use crate::twopass::published::Pruning;
use crate::twopass::weighted::Objective;

/// One algorithm: a row of the table.
#[derive(Clone, Copy)]
pub struct Algorithm(&'static Row);

/// A row of the table of algorithms.
struct Row {
    name: &'static str,
    /// A former name that is still accepted.
    alias: Option<&'static str>,
    summary: &'static str,
    /// The paper that describes it, 1 to 5, and the section.
    paper: Option<(u8, &'static str)>,
    goals: &'static [Goal],
    method: Method,
}

/// The parameters of published methods. Other algorithms ignore them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// The highest peak of the first class that Algorithms 4 and 5 of paper 1 leave alone (Section V).
    pub threshold: u32,
    /// The scheduler whose result [`Algorithm::TWO_PASS_PAPER`] and [`Algorithm::WEIGHTED`] start from.
    /// `None` means [`Algorithm::LAST_USE_COUNT`] for the former (paper 2, Section 6.3), and the best known
    /// order for the latter. A search, which has no schedule of its own to start from, counts as the source
    /// order.
    pub start: Option<Algorithm>,
    /// The pruning techniques of [`Algorithm::TWO_PASS_PAPER`] (paper 2, Section 5.1).
    pub pruning: Pruning,
    /// The sum that [`Algorithm::WEIGHTED`] minimises (paper 2, Section 4.1).
    pub objective: Objective,
}

impl Default for Tuning {
    /// The papers' own values.
    fn default() -> Self {
        Tuning {
            threshold: POLICY_THRESHOLD,
            start: None,
            pruning: Pruning::ALL,
            objective: Objective::default(),
        }
    }
}

impl Tuning {
    /// With another threshold.
    pub fn with_threshold(self, threshold: u32) -> Self {
        Tuning { threshold, ..self }
    }

    /// With another start.
    pub fn with_start(self, start: Option<Algorithm>) -> Self {
        Tuning { start, ..self }
    }

    /// With other pruning techniques.
    pub fn with_pruning(self, pruning: Pruning) -> Self {
        Tuning { pruning, ..self }
    }

    /// With another sum to minimise.
    pub fn with_objective(self, objective: Objective) -> Self {
        Tuning { objective, ..self }
    }
}

/// How an algorithm runs.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// The list-scheduling engine, which can explain every choice.
    Engine(for<'a> fn(&'a Problem<'a>) -> Setup<'a>),
    /// A function of the problem.
    Direct(fn(&Problem, &Tuning) -> Schedule),
    /// [`few_registers`], whose orders a session keeps.
    FewRegisters,
    /// A search of the pipeline; which one depends on the goal.
    Search(fn(Goal) -> Search),
}

/// A direction of time, a way to count it, and a policy for the list-scheduling engine.
pub(crate) struct Setup<'a> {
    pub(crate) direction: Direction,
    pub(crate) timing: Timing,
    pub(crate) policy: Box<dyn Policy + 'a>,
}

/// The searches of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// The fewest registers.
    Fewest,
    /// The most waves, then the shortest schedule.
    TwoPasses([By; 2]),
    /// The shortest schedule within the limits.
    Shortest(By),
    /// The lowest sum of both.
    LowestSum,
    /// The two passes of paper 2, as published.
    Published,
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Algorithm {}

impl fmt::Debug for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Algorithm {
    /// The name that users type.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// A former name that is still accepted.
    pub fn alias(self) -> Option<&'static str> {
        self.0.alias
    }

    /// One line on what it does.
    pub fn summary(self) -> &'static str {
        self.0.summary
    }

    /// The paper that describes it: 1 (Chen), 2 (Shobaki 2020), 3 (Fayyazi), 4 (Shobaki 2024) or 5 (Heirich).
    pub fn paper(self) -> Option<u8> {
        self.0.paper.map(|(paper, _)| paper)
    }

    /// The section, algorithm or table of the paper.
    pub fn section(self) -> Option<&'static str> {
        self.0.paper.map(|(_, section)| section)
    }

    /// The goals that it works for. It accepts every goal.
    pub fn goals(self) -> &'static [Goal] {
        self.0.goals
    }

    /// The algorithm of that name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL
            .iter()
            .copied()
            .find(|algorithm| algorithm.name() == name || algorithm.alias() == Some(name))
    }

    /// Return whether it is a search, or a list schedule with parts of one, which has a budget.
    pub fn is_search(self) -> bool {
        matches!(self.0.method, Method::Search(_))
    }

    /// Whether it can list its choices, each with the reason.
    pub fn can_explain(self) -> bool {
        matches!(self.0.method, Method::Engine(_))
    }

    /// Return whether it can find the least length for every number of waves
    /// ([`Front`](crate::outcome::Front)): it runs in two passes for this goal.
    pub fn can_find_front(self, goal: Goal) -> bool {
        let is_for_waves = matches!(goal, Goal::Occupancy | Goal::Throughput);
        is_for_waves
            && matches!(self.0.method, Method::Search(search) if matches!(search(goal), Search::TwoPasses(_)))
    }

    pub(crate) fn method(self) -> Method {
        self.0.method
    }
}

/// Declares the table: a constant for each row, and the list of all rows.
macro_rules! table {
    ($($(#[$doc:meta])* $constant:ident: $row:expr;)*) => {
        impl Algorithm {
            /// All algorithms, [`Algorithm::AUTO`] first.
            pub const ALL: &[Algorithm] = &[$(Algorithm::$constant),*];
            $($(#[$doc])* pub const $constant: Algorithm = Algorithm(&$row);)*
        }
    };
}

const REGISTERS: &[Goal] = &[Goal::MinReg];
const WAVES_AND_LENGTH: &[Goal] = &[Goal::Occupancy, Goal::Length, Goal::Throughput];
const LENGTH: &[Goal] = &[Goal::Length];
const ALL_GOALS: &[Goal] = &[Goal::Occupancy, Goal::MinReg, Goal::Length, Goal::Throughput];

table! {
    /// The best for the goal that the budget allows. Never worse than the source order.
    AUTO: Row {
        name: "auto",
        alias: None,
        summary: "the best for the goal: exact for minreg, twopass for occupancy and length",
        paper: None,
        goals: ALL_GOALS,
        method: Method::Search(|goal| match goal {
            Goal::MinReg => Search::Fewest,
            _ => two_passes([By::Search; 2], goal),
        }),
    };
    /// The source order, with necessary stalls.
    SOURCE: Row {
        name: "source",
        alias: None,
        summary: "the source order, with necessary stalls",
        paper: None,
        goals: ALL_GOALS,
        method: Method::Direct(|problem, _| Schedule::source(problem)),
    };
    /// The recorded order of the production compiler. Where none is recorded, the source order.
    PRODUCTION: Row {
        name: "production",
        alias: None,
        summary: "the recorded order of the production compiler; the source order where none is recorded",
        paper: None,
        goals: ALL_GOALS,
        method: Method::Direct(|problem, _| Schedule::production(problem)),
    };
    /// Few registers in near-linear time: [`few_registers`](crate::list::few_registers).
    FEW_REGISTERS: Row {
        name: "few-registers",
        alias: Some("default"),
        summary: "few registers in near-linear time, without a search",
        paper: None,
        goals: REGISTERS,
        method: Method::FewRegisters,
    };
    /// The fewest registers, proven where the budget allows: [`minreg`](crate::minreg).
    EXACT: Row {
        name: "exact",
        alias: None,
        summary: "the fewest registers possible, proven where the budget allows",
        paper: Some((1, "Section III: the optimum that the paper computes by constraints")),
        goals: REGISTERS,
        method: Method::Search(|_| Search::Fewest),
    };
    /// Both passes of [`twopass`](crate::twopass) by list schedulers alone.
    LIST: Row {
        name: "list",
        alias: None,
        summary: "most waves, then short schedules, both passes by list schedulers alone",
        paper: None,
        goals: WAVES_AND_LENGTH,
        method: Method::Search(|goal| two_passes([By::Lists; 2], goal)),
    };
    /// The first pass of [`twopass`](crate::twopass) by search, the second by list schedulers.
    WAVES: Row {
        name: "waves",
        alias: None,
        summary: "most waves by search, then short schedules by list schedulers",
        paper: None,
        goals: WAVES_AND_LENGTH,
        method: Method::Search(|goal| two_passes([By::Search, By::Lists], goal)),
    };
    /// Most waves, then the shortest schedule with them: [`twopass`](crate::twopass).
    TWO_PASS: Row {
        name: "twopass",
        alias: None,
        summary: "most waves, then the shortest schedule that keeps them, proven where the budget allows",
        paper: None,
        goals: WAVES_AND_LENGTH,
        method: Method::Search(|goal| two_passes([By::Search; 2], goal)),
    };
    /// The two passes as published: [`published`](crate::twopass::published).
    TWO_PASS_PAPER: Row {
        name: "twopass-paper",
        alias: None,
        summary: "most waves, then the shortest schedule, by the branch and bound of the paper (--rules, --start)",
        paper: Some((2, "Section 5")),
        goals: &[Goal::Occupancy],
        method: Method::Search(|_| Search::Published),
    };
    /// Both passes by ants: [`colony`](crate::colony).
    COLONY: Row {
        name: "colony",
        alias: None,
        summary: "most waves, then short schedules, both passes by ant colonies (CPU or GPU)",
        paper: Some((4, "Sections IV and V")),
        goals: WAVES_AND_LENGTH,
        method: Method::Search(|goal| two_passes([By::Ants; 2], goal)),
    };
    /// The lowest sum of length and 100,000 times the waves lost, in one pass:
    /// [`weighted`](crate::twopass::weighted).
    WEIGHTED: Row {
        name: "weighted",
        alias: None,
        summary: "the lowest weighted sum of length and pressure, in one pass (--cost, --weight)",
        paper: Some((2, "Section 4.1: the earlier single-pass search")),
        goals: &[Goal::Occupancy],
        method: Method::Search(|_| Search::LowestSum),
    };
    /// Optimal on trees. Elsewhere as [`Algorithm::SETHI_ULLMAN`].
    TREE: Row {
        name: "tree",
        alias: None,
        summary: "the optimal order of a tree; sethi-ullman on other graphs",
        paper: Some((1, "Section II")),
        goals: REGISTERS,
        method: Method::Direct(|problem, _| {
            tree::tree(problem).unwrap_or_else(|| sethi_ullman::sethi_ullman(problem, Variant::default()))
        }),
    };
    /// Paper 1, Algorithm 1.
    SETHI_ULLMAN: Row {
        name: "sethi-ullman",
        alias: None,
        summary: "generalised Sethi-Ullman numbering, bottom-up",
        paper: Some((1, "Algorithm 1")),
        goals: REGISTERS,
        method: Method::Engine(|problem| su(problem, false, false, Clusters::None)),
    };
    /// Paper 1, Algorithm 2.
    SU_RP: Row {
        name: "su-rp",
        alias: None,
        summary: "sethi-ullman with RP-reduction",
        paper: Some((1, "Algorithm 2")),
        goals: REGISTERS,
        method: Method::Engine(|problem| su(problem, true, false, Clusters::None)),
    };
    /// Paper 1, Table III.
    SU_RP_ADJUST: Row {
        name: "su-rp-adjust",
        alias: None,
        summary: "su-rp with MaxRP adjustment",
        paper: Some((1, "Table III")),
        goals: REGISTERS,
        method: Method::Engine(|problem| su(problem, true, true, Clusters::None)),
    };
    /// Paper 1, Algorithm 3.
    SU_CLUSTER: Row {
        name: "su-cluster",
        alias: None,
        summary: "su-rp with clusters",
        paper: Some((1, "Algorithm 3")),
        goals: REGISTERS,
        method: Method::Engine(|problem| su(problem, true, false, Clusters::OfBest)),
    };
    /// Paper 1, Algorithm 3, as its listing says.
    SU_CLUSTER_WHOLE: Row {
        name: "su-cluster-whole",
        alias: None,
        summary: "su-cluster, where a cluster grows with the operands of all its instructions",
        paper: Some((1, "Algorithm 3: the listing, which differs from the text")),
        goals: REGISTERS,
        method: Method::Engine(|problem| su(problem, true, false, Clusters::Whole)),
    };
    /// Paper 1, Table V.
    SU_CLUSTER_ADJUST: Row {
        name: "su-cluster-adjust",
        alias: None,
        summary: "su-cluster with MaxRP adjustment",
        paper: Some((1, "Table V")),
        goals: REGISTERS,
        method: Method::Engine(|problem| su(problem, true, true, Clusters::OfBest)),
    };
    /// Paper 1, Algorithm 4.
    POLICY_SETHI_ULLMAN: Row {
        name: "policy-sethi-ullman",
        alias: None,
        summary: "sethi-ullman where it pays (--threshold)",
        paper: Some((1, "Algorithm 4")),
        goals: REGISTERS,
        method: Method::Direct(|problem, tuning| sethi_ullman::policy(problem, false, tuning.threshold)),
    };
    /// Paper 1, Algorithm 5.
    POLICY_CLUSTER: Row {
        name: "policy-cluster",
        alias: None,
        summary: "su-cluster where it pays, then sethi-ullman where it pays (--threshold)",
        paper: Some((1, "Algorithm 5")),
        goals: REGISTERS,
        method: Method::Direct(|problem, tuning| sethi_ullman::policy(problem, true, tuning.threshold)),
    };
    /// Paper 1, Section V: the baseline, latency hiding without min-register scheduling.
    LATENCY_HIDING_SOURCE: Row {
        name: "latency-hiding-source",
        alias: None,
        summary: "the source order, then latency hiding within the registers that the goal allows",
        paper: Some((1, "Section V: the baseline")),
        goals: WAVES_AND_LENGTH,
        method: Method::Direct(|problem, _| within_registers(problem, &Schedule::source(problem))),
    };
    /// Paper 1, Section V: Algorithm 4, then latency hiding.
    LATENCY_HIDING_SETHI_ULLMAN: Row {
        name: "latency-hiding-sethi-ullman",
        alias: None,
        summary: "policy-sethi-ullman, then latency hiding within the registers that the goal allows (--threshold)",
        paper: Some((1, "Section V: two phases with Algorithm 4")),
        goals: WAVES_AND_LENGTH,
        method: Method::Direct(|problem, tuning| {
            within_registers(problem, &sethi_ullman::policy(problem, false, tuning.threshold))
        }),
    };
    /// Paper 1, Section V: Algorithm 5, then latency hiding.
    LATENCY_HIDING_CLUSTER: Row {
        name: "latency-hiding-cluster",
        alias: None,
        summary: "policy-cluster, then latency hiding within the registers that the goal allows (--threshold)",
        paper: Some((1, "Section V: two phases with Algorithm 5")),
        goals: WAVES_AND_LENGTH,
        method: Method::Direct(|problem, tuning| {
            within_registers(problem, &sethi_ullman::policy(problem, true, tuning.threshold))
        }),
    };
    /// Paper 1, Section IV: few registers first, then latency hiding in sub-blocks within the registers that
    /// the goal allows.
    LATENCY_HIDING: Row {
        name: "latency-hiding",
        alias: None,
        summary: "few-registers, then latency hiding within the registers that the goal allows",
        paper: Some((1, "Section IV")),
        goals: WAVES_AND_LENGTH,
        method: Method::Direct(|problem, _| {
            within_registers(problem, &Schedule::in_order(problem, few_registers(problem)))
        }),
    };
    /// List scheduling by critical path, which ignores registers.
    CRITICAL_PATH: Row {
        name: "critical-path",
        alias: None,
        summary: "list scheduling by critical path, without regard to registers",
        paper: Some((4, "Section IV-A: initial heuristic")),
        goals: LENGTH,
        method: Method::Engine(|problem| Setup {
            direction: Direction::TopDown,
            timing: Timing::Cycles,
            policy: Box::new(CriticalPath::new(problem)),
        }),
    };
    /// List scheduling by last-use count, by weight.
    LAST_USE_COUNT: Row {
        name: "last-use-count",
        alias: None,
        summary: "list scheduling by last-use count, weighted by register size",
        paper: Some((4, "Section IV-A: initial heuristic")),
        goals: REGISTERS,
        method: Method::Engine(|problem| Setup {
            direction: Direction::TopDown,
            timing: Timing::Order,
            policy: Box::new(LastUseCount::new(problem)),
        }),
    };
    /// Goodman and Hsu: critical path, or pressure where registers are scarce.
    GOODMAN_HSU: Row {
        name: "goodman-hsu",
        alias: None,
        summary: "Goodman and Hsu: critical path, or pressure where registers are scarce",
        paper: Some((2, "Section 3: earlier work")),
        goals: LENGTH,
        method: Method::Engine(|problem| Setup {
            direction: Direction::TopDown,
            timing: Timing::Cycles,
            policy: Box::new(GoodmanHsu::new(problem, problem.limits())),
        }),
    };
    /// In the manner of LLVM's generic scheduler.
    LLVM_GENERIC: Row {
        name: "llvm-generic",
        alias: None,
        summary: "in the manner of LLVM's generic scheduler",
        paper: None,
        goals: LENGTH,
        method: Method::Engine(|problem| Setup {
            direction: Direction::BottomUp,
            timing: Timing::Cycles,
            policy: Box::new(Greedy::new(problem, baselines::limits(problem, 1))),
        }),
    };
    /// In the manner of LLVM's scheduler for AMD GPUs.
    GCN_MAX_OCCUPANCY: Row {
        name: "gcn-max-occupancy",
        alias: None,
        summary: "in the manner of LLVM's max-occupancy scheduler for AMD GPUs",
        paper: Some((2, "Section 6: the production baseline")),
        goals: &[Goal::Occupancy],
        method: Method::Direct(|problem, _| baselines::gcn_max_occupancy(problem)),
    };
}

/// Both passes, or the second alone where length is the goal.
fn two_passes(by: [By; 2], goal: Goal) -> Search {
    match goal {
        Goal::Length => Search::Shortest(by[1]),
        Goal::Occupancy | Goal::MinReg | Goal::Throughput => Search::TwoPasses(by),
    }
}

fn su<'a>(problem: &'a Problem<'a>, rp_reduction: bool, adjust: bool, clusters: Clusters) -> Setup<'a> {
    let policy = SethiUllman::new(problem, Variant { rp_reduction, adjust, clusters });
    Setup { direction: Direction::BottomUp, timing: Timing::Order, policy: Box::new(policy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for (place, algorithm) in Algorithm::ALL.iter().enumerate() {
            assert_eq!(Algorithm::named(algorithm.name()), Some(*algorithm));
            assert!(!algorithm.summary().is_empty() && !algorithm.goals().is_empty());
            assert!(!Algorithm::ALL[..place].contains(algorithm), "{algorithm} is listed twice");
            if let Some(alias) = algorithm.alias() {
                assert_eq!(
                    Algorithm::named(alias),
                    Some(*algorithm),
                    "the alias {alias} is a name of its own"
                );
            }
        }
        assert_eq!(Algorithm::named("default"), Some(Algorithm::FEW_REGISTERS));
        assert_eq!(Algorithm::named("fastest"), None);
    }
}
