//! Schedule files: one region a line, in the order of the region file.

use std::io::Read;
use std::path::Path;

use lowtide::InstrId;
use lowtide::schedule::Schedule;
use serde::{Deserialize, Serialize};

use crate::ReadError;
use crate::json::Text;
use crate::lines::Lines;

const VERSION: u32 = 1;

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
}

/// A schedule and the region it is for.
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
}

/// Writes a schedule as a line, without the line's end.
pub fn format_schedule(kernel: &str, origin: &str, region: &str, schedule: &Schedule) -> String {
    let line = Line {
        version: VERSION,
        kernel: kernel.into(),
        origin: origin.into(),
        region: region.into(),
        order: schedule.order().iter().map(|instr| instr.0).collect(),
        cycles: schedule.cycles().to_vec(),
    };
    serde_json::to_string(&line).expect("strings and numbers always serialise")
}

/// Reads the schedules of a file, one after the other.
pub struct ScheduleReader {
    lines: Lines,
    started: bool,
    failed: bool,
}

impl ScheduleReader {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(ScheduleReader { lines: Lines::open(path)?, started: false, failed: false })
    }

    /// Reads from anything; `name` is for messages.
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
        if line.version != VERSION {
            let message = format!(
                "unknown version {} of a schedule file (this program reads version {VERSION})",
                line.version
            );
            return Err(self.lines.error(message));
        }
        Ok(Some(ScheduleEntry {
            kernel: line.kernel.into_string(),
            origin: line.origin.into_string(),
            region: line.region.into_string(),
            schedule: Schedule::new(line.order.into_iter().map(InstrId).collect(), line.cycles),
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
