//! Generated shaders for tests and benchmarks: vector arithmetic, texture requests, interpolants, uniforms
//! and outputs.

use crate::index::{InstrId, RegisterId};
use crate::random::Random;
use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};

/// The shape of a generated shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Operations.
    pub size: usize,
    /// The percentage of texture requests.
    pub textures: usize,
    /// Interpolants to choose from.
    pub interpolants: usize,
    /// The least number of outputs. Every unread result is an output, too.
    pub outputs: usize,
    /// The percentage of operations that write to memory, in order.
    pub effects: usize,
    /// Whether operations read recent results most of the time, as in real shaders.
    pub is_local: bool,
}

impl Look {
    /// Return the shape of a shader in the proportions of real ones.
    pub fn real(size: usize) -> Look {
        Look { size, textures: 8, interpolants: 8, outputs: 1, effects: 0, is_local: true }
    }
}

/// Make a shader. The same seed gives the same shader everywhere.
pub fn shader(look: Look, seed: u64) -> Region {
    let mut random = Random::new(seed);
    let mut builder = RegionBuilder::new(&format!("shader-{}-{seed}", look.size));
    let reg = builder.class("reg");
    let interpolant = builder.class("interpolant");
    let inputs: Vec<RegisterId> = (0..look.interpolants)
        .map(|number| builder.register(&format!("v{number}"), interpolant, 4, 1))
        .collect();
    inputs.iter().for_each(|input| builder.live_in(*input, 15));
    let mut results: Vec<(RegisterId, u64, bool)> = Vec::new();
    let mut last_effect: Option<InstrId> = None;
    for position in 0..look.size.max(1) {
        let is_effect = random.chance(look.effects);
        let is_request = !is_effect && random.chance(look.textures);
        let opcode = match (is_effect, is_request) {
            (true, _) => "st",
            (_, true) => "tex",
            _ => random.pick(&["mul", "add", "mad", "mad", "dp3", "rsq", "max"]),
        };
        let flags = if is_effect { "s" } else { "r" };
        let instr =
            builder.instr(InstrSpec { flags, ..InstrSpec::new(opcode, if is_request { 40 } else { 4 }) });
        let operands = match opcode {
            "rsq" | "tex" => 1,
            "mad" => 3,
            _ => 2,
        };
        for _ in 0..operands {
            // Towards the end, unread results come first, which keeps the number of outputs low.
            let unread = results.iter().position(|(_, _, is_read)| !is_read);
            let chosen = match unread {
                Some(unread)
                    if position + look.outputs + results.len() / 8 > look.size || random.chance(60) =>
                {
                    Some(if look.is_local {
                        results.iter().rposition(|(_, _, is_read)| !is_read).unwrap_or(unread)
                    } else {
                        unread
                    })
                }
                _ if results.is_empty() || random.chance(25) => None,
                _ if look.is_local => Some(results.len() - 1 - random.below(results.len().min(12))),
                _ => Some(random.below(results.len())),
            };
            match chosen {
                Some(chosen) => {
                    let (register, lanes, is_read) = &mut results[chosen];
                    *is_read = true;
                    builder.uses(instr, *register, *lanes);
                }
                None if !inputs.is_empty() => builder.uses(instr, random.pick(&inputs), 15),
                None => {}
            }
        }
        if is_effect {
            if let Some(last) = last_effect.replace(instr) {
                builder.depend(last, instr, DepKind::Memory, 1);
            }
            continue;
        }
        let lanes = if matches!(opcode, "dp3" | "rsq") { 1 } else { random.pick(&[3, 4]) };
        let register = builder.register(&format!("r{position}"), reg, lanes, 1);
        let mask = (1 << lanes) - 1;
        builder.defs(instr, register, mask);
        results.push((register, mask, false));
    }
    let count = results.len();
    for (position, (register, lanes, is_read)) in results.into_iter().enumerate() {
        if !is_read || position + look.outputs >= count {
            builder.live_out(register, lanes);
        }
    }
    builder.depend_on_registers();
    builder.build().expect("made-up shaders are valid (tested)")
}
