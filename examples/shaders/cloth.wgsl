// Velvet with a thread pattern.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> light: vec3f;
@group(0) @binding(2) var<uniform> sheen: vec3f;
@group(1) @binding(0) var cloth_map: texture_2d<f32>;
@group(1) @binding(1) var thread_map: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec3f) -> @location(0) vec4f {
    let thread = textureSample(thread_map, smooth_sampler, uv * 40.0).xyz * 2.0 - 1.0;
    let n = normalize(normal + tangent * thread.x + cross(normal, tangent) * thread.y);
    let v = normalize(eye - p);
    let l = normalize(light - p);
    let h = normalize(l + v);
    let nl = max(dot(n, l), 0.0);
    let nv = max(dot(n, v), 0.001);
    let nh = max(dot(n, h), 0.0);
    let sine2 = 1.0 - nh * nh;
    let sine4 = sine2 * sine2;
    let cot2 = -nh * nh / (sine2 * 0.25);
    let distribution = (sine4 + 4.0 * exp(cot2)) / (3.14159265 * (1.0 + 4.0 * 0.25) * (sine4 + 0.0001));
    let velvet = sheen * distribution / (4.0 * (nl + nv - nl * nv) + 0.0001);
    let color = textureSample(cloth_map, smooth_sampler, uv).xyz;
    return vec4f((color * 0.3183 + velvet) * nl + color * 0.05, 1.0);
}
