//! Guarded list scheduling: short schedules under a limit on registers, without dead ends.
//!
//! A list scheduler that only looks at the current pressure can run into a dead end. There, all registers are
//! taken, and no ready instruction frees one. The banker's rule avoids that. Keep one order within the limit,
//! the *guard*. Issue an instruction only if the rest of the guard, without the issued instructions, still
//! fits after it. Then the next instruction of the guard is always possible, and the scheduler never has to
//! backtrack. Only the guard up to the instruction has to be checked. Beyond it, the set of issued
//! instructions is the same with or without this step, and fitted before.
//!
//! Among the instructions that the guard allows, the one with the best priority issues. The priority is the
//! longest path to the other end, less a charge for registers that grows as they become scarce. Both ends of
//! time are tried, as are several priorities and guards.
//!
//! For large regions, [`large`] makes the same schedules in near-linear time, with the live weight along the
//! guard in a tree ([`profile`]).

mod large;
mod profile;

use std::time::Instant;

use super::timed::{Clock, Timed};
use crate::analysis::walk::Walk;
use crate::budget::is_over;
use crate::index::InstrId;
use large::Queues;

/// An order within the limits, as seen from one end.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    order: Vec<u32>,
    /// Position in `order`.
    place: Vec<u32>,
}

impl Guard {
    pub(crate) fn new(graph: &Timed, order: &[InstrId]) -> Self {
        let order = graph.as_built(order);
        let mut place = vec![0; order.len()];
        for (position, &instr) in order.iter().enumerate() {
            place[instr as usize] = position as u32;
        }
        Guard { order, place }
    }
}

/// The growth of the charge for registers with the live share of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scarcity {
    Linear,
    Square,
    /// No charge up to four fifths.
    Threshold,
}

/// The priority of instructions.
#[derive(Clone, Debug)]
pub(crate) struct Priority {
    /// For each instruction; the larger one issues first. In sixteenths of a cycle.
    pub(crate) base: Vec<i32>,
    /// The charge in cycles for one more register if all are taken.
    pub(crate) charge: i32,
    pub(crate) scarcity: Scarcity,
    /// The most cycles to wait for a better instruction than the available ones.
    pub(crate) patience: u32,
}

/// Sixteenths of a cycle, the unit of priorities.
pub(crate) const CYCLE: i32 = 16;

/// A builder of schedules from one end.
pub(crate) struct Lister<'g> {
    graph: &'g Timed,
    walk: Walk<'g>,
    clock: Clock,
    /// For each instruction, the first cycle in which its issued operands are available.
    available: Vec<u32>,
    /// Candidates: priority and instruction.
    candidates: Vec<(i64, u32)>,
    /// By class that counts: the charge for one register more.
    charges: Vec<(crate::index::ClassId, i64)>,
    limits: Vec<u32>,
    /// The number of looks at an instruction, over all runs.
    pub(crate) steps: u64,
    /// The queues of a large region.
    queues: Option<Box<Queues>>,
}

/// The smallest region that counts as large. Below, the plain lister is faster.
const LARGE: usize = 1025;

/// Looks at instructions between two looks at the clock.
const LOOKS_PER_TIME: u64 = 1 << 14;

impl<'g> Lister<'g> {
    pub(crate) fn new(graph: &'g Timed) -> Self {
        let packing = graph.live.packing();
        let charges: Vec<_> = packing.classes().map(|class| (class, 0)).collect();
        let limits = charges.iter().map(|&(class, _)| packing.unpack(graph.limit, class)).collect();
        Lister {
            graph,
            walk: Walk::new(&graph.live),
            clock: Clock::new(graph),
            available: vec![0; graph.len()],
            candidates: Vec::new(),
            charges,
            limits,
            steps: 0,
            queues: (graph.len() >= LARGE).then(|| Box::new(Queues::new(graph))),
        }
    }

    /// As [`Lister::new`], for a large region, with another limit on failures before each issue.
    #[cfg(test)]
    fn large(graph: &'g Timed, most_failures: usize) -> Self {
        let mut queues = Queues::new(graph);
        queues.most_failures = most_failures;
        Lister { queues: Some(Box::new(queues)), ..Lister::new(graph) }
    }

    /// Return the instructions built so far, from this end.
    pub(crate) fn trail(&self) -> &[u32] {
        self.walk.trail()
    }

    /// Build a schedule and return its length. Return `None` as soon as the length is known to be at least
    /// `below`, or when the time is over.
    pub(crate) fn run(
        &mut self,
        guard: &Guard,
        priority: &Priority,
        below: u32,
        deadline: Option<Instant>,
    ) -> Option<u32> {
        match self.queues.take() {
            Some(mut queues) => {
                let length = self.run_large(&mut queues, guard, priority, below, deadline);
                self.queues = Some(queues);
                length
            }
            None => self.run_plain(guard, priority, below, deadline),
        }
    }

    fn run_plain(
        &mut self,
        guard: &Guard,
        priority: &Priority,
        below: u32,
        deadline: Option<Instant>,
    ) -> Option<u32> {
        let graph = self.graph;
        let mut next_look = self.steps + LOOKS_PER_TIME;
        self.walk.restart();
        self.clock.restart();
        self.available.fill(0);
        let mut first = 0;
        let mut cycle = 0;
        while !self.walk.is_complete() {
            if self.steps >= next_look {
                next_look = self.steps + LOOKS_PER_TIME;
                if is_over(deadline) {
                    return None;
                }
            }
            self.set_charges(priority);
            let soonest = self.find_candidates(priority, cycle, below)?;
            match self.best_safe(guard, first) {
                Some(instr) => {
                    let slot = self.clock.first_slot(graph, instr, self.available[instr as usize]);
                    self.issue(instr, slot);
                    self.walk.forget_improved();
                    while first < guard.order.len() && self.available[guard.order[first] as usize] == ISSUED {
                        first += 1;
                    }
                    cycle = self.clock.slot / graph.width;
                }
                // The next instruction of the guard is always safe, so there is one to wait for.
                None => cycle = soonest.max(cycle + 1),
            }
        }
        Some((self.clock.slot - 1) / graph.width + 1)
    }

    fn issue(&mut self, instr: u32, slot: u32) {
        let graph = self.graph;
        self.clock.issue(graph, instr, slot);
        self.walk.push(instr);
        for link in graph.next.row(instr as usize) {
            let available = &mut self.available[link.instr as usize];
            *available = (*available).max(slot / graph.width + link.cycles);
        }
        self.available[instr as usize] = ISSUED;
    }

    fn set_charges(&mut self, priority: &Priority) {
        if priority.charge == 0 {
            return;
        }
        let packing = self.graph.live.packing();
        for ((class, charge), &limit) in self.charges.iter_mut().zip(&self.limits) {
            let share = (i64::from(packing.unpack(self.walk.live(), *class)) << 8) / i64::from(limit.max(1));
            let scarcity = match priority.scarcity {
                Scarcity::Linear => share,
                Scarcity::Square => (share * share) >> 8,
                Scarcity::Threshold if share > 205 => 256,
                Scarcity::Threshold => 0,
            };
            *charge = (i64::from(priority.charge * CYCLE) * scarcity) >> 8;
        }
    }

    /// Collect the instructions that could issue in or soon after `cycle` and fit for the moment. Return the
    /// cycle in which more become available. `None` if the schedule becomes too long.
    fn find_candidates(&mut self, priority: &Priority, cycle: u32, below: u32) -> Option<u32> {
        let graph = self.graph;
        let packing = graph.live.packing();
        let live = self.walk.live();
        let mut soonest = u32::MAX;
        self.candidates.clear();
        self.steps += self.walk.ready().len() as u64;
        for &instr in self.walk.ready() {
            let available = self.available[instr as usize].max(cycle);
            if available + graph.tail[instr as usize] + 1 >= below {
                return None;
            }
            let wait = available - cycle;
            if wait > 0 {
                soonest = soonest.min(available);
                if wait > priority.patience {
                    continue;
                }
            }
            let change = self.walk.delta(instr);
            if !packing.fits(live + change, graph.limit) {
                continue;
            }
            let key = i64::from(priority.base[instr as usize]) - 3 * i64::from(CYCLE) * i64::from(wait);
            self.candidates.push((key - self.charge(priority, change), instr));
        }
        Some(soonest)
    }

    /// Return the charge for a change of the live weight.
    #[inline]
    fn charge(&self, priority: &Priority, change: i64) -> i64 {
        if priority.charge == 0 || change == 0 {
            return 0;
        }
        let (packing, live) = (self.graph.live.packing(), self.walk.live());
        let of_class = |&(class, charge): &(crate::index::ClassId, i64)| {
            let change =
                i64::from(packing.unpack(live + change, class)) - i64::from(packing.unpack(live, class));
            charge * change
        };
        self.charges.iter().map(of_class).sum()
    }

    /// Return the candidate with the best priority after which the guard still fits.
    fn best_safe(&mut self, guard: &Guard, first: usize) -> Option<u32> {
        while !self.candidates.is_empty() {
            let best = (0..self.candidates.len()).max_by_key(|&position| {
                let (key, instr) = self.candidates[position];
                (key, std::cmp::Reverse(guard.place[instr as usize]))
            })?;
            let (_, instr) = self.candidates.swap_remove(best);
            let place = guard.place[instr as usize] as usize;
            if place == first {
                return Some(instr);
            }
            let available = &self.available;
            let mut looked_at = 0;
            let rest = guard.order[first..place].iter().copied().filter(|&other| {
                looked_at += 1;
                other != instr && available[other as usize] != ISSUED
            });
            let is_safe = self.walk.fits_along(instr, rest, self.graph.limit);
            self.steps += looked_at;
            if is_safe {
                return Some(instr);
            }
        }
        None
    }
}

/// The mark of issued instructions, in place of their available cycle.
const ISSUED: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::length_bound::{binding_units, lower_bound};
    use crate::analysis::walk::{Direction, PressureFields};
    use crate::budget::clock::{ticking, until};
    use crate::check::{check, check_order};
    use crate::generate::{self, Shape};
    use crate::list::few_registers::few_registers;
    use crate::minreg::made::{Made, retimed, targets};
    use crate::problem::{Goal, Problem};
    use crate::random::Random;
    use crate::schedule::Schedule;

    fn random_priority(graph: &Timed, random: &mut Random) -> Priority {
        let (most, with_tail) = (random.pick(&[1, 100, 5_000]), random.chance(50));
        let base = graph.tail.iter().map(|&tail| {
            let noise = random.below(2 * most) as i32 - most as i32;
            if with_tail { tail as i32 * CYCLE + noise } else { noise }
        });
        let base = base.collect();
        Priority {
            base,
            charge: random.pick(&[0, 3, 50, 1_000]),
            scarcity: random.pick(&[Scarcity::Linear, Scarcity::Square, Scarcity::Threshold]),
            patience: random.pick(&[0, 1, 3, 100]),
        }
    }

    /// The steps for each instruction do not depend on the number of ready instructions: at most 24 checks,
    /// of about 20 steps each. Between two looks at the clock there are few.
    #[test]
    fn wide_regions_take_few_steps_for_each_instruction() {
        let mut steps = Vec::new();
        for nodes in [2_000, 8_000] {
            let (region, [target, ..]) = (generate::families::wide(nodes, 1), targets());
            let problem = Problem::new(&region, &target, Goal::Occupancy).expect("all classes are known");
            // The guard needs few registers, so most instructions that are ready are not safe.
            let guard = few_registers(&problem);
            let peaks = check_order(&region, &guard).expect("a legal order");
            let limits: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between)).collect();
            let packing = PressureFields::within(&region, &limits).expect("few classes");
            let times = lower_bound(&problem);
            for end in [Direction::TopDown, Direction::BottomUp] {
                let graph = Timed::new(&problem, end, &packing, &limits, &times);
                let base = graph.tail.iter().map(|&tail| tail as i32 * CYCLE).collect();
                let priority = Priority { base, charge: 20, scarcity: Scarcity::Square, patience: 1 };
                let as_guard = Guard::new(&graph, &guard);
                let mut lister = Lister::new(&graph);
                assert!(lister.queues.is_some(), "a large region");
                assert!(lister.run(&as_guard, &priority, u32::MAX, None).is_some());
                let all = lister.steps;
                assert!(all < 600 * nodes as u64, "{nodes}: {all} steps");
                steps.push(all);
                let per_look = ticking(|| {
                    let deadline = until(10, nodes).effort(nodes).deadline;
                    assert_eq!(lister.run(&as_guard, &priority, u32::MAX, deadline), None, "no time");
                    lister.steps - all
                });
                // The start of a run looks at every instruction once.
                let most = 10 * 64 * 600 + nodes as u64;
                assert!(per_look.1 == 11 && per_look.0 < most, "{nodes}: {per_look:?}");
            }
        }
        println!("{steps:?}");
    }

    /// The limit is exactly the guard's need, with any priority.
    #[test]
    fn there_is_always_a_way_on() {
        let mut random = Random::new(1);
        let targets = targets();
        let (mut runs, mut others, mut shorter, mut hasty_others) = (0, 0, 0, 0);
        let shapes = (0..8)
            .flat_map(|seed| Shape::ALL.map(|shape| generate::region(shape, 5 + 12 * seed as usize, seed)));
        let made = (0..60).flat_map(|seed| Made::ALL.map(|made| made.region(8 + seed as usize, seed)));
        for (number, region) in shapes.chain(made).enumerate() {
            let units: [&[(&str, u32)]; 3] = [&[], &[("a", 3)], &[("b", 5), ("a", 2)]];
            let region = retimed(&region, &units, &mut random);
            let target = &targets[number % targets.len()];
            let problem = Problem::new(&region, target, Goal::Occupancy).expect("all classes are known");
            let guard = generate::random_order(&region, &mut random);
            let peaks = check_order(&region, &guard).expect("a legal order");
            let limits: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between)).collect();
            let Some(packing) = PressureFields::within(&region, &limits) else { continue };
            let times = lower_bound(&problem);
            let has_units = !binding_units(&problem).is_empty();
            let start = Schedule::in_order(&problem, guard.clone()).length();
            for end in [Direction::TopDown, Direction::BottomUp] {
                let graph = Timed::new(&problem, end, &packing, &limits, &times);
                let mut lister = Lister::new(&graph);
                let mut large = Lister::large(&graph, usize::MAX);
                let mut hasty = Lister::large(&graph, random.below(4));
                let as_guard = Guard::new(&graph, &guard);
                for _ in 0..6 {
                    let text = || format!("{} within {limits:?}, {end:?}", region.name());
                    let priority = random_priority(&graph, &mut random);
                    let length = lister.run(&as_guard, &priority, u32::MAX, None);
                    let length = length.unwrap_or_else(|| panic!("no way on: {}", text()));
                    let order = graph.in_time(lister.trail());
                    let schedule = Schedule::in_order(&problem, order.clone());
                    let report = check(&region, target, &schedule).expect("a legal schedule");
                    // The lister for large regions makes the same schedule.
                    assert_eq!(large.run(&as_guard, &priority, u32::MAX, None), Some(length), "{}", text());
                    assert_eq!(large.trail(), lister.trail(), "{}", text());
                    for below in [length.saturating_sub(1), length, length + 1] {
                        let expected = lister.run(&as_guard, &priority, below, None);
                        assert_eq!(large.run(&as_guard, &priority, below, None), expected, "{}", text());
                    }
                    // With few looks for a safe instruction, the schedule is still within the limits.
                    let hasty_length = hasty.run(&as_guard, &priority, u32::MAX, None);
                    let order = graph.in_time(hasty.trail());
                    let hasty_peaks = check_order(&region, &order).expect("a legal order");
                    assert!(
                        hasty_peaks.iter().zip(&peaks).all(|(peak, limit)| peak.between <= limit.between)
                    );
                    assert!(hasty_length.is_some(), "{}", text());
                    hasty_others += u32::from(hasty_length != Some(length));
                    let fits =
                        report.peaks.iter().zip(&peaks).all(|(peak, limit)| peak.between <= limit.between);
                    assert!(fits, "{:?}: {}", report.peaks, text());
                    runs += 1;
                    others += u32::from(order != guard);
                    shorter += u32::from(report.length < start);
                    // (Backwards, units count only in the bounds.)
                    if end == Direction::TopDown || !has_units {
                        assert_eq!(report.length, length, "{}", text());
                        // No schedule that is short enough is given up.
                        assert_eq!(
                            lister.run(&as_guard, &priority, length + 1, None),
                            Some(length),
                            "{}",
                            text()
                        );
                    }
                    if !has_units {
                        assert_eq!(lister.run(&as_guard, &priority, length, None), None, "{}", text());
                    }
                }
            }
        }
        println!("{runs} runs, {others} other orders than the guard, {shorter} shorter ones");
        assert!(runs > 4_000 && others > 3_000 && shorter > 2_000, "{runs} {others} {shorter}");
        assert!(hasty_others > 100, "{hasty_others}");
    }
}
