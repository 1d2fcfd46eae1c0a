//! Many searches of one part that divide the work, for questions that one search leaves open.
//!
//! Half of the searches begin at either end of time. The searches of an end share a memory of failed states.
//! Each search has a path of its own from the empty set, with all children beside the path that have not
//! failed. So each search alone is right: the first answer of any of them is the answer. They only differ in
//! the order in which they try children. Three rules divide the work:
//!
//! - A search tries no child that is *taken*: on the path of another search, for some time. Other children
//!   come first. If all that are left are taken, the search is *blocked*.
//! - A blocked search takes over an *offer*: a child beside the path of another search that is not known to
//!   fail and not taken. It copies the path to the child. The offer nearest to the start is the first, since
//!   large subtrees give work for a long time.
//! - A search *rests* until there is an offer for it if another one does its work: if both are at the same
//!   state, or if the other one has committed from a state on its path. At first, all but one rest.
//!
//! Cuts are sought below large subtrees, so the states that other searches expand below a state of the path
//! count as well.
//!
//! The searches advance in *rounds*, of the same number of steps for each. In a round, a search sees the
//! failed and the taken states as they were at the start of the round, and its own new states. After the
//! round, the new failed states of all searches are added, in the order of the searches. A search that stands
//! at or below a state that has failed leaves it then. So the answer, the number of states and the memory do
//! not depend on the number of threads, nor on their speed.
//!
//! # The search ends
//! Of all taken states, let S be one with the most instructions. States below S have more, so none of them is
//! taken, and the search with S on its path is not blocked before S fails. A blocked search without an offer
//! tries a taken child in the next round, so it waits for nobody.
//!
//! Short rounds cost time for waiting. Long rounds cost states that several searches expand, since none of
//! them knows that the others do. More searches cost states, too, but less so in a long search. So their
//! number grows with the turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::crew::with_crew;
use super::memory::{Memory, News, TABLES, Taken, View};
use super::options::Options;
use super::part::Part;
use super::race::{FIRST_STRIDE, LEAST_EFFORT};
use super::search::{Offer, Search};
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

/// The first turn with rounds, and the steps of a search in a round: about a quarter of a millisecond.
const LONG_TURN: u64 = 64 * FIRST_STRIDE;
const STEPS: u64 = 30_000;

/// The searches from each end in the first turn with rounds, and in later ones. If there are two searches for
/// each thread, threads seldom wait for each other.
const FEW_SEARCHES: usize = 2;
const MANY_SEARCHES: usize = 16;

/// The most instructions in all searches from one end.
const MOST_INSTRS: usize = 1 << 17;

impl Dimensions {
    /// Return the dimensions for a turn, or `None` if one search from each end is enough: for a short turn,
    /// and where one thread works against the clock, since rounds need more states in all.
    pub(super) fn of(turn: u64, instrs: usize, budget: Budget) -> Option<Dimensions> {
        let is_alone = budget.threads < 2 && budget.nodes.is_none() && budget.time_per_instr.is_some();
        if turn < LONG_TURN || is_alone {
            return None;
        }
        let searches = if turn < 8 * LONG_TURN { FEW_SEARCHES } else { MANY_SEARCHES };
        Some(Dimensions { searches: searches.min(MOST_INSTRS / instrs).max(1), steps: STEPS })
    }
}

/// The most children that a search offers to others in a round.
const MOST_OFFERS: usize = 16;

/// The most states of a path that others leave out.
const MOST_TAKEN: usize = 255;

/// A search with its state between rounds.
struct Worker<'a> {
    search: Search<'a>,
    /// The steps of the last round, and the steps by which all rounds so far exceed their due.
    spent: u64,
    debt: u64,
    /// The states of the last round.
    expanded: u64,
    verdict: Verdict<Vec<InstrId>>,
    /// Children that others can take over.
    offers: Vec<Offer>,
    /// An offer of another search, which has this number.
    accepted: Option<(usize, Offer)>,
    /// Whether another search does the same work.
    is_resting: bool,
}

impl Worker<'_> {
    /// Advance by about `steps`. A cut may take longer, which then counts for the next round.
    fn advance(&mut self, view: &mut View, steps: u64, whole: &Effort, is_cancelled: impl Fn() -> bool) {
        self.spent = 0;
        self.search.left_behind.clear();
        let own = std::mem::take(&mut self.expanded);
        if self.is_resting {
            return;
        }
        if self.debt >= steps {
            self.debt -= steps;
            return;
        }
        self.search.count_others(|key| view.expanded_below(key).saturating_sub(own.max(1)));
        let mut effort = Effort { steps: 2 * steps, deadline: whole.deadline };
        let before = self.search.states;
        self.verdict = self.search.run(view, &mut effort, steps + self.debt, is_cancelled);
        self.search.settled = self.search.settled.max(before);
        self.expanded = self.search.states - before;
        self.spent = 2 * steps - effort.steps;
        self.debt = (self.debt + self.spent).saturating_sub(steps);
    }

    /// Take notice of the failed states of all searches. Tell the others what is taken, and what is on offer.
    fn catch_up(&mut self, view: &mut View, taken: &Taken) {
        self.offers.clear();
        if !self.search.catch_up(view) {
            self.verdict = Verdict::No(());
        } else if !self.is_resting {
            for key in self.search.settled_path().take(MOST_TAKEN) {
                taken.insert(key, self.expanded.max(1));
            }
            self.offers.extend(self.search.offers(view).take(MOST_OFFERS));
        }
    }

    /// Return whether another search, with a number that is lower or not, does the work of this one.
    fn is_covered_by(&self, other: &Worker, is_lower: bool) -> bool {
        let is_left =
            |&key: &u128| self.search.passes(key) || is_lower && self.search.left_behind.contains(&key);
        let is_same = is_lower && other.search.position() == self.search.position();
        !other.is_resting && (is_same || other.search.left_behind.iter().any(is_left))
    }
}

/// Let searches of one end rest if others do their work. Distribute the offers.
fn divide_work(workers: &[Mutex<Worker>], taken: &Taken) {
    let mut workers: Vec<MutexGuard<Worker>> = workers.iter().map(lock).collect();
    let mut offers = Vec::new();
    for number in 0..workers.len() {
        let worker = &workers[number];
        let mut others = workers.iter().enumerate().filter(|(other, _)| *other != number);
        let is_covered = others.any(|(other, covering)| worker.is_covered_by(covering, other < number));
        workers[number].is_resting |= is_covered;
        if !workers[number].is_resting {
            offers.extend(workers[number].offers.iter().map(|&offer| (number, offer)));
        }
    }
    offers.sort_by_key(|&(number, offer)| (offer.level, number));
    let mut offers = offers.into_iter();
    let mut is_donor = vec![false; workers.len()];
    for number in 0..workers.len() {
        let is_idle = workers[number].is_resting || workers[number].search.is_blocked;
        if !is_idle || is_donor[number] {
            continue;
        }
        // A search that leaves its path cannot hand over children.
        let mut open =
            offers.by_ref().filter(|(donor, _)| *donor != number && workers[*donor].accepted.is_none());
        let Some((donor, offer)) = open.find(|(_, offer)| taken.insert(offer.key, 1)) else { break };
        is_donor[donor] = true;
        workers[number].accepted = Some((donor, offer));
        workers[number].is_resting = false;
    }
}

/// The kinds of jobs, in the order of a round.
const ADVANCE: usize = 0;
const FILL: usize = 1;
const CATCH_UP: usize = 2;
const TAKE_OVER: usize = 3;

/// Search a part from both ends, for a turn of `turn` steps each. `graphs` and `memories` are those of the
/// two ends. `states` is raised by the number of expanded states.
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
        let end = end_of(number);
        let search = Search::new(part, closure, &graphs[end], directions[end], limits, options.rules);
        // The first one starts, and hands over to the others.
        let is_resting = !number.is_multiple_of(searches);
        Mutex::new(Worker {
            search,
            spent: 0,
            debt: 0,
            expanded: 0,
            verdict: Verdict::Unknown,
            offers: Vec::new(),
            accepted: None,
            is_resting,
        })
    };
    let workers: Vec<Mutex<Worker>> = (0..count).map(worker).collect();
    let news: Vec<RwLock<News>> = (0..count).map(|_| RwLock::new(News::new())).collect();
    let shared = memories.each_mut().map(Memory::share);
    let taken = [(); 2].map(|()| Taken::new(searches * (MOST_TAKEN + 1)));
    let share = AtomicU64::new(steps);
    let whole = *effort;
    let advance = |number: usize| {
        let mut news = news[number].write().unwrap_or_else(PoisonError::into_inner);
        let mut view = View::new(&shared[end_of(number)], &mut news, &taken[end_of(number)]);
        let is_cancelled = || is_cancelled.load(Ordering::Relaxed);
        let steps = share.load(Ordering::Relaxed);
        lock(&workers[number]).advance(&mut view, steps, &whole, is_cancelled);
    };
    let fill = |number: usize| {
        let (end, table) = (number / TABLES, number % TABLES);
        let news = news[end * searches..(end + 1) * searches].iter();
        let news = news.map(|news| news.read().unwrap_or_else(PoisonError::into_inner));
        news.for_each(|news| shared[end].fill(table, &news.keys));
    };
    let catch_up = |number: usize| {
        let mut news = news[number].write().unwrap_or_else(PoisonError::into_inner);
        news.clear();
        let mut view = View::new(&shared[end_of(number)], &mut news, &taken[end_of(number)]);
        lock(&workers[number]).catch_up(&mut view, &taken[end_of(number)]);
    };
    let take_over = |number: usize| {
        let mut worker = lock(&workers[number]);
        if let Some((donor, offer)) = worker.accepted.take() {
            worker.search.take_over(&lock(&workers[end_of(number) * searches + donor]).search, offer);
        }
    };
    let jobs: [(&(dyn Fn(usize) + Sync), usize); 4] =
        [(&advance, count), (&fill, 2 * TABLES), (&catch_up, count), (&take_over, count)];
    let most_jobs = jobs.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let work = |job: usize| jobs[job / most_jobs].0(job % most_jobs);
    let verdict = with_crew(options.budget.threads, work, |run| {
        let run_all = |kind: usize| run(kind * most_jobs..kind * most_jobs + jobs[kind].1);
        let verdict = || {
            let verdicts =
                workers.iter().map(|worker| std::mem::replace(&mut lock(worker).verdict, Verdict::Unknown));
            verdicts.fold(Verdict::Unknown, |first, next| if first.is_unknown() { next } else { first })
        };
        let mut left = 2 * turn;
        let mut judgements = [0, 1].map(|end: usize| lock(&workers[end * searches]).search.judgements);
        while left > 0 && !is_cancelled.load(Ordering::Relaxed) && !is_over(whole.deadline) {
            // The last rounds may exceed the turn by a little.
            share.store((left / count as u64).max(LEAST_EFFORT).min(steps), Ordering::Relaxed);
            run_all(ADVANCE);
            let known = judgements;
            for (number, worker) in workers.iter().enumerate() {
                let worker = lock(worker);
                let end = end_of(number);
                left = left.saturating_sub(worker.spent);
                effort.spend(worker.spent);
                judgements[end].add_since(known[end], worker.search.judgements);
            }
            let mut decided = verdict();
            if decided.is_unknown() {
                run_all(FILL);
                taken.iter().for_each(Taken::clear);
                run_all(CATCH_UP);
                decided = verdict();
            }
            if !decided.is_unknown() {
                return decided;
            }
            for (workers, taken) in workers.chunks(searches).zip(&taken) {
                divide_work(workers, taken);
            }
            run_all(TAKE_OVER);
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
            let dimensions = Dimensions { searches: 1 + random.below(5), steps: 64 << random.below(6) };
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
    fn searches_that_divide_the_work_are_right() {
        let mut random = Random::new(3);
        let (mut found, mut failed, mut states) = (0, 0, 0);
        for region in regions(0..100, 11) {
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
        assert!(found > 1_000 && failed > 500 && states > 30_000, "{found} {failed} {states}");
    }
}
