//! Pass 1: the most waves of a kernel (paper 2, Section 4).
//!
//! Every region starts with the best of its known orders: the source order, the recorded production order,
//! and that of `few-registers`. The target is what the kernel's own limits and the bounds of all regions
//! allow. Regions that meet it are left alone. The others are searched, the worst one first: is there an
//! order for the target, for one step less, and so on? Only steps of occupancy matter, not single registers,
//! and all classes are asked for at once ([`within`](crate::minreg::exact::within)). Whatever a region ends
//! with lowers the target for all that follow, since more would gain nothing.
//!
//! Spills into memory come first: an order without them is better than one with more waves. A class that no
//! order can keep within what a wave can address takes all of that anyway. The fewest registers of such a
//! class are looked for first. The steps then ask for no more of them.
//!
//! Spills into lanes of another class (`Lanes`) cost registers of that class, and nothing else here. So each
//! step is asked for with as few of them as every order has, then with as many as the best known order has.
//! Among orders with the same waves, fewer spills are better.
//!
//! Where several classes share a file, only their sum is limited. Each class is then given what the others
//! leave it at best. If even that is impossible, so is the step. If an order is found that does not fit, the
//! question is divided (`target/peak_range.rs`).

use std::cmp::Reverse;
use std::time::Duration;

use crate::analysis::limits::peaks;
use crate::analysis::pressure_bound::pressure_at_ends;
use crate::budget::{Budget, is_over, now};
use crate::colony::{self, Parameters};
use crate::index::{ClassId, InstrId};
use crate::minreg::exact::Decision;
use crate::outcome::Passes;
use crate::problem::{Problem, waves_with};
use crate::progress::{Log, Quantity};
use crate::proof::Moment;
use crate::schedule::Schedule;
use crate::session::{AntQuestion, SharedProblem, Taken};
use crate::target::{MOST_RANGES, PeakRange};
use crate::threads;
use crate::twopass::By;
use crate::verdict::Verdict;

/// Steps of this pass for each step of a budget. They are much smaller than those of the second pass.
const STEPS: u64 = 10;

/// What is known about the waves of one region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionWaves {
    /// The order with the most waves, as far as the kernel has use for them.
    pub order: Vec<InstrId>,
    /// How many those are.
    pub waves: u32,
    /// No order has more.
    pub bound: u32,
    /// Whether the known orders have fewer waves than the kernel could have, were it not for this region.
    /// (Those that paper 2 searches.)
    pub is_asked: bool,
    /// Whether it was searched: the bound by cuts left something open.
    pub is_searched: bool,
    /// Registers that have to be spilled, into memory or into lanes.
    pub spilled: u32,
    /// Those of them that go into memory.
    pub in_memory: u32,
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
        let started = |region: usize| start(&shared[region], most, options);
        let (mut regions, logs): (Vec<RegionWaves>, Vec<Logs>) =
            threads::map(options.budget.threads, shared.len(), started).into_iter().unzip();
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
            by_waves.sort_by_key(|&position| (Reverse(regions[position].in_memory), regions[position].waves));
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
        let waves = together(shared, &mut regions, most);
        let bound = regions.iter().map(|region| region.bound).fold(most, u32::min);
        KernelWaves { regions, waves, bound }
    }
}

/// Return the waves that orders of all regions allow together.
pub(super) fn waves_of_orders<'o, 's, 'a: 's>(
    orders: impl Iterator<Item = (&'s SharedProblem<'a>, &'o [InstrId])>,
) -> u32 {
    let problems = orders.map(|(shared, order)| (shared.problem(), order));
    waves_with(problems.map(|(problem, order)| (problem, peaks(problem.region(), order))))
}

/// Return the waves of the kernel, at most `most`. Where classes share a file, the best orders of the regions
/// may not fit together as well as known ones do. Then these take their places.
fn together(shared: &[SharedProblem], regions: &mut [RegionWaves], most: u32) -> u32 {
    let waves = regions.iter().map(|region| region.waves).fold(most, u32::min);
    if !shared.first().is_some_and(|shared| shared.problem().target().shares_files()) {
        return waves;
    }
    let own = regions.iter().map(|region| &region.order[..]);
    let waves = waves.min(waves_of_orders(shared.iter().zip(own)));
    let in_memory = |regions: &[RegionWaves]| regions.iter().map(|region| region.in_memory).sum::<u32>();
    let mut best = (Reverse(in_memory(regions)), waves);
    let mut better = None;
    for known in [Known::Source, Known::Production, Known::FewRegisters] {
        let mut others = regions.to_vec();
        for (region, shared) in others.iter_mut().zip(shared) {
            region.order = known.order(shared);
            (region.in_memory, Reverse(region.waves), region.spilled) =
                worth(shared.problem(), &region.order);
        }
        let orders = others.iter().map(|region| &region.order[..]);
        let value = (Reverse(in_memory(&others)), most.min(waves_of_orders(shared.iter().zip(orders))));
        if value > best {
            (best, better) = (value, Some(others));
        }
    }
    if let Some(others) = better {
        regions.clone_from_slice(&others);
    }
    best.1
}

/// An order that is known of every region.
#[derive(Clone, Copy)]
enum Known {
    Source,
    Production,
    FewRegisters,
}

impl Known {
    fn order(self, shared: &SharedProblem) -> Vec<InstrId> {
        let region = shared.problem().region();
        match (self, region.production()) {
            (Known::FewRegisters, _) => shared.few_registers(),
            (Known::Production, Some(production)) => production.order.clone(),
            _ => region.instrs().collect(),
        }
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
    let (in_memory, Reverse(waves), spilled) = worth(problem, &source);
    let mut best = RegionWaves {
        order: source,
        waves,
        bound: 0,
        is_asked: false,
        is_searched: false,
        spilled,
        in_memory,
        known: (spilled, waves),
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
        (best.peak_bounds, taken) = shared.peak_bounds_and_taken(Some(&best.order));
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
        let least_in_memory = problem.registers().spilled_to_memory(&region.least_peaks());
        let (waves, bound) = (region.waves.min(most), region.bound.min(most));
        let logs = [(&self.spills, region.in_memory, least_in_memory), (&self.waves, waves, bound)];
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
        let worth = worth(problem, &order);
        if worth < (self.in_memory, Reverse(self.waves), self.spilled) {
            self.order = order;
            (self.in_memory, Reverse(self.waves), self.spilled) = worth;
        }
    }

    /// What the passes did for the region, if the second one keeps so many waves and starts from such a
    /// length.
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
        let registers = problem.registers();
        let least_spilled = registers.spilled(&self.least_peaks());
        let least_in_memory = registers.spilled_to_memory(&self.least_peaks());
        let mut step = target.min(self.bound);
        // All questions together keep to the budget: in time what is left of it, in steps an equal share.
        let deadline = budget.effort(problem.region().len()).deadline;
        let deadline = deadline.map(|deadline| deadline.checked_sub(logs.time_before).unwrap_or(deadline));
        let for_each_step = if self.spilled > self.in_memory { 3 } else { 2 };
        let questions = for_each_step * u64::from(step.saturating_sub(self.waves).max(1));
        let rest = || Budget {
            time_per_instr: deadline
                .map(|deadline| deadline.saturating_duration_since(now()) / problem.region().len() as u32),
            nodes: budget.nodes.map(|nodes| nodes.saturating_mul(STEPS) / questions),
            ..budget
        };
        self.search_spills(shared, &rest, logs);
        // With a step that every order without spills has, spills alone are at stake.
        while step > 0
            && (step > self.waves
                || self.in_memory > least_in_memory
                || step == self.waves && self.spilled > least_spilled)
        {
            if is_over(deadline) {
                return;
            }
            self.is_searched = true;
            let all = PeakRange::at_least(self.least_peaks());
            let limits = [Spills::Fewest, Spills::AsKnown, Spills::Any]
                .map(|spills| self.limits(problem, step, spills, &all));
            let [fewest, as_known, any] = &limits;
            let mut is_refuted = false;
            for spills in [Spills::Fewest, Spills::AsKnown] {
                if spills == Spills::AsKnown && (as_known == fewest || self.waves >= step) {
                    continue;
                }
                match self.ask(shared, step, spills, &rest, logs) {
                    Verdict::Yes(()) => {
                        logs.tell(self, problem, target);
                        return;
                    }
                    Verdict::No(()) => is_refuted |= spills == Spills::Fewest,
                    Verdict::Unknown => {}
                }
            }
            // With more spills it may be possible. If not, neither are more waves.
            if is_refuted && (any == fewest || self.ask(shared, step, Spills::Any, &rest, logs).is_no()) {
                self.bound = self.bound.min(step - 1);
            }
            logs.tell(self, problem, target);
            step -= 1;
        }
    }

    /// Looks for an order with which so many waves fit. The answer is yes if the best order has so many in
    /// the end.
    fn ask(
        &mut self,
        shared: &SharedProblem,
        waves: u32,
        spills: Spills,
        rest: &impl Fn() -> Budget,
        logs: &mut Logs,
    ) -> Verdict<()> {
        let problem = shared.problem();
        let registers = problem.registers();
        let is_divided = registers.files().iter().any(|bound| bound.classes.len() > 1);
        let mut open = vec![PeakRange::at_least(self.least_peaks())];
        let (mut is_refuted, mut asked) = (true, 0);
        while let Some(range) = open.pop() {
            let limits = self.limits(problem, waves, spills, &range);
            if range.is_empty(&limits) {
                continue;
            }
            let parts = match (is_divided, asked) {
                (false, 0) => 1,
                (true, 0) => 2,
                _ => 2 * MOST_RANGES,
            };
            asked += 1;
            if asked > MOST_RANGES {
                return Verdict::Unknown;
            }
            let (decision, taken) = shared.within(&limits, &self.order, rest().part(parts));
            logs.spend(taken);
            match decision {
                Decision::Yes(order) => {
                    let peaks = peaks(problem.region(), &order);
                    self.offer(problem, order);
                    if self.waves >= waves {
                        return Verdict::Yes(());
                    }
                    match range.divide(registers, &peaks, waves) {
                        Some(parts) => open.extend(parts),
                        None => is_refuted = false,
                    }
                }
                Decision::No(_) => {}
                Decision::Unknown => is_refuted = false,
            }
        }
        if is_refuted { Verdict::No(()) } else { Verdict::Unknown }
    }

    /// Looks for fewer registers of the classes that every order spills into memory, one class after the
    /// other, whatever the waves.
    fn search_spills(&mut self, shared: &SharedProblem, rest: &impl Fn() -> Budget, logs: &mut Logs) {
        let problem = shared.problem();
        let least_peaks = self.least_peaks();
        let known = peaks(problem.region(), &self.order);
        let in_lanes: Vec<ClassId> = problem.registers().lanes().iter().map(|lanes| lanes.from).collect();
        let in_memory = || {
            let classes = problem.registers().files().iter().flat_map(|bound| &bound.classes);
            classes.filter(|(id, _)| !in_lanes.contains(id))
        };
        // No other class may spill more than now.
        let mut limits = vec![None; least_peaks.len()];
        in_memory().for_each(|(id, class)| limits[id.index()] = Some(known[id.index()].max(class.max)));
        for (id, _) in in_memory().filter(|(id, class)| least_peaks[id.index()] > class.max) {
            let (mut low, mut high) = (least_peaks[id.index()], known[id.index()]);
            while low < high {
                // The bound is often the answer, so it is asked for first.
                let middle = if low == least_peaks[id.index()] { low } else { low.midpoint(high) };
                limits[id.index()] = Some(middle);
                self.is_searched = true;
                let (decision, taken) = shared.within(&limits, &self.order, rest());
                logs.spend(taken);
                match decision {
                    Decision::Yes(order) => {
                        high = peaks(problem.region(), &order)[id.index()];
                        self.offer(problem, order);
                        logs.tell(self, problem, self.bound);
                    }
                    Decision::No(_) | Decision::Unknown => low = middle + 1,
                }
            }
            limits[id.index()] = Some(high);
        }
    }

    /// The question for ants: an order with as many waves as possible, at most `target`. It does not depend
    /// on the answers for other regions, so that all regions can be asked at once. None if nothing is to be
    /// gained.
    fn ask_ants(&mut self, shared: &SharedProblem, target: u32, options: Options) -> Option<AntQuestion> {
        let problem = shared.problem();
        let target = target.min(self.bound);
        let least_spilled = problem.registers().spilled(&self.least_peaks());
        // Ants that hold the waves still look for an order with fewer spills.
        if self.waves >= target && self.spilled <= least_spilled {
            return None;
        }
        self.is_searched = true;
        let spills = [Spills::Fewest, Spills::AsKnown];
        let all = PeakRange::at_least(self.least_peaks());
        let of_step = |waves| spills.map(|spills| self.limits(problem, waves, spills, &all));
        let mut steps: Vec<Vec<Option<u32>>> = (1..=target).rev().flat_map(of_step).collect();
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

    /// For each class, the most registers with which so many waves can fit in a range of peaks, with these
    /// spills.
    fn limits(&self, problem: &Problem, waves: u32, spills: Spills, range: &PeakRange) -> Vec<Option<u32>> {
        let least = &range.least;
        let mut limits: Vec<Option<u32>> =
            range.most.iter().map(|&most| (most < u32::MAX).then_some(most)).collect();
        // For each class, the registers whose lanes hold spilled ones, and the most of a class that is
        // spilled into lanes.
        let mut with_lanes = vec![0; least.len()];
        let mut most_spilled = vec![None; least.len()];
        let known = peaks(problem.region(), &self.order);
        for lanes in problem.registers().lanes() {
            let from = lanes.from.index();
            let needed = lanes.needed(if spills == Spills::AsKnown { known[from] } else { least[from] });
            if let Some(to) = lanes.to {
                with_lanes[to.index()] += needed;
            }
            most_spilled[from] = Some(lanes.most(needed));
        }
        for bound in problem.registers().files() {
            for (id, class) in &bound.classes {
                let limit = range.rest(bound, *id, &with_lanes, bound.file.limit(waves));
                let max = class.max.saturating_sub(with_lanes[id.index()]);
                // Where no order can be within `max`, none may spill more than the best known one.
                let in_memory = if least[id.index()] <= max { max } else { known[id.index()] };
                let by_spills = most_spilled[id.index()].unwrap_or(in_memory);
                let own = match limit < max {
                    true => Some(limit),
                    false => (spills != Spills::Any).then_some(by_spills),
                };
                limits[id.index()] = [limits[id.index()], own].into_iter().flatten().min();
            }
        }
        limits
    }
}

/// The spills that limits allow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spills {
    /// Those that every order has.
    Fewest,
    /// Into lanes, as many as the best known order has. Into memory, as for `Fewest`.
    AsKnown,
    /// Any number. The waves then fit only if no more lanes are needed than every order needs.
    Any,
}

/// What an order is worth, the smaller the better: spills into memory, waves, and all spills.
fn worth(problem: &Problem, order: &[InstrId]) -> (u32, Reverse<u32>, u32) {
    let measure = problem.measure(&Schedule::in_order(problem, order.to_vec()));
    (problem.spilled_to_memory(&measure), Reverse(measure.occupancy), measure.spilled)
}
