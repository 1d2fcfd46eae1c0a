//! Generated regions, for tests, benchmarks and experiments. The same seed gives the same region everywhere.
//!
//! - [`Shape`]s cover the typical graphs of real code.
//! - [`register_program`] makes code that is *not* in single-assignment form: partial writes, redefinitions,
//!   tied, early-clobber and dead results.
//! - [`families`] has graphs that are hard for exact methods.
//! - [`shaders`] has blocks for machines that issue two operations at a time.

pub mod families;
pub mod shaders;

use crate::index::{ClassId, InstrId, RegisterId};
use crate::region::{DefFlags, DepKind, InstrSpec, Region, RegionBuilder};

pub use crate::random::Random;

/// The shape of a dependence graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Layers of equal width; an instruction reads from the layer before.
    Layered,
    /// Series and parallel composition, again and again.
    SeriesParallel,
    /// Independent chains that now and then read a common value.
    SharedChains,
    /// An expression tree.
    Tree,
    /// One loop body, several times over, with values carried from one round to the next.
    UnrolledLoop,
    /// Wide loads, lane-wise arithmetic, wide stores.
    WideVectors,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 6] = [
        Shape::Layered,
        Shape::SeriesParallel,
        Shape::SharedChains,
        Shape::Tree,
        Shape::UnrolledLoop,
        Shape::WideVectors,
    ];
}

/// Make a region of the given shape with about `size` instructions (at least one). It has weights, two
/// classes, latencies, live-ins and live-outs.
pub fn region(shape: Shape, size: usize, seed: u64) -> Region {
    let mut random = Random::new(seed ^ ((shape as u64) << 56));
    let size = size.max(1);
    let mut code = Code::new(&format!("{shape:?}-{size}-{seed}").to_lowercase());
    match shape {
        Shape::Layered => layered(&mut code, &mut random, size),
        Shape::SeriesParallel => series_parallel(&mut code, &mut random, size),
        Shape::SharedChains => shared_chains(&mut code, &mut random, size),
        Shape::Tree => tree(&mut code, &mut random, size),
        Shape::UnrolledLoop => unrolled_loop(&mut code, &mut random, size),
        Shape::WideVectors => wide_vectors(&mut code, &mut random, size),
    }
    code.finish(&mut random)
}

/// A value to read: lanes of a register.
type Part = (RegisterId, u64);

/// Single-assignment code under construction.
struct Code {
    builder: RegionBuilder,
    classes: [ClassId; 2],
    count: usize,
    registers: usize,
    results: Vec<Part>,
}

impl Code {
    fn new(name: &str) -> Self {
        let mut builder = RegionBuilder::new(name);
        let classes = [builder.class("vgpr"), builder.class("sgpr")];
        Code { builder, classes, count: 0, registers: 0, results: Vec::new() }
    }

    fn register(&mut self, class: ClassId, lanes: u32, weight: u32) -> RegisterId {
        self.registers += 1;
        self.builder.register(&format!("r{}", self.registers - 1), class, lanes, weight)
    }

    /// Add a live-in value.
    fn input(&mut self, random: &mut Random) -> Part {
        let class = self.classes[usize::from(random.chance(30))];
        let register = self.register(class, 1, 1 + random.below(3) as u32 / 2);
        self.builder.live_in(register, 1);
        (register, 1)
    }

    /// Add an operation on `operands` with a result of some lanes.
    fn operation(&mut self, random: &mut Random, operands: &[Part], lanes: u32) -> Part {
        let (name, latency) = random.pick(&[("add", 1), ("mul", 4), ("load", 80), ("rcp", 8), ("mov", 1)]);
        let instr = self.builder.instr(InstrSpec::new(name, latency));
        self.count += 1;
        for &(register, mask) in operands {
            self.builder.uses(instr, register, mask);
        }
        let class = self.classes[usize::from(random.chance(15))];
        let weight = 1 + random.below(5) as u32 / 4;
        let register = self.register(class, lanes, weight);
        let part = (register, u64::MAX >> (64 - lanes));
        self.builder.defs(instr, register, part.1);
        self.results.push(part);
        part
    }

    /// An operation without a result.
    fn sink(&mut self, operands: &[Part]) {
        let instr = self.builder.instr(InstrSpec::new("store", 1));
        self.count += 1;
        for &(register, mask) in operands {
            self.builder.uses(instr, register, mask);
        }
    }

    fn finish(mut self, random: &mut Random) -> Region {
        if self.count == 0 {
            self.sink(&[]);
        }
        for &(register, mask) in &self.results {
            if random.chance(8) {
                self.builder.live_out(register, mask);
            }
        }
        for class in self.classes {
            self.builder.through(class, random.below(4) as u32);
        }
        self.builder.depend_on_registers();
        self.builder.build().expect("generated regions are valid")
    }
}

fn layered(code: &mut Code, random: &mut Random, size: usize) {
    let width = 1 + random.below(8.min(size));
    let mut above: Vec<Part> = (0..width).map(|_| code.input(random)).collect();
    while code.count < size {
        let mut layer = Vec::new();
        while layer.len() < width && code.count < size {
            let operands: Vec<Part> = (0..1 + random.below(3)).map(|_| random.pick(&above)).collect();
            layer.push(code.operation(random, &operands, 1));
        }
        above = layer;
    }
}

fn series_parallel(code: &mut Code, random: &mut Random, size: usize) {
    fn expand(code: &mut Code, random: &mut Random, size: usize, from: Part) -> Part {
        if size <= 1 {
            return code.operation(random, &[from], 1);
        }
        let first = 1 + random.below(size - 1);
        if random.chance(50) || size < 4 {
            let middle = expand(code, random, first, from);
            expand(code, random, size - first, middle)
        } else {
            let first = first.min(size - 2);
            let left = expand(code, random, first, from);
            let right = expand(code, random, size - first - 1, from);
            code.operation(random, &[left, right], 1)
        }
    }
    let input = code.input(random);
    // Pieces of bounded size keep the recursion shallow.
    let mut last = input;
    while code.count < size {
        last = expand(code, random, (size - code.count).min(200), last);
    }
}

fn shared_chains(code: &mut Code, random: &mut Random, size: usize) {
    let mut chains: Vec<Part> = (0..2 + random.below(6)).map(|_| code.input(random)).collect();
    let mut shared = code.input(random);
    while code.count < size {
        for chain in &mut chains {
            if code.count < size {
                let operands = [*chain, shared];
                let used = if random.chance(60) { 2 } else { 1 };
                *chain = code.operation(random, &operands[..used], 1);
            }
        }
        if random.chance(40) && code.count < size {
            shared = code.operation(random, &[shared], 1);
        }
    }
}

fn tree(code: &mut Code, random: &mut Random, size: usize) {
    let mut open: Vec<Part> = Vec::new();
    while code.count < size {
        let operands = open.len().min(random.below(4));
        if operands < 2 && code.count + open.len() + 1 < size {
            let part = code.operation(random, &[], 1);
            open.push(part);
        } else {
            let operands = open.split_off(open.len() - operands.max(usize::from(!open.is_empty())));
            let part = code.operation(random, &operands, 1);
            open.insert(random.below(open.len() + 1), part);
        }
    }
}

fn unrolled_loop(code: &mut Code, random: &mut Random, size: usize) {
    let body = 3 + random.below(10);
    // The operands of each operation of the body: earlier results of the round, or of the round before.
    let reads: Vec<Vec<usize>> =
        (0..body).map(|i| (0..1 + random.below(2)).map(|_| random.below(body + i)).collect()).collect();
    let mut round: Vec<Part> = (0..body).map(|_| code.input(random)).collect();
    while code.count < size {
        let before = std::mem::take(&mut round);
        for reads in &reads {
            let operands: Vec<Part> = reads
                .iter()
                .map(|&read| *before.iter().chain(&round).nth(read).unwrap_or(&before[0]))
                .collect();
            let part = code.operation(random, &operands, 1);
            round.push(part);
        }
    }
}

fn wide_vectors(code: &mut Code, random: &mut Random, size: usize) {
    let base = code.input(random);
    while code.count < size {
        let lanes = random.pick(&[2, 3, 4, 8]);
        let (register, _) = code.operation(random, &[base], lanes);
        let mut results = Vec::new();
        for lane in 0..lanes {
            if code.count < size && random.chance(90) {
                let own: Part = (register, 1 << lane);
                let other: Part = (register, 1 << random.below(lanes as usize));
                results.push(code.operation(random, &[own, other], 1));
            }
        }
        if code.count < size {
            code.sink(&results);
        }
    }
}

/// Random code on few registers, each written again and again, lane by lane.
pub fn register_program(size: usize, seed: u64) -> Region {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut builder = RegionBuilder::new(&format!("program-{size}-{seed}"));
    let classes = [builder.class("vgpr"), builder.class("sgpr")];
    let count = 1 + random.below(6);
    let registers: Vec<(RegisterId, u32)> = (0..count)
        .map(|i| {
            let lanes = random.pick(&[1, 1, 2, 3, 4, 8]);
            let class = classes[usize::from(random.chance(25))];
            (builder.register(&format!("r{i}"), class, lanes, 1 + random.below(4) as u32 / 3), lanes)
        })
        .collect();
    let some = |random: &mut Random, among: u64| {
        among & random.bits() & if random.chance(50) { u64::MAX } else { random.bits() }
    };
    let mut defined: Vec<u64> = Vec::new();
    for &(register, lanes) in &registers {
        let mask = some(random, u64::MAX >> (64 - lanes));
        if mask != 0 {
            builder.live_in(register, mask);
        }
        defined.push(mask);
    }
    let mut last_store = None;
    for _ in 0..size.max(1) {
        let instr: InstrId = builder.instr(InstrSpec::new("op", random.below(6) as u32));
        for _ in 0..random.below(3) {
            let i = random.below(count);
            let mask = some(random, defined[i]);
            if mask != 0 {
                builder.uses(instr, registers[i].0, mask);
            }
        }
        let first = random.below(count);
        for i in [first, (first + 1) % count].into_iter().take(random.below(3).min(count)) {
            let mask = some(random, u64::MAX >> (64 - registers[i].1));
            if mask != 0 {
                let tied = random.chance(30) && defined[i] & mask == mask;
                if tied {
                    builder.uses(instr, registers[i].0, mask);
                }
                let early_clobber = random.chance(10);
                let flags = DefFlags { tied, early_clobber, ..DefFlags::default() };
                builder.defs_with(instr, registers[i].0, mask, flags);
                defined[i] |= mask;
            }
        }
        if random.chance(20)
            && let Some(last) = last_store.replace(instr)
        {
            builder.depend(last, instr, DepKind::Memory, random.below(3) as u32);
        }
    }
    for (&(register, _), &defined) in registers.iter().zip(&defined) {
        let mask = some(random, defined);
        if mask != 0 {
            builder.live_out(register, mask);
        }
    }
    for class in classes {
        builder.through(class, random.below(5) as u32);
    }
    builder.depend_on_registers();
    builder.build().expect("generated programs are valid")
}

/// Make a random legal order of a region.
pub fn random_order(region: &Region, random: &mut Random) -> Vec<InstrId> {
    let mut waiting: Vec<usize> = region.instrs().map(|instr| region.preds(instr).len()).collect();
    let mut ready: Vec<InstrId> = region.instrs().filter(|instr| waiting[instr.index()] == 0).collect();
    let mut order = Vec::with_capacity(region.len());
    while !ready.is_empty() {
        let instr = ready.swap_remove(random.below(ready.len()));
        order.push(instr);
        for edge in region.succs(instr) {
            waiting[edge.instr.index()] -= 1;
            if waiting[edge.instr.index()] == 0 {
                ready.push(edge.instr);
            }
        }
    }
    order
}
