//! The size of constants and structures, before a shader is parsed. The parser copies a constant, and goes
//! through a structure, wherever its name stands. Constants made of constants, and structures of structures,
//! can double with each line.

use rustc_hash::FxHashMap;

use super::nesting::comment;

/// The most words and numbers of a shader, with the parts of a constant or structure for each use of its
/// name.
const MOST_PARTS: u64 = 1 << 22;

/// A constant or structure whose declaration is being read.
#[derive(Default)]
struct Declared<'a> {
    is_struct: bool,
    name: Option<&'a [u8]>,
    parts: u64,
    /// The largest word of the current member: its type, which counts again for a second name.
    member: u64,
    /// Open brackets of the declaration.
    depth: usize,
    /// The initial value has begun.
    has_value: bool,
}

/// Return offset and message if the constants or structures of a shader are too large. The count is an upper
/// bound.
pub(super) fn too_large(text: &str, is_wgsl: bool) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    let mut sizes: FxHashMap<&[u8], u64> = FxHashMap::default();
    let mut declared: Option<Declared> = None;
    let mut total = 0u64;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if let Some(comment) = comment(rest, is_wgsl) {
            at += comment;
            continue;
        }
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || !byte.is_ascii();
        let length = rest.iter().take_while(is_part).count();
        let word = &rest[..length];
        if matches!(word, b"const" | b"struct") {
            declared = Some(Declared { is_struct: word == b"struct", ..Declared::default() });
        } else if length > 0 {
            let parts = sizes.get(word).copied().unwrap_or(1);
            total = total.saturating_add(parts);
            if let Some(one) = &mut declared {
                one.parts = one.parts.saturating_add(parts);
                one.member = one.member.max(parts);
                // GLSL has the name of a constant last, and sizes of arrays after it. Other names come first.
                let is_name = match is_wgsl || one.is_struct {
                    true => one.name.is_none(),
                    false => !one.has_value && one.depth == 0,
                };
                one.name = if is_name { Some(word) } else { one.name };
            }
        } else if let Some(mut one) = declared.take() {
            let is_next = rest[0] == b',' && one.depth == 0 && one.has_value && !is_wgsl && !one.is_struct;
            match rest[0] {
                b'(' | b'[' | b'{' => one.depth += 1,
                b')' | b']' | b'}' => one.depth = one.depth.saturating_sub(1),
                b'=' => one.has_value = true,
                b',' if one.is_struct && !is_wgsl => {
                    one.parts = one.parts.saturating_add(one.member);
                    total = total.saturating_add(one.member);
                }
                _ => {}
            }
            if matches!(rest[0], b';' | b'{') {
                one.member = 0;
            }
            let is_end = match one.is_struct {
                true => rest[0] == b'}' && one.depth == 0,
                false => rest[0] == b';',
            };
            if is_next || is_end {
                if let Some(name) = one.name {
                    let size = sizes.entry(name).or_default();
                    *size = (*size).max(one.parts);
                }
                one = Declared::default();
            }
            // A body begins after a parameter that is constant.
            let is_over = is_end || rest[0] == b'{' && !one.has_value && !one.is_struct;
            declared = (!is_over).then_some(one);
        }
        if total > MOST_PARTS {
            let message =
                format!("constants and structures have more than {MOST_PARTS} parts, counted for each use");
            return Some((at, message));
        }
        at += length.max(1);
    }
    None
}
