//! Certificate files, as `docs/certificates.md` defines them.

use std::collections::BTreeMap;

use lowtide::InstrId;
use lowtide::analysis::walk::Direction;
use lowtide::certify::{Chain, Claim, Point, Proof};
use lowtide::region::{Kernel, Region};
use lowtide::target::Target;
use serde_json::{Map, Value, json};

/// Return the first line of a certificate file: the register files of the targets, without the line end.
pub fn format_certificate_header<'t>(targets: impl IntoIterator<Item = &'t Target>) -> String {
    let targets: BTreeMap<&str, Value> = targets
        .into_iter()
        .map(|target| {
            let files = target.files().iter().map(|file| {
                let classes = file.classes.iter().map(|class| json!({"name": class.name, "max": class.max}));
                json!({
                    "size": file.size,
                    "granule": file.granule,
                    "waves": file.waves,
                    "classes": classes.collect::<Vec<_>>(),
                })
            });
            (target.name(), json!({"files": files.collect::<Vec<_>>()}))
        })
        .collect();
    json!({"lowtide-certificates": 1, "targets": targets}).to_string()
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
    }
    Value::Object(line).to_string()
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
        Proof::Search { from, states } => {
            let from = match from {
                Direction::TopDown => "start",
                Direction::BottomUp => "end",
            };
            let states: Vec<Value> = states.iter().map(|(parent, instr)| json!([parent, instr.0])).collect();
            json!({"search": {"from": from, "states": states}})
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
