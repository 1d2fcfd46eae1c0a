//! Proofs that no schedule of a graph meets a target: first by windows, then by search.
//!
//! Windows are cheap and refute many targets. If they do not refute one, they narrow the search, which either
//! finds a schedule or refutes the target. A refuted target raises the lower bound.

use super::Rules;
use super::search::Search;
use super::timed::Timed;
use super::windows::Windows;
use crate::budget::Effort;
use crate::index::InstrId;
use crate::progress::Watch;
use crate::region::Region;
use crate::verdict::Verdict;

/// Windows and searches of one graph, with their results.
pub(crate) struct Prover<'a> {
    windows: Windows<'a>,
    searches: Vec<Search<'a>>,
    rules: Rules,
    watch: Watch<'a>,
    /// A lower bound on the length within the limits.
    pub(crate) bound: u32,
    /// The last schedule found.
    pub(crate) found: Option<Vec<InstrId>>,
}

impl<'a> Prover<'a> {
    /// Make a prover. `graphs` are the same region from one end of time (forwards first) or both; `known` is
    /// an order within the limits.
    pub(crate) fn new(
        region: &'a Region,
        graphs: &'a [Timed],
        limits: &[Option<u32>],
        rules: Rules,
        known: &[InstrId],
        watch: Watch<'a>,
    ) -> Self {
        Prover {
            windows: Windows::new(region, &graphs[0], limits, known),
            searches: graphs.iter().map(|graph| Search::new(graph, rules)).collect(),
            rules,
            watch,
            bound: 0,
            found: None,
        }
    }

    /// Return the states of all searches.
    pub(crate) fn nodes(&self) -> u64 {
        self.searches.iter().map(|search| search.nodes).sum()
    }

    fn raise_bound(&mut self, bound: u32) {
        if bound > self.bound {
            self.bound = bound;
            self.watch.proved(self.nodes(), bound);
        }
    }

    /// Raise the bound by waves and areas alone, in the windows that latencies leave. They are the cheapest
    /// proof, and the only one that takes about as long for every target.
    pub(crate) fn refute_by_waves(&mut self, length: u32, effort: &mut Effort) {
        let mut is_refuted = |target: u32, effort: &mut Effort| {
            !self.windows.open(target) || self.windows.needs_more_waves(effort)
        };
        // The lowest target that may be refuted, and the lowest one that is not.
        let (mut bound, mut open) = (self.bound, length);
        // Most often, not even the lowest target is refuted.
        if bound >= open || effort.is_spent() || !is_refuted(bound, effort) {
            return;
        }
        bound += 1;
        while bound < open && !effort.is_spent() {
            let target = bound + (open - bound) / 2;
            match is_refuted(target, effort) {
                true => bound = target + 1,
                false => open = target,
            }
        }
        self.raise_bound(bound);
    }

    /// Raise the bound by windows, with or without sizes. First try to refute all lengths below `length`,
    /// then go up from below in growing steps, then bisect.
    pub(crate) fn refute(&mut self, length: u32, with_sizes: bool, effort: &mut Effort) {
        let is_refuted = |windows: &mut Windows, target: u32, effort: &mut Effort| {
            // Half of the effort: the rest is for smaller targets, which are easier to refute.
            effort.with_share(2, |share| {
                let is_open = match with_sizes {
                    true => windows.narrow_with_sizes(target, share),
                    false => windows.narrow(target, share),
                };
                if !is_open || windows.needs_more_waves(share) {
                    return true;
                }
                windows.keep();
                false
            })
        };
        if self.bound < length
            && effort.with_share(2, |share| is_refuted(&mut self.windows, length - 1, share))
        {
            self.raise_bound(length);
        }
        // The lowest length that is known not to be refuted.
        let mut open = length - 1;
        let mut step = 1;
        while self.bound < open && !effort.is_spent() {
            let target = match step {
                0 => self.bound + (open - self.bound) / 2,
                step => (self.bound + step - 1).min(open - 1),
            };
            if is_refuted(&mut self.windows, target, effort) {
                self.raise_bound(target + 1);
                step *= 2;
            } else {
                open = target;
                step = 0;
            }
        }
    }

    /// Look for a schedule of `target` cycles from one end, in at most `most` states.
    pub(crate) fn try_target(&mut self, end: usize, target: u32, most: u64, effort: &mut Effort) -> Verdict {
        let is_refuted = match self.rules.windows {
            true => {
                let is_refuted = effort.with_share(8, |share| {
                    !self.windows.recall(target) && !self.windows.narrow(target, share)
                });
                self.windows.keep();
                is_refuted
            }
            false => !self.windows.open(target),
        };
        let search = &mut self.searches[end];
        let verdict = match is_refuted {
            true => Verdict::No(()),
            false => {
                search.aim_through(&self.windows);
                search.run(most, effort)
            }
        };
        if verdict.is_no() {
            self.raise_bound(target + 1);
        }
        verdict.map_yes(|order| self.found = Some(order))
    }

    /// Raise the bound by search from one end, up to `length` or to a shorter schedule that is found on the
    /// way, in steps that grow while they succeed. No new target starts after `most` states, and none takes
    /// more.
    pub(crate) fn climb(&mut self, end: usize, mut length: u32, most: u64, effort: &mut Effort) {
        let mut step = 1;
        let last = self.nodes() + most;
        while self.bound < length && self.nodes() < last && !effort.is_spent() {
            let target = self.bound.saturating_add(step - 1).min(length - 1);
            match self.try_target(end, target, most, effort) {
                Verdict::Yes(()) => (length, step) = (target, 1),
                Verdict::No(()) => step = step.saturating_mul(2),
                Verdict::Unknown if step == 1 => break,
                Verdict::Unknown => step = 1,
            }
        }
    }
}
