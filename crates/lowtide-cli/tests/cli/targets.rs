//! `lowtide targets`.

use std::fs;

use serde_json::json;

use crate::common::{Folder, array, corpus, root, run};

fn names_in_folder() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates/lowtide/targets")).expect("the target files");
    let path = entries.map(|entry| entry.expect("an entry").path());
    let toml = path.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    toml.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

#[test]
fn every_file_of_the_folder_is_known() {
    let table = run("targets", &[]).ok();
    let document = run("targets --json", &[]).json();
    let names = names_in_folder();
    assert_eq!(array(&document).len(), names.len());
    for name in names {
        assert!(table.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
        assert!(array(&document).iter().any(|target| target["name"] == *name), "{name}");
    }
}

#[test]
fn the_steps_of_vega_are_those_of_the_literature() {
    let document = run("targets gfx906 --json", &[]).json();
    let steps =
        json!([[24, 10], [28, 9], [32, 8], [36, 7], [40, 6], [48, 5], [64, 4], [84, 3], [128, 2], [256, 1]]);
    assert_eq!(document[0]["files"][0]["steps"], steps);
    let table = run("targets gfx906", &[]).ok();
    for step in array(&steps) {
        let words = [step[0].to_string(), step[1].to_string()];
        assert!(table.lines().any(|line| line.split_whitespace().eq(&words)), "{words:?}: {table}");
    }
}

/// What each target can do: commands, latencies, spills, shared files.
#[test]
fn targets_say_what_they_support() {
    let document = run("targets --json", &[]).json();
    let of = |name: &str| array(&document).iter().find(|target| target["name"] == name).expect("a target");
    assert_eq!(of("gfx1100")["commands"], json!(["schedule", "pack", "simulate"]));
    assert_eq!(of("ps14")["commands"], json!(["schedule", "passes"]));
    assert_eq!(of("sm_90")["commands"], json!(["schedule"]));
    assert_eq!(
        of("gfx906")["files"][0]["spills"],
        json!([{"class": "vgpr", "max": 256, "into": null, "lanes": null, "cycles": 20}])
    );
    assert_eq!(
        of("gfx906")["files"][1]["spills"],
        json!([{"class": "sgpr", "max": 102, "into": "vgpr", "lanes": 64, "cycles": null}])
    );
    let table = run("targets", &[]).ok();
    let words = |start: &[&str]| -> Vec<String> {
        let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut found = lines.filter(|line| line.starts_with(start));
        found.next().expect("a line").into_iter().map(String::from).collect()
    };
    assert_eq!(words(&["gfx1100"])[..5], ["gfx1100", "16", "table", "pack,", "simulate"]);
    assert_eq!(words(&["xe-hpg"])[..3], ["xe-hpg", "8", "recorded"]);
    assert_eq!(words(&["gfx906", "vgpr"]).join(" "), "gfx906 vgpr 256 256/4 memory, 20 cycles each");
    assert_eq!(words(&["gfx906", "sgpr"]).join(" "), "gfx906 sgpr 102 800/4 lanes of vgpr, 64 in each");
    assert!(words(&["gfx90a", "agpr"]).join(" ").contains("512/8, shared with vgpr"), "{table}");
    let own = run("targets gfx90a", &[]).ok();
    assert!(own.contains("sgpr over 102 are spilled to lanes of vgpr, 64 in each"), "{own}");
}

#[test]
fn a_file_can_be_a_target() {
    let file = root().join("crates/lowtide/targets/gfx90a.toml");
    assert_eq!(run("targets {}", &[&file]).ok(), run("targets gfx90a", &[]).ok());
    let document = run("schedule {} --nodes 1 --json --target {}", &[&corpus(), &file]).json();
    assert_eq!(document["kernels"][0]["target"], "gfx90a");
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    for line in ["targets gfx999", "schedule x.jsonl --target gfx999"] {
        let message = run(line, &[]).error();
        assert!(message.contains("unknown target \"gfx999\""), "{message}");
        assert!(names_in_folder().iter().all(|name| message.contains(name)), "{message}");
    }
}

#[test]
fn trouble_with_a_file_is_told_with_its_place() {
    let folder = Folder::new();
    for (name, content) in [("syntax.toml", "name = \"x\"\n[[file]\n"), ("field.toml", "\nnames = 1\n")] {
        let file = folder.write(name, content);
        let message = run("targets {}", &[&file]).error();
        assert!(message.contains(name) && message.contains("line 2"), "{message}");
    }
    let message = run("targets missing.toml", &[]).error();
    assert!(message.contains("missing.toml: cannot be read"), "{message}");
}
