//! What must hold for any bytes at all. The fuzz targets in `fuzz/` and the short run in `fuzz_short.rs` call
//! the same functions. Each panics if a promise is broken, and returns whether the input was accepted.

#![allow(dead_code)] // every target uses its own part

use std::io::Cursor;

use lowtide::ClassId;
use lowtide::analysis::pressure::Tracker;
use lowtide::check::bound::check_cut;
use lowtide::check::{check, check_order};
use lowtide::generate::{Random, random_order, register_program};
use lowtide::problem::{Goal, Problem};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide_io::{
    BoundReason, KernelReader, ReadError, ScheduleEntry, ScheduleReader, dot, format_line, format_schedule,
};

/// The kernels of a file that lies in memory.
pub(crate) fn read_kernels(data: &[u8]) -> Result<Vec<Kernel>, ReadError> {
    KernelReader::from_reader(Box::new(Cursor::new(data.to_vec())), "fuzz")?.collect()
}

/// The schedules of a file that lies in memory.
pub(crate) fn read_schedules(data: &[u8]) -> Result<Vec<ScheduleEntry>, ReadError> {
    ScheduleReader::from_reader(Box::new(Cursor::new(data.to_vec())), "fuzz")?.collect()
}

/// Kernels as a file.
pub(crate) fn format_kernels(kernels: &[Kernel]) -> String {
    let lines = kernels.iter().flat_map(|kernel| kernel.regions.iter().map(move |r| format_line(kernel, r)));
    lines.map(|line| line + "\n").collect()
}

/// Any bytes as a region file: refused with a message that has a place, or read for good.
pub(crate) fn region_file(data: &[u8]) -> bool {
    let kernels = match read_kernels(data) {
        Ok(kernels) => kernels,
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz:"), "{error}");
            return false;
        }
    };
    assert!(!kernels.is_empty(), "a file without regions is refused");
    let text = format_kernels(&kernels);
    let again = read_kernels(text.as_bytes()).expect("what was written can be read");
    assert_eq!(kernels, again, "what was written is what was read");
    for kernel in &kernels {
        for region in &kernel.regions {
            check_region(region);
            assert!(dot(&kernel.name, region).ends_with("}\n"));
        }
    }
    true
}

/// Any bytes as a Parquet file; the start that tells the format is supplied where it is missing.
pub(crate) fn parquet(data: &[u8]) -> bool {
    const START: &[u8] = b"PAR1";
    match data.starts_with(START) {
        true => region_file(data),
        false => region_file(&[START, data].concat()),
    }
}

/// Any bytes as a line of an LLVM dump; the start that tells the format is supplied where it is missing.
pub(crate) fn llvm_dump(data: &[u8]) -> bool {
    if data.starts_with(b"{") { region_file(data) } else { region_file(&[b"{\"v\":1,", data].concat()) }
}

/// Any bytes as a schedule file; what can be read is also put before the checker.
pub(crate) fn schedule_file(data: &[u8]) -> bool {
    let entries = match read_schedules(data) {
        Ok(entries) => entries,
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz:"), "{error}");
            return false;
        }
    };
    let line = |entry: &ScheduleEntry| {
        let ScheduleEntry { kernel, origin, region, schedule, latencies, bounds } = entry;
        format_schedule(kernel, origin, region, schedule, *latencies, bounds) + "\n"
    };
    let text: String = entries.iter().map(line).collect();
    assert_eq!(entries, read_schedules(text.as_bytes()).expect("what was written can be read"));
    let region = register_program(6, 1);
    let target = Target::builtin("gfx906").expect("built in");
    for entry in &entries {
        // Whether it is legal does not matter here: an answer must come.
        let _ = check(&region, &target, &entry.schedule);
        let _ = check_order(&region, entry.schedule.order());
        let _ = entry.schedule.length();
        for bound in &entry.bounds {
            if let BoundReason::Cut(moment) = bound.by {
                let _ = check_cut(&region, ClassId(0), moment, bound.value);
            }
        }
    }
    true
}

/// Any bytes as a target file: what is accepted gives steps and limits that agree, and can be scheduled for.
pub(crate) fn target_file(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let Ok(target) = Target::parse(text) else {
        return false;
    };
    for file in target.files() {
        let steps = file.steps();
        assert!(!steps.is_empty());
        assert!(steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1), "more registers, fewer waves");
        for &(limit, waves) in &steps {
            assert_eq!((file.waves(limit), file.limit(waves)), (waves, limit));
        }
        assert_eq!((steps[0].1, steps[steps.len() - 1].1), (file.waves(1), file.waves(u32::MAX)));
        for pair in steps.windows(2) {
            assert_eq!(file.waves(pair[0].0 + 1), pair[1].1, "no step is left out");
        }
        for used in [0, 1, 2, 255, 256, 1 << 16, i32::MAX as u32, u32::MAX - 1, u32::MAX] {
            assert!((1..=file.waves).contains(&file.waves(used)));
            assert!(file.adjusted(used) >= used);
            assert_eq!(file.waves(file.adjusted(used)), file.waves(used));
        }
    }
    let classes: Vec<Box<str>> = (target.files().iter())
        .flat_map(|file| &file.classes)
        .take(lowtide::region::limits::CLASSES)
        .map(|class| class.name.as_str().into())
        .collect();
    let registers = target.registers(&classes).expect("these are its own classes");
    for pressure in [0, 1, 100, 1 << 26] {
        let pressure = vec![pressure; classes.len()];
        assert!((1..=target.max_waves()).contains(&registers.occupancy(&pressure)));
        let _ = registers.spilled(&pressure);
    }
    schedule_source_order(&register_program(6, 1), &target);
    true
}

/// Source order and a random order are legal, and the tracker agrees with the checker about both.
fn check_region(region: &Region) {
    let mut random = Random::new(region.len() as u64);
    for order in [region.instrs().collect(), random_order(region, &mut random)] {
        let expected = check_order(region, &order).expect("the order is legal");
        let mut tracker = Tracker::new(region);
        let start = tracker.peaks();
        for &instr in &order {
            tracker.schedule(instr);
        }
        assert_eq!(tracker.peaks(), expected, "tracker and checker agree");
        while tracker.undo().is_some() {}
        assert_eq!(tracker.peaks(), start, "undo leads back to the start");
    }
    schedule_source_order(region, &Target::builtin("generic").expect("built in"));
}

/// The source order with its stalls is a legal schedule, and the checker measures the same.
fn schedule_source_order(region: &Region, target: &Target) {
    let Ok(problem) = Problem::new(region, target, Goal::Occupancy) else {
        return; // a class that the target does not have
    };
    let schedule = Schedule::source(&problem);
    let report = check(region, target, &schedule).expect("the source order is legal");
    let measure = problem.measure(&schedule);
    assert_eq!(
        (report.peaks, report.occupancy, report.spilled, report.length),
        (measure.peaks.clone(), measure.occupancy, measure.spilled, measure.length)
    );
    let _ = problem.cost(&measure);
}
