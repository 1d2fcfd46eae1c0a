// A soft shadow: sixteen comparisons with a shadow map around a place that is turned for each pixel.
@group(0) @binding(0) var<uniform> to_shadow: mat4x4f;
@group(0) @binding(1) var<uniform> sun: vec3f;
@group(0) @binding(2) var<uniform> size: f32;
@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var comparing: sampler_comparison;

fn open(at: vec3f, turn: vec2f, x: f32, y: f32) -> f32 {
    let offset = vec2f(turn.x * x - turn.y * y, turn.y * x + turn.x * y) * size;
    return textureSampleCompare(shadow_map, comparing, at.xy + offset, at.z);
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) normal: vec3f, @location(2) color: vec3f) -> @location(0) vec4f {
    let n = normalize(normal);
    let q = to_shadow * vec4f(p + n * 0.02, 1.0);
    let at = q.xyz / q.w;
    let angle = fract(sin(dot(p.xy, vec2f(12.9898, 78.233))) * 43758.5453) * 6.2831853;
    let turn = vec2f(cos(angle), sin(angle));
    let a = open(at, turn, -0.94, -0.40) + open(at, turn, 0.95, -0.77) + open(at, turn, -0.09, -0.93)
        + open(at, turn, 0.34, 0.29);
    let b = open(at, turn, -0.92, 0.46) + open(at, turn, -0.82, -0.88) + open(at, turn, -0.38, 0.28)
        + open(at, turn, 0.97, 0.76);
    let c = open(at, turn, 0.44, -0.98) + open(at, turn, 0.54, -0.47) + open(at, turn, -0.26, -0.42)
        + open(at, turn, 0.79, 0.19);
    let d = open(at, turn, -0.24, 1.00) + open(at, turn, -0.81, 0.91) + open(at, turn, 0.20, 0.78)
        + open(at, turn, 0.14, -0.14);
    let light = (a + b + c + d) / 16.0;
    return vec4f(color * (0.15 + light * max(dot(n, sun), 0.0)), 1.0);
}
