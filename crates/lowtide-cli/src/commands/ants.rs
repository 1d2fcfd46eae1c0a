//! All questions of a pass to ants at once, for devices that take many regions at a time.

use std::path::Path;

use lowtide::colony::Task;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::region::Kernel;
use lowtide::solved::{Asked, Solved};
use lowtide::target::Target;
use lowtide_gpu::Device;
use rayon::prelude::*;

use crate::args::InputArgs;
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};

/// Lets a GPU answer all that ants are asked for the kernels of the input. What it does not answer is done by the processor later.
pub(crate) fn ask_gpu(
    gpu: &Device,
    input: &InputArgs,
    targets: &Targets,
    options: Options,
    solved: &Solved,
) -> Result<(), Failure> {
    if input.files.iter().any(|file| file == Path::new("-")) {
        let reason = "a GPU is given all kernels at once: it needs files, not the standard input";
        return Err(Failure::Message(reason.to_string()));
    }
    let kernels = read(input, targets)?;
    for pass in [1, 2] {
        let asked = ask(&kernels, options, solved, pass)?;
        let tasks: Vec<&Task> = asked.iter().map(Asked::task).collect();
        let (answers, _) = gpu.solve(&tasks).map_err(|error| Failure::Message(error.to_string()))?;
        asked.into_iter().zip(answers).for_each(|(asked, answer)| solved.tell(asked, answer));
    }
    Ok(())
}

/// All kernels of the input.
pub(crate) fn read<'t>(
    input: &InputArgs,
    targets: &'t Targets,
) -> Result<Vec<(Kernel, &'t Target)>, Failure> {
    let mut kernels = Vec::new();
    for_each_kernel(
        input,
        |kernel| targets.of(&kernel).map(|target| (kernel, target)),
        |kernel| {
            kernels.push(kernel);
            Ok(())
        },
    )?;
    Ok(kernels)
}

/// What ants are asked in a pass, smaller regions first.
pub(crate) fn ask(
    kernels: &[(Kernel, &Target)],
    options: Options,
    solved: &Solved,
    pass: u8,
) -> Result<Vec<Asked>, Failure> {
    let mut result = Ok(());
    let mut asked = solved.asked_of_ants(pass, || {
        result = kernels.par_iter().try_for_each(|(kernel, target)| {
            let outcome = schedule_kernel(kernel, target, options, solved);
            outcome.map(drop).map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
        });
    });
    asked.sort_by_key(|asked| asked.task().len());
    result.map(|()| asked)
}
