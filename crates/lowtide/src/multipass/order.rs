//! The order of operations within one pass: within the registers, and with few waits.
//!
//! [`quick`] tries a few lists. [`search`] decides whether an order has at most a given number of waits. It
//! is depth-first over the sets of operations that have run. Each set is expanded once for each set of
//! pending requests, and again only with fewer waits. An operation runs at once if it needs no wait, is no
//! request and takes no more registers than it frees. (The live weight is submodular, so running it later is
//! never better.) The bound: requests that depend on each other need a wait each.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::PassProblem;
use crate::budget::Effort;
use crate::random::Random;
use crate::verdict::Verdict;

/// The operations of a pass and their relations.
pub(super) struct Inside<'a> {
    problem: &'a PassProblem<'a>,
    ops: &'a [u32],
    stores: &'a [u32],
    /// By operation of the problem: its place in `ops`.
    place: Vec<u32>,
    /// By value of the problem: its users in the pass.
    users: Vec<u32>,
    /// By place: the number of operations of the pass before it, and those after it.
    before: Vec<u32>,
    after: Vec<Vec<u32>>,
    /// By place: the least waits from before it to the end, if its operands are available.
    tail: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

/// The state of an order under construction.
#[derive(Clone)]
struct Progress {
    left: Vec<u32>,
    before: Vec<u32>,
    is_in: Vec<bool>,
    registers: u32,
    pending: Vec<u32>,
    /// By place.
    is_pending: Vec<bool>,
    waits: u32,
    order: Vec<u32>,
}

/// The preference of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taste {
    Source,
    FewRegisters,
    RequestsFirst,
}

impl<'a> Inside<'a> {
    /// `ops` by increasing number.
    pub(super) fn new(problem: &'a PassProblem<'a>, ops: &'a [u32], stores: &'a [u32]) -> Self {
        let mut place = vec![ABSENT; problem.len()];
        for (position, op) in ops.iter().enumerate() {
            place[*op as usize] = position as u32;
        }
        let mut users = vec![0; problem.value_count()];
        let mut before = vec![0; ops.len()];
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); ops.len()];
        for (position, op) in ops.iter().enumerate() {
            problem.uses.row(*op as usize).iter().for_each(|value| users[*value as usize] += 1);
            let mut preds: Vec<u32> = problem.preds(*op as usize).collect();
            preds.sort_unstable();
            preds.dedup();
            for pred in preds {
                let pred = place[pred as usize];
                if pred != ABSENT {
                    before[position] += 1;
                    after[pred as usize].push(position as u32);
                }
            }
        }
        let mut tail: Vec<u32> = vec![0; ops.len()];
        for position in (0..ops.len()).rev() {
            let op = ops[position] as usize;
            let is_read = problem.defs.row(op).iter().any(|value| users[*value as usize] > 0);
            let is_stored = problem.defs.row(op).iter().any(|value| stores.contains(value));
            let own = u32::from(problem.is_request[op] && (is_read || is_stored));
            // Only readers of the result have to come after the wait.
            let mut most = 0;
            for next in &after[position] {
                let reads = problem.uses.row(ops[*next as usize] as usize);
                let is_reader = problem.defs.row(op).iter().any(|value| reads.contains(value));
                most = most.max(tail[*next as usize] + if is_reader { own } else { 0 });
            }
            tail[position] = most.max(own);
        }
        Inside { problem, ops, stores, place, users, before, after, tail }
    }

    /// Return a lower bound on the waits of every order.
    pub(super) fn least_waits(&self) -> u32 {
        let requests = self.ops.iter().filter(|op| self.problem.is_request[**op as usize]).count() as u64;
        let by_slots = match self.is_all_awaited() {
            true => requests.div_ceil(u64::from(self.problem.caps.pending)) as u32,
            false => 0,
        };
        self.tail.iter().copied().max().unwrap_or(0).max(by_slots)
    }

    /// Return whether every request of the pass is read or stored, and so needs a wait.
    fn is_all_awaited(&self) -> bool {
        let is_awaited = |op: &u32| {
            let mut defs = self.problem.defs.row(*op as usize).iter();
            defs.any(|value| self.users[*value as usize] > 0 || self.stores.contains(value))
        };
        self.ops.iter().filter(|op| self.problem.is_request[**op as usize]).all(is_awaited)
    }

    fn start(&self) -> Progress {
        Progress {
            left: self.users.clone(),
            before: self.before.clone(),
            is_in: vec![false; self.problem.value_count()],
            registers: 0,
            pending: Vec::new(),
            is_pending: vec![false; self.ops.len()],
            waits: 0,
            order: Vec::with_capacity(self.ops.len()),
        }
    }

    fn needs_wait(&self, progress: &Progress, place: u32) -> bool {
        let op = self.ops[place as usize] as usize;
        let is_pending = |value: &u32| {
            let def = self.problem.def[*value as usize].map(|def| self.place[def as usize]);
            def.is_some_and(|def| def != ABSENT && progress.is_pending[def as usize])
        };
        let reads = !progress.pending.is_empty() && self.problem.uses.row(op).iter().any(is_pending);
        reads
            || self.problem.is_request[op]
                && progress.pending.len() as u64 >= u64::from(self.problem.caps.pending)
    }

    /// Return the registers right before and right after an operation.
    fn registers(&self, progress: &Progress, place: u32) -> (u32, u32) {
        let problem = self.problem;
        let op = self.ops[place as usize] as usize;
        let mut during = progress.registers;
        let mut freed = 0;
        for value in problem.uses.row(op) {
            let value = *value as usize;
            if !progress.is_in[value] {
                during = during.saturating_add(problem.size[value]);
            }
            if progress.left[value] == 1 {
                freed += problem.size[value];
            }
        }
        let added = problem.defs.row(op).iter().filter(|value| progress.left[**value as usize] > 0);
        let added: u32 = added.map(|value| problem.size[*value as usize]).sum();
        (during, during - freed + added)
    }

    fn run(&self, progress: &mut Progress, place: u32) {
        let problem = self.problem;
        let op = self.ops[place as usize] as usize;
        let (_, after) = self.registers(progress, place);
        if self.needs_wait(progress, place) {
            progress.waits += 1;
            for place in progress.pending.drain(..) {
                progress.is_pending[place as usize] = false;
            }
        }
        for value in problem.uses.row(op) {
            progress.left[*value as usize] -= 1;
            progress.is_in[*value as usize] = progress.left[*value as usize] > 0;
        }
        for value in problem.defs.row(op) {
            progress.is_in[*value as usize] = progress.left[*value as usize] > 0;
        }
        if problem.is_request[op] {
            progress.pending.push(place);
            progress.is_pending[place as usize] = true;
        }
        progress.registers = after;
        progress.order.push(place);
        for next in &self.after[place as usize] {
            progress.before[*next as usize] -= 1;
        }
        progress.before[place as usize] = ABSENT;
    }

    /// Return the waits of a complete order.
    fn all_waits(&self, progress: &Progress) -> u32 {
        let is_awaited = |place: &u32| {
            let op = self.ops[*place as usize] as usize;
            self.problem.defs.row(op).iter().any(|value| self.stores.contains(value))
        };
        progress.waits + u32::from(progress.pending.iter().any(is_awaited))
    }

    fn list(&self, taste: Taste, effort: &Effort) -> Option<(Vec<u32>, u32)> {
        let cap = self.problem.caps.registers;
        let mut progress = self.start();
        let mut ready: Vec<u32> =
            (0..self.ops.len() as u32).filter(|place| self.before[*place as usize] == 0).collect();
        while progress.order.len() < self.ops.len() {
            if effort.is_spent() {
                return None;
            }
            let fitting = ready.iter().copied().filter_map(|place| {
                let (during, after) = self.registers(&progress, place);
                let fits = during <= cap && after <= cap;
                fits.then(|| {
                    let change = i64::from(after) - i64::from(progress.registers);
                    let waits = self.needs_wait(&progress, place);
                    let op = self.ops[place as usize] as usize;
                    let key = match taste {
                        Taste::Source => (0, 0, place),
                        Taste::FewRegisters => (i64::from(waits), change, place),
                        Taste::RequestsFirst => {
                            // Operations that lead to a request, and the request itself, come before those
                            // that have to wait.
                            let leads = self.tail[place as usize] > 0 || self.problem.is_request[op];
                            let rank = if waits {
                                3
                            } else if leads {
                                0
                            } else if change <= 0 {
                                1
                            } else {
                                2
                            };
                            (rank, change, place)
                        }
                    };
                    (key, place)
                })
            });
            let (_, place) = fitting.min()?;
            self.run(&mut progress, place);
            ready.retain(|other| *other != place);
            let next = self.after[place as usize].iter().copied();
            ready.extend(next.filter(|next| progress.before[*next as usize] == 0));
        }
        let waits = self.all_waits(&progress);
        Some((progress.order.iter().map(|place| self.ops[*place as usize]).collect(), waits))
    }
}

/// Return the best order of a few lists, with its waits. `None` if every list exceeds the registers, or the
/// time is spent.
pub(super) fn quick(inside: &Inside, effort: &Effort) -> Option<(Vec<u32>, u32)> {
    let least = inside.least_waits();
    let mut best: Option<(Vec<u32>, u32)> = None;
    for taste in [Taste::RequestsFirst, Taste::FewRegisters, Taste::Source] {
        if let Some(found) = inside.list(taste, effort)
            && best.as_ref().is_none_or(|(_, waits)| found.1 < *waits)
        {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|(_, waits)| *waits <= least) {
            break;
        }
    }
    best
}

/// Return the source order if it is within the registers, for when the time is spent.
pub(super) fn in_source_order(inside: &Inside) -> Option<Vec<u32>> {
    let cap = inside.problem.caps.registers;
    let mut progress = inside.start();
    for place in 0..inside.ops.len() as u32 {
        let (during, after) = inside.registers(&progress, place);
        if during.max(after) > cap {
            return None;
        }
        inside.run(&mut progress, place);
    }
    Some(inside.ops.to_vec())
}

/// Search for an order with at most `most` waits. Return the order, and its waits.
pub(super) fn search(inside: &Inside, most: u32, effort: &mut Effort) -> Verdict<(Vec<u32>, u32)> {
    if inside.least_waits() > most {
        return Verdict::No(());
    }
    let mut random = Random::new(inside.ops.len() as u64);
    let mut number = || u128::from(random.bits()) << 64 | u128::from(random.bits());
    let numbers: Vec<[u128; 2]> = (0..inside.ops.len()).map(|_| [number(), number()]).collect();
    let mut seen: FxHashMap<u128, u32> = FxHashMap::default();
    // A move is made when its turn comes: the moves of one state share its data.
    let mut stack: Vec<(Rc<Progress>, Option<u32>)> = vec![(Rc::new(inside.start()), None)];
    let cap = inside.problem.caps.registers;
    while let Some((progress, place)) = stack.pop() {
        if effort.is_spent() {
            return Verdict::Unknown;
        }
        effort.spend(1);
        let mut progress = Rc::unwrap_or_clone(progress);
        if let Some(place) = place {
            inside.run(&mut progress, place);
        }
        // Free moves.
        loop {
            let is_free = |place: &u32| {
                if progress.before[*place as usize] != 0 || inside.needs_wait(&progress, *place) {
                    return false;
                }
                let (during, after) = inside.registers(&progress, *place);
                let op = inside.ops[*place as usize] as usize;
                !inside.problem.is_request[op] && during <= cap && after <= progress.registers
            };
            let Some(place) = (0..inside.ops.len() as u32).find(is_free) else { break };
            inside.run(&mut progress, place);
        }
        if progress.order.len() == inside.ops.len() {
            let waits = inside.all_waits(&progress);
            if waits <= most {
                let order = progress.order.iter().map(|place| inside.ops[*place as usize]).collect();
                return Verdict::Yes((order, waits));
            }
            continue;
        }
        let executed = progress.order.iter().fold(0, |key, place| key ^ numbers[*place as usize][0]);
        let key = progress.pending.iter().fold(executed, |key, place| key ^ numbers[*place as usize][1]);
        match seen.get(&key) {
            Some(waits) if *waits <= progress.waits => continue,
            _ => seen.insert(key, progress.waits),
        };
        let rest = (0..inside.ops.len()).filter(|place| progress.before[*place] != ABSENT);
        let tail = rest.map(|place| inside.tail[place]).max().unwrap_or(0);
        let after_pending =
            progress.pending.iter().map(|place| inside.tail[*place as usize]).max().unwrap_or(0);
        if progress.waits + tail.max(after_pending) > most {
            continue;
        }
        let mut moves: Vec<(i64, u32)> = Vec::new();
        for place in (0..inside.ops.len() as u32).filter(|place| progress.before[*place as usize] == 0) {
            let (during, after) = inside.registers(&progress, place);
            let waits = inside.needs_wait(&progress, place);
            if during <= cap && after <= cap && progress.waits + u32::from(waits) <= most {
                moves.push((if waits { 1000 } else { 0 } + i64::from(after), place));
            }
        }
        // The most promising move is on top of the stack.
        moves.sort_by_key(|(rank, place)| std::cmp::Reverse((*rank, *place)));
        let progress = Rc::new(progress);
        stack.extend(moves.into_iter().map(|(_, place)| (Rc::clone(&progress), Some(place))));
    }
    Verdict::No(())
}
