//! An order that is known to fit, which keeps ants from dead ends.
//!
//! An ant within a limit on registers can get to a point where nothing fits any more. One with a guard always has a way on: to go on along the guard, leaving out what has been issued already. Some instructions were issued
//! *early*, before others that come first in the guard. Each of these makes the rest of the guard need more, by what it opens at most, up to its own place there. If it closes as much as it
//! opens, it takes nothing. So an instruction may be issued early if all that is early then, together, fits into what the guard leaves free up to the last place of these. (Paper 4 lets such ants die.)

use super::terrain::Terrain;

#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) order: Vec<u32>,
    /// Position in the order.
    pub(super) rank: Vec<u32>,
    /// What the guard leaves free after each position; then the least of any two neighbours, of any four, and so on, a row for each.
    pub(super) room: Vec<i64>,
}

impl Guard {
    /// The order must stay within the limit.
    pub(super) fn new(terrain: &Terrain, order: &[u32], limit: i64) -> Self {
        let count = order.len();
        let mut rank = vec![0; count];
        let mut left = terrain.left.clone();
        let mut live = terrain.live;
        let mut room = Vec::with_capacity(count * (1 + count.ilog2() as usize));
        for (position, &instr) in order.iter().enumerate() {
            rank[instr as usize] = position as u32;
            live += terrain.opened[instr as usize];
            for &value in terrain.closes.row(instr as usize) {
                left[value as usize] -= 1;
                live -= if left[value as usize] == 0 { terrain.weights[value as usize] } else { 0 };
            }
            room.push(limit - live);
        }
        let mut span = 1;
        while 2 * span <= count {
            let shorter = room.len() - count;
            for position in 0..count {
                let other = (position + span).min(count - 1);
                room.push(terrain.packing.lowest(room[shorter + position], room[shorter + other]));
            }
            span *= 2;
        }
        Guard { order: order.to_vec(), rank, room }
    }

    /// Whether so much more fits after all positions from `first` to before `end`.
    #[inline]
    pub(super) fn has_room(&self, terrain: &Terrain, more: i64, first: u32, end: u32) -> bool {
        let level = (end - first).ilog2();
        let row = &self.room[level as usize * self.order.len()..][..self.order.len()];
        let packing = &terrain.packing;
        packing.fits(more, row[first as usize]) && packing.fits(more, row[(end - (1 << level)) as usize])
    }
}

/// How far an ant has come along its guard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The first position whose instruction has not been issued.
    pub(super) first: u32,
    /// What all that is early opens, and the position after the last one of it.
    pub(super) early: i64,
    pub(super) end: u32,
}
