//! A shader as blocks of operations on registers, and the regions made from the blocks.
//!
//! Every operation writes a register of its own. Within a block, the lowering knows the contents of each
//! variable. Between blocks a variable lives in its *home* registers, which no operation writes. The block
//! lists the lanes with the new contents at its end ([`Block::writes`]). A backward pass over the blocks
//! finds live lanes and dead operations.

use lowtide::region::{DepKind, InstrSpec, Region, RegionBuilder, RegionError};
use rustc_hash::FxHashMap;

/// Line and column, counted from 1.
pub(super) type Place = (u32, u32);

/// One component of a vector, or a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Lane {
    /// A lane of a register.
    Reg(u32, u8),
    /// The same with a minus sign.
    Minus(u32, u8),
    /// A constant, by its number.
    Const(u32),
}

impl Lane {
    /// Return the lane of a register, without its sign.
    pub(super) fn register(self) -> Option<(u32, u8)> {
        match self {
            Lane::Reg(reg, at) | Lane::Minus(reg, at) => Some((reg, at)),
            Lane::Const(_) => None,
        }
    }

    /// Return the same lane of another register.
    pub(super) fn of(self, reg: u32) -> Lane {
        match self {
            Lane::Reg(_, at) => Lane::Reg(reg, at),
            Lane::Minus(_, at) => Lane::Minus(reg, at),
            constant => constant,
        }
    }
}

/// The register classes of the regions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Class {
    /// A result that the shader computes.
    Reg,
    /// An input that is interpolated over a triangle.
    Interpolant,
    /// An input of a vertex.
    Attribute,
    /// An input that the hardware provides, such as the number of a vertex.
    Builtin,
    /// The same for all vertices or fragments.
    Uniform,
    /// Known when the shader is compiled.
    Constant,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Reg => "reg",
            Class::Interpolant => "interpolant",
            Class::Attribute => "attribute",
            Class::Builtin => "builtin",
            Class::Uniform => "uniform",
            Class::Constant => "constant",
        }
    }
}

/// A register of up to four lanes.
#[derive(Clone, Debug)]
pub(super) struct Reg {
    pub(super) class: Class,
    pub(super) lanes: u8,
    pub(super) name: String,
}

/// The memory effect of an operation. Memories are numbered, and different ones never overlap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Effect {
    /// No effect.
    None,
    /// A read of constant memory.
    Fetch,
    /// A read of a memory.
    Read(u32),
    /// A write to a memory, possibly with a read.
    Write(u32),
}

/// An operation.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) opcode: &'static str,
    pub(super) result: Option<u32>,
    pub(super) operands: Vec<Vec<Lane>>,
    pub(super) effect: Effect,
    pub(super) place: Option<Place>,
}

/// Straight-line code.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) ops: Vec<Op>,
    pub(super) next: Vec<usize>,
    pub(super) loop_depth: u32,
    /// The opcode that ends the block.
    pub(super) boundary: &'static str,
    /// The lanes that the end of the block needs: a condition, or the outputs of the shader.
    pub(super) keeps: Vec<Lane>,
    /// The lanes of home registers with a new value, and that value at the end of the block.
    pub(super) writes: Vec<((u32, u8), Lane)>,
    pub(super) place: Option<Place>,
}

/// A register that keeps the value of a home register from the start of a block, for uses after the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    pub(super) copy: u32,
    pub(super) home: u32,
}

/// A whole shader with all functions inlined.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub(super) regs: Vec<Reg>,
    pub(super) blocks: Vec<Block>,
    pub(super) constants: Vec<String>,
    pub(super) copies: Vec<Copied>,
}

/// A set of lanes of registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct LaneSet(Vec<u8>);

impl LaneSet {
    fn new(regs: usize) -> Self {
        LaneSet(vec![0; regs])
    }

    fn mask(&self, reg: u32) -> u8 {
        self.0[reg as usize]
    }

    fn insert(&mut self, reg: u32, lane: u8) {
        self.0[reg as usize] |= 1 << lane;
    }

    fn union(&mut self, other: &LaneSet) {
        for (mask, other) in self.0.iter_mut().zip(&other.0) {
            *mask |= other;
        }
    }
}

/// Return the cycles until a result can be used: rough figures, in the proportions of real GPUs.
fn latency(opcode: &str) -> u32 {
    match opcode {
        "tex" | "txl" | "txb" | "txd" | "txc" | "gather" | "txf" | "txq" => 40,
        "ld" | "atom" => 40,
        "ldc" | "lds" | "ldl" => 10,
        "rcp" | "rsq" | "sqrt" | "ex2" | "lg2" | "sin" | "cos" | "atan2" | "atan" | "asin" | "acos"
        | "sinh" | "cosh" | "tanh" | "asinh" | "acosh" | "atanh" => 8,
        "idiv" | "imod" => 16,
        _ => 4,
    }
}

impl Code {
    /// Make a region of every block with operations. Dead operations are removed, and a multiplication and an
    /// addition are fused where the result is the same.
    pub(super) fn regions(mut self) -> Result<Vec<Region>, RegionError> {
        let (live_ins, mut live_outs) = self.live();
        if self.join_copies(&live_ins) {
            live_outs = self.live().1;
        }
        drop(live_ins);
        let mut regions = Vec::new();
        for (position, live_out) in live_outs.into_iter().enumerate() {
            self.drop_dead(position, &live_out);
            self.fuse(position, &live_out);
            let block = &self.blocks[position];
            if !block.ops.is_empty() {
                regions.push(self.region(position, &live_out)?);
            }
        }
        Ok(regions)
    }

    fn is_held(&self, lane: Lane) -> Option<(u32, u8)> {
        lane.register().filter(|(reg, _)| self.regs[*reg as usize].class == Class::Reg)
    }

    /// Replace copies of home registers that do not change while the copy is live. Return whether there were
    /// any.
    fn join_copies(&mut self, live_ins: &[LaneSet]) -> bool {
        let mut copies_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for Copied { copy, home } in self.copies.iter().copied() {
            copies_of.entry(home).or_default().push(copy);
        }
        let mut joined: FxHashMap<u32, u32> =
            self.copies.iter().map(|Copied { copy, home }| (*copy, *home)).collect();
        for block in &self.blocks {
            for ((home, lane), _) in &block.writes {
                for copy in copies_of.get(home).into_iter().flatten() {
                    if block.next.iter().any(|next| live_ins[*next].mask(*copy) >> lane & 1 == 1) {
                        joined.remove(copy);
                    }
                }
            }
        }
        if joined.is_empty() {
            return false;
        }
        let rename = |lane: &mut Lane| {
            if let Some(home) = lane.register().and_then(|(reg, _)| joined.get(&reg)) {
                *lane = lane.of(*home);
            }
        };
        for block in &mut self.blocks {
            block.writes.retain(|((reg, _), _)| !joined.contains_key(reg));
            block.writes.iter_mut().for_each(|(_, lane)| rename(lane));
            block.keeps.iter_mut().for_each(rename);
            block.ops.iter_mut().flat_map(|op| &mut op.operands).flatten().for_each(rename);
        }
        true
    }

    /// Return the lanes that are live at the start of each block, and the lanes that its operations must
    /// preserve. The latter are lanes of their results and of the block's inputs.
    fn live(&self) -> (Vec<LaneSet>, Vec<LaneSet>) {
        let mut live_ins = vec![LaneSet::new(self.regs.len()); self.blocks.len()];
        let mut live_outs = live_ins.clone();
        let mut before = vec![Vec::new(); self.blocks.len()];
        for (position, block) in self.blocks.iter().enumerate() {
            block.next.iter().for_each(|next| before[*next].push(position));
        }
        // A block is visited again when a block after it has changed: nested loops take as many rounds as
        // levels.
        let mut is_open = vec![true; self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for position in (0..self.blocks.len()).rev() {
                if !std::mem::take(&mut is_open[position]) {
                    continue;
                }
                let block = &self.blocks[position];
                let mut after = LaneSet::new(self.regs.len());
                block.next.iter().for_each(|next| after.union(&live_ins[*next]));
                let mut live = after.clone();
                for ((home, lane), _) in &block.writes {
                    live.0[*home as usize] &= !(1 << lane);
                }
                let needed =
                    block.writes.iter().filter(|((home, lane), _)| after.mask(*home) >> lane & 1 == 1);
                let kept = needed.map(|(_, lane)| *lane).chain(block.keeps.iter().copied());
                for (reg, lane) in kept.filter_map(|lane| self.is_held(lane)) {
                    live.insert(reg, lane);
                }
                live_outs[position] = live.clone();
                for op in block.ops.iter().rev() {
                    if self.is_needed(op, &live) {
                        self.step_back(op, &mut live);
                    }
                }
                if live != live_ins[position] {
                    changed = true;
                    before[position].iter().for_each(|before| is_open[*before] = true);
                }
                live_ins[position] = live;
            }
        }
        (live_ins, live_outs)
    }

    fn is_needed(&self, op: &Op, live: &LaneSet) -> bool {
        matches!(op.effect, Effect::Write(_)) || op.result.is_some_and(|result| live.mask(result) != 0)
    }

    fn step_back(&self, op: &Op, live: &mut LaneSet) {
        if let Some(result) = op.result {
            live.0[result as usize] = 0;
        }
        for (reg, lane) in op.operands.iter().flatten().filter_map(|lane| self.is_held(*lane)) {
            live.insert(reg, lane);
        }
    }

    fn drop_dead(&mut self, position: usize, live_out: &LaneSet) {
        let mut live = live_out.clone();
        let mut ops = std::mem::take(&mut self.blocks[position].ops);
        ops.reverse();
        ops.retain(|op| {
            let needed = self.is_needed(op, &live);
            if needed {
                self.step_back(op, &mut live);
            }
            needed
        });
        ops.reverse();
        self.blocks[position].ops = ops;
    }

    /// Fuse `mul` and `add` into `mad` where the product has no other use.
    fn fuse(&mut self, position: usize, live_out: &LaneSet) {
        let block = &mut self.blocks[position];
        let mut readers: FxHashMap<u32, usize> = FxHashMap::default();
        for operand in block.ops.iter().flat_map(|op| &op.operands) {
            for (at, lane) in operand.iter().enumerate() {
                if let Some((reg, _)) = lane.register()
                    && !operand[..at]
                        .iter()
                        .any(|other| other.register().is_some_and(|(same, _)| same == reg))
                {
                    *readers.entry(reg).or_default() += 1;
                }
            }
        }
        let mut products: FxHashMap<u32, usize> = FxHashMap::default();
        let mut is_fused = vec![false; block.ops.len()];
        for position in 0..block.ops.len() {
            let op = &block.ops[position];
            if op.opcode == "mul" && op.operands.len() == 2 {
                products.extend(op.result.map(|result| (result, position)));
            }
            if op.opcode != "add" {
                continue;
            }
            let found = (0..op.operands.len()).find_map(|which| {
                let operand = &op.operands[which];
                let (reg, _) = operand.first()?.register()?;
                let product = *products.get(&reg)?;
                let is_whole = operand.len() == block.ops[product].operands[0].len()
                    && (operand.iter().enumerate())
                        .all(|(at, lane)| lane.register() == Some((reg, at as u8)));
                let is_only = readers.get(&reg) == Some(&1) && live_out.mask(reg) == 0;
                (is_whole && is_only).then_some((which, product))
            });
            if let Some((which, product)) = found {
                let other = op.operands[1 - which].clone();
                let mut operands = block.ops[product].operands.clone();
                operands.push(other);
                is_fused[product] = true;
                let op = &mut block.ops[position];
                op.opcode = "mad";
                op.operands = operands;
            }
        }
        let mut position = 0;
        block.ops.retain(|_| {
            position += 1;
            !is_fused[position - 1]
        });
    }

    fn region(&self, position: usize, live_out: &LaneSet) -> Result<Region, RegionError> {
        let block = &self.blocks[position];
        let line = block.ops.iter().find_map(|op| op.place).or(block.place);
        let line = line.map_or(String::new(), |(line, _)| format!("@{line}"));
        let mut builder = RegionBuilder::new(&format!("block{position}{line}"));
        builder.loop_depth(block.loop_depth);
        builder.boundary(block.boundary);
        let reg_class = builder.class(Class::Reg.name());
        let mut known = FxHashMap::default();
        let mut constants: FxHashMap<String, _> = FxHashMap::default();
        let mut taken: FxHashMap<String, u32> = FxHashMap::default();
        // An input and a uniform may have the same name.
        let mut unique = |name: &str| {
            let count = taken.entry(name.to_string()).or_default();
            *count += 1;
            if *count == 1 { name.to_string() } else { format!("{name}~{count}") }
        };
        let mut defined = LaneSet::new(self.regs.len());
        let mut found = LaneSet::new(self.regs.len());
        let mut memories: FxHashMap<u32, (Option<_>, Vec<_>)> = FxHashMap::default();
        for op in &block.ops {
            let latency = latency(op.opcode);
            let flags = match op.effect {
                Effect::None => "r",
                Effect::Fetch => "lr",
                // A second read later may return another value.
                Effect::Read(_) => "l",
                Effect::Write(_) if op.result.is_some() => "ls",
                Effect::Write(_) => "s",
            };
            let instr = builder.instr(InstrSpec { flags, ..InstrSpec::new(op.opcode, latency) });
            let mut masks: Vec<(u32, u8)> = Vec::new();
            for operand in &op.operands {
                for lane in operand {
                    if let Some((reg, lane)) = lane.register() {
                        match masks.iter_mut().find(|(known, _)| *known == reg) {
                            Some((_, mask)) => *mask |= 1 << lane,
                            None => masks.push((reg, 1 << lane)),
                        }
                    }
                }
                let texts = operand.iter().filter_map(|lane| match lane {
                    Lane::Const(number) => Some(self.constants[*number as usize].as_str()),
                    Lane::Reg(..) | Lane::Minus(..) => None,
                });
                let texts: Vec<&str> = texts.collect();
                if !texts.is_empty() {
                    // Equal numbers in all lanes are written once.
                    let is_one = texts.iter().all(|text| *text == texts[0]);
                    let lanes = if is_one { 1 } else { texts.len() };
                    let name = texts[..lanes].join(",");
                    let register = *constants.entry(name).or_insert_with_key(|name| {
                        let class = builder.class(Class::Constant.name());
                        let register = builder.register(&unique(name), class, lanes as u32, 1);
                        builder.live_in(register, (1 << lanes) - 1);
                        register
                    });
                    builder.uses(instr, register, (1 << lanes) - 1);
                }
            }
            for (reg, mask) in masks {
                let register = *known.entry(reg).or_insert_with(|| {
                    let Reg { class, lanes, name } = &self.regs[reg as usize];
                    let class = builder.class(class.name());
                    builder.register(&unique(name), class, u32::from(*lanes), 1)
                });
                builder.uses(instr, register, mask.into());
                found.0[reg as usize] |= mask & !defined.mask(reg);
            }
            if let Some(result) = op.result {
                let Reg { lanes, name, .. } = &self.regs[result as usize];
                let register = builder.register(&unique(name), reg_class, u32::from(*lanes), 1);
                known.insert(result, register);
                builder.defs(instr, register, (1 << lanes) - 1);
                defined.0[result as usize] = (1 << lanes) - 1;
            }
            if let Effect::Read(memory) | Effect::Write(memory) = op.effect {
                let (write, reads) = memories.entry(memory).or_default();
                let is_write = matches!(op.effect, Effect::Write(_));
                if let Some(write) = *write {
                    builder.depend(write, instr, DepKind::Memory, 1);
                }
                if is_write {
                    reads.drain(..).for_each(|read| builder.depend(read, instr, DepKind::Memory, 0));
                    *write = Some(instr);
                } else {
                    reads.push(instr);
                }
            }
        }
        let mut through = 0;
        for reg in 0..self.regs.len() as u32 {
            let touched = defined.mask(reg) | found.mask(reg);
            if let Some(register) = known.get(&reg) {
                if found.mask(reg) != 0 {
                    builder.live_in(*register, found.mask(reg).into());
                }
                if live_out.mask(reg) & touched != 0 {
                    builder.live_out(*register, (live_out.mask(reg) & touched).into());
                }
            }
            through += (live_out.mask(reg) & !touched).count_ones();
        }
        builder.through(reg_class, through);
        builder.depend_on_registers();
        builder.build()
    }
}
