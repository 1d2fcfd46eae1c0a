//! The expansion is that of the parser's own preprocessor, and ends within its limits.

use std::fmt::Write;

use lowtide::random::Random;
use naga::ShaderStage;

use super::preprocess;

/// Return the expanded text, with one blank between tokens that do not touch in the source.
fn expand(source: &str) -> String {
    let expanded = preprocess(source).unwrap_or_else(|fault| panic!("{}: {source}", fault.message));
    expanded.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refused(source: &str) -> (usize, String) {
    let fault = preprocess(source).expect_err("not valid");
    (source[..fault.offset].matches('\n').count() + 1, fault.message)
}

#[test]
fn macros_are_expanded_as_in_c() {
    for (source, expected) in [
        ("#define A b\nA a A", "b a b"),
        ("#define F(x, y) (x)*(y)\nF(1, F(2, 3))", "( 1 )*( ( 2 )*( 3 ) )"),
        ("#define F(x) x\nF F (1) F\n(2)", "F 1 2"),
        ("#define F(x) x +\n#define G F\nG(1) 2", "1 + 2"),
        ("#define F() one\nF() F( )", "one one"),
        // A macro is not expanded within itself.
        ("#define A A + B\n#define B A\nA", "A + A"),
        ("#define F(x) x F(x)\nF(1)", "1 F( 1 )"),
        ("#define F(x) <x>\nF((a, b))", "< (a, b) >"),
        ("a/**/b //c\nd/* \n */e \\\nf g\\\nh", "a b d e f gh"),
        ("#define A 1\\\n+ 2\nA", "1+ 2"),
        ("#define A\n#ifdef A\n1\n#else\n2\n#endif\n#undef A\n#ifdef A\n3\n#endif", "1"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#elif 2 > 1\nc\n#elif 1\nd\n#else\ne\n#endif", "c"),
        ("#if defined A || !defined(B) && 1 + 2 * 3 == 7\nyes\n#endif", "yes"),
        ("#if (1 << 4 | 1) == 0x11 && 010 == 8 && -1 < 0 && 7 % 4 - 3 == 0\nyes\n#endif", "yes"),
        ("a\n__LINE__\n#define L __LINE__\n\nL\n#line 20\nL", "a 2u 5u 21u"),
        ("#define S <<\n1 S 2 << 3", "1 << 2 << 3"),
        ("#define M -\n-M-1", "- - -1"),
        ("1.5e-3f .5 0x1Fu 1.x a.b", "1.5e-3f .5 0x1Fu 1.x a.b"),
    ] {
        assert_eq!(expand(source), expected, "{source}");
    }
}

#[test]
fn an_error_has_its_line() {
    for (source, line, message) in [
        ("\n#if 1\na", 2, "this condition has no #endif"),
        ("a\n#endif", 2, "#endif without #if"),
        ("#if 1\n#else\n#else\n#endif", 3, "#else after #else"),
        ("#define A 1\n#define A 2", 2, "this macro is already defined, with another text"),
        ("#define F(x) x\n\nF(1, 2)", 3, "2 arguments for a macro with 1 parameters"),
        ("#define F(x) x\nF(1", 2, "the arguments of this macro have no closing bracket"),
        ("#define F(x, x) x", 1, "the parameters of a macro are different names with commas between"),
        ("a\n#error not here", 2, "#error not here"),
        ("#fine", 1, "unknown directive #fine"),
        ("a\n#if 1 / 0\n#endif", 2, "the value of this condition is not a number of 64 bits"),
        ("#if\n#endif", 1, "a condition is expected"),
        ("a # b", 1, "unexpected character '#'"),
        ("a\n#version 450", 2, "#version must be the first line"),
    ] {
        assert_eq!(refused(source), (line, message.to_string()), "{source}");
    }
    // A macro that is defined twice with the same text is no error.
    assert_eq!(expand("#define A 1 + 2\n#define A  1 +/**/2\nA"), "1 + 2");
}

/// Names that double, with and without a result, in the text and in a condition; calls in calls; long names.
#[test]
fn what_grows_without_end_is_refused() {
    let doubling = |first: &str, levels: usize| {
        let mut source = format!("#define A0 {first}\n");
        for level in 1..=levels {
            _ = writeln!(source, "#define A{level} A{0} A{0}", level - 1);
        }
        source
    };
    let calls = |levels: usize| format!("#define F(x) x+x\n{}1{}", "F(".repeat(levels), ")".repeat(levels));
    let mut cycle = String::new();
    for name in 0..12 {
        let all: Vec<String> = (0..12).map(|other| format!("C{other}")).collect();
        _ = writeln!(cycle, "#define C{name} {}", all.join(" "));
    }
    let chain: String = (0..60_000).map(|name| format!("#define D{name} D{} D\n", name + 1)).collect();
    for (source, message) in [
        (doubling("((((((((", 18) + "A18", "macros expand to more than 1048576 tokens"),
        (doubling("", 60) + "A60", "macros take more than 4194304 steps"),
        (doubling("+1", 60) + "#if A60\n#endif", "macros take more than 4194304 steps"),
        (doubling(&"long".repeat(1000), 16) + "A16", "or 4194304 bytes of text"),
        (calls(40), "macros take more than 4194304 steps"),
        (calls(200).replace("x+x", "x"), "macro calls are nested more than 100 levels deep"),
        (cycle + "C0", "macros expand to more than 1048576 tokens"),
        (format!("#if {}1\n#endif", "(".repeat(100_000)), "a condition is nested more than 100 levels deep"),
        (format!("#if {}1\n#endif", "!".repeat(100_000)), "a condition is nested more than 100 levels deep"),
    ] {
        let (_, found) = refused(&source);
        assert!(found.contains(message), "{found}");
    }
    // Long chains of names and of continued lines are no nesting.
    assert_eq!(expand(&(chain + "D0")).split(' ').count(), 60_001);
    assert_eq!(expand(&("a".to_string() + &"\\\n".repeat(100_000) + "b")), "ab");
    assert_eq!(expand(&calls(10).replace("x+x", "x")), "1");
}

/// A random shader with macros of all kinds. Names are both variables and macros.
fn shader(random: &mut Random) -> String {
    let mut source = "#version 450\nlayout(location = 0) in float x;\nlayout(location = 0) out vec4 o;\n\
                      float A = 1.0, B = 2.0, C = 3.0, F = 4.0, G = 5.0, D = 6.0;\n"
        .to_string();
    fn expression(random: &mut Random, depth: usize) -> String {
        let part = |random: &mut Random| expression(random, depth.saturating_sub(1));
        match if depth == 0 { random.below(5) } else { random.below(12) } {
            0 => "x".to_string(),
            1 => random.pick(&["1.5", ".5", "2.0f", "3.", "float(__LINE__)"]).to_string(),
            2 | 3 => random.pick(&["A", "B", "C", "D"]).to_string(),
            4 => random.pick(&["F", "G", "A/* * */", "B\\\n"]).to_string(),
            5 => format!("({} + {})", part(random), part(random)),
            6 => format!("-{}", part(random)),
            7 => format!("F({})", part(random)),
            8 => format!("F\n({})", part(random)),
            9 => format!("G({}, {})", part(random), part(random)),
            10 => format!("max({},{})", part(random), part(random)),
            _ => format!("{}*{}", part(random), part(random)),
        }
    }
    let mut lines = Vec::new();
    for name in ["A", "B", "C", "D", "F(p)", "G(p, q)", "F(p)", "A", "E"] {
        if random.chance(70) {
            let depth = random.below(3);
            let body = expression(random, depth).replace('\n', " ").replace("\\ ", "");
            let body = if random.chance(60) { body.replace('x', "p").replace("map", "max") } else { body };
            let body = if name.contains('(') { body } else { body.replace('p', "x") };
            let line = format!("#define {name} {body}");
            lines.push(match random.below(6) {
                0 => format!("#ifdef {}\n{line}\n#endif", random.pick(&["A", "E", "F"])),
                1 => format!("#ifndef B\n{line}\n#else\n#undef A\n#endif"),
                2 => format!("#if defined(A) && !defined E\n{line}\n#elif 1\n#define E\n#endif"),
                _ => line,
            });
        }
    }
    for _ in 0..random.below(3) {
        let end = lines.len() + 1;
        let line = random.pick(&["#undef A", "#undef F", "// nothing", "#line 7"]).to_string();
        lines.insert(random.below(end), line);
    }
    source += &lines.join("\n");
    _ = write!(source, "\nvoid main() {{\n  o = vec4({});\n", expression(random, 4));
    _ = write!(source, "#if defined B\n  o.x = {};\n#endif\n}}\n", expression(random, 3));
    source
}

/// naga reads the expanded text as it reads the source: the same module, or an error both times.
#[test]
fn the_parser_sees_the_same_shader() {
    let parse = |text: &str| {
        let options = naga::front::glsl::Options::from(ShaderStage::Fragment);
        let module = naga::front::glsl::Frontend::default().parse(&options, text).ok()?;
        // Places differ: those of the expanded text are found again by `Expanded::offset`.
        let mut text = format!("{module:?}");
        while let Some(start) = text.find("Span {") {
            let end = text[start..].find('}').expect("a closing brace");
            text.replace_range(start..=start + end, "-");
        }
        Some(text)
    };
    let (mut good, mut bad) = (0, 0);
    for seed in 0..1500 {
        let source = shader(&mut Random::new(seed));
        let expected = parse(&source);
        let expanded = preprocess(&source);
        let found = expanded.as_ref().ok().and_then(|expanded| parse(&expanded.text));
        if found != expected {
            let expanded = expanded.map(|expanded| expanded.text);
            panic!("seed {seed}:\n{source}\n{expanded:?}\n{found:?}\n{expected:?}");
        }
        if expected.is_some() { good += 1 } else { bad += 1 }
    }
    assert!(good > 300 && bad > 30, "{good} read, {bad} refused");
}
