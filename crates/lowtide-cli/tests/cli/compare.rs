//! `lowtide compare`.

use std::path::Path;

use lowtide_cp::{Solver, SolverError};
use serde_json::Value;

use crate::common::{Folder, array, corpus, lines, number, piped, run, tiny};
use crate::skip::{Missing, skip};

/// The algorithms that need the constraint solver.
const SOLVER: [&str; 3] = ["cp", "cp-paper", "ip-paper"];

/// The algorithms of `lowtide algorithms` that schedule kernels.
fn scheduling() -> Vec<String> {
    let document = run("algorithms --json", &[]).json();
    let rows = array(&document).iter().filter(|row| row["command"] == "schedule");
    rows.map(|row| row["name"].as_str().expect("a name").to_string()).collect()
}

/// The totals of a comparison are those of `schedule`, for each algorithm of the comparison.
#[track_caller]
fn check_totals(names: &[&str], options: &str, file: &Path) {
    let line = format!("compare {{}} --json {options} --algorithm {}", names.join(","));
    let compared = run(&line, &[file]).json();
    assert_eq!(compared["algorithms"].as_object().map(serde_json::Map::len), Some(names.len()), "{names:?}");
    for name in names {
        let alone = run(&format!("schedule {{}} --json {options} --algorithm {name}"), &[file]).json();
        let row = &compared["algorithms"][name];
        assert!(row["totals"].is_object(), "{name}: {row}");
        assert_eq!(row["totals"], alone["totals"], "{name} {options}");
        let after = &alone["totals"]["after"];
        for (key, same) in [("occupancy", "occupancy"), ("length", "length"), ("peak", "peak_sum")] {
            assert_eq!(row[key], after[same], "{name} {key}");
        }
        assert_eq!(row["weighted_length"], alone["totals"]["weighted_length"], "{name}");
        assert_eq!(row["proven"], alone["totals"]["proven"], "{name}");
        assert_eq!(compared["kernels"], array(&alone["kernels"]).len(), "{name}");
    }
}

#[test]
fn every_algorithm_has_the_totals_of_schedule() {
    let known = scheduling();
    let file = corpus().join("rocprim.jsonl.gz");
    let plain: Vec<&str> = (known.iter().map(String::as_str))
        .filter(|name| !name.contains(' ') && !SOLVER.contains(name))
        .collect();
    assert!(plain.len() >= 25 && plain.contains(&"auto") && plain.contains(&"colony"), "{plain:?}");
    // CI limits the time.
    let some = if std::env::var_os("CI").is_some() { " --kernel sort" } else { "" };
    for options in
        ["--nodes 100", "--nodes 100 --goal minreg", "--nodes 20 --filter-cycles 0 --group-price 2"]
    {
        check_totals(&plain, &format!("{options}{some}"), &file);
    }
    for options in ["--nodes 20 --goal length", "--nodes 20 --goal throughput --waves 6"] {
        check_totals(&["production", "list", "twopass", "latency-hiding"], options, &file);
    }
    // The rest of the list: an algorithm with options of its own, and those of the next test.
    assert!(known.contains(&"colony --preset paper".to_string()), "{known:?}");
    check_totals(&["colony"], "--preset paper --nodes 20 --kernel exch", &file);
    assert_eq!(known.len(), plain.len() + SOLVER.len() + 1, "{known:?}");
}

#[test]
fn the_models_of_the_solver_have_the_totals_of_schedule() {
    match Solver::find() {
        Ok(_) => {
            let folder = Folder::new();
            let small = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("l", "r")]);
            check_totals(&SOLVER, "--goal minreg --budget 2s", &small);
        }
        Err(error @ SolverError::NotInstalled) => skip(Missing::Installable, error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn auto_never_has_fewer_waves_than_the_source_order() {
    let document = run("compare {} --json --algorithm all --nodes 100", &[&corpus()]).json();
    let algorithms = &document["algorithms"];
    for name in ["auto", "source", "production", "critical-path"] {
        for key in ["occupancy", "length", "peak", "best"] {
            assert!(algorithms[name][key].is_u64(), "{name} {key}: {document}");
        }
    }
    assert!(number(&algorithms["auto"]["occupancy"]) >= number(&algorithms["source"]["occupancy"]));
    // On each kernel, some algorithm is best.
    let best: u64 = algorithms.as_object().expect("an object").values().map(|row| number(&row["best"])).sum();
    assert!(best >= number(&document["kernels"]), "{document}");
    let by_kernel = |algorithm: &str| {
        let line = format!("schedule {{}} --json --nodes 10 --algorithm {algorithm}");
        let document = run(&line, &[&corpus()]).json();
        let kernels = array(&document["kernels"]).iter();
        kernels.map(|kernel| number(&kernel["occupancy"])).collect::<Vec<_>>()
    };
    let (auto, source) = (by_kernel("auto"), by_kernel("source"));
    assert!(auto.iter().zip(&source).all(|(auto, source)| auto >= source), "{auto:?} {source:?}");
}

fn names(document: &Value) -> Vec<&str> {
    document["algorithms"].as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Without a list, all algorithms that work for the goal run, beside the orders to compare with.
#[test]
fn the_goal_chooses_the_algorithms() {
    let known = run("algorithms --json", &[]).json();
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "r")]);
    for goal in ["minreg", "occupancy", "length", "throughput"] {
        let document = run(&format!("compare {{}} --json --nodes 10 --goal {goal}"), &[&file]).json();
        let fits = |row: &&Value| {
            let needs_solver = row["summary"].as_str().is_some_and(|text| text.contains("install-ortools"));
            array(&row["goals"]).contains(&goal.into()) && row["command"] == "schedule" && !needs_solver
        };
        let mut expected: Vec<&str> =
            array(&known).iter().filter(fits).map(|row| row["name"].as_str().expect("a name")).collect();
        expected.sort_unstable();
        assert!(expected.contains(&"source") && expected.contains(&"production"));
        assert_eq!(names(&document), expected, "{goal}");
    }
}

#[test]
fn the_table_has_a_row_for_each_algorithm() {
    let table = run("compare {} --nodes 10", &[&corpus()]).ok();
    for name in ["auto ", "source ", "production ", "twopass "] {
        assert!(table.lines().any(|line| line.starts_with(name)), "{name}: {table}");
    }
    assert!(table.contains("26 kernels, 284 regions, 9,363 instructions"), "{table}");
}

/// Rows keep the order of the list, and each algorithm runs once.
#[test]
fn a_list_can_be_repeated() {
    let line = "compare {} --nodes 10 --csv --algorithm list,source --algorithm default,list,few-registers";
    let table = run(line, &[&corpus()]).ok();
    let first: Vec<&str> = table.lines().map(|line| line.split(',').next().unwrap_or_default()).collect();
    assert_eq!(first, ["algorithm", "list", "source", "few-registers"]);
    let message = run("compare x --algorithm list,quickest", &[]).usage();
    assert!(message.contains("known are auto, source"), "{message}");
    let message = run("compare x --algorithm list,cp", &[]).error();
    assert!(message.contains("--goal minreg"), "{message}");
}

/// The input is read once, for all algorithms.
#[test]
fn the_standard_input_can_be_compared() {
    let options = ["compare", "-", "--json", "--nodes", "10", "--algorithm", "list,auto"];
    let document = piped(&options, &lines(&[tiny("piped", "r")]));
    assert_eq!((&document["kernels"], names(&document)), (&1.into(), vec!["auto", "list"]));
}
