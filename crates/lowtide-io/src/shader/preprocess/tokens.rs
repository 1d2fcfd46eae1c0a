//! The tokens of clean text, and the directives between them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::clean::Clean;
use super::macros::{Define, Expander};
use super::{Fault, MOST_STEPS, condition};

/// A token: a part of the clean text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A name, by its number.
    Name(u32),
    Number,
    /// One character. Operators of several characters are tokens that touch.
    Punct(u8),
    /// A number that is not in the text.
    Value(i64),
    /// A whole line for the parser: `#version`, `#extension` or `#pragma`.
    Directive,
}

/// The characters of operators and brackets.
const PUNCTS: &[u8] = b"+-*/%<>=!&|^~?:;,.(){}[]";

/// The number of `__LINE__`.
pub(super) const LINE: u32 = 0;
/// The number of `defined`.
pub(super) const DEFINED: u32 = 1;

/// An open `#if`.
struct Condition {
    start: u32,
    had_branch: bool,
    had_else: bool,
    is_outer_skipped: bool,
}

/// The tokens of a file, and its macros.
pub(super) struct Tokens<'a> {
    pub(super) clean: &'a Clean,
    at: usize,
    names: FxHashMap<&'a str, u32>,
    defines: FxHashMap<u32, Rc<Define>>,
    conditions: Vec<Condition>,
    is_skipping: bool,
    /// The next token begins a line.
    is_line_start: bool,
    had_content: bool,
    line_offset: i64,
    steps: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(clean: &'a Clean) -> Self {
        Tokens {
            clean,
            at: 0,
            names: FxHashMap::from_iter([("__LINE__", LINE), ("defined", DEFINED)]),
            defines: FxHashMap::default(),
            conditions: Vec::new(),
            is_skipping: false,
            is_line_start: true,
            had_content: false,
            line_offset: 0,
            steps: 0,
        }
    }

    pub(super) fn fault<T>(&self, at: u32, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault { offset: self.clean.offset(at), message: message.into() })
    }

    pub(super) fn define(&self, name: u32) -> Option<&Rc<Define>> {
        self.defines.get(&name)
    }

    /// Count steps of the expansion.
    pub(super) fn work(&mut self, steps: usize, at: u32) -> Result<(), Fault> {
        self.steps += steps;
        if self.steps > MOST_STEPS {
            return self.fault(at, format!("macros take more than {MOST_STEPS} steps to expand"));
        }
        Ok(())
    }

    /// Return the number that `__LINE__` stands for.
    pub(super) fn line(&self, at: u32) -> i64 {
        i64::from(self.clean.line(at)) + self.line_offset
    }

    /// Return the next token outside of directives and skipped lines.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Fault> {
        let bytes = self.clean.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None => break,
                Some(b'\n') => {
                    self.is_line_start = true;
                    self.at += 1;
                }
                Some(b' ' | b'\t' | 0x0b | 0x0c) => self.at += 1,
                Some(b'#') if self.is_line_start => {
                    if let Some(token) = self.directive()? {
                        return Ok(Some(token));
                    }
                }
                Some(_) if self.is_skipping => self.skip_line(),
                Some(_) => {
                    (self.is_line_start, self.had_content) = (false, true);
                    return self.token().map(Some);
                }
            }
        }
        match self.conditions.pop() {
            Some(open) => self.fault(open.start, "this condition has no #endif"),
            None => Ok(None),
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.clean.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    /// Return the token at the current place, which is no white space.
    fn token(&mut self) -> Result<Token, Fault> {
        let text: &'a str = &self.clean.text;
        let rest = &text[self.at..];
        let bytes = rest.as_bytes();
        let start = self.at as u32;
        let is_number = match bytes {
            [b'.', next, ..] => next.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        let (length, kind) = if is_number {
            (number_length(bytes), Kind::Number)
        } else if bytes.first().is_some_and(|first| PUNCTS.contains(first)) {
            (1, Kind::Punct(bytes[0]))
        } else {
            let length = rest.find(|next: char| !is_name(next)).unwrap_or(rest.len());
            if length == 0 {
                let found = rest.chars().next().unwrap_or(' ');
                return self.fault(start, format!("unexpected character {found:?}"));
            }
            let number = self.names.len() as u32;
            (length, Kind::Name(*self.names.entry(&rest[..length]).or_insert(number)))
        };
        self.at += length;
        Ok(Token { start, end: start + length as u32, kind })
    }

    /// Return the tokens of the rest of the line.
    fn rest_of_line(&mut self) -> Result<Vec<Token>, Fault> {
        let mut tokens = Vec::new();
        loop {
            match self.clean.text.as_bytes().get(self.at) {
                None | Some(b'\n') => return Ok(tokens),
                Some(b' ' | b'\t' | 0x0b | 0x0c) => self.at += 1,
                Some(_) => tokens.push(self.token()?),
            }
        }
    }

    /// Follow the directive at the current place. Return it if the parser needs it.
    fn directive(&mut self) -> Result<Option<Token>, Fault> {
        let start = self.at as u32;
        self.at += 1;
        let rest = &self.clean.text[self.at..];
        let rest = rest.trim_start_matches([' ', '\t', '\x0b', '\x0c']);
        let word = &rest[..rest.find(|next: char| !is_name(next)).unwrap_or(rest.len())];
        self.at = self.clean.text.len() - rest.len() + word.len();
        match word {
            "if" | "ifdef" | "ifndef" => self.open_condition(start, word)?,
            "elif" => self.elif(start)?,
            "else" | "endif" => self.close_branch(start, word)?,
            _ if self.is_skipping => self.skip_line(),
            "define" => self.add_define(start)?,
            "undef" => {
                let name = self.lone_name(start)?;
                self.defines.remove(&name);
            }
            "line" => self.set_line(start)?,
            "error" => {
                let at = self.at;
                self.skip_line();
                let text = &self.clean.text[at..self.at];
                return self.fault(start, format!("#error{}", text.trim_end()));
            }
            "version" | "extension" | "pragma" => {
                if word == "version" && self.had_content {
                    return self.fault(start, "#version must be the first line");
                }
                self.had_content = true;
                self.rest_of_line()?;
                return Ok(Some(Token { start, end: self.at as u32, kind: Kind::Directive }));
            }
            "" if self.rest_of_line()?.is_empty() => {}
            _ => return self.fault(start, format!("unknown directive #{word}")),
        }
        self.had_content = true;
        Ok(None)
    }

    /// Return the name that is the rest of the line.
    fn lone_name(&mut self, start: u32) -> Result<u32, Fault> {
        match self.rest_of_line()?[..] {
            [Token { kind: Kind::Name(name), .. }] => Ok(name),
            _ => self.fault(start, "a name is expected, and nothing after it"),
        }
    }

    fn open_condition(&mut self, start: u32, word: &str) -> Result<(), Fault> {
        let is_outer_skipped = self.is_skipping;
        if is_outer_skipped {
            self.skip_line();
        } else {
            let is_true = match word {
                "if" => self.condition(start)?,
                _ => {
                    let name = self.lone_name(start)?;
                    self.defines.contains_key(&name) == (word == "ifdef")
                }
            };
            self.is_skipping = !is_true;
        }
        let had_branch = !self.is_skipping;
        self.conditions.push(Condition { start, had_branch, had_else: false, is_outer_skipped });
        Ok(())
    }

    fn elif(&mut self, start: u32) -> Result<(), Fault> {
        let Some(open) = self.conditions.last() else { return self.fault(start, "#elif without #if") };
        if open.had_else {
            return self.fault(start, "#elif after #else");
        }
        self.is_skipping = true;
        if open.is_outer_skipped || open.had_branch {
            self.skip_line();
        } else if self.condition(start)? {
            self.is_skipping = false;
            if let Some(open) = self.conditions.last_mut() {
                open.had_branch = true;
            }
        }
        Ok(())
    }

    fn close_branch(&mut self, start: u32, word: &str) -> Result<(), Fault> {
        if !self.is_skipping && !self.rest_of_line()?.is_empty() {
            return self.fault(start, format!("unexpected text after #{word}"));
        }
        self.skip_line();
        let Some(mut open) = self.conditions.pop() else {
            return self.fault(start, format!("#{word} without #if"));
        };
        self.is_skipping = open.is_outer_skipped;
        if word == "else" {
            if open.had_else {
                return self.fault(start, "#else after #else");
            }
            self.is_skipping |= open.had_branch;
            open.had_else = true;
            self.conditions.push(open);
        }
        Ok(())
    }

    fn add_define(&mut self, start: u32) -> Result<(), Fault> {
        let line = self.rest_of_line()?;
        let Some((Token { kind: Kind::Name(name), end, .. }, rest)) = line.split_first() else {
            return self.fault(start, "a name is expected after #define");
        };
        let is_open = |token: &Token| token.kind == Kind::Punct(b'(') && token.start == *end;
        let (parameters, body) = match rest.first().is_some_and(is_open) {
            false => (None, rest),
            true => {
                let Some(close) = rest.iter().position(|token| token.kind == Kind::Punct(b')')) else {
                    return self.fault(start, "the parameters of this macro have no closing bracket");
                };
                (Some(self.parameters(start, &rest[1..close])?), &rest[close + 1..])
            }
        };
        let define = Define { name: *name, parameters, body: body.to_vec() };
        if let Some(old) = self.defines.get(name) {
            let is_same = |(a, b): (&Token, &Token)| {
                std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
                    && self.clean.slice(*a) == self.clean.slice(*b)
            };
            return match old.parameters == define.parameters
                && old.body.len() == define.body.len()
                && old.body.iter().zip(&define.body).all(is_same)
            {
                true => Ok(()),
                false => self.fault(start, "this macro is already defined, with another text"),
            };
        }
        self.defines.insert(*name, Rc::new(define));
        Ok(())
    }

    fn parameters(&self, start: u32, tokens: &[Token]) -> Result<FxHashMap<u32, usize>, Fault> {
        let mut parameters = FxHashMap::default();
        for (at, token) in tokens.iter().enumerate() {
            let is_good = match token.kind {
                Kind::Name(name) => at % 2 == 0 && parameters.insert(name, at / 2).is_none(),
                Kind::Punct(b',') => at % 2 == 1 && at + 1 < tokens.len(),
                _ => false,
            };
            if !is_good {
                return self
                    .fault(start, "the parameters of a macro are different names with commas between");
            }
        }
        Ok(parameters)
    }

    fn set_line(&mut self, start: u32) -> Result<(), Fault> {
        let tokens = self.rest_of_line()?;
        let expanded = Expander::of_tokens(tokens).condition(self, false)?;
        let (line, used) = condition::evaluate(self, &expanded, start)?;
        if !(0..1 << 32).contains(&line) {
            return self.fault(start, "the number of a line is in 32 bits");
        }
        // A number of the file may follow.
        if used < expanded.len() {
            let (_, more) = condition::evaluate(self, &expanded[used..], start)?;
            if used + more < expanded.len() {
                return self.fault(start, "unexpected text after the number of the line");
            }
        }
        self.line_offset = line - i64::from(self.clean.line(start));
        Ok(())
    }

    fn condition(&mut self, start: u32) -> Result<bool, Fault> {
        let tokens = self.rest_of_line()?;
        let expanded = Expander::of_tokens(tokens).condition(self, true)?;
        let (value, used) = condition::evaluate(self, &expanded, start)?;
        match expanded.get(used) {
            Some(token) => self.fault(token.start, "unexpected text after a condition"),
            None => Ok(value != 0),
        }
    }
}

fn is_name(next: char) -> bool {
    next == '_' || next.is_alphanumeric()
}

/// Return the length of the number at the start of the text.
fn number_length(text: &[u8]) -> usize {
    let count = |from: usize, is_good: fn(&u8) -> bool| {
        from + text[from..].iter().take_while(|byte| is_good(byte)).count()
    };
    let mut at = 0;
    if let [b'0', b'x' | b'X', ..] = text {
        at = count(2, u8::is_ascii_hexdigit);
    } else {
        at = count(at, u8::is_ascii_digit);
        if text.get(at) == Some(&b'.') {
            at = count(at + 1, u8::is_ascii_digit);
        }
        if let Some(b'e' | b'E') = text.get(at) {
            at += 1;
            at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
            at = count(at, u8::is_ascii_digit);
        }
    }
    at + usize::from(matches!(text.get(at), Some(b'u' | b'U' | b'f' | b'F')))
}
