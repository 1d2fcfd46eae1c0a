//! From registers to values.
//!
//! Registers are not in single-assignment form: one may be written lane by lane, read in parts, and written
//! again. One pass over the source order keeps, for every register, its *fragments*: sets of lanes with the
//! same definition and the same uses so far. A use of some lanes of a fragment splits it. A write closes the
//! lanes it covers and opens a new fragment. The closed and the remaining fragments are the values.
//!
//! The result is correct for *every* legal order if the dependences keep each use between the definition it
//! reads and the next one. The same pass checks that, and refuses a region whose dependences allow a hazard.
//! Theorem: in any legal order, a lane is live between two instructions exactly if its value is defined
//! before and needed after. (Liveness is that of a backward scan over the registers.)

use super::builder::Tables;
use super::{Edge, Lanes, Operand, RegionBuilder, RegionError, Register, Value};
use crate::index::{ClassId, InstrId, RegisterId, Rows, ValueId, add_up};

/// The values of a region, with the tables that lead to and from them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Values {
    pub(crate) values: Vec<Value>,
    pub(crate) uses: Rows<InstrId>,
    /// The values that each instruction defines, and behind them those that each instruction reads: one table
    /// has fewer allocations than two.
    pub(crate) touched: Rows<ValueId>,
    /// Most regions have none, and need no memory for it.
    pub(crate) overwritten: Option<Rows<(ClassId, u32)>>,
}

impl Values {
    /// Return the same values of `count` instructions in an order that does not depend on the numbers of
    /// registers.
    pub(super) fn sorted(&self, count: usize) -> Values {
        let mut ids: Vec<usize> = (0..self.values.len()).collect();
        ids.sort_by_key(|&id| {
            let value = &self.values[id];
            (value.def, value.class, value.weight, value.live_out, self.uses.row(id))
        });
        let mut uses = Rows::with_capacity(ids.len(), self.uses.items().len());
        for &id in &ids {
            self.uses.row(id).iter().for_each(|&instr| uses.push(instr));
            uses.end_row();
        }
        let values = ids.into_iter().map(|id| self.values[id]).collect();
        Values::new(count, values, uses, self.overwritten.clone())
    }

    fn new(
        count: usize,
        values: Vec<Value>,
        uses: Rows<InstrId>,
        overwritten: Option<Rows<(ClassId, u32)>>,
    ) -> Values {
        // `starts` is one row ahead at first: each row's start then moves to its end while it is filled.
        let mut starts = vec![0u32; 2 * count + 2];
        for def in values.iter().filter_map(|value| value.def) {
            starts[def.index() + 2] += 1;
        }
        for instr in uses.items() {
            starts[count + instr.index() + 2] += 1;
        }
        add_up(&mut starts);
        let mut touched = vec![ValueId(0); starts[2 * count + 1] as usize];
        for (id, value) in (0..).map(ValueId).zip(&values) {
            let used = uses.row(id.index()).iter().map(|instr| count + instr.index());
            for row in value.def.map(InstrId::index).into_iter().chain(used) {
                let next = &mut starts[row + 1];
                touched[*next as usize] = id;
                *next += 1;
            }
        }
        starts.pop();
        Values { values, uses, touched: Rows::from_parts(starts, touched), overwritten }
    }
}

const NONE: u32 = u32::MAX;

/// Lanes of one register with the same definition and the same uses so far.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    register: RegisterId,
    lanes: Lanes,
    def: Option<InstrId>,
    /// The latest use, in `Derivation::links`.
    last_use: u32,
    live_out: bool,
    /// The next open fragment of the register.
    next: u32,
}

/// A list of uses, latest first. Fragments that were split share the older part.
#[derive(Clone, Copy, Debug)]
struct Link {
    instr: InstrId,
    older: u32,
}

/// The memory of a [`Derivation`], for the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    fragments: Vec<Fragment>,
    open: Vec<u32>,
    links: Vec<Link>,
    before: Vec<u32>,
    stack: Vec<InstrId>,
    /// By instruction, what it both reads and overwrites.
    overwritten: Vec<(usize, (ClassId, u32))>,
}

struct Derivation<'a> {
    registers: &'a [Register],
    /// The predecessors of each instruction, and behind them its successors.
    neighbours: &'a Rows<Edge>,
    fragments: &'a mut Vec<Fragment>,
    /// First open fragment of each register.
    open: &'a mut [u32],
    links: &'a mut Vec<Link>,
    /// `before[i] == j + 1`: `i` is known to come before `j`, the instruction at hand.
    before: &'a mut [u32],
    /// Whether `before` knows all of `j`'s ancestors, not only its direct predecessors.
    complete: bool,
    stack: &'a mut Vec<InstrId>,
}

pub(super) fn derive(
    builder: &RegionBuilder,
    Tables { defs, uses, neighbours, .. }: &Tables,
    scratch: &mut Scratch,
) -> Result<Values, RegionError> {
    let count = builder.len();
    let Scratch { fragments, open, links, before, stack, overwritten } = scratch;
    fragments.clear();
    open.clear();
    open.resize(builder.registers.len(), NONE);
    links.clear();
    before.clear();
    before.resize(count, 0);
    let registers = &builder.registers;
    let mut work =
        Derivation { registers, neighbours, fragments, open, links, before, complete: false, stack };
    for operand in &builder.live_in {
        work.define(builder, *operand, None)?;
    }
    overwritten.clear();
    for j in (0..count).map(InstrId::at) {
        work.complete = false;
        for edge in neighbours.row(j.index()) {
            work.before[edge.instr.index()] = j.0 + 1;
        }
        for operand in uses.row(j.index()) {
            work.read(builder, *operand, j)?;
        }
        for def in defs.row(j.index()) {
            let shared = work.define(builder, def.operand, Some(j))?;
            if shared != 0 {
                let register = &builder.registers[def.operand.register.index()];
                let weight = shared.count_ones() * register.lane_weight;
                let of_this = overwritten.iter_mut().rev().take_while(|(instr, _)| *instr == j.index());
                match of_this.map(|(_, entry)| entry).find(|(class, _)| *class == register.class) {
                    Some((_, sum)) => *sum += weight,
                    None => overwritten.push((j.index(), (register.class, weight))),
                }
            }
        }
    }
    for operand in &builder.live_out {
        work.leave(builder, *operand)?;
    }
    let overwritten = (!overwritten.is_empty()).then(|| Rows::group(count, overwritten.iter().copied()));
    Ok(work.finish(count, overwritten))
}

impl Derivation<'_> {
    /// Cuts fragment `index` down to `lanes`; the rest becomes a fragment of its own behind it.
    fn split(&mut self, index: u32, lanes: Lanes) {
        let rest = self.fragments.len() as u32;
        let fragment = &mut self.fragments[index as usize];
        let mut other = *fragment;
        other.lanes &= !lanes;
        fragment.lanes = lanes;
        fragment.next = rest;
        self.fragments.push(other);
    }

    /// Call `visit` with every open fragment of the operand, cut to its lanes. Return the lanes found.
    fn visit(
        &mut self,
        operand: Operand,
        mut visit: impl FnMut(&mut Self, u32) -> Result<(), RegionError>,
    ) -> Result<Lanes, RegionError> {
        let mut found = 0;
        let mut index = self.open[operand.register.index()];
        while index != NONE {
            let fragment = self.fragments[index as usize];
            let common = fragment.lanes & operand.lanes;
            if common != 0 {
                if common != fragment.lanes {
                    self.split(index, common);
                }
                found |= common;
                visit(self, index)?;
            }
            index = self.fragments[index as usize].next;
        }
        Ok(found)
    }

    fn read(&mut self, builder: &RegionBuilder, operand: Operand, j: InstrId) -> Result<(), RegionError> {
        let found = self.visit(operand, |work, index| {
            let fragment = work.fragments[index as usize];
            if let Some(def) = fragment.def
                && !work.comes_before(def, j)
            {
                return Err(builder.hazard(def, j, operand.register, ["reads", "writes"]));
            }
            work.fragments[index as usize].last_use = work.links.len() as u32;
            work.links.push(Link { instr: j, older: fragment.last_use });
            Ok(())
        })?;
        if found == operand.lanes {
            return Ok(());
        }
        Err(RegionError::UndefinedUse {
            instr: builder.describe(j),
            register: builder.register_name(operand.register),
            lanes: operand.lanes & !found,
        })
    }

    /// Open a fragment for a definition by `by`, or for a live-in. Close the overwritten fragments, and
    /// return their lanes that `by` itself reads.
    fn define(
        &mut self,
        builder: &RegionBuilder,
        operand: Operand,
        by: Option<InstrId>,
    ) -> Result<Lanes, RegionError> {
        let mut shared = 0;
        let found = self.visit(operand, |work, index| {
            let fragment = work.fragments[index as usize];
            let Some(j) = by.filter(|_| fragment.def != by) else {
                return Err(RegionError::DuplicateDefinition {
                    place: by.map_or_else(|| "the live-in list".to_string(), |j| builder.describe(j)),
                    register: builder.register_name(operand.register),
                    lanes: fragment.lanes,
                });
            };
            let mut link = fragment.last_use;
            if let (NONE, Some(def)) = (link, fragment.def)
                && !work.comes_before(def, j)
            {
                return Err(builder.hazard(def, j, operand.register, ["overwrites", "writes"]));
            }
            while link != NONE {
                let Link { instr, older } = work.links[link as usize];
                if instr == j {
                    shared |= fragment.lanes;
                } else if !work.comes_before(instr, j) {
                    return Err(builder.hazard(instr, j, operand.register, ["overwrites", "reads"]));
                }
                link = older;
            }
            Ok(())
        })?;
        if found != 0 {
            self.close(operand);
        }
        let open = &mut self.open[operand.register.index()];
        self.fragments.push(Fragment {
            register: operand.register,
            lanes: operand.lanes,
            def: by,
            last_use: NONE,
            live_out: false,
            next: *open,
        });
        *open = self.fragments.len() as u32 - 1;
        Ok(shared)
    }

    /// Take the fragments of the operand, which are cut to its lanes, off the register's list.
    fn close(&mut self, operand: Operand) {
        let mut previous = NONE;
        let mut index = self.open[operand.register.index()];
        while index != NONE {
            let fragment = self.fragments[index as usize];
            if fragment.lanes & operand.lanes == 0 {
                previous = index;
            } else if previous == NONE {
                self.open[operand.register.index()] = fragment.next;
            } else {
                self.fragments[previous as usize].next = fragment.next;
            }
            index = fragment.next;
        }
    }

    fn leave(&mut self, builder: &RegionBuilder, operand: Operand) -> Result<(), RegionError> {
        let found = self.visit(operand, |work, index| {
            work.fragments[index as usize].live_out = true;
            Ok(())
        })?;
        if found == operand.lanes {
            return Ok(());
        }
        Err(RegionError::UndefinedLiveOut {
            register: builder.register_name(operand.register),
            lanes: operand.lanes & !found,
        })
    }

    /// Return whether the dependences put `i` before `j`, the current instruction. A direct dependence nearly
    /// always decides it. Otherwise all ancestors of `j` are collected once.
    fn comes_before(&mut self, i: InstrId, j: InstrId) -> bool {
        let stamp = j.0 + 1;
        if !self.complete && self.before[i.index()] != stamp {
            self.complete = true;
            self.stack.clear();
            self.stack.extend(self.neighbours.row(j.index()).iter().map(|edge| edge.instr));
            while let Some(instr) = self.stack.pop() {
                for edge in self.neighbours.row(instr.index()) {
                    if self.before[edge.instr.index()] != stamp {
                        self.before[edge.instr.index()] = stamp;
                        self.stack.push(edge.instr);
                    }
                }
            }
        }
        self.before[i.index()] == stamp
    }

    fn finish(self, count: usize, overwritten: Option<Rows<(ClassId, u32)>>) -> Values {
        let mut values = Vec::with_capacity(self.fragments.len());
        let mut uses = Rows::with_capacity(self.fragments.len(), self.links.len());
        for fragment in self.fragments.iter() {
            let register = &self.registers[fragment.register.index()];
            values.push(Value {
                class: register.class,
                weight: fragment.lanes.count_ones() * register.lane_weight,
                def: fragment.def,
                live_out: fragment.live_out,
                register: fragment.register,
                lanes: fragment.lanes,
            });
            let mut link = fragment.last_use;
            while link != NONE {
                let Link { instr, older } = self.links[link as usize];
                uses.push(instr);
                link = older;
            }
            uses.open_row().reverse();
            uses.end_row();
        }
        Values::new(count, values, uses, overwritten)
    }
}
