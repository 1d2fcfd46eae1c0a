//! The program `lowtide`: schedules GPU code from the command line.
//!
//! `commands` has one module for each command, with its arguments; `args` has the arguments that several
//! commands share. `lowtide-tool` reads the input and prints results and progress; `lowtide-bench` has the
//! benchmarks. Results go to the standard output, progress and errors to the standard error. The exit code is
//! 0 only on success.

#![forbid(unsafe_code)]

mod args;
mod commands;

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use lowtide_tool::papers::cited_in;
use lowtide_tool::{names, progress};
use mimalloc::MiMalloc;

/// Regions are many small arrays, read by several threads: this allocator takes a tenth less time for them
/// than the one of the system.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Version, commit and features: `0.1.0 (commit 0123456789; features: shaders, cuda)`.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let features: Vec<&str> = [("shaders", cfg!(feature = "shaders")), ("cuda", cfg!(feature = "cuda"))]
        .into_iter()
        .filter_map(|(name, is_on)| is_on.then_some(name))
        .collect();
    let features = if features.is_empty() { "none".to_string() } else { features.join(", ") };
    let commit =
        option_env!("LOWTIDE_COMMIT").map_or_else(String::new, |commit| format!("commit {commit}; "));
    format!("{} ({commit}features: {features})", env!("CARGO_PKG_VERSION"))
});

/// Schedule GPU code for few registers, many waves and short time, with proven bounds on the gap to the
/// optimum.
///
/// Example: lowtide schedule corpus/ --goal occupancy
#[derive(Parser)]
#[command(name = "lowtide", version = VERSION.as_str(), max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: commands::Command,

    /// Limit the worker threads [default: one for each core]. Results do not depend on their number
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print names of C++ and Rust kernels as they are in the file, instead of demangled
    #[arg(long, global = true)]
    mangled: bool,
}

/// Return the description of the command line. The help of a command ends with the papers that it cites.
pub(crate) fn command() -> Command {
    with_papers(Args::command())
}

fn with_papers(command: Command) -> Command {
    let command = command.mut_subcommands(with_papers);
    let mut texts: Vec<String> = Vec::new();
    texts.extend(
        [command.get_about(), command.get_long_about()].into_iter().flatten().map(ToString::to_string),
    );
    for arg in command.get_arguments() {
        texts.extend([arg.get_help(), arg.get_long_help()].into_iter().flatten().map(ToString::to_string));
        for value in arg.get_possible_values() {
            texts.extend(value.get_help().map(ToString::to_string));
        }
    }
    // A list of commands cites what each of them says in its first line.
    texts.extend(command.get_subcommands().filter_map(Command::get_about).map(ToString::to_string));
    match cited_in(&texts.join("\n")) {
        Some(papers) => command.after_help(papers),
        None => command,
    }
}

fn main() -> ExitCode {
    progress::start();
    let args = Args::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    if args.mangled {
        names::keep_mangled();
    }
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
        if let Err(error) = pool {
            eprintln!("error: {threads} threads cannot be started: {error}");
            return ExitCode::FAILURE;
        }
    }
    match args.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message() {
                eprintln!("error: {message}");
            }
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
