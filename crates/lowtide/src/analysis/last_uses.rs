//! The values of a class, the uses that end them, and what ties the nodes of a network to each other.

use super::closure::Closure;
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, Rows, ValueId};
use crate::region::Region;

/// Return the values of a class that are live at some boundary.
pub(crate) fn class_values(region: &Region, class: ClassId) -> impl Iterator<Item = ValueId> + '_ {
    let ids = (0..region.values().len()).map(ValueId::at);
    ids.filter(move |&id| region.values()[id.index()].class == class && !region.is_dead(id))
}

/// What ties instructions to each other that have nodes in a network.
pub(crate) struct Ties {
    /// For each of them, those of them that come before it, and before no other such instruction.
    pub(crate) before: Rows<InstrId>,
    /// For each value of the class, its last uses.
    pub(crate) last_uses: Rows<InstrId>,
}

impl Ties {
    /// Find the ties of the `kept` instructions.
    pub(crate) fn new(region: &Region, class: ClassId, closure: &Closure, kept: &BitSet) -> Self {
        let mut before = Rows::with_capacity(region.len(), region.edge_count());
        let mut rest = BitSet::new(region.len());
        for instr in region.instrs() {
            if kept.contains(instr) {
                nearest_ancestors(closure, kept, instr, &mut rest, |ancestor| before.push(ancestor));
            }
            before.end_row();
        }
        let mut finder = LastUses::new(region, closure);
        let count = region.values().len();
        let mut last_uses = Rows::with_capacity(count, count);
        for id in (0..count).map(ValueId::at) {
            if region.values()[id.index()].class == class {
                finder.of(id).iter().for_each(|&instr| last_uses.push(instr));
            }
            last_uses.end_row();
        }
        Ties { before, last_uses }
    }
}

/// Call `visit` with those ancestors of `instr` among `kept` that come before no other such ancestor.
fn nearest_ancestors(
    closure: &Closure,
    kept: &BitSet,
    instr: InstrId,
    rest: &mut BitSet,
    mut visit: impl FnMut(InstrId),
) {
    rest.copy_common(closure.ancestors(instr), kept);
    // The last one in source order has no descendants among the others. It represents all of its ancestors.
    let mut last = instr.index();
    while let Some(nearest) = rest.bits().last_up_to(last) {
        last = nearest;
        let nearest = InstrId::at(nearest);
        rest.remove(nearest);
        rest.subtract_up_to(closure.ancestors(nearest), nearest);
        visit(nearest);
    }
}

/// Finds the uses of a value that come before no other of its uses: it is live until they are all done.
pub(crate) struct LastUses<'a> {
    region: &'a Region,
    closure: &'a Closure,
    scratch: BitSet,
    found: Vec<InstrId>,
}

impl<'a> LastUses<'a> {
    pub(crate) fn new(region: &'a Region, closure: &'a Closure) -> Self {
        LastUses { region, closure, scratch: BitSet::new(region.len()), found: Vec::new() }
    }

    pub(crate) fn of(&mut self, value: ValueId) -> &[InstrId] {
        let uses = self.region.value_uses(value);
        if let [only] = uses {
            // Most values have one use, and clearing a set takes time.
            self.found.clear();
            self.found.push(*only);
            return &self.found;
        }
        let set = &mut self.scratch;
        set.clear();
        uses.iter().for_each(|&instr| set.insert(instr));
        let closure = self.closure;
        self.found.clear();
        self.found.extend(uses.iter().filter(|&&instr| {
            // Descendants come later in source order.
            set.bits().is_disjoint_from(closure.descendants(instr), instr)
        }));
        &self.found
    }
}
