//! The experiment book: `lowtide bench ... --html` and `--markdown`. Its page is tested in a browser:
//! `web/test/test_book.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Runs a command in the root of the repository.
fn run(line: &str) -> Output {
    let words = line.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_lowtide")).current_dir(root()).args(words).output().expect("it starts")
}

#[track_caller]
fn ok(line: &str) -> String {
    let output = run(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn json(line: &str) -> Value {
    serde_json::from_str(&ok(line)).expect("JSON")
}

/// The data of a page.
fn data(page: &Path) -> Value {
    let text = fs::read_to_string(page).expect("a page");
    let (_, rest) = text.split_once("id=\"data\">").expect("data");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

/// The cell of a table of a chapter, by its title, row and column.
fn cell<'a>(book: &'a Value, title: &str, row: &str, column: &str) -> &'a str {
    let parts = book["chapters"][0]["parts"].as_array().expect("parts");
    let of = |part: &&Value| part["title"].as_str().is_some_and(|own| own.starts_with(title));
    let table = parts.iter().find(of).expect("the table");
    let columns = table["columns"].as_array().expect("columns");
    let place = columns.iter().position(|own| own["title"] == column).expect("the column");
    let rows = table["rows"].as_array().expect("rows");
    rows.iter().find(|own| own[0] == row).expect("the row")[place].as_str().expect("text")
}

/// `docs/results.md` is what its command makes. `LOWTIDE_BLESS=1` accepts a new one.
#[test]
fn the_results_in_the_repository_are_made_by_their_command() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("results.md");
    ok(&format!(
        "bench all corpus/ corpus/colony/ corpus/pack/ examples/shaders/ --markdown {}",
        file.display()
    ));
    let made = fs::read_to_string(file).expect("the results");
    // The book does not show its own methods with budgets that are too small for them.
    assert!(
        made.contains("There are none: twopass has the most waves of all"),
        "an algorithm is better than twopass"
    );
    let kept = root().join("docs/results.md");
    if std::env::var_os("LOWTIDE_BLESS").is_some() {
        fs::write(&kept, &made).expect("it can be written");
    }
    let kept = fs::read_to_string(kept).unwrap_or_default();
    let changed = kept.lines().zip(made.lines()).find(|(old, new)| old != new);
    assert!(kept == made, "docs/results.md is not what its command makes; first difference: {changed:?}");
    for word in ["minreg", "occupancy", "colony", "pack --generated", "pack corpus/pack/", "passes"] {
        assert!(made.contains(&format!("\nlowtide bench {word}")), "{word}");
    }
    for word in ["seconds", " ms ", "threads |"] {
        assert!(!made.contains(word), "{word:?} depends on the machine");
    }
}

#[test]
fn every_benchmark_writes_what_it_prints() {
    let folder = TempDir::new().expect("a folder");
    let page = folder.path().join("book.html");
    let html = format!("--nodes 500 --json --html {}", page.display());

    let document = json(&format!("bench minreg corpus/ --max-size 300 {html}"));
    let book = data(&page);
    assert_eq!(book["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(book["chapters"][0]["command"], "lowtide bench minreg corpus/ --max-size 300 --nodes 500");
    let ratio = document["algorithms"]["su-cluster"]["mean_ratio"].as_f64().expect("a number");
    assert_eq!(cell(&book, "Peaks against", "su-cluster", "mean ratio"), format!("{ratio:.4}"));
    assert_eq!(cell(&book, "Peaks against", "su-cluster", "mean ratio, paper"), "1.171");
    let each = document["each"].as_array().expect("every graph");
    assert_eq!(each.len() as u64, document["regions"].as_u64().expect("a number"));
    let proved = each.iter().filter(|each| each["proof"] != "timeout").count();
    assert_eq!(proved as u64, document["proved"].as_u64().expect("a number"));

    let document = json(&format!("bench occupancy corpus/rocprim.jsonl.gz {html}"));
    let book = data(&page);
    let plain = |text: &str| text.replace(',', "").parse::<u64>().expect("a number");
    let sum = |kernels: &str, key: &str| -> u64 {
        let of = |kernel: &Value| kernel[key]["twopass"].as_u64().expect("a number");
        document[kernels].as_array().expect("kernels").iter().map(of).sum()
    };
    assert_eq!(plain(cell(&book, "All algorithms", "twopass", "waves")), sum("each_kernel", "occupancy"));
    assert_eq!(plain(cell(&book, "All algorithms", "twopass", "length")), sum("each_kernel", "length"));
    assert_eq!(document["occupancy"]["twopass"], sum("each_kernel", "occupancy"));
    assert_eq!(
        document["each"].as_array().map(Vec::len),
        document["distinct"]["regions"].as_u64().map(|n| n as usize)
    );

    let document = json(&format!("bench colony corpus/ {html}"));
    let book = data(&page);
    let second =
        document["each"].as_array().expect("questions").iter().filter(|each| each["pass"] == 2).count();
    assert_eq!(cell(&book, "The input", "pass 2: regions", "here"), second.to_string());
    assert_eq!(cell(&book, "The input", "pass 2: regions", "paper"), "12,192");

    let document = json(&format!("bench pack corpus/pack/ {html}"));
    let book = data(&page);
    let group = document["groups"][0]["name"].as_str().expect("a name");
    assert_eq!(document["list_cycles"], plain(cell(&book, "List schedule", "cycles, list", group)));

    let document = json(&format!("bench passes examples/shaders/toon.wgsl {html}"));
    assert_eq!(document["cost"]["dpmpp"], plain(cell(&data(&page), "Cost and passes", "dpmpp", "cost")));
}

#[test]
fn texts_do_not_depend_on_threads() {
    let folder = TempDir::new().expect("a folder");
    let [one, two] = [1, 2].map(|threads| {
        let file = folder.path().join(format!("{threads}.md"));
        ok(&format!(
            "bench occupancy corpus/hashcat.jsonl.gz --nodes 500 --threads {threads} --markdown {}",
            file.display()
        ));
        fs::read_to_string(file).expect("a text").replace(&format!("--threads {threads}"), "")
    });
    assert_eq!(one, two);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_measured() {
    for option in ["--html", "--markdown"] {
        let output = run(&format!("bench all corpus/ {option} /no/such/folder/book"));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        assert!(message.starts_with("error: /no/such/folder/book: cannot be written"), "{message}");
    }
    let output = run("bench all -");
    assert!(String::from_utf8_lossy(&output.stderr).contains("pass files instead of -"));
}

/// Files of every kind go to the benchmarks that are for them, and what has nothing to measure stops nothing
/// else.
#[test]
fn all_takes_what_there_is() {
    let document = json("bench all examples/shaders/toon.wgsl --nodes 10 --json");
    let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["minreg", "pack_generated", "passes"]);
    let text = ok("bench all corpus/pack/gfx1100.jsonl.gz --nodes 10");
    assert!(text.contains("$ lowtide bench pack corpus/pack/gfx1100.jsonl.gz --nodes 10\n"));
    assert!(!text.contains("bench passes"));
}
