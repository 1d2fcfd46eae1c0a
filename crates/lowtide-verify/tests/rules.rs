//! Every rule of `docs/certificates.md` with a claim computed by hand, and every way to break it.

mod common;

use common::{Folder, answer, answers, header, schedule};
use serde_json::{Value, json};

/// Two chains of instructions meet: `p -> s` and `q -> t`, then `o = s + t`. Before instruction 4, `s` and
/// `t` are live.
fn fork() -> Value {
    json!({"lowtide": 1, "kernel": "k", "region": "r", "classes": ["v"],
        "registers": [{"name": "p", "class": "v"}, {"name": "q", "class": "v"}, {"name": "s", "class": "v"},
                      {"name": "t", "class": "v"}, {"name": "o", "class": "v"}],
        "live_out": ["o"],
        "instructions": [
            {"op": "i", "latency": 1, "defs": ["p"]}, {"op": "i", "latency": 1, "defs": ["q"]},
            {"op": "i", "latency": 1, "defs": ["s"], "uses": ["p"]},
            {"op": "i", "latency": 1, "defs": ["t"], "uses": ["q"]},
            {"op": "i", "latency": 1, "defs": ["o"], "uses": ["s", "t"]}],
        "deps": [[0, 2, "data", 1], [1, 3, "data", 1], [2, 4, "data", 1], [3, 4, "data", 1]]})
}

fn least(least: i64, proof: impl Into<Value>) -> Value {
    let proof = proof.into();
    json!({"kernel": "k", "region": "r", "claim": "registers", "class": "v", "least": least, "proof": proof})
}

fn fork_cut() -> Value {
    json!({"cut": {"class": "v", "before": [4], "chains": [[1, [[2, 0, 2], 4]], [1, [[3, 0, 3], 4]]]}})
}

/// After instruction 2, `w` (weight 3) is live. So is `x`, or instruction 1 is issued, so instruction 0 is,
/// and `y` is live.
fn ladder() -> Value {
    json!({"lowtide": 1, "kernel": "k", "region": "r", "classes": ["v", "s"],
        "registers": [{"name": "x", "class": "v"}, {"name": "y", "class": "v"},
                      {"name": "w", "class": "v", "lanes": 3}, {"name": "c", "class": "s"}],
        "live_in": ["x", "c"], "through": {"s": 2},
        "instructions": [
            {"op": "i", "latency": 1, "defs": ["y"]}, {"op": "i", "latency": 1, "uses": ["x"]},
            {"op": "i", "latency": 1, "defs": ["w"]}, {"op": "i", "latency": 1, "uses": ["y", "w", "c"]}],
        "deps": [[0, 1, "memory", 0], [2, 3, "data", 1], [0, 3, "data", 1]]})
}

fn ladder_cut() -> Value {
    json!({"cut": {"class": "v", "after": [2], "chains": [
        [3, [[2, 1, 2], 3]],
        [1, [[0, 0, -1], 1, 0], [[1, 0, 0], 3]]]}})
}

/// Check the ladder with a changed cut.
fn ladder_with(pointer: &str, value: Value) -> String {
    let mut proof = ladder_cut();
    *proof.pointer_mut(pointer).unwrap() = value;
    answer(&[ladder()], &[schedule("r", &[0, 1, 2, 3])], &least(4, proof))
}

fn fork_answer(order: &[u32], claim: &Value) -> String {
    answer(&[fork()], &[schedule("r", order)], claim)
}

const BEST: [u32; 5] = [0, 2, 1, 3, 4];

#[track_caller]
fn refused(answer: &str, reason: &str) {
    assert!(answer.starts_with("refused: ") && answer.contains(reason), "{answer}");
}

#[track_caller]
fn unsupported(answer: &str, reason: &str) {
    assert!(answer.starts_with("unsupported: ") && answer.contains(reason), "{answer}");
}

#[track_caller]
fn error(answer: &str, reason: &str) {
    assert!(answer.starts_with("error: ") && answer.contains(reason), "{answer}");
}

#[test]
fn cuts_are_accepted() {
    assert_eq!(fork_answer(&BEST, &least(2, fork_cut())), "accepted");
    assert_eq!(answer(&[ladder()], &[schedule("r", &[0, 1, 2, 3])], &least(4, ladder_cut())), "accepted");
    // The mirror image of "after": before the first of 3, both inputs of the moment are issued.
    let before =
        json!({"cut": {"class": "v", "before": [3], "chains": [[3, [[2, 0, 2], 3]], [1, [[1, 0, 0], 3]]]}});
    assert_eq!(answer(&[ladder()], &[schedule("r", &[0, 1, 2, 3])], &least(4, before)), "accepted");
    let start = json!({"cut": {"class": "s", "after": "start"}});
    let mut claim = least(3, start);
    claim["class"] = json!("s");
    assert_eq!(answer(&[ladder()], &[schedule("r", &[0, 1, 2, 3])], &claim), "accepted");
    let mut out = ladder();
    out["live_out"] = json!(["c", "w"]);
    claim["proof"]["cut"]["after"] = json!("end");
    assert_eq!(answer(&[out.clone()], &[schedule("r", &[0, 1, 2, 3])], &claim), "accepted");
    // A chain may end in a live-out value.
    let mut cut = ladder_cut();
    cut["cut"]["chains"][0] = json!([3, [[2, 0, 2]]]);
    assert_eq!(answer(&[out], &[schedule("r", &[0, 1, 2, 3])], &least(4, cut)), "accepted");
}

#[test]
fn moments_must_hold() {
    refused(&ladder_with("/cut/after", json!([])), "empty list");
    refused(&ladder_with("/cut/after", json!([4])), "instruction 4 of 4");
    refused(&ladder_with("/cut/after", json!("middle")), "unknown moment");
    refused(&ladder_with("/cut/after", json!("start")), "has chains");
    refused(&ladder_with("/cut/after", json!([0])), "need not have begun");
    refused(&ladder_with("/cut/after", json!([2, 3])), "need not be live");
    // Only instruction 3 comes after 0 and 2, and nothing after 1 and 2.
    assert_eq!(ladder_with("/cut/after", json!([2, 0, 2])), "accepted");
    refused(&ladder_with("/cut/after", json!([1, 2])), "need not be live");
    let both = json!({"cut": {"class": "v", "after": [2], "before": [3], "chains": []}});
    refused(&fork_answer(&BEST, &least(2, both)), "either");
    refused(&fork_answer(&BEST, &least(2, json!({"cut": {"class": "v", "chains": []}}))), "either");
    refused(&fork_answer(&BEST, &least(2, json!({"cut": {"class": "v", "after": [1]}}))), "no chains");
    // Before the first of 2 and 3, neither has begun its value.
    let mut cut = fork_cut();
    cut["cut"]["before"] = json!([2, 3]);
    refused(&fork_answer(&BEST, &least(2, cut)), "need not have begun");
}

#[test]
fn chains_must_hold() {
    refused(&ladder_with("/cut/class", json!("s")), "no limit");
    refused(&ladder_with("/cut/class", json!("unknown")), "no limit");
    refused(&ladder_with("/cut/chains/0/0", json!(4)), "more than its weight");
    refused(&ladder_with("/cut/chains/0/0", json!(2)), "proves 3, not more than 3");
    refused(&ladder_with("/cut/chains/0/0", json!(0)), "zero or too large");
    refused(&ladder_with("/cut/chains/0/0", json!(u64::MAX)), "zero or too large");
    refused(&ladder_with("/cut/chains/0/0", json!(i64::MAX)), "more than its weight");
    refused(&ladder_with("/cut/chains/0/0", json!(-1)), "does not understand");
    refused(&ladder_with("/cut/chains/0/0", json!(1.5)), "does not understand");
    refused(&ladder_with("/cut/chains/0", json!([3])), "no step");
    refused(&ladder_with("/cut/chains/0", json!([])), "does not understand");
    refused(&ladder_with("/cut/chains/0/1", json!([])), "does not understand");
    refused(&ladder_with("/cut/chains/0/1/0", json!([3, 0, -1])), "another class");
    refused(&ladder_with("/cut/chains/0/1/0", json!([2, 3, 2])), "no value");
    refused(&ladder_with("/cut/chains/0/1/0", json!([2, 64, 2])), "no value");
    refused(&ladder_with("/cut/chains/0/1/0", json!([4, 0, 2])), "no value");
    refused(&ladder_with("/cut/chains/0/1/0", json!([2, 0, -1])), "no value");
    refused(&ladder_with("/cut/chains/0/1/0", json!([2, 0, -2])), "no value");
    refused(&ladder_with("/cut/chains/0/1/0", json!([2, 0, 2, 0])), "does not understand");
    refused(&ladder_with("/cut/chains/0/1", json!([[2, 0, 2]])), "need not be live");
    refused(&ladder_with("/cut/chains/0/1", json!([[2, 0, 2], 1])), "need not be live");
    refused(&ladder_with("/cut/chains/0/1", json!([[2, 0, 2], 9])), "need not be live");
    refused(&ladder_with("/cut/chains/0/1", json!([[2, 0, 2], 3, 2])), "need not be live");
    // The use of x is not in `Out`.
    refused(&ladder_with("/cut/chains/1", json!([1, [[0, 0, -1], 1]])), "need not be live");
    refused(&ladder_with("/cut/chains/1/1", json!([[0, 0, -1]])), "does not start with a use");
    refused(&ladder_with("/cut/chains/1/1", json!([[0, 0, -1], 3, 0])), "does not start with a use");
    refused(&ladder_with("/cut/chains/1/1", json!([[0, 0, -1], 1, 2])), "direct predecessor");
    refused(&ladder_with("/cut/chains/1/1", json!([[0, 0, -1], 1, 77, 78])), "direct predecessor");
    refused(&ladder_with("/cut/chains/1/1", json!([[0, 0, -1], 1])), "need not have begun");
    // The first value must have begun. Lanes of one value share its weight.
    refused(&ladder_with("/cut/chains/1", json!([1, [[1, 0, 0], 3]])), "need not have begun");
    refused(&ladder_with("/cut/chains/1", json!([1, [[2, 2, 2], 3]])), "more than its weight");
}

#[test]
fn searches() {
    let search = |from: &str, states: Value| json!({"search": {"from": from, "states": states}});
    let try_search = |from, states| fork_answer(&BEST, &least(2, search(from, states)));
    assert_eq!(try_search("start", json!([[0, 0], [0, 1]])), "accepted");
    assert_eq!(try_search("start", json!([[0, 1], [0, 0], [0, 0]])), "accepted");
    assert_eq!(try_search("end", json!([])), "accepted");
    refused(&try_search("middle", json!([])), "unknown place");
    refused(&try_search("start", json!([[0, 0]])), "state 0: instruction 1 leads within the limits");
    refused(&try_search("start", json!([[0, 0], [0, 4]])), "instruction 4 cannot follow");
    refused(&try_search("start", json!([[0, 0], [0, 5]])), "instruction 5 cannot follow");
    refused(&try_search("start", json!([[0, 0], [1, 0]])), "instruction 0 cannot follow");
    refused(&try_search("start", json!([[1, 0], [0, 0]])), "parent is not an earlier state");
    refused(&try_search("start", json!([[0, 0], [0, 1, 2]])), "does not understand");
    refused(&try_search("start", json!([[0, 0], [-1, 2]])), "does not understand");
    // The state {0, 1, 2, 3} is over the limit, but a listed state must be followed: instruction 4 leads to
    // the end.
    refused(&try_search("start", json!([[0, 0], [0, 1], [1, 1]])), "contains all instructions");
    refused(&try_search("end", json!([[0, 0]])), "instruction 0 cannot follow");
}

#[test]
fn a_claim_must_be_true_of_the_schedule() {
    let mut wide = fork();
    wide["registers"][2]["lanes"] = json!(2);
    // Now s has two lanes, and before instruction 4 three registers are live.
    let cut =
        json!({"cut": {"class": "v", "before": [4], "chains": [[2, [[2, 0, 2], 4]], [1, [[3, 0, 3], 4]]]}});
    assert_eq!(answer(&[wide], &[schedule("r", &BEST)], &least(3, cut)), "accepted");
    refused(&fork_answer(&BEST, &least(3, fork_cut())), "better than the claim: its peak is 2, not 3");
    refused(&fork_answer(&BEST, &least(1, fork_cut())), "does not reach the claim: its peak is 2, not 1");
    refused(&fork_answer(&BEST, &least(-1, fork_cut())), "negative");
    refused(&fork_answer(&[0, 1, 2, 3], &least(2, fork_cut())), "4 of 5 instructions");
    refused(&fork_answer(&[0, 1, 2, 3, 3], &least(2, fork_cut())), "instruction 3 twice");
    refused(&fork_answer(&[0, 1, 4, 2, 3], &least(2, fork_cut())), "before one that it depends on");
    refused(&fork_answer(&[0, 1, 2, 3, 5], &least(2, fork_cut())), "not in the region");
    refused(&answer(&[fork()], &[], &least(2, fork_cut())), "no schedule");
    let twice = [schedule("r", &BEST), schedule("r", &BEST)];
    refused(&answer(&[fork()], &twice, &least(2, fork_cut())), "two schedules");
}

#[test]
fn claims_must_be_understood() {
    let change = |key: &str, value: Value| {
        let mut claim = least(2, fork_cut());
        claim[key] = value;
        fork_answer(&BEST, &claim)
    };
    refused(&change("kernel", json!("other")), "do not have the kernel");
    refused(&change("origin", json!("other")), "do not have the kernel");
    assert_eq!(change("origin", json!("")), "accepted");
    refused(&change("region", json!("other")), "no region \"other\"");
    refused(&change("class", json!("s")), "no class \"s\"");
    refused(&change("extra", json!(1)), "does not understand the claim: unknown field `extra`");
    refused(&change("least", json!("2")), "does not understand");
    refused(&change("least", json!(2.0)), "does not understand");
    refused(&change("least", json!(1e300)), "does not understand");
    refused(&change("proof", json!(null)), "does not understand");
    refused(&change("proof", json!([])), "does not understand");
    refused(&change("proof", json!({})), "does not understand");
    unsupported(&change("proof", json!({"solver": "cp-sat"})), "proof \"solver\"");
    refused(&change("proof", json!({"cut": fork_cut()["cut"], "solver": 1})), "does not understand");
    unsupported(&change("claim", json!("energy")), "claim \"energy\"");
    refused(&change("claim", json!("length")), "does not understand");
    error(&change("claim", json!(7)), "certificates.jsonl:2: not a claim");
    let claim = least(2, fork_cut());
    refused(&answers(&[fork()], &[schedule("r", &BEST)], &[claim.clone(), claim.clone()]), "an earlier line");
    // The kernel may be in the dump, which the verifier does not read.
    let mut other = claim;
    other["kernel"] = json!("other");
    unsupported(&answer(&[json!({"v": 1}), fork()], &[schedule("r", &BEST)], &other), "LLVM dump");
    refused(&answer(&[fork(), fork()], &[schedule("r", &BEST)], &least(2, fork_cut())), "twice");
    let mut between = fork();
    between["kernel"] = json!("l");
    let mut again = fork();
    again["region"] = json!("again");
    refused(&answer(&[fork(), between, again], &[schedule("r", &BEST)], &least(2, fork_cut())), "twice");
}

/// A region with `count` live-through registers of each class, and no instructions.
fn flat(name: &str, v: u32, s: u32) -> Value {
    json!({"lowtide": 1, "kernel": "k", "region": name, "classes": ["v", "s"], "registers": [],
        "through": {"v": v, "s": s}, "instructions": []})
}

#[test]
fn waves() {
    let orders = [schedule("r", &[]), schedule("q", &[])];
    let wave = |regions: &[Value], target: &str, most: u32, proof: Option<(&str, Value)>| {
        let mut claim = json!({"kernel": "k", "claim": "waves", "target": target, "most": most});
        if let Some((region, proof)) = proof {
            claim["region"] = json!(region);
            claim["proof"] = proof;
        }
        answer(regions, &orders, &claim)
    };
    let start = |class: &str| json!({"cut": {"class": class, "after": "start"}});
    // 24 registers in granules of 2: 2 registers for 8 waves, 4 for 6 and 5, 6 for 4, 8 for 3. 8 waves of 40:
    // 5 registers; 7: 5, 6: 6.
    assert_eq!(wave(&[flat("r", 2, 5)], "t", 8, None), "accepted");
    refused(&wave(&[flat("r", 2, 5)], "t", 7, None), "better than the claim: 8 waves, not 7");
    refused(&wave(&[flat("r", 2, 5)], "t", 9, None), "do not reach the claim");
    assert_eq!(wave(&[flat("r", 3, 5)], "t", 6, Some(("r", start("v")))), "accepted");
    refused(&wave(&[flat("r", 3, 5)], "t", 6, None), "max_occupancy allow 8 waves, not 6");
    refused(&wave(&[flat("r", 3, 5)], "t", 6, Some(("r", start("s")))), "proves 5, not more than 5");
    refused(&wave(&[flat("r", 3, 5)], "t", 5, Some(("r", start("v")))), "6 waves, not 5");
    assert_eq!(wave(&[flat("r", 4, 7)], "t", 5, Some(("r", start("s")))), "accepted");
    refused(&wave(&[flat("r", 4, 7)], "t", 5, Some(("r", start("v")))), "proves 4, not more than 4");
    let search = json!({"search": {"from": "start", "states": []}});
    assert_eq!(wave(&[flat("r", 5, 7)], "t", 4, Some(("r", search.clone()))), "accepted");
    // All regions of the kernel count, and the proof must be about the right one.
    let two = [flat("r", 5, 1), flat("q", 7, 1)];
    assert_eq!(wave(&two, "t", 3, Some(("q", start("v")))), "accepted");
    refused(&wave(&two, "t", 3, Some(("r", start("v")))), "proves 5, not more than 6");
    refused(&wave(&two, "t", 3, Some(("r", search))), "contains all instructions");
    refused(&wave(&two, "t", 3, Some(("z", start("v")))), "no region");
    refused(&wave(&[flat("r", 2, 2), flat("z", 2, 2)], "t", 8, None), "region \"z\" has no schedule");
    // The occupancy that other resources allow.
    let mut bound = flat("r", 3, 1);
    bound["max_occupancy"] = json!(4);
    assert_eq!(wave(std::slice::from_ref(&bound), "t", 4, None), "accepted");
    refused(&wave(std::slice::from_ref(&bound), "t", 6, Some(("r", start("v")))), "4 waves, not 6");
    assert_eq!(wave(&[bound, flat("q", 3, 1)], "t", 4, None), "accepted");
    // Beyond the verifier.
    refused(&wave(&[flat("r", 1, 1)], "none", 8, None), "no target");
    unsupported(&wave(&[flat("r", 1, 1)], "other", 8, None), "has no class \"v\"");
    // Of 13 registers, one is spilled: 12 for 2 waves, and 8 for 3.
    assert_eq!(wave(&[flat("r", 13, 1)], "t", 2, Some(("r", start("v")))), "accepted");
    refused(&wave(&[flat("r", 13, 1)], "t", 1, Some(("r", start("v")))), "2 waves, not 1");
    // Two classes share a file, and the second starts at a multiple of 3.
    assert_eq!(wave(&[flat("r", 1, 0), flat("q", 1, 0)], "joint", 8, None), "accepted");
    let apart = wave(&[flat("r", 1, 0), flat("q", 0, 1)], "joint", 8, None);
    refused(&apart, "do not reach the claim: 6 waves");
    refused(&wave(&[flat("r", 1, 1)], "joint", 8, None), "do not reach the claim: 6 waves");
    let split = |class, at, below, above| {
        let split =
            json!({"split": {"class": class, "at": at, "below": start(below), "above": start(above)}});
        wave(&[flat("r", 1, 1)], "joint", 6, Some(("r", split)))
    };
    assert_eq!(split("v", 0, "v", "s"), "accepted");
    assert_eq!(split("s", 0, "s", "v"), "accepted");
    refused(&split("v", 1, "v", "s"), "the cut proves 1, not more than 1");
    refused(&split("v", 0, "v", "v"), "the cut proves 1, not more than 2");
    refused(&split("v", 12, "v", "s"), "the cut proves 1, not more than 2");
    refused(&split("x", 0, "v", "s"), "a class that the region does not have");
    let inside = json!({"split": {"class": "v", "at": 0, "below": start("v"), "above": start("s")}});
    let twice = json!({"split": {"class": "v", "at": 0, "below": inside, "above": start("s")}});
    assert_eq!(wave(&[flat("r", 1, 1)], "joint", 6, Some(("r", twice))), "accepted");
    // Of 5 registers, 3 are spilled into the lanes of 2 others.
    let lanes = |at, below, above| {
        let split = json!({"split": {"class": "s", "at": at, "below": start(below), "above": start(above)}});
        wave(&[flat("r", 1, 5)], "lanes", 6, Some(("r", split)))
    };
    assert_eq!(lanes(4, "s", "v"), "accepted");
    refused(&lanes(5, "s", "v"), "the cut proves 5, not more than 5");
    refused(&lanes(3, "s", "v"), "the cut proves 1, not more than 1");
    assert_eq!(wave(&[flat("r", 3, 0)], "joint", 6, Some(("r", start("v")))), "accepted");
    refused(&wave(&[flat("r", 3, 0)], "joint", 6, Some(("r", start("s")))), "the cut proves 0");
    let half = json!({"kernel": "k", "claim": "waves", "target": "t", "most": 8, "region": "r"});
    refused(&answer(&[flat("r", 1, 1)], &orders, &half), "without a proof");
    let claim = json!({"kernel": "k", "claim": "waves", "target": "t", "most": 8});
    let mut second = claim.clone();
    second["most"] = json!(7);
    refused(&answers(&[flat("r", 1, 1)], &orders, &[claim, second]), "an earlier line");
}

#[test]
fn values_follow_partial_definitions() {
    // Lanes 0 and 1 of x are live-in. Instruction 0 reads both and writes lane 0 again; 1 writes lane 0 of y;
    // 2 reads all of x and y.
    let region = json!({"lowtide": 1, "kernel": "k", "region": "r", "classes": ["v"],
        "registers": [{"name": "x", "class": "v", "lanes": 2, "weight": 5}, {"name": "y", "class": "v", "lanes": 2}],
        "live_in": ["x"], "live_out": [["x", 2]],
        "instructions": [
            {"op": "i", "latency": 1, "uses": ["x"], "defs": [["x", 1, "t"], ["x", 1]]},
            {"op": "i", "latency": 1, "defs": [["y", 1]]},
            {"op": "i", "latency": 1, "uses": ["x", ["x", 2], "y"]}],
        "deps": [[0, 2, "data", 1], [0, 2, "anti", 1], [1, 2, "data", 1]]});
    // Before 2: both lanes of x, and lane 0 of y. Lane 1 of y is undefined, and no value.
    let chains = json!([[5, [[0, 0, 0], 2]], [5, [[0, 1, -1]]], [1, [[1, 0, 1], 2]]]);
    let cut = |chains: &Value| json!({"cut": {"class": "v", "before": [2], "chains": chains}});
    let orders = [schedule("r", &[1, 0, 2])];
    assert_eq!(answer(std::slice::from_ref(&region), &orders, &least(11, cut(&chains))), "accepted");
    let mut wrong = chains.clone();
    wrong[2][1][0] = json!([1, 1, 1]);
    refused(&answer(std::slice::from_ref(&region), &orders, &least(11, cut(&wrong))), "no value [1, 1, 1]");
    // Lanes 0 and 1 of x differ in their uses before instruction 0, so they are two values.
    wrong = chains;
    wrong[1] = json!([6, [[0, 1, -1]]]);
    refused(&answer(&[region], &orders, &least(11, cut(&wrong))), "more than its weight");
}

#[test]
fn malformed_regions_are_errors() {
    let broken = |pointer: &str, value: Value| {
        let mut region = ladder();
        *region.pointer_mut(pointer).unwrap() = value;
        answer(&[fork(), region], &[], &least(2, fork_cut()))
    };
    error(&broken("/lowtide", json!(2)), "regions.jsonl:2: version 2");
    error(&broken("/classes", json!(["v", "v"])), "named twice");
    error(&broken("/classes", json!(["v"])), "unknown class \"s\"");
    error(&broken("/classes", (0..17).map(|i| i.to_string()).collect()), "more than 16");
    error(&broken("/registers/2/lanes", json!(65)), "65 lanes");
    error(&broken("/registers/2/lanes", json!(0)), "0 lanes");
    error(&broken("/registers/2/lanes", json!(-1)), "not a region");
    error(&broken("/registers/0/name", json!("y")), "two registers");
    error(&broken("/live_in/0", json!(["w", 8])), "bit without a lane");
    error(&broken("/live_in/0", json!("z")), "unknown register \"z\"");
    error(&broken("/deps/0", json!([1, 1, "data", 0])), "source order");
    error(&broken("/deps/0", json!([1, 4, "data", 0])), "source order");
    error(&broken("/deps/0", json!([0, 1, "weak", 0])), "unknown kind");
    error(
        &broken("/deps/1", json!([0, 1, "data", 0])),
        "instruction 3: no dependence keeps the use of \"w\"",
    );
    error(&broken("/instructions/2/defs", json!(["x"])), "keeps the definition of \"x\" after earlier uses");
    error(&broken("/instructions/2/defs", json!(["w", "y"])), "keeps the definition of \"y\"");
    let folder = Folder::new();
    let good = folder.lines("r.jsonl", &[fork()]);
    let orders = folder.lines("s.jsonl", &[schedule("r", &BEST)]);
    let run = |header: Value| {
        lowtide_verify::verify(&good, &orders, &folder.lines("c.jsonl", &[header]))
            .map(|report| report.claims)
    };
    assert_eq!(run(header()), Ok(0));
    for (pointer, value) in [
        ("/lowtide-certificates", json!(2)),
        ("/targets/t/files/0/granule", json!(0)),
        ("/targets/t/files/0/size", json!(0)),
        ("/targets/t/files/0/waves", json!(0)),
        ("/targets/t/files/0/classes", json!([])),
        ("/targets/t/files/0/classes/0/name", json!("s")),
    ] {
        let mut header = header();
        *header.pointer_mut(pointer).unwrap() = value;
        assert!(run(header).unwrap_err().contains("c.jsonl:1: "), "{pointer}");
    }
}
