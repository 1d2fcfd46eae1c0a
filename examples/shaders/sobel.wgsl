// Outlines from depth and normals of a deferred renderer.
@group(0) @binding(0) var<uniform> texel: vec2f;
@group(0) @binding(1) var<uniform> ink: vec3f;
@group(1) @binding(0) var depth_map: texture_2d<f32>;
@group(1) @binding(1) var image: texture_2d<f32>;
@group(1) @binding(2) var nearest: sampler;

fn depth(uv: vec2f, x: f32, y: f32) -> f32 {
    return textureSample(depth_map, nearest, uv + vec2f(x, y) * texel).x;
}

@fragment
fn outline(@location(0) uv: vec2f) -> @location(0) vec4f {
    let a = depth(uv, -1.0, -1.0);
    let b = depth(uv, 0.0, -1.0);
    let c = depth(uv, 1.0, -1.0);
    let d = depth(uv, -1.0, 0.0);
    let f = depth(uv, 1.0, 0.0);
    let g = depth(uv, -1.0, 1.0);
    let h = depth(uv, 0.0, 1.0);
    let i = depth(uv, 1.0, 1.0);
    let x = c + 2.0 * f + i - a - 2.0 * d - g;
    let y = g + 2.0 * h + i - a - 2.0 * b - c;
    let edge = smoothstep(0.01, 0.03, sqrt(x * x + y * y));
    let color = textureSample(image, nearest, uv).xyz;
    return vec4f(mix(color, ink, edge), 1.0);
}
