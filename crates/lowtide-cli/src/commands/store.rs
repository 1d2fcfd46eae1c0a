//! `lowtide store`: the answers that are kept across runs.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use lowtide::session::Counts;
use lowtide::session::record::merged;
use lowtide_store::{Archive, Folder, Place, SECRET_VARIABLE, secret_of, write_archive};
use lowtide_tool::args::StoreArgs;
use lowtide_tool::output::{print, print_json};
use lowtide_tool::table::{counted, grouped, width, wrapped};
use lowtide_tool::{Failure, progress};
use serde::Serialize;

use super::schedule::Work;
use crate::args::WorkArgs;

/// The commands about the store.
#[derive(Subcommand)]
pub(crate) enum StoreCommand {
    /// Print the size of a store, and the hits and misses of its lifetime
    Stats(LookArgs),
    /// Read every entry, and count the damaged ones. The exit code is 0 only if there are none
    Verify(LookArgs),
    /// Remove the entries that were not used for the longest time, and the files of processes that were
    /// killed
    Prune(PruneArgs),
    /// Write all entries to a file
    Export(ExportArgs),
    /// Add the entries of a file of `lowtide store export`
    Import(ImportArgs),
    /// Schedule kernels only to keep the answers
    ///
    /// Example: lowtide store warm --store ~/.cache/lowtide --budget 10ms kernels.jsonl.gz
    Warm(Box<WarmArgs>),
}

/// The store to look at.
#[derive(clap::Args)]
pub(crate) struct LookArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The arguments of `lowtide store prune`.
#[derive(clap::Args)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    look: LookArgs,

    /// Keep at most this size, such as 500M [default: the limit of the store]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    size: Option<u64>,
}

/// The arguments of `lowtide store export`.
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    look: LookArgs,

    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// The arguments of `lowtide store import`.
#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    look: LookArgs,

    /// Read FILE
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The arguments of `lowtide store warm`.
#[derive(clap::Args)]
pub(crate) struct WarmArgs {
    #[command(flatten)]
    work: WorkArgs,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

fn parse_size(text: &str) -> Result<u64, String> {
    lowtide_store::parse_size(text)
        .ok_or_else(|| format!("{text:?} is no size: write bytes, or 512K, 100M, 2G"))
}

pub(crate) fn run(command: &StoreCommand) -> Result<(), Failure> {
    match command {
        StoreCommand::Stats(args) => stats(args),
        StoreCommand::Verify(args) => verify(args),
        StoreCommand::Prune(args) => prune(args),
        StoreCommand::Export(args) => export(args),
        StoreCommand::Import(args) => import(args),
        StoreCommand::Warm(args) => warm(args),
    }
}

/// What a run has found in a store.
#[derive(Clone, Copy, Serialize)]
pub(super) struct StoreCounts {
    /// Questions that the store has answered.
    hits: u64,
    /// Questions that were searched.
    misses: u64,
    /// Entries and records that were ignored.
    ignored: u64,
    /// Records of other writers.
    foreign: u64,
}

impl StoreCounts {
    pub(super) fn new(counts: Counts) -> Self {
        let Counts { hits, misses, ignored, foreign } = counts;
        StoreCounts { hits, misses, ignored, foreign }
    }

    pub(super) fn in_words(&self) -> String {
        let mut text = format!(
            "store:  {} answered, {} searched, {} ignored",
            counted(self.hits, "question"),
            grouped(self.misses),
            grouped(self.ignored)
        );
        if self.foreign > 0 {
            text += &format!(" ({} of other writers)", counted(self.foreign, "record"));
        }
        text
    }
}

/// The folder of the store that the arguments name. Only a folder can be counted and copied.
fn folder(args: &LookArgs) -> Result<Folder, Failure> {
    let message = |text: &str| Failure::Message(text.to_string());
    let place = args.store.place().ok_or_else(|| message("name a store with --store or LOWTIDE_STORE"))?;
    let place: Place = place.parse().map_err(|error| Failure::Message(format!("{error}")))?;
    let path =
        place.folder().ok_or_else(|| message("a server cannot be looked at: name a folder with --store"))?;
    if !path.join("v1").is_dir() {
        return Err(Failure::Message(format!("there is no store in {}", path.display())));
    }
    let secret = std::env::var(SECRET_VARIABLE).ok().filter(|text| !text.is_empty());
    let folder = place.open_folder(secret.map(|text| secret_of(&text)));
    let folder = folder.map_err(|error| Failure::Message(error.to_string()))?;
    folder.ok_or_else(|| message("a server cannot be looked at: name a folder with --store"))
}

/// Run work on the 256 parts of a folder with a bar.
fn with_bar<T>(work: impl FnOnce(&mut dyn FnMut(usize)) -> T) -> T {
    let bar = progress::bar(256, "{bar:40} {percent}%, {elapsed}");
    let result = work(&mut |part| bar.set_position(part as u64));
    bar.finish_and_clear();
    result
}

#[derive(Serialize)]
struct Stats {
    entries: u64,
    bytes: u64,
    limit: u64,
    #[serde(flatten)]
    counts: StoreCounts,
}

fn stats(args: &LookArgs) -> Result<(), Failure> {
    let folder = folder(args)?;
    let (entries, bytes) = folder.size();
    let stats = Stats { entries, bytes, limit: folder.limit(), counts: StoreCounts::new(folder.lifetime()) };
    if args.json {
        return print_json(&stats);
    }
    let entries = if entries == 1 { "1 entry".to_string() } else { format!("{} entries", grouped(entries)) };
    let asked = stats.counts.hits + stats.counts.misses;
    print(&wrapped(
        &format!(
            "size:   {entries}, {} bytes of at most {}\n{}\nrate:   {:.1} % of the questions of all runs",
            grouped(bytes),
            grouped(stats.limit),
            stats.counts.in_words(),
            100.0 * stats.counts.hits as f64 / asked.max(1) as f64
        ),
        width(),
    ))
}

#[derive(Serialize)]
struct Verified {
    entries: u64,
    bytes: u64,
    own: u64,
    foreign: u64,
    damaged: u64,
}

fn verify(args: &LookArgs) -> Result<(), Failure> {
    let folder = folder(args)?;
    let summary = with_bar(|tick| folder.summary(tick));
    let lowtide_store::Summary { entries, bytes, own, foreign, damaged } = summary;
    let verified = Verified { entries, bytes, own, foreign, damaged };
    match args.json {
        true => print_json(&verified)?,
        false => print(&format!(
            "{} entries, {} bytes: {} with the seal of this store, {} of other writers, {} damaged",
            grouped(entries),
            grouped(bytes),
            counted(own, "record"),
            grouped(foreign),
            if damaged == 1 { "1 entry".to_string() } else { format!("{} entries", grouped(damaged)) }
        ))?,
    }
    match damaged {
        0 => Ok(()),
        _ => Err(Failure::Message(
            "damaged entries are ignored, and replaced when their graphs are solved again".to_string(),
        )),
    }
}

#[derive(Serialize)]
struct Changed {
    entries: u64,
    bytes: u64,
}

fn print_change(json: bool, change: &Changed, text: &str) -> Result<(), Failure> {
    match json {
        true => print_json(change),
        false => print(text),
    }
}

fn prune(args: &PruneArgs) -> Result<(), Failure> {
    let folder = folder(&args.look)?;
    let before = folder.size();
    with_bar(|tick| folder.prune(args.size.unwrap_or(folder.limit()), tick));
    let after = folder.size();
    let change =
        Changed { entries: before.0.saturating_sub(after.0), bytes: before.1.saturating_sub(after.1) };
    let text = format!(
        "removed {} of {} entries, {} of {} bytes",
        grouped(change.entries),
        grouped(before.0),
        grouped(change.bytes),
        grouped(before.1)
    );
    print_change(args.look.json, &change, &text)
}

fn export(args: &ExportArgs) -> Result<(), Failure> {
    let folder = folder(&args.look)?;
    let fail = |error| Failure::Write { file: args.output.display().to_string(), error };
    // Written beside the file and renamed, so that nobody reads a part of it.
    let part = args.output.with_extension("part");
    let write = || -> std::io::Result<u64> {
        let mut output = BufWriter::new(File::create(&part)?);
        let entries = with_bar(|tick| write_archive(&folder, &mut output, tick))?;
        output.flush()?;
        std::fs::rename(&part, &args.output)?;
        Ok(entries)
    };
    let entries = write().map_err(|error| {
        std::fs::remove_file(&part).ok();
        fail(error)
    })?;
    let bytes = std::fs::metadata(&args.output).map_err(fail)?.len();
    let text = format!("{} entries, {} bytes", grouped(entries), grouped(bytes));
    print_change(args.look.json, &Changed { entries, bytes }, &text)
}

fn import(args: &ImportArgs) -> Result<(), Failure> {
    let place = args.look.store.place();
    let place =
        place.ok_or_else(|| Failure::Message("name a store with --store or LOWTIDE_STORE".to_string()))?;
    let store = lowtide_store::open(&place).map_err(|error| Failure::Message(error.to_string()))?;
    let in_file =
        |path: &Path, error: &dyn std::fmt::Display| Failure::Message(format!("{}: {error}", path.display()));
    let file = File::open(&args.file).map_err(|error| in_file(&args.file, &error))?;
    let total = file.metadata().map_or(0, |data| data.len());
    let bar = progress::bar(total, "{bar:40} {percent}% of {total_bytes}, {elapsed}");
    let mut change = Changed { entries: 0, bytes: 0 };
    for entry in Archive::new(BufReader::new(file)).map_err(|error| in_file(&args.file, &error))? {
        let (key, bytes) = entry.map_err(|error| in_file(&args.file, &error))?;
        let old = store.get(&key).unwrap_or_default();
        let new = merged(&key, &old, &bytes, store.secret().as_ref());
        if new != old {
            store.put(&key, &new);
            change.entries += 1;
            change.bytes += new.len() as u64;
        }
        bar.inc(36 + bytes.len() as u64);
    }
    bar.finish_and_clear();
    let text = format!("{} new or changed entries, {} bytes", grouped(change.entries), grouped(change.bytes));
    print_change(args.look.json, &change, &text)
}

fn warm(args: &WarmArgs) -> Result<(), Failure> {
    if args.work.store.place().is_none() {
        return Err(Failure::Message("name a store with --store or LOWTIDE_STORE".to_string()));
    }
    let work = Work::new(&args.work, false, false)?;
    let mut kernels = 0;
    work.for_each_kernel(
        &args.work,
        |_, _, _, _| Ok(()),
        |()| {
            kernels += 1;
            Ok(())
        },
    )?;
    let Some(counts) = work.store_counts() else { return Ok(()) };
    match args.json {
        true => print_json(&counts),
        false => print(&wrapped(&format!("{}\n{}", counted(kernels, "kernel"), counts.in_words()), width())),
    }
}
