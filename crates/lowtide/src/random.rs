//! Random numbers that are the same on every machine.

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Return number `place` of the sequence of a seed, without computing those before it.
#[inline]
pub fn bits_at(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(STRIDE.wrapping_mul(place.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A small random generator (SplitMix64): fast, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Make a generator whose numbers follow from the seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Return 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let bits = bits_at(self.0, 0);
        self.0 = self.0.wrapping_add(STRIDE);
        bits
    }

    /// Return a number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Return true with a probability of `percent` in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Return one of the items, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
