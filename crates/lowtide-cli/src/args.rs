//! What the user can say.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use lowtide::budget::Budget;
use lowtide::colony::Parameters;
use lowtide::pipeline::Algorithm;
use lowtide::problem::Goal;
use lowtide_cp::Model;
use lowtide_gpu::Device;

use crate::failure::Failure;
use crate::report::grouped;

/// Schedule GPU code for few registers, many waves and short time, and say how far from the best it is.
///
/// Example: lowtide schedule corpus/ --goal occupancy
#[derive(Parser)]
#[command(name = "lowtide", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Threads to work with [default: one for each core]. Results do not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Schedule kernels and print what became of each
    ///
    /// Example: lowtide schedule kernels.jsonl.gz --goal occupancy -o schedules.jsonl
    Schedule(ScheduleArgs),
    /// Schedule kernels and draw what became of each, in one HTML file: pressure, cycles, live ranges, graph, bounds
    ///
    /// Example: lowtide view kernels.jsonl.gz --kernel sort -o report.html
    View(ViewArgs),
    /// Run all algorithms on the same input, beside the source order and the recorded production order
    Compare(CompareArgs),
    /// Pack two operations into each cycle, for a target that issues two: a shader or a region
    ///
    /// Example: lowtide pack corpus/pack/gfx1100.jsonl.gz --kernel inverse --show
    Pack(PackArgs),
    /// Measure algorithms on many regions: the tables of the papers
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Check schedules with the independent checker, or the figures recorded in a region file
    ///
    /// Without SCHEDULE, recomputes the pressure of the source and production orders and compares it with
    /// what the file records. The exit code is 0 only if everything is legal and agrees.
    Check(CheckArgs),
    /// Partition shaders into passes that fit the GPU
    ///
    /// Example: lowtide passes examples/shaders/bump_mapping.wgsl --target ps14
    Passes(PassesArgs),
    /// Tell what is in region files
    Info(InfoArgs),
    /// List the known GPUs, or the occupancy steps of one
    Targets(TargetsArgs),
    /// Convert region files to the project's own format, or draw them as DOT graphs
    Convert(ConvertArgs),
    /// Print a completion script for a shell
    ///
    /// Example: lowtide completions bash > ~/.local/share/bash-completion/completions/lowtide
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Peak pressure of the min-register schedulers against the best possible (paper 1, Tables I to V)
    ///
    /// Every distinct graph counts once. Example: lowtide bench minreg corpus/ --max-size 600
    Minreg(MinregArgs),
    /// Waves and lengths of whole kernels, and what the two passes prove (paper 2, Tables 3, 4 and 8)
    ///
    /// Sums are over all kernels; the passes are counted on distinct graphs.
    /// Example: lowtide bench occupancy corpus/ --budget 1ms,250us,5ms
    Occupancy(OccupancyArgs),
    /// Speed of ants on all cores, and on a GPU, against one core, at equal work and with equal results (paper 4, Tables 3.a and 3.b)
    ///
    /// Example: lowtide bench colony corpus/ --device cuda
    Colony(ColonyArgs),
    /// Cycles of the list schedule against the best packing, without and with splits (paper 3, Table 6, Figures 1 and 2)
    ///
    /// Every distinct block counts once. Example: lowtide bench pack --generated
    Pack(BenchPackArgs),
    /// Cost of passes by dynamic programming, lists and cuts against the proven optimum (paper 5)
    ///
    /// Example: lowtide bench passes examples/shaders --target ps14
    Passes(BenchPassesArgs),
    /// All of these, one after the other, each on the files that it is for: the experiment book
    ///
    /// Region files are for minreg, occupancy and colony, and for pack, too, if they were made for a GPU that packs; shaders are for
    /// passes. minreg also measures hard graphs, and pack generated blocks. Budgets are search steps, so that every figure but
    /// times is the same on every machine.
    /// Example: lowtide bench all corpus/ examples/shaders/ --html book.html
    All(BenchAllArgs),
}

/// What to write for readers.
#[derive(clap::Args)]
pub(crate) struct BookArgs {
    /// Also write a page that works without a network: the paper's tables beside ours, and charts
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Also write the same as a text in Markdown, without what depends on the machine
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

impl BookArgs {
    pub(crate) fn is_asked(&self) -> bool {
        self.html.is_some() || self.markdown.is_some()
    }

    /// Tells what cannot be written before anything is measured.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        for path in self.html.iter().chain(&self.markdown) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
                let error = if path.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::NotFound };
                return Err(Failure::Write { file: path.display().to_string(), error: error.into() });
            }
        }
        Ok(())
    }
}

#[derive(clap::Args)]
pub(crate) struct BenchAllArgs {
    /// Region files (.jsonl or .jsonl.gz), shaders (.wgsl, .spv, .vert, .frag, .comp), or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Search steps for each region, block and pass; minreg and colony, whose steps are smaller, have 100 and 10 times as many
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) nodes: u64,

    #[command(flatten)]
    pub(crate) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct PassesArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// A GPU of `lowtide targets` that describes passes, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "ps20")]
    pub(crate) target: String,

    /// How: exact starts with the best of the others, and proves what it finds
    #[arg(long, value_enum, default_value = "exact")]
    pub(crate) algorithm: PassAlgorithm,

    /// Time for each operation of a block, such as 250us or 1ms [default: 10ms unless --nodes is given]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Search steps for each block: gives the same result on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// List the operations of every pass, with their places in the shader
    #[arg(long, conflicts_with = "json")]
    pub(crate) list: bool,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl PassesArgs {
    pub(crate) fn budget(&self) -> Budget {
        let default = self.nodes.is_none().then_some(Duration::from_millis(10));
        Budget { time_per_instr: self.budget.or(default), nodes: self.nodes, threads: 1 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassAlgorithm {
    /// The optimum, if time suffices
    Exact,
    /// Dynamic programming (paper 5, Figure 1)
    Dpmpp,
    /// List scheduling with Sethi-Ullman numbers
    Mio,
    /// Cuts with recomputation, for one output or several
    Rds,
}

impl PassAlgorithm {
    pub(crate) fn name(self) -> String {
        name_of(&self)
    }
}

#[derive(clap::Args)]
pub(crate) struct BenchPassesArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// A GPU of `lowtide targets` that describes passes, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "ps20")]
    pub(crate) target: String,

    /// Time of exact for each block
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    region_budget: Duration,

    /// Search steps of exact for each block instead of a time: gives the same result on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Leave out blocks with fewer operations
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) min_size: usize,

    /// Leave out blocks with more operations
    #[arg(long, value_name = "N")]
    pub(crate) max_size: Option<usize>,

    /// Measure the growth of time on made-up shaders, too: of 150 to 12,000 operations
    #[arg(long)]
    pub(crate) generated: bool,

    #[command(flatten)]
    pub(crate) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl BenchPassesArgs {
    /// The budget of a block of this size.
    pub(crate) fn budget_of(&self, size: usize) -> Budget {
        let share = self.region_budget / u32::try_from(size.max(1)).unwrap_or(u32::MAX);
        Budget { time_per_instr: self.nodes.is_none().then_some(share), nodes: self.nodes, threads: 1 }
    }

    pub(crate) fn budget_in_words(&self) -> String {
        match self.nodes {
            Some(nodes) => format!("{} steps for each block", grouped(nodes)),
            None => format!("{} s for each block", self.region_budget.as_secs_f64()),
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct ColonyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) ants: AntArgs,

    /// Choices of ants for each region and pass
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    nodes: u64,

    /// Instead, change one parameter of the colony after the other, and tell what becomes of waves and lengths
    #[arg(long, conflicts_with_all = ["html", "markdown"])]
    pub(crate) sweep: bool,

    /// Instead, switch off what makes ants fast on a GPU, one technique after the other (paper 4, Tables 4.a and 4.b; needs an NVIDIA GPU)
    #[arg(long, conflicts_with = "sweep")]
    pub(crate) techniques: bool,

    /// Measure regions of so many instructions or more
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) min_size: usize,

    /// Measure regions of so many instructions or fewer
    #[arg(long, value_name = "N")]
    pub(crate) max_size: Option<usize>,

    #[command(flatten)]
    pub(crate) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl ColonyArgs {
    pub(crate) fn budget(&self) -> Budget {
        Budget { time_per_instr: None, nodes: Some(self.nodes), threads: 1 }
    }
}

/// How ants go to work.
#[derive(clap::Args)]
pub(crate) struct AntArgs {
    /// Where the random numbers of ants start, for algorithm colony
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Groups of 32 ants in an iteration, for algorithm colony
    #[arg(long, value_name = "N", default_value_t = Parameters::default().groups, value_parser = clap::value_parser!(u32).range(1..=512))]
    groups: u32,

    /// Where ants run, for algorithm colony; auto takes a GPU if there is one. Schedules do not depend on it
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeviceArg {
    /// The processor
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
    /// A GPU if there is one, else the processor
    Auto,
}

impl AntArgs {
    pub(crate) fn parameters(&self) -> Parameters {
        Parameters { seed: self.seed, groups: self.groups, ..Parameters::default() }
    }

    /// Whether the processor may do what the GPU cannot.
    pub(crate) fn may_fall_back(&self) -> bool {
        self.device == DeviceArg::Auto
    }

    /// The GPU to use, if any.
    pub(crate) fn gpu(&self) -> Result<Option<Device>, Failure> {
        match self.device {
            DeviceArg::Cpu => Ok(None),
            DeviceArg::Auto => Ok(Device::open().ok()),
            DeviceArg::Cuda => {
                Device::open().map(Some).map_err(|error| Failure::Message(format!("--device cuda: {error}")))
            }
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct OccupancyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Time for each instruction and pass; with several, each is measured, and the first one in full [default: 1ms unless --nodes is given]
    #[arg(long, value_name = "TIME", value_parser = parse_time, value_delimiter = ',')]
    budget: Vec<Duration>,

    /// Search steps for each region and pass: gives the same result on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Count the passes on graphs of so many instructions or more
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) min_size: usize,

    /// Count the passes on graphs of so many instructions or fewer
    #[arg(long, value_name = "N")]
    pub(crate) max_size: Option<usize>,

    #[command(flatten)]
    pub(crate) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl OccupancyArgs {
    /// The budgets to measure, at least one.
    pub(crate) fn budgets(&self) -> Vec<Budget> {
        let of = |time_per_instr| Budget { time_per_instr, nodes: self.nodes, threads: 1 };
        match (self.budget.as_slice(), self.nodes) {
            ([], None) => vec![of(Some(Duration::from_millis(1)))],
            ([], Some(_)) => vec![of(None)],
            (times, _) => times.iter().map(|time| of(Some(*time))).collect(),
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct MinregArgs {
    /// Region files (.jsonl or .jsonl.gz), folders of them, or - for the standard input
    #[arg(required_unless_present = "families", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Take only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) kernel: Option<String>,

    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,

    /// Time of exact for each region, such as 10s, instead of for each instruction
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "budget")]
    pub(crate) region_budget: Option<Duration>,

    /// Measure graphs that are known to be hard: FFT, matrix product, stencil, random layers
    #[arg(long)]
    pub(crate) families: bool,

    /// Measure exact against both constraint models on a sample of the regions (needs scripts/install-ortools)
    #[arg(long, requires = "files")]
    pub(crate) constraints: bool,

    /// Regions in the sample for --constraints, evenly spread over the sizes
    #[arg(long, value_name = "N", default_value = "60", requires = "constraints")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sample: u32,

    /// Time of each constraint model for each region, such as 60s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time, requires = "constraints")]
    pub(crate) model_budget: Duration,

    /// Print what --constraints gives only, and spare the time for the rest
    #[arg(long, requires = "constraints", conflicts_with_all = ["html", "markdown"])]
    pub(crate) no_tables: bool,

    /// Leave out regions with fewer instructions
    #[arg(long, value_name = "N", default_value_t = 48)]
    pub(crate) min_size: usize,

    /// Leave out regions with more instructions
    #[arg(long, value_name = "N")]
    pub(crate) max_size: Option<usize>,

    #[command(flatten)]
    pub(crate) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl MinregArgs {
    /// The budget of a region of this size.
    pub(crate) fn budget_of(&self, size: usize) -> Budget {
        let budget = self.budget.budget();
        let share = |time: Duration| time / u32::try_from(size.max(1)).unwrap_or(u32::MAX);
        Budget { time_per_instr: self.region_budget.map(share).or(budget.time_per_instr), ..budget }
    }
}

/// Which kernels to read.
#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Region files (.jsonl or .jsonl.gz), shaders (.wgsl, .spv, .vert, .frag, .comp), folders of them, or - for the standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Take only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) kernel: Option<String>,
}

/// What to schedule for.
#[derive(clap::Args)]
pub(crate) struct TargetArgs {
    /// A GPU of `lowtide targets`, or a TOML file [default: the one the kernel was made for, else generic]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) target: Option<String>,
}

/// How much effort to spend.
#[derive(clap::Args)]
pub(crate) struct BudgetArgs {
    /// Time for each instruction and pass, such as 250us, 1ms or 2s [default: 1ms unless --nodes is given]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Search steps for each region and pass: gives the same result on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,

    /// Threads for the search of each region, up to 4 [default: 1, as --threads are for regions at the same time]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u8).range(1..=4))]
    search_threads: u8,
}

impl BudgetArgs {
    pub(crate) fn budget(&self) -> Budget {
        let default = self.nodes.is_none().then_some(Duration::from_millis(1));
        Budget {
            time_per_instr: self.budget.or(default),
            nodes: self.nodes,
            threads: self.search_threads.into(),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GoalArg {
    /// Lowest peak pressure of the first register class
    Minreg,
    /// Most waves, then shortest
    Occupancy,
    /// Shortest, whatever the pressure
    Length,
}

impl GoalArg {
    pub(crate) fn name(self) -> String {
        name_of(&self)
    }
}

/// What one types for a value.
fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

impl From<GoalArg> for Goal {
    fn from(goal: GoalArg) -> Goal {
        match goal {
            GoalArg::Minreg => Goal::MinReg,
            GoalArg::Occupancy => Goal::Occupancy,
            GoalArg::Length => Goal::Length,
        }
    }
}

/// An algorithm of ours, or a model for the constraint solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    Algorithm(Algorithm),
    Constraints(Model),
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Algorithm(algorithm) => algorithm.name(),
            Method::Constraints(model) => model.name(),
        }
    }
}

/// Which kernels to schedule, for what, and how.
#[derive(clap::Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) ants: AntArgs,

    /// What to be best at
    #[arg(long, value_enum, default_value = "occupancy")]
    pub(crate) goal: GoalArg,

    /// How: auto, or one algorithm as it is; cp and cp-paper ask a constraint solver (scripts/install-ortools)
    #[arg(long, default_value = "auto", value_parser = parse_method, value_name = "NAME")]
    pub(crate) algorithm: Method,

    /// Use at most N registers of the target's first class: for the goal length, if that is possible at all; for the goal
    /// occupancy, where a known order does so without losing waves (algorithms auto, list, waves, twopass and colony)
    #[arg(long, value_name = "N")]
    pub(crate) registers: Option<u32>,

    /// Take every wave more, whatever it costs; else up to 3 more than the production compiler has are not taken if all regions
    /// together become more than 63 cycles longer, and ants (algorithm colony) are not sent for fewer than 21 cycles
    #[arg(long)]
    pub(crate) no_filter: bool,
}

#[derive(clap::Args)]
pub(crate) struct ScheduleArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,

    /// Print why each instruction was chosen, instead of the table
    #[arg(long, conflicts_with_all = ["json", "output", "summary"])]
    pub(crate) explain: bool,

    /// Write the schedules to FILE, which appears only when all is done; - prints them instead of the table
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print the totals only
    #[arg(long)]
    pub(crate) summary: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,

    /// Where to write the page, which appears only when all is done; - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,

    /// Print JSON instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// What the algorithms should be best at
    #[arg(long, value_enum, default_value = "occupancy")]
    pub(crate) goal: GoalArg,

    #[command(flatten)]
    pub(crate) budget: BudgetArgs,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// A region file, or a folder of them
    pub(crate) file: PathBuf,

    /// A schedule file as written by `lowtide schedule -o`
    pub(crate) schedule: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Refuse schedules whose pressure between instructions is above N, such as vgpr=24
    #[arg(long, value_name = "CLASS=N", value_parser = parse_limit, requires = "schedule")]
    pub(crate) limit: Vec<(String, u32)>,

    /// Refuse schedules whose pressure at an instruction, operands and results together, is above N
    #[arg(long, value_name = "CLASS=N", value_parser = parse_limit, requires = "schedule")]
    pub(crate) limit_at: Vec<(String, u32)>,

    /// Prove the bounds in SCHEDULE again, and count a schedule as optimal only if it meets a proven one
    #[arg(long, requires = "schedule")]
    pub(crate) bound: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct TargetsArgs {
    /// A GPU of the list, or a TOML file: show its register files and occupancy steps
    #[arg(value_name = "NAME|FILE")]
    pub(crate) target: Option<String>,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Take only regions of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,

    /// What to write [default: by the ending of the output file, else regions]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,

    /// Where to write: .jsonl, .jsonl.gz (compressed), .dot, or - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// The project's own region format
    Regions,
    /// Dependence graphs for Graphviz
    Dot,
}

/// How blocks are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PackMethod {
    /// List, bound and search; an integer program for what stays open, if its solver is installed
    Auto,
    /// The list schedule and the bound
    List,
    /// List, bound and search
    Search,
    /// The paper's five steps, with one length decided after the other (needs scripts/install-ortools)
    Program,
    /// The paper's five steps as they are: the program minimises the length (needs scripts/install-ortools)
    ProgramPaper,
}

impl PackMethod {
    pub(crate) fn name(self) -> String {
        name_of(&self)
    }
}

/// How much effort to spend on a block.
#[derive(clap::Args)]
pub(crate) struct PackBudgetArgs {
    /// Time for each operation, such as 1ms or 2s [default: 100ms unless --nodes is given]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Search steps for each block: gives the same result on every machine
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
}

impl PackBudgetArgs {
    pub(crate) fn budget(&self) -> Budget {
        let default = self.nodes.is_none().then_some(Duration::from_millis(100));
        Budget { time_per_instr: self.budget.or(default), nodes: self.nodes, threads: 1 }
    }
}

#[derive(clap::Args)]
pub(crate) struct PackArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) budget: PackBudgetArgs,

    /// How
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    pub(crate) algorithm: PackMethod,

    /// Leave all operations whole
    #[arg(long)]
    pub(crate) no_split: bool,

    /// Use at most N registers of the target's first class
    #[arg(long, value_name = "N")]
    pub(crate) registers: Option<u32>,

    /// Print what each cycle issues
    #[arg(long, conflicts_with = "json")]
    pub(crate) show: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct BenchPackArgs {
    /// Region files (.jsonl or .jsonl.gz), folders of them, or - for the standard input
    #[arg(required_unless_present = "generated", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Take only kernels whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) kernel: Option<String>,

    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) budget: PackBudgetArgs,

    /// Measure generated blocks, as many and as large as the paper's shaders, for the target vs
    #[arg(long, conflicts_with_all = ["files", "kernel"])]
    pub(crate) generated: bool,

    /// Where the generated blocks begin
    #[arg(long, value_name = "N", default_value_t = 1, requires = "generated")]
    pub(crate) seed: u64,

    /// Also count what the paper's bound by linear programs proves (needs scripts/install-ortools)
    #[arg(long)]
    pub(crate) linear: bool,

    /// Leave out blocks with fewer operations
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) min_size: usize,

    /// Leave out blocks with more operations
    #[arg(long, value_name = "N")]
    pub(crate) max_size: Option<usize>,

    #[command(flatten)]
    pub(crate) book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_method(name: &str) -> Result<Method, String> {
    let algorithms = Algorithm::ALL.into_iter().map(Method::Algorithm);
    let methods = algorithms.chain(Model::ALL.into_iter().map(Method::Constraints));
    methods.clone().find(|method| method.name() == name).ok_or_else(|| {
        let known: Vec<&str> = methods.map(Method::name).collect();
        format!("known are {}", known.join(", "))
    })
}

fn parse_limit(text: &str) -> Result<(String, u32), String> {
    let (class, limit) = text.split_once('=').ok_or("expected CLASS=N, such as vgpr=24")?;
    Ok((class.to_string(), limit.parse().map_err(|_| format!("{limit:?} is not a number of registers"))?))
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "" => return Err("a unit is missing: ns, us, ms or s".to_string()),
        _ => return Err(format!("unknown unit {unit:?}: use ns, us, ms or s")),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{number:?} is not a number"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("0.25ms"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_time("2s"), Ok(Duration::from_secs(2)));
        for bad in ["", "5", "ms", "5h", "-1ms", "1e300s", "x ms"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
