//! What may use what, read from the sources of the library. Modules depend on each other in one direction,
//! and checkers depend on nothing that they check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Code without comments and without items that only tests have; every line keeps its number.
struct Code {
    lines: Vec<String>,
    /// The files `NAME.rs` and folders `NAME/` that only tests have.
    test_modules: Vec<String>,
}

impl Code {
    fn new(text: &str) -> Code {
        let (mut lines, mut test_modules) = (Vec::new(), Vec::new());
        // An item for tests ends with its brace, or with a semicolon if it has none.
        let (mut in_test, mut has_brace, mut depth) = (false, false, 0i64);
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or_default();
            let begins = line.trim_start().starts_with("#[cfg(test)]");
            if !in_test && !begins {
                lines.push(line.to_string());
                continue;
            }
            lines.push(String::new());
            has_brace &= in_test;
            let item = line.trim().trim_start_matches("#[cfg(test)]").trim();
            if let Some(name) = item.strip_suffix(';').and_then(|item| item.rsplit_once("mod "))
                && depth == 0
            {
                test_modules.push(name.1.to_string());
            }
            let [opened, closed] = ['{', '}'].map(|brace| item.matches(brace).count() as i64);
            depth += opened - closed;
            has_brace |= opened > 0;
            in_test = depth > 0 || !(has_brace || item.ends_with(';'));
        }
        Code { lines, test_modules }
    }

    /// All paths that begin with `start`, such as `crate::`, with groups spelt out, and their lines.
    fn paths(&self, start: &str) -> Vec<(usize, String)> {
        let text = self.lines.join("\n");
        let mut paths = Vec::new();
        for (at, _) in text.match_indices(start) {
            let is_inside = text[..at].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
            if !is_inside {
                let line = 1 + text[..at].matches('\n').count();
                let mut found = Vec::new();
                spell_out(&text[at + start.len()..], "", &mut found);
                paths.extend(found.into_iter().map(|path| (line, path)));
            }
        }
        paths
    }
}

/// Adds the paths at the start of a text, after a prefix: `a::b` is one, `a::{b, c::d}` are two. Returns the
/// rest of the text.
fn spell_out<'t>(text: &'t str, prefix: &str, paths: &mut Vec<String>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
            let after = spell_out(rest, prefix, paths).trim_start();
            // A name may be followed by `as` and another one.
            let after = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ' ');
            rest = after.strip_prefix(',').unwrap_or(after);
            if rest.is_empty() {
                return rest;
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*').unwrap_or(text.len());
    let name = format!("{prefix}{}", &text[..end]);
    match text[end..].strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| c.is_alphabetic() || "_{*".contains(c)) => {
            spell_out(rest, &format!("{name}::"), paths)
        }
        _ => {
            paths.push(name);
            &text[end..]
        }
    }
}

#[test]
fn paths_are_read_as_rust_reads_them() {
    let code = Code::new(
        "use crate::a::{self, b, c::{D, E as F}};\n// crate::no\n#[cfg(test)]\nmod only;\nlet x = crate::g::h(1);\n\
         #[cfg(test)]\nmod tests {\n    use crate::never;\n}\nuse crate::{\n    i,\n    j::*,\n};\nuse supercrate::k;\n",
    );
    let paths: Vec<(usize, String)> = code.paths("crate::");
    let expected =
        [(1, "a::self"), (1, "a::b"), (1, "a::c::D"), (1, "a::c::E"), (5, "g::h"), (10, "i"), (10, "j::*")];
    assert_eq!(paths, expected.map(|(line, path)| (line, path.to_string())));
    assert_eq!(code.test_modules, ["only"]);
}

/// All source files below a folder, without those that only tests have.
fn files(folder: &Path, all: &mut Vec<(PathBuf, Code)>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let mut read_here: Vec<(PathBuf, Code)> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| (path.clone(), Code::new(&read(path))))
        .collect();
    // (`folder.rs` beside a folder declares what is in it.)
    let beside = folder.with_extension("rs");
    let outside = if beside.is_file() { Code::new(&read(&beside)).test_modules } else { Vec::new() };
    let only_tests: BTreeSet<String> =
        read_here.iter().flat_map(|(_, code)| code.test_modules.clone()).chain(outside).collect();
    let is_for_tests =
        |path: &Path| only_tests.contains(path.file_stem().unwrap_or_default().to_string_lossy().as_ref());
    read_here.retain(|(path, _)| !is_for_tests(path));
    all.append(&mut read_here);
    for path in paths.iter().filter(|path| path.is_dir() && !is_for_tests(path)) {
        files(path, all);
    }
}

/// The modules that can be reached from a module, itself only by a circle.
fn reached<'m>(uses: &'m BTreeMap<String, BTreeMap<String, String>>, from: &'m str) -> BTreeSet<&'m str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in uses.get(module).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

/// Data moves in one direction: no top-level module uses one that uses it, however far the way is.
#[test]
fn modules_do_not_depend_on_each_other_in_circles() {
    let mut all = Vec::new();
    files(&sources(), &mut all);
    let top = |path: &Path| {
        let inside = path.strip_prefix(sources()).expect("a source of the library");
        let first = inside.components().next().expect("not the folder itself");
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_string()
    };
    let modules: BTreeSet<String> =
        all.iter().map(|(path, _)| top(path)).filter(|name| name != "lib").collect();
    assert!(modules.len() > 15 && modules.contains("region") && modules.contains("check"), "{modules:?}");
    // For each module those that it uses, with one place for each.
    let mut uses: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, code) in &all {
        let module = top(path);
        let is_top = path.parent() == Some(&*sources()) || path.ends_with(Path::new(&module).join("mod.rs"));
        let mut paths = code.paths("crate::");
        if is_top {
            paths.extend(code.paths("super::"));
        }
        for (line, used) in paths {
            let name = used.split("::").next().unwrap_or_default().to_string();
            if modules.contains(&name) && name != module && module != "lib" {
                let inside = path.strip_prefix(sources()).expect("a source of the library").display();
                uses.entry(module.clone())
                    .or_default()
                    .entry(name)
                    .or_insert(format!("{inside}:{line} uses {used}"));
            }
        }
    }
    assert!(uses.values().map(BTreeMap::len).sum::<usize>() > 40, "too few uses were read: {uses:?}");
    let mut circles = String::new();
    for (module, used) in &uses {
        for (other, place) in used {
            if reached(&uses, other).contains(module.as_str()) {
                circles += &format!("  {module} -> {other}: {place}\n");
            }
        }
    }
    assert!(circles.is_empty(), "these uses are parts of circles between modules:\n{circles}");
}

/// Plain data that front ends and schedulers hand over. Checkers may read it.
const DATA: &[&str] = &[
    "index::ClassId",
    "index::InstrId",
    "index::RegisterId",
    "proof::Moment",
    "region::DepKind",
    "region::Lanes",
    "region::Operand",
    "region::Peak",
    "region::Region",
    "schedule::Schedule",
    "target::Target",
    "target::TargetError",
];

/// The checkers, what each may read beside [`DATA`], and the module that `super` is.
const CHECKERS: &[(&str, &[&str], &str)] = &[
    ("check/mod.rs", &[], ""),
    ("check/bound.rs", &[], "check"),
    ("pack/check.rs", &["pack::Packing", "pack::OperationRule", "pack::PackModel"], "pack"),
    ("multipass/check.rs", &["multipass::Pass", "multipass::PassModel"], "multipass"),
];

/// What a region, a target or a schedule offers to schedulers, computed from the plain data: no checker takes
/// it from there.
const DERIVED: &[&str] = &[
    "Problem",
    "Tracker",
    "IssueTable",
    "Registers",
    "BoundFile",
    "Schedule::in_order",
    "Schedule::source",
    "region.values(",
    "_values(region",
    ".defined_values(",
    ".used_values(",
    ".value_uses(",
    ".is_dead(",
    ".preds(",
    ".succs(",
    ".overwritten(",
    ".hints(",
    ".edge_count(",
    ".waves(",
    ".steps(",
    ".adjusted(",
    ".occupancy(",
    ".spilled(",
    ".used(",
    "file.limit(",
    ".max_waves(",
    ".registers(region",
    ".registers(&",
    ".length(",
    ".measure(",
];

/// A checker is worth something only while it does not lean on what it checks.
#[test]
fn checkers_share_nothing_with_what_they_check() {
    for &(file, own, parent) in CHECKERS {
        let code = Code::new(&read(&sources().join(file)));
        let mut paths = code.paths("crate::");
        let prefix = if parent.is_empty() { String::new() } else { format!("{parent}::") };
        paths.extend(code.paths("super::").into_iter().map(|(line, path)| (line, format!("{prefix}{path}"))));
        assert!(!paths.is_empty(), "{file} has no imports at all");
        for (line, path) in &paths {
            let is_allowed = DATA.contains(&path.as_str()) || own.contains(&path.as_str());
            assert!(is_allowed, "{file}:{line} uses {path}, which is not plain data");
        }
        let outside = ["std", "rustc_hash", "thiserror", "crate", "super"];
        for (number, line) in code.lines.iter().enumerate() {
            if let Some(used) = line.trim_start().strip_prefix("use ") {
                let first = used.split("::").next().unwrap_or_default();
                assert!(outside.contains(&first), "{file}:{}: {line}", number + 1);
            }
            for derived in DERIVED {
                assert!(!line.contains(derived), "{file}:{} uses {derived}: {line}", number + 1);
            }
        }
    }
}

/// Whatever is called a checker is among those above.
#[test]
fn every_checker_is_known() {
    let mut all = Vec::new();
    files(&sources(), &mut all);
    let mut found: Vec<String> = (all.iter())
        .map(|(path, _)| path.strip_prefix(sources()).expect("a source").display().to_string())
        .filter(|path| path.starts_with("check/") || path.ends_with("check.rs"))
        .collect();
    found.sort();
    let mut known: Vec<&str> = CHECKERS.iter().map(|(file, _, _)| *file).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}

/// Tests are modules of one program for each crate: a file that the program does not name would never run.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut programs = 0;
    for entry in crates.read_dir().expect("the crates") {
        let tests = entry.expect("a crate").path().join("tests");
        let Some(program) =
            ["all.rs", "cli/main.rs"].iter().map(|name| tests.join(name)).find(|file| file.exists())
        else {
            continue;
        };
        programs += 1;
        let text = read(&program);
        for file in program.parent().expect("its folder").read_dir().expect("the tests") {
            let file = file.expect("a test").path();
            let name = file.file_stem().expect("a name").to_str().expect("plain letters");
            if file != program && file.extension().is_some_and(|ending| ending == "rs") {
                assert!(
                    text.contains(&format!("\nmod {name};")),
                    "{} does not name {name}",
                    program.display()
                );
            }
        }
    }
    assert!(programs >= 4, "{programs} programs");
}
