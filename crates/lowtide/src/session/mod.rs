//! A [`Session`]: answers that are found once for all regions with the same graph.
//!
//! Code is inlined, unrolled and instantiated: five regions of six have the graph of another one. A session
//! keeps the answer to every question, for all kernels and threads that use it.
//!
//! The cache key of an answer contains every input that affects it:
//! - the graph;
//! - the register files and the issue model of the target;
//! - the budget;
//! - the limits on registers, without the weight that only passes through the region;
//! - the orders to start from.
//!
//! A hit compares all of these, not a hash of them.
//!
//! Answers must not depend on who asks first; otherwise results would depend on the order of kernels and on
//! threads. So every search works on the bare graph, which is the same for all regions that share it.
//!
//! | file | content |
//! |---|---|
//! | `memo` | answers by question |
//! | `graph` | the bare graph and facts about it, each computed once |
//! | `shared` | a problem whose questions the session answers |
//! | `ants` | questions that any engine can answer: this processor, or a GPU for many regions at once |
//! | `statistics` | counters, which belong to a run and not to a session |
//! | `store` | the interface of a [`Store`], which keeps answers across runs |
//! | `record` | the bytes of an entry of a store, with checksums and seals |
//! | `kept` | the records of a graph |
//! | `note` | notes of a compiler in the store |
//! | `stored` | the answers of a store, each verified before use |

mod ants;
mod graph;
mod kept;
mod memo;
mod note;
pub mod record;
mod shared;
mod statistics;
mod store;
mod stored;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;

pub(crate) use ants::AntQuestion;
#[cfg(feature = "unstable")]
pub use ants::AntTask;
pub(crate) use memo::Taken;
#[cfg(feature = "unstable")]
pub use shared::SharedProblem;
pub use statistics::{Spent, Statistics};
pub use store::{Counters, Counts, Key, Secret, Store};
#[cfg(not(feature = "unstable"))]
pub(crate) use {ants::AntTask, shared::SharedProblem};

use crate::analysis::fingerprint::Words;
use crate::analysis::length_bound::LengthBound;
use crate::budget::Budget;
use crate::colony;
use crate::index::InstrId;
use crate::minreg::exact::Decision;
use crate::problem::Problem;
use crate::progress::Observer;
use crate::proof::Moment;
use crate::target::{Issue, RegisterFile};
use crate::twopass::length;
use ants::ColonyKey;
use kept::Kept;
use memo::{Answer, Memo, lock};
use shared::{Fewest, Question};

/// Answers for all regions with the same graph, shared by all kernels and threads that use the session.
///
/// Sessions are independent of each other. A session only grows: drop it when its answers are no longer
/// needed.
#[derive(Debug, Default)]
pub struct Session {
    graphs: Mutex<FxHashMap<Words, Arc<Answers>>>,
    store: Option<Arc<dyn Store>>,
}

/// The answers for one graph on one target.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The records of the store, if there is one.
    kept: Option<Kept>,
    /// By the time for each instruction.
    few_registers: Memo<Option<Duration>, Vec<InstrId>>,
    /// Without a time limit, on the region itself. By its values in their order, which breaks ties.
    few_registers_by_values: Memo<Words, Vec<InstrId>>,
    /// By the work.
    length_bounds: Memo<u64, Arc<LengthBound>>,
    /// The best of these bounds, by the work. A store may have it.
    least_lengths: Memo<u64, u32>,
    peak_bounds: Memo<Budget, Answer<Vec<(u32, Moment)>>>,
    fewest: Memo<Budget, Answer<Fewest>>,
    decisions: Memo<Question, Answer<Decision>>,
    lengths: Memo<Question, Answer<Option<length::Answer>>>,
    colonies: Memo<ColonyKey, Answer<Option<colony::Answer>>>,
}

impl Session {
    /// A session without answers.
    pub fn new() -> Self {
        Session::default()
    }

    /// A session that looks for answers in a store first, and keeps new ones there.
    pub fn with_store(store: Arc<dyn Store>) -> Self {
        Session { store: Some(store), ..Session::default() }
    }

    /// The store of the session.
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }

    /// The answers for the graph of a problem.
    fn answers(&self, problem: &Problem) -> Arc<Answers> {
        let mut key = Words::default();
        key.push_graph(problem.region());
        push_issue(&mut key, problem.target().issue());
        problem.target().files().iter().for_each(|file| push_file(&mut key, file));
        let mut graphs = lock(&self.graphs);
        if let Some(answers) = graphs.get(&key) {
            return Arc::clone(answers);
        }
        let kept = self.store.as_ref().map(|store| Kept::new(&key, store));
        let answers = Arc::new(Answers { kept, ..Answers::default() });
        graphs.insert(key, Arc::clone(&answers));
        answers
    }
}

fn push_issue(key: &mut Words, issue: &Issue) {
    key.push(issue.width);
    key.push(issue.units.len() as u32);
    for unit in &issue.units {
        key.push_name(&unit.name);
        key.push(unit.count);
    }
}

fn push_file(key: &mut Words, file: &RegisterFile) {
    key.extend([file.size, file.granule, file.waves, file.classes.len() as u32]);
    for class in &file.classes {
        key.push_name(&class.name);
        key.extend([class.max, class.align]);
    }
}

/// The surroundings of a run: where answers are kept, who counts, and who watches.
///
/// ```
/// use lowtide::progress::Event;
/// use lowtide::session::{Context, Session, Statistics};
///
/// let (session, statistics) = (Session::new(), Statistics::default());
/// let observer = |event: &Event| println!("{}: {}", event.region.name(), event.step().best);
/// let context = Context::new(&session).counted_by(&statistics).observed_by(&observer);
/// # let _ = context;
/// ```
#[derive(Clone, Copy)]
pub struct Context<'a> {
    session: &'a Session,
    statistics: Option<&'a Statistics>,
    observer: Option<&'a Observer<'a>>,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_observed = self.observer.is_some();
        let statistics = &self.statistics;
        formatter
            .debug_struct("Context")
            .field("statistics", statistics)
            .field("is_observed", &is_observed)
            .finish()
    }
}

impl<'a> Context<'a> {
    /// Answers are kept in `session`. Nobody counts or watches.
    pub fn new(session: &'a Session) -> Self {
        Context { session, statistics: None, observer: None }
    }

    /// Count the work in `statistics`.
    pub fn counted_by(self, statistics: &'a Statistics) -> Self {
        Context { statistics: Some(statistics), ..self }
    }

    /// Report every step of a search to `observer` while the search runs.
    pub fn observed_by(self, observer: &'a Observer<'a>) -> Self {
        Context { observer: Some(observer), ..self }
    }

    /// The same answers, for work that nobody counts or watches.
    pub(crate) fn in_private(self) -> Self {
        Context { statistics: None, observer: None, ..self }
    }
}

impl<'a> From<&'a Session> for Context<'a> {
    fn from(session: &'a Session) -> Self {
        Context::new(session)
    }
}
