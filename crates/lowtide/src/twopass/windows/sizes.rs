//! Sizes: how many instructions have been issued at a moment, at least and at most.
//!
//! Let S be the set of instructions that are issued before a cycle. It lies between two downsets (see the
//! [windows](super)), and its pressure f(S) is within the limit. So both counts of S have a bound by a
//! minimum cut: the cut finds the least sum `p f(S) + q (instructions outside)`. If that is v, at least
//! `(v - p limit) / q` instructions are outside. With `(instructions inside)` instead, as many are inside.
//!
//! Each ratio of p and q gives a bound, and the best ratio differs: a register can save one instruction, or
//! several. (The best one of all ratios is the bound of the linear relaxation.) The minimiser says in which
//! direction to go: if its pressure is over the limit, p must be larger; if it is within, smaller.
//!
//! A cycle issues at most `width` instructions. So a bound at one moment bounds all others. That is where
//! sizes know more than windows: while the registers are full, all instructions that are left can be early
//! enough one by one, but not together. And stalls of several moments add up. If the least size of a moment
//! is above the most, there is no schedule.
//!
//! Moments matter where the issue stops. In a stall the set stays the same, so the bound from above is best
//! at its end, and that from below at its start. The stalls of a known schedule tell the moments, at the same
//! distance from either end of time, and the moment next to each.

use super::{Cut, Windows};
use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side, Weights};
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::twopass::timed::{Clock, Timed};

/// The weights of registers and instructions, by their ratio.
const RATIOS: [(u32, u32); 9] = [(1, 4), (1, 2), (1, 1), (3, 2), (2, 1), (3, 1), (4, 1), (6, 1), (8, 1)];

/// The ratio to start with: one to one.
const START: usize = 2;

/// What is counted: the instructions outside the set bound its size from above, those inside from below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counted {
    Outside,
    Inside,
}

/// The least and the most instructions issued before each cycle, for one target.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Sizes {
    pub(super) least: Vec<u32>,
    pub(super) most: Vec<u32>,
}

impl Sizes {
    /// Set the sizes that slots alone leave.
    pub(super) fn open(&mut self, count: u32, width: u32, target: u32) {
        let slots = |cycles: u32| width.saturating_mul(cycles).min(count);
        self.least.clear();
        self.least.extend((0..=target).map(|cycle| count - slots(target - cycle)));
        self.most.clear();
        self.most.extend((0..=target).map(slots));
    }
}

/// The minimum cuts of a class with one thing counted.
pub(super) struct Ladder<'a> {
    counted: Counted,
    /// For each ratio, if it has been used.
    rungs: [Option<DownsetMin<'a>>; RATIOS.len()],
    /// The ratio that was best the last time.
    at: usize,
}

impl<'a> Ladder<'a> {
    pub(super) fn both() -> [Self; 2] {
        [Counted::Outside, Counted::Inside].map(|counted| Ladder {
            counted,
            rungs: Default::default(),
            at: START,
        })
    }

    /// Return the weights of a rung.
    fn weights(&self, rung: usize) -> Weights {
        let (live, counted) = RATIOS[rung];
        match self.counted {
            Counted::Outside => Weights { live, inside: 0, outside: counted },
            Counted::Inside => Weights { live, inside: counted, outside: 0 },
        }
    }

    fn rung(
        &mut self,
        rung: usize,
        region: &'a Region,
        class: ClassId,
        closure: &Closure,
    ) -> &mut DownsetMin<'a> {
        let weights = self.weights(rung);
        self.rungs[rung]
            .get_or_insert_with(|| DownsetMin::weighing(region, class, closure, weights, |_| weights.live))
    }
}

/// Where to measure: the stalls of a known schedule.
#[derive(Clone, Debug, Default)]
pub(super) struct Stalls {
    /// The first cycle without an issue, and the next one with an issue.
    stalls: Vec<(u32, u32)>,
    length: u32,
}

impl Stalls {
    /// Find the stalls of an order.
    pub(super) fn new(graph: &Timed, order: &[InstrId]) -> Self {
        let mut clock = Clock::new(graph);
        let mut cycles = vec![0; graph.len()];
        let mut stalls = Stalls::default();
        for &instr in order {
            let ready = graph.prev.row(instr.index()).iter();
            let ready = ready.map(|link| cycles[link.instr as usize] + link.cycles).max().unwrap_or(0);
            let slot = clock.first_slot(graph, instr.0, ready);
            clock.issue(graph, instr.0, slot);
            let cycle = slot / graph.width;
            if cycle > stalls.length {
                stalls.stalls.push((stalls.length, cycle));
            }
            stalls.length = cycle + 1;
            cycles[instr.index()] = cycle;
        }
        stalls
    }

    /// Mark the cycles before which to count what is outside (at the end of stalls) and inside (at their
    /// start).
    fn mark(&self, target: u32, marks: &mut Vec<[bool; 2]>) {
        marks.clear();
        marks.resize(target as usize + 1, [false; 2]);
        let shift = self.length.saturating_sub(target);
        for &(start, end) in &self.stalls {
            for earlier in [0, shift] {
                for near in [0, 1] {
                    let moments = [end.checked_sub(earlier + near), (start + near).checked_sub(earlier)];
                    for (counted, moment) in moments.into_iter().enumerate() {
                        if let Some(mark) = moment.and_then(|moment| marks.get_mut(moment as usize)) {
                            mark[counted] = true;
                        }
                    }
                }
            }
        }
    }
}

impl Windows<'_> {
    /// Bound the sizes of all moments, by those that are measured. Return whether a bound has changed, or
    /// `None` if there is no set for a moment.
    pub(super) fn measure_sizes(&mut self, effort: &mut Effort) -> Option<bool> {
        let (target, width) = (self.target as usize, self.graph.width);
        let mut marks = std::mem::take(&mut self.marks);
        self.stalls.mark(self.target, &mut marks);
        let before = self.sizes.clone();
        for (cycle, mark) in marks.iter().enumerate().take(target).skip(1) {
            self.sizes.most[cycle] =
                self.sizes.most[cycle].min(self.sizes.most[cycle - 1].saturating_add(width));
            if mark[0] && !effort.is_spent() {
                self.measure(cycle, Counted::Outside, effort)?;
            }
        }
        for (cycle, mark) in marks.iter().enumerate().take(target).skip(1).rev() {
            self.sizes.least[cycle] =
                self.sizes.least[cycle].max(self.sizes.least[cycle + 1].saturating_sub(width));
            if mark[1] && !effort.is_spent() {
                self.measure(cycle, Counted::Inside, effort)?;
            }
        }
        // A set never shrinks.
        let Sizes { least, most } = &mut self.sizes;
        (1..target).for_each(|cycle| least[cycle] = least[cycle].max(least[cycle - 1]));
        (1..target).rev().for_each(|cycle| most[cycle] = most[cycle].min(most[cycle + 1]));
        self.marks = marks;
        if self.sizes.least.iter().zip(&self.sizes.most).any(|(least, most)| least > most) {
            return None;
        }
        Some(self.sizes != before)
    }

    /// Bound the size of the set before a cycle. Return `None` if there is none.
    fn measure(&mut self, cycle: usize, counted: Counted, effort: &mut Effort) -> Option<()> {
        let count = self.first.len() as u32;
        let (mut inside, mut outside) = (0, 0);
        for (other, side) in self.sides.iter_mut().enumerate() {
            *side = if (self.last[other] as usize) < cycle {
                inside += 1;
                Side::In
            } else if self.first[other] as usize >= cycle {
                outside += 1;
                Side::Out
            } else {
                Side::Free
            };
        }
        let Sizes { least, most } = &mut self.sizes;
        let (least, most) = (&mut least[cycle], &mut most[cycle]);
        *least = (*least).max(inside);
        *most = (*most).min(count - outside);
        effort.spend(u64::from(count) / 64 + 1);
        for Cut { class, limit, ladders, .. } in &mut self.cuts {
            let ladder = &mut ladders[usize::from(counted == Counted::Inside)];
            // The rungs that can still be better.
            let mut rungs = 0..RATIOS.len();
            let mut at = ladder.at;
            while *least <= *most && rungs.contains(&at) {
                let Weights { live, inside, outside } = ladder.weights(at);
                let own = inside + outside;
                let far = match counted {
                    Counted::Outside => count - *least,
                    Counted::Inside => *most,
                };
                let minimum = ladder.rung(at, self.region, *class, &self.closure);
                let answer = minimum.min(&self.sides, live * *limit + own * far + 1, effort);
                let (Minimum::Exact(sum) | Minimum::AtLeast(sum)) = answer;
                let needed = sum.saturating_sub(live * *limit).div_ceil(own);
                match counted {
                    Counted::Outside => *most = (*most).min(count.saturating_sub(needed)),
                    Counted::Inside => *least = (*least).max(needed),
                }
                if needed > far {
                    ladder.at = at;
                    return None;
                }
                if matches!(answer, Minimum::AtLeast(_)) {
                    break;
                }
                match counted {
                    Counted::Outside => minimum.largest(&mut self.found),
                    Counted::Inside => minimum.smallest(&mut self.found),
                }
                let size = self.found.count();
                let is_within = sum - outside * (count - size) - inside * size <= live * *limit;
                if is_within {
                    ladder.at = at;
                    rungs.end = at;
                    at = at.wrapping_sub(1);
                } else {
                    rungs.start = at + 1;
                    at += 1;
                }
                let is_tight = match counted {
                    Counted::Outside => size >= *most,
                    Counted::Inside => size <= *least,
                };
                if is_within && is_tight {
                    break;
                }
            }
        }
        (*least <= *most).then_some(())
    }
}
