//! A lower bound on the peak pressure of every order.
//!
//! Let f(T) be the pressure of a class after a downset T. For every instruction v, every order passes through
//! two downsets. Just before v, the downset holds all ancestors of v and neither v nor a descendant. Just
//! after v, it also holds v. So the peak of an order is at least the minimum of f over all such downsets, a
//! minimum cut ([`DownsetMin`]). The bound is the largest of these 2n minima and of the pressure at the two
//! ends of the region, which every order shares.
//!
//! # Few cuts instead of 2n
//! Call "before v" and "after v" *moments*. Any downset that is possible at a moment bounds its minimum from
//! above. An order is a chain of n + 1 downsets. "Before v" can be any of those after v's last predecessor,
//! up to v. "After v" can be any of those from v to its first successor. So one walk along an order gives an
//! upper limit for every moment. Moments whose limit is not above the best minimum so far cannot improve it.
//! A cut is computed for the moment with the highest limit:
//! - If the flow reaches the limit, then limit and minimum agree, and no other moment has a higher one: done.
//! - If not, the flow yields downsets A <= B with a smaller f, the smallest and the largest minimiser. The
//!   current order is rearranged to pass through both: first A, then the rest of B, then the others, each
//!   part in its order. That is legal, and walking along the new order lowers the limits of other moments,
//!   too. It lowers many of them. Let T minimise f over an interval, and let P be a downset of the old order
//!   with `P | T` (or `P & T`) in that interval. Then `f(P & T) <= f(P)` (or `f(P | T) <= f(P)`), since f is
//!   submodular: `f(P | T) + f(P & T) <= f(P) + f(T)`.
//!
//! So each cut improves the order where it is bad, and the order determines the next useful cut. Two downsets
//! of every moment need no flow: with only the ancestors done, and with all but the descendants done.
//! Operations on rows of the closure find their pressures for all moments at once, one value at a time. In
//! real code they settle most moments that an order leaves open. Likewise, some weight is certainly live at a
//! moment: defined by an ancestor, and needed by a descendant. This weight gives a first bound without any
//! flow, and breaks ties.
//!
//! The first order only matters for speed: when no moment has a limit above the best minimum, that minimum is
//! the maximum of all minima.
//!
//! When the budget ends, the best minimum so far is a bound. So is the flow of the unfinished cut.

use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use super::closure::Closure;
use super::flow::{DownsetMin, Minimum, Side};
use super::lifetimes::Lifetimes;
use super::order_pressure::OrderPressure;
use crate::bits::BitSet;
use crate::budget::{Budget, Effort, is_over};
use crate::index::{ClassId, InstrId, ValueId};
use crate::proof::Moment;
use crate::region::Region;
use crate::verdict::Verdict;

/// The largest region for which cuts are sought: the closure that they need grows with the square.
pub const MOST_FOR_CUTS: usize = 1 << 15;

/// The time to prepare cuts, for each pair of instructions: the closure and the networks.
const NANOS_TO_PREPARE_A_PAIR: u64 = 1;

/// Return whether there is time to prepare cuts.
pub(crate) fn is_time_for_cuts(region: &Region, effort: &Effort) -> bool {
    let pairs = (region.len() as u64).saturating_mul(region.len() as u64);
    effort.has_time_for(Duration::from_nanos(pairs.saturating_mul(NANOS_TO_PREPARE_A_PAIR)))
}

/// A lower bound on the peak pressure (between instructions) of one class in every order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PressureBound {
    /// The bound: no order has a lower peak.
    pub value: u32,
    /// Whether all minima have been considered. If not, more effort may give a higher bound.
    pub complete: bool,
    /// The moment of the bound: no downset that is possible then has less pressure than `value`. If the bound
    /// is complete, one has exactly that.
    pub witness: Moment,
    /// The peak of the order given as a hint.
    pub hint_peak: u32,
    /// The lowest peak among the hint and the orders it was rearranged to.
    pub peak: u32,
    /// An order with that peak.
    pub order: Vec<InstrId>,
    /// The number of cuts.
    pub cuts: u64,
}

/// Return the pressure of each class at the end of the region where it is higher, and that end: a bound
/// without any search.
pub fn pressure_at_ends(region: &Region) -> Vec<(u32, Moment)> {
    let through: Vec<u32> = region.class_ids().map(|class| region.through(class)).collect();
    let (mut start, mut end) = (through.clone(), through);
    for (position, value) in region.values().iter().enumerate() {
        if value.def.is_none() && !region.is_dead(ValueId::at(position)) {
            start[value.class.index()] += value.weight;
        }
        if value.live_out {
            end[value.class.index()] += value.weight;
        }
    }
    let ends = start.into_iter().zip(end);
    ends.map(|(start, end)| if end > start { (end, Moment::End) } else { (start, Moment::Start) }).collect()
}

/// Bound the peak pressure of a class. `hint` is any legal order; a better one makes the search faster.
///
/// A step of the budget is a visit to a node of the flow network. Each cut also takes a step for each
/// instruction of the region.
pub fn pressure_bound(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    hint: &[InstrId],
    budget: Budget,
) -> PressureBound {
    pressure_bound_within(region, class, closure, hint, budget.effort(region.len()))
}

/// As [`pressure_bound`], with the rest of a budget.
pub(crate) fn pressure_bound_within(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    hint: &[InstrId],
    effort: Effort,
) -> PressureBound {
    let walk = OrderPressure::along(region, class, hint);
    let (start, end) = (walk.pressure[0], walk.pressure[region.len()]);
    let ends = if end > start { (end, Moment::End) } else { (start, Moment::Start) };
    if ends.0 == walk.peak() {
        return PressureBound::by_order(&walk, ends);
    }
    let certain = CertainBound::new(region, class, closure, ends, effort.deadline);
    bound_by_cuts(region, class, closure, walk, &certain, effort)
}

/// The part of a bound that needs no order: the pressure at the ends of the region, and the weight that is
/// certainly live at a moment.
pub(crate) struct CertainBound {
    /// The bound, and its moment.
    pub(crate) best: (u32, Moment),
    lifetimes: Lifetimes,
    /// For every moment, the weight that is certainly live.
    weights: Vec<u32>,
}

impl CertainBound {
    /// `ends` is the bound by [the ends](pressure_at_ends).
    pub(crate) fn new(
        region: &Region,
        class: ClassId,
        closure: &Closure,
        ends: (u32, Moment),
        deadline: Option<Instant>,
    ) -> Self {
        let lifetimes = Lifetimes::new(region, class, closure);
        let weights = lifetimes.certain(closure, deadline);
        let mut best = ends;
        for (index, &live) in weights.iter().enumerate() {
            if live > best.0 {
                best = (live, moment(index));
            }
        }
        CertainBound { best, lifetimes, weights }
    }

    /// Return the bound by cuts, and its moment, as [`pressure_bound_within`] does.
    pub(crate) fn raised_by_cuts(
        &self,
        region: &Region,
        class: ClassId,
        closure: &Closure,
        hint: &[InstrId],
        effort: Effort,
    ) -> (u32, Moment) {
        let walk = OrderPressure::along(region, class, hint);
        let bound = bound_by_cuts(region, class, closure, walk, self, effort);
        (bound.value, bound.witness)
    }
}

/// Raise a bound by cuts, which `walk` guides.
fn bound_by_cuts<'a>(
    region: &'a Region,
    class: ClassId,
    closure: &'a Closure,
    walk: OrderPressure<'a>,
    certain: &CertainBound,
    mut effort: Effort,
) -> PressureBound {
    let mut result = PressureBound::by_order(&walk, certain.best);
    if result.value == result.hint_peak {
        return result;
    }
    if effort.is_spent() {
        result.complete = false;
        return result;
    }
    let mut seeker = Seeker::along(region, class, closure, walk);
    let mut found = Found { value: result.value, witness: result.witness, enough: u32::MAX };
    result.complete = loop {
        let Some(index) = seeker.walk.most_promising(found.value, &certain.weights) else { break true };
        result.cuts += 1;
        let limit = seeker.walk.limits[index];
        let is_known = seeker.look_at(moment(index), limit, &mut found, &mut effort);
        if result.cuts == 1 {
            certain.lifetimes.lower_limits(closure, &mut seeker.walk.limits, effort.deadline);
        }
        match is_known {
            Some(least) => seeker.walk.limits[index] = least,
            None => break false,
        }
        seeker.keep_better(&mut result);
    };
    (result.value, result.witness) = (found.value, found.witness);
    result
}

impl PressureBound {
    /// A bound that holds without any cut, and the order of a walk.
    fn by_order(walk: &OrderPressure, (value, witness): (u32, Moment)) -> Self {
        let peak = walk.peak();
        let order = walk.order.clone();
        PressureBound { value, complete: true, witness, hint_peak: peak, peak, order, cuts: 0 }
    }
}

/// Improve a bound, and perhaps the order, by the moments of pairs of instructions.
///
/// For every set of instructions, each order has a certain moment. All common ancestors of the set are done
/// then, and nothing that depends on all of these ancestors is. For a single instruction, this is the moment
/// just before it; the mirrored one is just after it. Pairs can bound more. Suppose that all loads must be
/// done before the first store. Then some moment has all loads done and no store, although each single store
/// could be the last one.
pub fn sharper_bound(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    bound: PressureBound,
    budget: Budget,
) -> PressureBound {
    sharper_bound_within(region, class, closure, bound, budget.effort(region.len()))
}

/// As [`sharper_bound`], with the rest of a budget.
pub(crate) fn sharper_bound_within(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    bound: PressureBound,
    mut effort: Effort,
) -> PressureBound {
    let mut result = bound;
    if result.value == result.peak || is_over(effort.deadline) {
        return result;
    }
    let mut seeker = Seeker::new(region, class, closure);
    seeker.walk.restart(&result.order, 0, region.len());
    let mut found = Found { value: result.value, witness: result.witness, enough: u32::MAX };
    result.complete &= seeker.look_at_pairs(&mut found, &mut effort, &mut result.cuts);
    seeker.keep_better(&mut result);
    (result.value, result.witness) = (found.value, found.witness);
    result
}

/// The best bound so far.
struct Found {
    value: u32,
    witness: Moment,
    /// The bound at which the search stops.
    enough: u32,
}

/// A search for cuts that bound the pressure, guided by an order that the cuts improve.
pub(crate) struct Seeker<'a> {
    region: &'a Region,
    closure: &'a Closure,
    cut: DownsetMin<'a>,
    walk: OrderPressure<'a>,
    /// The sides of the instructions whose side is known.
    fixed: Vec<Side>,
    sides: Vec<Side>,
    smallest: BitSet,
    largest: BitSet,
    seen: FxHashSet<u64>,
}

impl<'a> Seeker<'a> {
    pub(crate) fn new(region: &'a Region, class: ClassId, closure: &'a Closure) -> Self {
        let source: Vec<InstrId> = region.instrs().collect();
        Seeker::along(region, class, closure, OrderPressure::new(region, class, &source))
    }

    fn along(region: &'a Region, class: ClassId, closure: &'a Closure, walk: OrderPressure<'a>) -> Self {
        Seeker {
            region,
            closure,
            cut: DownsetMin::new(region, class, closure),
            walk,
            fixed: vec![Side::Free; region.len()],
            sides: vec![Side::Free; region.len()],
            smallest: BitSet::new(region.len()),
            largest: BitSet::new(region.len()),
            seen: FxHashSet::default(),
        }
    }

    /// Return whether an order within a limit exists that keeps the first `first` instructions of the given
    /// order and those from position `last` on. The instructions of each of these two ends may change places
    /// among themselves.
    pub(crate) fn judge(
        &mut self,
        order: &[InstrId],
        first: usize,
        last: usize,
        limit: u32,
        effort: &mut Effort,
    ) -> Verdict<Vec<InstrId>> {
        self.fixed.fill(Side::Free);
        order[..first].iter().for_each(|instr| self.fixed[instr.index()] = Side::In);
        order[last..].iter().for_each(|instr| self.fixed[instr.index()] = Side::Out);
        self.walk.restart(order, first, last);
        let mut found = Found { value: limit, witness: Moment::Start, enough: limit + 1 };
        let mut cuts = 0;
        while found.value == limit {
            let Some(index) = self.walk.highest(limit) else { break };
            let Some(least) = self.look_at(moment(index), limit + 1, &mut found, effort) else {
                return Verdict::Unknown;
            };
            self.walk.limits[index] = least;
        }
        if found.value == limit && !self.walk.fits(limit) {
            self.look_at_pairs(&mut found, effort, &mut cuts);
        }
        match (found.value > limit, self.walk.fits(limit)) {
            (true, _) => Verdict::No(()),
            (false, true) => Verdict::Yes(self.walk.order.clone()),
            _ => Verdict::Unknown,
        }
    }

    fn keep_better(&self, result: &mut PressureBound) {
        let peak = self.walk.peak();
        if peak < result.peak {
            result.peak = peak;
            result.order.copy_from_slice(&self.walk.order);
        }
    }

    /// Find the minimum at a moment, exactly if it is below `limit`, and rearrange the order to pass through
    /// the minimisers. Return `None` if the effort does not suffice.
    fn look_at(&mut self, moment: Moment, limit: u32, found: &mut Found, effort: &mut Effort) -> Option<u32> {
        moment.sides(self.closure, &mut self.sides);
        for (side, fixed) in self.sides.iter_mut().zip(&self.fixed) {
            if *fixed != Side::Free {
                *side = *fixed;
            }
        }
        // A cut visits all instructions.
        effort.spend(self.region.len() as u64);
        let limit = limit.min(found.enough);
        let minimum = self.cut.min(&self.sides, limit, effort);
        let (Minimum::Exact(least) | Minimum::AtLeast(least)) = minimum;
        if least > found.value {
            (found.value, found.witness) = (least, moment);
        }
        match minimum {
            Minimum::Exact(_) => {
                self.cut.largest(&mut self.largest);
                self.cut.smallest(&mut self.smallest);
                self.walk.pass_through(&self.smallest, &self.largest);
            }
            Minimum::AtLeast(_) if least < limit => return None,
            Minimum::AtLeast(_) => {}
        }
        Some(least)
    }

    /// Examine the moments of pairs. Return whether the effort sufficed.
    ///
    /// A moment can help only if the order has no boundary with little pressure between the two sides of the
    /// moment. To find such moments, pairs are formed from the neighbours of a common predecessor (or
    /// successor) in a stretch of high pressure.
    fn look_at_pairs(&mut self, found: &mut Found, effort: &mut Effort, cuts: &mut u64) -> bool {
        self.seen.clear();
        let mut around: Vec<InstrId> = Vec::new();
        let mut done = BitSet::new(self.region.len());
        let mut ahead = done.clone();
        for position in self.walk.first..self.walk.last {
            for is_before in [true, false] {
                // The order changes during the loop; the current instruction of the position is used.
                let middle = self.walk.order[position];
                let free = |instr: &InstrId| self.fixed[instr.index()] == Side::Free;
                around.clear();
                let edges = match is_before {
                    true => self.region.succs(middle),
                    false => self.region.preds(middle),
                };
                around.extend(edges.iter().map(|edge| edge.instr).filter(free));
                // The nearest first.
                let places = &self.walk.position;
                around.sort_unstable_by_key(|instr| (places[instr.index()] as usize).abs_diff(position));
                around.truncate(MOST_NEIGHBOURS);
                for one in 0..around.len() {
                    if !self.walk.is_high(position, around[one], found.value) {
                        break;
                    }
                    for other in one + 1..around.len() {
                        let (one, other) = (around[one], around[other]);
                        if found.value >= found.enough {
                            return true;
                        }
                        if effort.is_spent() {
                            return false;
                        }
                        if !self.closure.independent(one, other) {
                            continue;
                        }
                        let moment = match is_before {
                            true => Moment::BeforeBoth(one, other),
                            false => Moment::AfterBoth(one, other),
                        };
                        effort.spend(2 + done.words() as u64 / 4);
                        moment.around_pair(self.closure, &mut done, &mut ahead);
                        let mut hasher = rustc_hash::FxHasher::default();
                        if is_before { &done } else { &ahead }.hash(&mut hasher);
                        if !self.seen.insert(hasher.finish()) {
                            continue;
                        }
                        let limit = self.walk.limit_between(&done, &ahead);
                        if limit <= found.value {
                            continue;
                        }
                        *cuts += 1;
                        if self.look_at(moment, limit, found, effort).is_none() {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }
}

/// The most neighbours of an instruction that form pairs.
const MOST_NEIGHBOURS: usize = 24;

/// Moments around instructions are numbered: before and after the first in source order, and so on.
fn moment(index: usize) -> Moment {
    let instr = InstrId::at(index / 2);
    if index.is_multiple_of(2) { Moment::Before(instr) } else { Moment::After(instr) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::brute_force::{Small, small_regions};
    use crate::analysis::pressure::Tracker;
    use crate::generate::{Random, Shape, random_order, region, register_program};

    const UNBOUNDED: Budget = Budget::UNLIMITED;

    fn peak(region: &Region, class: ClassId, order: &[InstrId]) -> u32 {
        let mut tracker = Tracker::new(region);
        order.iter().for_each(|&instr| tracker.schedule(instr));
        tracker.peaks()[class.index()].between
    }

    fn assert_legal(region: &Region, order: &[InstrId]) {
        let mut position = vec![usize::MAX; region.len()];
        for (place, instr) in order.iter().enumerate() {
            position[instr.index()] = place;
        }
        assert!(order.len() == region.len() && position.iter().all(|&place| place != usize::MAX));
        assert!(region.deps().iter().all(|dep| position[dep.from.index()] < position[dep.to.index()]));
    }

    #[test]
    fn bound_is_what_its_definition_says_and_never_above_the_optimum() {
        let mut random = Random::new(3);
        let (mut tight, mut loose) = (0, 0);
        for region in small_regions(700) {
            let closure = Closure::new(&region);
            for class in region.class_ids() {
                let small = Small::new(&region, class);
                let order = random_order(&region, &mut random);
                let bound = pressure_bound(&region, class, &closure, &order, UNBOUNDED);
                assert!(bound.complete);
                assert_eq!(bound.value, small.bound(&closure), "{}", region.name());
                assert_eq!(bound.hint_peak, peak(&region, class, &order));
                assert_legal(&region, &bound.order);
                assert_eq!(bound.peak, peak(&region, class, &bound.order));
                let optimum = small.optimum();
                assert!(bound.value <= optimum && optimum <= bound.peak && bound.peak <= bound.hint_peak);
                if bound.value == optimum {
                    tight += 1;
                } else {
                    loose += 1;
                }
            }
        }
        println!("the bound is the optimum in {tight} of {} cases", tight + loose);
        // If the two could not be distinguished, this test would have a mistake.
        assert!(tight > 8000 && loose > 0);
    }

    #[test]
    fn extremes_and_certain_weights_match_the_definition() {
        for region in small_regions(300) {
            let closure = Closure::new(&region);
            let all = (1u32 << region.len()) - 1;
            for class in region.class_ids() {
                let small = Small::new(&region, class);
                let lifetimes = Lifetimes::new(&region, class, &closure);
                let certain = lifetimes.certain(&closure, None);
                let mut limits = vec![u32::MAX; 2 * region.len()];
                lifetimes.lower_limits(&closure, &mut limits, None);
                for (index, (&limit, &certain)) in limits.iter().zip(&certain).enumerate() {
                    let instr = InstrId::at(index / 2);
                    let own = 1 << instr.0;
                    let mut done = closure.ancestors(instr).as_number() as u32;
                    let mut possible = all & !(closure.descendants(instr).as_number() as u32);
                    match moment(index) {
                        Moment::After(_) => done |= own,
                        _ => possible &= !own,
                    }
                    assert_eq!(limit, small.pressure(done).min(small.pressure(possible)));
                    assert_eq!(certain, small.live_in_both(done, possible));
                }
            }
        }
    }

    #[test]
    fn witness_shows_the_bound() {
        for region in small_regions(300) {
            let closure = Closure::new(&region);
            for class in region.class_ids() {
                let order: Vec<InstrId> = region.instrs().collect();
                let bound = pressure_bound(&region, class, &closure, &order, UNBOUNDED);
                let mut sides = vec![Side::Free; region.len()];
                bound.witness.sides(&closure, &mut sides);
                let mut cut = DownsetMin::new(&region, class, &closure);
                let least = cut.min(&sides, u32::MAX, &mut Effort::UNBOUNDED.clone());
                assert_eq!(least, Minimum::Exact(bound.value));
            }
        }
    }

    fn larger_regions() -> impl Iterator<Item = Region> {
        (0..12).flat_map(|seed| {
            let shaped =
                Shape::ALL.into_iter().map(move |shape| region(shape, 60 + 30 * seed as usize, seed));
            shaped.chain([register_program(80, seed)])
        })
    }

    #[test]
    fn bound_does_not_depend_on_the_hint() {
        let mut random = Random::new(9);
        for region in larger_regions() {
            let closure = Closure::new(&region);
            for class in region.class_ids() {
                let source: Vec<InstrId> = region.instrs().collect();
                let bound = pressure_bound(&region, class, &closure, &source, UNBOUNDED);
                let again = pressure_bound(&region, class, &closure, &bound.order, UNBOUNDED);
                let random = random_order(&region, &mut random);
                let other = pressure_bound(&region, class, &closure, &random, UNBOUNDED);
                assert_eq!((bound.value, bound.value), (again.value, other.value));
                assert!(bound.complete && again.complete && other.complete);
                // The definition, without any of the shortcuts.
                let mut cut = DownsetMin::new(&region, class, &closure);
                let mut sides = vec![Side::Free; region.len()];
                let around = (0..2 * region.len()).map(moment).chain([Moment::Start, Moment::End]);
                let minima = around.map(|moment| {
                    moment.sides(&closure, &mut sides);
                    match cut.min(&sides, u32::MAX, &mut Effort::UNBOUNDED.clone()) {
                        Minimum::Exact(least) => least,
                        Minimum::AtLeast(_) => panic!("no limit was given"),
                    }
                });
                assert_eq!(Some(bound.value), minima.max());
            }
        }
    }

    #[test]
    fn smaller_budgets_give_lower_bounds() {
        let mut random = Random::new(21);
        let mut unfinished = 0;
        for region in larger_regions() {
            let closure = Closure::new(&region);
            let class = ClassId(0);
            let order = random_order(&region, &mut random);
            let full = pressure_bound(&region, class, &closure, &order, UNBOUNDED);
            let mut last = 0;
            for steps in (0..14).map(|power| (1 << power) - 1) {
                let budget = Budget { nodes: Some(steps), ..Budget::UNLIMITED };
                let bound = pressure_bound(&region, class, &closure, &order, budget);
                assert!(last <= bound.value && bound.value <= full.value);
                assert!(!bound.complete || bound.value == full.value);
                assert_eq!(bound, pressure_bound(&region, class, &closure, &order, budget));
                unfinished += usize::from(!bound.complete);
                last = bound.value;
            }
            let now = Budget { time_per_instr: Some(Duration::ZERO), ..Budget::UNLIMITED };
            assert!(pressure_bound(&region, class, &closure, &order, now).value <= full.value);
        }
        assert!(unfinished > 100);
    }
}
