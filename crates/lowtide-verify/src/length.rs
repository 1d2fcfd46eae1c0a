//! Lengths: schedules in cycles, and the proofs that none is shorter.
//!
//! Each instruction has a *head*, the least cycles before its issue, and a *tail*, the least cycles between
//! its issue and the last one. Paths of dependences prove both. A *crowd* proves more: if K jobs of a
//! resource run from some cycle on, the last of them runs late. A *search* lists states in time, such that
//! every step of a shorter schedule leads from the list to the list. The theorems are in
//! `docs/certificates.md`.

use crate::proof::{Checked, Failure, Limit, MAX_WORDS, Search, ensure, is_within, refuse};
use crate::region::{Bits, Graph, Instruction};
use crate::walk::Walk;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The issue model of a target.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// Most instructions in a cycle.
    pub width: NonZeroU32,
    /// The copies of each unit. Other units limit nothing.
    pub units: BTreeMap<String, NonZeroU32>,
    /// The first entry that matches an instruction replaces the latency of its data dependences.
    pub latencies: Vec<Latency>,
}

/// An entry of the table of latencies: the cycles until results can be used.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    unit: Box<str>,
    access: Option<Access>,
    address_space: Option<i32>,
    prefix: Option<String>,
    cycles: u32,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    Load = b'l' as isize,
    Store = b's' as isize,
}

impl Latency {
    fn matches(&self, i: &Instruction) -> bool {
        i.units.contains_key(&self.unit)
            && self.access.is_none_or(|access| i.flags.contains(access as u8 as char))
            && self.address_space.is_none_or(|space| i.address_space.unwrap_or(-1) == space)
            && self.prefix.as_ref().is_none_or(|prefix| i.op.starts_with(prefix))
    }
}

/// A proof that no schedule is shorter: raised heads and tails, and either a crowd of the whole region or the
/// states of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthProof {
    #[serde(default)]
    heads: Vec<(u32, Crowd)>,
    #[serde(default)]
    tails: Vec<(u32, Crowd)>,
    bound: Option<Crowd>,
    search: Option<Search>,
}

/// Jobs from a cycle on, with at least a gap after each: of the issue slots, or of a unit.
#[derive(Deserialize)]
struct Crowd(i32, i32, #[serde(default)] Option<String>);

/// A region on an issue model.
pub struct Machine<'g> {
    graph: &'g Graph,
    issue: &'g Issue,
    /// For each instruction, what it depends on and what depends on it, with the least cycles between the
    /// issues.
    preds: Vec<Vec<(u32, i64)>>,
    succs: Vec<Vec<(u32, i64)>>,
    /// The latency of each dependence.
    latencies: Vec<i64>,
}

/// Equal if the orders of both are the same, and the issue model: then each proof about lengths of one is one
/// about the other.
impl PartialEq for Machine<'_> {
    fn eq(&self, other: &Self) -> bool {
        let units = |machine: &Self| machine.graph.ops.iter().map(|op| &op.units).collect::<Vec<_>>();
        std::ptr::eq(self.issue, other.issue) && self.preds == other.preds && units(self) == units(other)
    }
}

impl<'g> Machine<'g> {
    /// Apply the table of latencies.
    pub fn new(graph: &'g Graph, issue: &'g Issue) -> Self {
        let entry = |i: &Instruction| issue.latencies.iter().find(|entry| entry.matches(i)).map(|e| e.cycles);
        let table: Vec<Option<u32>> = graph.ops.iter().map(entry).collect();
        let (mut preds, mut succs) = (vec![Vec::new(); graph.count], vec![Vec::new(); graph.count]);
        let mut latencies = Vec::with_capacity(graph.deps.len());
        for &(from, to, ref kind, recorded) in &graph.deps {
            let by_table = table[from as usize].filter(|_| kind == "data");
            let latency = i64::from(by_table.unwrap_or(recorded));
            // One after the other, if there is one slot, or one copy of a unit that both need.
            let one_slot = i64::from(issue.width == NonZeroU32::MIN);
            let alone = |unit: &str| {
                issue.units.get(unit) == Some(&NonZeroU32::MIN) && jobs(graph, to, Some(unit)) > 0
            };
            let units = graph.ops[from as usize].units.iter().filter(|(unit, _)| alone(unit));
            let apart = units.map(|(_, busy)| i64::from(*busy)).fold(latency.max(one_slot), i64::max);
            preds[to as usize].push((from, apart));
            succs[from as usize].push((to, apart));
            latencies.push(latency);
        }
        // Of parallel dependences, the strictest counts.
        for edges in &mut preds {
            edges.sort_unstable_by_key(|&(from, apart)| (from, -apart));
            edges.dedup_by_key(|edge| edge.0);
        }
        Self { graph, issue, preds, succs, latencies }
    }

    /// Return the length of a schedule if its cycles are legal.
    pub fn length(&self, cycles: &[u32]) -> Checked<i64> {
        let at = |i: u32| i64::from(cycles[i as usize]);
        for (&(from, to, ..), latency) in self.graph.deps.iter().zip(&self.latencies) {
            if at(to) < at(from) + latency {
                return refuse(format!("the schedule issues {to} too early after {from}"));
            }
        }
        let units = self.issue.units.iter().map(|(unit, copies)| (Some(unit.as_str()), *copies));
        for (unit, copies) in units.chain([(None, self.issue.width)]) {
            let needs = (0..self.graph.count as u32).map(|i| (at(i), at(i) + jobs(self.graph, i, unit)));
            let mut busy: Vec<(i64, i64)> = needs.filter(|(start, end)| end > start).collect();
            busy.sort_unstable();
            let mut ends: Vec<i64> = busy.iter().map(|need| need.1).collect();
            ends.sort_unstable();
            // Where most needs overlap, one of them begins.
            for (begun, (start, _)) in (1..).zip(&busy) {
                if begun - ends.partition_point(|end| end <= start) > copies.get() as usize {
                    return refuse(format!(
                        "the schedule needs too much of {} at once",
                        unit.unwrap_or("the issue width")
                    ));
                }
            }
        }
        Ok(cycles.iter().max().map_or(0, |last| i64::from(*last) + 1))
    }

    /// Check that every schedule within the limits has at least `least` cycles.
    pub fn check(&self, proof: &LengthProof, limits: &[Limit], least: i64) -> Checked {
        let (heads, tails) = (self.raised(&proof.heads, false)?, self.raised(&proof.tails, true)?);
        match (&proof.bound, &proof.search) {
            (None, Some(search)) => self.search(search, heads, tails, limits, least - 1),
            (Some(bound), None) => {
                let members: Vec<_> = (0..).zip(heads).zip(tails).map(|((i, h), t)| (i, h, t)).collect();
                match self.crowd(&members, bound, false)? + 1 {
                    proven if proven < least => {
                        refuse(format!("the bound proves {proven} cycles, not {least}"))
                    }
                    _ => Ok(()),
                }
            }
            _ => refuse("the proof must have either \"bound\" or \"search\""),
        }
    }

    /// Return the heads, or backward the tails: those of paths, and those of the proof.
    fn raised(&self, raises: &[(u32, Crowd)], backward: bool) -> Checked<Vec<i64>> {
        let count = self.graph.count as u32;
        // From a place in the direction of time to an instruction, and back.
        let turn = |i: u32| if backward { count - 1 - i } else { i };
        let before = if backward { &self.succs } else { &self.preds };
        let mut times = vec![0; self.graph.count];
        let mut raises = raises.iter().peekable();
        for i in (0..count).map(turn) {
            let paths = before[i as usize].iter().map(|&(p, apart)| times[p as usize] + apart);
            times[i as usize] = paths.max().unwrap_or(0);
            while let Some((_, crowd)) = raises.next_if(|raise| raise.0 == i) {
                // The longest paths to i.
                let mut distances = BTreeMap::from([(turn(i), 0)]);
                let mut members = Vec::new();
                while let Some((nearest, distance)) = distances.pop_last() {
                    let j = turn(nearest);
                    members.push((j, times[j as usize], distance));
                    for &(p, apart) in &before[j as usize] {
                        let known = distances.entry(turn(p)).or_default();
                        *known = (distance + apart).max(*known);
                    }
                }
                let raised = self.crowd(&members, crowd, backward)?;
                times[i as usize] = raised.max(times[i as usize]);
            }
        }
        match raises.next() {
            None => Ok(times),
            Some((i, _)) => refuse(format!("the step for instruction {i} is not in the order of the region")),
        }
    }

    /// Count the jobs of members (instruction, time, distance) in a crowd. Return the least time of what
    /// follows the last of them.
    fn crowd(&self, members: &[(u32, i64, i64)], crowd: &Crowd, backward: bool) -> Checked<i64> {
        let &Crowd(from, gap, ref unit) = crowd;
        let (from, gap, unit) = (i64::from(from), i64::from(gap), unit.as_deref());
        let copies = unit.map_or(Some(&self.issue.width), |unit| self.issue.units.get(unit));
        let Some(&copies) = copies else { return refuse("a crowd needs an unknown unit") };
        let mut count = 0;
        for &(i, time, distance) in members {
            // Job k runs k cycles after the issue: later, and nearer to what follows. Backward, it is the
            // other way round.
            let (after, nearer) = (from - time, distance - gap);
            let (first, last) = if backward { (-nearer, -after) } else { (after, nearer) };
            count += (last.min(jobs(self.graph, i, unit) - 1) - first.max(0) + 1).max(0);
        }
        ensure(count > 0, "a crowd has no members")?;
        Ok(from + (count - 1) / i64::from(copies.get()) + gap)
    }

    fn search(
        &self,
        search: &Search,
        heads: Vec<i64>,
        tails: Vec<i64>,
        limits: &[Limit],
        most: i64,
    ) -> Checked {
        let (backward, limits) = search.start(self.graph, limits, self.graph.count)?;
        if most > MAX_WORDS as i64 {
            return Err(Failure::Unsupported("a length is above 2^28".into()));
        }
        let (times, tails) = if backward { (tails, heads) } else { (heads, tails) };
        let mut by_tail: Vec<u32> = (0..self.graph.count as u32).collect();
        by_tail.sort_by_key(|&i| -tails[i as usize]);
        let clock = Clock { machine: self, backward, most, tails, by_tail };
        let mut walk = Walk::new(self.graph, backward);
        let root = Moment { slot: 0, times };
        if !is_within(walk.weight(), &limits) || !clock.has_room(&root, walk.passed()) {
            return Ok(()); // Every order passes this state.
        }
        let issue = |walk: &mut Walk, own: &Moment, x| (clock.after(own, x, walk.passed()), Vec::new());
        // A state that is not later allows all that the other one does.
        let covers = |passed: &Bits, own: &Moment, other: &Moment| {
            let mut times = (0..).zip(own.times.iter().zip(&other.times));
            own.slot <= other.slot && times.all(|(i, (own, other))| passed.has(i) || own <= other)
        };
        search.follow(&mut walk, &limits, root, issue, covers, |passed, next| clock.has_room(next, passed))
    }
}

/// Return the jobs of an instruction: the cycles for which it needs a unit, or its one issue slot.
fn jobs(graph: &Graph, i: u32, unit: Option<&str>) -> i64 {
    unit.map_or(1, |unit| graph.ops[i as usize].units.get(unit).map_or(0, |n| i64::from(*n)))
}

/// The time of a state: the next slot, and for each instruction that has not been issued the first cycle in
/// which it can issue.
struct Moment {
    slot: i64,
    times: Vec<i64>,
}

/// Time from one end, for schedules of at most `most` cycles.
struct Clock<'m> {
    machine: &'m Machine<'m>,
    backward: bool,
    most: i64,
    /// The least cycles after each instruction, and the instructions from the most to the least of them.
    tails: Vec<i64>,
    by_tail: Vec<u32>,
}

impl Clock<'_> {
    /// Issue `x` as early as possible.
    fn after(&self, moment: &Moment, x: u32, passed: &Bits) -> Moment {
        let (count, width) = (self.by_tail.len() as u32, i64::from(self.machine.issue.width.get()));
        let before = if self.backward { &self.machine.succs } else { &self.machine.preds };
        let slot = moment.slot.max(moment.times[x as usize] * width);
        let mut next = Moment { slot: slot + 1, times: moment.times.clone() };
        next.times[x as usize] = slot / width;
        for i in (0..count).map(|i| if self.backward { count - 1 - i } else { i }) {
            if !passed.has(i) {
                let ready = before[i as usize].iter().map(|&(p, apart)| next.times[p as usize] + apart);
                next.times[i as usize] = ready.fold(next.times[i as usize].max(next.slot / width), i64::max);
            }
        }
        next
    }

    /// Put all instructions that have not been issued into cycles, those with the longest tails first. Tell
    /// whether none is too late.
    fn has_room(&self, moment: &Moment, passed: &Bits) -> bool {
        let width = i64::from(self.machine.issue.width.get());
        let first = moment.slot / width;
        let mut taken = vec![0; (self.most - first).max(0) as usize + 1];
        taken[0] = moment.slot % width;
        self.by_tail.iter().filter(|i| !passed.has(**i)).all(|&i| {
            let mut cycle = (moment.times[i as usize] - first) as usize;
            cycle += taken.iter().skip(cycle).take_while(|taken| **taken == width).count();
            taken.get_mut(cycle).into_iter().for_each(|taken| *taken += 1);
            first + cycle as i64 + self.tails[i as usize] < self.most
        })
    }
}
