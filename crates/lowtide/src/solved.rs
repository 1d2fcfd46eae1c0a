//! What has been found out about graphs, so that nothing is asked twice.
//!
//! Code is inlined, unrolled and instantiated: most regions of a program have the graph of another one. [`Solved`] keeps the answers
//! of a run, for all kernels and threads together. A question is told by all that its answer depends on: the graph
//! ([`fingerprint`]), the target, the budget, the limits without what only passes through the region, and the orders to start from.
//!
//! Whoever asks first, the answer must be the same; else results would depend on the order of kernels and on threads. So every question is asked of the
//! bare graph, which is the same for all regions that have it. If two threads ask at the same time, one waits for the other. With an answer goes the log of the
//! search that found it, so that every region can tell how its own were found.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::closure::Closure;
use crate::analysis::fingerprint::fingerprint;
use crate::analysis::limits::limits_without_through;
use crate::analysis::pressure_bound::{MOST_FOR_CUTS, pressure_at_ends, pressure_bound};
use crate::budget::Budget;
use crate::colony::{self, Parameters, Task};
use crate::index::InstrId;
use crate::list::few_registers::few_registers;
use crate::minreg::exact::{self, Decision};
use crate::problem::Problem;
use crate::progress::{Log, Observed, Observer, Quantity, SearchLog};
use crate::proof::Moment;
use crate::proof::Reason;
use crate::region::Region;
use crate::twopass::length::{self, shortest};

/// The answers of a run.
#[derive(Debug, Default)]
pub struct Solved {
    graphs: Mutex<FxHashSet<(u128, u64)>>,
    regions: AtomicU64,
    few_registers: Memo<Graph, Vec<InstrId>>,
    peak_bounds: Memo<Graph, Answer<Vec<(u32, Moment)>>>,
    fewest: Memo<Graph, Answer<Fewest>>,
    decisions: Memo<Question, Answer<Decision>>,
    lengths: Memo<Question, Answer<Option<length::Answer>>>,
    colonies: Memo<ColonyQuestion, Answer<Option<colony::Answer>>>,
    /// The pass whose questions to ants are noted, instead of answered, and what was noted.
    noting: Mutex<Option<(usize, FxHashMap<ColonyQuestion, Task>)>>,
    spent: [Counter; 2],
    observer: Option<Watcher>,
}

/// Who is told how searches go.
struct Watcher(Box<Observer>);

impl fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watcher")
    }
}

/// An answer with what it took: states, time, and how the search went, if it was one.
#[derive(Clone, Debug)]
struct Answer<T> {
    answer: T,
    taken: Taken,
    log: Option<SearchLog>,
}

/// What an answer has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) nodes: u64,
    pub(crate) time: Duration,
    /// Whether it was found for another region.
    pub(crate) is_copied: bool,
}

/// What is known about the fewest registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fewest {
    pub(crate) order: Vec<InstrId>,
    /// For each class, a peak that every order has at least, and why.
    pub(crate) bounds: Vec<(u32, Reason)>,
}

/// A graph on a target, and the budget for each question.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Graph {
    fingerprint: u128,
    target: u64,
    budget: Budget,
}

/// A question about a graph with limits on its registers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Question {
    graph: Graph,
    /// For each class, without what passes through.
    limits: Vec<Option<u32>>,
    /// The orders to start from.
    starts: u64,
    /// The steps that this question may take of the whole budget.
    nodes: Option<u64>,
    only_lists: bool,
}

/// A question for ants: steps of limits for pass 1, the only ones for pass 2.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ColonyQuestion {
    question: Question,
    pass: usize,
    steps: Vec<Vec<Option<u32>>>,
    parameters: Parameters,
}

/// A question that was asked of ants.
#[derive(Clone, Debug)]
pub struct Asked {
    question: ColonyQuestion,
    task: Task,
}

impl Asked {
    /// What is to be done.
    pub fn task(&self) -> &Task {
        &self.task
    }
}

/// Answers by question. The lock is held only to find the place of an answer, not while it is sought.
#[derive(Debug)]
struct Memo<Key, Answer>(Mutex<FxHashMap<Key, Arc<OnceLock<Answer>>>>);

impl<Key, Answer> Default for Memo<Key, Answer> {
    fn default() -> Self {
        Memo(Mutex::default())
    }
}

impl<Key: Eq + Hash, Answer: Clone> Memo<Key, Answer> {
    fn get(&self, key: Key, find: impl FnOnce() -> Answer) -> Answer {
        let place = Arc::clone(lock(&self.0).entry(key).or_default());
        place.get_or_init(find).clone()
    }
}

impl<Key: Eq + Hash, T: Clone> Memo<Key, Answer<T>> {
    /// As [`Memo::get`]; the answer says whether it was known.
    fn ask(&self, key: Key, find: impl FnOnce() -> Answer<T>) -> Answer<T> {
        let is_new = Cell::new(false);
        let mut answer = self.get(key, || {
            is_new.set(true);
            find()
        });
        answer.taken.is_copied = !is_new.get();
        answer
    }

    fn known(&self, key: &Key) -> Option<T> {
        lock(&self.0).get(key).and_then(|place| place.get()).map(|known| known.answer.clone())
    }
}

/// What is behind a lock is complete at every moment, even if a thread has died.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
struct Counter {
    states: AtomicU64,
    nanoseconds: AtomicU64,
}

/// What a pass has taken, over all graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spent {
    /// States of its searches.
    pub states: u64,
    /// Time for all that it asked and that was not known.
    pub time: Duration,
}

impl Solved {
    /// Nothing yet.
    pub fn new() -> Self {
        Solved::default()
    }

    /// Tells someone how searches go, while they run.
    ///
    /// ```
    /// use lowtide::progress::Event;
    /// use lowtide::solved::Solved;
    ///
    /// let solved = Solved::new().observed_by(Box::new(|event: &Event| {
    ///     println!("{}: {} {}", event.region.name(), event.quantity.name(), event.step().best);
    /// }));
    /// ```
    pub fn observed_by(self, observer: Box<Observer>) -> Self {
        Solved { observer: Some(Watcher(observer)), ..self }
    }

    /// A problem whose questions are answered from here. It counts as one more region of the run, unless it is there only to note its questions ([`Solved::asked_of_ants`]).
    pub fn share<'a>(&'a self, problem: &'a Problem<'a>, budget: Budget) -> Shared<'a> {
        let mut hasher = DefaultHasher::new();
        (problem.target().issue(), problem.target().files()).hash(&mut hasher);
        // How many threads search makes no difference to what they find.
        let budget = Budget { threads: 1, ..budget };
        let graph = Graph { fingerprint: fingerprint(problem.region()), target: hasher.finish(), budget };
        if lock(&self.noting).is_none() {
            self.regions.fetch_add(1, Ordering::Relaxed);
        }
        lock(&self.graphs).insert((graph.fingerprint, graph.target));
        let (bare, searches) = (OnceCell::new(), RefCell::default());
        Shared { problem, solved: self, graph, kernel: None, bare, searches }
    }

    /// How many of the regions so far had the graph of another one.
    pub fn repeated(&self) -> u64 {
        self.regions.load(Ordering::Relaxed).saturating_sub(lock(&self.graphs).len() as u64)
    }

    /// What pass 1 and pass 2 have taken.
    pub fn spent(&self) -> [Spent; 2] {
        [0, 1].map(|pass| Spent {
            states: self.spent[pass].states.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.spent[pass].nanoseconds.load(Ordering::Relaxed)),
        })
    }

    /// What ants are asked in a pass (1 or 2) by some work, for an engine that takes all of it at once. While it is noted, the answer is that nothing better was found.
    /// Pass 2 can only be noted when the answers of pass 1 are [known](Solved::tell).
    pub fn asked_of_ants(&self, pass: u8, work: impl FnOnce()) -> Vec<Asked> {
        *lock(&self.noting) = Some((usize::from(pass) - 1, FxHashMap::default()));
        work();
        let noted = lock(&self.noting).take();
        let asked = noted.into_iter().flat_map(|(_, asked)| asked);
        asked.map(|(question, task)| Asked { question, task }).collect()
    }

    fn note(&self, question: ColonyQuestion, make: impl FnOnce() -> Option<Task>) {
        let is_wanted = |noting: &Option<(usize, FxHashMap<ColonyQuestion, Task>)>| {
            noting
                .as_ref()
                .is_some_and(|(pass, asked)| *pass == question.pass && !asked.contains_key(&question))
        };
        if is_wanted(&lock(&self.noting))
            && let Some(task) = make()
            && let Some((_, asked)) = &mut *lock(&self.noting)
        {
            asked.insert(question, task);
        }
    }

    /// Takes over what an engine has found.
    pub fn tell(&self, asked: Asked, answer: colony::Answer) {
        let taken = Taken { nodes: answer.choices, ..Taken::default() };
        self.colonies.get(asked.question, || Answer { answer: Some(answer), taken, log: None });
    }

    /// Looks for an answer and counts what it takes.
    fn count<T>(&self, pass: usize, find: impl FnOnce() -> (T, u64)) -> Answer<T> {
        self.count_logged(pass, || {
            let (answer, nodes) = find();
            (answer, nodes, None)
        })
    }

    /// As [`Solved::count`], for a search that keeps a log.
    fn count_logged<T>(&self, pass: usize, find: impl FnOnce() -> (T, u64, Option<SearchLog>)) -> Answer<T> {
        let start = Instant::now();
        let (answer, nodes, log) = find();
        let time = start.elapsed();
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.spent[pass].states.fetch_add(nodes, Ordering::Relaxed);
        self.spent[pass].nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        Answer { answer, taken: Taken { nodes, time, is_copied: false }, log }
    }
}

/// A problem that shares the answers to its questions with all others that have the same graph.
#[derive(Debug)]
pub struct Shared<'a> {
    problem: &'a Problem<'a>,
    solved: &'a Solved,
    graph: Graph,
    /// For the observer.
    kernel: Option<&'a str>,
    /// Made when something new is asked.
    bare: OnceCell<Region>,
    /// How the searches for it went.
    searches: RefCell<Vec<SearchLog>>,
}

impl<'a> Shared<'a> {
    /// An observer is told that it is a region of this kernel.
    pub(crate) fn of_kernel(self, name: &'a str) -> Self {
        Shared { kernel: Some(name), ..self }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem<'_> {
        self.problem
    }

    /// How the searches for it went, as far as there was anything to look for.
    pub fn searches(&self) -> Vec<SearchLog> {
        self.searches.borrow().clone()
    }

    /// The log of a search that starts now.
    pub(crate) fn log(&self, quantity: Quantity) -> Log<'_> {
        let (kernel, region) = (self.kernel, self.problem.region());
        let observer = self.solved.observer.as_ref();
        Log::new(quantity).observed(observer.map(|watcher| Observed {
            observer: &*watcher.0,
            kernel,
            region,
        }))
    }

    /// Keeps the log of a search that has ended.
    pub(crate) fn keep(&self, log: SearchLog) {
        if !log.steps.is_empty() {
            self.searches.borrow_mut().push(log);
        }
    }

    /// Keeps the log of an answer.
    fn answer<T>(&self, found: Answer<T>) -> T {
        if let Some(log) = found.log {
            self.keep(SearchLog { is_copied: found.taken.is_copied, ..log });
        }
        found.answer
    }

    fn bare(&self) -> &Region {
        self.bare.get_or_init(|| self.problem.region().bare())
    }

    /// As [`few_registers`].
    pub(crate) fn few_registers(&self) -> Vec<InstrId> {
        self.solved.few_registers.get(self.graph, || {
            self.solved.count(0, || (few_registers(&self.problem.of(self.bare())), 0)).answer
        })
    }

    /// For each class a peak that every order has at least, and the moment that proves it: by cuts, if the region is not too large.
    pub(crate) fn peak_bounds(&self) -> Vec<(u32, Moment)> {
        self.peak_bounds_and_taken().0
    }

    /// As [`Shared::peak_bounds`], with what that has taken.
    pub(crate) fn peak_bounds_and_taken(&self) -> (Vec<(u32, Moment)>, Taken) {
        let hint = self.few_registers();
        let Answer { answer: mut bounds, taken, .. } = self.solved.peak_bounds.ask(self.graph, || {
            let region = self.bare();
            self.solved.count(0, || {
                if region.len() > MOST_FOR_CUTS {
                    return (pressure_at_ends(region), 0);
                }
                let closure = Closure::new(region);
                let bound = |class| pressure_bound(region, class, &closure, &hint, self.graph.budget);
                let bounds = region.class_ids().map(bound);
                (bounds.map(|bound| (bound.value, bound.witness)).collect(), 0)
            })
        });
        self.add_through(bounds.iter_mut().map(|(bound, _)| bound));
        (bounds, taken)
    }

    fn add_through<'b>(&self, peaks: impl Iterator<Item = &'b mut u32>) {
        let region = self.problem.region();
        region.class_ids().zip(peaks).for_each(|(class, peak)| *peak += region.through(class));
    }

    /// The order with the fewest registers of the first class, as far as the budget allows, on so many threads.
    pub(crate) fn fewest(&self, threads: usize) -> Fewest {
        let start = Instant::now();
        let few = self.few_registers();
        let primary = self.problem.primary_class();
        // The bare graph has nothing that passes through; the region that asks has.
        let classes = self.problem.region().classes().len();
        let through = if primary.index() < classes { self.problem.region().through(primary) } else { 0 };
        let found = self.solved.fewest.ask(self.graph, || {
            let region = self.bare();
            let budget = Budget { threads, ..self.graph.budget };
            let mut bounds: Vec<(u32, Reason)> =
                pressure_at_ends(region).into_iter().map(|(bound, end)| (bound, Reason::Cut(end))).collect();
            if region.len() > MOST_FOR_CUTS || bounds.is_empty() {
                let taken = Taken { nodes: 0, time: start.elapsed(), is_copied: false };
                return Answer { answer: Fewest { order: few, bounds }, taken, log: None };
            }
            // The bounds of the other classes take little, so the rest is for the search.
            let closure = Closure::new(region);
            for class in region.class_ids().filter(|class| *class != primary) {
                let bound = pressure_bound(region, class, &closure, &few, budget);
                bounds[class.index()] = (bound.value, Reason::Cut(bound.witness));
            }
            let spent = start.elapsed() / region.len() as u32;
            let time_per_instr = budget.time_per_instr.map(|time| time.saturating_sub(spent));
            let log = self.log(Quantity::Peak).told_with(through.into());
            let options = exact::Options::new(Budget { time_per_instr, ..budget });
            let options = exact::Options { watch: log.watch(), ..options };
            let answer = exact::minimise(region, primary, &[], &few, options);
            let log = log.finish(answer.nodes);
            bounds[primary.index()] = (answer.bound, answer.reason);
            let taken = Taken { nodes: answer.nodes, time: start.elapsed(), is_copied: false };
            Answer { answer: Fewest { order: answer.order, bounds }, taken, log: Some(log) }
        });
        let log = found.log.map(|log| log.raised(through.into()));
        let mut fewest = self.answer(Answer { log, ..found });
        self.add_through(fewest.bounds.iter_mut().map(|(bound, _)| bound));
        fewest
    }

    /// As [`exact::within`], with a part of the budget.
    pub(crate) fn within(
        &self,
        limits: &[Option<u32>],
        start: &[InstrId],
        budget: Budget,
    ) -> (Decision, Taken) {
        let Some(limits) = self.effective(limits) else {
            // What passes through alone is too much.
            return (Decision::No(Reason::Cut(Moment::Start)), Taken::default());
        };
        let question = self.question(&limits, &[start], budget, false);
        let found = self.solved.decisions.ask(question, || {
            let options = exact::Options::new(budget);
            self.solved.count(0, || exact::decide(self.bare(), &limits, start, options))
        });
        (found.answer, found.taken)
    }

    /// As [`shortest`], with a part of the budget.
    pub(crate) fn shortest(
        &self,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        options: length::Options,
    ) -> Option<length::Answer> {
        let limits = self.effective(limits)?;
        let question = self.question(&limits, starts, options.budget, options.only_lists);
        let found = self.solved.lengths.ask(question, || {
            self.solved.count_logged(1, || {
                let log = self.log(Quantity::Length);
                let options = length::Options { watch: log.watch(), ..options };
                let answer = shortest(&self.problem.of(self.bare()), &limits, starts, options);
                let states = answer.as_ref().map_or(0, |answer| answer.nodes);
                (answer, states, Some(log.finish(states)))
            })
        });
        self.answer(found)
    }

    /// The order that ants find for pass 1: as [`Task::pressure`]. Steps that are out of reach for what passes through alone are left out.
    pub(crate) fn fewer_registers(
        &self,
        steps: &[Vec<Option<u32>>],
        start: &[InstrId],
        options: colony::Options,
    ) -> (Vec<InstrId>, Taken) {
        let steps: Vec<Vec<Option<u32>>> = steps.iter().filter_map(|limits| self.effective(limits)).collect();
        let make = |problem: &Problem| Task::pressure(problem, &steps, start, options);
        let found = self.ask_ants(0, steps.clone(), &[start], options, make);
        let taken = found.taken;
        let order = self.answer(found).map_or_else(|| start.to_vec(), |answer| answer.order);
        (order, taken)
    }

    /// The order that ants find for pass 2: as [`Task::length`].
    pub(crate) fn shorter(
        &self,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        options: colony::Options,
    ) -> Option<colony::Answer> {
        let limits = self.effective(limits)?;
        let make = |problem: &Problem| Task::length(problem, &limits, starts, options);
        let found = self.ask_ants(1, vec![limits.clone()], starts, options, make);
        self.answer(found)
    }

    fn ask_ants(
        &self,
        pass: usize,
        steps: Vec<Vec<Option<u32>>>,
        starts: &[&[InstrId]],
        options: colony::Options,
        make: impl Fn(&Problem) -> Option<Task>,
    ) -> Answer<Option<colony::Answer>> {
        let question = ColonyQuestion {
            question: self.question(&[], starts, options.budget, false),
            pass,
            steps,
            parameters: options.parameters,
        };
        let make = || make(&self.problem.of(self.bare()));
        let is_noting = lock(&self.solved.noting).is_some();
        if is_noting {
            let known = self.solved.colonies.known(&question);
            if known.is_none() {
                self.solved.note(question, make);
            }
            return Answer { answer: known.flatten(), taken: Taken::default(), log: None };
        }
        self.solved.colonies.ask(question, || {
            self.solved.count_logged(pass, || {
                let log = self.log([Quantity::Excess, Quantity::Length][pass]);
                let answer = make().map(|task| task.run_watched(options.budget.threads, log.watch()));
                let choices = answer.as_ref().map_or(0, |answer| answer.choices);
                (answer, choices, Some(log.finish(choices)))
            })
        })
    }

    fn question(
        &self,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        budget: Budget,
        only_lists: bool,
    ) -> Question {
        let mut hasher = DefaultHasher::new();
        starts.hash(&mut hasher);
        Question {
            graph: self.graph,
            limits: limits.to_vec(),
            starts: hasher.finish(),
            nodes: budget.nodes,
            only_lists,
        }
    }

    /// The limits of the bare graph, none where nothing can exceed them. None if what passes through alone does.
    pub(crate) fn effective(&self, limits: &[Option<u32>]) -> Option<Vec<Option<u32>>> {
        limits_without_through(self.problem.region(), limits)
    }
}
