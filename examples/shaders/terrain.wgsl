// Terrain: four materials blended by weight and height, with slopes and fog.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> sun: vec3f;
@group(0) @binding(2) var<uniform> fog: vec4f;
@group(1) @binding(0) var weights: texture_2d<f32>;
@group(1) @binding(1) var grass: texture_2d<f32>;
@group(1) @binding(2) var rock: texture_2d<f32>;
@group(1) @binding(3) var sand: texture_2d<f32>;
@group(1) @binding(4) var snow: texture_2d<f32>;
@group(1) @binding(5) var normal_map: texture_2d<f32>;
@group(1) @binding(6) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f) -> @location(0) vec4f {
    let near = uv * 64.0;
    let w = textureSample(weights, smooth_sampler, uv);
    let n = normalize(textureSample(normal_map, smooth_sampler, uv).xyz * 2.0 - 1.0);
    let a = textureSample(grass, smooth_sampler, near);
    let b = textureSample(rock, smooth_sampler, near);
    let c = textureSample(sand, smooth_sampler, near);
    let d = textureSample(snow, smooth_sampler, near);
    let heights = vec4f(a.w, b.w, c.w, d.w) + w;
    let highest = max(max(heights.x, heights.y), max(heights.z, heights.w)) - 0.2;
    let share = max(heights - highest, vec4f(0.0));
    let total = share.x + share.y + share.z + share.w;
    let color = (a.xyz * share.x + b.xyz * share.y + c.xyz * share.z + d.xyz * share.w) / total;
    let slope = smoothstep(0.6, 0.8, n.z);
    let ground = mix(b.xyz, color, slope);
    let light = max(dot(n, sun), 0.0) + 0.2 * (0.5 + 0.5 * n.z);
    let far = distance(eye, p);
    let haze = clamp(1.0 - exp(-far * fog.w * exp(-p.z * 0.01)), 0.0, 1.0);
    return vec4f(mix(ground * light, fog.xyz, haze), 1.0);
}
