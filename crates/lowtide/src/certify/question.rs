//! What a proof is about, as a number. Regions whose questions are equal share one proof.
//!
//! Proofs name instructions, registers and lanes by number, so these belong to a question. Names and opcodes
//! do not. Weight that only passes through a region is part of every state: a proof depends on what limits
//! leave beyond it.

use crate::analysis::fingerprint::Words;
use crate::region::{Operand, Region};

/// A hash of all that a proof depends on. Different questions have different hashes with high probability
/// (128 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Question(u128);

/// The parts of questions that all claims about a region share.
pub struct Graph<'r> {
    region: &'r Region,
    orders: u128,
}

impl<'r> Graph<'r> {
    /// Hash dependences, registers and operands.
    pub fn new(region: &'r Region) -> Self {
        let mut words = Words::default();
        let push_operands = |words: &mut Words, operands: &mut dyn ExactSizeIterator<Item = Operand>| {
            words.push(operands.len() as u32);
            for Operand { register, lanes } in operands {
                words.extend([register.0, lanes as u32, (lanes >> 32) as u32]);
            }
        };
        words.extend([region.len() as u32, region.classes().len() as u32, region.registers().len() as u32]);
        region.classes().iter().for_each(|class| words.push_name(class));
        for register in region.registers() {
            words.extend([register.class.index() as u32, register.lanes, register.lane_weight]);
        }
        push_operands(&mut words, &mut region.live_in().iter().copied());
        push_operands(&mut words, &mut region.live_out().iter().copied());
        for instr in region.instrs() {
            push_operands(&mut words, &mut region.defs(instr).iter().map(|def| def.operand));
            push_operands(&mut words, &mut region.uses(instr).iter().copied());
            words.push(region.preds(instr).len() as u32);
            words.extend(region.preds(instr).iter().map(|edge| edge.instr.0));
        }
        Graph { region, orders: words.hash128() }
    }

    /// Return the question whether an order is within limits.
    pub fn orders(&self, limits: &[Option<u32>]) -> Question {
        Question(self.within(limits).hash128())
    }

    /// Return the question whether a schedule on a target and within limits is shorter than a length.
    pub fn length(&self, target: &str, least: u32, limits: &[Option<u32>]) -> Question {
        let mut words = self.within(limits);
        words.push_name(target);
        words.push(least);
        for instr in self.region.instrs() {
            words.extend(self.region.preds(instr).iter().map(|edge| edge.latency));
            words.push(self.region.units(instr).len() as u32);
            for need in self.region.units(instr) {
                words.push_name(&need.unit);
                words.push(need.cycles);
            }
        }
        Question(words.hash128())
    }

    fn within(&self, limits: &[Option<u32>]) -> Words {
        let mut words = Words::default();
        words.push_number(Some(self.orders as u64));
        words.push_number(Some((self.orders >> 64) as u64));
        for (class, limit) in self.region.class_ids().zip(limits) {
            let beyond = |limit: u32| i64::from(limit) - i64::from(self.region.through(class));
            words.push_number(limit.map(|limit| beyond(limit).cast_unsigned()));
        }
        words
    }
}
