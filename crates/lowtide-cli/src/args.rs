//! Arguments that several commands share: kernels to schedule, the goal, and the algorithm.

use clap::{Args, ValueEnum};
use lowtide::algorithm::{Algorithm, Tuning};
use lowtide::problem::Goal;
use lowtide::twopass::published::Pruning;
use lowtide::twopass::weighted::{Objective, PressureCost};
use lowtide_cp::Model;
use lowtide_tool::args::{AntArgs, BudgetArgs, FilterArgs, InputArgs, LatencyArgs, StoreArgs, TargetArgs};

/// The kernels to schedule, the goal, and the algorithm. `A` is the option `--algorithm`: one name, or a list
/// of them.
#[derive(Args)]
pub(crate) struct WorkArgs<A: Args = OneAlgorithm> {
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

    #[command(flatten)]
    pub(crate) algorithm: A,

    /// Use at most N registers of the target's first class. The goal length keeps the limit if any order
    /// does. The goal occupancy keeps it where a known order does so without losing waves (algorithms auto,
    /// list, waves, twopass and colony)
    #[arg(long, value_name = "N")]
    pub(crate) registers: Option<u32>,

    /// Want at most N waves, for goals of waves. Registers that only more waves need are then free for
    /// shorter schedules
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) waves: Option<u32>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Keep pairs of instructions together that the input clusters, for at most N cycles each. They never
    /// cost waves or spills. With 0, pairs do not count
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) group_price: u32,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
}

/// The algorithm of the commands that run one.
#[derive(Args)]
pub(crate) struct OneAlgorithm {
    /// Schedule by auto, or by one algorithm of `lowtide algorithms` alone. cp, cp-paper and ip-paper use a
    /// solver (scripts/install-ortools)
    #[arg(long = "algorithm", default_value = "auto", value_parser = parse_method, value_name = "NAME")]
    pub(crate) method: Method,
}

impl OneAlgorithm {
    /// Return the name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        self.method.name()
    }
}

/// The algorithms of `lowtide compare`.
#[derive(Args)]
pub(crate) struct ManyAlgorithms {
    /// Compare these algorithms of `lowtide algorithms`, separated by commas. `all` are all that need no
    /// solver [default: source, production, and all that work for the goal]
    #[arg(long = "algorithm", value_parser = parse_choice, value_name = "NAME,...", value_delimiter = ',')]
    choices: Vec<Choice>,
}

/// An algorithm, or all of the library.
#[derive(Clone, Copy)]
enum Choice {
    All,
    One(Method),
}

impl ManyAlgorithms {
    /// Return the algorithms, each once. Those that are named keep their order.
    pub(crate) fn methods(&self, goal: Goal) -> Vec<Method> {
        let all = || Algorithm::ALL.iter().copied();
        let fits = |one: &Algorithm| one.goals().contains(&goal);
        let mut methods: Vec<Method> = Vec::new();
        let mut add = |method: Method| {
            if !methods.contains(&method) {
                methods.push(method);
            }
        };
        for choice in &self.choices {
            match choice {
                Choice::All => all().map(Method::Algorithm).for_each(&mut add),
                Choice::One(method) => add(*method),
            }
        }
        if self.choices.is_empty() {
            // The orders to compare with come first. Both work for every goal.
            let first = [Algorithm::SOURCE, Algorithm::PRODUCTION];
            first.into_iter().chain(all().filter(fits)).map(Method::Algorithm).for_each(&mut add);
        }
        methods
    }
}

fn parse_choice(name: &str) -> Result<Choice, String> {
    match name {
        "all" => Ok(Choice::All),
        _ => parse_method(name).map(Choice::One),
    }
}

/// The parameters of published methods.
#[derive(Args)]
pub(crate) struct TuningArgs {
    /// Leave regions alone whose peak is at most N: policy-sethi-ullman, policy-cluster, and latency hiding
    /// after them
    #[arg(long, value_name = "N", default_value_t = Tuning::default().threshold, help_heading = PUBLISHED)]
    threshold: u32,

    /// Start from the schedule of this algorithm, which is not a search: twopass-paper
    /// [default: last-use-count] and weighted [default: the best known order]
    #[arg(long, value_name = "NAME", value_parser = parse_start, help_heading = PUBLISHED)]
    start: Option<Algorithm>,

    /// Prune by these techniques only: twopass-paper [default: all]. The optimum does not depend on them
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',', help_heading = PUBLISHED)]
    rules: Option<Vec<Rule>>,

    /// Minimize this cost of pressure together with the length: weighted
    #[arg(long, value_enum, default_value = "occupancy", help_heading = PUBLISHED)]
    cost: CostArg,

    /// Count a unit of the cost as N cycles: weighted
    #[arg(long, value_name = "N", default_value_t = Objective::default().weight, help_heading = PUBLISHED)]
    weight: u32,
}

/// The heading of the parameters of published methods in the help.
const PUBLISHED: &str = "Parameters of published methods";

/// A pruning technique of paper 2, Section 5.1.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Technique 1: tighten the ranges of cycles
    Ranges,
    /// Technique 2: Rim and Jain's bound at each node
    Bound,
    /// Technique 3: the pressure of the partial schedule
    Pressure,
    /// Technique 4: history-based domination
    History,
    /// No technique
    None,
}

/// A cost of pressure of paper 2, Section 4.1.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CostArg {
    /// Waves that are lost
    Occupancy,
    /// Peak register pressure
    Prp,
    /// Peak excess register pressure
    Perp,
    /// Sum of live interval lengths
    Slil,
}

impl TuningArgs {
    /// Return the parameters for the library.
    pub(crate) fn tuning(&self) -> Tuning {
        let pruning = self.rules.as_ref().map_or(Pruning::ALL, |rules| {
            let has = |rule| rules.contains(&rule);
            Pruning {
                ranges: has(Rule::Ranges),
                bound: has(Rule::Bound),
                pressure: has(Rule::Pressure),
                history: has(Rule::History),
            }
        });
        let cost = match self.cost {
            CostArg::Occupancy => PressureCost::Occupancy,
            CostArg::Prp => PressureCost::Prp,
            CostArg::Perp => PressureCost::Perp,
            CostArg::Slil => PressureCost::Slil,
        };
        Tuning::default()
            .with_threshold(self.threshold)
            .with_start(self.start)
            .with_pruning(pruning)
            .with_objective(Objective { cost, weight: self.weight })
    }
}

fn parse_start(name: &str) -> Result<Algorithm, String> {
    Algorithm::named(name).filter(|algorithm| !algorithm.is_search()).ok_or_else(|| {
        let able = Algorithm::ALL.iter().filter(|algorithm| !algorithm.is_search());
        let known: Vec<&str> = able.map(|algorithm| algorithm.name()).collect();
        format!("known are {}", known.join(", "))
    })
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
