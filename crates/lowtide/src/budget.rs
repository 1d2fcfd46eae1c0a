//! How much a search may spend: a [`Budget`] as the user states it, and an [`Effort`] as a search uses it up.

use std::time::{Duration, Instant};

/// The limits of a search, as the user states them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Wall time for each instruction of the region. None: no limit.
    pub time_per_instr: Option<Duration>,
    /// Steps of the search. None: no limit. The result is then the same on every machine.
    pub nodes: Option<u64>,
    /// Threads for the search of one region. The exact search uses up to four. The number of threads changes the result only where the clock ends a search.
    pub threads: usize,
}

impl Budget {
    /// No limit, one thread.
    pub const UNLIMITED: Budget = Budget { time_per_instr: None, nodes: None, threads: 1 };

    /// Half of the budget, for one of two searches.
    pub(crate) fn half(&self) -> Budget {
        Budget {
            time_per_instr: self.time_per_instr.map(|time| time / 2),
            nodes: self.nodes.map(|nodes| nodes / 2),
            ..*self
        }
    }

    /// The effort that the budget allows for a region of `instrs` instructions, from now on.
    pub fn effort(&self, instrs: usize) -> Effort {
        let deadline = self.time_per_instr.and_then(|time| {
            let count = u32::try_from(instrs).unwrap_or(u32::MAX);
            Instant::now().checked_add(time.saturating_mul(count))
        });
        Effort { steps: self.nodes.unwrap_or(u64::MAX), deadline }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::UNLIMITED
    }
}

/// What is left of a budget while a search runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Steps left.
    pub steps: u64,
    /// The moment to stop at.
    pub deadline: Option<Instant>,
}

impl Effort {
    /// No limit.
    pub const UNBOUNDED: Effort = Effort { steps: u64::MAX, deadline: None };

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.steps == 0 || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn spend(&mut self, steps: u64) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// One of so many parts of what is left, for something that must not take all of it. What it took is for the caller to subtract.
    pub(crate) fn share(&self, parts: u32) -> Effort {
        let deadline = self.deadline.map(|deadline| {
            let now = Instant::now();
            now + deadline.saturating_duration_since(now) / parts
        });
        Effort {
            steps: if self.steps == u64::MAX { u64::MAX } else { self.steps / u64::from(parts) },
            deadline,
        }
    }

    /// All but one of so many parts of what is left: the last one is for something that comes after.
    pub(crate) fn all_but(&self, parts: u32) -> Effort {
        let now = Instant::now();
        let kept = |deadline: Instant| deadline - deadline.saturating_duration_since(now) / parts;
        let steps = if self.steps == u64::MAX { 0 } else { self.steps / u64::from(parts) };
        Effort { steps: self.steps - steps, deadline: self.deadline.map(kept) }
    }
}
