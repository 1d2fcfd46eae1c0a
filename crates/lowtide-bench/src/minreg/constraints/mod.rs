//! `lowtide bench minreg --constraints`: the exact search against two constraint models, on a sample of the regions.
//!
//! # The sample
//! The distinct graphs are sorted by size, and by fingerprint where sizes are equal. The list is cut into as many slices of equal length as
//! the sample has regions, and the middle one of each is taken. So the sample has the sizes of the input, and depends on
//! the graphs only, not on the order of the files.
//!
//! # The times
//! Everything that a method needs from the bare region to its answer counts: for `exact`, the order it starts from, and all other bounds that
//! it comes with, in the first run on the region, when nothing is in the cache; for `cp`, the order of `default`, the bound by cuts, and the making of the model. `cp` starts from what the cuts have made of the order of `default`. Where that meets the
//! bound, there is nothing left to ask the solver, and the time says more about our heuristic than about the model. So figures
//! are also given for the other regions alone. `cp-paper` gets neither an order nor a bound, as in the paper.
//!
//! Ratios need two times at which something was proven. Where a model runs out of time, its time is at least what it has used (the solver
//! sometimes stops a little before its limit): these ratios are lower limits, and kept apart.

mod document;
mod measure;
mod text;

pub(super) use document::Comparison;
pub(super) use measure::measure;
pub(super) use text::text;
