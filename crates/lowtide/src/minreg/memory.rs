//! What has failed: a set of states, each by a 128-bit number, in limited memory.

/// A hash table of small buckets, each as large as a line of the processor's cache. A number can lie in
/// either of two neighbouring buckets; where these are full and the table cannot grow, it takes the place of
/// another one: to forget a failed state costs time, never correctness.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    buckets: Vec<Bucket>,
    used: usize,
    most: usize,
}

const SIZE: usize = 4;

/// 0 for an empty place.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket([u128; SIZE]);

impl Memory {
    /// An empty table that may grow to `most` states (a power of two).
    pub(crate) fn new(most: usize) -> Self {
        let most = (most / SIZE).max(2);
        Memory { buckets: vec![Bucket::default(); most.min(1 << 8)], used: 0, most }
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
        self.used = 0;
    }

    #[inline]
    fn places(&self, key: u128) -> [usize; 2] {
        let mask = self.buckets.len() - 1;
        let first = key as usize & mask;
        [first, first ^ 1]
    }

    #[inline]
    pub(crate) fn contains(&self, key: u128) -> bool {
        let [first, second] = self.places(key);
        let Bucket(keys) = &self.buckets[first];
        // The second one is in use only if the first one is full.
        keys.contains(&key) || keys[SIZE - 1] != 0 && self.buckets[second].0.contains(&key)
    }

    pub(crate) fn insert(&mut self, key: u128) {
        if 2 * self.used >= SIZE * self.buckets.len() && self.buckets.len() < self.most {
            let old = std::mem::take(&mut self.buckets);
            self.buckets = vec![Bucket::default(); 2 * old.len()];
            self.used = 0;
            old.iter().flat_map(|bucket| bucket.0).filter(|key| *key != 0).for_each(|key| self.put(key));
        }
        self.put(key);
    }

    fn put(&mut self, key: u128) {
        for place in self.places(key) {
            for slot in &mut self.buckets[place].0 {
                if *slot == key {
                    return;
                }
                if *slot == 0 {
                    *slot = key;
                    self.used += 1;
                    return;
                }
            }
        }
        // A place that the number itself chooses is as good as any.
        let [first, _] = self.places(key);
        self.buckets[first].0[(key >> 64) as usize % SIZE] = key;
    }
}
