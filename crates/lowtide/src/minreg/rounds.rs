//! Many searches of the same part that share their failed states, for questions that one search leaves open.
//!
//! Each search goes through the whole tree by itself, from the empty set, with its own order of children. A
//! state that has failed for one search fails for all. So the searches spread out, and each of them spares the
//! others a part of the tree. No work is handed over, and every search alone is right: the first answer of any
//! of them is the answer. Half of the searches begin at either end of time, with a memory for each end. The
//! first one of each end takes the children with the least pressure first. Of the others, every second one
//! shuffles the children of all states. The rest shuffle those of every fourth state: random orders spread
//! searches best, but lose the luck of a good order with commits and cuts.
//!
//! The searches advance in *rounds*, of the same number of steps for each. In a round, a search sees the memory
//! as it was at the start of the round, and its own new states. After the round, the new states of all searches
//! are added, in the order of the searches. A search that stands at or below a state that has failed leaves it
//! then. So the answer, the number of states and the memory do not depend on the number of threads, nor on
//! their speed.
//!
//! Short rounds cost time for waiting. Long rounds cost states that several searches expand, since none of them
//! knows that the others do. More searches cost states, too, but less so in a long search. So their number
//! grows with the turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::crew::with_crew;
use super::exact::Options;
use super::memory::{Memory, News, TABLES, View};
use super::part::Part;
use super::race::{FIRST_STRIDE, LEAST_EFFORT};
use super::search::Search;
use crate::analysis::closure::Closure;
use crate::analysis::walk::{Direction, LiveGraph};
use crate::budget::{Budget, Effort, is_over};
use crate::index::InstrId;
use crate::verdict::Verdict;

/// The dimensions of rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dimensions {
    /// The searches from each end.
    pub(super) searches: usize,
    /// The steps of each search in a round.
    pub(super) steps: u64,
}

/// The first turn with rounds, and the steps of a search in a round: about half a millisecond.
const LONG_TURN: u64 = 512 * FIRST_STRIDE;
const STEPS: u64 = 60_000;

/// The most searches from each end, and the most instructions in all of them.
const MOST_SEARCHES: usize = 16;
const MOST_INSTRS: usize = 1 << 17;

impl Dimensions {
    /// Return the dimensions for a turn, or `None` if one search from each end is enough: for a short turn, and
    /// where one thread works against the clock, since rounds need more states in all.
    pub(super) fn of(turn: u64, instrs: usize, budget: Budget) -> Option<Dimensions> {
        let is_alone = budget.threads < 2 && budget.nodes.is_none() && budget.time_per_instr.is_some();
        if turn < LONG_TURN || is_alone {
            return None;
        }
        let searches = match turn / LONG_TURN {
            0..8 => 4,
            8..64 => 8,
            _ => MOST_SEARCHES,
        };
        Some(Dimensions { searches: searches.min(MOST_INSTRS / instrs).max(1), steps: STEPS })
    }
}

/// A search with its state between rounds.
struct Worker<'a> {
    search: Search<'a>,
    /// The steps of the last round, and the steps by which all rounds so far exceed their due.
    spent: u64,
    debt: u64,
    verdict: Verdict<Vec<InstrId>>,
}

impl Worker<'_> {
    /// Advance by about `steps`. A cut may take longer, which then counts for the next round.
    fn advance(&mut self, view: &mut View, steps: u64, whole: &Effort, is_cancelled: impl Fn() -> bool) {
        self.spent = 0;
        if self.debt >= steps {
            self.debt -= steps;
            return;
        }
        let mut effort = Effort { steps: 2 * steps, deadline: whole.deadline };
        self.verdict = match self.search.catch_up(view) {
            true => self.search.run(view, &mut effort, steps + self.debt, is_cancelled),
            false => Verdict::No(()),
        };
        self.spent = 2 * steps - effort.steps;
        self.debt = (self.debt + self.spent).saturating_sub(steps);
    }
}

/// Search a part from both ends, for a turn of `turn` steps each. `graphs` and `memories` are those of the two
/// ends. `states` is raised by the number of expanded states.
#[allow(clippy::too_many_arguments)] // each of them is needed, and none belongs to another
pub(super) fn rounds(
    part: &Part,
    closure: &Closure,
    graphs: &[LiveGraph; 2],
    limits: &[Option<u32>],
    options: Options,
    memories: &mut [Memory; 2],
    dimensions: Dimensions,
    turn: u64,
    effort: &mut Effort,
    states: &mut u64,
    is_cancelled: &AtomicBool,
) -> Verdict<Vec<InstrId>> {
    let Dimensions { searches, steps } = dimensions;
    let directions = [Direction::TopDown, Direction::BottomUp];
    let count = 2 * searches;
    let end_of = |number: usize| number / searches;
    let worker = |number: usize| {
        let (end, seed) = (end_of(number), (number % searches) as u64);
        let search = Search::new(part, closure, &graphs[end], directions[end], limits, options.rules, seed);
        Mutex::new(Worker { search, spent: 0, debt: 0, verdict: Verdict::Unknown })
    };
    let workers: Vec<Mutex<Worker>> = (0..count).map(worker).collect();
    let news: Vec<RwLock<News>> = (0..count).map(|_| RwLock::new(News::new())).collect();
    let shared = memories.each_mut().map(Memory::share);
    let share = AtomicU64::new(steps);
    let whole = *effort;
    // The first jobs advance the searches, and the others fill the tables.
    let work = |job: usize| match job.checked_sub(count) {
        None => {
            let mut news = news[job].write().unwrap_or_else(PoisonError::into_inner);
            let mut view = View::new(&shared[end_of(job)], &mut news);
            let is_cancelled = || is_cancelled.load(Ordering::Relaxed);
            lock(&workers[job]).advance(&mut view, share.load(Ordering::Relaxed), &whole, is_cancelled);
        }
        Some(table) => {
            let (end, table) = (table / TABLES, table % TABLES);
            let news = news[end * searches..(end + 1) * searches].iter();
            let news = news.map(|news| news.read().unwrap_or_else(PoisonError::into_inner));
            news.for_each(|news| shared[end].fill(table, &news.keys));
        }
    };
    let verdict = with_crew(options.budget.threads, work, |run| {
        let mut left = 2 * turn;
        let mut judgements = [0, 1].map(|end: usize| lock(&workers[end * searches]).search.judgements);
        // All of them may seek the first cut in the same round, before they know of each other.
        judgements.iter_mut().for_each(|judgements| judgements.steps *= searches as u64);
        for (number, worker) in workers.iter().enumerate() {
            lock(worker).search.judgements = judgements[end_of(number)];
        }
        while left > 0 && !is_cancelled.load(Ordering::Relaxed) && !is_over(whole.deadline) {
            // The last rounds may exceed the turn by a little.
            share.store((left / count as u64).max(LEAST_EFFORT).min(steps), Ordering::Relaxed);
            run(0..count);
            let mut verdict = Verdict::Unknown;
            let known = judgements;
            for (number, worker) in workers.iter().enumerate() {
                let mut worker = lock(worker);
                let end = end_of(number);
                left = left.saturating_sub(worker.spent);
                effort.spend(worker.spent);
                judgements[end].add_since(known[end], worker.search.judgements);
                if verdict.is_unknown() {
                    verdict = std::mem::replace(&mut worker.verdict, Verdict::Unknown);
                }
            }
            if !verdict.is_unknown() {
                return verdict;
            }
            run(count..count + 2 * TABLES);
            for (number, worker) in workers.iter().enumerate() {
                lock(worker).search.judgements = judgements[end_of(number)];
            }
        }
        Verdict::Unknown
    });
    *states += workers.iter().map(|worker| lock(worker).search.states).sum::<u64>();
    for (memory, shared) in memories.iter_mut().zip(shared) {
        memory.take_back(shared);
    }
    verdict
}

fn lock<'w, 'a>(worker: &'w Mutex<Worker<'a>>) -> MutexGuard<'w, Worker<'a>> {
    worker.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::pressure_bound::pressure_at_ends;
    use crate::analysis::walk::PressureFields;
    use crate::check::check_order;
    use crate::generate::{Random, random_order};
    use crate::minreg::Rules;
    use crate::minreg::made::{Small, regions};

    /// The verdict, the steps that are left, and the states.
    type Outcome = (Verdict<Vec<InstrId>>, u64, u64);

    /// Run rounds in turns, with the memory kept in between, until there is an answer.
    fn run(part: &Part, limits: &[Option<u32>], rules: Rules, threads: usize, seed: u64) -> Outcome {
        let mut random = Random::new(seed);
        let closure = Closure::new(&part.region);
        let packing = PressureFields::within(&part.region, limits).unwrap();
        let graphs = [Direction::TopDown, Direction::BottomUp]
            .map(|direction| LiveGraph::new(&part.region, direction, &packing));
        let options = Options { rules, ..Options::new(Budget { threads, ..Budget::UNLIMITED }) };
        let most = random.pick(&[8, 1 << 10, 1 << 16]);
        let mut memories = [(); 2].map(|()| Memory::new(most));
        let mut effort = Effort { steps: 1 << 40, deadline: None };
        let (mut states, never) = (0, AtomicBool::new(false));
        loop {
            let dimensions =
                Dimensions { searches: 1 + random.below(5), steps: 64 + random.below(3_000) as u64 };
            let turn = random.pick(&[100, 10_000, 1_000_000]);
            let verdict = rounds(
                part,
                &closure,
                &graphs,
                limits,
                options,
                &mut memories,
                dimensions,
                turn,
                &mut effort,
                &mut states,
                &never,
            );
            if !verdict.is_unknown() {
                return (verdict, effort.steps, states);
            }
        }
    }

    /// Every optimum is that of brute force, and every number of threads gives the same outcome.
    #[test]
    fn searches_that_share_their_memory_are_right() {
        let mut random = Random::new(3);
        let (mut found, mut failed, mut states) = (0, 0, 0);
        for region in regions(0..200, 11) {
            let guide = random_order(&region, &mut random);
            let part = Part::with_dependences(&region, &[], &guide).unwrap();
            let optimum = Small::new(&region, &[]).lowest(0, &[]).unwrap();
            let (end, _) = pressure_at_ends(&region)[0];
            let mut limits = vec![None; region.classes().len()];
            for limit in [optimum, optimum.saturating_sub(1)] {
                if end > limit {
                    continue;
                }
                limits[0] = Some(limit);
                let rules = Rules {
                    free_moves: random.chance(50),
                    commit: random.chance(50),
                    memory: random.chance(90),
                    cuts: random.chance(50),
                    ..Rules::ALL
                };
                let seed = random.bits();
                let outcome = run(&part, &limits, rules, 1, seed);
                assert_eq!(outcome, run(&part, &limits, rules, 3, seed), "{} {rules:?}", region.name());
                states += outcome.2;
                match outcome.0 {
                    Verdict::Yes(order) => {
                        let peak = check_order(&region, &part.in_whole(&order)).unwrap()[0].between;
                        assert!(peak <= limit, "{}", region.name());
                        found += 1;
                    }
                    _ => {
                        assert!(limit < optimum, "{} {rules:?}", region.name());
                        failed += 1;
                    }
                }
            }
        }
        println!("{found} found, {failed} refuted, {states} states");
        assert!(found > 1_000 && failed > 500 && states > 50_000, "{found} {failed} {states}");
    }
}
