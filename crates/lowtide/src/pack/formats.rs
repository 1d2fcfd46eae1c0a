//! The choice of formats: which operations to split, decided by branch and bound before the search for
//! cycles.
//!
//! For a given length, every decision tightens the bound. An operation that stays whole takes its unit; one
//! that is split takes the other unit several times and needs more time. If the bound exceeds the length, no
//! decision on the other operations can help. After all decisions, the block has no choices left, and both
//! bound and [`search`](super::search) are strong.
//!
//! Operations with the least slack come first, and the whole format is tried first.

use rustc_hash::FxHashMap;

use super::Packing;
use super::bound::Ranges;
use super::graph::Graph;
use super::problem::PackProblem;
use super::search::{Question, Search};
use crate::budget::Effort;
use crate::verdict::Verdict;

/// The cost of a decision, in states of the search.
const STEPS: u64 = 100;

/// The decisions on a block, for several lengths.
pub(super) struct Formats<'a> {
    problem: &'a PackProblem<'a>,
    /// A lower bound on the length of packings without splits.
    whole_bound: u32,
    /// For each finished length, the decisions whose search ran out of states.
    open: FxHashMap<u32, Vec<Vec<Option<usize>>>>,
    /// The same for the current length.
    pending: Vec<Vec<Option<usize>>>,
    pub(super) nodes: u64,
}

/// A length, and the states for each search.
#[derive(Clone, Copy)]
struct Asked {
    length: u32,
    states: u64,
}

impl<'a> Formats<'a> {
    pub(super) fn new(problem: &'a PackProblem<'a>, whole_bound: u32) -> Self {
        Formats { problem, whole_bound, open: FxHashMap::default(), pending: Vec::new(), nodes: 0 }
    }

    /// Return whether the block fits into a length, with `states` states for each search.
    pub(super) fn ask(&mut self, length: u32, states: u64, effort: &mut Effort) -> Verdict<Packing> {
        let question = Asked { length, states };
        self.pending.clear();
        let answer = match self.open.remove(&length) {
            Some(leaves) => self.again(leaves, question, effort),
            None => {
                let undecided = self.problem.operations().iter().map(super::Operation::format).collect();
                self.decide(undecided, None, question, effort)
            }
        };
        // A length that was not finished starts over.
        if answer.is_unknown() && !effort.is_spent() {
            self.open.insert(length, std::mem::take(&mut self.pending));
        }
        answer
    }

    /// Try decisions again with more states.
    fn again(
        &mut self,
        leaves: Vec<Vec<Option<usize>>>,
        question: Asked,
        effort: &mut Effort,
    ) -> Verdict<Packing> {
        let mut answer = Verdict::No(());
        for formats in leaves {
            effort.spend(STEPS);
            if effort.is_spent() {
                return Verdict::Unknown;
            }
            let problem = self.problem.with_formats(&formats);
            let ranges = Ranges::new(&problem);
            match self.search(&problem, &ranges, formats, question, effort) {
                Verdict::Yes(packing) => return Verdict::Yes(packing),
                Verdict::No(()) => {}
                Verdict::Unknown => answer = Verdict::Unknown,
            }
        }
        answer
    }

    /// Decide the next format; `before` are the ranges with one decision less.
    fn decide(
        &mut self,
        mut formats: Vec<Option<usize>>,
        before: Option<&Ranges>,
        question: Asked,
        effort: &mut Effort,
    ) -> Verdict<Packing> {
        let length = question.length;
        let (next, problem, ranges) = loop {
            effort.spend(STEPS);
            if effort.is_spent() {
                return Verdict::Unknown;
            }
            let problem = self.problem.with_formats(&formats);
            if before.is_some_and(|before| before.length_with(&problem) > length) {
                return Verdict::No(());
            }
            let ranges = Ranges::new(&problem);
            if ranges.length > length {
                return Verdict::No(());
            }
            // Splits that take too much time are excluded.
            let mut next: Option<(u32, usize)> = None;
            let mut has_changed = false;
            for (at, format) in formats.iter_mut().enumerate().filter(|(_, format)| format.is_none()) {
                let slack = length.saturating_sub(ranges.heads[at] + ranges.tails[at] + 1);
                if self.problem.operations()[at].splits.iter().all(|split| split.span() > slack) {
                    *format = Some(0);
                    has_changed = true;
                } else if next.is_none_or(|best| (slack, at) < best) {
                    next = Some((slack, at));
                }
            }
            if !has_changed {
                break (next, problem, ranges);
            }
        };
        let Some((slack, at)) = next else {
            return self.search(&problem, &ranges, formats, question, effort);
        };
        let mut answer = Verdict::No(());
        for format in 0..=self.problem.operations()[at].splits.len() {
            let takes =
                format.checked_sub(1).map_or(0, |split| self.problem.operations()[at].splits[split].span());
            if takes > slack {
                continue;
            }
            formats[at] = Some(format);
            match self.decide(formats.clone(), Some(&ranges), question, effort) {
                Verdict::Yes(packing) => return Verdict::Yes(packing),
                Verdict::No(()) => {}
                Verdict::Unknown => answer = Verdict::Unknown,
            }
        }
        answer
    }

    /// Search for cycles after all formats are decided.
    fn search(
        &mut self,
        problem: &PackProblem,
        ranges: &Ranges,
        formats: Vec<Option<usize>>,
        Asked { length, states }: Asked,
        effort: &mut Effort,
    ) -> Verdict<Packing> {
        let is_whole = formats.iter().all(|format| *format == Some(0));
        if is_whole && length < self.whole_bound {
            return Verdict::No(());
        }
        let graphs = graphs(problem, ranges);
        let mut searches: Vec<Search> = graphs.iter().map(Search::new).collect();
        let answer = race(&mut searches, Question { length, levels: None }, states, effort);
        self.nodes += searches.iter().map(|search| search.nodes).sum::<u64>();
        if answer.is_unknown() {
            self.pending.push(formats);
        }
        answer
    }
}

/// Return a block from both ends of time. With a limit on registers, only from the start.
pub(super) fn graphs<'a>(problem: &'a PackProblem<'a>, ranges: &Ranges) -> Vec<Graph<'a>> {
    let ends: &[bool] = if problem.limit().is_some() { &[false] } else { &[false, true] };
    ends.iter().map(|turned| Graph::new(problem, ranges, *turned)).collect()
}

/// Ask each search in turn, with `states` states for each.
pub(super) fn race(
    searches: &mut [Search],
    question: Question,
    states: u64,
    effort: &mut Effort,
) -> Verdict<Packing> {
    for search in searches {
        let before = search.nodes;
        let answer = search.ask(question, &mut effort.up_to(states));
        // (The state at which the effort ends counts, too.)
        effort.spend(search.nodes - before);
        if !answer.is_unknown() {
            return answer;
        }
    }
    Verdict::Unknown
}
