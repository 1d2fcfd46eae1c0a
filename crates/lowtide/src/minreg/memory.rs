//! What has failed: a set of states, each by a 128-bit number, in limited memory.

/// A hash table without chains. A number is looked for in a few neighbouring slots; where these are full and the table cannot grow, it
/// takes the place of another one: to forget a failed state costs time, never correctness.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// 0 for an empty slot.
    slots: Vec<u128>,
    used: usize,
    most: usize,
}

/// Slots to look at.
const NEIGHBOURS: usize = 8;

impl Memory {
    /// An empty table that may grow to `most` slots (a power of two).
    pub(crate) fn new(most: usize) -> Self {
        Memory { slots: vec![0; most.min(1 << 10)], used: 0, most }
    }

    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.used = 0;
    }

    #[inline]
    fn places(&self, key: u128) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        let first = key as usize;
        (0..NEIGHBOURS).map(move |step| (first + step) & mask)
    }

    #[inline]
    pub(crate) fn contains(&self, key: u128) -> bool {
        self.places(key).any(|place| self.slots[place] == key)
    }

    pub(crate) fn insert(&mut self, key: u128) {
        if 2 * self.used >= self.slots.len() && self.slots.len() < self.most {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; 2 * old.len()];
            self.used = 0;
            old.into_iter().filter(|key| *key != 0).for_each(|key| self.put(key));
        }
        self.put(key);
    }

    fn put(&mut self, key: u128) {
        // (A place that the number itself chooses is as good as any.)
        let mut chosen =
            (key as usize).wrapping_add((key >> 64) as usize % NEIGHBOURS) & (self.slots.len() - 1);
        for place in self.places(key) {
            if self.slots[place] == key {
                return;
            }
            if self.slots[place] == 0 {
                chosen = place;
                self.used += 1;
                break;
            }
        }
        self.slots[chosen] = key;
    }
}
