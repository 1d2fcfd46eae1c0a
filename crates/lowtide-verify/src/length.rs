//! Lengths: schedules in cycles, and the proof that none is shorter.
//!
//! Each instruction has a *head*, the least cycles before its issue, and a *tail*, the least cycles between its issue and the last one. Paths of
//! dependences prove both. A *crowd* proves more: if K jobs of a resource run from some cycle on, the last of them runs late. The theorems are in
//! `docs/certificates.md`.

use crate::proof::Failure;
use crate::region::{Graph, Op};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers of a proof are below this, so that sums fit.
const MOST: i64 = 1 << 50;

/// The issue model of a target.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// Most instructions in a cycle.
    pub width: u32,
    /// The copies of each unit. Other units limit nothing.
    pub units: BTreeMap<String, u32>,
    /// The first entry that matches an instruction replaces the latency of its data dependences.
    pub latencies: Vec<Latency>,
}

/// An entry of the table of latencies.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The instruction needs this unit,
    unit: Box<str>,
    /// it may load or store,
    access: Option<Access>,
    /// it accesses this memory,
    address_space: Option<i32>,
    /// and its name starts with this text.
    prefix: Option<String>,
    /// The cycles until its results can be used.
    cycles: u32,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    Load,
    Store,
}

impl Latency {
    fn matches(&self, op: &Op) -> bool {
        let flag = |access: &Access| if matches!(access, Access::Load) { 'l' } else { 's' };
        op.units.contains_key(&self.unit)
            && self.access.as_ref().is_none_or(|access| op.flags.contains(flag(access)))
            && self.address_space.is_none_or(|space| Some(space) == op.address_space.or(Some(-1)))
            && self.prefix.as_ref().is_none_or(|prefix| op.name.starts_with(prefix))
    }
}

/// A proof that no schedule is shorter.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LengthProof {
    /// A crowd of the whole region, and the heads and tails that it needs.
    Bound(Bound),
}

/// The steps of a bound.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    #[serde(default)]
    heads: Vec<Raise>,
    #[serde(default)]
    tails: Vec<Raise>,
    crowd: Crowd,
}

/// An instruction whose head or tail a crowd raises.
#[derive(Deserialize)]
#[serde(untagged)]
enum Raise {
    Slots(u32, i64, i64),
    Unit(u32, i64, i64, String),
}

/// Jobs from a cycle on, with at least a gap after each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Crowd {
    Slots(i64, i64),
    Unit(i64, i64, String),
}

/// The end of time from which cycles are counted.
#[derive(Clone, Copy, PartialEq)]
enum From {
    First,
    Last,
}

/// A region on an issue model.
pub struct Machine<'g> {
    graph: &'g Graph,
    issue: &'g Issue,
    /// For each instruction, what it depends on and what depends on it, with the least cycles between the issues.
    preds: Vec<Vec<(u32, i64)>>,
    succs: Vec<Vec<(u32, i64)>>,
    /// The latency of each dependence.
    latencies: Vec<i64>,
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Refused(reason.into()))
}

impl<'g> Machine<'g> {
    /// Apply the table of latencies.
    pub fn new(graph: &'g Graph, issue: &'g Issue) -> Self {
        let entry =
            |op: &Op| issue.latencies.iter().find(|entry| entry.matches(op)).map(|entry| entry.cycles);
        let table: Vec<Option<u32>> = graph.ops.iter().map(entry).collect();
        let (mut preds, mut succs) = (vec![Vec::new(); graph.count], vec![Vec::new(); graph.count]);
        let mut latencies = Vec::with_capacity(graph.deps.len());
        for dep in &graph.deps {
            let by_table = table[dep.from as usize].filter(|_| dep.data);
            let latency = i64::from(by_table.unwrap_or(dep.latency));
            let (from, to) = (&graph.ops[dep.from as usize].units, &graph.ops[dep.to as usize].units);
            // One after the other, if there is one slot, or one copy of a unit that both need.
            let one_slot = i64::from(issue.width == 1);
            let alone =
                |unit: &str| issue.units.get(unit) == Some(&1) && to.get(unit).is_some_and(|n| *n > 0);
            let busy = from.iter().filter(|(unit, _)| alone(unit)).map(|(_, cycles)| i64::from(*cycles));
            let apart = busy.fold(latency.max(one_slot), i64::max);
            preds[dep.to as usize].push((dep.from, apart));
            succs[dep.from as usize].push((dep.to, apart));
            latencies.push(latency);
        }
        Self { graph, issue, preds, succs, latencies }
    }

    /// Return the length of a schedule if its cycles are legal.
    pub fn length(&self, cycles: &[u32]) -> Result<i64, Failure> {
        let at = |i: u32| i64::from(cycles[i as usize]);
        for (dep, latency) in self.graph.deps.iter().zip(&self.latencies) {
            if at(dep.to) < at(dep.from) + latency {
                return refuse(format!("the schedule issues {} too early after {}", dep.to, dep.from));
            }
        }
        // Where most jobs overlap, one of them begins.
        let crowded = |mut busy: Vec<(i64, i64)>, most: u32| {
            busy.sort_unstable();
            let mut ends: Vec<i64> = busy.iter().map(|job| job.1).collect();
            ends.sort_unstable();
            let over = |(n, job): (usize, &(i64, i64))| {
                n + 1 - ends.partition_point(|e| *e <= job.0) > most as usize
            };
            busy.iter().enumerate().any(over)
        };
        let all = (0..self.graph.count as u32).map(|i| (at(i), at(i) + 1));
        if crowded(all.collect(), self.issue.width) {
            return refuse("the schedule issues too many instructions in a cycle");
        }
        for (unit, &copies) in &self.issue.units {
            let need = |i: u32| Some((at(i), at(i) + self.jobs(i, Some(unit)))).filter(|(a, b)| b > a);
            if crowded((0..self.graph.count as u32).filter_map(need).collect(), copies) {
                return refuse(format!("the schedule needs too many copies of {unit:?} in a cycle"));
            }
        }
        Ok(cycles.iter().max().map_or(0, |last| i64::from(*last) + 1))
    }

    /// Return the jobs of an instruction: the cycles for which it needs a unit, or its one issue slot.
    fn jobs(&self, i: u32, unit: Option<&str>) -> i64 {
        unit.map_or(1, |unit| self.graph.ops[i as usize].units.get(unit).map_or(0, |n| i64::from(*n)))
    }

    /// Check that every schedule has at least `least` cycles.
    pub fn check(&self, proof: &LengthProof, least: i64) -> Result<(), Failure> {
        let LengthProof::Bound(bound) = proof;
        let heads = self.raised(&bound.heads, From::First)?;
        let tails = self.raised(&bound.tails, From::Last)?;
        let (from, gap, unit) = match &bound.crowd {
            Crowd::Slots(from, gap) => (*from, *gap, None),
            Crowd::Unit(from, gap, unit) => (*from, *gap, Some(unit.as_str())),
        };
        let members = (0u32..).zip(heads.into_iter().zip(tails)).map(|(i, (head, tail))| (i, head, tail));
        let proven = self.crowd(members, from, gap, unit, From::First)? + 1;
        if proven >= least {
            Ok(())
        } else {
            refuse(format!("the bound proves {proven} cycles, not {least}"))
        }
    }

    /// Return the heads, or the tails: those of paths, and those of the proof.
    fn raised(&self, raises: &[Raise], end: From) -> Result<Vec<i64>, Failure> {
        let count = self.graph.count as u32;
        let before = if end == From::First { &self.preds } else { &self.succs };
        let mut times = vec![0; self.graph.count];
        let mut raises = raises.iter().map(|raise| match raise {
            Raise::Slots(i, from, gap) => (*i, *from, *gap, None),
            Raise::Unit(i, from, gap, unit) => (*i, *from, *gap, Some(unit.as_str())),
        });
        let mut next = raises.next();
        for place in 0..count {
            let i = if end == From::First { place } else { count - 1 - place };
            let paths = before[i as usize].iter().map(|&(p, apart)| times[p as usize] + apart);
            times[i as usize] = paths.max().unwrap_or(0);
            while let Some((_, from, gap, unit)) = next.filter(|raise| raise.0 == i) {
                // The longest paths to i.
                let mut distances = BTreeMap::from([(place, 0)]);
                let mut members = Vec::new();
                while let Some((nearest, distance)) = distances.pop_last() {
                    let j = if end == From::First { nearest } else { count - 1 - nearest };
                    members.push((j, times[j as usize], distance));
                    for &(p, apart) in &before[j as usize] {
                        let known =
                            distances.entry(if end == From::First { p } else { count - 1 - p }).or_default();
                        *known = (distance + apart).max(*known);
                    }
                }
                let raised = self.crowd(members.into_iter(), from, gap, unit, end)?;
                times[i as usize] = raised.max(times[i as usize]);
                next = raises.next();
            }
        }
        match next {
            None => Ok(times),
            Some((i, ..)) => {
                refuse(format!("the step for instruction {i} is not in the order of the region"))
            }
        }
    }

    /// Count the jobs of members (instruction, time, distance) that run in `from` or later and keep `gap`. Return the least time of what
    /// follows the last of them.
    fn crowd(
        &self,
        members: impl Iterator<Item = (u32, i64, i64)>,
        from: i64,
        gap: i64,
        unit: Option<&str>,
        end: From,
    ) -> Result<i64, Failure> {
        if from.abs() > MOST || gap.abs() > MOST {
            return refuse("a crowd has a number that is too large");
        }
        let copies = match unit {
            None => self.issue.width,
            Some(unit) => match self.issue.units.get(unit) {
                Some(copies) => *copies,
                None => return refuse(format!("a crowd needs the unknown unit {unit:?}")),
            },
        };
        let mut jobs = 0;
        for (i, time, distance) in members {
            // Job k runs k cycles after the issue: later, and nearer to what follows. From the last cycle, it is the other way round.
            let (after, nearer) = (from - time, distance - gap);
            let (first, last) = if end == From::First { (after, nearer) } else { (-nearer, -after) };
            jobs += (last.min(self.jobs(i, unit) - 1) - first.max(0) + 1).max(0);
        }
        if jobs == 0 {
            return refuse("a crowd has no members");
        }
        Ok(from + (jobs - 1) / i64::from(copies) + gap)
    }
}
