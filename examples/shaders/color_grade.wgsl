// Lift, gamma and gain, saturation, and a table of colours that is read twice.
@group(0) @binding(0) var<uniform> lift: vec3f;
@group(0) @binding(1) var<uniform> gamma: vec3f;
@group(0) @binding(2) var<uniform> gain: vec3f;
@group(0) @binding(3) var<uniform> saturation: f32;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var table: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn grade(@location(0) uv: vec2f) -> @location(0) vec4f {
    let c = textureSample(image, smooth_sampler, uv).xyz;
    let lifted = c * (1.5 - 0.5 * lift) + 0.5 * lift - 0.5;
    let graded = pow(max(lifted * gain, vec3f(0.0)), 1.0 / gamma);
    let gray = dot(graded, vec3f(0.2126, 0.7152, 0.0722));
    let s = clamp(mix(vec3f(gray), graded, saturation), vec3f(0.0), vec3f(1.0));
    let slice = s.z * 15.0;
    let first = floor(slice);
    let x = (s.x * 15.0 + 0.5) / 256.0;
    let y = (s.y * 15.0 + 0.5) / 16.0;
    let a = textureSample(table, smooth_sampler, vec2f(x + first / 16.0, y)).xyz;
    let b = textureSample(table, smooth_sampler, vec2f(x + (first + 1.0) / 16.0, y)).xyz;
    return vec4f(mix(a, b, slice - first), 1.0);
}
