//! `lowtide schedule`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{
    Folder, array, corpus, kernel_names, lines, number, piped, run, text, tiny, without_times,
};

#[test]
fn the_table_ends_in_totals() {
    let table = run("schedule {} --nodes 100", &[&corpus()]).ok();
    for part in ["kernel ", "26 kernels, 284 regions, 9,363 instructions for gfx906", "waves: ", "length: "] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}");
    let summary = run("schedule {} --nodes 100 --summary", &[&corpus()]).ok();
    assert_eq!(summary.lines().count(), 8, "{summary}");
}

#[test]
fn the_target_is_a_column_only_where_it_differs() {
    let folder = Folder::new();
    let mut other = tiny("other", "r");
    other["target"] = "gfx90a".into();
    let file = folder.regions("two.jsonl", &[tiny("k", "r"), other]);
    let table = run("schedule {}", &[&file]).ok();
    assert!(table.lines().next().is_some_and(|header| header.contains("target")), "{table}");
    assert!(table.contains("instructions for gfx906 and gfx90a"), "{table}");
}

#[test]
fn json_carries_the_promised_keys_and_true_bounds() {
    for goal in ["minreg", "occupancy", "length"] {
        let document = run(&format!("schedule {{}} --json --nodes 100 --goal {goal}"), &[&corpus()]).json();
        assert_eq!(array(&document["kernels"]).len(), 26);
        for kernel in array(&document["kernels"]) {
            assert!(kernel["name"].is_string());
            assert!(number(&kernel["occupancy"]) <= number(&kernel["occupancy_bound"]), "{kernel}");
            for region in array(&kernel["regions"]) {
                check_region(region, goal);
            }
        }
    }
}

/// A graph that was seen before is not solved again, and not counted as new.
#[test]
fn repeated_graphs_are_counted() {
    let folder = Folder::new();
    let mut other = tiny("other", "r");
    other["instructions"][0]["op"] = "another".into();
    let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s"), other]);
    let document = run("schedule {} --json", &[&file]).json();
    assert_eq!(document["repeated"], 2);
    let summary = run("schedule {} --summary", &[&file]).ok();
    assert!(summary.contains("new:    1 region; 2 have the graph of another one"), "{summary}");
}

/// 30 pairs of load and store: the production order loads everything first, which leaves 8 waves. Ten would
/// take more than 63 cycles more.
#[test]
fn few_waves_are_not_bought_with_many_cycles() {
    let folder = Folder::new();
    let mut wide = tiny("wide", "r");
    let names: Vec<String> = (0..30).map(|number| format!("r{number}")).collect();
    let pairs = |name: &String| {
        let load = json!({"op": "load", "latency": 100, "defs": [name]});
        [load, json!({"op": "store", "latency": 1, "uses": [name]})]
    };
    wide["registers"] = names.iter().map(|name| json!({"name": name, "class": "vgpr"})).collect();
    wide["instructions"] = names.iter().flat_map(pairs).collect();
    wide["deps"] = (0..30).map(|number| json!([2 * number, 2 * number + 1, "data", 100])).collect();
    let order: Vec<u32> = (0..60).step_by(2).chain((1..60).step_by(2)).collect();
    wide["production"] = json!({"by": "test", "order": order});
    wide.as_object_mut().expect("an object").remove("source_peaks");
    let file = folder.regions("k.jsonl", &[wide]);
    let figures = |line: &str| {
        let document = run(line, &[&file]).json();
        let kernel = &document["kernels"][0];
        (number(&kernel["occupancy"]), number(&kernel["regions"][0]["length"]), kernel["filtered"].clone())
    };
    assert_eq!(figures("schedule {} --json --nodes 5000"), (8, 130, true.into()));
    let (waves, length, filtered) = figures("schedule {} --json --nodes 5000 --no-filter");
    assert!(waves == 10 && length > 130 + 63 && filtered == false, "{waves} waves, {length} cycles");
    let summary = run("schedule {} --nodes 5000 --summary", &[&file]).ok();
    assert!(summary.contains("filter: 1 kernel could have more waves"), "{summary}");
}

/// Pairs of the corpus stay together for a price, and never cost waves. A price is not counted as other
/// graphs.
#[test]
fn a_price_keeps_pairs_together() {
    let figures = |price: u32| {
        let line = format!("schedule {{}} --json --nodes 100 --latencies recorded --group-price {price}");
        let document = run(&line, &[&corpus()]).json();
        let kernels = array(&document["kernels"]);
        let waves: Vec<u64> = kernels.iter().map(|kernel| number(&kernel["occupancy"])).collect();
        let sum = |key: &str| -> u64 {
            let regions = kernels.iter().flat_map(|kernel| array(&kernel["regions"]));
            regions.map(|region| number(&region[key])).sum()
        };
        (waves, sum("pairs"), sum("broken_pairs"), document["repeated"].clone())
    };
    let (plain_waves, pairs, plain_broken, repeated) = figures(0);
    let (waves, same_pairs, broken, same_repeated) = figures(2);
    assert!(waves.iter().zip(&plain_waves).all(|(kept, plain)| kept >= plain));
    assert_eq!((same_pairs, same_repeated), (pairs, repeated));
    assert!(pairs > 700 && broken * 10 < plain_broken, "{broken} of {pairs} parted, {plain_broken} before");
}

/// How it was found: from what was known to what is told.
fn check_searches(region: &Value, goal: &str) {
    for search in array(&region["searches"]) {
        let of = search["of"].as_str().expect("what is sought");
        assert!(["peak", "spills", "waves", "excess", "length", "sum"].contains(&of), "{search}");
        // No key says which region asked first: that depends on the threads.
        let keys: Vec<&String> = search.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["of", "steps"], "{search}");
        let steps = array(&search["steps"]);
        assert!(steps.len() >= 2, "{search}");
        let seconds = |step: &Value| step["seconds"].as_f64().expect("seconds");
        assert!(steps.is_sorted_by(|one, next| seconds(one) <= seconds(next)), "{search}");
        let last = &steps[steps.len() - 1];
        let figures = ["nodes", "best", "bound"].map(|key| number(&last[key]));
        match (goal, of) {
            ("minreg", "peak") => {
                let told = ["peak", "peak_bound"].map(|key| number(&region[key]["vgpr"]));
                assert_eq!([figures[1], figures[2]], told, "{search}");
            }
            ("length", "length") => assert_eq!(figures[2], number(&region["length_bound"]), "{search}"),
            _ => {}
        }
    }
}

fn check_region(region: &Value, goal: &str) {
    assert!(region["name"].is_string());
    let count = number(&region["n"]);
    let mut order: Vec<u64> = array(&region["order"]).iter().map(number).collect();
    order.sort_unstable();
    assert!(order.into_iter().eq(0..count), "the order is a permutation");
    let cycles: Vec<u64> = array(&region["cycles"]).iter().map(number).collect();
    assert_eq!(cycles.len() as u64, count);
    let peaks = region["peak"].as_object().expect("peak is an object");
    let bounds = region["peak_bound"].as_object().expect("peak_bound is an object");
    assert!(!peaks.is_empty() && peaks.keys().eq(bounds.keys()));
    let reasons = region["peak_bound_by"].as_object().expect("peak_bound_by is an object");
    assert!(peaks.keys().eq(reasons.keys()));
    for (class, peak) in peaks {
        assert!(number(&bounds[class]) <= number(peak), "{class}: {bounds:?} {peaks:?}");
        let reason = &reasons[class];
        match (&reason["cut"], &reason["instr"], &reason["search"]) {
            (Value::String(end), Value::Null, Value::Null) => assert!(end == "start" || end == "end"),
            (Value::String(side), Value::Number(_), Value::Null) => {
                assert!(side == "before" || side == "after");
                assert!(number(&reason["instr"]) < count);
            }
            (Value::Null, Value::Null, search) => {
                assert!(search["nodes"].is_u64() && search["rules"].is_array(), "{reason}");
            }
            _ => panic!("{reason} is no reason"),
        }
    }
    let (length, bound) = (number(&region["length"]), number(&region["length_bound"]));
    assert!(bound <= length);
    assert_eq!(Some(length - 1), cycles.iter().copied().max());
    let optimal = region["optimal"].as_bool().expect("optimal is a bool");
    let proven = |key: &str| region[key].as_bool().expect("a bool");
    assert_eq!(proven("proven_length"), length == bound);
    check_searches(region, goal);
    match goal {
        "minreg" => assert_eq!(optimal, peaks["vgpr"] == bounds["vgpr"]),
        "length" => assert_eq!(optimal, length == bound),
        _ => assert_eq!(optimal, proven("proven_waves") && length == bound),
    }
}

#[test]
fn every_goal_and_algorithm_makes_schedules_that_pass_the_check() {
    let folder = Folder::new();
    let output = folder.path("schedules.jsonl");
    for goal in ["minreg", "occupancy", "length"] {
        for algorithm in ["auto", "source", "production", "critical-path", "list", "twopass"] {
            let line = format!("schedule {{}} -o {{}} --nodes 10 --goal {goal} --algorithm {algorithm}");
            run(&line, &[&corpus(), &output]).ok();
            let told = run("check {} {}", &[&corpus(), &output]).ok();
            assert!(told.starts_with("284 regions: 0 illegal, 0 over a limit"), "{told}");
        }
    }
}

#[test]
fn threads_change_nothing_but_time() {
    let folder = Folder::new();
    let mut first = None;
    for threads in [1, 2, 4] {
        let output = folder.path("schedules.jsonl");
        let line = format!("schedule {{}} --json -o {{}} --nodes 200 --threads {threads}");
        let json = without_times(&run(&line, &[&corpus(), &output]).ok());
        let result = (json, text(&output));
        assert!(*first.get_or_insert_with(|| result.clone()) == result, "{threads} threads");
    }
}

#[test]
fn a_budget_of_nodes_gives_the_same_result_again() {
    let once = || without_times(&run("schedule {} --json --nodes 500", &[&corpus()]).ok());
    assert!(once() == once());
}

#[test]
fn threads_of_the_search_make_no_difference() {
    let with = |threads: u32| {
        let line = format!("schedule {{}} --goal minreg --json --nodes 2000000 --search-threads {threads}");
        without_times(&run(&line, &[&corpus()]).ok())
    };
    let one = with(1);
    assert!(one.contains("\"search\""), "some bounds need a search");
    assert!(with(2) == one && with(4) == one);
}

#[test]
fn results_keep_the_order_of_the_input() {
    let folder = Folder::new();
    let one = folder.regions("z.jsonl", &[tiny("z2", "r"), tiny("z1", "s"), tiny("z1", "r")]);
    let two = folder.regions("a.jsonl", &[tiny("a", "r")]);
    let document = run("schedule {} {} --json", &[&one, &two]).json();
    assert_eq!(kernel_names(&document), ["z2", "z1", "a"]);
    assert_eq!(document["kernels"][1]["regions"][0]["name"], "s");
    folder.write("notes.txt", "not a region file");
    let document = run("schedule {} --json", &[folder.0.path()]).json();
    assert_eq!(kernel_names(&document), ["a", "z2", "z1"], "the files of a folder come sorted");
}

#[test]
fn the_standard_input_is_a_file_named_dash() {
    let document = piped(&["schedule", "-", "--json"], &lines(&[tiny("piped", "r")]));
    assert_eq!(kernel_names(&document), ["piped"]);
}

#[test]
fn kernels_are_chosen_by_a_part_of_their_name() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("alpha", "r"), tiny("beta", "r"), tiny("alphabet", "r")]);
    let document = run("schedule {} --json --kernel alpha", &[&file]).json();
    assert_eq!(kernel_names(&document), ["alpha", "alphabet"]);
    let message = run("schedule {} --kernel gamma", &[&file]).error();
    assert_eq!(message, "error: no kernel has \"gamma\" in its name\n");
}

#[test]
fn schedules_on_the_standard_output_stand_alone() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "r")]);
    let output = folder.path("schedules.jsonl");
    run("schedule {} -o {}", &[&file, &output]).ok();
    assert_eq!(run("schedule {} -o -", &[&file]).ok(), text(&output));
}

/// The order that results are compared with is named, and both orders are in the JSON document.
#[test]
fn results_name_what_they_are_compared_with() {
    let folder = Folder::new();
    let mut without = tiny("plain", "r");
    without.as_object_mut().expect("an object").remove("production");
    let plain = folder.regions("plain.jsonl", &[without]);
    for (line, paths, words) in [
        ("schedule {} --summary", vec![corpus()], "before: the production order\n"),
        ("schedule {} --summary --baseline source", vec![corpus()], "before: the source order\n"),
        ("schedule {} --summary", vec![plain.clone()], "before: the source order\n"),
        (
            "schedule {} {} --summary",
            vec![corpus(), plain],
            "before: the production order, or the source order where none is recorded\n",
        ),
    ] {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let text = run(&format!("{line} --nodes 200"), &paths).ok();
        assert!(text.contains(words), "{line}: {text}");
    }
    let document = run("schedule {} --json --nodes 200", &[&corpus()]).json();
    let sum = |order: &str, key: &str| -> u64 {
        array(&document["kernels"]).iter().map(|kernel| number(&kernel[order][key])).sum()
    };
    for (algorithm, key) in [("source", "source"), ("production", "production")] {
        let alone = run(&format!("schedule {{}} --json --algorithm {algorithm}"), &[&corpus()]).json();
        let totals = &alone["totals"]["after"];
        assert_eq!(number(&totals["length"]), sum(key, "length"), "{key}");
        assert_eq!(number(&totals["occupancy"]), sum(key, "occupancy"), "{key}");
        assert_eq!(number(&totals["peak_sum"]), sum(key, "peak_sum"), "{key}");
    }
    assert_eq!(number(&document["totals"]["before"]["length"]), sum("production", "length"));
    let lengths: u64 = array(&document["kernels"])
        .iter()
        .flat_map(|kernel| array(&kernel["regions"]))
        .map(|region| number(&region["length"]))
        .sum();
    assert_eq!(number(&document["totals"]["after"]["length"]), lengths);
}

/// Totals are about the goal, and nothing is called proven for another one.
#[test]
fn totals_match_the_goal() {
    let text =
        |goal: &str| run(&format!("schedule {{}} --summary --nodes 200 --goal {goal}"), &[&corpus()]).ok();
    let minreg = text("minreg");
    assert!(
        minreg.contains("\npeak:   ") && minreg.contains("have the fewest registers possible"),
        "{minreg}"
    );
    assert!(!minreg.contains("at most") && !minreg.contains("waves 1"), "{minreg}");
    let length = text("length");
    assert!(length.contains("are as short as possible") && !length.contains("at most"), "{length}");
    let occupancy = text("occupancy");
    assert!(occupancy.contains("at most 2") && occupancy.contains("(waves "), "{occupancy}");
}

#[test]
fn formats_have_short_forms() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s")]);
    let figures = |options: &str| {
        let text = run(&format!("schedule {{}} --nodes 100 {options}"), &[&file]).ok();
        text.lines()
            .map(|line| line.rsplit_once(',').map_or(line, |(start, _)| start).to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(figures("--format csv"), figures("--csv"));
    let json =
        |options: &str| without_times(&run(&format!("schedule {{}} --nodes 100 {options}"), &[&file]).ok());
    assert_eq!(json("--format json"), json("--json"));
    run("schedule {} --format csv --json", &[&file]).usage();
}

#[test]
fn results_become_a_parquet_file() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s")]);
    let [one, two] = ["one.parquet", "two.parquet"].map(|name| folder.path(name));
    assert_eq!(run("schedule {} --nodes 100 --format parquet -o {}", &[&file, &one]).ok(), "");
    let table = run("schedule {} --nodes 100 -o {}", &[&file, &two]).ok();
    assert!(table.contains("kernel"), "the table is printed beside the file: {table}");
    for result in [one, two] {
        let bytes = std::fs::read(&result).expect("the file was written");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        let error = run("info {}", &[&result]).error();
        assert!(error.contains("not one of kernels"), "{error}");
    }
}
