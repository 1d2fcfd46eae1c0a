//! `lowtide convert`.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::common::{Folder, corpus, lines, llvm_dump, run, text, tiny};

#[test]
fn the_own_format_round_trips() {
    let folder = Folder::new();
    let [once, twice] = ["once.jsonl", "twice.jsonl"].map(|name| folder.path(name));
    run("convert {} -o {}", &[&corpus(), &once]).ok();
    run("convert {} -o {}", &[&once, &twice]).ok();
    assert!(text(&once) == text(&twice));
    assert_eq!(text(&once).lines().count(), 284);
    assert!(run("convert {}", &[&once]).ok() == text(&once), "the standard output is the default");
    assert!(run("convert {} -o -", &[&once]).ok() == text(&once));
}

#[test]
fn parquet_round_trips() {
    let folder = Folder::new();
    let [lines, table, back] = ["a.jsonl", "a.parquet", "b.jsonl"].map(|name| folder.path(name));
    run("convert {} -o {}", &[&corpus(), &lines]).ok();
    run("convert {} -o {}", &[&corpus(), &table]).ok();
    run("convert {} -o {}", &[&table, &back]).ok();
    assert!(text(&lines) == text(&back));
    let sizes = |file| run("info {} --csv", &[file]).ok();
    assert_eq!(sizes(&table), sizes(&lines), "every command reads it");
    let region: Value = serde_json::from_str(text(&lines).lines().next().expect("a line")).expect("JSON");
    let name = region["region"].as_str().expect("a name").to_string();
    let one = folder.path("one.parquet");
    run(&format!("convert {{}} --region {name} -o {{}}"), &[&table, &one]).ok();
    assert!(run("convert {}", &[&one]).ok().lines().count() >= 1);
    let error = run("convert {} --region nowhere -o {}", &[&table, &one]).error();
    assert!(error.contains("no region is named \"nowhere\""), "{error}");
}

#[test]
fn operands_keep_their_order_and_duplicates() {
    let folder = Folder::new();
    let mut region = tiny("k", "r");
    region["instructions"][2]["uses"] = json!(["b", "a", "b"]);
    let file = folder.regions("k.jsonl", &[region]);
    let converted: Value = serde_json::from_str(&run("convert {}", &[&file]).ok()).expect("a line");
    assert_eq!(converted["instructions"][2]["uses"], json!(["b", "a", "b"]));
}

#[test]
fn a_name_in_gz_is_compressed() {
    let folder = Folder::new();
    let [plain, packed] = ["plain.jsonl", "packed.jsonl.gz"].map(|name| folder.path(name));
    run("convert {} -o {}", &[&corpus(), &plain]).ok();
    run("convert {} -o {}", &[&corpus(), &packed]).ok();
    let mut unpacked = String::new();
    let file = fs::File::open(&packed).expect("the file was written");
    GzDecoder::new(file).read_to_string(&mut unpacked).expect("gzip");
    assert!(unpacked == text(&plain));
    assert!(run("convert {}", &[&packed]).ok() == unpacked);
}

#[test]
fn a_name_in_dot_is_drawn() {
    let folder = Folder::new();
    let mut region = tiny("quoted \"k\" \\", "r");
    region["instructions"][0]["op"] = "a \"load\"".into();
    let file = folder.regions("k.jsonl", &[region]);
    let drawn = folder.path("k.dot");
    run("convert {} -o {}", &[&file, &drawn]).ok();
    let graph = text(&drawn);
    assert!(graph.starts_with("digraph \"quoted \\\"k\\\" \\\\ r\" {\n"), "{graph}");
    assert!(graph.trim_end().ends_with('}'), "{graph}");
    let inside: Vec<&str> =
        graph.lines().map(str::trim).filter(|line| line.starts_with('n') && line.ends_with("];")).collect();
    assert_eq!(inside.iter().filter(|line| line.contains(" -> ")).count(), 3, "{graph}");
    assert_eq!(inside.len(), 4 + 3, "{graph}");
    for line in graph.lines() {
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert!(quotes % 2 == 0, "quotes are closed: {line}");
    }
    assert_eq!(run("convert {} --format dot", &[&file]).ok(), graph);
}

#[test]
fn an_unknown_ending_is_refused() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "r")]);
    for name in ["k.json", "k.csv.gz", "k.feather"] {
        let error = run("convert {} -o {}", &[&file, &folder.path(name)]).error();
        assert!(error.contains("stands for no format: write .jsonl, .jsonl.gz, .parquet or .dot"), "{error}");
    }
    assert_eq!(folder.names(), ["k.jsonl"]);
    run("convert {} -o {}", &[&file, &folder.path("plain")]).ok();
    run("convert {} --format regions -o {}", &[&file, &folder.path("k.json")]).ok();
    assert_eq!(text(&folder.path("plain")), text(&folder.path("k.json")));
}

#[test]
fn dumps_of_llvm_are_read() {
    let folder = Folder::new();
    let file = folder.regions("dump.jsonl", &[llvm_dump()]);
    let converted = run("convert {}", &[&file]).ok();
    let region: Value = serde_json::from_str(&converted).expect("JSON");
    assert_eq!((&region["kernel"], &region["target"]), (&json!("dumped"), &json!("gfx906")));
    assert_eq!(region["region"], "bb0.0");
    run("check {}", &[&folder.write("own.jsonl", converted)]).ok();
}

#[test]
fn frequencies_are_kept() {
    let folder = Folder::new();
    let mut often = tiny("k", "often");
    often["frequency"] = 4096.into();
    let file = folder.regions("k.jsonl", &[often, tiny("k", "once")]);
    let converted = run("convert {}", &[&file]).ok();
    let regions: Vec<Value> =
        converted.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&regions[0]["frequency"], regions[1].get("frequency")), (&json!(4096), None));
    assert_eq!(run("convert {}", &[&folder.write("own.jsonl", &converted)]).ok(), converted);
}

#[test]
fn regions_are_chosen_by_name() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "one"), tiny("k", "two")]);
    let converted = run("convert {} --region two", &[&file]).ok();
    assert!(converted.lines().count() == 1 && converted.contains("\"region\":\"two\""), "{converted}");
    assert!(run("convert {} --region three", &[&file]).error().contains("no region is named \"three\""));
}

#[test]
fn a_broken_input_leaves_no_output() {
    let folder = Folder::new();
    let good = lines(&[tiny("good", "r")]);
    let file = folder.write("broken.jsonl", format!("{good}{{\"lowtide\":1,\n"));
    let place = format!("error: {}:2: ", file.display());
    assert!(run("convert {}", &[&file]).error().starts_with(&place));
    assert!(run("convert {} -o {}", &[&file, &folder.path("new.jsonl")]).error().starts_with(&place));
    let old = folder.write("old.jsonl", "precious");
    assert!(run("convert {} -o {}", &[&file, &old]).error().starts_with(&place));
    assert!(run("schedule {} -o {}", &[&file, &old]).error().starts_with(&place));
    assert_eq!(text(&old), "precious");
    assert_eq!(folder.names(), ["broken.jsonl", "old.jsonl"]);
}
