//! Fingerprints of graphs: a problem that differs from another one only in its names is solved and counted once.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::index::ValueId;
use crate::region::Region;

/// A number that is the same for regions with the same graph (instructions in source order, dependences with
/// latencies, units, values) whatever their names, opcodes and registers are called. What only passes through does not belong to the graph. With 128
/// bits, different graphs have different numbers for all practical purposes.
pub fn fingerprint(region: &Region) -> u128 {
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    1.hash(&mut hashers[1]);
    for hasher in &mut hashers {
        region.len().hash(hasher);
        region.classes().hash(hasher);
        for instr in region.instrs() {
            region.succs(instr).hash(hasher);
            region.units(instr).hash(hasher);
        }
        // Values come in an order that depends on register numbers: their sum does not.
        let mut sum = 0u64;
        for (position, value) in region.values().iter().enumerate() {
            let mut own = hasher.clone();
            (value.class, value.weight, value.def, value.live_out).hash(&mut own);
            region.value_uses(ValueId::at(position)).hash(&mut own);
            sum = sum.wrapping_add(own.finish());
        }
        sum.hash(hasher);
    }
    let [low, high] = hashers.map(|hasher| hasher.finish());
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{self, Shape};
    use crate::region::{DepKind, InstrSpec, RegionBuilder};

    /// Two loads and an add, with registers declared in one order or the other.
    fn small(names: [&str; 3], swapped: bool, latency: u32) -> Region {
        let mut builder = RegionBuilder::new(names[0]);
        let class = builder.class("vgpr");
        let mut registers = names.map(|name| builder.register(name, class, 1, 1));
        if swapped {
            registers.reverse();
        }
        let loads = [0, 1].map(|i| {
            let instr = builder.instr(InstrSpec::new(names[i], latency));
            builder.defs(instr, registers[i], 1);
            instr
        });
        let add = builder.instr(InstrSpec::new("add", 1));
        for (load, register) in loads.into_iter().zip(registers) {
            builder.uses(add, register, 1);
            builder.depend(load, add, DepKind::Data, latency);
        }
        builder.build().unwrap()
    }

    #[test]
    fn names_do_not_count_and_structure_does() {
        let one = fingerprint(&small(["a", "b", "c"], false, 80));
        assert_eq!(one, fingerprint(&small(["x", "y", "z"], false, 80)));
        assert_eq!(one, fingerprint(&small(["a", "b", "c"], true, 80)));
        assert_ne!(one, fingerprint(&small(["a", "b", "c"], false, 81)));
        let mut all: Vec<u128> = (Shape::ALL.into_iter())
            .flat_map(|shape| (0..200).map(move |seed| fingerprint(&generate::region(shape, 20, seed))))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 1190, "{} of 1200 random graphs differ", all.len());
    }
}
