//! Certificate files, as `docs/certificates.md` defines them.

use std::collections::BTreeMap;

use lowtide::InstrId;
use lowtide::analysis::walk::Direction;
use lowtide::certify::{By, Chain, Claim, Crowd, LengthProof, Point, Proof};
use lowtide::region::{Kernel, Region};
use lowtide::target::{Latencies, Target};
use serde_json::{Map, Value, json};

/// Return the first line of a certificate file, without the line end: the register files and issue models of the targets, with the
/// latencies for each.
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

/// Return a claim with its proof as a line, without the line end.
pub fn format_certificate(kernel: &Kernel, target: &Target, claim: &Claim) -> String {
    let mut line = Map::new();
    line.insert("kernel".to_string(), kernel.name.as_str().into());
    if !kernel.origin.is_empty() {
        line.insert("origin".to_string(), kernel.origin.as_str().into());
    }
    let mut add = |key: &str, value: Value| line.insert(key.to_string(), value);
    match claim {
        Claim::Registers { region, class, least, proof } => {
            let region = &kernel.regions[*region];
            add("region", region.name().into());
            add("claim", "registers".into());
            add("class", (*region.classes()[class.index()]).into());
            add("least", (*least).into());
            add("proof", proof_as_json(region, proof));
        }
        Claim::Waves { most, by } => {
            add("claim", "waves".into());
            add("target", target.name().into());
            add("most", (*most).into());
            if let Some((region, proof)) = by {
                let region = &kernel.regions[*region];
                add("region", region.name().into());
                add("proof", proof_as_json(region, proof));
            }
        }
        Claim::Length { region, least, limits, proof } => {
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
            add("proof", length_proof_as_json(target, proof));
        }
    }
    Value::Object(line).to_string()
}

fn length_proof_as_json(target: &Target, proof: &LengthProof) -> Value {
    let crowd_as_json = |crowd: &Crowd| {
        let mut row = vec![Value::from(crowd.from), Value::from(crowd.gap)];
        row.extend(crowd.unit.map(|unit| Value::from(target.issue().units[unit as usize].name.as_str())));
        Value::from(row)
    };
    let mut json = Map::new();
    for (key, raises) in [("heads", &proof.heads), ("tails", &proof.tails)] {
        if !raises.is_empty() {
            let raises = raises.iter().map(|(instr, crowd)| json!([instr.0, crowd_as_json(crowd)]));
            json.insert(key.to_string(), raises.collect::<Vec<_>>().into());
        }
    }
    let (key, by) = match &proof.by {
        By::Crowd(crowd) => ("bound", crowd_as_json(crowd)),
        By::Search(from, states) => ("search", search_as_json(*from, states)),
    };
    json.insert(key.to_string(), by);
    Value::Object(json)
}

fn search_as_json(from: Direction, states: &[(u32, InstrId)]) -> Value {
    let from = match from {
        Direction::TopDown => "start",
        Direction::BottomUp => "end",
    };
    let states: Vec<Value> = states.iter().map(|(parent, instr)| json!([parent, instr.0])).collect();
    json!({"from": from, "states": states})
}

fn proof_as_json(region: &Region, proof: &Proof) -> Value {
    let numbers =
        |instrs: &[InstrId]| -> Value { instrs.iter().map(|instr| instr.0).collect::<Vec<_>>().into() };
    match proof {
        Proof::Cut { class, at, chains } => {
            let class = &*region.classes()[class.index()];
            let chains: Vec<Value> = chains.iter().map(|chain| chain_as_json(region, chain)).collect();
            match at {
                Point::Start => json!({"cut": {"class": class, "after": "start"}}),
                Point::End => json!({"cut": {"class": class, "after": "end"}}),
                Point::After(set) => {
                    json!({"cut": {"class": class, "after": numbers(set), "chains": chains}})
                }
                Point::Before(set) => {
                    json!({"cut": {"class": class, "before": numbers(set), "chains": chains}})
                }
            }
        }
        Proof::Search { class, from, states } => {
            let mut search = search_as_json(*from, states);
            if let Some(class) = class {
                search["class"] = (*region.classes()[class.index()]).into();
            }
            json!({"search": search})
        }
        Proof::Split { class, at, below, above } => {
            let class = &*region.classes()[class.index()];
            let [below, above] = [below, above].map(|proof| proof_as_json(region, proof));
            json!({"split": {"class": class, "at": at, "below": below, "above": above}})
        }
    }
}

fn chain_as_json(region: &Region, chain: &Chain) -> Value {
    let steps = chain.steps.iter().map(|(id, instrs)| {
        let value = &region.values()[id.index()];
        let begin = value.def.map_or(-1, |def| i64::from(def.0));
        let lane = value.lanes.trailing_zeros();
        let mut step = vec![json!([value.register.0, lane, begin])];
        step.extend(instrs.iter().map(|instr| Value::from(instr.0)));
        Value::from(step)
    });
    Value::from([Value::from(chain.amount)].into_iter().chain(steps).collect::<Vec<_>>())
}
