//! `lowtide check`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{Folder, array, corpus, number, run, text, tiny};

/// Two kernels and their schedules.
fn scheduled(folder: &Folder) -> (PathBuf, Vec<Value>) {
    let file = folder.regions("regions.jsonl", &[tiny("k", "first"), tiny("k", "second")]);
    let output = folder.path("schedules.jsonl");
    run("schedule {} -o {} --latencies recorded", &[&file, &output]).ok();
    let schedules: Vec<Value> =
        text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(schedules.len(), 2);
    (file, schedules)
}

#[test]
fn dependent_instructions_must_not_be_swapped() {
    let folder = Folder::new();
    let (file, mut schedules) = scheduled(&folder);
    array_mut(&mut schedules[1]["order"]).swap(2, 3);
    let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).refused();
    assert!(told.contains("kernel \"k\", region second: "), "{told}");
    assert!(told.contains("#3 store") && told.contains("#2 add") && told.contains("depends on"), "{told}");
    assert!(told.contains("2 regions: 1 illegal"), "{told}");
}

#[test]
fn latencies_must_be_kept() {
    let folder = Folder::new();
    let (file, mut schedules) = scheduled(&folder);
    let cycle = number(&schedules[0]["cycles"][3]);
    schedules[0]["cycles"][3] = (cycle - 1).into();
    let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).refused();
    assert!(told.contains("region first: ") && told.contains("with latency 4"), "{told}");
}

#[test]
fn every_region_needs_a_schedule() {
    let folder = Folder::new();
    let (file, schedules) = scheduled(&folder);
    let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules[..1])]).refused();
    assert!(told.contains("kernel \"k\", region second: has no schedule"), "{told}");
}

#[test]
fn no_region_may_have_two_schedules() {
    let folder = Folder::new();
    let (file, mut schedules) = scheduled(&folder);
    schedules.push(schedules[0].clone());
    let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).error();
    assert!(told.contains("region \"first\" of kernel \"k\" has two schedules"), "{told}");
}

#[test]
fn every_schedule_needs_a_region() {
    let folder = Folder::new();
    let (file, mut schedules) = scheduled(&folder);
    schedules.push(schedules[0].clone());
    schedules[2]["region"] = "third".into();
    let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).refused();
    assert!(told.contains("kernel \"k\", region third: has a schedule, but is not in"), "{told}");
}

#[test]
fn limits_are_enforced() {
    let folder = Folder::new();
    let (file, schedules) = scheduled(&folder);
    let good = folder.regions("good", &schedules);
    for line in ["--limit vgpr=2", "--limit-at vgpr=3", "--limit vgpr=9 --limit-at vgpr=9"] {
        run(&format!("check {{}} {{}} {line}"), &[&file, &good]).ok();
    }
    let told = run("check {} {} --limit vgpr=1", &[&file, &good]).refused();
    assert!(told.contains("region first: vgpr pressure 2 is over the limit of 1"), "{told}");
    let told = run("check {} {} --limit-at vgpr=2", &[&file, &good]).refused();
    assert!(told.contains("vgpr pressure 3 at an instruction is over the limit of 2"), "{told}");
    let told = run("check {} {} --limit vpgr=1", &[&file, &good]).error();
    assert!(told.contains("\"vpgr\"") && told.contains("known are vgpr"), "{told}");
}

#[test]
fn json_tells_the_same() {
    let folder = Folder::new();
    let (file, schedules) = scheduled(&folder);
    let document = run("check {} {} --json", &[&file, &folder.regions("good", &schedules)]).json();
    assert_eq!((&document["regions"], &document["illegal"]), (&json!(2), &json!(0)));
    let run = run("check {} {} --json", &[&file, &folder.regions("bad", &schedules[1..])]);
    let document: Value = serde_json::from_str(&run.refused()).expect("JSON");
    assert_eq!(document["illegal"], 1);
}

#[test]
fn bounds_are_proven_again() {
    let folder = Folder::new();
    let output = folder.path("schedules.jsonl");
    run("schedule {} -o {} --nodes 20000 --goal minreg", &[&corpus(), &output]).ok();
    let document = run("check {} {} --bound --json", &[&corpus(), &output]).json();
    let bounds = &document["bounds"];
    let searched = array(&bounds["by_search"]).len() as u64;
    assert_eq!(number(&bounds["verified"]) + searched, 2 * 284, "{bounds}");
    assert_eq!((&bounds["refused"], &bounds["missing"]), (&json!(0), &json!(0)), "{bounds}");
    let vgpr = &bounds["classes"]["vgpr"];
    assert_eq!(vgpr["regions"], 284, "{bounds}");
    assert!(number(&vgpr["optimal"]) + number(&vgpr["optimal_by_search"]) > 250, "{bounds}");
    let text = run("check {} {} --bound", &[&corpus(), &output]).ok();
    assert!(text.contains("bounds: ") && text.contains(" cuts verified; 0 refused, 0 missing; "), "{text}");
    assert!(text.contains("optimal, since the peak equals a verified bound: "), "{text}");
    // Without being asked, nobody looks at them.
    let document = run("check {} {} --json", &[&corpus(), &output]).json();
    assert!(document.get("bounds").is_none(), "{document}");
}

#[test]
fn bounds_that_do_not_hold_are_refused() {
    let folder = Folder::new();
    let (file, schedules) = scheduled(&folder);
    let bound = json!({"value": 2, "by": {"cut": "before", "instr": 2}});
    assert_eq!(schedules[0]["peak_bounds"]["vgpr"]["value"], 2);
    let told = |change: &dyn Fn(&mut Value)| {
        let mut changed = schedules.clone();
        changed[1]["peak_bounds"]["vgpr"] = bound.clone();
        change(&mut changed[1]["peak_bounds"]);
        run("check {} {} --bound", &[&file, &folder.regions("changed", &changed)])
    };
    let good = told(&|_| {}).ok();
    let words = "bounds: 2 cuts verified; 0 refused, 0 missing; 0 by search and 0 by solver, not checked\n\
                 optimal, since the peak equals a verified bound: vgpr in 2 of 2 regions\n";
    assert!(good.ends_with(words), "{good}");
    for (change, words) in [
        (json!({"value": 3}), "at least 3 before #2 add is claimed, but it can be 2"),
        (json!({"value": 2, "by": {"cut": "start"}}), "at least 2 at the start is claimed, but it can be 0"),
        (
            json!({"value": 2, "by": {"cut": "after", "instr": 1}}),
            "at least 2 after #1 load is claimed, but it can be 1",
        ),
        (
            json!({"value": 2, "by": {"cut": "after", "instr": 4}}),
            "the moment is at instruction #4, but the region has only 4",
        ),
        (
            json!({"value": 3, "by": {"search": {"nodes": 1, "rules": []}}}),
            "at least 3 is claimed, but the schedule has 2",
        ),
    ] {
        let text = told(&|bounds| {
            for (key, value) in change.as_object().expect("an object") {
                bounds["vgpr"][key] = value.clone();
            }
        });
        let text = text.refused();
        assert!(text.contains(&format!("kernel \"k\", region second: vgpr: {words}\n")), "{text}");
        assert!(text.contains("1 cuts verified; 1 refused"), "{text}");
        assert!(text.ends_with("vgpr in 1 of 2 regions\n"), "{text}");
    }
    let text = told(&|bounds| *bounds = json!({"sgpr": bound.clone()})).refused();
    assert!(text.contains("a bound is given for \"sgpr\", which is no class of the region"), "{text}");
    assert!(text.contains("vgpr: no bound is given") && text.contains("1 refused, 1 missing"), "{text}");
    let text = told(&|bounds| bounds["vgpr"] = json!({"value": 2, "by": 3})).error();
    assert!(text.contains("changed:2: peak_bounds.vgpr.by: invalid type"), "{text}");
    // What only a search knows is named, and counts apart.
    let search = json!({"search": {"nodes": 1234, "rules": ["free-moves", "memory"]}});
    let text = told(&|bounds| bounds["vgpr"]["by"] = search.clone()).ok();
    let words = "not checked: kernel \"k\", region second: vgpr at least 2, by a search of 1,234 nodes \
                 (free-moves, memory)\n";
    assert!(text.contains(words), "{text}");
    assert!(text.ends_with("vgpr in 1 of 2 regions (and 1 if search or solver is right)\n"), "{text}");
}

#[test]
fn a_file_without_bounds_has_none_to_check() {
    let folder = Folder::new();
    let (file, mut schedules) = scheduled(&folder);
    for schedule in &mut schedules {
        schedule["lowtide-schedule"] = 1.into();
        schedule.as_object_mut().expect("an object").remove("peak_bounds");
    }
    let old = folder.regions("old", &schedules);
    run("check {} {}", &[&file, &old]).ok();
    let message = run("check {} {} --bound", &[&file, &old]).error();
    assert!(message.contains("old: carries no bounds to check"), "{message}");
    assert!(run("check {} --bound", &[&file]).usage().contains("<SCHEDULE>"));
}

#[test]
fn the_figures_recorded_in_the_sample_agree() {
    let document = run("check {} --json", &[&corpus()]).json();
    for order in ["source", "production"] {
        let part = &document[order];
        assert!(number(&part["regions"]) > 200, "{document}");
        assert_eq!((&part["illegal"], &part["mismatches"]), (&json!(0), &json!(0)), "{document}");
    }
    assert!(run("check {}", &[&corpus()]).ok().contains("the source order "));
}

#[test]
fn an_altered_figure_is_noticed() {
    let folder = Folder::new();
    let mut region = tiny("k", "r");
    run("check {}", &[&folder.regions("good.jsonl", std::slice::from_ref(&region))]).ok();
    region["source_peaks"]["vgpr"]["between"] = 3.into();
    let told = run("check {}", &[&folder.regions("bad.jsonl", &[region])]).refused();
    assert!(told.contains("kernel \"k\", region r, source order: recorded vgpr 3 (3 at"), "{told}");
    assert!(told.contains("the checker says vgpr 2 (3 at an instruction)"), "{told}");
}

fn array_mut(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("an array")
}
