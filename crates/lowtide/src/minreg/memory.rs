//! Failed states: sets of 128-bit keys in limited memory.
//!
//! One search has a [`Memory`] of its own. Many searches that run in [`rounds`](super::rounds) share one.
//! During a round they only read it, and each notes its new states apart ([`View`]). After the round, the new
//! states of all searches go into the shared memory. Its tables split the keys, so that each thread fills
//! another one. The result depends on the order of the searches only, not on threads. The searches also share
//! the states that they work on ([`Taken`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A set of failed states as a search sees it.
pub(crate) trait Failed {
    fn contains(&self, key: u128) -> bool;
    fn insert(&mut self, key: u128);

    /// Return whether another search works on this state.
    fn is_taken(&self, _key: u128) -> bool {
        false
    }

    /// Return whether another search has sought a cut after this state, without success.
    fn is_judged(&self, _key: u128) -> bool {
        false
    }

    /// Let other searches know that a cut after this state was sought without success.
    fn set_judged(&mut self, _key: u128) {}
}

/// The tables of a shared memory.
pub(crate) const TABLES: usize = 16;

/// The failed states of a search: one table, or [`TABLES`] with a part of the keys each.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    tables: Vec<Table>,
    most: usize,
}

impl Memory {
    /// Make an empty memory for at most `most` states (a power of two).
    pub(crate) fn new(most: usize) -> Self {
        Memory { tables: vec![Table::new(most)], most }
    }

    /// Make a memory that panics on every access, for a test of the handling of panics.
    #[cfg(test)]
    pub(crate) fn broken() -> Self {
        Memory { tables: Vec::new(), most: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.tables.iter_mut().for_each(Table::clear);
    }

    /// Take the tables, to share them for a while.
    pub(crate) fn share(&mut self) -> Shared {
        if self.tables.len() < TABLES {
            let mut tables = vec![Table::new(self.most / TABLES); TABLES];
            let keys = self.tables.iter().flat_map(Table::keys);
            keys.for_each(|key| tables[table_of(key, TABLES)].insert(key));
            self.tables = tables;
        }
        Shared(std::mem::take(&mut self.tables).into_iter().map(RwLock::new).collect())
    }

    /// Take the tables back.
    pub(crate) fn take_back(&mut self, shared: Shared) {
        let table = |table: RwLock<Table>| table.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tables = shared.0.into_iter().map(table).collect();
    }
}

impl Failed for Memory {
    #[inline]
    fn contains(&self, key: u128) -> bool {
        self.tables[table_of(key, self.tables.len())].contains(key)
    }

    #[inline]
    fn insert(&mut self, key: u128) {
        let table = table_of(key, self.tables.len());
        self.tables[table].insert(key);
    }
}

/// Return the table for a key. Within a table, the low bits of the key choose the place.
#[inline]
fn table_of(key: u128, tables: usize) -> usize {
    (key >> 96) as usize & tables.wrapping_sub(1)
}

/// A memory that many searches read at the same time.
pub(crate) struct Shared(Vec<RwLock<Table>>);

impl Shared {
    /// Return access to all tables, for one search and one round.
    fn read(&self) -> Vec<RwLockReadGuard<'_, Table>> {
        self.0.iter().map(|table| table.read().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Add the keys that belong into one table.
    pub(crate) fn fill(&self, table: usize, keys: &[u128]) {
        let mut filled = self.0[table].write().unwrap_or_else(PoisonError::into_inner);
        keys.iter().filter(|key| table_of(**key, TABLES) == table).for_each(|key| filled.insert(*key));
    }
}

/// The key of a state becomes another key, which says that a cut was sought in vain.
const JUDGED: u128 = 0x9c1d_5a3e_77b2_48f6_e30d_91c4_2a8b_6f57;

/// A shared memory as it was at the start of a round, with the new states of one search.
pub(crate) struct View<'m> {
    tables: Vec<RwLockReadGuard<'m, Table>>,
    news: &'m mut News,
    taken: &'m Taken,
}

/// The states that a search has added in a round: in the order in which they failed, and as a set.
pub(crate) struct News {
    pub(crate) keys: Vec<u128>,
    table: Table,
}

impl News {
    pub(crate) fn new() -> Self {
        News { keys: Vec::new(), table: Table::new(usize::MAX) }
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.table.clear();
    }
}

impl<'m> View<'m> {
    pub(crate) fn new(shared: &'m Shared, news: &'m mut News, taken: &'m Taken) -> Self {
        View { tables: shared.read(), news, taken }
    }

    /// Return the number of states that all searches have expanded below a state in the last round.
    pub(crate) fn expanded_below(&self, key: u128) -> u64 {
        self.taken.count(key)
    }
}

impl Failed for View<'_> {
    #[inline]
    fn contains(&self, key: u128) -> bool {
        self.tables[table_of(key, TABLES)].contains(key) || self.news.table.contains(key)
    }

    fn insert(&mut self, key: u128) {
        self.news.keys.push(key);
        self.news.table.insert(key);
    }

    fn is_taken(&self, key: u128) -> bool {
        self.taken.count(key) > 0
    }

    fn is_judged(&self, key: u128) -> bool {
        self.contains(key ^ JUDGED)
    }

    fn set_judged(&mut self, key: u128) {
        self.insert(key ^ JUDGED);
    }
}

/// The states that searches work on, with the number of states below them that were expanded in the last
/// round. Threads can add states at the same time. Their order makes no difference.
pub(crate) struct Taken {
    /// [`Taken::mark`] of a key, or 0 for a free place.
    keys: Vec<AtomicU64>,
    counts: Vec<AtomicU64>,
}

impl Taken {
    /// Make an empty set for at most `most` states, in tables twice as large.
    pub(crate) fn new(most: usize) -> Self {
        let zeros = || (0..2 * most.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
        Taken { keys: zeros(), counts: zeros() }
    }

    pub(crate) fn clear(&self) {
        let all = self.keys.iter().chain(&self.counts);
        all.for_each(|number| number.store(0, Ordering::Relaxed));
    }

    /// Return what stands for a key: its upper half, but never 0. (The key of the empty state is 0.)
    fn mark(key: u128) -> u64 {
        ((key >> 64) as u64).max(1)
    }

    /// Return the places for a key, from the first one on.
    fn places(&self, key: u64) -> impl Iterator<Item = usize> + '_ {
        let mask = self.keys.len() - 1;
        (0..=mask).map(move |place| (key as usize).wrapping_add(place) & mask)
    }

    /// Return the number of states for a key, or 0 if it is not in the set.
    pub(crate) fn count(&self, key: u128) -> u64 {
        let key = Self::mark(key);
        for place in self.places(key) {
            match self.keys[place].load(Ordering::Relaxed) {
                0 => return 0,
                other if other == key => return self.counts[place].load(Ordering::Relaxed),
                _ => {}
            }
        }
        0
    }

    /// Add a state, with at least one state below it. Return whether it is new.
    pub(crate) fn insert(&self, key: u128, states: u64) -> bool {
        let key = Self::mark(key);
        for place in self.places(key) {
            let old = self.keys[place].compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed);
            if old.is_ok() || old == Err(key) {
                return self.counts[place].fetch_add(states, Ordering::Relaxed) == 0;
            }
        }
        false
    }
}

/// A hash table of small buckets, each as large as a cache line. A key can lie in either of two neighbouring
/// buckets. If both are full and the table cannot grow, the key replaces another one: forgetting a failed
/// state costs time, never correctness.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    buckets: Vec<Bucket>,
    used: usize,
    most: usize,
}

const SIZE: usize = 4;

/// 0 for an empty place.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket([u128; SIZE]);

impl Table {
    /// Make an empty table that may grow to `most` states (a power of two).
    fn new(most: usize) -> Self {
        let most = (most / SIZE).max(2);
        Table { buckets: vec![Bucket::default(); most.min(1 << 8)], used: 0, most }
    }

    fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
        self.used = 0;
    }

    fn keys(&self) -> impl Iterator<Item = u128> + '_ {
        self.buckets.iter().flat_map(|bucket| bucket.0).filter(|key| *key != 0)
    }

    #[inline]
    fn places(&self, key: u128) -> [usize; 2] {
        let mask = self.buckets.len() - 1;
        let first = key as usize & mask;
        [first, first ^ 1]
    }

    #[inline]
    fn contains(&self, key: u128) -> bool {
        let [first, second] = self.places(key);
        let Bucket(keys) = &self.buckets[first];
        // The second bucket is in use only if the first one is full.
        keys.contains(&key) || keys[SIZE - 1] != 0 && self.buckets[second].0.contains(&key)
    }

    fn insert(&mut self, key: u128) {
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
        // The key itself chooses the place to replace.
        let [first, _] = self.places(key);
        self.buckets[first].0[(key >> 64) as usize % SIZE] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::closure::Closure;
    use crate::analysis::walk::{Direction, LiveGraph, PressureFields};
    use crate::bits::BitSet;
    use crate::budget::Effort;
    use crate::check::check_order;
    use crate::generate::{Random, random_order};
    use crate::index::InstrId;
    use crate::minreg::Rules;
    use crate::minreg::made::{Small, regions};
    use crate::minreg::part::Part;
    use crate::minreg::search::Search;
    use crate::verdict::Verdict;

    fn keys(count: usize, random: &mut Random) -> Vec<u128> {
        (0..count).map(|_| u128::from(random.bits()) << 64 | u128::from(random.bits())).collect()
    }

    #[test]
    fn what_was_never_seen_is_never_remembered() {
        let mut random = Random::new(1);
        for most in [8, 16, 1024, 4096] {
            let mut memory = Memory::new(most);
            let keys = keys(3000, &mut random);
            for (position, &key) in keys.iter().enumerate() {
                assert!(!memory.contains(key), "a memory of {most}");
                memory.insert(key);
                memory.insert(key);
                assert!(memory.contains(key), "the last one is there in a memory of {most}");
                let kept = keys[..=position].iter().filter(|key| memory.contains(**key)).count();
                assert!(kept <= most && SIZE * memory.tables[0].buckets.len() <= most.max(1 << 10));
                // While the table can grow, it forgets next to nothing.
                assert!(
                    position > most / 3 || kept + position / 20 > position,
                    "{kept} of {position} in {most}"
                );
            }
            memory.clear();
            assert!(keys.iter().all(|key| !memory.contains(*key)));
        }
    }

    #[test]
    fn taken_states_are_counted_by_all_threads() {
        let mut random = Random::new(3);
        let taken = Taken::new(300);
        for round in 0..20 {
            let mut keys = keys(300, &mut random);
            keys[random.below(300)] = 0;
            let (inside, outside) = keys.split_at(random.below(300));
            let new: usize = std::thread::scope(|scope| {
                let insert = || inside.iter().filter(|key| taken.insert(**key, 5)).count();
                let threads = [(); 3].map(|()| scope.spawn(insert));
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(new, inside.len(), "each is new once, in round {round}");
            assert!(inside.iter().all(|key| taken.count(*key) == 15));
            assert!(outside.iter().all(|key| taken.count(*key) == 0));
            taken.clear();
            assert!(keys.iter().all(|key| taken.count(*key) == 0));
        }
    }

    #[test]
    fn a_search_that_forgets_is_still_right() {
        let mut random = Random::new(2);
        let only_memory = Rules {
            free_moves: false,
            commit: false,
            split: false,
            memory: true,
            cuts: false,
            forced_order: false,
            superiority: false,
            skeletons: false,
        };
        let (mut found, mut failed) = (0, 0);
        for region in regions(0..60, 9) {
            let guide = random_order(&region, &mut random);
            let part =
                Part::between(&region, &BitSet::new(region.len()), &BitSet::full(region.len()), &guide)
                    .unwrap();
            let closure = Closure::new(&part.region);
            let optimum = Small::new(&region, &[]).lowest(0, &[]).unwrap();
            let mut limits = vec![None; region.classes().len()];
            for limit in [optimum, optimum.saturating_sub(1)] {
                limits[0] = Some(limit);
                let packing = PressureFields::within(&region, &limits).unwrap();
                let (end, _) = crate::analysis::pressure_bound::pressure_at_ends(&region)[0];
                if end > limit {
                    continue;
                }
                for direction in [Direction::TopDown, Direction::BottomUp] {
                    let graph = LiveGraph::new(&part.region, direction, &packing);
                    for (rules, most) in [(only_memory, 8), (only_memory, 1024), (Rules::ALL, 8)] {
                        let mut memory = Memory::new(most);
                        let mut search = Search::new(&part, &closure, &graph, direction, &limits, rules);
                        // In small pieces, so that it is interrupted everywhere.
                        let verdict = loop {
                            let mut effort = Effort { steps: 1 + random.below(2000) as u64, deadline: None };
                            match search.run(&mut memory, &mut effort, 0, || false) {
                                Verdict::Unknown => {}
                                verdict => break verdict,
                            }
                        };
                        match verdict {
                            Verdict::Yes(order) => {
                                let order: Vec<InstrId> = part.in_whole(&order);
                                let peak = check_order(&region, &order).unwrap()[0].between;
                                assert!(peak <= limit && limit >= optimum, "{}", region.name());
                                found += 1;
                            }
                            _ => {
                                assert!(limit < optimum, "{}", region.name());
                                failed += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(found > 1_000 && failed > 500, "{found} {failed}");
    }
}
