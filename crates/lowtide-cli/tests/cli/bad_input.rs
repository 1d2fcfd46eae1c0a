//! Broken, hostile and huge files.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::common::{Folder, Run, corpus, finish, lines, number, run, tiny};

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
    // Long lines: the file is large, what the program keeps of each kernel is not.
    let line = format!("{}\n", tiny("NAME", "r")).replace("\"add\"", &format!("\"{}\"", "add".repeat(1000)));
    let kernels = 100_000;
    let mut size = 0;
    for number in 0..kernels {
        let line = line.replace("NAME", &format!("kernel{number}"));
        size += line.len();
        gzip.write_all(line.as_bytes()).expect("space on the disk");
    }
    gzip.finish().expect("space on the disk");
    let kibibytes = 300_000;
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

/// The parser of shaders panics on some input: an error, and nothing else on the terminal.
#[cfg(feature = "shaders")]
#[test]
fn a_panic_of_the_shader_parser_is_one_line() {
    let folder = Folder::new();
    let shader = folder.write(
        "a.comp",
        "#version 450\nlayout(local_size_x = 1) in;\nlayout(set = 0, binding = 0) buffer B { float y; };\n\
         const float a[2000000000] = float[2000000000](1.0);\nvoid main() { y = a[2]; }\n",
    );
    let message = run("info {}", &[&shader]).error();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("a.comp: is damaged: the parser failed"), "{message}");
}
