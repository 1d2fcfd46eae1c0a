//! A model of the shortest schedule within register limits, for targets that issue one instruction in each
//! cycle.
//!
//! - **Cycles.** Each instruction has its issue cycle. All cycles differ, and dependent instructions are at
//!   least the latency, and at least one cycle, apart.
//! - **Pressure.** A value is an interval with its weight, from the issue of its definition to before the
//!   issue of its last use. This is the pressure at the boundaries between instructions, spread over the
//!   cycles up to the next issue. A live-in begins one cycle before the first, since the boundary before the
//!   first instruction counts. A live-out lasts until one cycle after the last issue, for the boundary there.
//!   A value that nobody needs has no interval.
//! - **Units.** A need for one cycle limits nothing where one instruction issues in each. Longer needs are
//!   intervals of their cycles; at most as many overlap as the unit has copies.
//! - **A bounded length.** The length has a known lower bound. It is below the length of a known order, whose
//!   cycles are the hint.

use std::ops::RangeInclusive;
use std::time::Instant;

use lowtide::InstrId;
use lowtide::analysis::closure::Closure;
use lowtide::check::{check, check_order};
use lowtide::problem::Problem;
use lowtide::schedule::Schedule;

use crate::builder::{Builder, Number, Sum, Time, value_of_number};
use crate::messages::Status;
use crate::values::needed_values;
use crate::{LONGEST, Limits, Solver, SolverError, whole};

/// The model refuses more instructions: the closure alone takes the square of their number.
const MOST_INSTRUCTIONS: usize = 10_000;

/// Disable linear relaxations: runs take half as long again with them, and prove less in that time.
const LINEARIZATION_LEVEL: i32 = 0;

/// The result of a search for the shortest schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct LengthAnswer {
    /// The order of the shortest schedule known. The checker has accepted it as legal and within the limits.
    pub order: Vec<InstrId>,
    /// Its length with necessary stalls, by the checker.
    pub length: u32,
    /// A lower bound on every length within the limits, by the solver or by the caller.
    pub bound: u32,
    /// Whether length and bound meet.
    pub proved: bool,
    /// Wall time in seconds, with the construction of the model.
    pub seconds: f64,
}

impl Solver {
    /// Return the shortest schedule whose pressure between instructions stays within `most_live`, on a target
    /// that issues one instruction in each cycle. `most_live` has one limit for each class; `None` means no
    /// limit.
    ///
    /// `start` is a legal order within these limits, and `lower_bound` a proven bound on the length. The
    /// solver searches between the two.
    pub fn shortest(
        &self,
        problem: &Problem,
        most_live: &[Option<u32>],
        start: &[InstrId],
        lower_bound: u32,
        limits: &Limits,
    ) -> Result<LengthAnswer, SolverError> {
        let began = Instant::now();
        let deadline = began + limits.time.min(LONGEST);
        if problem.target().issue().width != 1 {
            return Err(SolverError::NotModelled("more than one issue in a cycle"));
        }
        let schedule = checked(problem, most_live, start).map_err(SolverError::BadStart)?;
        let length = schedule.length();
        // Each instruction takes a cycle of its own.
        let lower_bound = lower_bound.max(start.len() as u32);
        let mut answer =
            LengthAnswer { order: start.to_vec(), length, bound: lower_bound, proved: false, seconds: 0.0 };
        if lower_bound < length {
            let model = LengthModel::new(problem, most_live, &schedule, lower_bound..=length - 1)?;
            let response = self.ask(&model.bytes, Some(LINEARIZATION_LEVEL), limits, deadline)?;
            match response.status() {
                Status::Optimal | Status::Feasible => {
                    let order = model.order(&response.solution);
                    let order =
                        order.ok_or_else(|| SolverError::Refused("it is not an order".to_string()))?;
                    answer.length =
                        checked(problem, most_live, &order).map_err(SolverError::Refused)?.length();
                    answer.order = order;
                    let (length, claimed) = (answer.length, response.objective.round());
                    if f64::from(length) > claimed {
                        let text = format!("its order has a length of {length}, not {claimed}");
                        return Err(SolverError::Refused(text));
                    }
                    answer.bound = lower_bound.max(whole(response.bound));
                }
                Status::Infeasible => answer.bound = length,
                Status::Unknown | Status::ModelInvalid => {
                    answer.bound = lower_bound.max(whole(response.bound.min(length.into())));
                }
            }
        }
        if answer.length < answer.bound {
            let LengthAnswer { length, bound, .. } = answer;
            return Err(SolverError::Refused(format!("a schedule of {length} is below the bound {bound}")));
        }
        answer.proved = answer.length == answer.bound;
        answer.seconds = began.elapsed().as_secs_f64();
        Ok(answer)
    }
}

/// Return an order with necessary stalls. Fail with a reason if the order is illegal or exceeds a limit.
fn checked(problem: &Problem, most_live: &[Option<u32>], order: &[InstrId]) -> Result<Schedule, String> {
    let region = problem.region();
    // (The timing assumes a permutation, so the checker comes first.)
    let peaks = check_order(region, order).map_err(|violations| violations[0].to_string())?;
    for ((peak, limit), class) in peaks.iter().zip(most_live).zip(region.classes()) {
        if let Some(limit) = limit.filter(|limit| peak.between > *limit) {
            return Err(format!("{} registers of class {class} are live, {limit} allowed", peak.between));
        }
    }
    let schedule = Schedule::in_order(problem, order.to_vec());
    check(region, problem.target(), &schedule).map_err(|violations| violations[0].to_string())?;
    Ok(schedule)
}

struct LengthModel {
    bytes: Vec<u8>,
    cycles: Vec<Number>,
}

impl LengthModel {
    fn new(
        problem: &Problem,
        most_live: &[Option<u32>],
        hint: &Schedule,
        lengths: RangeInclusive<u32>,
    ) -> Result<LengthModel, SolverError> {
        let region = problem.region();
        if region.len() > MOST_INSTRUCTIONS {
            return Err(SolverError::TooLarge { limit: "10000 instructions" });
        }
        let longest = i64::from(*lengths.end());
        let mut model = Builder::default();
        let cycles: Vec<Number> = region.instrs().map(|_| model.number(0, longest - 1)).collect();
        let length = model.number((*lengths.start()).into(), longest);
        for (&cycle, &hint) in cycles.iter().zip(hint.cycles()) {
            model.hint_number(cycle, hint.into());
        }
        model.all_different(&cycles);
        for instr in region.instrs() {
            let from = cycles[instr.index()];
            for edge in region.succs(instr) {
                later(&mut model, from, cycles[edge.instr.index()], edge.latency.max(1));
            }
            if region.succs(instr).is_empty() {
                later(&mut model, from, length, 1);
            }
            model.check_size()?;
        }
        let mut times = Times { model, cycles, length, longest, hint };
        times.add_units(problem)?;
        times.add_pressure(problem, most_live)?;
        let Times { mut model, cycles, length, .. } = times;
        model.minimise(length);
        Ok(LengthModel { bytes: model.finish()?, cycles })
    }

    /// Return the order in a solution, if it is one.
    fn order(&self, solution: &[i64]) -> Option<Vec<InstrId>> {
        let cycle_of = |(number, cycle): (usize, &Number)| {
            Some((value_of_number(*cycle, solution)?, InstrId::at(number)))
        };
        let mut order: Vec<(i64, InstrId)> =
            self.cycles.iter().enumerate().map(cycle_of).collect::<Option<_>>()?;
        order.sort_unstable();
        Some(order.into_iter().map(|(_, instr)| instr).collect())
    }
}

fn later(model: &mut Builder, from: Number, to: Number, cycles: u32) {
    let mut sum = Sum::default();
    sum.add_number(1, to);
    sum.add_number(-1, from);
    model.between(cycles.into(), sum, i64::MAX);
}

/// A model whose instructions have cycles.
struct Times<'a> {
    model: Builder,
    cycles: Vec<Number>,
    length: Number,
    longest: i64,
    hint: &'a Schedule,
}

impl Times<'_> {
    fn add_units(&mut self, problem: &Problem) -> Result<(), SolverError> {
        for (unit, copies) in (0..).zip(problem.target().issue().units.iter().map(|unit| unit.count)) {
            let needs: Vec<(Number, u32)> = (self.cycles.iter().enumerate())
                .flat_map(|(number, &cycle)| {
                    let own = problem.unit_needs(InstrId::at(number)).iter();
                    own.filter(|(own, _)| *own == unit).map(move |(_, busy)| (cycle, *busy))
                })
                .collect();
            // With one issue in each cycle, no more needs overlap than the longest need has cycles.
            if needs.iter().all(|(_, busy)| *busy <= copies) {
                continue;
            }
            let mut lasting = Vec::with_capacity(needs.len());
            for (cycle, busy) in needs {
                let busy = i64::from(busy);
                let end = Time::after(cycle, busy);
                lasting.push((self.model.lasts(cycle.into(), Time::known(busy), end), 1));
            }
            self.model.within(&lasting, copies.into());
            self.model.check_size()?;
        }
        Ok(())
    }

    fn add_pressure(&mut self, problem: &Problem, most_live: &[Option<u32>]) -> Result<(), SolverError> {
        let region = problem.region();
        let closure = Closure::new(region);
        for (class, limit) in region.class_ids().zip(most_live) {
            let Some(limit) = *limit else { continue };
            let free = i64::from(limit) - i64::from(region.through(class));
            let values = needed_values(region, class);
            if values.iter().map(|value| value.weight).sum::<i64>() <= free {
                continue;
            }
            let mut live = Vec::with_capacity(values.len());
            for value in values {
                let (start, start_hint) = match value.def {
                    Some(def) => (self.cycles[def.index()].into(), self.hinted(def)),
                    None => (Time::known(-1), -1),
                };
                let is_last =
                    |user: &&InstrId| !value.uses.iter().any(|other| closure.reaches(**user, *other));
                let last_uses: Vec<InstrId> = value.uses.iter().filter(is_last).copied().collect();
                let last = last_uses.iter().map(|user| self.hinted(*user)).max();
                let end_hint = last.filter(|_| !value.live_out).unwrap_or(self.hint.length().into());
                let end = match last_uses[..] {
                    _ if value.live_out => self.length,
                    [only] => self.cycles[only.index()],
                    _ => {
                        let end = self.model.number(0, self.longest - 1);
                        let uses: Vec<Number> =
                            last_uses.iter().map(|user| self.cycles[user.index()]).collect();
                        self.model.largest(end, &uses);
                        self.model.hint_number(end, end_hint);
                        end
                    }
                };
                let size = self.model.number(1, self.longest + 1);
                self.model.hint_number(size, end_hint - start_hint);
                live.push((self.model.lasts(start, size.into(), end.into()), value.weight));
                self.model.check_size()?;
            }
            self.model.within(&live, free);
        }
        Ok(())
    }

    /// Return the cycle of an instruction in the known schedule.
    fn hinted(&self, instr: InstrId) -> i64 {
        self.hint.cycles()[instr.index()].into()
    }
}
