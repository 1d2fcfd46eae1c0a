//! `lowtide schedule --certificate`, judged by the verifier, which shares no code with the program.

use std::fs::{read_to_string, write};

use lowtide_verify::verify;
use serde_json::{Value, json};

use crate::common::{Folder, corpus, run};

#[test]
fn the_verifier_accepts_every_certificate() {
    for (goal, least) in [("minreg", 500), ("occupancy", 20)] {
        let folder = Folder::new();
        let [schedules, proofs] = ["schedules.jsonl", "proofs.jsonl"].map(|name| folder.path(name));
        let line = format!("schedule {{}} --goal {goal} --nodes 20000 --summary -o {{}} --certificate {{}}");
        let told = run(&line, &[&corpus(), &schedules, &proofs]).ok();
        let report = verify(&corpus(), &schedules, &proofs).expect("well-formed files");
        assert_eq!((report.refused, report.unsupported), (0, 0), "{:?}", report.refusals);
        assert_eq!(report.accepted, report.claims);
        assert!(report.claims >= least, "{} claims", report.claims);
        let counted = format!("claims: {} of ", report.claims);
        assert!(told.contains(&counted), "{told}");

        // A claim that is one better than the truth has no proof, and one that is worse is not what the schedules reach.
        let text = read_to_string(&proofs).expect("a file");
        for change in [-1, 1] {
            let changed = text.lines().map(|line| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                for figure in ["least", "most"] {
                    if let Some(number) = line[figure].as_i64() {
                        line[figure] = json!(number + change);
                    }
                }
                line.to_string() + "\n"
            });
            write(&proofs, changed.collect::<String>()).expect("written");
            let report = verify(&corpus(), &schedules, &proofs).expect("well-formed files");
            assert_eq!((report.accepted, report.refused), (0, report.claims), "{goal} {change}");
        }
    }
}

#[test]
fn other_goals_have_no_certificates() {
    for goal in ["length", "throughput"] {
        let folder = Folder::new();
        let proofs = folder.path("proofs.jsonl");
        let line = format!("schedule {{}} --goal {goal} --certificate {{}}");
        let message = run(&line, &[&corpus(), &proofs]).error();
        assert!(message.contains("--certificate needs --goal minreg or --goal occupancy"), "{message}");
        assert!(folder.names().is_empty());
    }
}
