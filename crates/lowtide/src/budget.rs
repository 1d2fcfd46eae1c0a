//! The limits of a search: a [`Budget`] as the user states it, and an [`Effort`] as a search consumes it.

#[cfg(test)]
pub(crate) mod clock;
pub(crate) mod stop;
#[cfg(test)]
mod time_limits;

pub use stop::Stop;

use std::time::{Duration, Instant};

/// The limits of a search, as the user states them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Wall time for each instruction of the region. `None` means no limit.
    pub time_per_instr: Option<Duration>,
    /// Steps of the search. `None` means no limit. With a step limit and no time limit, the result is the
    /// same on every machine.
    pub nodes: Option<u64>,
    /// Threads for one kernel or region. The regions of a kernel are searched side by side; the exact search
    /// of one region uses up to 32. The result depends on them only where a time limit ends a search.
    pub threads: usize,
}

impl Budget {
    /// No limit, one thread.
    pub const UNLIMITED: Budget = Budget { time_per_instr: None, nodes: None, threads: 1 };

    /// Return one of `parts` equal parts of the budget.
    pub(crate) fn part(&self, parts: u32) -> Budget {
        Budget {
            time_per_instr: self.time_per_instr.map(|time| time / parts),
            nodes: self.nodes.map(|nodes| nodes / u64::from(parts)),
            ..*self
        }
    }

    /// Return the budget less the time since `start`, for a region of `instrs` instructions.
    pub(crate) fn since(&self, start: Option<Instant>, instrs: usize) -> Budget {
        let spent = start.map_or(Duration::ZERO, |start| now().saturating_duration_since(start));
        let time_per_instr =
            self.time_per_instr.map(|time| time.saturating_sub(spent / instrs.max(1) as u32));
        Budget { time_per_instr, ..*self }
    }

    /// Start the time of a budget. `None` without a time limit.
    pub(crate) fn start(&self) -> Option<Instant> {
        self.time_per_instr.map(|_| now())
    }

    /// Start the effort of a region of `instrs` instructions: its time limit begins now.
    pub fn effort(&self, instrs: usize) -> Effort {
        let deadline = self.time_per_instr.and_then(|time| {
            let count = u32::try_from(instrs).unwrap_or(u32::MAX);
            now().checked_add(time.saturating_mul(count))
        });
        Effort { steps: self.nodes.unwrap_or(u64::MAX), deadline }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::UNLIMITED
    }
}

/// The rest of a budget while a search runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Steps left.
    pub steps: u64,
    /// The time limit.
    pub deadline: Option<Instant>,
}

impl Effort {
    /// No limit.
    pub const UNBOUNDED: Effort = Effort { steps: u64::MAX, deadline: None };

    /// Return whether no steps or no time are left.
    pub fn is_spent(&self) -> bool {
        self.steps == 0 || is_over(self.deadline)
    }

    /// Return the time that is left. `None` without a time limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(now()))
    }

    /// Return whether a preparation that takes `cost` leaves half of the time that is left, or more. Always
    /// true without a time limit.
    pub(crate) fn has_time_for(&self, cost: Duration) -> bool {
        self.time_left().is_none_or(|left| left >= 2 * cost)
    }

    /// Consume steps, or all of them if there are fewer.
    pub(crate) fn spend(&mut self, steps: u64) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// Run `run` with one of `parts` equal parts of the steps and the time that are left. Unused steps stay.
    pub(crate) fn with_share<T>(&mut self, parts: u32, run: impl FnOnce(&mut Effort) -> T) -> T {
        let share = self.share(parts);
        self.with(share, run)
    }

    /// Run `run` with all but one of `parts` equal parts of the rest. The last part is reserved for a later
    /// search.
    pub(crate) fn with_all_but<T>(&mut self, parts: u32, run: impl FnOnce(&mut Effort) -> T) -> T {
        let now = now();
        let kept = |deadline: Instant| deadline - deadline.saturating_duration_since(now) / parts;
        let steps = if self.steps == u64::MAX { 0 } else { self.steps / u64::from(parts) };
        let share = Effort { steps: self.steps - steps, deadline: self.deadline.map(kept) };
        self.with(share, run)
    }

    /// Run `run` with at most `most` of the remaining steps. Unused steps stay.
    pub(crate) fn with_steps<T>(&mut self, most: u64, run: impl FnOnce(&mut Effort) -> T) -> T {
        let share = self.up_to(most);
        self.with(share, run)
    }

    fn with<T>(&mut self, share: Effort, run: impl FnOnce(&mut Effort) -> T) -> T {
        let mut left = share;
        let result = run(&mut left);
        self.spend(share.steps - left.steps);
        result
    }

    /// Return one of `parts` equal parts of the rest, for a search that counts steps in another unit.
    pub(crate) fn share(&self, parts: u32) -> Effort {
        let deadline = self.deadline.map(|deadline| {
            let now = now();
            now + deadline.saturating_duration_since(now) / parts
        });
        let steps = if self.steps == u64::MAX { u64::MAX } else { self.steps / u64::from(parts) };
        Effort { steps, deadline }
    }

    /// Return at most `most` of the remaining steps, for a search that counts steps in another unit.
    pub(crate) fn up_to(&self, most: u64) -> Effort {
        Effort { steps: most.min(self.steps), deadline: self.deadline }
    }

    /// Reserve at most `most` steps for a search that may run at the same time.
    pub(crate) fn put_aside(&mut self, most: u64) -> Effort {
        let aside = self.up_to(most);
        self.steps -= aside.steps;
        aside
    }

    /// Take back the rest of a reserve.
    pub(crate) fn give_back(&mut self, left: Effort) {
        self.steps += left.steps;
    }
}

/// Return the time by the clock of all time limits. Tests replace this clock (`clock`).
pub(crate) fn now() -> Instant {
    #[cfg(test)]
    if let Some(time) = clock::look() {
        return time;
    }
    Instant::now()
}

/// Return whether a time limit is over, or a [`Stop`] ends the searches of this thread.
pub(crate) fn is_over(deadline: Option<Instant>) -> bool {
    stop::is_stopped() || deadline.is_some_and(|deadline| now() >= deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_share_does_not_use_stays() {
        let mut effort = Effort { steps: 100, deadline: None };
        let granted = effort.with_share(4, |share| {
            let granted = share.steps;
            share.spend(5);
            granted
        });
        assert_eq!((granted, effort.steps), (25, 95));
        effort.with_steps(20, |share| share.spend(1000));
        assert_eq!(effort.steps, 75);
        effort.with_steps(1000, |share| assert_eq!(share.steps, 75));
        effort.with_all_but(5, |share| {
            assert_eq!(share.steps, 60);
            share.spend(60);
        });
        assert_eq!(effort.steps, 15);
        let mut aside = effort.put_aside(10);
        assert_eq!((aside.steps, effort.steps), (10, 5));
        aside.spend(3);
        effort.give_back(aside);
        assert_eq!(effort.steps, 12);
    }

    #[test]
    fn shares_of_no_limit_have_no_limit() {
        let mut effort = Effort::UNBOUNDED;
        effort.with_share(8, |share| {
            assert_eq!(share.steps, u64::MAX);
            share.spend(7);
        });
        assert_eq!(effort.steps, u64::MAX - 7);
        let mut effort = Effort::UNBOUNDED;
        effort.with_all_but(8, |share| assert_eq!(share.steps, u64::MAX));
    }

    /// The number of the look at which the time of an effort is over.
    fn last_look(effort: &Effort) -> u32 {
        (0..10_000).find(|_| effort.is_spent()).expect("an end");
        clock::number_of_looks() - 1
    }

    #[test]
    fn the_time_of_a_budget_ends_at_its_end() {
        for (end, instrs) in [(1, 1), (1, 7), (80, 1), (80, 3), (81, 1000)] {
            clock::ticking(|| assert_eq!(last_look(&clock::until(end, instrs).effort(instrs)), end));
        }
        clock::ticking(|| assert!(!Budget::UNLIMITED.effort(5).is_spent()));
        let no_time = Budget { time_per_instr: Some(Duration::ZERO), ..Budget::UNLIMITED };
        clock::ticking(|| assert!(no_time.effort(5).is_spent()));
    }

    /// The share of an eighth starts at look 1 of 81: it has 10 of the 80 ticks left.
    #[test]
    fn a_share_of_the_time_ends_earlier() {
        let start = || clock::until(81, 1).effort(1);
        clock::ticking(|| assert_eq!(start().with_share(8, |share| last_look(share)), 11));
        clock::ticking(|| assert_eq!(start().with_share(1, |share| last_look(share)), 81));
        clock::ticking(|| assert_eq!(last_look(&start().share(4)), 21));
        clock::ticking(|| assert_eq!(start().with_all_but(8, |share| last_look(share)), 71));
        clock::ticking(|| assert_eq!(start().with_steps(5, |share| last_look(share)), 81));
        clock::ticking(|| assert_eq!(last_look(&start().put_aside(5)), 81));
    }

    /// A later share is one of what is left then; the share of a share ends within it.
    #[test]
    fn shares_of_the_time_are_shares_of_the_rest() {
        clock::ticking(|| {
            let mut effort = clock::until(81, 1).effort(1);
            assert_eq!(effort.with_share(8, |share| last_look(share)), 11);
            // Look 12 finds 69 ticks left, look 36 finds 45.
            assert_eq!(effort.with_share(3, |share| last_look(share)), 35);
            assert_eq!(effort.with_all_but(5, |share| last_look(share)), 72);
            assert_eq!(last_look(&effort), 81);
            assert_eq!(effort.with_share(2, |share| last_look(share)), 83, "a share of no time is no time");
        });
        clock::ticking(|| {
            // Look 1 leaves 40 of 80 ticks, until 41; look 2 leaves 13 of 39, until 15.
            let mut effort = clock::until(81, 1).effort(1);
            assert_eq!(effort.with_share(2, |half| half.with_share(3, |share| last_look(share))), 15);
            assert_eq!(last_look(&effort), 81);
        });
    }
}
