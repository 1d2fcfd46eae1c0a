//! Valleys: the region is divided at downsets of low pressure, and each part is ordered alone.
//!
//! Large regions often consist of pieces of code one after the other: the octaves of a noise function, or the
//! messages of a hash function. Good orders finish one piece before the next, with few values live in
//! between. A list scheduler that starts a second piece too early never recovers, and windows of its order
//! are too small to repair it.
//!
//! A minimum cut finds the downset with the least pressure of all that contain one given instruction and not
//! another. Of many random pairs, the lowest cut that leaves enough instructions on both sides divides the
//! region, and then the parts. Each part is small enough for a search.
//!
//! Valleys find orders and prove nothing: the best order need not pass through them. The random numbers
//! depend on the region's size only.

use std::sync::{Mutex, PoisonError};

use super::exact::minimise_within;
use super::options::Options;
use super::part::Part;
use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::progress::Watch;
use crate::random::Random;
use crate::region::Region;
use crate::threads;

/// A part of at least so many instructions is divided, if there is a valley.
const FEWEST_TO_DIVIDE: usize = 120;

/// A part of at most so many instructions is searched.
const MOST_TO_SEARCH: usize = 250;

/// The pairs of instructions that are tried for a division.
const PAIRS: usize = 64;

/// The pairs that are tried at the same time. Later ones only look for lower valleys than those.
const PAIRS_AT_ONCE: usize = 16;

/// The cuts of smaller parts take less time than it takes to start threads.
const FEWEST_FOR_THREADS: usize = 600;

/// On each side of a division are at least so many of a hundred instructions. Half of the instructions on
/// each side are worth so many hundredths of a register.
const LEAST_SIDE: u32 = 12;
const WORTH_OF_BALANCE: u32 = 200;

/// Order a region through its valleys. `guide` is an order within `limits` on other classes. The result need
/// not be better than the guide, nor within the limits. `states` is raised by the number of expanded states.
pub(super) fn order_through_valleys(
    region: &Region,
    class: ClassId,
    limits: &[Option<u32>],
    guide: &[InstrId],
    options: Options,
    effort: &mut Effort,
    states: &mut u64,
) -> Vec<InstrId> {
    let threads = options.budget.threads;
    let parts = effort.with_share(2, |share| divide(region, class, guide, threads, share));
    let mut order = Vec::with_capacity(region.len());
    // What is known of the region, and its log, are not those of a part. And a part is too small for several
    // threads.
    let mut options = Options { known_bound: None, watch: Watch::default(), ..options };
    options.budget.threads = 1;
    for (number, part) in parts.iter().enumerate() {
        let source: Vec<InstrId> = part.region.instrs().collect();
        let parts_left = (parts.len() - number) as u32;
        let found = if part.region.len() <= MOST_TO_SEARCH && !effort.is_spent() {
            effort.with_share(parts_left, |share| {
                let closure = Closure::new(&part.region);
                let answer = minimise_within(&part.region, &closure, class, limits, &source, options, share);
                *states += answer.nodes;
                answer.order
            })
        } else {
            source
        };
        order.extend(part.in_whole(&found));
    }
    order
}

/// Divide a region into parts, one after the other. When the effort is spent, those that are left stay whole.
pub(crate) fn divide(
    region: &Region,
    class: ClassId,
    guide: &[InstrId],
    threads: usize,
    effort: &mut Effort,
) -> Vec<Part> {
    let mut random = Random::new(region.len() as u64);
    let (none, all) = (BitSet::new(region.len()), BitSet::full(region.len()));
    let mut parts = Vec::new();
    // The parts to come, the next one last.
    let mut ahead: Vec<Part> = Part::between(region, &none, &all, guide).into_iter().collect();
    while let Some(part) = ahead.pop() {
        match find_valley(&part.region, class, threads, &mut random, effort) {
            Some(valley) => ahead.extend(part.split(&valley).into_iter().rev()),
            None => parts.push(part),
        }
    }
    parts
}

/// Find a downset that divides a region. `None` if there is none, or if the effort is spent.
fn find_valley(
    region: &Region,
    class: ClassId,
    threads: usize,
    random: &mut Random,
    effort: &mut Effort,
) -> Option<BitSet> {
    if region.len() < FEWEST_TO_DIVIDE || effort.is_spent() {
        return None;
    }
    let threads = if region.len() < FEWEST_FOR_THREADS { 1 } else { threads };
    let closure = Closure::new(region);
    let instrs: Vec<InstrId> = region.instrs().collect();
    let pairs = (0..PAIRS).map(|_| (random.pick(&instrs), random.pick(&instrs)));
    let is_possible = |&(done, left): &(InstrId, InstrId)| done != left && !closure.reaches(left, done);
    let pairs: Vec<(InstrId, InstrId)> = pairs.filter(is_possible).collect();
    let first = Divider::new(region, &closure, class);
    let idle: Mutex<Vec<Divider>> = Mutex::new(vec![first.clone()]);
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let mut best: Option<Division> = None;
    for pairs in pairs.chunks(PAIRS_AT_ONCE) {
        let (whole, limit) = (*effort, best.as_ref().map_or(u32::MAX, |best| best.score.div_ceil(100)));
        let divisions = threads::map(threads, pairs.len(), |number| {
            let divider = lock().pop();
            let mut divider = divider.unwrap_or_else(|| first.clone());
            let mut left = whole;
            let division = divider.divide(pairs[number], limit, &mut left);
            lock().push(divider);
            (division, whole.steps - left.steps)
        });
        effort.spend(divisions.iter().map(|(_, steps)| steps).sum());
        if effort.is_spent() {
            return None;
        }
        for (division, _) in divisions {
            let better = division.filter(|new| best.as_ref().is_none_or(|best| new.score < best.score));
            best = better.or(best);
        }
    }
    best.map(|best| best.valley)
}

/// A downset that divides a region. The lower its score, the better.
struct Division {
    score: u32,
    valley: BitSet,
}

/// Finds the lowest downset that contains one instruction and not another.
#[derive(Clone)]
struct Divider<'a> {
    region: &'a Region,
    closure: &'a Closure,
    cut: DownsetMin<'a>,
    sides: Vec<Side>,
    set: BitSet,
}

impl<'a> Divider<'a> {
    fn new(region: &'a Region, closure: &'a Closure, class: ClassId) -> Self {
        let count = region.len();
        let cut = DownsetMin::new(region, class, closure);
        Divider { region, closure, cut, sides: vec![Side::Free; count], set: BitSet::new(count) }
    }

    /// Divide a region between an instruction that is done and one that is left. `None` if the least pressure
    /// is at least `limit`, if one side would be too small, or if the effort is spent.
    fn divide(
        &mut self,
        (done, left): (InstrId, InstrId),
        limit: u32,
        effort: &mut Effort,
    ) -> Option<Division> {
        if effort.is_spent() {
            return None;
        }
        let count = self.region.len();
        effort.spend(count as u64 / 4);
        for instr in self.region.instrs() {
            let is_done = instr == done || self.closure.reaches(instr, done);
            let is_left = instr == left || self.closure.reaches(left, instr);
            self.sides[instr.index()] = match (is_done, is_left) {
                (true, _) => Side::In,
                (_, true) => Side::Out,
                _ => Side::Free,
            };
        }
        let Minimum::Exact(pressure) = self.cut.min(&self.sides, limit, effort) else { return None };
        let mut best: Option<Division> = None;
        for is_largest in [false, true] {
            match is_largest {
                true => self.cut.largest(&mut self.set),
                false => self.cut.smallest(&mut self.set),
            }
            let before = 100 * self.set.count() / self.region.len() as u32;
            let smaller_side = before.min(100 - before);
            let score = 100 * pressure + WORTH_OF_BALANCE - WORTH_OF_BALANCE * smaller_side / 50;
            if smaller_side >= LEAST_SIDE && best.as_ref().is_none_or(|best| score < best.score) {
                best = Some(Division { score, valley: self.set.clone() });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::peaks;
    use crate::budget::Budget;
    use crate::check::check_order;
    use crate::generate::{self, Shape, random_order};

    const CLASS: ClassId = ClassId(0);

    #[test]
    fn orders_through_valleys_are_legal_and_often_better() {
        let mut random = Random::new(1);
        let (mut better, mut divided) = (0, 0);
        for seed in 0..8 {
            for shape in [Shape::UnrolledLoop, Shape::SharedChains, Shape::Layered] {
                let region = generate::region(shape, 300, seed);
                let guide = random_order(&region, &mut random);
                let mut order = |steps: u64| {
                    let effort = &mut Effort { steps, deadline: None };
                    let options = Options::new(Budget { threads: 1 + random.below(3), ..Budget::default() });
                    order_through_valleys(&region, CLASS, &[], &guide, options, effort, &mut 0)
                };
                let found = order(3_000_000);
                check_order(&region, &found).expect("a legal order");
                assert_eq!(found, order(3_000_000));
                assert_eq!(order(10), guide);
                better += usize::from(peaks(&region, &found)[0] < peaks(&region, &guide)[0]);
                let mut unbounded = Effort::UNBOUNDED;
                let parts = divide(&region, CLASS, &guide, 2, &mut unbounded);
                check_order(&region, &parts.iter().flat_map(|part| part.instrs.clone()).collect::<Vec<_>>())
                    .expect("the parts one after the other are legal");
                divided += usize::from(parts.len() > 1);
            }
        }
        println!("{better} better than a random order, {divided} divided");
        assert!(better > 20 && divided > 20, "{better} {divided}");
    }
}
