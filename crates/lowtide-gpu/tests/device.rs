//! A real GPU against the colony itself, where there is one: the same schedules, bit for bit.

mod common;

use lowtide::colony::Task;
use lowtide_gpu::Device;

fn compare(device: &Device, tasks: &[Task]) {
    let tasks: Vec<&Task> = tasks.iter().collect();
    let (answers, spent) = device.solve(&tasks).expect("the device works");
    assert_eq!(answers.len(), tasks.len());
    assert!(spent.launches > 0 && spent.done_here == 0, "{spent:?}");
    for (task, answer) in tasks.iter().zip(answers) {
        assert_eq!(answer, task.run(1), "{} instructions", task.len());
    }
}

#[test]
fn the_device_makes_the_same_schedules() {
    let Some(device) = common::device() else { return };
    compare(&device, &common::made(1000));
    compare(&device, &common::asked(&common::real_kernels(), 100_000));
    // Again: nothing is left over from the last launch.
    compare(&device, &common::made(50));
    assert_eq!(device.solve(&[]).expect("nothing to do").0, []);
}
