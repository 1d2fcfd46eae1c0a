// What glows: thirteen texels, weighted so that single bright ones do not flicker, above a soft threshold.
@group(0) @binding(0) var<uniform> texel: vec2f;
@group(0) @binding(1) var<uniform> curve: vec4f;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

fn at(uv: vec2f, x: f32, y: f32) -> vec3f {
    return textureSample(image, smooth_sampler, uv + texel * vec2f(x, y)).xyz;
}

fn calm(a: vec3f, b: vec3f, c: vec3f, d: vec3f) -> vec4f {
    let mean = (a + b + c + d) * 0.25;
    let weight = 1.0 / (1.0 + dot(mean, vec3f(0.2126, 0.7152, 0.0722)));
    return vec4f(mean * weight, weight);
}

@fragment
fn glow(@location(0) uv: vec2f) -> @location(0) vec4f {
    let a = at(uv, -2.0, -2.0);
    let b = at(uv, 0.0, -2.0);
    let c = at(uv, 2.0, -2.0);
    let d = at(uv, -2.0, 0.0);
    let e = at(uv, 0.0, 0.0);
    let f = at(uv, 2.0, 0.0);
    let g = at(uv, -2.0, 2.0);
    let h = at(uv, 0.0, 2.0);
    let i = at(uv, 2.0, 2.0);
    let inner = calm(at(uv, -1.0, -1.0), at(uv, 1.0, -1.0), at(uv, -1.0, 1.0), at(uv, 1.0, 1.0));
    let sum = inner * 0.5 + (calm(a, b, d, e) + calm(b, c, e, f) + calm(d, e, g, h) + calm(e, f, h, i)) * 0.125;
    let color = sum.xyz / sum.w;
    let bright = max(color.x, max(color.y, color.z));
    let soft = clamp(bright - curve.y, 0.0, curve.z);
    let share = max(soft * soft * curve.w, bright - curve.x) / max(bright, 0.0001);
    return vec4f(color * share, 1.0);
}
