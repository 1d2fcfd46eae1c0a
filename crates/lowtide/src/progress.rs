//! The progress of searches: every improvement and every proof, with its time.
//!
//! A long search keeps a [`Log`]: its start, every improvement of the best schedule or of the bound, and its
//! end. An [`Observer`] receives the same steps while the search runs
//! ([`Context::observed_by`](crate::session::Context::observed_by)). The outcome contains them afterwards
//! ([`Outcome::searches`](crate::outcome::Outcome::searches)). A search logs a few steps, never
//! in its inner loops.
//!
//! Steps, bests and bounds are the same in every run with the same budget of nodes; times are not.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::region::Region;

/// The objective of a search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantity {
    /// The lowest peak of the first class.
    Peak,
    /// The fewest registers to spill (pass 1).
    Spills,
    /// The most waves that the kernel can use (pass 1).
    Waves,
    /// The fewest registers above the limit for the wanted waves (pass 1, by ants).
    Excess,
    /// The shortest schedule (pass 2).
    Length,
    /// The lowest weighted sum of length and pressure (both in one pass).
    Sum,
    /// The lowest cost of a shader in passes.
    Cost,
}

impl Quantity {
    /// Return a name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Peak => "peak",
            Quantity::Spills => "spills",
            Quantity::Waves => "waves",
            Quantity::Excess => "excess",
            Quantity::Length => "length",
            Quantity::Sum => "sum",
            Quantity::Cost => "cost",
        }
    }

    /// Return whether a value is better than another one.
    pub fn is_better(self, value: u64, other: u64) -> bool {
        match self {
            Quantity::Waves => value > other,
            _ => value < other,
        }
    }
}

/// The state of a search at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The time since its start.
    pub time: Duration,
    /// States of the search so far. Choices, if the search is by ants.
    pub nodes: u64,
    /// The best value found.
    pub best: u64,
    /// The bound: no schedule has a better value.
    pub bound: u64,
}

/// A search from its start to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchLog {
    /// The objective.
    pub quantity: Quantity,
    /// Whether the result comes from another region with the same graph. Times and nodes are those of that
    /// search.
    pub is_copied: bool,
    /// The start, each improvement of the best value or of the bound, and the end.
    pub steps: Vec<Step>,
}

impl Step {
    fn raised(self, by: u64) -> Step {
        Step { best: self.best + by, bound: self.bound + by, ..self }
    }
}

impl SearchLog {
    /// Add `by` to all values.
    pub(crate) fn raised(mut self, by: u64) -> SearchLog {
        self.steps.iter_mut().for_each(|step| *step = step.raised(by));
        self
    }
}

/// The phase of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The search starts from known values.
    Start,
    /// The search has improved the best value or the bound.
    Improvement,
    /// The search has ended.
    End,
}

/// A step of a search, reported while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The kernel of the region, if known.
    pub kernel: Option<&'a str>,
    /// The region.
    pub region: &'a Region,
    /// The objective.
    pub quantity: Quantity,
    /// The phase of the search.
    pub phase: Phase,
    /// All its steps so far, at least one.
    pub steps: &'a [Step],
}

impl Event<'_> {
    /// Return the latest step.
    pub fn step(&self) -> Step {
        self.steps[self.steps.len() - 1]
    }
}

/// A callback for every step. Several threads may call it.
pub type Observer<'o> = dyn Fn(&Event) + Send + Sync + 'o;

/// The log of a running search.
///
/// A search whose start meets the bound leaves no steps.
pub struct Log<'a> {
    quantity: Quantity,
    start: Instant,
    /// The offset of all values for the observer.
    offset: u64,
    observer: Option<Observed<'a>>,
    state: Mutex<State>,
}

/// An observer with the context of its events.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// The observer.
    pub observer: &'a Observer<'a>,
    /// The kernel of the region, if known.
    pub kernel: Option<&'a str>,
    /// The region.
    pub region: &'a Region,
}

impl fmt::Debug for Observed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Observed({:?}, {})", self.kernel, self.region.name())
    }
}

#[derive(Default)]
struct State {
    steps: Vec<Step>,
    /// The time, if it is given instead of measured.
    told: Option<Duration>,
    is_copied: bool,
}

impl fmt::Debug for Log<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = &self.state().steps;
        formatter.debug_struct("Log").field("quantity", &self.quantity).field("steps", steps).finish()
    }
}

impl<'a> Log<'a> {
    /// Make a log that starts now.
    ///
    /// ```
    /// use lowtide::generate::{Shape, region};
    /// use lowtide::minreg::exact::{Options, minimise};
    /// use lowtide::budget::Budget;
    /// use lowtide::progress::{Log, Quantity};
    /// use lowtide::ClassId;
    ///
    /// let region = region(Shape::UnrolledLoop, 80, 3);
    /// let source: Vec<_> = region.instrs().collect();
    /// let log = Log::new(Quantity::Peak);
    /// let options = Options { watch: log.watch(), ..Options::new(Budget::default()) };
    /// let answer = minimise(&region, ClassId(0), &[], &source, options);
    /// let log = log.finish(answer.nodes);
    /// assert_eq!(log.steps.last().unwrap().best, u64::from(answer.peak));
    /// ```
    pub fn new(quantity: Quantity) -> Self {
        Log { quantity, start: Instant::now(), offset: 0, observer: None, state: Mutex::default() }
    }

    /// Add `offset` to all values for the observer. A search of the bare graph does not know the weight that
    /// passes through the region, for example.
    pub(crate) fn told_with(self, offset: u64) -> Self {
        Log { offset, ..self }
    }

    /// Report each step to an observer at once.
    pub fn observed(self, observer: Option<Observed<'a>>) -> Self {
        Log { observer, ..self }
    }

    /// Return the handle for the options of a search.
    pub fn watch(&'a self) -> Watch<'a> {
        Watch(Some(self))
    }

    /// End the log. `nodes` is the number of states in all.
    pub fn finish(self, nodes: u64) -> SearchLog {
        if let Some(last) = self.last() {
            self.push(Phase::End, nodes, last.best, last.bound);
        }
        let State { steps, is_copied, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        SearchLog { quantity: self.quantity, is_copied, steps }
    }

    /// Set the time of the steps from now on: the total time of a search that may have run before.
    pub(crate) fn spend(&self, time: Duration, is_copied: bool) {
        let mut state = self.state();
        state.told = Some(state.told.unwrap_or_default() + time);
        state.is_copied |= is_copied;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent at every moment, even if a thread has panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> Option<Step> {
        self.state().steps.last().copied()
    }

    fn push(&self, phase: Phase, nodes: u64, best: u64, bound: u64) {
        let mut state = self.state();
        let time = state.told.unwrap_or_else(|| self.start.elapsed());
        // The time of an answer that another region paid for can be less than the time that has passed here.
        let time = state.steps.last().map_or(time, |last| time.max(last.time));
        state.steps.push(Step { time, nodes, best, bound });
        if let Some(Observed { observer, kernel, region }) = self.observer {
            let steps: Vec<Step> = state.steps.iter().map(|step| step.raised(self.offset)).collect();
            drop(state);
            observer(&Event { kernel, region, quantity: self.quantity, phase, steps: &steps });
        }
    }

    fn begin(&self, best: u64, bound: u64) {
        if self.quantity.is_better(bound, best) && self.last().is_none() {
            self.push(Phase::Start, 0, best, bound);
        }
    }

    fn improve(&self, nodes: u64, best: Option<u64>, bound: Option<u64>) {
        let Some(last) = self.last() else { return };
        let best = best.filter(|best| self.quantity.is_better(*best, last.best)).unwrap_or(last.best);
        let bound = bound.filter(|bound| self.quantity.is_better(last.bound, *bound)).unwrap_or(last.bound);
        if (best, bound) != (last.best, last.bound) {
            self.push(Phase::Improvement, nodes, best, bound);
        }
    }
}

/// A handle by which a search logs its steps. By default, it logs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch<'a>(Option<&'a Log<'a>>);

impl Watch<'_> {
    /// Log the start. Only the first one counts.
    pub(crate) fn begin(self, best: impl Into<u64>, bound: impl Into<u64>) {
        if let Some(log) = self.0 {
            log.begin(best.into(), bound.into());
        }
    }

    /// Log a value. Only a better one counts.
    pub(crate) fn found(self, nodes: u64, best: impl Into<u64>) {
        if let Some(log) = self.0 {
            log.improve(nodes, Some(best.into()), None);
        }
    }

    /// Log a bound. Only a tighter one counts.
    pub(crate) fn proved(self, nodes: u64, bound: impl Into<u64>) {
        if let Some(log) = self.0 {
            log.improve(nodes, None, Some(bound.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::generate::{Shape, region};

    #[test]
    fn a_log_has_the_start_the_improvements_and_the_end() {
        let log = Log::new(Quantity::Peak);
        let watch = log.watch();
        watch.found(1, 5u32); // before the start
        watch.begin(20u32, 10u32);
        watch.begin(30u32, 0u32); // there is one already
        watch.found(2, 20u32); // no better
        watch.found(3, 18u32);
        watch.proved(4, 12u32);
        watch.proved(5, 11u32); // says less
        let log = log.finish(9).raised(100);
        let steps: Vec<_> = log.steps.iter().map(|step| (step.nodes, step.best, step.bound)).collect();
        assert_eq!(steps, [(0, 120, 110), (3, 118, 110), (4, 118, 112), (9, 118, 112)]);
        assert!(log.steps.is_sorted_by_key(|step| step.time));
        assert!(!log.is_copied);
    }

    #[test]
    fn more_waves_are_better() {
        let log = Log::new(Quantity::Waves);
        log.watch().begin(4u32, 9u32);
        log.watch().proved(0, 8u32);
        log.watch().found(0, 5u32);
        log.watch().found(0, 3u32);
        let steps: Vec<_> = log.finish(0).steps.iter().map(|step| (step.best, step.bound)).collect();
        assert_eq!(steps, [(4, 9), (4, 8), (5, 8), (5, 8)]);
    }

    #[test]
    fn a_search_without_anything_to_gain_leaves_nothing() {
        let log = Log::new(Quantity::Length);
        log.watch().begin(7u32, 7u32);
        assert_eq!(log.finish(0).steps, []);
        Watch::default().begin(1u32, 0u32);
    }

    #[test]
    fn an_observer_is_told_at_once() {
        let region = region(Shape::SharedChains, 10, 1);
        let told = Arc::new(Mutex::new(Vec::new()));
        let told_here = Arc::clone(&told);
        let observer = move |event: &Event| {
            assert_eq!((event.kernel, event.region.len()), (Some("k"), 10));
            told_here.lock().unwrap().push((event.phase, event.step().best));
        };
        let observed = Observed { observer: &observer, kernel: Some("k"), region: &region };
        let log = Log::new(Quantity::Length).observed(Some(observed)).told_with(50);
        log.watch().begin(9u32, 4u32);
        assert_eq!(*told.lock().unwrap(), [(Phase::Start, 59)]);
        log.watch().found(1, 8u32);
        log.spend(Duration::from_secs(3), true);
        log.watch().found(1, 7u32);
        let log = log.finish(2);
        assert!(log.is_copied);
        assert_eq!(log.steps[2].time, Duration::from_secs(3));
        let expected =
            [(Phase::Start, 59), (Phase::Improvement, 58), (Phase::Improvement, 57), (Phase::End, 57)];
        assert_eq!(*told.lock().unwrap(), expected);
    }
}
