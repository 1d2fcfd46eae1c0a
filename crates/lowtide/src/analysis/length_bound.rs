//! Lower bounds on the length (last issue cycle plus one) of every schedule of a problem.
//!
//! # The relaxed problem
//!
//! Drop the dependences, but keep their consequences. Instruction `i` issues in cycle `release(i)` or later.
//! Between its issue and the last one lie `tail(i)` or more cycles. Consider one resource alone: the issue
//! slots (`width` in each cycle, one job for each instruction), or one unit (`count` copies). A need for `p`
//! cycles of a unit becomes `p` jobs of one cycle, `k = 0 .. p`. Job `k` runs at least `k` cycles after its
//! instruction issues: it has release `release + k` and tail `tail - k`. Every schedule of the problem gives
//! one of the relaxed problem, so a bound on the latter is a bound on the former.
//!
//! # Rim and Jain
//!
//! Take the jobs by decreasing tail, which is by increasing deadline. Put each job into the first slot from
//! its release on that still has room. **If a job with tail `q` lands in slot `s`, every schedule has at
//! least `s + q + 1` cycles.** *Proof.* Let `t <= s` be the smallest slot such that all slots of `t .. s` are
//! full at that moment. Slot `t - 1` has room, and had it before. So each job in `t .. s`, and the job
//! itself, is released at `t` or later: otherwise it would have taken slot `t - 1`. These are
//! `capacity * (s - t) + 1` jobs, all with a tail of `q` or more. In any schedule, one of them runs in `s` or
//! later, because `t .. s` has one place too few. After it come `q` or more cycles, and the cycle of the last
//! issue counts itself. ∎ (For a job `k` of a unit, "runs in `s`" means that its instruction issues in
//! `s - k`. The tail of the instruction is `q + k`: the `k` cancels.)
//!
//! The schedule just built meets the largest of these numbers, so this is the best bound that the relaxation
//! gives. It never falls when releases or tails rise. A job lands in its release or later: the bound is never
//! below the critical path.
//!
//! # Langevin and Černý
//!
//! The same argument bounds the issue of a single instruction `j`. Take its ancestors only, with the longest
//! path to `j` in place of the tail. If a job with distance `q` lands in slot `s`, then `j` issues in `s + q`
//! or later. `j` itself takes part with distance 0. In the order of dependences every ancestor already has
//! its raised release, so the gain adds up. Mirrored, with time running backwards from the last issue, the
//! descendants raise the tails. An issue in cycle `c` of `T` is one in `T - 1 - c` of the mirrored problem.
//! There, the jobs of a unit run `k` cycles *before* their instruction issues. Last, one relaxed problem over
//! all instructions with raised releases and raised tails gives the bound.
//!
//! Any subset of the ancestors gives a valid (weaker) release, since leaving jobs out is a relaxation. Two
//! uses of that:
//!
//! * *Gateways.* If all further ancestors reach `j` only through `b`, they are left out. On the issue slots
//!   nothing is lost. These ancestors have landed up to `release(b)`. That is before everything that comes
//!   after `b`, unless latencies of 0 let both share a cycle. Their effect on `j` is contained in their
//!   effect on `b`. On units it could be a loss, as `b` does not wait until they are free. There, no ancestor
//!   is left out.
//! * *The work limit.* Ancestors are visited from the nearest in source order to the farthest, so their
//!   distances are exact at once. When an instruction has used its share of the work, the rest is left out.
//!
//! # Resources
//!
//! `n` instructions need `ceil(n / width)` cycles. Let a unit have `c` copies, and needs of `B` cycles in
//! all. On each copy the last need issues only after all others on that copy are done. There are at most `c`
//! last needs, so some copy has `ceil((B - the c largest needs) / c)` or more cycles before its last issue.
//! These cycles start at the smallest release of the users or later, and the smallest of their tails follows.
//! Busy cycles after the last issue do not count.

use std::time::Duration;

use crate::analysis::times::{Times, separation};
use crate::bits::{BitSet, WORD, word_of};
use crate::index::{InstrId, Rows};
use crate::problem::Problem;
use crate::region::Edge;

/// The default work of Langevin-Černý, in steps: about a tenth of a second. Six generated regions of 4,800
/// instructions, one of each shape, had no better bound with forty times the work.
pub const DEFAULT_WORK: u64 = 10_000_000;

/// The time of a step, in nanoseconds, and the least steps: a constant, and a number for each instruction.
const NANOS_PER_STEP: u64 = 10;
const LEAST_WORK: (u64, u64) = (100_000, 200);

/// Return the work of Langevin-Černý for a region of `instrs` instructions that is scheduled in the given
/// time: at most an eighth of the time. Small regions get all the work that they can use.
pub(crate) fn work_within(time: Option<Duration>, instrs: usize) -> u64 {
    let Some(time) = time else { return DEFAULT_WORK };
    let eighth = u64::try_from(time.as_nanos() / 8).unwrap_or(u64::MAX) / NANOS_PER_STEP;
    eighth.max(LEAST_WORK.0 + LEAST_WORK.1 * instrs as u64).min(DEFAULT_WORK)
}

/// The steps of one more ancestor: finding, sorting and placing it costs about four times as much as an edge.
const STEPS_OF_AN_ANCESTOR: u64 = 4;

/// The most jobs for one need of a unit. Further cycles of longer needs are left out, which is a relaxation.
const MOST_JOBS_OF_A_NEED: u32 = 64;

/// The most slots between the first and the last of a relaxed problem. Longer problems are relaxed to their
/// paths.
const MOST_SLOTS: usize = 1 << 24;

/// Lower bounds on the length of any schedule. Each is at least as large as those it builds on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LengthBound {
    /// The bound of the longest path.
    pub critical_path: u32,
    /// The bound of the capacity of issue slots and units.
    pub resource: u32,
    /// Rim-Jain on the whole region. Not below `critical_path` and `resource`.
    pub rim_jain: u32,
    /// Rim-Jain with the releases raised. Not below `rim_jain`.
    pub langevin_cerny_forward: u32,
    /// Rim-Jain with the tails raised. Not below `rim_jain`.
    pub langevin_cerny_backward: u32,
    /// Rim-Jain with both raised. Not below any other bound.
    pub langevin_cerny: u32,
    /// For each instruction, the raised release: no schedule issues it earlier.
    pub earliest: Vec<u32>,
    /// For each instruction, the raised tail: in every schedule at least this number of cycles lies between
    /// its issue and the last one.
    pub tail: Vec<u32>,
    /// Whether the work limit was not reached.
    pub complete: bool,
}

impl LengthBound {
    /// Return the best of all bounds.
    pub fn best(&self) -> u32 {
        self.langevin_cerny
    }

    /// Return the last cycle in which an instruction can issue in a schedule of `length`. `None` if there is
    /// no such cycle.
    pub fn latest(&self, instr: InstrId, length: u32) -> Option<u32> {
        length.checked_sub(self.tail[instr.index()])?.checked_sub(1)
    }
}

/// Compute all bounds, with [`DEFAULT_WORK`].
pub fn lower_bound(problem: &Problem) -> LengthBound {
    lower_bound_within(problem, DEFAULT_WORK)
}

/// Compute all bounds. Langevin-Černý takes about `work` steps at most (edges followed, and a few for each
/// ancestor), half of them in each direction. The work limit makes its bounds weaker, never wrong.
pub fn lower_bound_within(problem: &Problem, work: u64) -> LengthBound {
    let times = Times::on(problem);
    let units = binding_units(problem);
    let mut solver = RimJain::default();

    let critical_path = times.critical_path();
    let resource = resource_bound(problem, &times);
    let trivial = critical_path.max(resource);
    let rim_jain = trivial.max(whole_region(problem, &units, &mut solver, &times.earliest, &times.tail));

    let forward = raised_releases(problem, &units, &mut solver, Start::First, work / 2);
    let backward = raised_releases(problem, &units, &mut solver, Start::Last, work / 2);
    let (earliest, mut tail) = (forward.releases, backward.releases);
    tail.reverse();

    let mut with = |earliest: &[u32], tail: &[u32], known: u32| {
        known.max(whole_region(problem, &units, &mut solver, earliest, tail))
    };
    let langevin_cerny_forward = with(&earliest, &times.tail, rim_jain);
    let langevin_cerny_backward = with(&times.earliest, &tail, rim_jain);
    let known = langevin_cerny_forward.max(langevin_cerny_backward);
    let langevin_cerny = with(&earliest, &tail, known);
    LengthBound {
        critical_path,
        resource,
        rim_jain,
        langevin_cerny_forward,
        langevin_cerny_backward,
        langevin_cerny,
        earliest,
        tail,
        complete: forward.complete && backward.complete,
    }
}

/// Return the best of [all bounds](lower_bound_within). `quick` is the [quick bound](quick_bound), and
/// `length` that of a schedule. As soon as a bound reaches it, no other is better.
pub(crate) fn bound_up_to(problem: &Problem, work: u64, quick: u32, length: u32) -> u32 {
    let times = Times::on(problem);
    let units = binding_units(problem);
    let mut solver = RimJain::default();
    let earliest = raised_releases(problem, &units, &mut solver, Start::First, work / 2).releases;
    let best = quick.max(whole_region(problem, &units, &mut solver, &earliest, &times.tail));
    if best == length {
        return best;
    }
    let mut tail = raised_releases(problem, &units, &mut solver, Start::Last, work / 2).releases;
    tail.reverse();
    let best = best.max(whole_region(problem, &units, &mut solver, &times.earliest, &tail));
    if best == length {
        return best;
    }
    best.max(whole_region(problem, &units, &mut solver, &earliest, &tail))
}

/// Return the bound of Rim-Jain, of the longest path and of the resources: much faster than all bounds, and
/// never above the best of them.
pub(crate) fn quick_bound(problem: &Problem) -> u32 {
    let times = Times::on(problem);
    let units = binding_units(problem);
    let rim_jain = whole_region(problem, &units, &mut RimJain::default(), &times.earliest, &times.tail);
    rim_jain.max(times.critical_path()).max(resource_bound(problem, &times))
}

/// Return the bound by the capacity of issue slots and units: section "Resources" of the module.
fn resource_bound(problem: &Problem, times: &Times) -> u32 {
    let region = problem.region();
    let issue = problem.target().issue();
    let mut bound = (region.len() as u64).div_ceil(u64::from(issue.width));
    for (position, unit) in issue.units.iter().enumerate() {
        let mut needs: Vec<u32> = Vec::new();
        let (mut release, mut tail) = (u32::MAX, u32::MAX);
        for instr in region.instrs() {
            for &(_, cycles) in problem.unit_needs(instr).iter().filter(|need| need.0 as usize == position) {
                needs.push(cycles);
                release = release.min(times.earliest[instr.index()]);
                tail = tail.min(times.tail[instr.index()]);
            }
        }
        if needs.is_empty() {
            continue;
        }
        needs.sort_unstable_by(|a, b| b.cmp(a));
        let before_the_last: u64 = needs.iter().skip(unit.count as usize).map(|&need| u64::from(need)).sum();
        let between = before_the_last.div_ceil(u64::from(unit.count));
        bound = bound.max(u64::from(release) + between + u64::from(tail) + 1);
    }
    clamp(bound)
}

/// Clamp a bound to 32 bits. Bounds are at most the sum of a region's latencies, which fits. The only
/// exception is an instruction that needs more copies of a unit than exist, which no schedule satisfies.
fn clamp(bound: u64) -> u32 {
    u32::try_from(bound).unwrap_or(u32::MAX)
}

/// A unit that can be a stricter limit than the issue slots.
pub(crate) struct BindingUnit {
    /// Position in the target.
    pub(crate) unit: u32,
    /// Copies.
    pub(crate) count: u32,
    /// The largest `k` of its jobs.
    last_job: u32,
}

impl BindingUnit {
    /// Add the jobs of an instruction with this release and this distance (or tail). Both are shifted up
    /// where they could fall below 0: slot plus key of a job is then too large by `last_job`.
    fn add_jobs(
        &self,
        solver: &mut RimJain,
        start: Start,
        needs: &[(u32, u32)],
        release: u32,
        distance: u32,
    ) {
        for &(_, cycles) in needs.iter().filter(|need| need.0 == self.unit) {
            for k in 0..cycles.min(MOST_JOBS_OF_A_NEED) {
                let (later, less) = match start {
                    Start::First => (k, self.last_job - k),
                    Start::Last => (self.last_job - k, k),
                };
                solver.add(release.saturating_add(later), distance.saturating_add(less));
            }
        }
    }
}

/// Return the units that can be a stricter limit than the issue slots. A unit is none if it has a copy for
/// each slot and each instruction has at most one job for it.
pub(crate) fn binding_units(problem: &Problem) -> Vec<BindingUnit> {
    let issue = problem.target().issue();
    let mut longest = vec![0; issue.units.len()];
    let mut repeated = vec![false; issue.units.len()];
    for instr in problem.region().instrs() {
        let needs = problem.unit_needs(instr);
        for (position, &(unit, cycles)) in needs.iter().enumerate() {
            let unit = unit as usize;
            longest[unit] = cycles.max(longest[unit]);
            repeated[unit] |= needs[..position].iter().any(|need| need.0 as usize == unit);
        }
    }
    let binding = |unit: &usize| {
        longest[*unit] > 1
            || repeated[*unit]
            || (longest[*unit] == 1 && issue.units[*unit].count < issue.width)
    };
    let units = (0..issue.units.len()).filter(binding);
    units
        .map(|unit| BindingUnit {
            unit: unit as u32,
            count: issue.units[unit].count,
            last_job: longest[unit].min(MOST_JOBS_OF_A_NEED) - 1,
        })
        .collect()
}

/// Return the Rim-Jain bound for all instructions with these releases and tails.
fn whole_region(
    problem: &Problem,
    units: &[BindingUnit],
    solver: &mut RimJain,
    releases: &[u32],
    tails: &[u32],
) -> u32 {
    for (&release, &tail) in releases.iter().zip(tails) {
        solver.add(release, tail);
    }
    let mut last = solver.solve(problem.target().issue().width);
    for unit in units {
        for instr in problem.region().instrs() {
            let (release, tail) = (releases[instr.index()], tails[instr.index()]);
            unit.add_jobs(solver, Start::First, problem.unit_needs(instr), release, tail);
        }
        last = last.max(solver.solve(unit.count).saturating_sub(u64::from(unit.last_job)));
    }
    clamp(last + 1)
}

/// The end of time at which Langevin-Černý starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The first cycle: it finds releases.
    First,
    /// The last cycle: it finds tails.
    Last,
}

/// An edge towards the start of the direction of work.
#[derive(Clone, Copy)]
struct Link {
    /// Position in the direction of work.
    place: u32,
    latency: u32,
}

/// Return the instructions by their place in the direction of work, with their edges to earlier places.
fn links(problem: &Problem, start: Start) -> Rows<Link> {
    let region = problem.region();
    let mut links = Rows::with_capacity(region.len(), region.edge_count());
    match start {
        Start::First => {
            for to in region.instrs() {
                for edge in region.preds(to) {
                    let forward = Edge { instr: to, latency: edge.latency };
                    links.push(Link {
                        place: edge.instr.0,
                        latency: separation(problem, edge.instr, &forward),
                    });
                }
                links.end_row();
            }
        }
        Start::Last => {
            let last = region.len() as u32 - 1;
            for from in region.instrs().rev() {
                for edge in region.succs(from) {
                    links.push(Link { place: last - edge.instr.0, latency: separation(problem, from, edge) });
                }
                links.end_row();
            }
        }
    }
    links
}

/// The result of Langevin-Černý in one direction.
struct Raised {
    /// The raised releases, by place.
    releases: Vec<u32>,
    /// Whether the work limit was not reached.
    complete: bool,
}

/// Run Langevin-Černý in one direction. The work is shared evenly among the remaining instructions. Unused
/// work of the first ones goes to the later ones, which have more ancestors.
fn raised_releases(
    problem: &Problem,
    units: &[BindingUnit],
    solver: &mut RimJain,
    start: Start,
    mut work: u64,
) -> Raised {
    let links = links(problem, start);
    let count = problem.region().len();
    let width = problem.target().issue().width;
    let mut releases = vec![0u32; count];
    let mut frontier = Frontier::new(count);
    let mut ancestors: Vec<(u32, u32)> = Vec::new();
    let mut complete = true;
    let needs_at = |place: usize| {
        problem.unit_needs(InstrId::at(match start {
            Start::First => place,
            Start::Last => count - 1 - place,
        }))
    };
    for place in 0..count {
        let own_links = links.row(place);
        let by_links =
            own_links.iter().map(|link| releases[link.place as usize].saturating_add(link.latency));
        let mut release = by_links.max().unwrap_or(0);
        if own_links.is_empty() || (units.is_empty() && own_links.len() == 1) {
            releases[place] = release; // nothing, or a gateway
            continue;
        }
        let share = work / (count - place) as u64;
        let mut steps = 0;
        ancestors.clear();
        solver.add(release, 0);
        for link in own_links {
            frontier.start(link.place, link.latency);
        }
        while let Some((ancestor, distance)) = frontier.farthest_place() {
            solver.add(releases[ancestor as usize], distance);
            if !units.is_empty() {
                ancestors.push((ancestor, distance));
            }
            let gateway = units.is_empty() && frontier.is_empty();
            let further = links.row(ancestor as usize);
            steps += STEPS_OF_AN_ANCESTOR + further.len() as u64;
            if gateway || steps > share {
                complete &= gateway || (frontier.is_empty() && further.is_empty());
                frontier.clear();
                break;
            }
            for link in further {
                frontier.reach(link.place, distance + link.latency);
            }
        }
        solver.keep_jobs_to_exceed(release, width);
        release = release.max(clamp(solver.solve(width)));
        for unit in units {
            unit.add_jobs(solver, start, needs_at(place), release, 0);
            for &(ancestor, distance) in &ancestors {
                let needs = needs_at(ancestor as usize);
                unit.add_jobs(solver, start, needs, releases[ancestor as usize], distance);
            }
            steps += solver.jobs.len() as u64;
            let shifted = solver.solve(unit.count);
            release = release.max(clamp(shifted.saturating_sub(u64::from(unit.last_job))));
        }
        releases[place] = release;
        work = work.saturating_sub(steps);
    }
    Raised { releases, complete }
}

/// Known but unvisited ancestors, with the longest path found so far.
struct Frontier {
    places: BitSet,
    /// No word of `places` after this one has a member.
    top: usize,
    count: usize,
    /// 0 for places that are not in `places`.
    distances: Vec<u32>,
}

impl Frontier {
    fn new(places: usize) -> Self {
        Frontier { places: BitSet::new(places), top: 0, count: 0, distances: vec![0; places] }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Start with the place of a direct edge.
    #[inline]
    fn start(&mut self, place: u32, distance: u32) {
        self.top = self.top.max(word_of(place as usize));
        self.reach(place, distance);
    }

    /// Reach a place before the last one that was taken out. Whether it is new is hard to predict, so there
    /// is no branch.
    #[inline]
    fn reach(&mut self, place: u32, distance: u32) {
        let place = place as usize;
        self.count += usize::from(self.places.insert_new(place));
        self.distances[place] = self.distances[place].max(distance);
    }

    /// Take out the place that is farthest along the direction of work. All edges to it start from places
    /// already taken, so its distance is final.
    #[inline]
    fn farthest_place(&mut self) -> Option<(u32, u32)> {
        if self.count == 0 {
            return None; // without a look at the words
        }
        let place = self.places.take_last(&mut self.top)?;
        self.count -= 1;
        Some((place as u32, std::mem::take(&mut self.distances[place])))
    }

    fn clear(&mut self) {
        while self.farthest_place().is_some() {}
        self.top = 0;
    }
}

/// The relaxed problem on one resource, with memory for repeated solving.
#[derive(Default)]
struct RimJain {
    /// The jobs: the key (tail or distance) above the release, in 32 bits each.
    jobs: Vec<u64>,
    sorted: Vec<u64>,
    /// For each digit, the place of its next job: see [`RimJain::sort_by_falling_key`].
    next: Vec<u32>,
    slots: Slots,
}

/// Return the job with this release and this key.
#[inline]
fn job(release: u32, key: u32) -> u64 {
    u64::from(key) << 32 | u64::from(release)
}

#[inline]
fn key_of(job: u64) -> u32 {
    (job >> 32) as u32
}

#[inline]
fn release_of(job: u64) -> u32 {
    job as u32
}

impl RimJain {
    #[inline]
    fn add(&mut self, release: u32, key: u32) {
        self.jobs.push(job(release, key));
    }

    /// Drop the jobs that cannot take part in a proof that the largest sum of slot and key is above `known`.
    ///
    /// Such a proof consists of jobs with releases of at least `t` and keys of at least `q`. If there are `m`
    /// of them, the sum is `t + q + (m - 1) / capacity`. A job of the proof has `t + q` or more as the sum of
    /// its release and its key. So this sum is above `known - (m - 1) / capacity`, and `m` is at most the
    /// number of all jobs.
    fn keep_jobs_to_exceed(&mut self, known: u32, capacity: u32) {
        loop {
            let before = self.jobs.len();
            let most = before.saturating_sub(1) as u64 / u64::from(capacity);
            let mut kept = 0;
            for position in 0..before {
                let job = self.jobs[position];
                self.jobs[kept] = job;
                let sum = u64::from(key_of(job)) + u64::from(release_of(job));
                kept += usize::from(sum + most > u64::from(known)); // no branch: it is hard to predict
            }
            self.jobs.truncate(kept);
            // Fewer jobs can exceed less. The last rounds drop few, so they do not pay.
            if kept >= before - before / 8 {
                return;
            }
        }
    }

    /// Return the largest sum of slot and key over all jobs, and remove the jobs. Return 0 without jobs.
    fn solve(&mut self, capacity: u32) -> u64 {
        let Some(&first) = self.jobs.first() else { return 0 };
        let (mut first_release, mut last_release) = (release_of(first), release_of(first));
        let (mut least_key, mut most_key) = (key_of(first), key_of(first));
        for &job in &self.jobs {
            (first_release, last_release) =
                (first_release.min(release_of(job)), last_release.max(release_of(job)));
            (least_key, most_key) = (least_key.min(key_of(job)), most_key.max(key_of(job)));
        }
        let displaced = self.jobs.len() / capacity as usize;
        let slots = (last_release - first_release) as usize + displaced + 2;
        if slots > MOST_SLOTS {
            // Every job in its release: as if each had a resource of its own.
            let most = self.jobs.iter().map(|&job| u64::from(key_of(job)) + u64::from(release_of(job))).max();
            self.jobs.clear();
            return most.unwrap_or(0);
        }
        self.slots.reserve(slots, capacity);
        self.sort_by_falling_key(least_key, most_key);
        let mut most = 0;
        for job in &mut self.jobs {
            let slot = self.slots.take((release_of(*job) - first_release) as usize, capacity);
            most = most.max(u64::from(key_of(*job)) + slot as u64);
            *job = slot as u64; // for the clearing below, which must not cost more than there are jobs
        }
        for &slot in &self.jobs {
            self.slots.clear(slot as usize, capacity);
        }
        self.jobs.clear();
        most + u64::from(first_release)
    }

    /// Sort by radix: few passes, as keys are small numbers. Equal keys may come in any order.
    fn sort_by_falling_key(&mut self, least: u32, most: u32) {
        if self.jobs.len() < 64 {
            self.jobs.sort_unstable_by(|a, b| b.cmp(a));
            return;
        }
        // Digits as large as is worth it for so many jobs, and no larger than necessary.
        let bits = u32::BITS - (most - least).leading_zeros();
        let digits = bits.div_ceil(self.jobs.len().ilog2() + 1);
        let digit_bits = bits.div_ceil(digits.max(1));
        self.sorted.resize(self.jobs.len(), 0);
        for digit in 0..digits {
            let digit_of =
                |job: u64| ((most - key_of(job)) >> (digit * digit_bits)) as usize % (1 << digit_bits);
            self.next.clear();
            self.next.resize(1 << digit_bits, 0);
            for &job in &self.jobs {
                self.next[digit_of(job)] += 1;
            }
            let mut start = 0;
            for entry in &mut self.next {
                start += std::mem::replace(entry, start);
            }
            for &job in &self.jobs {
                let position = &mut self.next[digit_of(job)];
                self.sorted[*position as usize] = job;
                *position += 1;
            }
            std::mem::swap(&mut self.jobs, &mut self.sorted);
        }
    }
}

/// The slots of a resource. All have room at first.
#[derive(Default)]
struct Slots {
    /// A bit for each slot without room, and one for each word of such bits without a gap.
    full: Vec<u64>,
    full_words: Vec<u64>,
    /// For each slot, the number of its jobs, if there can be more than one.
    filled: Vec<u32>,
}

impl Slots {
    /// Have at least so many slots, of which the last one never becomes full.
    fn reserve(&mut self, slots: usize, capacity: u32) {
        let words = slots.div_ceil(WORD);
        if self.full.len() < words {
            self.full.resize(words, 0);
            // The search for room looks at the word after the last one.
            self.full_words.resize(words / WORD + 1, 0);
        }
        if capacity > 1 && self.filled.len() < slots {
            self.filled.resize(slots, 0);
        }
    }

    /// Put a job into the first slot from `from` on that has room, and return the slot.
    #[inline]
    fn take(&mut self, from: usize, capacity: u32) -> usize {
        let slot = self.first_with_room(from);
        if capacity > 1 {
            self.filled[slot] += 1;
            if self.filled[slot] < capacity {
                return slot;
            }
        }
        let word = slot / WORD;
        self.full[word] |= 1 << (slot % WORD);
        if self.full[word] == u64::MAX {
            self.full_words[word / WORD] |= 1 << (word % WORD);
        }
        slot
    }

    #[inline]
    fn first_with_room(&self, from: usize) -> usize {
        let word = from / WORD;
        let room = !self.full[word] >> (from % WORD);
        if room != 0 {
            return from + room.trailing_zeros() as usize;
        }
        let mut group = (word + 1) / WORD;
        let mut words = !self.full_words[group] >> ((word + 1) % WORD) << ((word + 1) % WORD);
        while words == 0 {
            group += 1;
            words = !self.full_words[group];
        }
        let word = group * WORD + words.trailing_zeros() as usize;
        word * WORD + (!self.full[word]).trailing_zeros() as usize
    }

    /// Remove all jobs of a slot, and perhaps of those around it.
    #[inline]
    fn clear(&mut self, slot: usize, capacity: u32) {
        self.full[slot / WORD] = 0;
        self.full_words[slot / WORD / WORD] = 0;
        if capacity > 1 {
            self.filled[slot] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::closure::Closure;
    use crate::generate::{Random, Shape, random_order, region, register_program};
    use crate::problem::Goal;
    use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};
    use crate::schedule::Schedule;
    use crate::target::Target;

    const FILES: &str = "[[file]]\nname='f'\nsize=256\ngranule=1\nwaves=1\nclasses=[{name='*',max=256}]\n";

    fn target(issue: &str) -> Target {
        Target::parse(&format!("name='t'\ndescription=''\n[issue]\n{issue}\n{FILES}")).unwrap()
    }

    fn targets() -> Vec<Target> {
        vec![
            Target::builtin("gfx906").unwrap(),
            target("width=1\nunits=[{name='a'},{name='b',count=2}]"),
            target("width=2"),
            target("width=2\nunits=[{name='a'},{name='b',count=2}]"),
            target("width=3\nunits=[{name='a',count=2},{name='b',count=1}]"),
        ]
    }

    /// Random edges and latencies; most instructions need a unit, some for several cycles, some two.
    fn with_units(size: usize, seed: u64) -> Region {
        let mut random = Random::new(seed);
        let mut builder = RegionBuilder::new("units");
        let density = random.pick(&[0, 15, 30, 60]);
        let longest = random.pick(&[1, 3, 9]);
        for to in 0..size {
            let [a, b] = [0; 2].map(|_| 1 + random.below(longest) as u32);
            let units = [("a", a), ("b", b)];
            let units =
                random.pick(&[&units[..0], &units[..1], &units[..1], &units[1..], &units[1..], &units]);
            let instr = builder.instr(InstrSpec { units, ..InstrSpec::new("op", 1) });
            for from in (0..to).map(InstrId::at) {
                if random.chance(density) {
                    let kind = random.pick(&DepKind::ALL);
                    builder.depend(from, instr, kind, random.below(6) as u32);
                }
            }
        }
        builder.build().unwrap()
    }

    /// Return whether one more instruction is legal beside those with given cycles, by the definition of
    /// legality.
    fn fits(problem: &Problem, cycles: &[Option<u32>], instr: InstrId, cycle: u32) -> bool {
        let issue = problem.target().issue();
        let placed = || problem.region().instrs().filter_map(|other| Some((other, cycles[other.index()]?)));
        let ready = problem
            .region()
            .preds(instr)
            .iter()
            .all(|edge| cycles[edge.instr.index()].is_some_and(|from| from + edge.latency <= cycle));
        let slots = placed().filter(|(_, at)| *at == cycle).count() < issue.width as usize;
        let free = |unit: u32, at: u32| {
            let busy = |&(other, from): &(InstrId, u32)| {
                let mut needs = problem.unit_needs(other).iter();
                needs.any(|&(own, length)| own == unit && (from..from + length).contains(&at))
            };
            placed().filter(busy).count() < issue.units[unit as usize].count as usize
        };
        let mut needs = problem.unit_needs(instr).iter();
        ready && slots && needs.all(|&(unit, length)| (cycle..cycle + length).all(|at| free(unit, at)))
    }

    /// Return the shortest length by trying every instruction in every cycle. Feasible only for tiny regions.
    fn shortest_of_all(problem: &Problem) -> u32 {
        fn exists(problem: &Problem, cycles: &mut Vec<Option<u32>>, next: usize, length: u32) -> bool {
            if next == cycles.len() {
                return true;
            }
            // Source order is legal, so that predecessors are placed already; later instructions of the
            // source may still go into earlier cycles.
            (0..length).any(|cycle| {
                let legal = fits(problem, cycles, InstrId::at(next), cycle);
                cycles[next] = legal.then_some(cycle);
                let found = legal && exists(problem, cycles, next + 1, length);
                cycles[next] = None;
                found
            })
        }
        let count = problem.region().len();
        (1..).find(|&length| exists(problem, &mut vec![None; count], 0, length)).unwrap()
    }

    /// The shortest schedule with every instruction in every cycle that can matter.
    ///
    /// Move instructions of a shortest schedule to earlier cycles, one by one, as long as that is legal with
    /// all others where they are. It ends, as the sum of the cycles falls, and the schedule stays shortest.
    /// Then each instruction issues in cycle 0, or it cannot go one cycle earlier, for one of three reasons.
    /// A dependence is tight. Or the cycle before is full, so another instruction issues there. Or a unit has
    /// no copy free in the cycle before. A copy is free in the instruction's own cycle, so a need of another
    /// instruction ends just there. Hence its cycle is 0, or the cycle of another instruction plus a
    /// distance. The distance is a latency, 1, or the cycles of a need. In the order of cycles (within a
    /// cycle, in source order) that other instruction comes first.
    fn shortest(problem: &Problem) -> u32 {
        struct Search<'a> {
            problem: &'a Problem<'a>,
            cycles: Vec<Option<u32>>,
            best: u32,
        }
        fn search(state: &mut Search, placed: usize, last: (u32, usize), candidates: &[u32]) {
            let region = state.problem.region();
            if placed == region.len() {
                state.best = last.0 + 1;
                return;
            }
            for &cycle in candidates.iter().filter(|cycle| **cycle >= last.0) {
                for instr in region.instrs() {
                    let place = (cycle, instr.index());
                    let open = state.cycles[instr.index()].is_none() && (placed == 0 || place > last);
                    if cycle + 1 >= state.best || !open || !fits(state.problem, &state.cycles, instr, cycle) {
                        continue;
                    }
                    let latencies = region.succs(instr).iter().map(|edge| edge.latency);
                    let needs = state.problem.unit_needs(instr).iter().map(|need| need.1);
                    let mut more = candidates.to_vec();
                    more.extend(latencies.chain(needs).chain([1]).map(|distance| cycle + distance));
                    more.retain(|candidate| *candidate >= cycle);
                    more.sort_unstable();
                    more.dedup();
                    state.cycles[instr.index()] = Some(cycle);
                    search(state, placed + 1, place, &more);
                    state.cycles[instr.index()] = None;
                }
            }
        }
        let cycles = vec![None; problem.region().len()];
        let mut state = Search { problem, cycles, best: u32::MAX };
        search(&mut state, 0, (0, 0), &[0]);
        state.best
    }

    fn small_regions(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Region> {
        seeds.flat_map(|seed| {
            let size = 1 + seed as usize % 7;
            let shapes = Shape::ALL.into_iter().map(move |shape| region(shape, size, seed));
            let others = [register_program(size, seed), with_units(size, seed), with_units(7, !seed)];
            shapes.chain(others).filter(|region| region.len() <= 7)
        })
    }

    #[test]
    fn both_brute_forces_agree() {
        for target in targets() {
            for seed in 0..60 {
                let region = with_units(4, seed);
                let problem = Problem::new(&region, &target, Goal::Length).unwrap();
                assert_eq!(shortest(&problem), shortest_of_all(&problem), "{} {seed}", target.name());
            }
        }
    }

    #[test]
    fn no_bound_exceeds_the_optimum_and_most_meet_it() {
        let mut regions = 0;
        let mut tight = [0; 6];
        for target in targets() {
            for region in small_regions(0..180) {
                let problem = Problem::new(&region, &target, Goal::Length).unwrap();
                let optimum = shortest(&problem);
                let bound = lower_bound(&problem);
                let figures = [
                    bound.critical_path,
                    bound.resource,
                    bound.rim_jain,
                    bound.langevin_cerny_forward,
                    bound.langevin_cerny_backward,
                    bound.best(),
                ];
                let place =
                    format!("{} on {:?}: {bound:?}, optimum {optimum}", region.name(), target.issue());
                assert!(figures.iter().all(|figure| *figure <= optimum), "{place}\n{region:?}");
                assert!(bound.complete);
                regions += 1;
                for (tight, figure) in tight.iter_mut().zip(figures) {
                    *tight += usize::from(figure == optimum);
                }
                // The releases and tails of each instruction hold in some schedule that we know.
                let source = Schedule::source(&problem);
                for instr in region.instrs() {
                    let cycle = source.cycles()[instr.index()];
                    assert!(bound.earliest[instr.index()] <= cycle, "{place}");
                    assert!(
                        bound.latest(instr, source.length()).is_some_and(|latest| latest >= cycle),
                        "{place}"
                    );
                }
            }
        }
        println!("{regions} regions; optimal (critical path .. best): {tight:?}");
        assert!(regions > 6000);
        assert!(tight[5] * 100 >= regions * 95, "{tight:?} of {regions}");
        assert!(tight[0] < tight[2] && tight[1] < tight[2] && tight[2] < tight[5], "{tight:?}");
    }

    /// The instructions that pass, with their units and the dependences between them.
    fn part_of(region: &Region, keep: impl Fn(InstrId) -> bool) -> Region {
        let mut builder = RegionBuilder::new("part");
        let mut copies = vec![None; region.len()];
        for instr in region.instrs().filter(|instr| keep(*instr)) {
            let units: Vec<(&str, u32)> =
                region.units(instr).iter().map(|need| (&*need.unit, need.cycles)).collect();
            let copy = builder.instr(InstrSpec { units: &units, ..InstrSpec::new("op", 1) });
            copies[instr.index()] = Some(copy);
            for edge in region.preds(instr) {
                if let Some(from) = copies[edge.instr.index()] {
                    builder.depend(from, copy, DepKind::Data, edge.latency);
                }
            }
        }
        builder.build().unwrap()
    }

    /// A release is at most the last cycle of a shortest schedule of the instruction and its ancestors. A
    /// tail is at most the last cycle of a shortest schedule of the instruction and its descendants.
    #[test]
    fn no_release_or_tail_exceeds_its_optimum() {
        let mut raised = 0;
        for target in targets() {
            for seed in 0..120 {
                let region = with_units(7, seed);
                let closure = Closure::new(&region);
                let problem = Problem::new(&region, &target, Goal::Length).unwrap();
                let bound = lower_bound(&problem);
                let times = Times::on(&problem);
                for instr in region.instrs() {
                    let optimum = |keep: &dyn Fn(InstrId) -> bool| {
                        let part = part_of(&region, |other| other == instr || keep(other));
                        shortest(&Problem::new(&part, &target, Goal::Length).unwrap()) - 1
                    };
                    let (release, tail) = (bound.earliest[instr.index()], bound.tail[instr.index()]);
                    assert!(release <= optimum(&|other| closure.reaches(other, instr)), "{seed} {instr}");
                    assert!(tail <= optimum(&|other| closure.reaches(instr, other)), "{seed} {instr}");
                    let plain = (times.earliest[instr.index()], times.tail[instr.index()]);
                    assert!(release >= plain.0 && tail >= plain.1);
                    raised += usize::from(release > plain.0) + usize::from(tail > plain.1);
                }
            }
        }
        println!("{raised} raised");
        assert!(raised > 250, "{raised}");
    }

    #[test]
    fn larger_regions_keep_their_order_of_bounds_whatever_the_work() {
        let mut random = Random::new(1);
        let mut gains = 0;
        for target in targets() {
            for seed in 0..40 {
                let size = 10 + random.below(60);
                let shapes = Shape::ALL.into_iter().map(|shape| region(shape, size, seed));
                for region in shapes.chain([register_program(size, seed), with_units(size, seed)]) {
                    let problem = Problem::new(&region, &target, Goal::Length).unwrap();
                    let full = lower_bound(&problem);
                    assert!(full.complete);
                    assert!(full.rim_jain >= full.critical_path.max(full.resource));
                    assert!(full.langevin_cerny_forward >= full.rim_jain);
                    assert!(full.langevin_cerny_backward >= full.rim_jain);
                    assert!(full.best() >= full.langevin_cerny_forward.max(full.langevin_cerny_backward));
                    gains += usize::from(full.best() > full.rim_jain);
                    for work in [0, 200, 5000] {
                        let less = lower_bound_within(&problem, work);
                        assert!((full.rim_jain..=full.best()).contains(&less.best()));
                        assert!(less.earliest.iter().zip(&full.earliest).all(|(less, full)| less <= full));
                        assert!(less.tail.iter().zip(&full.tail).all(|(less, full)| less <= full));
                    }
                    for _ in 0..5 {
                        let schedule = Schedule::in_order(&problem, random_order(&region, &mut random));
                        assert!(full.best() <= schedule.length(), "{}", region.name());
                        for instr in region.instrs() {
                            let cycle = schedule.cycles()[instr.index()];
                            assert!(full.earliest[instr.index()] <= cycle);
                            assert!(full.tail[instr.index()] < schedule.length() - cycle);
                        }
                    }
                }
            }
        }
        println!("Langevin-Cerny gains on {gains}");
        assert!(gains > 40, "{gains}");
    }

    /// A..G with A->E 4, B->E 4, C->F 2, D->F 3, E->G 2, F->G 1.
    #[test]
    fn the_known_example_needs_8_cycles() {
        let mut builder = RegionBuilder::new("example");
        let [a, b, c, d, e, f, g] =
            ["A", "B", "C", "D", "E", "F", "G"].map(|name| builder.instr(InstrSpec::new(name, 1)));
        for (from, to, latency) in [(a, e, 4), (b, e, 4), (c, f, 2), (d, f, 3), (e, g, 2), (f, g, 1)] {
            builder.depend(from, to, DepKind::Data, latency);
        }
        let region = builder.build().unwrap();
        let target = Target::builtin("gfx906").unwrap();
        let problem = Problem::new(&region, &target, Goal::Length).unwrap();
        let bound = lower_bound(&problem);
        assert_eq!((bound.critical_path, bound.resource, bound.best()), (7, 7, 8));
        assert_eq!(Schedule::in_order(&problem, vec![a, b, d, c, e, f, g]).length(), 8);
        assert_eq!(shortest(&problem), 8);
    }

    /// Numbers too large for an array of slots, or for one job for each cycle.
    #[test]
    fn huge_latencies_and_needs_are_no_trouble() {
        let mut builder = RegionBuilder::new("huge");
        let [a, b, c, d] = [1 << 29, 1, 1 << 29, 1 << 29]
            .map(|cycles| builder.instr(InstrSpec { units: &[("a", cycles)], ..InstrSpec::new("op", 1) }));
        builder.depend(a, b, DepKind::Data, 1 << 29);
        builder.depend(b, d, DepKind::Data, 1);
        builder.depend(c, d, DepKind::Data, 1);
        let region = builder.build().unwrap();
        let target = target("width=1\nunits=[{name='a'}]");
        let problem = Problem::new(&region, &target, Goal::Length).unwrap();
        let bound = lower_bound(&problem);
        assert_eq!(bound.best(), (1 << 30) + 2);
        assert_eq!(Schedule::in_order(&problem, vec![a, b, c, d]).length(), bound.best());
    }

    #[test]
    fn bounds_of_large_regions_are_not_above_the_source_order() {
        for target in [Target::builtin("gfx906").unwrap(), target("width=2\nunits=[{name='a'},{name='b'}]")] {
            for size in [4_800, 100_000] {
                let shapes = Shape::ALL.into_iter().map(|shape| region(shape, size, 7));
                let units = (size < 10_000).then(|| with_units(600, 7));
                for region in shapes.chain(units) {
                    let problem = Problem::new(&region, &target, Goal::Length).unwrap();
                    let bound = lower_bound(&problem);
                    println!(
                        "{} ({} instructions, {} edges) on {}: {} {} {} {} {} {} {}",
                        region.name(),
                        region.len(),
                        region.edge_count(),
                        target.name(),
                        bound.critical_path,
                        bound.resource,
                        bound.rim_jain,
                        bound.langevin_cerny_forward,
                        bound.langevin_cerny_backward,
                        bound.best(),
                        if bound.complete { "complete" } else { "cut short" },
                    );
                    let source = Schedule::source(&problem).length();
                    assert!((1..=source).contains(&bound.best()), "{}: {source}", region.name());
                }
            }
        }
    }
}
