//! What the program promises, asked of the program itself.
//!
//! Tables are compared with the files in `golden/`; run with `LOWTIDE_BLESS=1` to accept new ones.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

const COMMANDS: [&str; 10] =
    ["schedule", "view", "compare", "bench", "check", "passes", "info", "targets", "convert", "completions"];

/// What a run left behind.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The run must have ended well and in silence; gives the results.
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "stdout: {}", self.stdout);
        self.stdout
    }

    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("--json prints JSON")
    }

    /// The run must have failed without any result; gives the message.
    #[track_caller]
    fn error(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (1, ""), "stderr: {}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self.stderr
    }

    /// A check must have found something; gives what it says.
    #[track_caller]
    fn refused(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (1, ""), "stdout: {}", self.stdout);
        self.stdout
    }

    /// The command line must not have been understood; gives the message.
    #[track_caller]
    fn usage(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "stderr: {}", self.stderr);
        self.stderr
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lowtide"))
}

fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("the program starts");
    Run {
        code: output.status.code().expect("the program ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

fn lowtide<S: AsRef<OsStr>>(args: &[S]) -> Run {
    finish(program().args(args).stdin(Stdio::null()))
}

/// Runs the words of a line; `{}` stands for the next path.
#[track_caller]
fn run(line: &str, paths: &[&Path]) -> Run {
    let mut paths = paths.iter();
    let args: Vec<&OsStr> = (line.split_whitespace())
        .map(|word| match word {
            "{}" => paths.next().expect("a path for each {}").as_os_str(),
            _ => OsStr::new(word),
        })
        .collect();
    assert!(paths.next().is_none(), "more paths than places");
    lowtide(&args)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus() -> PathBuf {
    root().join("corpus")
}

/// A temporary folder with files in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("the temporary folder is writable");
        path
    }

    fn regions(&self, name: &str, regions: &[Value]) -> PathBuf {
        self.write(name, lines(regions))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the temporary folder is readable");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("the file was written")
}

/// Two loads, an addition, a store.
fn tiny(kernel: &str, region: &str) -> Value {
    json!({
        "lowtide": 1, "kernel": kernel, "target": "gfx906", "region": region, "classes": ["vgpr"],
        "registers": [
            {"name": "a", "class": "vgpr"}, {"name": "b", "class": "vgpr"}, {"name": "c", "class": "vgpr"}
        ],
        "instructions": [
            {"op": "load", "latency": 80, "defs": ["a"]},
            {"op": "load", "latency": 80, "defs": ["b"]},
            {"op": "add", "latency": 4, "defs": ["c"], "uses": ["a", "b"]},
            {"op": "store", "latency": 1, "uses": ["c"]}
        ],
        "deps": [[0, 2, "data", 80], [1, 2, "data", 80], [2, 3, "data", 4]],
        "source_peaks": {"vgpr": {"between": 2, "at": 3}}
    })
}

/// The same as LLVM's back end dumps it, shorter by a load.
fn llvm_dump() -> Value {
    json!({
        "v": 1, "src": "example", "fn": "dumped", "cc": 91, "cpu": "gfx906", "llvm": "20", "bb": 0, "ri": 0,
        "nr": 1, "loop": 0, "n": 2, "vlim": 24, "slim": 80, "bnd": "",
        "nodes": [["load", 80, 1, "HWVMEM", "", -1, [[7, 1]], []], ["store", 1, 1, "HWVMEM", "", -1, [], [[7, 1]]]],
        "edges": [[0, 1, "d", 80, 7]],
        "in": [], "out": [], "thru": {"V": 0, "S": 0, "A": 0, "n": 0},
        "regs": {"7": ["VGPR_32", "V", 1]},
        "rp": {"V": [1, 1], "S": [0, 0], "A": [0, 0]}, "llvmrp": null, "after": null
    })
}

/// JSON byte for byte, but without the lines that differ from run to run.
fn without_times(json: &str) -> String {
    let differs = |line: &str| ["\"seconds\": ", "\"copied\": "].iter().any(|key| line.starts_with(key));
    json.lines().filter(|line| !differs(line.trim_start())).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is an array"))
}

fn kernel_names(document: &Value) -> Vec<&str> {
    array(&document["kernels"]).iter().map(|kernel| kernel["name"].as_str().expect("a name")).collect()
}

mod help {
    use super::*;

    #[test]
    fn every_command_says_what_it_does() {
        for command in COMMANDS {
            let help = run(&format!("{command} --help"), &[]).ok();
            let first = help.lines().next().unwrap_or_default();
            assert!(first.len() > 20 && !first.starts_with("Usage"), "{command}: {first}");
            assert!(help.contains(&format!("Usage: lowtide {command}")), "{command}");
            assert!(run("--help", &[]).ok().contains(&format!("\n  {command} ")), "{command}");
        }
    }

    #[test]
    fn examples_are_where_they_help_most() {
        for (command, example) in [
            ("", "Example: lowtide schedule corpus/"),
            ("schedule", "Example: lowtide schedule kernels.jsonl.gz"),
            ("completions", "Example: lowtide completions bash"),
        ] {
            let help = run(&format!("{command} --help"), &[]).ok();
            assert!(help.contains(example), "{help}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_package() {
        assert_eq!(run("--version", &[]).ok(), format!("lowtide {}\n", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn what_is_not_understood_gets_a_hint() {
        for (line, hint) in [
            ("schedul x", "'schedule'"),
            ("schedule x --gaol minreg", "'--goal'"),
            ("schedule x --goal fast", "minreg, occupancy, length"),
            ("schedule x --algorithm magic", "known are auto, source"),
            ("schedule x --budget 5", "a unit is missing"),
            ("schedule", "<FILE>"),
            ("info x --threads 0", "1..=1024"),
            ("info x --threads 100000", "1..=1024"),
            ("check x y --limit vgpr", "CLASS=N"),
            ("check x y --limit-at vgpr=many", "is not a number of registers"),
            ("check x --limit vgpr=3", "<SCHEDULE>"),
            ("completions tcsh", "bash"),
        ] {
            let message = run(line, &[]).usage();
            assert!(message.contains(hint), "{line}: {message}");
        }
    }

    #[test]
    fn shells_can_complete_the_commands() {
        for shell in ["bash", "zsh", "fish"] {
            let script = run(&format!("completions {shell}"), &[]).ok();
            assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
        }
    }
}

mod schedule {
    use super::*;

    #[test]
    fn the_table_ends_in_totals() {
        let table = run("schedule {} --nodes 100", &[&corpus()]).ok();
        for part in
            ["kernel ", "26 kernels, 284 regions, 9,363 instructions for gfx906", "waves: ", "length: "]
        {
            assert!(table.contains(part), "{part}: {table}");
        }
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{widest:?}");
        let summary = run("schedule {} --nodes 100 --summary", &[&corpus()]).ok();
        assert_eq!(summary.lines().count(), 5, "{summary}");
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
            let document =
                run(&format!("schedule {{}} --json --nodes 100 --goal {goal}"), &[&corpus()]).json();
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

    /// 30 pairs of load and store: the production order loads everything first, which leaves 8 waves. Ten would take
    /// more than 63 cycles more.
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
            (
                number(&kernel["occupancy"]),
                number(&kernel["regions"][0]["length"]),
                kernel["filtered"].clone(),
            )
        };
        assert_eq!(figures("schedule {} --json --nodes 5000"), (8, 130, true.into()));
        let (waves, length, filtered) = figures("schedule {} --json --nodes 5000 --no-filter");
        assert!(waves == 10 && length > 130 + 63 && filtered == false, "{waves} waves, {length} cycles");
        let summary = run("schedule {} --nodes 5000 --summary", &[&file]).ok();
        assert!(summary.contains("filter: 1 kernel could have more waves"), "{summary}");
    }

    /// How it was found: from what was known to what is told.
    fn check_searches(region: &Value, goal: &str) {
        for search in array(&region["searches"]) {
            let of = search["of"].as_str().expect("what is sought");
            assert!(["peak", "spills", "waves", "excess", "length", "sum"].contains(&of), "{search}");
            assert!(search["copied"].is_boolean(), "{search}");
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
            let line =
                format!("schedule {{}} --goal minreg --json --nodes 2000000 --search-threads {threads}");
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
        let mut child = (program().args(["schedule", "-", "--json"]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(lines(&[tiny("piped", "r")]).as_bytes()).expect("the program reads");
        drop(input);
        let output = child.wait_with_output().expect("the program ends");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
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
}

mod compare {
    use super::*;

    #[test]
    fn auto_never_has_fewer_waves_than_the_source_order() {
        let document = run("compare {} --json", &[&corpus()]).json();
        let algorithms = &document["algorithms"];
        for name in ["auto", "source", "production", "critical-path"] {
            for key in ["occupancy", "length", "peak", "best"] {
                assert!(algorithms[name][key].is_u64(), "{name} {key}: {document}");
            }
        }
        assert!(number(&algorithms["auto"]["occupancy"]) >= number(&algorithms["source"]["occupancy"]));
        let by_kernel = |algorithm: &str| {
            let line = format!("schedule {{}} --json --nodes 10 --algorithm {algorithm}");
            let document = run(&line, &[&corpus()]).json();
            let kernels = array(&document["kernels"]).iter();
            kernels.map(|kernel| number(&kernel["occupancy"])).collect::<Vec<_>>()
        };
        let (auto, source) = (by_kernel("auto"), by_kernel("source"));
        assert!(auto.iter().zip(&source).all(|(auto, source)| auto >= source), "{auto:?} {source:?}");
    }

    #[test]
    fn the_table_has_a_row_for_each_algorithm() {
        let table = run("compare {}", &[&corpus()]).ok();
        for name in ["auto ", "source ", "production ", "critical-path "] {
            assert!(table.lines().any(|line| line.starts_with(name)), "{name}: {table}");
        }
        assert!(table.contains("26 kernels, 284 regions, 9,363 instructions"), "{table}");
    }
}

mod bench {
    use super::*;

    const NAMES: [&str; 9] = [
        "source",
        "production",
        "sethi-ullman",
        "su-rp",
        "su-rp-adjust",
        "su-cluster",
        "su-cluster-adjust",
        "default",
        "exact",
    ];

    #[test]
    fn occupancy_carries_its_figures_for_programs() {
        let document = run("bench occupancy {} --json --nodes 2000", &[&corpus()]).json();
        assert_eq!((number(&document["kernels"]), number(&document["regions"])), (26, 284));
        let sum = |figure: &str, name: &str| number(&document[figure][name]);
        let names =
            ["production", "source", "list", "waves", "weighted", "colony", "twopass", "default", "filtered"];
        for name in names {
            assert!(sum("occupancy", name) <= number(&document["occupancy_bound"]), "{name}");
            assert!(document["seconds"][name].is_f64(), "{name}");
        }
        assert!(sum("length", "twopass") >= number(&document["length_bound"]));
        for name in ["production", "source", "default", "weighted"] {
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
        for part in
            ["Table 3", "Table 4", "Table 8", "production ", "previous", "proven and improved", "90.3 %"]
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
            run(
                "schedule {} --algorithm colony --nodes 5000 --json --device {}",
                &[&corpus(), Path::new(device)],
            )
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
                Err(_) if std::env::var_os("CI").is_none() => {
                    println!("!! SKIPPED: there is no C compiler (CC)");
                    return;
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
            ("compile", "the device's code does not compile: log"),
            ("load", "no CUDA device can be used: a fault that was asked for"),
            ("memory", "the GPU failed: a fault that was asked for"),
            ("allocate", "the GPU failed: a fault that was asked for"),
            ("upload", "the GPU failed: a fault that was asked for"),
            ("launch", "the GPU failed: a fault that was asked for"),
            ("wait", "the GPU failed: a fault that was asked for"),
            ("download", "the GPU failed: a fault that was asked for"),
            ("none", "the GPU has answered something that is no schedule of 209 instructions"),
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

    #[test]
    fn colony_carries_its_figures_for_programs() {
        let kernels = corpus().join("colony");
        let document = run("bench colony {} --json --nodes 30000 --threads 2", &[&kernels]).json();
        assert_eq!((number(&document["kernels"]), number(&document["threads"])), (5, 2));
        let mut measured = 0;
        for pass in document["passes"].as_array().expect("two passes") {
            assert!(pass.as_object().is_some_and(|ranges| !ranges.is_empty()), "{document}");
            for (range, figures) in pass.as_object().expect("ranges") {
                assert!(["1-49", "50-99", ">=100"].contains(&range.as_str()), "{range}");
                measured += number(&figures["regions"]);
                let choices = number(&figures["choices"]);
                assert!(choices > 0 && choices <= 30_000 * number(&figures["regions"]), "{document}");
                let threads = &figures["devices"]["threads"];
                assert_eq!(threads["identical"], true, "{document}");
                let [least, mean, most] =
                    ["min_speedup", "geomean_speedup", "max_speedup"].map(|key| threads[key].as_f64());
                assert!(least > Some(0.0) && least <= mean && mean <= most, "{document}");
            }
        }
        assert!(measured >= 10, "{document}");
        assert_eq!(document["whole"]["identical"], true, "{document}");
        let text = run("bench colony {} --nodes 30000 --max-size 100", &[&kernels]).ok();
        assert!(
            text.contains("Tables 3.a and 3.b") && text.contains("All schedules are the same."),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 100 && line == line.trim_end()), "{text}");
        let rows = run("bench colony {} --nodes 5000 --sweep --json", &[&corpus()]).json();
        let rows = rows.as_array().expect("a row for each parameter");
        assert_eq!((rows.len() > 20, &rows[0]["parameter"]), (true, &json!("defaults")));
        assert!(
            rows.iter().all(|row| number(&row["occupancy"]) == 207 && number(&row["length"]) < 18_375),
            "{rows:?}"
        );
        let table = run("bench colony {} --nodes 5000 --sweep", &[&corpus()]).ok();
        assert!(table.contains("explorations 20"), "{table}");
        let error = run("bench colony {} --min-size 100000", &[&corpus()]).error();
        assert!(error.contains("leaves anything to ants"), "{error}");
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
            let best = number(&document["algorithms"]["default"]["optimal"]);
            assert!(
                name == "exact" || number(&figures["optimal"]) <= best,
                "{name} beats default: {document}"
            );
        }
        assert_eq!(document["algorithms"]["exact"]["optimal"], document["proved"], "{document}");
        let default = &document["against_bound"]["default"]["mean_ratio"];
        assert!(default.as_f64() < Some(1.1), "{document}");
    }

    #[test]
    fn minreg_prints_tables_like_the_papers() {
        let text = run("bench minreg {} --max-size 600 --threads 1 --nodes 1000", &[&corpus()]).ok();
        assert!(text.starts_with("34 distinct graphs of 48 to 600 instructions"), "{text}");
        assert!(text.contains(", with 1,000 steps for each region for exact\n"), "{text}");
        for name in NAMES {
            assert_eq!(
                text.lines().filter(|line| line.starts_with(&format!("{name} "))).count(),
                2,
                "{text}"
            );
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
            (
                "--region-budget 2s --nodes 5",
                "with 2 s for each region and 5 steps for each region for exact\n",
            ),
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
        let names: Vec<&str> =
            families.iter().map(|family| family["name"].as_str().expect("a name")).collect();
        assert_eq!(names[..4], ["fft-16", "matmul-4x4x4", "stencil-16x12", "layered-100x20-1"]);
        for family in families {
            let [bound, best, default, source] =
                ["bound", "best", "default", "source"].map(|key| number(&family[key]));
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
}

mod explain {
    use super::*;

    #[test]
    fn every_choice_has_a_reason() {
        let folder = Folder::new();
        let file = folder.regions("regions.jsonl", &[tiny("k", "r")]);
        for algorithm in
            ["sethi-ullman", "su-cluster", "critical-path", "last-use-count", "goodman-hsu", "llvm-generic"]
        {
            let text = run(&format!("schedule {{}} --explain --algorithm {algorithm}"), &[&file]).ok();
            let mut lines = text.lines();
            assert_eq!(lines.next(), Some("kernel k, region r"));
            assert!(
                lines.all(|line| line.starts_with("  #") && line.contains(" of ") && line.contains(": ")),
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_explained_says_what_can() {
        let message = run("schedule {} --explain --algorithm default", &[&corpus()]).error();
        assert!(message.contains("--explain works with --algorithm sethi-ullman"), "{message}");
    }
}

mod registers {
    use super::*;

    /// A kernel whose critical-path schedule needs more registers than its shortest one within a limit.
    #[test]
    fn a_limit_is_kept_where_it_can_be() {
        let peaks = |line: &str| {
            let document = run(line, &[&corpus()]).json();
            let kernels = array(&document["kernels"]).clone();
            let regions = kernels.into_iter().flat_map(|kernel| array(&kernel["regions"]).clone());
            regions
                .map(|region| (number(&region["peak"]["vgpr"]), number(&region["length"])))
                .collect::<Vec<_>>()
        };
        let free = peaks("schedule {} --json --goal length --nodes 5000");
        let limited = peaks("schedule {} --json --goal length --nodes 5000 --registers 24");
        let lowest = peaks("schedule {} --json --goal minreg --nodes 1");
        let mut changed = 0;
        for ((free, limited), lowest) in free.into_iter().zip(limited).zip(lowest) {
            assert!(limited.0 <= 24 || lowest.0 > 24, "{limited:?} though {lowest:?} is possible");
            assert!(limited.1 >= free.1, "a limit makes nothing shorter");
            changed += usize::from(limited != free);
        }
        assert!(changed > 0, "the limit changes something");
    }
}

mod check {
    use super::*;

    /// Two kernels and their schedules.
    fn scheduled(folder: &Folder) -> (PathBuf, Vec<Value>) {
        let file = folder.regions("regions.jsonl", &[tiny("k", "first"), tiny("k", "second")]);
        let output = folder.path("schedules.jsonl");
        run("schedule {} -o {}", &[&file, &output]).ok();
        let schedules: Vec<Value> =
            text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(schedules.len(), 2);
        (file, schedules)
    }

    #[test]
    fn dependent_instructions_must_not_be_swapped() {
        let folder = Folder::new();
        let (file, mut schedules) = scheduled(&folder);
        array_mut(&mut schedules[1]["order"]).swap(2, 3);
        let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).refused();
        assert!(told.contains("kernel \"k\", region second: "), "{told}");
        assert!(
            told.contains("#3 store") && told.contains("#2 add") && told.contains("depends on"),
            "{told}"
        );
        assert!(told.contains("2 regions: 1 illegal"), "{told}");
    }

    #[test]
    fn latencies_must_be_kept() {
        let folder = Folder::new();
        let (file, mut schedules) = scheduled(&folder);
        let cycle = number(&schedules[0]["cycles"][3]);
        schedules[0]["cycles"][3] = (cycle - 1).into();
        let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).refused();
        assert!(told.contains("region first: ") && told.contains("with latency 4"), "{told}");
    }

    #[test]
    fn every_region_needs_a_schedule() {
        let folder = Folder::new();
        let (file, schedules) = scheduled(&folder);
        let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules[..1])]).refused();
        assert!(told.contains("kernel \"k\", region second: has no schedule"), "{told}");
    }

    #[test]
    fn no_region_may_have_two_schedules() {
        let folder = Folder::new();
        let (file, mut schedules) = scheduled(&folder);
        schedules.push(schedules[0].clone());
        let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).error();
        assert!(told.contains("region \"first\" of kernel \"k\" has two schedules"), "{told}");
    }

    #[test]
    fn every_schedule_needs_a_region() {
        let folder = Folder::new();
        let (file, mut schedules) = scheduled(&folder);
        schedules.push(schedules[0].clone());
        schedules[2]["region"] = "third".into();
        let told = run("check {} {}", &[&file, &folder.regions("bad", &schedules)]).refused();
        assert!(told.contains("kernel \"k\", region third: has a schedule, but is not in"), "{told}");
    }

    #[test]
    fn limits_are_enforced() {
        let folder = Folder::new();
        let (file, schedules) = scheduled(&folder);
        let good = folder.regions("good", &schedules);
        for line in ["--limit vgpr=2", "--limit-at vgpr=3", "--limit vgpr=9 --limit-at vgpr=9"] {
            run(&format!("check {{}} {{}} {line}"), &[&file, &good]).ok();
        }
        let told = run("check {} {} --limit vgpr=1", &[&file, &good]).refused();
        assert!(told.contains("region first: vgpr pressure 2 is over the limit of 1"), "{told}");
        let told = run("check {} {} --limit-at vgpr=2", &[&file, &good]).refused();
        assert!(told.contains("vgpr pressure 3 at an instruction is over the limit of 2"), "{told}");
        let told = run("check {} {} --limit vpgr=1", &[&file, &good]).error();
        assert!(told.contains("\"vpgr\"") && told.contains("known are vgpr"), "{told}");
    }

    #[test]
    fn json_tells_the_same() {
        let folder = Folder::new();
        let (file, schedules) = scheduled(&folder);
        let document = run("check {} {} --json", &[&file, &folder.regions("good", &schedules)]).json();
        assert_eq!((&document["regions"], &document["illegal"]), (&json!(2), &json!(0)));
        let run = run("check {} {} --json", &[&file, &folder.regions("bad", &schedules[1..])]);
        let document: Value = serde_json::from_str(&run.refused()).expect("JSON");
        assert_eq!(document["illegal"], 1);
    }

    #[test]
    fn bounds_are_proven_again() {
        let folder = Folder::new();
        let output = folder.path("schedules.jsonl");
        run("schedule {} -o {} --nodes 20000 --goal minreg", &[&corpus(), &output]).ok();
        let document = run("check {} {} --bound --json", &[&corpus(), &output]).json();
        let bounds = &document["bounds"];
        let searched = array(&bounds["by_search"]).len() as u64;
        assert_eq!(number(&bounds["verified"]) + searched, 2 * 284, "{bounds}");
        assert_eq!((&bounds["refused"], &bounds["missing"]), (&json!(0), &json!(0)), "{bounds}");
        let vgpr = &bounds["classes"]["vgpr"];
        assert_eq!(vgpr["regions"], 284, "{bounds}");
        assert!(number(&vgpr["optimal"]) + number(&vgpr["optimal_by_search"]) > 250, "{bounds}");
        let text = run("check {} {} --bound", &[&corpus(), &output]).ok();
        assert!(
            text.contains("bounds: ") && text.contains(" cuts verified; 0 refused, 0 missing; "),
            "{text}"
        );
        assert!(text.contains("optimal, since the peak equals a verified bound: "), "{text}");
        // Without being asked, nobody looks at them.
        let document = run("check {} {} --json", &[&corpus(), &output]).json();
        assert!(document.get("bounds").is_none(), "{document}");
    }

    #[test]
    fn bounds_that_do_not_hold_are_refused() {
        let folder = Folder::new();
        let (file, schedules) = scheduled(&folder);
        let bound = json!({"value": 2, "by": {"cut": "before", "instr": 2}});
        assert_eq!(schedules[0]["peak_bounds"]["vgpr"]["value"], 2);
        let told = |change: &dyn Fn(&mut Value)| {
            let mut changed = schedules.clone();
            changed[1]["peak_bounds"]["vgpr"] = bound.clone();
            change(&mut changed[1]["peak_bounds"]);
            run("check {} {} --bound", &[&file, &folder.regions("changed", &changed)])
        };
        let good = told(&|_| {}).ok();
        let words = "bounds: 2 cuts verified; 0 refused, 0 missing; 0 by search and 0 by solver, not checked\n\
                     optimal, since the peak equals a verified bound: vgpr in 2 of 2 regions\n";
        assert!(good.ends_with(words), "{good}");
        for (change, words) in [
            (json!({"value": 3}), "at least 3 before #2 add is claimed, but it can be 2"),
            (
                json!({"value": 2, "by": {"cut": "start"}}),
                "at least 2 at the start is claimed, but it can be 0",
            ),
            (
                json!({"value": 2, "by": {"cut": "after", "instr": 1}}),
                "at least 2 after #1 load is claimed, but it can be 1",
            ),
            (
                json!({"value": 2, "by": {"cut": "after", "instr": 4}}),
                "the moment is at instruction #4, but the region has only 4",
            ),
            (
                json!({"value": 3, "by": {"search": {"nodes": 1, "rules": []}}}),
                "at least 3 is claimed, but the schedule has 2",
            ),
        ] {
            let text = told(&|bounds| {
                for (key, value) in change.as_object().expect("an object") {
                    bounds["vgpr"][key] = value.clone();
                }
            });
            let text = text.refused();
            assert!(text.contains(&format!("kernel \"k\", region second: vgpr: {words}\n")), "{text}");
            assert!(text.contains("1 cuts verified; 1 refused"), "{text}");
            assert!(text.ends_with("vgpr in 1 of 2 regions\n"), "{text}");
        }
        let text = told(&|bounds| *bounds = json!({"sgpr": bound.clone()})).refused();
        assert!(text.contains("a bound is given for \"sgpr\", which is no class of the region"), "{text}");
        assert!(text.contains("vgpr: no bound is given") && text.contains("1 refused, 1 missing"), "{text}");
        let text = told(&|bounds| bounds["vgpr"] = json!({"value": 2, "by": 3})).error();
        assert!(text.contains("changed:2: peak_bounds.vgpr.by: invalid type"), "{text}");
        // What only a search knows is named, and counts apart.
        let search = json!({"search": {"nodes": 1234, "rules": ["free-moves", "memory"]}});
        let text = told(&|bounds| bounds["vgpr"]["by"] = search.clone()).ok();
        let words = "not checked: kernel \"k\", region second: vgpr at least 2, by a search of 1,234 nodes \
                     (free-moves, memory)\n";
        assert!(text.contains(words), "{text}");
        assert!(text.ends_with("vgpr in 1 of 2 regions (and 1 if search or solver is right)\n"), "{text}");
    }

    #[test]
    fn a_file_without_bounds_has_none_to_check() {
        let folder = Folder::new();
        let (file, mut schedules) = scheduled(&folder);
        for schedule in &mut schedules {
            schedule["lowtide-schedule"] = 1.into();
            schedule.as_object_mut().expect("an object").remove("peak_bounds");
        }
        let old = folder.regions("old", &schedules);
        run("check {} {}", &[&file, &old]).ok();
        let message = run("check {} {} --bound", &[&file, &old]).error();
        assert!(message.contains("old: carries no bounds to check"), "{message}");
        assert!(run("check {} --bound", &[&file]).usage().contains("<SCHEDULE>"));
    }

    #[test]
    fn the_figures_recorded_in_the_sample_agree() {
        let document = run("check {} --json", &[&corpus()]).json();
        for order in ["source", "production"] {
            let part = &document[order];
            assert!(number(&part["regions"]) > 200, "{document}");
            assert_eq!((&part["illegal"], &part["mismatches"]), (&json!(0), &json!(0)), "{document}");
        }
        assert!(run("check {}", &[&corpus()]).ok().contains("the source order "));
    }

    #[test]
    fn an_altered_figure_is_noticed() {
        let folder = Folder::new();
        let mut region = tiny("k", "r");
        run("check {}", &[&folder.regions("good.jsonl", std::slice::from_ref(&region))]).ok();
        region["source_peaks"]["vgpr"]["between"] = 3.into();
        let told = run("check {}", &[&folder.regions("bad.jsonl", &[region])]).refused();
        assert!(told.contains("kernel \"k\", region r, source order: recorded vgpr 3 (3 at"), "{told}");
        assert!(told.contains("the checker says vgpr 2 (3 at an instruction)"), "{told}");
    }

    fn array_mut(value: &mut Value) -> &mut Vec<Value> {
        value.as_array_mut().expect("an array")
    }
}

mod targets {
    use super::*;

    fn names_in_folder() -> Vec<String> {
        let entries = fs::read_dir(root().join("crates/lowtide/targets")).expect("the target files");
        let path = entries.map(|entry| entry.expect("an entry").path());
        let toml = path.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
        toml.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_file_of_the_folder_is_known() {
        let table = run("targets", &[]).ok();
        let document = run("targets --json", &[]).json();
        let names = names_in_folder();
        assert_eq!(array(&document).len(), names.len());
        for name in names {
            assert!(table.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
            assert!(array(&document).iter().any(|target| target["name"] == *name), "{name}");
        }
    }

    #[test]
    fn the_steps_of_vega_are_those_of_the_literature() {
        let document = run("targets gfx906 --json", &[]).json();
        let steps = json!([
            [24, 10],
            [28, 9],
            [32, 8],
            [36, 7],
            [40, 6],
            [48, 5],
            [64, 4],
            [84, 3],
            [128, 2],
            [256, 1]
        ]);
        assert_eq!(document[0]["files"][0]["steps"], steps);
        let table = run("targets gfx906", &[]).ok();
        for step in array(&steps) {
            let words = [step[0].to_string(), step[1].to_string()];
            assert!(table.lines().any(|line| line.split_whitespace().eq(&words)), "{words:?}: {table}");
        }
    }

    #[test]
    fn a_file_can_be_a_target() {
        let file = root().join("crates/lowtide/targets/gfx90a.toml");
        assert_eq!(run("targets {}", &[&file]).ok(), run("targets gfx90a", &[]).ok());
        let document = run("schedule {} --nodes 1 --json --target {}", &[&corpus(), &file]).json();
        assert_eq!(document["kernels"][0]["target"], "gfx90a");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        for line in ["targets gfx999", "schedule x.jsonl --target gfx999"] {
            let message = run(line, &[]).error();
            assert!(message.contains("unknown target \"gfx999\""), "{message}");
            assert!(names_in_folder().iter().all(|name| message.contains(name)), "{message}");
        }
    }

    #[test]
    fn trouble_with_a_file_is_told_with_its_place() {
        let folder = Folder::new();
        for (name, content) in [("syntax.toml", "name = \"x\"\n[[file]\n"), ("field.toml", "\nnames = 1\n")] {
            let file = folder.write(name, content);
            let message = run("targets {}", &[&file]).error();
            assert!(message.contains(name) && message.contains("line 2"), "{message}");
        }
        let message = run("targets missing.toml", &[]).error();
        assert!(message.contains("missing.toml: cannot be read"), "{message}");
    }
}

#[test]
fn info_counts_what_is_there() {
    let document = run("info {} --json", &[&corpus()]).json();
    for (key, count) in [("kernels", 26), ("regions", 284), ("instructions", 9363), ("largest", 1144)] {
        assert_eq!(document[key], count, "{key}");
    }
    assert_eq!(document["targets"], json!({"gfx906": 26}));
    let table = run("info {}", &[&corpus()]).ok();
    assert!(table.starts_with("26 kernels (26 entries), 284 regions, 9,363 instructions"), "{table}");
}

mod convert {
    use super::*;

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
        let inside: Vec<&str> = graph
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with('n') && line.ends_with("];"))
            .collect();
        assert_eq!(inside.iter().filter(|line| line.contains(" -> ")).count(), 3, "{graph}");
        assert_eq!(inside.len(), 4 + 3, "{graph}");
        for line in graph.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert!(quotes % 2 == 0, "quotes are closed: {line}");
        }
        assert_eq!(run("convert {} --format dot", &[&file]).ok(), graph);
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
}

mod bad_input {
    use super::*;

    /// All commands that read regions must refuse the file at this line, with these words.
    #[track_caller]
    fn refused(file: &Path, line: Option<u32>, words: &[&str]) {
        for command in ["schedule", "compare", "check", "info", "convert"] {
            let message = run(&format!("{command} {{}}"), &[file]).error();
            let place = match line {
                Some(line) => format!("error: {}:{line}: ", file.display()),
                None => format!("error: {}: ", file.display()),
            };
            assert!(message.starts_with(&place), "{command}: {message}");
            assert!(words.iter().all(|word| message.contains(word)), "{command}: {message}");
            assert_eq!(message.lines().count(), 1, "{command}: {message}");
        }
    }

    /// A good region, and a changed one after it.
    #[track_caller]
    fn change_refused(change: impl FnOnce(&mut Value), words: &[&str]) {
        let folder = Folder::new();
        let mut region = tiny("changed", "r");
        change(&mut region);
        refused(&folder.regions("changed.jsonl", &[tiny("good", "r"), region]), Some(2), words);
    }

    #[test]
    fn a_cycle() {
        change_refused(
            |region| region["deps"].as_array_mut().expect("deps").push(json!([3, 2, "memory", 1])),
            &["the dependences form a cycle", "#2 add", "#3 store"],
        );
    }

    #[test]
    fn an_unknown_value() {
        change_refused(|region| region["instructions"][3]["uses"] = json!(["d"]), &["#3 store", "\"d\""]);
        change_refused(|region| region["instructions"][2]["defs"] = json!([]), &["#3 store", "c"]);
    }

    #[test]
    fn a_negative_latency() {
        change_refused(
            |region| region["instructions"][1]["latency"] = (-5).into(),
            &["instructions[1].latency", "-5"],
        );
        change_refused(|region| region["deps"][0][3] = (-1).into(), &["deps[0]", "-1"]);
    }

    #[test]
    fn an_unknown_version() {
        change_refused(|region| region["lowtide"] = 99.into(), &["unknown format version 99"]);
    }

    #[test]
    fn an_unknown_key() {
        change_refused(|region| region["colour"] = "red".into(), &["colour"]);
    }

    #[test]
    fn an_unknown_target() {
        let folder = Folder::new();
        let mut region = tiny("k", "r");
        region["target"] = "gfx1".into();
        let file = folder.regions("k.jsonl", &[region]);
        for command in ["schedule", "compare"] {
            let message = run(&format!("{command} {{}}"), &[&file]).error();
            assert!(message.contains("\"k\"") && message.contains("\"gfx1\""), "{message}");
            assert!(message.contains("--target"), "{message}");
            run(&format!("{command} {{}} --target gfx906"), &[&file]).ok();
        }
    }

    #[test]
    fn an_empty_file() {
        let folder = Folder::new();
        refused(&folder.write("empty.jsonl", ""), None, &["contains no regions"]);
        refused(&folder.write("blank.jsonl", "\n \n"), None, &["contains no regions"]);
    }

    #[test]
    fn a_missing_file() {
        let folder = Folder::new();
        refused(&folder.path("missing.jsonl"), None, &["No such file"]);
        let message = run("info {}", &[folder.0.path()]).error();
        assert!(message.contains("no region files"), "{message}");
    }

    #[test]
    fn a_truncated_or_damaged_gzip() {
        let folder = Folder::new();
        let whole = fs::read(corpus().join("hashcat.jsonl.gz")).expect("the sample");
        let file = folder.write("cut.jsonl.gz", &whole[..whole.len() / 2]);
        let message = run("info {}", &[&file]).error();
        assert!(message.contains("cut.jsonl.gz:") && message.contains("truncated"), "{message}");
        let mut damaged = whole;
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let file = folder.write("damaged.jsonl.gz", damaged);
        assert!(run("info {}", &[&file]).error().contains("damaged.jsonl.gz:"));
    }

    #[test]
    fn invalid_utf8() {
        let folder = Folder::new();
        let mut bytes = lines(&[tiny("k", "r"), tiny("other", "r")]).into_bytes();
        let last = bytes.len() - 5;
        bytes[last] = 0xff;
        refused(&folder.write("latin.jsonl", bytes), Some(2), &["invalid UTF-8 at byte"]);
    }

    /// Runs a command with little address space.
    #[cfg(target_os = "linux")]
    fn with_little_memory(kibibytes: u32, args: &[&str], path: &Path) -> Run {
        let limited = format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\"");
        finish(
            Command::new("sh")
                .args(["-c", &limited, env!("CARGO_BIN_EXE_lowtide")])
                .args(args)
                .args(["--threads", "1"])
                .arg(path),
        )
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_ten_gigabytes_that_holds_nothing() {
        let folder = Folder::new();
        let path = folder.write("huge.jsonl", "");
        // Takes no space on the disk.
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(10 << 30))
            .expect("a sparse file");
        let message = with_little_memory(900_000, &["info"], &path).error();
        assert!(message.contains("huge.jsonl:1: the line is longer than 64 MiB"), "{message}");
    }

    /// What is read is not kept: many kernels need no more memory than one.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_much_larger_than_memory() {
        let folder = Folder::new();
        let path = folder.path("many.jsonl.gz");
        let file = fs::File::create(&path).expect("the temporary folder is writable");
        let mut gzip = GzEncoder::new(file, Compression::fast());
        let line = format!("{}\n", tiny("NAME", "r"));
        let kernels = 600_000;
        let mut size = 0;
        for number in 0..kernels {
            let line = line.replace("NAME", &format!("kernel{number}"));
            size += line.len();
            gzip.write_all(line.as_bytes()).expect("space on the disk");
        }
        gzip.finish().expect("space on the disk");
        let kibibytes = 250_000;
        assert!(size > 1024 * kibibytes, "{size} bytes would fit");
        let document = with_little_memory(kibibytes as u32, &["info", "--json"], &path).json();
        assert_eq!(number(&document["kernels"]), kernels);
    }

    /// A gigabyte in a line comes as a megabyte of gzip. The program must stop early, within a memory that
    /// could not hold the line.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_line_of_a_gigabyte() {
        let folder = Folder::new();
        let path = folder.path("long.jsonl.gz");
        let file = fs::File::create(&path).expect("the temporary folder is writable");
        let mut gzip = GzEncoder::new(file, Compression::fast());
        gzip.write_all(b"{\"lowtide\":1,\"kernel\":\"").expect("space on the disk");
        let block = vec![b'x'; 1 << 20];
        for _ in 0..1 << 10 {
            gzip.write_all(&block).expect("space on the disk");
        }
        gzip.finish().expect("space on the disk");
        for command in ["info", "convert"] {
            let message = with_little_memory(900_000, &[command], &path).error();
            assert!(message.contains("long.jsonl.gz:1: the line is longer than 64 MiB"), "{message}");
        }
    }
}

mod output {
    use super::*;

    #[test]
    fn a_missing_folder_is_told() {
        let folder = Folder::new();
        let output = folder.path("missing/out.jsonl");
        for command in ["schedule", "convert"] {
            let message = run(&format!("{command} {{}} -o {{}}"), &[&corpus(), &output]).error();
            let told = "missing/out.jsonl: cannot be written: the folder does not exist\n";
            assert!(message.ends_with(told), "{message}");
        }
        let message = run("convert {} -o {}", &[&corpus(), folder.0.path()]).error();
        assert!(message.contains("cannot be written: is a directory"), "{message}");
        assert!(folder.names().is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told() {
        for line in ["targets", "schedule {}", "info {} --json", "convert {}", "completions zsh"] {
            let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
            let corpus = corpus();
            let args =
                line.split(' ').map(|word| if word == "{}" { corpus.as_os_str() } else { word.as_ref() });
            let message = finish(program().args(args).stdout(full)).error();
            assert!(message.contains("cannot be written: No space left on device"), "{line}: {message}");
        }
    }

    /// A pipe stands for all special files: a test that could lose /dev/null would be a bad neighbour.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_or_device_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = Folder::new();
        let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
        let path = folder.path("pipe.jsonl");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        // Open on both ends, so that neither side waits for the other.
        let mut pipe = fs::File::options().read(true).write(true).open(&path).expect("a pipe");
        let expected = run("convert {}", &[&input]).ok();
        run("convert {} -o {}", &[&input, &path]).ok();
        assert!(fs::metadata(&path).expect("the pipe").file_type().is_fifo());
        let mut received = vec![0; expected.len()];
        pipe.read_exact(&mut received).expect("the text is in the pipe");
        assert_eq!(received, expected.as_bytes());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = Folder::new();
        let file = folder.write("file.jsonl", "old");
        let link = folder.path("link.jsonl");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
        run("convert {} -o {}", &[&input, &link]).ok();
        assert!(link.is_symlink());
        assert!(text(&file).contains("\"kernel\":\"k\""));
    }

    #[test]
    fn a_reader_that_goes_away_is_no_error() {
        for line in
            ["schedule {} --nodes 1 --json", "convert {}", "compare {}", "targets", "completions bash"]
        {
            let corpus = corpus();
            let args =
                line.split(' ').map(|word| if word == "{}" { corpus.as_os_str() } else { word.as_ref() });
            let mut child = (program().args(args))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program starts");
            drop(child.stdout.take());
            let output = child.wait_with_output().expect("the program ends");
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), &*message), (Some(0), ""), "{line}");
        }
    }
}

/// Tables as people see them.
mod golden {
    use super::*;

    #[track_caller]
    fn matches(name: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        if std::env::var_os("LOWTIDE_BLESS").is_some_and(|value| value == "1") {
            fs::write(&path, text).expect("the golden file is writable");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == expected,
            "{name} differs (LOWTIDE_BLESS=1 accepts it).\nnow:\n{text}\nbefore:\n{expected}"
        );
    }

    #[test]
    fn targets() {
        matches("targets.txt", &run("targets", &[]).ok());
    }

    #[test]
    fn the_steps_of_a_target() {
        matches("targets-gfx90a.txt", &run("targets gfx90a", &[]).ok());
    }

    #[test]
    fn info() {
        let folder = Folder::new();
        let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s"), tiny("l", "r")]);
        let table = run("info {}", &[&file]).ok();
        let (table, timing) = table.trim_end().rsplit_once('\n').expect("several lines");
        assert!(timing.starts_with("read and validated in "), "{timing}");
        matches("info.txt", &format!("{}\n", table.trim_end()));
    }

    #[test]
    fn schedule() {
        let folder = Folder::new();
        // The critical path is last in the source order, and two registers need not live at once.
        let mut late = tiny(
            "a_kernel_with_a_name_that_is_much_too_long_to_be_shown_in_a_table_of_one_hundred_columns",
            "r",
        );
        late["instructions"] = json!([
            {"op": "load", "latency": 8, "defs": ["a"]},
            {"op": "store", "latency": 1, "uses": ["a"]},
            {"op": "load", "latency": 80, "defs": ["b"]},
            {"op": "store", "latency": 1, "uses": ["b"]}
        ]);
        late["deps"] = json!([[0, 1, "data", 8], [2, 3, "data", 80]]);
        late.as_object_mut().expect("an object").remove("source_peaks");
        let file = folder.regions("k.jsonl", &[tiny("k", "r"), tiny("k", "s"), late]);
        let table = run("schedule {} --nodes 1000", &[&file]).ok();
        matches("schedule.txt", &mask_times(&table));
    }

    /// Hides the last column of the table and the seconds, but keeps their places.
    fn mask_times(table: &str) -> String {
        let mut in_table = true;
        let mut masked = String::new();
        for line in table.lines() {
            in_table &= !line.is_empty();
            let line = match line.split_once(" s of processor time") {
                Some((before, _)) => {
                    let (before, _) = before.rsplit_once(' ').expect("the seconds");
                    format!("{before} #.## s of processor time")
                }
                None if in_table && line.ends_with(|end: char| end.is_ascii_digit()) => {
                    let (before, _) = line.rsplit_once(' ').expect("the milliseconds");
                    let width = line.chars().count() - "#.#".len();
                    format!("{:width$}#.#", before.trim_end())
                }
                None => line.to_string(),
            };
            masked += &format!("{line}\n");
        }
        masked
    }
}

/// What a person at a terminal sees, by way of `script`, which every Debian has.
mod terminal {
    use super::*;
    use lowtide::generate::families;
    use lowtide::region::{Kernel, Region};

    /// The lines of both outputs, without what controls the terminal and without bars.
    fn watched(line: &str, file: &Path) -> Option<Vec<String>> {
        let command =
            format!("{} {line}", env!("CARGO_BIN_EXE_lowtide")).replace("{}", &file.display().to_string());
        let run = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output();
        let Ok(run) = run else {
            assert!(std::env::var_os("CI").is_none(), "there is no script");
            eprintln!("skipped: there is no script");
            return None;
        };
        assert!(run.status.success(), "{run:?}");
        let text = String::from_utf8(run.stdout).expect("UTF-8");
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            plain += before;
            plain.push('\n');
            let end = after.find(|c: char| c.is_ascii_alphabetic()).expect("a command ends in a letter");
            rest = &after[end + 1..];
        }
        plain += rest;
        let lines = plain.split(['\r', '\n']).map(str::trim_end);
        let is_bar = |line: &&str| line.contains(['█', '░']);
        Some(lines.filter(|line| !line.is_empty() && !is_bar(line)).map(String::from).collect())
    }

    fn file_of(folder: &Folder, region: Region) -> PathBuf {
        let kernel = Kernel {
            name: "hard".to_string(),
            origin: String::new(),
            target: None,
            is_entry: true,
            max_occupancy: None,
            regions: vec![region],
        };
        folder.write("hard.jsonl", lowtide_io::format_line(&kernel, &kernel.regions[0]) + "\n")
    }

    /// A search that takes more than a second is told line by line; the summary tells what the result does.
    #[test]
    fn a_long_search_is_told_while_it_runs() {
        let folder = Folder::new();
        let region = families::matmul(6, 6, 6);
        let size = region.len();
        let file = file_of(&folder, region);
        let line = format!("schedule {{}} --goal minreg --target gfx906 --budget {}ms", 3000 / size);
        let Some(lines) = watched(&line, &file) else { return };
        let all = lines.join("\n");
        let header = lines.iter().position(|line| line.ends_with("bound      gap")).expect(&all);
        let told: Vec<Vec<&str>> =
            (lines[header + 1..].iter()).map(|line| line.split_whitespace().collect()).collect();
        let told: Vec<_> = told.iter().take_while(|words| words.get(2) == Some(&"hard")).collect();
        // Time, s, kernel, region, what is sought, best, bound, gap, %, and at the end how it ended.
        let last = told.last().expect(&all);
        assert!(last.len() == 10 && last[4] == "peak" && ["open", "proven"].contains(&last[9]), "{all}");
        let figure = |words: &Vec<&str>, at: usize| words[at].parse::<f64>().expect("a figure");
        assert!(told.is_sorted_by_key(|words| figure(words, 6)), "bounds rise: {all}");
        assert!(told.iter().rev().is_sorted_by_key(|words| figure(words, 5)), "peaks fall: {all}");
        assert!(told.len() >= 3 && told[0][5..7] != last[5..7], "from the start: {all}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{all}");

        let summary = lines.iter().position(|line| line.starts_with("lowtide 0.")).expect(&all);
        let facts = &lines[summary..];
        assert!(facts[0].ends_with(" threads"), "{all}");
        assert!(facts[1].starts_with("command: lowtide schedule /") && facts[1].ends_with("ms"), "{all}");
        let limits = format!("target gfx906, goal minreg, algorithm auto, {} ms for each", 3000 / size);
        assert!(facts[2].starts_with(&limits), "{all}");
        assert_eq!(facts[3], format!("1 kernel, 1 region, {size} instructions"));
        assert!(facts[4].starts_with("waves ") && facts[4].contains("length "), "{all}");
        let proven = if last[9] == "proven" {
            "proven: 1 of 1 regions (100.0 %)"
        } else {
            "proven: 0 of 1 regions (0.0 %)"
        };
        assert_eq!((facts[5].as_str(), facts.len()), (proven, 6), "{all}");
    }

    /// The same without a terminal: results, and nothing else.
    #[test]
    fn nothing_is_told_to_a_pipe() {
        let folder = Folder::new();
        let region = families::matmul(6, 6, 6);
        let time = format!("{}ms", 1500 / region.len());
        let file = file_of(&folder, region);
        run(&format!("schedule {{}} --goal minreg --budget {time}"), &[&file]).ok();
    }
}
