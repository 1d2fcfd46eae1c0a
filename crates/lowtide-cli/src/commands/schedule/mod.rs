//! `lowtide schedule`: the main command.

mod figures;
mod front;
mod rows;
mod totals;
mod work;

pub(super) use figures::Figures;
pub(super) use totals::{Totals, TotalsResult};
pub(super) use work::{Baseline, KernelResult, PointResult, RegionResult, SearchResult, Work};

use std::path::{Path, PathBuf};

use super::store::StoreCounts;
use lowtide::algorithm::Algorithm;
use lowtide::pipeline::{Options, explain};
use lowtide::problem::Goal;
use lowtide_io::{LineWriter, format_certificate_header, format_schedule};
use lowtide_tool::args::{FormatArgs, name_of};
use lowtide_tool::certificates::{Claims, Lines};
use lowtide_tool::input::{Targets, for_each_kernel};
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::table::{counted, grouped, width, wrapped};
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use crate::args::{GoalArg, WorkArgs};

/// The arguments of `lowtide schedule`.
#[derive(clap::Args)]
pub(crate) struct ScheduleArgs {
    #[command(flatten)]
    work: WorkArgs,

    /// Print the reason for each choice of an instruction, instead of the table
    #[arg(long, conflicts_with_all = ["json", "csv", "results", "output", "summary"])]
    explain: bool,

    /// Find the shortest schedules for every number of waves, and print this trade-off for each kernel (goals
    /// occupancy and throughput)
    #[arg(long, conflicts_with = "explain")]
    front: bool,

    /// Write the schedules to FILE, atomically on success; - prints them instead of the table. A FILE.parquet
    /// gets all results, one row for each region
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write proofs for `lowtide-verify` to FILE: of the fewest registers (--goal minreg), of the most waves
    /// (--goal occupancy), or of the shortest lengths (goals occupancy and length)
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    certificate: Option<PathBuf>,

    /// Compare with this order
    #[arg(long, value_enum, default_value = "production")]
    baseline: Baseline,

    /// Print only the totals
    #[arg(long, conflicts_with = "csv")]
    summary: bool,

    #[command(flatten)]
    format: FormatArgs,

    /// Print the results in this format instead of tables
    #[arg(long = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "csv", "summary"])]
    results: Option<ResultFormat>,
}

/// A format of results.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ResultFormat {
    /// As --json
    Json,
    /// As --csv: one row for each kernel
    Csv,
    /// One row for each region, with its schedule, in the file of -o or into a pipe
    Parquet,
}

impl ScheduleArgs {
    fn is_json(&self) -> bool {
        self.format.json || self.results == Some(ResultFormat::Json)
    }

    fn is_csv(&self) -> bool {
        self.format.csv || self.results == Some(ResultFormat::Csv)
    }

    /// Return whether only a Parquet file is wanted.
    fn is_parquet(&self) -> bool {
        self.results == Some(ResultFormat::Parquet)
    }

    /// Return whether -o names a Parquet file.
    fn has_parquet_file(&self) -> bool {
        let ending = self.output.as_deref().and_then(Path::extension);
        self.is_parquet() || ending.is_some_and(|ending| ending == "parquet")
    }

    /// Return whether the standard output is free for a table.
    fn prints_table(&self) -> bool {
        self.output.as_deref() != Some(Path::new("-")) && !self.is_parquet()
    }
}

/// The result of the command.
#[derive(Serialize)]
struct Document {
    kernels: Vec<KernelResult>,
    /// Regions that have the graph of another one.
    repeated: u64,
    totals: TotalsResult,
    /// What was found in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreCounts>,
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
    let mut rows = args.has_parquet_file().then(|| rows::create(args.output.as_deref())).transpose()?;
    let mut output = if rows.is_some() { None } else { create(&args.output)? };
    let mut certificates = create(&args.certificate)?;
    if let Some(certificates) = &mut certificates {
        let header = format_certificate_header(
            work.targets.all().iter().map(|target| (target, work.targets.latencies_on(target))),
        );
        certificates.line(&header).map_err(|error| write_failure(&args.certificate, error))?;
    }
    let (mut claims, mut lines) = (Claims::default(), Lines::default());
    let totals = Totals::default().document();
    let mut document = Document { kernels: Vec::new(), repeated: 0, totals, store: None };
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
            if let Some(rows) = &mut rows {
                rows::write(rows, &result).map_err(|error| write_failure(&args.output, error))?;
            }
            if let Some(certificates) = &mut certificates {
                for line in lines.next(&result.certificates) {
                    certificates.line(&line).map_err(|error| write_failure(&args.certificate, error))?;
                }
                claims.add(&result.certificates.claims);
            }
            document.kernels.push(result);
            Ok(())
        },
    )?;
    document.repeated = work.run.statistics().repeated();
    document.store = work.store_counts();
    let mut totals = Totals::default();
    document.kernels.iter().for_each(|kernel| totals.add(&Figures::new(kernel)));
    document.totals = totals.document();
    if let Some(output) = output {
        output.finish().map_err(|error| write_failure(&args.output, error))?;
    }
    if let Some(rows) = rows {
        rows.finish().map_err(|error| write_failure(&args.output, error))?;
    }
    if let Some(certificates) = certificates {
        certificates.finish().map_err(|error| write_failure(&args.certificate, error))?;
    }
    if !args.prints_table() {
        // The standard output has the schedules, or nothing is to be printed.
    } else if args.is_json() {
        print_json(&document)?;
    } else if args.is_csv() {
        print_table_as_csv(&document, args)?;
    } else {
        print(&as_table(&document, args))?;
    }
    if args.certificate.is_some() && args.prints_table() && !args.is_json() && !args.is_csv() {
        print(&claims.in_words())?;
    }
    progress::summary(&facts(&document, args));
    Ok(())
}

/// Return the lines of the summary.
fn facts(document: &Document, args: &ScheduleArgs) -> Vec<String> {
    let mut total = Totals::new(document.repeated);
    document.kernels.iter().for_each(|kernel| total.add(&Figures::new(kernel)));
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
        total.in_short(args.work.goal.into()),
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

fn as_table(document: &Document, args: &ScheduleArgs) -> String {
    let goal = args.work.goal.into();
    let figures: Vec<Figures> = document.kernels.iter().map(Figures::new).collect();
    let mut total = Totals::new(document.repeated);
    figures.iter().for_each(|figures| total.add(figures));
    let targets: Vec<&str> = document.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
    let mut summary = total.in_words(&targets, &document.latencies(), args.work.algorithm.name(), goal);
    if goal == Goal::Throughput {
        summary += &format!("\n{}", total.cycles_in_words());
    }
    if let Some(store) = &document.store {
        summary += &format!("\n{}", store.in_words());
    }
    let summary = wrapped(&summary, width());
    if args.summary {
        return summary;
    }
    if args.front {
        let tables: Vec<String> = document.kernels.iter().map(front::as_table).collect();
        return format!("{}\n{}\n{summary}", tables.join("\n"), front::EXPLANATION);
    }
    let explanation = wrapped(EXPLANATION, width());
    format!("{}\n\n{explanation}\n{summary}", figures::sheet(&figures, goal).text())
}

/// The meaning of the columns.
const EXPLANATION: &str = "Before -> after, with bounds where they are not reached; proven: regions that cannot be better. \
                           Changed kernels come first, the largest gain at the top.";

fn print_table_as_csv(document: &Document, args: &ScheduleArgs) -> Result<(), Failure> {
    match args.front {
        true => print_csv(&front::CSV, document.kernels.iter().flat_map(front::csv_rows)),
        false => print_csv(
            &figures::CSV,
            document.kernels.iter().map(|kernel| figures::csv_row(&Figures::new(kernel))),
        ),
    }
}
