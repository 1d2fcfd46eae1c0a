//! The ant colony on a GPU, which solves all tasks of a pass in one batch.

use std::path::Path;

use lowtide::colony::Task;
use lowtide::pipeline::Options;
use lowtide::region::Kernel;
use lowtide::target::Target;
use lowtide_gpu::Device;
use rayon::prelude::*;

use crate::Failure;
use crate::args::InputArgs;
use crate::input::{Targets, for_each_kernel};
use crate::solve::{Asked, Solved, schedule_kernel};

/// Solve all tasks of the colony for the kernels of the input on a GPU. The processor solves later what the GPU has not.
pub fn ask_gpu(
    gpu: &Device,
    input: &InputArgs,
    targets: &Targets,
    options: Options,
    solved: &Solved,
) -> Result<(), Failure> {
    if input.files.iter().any(|file| file == Path::new("-")) {
        let reason = "a GPU solves all kernels in one batch: pass files instead of the standard input";
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

/// Read all kernels of the input.
pub fn read<'t>(input: &InputArgs, targets: &'t Targets) -> Result<Vec<(Kernel, &'t Target)>, Failure> {
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

/// Return the tasks of the colony in a pass, small regions first.
pub fn ask(
    kernels: &[(Kernel, &Target)],
    options: Options,
    solved: &Solved,
    pass: u8,
) -> Result<Vec<Asked>, Failure> {
    let mut result = Ok(());
    let mut asked = solved.asked_of_ants(pass, || {
        result = kernels
            .par_iter()
            .try_for_each(|(kernel, target)| schedule_kernel(kernel, target, options, solved).map(drop));
    });
    asked.sort_by_key(|asked| asked.task().len());
    result.map(|()| asked)
}
