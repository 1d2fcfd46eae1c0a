//! Cuts at moments, several at a time.
//!
//! A search for skeletons spends nearly all of its time on minimum cuts. Which cut is the next one depends on
//! the answers so far, but it can be foreseen: mostly, all moments without a witness need one, and most pairs
//! of a reason stay in it. So the cuts that are probably next are computed at the same time, one on each
//! thread. The search takes the answers in its own order, as far as it needs them, and pays the steps of
//! these alone. So neither its result nor its steps depend on the number of threads.
//!
//! All of these questions are about critical instructions. So most of the others share nodes: see
//! `analysis::contraction`.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Kept, Minimum, Side};
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::minreg::crew::with_crew;
use crate::region::Region;

/// The moment just before or just after an instruction, in orders with some instructions before it and others
/// after it.
pub(super) struct Question {
    /// The number of the class among those with a limit.
    pub(super) class: usize,
    pub(super) x: InstrId,
    pub(super) is_after: bool,
    pub(super) before: Vec<InstrId>,
    pub(super) after: Vec<InstrId>,
    /// Whether the work starts from the flow that was kept.
    pub(super) is_beyond: bool,
}

/// The least pressure at a moment, up to the limit on its class and one more.
pub(super) struct Answer {
    pub(super) least: Minimum,
    pub(super) steps: u64,
    /// The largest downset with the least pressure. If the moment is too high: where the flow starts.
    pub(super) done: BitSet,
    /// If the moment is too high: where the flow ends.
    pub(super) ahead: BitSet,
}

/// A class with a limit, and the least pressure above the limit.
#[derive(Clone, Copy)]
pub(super) struct Limited {
    pub(super) class: ClassId,
    pub(super) excess: u32,
}

/// Answers questions, one at a time.
struct Cutter<'a> {
    region: &'a Region,
    closure: &'a Closure,
    limited: Vec<Limited>,
    /// For each class with a limit.
    cuts: Vec<DownsetMin<'a>>,
    sides: Vec<Side>,
    done: BitSet,
    ahead: BitSet,
    question: Question,
    /// The most that the answer may take.
    effort: Effort,
    answer: Option<Answer>,
}

impl<'a> Cutter<'a> {
    fn new(region: &'a Region, closure: &'a Closure, limited: &[Limited], cuts: Vec<DownsetMin<'a>>) -> Self {
        Cutter {
            region,
            closure,
            limited: limited.to_vec(),
            cuts,
            sides: vec![Side::Free; region.len()],
            done: BitSet::new(region.len()),
            ahead: BitSet::new(region.len()),
            question: Question {
                class: 0,
                x: InstrId(0),
                is_after: false,
                before: Vec::new(),
                after: Vec::new(),
                is_beyond: false,
            },
            effort: Effort::UNBOUNDED,
            answer: None,
        }
    }

    fn answer(&mut self, kept: &Kept) {
        let Effort { steps, .. } = self.effort;
        self.place(None);
        let Question { class, is_beyond, .. } = self.question;
        let (cut, excess) = (&mut self.cuts[class], self.limited[class].excess);
        let least = match is_beyond {
            true => cut.min_beyond(kept, &self.sides, excess, &mut self.effort),
            false => cut.min(&self.sides, excess, &mut self.effort),
        };
        match least {
            Minimum::Exact(_) if is_beyond => {}
            Minimum::Exact(_) => cut.largest(&mut self.done),
            Minimum::AtLeast(_) => cut.ends(&mut self.done, &mut self.ahead),
        }
        let steps = steps - self.effort.steps;
        self.answer = Some(Answer { least, steps, done: self.done.clone(), ahead: self.ahead.clone() });
    }

    /// Place all instructions at the moment of the question: done, ahead, or either. What has been `reached`
    /// is also done.
    fn place(&mut self, reached: Option<&BitSet>) {
        self.effort.spend(self.region.len() as u64);
        let Question { x, is_after, before, after, .. } = &self.question;
        self.done.copy_from(self.closure.ancestors(*x));
        self.ahead.copy_from(self.closure.descendants(*x));
        for &instr in before {
            self.done.unite(self.closure.ancestors(instr));
            self.done.insert(instr);
        }
        for &instr in after {
            self.ahead.unite(self.closure.descendants(instr));
            self.ahead.insert(instr);
        }
        if let Some(reached) = reached {
            self.done.unite(reached);
        }
        self.sides.fill(Side::Free);
        self.done.instrs().for_each(|instr| self.sides[instr.index()] = Side::In);
        self.ahead.instrs().for_each(|instr| self.sides[instr.index()] = Side::Out);
        self.sides[x.index()] = if *is_after { Side::In } else { Side::Out };
    }
}

/// The cutters of all threads, for the search that asks.
#[derive(Clone, Copy)]
pub(super) struct Cuts<'c, 'a> {
    region: &'a Region,
    closure: &'a Closure,
    pub(super) limited: &'c [Limited],
    cutters: &'c [Mutex<Cutter<'a>>],
    /// For questions that are not only about critical instructions.
    whole: &'c OnceCell<RefCell<Cutter<'a>>>,
    kept: &'c RwLock<Kept>,
    run: &'c dyn Fn(Range<usize>),
}

/// The most threads that are of use: no more cuts can be foreseen.
const MOST_THREADS: usize = 8;

/// Run a search that has cuts on a number of threads.
pub(super) fn with_cuts<T>(
    region: &Region,
    closure: &Closure,
    limits: &[Option<u32>],
    critical: &[InstrId],
    threads: usize,
    effort: &mut Effort,
    search: impl FnOnce(Cuts<'_, '_>, &mut Effort) -> T,
) -> T {
    let limited = region.class_ids().filter_map(|class| {
        let limit = limits[class.index()]?;
        Some(Limited { class, excess: limit + 1 })
    });
    let limited: Vec<Limited> = limited.collect();
    let named = BitSet::of(region.len(), critical.iter().copied());
    let network = |limited: &Limited| DownsetMin::about(region, limited.class, closure, &named, effort);
    let cuts: Vec<DownsetMin> = limited.iter().map(network).collect();
    let threads = threads.clamp(1, MOST_THREADS);
    let cutter = || Mutex::new(Cutter::new(region, closure, &limited, cuts.clone()));
    let cutters: Vec<Mutex<Cutter>> = (0..threads).map(|_| cutter()).collect();
    let kept = RwLock::default();
    let whole = OnceCell::new();
    let answer = |number: usize| {
        lock(&cutters[number]).answer(&kept.read().unwrap_or_else(PoisonError::into_inner));
    };
    with_crew(threads, answer, |run| {
        let (limited, cutters, whole, kept) = (&limited[..], &cutters[..], &whole, &kept);
        search(Cuts { region, closure, limited, cutters, whole, kept, run }, effort)
    })
}

impl<'a> Cuts<'_, 'a> {
    /// Return how many questions can be answered at the same time.
    pub(super) fn at_once(&self) -> usize {
        self.cutters.len()
    }

    /// Answer some questions, at most as many as can be answered at the same time. None of them may take more
    /// than `effort`.
    pub(super) fn answer(
        &self,
        questions: impl IntoIterator<Item = Question>,
        effort: Effort,
    ) -> Vec<Answer> {
        let mut count = 0;
        for (question, cutter) in questions.into_iter().zip(self.cutters) {
            let mut cutter = lock(cutter);
            (cutter.question, cutter.effort) = (question, effort);
            count += 1;
        }
        match count {
            1 => lock(&self.cutters[0]).answer(&self.kept.read().unwrap_or_else(PoisonError::into_inner)),
            _ => (self.run)(0..count),
        }
        self.cutters[..count].iter().filter_map(|cutter| lock(cutter).answer.take()).collect()
    }

    /// Keep the flow of the first question that was answered last.
    pub(super) fn keep(&self) {
        let cutter = lock(&self.cutters[0]);
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        cutter.cuts[cutter.question.class].keep(&mut kept);
    }

    /// Return the smallest downset with the least pressure at a moment of which all that has been `reached`
    /// is a part.
    pub(super) fn smallest(
        &self,
        question: Question,
        reached: &BitSet,
        effort: &mut Effort,
    ) -> Option<BitSet> {
        let new = || {
            let cuts =
                self.limited.iter().map(|limited| DownsetMin::new(self.region, limited.class, self.closure));
            RefCell::new(Cutter::new(self.region, self.closure, self.limited, cuts.collect()))
        };
        let cutter = &mut *self.whole.get_or_init(new).borrow_mut();
        (cutter.question, cutter.effort) = (question, *effort);
        cutter.place(Some(reached));
        let cut = &mut cutter.cuts[cutter.question.class];
        let least = cut.min(&cutter.sides, u32::MAX, &mut cutter.effort);
        effort.steps = cutter.effort.steps;
        matches!(least, Minimum::Exact(_)).then(|| {
            cut.smallest(&mut cutter.done);
            cutter.done.clone()
        })
    }
}

fn lock<'l, 'a>(cutter: &'l Mutex<Cutter<'a>>) -> MutexGuard<'l, Cutter<'a>> {
    cutter.lock().unwrap_or_else(PoisonError::into_inner)
}
