//! A switch that ends searches from outside, whatever their budget.
//!
//! The switch belongs to a thread, and [`threads::same_clock`](crate::threads::same_clock) passes it on. So
//! no search has to carry it, and it is no part of a budget, which is part of the cache keys of a session.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// A switch for another thread, or for a signal: it ends the searches of a call as if their budgets were
/// spent. The call then returns the best schedules found so far.
///
/// A session keeps the answers of searches that were ended, like all others: drop the session after a stop.
/// Its store gets none of them.
///
/// ```
/// use lowtide::budget::Stop;
///
/// let stop = Stop::new();
/// let other = stop.clone(); // for the thread that stops this one
/// let outcome = stop.run(|| "call schedule_kernel here");
/// # other.stop();
/// # assert!(stop.is_stopped() && outcome.ends_with("here"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A switch that nobody has used yet.
    pub fn new() -> Self {
        Stop::default()
    }

    /// End all searches of [`Stop::run`], now and later.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Return whether the switch was used.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Run something whose searches this switch can end.
    pub fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        with(Some(self.clone()), run)
    }
}

/// Return whether the searches of this thread are to end.
pub(crate) fn is_stopped() -> bool {
    CURRENT.with_borrow(|stop| stop.as_ref().is_some_and(Stop::is_stopped))
}

/// Return `run` for another thread, with the switch of this one.
pub(crate) fn shared<T>(run: impl FnOnce() -> T + Send) -> impl FnOnce() -> T + Send {
    let stop = CURRENT.with_borrow(Clone::clone);
    || with(stop, run)
}

fn with<T>(stop: Option<Stop>, run: impl FnOnce() -> T) -> T {
    /// Restores the switch also after a panic: the thread may go on.
    struct Restore(Option<Stop>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restore = Restore(CURRENT.replace(stop));
    run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Effort};
    use crate::generate::families::layered;
    use crate::pipeline::{Options, schedule_kernel};
    use crate::problem::Goal;
    use crate::region::Kernel;
    use crate::session::Session;
    use crate::target::Target;
    use std::time::{Duration, Instant};

    #[test]
    fn a_switch_ends_efforts_of_its_own_call_only() {
        let stop = Stop::new();
        assert!(!stop.run(|| Effort::UNBOUNDED.is_spent()));
        stop.stop();
        assert!(stop.run(|| Effort::UNBOUNDED.is_spent()));
        assert!(!Effort::UNBOUNDED.is_spent(), "no switch is left behind");
        let other = Stop::new();
        assert!(!stop.run(|| other.run(|| Effort::UNBOUNDED.is_spent())));
        assert!(stop.run(|| std::thread::scope(|scope| {
            scope.spawn(crate::threads::same_clock(|| Effort::UNBOUNDED.is_spent())).join().unwrap()
        })));
        let panicked = std::panic::catch_unwind(|| stop.run(|| panic!("on purpose")));
        assert!(panicked.is_err() && !Effort::UNBOUNDED.is_spent());
    }

    /// Without a budget, these searches take minutes or more. The schedules of a stopped call are legal,
    /// since the library checks every schedule.
    #[test]
    fn a_search_without_limits_ends_soon_after_the_switch() {
        let target = Target::builtin("gfx906").expect("a built-in target");
        for threads in [1, 4] {
            // Wide layers have many orders and weak bounds.
            let region = layered(1200, 120, 7);
            let kernel = Kernel::new("k", vec![region.clone()]);
            let budget = Budget { threads, ..Budget::UNLIMITED };
            let options = Options::default().with_goal(Goal::MinReg).with_budget(budget);
            let stop = Stop::new();
            let ended = std::thread::scope(|scope| {
                let search =
                    scope.spawn(|| stop.run(|| schedule_kernel(&kernel, &target, &options, &Session::new())));
                std::thread::sleep(Duration::from_millis(300));
                let is_running = !search.is_finished();
                stop.stop();
                let start = Instant::now();
                let outcome = search.join().expect("no panic").expect("a legal schedule");
                assert_eq!(outcome.regions[0].schedule.order().len(), region.len());
                (is_running, start.elapsed())
            });
            assert!(ended.0, "the search is too easy for this test");
            assert!(ended.1 < Duration::from_secs(20), "{:?}", ended.1);
        }
    }
}
