// The same without a loop: ten steps, a gradient, and five steps of shadow and occlusion in one block.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> sun: vec3f;
@group(0) @binding(2) var<uniform> time: f32;

fn blend(a: f32, b: f32, k: f32) -> f32 {
    let h = clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0);
    return mix(b, a, h) - k * h * (1.0 - h);
}

fn scene(p: vec3f) -> f32 {
    let ball = length(p - vec3f(0.0, 1.0 + 0.3 * sin(time), 0.0)) - 0.8;
    let q = abs(p - vec3f(1.2, 0.6, 0.0)) - 0.5;
    let box = length(max(q, vec3f(0.0))) - 0.1;
    let ring = length(vec2f(length(p.xz) - 2.0, p.y - 0.3)) - 0.2;
    return min(blend(blend(ball, box, 0.4), ring, 0.3), p.y);
}

fn forward(t: f32, d: vec3f) -> f32 {
    return t + scene(eye + d * t) * 0.9;
}

@fragment
fn shade(@location(0) direction: vec3f) -> @location(0) vec4f {
    let d = normalize(direction);
    var t = forward(forward(forward(forward(forward(0.0, d), d), d), d), d);
    t = forward(forward(forward(forward(forward(t, d), d), d), d), d);
    let p = eye + d * t;
    let e = vec2f(0.002, 0.0);
    let middle = scene(p);
    let n = normalize(vec3f(scene(p + e.xyy), scene(p + e.yxy), scene(p + e.yyx)) - middle);
    let s1 = 8.0 * scene(p + sun * 0.1) / 0.1;
    let s2 = 8.0 * scene(p + sun * 0.3) / 0.3;
    let s3 = 8.0 * scene(p + sun * 0.7) / 0.7;
    let shadow = clamp(min(s1, min(s2, s3)), 0.0, 1.0);
    let o1 = 0.1 - scene(p + n * 0.1);
    let o2 = 0.3 - scene(p + n * 0.3);
    let occlusion = clamp(1.0 - 3.0 * (o1 + 0.5 * o2), 0.0, 1.0);
    let light = max(dot(n, sun), 0.0) * shadow;
    let checker = fract(floor(p.x) * 0.5 + floor(p.z) * 0.5) * 2.0;
    let color = mix(vec3f(0.8, 0.3, 0.2), vec3f(0.5) + 0.3 * checker, step(p.y, 0.01));
    let haze = exp(-t * t * 0.002);
    return vec4f(mix(vec3f(0.6, 0.7, 0.8), color * (light + 0.2 * occlusion), haze), 1.0);
}
