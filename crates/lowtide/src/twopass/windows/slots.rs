//! Issue slots: an interval of cycles takes no more instructions than it has slots.
//!
//! If the windows of some instructions lie in an interval and need all of its slots, every other instruction
//! issues before or after it. If they need more, there is no schedule. (These are the bounds of an
//! *all-different* constraint, after Hall's theorem.)

use crate::budget::Effort;

/// Pairs of cycles that count as one step.
const PAIRS_PER_STEP: u64 = 64;

/// Buffers for the comparison of windows.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// The windows, those that open last first.
    windows: Vec<(u32, u32)>,
    /// The last cycles, without repetition.
    ends: Vec<u32>,
    /// The windows as seen from the end of the schedule.
    mirrored: [Vec<u32>; 2],
}

impl Slots {
    /// Raise first cycles that lie in a full interval, if the window ends after it. Return whether any was
    /// raised, or `None` if an interval has too few slots.
    pub(super) fn raise_first(
        &mut self,
        first: &mut [u32],
        last: &[u32],
        width: u32,
        effort: &mut Effort,
    ) -> Option<bool> {
        self.windows.clear();
        self.windows.extend(first.iter().copied().zip(last.iter().copied()));
        self.windows.sort_unstable_by(|one, other| other.cmp(one));
        self.ends.clear();
        self.ends.extend_from_slice(last);
        self.ends.sort_unstable();
        self.ends.dedup();
        let mut has_changed = false;
        for &end in &self.ends {
            if effort.is_spent() {
                break;
            }
            effort.spend(first.len() as u64 / PAIRS_PER_STEP + 1);
            // The start of the longest interval up to here that is full.
            let mut full = None;
            let mut inside = 0;
            for &(from, _) in self.windows.iter().filter(|(_, to)| *to <= end) {
                inside += 1;
                let slots = (end - from + 1).saturating_mul(width);
                if inside > slots {
                    return None;
                }
                if inside == slots {
                    full = Some(from);
                }
            }
            let Some(from) = full else { continue };
            for (first, &last) in first.iter_mut().zip(last) {
                if last > end && (from..=end).contains(first) {
                    *first = end + 1;
                    has_changed = true;
                }
            }
        }
        Some(has_changed)
    }

    /// As [`Slots::raise_first`], for the last cycles of schedules of `target` cycles.
    pub(super) fn lower_last(
        &mut self,
        first: &[u32],
        last: &mut [u32],
        (width, target): (u32, u32),
        effort: &mut Effort,
    ) -> Option<bool> {
        let [mut opens, mut closes] = std::mem::take(&mut self.mirrored);
        opens.clear();
        opens.extend(last.iter().map(|last| target - 1 - last));
        closes.clear();
        closes.extend(first.iter().map(|first| target - 1 - first));
        let has_changed = self.raise_first(&mut opens, &closes, width, effort);
        for (last, opens) in last.iter_mut().zip(&opens) {
            *last = target - 1 - opens;
        }
        self.mirrored = [opens, closes];
        has_changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Return the first and last cycles over all ways to give every window a slot in it. `None` if there are
    /// none.
    fn by_trying_all(windows: &[(u32, u32)], width: u32) -> Option<Vec<(u32, u32)>> {
        let mut bounds: Vec<(u32, u32)> = vec![(u32::MAX, 0); windows.len()];
        let mut chosen = Vec::new();
        fn go_on(windows: &[(u32, u32)], width: u32, chosen: &mut Vec<u32>, bounds: &mut [(u32, u32)]) {
            let Some(&(first, last)) = windows.get(chosen.len()) else {
                for (bound, &cycle) in bounds.iter_mut().zip(chosen.iter()) {
                    *bound = (bound.0.min(cycle), bound.1.max(cycle));
                }
                return;
            };
            for cycle in first..=last {
                if chosen.iter().filter(|&&other| other == cycle).count() < width as usize {
                    chosen.push(cycle);
                    go_on(windows, width, chosen, bounds);
                    chosen.pop();
                }
            }
        }
        go_on(windows, width, &mut chosen, &mut bounds);
        (bounds[0].0 != u32::MAX).then_some(bounds)
    }

    /// Repeated until nothing changes, the bounds are those of all assignments.
    #[test]
    fn bounds_are_those_of_all_assignments() {
        let mut random = Random::new(1);
        let (mut refuted, mut narrowed) = (0, 0);
        for _ in 0..5_000 {
            let width = random.pick(&[1, 1, 2]);
            let target = 2 + random.below(6) as u32;
            let windows: Vec<(u32, u32)> = (0..1 + random.below(6))
                .map(|_| {
                    let first = random.below(target as usize) as u32;
                    (first, first + random.below((target - first) as usize) as u32)
                })
                .collect();
            let (mut first, mut last): (Vec<u32>, Vec<u32>) = windows.iter().copied().unzip();
            let mut slots = Slots::default();
            let effort = &mut Effort::UNBOUNDED.clone();
            let found = loop {
                let raised = slots.raise_first(&mut first, &last, width, effort);
                let lowered = slots.lower_last(&first, &mut last, (width, target), effort);
                match raised.zip(lowered) {
                    None => break None,
                    Some((false, false)) => break Some(first.into_iter().zip(last).collect::<Vec<_>>()),
                    Some(_) => {}
                }
            };
            assert_eq!(found, by_trying_all(&windows, width), "{windows:?}, {width} in a cycle");
            refuted += u32::from(found.is_none());
            narrowed += u32::from(found.is_some_and(|found| found != windows));
        }
        println!("{refuted} refuted, {narrowed} narrowed");
        assert!(refuted > 500 && narrowed > 500, "{refuted} {narrowed}");
    }
}
