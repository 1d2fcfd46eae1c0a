//! Lower bounds on the length as a few steps that a verifier can replay.
//!
//! The bounds of `analysis::length_bound` place all jobs. For a proof, one *crowd* is enough: the jobs that
//! run from some cycle on and keep some distance to what is bounded. A crowd is named by these two numbers,
//! and the verifier counts its members. Raised heads and tails are written only if a crowd needs them: the
//! demand goes from the last crowd backwards.

use super::length_search;
use crate::analysis::length_bound::{LengthBound, binding_units};
use crate::analysis::times::{Times, separation};
use crate::analysis::walk::Direction;
use crate::index::{InstrId, Rows};
use crate::problem::Problem;
use crate::region::Edge;

/// Jobs of one resource: too many for the cycles between two others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crowd {
    /// The jobs run in this cycle or later, counted from the end of time at which the proof starts.
    pub from: i64,
    /// From each job to what is bounded, there are at least so many cycles.
    pub gap: i64,
    /// The unit by its position in the target. None for the issue slots.
    pub unit: Option<u32>,
}

/// A proof that no schedule is shorter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LengthProof {
    /// Instructions that issue later than paths alone prove, from the first to the last.
    pub heads: Vec<(InstrId, Crowd)>,
    /// Instructions that issue earlier before the end than paths alone prove, from the last to the first.
    pub tails: Vec<(InstrId, Crowd)>,
    /// What follows from them.
    pub by: By,
}

/// What no shorter schedule gets past.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum By {
    /// A crowd of the whole region.
    Crowd(Crowd),
    /// A search, which lists for each state but the first the state before it and the instruction that leads
    /// to it.
    Search(Direction, Vec<(u32, InstrId)>),
}

/// The most jobs of one need of a unit.
const MOST_JOBS: u32 = 64;

/// The widest range of cycles of a crowd.
const MOST_SLOTS: i64 = 1 << 22;

/// Return a proof that every schedule has at least `length` cycles, if paths or crowds show it.
pub(super) fn by_crowds(
    problem: &Problem,
    length: u32,
    bounds: &impl Fn() -> LengthBound,
) -> Option<LengthProof> {
    let paths = Times::on(problem);
    let resources = resources(problem);
    let prove = |heads: &[u32], tails: &[u32]| {
        resources.iter().find_map(|&resource| {
            by_crowd(
                problem,
                length,
                resource,
                [
                    &Side::new(problem, &resources, 1, &paths.earliest, heads),
                    &Side::new(problem, &resources, -1, &paths.tail, tails),
                ],
            )
        })
    };
    // Most lengths need no raised times, which take the most time to find.
    prove(&paths.earliest, &paths.tail).or_else(|| {
        let bounds = bounds();
        let candidates = [
            (bounds.langevin_cerny_forward, &bounds.earliest, &paths.tail),
            (bounds.langevin_cerny_backward, &paths.earliest, &bounds.tail),
            (bounds.langevin_cerny, &bounds.earliest, &bounds.tail),
        ];
        let (_, heads, tails) = candidates.into_iter().find(|(bound, ..)| *bound >= length)?;
        prove(heads, tails)
    })
}

fn by_crowd(
    problem: &Problem,
    length: u32,
    (unit, capacity): (Option<u32>, u32),
    sides: [&Side; 2],
) -> Option<LengthProof> {
    let region = problem.region();
    let times = |instr: InstrId| sides.map(|side| i64::from(side.raised[instr.index()]));
    let mut jobs = Vec::new();
    for instr in region.instrs() {
        let [head, tail] = times(instr);
        add_jobs(problem, instr, unit, 1, head, tail, &mut jobs);
    }
    let (from, gap) = crowd(&mut jobs, capacity, i64::from(length) - 1)?;
    let mut demands = [vec![0; region.len()], vec![0; region.len()]];
    for instr in region.instrs() {
        let [head, tail] = times(instr);
        for k in jobs_of(problem, instr, unit).filter(|k| head + k >= from && tail - k >= gap) {
            for (demands, needed) in demands.iter_mut().zip([from - k, gap + k]) {
                demands[instr.index()] = needed.max(demands[instr.index()]);
            }
        }
    }
    let [heads, tails] = demands;
    let (heads, tails) = (sides[0].raises(heads)?, sides[1].raises(tails)?);
    Some(LengthProof { heads, tails, by: By::Crowd(Crowd { from, gap, unit }) })
}

/// Return a proof by search that no schedule within the limits has fewer than `length` cycles, if it needs at
/// most `most` states.
pub(super) fn by_search(
    problem: &Problem,
    length: u32,
    limits: &[Option<u32>],
    bounds: &LengthBound,
    most: usize,
) -> Option<LengthProof> {
    let paths = Times::on(problem);
    let resources = resources(problem);
    let sides = [
        &Side::new(problem, &resources, 1, &paths.earliest, &bounds.earliest),
        &Side::new(problem, &resources, -1, &paths.tail, &bounds.tail),
    ];
    let (from, states) = length_search::refute(problem, sides, limits, length - 1, most)?;
    let all = |side: &Side| side.raises(side.raised.iter().map(|time| i64::from(*time)).collect());
    Some(LengthProof { heads: all(sides[0])?, tails: all(sides[1])?, by: By::Search(from, states) })
}

/// Return the issue slots and the units that can be a stricter limit, with their capacities.
fn resources(problem: &Problem) -> Vec<(Option<u32>, u32)> {
    let units = binding_units(problem).into_iter().map(|unit| (Some(unit.unit), unit.count));
    std::iter::once((None, problem.target().issue().width)).chain(units).collect()
}

/// Return the jobs of an instruction on a resource: for each the cycles between its issue and the job.
fn jobs_of<'p>(
    problem: &'p Problem,
    instr: InstrId,
    unit: Option<u32>,
) -> impl Iterator<Item = i64> + use<'p> {
    let slots = u32::from(unit.is_none());
    let needs = problem.unit_needs(instr).iter().filter(move |need| Some(need.0) == unit);
    (0..slots).chain(needs.flat_map(|need| 0..need.1.min(MOST_JOBS))).map(i64::from)
}

/// Add the jobs of an instruction as (release, distance). `sign` is -1 if time runs backwards.
fn add_jobs(
    problem: &Problem,
    instr: InstrId,
    unit: Option<u32>,
    sign: i64,
    release: i64,
    distance: i64,
    jobs: &mut Vec<(i64, i64)>,
) {
    jobs.extend(jobs_of(problem, instr, unit).map(|k| (release + sign * k, distance - sign * k)));
}

/// Place jobs (release, distance) by falling distance, each in the first slot with room. At the first one
/// whose slot and distance sum up to `wanted`, return the first slot of the full ones before it, and its
/// distance.
fn crowd(jobs: &mut [(i64, i64)], capacity: u32, wanted: i64) -> Option<(i64, i64)> {
    let first = jobs.iter().map(|job| job.0).min()?;
    let last = jobs.iter().map(|job| job.0).max()?;
    let slots = last - first + jobs.len() as i64 / i64::from(capacity) + 2;
    if slots > MOST_SLOTS {
        let alone = jobs.iter().find(|(release, distance)| release + distance >= wanted);
        return alone.copied();
    }
    jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.1));
    let mut filled = vec![0u32; slots as usize];
    // For each full slot, a later one that may have room.
    let mut next: Vec<u32> = (0..slots as u32).collect();
    for &(release, distance) in jobs.iter() {
        let mut slot = (release - first) as usize;
        while next[slot] as usize != slot {
            next[slot] = next[next[slot] as usize];
            slot = next[slot] as usize;
        }
        if first + slot as i64 + distance >= wanted {
            let before = filled[..slot].iter().rev().take_while(|filled| **filled == capacity).count();
            return Some((first + (slot - before) as i64, distance));
        }
        filled[slot] += 1;
        if filled[slot] == capacity {
            next[slot] = slot as u32 + 1;
        }
    }
    None
}

/// One end of time: heads from the first cycle, or tails from the last.
pub(super) struct Side<'a> {
    problem: &'a Problem<'a>,
    resources: &'a [(Option<u32>, u32)],
    pub(super) sign: i64,
    /// For each instruction, those before it as seen from this end, and the least cycles between the issues.
    pub(super) before: Rows<(InstrId, i64)>,
    /// What paths prove, and what is to be proven.
    paths: &'a [u32],
    pub(super) raised: &'a [u32],
}

impl<'a> Side<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        resources: &'a [(Option<u32>, u32)],
        sign: i64,
        paths: &'a [u32],
        raised: &'a [u32],
    ) -> Self {
        let region = problem.region();
        let mut before = Rows::with_capacity(region.len(), region.edge_count());
        for instr in region.instrs() {
            let edges = if sign > 0 { region.preds(instr) } else { region.succs(instr) };
            for edge in edges {
                let cycles = match sign > 0 {
                    true => separation(problem, edge.instr, &Edge { instr, latency: edge.latency }),
                    false => separation(problem, instr, edge),
                };
                before.push((edge.instr, cycles.into()));
            }
            before.end_row();
        }
        Side { problem, resources, sign, before, paths, raised }
    }

    /// Return the raises that these demands need, the first one as seen from this end first.
    fn raises(&self, mut demands: Vec<i64>) -> Option<Vec<(InstrId, Crowd)>> {
        let count = self.paths.len();
        let mut raises = Vec::new();
        let mut distances: Vec<i64> = vec![-1; count];
        let mut ancestors: Vec<InstrId> = Vec::new();
        for place in (0..count).rev() {
            let instr = InstrId::at(if self.sign > 0 { place } else { count - 1 - place });
            let demand = demands[instr.index()];
            if i64::from(self.paths[instr.index()]) >= demand || self.by_path(instr, demand, &mut demands) {
                continue;
            }
            self.find_distances(instr, &mut distances, &mut ancestors);
            let found = self.resources.iter().find_map(|&(unit, capacity)| {
                let mut jobs = Vec::new();
                let own = self.path_to(instr);
                add_jobs(self.problem, instr, unit, self.sign, own, 0, &mut jobs);
                for &other in &ancestors {
                    let release = self.raised[other.index()].into();
                    let distance = distances[other.index()];
                    add_jobs(self.problem, other, unit, self.sign, release, distance, &mut jobs);
                }
                let (from, gap) = crowd(&mut jobs, capacity, demand)?;
                Some(Crowd { from, gap, unit })
            });
            if let Some(Crowd { from, gap, unit }) = found {
                for &other in &ancestors {
                    let (release, distance) =
                        (i64::from(self.raised[other.index()]), distances[other.index()]);
                    for k in jobs_of(self.problem, other, unit).map(|k| self.sign * k) {
                        if release + k >= from && distance - k >= gap {
                            demands[other.index()] = demands[other.index()].max(from - k);
                        }
                    }
                }
                for k in jobs_of(self.problem, instr, unit).map(|k| self.sign * k) {
                    let needed = from - k;
                    if -k >= gap && self.path_to(instr) >= needed {
                        let is_known = i64::from(self.paths[instr.index()]) >= needed
                            || self.by_path(instr, needed, &mut demands);
                        debug_assert!(is_known);
                    }
                }
            }
            ancestors.drain(..).for_each(|other| distances[other.index()] = -1);
            raises.push((instr, found?));
        }
        raises.reverse();
        Some(raises)
    }

    /// Return what the instructions before this one prove about it.
    fn path_to(&self, instr: InstrId) -> i64 {
        let before = self.before.row(instr.index()).iter();
        before.map(|(other, cycles)| i64::from(self.raised[other.index()]) + cycles).max().unwrap_or(0)
    }

    /// Pass a demand on to an instruction before this one. Return false if none proves it.
    fn by_path(&self, instr: InstrId, demand: i64, demands: &mut [i64]) -> bool {
        let mut before = self.before.row(instr.index()).iter();
        let proves =
            |(other, cycles): &&(InstrId, i64)| i64::from(self.raised[other.index()]) + cycles >= demand;
        let Some((other, cycles)) = before.find(proves) else { return false };
        let demand_before = &mut demands[other.index()];
        *demand_before = (demand - cycles).max(*demand_before);
        true
    }

    /// Find the longest paths to an instruction from all before it.
    fn find_distances(&self, instr: InstrId, distances: &mut [i64], ancestors: &mut Vec<InstrId>) {
        let mut open = std::collections::BinaryHeap::new();
        let place = |instr: InstrId| self.sign * i64::from(instr.0);
        let mut reach = |from: InstrId,
                         distance: i64,
                         distances: &mut [i64],
                         open: &mut std::collections::BinaryHeap<i64>| {
            for &(other, cycles) in self.before.row(from.index()) {
                let known = &mut distances[other.index()];
                if *known < 0 {
                    open.push(place(other));
                    ancestors.push(other);
                }
                *known = (distance + cycles).max(*known);
            }
        };
        reach(instr, 0, distances, &mut open);
        // All paths to an instruction are known when it is the nearest one in source order.
        while let Some(nearest) = open.pop() {
            let nearest = InstrId((self.sign * nearest) as u32);
            reach(nearest, distances[nearest.index()], distances, &mut open);
        }
    }
}
