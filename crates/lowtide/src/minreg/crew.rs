//! Threads that wait for short jobs.
//!
//! A round of the search takes about a millisecond, and a cut a tenth of that, so starting threads for each
//! of them would cost too much. A crew keeps its threads until the last job. Idle threads spin for a moment
//! before they sleep.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::threads;

/// The looks of an idle thread for a job before it sleeps: about a millisecond.
const LOOKS: u32 = 50_000;

#[derive(Default)]
struct Crew {
    /// The open jobs: the number of the first one in the low half, and the end in the high half.
    open: AtomicU64,
    done: AtomicUsize,
    is_over: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    door: Mutex<()>,
    wake: Condvar,
}

/// Run `lead`, which can hand out jobs: its argument runs `work` for each number of a range, on all threads,
/// and returns when all of them are done. A panic of a job continues in `lead`.
pub(super) fn with_crew<T>(
    threads: usize,
    work: impl Fn(usize) + Sync,
    lead: impl FnOnce(&dyn Fn(Range<usize>)) -> T,
) -> T {
    let crew = Crew::default();
    std::thread::scope(|scope| {
        let _end = End(&crew);
        for _ in 1..threads {
            scope.spawn(threads::same_clock(|| crew.serve(&work)));
        }
        lead(&|jobs| crew.run(jobs, &work))
    })
}

/// Lets all threads of a crew end, also after a panic.
struct End<'c>(&'c Crew);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.wake_all();
    }
}

impl Crew {
    fn run(&self, jobs: Range<usize>, work: &impl Fn(usize)) {
        let count = jobs.len();
        self.done.store(0, Ordering::Relaxed);
        self.open.store((jobs.end as u64) << 32 | jobs.start as u64, Ordering::Release);
        self.wake_all();
        while let Some(job) = self.take() {
            self.work_on(job, work);
        }
        let mut looks = 0;
        while self.done.load(Ordering::Acquire) < count {
            looks += 1;
            match looks < LOOKS {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
        }
        let panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Work for the crew until its end.
    fn serve(&self, work: &impl Fn(usize)) {
        let mut looks = 0;
        while !self.is_over.load(Ordering::Acquire) {
            if let Some(job) = self.take() {
                self.work_on(job, work);
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
            } else {
                let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
                while !self.has_jobs() && !self.is_over.load(Ordering::Acquire) {
                    door = self.wake.wait(door).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn work_on(&self, job: usize, work: &impl Fn(usize)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(job))) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        self.done.fetch_add(1, Ordering::Release);
    }

    fn has_jobs(&self) -> bool {
        next(self.open.load(Ordering::Acquire)).is_some()
    }

    fn take(&self) -> Option<usize> {
        let taken = self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        taken.ok().map(|open| open as u32 as usize)
    }

    fn wake_all(&self) {
        // A thread that is about to sleep holds the door, so it does not miss this.
        drop(self.door.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }
}

/// Return the open jobs without the first one, or `None` if there is none.
fn next(open: u64) -> Option<u64> {
    ((open as u32) < (open >> 32) as u32).then(|| open + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_runs_once() {
        for threads in [1, 2, 5] {
            let counts: Vec<AtomicUsize> = (0..40).map(|_| AtomicUsize::new(0)).collect();
            let work = |job: usize| {
                counts[job].fetch_add(1, Ordering::Relaxed);
            };
            let rounds = with_crew(threads, work, |run| {
                for round in 1..=300 {
                    run(0..30);
                    run(30..40);
                    run(7..7);
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                    if round % 100 == 0 {
                        // Long enough for all threads to sleep.
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                }
                300
            });
            assert_eq!(rounds, 300);
        }
    }

    #[test]
    fn panics_are_passed_on() {
        for threads in [1, 4] {
            let of_a_job = || with_crew(threads, |job| assert!(job < 9, "job {job}"), |run| run(0..20));
            assert!(catch_unwind(of_a_job).is_err());
            let of_the_lead = || with_crew(threads, |_| {}, |_| panic!("on purpose"));
            assert!(catch_unwind(of_the_lead).is_err());
        }
    }
}
