//! Charts of a chapter: their data, and the same data in numbers.

use lowtide_tool::table::grouped;
use serde::Serialize;

use super::Table;

/// The percentiles of an S-curve that are printed as numbers.
const SHARES: [u8; 9] = [0, 10, 25, 50, 75, 90, 95, 99, 100];

/// The most points of an S-curve.
const MOST_POINTS: usize = 400;

/// The first size of each range of a histogram of sizes.
const SIZE_RANGES: [usize; 12] = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/// The last gap of each range of a histogram of gaps, in percent.
const GAPS: [u64; 7] = [0, 1, 2, 5, 10, 20, 50];

/// A chart of a chapter.
#[derive(Serialize)]
pub(crate) struct Chart {
    pub(super) title: String,
    /// Titles of the axes.
    x: &'static str,
    y: &'static str,
    pub(super) note: String,
    /// Whether the chart depends on the machine.
    pub(super) of_machine: bool,
    shape: Shape,
    /// The same in numbers, where they are not too many.
    pub(super) numbers: Option<Table>,
}

#[derive(Serialize)]
#[serde(tag = "kind", content = "series", rename_all = "lowercase")]
enum Shape {
    /// Values in ascending order over their share in percent (S-curves).
    Sorted(Vec<Curve>),
    Line(Vec<Curve>),
    Points(Vec<Curve>),
    Bars(Bars),
}

/// A named series of points.
#[derive(Serialize)]
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

#[derive(Serialize)]
struct Bars {
    labels: Vec<String>,
    /// Whether the bars are stacked, as parts of a whole.
    stacked: bool,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Chart {
    fn new(title: &str, axes: [&'static str; 2], shape: Shape, numbers: Option<Table>) -> Self {
        let [x, y] = axes;
        Chart { title: title.to_string(), x, y, note: String::new(), of_machine: false, shape, numbers }
    }

    /// Set the note below the chart.
    pub(crate) fn note(mut self, note: &str) -> Self {
        self.note = note.to_string();
        self
    }

    /// Mark the chart as dependent on the machine.
    pub(crate) fn of_machine(mut self) -> Self {
        self.of_machine = true;
        self
    }

    /// Draw S-curves: the values of each series in ascending order. Empty series are left out.
    pub(crate) fn sorted(title: &str, axes: [&'static str; 2], series: Vec<(String, Vec<f64>)>) -> Self {
        let mut numbers = Table::new("").name("").ours("values");
        for share in SHARES {
            numbers = numbers.ours(&format!("{share} %"));
        }
        let mut curves = Vec::new();
        for (name, mut values) in series {
            values.sort_unstable_by(f64::total_cmp);
            let Some(last) = values.len().checked_sub(1) else { continue };
            let at = |share: u8| values[(last * usize::from(share) + 50) / 100];
            let mut row = vec![name.clone(), grouped(values.len() as u64)];
            row.extend(SHARES.map(|share| format!("{:.3}", at(share))));
            numbers.push(row);
            let count = values.len().min(MOST_POINTS);
            let ranks = (0..count).map(|point| point * last / count.saturating_sub(1).max(1));
            let points = ranks.map(|rank| {
                let share = 100.0 * rank as f64 / last.max(1) as f64;
                (rounded(share), rounded(values[rank]))
            });
            curves.push(Curve { name, points: points.collect() });
        }
        let numbers = numbers.note(
            "Each column has a percentile: the value that this percentage of all results do not exceed.",
        );
        Chart::new(title, axes, Shape::Sorted(curves), Some(numbers))
    }

    /// Draw one line through points.
    pub(crate) fn line(title: &str, axes: [&'static str; 2], name: &str, points: Vec<(f64, f64)>) -> Self {
        Chart::new(title, axes, Shape::Line(vec![Curve { name: name.to_string(), points }]), None)
    }

    /// Draw points of one or several series.
    pub(crate) fn points(
        title: &str,
        axes: [&'static str; 2],
        series: Vec<(String, Vec<(f64, f64)>)>,
    ) -> Self {
        let curves = series.into_iter().map(|(name, points)| Curve { name, points });
        Chart::new(title, axes, Shape::Points(curves.collect()), None)
    }

    /// Draw bars side by side, one group for each label.
    pub(crate) fn bars(
        title: &str,
        axes: [&'static str; 2],
        labels: Vec<String>,
        rows: Vec<(String, Vec<Option<f64>>)>,
    ) -> Self {
        let mut numbers = Table::new("").name(axes[0]);
        for (name, _) in &rows {
            numbers = numbers.ours(name);
        }
        for (position, label) in labels.iter().enumerate() {
            let figure = |value: Option<f64>| value.map_or_else(String::new, plain);
            let mut row = vec![label.clone()];
            row.extend(rows.iter().map(|(_, values)| figure(values[position])));
            numbers.push(row);
        }
        Chart::new(title, axes, Shape::Bars(Bars { labels, stacked: false, rows }), Some(numbers))
    }

    /// Draw a histogram of sizes. Each series has the sizes of its regions.
    pub(crate) fn sizes(title: &str, what: &'static str, series: &[(String, Vec<usize>)]) -> Self {
        let range = |size: usize| SIZE_RANGES.partition_point(|least| *least <= size).max(1) - 1;
        let all = || series.iter().flat_map(|(_, sizes)| sizes).map(|size| range(*size));
        let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let label = |position: usize| match SIZE_RANGES.get(position + 1) {
            Some(next) => format!("{}-{}", SIZE_RANGES[position], next - 1),
            None => format!("{}+", SIZE_RANGES[position]),
        };
        let count = |sizes: &[usize], position: usize| {
            Some(sizes.iter().filter(|size| range(**size) == position).count() as f64)
        };
        let rows = (series.iter())
            .map(|(name, sizes)| (name.clone(), (first..=last).map(|place| count(sizes, place)).collect()));
        let labels = (first..=last).map(label).collect();
        let mut chart = Chart::bars(title, [what, "count"], labels, rows.collect());
        if let Shape::Bars(bars) = &mut chart.shape {
            bars.stacked = true;
        }
        chart
    }

    /// Draw a histogram of gaps. Each series has pairs of a result and its lower bound.
    pub(crate) fn gaps(title: &str, series: &[(String, Vec<(u64, u64)>)]) -> Self {
        // In whole numbers: 11 is exactly 10 % above 10.
        let exceeds = |(result, bound): (u64, u64), percent: u64| {
            100 * u128::from(result.saturating_sub(bound)) > u128::from(percent) * u128::from(bound)
        };
        let range = |pair: (u64, u64)| GAPS.partition_point(|most| exceeds(pair, *most));
        let mut labels = vec!["none".to_string()];
        labels.extend(GAPS.windows(2).map(|ends| format!("up to {} %", ends[1])));
        labels.push(format!("over {} %", GAPS[GAPS.len() - 1]));
        let rows = series.iter().map(|(name, pairs)| {
            let count = |place: usize| pairs.iter().filter(|pair| range(**pair) == place).count() as f64;
            (name.clone(), (0..labels.len()).map(|place| Some(count(place))).collect())
        });
        let rows = rows.collect();
        Chart::bars(title, ["above the bound", "count"], labels, rows)
    }
}

/// Round a number to the digits that a chart can show.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Return a count in full, and any other number with one digit.
fn plain(value: f64) -> String {
    match value.fract() == 0.0 && value >= 0.0 {
        true => grouped(value as u64),
        false => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(chart: &Chart) -> &Vec<Vec<String>> {
        &chart.numbers.as_ref().unwrap().rows
    }

    #[test]
    fn sorted_curves_keep_their_ends_and_shares() {
        let values = (0..5000).rev().map(f64::from).collect();
        let chart = Chart::sorted("t", ["x", "y"], vec![("a".into(), values), ("none".into(), vec![])]);
        let Shape::Sorted(curves) = &chart.shape else { panic!("sorted") };
        assert_eq!((curves.len(), curves[0].points.len()), (1, MOST_POINTS));
        assert_eq!((curves[0].points[0], curves[0].points[MOST_POINTS - 1]), ((0.0, 0.0), (100.0, 4999.0)));
        assert!(curves[0].points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        assert_eq!(numbers(&chart)[0][1..4], ["5,000", "0.000", "500.000"]);
        let one = Chart::sorted("t", ["x", "y"], vec![("a".into(), vec![2.0])]);
        assert_eq!(
            numbers(&one)[0][1..],
            ["1", "2.000", "2.000", "2.000", "2.000", "2.000", "2.000", "2.000", "2.000", "2.000"]
        );
    }

    #[test]
    fn every_size_and_every_gap_is_counted_once() {
        let sizes = vec![1, 4, 5, 9, 10, 49, 50, 9999, 10_000, 123_456];
        let chart = Chart::sizes("t", "size", &[("a".into(), sizes)]);
        let counts: Vec<(&str, &str)> =
            numbers(&chart).iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
        assert_eq!(counts[..3], [("1-4", "2"), ("5-9", "2"), ("10-19", "1")]);
        assert_eq!(counts[10..], [("5000-9999", "1"), ("10000+", "2")]);
        let pairs =
            vec![(10, 10), (0, 0), (101, 100), (1011, 1000), (102, 100), (1021, 1000), (3, 2), (151, 100)];
        let chart = Chart::gaps("t", &[("a".into(), pairs)]);
        let counts: Vec<&str> = numbers(&chart).iter().map(|row| row[1].as_str()).collect();
        assert_eq!(counts, ["2", "1", "2", "1", "0", "0", "1", "1"]);
    }
}
