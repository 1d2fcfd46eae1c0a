//! The data of the comparison with constraint models.

use std::collections::BTreeMap;
use std::time::Duration;

use lowtide_cp::Model;
use serde::Serialize;

use crate::statistics::median;

/// The results of the whole sample.
#[derive(Serialize)]
pub(in super::super) struct Comparison {
    /// Distinct graphs from which the sample is taken.
    pub(super) distinct: u64,
    pub(super) regions: u64,
    pub(super) sizes: Option<Sizes>,
    /// Of each model for each region.
    pub(super) model_seconds: f64,
    pub(super) exact: Counts,
    pub(super) models: BTreeMap<&'static str, ModelFigures>,
    pub(super) rows: Vec<Row>,
}

/// The figures of a model.
#[derive(Serialize)]
pub(super) struct ModelFigures {
    /// Regions that do not need the solver, since the initial order meets the bound.
    pub(super) without_solver: u64,
    pub(super) all: Figures,
    /// Only the regions that need the solver.
    pub(super) with_solver: Figures,
}

#[derive(Serialize)]
pub(super) struct Figures {
    #[serde(flatten)]
    pub(super) counts: Counts,
    /// The time divided by that of exact, where both prove the optimum.
    pub(super) ratio: Option<Ratio>,
    /// The same where exact proves it and the model runs out of time: lower limits.
    pub(super) ratio_at_least: Option<Ratio>,
    /// Regions that the model proves and exact does not.
    pub(super) only_model: u64,
}

#[derive(Serialize)]
pub(super) struct Counts {
    pub(super) regions: u64,
    pub(super) proved: u64,
    /// An order was found, but not proven to be optimal.
    pub(super) found: u64,
    /// No order was found in time.
    pub(super) nothing: u64,
    pub(super) too_large: u64,
    pub(super) seconds: f64,
    pub(super) proved_sizes: Option<Sizes>,
}

#[derive(Serialize)]
pub(super) struct Sizes {
    pub(super) least: usize,
    pub(super) median: f64,
    pub(super) most: usize,
}

#[derive(Serialize, PartialEq, Debug)]
pub(super) struct Ratio {
    pub(super) regions: usize,
    pub(super) geometric_mean: f64,
    pub(super) median: f64,
}

/// The results of one region.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) kernel: String,
    pub(super) region: String,
    pub(super) size: usize,
    /// As proven by at least one method; all agree.
    pub(super) optimum: Option<u32>,
    pub(super) exact: Run,
    pub(super) models: BTreeMap<&'static str, Run>,
}

/// The result of one method on one region.
#[derive(Serialize, Clone, Copy)]
pub(super) struct Run {
    pub(super) end: End,
    pub(super) peak: Option<u32>,
    pub(super) bound: u32,
    pub(super) seconds: f64,
    pub(super) asked_solver: bool,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum End {
    Proved,
    Found,
    Nothing,
    TooLarge,
}

impl Comparison {
    /// Compute all figures from the rows.
    pub(super) fn new(distinct: u64, time: Duration, rows: Vec<Row>) -> Self {
        let figures = |model: Model| {
            let pairs = || rows.iter().filter_map(|row| Some((row, row.models.get(model.name())?)));
            let with_solver = || pairs().filter(|(_, run)| run.asked_solver);
            let figures = ModelFigures {
                without_solver: (pairs().count() - with_solver().count()) as u64,
                all: Figures::new(&pairs().collect::<Vec<_>>()),
                with_solver: Figures::new(&with_solver().collect::<Vec<_>>()),
            };
            (model.name(), figures)
        };
        Comparison {
            distinct,
            regions: rows.len() as u64,
            sizes: Sizes::new(rows.iter().map(|row| row.size)),
            model_seconds: time.as_secs_f64(),
            exact: Counts::new(&rows.iter().map(|row| (row, &row.exact)).collect::<Vec<_>>()),
            models: Model::ALL.into_iter().map(figures).collect(),
            rows,
        }
    }
}

impl Figures {
    fn new(runs: &[(&Row, &Run)]) -> Self {
        let ratios = |ends: &[End]| {
            let both =
                runs.iter().filter(|(row, run)| row.exact.end == End::Proved && ends.contains(&run.end));
            Ratio::new(both.map(|(row, run)| run.seconds / row.exact.seconds.max(1e-9)).collect())
        };
        let only_model = |(row, run): &&(&Row, &Run)| row.exact.end != End::Proved && run.end == End::Proved;
        Figures {
            counts: Counts::new(runs),
            ratio: ratios(&[End::Proved]),
            ratio_at_least: ratios(&[End::Found, End::Nothing]),
            only_model: runs.iter().filter(only_model).count() as u64,
        }
    }
}

impl Counts {
    fn new(runs: &[(&Row, &Run)]) -> Self {
        let count = |end: End| runs.iter().filter(|(_, run)| run.end == end).count() as u64;
        let proved = runs.iter().filter(|(_, run)| run.end == End::Proved);
        Counts {
            regions: runs.len() as u64,
            proved: count(End::Proved),
            found: count(End::Found),
            nothing: count(End::Nothing),
            too_large: count(End::TooLarge),
            // (An empty sum of floating-point numbers would be minus zero.)
            seconds: runs.iter().fold(0.0, |sum, (_, run)| sum + run.seconds),
            proved_sizes: Sizes::new(proved.map(|(row, _)| row.size)),
        }
    }
}

impl Sizes {
    fn new(sizes: impl Iterator<Item = usize> + Clone) -> Option<Self> {
        let mut all: Vec<f64> = sizes.clone().map(|size| size as f64).collect();
        Some(Sizes { least: sizes.clone().min()?, median: median(&mut all)?, most: sizes.max()? })
    }
}

impl Ratio {
    fn new(mut ratios: Vec<f64>) -> Option<Self> {
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.max(1e-12).ln()).sum();
        let geometric_mean = (logarithms / ratios.len() as f64).exp();
        Some(Ratio { regions: ratios.len(), geometric_mean, median: median(&mut ratios)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;

    fn run(end: End, peak: Option<u32>, bound: u32, seconds: f64) -> Run {
        Run { end, peak, bound, seconds, asked_solver: seconds > 1.0 }
    }

    #[test]
    fn ratios_of_proofs_and_of_timeouts_are_kept_apart() {
        let proved = |seconds| run(End::Proved, Some(5), 5, seconds);
        let row = |exact: Run, cp: Run| Row {
            kernel: "k".to_string(),
            region: "r".to_string(),
            size: 50,
            optimum: None,
            exact,
            models: BTreeMap::from([("cp", cp), ("cp-paper", run(End::TooLarge, None, 0, 9.0))]),
        };
        let rows = vec![
            row(proved(0.5), proved(1.0)),
            row(proved(0.5), proved(4.0)),
            row(proved(0.5), run(End::Found, Some(6), 4, 60.0)),
            row(run(End::Found, Some(6), 4, 1.0), proved(2.0)),
        ];
        let comparison = Comparison::new(9, Duration::from_secs(60), rows);
        let ratio = |regions, ratio| Some(Ratio { regions, geometric_mean: ratio, median: ratio });
        let close = |found: &Option<Ratio>, expected: Option<Ratio>| {
            let (found, expected) = (found.as_ref().unwrap(), expected.unwrap());
            assert_eq!(found.regions, expected.regions);
            assert!((found.geometric_mean - expected.geometric_mean).abs() < 1e-9, "{found:?}");
        };
        let cp = &comparison.models["cp"];
        assert_eq!((cp.all.counts.proved, cp.all.counts.found, cp.all.only_model), (3, 1, 1));
        assert_eq!((cp.without_solver, cp.with_solver.counts.regions), (1, 3));
        close(&cp.all.ratio, ratio(2, 4.0));
        close(&cp.all.ratio_at_least, ratio(1, 120.0));
        close(&cp.with_solver.ratio, ratio(1, 8.0));
        let paper = &comparison.models["cp-paper"].all;
        assert_eq!((paper.counts.too_large, &paper.ratio, &paper.ratio_at_least), (4, &None, &None));
        assert_eq!(comparison.exact.proved, 3);
        let text = text(&comparison, "1 ms");
        assert!(text.contains("on 4 of 9 distinct graphs of 50 to 50 instructions"), "{text}");
        assert!(text.contains("cp needs no solver for 1 of the regions"), "{text}");
    }
}
