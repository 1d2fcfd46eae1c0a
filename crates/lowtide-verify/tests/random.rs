//! Random small regions. Brute force over all orders gives the true minimum. A tiny certifier makes proofs,
//! which are accepted when true; changed proofs are refused unless the claim is true by brute force.
//!
//! Brute force follows each order lane by lane, as `docs/region-format.md` defines pressure. It knows neither
//! values nor states.

mod common;

use common::{Folder, header};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

/// Random numbers: a linear congruential generator, of which the high bits are used.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % count.max(1)
    }
}

const CLASSES: [&str; 2] = ["v", "s"];

/// A lane: register and number.
type Lane = (usize, usize);

#[derive(Default)]
struct Case {
    name: String,
    /// For each register: class, lanes, weight of a lane.
    registers: Vec<(usize, usize, i64)>,
    live_in: Vec<Lane>,
    live_out: Vec<Lane>,
    through: [i64; 2],
    uses: Vec<Vec<Lane>>,
    defs: Vec<Vec<Lane>>,
    /// For each instruction, the mask of those that it depends on directly.
    preds: Vec<u32>,
    /// The peaks that orders can have, with one order each.
    peaks: BTreeMap<[i64; 2], Vec<u32>>,
    lifetimes: Vec<Lifetime>,
    /// f of each state, for each class.
    weights: Vec<[i64; 2]>,
}

/// A lane, where it is written (-1: before the region), its uses, and whether it is live-out.
type Lifetime = (Lane, i64, Vec<u32>, bool);

impl Case {
    /// With `varied`, some orders have a higher peak than others.
    fn new(random: &mut Random, name: &str, varied: bool) -> Self {
        loop {
            let count = random.below(9);
            // Half of the regions write most registers once, so that many orders are legal.
            let single = random.below(2) == 0;
            let extra = 1 + random.below(if single { 2 } else { 5 });
            let registers: Vec<_> = (0..extra + if single { count } else { 0 })
                .map(|_| (random.below(2), 1 + random.below(3), 1 + random.below(2) as i64))
                .collect();
            let lanes = |random: &mut Random, most: usize, among: usize| -> Vec<Lane> {
                let mut found = Vec::new();
                for _ in 0..random.below(most + 1) {
                    let register = random.below(among);
                    let whole = random.below(2) == 0;
                    let all = (0..registers[register].1).map(|lane| (register, lane));
                    found.extend(all.filter(|_| whole || random.below(2) == 0));
                }
                found.sort_unstable();
                found.dedup();
                found
            };
            let (live_in, live_out) = (lanes(random, 2, extra), lanes(random, 2, registers.len()));
            let through = [random.below(3) as i64, random.below(3) as i64];
            let mut uses: Vec<Vec<Lane>> = Vec::new();
            let mut defs: Vec<Vec<Lane>> = Vec::new();
            for i in 0..count {
                if single {
                    uses.push(lanes(random, 2, extra + i));
                    defs.push((0..registers[extra + i].1).map(|lane| (extra + i, lane)).collect());
                } else {
                    uses.push(lanes(random, 2, extra));
                    defs.push(lanes(random, 2, extra));
                }
            }
            let mut preds = vec![0u32; count];
            for later in 0..count {
                for earlier in 0..later {
                    let meet = |a: &[Lane], b: &[Lane]| a.iter().any(|lane| b.contains(lane));
                    let needed = meet(&defs[earlier], &uses[later])
                        || meet(&uses[earlier], &defs[later])
                        || meet(&defs[earlier], &defs[later]);
                    if needed || random.below(20) == 0 {
                        preds[later] |= 1 << earlier;
                    }
                }
            }
            let name = name.to_string();
            let mut case =
                Self { name, registers, live_in, live_out, through, uses, defs, preds, ..Self::default() };
            case.lifetimes = case.find_lifetimes();
            case.weights = (0..1 << count).map(|state| case.find_weight(state)).collect();
            let mut budget = 6000;
            case.all_orders(&mut Vec::new(), &mut budget);
            if budget > 0 && (!varied || (0..2).any(|class| case.maximum(class) > case.minimum(class))) {
                return case;
            }
        }
    }

    fn count(&self) -> usize {
        self.uses.len()
    }

    fn all_orders(&mut self, order: &mut Vec<u32>, budget: &mut usize) {
        if *budget == 0 {
            return;
        }
        if order.len() == self.count() {
            *budget -= 1;
            self.peaks.entry(self.pressure(order)).or_insert_with(|| order.clone());
            return;
        }
        let done = order.iter().fold(0u32, |mask, i| mask | 1 << i);
        for i in 0..self.count() {
            if done >> i & 1 == 0 && self.preds[i] & !done == 0 {
                order.push(i as u32);
                self.all_orders(order, budget);
                order.pop();
            }
        }
    }

    /// The peaks of an order: a lane is live if it is written before or live-in, and read before the next
    /// write, or live-out.
    fn pressure(&self, order: &[u32]) -> [i64; 2] {
        let mut peaks = self.through;
        for boundary in 0..=order.len() {
            let mut live = self.through;
            for (register, &(class, lanes, weight)) in self.registers.iter().enumerate() {
                for lane in (0..lanes).map(|lane| (register, lane)) {
                    let written = self.live_in.contains(&lane)
                        || order[..boundary].iter().any(|&i| self.defs[i as usize].contains(&lane));
                    let next = order[boundary..].iter().find_map(|&i| {
                        let (read, write) =
                            (self.uses[i as usize].contains(&lane), self.defs[i as usize].contains(&lane));
                        (read || write).then_some(read)
                    });
                    if written && next.unwrap_or(self.live_out.contains(&lane)) {
                        live[class] += weight;
                    }
                }
            }
            (0..2).for_each(|class| peaks[class] = peaks[class].max(live[class]));
        }
        peaks
    }

    fn minimum(&self, class: usize) -> i64 {
        self.peaks.keys().map(|peaks| peaks[class]).min().unwrap()
    }

    fn maximum(&self, class: usize) -> i64 {
        self.peaks.keys().map(|peaks| peaks[class]).max().unwrap()
    }

    fn json(&self) -> Value {
        let operands = |lanes: &[Lane]| -> Vec<Value> {
            let mut masks: BTreeMap<usize, u64> = BTreeMap::new();
            lanes.iter().for_each(|&(register, lane)| *masks.entry(register).or_default() |= 1 << lane);
            masks.into_iter().map(|(register, mask)| json!([format!("r{register}"), mask])).collect()
        };
        let instructions: Vec<_> = (0..self.count())
            .map(|i| json!({"op": "i", "latency": 1, "defs": operands(&self.defs[i]), "uses": operands(&self.uses[i])}))
            .collect();
        let registers: Vec<_> = (0..)
            .zip(&self.registers)
            .map(|(i, &(class, lanes, weight))| {
                json!({"name": format!("r{i}"), "class": CLASSES[class], "lanes": lanes, "weight": weight})
            })
            .collect();
        let deps: Vec<_> = (0..self.count())
            .flat_map(|to| (0..to).map(move |from| (from, to)))
            .filter(|&(from, to)| self.preds[to] >> from & 1 == 1)
            .map(|(from, to)| json!([from, to, "data", 1]))
            .collect();
        json!({"lowtide": 1, "kernel": "k", "region": self.name, "classes": CLASSES, "registers": registers,
            "live_in": operands(&self.live_in), "live_out": operands(&self.live_out),
            "through": {"v": self.through[0], "s": self.through[1]}, "instructions": instructions, "deps": deps})
    }

    fn find_lifetimes(&self) -> Vec<Lifetime> {
        let mut found = Vec::new();
        for (register, &(_, lanes, _)) in self.registers.iter().enumerate() {
            for lane in (0..lanes).map(|lane| (register, lane)) {
                let mut open = self.live_in.contains(&lane).then_some((-1, Vec::new()));
                for i in 0..self.count() {
                    if let (Some((_, uses)), true) = (&mut open, self.uses[i].contains(&lane)) {
                        uses.push(i as u32);
                    }
                    if self.defs[i].contains(&lane)
                        && let Some((begin, uses)) = open.replace((i as i64, Vec::new()))
                    {
                        found.push((lane, begin, uses, false));
                    }
                }
                if let Some((begin, uses)) = open {
                    found.push((lane, begin, uses, self.live_out.contains(&lane)));
                }
            }
        }
        found
    }

    fn find_weight(&self, state: u32) -> [i64; 2] {
        let mut weight = self.through;
        for ((register, _), begin, uses, live_out) in &self.lifetimes {
            let (class, _, lane) = self.registers[*register];
            let begun = *begin < 0 || state >> begin & 1 == 1;
            if begun && (*live_out || uses.iter().any(|i| state >> i & 1 == 0)) {
                weight[class] += lane;
            }
        }
        weight
    }

    /// The states of a search within limits, and whether no order is within them. A state of all instructions
    /// is left out.
    fn search(&self, limits: [Option<i64>; 2], backward: bool) -> (Value, bool) {
        let all = (1u32 << self.count()) - 1;
        let weight = |passed: u32| self.weights[(if backward { all & !passed } else { passed }) as usize];
        let can_follow = |passed: u32, x: usize| {
            let needed = if backward {
                (0..self.count()).filter(|&y| self.preds[y] >> x & 1 == 1).fold(0, |mask, y| mask | 1 << y)
            } else {
                self.preds[x]
            };
            passed >> x & 1 == 0 && needed & !passed == 0
        };
        let close = |mut passed: u32| {
            'again: loop {
                for x in (0..self.count()).filter(|&x| can_follow(passed, x)) {
                    let (now, then) = (weight(passed | 1 << x), weight(passed));
                    if (0..2).all(|class| limits[class].is_none() || now[class] <= then[class]) {
                        passed |= 1 << x;
                        continue 'again;
                    }
                }
                return passed;
            }
        };
        let within = |passed: u32| {
            (0..2).all(|class| limits[class].is_none_or(|limit| weight(passed)[class] <= limit))
        };
        let mut states = vec![close(0)];
        let mut list = Vec::new();
        let mut holds = !within(0) || states[0] != all;
        let mut known = HashSet::from([states[0]]);
        let mut next = 0;
        while next < states.len() && within(0) {
            let state = states[next];
            for x in (0..self.count()).filter(|&x| can_follow(state, x)) {
                let step = state | 1 << x;
                let closed = close(step);
                if within(step) && known.insert(closed) {
                    if closed == all {
                        holds = false;
                        continue;
                    }
                    states.push(closed);
                    list.push(json!([next, x]));
                }
            }
            next += 1;
        }
        (json!({"search": {"from": if backward { "end" } else { "start" }, "states": list}}), holds)
    }

    /// Cuts by greedy chains at the moments of one instruction or two, and their bounds.
    fn cuts(&self, class: usize) -> Vec<(Value, i64)> {
        let count = self.count();
        let mut before = self.preds.clone(); // Directly or not.
        for i in 0..count {
            before[i] =
                (0..i).filter(|&j| before[i] >> j & 1 == 1).fold(before[i], |mask, j| mask | before[j]);
        }
        let after: Vec<u32> =
            (0..count).map(|i| (0..count).fold(0, |mask, j| mask | (before[j] >> i & 1) << j)).collect();
        let mut found = Vec::new();
        for (name, full) in [("start", 0), ("end", (1 << count) - 1)] {
            found.push((json!({"cut": {"class": CLASSES[class], "after": name}}), self.weights[full][class]));
        }
        for (i, j) in (0..count).flat_map(|j| (0..=j).map(move |i| (i, j))) {
            let members = 1 << i | 1 << j;
            let afterwards = (before[i] | before[j] | members, after[i] & after[j]);
            let beforehand = (before[i] & before[j], after[i] | after[j] | members);
            for (key, (inside, outside)) in [("after", afterwards), ("before", beforehand)] {
                let (chains, sum) = self.chains(class, inside, outside);
                found.push((
                    json!({"cut": {"class": CLASSES[class], key: [i, j], "chains": chains}}),
                    sum + self.through[class],
                ));
            }
        }
        found
    }

    /// Greedy chains: each lane of a lifetime carries its weight once.
    fn chains(&self, class: usize, inside: u32, outside: u32) -> (Vec<Value>, i64) {
        let lifetimes: Vec<_> =
            self.lifetimes.iter().filter(|(lane, ..)| self.registers[lane.0].0 == class).collect();
        let mut free: Vec<bool> = vec![true; lifetimes.len()];
        let (mut chains, mut sum) = (Vec::new(), 0);
        let name = |v: usize| {
            let &((register, lane), begin, ..) = lifetimes[v];
            json!([register, lane, begin])
        };
        'first: for first in 0..lifetimes.len() {
            if !free[first] || (lifetimes[first].1 >= 0 && inside >> lifetimes[first].1 & 1 == 0) {
                continue;
            }
            // Depth first: a lifetime, and the steps of the chain before it.
            let mut open = vec![(first, Vec::new(), vec![first])];
            let mut visited = vec![false; lifetimes.len()];
            while let Some((v, steps, path)) = open.pop() {
                if std::mem::replace(&mut visited[v], true) {
                    continue;
                }
                let (_, _, uses, live_out) = lifetimes[v];
                let last = if *live_out {
                    Some(json!([name(v)]))
                } else {
                    uses.iter().find(|&i| outside >> i & 1 == 1).map(|i| json!([name(v), i]))
                };
                if let Some(last) = last {
                    let amount =
                        path.iter().map(|&v: &usize| self.registers[lifetimes[v].0.0].2).min().unwrap_or(0);
                    path.iter().for_each(|&v| free[v] = false);
                    let steps: Vec<Value> = [json!(amount)].into_iter().chain(steps).chain([last]).collect();
                    chains.push(json!(steps));
                    sum += amount;
                    continue 'first;
                }
                for &use_of in uses {
                    // Walk back over direct predecessors, to the begin of another lifetime.
                    let mut walks = vec![vec![use_of]];
                    while let Some(walk) = walks.pop() {
                        let at = *walk.last().unwrap();
                        for w in (0..lifetimes.len()).filter(|&w| lifetimes[w].1 == i64::from(at) && free[w])
                        {
                            let step: Vec<Value> =
                                [name(v)].into_iter().chain(walk.iter().map(|i| json!(i))).collect();
                            let steps = [&steps[..], &[json!(step)]].concat();
                            open.push((w, steps, [&path[..], &[w]].concat()));
                        }
                        for p in (0..at).filter(|p| self.preds[at as usize] >> p & 1 == 1) {
                            walks.push([&walk[..], &[p]].concat());
                        }
                    }
                }
            }
        }
        (chains, sum)
    }
}

/// The files of a kernel with two regions, and the orders of its schedules.
struct Kernel {
    folder: Folder,
    cases: [Case; 2],
    /// The peaks of the schedules.
    peaks: [[i64; 2]; 2],
}

impl Kernel {
    fn new(random: &mut Random, best: bool) -> Self {
        let cases = ["r0", "r1"].map(|name| Case::new(random, name, !best));
        let chosen = cases.each_ref().map(|case| {
            let number = if best { 0 } else { case.peaks.len() - 1 - random.below(case.peaks.len().min(2)) };
            case.peaks.iter().nth(number).unwrap()
        });
        let folder = Folder::new();
        folder.lines("regions.jsonl", &cases.each_ref().map(Case::json));
        let orders = [0, 1].map(|i| common::schedule(&cases[i].name, chosen[i].1));
        folder.lines("schedules.jsonl", &orders);
        let peaks = chosen.map(|(peaks, _)| *peaks);
        Self { folder, cases, peaks }
    }

    /// The answer for one claim: accepted, refused, or unsupported.
    fn verify(&self, claim: &Value) -> Result<&'static str, String> {
        let certificates = self.folder.lines("certificates.jsonl", &[header(), claim.clone()]);
        let path = |name| self.folder.0.join(name);
        let report = lowtide_verify::verify(&path("regions.jsonl"), &path("schedules.jsonl"), &certificates)?;
        match (report.accepted, report.refusals.first()) {
            (1, _) => Ok("accepted"),
            (_, None) => Ok("unsupported"),
            (_, Some(refusal)) => Err(refusal.reason.clone()),
        }
    }

    fn registers(&self, region: usize, class: usize, proof: &Value) -> Value {
        json!({"kernel": "k", "region": self.cases[region].name, "claim": "registers", "class": CLASSES[class],
            "least": self.peaks[region][class], "proof": proof})
    }

    /// Whether brute force confirms a claim that the verifier has accepted.
    fn is_true(&self, claim: &Value) -> bool {
        match claim["claim"].as_str().unwrap() {
            "registers" => {
                let region = self.cases.iter().position(|case| claim["region"] == case.name[..]).unwrap();
                let class = CLASSES.iter().position(|class| claim["class"] == *class).unwrap();
                let least = claim["least"].as_i64().unwrap();
                least == self.cases[region].minimum(class) && least == self.peaks[region][class]
            }
            _ => {
                let most = claim["most"].as_u64().unwrap();
                let target = claim["target"].as_str().unwrap();
                most == self.most_waves(target) && most == self.waves(target)
            }
        }
    }

    /// The waves of the schedules.
    fn waves(&self, target: &str) -> u64 {
        waves_together(target, &self.peaks[0], &self.peaks[1])
    }

    /// The most waves that any orders allow.
    fn most_waves(&self, target: &str) -> u64 {
        let [one, other] = [0, 1].map(|region| self.cases[region].peaks.keys());
        let pairs = one.flat_map(|one| other.clone().map(move |other| waves_together(target, one, other)));
        pairs.max().unwrap()
    }
}

/// The waves of a kernel of two regions. Where classes share a file, it holds the most of each.
fn waves_together(target: &str, one: &[i64; 2], other: &[i64; 2]) -> u64 {
    let alone = waves(target, one).min(waves(target, other));
    let most = [one[0].max(other[0]), one[1].max(other[1])];
    if target == "joint" { alone.min(waves(target, &most)) } else { alone }
}

/// The waves that peaks allow, by counting up. Registers above `max` are spilled.
fn waves(target: &str, peaks: &[i64; 2]) -> u64 {
    let header = header();
    let mut least = u64::MAX;
    for file in header["targets"][target]["files"].as_array().unwrap() {
        let number = |key: &str| file[key].as_i64().unwrap();
        let (mut registers, mut align) = (0, 1);
        for class in file["classes"].as_array().unwrap() {
            let mut peak = peaks[CLASSES.iter().position(|name| class["name"] == *name).unwrap()];
            if target == "lanes" && class["name"] == "v" {
                let mut spilled = peaks[1] - 2;
                while spilled > 0 {
                    (peak, spilled) = (peak + 1, spilled - 2);
                }
            }
            if peak > 0 {
                while registers % align > 0 {
                    registers += 1;
                }
                registers += peak.min(class["max"].as_i64().unwrap());
                align = class["align"].as_i64().unwrap_or(1);
            }
        }
        let mut share = number("granule");
        while share < registers {
            share += number("granule");
        }
        let fit = (1..=number("waves")).rev().find(|waves| waves * share <= number("size"));
        least = least.min(fit.unwrap_or(0).unsigned_abs());
    }
    least
}

/// The limits of the target `t` for a number of waves.
fn limits(waves: i64) -> [Option<i64>; 2] {
    [Some(24 / waves / 2 * 2).filter(|limit| *limit < 12), Some(40 / waves).filter(|limit| *limit < 30)]
}

/// The most registers of class `v` with which so many waves fit, if there are at least `s` of the other
/// class. More of it leave no more.
fn rest(target: &str, s: i64, waves_wanted: u64) -> Option<i64> {
    let fits = |v: i64, s: i64| waves(target, &[v, s]) >= waves_wanted;
    let with = |s: i64| (0..12).rev().find(|v| fits(*v, s)).filter(|_| !fits(12, s));
    (0..=s).filter_map(with).min()
}

/// The limits of the target `joint` for a number of waves: for orders with at most `at` registers of a class,
/// and for all others.
fn split_limits(waves_wanted: u64, class: usize, at: i64) -> [[Option<i64>; 2]; 2] {
    let fits = |peaks: &[i64; 2]| waves("joint", peaks) >= waves_wanted;
    let alone = |class: usize| {
        let mut peaks = [0; 2];
        peaks[class] = 12;
        while !fits(&peaks) && peaks[class] > 0 {
            peaks[class] -= 1;
        }
        Some(peaks[class]).filter(|limit| *limit < 12)
    };
    let (mut below, mut above) = ([alone(0), alone(1)], [alone(0), alone(1)]);
    below[class] = Some(below[class].map_or(at, |limit| limit.min(at)));
    let mut peaks = [at + 1; 2];
    peaks[1 - class] = 12;
    while !fits(&peaks) && peaks[1 - class] >= 0 {
        peaks[1 - class] -= 1;
    }
    if (0..12).contains(&peaks[1 - class]) {
        above[1 - class] = Some(peaks[1 - class]);
    }
    [below, above]
}

impl Kernel {
    /// A claim about waves in two steps, and whether its proofs hold.
    fn split(&self, region: usize, class: usize, at: i64, more: u64) -> (Value, bool) {
        let case = &self.cases[region];
        let reached = self.waves("joint");
        let [below, above] = split_limits(reached + more, class, at);
        let (first, holds) = case.search(below, false);
        let (second, holds_too) = case.search(above, true);
        let split = json!({"class": CLASSES[class], "at": at, "below": first, "above": second});
        let claim = json!({"kernel": "k", "claim": "waves", "target": "joint", "most": reached,
            "region": case.name, "proof": {"split": split}});
        (claim, holds && holds_too)
    }
}

#[test]
fn waves_of_classes_that_share_a_file_are_proven_in_two_steps() {
    let mut random = Random(3);
    let (mut proven, mut alone, mut open) = (0, 0, 0);
    for round in 0..60 {
        let kernel = Kernel::new(&mut random, round % 2 == 0);
        let reached = kernel.waves("joint");
        let is_most = reached == kernel.most_waves("joint");
        if reached == 8 {
            continue; // No orders allow more.
        }
        let mut is_proven = false;
        for (region, class) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let case = &kernel.cases[region];
            let [whole, _] = split_limits(reached + 1, class, 12);
            let whole = [whole[0].filter(|limit| *limit < 12), whole[1].filter(|limit| *limit < 12)];
            let is_alone = case.search(whole, false).1;
            for at in 0..12 {
                let (claim, holds) = kernel.split(region, class, at, 1);
                let answer = kernel.verify(&claim);
                assert_eq!(answer.is_ok(), holds, "{answer:?} {claim} {}", case.json());
                assert!(!holds || is_most, "{claim}");
                is_proven |= holds;
                proven += usize::from(holds);
                alone += usize::from(holds && is_alone);
            }
        }
        open += usize::from(is_most && !is_proven);
    }
    println!("{proven} accepted, {alone} of them need no split; {open} claims need more than two steps");
    assert!(proven > 100 && proven - alone > 5, "{proven} {alone}");
}

/// Splits one after the other, from none to the most registers of class `s`, leave out nothing.
#[test]
fn many_splits_prove_all_waves() {
    let mut random = Random(8);
    let (mut proven, mut refused) = (0, 0);
    for round in 0..60 {
        let kernel = Kernel::new(&mut random, round % 2 == 0);
        for target in ["joint", "lanes"] {
            let reached = kernel.waves(target);
            for case in kernel.cases.iter().filter(|_| reached < 8) {
                let most = case.peaks.keys().map(|peaks| waves(target, peaks)).max().unwrap();
                let alone = |s: &i64| waves(target, &[0, *s]) > reached;
                // A limit for `s` alone, as far as registers of this class can be addressed.
                let max = if target == "joint" { 12 } else { 2 };
                let alone = (0..max).rev().find(alone).filter(|_| !alone(&max));
                let part = |from: i64, to: Option<i64>| {
                    let limit = alone.into_iter().chain(to).min();
                    case.search([rest(target, from, reached + 1), limit], round % 3 == 0).0
                };
                let last = 12;
                let mut proof = part(last, None);
                for at in (0..last).rev() {
                    proof = json!({"split": {"class": "s", "at": at, "below": part(at, Some(at)), "above": proof}});
                }
                let claim = json!({"kernel": "k", "claim": "waves", "target": target, "most": reached,
                    "region": case.name, "proof": proof});
                let answer = kernel.verify(&claim);
                assert_eq!(answer.is_ok(), most <= reached, "{target} {answer:?} {claim} {}", case.json());
                *(if most <= reached { &mut proven } else { &mut refused }) += 1;
            }
        }
    }
    println!("{proven} accepted, {refused} refused");
    assert!(proven > 50 && refused > 10, "{proven} {refused}");
}

#[test]
fn true_claims_are_accepted() {
    let mut random = Random(1);
    let (mut searches, mut cuts, mut long_chains, mut wave_searches, mut wave_limits) = (0, 0, 0, 0, 0);
    for round in 0..120 {
        let kernel = Kernel::new(&mut random, round % 2 == 0);
        for (region, class) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let case = &kernel.cases[region];
            let optimal = kernel.peaks[region][class] == case.minimum(class);
            let mut wanted = [None; 2];
            wanted[class] = Some(kernel.peaks[region][class] - 1);
            for backward in [false, true] {
                let (proof, holds) = case.search(wanted, backward);
                assert_eq!(holds, optimal, "the certifier of the test");
                let answer = kernel.verify(&kernel.registers(region, class, &proof));
                assert_eq!(answer.is_ok(), optimal, "{answer:?} {}", case.json());
                searches += usize::from(optimal);
            }
            for (proof, bound) in case.cuts(class) {
                assert!(bound <= case.minimum(class), "{proof} {}", case.json());
                let proven = bound == kernel.peaks[region][class];
                long_chains += usize::from(
                    proven
                        && proof["cut"]["chains"].as_array().is_some_and(|chains| {
                            chains.iter().any(|chain| chain.as_array().unwrap().len() > 2)
                        }),
                );
                let answer = kernel.verify(&kernel.registers(region, class, &proof));
                assert_eq!(answer.is_ok(), proven, "{answer:?} {}", case.json());
                cuts += usize::from(proven);
            }
        }
        let reached = kernel.waves("t");
        let optimal = reached == kernel.most_waves("t");
        let mut proven = false;
        // More than 8 waves do not fit anyway, and no limits belong to them.
        for case in kernel.cases.iter().filter(|_| reached < 8) {
            for backward in [false, true] {
                let (proof, holds) = case.search(limits(reached as i64 + 1), backward);
                let claim = json!({"kernel": "k", "claim": "waves", "target": "t", "most": reached,
                    "region": case.name, "proof": proof});
                let answer = kernel.verify(&claim);
                assert_eq!(answer.is_ok(), holds, "{answer:?} {}", case.json());
                proven |= holds;
                wave_searches += usize::from(holds);
            }
        }
        let plain = json!({"kernel": "k", "claim": "waves", "target": "t", "most": reached});
        assert_eq!(kernel.verify(&plain).is_ok(), reached == 8);
        wave_limits += usize::from(reached == 8);
        assert_eq!(proven || reached == 8, optimal);
    }
    println!(
        "{searches} searches, {cuts} cuts, {long_chains} with several values, {wave_searches} + {wave_limits} waves"
    );
    assert!(searches > 500 && cuts > 500 && long_chains > 20 && wave_searches > 50 && wave_limits > 10);
}

/// All numbers, strings, lists and objects of a JSON value, as pointers.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| places(item, format!("{at}/{i}"), found));
        }
        Value::Object(items) => {
            items.iter().for_each(|(key, item)| places(item, format!("{at}/{key}"), found));
        }
        _ => {}
    }
    found.push(at);
}

fn mutate(random: &mut Random, claim: &mut Value) {
    let mut found = Vec::new();
    match claim.get("proof") {
        Some(proof) if random.below(8) > 0 => places(proof, "/proof".into(), &mut found),
        _ => places(claim, String::new(), &mut found),
    }
    let Some(place) = claim.pointer_mut(&found[random.below(found.len())]) else { return };
    let strings = ["v", "s", "r0", "r1", "start", "end", "t", "joint", "k"];
    match place {
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            *place = match random.below(8) {
                0 | 1 => json!(old.saturating_add(1)),
                2 | 3 => json!(old.saturating_sub(1)),
                4 | 5 => json!(random.below(9)),
                6 => json!(-1),
                _ => [json!(u64::MAX), json!(i64::MIN), json!(1e300), json!(4294967296u64)][random.below(4)]
                    .clone(),
            };
        }
        Value::String(_) => *place = json!(strings[random.below(strings.len())]),
        Value::Array(items) if !items.is_empty() => {
            let (a, b) = (random.below(items.len()), random.below(items.len()));
            match random.below(4) {
                0 => drop(items.remove(a)),
                1 => items.swap(a, b),
                2 => items.insert(b, items[a].clone()),
                _ => items.truncate(a),
            }
        }
        Value::Object(items) => {
            let Some(key) = items.keys().nth(random.below(items.len())).cloned() else { return };
            let item = items.remove(&key).unwrap();
            match key.as_str() {
                "after" => drop(items.insert("before".into(), item)),
                "before" => drop(items.insert("after".into(), item)),
                _ if random.below(3) > 0 => drop(items.insert(key, item)),
                _ => {}
            }
        }
        _ => *place = json!(random.below(4)),
    }
}

#[test]
fn changed_proofs_prove_nothing_false() {
    let mut random = Random(7);
    let (mut accepted, mut refused, mut false_claims) = (0, 0, 0);
    let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
    while accepted + refused < 12_000 {
        let kernel = Kernel::new(&mut random, false);
        for _ in 0..60 {
            let (region, class) = (random.below(2), random.below(2));
            let case = &kernel.cases[region];
            let backward = random.below(2) == 0;
            let reached = kernel.waves("t");
            // Proofs for the limits of the claim, or for lower ones. They hold or not.
            let mut claim = match random.below(5) {
                4 => {
                    let at = case.minimum(class) - 2 + random.below(4) as i64;
                    kernel.split(region, class, at.clamp(0, 11), 1 + random.below(2) as u64).0
                }
                0 => {
                    let (proof, _) =
                        case.search(limits(reached as i64 + 1 + random.below(2) as i64), backward);
                    json!({"kernel": "k", "claim": "waves", "target": "t", "most": reached,
                        "region": case.name, "proof": proof})
                }
                1 if case.count() > 0 && random.below(2) == 0 => {
                    // Chains as if all that has to be in a set were in it.
                    let members = [random.below(case.count()), random.below(case.count())];
                    let inside = [u32::MAX, case.preds[members[0]] | 1 << members[0]][random.below(2)];
                    let (chains, _) = case.chains(class, inside, u32::MAX);
                    let key = ["after", "before"][random.below(2)];
                    let proof = json!({"cut": {"class": CLASSES[class], key: members, "chains": chains}});
                    kernel.registers(region, class, &proof)
                }
                1 => {
                    let mut cuts = case.cuts(class);
                    // Near the claim: the best of some.
                    for _ in 0..3.min(cuts.len() - 1) {
                        cuts.swap_remove(random.below(cuts.len()));
                    }
                    let best = cuts.into_iter().max_by_key(|(_, bound)| *bound).unwrap();
                    kernel.registers(region, class, &best.0)
                }
                _ => {
                    let mut wanted = [None; 2];
                    wanted[class] = Some(kernel.peaks[region][class] - 1 - random.below(2) as i64);
                    kernel.registers(region, class, &case.search(wanted, backward).0)
                }
            };
            (0..random.below(4)).for_each(|_| mutate(&mut random, &mut claim));
            match kernel.verify(&claim) {
                Ok("accepted") => {
                    assert!(
                        kernel.is_true(&claim),
                        "{claim}\n{}\n{}",
                        kernel.cases[0].json(),
                        kernel.cases[1].json()
                    );
                    accepted += 1;
                }
                Ok(_) => {}
                Err(reason) => {
                    refused += 1;
                    if claim["claim"] == "registers" && kernel.peaks[region][class] > case.minimum(class) {
                        false_claims += 1;
                    }
                    let words = reason.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
                    *reasons.entry(words.into()).or_default() += 1;
                }
            }
        }
    }
    println!(
        "{accepted} accepted, {refused} refused, {false_claims} of schedules that are not optimal\n{reasons:#?}"
    );
    assert!(accepted > 1000 && refused > 8_000 && false_claims > 1000);
}
