//! The measurement of `lowtide bench colony`.

use std::collections::BTreeMap;
use std::time::Instant;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::colony::{Answer, Task};
use lowtide::pipeline::{Options, run};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::session::{AntTask, Session};
use lowtide::target::Target;
use lowtide_gpu::{Device, Spent};
use lowtide_tool::Failure;
use lowtide_tool::ants::{Plans, read};
use lowtide_tool::input::Targets;
use lowtide_tool::solve::Run;
use rayon::prelude::*;

use super::args::ColonyArgs;
use super::document::{CUDA, Document, Each, Effect, ONE_THREAD, SpeedUps, THREADS, range_of};

/// Solve all tasks on every device, pass by pass.
pub(super) fn measure(args: &ColonyArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let kernels = read(&args.input, &targets)?;
    let options = args.options();
    let started = Instant::now();
    let gpu = args.ants.gpu()?;
    let run = Run::new();
    let mut plans = Plans::new(&kernels, &options, run.uncounted())?;
    let mut document = Document {
        gpu: gpu.as_ref().map(|gpu| gpu.name().to_string()),
        gpu_start_seconds: gpu.as_ref().map(|_| started.elapsed().as_secs_f64()),
        kernels: kernels.len() as u64,
        nodes: options.budget.nodes,
        threads: rayon::current_num_threads(),
        regions: kernels.iter().map(|(kernel, _)| kernel.regions.len() as u64).sum(),
        targets: kernels.iter().map(|(_, target)| target.name().to_string()).collect(),
        ..Document::default()
    };
    let sizes = args.sizes();
    for pass in [0, 1] {
        let (measured, others): (Vec<AntTask>, Vec<AntTask>) = (plans.open_tasks().into_iter())
            .partition(|open| sizes.contains(&open.task().len()) && !open.task().is_solved());
        let answers = document.measure(pass, &measured);
        if let Some(gpu) = &gpu {
            document.measure_gpu(pass, gpu, &measured, &answers)?;
        }
        measured.into_iter().zip(answers).for_each(|(open, measured)| open.answer(measured.answer));
        // The tasks of pass 2 depend on all results of pass 1.
        others.into_par_iter().for_each(|open| {
            let answer = open.task().run(1);
            open.answer(answer);
        });
        plans.advance()?;
    }
    document.finish()?;
    document.heuristic_seconds = heuristic_seconds(&kernels)?;
    document.effect = Effect::measure(&kernels, &options, &run)?;
    Ok(document)
}

/// Return the time of the production heuristic for all kernels, on one thread.
fn heuristic_seconds(kernels: &[(Kernel, &Target)]) -> Result<f64, Failure> {
    let session = Session::new();
    let start = Instant::now();
    for (kernel, target) in kernels {
        for region in &kernel.regions {
            let problem =
                Problem::new(region, target, Goal::Occupancy).map_err(Failure::target(&kernel.name))?;
            run(&problem, Algorithm::GCN_MAX_OCCUPANCY, Budget::UNLIMITED, &session)
                .map_err(|error| Failure::Message(error.to_string()))?;
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

impl Effect {
    /// Compare colony and production. The store has the results of all tasks.
    fn measure(kernels: &[(Kernel, &Target)], options: &Options, run: &Run) -> Result<Effect, Failure> {
        let production = options.with_algorithm(Algorithm::PRODUCTION);
        let outcomes = (kernels.par_iter())
            .map(|(kernel, target)| {
                let of = |options| run.schedule_kernel(kernel, target, options);
                Ok([of(&production)?, of(options)?])
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let mut effect = Effect::default();
        let names = [Algorithm::PRODUCTION.name(), Algorithm::COLONY.name()];
        for outcomes in &outcomes {
            let [before, after] = [0, 1].map(|side| f64::from(outcomes[side].occupancy));
            effect.most_occupancy_gained =
                effect.most_occupancy_gained.max(100.0 * (after / before.max(1.0) - 1.0));
            for (before, after) in outcomes[0].regions.iter().zip(&outcomes[1].regions) {
                let [before, after] = [before, after].map(|region| f64::from(region.measure.length));
                effect.most_length_saved =
                    effect.most_length_saved.max(100.0 * (1.0 - after / before.max(1.0)));
            }
            for (name, outcome) in names.into_iter().zip(outcomes) {
                let length = outcome.regions.iter().map(|region| u64::from(region.measure.length));
                *effect.length.entry(name).or_default() += length.sum::<u64>();
                *effect.occupancy.entry(name).or_default() += u64::from(outcome.occupancy);
            }
        }
        Ok(effect)
    }
}

impl Document {
    /// Solve the tasks of a pass by one thread and by all of them, one after the other and all at once.
    fn measure(&mut self, pass: usize, asked: &[AntTask]) -> Vec<Measured> {
        let mut answers = Vec::new();
        for asked in asked {
            let task = asked.task();
            let (answer, seconds) = timed(task, 1);
            let (same, by_all) = timed(task, self.threads);
            let ratio = seconds / by_all.max(1e-9);
            self.each.push(Each {
                pass: pass + 1,
                n: task.len(),
                iterations: answer.iterations,
                choices: answer.choices,
                seconds,
                speedup: BTreeMap::from([(THREADS, ratio)]),
            });
            let range = self.passes[pass].entry(range_of(task.len())).or_default();
            range.add(&answer, seconds);
            let device = range.devices.entry(THREADS).or_default();
            device.add(ratio, same == answer);
            self.whole.add(ONE_THREAD, seconds);
            answers.push(Measured { answer, seconds });
        }
        let start = Instant::now();
        let at_once: Vec<Answer> = asked.par_iter().map(|asked| asked.task().run(1)).collect();
        self.whole.add(THREADS, start.elapsed().as_secs_f64());
        self.whole.is_different |=
            at_once.iter().zip(&answers).any(|(found, measured)| *found != measured.answer);
        answers
    }

    /// Solve the same tasks on a GPU, all of a range in one batch, and all at once.
    fn measure_gpu(
        &mut self,
        pass: usize,
        gpu: &Device,
        asked: &[AntTask],
        answers: &[Measured],
    ) -> Result<(), Failure> {
        // The tasks of this pass are the last ones.
        let first = self.each.len() - asked.len();
        for (name, range) in &mut self.passes[pass] {
            let members: Vec<usize> =
                (0..asked.len()).filter(|&place| range_of(asked[place].task().len()) == *name).collect();
            let tasks: Vec<&Task> = members.iter().map(|&place| asked[place].task()).collect();
            let (found, seconds, _) = solve(gpu, &tasks)?;
            let share = seconds / members.len().max(1) as f64;
            let device = range.devices.entry(CUDA).or_default();
            for (answer, place) in found.iter().zip(members) {
                let ratio = answers[place].seconds / share;
                device.add(ratio, *answer == answers[place].answer);
                self.each[first + place].speedup.insert(CUDA, ratio);
            }
            device.batch_speedup = Some(range.seconds / seconds);
        }
        let tasks: Vec<&Task> = asked.iter().map(AntTask::task).collect();
        let (found, seconds, spent) = solve(gpu, &tasks)?;
        self.whole.add(CUDA, seconds);
        self.whole
            .gpu_parts
            .iter_mut()
            .zip([spent.host, spent.transfer, spent.run])
            .for_each(|(sum, more)| *sum += more);
        self.whole.is_different |=
            found.iter().zip(answers).any(|(found, measured)| *found != measured.answer);
        Ok(())
    }

    /// Compute means and speed-ups. It is an error if schedules differ between devices.
    fn finish(&mut self) -> Result<(), Failure> {
        let ranges = || self.passes.iter().flat_map(BTreeMap::values);
        if ranges().next().is_none() {
            let reason = "no region in the range of --min-size and --max-size leaves a task to the colony";
            return Err(Failure::Nothing(reason.to_string()));
        }
        let devices = ranges().flat_map(|range| range.devices.values());
        let is_different = self.whole.is_different || devices.into_iter().any(|device| device.is_different);
        if is_different {
            return Err(Failure::Message(
                "threads have made different schedules from the same seed".to_string(),
            ));
        }
        for range in self.passes.iter_mut().flat_map(BTreeMap::values_mut) {
            range.choices_per_second = range.choices as f64 / range.seconds.max(1e-9);
            range.devices.values_mut().for_each(SpeedUps::finish);
        }
        self.whole.identical = true;
        let one = self.whole.seconds[ONE_THREAD];
        self.whole.speedup =
            self.whole.seconds.iter().map(|(device, seconds)| (*device, one / seconds.max(1e-9))).collect();
        Ok(())
    }
}

/// The result of one thread, and its time.
struct Measured {
    answer: Answer,
    seconds: f64,
}

/// Solve tasks on a GPU, and return the results with the time from end to end.
fn solve(gpu: &Device, tasks: &[&Task]) -> Result<(Vec<Answer>, f64, Spent), Failure> {
    let start = Instant::now();
    let (answers, spent) = gpu.solve(tasks).map_err(|error| Failure::Message(error.to_string()))?;
    Ok((answers, start.elapsed().as_secs_f64(), spent))
}

fn timed(task: &Task, threads: usize) -> (Answer, f64) {
    let start = Instant::now();
    let answer = task.run(threads);
    (answer, start.elapsed().as_secs_f64())
}
