//! What `lowtide pack` and `lowtide bench pack` promise, asked of the program itself.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Run, lowtide, root};

/// Return the output of a run that must succeed. Its lines fit into the terminal.
#[track_caller]
fn ok(args: &[&str]) -> String {
    let stdout = lowtide(args).ok();
    for line in stdout.lines() {
        assert!(!line.ends_with(' ') && line.chars().count() <= 100, "{line:?}");
    }
    stdout
}

#[track_caller]
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&ok(args)).expect("--json prints JSON")
}

#[track_caller]
fn error(args: &[&str]) -> String {
    lowtide(args).error()
}

fn sample() -> String {
    root().join("corpus/pack/gfx1100.jsonl.gz").display().to_string()
}

/// Three dot products and nothing for unit s: splitting one of them saves a cycle.
fn dot_products(folder: &TempDir) -> String {
    let registers: Vec<Value> = ["a", "b"]
        .into_iter()
        .map(|name| json!({"name": name, "class": "r", "lanes": 3}))
        .chain((0..4).map(|i| json!({"name": format!("d{i}"), "class": "r"})))
        .collect();
    let instructions: Vec<Value> = (0..4)
        .map(|i| json!({"op": "dp3", "latency": 1, "defs": [format!("d{i}")], "uses": ["a", "b"]}))
        .collect();
    let region = json!({
        "lowtide": 1, "kernel": "light", "region": "main", "classes": ["r"], "registers": registers,
        "live_in": ["a", "b"], "live_out": ["d0", "d1", "d2", "d3"], "instructions": instructions
    });
    let path = folder.path().join("light.jsonl");
    fs::write(&path, format!("{region}\n")).expect("the folder is writable");
    path.display().to_string()
}

#[test]
fn splits_are_taken_where_they_pay_and_can_be_seen() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = dot_products(&folder);
    let document = json(&["pack", &file, "--target", "vs", "--json"]);
    let block = &document["kernels"][0]["regions"][0];
    assert_eq!([&block["n"], &block["list_length"], &block["length"], &block["length_bound"]], [4, 4, 3, 3]);
    assert_eq!((&block["splits"], &block["proof"]), (&json!(1), &json!("bound")));
    let issues = block["issues"].as_array().expect("issues");
    let names: Vec<&str> = issues.iter().map(|issue| issue["op"].as_str().expect("a name")).collect();
    assert_eq!(names.iter().filter(|name| **name == "dp3").count(), 3);
    assert_eq!(names.iter().filter(|name| **name == "mad").count(), 2);
    let shown = ok(&["pack", &file, "--target", "vs", "--show"]);
    assert!(shown.contains("mad (3 of 3)") && shown.contains("4 operations in 3 cycles"), "{shown}");

    let document = json(&["pack", &file, "--target", "vs", "--no-split", "--json"]);
    assert_eq!(document["kernels"][0]["regions"][0]["length"], 4);
}

#[test]
fn real_regions_are_packed() {
    let table = ok(&["pack", &sample(), "--kernel", "calls", "--nodes", "2000"]);
    assert!(table.contains("calls"), "{table}");
    let document = json(&["pack", &sample(), "--kernel", "inverse", "--nodes", "20000", "--json"]);
    let block = &document["kernels"][0]["regions"][0];
    let number = |name: &str| block[name].as_u64().expect("a number");
    assert!(number("length") < number("list_length") && number("length") == number("length_bound"));
    let limit = number("registers") - 5;
    let limited = json(&[
        "pack",
        &sample(),
        "--kernel",
        "inverse",
        "--nodes",
        "20000",
        "--json",
        "--registers",
        &limit.to_string(),
    ]);
    let block = &limited["kernels"][0]["regions"][0];
    assert!(block["fits"] == json!(true) && block["registers"].as_u64() <= Some(limit), "{block}");
}

#[test]
fn the_benchmark_has_its_keys_and_proves_its_blocks() {
    let args = ["bench", "pack", "--generated", "--max-size", "20", "--nodes", "50000", "--json"];
    let document = json(&args);
    let number = |name: &str| document[name].as_u64().unwrap_or_else(|| panic!("{name}"));
    assert_eq!(number("blocks"), number("proved"));
    assert!(number("blocks") > 100 && number("by_bound") > 0 && number("improved") > 0);
    assert!(number("best_cycles") < number("list_cycles") && number("split_improved") > 0);
    assert!(number("split_cycles") < number("best_cycles") && document["seconds"].is_number());
    let text = ok(&["bench", "pack", &sample(), "--max-size", "30", "--nodes", "5000"]);
    for part in ["Table 6", "Figure 2", "distinct blocks"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Two additions on machine registers of RDNA3: the result and the two operands of each.
fn additions(kernel: &str, numbers: [[u32; 3]; 2]) -> String {
    let name = |number: &u32| format!("v{number}");
    let mut registers: Vec<u32> = Vec::new();
    for number in numbers.iter().flatten() {
        if !registers.contains(number) {
            registers.push(*number);
        }
    }
    let read = |number: &&u32| numbers.iter().any(|own| own[1..].contains(number));
    let instructions: Vec<Value> = (numbers.iter())
        .map(|[result, first, second]| {
            json!({"op": "V_ADD_F32_e32", "latency": 1, "defs": [name(result)], "uses": [name(first), name(second)]})
        })
        .collect();
    let region = json!({
        "lowtide": 1, "kernel": kernel, "target": "gfx1100", "region": "r", "classes": ["vgpr"],
        "registers": registers.iter().map(|own| json!({"name": name(own), "class": "vgpr"})).collect::<Vec<_>>(),
        "live_in": registers.iter().filter(read).map(name).collect::<Vec<_>>(), "instructions": instructions
    });
    format!("{region}\n")
}

/// The order of operands and the numbers of machine registers decide about pairs, so that they make a block
/// another one.
#[test]
fn blocks_with_other_operands_are_no_repetitions() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("additions.jsonl");
    let text = [
        additions("other way round", [[2, 0, 1], [3, 1, 0]]),
        additions("same order", [[2, 0, 1], [3, 0, 1]]),
        additions("even results", [[2, 0, 5], [3, 5, 0]].map(|own| own.map(|number| number * 2))),
        additions("again", [[2, 0, 1], [3, 1, 0]]),
    ];
    fs::write(&path, text.concat()).expect("the folder is writable");
    let path = path.display().to_string();
    let document = json(&["pack", &path, "--json"]);
    let length = |kernel: usize| &document["kernels"][kernel]["regions"][0]["length"];
    assert_eq!([length(0), length(1), length(2), length(3)], [1, 2, 2, 1]);
    let document = json(&["bench", "pack", &path, "--json"]);
    assert_eq!((&document["blocks"], &document["best_cycles"]), (&json!(3), &json!(5)), "{document}");
}

#[test]
fn errors_say_what_to_do() {
    let rocprim = root().join("corpus/rocprim.jsonl.gz").display().to_string();
    let message = error(&["pack", &rocprim]);
    assert!(
        message.contains("gfx906 has no section [pack]") && message.contains("known are gfx1100, vs"),
        "{message}"
    );
    let message = error(&["pack", &sample(), "--algorithm", "program", "--registers", "10"]);
    assert!(message.contains("registers") || message.contains("install-ortools"), "{message}");
    let message = error(&["bench", "pack", &sample(), "--min-size", "5000"]);
    assert!(message.contains("no block has a size in the range"), "{message}");
}

/// The paper's five steps, where their solver is installed.
#[test]
fn integer_programs_give_the_same_lengths() {
    let length = |algorithm: &str| {
        let document = json(&["pack", &sample(), "--kernel", "chacha", "--algorithm", algorithm, "--json"]);
        let blocks = document["kernels"][0]["regions"].as_array().expect("regions").clone();
        let proved = blocks.iter().filter(|block| block["proof"] != json!("open")).count();
        let lengths: Vec<u64> =
            blocks.iter().map(|block| block["length"].as_u64().expect("a length")).collect();
        (proved, lengths)
    };
    let Run { code, stderr, .. } =
        lowtide(&["pack", &sample(), "--kernel", "tiny", "--algorithm", "program"]);
    if code != 0 && std::env::var_os("CI").is_none() && stderr.contains("not installed") {
        return;
    }
    let own = length("search");
    assert_eq!(own.0, own.1.len());
    assert_eq!(own, length("program"));
}

/// Paper 3: generated blocks, the paper's baseline, registers by linear scan, and a budget for each block.
#[test]
fn generated_blocks_are_packed_like_files() {
    let of =
        |more: &[&str]| json(&[&["pack", "--generated", "--algorithm", "list", "--json"], more].concat());
    let sum = |document: &Value, key: &str| -> u64 {
        let kernels = document["kernels"].as_array().expect("groups").iter();
        let blocks = kernels.flat_map(|kernel| kernel["regions"].as_array().expect("blocks"));
        blocks.map(|block| block[key].as_u64().expect("a number")).sum()
    };
    let (path, sc) = (of(&[]), of(&["--list", "sc", "--block-budget", "1s"]));
    assert_eq!(path["kernels"].as_array().map(Vec::len), Some(3));
    assert!(sum(&sc, "list_levels") < sum(&path, "list_levels"));
    assert!(sum(&sc, "list_registers") < sum(&path, "list_registers"));
    assert!(sum(&sc, "list_allocated") * 4 >= sum(&sc, "list_registers"));
    let Run { code, stderr, .. } =
        lowtide(&["pack", "--generated", "--budget", "1ms", "--block-budget", "1s"]);
    assert!(code == 2 && stderr.contains("--block-budget"), "{stderr}");
    let Run { code, .. } = lowtide(&["pack"]);
    assert_eq!(code, 2, "files or --generated");
}
