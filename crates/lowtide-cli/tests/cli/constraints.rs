//! `lowtide schedule --algorithm cp` and `cp-paper`, and `lowtide bench minreg --constraints`, with the
//! constraint solver and without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::skip::{Missing, skip};
use lowtide_cp::{Solver, SolverError};
use serde_json::Value;
use tempfile::TempDir;

/// Whether the solver is there. If not, the test is skipped.
fn is_installed() -> bool {
    match Solver::find() {
        Ok(_) => true,
        Err(error @ SolverError::NotInstalled) => {
            skip(Missing::Installable, error);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.current_dir(root()).args(words.split_whitespace());
    command
}

fn run(words: &str) -> Output {
    command(words).output().expect("the program starts")
}

/// The message of a run that failed and printed nothing else.
fn error(output: &Output) -> String {
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}

/// What a run with `--json` printed.
fn json(output: &Output) -> Value {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// The regions of all kernels.
fn regions(output: &Output) -> Vec<Value> {
    let document = json(output);
    let kernels = document["kernels"].as_array().expect("kernels");
    kernels.iter().flat_map(|kernel| kernel["regions"].as_array().expect("regions").clone()).collect()
}

#[test]
fn without_the_solver_there_is_an_error_and_no_file() {
    let folder = TempDir::new().expect("a temporary folder");
    for algorithm in ["cp", "cp-paper"] {
        let output = command("schedule corpus --goal minreg --algorithm")
            .args([algorithm, "-o"])
            .arg(folder.path().join("schedules.jsonl"))
            .env("LOWTIDE_ORTOOLS", folder.path().join("missing"))
            .output()
            .expect("the program starts");
        let message = error(&output);
        assert!(message.contains("scripts/install-ortools") && message.contains("missing"), "{message}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}

#[test]
fn what_the_solver_cannot_do_is_refused() {
    for (words, part) in [
        ("--goal occupancy", "--goal minreg"),
        ("--goal length", "--goal minreg"),
        ("", "--goal minreg"),
        ("--goal minreg --nodes 10", "--budget"),
        ("--goal minreg --explain", "--explain"),
        ("--goal minreg --group-price 1", "--group-price"),
    ] {
        for algorithm in ["cp", "cp-paper"] {
            let message = error(&run(&format!("schedule corpus --algorithm {algorithm} {words}")));
            assert!(message.contains(part) && message.contains(algorithm), "{words}: {message}");
        }
    }
}

#[test]
fn the_solver_is_never_worse_than_the_default_and_its_schedules_are_legal() {
    if !is_installed() {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("schedules.jsonl");
    let words = "schedule corpus/rocprim.jsonl.gz --json --goal minreg";
    let default = regions(&run(&format!("{words} --algorithm default")));
    let output =
        command(&format!("{words} --algorithm cp -o")).arg(&file).output().expect("the program starts");
    let solved = regions(&output);
    assert_eq!(default.len(), solved.len());
    let figure = |region: &Value, key: &str| region[key]["vgpr"].as_u64().expect("a number");
    for (default, solved) in default.iter().zip(&solved) {
        assert!(figure(solved, "peak") <= figure(default, "peak"));
        assert!(figure(solved, "peak_bound") <= figure(solved, "peak"));
        assert_eq!(solved["optimal"], figure(solved, "peak_bound") == figure(solved, "peak"));
    }
    let check = command("check corpus/rocprim.jsonl.gz").arg(&file).output().expect("the program starts");
    assert!(check.status.success(), "{check:?}");
}

/// Two loads, an addition, a store, the loads as far from it as can be.
const SMALL: &str = r#"{"lowtide": 1, "kernel": "k", "target": "gfx906", "region": "r", "classes": ["vgpr"],
"registers": [{"name": "a", "class": "vgpr"}, {"name": "b", "class": "vgpr"}, {"name": "c", "class": "vgpr"}, {"name": "d", "class": "vgpr"}],
"instructions": [{"op": "load", "latency": 80, "defs": ["a"]}, {"op": "load", "latency": 80, "defs": ["b"]},
{"op": "load", "latency": 80, "defs": ["c"]}, {"op": "add", "latency": 4, "defs": ["d"], "uses": ["a", "b"]},
{"op": "store", "latency": 1, "uses": ["c"]}, {"op": "store", "latency": 1, "uses": ["d"]}],
"deps": [[0, 3, "data", 80], [1, 3, "data", 80], [2, 4, "data", 80], [3, 5, "data", 4]]}"#;

#[test]
fn both_models_prove_the_same_optimum() {
    if !is_installed() {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("small.jsonl");
    fs::write(&file, SMALL.replace('\n', " ") + "\n").expect("a writable folder");
    for algorithm in ["cp", "cp-paper"] {
        let words = format!("schedule --json --goal minreg --budget 10s --algorithm {algorithm}");
        let solved = regions(&command(&words).arg(&file).output().expect("the program starts"));
        assert_eq!(solved[0]["peak"]["vgpr"], 2, "{algorithm}: {}", solved[0]);
        assert_eq!(solved[0]["peak_bound"]["vgpr"], 2, "{algorithm}: {}", solved[0]);
        assert_eq!(solved[0]["optimal"], true, "{algorithm}: {}", solved[0]);
    }
}

#[test]
fn the_benchmark_needs_the_solver_only_if_it_is_asked_to() {
    let folder = TempDir::new().expect("a temporary folder");
    let output = command("bench minreg corpus --constraints")
        .env("LOWTIDE_ORTOOLS", folder.path().join("missing"))
        .output()
        .expect("the program starts");
    let message = error(&output);
    assert!(message.contains("scripts/install-ortools") && message.contains("missing"), "{message}");
    for (words, missing) in [
        ("--families --constraints", "<FILE>"),
        ("corpus --sample 3", "--constraints"),
        ("corpus --model-budget 1s", "--constraints"),
        ("corpus --no-tables", "--constraints"),
        ("corpus --constraints --sample 0", "--sample"),
    ] {
        let output = run(&format!("bench minreg {words}"));
        let message = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert!(output.status.code() == Some(2) && message.contains(missing), "{words}: {message}");
    }
}

#[test]
fn the_benchmark_finds_the_same_optimum_in_three_ways() {
    if !is_installed() {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("small.jsonl");
    fs::write(&file, SMALL.replace('\n', " ") + "\n").expect("a writable folder");
    let words = "bench minreg --constraints --min-size 2 --model-budget 10s --json";
    let document = json(&command(words).arg(&file).output().expect("the program starts"));
    assert_eq!(document["regions"], 1, "the tables come, too");
    let constraints = &document["constraints"];
    assert_eq!([&constraints["distinct"], &constraints["regions"]], [1, 1]);
    assert_eq!(constraints["model_seconds"], 10.0);
    assert_eq!(constraints["exact"]["proved"], 1);
    for (model, asked) in [("cp", 0), ("cp-paper", 1)] {
        let figures = &constraints["models"][model];
        assert_eq!(figures["all"]["proved"], 1, "{figures}");
        assert_eq!(figures["all"]["ratio"]["regions"], 1, "{figures}");
        assert_eq!(figures["with_solver"]["regions"], asked, "{figures}");
        assert_eq!(figures["without_solver"], 1 - asked, "{figures}");
    }
    let row = &constraints["rows"][0];
    assert_eq!([&row["size"], &row["optimum"]], [6, 2]);
    assert_eq!([&row["exact"]["end"], &row["models"]["cp-paper"]["end"]], ["proved", "proved"]);
}

#[test]
fn the_benchmark_takes_the_same_sample_on_any_number_of_threads() {
    if !is_installed() {
        return;
    }
    let words = "bench minreg corpus --constraints --no-tables --sample 3 --max-size 70 --model-budget 1s --nodes 100000";
    let measure = |threads: u32| json(&run(&format!("{words} --threads {threads} --json")));
    let [one, two] = [1, 2].map(measure);
    assert_eq!(one["regions"], 0, "no tables");
    let rows = |document: &Value| document["constraints"]["rows"].as_array().expect("rows").clone();
    assert_eq!(rows(&one).len(), 3);
    let mut last = 48;
    for (one, two) in rows(&one).iter().zip(&rows(&two)) {
        for key in ["kernel", "region", "size"] {
            assert_eq!(one[key], two[key]);
        }
        let size = one["size"].as_u64().expect("a number");
        assert!((last..=70).contains(&size), "sorted by size");
        last = size;
        for (name, run) in one["models"].as_object().expect("models") {
            let is_met = run["peak"] == run["bound"];
            assert_eq!(run["end"] == "proved", is_met, "{name}: {run}");
            assert!(run["bound"].as_u64() <= one["exact"]["peak"].as_u64(), "{name}: {one}");
        }
    }
    for document in [&one, &two] {
        for figures in document["constraints"]["models"].as_object().expect("models").values() {
            let count = |key: &str| figures["all"][key].as_u64().expect("a number");
            assert_eq!(["proved", "found", "nothing", "too_large"].map(count).iter().sum::<u64>(), 3);
        }
    }
    let output = run(&words.replace("--sample 3", "--sample 1"));
    let text = String::from_utf8(output.stdout).expect("tables are UTF-8");
    assert!(text.starts_with("Against constraint models, on 1 of "), "{text}");
    for part in ["1 s for each model and region", "100,000 steps", "cp-paper", "No two methods disagree"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
