//! The call of naga, on a large stack, and the kernels made from its result.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use lowtide::region::Kernel;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

use super::{ShaderLanguage, lower, nesting};
use crate::ReadError;

/// Parser and validator recurse on nested code, with up to 50 kB for each level.
const STACK: usize = 512 << 20;

/// Read the kernels of a shader, as [`super::parse_shader`].
pub(super) fn parse(language: ShaderLanguage, bytes: &[u8], name: &str) -> Result<Vec<Kernel>, ReadError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        match builder.spawn_scoped(scope, || parse_on_this_stack(language, bytes, name)) {
            Ok(reader) => reader.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => {
                let message = format!("cannot be read: a thread of {STACK} bytes is needed: {error}");
                Err(ReadError { file: name.to_string(), line: None, message })
            }
        }
    })
}

fn parse_on_this_stack(language: ShaderLanguage, bytes: &[u8], name: &str) -> Result<Vec<Kernel>, ReadError> {
    let fail = |line: Option<u32>, message: String| ReadError {
        file: name.to_string(),
        line: line.map(u64::from),
        message: message.trim_end().replace('\n', " "),
    };
    let text = match language {
        ShaderLanguage::SpirV => "",
        _ => std::str::from_utf8(bytes).map_err(|_| fail(None, "is not text in UTF-8".to_string()))?,
    };
    let too_deep = match language {
        ShaderLanguage::SpirV => nesting::too_many_branches(bytes),
        _ => nesting::too_deep(text, language == ShaderLanguage::Wgsl),
    };
    if let Some((line, message)) = too_deep {
        return Err(fail(line, message));
    }
    // The parser trusts SPIR-V to be well-formed, and panics where it is not.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        let module = module(language, text, bytes).map_err(|(line, message)| fail(line, message))?;
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
        let info = validator.validate(&module).map_err(|error| {
            let location = if text.is_empty() { None } else { error.location(text) };
            let line = location.map(|location| location.line_number);
            fail(line, with_causes(error.as_inner()))
        })?;
        Ok((module, info))
    }));
    let (module, info) =
        parsed.unwrap_or_else(|_| Err(fail(None, "is damaged: the parser failed".to_string())))?;
    if module.entry_points.is_empty() {
        return Err(fail(None, "has no entry point".to_string()));
    }
    let mut kernels = Vec::new();
    for (number, point) in module.entry_points.iter().enumerate() {
        let code = lower::Lower::entry(&module, &info, number, text).map_err(|fault| {
            let line = fault.place.map(|(line, _)| line);
            fail(line, format!("entry point {:?}: {}", point.name, fault.message))
        })?;
        let regions = code.regions().map_err(|error| {
            fail(None, format!("entry point {:?} does not make a valid region: {error}", point.name))
        })?;
        // An entry point that only passes on its inputs has nothing to schedule.
        if !regions.is_empty() {
            kernels.push(Kernel {
                name: point.name.clone(),
                origin: name.to_string(),
                target: None,
                is_entry: true,
                max_occupancy: None,
                regions,
            });
        }
    }
    if kernels.is_empty() {
        return Err(fail(None, "has no operation: its entry points only pass on their inputs".to_string()));
    }
    Ok(kernels)
}

fn module(language: ShaderLanguage, text: &str, bytes: &[u8]) -> Result<Module, (Option<u32>, String)> {
    match language {
        ShaderLanguage::Wgsl => naga::front::wgsl::parse_str(text).map_err(|error| {
            let line = error.location(text).map(|location| location.line_number);
            (line, error.message().to_string())
        }),
        ShaderLanguage::GlslVertex => parse_glsl(ShaderStage::Vertex, text),
        ShaderLanguage::GlslFragment => parse_glsl(ShaderStage::Fragment, text),
        ShaderLanguage::GlslCompute => parse_glsl(ShaderStage::Compute, text),
        ShaderLanguage::SpirV => {
            let options = naga::front::spv::Options::default();
            naga::front::spv::parse_u8_slice(bytes, &options).map_err(|error| (None, error.to_string()))
        }
    }
}

fn parse_glsl(stage: ShaderStage, text: &str) -> Result<Module, (Option<u32>, String)> {
    let options = naga::front::glsl::Options::from(stage);
    naga::front::glsl::Frontend::default().parse(&options, text).map_err(|errors| {
        let Some(error) = errors.errors.first() else { return (None, "cannot be parsed".to_string()) };
        (error.location(text).map(|location| location.line_number), error.kind.to_string())
    })
}

/// Return an error with all its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    message
}
