//! A part of a region, between two downsets, as a region of its own.
//!
//! Values that are live at the lower downset are live-in, and values that are live at the upper one are
//! live-out. Values that only pass through add their weight at every point. So the pressure after a downset
//! of the part is that of the corresponding downset of the whole. All algorithms on regions work on parts. A
//! part can have more dependences than the whole: those that a rule has proven harmless.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, RegisterId, Rows, ValueId};
use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};

/// A part of a region.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The part on its own.
    pub(crate) region: Region,
    /// For each instruction of the part, its instruction in the whole.
    pub(crate) instrs: Vec<InstrId>,
}

impl Part {
    /// Make the part of the instructions of `upper` that are not in `lower`, two downsets. Its order is as
    /// near to `guide` as dependences allow. `None` if there are no such instructions.
    pub(crate) fn between(whole: &Region, lower: &BitSet, upper: &BitSet, guide: &[InstrId]) -> Option<Part> {
        let inside = |instr: InstrId| upper.contains(instr) && !lower.contains(instr);
        let instrs: Vec<InstrId> = guide.iter().copied().filter(|&instr| inside(instr)).collect();
        (!instrs.is_empty()).then(|| Part::new(whole, lower, upper, instrs, &[]))
    }

    /// Make a whole region with more dependences, in an order that is as near to `guide` as they allow.
    /// `None` if they form a cycle.
    pub(crate) fn with_dependences(
        whole: &Region,
        additional: &[(InstrId, InstrId)],
        guide: &[InstrId],
    ) -> Option<Part> {
        let instrs = topological(whole, additional, guide)?;
        let (none, all) = (BitSet::new(whole.len()), BitSet::full(whole.len()));
        let additional: Vec<_> = additional.iter().map(|&(from, to)| (from, to, 0)).collect();
        Some(Part::new(whole, &none, &all, instrs, &additional))
    }

    /// Make the same part with more dependences, and another guide (both numbered as in the part). `None` if
    /// they form a cycle.
    pub(crate) fn with(&self, additional: &[(InstrId, InstrId)], guide: &[InstrId]) -> Option<Part> {
        let mut part = Part::with_dependences(&self.region, additional, guide)?;
        part.instrs.iter_mut().for_each(|instr| *instr = self.instrs[instr.index()]);
        Some(part)
    }

    /// Make the same part with more dependences between instructions that are in this order already, each
    /// with a latency.
    pub(crate) fn with_latencies(&self, additional: &[(InstrId, InstrId, u32)]) -> Part {
        let (none, all) = (BitSet::new(self.region.len()), BitSet::full(self.region.len()));
        let order = self.region.instrs().collect();
        Part { instrs: self.instrs.clone(), ..Part::new(&self.region, &none, &all, order, additional) }
    }

    /// Split at a downset of the part: what comes before it, and what comes after it.
    pub(crate) fn split(&self, downset: &BitSet) -> Vec<Part> {
        let (none, all) = (BitSet::new(self.region.len()), BitSet::full(self.region.len()));
        let order: Vec<InstrId> = self.region.instrs().collect();
        let ends = [(&none, downset), (downset, &all)];
        let parts =
            ends.into_iter().filter_map(|(lower, upper)| Part::between(&self.region, lower, upper, &order));
        let parts = parts.map(|part| Part { instrs: self.in_whole(&part.instrs), ..part });
        parts.collect()
    }

    /// Convert an order of the part to instructions of the whole.
    pub(crate) fn in_whole(&self, order: &[InstrId]) -> Vec<InstrId> {
        order.iter().map(|instr| self.instrs[instr.index()]).collect()
    }

    /// Return the instructions of the part in an order of the whole.
    pub(crate) fn in_part(&self, order: &[InstrId]) -> Vec<InstrId> {
        let numbers: FxHashMap<InstrId, u32> =
            (0..).zip(&self.instrs).map(|(number, &instr)| (instr, number)).collect();
        order.iter().filter_map(|instr| numbers.get(instr)).map(|&number| InstrId(number)).collect()
    }

    fn new(
        whole: &Region,
        lower: &BitSet,
        upper: &BitSet,
        instrs: Vec<InstrId>,
        additional: &[(InstrId, InstrId, u32)],
    ) -> Part {
        let inside = |instr: InstrId| upper.contains(instr) && !lower.contains(instr);
        let mut number = vec![u32::MAX; whole.len()];
        for (position, instr) in instrs.iter().enumerate() {
            number[instr.index()] = position as u32;
        }
        let renumbered = |instr: InstrId| InstrId(number[instr.index()]);
        let mut builder = RegionBuilder::new(whole.name());
        for name in whole.classes() {
            builder.class(name);
        }
        for &instr in &instrs {
            let units: Vec<(&str, u32)> =
                whole.units(instr).iter().map(|need| (&*need.unit, need.cycles)).collect();
            builder.instr(InstrSpec { units: &units, ..InstrSpec::new("", 0) });
        }
        let mut through: Vec<u32> = whole.class_ids().map(|class| whole.through(class)).collect();
        for (position, value) in whole.values().iter().enumerate() {
            let id = ValueId::at(position);
            let is_open = value.def.is_none_or(|def| lower.contains(def));
            if !is_open && !value.def.is_some_and(inside) || whole.is_dead(id) {
                continue;
            }
            let uses = whole.value_uses(id);
            let goes_out = value.live_out || uses.iter().any(|&instr| !upper.contains(instr));
            let is_used = uses.iter().any(|&instr| inside(instr));
            if is_open && !is_used {
                through[value.class.index()] += if goes_out { value.weight } else { 0 };
                continue;
            }
            let register: RegisterId = builder.register("", value.class, 1, value.weight);
            match value.def.filter(|_| !is_open) {
                Some(def) => builder.defs(renumbered(def), register, 1),
                None => builder.live_in(register, 1),
            }
            for &instr in uses.iter().filter(|&&instr| inside(instr)) {
                builder.uses(renumbered(instr), register, 1);
            }
            if goes_out {
                builder.live_out(register, 1);
            }
        }
        for (class, weight) in through.into_iter().enumerate() {
            builder.through(ClassId::at(class), weight);
        }
        for &instr in &instrs {
            for edge in whole.preds(instr).iter().filter(|edge| inside(edge.instr)) {
                builder.depend(renumbered(edge.instr), renumbered(instr), DepKind::Barrier, edge.latency);
            }
        }
        for &(from, to, latency) in additional {
            builder.depend(renumbered(from), renumbered(to), DepKind::Barrier, latency);
        }
        let region = builder.build().expect("a part of a valid region is valid");
        Part { region, instrs }
    }
}

/// Return all instructions in an order that respects all dependences, as near to `guide` as possible. None if
/// there is a cycle.
fn topological(
    region: &Region,
    additional: &[(InstrId, InstrId)],
    guide: &[InstrId],
) -> Option<Vec<InstrId>> {
    let mut waits: Vec<usize> = region.instrs().map(|instr| region.preds(instr).len()).collect();
    additional.iter().for_each(|(_, to)| waits[to.index()] += 1);
    let more = Rows::group(region.len(), additional.iter().map(|(from, to)| (from.index(), *to)));
    let mut rank = vec![0; region.len()];
    for (position, instr) in guide.iter().enumerate() {
        rank[instr.index()] = position;
    }
    let ready = region.instrs().filter(|instr| waits[instr.index()] == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = ready.map(|instr| Reverse(rank[instr.index()])).collect();
    let mut order = Vec::with_capacity(region.len());
    while let Some(Reverse(position)) = ready.pop() {
        let instr = guide[position];
        order.push(instr);
        let after = region.succs(instr).iter().map(|edge| edge.instr);
        for other in after.chain(more.row(instr.index()).iter().copied()) {
            waits[other.index()] -= 1;
            if waits[other.index()] == 0 {
                ready.push(Reverse(rank[other.index()]));
            }
        }
    }
    (order.len() == region.len()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};

    /// Some downset that holds all of `lower`: the way of a random order up to a random point.
    fn downset_above(region: &Region, lower: usize, random: &mut Random) -> usize {
        let order = random_order(region, random);
        let count = random.below(region.len() + 1);
        order[..count].iter().fold(lower, |set, instr| set | 1 << instr.0)
    }

    #[test]
    fn pressures_are_those_of_the_whole() {
        let mut random = Random::new(1);
        let mut parts = 0;
        for region in regions(0..150, 10) {
            let whole = Small::new(&region, &[]);
            let lower = downset_above(&region, 0, &mut random);
            let upper = downset_above(&region, lower, &mut random);
            let guide = random_order(&region, &mut random);
            let set = |mask: usize| {
                BitSet::of(region.len(), region.instrs().filter(|instr| mask >> instr.0 & 1 == 1))
            };
            let Some(part) = Part::between(&region, &set(lower), &set(upper), &guide) else {
                assert_eq!(lower, upper);
                continue;
            };
            parts += 1;
            assert!(part.instrs.is_sorted_by_key(|instr| guide.iter().position(|other| other == instr)));
            // More dependences, along some other order, leave fewer downsets, but with the same pressures.
            let along = random_order(&part.region, &mut random);
            let more: Vec<(InstrId, InstrId)> =
                along.windows(2).filter(|_| random.chance(20)).map(|pair| (pair[0], pair[1])).collect();
            let tighter = part.with(&more, &random_order(&part.region, &mut random)).expect("no cycle");
            let more_in_whole: Vec<(InstrId, InstrId)> =
                more.iter().map(|&(a, b)| (part.instrs[a.index()], part.instrs[b.index()])).collect();
            let whole_with_more = Small::new(&region, &more_in_whole);
            for (part, whole) in [(&part, &whole), (&tighter, &whole_with_more)] {
                let small = Small::new(&part.region, &[]);
                for (set, pressure) in small.pressures.iter().enumerate() {
                    let inside = (0..).zip(&part.instrs).filter(|(number, _)| set >> number & 1 == 1);
                    let in_whole = inside.fold(lower, |all, (_, instr)| all | 1 << instr.0);
                    assert_eq!(
                        pressure,
                        &whole.pressures[in_whole],
                        "{} {lower:b}..{upper:b}",
                        region.name()
                    );
                }
                let order = random_order(&part.region, &mut random);
                assert_eq!(part.in_part(&part.in_whole(&order)), order);
            }
        }
        assert!(parts > 1_000, "{parts}");
    }

    #[test]
    fn dependences_in_a_circle_are_refused() {
        let region = crate::minreg::made::Made::Chains.region(8, 3);
        let guide: Vec<InstrId> = region.instrs().collect();
        let part =
            Part::between(&region, &BitSet::new(region.len()), &BitSet::full(region.len()), &guide).unwrap();
        let (first, last) = (InstrId(0), *guide.last().unwrap());
        assert!(part.with(&[(first, last), (last, first)], &guide).is_none());
        assert!(part.with(&[(first, last)], &guide).is_some());
    }
}
