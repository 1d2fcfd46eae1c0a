//! A short, repeatable fuzz run on stable Rust: real files, damaged in ways that keep most of their
//! structure. `fuzz/` runs the same harness for as long as one likes.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::harness;
use crate::made::or_in_ci;
use flate2::read::MultiGzDecoder;
use lowtide::InstrId;
use lowtide::generate::{Random, register_program};
use lowtide::proof::Moment;
use lowtide::schedule::Schedule;
use lowtide::target::Latencies;
use lowtide_io::{BoundReason, PeakBound};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(end));
    files.sort();
    assert!(!files.is_empty(), "no *{end} in {}", folder.display());
    files
}

/// Short lines of the sample corpus: long ones take their time and say no more.
fn corpus_lines() -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for file in files(&repository().join("corpus"), ".jsonl.gz") {
        let mut text = String::new();
        MultiGzDecoder::new(&*std::fs::read(file).unwrap()).read_to_string(&mut text).unwrap();
        lines.extend(text.lines().filter(|line| line.len() < 6000).map(|line| line.as_bytes().to_vec()));
    }
    assert!(lines.len() > 20);
    lines
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// Numbers where things tend to break.
const EDGE_NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "31",
    "32",
    "63",
    "64",
    "65",
    "255",
    "256",
    "65535",
    "65536",
    "2147483646",
    "2147483647",
    "2147483648",
    "4294967294",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e30",
    "0.5",
    "-0",
    "null",
    "\"\"",
    "[]",
    "{}",
];

/// Numbers, strings, words and single marks of JSON or TOML.
fn tokens(text: &[u8]) -> Vec<Range<usize>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        at += 1;
        if text[start] == b'"' {
            while at < text.len() && text[at] != b'"' {
                at += 1 + usize::from(text[at] == b'\\');
            }
            at = (at + 1).min(text.len());
        } else if text[start].is_ascii_alphanumeric() || text[start] == b'-' {
            while at < text.len() && (text[at].is_ascii_alphanumeric() || text[at] == b'.') {
                at += 1;
            }
        }
        tokens.push(start..at);
    }
    tokens
}

fn mutate(random: &mut Random, input: &mut Vec<u8>) {
    if input.is_empty() {
        return;
    }
    let length = input.len();
    match random.below(10) {
        0 => input[random.below(length)] ^= 1 << random.below(8),
        1 => input[random.below(length)] = random.bits() as u8,
        2 => input.truncate(random.below(length)),
        3 => {
            let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
            let line = random.below(lines.len());
            match random.chance(50) {
                true => lines.insert(random.below(lines.len()), lines[line]),
                false => drop(lines.remove(line)),
            }
            *input = lines.join(&b'\n');
        }
        kind => {
            let all = tokens(input);
            let pick = |random: &mut Random, wanted: fn(u8) -> bool| {
                let first = random.below(all.len());
                let mut candidates = all[first..].iter().chain(&all[..first]);
                candidates.find(|token| wanted(input[token.start])).cloned()
            };
            let a = match kind {
                4..=7 => pick(random, |byte| byte.is_ascii_digit()),
                8 => pick(random, |byte| byte == b'"'),
                _ => pick(random, |_| true),
            };
            let b = match kind {
                4 | 5 => pick(random, |byte| byte.is_ascii_digit()),
                8 => pick(random, |byte| byte == b'"'),
                _ => pick(random, |_| true),
            };
            let (Some(a), Some(b)) = (a, b) else {
                return;
            };
            let new: Vec<u8> = match kind {
                6 | 7 => random.pick(EDGE_NUMBERS).into(),
                _ => input[b].to_vec(),
            };
            // Another token in its place, nothing in its place, or the other one beside it.
            match if kind == 9 { random.below(3) } else { 0 } {
                0 => drop(input.splice(a, new)),
                1 => drop(input.splice(a, [])),
                _ => drop(input.splice(a.start..a.start, new)),
            }
        }
    }
}

/// Runs a harness on damaged seeds, and tells how many inputs it accepted.
fn run(name: &str, seeds: &[Vec<u8>], rounds: usize, harness: fn(&[u8]) -> bool) {
    for (number, seed) in seeds.iter().enumerate() {
        assert!(harness(seed), "seed {number} of {name} is valid");
    }
    let rounds = if rounds > 20_000 { or_in_ci(rounds, rounds / 3) } else { rounds };
    let mut random = Random::new(0x10_7d1e);
    let mut accepted = 0;
    let mut slowest = std::time::Duration::ZERO;
    for round in 0..rounds {
        let mut input = seeds[random.below(seeds.len())].clone();
        for _ in 0..1 + random.below(3) {
            mutate(&mut random, &mut input);
        }
        let start = std::time::Instant::now();
        let result = std::panic::catch_unwind(|| harness(&input));
        slowest = slowest.max(start.elapsed());
        match result {
            Ok(result) => accepted += usize::from(result),
            Err(_) => panic!("{name}, round {round}: {}", String::from_utf8_lossy(&input)),
        }
    }
    eprintln!("{name}: {accepted} of {rounds} damaged inputs were still valid, the slowest took {slowest:?}");
    // A run whose inputs are all refused, or all accepted, looks at one half of the code only.
    assert!(accepted > rounds / 100 && accepted < rounds * 9 / 10, "{name}: {accepted} of {rounds}");
}

#[test]
fn damaged_region_files_are_refused_or_round_trip() {
    let mut seeds = corpus_lines();
    seeds.push(data("regions.jsonl"));
    run("region_file", &seeds, 40_000, harness::region_file);
}

#[test]
fn damaged_dumps_are_refused_or_round_trip() {
    let whole = data("dump.jsonl");
    let mut seeds: Vec<Vec<u8>> = whole.trim_ascii().split(|byte| *byte == b'\n').map(Vec::from).collect();
    seeds.push(whole);
    run("llvm_dump", &seeds, 80_000, harness::llvm_dump);
}

#[test]
fn damaged_schedules_are_refused_or_round_trip() {
    let region = register_program(6, 1);
    let order: Vec<_> = region.instrs().collect();
    let schedule = Schedule::from_parts(order, vec![0, 3, 7, 9, 12, 40]);
    let bound = |class: &str, value, by| PeakBound { class: class.to_string(), value, by };
    let bounds = [
        bound("vgpr", 3, BoundReason::Cut(Moment::Before(InstrId(4)))),
        bound("sgpr", 0, BoundReason::Cut(Moment::End)),
        bound("tgpr", 5, BoundReason::Cut(Moment::AfterBoth(InstrId(4), InstrId(1)))),
        bound("ugpr", 6, BoundReason::Cut(Moment::BeforeBoth(InstrId(3), InstrId(5)))),
        bound("wgpr", 9, BoundReason::Solver),
        bound("agpr", 7, BoundReason::Search { nodes: 12, rules: vec!["memory".to_string()] }),
    ];
    let line =
        lowtide_io::format_schedule("kernel", "origin", region.name(), &schedule, Latencies::Recorded, &[]);
    let bounded =
        lowtide_io::format_schedule("kernel", "origin", region.name(), &schedule, Latencies::TARGET, &bounds);
    let both = format!("{line}\n\n{bounded}\n");
    let seeds = [line.into_bytes(), bounded.into_bytes(), both.into_bytes()];
    run("schedule_file", &seeds, 60_000, harness::schedule_file);
}

#[test]
fn damaged_targets_are_refused_or_consistent() {
    let files = files(&repository().join("crates/lowtide/targets"), ".toml");
    let seeds: Vec<Vec<u8>> = files.into_iter().map(|file| std::fs::read(file).unwrap()).collect();
    run("target_file", &seeds, 16_000, harness::target_file);
}

#[test]
fn the_largest_numbers_a_target_may_have_neither_overflow_nor_hang() {
    for (size, granule, waves) in [(u32::MAX, 1, u32::MAX), (u32::MAX, u32::MAX, u32::MAX), (1, 1, u32::MAX)]
    {
        for max in [1, size / 2 + 1, size] {
            let text = format!(
                "name='t'\ndescription=''\n[issue]\nwidth={0}\nunits=[{{name='u',count={0}}}]\n[[file]]\nname='f'\n\
                 size={size}\ngranule={granule}\nwaves={waves}\nclasses=[{{name='vgpr',max={max},align={0}}}]\n",
                u32::MAX
            );
            assert!(harness::target_file(text.as_bytes()), "{text}");
        }
    }
}

#[test]
fn random_bytes_are_refused() {
    let mut random = Random::new(1);
    for round in 0..20_000 {
        let mut input: Vec<u8> = (0..random.below(64)).map(|_| random.bits() as u8).collect();
        if round % 4 == 0 {
            input.splice(0..0, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]); // as gzip
        }
        assert!(!harness::region_file(&input));
        assert!(!harness::llvm_dump(&input));
        assert!(!harness::schedule_file(&input));
        harness::target_file(&input);
    }
}
