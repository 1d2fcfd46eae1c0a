//! The CUDA driver: the only place with unsafe calls.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use lowtide::colony::flat::Batch;

use super::{DeviceError, Spent, source};

/// Threads of a block that works for a region, and for an ant.
const THREADS: u32 = 256;
const THREADS_OF_ANT: u32 = 32;

/// Ants of a block. Groups are a multiple of it.
const ANTS_OF_BLOCK: u32 = 4;

/// Looking whether all is done makes the device wait for the host, so that it is not done after every iteration.
const ITERATIONS_BETWEEN_LOOKS: u32 = 4;

/// A CUDA device with the colony's code on it.
#[derive(Debug)]
pub struct Device {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    begin: CudaFunction,
    send: CudaFunction,
    learn: CudaFunction,
    name: String,
}

impl Device {
    /// The first device.
    pub fn open() -> Result<Device, DeviceError> {
        // SAFETY: looks for a library of that name and loads it; the driver's own start-up code is what runs then.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(DeviceError::NoLibrary("the NVIDIA driver (libcuda)"));
        }
        // SAFETY: as above.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            return Err(DeviceError::NoLibrary("NVIDIA's run-time compiler (libnvrtc)"));
        }
        let no_device = |error: DriverError| DeviceError::NoDevice(reason(error));
        let context = CudaContext::new(0).map_err(no_device)?;
        let name = context.name().map_err(no_device)?;
        let number = |attribute| context.attribute(attribute).map_err(no_device);
        let major = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let options = CompileOptions {
            options: vec![format!("--gpu-architecture=sm_{major}{minor}")],
            ..CompileOptions::default()
        };
        let binary = compile_ptx_with_opts(source(), options).map_err(|error| {
            DeviceError::Compile(match error {
                CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
                other => format!("{other:?}"),
            })
        })?;
        let stream = context.default_stream();
        let module = context.load_module(binary).map_err(no_device)?;
        let function = |name| module.load_function(name).map_err(no_device);
        let (begin, send) = (function("colony_begin")?, function("colony_send")?);
        let learn = function("colony_learn")?;
        Ok(Device { context, stream, begin, send, learn, name })
    }

    /// What the driver calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn free_bytes(&self) -> Result<u64, DeviceError> {
        self.context.mem_get_info().map(|(free, _)| free as u64).map_err(failed)
    }

    /// Uploads a batch in one piece for each array, runs it in one launch and downloads the answers.
    pub(super) fn run(&self, batch: &Batch, spent: &mut Spent) -> Result<Vec<u32>, DeviceError> {
        let start = Instant::now();
        let stream = &self.stream;
        let headers = stream.clone_htod(&batch.headers).map_err(failed)?;
        let words = stream.clone_htod(&batch.words).map_err(failed)?;
        let longs = stream.clone_htod(&batch.longs).map_err(failed)?;
        let mut answers = stream.alloc_zeros::<u32>(batch.answer_len).map_err(failed)?;
        // SAFETY: the colony writes everything in its working memory before it reads it.
        let mut work = unsafe { stream.alloc::<u64>((batch.work_bytes / 8) as usize) }.map_err(failed)?;
        stream.synchronize().map_err(failed)?;
        spent.transfer += start.elapsed().as_secs_f64();

        let start = Instant::now();
        let tasks = batch.len() as u32;
        let mut unfinished = stream.clone_htod(&[tasks]).map_err(failed)?;
        let for_tasks =
            LaunchConfig { grid_dim: (tasks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        let blocks = batch.ants.div_ceil(ANTS_OF_BLOCK);
        let for_ants = LaunchConfig {
            grid_dim: (tasks * blocks, 1, 1),
            block_dim: (ANTS_OF_BLOCK * THREADS_OF_ANT, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut function = &self.begin;
        for iteration in 0.. {
            let mut launch = stream.launch_builder(function);
            launch.arg(&headers).arg(&words).arg(&longs).arg(&mut work).arg(&mut answers);
            launch.arg(&mut unfinished).arg(&THREADS);
            // SAFETY: the arguments are those of the kernel in `colony.cu`, in their order. All positions in them come from the batch, which has planned the arrays for them;
            // there is a block for each of its headers.
            unsafe { launch.launch(for_tasks) }.map_err(failed)?;
            spent.launches += 1;
            let is_time_to_look = iteration % ITERATIONS_BETWEEN_LOOKS == 0;
            if is_time_to_look && stream.clone_dtoh(&unfinished).map_err(failed)? == [0] {
                break;
            }
            let mut launch = stream.launch_builder(&self.send);
            launch.arg(&headers).arg(&words).arg(&longs).arg(&mut work).arg(&blocks).arg(&ANTS_OF_BLOCK);
            // SAFETY: as above; there is a block for each part of the ants of each header.
            unsafe { launch.launch(for_ants) }.map_err(failed)?;
            spent.launches += 1;
            function = &self.learn;
        }
        spent.run += start.elapsed().as_secs_f64();

        let start = Instant::now();
        let answers = stream.clone_dtoh(&answers).map_err(failed)?;
        spent.transfer += start.elapsed().as_secs_f64();
        Ok(answers)
    }
}

fn failed(error: DriverError) -> DeviceError {
    DeviceError::Failed(reason(error))
}

fn reason(error: DriverError) -> String {
    error.error_string().map_or_else(|_| error.to_string(), |text| text.to_string_lossy().into_owned())
}
