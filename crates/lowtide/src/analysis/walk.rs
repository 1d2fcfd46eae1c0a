//! Walks along downsets, in either direction of time.
//!
//! A schedule that grows from one end is a walk through downsets: sets closed under predecessors or, from the
//! other end, under successors. For a value, such a walk needs only the moments when the value *opens* and
//! when it *closes*.
//! - Forwards, the definition opens a value, and the last of its uses closes it. A live-in is open from the
//!   start; a live-out never closes.
//! - Backwards, the first use opens a value, and the definition closes it. A live-out is open from the start;
//!   a live-in never closes.
//!
//! So one [`LiveGraph`] serves both directions, and both give a downset the same pressure.

use super::closure::Closure;
use crate::bits::BitSet;
use crate::index::{ClassId, InstrId, Rows, ValueId};
use crate::region::Region;

/// The end from which a schedule grows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the first instruction to the last.
    TopDown,
    /// From the last instruction to the first.
    BottomUp,
}

/// The pressure of one or several classes in one number: a bit field for each class, with a spare bit on top.
///
/// Sums and differences of such numbers are those of the fields. With the spare bits set before a
/// subtraction, no field can borrow from the next one. Afterwards, a spare bit is still set exactly where its
/// field borrowed nothing: where one field is not above the other. So one subtraction compares all classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PressureFields {
    /// For each counted class, the position and the width of its field, without the spare bit.
    fields: Vec<Option<(u32, u32)>>,
    spare: i64,
}

impl PressureFields {
    /// Count one class only.
    pub fn one(region: &Region, class: ClassId) -> Self {
        let fields = region.class_ids().map(|other| (other == class).then_some((0, 62))).collect();
        PressureFields { fields, spare: 1 << 62 }
    }

    /// Count all classes with a limit. Return `None` if their fields do not fit into one number. The live
    /// weight may exceed a limit by at most the operands of one instruction.
    pub fn within(region: &Region, limits: &[Option<u32>]) -> Option<Self> {
        let most = |class, limit| u64::from(limit) + most_of_one_instr(region, class);
        let limits = limits.iter().enumerate();
        PressureFields::with_room(
            limits.map(|(class, limit)| limit.map(|limit| most(ClassId::at(class), limit))),
        )
    }

    /// As [`PressureFields::within`], with room for the live weight of any order.
    pub fn without_limits(region: &Region, limits: &[Option<u32>]) -> Option<Self> {
        let mut most: Vec<u64> = region.class_ids().map(|class| u64::from(region.through(class))).collect();
        region.values().iter().for_each(|value| most[value.class.index()] += u64::from(value.weight));
        PressureFields::with_room(
            limits.iter().zip(most).map(|(limit, most)| limit.map(|limit| most.max(limit.into()))),
        )
    }

    /// Make fields with room for these maxima.
    fn with_room(most: impl Iterator<Item = Option<u64>>) -> Option<Self> {
        let mut packing = PressureFields { fields: Vec::new(), spare: 0 };
        let mut taken = 0;
        for most in most {
            let bits = most.map(|most| u64::BITS - most.leading_zeros());
            if taken + bits.unwrap_or(0) >= i64::BITS - 1 {
                return None;
            }
            packing.fields.push(bits.map(|bits| (taken, bits)));
            if let Some(bits) = bits {
                packing.spare |= 1 << (taken + bits);
                taken += bits + 1;
            }
        }
        Some(packing)
    }

    /// Return the weight of one register of a class. 0 if the class is not counted.
    fn unit(&self, class: ClassId) -> i64 {
        self.fields[class.index()].map_or(0, |(start, _)| 1 << start)
    }

    /// Pack limits into one number.
    pub fn pack(&self, limits: &[Option<u32>]) -> i64 {
        let limits = limits.iter().enumerate().filter_map(|(class, limit)| limit.map(|limit| (class, limit)));
        limits.map(|(class, limit)| self.unit(ClassId::at(class)) * i64::from(limit)).sum()
    }

    /// As [`PressureFields::pack`]. A limit without room becomes the highest one that has room.
    pub(crate) fn pack_within(&self, limits: &[Option<u32>]) -> i64 {
        let field = |class: ClassId| {
            let most = self.unpack(self.everything(), class);
            self.unit(class) * i64::from(limits[class.index()].map_or(most, |limit| limit.min(most)))
        };
        self.classes().map(field).sum()
    }

    /// Return the fields of the counted classes: position and width of each.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.fields.iter().filter_map(|field| *field)
    }

    /// Return the spare bits.
    pub(crate) fn spare(&self) -> i64 {
        self.spare
    }

    /// Return the counted classes.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> + '_ {
        (0..self.fields.len()).filter(|&class| self.fields[class].is_some()).map(ClassId::at)
    }

    /// Return the pressure of a counted class.
    pub fn unpack(&self, live: i64, class: ClassId) -> u32 {
        self.fields[class.index()].map_or(0, |(start, bits)| (live >> start & ((1 << bits) - 1)) as u32)
    }

    /// Return a pressure above any limit.
    pub(crate) fn everything(&self) -> i64 {
        self.fields.iter().flatten().map(|(start, bits)| ((1 << bits) - 1) << start).sum()
    }

    /// Return the maximum of two pressures, class by class.
    pub(crate) fn highest(&self, one: i64, other: i64) -> i64 {
        let field = |class| {
            let highest = self.unpack(one, class).max(self.unpack(other, class));
            self.unit(class) * i64::from(highest)
        };
        self.classes().map(field).sum()
    }

    /// Return the minimum of two pressures, class by class.
    pub(crate) fn lowest(&self, one: i64, other: i64) -> i64 {
        one + other - self.highest(one, other)
    }

    /// Return whether no class has more in `live` than in `limit`.
    #[inline]
    pub fn fits(&self, live: i64, limit: i64) -> bool {
        ((limit | self.spare) - live) & self.spare == self.spare
    }
}

/// Return the most that one instruction reads or writes of a class.
fn most_of_one_instr(region: &Region, class: ClassId) -> u64 {
    let weight = |values: &[ValueId]| {
        let values = values.iter().map(|value| &region.values()[value.index()]);
        values.filter(|value| value.class == class).map(|value| u64::from(value.weight)).sum::<u64>()
    };
    region
        .instrs()
        .map(|instr| weight(region.defined_values(instr)).max(weight(region.used_values(instr))))
        .max()
        .unwrap_or(0)
}

/// A region as seen by a walk in one direction, with one weight for each value.
#[derive(Clone, Debug)]
pub struct LiveGraph {
    count: usize,
    packing: PressureFields,
    /// The instructions that wait for an instruction.
    next: Rows<u32>,
    /// The values that an instruction opens, and those for which it is a closer.
    pub(crate) opens: Rows<u32>,
    pub(crate) closes: Rows<u32>,
    /// The instructions that open a value, for values with more than one.
    rivals: Vec<u32>,
    /// The state at the start, from which every walk begins.
    pub(crate) values: Vec<LiveValue>,
    pub(crate) instrs: Vec<LiveInstr>,
    pub(crate) live: i64,
}

/// A value at some moment of a walk. All that a step needs is in one place, since the values of an
/// instruction are all over memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveValue {
    pub(crate) weight: i64,
    /// Openers passed so far.
    pub(crate) opened: u32,
    /// The closers still to pass, and the sum of their numbers, modulo 2^32. With one closer left, the sum is
    /// its number.
    pub(crate) left: u32,
    pub(crate) closer_sum: u32,
    /// Its range of [`LiveGraph::rivals`].
    first_rival: u32,
    end_of_rivals: u32,
}

/// An instruction at some moment of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveInstr {
    /// Its change of the live weight.
    pub(crate) delta: i64,
    /// The number of instructions that it still waits for.
    pub(crate) waits: u32,
    /// Its position among the ready instructions, or [`NOT_READY`].
    place: u32,
}

const NOT_READY: u32 = u32::MAX;

/// The number added to the closers of a value that never closes.
pub(crate) const NEVER: u32 = 1 << 30;

impl LiveGraph {
    /// Make the graph of a region, with the classes that `packing` counts.
    pub fn new(region: &Region, direction: Direction, packing: &PressureFields) -> Self {
        let weigh = |class| packing.unit(class);
        let count = region.len();
        let neighbours = |instr: InstrId| match direction {
            Direction::TopDown => (region.preds(instr), region.succs(instr)),
            Direction::BottomUp => (region.succs(instr), region.preds(instr)),
        };
        let mut next = Rows::with_capacity(count, region.edge_count());
        let mut instrs = Vec::with_capacity(count);
        for instr in region.instrs() {
            let (before, after) = neighbours(instr);
            instrs.push(LiveInstr { delta: 0, waits: before.len() as u32, place: NOT_READY });
            after.iter().for_each(|edge| next.push(edge.instr.0));
            next.end_row();
        }
        let mut number = vec![u32::MAX; region.values().len()];
        let mut values: Vec<LiveValue> = Vec::new();
        let mut live: i64 =
            region.class_ids().map(|class| weigh(class) * i64::from(region.through(class))).sum();
        for (position, value) in region.values().iter().enumerate() {
            let weight = weigh(value.class) * i64::from(value.weight);
            let uses = region.value_uses(ValueId::at(position)).len() as u32;
            if weight == 0 || uses == 0 && !value.live_out {
                continue;
            }
            number[position] = values.len() as u32;
            let (is_open, left) = match direction {
                Direction::TopDown => (value.def.is_none(), if value.live_out { NEVER } else { uses }),
                Direction::BottomUp => (value.live_out, if value.def.is_none() { NEVER } else { 1 }),
            };
            let opened = u32::from(is_open);
            values.push(LiveValue { weight, opened, left, closer_sum: 0, first_rival: 0, end_of_rivals: 0 });
            live += if is_open { weight } else { 0 };
        }
        let defined = numbered(region, &number, |instr| region.defined_values(instr));
        let used = numbered(region, &number, |instr| region.used_values(instr));
        let (opens, closes) = match direction {
            Direction::TopDown => (defined, used),
            Direction::BottomUp => (used, defined),
        };
        let pairs =
            (0..count).flat_map(|i| opens.row(i).iter().map(move |&value| (value as usize, i as u32)));
        let openers = Rows::group(values.len(), pairs);
        let mut rivals = Vec::new();
        for (number, value) in values.iter_mut().enumerate() {
            value.first_rival = rivals.len() as u32;
            rivals.extend(Some(openers.row(number)).filter(|row| row.len() > 1).into_iter().flatten());
            value.end_of_rivals = rivals.len() as u32;
        }
        for (number, instr) in instrs.iter_mut().enumerate() {
            for &value in opens.row(number) {
                let value = &values[value as usize];
                instr.delta += if value.opened == 0 { value.weight } else { 0 };
            }
            for &value in closes.row(number) {
                let value = &mut values[value as usize];
                instr.delta -= if value.left == 1 { value.weight } else { 0 };
                value.closer_sum = value.closer_sum.wrapping_add(number as u32);
            }
        }
        LiveGraph { count, packing: packing.clone(), next, opens, closes, rivals, values, instrs, live }
    }

    /// Leave out the dependences that follow from others. Instructions become ready at the same moments, in
    /// the same order. `closure` is that of the region, and `direction` that of the graph.
    pub(crate) fn without_redundant(mut self, closure: &Closure, direction: Direction) -> Self {
        let mut next = Rows::with_capacity(self.count, self.next.items().len());
        let mut later = BitSet::new(self.count);
        self.instrs.iter_mut().for_each(|instr| instr.waits = 0);
        for instr in 0..self.count {
            let row = self.next.row(instr);
            later.clear();
            for &other in row.iter().filter(|_| row.len() > 1) {
                later.unite(match direction {
                    Direction::TopDown => closure.descendants(InstrId(other)),
                    Direction::BottomUp => closure.ancestors(InstrId(other)),
                });
            }
            for &other in row.iter().filter(|&&other| !later.contains(other)) {
                next.push(other);
                self.instrs[other as usize].waits += 1;
            }
            next.end_row();
        }
        self.next = next;
        self
    }

    /// Return the number of instructions.
    #[allow(clippy::len_without_is_empty)] // a region has at least one instruction
    pub fn len(&self) -> usize {
        self.count
    }

    /// Return the instructions that wait for an instruction.
    pub(crate) fn next(&self, instr: u32) -> &[u32] {
        self.next.row(instr as usize)
    }

    /// Return the packing of pressures into numbers.
    pub fn packing(&self) -> &PressureFields {
        &self.packing
    }
}

/// For each instruction the numbers of some of its values, without those that have none.
fn numbered<'r>(region: &Region, number: &[u32], of: impl Fn(InstrId) -> &'r [ValueId]) -> Rows<u32> {
    let mut rows = Rows::with_capacity(region.len(), number.len());
    for instr in region.instrs() {
        let known = of(instr).iter().map(|value| number[value.index()]).filter(|number| *number != u32::MAX);
        known.for_each(|number| rows.push(number));
        rows.end_row();
    }
    rows
}

/// A downset that grows and shrinks, instruction by instruction.
///
/// The effect of each instruction is kept up to date, so [`Walk::delta`] is a table lookup.
#[derive(Clone, Debug)]
pub struct Walk<'g> {
    graph: &'g LiveGraph,
    values: Vec<LiveValue>,
    instrs: Vec<LiveInstr>,
    ready: Vec<u32>,
    trail: Vec<u32>,
    live: i64,
    /// Ready instructions that have become ready or cheaper.
    improved: Vec<u32>,
    /// The instructions that [`Walk::fits_along`] has to undo.
    passed: Vec<u32>,
}

impl<'g> Walk<'g> {
    /// Return the empty downset.
    pub fn new(graph: &'g LiveGraph) -> Self {
        let mut walk = Walk {
            graph,
            values: graph.values.clone(),
            instrs: graph.instrs.clone(),
            ready: Vec::new(),
            trail: Vec::with_capacity(graph.count),
            live: graph.live,
            improved: Vec::new(),
            passed: Vec::new(),
        };
        for instr in 0..graph.count as u32 {
            if walk.instrs[instr as usize].waits == 0 {
                walk.add_ready(instr);
                walk.improved.push(instr);
            }
        }
        walk
    }

    /// Return the weight that is live at the boundary of the downset.
    #[inline]
    pub fn live(&self) -> i64 {
        self.live
    }

    /// Return the instructions that can be added, in no particular order.
    #[inline]
    pub fn ready(&self) -> &[u32] {
        &self.ready
    }

    /// Return the instructions of the downset, in the order in which they were added.
    #[inline]
    pub fn trail(&self) -> &[u32] {
        &self.trail
    }

    /// Return whether the downset holds all instructions.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.trail.len() == self.graph.count
    }

    /// Return the change of the live weight by `instr`.
    #[inline]
    pub fn delta(&self, instr: u32) -> i64 {
        self.instrs[instr as usize].delta
    }

    /// Add a ready instruction.
    pub fn push(&mut self, instr: u32) {
        let graph = self.graph;
        self.remove_ready(instr);
        self.trail.push(instr);
        for &value in graph.opens.row(instr as usize) {
            let value = &mut self.values[value as usize];
            value.opened += 1;
            if value.opened == 1 {
                let LiveValue { weight, first_rival, end_of_rivals, .. } = *value;
                self.live += weight;
                for &rival in &graph.rivals[first_rival as usize..end_of_rivals as usize] {
                    self.make_cheaper(rival, weight);
                }
            }
        }
        for &value in graph.closes.row(instr as usize) {
            let value = &mut self.values[value as usize];
            value.left -= 1;
            value.closer_sum = value.closer_sum.wrapping_sub(instr);
            let LiveValue { weight, left, closer_sum, .. } = *value;
            match left {
                0 => self.live -= weight,
                1 => self.make_cheaper(closer_sum, weight),
                _ => {}
            }
        }
        for &other in graph.next.row(instr as usize) {
            let waits = &mut self.instrs[other as usize].waits;
            *waits -= 1;
            if *waits == 0 {
                self.add_ready(other);
                self.improved.push(other);
            }
        }
    }

    #[inline]
    fn make_cheaper(&mut self, instr: u32, weight: i64) {
        let state = &mut self.instrs[instr as usize];
        state.delta -= weight;
        if state.place != NOT_READY {
            self.improved.push(instr);
        }
    }

    /// Remove the last instruction.
    pub fn pop(&mut self) {
        let graph = self.graph;
        let Some(instr) = self.trail.pop() else { return };
        for &other in graph.next.row(instr as usize) {
            if self.instrs[other as usize].waits == 0 {
                self.remove_ready(other);
            }
            self.instrs[other as usize].waits += 1;
        }
        self.add_ready(instr);
        for &value in graph.closes.row(instr as usize) {
            let value = &mut self.values[value as usize];
            match value.left {
                0 => self.live += value.weight,
                1 => self.instrs[value.closer_sum as usize].delta += value.weight,
                _ => {}
            }
            value.left += 1;
            value.closer_sum = value.closer_sum.wrapping_add(instr);
        }
        for &value in graph.opens.row(instr as usize) {
            let value = &mut self.values[value as usize];
            value.opened -= 1;
            if value.opened == 0 {
                self.live -= value.weight;
                for &rival in &graph.rivals[value.first_rival as usize..value.end_of_rivals as usize] {
                    self.instrs[rival as usize].delta += value.weight;
                }
            }
        }
    }

    /// Return whether the live weight stays within `limit` if `instr` comes next and `others` follow. Each
    /// must come after all its predecessors. The walk does not change.
    pub fn fits_along(&mut self, instr: u32, others: impl Iterator<Item = u32>, limit: i64) -> bool {
        let graph = self.graph;
        let mut live = self.live + self.delta(instr);
        if !graph.packing.fits(live, limit) {
            return false;
        }
        self.passed.clear();
        self.pass(instr);
        let mut fits = true;
        for other in others {
            live += self.pass(other);
            if !graph.packing.fits(live, limit) {
                fits = false;
                break;
            }
        }
        while let Some(other) = self.passed.pop() {
            for &value in graph.opens.row(other as usize) {
                self.values[value as usize].opened -= 1;
            }
            for &value in graph.closes.row(other as usize) {
                self.values[value as usize].left += 1;
            }
        }
        fits
    }

    /// Count an instruction as passed, and return its change of the live weight.
    fn pass(&mut self, instr: u32) -> i64 {
        let graph = self.graph;
        let mut change = 0;
        for &value in graph.opens.row(instr as usize) {
            let value = &mut self.values[value as usize];
            change += if value.opened == 0 { value.weight } else { 0 };
            value.opened += 1;
        }
        for &value in graph.closes.row(instr as usize) {
            let value = &mut self.values[value as usize];
            value.left -= 1;
            change -= if value.left == 0 { value.weight } else { 0 };
        }
        self.passed.push(instr);
        change
    }

    /// Add instructions that do not raise the live weight until none is left. Only instructions that became
    /// ready or cheaper since the last call are examined: the others were not free then, and have not
    /// changed.
    pub fn take_free_moves(&mut self) {
        while let Some(instr) = self.improved.pop() {
            let LiveInstr { delta, place, .. } = self.instrs[instr as usize];
            if place != NOT_READY && self.graph.packing.fits(self.live + delta, self.live) {
                self.push(instr);
            }
        }
    }

    /// Remove all but the first `length` instructions. That state must have no free moves.
    pub fn undo_to(&mut self, length: usize) {
        while self.trail.len() > length {
            self.pop();
        }
        self.improved.clear();
    }

    /// Remove all instructions.
    pub fn restart(&mut self) {
        self.undo_to(0);
        self.improved.extend_from_slice(&self.ready);
    }

    /// Declare that the current state has no free moves.
    pub fn forget_improved(&mut self) {
        self.improved.clear();
    }

    /// Return whether an instruction can be added.
    #[inline]
    pub(crate) fn is_ready(&self, instr: u32) -> bool {
        self.instrs[instr as usize].place != NOT_READY
    }

    /// Take the instructions that have become ready or cheaper since the last call. Some may be neither any
    /// more, and some occur twice.
    pub(crate) fn take_improved(&mut self, improved: &mut Vec<u32>) {
        improved.clear();
        std::mem::swap(improved, &mut self.improved);
    }

    #[inline]
    fn add_ready(&mut self, instr: u32) {
        self.instrs[instr as usize].place = self.ready.len() as u32;
        self.ready.push(instr);
    }

    #[inline]
    fn remove_ready(&mut self, instr: u32) {
        let place = std::mem::replace(&mut self.instrs[instr as usize].place, NOT_READY);
        self.ready.swap_remove(place as usize);
        if let Some(&moved) = self.ready.get(place as usize) {
            self.instrs[moved as usize].place = place;
        }
    }
}
