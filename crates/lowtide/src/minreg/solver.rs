//! The solver: the parts of a region, each with its best order and bound, and questions to all of them.
//!
//! # Parts
//! Let M be a downset with the least pressure of all downsets. If T0, T1, ... is an order within a limit, so
//! is the order that passes through Ti & M first and through Ti | M then. *Proof.* f(Ti & M) <=
//! f(Ti) + f(M) - f(Ti | M) <= f(Ti), and the same for the union. ∎ So the region can be split at M, and each
//! part ([`Part`]) be solved alone. The optimum of the region is the highest optimum of a part. Between M and
//! the ends, the search commits only in one direction of time: towards M. Without the split, either direction
//! is the wrong one for one of the parts.
//!
//! # Questions
//! For each part, harmless dependences are added first: by [`superiority`] and then, for the limit in
//! question, by [`forced_order`]. If a cut shows that the graph has no order within the limit, this is the
//! answer. Otherwise two searches [`race`], from both ends of time. While the answer is open,
//! [`skeletons`](super::skeletons) of critical instructions raise the bound.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::Rules;
use super::forced_order::forced_order;
use super::memory::Memory;
use super::options::Options;
use super::part::Part;
use super::race::race;
use super::skeletons::{Best, Learned, judge_by_skeletons};
use super::superiority::superiority;
use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side};
use crate::analysis::limits::{fits, is_within, peaks};
use crate::analysis::pressure_bound::{PressureBound, Seeker, pressure_bound_within, sharper_bound_within};
use crate::bits::BitSet;
use crate::budget::{Effort, is_over};
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::verdict::Verdict;

/// The most states that a search remembers: 128 MiB each for the searches from both ends.
const MOST_STATES: usize = 1 << 23;

/// The time to make a part, for each instruction of the region.
const NANOS_PER_VISIT: u64 = 10;

/// Of the effort for skeletons, one of so many parts is for lower limits than the highest. Each of them has
/// one of so many parts of what is left.
const PARTS_PER_LOWER_LIMITS: u32 = 3;
const PARTS_PER_LOWER_LIMIT: u32 = 2;

/// A part of the region with its state of knowledge.
struct Piece {
    /// The part, with dependences that are harmless under any limit below its peak.
    part: Part,
    /// The best order known, by instructions of the whole.
    order: Vec<InstrId>,
    peaks: Vec<u32>,
    /// Failed states of the search from each end.
    memories: [Memory; 2],
    /// The limit for which the part has been tightened.
    tightened_for: Option<u32>,
    /// What is known about skeletons.
    learned: Learned,
}

impl Piece {
    /// Take over an order, by the numbers of the part. It is the guide from now on, as near to it as the
    /// dependences allow.
    fn take_over(&mut self, order: &[InstrId]) {
        self.order = self.part.in_whole(order);
        self.peaks = peaks(&self.part.region, order);
        if let Some(part) = self.part.with(&[], order) {
            self.part = part;
        }
    }

    /// Raise a bound by skeletons: first those within the highest limit, and then lower ones.
    fn climb_by_skeletons(
        &mut self,
        class: ClassId,
        limits: &[Option<u32>],
        bound: u32,
        highest: u32,
        threads: usize,
        effort: &mut Effort,
    ) -> u32 {
        let closure = Closure::new(&self.part.region);
        let mut best = Best::within(limits, class);
        let mut limits = limits.to_vec();
        let mut judge = |limit: u32, share: &mut Effort| {
            limits[class.index()] = Some(limit);
            let (learned, question) = (&mut self.learned, (class, &limits[..]));
            judge_by_skeletons(&self.part, &closure, question, learned, &mut best, threads, share)
        };
        if effort.with_all_but(PARTS_PER_LOWER_LIMITS, |share| judge(highest, share)).is_no() {
            return highest + 1;
        }
        let (mut bound, mut step) = (bound, 1);
        while bound < highest && step > 0 && !effort.is_spent() {
            let limit = (bound + step).min(highest) - 1;
            match effort.with_share(PARTS_PER_LOWER_LIMIT, |share| judge(limit, share)) {
                Verdict::No(()) => {
                    bound = limit + 1;
                    step *= 2;
                }
                _ => step /= 2,
            }
        }
        if let Some(order) = best.order {
            self.take_over(&order);
        }
        bound
    }
}

pub(super) struct Solver<'a> {
    options: Options<'a>,
    /// The limits on all classes. Only the one on the class in question changes.
    limits: Vec<Option<u32>>,
    pieces: Vec<Piece>,
    /// The expanded states.
    pub(super) states: u64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(
        region: &Region,
        closure: &Closure,
        limits: Vec<Option<u32>>,
        start: &[InstrId],
        options: Options<'a>,
        effort: &mut Effort,
    ) -> Self {
        let mut limited = region.class_ids().filter(|class| limits[class.index()].is_some());
        let mut borders = match (limited.next(), limited.next()) {
            (Some(class), None) if options.rules.split => least_downsets(region, class, closure, effort),
            _ => ends(region),
        };
        let visits = (borders.len() * region.len()) as u64;
        if effort.is_spent() || !effort.has_time_for(Duration::from_nanos(visits * NANOS_PER_VISIT)) {
            // No time is left to use the parts.
            borders = ends(region);
        }
        let pieces = borders.windows(2).filter_map(|pair| {
            let mut part = Part::between(region, &pair[0], &pair[1], start)?;
            let order = part.instrs.clone();
            let peaks = part_peaks(&part, &order);
            if options.rules.superiority && part.region.len() > 1 && !is_over(effort.deadline) {
                let source: Vec<InstrId> = part.region.instrs().collect();
                let found = superiority(&part.region, &mut Closure::new(&part.region), effort);
                part = part.with(&found, &source).unwrap_or(part);
            }
            let memories = [(); 2].map(|()| Memory::new(MOST_STATES));
            Some(Piece { part, order, peaks, memories, tightened_for: None, learned: Learned::default() })
        });
        let pieces = pieces.collect();
        Solver { options, limits, pieces, states: 0 }
    }

    /// Return the bound by cuts of the parts with all their dependences, at most with half of the effort. The
    /// moments of pairs are not examined again: they hardly ever raise it, and take longer than all others.
    pub(super) fn bound(&self, class: ClassId, effort: &mut Effort) -> u32 {
        let bound = |piece: &Piece| {
            let region = &piece.part.region;
            let source: Vec<InstrId> = region.instrs().collect();
            let closure = Closure::new(region);
            let bound = pressure_bound_within(region, class, &closure, &source, effort.share(2));
            effort.spend(cost_of(&bound, region));
            bound.value
        };
        self.pieces.iter().map(bound).max().unwrap_or(0)
    }

    /// Return the peak of the best order known.
    pub(super) fn peak(&self, class: ClassId) -> u32 {
        self.pieces.iter().map(|piece| piece.peaks[class.index()]).max().unwrap_or(0)
    }

    pub(super) fn threads(&self) -> usize {
        self.options.budget.threads
    }

    pub(super) fn set_threads(&mut self, threads: usize) {
        self.options.budget.threads = threads;
    }

    pub(super) fn order(&self) -> Vec<InstrId> {
        self.pieces.iter().flat_map(|piece| piece.order.iter().copied()).collect()
    }

    /// Take over an order of the region where it is better than the order of a part. Restricted to a part, an
    /// order has no higher peak than before.
    pub(super) fn adopt(&mut self, class: ClassId, order: &[InstrId]) {
        for piece in &mut self.pieces {
            let numbered = piece.part.in_part(order);
            let new = peaks(&piece.part.region, &numbered);
            if new[class.index()] < piece.peaks[class.index()] && fits(&new, &self.limits) {
                piece.take_over(&numbered);
            }
        }
    }

    /// Return whether there is an order with this limit on a class. Each search may take a turn. The limit
    /// must not be higher than in the last question.
    pub(super) fn ask(
        &mut self,
        class: ClassId,
        limit: u32,
        turn: u64,
        effort: &mut Effort,
    ) -> Verdict<Vec<InstrId>> {
        self.limits[class.index()] = Some(limit);
        let mut is_open = false;
        for piece in &mut self.pieces {
            if fits(&piece.peaks, &self.limits) {
                continue;
            }
            if effort.is_spent() {
                is_open = true;
                break;
            }
            let (states, never) = (&mut self.states, AtomicBool::new(false));
            let memories = &mut piece.memories;
            let mut verdict =
                race(&piece.part, &self.limits, self.options, memories, turn, effort, states, &never);
            // Easy questions are answered before this pays.
            if verdict.is_unknown() && piece.tightened_for != Some(limit) && !effort.is_spent() {
                piece.tightened_for = Some(limit);
                verdict = tighten(&mut piece.part, &self.limits, self.options, 2 * turn, effort);
            }
            match verdict {
                Verdict::Yes(order) => piece.take_over(&order),
                Verdict::No(()) => return Verdict::No(()),
                Verdict::Unknown => is_open = true,
            }
        }
        match is_open {
            true => Verdict::Unknown,
            false => Verdict::Yes(self.order()),
        }
    }

    /// Raise a bound by skeletons, which can also lead to better orders.
    pub(super) fn climb_by_skeletons(
        &mut self,
        class: ClassId,
        bound: u32,
        peak: u32,
        effort: &mut Effort,
    ) -> u32 {
        let mut bound = bound;
        if !self.options.rules.skeletons {
            return bound;
        }
        let threads = self.threads();
        let mut limits = self.limits.clone();
        limits[class.index()] = Some(peak - 1);
        for piece in &mut self.pieces {
            if bound < peak && !fits(&piece.peaks, &limits) {
                bound = piece.climb_by_skeletons(class, &limits, bound, peak - 1, threads, effort);
            }
        }
        bound
    }

    /// Return a climber, which raises a bound while the solver is busy.
    pub(super) fn climber(&self) -> Climber<'a> {
        let parts = self.pieces.iter().map(|piece| (piece.part.clone(), piece.peaks.clone()));
        Climber { options: self.options, limits: self.limits.clone(), parts: parts.collect() }
    }
}

/// A search that raises the bound by refuting limits below those that the solver tries.
pub(super) struct Climber<'a> {
    options: Options<'a>,
    limits: Vec<Option<u32>>,
    parts: Vec<(Part, Vec<u32>)>,
}

impl Climber<'_> {
    pub(super) fn set_threads(&mut self, threads: usize) {
        self.options.budget.threads = threads;
    }

    /// Return the highest bound below `most` that some part proves, each step in a turn, and the number of
    /// expanded states.
    pub(super) fn climb(
        &mut self,
        class: ClassId,
        bound: u32,
        most: u32,
        turn: u64,
        effort: &mut Effort,
        is_cancelled: &AtomicBool,
    ) -> (u32, u64) {
        let mut states = 0;
        let mut bound = bound;
        while bound < most && !effort.is_spent() {
            self.limits[class.index()] = Some(bound);
            let Climber { options, limits, parts } = &*self;
            let fails = |(part, peaks): &(Part, Vec<u32>)| {
                if fits(peaks, limits) {
                    return false;
                }
                // These dependences do not hold for higher limits, so each step starts afresh.
                let mut part = part.clone();
                let mut verdict = tighten(&mut part, limits, *options, turn, effort);
                if verdict.is_unknown() {
                    let memories = &mut [(); 2].map(|()| Memory::new(MOST_STATES));
                    verdict =
                        race(&part, limits, *options, memories, turn, effort, &mut states, is_cancelled);
                }
                verdict.is_no()
            };
            if !parts.iter().any(fails) {
                break;
            }
            bound += 1;
        }
        (bound, states)
    }
}

fn part_peaks(part: &Part, order: &[InstrId]) -> Vec<u32> {
    peaks(&part.region, &part.in_part(order))
}

/// Add forced orders to a part, for a turn, and then look for cuts. Return the verdict on orders within the
/// limits.
fn tighten(
    part: &mut Part,
    limits: &[Option<u32>],
    options: Options,
    turn: u64,
    effort: &mut Effort,
) -> Verdict<Vec<InstrId>> {
    effort.with_steps(turn, |share| tighten_within(part, limits, options, share))
}

fn tighten_within(
    part: &mut Part,
    limits: &[Option<u32>],
    options: Options,
    effort: &mut Effort,
) -> Verdict<Vec<InstrId>> {
    let Options { rules, budget, .. } = options;
    if rules.forced_order {
        let region = &part.region;
        let found = forced_order(region, &mut Closure::new(region), limits, &[], budget.threads, effort);
        let source: Vec<InstrId> = region.instrs().collect();
        match found.and_then(|found| part.with(&found, &source)) {
            Some(tighter) => *part = tighter,
            None => return Verdict::No(()),
        }
    }
    if rules.cuts && !effort.is_spent() {
        let region = &part.region;
        let closure = Closure::new(region);
        let source: Vec<InstrId> = region.instrs().collect();
        for class in region.class_ids() {
            let Some(limit) = limits[class.index()] else { continue };
            match Seeker::new(region, class, &closure).judge(&source, 0, region.len(), limit, effort) {
                Verdict::No(()) => return Verdict::No(()),
                Verdict::Yes(order) if is_within(region, &order, limits) => return Verdict::Yes(order),
                _ => {}
            }
        }
    }
    Verdict::Unknown
}

/// Return the empty set and the set of all instructions.
fn ends(region: &Region) -> Vec<BitSet> {
    vec![BitSet::new(region.len()), BitSet::full(region.len())]
}

/// Return downsets with the least pressure of all, one after the other, from the empty set to all
/// instructions.
fn least_downsets(region: &Region, class: ClassId, closure: &Closure, effort: &mut Effort) -> Vec<BitSet> {
    let mut result = vec![BitSet::new(region.len())];
    let mut cut = DownsetMin::new(region, class, closure);
    let mut sides = vec![Side::Free; region.len()];
    if let Minimum::Exact(_) = cut.min(&sides, u32::MAX, effort) {
        let (mut lower, mut upper) = (BitSet::new(region.len()), BitSet::new(region.len()));
        cut.smallest(&mut lower);
        cut.largest(&mut upper);
        loop {
            if result.last() != Some(&lower) {
                result.push(lower.clone());
            }
            // The smallest one that also holds the next instruction, and so on, up to the largest.
            let is_between = |instr: &InstrId| upper.contains(*instr) && !lower.contains(*instr);
            let Some(next) = region.instrs().find(is_between) else { break };
            for instr in region.instrs() {
                sides[instr.index()] = match () {
                    () if instr == next || lower.contains(instr) => Side::In,
                    () if upper.contains(instr) => Side::Free,
                    () => Side::Out,
                };
            }
            let Minimum::Exact(_) = cut.min(&sides, u32::MAX, effort) else { break };
            cut.smallest(&mut lower);
        }
    }
    let all = BitSet::full(region.len());
    if result.last() != Some(&all) {
        result.push(all);
    }
    result
}

/// Return the bound by cuts, for at most half of the effort. If allowed, the moments of pairs then get a
/// small part of it.
pub(super) fn bound_by_cuts(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    start: &[InstrId],
    rules: Rules,
    effort: &mut Effort,
) -> PressureBound {
    let mut bound = pressure_bound_within(region, class, closure, start, effort.share(2));
    if rules.cuts {
        bound = sharper_bound_within(region, class, closure, bound, effort.share(8));
    }
    effort.spend(cost_of(&bound, region));
    bound
}

/// Return the steps of a bound: each cut visits all instructions.
fn cost_of(bound: &PressureBound, region: &Region) -> u64 {
    bound.cuts * region.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::pressure_bound::pressure_at_ends;
    use crate::budget::Budget;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};
    use crate::minreg::race::LEAST_EFFORT;

    /// Small regions are solved in the first turn. Turns are short here, so the code between turns runs.
    #[test]
    fn short_turns_give_the_same_optimum() {
        let mut random = Random::new(1);
        let (mut asked, mut found, mut failed, mut open) = (0, 0, 0, 0);
        for region in regions(0..400, 12) {
            let class = ClassId(0);
            let closure = Closure::new(&region);
            let start = random_order(&region, &mut random);
            let start_peaks = peaks(&region, &start);
            let mut limits: Vec<Option<u32>> =
                start_peaks.iter().map(|&peak| random.chance(30).then_some(peak)).collect();
            limits[class.index()] = None;
            let optimum = Small::new(&region, &[]).lowest(0, &limits).unwrap();
            let (mut peak, mut bound) = (start_peaks[0], pressure_at_ends(&region)[0].0);
            limits[class.index()] = Some(peak);
            let is_on = [(); 7].map(|()| random.chance(50));
            let [free_moves, commit, split, cuts, forced_order, superiority, skeletons] = is_on;
            let memory = region.len() > 8 || random.chance(50);
            let rules =
                Rules { free_moves, commit, split, memory, cuts, forced_order, superiority, skeletons };
            let options = Options { rules, ..Options::new(Budget::default()) };
            let mut effort = Effort::UNBOUNDED;
            let mut solver = Solver::new(&region, &closure, limits, &start, options, &mut effort);
            let mut turn = LEAST_EFFORT;
            while peak > bound {
                asked += 1;
                match solver.ask(class, peak - 1, turn, &mut effort) {
                    Verdict::Yes(order) => {
                        found += 1;
                        peak = solver.peak(class);
                        assert_eq!(peaks(&region, &order)[0], peak);
                        assert!(is_within(&region, &order, &solver.limits));
                    }
                    Verdict::No(()) => {
                        failed += 1;
                        bound = peak;
                    }
                    Verdict::Unknown => {
                        open += 1;
                        let never = AtomicBool::new(false);
                        (bound, _) =
                            solver.climber().climb(class, bound, peak - 1, turn, &mut effort, &never);
                        let share = |steps: u64| Effort { steps, deadline: None };
                        bound = solver.climb_by_skeletons(class, bound, peak, &mut share(20 * turn));
                        turn += LEAST_EFFORT;
                    }
                }
                assert!(bound <= optimum && optimum <= peak, "{} {rules:?}", region.name());
            }
            assert_eq!(peak, optimum, "{} {rules:?}", region.name());
        }
        println!("{asked} questions: {found} orders found, {failed} refuted, {open} left open at first");
        assert!(found > 1_000 && failed > 500 && open > 500, "{found} {failed} {open}");
    }

    /// After tightening, an order within the limits still exists.
    #[test]
    fn tightening_loses_nothing() {
        let mut random = Random::new(2);
        let (mut found, mut failed, mut open) = (0, 0, 0);
        for region in regions(500..700, 11) {
            let whole = Small::new(&region, &[]);
            let start = random_order(&region, &mut random);
            let limits: Vec<Option<u32>> = peaks(&region, &start)
                .iter()
                .map(|peak| random.chance(80).then(|| peak.saturating_sub(random.below(4) as u32)))
                .collect();
            let exists = whole.lowest(0, &limits).is_some();
            let mut part =
                Part::between(&region, &BitSet::new(region.len()), &BitSet::full(region.len()), &start)
                    .unwrap();
            let mut effort = Effort { steps: random.pick(&[300, 3_000, u64::MAX]), deadline: None };
            let rules = Rules { forced_order: random.chance(80), cuts: random.chance(50), ..Rules::ALL };
            let options = Options { rules, ..Options::new(Budget::default()) };
            match tighten_within(&mut part, &limits, options, &mut effort) {
                Verdict::Yes(order) => {
                    found += 1;
                    assert!(
                        exists && is_within(&region, &part.in_whole(&order), &limits),
                        "{}",
                        region.name()
                    );
                }
                Verdict::No(()) => {
                    failed += 1;
                    assert!(!exists, "{} {limits:?}", region.name());
                }
                Verdict::Unknown => {
                    open += 1;
                    let tighter = Small::new(&part.region, &[]).lowest(0, &limits).is_some();
                    assert_eq!(tighter, exists, "{} {limits:?}", region.name());
                }
            }
        }
        println!("{found} orders found, {failed} refuted, {open} left open");
        assert!(found > 100 && failed > 500 && open > 500, "{found} {failed} {open}");
    }
}
