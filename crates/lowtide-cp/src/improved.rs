//! A stronger model of the problem of `paper.rs`, with fewer variables and tighter bounds.
//!
//! - **Order encoding.** `done[i][k]` says that `i` is among the first `k` instructions. A row is a flight of
//!   steps: first 0, then 1. An edge `i -> j` is `done[j][k + 1] -> done[i][k]`. Exactly `k` instructions are
//!   done after `k` steps.
//! - **Windows.** `i` comes after its ancestors and before its descendants, so only `ancestors < k <= n - 1 -
//!   descendants` is open.
//! - **Only edges of the transitive reduction**, and only *last* uses: those that are not ancestors of
//!   another use.
//! - **No bit for being live.** A value is live if it is defined and not all of its last uses are done. The
//!   last uses come after the definition, so the weight is a *difference*: `weight * (done[def][k] -
//!   ended[k])`. With one last use, `ended` is the row `done` of that use. With several, it is a row of its
//!   own, shared by all values with the same last uses. That row cannot begin before these uses and all their
//!   ancestors are done.
//! - **A bounded peak.** The peak has a known lower bound, the largest minimum cut
//!   ([`pressure_bound`](lowtide::analysis::pressure_bound)). It is below the peak of a known order, whose
//!   rows are the hint.

use std::collections::HashMap;
use std::ops::{Not, Range, RangeInclusive};

use lowtide::analysis::closure::Closure;
use lowtide::region::Region;
use lowtide::{ClassId, InstrId};

use crate::SolverError;
use crate::builder::{Bit, Builder, Literal, Sum, value_of};
use crate::values::needed_values;

/// The model refuses more instructions: the closure alone takes the square of their number.
const MOST_INSTRUCTIONS: usize = 10_000;

/// Disable linear relaxations. They say little here: a fraction of every instruction can be done at every
/// step. They also take most of the time.
pub(crate) const LINEARIZATION_LEVEL: i32 = 0;

/// A row of bits that is 0 at first and 1 from some step on.
#[derive(Clone, Debug)]
struct Flight {
    /// The bits of steps `first_open..first_open + open.len()`.
    open: Vec<Literal>,
    first_open: usize,
}

impl Flight {
    /// Make a row that is open from `first_open` to before `first_set`, and 1 from there on.
    fn new(model: &mut Builder, first_open: usize, first_set: usize) -> Flight {
        let open: Vec<Literal> = (first_open..first_set).map(|_| model.literal()).collect();
        for pair in open.windows(2) {
            model.implies(Bit::Open(pair[0]), Bit::Open(pair[1]));
        }
        Flight { open, first_open }
    }

    fn at(&self, step: usize) -> Bit {
        match step.checked_sub(self.first_open) {
            None => Bit::Known(false),
            Some(position) => self.open.get(position).copied().map_or(Bit::Known(true), Bit::Open),
        }
    }

    /// Return the steps at which the row is open.
    fn window(&self) -> Range<usize> {
        self.first_open..self.first_open + self.open.len()
    }

    fn hint(&self, model: &mut Builder, first_set: usize) {
        for step in self.window() {
            model.hint(self.at(step), step >= first_set);
        }
    }
}

pub(crate) struct ImprovedModel {
    pub(crate) bytes: Vec<u8>,
    done: Vec<Flight>,
}

impl ImprovedModel {
    pub(crate) fn new(
        region: &Region,
        class: ClassId,
        start: &[InstrId],
        peaks: RangeInclusive<u32>,
    ) -> Result<ImprovedModel, SolverError> {
        let count = region.len();
        if count > MOST_INSTRUCTIONS {
            return Err(SolverError::TooLarge { limit: "10000 instructions" });
        }
        let closure = Closure::new(region);
        let mut position = vec![0; count];
        for (step, instr) in start.iter().enumerate() {
            position[instr.index()] = step;
        }
        let mut model = Builder::default();
        let mut done = Vec::with_capacity(count);
        for instr in region.instrs() {
            let before = closure.ancestors(instr).count() as usize;
            let after = closure.descendants(instr).count() as usize;
            let flight = Flight::new(&mut model, before + 1, count - after);
            flight.hint(&mut model, position[instr.index()] + 1);
            done.push(flight);
            model.check_size()?;
        }
        for step in 1..count {
            let mut sum = Sum::default();
            for flight in &done {
                sum.add(1, flight.at(step));
            }
            model.between(step as i64, sum, step as i64);
        }
        for to in region.instrs() {
            let preds = region.preds(to);
            for from in preds {
                if preds.iter().any(|other| closure.reaches(from.instr, other.instr)) {
                    continue;
                }
                let from = &done[from.instr.index()];
                for step in from.window() {
                    model.implies(done[to.index()].at(step + 1), from.at(step));
                }
            }
            model.check_size()?;
        }
        let ends = Ends { region, closure: &closure, done: &done, position: &position };
        add_pressure(&mut model, &ends, class, peaks)?;
        Ok(ImprovedModel { bytes: model.finish()?, done })
    }

    /// Return the order in a solution, if it is one.
    pub(crate) fn order(&self, solution: &[i64]) -> Option<Vec<InstrId>> {
        let mut order = vec![None; self.done.len()];
        for (instr, flight) in self.done.iter().enumerate() {
            let step =
                (1..=self.done.len()).find(|step| value_of(flight.at(*step), solution) == Some(true))?;
            order[step - 1] = Some(InstrId::at(instr));
        }
        order.into_iter().collect()
    }
}

fn add_pressure(
    model: &mut Builder,
    ends: &Ends,
    class: ClassId,
    peaks: RangeInclusive<u32>,
) -> Result<(), SolverError> {
    let region = ends.region;
    let count = region.len();
    let mut at_start = i64::from(region.through(class));
    // The weight that an instruction begins, less the weight that it ends alone.
    let mut changes = vec![0i64; count];
    // The weight that several instructions end together.
    let mut ended: Vec<(Flight, i64)> = Vec::new();
    let mut ended_by: HashMap<Vec<InstrId>, usize> = HashMap::new();
    for value in needed_values(region, class) {
        match value.def {
            Some(def) => changes[def.index()] += value.weight,
            None => at_start += value.weight,
        }
        if value.live_out {
            continue;
        }
        let last_uses = ends.last_uses(value.uses);
        if let [only] = last_uses[..] {
            changes[only.index()] -= value.weight;
            continue;
        }
        let number = match ended_by.get(&last_uses) {
            Some(number) => *number,
            None => {
                ended.push((ends.flight(model, &last_uses), 0));
                ended_by.insert(last_uses, ended.len() - 1);
                ended.len() - 1
            }
        };
        ended[number].1 += value.weight;
        model.check_size()?;
    }
    let mut pressure = vec![Sum::default(); count + 1];
    for (step, sum) in pressure.iter_mut().enumerate() {
        sum.add_known(at_start);
        for (flight, change) in ends.done.iter().zip(&changes) {
            sum.add(*change, flight.at(step));
        }
        for (flight, weight) in &ended {
            sum.add(-weight, flight.at(step));
        }
    }
    let peak = model.number((*peaks.start()).into(), (*peaks.end()).into());
    for mut sum in pressure {
        sum.add_number(-1, peak);
        model.between(i64::MIN, sum, 0);
        model.check_size()?;
    }
    model.minimise(peak);
    Ok(())
}

/// The ends of values.
struct Ends<'a> {
    region: &'a Region,
    closure: &'a Closure,
    done: &'a [Flight],
    position: &'a [usize],
}

impl Ends<'_> {
    /// Return the uses that are not ancestors of another use.
    fn last_uses(&self, uses: &[InstrId]) -> Vec<InstrId> {
        let is_last = |user: &InstrId| !uses.iter().any(|other| self.closure.reaches(*user, *other));
        uses.iter().copied().filter(is_last).collect()
    }

    /// Return the row of the moment when all of several last uses are done.
    fn flight(&self, model: &mut Builder, last_uses: &[InstrId]) -> Flight {
        // When the uses are done, so are all of their ancestors.
        let needed = |instr: &InstrId| {
            last_uses.iter().any(|user| user == instr || self.closure.ancestors(*user).contains(*instr))
        };
        let earliest = self.region.instrs().filter(needed).count();
        let latest = last_uses.iter().map(|user| self.done[user.index()].window().end).max().unwrap_or(0);
        let flight = Flight::new(model, earliest, latest.max(earliest));
        for step in flight.window() {
            let ended = flight.at(step);
            let uses: Vec<Bit> = last_uses.iter().map(|user| self.done[user.index()].at(step)).collect();
            for &user in &uses {
                model.implies(ended, user);
            }
            // The model is correct without this constraint, but the solver then has to guess more.
            let not_all = uses.into_iter().map(Bit::not);
            model.any(&not_all.chain([ended]).collect::<Vec<Bit>>());
        }
        let last = last_uses.iter().map(|user| self.position[user.index()]).max().unwrap_or(0);
        flight.hint(model, last + 1);
        flight
    }
}
