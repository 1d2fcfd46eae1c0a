//! One module for each command.

mod ants;
mod bench;
mod check;
mod check_bounds;
mod compare;
mod constraints;
mod convert;
mod info;
mod pack;
mod passes;
mod schedule;
mod targets;
mod view;

use clap::CommandFactory;
use serde::Serialize;

use crate::args::{Args, BenchCommand, Command};
use crate::failure::Failure;

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Schedule(args) => schedule::run(&args),
        Command::View(args) => view::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Bench(BenchCommand::Minreg(args)) => bench::minreg(&args),
        Command::Bench(BenchCommand::Occupancy(args)) => bench::occupancy(&args),
        Command::Bench(BenchCommand::Colony(args)) => bench::colony(&args),
        Command::Bench(BenchCommand::Pack(args)) => bench::pack(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Bench(BenchCommand::Passes(args)) => bench::multipass(&args),
        Command::Bench(BenchCommand::All(args)) => bench::all(&args),
        Command::Check(args) => check::run(&args),
        Command::Passes(args) => passes::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Targets(args) => targets::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Completions { shell } => {
            // By way of memory, since the generator panics where its output cannot be written.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "lowtide", &mut script);
            print(String::from_utf8_lossy(&script).trim_end())
        }
    }
}

/// Prints a result as JSON.
fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Message(format!("the result cannot be written as JSON: {error}")))?;
    print(&text)
}

/// Prints a result. A reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Write { file: "<stdout>".to_string(), error })
        }
        _ => Ok(()),
    }
}
