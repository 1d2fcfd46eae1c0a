//! `lowtide bench colony --sweep`: the effect of each parameter of the colony (paper 4, Tables 6 and 7), at an equal number
//! of choices.

use std::time::Instant;

use lowtide::colony::Parameters;
use lowtide_tool::Failure;
use lowtide_tool::ants::read;
use lowtide_tool::input::Targets;
use lowtide_tool::solve::Run;
use lowtide_tool::table::{grouped, table, trimmed};
use rayon::prelude::*;
use serde::Serialize;

use super::args::ColonyArgs;

/// The effect of one parameter on all kernels.
#[derive(Serialize)]
pub(super) struct Row {
    parameter: String,
    occupancy: u64,
    length: u64,
    choices: u64,
    seconds: f64,
}

/// Return the defaults, and each parameter changed alone.
fn variants(usual: Parameters) -> Vec<(String, Parameters)> {
    let mut variants = vec![("defaults".to_string(), usual)];
    let mut add = |name: &str, values: &[u32], change: &dyn Fn(u32) -> Parameters| {
        variants.extend(values.iter().map(|&value| (format!("{name} {value}"), change(value))));
    };
    add("groups", &[2, 4, 16, 32], &|groups| Parameters { groups, ..usual });
    add("explorations", &[3, 5, 20, 40], &|explorations| Parameters { explorations, ..usual });
    add("stalling", &[0, 1, 2], &|stalling| Parameters { stalling, ..usual });
    add("remains", &[8, 11, 15], &|remains| Parameters { remains, ..usual });
    add("slack", &[0, 8, 32], &|slack| Parameters { slack, ..usual });
    add("patience", &[3, 10, 100], &|patience| Parameters { patience: [patience; 3], ..usual });
    // Other seeds show the effect of chance.
    add("seed", &[101, 102], &|seed| Parameters { seed: seed.into(), ..usual });
    variants
}

/// Schedule all kernels with each variant.
pub(super) fn measure(args: &ColonyArgs) -> Result<Vec<Row>, Failure> {
    let targets = Targets::new(&args.target)?;
    let kernels = read(&args.input, &targets)?;
    let options = args.options();
    let mut rows = Vec::new();
    for (parameter, colony) in variants(options.colony) {
        let run = Run::new();
        let start = Instant::now();
        let outcomes = (kernels.par_iter())
            .map(|(kernel, target)| run.schedule_kernel(kernel, target, &options.with_colony(colony)))
            .collect::<Result<Vec<_>, _>>()?;
        let regions = outcomes.iter().flat_map(|outcome| &outcome.regions);
        rows.push(Row {
            parameter,
            occupancy: outcomes.iter().map(|outcome| u64::from(outcome.occupancy)).sum(),
            length: regions.map(|region| u64::from(region.measure.length)).sum(),
            choices: run.statistics().spent().iter().map(|spent| spent.states).sum(),
            seconds: start.elapsed().as_secs_f64(),
        });
    }
    Ok(rows)
}

/// Return a table for the terminal.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text = table(1, &["", "waves", "length", "choices", "seconds"]);
    for row in rows {
        let Row { parameter, occupancy, length, choices, seconds } = row;
        let numbers = [*occupancy, *length, *choices].map(grouped);
        let [waves, length, choices] = numbers;
        text.add_row([parameter.clone(), waves, length, choices, format!("{seconds:.2}")]);
    }
    trimmed(&text)
}
