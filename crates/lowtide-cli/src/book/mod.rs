//! The experiment book: what a benchmark found beside what its paper reports.
//!
//! A benchmark computes one document and shows it in three ways: tables on the terminal, JSON, and a [`Chapter`]: plain
//! tables and charts, in words and numbers that are ready to be shown. [`Book::write`] makes a page and a text
//! (`markdown`) of chapters. The text leaves out what depends on the machine, so that the same input and budget in
//! search steps give the same text everywhere. The papers' figures are in `papers`.

mod markdown;
pub(crate) mod papers;

use std::path::Path;

use lowtide_io::LineWriter;
use serde::Serialize;

use crate::args::BookArgs;
use crate::failure::Failure;
use crate::page;
use crate::report::{command_line, grouped};
use papers::Paper;

/// The shares of a sorted list that are told in numbers, in percent.
const SHARES: [u8; 9] = [0, 10, 25, 50, 75, 90, 95, 99, 100];

/// A sorted list is drawn by so many points at most.
const MOST_POINTS: usize = 400;

/// Sizes of regions are counted in ranges that end before the next of these.
const SIZE_RANGES: [usize; 12] = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/// What is missing to a bound is counted in ranges that end here, in percent.
const GAPS: [u64; 7] = [0, 1, 2, 5, 10, 20, 50];

/// What several benchmarks found.
#[derive(Serialize)]
pub(crate) struct Book {
    title: String,
    /// The command that made it.
    command: String,
    version: &'static str,
    date: String,
    machine: String,
    chapters: Vec<Chapter>,
}

/// What one benchmark found.
#[derive(Serialize)]
pub(crate) struct Chapter {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) paper: Paper,
    /// The command that makes it again.
    pub(crate) command: String,
    /// Input, targets and budget, each with its name.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) parts: Vec<Part>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Part {
    Table(Table),
    Chart(Chart),
}

/// A table of a chapter. Cells are ready to be shown.
#[derive(Serialize)]
pub(crate) struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    note: String,
}

#[derive(Serialize)]
struct Column {
    title: String,
    origin: Origin,
}

/// Where the cells of a column come from.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Origin {
    /// What a row is about.
    Name,
    Paper,
    Ours,
    /// Ours, and different on another machine.
    Machine,
}

#[derive(Serialize)]
pub(crate) struct Chart {
    title: String,
    /// What the axes are.
    x: &'static str,
    y: &'static str,
    note: String,
    /// Whether it would be another one on another machine.
    of_machine: bool,
    shape: Shape,
    /// The same in numbers, where they are not too many.
    numbers: Option<Table>,
}

#[derive(Serialize)]
#[serde(tag = "kind", content = "series", rename_all = "lowercase")]
enum Shape {
    /// Sorted values, from the least to the largest, over the share of all in percent (s-curves).
    Sorted(Vec<Curve>),
    Line(Vec<Curve>),
    Points(Vec<Curve>),
    Bars(Bars),
}

#[derive(Serialize)]
pub(crate) struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

#[derive(Serialize)]
struct Bars {
    labels: Vec<String>,
    /// One on the other: they are parts of a whole.
    stacked: bool,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Book {
    pub(crate) fn new(title: &str, chapters: Vec<Chapter>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = rayon::current_num_threads();
        Book {
            title: title.to_string(),
            command: own_command(),
            version: env!("CARGO_PKG_VERSION"),
            date: today(),
            machine: [processor(), Some(format!("{cores} cores, {threads} threads used"))]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
            chapters,
        }
    }

    /// Writes what was asked for.
    pub(crate) fn write(&self, args: &BookArgs) -> Result<(), Failure> {
        if let Some(path) = &args.html {
            write(path, &page::page(&self.title, page::BOOK, self, &[])?)?;
        }
        if let Some(path) = &args.markdown {
            write(path, &markdown::text(self))?;
        }
        Ok(())
    }
}

/// Writes a file that appears whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || {
        let mut file = LineWriter::create(path)?;
        file.line(text)?;
        file.finish()
    };
    write().map_err(|error| Failure::Write { file: path.display().to_string(), error })
}

/// The command that runs now. Where the book is written to is of no use to those who read it.
pub(crate) fn own_command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    command_line(without_output(words))
}

/// The words of a command line that decide about its figures.
fn without_output(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--html" | "--markdown" => drop(words.next()),
            "--json" => {}
            other if other.starts_with("--html=") || other.starts_with("--markdown=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

impl Table {
    pub(crate) fn new(title: &str) -> Self {
        Table { title: title.to_string(), columns: Vec::new(), rows: Vec::new(), note: String::new() }
    }

    fn column(mut self, title: &str, origin: Origin) -> Self {
        self.columns.push(Column { title: title.to_string(), origin });
        self
    }

    /// Adds a column that says what a row is about.
    pub(crate) fn name(self, title: &str) -> Self {
        self.column(title, Origin::Name)
    }

    /// Adds a column of the paper's figures.
    pub(crate) fn paper(self, title: &str) -> Self {
        self.column(title, Origin::Paper)
    }

    /// Adds a column of our figures.
    pub(crate) fn ours(self, title: &str) -> Self {
        self.column(title, Origin::Ours)
    }

    /// Adds a column of our figures that another machine would not give.
    pub(crate) fn machine(self, title: &str) -> Self {
        self.column(title, Origin::Machine)
    }

    pub(crate) fn note(mut self, note: &str) -> Self {
        self.note = note.to_string();
        self
    }

    /// Adds a row. A cell that has no figure is empty.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.push(cells.into());
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.title);
        self.rows.push(cells);
    }

    /// The table without what depends on the machine; none if nothing of ours is left.
    fn without_machine(&self) -> Option<(Vec<&Column>, Vec<Vec<&str>>)> {
        let keep = |position: &usize| self.columns[*position].origin != Origin::Machine;
        let kept: Vec<usize> = (0..self.columns.len()).filter(keep).collect();
        let columns: Vec<&Column> = kept.iter().map(|&position| &self.columns[position]).collect();
        let rows = self.rows.iter().map(|row| kept.iter().map(|&position| row[position].as_str()).collect());
        columns.iter().any(|column| column.origin == Origin::Ours).then(|| (columns, rows.collect()))
    }
}

impl Chart {
    fn new(title: &str, axes: [&'static str; 2], shape: Shape, numbers: Option<Table>) -> Self {
        let [x, y] = axes;
        Chart { title: title.to_string(), x, y, note: String::new(), of_machine: false, shape, numbers }
    }

    pub(crate) fn note(mut self, note: &str) -> Self {
        self.note = note.to_string();
        self
    }

    /// Says that another machine would give another one.
    pub(crate) fn of_machine(mut self) -> Self {
        self.of_machine = true;
        self
    }

    /// S-curves: the values of each series, sorted. Series without values are left out.
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
        let numbers = numbers.note("Each column: the value that so many percent of all do not exceed.");
        Chart::new(title, axes, Shape::Sorted(curves), Some(numbers))
    }

    /// One line through points.
    pub(crate) fn line(title: &str, axes: [&'static str; 2], name: &str, points: Vec<(f64, f64)>) -> Self {
        Chart::new(title, axes, Shape::Line(vec![Curve { name: name.to_string(), points }]), None)
    }

    /// Points of one or several kinds.
    pub(crate) fn points(
        title: &str,
        axes: [&'static str; 2],
        series: Vec<(String, Vec<(f64, f64)>)>,
    ) -> Self {
        let curves = series.into_iter().map(|(name, points)| Curve { name, points });
        Chart::new(title, axes, Shape::Points(curves.collect()), None)
    }

    /// Bars side by side: one group for each label.
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

    /// How many regions there are of each size. Each series has a size for each of its regions.
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

    /// By how much results exceed their bounds. Each series has pairs of a result and its bound.
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

/// A number with as many digits as a chart can show.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Counts as they are, other numbers with one digit.
fn plain(value: f64) -> String {
    match value.fract() == 0.0 && value >= 0.0 {
        true => grouped(value as u64),
        false => format!("{value:.1}"),
    }
}

/// Counts as they are, with the share of all in percent.
pub(crate) fn with_share(count: u64, all: u64) -> String {
    format!("{} ({})", grouped(count), percent(count, all))
}

pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// What something has more or less than another thing, in percent.
pub(crate) fn more(value: u64, other: u64) -> String {
    format!("{:+.2} %", 100.0 * (value as f64 / other.max(1) as f64 - 1.0))
}

/// The day, by the clock of the machine, at Greenwich.
fn today() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let [year, month, day] = date(now.map_or(0, |time| time.as_secs() / 86_400));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day, so many days after 1970-01-01.
fn date(mut days: u64) -> [u64; 3] {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    [year, month, days + 1]
}

/// The name of the processor, where the system tells it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let dates = [0, 58, 59, 789, 790, 11_016, 11_017, 20_772].map(date);
        let expected = [
            [1970, 1, 1],
            [1970, 2, 28],
            [1970, 3, 1],
            [1972, 2, 29],
            [1972, 3, 1],
            [2000, 2, 29],
            [2000, 3, 1],
            [2026, 11, 15],
        ];
        assert_eq!(dates, expected);
    }

    #[test]
    fn commands_do_not_tell_where_the_book_is() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        let line = "bench minreg a --html x.html --nodes 5 --markdown=y.md --json b";
        assert_eq!(without_output(words(line)), words("bench minreg a --nodes 5 b"));
    }

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

    #[test]
    fn figures_of_a_machine_can_be_left_out() {
        let mut table = Table::new("t").name("n").paper("p").machine("m").ours("o");
        table.row(["a", "1", "2", "3"].map(str::to_string));
        let (columns, rows) = table.without_machine().unwrap();
        assert_eq!((columns.len(), rows), (3, vec![vec!["a", "1", "3"]]));
        assert!(Table::new("t").name("n").paper("p").machine("m").without_machine().is_none());
    }
}
