// A tiled pool below moving water, for the SPIR-V example: the same shader as refraction_pool.spv.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> sun: vec3f;
@group(0) @binding(2) var<uniform> time: f32;
@group(1) @binding(0) var tiles: texture_2d<f32>;
@group(1) @binding(1) var ripples: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f) -> @location(0) vec4f {
    let a = textureSample(ripples, smooth_sampler, uv * 3.0 + vec2f(time, 0.3 * time)).xy * 2.0 - 1.0;
    let b = textureSample(ripples, smooth_sampler, uv * 5.0 - vec2f(0.2 * time, time)).xy * 2.0 - 1.0;
    let n = normalize(vec3f(a.x + b.x, 6.0, a.y + b.y));
    let v = normalize(p - eye);
    let bent = refract(v, n, 0.75);
    let floor_at = p.xz + bent.xz * (2.0 / max(-bent.y, 0.2));
    let tile = textureSample(tiles, smooth_sampler, floor_at * 0.25).xyz;
    let caustic = pow(clamp(1.0 - length(a - b) * 0.5, 0.0, 1.0), 6.0);
    let depth = exp(-vec3f(0.3, 0.1, 0.05) * (2.0 / max(-bent.y, 0.2)));
    let r = reflect(v, n);
    let fresnel = 0.02 + 0.98 * pow(1.0 + dot(v, n), 5.0);
    let sparkle = pow(max(dot(r, sun), 0.0), 200.0);
    return vec4f(tile * depth * (0.6 + caustic) * (1.0 - fresnel) + vec3f(0.5, 0.7, 0.9) * fresnel + sparkle, 1.0);
}
