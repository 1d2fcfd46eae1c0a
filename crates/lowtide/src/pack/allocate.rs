//! Registers that a packed block takes: linear scan (the registers of the paper's Tables 6 and 7).
//!
//! Values are allocated in the order in which they are made. A register has some lanes
//! ([`PackModel::lanes`](super::PackModel)). A value of at most that many lanes takes free lanes of one
//! register, in any positions: operands can be swizzled. It takes the register with the fewest free lanes
//! that suffice. A value of more lanes takes whole registers with consecutive numbers, the first that are
//! free. A value keeps its place for all of its life.

use super::Packing;
use super::measure::{Interval, intervals};
use super::problem::PackProblem;

/// Return, for each class, the registers that the values of a legal packing take.
pub fn allocated(problem: &PackProblem, packing: &Packing) -> Vec<u32> {
    let region = problem.region();
    let lanes = problem.model().lanes;
    let mut intervals = intervals(problem, packing);
    intervals.sort_unstable();
    let of_class = |class: usize| {
        let through = region.through(crate::ClassId::at(class)).div_ceil(lanes);
        let own =
            intervals.iter().filter(|interval| interval.class == class && interval.born < interval.gone);
        through + linear_scan(own.copied(), lanes)
    };
    (0..region.classes().len()).map(of_class).collect()
}

/// Return the number of registers for intervals in ascending order.
fn linear_scan(intervals: impl Iterator<Item = Interval>, lanes: u32) -> u32 {
    // The free lanes of each register, and the live values: when they end, their first register and their
    // size.
    let mut free: Vec<u32> = Vec::new();
    let mut live: Vec<(u32, usize, u32)> = Vec::new();
    for Interval { born, gone, weight, .. } in intervals {
        live.retain(|&(end, first, weight)| {
            if end <= born {
                give_back(&mut free[first..], weight, lanes);
            }
            end > born
        });
        let first = match weight <= lanes {
            true => {
                let fits = (0..free.len()).filter(|&at| free[at] >= weight);
                fits.min_by_key(|&at| free[at]).unwrap_or(free.len())
            }
            false => {
                let count = weight.div_ceil(lanes) as usize;
                let is_free = |first: &usize| free[*first..].iter().take(count).all(|own| *own == lanes);
                (0..free.len()).find(is_free).unwrap_or(free.len())
            }
        };
        let last = first + (weight.div_ceil(lanes) as usize).max(1);
        if free.len() < last {
            free.resize(last, lanes);
        }
        take(&mut free[first..], weight, lanes);
        live.push((gone, first, weight));
    }
    free.len() as u32
}

fn take(free: &mut [u32], weight: u32, lanes: u32) {
    let mut rest = weight;
    for own in free {
        let taken = rest.min(lanes);
        *own -= taken;
        rest -= taken;
    }
}

fn give_back(free: &mut [u32], weight: u32, lanes: u32) {
    let mut rest = weight;
    for own in free {
        let taken = rest.min(lanes);
        *own += taken;
        rest -= taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn interval(born: u32, gone: u32, weight: u32) -> Interval {
        Interval { born, gone, class: 0, weight }
    }

    fn registers(mut intervals: Vec<Interval>, lanes: u32) -> u32 {
        intervals.sort_unstable();
        linear_scan(intervals.into_iter(), lanes)
    }

    #[test]
    fn small_values_share_registers() {
        assert_eq!(registers(vec![interval(0, 2, 3), interval(0, 2, 1), interval(0, 2, 2)], 4), 2);
        // The second value ends where the third begins.
        assert_eq!(registers(vec![interval(0, 4, 2), interval(0, 2, 2), interval(2, 4, 2)], 4), 1);
        // Two lanes are free in each of two registers: a value of three lanes takes another one.
        let spread = vec![interval(0, 9, 2), interval(0, 9, 4), interval(0, 2, 4), interval(1, 9, 3)];
        assert_eq!(registers(spread, 4), 4);
    }

    #[test]
    fn large_values_take_consecutive_registers() {
        // The first value leaves registers 0 and 1. The third one takes register 0, and register 2 is taken:
        // the last value needs two new ones.
        let spread = vec![interval(0, 2, 2), interval(0, 9, 1), interval(2, 9, 1), interval(3, 9, 2)];
        assert_eq!(registers(spread, 1), 5);
        assert_eq!(registers(vec![interval(0, 2, 2), interval(2, 9, 2)], 1), 2);
    }

    /// Registers of one lane and values of one lane: linear scan takes as many as are live at the same time.
    #[test]
    fn single_lanes_take_the_peak() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let intervals: Vec<Interval> = (0..random.below(30))
                .map(|_| {
                    let born = random.below(20) as u32;
                    interval(born, born + 1 + random.below(8) as u32, 1)
                })
                .collect();
            let live =
                |at: u32| intervals.iter().filter(|own| own.born <= at && at < own.gone).count() as u32;
            let peak = (0..30).map(live).max().unwrap_or(0);
            assert_eq!(registers(intervals, 1), peak);
        }
    }
}
