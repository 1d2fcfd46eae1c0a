//! `lowtide compare`: several algorithms on the same input.
//!
//! Each algorithm does the work of `lowtide schedule --algorithm NAME` with the same options, in a session of
//! its own. So its totals are those of `schedule`.

use std::collections::{BTreeMap, BTreeSet};

use lowtide::algorithm::Algorithm;
use lowtide::problem::Goal;
use lowtide_tool::args::{FormatArgs, name_of};
use lowtide_tool::input::for_each_kernel;
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::table::{Sheet, counted, grouped, width, wrapped};
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use super::schedule::{Figures, KernelResult, Totals, TotalsResult, Work};
use crate::args::{ManyAlgorithms, Method, WorkArgs};

/// The arguments of `lowtide compare`.
#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    work: WorkArgs<ManyAlgorithms>,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    kernels: u64,
    regions: u64,
    instructions: u64,
    /// The latencies used: several if the targets differ.
    latencies: BTreeSet<String>,
    algorithms: BTreeMap<&'static str, Row>,
}

/// The figures of one algorithm over the whole input.
#[derive(Serialize)]
struct Row {
    /// Waves, summed over kernels.
    occupancy: u64,
    /// Lengths, summed over regions.
    length: u64,
    /// The same with ten times the weight for each loop around a region.
    weighted_length: u64,
    /// Peaks of the target's first class, summed over regions.
    peak: u64,
    /// Regions that are proven to be optimal for the goal.
    proven: u64,
    /// Kernels where no other algorithm is better for the goal.
    best: u64,
    seconds: f64,
    /// The totals of `lowtide schedule --algorithm NAME --json`.
    totals: TotalsResult,
}

/// The sums of one algorithm so far.
#[derive(Default)]
struct Sums {
    totals: Totals,
    best: u64,
    seconds: f64,
}

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let goal = Goal::from(args.work.goal);
    let methods = args.work.algorithm.methods(goal);
    let works = methods.iter().map(|method| Work::by(*method, &args.work, false, false));
    let works: Vec<Work> = works.collect::<Result<_, _>>()?;
    works.iter().try_for_each(|work| work.start(&args.work))?;
    let mut sums: Vec<Sums> = works.iter().map(|_| Sums::default()).collect();
    let mut latencies = BTreeSet::new();
    for_each_kernel(
        &args.work.input,
        |kernel| {
            // The target does not depend on the algorithm.
            let (kernel, target) = works[0].targets().prepare(kernel)?;
            let problems = works[0].problems(&kernel, target)?;
            let results = works.iter().map(|work| work.schedule(&kernel, target, &problems));
            results.collect::<Result<Vec<KernelResult>, Failure>>()
        },
        |results| {
            let figures: Vec<Figures> = results.iter().map(Figures::new).collect();
            let costs = || figures.iter().map(|figures| figures.cost(goal));
            let best = costs().min_by(|one, other| one.partial_cmp(other).expect("costs are numbers"));
            for (sums, figures) in sums.iter_mut().zip(&figures) {
                latencies.insert(figures.kernel.latencies.to_string());
                sums.totals.add(figures);
                sums.best += u64::from(Some(figures.cost(goal)) == best);
                sums.seconds += figures.kernel.seconds;
            }
            Ok(())
        },
    )?;
    works.iter().for_each(Work::finish);
    let document = Document::new(&methods, &sums, latencies);
    if args.format.json {
        print_json(&document)?;
    } else if args.format.csv {
        print_csv(&CSV, methods.iter().map(|method| document.csv_row(*method)))?;
    } else {
        print(&document.as_table(&methods))?;
    }
    progress::summary(&document.facts(args));
    Ok(())
}

/// The columns of `--csv`.
const CSV: [&str; 8] =
    ["algorithm", "waves", "length", "weighted_length", "peak", "proven", "best", "seconds"];

impl Document {
    fn new(methods: &[Method], sums: &[Sums], latencies: BTreeSet<String>) -> Self {
        let row = |sums: &Sums| {
            let totals = sums.totals.document();
            Row {
                occupancy: totals.after.occupancy,
                length: totals.after.length,
                weighted_length: totals.weighted_length,
                peak: totals.after.peak_sum,
                proven: totals.proven,
                best: sums.best,
                seconds: sums.seconds,
                totals,
            }
        };
        // All algorithms have the same kernels.
        let first = sums.first().map(|sums| sums.totals.document());
        Document {
            kernels: sums.first().map_or(0, |sums| sums.totals.kernels),
            regions: first.as_ref().map_or(0, |totals| totals.regions),
            instructions: first.as_ref().map_or(0, |totals| totals.instructions),
            latencies,
            algorithms: methods.iter().map(|method| method.name()).zip(sums.iter().map(row)).collect(),
        }
    }

    /// Return the rows in the order of the algorithms.
    fn rows(&self, methods: &[Method]) -> Vec<(&'static str, &Row)> {
        let row = |method: &Method| Some((method.name(), self.algorithms.get(method.name())?));
        methods.iter().filter_map(row).collect()
    }

    fn csv_row(&self, method: Method) -> Vec<String> {
        let row = &self.algorithms[method.name()];
        let figures = [row.occupancy, row.length, row.weighted_length, row.peak, row.proven, row.best];
        let mut cells = vec![method.name().to_string()];
        cells.extend(figures.map(|figure| figure.to_string()));
        cells.push(row.seconds.to_string());
        cells
    }

    fn as_table(&self, methods: &[Method]) -> String {
        let rows = self.rows(methods);
        let column = |cell: &dyn Fn(&Row) -> String| rows.iter().map(|(_, row)| cell(row)).collect();
        let names = rows.iter().map(|(name, _)| (*name).to_string()).collect();
        let mut sheet = Sheet::new("algorithm", names).with_whole_names();
        sheet.column(0, "waves", column(&|row| grouped(row.occupancy)));
        sheet.column(0, "length", column(&|row| grouped(row.length)));
        sheet.column(3, "by loops", column(&|row| grouped(row.weighted_length)));
        sheet.column(0, "peak", column(&|row| grouped(row.peak)));
        sheet.column(1, "proven", column(&|row| grouped(row.proven)));
        sheet.column(1, "best on", column(&|row| grouped(row.best)));
        sheet.column(2, "ms", column(&|row| format!("{:.0}", row.seconds * 1e3)));
        let explanation = format!(
            "{}, {}, {}. Waves are summed over kernels, length and peak over regions; \"by loops\" counts a region ten times \
             for each loop around it. \"proven\" counts regions, and \"best on\" the kernels where no other algorithm is better \
             for the goal. \"ms\" has the time for bounds, too. Each row has the totals of `lowtide schedule --algorithm NAME`.",
            counted(self.kernels, "kernel"),
            counted(self.regions, "region"),
            counted(self.instructions, "instruction"),
        );
        format!("{}\n\n{}", sheet.text(), wrapped(&explanation, width()))
    }

    /// Return the lines of the summary.
    fn facts(&self, args: &CompareArgs) -> Vec<String> {
        let budget =
            progress::budget_in_words(args.work.budget.budget(), "instruction and pass", "region and pass");
        let mut facts = vec![
            format!("goal {}, {budget}", name_of(&args.work.goal)),
            format!(
                "{}, {}, {}",
                counted(self.kernels, "kernel"),
                counted(self.regions, "region"),
                counted(self.instructions, "instruction")
            ),
        ];
        for algorithm in [Algorithm::SOURCE, Algorithm::PRODUCTION, Algorithm::AUTO] {
            if let Some(row) = self.algorithms.get(algorithm.name()) {
                facts.push(format!(
                    "{}: waves {}, length {}, peak {}, best on {}",
                    algorithm.name(),
                    grouped(row.occupancy),
                    grouped(row.length),
                    grouped(row.peak),
                    grouped(row.best)
                ));
            }
        }
        facts
    }
}
