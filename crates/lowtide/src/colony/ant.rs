//! One ant: the construction of a schedule, one instruction after the other.
//!
//! The schedule of an ant depends only on the terrain, the pheromones, the rules of its group and its number.
//! There is no other state and no floating point, so every engine computes the same schedule, bit for bit.
//!
//! # The definition
//! An ant keeps a *list* of the instructions that wait for no other one, in the order in which they became
//! ready. When one is taken, the last one moves to its place. Each has a *slot*: the first one that the
//! latencies of its operands allow. In each step the ant takes one instruction of the list:
//!
//! 1. An instruction is *open* if its slot is the current one or an earlier one, and if its issue keeps the
//!    live weight within the limit. If none is open, the ant waits for the next slot of an instruction of the
//!    list. If there is none, the ant dies. It also dies if an instruction of the list can no longer meet its
//!    deadline.
//! 2. The score of an open instruction is its pheromone after the last issued instruction, times its
//!    attraction.
//! 3. An instruction is *free* if it does not raise the live weight. In a group that may stall, if no open
//!    instruction is free, the free instructions that are not yet available become open, too. Their score is
//!    divided by 1 + (cycles to wait + cycles waited so far for the same reason) / [`STALL_SCALE`].
//! 4. If the group exploits in this step, the ant takes the first instruction with the highest score. If the
//!    group explores, the ant draws one with a probability in proportion to the score, by its random number
//!    of the step.
//!
//! The ants of a group take their steps together. With [`Lists::Whole`](super::Lists) an ant looks at its
//! whole list, so the other ants make no difference. Otherwise it looks at the beginning of its list, as far
//! as [`Lists::reach`](super::Lists) says for the lists of all living ants of the group. Only if the ant
//! would die there, it looks at the whole list.
//!
//! In pass 1, time does not count: every instruction of the list is available. A step is an instruction, not
//! a cycle as in paper 4. Stalls take no steps, so all ants of a group are always at the same step.

use super::guard::{Guard, Progress};
use super::terrain::Terrain;
use super::{Rules, STALL_SCALE};

/// The memory of an ant, reused by the next one. Threads must not share a cache line of it.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct Ant {
    /// The list, the slot of each of its instructions, and their scores.
    list: Vec<u32>,
    slots: Vec<u32>,
    scores: Vec<u32>,
    /// For each instruction: the number of instructions that it waits for, its slot so far, its change of the
    /// live weight, and its attraction.
    waits: Vec<u32>,
    available: Vec<u32>,
    delta: Vec<i64>,
    attraction: Vec<u16>,
    /// For each value: users left, and the sum of their numbers.
    left: Vec<u32>,
    closer_sum: Vec<u32>,
    /// For each instruction: not issued, issued, or issued early.
    marks: Vec<Mark>,
    progress: Progress,
    /// The live weight, the row of pheromones, and the cycles waited without need.
    live: i64,
    row: usize,
    waited: u32,
    pub(super) trail: Vec<u32>,
    /// The peak of each class so far.
    pub(super) peak: i64,
    /// The first slot after the last issue.
    pub(super) slot: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    Waiting,
    Issued,
    Early,
}

impl Ant {
    pub(super) fn new(terrain: &Terrain) -> Self {
        let room = terrain.most_ready;
        Ant {
            list: Vec::with_capacity(room),
            slots: Vec::with_capacity(room),
            scores: vec![0; room],
            waits: terrain.waits.clone(),
            available: vec![0; terrain.len()],
            delta: terrain.delta.clone(),
            attraction: terrain.attraction[0].clone(),
            left: terrain.left.clone(),
            closer_sum: terrain.closer_sum.clone(),
            marks: vec![Mark::Waiting; terrain.len()],
            progress: Progress::default(),
            live: 0,
            row: 0,
            waited: 0,
            trail: Vec::with_capacity(terrain.len()),
            peak: 0,
            slot: 0,
        }
    }

    /// Make a schedule. Return false if the ant dies. `pheromones` has a row for each instruction that may
    /// come before, and one for the start.
    pub(super) fn walk(&mut self, terrain: &Terrain, pheromones: &[u16], rules: &Rules, lane: u32) -> bool {
        self.restart(terrain, rules);
        let key = rules.key_of(lane);
        (0..terrain.len()).all(|step| self.step(terrain, pheromones, rules, key, step, usize::MAX))
    }

    /// Make the schedules of a group, one ant for each lane. Return which of them are alive.
    pub(super) fn walk_together(
        ants: &mut [Ant],
        terrain: &Terrain,
        pheromones: &[u16],
        rules: &Rules,
    ) -> Vec<bool> {
        ants.iter_mut().for_each(|ant| ant.restart(terrain, rules));
        let mut alive = vec![true; ants.len()];
        for step in 0..terrain.len() {
            let living = ants.iter().zip(&alive).filter(|(_, is_alive)| **is_alive);
            let reach = rules.lists.reach(living.map(|(ant, _)| ant.list.len()));
            for (lane, (ant, is_alive)) in ants.iter_mut().zip(&mut alive).enumerate() {
                let key = rules.key_of(lane as u32);
                *is_alive = *is_alive && ant.step(terrain, pheromones, rules, key, step, reach);
            }
        }
        alive
    }

    /// Issue the next instruction. Return false if the ant dies. The ant looks at the first `reach`
    /// instructions of its list.
    #[inline]
    fn step(
        &mut self,
        terrain: &Terrain,
        pheromones: &[u16],
        rules: &Rules,
        key: u64,
        step: usize,
        reach: usize,
    ) -> bool {
        let count = terrain.len();
        let (live, waited) = (self.live, self.waited);
        let trail = &pheromones[self.row * count..][..count];
        let mut reach = reach.min(self.list.len());
        let mut total = self.look(terrain, trail, rules, live, waited, reach);
        if total.is_none() && reach < self.list.len() {
            reach = self.list.len();
            total = self.look(terrain, trail, rules, live, waited, reach);
        }
        let Some(total) = total else { return false };
        let place = match rules.explores(step) {
            true => self.draw(rules.number(key, step), total, reach),
            false => self.best(reach),
        };
        let instr = self.list.swap_remove(place);
        let available = self.slots.swap_remove(place);
        if available > self.slot {
            self.waited += (available - self.slot) / terrain.width;
            self.slot = available;
        }
        if let Some(guard) = rules.guard {
            let is_free = terrain.packing.fits(live + self.delta[instr as usize], live);
            self.follow(terrain, guard, instr, is_free);
        }
        self.live += self.delta[instr as usize];
        if !terrain.packing.fits(self.live, self.peak) {
            self.peak = terrain.packing.highest(self.live, self.peak);
        }
        self.pass(terrain, &terrain.relief[rules.guide as usize], rules.is_timed, instr);
        self.row = instr as usize;
        true
    }

    fn restart(&mut self, terrain: &Terrain, rules: &Rules) {
        self.waits.copy_from_slice(&terrain.waits);
        self.delta.copy_from_slice(&terrain.delta);
        self.attraction.copy_from_slice(&terrain.attraction[rules.guide as usize]);
        self.left.copy_from_slice(&terrain.left);
        self.closer_sum.copy_from_slice(&terrain.closer_sum);
        self.available.fill(0);
        self.trail.clear();
        self.list.clear();
        self.list.extend_from_slice(&terrain.roots);
        self.slots.clear();
        self.slots.resize(terrain.roots.len(), 0);
        self.marks.fill(Mark::Waiting);
        self.progress = Progress::default();
        self.live = terrain.live;
        self.row = terrain.len();
        self.waited = 0;
        self.peak = terrain.live;
        self.slot = 0;
    }

    /// Score all open instructions of the first `reach`, at the first slot that has one, and return the sum.
    /// `None` if the ant dies.
    #[inline]
    fn look(
        &mut self,
        terrain: &Terrain,
        trail: &[u16],
        rules: &Rules,
        live: i64,
        waited: u32,
        reach: usize,
    ) -> Option<u64> {
        let packing = &terrain.packing;
        loop {
            let mut total = 0;
            let mut next = u32::MAX;
            let mut is_free = false;
            let now = self.slot;
            let list = self.list[..reach].iter().zip(&self.slots);
            for ((&instr, &slot), score) in list.zip(&mut self.scores) {
                *score = 0;
                let instr = instr as usize;
                if rules.is_timed && slot.max(now) > rules.deadlines[instr] {
                    return None;
                }
                if slot > now {
                    next = next.min(slot);
                    continue;
                }
                let then = live + self.delta[instr];
                let is_open = packing.fits(then, rules.limit)
                    && rules.guard.is_none_or(|guard| {
                        let Progress { first, early, end } = self.progress;
                        let rank = guard.rank[instr];
                        rank == first
                            || packing.fits(then, live)
                            || guard.has_room(terrain, early + terrain.opened[instr], first, end.max(rank))
                    });
                if is_open {
                    *score = u32::from(trail[instr]) * u32::from(self.attraction[instr]);
                    total += u64::from(*score);
                    is_free |= rules.stalls && packing.fits(then, live);
                }
            }
            if next != u32::MAX && rules.stalls && !is_free {
                total += self.look_ahead(terrain, trail, rules, live, waited, reach);
            }
            if total > 0 {
                return Some(total);
            }
            if next == u32::MAX {
                return None;
            }
            self.slot = next;
        }
    }

    /// Score the free instructions that are not yet available.
    fn look_ahead(
        &mut self,
        terrain: &Terrain,
        trail: &[u16],
        rules: &Rules,
        live: i64,
        waited: u32,
        reach: usize,
    ) -> u64 {
        let mut total = 0;
        let list = self.list[..reach].iter().zip(&self.slots);
        for ((&instr, &slot), score) in list.zip(&mut self.scores) {
            let instr = instr as usize;
            let then = live + self.delta[instr];
            if slot > self.slot && terrain.packing.fits(then, live) && terrain.packing.fits(then, rules.limit)
            {
                let wait = (slot - self.slot) / terrain.width + waited;
                let whole = u32::from(trail[instr]) * u32::from(self.attraction[instr]);
                *score = (whole * STALL_SCALE / (STALL_SCALE + wait)).max(1);
                total += u64::from(*score);
            }
        }
        total
    }

    /// Return the first instruction with the highest score.
    #[inline]
    fn best(&self, reach: usize) -> usize {
        let mut best = (0, 0);
        for (place, &score) in self.scores[..reach].iter().enumerate() {
            if score > best.1 {
                best = (place, score);
            }
        }
        best.0
    }

    /// Draw an instruction in proportion to its score, by a random number.
    #[inline]
    fn draw(&self, number: u64, total: u64, reach: usize) -> usize {
        let mut rest = ((u128::from(number) * u128::from(total)) >> 64) as u64;
        for (place, &score) in self.scores[..reach].iter().enumerate() {
            if rest < u64::from(score) {
                return place;
            }
            rest -= u64::from(score);
        }
        0 // never: the number is below the total
    }

    /// Advance along the guard past all issued instructions.
    #[inline]
    fn follow(&mut self, terrain: &Terrain, guard: &Guard, instr: u32, is_free: bool) {
        let Progress { first, early, end } = &mut self.progress;
        let rank = guard.rank[instr as usize];
        self.marks[instr as usize] = match rank == *first || is_free {
            true => Mark::Issued,
            false => {
                *early += terrain.opened[instr as usize];
                *end = rank.max(*end);
                Mark::Early
            }
        };
        while let Some(&instr) = guard.order.get(*first as usize) {
            match self.marks[instr as usize] {
                Mark::Waiting => break,
                Mark::Issued => {}
                Mark::Early => *early -= terrain.opened[instr as usize],
            }
            *first += 1;
        }
        if *early == 0 {
            *end = 0;
        }
    }

    /// Issue an instruction.
    #[inline]
    fn pass(&mut self, terrain: &Terrain, relief: &[u16], is_timed: bool, instr: u32) {
        self.trail.push(instr);
        for &value in terrain.closes.row(instr as usize) {
            let value = value as usize;
            self.left[value] -= 1;
            self.closer_sum[value] = self.closer_sum[value].wrapping_sub(instr);
            if self.left[value] == 1 {
                let last = self.closer_sum[value] as usize;
                self.delta[last] -= terrain.weights[value];
                self.attraction[last] += relief[value];
            }
        }
        let cycle = self.slot / terrain.width;
        for link in terrain.next.row(instr as usize) {
            let other = link.instr as usize;
            if is_timed {
                self.available[other] = self.available[other].max((cycle + link.cycles) * terrain.width);
            }
            self.waits[other] -= 1;
            if self.waits[other] == 0 {
                self.list.push(link.instr);
                self.slots.push(self.available[other]);
            }
        }
        if is_timed {
            self.slot += 1;
        }
    }
}
