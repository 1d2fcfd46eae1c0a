//! `lowtide bench minreg --constraints`: the exact search against two constraint models, on a sample of the
//! regions.
//!
//! # The sample
//! The distinct graphs are sorted by size, and by fingerprint where sizes are equal. The list is cut into as
//! many slices of equal length as the sample has regions, and the middle one of each is taken. So the sample
//! has the sizes of the input, and depends on the graphs only, not on the order of the files.
//!
//! # The times
//! The time of a method covers all work from the bare region to its result:
//! - `exact`: the initial order and all bounds, in the first run on the region, without any cached result.
//! - `cp`: the order of `few-registers`, the bound by cuts, and the construction of the model. The initial
//!   order is that of `few-registers` as the cuts improve it. Where this order meets the bound, the solver is
//!   not needed, and the time belongs to the heuristic rather than to the model. The figures are therefore
//!   also given for the other regions alone.
//! - `cp-paper`: the construction of the model. It has neither an initial order nor a bound, as in the paper.
//!
//! A ratio needs the times of two proofs. Where a model spends its budget, its time is a lower limit (the
//! solver sometimes stops a little before its limit). Ratios with such times are lower limits, and kept
//! apart.

mod document;
mod measure;
mod text;

pub(super) use document::Comparison;
pub(super) use measure::measure;
pub(super) use text::text;
