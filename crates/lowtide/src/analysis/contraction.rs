//! Smaller networks for questions that are about some instructions only.
//!
//! A question to [`DownsetMin`](super::flow::DownsetMin) says of each instruction whether it is in the
//! downset, out of it, or free. In many questions, only a few instructions are *named*: some of these are in,
//! others are out, and all other sides follow from dependences. Then some of the others need no node of their
//! own. Let A be an instruction that is not named. (Or several that already share a node, none of which is
//! named.)
//!
//! - Let all dependences of A be on a node P that is not named. Suppose that the values that end at A, at the
//!   latest, weigh as much as those that A defines. Then A is done as soon as P is: for any downset with P
//!   and without A, the one with A has no more pressure.
//! - Mirrored: let all that depend on A be in a node B that is not named. Suppose that the values that A
//!   defines weigh as much as those that can end at A. Then A is done no sooner than B: for any downset with
//!   A and without B, the one without A has no more pressure.
//!
//! So A shares the node of P or B. *Proof.* Take any least downset within the sides. In the first case, let
//! it have P but not A. A is not out: the path from the named instruction that is out to A would pass through
//! P, so P would be out. So the downset with A is within the sides, and as low. The second case is the same,
//! with in for out. The pressure of downsets that do not divide a node is submodular again, and its values
//! start and end at nodes. So the argument can be repeated. ∎
//!
//! Expressions that are computed from one value, and constants and loads with one user, disappear into their
//! neighbours. Nodes of named instructions stay as they are.

use super::last_uses::Ties;
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId, Rows, ValueId};
use crate::region::Region;

/// The steps to look at a member of a node, with its values.
const STEPS_PER_MEMBER: u64 = 4;

/// The steps between two looks at the effort.
const STEPS_PER_LOOK: u64 = 256;

/// Let instructions share nodes, as far as the effort allows. `nodes` has a node of its own for each of the
/// `kept` instructions.
pub(crate) fn contract(
    region: &Region,
    class: ClassId,
    ties: &Ties,
    kept: &BitSet,
    named: &BitSet,
    nodes: &mut [u32],
    effort: &mut Effort,
) {
    let mut contraction = Contraction::new(region, class, ties, named);
    let instrs: Vec<usize> = kept.iter().filter(|&instr| !named.contains(instr)).collect();
    let mut has_changed = true;
    while has_changed && !effort.is_spent() {
        has_changed = false;
        let downwards = instrs.iter().map(|&instr| (instr, Neighbour::Before));
        let upwards = instrs.iter().rev().map(|&instr| (instr, Neighbour::After));
        for (instr, side) in downwards.chain(upwards) {
            has_changed |= contraction.join(instr, side);
            if contraction.steps >= STEPS_PER_LOOK {
                effort.spend(std::mem::take(&mut contraction.steps));
                if effort.is_spent() {
                    break;
                }
            }
        }
    }
    for instr in kept.iter() {
        nodes[instr] = nodes[contraction.representative(instr)];
    }
}

/// The node to join: the only one before a node, or the only one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Neighbour {
    Before,
    After,
}

struct Contraction<'a> {
    region: &'a Region,
    class: ClassId,
    named: &'a BitSet,
    /// The nearest instructions before and after each.
    before: &'a Rows<InstrId>,
    after: Rows<InstrId>,
    /// The last uses of each value of the class.
    last_uses: &'a Rows<InstrId>,
    /// Another instruction with the same node, or the instruction itself if it represents the node.
    parent: Vec<u32>,
    /// The instructions that share a node, in a circle.
    next: Vec<u32>,
    /// Buffers: the members of a node, and the values that they use.
    members: Vec<u32>,
    seen: Vec<ValueId>,
    /// The steps since the last look at the effort.
    steps: u64,
}

impl<'a> Contraction<'a> {
    fn new(region: &'a Region, class: ClassId, ties: &'a Ties, named: &'a BitSet) -> Self {
        let all = || (0..region.len() as u32).collect();
        Contraction {
            region,
            class,
            named,
            before: &ties.before,
            after: ties.before.transposed(region.len(), |row, before| (before.index(), InstrId::at(row))),
            last_uses: &ties.last_uses,
            parent: all(),
            next: all(),
            members: Vec::new(),
            seen: Vec::new(),
            steps: 0,
        }
    }

    fn representative(&mut self, instr: usize) -> usize {
        let mut instr = instr as u32;
        while self.parent[instr as usize] != instr {
            let next = self.parent[instr as usize];
            self.parent[instr as usize] = self.parent[next as usize];
            instr = next;
        }
        instr as usize
    }

    /// Let the node of an instruction be one with its only neighbour, if it can. Return whether that is so.
    fn join(&mut self, instr: usize, side: Neighbour) -> bool {
        let own = self.representative(instr);
        self.collect_members(own);
        self.steps += STEPS_PER_MEMBER * self.members.len() as u64;
        let Some(other) = self.only_neighbour(own, side).filter(|&other| !self.named.contains(other)) else {
            return false;
        };
        let (starts, ends) = (self.starting(own), self.ending(own, other, side));
        let can_join = match side {
            Neighbour::Before => ends >= starts,
            Neighbour::After => starts >= ends,
        };
        if can_join {
            self.parent[own] = other as u32;
            self.next.swap(own, other);
        }
        can_join
    }

    fn collect_members(&mut self, own: usize) {
        self.members.clear();
        let mut member = own as u32;
        loop {
            self.members.push(member);
            member = self.next[member as usize];
            if member as usize == own {
                break;
            }
        }
    }

    /// Return the only other node before, or after, a node.
    fn only_neighbour(&mut self, own: usize, side: Neighbour) -> Option<usize> {
        let mut only = None;
        for at in 0..self.members.len() {
            let member = self.members[at] as usize;
            let count = self.neighbours(member, side).len();
            for place in 0..count {
                let neighbour = self.neighbours(member, side)[place].index();
                let other = self.representative(neighbour);
                if other != own && only.replace(other).is_some_and(|first| first != other) {
                    return None;
                }
            }
        }
        only
    }

    fn neighbours(&self, instr: usize, side: Neighbour) -> &[InstrId] {
        match side {
            Neighbour::Before => self.before.row(instr),
            Neighbour::After => self.after.row(instr),
        }
    }

    /// Return the weight of the values that start at a node and are live after it.
    fn starting(&mut self, own: usize) -> u32 {
        let region = self.region;
        let mut weight = 0;
        for at in 0..self.members.len() {
            for &id in region.defined_values(InstrId(self.members[at])) {
                let value = &region.values()[id.index()];
                let is_live = value.class == self.class
                    && (value.live_out || self.users(id).any(|user| self.representative(user) != own));
                weight += if is_live { value.weight } else { 0 };
            }
        }
        weight
    }

    /// Return the weight of the values from elsewhere that end at a node. On the side before, these are the
    /// values that end there in any order, once the neighbour is done. On the side after, these are the
    /// values that can end there while the neighbour is ahead.
    fn ending(&mut self, own: usize, other: usize, side: Neighbour) -> u32 {
        let region = self.region;
        let mut weight = 0;
        self.seen.clear();
        for at in 0..self.members.len() {
            for &id in region.used_values(InstrId(self.members[at])) {
                let value = &region.values()[id.index()];
                let is_own =
                    |contraction: &mut Self, def: InstrId| contraction.representative(def.index()) == own;
                if value.class != self.class
                    || value.live_out
                    || value.def.is_some_and(|def| is_own(self, def))
                    || self.seen.contains(&id)
                {
                    continue;
                }
                self.seen.push(id);
                let (mut ends_here, mut ends_there, mut ends_elsewhere) = (false, false, false);
                for user in self.users(id) {
                    let user = self.representative(user);
                    ends_here |= user == own;
                    ends_there |= user == other;
                    ends_elsewhere |= user != own && user != other;
                }
                let ends = match side {
                    Neighbour::Before => ends_here && !ends_elsewhere,
                    Neighbour::After => ends_here && !ends_there,
                };
                weight += if ends { value.weight } else { 0 };
            }
        }
        weight
    }

    /// Return the last users of a value.
    fn users(&self, value: ValueId) -> impl Iterator<Item = usize> + use<'a> {
        self.last_uses.row(value.index()).iter().map(|user| user.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::brute_force::{Small, small_regions};
    use crate::analysis::closure::Closure;
    use crate::analysis::flow::{DownsetMin, Minimum, Side};
    use crate::generate::Random;

    /// The least pressure, over all downsets within the sides of named instructions, is the same as with a
    /// node for each instruction.
    #[test]
    fn shared_nodes_change_no_answer() {
        let mut random = Random::new(7);
        let (mut questions, mut fewer, mut less) = (0, 0, 0);
        for region in small_regions(3000) {
            let closure = Closure::new(&region);
            let class = ClassId::at(random.below(region.classes().len()));
            let small = Small::new(&region, class);
            let named = BitSet::of(region.len(), region.instrs().filter(|_| random.chance(30)));
            let mut all = DownsetMin::new(&region, class, &closure);
            // With little effort, fewer nodes are shared.
            let steps = random.pick(&[u64::MAX, 4 * region.len() as u64]);
            let mut effort = Effort { steps, deadline: None };
            let mut some = DownsetMin::about(&region, class, &closure, &named, &mut effort);
            fewer += u32::from(some.count_nodes() < all.count_nodes());
            for _ in 0..6 {
                let mut sides = vec![Side::Free; region.len()];
                for instr in named.instrs() {
                    let side = random.pick(&[Side::In, Side::Free, Side::Out]);
                    let others = match side {
                        Side::In => closure.ancestors(instr),
                        Side::Out => closure.descendants(instr),
                        Side::Free => continue,
                    };
                    let all = [instr].into_iter().chain(others.instrs());
                    let all: Vec<InstrId> = all.collect();
                    if all.iter().all(|other| [side, Side::Free].contains(&sides[other.index()])) {
                        all.iter().for_each(|other| sides[other.index()] = side);
                    }
                }
                let mut effort = Effort::UNBOUNDED;
                let least = all.min(&sides, u32::MAX, &mut effort);
                assert_eq!(some.min(&sides, u32::MAX, &mut effort), least, "{} {named:?}", region.name());
                let Minimum::Exact(pressure) = least else { panic!("no limit") };
                let mut set = BitSet::new(region.len());
                for is_largest in [true, false] {
                    match is_largest {
                        true => some.largest(&mut set),
                        false => some.smallest(&mut set),
                    }
                    let number = set.bits().as_number() as u32;
                    assert!(small.downsets.contains(&number), "{}", region.name());
                    assert_eq!(small.pressure(number), pressure, "{}", region.name());
                    let fits = |instr: InstrId| match sides[instr.index()] {
                        Side::In => set.contains(instr),
                        Side::Free => true,
                        Side::Out => !set.contains(instr),
                    };
                    assert!(region.instrs().all(fits), "{}", region.name());
                }
                // The flow holds with its ends alone on their sides.
                if pressure > 0 && some.min(&sides, pressure, &mut effort) == Minimum::AtLeast(pressure) {
                    let (mut starts, mut ends) = (BitSet::new(region.len()), BitSet::new(region.len()));
                    some.ends(&mut starts, &mut ends);
                    let mut fewer_sides = vec![Side::Free; region.len()];
                    for instr in starts.instrs() {
                        let earlier = closure.ancestors(instr).instrs().chain([instr]);
                        earlier.for_each(|instr| fewer_sides[instr.index()] = Side::In);
                    }
                    for instr in ends.instrs() {
                        let later = closure.descendants(instr).instrs().chain([instr]);
                        later.for_each(|instr| fewer_sides[instr.index()] = Side::Out);
                    }
                    less += u32::from(fewer_sides != sides);
                    assert_eq!(all.min(&fewer_sides, pressure, &mut effort), Minimum::AtLeast(pressure));
                }
                questions += 1;
            }
        }
        println!("{questions} questions, {fewer} smaller networks, {less} flows with fewer sides");
        assert!(questions > 10_000 && fewer > 1_000 && less > 1_000, "{questions} {fewer} {less}");
    }
}
