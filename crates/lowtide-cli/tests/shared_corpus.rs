//! What is promised of the shared corpus, which lies beside the repository where it exists.

use std::io::Write;
use std::path::Path;
use std::process::Command;

fn json(args: &[&str]) -> Option<serde_json::Value> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !corpus.is_dir() {
        // Unlike the print macros, this is seen without --nocapture.
        let _ = writeln!(std::io::stderr(), "skipped: the shared corpus (../shared/corpus) is not here");
        return None;
    }
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

/// `compare` puts every schedule of every algorithm through the checker.
#[test]
fn every_algorithm_is_legal_on_every_region() {
    let Some(document) = json(&["compare", "--goal", "occupancy"]) else { return };
    assert_eq!(document["regions"], 43_848);
    let waves = |name: &str| document["algorithms"][name]["occupancy"].as_u64().unwrap();
    assert!(waves("auto") >= waves("source") && waves("default") > waves("production"), "{document}");
}

/// The promises of `default`, on distinct graphs of 48 to 600 instructions, against the lower bound.
#[test]
fn default_keeps_its_promises() {
    let Some(document) = json(&["bench", "minreg", "--max-size", "600"]) else { return };
    let (default, bound) = (&document["algorithms"]["default"], &document["against_bound"]["default"]);
    assert!(default["mean_ratio"].as_f64() <= Some(1.02) && default["outliers"] == 0, "{document}");
    assert!(bound["mean_ratio"].as_f64() <= Some(1.08), "{document}");
}
