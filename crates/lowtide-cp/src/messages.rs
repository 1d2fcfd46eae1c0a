//! The protocol messages to and from the solver. They have only the fields in use, with the numbers of
//! `cp_model.proto` and `sat_parameters.proto` of OR-Tools 9.15.

use prost::Message;

/// A variable with the intervals of its values: first and last of each.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Variable {
    #[prost(int64, repeated, tag = "2")]
    pub(crate) domain: Vec<i64>,
}

/// Variables, by number; `-1 - number` is the negation of a 0-1 variable.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Literals {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) literals: Vec<i32>,
}

/// A weighted sum that lies in an interval.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Linear {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) variables: Vec<i32>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) weights: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) domain: Vec<i64>,
}

/// A weighted sum of variables and a constant.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Expression {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) variables: Vec<i32>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) weights: Vec<i64>,
    #[prost(int64, tag = "3")]
    pub(crate) offset: i64,
}

/// One expression is the maximum of others.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Largest {
    #[prost(message, optional, tag = "1")]
    pub(crate) target: Option<Expression>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) of: Vec<Expression>,
}

/// No two of the expressions are equal.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AllDifferent {
    #[prost(message, repeated, tag = "1")]
    pub(crate) expressions: Vec<Expression>,
}

/// A half-open interval from start to end. Another constraint must state that end is start plus size.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Interval {
    #[prost(message, optional, tag = "4")]
    pub(crate) start: Option<Expression>,
    #[prost(message, optional, tag = "5")]
    pub(crate) end: Option<Expression>,
    #[prost(message, optional, tag = "6")]
    pub(crate) size: Option<Expression>,
}

/// At every moment, the demands of the intervals that contain it stay within the capacity. Intervals are
/// named by the number of their constraint.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Cumulative {
    #[prost(message, optional, tag = "1")]
    pub(crate) capacity: Option<Expression>,
    #[prost(int32, repeated, tag = "2")]
    pub(crate) intervals: Vec<i32>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) demands: Vec<Expression>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Constraint {
    #[prost(oneof = "Kind", tags = "3, 12, 13, 19, 22, 27, 29")]
    pub(crate) kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Kind {
    #[prost(message, tag = "3")]
    Or(Literals),
    #[prost(message, tag = "12")]
    Linear(Linear),
    #[prost(message, tag = "13")]
    AllDifferent(AllDifferent),
    #[prost(message, tag = "19")]
    Interval(Interval),
    #[prost(message, tag = "22")]
    Cumulative(Cumulative),
    #[prost(message, tag = "27")]
    Largest(Largest),
    #[prost(message, tag = "29")]
    ExactlyOne(Literals),
}

/// The sum to minimise.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Objective {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) variables: Vec<i32>,
    #[prost(int64, repeated, tag = "4")]
    pub(crate) weights: Vec<i64>,
}

/// Values to try first.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Hint {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) variables: Vec<i32>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) values: Vec<i64>,
}

/// Numbers of the fields of a model. [`Builder`](crate::builder::Builder) writes the fields one at a time.
pub(crate) mod model_field {
    pub(crate) const VARIABLE: u32 = 2;
    pub(crate) const CONSTRAINT: u32 = 3;
    pub(crate) const OBJECTIVE: u32 = 4;
    pub(crate) const HINT: u32 = 6;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Parameters {
    #[prost(int32, optional, tag = "31")]
    pub(crate) random_seed: Option<i32>,
    #[prost(double, optional, tag = "36")]
    pub(crate) max_time_in_seconds: Option<f64>,
    #[prost(double, optional, tag = "67")]
    pub(crate) max_deterministic_time: Option<f64>,
    #[prost(int32, optional, tag = "90")]
    pub(crate) linearization_level: Option<i32>,
    #[prost(bool, optional, tag = "135")]
    pub(crate) catch_interrupts: Option<bool>,
    #[prost(int32, optional, tag = "206")]
    pub(crate) workers: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Status {
    Unknown = 0,
    ModelInvalid = 1,
    Feasible = 2,
    Infeasible = 3,
    Optimal = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Response {
    #[prost(enumeration = "Status", tag = "1")]
    pub(crate) status: i32,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) solution: Vec<i64>,
    #[prost(double, tag = "3")]
    pub(crate) objective: f64,
    #[prost(double, tag = "4")]
    pub(crate) bound: f64,
    #[prost(string, tag = "20")]
    pub(crate) info: String,
}
