//! Faults of a real GPU, where there is one: no memory, and an error in the middle of the work. (A process of
//! its own, since a device that failed is lost for all of it.)
#![cfg(feature = "cuda")]
#![allow(unsafe_code)]

#[allow(dead_code)] // has more than is needed here
mod common;

use std::time::Duration;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
use lowtide::colony::Task;
use lowtide_gpu::{Device, DeviceError};

/// Waits for so many nanoseconds, then does what no kernel may.
const FAULT: &str = r#"
extern "C" __global__ void fault(unsigned long long wait) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < wait);
    *(volatile int*)8 = 1;
}"#;

#[test]
fn faults_end_in_the_processors_result_or_an_error() {
    let Some(device) = common::device() else { return };
    let tasks = common::made(100);
    let tasks: Vec<&Task> = tasks.iter().collect();
    let expected: Vec<_> = tasks.iter().map(|task| task.run(1)).collect();

    // Somebody else has nearly all of the memory: smaller batches, and the processor does what is too large.
    let context = CudaContext::new(0).expect("a device");
    let stream = context.new_stream().expect("a stream");
    let mut taken = Vec::new();
    for share in [9, 9, 9, 9] {
        let (free, _) = context.mem_get_info().expect("known");
        taken.extend(stream.alloc_zeros::<u8>(free / 10 * share));
    }
    stream.synchronize().expect("memory is taken");
    match device.solve(&tasks) {
        Ok((answers, spent)) => {
            println!("with {:?} bytes free: {spent:?}", context.mem_get_info().expect("known").0);
            assert_eq!(answers, expected);
        }
        Err(error) => assert!(matches!(error, DeviceError::Failed(_)), "{error}"),
    }
    drop(taken);
    stream.synchronize().expect("memory is given back");
    assert_eq!(device.solve(&tasks).expect("it works again").0, expected);

    // A fault in the middle of a batch.
    let code = compile_ptx(FAULT).expect("compiles");
    let fault = context.load_module(code).expect("loads").load_function("fault").expect("is there");
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    let many: Vec<&Task> = tasks.iter().copied().cycle().take(40 * tasks.len()).collect();
    let wait = Duration::from_millis(5).as_nanos() as u64;
    // SAFETY: the argument is that of the kernel. What it does is what is tested.
    unsafe { stream.launch_builder(&fault).arg(&wait).launch(one) }.expect("starts");
    let error = device.solve(&many).expect_err("the device is lost");
    println!("after a fault: {error}");
    assert!(matches!(error, DeviceError::Failed(_)), "{error}");
    // It stays lost, and says so.
    assert!(matches!(device.solve(&tasks), Err(DeviceError::Failed(_))));
    assert!(Device::open().is_err());
}
