//! Windows: the cycles in which each instruction can issue, if the schedule is to meet a target within the
//! limits on registers.
//!
//! For a target length every instruction has a *window*: from its release to the target less its tail. At any
//! moment, every instruction whose window has closed has been issued, and every one whose window has not
//! opened has not. So the set of issued instructions lies between two downsets, and a minimum cut gives the
//! least pressure of all sets between them. If that is over a limit, no schedule has such a moment, and a
//! window can be narrowed:
//!
//! - Suppose that b issues in cycle h or later. Just before it, all of its ancestors have been issued, and
//!   all instructions whose windows close by h. None of its descendants has, and none whose window opens only
//!   when that of b has closed. If no such set is within the limits, b issues before h.
//! - Mirrored: suppose that b issues in cycle l or earlier. Just after it, the same holds for those whose
//!   windows close before that of b opens, and those whose windows open from l on.
//!
//! A narrower window narrows those of predecessors and successors, and makes the next cuts higher. If a
//! window becomes empty, no schedule meets the target: a *destructive* bound. It proves facts that neither
//! latencies nor registers imply alone. An example is that several results would have to be pending at once
//! when only some of them can be.
//!
//! # Counting
//! The set also has a size. The instructions that are not issued at a moment must fit into the remaining
//! slots. The issued ones must have fitted into the slots before. A cut can weigh instructions as well as
//! registers. Suppose every set between the bounds has `f + (instructions outside)` over the limit plus the
//! most that may be outside. Then no set is within the limit and large enough at the same time. That detects
//! schedules that would have to wait for registers with work left to do.
//!
//! # Waves
//! Results of long latency d are pending for d cycles or more. Let u be one of them with w registers, and let
//! k(u) be the most results that can be pending at once with u. If f' is the least pressure of everything
//! else then, k(u) is at most `(limit - f') / w`. (The pressure of the whole set may count twice or more in
//! f', if the results count once less. A larger multiple makes too many of them expensive. The least of the
//! quotients is taken.)
//!
//! Give u the share 1/k(u): at no moment do the shares of all pending results add up to more than 1. Their
//! pending times are intervals. If no set of W - 1 moments meets them all, W of them are disjoint (intervals
//! are perfect). That is so if all shares together are more than W - 1. Disjoint ones follow each other
//! in d + 1 cycles. A use of the first comes before the load of the next, unless both are the same
//! instruction.
//!
//! The limit is a little lower while a result is pending. Let P be the results that are pending at a moment,
//! and x the first instruction after it that uses one of them, u. Just before x, all of P are still pending,
//! and no use of u has been issued. So no value ends at x that has another use among those of u and their
//! descendants. If the results of x have more weight than all values that can end at x, the difference must
//! still be free. The least difference, over all u and x, is taken from the limit.
//!
//! # Areas
//! Results of different weights and latencies have shares, too. Let c(u) be the most registers that pending
//! results can have together while u is pending: `limit - f'`. The share of u is w(u) / c(u). Let P be the
//! results that are pending at some moment, and f' the pressure of everything else then. Each c(u) of P is at
//! least `limit - f'`, so the shares of P add up to at most 1. A result of latency d(u) is pending at the
//! ends of d(u) cycles or more. So the sum of share times latency, over all results that are fetched between
//! two cycles, is at most the number of cycles between them.
//!
//! How many instructions are issued at a moment can be bounded better than by slots: [`sizes`]. And no
//! interval of cycles takes more instructions than it has slots: [`slots`].
//!
//! # From one target to the next
//! A schedule that meets a target also meets every larger target, and so does the same schedule with a later
//! start. So the windows of a larger target hold for a smaller one, too: the first cycles as they are, and
//! the last ones less the difference. The narrowing for a target starts from these.

mod sizes;
mod slots;

use self::sizes::{Ladder, Sizes, Stalls};
use self::slots::Slots;
use super::timed::{Link, Timed};
use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side, Weights};
use crate::bits::{BitMatrix, BitSet};
use crate::budget::{Effort, is_over};
use crate::index::{ClassId, InstrId, ValueId};
use crate::region::Region;

/// Weights of registers and instructions by which a large enough, or small enough, set is sought.
const COUNTING: [Weights; 2] =
    [Weights { live: 1, inside: 0, outside: 1 }, Weights { live: 1, inside: 1, outside: 0 }];

/// One of the two moments next to an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beside {
    Before,
    After,
}

/// A finder of windows for one target after the other.
pub(crate) struct Windows<'a> {
    region: &'a Region,
    graph: &'a Timed,
    closure: Closure,
    cuts: Vec<Cut<'a>>,
    /// The instructions that are issued at a moment, and those that are not.
    inside: BitSet,
    outside: BitSet,
    found: BitSet,
    fetches: Vec<Fetches<'a>>,
    /// Windows of other targets.
    kept: Vec<Kept>,
    /// How many instructions are issued before each cycle.
    sizes: Sizes,
    stalls: Stalls,
    marks: Vec<[bool; 2]>,
    slots: Slots,
    sides: Vec<Side>,
    topological: Vec<u32>,
    target: u32,
    /// For each instruction the first and the last cycle.
    pub(crate) first: Vec<u32>,
    pub(crate) last: Vec<u32>,
}

/// The windows and sizes of a target.
struct Kept {
    target: u32,
    first: Vec<u32>,
    last: Vec<u32>,
    sizes: Sizes,
}

/// The minimum cuts of one class.
struct Cut<'a> {
    class: ClassId,
    pressure: DownsetMin<'a>,
    /// Pressure and number of instructions together, by their weights.
    counting: Vec<(DownsetMin<'a>, Weights)>,
    /// For the most and the least instructions at a moment.
    ladders: [Ladder<'a>; 2],
    limit: u32,
    /// For each instruction and both moments next to it, a downset that was possible at the last query. While
    /// it lies between the bounds, no cut is needed.
    witnesses: BitMatrix,
}

/// Results of long latency.
struct Fetches<'a> {
    /// The least cycles for which each is pending.
    cycles: u32,
    /// The least registers of each, if these are counted as whole results.
    weight: Option<u32>,
    /// The limit while one of them is pending.
    limit: u32,
    spans: Vec<Span>,
    /// Whether an instruction that waits for one of the loads is itself one.
    touch: bool,
    /// The pressure with each register counted a number of times, and those of these results once less.
    minima: Vec<(DownsetMin<'a>, u32)>,
}

/// The result of a load.
#[derive(Clone)]
struct Span {
    load: InstrId,
    /// The instructions that wait for the load the longest, and their wait.
    uses: Vec<InstrId>,
    cycles: u32,
    class: ClassId,
    weight: u32,
    values: Vec<ValueId>,
}

/// The least latency for waves.
const LONG: u32 = 5;

/// The most groups of results of one weight, and of any weight: those of the longest latencies.
const MOST_GROUPS: usize = 4;
const MOST_MIXED_GROUPS: usize = 2;

/// The most windows to keep.
const MOST_KEPT: usize = 16;

/// The share of all results that can be pending at once.
const WHOLE: u64 = 1 << 32;

fn fetches<'a>(
    region: &'a Region,
    graph: &Timed,
    limits: &[Option<u32>],
    closure: &Closure,
) -> Vec<Fetches<'a>> {
    let all = spans(region, graph, limits);
    let mut kinds: Vec<(u32, ClassId, u32)> =
        all.iter().map(|span| (span.cycles, span.class, span.weight)).collect();
    kinds.sort_unstable_by(|one, other| other.cmp(one));
    kinds.dedup();
    let mut mixed: Vec<(u32, ClassId)> = kinds.iter().map(|&(cycles, class, _)| (cycles, class)).collect();
    mixed.dedup();
    kinds.truncate(MOST_GROUPS);
    let group = |cycles: u32, class: ClassId, weight: Option<u32>| {
        let is_member = |span: &&Span| {
            span.cycles >= cycles && span.class == class && weight.is_none_or(|least| span.weight >= least)
        };
        let members: Vec<Span> = all.iter().filter(is_member).cloned().collect();
        let [first, .., last] = &members[..] else { return None };
        let is_like = |one: &Span, other: &Span| (one.weight, one.cycles) == (other.weight, other.cycles);
        if weight.is_none() && is_like(first, last) && members.iter().all(|span| is_like(span, first)) {
            return None;
        }
        let mut is_fetched = vec![false; region.values().len()];
        members.iter().flat_map(|span| &span.values).for_each(|value| is_fetched[value.index()] = true);
        let mut is_load = vec![false; region.len()];
        members.iter().for_each(|span| is_load[span.load.index()] = true);
        let minimum = |times: u32| {
            let weights = Weights { live: times, ..Weights::PRESSURE };
            let live = |value: ValueId| times - u32::from(is_fetched[value.index()]);
            (DownsetMin::weighing(region, class, closure, weights, live), times)
        };
        Some(Fetches {
            cycles,
            weight,
            limit: limits[class.index()]?.saturating_sub(first_use_adds(region, closure, &members, class)),
            touch: members.iter().any(|span| span.uses.iter().any(|user| is_load[user.index()])),
            minima: [1, 2, 4].map(minimum).into(),
            spans: members,
        })
    };
    let of_a_weight = kinds.iter().map(|&(cycles, class, weight)| (cycles, class, Some(weight)));
    let of_any = mixed.iter().take(MOST_MIXED_GROUPS).map(|&(cycles, class)| (cycles, class, None));
    of_a_weight.chain(of_any).filter_map(|(cycles, class, weight)| group(cycles, class, weight)).collect()
}

/// Return the least weight that the first use of a pending result adds.
fn first_use_adds(region: &Region, closure: &Closure, members: &[Span], class: ClassId) -> u32 {
    let of_class = |value: &&ValueId| region.values()[value.index()].class == class;
    let weight = |value: &ValueId| region.values()[value.index()].weight;
    let mut least = u32::MAX;
    for span in members {
        let is_later =
            |other: InstrId| span.uses.iter().any(|&user| user == other || closure.reaches(user, other));
        for &user in
            span.uses.iter().filter(|&&user| !span.uses.iter().any(|&own| closure.reaches(own, user)))
        {
            let can_end = |value: &&ValueId| {
                let mut others = region.value_uses(**value).iter().filter(|&&other| other != user);
                !region.values()[value.index()].live_out && !others.any(|&other| is_later(other))
            };
            let is_live = |value: &&ValueId| !region.is_dead(**value);
            let starts = region.defined_values(user).iter().filter(of_class).filter(is_live);
            let ends = region.used_values(user).iter().filter(of_class).filter(can_end);
            let (starts, ends): (u32, u32) = (starts.map(weight).sum(), ends.map(weight).sum());
            least = least.min(starts.saturating_sub(ends));
        }
    }
    if members.is_empty() { 0 } else { least }
}

/// Return the results of long latency of all classes with a limit.
fn spans(region: &Region, graph: &Timed, limits: &[Option<u32>]) -> Vec<Span> {
    let mut all = Vec::new();
    for load in region.instrs() {
        // (Dependences that follow from limits can be longer than those of the results.)
        let is_use = |link: &&Link| {
            let mut values = region.defined_values(load).iter();
            values.any(|value| region.value_uses(*value).contains(&InstrId(link.instr)))
        };
        let links = || graph.next.row(load.index()).iter().filter(is_use);
        let Some(cycles) = links().map(|link| link.cycles).max().filter(|&cycles| cycles >= LONG) else {
            continue;
        };
        let waiting = links().filter(|link| link.cycles == cycles);
        let uses: Vec<InstrId> = waiting.map(|link| InstrId(link.instr)).collect();
        for class in region.class_ids().filter(|class| limits[class.index()].is_some()) {
            let values: Vec<ValueId> = region
                .defined_values(load)
                .iter()
                .copied()
                .filter(|value| {
                    let is_own = region.values()[value.index()].class == class;
                    is_own && region.value_uses(*value).iter().any(|user| uses.contains(user))
                })
                .collect();
            let weight: u32 = values.iter().map(|value| region.values()[value.index()].weight).sum();
            if weight > 0 {
                all.push(Span { load, uses: uses.clone(), cycles, class, weight, values });
            }
        }
    }
    all
}

impl<'a> Windows<'a> {
    /// Make the finder. `graph` is in forward time; `known` is an order within the limits.
    pub(crate) fn new(
        region: &'a Region,
        graph: &'a Timed,
        limits: &[Option<u32>],
        known: &[InstrId],
    ) -> Self {
        let closure = Closure::new(region);
        let mut witnesses = BitMatrix::new(2 * region.len(), region.len());
        let mut passed = BitSet::new(region.len());
        for &instr in known {
            witnesses.copy_from(2 * instr.index(), &passed);
            passed.insert(instr);
            witnesses.copy_from(2 * instr.index() + 1, &passed);
        }
        let classes =
            region.class_ids().filter_map(|class| limits[class.index()].map(|limit| (class, limit)));
        let cuts = classes
            .map(|(class, limit)| {
                let counting = COUNTING.into_iter();
                let counting = counting.map(|weights| {
                    (DownsetMin::weighing(region, class, &closure, weights, |_| weights.live), weights)
                });
                Cut {
                    class,
                    ladders: Ladder::both(),
                    pressure: DownsetMin::new(region, class, &closure),
                    counting: counting.collect(),
                    limit,
                    witnesses: witnesses.clone(),
                }
            })
            .collect();
        Windows {
            region,
            graph,
            cuts,
            inside: BitSet::new(region.len()),
            outside: BitSet::new(region.len()),
            found: BitSet::new(region.len()),
            kept: Vec::new(),
            sizes: Sizes::default(),
            stalls: Stalls::new(graph, known),
            marks: Vec::new(),
            slots: Slots::default(),
            fetches: fetches(region, graph, limits, &closure),
            target: 0,
            sides: vec![Side::Free; region.len()],
            topological: graph.topological().collect(),
            first: vec![0; region.len()],
            last: vec![0; region.len()],
            closure,
        }
    }

    /// Set the windows that latencies and issue slots alone leave for a target. Return false if there are
    /// none.
    pub(crate) fn open(&mut self, target: u32) -> bool {
        let graph = self.graph;
        self.target = target;
        self.sizes.open(graph.len() as u32, graph.width, target);
        for instr in 0..graph.len() {
            let Some(last) = (target - 1).checked_sub(graph.tail[instr]) else { return false };
            if graph.head[instr] > last {
                return false;
            }
            (self.first[instr], self.last[instr]) = (graph.head[instr], last);
        }
        true
    }

    /// Restore the windows that were kept for a target. Return false if there are none.
    pub(crate) fn recall(&mut self, target: u32) -> bool {
        let Some(kept) = self.kept.iter().find(|kept| kept.target == target) else { return false };
        self.first.copy_from_slice(&kept.first);
        self.last.copy_from_slice(&kept.last);
        self.sizes.clone_from(&kept.sizes);
        self.target = target;
        true
    }

    /// Narrow the windows by those that were kept for larger targets. Return false if one becomes empty.
    fn start_from_kept(&mut self) -> bool {
        for kept in self.kept.iter().filter(|kept| kept.target >= self.target) {
            let shift = kept.target - self.target;
            for instr in 0..self.first.len() {
                self.first[instr] = self.first[instr].max(kept.first[instr]);
                let Some(last) = kept.last[instr].checked_sub(shift) else { return false };
                self.last[instr] = self.last[instr].min(last);
                if self.first[instr] > self.last[instr] {
                    return false;
                }
            }
        }
        true
    }

    /// Keep the windows for later. Only the latest few are kept.
    pub(crate) fn keep(&mut self) {
        self.kept.retain(|kept| kept.target != self.target);
        if self.kept.len() == MOST_KEPT {
            self.kept.remove(0);
        }
        let (first, last, sizes) = (self.first.clone(), self.last.clone(), self.sizes.clone());
        self.kept.push(Kept { target: self.target, first, last, sizes });
    }

    /// Narrow the windows for a target until nothing changes or the effort is spent. Return false if a window
    /// is empty: no schedule meets the target.
    pub(crate) fn narrow(&mut self, target: u32, effort: &mut Effort) -> bool {
        if !self.open(target) || !self.start_from_kept() {
            return false;
        }
        self.narrow_by_moments(effort)
    }

    /// As [`Windows::narrow`], with bounds on the sizes of sets by cuts. They take longer than the rest.
    pub(crate) fn narrow_with_sizes(&mut self, target: u32, effort: &mut Effort) -> bool {
        let mut is_open = self.narrow(target, effort);
        while is_open && !effort.is_spent() {
            match self.measure_sizes(effort) {
                None => is_open = false,
                Some(false) => break,
                Some(true) => is_open = self.narrow_by_moments(effort),
            }
        }
        is_open
    }

    /// Return the target of the windows.
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    /// Return the least instructions issued before each cycle.
    pub(crate) fn least_issued(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.least.iter().copied()
    }

    /// Return the least instructions issued in the last cycles: none, one, and so on.
    pub(crate) fn least_issued_at_end(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.most.iter().rev().map(|most| self.first.len() as u32 - most)
    }

    /// Narrow the windows by the moments next to each instruction, and by slots. Return false if a window is
    /// empty.
    fn narrow_by_moments(&mut self, effort: &mut Effort) -> bool {
        let mut has_changed = true;
        while has_changed {
            if !self.narrow_by_slots(effort) {
                return false;
            }
            has_changed = false;
            for instr in self.region.instrs() {
                if effort.is_spent() {
                    return true;
                }
                let own = instr.index();
                if let Some(last) = self.earlier_last(instr, effort) {
                    if last < i64::from(self.first[own]) {
                        return false;
                    }
                    self.last[own] = last as u32;
                    has_changed = true;
                    if !self.propagate_last() {
                        return false;
                    }
                }
                if let Some(first) = self.later_first(instr, effort) {
                    if first > self.last[own] {
                        return false;
                    }
                    self.first[own] = first;
                    has_changed = true;
                    if !self.propagate_first() {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Narrow the windows by slots until nothing changes. Return false if there are too few slots.
    fn narrow_by_slots(&mut self, effort: &mut Effort) -> bool {
        let (width, target) = (self.graph.width, self.target);
        loop {
            let raised = self.slots.raise_first(&mut self.first, &self.last, width, effort);
            if raised.is_none() || raised == Some(true) && !self.propagate_first() {
                return false;
            }
            let lowered = self.slots.lower_last(&self.first, &mut self.last, (width, target), effort);
            if lowered.is_none() || lowered == Some(true) && !self.propagate_last() {
                return false;
            }
            if raised == Some(false) && lowered == Some(false) {
                return true;
            }
        }
    }

    /// Return whether the results cannot all be fetched in time, since only some of them can be pending at
    /// once.
    pub(crate) fn needs_more_waves(&mut self, effort: &mut Effort) -> bool {
        for position in 0..self.fetches.len() {
            if effort.is_spent() {
                return false;
            }
            if self.group_needs_more_waves(position, effort) {
                return true;
            }
        }
        false
    }

    fn group_needs_more_waves(&mut self, position: usize, effort: &mut Effort) -> bool {
        let count = self.fetches[position].spans.len();
        // (first cycle of the load, last cycle of the first use, share, share times latency)
        let mut shares: Vec<(u32, u32, u64, u128)> = Vec::with_capacity(count);
        for span in 0..count {
            if is_over(effort.deadline) {
                return false;
            }
            let Some(share) = self.share(position, span, effort) else { return false };
            let Span { load, uses, cycles, .. } = &self.fetches[position].spans[span];
            let last = uses.iter().map(|user| self.last[user.index()]).min().unwrap_or(0);
            let area = u128::from(share) * u128::from(*cycles);
            shares.push((self.first[load.index()], last, share, area));
        }
        let group = &self.fetches[position];
        let apart = group.cycles + u32::from(self.graph.width == 1 && !group.touch);
        // All loads that start from some cycle on and must be complete by another.
        shares.sort_unstable_by_key(|share| share.1);
        for (number, &(from, ..)) in shares.iter().enumerate() {
            if number % 64 == 63 && is_over(effort.deadline) {
                return false;
            }
            let (mut sum, mut area) = (0, 0);
            for &(first, last, share, own_area) in &shares {
                if first < from {
                    continue;
                }
                sum += share;
                area += own_area;
                let waves = sum.div_ceil(WHOLE);
                let needed = u64::from(from) + (waves - 1) * u64::from(apart) + u64::from(group.cycles);
                let cycles = u128::from(last.saturating_sub(from));
                if needed > u64::from(last) || area > cycles * u128::from(WHOLE) {
                    return true;
                }
            }
        }
        false
    }

    /// Return the share of a load, of [`WHOLE`]: its registers over those of all results that can be pending
    /// together with it. If results of one weight are counted, both are numbers of such results.
    fn share(&mut self, position: usize, span: usize, effort: &mut Effort) -> Option<u64> {
        let group = &mut self.fetches[position];
        let Span { load, uses, weight, .. } = &group.spans[span];
        let last = uses.iter().map(|user| self.last[user.index()]).min()?;
        let first = self.first[load.index()];
        let one = u32::from(self.graph.width == 1);
        for (other, side) in self.sides.iter_mut().enumerate() {
            *side = if self.last[other] < first + one {
                Side::In
            } else if self.first[other] + one > last {
                Side::Out
            } else {
                Side::Free
            };
        }
        for other in self.closure.ancestors(*load).instrs() {
            self.sides[other.index()] = Side::In;
        }
        self.sides[load.index()] = Side::In;
        for user in uses {
            self.sides[user.index()] = Side::Out;
            for other in self.closure.descendants(*user).instrs() {
                self.sides[other.index()] = Side::Out;
            }
        }
        let mut room = u32::MAX;
        for (minimum, times) in &mut group.minima {
            let limit = *times * group.limit;
            let (Minimum::Exact(least) | Minimum::AtLeast(least)) =
                minimum.min(&self.sides, limit + 1, effort);
            room = room.min(limit.saturating_sub(least));
        }
        Some(match group.weight {
            Some(least) => WHOLE / u64::from((room / least).max(1)),
            None => u64::from(*weight) * WHOLE / u64::from(room.max(*weight)),
        })
    }

    /// Return the last cycle of an instruction, if it is earlier than known.
    fn earlier_last(&mut self, instr: InstrId, effort: &mut Effort) -> Option<i64> {
        let (first, last) = (self.first[instr.index()], self.last[instr.index()]);
        if self.is_possible(instr, Beside::Before, last, last, effort) {
            return None;
        }
        let (mut possible, mut impossible) = (i64::from(first) - 1, i64::from(last));
        while impossible - possible > 1 {
            let middle = possible + (impossible - possible) / 2;
            match self.is_possible(instr, Beside::Before, middle as u32, last, effort) {
                true => possible = middle,
                false => impossible = middle,
            }
        }
        Some(possible)
    }

    /// Return the first cycle of an instruction, if it is later than known.
    fn later_first(&mut self, instr: InstrId, effort: &mut Effort) -> Option<u32> {
        let (first, last) = (self.first[instr.index()], self.last[instr.index()]);
        if self.is_possible(instr, Beside::After, first, first, effort) {
            return None;
        }
        let (mut impossible, mut possible) = (first, last + 1);
        while possible - impossible > 1 {
            let middle = impossible + (possible - impossible) / 2;
            match self.is_possible(instr, Beside::After, first, middle, effort) {
                true => possible = middle,
                false => impossible = middle,
            }
        }
        Some(possible)
    }

    /// Return whether the moment before or after an instruction allows its issue in a cycle of `from..=to`.
    fn is_possible(
        &mut self,
        instr: InstrId,
        moment: Beside,
        from: u32,
        to: u32,
        effort: &mut Effort,
    ) -> bool {
        self.bound_moment(instr, moment, from, to);
        let place = 2 * instr.index() + usize::from(moment == Beside::After);
        // The number of instructions issued then: the rest must fit into the remaining slots, and the issued
        // ones must have fitted.
        let (count, width) = (self.first.len() as u32, self.graph.width);
        let own = u32::from(moment == Beside::After);
        let (least, most) = match width {
            // The moment is one between two cycles.
            1 => (self.sizes.least[(from + own) as usize], self.sizes.most[(to + own) as usize]),
            _ => (
                (count + own).saturating_sub(width.saturating_mul(self.target - from)),
                (width * (to + 1) - 1 + own).min(count),
            ),
        };
        let mut has_sides = false;
        for cut in &mut self.cuts {
            let witness = cut.witnesses.row(place);
            let holds = self.inside.bits().is_subset(witness) && self.outside.bits().is_disjoint(witness);
            if holds && (least..=most).contains(&witness.count()) {
                continue;
            }
            if !has_sides {
                has_sides = true;
                for (other, side) in self.sides.iter_mut().enumerate() {
                    *side = match (self.inside.contains(other), self.outside.contains(other)) {
                        (true, _) => Side::In,
                        (_, true) => Side::Out,
                        _ => Side::Free,
                    };
                }
            }
            effort.spend(self.inside.words() as u64);
            if !holds {
                match cut.pressure.min(&self.sides, cut.limit + 1, effort) {
                    Minimum::Exact(_) => {
                        cut.pressure.largest(&mut self.found);
                        cut.witnesses.copy_from(place, &self.found);
                    }
                    Minimum::AtLeast(least) if least > cut.limit => return false,
                    Minimum::AtLeast(_) => {}
                }
            }
            for (minimum, weights) in &mut cut.counting {
                let now = cut.witnesses.row(place).count();
                if (weights.inside == 0 && now >= least) || (weights.outside == 0 && now <= most) {
                    continue;
                }
                let limit =
                    weights.live * cut.limit + weights.outside * (count - least) + weights.inside * most;
                match minimum.min(&self.sides, limit + 1, effort) {
                    Minimum::Exact(value) => {
                        minimum.largest(&mut self.found);
                        let size = self.found.count();
                        let live = value - weights.outside * (count - size) - weights.inside * size;
                        if live <= weights.live * cut.limit {
                            cut.witnesses.copy_from(place, &self.found);
                        }
                    }
                    Minimum::AtLeast(least) if least > limit => return false,
                    Minimum::AtLeast(_) => {}
                }
            }
        }
        true
    }

    /// Set the instructions that are issued next to an instruction that issues in `from..=to`, and those that
    /// are not. With one instruction in a cycle, two instructions with only one common cycle are in order.
    fn bound_moment(&mut self, instr: InstrId, moment: Beside, from: u32, to: u32) {
        let one = u32::from(self.graph.width == 1);
        self.inside.copy_from(self.closure.ancestors(instr));
        self.outside.copy_from(self.closure.descendants(instr));
        for other in 0..self.first.len() {
            let is_in = self.last[other] < from + one;
            let is_out = self.first[other] + one > to;
            self.inside.insert_if(other, is_in);
            self.outside.insert_if(other, is_out);
        }
        self.inside.remove(instr);
        self.outside.remove(instr);
        match moment {
            Beside::Before => self.outside.insert(instr),
            Beside::After => self.inside.insert(instr),
        }
    }

    fn propagate_first(&mut self) -> bool {
        for &instr in &self.topological {
            let own = self.first[instr as usize];
            for link in self.graph.next.row(instr as usize) {
                let other = link.instr as usize;
                self.first[other] = self.first[other].max(own + link.cycles);
                if self.first[other] > self.last[other] {
                    return false;
                }
            }
        }
        true
    }

    fn propagate_last(&mut self) -> bool {
        for &instr in self.topological.iter().rev() {
            let own = self.last[instr as usize];
            for link in self.graph.prev.row(instr as usize) {
                let other = link.instr as usize;
                let Some(last) = own.checked_sub(link.cycles) else { return false };
                self.last[other] = self.last[other].min(last);
                if self.first[other] > self.last[other] {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::Case;
    use super::*;
    use crate::random::Random;

    /// Return the latest cycles of an order, without regard to units.
    fn latest(case: &Case, order: &[InstrId], target: u32) -> Vec<u32> {
        let width = case.target.issue().width;
        let mut cycles = vec![0; order.len()];
        let mut end = target * width;
        for &instr in order.iter().rev() {
            for dep in case.region.deps().iter().filter(|dep| dep.from == instr) {
                end = end.min((cycles[dep.to.index()] - dep.latency + 1) * width);
            }
            end -= 1;
            cycles[instr.index()] = end / width;
        }
        cycles
    }

    /// In the windows that latencies leave, results of one weight and results of any weight.
    #[test]
    fn waves_and_areas_refute_no_schedule() {
        let mut random = Random::new(3);
        let mut own = Random::new(4);
        let (mut asked, mut refuted, mut by_first_use) = ([0; 2], [0; 2], 0);
        for case in Case::all(0..3_000, 8, 5, &mut random) {
            let graph = &case.graphs()[0];
            let known = case.small.order_within(&case.limits, &mut own).expect("one exists");
            for is_mixed in [false, true] {
                let mut windows = Windows::new(&case.region, graph, &case.limits, &known);
                windows.fetches.retain(|group| group.weight.is_none() == is_mixed);
                if windows.fetches.is_empty() {
                    continue;
                }
                // With and without room for the first use.
                let lower: Vec<u32> = windows.fetches.iter().map(|group| group.limit).collect();
                let of_class = |group: &Fetches| case.limits[group.spans[0].class.index()];
                let whole: Vec<u32> = windows.fetches.iter().filter_map(of_class).collect();
                for target in case.lowest_target()..=case.optimum {
                    let [with, without] = [&lower, &whole].map(|limits| {
                        assert!(windows.open(target), "{}", case.text());
                        let groups = windows.fetches.iter_mut().zip(limits);
                        groups.for_each(|(group, &limit)| group.limit = limit);
                        windows.needs_more_waves(&mut { Effort::UNBOUNDED })
                    });
                    asked[usize::from(is_mixed)] += 1;
                    refuted[usize::from(is_mixed)] += u32::from(with);
                    by_first_use += u32::from(with && !without);
                    assert!(
                        !(with || without) || target < case.optimum,
                        "mixed {is_mixed}, target {target} of {}: {}",
                        case.optimum,
                        case.text()
                    );
                }
            }
        }
        println!(
            "of one weight and of any: {asked:?} targets, {refuted:?} refuted, {by_first_use} by first uses"
        );
        assert!(refuted[0] > 500 && refuted[1] > 100 && by_first_use > 50, "{refuted:?} {by_first_use}");
    }

    #[test]
    fn no_schedule_leaves_its_windows() {
        let mut random = Random::new(1);
        let mut own = Random::new(2);
        let (mut asked, mut narrowed, mut exact, mut refuted, mut waves) = (0, 0, 0, 0, 0);
        let mut sized = 0;
        for case in Case::all(0..600, 7, 10, &mut random) {
            let graph = &case.graphs()[0];
            let known = case.small.order_within(&case.limits, &mut own).expect("one exists");
            let mut windows = Windows::new(&case.region, graph, &case.limits, &known);
            let has_units = (0..graph.len() as u32).any(|instr| graph.needs_units(instr));
            let lowest = case.lowest_target().max(case.optimum.saturating_sub(4));
            // (Witnesses of one target stay for the next one: in any order.)
            let mut targets: Vec<u32> = (lowest..=case.optimum + 3).collect();
            (1..targets.len()).for_each(|place| targets.swap(place, own.below(place + 1)));
            for target in targets {
                let text = || format!("target {target} of {}: {}", case.optimum, case.text());
                let mut effort = match own.chance(20) {
                    true => Effort { steps: own.below(60) as u64, deadline: None },
                    false => Effort::UNBOUNDED,
                };
                let is_refuted = match own.chance(50) {
                    true => !windows.narrow_with_sizes(target, &mut effort),
                    false => !windows.narrow(target, &mut effort),
                };
                if own.chance(50) {
                    // The narrowing for a smaller target starts from here.
                    windows.keep();
                }
                let needs_waves = !is_refuted && windows.needs_more_waves(&mut effort);
                asked += 1;
                refuted += u32::from(is_refuted);
                waves += u32::from(needs_waves);
                if target < case.optimum {
                    continue;
                }
                assert!(!is_refuted && !needs_waves, "refuted ({is_refuted}): {}", text());
                let mut first = vec![u32::MAX; graph.len()];
                let mut last = vec![0; graph.len()];
                for (order, earliest) in case.schedules(target) {
                    // With units, at least all together can be later.
                    let later = target - 1 - earliest.iter().max().expect("at least one");
                    let latest = match has_units {
                        true => earliest.iter().map(|cycle| cycle + later).collect(),
                        false => latest(&case, &order, target),
                    };
                    for cycles in [&earliest, &latest] {
                        for cycle in 0..=target {
                            let size = cycles.iter().filter(|&&own| own < cycle).count() as u32;
                            let Sizes { least, most } = &windows.sizes;
                            let sizes = least[cycle as usize]..=most[cycle as usize];
                            assert!(
                                sizes.contains(&size),
                                "{size} before {cycle}, not {sizes:?}: {}",
                                text()
                            );
                        }
                    }
                    for instr in 0..graph.len() {
                        first[instr] = first[instr].min(earliest[instr]);
                        last[instr] = last[instr].max(latest[instr]);
                    }
                }
                let mut by_slots = Sizes::default();
                by_slots.open(graph.len() as u32, graph.width, target);
                sized += u32::from(by_slots != windows.sizes);
                for instr in 0..graph.len() {
                    let window = windows.first[instr]..=windows.last[instr];
                    let is_inside = *window.start() <= first[instr] && last[instr] <= *window.end();
                    assert!(
                        is_inside,
                        "{instr} in {}..={}, not {window:?}: {}",
                        first[instr],
                        last[instr],
                        text()
                    );
                    let plain = (graph.head[instr], target - 1 - graph.tail[instr]);
                    narrowed += u32::from(plain != (windows.first[instr], windows.last[instr]));
                    exact +=
                        u32::from((first[instr], last[instr]) == (windows.first[instr], windows.last[instr]));
                }
            }
        }
        println!(
            "{asked} targets: {refuted} refuted, {waves} by waves; {narrowed} narrower windows, {exact} exact; {sized} times other sizes"
        );
        assert!(refuted > 700 && waves > 200 && narrowed > 5_000, "{refuted} {waves} {narrowed}");
        assert!(sized > 300, "{sized}");
    }
}
