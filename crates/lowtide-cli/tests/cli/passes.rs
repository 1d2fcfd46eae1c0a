//! What `lowtide passes`, `lowtide bench passes` and shaders as input promise, asked of the program itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn shaders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shaders")
}

fn output(line: &str) -> Output {
    let folder = shaders();
    let args = line.split_whitespace().map(|word| match word.strip_prefix('@') {
        Some(name) => folder.join(name).into_os_string(),
        None => word.into(),
    });
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("the program starts")
}

#[track_caller]
fn run(line: &str) -> String {
    let output = output(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn json(line: &str) -> Value {
    serde_json::from_str(&run(&format!("{line} --json"))).expect("JSON")
}

#[track_caller]
fn error(line: &str) -> String {
    let output = output(line);
    assert!(!output.status.success() && output.stdout.is_empty(), "{line}");
    String::from_utf8(output.stderr).expect("text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn passes_are_printed_with_their_places_in_the_shader() {
    let text = run("passes @bump_mapping.wgsl --target ps14 --nodes 200000 --list");
    assert!(
        text.starts_with("shade block0@19: 52 operations in 3 passes, cost 183, proven to be the least"),
        "{text}"
    );
    assert!(text.contains("pass 3:") && text.contains("22:16  tex"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100 && line.trim_end() == line), "{text}");
}

#[test]
fn passes_as_json_say_what_each_pass_does() {
    let document = json("passes @blinn_phong.wgsl @bump_mapping.wgsl --target ps14 --nodes 200000");
    assert_eq!(document["target"], "ps14");
    let shaders = document["shaders"].as_array().expect("shaders");
    assert_eq!(shaders.len(), 2);
    for shader in shaders {
        let region = &shader["regions"][0];
        let passes = region["passes"].as_array().expect("passes");
        let runs: usize = passes.iter().map(|pass| pass["ops"].as_array().expect("ops").len()).sum();
        assert_eq!(number(&region["operations"]), runs as u64);
        assert!(number(&region["bound"]) <= number(&region["cost"]));
        assert!(passes.iter().all(|pass| number(&pass["registers"]) <= 6));
        let [first, last] = [&passes[0], &passes[passes.len() - 1]];
        assert_eq!(
            first["loads"].as_array().map(Vec::len),
            Some(0),
            "nothing is stored before the first pass"
        );
        assert_eq!(last["stores"].as_array().map(Vec::len), Some(1), "the output");
    }
}

/// The algorithms that exact starts with have no time of their own.
#[test]
fn the_budget_is_for_all_together() {
    let document = json("passes @raymarch_scene.wgsl --target ps20 --budget 1ms");
    let block = &document["shaders"][0]["regions"][0];
    let (seconds, operations) = (block["seconds"].as_f64().expect("seconds"), number(&block["n"]));
    assert!(operations > 800 && seconds < 1.6 * operations as f64 * 1e-3, "{seconds} s");
}

#[test]
fn every_algorithm_partitions_and_exact_is_best() {
    let cost = |algorithm: &str| {
        let document =
            json(&format!("passes @water.wgsl --target ps14 --algorithm {algorithm} --nodes 100000"));
        number(&document["shaders"][0]["cost"])
    };
    let best = cost("exact");
    assert!(["dpmpp", "mio", "rds"].into_iter().all(|algorithm| cost(algorithm) >= best));
}

#[test]
fn the_same_nodes_give_the_same_result_on_any_number_of_threads() {
    let line = "passes @water.wgsl @terrain.wgsl @ocean.wgsl --target ps14 --nodes 20000";
    let without_times =
        |text: String| -> String { text.lines().filter(|line| !line.contains("\"seconds\"")).collect() };
    let [one, two] = [1, 2].map(|threads| without_times(run(&format!("{line} --json --threads {threads}"))));
    assert_eq!(one, two);
}

/// An operation with two results that are added, on a target with one output. `limits` are more lines of the
/// target.
fn two_results(folder: &Path, limits: &str) -> (PathBuf, PathBuf) {
    let (regions, target) = (folder.join("two.jsonl"), folder.join("one.toml"));
    let registers = ["a", "b", "c", "sum"].map(|name| serde_json::json!({"name": name, "class": "reg"}));
    let region = serde_json::json!({
        "lowtide": 1, "kernel": "k", "region": "two", "classes": ["reg"],
        "registers": registers, "live_in": ["a"], "live_out": ["sum"],
        "instructions": [
            {"op": "both", "latency": 4, "defs": ["b", "c"], "uses": ["a"]},
            {"op": "add", "latency": 4, "defs": ["sum"], "uses": ["b", "c"]}
        ],
        "deps": [[0, 1, "data", 4]]
    });
    std::fs::write(&regions, format!("{region}\n")).expect("a writable folder");
    let file = std::fs::read_to_string(shaders().join("../../crates/lowtide/targets/ps14.toml"));
    let file = file.expect("the target").replacen("instructions = 28", limits, 1);
    std::fs::write(&target, file).expect("a writable folder");
    (regions, target)
}

#[test]
fn a_shader_fits_if_a_partition_exists() {
    let folder = tempfile::tempdir().expect("a folder");
    let (regions, target) = two_results(folder.path(), "instructions = 28");
    let line = format!("passes {} --target {} --nodes 10000", regions.display(), target.display());
    let document = json(&line);
    let block = &document["shaders"][0]["regions"][0];
    assert_eq!((block["passes"].as_array().map(Vec::len), &block["optimal"]), (Some(1), &Value::Bool(true)));
    let (regions, target) = two_results(folder.path(), "instructions = 2");
    let line = format!("passes {} --target {} --nodes 10000", regions.display(), target.display());
    let message = error(&line);
    assert!(
        message.contains("kernel \"k\", region two: no partition into passes exists;")
            && message.contains("does not fit into a pass of its own: it needs"),
        "{message}"
    );
    for line in [format!("{line} --algorithm mio"), line.replace("10000", "0")] {
        let message = error(&line);
        assert!(message.contains("finds no partition, and one may exist: try"), "{message}");
    }
}

#[test]
fn bench_passes_has_the_agreed_keys() {
    let document = json("bench passes @ --target ps20 --nodes 20000 --max-size 100");
    assert!(number(&document["shaders"]) >= 40);
    for sum in ["cost", "passes"] {
        for name in ["dpmpp", "mio", "rds", "exact"] {
            assert!(number(&document[sum][name]) > 0, "{sum} of {name}");
        }
    }
    let cost = |name: &str| number(&document["cost"][name]);
    assert!(cost("exact") <= cost("dpmpp").min(cost("mio")).min(cost("rds")));
    assert!(document["branching"].as_f64().is_some_and(|b| (0.9..2.0).contains(&b)));
    assert!(number(&document["exact_agrees"]) <= number(&document["proved"]));
    assert!(document["seconds"].as_f64().is_some());
    assert!(document["growth"].as_f64().is_some());
}

#[test]
fn bench_passes_prints_tables_and_the_width() {
    let text = run("bench passes @sky.wgsl @toon.wgsl @fire.wgsl --nodes 2000 --target ps14");
    for part in ["dpmpp", "sky/shade", "width of the search", "time grows with n^", "mean branching factor"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100 && line.trim_end() == line), "{text}");
}

#[test]
fn other_commands_read_shaders() {
    let document = json("schedule @wood.frag --goal minreg --nodes 20000");
    assert_eq!(document["kernels"][0]["name"], "main");
    assert!(run("info @").contains("kernels"));
    assert!(run("convert @refraction_pool.spv").starts_with("{\"lowtide\":1,"));
    assert!(run("compare @toon.wgsl --nodes 1000 --goal minreg").contains("exact"));
}

#[test]
fn mistakes_say_what_and_where() {
    let message = error("passes @toon.wgsl --target gfx906");
    assert!(message.contains("gfx906") && message.contains("[passes]"), "{message}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bad.wgsl");
    std::fs::write(&file, "@fragment\nfn f() -> @location(0) vec4f {\n  return wrong;\n}").expect("a file");
    let message = error(&format!("passes {}", file.display()));
    assert!(message.contains("bad.wgsl:3:"), "{message}");
    let target = folder.path().join("small.toml");
    let text = include_str!("../../../lowtide/targets/ps14.toml").replace("registers = 6", "registers = 1");
    std::fs::write(&target, text).expect("a file");
    let message = error(&format!("passes @toon.wgsl --target {}", target.display()));
    assert!(message.contains("does not fit into a pass") && message.contains("registers"), "{message}");
    let text = include_str!("../../../lowtide/targets/ps14.toml").replace("outputs = 1", "outputs = 0");
    std::fs::write(&target, text).expect("a file");
    assert!(error(&format!("passes @toon.wgsl --target {}", target.display())).contains("outputs"));
}

/// Paper 5: the published variants by name, and loads of inputs as operations.
#[test]
fn published_variants_have_names() {
    let of = |line: &str| json(&format!("passes @bump_mapping.wgsl --target ps14 --nodes 200000 {line}"));
    let cost = |document: &Value| number(&document["shaders"][0]["cost"]);
    let best = of("");
    for name in ["dpmpp", "dpmpp-su", "mio", "rds", "rds-h", "mrds-h"] {
        assert!(cost(&of(&format!("--algorithm {name}"))) >= cost(&best), "{name}");
    }
    let with_loads = of("--loads operations");
    let size = |document: &Value| number(&document["shaders"][0]["regions"][0]["n"]);
    assert!(size(&with_loads) > size(&best) && cost(&with_loads) > cost(&best));
    let bench = json("bench passes @bump_mapping.wgsl @skinning.wgsl --target ps14 --nodes 2000");
    let stages: Vec<&str> =
        bench["blocks"].as_array().expect("blocks").iter().filter_map(|row| row["stage"].as_str()).collect();
    assert!(stages.contains(&"fragment") && stages.contains(&"vertex"), "{stages:?}");
    assert!(bench["load_branching"].as_f64() > bench["branching"].as_f64(), "{bench}");
}
