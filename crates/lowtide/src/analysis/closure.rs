//! Transitive closure of the dependence graph, as a bit matrix in both directions.

use crate::index::InstrId;
use crate::region::Region;

/// A set of instructions of one region: one bit each.
pub type InstrSet<'a> = &'a [u64];

/// All ancestors and descendants of every instruction: 2 n² bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Closure {
    words: usize,
    ancestors: Vec<u64>,
    descendants: Vec<u64>,
}

impl Closure {
    /// Computes both directions in O(edges × n / 64).
    pub fn new(region: &Region) -> Self {
        let words = region.len().div_ceil(64);
        let mut ancestors = vec![0; region.len() * words];
        for instr in region.instrs() {
            for edge in region.preds(instr) {
                absorb(&mut ancestors, words, instr, edge.instr);
            }
        }
        let mut descendants = vec![0; region.len() * words];
        for instr in region.instrs().rev() {
            for edge in region.succs(instr) {
                absorb(&mut descendants, words, instr, edge.instr);
            }
        }
        Closure { words, ancestors, descendants }
    }

    /// Adds that `first` must come before `second`, with all that follows from it. The two must be independent.
    pub(crate) fn add(&mut self, first: InstrId, second: InstrId) {
        let words = self.words;
        let with = |set: &[u64], own: InstrId| {
            let mut set = set.to_vec();
            set[own.index() / 64] |= 1 << (own.index() % 64);
            set
        };
        let before = with(self.ancestors(first), first);
        let after = with(self.descendants(second), second);
        for (sets, of, more) in
            [(&mut self.ancestors, &after, &before), (&mut self.descendants, &before, &after)]
        {
            for instr in members(of) {
                let set = &mut sets[instr.index() * words..][..words];
                set.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
            }
        }
    }

    /// Words of a set.
    pub fn words(&self) -> usize {
        self.words
    }

    /// All that must come before `instr`.
    pub fn ancestors(&self, instr: InstrId) -> InstrSet<'_> {
        &self.ancestors[instr.index() * self.words..][..self.words]
    }

    /// All that must come after `instr`.
    pub fn descendants(&self, instr: InstrId) -> InstrSet<'_> {
        &self.descendants[instr.index() * self.words..][..self.words]
    }

    /// Whether `first` must come before `second`.
    pub fn reaches(&self, first: InstrId, second: InstrId) -> bool {
        contains(self.descendants(first), second)
    }

    /// Whether either order of the two is possible.
    pub fn independent(&self, one: InstrId, other: InstrId) -> bool {
        one != other && !self.reaches(one, other) && !self.reaches(other, one)
    }
}

/// Whether a set holds an instruction.
#[inline]
pub fn contains(set: InstrSet, instr: InstrId) -> bool {
    set[instr.index() / 64] >> (instr.index() % 64) & 1 == 1
}

/// The instructions of a set, in source order.
pub fn members(set: InstrSet<'_>) -> impl Iterator<Item = InstrId> + '_ {
    set.iter().enumerate().flat_map(|(word, &bits)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                InstrId(word as u32 * 64 + bit)
            })
        })
    })
}

/// Adds `other` and all of its set to the set of `instr`.
fn absorb(sets: &mut [u64], words: usize, instr: InstrId, other: InstrId) {
    let (low, high) = (instr.index().min(other.index()), instr.index().max(other.index()));
    let (head, tail) = sets.split_at_mut(high * words);
    let (low, high) = (&mut head[low * words..][..words], &mut tail[..words]);
    let (own, others) = if instr < other { (low, high) } else { (high, low) };
    for (word, more) in own.iter_mut().zip(others.iter()) {
        *word |= more;
    }
    own[other.index() / 64] |= 1 << (other.index() % 64);
}
