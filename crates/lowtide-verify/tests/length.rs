//! Lengths of random small regions. Brute force tries every order, and in it several cycles for each
//! instruction. No proof may show more than brute force finds, however it is changed, and a legal schedule is
//! one that brute force can make.
//!
//! `LOWTIDE_SCALE` multiplies the number of regions.

mod common;

use common::Folder;
use lowtide_verify::length::{Issue, LengthProof, Machine};
use lowtide_verify::proof::Failure;
use lowtide_verify::region::{self, Graph};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Random numbers: a linear congruential generator, of which the high bits are used.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % count.max(1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Brute force lets an instruction wait for so many cycles, although it could issue.
const PATIENCE: usize = 3;

struct Case {
    /// Issue width, and the copies of the units `a` and `m`. Loads on `m` have a latency of 4 by the table.
    width: u32,
    copies: [u32; 2],
    /// For each instruction the cycles of the units, and whether it loads.
    needs: Vec<[u32; 2]>,
    loads: Vec<bool>,
    /// From, to, whether it is a data dependence, and the recorded latency. A data dependence is a use of
    /// what `from` defines.
    deps: Vec<(usize, usize, bool, u32)>,
    /// The weight of what each instruction defines, and whether it is live-out.
    weights: Vec<i64>,
    live_out: Vec<bool>,
    /// For each peak, the least length of a schedule with it, and its cycles.
    best: BTreeMap<i64, (u32, Vec<u32>)>,
}

impl Case {
    fn new(random: &mut Random) -> Self {
        let count = 1 + random.below(5);
        let mut deps = Vec::new();
        for to in 0..count {
            for from in 0..to {
                if random.chance(35) {
                    deps.push((from, to, random.chance(70), random.below(4) as u32));
                }
            }
        }
        let some = |random: &mut Random| if random.chance(40) { 1 + random.below(3) as u32 } else { 0 };
        let mut case = Self {
            width: 1 + random.below(2) as u32,
            copies: [1 + random.below(2) as u32, 1],
            needs: (0..count).map(|_| [some(random), some(random)]).collect(),
            loads: (0..count).map(|_| random.chance(30)).collect(),
            deps,
            weights: (0..count).map(|_| 1 + random.below(2) as i64).collect(),
            live_out: (0..count).map(|_| random.chance(25)).collect(),
            best: BTreeMap::new(),
        };
        case.all(&mut Vec::new(), &mut vec![None; count]);
        case
    }

    fn latency(&self, (from, _, is_data, latency): (usize, usize, bool, u32)) -> u32 {
        if is_data && self.loads[from] && self.needs[from][1] > 0 { 4 } else { latency }
    }

    /// Whether an instruction may issue in a cycle with the others where they are.
    fn is_legal(&self, i: usize, cycle: u32, cycles: &[Option<u32>]) -> bool {
        let in_time = |&dep: &(usize, usize, bool, u32)| match (cycles[dep.0], cycles[dep.1]) {
            (Some(from), _) if dep.1 == i => cycle >= from + self.latency(dep),
            (_, Some(to)) if dep.0 == i => to >= cycle + self.latency(dep),
            _ => true,
        };
        let has_unit = |unit: usize| {
            (cycle..cycle + self.needs[i][unit]).all(|at| {
                let busy = |j: usize| {
                    j != i
                        && cycles[j].is_some_and(|start| (start..start + self.needs[j][unit]).contains(&at))
                };
                ((0..cycles.len()).filter(|&j| busy(j)).count() as u32) < self.copies[unit]
            })
        };
        let others = (0..cycles.len()).filter(|&j| j != i && cycles[j] == Some(cycle)).count();
        self.deps.iter().all(in_time) && has_unit(0) && has_unit(1) && (others as u32) < self.width
    }

    /// Try all instructions in all cycles after those of `order`.
    fn all(&mut self, order: &mut Vec<usize>, cycles: &mut Vec<Option<u32>>) {
        let now = order.last().and_then(|&i| cycles[i]).unwrap_or(0);
        if order.len() == cycles.len() {
            let found = (now + 1, cycles.iter().flatten().copied().collect());
            let known = self.best.entry(self.peak(order)).or_insert_with(|| found.clone());
            if found.0 < known.0 {
                *known = found;
            }
            return;
        }
        for i in 0..cycles.len() {
            let depends = self.deps.iter().any(|dep| dep.1 == i && cycles[dep.0].is_none());
            if cycles[i].is_some() || depends {
                continue;
            }
            let legal = (now..now + 20).filter(|&cycle| self.is_legal(i, cycle, cycles));
            for cycle in legal.take(PATIENCE).collect::<Vec<_>>() {
                cycles[i] = Some(cycle);
                order.push(i);
                self.all(order, cycles);
                order.pop();
                cycles[i] = None;
            }
        }
    }

    fn peak(&self, order: &[usize]) -> i64 {
        let live = |passed: &[usize], i: usize| {
            let used = |dep: &&(usize, usize, bool, u32)| dep.0 == i && dep.2;
            let needed = self.deps.iter().filter(used).any(|dep| !passed.contains(&dep.1));
            passed.contains(&i) && (needed || self.live_out[i])
        };
        let weight = |passed: &[usize]| {
            (0..order.len()).filter(|&i| live(passed, i)).map(|i| self.weights[i]).sum::<i64>()
        };
        (0..=order.len()).map(|passed| weight(&order[..passed])).max().unwrap()
    }

    /// The least length within a limit on the peak.
    fn least(&self, limit: Option<i64>) -> u32 {
        let within = self.best.iter().filter(|(peak, _)| limit.is_none_or(|limit| **peak <= limit));
        within.map(|(_, (length, _))| *length).min().unwrap_or(u32::MAX)
    }

    fn graph(&self) -> Graph {
        let name = |i: usize| format!("r{i}");
        let count = self.needs.len();
        let instructions: Vec<Value> = (0..count)
            .map(|i| {
                let uses = self.deps.iter().filter(|dep| dep.1 == i && dep.2).map(|dep| name(dep.0));
                let needs = ["a", "m"].into_iter().zip(self.needs[i]).filter(|(_, cycles)| *cycles > 0);
                let units: BTreeMap<&str, u32> = needs.collect();
                json!({"op": "i", "latency": 1, "units": units,
                    "flags": if self.loads[i] { "l" } else { "" }, "defs": [name(i)],
                    "uses": uses.collect::<Vec<_>>()})
            })
            .collect();
        let deps: Vec<Value> = self
            .deps
            .iter()
            .map(|&(from, to, is_data, latency)| {
                json!([from, to, if is_data { "data" } else { "memory" }, latency])
            })
            .collect();
        let registers: Vec<Value> =
            (0..count).map(|i| json!({"name": name(i), "class": "v", "weight": self.weights[i]})).collect();
        let live_out: Vec<String> = (0..count).filter(|&i| self.live_out[i]).map(name).collect();
        let folder = Folder::new();
        let path = folder.lines(
            "regions.jsonl",
            &[json!({"lowtide": 1, "kernel": "k", "region": "r", "classes": ["v"], "registers": registers,
                "live_out": live_out, "instructions": instructions, "deps": deps})],
        );
        let store = region::read(&path).unwrap();
        store.kernels.into_values().next().unwrap().regions.pop().unwrap().graph.unwrap()
    }

    fn issue(&self) -> Issue {
        serde_json::from_value(
            json!({"width": self.width, "units": {"a": self.copies[0], "m": self.copies[1]},
            "latencies": [{"unit": "m", "access": "load", "cycles": 4}]}),
        )
        .unwrap()
    }
}

fn is_proof(machine: &Machine, proof: &Value, limit: Option<i64>, least: u32) -> Result<(), String> {
    let proof: LengthProof = serde_json::from_value(proof.clone()).map_err(|e| e.to_string())?;
    machine.check(&proof, &[limit], least.into()).map_err(|failure| match failure {
        Failure::Refused(reason) | Failure::Unsupported(reason) => reason,
    })
}

/// A search that adds the state that the verifier misses until there is none. None if a shorter schedule may
/// exist.
fn search(machine: &Machine, limit: Option<i64>, least: u32, from: &str) -> Option<Value> {
    let mut states: Vec<[usize; 2]> = Vec::new();
    loop {
        let proof = json!({"search": {"from": from, "states": states}});
        match is_proof(machine, &proof, limit, least) {
            Ok(()) => return Some(proof),
            Err(reason) if reason.contains("all instructions") => return None,
            Err(reason) => {
                let mut numbers =
                    reason.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
                states.push([numbers.next().unwrap(), numbers.next().unwrap()]);
            }
        }
    }
}

fn crowd(random: &mut Random) -> Value {
    let mut row = vec![json!(random.below(10) as i64 - 2), json!(random.below(8) as i64 - 2)];
    row.extend(random.chance(50).then(|| json!(["a", "m", "z"][random.below(20) / 9])));
    json!(row)
}

fn raises(random: &mut Random, count: usize, backward: bool) -> Value {
    let mut rows: Vec<(usize, Value)> =
        (0..random.below(4)).map(|_| (random.below(count), crowd(random))).collect();
    rows.sort_by_key(|row| if backward { count - row.0 } else { row.0 });
    json!(rows)
}

/// Change a number, or drop, double or swap items.
fn mutate(random: &mut Random, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let (one, other) = (random.below(items.len()), random.below(items.len()));
            match random.below(8) {
                0 => drop(items.remove(one)),
                1 => items.swap(one, other),
                2 => items.insert(other, items[one].clone()),
                _ => mutate(random, &mut items[one]),
            }
        }
        Value::Object(items) => {
            let Some(key) = items.keys().nth(random.below(items.len())).cloned() else { return };
            match random.below(12) {
                0 => drop(items.remove(&key)),
                _ => mutate(random, &mut items[&key]),
            }
        }
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            *value = match random.below(6) {
                0 | 1 => json!(old.saturating_add(1)),
                2 | 3 => json!(old.saturating_sub(1)),
                4 => json!(random.below(8)),
                _ => {
                    [json!(i64::MAX), json!(i64::MIN), json!(u64::MAX), json!(1e300)][random.below(4)].clone()
                }
            };
        }
        Value::String(text) => *text = ["start", "end", "a", "m"][random.below(4)].to_string(),
        _ => {}
    }
}

fn scale() -> usize {
    std::env::var("LOWTIDE_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

#[test]
fn no_proof_shows_more_than_brute_force_finds() {
    let mut random = Random(5);
    let (mut accepted, mut refused, mut tight, mut searches, mut missing) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for _ in 0..300 * scale() {
        let case = Case::new(&mut random);
        let (graph, issue) = (case.graph(), case.issue());
        let machine = Machine::new(&graph, &issue);
        let count = graph.count;
        let lowest = *case.best.keys().next().unwrap();
        let mut judge = |proof: &Value, limit: Option<i64>, least: u32, place: &str| {
            let optimum = case.least(limit);
            match is_proof(&machine, proof, limit, least) {
                Ok(()) => {
                    assert!(
                        least <= optimum,
                        "{place}: {proof} {limit:?} {least} {optimum}\n{:?}",
                        case.deps
                    );
                    accepted += 1;
                    tight += u64::from(least == optimum);
                }
                Err(_) => refused += 1,
            }
        };
        for _ in 0..60 {
            let proof = json!({"heads": raises(&mut random, count, false), "tails": raises(&mut random, count, true),
                "bound": crowd(&mut random)});
            let least = case.least(None) + random.below(3) as u32 - 1;
            judge(&proof, None, least, "bound");
        }
        for limit in [None, Some(lowest), Some(lowest + random.below(3) as i64)] {
            let optimum = case.least(limit);
            for from in ["start", "end"] {
                let Some(proof) = search(&machine, limit, optimum, from) else {
                    missing += 1; // Searches know nothing of units.
                    continue;
                };
                searches += 1;
                judge(&proof, limit, optimum, "search");
                judge(&proof, limit, optimum + 1, "a length more");
                judge(&proof, limit.map(|limit| limit + 1), optimum, "a higher limit");
                for _ in 0..8 {
                    let mut proof = proof.clone();
                    if random.chance(30) {
                        proof["heads"] = raises(&mut random, count, false);
                        proof["tails"] = raises(&mut random, count, true);
                    }
                    (0..1 + random.below(3)).for_each(|_| mutate(&mut random, &mut proof));
                    judge(&proof, limit, optimum + random.below(2) as u32, "changed");
                }
            }
        }
    }
    println!(
        "{accepted} accepted, {tight} of them tight, {refused} refused; {searches} searches, {missing} without one"
    );
    assert!(
        accepted > 5_000 && tight > 2_000 && refused > 8_000 && searches > 1_000,
        "{accepted} {tight} {refused} {searches}"
    );
}

#[test]
fn schedules_are_legal_if_brute_force_says_so() {
    let mut random = Random(9);
    let (mut legal, mut illegal) = (0, 0);
    for _ in 0..400 * scale() {
        let case = Case::new(&mut random);
        let (graph, issue) = (case.graph(), case.issue());
        let machine = Machine::new(&graph, &issue);
        for (length, best) in case.best.values().cloned().collect::<Vec<_>>() {
            assert_eq!(machine.length(&best), Ok(i64::from(length)), "{best:?}");
            for _ in 0..6 {
                let mut cycles = best.clone();
                let i = random.below(cycles.len());
                cycles[i] = random.below(length as usize + 2) as u32;
                let all: Vec<Option<u32>> = cycles.iter().copied().map(Some).collect();
                let is_legal = (0..cycles.len()).all(|i| case.is_legal(i, cycles[i], &all));
                assert_eq!(machine.length(&cycles).is_ok(), is_legal, "{cycles:?}");
                legal += u32::from(is_legal);
                illegal += u32::from(!is_legal);
            }
        }
    }
    assert!(legal > 300 && illegal > 300, "{legal} {illegal}");
}
