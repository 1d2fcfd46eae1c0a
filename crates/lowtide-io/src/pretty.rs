//! JSON with a line for each element, byte for byte as `serde_json::to_string_pretty` writes it.
//!
//! A large result has millions of short lines. Here a line break with its indentation is one copy of bytes,
//! and not one for each level.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Return a value as JSON, indented by two spaces for each level.
pub fn pretty_json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut serializer = Serializer::with_formatter(Text::default(), Indented::default());
    value.serialize(&mut serializer)?;
    Ok(String::from_utf8(serializer.into_inner().0).expect("JSON is UTF-8"))
}

/// The text so far. As a type of this crate, it is compiled here and not in each program.
#[derive(Default)]
struct Text(Vec<u8>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The separator of elements, a line break, and the indentation of the deepest level that is written at once.
const NEXT_LINE: &[u8] = b",\n                                                                ";
const MOST_AT_ONCE: usize = (NEXT_LINE.len() - 2) / 2;

#[derive(Default)]
struct Indented {
    depth: usize,
    has_value: bool,
}

impl Indented {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        self.depth += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.next_line(writer, true)?;
        }
        writer.write_all(bracket)
    }

    /// Begin a line, after a comma unless it has the first or no element.
    fn next_line<W: ?Sized + Write>(&self, writer: &mut W, without_comma: bool) -> Result<()> {
        let at_once = self.depth.min(MOST_AT_ONCE);
        writer.write_all(&NEXT_LINE[usize::from(without_comma)..2 + 2 * at_once])?;
        (at_once..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.next_line(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.next_line(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn text_is_that_of_serde_json() {
        let mut value = json!({
            "empty": [{}, [], "", null],
            "numbers": [1, -2, 0.5, 1e300, u64::MAX],
            "text": "a \"quoted\" line\n\u{1}",
            "nested": {"a": {"b": [[1], [[], [2, 3]]]}},
        });
        for _ in 0..40 {
            value = Value::Array(vec![value, json!({ "more": [true] })]);
            assert_eq!(pretty_json(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
