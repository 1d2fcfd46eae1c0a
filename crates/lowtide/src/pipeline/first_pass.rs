//! Pass 1: the most waves of a kernel (paper 2, Section 4).
//!
//! Every region starts with the best of its known orders: the source order, the recorded production order,
//! and that of `few-registers`. The target is what the kernel's own limits and the bounds of all regions
//! allow. Regions that meet it are left alone. The others are searched, the worst one first: is there an
//! order for the target, for one step less, and so on? Only steps of occupancy matter, not single registers,
//! and all classes are asked for at once ([`within`](crate::minreg::exact::within)). Whatever a region ends
//! with lowers the target for all that follow, since more would gain nothing.
//!
//! Spills come first: an order without them is better than one with more waves. A class that no order can keep within what a wave can address
//! takes all of that anyway, and is not asked for.
//!
//! Where several classes share a file, only their sum is limited. Each class is then given what the others
//! leave it at best. If even that is impossible, so is the step. An order found may still be one step short;
//! then it does not count.

use std::cmp::Reverse;
use std::time::Duration;

use crate::analysis::pressure_bound::pressure_at_ends;
use crate::budget::{Budget, is_over, now};
use crate::colony::{self, Parameters};
use crate::index::{ClassId, InstrId};
use crate::minreg::exact::Decision;
use crate::outcome::Passes;
use crate::problem::Problem;
use crate::progress::{Log, Quantity};
use crate::proof::Moment;
use crate::schedule::Schedule;
use crate::session::{AntQuestion, SharedProblem, Taken};
use crate::target::FileClass;
use crate::twopass::By;

/// What is known about the waves of one region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionWaves {
    /// The order with the most waves, as far as the kernel has use for them.
    pub order: Vec<InstrId>,
    /// How many those are.
    pub waves: u32,
    /// No order has more.
    pub bound: u32,
    /// Whether the known orders have fewer waves than the kernel could have, were it not for this region. (Those that paper 2 searches.)
    pub is_asked: bool,
    /// Whether it was searched: the bound by cuts left something open.
    pub is_searched: bool,
    /// Registers that have to be spilled.
    pub spilled: u32,
    /// Spills and waves of the best order before the search.
    pub known: (u32, u32),
    /// No order has a lower peak of the class, and why.
    pub peak_bounds: Vec<(u32, Moment)>,
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

/// How to look for waves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// For each region.
    pub budget: Budget,
    /// Lists stop at the best of the known orders and at the bound that takes no time.
    pub by: By,
    /// How ants behave.
    pub colony: Parameters,
}

/// Looks for the most waves, at most `most`, that all regions of a kernel allow.
pub fn most_waves(shared: &[SharedProblem], most: u32, options: Options) -> KernelWaves {
    FirstPass::plan(shared, most, options).finish(shared, options)
}

/// The regions of a kernel in the first pass: the best known orders, and the questions for ants.
pub(super) struct FirstPass<'a> {
    regions: Vec<RegionWaves>,
    logs: Vec<Logs<'a>>,
    questions: Vec<Option<AntQuestion>>,
    most: u32,
    /// The waves that all bounds allow.
    target: u32,
}

impl<'a> FirstPass<'a> {
    pub(super) fn plan(shared: &[SharedProblem<'a>], most: u32, options: Options) -> Self {
        let (mut regions, logs): (Vec<RegionWaves>, Vec<Logs>) =
            shared.iter().map(|shared| start(shared, most, options)).unzip();
        for region in &mut regions {
            region.is_asked = region.spilled > 0 || region.waves < most;
        }
        let target = regions.iter().map(|region| region.bound).fold(most, u32::min);
        let questions = match options.by {
            By::Lists | By::Search => Vec::new(),
            By::Ants => {
                let regions = regions.iter_mut().zip(shared);
                regions.map(|(region, shared)| region.ask_ants(shared, target, options)).collect()
            }
        };
        FirstPass { regions, logs, questions, most, target }
    }

    /// The questions for ants, with the number of the region.
    pub(super) fn questions(&self) -> impl Iterator<Item = (usize, &AntQuestion)> {
        self.questions.iter().enumerate().filter_map(|(region, question)| Some((region, question.as_ref()?)))
    }

    pub(super) fn finish(self, shared: &[SharedProblem<'a>], options: Options) -> KernelWaves {
        let FirstPass { mut regions, mut logs, questions, most, mut target } = self;
        if options.by == By::Search {
            // The worst one first: it lowers the target for the others.
            let mut by_waves: Vec<usize> = (0..regions.len()).collect();
            by_waves.sort_by_key(|&position| (Reverse(regions[position].spilled), regions[position].waves));
            for position in by_waves {
                regions[position].search(&shared[position], target, options.budget, &mut logs[position]);
                target = target.min(regions[position].waves);
            }
        }
        for (position, question) in questions.iter().enumerate() {
            if let Some(question) = question {
                regions[position].take_up(&shared[position], question, target, &mut logs[position]);
            }
        }
        logs.into_iter().zip(shared).for_each(|(logs, shared)| logs.finish(shared));
        let waves = regions.iter().map(|region| region.waves).fold(most, u32::min);
        let bound = regions.iter().map(|region| region.bound).fold(most, u32::min);
        KernelWaves { regions, waves, bound }
    }
}

/// The best of the known orders, and the bound by cuts.
fn start<'a>(shared: &SharedProblem<'a>, most: u32, options: Options) -> (RegionWaves, Logs<'a>) {
    let problem = shared.problem();
    let region = problem.region();
    let begin = options.budget.start();
    let source: Vec<InstrId> = region.instrs().collect();
    let production = region.production().map(|production| production.order.clone());
    // The published colony starts from the production order alone.
    let is_published = options.by == By::Ants && options.colony.starts_from_production();
    let source = production.clone().filter(|_| is_published).unwrap_or(source);
    let known = spilled_and_waves(problem, &source);
    let mut best = RegionWaves {
        order: source,
        waves: known.1,
        bound: 0,
        is_asked: false,
        is_searched: false,
        spilled: known.0,
        known,
        peak_bounds: pressure_at_ends(region),
    };
    if !is_published {
        production.into_iter().for_each(|order| best.offer(problem, order));
        best.offer(problem, shared.few_registers());
    }
    best.known = (best.spilled, best.waves);
    best.bound = problem.registers().occupancy(&best.least_peaks());
    let mut logs = Logs::new(shared);
    if options.by != By::Lists {
        logs.tell(&best, problem, most);
        let taken;
        (best.peak_bounds, taken) = shared.peak_bounds_and_taken();
        best.bound = problem.registers().occupancy(&best.least_peaks());
        logs.spend(taken);
        logs.tell(&best, problem, most);
    }
    logs.time_before = begin.map_or(Duration::ZERO, |begin| now().saturating_duration_since(begin));
    (best, logs)
}

/// How the search of a region goes.
struct Logs<'a> {
    spills: Log<'a>,
    waves: Log<'a>,
    nodes: u64,
    /// The time of the known orders and of the bound: a part of the pass.
    time_before: Duration,
}

impl<'a> Logs<'a> {
    fn new(shared: &SharedProblem<'a>) -> Self {
        let [spills, waves] = [Quantity::Spills, Quantity::Waves].map(|quantity| shared.log(quantity));
        Logs { spills, waves, nodes: 0, time_before: Duration::ZERO }
    }

    fn spend(&mut self, taken: Taken) {
        self.nodes += taken.nodes;
        for log in [&self.spills, &self.waves] {
            log.spend(taken.time, taken.is_copied);
        }
    }

    /// More waves than `most` are of no use.
    fn tell(&self, region: &RegionWaves, problem: &Problem, most: u32) {
        let least_spilled = problem.registers().spilled(&region.least_peaks());
        let (waves, bound) = (region.waves.min(most), region.bound.min(most));
        let logs = [(&self.spills, region.spilled, least_spilled), (&self.waves, waves, bound)];
        for (log, best, bound) in logs {
            log.watch().begin(best, bound);
            log.watch().proved(self.nodes, bound);
            log.watch().found(self.nodes, best);
        }
    }

    fn finish(self, shared: &SharedProblem) {
        for log in [self.spills, self.waves] {
            shared.keep(log.finish(self.nodes));
        }
    }
}

impl RegionWaves {
    fn offer(&mut self, problem: &Problem, order: Vec<InstrId>) {
        let (spilled, waves) = spilled_and_waves(problem, &order);
        if (spilled, Reverse(waves)) < (self.spilled, Reverse(self.waves)) {
            (self.order, self.spilled, self.waves) = (order, spilled, waves);
        }
    }

    /// What the passes did for the region, if the second one keeps so many waves and starts from such a length.
    pub(super) fn passes(&self, waves: u32, start_length: u32) -> Passes {
        Passes {
            is_asked: self.is_asked,
            is_searched: self.is_searched,
            is_improved: (self.spilled, self.waves) != self.known,
            waves,
            start_length,
        }
    }

    /// For each class, a peak that every order has at least.
    pub fn least_peaks(&self) -> Vec<u32> {
        self.peak_bounds.iter().map(|(peak, _)| *peak).collect()
    }

    /// Looks for an order with as many waves as possible, at most `target`.
    fn search(&mut self, shared: &SharedProblem, target: u32, budget: Budget, logs: &mut Logs) {
        let problem = shared.problem();
        let least_spilled = problem.registers().spilled(&self.least_peaks());
        let mut step = target.min(self.bound);
        // All questions together keep to the budget: in time what is left of it, in steps an equal share.
        let deadline = budget.effort(problem.region().len()).deadline;
        let deadline = deadline.map(|deadline| deadline.checked_sub(logs.time_before).unwrap_or(deadline));
        let questions = 2 * u64::from(step.saturating_sub(self.waves).max(1));
        let rest = || Budget {
            time_per_instr: deadline
                .map(|deadline| deadline.saturating_duration_since(now()) / problem.region().len() as u32),
            nodes: budget.nodes.map(|nodes| nodes / questions),
            ..budget
        };
        // With a step that every order without spills has, spills alone are at stake.
        while step > 0 && (step > self.waves || self.spilled > least_spilled) {
            if is_over(deadline) {
                return;
            }
            self.is_searched = true;
            let mut decide = |order: &[InstrId], limits: &[Option<u32>]| {
                let (decision, taken) = shared.within(limits, order, rest());
                logs.spend(taken);
                decision
            };
            let limits = self.limits(problem, step, true);
            match decide(&self.order, &limits) {
                Decision::Yes(order) => {
                    self.offer(problem, order);
                    logs.tell(self, problem, target);
                    // (In a shared file, what fits class by class may not fit together.)
                    if self.waves >= step {
                        return;
                    }
                }
                Decision::No(_) => {
                    // With spills it may be possible. Else neither are more waves.
                    let for_waves = self.limits(problem, step, false);
                    if for_waves == limits || matches!(decide(&self.order, &for_waves), Decision::No(_)) {
                        self.bound = self.bound.min(step - 1);
                    }
                }
                Decision::Unknown => {}
            }
            logs.tell(self, problem, target);
            step -= 1;
        }
    }

    /// The question for ants: an order with as many waves as possible, at most `target`. It does not depend on the answers for other regions, so that
    /// all regions can be asked at once. None if nothing is to be gained.
    fn ask_ants(&mut self, shared: &SharedProblem, target: u32, options: Options) -> Option<AntQuestion> {
        let problem = shared.problem();
        let target = target.min(self.bound);
        let least_spilled = problem.registers().spilled(&self.least_peaks());
        if self.waves >= target && self.spilled <= least_spilled {
            return None;
        }
        self.is_searched = true;
        let mut steps: Vec<Vec<Option<u32>>> =
            (1..=target).rev().map(|waves| self.limits(problem, waves, true)).collect();
        steps.dedup();
        let Options { budget, colony, .. } = options;
        Some(shared.fewer_registers(&steps, &self.order, colony::Options { budget, parameters: colony }))
    }

    /// Takes up the order that ants have found.
    fn take_up(&mut self, shared: &SharedProblem, question: &AntQuestion, target: u32, logs: &mut Logs) {
        let (answer, taken) = shared.ask_ants(question);
        if let Some(answer) = answer {
            self.offer(shared.problem(), answer.order);
        }
        logs.spend(taken);
        logs.tell(self, shared.problem(), target.min(self.bound));
    }

    /// For each class, the most registers with which so many waves can fit, and nothing is spilled if that is asked for.
    fn limits(&self, problem: &Problem, waves: u32, without_spills: bool) -> Vec<Option<u32>> {
        let least_peaks = self.least_peaks();
        let least = |id: &ClassId, class: &FileClass| least_peaks[id.index()].min(class.max);
        let mut limits = vec![None; least_peaks.len()];
        for bound in problem.registers().files() {
            let all: u32 = bound.classes.iter().map(|(id, class)| least(id, class)).sum();
            for (id, class) in &bound.classes {
                let limit = bound.file.limit(waves).saturating_sub(all - least(id, class));
                let can_be_kept = least_peaks[id.index()] <= class.max;
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
