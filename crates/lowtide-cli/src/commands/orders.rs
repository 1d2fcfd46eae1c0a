//! Two orders of a region: the pressure along each, and the instructions that moved.

use lowtide::analysis::pressure::Tracker;
use lowtide::region::{Lanes, Region, Value};
use lowtide::{ClassId, InstrId};

/// Return the pressure of a class before the first instruction of an order and after each.
pub(super) fn pressures(region: &Region, class: ClassId, order: &[InstrId]) -> Vec<u32> {
    let mut tracker = Tracker::new(region);
    let mut pressures = vec![tracker.now(class)];
    for &instr in order {
        tracker.schedule(instr);
        pressures.push(tracker.now(class));
    }
    pressures
}

/// By instruction, the positions by which it comes earlier in `after` than in `before`; none if it did not
/// move. As many instructions as possible count as unmoved: a longest common subsequence of both orders.
pub(super) fn moves(before: &[InstrId], after: &[InstrId]) -> Vec<Option<i64>> {
    let mut place = vec![0; before.len()];
    for (position, instr) in before.iter().enumerate() {
        place[instr.index()] = position;
    }
    // `ends[k]` is the position in `after` of the last element of the best chain of k + 1 elements.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![None; after.len()];
    for (position, instr) in after.iter().enumerate() {
        let longer = ends.partition_point(|&end| place[after[end].index()] < place[instr.index()]);
        previous[position] = longer.checked_sub(1).map(|chain| ends[chain]);
        ends.truncate(ends.len().max(longer));
        match ends.get_mut(longer) {
            Some(end) => *end = position,
            None => ends.push(position),
        }
    }
    let mut moves: Vec<Option<i64>> = vec![None; after.len()];
    for (position, instr) in after.iter().enumerate() {
        moves[instr.index()] = Some(place[instr.index()] as i64 - position as i64);
    }
    let mut next = ends.last().copied();
    while let Some(position) = next {
        moves[after[position].index()] = None;
        next = previous[position];
    }
    moves
}

/// Return `%7`, or `%7[0-1]` for some lanes of a register.
pub(super) fn value_name(region: &Region, value: &Value) -> String {
    let register = region.register_name(value.register);
    match value.lanes == region.registers()[value.register.index()].all_lanes() {
        true => format!("%{register}"),
        false => format!("%{register}[{}]", ranges(value.lanes)),
    }
}

/// Return a set of lanes as `0-1,4`.
fn ranges(lanes: Lanes) -> String {
    let mut texts = Vec::new();
    let mut lane = 0;
    while lane < Lanes::BITS {
        let run = (lanes >> lane).trailing_ones();
        match run {
            0 => {}
            1 => texts.push(lane.to_string()),
            _ => texts.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run + 1;
    }
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_read_as_ranges() {
        let texts = [0b1, 0b11, 0b1_0011, Lanes::MAX, 1 << 63, 0].map(ranges);
        assert_eq!(texts, ["0", "0-1", "0-1,4", "0-63", "63", ""]);
    }

    #[test]
    fn as_few_instructions_as_possible_have_moved() {
        let order = |ids: &[u32]| ids.iter().copied().map(InstrId).collect::<Vec<_>>();
        let before = order(&[0, 1, 2, 3, 4]);
        assert_eq!(moves(&before, &before), [None; 5]);
        assert_eq!(moves(&before, &order(&[4, 0, 1, 2, 3])), [None, None, None, None, Some(4)]);
        assert_eq!(moves(&before, &order(&[1, 2, 3, 4, 0])), [Some(-4), None, None, None, None]);
        assert_eq!(moves(&order(&[]), &order(&[])), []);
        // All orders of six: no fewer instructions can stay, by brute force over subsets.
        let before = order(&[0, 1, 2, 3, 4, 5]);
        let mut count = 0;
        permute(&mut vec![0, 1, 2, 3, 4, 5], 0, &mut |after| {
            let longest = (0u32..64)
                .filter(|set| {
                    let kept: Vec<u32> = after.iter().copied().filter(|id| set >> id & 1 == 1).collect();
                    kept.is_sorted()
                })
                .map(u32::count_ones)
                .max();
            let stayed = moves(&before, &order(after)).iter().filter(|moved| moved.is_none()).count();
            assert_eq!(Some(stayed as u32), longest, "{after:?}");
            count += 1;
        });
        assert_eq!(count, 720);
    }

    fn permute(ids: &mut Vec<u32>, start: usize, see: &mut impl FnMut(&[u32])) {
        if start == ids.len() {
            return see(ids);
        }
        for other in start..ids.len() {
            ids.swap(start, other);
            permute(ids, start + 1, see);
            ids.swap(start, other);
        }
    }
}
