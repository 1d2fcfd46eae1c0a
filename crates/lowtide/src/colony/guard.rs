//! The guard: a known order within the limit, which keeps ants from dead ends.
//!
//! An ant within a limit on registers can get to a point where nothing fits any more. With a guard, it can
//! always continue along the guard, leaving out the issued instructions. Some instructions were issued
//! *early*, before others that come first in the guard. Each early instruction raises the pressure of the
//! rest of the guard, up to its own place there, by at most the weight that it opens. An instruction that
//! closes as much as it opens raises nothing.
//!
//! So an instruction may be issued early if the weight of all early ones, including its own, fits into the
//! free weight of the guard. Only the guard up to the last place of the early ones counts. (In paper 4, such
//! ants die.)

use super::terrain::Terrain;

#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) order: Vec<u32>,
    /// Position in the order.
    pub(super) rank: Vec<u32>,
    /// The free weight after each position; then the minimum of any two neighbours, of any four, and so on, a
    /// row for each.
    pub(super) room: Vec<i64>,
}

impl Guard {
    /// Make a guard of an order, which must stay within the limit.
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

    /// Return whether `more` fits after all positions from `first` to before `end`.
    #[inline]
    pub(super) fn has_room(&self, terrain: &Terrain, more: i64, first: u32, end: u32) -> bool {
        let level = (end - first).ilog2();
        let row = &self.room[level as usize * self.order.len()..][..self.order.len()];
        let packing = &terrain.packing;
        packing.fits(more, row[first as usize]) && packing.fits(more, row[(end - (1 << level)) as usize])
    }
}

/// The progress of an ant along its guard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The first position whose instruction has not been issued.
    pub(super) first: u32,
    /// The weight that all early instructions open, and the position after the last of them.
    pub(super) early: i64,
    pub(super) end: u32,
}
