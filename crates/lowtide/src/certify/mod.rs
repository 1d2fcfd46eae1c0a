//! Certificates: proofs that no order of a region keeps its registers within limits, for a verifier that
//! shares no code with the searches.
//!
//! `docs/certificates.md` defines both forms and proves the theorems behind them. A [`Proof::Cut`] shows that
//! one moment of every order needs too many registers. A [`Proof::Search`] lists the states that an order
//! within the limits could reach, without free moves, and none of them is the end.
//!
//! The searches of this crate know more rules, and are faster for it. What they have proven is proven again
//! here by the two simplest ones: those that a reader can check in an afternoon. A few claims need too many
//! states, and have no certificate.

mod cut;
mod length;
mod length_search;
mod question;
mod search;

use std::cell::OnceCell;

pub use length::{By, Crowd, LengthProof};
pub use question::{Graph, Question};

use crate::analysis::closure::Closure;
use crate::analysis::length_bound::lower_bound;
use crate::analysis::limits::peaks;
use crate::analysis::walk::Direction;
use crate::budget::Budget;
use crate::index::{ClassId, InstrId, ValueId};
use crate::minreg::exact::{Decision, Options, within};
use crate::outcome::{KernelOutcome, Outcome};
use crate::problem::{Goal, Problem};
use crate::proof::{Bounds, Moment, Reason};
use crate::region::{Kernel, Region};
use crate::target::{PeakRange, Registers, Target, most_that};

/// The most states of a search proof of registers, and of waves: those that few states do not prove would
/// take far more.
const MOST_STATES: usize = 300_000;
const MOST_WAVE_STATES: usize = 20_000;

/// The most splits at orders of a proof of waves.
const MOST_SPLITS: u32 = 64;

/// The most states of a proof of a length: of all schedules, and of those within limits.
const FEW_STATES: usize = 1_000;
const MOST_LENGTH_STATES: usize = 10_000;

/// A proof that no order of a region is within limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// At one moment, every possible state is over the limit of a class.
    Cut {
        /// The class.
        class: ClassId,
        /// The moment.
        at: Point,
        /// Chains of values, each with an amount: in every state of the moment, one value of each chain is
        /// live.
        chains: Vec<Chain>,
    },
    /// All states that an order within the limits could reach, and none is the end.
    Search {
        /// The class whose limit counts. All of them if there is none.
        class: Option<ClassId>,
        /// The end from which states grow.
        from: Direction,
        /// For each state but the first: the state before it, and the instruction that leads to it before
        /// free moves.
        states: Vec<(u32, InstrId)>,
    },
    /// Two proofs about waves: of orders with few registers of a class, and of those with more.
    Split {
        /// The class, whose file has other classes.
        class: ClassId,
        /// The most registers of the first orders.
        at: u32,
        /// Why the first orders are not within the limits.
        below: Box<Proof>,
        /// Why the other orders are not within what they leave to the other classes.
        above: Box<Proof>,
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
    /// The values. With each, a use, and then instructions that each depend on the next one, up to the one
    /// that defines the next value.
    pub steps: Vec<(ValueId, Vec<InstrId>)>,
}

/// A claim about a kernel, without its proof.
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
    },
    /// No orders without spills allow more waves.
    Waves {
        /// The waves.
        most: u32,
        /// The position of a region that allows no more. None if a register file or the launch allows no
        /// more.
        region: Option<usize>,
    },
    /// Every schedule of a region within limits has at least this length.
    Length {
        /// The position of the region.
        region: usize,
        /// The length.
        least: u32,
        /// For each class the most registers of the schedules that are compared.
        limits: Vec<Option<u32>>,
    },
}

/// Return the limits that no order keeps, if a peak is the least in its class. None for a peak of 0: there is
/// nothing to prove.
pub fn register_limits(region: &Region, class: ClassId, least: u32) -> Option<Vec<Option<u32>>> {
    let mut limits = vec![None; region.classes().len()];
    limits[class.index()] = Some(least.checked_sub(1)?);
    Some(limits)
}

/// Return a proof that no order has a lower peak in a class, if the bounds meet the peak and a proof is
/// found.
///
/// The proof depends on the question (see [`Graph::orders`]) and on the reason of the bound, and on nothing
/// else.
pub fn registers(region: &Region, class: ClassId, least: u32, bounds: &Bounds) -> Option<Proof> {
    bounds.peaks.get(class.index()).filter(|bound| **bound == least)?;
    refute(region, &register_limits(region, class, least)?, bounds, MOST_STATES)
}

/// Return the claim that no orders of a kernel allow more waves, if that is proven and a certificate is
/// found.
pub fn waves(kernel: &Kernel, target: &Target, outcome: &KernelOutcome) -> Option<(Claim, Option<Proof>)> {
    let most = outcome.occupancy;
    if outcome.occupancy_bound > most || outcome.is_filtered {
        return None;
    }
    if most >= kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves()) {
        return Some((Claim::Waves { most, region: None }, None));
    }
    let regions = || kernel.regions.iter().zip(&outcome.regions);
    // Small regions first: their proofs are short.
    let mut candidates: Vec<_> =
        regions().enumerate().filter(|(_, (_, outcome))| outcome.measure.occupancy <= most).collect();
    candidates.sort_by_key(|(_, (region, _))| region.len());
    candidates.into_iter().find_map(|(position, (region, outcome))| {
        let proof = refute_waves(region, target, most + 1, &outcome.bounds)?;
        Some((Claim::Waves { most, region: Some(position) }, Some(proof)))
    })
}

/// Return the limits of each class alone for so many waves.
pub fn wave_limits(region: &Region, target: &Target, waves: u32) -> Option<Vec<Option<u32>>> {
    let mut limits = vec![None; region.classes().len()];
    for bound in target.registers(region.classes()).ok()?.files() {
        let limit = bound.file.limit(waves);
        for (id, class) in &bound.classes {
            // Beyond the addressable registers, there are spills, but not fewer waves.
            limits[id.index()] = (limit < class.max).then_some(limit);
        }
    }
    Some(limits)
}

/// Return a proof that no order allows so many waves, if one is found.
fn refute_waves(region: &Region, target: &Target, waves: u32, bounds: &Bounds) -> Option<Proof> {
    let registers = target.registers(region.classes()).ok()?;
    let limits = wave_limits(region, target, waves)?;
    if let Some(proof) = refute(region, &limits, bounds, MOST_WAVE_STATES) {
        return Some(proof);
    }
    // Each class alone fits. Together they may not: in a file that they share, or with lanes that hold
    // spilled registers.
    let shared = registers.files().iter().filter(|bound| bound.classes.len() > 1);
    let shared = shared.flat_map(|bound| bound.classes.iter().map(|(id, _)| *id));
    let classes: Vec<ClassId> = shared.chain(registers.lanes().iter().map(|lanes| lanes.from)).collect();
    let mut splits = Splits { region, registers: &registers, waves, bounds, left: MOST_SPLITS };
    let none = PeakRange::at_least(vec![0; limits.len()]);
    // One split is often enough.
    let by_one = classes.iter().find_map(|class| {
        let at = bounds.peaks[class.index()].checked_sub(1)?;
        let [_, above] = none.divided_at(*class, at);
        let [below, above] = splits.limits(&limits, &above, *class, at);
        let below = refute(region, &below, bounds, MOST_WAVE_STATES)?;
        let above = refute(region, &above, bounds, MOST_WAVE_STATES)?;
        Some(Proof::Split { class: *class, at, below: Box::new(below), above: Box::new(above) })
    });
    by_one.or_else(|| {
        let is_least = |class: &ClassId| bounds.peaks[class.index()] > 0;
        let classes: Vec<ClassId> = classes.iter().copied().filter(is_least).collect();
        splits.refute(&limits, &none, &classes)
    })
}

/// A proof by splits, one in the other.
struct Splits<'a> {
    region: &'a Region,
    registers: &'a Registers,
    waves: u32,
    bounds: &'a Bounds,
    /// The splits that are left.
    left: u32,
}

impl Splits<'_> {
    /// Return a proof that no order within limits allows the waves. The first splits are below the bounds of
    /// `classes`. The others are at orders that do not fit.
    fn refute(&mut self, limits: &[Option<u32>], range: &PeakRange, classes: &[ClassId]) -> Option<Proof> {
        if let Some((first, others)) = classes.split_first() {
            return self.split(limits, range, *first, self.bounds.peaks[first.index()] - 1, others);
        }
        if let Some(proof) = refute(self.region, limits, self.bounds, MOST_WAVE_STATES) {
            return Some(proof);
        }
        self.left = self.left.checked_sub(1)?;
        let source: Vec<InstrId> = self.region.instrs().collect();
        let budget = Budget { nodes: Some(MOST_WAVE_STATES as u64), ..Budget::UNLIMITED };
        let decision = within(self.region, limits, &source, Options::new(budget));
        let Decision::Yes(order) = decision else { return None };
        let (class, at) = range.division(self.registers, &peaks(self.region, &order), self.waves)?;
        self.split(limits, range, class, at, &[])
    }

    fn split(
        &mut self,
        limits: &[Option<u32>],
        range: &PeakRange,
        class: ClassId,
        at: u32,
        others: &[ClassId],
    ) -> Option<Proof> {
        let [below_range, above_range] = range.divided_at(class, at);
        let [below_limits, above_limits] = self.limits(limits, &above_range, class, at);
        // There are other classes only for a split below a bound, and there is nothing more to split there.
        let below = Box::new(self.refute(&below_limits, &below_range, &[])?);
        let above = Box::new(self.refute(&above_limits, &above_range, others)?);
        Some(Proof::Split { class, at, below, above })
    }

    /// Return the limits of both parts, as the verifier has them.
    fn limits(
        &self,
        limits: &[Option<u32>],
        above: &PeakRange,
        class: ClassId,
        at: u32,
    ) -> [Vec<Option<u32>>; 2] {
        let lower =
            |limit: &mut Option<u32>, most: u32| *limit = Some(limit.map_or(most, |limit| limit.min(most)));
        let (mut for_below, mut for_above) = (limits.to_vec(), limits.to_vec());
        lower(&mut for_below[class.index()], at);
        for (id, class) in self.registers.files().iter().flat_map(|bound| &bound.classes) {
            let mut peaks = above.least.clone();
            let mut fits = |own| {
                peaks[id.index()] = own;
                self.registers.occupancy(&peaks) >= self.waves
            };
            let rest = most_that(0, class.max, &mut fits);
            if rest < class.max && fits(rest) {
                lower(&mut for_above[id.index()], rest);
            }
        }
        [for_below, for_above]
    }
}

/// Return the registers of each class that the waves of a kernel leave to the schedules of a region.
pub fn length_limits(problem: &Problem, waves: u32, outcome: &Outcome) -> Vec<Option<u32>> {
    let mut limits = vec![None; problem.region().classes().len()];
    for bound in problem.registers().files() {
        for (class, own) in &bound.classes {
            let peak = outcome.measure.peaks[class.index()].between;
            // With goal `length`, waves do not count. Where registers are spilled, no more of them may be.
            let by_waves = if problem.goal() == Goal::Length { u32::MAX } else { bound.file.limit(waves) };
            let limit = by_waves.min(own.max).min(problem.limits()[class.index()]);
            limits[class.index()] = Some(limit.max(peak));
        }
    }
    limits
}

/// Return a proof that no schedule has a lower length, if one is found, and whether it is only about
/// schedules within limits.
///
/// The proof depends on the question (see [`Graph::length`]), and on nothing else.
pub fn length(problem: &Problem, least: u32, limits: &[Option<u32>]) -> Option<(LengthProof, bool)> {
    let found = OnceCell::new();
    let bounds = || found.get_or_init(|| lower_bound(problem)).clone();
    if let Some(proof) = length::by_crowds(problem, least, &bounds) {
        return Some((proof, false));
    }
    let bounds = bounds();
    let prove = |limits: &[Option<u32>], most| length::by_search(problem, least, limits, &bounds, most);
    let of_all = prove(&vec![None; limits.len()], FEW_STATES).map(|proof| (proof, false));
    of_all.or_else(|| Some((prove(limits, MOST_LENGTH_STATES)?, true)))
}

/// Return a proof that no order is within limits, if one is found.
fn refute(region: &Region, limits: &[Option<u32>], bounds: &Bounds, most: usize) -> Option<Proof> {
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
    search::refute(region, limits, most)
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
        assert_eq!(registers(&region, ClassId(0), 0, &bounds), None);
    }
}
