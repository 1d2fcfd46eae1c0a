//! `lowtide bench colony`: how fast ants are on several threads and on a GPU, against one thread (paper 4, Tables 3.a and 3.b).
//!
//! The pipeline tells what it asks of ants in each pass, for all kernels. Each of these questions is then answered by one thread and by all of them: the same ants, iterations and schedules. A GPU is given all questions of
//! a pass and a range of sizes in one batch; each region counts with an equal share of the batch's time, transfers included. Last, all questions of a pass are answered at once, whatever their sizes.

use std::collections::BTreeMap;
use std::time::Instant;

use lowtide::colony::{Answer, Task};
use lowtide::pipeline::{Algorithm, Options};
use lowtide::solved::{Asked, Solved};
use lowtide_gpu::{Device, Spent};
use rayon::prelude::*;
use serde::Serialize;

use super::sweep::sweep;
use super::techniques::techniques;
use crate::args::ColonyArgs;
use crate::commands::ants::{ask, read};
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::input::Targets;
use crate::report::{grouped, table, trimmed};

/// The paper's ranges of sizes, and where each one starts.
pub(super) const RANGES: [(&str, usize); 3] = [("1-49", 1), ("50-99", 50), (">=100", 100)];

/// Paper 4, Tables 3.a and 3.b: the geometric mean of its speed-ups on a GPU, by pass and range.
const PAPER: [[f64; 3]; 2] = [[2.07, 7.44, 12.48], [1.99, 4.80, 7.55]];

#[derive(Serialize, Default)]
struct Document {
    kernels: u64,
    nodes: Option<u64>,
    threads: usize,
    /// The GPU, and how long it took to open it and to compile its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_start_seconds: Option<f64>,
    /// By pass, then by range.
    passes: [BTreeMap<&'static str, Range>; 2],
    whole: Whole,
}

/// Regions of similar size.
#[derive(Serialize, Default)]
struct Range {
    /// Distinct questions with something to gain.
    regions: u64,
    iterations: u64,
    choices: u64,
    /// Of one thread.
    seconds: f64,
    choices_per_second: f64,
    /// By device.
    devices: BTreeMap<&'static str, SpeedUps>,
}

/// Against one thread doing the same work.
#[derive(Serialize, Default)]
struct SpeedUps {
    geomean_speedup: f64,
    max_speedup: f64,
    min_speedup: f64,
    /// Of all regions together, where they are one batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_speedup: Option<f64>,
    /// Whether all schedules are the same.
    identical: bool,
    #[serde(skip)]
    is_different: bool,
    #[serde(skip)]
    logarithms: f64,
    #[serde(skip)]
    count: u32,
}

/// All regions at once.
#[derive(Serialize, Default)]
struct Whole {
    /// By device.
    seconds: BTreeMap<&'static str, f64>,
    speedup: BTreeMap<&'static str, f64>,
    /// Of the GPU's seconds: work on the host, transfers, and work on the device.
    gpu_parts: [f64; 3],
    identical: bool,
    #[serde(skip)]
    is_different: bool,
}

const ONE_THREAD: &str = "one-thread";
const THREADS: &str = "threads";
const CUDA: &str = "cuda";

pub(crate) fn colony(args: &ColonyArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let kernels = read(&args.input, &targets)?;
    let options = Options {
        algorithm: Algorithm::Colony,
        budget: args.budget(),
        colony: args.ants.parameters(),
        ..Options::default()
    };
    if args.sweep {
        return sweep(&kernels, options, args.json);
    }
    if args.techniques {
        return techniques(&kernels, options, args);
    }
    let started = Instant::now();
    let gpu = args.ants.gpu()?;
    let solved = Solved::new();
    let mut document = Document {
        gpu: gpu.as_ref().map(|gpu| gpu.name().to_string()),
        gpu_start_seconds: gpu.as_ref().map(|_| started.elapsed().as_secs_f64()),
        kernels: kernels.len() as u64,
        nodes: options.budget.nodes,
        threads: rayon::current_num_threads(),
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
    match args.json {
        true => print_json(&document),
        false => print(&document.as_text()),
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
            let range = self.passes[pass].entry(range_of(task.len())).or_default();
            range.add(&answer, seconds);
            let device = range.devices.entry(THREADS).or_default();
            device.add(seconds / by_all.max(1e-9), same == answer);
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
        for (name, range) in &mut self.passes[pass] {
            let members: Vec<usize> =
                (0..asked.len()).filter(|&place| range_of(asked[place].task().len()) == *name).collect();
            let tasks: Vec<&Task> = members.iter().map(|&place| asked[place].task()).collect();
            let (found, seconds, _) = solve(gpu, &tasks)?;
            let share = seconds / members.len().max(1) as f64;
            let device = range.devices.entry(CUDA).or_default();
            for (answer, place) in found.iter().zip(members) {
                device.add(answers[place].seconds / share, *answer == answers[place].answer);
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
            return Err(Failure::Message(reason.to_string()));
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
                        if device == CUDA { ratio(PAPER[pass][position]) } else { String::new() },
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
