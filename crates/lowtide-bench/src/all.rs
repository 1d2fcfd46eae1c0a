//! `lowtide bench all`: the experiment book.
//!
//! The book is a list of experiments: each is a benchmark with the arguments for its kind of files. The
//! command line that gives the same result is printed with each of them.

use std::path::{Path, PathBuf};

use clap::Args;
use lowtide_io::ShaderLanguage;
use lowtide_tool::Failure;
use lowtide_tool::args::InputArgs;
use lowtide_tool::input::{expand, for_each_kernel};
use lowtide_tool::output::{print, print_json};
use lowtide_tool::pack::packing_targets;
use lowtide_tool::papers::with_papers;
use lowtide_tool::table::command_line;
use serde_json::{Map, Value};

use crate::book::{Book, BookArgs, Chapter};
use crate::findings::Findings;
use crate::{ColonyArgs, MinregArgs, OccupancyArgs, PackArgs, PassesArgs};
use crate::{colony, minreg, occupancy, pack, passes};

/// The factors of `--nodes` for benchmarks with smaller search steps, so that all take about equally long.
const MINREG_STEPS: u64 = 100;
const COLONY_STEPS: u64 = 10;
const SWEEP_STEPS: u64 = 1;

/// Groups of 32 ants in the experiment with the published colony. With the paper's 360 it would take most of
/// the time.
const SWEEP_GROUPS: u32 = 4;

/// The arguments of `lowtide bench all`.
#[derive(Args)]
pub struct AllArgs {
    /// Read region files (.jsonl, .jsonl.gz or .parquet), shaders (.wgsl, .spv, .vert, .frag, .comp), or
    /// folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Limit the search steps for each region, block and pass. minreg and colony have smaller steps: 100 and
    /// 10 times as many
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    nodes: u64,

    #[command(flatten)]
    book: BookArgs,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Run all experiments, write the book if the arguments ask for it, and print the results.
pub(crate) fn run(args: &AllArgs) -> Result<(), Failure> {
    args.book.check()?;
    let files = Files::sort(&args.files)?;
    let mut results = Results::default();
    for experiment in experiments(&files, args.nodes) {
        results.add(&experiment)?;
    }
    let Results { json, texts, chapters } = results;
    if args.book.is_asked() {
        Book::new("Lowtide: the experiment book", chapters).write(&args.book)?;
    }
    match args.json {
        true => print_json(&json),
        false => print(&with_papers(texts.join("\n\n\n"))),
    }
}

/// A benchmark on some of the files.
struct Experiment {
    /// The key of its result, and the anchor of its chapter.
    name: &'static str,
    bench: Bench,
    /// The words of the command line that gives the same result.
    words: Vec<String>,
}

/// A benchmark with its arguments.
#[derive(Debug, PartialEq)]
enum Bench {
    Minreg(MinregArgs),
    Occupancy(OccupancyArgs),
    Colony(ColonyArgs),
    Pack(PackArgs),
    Passes(PassesArgs),
}

/// Return the experiments for which there are files.
fn experiments(files: &Files, nodes: u64) -> Vec<Experiment> {
    let Files { regions, packing, shaders } = files;
    let mut experiments = Vec::new();
    let mut add = |name, bench: Bench, files: &[PathBuf], option: Option<&str>, nodes: u64| {
        let mut words = vec!["bench".to_string(), bench.name().to_string()];
        words.extend(files.iter().map(|file| file.display().to_string()));
        words.extend(option.iter().flat_map(|option| option.split(' ')).map(str::to_string));
        words.extend(["--nodes".to_string(), nodes.to_string()]);
        experiments.push(Experiment { name, bench, words });
    };
    let steps = nodes.saturating_mul(MINREG_STEPS);
    add("minreg", Bench::Minreg(MinregArgs::for_book(regions, steps)), regions, Some("--families"), steps);
    if !regions.is_empty() {
        let bench = Bench::Occupancy(OccupancyArgs::for_book(regions, nodes));
        add("occupancy", bench, regions, Some("--other-budgets"), nodes);
    }
    add(
        "pack_generated",
        Bench::Pack(PackArgs::for_book(&[], nodes)),
        &[],
        Some("--generated --list sc"),
        nodes,
    );
    if !packing.is_empty() {
        add("pack", Bench::Pack(PackArgs::for_book(packing, nodes)), packing, None, nodes);
    }
    if !regions.is_empty() {
        let steps = nodes.saturating_mul(COLONY_STEPS);
        add("colony", Bench::Colony(ColonyArgs::for_book(regions, steps)), regions, None, steps);
        let options = format!("--sweep --preset paper --groups {SWEEP_GROUPS}");
        let steps = nodes.saturating_mul(SWEEP_STEPS);
        let args = ColonyArgs::parameters_for_book(regions, steps, SWEEP_GROUPS);
        add("colony_sweep", Bench::Colony(args), regions, Some(&options), steps);
    }
    if !shaders.is_empty() {
        let bench = Bench::Passes(PassesArgs::for_book(shaders, nodes));
        add("passes", bench, shaders, Some("--generated"), nodes);
    }
    experiments
}

impl Bench {
    fn name(&self) -> &'static str {
        match self {
            Bench::Minreg(_) => "minreg",
            Bench::Occupancy(_) => "occupancy",
            Bench::Colony(_) => "colony",
            Bench::Pack(_) => "pack",
            Bench::Passes(_) => "passes",
        }
    }

    fn measure(&self, command: &str) -> Result<Form, Failure> {
        match self {
            Bench::Minreg(args) => Form::new(&minreg::measure(args)?, command),
            Bench::Occupancy(args) => Form::new(&occupancy::measure(args)?, command),
            Bench::Colony(args) if args.is_sweep() => Form::new(&colony::measure_parameters(args)?, command),
            Bench::Colony(args) => Form::new(&colony::measure(args)?, command),
            Bench::Pack(args) => Form::new(&pack::measure(args)?, command),
            Bench::Passes(args) => Form::new(&passes::measure(args)?, command),
        }
    }
}

/// The results of all experiments, in three forms.
#[derive(Default)]
struct Results {
    json: Map<String, Value>,
    texts: Vec<String>,
    chapters: Vec<Chapter>,
}

impl Results {
    /// Run an experiment.
    fn add(&mut self, experiment: &Experiment) -> Result<(), Failure> {
        let Experiment { name, bench, words } = experiment;
        let command = command_line(words.iter().cloned());
        match bench.measure(&command) {
            Ok(Form { json, text, mut chapter }) => {
                chapter.id = name;
                self.json.insert((*name).to_string(), json);
                self.texts.push(format!("$ {command}\n\n{text}"));
                self.chapters.push(chapter);
            }
            // The other experiments may still have something to measure.
            Err(Failure::Nothing(reason)) => {
                self.texts.push(format!("$ {command}\n\nnothing to measure: {reason}"));
            }
            Err(failure) => return Err(failure),
        }
        Ok(())
    }
}

/// A result in three forms.
struct Form {
    json: Value,
    text: String,
    chapter: Chapter,
}

impl Form {
    fn new(found: &impl Findings, command: &str) -> Result<Form, Failure> {
        let json = serde_json::to_value(found)
            .map_err(|error| Failure::Message(format!("the result cannot be written as JSON: {error}")))?;
        Ok(Form { json, text: found.text(), chapter: found.chapter(command.to_string()) })
    }
}

/// The input, by kind.
#[derive(Default)]
struct Files {
    regions: Vec<PathBuf>,
    /// Region files whose kernels were all compiled for a target that packs.
    packing: Vec<PathBuf>,
    shaders: Vec<PathBuf>,
}

impl Files {
    /// Sort files by kind. A folder whose files are all of one kind stays a folder: commands stay short, and
    /// hold when files are added.
    fn sort(paths: &[PathBuf]) -> Result<Files, Failure> {
        let mut files = Files::default();
        for path in paths {
            let inside = expand(std::slice::from_ref(path))?;
            let mut own = Files::default();
            for file in &inside {
                own.add(file)?;
            }
            for (all, own) in [
                (&mut files.regions, own.regions),
                (&mut files.packing, own.packing),
                (&mut files.shaders, own.shaders),
            ] {
                match own.len() == inside.len() {
                    true => all.push(path.clone()),
                    false => all.extend(own),
                }
            }
        }
        Ok(files)
    }

    fn add(&mut self, file: &Path) -> Result<(), Failure> {
        if ShaderLanguage::of(file).is_some() {
            self.shaders.push(file.to_path_buf());
            return Ok(());
        }
        if file == Path::new("-") {
            return Err(Failure::Message(
                "every benchmark reads its input again: pass files instead of -".to_string(),
            ));
        }
        let names: Vec<String> = packing_targets().map(|target| target.name().to_string()).collect();
        let mut packs = true;
        for_each_kernel(
            &InputArgs::all_of(&[file.to_path_buf()]),
            |kernel| Ok(kernel.target.is_some_and(|target| names.contains(&target))),
            |does| {
                packs &= does;
                Ok(())
            },
        )?;
        if packs {
            self.packing.push(file.to_path_buf());
        }
        self.regions.push(file.to_path_buf());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::BenchCommand;

    #[derive(Parser)]
    struct CommandLine {
        #[command(subcommand)]
        bench: BenchCommand,
    }

    fn parse(words: &[String]) -> Bench {
        assert_eq!(words[0], "bench");
        match CommandLine::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}")).bench {
            BenchCommand::Minreg(args) => Bench::Minreg(args),
            BenchCommand::Occupancy(args) => Bench::Occupancy(args),
            BenchCommand::Colony(args) => Bench::Colony(args),
            BenchCommand::Pack(args) => Bench::Pack(args),
            BenchCommand::Passes(args) => Bench::Passes(args),
            BenchCommand::All(_)
            | BenchCommand::Budget(_)
            | BenchCommand::Latencies(_)
            | BenchCommand::Simulate(_) => {
                panic!("{words:?}")
            }
        }
    }

    #[test]
    fn printed_commands_have_the_arguments_of_their_experiments() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = Files {
            regions: files(&["a.jsonl", "folder/b c.jsonl.gz"]),
            packing: files(&["folder/b c.jsonl.gz"]),
            shaders: files(&["shaders"]),
        };
        for (files, expected) in [
            (all, vec!["minreg", "occupancy", "pack_generated", "pack", "colony", "colony_sweep", "passes"]),
            (Files::default(), vec!["minreg", "pack_generated"]),
        ] {
            let experiments = experiments(&files, 2000);
            assert_eq!(experiments.iter().map(|one| one.name).collect::<Vec<_>>(), expected);
            for experiment in experiments {
                assert_eq!(parse(&experiment.words), experiment.bench, "{}", experiment.name);
            }
        }
    }
}
