//! Is there an order within the limits? Depth-first search over downsets, from one end of time.
//!
//! A *state* is the set of instructions passed so far: a downset or, from the other end, the complement of
//! one. The possible continuations depend on the set only, not on its order. Let f(T) be the pressure at the
//! boundary of a state T, one number for each class. The function f is submodular in each class: f(S | T) +
//! f(S & T) <= f(S) + f(T). A state is *good* if an order within the limits continues it to the end.
//! Otherwise it *fails*. Both ends of time are alike: a value opens and closes the other way round, and f is
//! the same.
//!
//! # Rules
//! *Free moves.* If v can follow S and f(S + v) <= f(S) in every class, then S is good exactly if S + v is.
//! *Proof.* Let S = T0, T1, ... be a continuation. Passing v first turns each Ti without v into Ti + v, and
//! f(Ti + v) <= f(Ti) + f(S + v) - f(S & Ti) <= f(Ti), where Ti & (S + v) = S. ∎
//!
//! *Commit.* Let Y be reached from S within the limits. Let f(Y) be the minimum of f over all states between
//! S and Y, in every class. If S is good, so is Y. *Proof.* Let Ti be a continuation of S. Then the states Ti
//! | Y continue Y. As Ti & Y lies between S and Y, f(Ti | Y) <= f(Ti) + f(Y) - f(Ti & Y) <= f(Ti). ∎ So the
//! search can forget all alternatives between S and Y. If Y fails, S fails with all states reached from it.
//! For one class the minimum is a minimum cut. It may lie at a smaller state X, which can be reached, too.
//! For a state Ti of the path from S to Y, f(Ti & X) <= f(Ti) + f(X) - f(Ti | X) <= f(Ti). The search then
//! commits to X, from the earliest state on its path that has no less pressure. With several classes it
//! commits only where Y itself is minimal in all.
//!
//! *Memory.* A state that has failed fails again, under the same limits or lower ones, and under more
//! dependences.
//!
//! *Cuts.* Every continuation passes moments ([`Moment`](crate::proof::Moment)) after the state. If at one of
//! them every possible downset that holds the state has a pressure above the limit, the state fails. The
//! search computes cuts only where a subtree has turned out to be large. The order that guides the cuts may
//! turn out to be within the limits; then it is the answer.
//!
//! Children are tried with the least pressure first, then in the order of the best schedule known. Searches
//! that share their memory ([`rounds`](super::rounds)) leave out children that another search works on, until
//! there are no others.

use super::Rules;
use super::local_min::LocalMin;
use super::memory::Failed;
use super::part::Part;
use crate::analysis::closure::Closure;
use crate::analysis::pressure_bound::Seeker;
use crate::analysis::walk::{Direction, LiveGraph, Walk};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::verdict::Verdict;

/// Steps of the [`Effort`] for one expanded state, and for one look at a child.
const STEPS_FOR_STATE: u64 = 64;
const STEPS_FOR_CHILD: u64 = 32;

/// A state on the way to the current one.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Instructions passed, and the live weight after them.
    length: u32,
    live: i64,
    /// Its children are `children[first_child..]`, up to those of the next frame. Those before `next_child`
    /// have failed. The path to the next frame goes through `next_child`.
    first_child: u32,
    next_child: u32,
    /// If this state fails, so do all of `keys[first_key..]`.
    first_key: u32,
    /// States expanded when this one was.
    entered: u64,
    /// States that other searches have expanded below this one.
    others: u64,
    is_judged: bool,
}

/// A child beside the path of a search: the level of its frame, and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) level: usize,
    pub(crate) key: u128,
}

/// The position of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// At a state that has not been expanded. If it fails, so do all of `keys[first_key..]`.
    Enter { first_key: u32 },
    /// At the last frame's state, with some of its children done.
    Next,
}

/// The cost of a subtree, in multiples of the cost of a cut, from which on a cut is sought. Measured on the
/// corpus: 4 and 64 are worse.
const PATIENCE: u64 = 32;

/// The cost and the success of cuts so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgements {
    pub(crate) steps: u64,
    made: u64,
    exceeded: u64,
}

impl Judgements {
    /// Add the judgements that `later` has and `earlier` has not.
    pub(crate) fn add_since(&mut self, earlier: Judgements, later: Judgements) {
        self.steps += later.steps - earlier.steps;
        self.made += later.made - earlier.made;
        self.exceeded += later.exceeded - earlier.exceeded;
    }

    /// Return the size of a subtree, in states, from which on a cut is sought. It is several times the number
    /// of states that could be expanded for the cost of a cut. (Most subtrees are small, and memory makes
    /// them smaller.)
    fn patience(&self, states: u64, steps: u64) -> u64 {
        PATIENCE * self.steps / (self.exceeded + 1) * states / steps
    }
}

/// A search from one end.
pub(crate) struct Search<'a> {
    region: &'a Region,
    direction: Direction,
    graph: &'a LiveGraph,
    rules: Rules,
    limit: i64,
    walk: Walk<'a>,
    /// For each class that has a limit: the minima between states that are near.
    minima: Vec<LocalMin<'a>>,
    /// For each class that has a limit: the minima at moments.
    seekers: Vec<(ClassId, Seeker<'a>)>,
    /// A random number for each instruction. The key of a state is the exclusive or of those of its
    /// instructions.
    numbers: Vec<u128>,
    key: u128,
    frames: Vec<Frame>,
    /// For each child: the live weight, the instruction that leads to it, and its key.
    children: Vec<(i64, u32, u128)>,
    /// The keys of all states of the path, including those from which the search has committed.
    keys: Vec<u128>,
    step: Step,
    /// Whether the state to enter is one that the search has committed to.
    has_committed: bool,
    /// States expanded.
    pub(crate) states: u64,
    /// Steps taken to expand states.
    steps: u64,
    pub(crate) judgements: Judgements,
    /// Whether the search has stopped because others work on all children that are left.
    pub(crate) is_blocked: bool,
    /// The states of the path that are *settled*, so that other searches leave them out: those among the
    /// first so many expanded states.
    pub(crate) settled: u64,
    /// Settled states from which the search has committed since this list was last cleared.
    pub(crate) left_behind: Vec<u128>,
    set: BitSet,
    ready: Vec<u32>,
    moves: Vec<u32>,
}

impl<'a> Search<'a> {
    /// Make a search within limits for some classes. The limits must not be below the pressure at the ends of
    /// the region.
    pub(crate) fn new(
        part: &'a Part,
        closure: &'a Closure,
        graph: &'a LiveGraph,
        direction: Direction,
        limits: &[Option<u32>],
        rules: Rules,
    ) -> Self {
        let region = &part.region;
        let limited = || region.class_ids().filter(|class| limits[class.index()].is_some());
        let mut search = Search {
            region,
            direction,
            graph,
            rules,
            limit: graph.packing().pack(limits),
            walk: Walk::new(graph),
            minima: limited().map(|class| LocalMin::new(region, class, graph, direction)).collect(),
            seekers: limited().map(|class| (class, Seeker::new(region, class, closure))).collect(),
            numbers: part.instrs.iter().map(|&instr| number(instr)).collect(),
            key: NOTHING_PASSED,
            frames: Vec::new(),
            children: Vec::new(),
            keys: Vec::new(),
            step: Step::Enter { first_key: 0 },
            has_committed: true,
            states: 0,
            steps: 1,
            judgements: Judgements { steps: 64 * region.len() as u64, made: 1, exceeded: 0 },
            is_blocked: false,
            settled: 0,
            left_behind: Vec::new(),
            set: BitSet::new(region.len()),
            ready: Vec::new(),
            moves: Vec::new(),
        };
        search.take_free_moves(0);
        search
    }

    /// Search for an order within the limits until there is an answer, only `reserve` steps of the effort are
    /// left, or `is_cancelled`. A cut may use the reserve.
    pub(crate) fn run(
        &mut self,
        memory: &mut impl Failed,
        effort: &mut Effort,
        reserve: u64,
        is_cancelled: impl Fn() -> bool,
    ) -> Verdict<Vec<InstrId>> {
        loop {
            match self.step {
                Step::Enter { first_key } => {
                    if self.walk.is_complete() {
                        return Verdict::Yes(self.order());
                    }
                    // (A child has just been looked up; a state after a commit has not.)
                    if self.has_committed && self.is_known_to_fail(memory, self.key) {
                        if !self.fail(memory, first_key) {
                            return Verdict::No(());
                        }
                        continue;
                    }
                    let is_over = effort.steps <= reserve
                        || self.states.is_multiple_of(32) && (effort.is_spent() || is_cancelled());
                    if is_over {
                        return Verdict::Unknown;
                    }
                    self.enter(first_key);
                    if self.expand(memory, effort) {
                        return Verdict::Yes(self.order());
                    }
                }
                Step::Next => {
                    let Some(frame) = self.frames.last_mut() else { return Verdict::No(()) };
                    let is_large = self.states - frame.entered + frame.others
                        > self.judgements.patience(self.states, self.steps);
                    if self.rules.cuts && is_large && !frame.is_judged {
                        frame.is_judged = true;
                        if memory.is_judged(self.key) {
                            continue;
                        }
                        match self.judge(effort) {
                            Verdict::Yes(order) => return Verdict::Yes(order),
                            Verdict::No(()) if !self.give_up(memory) => return Verdict::No(()),
                            Verdict::No(()) => {}
                            Verdict::Unknown => memory.set_judged(self.key),
                        }
                    } else if self.choose_child(memory) {
                        self.enter_child();
                    } else if self.is_blocked {
                        return Verdict::Unknown;
                    } else if !self.give_up(memory) {
                        return Verdict::No(());
                    }
                }
            }
        }
    }

    /// Make the next child of the last frame one that is not known to fail and that no other search works on.
    /// Return whether there is one.
    fn choose_child(&mut self, memory: &impl Failed) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let mut next = frame.next_child as usize;
        let mut position = next;
        let mut found = None;
        while position < self.children.len() {
            let (_, _, key) = self.children[position];
            if self.is_known_to_fail(memory, key) {
                self.bring_forward(position, next);
                next += 1;
            } else if self.is_blocked || !memory.is_taken(key) {
                found = Some(position);
                break;
            }
            position += 1;
        }
        // A search that has been blocked insists on the first child, so that it gets on.
        self.is_blocked = found.is_none() && next < self.children.len();
        if let Some(position) = found {
            self.bring_forward(position, next);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.next_child = next as u32;
        }
        found.is_some()
    }

    /// Move a child to a place before it. The others keep their order.
    fn bring_forward(&mut self, position: usize, place: usize) {
        // Mostly, it is there already.
        if position > place {
            self.children[place..=position].rotate_right(1);
        }
    }

    /// Go to the next child of the last frame.
    fn enter_child(&mut self) {
        let Some(frame) = self.frames.last() else { return };
        let (_, instr, _) = self.children[frame.next_child as usize];
        self.push(instr);
        self.step = Step::Enter { first_key: self.keys.len() as u32 };
        self.has_committed = false;
    }

    /// Return the range of the children of a frame that are left, without the one on the path.
    fn untried(&self, level: usize) -> std::ops::Range<usize> {
        let (next, is_inside) = match self.frames.get(level + 1) {
            Some(next) => (next.first_child as usize, true),
            None => (self.children.len(), self.step != Step::Next),
        };
        (self.frames[level].next_child as usize + usize::from(is_inside)).min(next)..next
    }

    /// Return the end of the keys of a frame. The last one is that of its state.
    fn end_of_keys(&self, level: usize) -> usize {
        match (self.frames.get(level + 1), self.step) {
            (Some(next), _) => next.first_key as usize,
            (None, Step::Enter { first_key }) => first_key as usize,
            (None, Step::Next) => self.keys.len(),
        }
    }

    /// Return the key of a frame's state.
    fn state_of(&self, level: usize) -> u128 {
        self.keys[self.end_of_keys(level) - 1]
    }

    /// Return the keys of the settled states of the path.
    pub(crate) fn settled_path(&self) -> impl Iterator<Item = u128> + '_ {
        (0..self.settled_levels()).map(|level| self.state_of(level))
    }

    fn settled_levels(&self) -> usize {
        self.frames.partition_point(|frame| frame.entered <= self.settled)
    }

    /// Count states that others have expanded below the settled states of the path.
    pub(crate) fn count_others(&mut self, others: impl Fn(u128) -> u64) {
        for level in 0..self.settled_levels() {
            self.frames[level].others += others(self.state_of(level));
        }
    }

    /// Return the key of the current state.
    pub(crate) fn position(&self) -> u128 {
        self.key
    }

    /// Return the children beside the path that are not known to fail, from the start of the path on.
    pub(crate) fn offers<'s>(&'s self, memory: &'s impl Failed) -> impl Iterator<Item = Offer> + 's {
        let children = (0..self.frames.len()).flat_map(|level| {
            self.children[self.untried(level)].iter().map(move |&(_, _, key)| Offer { level, key })
        });
        children.filter(|offer| !self.is_known_to_fail(memory, offer.key))
    }

    /// Go to a child that another search has offered. The path to it, with all other children, is copied: so
    /// this search is complete, too.
    pub(crate) fn take_over(&mut self, other: &Search, Offer { level, key }: Offer) {
        let length = other.frames[level].length as usize;
        let (old, new) = (self.walk.trail(), &other.walk.trail()[..length]);
        let common = old.iter().zip(new).take_while(|(one, other)| one == other).count();
        self.undo_to(common);
        new[common..].iter().for_each(|&instr| self.walk.push(instr));
        self.walk.forget_improved();
        self.change_key(common);
        self.frames.clear();
        self.frames.extend_from_slice(&other.frames[..=level]);
        self.frames.iter_mut().for_each(|frame| frame.entered = self.states);
        self.children.clear();
        self.children.extend_from_slice(&other.children[..other.untried(level).end]);
        self.keys.clear();
        self.keys.extend_from_slice(&other.keys[..other.end_of_keys(level)]);
        self.step = Step::Next;
        self.is_blocked = false;
        let next = self.frames[level].next_child as usize;
        if let Some(position) = self.children[next..].iter().position(|child| child.2 == key) {
            self.bring_forward(next + position, next);
            self.enter_child();
        }
        // The child, which is the next state to be expanded, is taken from the start.
        self.settled = self.states + 1;
    }

    /// Return whether a state is on the path.
    pub(crate) fn passes(&self, key: u128) -> bool {
        (0..self.frames.len()).any(|level| self.state_of(level) == key)
    }

    /// Leave all states that are known to fail by now: others may have found out. Return whether there is
    /// another state to continue with.
    pub(crate) fn catch_up(&mut self, memory: &mut impl Failed) -> bool {
        // The keys of a frame end with that of its state. They begin with the state that has committed to it.
        let is_failed = |&level: &usize| {
            let keys = [self.keys[self.frames[level].first_key as usize], self.state_of(level)];
            keys.iter().any(|&key| self.is_known_to_fail(memory, key))
        };
        let Some(level) = (0..self.frames.len()).find(is_failed) else { return true };
        if let Some(next) = self.frames.get(level + 1) {
            self.children.truncate(next.first_child as usize);
        }
        self.frames.truncate(level + 1);
        self.is_blocked = false;
        self.give_up(memory)
    }

    /// Push a frame for the current state.
    fn enter(&mut self, first_key: u32) {
        self.states += 1;
        self.keys.push(self.key);
        self.frames.push(Frame {
            length: self.walk.trail().len() as u32,
            live: self.walk.live(),
            first_child: self.children.len() as u32,
            next_child: self.children.len() as u32,
            first_key,
            entered: self.states,
            others: 0,
            is_judged: false,
        });
        self.step = Step::Next;
    }

    /// Find the children of the last frame's state, or commit. Return whether the order is complete.
    fn expand(&mut self, memory: &impl Failed, effort: &mut Effort) -> bool {
        let length = self.walk.trail().len();
        let (live, key) = (self.walk.live(), self.key);
        let first = self.children.len();
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        ready.extend_from_slice(self.walk.ready());
        let steps = STEPS_FOR_STATE + STEPS_FOR_CHILD * ready.len() as u64;
        effort.spend(steps);
        self.steps += steps;
        let mut is_found = false;
        for &instr in &ready {
            if !self.graph.packing().fits(live + self.walk.delta(instr), self.limit) {
                continue;
            }
            self.push(instr);
            is_found = self.walk.is_complete();
            if is_found || self.graph.packing().fits(self.walk.live(), live) && self.commit(effort) {
                break;
            }
            let child = (self.walk.live(), instr, self.key);
            // Only free moves can lead to the same state as another child.
            let is_alone = self.walk.trail().len() == length + 1;
            if is_alone || self.children[first..].iter().all(|&(_, _, other)| other != self.key) {
                self.children.push(child);
            }
            self.walk.undo_to(length);
            self.key = key;
        }
        self.ready = ready;
        if self.step == Step::Next {
            // Lookups one right after the other: the processor waits for memory once, not for each of them.
            let mut kept = first;
            for position in first..self.children.len() {
                let child = self.children[position];
                if !self.is_known_to_fail(memory, child.2) {
                    self.children[kept] = child;
                    kept += 1;
                }
            }
            self.children.truncate(kept);
            let children = &mut self.children[first..];
            match self.direction {
                Direction::TopDown => children.sort_unstable_by_key(|&(live, instr, _)| (live, instr)),
                Direction::BottomUp => {
                    children.sort_unstable_by_key(|&(live, instr, _)| (live, u32::MAX - instr));
                }
            }
        }
        is_found
    }

    /// Commit to the current state, which has no more live weight than an earlier one, or to a state between
    /// them, if that loses nothing.
    fn commit(&mut self, effort: &mut Effort) -> bool {
        if !self.rules.commit {
            return false;
        }
        let packing = self.graph.packing();
        let mut live = self.walk.live();
        self.moves.clear();
        self.moves.extend_from_slice(self.walk.trail());
        let level = loop {
            let Some(level) = self.frames.iter().position(|frame| packing.fits(live, frame.live)) else {
                return false;
            };
            let length = self.frames[level].length as usize;
            if self.moves.len() == length + 1 {
                break level;
            }
            effort.spend(4 * (self.moves.len() - length) as u64);
            let is_single = self.seekers.len() == 1;
            let lower = self.minima.iter_mut().map(|minimum| minimum.improve(&mut self.moves, length));
            match lower.max() {
                Some(lower) if lower > 0 && is_single => live -= i64::from(lower),
                Some(lower) if lower > 0 => return false,
                _ => break level,
            }
        };
        let Frame { length, first_key, first_child, entered, .. } = self.frames[level];
        if entered <= self.settled {
            self.left_behind.push(self.state_of(level));
        }
        self.frames.truncate(level);
        self.children.truncate(first_child as usize);
        self.undo_to(length as usize);
        self.moves[length as usize..].iter().for_each(|&instr| self.walk.push(instr));
        self.take_free_moves(length as usize);
        self.step = Step::Enter { first_key };
        self.has_committed = true;
        // Free moves may have gone below the level of another frame.
        let live = self.walk.live();
        let is_lower = self.frames.iter().any(|frame| self.graph.packing().fits(live, frame.live));
        if is_lower && !self.walk.is_complete() {
            self.commit(effort);
        }
        true
    }

    /// Look for a moment after the last frame's state that no order within the limits passes.
    fn judge(&mut self, effort: &mut Effort) -> Verdict<Vec<InstrId>> {
        let count = self.region.len();
        self.set.clear();
        self.walk.trail().iter().for_each(|&instr| self.set.insert(instr));
        let rest = self.region.instrs().filter(|&instr| !self.set.contains(instr));
        let passed = self.walk.trail().iter().map(|&instr| InstrId(instr));
        let length = passed.len();
        let (order, first, last): (Vec<InstrId>, usize, usize) = match self.direction {
            Direction::TopDown => (passed.chain(rest).collect(), length, count),
            Direction::BottomUp => (rest.chain(passed.rev()).collect(), 0, count - length),
        };
        let packing = self.graph.packing();
        let before = effort.steps;
        let mut result = Verdict::Unknown;
        for (class, seeker) in &mut self.seekers {
            result = seeker.judge(&order, first, last, packing.unpack(self.limit, *class), effort);
            if result.is_no() {
                break;
            }
        }
        if self.seekers.len() > 1 && result.is_yes() {
            // An order within the limit of one class may exceed another one.
            result = Verdict::Unknown;
        }
        self.judgements.made += 1;
        self.judgements.steps += before - effort.steps;
        self.judgements.exceeded += u64::from(result.is_no());
        result
    }

    fn is_known_to_fail(&self, memory: &impl Failed, key: u128) -> bool {
        self.rules.memory && memory.contains(key)
    }

    /// Record the failure of the last frame's state. Return whether there is another state to continue with.
    fn give_up(&mut self, memory: &mut impl Failed) -> bool {
        match self.frames.pop() {
            Some(frame) => {
                self.children.truncate(frame.first_child as usize);
                self.fail(memory, frame.first_key)
            }
            None => false,
        }
    }

    /// Remember failed states, and go back to the last frame, if there is one.
    fn fail(&mut self, memory: &mut impl Failed, first_key: u32) -> bool {
        if self.rules.memory {
            self.keys[first_key as usize..].iter().for_each(|&key| memory.insert(key));
        }
        self.keys.truncate(first_key as usize);
        let Some(frame) = self.frames.last_mut() else { return false };
        frame.next_child += 1;
        let length = frame.length as usize;
        self.undo_to(length);
        self.step = Step::Next;
        true
    }

    fn push(&mut self, instr: u32) {
        let from = self.walk.trail().len();
        self.walk.push(instr);
        self.take_free_moves(from);
    }

    /// Take all free moves. The state's key lacks the instructions from `from` on.
    fn take_free_moves(&mut self, from: usize) {
        match self.rules.free_moves {
            true => self.walk.take_free_moves(),
            false => self.walk.forget_improved(),
        }
        self.change_key(from);
    }

    fn undo_to(&mut self, length: usize) {
        self.change_key(length);
        self.walk.undo_to(length);
    }

    /// Add the instructions from a position on to the state's key, or remove them.
    fn change_key(&mut self, from: usize) {
        let changed = &self.walk.trail()[from..];
        self.key = changed.iter().fold(self.key, |key, &instr| key ^ self.numbers[instr as usize]);
    }

    fn order(&self) -> Vec<InstrId> {
        let mut order: Vec<InstrId> = self.walk.trail().iter().map(|&instr| InstrId(instr)).collect();
        if self.direction == Direction::BottomUp {
            order.reverse();
        }
        order
    }
}

/// The key of the state in which nothing has been passed: any number but 0.
const NOTHING_PASSED: u128 = 1;

/// Return a number for each instruction of the whole region. It is the same in all parts, so memory can be
/// kept.
fn number(instr: InstrId) -> u128 {
    let mut random = crate::random::Random::new(u64::from(instr.0) + 1);
    u128::from(random.bits()) << 64 | u128::from(random.bits())
}
