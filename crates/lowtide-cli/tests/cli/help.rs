//! Help, version and hints.

use std::path::Path;

use crate::common::{Folder, corpus, root, run, text};

const COMMANDS: [&str; 17] = [
    "schedule",
    "view",
    "why",
    "diff",
    "compare",
    "pack",
    "bench",
    "check",
    "simulate",
    "passes",
    "info",
    "algorithms",
    "targets",
    "convert",
    "store",
    "completions",
    "install",
];

#[test]
fn every_command_says_what_it_does() {
    for command in COMMANDS {
        let help = run(&format!("{command} --help"), &[]).ok();
        let first = help.lines().next().unwrap_or_default();
        assert!(first.len() > 20 && !first.starts_with("Usage"), "{command}: {first}");
        assert!(help.contains(&format!("Usage: lowtide {command}")), "{command}");
        assert!(run("--help", &[]).ok().contains(&format!("\n  {command} ")), "{command}");
    }
}

/// A help text that cites a paper by its number explains the number.
#[test]
fn cited_papers_are_explained() {
    let mut citing = 0;
    let commands = COMMANDS.map(str::to_string).into_iter().chain([String::new()]);
    let benches =
        ["minreg", "occupancy", "colony", "pack", "passes", "all"].map(|name| format!("bench {name}"));
    for command in commands.chain(benches) {
        for help in ["--help", "-h"] {
            let text = run(&format!("{command} {help}"), &[]).ok();
            for number in 1..=5 {
                let is_cited = text.contains(&format!("paper {number}"));
                assert!(!is_cited || text.contains(&format!("\nPaper {number}: ")), "{command}: {text}");
                citing += u32::from(is_cited);
            }
        }
    }
    assert!(citing >= 10, "{citing}");
    let table = run("algorithms", &[]).ok();
    for (paper, words) in [(1, "Gang Chen"), (2, "2020"), (3, "Fayyazi"), (4, "2024"), (5, "2005")] {
        let line =
            table.lines().position(|line| line.starts_with(&format!("Paper {paper}: "))).expect("a line");
        let entry: Vec<&str> = table.lines().skip(line).take(2).collect();
        assert!(entry.join(" ").contains(words), "{table}");
    }
}

/// The commands of the README answer a newcomer's questions.
#[test]
fn the_five_questions_have_answers() {
    let readme = text(&root().join("README.md"));
    let (_, section) = readme.split_once("## Five questions").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("its end");
    let command = |question: &str| -> String {
        let row = section.lines().find(|line| line.starts_with(&format!("| {question} |"))).expect(question);
        row.split('`').nth(1).expect("a command").to_string()
    };
    let folder = Folder::new();
    let answer = |question: &str| {
        let line = command(question).replace("corpus/", "{}");
        // The verifier is a program of its own, with its own tests.
        let first = line.split(" && ").next().unwrap_or_default();
        let first = first.strip_prefix("lowtide ").expect("a command of this program");
        let output = folder.path("").display().to_string();
        let first = first
            .replace(" -o ", &format!(" -o {output}"))
            .replace("--certificate ", &format!("--certificate {output}"));
        run(&format!("{first} --nodes 200"), &[&corpus()]).ok()
    };
    assert!(answer("Did it help?").contains("\nwaves:  207 -> 207, at most 207 are possible\n"));
    assert!(answer("Where?").lines().nth(2).is_some_and(|line| line.starts_with("srt<256, 4> ")));
    assert!(answer("Why not more?").contains("no order of its instructions allows 4 waves"));
    assert!(answer("Is it proven?").contains("claim"));
    assert!(folder.names() == ["proofs.jsonl", "schedules.jsonl"], "{:?}", folder.names());
    assert!(command("Is it proven?").ends_with("&& lowtide-verify corpus/ schedules.jsonl proofs.jsonl"));
    let plugin = command("How do I use it in my compiler?");
    let script = plugin.split(' ').next().unwrap_or_default();
    assert!(root().join(script).is_file() && plugin.contains("-misched=lowtide"), "{plugin}");
}

#[test]
fn examples_are_where_they_help_most() {
    for (command, example) in [
        ("", "Example: lowtide schedule corpus/"),
        ("schedule", "Example: lowtide schedule kernels.jsonl.gz"),
        ("completions", "Example: lowtide completions bash"),
    ] {
        let help = run(&format!("{command} --help"), &[]).ok();
        assert!(help.contains(example), "{help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = run("--version", &[]).ok();
    assert!(version.starts_with(&format!("lowtide {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.ends_with("features: shaders, cuda)\n"), "{version}");
}

#[test]
fn manual_pages_and_completions_are_installed() {
    let folder = Folder::new();
    let prefix = folder.path("usr");
    let written = run("install --prefix {}", &[&prefix]).ok();
    let files: Vec<&Path> = written.lines().map(Path::new).collect();
    assert!(files.iter().all(|file| file.starts_with(&prefix) && file.is_file()), "{written}");
    for command in COMMANDS {
        let page = text(&prefix.join(format!("share/man/man1/lowtide-{command}.1")));
        assert!(page.contains(".SH SYNOPSIS") && page.contains("lowtide"), "{page}");
    }
    assert!(text(&prefix.join("share/man/man1/lowtide.1")).contains("lowtide\\-schedule(1)"));
    let bash = text(&prefix.join("share/bash-completion/completions/lowtide"));
    assert_eq!(bash.trim_end(), run("completions bash", &[]).ok().trim_end());
    // A file where a folder should be.
    let file = folder.write("file", "");
    assert!(run("install --prefix {}", &[&file]).error().contains("file/share/man/man1"));
}

#[test]
fn what_is_not_understood_gets_a_hint() {
    for (line, hint) in [
        ("schedul x", "'schedule'"),
        ("schedule x --gaol minreg", "'--goal'"),
        ("schedule x --goal fast", "minreg, occupancy, length"),
        ("schedule x --algorithm magic", "known are auto, source"),
        ("schedule x --budget 5", "a unit is missing"),
        ("schedule", "<FILE>"),
        ("info x --threads 0", "1..=1024"),
        ("info x --threads 100000", "1..=1024"),
        ("check x y --limit vgpr", "CLASS=N"),
        ("check x y --limit-at vgpr=many", "is not a number of registers"),
        ("check x --limit vgpr=3", "<SCHEDULE>"),
        ("completions tcsh", "bash"),
    ] {
        let message = run(line, &[]).usage();
        assert!(message.contains(hint), "{line}: {message}");
    }
}

#[test]
fn shells_can_complete_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&format!("completions {shell}"), &[]).ok();
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
}
