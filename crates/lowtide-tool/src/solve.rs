//! The library's entry points, with the failures and the progress of this program.

use lowtide::pipeline::{KernelOutcome, Options};
use lowtide::region::Kernel;
pub use lowtide::solved::{Asked, Solved};
use lowtide::target::Target;

use crate::{Failure, progress};

/// Return an empty store of results. On a terminal, its searches print their progress.
pub fn solved() -> Solved {
    match progress::observer() {
        Some(observer) => Solved::new().observed_by(observer),
        None => Solved::new(),
    }
}

/// Schedule all regions of a kernel together.
pub fn schedule_kernel(
    kernel: &Kernel,
    target: &Target,
    options: Options,
    solved: &Solved,
) -> Result<KernelOutcome, Failure> {
    lowtide::pipeline::schedule_kernel(kernel, target, options, solved).map_err(Failure::target(&kernel.name))
}
