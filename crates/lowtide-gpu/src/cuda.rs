//! The CUDA driver. All unsafe calls of the crate are here.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
};
use cudarc::driver::sys::CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DeviceRepr, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use lowtide::colony::flat::Batch;

use super::technique::definitions;
use super::{DeviceError, Spent, Technique, source};

/// Threads of a block that works for a region.
const THREADS: u32 = 256;

/// Ants of a block, and threads of each: 32 threads for an ant, or one (as in paper 4).
const BLOCK: (u32, u32) = (4, 32);
const BLOCK_WITHOUT_WARPS: (u32, u32) = (64, 1);

/// The heap from which ants allocate without [`Technique::Planning`].
const HEAP_BYTES: usize = 16 << 30;

/// Iterations between two checks for the end. A check makes the device wait for the host.
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
    /// The disabled techniques.
    without: Vec<Technique>,
}

impl Device {
    /// Open the first device.
    pub fn open() -> Result<Device, DeviceError> {
        Device::open_without(&[])
    }

    /// Open the first device with some techniques disabled, to measure their effect.
    pub fn open_without(techniques: &[Technique]) -> Result<Device, DeviceError> {
        // SAFETY: looks for a library of that name and loads it, which runs the driver's start-up code.
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
        let mut flags = vec![format!("--gpu-architecture=sm_{major}{minor}")];
        flags.extend(definitions(techniques).iter().map(|name| format!("-D{name}")));
        let options = CompileOptions { options: flags, ..CompileOptions::default() };
        let binary = compile_ptx_with_opts(source(), options).map_err(|error| {
            DeviceError::Compile(match error {
                CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
                other => format!("{other:?}"),
            })
        })?;
        // The heap can be resized only before the first allocation.
        if techniques.contains(&Technique::Planning)
            && context.get_limit(CU_LIMIT_MALLOC_HEAP_SIZE).map_err(no_device)? < HEAP_BYTES
        {
            context.set_limit(CU_LIMIT_MALLOC_HEAP_SIZE, HEAP_BYTES).map_err(no_device)?;
        }
        let stream = context.default_stream();
        let module = context.load_module(binary).map_err(no_device)?;
        let function = |name| module.load_function(name).map_err(no_device);
        let (begin, send) = (function("colony_begin")?, function("colony_send")?);
        let learn = function("colony_learn")?;
        Ok(Device { context, stream, begin, send, learn, name, without: techniques.to_vec() })
    }

    pub(super) fn uses(&self, technique: Technique) -> bool {
        !self.without.contains(&technique)
    }

    /// Return the name that the driver reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn free_bytes(&self) -> Result<u64, DeviceError> {
        self.context.mem_get_info().map(|(free, _)| free as u64).map_err(failed)
    }

    /// Copy an array to the device.
    fn upload<T: DeviceRepr>(&self, items: &[T], pieces: &[usize]) -> Result<CudaSlice<T>, DeviceError> {
        if self.uses(Technique::Transfers) {
            return self.stream.clone_htod(items).map_err(failed);
        }
        // SAFETY: the pieces cover the whole array.
        let mut all = unsafe { self.stream.alloc::<T>(items.len()) }.map_err(failed)?;
        for (place, &start) in pieces.iter().enumerate() {
            let end = pieces.get(place + 1).copied().unwrap_or(items.len());
            if start < end {
                let mut piece = all.slice_mut(start..end);
                self.stream.memcpy_htod(&items[start..end], &mut piece).map_err(failed)?;
            }
        }
        Ok(all)
    }

    /// Upload a batch, run it with two launches for each iteration, and download the answers.
    pub(super) fn run(&self, batch: &Batch, spent: &mut Spent) -> Result<Vec<u32>, DeviceError> {
        let start = Instant::now();
        let stream = &self.stream;
        let header_starts: Vec<usize> = (0..batch.headers.len()).step_by(Batch::header_len()).collect();
        let headers = self.upload(&batch.headers, &header_starts)?;
        let words = self.upload(&batch.words, &batch.word_starts)?;
        let longs = self.upload(&batch.longs, &batch.long_starts)?;
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
        let (ants, threads) = if self.uses(Technique::Warps) { BLOCK } else { BLOCK_WITHOUT_WARPS };
        let blocks = batch.ants.div_ceil(ants);
        let for_ants = LaunchConfig {
            grid_dim: (tasks * blocks, 1, 1),
            block_dim: (ants * threads, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut function = &self.begin;
        for iteration in 0.. {
            let mut launch = stream.launch_builder(function);
            launch.arg(&headers).arg(&words).arg(&longs).arg(&mut work).arg(&mut answers);
            launch.arg(&mut unfinished).arg(&THREADS);
            // SAFETY: the arguments are those of the kernel in `colony/iteration.cu`, in their order. All
            // positions in them come from the batch, which has planned the arrays for them. There is a block
            // for each of its headers.
            unsafe { launch.launch(for_tasks) }.map_err(failed)?;
            spent.launches += 1;
            let is_time_to_look = iteration % ITERATIONS_BETWEEN_LOOKS == 0;
            if is_time_to_look && stream.clone_dtoh(&unfinished).map_err(failed)? == [0] {
                break;
            }
            let mut launch = stream.launch_builder(&self.send);
            launch.arg(&headers).arg(&words).arg(&longs).arg(&mut work).arg(&blocks).arg(&ants);
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
