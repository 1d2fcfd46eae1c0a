//! The colony: iterations of ants, on one thread or several. The result depends on the number of threads only
//! where a time limit ends a search.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::ant::Ant;
use super::guard::Guard;
use super::pheromone::{Pheromones, deposit};
use super::terrain::Terrain;
use super::{Guide, LANES, Lists, MOST_INSTRS, Parameters, Rules};
use crate::analysis::length_bound::lower_bound;
use crate::analysis::limits::{self, is_within};
use crate::analysis::times::{MOST_SLOTS, Times};
use crate::analysis::walk::PressureFields;
use crate::budget::{Budget, is_over};
use crate::index::InstrId;
use crate::problem::Problem;
use crate::progress::Watch;
use crate::random::bits_at;
use crate::region::Region;
use crate::schedule::Schedule;
use crate::threads;

/// The budget and the parameters of a colony.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The budget of one pass. A node is one choice of one ant.
    pub budget: Budget,
    /// The parameters of the colony.
    pub parameters: Parameters,
}

/// The result of a colony.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best order, never worse than the start.
    pub order: Vec<InstrId>,
    /// The completed iterations.
    pub iterations: u32,
    /// Instructions chosen by all ants together.
    pub choices: u64,
}

/// A region with an aim, prepared for any engine.
#[derive(Clone, Debug)]
pub struct Task {
    pub(super) terrain: Terrain,
    pub(super) aim: Aim,
    /// A legal order, within the limits, and its cost.
    pub(super) start: Vec<u32>,
    pub(super) start_cost: u64,
    /// A lower bound on the cost.
    pub(super) bound: u64,
    /// Of the known orders within the limits, the one with the fewest registers.
    pub(super) fewest: Vec<u32>,
    pub(super) options: Options,
}

impl Task {
    /// Pass 1: find an order whose pressure exceeds as few of the `steps` as possible. Each step has a limit
    /// for each class (`None` for no limit), and no limit is lower than in the step before. If the first step
    /// is out of reach, orders with less pressure beyond it are better. `start` is a legal order.
    ///
    /// Return `None` if the region is too large or has too many classes, or if there is no step.
    pub fn pressure(
        problem: &Problem,
        steps: &[Vec<Option<u32>>],
        start: &[InstrId],
        options: Options,
    ) -> Option<Task> {
        let region = problem.region();
        let counted = steps.first()?;
        let packing =
            PressureFields::without_limits(region, counted).filter(|_| region.len() <= MOST_INSTRS)?;
        let terrain = Terrain::new(problem, &packing, &Times::on(problem).tail);
        let aim = Aim::Pressure { steps: steps.iter().map(|limits| packing.pack_within(limits)).collect() };
        let start_cost = aim.cost(&terrain, packing.pack_within(&peaks(region, start)), 0);
        let start = numbers(start);
        Some(Task { terrain, aim, start_cost, bound: 0, fewest: start.clone(), start, options })
    }

    /// Pass 2: find the shortest schedule whose pressure stays within `limits` (one for each class; `None`
    /// for no limit). Ants ignore units that make others wait.
    ///
    /// Return `None` if no start is within the limits, or if the region is too large or has too many classes.
    pub fn length(
        problem: &Problem,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        options: Options,
    ) -> Option<Task> {
        let region = problem.region();
        let within: Vec<&[InstrId]> =
            starts.iter().copied().filter(|order| is_within(region, order, limits)).collect();
        let lengths = within.iter().map(|order| Schedule::in_order(problem, order.to_vec()).length());
        let (length, start) = lengths.zip(&within).min_by_key(|(length, _)| *length)?;
        let fewest = within.iter().min_by_key(|order| peaks(region, order))?;
        let is_short = u64::from(length) * u64::from(problem.target().issue().width) <= MOST_SLOTS;
        let packing =
            PressureFields::within(region, limits).filter(|_| is_short && region.len() <= MOST_INSTRS)?;
        let bound = lower_bound(problem);
        let terrain = Terrain::new(problem, &packing, &bound.tail);
        Some(Task {
            terrain,
            aim: Aim::Length { limit: packing.pack(limits) },
            start: numbers(start),
            start_cost: length.into(),
            bound: bound.best().into(),
            fewest: numbers(fewest),
            options,
        })
    }

    /// Return the number of instructions.
    #[allow(clippy::len_without_is_empty)] // a region has at least one instruction
    pub fn len(&self) -> usize {
        self.terrain.len()
    }

    /// Return whether latencies count: true in pass 2.
    pub fn is_timed(&self) -> bool {
        matches!(self.aim, Aim::Length { .. })
    }

    /// Return whether ants have guards: by default where registers limit the length.
    pub(super) fn has_guards(&self) -> bool {
        let has_limits = self.is_timed() && self.terrain.packing.classes().next().is_some();
        has_limits && self.options.parameters.guards
    }

    /// Return whether the start is optimal.
    pub fn is_solved(&self) -> bool {
        self.start_cost <= self.bound
    }

    /// Return whether an answer is a legal order for this task, and no worse than the start. It checks the
    /// answers of untrusted engines.
    pub fn accepts(&self, answer: &Answer) -> bool {
        let count = self.len();
        let mut places = vec![usize::MAX; count];
        for (place, instr) in answer.order.iter().enumerate() {
            match places.get_mut(instr.index()) {
                Some(own) if *own == usize::MAX => *own = place,
                _ => return false,
            }
        }
        let is_after = |instr: usize| {
            let mut links = self.terrain.next.row(instr).iter();
            links.all(|link| places[instr] < places[link.instr as usize])
        };
        answer.order.len() == count
            && (0..count).all(is_after)
            && self.cost_of(&answer.order) <= self.start_cost
    }

    /// Return the cost of a legal order, where lower is better. In pass 2 this is its length in cycles. An
    /// order over the limit has the highest cost.
    pub fn cost_of(&self, order: &[InstrId]) -> u64 {
        let Terrain { packing, width, .. } = &self.terrain;
        let mut left = self.terrain.left.clone();
        let mut available = vec![0; self.len()];
        let (mut live, mut peak, mut slot) = (self.terrain.live, self.terrain.live, 0);
        for instr in order {
            slot = available[instr.index()].max(slot);
            live += self.terrain.opened[instr.index()];
            for &value in self.terrain.closes.row(instr.index()) {
                left[value as usize] -= 1;
                live -= if left[value as usize] == 0 { self.terrain.weights[value as usize] } else { 0 };
            }
            if matches!(self.aim, Aim::Length { limit } if !packing.fits(live, limit)) {
                return u64::MAX;
            }
            if !packing.fits(live, peak) {
                peak = packing.highest(live, peak);
            }
            for link in self.terrain.next.row(instr.index()) {
                let available = &mut available[link.instr as usize];
                *available = (*available).max((slot / width + link.cycles) * width);
            }
            slot += 1;
        }
        self.aim.cost(&self.terrain, peak, slot)
    }

    /// Run the colony on `threads` threads. The answer depends on them only where a time limit ends the
    /// search.
    pub fn run(&self, threads: usize) -> Answer {
        self.run_watched(threads, Watch::default())
    }

    /// As [`Task::run`], and log the improvements: in pass 1 the registers beyond the first step, in pass 2
    /// the length.
    pub fn run_watched(&self, threads: usize, watch: Watch) -> Answer {
        watch.begin(self.aim.told(self.start_cost), self.bound);
        Colony::new(self).run(threads, watch)
    }
}

fn numbers(order: &[InstrId]) -> Vec<u32> {
    order.iter().map(|instr| instr.0).collect()
}

/// Return the peak of each class, as a limit.
fn peaks(region: &Region, order: &[InstrId]) -> Vec<Option<u32>> {
    limits::peaks(region, order).into_iter().map(Some).collect()
}

/// The quantity to minimise.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// The number of steps that the peak exceeds, then the registers beyond the first one.
    Pressure { steps: Vec<i64> },
    /// The length, within a limit.
    Length { limit: i64 },
}

impl Aim {
    /// Return the cost of a schedule with this peak and this number of slots.
    fn cost(&self, terrain: &Terrain, peak: i64, slots: u32) -> u64 {
        match self {
            Aim::Length { .. } => u64::from(slots.div_ceil(terrain.width)),
            Aim::Pressure { steps } => {
                let packing = &terrain.packing;
                let exceeded = steps.iter().take_while(|&&step| !packing.fits(peak, step)).count() as u64;
                let over =
                    |class| packing.unpack(peak, class).saturating_sub(packing.unpack(steps[0], class));
                exceeded << 32 | packing.classes().map(|class| u64::from(over(class))).sum::<u64>()
            }
        }
    }

    /// Return the part of a cost that the log reports.
    fn told(&self, cost: u64) -> u64 {
        match self {
            Aim::Length { .. } => cost,
            Aim::Pressure { .. } => cost & u64::from(u32::MAX),
        }
    }

    /// Convert a cost into an amount whose ratios are meaningful.
    pub(super) fn amount(&self, terrain: &Terrain, cost: u64) -> u64 {
        match self {
            Aim::Length { .. } => cost,
            Aim::Pressure { steps } => {
                let packing = &terrain.packing;
                let limits = packing.classes().map(|class| u64::from(packing.unpack(steps[0], class)));
                (cost & u64::from(u32::MAX)) + limits.sum::<u64>()
            }
        }
    }
}

/// A running colony.
struct Colony<'t> {
    task: &'t Task,
    pheromones: Pheromones,
    best: Vec<u32>,
    best_cost: u64,
    /// The guards against dead ends, where registers limit the length: the order with the fewest registers,
    /// and the best one so far.
    fewest: Option<Guard>,
    own: Option<Guard>,
}

/// The schedule of an ant: its cost, its number, and its order.
type Found = (u64, u32, Vec<u32>);

/// The best schedule of an iteration.
type Winner = Option<Found>;

/// The fewest choices that are worth another thread.
const CHOICES_PER_THREAD: u64 = 10_000;

/// The ants that a thread takes at a time: a part of a group, so no thread waits long for the others.
const ANTS_AT_A_TIME: u32 = 2;

impl<'t> Colony<'t> {
    fn new(task: &'t Task) -> Self {
        let mut colony = Colony {
            task,
            pheromones: Pheromones::new(task.len()),
            best: task.start.clone(),
            best_cost: task.start_cost,
            fewest: None,
            own: None,
        };
        colony.fewest = colony.guard(&task.fewest);
        colony.own = colony.guard(&task.start);
        colony
    }

    fn parameters(&self) -> &'t Parameters {
        &self.task.options.parameters
    }

    /// Make a guard, if registers limit the length.
    fn guard(&self, order: &[u32]) -> Option<Guard> {
        match self.task.aim {
            Aim::Length { limit } if self.task.has_guards() => {
                Some(Guard::new(&self.task.terrain, order, limit))
            }
            _ => None,
        }
    }

    fn run(mut self, threads: usize, watch: Watch) -> Answer {
        let effort = self.task.options.budget.effort(self.task.len());
        let of_group = u64::from(LANES) * self.task.len() as u64;
        let most_threads = (u64::from(self.parameters().groups) * of_group / CHOICES_PER_THREAD).max(1);
        let threads = threads.min(most_threads as usize).clamp(1, self.parameters().groups.max(1) as usize);
        // A group whose ants depend on each other has one thread.
        let together = if self.parameters().lists == Lists::Whole { 1 } else { LANES };
        let mut ants = vec![vec![Ant::new(&self.task.terrain); together as usize]; threads];
        let patience = self.parameters().patience_for(self.task.terrain.len());
        let (mut choices, mut iteration, mut in_vain) = (0, 0, 0);
        self.leave(None);
        while self.best_cost > self.task.bound && in_vain < patience {
            // The most choices of an iteration are known beforehand, so no budget of steps is exceeded.
            let affordable = effort.steps.saturating_sub(choices) / of_group;
            let groups = u64::from(self.parameters().groups).min(affordable) as u32;
            if groups == 0 || is_over(effort.deadline) {
                break;
            }
            let (winner, chosen) = self.iterate(&mut ants, iteration, groups, effort.deadline);
            choices += chosen;
            iteration += 1;
            in_vain += 1;
            if let Some((cost, _, order)) = winner.as_ref().filter(|(cost, ..)| *cost < self.best_cost) {
                (self.best_cost, self.best) = (*cost, order.clone());
                self.own = self.guard(&self.best);
                in_vain = 0;
                watch.found(choices, self.task.aim.told(*cost));
            }
            self.leave(winner.as_ref());
        }
        let order = self.best.iter().map(|&instr| InstrId(instr)).collect();
        Answer { order, iterations: iteration, choices }
    }

    /// Let the winner leave its pheromones. Without a winner, the best order so far does.
    fn leave(&mut self, winner: Option<&Found>) {
        let amount = |cost| self.task.aim.amount(&self.task.terrain, cost);
        let start = amount(self.task.start_cost);
        let (cost, order) = match winner {
            Some((cost, _, order)) => (*cost, order),
            None => (self.best_cost, &self.best),
        };
        self.pheromones.update(order, deposit(amount(cost), start), self.parameters().remains);
    }

    /// Run all ants of an iteration. Return the winner, and the number of choices.
    fn iterate(
        &self,
        ants: &mut [Vec<Ant>],
        iteration: u32,
        groups: u32,
        deadline: Option<Instant>,
    ) -> (Winner, u64) {
        let deadlines = self.deadlines();
        let next = AtomicU32::new(0);
        let work = |ants: &mut Vec<Ant>| {
            let at_a_time = ANTS_AT_A_TIME.max(ants.len() as u32);
            let mut done: (Winner, u64) = (None, 0);
            loop {
                let first = next.fetch_add(at_a_time, Ordering::Relaxed);
                if first >= groups * LANES {
                    return done;
                }
                let rules = self.rules(iteration, first / LANES, &deadlines);
                let (winner, choices) = self.send(ants, first..first + at_a_time, &rules, deadline);
                done = (better(done.0, winner), done.1 + choices);
            }
        };
        let Some((own, others)) = ants.split_first_mut() else { return (None, 0) };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                others.iter_mut().map(|ants| scope.spawn(threads::same_clock(|| work(ants)))).collect();
            let (mut winner, mut choices) = work(own);
            for other in others {
                let (found, chosen) = threads::join(other);
                winner = better(winner, found);
                choices += chosen;
            }
            (winner, choices)
        })
    }

    /// Return, for each instruction, the last slot in a schedule that could still win.
    fn deadlines(&self) -> Vec<u32> {
        match self.task.aim {
            Aim::Pressure { .. } => Vec::new(),
            Aim::Length { .. } => {
                let slack = self.best_cost * u64::from(self.parameters().slack) / 64;
                let last = (self.best_cost + slack).saturating_sub(2) as u32;
                let width = self.task.terrain.width;
                let deadline = |tail: &u32| last.saturating_sub(*tail) * width + (width - 1);
                self.task.terrain.tail.iter().map(deadline).collect()
            }
        }
    }

    /// Return the rules of a group.
    fn rules<'a>(&'a self, iteration: u32, group: u32, deadlines: &'a [u32]) -> Rules<'a> {
        let parameters = self.parameters();
        let packing = &self.task.terrain.packing;
        let (is_timed, limit) = match &self.task.aim {
            Aim::Length { limit } => (true, *limit),
            Aim::Pressure { steps } => {
                (false, steps.get((self.best_cost >> 32) as usize).copied().unwrap_or(packing.everything()))
            }
        };
        Rules {
            is_timed,
            stalls: is_timed && parameters.stalls(group),
            lists: parameters.lists,
            guide: match is_timed {
                true => Guide::ALL[group as usize % 3],
                false => [Guide::Relief, Guide::Both][group as usize % 2],
            },
            guard: match group % 4 {
                1 => self.fewest.as_ref(),
                3 => None,
                _ => self.own.as_ref(),
            },
            limit,
            deadlines,
            key: bits_at(
                bits_at(parameters.seed, u64::from(is_timed) << 32 | u64::from(iteration)),
                group.into(),
            ),
            explores_below: parameters.explores_below(self.task.len()),
        }
    }

    /// Run some ants of a group. Return the best one, and the number of choices. With one element of `ants`
    /// the ants run one after the other, otherwise the whole group runs together.
    fn send(
        &self,
        ants: &mut [Ant],
        numbers: Range<u32>,
        rules: &Rules,
        deadline: Option<Instant>,
    ) -> (Winner, u64) {
        let (terrain, pheromones) = (&self.task.terrain, self.pheromones.table());
        let mut winner: Winner = None;
        let mut choices = 0;
        let mut finish = |ant: &Ant, number: u32, is_alive: bool| {
            choices += ant.trail.len() as u64;
            if is_alive {
                let cost = self.task.aim.cost(terrain, ant.peak, ant.slot);
                if winner.as_ref().is_none_or(|(best, ..)| cost < *best) {
                    winner = Some((cost, number, ant.trail.clone()));
                }
            }
        };
        match ants {
            [ant] => {
                for number in numbers {
                    if is_over(deadline) {
                        break;
                    }
                    let is_alive = ant.walk(terrain, pheromones, rules, number % LANES);
                    finish(ant, number, is_alive);
                }
            }
            group if !is_over(deadline) => {
                let alive = Ant::walk_together(group, terrain, pheromones, rules);
                for ((ant, number), is_alive) in group.iter().zip(numbers).zip(alive) {
                    finish(ant, number, is_alive);
                }
            }
            _ => {}
        }
        (winner, choices)
    }
}

/// Return the better of two. Among equals, the lower number wins.
fn better(one: Winner, other: Winner) -> Winner {
    match (&one, &other) {
        (Some(first), Some(second)) if (second.0, second.1) < (first.0, first.1) => other,
        (None, Some(_)) => other,
        _ => one,
    }
}
