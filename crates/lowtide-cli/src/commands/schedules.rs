//! Schedule files as a whole, by region.

use std::path::Path;

use lowtide_io::{ScheduleEntry, ScheduleReader};
use lowtide_tool::Failure;
use rustc_hash::FxHashMap;

/// Origin, kernel and region.
pub(super) type ScheduleKey = (String, String, String);

/// The schedules of a file, unchecked.
pub(super) type Schedules = FxHashMap<ScheduleKey, ScheduleEntry>;

/// Read a schedule file. It is an error if a region has two schedules.
pub(super) fn read_schedules(file: &Path) -> Result<Schedules, Failure> {
    let mut schedules = Schedules::default();
    for entry in ScheduleReader::open(file)? {
        let entry = entry?;
        let key = (entry.origin.clone(), entry.kernel.clone(), entry.region.clone());
        if schedules.contains_key(&key) {
            return Err(Failure::Message(format!(
                "{}: region {:?} of kernel {:?} has two schedules",
                file.display(),
                key.2,
                key.1
            )));
        }
        schedules.insert(key, entry);
    }
    Ok(schedules)
}
