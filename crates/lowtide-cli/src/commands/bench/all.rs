//! `lowtide bench all`: the experiment book.
//!
//! It runs the other benchmarks by their own command lines, which are printed with what they find: whoever runs one of
//! them gets the same.

use std::path::{Path, PathBuf};

use clap::Parser;
use lowtide::pack::PackModel;
use lowtide::target::Target;
use lowtide_io::ShaderLanguage;
use serde_json::{Map, Value};

use super::{Findings, colony, minreg, multipass, occupancy, pack};
use crate::args::{Args, BenchAllArgs, BenchCommand, Command, InputArgs};
use crate::book::{Book, Chapter};
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::input::{expand, for_each_kernel};
use crate::report::command_line;

pub(crate) fn all(args: &BenchAllArgs) -> Result<(), Failure> {
    args.book.check()?;
    let files = Files::sort(&args.files)?;
    let mut results = Results::default();
    let mut add = |name: &'static str, bench: &str, paths: &[String], option: &[&str]| {
        let mut words = vec!["bench".to_string(), bench.to_string()];
        words.extend(paths.iter().cloned());
        words.extend(option.iter().map(ToString::to_string));
        let nodes = args.nodes.saturating_mul(steps(bench));
        words.extend(["--nodes".to_string(), nodes.to_string()]);
        results.add(name, words)
    };
    add("minreg", "minreg", &files.regions, &["--families"])?;
    let has_regions = !files.regions.is_empty();
    if has_regions {
        add("occupancy", "occupancy", &files.regions, &[])?;
    }
    add("pack_generated", "pack", &[], &["--generated"])?;
    if !files.packing.is_empty() {
        add("pack", "pack", &files.packing, &[])?;
    }
    if has_regions {
        add("colony", "colony", &files.regions, &[])?;
    }
    if !files.shaders.is_empty() {
        add("passes", "passes", &files.shaders, &["--generated"])?;
    }
    let Results { json, texts, chapters } = results;
    if args.book.is_asked() {
        Book::new("Lowtide: the experiment book", chapters).write(&args.book)?;
    }
    match args.json {
        true => print_json(&json),
        false => print(&texts.join("\n\n\n")),
    }
}

/// Steps of a benchmark that take about as long as one of the others'.
fn steps(bench: &str) -> u64 {
    match bench {
        "minreg" => 100,
        "colony" => 10,
        _ => 1,
    }
}

/// What the benchmarks found, in three forms.
#[derive(Default)]
struct Results {
    json: Map<String, Value>,
    texts: Vec<String>,
    chapters: Vec<Chapter>,
}

impl Results {
    /// Runs a benchmark by its command line.
    fn add(&mut self, name: &'static str, words: Vec<String>) -> Result<(), Failure> {
        let command = command_line(words.iter().cloned());
        let parsed = Args::try_parse_from(["lowtide".to_string()].into_iter().chain(words))
            .map_err(|error| Failure::Message(format!("{command}: {error}")))?;
        let Command::Bench(bench) = parsed.command else { return Ok(()) };
        let found = match bench {
            BenchCommand::Minreg(args) => minreg::measure(&args).map(|found| Form::new(&found, &command)),
            BenchCommand::Occupancy(args) => {
                occupancy::measure(&args).map(|found| Form::new(&found, &command))
            }
            BenchCommand::Colony(args) => colony::measure(&args).map(|found| Form::new(&found, &command)),
            BenchCommand::Pack(args) => pack::measure(&args).map(|found| Form::new(&found, &command)),
            BenchCommand::Passes(args) => multipass::measure(&args).map(|found| Form::new(&found, &command)),
            BenchCommand::All(_) => return Ok(()),
        };
        match found {
            Ok(form) => {
                let Form { json, text, mut chapter } = form?;
                chapter.id = name;
                self.json.insert(name.to_string(), json);
                self.texts.push(format!("$ {command}\n\n{text}"));
                self.chapters.push(chapter);
            }
            // The others may still have something to measure.
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
        Ok(Form { json, text: found.as_text(), chapter: found.chapter(command.to_string()) })
    }
}

/// The input, by what it is for.
#[derive(Default)]
struct Files {
    regions: Vec<String>,
    /// Those of the region files that were made for a target that packs.
    packing: Vec<String>,
    shaders: Vec<String>,
}

impl Files {
    /// Folders stay what they are, if all that is in them is for the same; so commands stay short, and hold when files are added.
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
                    true => all.push(path.display().to_string()),
                    false => all.extend(own),
                }
            }
        }
        Ok(files)
    }

    fn add(&mut self, file: &Path) -> Result<(), Failure> {
        let name = file.display().to_string();
        if ShaderLanguage::of(file).is_some() {
            self.shaders.push(name);
            return Ok(());
        }
        if file == Path::new("-") {
            return Err(Failure::Message(
                "every benchmark reads its input anew: give files, not -".to_string(),
            ));
        }
        let packing: Vec<Target> = Target::all_builtin()
            .filter(|target| PackModel::of(target).is_ok_and(|model| model.is_some()))
            .collect();
        let input = InputArgs { files: vec![file.to_path_buf()], kernel: None };
        let mut packs = true;
        for_each_kernel(
            &input,
            |kernel| Ok(packing.iter().any(|target| kernel.target.as_deref() == Some(target.name()))),
            |does| {
                packs &= does;
                Ok(())
            },
        )?;
        if packs {
            self.packing.push(name.clone());
        }
        self.regions.push(name);
        Ok(())
    }
}
