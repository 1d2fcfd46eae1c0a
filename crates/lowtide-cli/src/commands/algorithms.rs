//! `lowtide algorithms`: every algorithm that `--algorithm` of a command takes.

use lowtide::algorithm::Algorithm;
use lowtide::problem::Goal;
use lowtide_cp::Model;
use lowtide_tool::Failure;
use lowtide_tool::args::FormatArgs;
use lowtide_tool::output::{print, print_csv, print_json};
use lowtide_tool::papers::with_papers;
use lowtide_tool::table::{width, wrapped};
use serde::Serialize;

/// The arguments of `lowtide algorithms`.
#[derive(clap::Args)]
pub(crate) struct AlgorithmsArgs {
    #[command(flatten)]
    format: FormatArgs,
}

const SCHEDULE: &str = "schedule";

/// Command, name, summary, and the paper with its section.
type Other = (&'static str, &'static str, &'static str, Option<(u8, &'static str)>);

/// The algorithms of other commands, and the published configuration of the colony.
const OTHERS: [Other; 14] = [
    (
        SCHEDULE,
        "colony --preset paper",
        "colony with the published parameters: 11,520 ants, no guards, start from the production order",
        Some((4, "Sections IV and VI-A")),
    ),
    ("pack", "auto", "list, lower bound and search; an integer program for open blocks", None),
    (
        "pack",
        "list",
        "the list schedule (--list path or sc) and the lower bound",
        Some((3, "Section 2.1: step 1")),
    ),
    ("pack", "search", "list, lower bound and search", None),
    ("pack", "program", "integer programs that decide one length after the other", None),
    ("pack", "program-minimising", "the paper's integer programs with narrower ranges", None),
    ("pack", "program-paper", "the paper's five steps, integer programs and ranges", Some((3, "Section 2"))),
    ("passes", "exact", "the least cost, recomputation included, proven where the budget allows", None),
    ("passes", "dpmpp", "dynamic programming from the last operation to the first", Some((5, "Figure 1"))),
    ("passes", "dpmpp-su", "dpmpp by Sethi-Ullman numbers", Some((5, "Section 5"))),
    ("passes", "mio", "list scheduling by Sethi-Ullman numbers", Some((5, "Section 1.1.1"))),
    ("passes", "rds-h", "cuts that only grow subtrees", Some((5, "Section 1.1.2"))),
    ("passes", "rds", "cuts that save or recompute; with several outputs MRDS", Some((5, "Section 1.1.2"))),
    ("passes", "mrds-h", "rds-h, then passes are merged", Some((5, "Section 1.1.2"))),
];

#[derive(Serialize)]
struct Row {
    name: &'static str,
    /// The command that takes it.
    command: &'static str,
    /// A former name that is still accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<&'static str>,
    summary: &'static str,
    /// 1 to 5, or none.
    paper: Option<u8>,
    section: Option<&'static str>,
    goals: Vec<&'static str>,
}

impl Row {
    fn of_library(algorithm: Algorithm) -> Self {
        Row {
            name: algorithm.name(),
            command: SCHEDULE,
            alias: algorithm.alias(),
            summary: algorithm.summary(),
            paper: algorithm.paper(),
            section: algorithm.section(),
            goals: algorithm.goals().iter().map(|goal| goal.name()).collect(),
        }
    }

    fn of_solver(model: Model) -> Self {
        let summary = match model {
            Model::Paper => "the paper's constraint model, solved by CP-SAT (scripts/install-ortools)",
            Model::Program => {
                "the paper's model as an integer program, solved by HiGHS (scripts/install-ortools)"
            }
            Model::Improved => "a stronger constraint model, solved by CP-SAT (scripts/install-ortools)",
        };
        let is_published = model != Model::Improved;
        Row {
            name: model.name(),
            command: SCHEDULE,
            alias: None,
            summary,
            paper: is_published.then_some(1),
            section: is_published.then_some("Section III"),
            goals: vec![Goal::MinReg.name()],
        }
    }

    fn csv(&self) -> Vec<String> {
        vec![
            self.name.to_string(),
            self.command.to_string(),
            self.alias.unwrap_or_default().to_string(),
            self.goals.join(" "),
            self.paper.map_or_else(String::new, |paper| paper.to_string()),
            self.section.unwrap_or_default().to_string(),
            self.summary.to_string(),
        ]
    }

    fn source(&self) -> String {
        match (self.paper, self.section) {
            // The remark behind the colon is for --json.
            (Some(paper), Some(section)) => {
                format!("paper {paper}, {}", section.split(':').next().unwrap_or_default())
            }
            _ => String::new(),
        }
    }
}

pub(crate) fn run(args: &AlgorithmsArgs) -> Result<(), Failure> {
    let own = Algorithm::ALL.iter().copied().map(Row::of_library);
    let others = OTHERS.map(|(command, name, summary, paper)| Row {
        name,
        command,
        alias: None,
        summary,
        paper: paper.map(|(paper, _)| paper),
        section: paper.map(|(_, section)| section),
        goals: Vec::new(),
    });
    let rows: Vec<Row> = own.chain(Model::ALL.into_iter().map(Row::of_solver)).chain(others).collect();
    if args.format.json {
        return print_json(&rows);
    }
    if args.format.csv {
        return print_csv(&CSV, rows.iter().map(Row::csv));
    }
    print(&with_papers(as_text(&rows)))
}

/// The columns of `--csv`.
const CSV: [&str; 7] = ["algorithm", "command", "alias", "goals", "paper", "section", "summary"];

/// Columns for the name of an algorithm.
const NAME: usize = 29;

fn as_text(rows: &[Row]) -> String {
    let entry = |row: &Row| {
        let place = match row.command {
            SCHEDULE => row.goals.join(", "),
            command => command.to_string(),
        };
        let facts: Vec<String> = [place, row.source()].into_iter().filter(|fact| !fact.is_empty()).collect();
        format!("{:<NAME$}{}\n  {}", row.name, facts.join("; "), row.summary)
    };
    let (scheduling, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.command == SCHEDULE);
    let list = |rows: &[&Row]| rows.iter().map(|row| entry(row)).collect::<Vec<_>>().join("\n");
    let aliases =
        rows.iter().filter_map(|row| Some(format!("`{}` is another name of `{}`", row.alias?, row.name)));
    let text = format!(
        "{}\n\n`lowtide schedule --algorithm NAME` runs one of these, and `lowtide compare` several. Behind each name \
         stand the goals that it works for, and the paper that it comes from. {}.\n\n{}\n\n\
         `lowtide pack --algorithm NAME` and `lowtide passes --algorithm NAME` run these.",
        list(&scheduling),
        aliases.collect::<Vec<_>>().join(". "),
        list(&others)
    );
    wrapped(&text, width())
}
