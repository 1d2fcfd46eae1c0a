//! Tables for people (their width and the order of their rows), and CSV for programs.

use serde_json::{Value, json};

use crate::common::{Folder, array, corpus, number, root, run, tiny};

/// Two independent pairs of a load and a store, the longer one last: Lowtide saves the latency of the first
/// load.
fn late(kernel: &str, saved: u32) -> Value {
    let mut region = tiny(kernel, "r");
    region["instructions"] = json!([
        {"op": "load", "latency": saved, "defs": ["a"]},
        {"op": "store", "latency": 1, "uses": ["a"]},
        {"op": "load", "latency": 200, "defs": ["b"]},
        {"op": "store", "latency": 1, "uses": ["b"]}
    ]);
    region["deps"] = json!([[0, 1, "data", saved], [2, 3, "data", 200]]);
    region.as_object_mut().expect("an object").remove("source_peaks");
    region
}

#[test]
fn no_table_is_wider_than_80_columns() {
    let packed = root().join("corpus/pack");
    let shaders = root().join("examples/shaders");
    for (line, files) in [
        ("schedule {} --nodes 50", vec![corpus()]),
        ("schedule {} --nodes 50 --goal minreg", vec![corpus()]),
        ("schedule {} --nodes 50 --goal length", vec![corpus()]),
        ("schedule {} --nodes 50 --goal throughput", vec![corpus()]),
        ("schedule {} --nodes 50 --front", vec![corpus()]),
        ("schedule {} {} --nodes 50 --mangled", vec![corpus(), packed.clone()]),
        ("compare {} --nodes 10 --algorithm all", vec![corpus()]),
        ("simulate {} --order production --regions", vec![corpus()]),
        ("pack {} --nodes 50", vec![packed]),
        ("passes {} --nodes 50", vec![shaders]),
        ("why rsortp<256 {} --nodes 50", vec![corpus()]),
        ("diff {} --nodes 50 --kernel exch", vec![corpus()]),
        ("info {}", vec![corpus()]),
        ("check {}", vec![corpus()]),
        ("targets", vec![]),
        ("targets gfx90a", vec![]),
        ("targets sm_90", vec![]),
        ("algorithms", vec![]),
    ] {
        let files: Vec<_> = files.iter().map(std::path::PathBuf::as_path).collect();
        let text = run(line, &files).ok();
        // A command to copy stays in one line.
        let is_wide = |text: &&str| text.chars().count() > 80 && !text.starts_with("lowtide ");
        assert_eq!(text.lines().find(is_wide), None, "{line}");
        assert!(text.lines().all(|line| !line.ends_with(' ')), "{line}: blanks at the end of a line");
    }
}

/// Columns that have no room are named, and the figures of the goal are never among them.
#[test]
fn missing_columns_are_named() {
    for (goal, kept) in
        [("occupancy", "waves"), ("minreg", "peak"), ("length", "length"), ("throughput", "cycles/wave")]
    {
        let text = run(&format!("schedule {{}} --nodes 50 --goal {goal}"), &[&corpus()]).ok();
        let header = text.lines().next().unwrap_or_default();
        assert!(header.split_whitespace().any(|title| title == kept), "{goal}: {header}");
        let missing = text.lines().find_map(|line| line.strip_prefix("(no room for: "));
        for title in ["size", "waves", "peak", "length", "proven", "ms"] {
            let is_named = missing.is_some_and(|missing| missing.contains(title));
            assert_eq!(is_named, !header.contains(title), "{goal}, {title}: {text}");
        }
    }
}

#[test]
fn kernels_with_the_largest_gain_come_first() {
    let folder = Folder::new();
    let file = folder.regions(
        "k.jsonl",
        &[tiny("same", "r"), late("little", 5), tiny("equal", "r"), late("much", 100), late("some", 50)],
    );
    let options = "--nodes 100 --latencies recorded";
    let first = |goal: &str| -> Vec<String> {
        let text = run(&format!("schedule {{}} {options} --goal {goal}"), &[&file]).ok();
        let rows = text.lines().skip(2).take(5);
        rows.map(|line| line.split(' ').next().unwrap_or_default().to_string()).collect()
    };
    for goal in ["occupancy", "length"] {
        assert_eq!(first(goal), ["much", "some", "little", "same", "equal"], "{goal}");
    }
    // Nothing changes: the order of the file.
    assert_eq!(first("minreg"), ["same", "little", "equal", "much", "some"]);
    let document = run(&format!("schedule {{}} {options} --json"), &[&file]).json();
    let names: Vec<_> = array(&document["kernels"]).iter().map(|kernel| &kernel["name"]).collect();
    assert_eq!(names, ["same", "little", "equal", "much", "some"], "programs get the order of the file");
}

/// The rows of CSV. Quotes are read as RFC 4180 says.
fn csv(line: &str, files: &[&std::path::Path]) -> Vec<Vec<String>> {
    let text = run(line, files).ok();
    let mut rows = vec![vec![String::new()]];
    let (mut chars, mut in_quotes) = (text.trim_end_matches('\n').chars().peekable(), false);
    while let Some(c) = chars.next() {
        let row = rows.last_mut().expect("a row");
        match c {
            '"' if in_quotes && chars.next_if_eq(&'"').is_some() => row.last_mut().expect("a cell").push('"'),
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => row.push(String::new()),
            '\n' if !in_quotes => rows.push(vec![String::new()]),
            c => row.last_mut().expect("a cell").push(c),
        }
    }
    assert!(!in_quotes && rows.iter().all(|row| row.len() == rows[0].len()), "{line}: {text}");
    rows
}

fn cell<'a>(rows: &'a [Vec<String>], row: usize, title: &str) -> &'a str {
    let column = rows[0].iter().position(|own| own == title).unwrap_or_else(|| panic!("no column {title}"));
    &rows[row][column]
}

#[test]
fn csv_has_the_figures_of_json() {
    let line = "schedule {} --nodes 50 --goal throughput";
    let rows = csv(&format!("{line} --csv"), &[&corpus()]);
    let document = run(&format!("{line} --json"), &[&corpus()]).json();
    let kernels = array(&document["kernels"]);
    assert_eq!(rows.len(), kernels.len() + 1);
    for (place, kernel) in kernels.iter().enumerate() {
        let text = |title: &str| cell(&rows, place + 1, title).to_string();
        let figure = |title: &str| text(title).parse::<u64>().expect("a number");
        assert_eq!(text("kernel"), kernel["name"].as_str().expect("a name"));
        assert_eq!(text("readable_name"), kernel["readable_name"].as_str().expect("a name"));
        let production = &kernel["production"];
        assert_eq!(text("baseline"), "production");
        assert_eq!(figure("waves_before"), number(&production["occupancy"]));
        assert_eq!(figure("waves"), number(&kernel["occupancy"]));
        assert_eq!(figure("waves_bound"), number(&kernel["occupancy_bound"]));
        assert_eq!(figure("peak_before"), number(&production["peak"]));
        assert_eq!(figure("length_before"), number(&production["length"]));
        let sum =
            |key: &str| array(&kernel["regions"]).iter().map(|region| number(&region[key])).sum::<u64>();
        assert_eq!((figure("length"), figure("length_bound")), (sum("length"), sum("length_bound")));
        assert_eq!(figure("instructions"), sum("n"));
        assert_eq!(figure("weighted_length"), number(&kernel["weighted_length"]));
        for key in ["cycles_per_wave", "cycles_per_wave_bound"] {
            assert_eq!(text(key).parse::<f64>().ok(), kernel[key].as_f64(), "{key}");
        }
    }
    let points = csv("schedule {} --nodes 50 --kernel rsortp --front --csv", &[&corpus()]);
    assert!(points.len() > 4 && points[0][3..6] == ["waves", "length", "length_bound"], "{points:?}");
}

#[test]
fn other_tables_are_csv_too() {
    let rows = csv("info {} --csv", &[&corpus()]);
    let sum: u64 = (1..rows.len()).map(|row| cell(&rows, row, "regions").parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 284);
    let rows = csv("compare {} --nodes 10 --algorithm source,list --csv", &[&corpus()]);
    assert_eq!((rows.len(), cell(&rows, 1, "algorithm"), cell(&rows, 1, "waves")), (3, "source", "205"));
    let rows = csv("targets --csv", &[]);
    let of = |target: &str, class: &str| {
        (1..rows.len())
            .find(|row| cell(&rows, *row, "target") == target && cell(&rows, *row, "class") == class)
            .expect("a row")
    };
    let scalar = of("gfx906", "sgpr");
    assert_eq!((cell(&rows, scalar, "spills_into"), cell(&rows, scalar, "lanes")), ("vgpr", "64"));
    let shared = of("gfx90a", "agpr");
    assert_eq!(
        (cell(&rows, shared, "file_classes"), cell(&rows, shared, "spills_into")),
        ("vgpr agpr", "memory")
    );
    assert_eq!(csv("targets gfx906 --csv", &[]).len(), 3);
    let rows = csv("algorithms --csv", &[]);
    assert_eq!(rows.len(), array(&run("algorithms --json", &[]).json()).len() + 1);
    for command in
        ["schedule x", "compare x", "info x", "targets", "algorithms", "simulate x", "pack x", "passes x"]
    {
        let message = run(&format!("{command} --csv --json"), &[]).usage();
        assert!(message.contains("cannot be used with"), "{message}");
    }
}

/// Each row of CSV has the figures of an object of JSON. Columns and keys are paired.
fn same_figures(row: &[String], header: &[String], object: &Value, pairs: &[(&str, &str)]) {
    for (title, key) in pairs {
        let column =
            header.iter().position(|own| own == title).unwrap_or_else(|| panic!("no column {title}"));
        let expected = match &object[*key] {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.len().to_string(),
            other => other.to_string(),
        };
        let (own, expected) = (row[column].as_str(), expected.as_str());
        // The reader of JSON rounds the last digit of a fraction.
        let is_near = |own: f64| {
            expected.parse::<f64>().is_ok_and(|expected| (own - expected).abs() <= 1e-12 * expected.abs())
        };
        let is_same = own == expected || own.parse().is_ok_and(is_near);
        assert!(is_same, "{title}: {own} instead of {expected}");
    }
}

#[test]
fn csv_of_simulated_waves_has_the_figures_of_json() {
    let line = "simulate {} --kernel rsortp --regions";
    let rows = csv(&format!("{line} --csv"), &[&corpus()]);
    let document = run(&format!("{line} --json"), &[&corpus()]).json();
    let pairs =
        [("clocks", "clocks"), ("clocks_per_wave", "clocks_per_wave"), ("utilisation", "utilisation")];
    let mut next = rows[1..].iter();
    let mut next = || next.next().expect("a row");
    for kernel in array(&document["kernels"]) {
        let row = next();
        let names = [("kernel", "name"), ("readable_name", "readable_name"), ("waves", "waves")];
        same_figures(row, &rows[0], kernel, &names);
        same_figures(row, &rows[0], kernel, &pairs);
        let waits = ["memory", "local", "scalar", "dependence", "issue"].map(|wait| (wait, wait));
        same_figures(row, &rows[0], &kernel["stalls"], &waits);
        for region in array(&kernel["regions"]) {
            let row = next();
            same_figures(
                row,
                &rows[0],
                region,
                &[("region", "name"), ("instructions", "n"), ("floor", "floor")],
            );
            same_figures(row, &rows[0], region, &pairs);
        }
    }
    assert!(rows.len() > 5);
    let kernels = csv("simulate {} --kernel rsortp --csv", &[&corpus()]);
    assert_eq!(kernels.len(), array(&document["kernels"]).len() + 1);
}

#[test]
fn csv_of_packings_and_passes_has_the_figures_of_json() {
    let line = "pack {} --target gfx1100 --nodes 10 --kernel rsortp";
    let rows = csv(&format!("{line} --csv"), &[&corpus()]);
    let document = run(&format!("{line} --json"), &[&corpus()]).json();
    let blocks = array(&document["kernels"]).iter().flat_map(|kernel| array(&kernel["regions"]));
    let keys = ["list_length", "length", "length_bound", "proof", "splits", "registers", "fits", "levels"];
    let pairs: Vec<_> = keys.iter().map(|key| (*key, *key)).chain([("instructions", "n")]).collect();
    assert!(rows.len() > 1 && blocks.clone().count() + 1 == rows.len());
    blocks.zip(&rows[1..]).for_each(|(block, row)| same_figures(row, &rows[0], block, &pairs));

    let shader = root().join("examples/shaders");
    let line = "passes {} --nodes 100";
    let rows = csv(&format!("{line} --csv"), &[&shader]);
    let document = run(&format!("{line} --json"), &[&shader]).json();
    let blocks = array(&document["shaders"]).iter().flat_map(|shader| array(&shader["regions"]));
    let passes = blocks.flat_map(|block| array(&block["passes"]).iter().map(move |pass| (block, pass)));
    assert!(rows.len() > 1 && passes.clone().count() + 1 == rows.len());
    for ((block, pass), row) in passes.zip(&rows[1..]) {
        let pairs = [("region", "name"), ("cost", "cost"), ("bound", "bound"), ("optimal", "optimal")];
        same_figures(row, &rows[0], block, &pairs);
        let pairs =
            [("operations", "ops"), ("textures", "textures"), ("registers", "registers"), ("loads", "loads")];
        same_figures(row, &rows[0], pass, &pairs);
    }
}

/// Commas, quotes and line ends of names do not break the rows.
#[test]
fn names_in_csv_are_quoted() {
    let folder = Folder::new();
    let name = "a, \"b\"\nc";
    let file = folder.regions("k.jsonl", &[tiny(name, "r"), tiny("plain", "r")]);
    let rows = csv("schedule {} --csv", &[&file]);
    assert_eq!((rows.len(), cell(&rows, 1, "kernel"), cell(&rows, 2, "kernel")), (3, name, "plain"));
}
