//! `lowtide algorithms`: every algorithm that `--algorithm` takes.

use lowtide::algorithm::Algorithm;
use lowtide::problem::Goal;
use lowtide_cp::Model;
use lowtide_tool::Failure;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::table::{table, trimmed};
use serde::Serialize;

/// The arguments of `lowtide algorithms`.
#[derive(clap::Args)]
pub(crate) struct AlgorithmsArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
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
            alias: None,
            summary,
            paper: is_published.then_some(1),
            section: is_published.then_some("Section III"),
            goals: vec![Goal::MinReg.name()],
        }
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
    let rows: Vec<Row> = own.chain(Model::ALL.into_iter().map(Row::of_solver)).collect();
    match args.json {
        true => print_json(&rows),
        false => print(&as_table(&rows)),
    }
}

fn as_table(rows: &[Row]) -> String {
    let mut text = table(4, &["algorithm", "goals", "from", "summary"]);
    for row in rows {
        text.add_row([row.name, &row.goals.join(", "), &row.source(), row.summary]);
    }
    let aliases =
        rows.iter().filter_map(|row| Some(format!("`{}` is another name of `{}`", row.alias?, row.name)));
    let notes = aliases.collect::<Vec<_>>().join(". ");
    format!(
        "{}\n\n`lowtide schedule --algorithm NAME` runs one of them; `goals` are those that it works for. {notes}. Papers: docs/architecture.md.",
        trimmed(&text)
    )
}
