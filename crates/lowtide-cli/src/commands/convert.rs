//! `lowtide convert`: other formats in, the project's own or DOT out.

use lowtide_io::{LineWriter, dot, format_line};

use crate::args::{ConvertArgs, FormatArg};
use crate::failure::Failure;
use crate::input::for_each_kernel;

pub(crate) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let fail = |error| Failure::Write { file: args.output.display().to_string(), error };
    let by_ending = match args.output.extension().is_some_and(|ending| ending == "dot") {
        true => FormatArg::Dot,
        false => FormatArg::Regions,
    };
    let format = args.format.unwrap_or(by_ending);
    let mut output = LineWriter::create(&args.output).map_err(fail)?;
    let mut written = false;
    for_each_kernel(
        &args.input,
        |kernel| {
            let wanted = |name: &str| args.region.as_ref().is_none_or(|region| region == name);
            let regions = kernel.regions.iter().filter(|region| wanted(region.name()));
            let text = |region| match format {
                FormatArg::Regions => format_line(&kernel, region),
                FormatArg::Dot => dot(&kernel.name, region),
            };
            Ok(regions.map(text).collect::<Vec<String>>())
        },
        |lines| {
            written |= !lines.is_empty();
            lines.iter().try_for_each(|line| output.line(line)).map_err(fail)
        },
    )?;
    match (written, &args.region) {
        (false, Some(region)) => Err(Failure::Message(format!("no region is named {region:?}"))),
        _ => output.finish().map_err(fail),
    }
}
