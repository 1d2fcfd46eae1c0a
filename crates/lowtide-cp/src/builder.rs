//! A model in the wire format of the solver.
//!
//! Every variable and constraint is encoded at once: a model takes only its encoded size in memory.

use std::ops::Not;

use prost::encoding::message;

use crate::SolverError;
use crate::messages::{
    AllDifferent, Constraint, Cumulative, Expression, Hint, Interval, Kind, Largest, Linear, Literals,
    Objective, Variable, model_field,
};

/// The size limit of a model. The solver needs many times as much memory, and reads at most 2 GiB.
const MOST_BYTES: usize = 1 << 28;

/// A 0-1 variable or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Literal(i32);

impl Not for Literal {
    type Output = Literal;

    fn not(self) -> Literal {
        Literal(-1 - self.0)
    }
}

/// A bit that may be known before the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bit {
    Known(bool),
    Open(Literal),
}

impl Not for Bit {
    type Output = Bit;

    fn not(self) -> Bit {
        match self {
            Bit::Known(value) => Bit::Known(!value),
            Bit::Open(literal) => Bit::Open(!literal),
        }
    }
}

/// A weighted sum: an open part and a known constant.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sum {
    variables: Vec<i32>,
    weights: Vec<i64>,
    known: i64,
}

impl Sum {
    pub(crate) fn add(&mut self, weight: i64, bit: Bit) {
        match bit {
            Bit::Known(value) => self.known += weight * i64::from(value),
            Bit::Open(Literal(variable)) if variable >= 0 => self.add_variable(weight, variable),
            Bit::Open(opposite) => {
                self.known += weight;
                self.add_variable(-weight, (!opposite).0);
            }
        }
    }

    pub(crate) fn add_known(&mut self, weight: i64) {
        self.known += weight;
    }

    pub(crate) fn add_number(&mut self, weight: i64, number: Number) {
        self.add_variable(weight, number.0);
    }

    fn add_variable(&mut self, weight: i64, variable: i32) {
        if weight != 0 {
            self.variables.push(variable);
            self.weights.push(weight);
        }
    }
}

/// An integer variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number(i32);

/// A point in time: a constant offset after an integer variable, or after 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Time {
    number: Option<Number>,
    after: i64,
}

impl Time {
    pub(crate) fn known(after: i64) -> Time {
        Time { number: None, after }
    }

    pub(crate) fn after(number: Number, after: i64) -> Time {
        Time { number: Some(number), after }
    }

    fn expression(self) -> Expression {
        let variables: Vec<i32> = self.number.iter().map(|number| number.0).collect();
        Expression { weights: vec![1; variables.len()], variables, offset: self.after }
    }
}

impl From<Number> for Time {
    fn from(number: Number) -> Time {
        Time::after(number, 0)
    }
}

/// The number of an interval constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lasting(i32);

/// A model under construction.
#[derive(Default)]
pub(crate) struct Builder {
    bytes: Vec<u8>,
    variables: i32,
    constraints: i32,
    hint: Hint,
}

impl Builder {
    pub(crate) fn literal(&mut self) -> Literal {
        Literal(self.variable(0, 1))
    }

    pub(crate) fn number(&mut self, least: i64, most: i64) -> Number {
        Number(self.variable(least, most))
    }

    fn variable(&mut self, least: i64, most: i64) -> i32 {
        message::encode(model_field::VARIABLE, &Variable { domain: vec![least, most] }, &mut self.bytes);
        self.variables += 1;
        self.variables - 1
    }

    fn constraint(&mut self, kind: Kind) {
        message::encode(model_field::CONSTRAINT, &Constraint { kind: Some(kind) }, &mut self.bytes);
        self.constraints += 1;
    }

    /// Require at least one of the bits.
    pub(crate) fn any(&mut self, bits: &[Bit]) {
        if bits.contains(&Bit::Known(true)) {
            return;
        }
        let literals = bits.iter().filter_map(|bit| match bit {
            Bit::Open(literal) => Some(literal.0),
            Bit::Known(_) => None,
        });
        self.constraint(Kind::Or(Literals { literals: literals.collect() }));
    }

    /// Require `other` if `one` is set.
    pub(crate) fn implies(&mut self, one: Bit, other: Bit) {
        self.any(&[!one, other]);
    }

    pub(crate) fn exactly_one(&mut self, literals: impl Iterator<Item = Literal>) {
        self.constraint(Kind::ExactlyOne(Literals { literals: literals.map(|literal| literal.0).collect() }));
    }

    /// Require a sum between `least` and `most`.
    pub(crate) fn between(&mut self, least: i64, sum: Sum, most: i64) {
        let shift = |limit: i64| match limit {
            i64::MIN | i64::MAX => limit,
            _ => limit - sum.known,
        };
        let domain = vec![shift(least), shift(most)];
        self.constraint(Kind::Linear(Linear { variables: sum.variables, weights: sum.weights, domain }));
    }

    /// Require `largest` to be the maximum of `of`.
    pub(crate) fn largest(&mut self, largest: Number, of: &[Number]) {
        let expression = |number: Number| Time::from(number).expression();
        let of = of.iter().map(|number| expression(*number)).collect();
        self.constraint(Kind::Largest(Largest { target: Some(expression(largest)), of }));
    }

    pub(crate) fn all_different(&mut self, numbers: &[Number]) {
        let expressions = numbers.iter().map(|number| Time::from(*number).expression()).collect();
        self.constraint(Kind::AllDifferent(AllDifferent { expressions }));
    }

    /// Add an interval from `start` to before `end`, which is `size` later.
    pub(crate) fn lasts(&mut self, start: Time, size: Time, end: Time) -> Lasting {
        let mut sum = Sum::default();
        for (weight, time) in [(1, start), (1, size), (-1, end)] {
            sum.add_known(weight * time.after);
            time.number.into_iter().for_each(|number| sum.add_number(weight, number));
        }
        // (Two times after the same variable have a constant distance.)
        if start.number != end.number {
            self.between(0, sum, 0);
        }
        let [start, end, size] = [start, end, size].map(|time| Some(time.expression()));
        self.constraint(Kind::Interval(Interval { start, end, size }));
        Lasting(self.constraints - 1)
    }

    /// Limit the total demand of overlapping intervals to `capacity`.
    pub(crate) fn within(&mut self, all: &[(Lasting, i64)], capacity: i64) {
        let known = |number: i64| Time::known(number).expression();
        self.constraint(Kind::Cumulative(Cumulative {
            capacity: Some(known(capacity)),
            intervals: all.iter().map(|(lasting, _)| lasting.0).collect(),
            demands: all.iter().map(|(_, demand)| known(*demand)).collect(),
        }));
    }

    pub(crate) fn minimise(&mut self, number: Number) {
        let objective = Objective { variables: vec![number.0], weights: vec![1] };
        message::encode(model_field::OBJECTIVE, &objective, &mut self.bytes);
    }

    /// Suggest a value for an open bit.
    pub(crate) fn hint(&mut self, bit: Bit, value: bool) {
        if let Bit::Open(literal) = bit {
            let is_opposite = literal.0 < 0;
            self.hint.variables.push(if is_opposite { (!literal).0 } else { literal.0 });
            self.hint.values.push(i64::from(value != is_opposite));
        }
    }

    /// Suggest a value for a number.
    pub(crate) fn hint_number(&mut self, number: Number, value: i64) {
        self.hint.variables.push(number.0);
        self.hint.values.push(value);
    }

    /// Fail as soon as the model is too large.
    pub(crate) fn check_size(&self) -> Result<(), SolverError> {
        match self.bytes.len() <= MOST_BYTES {
            true => Ok(()),
            false => Err(SolverError::TooLarge { limit: "256 MiB of constraints" }),
        }
    }

    pub(crate) fn finish(mut self) -> Result<Vec<u8>, SolverError> {
        if !self.hint.variables.is_empty() {
            message::encode(model_field::HINT, &self.hint, &mut self.bytes);
        }
        self.check_size()?;
        Ok(self.bytes)
    }
}

/// Return the value of a bit in a solution.
pub(crate) fn value_of(bit: Bit, solution: &[i64]) -> Option<bool> {
    match bit {
        Bit::Known(value) => Some(value),
        Bit::Open(Literal(variable)) if variable >= 0 => {
            solution.get(variable as usize).map(|value| *value == 1)
        }
        Bit::Open(opposite) => solution.get((!opposite).0 as usize).map(|value| *value == 0),
    }
}

/// Return the value of a number in a solution.
pub(crate) fn value_of_number(number: Number, solution: &[i64]) -> Option<i64> {
    solution.get(number.0 as usize).copied()
}
