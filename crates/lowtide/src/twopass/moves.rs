//! Moves in an order: how to get from one schedule within the limits to similar ones.
//!
//! A move takes an instruction to another place. Upwards, it takes those along that it waits for, and
//! downwards those that wait for it. So the order stays legal.
//!
//! A move changes a *segment* of the order, and the segment alone shows what becomes of the order:
//! - The set of issued instructions before and after the segment is the same as before, and so is the live
//!   weight there.
//! - The first possible slots of instructions depend only on what is above them. So those above the
//!   segment stay.
//! - The last possible slots, counted from the end of the schedule, depend only on what is below them. So
//!   those below the segment stay.
//!
//! Let `most` be no less than the length before. The new length is at most `most` exactly if every
//! instruction of the segment issues early enough for those below that wait for it, and for the next one.
//! *Proof.* A longest path of waits that has no instruction of the segment was there before. Any other one
//! leaves the segment somewhere, or ends in it. ∎
//!
//! So a move that is no good costs no more than its segment. After a good one, changed slots propagate
//! downwards and upwards until nothing changes any more.
//!
//! Half of the moves are made where they can help: at a stall that all later instructions
//! depend on. A later instruction can fill it, an earlier one can go down into it, and the instruction that
//! makes the others wait can go up.

use super::timed::Timed;
use crate::analysis::walk::NEVER;
use crate::index::InstrId;
use crate::random::Random;

/// An order within the limits, and the moves in it. Time runs forwards, and no unit makes an instruction
/// wait.
pub(crate) struct Mover<'g> {
    graph: &'g Timed,
    order: Vec<u32>,
    /// By instruction: its place in `order`.
    place: Vec<u32>,
    /// By instruction: the first slot that those above it allow.
    first: Vec<Slot>,
    /// By instruction: the last slot that those below it allow, if the schedule ends just before `end`.
    last: Vec<Slot>,
    /// A slot far away, the end of the last slots.
    end: Slot,
    /// By place: the live weight after it.
    live: Vec<i64>,
    /// By value: the place of its last use, or [`NEVER`] for a live-out.
    last_use: Vec<u32>,
    /// The segment in its new order, its slots before the move, and its new live weights.
    segment: Vec<u32>,
    slots_before: Vec<Slot>,
    new_live: Vec<i64>,
    /// Instructions that go along, and values with a later use in the segment: those with the number of this
    /// round.
    goes_along: Vec<u64>,
    used_below: Vec<u64>,
    round: u64,
    /// The number of looks at an instruction, over all moves.
    pub(crate) looks: u64,
}

/// A slot and its cycle. (The division takes longer than to load the cycle.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Slot {
    slot: u32,
    cycle: u32,
}

/// Places to look for a stall.
const PLACES_FOR_A_STALL: usize = 100;

/// The share of moves at stalls, in a hundred.
const MOVES_AT_STALLS: usize = 50;

impl<'g> Mover<'g> {
    /// Make a mover without an order. [`Mover::start`] sets one.
    pub(crate) fn new(graph: &'g Timed) -> Self {
        let (count, values) = (graph.len(), graph.live.values.len());
        // Far from zero, so that no last slot falls below it, and from the largest number of 32 bits, so that
        // no sum of slots exceeds it.
        let end_cycle = (1 << 31) / graph.width;
        Mover {
            graph,
            order: Vec::new(),
            place: vec![0; count],
            first: vec![Slot::default(); count],
            last: vec![Slot::default(); count],
            end: Slot { slot: end_cycle * graph.width, cycle: end_cycle },
            live: vec![0; count],
            last_use: vec![0; values],
            segment: Vec::new(),
            slots_before: Vec::new(),
            new_live: Vec::new(),
            goes_along: vec![0; count],
            used_below: vec![0; values],
            round: 0,
            looks: 0,
        }
    }

    /// Start from an order within the limits.
    pub(crate) fn start(&mut self, order: &[InstrId]) {
        self.order.clear();
        self.order.extend(order.iter().map(|instr| instr.0));
        let live = &self.graph.live;
        self.last_use.fill(0);
        for (place, &instr) in self.order.iter().enumerate() {
            self.place[instr as usize] = place as u32;
            live.closes
                .row(instr as usize)
                .iter()
                .for_each(|&value| self.last_use[value as usize] = place as u32);
        }
        for (last_use, value) in self.last_use.iter_mut().zip(&live.values) {
            *last_use = if value.left >= NEVER { NEVER } else { *last_use };
        }
        let mut now = live.live;
        for (place, &instr) in self.order.iter().enumerate() {
            let opens = live.opens.row(instr as usize).iter();
            now += opens.map(|&value| live.values[value as usize].weight).sum::<i64>();
            let closes = live.closes.row(instr as usize).iter();
            let closed = closes.filter(|&&value| self.last_use[value as usize] == place as u32);
            now -= closed.map(|&value| live.values[value as usize].weight).sum::<i64>();
            self.live[place] = now;
        }
        (0..self.order.len())
            .for_each(|place| self.first[self.order[place] as usize] = self.first_slot(place));
        (0..self.order.len())
            .rev()
            .for_each(|place| self.last[self.order[place] as usize] = self.last_slot(place));
        self.looks += 2 * self.order.len() as u64;
    }

    /// Return the order.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Return the length of the order, in cycles.
    pub(crate) fn length(&self) -> u32 {
        self.order.last().map_or(0, |&instr| self.first[instr as usize].cycle + 1)
    }

    /// Try a random move. Make it if the order stays within the limits and is no longer than `most`, which is
    /// at least its length before. Return whether it was made.
    pub(crate) fn try_one(&mut self, most: u32, random: &mut Random) -> bool {
        self.propose(random).is_some_and(|start| self.try_segment(start, most))
    }

    /// Arrange the segment of a random move. Return its first place; `None` if the order would stay the same.
    fn propose(&mut self, random: &mut Random) -> Option<usize> {
        let last = self.order.len() - 1;
        if last == 0 {
            return None;
        }
        let bits = random.below(last.ilog2() as usize + 1);
        let far = 1 + random.below(1 << bits);
        let stall = random.chance(MOVES_AT_STALLS).then(|| self.find_stall(random)).flatten();
        let Some(stall) = stall else {
            let place = random.below(last + 1);
            return match random.chance(50) {
                true => self.up(place, place.saturating_sub(far)),
                false => self.down(place, (place + far).min(last)),
            };
        };
        match random.below(3) {
            0 => self.up((stall + far).min(last), stall),
            1 => self.down(stall.saturating_sub(far), stall - 1),
            _ => {
                let blocker = self.blocker(stall);
                self.up(blocker, blocker.saturating_sub(far))
            }
        }
    }

    /// Find an instruction that issues later than the slot after the one above, where that makes the schedule
    /// longer.
    fn find_stall(&mut self, random: &mut Random) -> Option<usize> {
        let count = self.order.len();
        let spare = self.end.slot - (self.length() * self.graph.width);
        let start = 1 + random.below(count - 1);
        let end = count.min(start + PLACES_FOR_A_STALL);
        let found = (start..end).find(|&place| {
            let instr = self.order[place] as usize;
            let above = self.order[place - 1] as usize;
            // (In the last cycle of a schedule, some slots may be left.)
            self.first[instr].slot > self.first[above].slot + 1
                && self.last[instr].slot - spare < self.first[instr].slot + self.graph.width
        });
        self.looks += (found.unwrap_or(end) - start) as u64 / 4;
        found
    }

    /// Return the place of the instruction that an instruction waits for.
    fn blocker(&self, place: usize) -> usize {
        let links = self.graph.prev.row(self.order[place] as usize);
        let last = links.iter().max_by_key(|link| self.first[link.instr as usize].cycle + link.cycles);
        last.map_or(0, |link| self.place[link.instr as usize] as usize)
    }

    /// Arrange the segment for an instruction that goes up, together with those that it waits for. Return the
    /// first place of the segment; `None` if the order stays the same.
    fn up(&mut self, from: usize, to: usize) -> Option<usize> {
        self.round += 1;
        self.goes_along[self.order[from] as usize] = self.round;
        for place in (to..=from).rev() {
            let instr = self.order[place] as usize;
            if self.goes_along[instr] == self.round {
                for link in self.graph.prev.row(instr) {
                    self.goes_along[link.instr as usize] = self.round;
                }
            }
        }
        self.arrange(to, from, true)
    }

    /// As [`Mover::up`], for an instruction that goes down with those that wait for it.
    fn down(&mut self, from: usize, to: usize) -> Option<usize> {
        self.round += 1;
        self.goes_along[self.order[from] as usize] = self.round;
        for place in from..=to {
            let instr = self.order[place] as usize;
            if self.goes_along[instr] == self.round {
                for link in self.graph.next.row(instr) {
                    self.goes_along[link.instr as usize] = self.round;
                }
            }
        }
        self.arrange(from, to, false)
    }

    /// Put the instructions between two places that go along before the others, or after them.
    fn arrange(&mut self, first: usize, last: usize, go_up: bool) -> Option<usize> {
        self.looks += (last + 1 - first) as u64;
        let is_above = |&instr: &u32| (self.goes_along[instr as usize] == self.round) == go_up;
        let segment = &self.order[first..=last];
        // Those that stay in their place at both ends are no part of the segment.
        let same_above = segment.iter().take_while(|instr| is_above(instr)).count();
        let same_below = segment[same_above..].iter().rev().take_while(|instr| !is_above(instr)).count();
        let segment = &segment[same_above..segment.len() - same_below];
        self.segment.clear();
        self.segment.extend(segment.iter().filter(|instr| is_above(instr)));
        self.segment.extend(segment.iter().filter(|instr| !is_above(instr)));
        (!segment.is_empty()).then_some(first + same_above)
    }

    /// Put the segment in its new order if that fits and is short enough.
    fn try_segment(&mut self, start: usize, most: u32) -> bool {
        if !self.fits(start) {
            return false;
        }
        self.exchange(start);
        self.slots_before.clear();
        let end = start + self.segment.len();
        for place in start..end {
            let instr = self.order[place] as usize;
            self.slots_before.push(self.first[instr]);
            self.first[instr] = self.first_slot(place);
            if !self.is_in_time(place, end, most) {
                for (&instr, &slot) in self.order[start..].iter().zip(&self.slots_before) {
                    self.first[instr as usize] = slot;
                }
                self.exchange(start);
                return false;
            }
        }
        self.accept(start);
        true
    }

    /// Return whether the segment in its new order is within the limits. Set its live weights.
    fn fits(&mut self, start: usize) -> bool {
        let (graph, live) = (self.graph, &self.graph.live);
        let end = start + self.segment.len();
        let mut now = self.live[end - 1];
        self.new_live.resize(self.segment.len(), 0);
        for (position, &instr) in self.segment.iter().enumerate().rev() {
            self.looks += 1;
            if !live.packing().fits(now, graph.limit) {
                return false;
            }
            self.new_live[position] = now;
            for &value in live.opens.row(instr as usize) {
                now -= live.values[value as usize].weight;
            }
            for &value in live.closes.row(instr as usize) {
                let is_last = self.used_below[value as usize] != self.round;
                if is_last && self.last_use[value as usize] < end as u32 {
                    self.used_below[value as usize] = self.round;
                    now += live.values[value as usize].weight;
                }
            }
        }
        true
    }

    /// Exchange the segment and its part of the order.
    fn exchange(&mut self, start: usize) {
        let part = &mut self.order[start..start + self.segment.len()];
        part.swap_with_slice(&mut self.segment);
        for (place, &instr) in (start as u32..).zip(part.iter()) {
            self.place[instr as usize] = place;
        }
    }

    /// Return whether an instruction issues early enough for those below `end` to end in time.
    fn is_in_time(&self, place: usize, end: usize, most: u32) -> bool {
        let instr = self.order[place] as usize;
        let (own, spare) = (self.first[instr], self.end.cycle - most);
        let mut links = self.graph.next.row(instr).iter();
        let last = match self.order.get(end) {
            _ if place + 1 < end => self.end.slot,
            Some(&below) => self.last[below as usize].slot,
            None => self.end.slot,
        };
        own.slot + spare * self.graph.width < last
            && links.all(|link| {
                let other = link.instr as usize;
                self.place[other] < end as u32 || own.cycle + link.cycles + spare <= self.last[other].cycle
            })
    }

    /// Update slots, live weights and last uses after a move.
    fn accept(&mut self, start: usize) {
        let live = &self.graph.live;
        let end = start + self.segment.len();
        self.live[start..end].copy_from_slice(&self.new_live);
        for (place, &instr) in (start as u32..).zip(&self.order[start..end]) {
            for &value in live.closes.row(instr as usize) {
                let last_use = &mut self.last_use[value as usize];
                *last_use = if *last_use < end as u32 { place } else { *last_use };
            }
        }
        // (`place` only rises, so the last use of the segment remains.)
        let mut lowest = end;
        for (place, before) in (start..end).zip(&self.slots_before) {
            if self.first[self.order[place] as usize] != *before {
                lowest = lowest.max(self.lowest_that_waits(place));
            }
        }
        let mut place = end;
        while place <= lowest && place < self.order.len() {
            self.looks += 1;
            let slot = self.first_slot(place);
            let instr = self.order[place] as usize;
            if self.first[instr] != slot {
                self.first[instr] = slot;
                lowest = lowest.max(self.lowest_that_waits(place));
            }
            place += 1;
        }
        let mut highest = start.saturating_sub(1);
        let mut place = end;
        while place > highest {
            place -= 1;
            self.looks += 1;
            let slot = self.last_slot(place);
            let instr = self.order[place] as usize;
            if self.last[instr] != slot {
                self.last[instr] = slot;
                let links = self.graph.prev.row(instr).iter();
                let above = links.map(|link| self.place[link.instr as usize] as usize);
                highest = above.fold(highest, usize::min).min(place.saturating_sub(1));
            }
        }
    }

    /// Return the last place of those that wait for an instruction, or the next one.
    fn lowest_that_waits(&self, place: usize) -> usize {
        let links = self.graph.next.row(self.order[place] as usize).iter();
        links.map(|link| self.place[link.instr as usize] as usize).fold(place + 1, usize::max)
    }

    /// Return the first slot for an instruction that those above it allow.
    fn first_slot(&self, place: usize) -> Slot {
        let instr = self.order[place] as usize;
        let links = self.graph.prev.row(instr).iter();
        let cycle = links.map(|link| self.first[link.instr as usize].cycle + link.cycles).max().unwrap_or(0);
        let next = if place == 0 { 0 } else { self.first[self.order[place - 1] as usize].slot + 1 };
        self.slot(next.max(cycle * self.graph.width))
    }

    /// Return the last slot for an instruction that those below it allow.
    fn last_slot(&self, place: usize) -> Slot {
        let instr = self.order[place] as usize;
        let links = self.graph.next.row(instr).iter();
        let cycle = links.map(|link| self.last[link.instr as usize].cycle - link.cycles).min();
        let end = cycle.map_or(self.end.slot, |cycle| (cycle + 1) * self.graph.width);
        let next = self.order.get(place + 1).map_or(self.end.slot, |&below| self.last[below as usize].slot);
        self.slot(next.min(end) - 1)
    }

    fn slot(&self, slot: u32) -> Slot {
        Slot { slot, cycle: slot / self.graph.width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::length_bound::lower_bound;
    use crate::analysis::walk::{Direction, PressureFields};
    use crate::check::{check, check_order};
    use crate::generate::{self, Shape};
    use crate::list::few_registers::few_registers;
    use crate::minreg::made::{Made, retimed, targets};
    use crate::problem::{Goal, Problem};
    use crate::schedule::Schedule;

    /// Every verdict is that of the checker: a move is made exactly if the order stays within the limits and
    /// is short enough.
    #[test]
    fn moves_are_made_exactly_if_the_order_fits_and_is_short_enough() {
        let mut random = Random::new(1);
        let targets = targets();
        let (mut made, mut too_long, mut too_high, mut shorter) = (0, 0, 0, 0);
        let shapes = (0..8)
            .flat_map(|seed| Shape::ALL.map(|shape| generate::region(shape, 3 + 12 * seed as usize, seed)));
        let regions = (0..30).flat_map(|seed| Made::ALL.map(|made| made.region(8 + seed as usize, seed)));
        for (number, region) in shapes.chain(regions).enumerate() {
            let region = retimed(&region, &[&[]], &mut random);
            let target = &targets[number % targets.len()];
            let problem = Problem::new(&region, target, Goal::Occupancy).expect("all classes are known");
            let start = match random.chance(30) {
                true => generate::random_order(&region, &mut random),
                false => few_registers(&problem),
            };
            let peaks = check_order(&region, &start).expect("a legal order");
            let more = random.below(2) as u32;
            let limits: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between + more)).collect();
            let Some(packing) = PressureFields::within(&region, &limits) else { continue };
            let graph = Timed::new(&problem, Direction::TopDown, &packing, &limits, &lower_bound(&problem));
            let mut mover = Mover::new(&graph);
            mover.start(&start);
            for _ in 0..300 {
                let most = mover.length() + random.pick(&[0, 0, 0, 1, 10]);
                let Some(first) = mover.propose(&mut random) else { continue };
                let (before, old_length) = (mover.order.clone(), mover.length());
                let mut order = before.clone();
                order[first..first + mover.segment.len()].copy_from_slice(&mover.segment);
                assert_ne!(order, before, "a move changes the order");
                let schedule = Schedule::in_order(&problem, graph.in_time(&order));
                let text = || format!("{} within {limits:?}: {before:?} to {order:?}", region.name());
                let report =
                    check(&region, target, &schedule).unwrap_or_else(|error| panic!("{error:?}: {}", text()));
                let is_low =
                    report.peaks.iter().zip(&limits).all(|(peak, limit)| Some(peak.between) <= *limit);
                let is_short = report.length <= most;
                assert_eq!(mover.try_segment(first, most), is_low && is_short, "{}", text());
                let (now, length) =
                    if is_low && is_short { (&order, report.length) } else { (&before, old_length) };
                assert_eq!(mover.order(), now, "{}", text());
                shorter += u32::from(length < old_length);
                // All that is kept is that of a new start.
                let mut fresh = Mover::new(&graph);
                fresh.start(&graph.in_time(now));
                assert_eq!((mover.length(), fresh.length()), (length, length), "{}", text());
                assert_eq!(
                    (&mover.place, &mover.first, &mover.last),
                    (&fresh.place, &fresh.first, &fresh.last),
                    "{}",
                    text()
                );
                assert_eq!((&mover.live, &mover.last_use), (&fresh.live, &fresh.last_use), "{}", text());
                made += u32::from(is_low && is_short);
                too_high += u32::from(!is_low);
                too_long += u32::from(is_low && !is_short);
            }
        }
        println!("{made} moves, {too_high} over a limit, {too_long} too long, {shorter} shorter");
        assert!(made > 10_000 && too_high > 5_000 && too_long > 5_000 && shorter > 500);
    }
}
