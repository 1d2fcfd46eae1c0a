//! Tables compared with the files in `golden/`. `LOWTIDE_BLESS=1` accepts new ones.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::{Folder, run, tiny};

#[track_caller]
fn matches(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LOWTIDE_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, text).expect("the golden file is writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{name} differs (LOWTIDE_BLESS=1 accepts it).\nnow:\n{text}\nbefore:\n{expected}"
    );
}

#[test]
fn targets() {
    matches("targets.txt", &run("targets", &[]).ok());
}

#[test]
fn the_steps_of_a_target() {
    matches("targets-gfx90a.txt", &run("targets gfx90a", &[]).ok());
}

#[test]
fn info() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s"), tiny("l", "r")]);
    let table = run("info {}", &[&file]).ok();
    let (table, timing) = table.trim_end().rsplit_once('\n').expect("several lines");
    assert!(timing.starts_with("read and validated in "), "{timing}");
    matches("info.txt", &format!("{}\n", table.trim_end()));
}

#[test]
fn schedule() {
    let folder = Folder::new();
    // The critical path is last in the source order, and two registers need not live at once.
    let mut late =
        tiny("a_kernel_with_a_name_that_is_much_too_long_to_be_shown_in_a_table_of_one_hundred_columns", "r");
    late["instructions"] = json!([
        {"op": "load", "latency": 8, "defs": ["a"]},
        {"op": "store", "latency": 1, "uses": ["a"]},
        {"op": "load", "latency": 80, "defs": ["b"]},
        {"op": "store", "latency": 1, "uses": ["b"]}
    ]);
    late["deps"] = json!([[0, 1, "data", 8], [2, 3, "data", 80]]);
    late.as_object_mut().expect("an object").remove("source_peaks");
    let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s"), late]);
    let table = run("schedule {} --nodes 1000 --latencies recorded", &[&file]).ok();
    matches("schedule.txt", &mask_times(&table));
}

/// Hides the last column of the table and the seconds, but keeps their places.
fn mask_times(table: &str) -> String {
    let mut in_table = true;
    let mut masked = String::new();
    for line in table.lines() {
        in_table &= !line.is_empty();
        let line = match line.split_once(" s of processor time") {
            Some((before, _)) => {
                let (before, _) = before.rsplit_once(' ').expect("the seconds");
                format!("{before} #.## s of processor time")
            }
            None if in_table && line.ends_with(|end: char| end.is_ascii_digit()) => {
                let (before, _) = line.rsplit_once(' ').expect("the milliseconds");
                let width = line.chars().count() - "#.#".len();
                format!("{:width$}#.#", before.trim_end())
            }
            None => line.to_string(),
        };
        masked += &format!("{line}\n");
    }
    masked
}
