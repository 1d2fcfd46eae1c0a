//! A clock for tests. Time passes only by looking: each look takes one [`TICK`]. So a time limit ends at a
//! known look, on every machine.
//!
//! The clock belongs to a thread, and [`threads::same_clock`](crate::threads::same_clock) passes it on.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{Budget, Effort};

/// The time from one look to the next.
pub(crate) const TICK: Duration = Duration::from_millis(1);

#[derive(Clone)]
struct Clock {
    start: Instant,
    looks: Arc<AtomicU32>,
}

thread_local! {
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// Look at the clock, if this thread has one. Look number 0 returns the start.
pub(super) fn look() -> Option<Instant> {
    let look = |clock: &Clock| clock.start + TICK * clock.looks.fetch_add(1, Ordering::Relaxed);
    CLOCK.with_borrow(|clock| clock.as_ref().map(look))
}

/// Return how often this thread's clock was looked at.
pub(super) fn number_of_looks() -> u32 {
    CLOCK.with_borrow(|clock| clock.as_ref().map_or(0, |clock| clock.looks.load(Ordering::Relaxed)))
}

/// Run something with a new clock. Return its result and the number of looks.
pub(crate) fn ticking<T>(run: impl FnOnce() -> T) -> (T, u32) {
    let clock = Clock { start: Instant::now(), looks: Arc::default() };
    let result = with(Some(clock.clone()), run);
    (result, clock.looks.load(Ordering::Relaxed))
}

/// Return `run` for another thread, with the clock of this one.
pub(crate) fn shared<T>(run: impl FnOnce() -> T + Send) -> impl FnOnce() -> T + Send {
    let clock = CLOCK.with_borrow(Clone::clone);
    || with(clock, run)
}

fn with<T>(clock: Option<Clock>, run: impl FnOnce() -> T) -> T {
    let before = CLOCK.replace(clock);
    let result = run();
    CLOCK.set(before);
    result
}

/// Return a budget for a region of `instrs` instructions. Its time is over from look `end` on, if its effort
/// starts at look 0.
pub(crate) fn until(end: u32, instrs: usize) -> Budget {
    // Rounding makes the time shorter by less than a tick.
    Budget { time_per_instr: Some(TICK * end / instrs as u32), ..Budget::UNLIMITED }
}

/// Run a search again and again, each time until a later look, up to look `last`. Stop when its time
/// suffices. Assert that each run ends at most `late` looks after its time is over. Return the number of runs
/// whose time was over.
///
/// `search` starts its effort at the first look, and asserts that its result is valid.
pub(crate) fn end_in_time(last: u32, late: u32, instrs: usize, mut search: impl FnMut(Budget)) -> u32 {
    let (mut runs, mut end) = (0, 1);
    while end <= last {
        let ((), looks) = ticking(|| search(until(end, instrs)));
        if looks <= end {
            break;
        }
        assert!(looks - end <= late, "{instrs} instructions, time until look {end}: {looks} looks");
        runs += 1;
        end += 1 + end / 3;
    }
    runs
}

/// Return the most steps that a search takes between two looks. `search` is deterministic, and takes no share
/// of its effort: then two runs whose time ends one look apart do the same up to the first end.
pub(crate) fn most_steps_between_looks(last: u32, mut search: impl FnMut(&mut Effort)) -> u64 {
    const STEPS: u64 = 1 << 60;
    let mut steps_until = |end: u32| {
        let run = || {
            let mut effort = Budget { nodes: Some(STEPS), ..until(end, 1) }.effort(1);
            search(&mut effort);
            STEPS - effort.steps
        };
        ticking(run)
    };
    let mut most = 0;
    let (mut end, mut before) = (1, 0);
    loop {
        let (steps, looks) = steps_until(end);
        most = most.max(steps - before);
        if looks <= end || end == last {
            return most;
        }
        (end, before) = (end + 1, steps);
    }
}
