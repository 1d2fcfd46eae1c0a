//! The nesting depth of a shader, before it is parsed: the parser recurses and would exhaust the stack.

/// The most levels of brackets, operators of an expression and branches behind `else`, all together.
const MOST_LEVELS: usize = 4000;
/// The most branches and loops of SPIR-V, which may all be nested.
const MOST_BRANCHES: usize = 8000;

/// An open level: the operators of an expression, and its `if` and `else`.
#[derive(Clone, Copy, Default)]
struct Level {
    operators: usize,
    branches: usize,
}

/// Return offset and message if the text is nested too deep. The count is an upper bound of the depth. In WGSL,
/// comments are nested.
pub(super) fn too_deep(text: &str, has_nested_comments: bool) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    // The levels around the place, and their sum.
    let (mut open, mut around) = (Vec::new(), 0);
    let mut own = Level::default();
    let mut has_ended = false;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if let Some(comment) = comment(rest, has_nested_comments) {
            at += comment;
            continue;
        }
        let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let is_else = &rest[..word] == b"else";
        if !rest[0].is_ascii_whitespace() && std::mem::take(&mut has_ended) && !is_else {
            own.branches = 0;
        }
        match rest[0] {
            b'(' | b'[' | b'{' => {
                around += own.operators + own.branches + 1;
                open.push(std::mem::take(&mut own));
            }
            b')' | b']' | b'}' => {
                own = open.pop().unwrap_or_default();
                around = around.saturating_sub(own.operators + own.branches + 1);
                if rest[0] == b'}' {
                    (own.operators, has_ended) = (0, true);
                }
            }
            b';' => (own.operators, has_ended) = (0, true),
            b',' => own.operators = 0,
            b'.' if !rest.get(1).is_some_and(u8::is_ascii_alphabetic) => {}
            byte if byte.is_ascii_punctuation() => own.operators += 1,
            _ if is_else || matches!(&rest[..word], b"if" | b"for" | b"while" | b"do") => own.branches += 1,
            _ => {}
        }
        if around + own.operators + own.branches > MOST_LEVELS {
            return Some((
                at,
                format!("brackets, operators or branches are nested more than {MOST_LEVELS} levels deep"),
            ));
        }
        at += word.max(1);
    }
    None
}

/// Return the length of the comment at the start of the text.
fn comment(text: &[u8], is_nested: bool) -> Option<usize> {
    if text.starts_with(b"//") {
        return Some(text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len()));
    }
    if !text.starts_with(b"/*") {
        return None;
    }
    let (mut depth, mut at) = (1, 2);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else if is_nested && rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else {
            at += 1;
        }
    }
    Some(text.len())
}

/// Return the message if SPIR-V has too many branches and loops.
pub(super) fn too_many_branches(bytes: &[u8]) -> Option<String> {
    // Instructions follow a header of five words; each begins with its length and its opcode.
    let mut words = bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
    let from = match words.next()? {
        [0x03, 0x02, 0x23, 0x07] => u32::from_le_bytes,
        _ => u32::from_be_bytes,
    };
    let mut branches = 0;
    let mut words = words.skip(4);
    while let Some(word) = words.next().map(from) {
        // OpLoopMerge and OpSelectionMerge.
        branches += usize::from(matches!(word & 0xffff, 246 | 247));
        let operands = (word >> 16).saturating_sub(1);
        if operands > 0 {
            words.nth(operands as usize - 1);
        }
    }
    (branches > MOST_BRANCHES).then(|| format!("has over {MOST_BRANCHES} branches and loops"))
}
