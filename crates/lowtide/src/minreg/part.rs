//! A part of a region, between two downsets, as a region of its own.
//!
//! What is live at the lower downset comes in, what is live at the upper one goes out, and what only passes through weighs on every
//! point. So the pressure after a downset of the part is that of the corresponding downset of the whole, and everything that
//! works on regions works on parts. A part can have more dependences than the whole: those that a rule has found to do no harm.

use crate::analysis::closure::contains;
use crate::index::{ClassId, InstrId, RegisterId, ValueId};
use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};

/// A part of a region.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The part on its own.
    pub(crate) region: Region,
    /// For each instruction of the part, which one of the whole it is.
    pub(crate) instrs: Vec<InstrId>,
}

impl Part {
    /// The instructions of `upper` that are not in `lower`, two downsets, with additional dependences among them. None if there are
    /// no instructions, or if the dependences form a cycle.
    pub(crate) fn between(
        whole: &Region,
        lower: &[u64],
        upper: &[u64],
        additional: &[(InstrId, InstrId)],
    ) -> Option<Part> {
        let inside = |instr: InstrId| contains(upper, instr) && !contains(lower, instr);
        let instrs = topological(whole, &inside, additional)?;
        let mut number = vec![u32::MAX; whole.len()];
        for (position, instr) in instrs.iter().enumerate() {
            number[instr.index()] = position as u32;
        }
        let renumbered = |instr: InstrId| InstrId(number[instr.index()]);
        let mut builder = RegionBuilder::new(whole.name());
        for name in whole.classes() {
            builder.class(name);
        }
        for _ in &instrs {
            builder.instr(InstrSpec::new("", 0));
        }
        let mut through: Vec<u32> = whole.class_ids().map(|class| whole.through(class)).collect();
        for (position, value) in whole.values().iter().enumerate() {
            let id = ValueId::at(position);
            let is_open = value.def.is_none_or(|def| contains(lower, def));
            if !is_open && !value.def.is_some_and(inside) || whole.is_dead(id) {
                continue;
            }
            let uses = whole.value_uses(id);
            let goes_out = value.live_out || uses.iter().any(|&instr| !contains(upper, instr));
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
                builder.depend(renumbered(edge.instr), renumbered(instr), DepKind::Barrier, 0);
            }
        }
        for &(from, to) in additional {
            builder.depend(renumbered(from), renumbered(to), DepKind::Barrier, 0);
        }
        let region = builder.build().expect("a part of a valid region is valid");
        Some(Part { region, instrs })
    }
}

/// The instructions inside in an order that respects all dependences, as near to the source order as possible.
fn topological(
    whole: &Region,
    inside: &impl Fn(InstrId) -> bool,
    additional: &[(InstrId, InstrId)],
) -> Option<Vec<InstrId>> {
    let members: Vec<InstrId> = whole.instrs().filter(|&instr| inside(instr)).collect();
    if additional.iter().all(|(from, to)| from < to) {
        return (!members.is_empty()).then_some(members);
    }
    let mut waits = vec![0u32; whole.len()];
    let mut more = vec![Vec::new(); whole.len()];
    for &instr in &members {
        waits[instr.index()] = whole.preds(instr).iter().filter(|edge| inside(edge.instr)).count() as u32;
    }
    for &(from, to) in additional {
        more[from.index()].push(to);
        waits[to.index()] += 1;
    }
    let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<InstrId>> = members
        .iter()
        .filter(|instr| waits[instr.index()] == 0)
        .map(|instr| std::cmp::Reverse(*instr))
        .collect();
    let mut order = Vec::with_capacity(members.len());
    while let Some(std::cmp::Reverse(instr)) = ready.pop() {
        order.push(instr);
        let after = whole.succs(instr).iter().map(|edge| edge.instr).filter(|&other| inside(other));
        for other in after.chain(more[instr.index()].iter().copied()) {
            waits[other.index()] -= 1;
            if waits[other.index()] == 0 {
                ready.push(std::cmp::Reverse(other));
            }
        }
    }
    (order.len() == members.len() && !order.is_empty()).then_some(order)
}
