//! `lowtide bench colony --sweep`: what each parameter of the colony is good for (paper 4, Tables 6 and 7), at an equal number of choices.

use std::time::Instant;

use lowtide::colony::Parameters;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::region::Kernel;
use lowtide::solved::Solved;
use lowtide::target::Target;
use rayon::prelude::*;
use serde::Serialize;

use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::report::{grouped, table, trimmed};

/// What a change of one parameter makes of all kernels.
#[derive(Serialize)]
struct Row {
    parameter: String,
    occupancy: u64,
    length: u64,
    choices: u64,
    seconds: f64,
}

/// The defaults, and each parameter changed alone.
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
    // How much is chance.
    add("seed", &[101, 102], &|seed| Parameters { seed: seed.into(), ..usual });
    variants
}

pub(super) fn sweep(kernels: &[(Kernel, &Target)], options: Options, json: bool) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (parameter, colony) in variants(options.colony) {
        let solved = Solved::new();
        let start = Instant::now();
        let outcomes = (kernels.par_iter())
            .map(|(kernel, target)| {
                schedule_kernel(kernel, target, Options { colony, ..options }, &solved)
                    .map_err(|error| Failure::Target { kernel: kernel.name.clone(), error })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let regions = outcomes.iter().flat_map(|outcome| &outcome.regions);
        rows.push(Row {
            parameter,
            occupancy: outcomes.iter().map(|outcome| u64::from(outcome.occupancy)).sum(),
            length: regions.map(|region| u64::from(region.measure.length)).sum(),
            choices: solved.spent().iter().map(|spent| spent.states).sum(),
            seconds: start.elapsed().as_secs_f64(),
        });
    }
    if json {
        return print_json(&rows);
    }
    let mut text = table(1, &["", "waves", "length", "choices", "seconds"]);
    for row in &rows {
        let Row { parameter, occupancy, length, choices, seconds } = row;
        let numbers = [*occupancy, *length, *choices].map(grouped);
        let [waves, length, choices] = numbers;
        text.add_row([parameter.clone(), waves, length, choices, format!("{seconds:.2}")]);
    }
    print(&trimmed(&text))
}
