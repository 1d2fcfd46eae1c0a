//! Arguments that several commands share: kernels to schedule, the goal, and the algorithm.

use clap::{Args, ValueEnum};
use lowtide::algorithm::Algorithm;
use lowtide::problem::Goal;
use lowtide_cp::Model;
use lowtide_tool::args::{AntArgs, BudgetArgs, FilterArgs, InputArgs, LatencyArgs, TargetArgs};

/// The kernels to schedule, the goal, and the algorithm.
#[derive(Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) latencies: LatencyArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) ants: AntArgs,

    /// Optimize for this goal
    #[arg(long, value_enum, default_value = "occupancy")]
    pub(crate) goal: GoalArg,

    /// Schedule by auto, or by one algorithm of `lowtide algorithms` alone. cp and cp-paper use a constraint solver (scripts/install-ortools)
    #[arg(long, default_value = "auto", value_parser = parse_method, value_name = "NAME")]
    pub(crate) algorithm: Method,

    /// Use at most N registers of the target's first class. The goal length keeps the limit if any order does. The goal occupancy
    /// keeps it where a known order does so without losing waves (algorithms auto, list, waves, twopass and colony)
    #[arg(long, value_name = "N")]
    pub(crate) registers: Option<u32>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Keep pairs of instructions together that the input clusters, for at most N cycles each. They never cost waves or spills. With 0, pairs do not count
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) group_price: u32,
}

/// The goal of a schedule.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GoalArg {
    /// Lowest peak pressure of the first register class
    Minreg,
    /// Most waves, then shortest
    Occupancy,
    /// Shortest, at any pressure
    Length,
    /// Fewest estimated cycles of a SIMD for each wave: waves against length
    Throughput,
}

impl From<GoalArg> for Goal {
    fn from(goal: GoalArg) -> Goal {
        match goal {
            GoalArg::Minreg => Goal::MinReg,
            GoalArg::Occupancy => Goal::Occupancy,
            GoalArg::Length => Goal::Length,
            GoalArg::Throughput => Goal::Throughput,
        }
    }
}

/// An algorithm of the library, or a model for the constraint solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    Algorithm(Algorithm),
    Constraints(Model),
}

impl Method {
    /// Return the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Algorithm(algorithm) => algorithm.name(),
            Method::Constraints(model) => model.name(),
        }
    }
}

fn parse_method(name: &str) -> Result<Method, String> {
    let by_solver = || Model::ALL.into_iter().find(|model| model.name() == name).map(Method::Constraints);
    Algorithm::named(name).map(Method::Algorithm).or_else(by_solver).ok_or_else(|| {
        let own = Algorithm::ALL.iter().map(|algorithm| algorithm.name());
        let known: Vec<&str> = own.chain(Model::ALL.into_iter().map(Model::name)).collect();
        format!("known are {} (`lowtide algorithms` describes them)", known.join(", "))
    })
}
