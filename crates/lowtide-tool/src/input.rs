//! Kernels from files, with a progress bar, and the targets to schedule them for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::ProgressBar;
use lowtide::multipass::PassModel;
use lowtide::pack::PackModel;
use lowtide::region::Kernel;
use lowtide::simulate::Machine;
use lowtide::target::{Latencies, Target, TargetError};
use lowtide_io::{KernelReader, ReadError, ShaderLanguage, read_shader};
use rayon::prelude::*;

use crate::args::{InputArgs, TargetArgs};
use crate::{Failure, names, progress};

/// The instructions of a group of kernels that are in memory at the same time: enough work for all cores.
const GROUP: usize = 50_000;

/// Read all kernels of the input, call `work` on each (several at a time), and `collect` on the results in
/// the order of the input.
pub fn for_each_kernel<T: Send>(
    input: &InputArgs,
    work: impl Fn(Kernel) -> Result<T, Failure> + Sync,
    mut collect: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let files = expand(&input.files)?;
    let progress = Progress::new(&files);
    let mut group = Vec::new();
    let mut size = 0;
    let mut flush = |group: &mut Vec<Kernel>, size: &mut usize| {
        let done = AtomicU64::new(0);
        let all = group.len() as u64;
        let results: Vec<Result<T, Failure>> = (group.par_drain(..).map(&work))
            .inspect(|_| progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, all))
            .collect();
        progress.end_group();
        *size = 0;
        for result in results {
            collect(result?)?;
        }
        Ok::<(), Failure>(())
    };
    let mut found = false;
    for file in &files {
        for kernel in progress.open(file)? {
            let kernel = kernel?;
            if input.kernel.as_ref().is_some_and(|text| !names::contains(&kernel.name, text)) {
                continue;
            }
            found = true;
            size += kernel.instr_count();
            group.push(kernel);
            if size >= GROUP {
                flush(&mut group, &mut size)?;
            }
        }
    }
    flush(&mut group, &mut size)?;
    if let (false, Some(text)) = (found, &input.kernel) {
        return Err(Failure::Message(format!("no kernel has {text:?} in its name")));
    }
    progress.bar.finish_and_clear();
    Ok(())
}

/// The endings of region files.
const REGION_FILES: [&str; 3] = [".jsonl", ".jsonl.gz", ".parquet"];

/// Return the files of a list. A folder stands for the region files and shaders in it. Only regular files of
/// a folder count, also behind symbolic links: a pipe without a writer would block the reader.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let fail = |error: std::io::Error| ReadError {
            file: path.display().to_string(),
            line: None,
            message: format!("cannot be read: {error}"),
        };
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(fail)? {
            let entry = entry.map_err(fail)?.path();
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            let is_region_file = REGION_FILES.iter().any(|ending| name.ends_with(ending));
            // A file that cannot be looked at is an error of the reader.
            let is_regular = entry.metadata().map_or(true, |data| data.is_file());
            if is_regular && (is_region_file || ShaderLanguage::of(&entry).is_some()) {
                inside.push(entry);
            }
        }
        if inside.is_empty() {
            return Err(Failure::Message(format!(
                "{}: no region files (*.jsonl, *.jsonl.gz, *.parquet) and no shaders in this folder",
                path.display()
            )));
        }
        inside.sort();
        files.append(&mut inside);
    }
    Ok(files)
}

/// A bar that shows the share of the input that has been processed.
struct Progress {
    bar: ProgressBar,
    read: Arc<AtomicU64>,
    /// Bytes of the groups that are done.
    done: AtomicU64,
    /// The largest position so far: threads finish in any order, and the bar never goes back.
    furthest: AtomicU64,
}

impl Progress {
    fn new(files: &[PathBuf]) -> Self {
        let total = files.iter().map(|file| file.metadata().map_or(0, |data| data.len())).sum();
        let bar = progress::bar(total, "{bar:40} {percent}% of {total_bytes}, {elapsed}, {eta} left");
        Progress { bar, read: Arc::default(), done: AtomicU64::new(0), furthest: AtomicU64::new(0) }
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Iterator<Item = Result<Kernel, ReadError>>>, ReadError> {
        if ShaderLanguage::of(path).is_some() {
            return Ok(Box::new(read_shader(path)?.into_iter().map(Ok)));
        }
        let threads = rayon::current_num_threads();
        Ok(Box::new(KernelReader::open_counted(path, Arc::clone(&self.read), threads)?))
    }

    /// Note that `kernels` of the `of` kernels of the current group are done.
    fn update(&self, kernels: u64, of: u64) {
        let (done, read) = (self.done.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed));
        let position = done + (read - done) * kernels / of;
        self.bar.set_position(position.max(self.furthest.fetch_max(position, Ordering::Relaxed)));
    }

    fn end_group(&self) {
        self.done.store(self.read.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The targets of a run: the one of `--target`, or those that the kernels were compiled for.
pub struct Targets {
    asked: Option<Target>,
    builtin: Vec<Target>,
    latencies: Latencies,
}

impl Targets {
    /// Load the target of `--target`. Kernels keep their recorded latencies.
    pub fn new(args: &TargetArgs) -> Result<Self, Failure> {
        let asked = args.target.as_deref().map(load_target).transpose()?;
        Ok(Targets { asked, builtin: Target::all_builtin().collect(), latencies: Latencies::Recorded })
    }

    /// Give kernels these latencies, where their target has a table.
    pub fn with_latencies(mut self, latencies: Latencies) -> Self {
        self.latencies = latencies;
        self
    }

    /// Return all targets that kernels can have.
    pub fn all(&self) -> &[Target] {
        self.asked.as_ref().map_or(&self.builtin, std::slice::from_ref)
    }

    /// Return the latencies of kernels on a target.
    pub fn latencies_on(&self, target: &Target) -> Latencies {
        target.resolve(self.latencies)
    }

    /// Return the kernel with its latencies, and the target to schedule it for.
    pub fn prepare(&self, kernel: Kernel) -> Result<(Kernel, &Target), Failure> {
        let target = self.of(&kernel)?;
        let name = kernel.name.clone();
        let kernel = kernel.with_latencies(self.latencies, target).map_err(|error| {
            Failure::Message(format!(
                "kernel {name:?} with the latencies of {}: {error}; try --latencies recorded",
                target.name()
            ))
        })?;
        Ok((kernel, target))
    }

    /// Return the target to schedule a kernel for.
    pub fn of(&self, kernel: &Kernel) -> Result<&Target, Failure> {
        if let Some(target) = &self.asked {
            return Ok(target);
        }
        let name = kernel.target.as_deref().unwrap_or("generic");
        self.builtin.iter().find(|target| target.name() == name).ok_or_else(|| {
            Failure::Message(format!(
                "kernel {:?} was made for {name:?}, which is not a known target: choose one with --target",
                kernel.name
            ))
        })
    }
}

/// Load a built-in target, or one from a TOML file.
pub fn load_target(name: &str) -> Result<Target, Failure> {
    if let Some(target) = Target::builtin(name) {
        return Ok(target);
    }
    if !name.ends_with(".toml") {
        let known: Vec<String> = Target::all_builtin().map(|target| target.name().to_string()).collect();
        return Err(Failure::Message(format!(
            "unknown target {name:?}: known are {}, or a file that ends in .toml",
            known.join(", ")
        )));
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| Failure::Message(format!("{name}: cannot be read: {error}")))?;
    parse_target(&text).map_err(|error| Failure::Message(format!("{name}: {error}")))
}

/// Parse a target with all its sections, including those that this run does not need.
fn parse_target(text: &str) -> Result<Target, TargetError> {
    let target = Target::parse(text)?;
    PackModel::of(&target)?;
    PassModel::of(&target)?;
    Machine::of(&target)?;
    Ok(target)
}
