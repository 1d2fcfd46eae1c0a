//! Runs of the program, temporary folders with files, and small regions.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Exit code and output of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Return the result of a run that must succeed without messages.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "stdout: {}", self.stdout);
        self.stdout
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("--json prints JSON")
    }

    /// Return the message of a run that must fail without a result.
    #[track_caller]
    pub(crate) fn error(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (1, ""), "stderr: {}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self.stderr
    }

    /// Return the result of a check that must fail.
    #[track_caller]
    pub(crate) fn refused(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (1, ""), "stdout: {}", self.stdout);
        self.stdout
    }

    /// Return the message of a run whose command line must be refused.
    #[track_caller]
    pub(crate) fn usage(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "stderr: {}", self.stderr);
        self.stderr
    }
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lowtide"))
}

pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("the program starts");
    Run {
        code: output.status.code().expect("the program ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

pub(crate) fn lowtide<S: AsRef<OsStr>>(args: &[S]) -> Run {
    finish(program().args(args).stdin(Stdio::null()))
}

/// Return the JSON that the program prints for an input that is piped into it.
#[track_caller]
pub(crate) fn piped(args: &[&str], input: &str) -> Value {
    let mut child = (program().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn())
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input.as_bytes()).expect("the program reads");
    drop(pipe);
    let output = child.wait_with_output().expect("the program ends");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Run the words of a line. `{}` stands for the next path.
#[track_caller]
pub(crate) fn run(line: &str, paths: &[&Path]) -> Run {
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

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn corpus() -> PathBuf {
    root().join("corpus")
}

/// A temporary folder with files in it.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("the temporary folder is writable");
        path
    }

    pub(crate) fn regions(&self, name: &str, regions: &[Value]) -> PathBuf {
        self.write(name, lines(regions))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the temporary folder is readable");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

pub(crate) fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("the file was written")
}

/// Two loads, an addition, a store.
pub(crate) fn tiny(kernel: &str, region: &str) -> Value {
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
pub(crate) fn llvm_dump() -> Value {
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

/// Return JSON byte for byte, without the lines that differ from run to run.
pub(crate) fn without_times(json: &str) -> String {
    json.lines().filter(|line| !line.trim_start().starts_with("\"seconds\": ")).collect()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

pub(crate) fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is an array"))
}

pub(crate) fn kernel_names(document: &Value) -> Vec<&str> {
    array(&document["kernels"]).iter().map(|kernel| kernel["name"].as_str().expect("a name")).collect()
}
