//! Equality of graphs: a region as a sequence of words, the same for every region with the same graph, and a
//! hash of the words.
//!
//! Two regions have the same graph if they have the same instructions in source order (dependences with
//! latencies, units) and the same values. Names, opcodes and register numbers do not matter. Weight that only
//! passes through a region is not part of the graph.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::index::ValueId;
use crate::region::{Region, Value};

/// The word for "no definition".
const NONE: u32 = u32::MAX;

/// A sequence of words. Every part states its length, so different inputs give different words.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Words(Vec<u32>);

impl Words {
    /// Append a number.
    pub fn push(&mut self, number: u32) {
        self.0.push(number);
    }

    /// Append a number of 64 bits, or that there is none.
    pub fn push_number(&mut self, number: Option<u64>) {
        let low = number.unwrap_or(0);
        self.extend([u32::from(number.is_some()), low as u32, (low >> 32) as u32]);
    }

    /// Append several numbers.
    pub fn extend(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.0.extend(numbers);
    }

    /// Append a name.
    pub fn push_name(&mut self, name: &str) {
        self.push(name.len() as u32);
        for bytes in name.as_bytes().chunks(4) {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            self.push(u32::from_le_bytes(word));
        }
    }

    /// Append the graph of a region.
    pub fn push_graph(&mut self, region: &Region) {
        self.push(region.len() as u32);
        self.push(region.classes().len() as u32);
        region.classes().iter().for_each(|class| self.push_name(class));
        for instr in region.instrs() {
            self.push(region.succs(instr).len() as u32);
            for edge in region.succs(instr) {
                self.extend([edge.instr.0, edge.latency]);
            }
            self.push(region.units(instr).len() as u32);
            for need in region.units(instr) {
                self.push_name(&need.unit);
                self.push(need.cycles);
            }
        }
        // Values come in an order that depends on the numbers of registers. Sorted, they do not.
        let values = region.values();
        let mut ids: Vec<u32> = (0..values.len() as u32).collect();
        let key = |id: u32| {
            let value = &values[id as usize];
            (value.def, value.class, value.weight, value.live_out, region.value_uses(ValueId(id)))
        };
        ids.sort_unstable_by(|&one, &other| key(one).cmp(&key(other)));
        self.push(values.len() as u32);
        ids.into_iter().for_each(|id| self.push_value(region, ValueId(id)));
    }

    /// Append the values of a region in their order, which is not part of its graph.
    pub(crate) fn push_values(&mut self, region: &Region) {
        let count = region.values().len() as u32;
        self.push(count);
        (0..count).for_each(|id| self.push_value(region, ValueId(id)));
    }

    fn push_value(&mut self, region: &Region, id: ValueId) {
        let (value, uses) = (&region.values()[id.index()], region.value_uses(id));
        let def = value.def.map_or(NONE, |def| def.0);
        let Value { class, weight, live_out, .. } = *value;
        self.extend([def, class.index() as u32, weight, u32::from(live_out), uses.len() as u32]);
        self.extend(uses.iter().map(|instr| instr.0));
    }

    /// Return the words in little-endian order.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Return a hash of 128 bits that is the same on every machine and in every version: SipHash-1-3 of the
    /// words in little-endian order.
    pub fn hash128(&self) -> u128 {
        let mut hasher = SipHasher13::new();
        self.0.iter().for_each(|word| hasher.write(&word.to_le_bytes()));
        hasher.finish128().as_u128()
    }
}

/// Return a number that is the same for all regions with the same graph. Different graphs have different
/// numbers with high probability (128 bits). For certainty, compare the [`Words`] themselves.
pub fn fingerprint(region: &Region) -> u128 {
    let mut words = Words::default();
    words.push_graph(region);
    words.hash128()
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

    /// A stored cache outlives a program: the hash must not change with the compiler or the machine.
    #[test]
    fn the_hash_is_a_fixed_one() {
        let mut words = Words::default();
        words.push_name("vgpr");
        words.push(7);
        assert_eq!(words.0, [4, u32::from_le_bytes(*b"vgpr"), 7]);
        assert_eq!(words.hash128(), 0x88d3f89ff3b5b81acd737f6a1d8f9a2c);
        assert_eq!(fingerprint(&small(["a", "b", "c"], false, 80)), 0x9db9d6220a2a3ed7520707cc52dacfc3);
    }
}
