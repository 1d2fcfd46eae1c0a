//! `lowtide bench`, and the GPU.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Folder, array, corpus, finish, number, program, run, tiny};
use crate::skip::{Missing, skip};

const NAMES: [&str; 9] = [
    "source",
    "production",
    "sethi-ullman",
    "su-rp",
    "su-rp-adjust",
    "su-cluster",
    "su-cluster-adjust",
    "few-registers",
    "exact",
];

#[test]
fn budget_prints_the_distribution_of_used_over_allowed_time() {
    let sizes = "--generated --family tree --sizes 40,300 --budget 10us,100us --goal minreg,occupancy";
    let document = run(&format!("bench budget {sizes} --json"), &[]).json();
    assert_eq!((number(&document["regions"]), number(&document["instructions"])), (2, 340));
    let distributions = array(&document["distributions"]);
    assert_eq!(distributions.len(), 5, "two budgets, two goals, and all together");
    assert_eq!(array(&document["rows"]).len(), 8);
    for own in distributions {
        let ratio = |key: &str| own[key].as_f64().unwrap_or_else(|| panic!("{key} of {own}"));
        let sorted = [ratio("median"), ratio("p90"), ratio("p99"), ratio("worst")];
        assert!(sorted[0] > 0.0 && sorted.is_sorted(), "{own}");
        let above = array(&own["above"]).iter().map(number).collect::<Vec<_>>();
        assert!(above.len() == 3 && above.is_sorted_by(|one, other| one >= other), "{own}");
    }
    let table = run(&format!("bench budget {sizes} --rows"), &[]).ok();
    assert!(table.contains("tree-300-1") && table.contains("p99"), "{table}");
    run("bench budget {} --max-size 20 --every 10 --budget 20us --goal length --json", &[&corpus()]).json();
}

#[test]
fn occupancy_carries_its_figures_for_programs() {
    let document = run("bench occupancy {} --json --nodes 2000", &[&corpus()]).json();
    assert_eq!((number(&document["kernels"]), number(&document["regions"])), (26, 284));
    let sum = |figure: &str, name: &str| number(&document[figure][name]);
    let names = [
        "production",
        "source",
        "list",
        "waves",
        "weighted",
        "llvm-generic",
        "twopass-paper",
        "colony",
        "twopass",
        "few-registers",
        "filtered",
    ];
    for name in names {
        assert!(sum("occupancy", name) <= number(&document["occupancy_bound"]), "{name}");
        assert!(document["seconds"][name].is_f64(), "{name}");
    }
    assert!(sum("length", "twopass") >= number(&document["length_bound"]));
    for name in ["production", "source", "few-registers", "weighted"] {
        assert!(sum("occupancy", name) <= sum("occupancy", "twopass"), "{name}");
    }
    assert_eq!(sum("occupancy", "waves"), sum("occupancy", "twopass"), "the first pass is the same");
    assert!(sum("length", "twopass") < sum("length", "production"));
    for pass in ["pass1", "pass2"] {
        let parts = ["proved_improved", "proved_same", "timeout_improved", "timeout_same"];
        let parts: u64 = parts.iter().map(|key| number(&document[pass][*key])).sum();
        assert_eq!(parts, number(&document[pass]["searched"]), "{pass}");
    }
    assert!(number(&document["pass2"]["searched"]) > 50);
    assert!(number(&document["paper_pass2"]["searched"]) > 50);
    assert!(number(&document["weighted_length"]["twopass"]) > sum("length", "twopass"));
    let better = document["better"].as_array().expect("a list");
    assert!(better.iter().all(|kernel| kernel["algorithm"] != "production"), "{better:?}");
    let distinct = number(&document["distinct"]["regions"]);
    assert!(distinct > 100 && distinct < 284);
    let larger = run("bench occupancy {} --json --nodes 2000 --min-size 48 --max-size 600", &[&corpus()]);
    let larger = larger.json();
    assert!(number(&larger["distinct"]["regions"]) < distinct);
    assert_eq!(larger["occupancy"], document["occupancy"], "all kernels count");
}

#[test]
fn occupancy_prints_tables_like_the_papers() {
    let text = run("bench occupancy {} --budget 20us,50us", &[&corpus()]).ok();
    for part in ["Table 3", "Table 4", "Table 8", "production ", "previous", "proven and improved", "90.3 %"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}");
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    let error = run("bench occupancy {} --min-size 100000", &[&corpus()]).error();
    assert!(error.contains("no region has a size in the range"), "{error}");
}

#[test]
fn a_gpu_that_is_not_there_is_a_clear_error() {
    let has_gpu = lowtide_gpu::Device::open().is_ok();
    let result = run("schedule {} --algorithm colony --nodes 5000 --device cuda --summary", &[&corpus()]);
    if !has_gpu {
        assert!(result.error().contains("--device cuda: "), "a reason is given");
        let error = run("bench colony {} --techniques", &[&corpus().join("colony")]).error();
        assert!(error.contains("--device cuda: "), "{error}");
    }
    let on = |device: &str| {
        run("schedule {} --algorithm colony --nodes 5000 --json --device {}", &[&corpus(), Path::new(device)])
            .json()
    };
    let [auto, cpu] = ["auto", "cpu"].map(on);
    let orders = |document: &Value| -> Vec<Value> {
        let kernels = document["kernels"].as_array().expect("kernels").iter();
        kernels
            .flat_map(|kernel| kernel["regions"].as_array().expect("regions"))
            .map(|region| region["order"].clone())
            .collect()
    };
    assert_eq!(orders(&auto), orders(&cpu), "wherever ants run, the schedules are the same");
}

/// Whatever goes wrong with a GPU, the end is a clear error or the processor's result.
#[test]
fn faults_of_a_gpu_never_cost_a_schedule() {
    let folder = TempDir::new().expect("a folder");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    for library in ["libcuda.so", "libnvrtc.so"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda.c");
        let mut command = Command::new(&compiler);
        command.args(["-shared", "-fPIC", "-o"]).arg(folder.path().join(library)).arg(source);
        match command.status() {
            Err(error) => {
                return skip(
                    Missing::Installable,
                    format!("there is no C compiler {compiler} (CC): {error}"),
                );
            }
            status => assert!(status.expect("a C compiler").success()),
        }
    }
    let kernels = corpus().join("colony");
    let schedule = |fault: &str, device: &str, file: &str| {
        let mut command = program();
        command.arg("schedule").arg(&kernels).args(["--algorithm", "colony", "--nodes", "3000"]);
        command.args(["--device", device, "--summary", "-o"]).arg(folder.path().join(file));
        command.env("LD_LIBRARY_PATH", folder.path()).env("FAKE_CUDA_FAULT", fault);
        finish(&mut command)
    };
    schedule("none", "cpu", "expected.jsonl").ok();
    let expected = fs::read(folder.path().join("expected.jsonl")).expect("schedules");
    // When it is opened, and at work.
    let faults = [
        ("init", "no CUDA device can be used: a fault that was asked for"),
        ("compile", "the device code does not compile: log"),
        ("load", "no CUDA device can be used: a fault that was asked for"),
        ("memory", "the GPU failed: a fault that was asked for"),
        ("allocate", "the GPU failed: a fault that was asked for"),
        ("upload", "the GPU failed: a fault that was asked for"),
        ("launch", "the GPU failed: a fault that was asked for"),
        ("wait", "the GPU failed: a fault that was asked for"),
        ("download", "the GPU failed: a fault that was asked for"),
        ("none", "the answer of the GPU is not a schedule of 209 instructions"),
    ];
    for (fault, reason) in faults {
        let error = schedule(fault, "cuda", "none.jsonl").error();
        assert!(error.contains(reason), "{fault}: {error}");
        assert!(!folder.path().join("none.jsonl").exists(), "{fault}: nothing is written");
        let run = schedule(fault, "auto", "auto.jsonl");
        assert_eq!(run.code, 0, "{fault}: {}", run.stderr);
        let is_told = run.stderr.contains("the processor does the work instead");
        assert_eq!(is_told, !["init", "compile", "load"].contains(&fault), "{fault}: {}", run.stderr);
        let found = fs::read(folder.path().join("auto.jsonl")).expect("schedules");
        assert_eq!(found, expected, "{fault}: the processor's schedules");
    }
}

/// Paper 4: parameters of the published colony matter, a higher threshold leaves less to ants, and tables fit
/// a terminal.
#[test]
fn the_published_colony_depends_on_its_parameters() {
    let line = "bench colony {} --sweep --preset paper --groups 4 --nodes 8000";
    let kernels = corpus().join("colony");
    let sweep = run(&format!("{line} --json"), &[&kernels]).json();
    assert_eq!((number(&sweep["ants"]), &sweep["published"]), (128, &json!(true)));
    let rows = sweep["rows"].as_array().expect("rows");
    let mut lengths: Vec<u64> = rows.iter().map(|row| number(&row["length"])).collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 5, "{lengths:?}");
    let choices: Vec<u64> =
        sweep["filters"].as_array().expect("thresholds").iter().map(|row| number(&row["choices"])).collect();
    assert!(choices.is_sorted_by(|fewer, more| fewer >= more), "{choices:?}");
    let text = run(line, &[&kernels]).ok();
    assert!(
        text.contains("(Table 6)") && text.contains("(Table 7)") && text.contains("lists: middle"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100 && line == line.trim_end()), "{text}");
}

#[test]
fn colony_carries_its_figures_for_programs() {
    let kernels = corpus().join("colony");
    let document = run("bench colony {} --json --nodes 10000 --threads 2", &[&kernels]).json();
    assert_eq!((number(&document["kernels"]), number(&document["threads"])), (5, 2));
    let mut measured = 0;
    for pass in document["passes"].as_array().expect("two passes") {
        assert!(pass.as_object().is_some_and(|ranges| !ranges.is_empty()), "{document}");
        for (range, figures) in pass.as_object().expect("ranges") {
            assert!(["1-49", "50-99", ">=100"].contains(&range.as_str()), "{range}");
            measured += number(&figures["regions"]);
            let choices = number(&figures["choices"]);
            assert!(choices > 0 && choices <= 10_000 * number(&figures["regions"]), "{document}");
            let threads = &figures["devices"]["threads"];
            assert_eq!(threads["identical"], true, "{document}");
            let [least, mean, most] =
                ["min_speedup", "geomean_speedup", "max_speedup"].map(|key| threads[key].as_f64());
            assert!(least > Some(0.0) && least <= mean && mean <= most, "{document}");
        }
    }
    assert!(measured >= 10, "{document}");
    assert_eq!(document["whole"]["identical"], true, "{document}");
    let text = run("bench colony {} --nodes 10000 --max-size 100", &[&kernels]).ok();
    assert!(text.contains("Tables 3.a and 3.b") && text.contains("All schedules are the same."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100 && line == line.trim_end()), "{text}");
    let sweep = run("bench colony {} --nodes 1500 --sweep --json", &[&corpus()]).json();
    let rows = sweep["rows"].as_array().expect("a row for each parameter");
    assert_eq!((rows.len() > 12, &rows[0]["parameter"]), (true, &json!("base")));
    assert!(
        rows.iter().all(|row| number(&row["occupancy"]) >= 205 && number(&row["length"]) < 20_406),
        "{rows:?}"
    );
    assert_eq!(
        (sweep["stalls"].as_array().map(Vec::len), sweep["filters"].as_array().map(Vec::len)),
        (Some(5), Some(6))
    );
    let error = run("bench colony {} --min-size 100000", &[&corpus()]).error();
    assert!(error.contains("leaves a task to the colony"), "{error}");
}

#[test]
fn minreg_carries_its_figures_for_programs() {
    let document = run("bench minreg {} --json --max-size 600 --nodes 20000", &[&corpus()]).json();
    for key in ["regions", "instructions", "proved", "timeouts"] {
        assert!(document[key].is_u64(), "{key}: {document}");
    }
    assert_eq!(
        document["budget"],
        json!({"ms_per_instruction": null, "seconds_per_region": null, "nodes": 20000})
    );
    assert_eq!(number(&document["proved"]) + number(&document["timeouts"]), number(&document["regions"]));
    for name in NAMES {
        let figures = &document["algorithms"][name];
        assert!(figures["optimal"].is_u64() && figures["outliers"].is_u64(), "{name}: {document}");
        assert!(figures["mean_ratio"].as_f64() >= Some(1.0), "{name}: {document}");
        assert!(figures["seconds"].is_f64(), "{name}: {document}");
        let best = number(&document["algorithms"]["few-registers"]["optimal"]);
        assert!(
            name == "exact" || number(&figures["optimal"]) <= best,
            "{name} beats few-registers: {document}"
        );
    }
    assert_eq!(document["algorithms"]["exact"]["optimal"], document["proved"], "{document}");
    let phases = &document["two_phases"];
    assert_eq!((number(&phases["kernels"]), number(&phases["regions"])), (26, 284));
    for name in ["latency-hiding-source", "latency-hiding-sethi-ullman", "latency-hiding-cluster"] {
        assert!(phases["spilling"][name].is_u64() && phases["cycles"][name].is_u64(), "{name}: {phases}");
    }
    let default = &document["against_bound"]["few-registers"]["mean_ratio"];
    assert!(default.as_f64() < Some(1.1), "{document}");
}

#[test]
fn minreg_prints_tables_like_the_papers() {
    let text = run("bench minreg {} --max-size 600 --threads 1 --nodes 1000", &[&corpus()]).ok();
    assert!(text.starts_with("34 distinct graphs of 48 to 600 instructions"), "{text}");
    assert!(text.contains(", with 1,000 steps for each region for exact\n"), "{text}");
    for name in NAMES {
        assert_eq!(text.lines().filter(|line| line.starts_with(&format!("{name} "))).count(), 2, "{text}");
    }
    assert!(text.contains("1.171 (IV)"), "{text}");
}

#[test]
fn minreg_counts_proofs_by_size_and_lists_what_is_open() {
    let document = run("bench minreg {} --json --nodes 1000", &[&corpus()]).json();
    let (regions, proved) = (number(&document["regions"]), number(&document["proved"]));
    let sizes = array(&document["sizes"]);
    assert_eq!((&sizes[0]["least"], &sizes[0]["most"]), (&json!(48), &json!(99)));
    let last = &sizes[sizes.len() - 1];
    assert_eq!((&last["least"], &last["most"]), (&json!(601), &json!(null)));
    let sum = |key: &str| sizes.iter().map(|range| number(&range[key])).sum::<u64>();
    assert_eq!((sum("regions"), sum("proved"), sum("timeouts")), (regions, proved, regions - proved));
    assert_eq!(sum("by_cut") + sum("by_search"), proved);
    for part in sizes.iter().chain([&document["proofs"]]) {
        let within: Vec<u64> =
            array(&part["proved_within"]).iter().map(|own| number(&own["proved"])).collect();
        assert!(within.is_sorted() && within.last() <= Some(&number(&part["proved"])), "{part}");
        assert!(number(&part["proved"]) == 0 || part["median_us_per_instruction"].is_f64(), "{part}");
    }
    let open = array(&document["open"]);
    assert_eq!(open.len() as u64, regions - proved);
    for region in open {
        assert!(region["kernel"].is_string() && region["region"].is_string(), "{region}");
        assert!(number(&region["bound"]) <= number(&region["best"]), "{region}");
    }
    assert!(document.get("families").is_none());
    let text = run("bench minreg {} --nodes 1000 --min-size 60 --max-size 500", &[&corpus()]).ok();
    for start in ["60-99 ", "100-199 ", "200-399 ", "all "] {
        assert!(text.lines().any(|line| line.starts_with(start)), "{start}: {text}");
    }
    // A single step is not enough to prove anything but what needs no proof.
    let text = run("bench minreg {} --nodes 1", &[&corpus()]).ok();
    assert!(text.contains("\nRegions that exact leaves open:\nkernel "), "{text}");
}

#[test]
fn the_budget_is_for_instructions_or_regions() {
    let folder = Folder::new();
    let file = folder.regions("regions.jsonl", &[tiny("k", "r")]);
    for (option, words) in [
        ("", "with 1 ms for each instruction for exact\n"),
        ("--budget 10us", "with 0.01 ms for each instruction for exact\n"),
        ("--region-budget 2s", "with 2 s for each region for exact\n"),
        ("--region-budget 2s --nodes 5", "with 2 s for each region and 5 steps for each region for exact\n"),
    ] {
        let text = run(&format!("bench minreg {{}} --min-size 2 {option}"), &[&file]).ok();
        assert!(text.contains(words), "{text}");
    }
    let message = run("bench minreg {} --budget 1ms --region-budget 2s", &[&file]).usage();
    assert!(message.contains("cannot be used with"), "{message}");
}

#[test]
fn hard_families_need_no_file() {
    let document = run("bench minreg --families --json --nodes 1000", &[]).json();
    assert_eq!(document["regions"], 0);
    let families = array(&document["families"]);
    let names: Vec<&str> = families.iter().map(|family| family["name"].as_str().expect("a name")).collect();
    assert_eq!(names[..4], ["fft-16", "matmul-4x4x4", "stencil-16x12", "layered-100x20-1"]);
    for family in families {
        let [bound, best, default, source] =
            ["bound", "best", "few_registers", "source"].map(|key| number(&family[key]));
        assert!(bound <= best && best <= default && default <= source, "{family}");
        assert!(family["proved"] == false || bound == best, "{family}");
        assert!(family["seconds"].is_f64() && number(&family["n"]) > 90, "{family}");
    }
    let text = run("bench minreg --families --nodes 1000", &[]).ok();
    assert!(text.starts_with("Graphs that are known to be hard, with 1,000 steps"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("matmul-4x4x4 ")), "{text}");
    // With files, both.
    let document = run("bench minreg {} --families --json --nodes 1000", &[&corpus()]).json();
    assert!(number(&document["regions"]) > 30 && array(&document["families"]).len() == families.len());
    assert!(run("bench minreg", &[]).usage().contains("<FILE>"));
}

#[test]
fn each_graph_counts_once() {
    let folder = Folder::new();
    let file =
        folder.regions("regions.jsonl", &[tiny("k", "first"), tiny("k", "second"), tiny("l", "third")]);
    let document = run("bench minreg {} --json --min-size 2", &[&file]).json();
    assert_eq!((number(&document["regions"]), number(&document["repeated"])), (1, 2));
}

#[test]
fn nothing_to_measure_is_an_error() {
    let message = run("bench minreg {} --min-size 100000", &[&corpus()]).error();
    assert!(message.contains("no region has a size in the range"), "{message}");
}
