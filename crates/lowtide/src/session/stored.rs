//! Answers that outlive the process: the records of a graph in a [`Store`](super::Store), each verified
//! before it is used.
//!
//! # What is believed
//! - An order passes the independent checker on the region at hand, and its figures are computed again.
//! - A bound by a cut is proven again by a flow.
//! - Anything else is a statement about a search: a bound by search, or that a search of some budget ended
//!   without more. Such a statement counts only in an *own* record, one that a program with the secret of the
//!   store has sealed for this very graph and question.
//!
//! A *foreign* record, without this seal, is a hint. Its evidence may be complete: an order within the limits
//! that were asked for, or an order that meets a bound which is proven here. Then the record is the answer.
//! Otherwise the search runs, and the better of both is the answer.
//!
//! # Budgets
//! A record states the time for each instruction of the budget that the search had. An own record answers a
//! question with the same or less time. A proven answer is final. With more time, the search starts from the
//! order and the bound of the record.
//!
//! The number of steps is part of the question. Without a time limit, only own records that were made without
//! one count. The same question then has the same answer with and without a store, since the search is
//! deterministic.

use std::time::Duration;

use super::kept::Kept;
use super::memo::{Answer, Taken};
use super::record::{Origin, Question, Reader, Writer};
use super::shared::{Fewest, SharedProblem};
use crate::analysis::fingerprint::Words;
use crate::analysis::limits::fits;
use crate::analysis::pressure_bound::pressure_at_ends;
use crate::budget::stop::is_stopped;
use crate::check::bound::check_cut;
use crate::check::check_order;
use crate::index::{ClassId, InstrId};
use crate::minreg::exact::Decision;
use crate::progress::{Quantity, SearchLog, Step};
use crate::proof::{Moment, Reason, Rules};
use crate::region::Region;
use crate::schedule::Schedule;
use crate::twopass::length;

/// The budget of a record without a time limit.
const UNLIMITED: u64 = u64::MAX;

/// An answer that a record can have.
pub(super) trait Keepable: Sized {
    const KIND: Kind;

    fn write(&self, writer: &mut Writer);

    fn read(reader: &mut Reader, region: &Region) -> Option<Self>;

    /// What can be believed of a record, and whether its evidence is complete, so that no search could add
    /// anything. `None` if a part of it is wrong.
    fn verified(self, about: &About, is_own: bool) -> Option<(Self, bool)>;

    /// The better of a verified answer and a new one, with the higher bound.
    fn better(self, new: Self) -> Self;
}

/// The kinds of questions.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    FewRegisters,
    LengthBound,
    PeakBounds,
    Fewest,
    Within,
    Shortest,
}

/// The region that asks, and the limits in its question, without what passes through.
pub(super) struct About<'s, 'a> {
    pub(super) shared: &'s SharedProblem<'a>,
    pub(super) limits: &'s [Option<u32>],
}

impl About<'_, '_> {
    fn region(&self) -> &Region {
        self.shared.problem().region()
    }

    /// The peaks of an order without what passes through, if the checker accepts the order.
    fn peaks(&self, order: &[InstrId]) -> Option<Vec<u32>> {
        let region = self.region();
        let peaks = check_order(region, order).ok()?;
        Some(
            region.class_ids().zip(peaks).map(|(class, peak)| peak.between - region.through(class)).collect(),
        )
    }

    /// Whether every order has this pressure at a moment, by a new proof.
    fn is_proven(&self, class: ClassId, moment: Moment, bound: u32) -> bool {
        let region = self.region();
        let Some(bound) = bound.checked_add(region.through(class)) else { return false };
        // Both ends need no flow: nothing has been issued, or everything.
        let at_end = pressure_at_ends(region)[class.index()];
        at_end.1 == moment && bound <= at_end.0 || check_cut(region, class, moment, bound).is_ok()
    }

    /// The least peaks that need no proof, without what passes through.
    fn at_ends(&self) -> Vec<(u32, Reason)> {
        let region = self.region();
        let ends = region.class_ids().zip(pressure_at_ends(region));
        ends.map(|(class, (peak, moment))| (peak - region.through(class), Reason::Cut(moment))).collect()
    }
}

/// A record after its verification.
struct Recalled<T> {
    answer: Answer<T>,
    is_final: bool,
}

impl<'a> SharedProblem<'a> {
    /// The answer of the store to a question, or the one that `search` finds. The search gets what is known
    /// from a record that does not suffice.
    pub(super) fn remembered<T: Keepable>(
        &self,
        question: &Words,
        limits: &[Option<u32>],
        time: Option<Duration>,
        search: impl FnOnce(Option<&T>) -> Answer<T>,
    ) -> Answer<T> {
        let Some(kept) = &self.answers.kept else { return search(None) };
        let mut hasher = blake3::Hasher::new_derive_key("lowtide 2026 question about a graph");
        hasher.update(&(T::KIND as u32).to_le_bytes()).update(&question.to_bytes());
        let mut question = [0; 16];
        hasher.finalize_xof().fill(&mut question);
        let budget = time
            .map_or(UNLIMITED, |time| u64::try_from(time.as_nanos()).unwrap_or(UNLIMITED).min(UNLIMITED - 1));
        let about = About { shared: self, limits };
        let known = kept.recall(&question, budget, &about);
        let counters = kept.counters();
        let hint = match known {
            Some(Recalled { answer, is_final: true }) => {
                counters.hit();
                return answer;
            }
            known => known.map(|known| known.answer.answer),
        };
        counters.miss();
        let mut found = search(hint.as_ref());
        if let Some(hint) = hint {
            found.answer = hint.better(found.answer);
        }
        // A search that was stopped has not had its budget.
        if !is_stopped() {
            kept.keep(question, body(&found, budget));
        }
        found
    }
}

impl Kept {
    fn recall<T: Keepable>(&self, question: &Question, budget: u64, about: &About) -> Option<Recalled<T>> {
        let (body, origin) = self.find(question)?;
        let counters = self.counters();
        let is_own = origin == Origin::Own;
        match origin {
            Origin::Own => {}
            Origin::Foreign => counters.meet_foreign(),
            Origin::Damaged => {
                counters.ignore();
                return None;
            }
        }
        let mut reader = Reader(&body);
        let Some((granted, Answer { answer, taken, log })) = read_body(&mut reader, about.region()) else {
            counters.ignore();
            return None;
        };
        if budget == UNLIMITED && !(is_own && granted == UNLIMITED) {
            return None;
        }
        let Some((answer, is_complete)) = T::verified(answer, about, is_own) else {
            counters.ignore();
            return None;
        };
        let is_final = is_complete || is_own && granted >= budget;
        Some(Recalled { answer: Answer { answer, taken, log }, is_final })
    }
}

/// The body of a record: budget, price, log, and the answer.
fn body<T: Keepable>(found: &Answer<T>, budget: u64) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(budget);
    writer.number(found.taken.nodes);
    writer.number(nanoseconds(found.taken.time));
    match &found.log {
        None => writer.number(0u32),
        Some(log) => {
            writer.number(log.steps.len() as u64 + 1);
            writer.number(log.quantity as u32);
            for step in &log.steps {
                writer.number(nanoseconds(step.time));
                [step.nodes, step.best, step.bound].into_iter().for_each(|number| writer.number(number));
            }
        }
    }
    found.answer.write(&mut writer);
    writer.0
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn read_body<T: Keepable>(reader: &mut Reader, region: &Region) -> Option<(u64, Answer<T>)> {
    let granted = reader.number()?;
    let (nodes, time) = (reader.number()?, Duration::from_nanos(reader.number()?));
    let log = match reader.number()? {
        0 => None,
        steps => {
            let quantity = match reader.number()? {
                number if number == Quantity::Peak as u64 => Quantity::Peak,
                number if number == Quantity::Length as u64 => Quantity::Length,
                _ => return None,
            };
            let step = |_| {
                let time = Duration::from_nanos(reader.number()?);
                Some(Step { time, nodes: reader.number()?, best: reader.number()?, bound: reader.number()? })
            };
            // A step that is not there ends the loop, so that a wrong number takes no memory.
            let steps = (1..steps).map(step).collect::<Option<Vec<Step>>>()?;
            Some(SearchLog { quantity, is_copied: true, steps })
        }
    };
    let answer = T::read(reader, region)?;
    let taken = Taken { nodes, time, is_copied: true };
    reader.is_at_end().then_some((granted, Answer { answer, taken, log }))
}

/// Most orders go on with the next instruction, so the distance from it is often 0.
fn write_order(order: &[InstrId], writer: &mut Writer) {
    let mut expected = 0;
    for instr in order {
        writer.signed(i64::from(instr.0) - expected);
        expected = i64::from(instr.0) + 1;
    }
}

fn read_order(reader: &mut Reader, region: &Region) -> Option<Vec<InstrId>> {
    let mut expected = 0i64;
    let instr = |_| {
        let instr = u32::try_from(expected.checked_add(reader.signed()?)?).ok()?;
        expected = i64::from(instr) + 1;
        Some(InstrId(instr))
    };
    region.instrs().map(instr).collect()
}

fn write_moment(moment: Moment, writer: &mut Writer) {
    let (kind, instrs): (u32, &[InstrId]) = match &moment {
        Moment::Start => (0, &[]),
        Moment::End => (1, &[]),
        Moment::Before(instr) => (2, &[*instr]),
        Moment::After(instr) => (3, &[*instr]),
        Moment::BeforeBoth(one, other) => (4, &[*one, *other]),
        Moment::AfterBoth(one, other) => (5, &[*one, *other]),
    };
    writer.number(kind);
    instrs.iter().for_each(|instr| writer.number(instr.0));
}

fn read_moment(reader: &mut Reader) -> Option<Moment> {
    let kind = reader.number()?;
    let mut instr = || reader.small().map(InstrId);
    Some(match kind {
        0 => Moment::Start,
        1 => Moment::End,
        2 => Moment::Before(instr()?),
        3 => Moment::After(instr()?),
        4 => Moment::BeforeBoth(instr()?, instr()?),
        5 => Moment::AfterBoth(instr()?, instr()?),
        _ => return None,
    })
}

/// A session asks for searches with all rules, so a record names no rules.
fn write_reason(reason: Reason, writer: &mut Writer) {
    match reason {
        Reason::Cut(moment) => {
            writer.number(0u32);
            write_moment(moment, writer);
        }
        Reason::Search { nodes, .. } => {
            writer.number(1u32);
            writer.number(nodes);
        }
        // No search of a session names a solver. Such a record is refused.
        Reason::Solver => writer.number(2u32),
    }
}

fn read_reason(reader: &mut Reader) -> Option<Reason> {
    match reader.number()? {
        0 => read_moment(reader).map(Reason::Cut),
        1 => Some(Reason::Search { rules: Rules::ALL, nodes: reader.number()? }),
        _ => None,
    }
}

/// An order with few registers.
impl Keepable for Vec<InstrId> {
    const KIND: Kind = Kind::FewRegisters;

    fn write(&self, writer: &mut Writer) {
        write_order(self, writer);
    }

    fn read(reader: &mut Reader, region: &Region) -> Option<Self> {
        read_order(reader, region)
    }

    fn verified(self, about: &About, _: bool) -> Option<(Self, bool)> {
        about.peaks(&self)?;
        Some((self, false))
    }

    fn better(self, new: Self) -> Self {
        new
    }
}

/// A bound on the length, whatever the registers. It follows from the work in the question alone.
impl Keepable for u32 {
    const KIND: Kind = Kind::LengthBound;

    fn write(&self, writer: &mut Writer) {
        writer.number(*self);
    }

    fn read(reader: &mut Reader, _: &Region) -> Option<Self> {
        reader.small()
    }

    fn verified(self, _: &About, is_own: bool) -> Option<(Self, bool)> {
        Some((if is_own { self } else { 0 }, is_own))
    }

    fn better(self, new: Self) -> Self {
        self.max(new)
    }
}

/// For each class a bound on the peak, by a cut.
impl Keepable for Vec<(u32, Moment)> {
    const KIND: Kind = Kind::PeakBounds;

    fn write(&self, writer: &mut Writer) {
        for (bound, moment) in self {
            writer.number(*bound);
            write_moment(*moment, writer);
        }
    }

    fn read(reader: &mut Reader, region: &Region) -> Option<Self> {
        region.class_ids().map(|_| Some((reader.small()?, read_moment(reader)?))).collect()
    }

    fn verified(self, about: &About, _: bool) -> Option<(Self, bool)> {
        let mut bounds = about.region().class_ids().zip(&self);
        bounds
            .all(|(class, (bound, moment))| about.is_proven(class, *moment, *bound))
            .then_some((self, false))
    }

    fn better(self, new: Self) -> Self {
        let pairs = self.into_iter().zip(new);
        pairs.map(|(known, new)| if known.0 > new.0 { known } else { new }).collect()
    }
}

/// The fewest registers of the first class.
impl Keepable for Fewest {
    const KIND: Kind = Kind::Fewest;

    fn write(&self, writer: &mut Writer) {
        write_order(&self.order, writer);
        for (bound, reason) in &self.bounds {
            writer.number(*bound);
            write_reason(*reason, writer);
        }
    }

    fn read(reader: &mut Reader, region: &Region) -> Option<Self> {
        let order = read_order(reader, region)?;
        let bound = |_| Some((reader.small()?, read_reason(reader)?));
        Some(Fewest { order, bounds: region.class_ids().map(bound).collect::<Option<_>>()? })
    }

    fn verified(mut self, about: &About, is_own: bool) -> Option<(Self, bool)> {
        let peaks = about.peaks(&self.order)?;
        let at_ends = about.at_ends();
        for (class, bound) in about.region().class_ids().zip(&mut self.bounds) {
            match bound.1 {
                Reason::Cut(moment) if about.is_proven(class, moment, bound.0) => {}
                Reason::Search { .. } if is_own => {}
                Reason::Search { .. } => *bound = at_ends[class.index()],
                Reason::Cut(_) | Reason::Solver => return None,
            }
        }
        if self.bounds.iter().zip(&peaks).any(|((bound, _), peak)| bound > peak) {
            return None;
        }
        let primary = about.shared.problem().primary_class().index();
        let is_optimal = primary < peaks.len() && self.bounds[primary].0 == peaks[primary];
        Some((self, is_optimal))
    }

    /// The new search has started from the known order.
    fn better(self, new: Self) -> Self {
        let pairs = self.bounds.into_iter().zip(new.bounds);
        let bounds = pairs.map(|(known, new)| if known.0 > new.0 { known } else { new }).collect();
        Fewest { order: new.order, bounds }
    }
}

/// Whether an order is within limits.
impl Keepable for Decision {
    const KIND: Kind = Kind::Within;

    fn write(&self, writer: &mut Writer) {
        match self {
            Decision::Unknown => writer.number(0u32),
            Decision::Yes(order) => {
                writer.number(1u32);
                write_order(order, writer);
            }
            Decision::No(reason) => {
                writer.number(2u32);
                write_reason(*reason, writer);
            }
        }
    }

    fn read(reader: &mut Reader, region: &Region) -> Option<Self> {
        Some(match reader.number()? {
            0 => Decision::Unknown,
            1 => Decision::Yes(read_order(reader, region)?),
            2 => Decision::No(read_reason(reader)?),
            _ => return None,
        })
    }

    fn verified(self, about: &About, is_own: bool) -> Option<(Self, bool)> {
        match &self {
            Decision::Unknown => Some((self, false)),
            Decision::Yes(order) => fits(&about.peaks(order)?, about.limits).then_some((self, true)),
            Decision::No(Reason::Cut(moment)) => {
                let over = |class: ClassId| {
                    let limit = about.limits.get(class.index()).copied().flatten();
                    limit
                        .and_then(|limit| limit.checked_add(1))
                        .is_some_and(|bound| about.is_proven(class, *moment, bound))
                };
                about.region().class_ids().any(over).then_some((self, true))
            }
            Decision::No(Reason::Search { .. }) if is_own => Some((self, true)),
            Decision::No(Reason::Search { .. }) => Some((Decision::Unknown, false)),
            Decision::No(Reason::Solver) => None,
        }
    }

    fn better(self, new: Self) -> Self {
        if new.is_unknown() { self } else { new }
    }
}

/// The shortest schedule within limits.
impl Keepable for Option<length::Answer> {
    const KIND: Kind = Kind::Shortest;

    fn write(&self, writer: &mut Writer) {
        writer.number(u32::from(self.is_some()));
        if let Some(length::Answer { order, length, bound, nodes }) = self {
            write_order(order, writer);
            writer.number(length - bound);
            writer.number(*nodes);
        }
    }

    fn read(reader: &mut Reader, region: &Region) -> Option<Self> {
        match reader.number()? {
            0 => Some(None),
            1 => {
                let order = read_order(reader, region)?;
                // The length is computed from the order, and the bound from the length.
                Some(Some(length::Answer {
                    order,
                    length: 0,
                    bound: reader.small()?,
                    nodes: reader.number()?,
                }))
            }
            _ => None,
        }
    }

    fn verified(self, about: &About, is_own: bool) -> Option<(Self, bool)> {
        let Some(length::Answer { order, bound: gap, nodes, .. }) = self else { return Some((None, is_own)) };
        if !fits(&about.peaks(&order)?, about.limits) {
            return None;
        }
        let length = Schedule::in_order(about.shared.problem(), order.clone()).length();
        let bound = match is_own {
            true => length.checked_sub(gap)?,
            // The known bound is not below what this program computes for itself.
            false => about.shared.length_bounds().best().min(length),
        };
        Some((Some(length::Answer { order, length, bound, nodes }), length == bound))
    }

    fn better(self, new: Self) -> Self {
        match (self, new) {
            (Some(known), Some(new)) => {
                let bound = known.bound.max(new.bound);
                let best = if known.length < new.length { known } else { new };
                Some(length::Answer { bound, ..best })
            }
            (known, new) => new.or(known),
        }
    }
}
