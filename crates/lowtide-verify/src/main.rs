//! Verify certificates on the command line.

#![forbid(unsafe_code)]

use lowtide_verify::claim::{RegisterFile, Target};
use lowtide_verify::length::Issue;
use lowtide_verify::{Refusal, Report, verify};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Verify that no schedule has fewer registers, more waves or fewer cycles than the certificates claim.

Usage: lowtide-verify REGIONS SCHEDULES CERTIFICATES [--json]

  REGIONS       a region file, or a folder with *.jsonl and *.jsonl.gz files
  SCHEDULES     the schedules of these regions
  CERTIFICATES  claims about the schedules, with their proofs
  --json        print the report as JSON
  --help        print this help
  --version     print the version

All files may be compressed with gzip. The exit code is 0 if no claim is refused, 1 if a claim is refused, and 2 if a file is malformed.
";

/// Refusals in the text report.
const MOST_REFUSALS: usize = 20;

fn main() -> ExitCode {
    let (mut paths, mut json) = (Vec::new(), false);
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--json") => json = true,
            Some("--help" | "-h") => return print(HELP, ExitCode::SUCCESS),
            Some("--version" | "-V") => {
                return print(concat!("lowtide-verify ", env!("CARGO_PKG_VERSION"), "\n"), ExitCode::SUCCESS);
            }
            Some(option) if option.starts_with('-') => {
                return fail(&format!("unknown option {option}; see lowtide-verify --help"));
            }
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    let [regions, schedules, certificates] = &paths[..] else {
        return fail("the arguments are REGIONS SCHEDULES CERTIFICATES; see lowtide-verify --help");
    };
    match verify(regions, schedules, certificates) {
        Err(error) => fail(&error),
        Ok(report) => {
            let text = match json {
                true => serde_json::to_string(&report).map_or_else(|e| e.to_string(), |line| line + "\n"),
                false => text(&report),
            };
            print(&text, if report.refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
    }
}

fn fail(error: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {error}");
    ExitCode::from(2)
}

/// Print the text. A report that cannot be printed must not look like success.
fn print(text: &str, code: ExitCode) -> ExitCode {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => code,
        Err(error) => fail(&error.to_string()),
    }
}

fn text(report: &Report) -> String {
    let Report { claims, accepted, refused, unsupported, refusals, .. } = report;
    let mut out = String::new();
    for Refusal { line, kernel, region, claim, reason } in refusals.iter().take(MOST_REFUSALS) {
        let region = region.as_ref().map_or(String::new(), |region| format!(", region {region}"));
        out += &format!("refused: line {line}: {claim} of kernel {kernel}{region}: {reason}\n");
    }
    if refusals.len() > MOST_REFUSALS {
        out += &format!("refused: {} more\n", refusals.len() - MOST_REFUSALS);
    }
    for (reason, count) in &report.unsupported_reasons {
        out += &format!("unsupported: {count} claims: {reason}\n");
    }
    for (name, Target { files, issue }) in &report.targets {
        for RegisterFile { size, granule, waves, classes } in files {
            let classes = classes.iter().map(|class| format!("at most {} {}", class.max, class.name));
            let classes = classes.collect::<Vec<_>>().join(", ");
            out += &format!(
                "assumed: {name}: {size} registers in granules of {granule}, {waves} waves: {classes}\n"
            );
        }
        if let Some(Issue { width, latencies, .. }) = issue {
            let entries = latencies.len();
            out +=
                &format!("assumed: {name}: {width} instructions in a cycle, {entries} latencies by table\n");
        }
    }
    out += &format!("{claims} claims: {accepted} accepted, {refused} refused, {unsupported} unsupported\n");
    out
}
