//! Limits on a shader before it is parsed. The parser recurses on nested code and would exhaust the stack. It
//! also stores every global name once for each function.

/// The most levels of brackets, operators of an expression and branches behind `else`, all together.
const MOST_LEVELS: usize = 4000;
/// The most branches and loops of SPIR-V, which may all be nested.
const MOST_BRANCHES: usize = 8000;

/// The most functions: the parser takes time for every two of them.
const MOST_FUNCTIONS: usize = 4096;
/// The most pairs of a function and a global name.
const MOST_PAIRS: usize = 1 << 21;

/// Return the message if there are too many functions, or pairs of functions and global names.
fn too_many(functions: usize, names: usize) -> Option<String> {
    match functions > MOST_FUNCTIONS || functions.saturating_mul(names) > MOST_PAIRS {
        true => Some(format!(
            "has {functions} functions and {names} global names: at most {MOST_FUNCTIONS} functions and \
             {MOST_PAIRS} pairs of function and name are possible"
        )),
        false => None,
    }
}

/// An open level: the operators of an expression, and its `if` and `else`.
#[derive(Clone, Copy, Default)]
struct Level {
    operators: usize,
    branches: usize,
}

/// Return offset and message if the text is nested too deep. The count is an upper bound of the depth. In
/// WGSL, comments are nested.
pub(super) fn too_deep(text: &str, has_nested_comments: bool) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    // The levels around the place, and their sum.
    let (mut open, mut around) = (Vec::new(), 0);
    let mut own = Level::default();
    let mut has_ended = false;
    // Functions, other names outside of functions, and whether the place is in a function.
    let (mut functions, mut names, mut is_function) = (0, 0, false);
    let mut last = b' ';
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
        // The body of a function follows its parameters, or in WGSL the type of its result.
        if open.is_empty() {
            if has_nested_comments && &rest[..word] == b"fn"
                || !has_nested_comments && rest[0] == b'{' && last == b')'
            {
                functions += 1;
                is_function = true;
            } else if matches!(rest[0], b';' | b'}') {
                is_function = false;
            }
        }
        names += usize::from(open.len() <= 1 && !is_function && matches!(rest[0], b',' | b';'));
        if !rest[0].is_ascii_whitespace() {
            last = rest[0];
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
    too_many(functions, names).map(|message| (0, message))
}

/// Return the length of the comment at the start of the text.
pub(super) fn comment(text: &[u8], is_nested: bool) -> Option<usize> {
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

/// Return the message if SPIR-V has too many branches, loops, functions or global names.
pub(super) fn too_large(bytes: &[u8]) -> Option<String> {
    // Instructions follow a header of five words; each begins with its length and its opcode.
    let mut words = bytes.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
    let from = match words.next()? {
        [0x03, 0x02, 0x23, 0x07] => u32::from_le_bytes,
        _ => u32::from_be_bytes,
    };
    let (mut branches, mut functions, mut names) = (0, 0, 0);
    let mut words = words.skip(4);
    while let Some(word) = words.next().map(from) {
        match word & 0xffff {
            // OpLoopMerge and OpSelectionMerge.
            246 | 247 => branches += 1,
            // OpFunction.
            54 => functions += 1,
            // Constants, undefined values and variables.
            1 | 41..=52 | 59 => names += 1,
            _ => {}
        }
        let operands = (word >> 16).saturating_sub(1);
        if operands > 0 {
            words.nth(operands as usize - 1);
        }
    }
    match branches > MOST_BRANCHES {
        true => Some(format!("has over {MOST_BRANCHES} branches and loops")),
        false => too_many(functions, names),
    }
}
