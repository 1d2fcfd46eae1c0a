//! Claims that name the proof of an earlier line.

mod common;

use common::{answers, schedule};
use serde_json::{Value, json};

/// One value of a weight, which the second instruction uses, and registers that pass through.
fn region(name: &str, weight: u32, through: u32) -> Value {
    json!({"lowtide": 1, "kernel": "k", "region": name, "classes": ["v"], "through": {"v": through},
        "registers": [{"name": "a", "class": "v", "weight": weight}],
        "instructions": [{"op": "x", "latency": 1, "defs": ["a"]}, {"op": "y", "latency": 1, "uses": ["a"]}],
        "deps": [[0, 1, "data", 1]]})
}

fn claim(name: &str, least: u32, field: &str, content: Value) -> Value {
    let mut claim =
        json!({"kernel": "k", "region": name, "claim": "registers", "class": "v", "least": least});
    claim[field] = content;
    claim
}

fn cut() -> Value {
    json!({"cut": {"class": "v", "after": [0], "chains": [[2, [[0, 0, 0], 1]]]}})
}

/// Return the answer for a claim about the second region after one with a proof about the first.
fn second(region_of_second: Value, claim: Value) -> String {
    let orders = ["r", "q"].map(|name| schedule(name, &[0, 1]));
    answers(&[region("r", 2, 1), region_of_second], &orders, &[first(), claim])
}

fn first() -> Value {
    claim("r", 3, "proof", cut())
}

#[track_caller]
fn refused(answer: &str, reason: &str) {
    assert!(answer.starts_with("refused: ") && answer.contains(reason), "{answer}");
}

#[test]
fn equal_graphs_share_a_proof() {
    assert_eq!(second(region("q", 2, 1), claim("q", 3, "same", json!(2))), "accepted");
    // What passes through both regions need not be equal.
    assert_eq!(second(region("q", 2, 7), claim("q", 9, "same", json!(2))), "accepted");
}

#[test]
fn other_questions_do_not() {
    refused(&second(region("q", 1, 2), claim("q", 3, "same", json!(2))), "about something else");
    refused(&second(region("q", 2, 7), claim("q", 8, "same", json!(2))), "does not reach the claim");
    let mut other = region("q", 2, 1);
    other["live_out"] = json!(["a"]);
    refused(&second(other, claim("q", 3, "same", json!(2))), "about something else");
    let mut more = region("q", 2, 1);
    more["classes"] = json!(["v", "s"]);
    refused(&second(more, claim("q", 3, "same", json!(2))), "about something else");
}

#[test]
fn the_other_line_must_have_an_accepted_proof() {
    for line in [0, 1, 3, 4] {
        refused(&second(region("q", 2, 1), claim("q", 3, "same", json!(line))), "no accepted proof");
    }
    refused(&second(region("q", 2, 1), claim("q", 3, "same", json!(-2))), "does not understand");
    let mut both = claim("q", 3, "same", json!(2));
    both["proof"] = cut();
    refused(&second(region("q", 2, 1), both), "either proof or same");
    refused(&second(region("q", 2, 1), claim("q", 3, "same", json!(null))), "either proof or same");
    // Line 2 is refused, and so is line 3.
    let orders = ["r", "q"].map(|name| schedule(name, &[0, 1]));
    let mut wrong = cut();
    wrong["cut"]["chains"][0][0] = json!(1);
    let claims = [claim("r", 3, "proof", wrong), claim("q", 3, "same", json!(2))];
    refused(&answers(&[region("r", 2, 1), region("q", 2, 1)], &orders, &claims), "proves 2, not more than 2");
    let only_second = [claim("q", 3, "same", json!(2)), first()];
    refused(&answers(&[region("r", 2, 1), region("q", 2, 1)], &orders, &only_second), "no accepted proof");
}

/// The same with latencies: a proof of a length needs equal times.
#[test]
fn lengths_need_equal_times() {
    let header = json!({"lowtide-certificates": 1, "targets": {"t": {
        "files": [{"size": 24, "granule": 2, "waves": 8, "classes": [{"name": "v", "max": 12}]}],
        "issue": {"width": 1, "units": {}, "latencies": []}}}});
    let length = |name: &str, field: &str, content: Value| {
        let mut claim = json!({"kernel": "k", "region": name, "claim": "length", "target": "t", "least": 2});
        claim[field] = content;
        claim
    };
    for (latency, unit, accepted) in [(1, 0, 2), (2, 0, 1), (1, 1, 1)] {
        let mut other = region("q", 2, 5);
        other["deps"][0][3] = json!(latency);
        if unit > 0 {
            other["instructions"][0]["units"] = json!({"u": unit});
        }
        let orders = ["r", "q"].map(|name| {
            let mut order = schedule(name, &[0, 1]);
            order["cycles"] = json!([0, 1]);
            order
        });
        let folder = common::Folder::new();
        let claims =
            [header.clone(), length("r", "proof", json!({"bound": [0, 0]})), length("q", "same", json!(2))];
        let report = lowtide_verify::verify(
            &folder.lines("r.jsonl", &[region("r", 2, 1), other]),
            &folder.lines("s.jsonl", &orders),
            &folder.lines("c.jsonl", &claims),
        );
        assert_eq!(report.expect("well-formed files").accepted, accepted, "{latency} {unit}");
    }
}
