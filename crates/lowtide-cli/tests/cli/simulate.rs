//! `lowtide simulate` and `lowtide bench simulate`.

use serde_json::{Value, json};

use crate::common::{Folder, array, corpus, number, run};

/// A load, its use, and an instruction that could stand between them.
fn load_and_use() -> Value {
    json!({
        "lowtide": 1, "kernel": "k", "target": "gfx906", "region": "r", "loop_depth": 1, "classes": ["vgpr"],
        "registers": [{"name": "a", "class": "vgpr"}, {"name": "b", "class": "vgpr"}],
        "instructions": [
            {"op": "GLOBAL_LOAD_DWORD", "latency": 80, "units": {"HWVMEM": 1}, "flags": "l", "address_space": 1, "defs": ["a"]},
            {"op": "V_ADD_U32_e32", "latency": 1, "units": {"HWVALU": 1}, "uses": ["a"]},
            {"op": "V_MOV_B32_e32", "latency": 1, "units": {"HWVALU": 1}, "defs": ["b"]}
        ],
        "live_out": ["b"],
        "deps": [[0, 1, "data", 80]],
        "production": {"by": "llvm", "order": [0, 2, 1]}
    })
}

#[test]
fn clocks_are_those_of_the_model() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[load_and_use()]);
    let clocks = |options: &str| {
        let document = run(&format!("simulate {{}} --json {options}"), &[&file]).json();
        let kernel = document["kernels"][0].clone();
        (number(&kernel["waves"]), number(&kernel["clocks"]), kernel)
    };
    // The load issues at 0, the addition at 500, and the move after it. The region runs 10 times.
    let (waves, source, kernel) = clocks("--order source --waves 1");
    assert_eq!((waves, source), (1, 10 * 508));
    assert_eq!(kernel["latencies"], "target");
    assert_eq!(kernel["stalls"]["memory"], 10.0 * 496.0);
    let region = &kernel["regions"][0];
    assert_eq!(
        (number(&region["clocks"]), number(&region["frequency"]), number(&region["floor"])),
        (508, 10, 12)
    );
    // The production order has the move in the shadow of the load.
    assert_eq!(clocks("--waves 1").1, 10 * 504);
    assert_eq!(clocks("--waves 1 --latencies recorded").1, 10 * 324, "80 rounds of 4 clocks");
    assert_eq!(clocks("--waves 1 --latency-scale 2").1, 10 * 1004);
    // Ten waves fit. Loads start 16 clocks apart, and the last use ends 504 clocks after the last load.
    let (waves, all, kernel) = clocks("");
    assert_eq!((waves, all), (10, 10 * (9 * 16 + 504)));
    assert_eq!(kernel["clocks_per_wave"], 648.0);
}

#[test]
fn schedules_of_a_file_are_replayed() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[load_and_use()]);
    let output = folder.path("s.jsonl");
    run("schedule {} -o {}", &[&file, &output]).ok();
    let document = run("simulate {} --schedules {} --waves 1 --json", &[&file, &output]).json();
    assert_eq!(number(&document["kernels"][0]["clocks"]), 10 * 504);
    let illegal = folder.regions(
        "bad.jsonl",
        &[json!({"lowtide-schedule": 1, "kernel": "k", "region": "r", "order": [1, 0, 2], "cycles": [0, 1, 2]})],
    );
    let told = run("simulate {} --schedules {}", &[&file, &illegal]).error();
    assert!(told.contains("kernel \"k\"") && told.contains("depends on"), "{told}");
    let other = folder.regions(
        "other.jsonl",
        &[json!({"lowtide-schedule": 1, "kernel": "k", "region": "q", "order": [0, 1, 2], "cycles": [0, 1, 2]})],
    );
    let told = run("simulate {} --schedules {}", &[&file, &other]).error();
    assert!(told.contains("region r has no schedule"), "{told}");
    let told = run("simulate {} --target sm_90", &[&file]).error();
    assert!(told.contains("target sm_90 has no part [simulate]"), "{told}");
}

#[test]
fn the_table_has_a_line_for_each_kernel_and_region() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[load_and_use()]);
    let table = run("simulate {} --regions --waves 2", &[&file]).ok();
    assert!(table.contains("r x10") && table.contains("1 kernels"), "{table}");
    let document = run("simulate {} --json", &[&corpus()]).json();
    let kernels = array(&document["kernels"]);
    assert_eq!(kernels.len(), 26);
    for kernel in kernels {
        for region in array(&kernel["regions"]) {
            assert!(number(&region["clocks"]) >= number(&region["floor"]), "{region}");
        }
    }
}

#[test]
fn the_formula_and_the_model_mostly_agree() {
    let document = run("bench simulate {} --json --nodes 1000", &[&corpus()]).json();
    assert_eq!(array(&document["kernels"]).len(), 26);
    for kernel in array(&document["kernels"]) {
        assert_eq!(array(&kernel["variants"]).len(), 5);
    }
    let agreement = &document["agreement"];
    let pairs: u64 = ["concordant", "discordant", "tied"].iter().map(|key| number(&agreement[*key])).sum();
    assert_eq!(pairs, 26 * 10, "all pairs of five variants");
    assert!(agreement["tau"].as_f64().is_some_and(|tau| tau > 0.5), "{agreement}");
    assert!(agreement["regret_percent"].as_f64().is_some_and(|regret| regret >= 0.0), "{agreement}");
    let told = run("bench simulate {} --target sm_90", &[&corpus()]).error();
    assert!(told.contains("no kernel is for a target with a part [simulate]"), "{told}");
}
