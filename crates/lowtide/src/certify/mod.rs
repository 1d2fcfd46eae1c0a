//! Certificates: proofs that no order of a region keeps its registers within limits, for a verifier that shares no code with the
//! searches.
//!
//! `docs/certificates.md` defines both forms and proves the theorems behind them. A [`Proof::Cut`] shows that one moment of every order
//! needs too many registers. A [`Proof::Search`] lists the states that an order within the limits could reach, without free moves, and none
//! of them is the end.
//!
//! The searches of this crate know more rules, and are faster for it. What they have proven is proven again here by the two simplest ones:
//! those that a reader can check in an afternoon. A few claims need more states than [`MOST_STATES`], and have no certificate.

mod cut;
mod length;
mod search;

pub use length::{Crowd, Steps};

use crate::analysis::closure::Closure;
use crate::analysis::length_bound::lower_bound;
use crate::analysis::walk::Direction;
use crate::index::{ClassId, InstrId, ValueId};
use crate::outcome::{KernelOutcome, Outcome};
use crate::problem::Problem;
use crate::proof::{Bounds, Moment, Reason};
use crate::region::{Kernel, Region};
use crate::target::Target;

/// The most states of a search proof.
pub const MOST_STATES: usize = 300_000;

/// A proof that no order of a region is within limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// At one moment, every possible state is over the limit of a class.
    Cut {
        /// The class.
        class: ClassId,
        /// The moment.
        at: Point,
        /// Chains of values, each with an amount: in every state of the moment, one value of each chain is live.
        chains: Vec<Chain>,
    },
    /// All states that an order within the limits could reach, and none is the end.
    Search {
        /// The end from which states grow.
        from: Direction,
        /// For each state but the first: the state before it, and the instruction that leads to it before free moves.
        states: Vec<(u32, InstrId)>,
    },
}

/// A moment of every order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Point {
    /// Before the first instruction.
    Start,
    /// After the last instruction.
    End,
    /// Right after the last of these instructions.
    After(Vec<InstrId>),
    /// Right before the first of these instructions.
    Before(Vec<InstrId>),
}

/// Values of which at least one is live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The weight that the chain takes from each of its values.
    pub amount: u32,
    /// The values. With each, a use, and then instructions that each depend on the next one, up to the one that defines the next value.
    pub steps: Vec<(ValueId, Vec<InstrId>)>,
}

/// A claim about a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Every order of a region has at least this peak in a class.
    Registers {
        /// The position of the region.
        region: usize,
        /// The class.
        class: ClassId,
        /// The peak.
        least: u32,
        /// Why the limit below is impossible.
        proof: Proof,
    },
    /// No orders without spills allow more waves.
    Waves {
        /// The waves.
        most: u32,
        /// A region that allows no more, with the proof. None if a register file or the launch allows no more.
        by: Option<(usize, Proof)>,
    },
    /// Every schedule of a region has at least this length.
    Length {
        /// The position of the region.
        region: usize,
        /// The length.
        least: u32,
        /// Why no schedule is shorter.
        proof: Steps,
    },
}

/// Return the claim that the registers of a region are the fewest in a class, if the bounds meet the peak and a proof is found.
pub fn registers(
    region: &Region,
    position: usize,
    class: ClassId,
    peak: u32,
    bounds: &Bounds,
) -> Option<Claim> {
    let least = *bounds.peaks.get(class.index()).filter(|bound| **bound == peak)?;
    let mut limits = vec![None; region.classes().len()];
    // Without registers, there is nothing to prove: no peak is below 0.
    limits[class.index()] = Some(least.checked_sub(1)?);
    let proof = refute(region, &limits, bounds)?;
    Some(Claim::Registers { region: position, class, least, proof })
}

/// Return the claim that no orders of a kernel allow more waves, if that is proven and a certificate is found. Register files that several
/// classes share are not supported.
pub fn waves(kernel: &Kernel, target: &Target, outcome: &KernelOutcome) -> Option<Claim> {
    let most = outcome.occupancy;
    let spills = outcome.regions.iter().any(|region| region.measure.spilled > 0);
    if outcome.occupancy_bound > most || outcome.is_filtered || spills {
        return None;
    }
    if most >= kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves()) {
        return Some(Claim::Waves { most, by: None });
    }
    let limits = |region: &Region| -> Option<Vec<Option<u32>>> {
        let registers = target.registers(region.classes()).ok()?;
        let mut limits = vec![None; region.classes().len()];
        for bound in registers.files() {
            let [(class, _)] = &bound.classes[..] else { return None };
            limits[class.index()] = Some(bound.file.limit(most + 1));
        }
        Some(limits)
    };
    let regions = kernel.regions.iter().zip(&outcome.regions).enumerate();
    // Small regions first: their proofs are short.
    let mut candidates: Vec<_> =
        regions.filter(|(_, (_, outcome))| outcome.measure.occupancy <= most).collect();
    candidates.sort_by_key(|(_, (region, _))| region.len());
    candidates.into_iter().find_map(|(position, (region, outcome))| {
        let proof = refute(region, &limits(region)?, &outcome.bounds)?;
        Some(Claim::Waves { most, by: Some((position, proof)) })
    })
}

/// Return the claim that the schedule of a region is the shortest, if the bounds meet its length and a proof is found.
pub fn length(problem: &Problem, position: usize, outcome: &Outcome) -> Option<Claim> {
    let least = outcome.measure.length;
    if outcome.bounds.length < least {
        return None;
    }
    let proof = length::steps(problem, &lower_bound(problem), least)?;
    Some(Claim::Length { region: position, least, proof })
}

/// Return a proof that no order is within limits, if one is found.
fn refute(region: &Region, limits: &[Option<u32>], bounds: &Bounds) -> Option<Proof> {
    let over =
        |class: ClassId| limits[class.index()].is_some_and(|limit| bounds.peaks[class.index()] > limit);
    let closure = Closure::new(region);
    for class in region.class_ids().filter(|class| over(*class)) {
        if let Reason::Cut(moment) = bounds.reasons[class.index()] {
            let limit = limits[class.index()]?;
            if let Some(proof) = at_moment(region, &closure, class, limit, moment) {
                return Some(proof);
            }
        }
    }
    // A class whose bound is within its limit only makes the states more.
    search::refute(region, limits)
}

fn at_moment(
    region: &Region,
    closure: &Closure,
    class: ClassId,
    limit: u32,
    moment: Moment,
) -> Option<Proof> {
    let maximal = |set: Vec<InstrId>| -> Vec<InstrId> {
        let is_last = |one: &InstrId| !set.iter().any(|other| closure.reaches(*one, *other) && one != other);
        set.iter().copied().filter(is_last).collect()
    };
    let minimal = |set: Vec<InstrId>| -> Vec<InstrId> {
        let is_first = |one: &InstrId| !set.iter().any(|other| closure.reaches(*other, *one) && one != other);
        set.iter().copied().filter(is_first).collect()
    };
    let common = |one: crate::bits::Bits, other: crate::bits::Bits| -> Vec<InstrId> {
        one.instrs().filter(|instr| other.contains(*instr)).collect()
    };
    let at = match moment {
        Moment::Start => Point::Start,
        Moment::End => Point::End,
        Moment::Before(instr) => Point::Before(vec![instr]),
        Moment::After(instr) => Point::After(vec![instr]),
        Moment::BeforeBoth(one, other) => {
            Point::After(maximal(common(closure.ancestors(one), closure.ancestors(other))))
        }
        Moment::AfterBoth(one, other) => {
            Point::Before(minimal(common(closure.descendants(one), closure.descendants(other))))
        }
    };
    let chains = match &at {
        Point::Start | Point::End => Vec::new(),
        Point::After(set) | Point::Before(set) if set.is_empty() => return None,
        Point::After(_) | Point::Before(_) => cut::chains(region, class, &at, limit)?,
    };
    Some(Proof::Cut { class, at, chains })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::peaks;

    #[test]
    fn limits_of_zero_have_no_claim() {
        let region = crate::generate::region(crate::generate::Shape::UnrolledLoop, 12, 1);
        let order: Vec<InstrId> = region.instrs().collect();
        let own = peaks(&region, &order);
        let bounds =
            Bounds { peaks: vec![0; own.len()], reasons: vec![Reason::Solver; own.len()], length: 0 };
        assert_eq!(registers(&region, 0, ClassId(0), 0, &bounds), None);
    }
}
