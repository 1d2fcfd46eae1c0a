//! The preprocessor of GLSL: directives, conditions and macros, within limits.
//!
//! The parser of naga expands macros without a limit, so that a few lines can ask for gigabytes. The parser
//! therefore gets text without macros. Each step of the expansion is counted, and the number of tokens, the
//! size of the text and the nesting of calls are limited.
//!
//! 1. `clean` joins continued lines and removes comments.
//! 2. `tokens` cuts the clean text into tokens and follows the directives.
//! 3. `macros` expands the tokens. `condition` evaluates the expressions of `#if`.
//! 4. [`preprocess`] writes the expanded tokens. [`Expanded::offset`] finds the place of each in the source.
//!
//! Where the standard leaves a choice, the expansion is that of the parser's own preprocessor.

mod clean;
mod condition;
mod macros;
mod tokens;

use std::fmt::Write;

use macros::Expander;
use tokens::{Kind, Tokens};

use super::MOST_BYTES;

/// The most tokens after expansion.
const MOST_TOKENS: usize = 1 << 20;
/// The most steps of an expansion: tokens that are read, copied or skipped.
const MOST_STEPS: usize = 1 << 22;
/// The most levels of macro calls within arguments, and of brackets in a condition.
const MOST_LEVELS: usize = 100;

/// An error at a place of the source.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) message: String,
}

/// A shader without macros and comments.
#[derive(Debug)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// The start of each token in the text, and its start in the source.
    places: Vec<(u32, u32)>,
}

impl Expanded {
    /// Return the offset in the source of an offset in the text. A token of a macro has the place of its
    /// definition.
    pub(super) fn offset(&self, offset: usize) -> usize {
        let after = self.places.partition_point(|(start, _)| *start as usize <= offset);
        let Some((start, source)) = after.checked_sub(1).and_then(|at| self.places.get(at)) else { return 0 };
        // White space after a token belongs to the token.
        offset - *start as usize + *source as usize
    }
}

/// Return the text without macros, or an error at its place in the source.
pub(super) fn preprocess(source: &str) -> Result<Expanded, Fault> {
    let clean = clean::clean(source);
    let mut tokens = Tokens::new(&clean);
    let mut expander = Expander::of_file();
    let mut result = Expanded { text: String::new(), places: Vec::new() };
    let mut last_end = None;
    while let Some(token) = expander.next_expanded(&mut tokens)? {
        let offset = clean.offset(token.start);
        if result.places.len() >= MOST_TOKENS || result.text.len() > MOST_BYTES {
            let message =
                format!("macros expand to more than {MOST_TOKENS} tokens or {MOST_BYTES} bytes of text");
            return Err(Fault { offset, message });
        }
        // Tokens that touch in the source may be parts of one operator.
        if last_end != Some(token.start) {
            result.text.push(' ');
        }
        if token.kind == Kind::Directive {
            result.text.push('\n');
        }
        result.places.push((result.text.len() as u32, offset as u32));
        match token.kind {
            // The number of a line, which is unsigned. Writing to a string does not fail.
            Kind::Value(value) => _ = write!(result.text, "{}u", value.clamp(0, u32::MAX.into())),
            _ => result.text.push_str(clean.slice(token)),
        }
        last_end = Some(token.end);
        if token.kind == Kind::Directive {
            result.text.push('\n');
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests;
