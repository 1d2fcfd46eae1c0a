//! Shaders as kernels: the examples, what becomes of each construct, and what is refused.
#![cfg(feature = "shaders")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use lowtide::generate::Random;
use lowtide::region::{DepKind, Kernel, Region};
use lowtide_io::{KernelReader, ShaderLanguage, format_line, parse_shader, read_shader, shader_place};

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/shaders");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

#[track_caller]
fn wgsl(source: &str) -> Vec<Kernel> {
    parse_shader(ShaderLanguage::Wgsl, source.as_bytes(), "test.wgsl").expect("a valid shader")
}

#[track_caller]
fn only_region(source: &str) -> Region {
    let kernels = wgsl(source);
    assert_eq!((kernels.len(), kernels[0].regions.len()), (1, 1));
    kernels[0].regions[0].clone()
}

fn opcodes(region: &Region) -> Vec<&str> {
    region.instrs().map(|instr| region.opcode(instr)).collect()
}

/// The classes and lanes of what is live at the start, by name.
fn inputs(region: &Region) -> BTreeMap<&str, (&str, u32)> {
    let of = |register: lowtide::RegisterId| {
        let info = region.registers()[register.index()];
        (region.register_name(register), (&*region.classes()[info.class.index()], info.lanes))
    };
    region.live_in().iter().map(|operand| of(operand.register)).collect()
}

#[test]
fn every_example_is_read_and_survives_a_region_file() {
    let files = examples();
    assert!(files.len() >= 40, "{} examples", files.len());
    let mut sizes = Vec::new();
    for file in &files {
        let kernels = read_shader(file).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let mut lines = String::new();
        for kernel in &kernels {
            sizes.push(kernel.instr_count());
            for region in &kernel.regions {
                lines += &format!("{}\n", format_line(kernel, region));
                for instr in region.instrs() {
                    let opcode = region.opcode(instr);
                    assert!(opcode.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{opcode}");
                    if !text.is_empty() && !region.defs(instr).is_empty() {
                        let (line, column) = shader_place(region, instr).expect("a place in the source");
                        let line = text.lines().nth(line as usize - 1).expect("a line of the source");
                        assert!((column as usize) <= line.len(), "{}: {line}", file.display());
                    }
                }
            }
        }
        let reader =
            KernelReader::from_reader(Box::new(std::io::Cursor::new(lines)), "again").expect("lines");
        let again: Vec<Kernel> = reader.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, kernels, "{}", file.display());
    }
    sizes.sort_unstable();
    assert!(sizes[0] <= 25 && sizes[sizes.len() - 1] > 500, "{sizes:?}");
}

#[test]
fn spir_v_is_read_like_the_shader_it_was_made_of() {
    let file = |ending: &str| {
        let name = format!("refraction_pool.{ending}");
        examples().into_iter().find(|file| file.ends_with(&name)).expect("the example")
    };
    let [text, binary] = ["wgsl", "spv"].map(|ending| read_shader(&file(ending)).expect("a shader"));
    let count = |kernel: &Kernel| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for region in &kernel.regions {
            opcodes(region)
                .into_iter()
                .for_each(|opcode| *counts.entry(opcode.to_string()).or_default() += 1);
        }
        counts
    };
    assert_eq!(count(&text[0]), count(&binary[0]));
    assert_eq!(text[0].name, binary[0].name);
}

#[test]
fn vectors_keep_their_lanes_and_inputs_their_classes() {
    let region = only_region(
        "@group(0) @binding(0) var<uniform> scale: vec3f;
         @group(0) @binding(1) var image: texture_2d<f32>;
         @group(0) @binding(2) var filtering: sampler;
         @fragment fn f(@location(0) uv: vec2f, @builtin(position) at: vec4f) -> @location(0) vec4f {
             let color = textureSample(image, filtering, uv * 0.5);
             return vec4f(color.xyz * scale, at.x);
         }",
    );
    assert_eq!(opcodes(&region), ["mul", "tex", "mul", "mov"], "the output is one register");
    let lanes: Vec<u32> = (region.instrs())
        .map(|instr| region.registers()[region.defs(instr)[0].operand.register.index()].lanes)
        .collect();
    assert_eq!(lanes, [2, 4, 3, 4]);
    let expected = [
        ("0.5", ("constant", 1)),
        ("position", ("builtin", 4)),
        ("scale", ("uniform", 3)),
        ("uv", ("interpolant", 2)),
    ];
    assert_eq!(inputs(&region), BTreeMap::from(expected));
    // Of the sample, only three lanes are read.
    let product = region.instrs().nth(2).expect("the product");
    let sample = region.defs(region.instrs().nth(1).expect("the sample"))[0].operand.register;
    assert!(region.uses(product).iter().any(|operand| operand.register == sample && operand.lanes == 7));
    assert_eq!(region.boundary(), "return");
}

#[test]
fn products_and_sums_are_one_operation_unless_the_product_is_needed() {
    let shader = |result: &str| {
        format!(
            "@fragment fn f(@location(0) a: vec3f, @location(1) b: vec3f) -> @location(0) vec4f {{
                 let p = a * b;
                 let s = p + a;
                 return vec4f({result}, 1.0);
             }}"
        )
    };
    assert_eq!(opcodes(&only_region(&shader("s"))), ["mad"]);
    assert_eq!(opcodes(&only_region(&shader("s / p"))), ["mul", "add", "rcp", "mul"]);
}

#[test]
fn what_nobody_needs_is_left_out_and_nothing_is_computed_twice() {
    let region = only_region(
        "fn square(x: vec3f) -> vec3f { return x * x; }
         @fragment fn f(@location(0) a: vec3f) -> @location(0) vec4f {
             let unused = normalize(a);
             return vec4f(square(a) + square(a).zxy, 1.0);
         }",
    );
    assert_eq!(opcodes(&region), ["mul", "add"]);
}

#[test]
fn control_flow_and_barriers_end_regions() {
    let kernels = wgsl(
        "var<workgroup> tile: array<f32, 64>;
         @group(0) @binding(0) var<storage, read_write> data: array<f32>;
         @compute @workgroup_size(64) fn f(@builtin(local_invocation_index) i: u32) {
             tile[i] = data[i] * 2.0;
             workgroupBarrier();
             var sum = 0.0;
             for (var j = 0u; j < 64u; j++) { sum += tile[j]; }
             if sum > 1.0 { data[i] = sum; }
         }",
    );
    let regions = &kernels[0].regions;
    let ends: Vec<&str> = regions.iter().map(Region::boundary).collect();
    assert_eq!(ends[0], "barrier");
    assert!(ends.contains(&"if") && ends.contains(&"loop"), "{ends:?}");
    assert_eq!(regions.iter().map(Region::loop_depth).max(), Some(1));
    // The sum lives from block to block.
    let body = regions.iter().find(|region| opcodes(region).contains(&"lds")).expect("the body of the loop");
    assert!(!body.live_in().is_empty() && !body.live_out().is_empty());
}

#[test]
fn memory_keeps_its_order() {
    let region = only_region(
        "@group(0) @binding(0) var<storage, read_write> a: array<f32>;
         @group(0) @binding(1) var<storage, read> b: array<f32>;
         @compute @workgroup_size(1) fn f(@builtin(global_invocation_id) id: vec3u) {
             let old = a[id.x];
             a[id.x] = old + b[id.y];
             a[id.y] = a[id.z] + b[id.x];
         }",
    );
    assert_eq!(opcodes(&region), ["ld", "ld", "add", "st", "ld", "ld", "add", "st"]);
    let mut order: Vec<(u32, u32)> = (region.deps().iter())
        .filter(|dep| dep.kind == DepKind::Memory)
        .map(|dep| (dep.from.0, dep.to.0))
        .collect();
    order.sort_unstable();
    assert_eq!(order, [(0, 3), (3, 4), (3, 7), (4, 7)], "loads of b are free to move");
    let flags: Vec<&str> = region.instrs().map(|instr| region.flags(instr)).collect();
    assert_eq!(flags, ["l", "lr", "r", "s", "l", "lr", "r", "s"], "and only they can be done again");
}

#[test]
fn variables_that_are_indexed_are_memory() {
    let region = only_region(
        "@fragment fn f(@location(0) a: vec4f, @location(1) @interpolate(flat) i: u32) -> @location(0) vec4f {
             var table: array<vec4f, 2>;
             table[0] = a;
             table[1] = a * a;
             return table[i];
         }",
    );
    assert_eq!(opcodes(&region), ["stl", "mul", "stl", "ldl"]);
}

#[test]
fn a_function_that_returns_early_is_several_regions() {
    let kernels = wgsl(
        "fn pick(x: f32) -> f32 {
             if x > 0.5 { return sqrt(x); }
             return x * x;
         }
         @fragment fn f(@location(0) x: f32) -> @location(0) vec4f { return vec4f(pick(x) + 1.0); }",
    );
    let all: Vec<&str> = kernels[0].regions.iter().flat_map(opcodes).collect();
    assert_eq!(all, ["slt", "rsq", "rcp", "mul", "add"]);
    let last = kernels[0].regions.last().expect("a region");
    assert_eq!(
        inputs(last).values().filter(|(class, _)| *class == "reg").count(),
        1,
        "the result of the call"
    );
}

/// How often an operation occurs in all regions.
fn count(kernels: &[Kernel], opcode: &str) -> usize {
    let regions = kernels.iter().flat_map(|kernel| &kernel.regions);
    regions.flat_map(opcodes).filter(|own| *own == opcode).count()
}

/// A fragment shader of the inputs a and b, of three lanes each.
fn of_two(body: &str) -> String {
    format!(
        "@fragment fn f(@location(0) a: vec3f, @location(1) b: vec3f, @location(2) @interpolate(flat) i: vec2i)
         -> @location(0) vec4f {{ {body} }}"
    )
}

#[test]
fn operations_that_look_alike_are_not_the_same() {
    for (body, opcode, expected) in [
        ("return vec4f((a + b) * (a - b), 1.0);", "add", 2),
        ("return vec4f((a - b) * (a - b), 1.0);", "add", 1),
        ("return vec4f(exp2(a) * exp2(-a), 1.0);", "ex2", 2),
        ("return vec4f((a * 4.0) / (a / 4.0), 1.0);", "mul", 3),
        ("return vec4f(select(a.x, b.x, a.y < b.y), select(a.x, b.x, a.y > b.y), 1.0, 1.0);", "slt", 2),
        ("return vec4f(select(a.x, b.x, a.y < b.y), select(b.x, a.x, b.y > a.y), 1.0, 1.0);", "slt", 1),
        (
            "return vec4f(select(a.x, b.x, i.x < i.y), select(a.x, b.x, u32(i.x) < u32(i.y)), 1.0, 1.0);",
            "slt",
            2,
        ),
        ("let u = u32(i.x); return vec4f(unpack2x16float(u), unpack2x16snorm(u));", "unpack", 2),
        ("let u = u32(i.x); return unpack4x8unorm(u) + vec4f(unpack2x16float(u), 0.0, 1.0);", "unpack", 2),
        ("let u = u32(i.x); return unpack4x8unorm(u) * unpack4x8unorm(u).wzyx;", "unpack", 1),
    ] {
        assert_eq!(count(&wgsl(&of_two(body)), opcode), expected, "{body}");
    }
    // A sum of a product with a minus sign is still one operation.
    assert_eq!(opcodes(&only_region(&of_two("return vec4f(a - a * b, 1.0);"))), ["mad"]);
}

#[test]
fn a_column_of_a_matrix_has_all_its_lanes() {
    let shader = |result: &str| {
        format!(
            "struct View {{ turn: mat4x4f }}
             @group(0) @binding(0) var<uniform> view: View;
             @fragment fn f(@location(0) a: vec4f) -> @location(0) vec4f {{ return {result}; }}"
        )
    };
    let region = only_region(&shader("a * view.turn[3]"));
    let product = region.instrs().next().expect("the product");
    let lanes =
        region.uses(product).iter().map(|operand| (region.register_name(operand.register), operand.lanes));
    assert_eq!(lanes.collect::<BTreeMap<_, _>>(), BTreeMap::from([("a", 15), ("view.0.3", 15)]));
    let region = only_region(&shader("a * view.turn[1][2]"));
    let product = region.instrs().next().expect("the product");
    let lanes =
        region.uses(product).iter().map(|operand| (region.register_name(operand.register), operand.lanes));
    assert_eq!(lanes.collect::<BTreeMap<_, _>>(), BTreeMap::from([("a", 15), ("view.0.1", 4)]));
    // In a variable and in a buffer.
    let region = only_region(
        "@group(0) @binding(0) var<storage, read_write> out: array<mat3x3f>;
         @compute @workgroup_size(1) fn f(@builtin(global_invocation_id) id: vec3u) {
             var m = mat3x3f();
             m[1][2] = f32(id.x);
             m[1].x = f32(id.y);
             out[id.x][2][1] = m[1][2] * m[1][0];
         }",
    );
    assert_eq!(opcodes(&region), ["u2f", "u2f", "mul", "st"]);
}

#[test]
fn transpositions_cost_nothing() {
    let body = "let m = transpose(transpose(mat3x3f(a, b, a * b))); return vec4f(m * a, 1.0);";
    assert_eq!(opcodes(&only_region(&of_two(body))), ["mul", "mul", "mad", "mad"]);
}

/// What a variable held before a branch is not what it holds after it.
#[test]
fn a_value_outlives_the_variable_it_was_read_from() {
    let kernels = wgsl(
        "@fragment fn f(@location(0) a: vec4f) -> @location(0) vec4f {
             var x = a * a;
             if a.x > 0.5 { x = x + a; }
             let before = x;
             if a.y > 0.5 { x = sin(x); }
             return before * x;
         }",
    );
    let last = kernels[0].regions.last().expect("a region");
    assert_eq!(opcodes(last), ["mul"]);
    let registers = |region: &Region| inputs(region).values().filter(|(class, _)| *class == "reg").count();
    assert_eq!(registers(last), 2, "the old value and the new one");
    // Where both are the same, they are one register.
    let kernels = wgsl(
        "@fragment fn f(@location(0) a: vec4f) -> @location(0) vec4f {
             var x = a * a;
             if a.x > 0.5 { x = x + a; }
             let before = x;
             var y = a;
             if a.y > 0.5 { y = sin(x); }
             return before * y + x;
         }",
    );
    let last = kernels[0].regions.last().expect("a region");
    assert_eq!((opcodes(last), registers(last)), (vec!["mad"], 2));
}

/// The same in a loop that changes the variable after it is read, and for what a function was given.
#[test]
fn a_value_outlives_its_variable_in_loops_and_calls() {
    let kernels = wgsl(
        "var<private> state: f32;
         fn next(old: f32) -> f32 {
             state = state * 1.5;
             if state > 9.0 { return old + 1.0; }
             return old + state;
         }
         @fragment fn f(@location(0) a: f32) -> @location(0) vec4f {
             state = a;
             if a > 0.5 { state = a * a; }
             return vec4f(next(state));
         }",
    );
    let [.., early, late] = &kernels[0].regions[..] else { panic!("several regions") };
    for (region, expected) in [(early, 1), (late, 2)] {
        assert_eq!(opcodes(region), ["add"]);
        let registers = inputs(region).values().filter(|(class, _)| *class == "reg").count();
        assert_eq!(registers, expected);
    }
    let kernels = wgsl(
        "@fragment fn f(@location(0) a: f32) -> @location(0) vec4f {
             var x = a;
             if a > 0.5 { x = a * a; }
             let start = x;
             var sum = 0.0;
             loop {
                 sum = sum + start;
                 x = x * 1.5;
                 if x > 9.0 { break; }
             }
             return vec4f(sum);
         }",
    );
    let body = kernels[0].regions.iter().find(|region| region.loop_depth() == 1).expect("the loop");
    let registers = inputs(body).values().filter(|(class, _)| *class == "reg").count();
    assert_eq!(registers, 3, "the sum, the variable and what it held before the loop");
}

#[test]
fn an_exchange_needs_what_it_compares_with() {
    let region = only_region(
        "@group(0) @binding(0) var<storage, read_write> a: array<atomic<u32>>;
         @compute @workgroup_size(1) fn f(@builtin(global_invocation_id) id: vec3u) {
             let compared = id.y * id.z;
             let result = atomicCompareExchangeWeak(&a[id.x], compared, id.z);
         }",
    );
    assert_eq!(opcodes(&region), ["imul", "atom"]);
    assert!(region.deps().iter().any(|dep| (dep.from.0, dep.to.0) == (0, 1)));
}

#[test]
fn a_texture_that_is_chosen_needs_its_index() {
    let shader = |result: &str| {
        format!(
            "enable wgpu_binding_array;
             @group(0) @binding(0) var images: binding_array<texture_2d<f32>, 8>;
             @group(0) @binding(1) var filters: binding_array<sampler, 8>;
             @fragment fn f(@location(0) at: vec2f, @location(1) @interpolate(flat) i: i32)
             -> @location(0) vec4f {{
                 let which = i * 2;
                 return {result};
             }}"
        )
    };
    for (result, expected) in [
        ("textureSampleLevel(images[which], filters[0], at, 0.0)", "txl"),
        ("textureSampleLevel(images[0], filters[which], at, 0.0)", "txl"),
        ("textureLoad(images[which], vec2i(i), 0)", "txf"),
        ("vec4f(f32(textureDimensions(images[which]).x))", "txq"),
    ] {
        let region = only_region(&shader(result));
        assert_eq!(opcodes(&region)[..2], ["imul", expected], "{result}");
        assert!(region.deps().iter().any(|dep| (dep.from.0, dep.to.0) == (0, 1)), "{result}");
    }
}

#[test]
fn the_end_is_a_return_after_an_early_one_too() {
    let kernels = wgsl(
        "@fragment fn f(@location(0) a: vec4f) -> @location(0) vec4f {
             if a.x > 0.5 { return a * a; }
             return a + a;
         }",
    );
    let ends: Vec<&str> = kernels[0].regions.iter().map(Region::boundary).collect();
    assert_eq!(ends, ["if", "return", "return"]);
}

#[test]
fn mistakes_are_reported_with_file_and_line() {
    let error = |language, source: &str| {
        let result = parse_shader(language, source.as_bytes(), "bad");
        result.expect_err("an invalid shader").to_string()
    };
    let message = error(ShaderLanguage::Wgsl, "@fragment\nfn f() -> @location(0) vec4f {\n  return foo;\n}");
    assert!(message.starts_with("bad:3:") && message.contains("foo"), "{message}");
    let message = error(ShaderLanguage::Wgsl, "@fragment\nfn f() -> @location(0) vec4f {\n  return 1.0;\n}");
    assert!(message.starts_with("bad:"), "{message}");
    let glsl = ShaderLanguage::of("a.frag".as_ref()).expect("a shader");
    let message = error(glsl, "#version 450\nvoid main() {\n  x = 1.0;\n}");
    assert!(message.starts_with("bad:3:"), "{message}");
    for (language, source, part) in [
        (ShaderLanguage::SpirV, "no", "bad"),
        (ShaderLanguage::Wgsl, "", "no entry point"),
        (
            ShaderLanguage::Wgsl,
            "@fragment fn f() -> @location(0) vec4f { return vec4f(1.0); }",
            "no operation",
        ),
    ] {
        let message = error(language, source);
        assert!(message.contains(part), "{message}");
    }
    assert!(
        read_shader("missing.wgsl".as_ref()).expect_err("no file").to_string().contains("cannot be read")
    );
    assert!(read_shader("shader.txt".as_ref()).expect_err("no shader").to_string().contains(".wgsl"));
}

#[test]
fn calls_that_multiply_are_refused() {
    let mut source = "fn deep0(x: f32) -> f32 { return x * 1.5 + 1.0; }\n".to_string();
    for level in 1..40 {
        let below = level - 1;
        source += &format!("fn deep{level}(x: f32) -> f32 {{ return deep{below}(deep{below}(x)); }}\n");
    }
    source += "@fragment fn main(@location(0) x: f32) -> @location(0) vec4f { return vec4f(deep39(x)); }";
    let error = parse_shader(ShaderLanguage::Wgsl, source.as_bytes(), "large").expect_err("too large");
    assert!(error.to_string().contains("too large"), "{error}");
}

/// What stands in registers has an end, whatever it is made of.
#[test]
fn values_that_are_too_large_are_refused() {
    for element in ["f32", "vec4f", "mat4x4f", "array<mat2x2f, 4>"] {
        let source = format!(
            "var<private> a: array<{element}, 1000000>;\n\
             @fragment fn f(@location(0) x: f32) -> @location(0) vec4f {{ let b = a[1]; return vec4f(x * x); }}"
        );
        let error = parse_shader(ShaderLanguage::Wgsl, source.as_bytes(), "large").expect_err("too large");
        assert!(error.to_string().contains("a value of over 65536 numbers"), "{element}: {error}");
    }
}

/// Calls, types, branches and expressions may be nested, but not without end.
#[test]
fn what_is_nested_too_deep_is_refused() {
    let main = "@fragment fn main(@location(0) x: f32) -> @location(0) vec4f";
    let mut calls = "fn call0(x: f32) -> f32 { return x * 1.5; }\n".to_string();
    let mut types = "struct S0 { x: f32 }\n".to_string();
    let mut branches = format!("{main} {{ var y = x; if x > 1.0 {{ y = 2.0; }}");
    for level in 1..1500 {
        let below = level - 1;
        calls += &format!("fn call{level}(x: f32) -> f32 {{ return call{below}(x); }}\n");
        types += &format!("struct S{level} {{ x: S{below} }}\n");
        branches += &format!(" else if x > {level}.0 {{ y = {level}.0 * y; }}");
    }
    calls += &format!("{main} {{ return vec4f(call1499(x)); }}");
    types += &format!("{main} {{ var s: S1499; let t = s; return vec4f(x * x); }}");
    branches += "return vec4f(x * y); }";
    let glsl = |body: String| {
        format!(
            "#version 450\nlayout(location = 0) in float x; layout(location = 0) out vec4 o;\nvoid main() {{ {body} }}"
        )
    };
    let fragment = ShaderLanguage::GlslFragment;
    for (language, source) in [
        (ShaderLanguage::Wgsl, calls),
        (ShaderLanguage::Wgsl, types),
        (ShaderLanguage::Wgsl, branches),
        (ShaderLanguage::Wgsl, format!("{main} {{ return vec4f(x{}); }}", " + x".repeat(100_000))),
        (fragment, glsl(format!("o = vec4(x * {}x);", "- ".repeat(100_000)))),
        (fragment, glsl(format!("o = vec4({}x{});", "(".repeat(100_000), ")".repeat(100_000)))),
        (fragment, glsl(format!("/* /* */ {} o = vec4(x);", "if (x > 1.0) ".repeat(100_000)))),
        (fragment, glsl(format!("{} o = vec4(x); {}", "{".repeat(100_000), "}".repeat(100_000)))),
    ] {
        let error = parse_shader(language, source.as_bytes(), "test").expect_err("too deep");
        assert!(error.to_string().contains("levels deep"), "{error}");
    }
    // But what people and programs write is read.
    let sum = format!("{main} {{ return vec4f(x{}); }}", " + x * 1.5".repeat(1000));
    assert_eq!(wgsl(&sum)[0].instr_count(), 1001);
    let mut branches = format!("{main} {{ var y = x; if x > 1.0 {{ y = 2.0; }}");
    for level in 1..400 {
        branches += &format!(" else if x > {level}.0 {{ y = {level}.0 * y; }}");
    }
    assert_eq!(wgsl(&(branches + "return vec4f(x * y); }"))[0].regions.len(), 800);
}

/// Time and memory have an end, whatever is copied how often.
#[test]
fn shaders_that_grow_without_end_are_refused() {
    let mut copies = "var<private> a: array<f32, 60000>;\n\
                      @fragment fn f(@location(0) x: f32) -> @location(0) vec4f {\n"
        .to_string();
    for number in 0..1_000 {
        copies += &format!("a[{number}] = x; let b{number} = a;\n");
    }
    copies += "return vec4f(x * x); }";
    let mut branches =
        "fn call0(x: f32) -> f32 { var y = x; if x > 1.0 { y = x * x; } return y; }\n".to_string();
    for level in 1..=13 {
        let below = level - 1;
        branches += &format!("fn call{level}(x: f32) -> f32 {{ return call{below}(call{below}(x)); }}\n");
    }
    branches += "@fragment fn main(@location(0) x: f32) -> @location(0) vec4f { return vec4f(call13(x)); }";
    for source in [copies, branches] {
        let error = parse_shader(ShaderLanguage::Wgsl, source.as_bytes(), "large").expect_err("too large");
        assert!(error.to_string().contains("too large"), "{error}");
    }
}

/// A few hundred bytes can ask for gigabytes: macros and constants that double, and names for every function.
#[test]
fn small_files_that_ask_for_much_are_refused() {
    let fragment = ShaderLanguage::GlslFragment;
    let head = "#version 450\nlayout(location = 0) in float x; layout(location = 0) out vec4 o;\n";
    let main = "@fragment fn main(@location(0) x: f32) -> @location(0) vec4f";
    let doubling = |first: &str, levels: usize| {
        let mut source = format!("#define A0 {first}\n");
        (1..=levels).for_each(|level| source += &format!("#define A{level} A{0} A{0}\n", level - 1));
        source
    };
    let mut constants = "const a0 = array(1.0, 2.0);\n".to_string();
    let mut arrays = "const float a0[2] = float[2](1.0, 2.0);\n".to_string();
    for level in 1..28 {
        let (below, sizes) = (level - 1, "[2]".repeat(level + 1));
        constants += &format!("const a{level} = array(a{below}, a{below});\n");
        arrays += &format!("const float a{level}{sizes} = float{sizes}(a{below}, a{below});\n");
    }
    let mut structures = "struct S0 { float a; };\n".to_string();
    (1..28).for_each(|level| structures += &format!("struct S{level} {{ S{0} a, b; }};\n", level - 1));
    let functions: String = (0..3000).map(|number| format!("void f{number}() {{}}\n")).collect();
    let globals: String = (0..3000).map(|number| format!("float g{number};\n")).collect();
    let calls: String = (0..5000).map(|number| format!("fn f{number}() {{}}\n")).collect();
    // Half of the brackets stand in a branch that is not compiled.
    let hidden = format!("{}\n#if 0\n{}\n#endif\n", "(".repeat(3000), ")".repeat(3000)).repeat(10);
    for (language, source, message) in [
        (fragment, format!("{head}{}void main() {{ o = vec4(A18 x); }}", doubling("(", 18)), "levels deep"),
        (
            fragment,
            format!("{head}{}void main() {{ o = vec4(x A40); }}", doubling("", 40)),
            "steps to expand",
        ),
        (fragment, format!("{head}#define F(x) x+x\n{}x", "F(".repeat(40)), "no closing bracket"),
        (fragment, format!("{head}void main() {{ o = vec4({hidden}x); }}"), "levels deep"),
        (
            fragment,
            format!("{head}{arrays}void main() {{ o = vec4(x * x); }}"),
            "constants and structures have more than",
        ),
        (
            fragment,
            format!("{head}{structures}void main() {{ o = vec4(x * x); }}"),
            "constants and structures have more than",
        ),
        (
            fragment,
            format!("{head}{functions}{globals}void main() {{ o = vec4(x); }}"),
            "has 3001 functions and 3002 global names",
        ),
        (ShaderLanguage::Wgsl, format!("{calls}{main} {{ return vec4f(x); }}"), "has 5001 functions"),
        (
            ShaderLanguage::Wgsl,
            format!("{constants}{main} {{ return vec4f(x); }}"),
            "constants and structures have more than",
        ),
        (ShaderLanguage::Wgsl, " ".repeat((4 << 20) + 1), "a shader has at most 4194304 bytes"),
    ] {
        let error = parse_shader(language, source.as_bytes(), "small").expect_err("too large").to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.starts_with("small:"), "{error}");
    }
}

/// Macros, conditions and continued lines keep their places.
#[test]
fn an_error_behind_macros_has_its_line() {
    let source = "#version 450\n#define TWICE(v) (v + \\\n  v)\nlayout(location = 0) in float x;\n\
                  layout(location = 0) out vec4 o;\n#if 0\nfail\n#else\nvoid main() {\n  o = vec4(TWICE(x));\n  \
                  o = y;\n}\n#endif\n";
    let error = parse_shader(ShaderLanguage::GlslFragment, source.as_bytes(), "a.frag").expect_err("no y");
    assert!(error.to_string().starts_with("a.frag:11: "), "{error}");
    let good = source.replace("  o = y;\n", "");
    let kernels = parse_shader(ShaderLanguage::GlslFragment, good.as_bytes(), "a.frag").expect("valid");
    let region = &kernels[0].regions[0];
    let places: Vec<_> = region.instrs().filter_map(|instr| shader_place(region, instr)).collect();
    // The sum begins with the argument of the macro.
    assert_eq!(places, [(10, 18)]);
}

/// A parser that panics is an error, and the terminal stays clean: `crates/lowtide-cli/tests/cli` looks at
/// it.
#[test]
fn a_panic_of_the_parser_is_an_error() {
    let source = "#version 450\nlayout(local_size_x = 1) in;\nlayout(set = 0, binding = 0) buffer B { float y; };\n\
                  const float a[2000000000] = float[2000000000](1.0);\nvoid main() { y = a[2]; }\n";
    let error =
        parse_shader(ShaderLanguage::GlslCompute, source.as_bytes(), "a.comp").expect_err("too large");
    assert!(error.to_string().starts_with("a.comp: is damaged: the parser failed: "), "{error}");
}

/// Places are right behind letters of several bytes, whatever a front end counts.
#[test]
fn letters_of_several_bytes_do_no_harm() {
    let glsl = "#version 450\n// äöü→日本語\nlayout(location = 0) in vec4 a;\n\
                layout(location = 0) out vec4 o; /* ä */\nvoid main() { /* äöü→日本語 */ o = a * a; }\n";
    let kernels =
        parse_shader(ShaderLanguage::GlslFragment, glsl.as_bytes(), "a.frag").expect("a valid shader");
    let region = &kernels[0].regions[0];
    let (line, _) = shader_place(region, region.instrs().next().expect("the product")).expect("a place");
    assert_eq!(line, 5);
}

/// Damaged shaders are refused or read, never more.
#[test]
fn damaged_shaders_do_no_harm() {
    let files = examples();
    let mut random = Random::new(7);
    for round in 0..400 {
        let file = &files[random.below(files.len())];
        let language = ShaderLanguage::of(file).expect("a shader");
        let mut bytes = std::fs::read(file).expect("an example");
        for _ in 0..1 + random.below(3) {
            let place = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(place.max(1)),
                1 => drop(bytes.remove(place)),
                2 => bytes[place] = random.pick(b"0;{}()+,.xf "),
                _ => {
                    let end = (place + 1 + random.below(30)).min(bytes.len());
                    let part = bytes[place..end].to_vec();
                    let target = random.below(bytes.len());
                    bytes.splice(target..target, part);
                }
            }
        }
        if let Ok(kernels) = parse_shader(language, &bytes, "damaged") {
            assert!(kernels.iter().all(|kernel| kernel.instr_count() > 0), "round {round}");
        }
    }
}

#[test]
fn damaged_spir_v_does_no_harm() {
    let file = examples().into_iter().find(|file| file.ends_with("toon.spv")).expect("the example");
    let whole = std::fs::read(file).expect("an example");
    let mut random = Random::new(8);
    for _ in 0..1000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let place = random.below(bytes.len());
            bytes[place] = random.pick(&[0, 1, 2, 5, 17, 61, 127, 255, bytes[place] ^ 1]);
        }
        match parse_shader(ShaderLanguage::SpirV, &bytes, "damaged") {
            Ok(kernels) => assert!(kernels.iter().all(|kernel| kernel.instr_count() > 0)),
            Err(error) => assert!(error.to_string().starts_with("damaged: "), "{error}"),
        }
    }
}
