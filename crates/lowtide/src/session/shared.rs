//! A problem whose questions a session answers.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::graph::BareGraph;
use super::kept::FlushOnDrop;
use super::memo::{Answer, Taken, lock};
use super::statistics::Pass;
use super::{Answers, Context};
use crate::analysis::fingerprint::Words;
use crate::analysis::length_bound::{LengthBound, bound_up_to, lower_bound_within, quick_bound, work_within};
use crate::analysis::limits::{limits_without_through, peaks};
use crate::analysis::pressure_bound::{
    CertainBound, MOST_FOR_CUTS, is_time_for_cuts, pressure_at_ends, pressure_bound_within,
};
use crate::budget::{Budget, Effort, now};
use crate::index::InstrId;
use crate::list::baselines::CriticalPath;
use crate::list::engine::{self, Direction, Timing};
use crate::list::few_registers::{few_registers, few_registers_on};
use crate::minreg::exact::{self, Decision};
use crate::problem::Problem;
use crate::progress::{Log, Observed, Quantity, SearchLog};
use crate::proof::{Moment, Reason};
use crate::twopass::length;

/// A problem that shares the answers to its questions with all others that have the same graph.
#[derive(Debug)]
pub struct SharedProblem<'a> {
    problem: Problem<'a>,
    pub(super) context: Context<'a>,
    /// The name of the kernel, for the observer.
    kernel: Option<&'a str>,
    /// The whole budget of a pass, as the user stated it.
    pub(super) budget: Budget,
    pub(super) answers: Arc<Answers>,
    /// Made when a question has no answer yet.
    bare: OnceLock<BareGraph>,
    /// The logs of its searches.
    searches: Mutex<Vec<SearchLog>>,
    /// New answers go to the store when the region is done.
    _flush: FlushOnDrop,
}

/// A question about a graph with limits on its registers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Question {
    /// The whole budget of the pass.
    budget: Budget,
    /// The steps of it that this question may take.
    nodes: Option<u64>,
    /// For each class, without what passes through.
    limits: Vec<Option<u32>>,
    /// The orders to start from, one after the other.
    starts: Vec<InstrId>,
    only_lists: bool,
}

impl Question {
    /// Everything but the time, for the key of a stored answer.
    fn words(&self) -> Words {
        let Question { budget, nodes, limits, starts, only_lists } = self;
        let mut words = Words::default();
        words.push_number(budget.nodes);
        words.push_number(*nodes);
        words.push(limits.len() as u32);
        limits.iter().for_each(|limit| words.push_number(limit.map(u64::from)));
        push_order(&mut words, starts);
        words.push(u32::from(*only_lists));
        words
    }
}

fn push_order(words: &mut Words, order: &[InstrId]) {
    words.push(order.len() as u32);
    words.extend(order.iter().map(|instr| instr.0));
}

/// The fewest registers that were found, and what is proven.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fewest {
    pub(crate) order: Vec<InstrId>,
    /// For each class, a peak that every order has at least, and why.
    pub(crate) bounds: Vec<(u32, Reason)>,
}

impl<'a> SharedProblem<'a> {
    /// A problem that asks the session of `context`. `budget` is the whole budget of a pass.
    pub fn new(problem: Problem<'a>, budget: Budget, context: Context<'a>) -> Self {
        let answers = context.session.answers(&problem);
        if let Some(statistics) = context.statistics {
            statistics.count_region(&answers);
        }
        // The number of threads does not change an answer.
        let budget = Budget { threads: 1, ..budget };
        let (bare, searches) = (OnceLock::new(), Mutex::default());
        let _flush = FlushOnDrop(Arc::clone(&answers));
        SharedProblem { problem, context, kernel: None, budget, answers, bare, searches, _flush }
    }

    /// The name of the kernel, for the observer.
    pub(crate) fn of_kernel(self, name: &'a str) -> Self {
        SharedProblem { kernel: Some(name), ..self }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    /// The logs of the searches so far.
    pub(crate) fn searches(&self) -> Vec<SearchLog> {
        lock(&self.searches).clone()
    }

    /// The log of a search that starts now.
    pub(crate) fn log(&self, quantity: Quantity) -> Log<'a> {
        let (kernel, region) = (self.kernel, self.problem.region());
        Log::new(quantity).observed(self.context.observer.map(|observer| Observed {
            observer,
            kernel,
            region,
        }))
    }

    /// Keeps the log of a search that has ended.
    pub(crate) fn keep(&self, log: SearchLog) {
        if !log.steps.is_empty() {
            lock(&self.searches).push(log);
        }
    }

    /// Keeps the log of an answer.
    pub(super) fn keep_log<T>(&self, found: Answer<T>) -> T {
        if let Some(log) = found.log {
            self.keep(SearchLog { is_copied: found.taken.is_copied, ..log });
        }
        found.answer
    }

    /// Gives back the memory for facts about the graph.
    pub(crate) fn forget_facts(&mut self) {
        self.bare.take();
    }

    pub(super) fn bare(&self) -> &BareGraph {
        self.bare.get_or_init(|| BareGraph::new(self.problem.region()))
    }

    /// The problem of the bare graph.
    pub(super) fn bare_problem(&self) -> Problem<'_> {
        self.problem.of(&self.bare().region)
    }

    /// Looks for an answer and counts the work.
    pub(super) fn count<T>(
        &self,
        pass: Pass,
        find: impl FnOnce() -> (T, u64, Option<SearchLog>),
    ) -> Answer<T> {
        let start = Instant::now();
        let (answer, nodes, log) = find();
        let time = start.elapsed();
        self.count_work(pass, nodes, time);
        Answer { answer, taken: Taken { nodes, time, is_copied: false }, log }
    }

    fn count_work(&self, pass: Pass, nodes: u64, time: Duration) {
        if let Some(statistics) = self.context.statistics {
            statistics.count(pass, nodes, time);
        }
    }

    /// An order with few registers: see [`few_registers`](crate::list::few_registers::few_registers).
    pub(crate) fn few_registers(&self) -> Vec<InstrId> {
        self.answers.few_registers.get(self.budget.time_per_instr, || {
            let deadline = self.budget.part(3).effort(self.problem.region().len()).deadline;
            let few = || few_registers_on(&self.bare_problem(), || self.bare().closure(), deadline);
            self.remembered(&Words::default(), &[], self.budget.time_per_instr, |_| {
                self.count(Pass::First, || (few(), 0, None))
            })
            .answer
        })
    }

    /// An order with few registers of the region itself, whatever the budget. Regions share it if they have
    /// the same graph and the same order of values.
    pub(crate) fn few_registers_of_region(&self) -> Vec<InstrId> {
        let mut values = Words::default();
        values.push_values(self.problem.region());
        self.answers.few_registers_by_values.get(values, || few_registers(&self.problem))
    }

    /// A length that no schedule is below, whatever its registers.
    pub(crate) fn length_bound(&self) -> u32 {
        let work = self.work();
        if self.answers.length_bounds.has(&work) {
            return self.length_bounds().best();
        }
        self.answers.least_lengths.get(work, || {
            let mut question = Words::default();
            question.push_number(Some(work));
            // The same work has the same bound in any time.
            let found = self.remembered(&question, &[], None, |_| {
                let (answer, taken) = (self.best_length_bound(), Taken::default());
                Answer { answer, taken, log: None }
            });
            found.answer
        })
    }

    /// The best of the bounds on the length. It lies between the quick bound and the length of any schedule,
    /// so most regions need no other.
    fn best_length_bound(&self) -> u32 {
        let problem = &self.problem;
        let quick = quick_bound(problem);
        let mut by_path = CriticalPath::new(problem);
        let list = engine::run(problem, Direction::TopDown, Timing::Cycles, &mut by_path, None);
        match list.length() == quick {
            true => quick,
            false => bound_up_to(problem, self.work(), quick, list.length()),
        }
    }

    /// The work for bounds on the length.
    fn work(&self) -> u64 {
        let instrs = self.problem.region().len();
        let time = self.budget.time_per_instr.map(|time| time.saturating_mul(instrs as u32));
        work_within(time, instrs)
    }

    /// Rim and Jain's and Langevin and Cerny's bounds on the length.
    pub(super) fn length_bounds(&self) -> Arc<LengthBound> {
        let work = self.work();
        // The bounds do not depend on values, so the region itself has those of the bare graph.
        let bounds = || Arc::new(lower_bound_within(&self.problem, work));
        self.answers.length_bounds.get(work, bounds)
    }

    /// For each class a peak that every order has at least, and the moment that proves it: by cuts, if the
    /// region is not too large.
    pub(crate) fn peak_bounds(&self) -> Vec<(u32, Moment)> {
        self.peak_bounds_and_taken(None).0
    }

    /// As [`SharedProblem::peak_bounds`]. A legal order that meets the bounds shows that no cut can raise
    /// them, so it saves work. It does not change the bounds.
    pub(crate) fn peak_bounds_beside(&self, known: &[InstrId]) -> Vec<(u32, Moment)> {
        self.peak_bounds_and_taken(Some(known)).0
    }

    /// As [`SharedProblem::peak_bounds_beside`], with the price.
    pub(crate) fn peak_bounds_and_taken(&self, known: Option<&[InstrId]>) -> (Vec<(u32, Moment)>, Taken) {
        let Answer { answer: mut bounds, taken, .. } = self.answers.peak_bounds.ask(self.budget, || {
            let (least, ends) = (self.least_known_peaks(known), self.ends());
            if least.iter().zip(&ends).all(|(least, (end, _))| least == end) {
                return Answer { answer: ends, taken: Taken::default(), log: None };
            }
            let mut question = Words::default();
            if self.answers.kept.is_some() {
                question.push_number(self.budget.nodes);
                push_order(&mut question, &self.few_registers());
            }
            self.remembered(&question, &[], self.budget.time_per_instr, |_| {
                self.count(Pass::First, || (self.peak_bounds_by_cuts(&least, ends), 0, None))
            })
        });
        self.add_through(bounds.iter_mut().map(|(bound, _)| bound));
        (bounds, taken)
    }

    /// The bounds on the peaks that the ends of the bare graph give.
    fn ends(&self) -> Vec<(u32, Moment)> {
        let region = self.problem.region();
        let ends = region.class_ids().zip(pressure_at_ends(region));
        ends.map(|(class, (peak, moment))| (peak - region.through(class), moment)).collect()
    }

    /// For each class, the lowest peak of the source order and of an order that is known, in the bare graph.
    fn least_known_peaks(&self, known: Option<&[InstrId]>) -> Vec<u32> {
        let region = self.problem.region();
        let source: Vec<InstrId> = region.instrs().collect();
        let mut least = peaks(region, &source);
        if let Some(peaks) = known.filter(|known| *known != source).map(|known| peaks(region, known)) {
            least.iter_mut().zip(peaks).for_each(|(least, peak)| *least = peak.min(*least));
        }
        least.iter_mut().zip(region.class_ids()).for_each(|(least, class)| *least -= region.through(class));
        least
    }

    /// Raises the bounds by the ends. `least` are peaks that known orders have.
    fn peak_bounds_by_cuts(&self, least: &[u32], ends: Vec<(u32, Moment)>) -> Vec<(u32, Moment)> {
        let region = &self.bare().region;
        // All classes share the time: a third of the pass.
        let effort = self.budget.part(3).effort(region.len());
        let effort = Effort { steps: self.budget.nodes.unwrap_or(u64::MAX), ..effort };
        if region.len() > MOST_FOR_CUTS || !is_time_for_cuts(region, &effort) {
            return ends;
        }
        let closure = self.bare().closure();
        let raised = region.class_ids().zip(ends).zip(least).map(|((class, end), &least)| {
            if end.0 == least {
                return end;
            }
            let certain = CertainBound::new(region, class, closure, end, effort.deadline);
            match certain.best.0 == least {
                true => certain.best,
                false => certain.raised_by_cuts(region, class, closure, &self.few_registers(), effort),
            }
        });
        raised.collect()
    }

    fn add_through<'b>(&self, peaks: impl Iterator<Item = &'b mut u32>) {
        let region = self.problem.region();
        region.class_ids().zip(peaks).for_each(|(class, peak)| *peak += region.through(class));
    }

    /// The order with the fewest registers of the first class that the budget allows to find, on so many
    /// threads.
    pub(crate) fn fewest(&self, threads: usize) -> Fewest {
        let start = now();
        let elapsed = || now().saturating_duration_since(start);
        let few = self.few_registers();
        // It is reported with the order, so its time counts.
        self.length_bound();
        let primary = self.problem.primary_class();
        // The bare graph has nothing that passes through; the region that asks has.
        let classes = self.problem.region().classes().len();
        let through = if primary.index() < classes { self.problem.region().through(primary) } else { 0 };
        let search = |known: Option<&Fewest>| {
            let region = &self.bare().region;
            let budget = Budget { threads, ..self.budget };
            // A foreign order is legal, but it may be worse than the usual start.
            let peak = |order: &[InstrId]| peaks(region, order).get(primary.index()).copied();
            let known = known.filter(|known| peak(&known.order) <= peak(&few));
            let from = known.map_or(&few, |known| &known.order);
            let mut bounds: Vec<(u32, Reason)> =
                pressure_at_ends(region).into_iter().map(|(bound, end)| (bound, Reason::Cut(end))).collect();
            let rest = budget.since(budget.time_per_instr.map(|_| start), region.len());
            let has_time = is_time_for_cuts(region, &rest.effort(region.len()));
            if region.len() > MOST_FOR_CUTS || bounds.is_empty() || !has_time {
                let taken = Taken { nodes: 0, time: elapsed(), is_copied: false };
                return Answer { answer: Fewest { order: from.clone(), bounds }, taken, log: None };
            }
            // The bounds of the other classes take little, so the rest is for the search.
            let closure = self.bare().closure();
            let effort = rest.part(4).effort(region.len());
            let effort = Effort { steps: budget.nodes.unwrap_or(u64::MAX), ..effort };
            for class in region.class_ids().filter(|class| *class != primary) {
                let bound = pressure_bound_within(region, class, closure, &few, effort);
                bounds[class.index()] = (bound.value, Reason::Cut(bound.witness));
            }
            let budget = budget.since(budget.time_per_instr.map(|_| start), region.len());
            let log = self.log(Quantity::Peak).told_with(through.into());
            let known_bound = known.map(|known| known.bounds[primary.index()]);
            let options = exact::Options::new(budget);
            let options = exact::Options { watch: log.watch(), known_bound, ..options };
            let answer = exact::minimise_on(region, closure, primary, &[], from, options);
            let log = log.finish(answer.nodes);
            bounds[primary.index()] = (answer.bound, answer.reason);
            let taken = Taken { nodes: answer.nodes, time: elapsed(), is_copied: false };
            Answer { answer: Fewest { order: answer.order, bounds }, taken, log: Some(log) }
        };
        let found = self.answers.fewest.ask(self.budget, || {
            let mut question = Words::default();
            question.push_number(self.budget.nodes);
            push_order(&mut question, &few);
            self.remembered(&question, &[], self.budget.time_per_instr, search)
        });
        let log = found.log.map(|log| log.raised(through.into()));
        let mut fewest = self.keep_log(Answer { log, ..found });
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
        let words = question.words();
        let found = self.answers.decisions.ask(question, || {
            self.remembered(&words, &limits, self.budget.time_per_instr, |_| {
                self.count(Pass::First, || {
                    let bare = self.bare();
                    let options = exact::Options::new(budget);
                    let (decision, nodes) =
                        exact::decide(&bare.region, || bare.closure(), &limits, start, options);
                    (decision, nodes, None)
                })
            })
        });
        (found.answer, found.taken)
    }

    /// As [`length::shortest`], with a part of the budget.
    pub(crate) fn shortest(
        &self,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        options: length::Options,
    ) -> Option<length::Answer> {
        let limits = self.effective(limits)?;
        let question = self.question(&limits, starts, options.budget, options.only_lists);
        let words = question.words();
        let search = |known: Option<&length::Answer>| {
            self.count(Pass::Second, || {
                let log = self.log(Quantity::Length);
                let (bare, problem) = (self.bare(), self.bare_problem());
                let known_bound = known.map_or(0, |known| known.bound);
                let options = length::Options { watch: log.watch(), known_bound, ..options };
                // The order of an earlier search goes on from there.
                let known = known.map(|known| &known.order[..]);
                let starts: Vec<&[InstrId]> = starts.iter().copied().chain(known).collect();
                let answer = length::shortest_on(
                    &problem,
                    || self.length_bounds(),
                    || bare.closure().clone(),
                    &limits,
                    &starts,
                    options,
                );
                let states = answer.as_ref().map_or(0, |answer| answer.nodes);
                (answer, states, Some(log.finish(states)))
            })
        };
        let found = self.answers.lengths.ask(question, || {
            self.remembered(&words, &limits, self.budget.time_per_instr, |known: Option<&Option<_>>| {
                search(known.and_then(Option::as_ref))
            })
        });
        self.keep_log(found)
    }

    pub(super) fn question(
        &self,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        budget: Budget,
        only_lists: bool,
    ) -> Question {
        Question {
            budget: self.budget,
            nodes: budget.nodes,
            limits: limits.to_vec(),
            starts: starts.concat(),
            only_lists,
        }
    }

    /// The limits of the bare graph, none where no order can exceed them. None if what passes through alone
    /// does.
    pub(crate) fn effective(&self, limits: &[Option<u32>]) -> Option<Vec<Option<u32>>> {
        limits_without_through(self.problem.region(), limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::closure::Closure;
    use crate::analysis::length_bound::lower_bound;
    use crate::generate::{Shape, region, register_program};
    use crate::problem::Goal;
    use crate::region::Region;
    use crate::session::Session;
    use crate::target::Target;

    fn regions() -> impl Iterator<Item = Region> {
        (0..150).flat_map(|seed| {
            let size = 4 + seed as usize % 37;
            let shapes = Shape::ALL.into_iter().map(move |shape| region(shape, size, seed));
            shapes.chain([register_program(size, seed)])
        })
    }

    /// Regions that share an order differ in names and in what passes through.
    #[test]
    fn few_registers_does_not_depend_on_what_passes_through() {
        let target = Target::builtin("gfx906").unwrap();
        let session = Session::new();
        for region in regions() {
            let other = Region { through: vec![23; region.classes().len()], ..region.clone() };
            for region in [&region, &other] {
                let problem = Problem::new(region, &target, Goal::MinReg).unwrap();
                let alone = few_registers(&problem);
                let shared = SharedProblem::new(problem, Budget::UNLIMITED, (&session).into());
                assert_eq!(shared.few_registers_of_region(), alone, "{}", region.name());
            }
        }
    }

    #[test]
    fn the_bound_on_the_length_is_the_best_of_all() {
        for target in ["gfx906", "generic"].map(|name| Target::builtin(name).unwrap()) {
            let session = Session::new();
            for region in regions() {
                let problem = Problem::new(&region, &target, Goal::Length).unwrap();
                let best = lower_bound(&problem).best();
                let shared = SharedProblem::new(problem, Budget::UNLIMITED, (&session).into());
                assert_eq!(shared.length_bound(), best, "{}", region.name());
                assert_eq!(shared.length_bounds().best(), best, "{}", region.name());
            }
        }
    }

    /// Neither the order that is known nor the hint changes a bound.
    #[test]
    fn bounds_on_peaks_are_those_by_cuts_whatever_is_known() {
        let target = Target::builtin("gfx906").unwrap();
        let mut by_ends = 0;
        for region in regions() {
            let problem = Problem::new(&region, &target, Goal::Occupancy).unwrap();
            let few = few_registers(&problem);
            let bare = region.bare();
            let hint = few_registers(&problem.of(&bare));
            let closure = Closure::new(&bare);
            let by_cuts = region.class_ids().map(|class| {
                let bound = pressure_bound_within(&bare, class, &closure, &hint, Effort::UNBOUNDED);
                (bound.value + region.through(class), bound.witness)
            });
            let by_cuts: Vec<_> = by_cuts.collect();
            by_ends += usize::from(by_cuts == pressure_at_ends(&region));
            for known in [None, Some(&few[..])] {
                let session = Session::new();
                let shared = SharedProblem::new(problem.clone(), Budget::UNLIMITED, (&session).into());
                assert_eq!(shared.peak_bounds_and_taken(known).0, by_cuts, "{}", region.name());
            }
        }
        assert!(by_ends > 100, "{by_ends}");
    }
}
