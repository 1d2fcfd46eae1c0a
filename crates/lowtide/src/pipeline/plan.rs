//! A kernel in phases: plan, let any engine answer the questions for ants, take up the answers, and so on
//! until it is done.
//!
//! Ants of one region keep a processor busy, but not a GPU. So the questions of a phase are stated for all
//! kernels before any is answered:
//!
//! 1. [`KernelPlan::new`] plans the first phase of each kernel.
//! 2. [`open_tasks`] lists the tasks of all plans, each once. An engine runs them and hands each answer to
//!    the session ([`AntTask::answer`]).
//! 3. [`KernelPlan::advance`] takes up the answers and plans the next phase. Where an answer is missing, ants
//!    run on this processor.
//! 4. When all plans are [done](KernelPlan::is_done), [`KernelPlan::finish`] returns the outcomes.
//!
//! [`schedule_kernel`](super::schedule_kernel) runs the same phases for one kernel. Algorithms without ants
//! have no tasks.

use rustc_hash::FxHashSet;

use super::filter::{Filter, Totals};
use super::first_pass::{self, FirstPass, KernelWaves};
use super::front::{self, FrontSearch};
use super::region::{self, Nearest, WithinLimits, by_cuts};
use super::second_pass::{SecondPass, kernel_outcome};
use super::verify::{ScheduleError, outcome, verified_kernel};
use super::{Options, PassSettings, Settings, by_engine, published};
use crate::algorithm::{Method, Search};
use crate::outcome::{KernelOutcome, Outcome};
use crate::problem::{Goal, Measure, waves_together};
use crate::proof::Bounds;
use crate::region::Kernel;
use crate::schedule::Schedule;
use crate::session::{AntQuestion, AntTask, Context, SharedProblem};
use crate::target::Target;
use crate::throughput::frequencies;

/// A kernel on its way to an outcome.
pub struct KernelPlan<'a> {
    shared: Vec<SharedProblem<'a>>,
    most: u32,
    settings: Settings,
    filter: Option<Filter>,
    /// How often each region runs.
    frequencies: Vec<u32>,
    /// Whether every number of waves is wanted.
    is_front_wanted: bool,
    phase: Phase<'a>,
}

/// Where a kernel is.
enum Phase<'a> {
    /// Pass 1 of the two passes.
    First(FirstPass<'a>, PassSettings),
    /// Pass 2 with the waves of pass 1.
    Second(KernelWaves, SecondPass<'a>, PassSettings),
    /// Pass 2 again, with as many waves as before, since the filter has rejected the gain.
    Fewer {
        first: KernelWaves,
        pass: SecondPass<'a>,
        passes: PassSettings,
        filter: Filter,
        rejected: KernelOutcome,
    },
    /// Pass 2 for one number of waves after the other.
    Front(FrontSearch<'a>),
    /// An order within the limits, for each region alone.
    Nearest(Vec<Nearest>),
    /// The shortest schedule within the limits, for each region alone.
    Shortest(Vec<WithinLimits>),
    /// Nothing is left to do.
    Done(KernelOutcome),
}

impl<'a> KernelPlan<'a> {
    /// Plans the first phase of a kernel.
    pub fn new(
        kernel: &'a Kernel,
        target: &'a Target,
        options: &Options,
        context: Context<'a>,
    ) -> Result<Self, ScheduleError> {
        let most = options.most_waves(kernel, target);
        let share = |problem| SharedProblem::new(problem, options.budget, context).of_kernel(&kernel.name);
        let shared = options.problems(kernel, target)?.into_iter().map(share).collect();
        let mut settings = Settings::new(options.algorithm, options.budget);
        (settings.colony, settings.tuning) = (options.colony, options.tuning);
        KernelPlan {
            shared,
            most,
            settings,
            filter: options.filter,
            frequencies: frequencies(kernel),
            is_front_wanted: options.front,
            phase: Phase::Done(KernelOutcome::new(most)),
        }
        .started()
    }

    /// The plan of a region that is a kernel of its own.
    fn alone(shared: SharedProblem<'a>, settings: Settings) -> Result<Self, ScheduleError> {
        let most = shared.problem().most_waves();
        KernelPlan {
            shared: vec![shared],
            most,
            settings,
            filter: None,
            frequencies: vec![1],
            is_front_wanted: false,
            phase: Phase::Done(KernelOutcome::new(most)),
        }
        .started()
    }

    /// Plans the first phase.
    fn started(self) -> Result<Self, ScheduleError> {
        let mut plan = self;
        let KernelPlan { most, settings, filter, .. } = plan;
        plan.phase = match settings.algorithm.method() {
            Method::Search(search) => match plan.shared.first().map(|shared| search(shared.problem().goal()))
            {
                Some(Search::TwoPasses(by)) => {
                    let least_gap = filter.map_or(0, |filter| filter.few_cycles_to_gain);
                    let passes = PassSettings { by, settings: Settings { least_gap, ..settings } };
                    Phase::First(FirstPass::plan(&plan.shared, most, passes.first()), passes)
                }
                Some(Search::Shortest(by)) => {
                    let passes = PassSettings { by: [by; 2], settings };
                    Phase::Nearest(plan.shared.iter().map(|shared| Nearest::plan(shared, passes)).collect())
                }
                Some(Search::Fewest) => plan.done(|shared| region::fewest(shared, settings.budget))?,
                Some(Search::LowestSum) => plan.done(|shared| {
                    let bounds = by_cuts(&shared.peak_bounds(), shared.length_bound());
                    (region::lowest_sum(shared, settings), bounds)
                })?,
                Some(Search::Published) => {
                    Phase::Done(published::kernel_outcome(&plan.shared, most, settings)?)
                }
                None => plan.phase,
            },
            Method::Engine(setup) => {
                plan.done(|shared| with_bounds(shared, by_engine(shared.problem(), setup)))?
            }
            Method::FewRegisters => plan.done(|shared| {
                let order = shared.few_registers_of_region();
                with_bounds(shared, Schedule::in_order(shared.problem(), order))
            })?,
            Method::Direct(make) => {
                plan.done(|shared| with_bounds(shared, make(shared.problem(), &settings.tuning)))?
            }
        };
        plan.shared.iter_mut().for_each(SharedProblem::forget_facts);
        Ok(plan)
    }

    /// The outcome of regions that know nothing of each other.
    fn done(
        &self,
        mut schedule: impl FnMut(&SharedProblem<'a>) -> (Schedule, Bounds),
    ) -> Result<Phase<'a>, ScheduleError> {
        let mut kernel = KernelOutcome::new(self.most);
        for shared in &self.shared {
            let (schedule, bounds) = schedule(shared);
            let mut region = outcome(shared.problem(), self.settings.algorithm, schedule, bounds)?;
            region.searches = shared.searches();
            kernel.regions.push(region);
        }
        kernel.count_waves(self.shared.iter().map(SharedProblem::problem));
        Ok(Phase::Done(kernel))
    }

    /// Whether all phases are over.
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done(_))
    }

    /// The questions for ants of this phase, with the number of the region.
    fn questions(&self) -> Vec<(usize, &AntQuestion)> {
        match &self.phase {
            Phase::First(pass, _) => pass.questions().collect(),
            Phase::Second(_, pass, _) | Phase::Fewer { pass, .. } => pass.questions().collect(),
            Phase::Front(search) => search.questions().collect(),
            Phase::Nearest(regions) => numbered(regions.iter().map(Nearest::question)),
            Phase::Shortest(regions) => numbered(regions.iter().map(WithinLimits::question)),
            Phase::Done(_) => Vec::new(),
        }
    }

    /// Takes up the answers to all questions of this phase and plans the next one. Ants run on this processor
    /// for a question that no engine has answered.
    pub fn advance(&mut self) -> Result<(), ScheduleError> {
        let (shared, most) = (&self.shared, self.most);
        let phase = std::mem::replace(&mut self.phase, Phase::Done(KernelOutcome::new(most)));
        self.phase = match phase {
            Phase::First(pass, passes) => {
                let first = pass.finish(shared, passes.first());
                let is_for_throughput =
                    shared.first().is_some_and(|shared| shared.problem().goal() == Goal::Throughput);
                if is_for_throughput || self.is_front_wanted {
                    let wish = match is_for_throughput {
                        true => front::Wish::Throughput { all: self.is_front_wanted },
                        false => front::Wish::MostWaves,
                    };
                    let search = FrontSearch::new(shared, first, most, &self.frequencies, wish, passes);
                    self.phase = Phase::Front(search);
                    self.shared.iter_mut().for_each(SharedProblem::forget_facts);
                    return Ok(());
                }
                let second = SecondPass::plan(shared, &first, first.waves, passes);
                Phase::Second(first, second, passes)
            }
            Phase::Second(first, pass, passes) => {
                let outcome = kernel_outcome(shared, &first, most, pass.finish(shared), passes)?;
                match self
                    .filter
                    .and_then(|filter| Some((filter, self.waves_to_go_back_to(filter, &outcome)?)))
                {
                    None => Phase::Done(outcome),
                    Some((filter, waves)) => {
                        let pass = SecondPass::plan(shared, &first, waves, passes);
                        Phase::Fewer { first, pass, passes, filter, rejected: outcome }
                    }
                }
            }
            Phase::Fewer { first, pass, passes, filter, rejected } => {
                let fewer = kernel_outcome(shared, &first, most, pass.finish(shared), passes)?;
                let [many, few] = [&rejected, &fewer].map(|outcome| self.totals(outcome));
                // Where the registers are limited anyway, fewer waves may not make it much shorter.
                Phase::Done(match filter.is_cheap(few.length, many.length) {
                    true => rejected,
                    false => KernelOutcome { is_filtered: few.waves < many.waves, ..fewer },
                })
            }
            Phase::Front(mut search) => {
                search.advance(shared);
                match search.is_done() {
                    true => Phase::Done(search.finish(shared, most)?),
                    false => Phase::Front(search),
                }
            }
            Phase::Nearest(regions) => {
                let regions = regions.into_iter().zip(shared);
                Phase::Shortest(regions.map(|(nearest, shared)| nearest.finish(shared)).collect())
            }
            Phase::Shortest(regions) => {
                let found =
                    regions.into_iter().zip(shared).map(|(within, shared)| region::shortest(shared, within));
                let mut found = found.collect::<Vec<_>>().into_iter();
                self.done(|shared| {
                    let (schedule, length) =
                        found.next().unwrap_or_else(|| (Schedule::source(shared.problem()), 0));
                    (schedule, by_cuts(&shared.peak_bounds(), length))
                })?
            }
            Phase::Done(outcome) => Phase::Done(outcome),
        };
        self.shared.iter_mut().for_each(SharedProblem::forget_facts);
        Ok(())
    }

    fn totals(&self, outcome: &KernelOutcome) -> Totals {
        Totals::new(outcome.regions.iter().map(|region| &region.measure), outcome.occupancy)
    }

    /// The waves of the production order, if the filter rejects those of an outcome.
    fn waves_to_go_back_to(&self, filter: Filter, outcome: &KernelOutcome) -> Option<u32> {
        let problems = self.shared.iter().map(SharedProblem::problem);
        let production: Vec<Measure> =
            problems.clone().map(|problem| problem.measure(&Schedule::production(problem))).collect();
        let before = Totals::new(production.iter(), waves_together(problems, &production, self.most));
        (!filter.is_worth_it(before, self.totals(outcome))).then_some(before.waves)
    }

    /// The outcome. Phases that are not over run on this processor.
    pub fn finish(mut self) -> Result<KernelOutcome, ScheduleError> {
        loop {
            match self.phase {
                Phase::Done(mut outcome) => {
                    let problems = self.shared.iter().map(SharedProblem::problem);
                    verified_kernel(problems, self.settings.algorithm, self.most, &outcome)?;
                    for (region, frequency) in outcome.regions.iter_mut().zip(self.frequencies) {
                        region.frequency = frequency;
                    }
                    return Ok(outcome);
                }
                _ => self.advance()?,
            }
        }
    }
}

/// A schedule, and the bounds by cuts.
fn with_bounds(shared: &SharedProblem, schedule: Schedule) -> (Schedule, Bounds) {
    let bounds = by_cuts(&shared.peak_bounds_beside(schedule.order()), shared.length_bound());
    (schedule, bounds)
}

fn numbered<'q>(questions: impl Iterator<Item = Option<&'q AntQuestion>>) -> Vec<(usize, &'q AntQuestion)> {
    questions.enumerate().filter_map(|(region, question)| Some((region, question?))).collect()
}

/// The tasks for ants that the present phases of all plans wait for, each once, small regions first.
pub fn open_tasks<'p, 'a: 'p>(plans: impl IntoIterator<Item = &'p KernelPlan<'a>>) -> Vec<AntTask> {
    let mut seen = FxHashSet::default();
    let mut tasks = Vec::new();
    for plan in plans {
        for (region, question) in plan.questions() {
            let shared = &plan.shared[region];
            if seen.insert(shared.identity(question)) {
                tasks.extend(shared.open_task(question));
            }
        }
    }
    tasks.sort_by_key(|task| task.task().len());
    tasks
}

/// The outcome of a region that is a kernel of its own.
pub(super) fn schedule_alone(shared: SharedProblem, settings: Settings) -> Result<Outcome, ScheduleError> {
    let kernel = KernelPlan::alone(shared, settings)?.finish()?;
    Ok(kernel.regions.into_iter().next().expect("a kernel of one region has one outcome"))
}

/// The schedule of a search for a region that is a kernel of its own. Unlike the outcome, it needs no bounds
/// on peaks.
pub(super) fn search_alone(shared: &SharedProblem, search: Search, settings: Settings) -> Schedule {
    match search {
        Search::Fewest => region::fewest(shared, settings.budget).0,
        Search::LowestSum => region::lowest_sum(shared, settings),
        Search::Published => published::alone(shared, settings),
        Search::Shortest(by) => {
            let nearest = Nearest::plan(shared, PassSettings { by: [by; 2], settings });
            region::shortest(shared, nearest.finish(shared)).0
        }
        Search::TwoPasses(by) => {
            let passes = PassSettings { by, settings };
            let alone = std::slice::from_ref(shared);
            let most = shared.problem().most_waves();
            let first = first_pass::most_waves(alone, most, passes.first());
            if shared.problem().goal() == Goal::Throughput {
                let wish = front::Wish::Throughput { all: false };
                let mut search = FrontSearch::new(alone, first, most, &[1], wish, passes);
                while !search.is_done() {
                    search.advance(alone);
                }
                let found = search.found(alone).into_iter().next();
                return found.map_or_else(|| Schedule::source(shared.problem()), |found| found.schedule);
            }
            let found = SecondPass::plan(alone, &first, first.waves, passes).finish(alone).into_iter().next();
            found.map_or_else(|| Schedule::source(shared.problem()), |found| found.schedule)
        }
    }
}
