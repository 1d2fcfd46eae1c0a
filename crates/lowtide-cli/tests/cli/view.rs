//! What `lowtide view` promises, as far as it can be seen without a browser; `scripts/test-web` opens the
//! pages in one.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{lowtide, root};

#[track_caller]
fn ok(args: &[&str]) -> String {
    lowtide(args).ok()
}

#[track_caller]
fn error(args: &[&str]) -> String {
    lowtide(args).error()
}

fn corpus() -> String {
    root().join("corpus").display().to_string()
}

/// A part of a page, unpacked by other code than the page's own.
fn part(html: &str, position: usize) -> Value {
    let start = format!("<script type=\"text/plain\" id=\"part-{position}\">");
    let text = html.split_once(&start).expect("the part").1.split_once("</script>").expect("its end").0;
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} in base64"),
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(digit(*byte)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    let mut json = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut json).expect("gzip");
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn the_page_has_what_schedule_says() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("report.html").display().to_string();
    for goal in ["occupancy", "minreg", "length"] {
        let options = ["--kernel", "rsort", "--nodes", "500", "--goal", goal];
        let said = ok(&[&["view", &corpus(), "-o", &page][..], &options].concat());
        assert!(said.starts_with(&page) && said.contains("open it in a browser"), "{said}");
        let html = fs::read_to_string(&page).unwrap();
        assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
        let json = ok(&[&["schedule", &corpus(), "--json"][..], &options].concat());
        let json: Value = serde_json::from_str(&json).unwrap();
        let overview = part(&html, 0);
        assert_eq!(overview["goal"], goal);
        let (kernels, shown) = (json["kernels"].as_array().unwrap(), overview["kernels"].as_array().unwrap());
        assert_eq!(kernels.len(), shown.len());
        for (kernel, shown) in kernels.iter().zip(shown) {
            assert_eq!((&kernel["name"], &kernel["readable_name"]), (&shown["symbol"], &shown["name"]));
            for field in [
                "origin",
                "target",
                "occupancy",
                "occupancy_bound",
                "filtered",
                "baseline",
                "source",
                "production",
            ] {
                assert_eq!(kernel[field], shown[field]);
            }
            let (regions, shown) =
                (kernel["regions"].as_array().unwrap(), shown["regions"].as_array().unwrap());
            assert_eq!(regions.len(), shown.len());
            for (region, shown) in regions.iter().zip(shown) {
                for (field, value) in region.as_object().unwrap() {
                    match field.as_str() {
                        "order" | "cycles" | "searches" => assert!(shown.get(field).is_none()),
                        _ => assert_eq!(value, &shown[field], "{field}"),
                    }
                }
                let place = |field: &str| shown[field].as_u64().unwrap() as usize;
                let detail = &part(&html, place("part"))[place("entry")];
                let after = detail["schedules"].as_array().unwrap().last().unwrap();
                assert_eq!((&after["order"], &after["cycles"]), (&region["order"], &region["cycles"]));
                let searches = |value: &Value| value["searches"].as_array().unwrap().len();
                assert_eq!(searches(detail), searches(region));
            }
        }
    }
}

#[test]
fn the_page_compares_with_the_baseline() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("report.html").display().to_string();
    let options = ["--kernel", "rsort", "--nodes", "500"];
    for (baseline, args) in [
        ("production", &[][..]),
        ("production", &["--baseline", "production"]),
        ("source", &["--baseline", "source"]),
    ] {
        ok(&[&["view", &corpus(), "-o", &page][..], &options, args].concat());
        let html = fs::read_to_string(&page).unwrap();
        let mut moved = 0;
        for kernel in part(&html, 0)["kernels"].as_array().unwrap() {
            assert_eq!(kernel["baseline"], baseline);
            for region in kernel["regions"].as_array().unwrap() {
                let place = |field: &str| region[field].as_u64().unwrap() as usize;
                let detail = &part(&html, place("part"))[place("entry")];
                let after = detail["schedules"].as_array().unwrap().last().unwrap();
                let is_recorded = !region["production"].is_null();
                assert_eq!(after["against"], if is_recorded { baseline } else { "source" });
                moved += after["moved"].as_array().unwrap().len();
            }
        }
        assert!(moved > 0);
    }
}

#[test]
fn the_front_is_on_the_page_if_asked_for() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("report.html").display().to_string();
    let file = root().join("corpus/colony/rocprim.jsonl.gz").display().to_string();
    let kernels = |args: &[&str]| {
        ok(&[&["view", &file, "-o", &page, "--nodes", "500"], args].concat());
        part(&fs::read_to_string(&page).unwrap(), 0)["kernels"].as_array().unwrap().clone()
    };
    assert!(kernels(&[]).iter().all(|kernel| kernel["front"].is_null()));
    for goal in ["occupancy", "throughput"] {
        let shown = kernels(&["--front", "--goal", goal]);
        let json = ok(&["schedule", &file, "--nodes", "500", "--front", "--goal", goal, "--json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        for (kernel, shown) in json["kernels"].as_array().unwrap().iter().zip(&shown) {
            let points = kernel["front"].as_array().unwrap();
            let drawn = shown["front"]["points"].as_array().unwrap();
            assert_eq!(points.len(), drawn.len());
            for (point, drawn) in points.iter().zip(drawn) {
                let regions = point["regions"].as_array().unwrap();
                let sum = |figure: &str| regions.iter().map(|region| region[figure].as_u64().unwrap()).sum();
                for figure in ["length", "length_bound", "spilled"] {
                    assert_eq!(drawn[figure].as_u64(), Some(sum(figure)), "{figure}");
                }
                for figure in ["waves", "cycles_per_wave", "cycles_per_wave_bound"] {
                    assert_eq!(drawn[figure], point[figure], "{figure}");
                }
                let proven = regions.iter().filter(|region| region["length"] == region["length_bound"]);
                assert_eq!(drawn["proven"], proven.count());
                assert!(drawn.get("regions").is_none(), "schedules of points are not on the page");
            }
            // The orders of LLVM are recorded, and none is below the front.
            let production = &shown["front"]["production"];
            let point = drawn.iter().find(|point| point["waves"] == production["waves"]).expect("its waves");
            assert!(production["length"].as_u64() >= point["length_bound"].as_u64());
            assert!(
                production["cycles_per_wave"].as_f64() >= shown["cycles_per_wave_bound"].as_f64(),
                "{production}"
            );
        }
    }
}

#[test]
fn all_kinds_of_input_can_be_viewed() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("report.html").display().to_string();
    let shaders = root().join("examples/shaders").display().to_string();
    let pack = root().join("corpus/pack/gfx1100.jsonl.gz").display().to_string();
    for args in [
        &["view", &shaders, "--nodes", "100", "-o", &page][..],
        &["view", &pack, "--nodes", "100", "-o", &page],
        &["view", &corpus(), "--target", "gfx90a", "--algorithm", "list", "-o", &page],
        &["view", &corpus(), "--algorithm", "colony", "--nodes", "2000", "--kernel", "wscan", "-o", &page],
    ] {
        let written: Value = serde_json::from_str(&ok(&[args, &["--json"]].concat())).unwrap();
        assert_eq!(written["bytes"], fs::metadata(&page).unwrap().len());
        assert!(written["regions"].as_u64().unwrap() > 0);
    }
    let html = ok(&["view", &corpus(), "--kernel", "exch", "--nodes", "10", "-o", "-"]);
    assert!(html.starts_with("<!doctype html>"));
}

#[test]
fn nothing_is_written_if_something_is_wrong() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("report.html");
    let broken = folder.path().join("broken.jsonl");
    fs::write(&broken, "{\"lowtide\": 1}\n").unwrap();
    let (out, broken) = (page.display().to_string(), broken.display().to_string());
    assert!(error(&["view", &broken, "-o", &out]).contains("broken.jsonl"));
    assert!(error(&["view", &corpus(), "--kernel", "no such kernel", "-o", &out]).contains("no such kernel"));
    assert!(error(&["view", &corpus(), "--target", "moon", "-o", &out]).contains("unknown target"));
    assert!(!page.exists());
    let nowhere = folder.path().join("missing/report.html").display().to_string();
    assert!(error(&["view", &corpus(), "-o", &nowhere]).contains("folder does not exist"));
    fs::write(&page, "an old page").unwrap();
    error(&["view", &corpus(), "--kernel", "no such kernel", "-o", &out]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "an old page");
}
