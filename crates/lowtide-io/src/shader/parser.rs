//! The call of naga, on a large stack, and the kernels made from its result.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::thread;

use lowtide::region::Kernel;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

use super::places::Places;
use super::{MOST_BYTES, ShaderLanguage, constants, lower, nesting, preprocess};
use crate::ReadError;

/// Parser and validator recurse on nested code, with up to 50 kB for each level.
const STACK: usize = 512 << 20;

thread_local! {
    /// Whether a panic of this thread is caught and becomes an error.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Read the kernels of a shader, as [`super::parse_shader`].
pub(super) fn parse(language: ShaderLanguage, bytes: &[u8], name: &str) -> Result<Vec<Kernel>, ReadError> {
    let fail = |line: Option<u32>, message: String| ReadError {
        file: name.to_string(),
        line: line.map(u64::from),
        message: message.trim_end().replace('\n', " "),
    };
    if bytes.len() > MOST_BYTES {
        return Err(fail(None, format!("is too large: a shader has at most {MOST_BYTES} bytes")));
    }
    quiet_panics();
    let read = || {
        IS_QUIET.set(true);
        parse_on_this_stack(language, bytes, name).map_err(|(line, message)| fail(line, message))
    };
    thread::scope(|scope| match thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read) {
        Ok(reader) => reader
            .join()
            .unwrap_or_else(|panic| Err(fail(None, format!("internal error: {}", message_of(&*panic))))),
        Err(error) => {
            Err(fail(None, format!("cannot be read: a thread with a stack of {STACK} bytes: {error}")))
        }
    })
}

/// Do not print panics of the threads that read shaders, whose panics become errors. Other panics are printed
/// as before.
fn quiet_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                before(info);
            }
        }));
    });
}

/// Return the message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_string())
}

/// A line, if known, and a message.
type Fault = (Option<u32>, String);

fn parse_on_this_stack(language: ShaderLanguage, bytes: &[u8], name: &str) -> Result<Vec<Kernel>, Fault> {
    let source = match language {
        ShaderLanguage::SpirV => "",
        _ => std::str::from_utf8(bytes).map_err(|_| (None, "is not text in UTF-8".to_string()))?,
    };
    let line_of = |place: Option<(u32, u32)>| place.map(|(line, _)| line);
    let expanded =
        match language {
            ShaderLanguage::Wgsl | ShaderLanguage::SpirV => None,
            _ => Some(preprocess::preprocess(source).map_err(|fault| {
                (line_of(Places::new(source, None).of_source(fault.offset)), fault.message)
            })?),
        };
    let places = Places::new(source, expanded);
    let is_wgsl = language == ShaderLanguage::Wgsl;
    let beyond_limits = match language {
        ShaderLanguage::SpirV => nesting::too_large(bytes).map(|message| (None, message)),
        _ => nesting::too_deep(places.text(), is_wgsl)
            .or_else(|| constants::too_large(places.text(), is_wgsl))
            .map(|(offset, message)| (line_of(places.of_text(offset)), message)),
    };
    if let Some(fault) = beyond_limits {
        return Err(fault);
    }
    // The parser trusts SPIR-V to be well-formed, and panics where it is not.
    let (module, info) = catch_unwind(AssertUnwindSafe(|| checked_module(language, &places, bytes)))
        .unwrap_or_else(|panic| {
            Err((None, format!("is damaged: the parser failed: {}", message_of(&*panic))))
        })?;
    if module.entry_points.is_empty() {
        return Err((None, "has no entry point".to_string()));
    }
    let mut kernels = Vec::new();
    for (number, point) in module.entry_points.iter().enumerate() {
        let code = lower::Lower::entry(&module, &info, number, &places).map_err(|fault| {
            (line_of(fault.place), format!("entry point {:?}: {}", point.name, fault.message))
        })?;
        let regions = code.regions().map_err(|error| {
            (None, format!("entry point {:?} does not make a valid region: {error}", point.name))
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
        return Err((None, "has no operation: its entry points only pass on their inputs".to_string()));
    }
    Ok(kernels)
}

/// Parse and validate a shader.
fn checked_module(
    language: ShaderLanguage,
    places: &Places<'_>,
    bytes: &[u8],
) -> Result<(Module, ModuleInfo), Fault> {
    let module = module(language, places, bytes)?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&module).map_err(|error| {
        let text = places.text();
        let location = if text.is_empty() { None } else { error.location(text) };
        let place = location.and_then(|location| places.of_text(location.offset as usize));
        (place.map(|(line, _)| line), with_causes(error.as_inner()))
    })?;
    Ok((module, info))
}

fn module(language: ShaderLanguage, places: &Places<'_>, bytes: &[u8]) -> Result<Module, Fault> {
    let text = places.text();
    match language {
        ShaderLanguage::Wgsl => naga::front::wgsl::parse_str(text).map_err(|error| {
            let line = error.location(text).map(|location| location.line_number);
            (line, error.message().to_string())
        }),
        ShaderLanguage::GlslVertex => parse_glsl(ShaderStage::Vertex, places),
        ShaderLanguage::GlslFragment => parse_glsl(ShaderStage::Fragment, places),
        ShaderLanguage::GlslCompute => parse_glsl(ShaderStage::Compute, places),
        ShaderLanguage::SpirV => {
            let options = naga::front::spv::Options::default();
            naga::front::spv::parse_u8_slice(bytes, &options).map_err(|error| (None, error.to_string()))
        }
    }
}

fn parse_glsl(stage: ShaderStage, places: &Places<'_>) -> Result<Module, Fault> {
    let options = naga::front::glsl::Options::from(stage);
    naga::front::glsl::Frontend::default().parse(&options, places.text()).map_err(|errors| {
        let Some(error) = errors.errors.first() else { return (None, "cannot be parsed".to_string()) };
        let offset = error.meta.to_range().map(|range| range.start);
        let place = offset.and_then(|offset| places.of_text(offset));
        (place.map(|(line, _)| line), error.kind.to_string())
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
