//! Files for one run of the verifier, and its answer.

#![allow(dead_code)] // Not every test file uses every helper.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for the files of a test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("verify-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn lines(&self, name: &str, lines: &[Value]) -> PathBuf {
        self.write(name, lines.iter().map(|line| format!("{line}\n")).collect::<String>())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Files with one class each, one with two, and one whose registers have lanes for those of another.
pub(crate) fn header() -> Value {
    json!({"lowtide-certificates": 1, "targets": {
        "t": {"files": [{"size": 24, "granule": 2, "waves": 8, "classes": [{"name": "v", "max": 12}]},
                        {"size": 40, "granule": 1, "waves": 10, "classes": [{"name": "s", "max": 30}]}]},
        "small": {"files": [{"size": 24, "granule": 1, "waves": 8, "classes": [{"name": "v", "max": 1}]}]},
        "other": {"files": [{"size": 24, "granule": 1, "waves": 8, "classes": [{"name": "s", "max": 9}]}]},
        "joint": {"files": [{"size": 24, "granule": 2, "waves": 8,
                             "classes": [{"name": "v", "max": 12, "align": 3}, {"name": "s", "max": 12}]}]},
        "lanes": {"files": [{"size": 24, "granule": 2, "waves": 8, "classes": [{"name": "v", "max": 12}]},
                            {"size": 40, "granule": 1, "waves": 8, "classes": [{"name": "s", "max": 2, "spill": ["v", 2]}]}]}}})
}

/// A schedule of a region of kernel `k`.
pub(crate) fn schedule(region: &str, order: &[u32]) -> Value {
    json!({"lowtide-schedule": 1, "kernel": "k", "region": region, "order": order})
}

/// Return "accepted", "refused: REASON", "unsupported: REASON" or "error: REASON" for one claim.
pub(crate) fn answer(regions: &[Value], schedules: &[Value], claim: &Value) -> String {
    answers(regions, schedules, std::slice::from_ref(claim))
}

/// The same for several claims: the answer for the first that is not accepted.
pub(crate) fn answers(regions: &[Value], schedules: &[Value], claims: &[Value]) -> String {
    let folder = Folder::new();
    let mut lines = vec![header()];
    lines.extend_from_slice(claims);
    let report = lowtide_verify::verify(
        &folder.lines("regions.jsonl", regions),
        &folder.lines("schedules.jsonl", schedules),
        &folder.lines("certificates.jsonl", &lines),
    );
    match report {
        Err(error) => format!("error: {error}"),
        Ok(report) => {
            assert_eq!(report.claims, claims.len() as u64);
            assert_eq!(report.claims, report.accepted + report.refused + report.unsupported);
            assert_eq!(report.refused, report.refusals.len() as u64);
            if let Some(refusal) = report.refusals.first() {
                format!("refused: {}", refusal.reason)
            } else if let Some(reason) = report.unsupported_reasons.keys().next() {
                format!("unsupported: {reason}")
            } else {
                "accepted".into()
            }
        }
    }
}
