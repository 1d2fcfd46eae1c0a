//! Shaders as kernels: WGSL, GLSL and SPIR-V, read by naga.
//!
//! Every entry point becomes a kernel, every straight-line block a region: functions are put where they are called, and control flow,
//! barriers and memory that is written are boundaries or dependences. Vector operations stay vector operations, with one lane
//! for each component. Inputs are live at the start, in register classes of their own: `interpolant`, `attribute`,
//! `builtin`, `uniform` and `constant`; what the shader computes is of class `reg`. The name of such a register
//! says where the operation stands that writes it: `r12@7:5` is line 7, column 5. See `docs/shaders.md`.

mod code;
mod lower;
mod math;
mod nesting;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::thread;

use lowtide::region::Kernel;
use lowtide::{InstrId, region::Region};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

use crate::ReadError;

/// The parser and the validator recurse on what is nested, with up to 50 kB for each level.
const STACK: usize = 512 << 20;

/// The languages, by the ending of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShaderLanguage {
    /// `.wgsl`
    Wgsl,
    /// `.spv`
    SpirV,
    /// `.vert`
    GlslVertex,
    /// `.frag`
    GlslFragment,
    /// `.comp`
    GlslCompute,
}

impl ShaderLanguage {
    /// The language of a file; none if it is no shader.
    pub fn of(path: &Path) -> Option<ShaderLanguage> {
        match path.extension()?.to_str()? {
            "wgsl" => Some(ShaderLanguage::Wgsl),
            "spv" => Some(ShaderLanguage::SpirV),
            "vert" => Some(ShaderLanguage::GlslVertex),
            "frag" => Some(ShaderLanguage::GlslFragment),
            "comp" => Some(ShaderLanguage::GlslCompute),
            _ => None,
        }
    }
}

/// Reads the kernels of a shader file, one for each entry point.
pub fn read_shader(path: &Path) -> Result<Vec<Kernel>, ReadError> {
    let name = path.display().to_string();
    let fail = |message: String| ReadError { file: name.clone(), line: None, message };
    let Some(language) = ShaderLanguage::of(path) else {
        return Err(fail("is no shader: known endings are .wgsl, .spv, .vert, .frag and .comp".to_string()));
    };
    let bytes = std::fs::read(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
    parse_shader(language, &bytes, &name)
}

/// Reads the kernels of a shader; `name` is for messages, and the origin of the kernels.
///
/// ```
/// use lowtide_io::{ShaderLanguage, parse_shader};
///
/// let source = "
/// @fragment fn shade(@location(0) normal: vec3f) -> @location(0) vec4f {
///     let n = normalize(normal);
///     return vec4f(0.5 * n + 0.5, 1.0);
/// }";
/// let kernels = parse_shader(ShaderLanguage::Wgsl, source.as_bytes(), "example.wgsl")?;
/// let region = &kernels[0].regions[0];
/// let opcodes: Vec<&str> = region.instrs().map(|instr| region.opcode(instr)).collect();
/// assert_eq!(opcodes, ["dp3", "rsq", "mul", "mad"]);
/// # Ok::<(), lowtide_io::ReadError>(())
/// ```
pub fn parse_shader(language: ShaderLanguage, bytes: &[u8], name: &str) -> Result<Vec<Kernel>, ReadError> {
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
        let module = parse(language, text, bytes).map_err(|(line, message)| fail(line, message))?;
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
        let info = validator.validate(&module).map_err(|error| {
            let location = if text.is_empty() { None } else { error.location(text) };
            let line = location.map(|location| location.line_number);
            fail(line, with_causes(error.as_inner()))
        })?;
        Ok((module, info))
    }));
    let (module, info) = parsed
        .unwrap_or_else(|_| Err(fail(None, "is damaged: the parser cannot make sense of it".to_string())))?;
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
        // What only hands its inputs on has nothing to schedule.
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
        return Err(fail(None, "has no operation: its entry points only hand on their inputs".to_string()));
    }
    Ok(kernels)
}

/// Line and column, counted from 1, of the operation in its shader, if known.
pub fn shader_place(region: &Region, instr: InstrId) -> Option<(u32, u32)> {
    let def = region.defs(instr).first()?;
    let (_, place) = region.register_name(def.operand.register).rsplit_once('@')?;
    let (line, column) = place.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

fn parse(language: ShaderLanguage, text: &str, bytes: &[u8]) -> Result<Module, (Option<u32>, String)> {
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

/// An error with all that led to it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    message
}
