//! Rim and Jain's relaxed problem of the instructions that remain at a state of the search: no registers, and
//! every instruction can issue in any cycle from its release on. [`crate::analysis::length_bound`] has the
//! proof.
//!
//! If the relaxed problem has no solution, the state has failed, and [`Relaxed::explain`] says why.

use super::reasons::Failure;
use super::search::Times;
use super::timed::{Link, Timed};
use crate::bits::BitSet;
use crate::index::Rows;

/// The relaxed problem.
pub(crate) struct Relaxed {
    /// For each instruction, the instructions to wait for. Dependences that follow from others are left out.
    needed: Rows<Link>,
    /// The instructions by their last cycles. The rank of each is its place in this order. Whoever waits for
    /// an instruction has a higher rank.
    by_latest: Vec<u32>,
    rank: Vec<u32>,
    /// The rest is by rank: the instructions, and their dependences on lower ranks that have no room in
    /// [`Job`].
    jobs: Vec<Job>,
    links: Vec<Link>,
    /// The remaining instructions.
    left: BitSet,
    /// The first possible cycle of the remaining instructions, and the cycle of issue of the others. The last
    /// one is 0.
    release: Vec<u32>,
    /// The cycles from now on that have room, and the slots taken.
    room: Vec<u64>,
    taken: Vec<u32>,
}

/// An instruction of the relaxed problem.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// Its first and last cycle.
    first: u32,
    last: u32,
    /// The first dependences, here because loops of few turns are slow. If there are fewer, the others are on
    /// a rank beyond all instructions that is always released.
    near: [Link; NEAR],
    /// The range of the others in [`Relaxed::links`].
    start: u32,
    end: u32,
}

const NEAR: usize = 3;

impl Relaxed {
    pub(crate) fn new(graph: &Timed) -> Self {
        let needed = needed_links(graph);
        Relaxed {
            by_latest: graph.topological().collect(),
            rank: vec![0; graph.len()],
            jobs: Vec::with_capacity(graph.len()),
            links: Vec::with_capacity(needed.items().len()),
            needed,
            left: BitSet::new(graph.len()),
            release: vec![0; graph.len() + 1],
            room: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Set the first and last cycles. All instructions are open then.
    pub(crate) fn restart(&mut self, times: &mut [Times]) {
        // An instruction is never later than those that wait for it. Of equals, the first one stays first, so
        // the order stays topological.
        self.by_latest.sort_by_key(|&instr| times[instr as usize].latest);
        for (rank, &instr) in self.by_latest.iter().enumerate() {
            self.rank[instr as usize] = rank as u32;
            times[instr as usize].rank = rank as u32;
        }
        self.jobs.clear();
        self.links.clear();
        for (rank, &instr) in self.by_latest.iter().enumerate() {
            let Times { earliest, latest, .. } = times[instr as usize];
            let start = self.links.len() as u32;
            let mut near = [Link { instr: self.rank.len() as u32, cycles: 0 }; NEAR];
            for (number, link) in self.needed.row(instr as usize).iter().enumerate() {
                let before = self.rank[link.instr as usize];
                debug_assert!((before as usize) < rank, "{instr} before {}", link.instr);
                let link = Link { instr: before, cycles: link.cycles };
                match near.get_mut(number) {
                    Some(place) => *place = link,
                    None => self.links.push(link),
                }
            }
            let end = self.links.len() as u32;
            self.jobs.push(Job { first: earliest, last: latest, near, start, end });
        }
        self.left.fill();
    }

    /// Mark an instruction as issued in a cycle.
    #[inline]
    pub(crate) fn issue(&mut self, instr: u32, cycle: u32) {
        self.flip(instr);
        self.release[self.rank[instr as usize] as usize] = cycle;
    }

    /// Mark an instruction as issued, or as open again.
    #[inline]
    pub(crate) fn flip(&mut self, instr: u32) {
        self.left.toggle(self.rank[instr as usize]);
    }

    /// Return the least number of cycles by which an instruction of the solution is early. If there is no
    /// solution, return the first rank without a cycle.
    pub(crate) fn solve(&mut self, width: u32, now: u32, target: u32) -> Result<u32, usize> {
        // (The cycle after the target always has room.)
        let cycles = target.saturating_sub(now) as usize + 1;
        self.room.clear();
        self.room.resize(cycles / 64 + 1, u64::MAX);
        if width > 1 {
            self.taken.clear();
            self.taken.resize(cycles + 1, 0);
        }
        let mut margin = u32::MAX;
        for rank in self.left.iter() {
            let Job { first, last, near, start, end } = self.jobs[rank];
            let mut release = first.max(now);
            for link in near {
                release = release.max(self.release[link.instr as usize] + link.cycles);
            }
            for link in &self.links[start as usize..end as usize] {
                release = release.max(self.release[link.instr as usize] + link.cycles);
            }
            self.release[rank] = release;
            if release > last {
                return Err(rank);
            }
            let cycle = first_room(&self.room, release - now);
            margin = margin.min(last.checked_sub(cycle + now).ok_or(rank)?);
            let is_full = width == 1 || {
                self.taken[cycle as usize] += 1;
                self.taken[cycle as usize] == width
            };
            self.room[cycle as usize / 64] &= !(u64::from(is_full) << (cycle % 64));
        }
        Ok(margin)
    }

    /// Add the reasons why there is no solution, after the instruction of a rank has found no cycle.
    ///
    /// Either it is released after its last cycle, or all cycles from its release to its last one are taken.
    /// In the second case, let `start` be the first cycle of all that are taken without a gap. An instruction
    /// with a release before `start` would have taken the gap. So all those that are released from `start` on
    /// and come by rank, and the failed one, have too few cycles.
    pub(crate) fn explain(&self, failed: usize, width: u32, now: u32, failure: &mut Failure) {
        let (release, last) = (self.release[failed], self.jobs[failed].last);
        if release > last {
            self.explain_release(failed, last + 1, width, now, failure);
            return;
        }
        let gap = (now..release).rev().find(|cycle| has_room(&self.room, cycle - now));
        let start = gap.map_or(now, |gap| gap + 1);
        for rank in self.left.iter().take_while(|&rank| rank <= failed) {
            if self.release[rank] >= start {
                self.explain_release(rank, start, width, now, failure);
            }
        }
    }

    /// Add the reason why the instruction of a rank is not released before a cycle: an issued instruction
    /// that it, or one before it, waits for.
    fn explain_release(&self, mut rank: usize, mut cycle: u32, width: u32, now: u32, failure: &mut Failure) {
        loop {
            let Job { first, near, start, end, .. } = self.jobs[rank];
            if first >= cycle {
                return;
            }
            if now >= cycle {
                failure.from = failure.from.max(cycle * width);
                return;
            }
            let mut links = near.iter().chain(&self.links[start as usize..end as usize]);
            let delays = |link: &&Link| self.release[link.instr as usize] + link.cycles >= cycle;
            let Some(link) = links.find(delays) else {
                debug_assert!(false, "nothing delays rank {rank} until {cycle}");
                failure.from = u32::MAX;
                return;
            };
            if !self.left.contains(link.instr as usize) {
                failure.add(self.by_latest[rank], cycle * width);
                return;
            }
            (rank, cycle) = (link.instr as usize, cycle - link.cycles);
        }
    }
}

/// Return the dependences without those that follow from two others.
fn needed_links(graph: &Timed) -> Rows<Link> {
    let mut rows = Rows::with_capacity(graph.len(), graph.prev.items().len());
    // The most cycles by way of another instruction, for the instructions before the current one.
    let mut around: Vec<Option<u32>> = vec![None; graph.len()];
    for instr in 0..graph.len() {
        let row = graph.prev.row(instr);
        let ways = |action: &mut dyn FnMut(u32, u32)| {
            for last in row {
                for first in graph.prev.row(last.instr as usize) {
                    action(first.instr, first.cycles + last.cycles);
                }
            }
        };
        ways(&mut |other, cycles| around[other as usize] = around[other as usize].max(Some(cycles)));
        for link in row.iter().filter(|link| around[link.instr as usize] < Some(link.cycles)) {
            rows.push(*link);
        }
        rows.end_row();
        ways(&mut |other, _| around[other as usize] = None);
    }
    rows
}

fn has_room(room: &[u64], cycle: u32) -> bool {
    room[cycle as usize / 64] >> (cycle % 64) & 1 == 1
}

/// Return the first cycle from `from` on that has room.
#[inline]
fn first_room(room: &[u64], from: u32) -> u32 {
    let mut number = from as usize / 64;
    let mut word = room[number] & u64::MAX << (from % 64);
    while word == 0 {
        number += 1;
        word = room[number];
    }
    number as u32 * 64 + word.trailing_zeros()
}
