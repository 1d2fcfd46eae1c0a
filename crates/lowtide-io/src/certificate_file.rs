//! Certificate files, as `docs/certificates.md` defines them.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use lowtide::analysis::walk::Direction;
use lowtide::certify::{By, Chain, Claim, Crowd, LengthProof, Point, Proof};
use lowtide::region::{Kernel, Region};
use lowtide::target::{Latencies, Target};
use lowtide::{ClassId, InstrId};
use serde_json::{Map, Value, json};

/// Return the first line of a certificate file, without the line end: the register files and issue models of
/// the targets, with the latencies for each.
pub fn format_certificate_header<'t>(targets: impl IntoIterator<Item = (&'t Target, Latencies)>) -> String {
    let targets: BTreeMap<&str, Value> = targets
        .into_iter()
        .map(|(target, latencies)| {
            let files = target.files().iter().map(|file| {
                let classes = file.classes.iter().map(|class| {
                    let mut json = json!({"name": class.name, "max": class.max});
                    if class.align > 1 {
                        json["align"] = class.align.into();
                    }
                    if let Some(to) = &class.spill {
                        json["spill"] = json!([to.class, to.lanes]);
                    }
                    json
                });
                json!({
                    "size": file.size,
                    "granule": file.granule,
                    "waves": file.waves,
                    "classes": classes.collect::<Vec<_>>(),
                })
            });
            let files = files.collect::<Vec<_>>();
            (target.name(), json!({"files": files, "issue": issue_as_json(target, latencies)}))
        })
        .collect();
    json!({"lowtide-certificates": 1, "targets": targets}).to_string()
}

fn issue_as_json(target: &Target, latencies: Latencies) -> Value {
    let units: Map<String, Value> =
        target.issue().units.iter().map(|unit| (unit.name.clone(), unit.count.into())).collect();
    let mut table = Vec::new();
    if latencies != Latencies::Recorded {
        for rule in target.latencies() {
            let mut entry = Map::new();
            entry.insert("unit".to_string(), rule.unit.as_str().into());
            if let Some(access) = rule.access {
                entry.insert("access".to_string(), access.name().into());
            }
            if let Some(space) = rule.address_space {
                entry.insert("address_space".to_string(), space.into());
            }
            if let Some(prefix) = &rule.prefix {
                entry.insert("prefix".to_string(), prefix.as_str().into());
            }
            entry.insert("cycles".to_string(), latencies.scaled(rule.cycles).into());
            table.push(Value::Object(entry));
        }
    }
    json!({"width": target.issue().width, "units": units, "latencies": table})
}

/// Return a claim as a JSON object without its proof.
pub fn format_claim(kernel: &Kernel, target: &Target, claim: &Claim) -> String {
    let mut line = Map::new();
    line.insert("kernel".to_string(), kernel.name.as_str().into());
    if !kernel.origin.is_empty() {
        line.insert("origin".to_string(), kernel.origin.as_str().into());
    }
    let mut add = |key: &str, value: Value| line.insert(key.to_string(), value);
    match claim {
        Claim::Registers { region, class, least } => {
            let region = &kernel.regions[*region];
            add("region", region.name().into());
            add("claim", "registers".into());
            add("class", (*region.classes()[class.index()]).into());
            add("least", (*least).into());
        }
        Claim::Waves { most, region } => {
            add("claim", "waves".into());
            add("target", target.name().into());
            add("most", (*most).into());
            if let Some(region) = region {
                add("region", kernel.regions[*region].name().into());
            }
        }
        Claim::Length { region, least, limits } => {
            let region = &kernel.regions[*region];
            add("region", region.name().into());
            add("claim", "length".into());
            add("target", target.name().into());
            add("least", (*least).into());
            let named = region.classes().iter().zip(limits);
            let limits: Map<String, Value> =
                named.filter_map(|(class, limit)| Some((class.to_string(), (*limit)?.into()))).collect();
            if !limits.is_empty() {
                add("limits", limits.into());
            }
        }
    }
    Value::Object(line).to_string()
}

/// Return a line of a certificate file, without the line end: a claim from [`format_claim`] with one more
/// field, which is JSON.
pub fn format_certificate(claim: &str, field: &str, json: &str) -> String {
    let open = claim.strip_suffix('}').unwrap_or(claim);
    format!("{open},\"{field}\":{json}}}")
}

/// Return a proof of a length as JSON.
pub fn format_length_proof(target: &Target, proof: &LengthProof) -> String {
    let write_crowd = |out: &mut String, crowd: &Crowd| {
        append(out, format_args!("[{},{}", crowd.from, crowd.gap));
        if let Some(unit) = crowd.unit {
            append(out, format_args!(",{}", Value::from(target.issue().units[unit as usize].name.as_str())));
        }
        out.push(']');
    };
    let mut out = String::from("{");
    for (key, raises) in [("heads", &proof.heads), ("tails", &proof.tails)] {
        if !raises.is_empty() {
            append(&mut out, format_args!("\"{key}\":"));
            write_list(&mut out, raises, |out, (instr, crowd)| {
                append(out, format_args!("[{},", instr.0));
                write_crowd(out, crowd);
                out.push(']');
            });
            out.push(',');
        }
    }
    match &proof.by {
        By::Crowd(crowd) => {
            out.push_str("\"bound\":");
            write_crowd(&mut out, crowd);
        }
        By::Search(from, states) => write_search(&mut out, None, *from, states),
    }
    out.push('}');
    out
}

/// Return a proof that no order is within limits as JSON.
pub fn format_proof(region: &Region, proof: &Proof) -> String {
    let mut out = String::new();
    write_proof(&mut out, region, proof);
    out
}

/// Append formatted text. A string takes all of it.
fn append(out: &mut String, text: fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn write_list<T>(out: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

fn write_search(out: &mut String, class: Option<&str>, from: Direction, states: &[(u32, InstrId)]) {
    let from = match from {
        Direction::TopDown => "start",
        Direction::BottomUp => "end",
    };
    out.push_str("\"search\":{");
    if let Some(class) = class {
        append(out, format_args!("\"class\":{},", Value::from(class)));
    }
    append(out, format_args!("\"from\":\"{from}\",\"states\":"));
    write_list(out, states, |out, (parent, instr)| append(out, format_args!("[{parent},{}]", instr.0)));
    out.push('}');
}

fn write_proof(out: &mut String, region: &Region, proof: &Proof) {
    let name = |class: &ClassId| &*region.classes()[class.index()];
    out.push('{');
    match proof {
        Proof::Cut { class, at, chains } => {
            append(out, format_args!("\"cut\":{{\"class\":{}", Value::from(name(class))));
            let (key, set) = match at {
                Point::Start => ("after\":\"start", None),
                Point::End => ("after\":\"end", None),
                Point::After(set) => ("after", Some(set)),
                Point::Before(set) => ("before", Some(set)),
            };
            append(out, format_args!(",\"{key}\""));
            if let Some(set) = set {
                out.push(':');
                write_list(out, set, |out, instr| append(out, format_args!("{}", instr.0)));
                out.push_str(",\"chains\":");
                write_list(out, chains, |out, chain| write_chain(out, region, chain));
            }
            out.push('}');
        }
        Proof::Search { class, from, states } => write_search(out, class.as_ref().map(name), *from, states),
        Proof::Split { class, at, below, above } => {
            append(out, format_args!("\"split\":{{\"class\":{},\"at\":{at}", Value::from(name(class))));
            for (key, proof) in [("below", below), ("above", above)] {
                append(out, format_args!(",\"{key}\":"));
                write_proof(out, region, proof);
            }
            out.push('}');
        }
    }
    out.push('}');
}

fn write_chain(out: &mut String, region: &Region, chain: &Chain) {
    append(out, format_args!("[{}", chain.amount));
    for (id, instrs) in &chain.steps {
        let value = &region.values()[id.index()];
        let begin = value.def.map_or(-1, |def| i64::from(def.0));
        let lane = value.lanes.trailing_zeros();
        append(out, format_args!(",[[{},{lane},{begin}]", value.register.0));
        instrs.iter().for_each(|instr| append(out, format_args!(",{}", instr.0)));
        out.push(']');
    }
    out.push(']');
}
