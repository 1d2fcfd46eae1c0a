//! `lowtide schedule --algorithm cp` and `cp-paper`: kernels scheduled by a constraint solver.
//!
//! Each region is solved on one thread, so that results and processor time can be compared with those of our
//! own algorithms. Several kernels are solved at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lowtide::algorithm::Algorithm;
use lowtide::groups::Groups;
use lowtide::outcome::KernelOutcome;
use lowtide::outcome::Outcome;
use lowtide::pipeline::Options;
use lowtide::problem::{Goal, Problem};
use lowtide::proof::Reason;
use lowtide::region::Kernel;
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide_cp::{Limits, Model, Solver, SolverError};
use lowtide_tool::Failure;
use lowtide_tool::solve::Run;

/// The solver, its model and its budget.
pub(crate) struct Constraints {
    model: Model,
    solver: Solver,
    time_per_instr: Duration,
    too_large: AtomicU64,
}

impl Constraints {
    /// Return the algorithm of the initial order, which is the result if the solver finds no better one. It
    /// is a hint for the improved model only.
    pub(crate) fn start(model: Model) -> Algorithm {
        match model {
            Model::Paper | Model::Program => Algorithm::SOURCE,
            Model::Improved => Algorithm::FEW_REGISTERS,
        }
    }

    /// Load the solver. It is an error if the options ask for more than it can do.
    pub(crate) fn new(model: Model, options: &Options, explain: bool) -> Result<Self, Failure> {
        let name = model.name();
        let fail = |message: String| Err(Failure::Message(message));
        if options.goal != Goal::MinReg {
            return fail(format!("{name} finds the fewest registers and nothing else: add --goal minreg"));
        }
        if explain {
            return fail(format!(
                "{name} does not choose one instruction at a time: there is nothing to --explain"
            ));
        }
        if options.group_price > 0 {
            return fail(format!("{name} does not keep pairs together: remove --group-price"));
        }
        let Some(time_per_instr) = options.budget.time_per_instr else {
            return fail(format!("{name} cannot count --nodes: limit its time by --budget instead"));
        };
        let solver = Solver::find().map_err(|error| Failure::Message(error.to_string()))?;
        Ok(Constraints { model, solver, time_per_instr, too_large: AtomicU64::new(0) })
    }

    /// As [`lowtide::pipeline::schedule_kernel`], by the solver.
    pub(crate) fn schedule_kernel(
        &self,
        kernel: &Kernel,
        target: &Target,
        options: &Options,
        run: &Run,
    ) -> Result<KernelOutcome, Failure> {
        let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
        let mut outcome = KernelOutcome::new(most);
        let problems = options.problems(kernel, target).map_err(Failure::target(&kernel.name))?;
        for (region, problem) in kernel.regions.iter().zip(&problems) {
            let start = run.schedule_region(&kernel.name, problem, options.algorithm, options.budget)?;
            let region = self.improve(problem, start).map_err(|error| {
                let name = region.name();
                Failure::Message(format!("kernel {:?}, region {name}: {error}", kernel.name))
            })?;
            outcome.regions.push(region);
        }
        outcome.count_waves(&problems);
        Ok(outcome)
    }

    /// Replace the order and the bound of the start by those of the solver.
    fn improve(&self, problem: &Problem, mut outcome: Outcome) -> Result<Outcome, SolverError> {
        let region = problem.region();
        let class = problem.primary_class();
        let Some(&known_bound) = outcome.bounds.peaks.get(class.index()) else { return Ok(outcome) };
        let time = self.time_per_instr.saturating_mul(u32::try_from(region.len()).unwrap_or(u32::MAX));
        let limits = Limits { time, ..Limits::default() };
        let start = outcome.schedule.order();
        let answer = match self.solver.solve(region, class, self.model, start, known_bound, &limits) {
            Err(SolverError::TooLarge { .. }) => {
                self.too_large.fetch_add(1, Ordering::Relaxed);
                return Ok(outcome);
            }
            answer => answer?,
        };
        // Only proofs of the solver count for the paper's models.
        if self.model != Model::Improved || answer.bound > known_bound {
            outcome.bounds.peaks[class.index()] = answer.bound;
            outcome.bounds.reasons[class.index()] = Reason::Solver;
        }
        if let Some(order) = answer.order.filter(|order| order != start) {
            outcome.schedule = Schedule::in_order(problem, order);
            outcome.measure = problem.measure(&outcome.schedule);
            outcome.broken_pairs = Groups::of(region).broken(outcome.schedule.order());
        }
        outcome.optimal = answer.proved;
        Ok(outcome)
    }

    /// Print the number of regions that were too large for the solver.
    pub(crate) fn report_too_large(&self) {
        let count = self.too_large.load(Ordering::Relaxed);
        if count > 0 {
            let start = Constraints::start(self.model).name();
            eprintln!(
                "{count} regions are too large for {}: they have the order of {start}",
                self.model.name()
            );
        }
    }
}
