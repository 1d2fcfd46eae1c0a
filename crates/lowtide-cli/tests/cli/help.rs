//! Help, version and hints.

use crate::common::run;

const COMMANDS: [&str; 10] =
    ["schedule", "view", "compare", "bench", "check", "passes", "info", "targets", "convert", "completions"];

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
    assert_eq!(run("--version", &[]).ok(), format!("lowtide {}\n", env!("CARGO_PKG_VERSION")));
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
