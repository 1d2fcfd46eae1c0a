// Shafts of light: twelve steps through a shadow map, with a phase function.
@group(0) @binding(0) var<uniform> to_shadow: mat4x4f;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(0) @binding(2) var<uniform> sun: vec3f;
@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var comparing: sampler_comparison;
@group(1) @binding(2) var image: texture_2d<f32>;
@group(1) @binding(3) var smooth_sampler: sampler;

fn light(start: vec3f, way: vec3f, share: f32) -> f32 {
    let q = to_shadow * vec4f(start + way * share, 1.0);
    let open = textureSampleCompare(shadow_map, comparing, q.xy / q.w, q.z / q.w);
    return open * exp(-share * 1.5);
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f) -> @location(0) vec4f {
    let way = p - eye;
    let mu = dot(normalize(way), sun);
    let phase = 0.2 / pow(1.36 - 1.2 * mu, 1.5);
    let jitter = fract(52.9829 * fract(dot(uv, vec2f(671.1, 583.7)))) / 12.0;
    var sum = light(eye, way, jitter) + light(eye, way, jitter + 0.0833) + light(eye, way, jitter + 0.1667);
    sum += light(eye, way, jitter + 0.25) + light(eye, way, jitter + 0.3333) + light(eye, way, jitter + 0.4167);
    sum += light(eye, way, jitter + 0.5) + light(eye, way, jitter + 0.5833) + light(eye, way, jitter + 0.6667);
    sum += light(eye, way, jitter + 0.75) + light(eye, way, jitter + 0.8333) + light(eye, way, jitter + 0.9167);
    let color = textureSample(image, smooth_sampler, uv).xyz;
    return vec4f(color + vec3f(1.0, 0.9, 0.7) * (sum * phase / 12.0), 1.0);
}
