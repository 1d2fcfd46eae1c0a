//! More spills than necessary, where they pay.
//!
//! Some regions spill in every order. Pass 2 keeps to the fewest spills that pass 1 has found, which leaves
//! next to no choice: no load can be issued ahead, and their latencies add up. With a few more spilled
//! registers, the schedule can be several times shorter. For throughput, spills have a price, so both can be
//! weighed.
//!
//! 1. Lists run with 1, 2, 4, ... registers more than the fewest, at most with as many as the shortest
//!    conceivable schedule would pay for.
//! 2. The whole pass runs with the best of these numbers, with half as many and half as many again. The next
//!    numbers are half as far from the best one so far, and so on.
//!
//! Regions that need no spills get none: the price is an estimate, and it does not contain what the first
//! spill costs, such as memory on the stack.

use super::{FrontSearch, RegionFront};
use crate::index::InstrId;
use crate::pipeline::PassSettings;
use crate::pipeline::first_pass::RegionWaves;
use crate::pipeline::region::{WithinLimits, distinct};
use crate::pipeline::second_pass::Limits;
use crate::problem::{Goal, Problem};
use crate::schedule::Schedule;
use crate::session::SharedProblem;
use crate::target::{PeakRange, most_that};
use crate::threads;
use crate::twopass::{By, length};

/// The lists for the first number of registers have one of so many parts of the budget, and those for the
/// number after it one of twice as many.
const SHARE_OF_LISTS: u32 = 4;

/// So many numbers of registers get a pass, and an equal part of the budget.
const PASSES: u32 = 5;

impl FrontSearch<'_> {
    /// Look for shorter schedules with more spills, for the best number of waves.
    pub(super) fn spill_more(&mut self, shared: &[SharedProblem]) {
        let Some((_, waves)) = self.chosen(shared) else { return };
        let found = threads::map(self.settings.settings.budget.threads, shared.len(), |at| {
            let (region, first) = (&self.regions[at], &self.first.regions[at]);
            let search = MoreSpills::new(region, &shared[at], first, waves, self.settings);
            search.map_or(Vec::new(), MoreSpills::schedules)
        });
        for ((region, schedules), shared) in self.regions.iter_mut().zip(found).zip(shared) {
            schedules.into_iter().for_each(|schedule| region.learn(shared.problem(), schedule));
        }
    }
}

/// The search for shorter schedules of a region that has to spill.
struct MoreSpills<'s, 'a> {
    region: &'s RegionFront,
    shared: &'s SharedProblem<'a>,
    problem: Problem<'a>,
    waves: u32,
    settings: PassSettings,
    /// All orders.
    range: PeakRange,
    /// The peaks with the fewest spills.
    fewest: Vec<u32>,
    /// Schedules with fewer and fewer cycles.
    found: Vec<Schedule>,
    /// The fewest cycles of all waves.
    least: u128,
    /// The registers more than the fewest with which they were found.
    more: u32,
}

impl<'s, 'a> MoreSpills<'s, 'a> {
    /// Prepare a search. Return `None` if the region has an order without spills into memory.
    fn new(
        region: &'s RegionFront,
        shared: &'s SharedProblem<'a>,
        first: &RegionWaves,
        waves: u32,
        settings: PassSettings,
    ) -> Option<Self> {
        let problem = shared.problem().clone().with_goal(Goal::Occupancy).with_most_waves(waves);
        let able = region.known.iter().filter(|known| known.measure.occupancy >= waves);
        let fewest = &able.min_by_key(|known| (known.spill_cycles, known.measure.length))?.measure;
        let has_to_spill = problem.spilled_to_memory(fewest) > 0 && !settings.is_published();
        has_to_spill.then_some(MoreSpills {
            region,
            shared,
            problem,
            waves,
            settings,
            range: PeakRange::at_least(first.least_peaks()),
            fewest: fewest.peaks.iter().map(|peak| peak.between).collect(),
            found: Vec::new(),
            least: region.best_cycles(waves)?.of_all(waves),
            more: 0,
        })
    }

    /// Return schedules with fewer cycles than those that are known.
    fn schedules(mut self) -> Vec<Schedule> {
        self.run_lists();
        if self.settings.by[1] != By::Lists && self.more > 0 {
            self.run_passes();
        }
        self.found
    }

    fn run_lists(&mut self) {
        let mut budget = self.settings.settings.budget.part(SHARE_OF_LISTS);
        let (mut before, mut limits_before) = (0, None);
        for step in 0..u32::BITS {
            let more = most_that(0, 1 << step, |more| self.can_pay(more));
            if more <= before {
                return;
            }
            let limits = self.limits(more);
            let binding = self.shared.effective(&limits);
            if limits_before.as_ref() == Some(&binding) {
                return; // No order has as many registers.
            }
            let options = length::Options { budget, only_lists: true, ..length::Options::default() };
            let answer = self.shared.shortest(&limits, &self.starts(), options);
            self.take(more, answer);
            budget = budget.part(2);
            (before, limits_before) = (more, Some(binding));
        }
    }

    fn run_passes(&mut self) {
        let mut settings = self.settings;
        settings.settings.budget = settings.settings.budget.part(PASSES);
        let mut distance = self.more;
        // The last one is the next.
        let mut next = vec![self.more];
        for _ in 0..PASSES {
            while next.is_empty() && distance > 1 {
                distance /= 2;
                next.extend([self.more + distance, self.more - distance]);
            }
            let Some(more) = next.pop() else { return };
            let pass = WithinLimits::plan(self.shared, &self.limits(more), &self.starts(), settings);
            let is_new = more != self.more;
            if self.take(more, pass.finish(self.shared)) && is_new {
                next.clear();
            }
        }
    }

    /// Return whether the shortest conceivable schedule with so many more registers has fewer cycles than the
    /// best one.
    fn can_pay(&self, more: u32) -> bool {
        let peaks = self.peaks(more);
        let price = self.problem.spill_cycles(|class| peaks[class.index()]);
        self.region.cycles(self.region.free_bound, price).of_all(self.waves) < self.least
    }

    /// Return the peaks with so many more registers of each class that is spilled into memory.
    fn peaks(&self, more: u32) -> Vec<u32> {
        let mut peaks = self.fewest.clone();
        for (id, class) in self.problem.registers().files().iter().flat_map(|bound| &bound.classes) {
            let peak = &mut peaks[id.index()];
            if class.spill.is_none() && *peak > class.max {
                *peak = peak.saturating_add(more);
            }
        }
        peaks
    }

    fn limits(&self, more: u32) -> Vec<Option<u32>> {
        Limits::new(&self.problem, &self.peaks(more), &self.range).together
    }

    /// Return the orders to start from.
    fn starts(&self) -> Vec<&[InstrId]> {
        let known = self.region.known.iter().map(|known| &*known.schedule);
        distinct(self.found.iter().chain(known).map(Schedule::order))
    }

    /// Keep an answer if it has fewer cycles. Return whether it has.
    fn take(&mut self, more: u32, answer: Option<length::Answer>) -> bool {
        let Some(answer) = answer else { return false };
        let schedule = Schedule::in_order(&self.problem, answer.order);
        let measure = self.problem.measure(&schedule);
        let spills = self.problem.spill_cycles(|class| measure.peaks[class.index()].between);
        let cycles = self.region.cycles(measure.length, spills).of_all(self.waves);
        let is_better = cycles < self.least;
        if is_better {
            (self.least, self.more) = (cycles, more);
            self.found.push(schedule);
        }
        is_better
    }
}
