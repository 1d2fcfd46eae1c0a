//! Shaders as kernels: WGSL, GLSL and SPIR-V, read by naga.
//!
//! Every entry point becomes a kernel, and every straight-line block a region. Functions are inlined; control
//! flow, barriers and written memory are boundaries or dependences. Vector operations stay vector operations,
//! with one lane for each component.
//!
//! Inputs are live at the start, in register classes of their own: `interpolant`, `attribute`, `builtin`,
//! `uniform` and `constant`. Results have class `reg`. The name of a result contains the place of its
//! operation: `r12@7:5` is line 7, column 5. See `docs/shaders.md`.
//!
//! The feature `shaders` contains the parser. Without the feature, every shader is refused with an error that
//! names the feature.

#[cfg(feature = "shaders")]
mod code;
#[cfg(feature = "shaders")]
mod constants;
#[cfg(feature = "shaders")]
mod lower;
#[cfg(feature = "shaders")]
mod math;
#[cfg(feature = "shaders")]
mod nesting;
#[cfg(feature = "shaders")]
mod parser;
#[cfg(feature = "shaders")]
mod places;
#[cfg(feature = "shaders")]
mod preprocess;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use lowtide::region::Kernel;
use lowtide::{InstrId, region::Region};

use crate::ReadError;

/// The shader languages, by the file extension.
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
    /// Return the language of a file. `None` if it is no shader.
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

/// The most bytes of a shader, and of its text after macros are expanded.
const MOST_BYTES: usize = 4 << 20;

/// Read the kernels of a shader file, one for each entry point.
pub fn read_shader(path: &Path) -> Result<Vec<Kernel>, ReadError> {
    let name = path.display().to_string();
    let fail = |message: String| ReadError { file: name.clone(), line: None, message };
    let Some(language) = ShaderLanguage::of(path) else {
        return Err(fail(
            "is no shader: the supported extensions are .wgsl, .spv, .vert, .frag and .comp".to_string(),
        ));
    };
    let mut bytes = Vec::new();
    // One byte over the limit is enough for the error.
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| fail(format!("cannot be read: {error}")))?;
    parse_shader(language, &bytes, &name)
}

/// Read the kernels of a shader. `name` is for messages, and becomes the origin of the kernels.
///
/// ```
/// # #[cfg(feature = "shaders")] {
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
/// # }
/// # Ok::<(), lowtide_io::ReadError>(())
/// ```
pub fn parse_shader(language: ShaderLanguage, bytes: &[u8], name: &str) -> Result<Vec<Kernel>, ReadError> {
    #[cfg(feature = "shaders")]
    return parser::parse(language, bytes, name);
    #[cfg(not(feature = "shaders"))]
    {
        let _ = (language, bytes);
        let message =
            "is a shader, but this build has no shader support: build Lowtide with the feature `shaders`";
        Err(ReadError { file: name.to_string(), line: None, message: message.to_string() })
    }
}

/// Return line and column of the operation in its shader, counted from 1, if known.
pub fn shader_place(region: &Region, instr: InstrId) -> Option<(u32, u32)> {
    let def = region.defs(instr).first()?;
    let (_, place) = region.register_name(def.operand.register).rsplit_once('@')?;
    let (line, column) = place.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}
