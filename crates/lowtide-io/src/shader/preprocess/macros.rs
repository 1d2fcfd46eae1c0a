//! The expansion of macros.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::tokens::{DEFINED, Kind, LINE, Token, Tokens};
use super::{Fault, MOST_LEVELS};

/// A macro.
pub(super) struct Define {
    pub(super) name: u32,
    /// The parameters with their numbers. `None` for a macro without a list of parameters.
    pub(super) parameters: Option<FxHashMap<u32, usize>>,
    pub(super) body: Vec<Token>,
}

/// A macro that is being expanded.
struct Call {
    /// The place of the name that begins the call.
    start: u32,
    define: Rc<Define>,
    at: usize,
    arguments: Vec<Vec<Token>>,
    /// The argument that is being copied, and the place in it.
    copied: Option<(usize, usize)>,
}

/// The expansion of a file or of some of its tokens.
#[derive(Default)]
pub(super) struct Expander {
    /// The tokens to expand. `None` for those of the file.
    input: Option<std::vec::IntoIter<Token>>,
    calls: Vec<Call>,
    /// The macros of `calls`, which are not expanded again.
    active: FxHashSet<u32>,
    /// The macros of the calls around these tokens.
    outer: FxHashSet<u32>,
    depth: usize,
    /// A token that was read ahead, or the end.
    peeked: Option<Option<Token>>,
    /// The line of the outermost call.
    line: i64,
}

impl Expander {
    pub(super) fn of_file() -> Self {
        Expander::default()
    }

    pub(super) fn of_tokens(tokens: Vec<Token>) -> Self {
        Expander { input: Some(tokens.into_iter()), ..Expander::default() }
    }

    /// Return the next token that is not the start of a macro.
    pub(super) fn next_expanded(&mut self, file: &mut Tokens<'_>) -> Result<Option<Token>, Fault> {
        while let Some(token) = self.next(file)? {
            if !self.starts_call(file, token)? {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// Return the tokens of a condition. `defined` and names that are no macros are numbers then.
    pub(super) fn condition(mut self, file: &mut Tokens<'_>, is_if: bool) -> Result<Vec<Token>, Fault> {
        let mut result = Vec::new();
        while let Some(token) = self.next(file)? {
            let value = match token.kind {
                Kind::Name(DEFINED) => {
                    let mut next = self.next(file)?;
                    let has_bracket = next.is_some_and(|next| next.kind == Kind::Punct(b'('));
                    if has_bracket {
                        next = self.next(file)?;
                    }
                    let Some(Token { kind: Kind::Name(name), .. }) = next else {
                        return file.fault(token.start, "a name is expected after `defined`");
                    };
                    if has_bracket && self.next(file)?.is_none_or(|next| next.kind != Kind::Punct(b')')) {
                        return file.fault(token.start, "`defined` needs a closing bracket");
                    }
                    i64::from(file.define(name).is_some())
                }
                Kind::Name(_) if self.starts_call(file, token)? => continue,
                Kind::Name(_) if is_if => 0,
                Kind::Name(_) => return file.fault(token.start, "a number is expected"),
                _ => {
                    result.push(token);
                    continue;
                }
            };
            result.push(Token { kind: Kind::Value(value), ..token });
        }
        Ok(result)
    }

    /// Return the next token, without a look for macros.
    fn next(&mut self, file: &mut Tokens<'_>) -> Result<Option<Token>, Fault> {
        let Some(token) = self.next_raw(file)? else { return Ok(None) };
        if token.kind != Kind::Name(LINE) {
            return Ok(Some(token));
        }
        let line = if self.calls.is_empty() { file.line(token.start) } else { self.line };
        Ok(Some(Token { kind: Kind::Value(line), ..token }))
    }

    fn next_raw(&mut self, file: &mut Tokens<'_>) -> Result<Option<Token>, Fault> {
        if let Some(token) = self.peeked.take() {
            return Ok(token);
        }
        while let Some(call) = self.calls.last_mut() {
            file.work(1, call.start)?;
            if let Some((argument, at)) = &mut call.copied {
                match call.arguments.get(*argument).and_then(|tokens| tokens.get(*at)) {
                    Some(token) => {
                        *at += 1;
                        return Ok(Some(*token));
                    }
                    None => call.copied = None,
                }
            } else if let Some(token) = call.define.body.get(call.at) {
                call.at += 1;
                let parameters = call.define.parameters.as_ref();
                let parameter = match token.kind {
                    Kind::Name(name) => parameters.and_then(|parameters| parameters.get(&name)),
                    _ => None,
                };
                match parameter {
                    Some(parameter) => call.copied = Some((*parameter, 0)),
                    None => return Ok(Some(*token)),
                }
            } else {
                self.active.remove(&call.define.name);
                self.calls.pop();
            }
        }
        match &mut self.input {
            Some(tokens) => Ok(tokens.next()),
            None => file.next(),
        }
    }

    /// Return whether a token is the start of a macro call, which is begun then.
    fn starts_call(&mut self, file: &mut Tokens<'_>, token: Token) -> Result<bool, Fault> {
        let Kind::Name(name) = token.kind else { return Ok(false) };
        if self.active.contains(&name) || self.outer.contains(&name) {
            return Ok(false);
        }
        let Some(define) = file.define(name).cloned() else { return Ok(false) };
        if self.calls.is_empty() {
            self.line = file.line(token.start);
        }
        let mut arguments = Vec::new();
        if let Some(parameters) = &define.parameters {
            // Without a bracket, the name stands for itself.
            let next = self.next(file)?;
            if next.is_none_or(|next| next.kind != Kind::Punct(b'(')) {
                self.peeked = Some(next);
                return Ok(false);
            }
            let (given, end) = self.arguments(file, token)?;
            if self.calls.is_empty() {
                self.line = file.line(end);
            }
            let is_none = parameters.is_empty() && given.len() == 1 && given[0].is_empty();
            if given.len() != parameters.len() && !is_none {
                let (given, wanted) = (given.len(), parameters.len());
                return file
                    .fault(token.start, format!("{given} arguments for a macro with {wanted} parameters"));
            }
            for argument in given {
                arguments.push(self.expand_argument(file, argument, token)?);
            }
        }
        self.active.insert(name);
        self.calls.push(Call { start: token.start, define, at: 0, arguments, copied: None });
        Ok(true)
    }

    /// Return the arguments of a call after its opening bracket, and the place of the closing one.
    fn arguments(&mut self, file: &mut Tokens<'_>, call: Token) -> Result<(Vec<Vec<Token>>, u32), Fault> {
        let mut depth = 0;
        let (mut arguments, mut last) = (Vec::new(), Vec::new());
        loop {
            let Some(token) = self.next(file)? else {
                return file.fault(call.start, "the arguments of this macro have no closing bracket");
            };
            file.work(1, call.start)?;
            match token.kind {
                Kind::Punct(b')') if depth == 0 => {
                    arguments.push(last);
                    return Ok((arguments, token.start));
                }
                Kind::Punct(b',') if depth == 0 => {
                    arguments.push(std::mem::take(&mut last));
                    continue;
                }
                Kind::Punct(b'(') => depth += 1,
                Kind::Punct(b')') => depth -= 1,
                _ => {}
            }
            last.push(token);
        }
    }

    fn expand_argument(
        &self,
        file: &mut Tokens<'_>,
        argument: Vec<Token>,
        call: Token,
    ) -> Result<Vec<Token>, Fault> {
        if self.depth >= MOST_LEVELS {
            return file
                .fault(call.start, format!("macro calls are nested more than {MOST_LEVELS} levels deep"));
        }
        let outer: FxHashSet<u32> = self.outer.union(&self.active).copied().collect();
        file.work(outer.len() + 1, call.start)?;
        let mut inner = Expander { outer, depth: self.depth + 1, ..Expander::of_tokens(argument) };
        let mut expanded = Vec::new();
        while let Some(token) = inner.next_expanded(file)? {
            file.work(1, call.start)?;
            expanded.push(token);
        }
        Ok(expanded)
    }
}
