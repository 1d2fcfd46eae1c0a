//! Strict JSON without a tree: the caller asks for the element that must come next, and gets it or an error.
//!
//! Numbers are integers within bounds. Strings borrow from the text unless they contain escapes. Lists and
//! objects call a closure for each element. Correct text needs no allocation. The path to an element
//! (`nodes[3][1]`) is assembled only while an error travels up from it.
//!
//! `serde_json` checks skipped values and strings with escapes. It does so without recursion, so their
//! nesting depth has no limit.

use std::borrow::Cow;
use std::fmt::Display;

use serde::de::IgnoredAny;

/// A position in a JSON text.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// Whether the text contains a backslash. Few texts do, and strings without escapes are fast to read.
    has_escapes: bool,
}

/// A result of the cursor. The error is boxed because it is rare and results are many.
pub(crate) type Parsed<T> = Result<T, Box<Mistake>>;

/// An error with the path of its element.
pub(crate) struct Mistake {
    message: String,
    /// In bytes, from 1.
    column: usize,
    /// The innermost element first.
    path: Vec<Step>,
}

enum Step {
    Index(usize),
    Key(String),
}

impl Mistake {
    fn within(mut self: Box<Self>, step: Step) -> Box<Self> {
        self.path.push(step);
        self
    }
}

/// Write the element, the mistake, and its column in the line.
impl Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, step) in self.path.iter().rev().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if position == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}, at column {}", self.message, self.column)
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0, has_escapes: memchr::memchr(b'\\', text.as_bytes()).is_some() }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Skip white space and return the next byte. `None` at the end.
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        match self.byte(self.at) {
            Some(byte) if byte > b' ' => Some(byte),
            _ => self.peek_behind_space(),
        }
    }

    /// The slow path of `peek`: dumps contain no white space.
    #[cold]
    fn peek_behind_space(&mut self) -> Option<u8> {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                next => return next,
            }
        }
    }

    /// Skip the mark if it comes next.
    #[inline(always)]
    fn take(&mut self, mark: u8) -> bool {
        let found = self.peek() == Some(mark);
        self.at += usize::from(found);
        found
    }

    /// Read an integer from 0 to 4294967295.
    #[inline(always)]
    pub(crate) fn u32(&mut self) -> Parsed<u32> {
        self.peek();
        match self.digits(self.at) {
            Some((value, end)) if value <= u64::from(u32::MAX) => {
                self.at = end;
                Ok(value as u32)
            }
            _ => Err(self.not_within(0, u32::MAX.into())),
        }
    }

    /// Read an integer within bounds, which may be negative.
    #[inline]
    pub(crate) fn integer(&mut self, least: i64, most: i64) -> Parsed<i64> {
        let negative = self.peek() == Some(b'-');
        if let Some((value, end)) = self.digits(self.at + usize::from(negative)) {
            let value = if negative { -(value as i64) } else { value as i64 };
            // Other readers of JSON take "-0" for a fraction.
            if (least..=most).contains(&value) && !(negative && value == 0) {
                self.at = end;
                return Ok(value);
            }
        }
        Err(self.not_within(least, most))
    }

    /// Read a number of at most ten digits and return it with its end. `None` if it is longer, has a leading
    /// zero, or continues as a fraction.
    #[inline(always)]
    fn digits(&self, start: usize) -> Option<(u64, usize)> {
        let mut value = 0u64;
        let mut end = start;
        let after = loop {
            match self.byte(end) {
                Some(digit @ b'0'..=b'9') => {
                    value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
                    end += 1;
                }
                after => break after,
            }
        };
        let length = end - start;
        let plain = length == 1 || (2..=10).contains(&length) && self.byte(start) != Some(b'0');
        (plain && !matches!(after, Some(b'.' | b'e' | b'E'))).then_some((value, end))
    }

    /// Read a string.
    #[inline]
    pub(crate) fn string(&mut self) -> Parsed<Cow<'a, str>> {
        if self.peek() != Some(b'"') {
            return Err(self.not("a string"));
        }
        let start = self.at + 1;
        let end = start + length_to_low_byte(&self.text.as_bytes()[start..]);
        if self.byte(end) == Some(b'"') && !self.has_escapes {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        self.unusual_string(start)
    }

    /// Read a string that has a blank, an escape, or a forbidden character.
    #[cold]
    fn unusual_string(&mut self, start: usize) -> Parsed<Cow<'a, str>> {
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        let length = self.text.as_bytes()[start..].iter().position(special);
        match length.map(|length| start + length) {
            Some(end) if self.byte(end) == Some(b'"') => {
                self.at = end + 1;
                Ok(Cow::Borrowed(&self.text[start..end]))
            }
            _ => self.unusual().map(Cow::Owned),
        }
    }

    /// Skip any value.
    pub(crate) fn skip(&mut self) -> Parsed<()> {
        if self.peek() == Some(b'"') {
            return self.string().map(drop);
        }
        match self.digits(self.at) {
            Some((_, end)) => self.at = end,
            None => drop(self.unusual::<IgnoredAny>()?),
        }
        Ok(())
    }

    /// Return whether `null` comes next, and skip it.
    pub(crate) fn null(&mut self) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with("null");
        self.at += if found { "null".len() } else { 0 };
        found
    }

    /// Read a rare form by `serde_json`.
    #[cold]
    fn unusual<T: serde::de::DeserializeOwned>(&mut self) -> Parsed<T> {
        let mut values = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => {
                let text = error.to_string();
                let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
                // A line has no line ends: the column is the number of bytes read.
                let at = (self.at + error.column()).saturating_sub(1);
                Err(match error.is_eof() {
                    true => self.cut_off(text),
                    false if self.text[self.at..] == *"-" => self.cut_off("EOF while parsing a value"),
                    false => mistake(format!("not valid JSON: {text}"), at),
                })
            }
            None => Err(self.cut_off("EOF while parsing a value")),
        }
    }

    /// Read a list of any length; `each` reads one element.
    #[inline]
    pub(crate) fn list(&mut self, what: &str, mut each: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if !self.take(b'[') {
            return Err(self.not(what));
        }
        if self.take(b']') {
            return Ok(());
        }
        for position in 0.. {
            each(self).map_err(|mistake| mistake.within(Step::Index(position)))?;
            if !self.take(b',') {
                break;
            }
        }
        self.close(b']', "a list", "`,` or `]`")
    }

    /// Read a list of a fixed form; `read` asks for one item after the other.
    #[inline]
    pub(crate) fn tuple<T>(
        &mut self,
        form: &'static str,
        read: impl FnOnce(&mut Tuple<'_, 'a>) -> Parsed<T>,
    ) -> Parsed<T> {
        if !self.take(b'[') {
            return Err(self.not(form));
        }
        let mut tuple = Tuple { cursor: self, position: 0, form };
        let value = read(&mut tuple)?;
        let position = tuple.position;
        if self.peek() == Some(b',') {
            return Err(mistake(format!("more than {position} elements, expected {form}"), self.at));
        }
        self.close(b']', "a list", "`,` or `]`")?;
        Ok(value)
    }

    /// Read `[1,2]`, as compilers write it: two numbers and no white space. Return `None` without a step for
    /// any other text, which then takes the general way and its errors.
    #[inline]
    pub(crate) fn compact_pair(&mut self) -> Option<[u32; 2]> {
        let mut compact = Compact { bytes: self.text.as_bytes(), at: self.at };
        compact.mark(b'[')?;
        let first = compact.u32()?;
        compact.mark(b',')?;
        let second = compact.u32()?;
        compact.mark(b']')?;
        self.at = compact.at;
        Some([first, second])
    }

    /// Read `[1,2,"d",3]` or `[1,2,"d",3,4]` without white space, and skip the last number. `kind` knows the
    /// letters. Return `None` without a step for any other text.
    #[inline]
    pub(crate) fn compact_edge<T>(&mut self, kind: impl Fn(u8) -> Option<T>) -> Option<([u32; 3], T)> {
        let mut compact = Compact { bytes: self.text.as_bytes(), at: self.at };
        compact.mark(b'[')?;
        let from = compact.u32()?;
        compact.mark(b',')?;
        let to = compact.u32()?;
        compact.mark(b',')?;
        compact.mark(b'"')?;
        let kind = kind(*compact.bytes.get(compact.at)?)?;
        compact.at += 1;
        compact.mark(b'"')?;
        compact.mark(b',')?;
        let latency = compact.u32()?;
        if compact.mark(b',').is_some() {
            compact.u32()?;
        }
        compact.mark(b']')?;
        self.at = compact.at;
        Some(([from, to, latency], kind))
    }

    /// Read `["VGPR_32","V",1]` without white space and escapes, and skip the first text. `file` knows the
    /// letters. Return `None` without a step for any other text.
    #[inline]
    pub(crate) fn compact_register<T>(&mut self, file: impl Fn(u8) -> Option<T>) -> Option<(T, u32)> {
        let mut compact = Compact { bytes: self.text.as_bytes(), at: self.at };
        compact.literal(b"[\"")?;
        if self.has_escapes {
            return None;
        }
        compact.at += length_to_low_byte(&compact.bytes[compact.at..]);
        compact.literal(b"\",\"")?;
        let file = file(*compact.bytes.get(compact.at)?)?;
        compact.at += 1;
        compact.literal(b"\",")?;
        let number = compact.u32()?;
        compact.mark(b']')?;
        self.at = compact.at;
        Some((file, number))
    }

    /// Read an object with a pair of numbers for each of these keys, in their order and without white space.
    /// Each key comes with its quotes, and with the marks before and after it. Return `None` without a step
    /// for any other text.
    pub(crate) fn compact_pairs<const N: usize>(&mut self, keys: [&[u8]; N]) -> Option<[[u32; 2]; N]> {
        let start = self.at;
        let mut pairs = [[0; 2]; N];
        let found = keys.iter().zip(&mut pairs).try_for_each(|(key, pair)| {
            let mut compact = Compact { bytes: self.text.as_bytes(), at: self.at };
            compact.literal(key)?;
            self.at = compact.at;
            *pair = self.compact_pair()?;
            Some(())
        });
        if found.is_some() && self.byte(self.at) == Some(b'}') {
            self.at += 1;
            return Some(pairs);
        }
        self.at = start;
        None
    }

    /// Read an object with any keys; `each` reads one value. The caller decides whether a key may come twice.
    #[inline]
    pub(crate) fn object(
        &mut self,
        what: &str,
        mut each: impl FnMut(&mut Self, &str) -> Parsed<()>,
    ) -> Parsed<()> {
        if !self.take(b'{') {
            return Err(self.not(what));
        }
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            match self.peek() {
                Some(b'"') => {}
                Some(_) => return Err(mistake("not valid JSON: key must be a string".to_string(), self.at)),
                None => return Err(self.cut_off("EOF while parsing an object")),
            }
            let key = self.string()?;
            self.close(b':', "an object", "`:`")?;
            each(self, &key).map_err(|mistake| mistake.within(Step::Key(key.into_owned())))?;
            if !self.take(b',') {
                return self.close(b'}', "an object", "`,` or `}`");
            }
        }
    }

    /// Read an object with these fields, at most 64; `each` reads one value. Other fields and repeated fields
    /// are errors, and so are missing fields that are not optional.
    #[inline]
    pub(crate) fn fields(
        &mut self,
        what: &str,
        names: &[&'static str],
        optional: &[&str],
        mut each: impl FnMut(&mut Self, &'static str) -> Parsed<()>,
    ) -> Parsed<()> {
        let mut seen = 0u64;
        let mut next = 0;
        self.object(what, |cursor, key| {
            // Writers emit the fields in the same order every time.
            let position = match names.get(next) {
                Some(name) if *name == key => next,
                _ => match names.iter().position(|name| *name == key) {
                    Some(position) => position,
                    None => {
                        return Err(
                            cursor.fault(format!("unknown field, expected one of {}", names.join(", ")))
                        );
                    }
                },
            };
            if seen >> position & 1 == 1 {
                return Err(cursor.fault("the field is given twice".to_string()));
            }
            seen |= 1 << position;
            next = position + 1;
            each(cursor, names[position])
        })?;
        if seen.count_ones() as usize == names.len() {
            return Ok(());
        }
        let missing = (names.iter().enumerate())
            .find(|(position, name)| seen >> position & 1 == 0 && !optional.contains(*name));
        match missing {
            None => Ok(()),
            Some((_, name)) => Err(mistake(format!("missing field `{name}`"), self.at - 1)),
        }
    }

    /// Require the end of the text: only white space may be left.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(mistake("not valid JSON: trailing characters".to_string(), self.at)),
        }
    }

    /// Make an error about the last element.
    #[cold]
    pub(crate) fn fault(&self, message: String) -> Box<Mistake> {
        mistake(message, self.at.saturating_sub(1))
    }

    /// Skip a mark that must come next.
    #[inline(always)]
    fn close(&mut self, mark: u8, inside: &str, expected: &str) -> Parsed<()> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.not_closed(inside, expected)),
        }
    }

    #[cold]
    fn not_closed(&self, inside: &str, expected: &str) -> Box<Mistake> {
        match self.at == self.text.len() {
            true => self.cut_off(&format!("EOF while parsing {inside}")),
            false => mistake(format!("not valid JSON: expected {expected}"), self.at),
        }
    }

    #[cold]
    fn cut_off(&self, message: &str) -> Box<Mistake> {
        mistake(format!("{message} (is the line cut off?)"), self.text.len().saturating_sub(1))
    }

    #[cold]
    fn not_within(&mut self, least: i64, most: i64) -> Box<Mistake> {
        self.not(&format!("a whole number from {least} to {most}"))
    }

    /// Make the error that something else comes next.
    #[cold]
    fn not(&mut self, expected: &str) -> Box<Mistake> {
        let start = self.at;
        let shorten = |text: &str| match text.char_indices().nth(40) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_string(),
        };
        let found = match self.byte(start) {
            Some(b'[') => "a list".to_string(),
            Some(b'{') => "an object".to_string(),
            // All other values are short. `skip` reports text that is not JSON.
            _ => match self.skip() {
                Ok(()) => shorten(self.text[start..self.at].trim_ascii()),
                Err(mistake) => return mistake,
            },
        };
        mistake(format!("expected {expected}, found {found}"), start)
    }
}

#[cold]
fn mistake(message: String, at: usize) -> Box<Mistake> {
    Box::new(Mistake { message, column: at + 1, path: Vec::new() })
}

/// A position in a text without white space.
struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    #[inline(always)]
    fn mark(&mut self, mark: u8) -> Option<()> {
        let found = self.bytes.get(self.at) == Some(&mark);
        self.at += usize::from(found);
        found.then_some(())
    }

    #[inline(always)]
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        let found = self.bytes.get(self.at..)?.starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found.then_some(())
    }

    /// Read a number of at most nine digits, which fits into 32 bits.
    #[inline(always)]
    fn u32(&mut self) -> Option<u32> {
        let start = self.at;
        let mut value = 0u32;
        while let Some(digit) = self.bytes.get(self.at).map(|byte| byte.wrapping_sub(b'0'))
            && digit < 10
        {
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            self.at += 1;
        }
        let length = self.at - start;
        (length == 1 || (2..=9).contains(&length) && self.bytes[start] != b'0').then_some(value)
    }
}

/// The items of a list of a fixed form.
pub(crate) struct Tuple<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    position: usize,
    form: &'static str,
}

impl<'a> Tuple<'_, 'a> {
    /// Read the next item, which is required.
    #[inline(always)]
    pub(crate) fn item<T>(&mut self, read: impl FnOnce(&mut Cursor<'a>) -> Parsed<T>) -> Parsed<T> {
        match self.optional(read)? {
            Some(item) => Ok(item),
            None => Err(self.too_short()),
        }
    }

    #[cold]
    fn too_short(&self) -> Box<Mistake> {
        let Tuple { position, form, .. } = self;
        let elements = if *position == 1 { "element" } else { "elements" };
        mistake(format!("only {position} {elements}, expected {form}"), self.cursor.at)
    }

    /// Read the next item, if the list goes on.
    #[inline(always)]
    pub(crate) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Cursor<'a>) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        match self.cursor.peek() {
            Some(b']') => return Ok(None),
            _ if self.position == 0 => {}
            Some(b',') => self.cursor.at += 1,
            _ => return Err(self.cursor.not_closed("a list", "`,` or `]`")),
        }
        let position = self.position;
        self.position += 1;
        read(self.cursor).map(Some).map_err(|mistake| mistake.within(Step::Index(position)))
    }

    /// Make an error about the last item.
    #[cold]
    pub(crate) fn fault(&self, message: String) -> Box<Mistake> {
        self.cursor.fault(message).within(Step::Index(self.position.saturating_sub(1)))
    }
}

/// Count the bytes before the first quote, exclamation mark, blank or control character. Exactly these
/// characters have a code of at most that of the quote.
#[inline(always)]
fn length_to_low_byte(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut length = 0;
    // Eight at a time. A byte borrows from the next only if it is one of those looked for itself, so that the
    // lowest mark is right.
    while let Some(chunk) = bytes[length..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let marks = word.wrapping_sub(ONES * u64::from(b'"' + 1)) & !word & (ONES << 7);
        if marks != 0 {
            return length + marks.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + bytes[length..].iter().position(|byte| *byte <= b'"').unwrap_or(bytes.len() - length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cursor and `serde_json` accept the same values, read them alike, and refuse the same ones.
    #[test]
    fn agrees_with_serde_json() {
        let numbers = ["0", "7", "10", "4294967295", "4294967296", "99999999999", "18446744073709551616"];
        let odd =
            ["-0", "-1", "01", "1.0", "1e3", "-", "+1", "", " 5 ", "0x1", "1 2", "null", "\"1\"", "[1]"];
        for text in numbers.into_iter().chain(odd) {
            let mut cursor = Cursor::new(text);
            let here = cursor.u32().and_then(|value| cursor.end().map(|()| value));
            assert_eq!(here.ok(), serde_json::from_str::<u32>(text).ok(), "{text}");
            let mut cursor = Cursor::new(text);
            let bounds = (i64::from(i32::MIN), i64::from(i32::MAX));
            let here = cursor.integer(bounds.0, bounds.1).and_then(|value| cursor.end().map(|()| value));
            let there = serde_json::from_str::<i32>(text).ok();
            assert_eq!(here.ok(), there.map(i64::from), "{text}");
        }
        let pieces =
            ["", "a", "seven77", "eight888", "é", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\t"];
        let pieces = pieces.iter().chain(&["\\x", "\u{1f}", "\u{7f}", "\u{80}", "\"", "\\\"", "\\\\", "\0"]);
        for a in pieces.clone() {
            for b in pieces.clone() {
                for text in [format!("\"{a}{b}\""), format!("\"{a}{b}"), format!("\"{a}12345678{b}\"")] {
                    let mut cursor = Cursor::new(&text);
                    let here = cursor.string().and_then(|value| cursor.end().map(|()| value)).ok();
                    assert_eq!(
                        here.as_deref(),
                        serde_json::from_str::<String>(&text).ok().as_deref(),
                        "{text:?}"
                    );
                    let mut cursor = Cursor::new(&text);
                    let skipped = cursor.skip().and_then(|()| cursor.end()).is_ok();
                    assert_eq!(skipped, here.is_some(), "{text:?}");
                }
            }
        }
    }

    /// The short ways read the same as the general ones, and take no step where they do not apply.
    #[test]
    fn short_ways_agree_with_the_general_ones() {
        let numbers =
            ["0", "12", "999999999", "1000000000", "4294967295", "4294967296", "01", "-1", "1.0", " 1", ""];
        let ends = ["]", ",3]", ", ]", " ]", ""];
        let mut short = 0;
        for (a, b, end) in
            numbers.iter().flat_map(|a| numbers.iter().flat_map(move |b| ends.map(|end| (a, b, end))))
        {
            let text = format!("[{a},{b}{end}");
            let general = Cursor::new(&text)
                .tuple("a pair", |pair| Ok([pair.item(Cursor::u32)?, pair.item(Cursor::u32)?]));
            let mut cursor = Cursor::new(&text);
            match cursor.compact_pair() {
                Some(pair) => {
                    assert_eq!((general.ok(), cursor.at), (Some(pair), text.len()), "{text}");
                    short += 1;
                }
                None => assert_eq!(cursor.at, 0, "{text}"),
            }
        }
        assert_eq!(short, 9); // three of the numbers in both places

        let edge = |text: &str| Cursor::new(text).compact_edge(|letter| (letter == b'd').then_some(letter));
        assert_eq!(edge(r#"[1,20,"d",3]"#), Some(([1, 20, 3], b'd')));
        assert_eq!(edge(r#"[1,20,"d",3,456]"#), Some(([1, 20, 3], b'd')));
        for text in [
            r#"[1,-1,"d",3]"#,
            r#"[1,2,"dd",3]"#,
            r#"[1,2,"x",3]"#,
            r#"[1,2,"d",3,"r"]"#,
            r#"[1,2,"d",3,4,5]"#,
        ] {
            assert_eq!(edge(text), None, "{text}");
        }

        let register =
            |text: &str| Cursor::new(text).compact_register(|letter| (letter == b'V').then_some(letter));
        assert_eq!(register(r#"["VReg_64","V",2]"#), Some((b'V', 2)));
        for text in [
            r#"["V\"R","V",2]"#,
            r#"["V R","V",2]"#,
            r#"["VR","S",2]"#,
            r#"["VR","VV",2]"#,
            r#"["VR","V",2,3]"#,
            r#"["VR"#,
        ] {
            assert_eq!(register(text), None, "{text}");
        }

        let pairs = |text: &str| Cursor::new(text).compact_pairs([b"{\"V\":", b",\"S\":"]);
        assert_eq!(pairs(r#"{"V":[1,2],"S":[3,4]}"#), Some([[1, 2], [3, 4]]));
        for text in [r#"{"V":[1,2]}"#, r#"{"S":[1,2],"V":[3,4]}"#, r#"{"V":[1,2],"S":[3,4],"A":[5,6]}"#] {
            let mut cursor = Cursor::new(text);
            assert_eq!(cursor.compact_pairs([b"{\"V\":", b",\"S\":"]), None, "{text}");
            assert_eq!(cursor.at, 0, "{text}");
        }
    }

    #[test]
    fn lists_end_where_they_should() {
        let read = |text: &str| {
            let mut items = Vec::new();
            let mut cursor = Cursor::new(text);
            let result = cursor.list("a list", |cursor| cursor.u32().map(|item| items.push(item)));
            result.and_then(|()| cursor.end()).map(|()| items).map_err(|mistake| mistake.to_string())
        };
        assert_eq!(read(" [ 1 , 2 ] "), Ok(vec![1, 2]));
        assert_eq!(read("[]"), Ok(vec![]));
        for bad in ["[1,]", "[,1]", "[1 2]", "[1", "[", "[1]]", "1", "{}", "", "[1,,2]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(
            read("[1,[2]]").unwrap_err(),
            "[1]: expected a whole number from 0 to 4294967295, found a list, at column 4"
        );
    }

    #[test]
    fn deep_nesting_is_skipped_without_recursion() {
        let text = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(Cursor::new(&text).skip().is_ok());
        assert!(Cursor::new(&text[..1_500_000]).skip().is_err());
    }
}
