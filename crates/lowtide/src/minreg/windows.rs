//! Windows: the best order around a peak is freed and searched again, while the rest of the order stays.
//!
//! A search of a whole region decides first about instructions far from the peak, and revises these decisions
//! last. In a window, nearly all decisions matter. Let T and U be two downsets of the best order, one before
//! the peak and one after it. The instructions between T and U are a [`Part`], with the pressures of the
//! whole. So an order of the part within the limits can replace the old one: the pressures outside the window
//! stay.
//!
//! Each question to a window is the one to the region: is there an order with a peak below the best? A window
//! lies at random around one of the places with the highest pressure. Its ends are boundaries of low
//! pressure, since many good orders pass through such downsets. Windows are small at first, and grow while
//! they bring nothing. They end when they have brought nothing for some time.
//!
//! Windows are chosen in batches, and each thread searches another one. Successes count in the order of the
//! batch. A window that overlaps one with a success is left out, since it was chosen for another order; the
//! others stay right. So the result does not depend on the number of threads.
//!
//! Windows find orders and prove nothing: a window without a better order says nothing about the region. The
//! random numbers depend on the region's size only, so the result is the same on every machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::decide::decide_within;
use super::options::Options;
use super::part::Part;
use crate::analysis::closure::Closure;
use crate::analysis::pressure::Tracker;
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::random::Random;
use crate::region::Region;
use crate::threads;
use crate::verdict::Verdict;

/// The smallest region for which windows are sought. The search of a smaller one needs no help.
const FEWEST_INSTRS: usize = 300;

/// The smallest reach of a window, in instructions on each side of the peak.
const LEAST_REACH: usize = 16;

/// The number of doublings of the reach, at first and at most.
const FIRST_SIZES: usize = 4;
const MOST_SIZES: usize = 7;

/// Windows in a row without success after which the reach can double once more.
const TRIALS_PER_SIZE: usize = 20;

/// Windows that are chosen at the same time, and searched on all threads.
const BATCH: usize = 64;

/// The steps without success after which windows end, as a multiple of the steps for a window: before the
/// first success, and after it. In many regions no window helps.
const FIRST_PATIENCE: u64 = 16;
const PATIENCE: u64 = 64;

/// A search for orders with a lower peak in windows of the best order.
pub(super) struct Windows<'a> {
    region: &'a Region,
    class: ClassId,
    options: Options<'a>,
    random: Random,
}

impl<'a> Windows<'a> {
    pub(super) fn new(region: &'a Region, class: ClassId, options: Options<'a>) -> Self {
        Windows { region, class, options, random: Random::new(region.len() as u64) }
    }

    /// Return whether the region is large enough.
    pub(super) fn are_possible(&self) -> bool {
        self.region.len() >= FEWEST_INSTRS
    }

    /// Lower the peak of an order, at most to `bound`. `order` is within `limits`, and so is the result.
    /// Return the new order and its peak, or `None` if no window lowers the peak. A window takes at most
    /// `turn` steps. `states` is raised by the number of expanded states.
    pub(super) fn lower_peak(
        &mut self,
        order: &[InstrId],
        limits: &[Option<u32>],
        bound: u32,
        turn: u64,
        effort: &mut Effort,
        states: &mut u64,
    ) -> Option<(Vec<InstrId>, u32)> {
        let mut limits = limits.to_vec();
        let mut order = order.to_vec();
        let mut pressure = pressure_along(self.region, self.class, &order);
        let mut peak = highest(&pressure);
        let mut best = None;
        let (mut failures, mut last_success, mut patience) = (0, effort.steps, FIRST_PATIENCE);
        let is_over = |effort: &Effort, last_success: u64, patience: u64| {
            effort.is_spent() || last_success - effort.steps >= patience * turn
        };
        while peak > bound && !is_over(effort, last_success, patience) {
            let batch: Vec<_> =
                (1..=BATCH).map(|next| choose(&mut self.random, &pressure, peak, failures + next)).collect();
            limits[self.class.index()] = Some(peak - 1);
            let share = effort.up_to(turn);
            let left = (patience * turn).saturating_sub(last_success - effort.steps);
            let mut searched = self.search_ahead(&batch, &order, &limits, share, left);
            let mut better: Vec<(Window, Vec<InstrId>)> = Vec::new();
            for (window, searched) in batch.into_iter().zip(&mut searched) {
                if is_over(effort, last_success, patience) {
                    break;
                }
                if window.is_some_and(|window| better.iter().any(|(other, _)| window.overlaps(*other))) {
                    continue;
                }
                failures += 1;
                // To make the part, all instructions are visited.
                effort.spend(self.region.len() as u64);
                let Some(window) = window else { continue };
                let searched = searched.take().unwrap_or_else(|| self.search(&order, window, &limits, share));
                effort.spend(searched.steps);
                *states += searched.expanded;
                if let Some(found) = searched.better {
                    better.push((window, found));
                    (failures, last_success, patience) = (0, effort.steps, PATIENCE);
                }
            }
            if better.is_empty() {
                continue;
            }
            for (window, found) in better {
                order.splice(window.from..window.to, found);
            }
            pressure = pressure_along(self.region, self.class, &order);
            if highest(&pressure) < peak {
                peak = highest(&pressure);
                best = Some((order.clone(), peak));
            }
        }
        best
    }

    /// Search windows of a batch ahead of time if there are several threads. Those that are probably not
    /// needed are left out: after `left` steps without success, and around an order that has been found.
    fn search_ahead(
        &self,
        batch: &[Option<Window>],
        order: &[InstrId],
        limits: &[Option<u32>],
        share: Effort,
        left: u64,
    ) -> Vec<Option<Searched>> {
        let threads = self.options.budget.threads;
        if threads < 2 {
            return batch.iter().map(|_| None).collect();
        }
        let steps = AtomicU64::new(0);
        let better: Mutex<Vec<Window>> = Mutex::default();
        let found = || better.lock().unwrap_or_else(PoisonError::into_inner);
        threads::map(threads, batch.len(), |number| {
            let window = batch[number]?;
            let is_needless = match found() {
                found if found.is_empty() => steps.load(Ordering::Relaxed) >= left,
                found => found.iter().any(|other| window.overlaps(*other)),
            };
            if is_needless || share.is_spent() {
                return None;
            }
            let searched = self.search(order, window, limits, share);
            steps.fetch_add(searched.steps + self.region.len() as u64, Ordering::Relaxed);
            if searched.better.is_some() {
                found().push(window);
            }
            Some(searched)
        })
    }

    /// Look for an order of a window within the limits.
    fn search(&self, order: &[InstrId], window: Window, limits: &[Option<u32>], share: Effort) -> Searched {
        let [lower, upper] =
            [window.from, window.to].map(|end| BitSet::of(self.region.len(), order[..end].iter().copied()));
        let mut left = share;
        let mut searched = Searched { better: None, steps: 0, expanded: 0 };
        let Some(part) = Part::between(self.region, &lower, &upper, order) else { return searched };
        let region = &part.region;
        let source: Vec<InstrId> = region.instrs().collect();
        let closure = Closure::new(region);
        // The threads are for several windows.
        let mut options = self.options;
        options.budget.threads = 1;
        let decision;
        (decision, searched.expanded) =
            decide_within(region, || &closure, limits, &source, options, &mut left);
        searched.steps = share.steps - left.steps;
        if let Verdict::Yes(order) = decision {
            searched.better = Some(part.in_whole(&order));
        }
        searched
    }
}

/// The result of a window: an order within the limits if there is one, and the steps and expanded states.
struct Searched {
    better: Option<Vec<InstrId>>,
    steps: u64,
    expanded: u64,
}

/// The places of an order between two boundaries.
#[derive(Clone, Copy)]
struct Window {
    from: usize,
    to: usize,
}

impl Window {
    fn overlaps(self, other: Window) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// Choose a window: two boundaries with less than the peak, one before a place with the peak, one after it.
/// After more `failures`, windows are larger.
fn choose(random: &mut Random, pressure: &[u32], peak: u32, failures: usize) -> Option<Window> {
    let places: Vec<usize> = (0..pressure.len()).filter(|&place| pressure[place] == peak).collect();
    let place = random.pick(&places);
    let sizes = (FIRST_SIZES + failures / TRIALS_PER_SIZE).min(MOST_SIZES);
    let reach = LEAST_REACH << random.below(sizes);
    let [before, after] = [(); 2].map(|()| reach / 4 + random.below(reach));
    let last = pressure.len() - 1;
    let least = |from: usize, to: usize| (from..=to).min_by_key(|&place| pressure[place]);
    let from = least(place.saturating_sub(2 * before), place.saturating_sub(before))?;
    let to = least((place + after).min(last), (place + 2 * after).min(last))?;
    (pressure[from] < peak && pressure[to] < peak).then_some(Window { from, to })
}

fn highest(pressure: &[u32]) -> u32 {
    pressure.iter().copied().max().unwrap_or(0)
}

/// Return the pressure at every boundary of an order.
fn pressure_along(region: &Region, class: ClassId, order: &[InstrId]) -> Vec<u32> {
    let mut tracker = Tracker::new(region);
    let start = tracker.now(class);
    let after = order.iter().map(|&instr| {
        tracker.schedule(instr);
        tracker.now(class)
    });
    std::iter::once(start).chain(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::{is_within, peaks};
    use crate::budget::Budget;
    use crate::check::check_order;
    use crate::generate::{self, Shape, random_order};
    use crate::minreg::made::{Small, regions};

    const CLASS: ClassId = ClassId(0);

    /// Run windows on a random order, with limits on other classes that the order keeps.
    fn lowered(region: &Region, random: &mut Random) -> (u32, Option<u32>, Vec<Option<u32>>) {
        let start = random_order(region, random);
        let start_peaks = peaks(region, &start);
        let mut limits: Vec<Option<u32>> =
            start_peaks.iter().map(|&peak| random.chance(30).then_some(peak)).collect();
        limits[0] = None;
        let run = |threads: usize| {
            let options = Options::new(Budget { threads, ..Budget::default() });
            let effort = &mut Effort { steps: 500 * region.len() as u64, deadline: None };
            Windows::new(region, CLASS, options).lower_peak(&start, &limits, 0, 5_000, effort, &mut 0)
        };
        let found = run(1);
        assert_eq!(found, run(1 + random.below(4)), "{}", region.name());
        if let Some((order, peak)) = &found {
            check_order(region, order).expect("a legal order");
            assert!(is_within(region, order, &limits), "{}", region.name());
            assert_eq!(peaks(region, order)[0], *peak, "{}", region.name());
            assert!(*peak < start_peaks[0], "{}", region.name());
        }
        (start_peaks[0], found.map(|(_, peak)| peak), limits)
    }

    #[test]
    fn no_peak_is_below_the_optimum() {
        let mut random = Random::new(1);
        let (mut optimal, mut improved) = (0, 0);
        for region in regions(0..30, 12) {
            let (start, found, limits) = lowered(&region, &mut random);
            let optimum =
                Small::new(&region, &[]).lowest(0, &limits).expect("the start is within the limits");
            let peak = found.unwrap_or(start);
            assert!(peak >= optimum, "{}", region.name());
            optimal += usize::from(found.is_some() && peak == optimum);
            improved += usize::from(found.is_some());
        }
        println!("{improved} improved, {optimal} of them to the optimum");
        assert!(improved > 100 && optimal * 10 > improved * 9, "{improved} {optimal}");
    }

    #[test]
    fn windows_within_large_regions_give_legal_orders() {
        let mut random = Random::new(2);
        let mut gain = 0;
        for seed in 0..8 {
            for shape in [Shape::UnrolledLoop, Shape::SharedChains] {
                let region = generate::region(shape, 200, seed);
                let (start, found, _) = lowered(&region, &mut random);
                gain += found.map_or(0, |peak| start - peak);
            }
        }
        assert!(gain > 16, "{gain}");
    }
}
