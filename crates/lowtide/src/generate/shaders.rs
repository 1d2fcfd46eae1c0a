//! Blocks that look like pixel shaders of paper 3's time, for the machine `vs`. They have texture loads,
//! interpolated inputs, lighting with dot products and normalisation, powers and blending.
//!
//! The paper's own shaders are not public. The generator reproduces the paper's figures: three groups of
//! shaders (Table 6), 4 to 74 operations, and about two operations for each cycle (Table 7). As in the paper,
//! operations are for either unit, for both or for none.

use crate::index::{ClassId, RegisterId};
use crate::random::Random;
use crate::region::{InstrSpec, Region, RegionBuilder};

/// The paper's three groups of shaders. The origin of a shader decides its size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// From a high-level language.
    Hlsl,
    /// From a tool for artists.
    Ide,
    /// Written by hand.
    Hand,
}

impl Group {
    /// All of them, in the order of Table 6.
    pub const ALL: [Group; 3] = [Group::Hlsl, Group::Ide, Group::Hand];

    /// Return the name in Table 6.
    pub fn name(self) -> &'static str {
        match self {
            Group::Hlsl => "hlsl",
            Group::Ide => "ide",
            Group::Hand => "hand",
        }
    }

    /// Return the number of shaders in the paper.
    pub fn shaders(self) -> usize {
        match self {
            Group::Hlsl => 90,
            Group::Ide => 110,
            Group::Hand => 368,
        }
    }

    /// Return the fewest and the most operations. Table 6 has 5, 18 and 9 cycles for each shader.
    fn sizes(self) -> [usize; 2] {
        match self {
            Group::Hlsl => [4, 24],
            Group::Ide => [12, 75],
            Group::Hand => [4, 40],
        }
    }
}

/// Make as many blocks as the paper has shaders, with their groups.
pub fn suite(seed: u64) -> Vec<(Group, Region)> {
    let mut blocks = Vec::new();
    for group in Group::ALL {
        let [least, most] = group.sizes();
        let mut random = Random::new(seed ^ (group as u64) << 40);
        for number in 0..group.shaders() {
            let size = least + random.below(most - least + 1);
            blocks.push((group, block(group, size, seed << 16 | number as u64)));
        }
    }
    blocks
}

/// Make a block of `size` operations (at least one).
pub fn block(group: Group, size: usize, seed: u64) -> Region {
    let size = size.max(1);
    let random = Random::new(seed ^ (group as u64) << 56 ^ (size as u64) << 44);
    let mut builder = RegionBuilder::new(&format!("generated-{}-{size}-{seed}", group.name()));
    let classes = [builder.class("r"), builder.class("c")];
    let mut shader = Shader { builder, random, classes, registers: 0, count: 0, size, values: Vec::new() };
    // Interpolated: texture coordinates, a normal, a light and a view vector, a colour.
    for lanes in [2, 2, 3, 3, 3, 4] {
        shader.input(lanes);
    }
    while shader.count < size {
        shader.pattern();
    }
    shader.finish()
}

/// A value with its lanes, and how often it is used.
#[derive(Clone, Copy)]
struct Value {
    register: RegisterId,
    lanes: u32,
    uses: u32,
    is_input: bool,
}

struct Shader {
    builder: RegionBuilder,
    random: Random,
    classes: [ClassId; 2],
    registers: u32,
    count: usize,
    size: usize,
    values: Vec<Value>,
}

fn mask(lanes: u32) -> u64 {
    (1 << lanes) - 1
}

impl Shader {
    fn register(&mut self, class: usize, lanes: u32) -> RegisterId {
        self.registers += 1;
        let name = format!("{}{}", ["r", "c"][class], self.registers - 1);
        self.builder.register(&name, self.classes[class], lanes, 1)
    }

    fn input(&mut self, lanes: u32) -> usize {
        let register = self.register(0, lanes);
        self.builder.live_in(register, mask(lanes));
        self.values.push(Value { register, lanes, uses: 0, is_input: true });
        self.values.len() - 1
    }

    fn constant(&mut self, lanes: u32) -> usize {
        let register = self.register(1, lanes);
        self.builder.live_in(register, mask(lanes));
        self.values.push(Value { register, lanes, uses: 1, is_input: true });
        self.values.len() - 1
    }

    /// Choose a value with at least `lanes` lanes. Unused and late values are preferred.
    fn some(&mut self, lanes: u32) -> usize {
        let mut best = None;
        for _ in 0..4 {
            let at = self.values.len() - 1 - {
                let range = self.values.len();
                self.random.below(range).min(self.random.below(range))
            };
            let value = self.values[at];
            let fits = if lanes == 1 { value.lanes == 1 } else { value.lanes >= lanes };
            if fits && best.is_none_or(|other: usize| value.uses < self.values[other].uses) {
                best = Some(at);
            }
        }
        match best {
            Some(at) => at,
            None if self.random.chance(50) => self.constant(lanes),
            None => {
                let at = self.values.iter().rposition(|value| value.lanes >= lanes);
                at.unwrap_or_else(|| self.input(lanes))
            }
        }
    }

    fn operation(&mut self, name: &str, latency: u32, lanes: u32, operands: &[(usize, u32)]) -> usize {
        if self.count >= self.size {
            // The block ends in the middle of a pattern.
            return self.values.len() - 1;
        }
        let instr = self.builder.instr(InstrSpec::new(name, latency));
        self.count += 1;
        let mut read: Vec<(usize, u32)> = operands.to_vec();
        read.sort_unstable();
        read.dedup_by_key(|(at, _)| *at);
        for (at, used) in read {
            let value = &mut self.values[at];
            value.uses += 1;
            let (register, lanes) = (value.register, used.min(value.lanes));
            self.builder.uses(instr, register, mask(lanes));
        }
        let register = self.register(0, lanes);
        self.builder.defs(instr, register, mask(lanes));
        self.values.push(Value { register, lanes, uses: 0, is_input: false });
        self.values.len() - 1
    }

    /// Add an operation of the arithmetic units.
    fn arithmetic(&mut self, name: &str, lanes: u32, operands: &[usize]) -> usize {
        let operands: Vec<(usize, u32)> = operands.iter().map(|at| (*at, lanes)).collect();
        self.operation(name, 1, lanes, &operands)
    }

    fn pattern(&mut self) {
        match self.random.below(100) {
            // A texture, often scaled by a colour.
            0..18 => {
                let at = self.some(2);
                let colour = self.operation("tex", 4, 4, &[(at, 2)]);
                if self.random.chance(70) {
                    let lanes = self.random.pick(&[3, 3, 3, 4]);
                    let by = self.some(lanes);
                    self.arithmetic("mul", lanes, &[colour, by]);
                }
            }
            // A normalised vector.
            18..30 => {
                let vector = self.some(3);
                let square = self.operation("dp3", 1, 1, &[(vector, 3)]);
                let inverse = self.arithmetic("rsq", 1, &[square]);
                self.operation("mul", 1, 3, &[(vector, 3), (inverse, 1)]);
            }
            // Diffuse light, and perhaps a highlight.
            30..48 => {
                let (normal, light) = (self.some(3), self.some(3));
                let name = self.random.pick(&["dp3", "dp3", "dp3", "dp4"]);
                let mut cosine = self.operation(name, 1, 1, &[(normal, 3), (light, 3)]);
                if self.random.chance(80) {
                    cosine = self.operation("sat", 0, 1, &[(cosine, 1)]);
                }
                if self.random.chance(35) {
                    let logarithm = self.arithmetic("log2", 1, &[cosine]);
                    let power = self.some(1);
                    let scaled = self.arithmetic("mul", 1, &[logarithm, power]);
                    self.arithmetic("exp2", 1, &[scaled]);
                } else {
                    let (colour, sum) = (self.some(3), self.some(3));
                    self.operation("mad", 1, 3, &[(cosine, 1), (colour, 3), (sum, 3)]);
                }
            }
            // A blend.
            48..60 => {
                let (first, second, by) = (self.some(3), self.some(3), self.some(1));
                let negated = self.operation("neg", 0, 3, &[(first, 3)]);
                let distance = self.arithmetic("add", 3, &[second, negated]);
                self.operation("mad", 1, 3, &[(distance, 3), (by, 1), (first, 3)]);
            }
            // Scalars.
            60..82 => {
                let (first, second) = (self.some(1), self.some(1));
                let name = self.random.pick(&["mul", "add", "mad", "min", "max"]);
                let third = self.some(1);
                let operands = [first, second, third];
                let used = if name == "mad" { 3 } else { 2 };
                let result = self.arithmetic(name, 1, &operands[..used]);
                if self.random.chance(30) {
                    self.arithmetic("rcp", 1, &[result]);
                }
            }
            // Vectors.
            82..94 => {
                let lanes = self.random.pick(&[2, 3, 3, 3, 4]);
                let (first, second) = (self.some(lanes), self.some(lanes));
                let name = self.random.pick(&["mul", "add", "max"]);
                self.arithmetic(name, lanes, &[first, second]);
            }
            // For nothing.
            _ => {
                let lanes = self.random.pick(&[1, 3]);
                let at = self.some(lanes);
                let name = self.random.pick(&["abs", "neg", "sat"]);
                self.operation(name, 0, lanes, &[(at, lanes)]);
            }
        }
    }

    /// Make every unused value a result.
    fn finish(mut self) -> Region {
        for at in 0..self.values.len() {
            let value = self.values[at];
            if value.uses == 0 && !value.is_input {
                self.builder.live_out(value.register, mask(value.lanes));
            }
        }
        self.builder.depend_on_registers();
        self.builder.build().expect("generated blocks are valid")
    }
}
