//! Pairs of instructions that stay together, unless parting them pays.
//!
//! A front end wants some instructions next to each other ([`Groups`]). Searches do not know of such pairs,
//! so they part them freely. This module gives a parted pair a price in cycles, after the kernel is
//! scheduled. For each region with parted pairs it compares three schedules:
//!
//! 1. the schedule that does not know of pairs, *plain*;
//! 2. plain, *mended*: its parted pairs are joined one after the other, each only if that pays;
//! 3. the schedule of the *contracted* region, in which all pairs are kept. The same algorithm makes it, with
//!    the same budget.
//!
//! The lowest sum of length and prices wins. A schedule takes part if it has all waves of the plain kernel,
//! spills no more and exceeds no limit further than plain. So the result has at least as many waves, no more
//! spills, and at most one price more cycles for each pair that it keeps and plain does not. With
//! [`Goal::MinReg`] the most pairs win, then the shortest schedule, and no class may have a higher peak.
//!
//! The bounds of the plain outcome are bounds on all schedules, so they stay.

use super::verify::{InternalError, ScheduleError, outcome, verified_kernel};
use super::{KernelPlan, Options};
use crate::groups::Groups;
use crate::index::InstrId;
use crate::outcome::{KernelOutcome, Outcome};
use crate::problem::{Goal, Measure, Problem};
use crate::region::Kernel;
use crate::schedule::Schedule;
use crate::session::Context;
use crate::target::Target;

/// The outcome of a kernel with more of its pairs kept.
pub(super) fn keep_pairs<'a>(
    kernel: &'a Kernel,
    target: &'a Target,
    options: &Options,
    context: Context<'a>,
    plain: &KernelOutcome,
) -> Result<KernelOutcome, ScheduleError> {
    let mut kept = plain.clone();
    let problems = options.problems(kernel, target)?;
    for ((region, problem), plain_region) in kernel.regions.iter().zip(&problems).zip(&mut kept.regions) {
        if plain_region.broken_pairs == 0 {
            continue;
        }
        let problem = problem.clone().with_most_waves(plain.occupancy_bound);
        let groups = Groups::of(region);
        let rule = Rule::new(&problem, &groups, options.group_price, plain.occupancy, plain_region);
        let mended = rule.mended(rule.candidate(plain_region.schedule.clone()));
        // Without a parted pair and in no more cycles, nothing is left to gain.
        let best = match mended.broken == 0 && mended.measure.length <= plain_region.measure.length {
            true => mended,
            false => {
                let waves = plain.occupancy.max(1);
                let order = contracted_order(&problem, &groups, waves, options, context)?;
                let all_kept = rule.candidate(Schedule::in_order(&problem, order));
                match rule.is_allowed(&all_kept) && rule.cost(&all_kept) < rule.cost(&mended) {
                    true => all_kept,
                    false => mended,
                }
            }
        };
        if best.broken < plain_region.broken_pairs {
            let Outcome { bounds, frequency, passes, searches, .. } = plain_region.clone();
            let changed = outcome(&problem, options.algorithm, best.schedule, bounds)?;
            *plain_region = Outcome { frequency, passes, searches, ..changed };
        }
    }
    let most = options.most_waves(kernel, target);
    kept.occupancy = most;
    kept.count_waves(&problems);
    verified_kernel(problems.iter(), options.algorithm, most, &kept)?;
    // Where classes share a file, one region may have used what another one needs.
    Ok(if kept.occupancy < plain.occupancy { plain.clone() } else { kept })
}

/// The order of a region that keeps all pairs, made from its contracted region for so many waves.
fn contracted_order(
    problem: &Problem,
    groups: &Groups,
    waves: u32,
    options: &Options,
    context: Context,
) -> Result<Vec<InstrId>, ScheduleError> {
    let region = problem.region();
    let fail = |error: String| InternalError::new(options.algorithm, region.name(), error);
    let contracted = groups
        .contract(problem)
        .map_err(|error| fail(format!("the contracted region is invalid: {error}")))?;
    let alone = Kernel { max_occupancy: Some(waves), ..Kernel::new("", vec![contracted]) };
    // The waves are settled.
    let goal = match options.goal {
        Goal::Throughput => Goal::Occupancy,
        goal => goal,
    };
    let options = options.with_goal(goal).with_filter(None).with_front(false);
    let found = KernelPlan::new(&alone, problem.target(), &options, context)?.finish()?;
    let order = found.regions.first().map(|found| groups.expand(found.schedule.order()));
    order.ok_or_else(|| fail("the contracted region has no schedule".to_string()).into())
}

/// A schedule with its figures.
struct Candidate {
    schedule: Schedule,
    measure: Measure,
    broken: u32,
}

/// Which schedules of a region are allowed, and which one is the best.
struct Rule<'r, 'a> {
    problem: &'r Problem<'a>,
    groups: &'r Groups,
    /// Cycles for each parted pair.
    price: u32,
    /// The waves of the kernel.
    waves: u32,
    plain: &'r Measure,
}

impl<'r, 'a> Rule<'r, 'a> {
    fn new(problem: &'r Problem<'a>, groups: &'r Groups, price: u32, waves: u32, plain: &'r Outcome) -> Self {
        Rule { problem, groups, price, waves, plain: &plain.measure }
    }

    fn candidate(&self, schedule: Schedule) -> Candidate {
        let (measure, broken) = (self.problem.measure(&schedule), self.groups.broken(schedule.order()));
        Candidate { schedule, measure, broken }
    }

    /// Whether a schedule has the waves of the kernel, and in registers nothing that plain has not.
    fn is_allowed(&self, candidate: &Candidate) -> bool {
        let Measure { peaks, occupancy, spilled, .. } = &candidate.measure;
        let spill_cycles =
            |measure: &Measure| self.problem.spill_cycles(|class| measure.peaks[class.index()].between);
        let over = |measure: &Measure| self.problem.registers_over_limit(&measure.peaks);
        let are_peaks_allowed = self.problem.goal() != Goal::MinReg
            || peaks.iter().zip(&self.plain.peaks).all(|(peak, plain)| peak.between <= plain.between);
        *occupancy >= self.waves
            && *spilled <= self.plain.spilled
            && spill_cycles(&candidate.measure) <= spill_cycles(self.plain)
            && over(&candidate.measure) <= over(self.plain)
            && are_peaks_allowed
    }

    /// The cost of a schedule: the smaller one is better. Among equals, the one with more pairs.
    fn cost(&self, candidate: &Candidate) -> (u64, u32, u32) {
        let (length, broken) = (candidate.measure.length, candidate.broken);
        match self.problem.goal() {
            Goal::MinReg => (u64::from(broken), 0, length),
            _ => (u64::from(length) + u64::from(self.price) * u64::from(broken), broken, length),
        }
    }

    /// Joins parted pairs one after the other, where that is allowed and pays.
    fn mended(&self, plain: Candidate) -> Candidate {
        let mut best = plain;
        let pairs: Vec<(InstrId, InstrId)> = (self.problem.region().instrs())
            .filter_map(|first| Some((first, self.groups.next(first)?)))
            .collect();
        for (first, second) in pairs {
            for joined in self.groups.joined(self.problem.region(), best.schedule.order(), first, second) {
                let candidate = self.candidate(Schedule::in_order(self.problem, joined));
                if self.is_allowed(&candidate) && self.cost(&candidate) < self.cost(&best) {
                    best = candidate;
                }
            }
        }
        best
    }
}
