//! Published methods and their parameters.

use serde_json::Value;

use crate::common::{Folder, array, corpus, number, run};
use crate::front::wide;

#[test]
fn the_optimum_of_the_published_search_does_not_depend_on_its_techniques() {
    let figures = |options: &str| {
        let line =
            format!("schedule {{}} --json --nodes 3000 --algorithm twopass-paper --kernel exch {options}");
        let document = run(&line, &[&corpus()]).json();
        let kernel = document["kernels"][0].clone();
        let lengths = array(&kernel["regions"]).iter().map(|region| number(&region["length"])).sum::<u64>();
        (number(&kernel["occupancy"]), lengths, kernel["regions"][0]["optimal"].clone())
    };
    let all = figures("");
    assert_eq!(all.2, true);
    for options in
        ["--rules pressure,history", "--rules bound,history", "--start llvm-generic", "--start source"]
    {
        assert_eq!(figures(options), all, "{options}");
    }
}

#[test]
fn a_start_is_a_schedule_without_a_search() {
    let message = run("schedule x --algorithm twopass-paper --start twopass", &[]).usage();
    assert!(message.contains("known are source"), "{message}");
    let message = run("schedule x --algorithm twopass-paper --rules magic", &[]).usage();
    assert!(message.contains("ranges, bound, pressure, history"), "{message}");
}

#[test]
fn no_more_waves_than_wanted() {
    for algorithm in ["auto", "list", "twopass-paper", "weighted", "colony", "gcn-max-occupancy"] {
        let line = format!("schedule {{}} --json --nodes 1000 --waves 3 --algorithm {algorithm}");
        let document = run(&line, &[&corpus()]).json();
        for kernel in array(&document["kernels"]) {
            assert!(number(&kernel["occupancy"]) <= 3, "{algorithm}: {kernel}");
            assert!(number(&kernel["occupancy_bound"]) <= 3, "{algorithm}: {kernel}");
        }
    }
}

#[test]
fn fewer_waves_leave_registers_for_shorter_schedules() {
    let folder = Folder::new();
    let file = folder.regions("wide.jsonl", &[wide("k", "r")]);
    let figures = |options: &str| {
        let line = format!("schedule {{}} --json --no-filter --nodes 5000 {options}");
        let kernel = run(&line, &[&file]).json()["kernels"][0].clone();
        (number(&kernel["occupancy"]), number(&kernel["regions"][0]["length"]))
    };
    let ((most, long), (few, short)) = (figures(""), figures("--waves 5"));
    assert_eq!((most, few), (10, 5));
    assert!(short < long, "{short} and {long} cycles");
    // Proven lengths with looser limits are never longer.
    let regions = |options: &str| -> Vec<Value> {
        let line = format!("schedule {{}} --json --nodes 5000 --no-filter {options}");
        let document = run(&line, &[&corpus()]).json();
        array(&document["kernels"]).iter().flat_map(|kernel| array(&kernel["regions"])).cloned().collect()
    };
    let (few, most) = (regions("--waves 1"), regions(""));
    let is_proven = |region: &Value| region["proven_length"] == true;
    for (few, most) in few.iter().zip(&most).filter(|(few, most)| is_proven(few) && is_proven(most)) {
        assert!(number(&few["length"]) <= number(&most["length"]), "{few}\n{most}");
    }
}

#[test]
fn lengths_are_weighted_by_loops() {
    let document = run("schedule {} --json --algorithm source", &[&corpus()]).json();
    let sum =
        |key: &str| -> u64 { array(&document["kernels"]).iter().map(|kernel| number(&kernel[key])).sum() };
    for kernel in array(&document["kernels"]) {
        assert_eq!(kernel["weighted_length"], kernel["source"]["weighted_length"], "{}", kernel["name"]);
    }
    let regions = array(&document["kernels"]).iter().flat_map(|kernel| array(&kernel["regions"]));
    let plain: u64 = regions.map(|region| number(&region["length"])).sum();
    assert!(sum("weighted_length") > plain, "some regions are in loops");
}

#[test]
fn costs_of_pressure_differ() {
    let waves = |options: &str| {
        let line = format!("schedule {{}} --json --nodes 1000 --algorithm weighted {options}");
        let document = run(&line, &[&corpus()]).json();
        array(&document["kernels"]).iter().map(|kernel| number(&kernel["occupancy"])).sum::<u64>()
    };
    // Only registers beyond the addressable ones count as excess, so that waves are given up.
    assert!(waves("--cost perp") < waves("--cost occupancy"));
    assert!(waves("--weight 0") < waves("--cost prp"));
}

#[test]
fn thresholds_decide_where_the_policies_work() {
    let replaced = |threshold: u32| {
        let line =
            format!("schedule {{}} --goal minreg --json --algorithm policy-cluster --threshold {threshold}");
        let document = run(&line, &[&corpus()]).json();
        let regions = array(&document["kernels"]).iter().flat_map(|kernel| array(&kernel["regions"]));
        let is_source = |region: &&Value| {
            array(&region["order"]).iter().map(number).eq(0..array(&region["order"]).len() as u64)
        };
        regions.filter(|region| !is_source(region)).count()
    };
    assert!(replaced(8) > replaced(64));
    assert_eq!(replaced(100_000), 0);
}
