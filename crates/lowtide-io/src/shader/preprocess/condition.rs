//! The value of a condition: integers in 64 bits and the operators of C.

use super::tokens::{Kind, Token, Tokens};
use super::{Fault, MOST_LEVELS};

/// The operators of two operands, those that bind tightest last.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The operators of two characters.
const PAIRS: &[&str] = &["||", "&&", "==", "!=", "<=", ">=", "<<", ">>"];

struct Parser<'a, 'b> {
    file: &'a Tokens<'b>,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    /// The place of the directive.
    start: u32,
}

/// Return the value of the expression at the start of the tokens, and the number of its tokens.
pub(super) fn evaluate(file: &Tokens<'_>, tokens: &[Token], start: u32) -> Result<(i64, usize), Fault> {
    let mut parser = Parser { file, tokens, at: 0, depth: 0, start };
    let value = parser.binary()?;
    Ok((value, parser.at))
}

impl Parser<'_, '_> {
    fn fault<T>(&self, message: &str) -> Result<T, Fault> {
        let at = self.tokens.get(self.at.min(self.tokens.len().saturating_sub(1)));
        self.file.fault(at.map_or(self.start, |token| token.start), message)
    }

    /// Return the operator at the current place.
    fn operator(&self) -> Option<&'static str> {
        let punct = |at: usize| match self.tokens.get(at)?.kind {
            Kind::Punct(byte) => Some(byte),
            _ => None,
        };
        let first = punct(self.at)?;
        let touches = self.tokens.get(self.at + 1).is_some_and(|next| next.start == self.tokens[self.at].end);
        if let (true, Some(second)) = (touches, punct(self.at + 1))
            && let Some(pair) = PAIRS.iter().find(|pair| pair.as_bytes() == [first, second])
        {
            return Some(pair);
        }
        LEVELS.iter().copied().flatten().find(|operator| operator.as_bytes() == [first]).copied()
    }

    /// Parse operands and operators. Operators that wait for their right operand are on a stack.
    fn binary(&mut self) -> Result<i64, Fault> {
        let mut waiting: Vec<(i64, &'static str, usize)> = Vec::new();
        let mut value = self.unary()?;
        loop {
            let operator = self.operator();
            let level =
                operator.and_then(|operator| LEVELS.iter().position(|level| level.contains(&operator)));
            // Operators that bind at least as tight as the next one have both operands.
            while let Some((left, waiting_operator, _)) =
                waiting.pop_if(|(_, _, bound)| level.is_none_or(|level| *bound >= level))
            {
                value = self.apply(left, waiting_operator, value)?;
            }
            let (Some(operator), Some(level)) = (operator, level) else { return Ok(value) };
            self.at += operator.len();
            waiting.push((value, operator, level));
            value = self.unary()?;
        }
    }

    fn apply(&self, left: i64, operator: &str, right: i64) -> Result<i64, Fault> {
        let shift = u32::try_from(right).ok();
        let value = match operator {
            "||" => Some(i64::from(left != 0 || right != 0)),
            "&&" => Some(i64::from(left != 0 && right != 0)),
            "|" => Some(left | right),
            "^" => Some(left ^ right),
            "&" => Some(left & right),
            "==" => Some(i64::from(left == right)),
            "!=" => Some(i64::from(left != right)),
            "<" => Some(i64::from(left < right)),
            ">" => Some(i64::from(left > right)),
            "<=" => Some(i64::from(left <= right)),
            ">=" => Some(i64::from(left >= right)),
            "<<" => shift.and_then(|shift| left.checked_shl(shift)),
            ">>" => shift.and_then(|shift| left.checked_shr(shift)),
            "+" => left.checked_add(right),
            "-" => left.checked_sub(right),
            "*" => left.checked_mul(right),
            "/" => left.checked_div(right),
            _ => left.checked_rem(right),
        };
        match value {
            Some(value) => Ok(value),
            None => self.fault("the value of this condition is not a number of 64 bits"),
        }
    }

    fn unary(&mut self) -> Result<i64, Fault> {
        let Some(token) = self.tokens.get(self.at).copied() else {
            return self.fault("a condition is expected");
        };
        self.at += 1;
        match token.kind {
            Kind::Value(value) => Ok(value),
            Kind::Number => match number(self.file.clean.slice(token)) {
                Some(value) => Ok(value as i64),
                None => self.fault("an integer of 64 bits is expected"),
            },
            Kind::Punct(operator @ (b'+' | b'-' | b'!' | b'~' | b'(')) => {
                self.depth += 1;
                if self.depth > MOST_LEVELS {
                    let message = format!("a condition is nested more than {MOST_LEVELS} levels deep");
                    return self.fault(&message);
                }
                let value = match operator {
                    b'+' => self.unary()?,
                    b'-' => self.unary()?.wrapping_neg(),
                    b'!' => i64::from(self.unary()? == 0),
                    b'~' => !self.unary()?,
                    _ => {
                        let value = self.binary()?;
                        let close = self.tokens.get(self.at).map(|token| token.kind);
                        if close != Some(Kind::Punct(b')')) {
                            return self.fault("a closing bracket is expected");
                        }
                        self.at += 1;
                        value
                    }
                };
                self.depth -= 1;
                Ok(value)
            }
            _ => self.fault("a number is expected in a condition"),
        }
    }
}

/// Return the value of an integer: decimal, octal or hexadecimal.
fn number(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['u', 'U']).unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}
