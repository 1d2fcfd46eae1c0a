//! Skeletons: orders of the critical instructions alone, and why none is possible.
//!
//! Every order of a region has its critical instructions in some order, its *skeleton*. Just before each of
//! them, and just after it, those before it in the skeleton are done with all their ancestors, and those
//! after it are ahead with all their descendants. A minimum cut finds the least pressure of all downsets that
//! are possible then. If it exceeds a limit, no order with this skeleton is within the limit. So if every
//! skeleton has such a moment, there is no order within the limit at all. (Forced orders of pairs do not see
//! this where an instruction can come before two others, or after them, but not between them.) The [`search`]
//! for a skeleton learns from its failures.
//!
//! # More and more critical instructions
//! The first critical instructions are few: those at the highest places of the best order. If they have a
//! skeleton, an order of the whole region is made from it, through the downsets that show that each moment is
//! possible. If this order is within the limit, it is the answer. If not, the instructions at the places
//! where it exceeds the limit become critical, too. So the critical instructions are those that matter,
//! mostly a few hundred. With all instructions as critical ones, a skeleton would be an order within the
//! limits.
//!
//! # What is learned
//! Nogoods (pairs that do not hold together) are valid for lower limits as well, and downsets for higher
//! ones. Both are kept for the next search.

mod choice;
mod cuts;
mod search;

use rustc_hash::FxHashMap;

use self::cuts::with_cuts;
use self::search::Skeletons;
use super::part::Part;
use crate::analysis::closure::Closure;
use crate::analysis::limits::{fits, peaks};
use crate::analysis::pressure::Tracker;
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::verdict::Verdict;

/// The most downsets that are kept from one search to the next.
const MOST_DOWNSETS: usize = 2048;

/// The number of critical instructions at first, the least number of new ones, and the most of all.
const FIRST_CRITICAL: usize = 48;
const LEAST_NEW: usize = 16;
const MOST_CRITICAL: usize = 1024;

/// What the searches for skeletons of a part have learned. It serves later ones, with the same limit or
/// another.
#[derive(Default)]
pub(crate) struct Learned {
    /// The instructions of the whole, by the numbers used here.
    numbering: Vec<InstrId>,
    /// The number of dependences that all downsets respect.
    dependences: usize,
    /// The critical instructions for each limit on the class in question.
    critical: FxHashMap<u32, Vec<InstrId>>,
    nogoods: Vec<Nogood>,
    downsets: Vec<Downset>,
}

/// Pairs that do not hold together in any order within a limit, or within a lower one.
struct Nogood {
    limit: u32,
    pairs: Vec<(InstrId, InstrId)>,
}

/// A downset with its pressure.
struct Downset {
    /// The number of the class among those with a limit.
    class: usize,
    pressure: u32,
    done: BitSet,
    /// The critical instructions that are done, by their numbers.
    critical: BitSet,
}

impl Downset {
    fn new(class: usize, pressure: u32, done: BitSet) -> Self {
        Downset { class, pressure, done, critical: BitSet::new(0) }
    }

    /// Find out which critical instructions are done.
    fn number(&mut self, critical: &[InstrId]) {
        let done = (0..critical.len()).filter(|&number| self.done.contains(critical[number]));
        self.critical = BitSet::of(critical.len(), done);
    }
}

impl Learned {
    /// Adapt to a part that may have new numbers and more dependences.
    fn adapt(&mut self, part: &Part) {
        let region = &part.region;
        if self.numbering != part.instrs {
            let size = part.instrs.iter().map(|instr| instr.index() + 1).max().unwrap_or(0);
            let mut numbers = vec![InstrId(0); size];
            (0..).zip(&part.instrs).for_each(|(number, instr)| numbers[instr.index()] = InstrId(number));
            let new: Vec<InstrId> = self.numbering.iter().map(|instr| numbers[instr.index()]).collect();
            let renew = |instr: &mut InstrId| *instr = new[instr.index()];
            self.critical.values_mut().flatten().for_each(renew);
            for (first, second) in self.nogoods.iter_mut().flat_map(|nogood| &mut nogood.pairs) {
                renew(first);
                renew(second);
            }
            for Downset { done, .. } in &mut self.downsets {
                *done = BitSet::of(region.len(), done.instrs().map(|instr| new[instr.index()]));
            }
            self.numbering.clone_from(&part.instrs);
        }
        let too_many = self.downsets.len().saturating_sub(MOST_DOWNSETS);
        self.downsets.drain(..too_many);
        let dependences = region.instrs().map(|instr| region.preds(instr).len()).sum();
        if std::mem::replace(&mut self.dependences, dependences) != dependences {
            let is_ready =
                |done: &BitSet, instr| region.preds(instr).iter().all(|edge| done.contains(edge.instr));
            self.downsets.retain(|Downset { done, .. }| done.instrs().all(|instr| is_ready(done, instr)));
        }
    }
}

/// The best order that was made on the way, by the numbers of its part.
pub(crate) struct Best {
    class: ClassId,
    /// A better one would be within these.
    limits: Vec<Option<u32>>,
    pub(crate) order: Option<Vec<InstrId>>,
}

impl Best {
    /// Start without an order. Those within the limits are worth keeping. `class` is the one in question.
    pub(crate) fn within(limits: &[Option<u32>], class: ClassId) -> Self {
        Best { class, limits: limits.to_vec(), order: None }
    }

    /// Keep an order if it is the best so far.
    fn note(&mut self, order: &[InstrId], peaks: &[u32]) {
        if fits(peaks, &self.limits) {
            self.order = Some(order.to_vec());
            self.limits[self.class.index()] = Some(peaks[self.class.index()].saturating_sub(1));
        }
    }
}

/// Find out whether an order of a part is within limits. It is one of those that `best` is told of. `class`
/// is the one in question: its limit may differ from call to call.
pub(crate) fn judge_by_skeletons(
    part: &Part,
    closure: &Closure,
    (class, limits): (ClassId, &[Option<u32>]),
    learned: &mut Learned,
    best: &mut Best,
    threads: usize,
    effort: &mut Effort,
) -> Verdict {
    let region = &part.region;
    let least = (FIRST_CRITICAL.min(region.len()) * region.len()) as u64;
    let Some(limit) = limits[class.index()].filter(|_| effort.steps >= least && !effort.is_spent()) else {
        return Verdict::Unknown;
    };
    learned.adapt(part);
    let mut instrs = learned.critical.remove(&limit).unwrap_or_else(|| {
        let order: Vec<InstrId> = region.instrs().collect();
        highest(&order, &heights(region, limits, &order), FIRST_CRITICAL)
    });
    let verdict = loop {
        effort.spend((instrs.len() * instrs.len()) as u64 / 16);
        let (verdict, order) =
            with_cuts(region, closure, limits, &instrs, threads, effort, |cuts, effort| {
                let mut search = Skeletons::new(region, closure, cuts, &instrs);
                let verdict = match search.recall(learned, limit, effort) {
                    true => search.search(effort),
                    false => Verdict::No(()),
                };
                let order = match &verdict {
                    Verdict::Yes(skeleton) => Some(search.order_along(skeleton, class, effort)),
                    _ => None,
                };
                search.keep(learned, limit);
                (verdict.map_yes(|_| ()), order)
            });
        let Some(order) = order else { break verdict };
        let order_peaks = peaks(region, &order);
        best.note(&order, &order_peaks);
        if fits(&order_peaks, limits) {
            break Verdict::Yes(());
        }
        let new = new_critical(region, limits, &order, &instrs);
        if new.is_empty() || instrs.len() + new.len() > MOST_CRITICAL {
            break Verdict::Unknown;
        }
        instrs.extend(new);
    };
    learned.critical.insert(limit, instrs);
    verdict
}

/// Return instructions at places where an order exceeds a limit, which have not been critical so far.
fn new_critical(
    region: &Region,
    limits: &[Option<u32>],
    order: &[InstrId],
    critical: &[InstrId],
) -> Vec<InstrId> {
    let is_critical = BitSet::of(region.len(), critical.iter().copied());
    let places = order.iter().copied().zip(heights(region, limits, order));
    let (others, heights): (Vec<InstrId>, Vec<i64>) =
        places.filter(|(instr, _)| !is_critical.contains(*instr)).unzip();
    highest(&others, &heights, (critical.len() / 2).max(LEAST_NEW))
}

/// Return how far the pressure before or after each instruction of an order exceeds a limit.
fn heights(region: &Region, limits: &[Option<u32>], order: &[InstrId]) -> Vec<i64> {
    let mut tracker = Tracker::new(region);
    let height = |tracker: &Tracker| {
        let limited = region.class_ids().filter_map(|class| Some((class, limits[class.index()]?)));
        limited.map(|(class, limit)| i64::from(tracker.now(class)) - i64::from(limit)).max().unwrap_or(0)
    };
    let mut before = height(&tracker);
    let heights = order.iter().map(|&instr| {
        tracker.schedule(instr);
        let after = height(&tracker);
        std::mem::replace(&mut before, after).max(after)
    });
    heights.collect()
}

/// Return a number of instructions, or fewer: those at heights above 0, evenly spread. If there are too few
/// of them, those at the highest places below it, too.
fn highest(instrs: &[InstrId], heights: &[i64], count: usize) -> Vec<InstrId> {
    let mut sorted = heights.to_vec();
    sorted.sort_unstable();
    let least = sorted.get(sorted.len().saturating_sub(count)).map_or(1, |&height| height.min(1));
    let high = instrs.iter().zip(heights).filter(|(_, height)| **height >= least);
    let high: Vec<InstrId> = high.map(|(instr, _)| *instr).collect();
    let count = count.min(high.len());
    (0..count).map(|number| high[number * high.len() / count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check_order;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};

    /// The limits go up and down, and the part has other numbers and more dependences from time to time. Few
    /// steps interrupt the searches.
    #[test]
    fn what_is_learned_stays_right() {
        let mut random = Random::new(3);
        let (mut refuted, mut orders, mut open) = (0, 0, 0);
        for region in regions(0..400, 11) {
            let class = ClassId::at(random.below(region.classes().len()));
            let whole = (BitSet::new(region.len()), BitSet::full(region.len()));
            let start = random_order(&region, &mut random);
            let mut part =
                Part::between(&region, &whole.0, &whole.1, &start).expect("a region has instructions");
            let mut limits = vec![None; region.classes().len()];
            let (other, at) = (random.below(limits.len()), random.below(3) as u32);
            limits[other] = Some(peaks(&region, &start)[other] + at);
            limits[class.index()] = None;
            let Some(optimum) = Small::new(&region, &[]).lowest(class.index(), &limits) else { continue };
            let mut learned = Learned::default();
            for _ in 0..8 {
                let limit = (optimum + 2).saturating_sub(random.below(5) as u32);
                limits[class.index()] = Some(limit);
                let closure = Closure::new(&part.region);
                let mut best = Best::within(&limits, class);
                let mut effort = Effort { steps: random.pick(&[2_000, 10_000, u64::MAX]), deadline: None };
                let (question, threads) = ((class, &limits[..]), 1 + random.below(3));
                let verdict = judge_by_skeletons(
                    &part,
                    &closure,
                    question,
                    &mut learned,
                    &mut best,
                    threads,
                    &mut effort,
                );
                match verdict {
                    Verdict::No(()) => {
                        refuted += 1;
                        assert!(limit < optimum, "{} {limits:?}", region.name());
                    }
                    Verdict::Yes(()) => {
                        orders += 1;
                        let order = part.in_whole(&best.order.expect("an order within the limits"));
                        check_order(&region, &order).expect("a legal order");
                        assert!(fits(&peaks(&region, &order), &limits), "{} {limits:?}", region.name());
                    }
                    Verdict::Unknown => open += 1,
                }
                // Another legal order gives other numbers. One of its dependences does no harm to itself.
                if random.chance(50) {
                    let guide = random_order(&part.region, &mut random);
                    part = part.with(&[], &guide).expect("no cycle");
                }
            }
        }
        println!("{refuted} refuted, {orders} orders, {open} without an answer");
        assert!(refuted > 500 && orders > 500 && open > 100, "{refuted} {orders} {open}");
    }

    /// After more dependences, downsets that are none any more are dropped, and nogoods stay.
    #[test]
    fn dependences_drop_downsets() {
        let mut dropped = 0;
        for region in regions(0..100, 12) {
            let (none, all) = (BitSet::new(region.len()), BitSet::full(region.len()));
            let order: Vec<InstrId> = region.instrs().collect();
            let part = Part::between(&region, &none, &all, &order).expect("a region has instructions");
            let closure = Closure::new(&part.region);
            let class = ClassId(0);
            let mut limits = vec![None; region.classes().len()];
            limits[0] = Some(peaks(&region, &order)[0]);
            let (mut learned, mut best) = (Learned::default(), Best::within(&limits, class));
            let effort = &mut Effort::UNBOUNDED.clone();
            judge_by_skeletons(&part, &closure, (class, &limits), &mut learned, &mut best, 1, effort);
            let free = |&(first, second): &(InstrId, InstrId)| closure.independent(first, second);
            let pairs = region.instrs().flat_map(|first| region.instrs().map(move |second| (first, second)));
            let Some(pair) = pairs.rev().find(free) else { continue };
            let Some(tighter) = part.with(&[pair], &order) else { continue };
            let count = learned.downsets.len();
            learned.adapt(&tighter);
            dropped += count - learned.downsets.len();
            let numbers: Vec<InstrId> = tighter.instrs.clone();
            for Downset { done, .. } in &learned.downsets {
                let has = |instr: InstrId| done.instrs().any(|number| numbers[number.index()] == instr);
                assert!(!has(pair.1) || has(pair.0), "{}", region.name());
            }
        }
        assert!(dropped > 50, "{dropped}");
    }

    /// With fewer instructions than exceed the limit, or with more.
    #[test]
    fn critical_instructions_are_at_the_highest_places() {
        for region in regions(0..100, 12) {
            let order: Vec<InstrId> = region.instrs().collect();
            let limits: Vec<Option<u32>> =
                peaks(&region, &order).iter().map(|peak| Some(peak.saturating_sub(1))).collect();
            let heights = heights(&region, &limits, &order);
            for count in 1..=region.len() + 2 {
                let instrs = highest(&order, &heights, count);
                assert!(instrs.is_sorted_by(|one, other| one < other));
                assert_eq!(instrs.len(), count.min(region.len()), "{}", region.name());
                let new = new_critical(&region, &limits, &order, &instrs);
                assert!(new.iter().all(|instr| !instrs.contains(instr)), "{}", region.name());
                assert_eq!(new.len(), (region.len() - instrs.len()).min(LEAST_NEW), "{}", region.name());
            }
        }
    }
}
