//! The measurement of `lowtide bench latencies`.

use lowtide::algorithm::Algorithm;
use lowtide::pipeline::Options;
use lowtide::region::Kernel;
use lowtide::schedule::Schedule;
use lowtide::target::{Latencies, Target};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::solve::Run;
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use super::LatenciesArgs;

/// The result of the benchmark.
#[derive(Serialize, Default)]
pub(super) struct Document {
    pub(super) kernels: u64,
    pub(super) regions: u64,
    pub(super) instructions: u64,
    /// The latencies that orders are measured with.
    pub(super) measured: Vec<String>,
    /// Orders by the latencies that they are made for.
    pub(super) made: Vec<Row>,
    /// Kernels that are left out, since their target has no table.
    pub(super) without_table: u64,
    pub(super) budget: String,
}

/// The orders made for one set of latencies.
#[derive(Serialize, Default, Clone)]
pub(super) struct Row {
    pub(super) made_for: String,
    pub(super) occupancy: u64,
    /// Cycles of all regions, measured with each set.
    pub(super) length: Vec<u64>,
    /// Cycles beyond the order made for the set, in percent.
    pub(super) extra_percent: Vec<f64>,
    /// The largest such share of a kernel, and its name.
    pub(super) worst: Vec<Worst>,
}

#[derive(Serialize, Default, Clone)]
pub(super) struct Worst {
    pub(super) percent: f64,
    pub(super) kernel: String,
}

/// The figures of one kernel: for each row, the waves, and the cycles measured with each set.
struct Part {
    name: String,
    regions: u64,
    instructions: u64,
    rows: Vec<(u32, Vec<u64>)>,
}

pub(super) fn measure(args: &LatenciesArgs) -> Result<Document, Failure> {
    let sets: Vec<Latencies> = (args.scales.iter())
        .map(|scale| format!("target*{scale}").parse().map_err(|_| scale))
        .collect::<Result<_, _>>()
        .map_err(|scale| Failure::Message(format!("--scales {scale}: a factor is 0.01 to 100")))?;
    let targets = Targets::new(&args.target)?;
    let run = Run::new();
    let options = Options::default().with_budget(args.budget.budget()).with_filter(None);
    let names = ["source", "production", "recorded"].map(str::to_string).into_iter();
    let names: Vec<String> = names.chain(sets.iter().map(Latencies::to_string)).collect();
    let empty = |name: String| Row { made_for: name, length: vec![0; sets.len()], ..Row::default() };
    let mut document = Document {
        measured: sets.iter().map(Latencies::to_string).collect(),
        made: names.into_iter().map(empty).collect(),
        budget: progress::budget_in_words(args.budget.budget(), "instruction and pass", "region and pass"),
        ..Document::default()
    };
    let mut parts = Vec::new();
    for_each_kernel(
        &args.input,
        |kernel| {
            let target = targets.of(&kernel)?;
            if target.latencies().is_empty() {
                return Ok(None);
            }
            measure_kernel(kernel, target, &sets, &options, &run).map(Some)
        },
        |part| {
            match part {
                Some(part) => parts.push(part),
                None => document.without_table += 1,
            }
            Ok(())
        },
    )?;
    if parts.is_empty() {
        return Err(Failure::Nothing("no kernel is for a target with a table of latencies".to_string()));
    }
    document.fill(&parts, &sets);
    Ok(document)
}

fn measure_kernel(
    kernel: Kernel,
    target: &Target,
    sets: &[Latencies],
    options: &Options,
    run: &Run,
) -> Result<Part, Failure> {
    let with = |latencies: Latencies| {
        let kernel = kernel.clone().with_latencies(latencies, target);
        kernel.map_err(|error| Failure::Message(error.to_string()))
    };
    let measured: Vec<Kernel> = sets.iter().map(|set| with(*set)).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    let mut add = |made: &Kernel, options: &Options| {
        let outcome = run.schedule_kernel(made, target, options)?;
        let lengths = measured.iter().map(|measured| {
            let regions = measured.regions.iter().zip(&outcome.regions);
            let lengths = regions.map(|(region, outcome)| {
                let problem = options.problem(region, target).map_err(Failure::target(&kernel.name))?;
                let order = outcome.schedule.order().to_vec();
                Ok(u64::from(Schedule::in_order(&problem, order).length()))
            });
            lengths.sum::<Result<u64, Failure>>()
        });
        rows.push((outcome.occupancy, lengths.collect::<Result<Vec<u64>, Failure>>()?));
        Ok::<(), Failure>(())
    };
    add(&kernel, &options.with_algorithm(Algorithm::SOURCE))?;
    add(&kernel, &options.with_algorithm(Algorithm::PRODUCTION))?;
    add(&kernel, options)?;
    for made in &measured {
        add(made, options)?;
    }
    Ok(Part {
        regions: kernel.regions.len() as u64,
        instructions: kernel.instr_count() as u64,
        name: kernel.name,
        rows,
    })
}

impl Document {
    fn fill(&mut self, parts: &[Part], sets: &[Latencies]) {
        // The order made for a set stands after those that know no set.
        let own = |set: usize| self.made.len() - sets.len() + set;
        let own: Vec<usize> = (0..sets.len()).map(own).collect();
        let percent = |cycles: u64, best: u64| 100.0 * (cycles as f64 / best.max(1) as f64 - 1.0);
        for part in parts {
            self.kernels += 1;
            self.regions += part.regions;
            self.instructions += part.instructions;
        }
        for (place, row) in self.made.iter_mut().enumerate() {
            row.worst = vec![Worst { percent: f64::NEG_INFINITY, ..Worst::default() }; sets.len()];
            for part in parts {
                let (waves, lengths) = &part.rows[place];
                row.occupancy += u64::from(*waves);
                for set in 0..sets.len() {
                    row.length[set] += lengths[set];
                    let share = percent(lengths[set], part.rows[own[set]].1[set]);
                    if share > row.worst[set].percent {
                        row.worst[set] = Worst { percent: share, kernel: part.name.clone() };
                    }
                }
            }
        }
        let best: Vec<u64> =
            own.iter().enumerate().map(|(set, place)| self.made[*place].length[set]).collect();
        for row in &mut self.made {
            row.extra_percent =
                row.length.iter().zip(&best).map(|(length, best)| percent(*length, *best)).collect();
        }
    }

    /// Return the order made for one set, by the names of the sets.
    pub(super) fn row(&self, made_for: &str) -> Option<&Row> {
        self.made.iter().find(|row| row.made_for == made_for)
    }
}
