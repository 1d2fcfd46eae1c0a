//! `lowtide convert`: region files in Lowtide's own format, as lines or as Parquet, or DOT graphs.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use lowtide::region::Kernel;
use lowtide_io::{KernelFileWriter, LineWriter, dot, format_line};
use lowtide_tool::Failure;
use lowtide_tool::args::InputArgs;
use lowtide_tool::input::for_each_kernel;

/// The arguments of `lowtide convert`.
#[derive(clap::Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Convert only regions of this name
    #[arg(long, value_name = "NAME")]
    region: Option<String>,

    /// Write this format [default: by the extension of the output file, or regions]
    #[arg(long, value_enum)]
    format: Option<FormatArg>,

    /// Write to FILE (.jsonl, .jsonl.gz, .parquet or .dot), or to the standard output (-)
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// Lowtide's own region format
    Regions,
    /// The same as a table with nested columns, one row for each kernel
    Parquet,
    /// Dependence graphs for Graphviz
    Dot,
}

pub(crate) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let fail = |error| Failure::Write { file: args.output.display().to_string(), error };
    let format = args.format.map_or_else(|| by_ending(&args.output), Ok)?;
    let wanted = |name: &str| args.region.as_ref().is_none_or(|region| region == name);
    let mut written = false;
    let missing = |region: &String| Failure::Message(format!("no region is named {region:?}"));
    if format == FormatArg::Parquet {
        let mut output = KernelFileWriter::create(&args.output).map_err(fail)?;
        for_each_kernel(
            &args.input,
            |mut kernel: Kernel| {
                kernel.regions.retain(|region| wanted(region.name()));
                Ok(kernel)
            },
            |kernel| {
                if kernel.regions.is_empty() {
                    return Ok(());
                }
                written = true;
                output.kernel(&kernel).map_err(fail)
            },
        )?;
        return match (written, &args.region) {
            (false, Some(region)) => Err(missing(region)),
            _ => output.finish().map_err(fail),
        };
    }
    let mut output = LineWriter::create(&args.output).map_err(fail)?;
    for_each_kernel(
        &args.input,
        |kernel| {
            let regions = kernel.regions.iter().filter(|region| wanted(region.name()));
            let text = |region| match format {
                FormatArg::Dot => dot(&kernel.name, region),
                _ => format_line(&kernel, region),
            };
            Ok(regions.map(text).collect::<Vec<String>>())
        },
        |lines| {
            written |= !lines.is_empty();
            lines.iter().try_for_each(|line| output.line(line)).map_err(fail)
        },
    )?;
    match (written, &args.region) {
        (false, Some(region)) => Err(missing(region)),
        _ => output.finish().map_err(fail),
    }
}

/// Return the format that the ending of a file stands for. A file without an ending gets regions.
fn by_ending(file: &Path) -> Result<FormatArg, Failure> {
    let unpacked = if file.extension().is_some_and(|ending| ending == "gz") {
        file.with_extension("")
    } else {
        file.into()
    };
    match unpacked.extension().map(|ending| ending.to_string_lossy()).as_deref() {
        None | Some("jsonl") => Ok(FormatArg::Regions),
        Some("parquet") => Ok(FormatArg::Parquet),
        Some("dot") => Ok(FormatArg::Dot),
        Some(ending) => Err(Failure::Message(format!(
            "{}: .{ending} stands for no format: write .jsonl, .jsonl.gz, .parquet or .dot, or choose one with --format",
            file.display()
        ))),
    }
}
