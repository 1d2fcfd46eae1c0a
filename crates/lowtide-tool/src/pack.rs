//! Two operations in each cycle: the methods of `lowtide pack`, which the benchmark uses as well.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use lowtide::budget::Budget;
use lowtide::pack::bound::Ranges;
use lowtide::pack::check::{PackReport, check};
use lowtide::pack::list::{pack_by_list, pack_like_sc};
use lowtide::pack::{PackError, PackModel, PackOutcome, PackProblem, Packing, Proof, pack_watched};
use lowtide::progress::Quantity;
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_cp::SolverError;
use lowtide_cp::pack::{Form, PackSolver};

use crate::args::parse_time;
use crate::table::grouped;
use crate::{Failure, progress};

/// The method that packs a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PackMethod {
    /// List, lower bound and search; an integer program for open blocks, if its solver is installed
    Auto,
    /// The list schedule and the lower bound
    List,
    /// List, lower bound and search
    Search,
    /// The paper's five steps, with one length decided after the other (needs scripts/install-ortools)
    Program,
    /// The paper's five steps with narrower ranges: the program minimises the length (needs
    /// scripts/install-ortools)
    ProgramMinimising,
    /// The paper's five steps unchanged, with its ranges and its list scheduler (needs
    /// scripts/install-ortools)
    ProgramPaper,
}

/// The list scheduler that others are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ListMethod {
    /// Longest path to the end first
    Path,
    /// In the manner of the paper's baseline: also groups loads and saves registers
    Sc,
}

impl ListMethod {
    /// Return the list schedule of a block.
    pub fn pack(self, problem: &PackProblem) -> Packing {
        match self {
            ListMethod::Path => pack_by_list(problem),
            ListMethod::Sc => pack_like_sc(problem),
        }
    }
}

/// The effort to spend on each block.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct PackBudgetArgs {
    /// Limit the time for each operation, such as 1ms or 2s [default: 100ms, or no limit with --nodes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Limit the time for each block instead, such as 1000s in the paper
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "budget")]
    block_budget: Option<Duration>,

    /// Limit the search steps for each block. The result is then the same on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
}

impl PackBudgetArgs {
    /// Return a budget of time for each operation, of search steps for each block, or of both.
    pub fn new(budget: Option<Duration>, nodes: Option<u64>) -> Self {
        PackBudgetArgs { budget, block_budget: None, nodes }
    }

    /// Return a budget of search steps.
    pub fn of_nodes(nodes: u64) -> Self {
        PackBudgetArgs::new(None, Some(nodes))
    }

    /// Return the budget of a block of so many operations.
    pub fn budget_of(&self, operations: usize) -> Budget {
        let default = self.nodes.is_none().then_some(Duration::from_millis(100));
        let operations = u32::try_from(operations).unwrap_or(u32::MAX).max(1);
        let of_block = self.block_budget.map(|time| time / operations);
        Budget { time_per_instr: of_block.or(self.budget).or(default), nodes: self.nodes, threads: 1 }
    }

    /// Describe the budget.
    pub fn in_words(&self) -> String {
        let usual = self.budget_of(1);
        let steps = usual.nodes.map(|nodes| format!(", {} search steps per block", grouped(nodes)));
        match self.block_budget {
            Some(time) => format!("{} s per block{}", time.as_secs_f64(), steps.unwrap_or_default()),
            None => progress::budget_in_words(usual, "operation", "block"),
        }
    }
}

/// Return the built-in targets that pack.
pub fn packing_targets() -> impl Iterator<Item = Target> {
    Target::all_builtin().filter(|target| PackModel::of(target).is_ok_and(|model| model.is_some()))
}

/// Return a region as a problem on a target that packs. The error names the targets to choose from.
pub fn problem<'a>(region: &'a Region, target: &'a Target) -> Result<PackProblem<'a>, String> {
    PackProblem::new(region, target).map_err(|error| match error {
        PackError::NoModel(_) => {
            let known: Vec<String> = packing_targets().map(|target| target.name().to_string()).collect();
            format!("{error}; choose one that does with --target (known are {})", known.join(", "))
        }
        _ => error.to_string(),
    })
}

/// A method with its budget and solver.
pub struct Packer {
    method: PackMethod,
    list: ListMethod,
    budget: PackBudgetArgs,
    solver: Option<PackSolver>,
}

impl Packer {
    /// Load the solver that the method needs.
    pub fn new(
        method: PackMethod,
        list: Option<ListMethod>,
        budget: &PackBudgetArgs,
    ) -> Result<Self, Failure> {
        let list = list.unwrap_or(match method {
            PackMethod::ProgramPaper => ListMethod::Sc,
            _ => ListMethod::Path,
        });
        let fail = |error: SolverError| Failure::Message(error.to_string());
        let solver = match method {
            PackMethod::List | PackMethod::Search => None,
            PackMethod::Program | PackMethod::ProgramMinimising | PackMethod::ProgramPaper => {
                Some(PackSolver::find().map_err(fail)?)
            }
            // The solver is optional here, but a broken one is an error.
            PackMethod::Auto => match PackSolver::find() {
                Err(SolverError::NotInstalled) => None,
                found => Some(found.map_err(fail)?),
            },
        };
        let packer = Packer { method, list, budget: budget.clone(), solver };
        match packer.is_program() && packer.budget.budget_of(1).time_per_instr.is_none() {
            true => Err(Failure::Message(
                "integer programs cannot count --nodes: limit their time by --budget instead".to_string(),
            )),
            false => Ok(packer),
        }
    }

    /// Return the list scheduler that the results are compared with.
    pub fn list(&self) -> ListMethod {
        self.list
    }

    /// Return whether the method uses integer programs only.
    pub fn is_program(&self) -> bool {
        matches!(self.method, PackMethod::Program | PackMethod::ProgramMinimising | PackMethod::ProgramPaper)
    }

    /// Pack a block. The checker has accepted the result.
    pub fn pack(&self, problem: &PackProblem, kernel: &str) -> Result<PackOutcome, String> {
        let search = || {
            let log = progress::log(Quantity::Length, kernel, problem.region());
            let outcome = pack_watched(problem, self.budget.budget_of(problem.len()), log.watch());
            log.finish(outcome.nodes);
            outcome
        };
        let mut outcome = match self.method {
            PackMethod::List => listed(problem),
            PackMethod::Search => search(),
            PackMethod::Auto => {
                let began = Instant::now();
                let mut outcome = search();
                self.close(problem, &mut outcome, began)?;
                outcome
            }
            PackMethod::Program => self.programmed(problem, Form::Decision)?,
            PackMethod::ProgramMinimising => self.programmed(problem, Form::Minimising)?,
            PackMethod::ProgramPaper => self.programmed(problem, Form::Paper)?,
        };
        self.compare_with_list(problem, &mut outcome);
        for (packing, name) in [(&outcome.list, "list schedule"), (&outcome.best, "packing")] {
            let report = checked(problem, packing, name)?;
            if report.length != packing.length() {
                return Err(format!("the length of the {name} is wrong"));
            }
            if let Some((class, most)) = problem.limit().filter(|_| name == "packing" && outcome.fits)
                && report.peaks[class.index()] > most
            {
                return Err(format!("the {name} has more registers than allowed"));
            }
        }
        match outcome.best.length() < outcome.bound {
            true => Err("the bound on the length is wrong".to_string()),
            false => Ok(outcome),
        }
    }

    /// Take the list schedule to compare with. It is the result if it is shorter than all else, or if the
    /// method ends with it.
    fn compare_with_list(&self, problem: &PackProblem, outcome: &mut PackOutcome) {
        if self.list == ListMethod::Path {
            return;
        }
        let list = self.list.pack(problem);
        if problem.limit().is_none() {
            if self.method == PackMethod::List {
                outcome.best = list.clone();
                outcome.proof = if list.length() == outcome.bound { Proof::Bound } else { Proof::Open };
            }
            outcome.improve(Some(list.clone()), 0, Proof::Bound);
        }
        outcome.list = list;
    }

    fn time(&self, problem: &PackProblem) -> Option<Duration> {
        let operations = u32::try_from(problem.len()).unwrap_or(u32::MAX);
        self.budget.budget_of(problem.len()).time_per_instr.map(|time| time.saturating_mul(operations))
    }

    /// Give an open block to the integer program, with as much time again.
    fn close(&self, problem: &PackProblem, outcome: &mut PackOutcome, began: Instant) -> Result<(), String> {
        let (Some(solver), Some(time)) = (&self.solver, self.time(problem)) else { return Ok(()) };
        if outcome.is_proved() || problem.limit().is_some() {
            return Ok(());
        }
        let time = (2 * time).saturating_sub(began.elapsed());
        match solver.shortest(problem, Form::Decision, &outcome.best, outcome.bound, time) {
            Ok(answer) => outcome.improve(Some(answer.packing), answer.bound, Proof::Program),
            Err(SolverError::TooLarge { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// Follow the paper's five steps.
    fn programmed(&self, problem: &PackProblem, form: Form) -> Result<PackOutcome, String> {
        let mut outcome = listed(problem);
        let (Some(solver), Some(time)) = (&self.solver, self.time(problem)) else { return Ok(outcome) };
        match solver.by_program(problem, form, time) {
            Ok(answer) => {
                // The bound of the search does not count: the program must prove the length alone.
                outcome.bound = 0;
                outcome.proof = Proof::Open;
                let proof = if answer.by_linear { Proof::Bound } else { Proof::Program };
                outcome.improve(Some(answer.packing), answer.bound, proof);
                Ok(outcome)
            }
            Err(SolverError::TooLarge { .. }) => Ok(outcome),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Return the list schedule with the lower bound.
fn listed(problem: &PackProblem) -> PackOutcome {
    let list = pack_by_list(problem);
    let first_bound = Ranges::new(problem).length;
    let proof = if list.length() == first_bound { Proof::Bound } else { Proof::Open };
    let peaks = lowtide::pack::measure(problem, &list).peaks;
    let fits = problem.limit().is_none_or(|(class, most)| peaks[class.index()] <= most);
    PackOutcome {
        best: list.clone(),
        list,
        bound: first_bound,
        first_bound,
        proof: if fits { proof } else { Proof::Open },
        fits,
        levels_proved: false,
        nodes: 0,
    }
}

/// Return the report of the checker. It is an error if the packing is illegal.
pub fn checked(problem: &PackProblem, packing: &Packing, name: &str) -> Result<PackReport, String> {
    check(problem.region(), problem.target(), packing)
        .map_err(|violations| format!("the {name} is illegal: {}", violations[0]))
}
