// Exposure, a filmic curve, and sRGB.
@group(0) @binding(0) var<uniform> exposure: f32;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var glow: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn map(@location(0) uv: vec2f) -> @location(0) vec4f {
    let hdr = textureSample(image, smooth_sampler, uv).xyz + 0.1 * textureSample(glow, smooth_sampler, uv).xyz;
    let x = hdr * exposure;
    let curve = (x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14);
    let c = clamp(curve, vec3f(0.0), vec3f(1.0));
    let low = c * 12.92;
    let high = 1.055 * pow(c, vec3f(0.41666)) - 0.055;
    return vec4f(select(high, low, c < vec3f(0.0031308)), 1.0);
}
