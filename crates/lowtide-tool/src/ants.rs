//! The ant colony on a GPU, which solves all tasks of a phase in one batch.

use std::path::Path;

use lowtide::colony::Task;
use lowtide::pipeline::{KernelPlan, Options, open_tasks};
use lowtide::region::Kernel;
use lowtide::session::{AntTask, Context};
use lowtide::target::Target;
use lowtide_gpu::Device;
use rayon::prelude::*;

use crate::Failure;
use crate::args::InputArgs;
use crate::input::{Targets, for_each_kernel};
use crate::solve::{Run, failure};

/// Solve all tasks of the colony for the kernels of the input on a GPU, and keep the answers in the session
/// of the run.
pub fn ask_gpu(
    gpu: &Device,
    input: &InputArgs,
    targets: &Targets,
    options: &Options,
    run: &Run,
) -> Result<(), Failure> {
    if input.files.iter().any(|file| file == Path::new("-")) {
        let reason = "a GPU solves all kernels in one batch: pass files instead of the standard input";
        return Err(Failure::Message(reason.to_string()));
    }
    // The kernels are read again when the answers are known, and count then.
    solve_on(gpu, &read(input, targets)?, options, run.uncounted())
}

/// Solve all tasks of the colony for these kernels on a GPU, and keep the answers in the session.
pub fn solve_on(
    gpu: &Device,
    kernels: &[(Kernel, &Target)],
    options: &Options,
    context: Context,
) -> Result<(), Failure> {
    let mut plans = Plans::new(kernels, options, context)?;
    while !plans.are_done() {
        let open = plans.open_tasks();
        let tasks: Vec<&Task> = open.iter().map(AntTask::task).collect();
        let (answers, _) = gpu.solve(&tasks).map_err(|error| Failure::Message(error.to_string()))?;
        open.into_iter().zip(answers).for_each(|(open, answer)| open.answer(answer));
        plans.advance()?;
    }
    Ok(())
}

/// Read all kernels of the input, with the latencies to schedule with.
pub fn read<'t>(input: &InputArgs, targets: &'t Targets) -> Result<Vec<(Kernel, &'t Target)>, Failure> {
    let mut kernels = Vec::new();
    for_each_kernel(
        input,
        |kernel| targets.prepare(kernel),
        |kernel| {
            kernels.push(kernel);
            Ok(())
        },
    )?;
    Ok(kernels)
}

/// All kernels of the input, in the same phase.
pub struct Plans<'a>(Vec<(&'a Kernel, KernelPlan<'a>)>);

impl<'a> Plans<'a> {
    /// Plan the first phase of all kernels, on all threads.
    pub fn new(
        kernels: &'a [(Kernel, &'a Target)],
        options: &Options,
        context: Context<'a>,
    ) -> Result<Self, Failure> {
        let plan = |(kernel, target): &'a (Kernel, &'a Target)| {
            let plan = KernelPlan::new(kernel, target, options, context);
            plan.map(|plan| (kernel, plan)).map_err(|error| failure(kernel, error))
        };
        kernels.par_iter().map(plan).collect::<Result<_, _>>().map(Plans)
    }

    /// Tell whether all phases of all kernels are over.
    pub fn are_done(&self) -> bool {
        self.0.iter().all(|(_, plan)| plan.is_done())
    }

    /// Return the tasks that this phase waits for, small regions first.
    pub fn open_tasks(&self) -> Vec<AntTask> {
        open_tasks(self.0.iter().map(|(_, plan)| plan))
    }

    /// Take up the answers to all tasks, and plan the next phase.
    pub fn advance(&mut self) -> Result<(), Failure> {
        let advance = |(kernel, plan): &mut (&Kernel, KernelPlan)| {
            plan.advance().map_err(|error| failure(kernel, error))
        };
        self.0.par_iter_mut().try_for_each(advance)
    }
}
