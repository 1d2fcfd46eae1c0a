//! Threads that work together on one region or kernel.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Return `run` of every number below `count`, computed on at most `threads` threads.
pub(crate) fn map<T: Send>(threads: usize, count: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if threads.min(count) < 2 {
        return (0..count).map(run).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        numbers.take_while(|&number| number < count).map(|number| (number, run(number))).collect::<Vec<_>>()
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(same_clock(work))).collect();
        let mut results = work();
        others.into_iter().for_each(|other| results.extend(join(other)));
        results
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        let squares: Vec<usize> = (0..100).map(|number| number * number).collect();
        for threads in [0, 1, 2, 3, 200] {
            assert_eq!(map(threads, 100, |number| number * number), squares);
        }
        assert!(map(2, 0, |number| number).is_empty());
        assert!(catch_unwind(|| map(2, 10, |number| assert!(number < 9))).is_err());
    }

    #[test]
    fn results_and_panics_are_passed_on() {
        assert_eq!(std::thread::scope(|scope| join(scope.spawn(|| 3))), 3);
        let failing = || std::thread::scope(|scope| join(scope.spawn(|| panic!("failed on purpose"))));
        let panic = catch_unwind(failing).expect_err("the panic of the thread");
        assert_eq!(panic.downcast_ref(), Some(&"failed on purpose"));
    }
}
