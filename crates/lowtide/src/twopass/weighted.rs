//! One pass for both goals: the lowest weighted sum of length and pressure (paper 2, Section 4.1: its
//! previous algorithm).
//!
//! This is a baseline for the two passes (paper 2, Table 4). It works on one region alone, without its
//! kernel.
//!
//! # Steps
//! 1. The start with the lowest sum is the best schedule so far.
//! 2. Target lengths rise from the bound of Langevin and Černý. At each target the search looks for a
//!    schedule whose cost is low enough to improve the sum. If it finds one, it looks again, for less; if
//!    not, the next target follows.
//! 3. The search ends when the sum of the target and the least possible cost is no better. The paper has no
//!    bound on pressure, and continues until a cost of 0 would not help. Here the caller can supply lower
//!    bounds on the peaks. The search also ends when it fails for other reasons than time: longer targets
//!    then fail as well, since they may cost no more.
//!
//! # Limits
//! A cost of peaks becomes a limit for each class: the most that it may have if the others have their least.
//! If all limits together still have a low enough cost, the limits suffice. If not, and for a sum over all
//! moments, the search tracks the cost of each path (`meter`).

use crate::analysis::closure::Closure;
use crate::analysis::length_bound::{LengthBound, lower_bound};
use crate::analysis::pressure::Tracker;
use crate::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends};
use crate::analysis::times::MOST_SLOTS;
use crate::analysis::walk::{Direction, PressureFields};
use crate::bits::BitSet;
use crate::budget::{Budget, Effort};
use crate::index::{InstrId, ValueId};
use crate::problem::Problem;
use crate::progress::Watch;
use crate::region::Region;
use crate::schedule::Schedule;
use crate::twopass::Rules;
use crate::twopass::meter::Meter;
use crate::twopass::search::Search;
use crate::twopass::timed::Timed;
use crate::verdict::Verdict;

/// The sum to minimise: the length in cycles, plus the weighted cost of pressure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Objective {
    /// The cost of pressure.
    pub cost: PressureCost,
    /// The weight: cycles for a unit of cost.
    pub weight: u32,
}

/// Waves, with the weight of the paper's comparison with the two passes (Section 6.3).
impl Default for Objective {
    fn default() -> Self {
        Objective { cost: PressureCost::Occupancy, weight: 100_000 }
    }
}

impl Objective {
    /// Return the sum for a length and a cost of pressure.
    pub fn sum(&self, length: u32, cost: u64) -> u64 {
        u64::from(self.weight).saturating_mul(cost).saturating_add(u64::from(length))
    }
}

/// The definition of the cost of pressure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PressureCost {
    /// Waves that do not fit. A register that has to be spilled into memory costs as much as the loss of all
    /// waves.
    Occupancy,
    /// The sum of the peaks of all classes that can cost a wave (peak register pressure).
    Prp,
    /// The excess of the peaks over the problem's limits, summed over all classes (peak excess register
    /// pressure).
    Perp,
    /// Live registers, summed over all moments between instructions and at both ends (sum of live interval
    /// lengths).
    Slil,
}

impl PressureCost {
    /// Return the cost of an order.
    pub fn of(self, problem: &Problem, order: &[InstrId]) -> u64 {
        let mut tracker = Tracker::new(problem.region());
        let now = |tracker: &Tracker| -> u64 {
            problem.region().class_ids().map(|class| u64::from(tracker.now(class))).sum()
        };
        let mut sum = now(&tracker);
        for &instr in order {
            tracker.schedule(instr);
            sum += now(&tracker);
        }
        let peaks: Vec<u32> = tracker.peaks().iter().map(|peak| peak.between).collect();
        self.of_peaks(problem, &peaks).unwrap_or(sum)
    }

    /// Return the cost of peaks, one for each class. `None` if peaks alone do not determine the cost.
    fn of_peaks(self, problem: &Problem, peaks: &[u32]) -> Option<u64> {
        let registers = problem.registers();
        let cost = match self {
            PressureCost::Occupancy => {
                let lost = problem.most_waves().saturating_sub(registers.occupancy(peaks));
                let in_memory = u64::from(registers.spilled_to_memory(peaks));
                u64::from(lost) + in_memory * u64::from(problem.most_waves())
            }
            PressureCost::Prp => {
                let most_waves = problem.target().max_waves();
                let files = registers.files().iter().filter(|bound| bound.file.waves(u32::MAX) < most_waves);
                files.flat_map(|bound| &bound.classes).map(|(id, _)| u64::from(peaks[id.index()])).sum()
            }
            PressureCost::Perp => {
                let over =
                    peaks.iter().zip(problem.limits()).map(|(peak, limit)| peak.saturating_sub(*limit));
                over.map(u64::from).sum()
            }
            PressureCost::Slil => return None,
        };
        Some(cost)
    }
}

/// The result: the schedule with the lowest sum found, and the bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The order of the best schedule that was found.
    pub order: Vec<InstrId>,
    /// Length and cost of pressure of all improvements, from the start to the best one.
    pub found: Vec<(u32, u64)>,
    /// Its sum.
    pub sum: u64,
    /// A lower bound on the sum.
    pub bound: u64,
    /// The last target length.
    pub target: u32,
    /// States of the search.
    pub nodes: u64,
}

/// Find the schedule with the lowest sum, starting from the best of some orders. Without orders, start from
/// the source order. `least` are lower bounds on the peaks, one for each class. `watch` logs the
/// improvements.
pub fn lowest_sum(
    problem: &Problem,
    least: &[u32],
    starts: &[&[InstrId]],
    objective: Objective,
    budget: Budget,
    watch: Watch,
) -> Answer {
    let effort = budget.effort(problem.region().len());
    let times = lower_bound(problem);
    let mut pass = Pass::new(problem, least, starts, objective, effort, times.best());
    pass.watch = watch;
    watch.begin(pass.answer.sum, pass.least_from_here());
    pass.search(&times);
    pass.answer
}

/// The limits that follow from a cost, and whether they are sufficient for it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Limits {
    each: Vec<Option<u32>>,
    are_enough: bool,
}

struct Pass<'a> {
    problem: &'a Problem<'a>,
    objective: Objective,
    effort: Effort,
    /// For each class, the lowest and the highest peak that an order can have.
    least: Vec<u32>,
    highest: Vec<u32>,
    /// The weight that is live in every order just before each instruction, if needed.
    certain: Vec<u64>,
    end: u64,
    least_cost: u64,
    answer: Answer,
    watch: Watch<'a>,
}

impl<'a> Pass<'a> {
    fn new(
        problem: &'a Problem<'a>,
        least: &[u32],
        starts: &[&[InstrId]],
        objective: Objective,
        effort: Effort,
        target: u32,
    ) -> Self {
        let region = problem.region();
        let source: Vec<InstrId> = region.instrs().collect();
        let measured = |order: &[InstrId]| {
            let (length, cost) = measure(problem, objective, order);
            (objective.sum(length, cost), length, cost)
        };
        let starts = starts.iter().map(|&order| (measured(order), order));
        let best = starts.min_by_key(|((sum, _, _), _)| *sum);
        let ((sum, length, cost), order) = best.unwrap_or_else(|| (measured(&source), &source));
        let found = vec![(length, cost)];
        let answer = Answer { order: order.to_vec(), found, sum, bound: 0, target, nodes: 0 };
        let at_ends = pressure_at_ends(region).into_iter().zip(least);
        let least: Vec<u32> = at_ends.map(|((end, _), &known)| known.max(end)).collect();
        let mut highest: Vec<u32> = region.class_ids().map(|class| region.through(class)).collect();
        region.values().iter().for_each(|value| highest[value.class.index()] += value.weight);
        let (mut certain, mut end) = (Vec::new(), 0);
        let least_cost = objective.cost.of_peaks(problem, &least).unwrap_or_else(|| {
            (certain, end) = certainly_live(region);
            certain.iter().sum::<u64>() + end
        });
        Pass {
            problem,
            objective,
            effort,
            least,
            highest,
            certain,
            end,
            least_cost,
            answer,
            watch: Watch::default(),
        }
    }

    /// Return the highest cost that improves the sum at the current target. `None` if no cost improves it, at
    /// this target or a longer one.
    fn most_cost(&self) -> Option<u64> {
        let cheaper = self.answer.sum.checked_sub(u64::from(self.answer.target) + 1)?;
        let most = cheaper.checked_div(u64::from(self.objective.weight)).unwrap_or(u64::MAX);
        (most >= self.least_cost).then_some(most)
    }

    /// Return the most registers that a cost leaves to each class.
    fn limits(&self, most: u64) -> Limits {
        let is_fine =
            |peaks: &[u32]| self.objective.cost.of_peaks(self.problem, peaks).is_none_or(|cost| cost <= most);
        let mut each = self.highest.clone();
        for class in 0..each.len() {
            let mut peaks = self.least.clone();
            let (mut low, mut high) = (self.least[class], self.highest[class].max(self.least[class]));
            while low < high {
                peaks[class] = high - (high - low) / 2;
                match is_fine(&peaks) {
                    true => low = peaks[class],
                    false => high = peaks[class] - 1,
                }
            }
            each[class] = low;
        }
        let are_enough = self.objective.cost != PressureCost::Slil && is_fine(&each);
        // A limit that nothing can exceed is dropped, but a meter needs all of them.
        let can_exceed = |(&limit, &highest): (&u32, &u32)| (!are_enough || limit < highest).then_some(limit);
        Limits { each: each.iter().zip(&self.highest).map(can_exceed).collect(), are_enough }
    }

    /// Search at one target after the other.
    fn search(&mut self, times: &LengthBound) {
        // The remaining budget is stored in 32 bits.
        let highest_sum = self
            .highest
            .iter()
            .map(|&peak| u64::from(peak))
            .sum::<u64>()
            .saturating_mul(self.problem.region().len() as u64 + 1);
        let is_sum = self.objective.cost == PressureCost::Slil;
        let rules = Rules {
            // An earlier instruction can prolong the lives of others, even if it frees something.
            no_idling: !is_sum,
            memory: !is_sum || highest_sum <= u64::from(u32::MAX),
            // Targets rise, and reasons would hold for none but the current one.
            reasons: false,
            ..Rules::ALL
        };
        let least = self.least.clone();
        let certain = self.certain.clone();
        let (problem, cost) = (self.problem, self.objective.cost);
        let cost_of_peaks = move |peaks: &[u32]| cost.of_peaks(problem, peaks).unwrap_or(0);
        while let Some(most) = self.most_cost() {
            let limits = self.limits(most);
            let Some(packing) = PressureFields::within(problem.region(), &limits.each) else { break };
            let graph = Timed::new(problem, Direction::TopDown, &packing, &limits.each, times);
            let mut search = Search::new(&graph, rules);
            search.meter = match limits.are_enough {
                true => None,
                false if is_sum => Some(Meter::sum(&packing, &certain, self.end)),
                false => Some(Meter::peaks(&packing, &least, &cost_of_peaks)),
            };
            let nodes = self.answer.nodes;
            let mut is_over = false;
            while let Some(most) = self.most_cost().filter(|&most| self.limits(most) == limits) {
                if let Some(meter) = &mut search.meter {
                    meter.most = if is_sum { most.min(highest_sum) } else { most };
                }
                is_over = !self.try_target(&graph, &mut search);
                self.answer.nodes = nodes + search.nodes;
                self.watch.found(self.answer.nodes, self.answer.sum);
                self.watch.proved(self.answer.nodes, self.least_from_here());
                if is_over {
                    break;
                }
            }
            if is_over {
                break;
            }
        }
        self.raise_bound();
    }

    /// Search at the current target. Return whether there is more to ask.
    fn try_target(&mut self, graph: &Timed, search: &mut Search) -> bool {
        let target = self.answer.target;
        if self.effort.is_spent() || u64::from(target) * u64::from(graph.width) > MOST_SLOTS {
            return false;
        }
        self.effort.spend(1);
        // (No target is below the bound by heads and tails.)
        let last: Vec<u32> = graph.tail.iter().map(|tail| (target - 1).saturating_sub(*tail)).collect();
        search.aim(target, &graph.head, &last);
        match search.run(u64::MAX, &mut self.effort) {
            Verdict::Yes(order) => {
                let (length, cost) = measure(self.problem, self.objective, &order);
                let sum = self.objective.sum(length, cost);
                debug_assert!(length <= target && sum < self.answer.sum);
                self.answer.found.push((length, cost));
                (self.answer.order, self.answer.sum) = (order, sum);
                true
            }
            Verdict::No(()) if search.is_timed => {
                self.answer.target += 1;
                true
            }
            Verdict::No(()) => {
                self.answer.bound = self.answer.sum;
                false
            }
            Verdict::Unknown => false,
        }
    }

    /// Return the lowest sum that targets from the current one on can have.
    fn least_from_here(&self) -> u64 {
        self.objective.sum(self.answer.target, self.least_cost).min(self.answer.sum)
    }

    /// Raise the bound: shorter targets have nothing better, and longer ones cost at least this much.
    fn raise_bound(&mut self) {
        self.answer.bound = self.answer.bound.max(self.least_from_here());
        self.watch.proved(self.answer.nodes, self.answer.bound);
    }
}

/// Return the length and cost of an order.
fn measure(problem: &Problem, objective: Objective, order: &[InstrId]) -> (u32, u64) {
    let length = Schedule::in_order(problem, order.to_vec()).length();
    (length, objective.cost.of(problem, order))
}

/// Return the registers that are live just before each instruction in every order, and those at the end.
fn certainly_live(region: &Region) -> (Vec<u64>, u64) {
    let through: u64 = region.class_ids().map(|class| u64::from(region.through(class))).sum();
    let mut before = vec![through; region.len()];
    let live_out = region.values().iter().filter(|value| value.live_out);
    let end = through + live_out.map(|value| u64::from(value.weight)).sum::<u64>();
    if region.len() > MOST_FOR_CUTS {
        return (before, end);
    }
    let closure = Closure::new(region);
    for (number, value) in region.values().iter().enumerate() {
        // All instructions after the definition that do not come after all uses.
        let count = region.len();
        let mut moments = if value.live_out { BitSet::full(count) } else { BitSet::new(count) };
        for &user in region.value_uses(ValueId::at(number)) {
            moments.unite(closure.ancestors(user));
            moments.insert(user);
        }
        if let Some(def) = value.def {
            moments.intersect(closure.descendants(def));
        }
        moments.instrs().for_each(|instr| before[instr.index()] += u64::from(value.weight));
    }
    (before, end)
}
