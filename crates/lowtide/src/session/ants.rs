//! Questions for ants. A plan states them, any engine answers them, and the plan takes up the answers from
//! the session.

use std::hash::Hash;
use std::sync::Arc;

use super::memo::{Answer, Taken};
use super::statistics::Pass;
use super::{Answers, Question, SharedProblem};
use crate::colony::{self, Parameters, Task};
use crate::index::InstrId;
use crate::progress::Quantity;

/// A question for ants about one region.
#[derive(Clone, Debug)]
pub(crate) struct AntQuestion {
    key: ColonyKey,
    starts: Vec<Vec<InstrId>>,
    options: colony::Options,
}

/// The cache key of a question for ants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ColonyKey {
    question: Question,
    pass: Pass,
    /// The steps of limits for pass 1, the only limits for pass 2.
    steps: Vec<Vec<Option<u32>>>,
    parameters: Parameters,
}

/// A task for ants whose answer a session waits for.
#[derive(Clone, Debug)]
pub struct AntTask {
    answers: Arc<Answers>,
    key: ColonyKey,
    task: Task,
}

impl AntTask {
    /// The task itself.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Keeps the answer of an engine in the session. The first answer to a task is final.
    pub fn answer(self, answer: colony::Answer) {
        let taken = Taken { nodes: answer.choices, ..Taken::default() };
        self.answers.colonies.get(self.key, || Answer { answer: Some(answer), taken, log: None });
    }
}

impl SharedProblem<'_> {
    /// Pass 1: an order that exceeds as few steps of limits as possible, as [`Task::pressure`] has it. Steps
    /// that the weight passing through alone exceeds are left out.
    pub(crate) fn fewer_registers(
        &self,
        steps: &[Vec<Option<u32>>],
        start: &[InstrId],
        options: colony::Options,
    ) -> AntQuestion {
        let steps = steps.iter().filter_map(|limits| self.effective(limits)).collect();
        self.ant_question(Pass::First, steps, &[start], options)
    }

    /// Pass 2: the shortest schedule within limits, as [`Task::length`] has it. None if the weight passing
    /// through alone exceeds them.
    pub(crate) fn shorter(
        &self,
        limits: &[Option<u32>],
        starts: &[&[InstrId]],
        options: colony::Options,
    ) -> Option<AntQuestion> {
        Some(self.ant_question(Pass::Second, vec![self.effective(limits)?], starts, options))
    }

    fn ant_question(
        &self,
        pass: Pass,
        steps: Vec<Vec<Option<u32>>>,
        starts: &[&[InstrId]],
        options: colony::Options,
    ) -> AntQuestion {
        let question = self.question(&[], starts, options.budget, false);
        let key = ColonyKey { question, pass, steps, parameters: options.parameters };
        AntQuestion { key, starts: starts.iter().map(|order| order.to_vec()).collect(), options }
    }

    /// The task of a question, ready for any engine. None if ants cannot work on the region.
    fn task(&self, question: &AntQuestion) -> Option<Task> {
        let AntQuestion { key, starts, options } = question;
        let problem = self.bare_problem();
        match key.pass {
            Pass::First => Task::pressure(&problem, &key.steps, &starts[0], *options),
            Pass::Second => {
                let starts: Vec<&[InstrId]> = starts.iter().map(Vec::as_slice).collect();
                Task::length(&problem, &key.steps[0], &starts, *options)
            }
        }
    }

    /// Tells questions apart: equal for regions with the same graph that ask the same.
    pub(crate) fn identity(&self, question: &AntQuestion) -> impl Eq + Hash + use<> {
        (Arc::as_ptr(&self.answers) as usize, question.key.clone())
    }

    /// A question without an answer as a task for an engine.
    pub(crate) fn open_task(&self, question: &AntQuestion) -> Option<AntTask> {
        let key = &question.key;
        let is_open = !self.answers.colonies.has(key);
        let task = is_open.then(|| self.task(question)).flatten()?;
        Some(AntTask { answers: Arc::clone(&self.answers), key: key.clone(), task })
    }

    /// The answer to a question. Where no engine has answered, ants run here. None if ants cannot work on the
    /// region.
    pub(crate) fn ask_ants(&self, question: &AntQuestion) -> (Option<colony::Answer>, Taken) {
        let AntQuestion { key, options, .. } = question;
        let found = self.answers.colonies.ask(key.clone(), || {
            self.count(key.pass, || {
                let log = self.log([Quantity::Excess, Quantity::Length][key.pass as usize]);
                let task = self.task(question);
                let answer = task.map(|task| task.run_watched(options.budget.threads, log.watch()));
                let choices = answer.as_ref().map_or(0, |answer| answer.choices);
                (answer, choices, Some(log.finish(choices)))
            })
        });
        let taken = found.taken;
        (self.keep_log(found), taken)
    }
}
