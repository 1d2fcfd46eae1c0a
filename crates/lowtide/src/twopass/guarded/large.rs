//! The lister for large regions: the same schedules as the plain one, in near-linear time.
//!
//! The plain lister looks at every ready instruction before each issue, and along the guard for each move.
//! Both grow with the width of a region. Here, the work for an issue grows with the logarithm only.
//! - Instructions with the same change of the live weight fit together, and pay the same charge for
//!   registers. So each change has a *bucket*, sorted by priority, of which only the best one counts. There
//!   are few different changes.
//! - A [`Profile`] tells whether a move is safe. An unsafe instruction is *parked* until the move may have
//!   become safe.
//! - Instructions that wait for their operands are sorted by the cycle in which these are available.
//!
//! There is one difference. After [`MOST_FAILURES`] unsafe instructions in one cycle, the next instruction of
//! the guard issues, if its operands are available. If they are not, and after more unsafe instructions, the
//! cycle stays empty. The plain lister would go on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::profile::Profile;
use super::{CYCLE, Guard, ISSUED, Lister, Priority};
use crate::budget::is_over;
use crate::twopass::timed::Timed;

/// The most unsafe instructions to look at before each issue.
const MOST_FAILURES: usize = 24;

/// How many times more instructions to look at if the next instruction of the guard has to wait.
const MORE_WITHOUT_NEXT: usize = 16;

/// Looks of the plain lister that take as much time as one issue, or as one check of a move.
const LOOKS_PER_CHECK: u64 = 16;

/// Issues between two looks at the clock.
const ISSUES_PER_TIME: u32 = 64;

/// The place of an instruction: not ready, waiting for operands, nearly available, unsafe, or the number of a
/// bucket.
const NOT_READY: u32 = u32::MAX;
const LATER: u32 = u32::MAX - 1;
const NEAR: u32 = u32::MAX - 2;
const PARKED: u32 = u32::MAX - 3;

/// The queues of a lister for large regions.
pub(super) struct Queues {
    profile: Profile,
    pub(super) most_failures: usize,
    place: Vec<u32>,
    buckets: Vec<Bucket>,
    /// The bucket of each change.
    numbers: FxHashMap<i64, u32>,
    /// Instructions whose operands are not available: by cycle.
    later: BinaryHeap<Reverse<(u32, u32)>>,
    /// Instructions whose operands are available soon enough to wait for. A parked one stays here until they
    /// are.
    near: Vec<u32>,
    is_near: Vec<bool>,
    /// Unsafe instructions, by the position of the guard at which the limit is exceeded.
    parked: BinaryHeap<Reverse<(u32, u32)>>,
    /// All ready instructions, and issued ones, by tail.
    tails: BinaryHeap<(u32, u32)>,
    improved: Vec<u32>,
}

/// Ready instructions with the same change of the live weight.
struct Bucket {
    change: i64,
    /// Priority, position in the guard, instruction. Some have issued, or are elsewhere by now.
    best: BinaryHeap<(i32, Reverse<u32>, u32)>,
}

/// A candidate: its priority and its position, which breaks ties.
type Key = (i64, Reverse<u32>);

impl Queues {
    pub(super) fn new(graph: &Timed) -> Self {
        Queues {
            profile: Profile::new(&graph.live, graph.limit),
            most_failures: MOST_FAILURES,
            place: vec![NOT_READY; graph.len()],
            buckets: Vec::new(),
            numbers: FxHashMap::default(),
            later: BinaryHeap::new(),
            near: Vec::new(),
            is_near: vec![false; graph.len()],
            parked: BinaryHeap::new(),
            tails: BinaryHeap::new(),
            improved: Vec::new(),
        }
    }

    fn restart(&mut self, graph: &Timed, guard: &Guard) {
        self.profile.restart(&graph.live, &guard.order);
        self.place.fill(NOT_READY);
        self.is_near.fill(false);
        self.buckets.iter_mut().for_each(|bucket| bucket.best.clear());
        self.later.clear();
        self.near.clear();
        self.parked.clear();
        self.tails.clear();
    }

    /// Put an instruction into the bucket of its change.
    fn put(&mut self, instr: u32, change: i64, base: i32, position: u32) {
        let next = self.buckets.len() as u32;
        let number = *self.numbers.entry(change).or_insert(next);
        if number == next {
            self.buckets.push(Bucket { change, best: BinaryHeap::new() });
        }
        self.place[instr as usize] = number;
        self.buckets[number as usize].best.push((base, Reverse(position), instr));
    }

    /// Return the best instruction of a bucket.
    fn best_of(&mut self, number: usize) -> Option<(i32, Reverse<u32>, u32)> {
        let bucket = &mut self.buckets[number];
        while let Some(&top) = bucket.best.peek() {
            if self.place[top.2 as usize] == number as u32 {
                return Some(top);
            }
            bucket.best.pop();
        }
        None
    }
}

impl Lister<'_> {
    /// As [`Lister::run`], for large regions.
    pub(super) fn run_large(
        &mut self,
        queues: &mut Queues,
        guard: &Guard,
        priority: &Priority,
        below: u32,
        deadline: Option<Instant>,
    ) -> Option<u32> {
        let graph = self.graph;
        self.walk.restart();
        self.clock.restart();
        self.available.fill(0);
        queues.restart(graph, guard);
        // A run that is given up at once has still looked at everything.
        self.steps += graph.len() as u64;
        self.take_improved(queues, guard, priority, below)?;
        let (mut first, mut cycle, mut issues) = (0, 0, 0);
        while !self.walk.is_complete() {
            issues += 1;
            if issues % ISSUES_PER_TIME == 0 && is_over(deadline) {
                return None;
            }
            self.set_charges(priority);
            let soonest = self.pass_time(queues, guard, priority, cycle);
            if self.is_too_long(queues, cycle, below) {
                return None;
            }
            match self.best_safe_large(queues, guard, priority, first, cycle) {
                Some(instr) => {
                    // Not before `cycle`: a wait may have ended without a look at all candidates.
                    let slot = self.clock.first_slot(graph, instr, self.available[instr as usize].max(cycle));
                    self.issue_large(queues, guard, priority, first, instr, slot);
                    self.take_improved(queues, guard, priority, below)?;
                    while first < guard.order.len() && self.available[guard.order[first] as usize] == ISSUED {
                        first += 1;
                    }
                    cycle = self.clock.slot / graph.width;
                }
                // (Never: the next instruction of the guard is safe, so it is one to wait for.)
                None if soonest == u32::MAX => return None,
                None => cycle = soonest.max(cycle + 1),
            }
        }
        Some((self.clock.slot - 1) / graph.width + 1)
    }

    /// Return whether a ready instruction is too late for a schedule below the given length.
    fn is_too_long(&self, queues: &mut Queues, cycle: u32, below: u32) -> bool {
        while let Some(&(tail, instr)) = queues.tails.peek() {
            if self.available[instr as usize] != ISSUED {
                return cycle + tail + 1 >= below;
            }
            queues.tails.pop();
        }
        false
    }

    /// Sort the instructions that have become ready or cheaper into the queues. `None` if the schedule
    /// becomes too long.
    fn take_improved(
        &mut self,
        queues: &mut Queues,
        guard: &Guard,
        priority: &Priority,
        below: u32,
    ) -> Option<()> {
        let mut improved = std::mem::take(&mut queues.improved);
        self.walk.take_improved(&mut improved);
        let mut is_short = true;
        for &instr in improved.iter().filter(|&&instr| self.walk.is_ready(instr)) {
            let available = self.available[instr as usize];
            match queues.place[instr as usize] {
                NOT_READY => {
                    let tail = self.graph.tail[instr as usize];
                    is_short &= available + tail + 1 < below;
                    queues.tails.push((tail, instr));
                    queues.later.push(Reverse((available, instr)));
                    queues.place[instr as usize] = LATER;
                }
                LATER | NEAR | PARKED => {}
                number if queues.buckets[number as usize].change == self.walk.delta(instr) => {}
                _ => queues.put(
                    instr,
                    self.walk.delta(instr),
                    priority.base[instr as usize],
                    guard.place[instr as usize],
                ),
            }
        }
        queues.improved = improved;
        is_short.then_some(())
    }

    /// Sort the instructions whose operands are available in `cycle`, or soon after it. Return the cycle in
    /// which more are.
    fn pass_time(&mut self, queues: &mut Queues, guard: &Guard, priority: &Priority, cycle: u32) -> u32 {
        let put = |queues: &mut Queues, instr: u32| {
            let (base, position) = (priority.base[instr as usize], guard.place[instr as usize]);
            queues.put(instr, self.walk.delta(instr), base, position);
        };
        let mut soonest = u32::MAX;
        let mut number = 0;
        while let Some(&instr) = queues.near.get(number) {
            let available = self.available[instr as usize];
            if available > cycle && available != ISSUED {
                soonest = soonest.min(available);
                number += 1;
                continue;
            }
            queues.near.swap_remove(number);
            queues.is_near[instr as usize] = false;
            if queues.place[instr as usize] == NEAR {
                put(queues, instr);
            }
        }
        while let Some(&Reverse((available, instr))) = queues.later.peek() {
            if available > cycle.saturating_add(priority.patience) {
                soonest = soonest.min(available);
                break;
            }
            queues.later.pop();
            if available <= cycle {
                put(queues, instr);
            } else {
                soonest = soonest.min(available);
                queues.place[instr as usize] = NEAR;
                queues.is_near[instr as usize] = true;
                queues.near.push(instr);
            }
        }
        soonest
    }

    /// Return the candidate with the best priority after which the guard still fits.
    fn best_safe_large(
        &mut self,
        queues: &mut Queues,
        guard: &Guard,
        priority: &Priority,
        first: usize,
        cycle: u32,
    ) -> Option<u32> {
        self.steps += LOOKS_PER_CHECK;
        let next = guard.order[first];
        let is_next_available = self.available[next as usize] <= cycle.saturating_add(priority.patience);
        let most = match is_next_available {
            true => queues.most_failures,
            false => queues.most_failures.saturating_mul(MORE_WITHOUT_NEXT),
        };
        for _ in 0..most {
            let instr = self.best(queues, guard, priority, cycle)?;
            let position = guard.place[instr as usize];
            if position as usize == first {
                return Some(instr);
            }
            self.steps += LOOKS_PER_CHECK;
            let Some(failure) = queues.profile.failure(&self.graph.live, instr, first as u32, position)
            else {
                return Some(instr);
            };
            queues.parked.push(Reverse((failure, instr)));
            queues.place[instr as usize] = PARKED;
        }
        is_next_available.then_some(next)
    }

    /// Return the candidate with the best priority that fits for the moment.
    fn best(&mut self, queues: &mut Queues, guard: &Guard, priority: &Priority, cycle: u32) -> Option<u32> {
        let mut best: Option<(Key, u32)> = None;
        self.steps += (queues.buckets.len() + queues.near.len()) as u64;
        for number in 0..queues.buckets.len() {
            let change = queues.buckets[number].change;
            if !self.fits_now(change) {
                continue;
            }
            let Some((base, position, instr)) = queues.best_of(number) else { continue };
            let key = (i64::from(base) - self.charge(priority, change), position);
            if best.is_none_or(|(other, _)| key > other) {
                best = Some((key, instr));
            }
        }
        for &instr in queues.near.iter().filter(|&&instr| queues.place[instr as usize] == NEAR) {
            let change = self.walk.delta(instr);
            if !self.fits_now(change) {
                continue;
            }
            let wait = self.available[instr as usize] - cycle;
            let base = i64::from(priority.base[instr as usize]) - 3 * i64::from(CYCLE) * i64::from(wait);
            let key = (base - self.charge(priority, change), Reverse(guard.place[instr as usize]));
            if best.is_none_or(|(other, _)| key > other) {
                best = Some((key, instr));
            }
        }
        best.map(|(_, instr)| instr)
    }

    fn fits_now(&self, change: i64) -> bool {
        self.graph.live.packing().fits(self.walk.live() + change, self.graph.limit)
    }

    fn issue_large(
        &mut self,
        queues: &mut Queues,
        guard: &Guard,
        priority: &Priority,
        first: usize,
        instr: u32,
        slot: u32,
    ) {
        let position = guard.place[instr as usize];
        queues.profile.issue(&self.graph.live, instr, first as u32, position);
        queues.place[instr as usize] = NOT_READY;
        self.issue(instr, slot);
        while let Some(&Reverse((failure, other))) = queues.parked.peek() {
            if failure >= position {
                break;
            }
            queues.parked.pop();
            // (An instruction that has issued is not parked any more.)
            if queues.place[other as usize] == PARKED {
                match queues.is_near[other as usize] {
                    true => queues.place[other as usize] = NEAR,
                    false => queues.put(
                        other,
                        self.walk.delta(other),
                        priority.base[other as usize],
                        guard.place[other as usize],
                    ),
                }
            }
        }
    }
}
