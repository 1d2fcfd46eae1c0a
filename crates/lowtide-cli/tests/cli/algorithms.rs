//! `lowtide algorithms`, and `--algorithm`.

use crate::common::{array, corpus, run};

/// The keys that programs rely on, and an entry for every name that `--algorithm` takes.
#[test]
fn the_table_has_every_algorithm() {
    let document = run("algorithms --json", &[]).json();
    let table = run("algorithms", &[]).ok();
    let mut names = Vec::new();
    for row in array(&document) {
        let name = row["name"].as_str().expect("a name");
        assert!(row["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{row}");
        let paper = row["paper"].as_u64();
        assert!(paper.is_none_or(|paper| (1..=5).contains(&paper)), "{row}");
        assert_eq!(paper.is_some(), row["section"].is_string(), "{row}");
        for goal in array(&row["goals"]) {
            assert!(
                ["minreg", "occupancy", "length", "throughput"].contains(&goal.as_str().expect("a goal")),
                "{row}"
            );
        }
        assert!(
            table.lines().any(|line| line.starts_with(&format!("{name} "))),
            "{name} is not in the table"
        );
        names.push((row["command"].as_str().expect("a command"), name));
    }
    for name in ["auto", "twopass", "colony", "su-cluster-adjust", "few-registers", "cp-paper"] {
        assert!(names.contains(&("schedule", name)), "{names:?}");
    }
    // The published methods of papers 3 to 5.
    for name in [("schedule", "colony --preset paper"), ("pack", "program-paper"), ("passes", "mrds-h")] {
        assert!(names.contains(&name), "{names:?}");
    }
    for command in ["pack", "passes"] {
        let error = run(&format!("{command} {{}} --algorithm quickest"), &[&corpus()]);
        let mut own = names.iter().filter(|(of, _)| *of == command);
        assert!(own.all(|(_, name)| error.stderr.contains(name)), "{}", error.stderr);
    }
    names.retain(|(command, name)| *command == "schedule" && !name.contains(' '));
    let error = run("schedule {} --algorithm quickest", &[&corpus()]);
    assert_eq!(error.code, 2);
    assert!(names.iter().all(|(_, name)| error.stderr.contains(name)), "{}", error.stderr);
}

/// A former name means the same algorithm.
#[test]
fn default_is_another_name_of_few_registers() {
    let by = |name: &str| run(&format!("schedule {{}} --algorithm {name} --nodes 1 -o -"), &[&corpus()]).ok();
    assert_eq!(by("default"), by("few-registers"));
}
