//! Smaller networks for questions that are about some instructions only.
//!
//! A question to [`DownsetMin`](super::flow::DownsetMin) says of each instruction whether it is in the downset, out of it, or free. In many
//! questions, only a few instructions are *named*: some of these are in, others are out, and all other sides follow from
//! dependences. Then some of the others need no node of their own. Let A be an instruction that is not named. (Or several that already
//! share a node, none of which is named.)
//!
//! - Let all dependences of A be on a node P that is not named. Suppose that the values that end at A, at the latest, weigh as
//!   much as those that A defines. Then A is done as soon as P is: for any downset with P and without A, the one
//!   with A has no more pressure.
//! - Mirrored: let all that depend on A be in a node B that is not named. Suppose that the values that A defines weigh as much
//!   as those that can end at A. Then A is done no sooner than B: for any downset with A and without B, the one without A has no more
//!   pressure.
//!
//! So A shares the node of P or B. *Proof.* Take any least downset within the sides. In the first case, let it have P but not A. A is
//! not out: the path from the named instruction that is out to A would pass through P, so P would be out. So the downset with A is within
//! the sides, and as low. The second case is the same, with in for out. The pressure of downsets that do not divide a node
//! is submodular again, and its values start and end at nodes. So the argument can be repeated. ∎
//!
//! Expressions that are computed from one value, and constants and loads with one user, disappear into their neighbours. Nodes of
//! named instructions stay as they are.

use super::closure::Closure;
use super::last_uses::{LastUses, class_values, nearest_ancestors};
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, ValueId};
use crate::region::Region;

/// Let instructions share nodes. `nodes` has a node of its own for each of the `kept` instructions.
pub(crate) fn contract(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    kept: &BitSet,
    named: &BitSet,
    nodes: &mut [u32],
) {
    let mut contraction = Contraction::new(region, class, closure, kept, named);
    let instrs: Vec<usize> = kept.iter().filter(|&instr| !named.contains(instr)).collect();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &instr in &instrs {
            has_changed |= contraction.join(instr, true);
        }
        for &instr in instrs.iter().rev() {
            has_changed |= contraction.join(instr, false);
        }
    }
    for instr in kept.iter() {
        nodes[instr] = nodes[contraction.representative(instr)];
    }
}

struct Contraction<'a> {
    region: &'a Region,
    named: &'a BitSet,
    /// The nearest instructions before and after each.
    before: Vec<Vec<u32>>,
    after: Vec<Vec<u32>>,
    /// The values of the class that each defines, and those that it uses.
    defined: Vec<Vec<ValueId>>,
    used: Vec<Vec<ValueId>>,
    /// The last uses of each value.
    last_uses: Vec<Vec<InstrId>>,
    /// Another instruction with the same node, or the instruction itself.
    parent: Vec<u32>,
    /// For the instruction that represents a node: all that share it.
    members: Vec<Vec<u32>>,
}

impl<'a> Contraction<'a> {
    fn new(region: &'a Region, class: ClassId, closure: &Closure, kept: &BitSet, named: &'a BitSet) -> Self {
        let (mut before, mut after) = (vec![Vec::new(); region.len()], vec![Vec::new(); region.len()]);
        let (mut defined, mut used) = (vec![Vec::new(); region.len()], vec![Vec::new(); region.len()]);
        let mut rest = BitSet::new(region.len());
        for instr in kept.instrs() {
            nearest_ancestors(closure, kept, instr, &mut rest, |ancestor| {
                before[instr.index()].push(ancestor.0);
                after[ancestor.index()].push(instr.0);
            });
        }
        let mut last_uses = vec![Vec::new(); region.values().len()];
        let mut finder = LastUses::new(region, closure);
        for id in class_values(region, class) {
            if let Some(def) = region.values()[id.index()].def {
                defined[def.index()].push(id);
            }
            last_uses[id.index()] = finder.of(id).to_vec();
            for instr in region.value_uses(id) {
                used[instr.index()].push(id);
            }
        }
        Contraction {
            region,
            named,
            before,
            after,
            defined,
            used,
            last_uses,
            parent: (0..region.len() as u32).collect(),
            members: (0..region.len() as u32).map(|instr| vec![instr]).collect(),
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

    /// Let the node of an instruction be one with the only node before it, or after it, if it can. Return whether that is so.
    fn join(&mut self, instr: usize, is_before: bool) -> bool {
        let own = self.representative(instr);
        let Some(other) = self.only_neighbour(own, is_before) else { return false };
        if self.named.contains(other) {
            return false;
        }
        let members = std::mem::take(&mut self.members[own]);
        let starts = self.starting(own, &members);
        let ends = self.ending(own, &members, other, is_before);
        let can_join = if is_before { ends >= starts } else { starts >= ends };
        if can_join {
            self.parent[own] = other as u32;
            self.members[other].extend(members);
        } else {
            self.members[own] = members;
        }
        can_join
    }

    /// Return the only other node before, or after, a node.
    fn only_neighbour(&mut self, own: usize, is_before: bool) -> Option<usize> {
        let mut only = None;
        for member in 0..self.members[own].len() {
            let member = self.members[own][member] as usize;
            let count = if is_before { self.before[member].len() } else { self.after[member].len() };
            for place in 0..count {
                let neighbour =
                    if is_before { self.before[member][place] } else { self.after[member][place] };
                let other = self.representative(neighbour as usize);
                if other != own && only.replace(other).is_some_and(|first| first != other) {
                    return None;
                }
            }
        }
        only
    }

    fn weight(&self, value: ValueId) -> u32 {
        self.region.values()[value.index()].weight
    }

    /// Return the weight of the values that start at a node and are live after it.
    fn starting(&mut self, own: usize, members: &[u32]) -> u32 {
        let mut weight = 0;
        for &member in members {
            for place in 0..self.defined[member as usize].len() {
                let value = self.defined[member as usize][place];
                let is_live = self.region.values()[value.index()].live_out
                    || (0..self.last_uses[value.index()].len()).any(|user| {
                        let user = self.last_uses[value.index()][user].index();
                        self.representative(user) != own
                    });
                weight += if is_live { self.weight(value) } else { 0 };
            }
        }
        weight
    }

    /// Return the weight of the values from elsewhere that end at a node: if the node before it is done, those that certainly do. If the node after it
    /// is not done, those that can.
    fn ending(&mut self, own: usize, members: &[u32], other: usize, is_before: bool) -> u32 {
        let mut weight = 0;
        let mut seen: Vec<ValueId> = Vec::new();
        for &member in members {
            for place in 0..self.used[member as usize].len() {
                let value = self.used[member as usize][place];
                let def = self.region.values()[value.index()].def;
                if self.region.values()[value.index()].live_out
                    || def.is_some_and(|def| self.representative(def.index()) == own)
                    || seen.contains(&value)
                {
                    continue;
                }
                seen.push(value);
                let mut users = [false; 3];
                for user in 0..self.last_uses[value.index()].len() {
                    let user = self.last_uses[value.index()][user].index();
                    let user = self.representative(user);
                    users[if user == own {
                        0
                    } else if user == other {
                        1
                    } else {
                        2
                    }] = true;
                }
                let [is_own, is_other, is_elsewhere] = users;
                let ends = if is_before { is_own && !is_elsewhere } else { is_own && !is_other };
                weight += if ends { self.weight(value) } else { 0 };
            }
        }
        weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::brute_force::{Small, small_regions};
    use crate::analysis::flow::{DownsetMin, Minimum, Side};
    use crate::budget::Effort;
    use crate::generate::Random;

    /// The least pressure, over all downsets within the sides of named instructions, is the same as with a node for each instruction.
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
            let mut some = DownsetMin::about(&region, class, &closure, &named);
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
