//! `lowtide schedule --front` and `--goal throughput`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{Folder, array, corpus, number, run, tiny, without_times};

/// 30 pairs of load and store: more loads at a time take more registers and fewer cycles.
pub(crate) fn wide(kernel: &str, region: &str) -> Value {
    let mut wide = tiny(kernel, region);
    let names: Vec<String> = (0..30).map(|number| format!("r{number}")).collect();
    let pairs = |name: &String| {
        let load = json!({"op": "load", "latency": 100, "defs": [name]});
        [load, json!({"op": "store", "latency": 1, "uses": [name]})]
    };
    wide["registers"] = names.iter().map(|name| json!({"name": name, "class": "vgpr"})).collect();
    wide["instructions"] = names.iter().flat_map(pairs).collect();
    wide["deps"] = (0..30).map(|number| json!([2 * number, 2 * number + 1, "data", 100])).collect();
    wide.as_object_mut().expect("an object").remove("source_peaks");
    wide
}

/// Kernels of the corpus where more waves take longer schedules.
fn trade_offs() -> PathBuf {
    corpus().join("colony/rocprim.jsonl.gz")
}

fn float(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn sum(point: &Value, figure: &str) -> u64 {
    array(&point["regions"]).iter().map(|region| number(&region[figure])).sum()
}

#[track_caller]
fn assert_width(text: &str, most: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= most, "{line:?} is too wide");
        assert_eq!(line.trim_end(), line, "a line ends in blanks");
    }
}

#[test]
fn fewer_waves_never_make_schedules_longer() {
    for goal in ["occupancy", "throughput"] {
        let line = format!("schedule {{}} {{}} --front --json --nodes 500 --goal {goal}");
        let document = run(&line, &[&corpus(), &trade_offs()]).json();
        let kernels = array(&document["kernels"]);
        assert_eq!(kernels.len(), 31);
        let mut falls = 0;
        for kernel in kernels {
            let points = array(&kernel["front"]);
            assert!(!points.is_empty(), "{}", kernel["name"]);
            for pair in points.windows(2) {
                let [fewer, more] = [&pair[0], &pair[1]];
                assert!(number(&fewer["waves"]) < number(&more["waves"]));
                assert!(sum(fewer, "length") <= sum(more, "length"), "{}: {fewer} {more}", kernel["name"]);
                assert!(sum(fewer, "length_bound") <= sum(more, "length_bound"), "{}", kernel["name"]);
                falls += usize::from(sum(fewer, "length") < sum(more, "length"));
            }
            for point in points {
                assert!(float(&point["cycles_per_wave_bound"]) <= float(&point["cycles_per_wave"]));
                assert!(float(&kernel["cycles_per_wave_bound"]) <= float(&point["cycles_per_wave"]));
                for region in array(&point["regions"]) {
                    assert!(number(&region["length_bound"]) <= number(&region["length"]), "{region}");
                    let last = array(&region["cycles"]).iter().map(number).max();
                    assert_eq!(last, Some(number(&region["length"]) - 1));
                }
            }
            // The schedules of the kernel are those of a point.
            let chosen = points.iter().find(|point| point["waves"] == kernel["occupancy"]).expect("a point");
            let lengths = |regions: &Value| -> Vec<u64> {
                array(regions).iter().map(|region| number(&region["length"])).collect()
            };
            assert_eq!(lengths(&chosen["regions"]), lengths(&kernel["regions"]), "{}", kernel["name"]);
            assert_eq!(chosen["cycles_per_wave"], kernel["cycles_per_wave"], "{}", kernel["name"]);
            match goal {
                "occupancy" => assert_eq!(chosen["waves"], points[points.len() - 1]["waves"]),
                _ => assert!(
                    points
                        .iter()
                        .all(|point| float(&point["cycles_per_wave"]) >= float(&chosen["cycles_per_wave"])),
                    "{}",
                    kernel["name"]
                ),
            }
        }
        assert!(falls > 3, "the corpus has trade-offs: {falls}");
    }
}

#[test]
fn the_orders_of_all_points_pass_the_check() {
    let folder = Folder::new();
    let file = trade_offs();
    let document = run("schedule {} --front --json --nodes 500", &[&file]).json();
    let kernels = array(&document["kernels"]);
    let most = kernels.iter().map(|kernel| array(&kernel["front"]).len()).max().expect("kernels");
    assert!(most > 3);
    for position in 0..most {
        let mut lines = Vec::new();
        for kernel in kernels {
            let points = array(&kernel["front"]);
            for region in array(&points[position.min(points.len() - 1)]["regions"]) {
                lines.push(json!({
                    "lowtide-schedule": 1, "kernel": kernel["name"], "origin": kernel["origin"],
                    "region": region["name"], "order": region["order"], "cycles": region["cycles"]
                }));
            }
        }
        let schedules = folder.regions("schedules.jsonl", &lines);
        let told = run("check {} {}", &[&file, &schedules]).ok();
        assert!(told.starts_with("179 regions: 0 illegal, 0 over a limit"), "point {position}: {told}");
    }
}

#[test]
fn the_front_is_a_table_for_each_kernel() {
    let folder = Folder::new();
    let file = folder.regions("k.jsonl", &[wide("wide", "r"), tiny("tiny", "r")]);
    let told = run("schedule {} --front --nodes 5000", &[&file]).ok();
    assert_width(told.split("2 kernels,").next().expect("tables"), 80);
    let tables: Vec<&str> = told.split("\n\n").collect();
    assert!(tables[0].starts_with("wide (gfx906)\nwaves "), "{told}");
    assert!(tables[1].starts_with("tiny (gfx906)\nwaves "), "{told}");
    for table in &tables[..2] {
        assert_eq!(table.matches('*').count(), 1, "one row is the best: {table}");
        assert!(!table.contains("spilled"), "{table}");
    }
    // A row for each length, most waves first.
    let rows = |table: &str| -> Vec<[u64; 2]> {
        let figure = |text: &str| text.replace(',', "").parse().expect("a number");
        let row = |line: &str| {
            let mut words = line.split_whitespace().map(figure_of);
            [(); 2].map(|()| figure(&words.next().expect("a figure")))
        };
        table.lines().skip(3).map(row).collect()
    };
    let wide = rows(tables[0]);
    assert!(
        wide.len() > 1 && wide.is_sorted_by(|one, next| one[0] > next[0] && one[1] > next[1]),
        "{wide:?}"
    );
    assert_eq!(rows(tables[1]), [[10, 86]]);
    assert!(told.contains("2 kernels, 2 regions"), "{told}");
    assert!(told.contains("cycles/wave: estimated cycles"), "{told}");

    let names = run("schedule {} --front --nodes 50", &[&corpus()]).ok();
    assert_width(names.split("26 kernels").next().expect("tables"), 80);
}

/// A figure without the bound behind it.
fn figure_of(word: &str) -> String {
    word.split("(≥").next().unwrap_or_default().to_string()
}

#[test]
fn spills_have_a_column() {
    let folder = Folder::new();
    let mut huge = tiny("huge", "r");
    huge["through"] = json!({"vgpr": 300});
    huge.as_object_mut().expect("an object").remove("source_peaks");
    let file = folder.regions("k.jsonl", &[huge]);
    let told = run("schedule {} --front --nodes 500", &[&file]).ok();
    assert!(told.lines().nth(1).is_some_and(|header| header.contains("spilled")), "{told}");
    let document = run("schedule {} --front --json --nodes 500", &[&file]).json();
    let points = array(&document["kernels"][0]["front"]);
    assert!(sum(&points[0], "spilled") > 0, "{points:?}");
}

#[test]
fn other_goals_have_no_front() {
    for goal in ["minreg", "length"] {
        for command in ["schedule", "view"] {
            let folder = Folder::new();
            let page = folder.path("page");
            let line = format!("{command} {{}} -o {{}} --front --goal {goal}");
            let message = run(&line, &[&corpus(), &page]).error();
            assert!(message.contains("--front needs --goal occupancy or --goal throughput"), "{message}");
            assert!(folder.names().is_empty());
        }
    }
    run("schedule {} --front --explain", &[&corpus()]).usage();
}

#[test]
fn algorithms_without_two_passes_have_no_front() {
    let message = run("schedule {} --front --algorithm latency-hiding", &[&corpus()]).error();
    assert!(message.starts_with("error: latency-hiding has no two passes; --front works with"), "{message}");
    assert!(message.contains("auto") && message.contains("twopass") && message.contains("list"), "{message}");
    run("schedule {} --front --algorithm list --summary", &[&corpus()]).ok();
}

#[test]
fn without_front_there_is_none() {
    let document = run("schedule {} --json --nodes 100 --goal throughput", &[&corpus()]).json();
    for kernel in array(&document["kernels"]) {
        assert!(kernel.get("front").is_none());
        assert!(float(&kernel["cycles_per_wave_bound"]) <= float(&kernel["cycles_per_wave"]));
    }
    let document = run("schedule {} --json --nodes 100", &[&corpus()]).json();
    for kernel in array(&document["kernels"]) {
        assert!(kernel.get("front").is_none() && kernel.get("cycles_per_wave_bound").is_none());
        assert!(kernel["cycles_per_wave"].is_f64());
    }
}

#[test]
fn throughput_has_a_column_and_a_line() {
    let table = run("schedule {} --nodes 100 --goal throughput", &[&corpus()]).ok();
    let header = table.lines().next().expect("a header");
    assert!(header.ends_with("cycles/wave"), "{header}");
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}: {table}");
    let summary = run("schedule {} --nodes 100 --goal throughput --summary", &[&corpus()]).ok();
    let labels: Vec<&str> =
        summary.lines().filter_map(|line| line.split_once(": ")).map(|(label, _)| label).collect();
    assert_eq!(labels, ["run", "before", "waves", "length", "loops", "proven", "new", "cycles"], "{summary}");
    let other = run("schedule {} --nodes 100 --summary", &[&corpus()]).ok();
    assert!(!other.contains("cycles: "), "{other}");
}

/// No other goal may have fewer cycles for each wave than the one that minimises them, where all is proven.
/// Elsewhere, a search that ends early may miss a cycle that another goal finds.
#[test]
fn throughput_is_no_worse_than_other_goals() {
    let kernels = |goal: &str| -> Vec<Value> {
        let line = format!("schedule {{}} --json --nodes 5000 --no-filter --goal {goal}");
        array(&run(&line, &[&corpus()]).json()["kernels"]).clone()
    };
    let cycles = |kernel: &Value| float(&kernel["cycles_per_wave"]);
    let best = kernels("throughput");
    let is_proven = |kernel: &Value| cycles(kernel) <= float(&kernel["cycles_per_wave_bound"]);
    assert!(best.iter().filter(|kernel| is_proven(kernel)).count() > 15);
    for goal in ["occupancy", "length", "minreg"] {
        for (best, other) in best.iter().zip(&kernels(goal)) {
            let most = if is_proven(best) { 1.000_001 } else { 1.001 };
            assert!(cycles(best) <= cycles(other) * most, "{goal}: {}", best["name"]);
        }
    }
}

/// Eight loads of 8 registers each, 500 cycles long. With 10 waves, three of them can wait at once, which
/// takes three times 500 cycles; with 8 waves four, and with 4 waves all of them.
#[test]
fn waves_that_cost_too_many_cycles_are_not_taken() {
    let folder = Folder::new();
    let mut bursts = tiny("bursts", "r");
    let names: Vec<String> = (0..8).map(|number| format!("r{number}")).collect();
    let pairs = |name: &String| {
        let load = json!({"op": "load", "latency": 500, "defs": [name]});
        [load, json!({"op": "store", "latency": 1, "uses": [name]})]
    };
    bursts["registers"] =
        names.iter().map(|name| json!({"name": name, "class": "vgpr", "lanes": 8})).collect();
    bursts["instructions"] = names.iter().flat_map(pairs).collect();
    bursts["deps"] = (0..8).map(|number| json!([2 * number, 2 * number + 1, "data", 500])).collect();
    bursts.as_object_mut().expect("an object").remove("source_peaks");
    let file = folder.regions("k.jsonl", &[bursts]);
    let chosen = |options: &str| {
        let document = run(&format!("schedule {{}} --json --nodes 5000 {options}"), &[&file]).json();
        let kernel = &document["kernels"][0];
        (number(&kernel["occupancy"]), float(&kernel["cycles_per_wave"]))
    };
    // 16 issue cycles, and a share of the waits: 492 cycles for 4 waves, 1,489 for 10.
    assert_eq!(chosen("--goal throughput"), (4, 139.0));
    assert_eq!(chosen("--goal throughput --front"), (4, 139.0));
    assert_eq!(chosen("--goal occupancy --front"), (10, 164.9));
    let told = run("schedule {} --front --nodes 5000", &[&file]).ok();
    let best = told.lines().find(|line| line.ends_with('*')).expect("a best row");
    assert!(best.trim_start().starts_with("4 "), "{told}");
}

/// A region that runs often decides for the kernel.
#[test]
fn frequencies_count() {
    let folder = Folder::new();
    let regions = |frequencies: [u32; 2]| {
        let mut regions = [wide("k", "wide"), tiny("k", "tiny")];
        for (region, frequency) in regions.iter_mut().zip(frequencies) {
            region["frequency"] = frequency.into();
        }
        folder.regions("k.jsonl", &regions)
    };
    let cycles = |frequencies| {
        let line = "schedule {} --json --nodes 5000 --goal throughput";
        let document = run(line, &[&regions(frequencies)]).json();
        float(&document["kernels"][0]["cycles_per_wave"])
    };
    let [wide, tiny, both, twice] = [[1, 0], [0, 1], [1, 1], [2, 2]].map(cycles);
    assert!(wide > tiny && tiny > 0.0, "{wide} {tiny}");
    // Each region alone may want other waves than both together.
    assert!(both + 1e-6 >= wide + tiny && (twice - 2.0 * both).abs() < 1e-6, "{both} {wide} {tiny} {twice}");
    let often = cycles([1000, 1]);
    assert!(often + 1e-6 >= 1000.0 * wide && often <= 1000.0 * wide + 2.0 * both, "{often} {wide} {both}");
}

#[test]
fn a_front_is_the_same_again() {
    let once = || without_times(&run("schedule {} --json --nodes 200 --front", &[&corpus()]).ok());
    assert!(once() == once());
}
