//! A watchdog for runs of the solver that a limit or a flag must end: without it, a limit that is ignored
//! would hang the tests instead of failing one.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// More than any of these runs takes on a slow and busy machine.
const LONG_ENOUGH: Duration = Duration::from_secs(600);

/// Return the result of a run. Fail if it does not end.
pub(crate) fn must_end<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    must_end_within(LONG_ENOUGH, run)
}

fn must_end_within<T: Send + 'static>(time: Duration, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    // A run that does not end is left behind: nothing can end it but the end of the process.
    let thread = thread::spawn(move || {
        let _ = sender.send(run());
    });
    match receiver.recv_timeout(time) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("the solver has not ended within {} s", time.as_secs_f64()),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => unreachable!("a run without a panic sends its result"),
        },
    }
}

#[test]
fn results_and_panics_are_passed_on() {
    assert_eq!(must_end(|| 3), 3);
    let panic = std::panic::catch_unwind(|| must_end(|| panic!("failed on purpose")));
    assert_eq!(panic.expect_err("a panic").downcast_ref(), Some(&"failed on purpose"));
}

#[test]
#[should_panic(expected = "the solver has not ended within 0.01 s")]
fn a_run_that_does_not_end_fails() {
    must_end_within(Duration::from_millis(10), || thread::sleep(Duration::from_secs(3600)));
}
