// Hair: two shifted highlights along the strand.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> light: vec3f;
@group(0) @binding(2) var<uniform> root: vec3f;
@group(0) @binding(3) var<uniform> tip: vec3f;
@group(1) @binding(0) var shift_map: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

fn strand(t: vec3f, h: vec3f, power: f32) -> f32 {
    let th = dot(t, h);
    let sine = sqrt(max(1.0 - th * th, 0.0));
    return smoothstep(-1.0, 0.0, th) * pow(sine, power);
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec3f) -> @location(0) vec4f {
    let n = normalize(normal);
    let shift = textureSample(shift_map, smooth_sampler, uv);
    let t1 = normalize(tangent + n * (shift.x - 0.6));
    let t2 = normalize(tangent + n * (shift.x - 0.4));
    let v = normalize(eye - p);
    let l = normalize(light - p);
    let h = normalize(v + l);
    let diffuse = clamp(0.25 + 0.75 * dot(n, l), 0.0, 1.0);
    let color = mix(root, tip, uv.y);
    let first = strand(t1, h, 120.0);
    let second = strand(t2, h, 24.0) * shift.y;
    return vec4f(color * diffuse + 0.35 * first + color * second * 0.8, shift.w);
}
