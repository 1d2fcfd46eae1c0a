//! The library's entry points, with the failures and the progress of this program.

use std::sync::Arc;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::outcome::{KernelOutcome, Outcome};
use lowtide::pipeline::{self, Options, ScheduleError};
use lowtide::problem::Problem;
use lowtide::region::Kernel;
use lowtide::schedule::Schedule;
use lowtide::session::{Context, Counts, Session, Statistics, Store};
use lowtide::target::Target;
use lowtide_io::describe_internal_error;

use crate::{Failure, progress};

/// A run of the program: its answers and its counters. On a terminal, its searches print their progress.
#[derive(Debug, Default)]
pub struct Run {
    session: Session,
    statistics: Statistics,
}

impl Run {
    /// Start a run without answers.
    pub fn new() -> Self {
        Run::default()
    }

    /// Start a run that looks for answers in a store, if there is one.
    pub fn with_store(store: Option<Arc<dyn Store>>) -> Self {
        Run { session: store.map_or_else(Session::new, Session::with_store), ..Run::default() }
    }

    /// Return what the run has found in its store. None without a store.
    pub fn store_counts(&self) -> Option<Counts> {
        self.session.store().map(|store| store.counters().counts())
    }

    /// Return the counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Return the surroundings for the library.
    pub fn context(&self) -> Context<'_> {
        self.uncounted().counted_by(&self.statistics)
    }

    /// Return the surroundings for work that the counters leave out.
    pub fn uncounted(&self) -> Context<'_> {
        let context = Context::new(&self.session);
        match progress::observer() {
            Some(observer) => context.observed_by(observer),
            None => context,
        }
    }

    /// Schedule all regions of a kernel together.
    pub fn schedule_kernel(
        &self,
        kernel: &Kernel,
        target: &Target,
        options: &Options,
    ) -> Result<KernelOutcome, Failure> {
        pipeline::schedule_kernel(kernel, target, options, self.context())
            .map_err(|error| failure(kernel, error))
    }

    /// Schedule a region of a kernel alone.
    pub fn schedule_region(
        &self,
        kernel: &str,
        problem: &Problem,
        algorithm: Algorithm,
        budget: Budget,
    ) -> Result<Outcome, Failure> {
        pipeline::schedule_region(problem, algorithm, budget, self.context())
            .map_err(|error| failure_in_region(kernel, problem, error))
    }

    /// Return the schedule of an algorithm for a region of a kernel, without bounds.
    pub fn schedule(
        &self,
        kernel: &str,
        problem: &Problem,
        algorithm: Algorithm,
        budget: Budget,
    ) -> Result<Schedule, Failure> {
        pipeline::run(problem, algorithm, budget, self.context())
            .map_err(|error| failure_in_region(kernel, problem, error.into()))
    }
}

/// Name the kernel in an error. The region of an internal error is written to a file.
pub fn failure(kernel: &Kernel, error: ScheduleError) -> Failure {
    match error {
        ScheduleError::Target(error) => Failure::Target { kernel: kernel.name.clone(), error },
        ScheduleError::Internal(error) => {
            Failure::Message(format!("kernel {:?}: {}", kernel.name, describe_internal_error(kernel, &error)))
        }
        other => Failure::Message(format!("kernel {:?}: {other}", kernel.name)),
    }
}

fn failure_in_region(kernel: &str, problem: &Problem, error: ScheduleError) -> Failure {
    failure(&Kernel::new(kernel, vec![problem.region().clone()]), error)
}
