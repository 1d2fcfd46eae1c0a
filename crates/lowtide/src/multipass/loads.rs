//! Loads of inputs as operations: the graphs of paper 5, whose Section 2.2 has `LOAD A, LOAD B, ADD`.
//!
//! By default, an input (an interpolant, an attribute, a uniform) is an operand. [`with_loads`] gives each
//! input that is read an operation [`LOAD`] with a result of its own. Loads have no operands among the
//! operations, so all their subtrees have one operation: they tie with each other, and the search of `dpmpp`
//! widens as in Figure 2.

use crate::index::{InstrId, RegisterId};
use crate::region::{DepKind, InstrSpec, Lanes, Region, RegionBuilder, RegionError};

/// The name of a load. The pass model may list its cost.
pub const LOAD: &str = "ld";

/// Return a region with an operation for each input. `class` is the class of the values that live in
/// registers: values of this class come from earlier blocks, and passes load them from storage anyway.
pub fn with_loads(region: &Region, class: &str) -> Result<Region, RegionError> {
    let mut builder = RegionBuilder::new(region.name());
    let classes: Vec<_> = region.classes().iter().map(|name| builder.class(name)).collect();
    let values = builder.class(class);
    for (number, register) in region.registers().iter().enumerate() {
        let name = region.register_name(RegisterId::at(number));
        builder.register(name, classes[register.class.index()], register.lanes, register.lane_weight);
    }
    let mut is_written = vec![false; region.registers().len()];
    for instr in region.instrs() {
        region.defs(instr).iter().for_each(|def| is_written[def.operand.register.index()] = true);
    }
    // The lanes of each register that come in and have to be loaded.
    let mut inputs: Vec<Lanes> = vec![0; region.registers().len()];
    for input in region.live_in() {
        let own = &region.registers()[input.register.index()];
        let is_value = *region.classes()[own.class.index()] == *class;
        if !is_value && !is_written[input.register.index()] {
            inputs[input.register.index()] |= input.lanes;
        }
        builder.live_in(input.register, input.lanes);
    }
    // The load of each input, made before its first reader.
    let mut loads: Vec<Option<(InstrId, RegisterId)>> = vec![None; region.registers().len()];
    let mut new_of = Vec::with_capacity(region.len());
    for instr in region.instrs() {
        for operand in region.operands(instr) {
            let number = operand.register.index();
            if inputs[number] != 0 && loads[number].is_none() {
                let input = &region.registers()[number];
                let load = builder.instr(InstrSpec { flags: "r", ..InstrSpec::new(LOAD, 1) });
                let name = format!("{}.{LOAD}", region.register_name(operand.register));
                let result = builder.register(&name, values, input.lanes, input.lane_weight);
                builder.uses(load, operand.register, inputs[number]);
                builder.defs(load, result, inputs[number]);
                loads[number] = Some((load, result));
            }
        }
        let spec = InstrSpec {
            flags: region.flags(instr),
            micro_ops: region.micro_ops(instr),
            address_space: region.address_space(instr),
            ..InstrSpec::new(region.opcode(instr), region.latency(instr))
        };
        let new = builder.instr(spec);
        new_of.push(new);
        for operand in region.operands(instr) {
            match loads[operand.register.index()] {
                Some((load, result)) => {
                    builder.uses(new, result, operand.lanes);
                    builder.depend(load, new, DepKind::Data, 1);
                }
                None => builder.uses(new, operand.register, operand.lanes),
            }
        }
        for def in region.defs(instr) {
            builder.defs_with(new, def.operand.register, def.operand.lanes, def.flags);
        }
    }
    for dep in region.deps() {
        builder.depend(new_of[dep.from.index()], new_of[dep.to.index()], dep.kind, dep.latency);
    }
    for output in region.live_out() {
        builder.live_out(output.register, output.lanes);
    }
    builder.build()
}
