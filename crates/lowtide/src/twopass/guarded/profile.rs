//! The live weight along the rest of a guard, so that one move is checked in logarithmic time.
//!
//! Let `L(q)` be the live weight after the issued instructions and the guard up to position `q`. If the
//! instruction `x` issues now, it moves from its position to the front, and `L` changes only before that
//! position:
//! - A value that `x` opens is live earlier: from now to the position of its first opener in the guard.
//! - A value whose last closer in the guard is `x` ends earlier: from the position of its last closer but
//!   one.
//!
//! So a move adds to some ranges of `L`, at most one for each operand. The move is safe if the maximum of the
//! sum stays within the limit. A tree of maxima over the positions answers that. Each class has its own tree.
//!
//! # Failures last
//! Suppose that `x` is not safe, since the limit is exceeded at position `p`. That is a statement about one
//! set: the issued instructions, `x`, and the guard up to `p`. If an instruction at `p` or before issues, the
//! set stays the same. So `x` stays unsafe until an instruction beyond `p` issues.

use crate::analysis::walk::{LiveGraph, LiveValue, NEVER, PressureFields};

/// No closer.
const NONE: u32 = u32::MAX;

/// The live weight along a guard.
pub(super) struct Profile {
    /// For each class that counts: its limit, and the live weight at each position.
    classes: Vec<(u32, Skyline)>,
    values: Vec<Value>,
    /// The closers of all values that are not issued, each value with a list in the order of the guard. A
    /// closer has the number of its entry in the rows of the graph.
    closers: Vec<Closer>,
    /// The ranges of a move: class, start, end, change.
    ranges: Vec<(u32, u32, u32, i32)>,
    /// The ends of the ranges of one class: position, and the change to the left of it.
    ends: Vec<(u32, i32)>,
}

#[derive(Clone, Copy)]
struct Value {
    class: u32,
    weight: i32,
    is_open: bool,
    closes: bool,
    /// The position of the first opener in the guard.
    first_opener: u32,
    /// The last closer in the guard.
    last: u32,
}

#[derive(Clone, Copy)]
struct Closer {
    position: u32,
    before: u32,
    after: u32,
}

impl Profile {
    pub(super) fn new(graph: &LiveGraph, limit: i64) -> Self {
        let packing = graph.packing();
        let class = |class| (packing.unpack(limit, class), Skyline::new(graph.len()));
        let value = |value: &LiveValue| {
            let own = packing.classes().map(|class| packing.unpack(value.weight, class)).enumerate();
            let (class, weight) = own.max_by_key(|(_, weight)| *weight).unwrap_or((0, 0));
            Value {
                class: class as u32,
                weight: weight as i32,
                is_open: false,
                closes: false,
                first_opener: NONE,
                last: NONE,
            }
        };
        let closer = Closer { position: 0, before: NONE, after: NONE };
        Profile {
            classes: packing.classes().map(class).collect(),
            values: graph.values.iter().map(value).collect(),
            closers: vec![closer; graph.closes.items().len()],
            ranges: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Start with a guard of which nothing is issued.
    pub(super) fn restart(&mut self, graph: &LiveGraph, guard: &[u32]) {
        for (number, value) in self.values.iter_mut().enumerate() {
            value.is_open = graph.values[number].opened > 0;
            value.closes = graph.values[number].left < NEVER;
            (value.first_opener, value.last) = (NONE, NONE);
        }
        let packing: &PressureFields = graph.packing();
        let mut left: Vec<u32> = graph.values.iter().map(|value| value.left).collect();
        let mut live = graph.live;
        for (position, &instr) in guard.iter().enumerate() {
            for &number in graph.opens.row(instr as usize) {
                let value = &mut self.values[number as usize];
                if value.first_opener == NONE {
                    value.first_opener = position as u32;
                    live += if value.is_open { 0 } else { graph.values[number as usize].weight };
                }
            }
            for (closer, number) in closers(graph, instr) {
                let value = &mut self.values[number as usize];
                self.closers[closer as usize] =
                    Closer { position: position as u32, before: value.last, after: NONE };
                if value.last != NONE {
                    self.closers[value.last as usize].after = closer;
                }
                value.last = closer;
                left[number as usize] -= 1;
                live -= if left[number as usize] == 0 { graph.values[number as usize].weight } else { 0 };
            }
            for (class, (_, skyline)) in packing.classes().zip(&mut self.classes) {
                skyline.set(position, packing.unpack(live, class) as i32);
            }
        }
        self.classes.iter_mut().for_each(|(_, skyline)| skyline.build());
    }

    /// Find the ranges of the move of an instruction from `position` to `first`.
    fn find_ranges(&mut self, graph: &LiveGraph, instr: u32, first: u32, position: u32) {
        self.ranges.clear();
        if position == first {
            return;
        }
        for &number in graph.opens.row(instr as usize) {
            let value = &self.values[number as usize];
            if !value.is_open && value.first_opener > first {
                self.ranges.push((value.class, first, value.first_opener, value.weight));
            }
        }
        for (closer, number) in closers(graph, instr) {
            let value = &self.values[number as usize];
            if value.closes && value.last == closer {
                let before = self.closers[closer as usize].before;
                let start = if before == NONE { first } else { self.closers[before as usize].position };
                self.ranges.push((value.class, start.max(first), position, -value.weight));
            }
        }
    }

    /// Return the last position at which the limit is exceeded if an instruction moves from `position` to
    /// `first`. `None` if the move is safe.
    pub(super) fn failure(
        &mut self,
        graph: &LiveGraph,
        instr: u32,
        first: u32,
        position: u32,
    ) -> Option<u32> {
        self.find_ranges(graph, instr, first, position);
        let Profile { classes, ranges, ends, .. } = self;
        let mut last = None;
        for (class, (limit, skyline)) in classes.iter().enumerate() {
            let own = || ranges.iter().filter(|range| range.0 as usize == class);
            if !own().any(|range| range.3 > 0) {
                continue;
            }
            ends.clear();
            for &(_, start, end, change) in own() {
                ends.push((end, change));
                ends.push((start, -change));
            }
            ends.sort_unstable_by_key(|end| std::cmp::Reverse(end.0));
            // From right to left: between two ends, all positions change by the same weight.
            let mut change = 0;
            for (number, &(end, own)) in ends.iter().enumerate() {
                change += own;
                let start = ends.get(number + 1).map_or(end, |next| next.0);
                if change > 0 && start < end {
                    let most = *limit as i32 - change;
                    let found = skyline.last_above(start as usize, end as usize, most);
                    if let Some(found) = found {
                        last = last.max(Some(found as u32));
                        break;
                    }
                }
            }
        }
        last
    }

    /// Move an instruction from `position` to `first`, and take it out of the guard.
    pub(super) fn issue(&mut self, graph: &LiveGraph, instr: u32, first: u32, position: u32) {
        self.find_ranges(graph, instr, first, position);
        for &(class, start, end, change) in &self.ranges {
            self.classes[class as usize].1.add(start as usize, end as usize, change);
        }
        for &number in graph.opens.row(instr as usize) {
            self.values[number as usize].is_open = true;
        }
        for (closer, number) in closers(graph, instr) {
            let Closer { before, after, .. } = self.closers[closer as usize];
            if before != NONE {
                self.closers[before as usize].after = after;
            }
            match after {
                NONE => self.values[number as usize].last = before,
                after => self.closers[after as usize].before = before,
            }
        }
    }
}

/// Return the entries of an instruction in the rows of closers: the number of the entry, and the value.
fn closers(graph: &LiveGraph, instr: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let start = graph.closes.starts()[instr as usize];
    (start..).zip(graph.closes.row(instr as usize).iter().copied())
}

/// Numbers at positions: a range grows by the same number, and a range is asked for its last number above
/// another one. Both take logarithmic time.
///
/// A node of the tree has the maximum of its positions, with its own addition but without those of the nodes
/// above it.
struct Skyline {
    /// The number of leaves, a power of two.
    leaves: usize,
    most: Vec<i32>,
    add: Vec<i32>,
}

impl Skyline {
    fn new(positions: usize) -> Self {
        let leaves = positions.next_power_of_two();
        Skyline { leaves, most: vec![i32::MIN / 2; 2 * leaves], add: vec![0; leaves] }
    }

    /// Set the number at a position, before [`Skyline::build`].
    fn set(&mut self, position: usize, number: i32) {
        self.most[self.leaves + position] = number;
    }

    fn build(&mut self) {
        self.add.fill(0);
        for node in (1..self.leaves).rev() {
            self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]);
        }
    }

    /// Add a number to the positions `start..end`.
    fn add(&mut self, start: usize, end: usize, number: i32) {
        if start >= end {
            return;
        }
        let (mut left, mut right) = (self.leaves + start, self.leaves + end);
        let rims = [left, right - 1];
        while left < right {
            if left % 2 == 1 {
                self.add_at(left, number);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.add_at(right, number);
            }
            (left, right) = (left / 2, right / 2);
        }
        for mut node in rims {
            while node > 1 {
                node /= 2;
                self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]) + self.add[node];
            }
        }
    }

    fn add_at(&mut self, node: usize, number: i32) {
        self.most[node] += number;
        if node < self.leaves {
            self.add[node] += number;
        }
    }

    /// Return the last position of `start..end` with a number above `limit`.
    fn last_above(&self, start: usize, end: usize, limit: i32) -> Option<usize> {
        self.last_above_in(1, 0, self.leaves, start, end, limit)
    }

    /// As [`Skyline::last_above`], in the positions `low..low + size` of a node.
    fn last_above_in(
        &self,
        node: usize,
        low: usize,
        size: usize,
        start: usize,
        end: usize,
        limit: i32,
    ) -> Option<usize> {
        if end <= low || low + size <= start || self.most[node] <= limit {
            return None;
        }
        if size == 1 {
            return Some(low);
        }
        let (half, limit) = (size / 2, limit - self.add[node]);
        self.last_above_in(2 * node + 1, low + half, half, start, end, limit)
            .or_else(|| self.last_above_in(2 * node, low, half, start, end, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_skyline_is_a_row_of_numbers() {
        let mut random = Random::new(1);
        let (mut asked, mut found) = (0, 0);
        for count in [1, 2, 7, 64, 100] {
            let mut row: Vec<i32> = (0..count).map(|_| random.below(50) as i32).collect();
            let mut skyline = Skyline::new(count);
            row.iter().enumerate().for_each(|(position, number)| skyline.set(position, *number));
            skyline.build();
            for _ in 0..500 {
                let (one, other) = (random.below(count + 1), random.below(count + 1));
                let (start, end) = (one.min(other), one.max(other));
                let number = random.below(21) as i32 - 10;
                skyline.add(start, end, number);
                row[start..end].iter_mut().for_each(|own| *own += number);
                let (one, other) = (random.below(count + 1), random.below(count + 1));
                let (start, end) = (one.min(other), one.max(other));
                let limit = row.iter().max().copied().unwrap_or(0) - random.below(30) as i32;
                let expected = (start..end).rev().find(|&position| row[position] > limit);
                assert_eq!(skyline.last_above(start, end, limit), expected, "{row:?}");
                asked += 1;
                found += u32::from(expected.is_some());
            }
        }
        assert!(asked == 2500 && found > 800, "{found} of {asked}");
    }
}
