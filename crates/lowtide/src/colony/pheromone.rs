//! Pheromones: how well it has gone if one instruction came right after another.
//!
//! A table with a row for each instruction that comes before, and one more for the start. Every link has at least [`LEAST`]. In an iteration the winner adds to all its links, then what is on each link fades, and
//! stays between [`LEAST`] and [`MOST`]. Links with the least amount stay as they are, so only the others are gone through.

use super::ONE;

pub(super) const LEAST: u16 = ONE;
pub(super) const MOST: u16 = 8 * ONE;

#[derive(Clone, Debug)]
pub(super) struct Pheromones {
    count: usize,
    table: Vec<u16>,
    /// Places in the table with more than the least amount.
    raised: Vec<u32>,
}

impl Pheromones {
    pub(super) fn new(count: usize) -> Self {
        Pheromones { count, table: vec![LEAST; (count + 1) * count], raised: Vec::new() }
    }

    pub(super) fn table(&self) -> &[u16] {
        &self.table
    }

    /// Adds to the links of an order, and lets all fade to `remains` of 16 parts.
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
            let left = u32::from(*amount) * remains / 16;
            *amount = (left as u16).clamp(LEAST, MOST);
            *amount > LEAST
        });
    }
}

/// What a winner leaves: more, the better it is than 1.5 times what the search started from.
pub(super) fn deposit(amount: u64, start: u64) -> u16 {
    let share = 5 * u64::from(ONE) * 2 * amount / (3 * start.max(1));
    ONE + (5 * u64::from(ONE)).saturating_sub(share) as u16
}
