//! Hostile and unusual input: no panic, and an answer that names file and line. Also the program itself.

mod common;

use common::{Folder, header, schedule};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

fn region(name: &str) -> Value {
    json!({"lowtide": 1, "kernel": name, "region": "r", "classes": ["v"],
        "registers": [{"name": "x", "class": "v", "lanes": 64, "weight": 4294967295u32}],
        "live_in": [["x", u64::MAX]], "through": {"v": 4294967295u32},
        "instructions": [{"op": "i", "latency": 1, "uses": ["x"], "defs": [["x", 1, "d"]]}, {"op": "j", "latency": 0}],
        "deps": [[0, 1, "barrier", 0]]})
}

/// The whole weight of the region above, with the largest numbers that the format allows.
const ALL: i64 = 65 * 4294967295;

fn claim(kernel: &str) -> Value {
    json!({"kernel": kernel, "region": "r", "claim": "registers", "class": "v", "least": ALL,
        "proof": {"cut": {"class": "v", "before": [0], "chains": [[64i64 * 4294967295, [[0, 63, -1], 0]]]}}})
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn verify(folder: &Folder) -> Result<lowtide_verify::Report, String> {
    let path = |name: &str| folder.0.join(name);
    lowtide_verify::verify(&path("r.jsonl"), &path("s.jsonl"), &path("c.jsonl"))
}

fn good() -> Folder {
    let folder = Folder::new();
    folder.lines("r.jsonl", &[region("k")]);
    folder.lines("s.jsonl", &[schedule("r", &[0, 1])]);
    folder.lines("c.jsonl", &[header(), claim("k")]);
    folder
}

#[test]
fn largest_numbers() {
    let report = verify(&good()).unwrap();
    assert_eq!((report.accepted, report.claims), (1, 1), "{report:?}");
}

/// Each file cut off at each byte, and with each byte replaced: an error, or a claim that is still true.
#[test]
fn damaged_files() {
    for name in ["r.jsonl", "s.jsonl", "c.jsonl"] {
        let folder = good();
        let text = std::fs::read(folder.0.join(name)).unwrap();
        for end in 0..text.len() - 1 {
            folder.write(name, &text[..end]);
            let answer = verify(&folder);
            // A file that ends with a line is well-formed: then there is no claim, or it is refused.
            if let Ok(report) = answer {
                assert_eq!(report.accepted, u64::from(end + 1 == text.len()), "{name} {end}");
            }
        }
        for (i, byte) in (0..text.len()).flat_map(|i| b"\0\x1f-9\"[{\xff".map(|byte| (i, byte))) {
            let mut changed = text.clone();
            changed[i] = byte;
            folder.write(name, &changed);
            if let Err(error) = verify(&folder) {
                assert!(error.contains(name), "{error}");
            }
        }
    }
}

#[test]
fn strange_lines() {
    let deep = "[".repeat(100_000);
    let lines = [
        "null",
        "7",
        "[]",
        "{}",
        "\"x\"",
        "NaN",
        "{\"kernel\": NaN}",
        "{\"a\": 1e999}",
        "{",
        "\u{1f}",
        "\u{1f}\u{8b}",
        &deep,
        "{\"v\": ",
        "{\"lowtide\": 1}",
        "{\"lowtide-schedule\": 1, \"order\": [-1]}",
        "{\"lowtide-certificates\": -1}",
    ];
    for name in ["r.jsonl", "s.jsonl", "c.jsonl"] {
        let folder = good();
        let text = std::fs::read_to_string(folder.0.join(name)).unwrap();
        let number = text.lines().count() + 1;
        for line in lines {
            folder.write(name, format!("{text}{line}\n"));
            let error = verify(&folder).unwrap_err();
            assert!(error.contains(&format!("{name}:{number}: ")), "{line:.20}: {error}");
        }
    }
    let folder = good();
    folder.write("c.jsonl", "\n\n");
    assert!(verify(&folder).unwrap_err().contains("no header"));
    folder.write("c.jsonl", format!("{}\n", claim("k")));
    assert!(verify(&folder).unwrap_err().contains("c.jsonl:1: not the header"));
}

#[test]
fn small_input_takes_little_memory() {
    let folder = good();
    // Many instructions, many lanes: unsupported, and the claims of other regions still count.
    let mut long = region("long");
    long["instructions"] = json!(vec![json!({"op": "", "latency": 0}); 20_000]);
    let mut wide = region("wide");
    wide["instructions"] = json!(vec![json!({"op": "", "latency": 0, "uses": vec!["x"; 1000]}); 100]);
    folder.lines("r.jsonl", &[long, wide, region("k")]);
    folder.lines("c.jsonl", &[header(), claim("long"), claim("wide"), claim("k")]);
    let report = verify(&folder).unwrap();
    assert_eq!((report.accepted, report.unsupported), (1, 2), "{report:?}");
    assert_eq!(report.unsupported_reasons.len(), 2);
    // A packed line of more than 64 MiB.
    folder.write("c.jsonl", packed(&" ".repeat((64 << 20) + 1)));
    assert!(verify(&folder).unwrap_err().contains("c.jsonl:1: the line has more than 64 MiB"));
}

#[test]
fn folders_and_packed_parts() {
    let folder = good();
    let line = |name: &str| format!("{}\n", region(name));
    folder
        .write("all/a.jsonl", [line("a").into_bytes(), packed(&line("b")), line("c").into_bytes()].concat());
    folder.write("all/deep/d.jsonl.gz", [packed(&line("k")), packed("\n{\"v\": 3}\n")].concat());
    folder.write("all/readme.txt", "not a region");
    std::fs::create_dir(folder.0.join("empty")).unwrap();
    let path = |name: &str| folder.0.join(name);
    let store = lowtide_verify::region::read(&path("all")).unwrap();
    assert_eq!((store.kernels.len(), store.dumps), (4, 1));
    assert!(lowtide_verify::region::read(&path("empty")).is_err());
    assert!(lowtide_verify::region::read(&path("missing")).is_err());
    let report = lowtide_verify::verify(&path("all"), &path("s.jsonl"), &path("c.jsonl")).unwrap();
    assert_eq!(report.accepted, 1);
    // A packed file that is cut off.
    let mut cut = packed(&line("a"));
    cut.truncate(cut.len() - 9);
    folder.write("r.jsonl", cut);
    assert!(verify(&folder).unwrap_err().contains("r.jsonl:2: "));
}

/// The recorded peaks of the source order come from other programs than the verifier.
#[test]
fn regions_of_the_repository() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let store = lowtide_verify::region::read(&corpus).unwrap();
    assert!(store.kernels.values().all(|kernel| !kernel.repeated));
    let mut compared = 0;
    for file in lowtide_verify::lines::files(&corpus).unwrap() {
        lowtide_verify::lines::for_each(&file, |_, line| {
            let line: Value = serde_json::from_slice(line).unwrap();
            let name = |key: &str| line[key].as_str().unwrap_or_default().to_string();
            let kernel = &store.kernels[&(name("kernel"), name("origin"))];
            let graph = kernel.regions[kernel.by_name[&name("region")]].graph.as_ref().unwrap();
            let mut walk = lowtide_verify::walk::Walk::new(graph, false);
            let mut peaks = walk.weight().to_vec();
            for x in 0..graph.count as u32 {
                walk.pass(x);
                peaks.iter_mut().zip(walk.weight()).for_each(|(peak, weight)| *peak = (*peak).max(*weight));
            }
            for (class, peak) in graph.classes.iter().zip(peaks) {
                if let Some(recorded) = line["source_peaks"][class]["between"].as_i64() {
                    assert_eq!(peak, recorded, "{} {} {class}", name("kernel"), name("region"));
                    compared += 1;
                }
            }
            Ok(())
        })
        .unwrap();
    }
    assert!(compared > 400, "{compared}");
}

fn program(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_lowtide-verify")).args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn the_program() {
    let folder = good();
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_string();
    let (r, s, c) = (path("r.jsonl"), path("s.jsonl"), path("c.jsonl"));
    let (code, text, _) = program(&[&r, &s, &c]);
    assert_eq!(code, Some(0));
    assert!(text.ends_with("1 claims: 1 accepted, 0 refused, 0 unsupported\n"), "{text}");
    assert!(text.contains("assumed: t: 24 registers in granules of 2, 8 waves: at most 12 v\n"), "{text}");
    // The first claim is good, the others repeat it. One has an unknown kind.
    let mut lines = vec![header(), json!({"kernel": "k", "claim": "energy", "anything": []})];
    lines.extend(vec![claim("k"); 24]);
    folder.lines("c.jsonl", &lines);
    let (code, text, _) = program(&[&r, &s, &c]);
    assert_eq!(code, Some(1));
    assert_eq!(text.matches("refused: line ").count(), 20, "{text}");
    assert!(
        text.contains("refused: line 4: registers of kernel k, region r: an earlier line has this claim\n")
    );
    assert!(text.contains("refused: 3 more\n") && text.contains("unsupported: 1 claims: claim \"energy\"\n"));
    let (code, text, _) = program(&["--json", &r, &s, &c]);
    assert_eq!(code, Some(1));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["claims"], 25);
    assert_eq!(report["accepted"], 1);
    assert_eq!(report["unsupported"], 1);
    assert_eq!(report["refused"], 23);
    assert_eq!(report["refusals"][22]["kernel"], "k");
    assert_eq!(report["targets"]["t"]["files"][0]["size"], 24);
    folder.lines("c.jsonl", &lines[..2]);
    assert_eq!(program(&[&r, &s, &c]).0, Some(0));
    // Mistakes.
    assert_eq!(program(&[&r, &s, "missing"]).0, Some(2));
    assert_eq!(program(&[&r, &s]).0, Some(2));
    assert_eq!(program(&[&r, &s, &c, &c]).0, Some(2));
    assert!(program(&[&r, &s, &c, "--fast"]).2.contains("unknown option --fast"));
    assert!(program(&["--help"]).1.contains("Usage: lowtide-verify REGIONS SCHEDULES CERTIFICATES"));
    assert!(program(&["--version"]).1.starts_with("lowtide-verify 0."));
}
