//! Finds the commit that the program is built from, for `--version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A package has no repository around it, but carries the commit in this file.
    let package = std::fs::read_to_string(".cargo_vcs_info.json").unwrap_or_default();
    let packaged = package.split("\"sha1\": \"").nth(1).and_then(|rest| rest.get(..10)).map(str::to_string);
    if let Some(commit) = packaged.or_else(from_git) {
        println!("cargo::rustc-env=LOWTIDE_COMMIT={commit}");
    }
}

fn from_git() -> Option<String> {
    let git = Path::new("../../.git");
    if !git.is_dir() {
        return None;
    }
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let output = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| commit.trim().to_string())
}
