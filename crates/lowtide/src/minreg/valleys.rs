//! Valleys: the region is divided at downsets of low pressure, and each part is ordered alone.
//!
//! Large regions often consist of pieces of code one after the other: the octaves of a noise function, or the messages of a hash
//! function. Good orders finish one piece before the next, with few values live in between. A list scheduler
//! that starts a second piece too early never recovers, and windows of its order are too small to repair it.
//!
//! A minimum cut finds the downset with the least pressure of all that contain one given instruction and not
//! another. Of many random pairs, the lowest cut that leaves enough instructions on both sides divides the region, and then the
//! parts. Each part is small enough for a search.
//!
//! Valleys find orders and prove nothing: the best order need not pass through them. The random numbers depend on
//! the region's size only.

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

/// A part of at least so many instructions is divided, if there is a valley.
const FEWEST_TO_DIVIDE: usize = 120;

/// A part of at most so many instructions is searched.
const MOST_TO_SEARCH: usize = 250;

/// The pairs of instructions that are tried for a division.
const PAIRS: usize = 64;

/// On each side of a division are at least so many of a hundred instructions. Half of the instructions on each side are worth
/// so many hundredths of a register.
const LEAST_SIDE: u32 = 12;
const WORTH_OF_BALANCE: u32 = 200;

/// Order a region through its valleys. `guide` is an order within `limits` on other classes. The result need not be
/// better than the guide, nor within the limits. `None` if the effort is spent. `states` is raised by the
/// number of expanded states.
#[allow(clippy::too_many_arguments)] // each of them is needed, and none belongs to another
pub(super) fn order_through_valleys(
    region: &Region,
    closure: &Closure,
    class: ClassId,
    limits: &[Option<u32>],
    guide: &[InstrId],
    options: Options,
    effort: &mut Effort,
    states: &mut u64,
) -> Option<Vec<InstrId>> {
    let borders = effort.with_share(2, |share| divide(region, closure, class, share))?;
    let mut order = Vec::with_capacity(region.len());
    // What is known of the region, and its log, are not those of a part.
    let options = Options { known_bound: None, watch: Watch::default(), ..options };
    for (number, pair) in borders.windows(2).enumerate() {
        let Some(part) = Part::between(region, &pair[0], &pair[1], guide) else { continue };
        let source: Vec<InstrId> = part.region.instrs().collect();
        let parts_left = (borders.len() - 1 - number) as u32;
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
    Some(order)
}

/// Return the ends of all parts, from the empty set to all instructions. `None` if the effort is spent.
pub(crate) fn divide(
    region: &Region,
    closure: &Closure,
    class: ClassId,
    effort: &mut Effort,
) -> Option<Vec<BitSet>> {
    let count = region.len();
    let mut cut = DownsetMin::new(region, class, closure);
    let mut random = Random::new(count as u64);
    let mut sides = vec![Side::Free; count];
    let mut borders = vec![BitSet::new(count)];
    // The upper ends of the parts to come, the next one last.
    let mut ahead = vec![BitSet::full(count)];
    let mut set = BitSet::new(count);
    while let (Some(lower), Some(upper)) = (borders.last(), ahead.last()) {
        let inside = |instr: &InstrId| upper.contains(*instr) && !lower.contains(*instr);
        let instrs: Vec<InstrId> = region.instrs().filter(inside).collect();
        let mut best: Option<(u32, BitSet)> = None;
        for _ in 0..if instrs.len() >= FEWEST_TO_DIVIDE { PAIRS } else { 0 } {
            let (done, left) = (random.pick(&instrs), random.pick(&instrs));
            if done == left || closure.reaches(left, done) {
                continue;
            }
            if effort.is_spent() {
                return None;
            }
            effort.spend(count as u64 / 4);
            for instr in region.instrs() {
                let is_done = lower.contains(instr) || instr == done || closure.reaches(instr, done);
                let is_left = !upper.contains(instr) || instr == left || closure.reaches(left, instr);
                sides[instr.index()] = match (is_done, is_left) {
                    (true, _) => Side::In,
                    (_, true) => Side::Out,
                    _ => Side::Free,
                };
            }
            let Minimum::Exact(pressure) = cut.min(&sides, u32::MAX, effort) else { return None };
            for is_largest in [false, true] {
                match is_largest {
                    true => cut.largest(&mut set),
                    false => cut.smallest(&mut set),
                }
                let before = 100 * (set.count() - lower.count()) / instrs.len() as u32;
                let smaller_side = before.min(100 - before);
                let score = 100 * pressure + WORTH_OF_BALANCE - WORTH_OF_BALANCE * smaller_side / 50;
                if smaller_side >= LEAST_SIDE && best.as_ref().is_none_or(|(least, _)| score < *least) {
                    best = Some((score, set.clone()));
                }
            }
        }
        match best {
            Some((_, valley)) => ahead.push(valley),
            None => borders.extend(ahead.pop()),
        }
    }
    Some(borders)
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
                let closure = Closure::new(&region);
                let guide = random_order(&region, &mut random);
                let order = |steps: u64| {
                    let effort = &mut Effort { steps, deadline: None };
                    let options = Options::new(Budget::default());
                    order_through_valleys(&region, &closure, CLASS, &[], &guide, options, effort, &mut 0)
                };
                let found = order(3_000_000).expect("enough effort");
                check_order(&region, &found).expect("a legal order");
                assert_eq!(Some(&found), order(3_000_000).as_ref());
                assert_eq!(order(10), None);
                better += usize::from(peaks(&region, &found)[0] < peaks(&region, &guide)[0]);
                let mut unbounded = Effort::UNBOUNDED;
                let borders = divide(&region, &closure, CLASS, &mut unbounded).expect("no limit");
                assert!(borders.is_sorted_by_key(BitSet::count) && borders[0].is_empty());
                divided += usize::from(borders.len() > 2);
            }
        }
        println!("{better} better than a random order, {divided} divided");
        assert!(better > 20 && divided > 20, "{better} {divided}");
    }
}
