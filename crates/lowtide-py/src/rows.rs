//! Results in columns, as Arrow lays them out in memory: a worker hands thousands of regions over without an
//! object of Python for each.

use std::sync::{Mutex, PoisonError};

use lowtide::problem::waves_together;
use lowtide_io::PeakBound;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::failure::exception;
use crate::schedule::Outcome;

/// Texts: all of them in a row, and where each begins.
#[derive(Default)]
struct Texts {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.offsets.push(self.data.len() as i32);
        self.data.extend_from_slice(text.as_bytes());
    }
}

/// Lists of numbers: all of them in a row, and where each list begins.
#[derive(Default)]
struct Lists {
    offsets: Vec<i32>,
    data: Vec<u32>,
}

/// The figures of the classes of all regions.
#[derive(Default)]
struct Classes {
    offsets: Vec<i32>,
    names: Texts,
    /// Peak, peak at instructions, bound.
    figures: [Vec<u32>; 3],
    reasons: Texts,
    by: Texts,
}

/// The columns of numbers, in the order of [`Rows::take`].
const NUMBERS: usize = 8;
const FLAGS: usize = 4;

#[derive(Default)]
struct Columns {
    /// Whether a row has a result. Otherwise, it has an error.
    valid: Vec<bool>,
    lines: Vec<i64>,
    positions: Vec<u32>,
    /// file, kernel, origin, target, latencies, baseline, region, error
    texts: [Texts; 8],
    /// instructions, waves_before, waves, waves_bound, length_before, length, length_bound, spilled
    numbers: [Vec<u32>; NUMBERS],
    /// proven_waves, proven_length, proven, filtered
    flags: [Vec<bool>; FLAGS],
    seconds: Vec<f64>,
    classes: Classes,
    order: Lists,
    cycles: Lists,
}

impl Columns {
    /// Begin a row. The columns of its result follow, or defaults.
    fn begin(&mut self, line: i64, position: u32, texts: [&str; 8], is_valid: bool) {
        self.valid.push(is_valid);
        self.lines.push(line);
        self.positions.push(position);
        self.texts.iter_mut().zip(texts).for_each(|(column, text)| column.push(text));
        self.classes.offsets.push(self.classes.figures[0].len() as i32);
        self.order.offsets.push(self.order.data.len() as i32);
        self.cycles.offsets.push(self.cycles.data.len() as i32);
    }

    fn add(&mut self, file: &str, line: i64, result: &Outcome) -> PyResult<()> {
        let problems = result.problems().map_err(|error| exception(&error))?;
        let kernel = result.kernel();
        let is_recorded = kernel.regions.iter().any(|region| region.production().is_some());
        let baseline = if is_recorded { "production" } else { "source" };
        let before: Vec<_> = problems.iter().map(crate::schedule::measure_before).collect();
        let most = result.most_waves();
        let waves_before = waves_together(&problems, &before, most);
        let latencies = result.latencies_text();
        for (position, (problem, outcome)) in problems.iter().zip(&result.outcome().regions).enumerate() {
            let region = problem.region();
            let texts = [
                file,
                &kernel.name,
                &kernel.origin,
                problem.target().name(),
                &latencies,
                baseline,
                region.name(),
                "",
            ];
            self.begin(line, position as u32, texts, true);
            let measure = &outcome.measure;
            let numbers = [
                region.len() as u32,
                waves_before,
                result.outcome().occupancy,
                result.outcome().occupancy_bound,
                before[position].length,
                measure.length,
                outcome.bounds.length,
                measure.spilled,
            ];
            self.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
            let is_shortest = measure.length == outcome.bounds.length;
            let flags = [outcome.proven_waves, is_shortest, outcome.optimal, result.outcome().is_filtered];
            self.flags.iter_mut().zip(flags).for_each(|(column, flag)| column.push(flag));
            self.seconds.push(result.seconds_taken());
            for (bound, peak) in PeakBound::all(region, &outcome.bounds).iter().zip(&measure.peaks) {
                let by = json!(bound.by).to_string();
                let reason = ["cut", "search", "solver"].into_iter().find(|kind| by[2..].starts_with(kind));
                self.classes.names.push(&bound.class);
                let figures = [peak.between, peak.at, bound.value];
                self.classes.figures.iter_mut().zip(figures).for_each(|(column, figure)| column.push(figure));
                self.classes.reasons.push(reason.unwrap_or(""));
                self.classes.by.push(&by);
            }
            self.order.data.extend(outcome.schedule.order().iter().map(|instr| instr.0));
            self.cycles.data.extend_from_slice(outcome.schedule.cycles());
        }
        Ok(())
    }

    fn add_error(&mut self, file: &str, line: i64, kernel: &str, origin: &str, error: &str) {
        self.begin(line, 0, [file, kernel, origin, "", "", "", "", error], false);
        self.numbers.iter_mut().for_each(|column| column.push(0));
        self.flags.iter_mut().for_each(|column| column.push(false));
        self.seconds.push(0.0);
    }
}

/// Return the schema of the results of the program, in the notation of Parquet.
#[pyfunction]
pub(crate) fn result_schema() -> &'static str {
    lowtide_io::RESULT_SCHEMA
}

/// Rows of results under construction.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Rows(Mutex<Columns>);

/// The buffers of one column.
type Buffers<'py> = Vec<Bound<'py, PyBytes>>;

fn bytes<'py, const N: usize>(
    py: Python<'py>,
    values: impl IntoIterator<Item = [u8; N]>,
) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &values.into_iter().flatten().collect::<Vec<u8>>())
}

/// Return offsets with the end of the last element.
fn offsets<'py>(py: Python<'py>, starts: &[i32], end: usize) -> Bound<'py, PyBytes> {
    bytes(py, starts.iter().copied().chain([end as i32]).map(i32::to_ne_bytes))
}

/// Return flags as bits, the lowest bit first.
fn bits<'py>(py: Python<'py>, flags: impl ExactSizeIterator<Item = bool>) -> Bound<'py, PyBytes> {
    let mut packed = vec![0u8; flags.len().div_ceil(8)];
    for (position, flag) in flags.enumerate() {
        packed[position / 8] |= u8::from(flag) << (position % 8);
    }
    PyBytes::new(py, &packed)
}

fn texts<'py>(py: Python<'py>, column: &Texts) -> Buffers<'py> {
    vec![offsets(py, &column.offsets, column.data.len()), PyBytes::new(py, &column.data)]
}

fn numbers<'py>(py: Python<'py>, column: &[u32]) -> Buffers<'py> {
    vec![bytes(py, column.iter().map(|number| number.to_ne_bytes()))]
}

#[pymethods]
impl Rows {
    #[new]
    fn new() -> Self {
        Rows(Mutex::default())
    }

    fn __len__(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).valid.len()
    }

    /// Add a row for each region of a result.
    fn add(&self, py: Python<'_>, file: &str, line: i64, result: &Outcome) -> PyResult<()> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).add(file, line, result))
    }

    /// Add a row for a kernel that could not be scheduled.
    fn add_error(&self, file: &str, line: i64, kernel: &str, origin: &str, error: &str) {
        let mut columns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        columns.add_error(file, line, kernel, origin, error);
    }

    /// Return the bits of rows with a result and of rows with an error, and the buffers of each column:
    /// `file`, `kernel`, `origin`, `target`, `latencies`, `baseline`, `region`, `error`; `line`, `position`;
    /// the numbers; the flags; `kernel_seconds`; `classes` (offsets, names, peaks, peaks at, bounds, reasons,
    /// by, bits of the reasons); `order`, `cycles`.
    fn take<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<Buffers<'py>>) {
        let columns = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut made: Vec<Buffers<'py>> = columns.texts.iter().map(|column| texts(py, column)).collect();
        made.push(vec![bytes(py, columns.lines.iter().map(|line| line.to_ne_bytes()))]);
        made.push(numbers(py, &columns.positions));
        made.extend(columns.numbers.iter().map(|column| numbers(py, column)));
        made.extend(columns.flags.iter().map(|column| vec![bits(py, column.iter().copied())]));
        made.push(vec![bytes(py, columns.seconds.iter().map(|seconds| seconds.to_ne_bytes()))]);
        let classes = &columns.classes;
        let mut parts = vec![offsets(py, &classes.offsets, classes.figures[0].len())];
        parts.extend(texts(py, &classes.names));
        parts.extend(classes.figures.iter().flat_map(|column| numbers(py, column)));
        parts.extend(texts(py, &classes.reasons));
        parts.extend(texts(py, &classes.by));
        // A bound of 0 has no reason.
        parts.push(bits(py, classes.figures[2].iter().map(|bound| *bound > 0)));
        made.push(parts);
        for lists in [&columns.order, &columns.cycles] {
            let starts = offsets(py, &lists.offsets, lists.data.len());
            made.push([vec![starts], numbers(py, &lists.data)].concat());
        }
        let valid = &columns.valid;
        (bits(py, valid.iter().copied()), bits(py, valid.iter().map(|flag| !flag)), made)
    }
}
