//! What is written is what is read.
//!
//! `tests/data` holds small files and what becomes of them, checked in so that a change of the format shows.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::harness::{format_kernels, read_kernels, read_schedules};
use crate::skip;
use flate2::read::MultiGzDecoder;
use lowtide::InstrId;
use lowtide::generate::{Random, Shape, random_order, region, register_program};
use lowtide::proof::Moment;
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::Latencies;
use lowtide_io::{
    BoundReason, KernelReader, LineWriter, PeakBound, ScheduleEntry, ScheduleReader, dot, format_line,
    format_schedule,
};

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data(name: &str) -> String {
    std::fs::read_to_string(manifest().join("tests/data").join(name)).unwrap()
}

fn unpack(file: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(&*std::fs::read(file).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// The packed files of a folder, in a fixed order.
fn packed_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".jsonl.gz"));
    files.sort();
    files
}

fn kernel_of(regions: Vec<Region>) -> Kernel {
    Kernel {
        name: "k \"quoted\" \\ ü \u{1f30a}".to_string(),
        origin: "a\nb".to_string(),
        target: Some(String::new()),
        is_entry: false,
        max_occupancy: Some(u32::MAX),
        regions,
    }
}

#[track_caller]
fn assert_round_trip(kernels: &[Kernel]) {
    let read = read_kernels(format_kernels(kernels).as_bytes()).unwrap();
    // Not assert_eq: nobody wants to see thousands of regions.
    assert!(read == kernels, "kernels differ after a round trip");
}

#[test]
fn generated_regions_of_every_shape_round_trip() {
    for shape in Shape::ALL {
        let regions = (0..500).map(|seed| region(shape, 1 + seed as usize % 80, seed));
        assert_round_trip(&[kernel_of(regions.collect())]);
    }
}

#[test]
fn generated_register_programs_round_trip() {
    let regions = (0..3000).map(|seed| register_program(1 + seed as usize % 40, seed));
    assert_round_trip(&[kernel_of(regions.collect())]);
}

#[test]
fn kernels_without_optional_parts_round_trip() {
    let plain = Kernel {
        name: "k".to_string(),
        origin: String::new(),
        target: None,
        is_entry: true,
        max_occupancy: None,
        regions: vec![register_program(5, 1)],
    };
    let other = Kernel { origin: "elsewhere".to_string(), ..plain.clone() };
    assert_round_trip(&[plain, other]);
}

#[test]
fn frequencies_round_trip_and_are_left_out_where_there_are_none() {
    let frequencies = [Some(0), None, Some(1), Some(1_000_000), Some(u32::MAX)];
    let regions = frequencies.into_iter().zip(0..).map(|(frequency, seed)| {
        let region = register_program(5, seed);
        frequency.map_or(region.clone(), |frequency| region.with_frequency(frequency))
    });
    let kernel = kernel_of(regions.collect());
    assert_round_trip(std::slice::from_ref(&kernel));
    for (region, frequency) in kernel.regions.iter().zip(frequencies) {
        let line = format_line(&kernel, region);
        match frequency {
            Some(frequency) => assert!(line.contains(&format!("\"frequency\":{frequency},")), "{line}"),
            None => assert!(!line.contains("frequency"), "{line}"),
        }
    }
    // No frequency is not the same as a frequency of zero.
    let nothing = format_line(&kernel, &kernel.regions[1]);
    let null = nothing.replacen("\"region\":", "\"frequency\":null,\"region\":", 1);
    let read = read_kernels(null.as_bytes()).unwrap();
    assert_eq!(read[0].regions[0].frequency(), None);
}

#[test]
fn the_sample_corpus_round_trips_to_the_same_text() {
    let files = packed_files(&manifest().join("../../corpus"));
    assert_eq!(files.len(), 2);
    for file in files {
        let text = unpack(&file);
        let kernels: Vec<Kernel> = KernelReader::open(&file).unwrap().collect::<Result<_, _>>().unwrap();
        let mut lines = text.lines();
        for kernel in &kernels {
            for region in &kernel.regions {
                let place = format!("{}: {} {}", file.display(), kernel.name, region.name());
                assert!(lines.next() == Some(&*format_line(kernel, region)), "{place} differs");
            }
        }
        assert_eq!(lines.next(), None);
    }
}

/// Operands in any order, one twice in a row, and lanes of one register at several positions.
#[test]
fn operands_keep_their_order_and_duplicates() {
    let uses = [
        r#"["a","b"]"#,
        r#"["b","a"]"#,
        r#"["b","b"]"#,
        r#"["c","b","a","b","c"]"#,
        r#"[["d",4],["d",1],"a",["d",6]]"#,
    ];
    let instructions = uses.map(|uses| format!(r#"{{"op":"x","latency":1,"uses":{uses}}}"#)).join(",");
    let line = format!(
        r#"{{"lowtide":1,"kernel":"k","region":"r","classes":["vgpr"],"registers":[{{"name":"d","class":"vgpr","lanes":3}},{{"name":"c","class":"vgpr"}},{{"name":"a","class":"vgpr"}},{{"name":"b","class":"vgpr"}}],"live_in":["a","b","c","d"],"instructions":[{instructions}]}}"#
    );
    let kernels = read_kernels(line.as_bytes()).unwrap();
    assert_eq!(format_kernels(&kernels).trim_end(), line);
    let region = &kernels[0].regions[0];
    let names = |instr: u32| -> Vec<&str> {
        region.operands(InstrId(instr)).iter().map(|operand| region.register_name(operand.register)).collect()
    };
    assert_eq!(names(1), ["b", "a"]);
    assert_eq!(names(3), ["c", "b", "a", "b", "c"]);
    // Schedulers count each register once.
    let merged = region.uses(InstrId(4)).iter().map(|operand| operand.lanes).collect::<Vec<_>>();
    assert_eq!(merged, [7, 1]);
}

#[test]
fn gzip_and_plain_files_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = [kernel_of((0..200).map(|seed| register_program(20, seed)).collect())];
    for name in ["regions.jsonl", "regions.jsonl.gz"] {
        let path = folder.path().join(name);
        let mut writer = LineWriter::create(&path).unwrap();
        format_kernels(&kernels).lines().for_each(|line| writer.line(line).unwrap());
        assert!(!path.exists(), "nothing shows before the end");
        writer.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]), name.ends_with(".gz"));
        let read: Vec<Kernel> = KernelReader::open(&path).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(read == kernels, "{name}");
    }
}

/// Any bound on the peak of a class.
fn bound(class: usize, random: &mut Random) -> PeakBound {
    let [instr, other] = [(); 2].map(|()| InstrId(random.bits() as u32));
    let names = ["memory", "not \"yet\" known"];
    let rules = (0..random.below(3)).map(|_| random.pick(&names).to_string()).collect();
    let by = match random.below(8) {
        0 => BoundReason::Cut(Moment::Start),
        1 => BoundReason::Cut(Moment::End),
        2 => BoundReason::Cut(Moment::Before(instr)),
        3 => BoundReason::Cut(Moment::After(instr)),
        4 => BoundReason::Cut(Moment::BeforeBoth(instr, other)),
        5 => BoundReason::Cut(Moment::AfterBoth(instr, other)),
        6 => BoundReason::Solver,
        _ => BoundReason::Search { nodes: random.bits(), rules },
    };
    PeakBound { class: format!("c\"{class}"), value: random.bits() as u32, by }
}

#[test]
fn a_schedule_without_bounds_is_still_of_version_1() {
    let schedule = Schedule::from_parts(vec![InstrId(1), InstrId(0)], vec![4, 0]);
    let line = format_schedule("k", "", "r", &schedule, Latencies::Recorded, &[]);
    assert_eq!(line, r#"{"lowtide-schedule":1,"kernel":"k","region":"r","order":[1,0],"cycles":[4,0]}"#);
    let [zero, one] = [InstrId(0), InstrId(1)];
    for (by, written) in [
        (BoundReason::Cut(Moment::After(one)), r#"{"cut":"after","instr":1}"#),
        (BoundReason::Cut(Moment::BeforeBoth(one, zero)), r#"{"cut":"before","instr":1,"and":0}"#),
        (BoundReason::Cut(Moment::AfterBoth(zero, one)), r#"{"cut":"after","instr":0,"and":1}"#),
        (BoundReason::Solver, r#"{"solver":"cp-sat"}"#),
    ] {
        let bound = PeakBound { class: "vgpr".to_string(), value: 2, by };
        let line = format_schedule("k", "", "r", &schedule, Latencies::Recorded, &[bound]);
        assert_eq!(
            line,
            r#"{"lowtide-schedule":2,"kernel":"k","region":"r","order":[1,0],"cycles":[4,0],"#.to_string()
                + &format!(r#""peak_bounds":{{"vgpr":{{"value":2,"by":{written}}}}}}}"#)
        );
    }
}

#[test]
fn latencies_of_the_target_make_version_3() {
    let schedule = Schedule::from_parts(vec![InstrId(0)], vec![0]);
    let line = |latencies| format_schedule("k", "", "r", &schedule, latencies, &[]);
    assert_eq!(
        line(Latencies::TARGET),
        r#"{"lowtide-schedule":3,"kernel":"k","region":"r","order":[0],"cycles":[0],"latencies":"target"}"#
    );
    assert!(line(Latencies::Target { percent: 50 }).ends_with(r#""latencies":"target*0.5"}"#));
    let read = |line: &str| read_schedules(line.as_bytes()).unwrap()[0].latencies;
    assert_eq!(read(&line(Latencies::TARGET)), Latencies::TARGET);
    assert_eq!(read(&line(Latencies::Recorded)), Latencies::Recorded);
    let older = line(Latencies::TARGET).replace(":3", ":2");
    let error = read_schedules(older.as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("latencies: only version 3 of a schedule file has them"), "{error}");
    let unknown = line(Latencies::TARGET).replace("target", "hardware");
    let error = read_schedules(unknown.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("latencies: \"hardware\" is not recorded, target, or target times"), "{error}");
}

#[test]
fn schedules_round_trip_plain_and_packed() {
    let mut random = Random::new(7);
    let entries: Vec<ScheduleEntry> = (0..1000)
        .map(|seed| {
            let region = register_program(1 + seed as usize % 30, seed);
            let order = random_order(&region, &mut random);
            let cycles = region.instrs().map(|_| random.bits() as u32).collect();
            ScheduleEntry {
                kernel: format!("k\t{seed}"),
                origin: if seed % 2 == 0 { String::new() } else { "\"o\"".to_string() },
                region: region.name().to_string(),
                schedule: Schedule::from_parts(order, cycles),
                latencies: match random.below(3) {
                    0 => Latencies::Recorded,
                    1 => Latencies::TARGET,
                    _ => Latencies::Target { percent: 1 + random.below(10_000) as u32 },
                },
                bounds: (0..random.below(4)).map(|class| bound(class, &mut random)).collect(),
            }
        })
        .collect();
    let line = |entry: &ScheduleEntry| {
        let ScheduleEntry { kernel, origin, region, schedule, latencies, bounds } = entry;
        format_schedule(kernel, origin, region, schedule, *latencies, bounds)
    };
    let lines: Vec<String> = entries.iter().map(line).collect();
    assert!(read_schedules(lines.join("\n").as_bytes()).unwrap() == entries);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schedules.gz");
    let mut writer = LineWriter::create(&path).unwrap();
    lines.iter().for_each(|line| writer.line(line).unwrap());
    writer.finish().unwrap();
    let read: Vec<ScheduleEntry> = ScheduleReader::open(&path).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(read == entries);
}

#[test]
fn line_ends_and_blank_lines_do_not_matter() {
    let text = data("regions.jsonl");
    let expected = read_kernels(text.as_bytes()).unwrap();
    let windows = text.replace('\n', "\r\n");
    let blank = format!("\n  \n{}", text.replace('\n', "\n\t\n\n"));
    let open = text.trim_end().to_string();
    for variant in [windows, blank, open] {
        assert_eq!(read_kernels(variant.as_bytes()).unwrap(), expected);
    }
}

#[test]
fn the_own_format_is_written_as_checked_in() {
    let text = data("regions.jsonl");
    assert_eq!(format_kernels(&read_kernels(text.as_bytes()).unwrap()), text);
}

#[test]
fn an_llvm_dump_converts_to_the_regions_checked_in() {
    let kernels = read_kernels(data("dump.jsonl").as_bytes()).unwrap();
    assert_eq!(format_kernels(&kernels), data("dump.converted.jsonl"));
}

#[test]
fn a_region_is_drawn_as_checked_in() {
    let kernels = read_kernels(data("dump.jsonl").as_bytes()).unwrap();
    assert_eq!(dot(&kernels[0].name, &kernels[0].regions[0]), data("dump.dot"));
}

/// The whole corpus is not part of the repository.
#[test]
fn the_whole_corpus_converts_and_reads_back() {
    let Some(folder) = skip::shared_corpus() else { return };
    let (mut kernels, mut instructions) = (0, 0);
    for file in packed_files(&folder) {
        for (number, kernel) in KernelReader::open(&file).unwrap().enumerate() {
            let kernel = kernel.unwrap();
            kernels += 1;
            instructions += kernel.instr_count();
            if number % 20 == 0 {
                assert_round_trip(&[kernel]);
            }
        }
    }
    assert!(kernels > 0, "no regions in {}", folder.display());
    eprintln!("read {kernels} kernels with {instructions} instructions, converted every twentieth");
}
