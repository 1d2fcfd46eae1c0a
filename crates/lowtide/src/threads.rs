//! Threads that work together within one search.

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// Wait for a thread and return its result. A panic of the thread continues in the caller: a failed assertion
/// must not look like a search without a result.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Return `run` for another thread. What ends the searches of this thread ends those of the other one: a
/// [`Stop`](crate::budget::Stop), and the clock, which only tests replace.
pub(crate) fn same_clock<T>(run: impl FnOnce() -> T + Send) -> impl FnOnce() -> T + Send {
    #[cfg(test)]
    let run = crate::budget::clock::shared(run);
    crate::budget::stop::shared(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn results_and_panics_are_passed_on() {
        assert_eq!(std::thread::scope(|scope| join(scope.spawn(|| 3))), 3);
        let failing = || std::thread::scope(|scope| join(scope.spawn(|| panic!("failed on purpose"))));
        let panic = catch_unwind(failing).expect_err("the panic of the thread");
        assert_eq!(panic.downcast_ref(), Some(&"failed on purpose"));
    }
}
