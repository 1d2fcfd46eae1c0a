//! Pheromones: the success of schedules in which one instruction directly follows another.
//!
//! The table has a row for each preceding instruction, and one for the start. Every link has at least
//! [`LEAST`]. In an iteration the winner adds to all its links. Then each link fades, and stays between
//! [`LEAST`] and [`MOST`]. Links with the least amount do not change, so an update visits only the others.

use super::{ONE, WHOLE};

pub(super) const LEAST: u16 = ONE;
pub(super) const MOST: u16 = 8 * ONE;

#[derive(Clone, Debug)]
pub(super) struct Pheromones {
    count: usize,
    table: Vec<u16>,
    /// The places in the table above the least amount.
    raised: Vec<u32>,
}

impl Pheromones {
    pub(super) fn new(count: usize) -> Self {
        Pheromones { count, table: vec![LEAST; (count + 1) * count], raised: Vec::new() }
    }

    pub(super) fn table(&self) -> &[u16] {
        &self.table
    }

    /// Add to the links of an order, and let all links fade to `remains` of [`WHOLE`].
    pub(super) fn update(&mut self, order: &[u32], more: u16, remains: u32) {
        let mut row = self.count;
        for &instr in order {
            let place = row * self.count + instr as usize;
            let amount = &mut self.table[place];
            if *amount == LEAST {
                self.raised.push(place as u32);
            }
            *amount += more;
            row = instr as usize;
        }
        let table = &mut self.table;
        self.raised.retain(|&place| {
            let amount = &mut table[place as usize];
            let left = u32::from(*amount) * remains / WHOLE;
            *amount = (left as u16).clamp(LEAST, MOST);
            *amount > LEAST
        });
    }
}

/// Return the deposit of a winner: the better its cost compared with 1.5 times that of the start, the more.
pub(super) fn deposit(amount: u64, start: u64) -> u16 {
    let share = 5 * u64::from(ONE) * 2 * amount / (3 * start.max(1));
    ONE + (5 * u64::from(ONE)).saturating_sub(share) as u16
}
