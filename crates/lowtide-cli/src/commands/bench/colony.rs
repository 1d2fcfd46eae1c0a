//! `lowtide bench colony`: how fast ants are on several threads, against one (paper 4, Tables 3.a and 3.b).
//!
//! The pipeline tells what it asks of ants in each pass, for all kernels. Each of these questions is then answered by one thread and by all of them: the same ants, iterations and schedules. Last, all questions are
//! answered at once, many regions at the same time.

use std::collections::BTreeMap;
use std::time::Instant;

use lowtide::colony::{Answer, Task};
use lowtide::pipeline::{Algorithm, Options, schedule_kernel};
use lowtide::region::Kernel;
use lowtide::solved::{Asked, Solved};
use lowtide::target::Target;
use rayon::prelude::*;
use serde::Serialize;

use crate::args::ColonyArgs;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::report::{grouped, table, trimmed};

/// The paper's ranges of sizes, and where each one starts.
const RANGES: [(&str, usize); 3] = [("1-49", 1), ("50-99", 50), (">=100", 100)];

/// Paper 4, Tables 3.a and 3.b: the geometric mean of its speed-ups on a GPU, by pass and range.
const PAPER: [[f64; 3]; 2] = [[2.07, 7.44, 12.48], [1.99, 4.80, 7.55]];

#[derive(Serialize, Default)]
struct Document {
    kernels: u64,
    nodes: Option<u64>,
    threads: usize,
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
    identical: bool,
    #[serde(skip)]
    is_different: bool,
}

const ONE_THREAD: &str = "one-thread";
const THREADS: &str = "threads";

pub(crate) fn colony(args: &ColonyArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let kernels = read(args, &targets)?;
    let options = Options {
        algorithm: Algorithm::Colony,
        budget: args.budget(),
        colony: args.seed.parameters(),
        ..Options::default()
    };
    let solved = Solved::new();
    let mut document = Document {
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
        measured.into_iter().zip(answers).for_each(|(asked, answer)| solved.tell(asked, answer));
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

fn read<'a>(args: &ColonyArgs, targets: &'a Targets) -> Result<Vec<(Kernel, &'a Target)>, Failure> {
    let mut kernels = Vec::new();
    for_each_kernel(
        &args.input,
        |kernel| targets.of(&kernel).map(|target| (kernel, target)),
        |kernel| {
            kernels.push(kernel);
            Ok(())
        },
    )?;
    Ok(kernels)
}

/// What ants are asked in a pass, in an order that does not depend on threads.
fn ask(
    kernels: &[(Kernel, &Target)],
    options: Options,
    solved: &Solved,
    pass: u8,
) -> Result<Vec<Asked>, Failure> {
    let mut result = Ok(());
    let mut asked = solved.asked_of_ants(pass, || {
        result = kernels.par_iter().try_for_each(|(kernel, target)| {
            let outcome = schedule_kernel(kernel, target, options, solved);
            outcome.map(drop).map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
        });
    });
    asked.sort_by_key(|asked| asked.task().len());
    result.map(|()| asked)
}

impl Document {
    /// Answers questions of a pass by one thread and by all of them, one after the other and all at once.
    fn measure(&mut self, pass: usize, asked: &[Asked]) -> Vec<Answer> {
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
            answers.push(answer);
        }
        let start = Instant::now();
        let at_once: Vec<Answer> = asked.par_iter().map(|asked| asked.task().run(1)).collect();
        self.whole.add(THREADS, start.elapsed().as_secs_f64());
        self.whole.is_different |= at_once != answers;
        answers
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
        let mut rows = table(
            2,
            &[
                "pass",
                "size",
                "regions",
                "iterations",
                "choices/s",
                "geomean",
                "max",
                "min",
                "paper 4, on a GPU",
            ],
        );
        for (pass, ranges) in self.passes.iter().enumerate() {
            for (position, (name, _)) in RANGES.iter().enumerate() {
                let Some(range) = ranges.get(name) else { continue };
                let device = &range.devices[THREADS];
                rows.add_row([
                    (pass + 1).to_string(),
                    (*name).to_string(),
                    grouped(range.regions),
                    grouped(range.iterations),
                    grouped(range.choices_per_second.round() as u64),
                    format!("{:.2}", device.geomean_speedup),
                    format!("{:.2}", device.max_speedup),
                    format!("{:.2}", device.min_speedup),
                    format!("{:.2}", PAPER[pass][position]),
                ]);
            }
        }
        let budget = match self.nodes {
            Some(nodes) => format!("at most {} choices for each region and pass", grouped(nodes)),
            None => "no limit on choices".to_string(),
        };
        format!(
            "{} kernels; {budget}; what ants are asked for each distinct graph\n\n\
             Speed-up of {} threads over one, region by region (paper 4, Tables 3.a and 3.b)\n{}\n\n\
             All of them at once, many regions at a time: one thread {:.2} s, {} threads {:.2} s, speed-up {:.2}.\n\
             All schedules are the same.",
            grouped(self.kernels),
            self.threads,
            trimmed(&rows),
            self.whole.seconds[ONE_THREAD],
            self.threads,
            self.whole.seconds[THREADS],
            self.whole.speedup[THREADS],
        )
    }
}

fn timed(task: &Task, threads: usize) -> (Answer, f64) {
    let start = Instant::now();
    let answer = task.run(threads);
    (answer, start.elapsed().as_secs_f64())
}

fn range_of(size: usize) -> &'static str {
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
