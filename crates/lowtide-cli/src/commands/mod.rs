//! One module for each command, with its arguments.

mod algorithms;
mod check;
mod check_bounds;
mod compare;
mod constraints;
mod convert;
mod diff;
mod info;
mod install;
mod orders;
mod pack;
mod passes;
mod schedule;
mod schedules;
mod simulate;
mod store;
mod targets;
mod view;
mod why;

use clap::Subcommand;
use lowtide_bench::BenchCommand;
use lowtide_tool::Failure;
use lowtide_tool::output::print;

/// The commands and their arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Schedule kernels, and print the figures of each
    ///
    /// Example: lowtide schedule kernels.jsonl.gz --goal occupancy -o schedules.jsonl
    Schedule(schedule::ScheduleArgs),
    /// Schedule kernels, and draw the result in one HTML file: pressure, cycles, live ranges, graph, bounds
    ///
    /// Example: lowtide view kernels.jsonl.gz --kernel sort -o report.html
    View(view::ViewArgs),
    /// Explain why a kernel has no more waves: what limits it, what is proven, and what production does
    /// differently
    ///
    /// Example: lowtide why sort kernels.jsonl.gz
    Why(why::WhyArgs),
    /// Print the orders of a kernel side by side: the production order and Lowtide's, or those of schedule
    /// files
    ///
    /// Example: lowtide diff kernels.jsonl.gz --kernel sort
    Diff(diff::DiffArgs),
    /// Schedule kernels by several algorithms, beside the source order and the recorded production order
    ///
    /// Each row has the totals of `lowtide schedule` with the same options. Example: lowtide compare corpus/
    /// --algorithm production,list,auto
    Compare(compare::CompareArgs),
    /// Pack two operations of a shader or region into each cycle, for a target that issues two
    ///
    /// Example: lowtide pack corpus/pack/gfx1100.jsonl.gz --kernel inverse --show
    Pack(pack::PackArgs),
    /// Measure algorithms on many regions: the tables of the papers
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Check schedules with the independent checker, or the figures recorded in a region file
    ///
    /// Without SCHEDULE, recompute the pressure of the source and production orders, and compare it with the
    /// recorded one. The exit code is 0 only if all schedules are legal and all figures agree.
    Check(check::CheckArgs),
    /// Replay orders on a timing model of one SIMD, with all waves
    ///
    /// Example: lowtide simulate corpus/ --order production
    Simulate(simulate::SimulateArgs),
    /// Partition shaders into passes that fit the GPU
    ///
    /// Example: lowtide passes examples/shaders/bump_mapping.wgsl --target ps14
    Passes(passes::PassesArgs),
    /// Describe the contents of region files
    Info(info::InfoArgs),
    /// List the algorithms: summary, goals, and the paper that each comes from
    Algorithms(algorithms::AlgorithmsArgs),
    /// List the known GPUs, or the occupancy steps of one
    Targets(targets::TargetsArgs),
    /// Convert region files to Lowtide's own format, or to DOT graphs
    Convert(convert::ConvertArgs),
    /// Look after the store of answers: size, damage, old entries, copies, and answers in advance
    ///
    /// Example: lowtide store stats --store ~/.cache/lowtide
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Print a completion script for a shell
    ///
    /// Example: lowtide completions bash > ~/.local/share/bash-completion/completions/lowtide
    Completions {
        /// Print the script for this shell
        shell: clap_complete::Shell,
    },
    /// Install manual pages, and completions for bash, zsh and fish
    ///
    /// Example: lowtide install --prefix ~/.local
    Install(install::InstallArgs),
}

impl Command {
    /// Run the command, and print its result.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Command::Schedule(args) => schedule::run(args),
            Command::View(args) => view::run(args),
            Command::Why(args) => why::run(args),
            Command::Diff(args) => diff::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Pack(args) => pack::run(args),
            Command::Bench(bench) => bench.run(),
            Command::Check(args) => check::run(args),
            Command::Simulate(args) => simulate::run(args),
            Command::Passes(args) => passes::run(args),
            Command::Info(args) => info::run(args),
            Command::Algorithms(args) => algorithms::run(args),
            Command::Targets(args) => targets::run(args),
            Command::Convert(args) => convert::run(args),
            Command::Store(command) => store::run(command),
            Command::Completions { shell } => {
                print(String::from_utf8_lossy(&install::completions(*shell)).trim_end())
            }
            Command::Install(args) => install::run(args),
        }
    }
}
