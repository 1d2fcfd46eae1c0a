// Ambient occlusion from depth: sixteen samples in a hemisphere that is turned by noise.
@group(0) @binding(0) var<uniform> projection: mat4x4f;
@group(0) @binding(1) var<uniform> unproject: vec4f;
@group(0) @binding(2) var<uniform> radius: f32;
@group(1) @binding(0) var depth_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var noise_map: texture_2d<f32>;
@group(1) @binding(3) var nearest: sampler;

fn hidden(p: vec3f, frame: mat3x3f, offset: vec3f) -> f32 {
    let at = p + frame * offset * radius;
    let seen = projection * vec4f(at, 1.0);
    let uv = seen.xy / seen.w * 0.5 + 0.5;
    let depth = textureSample(depth_map, nearest, uv).x;
    let range = smoothstep(0.0, 1.0, radius / abs(p.z - depth));
    return step(at.z + 0.02, depth) * range;
}

@fragment
fn occlude(@location(0) uv: vec2f, @location(1) ray: vec3f) -> @location(0) vec4f {
    let depth = textureSample(depth_map, nearest, uv).x;
    let p = ray * depth;
    let n = normalize(textureSample(normal_map, nearest, uv).xyz * 2.0 - 1.0);
    let turn = textureSample(noise_map, nearest, uv * unproject.xy).xyz * 2.0 - 1.0;
    let t = normalize(turn - n * dot(turn, n));
    let frame = mat3x3f(t, cross(n, t), n);
    var sum = hidden(p, frame, vec3f(0.05, 0.08, 0.03)) + hidden(p, frame, vec3f(-0.09, 0.02, 0.07));
    sum += hidden(p, frame, vec3f(0.11, -0.06, 0.04)) + hidden(p, frame, vec3f(-0.04, -0.13, 0.09));
    sum += hidden(p, frame, vec3f(0.17, 0.10, 0.05)) + hidden(p, frame, vec3f(-0.12, 0.19, 0.11));
    sum += hidden(p, frame, vec3f(0.06, -0.24, 0.14)) + hidden(p, frame, vec3f(-0.27, -0.05, 0.16));
    sum += hidden(p, frame, vec3f(0.31, 0.14, 0.08)) + hidden(p, frame, vec3f(-0.16, 0.33, 0.19));
    sum += hidden(p, frame, vec3f(0.22, -0.38, 0.21)) + hidden(p, frame, vec3f(-0.44, -0.18, 0.12));
    sum += hidden(p, frame, vec3f(0.49, 0.25, 0.28)) + hidden(p, frame, vec3f(-0.30, 0.54, 0.33));
    sum += hidden(p, frame, vec3f(0.41, -0.59, 0.37)) + hidden(p, frame, vec3f(-0.68, -0.36, 0.42));
    let light = 1.0 - sum / 16.0;
    return vec4f(vec3f(light * light), 1.0);
}
