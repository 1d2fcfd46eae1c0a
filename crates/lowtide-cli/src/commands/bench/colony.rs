//! `lowtide bench colony`: how fast ants are on several threads and on a GPU, against one thread (paper 4, Tables 3.a and 3.b).
//!
//! The pipeline tells what it asks of ants in each pass, for all kernels. Each of these questions is then answered by one thread and by all of them: the same ants, iterations and schedules. A GPU is given all questions of
//! a pass and a range of sizes in one batch; each region counts with an equal share of the batch's time, transfers included. Last, all questions of a pass are answered at once, whatever their sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use lowtide::colony::{Answer, Task};
use lowtide::pipeline::{Algorithm, Options, schedule_kernel};
use lowtide::region::Kernel;
use lowtide::solved::{Asked, Solved};
use lowtide::target::Target;
use lowtide_gpu::{Device, Spent};
use rayon::prelude::*;
use serde::Serialize;

use super::sweep::sweep;
use super::techniques::techniques;
use super::{Findings, chapters, show};
use crate::args::ColonyArgs;
use crate::book::Chapter;
use crate::book::papers::shobaki_2024::TABLE_3;
use crate::commands::ants::{ask, read};
use crate::failure::Failure;
use crate::input::Targets;
use crate::report::{grouped, table, trimmed};

/// The paper's ranges of sizes, and where each one starts.
pub(super) const RANGES: [(&str, usize); 3] = [("1-49", 1), ("50-99", 50), (">=100", 100)];

#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) kernels: u64,
    pub(super) nodes: Option<u64>,
    pub(super) threads: usize,
    /// The GPU, and how long it took to open it and to compile its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpu_start_seconds: Option<f64>,
    /// By pass, then by range.
    pub(super) passes: [BTreeMap<&'static str, Range>; 2],
    pub(super) whole: Whole,
    pub(super) effect: Effect,
    /// What ants were asked, and how it went.
    pub(super) each: Vec<Each>,
    /// Regions and names of the targets.
    pub(super) regions: u64,
    pub(super) targets: BTreeSet<String>,
}

/// What ants make of all kernels, against the recorded production orders (the source order where there is none).
#[derive(Serialize, Default)]
pub(super) struct Effect {
    /// Sums over kernels, and over regions.
    pub(super) occupancy: BTreeMap<&'static str, u64>,
    pub(super) length: BTreeMap<&'static str, u64>,
    /// Of one kernel, and of one region, in percent.
    pub(super) most_occupancy_gained: f64,
    pub(super) most_length_saved: f64,
}

/// A question to ants.
#[derive(Serialize)]
pub(super) struct Each {
    pub(super) pass: usize,
    pub(super) n: usize,
    pub(super) iterations: u32,
    pub(super) choices: u64,
    /// Of one thread.
    pub(super) seconds: f64,
    /// Against it, by device.
    pub(super) speedup: BTreeMap<&'static str, f64>,
}

/// Regions of similar size.
#[derive(Serialize, Default)]
pub(super) struct Range {
    /// Distinct questions with something to gain.
    pub(super) regions: u64,
    pub(super) iterations: u64,
    pub(super) choices: u64,
    /// Of one thread.
    pub(super) seconds: f64,
    pub(super) choices_per_second: f64,
    /// By device.
    pub(super) devices: BTreeMap<&'static str, SpeedUps>,
}

/// Against one thread doing the same work.
#[derive(Serialize, Default)]
pub(super) struct SpeedUps {
    pub(super) geomean_speedup: f64,
    pub(super) max_speedup: f64,
    pub(super) min_speedup: f64,
    /// Of all regions together, where they are one batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) batch_speedup: Option<f64>,
    /// Whether all schedules are the same.
    pub(super) identical: bool,
    #[serde(skip)]
    pub(super) is_different: bool,
    #[serde(skip)]
    pub(super) logarithms: f64,
    #[serde(skip)]
    pub(super) count: u32,
}

/// All regions at once.
#[derive(Serialize, Default)]
pub(super) struct Whole {
    /// By device.
    pub(super) seconds: BTreeMap<&'static str, f64>,
    pub(super) speedup: BTreeMap<&'static str, f64>,
    /// Of the GPU's seconds: work on the host, transfers, and work on the device.
    pub(super) gpu_parts: [f64; 3],
    pub(super) identical: bool,
    #[serde(skip)]
    pub(super) is_different: bool,
}

pub(super) const ONE_THREAD: &str = "one-thread";
pub(super) const THREADS: &str = "threads";
pub(super) const CUDA: &str = "cuda";

pub(crate) fn colony(args: &ColonyArgs) -> Result<(), Failure> {
    if !args.sweep && !args.techniques {
        return show(args.json, &args.book, || measure(args));
    }
    let targets = Targets::new(&args.target)?;
    let kernels = read(&args.input, &targets)?;
    match args.sweep {
        true => sweep(&kernels, options(args), args.json),
        false => techniques(&kernels, options(args), args),
    }
}

fn options(args: &ColonyArgs) -> Options {
    Options {
        algorithm: Algorithm::Colony,
        budget: args.budget(),
        colony: args.ants.parameters(),
        ..Options::default()
    }
}

pub(super) fn measure(args: &ColonyArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let kernels = read(&args.input, &targets)?;
    let options = options(args);
    let started = Instant::now();
    let gpu = args.ants.gpu()?;
    let solved = Solved::new();
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
    let sizes = args.min_size..=args.max_size.unwrap_or(usize::MAX);
    for pass in [1, 2] {
        let asked = ask(&kernels, options, &solved, pass)?;
        let (measured, others): (Vec<Asked>, Vec<Asked>) = (asked.into_iter())
            .partition(|asked| sizes.contains(&asked.task().len()) && !asked.task().is_solved());
        let answers = document.measure(usize::from(pass) - 1, &measured);
        if let Some(gpu) = &gpu {
            document.measure_gpu(usize::from(pass) - 1, gpu, &measured, &answers)?;
        }
        measured.into_iter().zip(answers).for_each(|(asked, measured)| solved.tell(asked, measured.answer));
        // Pass 2 follows from all answers of pass 1.
        others.into_par_iter().for_each(|asked| {
            let answer = asked.task().run(1);
            solved.tell(asked, answer);
        });
    }
    document.finish()?;
    document.effect = Effect::measure(&kernels, options, &solved)?;
    Ok(document)
}

impl Effect {
    /// All answers are known by now.
    fn measure(kernels: &[(Kernel, &Target)], options: Options, solved: &Solved) -> Result<Effect, Failure> {
        let production = Options { algorithm: Algorithm::Production, ..options };
        let outcomes = (kernels.par_iter())
            .map(|(kernel, target)| {
                let of = |options| {
                    schedule_kernel(kernel, target, options, solved)
                        .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
                };
                Ok([of(production)?, of(options)?])
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let mut effect = Effect::default();
        let names = [Algorithm::Production.name(), Algorithm::Colony.name()];
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
    /// Answers questions of a pass by one thread and by all of them, one after the other and all at once.
    fn measure(&mut self, pass: usize, asked: &[Asked]) -> Vec<Measured> {
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

    /// Answers the same questions by a GPU, all of a range in one batch, and all at once.
    fn measure_gpu(
        &mut self,
        pass: usize,
        gpu: &Device,
        asked: &[Asked],
        answers: &[Measured],
    ) -> Result<(), Failure> {
        // The questions of this pass are the last ones.
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
        let tasks: Vec<&Task> = asked.iter().map(Asked::task).collect();
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

    fn finish(&mut self) -> Result<(), Failure> {
        let ranges = || self.passes.iter().flat_map(BTreeMap::values);
        if ranges().next().is_none() {
            let reason = "no region of a size in the range that was asked for leaves anything to ants";
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

impl Findings for Document {
    fn facts(&self) -> Vec<String> {
        let regions: u64 = self.passes.iter().flat_map(BTreeMap::values).map(|range| range.regions).sum();
        vec![format!("{} kernels, {} searches by ants", grouped(self.kernels), grouped(regions))]
    }

    fn as_text(&self) -> String {
        let header =
            ["device", "pass", "size", "regions", "choices/s", "geomean", "max", "min", "batch", "paper 4"];
        let mut rows = table(3, &header);
        for device in [THREADS, CUDA] {
            for (pass, ranges) in self.passes.iter().enumerate() {
                for (position, (name, _)) in RANGES.iter().enumerate() {
                    let Some(range) = ranges.get(name) else { continue };
                    let Some(speed_ups) = range.devices.get(device) else { continue };
                    let ratio = |ratio: f64| format!("{ratio:.2}");
                    rows.add_row([
                        device.to_string(),
                        (pass + 1).to_string(),
                        (*name).to_string(),
                        grouped(range.regions),
                        grouped(range.choices_per_second.round() as u64),
                        ratio(speed_ups.geomean_speedup),
                        ratio(speed_ups.max_speedup),
                        ratio(speed_ups.min_speedup),
                        speed_ups.batch_speedup.map_or_else(String::new, ratio),
                        if device == CUDA { ratio(TABLE_3[pass][position].geomean) } else { String::new() },
                    ]);
                }
            }
        }
        let budget = match self.nodes {
            Some(nodes) => format!("at most {} choices a region and pass", grouped(nodes)),
            None => "no limit on choices".to_string(),
        };
        let mut text = format!(
            "{} kernels; {budget}; choices/s are those of one thread\n\n\
             Speed-up over one thread, region by region (paper 4, Tables 3.a and 3.b)\n{}\n\n\
             All of them at once: one thread {:.2} s, {} threads {:.2} s (speed-up {:.2})",
            grouped(self.kernels),
            trimmed(&rows),
            self.whole.seconds[ONE_THREAD],
            self.threads,
            self.whole.seconds[THREADS],
            self.whole.speedup[THREADS],
        );
        if let (Some(gpu), Some(start)) = (&self.gpu, self.gpu_start_seconds) {
            let [host, transfer, run] = self.whole.gpu_parts;
            text += &format!(
                ",\n{gpu} {:.3} s (speed-up {:.1}; host {host:.3} s, transfers {transfer:.3} s, device {run:.3} s).\n\
                 Opening the GPU and compiling its code took {start:.2} s",
                self.whole.seconds[CUDA], self.whole.speedup[CUDA],
            );
        }
        text + ".\nAll schedules are the same."
    }

    fn chapter(&self, command: String) -> Chapter {
        chapters::colony(self, command)
    }
}

/// What one thread found, and how long it took.
struct Measured {
    answer: Answer,
    seconds: f64,
}

/// What a GPU finds, and how long it takes from end to end.
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

pub(super) fn range_of(size: usize) -> &'static str {
    RANGES.iter().rev().find(|(_, first)| size >= *first).map_or(RANGES[0].0, |(name, _)| name)
}

impl Range {
    fn add(&mut self, answer: &Answer, seconds: f64) {
        self.regions += 1;
        self.iterations += u64::from(answer.iterations);
        self.choices += answer.choices;
        self.seconds += seconds;
    }
}

impl SpeedUps {
    fn add(&mut self, ratio: f64, is_same: bool) {
        self.min_speedup = if self.count == 0 { ratio } else { ratio.min(self.min_speedup) };
        self.max_speedup = ratio.max(self.max_speedup);
        self.logarithms += ratio.ln();
        self.count += 1;
        self.is_different |= !is_same;
    }

    fn finish(&mut self) {
        self.geomean_speedup = (self.logarithms / f64::from(self.count.max(1))).exp();
        self.identical = !self.is_different;
    }
}

impl Whole {
    fn add(&mut self, device: &'static str, seconds: f64) {
        *self.seconds.entry(device).or_default() += seconds;
    }
}
