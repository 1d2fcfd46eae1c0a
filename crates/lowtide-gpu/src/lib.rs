//! The ant colony on a GPU: all regions of all kernels at a time (paper 4, Sections IV-B and V, and its
//! future work).
//!
//! Paper 4 gives the whole device to one region after the other, and one thread to each ant. Here one launch
//! runs the ants of all regions, with 32 threads for each ant. A second launch updates the pheromones of
//! every region. The schedules are those of [`lowtide::colony`], bit for bit.
//!
//! [`Device::open`] loads CUDA at run time: the crate builds and runs without it. If CUDA is missing, the
//! error names the library. Without the feature `cuda`, [`Device::open`] always fails with
//! [`DeviceError::NotBuilt`].
//!
//! ```
//! match lowtide_gpu::Device::open() {
//!     Ok(device) => println!("{}", device.name()),
//!     Err(error) => println!("no GPU: {error}"),
//! }
//! ```

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "no_cuda.rs"]
mod cuda;
mod technique;

use std::time::Instant;

use lowtide::colony::flat::Batch;
use lowtide::colony::{Answer, Task};
use thiserror::Error;

pub use cuda::Device;
pub use technique::Technique;

/// Why a GPU cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DeviceError {
    /// The feature `cuda` is off.
    #[error("this build has no CUDA support: build Lowtide with the feature `cuda`")]
    NotBuilt,
    /// A library of the driver or of CUDA is missing.
    #[error("{0} was not found: install CUDA or its driver")]
    NoLibrary(&'static str),
    /// The driver finds no device, or refuses it.
    #[error("no CUDA device can be used: {0}")]
    NoDevice(String),
    /// The device code does not compile. A cause is a version of CUDA that is too old.
    #[error("the device code does not compile: {0}")]
    Compile(String),
    /// The device failed during a run.
    #[error("the GPU failed: {0}")]
    Failed(String),
    /// The answer of the device is not a schedule.
    #[error("the answer of the GPU is not a schedule of {0} instructions")]
    Wrong(usize),
}

/// Return the device code. NVRTC compiles it at run time for the GPU at hand.
pub fn source() -> String {
    Batch::prelude() + concat!(include_str!("colony/ant.cu"), include_str!("colony/iteration.cu"))
}

/// The work of a device, with times in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
    /// Launches.
    pub launches: u32,
    /// Tasks that did not fit onto the device and ran on the host.
    pub done_here: usize,
    /// Seconds of the host: to assemble the tasks and to check the answers.
    pub host: f64,
    /// Seconds of transfers, in both directions.
    pub transfer: f64,
    /// Seconds of the device.
    pub run: f64,
}

impl Device {
    /// Solve all tasks and return the answers in the order of the tasks. Tasks that do not fit onto the
    /// device run on the host.
    pub fn solve(&self, tasks: &[&Task]) -> Result<(Vec<Answer>, Spent), DeviceError> {
        let mut spent = Spent::default();
        let started = Instant::now();
        let mut answers: Vec<Option<Answer>> = vec![None; tasks.len()];
        // The longest tasks first: the device does not wait for a long one at the end.
        let mut order: Vec<usize> = (0..tasks.len()).filter(|&task| !tasks[task].is_solved()).collect();
        order.sort_by_key(|&task| std::cmp::Reverse(tasks[task].len()));
        let room = self.free_bytes()? / 10 * 9;
        let mut batch = (self.new_batch(), Vec::new());
        for task in order {
            let Some(bytes) = self.new_batch().bytes_of(tasks[task]).filter(|&bytes| bytes <= room) else {
                continue;
            };
            if batch.0.work_bytes + bytes > room || !self.uses(Technique::Batches) {
                self.launch(&mut batch, tasks, &mut answers, &mut spent)?;
            }
            if batch.0.push(tasks[task]) {
                batch.1.push(task);
            }
        }
        self.launch(&mut batch, tasks, &mut answers, &mut spent)?;
        let mut done_here = 0;
        let all = answers.into_iter().zip(tasks).map(|(answer, task)| {
            answer.unwrap_or_else(|| {
                done_here += usize::from(!task.is_solved());
                task.run(1)
            })
        });
        let all = all.collect();
        spent.done_here = done_here;
        spent.host = started.elapsed().as_secs_f64() - spent.transfer - spent.run;
        Ok((all, spent))
    }

    fn new_batch(&self) -> Batch {
        let mut batch = Batch::default();
        batch.has_loose_lists = !self.uses(Technique::Lists);
        batch
    }

    /// Run a batch and empty it.
    fn launch(
        &self,
        (batch, members): &mut (Batch, Vec<usize>),
        tasks: &[&Task],
        answers: &mut [Option<Answer>],
        spent: &mut Spent,
    ) -> Result<(), DeviceError> {
        let batch = std::mem::replace(batch, self.new_batch());
        let members = std::mem::take(members);
        if batch.is_empty() {
            return Ok(());
        }
        let words = self.run(&batch, spent)?;
        for (task, answer) in members.into_iter().zip(batch.answers(&words)) {
            let right = answer.filter(|answer| tasks[task].accepts(answer));
            answers[task] = Some(right.ok_or(DeviceError::Wrong(tasks[task].len()))?);
        }
        Ok(())
    }
}
