//! Schedule files: one region in each line, in the order of the region file.
//!
//! Version 2 adds lower bounds on the peaks with their reasons. Version 3 adds the latencies that the cycles
//! are made for, where these are not the recorded ones. A schedule is written with the lowest version that
//! holds it, which older readers accept.

use std::io::Read;
use std::path::Path;

use lowtide::InstrId;
use lowtide::schedule::Schedule;
use lowtide::target::Latencies;
use serde::{Deserialize, Serialize};

use crate::ReadError;
use crate::json::{Object, Pairs, Text};
use crate::lines::Lines;
use crate::peak_bound::{BoundReason, PeakBound};

const WITHOUT_BOUNDS: u32 = 1;
const WITH_BOUNDS: u32 = 2;
const WITH_LATENCIES: u32 = 3;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: a schedule")]
struct Line<'a> {
    #[serde(rename = "lowtide-schedule")]
    version: u32,
    #[serde(borrow)]
    kernel: Text<'a>,
    #[serde(borrow, default, skip_serializing_if = "Text::is_empty")]
    origin: Text<'a>,
    #[serde(borrow)]
    region: Text<'a>,
    order: Vec<u32>,
    cycles: Vec<u32>,
    #[serde(borrow, default, skip_serializing_if = "Text::is_empty")]
    latencies: Text<'a>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    peak_bounds: Option<Pairs<Text<'a>, Object<Bound>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: a bound")]
struct Bound {
    value: u32,
    by: Object<BoundReason>,
}

/// A schedule with the names of its region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleEntry {
    /// The kernel's name.
    pub kernel: String,
    /// The kernel's origin.
    pub origin: String,
    /// The region's name.
    pub region: String,
    /// The schedule, unchecked.
    pub schedule: Schedule,
    /// The latencies that the cycles are made for.
    pub latencies: Latencies,
    /// The claimed lower bounds on the peaks, unchecked. Empty if there are none.
    pub bounds: Vec<PeakBound>,
}

/// Write a schedule as a line, without the line end. Bounds are optional.
pub fn format_schedule(
    kernel: &str,
    origin: &str,
    region: &str,
    schedule: &Schedule,
    latencies: Latencies,
    bounds: &[PeakBound],
) -> String {
    let bound = |bound: &PeakBound| Bound { value: bound.value, by: Object(bound.by.clone()) };
    let pairs = bounds.iter().map(|own| (own.class.as_str().into(), Object(bound(own))));
    let own_latencies = match latencies {
        Latencies::Recorded => String::new(),
        other => other.to_string(),
    };
    let line = Line {
        version: match (own_latencies.is_empty(), bounds.is_empty()) {
            (true, true) => WITHOUT_BOUNDS,
            (true, false) => WITH_BOUNDS,
            (false, _) => WITH_LATENCIES,
        },
        kernel: kernel.into(),
        origin: origin.into(),
        region: region.into(),
        order: schedule.order().iter().map(|instr| instr.0).collect(),
        cycles: schedule.cycles().to_vec(),
        latencies: own_latencies.as_str().into(),
        peak_bounds: (!bounds.is_empty()).then(|| Pairs(pairs.collect())),
    };
    serde_json::to_string(&line).expect("strings and numbers always serialise")
}

/// A reader of schedule files, one schedule at a time.
pub struct ScheduleReader {
    lines: Lines,
    started: bool,
    failed: bool,
}

impl ScheduleReader {
    /// Open a file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(ScheduleReader { lines: Lines::open(path)?, started: false, failed: false })
    }

    /// Read from any source; `name` is for messages.
    pub fn from_reader(input: Box<dyn Read + Send>, name: &str) -> Result<Self, ReadError> {
        Ok(ScheduleReader {
            lines: Lines::from_reader(input, name.to_string())?,
            started: false,
            failed: false,
        })
    }

    fn next_entry(&mut self) -> Result<Option<ScheduleEntry>, ReadError> {
        let Some(line) = self.lines.next_line()? else {
            if !self.started {
                return Err(self.lines.file_error("contains no schedules"));
            }
            return Ok(None);
        };
        self.started = true;
        let line: Line = match crate::json::parse(line) {
            Ok(line) => line,
            Err(message) => return Err(self.lines.error(message)),
        };
        if !(WITHOUT_BOUNDS..=WITH_LATENCIES).contains(&line.version) {
            let message = format!(
                "unknown version {} of a schedule file (this program reads versions {WITHOUT_BOUNDS} to \
                 {WITH_LATENCIES})",
                line.version
            );
            return Err(self.lines.error(message));
        }
        if line.version == WITHOUT_BOUNDS && line.peak_bounds.is_some() {
            let message = format!("peak_bounds: only version {WITH_BOUNDS} of a schedule file has them");
            return Err(self.lines.error(message));
        }
        let latencies = match (line.latencies.is_empty(), line.version) {
            (true, _) => Latencies::Recorded,
            (false, WITH_LATENCIES) => match line.latencies.into_string().parse() {
                Ok(latencies) => latencies,
                Err(error) => return Err(self.lines.error(format!("latencies: {error}"))),
            },
            (false, _) => {
                let message = format!("latencies: only version {WITH_LATENCIES} of a schedule file has them");
                return Err(self.lines.error(message));
            }
        };
        let bound = |(class, Object(Bound { value, by: Object(by) })): (Text, Object<Bound>)| PeakBound {
            class: class.into_string(),
            value,
            by,
        };
        Ok(Some(ScheduleEntry {
            kernel: line.kernel.into_string(),
            origin: line.origin.into_string(),
            region: line.region.into_string(),
            schedule: Schedule::from_parts(line.order.into_iter().map(InstrId).collect(), line.cycles),
            latencies,
            bounds: line.peak_bounds.unwrap_or_default().0.into_iter().map(bound).collect(),
        }))
    }
}

impl Iterator for ScheduleReader {
    type Item = Result<ScheduleEntry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let result = self.next_entry().transpose();
        self.failed = matches!(result, Some(Err(_)));
        result
    }
}
