//! `lowtide schedule --certificate`, judged by the verifier, which shares no code with the program.

use std::fs::{read_to_string, write};

use lowtide::random::Random;
use lowtide_verify::verify;
use serde_json::{Value, json};

use crate::common::{Folder, corpus, run};

#[test]
fn the_verifier_accepts_every_certificate() {
    for (goal, least) in [("minreg", 500), ("occupancy", 280), ("length", 260)] {
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

        // A claim that is one better than the truth has no proof, and one that is worse is not what the
        // schedules reach.
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
    let folder = Folder::new();
    let proofs = folder.path("proofs.jsonl");
    let message = run("schedule {} --goal throughput --certificate {}", &[&corpus(), &proofs]).error();
    assert!(message.contains("--certificate needs --goal minreg, occupancy or length"), "{message}");
    assert!(folder.names().is_empty());
}

/// Vector and accumulation registers share a file: 120 are too many for five waves, though each class alone
/// would fit.
#[test]
fn classes_that_share_a_file_have_a_split() {
    let region = r#"{"lowtide": 1, "kernel": "k", "target": "gfx90a", "region": "r", "classes": ["vgpr", "agpr"],
        "registers": [{"name": "a", "class": "vgpr"}, {"name": "b", "class": "agpr"}], "through": {"vgpr": 59, "agpr": 59},
        "instructions": [{"op": "x", "latency": 1, "defs": ["a"]}, {"op": "y", "latency": 1, "uses": ["a"], "defs": ["b"]},
        {"op": "z", "latency": 1, "uses": ["b"]}], "deps": [[0, 1, "data", 1], [1, 2, "data", 1]]}"#;
    let folder = Folder::new();
    let [regions, schedules, proofs] = ["r.jsonl", "s.jsonl", "p.jsonl"].map(|name| folder.path(name));
    write(&regions, region.replace('\n', " ") + "\n").expect("written");
    let line = "schedule {} --goal occupancy --nodes 20000 --summary -o {} --certificate {}";
    run(line, &[&regions, &schedules, &proofs]).ok();
    let text = read_to_string(&proofs).expect("a file");
    let claims: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let waves = claims.iter().find(|claim| claim["claim"] == "waves").expect("a claim about waves");
    assert_eq!(waves["most"], 4);
    assert_eq!(waves["proof"]["split"]["class"], "vgpr", "{waves}");
    let report = verify(&regions, &schedules, &proofs).expect("well-formed files");
    assert_eq!(
        (report.accepted, report.refused, report.unsupported),
        (report.claims, 0, 0),
        "{:?}",
        report.refusals
    );
}

/// Three loads, and then their uses: with two registers, a load has to wait for the use of an earlier one.
const LOADS: &str = r#"{"lowtide": 1, "kernel": "k", "target": "gfx906", "region": "r", "classes": ["vgpr"],
"registers": [{"name": "a", "class": "vgpr"}, {"name": "b", "class": "vgpr"}, {"name": "c", "class": "vgpr"}],
"instructions": [
{"op": "load", "latency": 9, "units": {"HWVMEM": 1}, "flags": "l", "defs": ["a"]},
{"op": "load", "latency": 9, "units": {"HWVMEM": 1}, "flags": "l", "defs": ["b"]},
{"op": "load", "latency": 9, "units": {"HWVMEM": 1}, "flags": "l", "defs": ["c"]},
{"op": "store", "latency": 1, "uses": ["a"]}, {"op": "store", "latency": 1, "uses": ["b"]},
{"op": "store", "latency": 1, "uses": ["c"]}],
"deps": [[0, 3, "data", 9], [1, 4, "data", 9], [2, 5, "data", 9]]}"#;

#[test]
fn lengths_within_limits_have_a_search_and_latencies_are_those_of_the_run() {
    let folder = Folder::new();
    let [regions, schedules, proofs] = ["r.jsonl", "s.jsonl", "p.jsonl"].map(|name| folder.path(name));
    write(&regions, LOADS.replace('\n', " ") + "\n").expect("written");
    for (options, length, kind) in [
        ("", 128, "bound"),
        ("--latencies recorded", 12, "bound"),
        ("--registers 2 --latencies recorded", 20, "search"),
        ("--registers 2 --latency-scale 0.5", 128, "search"),
    ] {
        let line = format!(
            "schedule {{}} --goal length {options} --nodes 20000 --summary -o {{}} --certificate {{}}"
        );
        run(&line, &[&regions, &schedules, &proofs]).ok();
        let text = read_to_string(&proofs).expect("a file");
        let claim: Value = serde_json::from_str(text.lines().nth(1).expect("a claim")).expect("JSON");
        assert_eq!(claim["least"], length, "{options}: {claim}");
        assert!(claim["proof"].get(kind).is_some(), "{options}: {claim}");
        assert_eq!(claim.get("limits").is_some(), kind == "search", "{claim}");
        let report = verify(&regions, &schedules, &proofs).expect("well-formed files");
        assert_eq!((report.claims, report.accepted), (1, 1), "{options}: {:?}", report.refusals);
        // Without the limit, there are shorter schedules.
        if kind == "search" {
            let mut claim = claim.clone();
            claim.as_object_mut().expect("an object").remove("limits");
            let header = text.lines().next().expect("a header");
            write(&proofs, format!("{header}\n{claim}\n")).expect("written");
            let report = verify(&regions, &schedules, &proofs).expect("well-formed files");
            assert_eq!((report.claims, report.refused), (1, 1));
        }
    }
}

/// Two instructions in a cycle, and units that are busy for several cycles.
const WIDE: &str = "name = \"wide\"
description = \"two instructions in a cycle\"
[issue]
width = 2
units = [{ name = \"a\", count = 2 }, { name = \"m\" }]
[[file]]
name = \"vector\"
size = 24
granule = 2
waves = 6
classes = [{ name = \"v\", max = 20 }]
";

/// Two classes share a file, and a third is spilled into lanes of the first.
const SHARED: &str = "name = \"shared\"
description = \"classes that share a file\"
[issue]
width = 1
[[file]]
name = \"vector\"
size = 24
granule = 1
waves = 8
classes = [{ name = \"v\", max = 12, align = 2 }, { name = \"a\", max = 12 }]
[[file]]
name = \"scalar\"
size = 24
granule = 1
waves = 8
classes = [{ name = \"s\", max = 2, spill = { class = \"v\", lanes = 2 } }]
";

#[test]
fn all_waves_of_classes_that_share_registers_have_certificates() {
    let folder = Folder::new();
    let [target, regions, schedules, proofs] =
        ["t.toml", "r.jsonl", "s.jsonl", "p.jsonl"].map(|name| folder.path(name));
    write(&target, SHARED).expect("written");
    let mut random = Random::new(4);
    let kernels = (0..300).map(|number| random_kernel(&mut random, number, &["v", "a", "s"]));
    write(&regions, kernels.collect::<String>()).expect("written");
    let line = "schedule {} --target {} --goal occupancy --nodes 100000 --no-filter --summary -o {} --certificate {}";
    run(line, &[&regions, &target, &schedules, &proofs]).ok();
    let report = verify(&regions, &schedules, &proofs).expect("well-formed files");
    assert_eq!((report.refused, report.unsupported), (0, 0), "{:?}", report.refusals);
    let text = read_to_string(&proofs).expect("a file");
    let claims: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let waves = || claims.iter().filter(|claim| claim["claim"] == "waves");
    let inner = |claim: &&Value| {
        let split = &claim["proof"]["split"];
        [&split["below"], &split["above"]].iter().any(|part| part.get("split").is_some())
    };
    let splits = waves().filter(|claim| claim["proof"].get("split").is_some()).count();
    let found = (waves().count(), splits, waves().filter(inner).count());
    println!("{found:?} claims about waves, with splits, with splits in splits");
    assert!(found.0 == 300 && found.1 > 30 && found.2 > 0, "{found:?}");
}

/// A kernel of one random region: latencies, units, and one register for each instruction.
fn random_kernel(random: &mut Random, number: usize, classes: &[&str]) -> String {
    let count = 2 + random.below(11);
    let (mut deps, mut instructions) = (Vec::new(), Vec::new());
    for to in 0..count {
        let mut uses = Vec::new();
        for from in 0..to {
            if random.below(100) < 25 {
                let is_data = random.below(3) > 0;
                deps.push(json!([from, to, if is_data { "data" } else { "memory" }, random.below(5)]));
                uses.extend(is_data.then(|| format!("r{from}")));
            }
        }
        let mut units = serde_json::Map::new();
        for unit in ["a", "m"] {
            if random.below(100) < 50 {
                units.insert(unit.to_string(), json!(1 + random.below(3)));
            }
        }
        instructions
            .push(json!({"op": "i", "latency": 1, "units": units, "defs": [format!("r{to}")], "uses": uses}));
    }
    let registers: Vec<Value> =
        (0..count).map(|i| json!({"name": format!("r{i}"), "class": random.pick(classes)})).collect();
    let line = json!({"lowtide": 1, "kernel": format!("k{number}"), "region": "r", "classes": classes,
        "registers": registers, "instructions": instructions, "deps": deps});
    format!("{line}\n")
}

#[test]
fn units_and_several_instructions_in_a_cycle_have_certificates() {
    let folder = Folder::new();
    let [target, regions, schedules, proofs] =
        ["t.toml", "r.jsonl", "s.jsonl", "p.jsonl"].map(|name| folder.path(name));
    write(&target, WIDE).expect("written");
    let mut random = Random::new(3);
    write(&regions, (0..400).map(|number| random_kernel(&mut random, number, &["v"])).collect::<String>())
        .expect("written");
    let mut with_steps = 0;
    for goal in ["length", "occupancy"] {
        let line = format!(
            "schedule {{}} --target {{}} --goal {goal} --nodes 20000 --no-filter --summary -o {{}} --certificate {{}}"
        );
        run(&line, &[&regions, &target, &schedules, &proofs]).ok();
        let report = verify(&regions, &schedules, &proofs).expect("well-formed files");
        assert_eq!((report.refused, report.unsupported), (0, 0), "{goal}: {:?}", report.refusals);
        let text = read_to_string(&proofs).expect("a file");
        let claims: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let lengths = || claims.iter().filter(|claim| claim["claim"] == "length");
        let with_unit = |claim: &&Value| claim["proof"]["bound"].get(2).is_some();
        let raised = |claim: &&Value| claim["proof"].get("heads").or(claim["proof"].get("tails")).is_some();
        let searched = |claim: &&Value| claim["proof"].get("search").is_some();
        let found = (
            lengths().count(),
            lengths().filter(with_unit).count(),
            lengths().filter(raised).count(),
            lengths().filter(searched).count(),
        );
        println!("{goal}: {found:?} lengths, by a unit, with raised times, by search");
        assert!(found.0 > 300 && found.1 > 80, "{goal}: {found:?}");
        with_steps += found.2;
    }
    assert!(with_steps > 0);
}
