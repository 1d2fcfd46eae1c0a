//! `lowtide bench colony --techniques`: the effect of each GPU technique, disabled alone and with all of its
//! kind (paper 4, Tables 4.a and 4.b).
//!
//! Each variant is measured twice: with 32 threads for an ant, the default, and with one thread, as in
//! paper 4. Times are those of a whole batch from end to end, divided by the choices of ants: some techniques
//! change the choices.

use std::time::Instant;

use lowtide::colony::Task;
use lowtide::session::AntTask;
use lowtide_gpu::{Device, Technique};
use lowtide_tool::Failure;
use lowtide_tool::ants::{Plans, read};
use lowtide_tool::input::Targets;
use lowtide_tool::solve::Run;
use lowtide_tool::table::{grouped, table, trimmed};
use serde::Serialize;

use super::args::ColonyArgs;
use super::document::{RANGES, range_of};
use crate::book::papers::shobaki_2024::TABLE_4;

const MEMORY: &[Technique] =
    &[Technique::Layout, Technique::Planning, Technique::Lists, Technique::Transfers];
const DIVERGENCE: &[Technique] = &[Technique::Exploring, Technique::Stalling, Technique::Guides];

/// The repetitions of a batch, whose shortest time counts. A batch of more than `LONG` seconds is not
/// repeated.
const REPETITIONS: u32 = 3;
const LONG: f64 = 4.0;

/// A set of techniques to disable.
struct Variant {
    name: &'static str,
    without: Vec<Technique>,
    /// The variant to compare with.
    base: usize,
}

fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    for (name, common) in [("32 threads", vec![]), ("one thread", vec![Technique::Warps])] {
        let base = variants.len();
        let mut add = |name, without: &[Technique]| {
            variants.push(Variant { name, without: [&common, without].concat(), base });
        };
        add(name, &[]);
        add("batches", &[Technique::Batches]);
        add("layout", &[Technique::Layout]);
        add("planning", &[Technique::Planning]);
        add("lists", &[Technique::Lists]);
        add("transfers", &[Technique::Transfers]);
        add("memory", MEMORY);
        add("exploring", &[Technique::Exploring]);
        add("stalling", &[Technique::Stalling]);
        add("guides", &[Technique::Guides]);
        add("divergence", DIVERGENCE);
    }
    variants
}

/// The results of all variants on a GPU.
pub(super) struct Techniques {
    gpu: String,
    pub(super) rows: Vec<Row>,
}

/// The result of a variant.
#[derive(Serialize)]
pub(super) struct Row {
    /// The disabled techniques, or the threads for each ant with all techniques.
    name: &'static str,
    threads_per_ant: u32,
    /// By pass and range; none where no region is left to ants.
    cells: [[Option<Cell>; RANGES.len()]; 2],
    /// Cycles of all regions of pass 2.
    length: u64,
    /// Whether all schedules are those with all techniques.
    identical: bool,
}

/// The time of a variant in a pass and range of sizes.
#[derive(Serialize, Clone, Copy)]
struct Cell {
    seconds: f64,
    choices: u64,
    /// Additional time for each choice against all techniques, in percent.
    more_time: f64,
}

/// Solve all tasks with each variant on a GPU.
pub(super) fn measure(args: &ColonyArgs) -> Result<Techniques, Failure> {
    let targets = Targets::new(&args.target)?;
    let kernels = read(&args.input, &targets)?;
    let options = args.options();
    let variants = variants();
    let mut rows: Vec<Row> = (variants.iter())
        .map(|variant| Row {
            name: variant.name,
            threads_per_ant: if variant.without.contains(&Technique::Warps) { 1 } else { 32 },
            cells: [[None; RANGES.len()]; 2],
            length: 0,
            identical: true,
        })
        .collect();
    let run = Run::new();
    let mut plans = Plans::new(&kernels, &options, run.uncounted())?;
    let sizes = args.sizes();
    let mut gpu = String::new();
    for pass in 0..2 {
        let asked = plans.open_tasks();
        let usual = open(&[])?;
        gpu = usual.name().to_string();
        let all: Vec<&Task> = asked.iter().map(AntTask::task).collect();
        let answers = usual.solve(&all).map_err(|error| Failure::Message(error.to_string()))?.0;
        let is_measured = |task: &Task| sizes.contains(&task.len()) && !task.is_solved();
        // Variants that allocate memory on the device take longest by far, and come last.
        let mut order: Vec<usize> = (0..variants.len()).collect();
        order.sort_by_key(|&number| variants[number].without.contains(&Technique::Planning));
        for number in order {
            let variant = &variants[number];
            let device = open(&variant.without)?;
            for (range, (name, _)) in RANGES.iter().enumerate() {
                let is_member =
                    |&place: &usize| is_measured(all[place]) && range_of(all[place].len()) == *name;
                let members: Vec<usize> = (0..all.len()).filter(is_member).collect();
                if members.is_empty() {
                    continue;
                }
                let tasks: Vec<&Task> = members.iter().map(|&place| all[place]).collect();
                let mut seconds = f64::INFINITY;
                let mut found = Vec::new();
                for _ in 0..REPETITIONS {
                    let start = Instant::now();
                    found = device.solve(&tasks).map_err(|error| Failure::Message(error.to_string()))?.0;
                    seconds = seconds.min(start.elapsed().as_secs_f64());
                    if seconds > LONG {
                        break;
                    }
                }
                let row = &mut rows[number];
                row.identical &= members.iter().zip(&found).all(|(&place, found)| *found == answers[place]);
                if pass == 1 {
                    row.length +=
                        tasks.iter().zip(&found).map(|(task, found)| task.cost_of(&found.order)).sum::<u64>();
                }
                let choices = found.iter().map(|answer| answer.choices).sum();
                let cell = Cell { seconds, choices, more_time: 0.0 };
                let base = rows[variant.base].cells[pass][range].unwrap_or(cell);
                let more_time = 100.0 * (cell.for_choice() / base.for_choice() - 1.0);
                rows[number].cells[pass][range] = Some(Cell { more_time, ..cell });
                eprintln!(
                    "pass {}, {name}, without {:?}: {seconds:.4} s, {more_time:+.1} %",
                    pass + 1,
                    variant.without
                );
            }
        }
        asked.into_iter().zip(answers).for_each(|(open, answer)| open.answer(answer));
        plans.advance()?;
    }
    let differs = |(variant, row): (&Variant, &Row)| {
        !row.identical && !variant.without.iter().any(|technique| technique.is_of_definition())
    };
    if variants.iter().zip(&rows).any(differs) {
        let reason = "schedules differ although only the way to make them was changed";
        return Err(Failure::Message(reason.to_string()));
    }
    Ok(Techniques { gpu, rows })
}

fn open(without: &[Technique]) -> Result<Device, Failure> {
    Device::open_without(without).map_err(|error| Failure::Message(format!("--device cuda: {error}")))
}

impl Cell {
    fn for_choice(&self) -> f64 {
        self.seconds / self.choices.max(1) as f64
    }
}

/// Return a table for the terminal.
pub(super) fn text(Techniques { gpu, rows }: &Techniques) -> String {
    let mut header = vec!["without".to_string()];
    header.extend((1..=2).flat_map(|pass| RANGES.map(|(name, _)| format!("{pass}: {name}"))));
    header.extend(["length", "same"].map(String::from));
    let mut text = table(1, &header.iter().map(String::as_str).collect::<Vec<_>>());
    let all = |cells: &[[Option<Cell>; RANGES.len()]; 2], show: &dyn Fn(&Cell) -> String| -> Vec<String> {
        cells.iter().flatten().map(|cell| cell.as_ref().map_or_else(String::new, show)).collect()
    };
    for row in rows {
        let is_base = row.name.contains("thread");
        let mut line = vec![row.name.to_string()];
        line.extend(all(&row.cells, &|cell| match is_base {
            true => format!("{:.1} ms", cell.seconds * 1e3),
            false => percent(cell.more_time),
        }));
        line.extend([grouped(row.length), if row.identical { "yes" } else { "no" }.to_string()]);
        text.add_row(line);
        if let Some((_, paper)) =
            TABLE_4.iter().find(|(name, _)| *name == row.name && row.threads_per_ant == 1)
        {
            let mut line = vec!["  in paper 4".to_string()];
            line.extend(paper.iter().flatten().map(|&more| percent(more)));
            line.extend([String::new(), String::new()]);
            text.add_row(line);
        }
    }
    format!(
        "{gpu}, by pass and size: time of a batch from end to end with 32 threads or one for each ant,\n\
         and how much more time a choice takes without a technique.\n\
         length: cycles of pass 2; same: whether schedules are those with everything on\n\n{}",
        trimmed(&text)
    )
}

fn percent(more: f64) -> String {
    match more.abs() < 99.95 {
        true => format!("{more:+.1}%"),
        false => format!("{more:+.0}%"),
    }
}
