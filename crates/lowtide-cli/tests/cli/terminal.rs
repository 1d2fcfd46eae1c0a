//! Progress on a terminal, by the program `script` of every Debian.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lowtide::generate::families;
use lowtide::region::{Kernel, Region};

use crate::common::{Folder, corpus, finish, program, run};
use crate::skip::{Missing, skip};

/// Progress is printed from the start: whether a search takes a second depends on the machine.
const AT_ONCE: &str = "LOWTIDE_PROGRESS_AT_ONCE";

/// The lines of both outputs, without what controls the terminal and without bars.
fn watched(line: &str, file: &Path) -> Option<Vec<String>> {
    watched_in("", line, file)
}

/// The same, after a command that sets up the terminal.
fn watched_in(setup: &str, line: &str, file: &Path) -> Option<Vec<String>> {
    let command = format!("{setup} {} {line}", env!("CARGO_BIN_EXE_lowtide"));
    let command = command.replace("{}", &file.display().to_string());
    let run = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env(AT_ONCE, "1")
        .stdin(Stdio::null())
        .output();
    let Ok(run) = run else {
        skip(Missing::Installable, "there is no program `script`, which runs a command on a terminal");
        return None;
    };
    assert!(run.status.success(), "{run:?}");
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain += before;
        plain.push('\n');
        let end = after.find(|c: char| c.is_ascii_alphabetic()).expect("a command ends in a letter");
        rest = &after[end + 1..];
    }
    plain += rest;
    let lines = plain.split(['\r', '\n']).map(str::trim_end);
    let is_bar = |line: &&str| line.contains(['█', '░']);
    Some(lines.filter(|line| !line.is_empty() && !is_bar(line)).map(String::from).collect())
}

fn file_of(folder: &Folder, region: Region) -> PathBuf {
    let kernel = Kernel {
        name: "hard".to_string(),
        origin: String::new(),
        target: None,
        is_entry: true,
        max_occupancy: None,
        regions: vec![region],
    };
    folder.write("hard.jsonl", lowtide_io::format_line(&kernel, &kernel.regions[0]) + "\n")
}

/// Every step of a search is a line, and the summary has the same figures as the result.
#[test]
fn a_search_is_told_while_it_runs() {
    let folder = Folder::new();
    let region = families::matmul(6, 6, 6);
    let size = region.len();
    let file = file_of(&folder, region);
    let line = "schedule {} --goal minreg --target gfx906 --nodes 2000";
    let Some(lines) = watched(line, &file) else { return };
    let all = lines.join("\n");
    let header = lines.iter().position(|line| line.ends_with("bound      gap")).expect(&all);
    let told: Vec<Vec<&str>> =
        (lines[header + 1..].iter()).map(|line| line.split_whitespace().collect()).collect();
    let told: Vec<_> = told.iter().take_while(|words| words.get(2) == Some(&"hard")).collect();
    // Time, s, kernel, region, what is sought, best, bound, gap, %, and at the end how it ended.
    let last = told.last().expect(&all);
    assert!(last.len() == 10 && last[4] == "peak", "{all}");
    let figure = |words: &Vec<&str>, at: usize| words[at].parse::<f64>().expect("a figure");
    assert!(told.is_sorted_by_key(|words| figure(words, 6)), "bounds rise: {all}");
    assert!(told.iter().rev().is_sorted_by_key(|words| figure(words, 5)), "peaks fall: {all}");
    // The start, the first bound, which takes no search, and the end, which repeats the last figures.
    assert!(told.len() >= 3 && told[0][5..7] != last[5..7], "from the start: {all}");
    assert_eq!(told[told.len() - 2][5..9], last[5..9], "{all}");
    let is_wide = |line: &&String| line.chars().count() > 80 && !line.starts_with("command: ");
    assert_eq!(lines.iter().find(is_wide), None, "{all}");
    let seconds: Vec<f64> = told.iter().map(|words| figure(words, 0)).collect();
    assert!(seconds.is_sorted(), "times go forwards: {all}");

    let result = run(&format!("{line} --json"), &[&file]).json();
    let result = &result["kernels"][0]["regions"][0];
    assert_eq!(result["peak"]["vgpr"].to_string(), last[5], "{all}");
    assert_eq!(result["peak_bound"]["vgpr"].to_string(), last[6], "{all}");
    let proven = result["optimal"].as_bool().expect("whether it is proven");
    assert_eq!(last[9], if proven { "proven" } else { "open" }, "{all}");

    let summary = lines.iter().position(|line| line.starts_with("lowtide 0.")).expect(&all);
    let facts = &lines[summary..];
    assert!(facts[0].ends_with(" threads"), "{all}");
    assert!(facts[1].starts_with("command: lowtide schedule /") && facts[1].ends_with(" 2000"), "{all}");
    assert_eq!(facts[2], "target gfx906, goal minreg, algorithm auto, 2,000 steps for each region and pass");
    assert_eq!(facts[3], format!("1 kernel, 1 region, {size} instructions"));
    // The goal is about registers, and so are the totals.
    assert!(facts[4].starts_with("registers "), "{all}");
    let found = format!(" -> {} (at least {}, gap ", last[5], last[6]);
    assert!(facts[4].contains(&found), "{all}");
    let proven = if proven { "proven: 1 of 1 regions (100.0 %)" } else { "proven: 0 of 1 regions (0.0 %)" };
    assert_eq!((facts[5].as_str(), facts.len()), (proven, 7), "{all}");
    assert_eq!(facts[6], "latencies: target", "{all}");
}

/// Tables and progress are as wide as the terminal.
#[test]
fn the_terminal_decides_on_the_width() {
    let file = corpus().join("rocprim.jsonl.gz");
    let line = "schedule {} --nodes 200";
    let mut longest = Vec::new();
    for columns in [72, 80, 140] {
        let Some(lines) = watched_in(&format!("stty cols {columns} rows 40;"), line, &file) else { return };
        let all = lines.join("\n");
        let rule = lines.iter().find(|line| line.starts_with('─')).expect(&all);
        let rule = rule.chars().count();
        assert!(rule <= columns, "{columns}: {all}");
        let is_wide = |line: &&String| line.chars().count() > columns && !line.starts_with("command: ");
        assert_eq!(lines.iter().find(is_wide), None, "{columns}: {all}");
        // A kernel that improved has a line, with the name that the table has.
        assert!(
            lines.iter().any(|line| line.contains(" s  ") && line.contains("srt<256, 4>: waves")),
            "{all}"
        );
        longest.push((rule, all.contains("(no room for: ")));
    }
    assert!(longest[0].0 < longest[1].0 && longest[1].0 < longest[2].0, "{longest:?}");
    assert_eq!((longest[0].1, longest[2].1), (true, false));
}

/// Searches of several regions run at the same time, and no time is before that of a line above.
#[test]
fn times_go_forwards() {
    let Some(lines) = watched("schedule {} --nodes 3000 --goal minreg --threads 4", &corpus()) else {
        return;
    };
    let time = |line: &String| line.split_once(" s  ").and_then(|(time, _)| time.trim().parse::<f64>().ok());
    let times: Vec<f64> = lines.iter().filter_map(time).collect();
    assert!(times.len() > 5 && times.is_sorted(), "{times:?}");
}

/// The same without a terminal: results, and nothing else.
#[test]
fn nothing_is_told_to_a_pipe() {
    let folder = Folder::new();
    let file = file_of(&folder, families::matmul(6, 6, 6));
    let mut command = program();
    command.args(["schedule", "--goal", "minreg", "--nodes", "2000"]).arg(&file);
    finish(command.env(AT_ONCE, "1").stdin(Stdio::null())).ok();
}
