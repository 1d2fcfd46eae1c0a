//! `lowtide schedule --explain`.

use crate::common::{Folder, corpus, run, tiny};

#[test]
fn every_choice_has_a_reason() {
    let folder = Folder::new();
    let file = folder.regions("regions.jsonl", &[tiny("k", "r")]);
    for algorithm in
        ["sethi-ullman", "su-cluster", "critical-path", "last-use-count", "goodman-hsu", "llvm-generic"]
    {
        let text = run(&format!("schedule {{}} --explain --algorithm {algorithm}"), &[&file]).ok();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("kernel k, region r"));
        assert!(
            lines.all(|line| line.starts_with("  #") && line.contains(" of ") && line.contains(": ")),
            "{text}"
        );
    }
}

#[test]
fn what_cannot_be_explained_says_what_can() {
    let message = run("schedule {} --explain --algorithm default", &[&corpus()]).error();
    assert!(message.contains("--explain works with --algorithm sethi-ullman"), "{message}");
}
