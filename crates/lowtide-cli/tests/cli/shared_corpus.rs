//! What is promised of the shared corpus, which lies beside the repository where it exists.

use std::ffi::OsStr;
use std::process::Command;

fn json(args: &[&str]) -> Option<serde_json::Value> {
    json_of("", args)
}

/// The output of a command on one file of the corpus, or on all of it.
fn json_of(file: &str, args: &[&str]) -> Option<serde_json::Value> {
    let corpus = crate::skip::shared_corpus()?.join(file);
    let output =
        Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).arg(corpus).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The pressure of every recorded order, by the checker and by the tracker, is the recorded one.
#[test]
fn recorded_pressures_agree() {
    let Some(document) = json(&["check"]) else { return };
    for order in ["source", "production"] {
        assert!(document[order]["regions"].as_u64() > Some(43_000), "{document}");
        assert_eq!(
            (document[order]["illegal"].as_u64(), document[order]["mismatches"].as_u64()),
            (Some(0), Some(0))
        );
    }
}

/// Every bound by a cut is proven again by the independent checker, and no schedule is below a bound.
#[test]
fn every_bound_holds() {
    let Some(corpus) = crate::skip::shared_corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let schedules = folder.path().join("schedules.jsonl.gz");
    let lowtide = |args: &[&OsStr]| {
        let program = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().unwrap();
        assert!(program.status.success(), "{}", String::from_utf8_lossy(&program.stderr));
        program.stdout
    };
    let options = ["schedule", "--goal", "minreg", "--nodes", "20000", "--summary", "-o"].map(OsStr::new);
    lowtide(&[&options[..], &[schedules.as_ref(), corpus.as_ref()]].concat());
    let document = lowtide(&[
        "check".as_ref(),
        corpus.as_ref(),
        schedules.as_ref(),
        "--bound".as_ref(),
        "--json".as_ref(),
    ]);
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let bounds = &document["bounds"];
    assert_eq!((&bounds["refused"], &bounds["missing"]), (&0.into(), &0.into()), "{}", document["problems"]);
    assert!(bounds["verified"].as_u64() > Some(80_000), "{}", bounds["verified"]);
}

/// `compare` puts every schedule of every algorithm through the checker. That takes minutes, so where CI
/// limits the time, one file has to do.
#[test]
fn every_algorithm_is_legal_on_every_region() {
    let words = ["compare", "--algorithm", "all", "--budget", "10us", "--latencies", "recorded"];
    let (file, regions) = match std::env::var_os("CI") {
        Some(_) => ("darktable.jsonl.gz", 4_490),
        None => ("", 43_848),
    };
    let Some(document) = json_of(file, &words) else { return };
    assert_eq!(document["regions"], regions);
    let waves = |name: &str| document["algorithms"][name]["occupancy"].as_u64().unwrap();
    assert!(waves("auto") >= waves("source") && waves("few-registers") > waves("production"), "{document}");
}

/// The promises of `few-registers`, on distinct graphs of 48 to 600 instructions, against the lower bound.
#[test]
fn few_registers_keeps_its_promises() {
    let Some(document) = json(&["bench", "minreg", "--max-size", "600"]) else { return };
    let (default, bound) =
        (&document["algorithms"]["few-registers"], &document["against_bound"]["few-registers"]);
    assert!(default["mean_ratio"].as_f64() <= Some(1.02) && default["outliers"] == 0, "{document}");
    assert!(bound["mean_ratio"].as_f64() <= Some(1.08), "{document}");
}
