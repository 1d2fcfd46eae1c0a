//! Names of kernels: demangled for people, and as they are for programs.

use std::path::PathBuf;

use crate::common::{Folder, kernel_names, run, tiny};

const MANGLED: &str = "_ZN1g4sortILj256EiEEvPT0_";
const READABLE: &str = "g::sort<256, int>";
const RUST: &str = "_RNvCs1234_7kernels4scan";

fn file(folder: &Folder) -> PathBuf {
    folder.regions("k.jsonl", &[tiny(MANGLED, "r"), tiny(RUST, "r"), tiny("plain", "r")])
}

#[test]
fn tables_show_demangled_names() {
    let folder = Folder::new();
    let file = file(&folder);
    for command in ["schedule {} --nodes 10", "schedule {} --nodes 10 --front", "simulate {} --order source"]
    {
        let text = run(command, &[&file]).ok();
        assert!(text.contains(READABLE) && !text.contains("_ZN"), "{command}: {text}");
        assert!(text.contains("kernels::scan ") && text.contains("plain "), "{command}: {text}");
        let text = run(&format!("{command} --mangled"), &[&file]).ok();
        assert!(text.contains(MANGLED) && text.contains(RUST) && !text.contains(READABLE), "{text}");
    }
}

#[test]
fn programs_get_both_names() {
    let folder = Folder::new();
    let file = file(&folder);
    for option in ["", "--mangled"] {
        let document = run(&format!("schedule {{}} --nodes 10 --json {option}"), &[&file]).json();
        assert_eq!(kernel_names(&document), [MANGLED, RUST, "plain"]);
        let readable: Vec<_> = document["kernels"]
            .as_array()
            .expect("kernels")
            .iter()
            .map(|one| &one["readable_name"])
            .collect();
        assert_eq!(readable, [READABLE, "kernels::scan", "plain"]);
    }
    let schedules = run("schedule {} --nodes 10 -o -", &[&file]).ok();
    assert!(schedules.contains(MANGLED) && !schedules.contains(READABLE), "{schedules}");
}

#[test]
fn kernels_are_found_by_both_names() {
    let folder = Folder::new();
    let file = file(&folder);
    for text in ["g::sort", "sort<256", "sortILj256", MANGLED] {
        let document = run(&format!("schedule {{}} --nodes 10 --json --kernel {text}"), &[&file]).json();
        assert_eq!(kernel_names(&document), [MANGLED], "{text}");
    }
    for text in ["g::sort", MANGLED] {
        let answer = run(&format!("why {text} {{}} --nodes 10"), &[&file]).ok();
        assert!(answer.starts_with(&format!("{READABLE} on gfx906: ")), "{answer}");
    }
}
