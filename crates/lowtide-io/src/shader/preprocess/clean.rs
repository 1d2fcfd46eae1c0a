//! Text without comments and continued lines.

use super::tokens::Token;

/// The clean text of a source.
pub(super) struct Clean {
    pub(super) text: String,
    /// Places where the distance between the two texts changes: the offset in the clean text, and in the
    /// source.
    shifts: Vec<(u32, u32)>,
    /// The start of each line of the source after the first.
    lines: Vec<u32>,
}

impl Clean {
    /// Return the offset in the source of an offset in the clean text.
    pub(super) fn offset(&self, offset: u32) -> usize {
        let after = self.shifts.partition_point(|(start, _)| *start <= offset);
        match after.checked_sub(1).and_then(|at| self.shifts.get(at)) {
            Some((start, source)) => (source + (offset - start)) as usize,
            None => offset as usize,
        }
    }

    /// Return the line in the source of an offset in the clean text, counted from 1.
    pub(super) fn line(&self, offset: u32) -> u32 {
        let source = self.offset(offset) as u32;
        self.lines.partition_point(|start| *start <= source) as u32 + 1
    }

    /// Return the text of a token.
    pub(super) fn slice(&self, token: Token) -> &str {
        &self.text[token.start as usize..token.end as usize]
    }
}

/// The characters of a source, with continued lines joined and all line ends as `\n`.
struct Joined<'a> {
    source: &'a str,
    at: usize,
    lines: Vec<u32>,
}

impl Joined<'_> {
    /// Return the offset of the next character, and the character. A line end of two characters is one.
    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            let start = self.at;
            let next = self.source[start..].chars().next()?;
            self.at += next.len_utf8();
            if next == '\\' && self.line_end(self.at) > 0 {
                self.at += self.line_end(self.at);
                self.note_line();
                continue;
            }
            let line_end = self.line_end(start);
            if line_end == 0 {
                return Some((start, next));
            }
            self.at = start + line_end;
            self.note_line();
            return Some((start, '\n'));
        }
    }

    /// Return the character after the current one.
    fn peek(&self) -> Option<char> {
        let mut at = self.at;
        loop {
            let next = self.source[at..].chars().next()?;
            let skip = if next == '\\' { self.line_end(at + 1) } else { 0 };
            if skip == 0 {
                return Some(next);
            }
            at += 1 + skip;
        }
    }

    fn line_end(&self, at: usize) -> usize {
        match self.source.as_bytes()[at..] {
            [b'\n', b'\r', ..] | [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            _ => 0,
        }
    }

    fn note_line(&mut self) {
        // A line may be read twice after a look ahead.
        if self.lines.last().is_none_or(|last| (*last as usize) < self.at) {
            self.lines.push(self.at as u32);
        }
    }
}

/// Join continued lines, and replace each comment by a space.
pub(super) fn clean(source: &str) -> Clean {
    let mut chars = Joined { source, at: 0, lines: Vec::new() };
    let (mut text, mut shifts) = (String::new(), Vec::new());
    let mut expected = 0;
    while let Some((start, next)) = chars.next() {
        if start != expected {
            shifts.push((text.len() as u32, start as u32));
        }
        let mut written = next;
        match (next, chars.peek()) {
            ('/', Some('/')) => {
                written = ' ';
                while chars.peek().is_some_and(|next| next != '\n' && next != '\r') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                written = ' ';
                chars.next();
                let mut was_star = false;
                while let Some((_, next)) = chars.next() {
                    if was_star && next == '/' {
                        break;
                    }
                    was_star = next == '*';
                }
            }
            _ => {}
        }
        text.push(written);
        // Character for character, the two texts run side by side.
        expected = start + written.len_utf8();
    }
    Clean { text, shifts, lines: chars.lines }
}
