//! Pass 1: the most waves of a kernel (paper 2, Section 4).
//!
//! Every region starts with the best of its known orders: the source order, the recorded production order, and that of `default`. The
//! target is what the kernel's own limits and the bounds of all regions allow. Regions that meet it are left alone. The others are searched,
//! the worst one first: is there an order for the target, for one step less, and so on? Only steps of
//! occupancy matter, not single registers, and all classes are asked for at once ([`within`]). Whatever a region ends with
//! lowers the target for all that follow, since more would be of no use.
//!
//! Spills come first: an order without them is better than one with more waves. A class that no order can keep within what a wave can address
//! takes all of that anyway, and is not asked for.
//!
//! Where several classes share a file, only their sum is limited. Each class is then given what the others leave
//! it at best: if even that is impossible, so is the step; an order found may still be one step short, and does
//! not count then.

use std::cmp::Reverse;
use std::time::Instant;

use crate::analysis::closure::Closure;
use crate::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use crate::index::{ClassId, InstrId};
use crate::list::minreg::few_registers;
use crate::minreg::exact::{Decision, Options, within};
use crate::problem::Problem;
use crate::schedule::{Budget, Schedule};
use crate::target::FileClass;

/// What is known about the waves of one region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionWaves {
    /// The order with the most waves, as far as the kernel has use for them.
    pub order: Vec<InstrId>,
    /// How many those are.
    pub waves: u32,
    /// No order has more.
    pub bound: u32,
    /// Whether the region was searched.
    pub is_searched: bool,
    /// Registers that have to be spilled.
    spilled: u32,
    /// No order has a lower peak of the class.
    least_peaks: Vec<u32>,
}

/// What is known about the waves of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelWaves {
    /// One for each region.
    pub regions: Vec<RegionWaves>,
    /// Waves of the kernel.
    pub waves: u32,
    /// No orders of its regions give more.
    pub bound: u32,
}

/// Looks for the most waves, at most `most`, that all regions of a kernel allow. The budget is for each region.
pub fn most_waves(problems: &[Problem], most: u32, budget: Budget) -> KernelWaves {
    let mut regions: Vec<RegionWaves> = problems.iter().map(|problem| start(problem, budget)).collect();
    let mut target = regions.iter().map(|region| region.bound).fold(most, u32::min);
    // The worst one first: it lowers the target for the others.
    let mut by_waves: Vec<usize> = (0..regions.len()).collect();
    by_waves.sort_by_key(|&position| (Reverse(regions[position].spilled), regions[position].waves));
    for position in by_waves {
        regions[position].search(&problems[position], target, budget);
        target = target.min(regions[position].waves);
    }
    let bound = regions.iter().map(|region| region.bound).fold(most, u32::min);
    KernelWaves { regions, waves: target, bound }
}

/// The best of the known orders, and the bound by cuts.
fn start(problem: &Problem, budget: Budget) -> RegionWaves {
    let region = problem.region();
    let source: Vec<InstrId> = region.instrs().collect();
    let production = region.production().map(|production| production.order.clone());
    let few = few_registers(problem);
    let mut least_peaks: Vec<u32> = pressure_at_ends(region).into_iter().map(|(peak, _)| peak).collect();
    if region.len() <= MOST_FOR_CUTS {
        let closure = Closure::new(region);
        for class in region.class_ids() {
            least_peaks[class.index()] = pressure_bound(region, class, &closure, &few, budget).value;
        }
    }
    let bound = problem.registers().occupancy(&least_peaks);
    let (spilled, waves) = spilled_and_waves(problem, &source);
    let mut best = RegionWaves { order: source, waves, bound, is_searched: false, spilled, least_peaks };
    production.into_iter().for_each(|order| best.offer(problem, order));
    best.offer(problem, few);
    best
}

impl RegionWaves {
    fn offer(&mut self, problem: &Problem, order: Vec<InstrId>) {
        let (spilled, waves) = spilled_and_waves(problem, &order);
        if (spilled, Reverse(waves)) < (self.spilled, Reverse(self.waves)) {
            (self.order, self.spilled, self.waves) = (order, spilled, waves);
        }
    }

    /// Looks for an order with as many waves as possible, at most `target`.
    fn search(&mut self, problem: &Problem, target: u32, budget: Budget) {
        let mut step = target.min(self.bound);
        // All questions together keep to the budget: in time what is left of it, in steps an equal share.
        let deadline = budget.effort(problem.region()).deadline;
        let questions = 2 * u64::from(step.saturating_sub(self.waves).max(1));
        let rest = || Budget {
            time_per_instr: deadline.map(|deadline| {
                deadline.saturating_duration_since(Instant::now()) / problem.region().len() as u32
            }),
            nodes: budget.nodes.map(|nodes| nodes / questions),
            ..budget
        };
        // With a step that every order without spills has, spills alone are at stake.
        while step > 0 && (step > self.waves || self.spilled > problem.registers().spilled(&self.least_peaks))
        {
            self.is_searched = true;
            let decide =
                |limits: &[Option<u32>]| within(problem.region(), limits, &self.order, Options::new(rest()));
            let limits = self.limits(problem, step, true);
            match decide(&limits) {
                Decision::Possible(order) => {
                    self.offer(problem, order);
                    // (In a shared file, what fits class by class may not fit together.)
                    if self.waves >= step {
                        return;
                    }
                }
                Decision::Impossible(_) => {
                    // With spills it may be possible. Else neither are more waves.
                    let for_waves = self.limits(problem, step, false);
                    if for_waves == limits || matches!(decide(&for_waves), Decision::Impossible(_)) {
                        self.bound = self.bound.min(step - 1);
                    }
                }
                Decision::Open => {}
            }
            step -= 1;
        }
    }

    /// For each class, the most registers with which so many waves can fit, and nothing is spilled if that is asked for.
    fn limits(&self, problem: &Problem, waves: u32, without_spills: bool) -> Vec<Option<u32>> {
        let least = |id: &ClassId, class: &FileClass| self.least_peaks[id.index()].min(class.max);
        let mut limits = vec![None; self.least_peaks.len()];
        for bound in problem.registers().files() {
            let all: u32 = bound.classes.iter().map(|(id, class)| least(id, class)).sum();
            for (id, class) in &bound.classes {
                let limit = bound.file.limit(waves).saturating_sub(all - least(id, class));
                let can_be_kept = self.least_peaks[id.index()] <= class.max;
                limits[id.index()] = match limit < class.max {
                    true => Some(limit),
                    false => (without_spills && can_be_kept).then_some(class.max),
                };
            }
        }
        limits
    }
}

fn spilled_and_waves(problem: &Problem, order: &[InstrId]) -> (u32, u32) {
    let measure = problem.measure(&Schedule::in_order(problem, order.to_vec()));
    (measure.spilled, measure.occupancy)
}
