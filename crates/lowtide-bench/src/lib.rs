//! The benchmarks of the program `lowtide`: the papers' tables, measured on the given files.
//!
//! Each benchmark has a folder of its own, in which data flows in one direction:
//!
//! ```text
//! args -> measure -> document -> text     tables for the terminal
//!                             -> chapter  tables and charts for the experiment book
//! ```
//!
//! The *document* is the data that `--json` prints. `text` and `chapter` compute nothing that the document
//! does not contain. `book` has the parts of chapters, the pages made from them, and the papers' figures.
//! `all` runs all benchmarks.

mod all;
mod book;
mod budget;
mod colony;
mod findings;
mod latencies;
mod minreg;
mod names;
mod occupancy;
mod pack;
mod passes;
mod simulate;
mod statistics;

pub use all::AllArgs;
pub use budget::BudgetArgs;
pub use colony::ColonyArgs;
pub use latencies::LatenciesArgs;
pub use minreg::MinregArgs;
pub use occupancy::OccupancyArgs;
pub use pack::PackArgs;
pub use passes::PassesArgs;
pub use simulate::SimulateArgs;

use clap::Subcommand;
use lowtide_tool::Failure;

/// The benchmarks and their arguments.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Compare the peak pressure of min-register schedulers with the optimum (paper 1, Tables I to V)
    ///
    /// Every distinct graph counts once. Example: lowtide bench minreg corpus/ --max-size 600
    Minreg(MinregArgs),
    /// Compare waves and lengths of whole kernels, and count the proofs of the two passes (paper 2, Tables 3,
    /// 4 and 8)
    ///
    /// Sums are over all kernels; the passes are counted on distinct graphs.
    /// Example: lowtide bench occupancy corpus/ --budget 1ms,250us,5ms
    Occupancy(OccupancyArgs),
    /// Measure the speed-up of the ant colony on all cores, and on a GPU, at equal results (paper 4, Tables
    /// 3.a and 3.b)
    ///
    /// Example: lowtide bench colony corpus/ --device cuda
    Colony(ColonyArgs),
    /// Compare list schedules with the best packing, without and with splits (paper 3, Table 6, Figures 1
    /// and 2)
    ///
    /// Every distinct block counts once. Example: lowtide bench pack --generated
    Pack(PackArgs),
    /// Compare passes by dynamic programming, lists and cuts with the proven optimum (paper 5)
    ///
    /// Example: lowtide bench passes examples/shaders --target ps14
    Passes(PassesArgs),
    /// Measure how schedules made for some latencies do with others
    ///
    /// The target needs a table of latencies. Example: lowtide bench latencies corpus/ --nodes 5000
    Latencies(LatenciesArgs),
    /// Compare the ranking of orders by a cost formula with that of the timing model
    ///
    /// Example: lowtide bench simulate corpus/ --nodes 5000
    Simulate(SimulateArgs),
    /// Measure whether the time budget is kept: used over allowed time, on files or on generated regions
    ///
    /// Every distinct graph counts once. Example: lowtide bench budget --generated --budget 10us,1ms
    Budget(BudgetArgs),
    /// Run all benchmarks, each on the files of its kind: the experiment book
    ///
    /// minreg, occupancy and colony read region files. pack reads those of a GPU that packs. passes reads
    /// shaders. minreg also measures hard graphs, and pack generated blocks. Budgets are search steps, so
    /// that all figures but times are the same on every machine. Example: lowtide bench all corpus/
    /// examples/shaders/ --html book.html
    All(AllArgs),
}

impl BenchCommand {
    /// Run the benchmark, and print its result.
    pub fn run(&self) -> Result<(), Failure> {
        match self {
            BenchCommand::Minreg(args) => minreg::run(args),
            BenchCommand::Occupancy(args) => occupancy::run(args),
            BenchCommand::Colony(args) => colony::run(args),
            BenchCommand::Pack(args) => pack::run(args),
            BenchCommand::Passes(args) => passes::run(args),
            BenchCommand::Latencies(args) => latencies::run(args),
            BenchCommand::Simulate(args) => simulate::run(args),
            BenchCommand::Budget(args) => budget::run(args),
            BenchCommand::All(args) => all::run(args),
        }
    }
}
