//! Sets of small numbers, one bit for each: instructions, operations, values or places.
//!
//! A [`BitSet`] owns its words. A [`BitMatrix`] has many sets of the same size in one allocation. [`Bits`] is
//! a view of either. All arithmetic on the words is in this module. No set ever holds a number at or above
//! its size: the spare bits of the last word are 0.

use crate::index::InstrId;

pub(crate) const WORD: usize = u64::BITS as usize;

/// A number that can be a member of a set.
pub trait Member: Copy {
    /// Return the position of its bit.
    fn position(self) -> usize;
}

impl Member for InstrId {
    #[inline]
    fn position(self) -> usize {
        self.index()
    }
}

impl Member for u32 {
    #[inline]
    fn position(self) -> usize {
        self as usize
    }
}

impl Member for usize {
    #[inline]
    fn position(self) -> usize {
        self
    }
}

/// Return the number of the word that has the bit of a member.
#[inline]
pub fn word_of(member: impl Member) -> usize {
    member.position() / WORD
}

#[inline]
fn bit_of(member: impl Member) -> u64 {
    1 << (member.position() % WORD)
}

/// A view of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits<'a> {
    words: &'a [u64],
}

impl<'a> From<&'a BitSet> for Bits<'a> {
    #[inline]
    fn from(set: &'a BitSet) -> Self {
        set.bits()
    }
}

impl<'a> Bits<'a> {
    /// Return whether a number is a member.
    #[inline]
    pub fn contains(self, member: impl Member) -> bool {
        self.words[word_of(member)] & bit_of(member) != 0
    }

    /// Return whether the set has no members.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Return the number of members.
    #[inline]
    pub fn count(self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Return the members, smallest first.
    #[inline]
    pub fn iter(self) -> Members<'a> {
        let mut rest = self.words.iter();
        Members { word: rest.next().copied().unwrap_or(0), rest, base: 0 }
    }

    /// Return the members as instructions, in source order.
    #[inline]
    pub fn instrs(self) -> impl Iterator<Item = InstrId> + 'a {
        self.iter().map(InstrId::at)
    }

    /// Return the smallest member that is not below `from`.
    #[inline]
    pub fn next_from(self, from: impl Member) -> Option<usize> {
        let mut at = word_of(from);
        let mut word = *self.words.get(at)? & !(bit_of(from) - 1);
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at * WORD + word.trailing_zeros() as usize)
    }

    /// Return the largest member that is not above `to`, which must be below the size of the set.
    #[inline]
    pub fn last_up_to(self, to: impl Member) -> Option<usize> {
        let mut at = word_of(to);
        let mut word = self.words[at] & (bit_of(to) | (bit_of(to) - 1));
        while word == 0 {
            at = at.checked_sub(1)?;
            word = self.words[at];
        }
        Some(at * WORD + word.ilog2() as usize)
    }

    /// Return whether all members are in `other`, too.
    #[inline]
    pub fn is_subset<'b>(self, other: impl Into<Bits<'b>>) -> bool {
        self.words.iter().zip(other.into().words).all(|(own, other)| own & !other == 0)
    }

    /// Return whether no member is in `other`.
    #[inline]
    pub fn is_disjoint<'b>(self, other: impl Into<Bits<'b>>) -> bool {
        self.words.iter().zip(other.into().words).all(|(own, other)| own & other == 0)
    }

    /// As [`Bits::is_disjoint`], for members from the word of `from` on. Members below `from` must not
    /// matter.
    #[inline]
    pub fn is_disjoint_from<'b>(self, other: impl Into<Bits<'b>>, from: impl Member) -> bool {
        let first = word_of(from);
        self.words[first..].iter().zip(&other.into().words[first..]).all(|(own, other)| own & other == 0)
    }

    /// Return the number of members that are in `other`, too.
    #[inline]
    pub fn overlap<'b>(self, other: impl Into<Bits<'b>>) -> u32 {
        self.words.iter().zip(other.into().words).map(|(own, other)| (own & other).count_ones()).sum()
    }

    /// Return the number of members that are in both other sets, too.
    #[inline]
    pub fn overlap_with_both<'b, 'c>(self, one: impl Into<Bits<'b>>, other: impl Into<Bits<'c>>) -> u32 {
        let words = self.words.iter().zip(one.into().words).zip(other.into().words);
        words.map(|((own, one), other)| (own & one & other).count_ones()).sum()
    }

    /// For each pair of sets, count the members that are in both of them, too. One pass serves all pairs.
    #[inline]
    pub fn overlaps_with_pairs<const N: usize>(self, pairs: [[&BitSet; 2]; N]) -> [u32; N] {
        let mut counts = [0; N];
        for (at, own) in self.words.iter().enumerate().filter(|(_, own)| **own != 0) {
            for (count, [one, other]) in counts.iter_mut().zip(pairs) {
                let common = own & one.words[at] & other.words[at];
                *count += if common == 0 { 0 } else { common.count_ones() };
            }
        }
        counts
    }

    /// Return the number of members that are in `inside`, too, but not in `outside`.
    #[inline]
    pub fn overlap_without<'b, 'c>(self, inside: impl Into<Bits<'b>>, outside: impl Into<Bits<'c>>) -> u32 {
        let words = self.words.iter().zip(inside.into().words).zip(outside.into().words);
        words.map(|((own, inside), outside)| (own & inside & !outside).count_ones()).sum()
    }

    /// Return the members as the bits of a number: only for sets of a size up to 64.
    #[cfg(test)]
    pub(crate) fn as_number(self) -> u64 {
        assert!(self.words.len() <= 1);
        self.words.first().copied().unwrap_or(0)
    }
}

/// The members of a set, smallest first.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    /// The rest of the current word.
    word: u64,
    base: usize,
    rest: std::slice::Iter<'a, u64>,
}

impl Iterator for Members<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = *self.rest.next()?;
            self.base += WORD;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.base + bit)
    }

    /// Iterate without the per-member state of `next`.
    #[inline]
    fn fold<B, F: FnMut(B, usize) -> B>(self, init: B, mut f: F) -> B {
        let mut result = init;
        let mut base = self.base;
        let mut word = self.word;
        let mut rest = self.rest;
        loop {
            while word != 0 {
                result = f(result, base + word.trailing_zeros() as usize);
                word &= word - 1;
            }
            let Some(next) = rest.next() else { return result };
            word = *next;
            base += WORD;
        }
    }
}

/// A set of numbers below a fixed size.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BitSet {
    words: Vec<u64>,
    size: usize,
}

impl BitSet {
    /// Return the empty set of numbers below `size`.
    pub fn new(size: usize) -> Self {
        BitSet { words: vec![0; size.div_ceil(WORD)], size }
    }

    /// Return the set of all numbers below `size`.
    pub fn full(size: usize) -> Self {
        let mut set = BitSet::new(size);
        set.fill();
        set
    }

    /// Return the set of these numbers, all below `size`.
    pub fn of<M: Member>(size: usize, members: impl IntoIterator<Item = M>) -> Self {
        let mut set = BitSet::new(size);
        members.into_iter().for_each(|member| set.insert(member));
        set
    }

    /// Return a view of the set.
    #[inline]
    pub fn bits(&self) -> Bits<'_> {
        Bits { words: &self.words }
    }

    /// Return the number of words that it takes.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Return whether a number is a member.
    #[inline]
    pub fn contains(&self, member: impl Member) -> bool {
        self.bits().contains(member)
    }

    /// Return whether the set has no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bits().is_empty()
    }

    /// Return the number of members.
    #[inline]
    pub fn count(&self) -> u32 {
        self.bits().count()
    }

    /// Return the members, smallest first.
    #[inline]
    pub fn iter(&self) -> Members<'_> {
        self.bits().iter()
    }

    /// Return the members as instructions, in source order.
    #[inline]
    pub fn instrs(&self) -> impl Iterator<Item = InstrId> + '_ {
        self.bits().instrs()
    }

    /// Add a member.
    #[inline]
    pub fn insert(&mut self, member: impl Member) {
        debug_assert!(member.position() < self.size);
        self.words[word_of(member)] |= bit_of(member);
    }

    /// Add a member if a condition holds, without a branch.
    #[inline]
    pub fn insert_if(&mut self, member: impl Member, holds: bool) {
        debug_assert!(member.position() < self.size);
        self.words[word_of(member)] |= u64::from(holds) << (member.position() % WORD);
    }

    /// Add a member. Return whether it was none before.
    #[inline]
    pub fn insert_new(&mut self, member: impl Member) -> bool {
        debug_assert!(member.position() < self.size);
        let word = &mut self.words[word_of(member)];
        let is_new = *word & bit_of(member) == 0;
        *word |= bit_of(member);
        is_new
    }

    /// Remove the largest member and return it. No word after `word` may have members; `word` moves down to
    /// the word where the member was.
    #[inline]
    pub fn take_last(&mut self, word: &mut usize) -> Option<usize> {
        while self.words[*word] == 0 {
            *word = word.checked_sub(1)?;
        }
        let bit = self.words[*word].ilog2();
        self.words[*word] ^= 1 << bit;
        Some(*word * WORD + bit as usize)
    }

    /// Remove a member, if it is one.
    #[inline]
    pub fn remove(&mut self, member: impl Member) {
        self.words[word_of(member)] &= !bit_of(member);
    }

    /// Add a number that is no member, or remove one that is.
    #[inline]
    pub fn toggle(&mut self, member: impl Member) {
        debug_assert!(member.position() < self.size);
        self.words[word_of(member)] ^= bit_of(member);
    }

    /// Remove all members.
    #[inline]
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Add all numbers below the size.
    pub fn fill(&mut self) {
        self.words.fill(u64::MAX);
        self.clear_spare_bits();
    }

    /// Swap members and the other numbers below the size.
    pub fn complement(&mut self) {
        self.words.iter_mut().for_each(|word| *word = !*word);
        self.clear_spare_bits();
    }

    /// Become a copy of a set of the same size.
    #[inline]
    pub fn copy_from<'b>(&mut self, other: impl Into<Bits<'b>>) {
        self.words.copy_from_slice(other.into().words);
    }

    /// Become the intersection of two sets.
    #[inline]
    pub fn copy_common<'b, 'c>(&mut self, one: impl Into<Bits<'b>>, other: impl Into<Bits<'c>>) {
        let words = one.into().words.iter().zip(other.into().words);
        self.words.iter_mut().zip(words).for_each(|(word, (one, other))| *word = one & other);
    }

    /// Add all members of another set.
    #[inline]
    pub fn unite<'b>(&mut self, other: impl Into<Bits<'b>>) {
        unite(&mut self.words, other.into().words);
    }

    /// Remove all members that are not in another set.
    #[inline]
    pub fn intersect<'b>(&mut self, other: impl Into<Bits<'b>>) {
        self.words.iter_mut().zip(other.into().words).for_each(|(word, other)| *word &= other);
    }

    /// Remove all members of another set.
    #[inline]
    pub fn subtract<'b>(&mut self, other: impl Into<Bits<'b>>) {
        self.words.iter_mut().zip(other.into().words).for_each(|(word, other)| *word &= !other);
    }

    /// As [`BitSet::subtract`], for a set without members above `last`: later words are not read.
    #[inline]
    pub fn subtract_up_to<'b>(&mut self, other: impl Into<Bits<'b>>, last: impl Member) {
        let words = self.words[..=word_of(last)].iter_mut().zip(other.into().words);
        words.for_each(|(word, other)| *word &= !other);
    }

    fn clear_spare_bits(&mut self) {
        let used = self.size % WORD;
        if let Some(last) = self.words.last_mut().filter(|_| used > 0) {
            *last &= (1 << used) - 1;
        }
    }
}

#[inline]
fn unite(words: &mut [u64], others: &[u64]) {
    words.iter_mut().zip(others).for_each(|(word, other)| *word |= other);
}

/// Rows of sets of numbers below a fixed size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BitMatrix {
    words: Vec<u64>,
    /// Words of a row.
    width: usize,
    size: usize,
}

impl BitMatrix {
    /// Make a number of empty sets of numbers below `size`.
    pub fn new(rows: usize, size: usize) -> Self {
        let width = size.div_ceil(WORD);
        BitMatrix { words: vec![0; rows * width], width, size }
    }

    /// Return the number of words of a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Return the set of a row.
    #[inline]
    pub fn row(&self, row: impl Member) -> Bits<'_> {
        Bits { words: &self.words[row.position() * self.width..][..self.width] }
    }

    /// Return a copy of the set of a row.
    pub fn to_set(&self, row: impl Member) -> BitSet {
        BitSet { words: self.row(row).words.to_vec(), size: self.size }
    }

    #[inline]
    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.width..][..self.width]
    }

    /// Add a member to a row.
    #[inline]
    pub fn insert(&mut self, row: impl Member, member: impl Member) {
        self.row_mut(row.position())[word_of(member)] |= bit_of(member);
    }

    /// Make a row a copy of a set.
    #[inline]
    pub fn copy_from<'b>(&mut self, row: impl Member, set: impl Into<Bits<'b>>) {
        self.row_mut(row.position()).copy_from_slice(set.into().words);
    }

    /// Add all members of a set to a row.
    #[inline]
    pub fn unite<'b>(&mut self, row: impl Member, set: impl Into<Bits<'b>>) {
        unite(self.row_mut(row.position()), set.into().words);
    }

    /// Add all members of another row to a row.
    #[inline]
    pub fn unite_rows(&mut self, row: impl Member, other: impl Member) {
        let (row, other) = (row.position(), other.position());
        debug_assert_ne!(row, other);
        let (low, high) = self.words.split_at_mut(row.max(other) * self.width);
        let low = &mut low[row.min(other) * self.width..][..self.width];
        let high = &mut high[..self.width];
        if row < other { unite(low, high) } else { unite(high, low) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeSet;

    /// A random set, and the same as a tree.
    fn sample(size: usize, random: &mut Random) -> (BitSet, BTreeSet<usize>) {
        let percent = random.pick(&[0, 3, 50, 97, 100]);
        let tree: BTreeSet<usize> = (0..size).filter(|_| random.chance(percent)).collect();
        (BitSet::of(size, tree.iter().copied()), tree)
    }

    #[track_caller]
    fn assert_same(set: &BitSet, tree: &BTreeSet<usize>) {
        assert!(set.iter().eq(tree.iter().copied()));
        let mut folded = Vec::new();
        set.iter().for_each(|member| folded.push(member));
        assert!(folded.iter().eq(tree));
        assert_eq!((set.count() as usize, set.is_empty()), (tree.len(), tree.is_empty()));
    }

    #[test]
    fn sets_do_what_sets_of_numbers_do() {
        let mut random = Random::new(1);
        for _ in 0..3000 {
            let size = random.pick(&[1, 2, 63, 64, 65, 128, 200]);
            let ((one, a), (other, b)) = (sample(size, &mut random), sample(size, &mut random));
            let (third, c) = sample(size, &mut random);
            assert_same(&one, &a);
            let changed = |change: &dyn Fn(&mut BitSet)| {
                let mut set = one.clone();
                change(&mut set);
                set
            };
            assert_same(&changed(&|set| set.unite(&other)), &(&a | &b));
            assert_same(&changed(&|set| set.intersect(&other)), &(&a & &b));
            assert_same(&changed(&|set| set.subtract(&other)), &(&a - &b));
            assert_same(&changed(&|set| set.copy_from(&other)), &b);
            assert_same(&changed(&|set| set.copy_common(&other, &third)), &(&b & &c));
            assert_same(&changed(&BitSet::clear), &BTreeSet::new());
            assert_same(&changed(&BitSet::fill), &(0..size).collect());
            assert_same(&changed(&BitSet::complement), &(&(0..size).collect() - &a));
            let bits = one.bits();
            assert_eq!(bits.is_subset(&other), a.is_subset(&b));
            assert_eq!(bits.is_disjoint(&other), a.is_disjoint(&b));
            assert_eq!(bits.overlap(&other) as usize, (&a & &b).len());
            assert_eq!(bits.overlap_with_both(&other, &third) as usize, (&(&a & &b) & &c).len());
            let pairs = bits.overlaps_with_pairs([[&other, &third], [&third, &third]]);
            assert_eq!(pairs.map(|count| count as usize), [(&(&a & &b) & &c).len(), (&a & &c).len()]);
            assert_eq!(bits.overlap_without(&other, &third) as usize, (&(&a & &b) - &c).len());
            let at = random.below(size);
            assert_eq!(bits.next_from(at), a.range(at..).next().copied());
            assert_eq!(bits.last_up_to(at), a.range(..=at).next_back().copied());
            let low: BTreeSet<usize> = b.range(..=at).copied().collect();
            let low_set = BitSet::of(size, low.iter().copied());
            assert_same(&changed(&|set| set.subtract_up_to(&low_set, at)), &(&a - &low));
            let high = BitSet::of(size, b.range(at..).copied());
            assert_eq!(bits.is_disjoint_from(&high, at), a.range(at..).all(|member| !b.contains(member)));
            let holds = random.chance(50);
            let mut with = a.clone();
            with.insert(at);
            let mut without = a.clone();
            without.remove(&at);
            assert_same(&changed(&|set| set.insert(at)), &with);
            assert_same(&changed(&|set| set.insert_if(at, holds)), if holds { &with } else { &a });
            assert_same(&changed(&|set| set.remove(at)), &without);
            assert_same(&changed(&|set| set.toggle(at)), if a.contains(&at) { &without } else { &with });
            assert_eq!(one.contains(at), a.contains(&at));
        }
    }

    #[test]
    fn rows_are_sets_of_their_own() {
        let mut random = Random::new(2);
        for _ in 0..500 {
            let size = random.pick(&[1, 64, 65, 130]);
            let rows = 2 + random.below(4);
            let mut matrix = BitMatrix::new(rows, size);
            let mut sets = vec![BitSet::new(size); rows];
            for _ in 0..20 {
                let row = random.below(rows);
                let other = (row + 1 + random.below(rows - 1)) % rows;
                let (more, _) = sample(size, &mut random);
                match random.below(4) {
                    0 => {
                        let member = random.below(size);
                        matrix.insert(row, member);
                        sets[row].insert(member);
                    }
                    1 => {
                        matrix.copy_from(row, &more);
                        sets[row].copy_from(&more);
                    }
                    2 => {
                        matrix.unite(row, &more);
                        sets[row].unite(&more);
                    }
                    _ => {
                        matrix.unite_rows(row, other);
                        let others = sets[other].clone();
                        sets[row].unite(&others);
                    }
                }
                assert!((0..rows).all(|row| matrix.to_set(row) == sets[row]));
            }
        }
    }
}
