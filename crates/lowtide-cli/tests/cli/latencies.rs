//! `--latencies`, `--latency-scale` and `lowtide bench latencies`.

use serde_json::{Value, json};

use crate::common::{Folder, array, corpus, number, run, text};

/// A load of vector memory and its use, as LLVM describes them.
fn load_and_use(target: &str) -> Value {
    json!({
        "lowtide": 1, "kernel": "k", "target": target, "region": "r", "classes": ["vgpr"],
        "registers": [{"name": "a", "class": "vgpr"}],
        "instructions": [
            {"op": "GLOBAL_LOAD_DWORD", "latency": 80, "units": {"HWVMEM": 1}, "flags": "l", "address_space": 1, "defs": ["a"]},
            {"op": "V_ADD_U32_e32", "latency": 1, "units": {"HWVALU": 1}, "uses": ["a"]}
        ],
        "deps": [[0, 1, "data", 80]]
    })
}

#[test]
fn the_table_of_the_target_is_the_default() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[load_and_use("gfx906")]);
    for (options, name, length) in [
        ("", "target", 126),
        ("--latencies target", "target", 126),
        ("--latencies recorded", "recorded", 81),
        ("--latency-scale 0.5", "target*0.5", 64),
        ("--latencies target --latency-scale 2", "target*2", 251),
        ("--target gfx1100", "target", 381),
    ] {
        let document = run(&format!("schedule {{}} --json {options}"), &[&file]).json();
        let kernel = &document["kernels"][0];
        assert_eq!(kernel["latencies"], name, "{options}");
        assert_eq!(number(&kernel["regions"][0]["length"]), length, "{options}");
        let document = run(&format!("compare {{}} --json --nodes 100 {options}"), &[&file]).json();
        assert_eq!(document["latencies"], json!([name]), "{options}");
        assert_eq!(number(&document["algorithms"]["source"]["length"]), length, "{options}");
        let document = run(&format!("info {{}} --json {options}"), &[&file]).json();
        assert_eq!((number(&document["critical_path"]), &document["latencies"]), (length, &json!([name])));
    }
}

#[test]
fn a_target_without_a_table_has_recorded_latencies() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[load_and_use("generic")]);
    for options in ["", "--latencies target"] {
        let document = run(&format!("schedule {{}} --json {options}"), &[&file]).json();
        assert_eq!(document["kernels"][0]["latencies"], "recorded");
        assert_eq!(number(&document["kernels"][0]["regions"][0]["length"]), 81);
    }
    let unknown = folder.regions("u.jsonl", &[load_and_use("gfx000")]);
    let document = run("info {} --json", &[&unknown]).json();
    assert_eq!(document["latencies"], json!(["recorded"]), "info describes files for unknown GPUs");
}

#[test]
fn a_schedule_file_says_which_latencies_to_check_with() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[load_and_use("gfx906")]);
    let output = folder.path("s.jsonl");
    for (options, length, name) in [
        ("", 126, "target"),
        ("--latencies recorded", 81, "recorded"),
        ("--latency-scale 2", 251, "target*2"),
    ] {
        run(&format!("schedule {{}} -o {{}} {options}"), &[&file, &output]).ok();
        let document = run("check {} {} --json", &[&file, &output]).json();
        assert_eq!((number(&document["length"]), number(&document["illegal"])), (length, 0), "{options}");
        assert_eq!(document["latencies"], json!([name]), "{options}");
    }
    // A schedule for short latencies breaks longer ones, and the checker says what it was made for.
    run("schedule {} -o {} --latencies recorded", &[&file, &output]).ok();
    assert!(!text(&output).contains("latencies"), "older readers can read it");
    let told = run("check {} {} --latencies target", &[&file, &output]).refused();
    assert!(told.contains("with latency 125"), "{told}");
    assert!(told.contains("made with latencies recorded, and checked with target"), "{told}");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let told = run("schedule {} --latencies recorded --latency-scale 2", &[&corpus()]).error();
    assert!(told.contains("cannot go with --latencies recorded"), "{told}");
    for bad in ["0", "-1", "half", "101"] {
        let told = run(&format!("schedule {{}} --latency-scale={bad}"), &[&corpus()]).usage();
        assert!(told.contains("is not a number from 0.01 to 100"), "{told}");
    }
}

#[test]
fn a_target_prints_its_table_with_sources() {
    let document = run("targets gfx906 --json", &[]).json();
    let table = array(&document[0]["latencies"]);
    assert_eq!(table.len(), 3);
    assert_eq!((number(&table[0]["cycles"]), &table[0]["range"]), (125, &json!([75, 200])));
    assert!(table.iter().all(|entry| entry["source"].as_str().is_some_and(|source| !source.is_empty())));
    assert!(run("targets gfx906", &[]).ok().contains("HWVMEM load"));
}

#[test]
fn orders_are_robust_against_other_latencies() {
    let document = run("bench latencies {} --json --nodes 2000 --scales 0.5,1,2", &[&corpus()]).json();
    assert_eq!((number(&document["kernels"]), number(&document["without_table"])), (26, 0));
    let rows = array(&document["made"]);
    let names: Vec<&str> = rows.iter().filter_map(|row| row["made_for"].as_str()).collect();
    assert_eq!(names, ["source", "production", "recorded", "target*0.5", "target", "target*2"]);
    let extra = |row: usize, set: usize| rows[row]["extra_percent"][set].as_f64().expect("a number");
    for set in 0..3 {
        assert_eq!(extra(3 + set, set), 0.0, "an order is measured against itself");
        assert!(extra(0, set) > extra(4, set), "the source order is longer");
        // An order for a table that is wrong by a factor of two costs little.
        assert!(extra(4, set) < 2.0, "{}", extra(4, set));
    }
    let waves: Vec<u64> = rows[2..].iter().map(|row| number(&row["occupancy"])).collect();
    assert!(waves.windows(2).all(|pair| pair[0] == pair[1]), "waves do not depend on latencies: {waves:?}");
    let told = run("bench latencies {} --target generic", &[&corpus()]).error();
    assert!(told.contains("no kernel is for a target with a table of latencies"), "{told}");
    let told = run("bench latencies {} --scales 0", &[&corpus()]).error();
    assert!(told.contains("--scales 0: a factor is 0.01 to 100"), "{told}");
}
