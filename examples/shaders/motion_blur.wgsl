// Blur along the motion of each pixel, from where it was in the last frame.
@group(0) @binding(0) var<uniform> back: mat4x4f;
@group(0) @binding(1) var<uniform> before: mat4x4f;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var depth_map: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn blur(@location(0) uv: vec2f) -> @location(0) vec4f {
    let depth = textureSample(depth_map, smooth_sampler, uv).x;
    let screen = vec4f(uv.x * 2.0 - 1.0, 1.0 - uv.y * 2.0, depth, 1.0);
    let world = back * screen;
    let last = before * (world / world.w);
    let way = (screen.xy - last.xy / last.w) * vec2f(0.0625, -0.0625);
    var color = textureSample(image, smooth_sampler, uv).xyz;
    color += textureSample(image, smooth_sampler, uv - way).xyz;
    color += textureSample(image, smooth_sampler, uv - way * 2.0).xyz;
    color += textureSample(image, smooth_sampler, uv - way * 3.0).xyz;
    color += textureSample(image, smooth_sampler, uv - way * 4.0).xyz;
    color += textureSample(image, smooth_sampler, uv - way * 5.0).xyz;
    return vec4f(color / 6.0, 1.0);
}
