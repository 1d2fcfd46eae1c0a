//! The program `lowtide`: schedules GPU code from the command line.
//!
//! `args` is what the user can say, `input` turns files into kernels, `commands` has one module for each
//! command, `report` has what they share of tables, `book` what benchmarks write for readers, `progress` what is told while they run. Results go to the standard output, progress and errors
//! to the standard error; the exit code is 0 only if all went well.

#![forbid(unsafe_code)]

mod args;
mod book;
mod commands;
mod failure;
mod input;
mod page;
mod progress;
mod report;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    progress::start();
    let args = args::Args::parse();
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
        if let Err(error) = pool {
            eprintln!("error: {threads} threads cannot be started: {error}");
            return ExitCode::FAILURE;
        }
    }
    match commands::run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message() {
                eprintln!("error: {message}");
            }
            ExitCode::FAILURE
        }
    }
}
