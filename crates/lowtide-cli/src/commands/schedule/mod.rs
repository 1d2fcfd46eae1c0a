//! `lowtide schedule`: the main command.

mod certificates;
mod front;
mod totals;
mod work;

pub(super) use work::{Baseline, KernelResult, PointResult, RegionResult, SearchResult, Work};

use std::path::{Path, PathBuf};

use certificates::Claims;
use lowtide::algorithm::Algorithm;
use lowtide::pipeline::{Options, explain};
use lowtide_io::{LineWriter, format_certificate_header, format_schedule};
use lowtide_tool::args::name_of;
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::table::{counted, grouped, shorten, table};
use lowtide_tool::{Failure, progress};
use serde::Serialize;
use totals::{FIGURES, Totals, TotalsResult, cycles_figure, figures};

use crate::args::{GoalArg, WorkArgs};

/// The arguments of `lowtide schedule`.
#[derive(clap::Args)]
pub(crate) struct ScheduleArgs {
    #[command(flatten)]
    work: WorkArgs,

    /// Print the reason for each choice of an instruction, instead of the table
    #[arg(long, conflicts_with_all = ["json", "output", "summary"])]
    explain: bool,

    /// Find the shortest schedules for every number of waves, and print this trade-off for each kernel (goals occupancy and throughput)
    #[arg(long, conflicts_with = "explain")]
    front: bool,

    /// Write the schedules to FILE, atomically on success; - prints them instead of the table
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write proofs for `lowtide-verify` to FILE: of the fewest registers (--goal minreg), of the most waves (--goal occupancy), or of the shortest lengths (goals occupancy and length)
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    certificate: Option<PathBuf>,

    /// Compare with this order
    #[arg(long, value_enum, default_value = "production")]
    baseline: Baseline,

    /// Print only the totals
    #[arg(long)]
    summary: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// The result of the command.
#[derive(Serialize)]
struct Document {
    kernels: Vec<KernelResult>,
    /// Regions that have the graph of another one.
    repeated: u64,
    totals: TotalsResult,
}

impl Document {
    /// Return the latencies used, each once: several if the targets differ.
    fn latencies(&self) -> Vec<String> {
        let mut latencies: Vec<String> =
            self.kernels.iter().map(|kernel| kernel.latencies.to_string()).collect();
        latencies.sort_unstable();
        latencies.dedup();
        latencies
    }
}

pub(crate) fn run(args: &ScheduleArgs) -> Result<(), Failure> {
    let work = Work::new(&args.work, args.explain, args.front)?
        .with_certificates(args.certificate.is_some())
        .with_baseline(args.baseline);
    if args.certificate.is_some() && args.work.waves.is_some() {
        return Err(Failure::Message(
            "--certificate proves that no more waves are possible: it cannot go with --waves".to_string(),
        ));
    }
    if args.certificate.is_some() && matches!(args.work.goal, GoalArg::Throughput) {
        return Err(Failure::Message(
            "--certificate needs --goal minreg, occupancy or length: other claims have no certificates"
                .to_string(),
        ));
    }
    if args.explain {
        return explain_choices(args, &work.targets, work.options);
    }
    let create = |file: &Option<PathBuf>| -> Result<Option<LineWriter>, Failure> {
        file.as_deref().map(LineWriter::create).transpose().map_err(|error| write_failure(file, error))
    };
    let mut output = create(&args.output)?;
    let mut certificates = create(&args.certificate)?;
    if let Some(certificates) = &mut certificates {
        let header = format_certificate_header(
            work.targets.all().iter().map(|target| (target, work.targets.latencies_on(target))),
        );
        certificates.line(&header).map_err(|error| write_failure(&args.certificate, error))?;
    }
    let mut claims = Claims::default();
    let mut document = Document { kernels: Vec::new(), repeated: 0, totals: Totals::default().document() };
    work.for_each_kernel(
        &args.work,
        |_, _, _, result| Ok(result),
        |result| {
            if let Some(output) = &mut output {
                for region in &result.regions {
                    let line = format_schedule(
                        &result.name,
                        &result.origin,
                        &region.name,
                        &region.schedule,
                        result.latencies,
                        &region.bounds,
                    );
                    output.line(&line).map_err(|error| write_failure(&args.output, error))?;
                }
            }
            if let Some(certificates) = &mut certificates {
                for line in &result.certificates.lines {
                    certificates.line(line).map_err(|error| write_failure(&args.certificate, error))?;
                }
                claims.add(&result.certificates.claims);
            }
            document.kernels.push(result);
            Ok(())
        },
    )?;
    document.repeated = work.run.statistics().repeated();
    let mut totals = Totals::default();
    for kernel in &document.kernels {
        figures(kernel, &mut totals);
    }
    document.totals = totals.document();
    if let Some(output) = output {
        output.finish().map_err(|error| write_failure(&args.output, error))?;
    }
    if let Some(certificates) = certificates {
        certificates.finish().map_err(|error| write_failure(&args.certificate, error))?;
    }
    if args.output.as_deref() == Some(Path::new("-")) {
        // The standard output has the schedules.
    } else if args.json {
        print_json(&document)?;
    } else {
        print(&as_table(&document, args))?;
    }
    if args.certificate.is_some() && !args.json && args.output.as_deref() != Some(Path::new("-")) {
        print(&claims.in_words())?;
    }
    progress::summary(&facts(&document, args));
    Ok(())
}

/// Return the lines of the summary.
fn facts(document: &Document, args: &ScheduleArgs) -> Vec<String> {
    let mut total = Totals::new(document.repeated);
    document.kernels.iter().for_each(|kernel| {
        figures(kernel, &mut total);
    });
    let mut targets: Vec<&str> = document.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let budget =
        progress::budget_in_words(args.work.budget.budget(), "instruction and pass", "region and pass");
    vec![
        format!(
            "target {}, goal {}, algorithm {}, {budget}",
            targets.join(" and "),
            name_of(&args.work.goal),
            args.work.algorithm.name()
        ),
        format!(
            "{}, {}, {}",
            counted(document.kernels.len() as u64, "kernel"),
            counted(total.regions, "region"),
            counted(total.instructions, "instruction")
        ),
        total.in_short(),
        format!(
            "proven: {} of {} regions ({:.1} %)",
            grouped(total.proven),
            grouped(total.regions),
            100.0 * total.proven as f64 / total.regions.max(1) as f64
        ),
        format!("latencies: {}", document.latencies().join(" and ")),
    ]
}

/// Print the reason for each choice of an instruction, region by region.
fn explain_choices(args: &ScheduleArgs, targets: &Targets, options: Options) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for_each_kernel(
        &args.work.input,
        |kernel| {
            let (kernel, target) = targets.prepare(kernel)?;
            let mut lines = Vec::new();
            for region in &kernel.regions {
                let problem = options.problem(region, target).map_err(Failure::target(&kernel.name))?;
                let Some(decisions) = explain(&problem, options.algorithm) else {
                    let able = Algorithm::ALL.iter().copied().filter(|algorithm| algorithm.can_explain());
                    return Err(Failure::Message(format!(
                        "{} does not choose one instruction at a time; --explain works with --algorithm {}",
                        options.algorithm.name(),
                        able.map(Algorithm::name).collect::<Vec<_>>().join(", ")
                    )));
                };
                lines.push(format!("kernel {}, region {}", kernel.name, region.name()));
                for decision in decisions {
                    lines.push(format!(
                        "  {} of {}: {}",
                        region.describe(decision.instr),
                        decision.candidates,
                        decision.reason
                    ));
                }
            }
            Ok(lines)
        },
        |part| {
            lines.extend(part);
            Ok(())
        },
    )?;
    print(&lines.join("\n"))
}

fn write_failure(file: &Option<PathBuf>, error: std::io::Error) -> Failure {
    let file = file.as_deref().unwrap_or_else(|| "-".as_ref()).display().to_string();
    Failure::Write { file, error }
}

/// The width of the table. Names keep at least `SHORTEST_NAME` columns.
const WIDTH: usize = 100;
const SHORTEST_NAME: usize = 20;
/// Blanks between two columns.
const GAP: usize = 3;

fn as_table(document: &Document, args: &ScheduleArgs) -> String {
    let mut total = Totals::new(document.repeated);
    let figures: Vec<_> = document.kernels.iter().map(|kernel| figures(kernel, &mut total)).collect();
    let mut targets: Vec<&str> = document.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
    let one_target = targets.windows(2).all(|pair| pair[0] == pair[1]);
    let is_for_throughput = matches!(args.work.goal, GoalArg::Throughput);
    let mut summary = total.in_words(&targets, &document.latencies(), args.work.algorithm, args.work.goal);
    if is_for_throughput {
        summary += &format!("\n{}", total.cycles_in_words());
    }
    if args.summary {
        return summary;
    }
    if args.front {
        let fronts = document.kernels.iter().map(front::as_table).collect::<Vec<_>>().join("\n");
        return format!("{fronts}\n{}\n{summary}", front::EXPLANATION);
    }
    if one_target {
        // The summary names the target.
        targets.clear();
    }
    let width = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max();
    let mut taken = width(&mut targets.iter().copied().chain(["target"])).unwrap_or(0) + GAP;
    if one_target {
        taken = 0;
    }
    // Cycles for each wave take the place of the peak and the time, so that lines do not wrap.
    let mut titles = FIGURES.to_vec();
    let mut columns: Vec<Vec<String>> = (0..FIGURES.len())
        .map(|position| figures.iter().map(|row| row[position].clone()).collect())
        .collect();
    if is_for_throughput {
        for title in ["peak", "ms"] {
            let position = titles.iter().position(|known| *known == title).unwrap_or(0);
            titles.remove(position);
            columns.remove(position);
        }
        titles.push("cycles/wave");
        columns.push(document.kernels.iter().map(cycles_figure).collect());
    }
    for (column, title) in columns.iter().zip(&titles) {
        taken += width(&mut column.iter().map(String::as_str).chain([*title])).unwrap_or(0) + GAP;
    }
    let names: &[&str] = if one_target { &["kernel"] } else { &["kernel", "target"] };
    let name_width = WIDTH.saturating_sub(taken).max(SHORTEST_NAME);
    let mut rows = table(names.len(), &[names, &titles].concat());
    for (number, kernel) in document.kernels.iter().enumerate() {
        let mut row = vec![shorten(&kernel.name, name_width)];
        row.extend((!one_target).then(|| kernel.target.clone()));
        row.extend(columns.iter().map(|column| column[number].clone()));
        rows.add_row(row);
    }
    format!(
        "{rows}\n\nBefore -> after, with bounds where they are not reached; proven: regions that cannot be better.\n{summary}"
    )
}
