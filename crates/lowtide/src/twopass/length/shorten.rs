//! How schedules become shorter without a search: lists, and moves.
//!
//! - [`Pass::lists`] builds the first schedules, one for each priority, guard and end of time.
//! - [`Pass::list_again`] follows the times of a schedule with some noise. Each schedule that is no longer
//!   than the one before takes its place. Such a chain ends up in one way to use the registers, and hardly
//!   ever leaves it. In regions of long latency, the length of another way can differ by a third. So there
//!   are two chains. The *leader* starts from the best schedule, the *challenger* from a list with much
//!   noise. A challenger that does not improve any more is replaced, and one that is shorter than the leader
//!   takes its place.
//! - [`Pass::make_moves`] anneals the best schedule by `moves`: moves that make it longer are rare, and rarer
//!   and rarer.

use std::rc::Rc;

use super::{LOOKS_PER_STEP, Pass};
use crate::analysis::walk::Direction;
use crate::index::InstrId;
use crate::random::Random;
use crate::schedule::Schedule;
use crate::twopass::guarded::{CYCLE, Guard, Lister, Priority, Scarcity};
use crate::twopass::moves::Mover;
use crate::twopass::timed::Timed;

/// A challenger is replaced after so many looks for each instruction without a shorter schedule.
const LOOKS_OF_A_CHALLENGER: u64 = 100;

/// Looks for each instruction of the first episode of [`Pass::shorten_with_share`].
const LOOKS_PER_EPISODE: u64 = 300;

/// So many episodes without a shorter schedule are enough.
const MOST_IDLE_EPISODES: u32 = 12;

/// Of so many moves, the first ones of an episode, one may make the schedule a cycle longer.
const MOVES_PER_CYCLE: u64 = 7;

/// Looks of moves between two looks at the clock.
const LOOKS_PER_TIME: u64 = 1 << 12;

/// A schedule that lists start from.
#[derive(Clone)]
pub(super) struct Chain {
    length: u32,
    cycles: Vec<u32>,
    guards: [Guard; 2],
    /// Looks since it has become shorter.
    idle: u64,
}

const LEADER: usize = 0;
const CHALLENGER: usize = 1;

impl Pass<'_> {
    /// Keep an order if it is shorter.
    fn offer(&mut self, end: usize, trail: &[u32], length: u32) -> bool {
        if length >= self.answer.length && !self.has_units {
            return false;
        }
        let order = self.graphs[end].in_time(trail);
        let length = match self.has_units {
            true => Schedule::in_order(self.problem, order.clone()).length(),
            false => length,
        };
        let is_shorter = length < self.answer.length;
        if is_shorter {
            (self.answer.order, self.answer.length) = (order, length);
            self.watch.found(self.answer.nodes, length);
        }
        is_shorter
    }

    /// Run guarded lists from both ends, by several priorities, with all guards from a number on.
    pub(super) fn lists(&mut self, first_guard: usize) {
        let charges = [
            (0, Scarcity::Linear),
            (4, Scarcity::Linear),
            (20, Scarcity::Square),
            (50, Scarcity::Threshold),
            (200, Scarcity::Threshold),
        ];
        let graphs = Rc::clone(&self.graphs);
        let mut listers = [0, 1].map(|end| Lister::new(&graphs[end]));
        for (charge, scarcity) in charges {
            for end in [0, 1] {
                for guard in first_guard..self.guards[end].len() {
                    if self.is_done() {
                        return;
                    }
                    let base = graphs[end].tail.iter().map(|&tail| tail as i32 * CYCLE).collect();
                    let priority = Priority { base, charge, scarcity, patience: 0 };
                    let (lister, deadline) = (&mut listers[end], self.effort.deadline);
                    let below = self.answer.length.max(1);
                    if let Some(length) = lister.run(&self.guards[end][guard], &priority, below, deadline) {
                        self.known.push(graphs[end].in_time(lister.trail()));
                        self.offer(end, lister.trail(), length);
                    }
                }
            }
        }
    }

    /// Shorten the best schedule in episodes, with one of `parts` parts of the effort. Without success, the
    /// episodes become longer.
    pub(super) fn shorten_with_share(&mut self, parts: u32) {
        let share = self.effort.share(parts);
        let whole = std::mem::replace(&mut self.effort, share);
        let mut looks = LOOKS_PER_EPISODE * self.graphs[0].len() as u64;
        let mut idle = 0;
        while !self.is_done() && idle < MOST_IDLE_EPISODES {
            let before = self.answer.length;
            self.shorten(looks);
            if self.answer.length < before {
                idle = 0;
            } else {
                idle += 1;
                looks += looks / 2;
            }
        }
        let used = share.steps - self.effort.steps;
        self.effort = whole;
        self.effort.spend(used);
    }

    /// Shorten the best schedule by lists, then by moves, with at most `looks` looks at an instruction.
    pub(super) fn shorten(&mut self, looks: u64) {
        if self.is_done() {
            return;
        }
        if self.has_units {
            return self.list_again(looks);
        }
        self.list_again(looks / 2);
        if !self.is_done() {
            self.make_moves(looks / 2);
        }
    }

    /// List again by the times of known schedules, with noise, from either end.
    fn list_again(&mut self, looks: u64) {
        let graphs = Rc::clone(&self.graphs);
        let mut listers = [0, 1].map(|end| Lister::new(&graphs[end]));
        let leader = self.chain(self.answer.order.clone(), self.answer.length);
        let challenger = self.challenger.take().unwrap_or_else(|| Chain { idle: u64::MAX, ..leader.clone() });
        let mut chains = [leader, challenger];
        let mut priority =
            Priority { base: vec![0; graphs[0].len()], charge: 0, scarcity: Scarcity::Linear, patience: 0 };
        let mut spent = 0;
        while !self.is_done() && spent < looks {
            let number = self.random.pick(&[LEADER, CHALLENGER]);
            let chain = &mut chains[number];
            let is_new = number == CHALLENGER && chain.idle > LOOKS_OF_A_CHALLENGER * graphs[0].len() as u64;
            let end = self.random.below(2);
            let guard = self.random.below(self.guards[end].len() + if is_new { 0 } else { 2 });
            let guard = self.guards[end].get(guard).unwrap_or(&chain.guards[end]);
            let cycles = Some(&chain.cycles[..]).filter(|_| !is_new);
            vary(&mut priority, &graphs[end], cycles, &mut self.random);
            let below = if is_new { u32::MAX } else { chain.length + 3 };
            let lister = &mut listers[end];
            let before = lister.steps;
            let found = lister.run(guard, &priority, below, self.effort.deadline);
            let looked = lister.steps - before;
            spent += looked;
            chain.idle = chain.idle.saturating_add(looked);
            self.effort.spend(looked.div_ceil(LOOKS_PER_STEP));
            let Some(length) = found else { continue };
            self.offer(end, lister.trail(), length);
            if is_new || length <= chain.length || self.random.below(20) == 0 {
                let idle = if is_new || length < chain.length { 0 } else { chain.idle };
                *chain = Chain { idle, ..self.chain(graphs[end].in_time(lister.trail()), length) };
                if chains[CHALLENGER].length < chains[LEADER].length {
                    chains.swap(LEADER, CHALLENGER);
                    chains[CHALLENGER].idle = u64::MAX;
                }
            }
            if self.random.below(300) == 0 {
                chains[LEADER] = self.chain(self.answer.order.clone(), self.answer.length);
            }
        }
        let [_, challenger] = chains;
        self.challenger = Some(challenger);
    }

    fn chain(&self, order: Vec<InstrId>, length: u32) -> Chain {
        let guards = [0, 1].map(|end| Guard::new(&self.graphs[end], &order));
        let cycles = Schedule::in_order(self.problem, order).cycles().to_vec();
        Chain { length, cycles, guards, idle: 0 }
    }

    /// Make moves in the best order. At first some may make it longer.
    fn make_moves(&mut self, looks: u64) {
        let graphs = Rc::clone(&self.graphs);
        let mut mover = Mover::new(&graphs[0]);
        mover.start(&self.answer.order);
        let mut charged = 0;
        loop {
            let pause = looks.min(mover.looks + LOOKS_PER_TIME);
            while mover.looks < pause && self.answer.length > self.answer.bound {
                let mut most = mover.length();
                while self.random.bits() % (MOVES_PER_CYCLE * looks) < looks - mover.looks {
                    most += 1;
                }
                if mover.try_one(most, &mut self.random) && mover.length() < self.answer.length {
                    self.offer(0, mover.order(), mover.length());
                }
            }
            self.effort.spend((mover.looks - charged).div_ceil(LOOKS_PER_STEP));
            charged = mover.looks;
            if mover.looks >= looks || self.is_done() {
                return;
            }
        }
    }
}

/// Set a random priority near the times of a schedule or, without one, near the paths to the other end.
fn vary(priority: &mut Priority, graph: &Timed, cycles: Option<&[u32]>, random: &mut Random) {
    let amplitudes = if cycles.is_some() { [1, 4, 15, 60] } else { [4, 15, 60, 200] };
    let amplitude = random.pick(&amplitudes) * CYCLE;
    let noise = |random: &mut Random| (random.below(2 * amplitude as usize) as i32 - amplitude) / 2;
    priority.charge = random.pick(&[0, 2, 5, 10, 30, 100]);
    priority.scarcity = random.pick(&[Scarcity::Linear, Scarcity::Square, Scarcity::Threshold]);
    priority.patience = random.pick(&[0, 0, 1, 3]);
    let Some(cycles) = cycles.filter(|_| random.below(3) < 2) else {
        for (base, &tail) in priority.base.iter_mut().zip(&graph.tail) {
            *base = tail as i32 * CYCLE + noise(random);
        }
        return;
    };
    priority.charge = if random.chance(50) { 0 } else { (priority.charge + 4) / 5 };
    let sign = if graph.direction == Direction::TopDown { -CYCLE } else { CYCLE };
    for (base, &cycle) in priority.base.iter_mut().zip(cycles) {
        *base = cycle as i32 * sign;
    }
    if random.chance(50) {
        priority.base.iter_mut().for_each(|base| *base += noise(random));
    } else {
        for _ in 0..1 + random.below(4) {
            let instr = random.below(cycles.len());
            priority.base[instr] += 8 * noise(random) + 2 * amplitude;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::closure::Closure;
    use crate::analysis::length_bound::lower_bound;
    use crate::analysis::limits::peaks;
    use crate::analysis::walk::PressureFields;
    use crate::budget::Budget;
    use crate::check::check_order;
    use crate::generate::{self, Shape};
    use crate::list::few_registers::few_registers;
    use crate::minreg::made::targets;
    use crate::problem::{Goal, Problem};
    use crate::twopass::length::{Answer, LOOKS_AFTER_LISTS, Options, is_within};

    /// A way to shorten the start of a pass, with the closure of the region and a number of looks.
    type Way<'w> = &'w dyn Fn(&mut Pass, &Closure, u64);

    /// Shorten the schedules of generated regions in two ways. The only guard needs as many registers as
    /// there are. Return the summed lengths, and in how many regions the second way is shorter.
    fn in_two_ways(seeds: u64, ways: [Way; 2]) -> ([u32; 2], usize) {
        let [target, ..] = targets();
        let (mut sums, mut shorter) = ([0; 2], 0);
        for seed in 0..seeds {
            let region = generate::region(Shape::SeriesParallel, 120, seed);
            let problem = Problem::new(&region, &target, Goal::Occupancy).expect("all classes are known");
            let guard = few_registers(&problem);
            let limits: Vec<Option<u32>> = peaks(&region, &guard).into_iter().map(Some).collect();
            let packing = PressureFields::within(&region, &limits).expect("few registers");
            let times = lower_bound(&problem);
            let closure = Closure::new(&region);
            let lengths = ways.map(|way| {
                let length = Schedule::in_order(&problem, guard.clone()).length();
                let mut answer = Answer { order: guard.clone(), length, bound: times.best(), nodes: 0 };
                let budget = Budget { nodes: Some(20_000_000), ..Budget::default() };
                let options = Options { budget, ..Options::default() };
                let mut pass =
                    Pass::new(&problem, &limits, &packing, &times, &[&guard], options, &mut answer);
                pass.lists(0);
                way(&mut pass, &closure, LOOKS_AFTER_LISTS * region.len() as u64);
                check_order(&region, &answer.order).expect("a legal order");
                assert!(is_within(&region, &answer.order, &limits), "over a limit");
                assert_eq!(Schedule::in_order(&problem, answer.order).length(), answer.length);
                answer.length
            });
            shorter += usize::from(lengths[1] < lengths[0]);
            sums = [sums[0] + lengths[0], sums[1] + lengths[1]];
        }
        println!("{sums:?} cycles in two ways, shorter in {shorter} of {seeds}");
        (sums, shorter)
    }

    #[test]
    fn moves_shorten_what_lists_leave() {
        let lists = |pass: &mut Pass, _: &Closure, looks| pass.list_again(4 * looks);
        let both = |pass: &mut Pass, _: &Closure, looks| pass.shorten(4 * looks);
        let (sums, shorter) = in_two_ways(24, [&lists, &both]);
        assert!(shorter >= 8 && 100 * sums[1] < 98 * sums[0], "{sums:?} {shorter}");
    }

    /// In one of both passes, all later lists follow a lower guard, too.
    #[test]
    fn a_lower_guard_gives_shorter_schedules() {
        let without = |pass: &mut Pass, _: &Closure, looks| {
            pass.list_again(looks);
            pass.list_again(looks);
        };
        let with = |pass: &mut Pass, closure: &Closure, looks| {
            pass.list_again(looks);
            if let Some(number) = pass.lower_guard(|| closure) {
                pass.lists(number);
                pass.list_again(looks);
            }
        };
        let (sums, shorter) = in_two_ways(24, [&without, &with]);
        assert!(shorter >= 5 && 100 * sums[1] < 99 * sums[0], "{sums:?} {shorter}");
    }

    #[test]
    fn more_effort_gives_shorter_schedules() {
        let once = |pass: &mut Pass, _: &Closure, looks| pass.shorten(looks);
        let with_share = |pass: &mut Pass, _: &Closure, looks| {
            pass.shorten(looks);
            pass.shorten_with_share(40);
        };
        let (sums, shorter) = in_two_ways(24, [&once, &with_share]);
        assert!(shorter >= 12 && 100 * sums[1] < 97 * sums[0], "{sums:?} {shorter}");
    }
}
